# SPDX-License-Identifier: MIT
"""Processes of the tests as /proc has them, and what each of their threads is doing: for whatever waits in vain."""
import contextlib
import os
import shutil
import subprocess
import time

PATIENCE_S = 60                 # for the debugger


def _read(path):
    with open(path, errors='replace') as f:
        return f.read()


def pids():
    return [int(p) for p in os.listdir('/proc') if p.isdigit()]


def state(pid):
    """The letter of /proc/PID/stat, or None."""
    try:
        return _read('/proc/%d/stat' % pid).rsplit(')', 1)[1].split()[0]
    except (OSError, IndexError):
        return None


def cpu_seconds(pid):
    """Of all threads of a process so far."""
    return sum(map(int, _read('/proc/%d/stat' % pid).rsplit(')', 1)[1].split()[11:13])) / os.sysconf('SC_CLK_TCK')


def marked(mark):
    """{pid: name} of all processes that live and have `NAME=value` in their environment, but for this one."""
    found = {}
    for pid in pids():
        with contextlib.suppress(OSError):
            with open('/proc/%d/environ' % pid, 'rb') as f:
                if mark.encode() in f.read().split(b'\0') and pid != os.getpid():
                    found[pid] = _read('/proc/%d/comm' % pid).strip()
    return found


def children_of(parent):
    """{pid: name} of whatever this process has started, and what that has; who has lost its parent is not among
    them."""
    of, names, found = {}, {}, {}
    for pid in pids():
        with contextlib.suppress(OSError, IndexError):
            name, fields = _read('/proc/%d/stat' % pid).split('(', 1)[1].rsplit(')', 1)
            of.setdefault(int(fields.split()[1]), []).append(pid)
            names[pid] = name
    left = of.get(parent, [])[:]
    while left:
        pid = left.pop()
        found[pid] = names[pid]
        left += of.get(pid, [])
    return found


def _by_gdb(pid):
    """Lines; none where there is no gdb, or it may not look."""
    if not shutil.which('gdb'):
        return []
    with contextlib.suppress(subprocess.TimeoutExpired):
        done = subprocess.run(
            ['gdb', '-batch', '-nx', '-p',
             str(pid), '-ex', 'set pagination off', '-ex', 'thread apply all bt 24'], capture_output=True, text=True,
            errors='replace', timeout=60, stdin=subprocess.DEVNULL)
        return [line[:200] for line in done.stdout.splitlines() if line.startswith(('#', 'Thread'))][:200]
    return []


def _by_kernel(pid):
    """Where each thread is in the kernel, as far as that may be read."""
    found = []
    with contextlib.suppress(OSError):
        for task in sorted(os.listdir('/proc/%d/task' % pid), key=int):
            at = '/proc/%d/task/%s/' % (pid, task)
            with contextlib.suppress(OSError):
                found.append('Thread %s %s, in the kernel at %s' %
                             (task, _read(at + 'comm').strip(), _read(at + 'wchan')))
            with contextlib.suppress(OSError):
                found += _read(at + 'stack').splitlines()[:24]
    return found


def stacks(processes):
    """What each thread of these ({pid: name}) is doing, as text; of many, the last ones as the kernel has it, which
    takes no time."""
    found, begun = [], time.monotonic()
    for pid, name in sorted(processes.items()):
        found.append('== %d %s (%s)' % (pid, name, state(pid)))
        if state(pid) not in ('Z', None):
            found += (time.monotonic() - begun < PATIENCE_S and _by_gdb(pid)) or _by_kernel(pid)
    return '\n'.join(found)
