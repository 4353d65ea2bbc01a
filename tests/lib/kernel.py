# SPDX-License-Identifier: MIT
"""
Helpers for tests that record the kernel: requirements, remains in tracefs, and large traces as both readers see them.

    need_kernel()
    with clean_tracefs(): ...                       # fails if instances remain after the block
    trace = KernelTrace(directory, lossy=lost > 0)  # babeltrace 2.0 and `waymark view` agree, and do not warn
    trace.between: (begin of a loss as babeltrace2 reports it, CPU)
    trace.records: (time, name, cpu, context, fields), in the order of time; context and fields are texts, see number()
"""
import collections
import contextlib
import fcntl
import os
import re
import subprocess

from daemon import World
from harness import PROGRAMS, VIEW, WAYMARK, Skip, check, communicated, finished, main, wait_for
from traces import LOSS, LOST

TRACING = '/sys/kernel/tracing'
INSTANCES = TRACING + '/instances'
LOCK = '/tmp/wmkt-kernel.lock'
# Five system calls that only tests of this kind use (tests/programs/kcalls.c).
CALLS = ('sched_setparam', 'sched_rr_get_interval', 'timer_getoverrun', 'timer_delete', 'sched_getattr')
KCALLS = os.path.join(PROGRAMS, 'kcalls')
LINE = re.compile(r'\[(\d+)\] (?:\S+ )?(\S+): \{ [^}]*?cpu_id = (\d+)[^}]*\}, (?:\{ ([^{}]*) \}, )?\{ ?(.*?) ?\}$')
BETWEEN = re.compile(r'discarded (\d+) events? between \[([\d:.]+)\] and \[[\d:.]+\].* within stream ".*_(\d+)"')

Record = collections.namedtuple('Record', 'time name cpu context fields')


def has_narrow_calls():
    """
    Returns whether a 64-bit program may make 32-bit system calls on this kernel. (t_kernel_machine.py tests this check
    on the emulated machine.)
    """
    return os.uname().machine == 'x86_64' and finished([os.path.join(PROGRAMS, 'traced_syscalls'), 'narrow'
                                                        ]).returncode != 77


def need_kernel():
    if os.geteuid():
        raise Skip('recording the kernel needs root')
    if not os.access(INSTANCES, os.W_OK):
        raise Skip('this machine has no tracefs at %s that can be written to' % TRACING)
    if os.stat('/proc/self/ns/pid').st_ino != 0xEFFFFFFC:
        raise Skip('recording the kernel needs the PID namespace of the host')
    if not os.path.isdir(TRACING + '/events/syscalls/sys_enter_openat'):
        raise Skip('this kernel has no system call events')


def kernel_main(cases):
    """
    main() under a lock, so that only one such test runs on this machine: each would record the system calls of the
    others.
    """
    with open(LOCK, 'a') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        main(cases)


def number(text, name):
    found = re.search(r'\b%s = (-?\w+)' % name, text)
    check(found, 'no field %s in: %s', name, text)
    word = found.group(1)
    return int(word, 8) if re.fullmatch(r'0[0-7]+', word) else int(word, 0)


def signed(value):
    """The signed value of an int that was stored in a register."""
    value &= 0xffffffff
    return value - (1 << 32) if value >> 31 else value


def text(fields, name):
    found = re.search(r'\b%s = "((?:[^"\\]|\\.)*)"' % name, fields)
    check(found, 'no text %s in: %s', name, fields)
    return found.group(1)


def patterns(*calls):
    """-k options for system calls."""
    return [word for call in calls for word in ('-k', 'syscall:' + call)]


