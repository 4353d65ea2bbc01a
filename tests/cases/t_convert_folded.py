#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`waymark convert --to folded`: stacks and their times equal a second evaluation of `waymark view --json`."""
import collections
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
import event_trace  # noqa: E402
from ctf18 import BEGIN, Plain, one_packet  # noqa: E402
from harness import VIEW, WAYMARK, check, main, rounds  # noqa: E402
from sched_trace import ns_of  # noqa: E402
from t_convert import converted  # noqa: E402
from t_view import read  # noqa: E402


def folded(case, path):
    """{stack: ns}"""
    lines = converted(case, 'folded', path).decode().splitlines()
    rows = dict(line.rsplit(' ', 1) for line in lines)
    check(len(rows) == len(lines), 'a stack has two lines: %s', lines)
    return {stack: int(ns) for stack, ns in rows.items()}


def step_of(event, spans):
    """(begin or end, name of the frame) of an event. None: the event is neither."""
    for prefix, begins in (('syscall_entry_', True), ('syscall_exit_', False)):
        if event.startswith(prefix):
            return begins, 'syscall:' + event[len(prefix):]
    name, _, kind = event.rpartition('_')
    return (kind == 'begin', name) if kind in ('begin', 'end') and name in spans else None


def evaluated(lines, spans, lost=()):
    """{stack: ns}. At each time in `lost`, all stacks become unknown."""
    stacks, since, times, last, lost = collections.defaultdict(list), {}, collections.Counter(), 0, list(lost)

    def account(who, now):
        if stacks[who]:
            times[';'.join(stacks[who])] += now - since[who]
        since[who] = now
    for record in map(json.loads, lines):
        last = ns_of(record)
        while lost and last >= lost[0]:
            stacks.clear()
            lost.pop(0)
        contexts = dict(record.get('context') or {}, **(record.get('event_context') or {}))
        who = contexts.get('vpid', contexts.get('pid')), contexts.get('vtid', contexts.get('tid'))
        step = step_of(record['event'], spans)
        if not step or who[1] is None:
            continue
        account(who, last)
        begins, name = step
        if begins and not stacks[who]:
            stacks[who].append(contexts.get('procname') or str(who[0]))
        if begins:
            stacks[who].append(name)
        elif name in stacks[who][1:]:
            while stacks[who].pop() != name:
                pass
            if len(stacks[who]) == 1:
                stacks[who].clear()
    for who in list(stacks):
        account(who, last)
    return {stack: ns for stack, ns in times.items() if ns}


def folded_stacks_equal_independent_evaluation(case):
    for program in ('spans', 'spans_cxx'):
        path = case.record([case.program(program)], ['-c', 'vpid', '-c', 'vtid', '-c', 'procname']).ok().directory
        lines = read(case, [WAYMARK, *VIEW, '--json', path])[1]
        spans = {json.loads(line)['event'][:-6] for line in lines if json.loads(line)['event'].endswith('_begin')}
        ours, theirs = folded(case, path), evaluated(lines, spans)
        check(theirs and ours == theirs, '%s: %s, not %s', program, ours, theirs)
    for n in range(rounds(4)):
        path = case.path('calls%d' % n)
        event_trace.syscalls(case.random, 1500).write(path)
        ours, theirs = folded(case, path), evaluated(read(case, [WAYMARK, *VIEW, '--json', path])[1], ())
        check(theirs and ours == theirs, '%s, not %s', ours, theirs)


def mixed_trace(case, name, packets, discarded):
    """A thread with random spans and system calls, some without a counterpart. Packet `discarded` reports a loss."""
    contexts = '\tevent.context := struct { int32_t vpid; int32_t vtid; string procname; };\n'
    trace, spans = Plain(contexts=contexts), ['a;b', 'in\\nner', 'c']
    for span in spans:
        for kind in ('begin', 'end'):
            trace.event('%s_%s' % (span, kind), '', more='\tmodel.emf.uri = "waymark:%s";\n' % kind)
    trace.event('syscall_entry_read', '')
    trace.event('syscall_exit_read', '')
    trace.event('other', '')
    now, made = BEGIN, []
    for p in range(packets):
        records = []
        for _ in range(20):
            now += case.random.choice((1, 50, 999))
            who = case.random.choice((70, 71))
            records.append((now, case.random.randrange(9),
                            lambda b, who=who: b.i(32, 70).i(32, who).raw(b'p\0' if who == 71 else b'\0')))
        made.append(trace.packet(records, sequence=p, discarded=3 * (p >= discarded)))
    path = case.path(name)
    trace.write(path, stream=made)
    return path


def lost_records_and_unmatched_ends_terminate_folded_stacks(case):
    for n in range(rounds(8)):
        path = mixed_trace(case, 'mixed%d' % n, 6, 3)
        lines = read(case, [WAYMARK, *VIEW, '--json', path])[1]
        records = [json.loads(line) for line in lines]
        # (names of frames have no ';' and no control characters)
        clean = [dict(r, event=r['event'].replace(';', ':').replace('\n', '?')) for r in records]
        ours = folded(case, path)
        theirs = evaluated(map(json.dumps, clean), ('a:b', 'in?ner', 'c'), [ns_of(records[60])])
        check(theirs and ours == theirs, '%s, not %s', ours, theirs)


def folded_conversion_reports_traces_without_stacks(case):
    path = case.path('plain')
    one_packet(path, 'uint8_t x;', [lambda b: b.i(8, 1)])
    status, lines, err = read(case, [WAYMARK, 'convert', '--to', 'folded', path])
    check(status == 0 and not lines and b'no spans' in err, '%s %s %s', status, lines, err)
    path = case.record([case.program('spans')], ['-c', 'cpu_id']).ok().directory
    status, lines, err = read(case, [WAYMARK, 'convert', '--to', 'folded', path])
    check(status == 0 and not lines and b'-c vpid -c vtid' in err, '%s %s %s', status, lines, err)


if __name__ == '__main__':
    main([folded_stacks_equal_independent_evaluation, lost_records_and_unmatched_ends_terminate_folded_stacks,
          folded_conversion_reports_traces_without_stacks])
