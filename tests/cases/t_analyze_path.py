#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`waymark analyze path`: critical paths are the known ones, and equal a second evaluation in Python."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
import sched_trace  # noqa: E402
from ctf18 import BEGIN  # noqa: E402
from harness import VIEW, WAYMARK, check, main, rounds  # noqa: E402
from sched_trace import Simulation, ns_of  # noqa: E402
from t_analyze import analyzed, result_of  # noqa: E402
from t_view import read  # noqa: E402

OTHER = 104


class Scripted(Simulation):
    """Records at exact times."""

    def __init__(self):
        super().__init__(None, 0, threads=0)
        for kind in ('begin', 'end'):
            self.ids['job_' + kind] = self.plain.event('shop:job_' + kind, '',
                                                       more='\tmodel.emf.uri = "waymark:%s";\n' % kind)
        for call in ('read', 'clock_nanosleep'):
            self.ids['syscall_entry_' + call] = self.plain.event('syscall_entry_' + call, 'uint64_t arg;')

    def at(self, ns, cpu, name, *values):
        tid = self.running[cpu]

        def write(bits):
            bits.i(32, tid).i(32, tid)
            for value in values:
                if isinstance(value, str):
                    bits.s(value)
                else:
                    bits.i(*value)
        self.records[cpu].append((BEGIN + ns, self.ids[name], write))

    def to(self, ns, cpu, tid, state=0):
        prev = self.running[cpu]
        self.at(ns, cpu, 'sched_switch', 't%d' % prev, (32, prev), (32, 20), (64, state), 't%d' % tid, (32, tid),
                (32, 20))
        self.running[cpu] = tid

    def wake(self, waking, wakeup, cpu, tid):
        for ns, name in ((waking, 'sched_waking'), (wakeup, 'sched_wakeup')):
            self.at(ns, cpu, name, 't%d' % tid, (32, tid), (32, 20), (32, 0))

    def enter(self, ns, cpu, name):
        self.at(ns, cpu, 'syscall_entry_' + name, (64, 1))


def write_chain(path, cuts=(), per_packet=40):
    """Thread 101 waits for 102, which waits for 103, which sleeps. Then thread 104 preempts 101."""
    trace = Scripted()
    trace.per_packet = per_packet
    trace.to(0, 0, 101)
    trace.to(10, 1, 102)
    trace.to(20, 2, 103)
    trace.enter(90, 1, 'read')
    trace.to(100, 1, 0, state=1)
    trace.enter(200, 2, 'clock_nanosleep')
    trace.to(210, 2, 0, state=1)
    trace.at(1000, 0, 'job_begin')
    trace.enter(1500, 0, 'read')
    trace.to(1600, 0, 0, state=1)
    trace.wake(9000, 9010, 2, 103)
    trace.to(9100, 2, 103)
    trace.wake(9500, 9520, 2, 102)
    trace.to(9700, 1, 102)
    trace.to(9800, 2, 0, state=1)
    trace.wake(12000, 12030, 1, 101)
    trace.to(12100, 0, 101)
    trace.to(12500, 0, OTHER, state=0)
    trace.to(13500, 0, 101, state=0)
    trace.at(14000, 0, 'job_end')
    trace.at(15000, 0, 'job_begin')
    trace.at(15400, 0, 'job_end')
    trace.write(path, cuts)


def rows_of(tables, *keys, number=1):
    return [tuple(row[key] for key in keys) for row in tables['steps'] if row['path'] == number]


def critical_path_of_a_known_chain_is_found(case):
    path = case.path('chain')
    write_chain(path)
    result = result_of(case, 'path', '--span', 'shop:job', path)
    tables = result['tables']
    check(rows_of(tables, 'start_ns', 'duration_ns', 'state', 'tid', 'wait', 'waker_tid') == [
        (0, 600, 'running', 101, None, None),
        (600, 7400, 'blocked', 103, 'sleep', None),
        (8000, 100, 'runnable', 103, 'sleep', None),
        (8100, 400, 'running', 103, None, None),
        (8500, 200, 'runnable', 102, 'read or write', 103),
        (8700, 2300, 'running', 102, None, None),
        (11000, 100, 'runnable', 101, 'read or write', 102),
        (11100, 400, 'running', 101, None, None),
        (11500, 1000, 'runnable', 101, None, None),
        (12500, 500, 'running', 101, None, None)], 'path: %s', tables['steps'])
    check([(row['tid'], row['total_ns'], row['running_ns'], row['runnable_ns'], row['blocked_ns'], row['unknown_ns'])
           for row in tables['threads']] == [(103, 7900, 400, 100, 7400, 0), (101, 2600, 1500, 1100, 0, 0),
                                             (102, 2500, 2300, 200, 0, 0)], 'sums: %s', tables['threads'])
    check([(row['span'], row['tid'], row['duration_ns'], row['unknown_ns']) for row in tables['spans']] ==
          [('shop:job', 101, 13000, 0)] and not result['notes'], 'span: %s', result)
    both = result_of(case, 'path', '--slowest', '2', path)['tables']
    check(rows_of(both, 'start_ns', 'duration_ns', 'state', 'tid', number=2) == [(0, 400, 'running', 101)] and
          rows_of(both, 'start_ns', 'tid') == rows_of(tables, 'start_ns', 'tid'), 'two paths: %s', both['steps'])
    text = analyzed(case, 'path', path)[0].splitlines()
    at = text.index(next(line for line in text if line.startswith('Paths')))
    check(text[at + 3].split()[1:8] == ['600', 'ns', '7.40', 'us', 'blocked', 'sleep', '103'], 'text: %s', text)


