#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
No event is enabled too late: the first records of an application, and the next record after a command, are in the trace
while another client changes rules.
"""
import os
import re
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from daemon import World  # noqa: E402
from harness import FEATURES, Skip, check, limit, main, need, rounds, slurp  # noqa: E402


class RuleChanger:
    """A second client that enables and disables other events of the session, and the same events in its own session."""

    def __init__(self, world, session):
        self.world, self.session, self.over, self.failure, self.turns = world, session, False, None, 0
        self.thread = threading.Thread(target=self.change_rules)

    def change_rules(self):
        try:
            while not self.over:
                for session, pattern in ((self.session, 'other:*'), ('meddler', 'test:*'), (self.session, 'test:text')):
                    self.world('enable-event', '-s', session, pattern)
                    self.world('disable-event', '-s', session, pattern)
                self.turns += 1
        except Exception as failure:   # raised again by __exit__
            self.failure = failure

    def __enter__(self):
        self.world.begin('meddler', 'other:*')
        self.thread.start()
        return self

    def __exit__(self, kind, *_):
        self.over = True
        self.thread.join()
        if not kind:
            if self.failure:
                raise self.failure
            check(self.turns > 0, 'the other client changed no rules')
            self.world('destroy', 'meddler')


@limit(60)
def first_event_of_constructors_and_main_is_recorded(case):
    """Events are enabled before exec(). The first records of constructors and of main() are recorded each time."""
    times = rounds(1000)
    with World(case) as w:
        w.begin('early')
        with RuleChanger(w, 'early'):
            for _ in range(times):
                w.wait_end(w.run([case.program('early')]))
        _, _, numbers = w.finish('early', lost=0)
        late = {writer: n for writer, n in numbers.items() if n != [1, 2, 3]}
        check(not late and len(numbers) == times, '%d of %d programs recorded all events; others: %s',
              len(numbers) - len(late), times, late)


@limit(60)
def enabled_event_is_recorded_by_the_next_call(case):
    """
    When enable-event has returned, the next call in a running application is recorded. After disable-event it is not.
    """
    times = rounds(1000)
    with World(case) as w:
        program, other = w.scripted(), w.scripted()
        w.begin('next', 'other:*')
        with RuleChanger(w, 'next'):
            for turn in range(times):
                w('enable-event', '-s', 'next', 'test:seq', 'scripted:late')
                program('emit 1')
                other('emit 1')
                w('disable-event', '-s', 'next', 'scripted:late', 'test:seq')
                program('late 1')
        program.end()
        other.end()
        _, trace, numbers = w.finish('next', lost=0)
        for writer, found in numbers.items():
            check(found == list(range(1, times + 1)), 'writer %d: %d calls, %d records', writer, times,
                  len(found))
        check(len(numbers) == 2, '%d writers, not 2', len(numbers))
        check(not list(trace.records('scripted:late')), 'scripted:late is recorded after disable-event')


def event_in_a_new_channel_is_recorded_by_the_next_call(case):
    """The same for an event of a new channel in a session that records."""
    times = rounds(100)
    with World(case) as w:
        program = w.scripted()
        w.begin('grows', 'other:*')
        for turn in range(min(times, 30)):
            w('enable-channel', '-s', 'grows', 'c%d' % turn, '--subbuf-size', '4k', '--num-subbuf', '2')
            w('enable-event', '-s', 'grows', '-c', 'c%d' % turn, 'test:seq')
            program('emit 1')
            w('disable-event', '-s', 'grows', '-c', 'c%d' % turn, 'test:seq')
        program.end()
        w.finish('grows', lost=0)


@limit(60)
def application_reads_its_mappings_only_for_a_state_dump(case):
    """
    An application reads its mappings before it receives the daemon's answer if a session records the state dump.
    Otherwise it does not read them.
    """
    need('strace')
    if 'sanitize' in FEATURES:
        raise Skip('a sanitizer reads the mappings')
    with World(case) as w:
        for name, options in ('wants', ()), ('wants-not', ('--no-statedump',)):
            w('create', name, *options)
            w('enable-event', '-s', name, 'test:*')
            w('start', name)
            path = case.path(name + '.strace')
            w.wait_end(w.run(['strace', '-f', '-o', path, '-e', 'trace=openat,recvmsg', case.program('early')]))
            calls = slurp(path).splitlines()
            maps = [i for i, call in enumerate(calls) if '"/proc/self/maps"' in call]
            answers = [i for i, call in enumerate(calls) if re.search(r'recvmsg.* = [1-9]', call)]
            check(answers, 'no answer of the daemon in %s', calls)
            check(not maps if options else maps and maps[0] < answers[0],
                  '%s: the mappings are read in system calls %s, the answers in %s', name, maps, answers)
            w('destroy', name)


if __name__ == '__main__':
    main([
        first_event_of_constructors_and_main_is_recorded, enabled_event_is_recorded_by_the_next_call,
        event_in_a_new_channel_is_recorded_by_the_next_call, application_reads_its_mappings_only_for_a_state_dump
    ])
