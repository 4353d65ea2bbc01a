# SPDX-License-Identifier: MIT
"""Reading traces, against babeltrace2: the same traces, warm in the page cache, one CPU."""
import os
import shutil
import subprocess
import sys

import lttng_session
from common import RIVAL, case, show

READER = 'babeltrace2'


def timed(b, argv):
    """(CPU seconds, peak memory in MB, lines) of a reader whose output goes nowhere."""
    with open(os.devnull, 'w') as null, open(os.path.join(b.scratch, 'stderr'), 'w+') as err:
        child = subprocess.Popen(['taskset', '-c', str(b.cpus[-1])] + argv, stdout=null, stderr=err)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            err.seek(0)
            sys.exit('%s: status %d: %s' % (' '.join(argv), child.returncode, err.read()[-1000:]))
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def copies(b, trace, n):
    """So many traces in one directory: links to one."""
    top = b.fresh('trace')
    os.mkdir(top)
    for i in range(n):
        shutil.copytree(trace, os.path.join(top, '%04d' % i), copy_function=os.link)
    return top


def compare(b, name, paths, records, ours, theirs, runs):
    """CPU time for a record, in turns; and the peak of memory of both."""
    time, memory = [], []
    for _ in range(runs):
        seconds, peak = timed(b, ours + paths)
        one, other = {'floor': None, 'ours': seconds * 1e9 / records}, {'floor': None, 'ours': peak}
        if shutil.which(READER):
            seconds, peak = timed(b, theirs + paths)
            one[READER], other[READER] = seconds * 1e9 / records, peak
        time.append(one)
        memory.append(other)
    cases = [case(name, 'ns/record', time, READER), case(name + '_memory', 'MB', memory, READER)]
    for c in cases:
        show(c, READER)
    return cases


def bench_read(b):
    """CPU time for a record, from files in the page cache: decoded, and as text to /dev/null; merged from many streams; peak memory."""
    cases, n, decode = [], 2000000, [b.program('decode')]
    view, text, dummy = [b.waymark, 'view'], [READER], [READER, '-o', 'dummy']
    runs = max(3, b.runs // 2)                      # babeltrace2 takes seconds for each
    traces = []
    for name, kind, contexts in (('u32', 'u32', ()), ('int_str32', 'int_str32', ()), ('ctx3', 'u32', ('vpid', 'vtid', 'procname'))):
        directory = b.fresh('trace')
        _, summary, _ = b.ours(directory, ['count', kind, str(n), '20000'], contexts=contexts)
        traces.append((name, directory, summary['records']))
    if b.daemon:
        directory, session = b.fresh('trace'), 'read%d' % b.serial
        b.daemon.start(session, directory)
        b.run([b.program('work_lttng'), 'count', 'int_str32', str(n // 4), '2000'], b.daemon.env)
        b.daemon.stop(session)
        traces.append(('of_' + RIVAL, directory, lttng_session.counted(directory)))
    for name, directory, records in traces:
        cases += compare(b, 'decode_' + name, [directory], records, decode, dummy, runs)
        cases += compare(b, 'text_' + name, [directory], records, view, text, runs)
    small = b.fresh('trace')
    _, summary, _ = b.ours(small, ['count', 'u32', '2000', '2000'])
    for n_traces in (1, 32, 500):                   # two streams each
        top = copies(b, small, n_traces)
        cases += compare(b, 'merge_%d' % (2 * n_traces), [top], summary['records'] * n_traces, decode, dummy, runs)
    return cases