def folded_path(case, *args):
    """{stack: ns}"""
    return {stack: int(ns) for stack, ns in (line.rsplit(' ', 1) for line in analyzed(
        case, 'path', '--folded', *args)[0].splitlines() if line)}


def folded_critical_path_has_wakers_below_waits(case):
    path = case.path('chain')
    write_chain(path)
    wait = ';blocked: read or write;'
    check(folded_path(case, '--span', 'shop:job', path) == {
        'shop:job;t101 101;running': 1500, 'shop:job;t101 101;runnable': 1100,
        'shop:job;t101 101' + wait + 't102 102;running': 2300, 'shop:job;t101 101' + wait + 't102 102;runnable': 200,
        'shop:job;t101 101' + wait + 't102 102' + wait + 't103 103;running': 400,
        'shop:job;t101 101' + wait + 't102 102' + wait + 't103 103;runnable': 100,
        'shop:job;t101 101' + wait + 't102 102' + wait + 't103 103;blocked: sleep': 7400}, 'stacks: %s',
          folded_path(case, path))
    for n in range(rounds(6)):
        path = case.path('folded%d' % n)
        WithSpans(case.random, 3000).write(path)
        tables, stacks = result_of(case, 'path', '--slowest', '3', path)['tables'], folded_path(case, '--slowest', '3',
                                                                                                path)
        for state in ('running', 'runnable', 'blocked', 'unknown'):
            sums = {}
            for stack, ns in stacks.items():
                thread, of = stack.split(';')[-2:]
                if of.partition(':')[0] == state:
                    sums[thread] = sums.get(thread, 0) + ns
            exact = {}
            for row in tables['threads']:
                name = '%s %d' % (row['name'], row['tid'])
                exact[name] = exact.get(name, 0) + row[state + '_ns']
            check(sums == {name: ns for name, ns in exact.items() if ns}, '%s: %s, not %s', state, sums, exact)
    analyzed(case, 'spans', '--folded', path, status=2)
    analyzed(case, 'path', '--folded', '--json', path, status=2)


def unknown_spans_of_the_path_analysis_are_refused(case):
    path = case.path('chain')
    write_chain(path)
    err = analyzed(case, 'path', '--span', 'shop:jab', path, status=1)[1]
    check("no span 'shop:jab'" in err, 'message: %s', err)
    err = analyzed(case, 'sched', '--span', 'shop:job', path, status=2)[1]
    check('options of `analyze path`' in err, 'message: %s', err)
    Simulation(case.random, 100).write(case.path('no_spans'))
    err = analyzed(case, 'path', case.path('no_spans'), status=1)[1]
    check('begins or ends a span' in err and 'waymark record' in err, 'message: %s', err)


class WithSpans(Simulation):
    """Threads with nested spans."""

    def step(self, cpu):
        super().step(cpu)
        if 'begin' not in self.ids:
            self.inside = {}
            for kind in ('begin', 'end'):
                self.ids[kind] = self.plain.event('shop:job_' + kind, '',
                                                  more='\tmodel.emf.uri = "waymark:%s";\n' % kind)
        tid = self.running[cpu]
        if tid and self.random.random() < 0.1:
            kind = 'end' if self.inside.get(tid, 0) and self.random.random() < 0.6 else 'begin'
            self.inside[tid] = self.inside.get(tid, 0) + (1 if kind == 'begin' else -1)
            self.emit(cpu, kind)


class Logged(sched_trace.Thread):
    """A thread with its intervals: (from, to, state, wait, begin of the wake-up, waker)."""

    def __init__(self, begin):
        super().__init__(begin)
        self.log = []

    def set(self, now, state, was=None):
        is_woken = self.state == 'blocked' and state == 'runnable'
        self.log.append((self.since, now, was or self.state, self.wait, self.woken if is_woken else None,
                         self.waker if is_woken else None))
        super().set(now, state, was)


def logged(lines):
    """{tid: Logged} of a trace without losses."""
    thread, sched_trace.Thread = sched_trace.Thread, Logged
    try:
        return sched_trace.evaluate(lines)[0]
    finally:
        sched_trace.Thread = thread


def before(thread, now):
    return next((interval for interval in reversed(thread.log) if interval[0] < now), None) if thread else None