class KernelTrace:
    def __init__(self, directory, lossy=False, readers=('babeltrace2', 'view')):
        self.directory, self.lost, self.between, self.lines = directory, 0, [], None
        for reader in readers:
            lines = self.read(reader, directory, lossy)
            check(self.lines is None or len(lines) == len(self.lines), '%s reads %d records of %s, babeltrace2 %d',
                  reader, len(lines), directory, len(self.lines or ()))
            self.lines = self.lines if self.lines is not None else lines
        self.records = [self.parse(line) for line in self.lines]
        check(all(a.time <= b.time + 8 for a, b in zip(self.records, self.records[1:])), 'the merged times go back')
        self.ordered_by_cpu()

    def read(self, reader, directory, lossy):
        argv = [WAYMARK, *VIEW, '--no-pager'] if reader == 'view' else [reader]
        done = finished([*argv, '--clock-cycles', '--no-delta', directory], capture_output=True, timeout=600)
        err = done.stderr.decode('latin-1')
        check(done.returncode == 0, '%s: status %d: %s', reader, done.returncode, err[:2000])
        for line in filter(str.strip, err.splitlines()):
            check(lossy and (LOSS.search(line) or 'lost' in line), '%s warns: %s', reader, line[:500])
            if reader == 'babeltrace2':
                self.lost += sum(int(n) for n in LOST.findall(line))
                self.between += [(time, int(cpu)) for _, time, cpu in BETWEEN.findall(line)]
        return done.stdout.decode('latin-1').splitlines()

    @staticmethod
    def parse(line):
        found = LINE.match(line)
        check(found, 'a reader printed a line that is not a record: %s', line[:300])
        return Record(int(found[1]), found[2], int(found[3]), found[4] or '', found[5])

    def ordered_by_cpu(self):
        last = {}
        for r in self.records:
            key = (r.cpu, ':' in r.name)
            check(last.get(key, 0) <= r.time, 'CPU %d: time goes back at %s', r.cpu, r)
            last[key] = r.time

    def named(self, *names):
        return [r for r in self.records if r.name in names]

    def calls(self, tids, calls=CALLS):
        """{(tid, call, 'entry' or 'exit'): records} of these threads."""
        found, wanted = collections.defaultdict(list), re.compile('syscall_(entry|exit)_(%s)$' % '|'.join(calls))
        for r in self.records:
            m = wanted.match(r.name)
            tid = number(r.context, 'tid') if m else None
            if m and tid in tids:
                found[tid, m[2], m[1]].append(r)
        return found


def turns_of(said):
    """(turns, tids) that kcalls printed."""
    turns = re.search(r'^turns (\d+)$', said, re.M)
    check(turns, 'kcalls printed no number of turns: %s', said[-500:])
    return int(turns.group(1)), {int(t) for t in re.findall(r'^tid (\d+)$', said, re.M)}


def check_turns(trace, tids):
    """
    Check that every record of these threads is there at most once, that entry and exit alternate, and that turns are in
    order.
    """
    for (tid, call, kind), records in trace.calls(tids).items():
        if kind == 'exit':
            continue
        field = 'timer_id' if call.startswith('timer') else 'pid'
        turns = [-2 - signed(number(r.fields, field)) for r in records]
        check(all(a < b for a, b in zip(turns, turns[1:])), 'thread %d, %s: a turn is duplicated or out of order',
              tid, call)


