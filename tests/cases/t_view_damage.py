#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`waymark view` of damaged traces of Common Trace Format 1.8: a stream, metadata or an index is cut or changed."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
import corpus18  # noqa: E402
from harness import PERCENT, check, limit, main, rounds  # noqa: E402
from t_view import babeltrace2, missing, same, view, without_delta  # noqa: E402


def tiny_trace(case):
    """(the trace, its lines)."""
    trace, path = corpus18.Tiny(), case.path('tiny')
    trace.write(path)
    lines = view(case, path, (0,))[1]
    same(path, lines, babeltrace2(case, path)[0])
    check(len(lines) == len(trace.ends), '%d lines, %d records', len(lines), len(trace.ends))
    return trace, lines


def some(case, count):
    """The numbers from 0 to count - 1 that this run tries."""
    return sorted(case.random.sample(range(count), rounds(count)))


@limit(600)
def complete_records_of_a_truncated_stream_are_printed(case):
    """
    For every length exactly the complete records are printed. Damage is reported unless the cut is at the end of a
    packet.
    """
    trace, lines = tiny_trace(case)
    for length in some(case, len(trace.data)):
        path = case.path('cut%d' % length)
        trace.write(path, trace.data[:length])
        status, got, _ = view(case, path)
        same(path, got, lines[:trace.before(length)], 'wanted')
        check(status == (length not in trace.begins), '%s ended with status %d', path, status)


@limit(600)
def records_before_a_changed_byte_are_printed(case):
    """For every byte, changed in several ways: the records before it are printed."""
    trace, lines = tiny_trace(case)
    for byte in some(case, len(trace.data)):
        for change in (0xff, 0x80, 1, case.random.randrange(1, 256)):
            data = bytearray(trace.data)
            data[byte] ^= change
            path = case.path('changed%d_%02x' % (byte, change))
            trace.write(path, data)
            gone = missing(without_delta(lines[:trace.untouched(byte)]), without_delta(view(case, path)[1]))
            check(gone is None, '%s: this record is before the damage, and is missing: %s', path, gone)


@limit(600)
def truncated_metadata_produces_no_false_records(case):
    """The records that can be read with the rest of the metadata are records of the trace."""
    trace, lines = tiny_trace(case)
    for name in ('metadata', 'packetized'):
        data = getattr(trace, name)
        for length in some(case, len(data)):
            path = case.path('%s_cut%d' % (name, length))
            trace.write(path, metadata=data[:length])
            got = view(case, path)[1]
            check(missing(got, lines) is None, '%s: this record is not in the trace: %s', path, missing(got, lines))


@limit(600)
def metadata_with_a_changed_byte_does_not_crash_view(case):
    """The metadata may then have any meaning, and the reader must not crash."""
    trace, _ = tiny_trace(case)
    for name in ('metadata', 'packetized'):
        for byte in some(case, len(getattr(trace, name))):
            for change in (0xff, 1,
                           case.random.randrange(1, 256)) if PERCENT >= 100 else (case.random.randrange(1, 256), ):
                data = bytearray(getattr(trace, name))
                data[byte] ^= change
                path = case.path('%s%d_%02x' % (name, byte, change))
                trace.write(path, metadata=data)
                view(case, path)


@limit(600)
def damaged_packet_index_loses_no_records(case):
    """The packets have all the information of the index: every record is printed."""
    trace, lines = tiny_trace(case)
    for byte in some(case, len(trace.index)):
        for change in (0, 0xff, 1, case.random.randrange(1, 256)):
            data = bytearray(trace.index) if change else trace.index[:byte]
            if change:
                data[byte] ^= change
            path = case.path('index%d_%02x' % (byte, change))
            trace.write(path, made_index=data)
            same(path, view(case, path)[1], lines, 'wanted')


if __name__ == '__main__':
    main([
        complete_records_of_a_truncated_stream_are_printed, records_before_a_changed_byte_are_printed,
        truncated_metadata_produces_no_false_records, metadata_with_a_changed_byte_does_not_crash_view,
        damaged_packet_index_loses_no_records
    ])
