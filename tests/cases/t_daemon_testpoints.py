#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Test points prolong short states between an application and its daemons."""
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from daemon import World, numbers_of  # noqa: E402
from harness import check, main  # noqa: E402
from killed_once import KilledOnce, need_testpoints  # noqa: E402

CONTEXTS = ['vpid', 'vtid', 'procname']
# Points in the writing of metadata: (point, passages before the kill).
IN_CONSUMER = [(point, after) for point in ('metadata_accepted', 'metadata_before_write', 'metadata_torn',
                                            'metadata_after_write') for after in (0, 2)]
IN_CONSUMER += [('metadata_before_rename', 0)]
IN_SESSION = [(point, after) for point in ('link_metadata_queued', 'link_metadata_sent') for after in (0, 2)]


def check_metadata(case, daemon, point, after):
    """Check that no record is lost or repeated, and that both readers read every record."""
    with World(case, name='%s-%s-%d' % (daemon, point, after), daemon=False) as w:
        killed = KilledOnce(w, daemon, point, after)
        w('create', 'one')
        w('enable-event', '-s', 'one', 'test:*')
        w('start', 'one', status=None)       # the session daemon may be killed here
        program = w.scripted()
        if not w.session('one')['active']:
            w('start', 'one')
        def is_recorded():
            program('emit 1')
            records = w.stop('one')['counts']['records']
            w('start', 'one')
            return records > 0
        w.wait(is_recorded, '%s: a record' % killed.row)
        program('emit 10')
        w('regenerate', 'metadata', '-s', 'one', status=None)
        killed.wait()
        w.wait_apps([program.pid])
        w('regenerate', 'metadata', '-s', 'one')
        program('emit 10')
        session, trace = w.end('one', lost=0)
        found = numbers_of(trace)
        check(len(found) == 1, '%s: wrong writers: %s', killed.row, found)
        numbers = next(iter(found.values()))
        check(numbers == list(range(numbers[0], numbers[0] + len(numbers))) and len(numbers) >= 20,
              '%s: records are missing or repeated: %s', killed.row, numbers)
        there = sum(1 for _ in trace.records())
        check(session['counts']['records'] == there, '%s: %d records in the trace, but the counts are %s', killed.row,
              there, session['counts'])
        program.end()


def metadata_is_complete_after_kill_of_consumer_daemon(case):
    """
    The consumer daemon is killed between the receipt of METADATA and the answer: also with a truncated end, and during
    a replacement.
    """
    need_testpoints()
    for point, after in IN_CONSUMER:
        check_metadata(case, 'consumer', point, after)


def metadata_is_complete_after_kill_of_session_daemon(case):
    """The session daemon is killed before or after it sends METADATA."""
    need_testpoints()
    for point, after in IN_SESSION:
        check_metadata(case, 'session', point, after)


def reconnecting_application_changes_rings_without_loss(case):
    """
    A context is added while the application is stopped and without connection. It then receives the rings of all
    layouts and changes to the newest; its threads lose and repeat no record meanwhile. The daemon is replaced after
    each turn, so the next one does not know of the change.
    """
    need_testpoints()
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
        check(len(writer) == 1, 'wrong writers: %s', {w: len(n) for w, n in numbers_of(trace).items()})
        for r in trace.records('test:seq'):
            if r.fields['writer'] == writer[0]:
                sure = max(i for i, bound in enumerate(had) if bound < r.fields['seq'])
                check(
                    list(c for c in CONTEXTS if c in r.scopes) == CONTEXTS[:sure], 'record %d, after %s, has %s',
                    r.fields['seq'], CONTEXTS[:sure], r.scopes)


if __name__ == '__main__':
    main([metadata_is_complete_after_kill_of_consumer_daemon,
          metadata_is_complete_after_kill_of_session_daemon, reconnecting_application_changes_rings_without_loss])
