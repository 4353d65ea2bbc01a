# SPDX-License-Identifier: MIT
"""Processes of the tests as /proc shows them, and the stacks of their threads, for reports about a wait that fails."""
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
    """The state letter of /proc/PID/stat, or None."""
    try:
        return _read('/proc/%d/stat' % pid).rsplit(')', 1)[1].split()[0]
    except (OSError, IndexError):
        return None


def cpu_seconds(pid):
    """The CPU time of all threads of a process so far."""
    return sum(map(int, _read('/proc/%d/stat' % pid).rsplit(')', 1)[1].split()[11:13])) / os.sysconf('SC_CLK_TCK')


def marked(mark):
    """{pid: name} of all live processes with `NAME=value` in their environment, except this one."""
    found = {}
    for pid in pids():
        with contextlib.suppress(OSError):
            with open('/proc/%d/environ' % pid, 'rb') as f:
                if mark.encode() in f.read().split(b'\0') and pid != os.getpid():
                    found[pid] = _read('/proc/%d/comm' % pid).strip()
    return found


def children_of(parent):
    """{pid: name} of all descendants of this process, except those that were reparented."""
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
    """Lines of stacks by gdb; empty if gdb is missing or has no permission."""
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
    """The kernel stack of each thread, if it is readable."""
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
    """
    The stacks of all threads of these processes ({pid: name}), as text. If there are many, the last ones have only
    their kernel stacks, which are fast to read.
    """
    found, begun = [], time.monotonic()
    for pid, name in sorted(processes.items()):
        found.append('== %d %s (%s)' % (pid, name, state(pid)))
        if state(pid) not in ('Z', None):
            found += (time.monotonic() - begun < PATIENCE_S and _by_gdb(pid)) or _by_kernel(pid)
    return '\n'.join(found)
