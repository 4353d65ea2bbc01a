#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`waymark analyze spans`, `locks`, `events` and `loss`: figures equal a second evaluation in Python."""
import collections
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
import event_trace  # noqa: E402
from ctf18 import BEGIN, Plain  # noqa: E402
from harness import VIEW, WAYMARK, check, main, rounds  # noqa: E402
from sched_trace import Simulation, ns_of, quantile  # noqa: E402
from event_trace import Rows  # noqa: E402
from t_analyze import analyzed, near, result_of  # noqa: E402
from t_analyze_events import check_rows  # noqa: E402
from t_view import read  # noqa: E402

SPANS = ('load', 'parse', 'store')
WAIT, WAKE, TIMEDOUT, AGAIN = 0x80, 0x81, -110, -11


def lines_of(case, path):
    return [json.loads(line) for line in read(case, [WAYMARK, *VIEW, '--json', path])[1]]


def write_spans(random, path, turns):
    """Threads with nested spans. Some ends are missing."""
    plain = Plain(contexts='\tevent.context := struct { int32_t vpid; int32_t vtid; };\n')
    for name in SPANS:
        for kind in ('begin', 'end'):
            plain.event('shop:%s_%s' % (name, kind), '', more='\tmodel.emf.uri = "waymark:%s";\n' % kind)
    records, now, stacks = [], BEGIN, collections.defaultdict(list)
    for _ in range(turns):
        now, tid = now + random.choice((10, 700, 90000)), random.choice((5, 6, 9))
        stack = stacks[tid]
        if stack and random.random() < 0.1:
            stack.pop()
        is_end = stack and random.random() < 0.5
        name = stack.pop() if is_end else random.randrange(len(SPANS))
        if not is_end:
            stack.append(name)
        records.append((now, 2 * name + bool(is_end), lambda bits, tid=tid: bits.i(32, tid // 4 * 4).i(32, tid)))
    plain.write(path, stream=[plain.packet(records)])


def span_analysis_equals_independent_evaluation(case):
    for n in range(rounds(5)):
        path = case.path('spans%d' % n)
        write_spans(case.random, path, 2000)
        rows, selves, slowest, stacks = Rows(), collections.Counter(), [], collections.defaultdict(list)
        for record in lines_of(case, path):
            name, kind = record['event'].rsplit('_', 1)
            stack, now = stacks[record['context']['vtid']], ns_of(record)
            if kind == 'begin':
                stack.append([name, now, 0])
                continue
            at = max((i for i, open_ in enumerate(stack) if open_[0] == name), default=None)
            if at is None:
                continue
            ns = now - stack[at][1]
            rows.add(name, ns)
            selves[name] += ns - stack[at][2]
            slowest.append(ns)
            del stack[at:]
            if stack:
                stack[-1][2] += ns
        tables = result_of(case, 'spans', path)['tables']
        check_rows(tables['spans'], rows, lambda row: row['span'])
        check({row['span']: row['self_ns'] for row in tables['spans']} == selves, 'self: %s, not %s', tables['spans'],
              selves)
        check([row['duration_ns'] for row in tables['slowest']] == sorted(slowest, reverse=True)[:20], 'slowest: %s',
              tables['slowest'])


def threads_without_names_are_numbers_in_findings(case):
    path = case.path('nameless')
    write_spans(case.random, path, 500)
    slowest = result_of(case, 'spans', path)['tables']['slowest'][0]
    wanted = 'the slowest span is %s of thread %d: ' % (slowest['span'], slowest['tid'])
    notes = result_of(case, path)['notes']
    check(any(note.startswith(wanted) for note in notes), 'findings: %s', notes)


def spans_of_selected_events_equal_independent_evaluation(case):
    """--from, --to: spans between records of any two events of a thread, also between two records of one event."""
    path = case.path('chosen')
    event_trace.syscalls(case.random, 1500).write(path)
    lines = lines_of(case, path)
    names = sorted({record['event'] for record in lines if record['event'].startswith('syscall_')})
    for begin, end in [('syscall_entry_read', 'syscall_exit_read'), ('syscall_exit_close', 'syscall_exit_close'),
                       *((case.random.choice(names), case.random.choice(names)) for _ in range(rounds(10)))]:
        durations, unmatched, stacks = [], 0, collections.defaultdict(list)
        for record in lines:
            stack, now = stacks[record['context']['tid']], ns_of(record)
            if record['event'] == end and stack:
                durations.append(now - stack.pop())
            elif record['event'] == end:
                unmatched += 1
            if record['event'] == begin:
                stack.append(now)
        result = result_of(case, 'spans', '--from', begin, '--to', end, path)
        rows = [(row['span'], row['count'], row['total_ns']) for row in result['tables']['spans']]
        name = '%s..%s' % (begin, end)
        check(rows == ([(name, len(durations), sum(durations))] if durations else []), '%s: %s, not %s', name, rows,
              (len(durations), sum(durations)))
        check([row['duration_ns'] for row in result['tables']['slowest']] == sorted(durations, reverse=True)[:20],
              'slowest: %s', result['tables']['slowest'])
        words = '%d begin or end records' % unmatched
        check(not unmatched or any(note.startswith(words) for note in result['notes']), '%d: %s', unmatched,
              result['notes'])
        check('no event' in analyzed(case, 'spans', '--from', begin, '--to', 'nothing', path, status=1)[1], 'message')


def write_futexes(random, path, turns):
    plain = Plain(contexts='\tevent.context := struct { int32_t tid; int32_t pid; };\n')
    plain.event('syscall_entry_futex', 'uint64_t uaddr; int32_t op; uint32_t val;')
    plain.event('syscall_exit_futex', 'int64_t ret;')
    records, now, inside = [], BEGIN, set()
    for _ in range(turns):
        now, tid = now + random.choice((10, 700, 90000)), random.randrange(8, 16)
        address, op = 0x1000 + 4 * random.randrange(3), random.choice((WAIT, WAIT, WAKE))
        ret = random.choice((0, 0, TIMEDOUT, AGAIN))

        def write(bits, tid=tid, address=address, op=op, ret=ret, leaves=tid in inside):
            bits.i(32, tid).i(32, tid // 4 * 4)
            if leaves:
                bits.i(64, ret & (1 << 64) - 1)
            else:
                bits.i(64, address).i(32, op).i(32, 0)
        records.append((now, int(tid in inside), write))
        inside ^= {tid}
    plain.write(path, kernel_0=[plain.packet(records)])


def futex_analysis_equals_independent_evaluation(case):
    for n in range(rounds(5)):
        path = case.path('futexes%d' % n)
        write_futexes(case.random, path, 1500)
        waits, timeouts, wakes, wakers, inside = Rows(), collections.Counter(), collections.Counter(), {}, {}
        most, present = collections.Counter(), collections.Counter()
        for record in lines_of(case, path):
            fields, context, now = record['fields'], record['context'], ns_of(record)
            if record['event'] == 'syscall_entry_futex':
                key = (context['pid'], hex(fields['uaddr']))
                waits[key]
                if fields['op'] == WAKE:
                    wakes[key] += 1
                    wakers[key] = context['tid']
                else:
                    inside[context['tid']] = (key, now)
                    present[key] += 1
                    most[key] = max(most[key], present[key])
            elif context['tid'] in inside:
                key, since = inside.pop(context['tid'])
                present[key] -= 1
                timeouts[key] += fields['ret'] == TIMEDOUT
                if fields['ret'] != AGAIN:
                    waits.add(key, now - since)
        rows = result_of(case, 'locks', path)['tables']['futexes']
        check_rows(rows, waits, lambda row: (row['pid'], row['address']), 'waits')
        for row in rows:
            key = (row['pid'], row['address'])
            check((row['timeouts'], row['wakes'], row['most_waiters'], row['last_waker_tid']) ==
                  (timeouts[key], wakes[key], most[key], wakers.get(key)), '%s: %s', key, row)


def event_counts_of_the_analysis_equal_those_of_view(case):
    path = case.path('events')
    Simulation(case.random, 2000).write(path)
    records, rows = lines_of(case, path), result_of(case, 'events', path)['tables']['events']
    counts = collections.Counter(record['event'] for record in records)
    check({row['event']: row['count'] for row in rows} == counts, 'counts: %s', rows)
    seconds = (ns_of(records[-1]) - ns_of(records[0])) / 1e9
    for row in rows:
        check(near(row['per_s'], row['count'] / seconds) and row['peak_per_s'] >= 0.99 * row['per_s'], 'rate: %s', row)
        times = [record['time'] for record in records if record['event'] == row['event']]
        check((row['first'], row['last']) == (times[0], times[-1]), 'times: %s', row)
        check('█' in row['over_time'] and 17 <= len(row['over_time']) <= 32, 'spark line: %s', row)


def loss_analysis_equals_lost_packets_of_the_trace(case):
    """Each packet that was left out is counted in the sums, and in a loss between its neighbours."""
    simulation, path = Simulation(case.random, 3000), case.path('losses')
    packets = simulation.write(case.path('whole'))
    cuts = {(cpu, case.random.randrange(1, packets[cpu] - 1)) for cpu in packets for _ in range(3)}
    simulation.write(path, cuts)
    tables = result_of(case, 'loss', path)['tables']
    sums = {row['cpu']: row['packets'] for row in tables['streams']}
    check(sums == collections.Counter(cpu for cpu, _ in cuts), 'sums %s, not %s', sums, cuts)
    check(sum(row['packets'] for row in tables['losses']) == len(cuts), 'losses: %s', tables['losses'])
    offset = 1500000000 * 10**9
    for cpu, number in cuts:
        first = simulation.records[cpu][number * simulation.per_packet][0] + offset
        check(any(row['cpu'] == cpu and ns_of({'time': row['from']}) <= first <= ns_of({'time': row['from']}) +
                  row['duration_ns'] for row in tables['losses']), 'packet %d of CPU %d: %s', number, cpu,
              tables['losses'])


def counter_analysis_equals_independent_evaluation(case):
    path = case.record([case.program('spans')], ['-c', 'vpid', '-c', 'vtid']).ok().directory
    exact = collections.defaultdict(list)
    for record in lines_of(case, path):
        if 'value' in record['fields']:
            exact[record['event']].append(float(record['fields']['value']))
    rows = {row['counter']: row for row in result_of(case, 'counters', path)['tables']['counters']}
    check(len(exact) > 3 and set(rows) == set(exact), 'counters: %s, not %s', set(rows), set(exact))
    for name, values in exact.items():
        row = rows[name]
        check(row['count'] == len(values), '%s: %s, not %d', name, row, len(values))
        for key, value in (('last', values[-1]), ('min', min(values)), ('max', max(values)),
                           ('average', sum(values) / len(values))):
            check(abs(row[key] - value) <= 1e-5 * abs(value), '%s of %s: %s, not %s', key, name, row, value)


if __name__ == '__main__':
    main([span_analysis_equals_independent_evaluation, threads_without_names_are_numbers_in_findings,
          spans_of_selected_events_equal_independent_evaluation,
          futex_analysis_equals_independent_evaluation, event_counts_of_the_analysis_equal_those_of_view,
          loss_analysis_equals_lost_packets_of_the_trace, counter_analysis_equals_independent_evaluation])
