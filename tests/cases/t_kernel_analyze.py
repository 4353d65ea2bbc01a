#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`waymark analyze` of kernel records: the kernel's own statistics of the same run have the same figures."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from harness import check  # noqa: E402
from kernel import clean_tracefs, kernel_main, need_kernel, of_process  # noqa: E402
from t_analyze import result_of  # noqa: E402

LARGE = ['--subbuf-size', '4M', '--num-subbuf', '8']
SCHED = [word for name in ('switch', 'waking', 'wakeup', 'wakeup_new', 'process_*')
         for word in ('-k', 'sched_' + name)] + ['-k', 'syscall:clock_nanosleep']
# Three processes share a CPU: each computes in parts of 20 ms with short sleeps between. The statistics of a process
# that has ended and was not waited for are those of its whole life.
SHARED = '''
import os, sys, time
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
for n in range(3):
    if os.fork() == 0:
        for turn in range(8):
            begun = time.thread_time()
            while time.thread_time() - begun < 0.02:
                pass
            time.sleep(0.002)
        os._exit(0)
for n in range(3):
    tid = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT).si_pid
    with open('/proc/%d/task/%d/schedstat' % (tid, tid)) as f:
        print(tid, f.read(), flush=True)
    os.waitpid(tid, 0)
'''


def recorded(case, command, options):
    child = case.start(command, [*LARGE, *options])
    with clean_tracefs(of_process(child.pid)):
        return case.finish(child).ok()


def differences(row, running, runnable):
    """
    What differs by more than 1 %. A kernel may leave out switches of some threads; what follows from these is unknown.
    """
    unknown = row['unknown_ns'] - row['absent_ns']
    found = [(what, is_, exact) for what, is_, exact in (
        ('running', row['running_ns'], running), ('runnable', row['runnable_ns'], runnable))
        if is_ > 1.01 * exact or is_ + unknown < 0.99 * exact]
    return found + [('unknown', unknown, 0)] * (unknown > 0.1 * (running + runnable))


def times_equal_schedstat(case):
    """
    Running within 1 % of field 1 of /proc/PID/task/TID/schedstat, runnable within 1 % of field 2. The kernel excludes
    time that a hypervisor takes away and that of interrupts: another try may have less of it.
    """
    need_kernel()
    for _ in range(6):
        result = recorded(case, [sys.executable, '-c', SHARED], SCHED)
        rows = {row['tid']: row for row in result_of(case, 'sched', result.directory)['tables']['threads']}
        lines = [[int(n) for n in line.split()] for line in result.out.splitlines() if line[:1].isdigit()]
        check(len(lines) == 3, 'the program printed %s', result.out)
        wrong = {tid: differences(rows[tid], running, runnable) for tid, running, runnable, _ in lines}
        for tid, *_ in lines:
            # (sleeps are at least as long as the program wants)
            check(rows[tid]['sleep_ns'] >= 8 * 2000000 and rows[tid]['blocked_mostly_on'] == 'sleep', 'thread %d: %s',
                  tid, rows[tid])
        if not any(wrong.values()):
            return
    check(False, 'the kernel has other times: %s', wrong)


if __name__ == '__main__':
    kernel_main([times_equal_schedstat])
