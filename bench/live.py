# SPDX-License-Identifier: MIT
"""
Benchmarks of active sessions: time from a record to its printed line, flushes, snapshots, rotations, compression.

The rival for printed lines is `lttng create --live` with lttng-relayd and babeltrace2, with the default period of 1 s
and with --live=100000.
"""
import os
import re
import shutil
import statistics
import subprocess
import sys
import threading
import time

import lttng_session
import process
import waymark_session
from common import RIVAL, case, clean, parse, show
from recording import tree_size

FAST = 'lttng-ust --live=100000'
LIVE_US = {RIVAL: None, FAST: 100000}       # None: the default period of the rival
BUFFERS = {'subbuf_size': '1M', 'num_subbuf': 8}
OURS = dict(BUFFERS, statedump=False)
FAST_RATE = 1000000
FIRST_NS = 900000000                        # delays in the first second are not measured
DRAIN_S = 30                                # a reader that is behind is killed this long after the last record
LINE = re.compile(rb'[ =](\d{12,})[^\n]*\n')


class Printed:
    """
    Reads the lines of a live reader. The payload of a line is the time of its record: CLOCK_MONOTONIC in ns. `delays`
    has (time of the record, delay in ms) of the last line of each read.
    """

    def __init__(self, argv, env):
        self.child = subprocess.Popen(argv, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.lines, self.delays, self.newest = 0, [], 0
        self.thread = threading.Thread(target=self.read)
        self.thread.start()

    def read(self):
        fd, rest = self.child.stdout.fileno(), b''
        while True:
            data = os.read(fd, 1 << 20)
            now = time.monotonic_ns()
            if not data:
                break
            data = rest + data
            end = data.rfind(b'\n') + 1
            data, rest = data[:end], data[end:]
            self.lines += data.count(b'\n')
            last = LINE.search(data, data.rfind(b'\n', 0, end - 1) + 1) if end else None
            if last:
                self.delays.append((int(last[1]), (now - int(last[1])) / 1e6))
                self.newest = now

    def wait(self, lines, seconds):
        end = time.monotonic() + seconds
        while self.lines < lines and time.monotonic() < end and self.child.poll() is None:
            time.sleep(0.05)

    def close(self):
        if self.child.poll() is None:
            self.child.terminate()
        self.thread.join()
        self.child.wait()
        self.child.stdout.close()


def paced(b, tracer, rate, n):
    return [b.program('work_' + tracer), 'paced', str(b.cpus[-1]), str(rate), str(n)]


def delays_of(b, reader, argv, env, rate, n):
    """
    Run the program and its reader. Returns {'median', 'p99', 'lines', 'behind_s'} of the delays in ms. The first second
    is not measured, because a reader finds a new trace only after some time.
    """
    b.run(argv, env)
    ended = time.monotonic_ns()
    reader.wait(n, DRAIN_S)
    reader.close()
    behind = (reader.newest - ended) / 1e9
    delays = sorted(ms for at, ms in reader.delays if at >= reader.delays[0][0] + FIRST_NS)
    if not delays:
        return None
    return {'median': statistics.median(delays), 'p99': delays[min(len(delays) - 1, len(delays) * 99 // 100)],
            'lines': reader.lines, 'records': n, 'behind_s': round(behind, 3) if rate == FAST_RATE else 0}


def printed_ours(b, rate, n):
    daemon = waymark_session.Daemon(b.build)
    try:
        daemon.start('live', b.fresh('trace'), 'bench:*', **OURS)
        reader = Printed([b.waymark, 'view', '--follow', 'live'], daemon.env)
        found = delays_of(b, reader, paced(b, 'waymark', rate, n), daemon.env, rate, n)
        daemon.stop('live')
        return found
    finally:
        daemon.close()
        clean(b)


def printed_rival(b, relay, live_us, rate, n):
    name = 'live%d' % b.serial
    b.fresh(name)
    b.daemon.start(name, None, live=(live_us, relay.url), **BUFFERS)
    # At a low rate, lines must not wait in the buffer of standard output until it is full.
    buffered = ['stdbuf', '-oL'] if rate == 1 and shutil.which('stdbuf') else []
    reader = Printed(buffered + ['babeltrace2', '--input-format=lttng-live', relay.viewer(name)], b.daemon.env)
    found = delays_of(b, reader, paced(b, 'lttng', rate, n), b.daemon.env, rate, n)
    b.daemon.stop(name)
    return found


def add_case(cases, name, unit, runs, *more):
    """Add one case. `more`: rivals in addition to RIVAL."""
    cases.append(case(name, unit, runs))
    for rival in more:
        found = [run[rival] for run in runs if run.get(rival) is not None]
        if found:
            cases[-1]['rivals'][rival] = round(statistics.median(found), 4)
    for rival in cases[-1]['rivals'] or (RIVAL,):
        show(cases[-1], rival)


def printed(b, relay):
    """Time from the commit of a record to its printed line."""
    cases = []
    for words, rate, n in (('1', 1, 21), ('1M', FAST_RATE, 3 * FAST_RATE)):
        found = {'ours': printed_ours(b, rate, n)}
        for rival, live_us in LIVE_US.items() if relay else ():
            found[rival] = printed_rival(b, relay, live_us, rate, n)
        found = {side: figures for side, figures in found.items() if figures}
        for key in ('median', 'p99'):
            run = {side: round(figures[key], 3) for side, figures in found.items()}
            run['details'] = found
            add_case(cases, 'printed_%s_%s' % (words, key), 'ms', [run], FAST)
    return cases


def flush(b):
    """
    CPU time of program and consumer daemon for a record, at 10^6 records a second. The floor is the time without
    flushes. The program sleeps 1 ms after every 1000 records, because paced() would spend the rest of its CPU time on
    the clock. The order alternates, because the second measurement of a run takes longer.
    """
    runs, n = [], 2 * FAST_RATE
    argv = ['taskset', '-c', str(b.cpus[-1]), b.program('work_waymark'), 'count', 'u64', str(n), '1000']
    sides = [('floor', '0'), ('ours', '1000')]
    for number in range(min(b.runs, 6)):
        run = {}
        for key, interval in sides if number % 2 else reversed(sides):
            daemon = waymark_session.Daemon(b.build)
            try:
                daemon.start('flush', b.fresh('trace'), 'bench:*', options=('--flush-interval', interval), **OURS)
                before = process.cpu_ns(daemon.consumer_pid())
                _, usage = b.run(argv, daemon.env)
                consumer = process.settled_cpu_ns(daemon.consumer_pid()) - before
                daemon.stop('flush')
                run[key] = ((usage.ru_utime + usage.ru_stime) * 1e9 + consumer) / n
                run[key + '_consumer'] = consumer / n
            finally:
                daemon.close()
                clean(b)
        runs.append(run)
    cases = []
    add_case(cases, 'flush', 'ns/record', runs)
    return cases


def timed(command, *args):
    begin = time.monotonic_ns()
    command(*args)
    return (time.monotonic_ns() - begin) / 1e6


def snapshot(b):
    """Time of `snapshot record` with a full ring of 32 MB."""
    runs, n = [], 4000000
    for _ in range(min(b.runs, 5)):
        fill = ['taskset', '-c', str(b.cpus[-1])]
        daemon, run = waymark_session.Daemon(b.build), {}
        try:
            daemon.start('snap', None, 'bench:*', subbuf_size='4M', num_subbuf=8, statedump=False)
            b.run(fill + [b.program('work_waymark'), 'count', 'u64', str(n), '0'], daemon.env)
            directory = b.fresh('trace')
            run['ours'] = timed(daemon.command, 'snapshot', '-s', 'snap', 'record', directory)
            run['ours_bytes'] = tree_size(directory)
            daemon.stop('snap')
        finally:
            daemon.close()
            clean(b)
        if b.daemon:
            name, directory = 'snap%d' % b.serial, b.fresh('trace')
            b.daemon.start(name, None, overwrite=True)
            b.run(fill + [b.program('work_lttng'), 'count', 'u64', str(n), '0'], b.daemon.env)
            run[RIVAL] = timed(b.daemon.command, 'snapshot', 'record', '-s', name, 'file://' + directory)
            run[RIVAL + '_bytes'] = tree_size(directory)
            b.daemon.command('destroy', name)
            clean(b)
        runs.append(run)
    cases = []
    add_case(cases, 'snapshot_32MB', 'ms', runs)
    return cases


STREAM_MS = 6000             # enough for 30 snapshots in a row


def streamed(b, daemon, during=None):
    """One thread on the last CPU records at full speed. Calls during() until the program ends. Returns its values."""
    out = b.fresh('out')
    with open(out, 'w') as f:
        child = subprocess.Popen([b.program('work_waymark'), 'stream', 'u64', str(b.cpus[-1]), str(STREAM_MS)],
                                 env=daemon.env, stdout=f)
    while during and child.poll() is None:
        during()
    child.wait()
    with open(out) as f:
        return parse(f.read())


def slowdown(b):
    """
    CPU time of a record while snapshots of a full ring of 32 MB are recorded one after another. The floor is the time
    without snapshots. The writer has a CPU of its own; the daemons and the command have the others.
    """
    runs, affinity = [], os.sched_getaffinity(0)
    for number in range(min(b.runs, 6)):
        run, took = {}, []
        if len(b.cpus) > 1:
            os.sched_setaffinity(0, affinity - {b.cpus[-1]})
        daemon = waymark_session.Daemon(b.build)
        try:
            daemon.start('slow', None, 'bench:*', subbuf_size='4M', num_subbuf=8, statedump=False)
            streamed(b, daemon)                             # the ring is full

            def snapshots():
                directory = b.fresh('trace')
                took.append(timed(daemon.command, 'snapshot', '-s', 'slow', 'record', directory))
                run['bytes'] = tree_size(directory)
                shutil.rmtree(directory)
            sides = [('floor', None), ('ours', snapshots)]
            for key, during in sides if number % 2 else reversed(sides):
                values = streamed(b, daemon, during)
                run[key] = values['cpu'] / values['begun']
                run[key + '_elapsed'] = values['elapsed'] / values['begun']
            daemon.stop('slow')
        finally:
            daemon.close()
            os.sched_setaffinity(0, affinity)
            clean(b)
        runs.append(dict(run, snapshots=len(took), snapshot_ms=statistics.median(took)))
    cases = []
    add_case(cases, 'writer_in_snapshots', 'ns/record', runs)
    print('    %d snapshots of %.0f MB in a row, %.1f ms each' % (min(r['snapshots'] for r in runs),
          min(r['bytes'] for r in runs) / 1e6, statistics.median(r['snapshot_ms'] for r in runs)))
    return cases


def rotated(b, argv, env, rotate):
    """Rotate every 0.5 s while the program records: (numbers that it prints, milliseconds of the rotations)."""
    took = []
    child = subprocess.Popen(argv, env=env, stdout=subprocess.PIPE, text=True)
    while child.poll() is None:
        time.sleep(0.5)
        took.append(timed(rotate))
    text, _ = child.communicate()
    if child.returncode:
        sys.exit('%s: status %d' % (' '.join(argv), child.returncode))
    return parse(text), took


def compressed(b, directory):
    """`waymark compress` of a trace: bytes before and after, CPU seconds."""
    before = tree_size(directory)
    _, usage = b.run([b.waymark, 'compress', directory])
    return before, tree_size(directory), usage.ru_utime + usage.ru_stime


def rotation(b):
    """Rotations while the program makes 10^6 records a second, then the compression of the chunks."""
    n, runs, ratios = 4 * FAST_RATE, [], []
    daemon, directory = waymark_session.Daemon(b.build), b.fresh('trace')
    try:
        daemon.start('turn', directory, 'bench:*', **OURS)
        values, took = rotated(b, paced(b, 'waymark', FAST_RATE, n), daemon.env,
                               lambda: daemon.command('rotate', 'turn'))
        daemon.stop('turn')
    finally:
        daemon.close()
    records, _ = b.run([b.program('decode'), 'records', directory])
    run = {'ours': statistics.median(took), 'ours_rotations': len(took),
           'ours_lost': int(values['begun']) - int(parse(records)['records']),
           'ours_records_per_s': values['begun'] / (values['elapsed'] / 1e9)}
    before, after, cpu = compressed(b, directory)
    ratios = [{'ours': before / after, 'ours_bytes': before, 'ours_cpu_s': cpu,
               'ours_cpu_s_per_GB': cpu * 1e9 / before}]
    clean(b)
    if b.daemon:
        name, directory = 'turn%d' % b.serial, b.fresh('trace')
        b.daemon.start(name, directory, **BUFFERS)
        values, took = rotated(b, paced(b, 'lttng', FAST_RATE, n), b.daemon.env,
                               lambda: b.daemon.command('rotate', name))
        b.daemon.stop(name)
        run.update({RIVAL: statistics.median(took), RIVAL + '_rotations': len(took),
                    RIVAL + '_lost': int(values['begun']) - lttng_session.counted(directory)})
        clean(b)
    runs.append(run)
    cases = []
    add_case(cases, 'rotate_1M', 'ms', runs)
    print('    lost records: %s' % ', '.join('%s %d' % (side, run[side + '_lost']) for side in ('ours', RIVAL)
                                             if side + '_lost' in run))
    add_case(cases, 'compression', 'ratio', ratios)
    print('    CPU: %.2f s for %.0f MB' % (cpu, before / 1e6))
    return cases


def written(directory):
    """Bytes of streams and indexes."""
    return tree_size(directory) - sum(os.path.getsize(os.path.join(top, 'metadata'))
                                      for top, _, files in os.walk(directory) if 'metadata' in files)


def slow(b, relay):
    """Bytes of streams and indexes for a record, at 10 records a second. Each record is written within 1 s."""
    n, directory, name = 200, b.fresh('trace'), 'slow%d' % b.serial
    daemon = waymark_session.Daemon(b.build)
    try:
        daemon.start('slow', directory, 'bench:*', **OURS)
        if relay:
            b.daemon.start(name, None, live=(1000000, relay.url), **BUFFERS)
        children = [subprocess.Popen(paced(b, tracer, 10, n), env=env, stdout=subprocess.DEVNULL)
                    for tracer, env in (('waymark', daemon.env), *([('lttng', b.daemon.env)] if relay else []))]
        for child in children:
            child.wait()
        daemon.stop('slow')
    finally:
        daemon.close()
    run = {'ours': written(directory) / n}
    if relay:
        b.daemon.stop(name)
        run[RIVAL] = written(relay.output(name)) / n
    clean(b)
    cases = []
    add_case(cases, 'bytes_10', 'bytes/record', [run])
    return cases


def bench_live(b):
    """Active sessions: printed lines, flushes, snapshots, rotations, compression."""
    relay = None
    if b.daemon and lttng_session.has_relay():
        relay = lttng_session.Relay(b.fresh('relay'))
    elif b.daemon:
        print('  rival of printed lines: absent (missing: lttng-relayd)')
    try:
        return printed(b, relay) + flush(b) + snapshot(b) + slowdown(b) + rotation(b) + slow(b, relay)
    finally:
        if relay:
            relay.close()
