#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Benchmarks, side by side with LTTng-UST: writes BUILD/bench/<name>.json and prints a table.

    bench/run.py [--build DIR] [--runs N] [name...]        names: record disabled size startup stream

Ours and the rival run in turn, in the same minutes, on the same pinned CPU, with the same ring sizes and the same mode;
each figure is the median over the runs. A rival that is not installed is said and left out.
"""
import argparse
import json
import mmap
import os
import platform
import shutil
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lttng_session  # noqa: E402

RIVAL = 'lttng-ust'
CONTEXTS = ('vpid', 'vtid', 'procname')
RECORD_CASES = ('u32', 'int_long_double', 'int_str32', 'bytes64', 'ctx3')


class Bench:
    """What every benchmark needs: where things are, the rival, and how a program is run."""

    def __init__(self, build, runs):
        self.build, self.runs = os.path.abspath(build), runs
        self.dir = os.path.join(self.build, 'bench')
        self.scratch = os.path.join(self.dir, 'scratch')
        shutil.rmtree(self.scratch, ignore_errors=True)
        os.makedirs(self.scratch)
        self.waymark = os.path.join(self.build, 'src', 'cli', 'waymark')
        self.daemon, self.serial = None, 0
        self.cpus = sorted(os.sched_getaffinity(0))
        self.absent = lttng_session.missing()
        if not self.absent and not os.path.exists(self.program('work_lttng')):
            self.absent = 'liblttng-ust-dev (at build time)'
        if self.absent:
            print('rival %s: absent (missing: %s)' % (RIVAL, self.absent))
        else:
            self.daemon = lttng_session.Daemon(os.path.join(self.scratch, 'lttng-home'))

    def close(self):
        if self.daemon:
            self.daemon.close()
        shutil.rmtree(self.scratch, ignore_errors=True)

    def program(self, name):
        return os.path.join(self.dir, name)

    def fresh(self, what):
        """A path in the scratch directory that does not exist yet."""
        self.serial += 1
        return os.path.join(self.scratch, '%s-%d' % (what, self.serial))

    def run(self, argv, env=None):
        """Run it; returns (output, resource usage of it and its children)."""
        with open(os.path.join(self.scratch, 'stderr'), 'w+') as err:
            child = subprocess.Popen(argv, env=env, stdout=subprocess.PIPE, stderr=err, text=True)
            out = child.stdout.read()
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
            if child.returncode:
                err.seek(0)
                sys.exit('%s: status %d: %s' % (' '.join(argv), child.returncode, err.read()))
        return out, usage

    def values(self, argv, env=None):
        """The `key value` lines that the program printed, as floats."""
        out, _ = self.run(argv, env)
        return parse(out)

    def ours(self, directory, args, overwrite=False, contexts=(), env=None):
        """`waymark record` around work_waymark: (values, summary, resource usage)."""
        argv = [self.waymark, 'record', '--json', '--subbuf-size', '4M', '--num-subbuf', '8', '-o', directory]
        argv += ['--overwrite'] if overwrite else []
        for context in contexts:
            argv += ['-c', context]
        # The program's own output goes to a file: --json writes the summary to standard output.
        out = self.fresh('out')
        argv += ['--', 'sh', '-c', 'exec "$@" >' + out, 'sh', self.program('work_waymark')]
        text, usage = self.run(argv + args, env)
        with open(out) as f:
            return parse(f.read()), json.loads(text), usage


def parse(text):
    return {k: float(v) for k, v in (line.split() for line in text.splitlines())}


def case(name, unit, runs):
    """One entry of `cases`, from a list of {"floor", "ours", RIVAL} dictionaries."""
    def middle(key):
        found = [r[key] for r in runs if r.get(key) is not None]
        return round(statistics.median(found), 4) if found else None
    rivals = {RIVAL: middle(RIVAL)} if any(RIVAL in r for r in runs) else {}
    return {'name': name, 'unit': unit, 'floor': middle('floor'), 'ours': middle('ours'), 'rivals': rivals,
            'runs': runs}


def bench_record(b):
    """CPU time from the call site to the next instruction, rings in memory (flight recorder, both), warm."""
    cases = []
    for name in RECORD_CASES:
        for suffix, cpus, env in (('', b.cpus[-1:], None), ('_2cpu', b.cpus[:2], None),
                                  ('_claim', b.cpus[-1:], dict(os.environ, GLIBC_TUNABLES='glibc.pthread.rseq=0'))):
            if suffix == '_2cpu' and len(cpus) < 2:
                print('record %s_2cpu: left out, this machine has one CPU' % name)
                continue
            contexts = CONTEXTS if name == 'ctx3' else ()
            args = ['record', name, ','.join(map(str, cpus)), '50000', '15', '50000']
            session = 'record%d' % b.serial
            if b.daemon:
                b.daemon.start(session, None, overwrite=True, contexts=contexts)
            runs = []
            for _ in range(b.runs):
                values, _, _ = b.ours(b.fresh('trace'), args, overwrite=True, contexts=contexts, env=env)
                run = {'floor': values['rdtsc'], 'ours': values['record']}
                if b.daemon:
                    rival = b.values([b.program('work_lttng')] + args, dict(b.daemon.env, **(env or {})))
                    run[RIVAL] = rival['record']
                    run['floor'] = min(run['floor'], rival['rdtsc'])
                runs.append(run)
                clean(b)
            if b.daemon:
                b.daemon.stop(session)
            cases.append(case(name + suffix, 'ns/record', runs))
            show(cases[-1])
    return cases


def bench_disabled(b):
    """A loop with a site that nobody has enabled; the floor is the same loop without."""
    runs = []
    args = ['disabled', str(b.cpus[-1]), '2000000', '15']
    for _ in range(b.runs):
        values = b.values([b.program('work_waymark')] + args)
        run = {'floor': values['plain'], 'ours': values['site']}
        if not b.absent:
            run[RIVAL] = b.values([b.program('work_lttng')] + args)['site']
        runs.append(run)
    cases = [case('site', 'ns/iteration', runs)]
    show(cases[-1])
    return cases


def tree_size(directory):
    return sum(os.path.getsize(os.path.join(top, f)) for top, _, files in os.walk(directory) for f in files)


def bench_size(b):
    """All files of a trace of 10 million records with a 64-bit payload, divided by its records; the floor is the payload."""
    runs, n = [], 10000000
    args = ['count', 'u64', str(n), '20000']
    for number in range(b.runs):
        directory = b.fresh('trace')
        _, summary, _ = b.ours(directory, args)
        if summary['records'] - summary['state_dump'] + summary['lost'] != n:
            sys.exit('size: %d records + %d lost, not %d' % (summary['records'], summary['lost'], n))
        run = {'floor': 8.0, 'ours': tree_size(directory) / summary['records'], 'ours_lost': summary['lost']}
        clean(b)
        # Counting the rival's records takes babeltrace2 longer than all the rest, and the sizes hardly differ.
        if b.daemon and number < 2:
            directory, session = b.fresh('trace'), 'size%d' % b.serial
            b.daemon.start(session, directory)
            b.run([b.program('work_lttng')] + args, b.daemon.env)
            b.daemon.stop(session)
            records = lttng_session.counted(directory)
            run[RIVAL] = tree_size(directory) / records
            run[RIVAL + '_lost'] = n - records
            clean(b)
        runs.append(run)
    cases = [case('u64', 'bytes/record', runs)]
    show(cases[-1])
    return cases


def bench_startup(b):
    """From exec to exit, less the same program without a tracer; the floor is what that program takes."""
    cases = []
    none, ours, rival = (b.program('hello_' + x) for x in ('none', 'started', 'lttng'))
    for name, session in (('no_session', False), ('active_session', True)):
        runs = []
        started = 'startup%d' % b.serial
        if session and b.daemon:
            b.daemon.start(started, None, overwrite=True)
        for _ in range(b.runs):
            spawn = [b.program('spawn'), str(b.cpus[-1]), '30', none]
            record = [b.waymark, 'record', '-o', b.fresh('trace'), '--'] if session else []
            out = b.fresh('out')
            b.run(record + ['sh', '-c', 'exec "$@" >' + out, 'sh'] + spawn + [ours])
            with open(out) as f:
                lines = [list(map(float, line.split())) for line in f.read().splitlines()]
            run = {'floor': lines[0][0], 'ours': lines[1][1]}
            if b.daemon:
                # Without a session the rival is measured without a daemon too: a home and a /run where none lives.
                env = b.daemon.env if session else dict(os.environ, LTTNG_HOME=b.fresh('nohome'))
                alone = lttng_session.IN_NAMESPACE if not session and os.geteuid() == 0 else []
                text, _ = b.run(alone + spawn + [rival], env)
                run[RIVAL] = float(text.splitlines()[1].split()[1])
            runs.append(run)
            clean(b)
        if session and b.daemon:
            b.daemon.stop(started)
        cases.append(case(name, 'us', runs))
        show(cases[-1])
    return cases


def disk_rate(b):
    """Bytes per second that the disk under the traces takes at its best: large blocks, past the page cache."""
    block, total = mmap.mmap(-1, 8 << 20), 128 << 20
    block.write(os.urandom(1 << 20) * 8)
    path = b.fresh('trace')
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_DIRECT, 0o600)
    except OSError:
        return None             # a file system without
    try:
        begin = time.monotonic()
        for _ in range(total // len(block)):
            os.write(fd, block)
        os.fdatasync(fd)
        return total / (time.monotonic() - begin)
    finally:
        os.close(fd)
        os.unlink(path)


def bench_stream(b):
    """Records per second that reach the disk, writers at full speed; the floor is what the disk takes at its best.

    Each run also has what was begun and lost, the consumers' CPU seconds for a GB, and the disk's rate just before.
    """
    cases = []
    for name in ('u32', 'bytes64'):
        for suffix, cpus in (('_1w', b.cpus[-1:]), ('_2w', b.cpus[:2])):
            if suffix == '_2w' and len(cpus) < 2:
                continue
            args = ['stream', name, ','.join(map(str, cpus)), '500']
            runs = []
            for _ in range(b.runs):
                directory, rate = b.fresh('trace'), disk_rate(b)
                values, summary, usage = b.ours(directory, args)
                seconds, size = values['elapsed'] / 1e9, tree_size(directory)
                consumer = usage.ru_utime + usage.ru_stime - values['cpu'] / 1e9
                run = {'ours': summary['records'] / seconds, 'ours_lost': summary['lost'],
                       'ours_begun': values['begun'],
                       'ours_consumer_s_per_GB': round(consumer / (size / 1e9), 3), 'ours_bytes': size,
                       'floor': rate and rate / (size / summary['records']), 'disk_bytes_per_s': rate}
                clean(b)
                if b.daemon:
                    directory, session = b.fresh('trace'), 'stream%d' % b.serial
                    b.daemon.start(session, directory)
                    before = b.daemon.consumer_cpu()
                    values = b.values([b.program('work_lttng')] + args, b.daemon.env)
                    b.daemon.stop(session)
                    records = lttng_session.counted(directory)
                    size = tree_size(directory)
                    used = b.daemon.consumer_cpu() - before
                    run.update({RIVAL: records / (values['elapsed'] / 1e9), RIVAL + '_lost': values['begun'] - records,
                                RIVAL + '_consumer_s_per_GB': round(used / (size / 1e9), 3)})
                    clean(b)
                runs.append(run)
            cases.append(case(name + suffix, 'records/s', runs))
            show(cases[-1])
    return cases


def clean(b):
    """Traces are large: none outlives its run."""
    for name in os.listdir(b.scratch):
        if name.startswith('trace-'):
            shutil.rmtree(os.path.join(b.scratch, name), ignore_errors=True)


def show(c):
    def figure(value):
        return '-' if value is None else ('%.0f' % value if abs(value) >= 10000 else '%.2f' % value)

    def ratio(value, to):
        return '%.2f' % (value / to) if value is not None and to else '-'
    rival = c['rivals'].get(RIVAL)
    print('  %-22s %-13s floor %10s  ours %10s  %s %10s   ours/floor %6s  ours/rival %6s' % (
        c['name'], c['unit'], figure(c['floor']), figure(c['ours']), RIVAL, figure(rival), ratio(c['ours'], c['floor']),
        ratio(c['ours'], rival)), flush=True)


BENCHES = {'record': bench_record, 'disabled': bench_disabled, 'size': bench_size, 'startup': bench_startup,
           'stream': bench_stream}


def versions():
    if not shutil.which('dpkg-query'):
        return {RIVAL: 'unknown'}
    done = subprocess.run(['dpkg-query', '-W', '-f', '${Package} ${Version}\n', 'liblttng-ust1', 'lttng-tools'],
                          capture_output=True, text=True)
    known = dict(line.split() for line in done.stdout.splitlines() if len(line.split()) == 2)
    return {RIVAL: known.get('liblttng-ust1', 'unknown'), 'lttng-tools': known.get('lttng-tools', 'unknown')}


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
    parser.add_argument('names', nargs='*', metavar='name', help='of ' + ' '.join(BENCHES))
    options = parser.parse_args()
    unknown = [n for n in options.names if n not in BENCHES]
    if unknown:
        parser.error('no benchmark %s; there are: %s' % (', '.join(unknown), ' '.join(BENCHES)))
    lttng_session.private_namespace()
    b = Bench(options.build, options.runs)
    try:
        for name in options.names or BENCHES:
            print('%s: %s' % (name, BENCHES[name].__doc__.splitlines()[0]))
            cases = BENCHES[name](b)
            path = os.path.join(b.dir, name + '.json')
            with open(path, 'w') as f:
                json.dump({'bench': name, 'machine': machine(), 'rival_versions': {} if b.absent else versions(),
                           'rivals_absent': {RIVAL: b.absent} if b.absent else {}, 'cases': cases}, f, indent=1)
            print('  -> ' + os.path.relpath(path))
    finally:
        b.close()


if __name__ == '__main__':
    main()
