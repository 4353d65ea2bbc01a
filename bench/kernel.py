# SPDX-License-Identifier: MIT
"""Recording the kernel: the time that it adds to a system call, compared with other tracers; and the slowdown of a busy
machine.

In each turn, every tracer runs once, and the program runs without a tracer. The added time is the difference to the run
without a tracer in the same turn. Ratios are computed within a turn, so that a slow phase of the machine affects both
values.
"""
import json
import os
import shutil
import statistics
import sys

import process
import waymark_session
from common import case, clean

TRACEFS = '/sys/kernel/tracing'
CALL = 'getppid'
# the buffer of each CPU, as in `waymark record`; the sub-buffers of the kernel
BYTES, SUBBUF_KB = 8 << 20, 16
BARE, OURS, DAEMON = 'tracefs', 'record', 'daemons'
# Calls for each tracer: size of a batch, number of batches.
MANY, SOME, FEW = ('100000', '15'), ('20000', '5'), ('1000', '5')
LOADS = (('sched', ['sched:*']), ('sched_syscalls', ['sched:*', 'syscall:*']), ('everything', ['*']))
LOAD_RUNS = 3                                  # few, because a build takes seconds
UNITS = 2                                      # how often each file is compiled in a build


def write(path, text):
    with open(path, 'w') as f:
        f.write(text)


class Instance:
    """Bare tracefs: events in an instance without a reader. In overwrite mode, because a full buffer would end
    recording."""

    def __init__(self, events):
        self.dir = os.path.join(TRACEFS, 'instances', 'wmkt-bench-%d' % os.getpid())
        os.mkdir(self.dir)
        try:
            with open(os.path.join(self.dir, 'trace_clock')) as f:
                clock = 'x86-tsc' if 'x86-tsc' in f.read() else 'mono'
            for name, value in (('trace_clock', clock), ('buffer_subbuf_size_kb', SUBBUF_KB),
                                ('buffer_size_kb', BYTES >> 10), ('options/overwrite', 1)):
                if os.path.exists(os.path.join(self.dir, name)):
                    write(os.path.join(self.dir, name), str(value))
            for event in events:
                write(os.path.join(self.dir, 'events', *event.split(':'), 'enable'), '1')
        except OSError:
            os.rmdir(self.dir)
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.rmdir(self.dir)


# ── the loop ──────────────────────────────────────────────────────────────────────────────────────────────


def loop(b, size, busy):
    return [b.program('calls'), 'loop', str(b.cpus[-1]), *size] + ([str(b.cpus[0])] if busy else [])


def loop_values(text):
    """The values that the loop printed; skips the output of its tracer."""
    lines = [line.split() for line in text.splitlines()]
    return {line[0]: float(line[1]) for line in lines if len(line) == 2 and line[0] in ('cpu', 'wall', 'calls')}


def none(b, busy):
    return loop_values(b.run(loop(b, MANY, busy))[0])


def bare(b, busy):
    with Instance(['syscalls:sys_%s_%s' % (side, CALL) for side in ('enter', 'exit')]):
        return none(b, busy)


def recorded(values, counts, consumer_s):
    """Add the counts of records to the values."""
    values.update({key: counts[key] for key in ('records', 'lost', 'bytes')})
    values['consumer_ns_per_record'] = round(consumer_s * 1e9 / max(1, counts['records']), 1)
    if counts['lost']:
        print('    lost: %d of %d records' % (counts['lost'], counts['lost'] + counts['records']))


def ours(b, busy):
    text, summary, usage = record(b, ['syscall:' + CALL], loop(b, MANY, busy))
    values = loop_values(text)
    used = values['cpu'] * values['calls'] / 1e9     # by the loop
    recorded(values, summary, usage.ru_utime + usage.ru_stime - used)
    if busy:
        del values['consumer_ns_per_record']   # includes the thread that keeps the other CPU busy
    return values


