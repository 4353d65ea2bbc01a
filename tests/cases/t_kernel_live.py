#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Kernel records of an active session are in the trace within the flush interval, and an idle session costs nothing."""
import ctypes
import fcntl
import glob
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from harness import PERCENT, check, limit, wait_for  # noqa: E402
from idle import rests, switches, woken  # noqa: E402
from kernel import KernelWorld, kernel_main  # noqa: E402

LONG = PERCENT >= 100
# In a short run, other tests delay all threads, so the limit only shows that a record does not wait for its buffer.
VISIBLE_S = 1.0 if LONG else 20.0
QUIET_S = 2.0
PLACE = 987654       # no other program locks this byte of a file
LIBC = ctypes.CDLL(None)
# A system call that BPF records, and an event of tracefs.
SOURCES = {
    'calls': (['--syscall', 'mincore'], 2),
    'events': (['filelock:posix_lock_inode', '--filter', 'fl_start == %d' % PLACE], 1)
}


class Live:
    """A session with one kernel channel, which records one of SOURCES."""

    def __init__(self, w, source, *channel):
        self.w, self.name, self.source = w, source, source
        self.lock = open(os.path.join(w.place, 'lock.' + source), 'w')
        w('create', self.name, '--no-statedump')
        w('enable-channel', '-k', '-s', self.name, 'live', *channel)
        w('enable-event', '-k', '-s', self.name, '-c', 'live', *SOURCES[source][0])
        w('start', self.name)
        self.path = w.session(self.name)['path']

    def record(self):
        if self.source == 'calls':
            LIBC.mincore(0, 0, 0)
        else:
            fcntl.lockf(self.lock, fcntl.LOCK_EX, 1, PLACE)
            fcntl.lockf(self.lock, fcntl.LOCK_UN, 1, PLACE + 1)

    def bytes(self):
        return sum(os.path.getsize(f) for f in glob.glob(self.path + '/**/live_*', recursive=True)
                   if not f.endswith('.idx'))

    def visible(self):
        """Returns the seconds from the end of record() until its bytes are in the trace."""
        before = self.bytes()
        self.record()
        begun = time.monotonic()
        wait_for(lambda: self.bytes() > before, 'a record of %s in the trace' % self.name)
        return time.monotonic() - begun

    def end(self, n):
        self.w.destroyed(self.name, n * SOURCES[self.source][1])
        self.lock.close()


def check_gaps(w, live, gaps):
    daemons = {'session daemon': w.sessiond(), 'consumer daemon': w.kernel_consumerd()}
    for gap in gaps:
        took = live.visible()
        check(took <= VISIBLE_S, '%s: a record is in the trace after %.3f s, not %g s', live.name, took, VISIBLE_S)
        if LONG:
            time.sleep(QUIET_S - took)
            before = {name: switches(pid) for name, pid in daemons.items()}
            time.sleep(gap - QUIET_S)
            awake = {name: woken(before[name], switches(pid)) for name, pid in daemons.items()}
            check(not any(awake.values()), '%s: from %g s after a record to %.1f s threads wake: %s', live.name,
                  QUIET_S, gap, awake)
        else:
            rests(daemons, gap, '%s: between two records' % live.name, tries=10)


@limit(2000)
def rare_kernel_records_are_visible_within_a_second_and_idle_daemons_sleep(case):
    n_gaps = 10 if LONG else 1
    with KernelWorld(case) as w:
        for source in SOURCES:
            live = Live(w, source)
            check_gaps(w, live,
                       [case.random.uniform(5, 70) if LONG else case.random.uniform(1.2, 1.5) for _ in range(n_gaps)])
            live.end(n_gaps)


@limit(300)
def kernel_records_are_written_once_with_frequent_flushes(case):
    """With a short interval, each record is in the trace once."""
    with KernelWorld(case) as w:
        for source in SOURCES:
            live = Live(w, source, '--flush-interval', '20')
            for _ in range(30 if LONG else 12):
                took = live.visible()
                check(took <= VISIBLE_S, '%s: records are in the trace after %.3f s', source, took)
            live.end(30 if LONG else 12)


@limit(300)
def kernel_records_are_written_per_buffer_without_flush_interval(case):
    with KernelWorld(case) as w:
        whole, live = Live(w, 'calls', '--flush-interval', '0'), Live(w, 'events')
        check(w.session('calls')['channels'][0]['flush_us'] == -1, 'list --json: %s', w.session('calls')['channels'])
        check(w.session('events')['channels'][0]['flush_us'] == 1000000, 'list --json: %s', w.session('events'))
        for _ in range(2):
            whole.record()
            live.visible()
        check(whole.bytes() == 0, 'session calls has %d bytes', whole.bytes())
        live.end(2)
        whole.end(2)


if __name__ == '__main__':
    kernel_main([
        rare_kernel_records_are_visible_within_a_second_and_idle_daemons_sleep,
        kernel_records_are_written_once_with_frequent_flushes,
        kernel_records_are_written_per_buffer_without_flush_interval
    ])
