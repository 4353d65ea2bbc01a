#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`waymark view --follow`: records of a session as they come, each once, until it is over; and reading what is being
written without it."""
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
STRICT = ('--wait', '1000000')                         # records wait for those of all streams
TOO_MANY = 2000                                        # times that something small is done before it must have shown


class Follower:
    """`waymark view --follow ...`, whose lines are taken as they come."""

    def __init__(self, world, *argv):
        self.world, self.lines = world, []
        self.err = world.case.path('followed%d' % len(world.children))
        with open(self.err, 'wb') as err:
            self.child = world.run([WAYMARK, 'view', '--no-delta', '--follow', *argv], stdout=subprocess.PIPE,
                                   stderr=err)
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
        """It ends by itself; all lines."""
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
    """What `waymark view` shows, which has nothing to tell of but what was lost while it was recorded."""
    answer = w('view', '--no-delta', *argv)
    check(not beside_losses(answer.err), 'waymark view %s says: %s', ' '.join(argv), answer.err[-800:])
    return [line.encode() for line in answer.out.splitlines(True)]


def same_lines(got, wanted):
    """Each as often; the order is not looked at."""
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
    """The channel's stream files that have something."""
    found = set()
    for top, _, files in os.walk(w.session(session)['path']):
        if os.path.basename(top) != 'index':
            found |= {
                name for name in files if name.startswith(channel + '_') and os.path.getsize(os.path.join(top, name))
            }
    return found


