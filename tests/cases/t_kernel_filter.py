#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Filters of kernel events select the same records as a filter of `waymark view`, whether the kernel or the consumer
daemon evaluates them. They can change during recording.
"""
import collections
import ctypes
import glob
import os
import platform
import re
import signal
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from daemon import World  # noqa: E402
from harness import VIEW, WAYMARK, Skip, check, finished, limit, main, not_under_tsan, rounds  # noqa: E402

INSTANCES = '/sys/kernel/tracing/instances'
LSEEK = {'x86_64': 8, 'aarch64': 62}.get(platform.machine())
NAME = 'wmkt-filter'
# The CPU on which the program runs.
CPU = max(os.sched_getaffinity(0))
# Offsets that no other program seeks to.
BEGIN, END, BASE = 0x77770001, 0x77770002, 0x7000000000
MARKS = 'offset in [%d, %d]' % (BEGIN, END)

# A program with that name sleeps, and seeks in an invalid descriptor from one mark to the other.
WORK = '''
import ctypes, os, time
os.sched_setaffinity(0, {%d})
libc = ctypes.CDLL(None, use_errno=True)
libc.prctl(15, b'%s', 0, 0, 0)
def seek(fd, to, whence):
    libc.syscall(%d, fd, ctypes.c_long(to), whence)
seek(-1, %d, 0)
for i in range(%%d):
    seek(-1 - i %%%% 5, %d + i, i %%%% 7)
    if i %%%% 10 == 0:
        time.sleep(0.0001)
seek(-1, %d, 0)
''' % (CPU, NAME, LSEEK or 0, BEGIN, BASE, END)


def need():
    if os.geteuid():
        raise Skip('recording the kernel needs root')
    if not os.access(INSTANCES, os.W_OK):
        raise Skip('tracefs is not writable here')
    if not LSEEK or not os.path.isdir('/sys/kernel/tracing/events/syscalls/sys_enter_lseek'):
        raise Skip('this kernel has no system call events')


def number(text, name):
    found = re.search(r'\b%s = (-?\w+)' % name, text)
    return int(found[1], 0) if found else None


def view(directory, *options):
    """(event, text of the record without time and packet) of the records, in order."""
    done = finished([WAYMARK, *VIEW, '--no-pager', '--no-delta', *options, directory], capture_output=True, text=True,
                    timeout=300)
    check(done.returncode == 0 and not done.stderr, 'waymark view: status %d: %s', done.returncode, done.stderr[-800:])
    lines = [re.match(r'\[\S+\] (?:\S+ )?(\S+): \{[^}]*\}, (.*)$', line) for line in done.stdout.splitlines()]
    check(all(lines), 'waymark view printed a line that is not a record')
    return [(m[1], m[2]) for m in lines]


def between_marks(records):
    at = {number(fields, 'offset'): i for i, (event, fields) in enumerate(records) if event == 'syscall_entry_lseek'}
    check(BEGIN in at and END in at, 'the marks are missing among %d records', len(records))
    # records of other programs are not compared
    return collections.Counter(r for r in records[at[BEGIN]:at[END] + 1] if NAME in r[1])


def kernel_filter(session, system, event):
    """The filter that the kernel has in the instance of the session with this name."""
    found = glob.glob('%s/waymark-*-%s-*/events/%s/%s/filter' % (INSTANCES, session, system, event))
    check(len(found) == 1, 'instances of %s: %s', session, found)
    with open(found[0]) as f:
        return f.read().strip()


# The kernel evaluates all, a part, or nothing of these.
FILTERS = [
    'offset % 2 == 1 || prev_comm == "wmkt*" && prev_comm != next_comm',
    '$event == "syscall*" && fd == 4294967295',
    'fd == 4294967293 && offset & 1',
    'whence >= 3 && whence != 5 && offset % 3 == 0',
    'offset %% 7 == 2 && offset > %d' % (BASE + 100),
    '!(fd < 4294967292 || whence in [0, 2, 4])',
    'prev_comm == "%s" && prev_state & 0x1' % NAME,
    'next_comm == "wmkt*ter" || prev_comm == "*kt-filter" && prev_prio < 50',
    '(next_comm == "%s" || prev_comm == "%s") && prev_tid > next_tid' % (NAME, NAME),
    '($ctx.procname == "%s" && offset <= %d) || ($ctx.tid == next_tid && next_comm == "%s")' % (NAME, BASE + 50, NAME),
    '$ctx.procname == "wmkt*" && $ctx.cpu_id == %d && offset > 0' % CPU,
]


def kernel_filter_selects_the_same_records_as_filter_in_view(case):
    """
    A recording with the filter runs inside one without it: its records equal those that `waymark view` selects from the
    outer one.
    """
    need()
    for i, text in enumerate(FILTERS):
        whole, part = case.path('whole%d' % i), case.path('part%d' % i)
        wanted = '(%s) || %s' % (text, MARKS)
        options = [
            '--private', '--no-statedump', '-k', 'sched_switch', '-k', 'syscall:lseek', '--syscall-arguments', 'none',
            '--subbuf-size', '1M', '--num-subbuf', '16'
        ]
        done = finished([
            WAYMARK, 'record', *options, '-o', whole, '--', WAYMARK, 'record', *options, '--kernel-filter', wanted,
            '-o', part, '--', sys.executable, '-c', WORK % max(rounds(2000), 200)
        ], capture_output=True, text=True, env=case.env)
        check(done.returncode == 0 and ' 0 lost' in done.stderr, 'record: status %d: %s', done.returncode,
              done.stderr[-800:])
        recorded = between_marks(view(part))
        read = between_marks(view(whole, '--filter', wanted))
        check(recorded == read, '%s: recorded and not read: %s, read and not recorded: %s', text,
              list((recorded - read).items())[:5],
              list((read - recorded).items())[:5])
        check(len(recorded) > 2, '%s: the filter selects only the marks', text)
        all_of_them = len(view(part))
        check(all_of_them < len(view(whole)), '%s: the filter selects all records', text)


class Seeks(threading.Thread):
    """Seeks to increasing offsets, from BASE on, until end() is called."""

    def __init__(self):
        super().__init__(daemon=True)
        self.libc, self.at, self.ends = ctypes.CDLL(None), 0, False
        self.start()

    def run(self):
        while not self.ends:
            self.libc.syscall(LSEEK, -1, ctypes.c_long(BASE + self.at), 0)
            self.at += 1
            if self.at % 50 == 0:
                # the pace that a consumer can drain, and that an overwrite buffer can hold, on any machine
                time.sleep(.001)

    def more(self, n):
        until = self.at + n
        while self.at < until:
            # (a busy loop would keep the interpreter's lock from the seeking thread)
            time.sleep(.001)

    def end(self):
        self.ends = True
        self.join()


# Commands, and the offsets that are selected after they have returned: by the kernel alone, by the consumer alone, by
# both; several rules, and a rule without a filter.
CHANGES = [
    (('enable-event', 'syscall:lseek', '--filter', 'offset & 1'), lambda n: n % 2 == 1),
    (('enable-event', 'syscall:lsee[k]', '--filter', 'offset %% 3 == %d' % (BASE % 3)),
     lambda n: n % 2 == 1 or n % 3 == 0),
    (('disable-event', 'syscall:lseek'), lambda n: n % 3 == 0),
    (('enable-event', 'syscall:lsee?', '--filter', 'offset & 1 && offset %% 5 == %d' % (BASE % 5)),
     lambda n: n % 3 == 0 or n % 10 == 5),
    (('disable-event', 'syscall:lsee[k]'), lambda n: n % 10 == 5),
    (('enable-event', 'syscall:l?eek'), lambda n: True),
    (('disable-event', 'syscall:l?eek'), lambda n: n % 10 == 5),
    (('enable-event', 'syscall:lseek', '--filter', 'offset & 1'), lambda n: n % 2 == 1),
    (('disable-event', 'syscall:lsee?'), lambda n: n % 2 == 1),
]


NUMBERS = ('--syscall-arguments', 'none')


def filter_changes_apply_while_recording(case, *mode):
    """
    After each command exactly the records that its rules select are recorded. During a command, no record is missing
    that the rules before and after it select.
    """
    need()
    if '--overwrite' not in mode:
        not_under_tsan('the consumer is too slow for these calls')
    with World(case) as w:
        seeks = Seeks()
        w('create', 'moves')
        w('enable-channel', '-k', '-s', 'moves', 'kernel', '--subbuf-size', '4M', '--num-subbuf', '8', *mode)
        path = w.session('moves')['path']
        steps = []
        for i, (command, wants) in enumerate(CHANGES):
            begun = seeks.at
            w(command[0], '-k', '-s', 'moves', '-c', 'kernel', *command[1:])
            if i == 0:
                w('start', 'moves')
            steps.append((begun, seeks.at, wants))
            seeks.more(300)
        begun = seeks.at
        told = kernel_filter('moves', 'syscalls', 'sys_enter_lseek')
        is_now = w.stop('moves')
        seeks.end()
        w('destroy', 'moves')
    check(told == ('offset & 1' if NUMBERS[0] in mode else 'none'), 'the kernel has the filter %s', told)
    check(is_now['counts']['lost'] == 0, 'the counts are %s', is_now['counts'])
    records = view(path)
    check(len(records) == is_now['counts']['records'], 'the trace has %d records: %s', len(records), is_now['counts'])
    found = collections.Counter(
        number(fields, 'offset') - BASE for event, fields in records if event == 'syscall_entry_lseek')
    check(max(found[n] for n in found if n >= 0) == 1, 'a record is in the trace twice')
    steps.append((begun, seeks.at, None))
    for (_, since, wants), (until, then, later) in zip(steps, steps[1:]):
        # (the call in progress when a command begins or ends may belong to either side)
        settled = {n for n in range(since + 1, until - 1)}
        check({n for n in settled if wants(n)} == settled & set(found),
              'wrong records between %d and %d', since, until)
        both = {n for n in range(until, then) if later and wants(n) and later(n)}
        check(both <= set(found), 'missing between %d and %d: %s', until, then, sorted(both - set(found))[:5])


def filter_changes_apply_to_overwrite_buffers(case):
    """
    In overwrite mode everything is read at the end: each record is tested with the filter of the time when it was made.
    """
    filter_changes_apply_while_recording(case, '--overwrite')


def filter_changes_apply_to_tracefs_events(case):
    """The same filter changes with the kernel's own system call events."""
    filter_changes_apply_while_recording(case, *NUMBERS)


