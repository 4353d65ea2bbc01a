#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Snapshots of kernel channels take the records out of the kernel's buffers while programs make system calls."""
import glob
import json
import os
import re
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from harness import check, limit, rounds  # noqa: E402
from kernel import (
    CALLS, KCALLS, KernelTrace, KernelWorld, all_there, kernel_main, number, patterns, signed, turns_of)  # noqa: E402
from traces import Trace, metadata_text  # noqa: E402

SMALL = ['--subbuf-size', '64k', '--num-subbuf', '4']
ROOM_FOR_ALL = ['--subbuf-size', '4M', '--num-subbuf', '16']
MODES = [['--syscall-arguments=text'], ['--syscall-arguments=none']]


def recorder(w, name, *channel, create=()):
    w('create', name, '--snapshot', '-o', w.case.path(name), *(create or ['--no-statedump']))
    w.begin_calls(name, *channel, create=False)


def snapshot(w, name, *more):
    made = w('snapshot', 'record', '-s', name, '--json', *more).json
    check(not made['warnings'], 'warnings: %s', made)
    trace = KernelTrace(made['path'])                        # neither reader warns or reports a lost record
    check(len(trace.records) == made['records'], '%s, but %d records', made, len(trace.records))
    return made, trace


def turns(trace, tids, since=0):
    """{(tid, call): the numbers of the turns after this time, in the order of time}."""
    found = {}
    for (tid, call, kind), records in trace.calls(tids).items():
        if kind == 'entry':
            field = 'timer_id' if call.startswith('timer') else 'pid'
            found[tid, call] = [-2 - signed(number(r.fields, field)) for r in records if r.time > since]
    return found


def tids_of(trace):
    return {number(r.context, 'tid') for r in trace.records if r.name.startswith('syscall_entry_') and
            'procname = "kcalls"' in r.context}


@limit(300)
def successive_kernel_snapshots_have_each_call_once(case):
    with KernelWorld(case) as w:
        for i, mode in enumerate(MODES):
            recorder(w, 'fr%d' % i, *ROOM_FOR_ALL, *mode)
            program = w.until(2, rounds(20000))
            traces = [snapshot(w, 'fr%d' % i)[1] for _ in range(3 + rounds(10))]
            made, tids = w.ended(program)
            traces.append(snapshot(w, 'fr%d' % i)[1])
            found = {}
            for trace in traces:
                for key, numbers in turns(trace, tids).items():
                    found.setdefault(key, []).extend(numbers)
            check(len(found) == 2 * len(CALLS), '%s: calls of %s', mode, sorted(found))
            for (tid, call), numbers in found.items():
                check(numbers == list(range(numbers[0], numbers[0] + len(numbers))), '%s, thread %d: a turn of %s is '
                      'missing, duplicated or out of order', mode, tid, call)
            n = sum(len(numbers) for (_, call), numbers in found.items() if call == CALLS[0])
            check(n == made, '%s: %d turns of %d', mode, n, made)
            w('destroy', 'fr%d' % i)


@limit(300)
def kernel_snapshot_of_full_buffers_is_one_contiguous_range(case):
    with KernelWorld(case) as w:
        recorder(w, 'fr', *SMALL, *MODES[1])
        program = w.until(2)
        w.wait(lambda: w.session('fr')['counts']['overwritten'] > 1000, 'full buffers')
        for _ in range(2 + rounds(10)):
            made, trace = snapshot(w, 'fr')
            check(made['overwritten'] > 0, 'snapshot: %s', made)
            begins = {}
            for r in trace.records:
                begins.setdefault(r.cpu, r.time)
            for (tid, call), numbers in turns(trace, tids_of(trace), max(begins.values())).items():
                check(all(a + 1 == b for a, b in zip(numbers, numbers[1:])), 'thread %d: a gap in %s', tid, call)
        w.ended(program)
        count, tids = w.calls(1, 50)                         # the newest records are in the snapshot
        made, trace = snapshot(w, 'fr', '--max-size=256k')
        all_there(trace, count, tids, 1)
        sizes = [os.path.getsize(os.path.join(made['path'], 'kernel', f))
                 for f in os.listdir(made['path'] + '/kernel') if re.fullmatch(r'kernel_\d+', f)]
        check(sizes and max(sizes) <= 256 * 1024 / len(sizes) + 8192, 'limited: %s', sizes)
        w('destroy', 'fr')


