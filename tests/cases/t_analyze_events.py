#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`waymark analyze syscalls`, `irq`, `io`, `memory` and `fields`: figures equal a second evaluation in Python."""
import collections
import json
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
import event_trace  # noqa: E402
from ctf18 import BEGIN, Plain  # noqa: E402
from harness import VIEW, WAYMARK, check, main, rounds  # noqa: E402
from sched_trace import quantile  # noqa: E402
from t_analyze import near, result_of  # noqa: E402
from t_view import read  # noqa: E402


def check_quantiles(row, values, prefix=''):
    for key, part in (('p50', 0.5), ('p95', 0.95), ('p99', 0.99), ('max', 1)):
        value = row['%s%s_ns' % (prefix, key)]
        check(value is None if not values else near(value, quantile(values, part)), '%s%s: %s', prefix, key, row)


def check_rows(rows, exact, key, count='count'):
    """The rows have the keys, counts, errors, bytes, sums and quantiles of the second evaluation."""
    found = {key(row): row for row in rows}
    check(set(found) == set(exact) and len(found) == len(rows), 'rows %s, not %s', sorted(found), sorted(exact))
    for name, (n, errors, durations, size) in exact.items():
        row = found[name]
        check(row[count] == n and row.get('errors', errors) == errors and row.get('bytes', size) == size,
              '%s: %s, not %d, %d, %d', name, row, n, errors, size)
        check(row['total_ns'] == (sum(durations) if durations else None), '%s: %s, not %d', name, row, sum(durations))
        check(not durations or row['average_ns'] == sum(durations) // len(durations), '%s: %s', name, row)
        check_quantiles(row, durations)


def made(case, make, analysis, turns=1500):
    """(tables, lines of `view --json`) of a random trace."""
    path = case.path('%s%d' % (analysis, case.random.randrange(1 << 30)))
    make(case.random, turns).write(path)
    return result_of(case, analysis, path)['tables'], read(case, [WAYMARK, *VIEW, '--json', path])[1]


def syscall_analysis_equals_independent_evaluation(case):
    for _ in range(rounds(5)):
        tables, lines = made(case, event_trace.syscalls, 'syscalls')
        calls, processes, files, unfinished = event_trace.evaluated_syscalls(lines)
        check_rows(tables['syscalls'], calls, lambda row: row['name'])
        check({row['name']: row['unfinished'] for row in tables['syscalls'] if row['unfinished']} == unfinished,
              'unfinished: %s, not %s', tables['syscalls'], unfinished)
        check_rows(tables['processes'], processes, lambda row: (row['pid'], row['name']))
        check({row['process'] for row in tables['processes']} == {'p100', 'p104', 'p108'}, 'names of processes')
        check_rows(tables['files'], files, lambda row: (row['path'], row['name']))


def interrupt_analysis_equals_independent_evaluation(case):
    for _ in range(rounds(5)):
        tables, lines = made(case, event_trace.interrupts, 'irq')
        irqs, softirqs, raises = event_trace.evaluated_interrupts(lines)
        check_rows(tables['interrupts'], irqs, lambda row: row['irq'])
        check({(row['irq'], row['name']) for row in tables['interrupts']} == {(9, 'dev9'), (36, 'dev36')}, 'names')
        check_rows(tables['softirqs'], softirqs, lambda row: row['vec'])
        for row in tables['softirqs']:
            check_quantiles(row, raises[row['vec']], 'raise_')
        total = {kind: sum(row['total_ns'] for row in tables['cpus'] if row['kind'] == kind)
                 for kind in ('interrupts', 'softirqs')}
        check(total == {'interrupts': sum(sum(row[2]) for row in irqs.values()),
                        'softirqs': sum(sum(row[2]) for row in softirqs.values())}, 'CPUs: %s', tables['cpus'])


def memory_analysis_equals_independent_evaluation(case):
    for _ in range(rounds(5)):
        tables, lines = made(case, event_trace.pages, 'memory')
        processes, orders = event_trace.evaluated_pages(lines)
        keys = ('allocations', 'allocated_pages', 'frees', 'freed_pages', 'most_pages')
        check({row['pid']: [row[key] for key in keys] for row in tables['processes']} == processes,
              'processes: %s, not %s', tables['processes'], processes)
        check(all(row['change_pages'] == row['allocated_pages'] - row['freed_pages'] for row in tables['processes']),
              'change: %s', tables['processes'])
        check({row['pages']: [row['allocations'], row['frees']] for row in tables['orders']} == orders,
              'orders: %s, not %s', tables['orders'], orders)


FIELDS = 'int64_t balance; uint32_t size; double load; string name; uint8_t bytes[3];'
DOUBLE = 'typealias floating_point { exp_dig = 11; mant_dig = 53; align = 8; } := double;\n'


def write_fields(random, path):
    plain = Plain(types=DOUBLE)
    for event in ('shop:order', 'shop:pay'):
        plain.event(event, FIELDS)

    def values():
        balance = random.choice((random.randrange(-100, 100), random.randrange(-10**12, 10**12)))
        load = struct.pack('<d', random.gauss(0, 3))
        return lambda bits, size=int(random.expovariate(1 / 5000)), name='n' * random.randrange(4): bits.i(
            64, balance & (1 << 64) - 1).i(32, size).raw(load).s(name).raw(b'abc')
    records = [(BEGIN + 10 * n, random.choice((0, 0, 1)), values()) for n in range(1000)]
    plain.write(path, stream=[plain.packet(records)])


def field_analysis_equals_independent_evaluation(case):
    """Least, greatest and average values and quantiles of numbers, and counts of texts; also of one event."""
    for n in range(rounds(5)):
        path = case.path('fields%d' % n)
        write_fields(case.random, path)
        records = [json.loads(line) for line in read(case, [WAYMARK, *VIEW, '--json', path])[1]]
        for only in ((), ('--event', 'shop:pay')):
            tables, values = result_of(case, 'fields', *only, path)['tables'], collections.defaultdict(list)
            for record in records:
                for name, value in record['fields'].items():
                    if not only or record['event'] in only:
                        values[record['event'], name].append(value)
            check({(row['event'], row['field']) for row in tables['numbers']} ==
                  {key for key in values if key[1] not in ('name', 'bytes')}, 'numbers: %s', tables['numbers'])
            for row in tables['numbers']:
                exact = sorted(values[row['event'], row['field']])
                figures = (exact[0], exact[-1], sum(exact) / len(exact))
                # (JSON has 15 digits)
                check(row['count'] == len(exact) and all(abs(row[key] - is_) <= 1e-13 * max(map(abs, exact))
                      for key, is_ in zip(('min', 'max', 'average'), figures)), '%s, not %s', row, figures)
                for part in (50, 95, 99):
                    value, true = row['p%d' % part], quantile(exact, part / 100)
                    check(value is None if row['field'] == 'load' else abs(value - true) <= 0.01 * abs(true),
                          '%s: %d %% is %s', row, part, true)
            texts = collections.Counter((*key, text) for key in values if key[1] == 'name' for text in values[key])
            check({(row['event'], row['field'], row['value']): row['count'] for row in tables['texts']} == texts and
                  all(near(row['percent'], 100 * row['count'] / len(values[row['event'], 'name']))
                      for row in tables['texts']), 'texts: %s, not %s', tables['texts'], texts)


def io_analysis_equals_independent_evaluation(case):
    for _ in range(rounds(5)):
        tables, lines = made(case, event_trace.requests, 'io')
        devices, queued, merges, processes = event_trace.evaluated_requests(lines)
        check_rows(tables['devices'], devices, lambda row: (row['device'], row['operation']), 'requests')
        for row in tables['devices']:
            key = (row['device'], row['operation'])
            check(row['merges'] == merges[key], '%s: %d merges, not %d', key, row['merges'], merges[key])
            check_quantiles(row, queued[key], 'queue_')
        check_rows(tables['processes'], processes, lambda row: (row['pid'], row['operation']), 'requests')
        check(sum(row['bytes'] for row in tables['sizes']) == sum(
            row[3] for (device, _), row in devices.items() if device != 'dm-0'), 'sizes')


if __name__ == '__main__':
    main([syscall_analysis_equals_independent_evaluation, interrupt_analysis_equals_independent_evaluation,
          memory_analysis_equals_independent_evaluation, field_analysis_equals_independent_evaluation,
          io_analysis_equals_independent_evaluation])
