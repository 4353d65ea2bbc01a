# SPDX-License-Identifier: MIT
"""Wake-up latencies by thread, with babeltrace2's Python bindings: the smallest program of its kind, for comparison."""
import collections
import sys

import bt2


def main():
    woken, latencies = {}, collections.defaultdict(list)
    for message in bt2.TraceCollectionMessageIterator(sys.argv[1]):
        if not isinstance(message, bt2._EventMessageConst):
            continue
        event = message.event
        if event.name == 'sched_waking':
            woken.setdefault(int(event.payload_field['tid']), message.default_clock_snapshot.ns_from_origin)
        elif event.name == 'sched_switch':
            tid = int(event.payload_field['next_tid'])
            if tid in woken:
                latencies[tid].append(message.default_clock_snapshot.ns_from_origin - woken.pop(tid))
    for tid, values in latencies.items():
        values.sort()
        print(tid, len(values), values[len(values) // 2], values[len(values) * 99 // 100], values[-1])


main()
