#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`waymark query`: derived tables equal a second evaluation and `waymark analyze`."""
import collections
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
import event_trace  # noqa: E402
from ctf18 import BEGIN, Plain, one_packet  # noqa: E402
from harness import VIEW, WAYMARK, check, main, rounds  # noqa: E402
from sched_trace import Simulation, evaluate, ns_of  # noqa: E402
from t_analyze import result_of  # noqa: E402
from t_query import query  # noqa: E402
from t_view import read  # noqa: E402


def viewed(case, path):
    return read(case, [WAYMARK, *VIEW, '--json', path])[1]


def rows_of_thread_table_equal_independent_evaluation(case):
    """Sums of threads, and the periods in which the threads run."""
    for n in range(rounds(4)):
        path = case.path('sched%d' % n)
        Simulation(case.random, 2000).write(path)
        threads, _, length = evaluate(viewed(case, path))
        rows = {row['tid']: row for row in query(case, 'SELECT * FROM threads', path)[0]}
        check(set(rows) == set(threads), 'threads %s, not %s', sorted(rows), sorted(threads))
        for tid, thread in threads.items():
            for state in ('running', 'runnable', 'blocked', 'absent'):
                check(rows[tid][state] == thread.ns[state], '%d: %s, not %s', tid, rows[tid], thread.ns)
            check(sum(rows[tid][s] for s in ('running', 'runnable', 'blocked', 'unknown')) == length, '%s', rows[tid])
        for row in result_of(case, 'sched', path)['tables']['threads']:
            ours = rows[row['tid']]
            check(all(ours[k] == row[k + '_ns'] for k in ('unknown', 'futex', 'sleep', 'poll', 'network', 'disk')) and
                  all(ours[k] == row[k] for k in ('name', 'pid', 'switches', 'migrations', 'wakeups')), '%s, not %s',
                  ours, row)
        slices = query(case, 'SELECT * FROM slices', path)[0]
        sums, ends = collections.Counter(), collections.defaultdict(lambda: 0)
        for row in slices:
            sums[row['tid']] += row['duration']
            check(row['time'] >= ends[row['cpu']], '%s: two threads run at one time', row)
            ends[row['cpu']] = row['time'] + row['duration']
        check(all(sums[tid] == thread.ns['running'] for tid, thread in threads.items()), 'slices')
        wakeups = collections.defaultdict(list)
        for row in query(case, 'SELECT * FROM wakeups', path)[0]:
            wakeups[row['tid']].append(row['duration'])
        check(wakeups == {tid: thread.latencies for tid, thread in threads.items() if thread.latencies}, 'wake-ups')
        check({row['then'] for row in slices} <= {'runnable', 'blocked', 'absent', 'running', 'unknown'}, 'then')


def rows_of_syscall_table_equal_independent_evaluation(case):
    for _ in range(rounds(4)):
        path = case.path('calls%d' % case.random.randrange(1 << 30))
        event_trace.syscalls(case.random, 1500).write(path)
        lines = viewed(case, path)
        calls, _, _, unfinished = event_trace.evaluated_syscalls(lines)
        found = collections.defaultdict(lambda: [0, 0, []])
        left, entries = collections.Counter(), collections.Counter()
        for row in query(case, 'SELECT * FROM syscalls', path)[0]:
            if row['duration'] is None:
                left[row['name']] += 1
                check(row['time'] and row['ret'] is None, '%s', row)
                continue
            found[row['name']][0] += 1
            found[row['name']][1] += row['error'] is not None
            found[row['name']][2].append(row['duration'])
            check((row['ret'] < 0) == (row['error'] is not None) and row['process'] in (None, 'p%d' % row['pid']),
                  '%s', row)
            entries[row['tid'], row['time']] += 1
        check(left == unfinished, 'unfinished %s, not %s', left, unfinished)
        check({k: v for k, v in found.items()} == {k: [v[0], v[1], v[2]] for k, v in calls.items()}, 'calls')
        began = collections.Counter((r['context']['tid'], ns_of(r)) for r in map(json.loads, lines)
                                    if r['event'].startswith('syscall_entry_'))
        check(not entries - began, 'entries at other times: %s', entries - began)


