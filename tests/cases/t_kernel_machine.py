#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Waymark under a second kernel, Debian's own, in an emulated machine: features that the test machine's kernel may lack,
and operations that it may not permit.

All cases share one boot, in this order. A check of the kernel domain is a few lines:

    def records_a_switch(case):
        MACHINE.run('waymark record -k sched_switch -o /tmp/switch -- procs leaf 5')
        check(any('sched_switch' in line for line in view(case, '/tmp/switch')), 'no sched_switch is in the trace')

tests/lib/machine.py describes the machine.
"""
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from harness import (  # noqa: E402
    VIEW, WAYMARK, Failure, Skip, Trace, check, check_sequences, finished, main, rounds)
from kernel_facts import facts  # noqa: E402
from machine import Machine  # noqa: E402
from traces import LEDGER_SIZE  # noqa: E402

# A module to load and unload: it has its own tracepoints and needs other modules.
MODULE = 'nbd'
DMSETUP = '/usr/sbin/dmsetup'
# Prefix of a command: its programs write the numbers of their records to the ledger.
LEDGER = 'rm -f /tmp/ledger; truncate -s %d /tmp/ledger; export WMK_TEST_LEDGER=/tmp/ledger; ' % LEDGER_SIZE
# The unit tests of src/kernel that were built, and the programs that they probe.
TESTS = os.path.join(os.environ.get('WMK_BUILD', '.'), 'src', 'kernel', 't')
PROBED = ['libprobed.so', 'probed-stripped', 'probed-o0', 'probed-o0-nopie', 'probed-o2', 'probed-o2-nopie']
UNITS = [
    'test-kernel-cpu', 'test-kernel-syscalls-live', 'test-kernel-syscalls-pointed-live', 'test-probes-live',
    'probe_try', *PROBED
]
UNITS = [name for name in UNITS if os.path.exists(os.path.join(TESTS, name))]
MACHINE = Machine(['procs', 'busy', 'calls', 'traced_syscalls', *(os.path.join(TESTS, name) for name in UNITS),
                   *([DMSETUP] if os.path.exists(DMSETUP) else [])], modules=[MODULE, 'loop', 'dm-delay'])


def view(case, path, *options):
    """Fetch a trace from the machine. Returns the lines of `waymark view`, which must report no error."""
    directory = MACHINE.fetch(path, case.directory)
    done = finished([WAYMARK, *VIEW, *options, directory], env=case.env, stdin=subprocess.DEVNULL, capture_output=True,
                    text=True)
    check(done.returncode == 0 and not done.stderr, 'waymark view ended with status %d: %s', done.returncode,
          done.stderr[-800:])
    return done.stdout.splitlines()


def recorded(case, path):
    """The trace has each record of the ledger's programs once and in order, for three readers. Returns their number."""
    shown = sum('test:seq' in line for line in view(case, path))
    MACHINE.fetch('/tmp/ledger', case.directory)
    numbers = check_sequences(Trace(case.path(os.path.basename(path))), case.ledger, 0)
    check(
        sum(map(len, numbers.values())) == shown, 'waymark view shows %d records, the writers made %s', shown,
        list(map(len, numbers.values())))
    return shown


def tracing(*lines):
    """Run shell lines in tracefs until the first failure. Returns their output."""
    return MACHINE.run('set -e; cd /sys/kernel/tracing\n' + '\n'.join(lines)).out


def failure_of(command, **more):
    """The message of a command that must fail."""
    try:
        MACHINE.run(command, **more)
    except Failure as failure:
        return str(failure)
    check(False, '`%s` did not fail', command)


