#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Records of an active session are in the trace within the flush interval, and an idle session costs nothing."""
import glob
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from daemon import Scripted, World  # noqa: E402
from harness import PERCENT, WAYMARK, check, limit, main, wait_for  # noqa: E402
from idle import rests, switches, woken  # noqa: E402
from killed_once import need_testpoints  # noqa: E402

LONG = PERCENT >= 100
# In a short run other tests delay all threads: it shows that a record does not wait for its sub-buffer.
VISIBLE_S = 1.0 if LONG else 20.0
QUIET_S = 2.0
REGISTERED_S = 6.0      # longer than the time in which an application must register: a timer of the session daemon


class Session:
    """A session that records test:*; the size of its stream files."""

    def __init__(self, w, name, channel=()):
        self.w, self.name = w, name
        w('create', name, '--no-statedump')
        w('enable-channel', '-s', name, 'live', *channel)
        w('enable-event', '-s', name, '-c', 'live', 'test:*')
        w('start', name)
        self.path = w.session(name)['path']

    def streams(self):
        return [f for f in glob.glob(self.path + '/**/live_*', recursive=True) if not f.endswith('.idx')]

    def bytes(self):
        return sum(map(os.path.getsize, self.streams()))

    def visible(self, record):
        """Seconds from the end of record() to its bytes in the trace."""
        before = self.bytes()
        record()
        begun = time.monotonic()
        wait_for(lambda: self.bytes() > before, 'a record of %s in the trace' % self.name)
        return time.monotonic() - begun


def check_gaps(w, session, program, gaps):
    daemons = {'session daemon': w.sessiond(), 'consumer daemon': w.consumerd()}
    if LONG:
        rests(daemons, REGISTERED_S, 'after the registration')
    for gap in gaps:
        took = session.visible(lambda: program('emit 1'))
        check(took <= VISIBLE_S, 'a record is in the trace after %.3f s, not %g s', took, VISIBLE_S)
        if LONG:
            time.sleep(QUIET_S - took)
            before = {name: switches(pid) for name, pid in daemons.items()}
            time.sleep(gap - QUIET_S)
            awake = {name: woken(before[name], switches(pid)) for name, pid in daemons.items()}
            check(not any(awake.values()), 'from %g s after a record to %.1f s threads wake: %s', QUIET_S, gap, awake)
        else:
            rests(daemons, gap, 'between two records', tries=10)


@limit(2000)
def rare_records_are_visible_within_a_second_and_idle_daemons_sleep(case):
    n_gaps = 20 if LONG else 2
    with World(case) as w:
        session = Session(w, 'one')
        program = w.scripted()
        check_gaps(w, session, program,
                   [case.random.uniform(5, 70) if LONG else case.random.uniform(2.2, 3) for _ in range(n_gaps)])
        _, _, numbers = w.finish('one', lost=0)
        check([len(n) for n in numbers.values()] == [n_gaps], 'recorded: %s, not %d', numbers, n_gaps)
        program.end()


@limit(400)
def rare_records_are_visible_and_idle_daemons_sleep_without_rseq(case):
    """
    The records of a program without restartable sequences are in claim rings. The memory of idle rings is given back,
    which wakes the consumer daemon once.
    """
    with World(case) as w:
        session = Session(w, 'claims', ('--auto-reclaim-memory=100ms',))
        program = w.scripted(env={'GLIBC_TUNABLES': 'glibc.pthread.rseq=0'})
        gaps = [case.random.uniform(5, 20) for _ in range(5)] if LONG else [2.2]
        check_gaps(w, session, program, gaps)
        check(any('_claim' in f for f in session.streams()), 'streams: %s', session.streams())
        channel = w.session('claims')['channels'][0]
        check(channel['reclaimed'] > 0, 'no memory was given back: %s', channel)
        _, _, numbers = w.finish('claims', lost=0)
        check([len(n) for n in numbers.values()] == [len(gaps)], 'recorded: %s', numbers)
        program.end()


@limit(400)
def rare_records_are_visible_and_idle_daemons_sleep_with_200_ring_sets(case):
    with World(case) as w:
        session = Session(w, 'many', ['--buffers-pid', '--subbuf-size', '4k', '--num-subbuf', '2'])
        programs = [Scripted(w) for _ in range(200)]
        for program in programs:
            program.ready()
        w.wait_apps([program.pid for program in programs])
        for program in programs:
            program('emit 1')
        wait_for(lambda: sum(os.path.getsize(f) > 0 for f in session.streams()) >= len(programs), 'each first record')
        gaps = [case.random.uniform(5, 20) for _ in range(5)] if LONG else [2.2]
        check_gaps(w, session, case.random.choice(programs), gaps)
        for program in programs:
            program.end()
        _, _, numbers = w.finish('many', lost=0)
        check(sorted(map(len, numbers.values())) == [1] * 199 + [1 + len(gaps)], 'recorded: %s', numbers)


@limit(300)
def records_are_visible_quickly_with_frequent_flushes(case):
    """A short interval: the sub-buffer is continued in many packets, each record once."""
    with World(case) as w:
        session = Session(w, 'one', ['--flush-interval', '20', '--subbuf-size', '4k'])
        program = w.scripted()
        for _ in range(30):
            took = session.visible(lambda: program('emit 3'))
            check(took <= VISIBLE_S, 'records are in the trace after %.3f s', took)
        _, _, numbers = w.finish('one', lost=0)
        check([len(n) for n in numbers.values()] == [90], 'recorded: %s', numbers)
        program.end()


