#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`waymark analyze`: figures equal a second evaluation in Python; unknown states stay unknown when records are lost."""
import csv
import io
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from ctf18 import one_packet  # noqa: E402
from harness import VIEW, WAYMARK, check, main, rounds  # noqa: E402
from sched_trace import Simulation, evaluate, quantile  # noqa: E402
from t_view import read  # noqa: E402


def analyzed(case, *args, status=0):
    got, lines, err = read(case, [WAYMARK, 'analyze', *args])
    check(got == status, 'analyze %s: status %d: %s', ' '.join(args), got, err[-500:].decode())
    return b'\n'.join(lines).decode(), err.decode()


def result_of(case, *args, status=0):
    return json.loads(analyzed(case, *args, '--json', status=status)[0])


def near(value, exact):
    return abs(value - exact) <= 0.01 * exact


def check_quantiles(row, values, what):
    for key, part in (('p50', 0.5), ('p95', 0.95), ('p99', 0.99), ('max', 1)):
        value = row['latency_%s_ns' % key]
        check((value is None) == (not values), '%s: %s is %s with %d values', what, key, value, len(values))
        check(not values or near(value, quantile(values, part)), '%s: %s is %s, not %s', what, key, value,
              values and quantile(values, part))


def check_thread(row, thread, length):
    what = 'thread %d' % row['tid']
    for state in ('running', 'runnable', 'blocked', 'absent'):
        check(row[state + '_ns'] == thread.ns[state], '%s: %s for %d ns, not %d', what, state, row[state + '_ns'],
              thread.ns[state])
    check(row['running_ns'] + row['runnable_ns'] + row['blocked_ns'] + row['unknown_ns'] == length,
          '%s: the states do not add up to %d: %s', what, length, row)
    waits = {'futex': 'futex', 'sleep': 'sleep', 'network': 'network', 'poll': 'poll', 'child': 'child',
             'other_syscall': 'another system call', 'interruptible': 'interruptible'}
    for key, name in waits.items():
        check(row[key + '_ns'] == thread.waits[name], '%s: %s for %d ns, not %d', what, name, row[key + '_ns'],
              thread.waits[name])
    check((row['switches'], row['migrations']) == (thread.switches, thread.migrations), '%s: %s', what, row)
    check_quantiles(row, thread.latencies, what)


def sched_analysis_equals_independent_evaluation(case):
    """States, waits, quantiles and pairs of a simulated trace."""
    for n in range(rounds(4)):
        path = case.path('sched%d' % n)
        simulation = Simulation(case.random, 3000)
        simulation.write(path)
        threads, pairs, length = evaluate(read(case, [WAYMARK, *VIEW, '--json', path])[1])
        result = result_of(case, 'sched', path)
        check(result['length_ns'] == length and not result['lost'], '%s', result)
        rows = {row['tid']: row for row in result['tables']['threads']}
        check(set(rows) == set(threads), 'threads %s, not %s', sorted(rows), sorted(threads))
        for tid, thread in threads.items():
            check_thread(rows[tid], thread, length)
        found = {(row['waker_tid'], row['woken_tid']): row for row in result['tables']['wakers']}
        check(set(found) == set(pairs), 'pairs %s, not %s', sorted(found), sorted(pairs))
        for pair, latencies in pairs.items():
            check(found[pair]['wakeups'] == len(latencies), '%s: %s', pair, found[pair])
            check_quantiles(found[pair], latencies, 'wake-ups %d by %d' % pair)
        for cpu in result['tables']['cpus']:
            check(cpu['busy_ns'] + cpu['idle_ns'] + cpu['unknown_ns'] == length, 'CPU: %s', cpu)


def thread_states_are_unknown_after_lost_packets(case):
    """After losses, no state gets more time than without losses, and all states add up to the length of the trace."""
    for n in range(rounds(4)):
        simulation = Simulation(case.random, 3000)
        whole, path = case.path('whole%d' % n), case.path('cut%d' % n)
        packets = simulation.write(whole)
        # (the first and the last packet are kept, so that the trace has the same length)
        cuts = {(cpu, case.random.randrange(1, packets[cpu] - 1)) for cpu in packets for _ in range(4)}
        simulation.write(path, cuts)
        result = result_of(case, 'sched', path)
        check(result['lost_unknown'], 'no loss is reported: %s', cuts)
        unknown = 0
        for row in result['tables']['threads']:
            true = simulation.true[row['tid']]
            for state in ('running', 'runnable', 'blocked'):
                check(row[state + '_ns'] <= true[state], 'without packets %s: thread %d was %s for %d ns, not %d',
                      sorted(cuts), row['tid'], state, true[state], row[state + '_ns'])
            check(sum(row[s + '_ns'] for s in ('running', 'runnable', 'blocked', 'unknown')) == result['length_ns'],
                  'the states do not add up: %s', row)
            unknown += row['unknown_ns'] - row['absent_ns']
        intact = result_of(case, 'sched', whole)['tables']['threads']
        check(unknown > sum(row['unknown_ns'] - row['absent_ns'] for row in intact), 'nothing became unknown')