def virtual_machine_boots_with_all_kernel_features(case):
    """
    The kernel has all features that the other cases need; otherwise they would be skipped or fail for other reasons.
    """
    MACHINE.run('mount -t tracefs nodev /sys/kernel/tracing')
    there = facts(lambda script: MACHINE.run(script).out)
    print('# %s, at a shell after %.1f s' % (there['kernel'], MACHINE.booted_s))
    wanted = dict.fromkeys(('tracefs', 'instances', 'syscalls', 'kprobes', 'uprobes', 'function', 'btf',
                            'set_event_pid', 'set_event_notrace_pid', 'buffer_percent'), 'yes')
    wanted.update(kernel=MACHINE.kernel.release, cpus='1', lockdown='[none] integrity confidentiality')
    check({k: there.get(k) for k in wanted} == wanted, 'the kernel has %s', there)
    check(there['clocksource'] in ('tsc', 'tsc-early'), 'its clock source is %s', there['clocksource'])
    check('x86-tsc' in there['trace_clocks'], 'tracefs has the clocks %s', there['trace_clocks'])
    config = MACHINE.kernel.config()
    for option in ('KPROBES', 'KPROBE_EVENTS', 'UPROBE_EVENTS', 'FUNCTION_TRACER', 'FTRACE_SYSCALLS', 'BPF_SYSCALL',
                   'DEBUG_INFO_BTF', 'HOTPLUG_CPU'):
        check(config.get(option) == 'y', 'the kernel\'s configuration has %s=%s', option, config.get(option))


def virtual_machine_makes_32_bit_system_calls(case):
    """The kernel and the processor support 32-bit system calls, and the check for them (narrow.h) succeeds."""
    check(MACHINE.kernel.config().get('IA32_EMULATION') == 'y', 'the kernel has no IA32_EMULATION')
    MACHINE.run('traced_syscalls narrow')


def kprobes_return_arguments_and_values(case):
    """
    An entry probe with arguments in registers, one of them a user string, and a return probe with the returned value.
    """
    said = tracing('echo "p:wmkt/opens do_sys_openat2 dfd=%di:s32 name=+0(%si):ustring" >>kprobe_events',
                   'echo "r:wmkt/opened do_sys_openat2 value=\\$retval:s32" >>kprobe_events',
                   'mkdir instances/wmkt; echo 1 >instances/wmkt/events/wmkt/enable',
                   'cat /nowhere/to/be/found 2>/dev/null || true',
                   'cat instances/wmkt/trace; rmdir instances/wmkt; echo >kprobe_events')
    # a line begins with the program's name, which the kernel may have lost, and its PID
    opened = re.search(
        r'-(\d+) .* opens: .* dfd=-100 name="/nowhere/to/be/found"\n(?:.*\n)*?.*-\1 .* opened: .* value=(-?\d+)\n',
        said)
    check(opened and opened.group(2) == '-2', 'the trace has: %s', said[-1500:])
    check(tracing('cat kprobe_events') == '', 'probes are left')


def function_tracer_filters_functions(case):
    """In an instance, with a filter. The function graph with returns is available in the top-level tracefs only."""
    said = tracing(
        'mkdir instances/wmkt; cd instances/wmkt; echo vfs_unlink >set_ftrace_filter; echo function >current_tracer',
        'touch /tmp/thing; rm /tmp/thing', 'cat trace; cd ../..; rmdir instances/wmkt')
    calls = [line for line in said.splitlines() if not line.startswith('#')]
    check(calls and all(': vfs_unlink <-' in line for line in calls), 'the trace has: %s', said[-1500:])
    said = tracing('echo vfs_unlink >set_ftrace_filter; echo function_graph >current_tracer',
                   'touch /tmp/thing; rm /tmp/thing', 'cat trace; echo nop >current_tracer; echo >set_ftrace_filter')
    check(' us ' in said and 'vfs_unlink();' in said, 'the trace has: %s', said[-1500:])


def cpu_records_again_after_it_was_offline(case):
    """A CPU that was offline at boot and has come online (cpu_that_comes_online_is_recorded)."""
    online = '/sys/devices/system/cpu/online'
    for value, there in (('0', '0'), ('1', '0-1')):
        said = MACHINE.run('echo %s >/sys/devices/system/cpu/cpu1/online; cat %s' % (value, online)).out.strip()
        check(said == there, 'CPUs %s are online, not %s', said, there)
    tracing('echo "on both" >trace_marker; taskset 2 sh -c "echo on the second >trace_marker"')
    check('on the second' in tracing('cat per_cpu/cpu1/trace; echo >trace'),
          'nothing was recorded on the CPU that came back')


def module_is_unloaded_and_loaded(case):
    """Its tracepoints appear and disappear with it."""
    for name in MACHINE.needed(MODULE):
        MACHINE.run('insmod /modules/%s.ko' % name)
    check(tracing('ls events/%s | wc -l' % MODULE).strip() > '1', 'the module %s has no tracepoints', MODULE)
    for name in reversed(MACHINE.needed(MODULE)):
        MACHINE.run('rmmod %s' % name)
    check(
        tracing('ls -d events/%s 2>/dev/null || true' % MODULE) == '', 'the tracepoints of the module %s remain',
        MODULE)