def all_there(trace, turns, tids, threads):
    """Check that each thread has as many records of each call as it made."""
    check(len(tids) == threads and turns % threads == 0, 'kcalls: %d turns of %s', turns, tids)
    found = trace.calls(tids)
    for tid in tids:
        for call in CALLS:
            for kind in ('entry', 'exit'):
                n = len(found.get((tid, call, kind), ()))
                check(n == turns // threads, 'thread %d: %d records of syscall_%s_%s for %d calls', tid, n, kind, call,
                      turns // threads)
    check_turns(trace, tids)


def left_in_tracefs(before=()):
    """The instances of Waymark in tracefs that are not in `before`."""
    return sorted(set(n for n in os.listdir(INSTANCES) if n.startswith('waymark-')) - set(before))


def of_rundir(rundir):
    """The prefix of the names of the instances of a daemon with this runtime directory."""
    st = os.stat(rundir)
    return 'waymark-d%x.%d-' % (st.st_dev, st.st_ino)


def of_process(pid):
    return 'waymark-p%d.' % pid


@contextlib.contextmanager
def clean_tracefs(prefix):
    """Fails if an instance with this prefix (a text, or a function that returns it) remains after the block."""
    yield
    mine = prefix() if callable(prefix) else prefix
    wait_for(lambda: not [n for n in left_in_tracefs() if n.startswith(mine)],
             'instances %s* to be gone from tracefs' % mine)


class KernelWorld(World):
    """A World with a daemon of root and kernel channels; checks that nothing of it remains in tracefs."""

    def __init__(self, case, **more):
        need_kernel()
        super().__init__(case, **more)

    def __enter__(self):
        super().__enter__()
        os.makedirs(self.rundir, 0o700, exist_ok=True)       # before the daemon has started
        self.prefix = of_rundir(self.rundir)
        return self

    def instances(self):
        return [n for n in left_in_tracefs() if n.startswith(self.prefix)]

    def begin_calls(self, name, *channel, calls=CALLS, create=True, contexts=('pid', 'tid', 'procname')):
        """Create and start a session that records these calls."""
        if create:
            self('create', name, '--no-statedump')
        self('enable-channel', '-k', '-s', name, 'kernel', *channel)
        self('add-context', '-k', '-s', name, '-c', 'kernel', *[w for c in contexts for w in ('-t', c)])
        self('enable-event', '-k', '-s', name, '-c', 'kernel', '--syscall', ','.join(calls))
        self('start', name)

    def calls(self, threads, turns):
        """Run a program that makes the calls and ends; returns (turns, tids)."""
        child = self.run([KCALLS, 'calls', str(threads), str(turns)], stdout=subprocess.PIPE, text=True)
        said = communicated(child, timeout=300)[0]
        self.wait_end(child)
        return turns_of(said)

    def until(self, threads, most=100000, every=50):
        """
        Run a program that makes calls until ended() returns true, at most `most` turns of each thread: 128 MB for each
        CPU hold all of its records. It pauses after `every` turns.
        """
        child = self.run([KCALLS, 'until', str(threads), str(most), str(every)], stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE, text=True)
        check(child.stdout.readline() == 'ready\n', 'kcalls printed no "ready"')
        return child

    def ended(self, child):
        said = communicated(child, timeout=300)[0]
        self.wait_end(child)
        return turns_of(said)

    def destroyed(self, name, records=None, lossy=False, readers=('babeltrace2', 'view')):
        """
        Stop and destroy a session. Returns its trace, which has as many records as the session reports; none is lost
        unless `lossy`.
        """
        if self.session(name)['active']:
            self.stop(name)
        is_now = self('destroy', name, '--json').json['sessions'][0]
        counts = is_now['counts']
        check(lossy or counts['lost'] + counts['overwritten'] + counts['unwritten'] == 0, '%s: %s', name, counts)
        trace = KernelTrace(is_now['path'], lossy, readers)
        check(
            len(trace.records) == counts['records'], '%s: %s, the trace has %d records', name, counts,
            len(trace.records))
        check(records in (None, len(trace.records)), '%s has %d records, not %s', name, len(trace.records), records)
        trace.counts = counts
        return trace

    def close(self):
        super().close()
        wait_for(lambda: not self.instances(), 'instances to be removed from tracefs: %s' % self.instances())

    def abandon(self):
        super().abandon()
        for name in self.instances():
            sweep(name)


def sweep(name):
    """After a failure: remove an instance, which the daemon of another user would not do."""
    for file in ('tracing_on', 'events/enable'):
        with contextlib.suppress(OSError):
            with open(os.path.join(INSTANCES, name, file), 'w') as f:
                f.write('0')
    with contextlib.suppress(OSError):
        os.rmdir(os.path.join(INSTANCES, name))
