#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Adverse applications and systems: the application survives, the trace is complete, and lost records are counted."""
import contextlib
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from harness import (Failure, PERCENT, Skip, check, check_sequences, limit, main, need, not_under_tsan, rounds,
                     small_disk, wait_for)  # noqa: E402

MEMORY = '/sys/fs/cgroup/memory'


def close_range_of_all_descriptors_loses_no_records(case):
    case.checked([case.program('adverse'), 'closefds', '2000'], lost=0)


def mlockall_does_not_fill_the_rings(case):
    """
    The rings have 128 MB for each possible CPU, which mlockall() must not make resident. The helper thread prefaults at
    most half of that.
    """
    case.checked([case.program('adverse'), 'mlockall', '2000'], ['--subbuf-size', '4M', '--num-subbuf', '32'], lost=0)
    most = 96 * 1024 * os.sysconf('SC_NPROCESSORS_CONF')
    check(case.ledger.flag(3) < most, 'the program has %d kB resident after mlockall', case.ledger.flag(3))


def megabytes(case, options):
    """Record events of one megabyte each and check their contents. Returns (records read, records lost)."""
    result = case.record([case.program('adverse'), 'mega', '4', str(1 << 20)], options, timeout=60).ok()
    check(case.ledger.flag(0) > 0, 'the timer never fired')
    seen = 0
    for line in result.trace().lines:
        if 'test:mega' not in line:
            continue
        seq = int(line.split(' seq = ')[1].split(',')[0])
        values = {int(v, 0) for v in re.findall(r'\[\d+\] = (\w+)', line)}
        check(values == {seq & 0x7f}, 'record %d holds %s', seq, sorted(values)[:5])
        seen += 1
    check(seen + result.lost == 4, '%d read + %d lost, not 4', seen, result.lost)
    return seen, result.lost


@limit(90)
def megabyte_records_complete_under_timer_signals(case):
    """
    No record is retried without end. With the default sizes no record is lost, because the consumer daemon allocates
    those sub-buffers in advance.
    """
    check(megabytes(case, ())[1] == 0, 'records are lost with the default sizes')
    megabytes(case, ['--subbuf-size', '4M'])


def string_changed_while_recorded_keeps_later_fields(case):
    """Later fields keep their offsets, whatever another thread writes into the string."""
    not_under_tsan('the race is what is tested')
    result = case.record([case.program('adverse'), 'edit', str(rounds(200000))], ['--subbuf-size', '4M']).ok()
    check(case.ledger.flag(0) > 0, 'the editing thread never ran')
    trace = result.trace()
    last, count = 0, 0
    for r in trace.records('test:edit'):
        check(set(r.fields['string']) <= set('x#'), 'the string holds %s', r.fields['string'][:80])
        check(r.fields['seq'] > last and r.fields['writer'] == 1, 'fields after the string are corrupt: %s', r.fields)
        last, count = r.fields['seq'], count + 1
    check(count + result.lost == rounds(200000), '%d read + %d lost, not %d', count, result.lost, rounds(200000))


def null_strings_are_recorded_as_null(case):
    result = case.record([case.program('adverse'), 'null', '20']).ok()
    records = list(result.trace().records('test:null'))
    check(len(records) == 20, '%d records, not 20', len(records))
    for r in records:
        check(r.fields['string'] == '(null)' and r.fields['text'] == 'after', 'recorded as %s', r.fields)


def megabyte_strings_are_truncated_to_fit_the_sub_buffer(case):
    """
    A sub-buffer is as large as the string. A string that does not fit beside the other fields is cut and ends in an
    ellipsis.
    """
    result = case.record([case.program('adverse'), 'text', '10', str(1 << 20)]).ok()
    trace, seen = result.trace(), 0
    for line in trace.lines:
        if 'test:text' in line:
            text = line.split('text = "')[1]
            check(
                len(text) < (1 << 20) and (text.rstrip('" }').endswith('\xe2\x80\xa6')),
                'the string is neither complete nor cut: %s', text[-40:])
            seen += 1
    check(seen + result.lost == 10, '%d read + %d lost, not 10', seen, result.lost)
    check(seen > 0, 'all strings of a megabyte were lost')