@limit(300)
def records_are_written_per_sub_buffer_without_flush_interval(case):
    with World(case) as w:
        whole = Session(w, 'whole', ['--flush-interval', '0'])
        live = Session(w, 'live')
        check(w.session('whole')['channels'][0]['flush_us'] == -1, 'list --json: %s', w.session('whole')['channels'])
        check(w.session('live')['channels'][0]['flush_us'] == 1000000, 'list --json: %s', w.session('live')['channels'])
        program = w.scripted()
        for _ in range(2):
            live.visible(lambda: program('emit 1'))
        check(whole.bytes() == 0, 'session whole has %d bytes', whole.bytes())
        w.finish('live', lost=0)
        _, _, numbers = w.finish('whole', lost=0)
        check([len(n) for n in numbers.values()] == [2], 'recorded: %s', numbers)
        program.end()


@limit(300)
def record_of_a_process_killed_before_its_wake_is_visible(case):
    """The session daemon sees the end of the process, and wakes the consumer daemon."""
    need_testpoints()
    with World(case) as w:
        session = Session(w, 'one')
        program = w.scripted()
        session.visible(lambda: program('emit 1'))
        victim = w.scripted(env={'WMK_TESTPOINT': 'ring_waking=kill:0'})
        w.wait_apps([program.pid, victim.pid])
        rests({'consumer daemon': w.consumerd()}, 1.5, 'before the record', tries=10)
        before = session.bytes()
        victim.send('emit 1')
        wait_for(lambda: victim.child.poll() == -signal.SIGKILL, 'the application to be killed at its wake')
        wait_for(lambda: session.bytes() > before, 'the record of the killed application in the trace')
        victim.kill()
        _, _, numbers = w.finish('one', killed=True, lost=0)
        check(sorted(map(len, numbers.values())) == [1, 1], 'recorded: %s', numbers)
        program.end()


@limit(300)
def live_reader_shortens_the_flush_interval_of_its_session(case):
    """A flush interval of a minute: records of the followed session are written at once, until the reader crashes."""
    with World(case) as w:
        minute = ['--flush-interval', '60000']
        followed, other, usual = Session(w, 'followed', minute), Session(w, 'other', minute), Session(w, 'usual')
        program = w.scripted()
        os.sched_setaffinity(program.pid, {min(os.sched_getaffinity(0))})       # one stream for each session
        usual.visible(lambda: program('emit 1'))
        view = w.run([WAYMARK, 'view', '--follow', 'followed'], stdout=subprocess.PIPE, text=True)
        printed = 0

        def check_printed(n):
            nonlocal printed
            while printed < n:
                line = view.stdout.readline()            # @limit ends a case that waits too long
                check('test:seq' in line, 'view printed "%s" after %d records', line, printed)
                printed += 1
        check_printed(1)
        before = other.bytes()
        for n in range(2, 12):
            begun = time.monotonic()
            program('emit 1')
            check_printed(n)
            check(time.monotonic() - begun <= VISIBLE_S, 'a record is printed after %.3f s', time.monotonic() - begun)
        check(other.bytes() == before, 'the interval of another session is shorter, too')
        view.kill()
        w.wait_end(view, status=None)
        view.stdout.close()
        # a pass without the reader: after it, the interval is a minute again
        for _ in range(2):
            usual.visible(lambda: program('emit 1'))
        before = followed.bytes()
        for _ in range(2):
            usual.visible(lambda: program('emit 1'))
        check(followed.bytes() == before, 'the interval stays short after the reader has crashed')
        program.end()
        for session in ('followed', 'other', 'usual'):
            w.finish(session, lost=0)


@limit(600)
def counts_are_current_while_the_consumer_is_stopped(case):
    """
    `list` counts at least the records that returned before it, and at most those that began before its end. It needs no
    answer of the consumer daemon.
    """
    with World(case) as w:
        Session(w, 'one')
        busy = w.run([case.program('busy'), 'until', '8', '100000'])
        w.wait(lambda: len(case.ledger.read()) == 8, 'eight threads to record')
        w.wait_apps([busy.pid])
        for consumer in ('running', 'stopped', 'running again'):
            os.kill(w.consumerd(), signal.SIGSTOP if consumer == 'stopped' else signal.SIGCONT)
            for _ in range((1000 if LONG else 20) if consumer == 'stopped' else 10):
                returned = sum(r for _, r in case.ledger.read().values())
                counts = w.session('one')['counts']
                begun, shown = case.ledger.begun(), counts['records'] + counts['lost']
                check(returned <= shown <= begun, 'consumer daemon %s: %d returned, %d begun, list has %s', consumer,
                      returned, begun, counts)
        case.ledger.set_flag(1, 1)
        w.wait_end(busy)
        begun = case.ledger.begun()
        counts = w.session('one')['counts']
        check(counts['records'] + counts['lost'] == begun, '%d begun: %s', begun, counts)
        stopped = w.stop('one')['counts']
        check(stopped['records'] + stopped['lost'] == begun, '%d begun: %s', begun, stopped)


if __name__ == '__main__':
    main([
        rare_records_are_visible_within_a_second_and_idle_daemons_sleep,
        rare_records_are_visible_and_idle_daemons_sleep_without_rseq,
        rare_records_are_visible_and_idle_daemons_sleep_with_200_ring_sets,
        records_are_visible_quickly_with_frequent_flushes, records_are_written_per_sub_buffer_without_flush_interval,
        record_of_a_process_killed_before_its_wake_is_visible, live_reader_shortens_the_flush_interval_of_its_session,
        counts_are_current_while_the_consumer_is_stopped
    ])
