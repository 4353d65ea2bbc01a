#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Waymark on aarch64, built here and run in an emulated machine under Debian's own arm64 kernel: user and kernel events.

On aarch64 tracefs does not have the processor's counter as a clock. All cases share one boot, in this order. The
`waymark` of this machine reads their traces. Only the long run has these cases, because emulation is slow.
"""
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from cross import STRACE, UNITS, build_for_aarch64  # noqa: E402
from emulated import NotHere  # noqa: E402
from harness import VIEW, WAYMARK, check, finished, limit, main, slurp  # noqa: E402
from kernel_facts import facts  # noqa: E402
from machine import ARM64, Machine  # noqa: E402
from strace_lines import by_birth, read  # noqa: E402
from t_kernel_clock import TRIPLES, WHOLE, check_metadata, check_order, records  # noqa: E402
from t_strace import compare  # noqa: E402

PROGRAMS = ['kcalls', 'procs', 'traced_syscalls']
PROBED = ['libprobed.so', 'probed-stripped', 'probed-o0', 'probed-o0-nopie', 'probed-o2', 'probed-o2-nopie']
TESTED = ['test-kernel-instance', 'test-kernel-syscalls-live', 'test-kernel-syscalls-pointed-live', 'test-probes-live']


def build():
    if not os.environ.get('WMK_LONG'):
        raise NotHere('only scripts/test.sh --long emulates aarch64')
    return build_for_aarch64(PROGRAMS, TESTED + PROBED)


MACHINE = Machine([*PROGRAMS, STRACE, *(os.path.join(UNITS, name) for name in TESTED + PROBED)], memory_mb=1024,
                  kind=ARM64, build=build)
# Each command takes some seconds there when this machine is idle.
LIMIT_S, UNIT_S = 300, 1200
BOTH = "--no-statedump -c procname -e 'test:*' -k 'syscall:openat' -k 'sched_switch'"


def run(command, **more):
    return MACHINE.run(command, **{'limit': LIMIT_S, **more})


def record(options, command, recorder='record --private'):
    """The figures that `waymark record --json` prints at its end."""
    said = run('waymark %s --json %s -- %s' % (recorder, options, command)).out
    return json.loads(said[said.rindex('{"path"'):])


def check_triples(case, path, clock, begun, runs=1):
    """Each system call lies between the two records of its program, in a trace with this clock."""
    directory = MACHINE.fetch(path, case.directory)
    check_metadata(directory, clock)
    found = [row for row in records(directory) if row[1] in WHOLE]
    check_order(found, WHOLE, runs)
    check(all(begun <= t <= time_there() for t, _, _ in found), '%s: times from %s to %s; begun at %s', path,
          found[0][0], found[-1][0], begun)
    return found


def time_there():
    """Seconds since 1970 by the machine's clock, rounded up."""
    return int(run('date +%s').out) + 1


@limit(900)
def emulated_machine_has_no_counter_clock_in_tracefs(case):
    """The machine's tracefs has everything that these cases record, but no counter."""
    MACHINE.boot()
    # Without randomization the loader makes the same system calls in each run.
    run('mount -t tracefs nodev /sys/kernel/tracing; echo 0 >/proc/sys/kernel/randomize_va_space')
    there = facts(lambda script: run(script).out)
    print('# %s, at a shell after %.1f s' % (there['kernel'], MACHINE.booted_s))
    wanted = dict.fromkeys(('tracefs', 'instances', 'syscalls', 'kprobes', 'uprobes', 'btf', 'set_event_pid'), 'yes')
    wanted.update(kernel=MACHINE.kernel.release, cpus='2', clocksource='arch_sys_counter')
    check({k: there.get(k) for k in wanted} == wanted, 'the kernel has %s', there)
    check('mono' in there['trace_clocks'].split() and 'tsc' not in there['trace_clocks'],
          'the clocks of tracefs are %s', there['trace_clocks'])
    check(run('uname -m').out == 'aarch64\n', 'the booted machine is not aarch64')


