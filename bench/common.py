# SPDX-License-Identifier: MIT
"""What every benchmark needs: where things are, the rival, how a program is run, and how a case is put down."""
import json
import os
import shutil
import statistics
import subprocess
import sys

import lttng_session

RIVAL = 'lttng-ust'


class Bench:
    """What every benchmark needs: where things are, the rival, and how a program is run."""

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
        """The rival's session daemon, begun when it is first asked for; None without a rival."""
        if not self.rival and not self.absent:
            self.rival = lttng_session.Daemon(os.path.join(self.scratch, 'lttng-home'))
        return self.rival

    def rest(self):
        """End the rival's daemon, where a benchmark has its own: there is one place for it."""
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

    def ours(self, directory, args, overwrite=False, contexts=(), env=None, wanted=None):
        """`waymark record` around work_waymark: (values, summary, resource usage)."""
        argv = [self.waymark, 'record', '--private', '--json', '--subbuf-size', '4M', '--num-subbuf', '8', '-o', directory]
        argv += ['--overwrite'] if overwrite else []
        argv += ['--filter', wanted] if wanted else []
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


def case(name, unit, runs, rival=RIVAL):
    """One entry of `cases`, from a list of {"floor", "ours", rival} dictionaries."""
    def middle(key):
        found = [r[key] for r in runs if r.get(key) is not None]
        return round(statistics.median(found), 4) if found else None
    rivals = {rival: middle(rival)} if any(rival in r for r in runs) else {}
    return {'name': name, 'unit': unit, 'floor': middle('floor'), 'ours': middle('ours'), 'rivals': rivals,
            'runs': runs}


def clean(b):
    """Traces are large: none outlives its run."""
    for name in os.listdir(b.scratch):
        if name.startswith('trace-'):
            shutil.rmtree(os.path.join(b.scratch, name), ignore_errors=True)


def show(c, name=RIVAL):
    def figure(value):
        return '-' if value is None else ('%.0f' % value if abs(value) >= 10000 else '%.2f' % value)

    def ratio(value, to):
        return '%.2f' % (value / to) if value is not None and to else '-'
    rival = c['rivals'].get(name)
    print('  %-22s %-13s floor %10s  ours %10s  %s %10s   ours/floor %6s  ours/rival %6s' % (
        c['name'], c['unit'], figure(c['floor']), figure(c['ours']), name, figure(rival), ratio(c['ours'], c['floor']),
        ratio(c['ours'], rival)), flush=True)
