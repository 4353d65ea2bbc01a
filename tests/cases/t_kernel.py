#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
`waymark record -k` without a daemon: kernel and user records together, exact counts of recorded and lost calls, and
messages for each failure.
"""
import contextlib
import glob
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from harness import (  # noqa: E402
    PROGRAMS, WAYMARK, check, finished, limit, need, need_other_users, rounds, slurp, wait_for)
from kernel import (
    CALLS,
    KCALLS,
    TRACING,
    KernelTrace,
    all_there,
    check_turns,
    clean_tracefs,
    kernel_main,
    left_in_tracefs,  # noqa: E402
    need_kernel,
    number,
    of_process,
    patterns,
    text,
    turns_of)

SHOP = os.path.join(os.path.dirname(PROGRAMS), 'examples', 'shop')
LARGE = ['--subbuf-size', '4M', '--num-subbuf', '16']


def record(case, command, options, status=0, lossy=None, **more):
    """(result, output, KernelTrace): no records are lost unless `lossy`, and no instances remain in tracefs."""
    child = case.start(command, options, **more)
    with clean_tracefs(of_process(child.pid)):
        result = case.finish(child).ok(status)
    check(lossy or result.lost + result.summary.get('overwritten', 0) == 0, 'records were lost: %s', result.summary)
    trace = KernelTrace(result.directory, lossy=bool(lossy))
    check(
        len(trace.records) == result.summary['records'], 'the summary has %s records, the trace %d',
        result.summary['records'], len(trace.records))
    return result, result.out, trace


# ── user and kernel records together ─────────────────────────────────────────────────────────────────────

def documented_kernel_commands_succeed(case):
    """The commands of the walk-through, unchanged."""
    need_kernel()
    place = case.path('shop')
    os.mkdir(place)
    os.symlink(SHOP, os.path.join(place, 'shop'))
    env = dict(case.env, PATH=os.path.dirname(WAYMARK) + ':' + os.environ['PATH'], WAYMARK_TRACE_DIR=place, HOME=place)
    done = finished("waymark record -k 'sched_*' -k syscall:openat -e 'shop:*' -- ./shop", shell=True, env=env,
                    cwd=place, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    check(done.returncode == 0 and ' 0 lost' in done.stderr, 'status %d: %s', done.returncode, done.stderr)
    traces = [n for n in os.listdir(place) if n.startswith('shop-')]
    check(len(traces) == 1, 'traces: %s', traces)
    trace = KernelTrace(os.path.join(place, traces[0]))
    for name in ('shop:opened', 'shop:payment', 'sched_switch', 'syscall_entry_openat', 'syscall_exit_openat',
                 'sched_process_exit'):
        check(trace.named(name), 'no record of %s', name)
    check(not [r for r in trace.records if r.name.startswith('syscall_') and not r.name.endswith('openat')],
          'other system calls were recorded')


@limit(120)
def system_call_is_ordered_between_its_neighbour_user_records(case):
    """
    A user record, a system call, a user record: each triple has this order in the trace, even if its records are from
    different CPUs.
    """
    need_kernel()
    n = rounds(10000)
    _, _, trace = record(case, [KCALLS, 'triples', str(n)],
                         ['-k', 'sched_*', '-k', 'syscall:openat', '-e', 'test:*', *LARGE])
    place, current, done, apart = 0, None, 0, 0
    wanted = ('test:before', 'syscall_entry_openat', 'syscall_exit_openat', 'test:after')
    for r in trace.named(*wanted):
        if r.context and text(r.context, 'procname') != 'kcalls':
            continue
        if r.name == 'syscall_entry_openat' and number(r.fields, 'mode') != done:
            continue             # the loader opens libraries before the first triple
        if place == 0 and r.name.startswith('syscall_'):
            continue
        check(r.name == wanted[place], 'triple %d: %s where %s should be: %s', done, r.name, wanted[place], current)
        current = [*(current or []), r] if place else [r]
        if r.name.startswith('test:'):
            check(number(r.fields, 'i') == done, 'triple %d: %s', done, r)
        place = (place + 1) % 4
        if place == 0:
            apart += len({c.cpu for c in current}) > 1
            done += 1
    check(done == n, 'the trace has %d triples of %d', done, n)
    if os.cpu_count() > 1:
        check(apart >= n // 10, 'only %d of %d triples have records on different CPUs', apart, n)


# ── exact counts ──────────────────────────────────────────────────────────────────────────────────────────

@limit(240)
def million_system_calls_are_counted(case):
    need_kernel()
    turns = rounds(200000) // 2
    _, said, trace = record(case, [KCALLS, 'calls', '2', str(turns)], [*patterns(*CALLS), *LARGE, '--num-subbuf', '32'])
    made, tids = turns_of(said)
    check(made == 2 * turns, '%d turns were made', made)
    all_there(trace, made, tids, 2)


def lost_and_recorded(case, overwrite):
    need_kernel()
    turns = rounds(100000) + 20000
    more = ['--overwrite', '--syscall-arguments', 'none'] if overwrite else []
    options = [*patterns(*CALLS), '--subbuf-size', '16k', '--num-subbuf', '4', *more]
    result, said, trace = record(case, [KCALLS, 'calls', '2', str(turns)], options, lossy=True)
    made, tids = turns_of(said)
    lost, n = result.summary['lost'], len([r for r in trace.records if r.name.startswith('syscall_')])
    check(lost > 0, 'nothing was lost in buffers of 64 kB')
    check(lost + n == made * 2 * len(CALLS), '%d lost + %d recorded = %d, not %d (%s)', lost, n, lost + n,
          made * 2 * len(CALLS), result.summary)
    check(trace.lost == lost, 'the summary has %d lost records, the trace %d', lost, trace.lost)
    check_turns(trace, tids)
    return trace


@limit(120)
def small_discard_buffers_count_lost_records(case):
    lost_and_recorded(case, False)


@limit(120)
def small_overwrite_buffers_keep_the_newest_records(case):
    """Overwritten records are older than the recorded ones, and the trace reports them so."""
    trace = lost_and_recorded(case, True)
    first = {}
    for line in subprocess.run(['babeltrace2', '--no-delta', trace.directory], capture_output=True, text=True,
                               errors='replace').stdout.splitlines():
        if ' syscall_' in line:
            first.setdefault(int(re.search(r'cpu_id = (\d+)', line)[1]), re.match(r'\[([\d:.]+)\]', line)[1])
    check(trace.between, 'babeltrace2 reports no losses')
    for begin, cpu in trace.between:
        check(begin <= first[cpu], 'CPU %d: a loss is reported after the first record: %s, first records %s', cpu,
              begin, first)


BUILD = '''
all: %s
%%.o: %%.c
	cc -O2 -c -o $@ $<
'''


def task_of(cpu, tid):
    """The key of a task: each CPU has its own idle task, and all idle tasks have the number 0."""
    return (cpu, tid) if tid == 0 else tid


def silent(cpu, tid, told):
    """Kernels of some virtual machines never report switches from the idle task of a CPU, or from threads of PID 1."""
    if task_of(cpu, tid) in told or tid == 0:
        return task_of(cpu, tid) not in told
    with contextlib.suppress(OSError):
        return '\nTgid:\t1\n' in slurp('/proc/%d/status' % tid)
    return False


@limit(240)
def each_context_switch_starts_from_the_previous_task(case):
    """With default sizes: each switch of each CPU follows from the switch before."""
    need_kernel()
    need('make', 'cc')
    place, n = case.path('build'), 12 + rounds(60)
    os.mkdir(place)
    with open(os.path.join(place, 'Makefile'), 'w') as f:
        f.write(BUILD % ' '.join('m%d.o' % i for i in range(n)))
    for i in range(n):
        with open(os.path.join(place, 'm%d.c' % i), 'w') as f:
            f.write('#include <stdio.h>\n#include <stdlib.h>\n' +
                    ''.join('int f%d_%d(int x) { printf("%%d", x); return rand() * x; }\n' % (i, k) for k in range(50)))
    _, _, trace = record(case, ['make', '-s', '-j4', '-C', place], ['-k', 'sched_*', '-k', 'syscall:*'])
    last, switches, told = {}, 0, {task_of(r.cpu, number(r.fields, 'prev_tid')) for r in trace.named('sched_switch')}
    for r in trace.named('sched_switch'):
        before = number(r.fields, 'prev_tid')
        check(number(r.context, 'tid') == before, 'sched_switch from %d has the context of another task: %s', before, r)
        check(
            last.get(r.cpu, before) == before or silent(r.cpu, last[r.cpu], told),
            'CPU %d: switched to %s, then from %d', r.cpu, last.get(r.cpu), before)
        last[r.cpu] = number(r.fields, 'next_tid')
        switches += 1
    check(switches > 10 * n, 'only %d switches', switches)
    check(
        len({text(r.context, 'procname')
             for r in trace.named('syscall_entry_execve', 'sched_process_exec')} & {'cc', 'make', 'as', 'cc1', 'sh'}) >
        1, 'no compiler was recorded')


# ── contexts ──────────────────────────────────────────────────────────────────────────────────────────────

# Bytes of an index file: its header, and its entry for a packet. An entry begins with the packet's offset and bits.
INDEX_HEAD, INDEX_ENTRY = 16, 72
CONTEXTS = [w for c in ('procname', 'pid', 'tid', 'ppid', 'prio', 'vpid', 'vtid', 'cpu_id') for w in ('-c', c)]


def check_marks(trace, marks):
    """
    The contexts of the program's marks in the trace equal what the program wrote to `marks`. Returns {marker: words}.
    """
    lines = [line.split(' ', 5) for line in slurp(marks).splitlines()]
    told = {-int(words[0]): words for words in lines}
    check(len(told) == len(lines), 'the program made a mark twice')
    entries = [r for r in trace.named('syscall_entry_getsid') if number(r.fields, 'pid') < 0]
    check(len(entries) == len(lines), 'the trace has %d marks, not %d', len(entries), len(lines))
    for r in entries:
        wanted = told[number(r.fields, 'pid')]
        seen = [number(r.context, n) for n in ('pid', 'tid', 'ppid', 'prio')] + [text(r.context, 'procname')]
        check(
            list(map(str, seen)) == wanted[1:], 'mark %s: the record has %s, the program %s', wanted[0], seen,
            wanted[1:])
        check(number(r.context, 'vpid') == seen[0] and number(r.context, 'vtid') == seen[1], 'vpid, vtid: %s', r)
    return told


@limit(60)
def contexts_of_short_tasks_are_correct(case):
    """
    Contexts equal the values that the program reads at that moment, for processes and threads that start, execute,
    rename themselves and end.
    """
    need_kernel()
    marks = case.path('marks')
    _, _, trace = record(case, [KCALLS, 'lives', str(rounds(1000)), marks], ['-k', 'syscall:getsid', *CONTEXTS])
    check(len(check_marks(trace, marks)) >= 8 * rounds(1000), 'the program made too few marks')


def contexts_are_correct_when_task_records_fill_their_buffer(case):
    """
    Few records are recorded while other tasks fill the buffer of task records. That buffer is drained all the same, and
    tasks that have ended are known.
    """
    need_kernel()
    marks = case.path('marks')
    _, _, trace = record(case, [KCALLS, 'crowd', '100', marks], ['-k', 'syscall:getsid', *CONTEXTS])
    check(len(check_marks(trace, marks)) == 3, 'not all marks were made')


def contexts_of_running_tasks_survive_lost_task_records(case):
    """At full speed the kernel may overwrite unread task records: contexts of living tasks are then read from /proc."""
    need_kernel()
    marks = case.path('marks')
    script = '"$@" & while ! grep -q ^101 %s 2>/dev/null; do sleep 0.01; done' % marks
    try:
        _, _, trace = record(case, ['sh', '-c', script, 'sh', KCALLS, 'crowd', '0', marks],
                             ['-k', 'syscall:getsid', *CONTEXTS])
    finally:
        for pid in slurp(marks).split()[1:4:2]:
            os.kill(int(pid), signal.SIGKILL)
    check(len(check_marks(trace, marks)) == 2, 'not all marks were made')


def consumer_does_not_spin_on_an_empty_readable_page(case):
    """
    A kernel may report the buffer of task records as readable although its page is empty, as old kernels do for all
    buffers. The consumer does not spin.
    """
    need_kernel()
    child = case.start(['sleep', '1000'], ['-k', 'syscall:getsid', '-c', 'procname'])
    with clean_tracefs(of_process(child.pid)):
        tasks = wait_for(
            lambda: [n for n in left_in_tracefs() if n.startswith(of_process(child.pid)) and n.endswith('~tasks')],
            'the recording to begin')
        wait_for(
            lambda: 'sleep' in finished(['ps', '-o', 'comm=', '--ppid', str(child.pid)], capture_output=True, text=True)
            .stdout, 'sleep')
        with open(os.path.join(TRACING, 'instances', tasks[0], 'buffer_percent'), 'w') as f:
            f.write('0')
        for cpu in os.sched_getaffinity(0):      # so that each CPU has a record
            finished(['taskset', '-c', str(cpu), 'true'])

        def used():
            return sum(int(slurp(name).split()[0]) for name in glob.glob('/proc/%d/task/*/schedstat' % child.pid)) / 1e9
        before, begun = used(), time.monotonic()
        time.sleep(2)                            # the measured time
        share = (used() - before) / (time.monotonic() - begun)
        check(share < 0.2, 'an idle recording takes %d %% of a CPU', 100 * share)
        os.killpg(child.pid, signal.SIGINT)
        case.finish(child).ok(128 + signal.SIGINT)


def user_contexts_do_not_change_kernel_records(case):
    """Contexts that exist for user events only do not change the kernel's contexts."""
    need_kernel()
    _, _, trace = record(case, [KCALLS, 'calls', '1', '50'],
                         ['-k', 'syscall:' + CALLS[0], '-c', 'ip', '-c', 'pthread_id'])
    calls = trace.named('syscall_entry_' + CALLS[0])
    check(
        calls
        and all(text(r.context, 'procname') and number(r.context, 'pid') and number(r.context, 'tid') for r in calls),
        'contexts: %s', calls[:2])


