#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Bad input of `waymark analyze`, `query`, `report` and `top`: empty, damaged and unsuitable traces; many threads."""
import json
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
import event_trace  # noqa: E402
from ctf18 import BEGIN, Plain, one_packet  # noqa: E402
from harness import PERCENT, WAYMARK, check, main, rounds  # noqa: E402
from t_analyze import analyzed, result_of  # noqa: E402
from t_analyze_path import WithSpans  # noqa: E402
from t_query import query  # noqa: E402
from t_view import read  # noqa: E402

NEEDS = {'sched': 'sched_switch', 'syscalls': 'syscall_exit_', 'io': 'block_rq_complete', 'irq': 'irq_handler',
         'memory': 'kmem_mm_page_alloc', 'spans': 'span', 'locks': 'futex', 'path': 'span'}
ALL = (*NEEDS, 'events', 'fields', 'loss')
TOP = (WAYMARK, 'top', '--batch', '--json', '-n', '1', '-d', '0.01')
DERIVED = ('threads', 'slices', 'wakeups', 'syscalls', 'spans')


def scheduler():
    """A trace with sched_switch and sched_wakeup, without records."""
    trace = Plain(contexts='\tevent.context := struct { int32_t tid; int32_t pid; };\n')
    for name, fields in (('sched_switch', 'string prev_comm; int32_t prev_tid; int32_t prev_prio; int64_t prev_state; '
                                          'string next_comm; int32_t next_tid; int32_t next_prio;'),
                         ('sched_wakeup', 'string comm; int32_t tid; int32_t prio; int32_t target_cpu;')):
        trace.event(name, fields)
    return trace


def reported(case, path):
    """(status, page, messages) of `waymark report`."""
    page = case.path('page.html')
    status, _, err = read(case, [WAYMARK, 'report', '-o', page, path])
    if not os.path.exists(page):
        return status, None, err.decode()
    with open(page, encoding='utf-8') as f:
        text = f.read()
    os.unlink(page)
    return status, text, err.decode()


def analysis_of_an_empty_trace_has_empty_tables(case):
    """A trace without records, and one with an empty stream. Analyses that need events name them."""
    trace = scheduler()
    for name, files in (('no_stream', {}), ('empty_stream', {'stream': []}),
                        ('empty_packet', {'stream': [trace.packet([], begin=BEGIN, end=BEGIN + 1000)]})):
        path = case.path(name)
        trace.write(path, **files)
        result = result_of(case, path)
        check(result['records'] == 0 and not any(result['tables'].values()), '%s: %s', name, result)
        check(result_of(case, 'sched', path)['tables'] == {'threads': [], 'cpus': [], 'wakers': []}, name)
        for analysis, event in NEEDS.items():
            if analysis != 'sched':
                err = analyzed(case, analysis, path, status=1)[1]
                check(event in err and 'waymark record' in err, '%s: %s: %s', name, analysis, err)
        check(not any(result_of(case, 'events', '--diff', path, path)['tables'].values()), '%s: --diff', name)
        check(query(case, 'SELECT count(*) AS n FROM events', path)[0] == [{'n': 0}], '%s: query', name)
        check(query(case, 'SELECT * FROM threads', path)[0] == [], '%s: threads', name)
        status, page, err = reported(case, path)
        check(status == 0 and '<html' in page, '%s: report: status %s: %s', name, status, err)
        status, lines, err = read(case, [*TOP, path])
        check(status == 0 and not any(json.loads(line)['tables'].get('events') for line in lines), '%s: top: %s %s',
              name, lines, err)


def unsuitable_trace_is_reported_with_the_missing_events(case):
    """Each analysis names the events that it needs and the command that records them; top and report have the rest."""
    path = case.path('other')
    one_packet(path, 'uint32_t a;', [lambda bits: bits.i(32, 1)])
    for analysis, event in NEEDS.items():
        for more in ((), ('--diff', path)):
            err = analyzed(case, analysis, *more, path, status=1)[1]
            check(event in err and 'waymark record' in err, '%s: %s', analysis, err)
    status, page, err = reported(case, path)
    check(status == 0 and 'waymark record' in page, 'report: status %s: %s', status, err)
    status, lines, err = read(case, [*TOP, path])
    (tables,) = [json.loads(line)['tables'] for line in lines]
    check(status == 0 and [row['count'] for row in tables['events']] == [1] and not tables.get('threads'),
          'top: status %s: %s %s', status, lines, err)


