# SPDX-License-Identifier: MIT
"""Analyses and SQL: records per second of CPU time, and peak memory. One run of one load is also analyzed by
babeltrace2's Python bindings, lttng-analyses and `perf sched latency`, each from its own trace of this run."""
import json
import os
import shutil
import subprocess

from common import case, show
from reading import timed

HERE = os.path.dirname(os.path.abspath(__file__))
PYTHON = '/usr/bin/python3'                    # the interpreter of Debian's modules
EVENTS = [word for name in ('switch', 'waking', 'wakeup', 'wakeup_new', 'process_*')
          for word in ('-k', 'sched_' + name)]
PIPE = ['perf', 'bench', 'sched', 'pipe', '-l', '30000']
STATEMENTS = (
    ('count_by_name', 'SELECT name, count(*) FROM events GROUP BY name'),
    ('count_by_field', 'SELECT arg1, count(*) FROM "bench:u32" GROUP BY arg1'),
    ('count_by_thread', 'SELECT tid, process, count(*) FROM events GROUP BY tid, process'),
    ('filtered', 'SELECT count(*) FROM "bench:u32" WHERE arg1 BETWEEN 1000 AND 2000'),
)


def rate(b, name, argv, records, runs):
    """Million records per second of CPU time."""
    cases = [case(name, 'M records/s', [{'floor': None, 'ours': records / 1e6 / timed(b, argv)[0]}
                                        for _ in range(runs)])]
    show(cases[0])
    return cases


def generated(b, records, threads):
    directory = b.fresh('trace')
    b.run([b.program('sched_trace'), directory, str(records), str(threads)])
    return directory, sum(os.path.getsize(os.path.join(directory, name)) for name in os.listdir(directory))


def flat(b):
    """Peak memory of `sched` with traces of 10 MB, 1 GB and 10 GB, if the disk has room; and with 100,000 threads."""
    cases = []
    for megabytes, threads in ((10, 100), (1000, 100), (10000, 100), (200, 100000)):
        if shutil.disk_usage(b.scratch).free < 3 * megabytes * 1000000:
            print('    (no room for a trace of %d MB)' % megabytes)
            continue
        records = megabytes * 1000000 // 69
        directory, size = generated(b, records, threads)
        seconds, peak = timed(b, [b.waymark, 'analyze', 'sched', '--json', directory])
        name = '%d_MB' % (size // 1000000) + ('_%d_threads' % threads if threads > 100 else '')
        cases += [case('sched_peak_' + name, 'MB', [{'floor': None, 'ours': peak}]),
                  case('sched_' + name, 'M records/s', [{'floor': None, 'ours': records / 1e6 / seconds}])]
        show(cases[-2])
        show(cases[-1])
        shutil.rmtree(directory)
    return cases


# ── the same load ───────────────────────────────────────────────────────────────────────────────────────────


def recorded(b):
    """(directory, records of ours; file, records of perf) of one run, which both record."""
    directory, data, out = b.fresh('trace'), b.fresh('perf'), b.fresh('out')
    argv = [b.waymark, 'record', '--private', '--json', '--subbuf-size', '4M', '--num-subbuf', '8', '-o', directory,
            *EVENTS, '--', 'sh', '-c', 'exec "$@" >%s 2>&1' % out, 'sh', 'perf', 'sched', 'record', '-m', '8M', '-o',
            data, *PIPE]
    records = json.loads(b.run(argv)[0])['records']
    said = subprocess.run(['perf', 'report', '--stats', '-i', data], capture_output=True, text=True).stdout
    samples = [int(line.split()[2]) for line in said.splitlines() if line.strip().startswith('SAMPLE events:')]
    return os.path.join(directory, 'kernel'), records, data, samples[0]


def compared(b, runs):
    if os.geteuid() or not shutil.which('perf'):
        print('    (recording of one load by Waymark and perf: needs root and perf)')
        return []
    directory, records, data, samples = recorded(b)
    ours = [b.waymark, 'analyze', 'sched', '--json', directory]
    rivals = {'perf sched latency': (['perf', 'sched', 'latency', '-i', data], samples)}
    if shutil.which('lttng-schedstats'):
        rivals['lttng-analyses'] = (['lttng-schedstats-mi', directory], records)
    if not subprocess.run([PYTHON, '-c', 'import bt2'], capture_output=True).returncode:
        rivals['babeltrace2 in Python'] = ([PYTHON, os.path.join(HERE, 'wake_latency.py'), directory], records)
    cases = []
    for rival, (argv, n) in rivals.items():
        time, memory = [], []
        for _ in range(runs):
            mine, theirs = timed(b, ours), timed(b, argv)
            time.append({'floor': None, 'ours': mine[0] * 1e9 / records, rival: theirs[0] * 1e9 / n})
            memory.append({'floor': None, 'ours': mine[1], rival: theirs[1]})
        name = 'sched_vs_' + rival.split()[0].replace('-', '_')
        cases += [case(name, 'ns/record', time, rival), case(name + '_memory', 'MB', memory, rival)]
        show(cases[-2], rival)
        show(cases[-1], rival)
    return cases


def bench_analyze(b):
    """Records per second of CPU time of `analyze sched` and SQL, peak memory; other analyses of the same load."""
    runs = max(3, b.runs // 3)
    records = 3000000
    directory, _ = generated(b, records, 100)
    cases = rate(b, 'sched', [b.waymark, 'analyze', 'sched', '--json', directory], records, runs)
    cases += rate(b, 'summary', [b.waymark, 'analyze', '--json', directory], records, runs)
    shutil.rmtree(directory)
    directory = b.fresh('trace')
    _, summary, _ = b.ours(directory, ['count', 'u32', '10000000', '20000'], contexts=('vpid', 'vtid', 'procname'))
    for name, statement in STATEMENTS:
        cases += rate(b, 'query_' + name, [b.waymark, 'query', '--json', statement, directory], summary['records'],
                      runs)
    shutil.rmtree(directory)
    return cases + flat(b) + compared(b, runs)