def record(b, patterns, argv):
    """`waymark record` in one process: (output of the program, summary, resource usage)."""
    patterns = [word for pattern in patterns for word in ('-k', pattern)]
    text, usage = b.run([b.waymark, 'record', '--private', '--json', *patterns, '-o', b.fresh('trace'), '--'] + argv)
    clean(b)
    at = text.rindex('\n{') + 1 if '\n{' in text else text.index('{')
    return text[:at], json.loads(text[at:]), usage


class Daemons:
    """A session daemon and its consumer daemon, started once."""

    def __init__(self, b):
        self.daemon = waymark_session.Daemon(b.build)

    def __call__(self, b, busy):
        d, name = self.daemon, 'kernel%d' % b.serial
        d.command('create', name, '--output', b.fresh('trace'))
        d.command('enable-channel', '-k', '-s', name, '--subbuf-size', str(BYTES // 8), '--num-subbuf', '8', 'kernel')
        d.command('add-context', '-k', '-s', name, '-c', 'kernel', '-t', 'pid', '-t', 'tid', '-t', 'procname')
        d.command('enable-event', '-k', '-s', name, '-c', 'kernel', '--syscall', CALL)
        d.command('start', name)
        before = self.cpu_ns()
        values = none(b, busy)
        counts = json.loads(d.command('stop', name, '--json'))['sessions'][0]['counts']
        recorded(values, counts, (self.cpu_ns() - before) / 1e9)
        d.command('destroy', name)
        clean(b)
        return values

    def cpu_ns(self):
        return sum(
            process.cpu_ns(pid) for pid in process.named('waymark-consume', 'WAYMARK_RUNDIR=' + self.daemon.rundir))


def to_file(size, mark, *argv, env=None):
    """A tracer that writes lines to the file @OUT; @LOOP: the command of the loop, as one argument. `mark`: text of a
    line for a call, to report the part of the calls that is in the file."""
    def run(b, busy):
        out, program = b.fresh('out'), loop(b, size, busy)
        words = [word.replace('@OUT', out).replace('@LOOP', ' '.join(program)) for word in argv]
        text, _ = b.run(words if '@LOOP' in argv else words + program, dict(os.environ, **(env or {})))
        values = loop_values(text)
        if mark:
            with open(out, errors='replace') as f:
                values['kept'] = sum(mark in line for line in f) / values['calls']
        os.unlink(out)
        return values
    return run


def others(b):
    """Other tracers: [(name, run, reason why it cannot run)]; each with its fastest options."""
    bpf = 'tracepoint:syscalls:sys_enter_%s { %s } tracepoint:syscalls:sys_exit_%s { %s }'
    line = 'printf("%s %%llu %%d\\n", nsecs, tid);'
    known = (
        ('strace', 'strace', to_file(FEW, CALL + '(', 'strace', '-e', 'trace=' + CALL, '-o', '@OUT')),
        ('waymark strace', b.waymark,
         to_file(SOME, CALL + '(', b.waymark, 'strace', '-e', 'trace=' + CALL, '-o', '@OUT', '--')),
        ('perf record', 'perf',
         to_file(MANY, None, 'perf', 'record', '-q', '-m', str(BYTES >> 12), '-e', 'syscalls:sys_enter_' + CALL, '-e',
                 'syscalls:sys_exit_' + CALL, '-o', '@OUT', '--')),
        ('perf trace', 'perf',
         to_file(SOME, CALL + '(', 'perf', 'trace', '-m', str(BYTES >> 12), '-e', CALL, '-o', '@OUT', '--')),
        ('bpftrace count', 'bpftrace',
         to_file(MANY, None, 'bpftrace', '-o', '@OUT', '-e', bpf % (CALL, '@in = count();', CALL, '@out = count();'),
                 '-c', '@LOOP')),
        ('bpftrace print', 'bpftrace',
         to_file(SOME, 'enter ', 'bpftrace', '-o', '@OUT', '-e', bpf % (CALL, line % 'enter', CALL, line % 'exit'),
                 '-c', '@LOOP', env={'BPFTRACE_PERF_RB_PAGES': str(BYTES >> 12)})),
    )
    return [(name, run, None if shutil.which(program) else 'not installed') for name, program, run in known]


def spread(values):
    """[median, minimum, maximum]"""
    return [round(f(values), 3) for f in (statistics.median, min, max)] if values else None


def sum_up(name, what, turns):
    """One case from the turns: nanoseconds that each tracer adds to a call, `what`: of cpu or wall time; and ratios
    within a turn."""
    runs = []
    for turn in turns:
        added = {tool: round(values[what] - turn['none'][what], 2) for tool, values in turn.items() if tool != 'none'}
        runs.append({
            'floor': added.pop(BARE, None), 'ours': added.pop(OURS), **added, 'none': turn['none'][what], 'detail': turn
        })
    c = case(name, 'ns added to a call', runs)
    tools = [
        tool for tool in dict.fromkeys(tool for run in runs for tool in run)
        if tool not in ('floor', 'ours', 'none', 'detail')
    ]
    c['rivals'] = {tool: round(statistics.median(run[tool] for run in runs if tool in run), 2) for tool in tools}
    c['none'] = round(statistics.median(run['none'] for run in runs), 2)
    c['ratios'] = {
        'ours/floor': spread([run['ours'] / run['floor'] for run in runs if run['floor']]),
        DAEMON + '/floor': spread([run[DAEMON] / run['floor'] for run in runs if run['floor'] and DAEMON in run])
    }
    c['ratios'].update(
        {tool + '/ours': spread([run[tool] / run['ours'] for run in runs if tool in run]) for tool in tools})
    both = [run for run in runs if 'strace' in run and 'waymark strace' in run]
    if both:
        c['ratios']['strace/waymark strace'] = spread([run['strace'] / run['waymark strace'] for run in both])
    print('  %s: %.0f ns for a call without tracer; added by bare tracefs %.0f, by waymark record %.0f ns' %
          (name, c['none'], c['floor'], c['ours']))
    for tool, value in c['rivals'].items():
        print('    %-26s %8.0f' % (tool, value))
    for tool in ('strace', 'waymark strace', 'perf trace', 'bpftrace print'):
        kept = [turn[tool]['kept'] for turn in turns if tool in turn]
        if kept and min(kept) < 0.999:
            print('    %s recorded %.0f %% of the calls, at least %.0f %%' %
                  (tool, 100 * statistics.median(kept), 100 * min(kept)))
    for ratio, found in c['ratios'].items():
        if found:
            print('    %-26s %8.2f  (%.2f to %.2f)' % (ratio, *found))
    sys.stdout.flush()
    return c


def take_turns(b, tools, busy, absent):
    """One run of each tracer; one that fails is left out from then on, and the reason is printed."""
    turn = {}
    for name, run, _ in [tool for tool in tools if not tool[2] and tool[0] not in absent]:
        try:
            turn[name] = run(b, busy)
            if name == 'none':         # twice: other tracers of the machine slow it down, too
                turn[name] = min(turn[name], run(b, busy), key=lambda values: values['cpu'])
        except (SystemExit, OSError, RuntimeError) as err:
            if name in ('none', OURS):
                raise
            absent[name] = str(err).strip()[-300:]
            print('    %s: left out: %s' % (name, absent[name].splitlines()[-1]))
    return turn


def bench_calls(b):
    daemons = Daemons(b)
    cases, absent = [], {}
    tools = [('none', none, None), (BARE, bare, None), (OURS, ours, None), (DAEMON, daemons, None)] + others(b)
    for name, _, why in tools:
        if why:
            absent[name] = why
            print('    %s: left out: %s' % (name, why))
    try:
        for suffix, busy in (('', False), ('_busy', True)):
            if busy and len(b.cpus) < 2:
                continue
            turns = [take_turns(b, tools[i % 2::2] + tools[1 - i % 2::2], busy, absent) for i in range(b.runs)]
            # With all CPUs busy, wall-clock time depends on the scheduler.
            cases += [
                sum_up(CALL + suffix + '_' + what, what, turns) for what in (('cpu', ) if busy else ('cpu', 'wall'))
            ]
    finally:
        daemons.daemon.close()
    for c in cases:
        c['absent'] = absent
    return cases


# ── a busy machine ────────────────────────────────────────────────────────────────────────────────────────


def plan_build(b):
    """Prepare a build of the folders base and schema of this project by ninja, several times; returns its directory."""
    top, where = os.path.dirname(os.path.dirname(os.path.abspath(__file__))), b.fresh('build')
    os.mkdir(where)
    lines = ['rule cc', '  command = cc -std=gnu11 -D_GNU_SOURCE -O2 -I%s/src -I%s/include -c $in -o $out' % (top, top)]
    for folder in ('base', 'schema'):
        for name in sorted(os.listdir(os.path.join(top, 'src', folder))):
            if name.endswith('.c'):
                lines += [
                    'build %s_%d_%s.o: cc %s' % (folder, unit, name, os.path.join(top, 'src', folder, name))
                    for unit in range(UNITS)
                ]
    write(os.path.join(where, 'build.ninja'), '\n'.join(lines) + '\n')
    return where


def built(b, where, wrap):
    """One build: (wall-clock seconds, CPU seconds, result of `wrap`)."""
    for name in os.listdir(where):
        if name.endswith('.o') or name.startswith('.ninja'):
            os.unlink(os.path.join(where, name))
    out = b.fresh('out')
    got = wrap(['sh', '-c', '"$@" >/dev/null 2>' + out, 'sh', b.program('resource_usage'), 'ninja', '-j4', '-C', where])
    with open(out) as f:
        cpu, _, status, wall = f.read().splitlines()[-1].split()
    if int(status):
        sys.exit('kernel: the build has failed with status ' + status)
    return float(wall), float(cpu), got


def loaded(b, where, patterns):
    """A recorded build, and the CPU time of `waymark` itself, without its start and end."""
    def used(argv):
        _, summary, usage = record(b, patterns, argv)
        return summary, usage.ru_utime + usage.ru_stime
    begin = used(['true'])[1]
    wall, cpu, (summary, all_of_it) = built(b, where, used)
    return {
        'wall_s': wall, 'cpu_s': cpu, 'records_per_s': round(summary['records'] / wall), 'records': summary['records'],
        'lost': summary['lost'], 'bytes': summary['bytes'], 'consumer_s': round(max(0, all_of_it - cpu - begin),
                                                                                3), 'begin_s': round(begin, 3)
    }


def bench_load(b):
    where, runs = plan_build(b), {name: [] for name, _ in LOADS}
    for _ in range(min(b.runs, LOAD_RUNS)):
        wall, cpu, _ = built(b, where, b.run)
        for name, patterns in LOADS:
            run = loaded(b, where, patterns)
            run.update(floor=wall, ours=run['wall_s'], none_cpu_s=cpu, wall_ratio=run['wall_s'] / wall,
                       cpu_ratio=run['cpu_s'] / cpu)
            runs[name].append(run)
    cases = []
    for name, taken in runs.items():
        c = case('build_' + name, 's', taken)
        keys = ('wall_ratio', 'cpu_ratio', 'records_per_s', 'lost', 'bytes', 'consumer_s')
        c['ratios'] = {key: spread([run[key] for run in taken]) for key in keys}
        print('  %-20s %.2f s without recording, %.2f s with recording' % (c['name'], c['floor'], c['ours']))
        for key in keys:
            print('    %-26s %12.2f  (%.2f to %.2f)' % (key, *c['ratios'][key]))
        cases.append(c)
    return cases


def bench_kernel(b):
    """The cost of recording, added to getppid() and to a build, compared with the kernel's own tracer without a
    reader and with other tools."""
    if os.geteuid() != 0 or not os.path.isdir(os.path.join(TRACEFS, 'instances')):
        print('  left out: needs root, and tracefs at ' + TRACEFS)
        return []
    print('  load of the machine: ' + ' '.join('%.1f' % x for x in os.getloadavg()))
    cases = bench_calls(b) + bench_load(b)
    print('  load of the machine: ' + ' '.join('%.1f' % x for x in os.getloadavg()))
    return cases
