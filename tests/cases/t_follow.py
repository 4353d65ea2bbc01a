#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
`waymark view --follow` prints each record of a session once, as it is written, until the session ends. `waymark view`
without it reads a trace that is being written.
"""
import collections
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from daemon import World, state  # noqa: E402
from harness import PERCENT, WAIT_S, WAYMARK, awaited, check, limit, main, rounds, slurp, wait_for  # noqa: E402
from traces import LOSS  # noqa: E402

SMALL = ('--subbuf-size', '4k', '--num-subbuf', '256')
STRICT = ('--wait', '1000000')                         # each record waits for all streams
# (sync points that are written later change times by a few ns)
# (sync points that are written later change the corrected times of a record)
VIEW = ('view', '--style=babeltrace', '--clock-metadata', '--no-delta')
TOO_MANY = 2000  # a small step is repeated at most so often before its effect must be visible


class Follower:
    """`waymark view --follow ...`; a thread collects its lines."""

    def __init__(self, world, *argv):
        self.world, self.lines = world, []
        self.err = world.case.path('followed%d' % len(world.children))
        with open(self.err, 'wb') as err:
            self.child = world.run([WAYMARK, *VIEW, '--follow', *argv], stdout=subprocess.PIPE, stderr=err)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.child.stdout:
            self.lines.append(line)

    def has(self, event, more_than=0):
        return sum(event in line for line in list(self.lines)) > more_than

    def signal(self, number):
        self.child.send_signal(number)

    def end(self, statuses=(0,)):
        """Wait until it ends by itself. Returns all lines."""
        awaited(self.child)
        self.reader.join(WAIT_S)
        check(self.child.returncode in statuses, 'view --follow ended with status %s: %s', self.child.returncode,
              self.printed()[-800:])
        return self.lines

    def printed(self):
        return slurp(self.err)


def beside_losses(said):
    return [line for line in said.splitlines() if not LOSS.search(line)]


def view(w, *argv):
    """The lines of `waymark view`, which may report nothing but lost records."""
    answer = w(*VIEW, *argv)
    check(not beside_losses(answer.err), 'waymark view %s printed: %s', ' '.join(argv), answer.err[-800:])
    return [line.encode() for line in answer.out.splitlines(True)]


def same_lines(got, wanted):
    """Each line occurs equally often; the order is not compared."""
    missing, more = collections.Counter(wanted), collections.Counter(got)
    missing.subtract(more)
    wrong = [(n, line) for line, n in missing.items() if n]
    check(not wrong, '%d of %d lines are missing (> 0) or too many (< 0), for example %s', len(wrong), len(wanted),
          wrong[:3])


def pinned(w, cpu):
    program = w.scripted()
    os.sched_setaffinity(program.pid, {cpu})
    return program


def streams_of(w, session, channel):
    """The channel's stream files that are not empty."""
    found = set()
    for top, _, files in os.walk(w.session(session)['path']):
        if os.path.basename(top) != 'index':
            found |= {
                name for name in files if name.startswith(channel + '_') and os.path.getsize(os.path.join(top, name))
            }
    return found


def until(step, condition, words):
    """
    Repeat the step until the condition holds: its effect shows when a buffer is full. The pace slows down, because the
    consumer daemon may wait for a CPU and the ring must not fill before it is drained.
    """
    for i in range(TOO_MANY):
        if condition():
            return
        step()
        time.sleep(min(i, 20) / 1000)
    wait_for(condition, words)


def of_test(lines):
    return [line for line in lines if b' test:' in line or b'"test:' in line]


@limit(300)
def follow_prints_each_record_once_in_order(case):
    """On two CPUs: each record is printed once and in order. The follower ends when the session stops."""
    cpus = sorted(os.sched_getaffinity(0))[:2]
    with World(case) as w:
        w.begin('one', channel=SMALL)
        programs = [pinned(w, cpus[0]), pinned(w, cpus[-1])]
        for program in programs:
            before = streams_of(w, 'one', 'one')
            until(
                lambda p=program: p('emit 50'),
                lambda b=before: streams_of(w, 'one', 'one') - b or any('claim' in name
                                                                        for name in b) or (b and len(cpus) == 1),
                'a stream of each program')
        strict, plain, objects = Follower(w, *STRICT, 'one'), Follower(w, 'one'), Follower(w, '--json', '-s', 'one')
        for _ in range(max(5, rounds(50))):
            for program in programs:
                program('emit 37')
        until(lambda: [program('emit 50') for program in programs],
              lambda: strict.has(b'test:seq') and plain.has(b'test:seq') and objects.has(b'test:seq'),
              'followed records')
        check(w.stop('one')['counts']['lost'] == 0, 'records were lost')
        got, loose, json_lines = strict.end(), plain.end(), objects.end()
        wanted = view(w, 'one')
        same_lines(got, wanted)
        same_lines(loose, wanted)
        same_lines(json_lines, view(w, '--json', 'one'))
        for line in json_lines:
            json.loads(line)
        if not any('claim' in name for name in streams_of(w, 'one', 'one')):
            check(of_test(got) == of_test(wanted), 'the records are not in the order of time')
        for one in (strict, plain, objects):
            check(not one.printed(), 'view --follow printed: %s', one.printed()[-500:])
        for program in programs:
            program.end()
        w('destroy', 'one')


