#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`waymark convert --to perfetto` of scheduler events: states recomputed from protoc's decoding equal the analysis."""
import collections
import json
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
import perfetto  # noqa: E402
from ctf18 import BEGIN, Plain  # noqa: E402
from harness import VIEW, WAYMARK, Skip, check, finished, main, need, rounds  # noqa: E402
from sched_trace import CALLS, Simulation, ns_of  # noqa: E402
from t_view import read  # noqa: E402

STATES = ('running', 'runnable', 'blocked')
SYSTEM = 'env { sysname = "Linux"; kernel_release = "6.1.0-5"; };\n'


def converted(case, path):
    """The reader of the converted trace. It has checked the consistency of all packets."""
    need('protoc')
    out = case.path('converted')
    status, _, err = read(case, [WAYMARK, 'convert', '--to', 'perfetto', '--output', out, path])
    check(status == 0, 'convert: status %d: %s', status, err[-500:].decode())
    return perfetto.read(perfetto.decode(out), lossy=True)


def records_of(case, path):
    return [json.loads(line) for line in read(case, [WAYMARK, *VIEW, '--json', path])[1]]


class Thread:
    def __init__(self, begin):
        self.state, self.since, self.cpu, self.ended = 'unknown', begin, None, False
        self.ns = collections.Counter()

    def set(self, now, state, was):
        self.ns[was] += now - self.since
        self.state, self.since = state, now


def states_of(events, begin, end):
    """{tid: ns by state} of decoded ftrace events, without reported losses."""
    threads, on = {}, {}

    def thread(tid):
        return threads.setdefault(tid, Thread(begin))
    for now, cpu, _, _, name, fields in events:
        if name == 'sched_switch':
            prev, following = fields['prev_pid'], fields['next_pid']
            before = on.get(cpu)
            # A kernel may leave out switches of some threads; what follows from these is unknown.
            if before and before != prev and thread(before).state == 'running':
                thread(before).set(now, 'unknown', 'unknown')
            on[cpu] = following
            if prev:
                one, state = thread(prev), fields['prev_state']
                one.set(now, 'absent' if state & 0x30 or one.ended else 'blocked' if state & 0xff else 'runnable',
                        'running' if one.state == 'running' and one.cpu == cpu else 'unknown')
            if following:
                one = thread(following)
                one.set(now, 'running', 'runnable' if one.state == 'runnable' else 'unknown')
                one.cpu, one.ended = cpu, False
        elif name in ('sched_wakeup', 'sched_wakeup_new'):
            one = thread(fields['pid'])
            if one.state not in ('running', 'runnable'):
                one.set(now, 'runnable', one.state)
        elif name == 'sched_process_fork':
            thread(fields['child_pid']).set(now, 'unknown', 'absent')
        elif name == 'sched_process_exit':
            thread(fields['pid']).ended = True
    for one in threads.values():
        one.set(end, one.state, one.state)
    return {tid: {state: one.ns[state] for state in STATES} for tid, one in threads.items()}


