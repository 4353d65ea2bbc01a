#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The cost of `waymark strace` for a program, against strace: nanoseconds for a call, plain and with both, in turns.

    bench/kernel_strace.py [--build DIR] [--runs N]     as root; writes BUILD/bench/strace.json and prints a table

bench_strace(b) is the benchmark for run.py: a loop of getppid(), and one that copies /dev/zero to /dev/null, as dd
does. Both tracers write to a file. The figures are those of the best 200 rounds in a row, because the machine may run
other programs; `mean` is the mean of all rounds. `lost` is the number of lost records: figures with losses are less
reliable.
"""
import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

RIVAL = 'strace'
SOURCE = r'''
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define ROW 200

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

int main(int argc, char **argv)
{
	static char buf[512];
	const long n = argc > 2 ? atol(argv[2]) : 0;
	const int in = open("/dev/zero", O_RDONLY), out = open("/dev/null", O_WRONLY);
	const double calls = argv[1][0] == 'g' ? ROW : 2 * ROW, begin = now();
	double least = 1e18;

	for (long row = 0; row < n / ROW; row++) {
		const double at = now();
		double ns;

		for (long i = 0; i < ROW; i++)
			if (argv[1][0] == 'g')
				syscall(SYS_getppid);
			else if (read(in, buf, sizeof(buf)) < 0 || write(out, buf, sizeof(buf)) < 0)
				return 1;
		ns = now() - at;
		least = ns < least ? ns : least;
	}
	printf("%f %f\n", least / calls, (now() - begin) / calls / (double)(n / ROW));
	return 0;
}
'''
# Calls in a run of each tracer, so that a run takes about a second at most.
ROUNDS = {'plain': 1000000, 'waymark': 1000000, RIVAL: 30000}


def build_program(directory):
    source, program = os.path.join(directory, 'loop.c'), os.path.join(directory, 'loop')
    with open(source, 'w') as file:
        file.write(SOURCE)
    subprocess.run([os.environ.get('CC', 'cc'), '-O2', '-D_GNU_SOURCE', '-o', program, source], check=True)
    return program


def once(tracer, waymark, program, kind, directory):
    """(nanoseconds for a call in the best row, in all rows; lost records)."""
    output = os.path.join(directory, 'calls')
    argv = {'plain': [], RIVAL: ['strace', '-o', output], 'waymark': [waymark, 'strace', '-o', output]}[tracer]
    done = subprocess.run(argv + [program, kind, str(ROUNDS[tracer])], capture_output=True, text=True, check=True)
    lost = re.search(r'(\d+) records .* were lost', done.stderr)
    best, mean = [float(word) for word in done.stdout.split()]
    return best, mean, int(lost.group(1)) if lost else 0


def measure(waymark, runs, directory):
    """Cases like those of common.py: floor (plain), ours, the rival; in nanoseconds for a call."""
    program, cases = build_program(directory), []
    for kind, name in (('getppid', 'strace_getppid'), ('copy', 'strace_read_write')):
        rows = []
        for _ in range(runs):
            row = {}
            row['floor'], row['mean_floor'], _ = once('plain', waymark, program, kind, directory)
            row['ours'], row['mean_ours'], row['lost'] = once('waymark', waymark, program, kind, directory)
            if shutil.which(RIVAL):
                row[RIVAL], row['mean_' + RIVAL], _ = once(RIVAL, waymark, program, kind, directory)
            rows.append(row)
        middle = {k: statistics.median(r[k] for r in rows) for k in rows[0]}
        case = {
            'name': name, 'unit': 'ns/call', 'floor': round(middle['floor'], 1), 'ours': round(middle['ours'], 1),
            'rivals': {RIVAL: round(middle[RIVAL], 1)} if RIVAL in middle else {},
            'mean': {k[5:]: round(middle[k], 1) for k in middle
                     if k.startswith('mean_')}, 'lost': sum(r['lost'] for r in rows), 'runs': rows
        }
        if RIVAL in middle:
            case['times_dearer'] = round((middle[RIVAL] - middle['floor']) / max(middle['ours'] - middle['floor'], 1),
                                         1)
        cases.append(case)
        show(case)
    return cases


def show(case):
    print(
        '  %-18s plain %7.1f  waymark strace %7.1f  strace %9.1f ns/call (mean %s): strace makes a call dearer by %s '
        'times as much; lost %d'
        % (case['name'], case['floor'], case['ours'], case['rivals'].get(
            RIVAL, 0), case['mean'], case.get('times_dearer', '-'), case['lost']), flush=True)


def bench_strace(b):
    """The time of a system call: plain, with `waymark strace`, with strace."""
    if os.geteuid() != 0:
        print('    (left out: only root may trace the kernel)')
        return []
    return measure(b.waymark, b.runs, b.scratch)


def main():
    parser = argparse.ArgumentParser(description='waymark strace against strace.')
    parser.add_argument('--build', default='build')
    parser.add_argument('--runs', type=int, default=5)
    options = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit('kernel_strace.py: only root may trace the kernel (run it as root)')
    directory = os.path.join(options.build, 'bench')
    os.makedirs(directory, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        cases = measure(os.path.abspath(os.path.join(options.build, 'src', 'cli', 'waymark')), options.runs, scratch)
    with open(os.path.join(directory, 'strace.json'), 'w') as file:
        json.dump({'bench': 'strace', 'cases': cases}, file, indent=1)


if __name__ == '__main__':
    main()