def filter_changes_apply_to_tracefs_events_in_overwrite_mode(case):
    filter_changes_apply_while_recording(case, '--overwrite', *NUMBERS)


def kernel_filter_is_kept_after_kill_of_consumer_daemon(case):
    """
    Records that the killed consumer had filtered out are not lost, and those that it had not written are tested with
    the same filter.
    """
    need()
    with World(case) as w:
        seeks = Seeks()
        w('create', 'moves')
        w('enable-channel', '-k', '-s', 'moves', 'kernel', '--subbuf-size', '4M', '--num-subbuf', '8', *NUMBERS)
        w('enable-event', '-k', '-s', 'moves', '-c', 'kernel', 'syscall:lseek', '--filter',
          'offset %% 500 == %d' % (BASE % 500))
        w('start', 'moves')
        since, path = seeks.at + 1, w.session('moves')['path']
        for _ in range(3):
            seeks.more(rounds(100000))
            old = w.kernel_consumerds()
            check(len(old) == 1, 'consumers of the kernel: %s', old)
            os.kill(old[0], signal.SIGKILL)
            w.wait(lambda gone=old: set(w.kernel_consumerds()) - set(gone), 'another consumer')
        seeks.more(rounds(100000))
        until = seeks.at - 1
        is_now = w.stop('moves')
        seeks.end()
        w('destroy', 'moves')
    check(is_now['counts']['lost'] == 0, 'the counts are %s', is_now['counts'])
    found = collections.Counter(
        number(fields, 'offset') - BASE for event, fields in view(path) if event == 'syscall_entry_lseek')
    wanted = {n for n in range(since, until) if n % 500 == 0}
    check(wanted <= set(found), 'missing: %s', sorted(wanted - set(found))[:5])
    check(max(found[n] for n in wanted) == 1, 'a record is in the trace twice')
    check(not [n for n in found if n >= 0 and n % 500], 'records that the filter does not select are in the trace')


