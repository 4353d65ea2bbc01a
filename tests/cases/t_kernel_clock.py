#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The clock of a session: records of applications and of the kernel use it, and have the true order."""
import itertools
import json
import os
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from clocks import NAMES, available_to_the_kernel  # noqa: E402
from harness import WAYMARK, Skip, check, communicated, finished, limit, slurp  # noqa: E402
from kernel import KCALLS, TRACING, KernelWorld, kernel_main, need_kernel  # noqa: E402
from mounts import lay_over, private_mounts  # noqa: E402

TRIPLES = 50
# Domains and buffers of a session: options of `create`, of the user channel, of the kernel channel (None: no channel).
ROWS = {
    'user': ([], [], None),
    'user, overwritten': ([], ['--overwrite'], None),
    'user, for each process': ([], ['--buffers-pid'], None),
    'user, in files': (['--shm-path', 'shm'], [], None),
    'kernel, overwritten': ([], None, ['--overwrite']),
    'both': ([], [], []),
    'both, for each process': ([], ['--buffers-pid'], []),
}
# Without argument texts the kernel itself filters out other programs, so small buffers are large enough.
OURS = '$ctx.procname == "kcalls"'
SMALL = ['--subbuf-size', '256k', '--num-subbuf', '4']
AHEAD = ['unshare', '--time', '--fork', '--monotonic', '1000', '--boottime', '2000']
WHOLE = ('test:before', 'syscall_entry_openat', 'syscall_exit_openat', 'test:after')


def begin(w, name, clock, row):
    options, user, kernel = ROWS[row]
    options = [w.case.path(word) if word == 'shm' else word for word in options]
    w('create', name, '--no-statedump', *(['--clock', clock] if clock else []), *options)
    if user is not None:
        w('enable-channel', '-s', name, 'user', *SMALL, *user)
        w('add-context', '-s', name, '-c', 'user', '-t', 'procname')
        w('enable-event', '-s', name, '-c', 'user', 'test:before', 'test:after')
    if kernel is not None:
        w('enable-channel', '-k', '-s', name, 'kernel', '--syscall-arguments', 'none', *SMALL, *kernel)
        w('add-context', '-k', '-s', name, '-c', 'kernel', '-t', 'procname')
        w('enable-event', '-k', '-s', name, '-c', 'kernel', '--syscall', 'openat', '--filter', OURS)
    w('start', name)


def run_triples(w, within=()):
    """TRIPLES times: a record, openat(), a record, each on another CPU. Returns the start time."""
    begun = time.time()
    child = w.run([*within, KCALLS, 'triples', str(TRIPLES)], stdout=subprocess.PIPE)
    communicated(child)
    w.wait_end(child)
    return begun


def records(directory):
    """[(seconds since 1970, event, fields)] of kcalls, in the order of time."""
    done = finished([WAYMARK, 'view', '--json', directory], capture_output=True, text=True)
    check(done.returncode == 0 and not done.stderr, 'view: %s', done.stderr[-500:])
    lines = map(json.loads, done.stdout.splitlines())
    return [(float(line['time']), line['event'], line['fields']) for line in lines
            if (line.get('context') or {}).get('procname') == 'kcalls']


def events_of_babeltrace(directory):
    done = finished(['babeltrace2', directory], capture_output=True, text=True)
    check(done.returncode == 0 and not done.stderr, 'babeltrace2: %s', done.stderr[-500:])
    return re.findall(r'\) (?:\S+ )?(\S+): \{.*procname = "kcalls"', done.stdout)


def check_order(found, wanted, runs):
    """
    Each of these events in turn, `runs` * TRIPLES times. The loader opens libraries before the first triple of a run.
    """
    place = made = 0
    for _, event, fields in found:
        opens = event.startswith('syscall_')
        if opens and (place == 0 and wanted[0] != event or event.endswith('entry_openat') and
                      fields['mode'] != made % TRIPLES):
            continue
        check(event == wanted[place], 'triple %d: %s where %s should be', made, event, wanted[place])
        if not opens:
            check(fields['i'] == made % TRIPLES, 'triple %d: %s', made, fields)
        place = (place + 1) % len(wanted)
        made += place == 0
    check(made == runs * TRIPLES, '%d of %d triples', made, runs * TRIPLES)


