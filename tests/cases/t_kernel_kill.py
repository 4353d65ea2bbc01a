#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
kill -9 of the daemons while the kernel records counted calls: each record is in the trace once, or counted as lost. No
instance remains in tracefs.
"""
import contextlib
import os
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from harness import SEED, WAYMARK, check, limit, rounds, wait_for  # noqa: E402
from kernel import CALLS, KernelWorld, check_turns, kernel_main, left_in_tracefs, number, text  # noqa: E402
from restarts import DAEMONS, check_restarts, sessions_of  # noqa: E402

LARGE = ['--subbuf-size', '4M', '--num-subbuf', '32']
SMALL = ['--subbuf-size', '32k', '--num-subbuf', '4']
# The kernel keeps its own records while no consumer drains them. (BPF programs and their records are lost with the
# consumer daemon.)
KEPT = ['--syscall-arguments', 'none']
KINDS = 2 * len(CALLS)


def kill(pid):
    with contextlib.suppress(OSError, TypeError):
        os.kill(pid, signal.SIGKILL)


def a_moment(case, most=0.05):
    time.sleep(case.random.random() * most)          # the moment, not a condition


def balance(w, name, made, words, tids):
    """Each record is in the trace once or counted as lost, both in the trace and in the counts."""
    trace = w.destroyed(name, lossy=True)
    others = {text(r.context, 'procname') for r in trace.records if number(r.context, 'tid') not in tids}
    check(not others, '%s: other processes make these calls: %s', words, others)
    check(
        len(trace.records) + trace.lost == made * KINDS, '%s: %d recorded + %d lost = %d, not %d (%s)', words,
        len(trace.records), trace.lost,
        len(trace.records) + trace.lost, made * KINDS, trace.counts)
    check(trace.counts['lost'] == trace.lost, '%s: %s, the trace has %d lost', words, trace.counts, trace.lost)
    check_turns(trace, tids)
    return trace


@limit(120)
def killed_consumer_daemons_lose_no_kernel_records(case):
    """Repeatedly, at random moments. In buffers with room for everything no record is lost."""
    with KernelWorld(case) as w:
        for size in (LARGE, SMALL):
            w.begin_calls('one', *size, *KEPT)
            program = w.until(2)
            for turn in range(rounds(60)):
                pid = w.wait(w.kernel_consumerd, 'a consumer')
                a_moment(case)
                kill(pid)
                w.wait(lambda: w.kernel_consumerd() not in (None, pid), 'another consumer')
                if turn % 4 == 3:
                    w('list', 'one')         # the session daemon answers
            made, tids = w.ended(program)
            trace = balance(w, 'one', made, 'killed %d times, %s' % (rounds(60), size), tids)
            check(size is SMALL or trace.lost == 0, 'records were lost in large buffers: %s', trace.counts)


@limit(120)
def kill_of_consumer_daemon_loses_no_partial_page(case):
    """Few records: those on a page that no consumer had written are in the trace, once."""
    with KernelWorld(case) as w:
        w.begin_calls('one', *LARGE, *KEPT)
        made, tids = 0, set()
        for _ in range(rounds(60)):
            turns, ids = w.calls(1, case.random.randrange(1, 400))
            made, tids = made + turns, tids | ids
            pid = w.wait(w.kernel_consumerd, 'a consumer')
            if case.random.random() < 0.5:
                w('list', 'one')
            if case.random.random() < 0.3:
                w('stop', 'one')
                w('start', 'one')
            kill(pid)
            w.wait(lambda gone=pid: w.kernel_consumerd() not in (None, gone), 'another consumer')
        trace = balance(w, 'one', made, 'few records', tids)
        check(trace.lost == 0, 'lost: %s', trace.counts)
        named = len([r for r in trace.records if 'procname = "kcalls"' in r.context])
        check(named >= len(trace.records) * 9 // 10, 'of %d records of ended programs, only %d have the name',
              len(trace.records), named)


@limit(120)
def killed_session_daemon_loses_no_kernel_records(case):
    """The next session daemon continues the session."""
    with KernelWorld(case) as w:
        w.begin_calls('one', *LARGE)
        program = w.until(2)
        for _ in range(rounds(30)):
            a_moment(case)
            kill(w.sessiond())
            w.start_daemon()
            check(w.session('one')['active'], 'the session has stopped recording')
        made, tids = w.ended(program)
        trace = balance(w, 'one', made, 'session daemons killed', tids)
        check(trace.lost == 0, 'lost: %s', trace.counts)


@limit(180)
def killed_daemons_lose_no_kernel_records(case):
    """In any order. The next daemons adopt the recording buffers, and the contexts remain."""
    with KernelWorld(case) as w:
        for turn in range(rounds(30)):
            name = 's%d' % turn
            w.begin_calls(name, *LARGE, *KEPT)
            program = w.until(2)
            for _ in range(2):
                a_moment(case)
                victims = [w.sessiond, w.kernel_consumerd]
                case.random.shuffle(victims)
                for victim in victims:
                    kill(victim())
                    a_moment(case, 0.01)
                # a consumer daemon that was started in between has no session daemon and exits
                w.wait(lambda: w.sessiond() is None, 'the session daemon to be gone')
                w.start_daemon()
            made, tids = w.ended(program)
            trace = balance(w, name, made, 'turn %d' % turn, tids)
            check(trace.lost == 0, 'turn %d: lost: %s', turn, trace.counts)
            check(all('procname = "kcalls"' in r.context for r in trace.records), 'a record without its name')


@limit(180)
def daemons_killed_within_commands_leave_nothing_in_tracefs(case):
    """A daemon is killed in the middle of a command: the next daemons end normally, and no instance remains."""
    with KernelWorld(case) as w:
        for turn in range(rounds(60)):
            name = 's%d' % turn
            w.begin_calls(name, *LARGE)
            w.calls(1, 200)
            command = case.random.choice(
                (['stop', name], ['destroy', name], ['clear', name], ['add-context', '-k', '-s', name, '-t', 'ppid'],
                 ['enable-event', '-k', '-s', name, '-c', 'kernel',
                  'sched_*'], ['disable-channel', '-k', '-s', name, 'kernel']))
            child = w.run([WAYMARK, *command])
            a_moment(case, 0.03)
            victim = case.random.choice((w.sessiond, w.kernel_consumerd))
            kill(victim())
            w.wait_end(child, None)
            w.start_daemon()
            w.calls(1, 10)
            if any(s['name'] == name for s in w('list', '--json').json['sessions']):
                w('destroy', name)
            w.wait(
                lambda: not w.instances(),
                'turn %d, %s killed within %s: instances remain: %s' % (turn, victim.__name__, command, w.instances()))


@limit(60)
def kernel_buffers_of_killed_daemons_are_adopted_by_the_next(case):
    """
    Session daemon, consumer daemons and `waymark record`, all at once: the next daemon adopts the session's buffers and
    removes the others.
    """
    with KernelWorld(case) as w:
        for turn in range(rounds(20)):
            w.begin_calls('one', *LARGE, *KEPT)
            record = w.run([
                WAYMARK, 'record', '--private', '-k', 'syscall:' + CALLS[0], '-o',
                case.path('r%d' % turn), '--', 'sleep', '1000'
            ])
            mine = 'waymark-p%d.' % record.pid
            w.wait(lambda: [n for n in left_in_tracefs() if n.startswith(mine)], 'waymark record to begin')
            turns, tids = w.calls(1, 100)
            a_moment(case)
            for pid in case.random.sample(sorted(w.daemons()), len(w.daemons())):
                kill(pid)
            os.killpg(record.pid, signal.SIGKILL)
            w.wait_end(record, None)
            w.wait(lambda: not w.daemons(), 'all daemons to be gone')
            check(w.instances() and [n for n in left_in_tracefs() if n.startswith(mine)],
                  'no instance is left, so this case tests nothing')
            w.start_daemon()
            wait_for(lambda: not [n for n in left_in_tracefs() if n.startswith(mine)],
                     'the instances of waymark record to be removed')
            check(w.session('one')['active'], 'the session is gone')
            balance(w, 'one', turns, 'turn %d' % turn, tids)
            w.wait(lambda: not w.instances(), 'instances to be gone: %s' % w.instances())


def daemon_restarts_change_no_counts_of_kernel_buffers(case):
    """
    Buffers with lost records, of the kernel and of BPF: a daemon ends, and the next command shows the same counts.
    """
    with KernelWorld(case) as w:
        # (BPF programs belong to the consumer daemon, so only its end matters for them)
        for daemons, options in ((DAEMONS, KEPT), (DAEMONS[-1:], ())):
            for name in sessions_of(daemons):
                w.begin_calls(name, '--subbuf-size', '4k', '--num-subbuf', '2', *options)
            w.calls(1, 3000)
            for name in sessions_of(daemons):
                w.stop(name)
                w('start', name)
            before = check_restarts(w, w.kernel_consumerd, daemons, gaps=not options)
            check(all(counts[0]['lost'] > 0 for counts in before), 'nothing was lost: %s', before)


if __name__ == '__main__':
    print('# killing with seed %d' % SEED)
    kernel_main([
        killed_consumer_daemons_lose_no_kernel_records, kill_of_consumer_daemon_loses_no_partial_page,
        killed_session_daemon_loses_no_kernel_records, killed_daemons_lose_no_kernel_records,
        daemons_killed_within_commands_leave_nothing_in_tracefs,
        kernel_buffers_of_killed_daemons_are_adopted_by_the_next, daemon_restarts_change_no_counts_of_kernel_buffers
    ])