@limit(300)
def follow_ends_at_session_end_signal_or_end_time(case):
    """
    It ends when the session is destroyed, at Ctrl-C and SIGTERM after all existing records, and at the end of --end.
    """
    with World(case) as w:
        w.begin('one', channel=SMALL)
        program = w.scripted()
        first = Follower(w, 'one')                     # there are no records yet
        until(lambda: program('emit 50'), lambda: first.has(b'test:seq'), 'followed records')
        path = w.session('one')['path']
        for number in (signal.SIGINT, signal.SIGTERM):
            one = Follower(w, path)
            until(lambda: program('emit 50'), lambda o=one: o.has(b'test:seq'), 'followed records')
            there = view(w, path)
            one.signal(number)
            lines = one.end()
            left = collections.Counter(there)
            left.subtract(collections.Counter(lines))
            check(not [line for line, n in left.items() if n > 0],
                  'not all existing records were printed: %d of %d lines', len(lines), len(there))
        stamp = re.compile(rb'^\[(\d+\.\d+)\] ')
        times = [stamp.match(line).group(1).decode() for line in of_test(view(w, '--clock-seconds', path))]
        begin, end = times[len(times) // 4], times[len(times) // 2]
        part = Follower(w, '--begin', begin, '--end', end, '--clock-seconds', path).end()
        check(
            of_test(part) == [
                line for line in of_test(view(w, '--clock-seconds', path))
                if begin <= stamp.match(line).group(1).decode() <= end
            ], 'from %s to %s: %d lines', begin, end, len(part))
        odd = Follower(w, '--filter', 'seq % 2 == 1', 'one')
        wait_for(lambda: odd.has(b'test:seq'), 'existing records')
        program('emit 50')
        w('destroy', 'one')
        wanted = view(w, path)
        same_lines(first.end(), wanted)
        same_lines(odd.end(), view(w, '--filter', 'seq % 2 == 1', path))
        # The session is stopped but not destroyed: all its records are written, and the follower does not wait for
        # more.
        w.begin('two', channel=SMALL)
        second = Follower(w, 'two')
        until(lambda: program('emit 50'), lambda: second.has(b'test:seq'), 'followed records')
        program('emit 50')
        w('stop', 'two')
        check(w.session('two')['stopping'] is False, 'the stopped session is still being written')
        lines = second.end()
        same_lines(lines, view(w, w.session('two')['path']))
        w('destroy', 'two')
        program.end()
        w('view', '--wait', '1', path, status=2).prints('--follow')
        w('view', '--follow', '--viewer', 'cat', path, status=2).prints('--viewer')
        # No session writes this trace any more.
        same_lines(Follower(w, path).end(), wanted)


@limit(300)
def follow_prints_events_declared_later(case):
    """Events of another program and of a library loaded later are declared after the follower has read the metadata."""
    with World(case) as w:
        w.begin('one', 'test:*', 'plugin:*', 'scripted:*', channel=SMALL)
        program = w.scripted()
        one = Follower(w, '--filter', 'exists(seq) || !exists(seq)', 'one')
        until(lambda: program('emit 50'), lambda: one.has(b'test:seq'), 'followed records')
        check(not one.has(b'plugin:'), 'the library was loaded already')
        plugin = [case.program('loader'), case.program('libplugin.so'), '400', '0']
        until(lambda: w.wait_end(w.run(plugin)), lambda: one.has(b'plugin:called'),
              'the events of a library that was loaded')
        w('enable-channel', '-s', 'one', 'later', *SMALL)
        w('enable-event', '-s', 'one', '-c', 'later', 'nothing:of_it')
        until(lambda: program('late 50'), lambda: one.has(b'scripted:late'), 'the events of the other program')
        w('add-context', '-s', 'one', '-c', 'later', '-t', 'vpid')
        path = w.session('one')['path']
        w('destroy', 'one')
        lines = one.end()
        same_lines(lines, view(w, path))
        check(not one.printed(), 'view --follow printed: %s', one.printed()[-500:])
        program.end()


@limit(300)
def follow_continues_after_clear_and_rotation(case):
    """Files are removed while they are followed. Later records are printed, and none twice."""
    with World(case) as w:
        w.begin('one', channel=(*SMALL, '--tracefile-size', '16k', '--tracefile-count', '4'))
        program = w.scripted()
        one = Follower(w, 'one')
        for _ in range(3):
            seen = len(of_test(one.lines))
            until(lambda: program('emit 50'), lambda s=seen: one.has(b'test:seq', s + 1000),
                  'followed records')
            w('clear', 'one')            # while the session records: the follower ends when it stops
        w('destroy', 'one')
        lines = of_test(one.end())
        check(
            len(set(lines)) == len(lines), '%d of %d lines were printed twice',
            len(lines) - len(set(lines)), len(lines))
        program.end()


@limit(300)
def follow_continues_after_one_daemon_is_killed(case):
    """A follower continues over the crash of either daemon, and ends with the session."""
    with World(case) as w:
        w.begin('one', channel=SMALL)
        program = w.scripted()
        path, by_name = w.session('one')['path'], Follower(w, 'one')
        until(lambda: program('emit 50'), lambda: by_name.has(b'test:seq'), 'followed records')
        one = Follower(w, path)
        wait_for(lambda: one.has(b'test:seq'), 'followed records')
        was = w.consumerd()
        os.kill(was, signal.SIGKILL)
        w.wait(lambda: w.consumerd() not in (None, was), 'another consumer daemon')
        seen = len(of_test(one.lines))
        until(lambda: program('emit 50'), lambda: one.has(b'test:seq', seen + 500), 'records after the first crash')
        with w.disconnected(program):
            w.start_daemon()
        seen = len(of_test(one.lines))
        until(lambda: program('emit 50'), lambda: one.has(b'test:seq', seen + 500), 'records after the second crash')
        program.end()
        w('destroy', 'one')
        wanted = view(w, path)
        same_lines(one.end(), wanted)
        by_name.end((0, 1))


@limit(300)
def follow_ends_when_both_daemons_are_killed(case):
    """No daemon writes the directory any more: the follower ends and reports incomplete data."""
    with World(case) as w:
        w.begin('one', channel=SMALL)
        program = w.scripted()
        path = w.session('one')['path']
        by_path, by_name = None, Follower(w, 'one')
        until(lambda: program('emit 50'), lambda: by_name.has(b'test:seq'), 'followed records')
        by_path = Follower(w, path)
        wait_for(lambda: by_path.has(b'test:seq'), 'followed records')
        victims = [w.sessiond(), w.consumerd()]
        for pid in victims:
            os.kill(pid, signal.SIGKILL)
        w.wait(lambda: all(state(pid) in ('Z', None) for pid in victims), 'the daemons to be dead')
        wanted = [line.encode() for line in w(*VIEW, path, status=None).out.splitlines(True)]
        for one in (by_path, by_name):
            same_lines(one.end((0, 1)), wanted)
        program.kill()


@limit(300)
def view_of_an_active_session_reports_no_damage(case):
    """
    Without --follow: the view prints the records written so far and reports no damage. 50 times (20 in short runs).
    """
    with World(case) as w:
        w.begin('one', 'test:*', 'plugin:*', channel=('--subbuf-size', '16k', '--num-subbuf', '128'))
        # (a slow pace, because each view reads the whole trace)
        busy = [w.run([case.program('busy'), 'paced', '2', '100000000', '60000']) for _ in range(2)]
        wait_for(lambda: case.ledger.begun() > 5000, 'programs that record')
        path, last = w.session('one')['path'], 0
        for number in range(50 if PERCENT >= 100 else 20):
            plugin = w.run([case.program('loader'), case.program('libplugin.so'), '8', '0'])   # declares events
            n = len(view(w, path if number % 2 else 'one'))
            check(n >= last, 'the trace shrank: %d lines, then %d', last, n)
            last = n
            w.wait_end(plugin)
        check(last, 'nothing was read')
        case.ledger.set_flag(1, 1)
        for program in busy:
            w.wait_end(program)
        w('destroy', 'one')


@limit(300)
def view_of_unfinished_packets_reports_no_damage(case):
    """The same while a packet is partially written most of the time. A packet is followed only when it is complete."""
    with World(case) as w:
        w.begin('one', channel=('--subbuf-size', '1M', '--num-subbuf', '8'))
        path, views = None, 0
        while views < 50:
            busy = w.run([case.program('busy'), 'large', '2', '5000', '1'])
            path = path or wait_for(lambda: w.session('one')['path']
                                    if streams_of(w, 'one', 'one') else None, 'packets')
            while busy.poll() is None:
                check(len(view(w, '--filter', 'seq < 20', path)) <= 40, 'records that the filter does not select')
                views += 1
            w.wait_end(busy)
            w('clear', 'one')
        one = Follower(w, '--filter', 'seq < 20', path)
        w.wait_end(w.run([case.program('busy'), 'large', '2', '5000', '1']))
        w('destroy', 'one')
        same_lines(one.end(), view(w, '--filter', 'seq < 20', path))
        check(not beside_losses(one.printed()), 'view --follow printed: %s', one.printed()[-500:])


if __name__ == '__main__':
    main([
        follow_prints_each_record_once_in_order, follow_ends_at_session_end_signal_or_end_time,
        follow_prints_events_declared_later, follow_continues_after_clear_and_rotation,
        follow_continues_after_one_daemon_is_killed, follow_ends_when_both_daemons_are_killed,
        view_of_an_active_session_reports_no_damage, view_of_unfinished_packets_reports_no_damage
    ])