def walk(threads, tid, low, now, steps):
    """Append the path of the thread from `now` back to `low`: (from, to, state, tid)."""
    while now > low:
        interval = before(threads.get(tid), now)
        if interval is None:
            steps.append((low, now, 'unknown', tid))
            return
        since, _, state, wait, woken, waker = interval
        since = max(since, low)
        if state == 'blocked':
            if woken is not None:
                woken = min(max(woken, since), now)
                steps.append((woken, now, 'runnable', tid))
                now = woken
            ran = before(threads.get(waker), now) if now > since else None
            if ran and ran[2] == 'running' and waker != tid and wait not in ('sleep', 'disk'):
                walk(threads, waker, since, now, steps)
            else:
                steps.append((since, now, 'blocked', tid))
        else:
            steps.append((since, now, 'unknown' if state == 'absent' else state, tid))
        now = since


def joined(steps):
    """Steps in the order of time, without empty ones; neighbours of one thread and state are one step."""
    out = []
    for since, to, state, tid in steps:
        if since == to:
            continue
        if out and out[-1][1:] == (since, state, tid):
            since = out.pop()[0]
        out.append((since, to, state, tid))
    return [(since, to - since, state, tid) for since, to, state, tid in out]


def spans_of(lines):
    """[(duration, begin, end, tid)]: the slowest first, of equal ones the first to end."""
    spans, inside = [], {}
    for record in map(json.loads, lines):
        stack = inside.setdefault(record['context']['tid'], [])
        if record['event'] == 'shop:job_begin':
            stack.append(ns_of(record))
        elif record['event'] == 'shop:job_end':
            begin = stack.pop()
            spans.append((ns_of(record) - begin, begin, ns_of(record), record['context']['tid']))
    return sorted(spans, key=lambda span: -span[0])


def critical_paths_equal_independent_evaluation(case):
    for n in range(rounds(6)):
        path = case.path('paths%d' % n)
        WithSpans(case.random, 3000).write(path)
        lines = read(case, [WAYMARK, *VIEW, '--json', path])[1]
        threads = logged(lines)
        tables = result_of(case, 'path', '--slowest', '16', path)['tables']
        spans = spans_of(lines)[:16]
        check([(row['duration_ns'], ns_of({'time': row['from']}), row['tid']) for row in tables['spans']] ==
              [(span[0], span[1], span[3]) for span in spans], 'spans: %s, not %s', tables['spans'], spans)
        used = set()
        for number, (duration, begin, end, tid) in enumerate(spans, 1):
            steps = []
            walk(threads, tid, begin, end, steps)
            exact = joined((since - begin, to - begin, *rest) for since, to, *rest in reversed(steps))
            rows = joined((start, start + ns, state, of) for start, ns, state, of in
                          rows_of(tables, 'start_ns', 'duration_ns', 'state', 'tid', number=number))
            check(rows == exact, 'path %d: %s, not %s', number, rows, exact)
            check(sum(row[1] for row in rows) == duration, 'path %d is not %d long: %s', number, duration, rows)
            used |= {row[3] for row in rows} - {tid}
        check(used, 'no path has another thread')


def critical_path_is_unknown_where_packets_are_lost(case):
    """Where the records of the waker are lost, the path is unknown: no other thread gets the time."""
    path = case.path('cut')
    write_chain(path, cuts={(1, 1)}, per_packet=2)
    result = result_of(case, 'path', path)
    rows = rows_of(result['tables'], 'start_ns', 'duration_ns', 'state', 'tid')
    check(sum(row[1] for row in rows) == 13000 and result['tables']['spans'][0]['unknown_ns'] > 0 and
          any('unknown' in note for note in result['notes']), 'path: %s', result)
    for n in range(rounds(4)):
        simulation, path = WithSpans(case.random, 3000), case.path('cuts%d' % n)
        whole = case.path('whole%d' % n)
        packets = simulation.write(whole)
        threads = logged(read(case, [WAYMARK, *VIEW, '--json', whole])[1])
        simulation.write(path, {(cpu, case.random.randrange(1, packets[cpu] - 1)) for cpu in packets for _ in range(3)})
        tables = result_of(case, 'path', '--slowest', '16', path)['tables']
        for row in tables['spans']:
            steps = rows_of(tables, 'start_ns', 'duration_ns', number=row['path'])
            check([start for start, _ in steps] == [sum(ns for _, ns in steps[:at]) for at in range(len(steps))] and
                  sum(ns for _, ns in steps) == row['duration_ns'], 'path %s has gaps: %s', row, steps)
        for row in tables['steps']:
            begin = ns_of({'time': row['from']})
            ran = sum(max(0, min(to, begin + row['duration_ns']) - max(since, begin))
                      for since, to, state, *_ in threads[row['tid']].log if state == 'running')
            check(row['state'] != 'running' or ran == row['duration_ns'], 'the thread ran for %d ns only: %s', ran, row)


if __name__ == '__main__':
    main([critical_path_of_a_known_chain_is_found, folded_critical_path_has_wakers_below_waits,
          unknown_spans_of_the_path_analysis_are_refused, critical_paths_equal_independent_evaluation,
          critical_path_is_unknown_where_packets_are_lost])