@limit(600)
def default_clock_is_monotonic_on_aarch64(case):
    """
    The default if the daemon can record the kernel. The counter is refused for kernel events, but not for user events.
    """
    run('waymark create default -o /tmp/default')
    (session,) = json.loads(run('waymark list default --json').out)['sessions']
    run('waymark destroy default')
    check(session['clock'] == 'monotonic', 'the clock of a session is %s', session['clock'])
    check('timestamps from its clock mono' in run('waymark list -k sched_switch').out, 'list -k shows a wrong clock')
    said = run('waymark record --clock=counter -k sched_switch -- true', status=1).err
    check('--clock=monotonic' in said and 'trace_clock' in said, 'wrong message for the counter: %s', said)
    figures = record("--clock=counter -e 'test:*' -o /tmp/counter", 'kcalls triples %d' % TRIPLES)
    check(figures['lost'] == 0 and figures['records'] - figures['state_dump'] == 2 * TRIPLES, 'recorded: %s', figures)
    directory = MACHINE.fetch('/tmp/counter', case.directory)
    words = ''.join(slurp(os.path.join(at, 'metadata')) for at, _, names in os.walk(directory) if 'metadata' in names)
    check('name = "cntvct";' in words, 'the clock of the trace is not the counter: %s', words[:500])
    done = finished([WAYMARK, 'view', '--json', directory], capture_output=True, text=True)
    numbers = [(r['event'], r['fields']['i']) for r in map(json.loads, done.stdout.splitlines())
               if r['event'].startswith('test:')]
    check(numbers == [(name, i) for i in range(TRIPLES) for name in ('test:before', 'test:after')],
          'the order of records is %s', numbers[:20])


@limit(600)
def daemons_record_both_domains_on_aarch64(case):
    """A session made by commands: nothing is lost, the state dump is in the trace, and `list` names BPF."""
    for command in ('create both -o /tmp/both', "enable-channel one", 'add-context -c one -t procname',
                    "enable-event -c one 'test:*'", 'enable-channel -k two',
                    'add-context -k -c two -t procname,pid,tid', 'enable-event -k -c two --syscall openat',
                    'enable-event -k -c two sched_switch', 'start'):
        run('waymark ' + command)
    begun = time_there() - 2
    run('kcalls triples %d' % TRIPLES)
    (session,) = json.loads(run('waymark list both --json').out)['sessions']
    by = {channel['name']: channel.get('calls_by') for channel in session['channels']}
    check(by['two'] == 'bpf', 'system calls are recorded by %s', by)
    run('waymark stop')
    end = json.loads(run('waymark destroy --json').out)['sessions'][0]
    check(end['counts']['lost'] == 0, 'counts: %s', end['counts'])
    check_triples(case, '/tmp/both', 'monotonic', begun)
    shown = finished([WAYMARK, *VIEW, case.path('both')], stdin=subprocess.DEVNULL, capture_output=True,
                     text=True).stdout
    for wanted in (r'lttng_statedump_process_state: .*tid = 1, .*name = "init"', r'sched_switch: .*prev_comm'):
        check(re.search(wanted, shown), 'the trace does not have %s', wanted)
    left = run('ls /sys/kernel/tracing/instances').out
    check(left == '', 'instances of tracefs are left: %s', left)


@limit(900)
def user_and_kernel_records_are_in_order_on_aarch64(case):
    """With the default and with --clock=monotonic; system calls by BPF and by tracefs; with and without the daemons."""
    for number, (clock, by, recorder) in enumerate([
            ('', '', 'record --private'), ('--clock=monotonic', '--syscall-arguments none', 'record --private'),
            ('--clock=monotonic', '', 'record'), ('', '--syscall-arguments none', 'record')]):
        path, begun = '/tmp/both%d' % number, time_there() - 2
        figures = record('%s %s %s -o %s' % (BOTH, clock, by, path), 'kcalls triples %d' % TRIPLES, recorder)
        check(figures['lost'] == 0, '%s %s: %s', clock, by, figures)
        found = check_triples(case, path, 'monotonic', begun)
        names = {f['filename'] for _, event, f in found if event == WHOLE[1]}
        check(by or '/nowhere/at/all' in names, 'openat has the names %s', names)