@limit(300)
def kernel_snapshot_has_records_before_stop_and_consumer_crash(case):
    with KernelWorld(case) as w:
        recorder(w, 'fr', *ROOM_FOR_ALL, *MODES[1], create=['--description=with a state dump'])
        made, tids = w.calls(1, 100)
        w.stop('fr')
        trace = snapshot(w, 'fr')[1]
        all_there(trace, made, tids, 1)
        w('start', 'fr')
        made, tids = w.calls(1, 100)
        pid = w.kernel_consumerd()
        os.kill(pid, signal.SIGKILL)
        w.wait(lambda: w.kernel_consumerd() not in (pid, None), 'another consumer daemon')
        trace = snapshot(w, 'fr')[1]
        all_there(trace, made, tids, 1)
        check(trace.named('lttng_statedump_end'), 'the snapshot has no state dump of the kernel')
        w('destroy', 'fr')
        check(len(os.listdir(case.path('fr'))) == 2, 'only snapshots are written: %s', os.listdir(case.path('fr')))


@limit(300)
def snapshot_has_application_and_kernel_records(case):
    with KernelWorld(case) as w:
        recorder(w, 'fr', *SMALL, *MODES[0])
        w('enable-channel', '-u', '-s', 'fr', 'app', '--subbuf-size', 16384)
        w('enable-event', '-u', '-s', 'fr', '-c', 'app', 'test:*')
        program = w.scripted()
        w.wait_apps([program.pid])
        program('emit 100')
        made, tids = w.calls(1, 20)
        program('snapshot both')

        def texts():
            return [text for path in glob.glob(case.path('fr') + '/both-*') for text in metadata_text(path)]
        w.wait(lambda: sum('snapshot_overwritten' in text for text in texts()) == 2, 'the snapshot')
        path, = glob.glob(case.path('fr') + '/both-*')
        check(Trace(path + '/ust').count() >= 100, 'records of the program')
        all_there(KernelTrace(path + '/kernel'), made, tids, 1)
        w('destroy', 'fr')
        # reading would take the records out of the trace that is written at the stop
        w('create', 'plain', '-o', case.path('plain'))
        w.begin_calls('plain', *SMALL, '--overwrite', create=False)
        w('enable-channel', '-u', '-s', 'plain', 'app', '--overwrite', '--subbuf-size', 16384)
        w('enable-event', '-u', '-s', 'plain', '-c', 'app', 'test:*')
        program('emit 10')
        w.wait(lambda: w.session('plain')['channels'][1]['rules'][0]['matched'], 'the events of the program')
        made = w('snapshot', 'record', '-s', 'plain', '--json', case.path('x')).json
        check(len(made['warnings']) == 1 and 'use create --snapshot' in made['warnings'][0], '%s', made)
        w('destroy', 'plain')
        program.end()


@limit(120)
def core_hook_records_a_snapshot_of_a_kernel_only_session(case):
    """The process is no application. An allow-list of the session excludes other processes."""
    kept = case.path('kept')
    with KernelWorld(case) as w:
        recorder(w, 'fr', *SMALL, *MODES[0])
        recorder(w, 'other', *SMALL, *MODES[0])
        w('track', '-k', '-s', 'other', '--pid', os.getpid())
        with open(kept, 'w') as f:
            f.write(case.path('core'))
        made, tids = w.calls(1, 20)
        crashed = str(min(tids))
        values = [crashed, crashed, crashed, crashed, 0, 0, 1, 11, 1700000000, (1 << 64) - 1, 'host', '!bin!x', 'x']
        w('core-hook', '--kept-pattern', kept, '--', *values)
        path, = glob.glob(case.path('fr') + '/crash-*')
        all_there(KernelTrace(path + '/kernel'), made, tids, 1)
        check(not glob.glob(case.path('other') + '/crash-*'), 'a snapshot of a session without the process')
        w('destroy', 'fr')
        w('destroy', 'other')


@limit(300)
def record_makes_a_snapshot_with_kernel_records(case):
    with KernelWorld(case) as w:
        done = w('record', '--snapshot-on=exit', '--json', '-o', case.path('out'), *patterns(*CALLS), '-c', 'tid', '--',
                 KCALLS, 'calls', 2, 100)
        made = json.loads(done.out.splitlines()[-1])
        count, tids = turns_of(done.out)
        path = made['snapshots'][0]['path']
        all_there(KernelTrace(path + '/kernel'), count, tids, 2)


if __name__ == '__main__':
    kernel_main([successive_kernel_snapshots_have_each_call_once,
                 kernel_snapshot_of_full_buffers_is_one_contiguous_range,
                 kernel_snapshot_has_records_before_stop_and_consumer_crash,
                 snapshot_has_application_and_kernel_records, record_makes_a_snapshot_with_kernel_records,
                 core_hook_records_a_snapshot_of_a_kernel_only_session])