def text_csv_and_json_output_of_an_analysis_have_equal_rows(case):
    path = case.path('forms')
    Simulation(case.random, 1000).write(path)
    rows = result_of(case, 'sched', path)['tables']['threads']
    table = analyzed(case, 'sched', '--csv', path)[0].split('\n\n')[0]
    found = list(csv.DictReader(io.StringIO(table)))
    check([row['tid'] for row in found] == [str(row['tid']) for row in rows], 'CSV has other rows: %s', table)
    check(all(row['running_ns'] == str(is_['running_ns']) for row, is_ in zip(found, rows)), 'CSV: %s', table)
    text = analyzed(case, 'sched', '--limit', '3', path)[0].splitlines()
    at = text.index(next(line for line in text if line.startswith('Threads')))
    check([line.split()[0] for line in text[at + 2:at + 5]] == [str(row['tid']) for row in rows[:3]] and
          not text[at + 5], 'text: %s', text[:12])
    ordered = result_of(case, 'sched', '--sort', 'migrations', path)['tables']['threads']
    check([row['migrations'] for row in ordered] == sorted((r['migrations'] for r in rows), reverse=True), '--sort')
    check('no table of this analysis has a column' in analyzed(case, 'sched', '--sort', 'colour', path, status=1)[1],
          'a wrong column is not refused')


def analysis_summary_has_findings_and_tables(case):
    simulation, path, cut = Simulation(case.random, 3000), case.path('summary'), case.path('summary_cut')
    packets = simulation.write(path)
    simulation.write(cut, {(0, packets[0] // 2)})
    result, threads = result_of(case, path), result_of(case, 'sched', path)['tables']['threads']
    check(result['tables']['threads'] == threads and {'cpus', 'syscalls', 'events'} <= set(result['tables']),
          'tables: %s', list(result['tables']))
    check(any('CPUs were busy' in note and '(t%d)' % threads[0]['tid'] in note for note in result['notes']),
          'findings: %s', result['notes'])
    check(any('record --preset=io' in note for note in result['notes']), 'findings: %s', result['notes'])
    check('records were lost' in result_of(case, cut)['notes'][0], 'a loss is not the first finding')
    text = analyzed(case, path)[0].splitlines()
    check(text[2] == '- ' + result['notes'][0] and any(line.startswith('Threads (5 of') for line in text), 'text: %s',
          text)


def diff_of_two_traces_has_the_values_of_both(case):
    """--diff: the values of each name in both traces, ordered by the difference, the greatest first."""
    paths = [case.path('before'), case.path('after')]
    for path, steps in zip(paths, (1500, 2500)):
        Simulation(case.random, steps).write(path)
    sums = [{}, {}]
    for side, path in enumerate(paths):
        for row in result_of(case, 'sched', path)['tables']['threads']:
            of_name = sums[side].setdefault(row['name'], [0, 0])
            of_name[0] += row['running_ns']
            of_name[1] += row['switches']
    rows = result_of(case, 'sched', '--diff', paths[0], paths[1])['tables']['threads']
    check({row['name'] for row in rows} == set(sums[0]) | set(sums[1]), 'names: %s', rows)
    for row in rows:
        for side, when in enumerate(('before', 'after')):
            exact = sums[side].get(row['name'], [None, None])
            check([row['running_ns_' + when], row['switches_' + when]] == exact, '%s: %s, not %s', when, row, exact)
        before, after = row['running_ns_before'] or 0, row['running_ns_after'] or 0
        check(row['difference'] == abs(after - before), 'difference: %s', row)
        change = 100 * (after - before) / before if before else None
        # (JSON has six significant digits of a percentage)
        check(row['running_ns_change_percent'] is None if not before else
              abs(row['running_ns_change_percent'] - change) < 0.1 + abs(change) / 100000, 'change: %s', row)
    check([row['difference'] for row in rows] == sorted((row['difference'] for row in rows), reverse=True), 'order')
    text = analyzed(case, 'sched', '--diff', *paths)[0]
    check('running before' in text and 'change' in text, 'text: %s', text)


def missing_events_are_reported_with_the_record_command(case):
    path = case.path('other')
    one_packet(path, 'uint32_t a;', [lambda bits: bits.i(32, 1)])
    err = analyzed(case, 'sched', path, status=1)[1]
    check('no event sched_switch' in err and "waymark record --preset=sched" in err, 'message: %s', err)
    result = result_of(case, path)
    check(set(result['tables']) == {'events'} and len(result['notes']) == 3, 'summary: %s', result)
    err = analyzed(case, 'shed', path, status=2)[1]
    check("unknown analysis 'shed'" in err, 'message: %s', err)


if __name__ == '__main__':
    main([sched_analysis_equals_independent_evaluation, thread_states_are_unknown_after_lost_packets,
          text_csv_and_json_output_of_an_analysis_have_equal_rows, analysis_summary_has_findings_and_tables,
          diff_of_two_traces_has_the_values_of_both, missing_events_are_reported_with_the_record_command])