def applications_are_recorded(case):
    """The user domain: two threads on two CPUs."""
    MACHINE.run(LEDGER + 'waymark record --private -o /tmp/user -- busy count 2 1000')
    check(recorded(case, '/tmp/user') == 2000, 'the trace has a wrong number of records')


def first_command_starts_the_daemons(case):
    """A session and its records, without a daemon that runs before."""
    for command in ('create one -o /tmp/one', "enable-event 'test:*'", 'start'):
        MACHINE.run('waymark ' + command)
    MACHINE.run(LEDGER + 'procs leaf 5')
    MACHINE.run('waymark destroy')
    check(recorded(case, '/tmp/one') == 6, 'the trace has a wrong number of records')


def daemon_records_before_the_output_file_system_is_mounted(case):
    """
    The command of the shipped unit runs with the environment of early boot, as init starts it. It is ready before the
    output's file system is mounted, and the first record of a program that starts then is in the trace.
    """
    for command in ('create boot -o /slow/first', "enable-event 'test:*'", 'save --auto boot', 'destroy'):
        MACHINE.run('waymark ' + command)
    MACHINE.run('killall waymark-sessiond; while pidof waymark-sessiond waymark-consumerd; do usleep 1000; done; '
                'mkdir -p /slow /etc; echo "none /slow tmpfs defaults 0 0" >/etc/fstab; rmdir /slow/* 2>/dev/null; '
                'true')
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'data', 'early-boot.service.conf'),
              encoding='utf-8') as f:
        (environment,) = re.findall(r'^Environment=(\S+)$', f.read(), re.M)
    MACHINE.run('rm -f /tmp/ready; mkfifo /tmp/ready; exec 5<>/tmp/ready; %s WAYMARK_READY_FD=5 waymark-sessiond '
                '2>/tmp/log & head -c 1 /tmp/ready' % environment)
    MACHINE.run(LEDGER + 'procs leaf 5')
    check(MACHINE.run('ls /slow').out == '', 'the trace is not on its file system: %s', MACHINE.run('find /slow').out)
    MACHINE.run('mount -t tmpfs none /slow')
    path = json.loads(MACHINE.run('waymark destroy --json boot').out)['sessions'][0]['path']
    check(path.startswith('/slow/boot-'), 'the trace is in %s', path)
    log = MACHINE.run('cat /tmp/log').out
    check(recorded(case, path) == 6, 'the trace has a wrong number of records; log: %s', log)
    check('waiting until /slow is mounted' in log, 'log: %s', log)
    MACHINE.run('rm /etc/waymark/sessions/boot.json /etc/fstab; killall waymark-sessiond; umount /slow; '
                'while pidof waymark-sessiond waymark-consumerd; do usleep 1000; done')


# ── the kernel domain ───────────────────────────────────────────────────────────────────────────────────────

CALL = 'sched_getscheduler'                                 # made by `calls` only
ONLINE = '/sys/devices/system/cpu/cpu1/online'


def events(case, path, lossy=False):
    """
    [(event, context, fields)] of a trace of the machine, as `waymark view` shows them, and the number of lost records
    that it reports.
    """
    directory = MACHINE.fetch(path, case.directory)
    done = finished([WAYMARK, 'view', '--json', directory], env=case.env, capture_output=True, text=True)
    check(done.returncode == 0 and (lossy or not done.stderr), 'waymark view ended with status %d: %s',
          done.returncode, done.stderr[-800:])
    shown = [json.loads(line) for line in done.stdout.splitlines()]
    return [(r['event'], r.get('context', {}), r['fields'])
            for r in shown], sum(map(int, re.findall(r'discarded (\d+) event', done.stderr)))


# Record by the kernel's own events into tracefs's buffers; without this option BPF records them.
NUMBERS = '--syscall-arguments none'


def calls_of(shown, pid=None):
    return sum(e in ('syscall_entry_' + CALL, 'syscall_exit_' + CALL) and pid in (None, c.get('pid'))
               for e, c, _ in shown)


