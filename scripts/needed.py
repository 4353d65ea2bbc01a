#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Print the files or tests of some suites for scripts/test.sh, a line each.

usage: needed.py BUILD SUITE...                  the files that their tests need, for ninja
       needed.py --tests GROUP BUILD SUITE...    the names of their tests in that group, for `meson test`

`-SUITE` excludes a suite. Each test is in one group: `beside` (is_parallel); `kernel` (records the kernel of this
machine: one at a time, in parallel with the first group); or `alone` (needs the whole machine: WMK_ALONE in its
environment, or not in the suite `kernel`).
"""
import json
import subprocess
import sys


def introspect(build, what):
    return json.loads(subprocess.check_output(['meson', 'introspect', '--' + what, build]))


def suites_of(test):
    return {suite.split(':')[-1] for suite in test['suite']}


def tests_of(build, suites):
    """The tests that run when these suites are chosen."""
    wanted, unwanted = {s for s in suites if s[0] != '-'}, {s[1:] for s in suites if s[0] == '-'}
    return [test for test in introspect(build, 'tests')
            if not suites_of(test) & unwanted and (not wanted or suites_of(test) & wanted)]


def group_of(test):
    if test['is_parallel']:
        return 'beside'
    return 'kernel' if 'kernel' in suites_of(test) and 'WMK_ALONE' not in test['env'] else 'alone'


def files_of(build, suites):
    files = {target['id']: target['filename'] for target in introspect(build, 'targets')}
    needed = {name for test in tests_of(build, suites) for target in test['depends'] for name in files[target]}
    top = build.rstrip('/') + '/'
    return sorted(name[name.index(top) + len(top):] if top in name else name for name in needed)


def main(*args):
    if args[0] == '--tests':
        group, build, *suites = args[1:]
        lines = [test['name'] for test in tests_of(build, suites) if group_of(test) == group]
    else:
        lines = files_of(args[0], args[1:])
    if lines:
        print('\n'.join(lines))


if __name__ == '__main__':
    main(*sys.argv[1:])