def until(step, condition, words):
    """
    Again and again, as what it does shows when a buffer is full. More and more slowly: the consumer daemon may be
    without a CPU, and the ring must not fill before it drains.
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
    """On two CPUs: every record once and in order; it ends when the session stops."""
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
              'records that are followed')
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
            check(not one.printed(), 'view --follow says: %s', one.printed()[-500:])
        for program in programs:
            program.end()
        w('destroy', 'one')


@limit(300)
def follow_ends_with_session_signal_or_time(case):
    """When the session is destroyed; with Ctrl-C and SIGTERM, behind all that was there; and when the time is over."""
    with World(case) as w:
        w.begin('one', channel=SMALL)
        program = w.scripted()
        first = Follower(w, 'one')                     # nothing is there yet
        until(lambda: program('emit 50'), lambda: first.has(b'test:seq'), 'records that are followed')
        path = w.session('one')['path']
        for number in (signal.SIGINT, signal.SIGTERM):
            one = Follower(w, path)
            until(lambda: program('emit 50'), lambda o=one: o.has(b'test:seq'), 'records that are followed')
            there = view(w, path)
            one.signal(number)
            lines = one.end()
            left = collections.Counter(there)
            left.subtract(collections.Counter(lines))
            check(not [line for line, n in left.items() if n > 0], 'not all that was there was shown: %d of %d lines',
                  len(lines), len(there))
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
        wait_for(lambda: odd.has(b'test:seq'), 'records that were there')
        program('emit 50')
        w('destroy', 'one')
        wanted = view(w, path)
        same_lines(first.end(), wanted)
        same_lines(odd.end(), view(w, '--filter', 'seq % 2 == 1', path))
        # Stopped, and not destroyed: all that was written with that, and nothing has to be waited for.
        w.begin('two', channel=SMALL)
        second = Follower(w, 'two')
        until(lambda: program('emit 50'), lambda: second.has(b'test:seq'), 'records that are followed')
        program('emit 50')
        w('stop', 'two')
        check(w.session('two')['stopping'] is False, 'what stopped is not written')
        lines = second.end()
        same_lines(lines, view(w, w.session('two')['path']))
        w('destroy', 'two')
        program.end()
        w('view', '--wait', '1', path, status=2).prints('--follow')
        w('view', '--follow', '--viewer', 'cat', path, status=2).prints('--viewer')
        # Nobody writes it.
        same_lines(Follower(w, path).end(), wanted)


@limit(300)
def follow_prints_events_declared_later(case):
    """Another program, and a library that is loaded: their events are declared when the follower has read the metadata
    long ago."""
    with World(case) as w:
        w.begin('one', 'test:*', 'plugin:*', 'scripted:*', channel=SMALL)
        program = w.scripted()
        one = Follower(w, '--filter', 'exists(seq) || !exists(seq)', 'one')
        until(lambda: program('emit 50'), lambda: one.has(b'test:seq'), 'records that are followed')
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
        check(not one.printed(), 'view --follow says: %s', one.printed()[-500:])
        program.end()


@limit(300)
def follow_continues_over_clear_and_rotation(case):
    """Files that go while they are followed; what came behind that is shown, and nothing twice."""
    with World(case) as w:
        w.begin('one', channel=(*SMALL, '--tracefile-size', '16k', '--tracefile-count', '4'))
        program = w.scripted()
        one = Follower(w, 'one')
        for _ in range(3):
            seen = len(of_test(one.lines))
            until(lambda: program('emit 50'), lambda s=seen: one.has(b'test:seq', s + 1000),
                  'records that are followed')
            w('clear', 'one')            # while it records: who follows ends when it stops
        w('destroy', 'one')
        lines = of_test(one.end())
        check(len(set(lines)) == len(lines), '%d of %d lines are there twice', len(lines) - len(set(lines)), len(lines))
        program.end()


@limit(300)
def follow_continues_over_the_kill_of_one_daemon(case):
    """A follower continues over the crash of either daemon, and ends with the session."""
    with World(case) as w:
        w.begin('one', channel=SMALL)
        program = w.scripted()
        path, by_name = w.session('one')['path'], Follower(w, 'one')
        until(lambda: program('emit 50'), lambda: by_name.has(b'test:seq'), 'records that are followed')
        one = Follower(w, path)
        wait_for(lambda: one.has(b'test:seq'), 'records that are followed')
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
    """Nobody writes the directory any more: it ends, and tells of what is not whole."""
    with World(case) as w:
        w.begin('one', channel=SMALL)
        program = w.scripted()
        path = w.session('one')['path']
        by_path, by_name = None, Follower(w, 'one')
        until(lambda: program('emit 50'), lambda: by_name.has(b'test:seq'), 'records that are followed')
        by_path = Follower(w, path)
        wait_for(lambda: by_path.has(b'test:seq'), 'records that are followed')
        victims = [w.sessiond(), w.consumerd()]
        for pid in victims:
            os.kill(pid, signal.SIGKILL)
        w.wait(lambda: all(state(pid) in ('Z', None) for pid in victims), 'the daemons to be dead')
        wanted = [line.encode() for line in w('view', '--no-delta', path, status=None).out.splitlines(True)]
        for one in (by_path, by_name):
            same_lines(one.end((0, 1)), wanted)
        program.kill()


@limit(300)
def view_of_an_active_session_reports_no_damage(case):
    """Without --follow: what is there when it is asked for, and no word of damage, 50 of 50 times (20 in short
    runs)."""
    with World(case) as w:
        w.begin('one', 'test:*', 'plugin:*', channel=('--subbuf-size', '16k', '--num-subbuf', '128'))
        # (slowly: all of it is read each time)
        busy = [w.run([case.program('busy'), 'paced', '2', '100000000', '60000']) for _ in range(2)]
        wait_for(lambda: case.ledger.begun() > 5000, 'programs that record')
        path, last = w.session('one')['path'], 0
        for number in range(50 if PERCENT >= 100 else 20):
            plugin = w.run([case.program('loader'), case.program('libplugin.so'), '8', '0'])   # declares events
            n = len(view(w, path if number % 2 else 'one'))
            check(n >= last, 'the trace has become smaller: %d lines, then %d', last, n)
            last = n
            w.wait_end(plugin)
        check(last, 'nothing was read')
        case.ledger.set_flag(1, 1)
        for program in busy:
            w.wait_end(program)
        w('destroy', 'one')


@limit(300)
def view_of_unfinished_packets_reports_no_damage(case):
    """The same where a packet is half written at most times; and none behind it is followed before it is whole."""
    with World(case) as w:
        w.begin('one', channel=('--subbuf-size', '1M', '--num-subbuf', '8'))
        path, views = None, 0
        while views < 50:
            busy = w.run([case.program('busy'), 'large', '2', '5000', '1'])
            path = path or wait_for(lambda: w.session('one')['path']
                                    if streams_of(w, 'one', 'one') else None, 'packets')
            while busy.poll() is None:
                check(len(view(w, '--filter', 'seq < 20', path)) <= 40, 'records that were not asked for')
                views += 1
            w.wait_end(busy)
            w('clear', 'one')
        one = Follower(w, '--filter', 'seq < 20', path)
        w.wait_end(w.run([case.program('busy'), 'large', '2', '5000', '1']))
        w('destroy', 'one')
        same_lines(one.end(), view(w, '--filter', 'seq < 20', path))
        check(not beside_losses(one.printed()), 'view --follow says: %s', one.printed()[-500:])


if __name__ == '__main__':
    main([
        follow_prints_each_record_once_in_order, follow_ends_with_session_signal_or_time,
        follow_prints_events_declared_later, follow_continues_over_clear_and_rotation,
        follow_continues_over_the_kill_of_one_daemon, follow_ends_when_both_daemons_are_killed,
        view_of_an_active_session_reports_no_damage, view_of_unfinished_packets_reports_no_damage
    ])