def evaluated_spans(lines):
    """[(name, pid, tid, time, duration, self, depth)] of complete spans, and of those without an end."""
    stacks, found = collections.defaultdict(list), []
    for record in map(json.loads, lines):
        contexts = record.get('context') or record['event_context']
        if 'vtid' not in contexts:               # of the state dump
            continue
        who = contexts['vpid'], contexts['vtid']
        stack, now = stacks[who], ns_of(record)
        name, _, kind = record['event'].rpartition('_')
        if kind == 'begin':
            stack.append([name, now, 0])
        elif kind == 'end' and name in [s[0] for s in stack]:
            while True:
                one, since, inner = stack.pop()
                if one == name:
                    found.append((one, *who, since, now - since, now - since - inner, len(stack)))
                    if stack:
                        stack[-1][2] += now - since
                    break
                found.append((one, *who, since, None, None, len(stack)))
    for who, stack in stacks.items():
        found += [(s[0], *who, s[1], None, None, depth) for depth, s in enumerate(stack)]
    return found


def rows_of_span_table_equal_independent_evaluation(case):
    for program in ('spans', 'spans_cxx'):
        path = case.record([case.program(program)], ['-c', 'vpid', '-c', 'vtid', '-c', 'procname']).ok().directory
        rows = query(case, 'SELECT name, pid, tid, time, duration, self, depth FROM spans', path)[0]
        key = lambda row: tuple((v is None, v) for v in row)
        ours, theirs = (sorted(spans, key=key) for spans in ([tuple(r.values()) for r in rows],
                                                              evaluated_spans(viewed(case, path))))
        check(ours and ours == theirs, '%s: %s, not %s', program, ours, theirs)
        # (a derived table can be joined, grouped and read several times)
        sql = 'SELECT a.name, count(*) AS n FROM spans a JOIN spans b ON a.name = b.name AND a.tid = b.tid GROUP BY 1'
        times = collections.Counter((r['name'], r['tid']) for r in rows)
        sums = collections.Counter()
        for (name, _), n in times.items():
            sums[name] += n * n
        check({r['name']: r['n'] for r in query(case, sql, path)[0]} == dict(sums), 'join')


def duration_of_a_system_call_across_a_loss_is_unknown(case):
    """A system call across a loss has no duration, and an exit without an entry has no time."""
    trace = Plain(contexts='\tevent.context := struct { int32_t tid; int32_t pid; };\n')
    trace.event('syscall_entry_read', 'uint32_t fd;')
    trace.event('syscall_exit_read', 'int64_t ret;')

    def entry(at, tid=7):
        return BEGIN + at, 0, lambda b: b.i(32, tid).i(32, tid).i(32, 3)

    def exits(at, ret, tid=7):
        return BEGIN + at, 1, lambda b: b.i(32, tid).i(32, tid).i(64, ret & (1 << 64) - 1)
    path = case.path('lost')
    trace.write(path, stream=[trace.packet([exits(0, 9), entry(10), exits(30, 5), entry(40)], sequence=0,
                                           end=BEGIN + 45),
                              trace.packet([exits(1000, -11), entry(1010)], sequence=1, discarded=4)])
    rows, err = query(case, 'SELECT time - (SELECT min(time) FROM events) AS at, duration, fd, ret, error '
                      'FROM syscalls ORDER BY time', path)
    check(rows == [{'at': None, 'duration': None, 'fd': None, 'ret': 9, 'error': None},
                   {'at': None, 'duration': None, 'fd': None, 'ret': -11, 'error': 'EAGAIN'},
                   {'at': 10, 'duration': 20, 'fd': 3, 'ret': 5, 'error': None},
                   {'at': 40, 'duration': None, 'fd': 3, 'ret': None, 'error': None},
                   {'at': 1010, 'duration': None, 'fd': 3, 'ret': None, 'error': None}], '%s', rows)
    check('4 records' in err, '%s', err)


def query_table_without_its_events_reports_what_to_record(case):
    path = case.path('other')
    one_packet(path, 'uint8_t x;', [lambda b: b.i(8, 1)])
    for table, event in (('threads', 'sched_switch'), ('slices', 'sched_switch'),
                         ('wakeups', 'sched_wakeup or sched_waking'), ('syscalls', 'system calls'),
                         ('spans', 'waymark_span()')):
        err = query(case, 'SELECT * FROM ' + table, path, status=1)[1]
        check(event in err and 'waymark record' in err, '%s: %s', table, err)


if __name__ == '__main__':
    main([rows_of_thread_table_equal_independent_evaluation, rows_of_syscall_table_equal_independent_evaluation,
          rows_of_span_table_equal_independent_evaluation, duration_of_a_system_call_across_a_loss_is_unknown,
          query_table_without_its_events_reports_what_to_record])