def record(options, command):
    """`waymark record --private --json`: (its figures, its output)."""
    said = MACHINE.run('waymark record --private --json %s -- %s' % (options, command)).out
    return json.loads(said[said.rindex('{"path"'):]), said


def made_is_recorded_or_lost(case, figures, path, made):
    """The entries and exits of `made` calls are recorded or lost, in the summary and in the trace."""
    own = figures['records'] - figures['state_dump']
    check(own + figures['lost'] == 2 * made, '%d calls: %d records and %d lost', made, own, figures['lost'])
    shown, lost = events(case, path, figures['lost'] > 0)
    check(
        calls_of(shown) == own and lost == figures['lost'], 'the trace has %d records and %d lost, not %d and %d',
        calls_of(shown), lost, own, figures['lost'])
    return shown


def absent_cpu_has_no_buffer(case):
    """The CPU is possible but has never been online: it has no buffer and no stream."""
    figures, _ = record('%s -k syscall:%s -o /tmp/single' % (NUMBERS, CALL), 'calls 1000')
    check(figures['lost'] == 0, 'lost: %s', figures)
    made_is_recorded_or_lost(case, figures, '/tmp/single', 1000)
    there = MACHINE.run('ls /tmp/single/kernel').out.split()
    check('kernel_0' in there and 'kernel_1' not in there, 'the streams are %s', there)


def cpu_that_comes_online_is_recorded(case):
    """A CPU comes online during recording: calls on it are recorded."""
    figures, _ = record('%s -k syscall:%s -o /tmp/late' % (NUMBERS, CALL),
                        "sh -c 'calls 500; echo 1 >%s; calls 1000 1; calls 500 0'" % ONLINE)
    check(figures['lost'] == 0, 'lost: %s', figures)
    made_is_recorded_or_lost(case, figures, '/tmp/late', 2000)
    there = MACHINE.run('cat /sys/devices/system/cpu/online; ls /tmp/late/kernel').out.split()
    check(there[0] == '0-1' and 'kernel_1' in there, 'the streams are %s', there)


def session_continues_recording_during_cpu_hotplug(case):
    """
    Through the daemons, for a session that starts while the CPU is offline. Calls are made all the time, also on the
    CPU that goes offline.
    """
    MACHINE.run('echo 0 >%s' % ONLINE)
    for command in ('create hot -o /tmp/hot', 'enable-channel -k one ' + NUMBERS,
                    'enable-event -k -c one syscall:' + CALL, 'start'):
        MACHINE.run('waymark ' + command)
    MACHINE.run(
        'echo 1 >{0}; calls 20000 1 >/tmp/begun & calls 20000 & until [ -s /tmp/begun ]; do usleep 1000; done; for i '
        'in 1 2 3; do echo 0 >{0}; echo 1 >{0}; done; wait'
        .format(ONLINE))
    is_now = json.loads(MACHINE.run('waymark stop --json').out)['sessions'][0]
    MACHINE.run('waymark destroy')
    shown, lost = events(case, '/tmp/hot', is_now['counts']['lost'] > 0)
    check(
        calls_of(shown) + lost == 80000 and lost == is_now['counts']['lost'], '%d records and %d lost, of 40000 calls',
        calls_of(shown), lost)
    check(is_now['counts']['records'] == len(shown), 'the session has %d records, the trace %d',
          is_now['counts']['records'], len(shown))


def kernel_is_recorded_with_state_dump(case):
    """Scheduling, a system call with its arguments, and its contexts. The state dump is in the trace."""
    MACHINE.run('mkdir -p /etc; echo hello >/etc/hello')
    figures, _ = record("-k 'sched_*' -k syscall:openat -o /tmp/sched", 'cat /etc/hello')
    shown, _ = events(case, '/tmp/sched')
    check(figures['lost'] == 0 and figures['records'] == len(shown), '%s, the trace has %d records', figures,
          len(shown))
    names = [f.get('filename') for e, c, f in shown if e == 'syscall_entry_openat' and c['procname'] == 'cat']
    check('/etc/hello' in names, 'cat called openat for %s', names)     # (by BPF: this kernel accepts the program)
    for event in ('sched_switch', 'sched_wakeup', 'sched_process_exit', 'syscall_exit_openat'):
        check(any(e == event for e, _, _ in shown), 'no %s is in the trace', event)
    first = [f for e, _, f in shown if e == 'lttng_statedump_process_state' and f['tid'] == 1]
    check(len(first) == 1 and first[0]['name'] == 'init', 'the state of process 1 is %s', first)