def kernel_exclusions_apply_in_ctf_1_and_ctf_2(case):
    need_kernel()
    _, _, trace = record(case, [KCALLS, 'calls', '1', '50'],
                         ['-k', 'syscall:timer_*', '-k', '!syscall:timer_delete', '-k', 'syscall:sched_getattr'])
    names = {r.name for r in trace.records}
    check(not names & {'syscall_entry_timer_delete', 'syscall_entry_sched_setparam'}, 'recorded: %s', names)
    check({'syscall_entry_timer_getoverrun', 'syscall_exit_sched_getattr'} <= names, 'recorded: %s', names)
    result = case.record([KCALLS, 'calls', '1', '50'], [*patterns(*CALLS), '--trace-format', 'ctf-2']).ok()
    trace = KernelTrace(result.directory, readers=('view',))
    made, tids = turns_of(result.out)
    all_there(trace, made, tids, 1)


# ── end of a recording ────────────────────────────────────────────────────────────────────────────────────

def kernel_record_returns_the_program_status(case):
    need_kernel()
    for command, status in ((['sh', '-c', 'exit 7'], 7), (['sh', '-c', 'kill -9 $$'], 128 + 9)):
        record(case, command, ['-k', 'sched_process_exit'], status=status)
    child = case.start(['sleep', '1000'], ['-k', 'sched_process_exit', '-k', 'syscall:clock_nanosleep'])
    with clean_tracefs(of_process(child.pid)):
        wait_for(lambda: [n for n in left_in_tracefs() if n.startswith(of_process(child.pid))],
                 'the recording to begin')
        wait_for(
            lambda: 'sleep' in subprocess.run(['ps', '-o', 'comm=', '--ppid',
                                               str(child.pid)], capture_output=True, text=True).stdout, 'sleep')
        os.killpg(child.pid, signal.SIGINT)
        result = case.finish(child).ok(128 + signal.SIGINT)
    trace = KernelTrace(result.directory)
    check([r for r in trace.named('sched_process_exit') if text(r.context, 'procname') == 'sleep'],
          'the end of the program is not in the trace')


