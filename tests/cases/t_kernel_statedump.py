#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
The state dump in a kernel trace: everything of an idle process is in it once, for two readers. All system calls made
beside it are recorded.
"""
import collections
import contextlib
import json
import os
import re
import resource
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from daemon import World  # noqa: E402
from harness import PROGRAMS, VIEW, WAYMARK, Skip, awaited, check, finished, main, need, slurp, wait_for  # noqa: E402
from traces import group_of  # noqa: E402

EVENTS = 'lttng_statedump_'
CALLS = 20000
# An idle program, with threads of this name, these files open, and one of them mapped.
IDLE = '''
import ctypes, mmap, sys, threading
files = [open(path, 'w+b') for path in sys.argv[1:]]
files[0].write(b'x' * 8192); files[0].flush()
mapped = mmap.mmap(files[0].fileno(), 8192)
there, ended = threading.Barrier(4), threading.Event()
def idle():
    ctypes.CDLL(None).prctl(15, b'wmkt-idle', 0, 0, 0)
    there.wait()
    ended.wait()
for _ in range(3):
    threading.Thread(target=idle).start()
there.wait()
print('ready', flush=True)
sys.stdin.readline()
ended.set()
'''
# Calls a rarely used system call.
CALLER = 'import os, sys\nfor _ in range(int(sys.argv[1])): os.sched_getscheduler(0)\nprint(os.getpid())'


class Idle:
    """An idle process, and its state in /proc."""

    def __init__(self, case):
        self.paths = [case.path('open-%d' % i) for i in range(5)]
        self.child = subprocess.Popen([sys.executable, '-c', IDLE, *self.paths], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, text=True)
        check(self.child.stdout.readline() == 'ready\n', 'the idle process has not begun')
        self.pid = self.child.pid
        place = '/proc/%d/' % self.pid
        self.threads = {int(tid): slurp(place + 'task/%s/comm' % tid)[:-1] for tid in os.listdir(place + 'task')}
        self.files = {int(fd): os.readlink(place + 'fd/' + fd) for fd in os.listdir(place + 'fd')}
        self.maps = sorted(
            tuple(int(x, 16) for x in line.split()[0].split('-')) for line in slurp(place + 'maps').splitlines())
        self.spaces = {
            kind: os.stat(place + 'ns/' + kind).st_ino for kind in ('pid', 'user', 'cgroup', 'ipc', 'mnt', 'net', 'uts')
        }
        check(
            len(self.threads) == 4 and set(self.paths) <= set(self.files.values()), 'the idle process has %s, %s',
            self.threads, self.files)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.child.stdin.close()
        awaited(self.child)
        self.child.stdout.close()

    def is_once(self, dump):
        """The process is once in the dump, a list of (event, fields)."""
        def of(event, **wanted):
            return [f for e, f in dump if e == event and all(f[k] == v for k, v in wanted.items())]

        for tid, name in self.threads.items():
            found = of('process_state', tid=tid)
            check(
                len(found) == 1 and found[0]['name'] == name and found[0]['pid'] == self.pid
                and found[0]['ppid'] == os.getpid(), 'thread %d (%s): %s', tid, name, found)
        for kind, inode in self.spaces.items():
            tids = sorted(f['tid'] for f in of('process_%s_ns' % kind, ns_inum=inode) if f['tid'] in self.threads)
            check(
                set(tids) <= set(self.threads) and self.pid in tids and len(tids) == len(set(tids)),
                'namespace %s: %s', kind, tids)
        files = sorted((f['fd'], f['filename']) for f in of('file_descriptor', file_table_address=self.pid))
        check(files == sorted(self.files.items()), 'files: %s, not %s', files, self.files)
        maps = sorted((f['start'], f['end']) for f in of('vm_map', pid=self.pid))
        check(maps == self.maps, 'maps: %s, not %s', maps, self.maps)


def by_view(path, lost=0):
    """[(time, event, context, fields)] as `waymark view` shows them. It must report `lost` records as lost."""
    done = finished([WAYMARK, 'view', '--json', path], capture_output=True, text=True, timeout=240, errors='replace')
    check(done.returncode == 0 and (lost or not done.stderr), 'waymark view: status %d: %s', done.returncode,
          done.stderr[-500:])
    check(
        sum(map(int, re.findall(r'discarded (\d+) event', done.stderr))) == lost, 'waymark view printed: %s',
        done.stderr[-500:])
    for line in done.stdout.splitlines():
        r = json.loads(line)
        yield r['time'], r['event'], r.get(
            'context', {}), {k: int(v, 16) if str(v).startswith('0x') else v for k, v in r['fields'].items()}


LINE = re.compile(r'\[(\S+)\] (?:\S+ )?(\w+): (\{.*)$')


def by_babeltrace(path):
    """The same as babeltrace2 shows them."""
    done = finished(['babeltrace2', '--clock-seconds', '--no-delta', path], capture_output=True, text=True, timeout=240,
                    errors='replace')
    check(done.returncode == 0 and not done.stderr, 'babeltrace2: status %d: %s', done.returncode, done.stderr[-500:])
    for line in done.stdout.splitlines():
        time, event, rest = LINE.match(line).groups()
        groups, at = [], 0
        while at < len(rest):
            group, at = group_of(rest, at)
            groups.append(group)
            at += len(rest[at:]) - len(rest[at:].lstrip(', '))
        yield time, event, groups[1], groups[-1]


def dumps_of(records):
    """The state dumps in the order of their records, each from its start to its end."""
    found, inside = [], False
    for event, fields in records:
        if not event.startswith(EVENTS):
            continue
        event = event[len(EVENTS):]
        check(inside != (event == 'start'), '%s at a wrong place', event)
        if event == 'start':
            inside = True
            found.append([])
        elif event == 'end':
            inside = False
        else:
            found[-1].append((event, fields))
    check(not inside, 'the last dump has no end')
    return found


def read(case, path, pids, n_dumps, idle):
    """
    Both readers show `n_dumps` dumps, the idle process in each, and the entry and exit of each call of each caller.
    """
    for reader in (by_view, by_babeltrace):
        records = list(reader(path))
        times = [time for time, *_ in records]
        check(times == sorted(times), '%s: times decrease', reader.__name__)
        dumps = dumps_of((event, fields) for _, event, _, fields in records)
        check(len(dumps) == n_dumps, '%s: %d dumps, not %d', reader.__name__, len(dumps), n_dumps)
        for dump in dumps:
            idle.is_once(dump)
        contexts = {c['pid'] for _, event, c, _ in records if event.startswith(EVENTS)}
        check(contexts == ({-1} if n_dumps else set()), '%s: the dump has the PIDs %s, not -1', reader.__name__,
              contexts)
        for pid in pids:
            for side in ('entry', 'exit'):
                n = sum(event == 'syscall_%s_sched_getscheduler' % side and c['pid'] == pid
                        for _, event, c, _ in records)
                check(n == CALLS, '%s: %d of %d calls of process %d (%s)', reader.__name__, n, CALLS, pid, side)
    return len(records)


def call():
    """A process that makes CALLS calls. Returns its PID."""
    return int(finished([sys.executable, '-c', CALLER, str(CALLS)], capture_output=True, text=True).stdout)


def need_tracefs():
    if os.geteuid() != 0 or not os.path.exists('/sys/kernel/tracing/instances'):
        raise Skip('tracefs is not accessible here')
    need('babeltrace2')


def private_record_has_a_kernel_state_dump(case):
    """`waymark record --private`: the dump is made while the program runs, and complete when it has ended."""
    need_tracefs()
    with Idle(case) as idle:
        result = case.record([sys.executable, '-c', CALLER, str(CALLS)], ['-k', 'syscall:sched_getscheduler']).ok()
        check(result.summary['lost'] == 0, '%s', result.summary)
        n = read(case, os.path.join(result.directory, 'kernel'), [int(result.out.split()[0])], 1, idle)
        check(result.summary['records'] == n, 'the summary has %d records, the trace %d', result.summary['records'], n)


def state_dump_does_not_record_its_own_system_calls(case):
    """
    System calls of the state dump's thread are the tracer's own and are not recorded, although the thread has ended
    when they are drained. Those of applications are recorded.
    """
    need_tracefs()
    options = [
        '-k', 'syscall:openat', '-k', 'sched_switch', '-k', 'syscall:sched_getscheduler', '--syscall-arguments', 'none',
        '-c', 'procname', '-c', 'pid', '--subbuf-size', '4M', '--num-subbuf', '8'
    ]
    argv = [sys.executable, '-c', CALLER, str(CALLS)]
    with World(case) as w:
        w('list')
        for how, path in (('--private',), case.path('private')), ((), case.path('through')):
            pid = int(w('record', *how, *options, '-o', path, '--', *argv).out.split()[0])
            opened, made = collections.Counter(), 0
            for _, event, c, _ in by_view(os.path.join(path, 'kernel')):
                opened[c.get('procname')] += event == 'syscall_entry_openat'
                made += event == 'syscall_entry_sched_getscheduler' and c['pid'] == pid
            check(made == CALLS, 'the trace has %d calls', made)
            check(not opened['wmk-dump'], 'the dump is recorded: %s', opened)


def no_statedump_suppresses_the_state_dump(case):
    """`record --no-statedump`: no state of the kernel or of applications, without and with the daemons."""
    need_tracefs()
    options = ['-k', 'syscall:sched_getscheduler', '--no-statedump']
    with Idle(case) as idle:
        result = case.record([sys.executable, '-c', CALLER, str(CALLS)], options).ok()
        check(result.summary['state_dump'] == 0, '%s', result.summary)
        n = read(case, os.path.join(result.directory, 'kernel'), [int(result.out.split()[0])], 0, idle)
        check(result.summary['records'] == n, 'the summary has %d records, the trace %d', result.summary['records'], n)
        with World(case) as w:
            w('list')
            said = w('record', *options, '-o', case.path('through'), '--', sys.executable, '-c', CALLER, str(CALLS)).out
            read(case, case.path('through/kernel'), [int(said.split()[0])], 0, idle)
    for private in (['--private'], []):
        with World(case, name='user%d' % len(private)) as w:
            path, program = case.path('busy%d' % len(private)), os.path.join(PROGRAMS, 'busy')
            w('list')
            w('record', *private, '--no-statedump', '-o', path, '--', program, 'count', '1', '100')
            names = collections.Counter(event for _, event, _, _ in by_view(path))
            check(dict(names) == {'test:seq': 100}, 'the records of the application are %s', names)


def begin(w):
    w('create', 'one')
    w('enable-channel', '-k', 'calls', '--subbuf-size', '1M', '--num-subbuf', '4')
    w('add-context', '-k', '-c', 'calls', '-t', 'pid')
    w('enable-event', '-k', '-c', 'calls', 'syscall:sched_getscheduler')


def state_dump_is_made_at_start_and_on_request(case):
    """At each start, and on request, together with the records made meanwhile."""
    need_tracefs()
    with World(case) as w, Idle(case) as idle:
        begin(w)
        w('start')
        pids = [call()]
        w('regenerate', 'statedump')
        pids.append(call())
        w('stop')
        w('start')
        pids.append(call())
        is_now = w.stop('one')
        check(is_now['counts']['lost'] == 0, '%s', is_now['counts'])
        w('destroy')
        n = read(case, os.path.join(is_now['path'], 'kernel'), pids, 3, idle)
        check(is_now['counts']['records'] == n, 'the session has %d records, the trace %d',
              is_now['counts']['records'], n)


def clear_repeats_the_state_dump(case):
    """clear in an active session makes a new state dump."""
    need_tracefs()
    with World(case) as w, Idle(case) as idle:
        begin(w)
        w('start')
        call()
        w('clear')
        pid = call()
        is_now = w.stop('one')
        w('destroy')
        read(case, os.path.join(is_now['path'], 'kernel'), [pid], 1, idle)


def kill_consumer(w):
    """Kill the consumer daemon, and wait for its successor."""
    before = w.kernel_consumerd()
    os.kill(before, signal.SIGKILL)
    w.wait(lambda: w.kernel_consumerd() not in (None, before), 'another consumer for the kernel')


def incomplete_state_dump_is_repeated(case):
    """A complete state dump is not repeated. An incomplete one is made again after the existing records."""
    need_tracefs()
    with World(case) as w, Idle(case) as idle:
        begin(w)
        w('start')
        w('stop')
        kill_consumer(w)
        is_now = w.session('one')
        n = read(case, os.path.join(is_now['path'], 'kernel'), [], 1, idle)
        check(is_now['counts']['records'] == n, 'the session has %d records, the trace %d',
              is_now['counts']['records'], n)
        w('start')
        kill_consumer(w)
        w('stop')
        is_now = w.session('one')
        w('destroy')
        records = [(event, fields) for _, event, _, fields in by_view(os.path.join(is_now['path'], 'kernel'))]
        starts = [i for i, (event, _) in enumerate(records) if event == EVENTS + 'start']
        check(len(starts) in (2, 3), '%d dumps were started', len(starts))
        check(is_now['counts']['records'] == len(records), 'the session has %d records, the trace %d',
              is_now['counts']['records'], len(records))
        check(len(dumps_of(records[starts[-1]:])) == 1, 'the last dump is incomplete')
        idle.is_once(dumps_of(records[starts[-1]:])[0])


def kernel_state_dump_survives_kill_of_session_daemon(case):
    """The next session daemon finds the state dump of the killed one."""
    need_tracefs()
    with World(case) as w, Idle(case) as idle:
        begin(w)
        w('start')
        os.kill(w.sessiond(), signal.SIGKILL)
        w('list')
        pid = call()
        is_now = w.stop('one')
        w('destroy')
        read(case, os.path.join(is_now['path'], 'kernel'), [pid], 1, idle)


def complete_state_dump_is_not_repeated_after_a_crash(case):
    """After the crash of both daemons a complete dump is not repeated in an active session."""
    need_tracefs()
    with World(case) as w, Idle(case) as idle:
        begin(w)
        w('start')
        path = os.path.join(w.session('one')['path'], 'kernel')
        w.wait(
            lambda: EVENTS + 'end' in finished([WAYMARK, *VIEW, path], capture_output=True, text=True, errors='replace'
                                               ).stdout, 'the dump to be written')
        daemons = w.sessiond(), w.kernel_consumerd()
        for pid in daemons:
            os.kill(pid, signal.SIGKILL)
        w.wait(lambda: not set(daemons) & set(w.own_processes()), 'both to be gone')
        w('list')
        pid = call()
        is_now = w.stop('one')
        w('destroy')
        n = read(case, path, [pid], 1, idle)
        check(is_now['counts']['records'] == n, 'the session has %d records, the trace %d',
              is_now['counts']['records'], n)


@contextlib.contextmanager
def many_files(n):
    """Open files in this process, so that a dump has at least that many records."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(n + 100, hard)), hard))
    opened = []
    try:
        while len(opened) < min(n, hard - 100):
            opened.append(os.open('/dev/null', os.O_RDONLY | os.O_CLOEXEC))
        yield
    finally:
        for fd in opened:
            os.close(fd)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def unwritten_state_dump_records_are_counted(case):
    """Records of the dump that cannot be written are counted."""
    need_tracefs()
    place = case.path('small')
    os.mkdir(place)
    if subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=128k', 'wmkt-dump', place],
                      stderr=subprocess.DEVNULL).returncode:
        raise Skip('mount is not permitted here')
    try:
        with Idle(case), many_files(4000):
            result = case.record(['true'], ['-k', 'syscall:sched_getscheduler'], output=os.path.join(place, 'trace'))
        check(result.summary['lost'] > 0 and result.summary['lost'] == result.summary['unwritten'],
              'the summary is %s', result.summary)
        n = sum(1 for _ in by_view(os.path.join(place, 'trace', 'kernel'), result.summary['lost']))
        check(n == result.summary['records'], 'the summary has %d records, the trace %d', result.summary['records'], n)
    finally:
        wait_for(lambda: not subprocess.run(['umount', place], stderr=subprocess.DEVNULL).returncode,
                 'the file system to be unused')


if __name__ == '__main__':
    main([
        private_record_has_a_kernel_state_dump, state_dump_does_not_record_its_own_system_calls,
        no_statedump_suppresses_the_state_dump, state_dump_is_made_at_start_and_on_request,
        clear_repeats_the_state_dump, incomplete_state_dump_is_repeated,
        kernel_state_dump_survives_kill_of_session_daemon, complete_state_dump_is_not_repeated_after_a_crash,
        unwritten_state_dump_records_are_counted
    ])
