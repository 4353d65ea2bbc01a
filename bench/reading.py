# SPDX-License-Identifier: MIT
"""Reading traces, against babeltrace2: the same traces in the page cache, on one CPU."""
import glob
import os
import re
import shutil
import subprocess
import sys
import uuid

import lttng_session
from common import RIVAL, case, show

READER = 'babeltrace2'
VIEW = ('view', '--style=babeltrace')


def timed(b, argv):
    """(CPU seconds, peak memory in MB) of a reader with output to /dev/null."""
    with open(os.devnull, 'w') as null, open(os.path.join(b.scratch, 'stderr'), 'w+') as err:
        subprocess.run(['taskset', '-c', str(b.cpus[-1]), b.program('resource_usage')] + argv, stdout=null, stderr=err,
                       check=True)
        err.seek(0)
        output = err.read()
        seconds, peak, status, _ = output.splitlines()[-1].split()
        if int(status):
            sys.exit('%s: status %s: %s' % (' '.join(argv), status, output[-1000:]))
    return float(seconds), float(peak) / 1024


def relatives(b, trace, n):
    """
    Make `n` traces of the same time in one directory: copies of a trace, each with its own UUID (babeltrace2 reads
    traces with the same UUID only once), and a clock offset of some nanoseconds.
    """
    top = b.fresh('trace')
    with open(next(glob.iglob(os.path.join(trace, '**', 'metadata'), recursive=True))) as f:
        text = f.read()
    was, offset = re.search(r'\buuid = "([^"]+)"', text)[1], re.search(r'\boffset = (\d+);', text)
    for i in range(n):
        made = os.path.join(top, '%04d' % i)
        shutil.copytree(trace, made)
        is_now = uuid.uuid4()
        for path in filter(os.path.isfile, glob.iglob(os.path.join(made, '**'), recursive=True)):
            with open(path, 'rb') as f:
                data = f.read().replace(uuid.UUID(was).bytes, is_now.bytes).replace(was.encode(), str(is_now).encode())
            if os.path.basename(path) == 'metadata':
                data = data.replace(offset[0].encode(), b'offset = %d;' % (int(offset[1]) + 7 * i))
            with open(path, 'wb') as f:
                f.write(data)
    return top


def compare(b, name, paths, records, ours, theirs, runs, unit='ns/record'):
    """CPU time for a record, in turns; and the peak memory of both readers."""
    time, memory = [], []
    for _ in range(runs):
        seconds, peak = timed(b, ours + paths)
        one, other = {'floor': None, 'ours': seconds * 1e9 / records}, {'floor': None, 'ours': peak}
        if shutil.which(READER):
            seconds, peak = timed(b, theirs + paths)
            one[READER], other[READER] = seconds * 1e9 / records, peak
        time.append(one)
        memory.append(other)
    cases = [case(name, unit, time, READER), case(name + '_memory', 'MB', memory, READER)]
    for c in cases:
        show(c, READER)
    return cases