def check_metadata(directory, clock):
    paths = [os.path.join(at, 'metadata') for at, _, names in os.walk(directory) if 'metadata' in names]
    check(paths, 'no metadata in %s', directory)
    for path in paths:
        words = slurp(path)
        check('name = "%s";' % NAMES[clock][0] in words, 'the clock of %s is not %s', path, clock)
        check(clock != 'monotonic' or 'freq = 1000000000;' in words, '%s: the rate of CLOCK_MONOTONIC is not 1 GHz',
              path)


def check_trace(path, clock, row, runs, begun):
    user, kernel = (kind is not None for kind in ROWS[row][1:])
    found = records(path)
    now = time.time()
    check(all(begun - 1 <= t <= now + 1 for t, _, _ in found), '%s, %s: times from %s to %s at %s to %s', clock, row,
          found[0][0], found[-1][0], begun, now)
    check_metadata(path, clock)
    names = [name for name in WHOLE if (kernel if name.startswith('syscall_') else user)]
    if user:
        check_order(found, names, runs)
    else:
        check(len([r for r in found if r[1] == WHOLE[1]]) >= runs * TRIPLES, '%s: %d calls', row, len(found))
    check(events_of_babeltrace(path) == [r[1] for r in found], '%s, %s: babeltrace2 has a different order', clock, row)


def tracefs_clocks(w):
    """The clocks of this daemon's instances, except for the instances that record tasks."""
    names = [name for name in w.instances() if 'kernel' in name and not name.endswith('-tasks')]
    return sorted(re.search(r'\[(\S+)\]', slurp('%s/instances/%s/trace_clock' % (TRACING, name))).group(1)
                  for name in names)


@limit(300)
def every_domain_and_buffer_mode_records_with_the_set_clock(case):
    """A program runs in all sessions at once. The session daemon is killed, and the program runs again."""
    clocks = available_to_the_kernel()
    sessions = {'s%d' % i: pair for i, pair in enumerate(itertools.product(clocks, ROWS))}
    with KernelWorld(case) as w:
        for name, pair in sessions.items():
            begin(w, name, *pair)
            check(w.session(name)['clock'] == pair[0] and 'clock ' + pair[0] in w('list', name).out,
                  'list does not show %s: %s', pair, w('list', name).out)
        kernel = sum(row[2] is not None for row in ROWS.values())
        offered = tracefs_clocks(w)
        check(all(offered.count(NAMES[clock][1]) >= kernel for clock in clocks), 'clocks in tracefs: %s', offered)
        begun = run_triples(w)
        os.kill(w.sessiond(), signal.SIGKILL)
        w.wait(lambda: not w.sessiond(), 'the session daemon to be gone')
        w('list')
        for name, (clock, _) in sessions.items():
            check(w.session(name)['clock'] == clock, '%s has a wrong clock after a restart', name)
        run_triples(w)
        for name, (clock, row) in sessions.items():
            w.stop(name)
            end = w('destroy', name, '--json').json['sessions'][0]
            check(end['counts']['lost'] == 0, '%s, %s: %s', clock, row, end['counts'])
            check_trace(end['path'], clock, row, 2, begun)


@limit(120)
def kernel_state_dump_uses_the_clock_of_the_session(case):
    with KernelWorld(case) as w:
        for clock in available_to_the_kernel():
            begun = time.time()
            w('create', clock, '--clock', clock)
            w('enable-event', '-k', '-s', clock, 'sched_process_exec')
            w('start', clock)
            path = w.stop(clock)['path']
            w('destroy', clock)
            done = finished([WAYMARK, 'view', '--json', path], capture_output=True, text=True)
            check(done.returncode == 0 and not done.stderr, 'view: %s', done.stderr[-500:])
            times = [float(line['time']) for line in map(json.loads, done.stdout.splitlines())
                     if line['event'].startswith('lttng_statedump_')]
            check(times and begun - 1 <= min(times) <= max(times) <= time.time() + 1, '%s: %d records, %s to %s at %s',
                  clock, len(times), min(times, default=0), max(times, default=0), begun)


