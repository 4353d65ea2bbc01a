#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""kill -9 of the kernel consumer daemon at each named point of a drain and of the writing of metadata."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from harness import check, limit  # noqa: E402
from kernel import CALLS, KernelWorld, check_turns, kernel_main  # noqa: E402
from killed_once import KilledOnce, need_testpoints  # noqa: E402

ROOM = ['--subbuf-size', '4M', '--num-subbuf', '32']
# What the kernel keeps while no consumer daemon reads it. (A BPF program ends with its consumer daemon.)
KEPT = ['--syscall-arguments', 'none']
TURNS = 200
DRAIN = [(point, after) for point in ('consumer_before_write', 'consumer_after_write', 'consumer_before_release')
         for after in (0, 1)]
METADATA = [(point, 0) for point in ('metadata_accepted', 'metadata_before_write', 'metadata_torn',
                                     'metadata_after_write', 'metadata_before_rename')]


def check_point(case, point, after):
    with KernelWorld(case, name='%s-%d' % (point, after), daemon=False) as w:
        killed = KilledOnce(w, 'kernel consumer', point, after)
        made, tids = 0, set()

        def record():
            nonlocal made, tids
            turns, ids = w.calls(2, TURNS)
            made, tids = made + turns, tids | ids

        w.begin_calls('one', *ROOM, *KEPT)
        record()
        w('stop', 'one')                     # drains all rings
        w('start', 'one')
        record()
        w('regenerate', 'metadata', '-s', 'one', status=None)
        w('stop', 'one')
        killed.wait()
        w('start', 'one')
        record()
        trace = w.destroyed('one')
        check(
            len(trace.records) == made * 2 * len(CALLS), '%s: %d records, not %d (%s)', killed.row, len(trace.records),
            made * 2 * len(CALLS), trace.counts)
        check_turns(trace, tids)


@limit(300)
def kernel_records_are_complete_after_kill_within_a_drain(case):
    """
    Each record is in the trace once if the process ends before or after a packet is written, or before the ring is
    released.
    """
    need_testpoints()
    for point, after in DRAIN:
        check_point(case, point, after)


@limit(300)
def kernel_metadata_is_complete_after_kill_while_it_is_written(case):
    """Both readers know each record, also after a torn write and a replacement that was not finished."""
    need_testpoints()
    for point, after in METADATA:
        check_point(case, point, after)


if __name__ == '__main__':
    kernel_main([kernel_records_are_complete_after_kill_within_a_drain,
                 kernel_metadata_is_complete_after_kill_while_it_is_written])
