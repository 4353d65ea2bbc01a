#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`waymark analyze` and `waymark query` of kernel records: perf and lttng-analyses have the same figures of one run."""
import bisect
import collections
import json
import os
import re
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from harness import PERCENT, Failure, Skip, check, finished, need  # noqa: E402
from kernel import kernel_main, need_kernel  # noqa: E402
from t_analyze import near, result_of  # noqa: E402
from t_kernel_analyze import recorded  # noqa: E402
from t_query import query  # noqa: E402

SCHED = [word for name in ('switch', 'wakeup', 'wakeup_new', 'process_*') for word in ('-k', 'sched_' + name)]
# Two processes of one CPU that wake each other. Prints their numbers.
PING = '''
import os, sys, time
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
a, b = os.pipe(), os.pipe()
child = os.fork()
if child == 0:
    while os.read(a[0], 1) == b'x':
        os.write(b[1], b'x')
    os._exit(0)
for n in range(150):
    os.write(a[1], b'x')
    os.read(b[0], 1)
    time.sleep(0.0005)
os.write(a[1], b'.')
os.waitpid(child, 0)
print('processes', os.getpid(), child, flush=True)
'''


def processes_of(result):
    return [int(word) for word in re.search(r'^processes (\d+) (\d+)$', result.out, re.M).groups()]


# ── perf ────────────────────────────────────────────────────────────────────────────────────────────────────

PERF_WAKES = re.compile(r' *(\d+)\.(\d{6}) +\[\d+\] .* awakened: .*\[(\d+)(?:/\d+)?\]\s*$')
PERF_RAN = re.compile(r' *(\d+)\.(\d{6}) +\[\d+\] .*\[(\d+)(?:/\d+)?\] +[\d.]+ +([\d.]+) +([\d.]+)\s*$')


def timehist(path):
    """
    ({tid: begins of its wake-ups}, {tid: [(when it ran after the wake-up, latency)]}), in us, from `perf sched
    timehist`. perf prints times without fractions of a us.
    """
    said = finished(['perf', 'sched', 'timehist', '-w', '-i', path], capture_output=True, text=True, check=True).stdout
    wakes, ran = collections.defaultdict(list), collections.defaultdict(list)
    for line in said.splitlines():
        found = PERF_WAKES.match(line) or PERF_RAN.match(line)
        if found:
            us, tid = int(found[1]) * 1000000 + int(found[2]), int(found[3])
            if found.re is PERF_WAKES:
                wakes[tid].append(us)
            else:
                latency, length = (round(float(word) * 1000) for word in found.groups()[3:])
                ran[tid].append((us - length, latency))
    return wakes, ran


def since_boot():
    """The real time minus the monotonic time, in us."""
    tries = []
    for _ in range(20):
        before, real, after = time.monotonic_ns(), time.time_ns(), time.monotonic_ns()
        tries.append((after - before, real - (before + after) / 2))
    return min(tries)[1] / 1000


def apart(ours, theirs):
    """The distance of the nearest one of sorted numbers."""
    at = bisect.bisect(theirs, ours)
    return min((abs(theirs[i] - ours) for i in (at - 1, at) if 0 <= i < len(theirs)), default=float('inf'))


