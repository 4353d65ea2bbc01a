#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs `meson test`, and of each test that is about to be ended, because its time is over, writes down what its threads
are doing.

usage: stuck.py BUILD MULTIPLIER FILE COMMAND...

Tests in Python report this themselves (tests/lib/waits.py). This is for tests with no other limit than that of meson.
The file is there only if there was such a test. The status is the command's.
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
PART = 0.85                     # of a test's time: what is left is for the debugger


def limits(build):
    """
    {arguments of a test: (name, time in seconds)}, with its program and without: an interpreter may be found by another
    path, and may stand in front of what the test is called by.
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
    # (a shell without job control lets what it starts in the background ignore these, and so would all tests)
    for number in (signal.SIGINT, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)
    with subprocess.Popen(command) as meson:
        # (from the terminal it gets that as well; and it is not to be ignored in all that it starts)
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
                    f.write('%s has run for %d s, and will be ended soon. This is what it does:\n%s\n' %
                            (name, now - seen[pid], stacks({pid: name, **children_of(pid)})))
                seen[pid] = float('inf')         # once
    return meson.returncode


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