def empty_text_arguments_are_not_marked_unreadable(case):
    """By BPF: its helper returns 0 for an empty text before Linux 6.2."""
    said = MACHINE.run('waymark strace -e trace=execve sh -c \'busybox true "" a ""\' 2>&1').out
    check('["busybox", "true", "", "a", ""]' in said, 'waymark strace printed: %s', said)
    said = MACHINE.run('cd /tmp; waymark strace -e trace=open,openat traced_syscalls files 2>&1').out
    check('"", O_WRONLY' in said, 'waymark strace printed: %s', said[-1500:])


def lost_kernel_records_are_counted_in_both_buffer_modes(case):
    """Buffers that are too small, in both modes."""
    made = max(6000, rounds(30000))
    for mode in ('', '--overwrite'):
        options = '%s --subbuf-size 4k --num-subbuf 2 -k syscall:%s -o /tmp/lossy%s' % (mode, CALL, mode)
        figures, _ = record(options, 'calls %d' % made)
        check(figures['lost'] > 0, '%s nothing was lost, so this case tests nothing', mode)
        made_is_recorded_or_lost(case, figures, '/tmp/lossy' + mode, made)


def kernel_contexts_are_recorded(case):
    for command in ('create who -o /tmp/who', 'enable-channel -k one ' + NUMBERS,
                    'add-context -k -c one -t procname,pid,tid,ppid,prio,cpu_id,preemptible,interruptible',
                    'enable-event -k -c one syscall:' + CALL, 'start'):
        MACHINE.run('waymark ' + command)
    pid = int(MACHINE.run('calls 100 1').out.split()[0])
    MACHINE.run('waymark destroy')
    shown, _ = events(case, '/tmp/who')
    check(calls_of(shown, pid) == 200, '%d of 200 records have the PID of the process', calls_of(shown, pid))
    mine = [c for e, c, _ in shown if c['pid'] == pid]
    check(all(c['procname'] == 'calls' and c['tid'] == pid and c['prio'] == 120 and c['cpu_id'] == 1 for c in mine),
          'contexts: %s', mine[:3])
    check(len({c['ppid'] for c in mine}) == 1 and mine[0]['ppid'] > 0, 'contexts: %s', mine[:3])


def session_start_waits_until_bpf_programs_are_loaded(case):
    """BPF programs take long to load here: `start` waits for them."""
    for command in ('create once -o /tmp/once', 'enable-event -k syscall:' + CALL, 'start'):
        MACHINE.run('waymark ' + command)
    MACHINE.run('calls 100 1')
    (channel,) = json.loads(MACHINE.run('waymark list once --json').out)['sessions'][0]['channels']
    check(channel['calls_by'] == 'bpf', 'system calls are recorded by %s: %s', channel['calls_by'],
          channel['calls_why'])
    MACHINE.run('waymark destroy')
    shown, _ = events(case, '/tmp/once')
    check(calls_of(shown) == 200, 'the trace has %d of 200 records', calls_of(shown))


def kernel_records_lost_with_a_killed_consumer_are_counted(case):
    """
    The kernel frees a page when it is read: records that were read and not written are counted in the trace, exactly.
    """
    for command in ('create kill -o /tmp/kill', 'enable-channel -k one --subbuf-size 256k --num-subbuf 4 ' + NUMBERS,
                    'enable-event -k -c one syscall:' + CALL, 'start'):
        MACHINE.run('waymark ' + command)
    consumer = "$(ps | sed -n 's/^ *\\([0-9]*\\) .*[w]aymark-consumerd.*--kernel.*/\\1/p')"
    MACHINE.run('calls 30000 & calls 30000 1 & for i in 1 2 3; do old=%s; kill -9 $old; '
                'until new=%s && [ -n "$new" -a "$new" != "$old" ]; do usleep 1000; done; done; wait' %
                (consumer, consumer))
    MACHINE.run('waymark stop')
    MACHINE.run('waymark destroy')
    shown, lost = events(case, '/tmp/kill', True)
    check(calls_of(shown) + lost == 120000, '%d records and %d lost, of 60000 calls', calls_of(shown), lost)