def wake_up_latencies_equal_those_of_perf(case):
    """
    Begins of wake-ups, and the median of the differences of their latencies, are within 1 us of `perf sched timehist`.
    The kernel calls one tracer after the other (docs/analyze.md), so the time of the second tracer includes what the
    first tracer takes, and interrupts between both. Another try may have fewer such wake-ups.
    """
    need('perf')
    need_kernel()
    data = case.path('perf.data')
    command = ['perf', 'sched', 'record', '-k', 'CLOCK_MONOTONIC', '-o', data, sys.executable, '-c', PING]
    for _ in range(6):
        result = recorded(case, command, [*SCHED, '-k', 'sched_waking'])
        offset, (wakes, ran) = since_boot(), timehist(data)
        disturbed, count, differences = [], 0, []
        for tid in processes_of(result):
            rows = query(case, 'SELECT time, duration FROM wakeups WHERE tid = %d' % tid, result.directory)[0]
            # (perf may begin to record after the begin of the program)
            rows = [row for row in rows if row['time'] / 1000 - offset >= min(wakes[tid], default=0) - 10]
            if len(rows) < 140 or abs(len(rows) - len(wakes[tid])) > 2:
                # (perf loses records if its buffer is full)
                disturbed += [(tid, '%d wake-ups, perf has %d' % (len(rows), len(wakes[tid])))] * 150
            count += len(rows)
            for row in rows:
                begin, latency = row['time'] / 1000 - offset, row['duration'] / 1000
                runs = [theirs for at, theirs in ran[tid] if abs(at - begin - latency) <= 20]
                differences.append(min((abs(latency - theirs) for theirs in runs), default=float('inf')))
                # (a time and its counterpart without the fraction differ by up to 1 us more)
                if apart(begin, wakes[tid]) > 2 or differences[-1] > 5:
                    disturbed.append((tid, begin, latency, runs, apart(begin, wakes[tid])))
        median = sorted(differences)[len(differences) // 2]
        if len(disturbed) <= count / 20 and median <= 2:
            return
    check(False, '%d of %d wake-ups differ, latencies by %.1f us: %s', len(disturbed), count, median, disturbed[:5])


# ── lttng-analyses ──────────────────────────────────────────────────────────────────────────────────────────

READS = '''
import os, threading, time
child = os.fork()
if child == 0:
    for n in range(30):
        time.sleep(0.0005)
        try:
            os.stat('/nonexistent')
        except OSError:
            pass
        with open('/proc/self/stat', 'rb', buffering=0) as f:
            f.read(64)
    os._exit(0)
os.waitpid(child, 0)
print('processes', os.getpid(), child, flush=True)
'''
COMMANDS = ('cputop', 'schedtop', 'schedstats', 'irqstats', 'syscallstats', 'iolatencytop', 'iousagetop', 'memtop')


def of_lttng_analyses(command, *argv):
    """
    Run a command of lttng-analyses. babeltrace's Python module sometimes crashes (SIGSEGV): then it runs again.
    """
    for _ in range(10):
        done = finished(['lttng-' + command, *argv], capture_output=True, text=True, timeout=120)
        if done.returncode != -signal.SIGSEGV:
            break
    else:
        raise Skip('the Python module of babeltrace crashes on this trace')
    check(done.returncode == 0 and '"error"' not in done.stdout and 'Error' not in done.stdout + done.stderr,
          'lttng-%s: status %d: %s', command, done.returncode, (done.stdout + done.stderr)[-500:])
    return done.stdout


def tables_of(command, trace, *options):
    """[(class, rows)] that a command prints as JSON."""
    said = json.loads(of_lttng_analyses(command + '-mi', *options, trace))
    return [(table['class'], table['data']) for table in said['results']]


def check_cputop(case, path, kernel, tid):
    result = result_of(case, 'sched', path)
    (rows,) = [rows for kind, rows in tables_of('cputop', kernel, '--limit', '100000') if kind == 'per-process']
    (theirs,) = [row[-1]['value'] for row in rows if row[0]['tid'] == tid]
    (ours,) = [row['running_ns'] for row in result['tables']['threads'] if row['tid'] == tid]
    check(near(theirs * result['length_ns'], ours), 'cputop: %s of %s ns, not %s ns', theirs, result['length_ns'], ours)


def check_schedstats(case, path, kernel, tid):
    sql = 'SELECT count(*) AS n, sum(duration) AS sum, max(duration) AS max FROM wakeups WHERE tid = %d' % tid
    (ours,) = query(case, sql, path)[0]
    rows = [row for _, rows in tables_of('schedstats', kernel) for row in rows if row[0]['tid'] == tid]
    count, mean, greatest = (rows[0][i]['value'] for i in (1, 3, 4))
    check(len(rows) == 1 and ours['n'] == count > 30 and near(ours['sum'], mean * count) and
          abs(ours['max'] - greatest) <= 1, 'schedstats: %s, not %s', rows, ours)


def check_schedtop(case, path, kernel, tid):
    sql = 'SELECT time, duration FROM wakeups WHERE tid = %d ORDER BY duration DESC LIMIT 10' % tid
    ours = [row['duration'] for row in query(case, sql, path)[0]]
    theirs = [row[2]['value'] for _, rows in tables_of('schedtop', kernel, '--tid', str(tid)) for row in rows]
    check(len(ours) == len(theirs) == 10 and all(abs(a - b) <= 1 for a, b in zip(ours, theirs)),
          'schedtop: %s, not %s', theirs, ours)


def check_irqstats(case, path, kernel, _tid):
    tables = result_of(case, 'irq', path)['tables']
    ours = {('irq', row['irq']): row for row in tables['interrupts']}
    ours.update({('softirq', row['vec']): row for row in tables['softirqs']})
    theirs = {}
    for _, rows in tables_of('irqstats', kernel):
        for row in rows:
            key = ('irq' if row[0]['hard'] else 'softirq', row[0]['nr'])
            theirs[key] = (row[1]['value'], row[1]['value'] * row[3]['value'])
    for key, (count, total) in theirs.items():
        check(key in ours and ours[key]['count'] == count and near(ours[key]['total_ns'], total),
              'irqstats: %s: %s, not %s', key, (count, total), ours.get(key))


def check_syscallstats(case, path, kernel, tid):
    sql = 'SELECT name, count(*) AS n, sum(duration) AS sum FROM syscalls WHERE tid = %d AND duration NOT NULL ' \
        'GROUP BY name' % tid
    ours = {row['name']: (row['n'], row['sum']) for row in query(case, sql, path)[0]}
    theirs = {}
    for kind, rows in tables_of('syscallstats', kernel, '--tid', str(tid)):
        if isinstance(kind, dict) and 'TID: %d)' % tid in kind['title']:
            theirs = {row[0]['name']: (row[1]['value'], row[1]['value'] * row[3]['value']) for row in rows}
    check(set(ours) == set(theirs) and all(ours[name][0] == theirs[name][0] and near(ours[name][1], theirs[name][1])
                                           for name in ours), 'syscallstats: %s, not %s', theirs, ours)


def check_iolatencytop(case, path, kernel, tid):
    sql = "SELECT name, duration FROM syscalls WHERE tid = %d AND name IN ('openat', 'read') ORDER BY duration DESC"
    rows, found = query(case, sql % tid, path)[0], tables_of('iolatencytop', kernel, '--limit', '100000')
    for kind, call in (('[open]', 'openat'), ('[read]', 'read')):
        ours = [row['duration'] for row in rows if row['name'] == call][:10]
        theirs = [row[2]['value'] for title, rows in found if isinstance(title, dict) and title['title'].endswith(kind)
                  for row in rows if row[5]['tid'] == tid][:10]
        check(len(theirs) == 10 and all(abs(a - b) <= 1 for a, b in zip(ours, theirs)), 'iolatencytop: %s, not %s',
              theirs, ours)


def check_iousagetop(case, path, kernel, tid):
    sql = "SELECT sum(ret) AS sum FROM syscalls WHERE tid = %d AND name = 'read' AND ret > 0" % tid
    ours = query(case, sql, path)[0][0]['sum']
    (theirs,) = [row[1]['value'] for kind, rows in tables_of('iousagetop', kernel, '--limit', '100000')
                 if isinstance(kind, dict) and kind['title'].endswith('[read]') and kind['inherit'].startswith(
                     'per-process') for row in rows if row[0].get('tid') == tid]
    check(ours == theirs >= 30 * 64, 'iousagetop: %s, not %s', theirs, ours)


def check_memtop(case, path, kernel, tid):
    (ours,) = [(row['allocations'], row['frees']) for row in result_of(case, 'memory', path)['tables']['processes']
               if row['pid'] == tid]
    theirs = [row[1]['value'] for _, rows in tables_of('memtop', kernel, '--limit', '100000') for row in rows
              if row[0].get('tid') == tid]
    check(sorted(theirs) == sorted(ours), 'memtop: %s, not %s', theirs, ours)


def results_equal_those_of_lttng_analyses(case):
    """
    The commands of lttng-analyses succeed on a trace of the kernel, and have the counts and the sums of `waymark
    analyze` and `waymark query`.
    """
    need('lttng-cputop')
    need_kernel()
    calls = [word for call in ('openat', 'read', 'newfstatat', 'close') for word in ('-k', 'syscall:' + call)]
    checks = COMMANDS if PERCENT >= 100 else (case.random.choice(COMMANDS),)
    for turn in range(3):
        result = recorded(case, [sys.executable, '-c', READS], [
            *SCHED, '-k', 'irq_*', '-k', 'block_rq_*', *calls, *(['--preset=memory'] if 'memtop' in checks else [])])
        kernel, (_, child) = os.path.join(result.directory, 'kernel'), processes_of(result)
        try:
            for command in checks:
                globals()['check_' + command](case, result.directory, kernel, child)
            break
        except Failure:
            # (lttng-analyses assigns system calls to the thread that it believes to run on the CPU)
            if turn == 2:
                raise
    for command in COMMANDS if PERCENT >= 100 else ():
        of_lttng_analyses(command, '--no-progress', kernel)


if __name__ == '__main__':
    kernel_main([wake_up_latencies_equal_those_of_perf, results_equal_those_of_lttng_analyses])
