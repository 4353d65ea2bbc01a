#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
SIGKILL ends applications, the consumer daemon and the session daemon at random moments under load. No completed record
is lost.
"""
import contextlib
import os
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from daemon import World  # noqa: E402
from harness import SEED, check, limit, main, rounds  # noqa: E402

SIZES = ['--subbuf-size', '256k', '--num-subbuf', '8']
# Computation between two records, so that each thread records some thousands a second: the buffers last for many
# seconds without a consumer daemon.
SPIN = '300000'


def kill(pid):
    if not pid:
        return
    with contextlib.suppress(OSError):
        os.kill(pid, signal.SIGKILL)


def kill_some(case, w, victim, private):
    """Kill some of the three processes in random order at random moments. Returns their names."""
    killers = {
        'program': lambda: kill(victim.pid), 'consumer': lambda: kill(w.consumerd()),
        'session': lambda: kill(w.sessiond())
    }
    # Per-process rings are lost if their process and both daemons are killed.
    names = case.random.sample(sorted(killers), case.random.randrange(1, 3 if private else 4))
    for name in names:
        time.sleep(case.random.random() * 0.03)         # the moment, not a condition
        killers[name]()
    return names


def check_all(case, words, numbers):
    """Check that each call that returned has its record."""
    for writer, (_, returned) in case.ledger.read().items():
        check(len(numbers.get(writer, [])) >= returned, '%s: writer %d: %d returned, %d read', words, writer, returned,
              len(numbers.get(writer, [])))


def one_round(case, w, turn):
    case.ledger.__init__(case.ledger.path)
    name, private = 'k%d' % turn, case.random.random() < 0.4
    w.begin(name, channel=SIZES + (['--buffers-pid'] if private else []))
    victim, other = w.run([case.program('busy'), 'until', '2', SPIN]), w.run([case.program('busy'), 'until', '1', SPIN])
    w.wait(lambda: case.ledger.flag(0) == 3, 'three threads to record')
    names = kill_some(case, w, victim, private)
    words = 'turn %d, killed %s%s' % (turn, ' '.join(names), ', per-process buffers' if private else '')
    w.start_daemon()
    there = [s for s in w('list', '--json').json['sessions'] if s['name'] == name]
    check(there and there[0]['active'], '%s: the session %s', words, 'is not active' if there else 'is missing')
    if 'program' in names:
        w.wait_end(victim, None)
        w.run([case.program('busy'), 'count', '1', '500', SPIN])
    begun = case.ledger.begun()
    w.wait(lambda: case.ledger.begun() > begun + 1000, words + ': the other applications to record on')
    w('enable-event', '-s', name, '-c', name, 'test:*')     # all applications have confirmed
    case.ledger.set_flag(1, 1)
    for child in list(w.children):
        w.wait_end(child)
    try:
        _, _, numbers = w.finish(name, killed='program' in names, lost=0)
    except Exception as failure:
        raise type(failure)('%s: %s' % (words, failure)) from failure
    check_all(case, words, numbers)
    return names


@limit(100)
def random_kills_under_load_lose_no_records(case):
    with World(case) as w:
        for turn in range(rounds(100)):
            one_round(case, w, turn)


@limit(60)
def repeated_consumer_daemon_kills_lose_no_records(case):
    """One session and one application, many consumer daemons: each continues the trace."""
    with World(case) as w:
        w.begin('many', channel=SIZES)
        child = w.run([case.program('busy'), 'until', '2', SPIN])
        w.wait(lambda: case.ledger.flag(0) == 2, 'two threads to record')
        for _ in range(rounds(30)):
            pid = w.wait(w.consumerd, 'another consumer daemon')
            begun = case.ledger.begun()
            w.wait(lambda: case.ledger.begun() > begun + case.random.randrange(200, 2000), 'the program to record on')
            kill(pid)
            w.wait(lambda: w.consumerd() not in (None, pid), 'another consumer daemon')
        case.ledger.set_flag(1, 1)
        w.wait_end(child)
        _, _, numbers = w.finish('many', lost=0)
        check_all(case, 'consumers killed', numbers)


def daemons_killed_within_commands_lose_no_records(case):
    """A daemon is killed within `stop`. The next command finds all records."""
    with World(case) as w:
        for turn in range(rounds(40)):
            case.ledger.__init__(case.ledger.path)
            name = 's%d' % turn
            w.begin(name, channel=SIZES)
            w.wait_end(w.run([case.program('busy'), 'count', '2', '2000', '0']))
            stop = w.run([os.environ.get('WMK_WAYMARK', 'waymark'), 'stop', name])
            time.sleep(case.random.random() * 0.02)         # the moment, not a condition
            kill(case.random.choice((w.consumerd, w.sessiond))())
            w.wait_end(stop, None)
            w.start_daemon()
            _, _, numbers = w.finish(name, lost=0)
            check_all(case, 'turn %d' % turn, numbers)


if __name__ == '__main__':
    print('# kills with seed %d' % SEED)
    main([
        random_kills_under_load_lose_no_records, repeated_consumer_daemon_kills_lose_no_records,
        daemons_killed_within_commands_lose_no_records
    ])