@limit(120)
def record_without_session_daemon_uses_the_given_clock(case):
    """`record --private --clock`, with system calls by BPF where available: their times are mapped to the clock."""
    need_kernel()
    for clock in available_to_the_kernel():
        begun = time.time()
        done = case.record([KCALLS, 'triples', str(TRIPLES)],
                           ['--private', '--clock', clock, '--no-statedump', '-p', '-k', 'syscall:openat',
                            '--kernel-filter', OURS, '-c', 'procname', '-e', 'test:before', '-e', 'test:after']).ok()
        check_trace(done.directory, clock, 'both', 1, begun)


@limit(120)
def clock_in_a_time_namespace_is_that_of_the_machine(case):
    """Either the program is in the time namespace, or `record` as well."""
    with KernelWorld(case) as w:
        clocks = available_to_the_kernel()
        for clock in clocks:
            begin(w, clock, clock, 'both, for each process')
        begun = run_triples(w, AHEAD)
        for clock in clocks:
            path = w.stop(clock)['path']
            w('destroy', clock)
            check_trace(path, clock, 'both', 1, begun)
        for clock in clocks:
            begun, path = time.time(), case.path('private-' + clock)
            argv = [*AHEAD, WAYMARK, 'record', '--private', '--clock', clock, '--no-statedump', '-p', '-k',
                    'syscall:openat', '--kernel-filter', OURS, '-c', 'procname', '-e', 'test:before',
                    '-e', 'test:after', '-o', path, '--', KCALLS, 'triples', str(TRIPLES)]
            done = finished(argv, env=w.env, capture_output=True, text=True)
            check(done.returncode == 0, '%s: status %d: %s', clock, done.returncode, done.stderr)
            check_trace(path, clock, 'both', 1, begun)


@limit(120)
def clock_is_monotonic_if_tracefs_has_no_counter(case):
    """tracefs offers no counter: the default clock works in both domains, the counter only in the user domain."""
    need_kernel()
    offered = slurp(TRACING + '/trace_clock')
    with open(case.path('trace_clock'), 'w') as f:
        f.write(re.sub(r' \[?x86-tsc\]?', '', offered))
    try:
        private_mounts()
        lay_over(case.path('trace_clock'), TRACING + '/trace_clock')
    except OSError as error:
        raise Skip('cannot lay a file over trace_clock: %s' % error)
    with KernelWorld(case) as w:
        begin(w, 'default', None, 'both')
        check(w.session('default')['clock'] == 'monotonic', 'the default is %s', w.session('default')['clock'])
        check('timestamps from its clock mono' in w('list', '-k', 'sched_switch').out, 'list -k shows a wrong clock')
        begun = run_triples(w)
        path = w.stop('default')['path']
        w('destroy', 'default')
        check_trace(path, 'monotonic', 'both', 1, begun)
        if 'counter' in available_to_the_kernel():
            begin(w, 'counter', 'counter', 'user')
            w('enable-event', '-k', '-s', 'counter', 'sched_switch',
              status=1).prints('--clock=monotonic', 'trace_clock')
            w('destroy', 'counter')
            done = w('record', '--private', '--clock=counter', '-k', 'sched_switch', '--', 'true', status=1)
            done.prints('--clock=monotonic')


if __name__ == '__main__':
    kernel_main([every_domain_and_buffer_mode_records_with_the_set_clock,
                 kernel_state_dump_uses_the_clock_of_the_session, record_without_session_daemon_uses_the_given_clock,
                 clock_in_a_time_namespace_is_that_of_the_machine, clock_is_monotonic_if_tracefs_has_no_counter])
