#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What lasts for microseconds between a program and its daemon, made longer by test points."""
import contextlib
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from control import SESSIOND  # noqa: E402
from daemon import World, numbers_of  # noqa: E402
from harness import FEATURES, Skip, check, main, slurp  # noqa: E402

CONTEXTS = ['vpid', 'vtid', 'procname']
CONSUMERD = os.path.join(os.path.dirname(SESSIOND), 'waymark-consumerd')
# Metadata: (point, which parts go by first), in the consumer daemon and in the session daemon.
IN_CONSUMER = [(point, after) for point in ('metadata_accepted', 'metadata_before_write', 'metadata_torn',
                                            'metadata_after_write') for after in (0, 2)]
IN_CONSUMER += [('metadata_before_rename', 0)]
IN_SESSION = [(point, after) for point in ('link_metadata_queued', 'link_metadata_sent') for after in (0, 2)]


class OnceWorld(World):
    """The first daemon of a kind is killed at a test point; the next ones are not."""

    def __init__(self, case, daemon, point, after):
        super().__init__(case, name='%s-%s-%d' % (daemon, point, after), daemon=False)
        self.first = os.path.join(self.home, 'first')
        self.rows = '%s, %d go by' % (point, after)
        consumerd = self.script('consumerd', CONSUMERD, daemon == 'consumer' and (point, after))
        self.env['WAYMARK_SESSIOND'] = self.script('sessiond-once', SESSIOND, daemon == 'session' and (point, after),
                                                   '--consumerd %s' % consumerd)

    def script(self, name, program, kill, more=''):
        path = os.path.join(self.home, name)
        once = 'if [ ! -e %s ]; then echo $$ > %s; export WMK_TESTPOINT=%s=kill:%d; fi; ' % (
            self.first, self.first, *kill) if kill else 'unset WMK_TESTPOINT; '
        with open(path, 'w') as f:
            f.write('#!/bin/sh\n%sexec %s "$@" %s 2>>%s\n' % (once, program, more, self.log))
        os.chmod(path, 0o755)
        return path

    def is_killed(self):
        with contextlib.suppress(OSError, ValueError):
            return int(slurp(self.first)) not in self.daemons()
        return False


def check_metadata(case, daemon, point, after):
    """Nothing is lost or twice, and both readers know each record."""
    with OnceWorld(case, daemon, point, after) as w:
        w('create', 'one')
        w('enable-event', '-s', 'one', 'test:*')
        w('start', 'one', status=None)       # the session daemon may be killed by it
        program = w.scripted()
        if not w.session('one')['active']:
            w('start', 'one')
        def is_recorded():
            program('emit 1')
            records = w.stop('one')['counts']['records']
            w('start', 'one')
            return records > 0
        w.wait(is_recorded, '%s: a record' % w.rows)
        program('emit 10')
        w('regenerate', 'metadata', '-s', 'one', status=None)
        w.wait(w.is_killed, '%s: the daemon to be killed' % w.rows)
        w.wait_apps([program.pid])
        w('regenerate', 'metadata', '-s', 'one')
        program('emit 10')
        is_now, trace = w.end('one', lost=0)
        found = numbers_of(trace)
        check(len(found) == 1, '%s: writers: %s', w.rows, found)
        numbers = next(iter(found.values()))
        check(numbers == list(range(numbers[0], numbers[0] + len(numbers))) and len(numbers) >= 20,
              '%s: records are missing or twice: %s', w.rows, numbers)
        there = sum(1 for _ in trace.records())
        check(is_now['counts']['records'] == there, '%s: %d records are there, %s', w.rows, there, is_now['counts'])
        program.end()


def metadata_is_complete_after_kill_of_consumer_daemon(case):
    """Between METADATA that is accepted and its answer: also with a torn end, and during a replacement."""
    if 'testpoints' not in FEATURES:
        raise Skip('needs a build with -Dtestpoints=true')
    for point, after in IN_CONSUMER:
        check_metadata(case, 'consumer', point, after)


def metadata_is_complete_after_kill_of_session_daemon(case):
    """Before METADATA is sent, and behind that."""
    if 'testpoints' not in FEATURES:
        raise Skip('needs a build with -Dtestpoints=true')
    for point, after in IN_SESSION:
        check_metadata(case, 'session', point, after)


def returning_application_changes_layout_without_loss(case):
    """
    The daemon is killed while a program stands still; the next one is told of a context before the program is back,
    with the rings of all layouts before: it moves, and nothing that its threads record meanwhile is there twice, or not
    at all. So it is for one that has been moved already, which the next daemon cannot know.
    """
    if 'testpoints' not in FEATURES:
        raise Skip('needs a build with -Dtestpoints=true')
    with World(case) as w:
        program = w.scripted(env={'WMK_TESTPOINT': 'helper_obeying=delay:0:20000'})
        w.begin('back', 'test:*')
        program('threads 4')
        made, had = 0, [0]
        for context in CONTEXTS:
            program('emit 5')
            made += 5
            with w.disconnected(program):
                w('add-context', '-s', 'back', '-t', context)
            had.append(made)
            os.kill(w.sessiond(), signal.SIGKILL)
            w('list')
            w.wait_apps([program.pid])
        program('emit 5')
        program.kill()
        _, trace, _ = w.finish('back', killed=True, lost=0)
        writer = [w for w, n in numbers_of(trace).items() if len(n) == made + 5]
        check(len(writer) == 1, 'writers: %s', {w: len(n) for w, n in numbers_of(trace).items()})
        for r in trace.records('test:seq'):
            if r.fields['writer'] == writer[0]:
                sure = max(i for i, bound in enumerate(had) if bound < r.fields['seq'])
                check(
                    list(c for c in CONTEXTS if c in r.scopes) == CONTEXTS[:sure], 'record %d, after %s, has %s',
                    r.fields['seq'], CONTEXTS[:sure], r.scopes)


if __name__ == '__main__':
    main([metadata_is_complete_after_kill_of_consumer_daemon,
          metadata_is_complete_after_kill_of_session_daemon, returning_application_changes_layout_without_loss])