@limit(600)
def system_calls_have_the_arguments_of_aarch64(case):
    """clone() has tls before child_tidptr there; execve() has its texts."""
    figures = record("--no-statedump -p -k 'syscall:*' -c procname -o /tmp/lives", 'kcalls lives 2 /tmp/lives.txt')
    check(figures['lost'] == 0, 'lost: %s', figures)
    directory = MACHINE.fetch('/tmp/lives', case.directory)
    done = finished([WAYMARK, 'view', '--json', directory], capture_output=True, text=True)
    check(done.returncode == 0 and not done.stderr, 'view: %s', done.stderr[-500:])
    of = {}
    for shown in map(json.loads, done.stdout.splitlines()):
        of.setdefault(shown['event'], []).append(shown['fields'])
    threads = [f for f in of['syscall_entry_clone'] if f['clone_flags'] & 0x10000]
    check(threads and all(f['newsp'] < f['child_tidptr'] < f['tls'] for f in threads), 'wrong arguments of clone: %s',
          threads)
    check(['kcalls', 'lives', '2', '/tmp/lives.txt'] in [f['argv'] for f in of['syscall_entry_execve']],
          'execve has %s', of['syscall_entry_execve'])
    check(not [name for name in of if 'unknown' in name], 'events without a name: %s', sorted(of))


@limit(900)
def waymark_strace_prints_the_lines_of_strace_on_aarch64(case):
    """Debian's strace and `waymark strace` print the same lines for the same program."""
    for kind, most in (('files', 0), ('memory', 0), ('waiting', 0), ('sockets', 0), ('processes', 1)):
        sides = []
        for tracer in ('strace', 'waymark strace'):
            run('rm -rf /tmp/runs; mkdir /tmp/runs; cd /tmp/runs; '
                'env -i PATH="$PATH" LC_ALL=C HOME=/root %s -o /tmp/lines traced_syscalls %s' % (tracer, kind))
            sides.append(by_birth(read(run('cat /tmp/lines').out, False)))
        compare(*sides, kind, most)


def unit(name, arguments=''):
    """A unit test of src/kernel: at least one test passes, and none fails."""
    said = run('cd %s; %s %s 2>&1' % (UNITS, name, arguments), limit=UNIT_S, status=None).out
    passed = re.search(r'PASSED  \] (\d+) test', said)
    check(passed and int(passed.group(1)) > 0 and 'FAILED' not in said, '%s printed: %s', name, said[-1500:])


@limit(600)
def unit_tests_of_instances_pass_on_aarch64(case):
    unit('test-kernel-instance')


@limit(1500)
def unit_tests_of_system_calls_pass_on_aarch64(case):
    unit('test-kernel-syscalls-live')
    unit('test-kernel-syscalls-pointed-live')


@limit(600)
def unit_tests_of_probes_pass_on_aarch64(case):
    run('mount -t debugfs nodev /sys/kernel/debug')
    unit('test-probes-live', ' '.join(PROBED))


def kernel_log_has_no_warnings_on_aarch64(case):
    check(not MACHINE.complaints(), 'the kernel log has: %s', '\n'.join(MACHINE.complaints()))


if __name__ == '__main__':
    with MACHINE:
        main([
            emulated_machine_has_no_counter_clock_in_tracefs, default_clock_is_monotonic_on_aarch64,
            daemons_record_both_domains_on_aarch64, user_and_kernel_records_are_in_order_on_aarch64,
            system_calls_have_the_arguments_of_aarch64, waymark_strace_prints_the_lines_of_strace_on_aarch64,
            unit_tests_of_instances_pass_on_aarch64, unit_tests_of_system_calls_pass_on_aarch64,
            unit_tests_of_probes_pass_on_aarch64, kernel_log_has_no_warnings_on_aarch64
        ])
