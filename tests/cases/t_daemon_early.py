#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Nothing is recorded too late: events that were enabled before a program began, or before its next call, while others
change theirs."""
import os
import re
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from daemon import World  # noqa: E402
from harness import FEATURES, Skip, check, limit, main, need, rounds, slurp  # noqa: E402


class RuleChanger:
    """Another client, which enables and disables events: others of the same session, and the same ones in a session of
    its own."""

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
        except Exception as failure:   # of a thread: told by __exit__
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
            check(self.turns > 0, 'the other client had no turn')
            self.world('destroy', 'meddler')


@limit(60)
def first_record_of_constructors_and_main_is_recorded(case):
    """The first record of a program's constructors, and of main: enabled before exec, recorded each time."""
    times = rounds(1000)
    with World(case) as w:
        w.begin('early')
        with RuleChanger(w, 'early'):
            for _ in range(times):
                w.wait_end(w.run([case.program('early')]))
        _, _, numbers = w.finish('early', lost=0)
        late = {writer: n for writer, n in numbers.items() if n != [1, 2, 3]}
        check(not late and len(numbers) == times, '%d of %d programs recorded all; others: %s',
              len(numbers) - len(late), times, late)


@limit(60)
def enabled_event_is_recorded_by_the_next_call(case):
    """An event whose enable-event returned is recorded by the next call, in programs that run, and no longer after
    disable-event."""
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
            check(found == list(range(1, times + 1)), 'writer %d: of %d calls %d are recorded', writer, times,
                  len(found))
        check(len(numbers) == 2, '%d writers, not 2', len(numbers))
        check(not list(trace.records('scripted:late')), 'recorded after disable-event')


def event_in_a_new_channel_is_recorded_by_the_next_call(case):
    """The same for an event in a channel that is new, in a session that records."""
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
def mappings_are_read_only_for_sessions_with_state_dump(case):
    """What is loaded in a program is looked up before it has the daemon's answer, where a session wants it; where none
    does, not at all."""
    need('strace')
    if 'sanitize' in FEATURES:
        raise Skip('a sanitized program looks at its mappings itself')
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
                  '%s: the mappings are looked at in calls %s, the answers are %s', name, maps, answers)
            w('destroy', name)


if __name__ == '__main__':
    main([
        first_record_of_constructors_and_main_is_recorded, enabled_event_is_recorded_by_the_next_call,
        event_in_a_new_channel_is_recorded_by_the_next_call, mappings_are_read_only_for_sessions_with_state_dump
    ])