def tries(what, status, *words):
    answer = MACHINE.run('probe_try ' + what, status=status)
    for word in words:
        check(word in answer.out + answer.err, 'probe_try %s: %r is not in: %s', what, word,
              (answer.out + answer.err)[-1500:])


def diskstats(text):
    """{(device, operation): (requests, merges, bytes)}, without zeros."""
    rows = {}
    for fields in map(str.split, text.splitlines()):
        for name, at in (('read', 3), ('write', 7)):
            if int(fields[at]):
                rows[fields[2], name] = (int(fields[at]), int(fields[at + 1]), 512 * int(fields[at + 2]))
    return rows


def block_requests_of_a_delayed_device_equal_diskstats(case):
    """dm-delay above a loop device: requests, merges and bytes of both devices, and the delay as the latency."""
    if not os.path.exists(DMSETUP):
        raise Skip('dmsetup is not installed')
    for name in MACHINE.needed('loop') + MACHINE.needed('dm-delay'):
        MACHINE.run('lsmod | grep -q "^%s " || insmod /modules/%s.ko' % (name.replace('-', '_'), name))
    MACHINE.run('truncate -s 4M /tmp/disk; [ -b /dev/loop0 ] || mknod /dev/loop0 b 7 0; losetup /dev/loop0 /tmp/disk; '
                'echo "0 8192 delay /dev/loop0 0 15" | DM_DISABLE_UDEV=1 %s create slow' % DMSETUP)
    stats = "grep -E ' (loop0|dm-0) ' /proc/diskstats"
    check(not diskstats(MACHINE.run(stats).out), 'the devices are not new')
    record('--preset=io -o /tmp/slow',
           "sh -c 'dd if=/dev/zero of=/dev/mapper/slow bs=64k count=20 oflag=direct; "
           "dd if=/dev/mapper/slow of=/dev/null bs=4k count=30 iflag=direct'")
    exact = diskstats(MACHINE.run(stats).out)
    done = finished([WAYMARK, 'analyze', 'io', '--json', MACHINE.fetch('/tmp/slow', case.directory)], env=case.env,
                    capture_output=True, text=True)
    check(done.returncode == 0, 'analyze: %s', done.stderr)
    rows = json.loads(done.stdout)['tables']['devices']
    found = {(row['device'], row['operation']): (row['requests'], row['merges'], row['bytes']) for row in rows}
    check(found == exact and exact['dm-0', 'write'][0] >= 20 and exact['dm-0', 'read'] == (30, 0, 30 * 4096),
          '/proc/diskstats has %s, not %s', exact, found)
    latency = {row['device']: row['p50_ns'] for row in rows if row['operation'] == 'read'}
    check(latency['dm-0'] >= 15000000, 'latency: %s', latency)
    MACHINE.run('DM_DISABLE_UDEV=1 %s remove slow; losetup -d /dev/loop0' % DMSETUP)


def valid_probe_arguments_are_parsed_and_invalid_ones_refused(case):
    """Arguments by name, from the kernel's type description (BTF), and the reason if one is refused."""
    MACHINE.run('mkdir -p /etc; echo hello >/etc/hello; mount -t debugfs nodev /sys/kernel/debug')
    tries("kernel 'do_sys_openat2(dfd, filename:string, %si:x64, +8(%dx):u32, $comm)' cat /etc/hello", 0,
          'dfd=-100 filename="/etc/hello"', 'comm="cat"')
    tries("function 'do_sys_openat2(filename:string)' cat /etc/hello", 0, 'do_sys_openat2_entry: ',
          'filename="/etc/hello"', 'do_sys_openat2_exit: ', 'retval=3')
    tries("return 'do_sys_openat2($retval:x32, $comm)' cat /etc/hello", 0, 'retval=0x3 comm="cat"')
    tries('kernel do_sys_opnat2', 1, 'did you mean do_sys_openat2')
    tries("kernel 'do_sys_openat2(fd)'", 1, 'column 16: do_sys_openat2 has no parameter fd: it has dfd, filename, how')
    tries('kernel vfs_read+1', 1, 'no instruction begins')
    tries('kernel do_int3', 1, 'list of functions that must not be probed')
    tries('kernel __cpuid', 1, 'several functions have that name')
    tries("return 'vfs_read(count)'", 1, 'need Linux 6.9')
    MACHINE.run('umount /sys/kernel/debug')