def perfetto_thread_states_equal_those_of_the_trace(case):
    """No record is lost; states, wakers, processes and system calls are those of the trace."""
    for n in range(rounds(3)):
        path = case.path('sched%d' % n)
        simulation = Simulation(case.random, 2000)
        simulation.plain.env = SYSTEM
        simulation.write(path)
        records, reader = records_of(case, path), converted(case, path)
        kinds = collections.Counter(record['event'] for record in records)
        check(len(records) == len(reader.events) + len(reader.ftrace), '%d records, %d events and %d of the scheduler',
              len(records), len(reader.events), len(reader.ftrace))
        check({name: number for name, number in kinds.items() if name.startswith('sched_')} ==
              collections.Counter(event[4] for event in reader.ftrace), 'kinds: %s', kinds)
        check(reader.system == {'sysname': 'Linux', 'release': '6.1.0-5'}, 'system: %s', reader.system)
        check(not any(event[2] for event in reader.ftrace), 'a loss is reported')
        times = [event[0] for event in reader.ftrace] + [event['time'] for event in reader.events]
        found = states_of(reader.ftrace, min(times), max(times))
        result = json.loads(b'\n'.join(read(case, [WAYMARK, 'analyze', 'sched', '--json', path])[1]))
        wanted = {row['tid']: {s: row[s + '_ns'] for s in STATES} for row in result['tables']['threads']}
        check(result['length_ns'] == max(times) - min(times), 'the length is %s', result['length_ns'])
        check(found == wanted, 'states are %s, not %s', found, wanted)
        scheduled = [record for record in records if record['event'].startswith('sched_')]
        for record, event in zip(scheduled, reader.ftrace):
            who, fields = {**record.get('event_context', {}), **record.get('context', {})}, event[5]
            check((record['event'], record['packet']['cpu_id'], who['tid']) == (event[4], event[1], event[3]),
                  '%s became %s', record, event)
            for name, value in record['fields'].items():
                as_named = name.replace('tid', 'pid')
                check(fields[as_named] == value, '%s: %s is %s', record, as_named, fields.get(as_named))
        processes = {track['thread']['tid']: track['thread']['pid'] for track in reader.tracks.values()
                     if 'thread' in track}
        check(processes and all(pid == tid // 4 * 4 for tid, pid in processes.items()), 'processes: %s', processes)
        calls = [event for event in reader.events if event['type'] == 'begin']
        check(len(calls) == sum(number for name, number in kinds.items() if name.startswith('syscall_entry_')) and
              {event['name'] for event in calls} <= set(CALLS) and all(event['tid'] for event in calls),
              'system calls: %s', calls[:3])


def flows_of(events):
    """[(waker, woken, ns of the wake-up, ns of the switch to the woken thread)]. events: (ns, name, thread, fields)."""
    flows, waking = [], {}
    for ns, name, tid, fields in events:
        if name == 'sched_waking':
            waking[fields['pid']] = (tid, ns)
        elif name == 'sched_switch' and fields['next_pid'] in waking:
            flows.append((waking[fields['next_pid']][0], fields['next_pid'], waking.pop(fields['next_pid'])[1], ns))
    return flows


def perfetto_flows_connect_waker_and_woken_thread(case):
    """Perfetto draws an arrow from the waker (the thread of sched_waking) to the switch to the thread `pid`."""
    path = case.path('flows')
    Simulation(case.random, 3000).write(path)
    exact = flows_of((ns_of(record), record['event'], (record.get('context') or record['event_context'])['tid'],
                      {name.replace('tid', 'pid'): value for name, value in record['fields'].items()})
                     for record in records_of(case, path) if record['event'].startswith('sched_'))
    ours = flows_of((event[0], event[4], event[3], event[5]) for event in converted(case, path).ftrace)
    check(len(exact) > 100 and ours == exact, '%d flows, not %d', len(ours), len(exact))


def trace_processor_reads_the_same_thread_states(case):
    tool = next(filter(None, map(shutil.which, ('trace_processor', 'trace_processor_shell'))), None)
    if not tool:
        raise Skip("Perfetto's trace_processor is not installed: its tables are not compared")
    path, query = case.path('sched'), case.path('query.sql')
    Simulation(case.random, 2000).write(path)
    records = records_of(case, path)
    converted(case, path)
    with open(query, 'w', encoding='utf-8') as f:
        f.write("select (select count(*) from ftrace_event where name like 'sched%'), "
                "(select count(*) from slice), (select sum(value) from stats where severity = 'error');\n")
    done = finished([tool, '-q', query, case.path('converted')], capture_output=True, text=True)
    check(done.returncode == 0, 'trace_processor: %s', done.stderr[-500:])
    n_sched, n_slices, n_errors = map(int, done.stdout.split()[-1].split(','))
    entries = sum(record['event'].startswith('syscall_entry_') for record in records)
    check(n_sched == sum(record['event'].startswith('sched_') for record in records) and not n_errors and
          n_slices >= entries, 'trace_processor: %s', done.stdout)


def first_perfetto_event_after_a_loss_is_marked(case):
    """The first scheduler event after missing packets says so."""
    simulation, path = Simulation(case.random, 2000), case.path('cut')
    packets = simulation.write(path)
    cuts = {(cpu, packets[cpu] // 2) for cpu in packets}
    simulation.write(path, cuts)
    marked = [event for event in converted(case, path).ftrace if event[2]]
    check(sorted(event[1] for event in marked) == sorted(packets), 'losses on the CPUs %s, not %s', marked,
          sorted(packets))


def threads_without_contexts_are_identified_by_records(case):
    """The kernel's names of fields; the waker is the thread that runs; a fork and a state dump tell processes."""
    plain, path = Plain(), case.path('bare')
    switch = plain.event('sched_switch', 'int32_t prev_pid; int64_t prev_state; int32_t next_pid;')
    waking = plain.event('sched_waking', 'int32_t pid;')
    fork = plain.event('sched_process_fork', 'int32_t parent_tid; int32_t parent_pid; int32_t child_tid; '
                                             'int32_t child_pid;')
    dump = plain.event('lttng_statedump_process_state', 'int32_t tid; int32_t pid; string name;')
    short = plain.event('sched_wakeup', 'int32_t prio;')
    rows = [(dump, lambda bits: bits.i(32, 7).i(32, 6).s('worker')), (switch, lambda b: b.i(32, 0).i(64, 0).i(32, 7)),
            (waking, lambda bits: bits.i(32, 8)), (fork, lambda b: b.i(32, 7).i(32, 6).i(32, 9).i(32, 6)),
            (short, lambda bits: bits.i(32, 20)), (switch, lambda b: b.i(32, 7).i(64, 1).i(32, 0))]
    plain.write(path, kernel_0=[plain.packet([(BEGIN + n, *row) for n, row in enumerate(rows)], cpu=1)])
    reader = converted(case, path)
    check([(event[4], event[3]) for event in reader.ftrace] == [
        ('sched_switch', 0), ('sched_waking', 7), ('sched_process_fork', 7), ('sched_switch', 7)
    ], 'events: %s', reader.ftrace)
    check([event['name'] for event in reader.events] == ['lttng_statedump_process_state', 'sched_wakeup'],
          'other records: %s', reader.events)
    check(reader.system is None, 'system: %s', reader.system)
    threads = [track['thread'] for track in reader.tracks.values() if 'thread' in track]
    check(threads == [{'pid': 6, 'tid': 7, 'thread_name': 'worker'}, {'pid': 6, 'tid': 9}], 'threads: %s', threads)


if __name__ == '__main__':
    main([perfetto_thread_states_equal_those_of_the_trace, perfetto_flows_connect_waker_and_woken_thread,
          trace_processor_reads_the_same_thread_states, first_perfetto_event_after_a_loss_is_marked,
          threads_without_contexts_are_identified_by_records])
