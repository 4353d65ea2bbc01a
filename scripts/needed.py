#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The files that the tests of some suites need: needed.py BUILD SUITE... (-SUITE: not that one), a line each, for ninja. What test.sh does not run it need not build."""
import json
import subprocess
import sys


def main(build, *suites):
    def ask(what):
        return json.loads(subprocess.check_output(['meson', 'introspect', '--' + what, build]))

    def is_run(test):
        of = {suite.split(':')[-1] for suite in test['suite']}
        wanted, unwanted = {s for s in suites if s[0] != '-'}, {s[1:] for s in suites if s[0] == '-'}
        return not of & unwanted and (not wanted or bool(of & wanted))

    files = {target['id']: target['filename'] for target in ask('targets')}
    needed = {name for test in ask('tests') if is_run(test) for target in test['depends'] for name in files[target]}
    top = build.rstrip('/') + '/'
    print('\n'.join(sorted(name[name.index(top) + len(top):] if top in name else name for name in needed)))


if __name__ == '__main__':
    main(*sys.argv[1:])