def damage(random, directory):
    """Change bytes of the stream files, or cut a file off."""
    for name in sorted(os.listdir(directory)):
        path = os.path.join(directory, name)
        if name == 'metadata' or not os.path.isfile(path):
            continue
        with open(path, 'rb') as f:
            data = bytearray(f.read())
        for _ in range(random.randrange(6)):
            at = random.randrange(len(data))
            data[at] ^= 1 << random.randrange(8)
        with open(path, 'wb') as f:
            f.write(data[:random.randrange(len(data))] if random.random() < 0.2 else data)


def analysis_of_a_damaged_trace_has_partial_results(case):
    """Each command ends with status 0 or 1. Its output is complete JSON, and its message reports damage."""
    for n in range(rounds(20)):
        path = case.path('damaged%d' % n)
        if n % 3 == 0:
            WithSpans(case.random, 600).write(path)
        else:
            (event_trace.requests if n % 3 == 1 else event_trace.interrupts)(case.random, 300).write(path)
        damage(case.random, path)
        commands = [[WAYMARK, 'analyze', *name, '--json', path] for name in [()] + [(name,) for name in ALL]]
        commands += [[WAYMARK, 'query', '--json', 'SELECT * FROM ' + table, path] for table in ('events', *DERIVED)]
        commands += [[*TOP, path], [WAYMARK, 'analyze', 'events', '--json', '--diff', path, path]]
        for argv in commands:
            status, lines, err = read(case, argv)
            check(status in (0, 1) and (status == 0 or err), '%s: status %s: %s', argv[1:], status, err[-500:])
            for line in lines if argv[1] != 'analyze' else [b'\n'.join(lines)]:
                check(not line or isinstance(json.loads(line), dict), '%s: %s', argv[1:], line)
        status, page, err = reported(case, path)
        check(status == 0 and page or status == 1 and err, 'report: status %s: %s', status, err[-500:])


def sched_analysis_counts_each_of_many_threads(case):
    """100,000 threads (or 10,000 in a short test run). Each thread runs once for 100 ns."""
    n_threads = 100000 if PERCENT >= 100 else 10000
    trace = scheduler()
    switch, parts, now = struct.Struct('<HQii2siiq2sii'), [], BEGIN
    for tid in range(1, n_threads + 1):
        parts.append(struct.pack('<HQii2siii', 1, now + 10, 0, 0, b't\0', tid, 20, 0))
        parts.append(switch.pack(0, now + 40, 0, 0, b'i\0', 0, 20, 0, b't\0', tid, 20))
        parts.append(switch.pack(0, now + 140, tid, tid, b't\0', tid, 20, 1, b'i\0', 0, 20))
        now += 200
    # (the fields of the first record contain all others, which is faster to write)
    first, rest = parts[0], b''.join(parts[1:])
    path = case.path('many')
    trace.write(path, stream=[trace.packet([(BEGIN + 10, 1, lambda bits: bits.raw(first[10:] + rest))], end=now)])
    rows = result_of(case, 'sched', path)['tables']['threads']
    check(len(rows) == n_threads and all(row['running_ns'] == 100 and row['latency_max_ns'] == 30 for row in rows),
          '%d threads: %s', len(rows), rows[:2])
    check(result_of(case, path)['tables']['threads'] == rows, 'summary')
    sums = query(case, 'SELECT count(*) AS n, sum(running) AS ns FROM threads', path)[0]
    check(sums == [{'n': n_threads, 'ns': 100 * n_threads}], 'query: %s', sums)
    status, page, err = reported(case, path)
    check(status == 0 and len(page) < 12000000 and 'table threads has the first 2000 of %d rows' % n_threads in page,
          'report: status %s, %d bytes: %s', status, len(page or ''), err)
    status, lines, err = read(case, [*TOP, path])
    ran = sum(len(json.loads(line)['tables'].get('threads', ())) for line in lines)
    check(status == 0 and ran > 0, 'top: status %s, %d threads: %s', status, ran, err)


if __name__ == '__main__':
    main([analysis_of_an_empty_trace_has_empty_tables, unsuitable_trace_is_reported_with_the_missing_events,
          analysis_of_a_damaged_trace_has_partial_results, sched_analysis_counts_each_of_many_threads])
