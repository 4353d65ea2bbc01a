#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
The clock of a session without the kernel domain: it is selected, shown, saved, and kept over restarts, or rejected.
"""
import json
import os
import re
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from clocks import NAMES, available, has_counter  # noqa: E402
from daemon import World  # noqa: E402
from harness import WAYMARK, check, finished, limit, main, slurp  # noqa: E402


def metadata(directory):
    return [slurp(os.path.join(at, 'metadata')) for at, _, names in os.walk(directory) if 'metadata' in names]


def numbers_and_times(directory):
    done = finished([WAYMARK, 'view', '--json', directory], capture_output=True, text=True)
    check(done.returncode == 0 and not done.stderr, 'view: %s', done.stderr[-500:])
    found = [json.loads(line) for line in done.stdout.splitlines()]
    return [(r['fields']['seq'], float(r['time'])) for r in found if r['event'] == 'test:seq']


@limit(120)
def clock_is_shown_saved_and_kept(case):
    begun, wanted = time.time(), available()
    with World(case) as w:
        for clock in wanted:
            w('create', clock, '--clock', clock)
            w('enable-event', '-s', clock, 'test:*')
            check(w.session(clock)['clock'] == clock, '%s is not shown: %s', clock, w.session(clock))
            check('clock ' + clock in w('list', clock).out, '%s is not shown: %s', clock, w('list', clock).out)
            w('save', clock)
            w('destroy', clock)
            w('load', clock)
            check(w.session(clock)['clock'] == clock, '%s is not saved', clock)
            w('start', clock)
        program = w.scripted()
        program('emit 3')
        os.kill(w.sessiond(), signal.SIGKILL)
        w.wait(lambda: not w.sessiond(), 'the session daemon to end')
        w('list')
        w.wait_apps([program.pid])
        program('emit 3')
        program.end()
        for clock in wanted:
            check(w.session(clock)['clock'] == clock, 'session %s has another clock after the restart', clock)
            path = w.stop(clock)['path']
            w('destroy', clock)
            found = numbers_and_times(path)
            check([number for number, _ in found] == list(range(1, 7)), '%s: %s', clock, found)
            check(begun - 1 <= found[0][1] <= found[-1][1] <= time.time() + 1, '%s: %s, at %s', clock, found, begun)
            names = {re.search(r'clock \{\s*name = "?(\w+)', text).group(1) for text in metadata(path)}
            check(names == {NAMES[clock][0]}, '%s: the metadata has the clock %s', clock, names)


def counter_is_the_default_clock_where_available(case):
    """A session without the kernel domain uses the counter if this machine has a usable one."""
    with World(case) as w:
        w('create', 'one')
        clock = w.session('one')['clock']
        check(clock == 'monotonic' or has_counter(), 'the default is %s', clock)
        check(clock == 'counter' or not has_counter() or os.uname().machine != 'x86_64', 'the default is %s', clock)
        w('destroy', 'one')


def unavailable_clock_is_rejected(case):
    with World(case) as w:
        for word in 'tsc', 'plugin', 'default', '':
            for argv in ['create', 'x', '--clock=' + word], ['record', '--clock=' + word, '--', 'true']:
                w(*argv, status=2).prints('the clocks are counter and monotonic')
        if not has_counter():
            w('create', 'x', '--clock=counter', status=1).prints('not use the counter', 'choose monotonic')
    done = case.record([case.program('procs'), 'leaf', '1'], ['--clock=monotonic'],
                       env={'WAYMARK_CLOCK_PLUGIN': case.program('libclock.so')})
    words = 'plug-in an_hour_on, and no other clock'
    check(done.status == 1 and words in done.err, 'status %s: %s', done.status, done.err)


def record_option_selects_the_clock(case):
    for clock in available():
        done = case.record([case.program('procs'), 'leaf', '20'], ['--clock', clock]).ok()
        words = 'name = "%s"' % NAMES[clock][0]
        check(all(words in text for text in metadata(done.directory)), '%s: the metadata has another clock', clock)
        check(done.lost == 0 and len(numbers_and_times(done.directory)) >= 20, '%s: %s', clock, done.err)


if __name__ == '__main__':
    main([
        clock_is_shown_saved_and_kept, counter_is_the_default_clock_where_available,
        unavailable_clock_is_rejected, record_option_selects_the_clock
    ])
