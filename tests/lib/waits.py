# SPDX-License-Identifier: MIT
"""Waits of tests: all have a limit, and what takes longer fails the case with the stacks of whatever hangs, taken while
it does."""
import os
import subprocess
import time

from processes import children_of, marked, stacks

# How long anything may take that takes milliseconds. Linux 6.18 with sched_autogroup was seen to keep whole sessions
# from the CPUs for a minute and more while another one's threads slept and woke thousands of times a second.
WAIT_S = 150

# In the environment of whatever a test starts, and what that starts.
MARK = 'WMK_TEST_RUNNER=%d' % os.getpid()


class Failure(Exception):
    """A check that did not hold; its text says which and with what."""


def check(condition, words, *args):
    if not condition:
        raise Failure(words % args if args else words)


def stuck(words):
    """Fails, with the stacks of all processes that this test has started and of what those have."""
    raise Failure(words + '\n' + stacks({**children_of(os.getpid()), **marked(MARK)}))


def holds_within(condition, timeout=WAIT_S):
    """
    The value of condition() as soon as it is true, or after `timeout` seconds. The pauses are three times as long as
    the last evaluation took: an expensive condition uses at most a quarter of a CPU, which the processes that it waits
    for need.
    """
    deadline = time.monotonic() + timeout
    while True:
        begun = time.monotonic()
        value = condition()
        now = time.monotonic()
        if value or now >= deadline:
            return value
        time.sleep(min(max(0.005, 3 * (now - begun)), 0.2))


def wait_for(condition, words, timeout=WAIT_S):
    """The same; fails in words, with stacks, if it does not become true."""
    return holds_within(condition, timeout) or stuck('waited %d s in vain for %s' % (timeout, words))


def awaited(child, timeout=WAIT_S):
    """The status of a child that ends in time."""
    try:
        return child.wait(timeout)
    except subprocess.TimeoutExpired:
        stuck('%s did not end within %d s' % (child.args, timeout))


def communicated(child, told=None, timeout=WAIT_S):
    """child.communicate(); whoever does not end in time is stuck, and killed."""
    try:
        return child.communicate(told, timeout)
    except subprocess.TimeoutExpired:
        try:
            stuck('%s did not end within %d s' % (child.args, timeout))
        finally:
            child.kill()
            child.wait()


def finished(argv, timeout=WAIT_S, input=None, capture_output=False, check=False, **popen):
    """subprocess.run(), but for who does not end in time: see communicated()."""
    if capture_output:
        popen.update(stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if input is not None:
        popen['stdin'] = subprocess.PIPE
    with subprocess.Popen(argv, **popen) as child:
        try:
            out, err = communicated(child, input, timeout)
        except BaseException:            # the case's own time may be over as well: nobody waits for it any more
            child.kill()
            raise
    done = subprocess.CompletedProcess(argv, child.returncode, out, err)
    if check:
        done.check_returncode()
    return done