def indexed(directory):
    """{stream file: number of its bytes that the index covers}"""
    found = {}
    for path in glob.glob(os.path.join(directory, 'kernel', 'index', '*.idx')):
        with open(path, 'rb') as f:
            entries = f.read()[INDEX_HEAD:]
        places = [
            struct.unpack_from('>QQ', entries, at) for at in range(0,
                                                                   len(entries) - INDEX_ENTRY + 1, INDEX_ENTRY)
        ]
        found[os.path.join(directory, 'kernel',
                           os.path.basename(path)[:-len('.idx')])] = max([at + bits // 8 for at, bits in places],
                                                                         default=0)
        os.truncate(path, INDEX_HEAD + INDEX_ENTRY * len(places))
    return found


def instances_of_a_killed_record_are_removed_from_tracefs(case):
    """
    kill -9 of `waymark record`: the next recording removes its instances from tracefs. The written packets can be read,
    except for an incomplete one.
    """
    need_kernel()
    child = case.start(['sh', '-c', 'sleep 1000 | ' + KCALLS + ' until 1 1000000'],
                       [*patterns(*CALLS), '-c', 'pid', '-c', 'procname'])
    prefix = of_process(child.pid)
    wait_for(lambda: len([n for n in left_in_tracefs() if n.startswith(prefix)]) == 2,
             'an instance, and one for task records')
    # (the stream of a CPU, recorded by BPF where available)
    wait_for(
        lambda: any(
            os.path.getsize(f) > INDEX_HEAD
            for f in glob.glob(os.path.join(child.wmk[2], 'kernel', 'index', 'kernel_*[0-9].idx'))),
        'records to be written')
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    with contextlib.suppress(OSError):
        os.killpg(child.pid, signal.SIGKILL)
    check([n for n in left_in_tracefs() if n.startswith(prefix)],
          'the killed recording left no instance, so this case tests nothing')
    with clean_tracefs(prefix):
        record(case, ['true'], ['-k', 'sched_process_exit'])
    for path, whole in indexed(child.wmk[2]).items():
        os.truncate(path, whole)
    check(KernelTrace(child.wmk[2], lossy=True).records, 'nothing was written')


# ── refused recordings ────────────────────────────────────────────────────────────────────────────────────

def refused(case, options, *words, before=(), command=('true',), **popen):
    """
    The command fails with status 1 or 2 and these words. It leaves no trace and no instance in tracefs, and the program
    does not run.
    """
    ran, directory = case.path('ran'), case.path('refused')
    argv = [*before, WAYMARK, 'record', '--private', '-o', directory, *options, '--', 'touch', ran]
    done = finished(argv, env=case.env, capture_output=True, text=True, stdin=subprocess.DEVNULL, **popen)
    check(done.returncode in (1, 2), '%s: status %d: %s', options, done.returncode, done.stderr)
    for word in words:
        check(any(w in done.stderr for w in word.split('|')), '%s: "%s" is not in the message: %s', options, word,
              done.stderr)
    check(not os.path.exists(ran), '%s: the program ran', options)
    check(not os.path.exists(directory), '%s: a trace was left', options)
    return done.stderr


def unmatched_kernel_patterns_are_refused(case):
    need_kernel()
    before = left_in_tracefs()
    refused(case, ['-k', 'sched_swich'], 'sched_switch')
    refused(case, ['-k', 'syscall:opena'], 'openat')
    refused(case, ['-k', 'nowhere:*'], 'nowhere')
    refused(case, ['-k', ''], 'empty|pattern')
    refused(case, ['-k', 'x' * 5000], 'long|bytes')
    refused(case, ['-k', '!sched_swich'], 'sched_switch')
    refused(case, ['-k', 'sched_switch', '--num-subbuf', '1M', '--subbuf-size', '1G'], 'memory|kB|large|at most')
    check(not [n for n in left_in_tracefs(before) if not os.path.exists('/proc/%s' % re.sub(r'\D.*', '', n[9:]))],
          'left: %s', left_in_tracefs(before))


def kernel_record_without_root_is_refused(case):
    need_kernel()
    need_other_users()
    place = case.short('nobody')
    os.mkdir(place)
    os.chown(place, 65534, 65534)
    for before in (['setpriv', '--reuid', '65534', '--regid', '65534',
                    '--clear-groups'], ['su', '-s', '/bin/sh', 'nobody', '-c']):
        if not shutil.which(before[0]):
            continue
        argv = [WAYMARK, 'record', '--private', '-k', 'sched_switch', '-o', os.path.join(place, 'trace'), '--', 'true']
        argv = before + ([' '.join(argv)] if before[0] == 'su' else argv)
        done = finished(argv, env=case.env, cwd='/', capture_output=True, text=True, stdin=subprocess.DEVNULL)
        check(done.returncode == 1 and 'root' in done.stderr, '%s: status %d: %s', before[0], done.returncode,
              done.stderr)
        check(not os.path.exists(os.path.join(place, 'trace')), 'a trace was left')


def elsewhere(case, script, *words, options=('-k', 'sched_switch')):
    """In its own mount namespace, changed by `script`."""
    need('unshare')
    return refused(case, list(options), *words,
                   before=['unshare', '-m', '--propagation', 'private', 'sh', '-ec', script + '\nexec "$@"', 'sh'])


def missing_tracefs_is_mounted_if_possible_else_reported(case):
    """Not mounted, read-only, hidden: the message names the remedy. A tracefs that is only not mounted is mounted."""
    need_kernel()
    gone = 'umount -l /sys/kernel/debug/tracing 2>/dev/null || :; umount -l /sys/kernel/debug 2>/dev/null || :; ' \
        'umount -l %s\n' % TRACING
    elsewhere(case, 'mount --bind %s %s; mount -o remount,bind,ro %s' % ((TRACING,) * 3), 'read-only', 'remount')
    elsewhere(case, 'umount -l /sys/kernel/debug 2>/dev/null || :; mount -t tmpfs none ' + TRACING,
              'another file system is mounted')
    elsewhere(case, gone + 'mount -t tmpfs none /sys/kernel', 'does not exist|not mounted')
    elsewhere(case, gone + 'exec setpriv --bounding-set -sys_admin --inh-caps -sys_admin "$@"', 'mount')
    elsewhere(case, 'export WAYMARK_TRACEFS=/proc', 'WAYMARK_TRACEFS')
    directory = case.path('mounted')
    done = finished([
        'unshare', '-m', '--propagation', 'private', 'sh', '-ec', gone + 'exec "$@"', 'sh', WAYMARK, 'record',
        '--private', '-o', directory, '-k', 'sched_process_exit', '--', 'true'
    ], env=case.env, capture_output=True, text=True)
    check(done.returncode == 0, 'tracefs is not mounted, as root: status %d: %s', done.returncode, done.stderr)
    check(KernelTrace(directory).records, 'nothing was recorded')


if __name__ == '__main__':
    kernel_main([
        documented_kernel_commands_succeed, system_call_is_ordered_between_its_neighbour_user_records,
        million_system_calls_are_counted, small_discard_buffers_count_lost_records,
        small_overwrite_buffers_keep_the_newest_records, each_context_switch_starts_from_the_previous_task,
        contexts_of_short_tasks_are_correct, contexts_are_correct_when_task_records_fill_their_buffer,
        contexts_of_running_tasks_survive_lost_task_records, consumer_does_not_spin_on_an_empty_readable_page,
        user_contexts_do_not_change_kernel_records, kernel_exclusions_apply_in_ctf_1_and_ctf_2,
        kernel_record_returns_the_program_status, instances_of_a_killed_record_are_removed_from_tracefs,
        unmatched_kernel_patterns_are_refused, kernel_record_without_root_is_refused,
        missing_tracefs_is_mounted_if_possible_else_reported
    ])
