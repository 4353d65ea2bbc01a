#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Run `meson test`, and write the stacks of the threads of each test that is about to be killed by its timeout.

usage: stuck.py BUILD MULTIPLIER FILE COMMAND...

Tests in Python report this themselves (tests/lib/waits.py). This program is for tests that only have the timeout of
meson. FILE exists only if there was such a test. The exit status is that of the command.
"""
import json
import os
import select
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'tests', 'lib'))
from processes import children_of, stacks  # noqa: E402

LOOK_S = 1
PART = 0.85                     # of the timeout of a test: the rest is for the debugger


def limits(build):
    """
    {arguments of a test: (name, timeout in seconds)}, with and without the program: an interpreter may have another
    path, or may precede the arguments of the test.
    """
    known = {}
    with open(os.path.join(build, 'meson-info', 'intro-tests.json'), encoding='utf-8') as f:
        for test in json.load(f):
            known[tuple(test['cmd'])] = known[tuple(test['cmd'][1:])] = test['name'], test['timeout']
    known.pop((), None)
    return known


def limit(pid, known):
    try:
        with open('/proc/%d/cmdline' % pid, 'rb') as f:
            words = tuple(os.fsdecode(f.read()).split('\0')[:-1])
    except OSError:
        words = ()
    return known.get(words) or known.get(words[1:]) or (None, 0)


def started_by(parent):
    try:
        with open('/proc/%d/task/%d/children' % (parent, parent), encoding='ascii') as f:
            return [int(word) for word in f.read().split()]
    except OSError:
        return []


def main(build, multiplier, path, *command):
    known, seen = limits(build), {}
    # A shell without job control ignores these for background commands, and all tests would inherit that.
    for number in (signal.SIGINT, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)
    with subprocess.Popen(command) as meson:
        # meson gets SIGINT from the terminal, too. A handler, because tests would inherit SIG_IGN.
        signal.signal(signal.SIGINT, lambda *_: None)
        signal.signal(signal.SIGTERM, lambda *_: meson.terminate())
        end = os.pidfd_open(meson.pid)
        while not select.select([end], [], [], LOOK_S)[0]:
            now, running = time.monotonic(), started_by(meson.pid)
            seen = {pid: seen.get(pid, now) for pid in running}
            for pid in running:
                name, seconds = limit(pid, known)
                if not seconds or now - seen[pid] < seconds * float(multiplier) * PART:
                    continue
                with open(path, 'a', encoding='utf-8') as f:
                    f.write('%s has run for %d s, and will be killed soon. Its threads:\n%s\n' %
                            (name, now - seen[pid], stacks({pid: name, **children_of(pid)})))
                seen[pid] = float('inf')         # once
    return meson.returncode


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
