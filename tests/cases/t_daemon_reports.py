#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What commands report: every kind of event, and every application that is not recorded, with the reason."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from daemon import World  # noqa: E402
from harness import check, main  # noqa: E402


def every_kind_of_event_is_listed(case):
    """Spans and counters too: one application with a kind that has no word makes the list fail for all."""
    with World(case) as w:
        child = w.run([case.program('spans'), 'wait'], stdin=subprocess.PIPE)
        w.wait_apps([child.pid])
        apps = w('list', '-u', '--json').json['apps']
        listed = {e['name']: e['kind'] for a in apps for e in a['events'] if e['provider'] == 'spans'}
        wanted = {'job_begin': 'begin', 'job_end': 'end', 'half': 'counter', 'note': 'event'}
        check(wanted.items() <= listed.items(), 'kinds are: %s', listed)
        w('list', '-u').says('spans:job_begin', 'spans:half', 'spans:note')
        child.stdin.close()
        w.wait_end(child)


if __name__ == '__main__':
    main([every_kind_of_event_is_listed])
