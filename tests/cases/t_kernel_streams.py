#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
All streams of a kernel trace begin at the start and end at the stop, also those of CPUs without records. So tools that
read only the time range that all streams share (lttng-analyses) read the whole trace.
"""
import collections
import glob
import os
import shutil
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import check, finished, limit  # noqa: E402
from kernel import KCALLS, KernelTrace, KernelWorld, kernel_main  # noqa: E402
from rotations import CALL, KEPT, archives  # noqa: E402

# Of an index: its header, and the begin of an entry: offset, bits of the packet, bits of its content, begin, end.
INDEX_HEAD, INDEX_ENTRY, INDEX_TIMES = 16, 72, struct.Struct('>5Q')
Packet = collections.namedtuple('Packet', 'begin end content')


def packets_of(kernel):
    """{stream: its packets}, from the indexes."""
    found = {}
    for path in glob.glob(os.path.join(kernel, 'index', '*.idx')):
        with open(path, 'rb') as f:
            data = f.read()
        entries = [INDEX_TIMES.unpack_from(data, at) for at in range(INDEX_HEAD, len(data), INDEX_ENTRY)]
        found[os.path.basename(path)[:-len('.idx')]] = [Packet(begin, end, content)
                                                        for _, _, content, begin, end in entries]
    return found


def check_streams(kernel, n_records, n_ends, expected):
    """
    Each CPU has a stream. All streams share the time range of all records. A stream has one packet without records at
    its begin, and at most one at each of its `n_ends` ends. Readers read all records of this range, without a warning.
    """
    trace, streams = KernelTrace(kernel), packets_of(kernel)
    check(len(trace.records) == n_records, '%s has %d records, not %d', kernel, len(trace.records), n_records)
    check(expected <= set(streams), 'streams: %s, not %s', sorted(streams), sorted(expected))
    empty = min(packet.content for packets in streams.values() for packet in packets)
    for name, packets in streams.items():
        check(packets[0].content == empty and packets[0].begin <= trace.records[0].time and
              packets[-1].end >= trace.records[-1].time, '%s: packets %s, records from %d to %d', name, packets,
              trace.records[0].time, trace.records[-1].time)
        n_empty = sum(packet.content == empty for packet in packets)
        check(n_empty <= 1 + n_ends, '%s has %d packets without records, and ended %d times', name, n_empty, n_ends)
        check(all(a.end <= b.begin for a, b in zip(packets, packets[1:])), '%s: time goes back: %s', name, packets)
    if shutil.which('babeltrace'):
        done = finished(['babeltrace', '-i', 'ctf', '--stream-intersection', kernel], capture_output=True, text=True)
        check(done.returncode == 0 and not done.stderr and len(done.stdout.splitlines()) == n_records,
              'babeltrace 1: %d records of %d: %s', len(done.stdout.splitlines()), n_records, done.stderr)


def call(w, cpu, turns):
    """Make system calls on one CPU. Returns the number of their records."""
    child = w.run(['taskset', '-c', str(cpu), KCALLS, 'calls', '1', str(turns)])
    w.wait_end(child)
    return 2 * turns


@limit(60)
def streams_of_cpus_without_records_have_the_length_of_the_session(case):
    """A session that starts and stops twice, then records nothing, then records on another CPU."""
    cpus = sorted(os.sched_getaffinity(0))
    with KernelWorld(case) as w:
        for name, channel, stream in (('tracefs', KEPT, 'kernel_%d'), ('bpf', (), 'kernel_calls_%d')):
            w.begin_calls(name, *channel, calls=[CALL])
            n = call(w, cpus[0], 20)
            w.stop(name)
            for cpu in (None, cpus[-1]):
                w('start', name)
                n += call(w, cpu, 20) if cpu is not None else 0
                w.stop(name)
            is_now = w('destroy', name, '--json').json['sessions'][0]
            check(is_now['counts']['records'] == n and not is_now['counts']['lost'], '%s: %s', name, is_now)
            check_streams(os.path.join(is_now['path'], 'kernel'), n, 3, {stream % cpu for cpu in cpus})


@limit(60)
def streams_of_a_closed_chunk_have_the_length_of_the_chunk(case):
    cpus = sorted(os.sched_getaffinity(0))
    with KernelWorld(case) as w:
        w.begin_calls('chunks', *KEPT, calls=[CALL])
        n = []
        for cpu in (cpus[0], cpus[-1]):
            n.append(call(w, cpu, 20))
            w('rotate', 'chunks')
        n.append(call(w, cpus[0], 30))
        w.stop('chunks')
        path = w('destroy', 'chunks', '--json').json['sessions'][0]['path']
        places = [*archives(path), path]
        check(len(places) == 3, 'chunks: %s', places)
        ends = []
        for place, records in zip(places, n):
            kernel = os.path.join(place, 'kernel')
            check_streams(kernel, records, 1, {'kernel_%d' % cpu for cpu in cpus})
            streams = packets_of(kernel).values()
            # (a chunk begins where the previous chunk ends)
            check(not ends or min(packets[0].begin for packets in streams) >= min(ends), 'chunks overlap: %s', streams)
            ends = [packets[-1].end for packets in streams]


if __name__ == '__main__':
    kernel_main([streams_of_cpus_without_records_have_the_length_of_the_session,
                 streams_of_a_closed_chunk_have_the_length_of_the_chunk])
