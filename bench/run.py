#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Benchmarks, side by side with LTTng-UST: writes BUILD/bench/<name>.json and prints a table.

    bench/run.py [--build DIR] [--runs N] [name...]

    record filtered disabled size startup stream  recording (recording.py)
    register notify command idle             the session daemon (control.py)
    read                                     reading traces, against babeltrace2 (reading.py)
    live                                     active sessions: printed lines, against lttng-relayd and babeltrace2;
                                             flushes, snapshots, rotations, compression (live.py)
    relay                                    CPU time and throughput of sender and relay, against lttng-consumerd and
                                             lttng-relayd (relay.py)
    top                                      CPU time of `waymark top` (top.py)
    analyze                                  analyses and SQL, against babeltrace2's Python bindings, lttng-analyses
                                             and `perf sched latency` (analysis.py)
    strace                                   `waymark strace` against strace (kernel_strace.py)
    kernel                                   recording the kernel, against bare tracefs, strace, perf, bpftrace
                                             (kernel.py)

Ours and the rival run in turn, in the same minutes, on the same pinned CPU, with the same ring sizes and the same mode.
Each figure is the median over the runs. A rival that is not installed is reported and left out.

record and filtered only compare rounds in the same state of the machine. Each round also times a block of 40 additions,
and counts if that takes at most 1.05 times the smallest block. A run with fewer than 10 such rounds of 30 has no
verdict ("-", null).
"""
import argparse
import json
import os
import platform
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lttng_session  # noqa: E402
from analysis import bench_analyze  # noqa: E402
from common import RIVAL, Bench  # noqa: E402
from control import bench_command, bench_idle, bench_notify, bench_register  # noqa: E402
from kernel import bench_kernel  # noqa: E402
from kernel_strace import bench_strace  # noqa: E402
from live import bench_live  # noqa: E402
from reading import bench_read  # noqa: E402
from recording import (  # noqa: E402
    bench_disabled, bench_filtered, bench_record, bench_size, bench_startup, bench_stream)
from relay import bench_relay  # noqa: E402
from top import bench_top  # noqa: E402

BENCHES = {
    'record': bench_record, 'filtered': bench_filtered, 'disabled': bench_disabled, 'size': bench_size,
    'startup': bench_startup, 'stream': bench_stream, 'register': bench_register, 'notify': bench_notify,
    'command': bench_command, 'idle': bench_idle, 'read': bench_read, 'kernel': bench_kernel, 'strace': bench_strace,
    'analyze': bench_analyze, 'live': bench_live, 'relay': bench_relay, 'top': bench_top
}

TOOLS = ('strace', 'linux-perf', 'bpftrace', 'python3-bt2', 'python3-lttnganalyses')     # other tracers of the kernel


def versions():
    if not shutil.which('dpkg-query'):
        return {RIVAL: 'unknown'}
    done = subprocess.run(
        ['dpkg-query', '-W', '-f', '${Package} ${Version}\n', 'liblttng-ust1', 'lttng-tools', 'babeltrace2', *TOOLS],
        capture_output=True, text=True)
    known = dict(line.split() for line in done.stdout.splitlines() if len(line.split()) == 2)
    return {
        RIVAL: known.get('liblttng-ust1', 'unknown'), 'lttng-tools': known.get('lttng-tools', 'unknown'),
        'babeltrace2': known.get('babeltrace2', 'unknown'), **{tool: known[tool] for tool in TOOLS if tool in known}
    }


def machine():
    model = platform.machine()
    with open('/proc/cpuinfo') as f:
        for line in f:
            if line.startswith('model name'):
                model = line.split(':', 1)[1].strip()
                break
    return '%s, %d CPUs, Linux %s' % (model, os.cpu_count(), platform.release())


def main():
    parser = argparse.ArgumentParser(description='Benchmarks side by side with LTTng-UST.')
    parser.add_argument('--build', default='build')
    parser.add_argument('--runs', type=int, default=10, help='runs of each case (default 10)')
    parser.add_argument('names', nargs='*', metavar='name', help='one of ' + ' '.join(BENCHES))
    options = parser.parse_args()
    unknown = [n for n in options.names if n not in BENCHES]
    if unknown:
        parser.error('unknown benchmark %s (known: %s)' % (', '.join(unknown), ' '.join(BENCHES)))
    lttng_session.private_namespace()
    b = Bench(options.build, options.runs)
    try:
        for name in options.names or BENCHES:
            print('%s: %s' % (name, BENCHES[name].__doc__.splitlines()[0]))
            cases = BENCHES[name](b)
            path = os.path.join(b.dir, name + '.json')
            with open(path, 'w') as f:
                json.dump(
                    {
                        'bench': name, 'machine': machine(), 'rival_versions': {
                            k: v for k, v in versions().items() if v != 'unknown'
                        }, 'rivals_absent': {RIVAL: b.absent} if b.absent else {}, 'cases': cases
                    }, f, indent=1)
            print('  -> ' + os.path.relpath(path))
    finally:
        b.close()


if __name__ == '__main__':
    main()
