#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What lasts for microseconds between a program and its daemon, made longer by test points."""
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from daemon import World, numbers_of  # noqa: E402
from harness import FEATURES, Skip, check, main  # noqa: E402

CONTEXTS = ['vpid', 'vtid', 'procname']


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
    main([returning_application_changes_layout_without_loss])