@contextlib.contextmanager
def memory_group(case, limit_bytes):
    if os.geteuid() or not os.path.exists(MEMORY + '/memory.limit_in_bytes'):
        raise Skip('no writable memory control group (version 1)')
    group = '%s/waymark-test-%d' % (MEMORY, os.getpid())
    os.mkdir(group)
    try:
        with open(group + '/memory.limit_in_bytes', 'w') as f:
            f.write(str(limit_bytes))
        yield group
    finally:
        def empty():
            with contextlib.suppress(OSError):
                os.rmdir(group)
            return not os.path.exists(group)
        wait_for(empty, 'the control group to become empty')


def full_memory_cgroup_loses_records_and_kills_no_process(case):
    """
    The group contains the application but not the consumer daemon. The application fills the group and then records: it
    must survive, and losses are counted.
    """
    not_under_tsan('the sanitizer needs more memory than the group has')
    with memory_group(case, 32 << 20) as group:
        script = 'echo $$ >%s/cgroup.procs && exec %s hog 200000 %d %s/memory.usage_in_bytes' % (
            group, case.program('adverse'), 32 << 20, group)
        result, trace, _ = case.checked(['sh', '-c', script], ['--subbuf-size', '4M', '--num-subbuf', '8'])
        check(case.ledger.flag(0) > 0, 'the group was never full')
        check(trace.count() > 10, 'only %d records', trace.count())


def dumped(trace):
    return sum(' lttng_ust_statedump:' in line for line in trace.lines)


def full_file_system_is_reported_and_the_trace_readable(case):
    """
    The file system of the trace fills while the application records. `record` reports it, and the trace is readable.
    """
    with small_disk(case, '3M') as place:
        child = case.start([case.program('busy'), 'count', '2', '200000'], ['--subbuf-size', '64k', '--num-subbuf',
                '4'],
                           output=os.path.join(place, 'trace'))
        result = case.finish(child)
        words = (result.err + result.out).lower()
        check(case.ledger.flag(2) == 2, 'the program did not run to its end')
        check('no space' in words or 'disk' in words or 'full' in words, 'no message reports that the disk is full: %s',
              words[-800:])
        trace = result.trace()
        check(trace.count() > 100, 'only %d records on a disk of 3 MB', trace.count())
        # The state dump has its own stream, which can lose records to the full disk, too.
        all_of_it = dumped(case.record([case.program('types')]).trace())
        check(all_of_it > 5, 'a state dump has %d records', all_of_it)
        check_sequences(trace, case.ledger, result.lost - (all_of_it - dumped(trace)))


@limit(100)
def records_single_stepped_by_gdb_are_complete(case):
    """gdb steps through every instruction of several records. All of them are complete."""
    need('gdb')
    script = case.path('script')
    steps = 3000 if PERCENT < 100 else 30000
    entry = 'waymark_enter' if os.uname().machine == 'x86_64' else 'waymark_record'
    # "info threads": gdb fails if the program ends before it has read the registers of a thread that it resumes.
    with open(script, 'w') as f:
        f.write('set pagination off\nset confirm off\nset breakpoint pending on\nset debuginfod enabled off\n'
                'break %s\nrun leaf 10\nstepi %d\ndelete\ninfo threads\ncontinue\nquit\n' % (entry, steps))
    result, trace, numbers = case.checked(['gdb', '-nx', '-batch', '-x', script, case.program('procs')], timeout=90,
                                          lost=0)
    check('Breakpoint 1,' in result.out, 'gdb did not stop in %s: %s', entry, result.out[-800:])
    check(numbers.get(1) == list(range(1, 12)), 'the trace holds %s', numbers)


if __name__ == '__main__':
    main([
        close_range_of_all_descriptors_loses_no_records, mlockall_does_not_fill_the_rings,
        megabyte_records_complete_under_timer_signals, string_changed_while_recorded_keeps_later_fields,
        null_strings_are_recorded_as_null, megabyte_strings_are_truncated_to_fit_the_sub_buffer,
        full_memory_cgroup_loses_records_and_kills_no_process, full_file_system_is_reported_and_the_trace_readable,
        records_single_stepped_by_gdb_are_complete
    ])
