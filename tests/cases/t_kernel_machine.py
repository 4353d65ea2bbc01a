#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Waymark under a second kernel, Debian's own, in an emulated machine: what the kernel on which the tests run may lack, or may not be made to do.

All cases share one boot, in this order. A check of the kernel domain is a few lines:

    def records_a_switch(case):
        MACHINE.run('waymark record -k sched_switch -o /tmp/switch -- procs leaf 5')
        check(any('sched_switch' in line for line in view(case, '/tmp/switch')), 'no sched_switch is in the trace')

tests/lib/machine.py says what is in the machine and what it is like.
"""
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from harness import PROGRAMS, WAYMARK, Failure, Trace, check, check_sequences, main  # noqa: E402
from kernel_facts import facts  # noqa: E402
from machine import Machine  # noqa: E402
from traces import BOARD_SIZE  # noqa: E402

# As a module to load and unload: one with tracepoints of its own, which needs others.
MODULE = 'nbd'
# Before a command whose programs say there what they have recorded.
BOARD = 'rm -f /tmp/board; truncate -s %d /tmp/board; export WMK_TEST_BOARD=/tmp/board; ' % BOARD_SIZE
MACHINE = Machine([os.path.join(PROGRAMS, name) for name in ('procs', 'busy')], modules=[MODULE])


def view(case, path, *options):
    """Bring a trace of the machine here; the lines of `waymark view`, which has nothing to complain of."""
    directory = MACHINE.fetch(path, case.directory)
    done = subprocess.run([WAYMARK, 'view', *options, directory], env=case.env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
    check(done.returncode == 0 and not done.stderr, 'waymark view ended with status %d and says: %s', done.returncode, done.stderr[-800:])
    return done.stdout.splitlines()


def recorded(case, path):
    """What the programs of BOARD recorded is in a trace of the machine, each record once and in order, for three readers. How many there are."""
    shown = sum('test:seq' in line for line in view(case, path))
    MACHINE.fetch('/tmp/board', case.directory)
    numbers = check_sequences(Trace(case.path(os.path.basename(path))), case.board, 0)
    check(sum(map(len, numbers.values())) == shown, 'waymark view shows %d records, there are: %s', shown, list(map(len, numbers.values())))
    return shown


def tracing(*lines):
    """Lines of shell in tracefs, the first that fails is the last; what they print."""
    return MACHINE.run('set -e; cd /sys/kernel/tracing\n' + '\n'.join(lines)).out


def failure_of(command, **more):
    """The words in which a command fails."""
    try:
        MACHINE.run(command, **more)
    except Failure as failure:
        return str(failure)
    check(False, '`%s` did not fail', command)


def boots(case):
    """With all that the other cases are about: else they would be skipped, or fail for other reasons."""
    MACHINE.run('mount -t tracefs nodev /sys/kernel/tracing')
    there = facts(lambda script: MACHINE.run(script).out)
    print('# %s, at a shell after %.1f s' % (there['kernel'], MACHINE.booted_s))
    wanted = dict.fromkeys(('tracefs', 'instances', 'syscalls', 'kprobes', 'uprobes', 'function', 'btf', 'set_event_pid', 'set_event_notrace_pid',
                            'buffer_percent'), 'yes')
    wanted.update(kernel=MACHINE.kernel.release, cpus='2', clocksource='tsc', lockdown='[none] integrity confidentiality')
    check({k: there.get(k) for k in wanted} == wanted, 'the kernel has %s', there)
    check('x86-tsc' in there['trace_clocks'], 'tracefs has the clocks %s', there['trace_clocks'])
    config = MACHINE.kernel.config()
    for option in ('KPROBES', 'KPROBE_EVENTS', 'UPROBE_EVENTS', 'FUNCTION_TRACER', 'FTRACE_SYSCALLS', 'BPF_SYSCALL', 'DEBUG_INFO_BTF', 'HOTPLUG_CPU'):
        check(config.get(option) == 'y', 'the kernel\'s configuration has %s=%s', option, config.get(option))


def kprobes_work(case):
    """Entry with arguments by register, one of them a string of the program, and return with its value."""
    said = tracing('echo "p:wmkt/opens do_sys_openat2 dfd=%di:s32 name=+0(%si):ustring" >>kprobe_events',
                   'echo "r:wmkt/opened do_sys_openat2 value=\\$retval:s32" >>kprobe_events',
                   'mkdir instances/wmkt; echo 1 >instances/wmkt/events/wmkt/enable',
                   'cat /nowhere/to/be/found 2>/dev/null || true',
                   'cat instances/wmkt/trace; rmdir instances/wmkt; echo >kprobe_events')
    # a line begins with the name of the program, which the kernel may have forgotten, and its number
    opened = re.search(r'-(\d+) .* opens: .* dfd=-100 name="/nowhere/to/be/found"\n(?:.*\n)*?.*-\1 .* opened: .* value=(-?\d+)\n', said)
    check(opened and opened.group(2) == '-2', 'the trace has: %s', said[-1500:])
    check(tracing('cat kprobe_events') == '', 'probes are left')


def function_tracer_works(case):
    """In an instance, with a filter; the graph, which tells of returns, in the whole tracefs only."""
    said = tracing('mkdir instances/wmkt; cd instances/wmkt; echo vfs_unlink >set_ftrace_filter; echo function >current_tracer',
                   'touch /tmp/thing; rm /tmp/thing', 'cat trace; cd ../..; rmdir instances/wmkt')
    calls = [line for line in said.splitlines() if not line.startswith('#')]
    check(calls and all(': vfs_unlink <-' in line for line in calls), 'the trace has: %s', said[-1500:])
    said = tracing('echo vfs_unlink >set_ftrace_filter; echo function_graph >current_tracer', 'touch /tmp/thing; rm /tmp/thing',
                   'cat trace; echo nop >current_tracer; echo >set_ftrace_filter')
    check(' us ' in said and 'vfs_unlink();' in said, 'the trace has: %s', said[-1500:])


def a_processor_goes_and_comes(case):
    online = '/sys/devices/system/cpu/online'
    for value, there in (('0', '0'), ('1', '0-1')):
        said = MACHINE.run('echo %s >/sys/devices/system/cpu/cpu1/online; cat %s' % (value, online)).out.strip()
        check(said == there, 'the processors %s are there, not %s', said, there)
    tracing('echo "on both" >trace_marker; taskset 2 sh -c "echo on the second >trace_marker"')
    check('on the second' in tracing('cat per_cpu/cpu1/trace; echo >trace'), 'nothing was recorded on the processor that came back')


def a_module_goes_and_comes(case):
    """And its tracepoints with it."""
    for name in MACHINE.needed(MODULE):
        MACHINE.run('insmod /modules/%s.ko' % name)
    check(tracing('ls events/%s | wc -l' % MODULE).strip() > '1', 'the module %s has no tracepoints', MODULE)
    for name in reversed(MACHINE.needed(MODULE)):
        MACHINE.run('rmmod %s' % name)
    check(tracing('ls -d events/%s 2>/dev/null || true' % MODULE) == '', 'the tracepoints of the module %s stayed', MODULE)


def records_programs(case):
    """The user domain: two threads, on two processors."""
    MACHINE.run(BOARD + 'waymark record --private -o /tmp/user -- busy count 2 1000')
    check(recorded(case, '/tmp/user') == 2000, 'other records are there than were made')


def the_daemons_record(case):
    """Which the first command starts."""
    for command in ('create one -o /tmp/one', "enable-event 'test:*'", 'start'):
        MACHINE.run('waymark ' + command)
    MACHINE.run(BOARD + 'procs leaf 5')
    MACHINE.run('waymark destroy')
    check(recorded(case, '/tmp/one') == 6, 'other records are there than were made')


def the_machine_tells_of_failures(case):
    """A status, a command that does not end, and the machine goes on."""
    check(MACHINE.run('echo out; echo err >&2; exit 3', status=3).out == 'out\n', 'its output is another one')
    words = ('did not end', 'begun', 'sleep 1000', 'nanosleep')
    for limit in (0.5, 5, 50):                              # in too little time it has not begun
        said = failure_of('echo begun; sleep 1000', limit=limit)
        if all(word in said for word in words):
            break
    else:
        check(False, 'of a command that does not end it is said: %s', said)
    check(MACHINE.run('ps').out.count('sleep') == 0, 'the command runs on')


def the_kernel_has_not_complained(case):
    check(not MACHINE.complaints(), 'the kernel says: %s', '\n'.join(MACHINE.complaints()))


def a_kernel_that_dies_is_named(case):
    """The last one: the machine is gone then."""
    for command, words in (('echo c >/proc/sysrq-trigger', 'Kernel panic'), ('true', 'sysrq-trigger')):
        said = failure_of(command)
        check('is gone' in said and words in said, 'it is said: %s', said)


if __name__ == '__main__':
    with MACHINE:
        main([boots, kprobes_work, function_tracer_works, a_processor_goes_and_comes, a_module_goes_and_comes, records_programs, the_daemons_record,
              the_machine_tells_of_failures, the_kernel_has_not_complained, a_kernel_that_dies_is_named])