def flat(b):
    """Peak memory with traces of 10 MB, 1 GB, and 10 GB if the disk has room for it."""
    cases = []
    for megabytes in (10, 1000, 10000):
        if shutil.disk_usage(b.scratch).free < 3 * megabytes * 1000000:
            print('    (no room for a trace of %d MB)' % megabytes)
            continue
        directory = b.fresh('trace')
        b.ours(directory, ['count', 'u32', str(megabytes * 1000000 // 8), '1000000'])
        size = sum(os.path.getsize(os.path.join(top, f)) for top, _, files in os.walk(directory) for f in files)
        _, peak = timed(b, [b.waymark, 'view', directory])
        cases.append(case('view_peak_%d_MB' % (size // 1000000), 'MB', [{'floor': None, 'ours': peak}], READER))
        show(cases[-1], READER)
        shutil.rmtree(directory)
    return cases


def lines(argv):
    """The lines that a command prints."""
    return subprocess.run(argv, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()


def same(what, ours, theirs):
    """Exit if both readers do not print the same number of lines: their times would not be comparable."""
    if shutil.which(READER) and len(lines(ours)) != len(lines(theirs)):
        sys.exit('%s: %d lines, %s has %d' % (what, len(lines(ours)), READER, len(lines(theirs))))


def filtered(b, name, trace, records, field, runs):
    """One record in 200 as text: ours by a filter, the other by grep, because it has no filter. Its CPU time is that of
    both programs."""
    ours = [b.waymark, *VIEW, '--filter', field + ' < 100']
    theirs = ['sh', '-c', READER + ' "$1" | grep -E " %s = [0-9]{1,2}[ ,]"' % field, 'sh']
    same(name, ours + [trace], theirs + [trace])
    return compare(b, name, [trace], records, ours, theirs, runs)


def sought(b, name, trace, runs):
    """A millisecond in the middle of a trace as text: total CPU time, and memory."""
    at = [
        float(line.split('[', 1)[1].split(']', 1)[0]) for line in lines([b.waymark, *VIEW, '--clock-seconds', trace])
        if line.startswith('[')
    ]
    part = ['--begin=%.9f' % (at[len(at) // 2]), '--end=%.9f' % (at[len(at) // 2] + 0.001)]
    ours, theirs = [b.waymark, *VIEW] + part, [READER] + part
    same(name, ours + [trace], theirs + [trace])
    return compare(b, name, [trace], 1e6, ours, theirs, runs, 'ms')


def merged(b, ours, theirs, runs):
    """Merge a million records of 2, 64 and 1000 streams, two of each trace, in the order of time."""
    cases = []
    for n in (1, 32, 500):
        one = b.fresh('trace')
        _, summary, _ = b.ours(one, ['count', 'u32', str(1000000 // n), '2000'])
        top = relatives(b, one, n)
        same('merge of %d' % (2 * n), [b.waymark, *VIEW, top], [READER, top])
        cases += compare(b, 'merge_%d' % (2 * n), [top], summary['records'] * n, ours, theirs, runs)
        shutil.rmtree(top)
    return cases


def bench_read(b):
    """CPU time for a record, from files in the page cache: found, decoded, and as text to /dev/null; filtered, after a
    seek, merged; peak memory."""
    cases, n = [], 10000000
    found, decode = [b.program('decode'), 'records'], [b.program('decode'), 'values']
    view, text, dummy = [b.waymark, *VIEW], [READER], [READER, '-o', 'dummy']
    columns = [b.waymark, 'view']
    runs = max(3, b.runs // 2)                      # babeltrace2 takes seconds for each
    traces = []
    for name, kind, contexts in (('u32', 'u32', ()), ('int_str32', 'int_str32', ()), ('ctx3', 'u32', ('vpid', 'vtid',
                                                                                                      'procname'))):
        directory = b.fresh('trace')
        _, summary, _ = b.ours(directory, ['count', kind, str(n), '20000'], contexts=contexts)
        traces.append((name, directory, summary['records']))
    if b.daemon:
        directory, session = b.fresh('trace'), 'read%d' % b.serial
        b.daemon.start(session, directory)
        b.run([b.program('work_lttng'), 'count', 'int_str32', str(n // 2), '2000'], b.daemon.env)
        b.daemon.stop(session)
        traces.append(('of_' + RIVAL, directory, lttng_session.counted(directory)))
    for name, directory, records in traces:
        cases += compare(b, 'found_' + name, [directory], records, found, dummy, runs)
        cases += compare(b, 'decode_' + name, [directory], records, decode, dummy, runs)
        cases += compare(b, 'text_' + name, [directory], records, view, text, runs)
        cases += compare(b, 'columns_' + name, [directory], records, columns, text, runs)
    for (name, directory, records), field in ((traces[0], 'arg1'), (traces[-1],
                                                                    'i'))[:1 if traces[-1][0] == 'ctx3' else 2]:
        cases += filtered(b, 'filter_' + name, directory, records, field, runs)
        cases += sought(b, 'seek_' + name, directory, runs)
    return cases + merged(b, decode, dummy, runs) + flat(b)
