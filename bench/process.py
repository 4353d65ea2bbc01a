# SPDX-License-Identifier: MIT
"""Properties of other processes: CPU time, memory, context switches; finding them by name."""
import os
import time


def cpu_ns(pid):
    """CPU time of all threads of a process, including ended ones."""
    # the CPU clock id of the process, as clock_getcpuclockid() computes it
    return time.clock_gettime_ns((~pid << 3) | 2)


def settled_cpu_ns(pid, limit_s=30):
    """The same, after waiting until the process is idle: less than 0.2 ms of CPU time in 100 ms."""
    end, now = time.monotonic() + limit_s, cpu_ns(pid)
    while time.monotonic() < end:
        time.sleep(0.1)
        before, now = now, cpu_ns(pid)
        if now - before < 200000:
            break
    return now


def status(pid, *names):
    """Numbers of /proc/PID/status: memory in kB."""
    with open('/proc/%d/status' % pid) as f:
        found = dict(line.split(':', 1) for line in f)
    return [int(found[name].split()[0]) for name in names]


def switches(pid):
    """Number of voluntary context switches of its current threads."""
    total = 0
    for task in os.listdir('/proc/%d/task' % pid):
        with open('/proc/%d/task/%s/status' % (pid, task)) as f:
            total += sum(int(line.split()[1]) for line in f if line.startswith('voluntary_ctxt_switches'))
    return total


def named(name, variable):
    """The processes with this prefix of the name, and this variable in their environment."""
    pids = []
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            with open('/proc/%s/comm' % pid) as f:
                comm = f.read()
            if not comm.startswith(name):
                continue
            with open('/proc/%s/environ' % pid, 'rb') as f:
                if os.fsencode(variable) in f.read().split(b'\0'):
                    pids.append(int(pid))
        except OSError:
            continue
    return pids


def wait_gone(pids, seconds):
    """Wait until none of them exists, at most this number of seconds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and any(os.path.exists('/proc/%d' % pid) for pid in pids):
        time.sleep(0.01)