def unsupported_kernel_filters_are_refused(case):
    """A filter that neither the kernel nor the consumer can evaluate is refused with its column, and leaves no rule."""
    need()
    wrong = [
        ('prev_tid == ', 'column 13'),
        ('prev_tidd == 1',
         "column 1, 'prev_tidd': none of the selected kernel events has such a field; near is prev_tid"),
        ('prev_tid == 1 && $ctx.proi > 3',
         "column 18, '$ctx.proi': kernel records have no such context; near is prio"),
        ('prev_tid == 1 && $ctx.prio > 3', "column 18, '$ctx.prio': the channel does not record this context"),
        ('prev_comm < 3', 'column 11'),
        ('prev_comm == 1', 'cannot compare a number with a text'),
    ]
    with World(case) as w:
        w('create', 'one')
        w('enable-channel', '-k', '-s', 'one', 'kernel')
        for text, words in wrong:
            said = w('enable-event', '-k', '-s', 'one', '-c', 'kernel', 'sched_switch', '--filter', text, status=1).err
            check(words in said, '%s: %s', text, said)
        rules = [r for r in w.session('one')['channels'][0]['rules'] if r['enabled']]
        check(not rules, 'rules remain: %s', rules)
        w('add-context', '-k', '-s', 'one', '-c', 'kernel', '-t', 'prio')
        w('enable-event', '-k', '-s', 'one', '-c', 'kernel', 'sched_switch', '--filter',
          'prev_tid == 1 && $ctx.prio > 3')
        # one of several events must have the field
        w('enable-event', '-k', '-s', 'one', '-c', 'kernel', 'sched_*', '--filter', 'parent_tid == 1 || prev_tid == 1')
    done = finished([
        WAYMARK, 'record', '--private', '-k', 'sched_switch', '--kernel-filter', 'prev_pid == 1', '-o',
        case.path('none'), '--', 'true'
    ], capture_output=True, text=True, env=case.env)
    check(done.returncode == 1 and "'prev_pid': none" in done.stderr, 'record: status %d: %s', done.returncode,
          done.stderr)
    check(not os.path.exists(case.path('none')), 'a trace directory was created')
    done = finished([WAYMARK, 'record', '--kernel-filter', 'prev_pid == 1', '--', 'true'], capture_output=True,
                    text=True, env=case.env)
    check(done.returncode == 2 and '--kernel' in done.stderr, 'record: status %d: %s', done.returncode, done.stderr)


