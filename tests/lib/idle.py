# SPDX-License-Identifier: MIT
"""Context switches of processes that have nothing to do."""
import os
import re
import time

from harness import check, slurp


def switches(pid):
    """Voluntary context switches of all threads of a process: {thread: (name, count)}."""
    found = {}
    for task in os.listdir('/proc/%d/task' % pid):
        text = slurp('/proc/%d/task/%s/status' % (pid, task))
        found[task] = (re.search(r'^Name:\s+(.*)', text, re.M).group(1),
                       int(re.search(r'^voluntary_ctxt_switches:\s+(\d+)', text, re.M).group(1)))
    return found


def woken(before, after):
    """{thread: how often it slept since `before`}."""
    return {'%s (%s)' % (name, task): count - before.get(task, (name, 0))[1] for task, (name, count) in after.items()
            if count != before.get(task, (name, 0))[1]}


def rests(programs, seconds, words, tries=4):
    """
    No thread of `programs` ({name: pid}) sleeps anew within a window of `seconds`. Earlier work may end in the first
    windows, on a busy machine. A thread that wakes by a timer of less than `seconds` wakes in all of them.
    """
    for _ in range(tries):
        before = {name: switches(pid) for name, pid in programs.items()}
        time.sleep(seconds)              # the time that is measured
        awake = {name: woken(before[name], switches(pid)) for name, pid in programs.items()}
        if not any(awake.values()):
            return
    check(False, '%s: threads wake in each of %d windows of %g s without work: %s', words, tries, seconds, awake)
