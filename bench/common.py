# SPDX-License-Identifier: MIT
"""Common code of the benchmarks: paths, the rival, running programs, and results of cases."""
import json
import os
import shutil
import statistics
import subprocess
import sys

import lttng_session

RIVAL = 'lttng-ust'


class Bench:
    """Environment of a benchmark: paths, the rival, and running programs."""

    def __init__(self, build, runs):
        self.build, self.runs = os.path.abspath(build), runs
        self.dir = os.path.join(self.build, 'bench')
        self.scratch = os.path.join(self.dir, 'scratch')
        shutil.rmtree(self.scratch, ignore_errors=True)
        os.makedirs(self.scratch)
        self.waymark = os.path.join(self.build, 'src', 'cli', 'waymark')
        self.rival, self.serial = None, 0
        self.cpus = sorted(os.sched_getaffinity(0))
        self.absent = lttng_session.missing()
        if not self.absent and not os.path.exists(self.program('work_lttng')):
            self.absent = 'liblttng-ust-dev (at build time)'
        if self.absent:
            print('rival %s: absent (missing: %s)' % (RIVAL, self.absent))

    @property
    def daemon(self):
        """The session daemon of the rival, started at the first use; None without a rival."""
        if not self.rival and not self.absent:
            self.rival = lttng_session.Daemon(os.path.join(self.scratch, 'lttng-home'))
        return self.rival

    def rest(self):
        """End the rival's daemon, for a benchmark that starts its own: only one can run."""
        if self.rival:
            self.rival.close()
        self.rival = None

    def close(self):
        self.rest()
        shutil.rmtree(self.scratch, ignore_errors=True)

    def program(self, name):
        return os.path.join(self.dir, name)

    def fresh(self, what):
        """A path in the scratch directory that does not exist yet."""
        self.serial += 1
        return os.path.join(self.scratch, '%s-%d' % (what, self.serial))

    def run(self, argv, env=None):
        """Run a program; returns (output, resource usage of it and its children)."""
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

    def ours(self, directory, args, overwrite=False, contexts=(), env=None, wanted=None):
        """`waymark record` around work_waymark: (values, summary, resource usage)."""
        argv = [
            self.waymark, 'record', '--private', '--json', '--subbuf-size', '4M', '--num-subbuf', '8', '-o', directory
        ]
        argv += ['--overwrite'] if overwrite else []
        argv += ['--filter', wanted] if wanted else []
        for context in contexts or ('none',):
            argv += ['-c', context]
        # The program's own output goes to a file: --json writes the summary to standard output.
        out = self.fresh('out')
        argv += ['--', 'sh', '-c', 'exec "$@" >' + out, 'sh', self.program('work_waymark')]
        text, usage = self.run(argv + args, env)
        with open(out) as f:
            return parse(f.read()), json.loads(text), usage


def parse(text):
    """Lines "key value" as floats. Lines "round ADDITIONS RDTSC RECORD" (work.c) become a list under 'rounds'."""
    values, rounds = {}, []
    for line in text.splitlines():
        key, *figures = line.split()
        if key == 'round':
            rounds.append(tuple(map(float, figures)))
        else:
            values[key] = float(figures[0])
    return {**values, 'rounds': rounds} if rounds else values


ROUNDS = 30             # in a run
UNDISTURBED_MIN = 10    # undisturbed rounds that a run needs for a verdict
DISTURBED_FROM = 1.05   # relative to the smallest block of additions


class State:
    """The rounds of one case. Only undisturbed rounds count.

    Undisturbed: the block of additions takes at most DISTURBED_FROM times the smallest one of the whole bench.
    """
    smallest = float('inf')

    def __init__(self):
        self.runs = []

    def add(self, run):
        """One run: {'ours': rounds, RIVAL: rounds}, each round (additions, rdtsc, record)."""
        self.runs.append(run)
        State.smallest = min([State.smallest] + [r[0] for rounds in run.values() for r in rounds])

    def figures(self, floor=True):
        """One dictionary for each run, for case(). No value: fewer than UNDISTURBED_MIN of ROUNDS are undisturbed."""
        limit, out = State.smallest * DISTURBED_FROM, []
        for run in self.runs:
            figures, floors = {'state': {}}, []
            for side, rounds in run.items():
                quiet = [r for r in rounds if r[0] <= limit]
                has_verdict = len(quiet) * ROUNDS >= UNDISTURBED_MIN * len(rounds)
                figures[side] = statistics.median(r[2] for r in quiet) if has_verdict else None
                figures['state'][side] = {'additions_ns': round(statistics.median(r[0] for r in rounds), 3),
                                         'undisturbed': len(quiet), 'rounds': len(rounds)}
                floors += [statistics.median(r[1] for r in quiet)] if has_verdict else []
            out.append(dict(figures, floor=min(floors, default=None)) if floor else figures)
        return out

    def summary(self):
        rounds = [r for run in self.runs for side in run.values() for r in side]
        return {'additions_ns': State.smallest, 'disturbed_from_ns': round(State.smallest * DISTURBED_FROM, 3),
                'undisturbed': sum(r[0] <= State.smallest * DISTURBED_FROM for r in rounds), 'rounds': len(rounds)}


def case(name, unit, runs, rival=RIVAL, state=None):
    """One entry of `cases`, from a list of {"floor", "ours", rival} dictionaries; `state`: a State, of the machine."""
    def middle(key):
        found = [r[key] for r in runs if r.get(key) is not None]
        return round(statistics.median(found), 4) if found else None
    rivals = {rival: middle(rival)} if any(rival in r for r in runs) else {}
    return {'name': name, 'unit': unit, 'floor': middle('floor'), 'ours': middle('ours'), 'rivals': rivals,
            **({'state': state.summary()} if state else {}), 'runs': runs}


def clean(b):
    """Remove the traces of a run, because they are large."""
    for name in os.listdir(b.scratch):
        if name.startswith('trace-'):
            shutil.rmtree(os.path.join(b.scratch, name), ignore_errors=True)


def show(c, name=RIVAL):
    def figure(value):
        return '-' if value is None else ('%.0f' % value if abs(value) >= 10000 else '%.2f' % value)

    def ratio(value, to):
        return '%.2f' % (value / to) if value is not None and to else '-'
    rival, state = c['rivals'].get(name), c.get('state')
    print('  %-22s %-13s floor %10s  ours %10s  %s %10s   ours/floor %6s  ours/rival %6s' % (
        c['name'], c['unit'], figure(c['floor']), figure(c['ours']), name, figure(rival), ratio(c['ours'], c['floor']),
        ratio(c['ours'], rival)) + ('   undisturbed %d/%d' % (state['undisturbed'], state['rounds']) if state else ''),
        flush=True)