def filters_beyond_the_message_size_are_refused(case):
    """
    Filters that exceed the size of one message to a new consumer are refused. A daemon that takes over can still send
    slightly smaller ones.
    """
    need()
    long = [
        '$ctx.procname in [%s]' % ', '.join('"%s%d"' % (letter * 12, i) for i in range(180)) for letter in 'abcdefgh'
    ]
    with World(case) as w:
        w('create', 'one')
        w('enable-channel', '-k', '-s', 'one', 'kernel', '--syscall-arguments', 'none')
        w('add-context', '-k', '-s', 'one', '-c', 'kernel', '-t', 'procname')
        w('start', 'one')
        for n, text in enumerate(long):
            answer = w('enable-event', '-k', '-s', 'one', '-c', 'kernel', '--syscall', '*', '--filter', text,
                       status=None)
            if answer.status:
                break
        check(n > 1 and 'the filters of one kernel channel exceed' in answer.err,
              'filter %d: %s', n, answer.err)
        w('disable-event', '-k', '-s', 'one', '-c', 'kernel', '--all-events')
        for text in long[:n]:
            w('enable-event', '-k', '-s', 'one', '-c', 'kernel', '--syscall', '*', '--filter', text)
        for pid in [pid for pid, name in w.daemons().items() if name.startswith('waymark-session')]:
            os.kill(pid, signal.SIGKILL)
        w('create', 'two')
        w('enable-event', '-k', '-s', 'two', 'sched_switch')
        w('start', 'two')
        for name in ('one', 'two'):
            is_now = w.session(name)
            check(is_now['active'] and not is_now.get('error'), '%s: %s', name,
                  {k: v for k, v in is_now.items() if k != 'channels'})
            w('destroy', name)


def record_filters_kernel_events_through_the_daemon(case):
    """`record` through a session daemon; a filter on the arguments of entries and the result of exits."""
    need()
    with World(case) as w:
        path = case.path('trace')
        w('record', '-k', 'syscall:lseek', '--kernel-filter',
          'offset == %d || ret == -9 && $ctx.procname == "%s"' % (BASE + 7, NAME), '-o', path, '--', sys.executable,
          '-c', WORK % 500)
        records = view(path)
        check(len([1 for event, _ in records if event == 'syscall_entry_lseek']) == 1, 'entries: %s', records[:5])
        exits = [fields for event, fields in records if event == 'syscall_exit_lseek']
        # (with the exits of the marks)
        check(
            len(exits) == 502 and all(number(fields, 'ret') == -9 for fields in exits), '%d exits: %s', len(exits),
            exits[:5])


if __name__ == '__main__':
    main([
        kernel_filter_selects_the_same_records_as_filter_in_view,
        limit(300)(filter_changes_apply_while_recording),
        limit(300)(filter_changes_apply_to_overwrite_buffers),
        limit(300)(filter_changes_apply_to_tracefs_events),
        limit(300)(filter_changes_apply_to_tracefs_events_in_overwrite_mode),
        limit(300)(kernel_filter_is_kept_after_kill_of_consumer_daemon),
        unsupported_kernel_filters_are_refused,
        filters_beyond_the_message_size_are_refused,
        record_filters_kernel_events_through_the_daemon,
    ])
