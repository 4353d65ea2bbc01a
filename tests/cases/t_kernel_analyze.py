#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`waymark analyze` of kernel records: its figures equal the kernel's own statistics of the same run."""
import contextlib
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from harness import VIEW, WAYMARK, Skip, check, finished, need, slurp, wait_for  # noqa: E402
from kernel import clean_tracefs, kernel_main, need_kernel, of_process  # noqa: E402
from t_analyze import result_of  # noqa: E402
from t_convert_sched import converted as perfetto_of, states_of  # noqa: E402
from t_view import read  # noqa: E402

LARGE = ['--subbuf-size', '4M', '--num-subbuf', '8']
SCHED = [word for name in ('switch', 'waking', 'wakeup', 'wakeup_new', 'process_*')
         for word in ('-k', 'sched_' + name)] + ['-k', 'syscall:clock_nanosleep']
# Three processes share a CPU. Each computes in parts of 20 ms, with short sleeps between the parts. The kernel keeps
# the statistics of a process that has ended until another process waits for it.
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
    The values that differ by more than 1 %. A kernel may leave out switches of some threads. The states that follow
    from these switches are unknown.
    """
    unknown = row['unknown_ns'] - row['absent_ns']
    found = [(what, is_, exact) for what, is_, exact in (
        ('running', row['running_ns'], running), ('runnable', row['runnable_ns'], runnable))
        if is_ > 1.01 * exact or is_ + unknown < 0.99 * exact]
    return found + [('unknown', unknown, 0)] * (unknown > 0.1 * (running + runnable))


def kernel_symbols_are_saved_with_the_trace(case):
    """`record --kallsyms` saves what `view --symbols` shows: the function of a timer is that of /proc/kallsyms."""
    trace = recorded(case, ['sleep', '0.1'], ['-k', 'timer_start', '--kallsyms']).directory
    with open('/proc/kallsyms', encoding='utf-8') as f:
        names = {}
        for line in f:
            address, kind, name = line.split()[:3]
            if kind in 'tTwW':
                names.setdefault(int(address, 16), set()).add(name)
    status, lines, err = read(case, [WAYMARK, *VIEW, '--json', '--symbols', trace])
    check(status == 0, 'view: %s', err)
    records = [record for record in map(json.loads, lines) if record['event'] == 'timer_start']
    check(records, 'no timers')
    for record in records:
        name = record['symbols']['function'][0].split()[0]
        check(name in names[int(str(record['fields']['function']), 0)], 'function: %s', record)


def thread_times_of_sched_analysis_equal_schedstat(case):
    """
    Running is within 1 % of field 1 of /proc/PID/task/TID/schedstat, and runnable is within 1 % of field 2. The kernel
    excludes the time of interrupts and the time that a hypervisor takes away. Another try may have less of this time.
    """
    need_kernel()
    for _ in range(6):
        result = recorded(case, [sys.executable, '-c', SHARED], SCHED)
        rows = {row['tid']: row for row in result_of(case, 'sched', result.directory)['tables']['threads']}
        lines = [[int(n) for n in line.split()] for line in result.out.splitlines() if line[:1].isdigit()]
        check(len(lines) == 3, 'the program printed %s', result.out)
        wrong = {tid: differences(rows[tid], running, runnable) for tid, running, runnable, _ in lines}
        for tid, *_ in lines:
            # (a sleep lasts at least as long as the program requests)
            check(rows[tid]['sleep_ns'] >= 8 * 2000000 and rows[tid]['blocked_mostly_on'] == 'sleep', 'thread %d: %s',
                  tid, rows[tid])
        if not any(wrong.values()):
            return
    check(False, 'the kernel has other times: %s', wrong)


def perfetto_output_has_the_thread_states_of_the_analysis(case):
    """Scheduler events of a Perfetto trace, decoded by protoc, have the running times of the analysis."""
    need_kernel()
    path = recorded(case, [sys.executable, '-c', SHARED], SCHED).directory
    reader = perfetto_of(case, path)
    release = finished(['uname', '-r'], capture_output=True, text=True).stdout.strip()
    check(reader.system == {'sysname': 'Linux', 'release': release}, 'system: %s', reader.system)
    result = result_of(case, 'sched', path)
    times = [event[0] for event in reader.ftrace] + [event['time'] for event in reader.events]
    check(len(times) == len(read(case, [WAYMARK, *VIEW, '--json', path])[1]), 'records are missing')
    found = states_of(sorted(reader.ftrace, key=lambda event: event[0]), min(times), max(times))
    tids = [row['tid'] for row in result['tables']['threads']]
    # (the number of a thread that has ended may be in use again)
    rows = [row for row in result['tables']['threads'] if tids.count(row['tid']) == 1 and row['switches'] > 3]
    check(len(rows) >= 3 and not result['lost'], 'threads: %s', rows)
    for row in rows:
        for state in ('running', 'runnable'):
            check(found[row['tid']][state] == row[state + '_ns'], 'thread %d: %s for %d ns, not %d', row['tid'], state,
                  found[row['tid']][state], row[state + '_ns'])


FAILING = '''
import os
print(os.getpid(), flush=True)
for n in range(40):
    os.getppid()
    try:
        os.stat('/nonexistent')
    except OSError:
        pass
'''
COUNTED = ('getppid', 'newfstatat', 'openat', 'read', 'lseek', 'ioctl', 'mmap', 'brk')


def system_call_counts_equal_those_of_strace(case):
    """Counts and errors of `strace -c` of the same run."""
    need('strace')
    need_kernel()
    table = case.path('strace')
    result = recorded(case, ['strace', '-c', '-U', 'calls,errors,name', '-o', table, sys.executable, '-c', FAILING],
                      [word for name in COUNTED for word in ('-k', 'syscall:' + name)])
    pid = int(re.search(r'^(\d+)$', result.out, re.M)[1])
    rows = {row['name']: (row['count'], row['errors'])
            for row in result_of(case, 'syscalls', result.directory)['tables']['processes'] if row['pid'] == pid}
    with open(table) as f:
        lines = [line.split() for line in f if line.split() and line.split()[0].isdigit()]
    counted = {line[-1]: (int(line[0]), int(line[1]) if len(line) > 2 else 0) for line in lines if line[-1] in COUNTED}
    check(len(counted) >= 4 and counted == {name: rows.get(name) for name in counted}, 'strace counts %s, not %s',
          counted, rows)


@contextlib.contextmanager
def loop_device(case):
    image = case.path('image')
    with open(image, 'wb') as f:
        f.truncate(16 << 20)
    made = finished(['losetup', '--direct-io=off', '-f', '--show', image], capture_output=True, text=True)
    check(made.returncode == 0, 'losetup: %s', made.stderr)
    try:
        yield made.stdout.strip()
    finally:
        finished(['losetup', '-d', made.stdout.strip()])


@contextlib.contextmanager
def throttled(device, bytes_per_s):
    """
    A cgroup: its processes read and write the device with this rate. Yields the path of its file cgroup.procs.
    /dev/null: no cgroup controller of this machine throttles devices.
    """
    with open('/proc/mounts') as f:
        mounts = [line.split() for line in f]
    blkio = [mount[1] for mount in mounts if mount[2] == 'cgroup' and 'blkio' in mount[3].split(',')]
    unified = [mount[1] for mount in mounts if mount[2] == 'cgroup2'
               and 'io' in slurp(mount[1] + '/cgroup.subtree_control').split()]
    if not blkio and not unified:
        yield '/dev/null'
        return
    number = slurp('/sys/class/block/%s/dev' % os.path.basename(device)).strip()
    path = os.path.join((blkio + unified)[0], 'wmkt-%d' % os.getpid())
    os.mkdir(path)
    try:
        for name in ('read', 'write'):
            limit = ((path + '/blkio.throttle.%s_bps_device' % name, '%s %d' % (number, bytes_per_s)) if blkio else
                     (path + '/io.max', '%s %sbps=%d' % (number, name[0], bytes_per_s)))
            with open(limit[0], 'w') as f:
                f.write(limit[1])
        yield path + '/cgroup.procs'
    finally:
        wait_for(lambda: not slurp(path + '/cgroup.procs'), 'the cgroup to be empty')
        os.rmdir(path)


def diskstats(device):
    with open('/proc/diskstats') as f:
        row = next(line.split() for line in f if line.split()[2] == os.path.basename(device))
    counts = {name: (int(row[at]), int(row[at + 1]), int(row[at + 2]) * 512)
              for name, at in (('read', 3), ('write', 7))}
    return {**counts, 'flush': (int(row[18]), 0, 0)} if len(row) > 18 else counts


# The kernel merges writes of the page cache. It throttles the direct writes and reads.
DISK = """
dd if=/dev/zero of=DEVICE bs=1M count=2 conv=fsync &&
echo $$ >PROCS &&
dd if=/dev/zero of=DEVICE bs=64k count=10 oflag=direct && dd if=DEVICE of=/dev/null bs=4k count=70 iflag=direct
"""


def block_requests_of_the_io_analysis_equal_diskstats(case):
    """
    Requests, merges and bytes of a throttled loop device equal its row of /proc/diskstats. The summary names the device
    and the thread that waited for the device.
    """
    need('losetup')
    need_kernel()
    with loop_device(case) as device, throttled(device, 2 << 20) as procs:
        before = diskstats(device)
        work = DISK.replace('DEVICE', device).replace('PROCS', procs)
        result = recorded(case, ['sh', '-c', work], ['--preset=sched', '--preset=io', '-k', 'syscall:read',
                                                     '-k', 'syscall:write', '-k', 'syscall:fsync'])
        after = diskstats(device)
        rows = {row['operation']: (row['requests'], row['merges'], row['bytes'])
                for row in result_of(case, 'io', result.directory)['tables']['devices']
                if row['device'] == os.path.basename(device)}
    exact = {name: tuple(b - a for a, b in zip(before[name], after[name])) for name in before}
    check(rows == exact and exact['write'][0] > 10 and exact['write'][1] > 0 and exact['read'][0] >= 70,
          '/proc/diskstats has %s, not %s', exact, rows)
    if procs == '/dev/null':
        raise Skip('the figures are equal, but no cgroup controller of this machine throttles block devices')
    summary = result_of(case, result.directory)
    notes = [note for note in summary['notes'] if 'for disks; longest thread' in note]
    waited = max(summary['tables']['threads'], key=lambda row: row['disk_ns'])
    check(waited['disk_ns'] >= 250000000 and len(notes) == 1 and
          'thread %d (%s)' % (waited['tid'], waited['name']) in notes[0],
          'thread %s; findings: %s', waited, summary['notes'])
    check(waited['name'] == 'dd' or waited['disk_ns'] >
          max(row['disk_ns'] for row in summary['tables']['threads'] if row['name'] == 'dd'), 'thread: %s', waited)


CONVOY = '''
import os, threading, time
lock = threading.Lock()
def work():
    for n in range(10):
        with lock:
            time.sleep(0.005)
        time.sleep(0)
print(os.getpid(), flush=True)
threads = [threading.Thread(target=work) for n in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
'''


def lock_convoy_is_in_the_summary(case):
    """Four threads wait for one lock. Each holds the lock for 5 ms. The first line has process, waiters and time."""
    need_kernel()
    result = recorded(case, [sys.executable, '-c', CONVOY], [*SCHED, '-k', 'syscall:futex'])
    pid = int(re.search(r'^(\d+)$', result.out, re.M)[1])
    rows = [row for row in result_of(case, 'locks', result.directory)['tables']['futexes'] if row['pid'] == pid]
    check(rows[0]['most_waiters'] >= 3 and rows[0]['total_ns'] >= 200000000, 'futexes: %s', rows[:3])
    summary = result_of(case, result.directory)
    check(any('of process %d' % pid in note and 'analyze locks' in note for note in summary['notes']) or
          rows[0]['total_ns'] < summary['tables']['futexes'][0]['total_ns'], 'notes: %s', summary['notes'])


def critical_path_of_a_chain_of_processes_is_found(case):
    """A process waits for another one, which waits for a third one, which sleeps: the sleep is the longest step."""
    need_kernel()
    result = recorded(case, [case.program('chain')],
                      [*SCHED, '-k', 'syscall:read', '-e', 'chain:*', '-c', 'vpid', '-c', 'vtid'])
    a, b, c = (int(word) for word in re.search(r'^(\d+) (\d+) (\d+)$', result.out, re.M).groups())
    tables = result_of(case, 'path', '--span', 'chain:request', result.directory)['tables']
    longest = max(tables['steps'], key=lambda row: row['duration_ns'])
    check((longest['tid'], longest['state'], longest['wait']) == (c, 'blocked', 'sleep') and
          100000000 <= longest['duration_ns'] <= tables['spans'][0]['duration_ns'], 'processes %d, %d, %d: %s', a, b, c,
          tables)
    woken = [(row['tid'], row['waker_tid']) for row in tables['steps'] if row['waker_tid']]
    check(woken[-2:] == [(b, c), (a, b)], 'processes %d, %d, %d: woken %s', a, b, c, tables['steps'])


def priority_inversion_is_on_the_critical_path(case):
    """
    A thread of high priority waits for a lock. Its longest step is the time in which the holder of the lock, a thread
    of low priority, is runnable.
    """
    need_kernel()
    child = case.start(['sh', '-c', 'chrt -f 1 true || exit 0; exec ' + case.program('inversion')],
                       [*LARGE, *SCHED, '-k', 'syscall:futex', '-e', 'inversion:*', '-c', 'vpid', '-c', 'vtid'])
    with clean_tracefs(of_process(child.pid)):
        result = case.finish(child).ok()
    found = re.search(r'^(\d+) (\d+)$', result.out, re.M)
    if not found:
        raise Skip('real-time priorities are not permitted')
    high, low = int(found[1]), int(found[2])
    tables = result_of(case, 'path', '--span', 'inversion:request', result.directory)['tables']
    longest = max(tables['steps'], key=lambda row: row['duration_ns'])
    check((longest['tid'], longest['state']) == (low, 'runnable') and longest['duration_ns'] >= 50000000,
          'threads %d, %d: %s', high, low, tables['steps'])
    check([row['tid'] for row in tables['threads']][0] == low and tables['spans'][0]['tid'] == high,
          'threads %d, %d: %s', high, low, tables)


FORKS = '''
import os, threading
print(os.getpid(), flush=True)
thread = threading.Thread(target=lambda: print(threading.get_native_id(), flush=True))
thread.start()
thread.join()
child = os.fork()
if child == 0:
    os._exit(0)
os.waitpid(child, 0)
print(child, flush=True)
'''


def fork_events_have_parent_and_child_process_ids(case):
    """sched_process_fork has the process of the parent and of the child. For a new thread, both are equal."""
    need_kernel()
    result = recorded(case, [sys.executable, '-c', FORKS], ['-k', 'sched_process_fork'])
    pid, thread, child = (int(line) for line in result.out.splitlines() if line.isdigit())
    lines = read(case, [WAYMARK, *VIEW, '--json', result.directory])[1]
    forks = {record['fields']['child_tid']: (record['fields']['parent_pid'], record['fields']['child_pid'])
             for record in map(json.loads, lines) if record['event'] == 'sched_process_fork'}
    check(forks.get(thread) == (pid, pid) and forks.get(child) == (pid, child), 'process %d, thread %d, child %d: %s',
          pid, thread, child, forks)


def presets_record_all_events_that_the_analyses_need(case):
    need_kernel()
    for preset, analyses in (('sched', ('sched', 'locks')), ('syscalls', ('syscalls',)), ('io', ('io',)),
                             ('irq', ('irq',)), ('memory', ('memory',)),
                             ('all', ('sched', 'locks', 'syscalls', 'io', 'irq'))):
        result = recorded(case, [sys.executable, '-c', FORKS], ['--preset=' + preset])
        for analysis in analyses:
            notes = result_of(case, analysis, result.directory)['notes']
            check(not any('waymark record' in note for note in notes), '--preset=%s: analyze %s lacks events: %s',
                  preset, analysis, notes)


if __name__ == '__main__':
    kernel_main([kernel_symbols_are_saved_with_the_trace, thread_times_of_sched_analysis_equal_schedstat,
                 perfetto_output_has_the_thread_states_of_the_analysis, system_call_counts_equal_those_of_strace,
                 block_requests_of_the_io_analysis_equal_diskstats, lock_convoy_is_in_the_summary,
                 critical_path_of_a_chain_of_processes_is_found, priority_inversion_is_on_the_critical_path,
                 fork_events_have_parent_and_child_process_ids, presets_record_all_events_that_the_analyses_need])