def kernel_probes_are_recorded_and_removed(case):
    """
    Through the daemons, with commands: at a function's entry, at its return, at both, and with a filter. No probe
    remains.
    """
    for command in (
            'create probes --no-statedump -o /tmp/probes', 'enable-channel -k one', 'add-context -k -c one -t procname',
            "enable-event -k -c one --probe 'do_sys_openat2(dfd, filename:string)' opens",
            'enable-event -k -c one --probe-return do_sys_openat2 opened',
            "enable-event -k -c one --function 'vfs_unlink($arg1:x64, got=$retval:s32)' unlinks",
            """enable-event -k -c one --probe 'do_sys_openat2(filename:string)' hello """
            """--filter 'filename == "/etc/hel*"'""",
            'start'):
        MACHINE.run('waymark ' + command)
    MACHINE.run('mkdir -p /etc; echo hello >/etc/hello; cat /etc/hello; touch /tmp/thing; rm /tmp/thing')
    refused = MACHINE.run('waymark enable-event -k -c one --probe do_sys_openat2 no --filter fd==3', status=1)
    check('fd' in refused.err, 'a filter on a field that is not recorded: %s', refused.err)
    MACHINE.run('waymark destroy')
    shown, _ = events(case, '/tmp/probes')
    of = {
        name: [(c['procname'], f) for e, c, f in shown if e == name]
        for name in ('opens', 'opened', 'unlinks_entry', 'unlinks_exit', 'hello')
    }
    hello = [f for who, f in of['opens'] if who == 'cat' and f['filename'] == '/etc/hello']
    check([f['dfd'] for f in hello] == [-100], 'the records of the file that cat opened are %s', hello)
    count = {name: sum(who == 'cat' for who, _ in of[name]) for name in ('opens', 'opened')}
    check(count['opens'] == count['opened'], 'entries and returns of cat: %s', count)
    check(3 in [f['retval'] for who, f in of['opened'] if who == 'cat'], 'cat got %s', of['opened'])
    # the shell that wrote it, and cat
    check([f['filename'] for _, f in of['hello']] == ['/etc/hello'] * 2, 'the filter left %s', of['hello'])
    removed = [[f for who, f in of[name] if who == 'rm'] for name in ('unlinks_entry', 'unlinks_exit')]
    check([len(r) for r in removed] == [1, 1] and removed[1][0]['got'] == 0, 'rm: %s', removed)
    left = tracing('grep waymark dynamic_events || true')
    check(not left, 'probes are left: %s', left)


def unit(name, arguments=''):
    """A unit test of src/kernel: at least one test passes, and none fails."""
    if name not in UNITS:
        raise Skip('%s was not built' % name)
    said = MACHINE.run('%s %s 2>&1' % (name, arguments), limit=100).out
    passed = re.search(r'PASSED  \] (\d+) test', said)
    check(passed and int(passed.group(1)) > 0, '%s printed: %s', name, said[-1500:])


def need_long():
    """These cases take minutes in the emulated machine."""
    if not os.environ.get('WMK_LONG'):
        raise Skip('only scripts/test.sh --long runs this case')


def ahead_of_monotonic(case, path, commands):
    """
    Record a program before and after each command. Returns, for each program, by how many seconds the times of its
    records are ahead of the CLOCK_MONOTONIC in the records. The results are in the order of recording.
    """
    MACHINE.run('waymark create steps -o %s; waymark enable-event "test:*"; waymark start; procs leaf 5; ' % path +
                ' '.join(command + '; procs leaf 5;' for command in commands) + ' waymark stop; waymark destroy')
    records = [r for r in map(json.loads, view(case, path, '--json')) if r['event'] == 'test:seq']
    check([r['fields']['seq'] for r in records] == [*range(1, 7)] * (len(commands) + 1), 'the order is %s', records)
    ahead = [float(r['time']) - r['fields']['mono'] / 1e9 for r in records]
    groups = [ahead[at:at + 6] for at in range(0, len(ahead), 6)]
    # (a program may be preempted between its reading of CLOCK_MONOTONIC and its record, but not for 0.9 s)
    check(all(max(group) - min(group) < 0.9 for group in groups), 'a step is at the wrong record: %s', groups)
    for reader in 'babeltrace2', 'babeltrace':
        done = finished([reader, case.path(os.path.basename(path))], capture_output=True, text=True)
        check(done.returncode == 0 and not done.stderr, '%s: %s', reader, done.stderr[:500])
    return [min(group) for group in groups]


