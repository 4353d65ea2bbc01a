# SPDX-License-Identifier: MIT
"""Waits of tests. All have a limit; at the limit, the case fails with the stacks of the processes that hang."""
import os
import subprocess
import time

from processes import children_of, marked, stacks

# The limit for anything that normally takes milliseconds. Linux 6.18 with sched_autogroup has been observed to keep
# whole sessions from the CPUs for more than a minute, while threads of another session slept and woke thousands of
# times a second.
WAIT_S = 150

# In the environment of all processes that a test starts.
MARK = 'WMK_TEST_RUNNER=%d' % os.getpid()


class Failure(Exception):
    """A check failed; the text names it and the values."""


def check(condition, words, *args):
    if not condition:
        raise Failure(words % args if args else words)


def stuck(words):
    """Fail, with the stacks of all descendants of this process and of all processes with the MARK."""
    raise Failure(words + '\n' + stacks({**children_of(os.getpid()), **marked(MARK)}))


def holds_within(condition, timeout=WAIT_S):
    """
    The value of condition() as soon as it is true, or after `timeout` seconds. Each pause is three times as long as the
    last evaluation, so an expensive condition uses at most a quarter of a CPU. The processes that it waits for need the
    rest.
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
    """holds_within(), but fails with stacks if the condition does not become true."""
    return holds_within(condition, timeout) or stuck('waited %d s in vain for %s' % (timeout, words))


def awaited(child, timeout=WAIT_S):
    """The status of a child, which must end within the limit."""
    try:
        return child.wait(timeout)
    except subprocess.TimeoutExpired:
        stuck('%s did not end within %d s' % (child.args, timeout))


def communicated(child, told=None, timeout=WAIT_S):
    """child.communicate(); a child that does not end within the limit is a failure, and is killed."""
    try:
        return child.communicate(told, timeout)
    except subprocess.TimeoutExpired:
        try:
            stuck('%s did not end within %d s' % (child.args, timeout))
        finally:
            child.kill()
            child.wait()


def finished(argv, timeout=WAIT_S, input=None, capture_output=False, check=False, **popen):
    """subprocess.run() with a limit, see communicated()."""
    if capture_output:
        popen.update(stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if input is not None:
        popen['stdin'] = subprocess.PIPE
    with subprocess.Popen(argv, **popen) as child:
        try:
            out, err = communicated(child, input, timeout)
        except BaseException:            # the limit of the case may be reached as well, which ends this wait
            child.kill()
            raise
    done = subprocess.CompletedProcess(argv, child.returncode, out, err)
    if check:
        done.check_returncode()
    return done
