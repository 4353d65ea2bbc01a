#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Readers allocate no memory per record. The tests count allocations (tests/programs/count_allocations.c) while they read
traces of different lengths.
"""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from harness import FEATURES, WAYMARK, Skip, check, finished, main, slurp  # noqa: E402

FEW, MANY = 2000, 8000           # iterations of nine records each: strings, arrays and numbers of all kinds
FILTER = 'u16 % 3 == 1 || $event == "types:refs"'
# The first record of an event class allocates what exists once per class: its filter program and field offsets.
FOR_A_CLASS = 20


def not_sanitized():
    if 'sanitize' in FEATURES:
        raise Skip('a sanitizer replaces the allocator')


def long_trace(case, turns):
    """
    Record a trace with context fields, several packets and no losses. Returns (directory, records). Only one CPU
    records, so that the allocations of a stream are made early.
    """
    cpu = str(min(os.sched_getaffinity(0)))
    result = case.record(['taskset', '-c', cpu, case.program('types'), str(turns)],
                         ['-c', 'vpid', '-c', 'procname', '--subbuf-size', '256K', '--num-subbuf', '16']).ok()
    check(result.lost == 0 and result.summary['records'] > 9 * turns, 'wrong number of records: %s', result.summary)
    check(result.summary['packets'] >= 3, '%d packets, fewer than 3', result.summary['packets'])
    return result.directory, result.summary['records']


def reader_library_allocates_no_memory_per_record(case):
    """Read the second half of a trace by each way of the library: all records, a filter, and one field."""
    not_sanitized()
    directory, records = long_trace(case, MANY)
    done = finished([case.program('allocations'), directory, FILTER, 'string'], env=case.env, stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    check(done.returncode == 0, 'allocations ended with status %d: %s', done.returncode, done.stderr)
    found = {way: tuple(map(int, numbers)) for way, *numbers in map(str.split, done.stdout.splitlines())}
    check(sorted(found) == ['accessor', 'filter', 'name', 'walk'], 'the program allocations printed %s', done.stdout)
    for way, (read, values, allocations) in found.items():
        check(read == records - records // 2 if way != 'filter' else records // 10 < 2 * read < records,
              '%s: %d of %d records', way, read, records)
        check(values > read // 20, '%s: only %d values of %d records', way, values, read)
        check(allocations <= FOR_A_CLASS, '%s: %d allocations in the second half, for %d records', way, allocations,
              read)


def counted(case, argv):
    """Number of allocations of a command."""
    where = case.path('allocations')
    with open(os.devnull, 'w') as nothing:
        done = finished(
            argv, env=dict(case.env, LD_PRELOAD=case.program('libcount_allocations.so'), WMK_TEST_ALLOCATIONS=where),
            stdin=subprocess.DEVNULL, stdout=nothing, stderr=subprocess.PIPE, text=True)
    check(done.returncode == 0, '`%s` ended with status %d: %s', ' '.join(argv), done.returncode, done.stderr)
    n = int(slurp(where))
    os.unlink(where)
    check(n > 100, '`%s` has %d allocations, at most 100: they are not counted', ' '.join(argv), n)
    return n


def view_and_convert_allocate_no_memory_per_record(case):
    """Compare `waymark view` and `waymark convert` on a trace and on one four times as long."""
    not_sanitized()
    (short, few), (long, many) = long_trace(case, FEW), long_trace(case, MANY)
    check(many - few > 9 * (MANY - FEW) * 0.9, 'traces of %d and %d records', few, many)
    ways = [['view'], ['view', '--json'], ['view', '--filter', FILTER], ['view', '--json', '--filter', FILTER]]
    ways += [['convert', '--to', form] for form in ('csv', 'chrome', 'perfetto', 'ctf', 'ctf-2')]
    for way in ways:
        first, second = (counted(case, [WAYMARK, *way, path] + (['-o', '%s-%s' %
                                                                 (path, way[-1])] if way[0] == 'convert' else []))
                         for path in (short, long))
        # the two traces can differ in their number of streams
        check(second - first <= (many - few) // 100, '%s: %d allocations for %d records, %d for %d', ' '.join(way),
              first, few, second, many)


if __name__ == '__main__':
    main([reader_library_allocates_no_memory_per_record, view_and_convert_allocate_no_memory_per_record])