def step_of_real_time_shifts_the_times_of_later_records(case):
    """Real time is set 3 s forwards, then 3 s backwards, both to whole seconds."""
    ahead = ahead_of_monotonic(case, '/tmp/steps',
                               ['date -s @$(($(date +%s) + 3))', 'date -s @$(($(date +%s) - 3))'])
    steps = [b - a for a, b in zip(ahead, ahead[1:])]
    check(1.1 < steps[0] < 3.9 and -4.9 < steps[1] < -2.1, 'the steps are %s', steps)


def times_are_correct_after_a_suspend(case):
    """CLOCK_MONOTONIC, the clock of the trace, does not count the time of the suspend."""
    need_long()
    before, after = ahead_of_monotonic(
        case, '/tmp/suspend', [
            'echo deep >/sys/power/mem_sleep; echo +2 >/sys/class/rtc/rtc0/wakealarm; echo mem >/sys/power/state'
        ])
    check(after - before > 0.5, 'the suspend took %s s', after - before)


def unit_tests_of_buffers_pass(case):
    need_long()
    unit('test-kernel-cpu')


def unit_tests_of_system_calls_pass(case):
    need_long()
    unit('test-kernel-syscalls-live')
    unit('test-kernel-syscalls-pointed-live')


def unit_tests_of_probes_pass(case):
    need_long()
    if not set(PROBED) <= set(UNITS):
        raise Skip('the probed programs were not built')
    unit('test-probes-live', ' '.join(os.path.join(TESTS, name) for name in PROBED))


def virtual_machine_reports_failed_and_hanging_commands(case):
    """An exit status, and a command that does not end: the machine remains usable."""
    check(MACHINE.run('echo out; echo err >&2; exit 3', status=3).out == 'out\n', 'wrong output')
    words = ('did not end', 'begun', 'sleep 1000', 'nanosleep')
    for limit in (0.5, 5, 50):                              # if the time is too short, the command has not begun
        said = failure_of('echo begun; sleep 1000', limit=limit)
        if all(word in said for word in words):
            break
    else:
        check(False, 'wrong message for a command that does not end: %s', said)
    check(MACHINE.run('ps').out.count('sleep') == 0, 'the command still runs')


def kernel_log_has_no_warnings_after_all_cases(case):
    check(not MACHINE.complaints(), 'the kernel log has: %s', '\n'.join(MACHINE.complaints()))


def kernel_panic_is_reported(case):
    """The last case: the machine has crashed then."""
    for command, words in (('echo c >/proc/sysrq-trigger', 'Kernel panic'), ('true', 'sysrq-trigger')):
        said = failure_of(command)
        check('is gone' in said and words in said, 'wrong message: %s', said)


if __name__ == '__main__':
    with MACHINE:
        main([
            virtual_machine_boots_with_all_kernel_features, virtual_machine_makes_32_bit_system_calls,
            kprobes_return_arguments_and_values, function_tracer_filters_functions, absent_cpu_has_no_buffer,
            cpu_that_comes_online_is_recorded, cpu_records_again_after_it_was_offline, module_is_unloaded_and_loaded,
            applications_are_recorded, first_command_starts_the_daemons,
            daemon_records_before_the_output_file_system_is_mounted, session_continues_recording_during_cpu_hotplug,
            kernel_is_recorded_with_state_dump, empty_text_arguments_are_not_marked_unreadable,
            lost_kernel_records_are_counted_in_both_buffer_modes, kernel_contexts_are_recorded,
            session_start_waits_until_bpf_programs_are_loaded, kernel_records_lost_with_a_killed_consumer_are_counted,
            block_requests_of_a_delayed_device_equal_diskstats,
            valid_probe_arguments_are_parsed_and_invalid_ones_refused, kernel_probes_are_recorded_and_removed,
            step_of_real_time_shifts_the_times_of_later_records, times_are_correct_after_a_suspend,
            unit_tests_of_buffers_pass, unit_tests_of_system_calls_pass, unit_tests_of_probes_pass,
            virtual_machine_reports_failed_and_hanging_commands, kernel_log_has_no_warnings_after_all_cases,
            kernel_panic_is_reported
        ])
