#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Compares a state dump with an independent reading of /proc. The named processes are idle, so all their values
are compared; of other processes only the existence.

usage: compare_proc.py TRACE SINCE PID...      SINCE: a PID; each older thread must be in the dump exactly once
"""
import collections
import os
import re
import subprocess
import sys

NAMESPACES = ['cgroup', 'ipc', 'mnt', 'net', 'time', 'uts']
LINE = re.compile(r'^\[\d+\] (?:\S+ )?:?lttng_statedump_(\w+): {[^{}]*}, { ?(.*) }$')
FIELD = re.compile(r'(\w+) = ("(?:[^"\\]|\\.)*"|[^,]*)(?:, |$)')


def unescape(text):
    """Reverses the escapes of babeltrace2."""
    simple = {b'n': b'\n', b't': b'\t', b'r': b'\r', b'a': b'\a', b'b': b'\b', b'f': b'\f', b'v': b'\v', b'e': b'\x1b'}
    return re.sub(rb'\\(x[0-9a-fA-F]{2}|.)', lambda m: bytes([int(m[1][1:], 16)]) if m[1][:1] == b'x' and len(m[1]) == 3
                  else simple.get(m[1], m[1]), text.encode('latin-1'), flags=re.S)


def value_of(text):
    return unescape(text[1:-1]) if text.startswith('"') else int(text, 8 if re.fullmatch('0[0-7]+', text) else 0)


def records(trace):
    done = subprocess.run(['babeltrace2', '--clock-cycles', '--no-delta', trace], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE)
    if done.returncode or done.stderr:
        sys.exit('babeltrace2: %d %s' % (done.returncode, done.stderr.decode(errors='replace')))
    found = []
    for line in done.stdout.decode('latin-1').split('\n'):
        match = LINE.match(line)
        if line and not match:
            sys.exit('not understood: %r' % line)
        if line:
            found.append((match[1], {m[1]: value_of(m[2]) for m in FIELD.finditer(match[2])}))
    return found


def read(path):
    with open(path, 'rb') as file:
        return file.read()


def status(path):
    return dict((line.split(':', 1)[0], line.split(':', 1)[1].split())
                for line in read(path).decode('latin-1').split('\n') if ':' in line)


def inum(path, kind):
    try:
        return os.stat('%s/ns/%s' % (path, kind)).st_ino
    except FileNotFoundError:
        return None


def mask_of(modes):
    return (modes[0] == 'r') + 2 * (modes[1] == 'w') + 4 * (modes[2] == 'x') + (
        0x80 if modes[3] == 's' else 0) + 8 * (modes[1] == 'w' and modes[3] == 's')


def expect_files(path, table):
    for fd in os.listdir(path + '/fd'):
        flags = int(re.search(rb'^flags:\s*([0-7]+)$', read('%s/fdinfo/%s' % (path, fd)), re.M)[1], 8)
        mode = os.lstat('%s/fd/%s' % (path, fd)).st_mode
        # The mode of the link also shows how the descriptor may be used.
        fmode = 0x4000 if flags & os.O_PATH else bool(mode & 0o400) + 2 * bool(mode & 0o200)
        yield 'file_descriptor', dict(file_table_address=table, fd=int(fd), flags=flags, fmode=fmode,
                                      filename=os.readlink(os.fsencode('%s/fd/%s' % (path, fd))))


def expect_task(pid, tid, tables):
    path = '/proc/%d/task/%d' % (pid, tid)
    about = status(path + '/status')
    state = about['State'][0]
    has_files = state != 'Z'
    files = sorted(os.listdir(path + '/fd')) if has_files else []
    table = tables.setdefault(str([(f, os.stat('%s/fd/%s' % (path, f)).st_ino)
                                   for f in files]), tid) if has_files else 0
    yield 'process_state', dict(tid=tid, pid=pid, ppid=int(about['PPid'][0]), name=read(path + '/comm')[:-1], type=0,
                                mode=5, submode=0, status={'S': 5, 'Z': 4, 'T': 0,
                                                           'R': 2}[state], cpu=None, file_table_address=table)
    parent = status('/proc/%s/status' % about['PPid'][0])
    levels = len(about['NSpid'])
    for level in range(levels):
        known = inum(path,
                     'pid') if level == levels - 1 else os.stat('/proc/self/ns/pid').st_ino if level == 0 else None
        yield 'process_pid_ns', dict(tid=tid, vtid=int(about['NSpid'][level]), vpid=int(about['NStgid'][level]),
                                     ns_level=level, ns_inum=known,
                                     vppid=int(parent['NStgid'][level]) if level < len(parent['NStgid']) else 0)
    own, ours = inum(path, 'user'), os.stat('/proc/self/ns/user').st_ino
    uid, gid = int(about['Uid'][0]), int(about['Gid'][0])
    if own != ours:
        inside = []
        for name, outside in (('uid_map', uid), ('gid_map', gid)):
            lines = [[int(n) for n in line.split()] for line in read(path + '/' + name).split(b'\n') if line]
            inside.append(
                next((first + outside - base for first, base, n in lines if base <= outside < base + n), 65534))
        yield 'process_user_ns', dict(tid=tid, vuid=inside[0], vgid=inside[1], ns_level=1, ns_inum=own)
    yield 'process_user_ns', dict(tid=tid, vuid=uid, vgid=gid, ns_level=0, ns_inum=ours)
    for kind in NAMESPACES:
        if inum(path, kind):
            yield 'process_%s_ns' % kind, dict(tid=tid, ns_inum=inum(path, kind))
    if table == tid:
        yield from expect_files(path, table)


def expect_process(pid):
    tables = {}
    for tid in sorted(int(t) for t in os.listdir('/proc/%d/task' % pid)):
        yield from expect_task(pid, tid, tables)
    for line in read('/proc/%d/maps' % pid).split(b'\n'):
        if line:
            where, modes, offset, _, inode = line.decode('latin-1').split()[:5]
            start, end = where.split('-')
            yield 'vm_map', dict(pid=pid, start=int(start, 16), end=int(end, 16), flags=mask_of(modes),
                                 inode=int(inode), pgoff=int(offset, 16))


def key(record):
    name, fields = record
    return name, tuple(sorted((k, v) for k, v in fields.items() if k != 'cpu'))


def compare(got, pid, failures):
    expected = collections.Counter(key(r) for r in expect_process(pid))
    tids = {int(t) for t in os.listdir('/proc/%d/task' % pid)}
    of_it = collections.Counter(
        key(r) for r in got if r[1].get('tid') in tids and r[0] != 'interrupt' or r[1].get('pid') == pid
        or r[1].get('file_table_address') in tids)
    for what, n in (expected - of_it).items():
        failures.append('%d missing: %r' % (n, what))
    for what, n in (of_it - expected).items():
        failures.append('%d too many: %r' % (n, what))
    return sum(expected.values())


def began(path):
    return int(read(path + '/stat').rpartition(b')')[2].split()[19])


def compare_all(got, since, failures):
    counts = collections.Counter(r[1]['tid'] for r in got if r[0] == 'process_state')
    n = 0
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            tids = [
                t for t in os.listdir('/proc/%s/task' % pid)
                if began('/proc/%s/task/%s' % (pid, t)) < began('/proc/%d' % since)
            ]
        except (FileNotFoundError, ProcessLookupError):
            continue
        n += len(tids)
        failures += ['thread %s: %d times' % (t, counts[int(t)]) for t in tids if counts[int(t)] != 1]
    return n


def main():
    got, failures = records(sys.argv[1]), []
    held = sum(compare(got, int(pid), failures) for pid in sys.argv[3:])
    others = compare_all(got, int(sys.argv[2]), failures)
    print('%d records, %d held one by one, %d other threads' % (len(got), held, others))
    sys.exit('\n'.join(failures) if failures else 0)


main()
