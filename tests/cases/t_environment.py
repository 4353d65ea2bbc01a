#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
`waymark record` works with unusual inherited descriptors, limits and signals, and the program inherits them unchanged.
"""
import os
import pty
import resource
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from harness import (  # noqa: E402
    FEATURES, WAYMARK, Skip, awaited, check, finished, main, need, need_other_users, rounds, slurp, wait_for)

INHERITED = """
import os, resource, signal, sys
keep = ('Umask', 'SigBlk', 'SigIgn', 'SigCgt', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb', 'NoNewPrivs', 'Seccomp',
        'Cpus_allowed', 'Mems_allowed', 'THP_enabled', 'NSsid')
with open('/proc/self/status') as f:
    found = [line.rstrip() for line in f if line.split(':')[0] in keep]
found += ['%s %s' % (n, resource.getrlimit(getattr(resource, n))) for n in dir(resource) if n.startswith('RLIMIT_')]
for name in ('oom_score_adj', 'timerslack_ns', 'coredump_filter', 'personality', 'cgroup'):
    with open('/proc/self/' + name) as f:
        found.append(name + ' ' + f.read())
found += [str(os.getpriority(os.PRIO_PROCESS, 0)), str(os.sched_getscheduler(0)), str(sorted(os.sched_getaffinity(0)))]
with open(sys.argv[1], 'w') as out:
    for fd in range(256):
        try:
            link = os.readlink('/proc/self/fd/%d' % fd)
        except OSError:
            continue
        if fd != out.fileno():
            found.append('%d %s' % (fd, link))
    found += ['%s=%s' % item for item in sorted(os.environ.items()) if item[0] != 'WAYMARK_RUNDIR']
    out.write('\\n'.join(found))
"""


def odd_inheritance():
    """In the child, before exec: set everything that can be inherited to an unusual value."""
    os.umask(0o027)
    os.nice(3)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (77, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    for sig in (signal.SIGCHLD, signal.SIGHUP, signal.SIGXFSZ):
        signal.signal(sig, signal.SIG_IGN)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1, signal.SIGTERM, signal.SIGRTMIN})


def program_inherits_the_environment_unchanged(case):
    """Descriptors, mask, dispositions, limits, priorities and environment equal those without `waymark record`."""
    script = case.path('inherited.py')
    with open(script, 'w') as f:
        f.write(INHERITED)
    found = []
    for n, before in enumerate(([], [WAYMARK, 'record', '-o', case.path('trace'), '--'])):
        out = case.path('found%d' % n)
        finished(before + [sys.executable, script, out], env=case.env, preexec_fn=odd_inheritance,
                 restore_signals=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        found.append(slurp(out).splitlines())
    check(len(found[0]) > 20, 'too few inherited properties were found: %s', found[0])
    check(found[0] == found[1], 'without and with waymark record: %s',
          [pair for pair in zip(*found) if pair[0] != pair[1]])


def closed_standard_descriptors_stay_closed(case):
    """`waymark record` writes no message into its own files, and the program's closed descriptors stay closed."""
    for closed in ((0,), (1,), (2,), (0, 1, 2)):
        out = case.path('fds')
        place = case.path('closed%d' % len(os.listdir(case.directory)))
        command = ['sh', '-c', 'ls -l /proc/self/fd > %s; exec %s leaf 5' % (out, case.program('procs'))]
        child = subprocess.Popen([WAYMARK, 'record', '--json', '-e', '*', '-e', 'no:such', '-o', place, '--'] + command,
                                 env=case.env, close_fds=True, preexec_fn=lambda: [os.close(fd) for fd in closed],
                                 stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        awaited(child)
        check(child.returncode == (1 if 1 in closed else 0), 'closed %s: status %d', closed, child.returncode)
        check('waymark-record' not in slurp(out) and 'memfd' not in slurp(out) and place not in slurp(out),
              'closed %s: the program got %s', closed, slurp(out))
        for top, _, names in os.walk(place):
            for name in names:
                with open(os.path.join(top, name), 'rb') as f:
                    text = f.read()
                check(b'warning:' not in text and b'"records":' not in text, '%s contains a message', name)
        read = subprocess.run(['babeltrace2', place], capture_output=True, text=True)
        check(read.returncode == 0 and not read.stderr, 'closed %s: %s', closed, read.stderr)


def summary_to_full_output_reports_an_error(case):
    """
    If the summary cannot be printed, an error is printed. The exit status is 1 unless the program's status is not 0.
    """
    for status, expected in ((0, 1), (3, 3)):
        with open('/dev/full', 'w') as full:
            done = finished(
                [WAYMARK, 'record', '--json', '-o',
                 case.path('full%d' % status), '--', 'sh', '-c',
                 'exit %d' % status], stdout=full, stderr=subprocess.PIPE, text=True, env=case.env)
        check(done.returncode == expected, 'status %d, not %d', done.returncode, expected)
        check('standard output' in done.stderr, 'standard output is not named: %s', done.stderr)


def file_size_limit_is_reported(case):
    """RLIMIT_FSIZE applies to ring buffers: `waymark record` reports an error and is not killed by SIGXFSZ."""
    done = finished([WAYMARK, 'record', '-o', case.path('small'), '--', 'true'], env=case.env, stderr=subprocess.PIPE,
                    text=True, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536)))
    check(done.returncode == 1 and 'ring buffers' in done.stderr, 'status %d: %s', done.returncode, done.stderr)


def soft_descriptor_limit_is_raised(case):
    """Only programs that use select(2) need the soft descriptor limit: the command raises its own to the hard limit."""
    n = 24 if 'sanitize' in FEATURES else 60             # each takes two descriptors

    def few():
        resource.setrlimit(resource.RLIMIT_NOFILE, (40, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    child = case.start(['sh', '-c', 'ulimit -n >%s; for i in $(seq %d); do %s forever & done; wait' % (
        case.path('limit'), n, case.program('procs'))], preexec_fn=few)
    wait_for(lambda: len([w for w in case.ledger.read() if w]) >= n, 'all programs to record')
    check(slurp(case.path('limit')).strip() == '40', 'the program got another limit: %s', slurp(case.path('limit')))
    os.killpg(child.pid, signal.SIGTERM)
    result = case.finish(child)
    check(len(result.summary['programs']) == n and result.summary['turned_away'] == 0, '%d of %d programs registered',
          len(result.summary['programs']), n)


def hard_descriptor_limit_is_reported(case):
    """If even the hard limit is too low, the summary names the limit."""
    n = 24 if 'sanitize' in FEATURES else 60             # each takes two descriptors
    child = case.start(['sh', '-c', 'for i in $(seq %d); do %s forever & done; wait' % (n, case.program('procs'))],
                       preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40)))
    wait_for(lambda: len([w for w in case.ledger.read() if w]) >= n, 'all programs to run')
    os.killpg(child.pid, signal.SIGTERM)
    result = case.finish(child)
    check(result.summary['turned_away'] > 0 and 'ulimit' in result.err, 'the limit is not reported: %s', result.err)


def program_that_drops_root_is_reported(case):
    """A program of root drops root: it can no longer reach the runtime directory, and the summary reports it."""
    need_other_users()
    need('setpriv')
    os.chmod(case.directory, 0o755)
    os.chmod(case.ledger.path, 0o666)
    child = case.start(['setpriv', '--reuid', '65534', '--clear-groups', case.program('procs'), 'forever'])
    wait_for(lambda: case.ledger.flag(0), 'the program to run')
    wait_for(lambda: case.ledger.begun() > 6000, 'the program to have run for a while')
    os.killpg(child.pid, signal.SIGINT)
    result = case.finish(child).ok(7)
    check('another user' in result.err and result.summary['not_followed'][0]['why'] == 'user',
          'the other user is not reported: %s %s', result.err, result.summary)


def control_characters_in_names_are_not_printed(case):
    """A program chooses its own name: control characters in it are not printed to the terminal."""
    program = case.path('\x1b[31mred')
    os.symlink(case.program('procs'), program)
    child = case.start(['env', '-i', 'WMK_TEST_LEDGER=' + case.ledger.path, program, 'forever'], json_summary=False)
    wait_for(lambda: case.ledger.begun() > 6000, 'the program to have run for a while')
    os.killpg(child.pid, signal.SIGINT)
    result = case.finish(child).ok(7)
    check('[31mred' in result.err and '\x1b' not in result.err, 'it printed: %r', result.err)


def unrecorded_program_that_ends_last_is_reported(case):
    """
    The program ends after the last read of the kernel's notifications and before the last check of the children. It is
    reported all the same.
    """
    if 'testpoints' not in FEATURES:
        raise Skip('needs a build with -Dtestpoints=true')
    result = case.record(['env', '-i', 'WMK_TEST_LEDGER=' + case.ledger.path, case.program('procs'), 'leaf', '5'],
                         env={'WMK_TESTPOINT': 'record_heard=delay:0:200000'}).ok()
    check([one['name'] for one in result.summary['not_followed']] == ['procs'], 'not followed: %s',
          result.summary['not_followed'])


def application_that_failed_to_register_in_time_is_reported(case):
    """
    The registration of an application times out: the application continues, and the summary says that its first records
    may be missing.
    """
    if 'testpoints' not in FEATURES:
        raise Skip('needs a build with -Dtestpoints=true')
    child = case.start([case.program('procs'), 'forever'],
                       env={'WMK_TESTPOINT': 'record_hears=delay:0:200000', 'WAYMARK_REGISTER_TIMEOUT': '20'})
    wait_for(lambda: case.ledger.begun() > 6000, 'the program to have run for a while')
    os.killpg(child.pid, signal.SIGINT)
    result = case.finish(child).ok(7)
    check('longer than the 20 ms' in result.err, 'the timeout is not reported: %s', result.err)
    check(0 < result.summary['records'] < case.ledger.begun(), '%d records of %d', result.summary['records'],
          case.ledger.begun())


def short_lived_programs_are_not_reported_as_unrecorded(case):
    """Many programs at once, checked during exec and at exit: none is reported to have cleared its environment."""
    for _ in range(rounds(50)):
        result = case.record(['sh', '-c', 'for i in $(seq 100); do %s leaf 1 & done; wait' % case.program('procs')])
        check(not result.summary['not_followed'], 'not followed: %s', result.summary['not_followed'])
        check(not result.summary['turned_away'], '%s were turned away', result.summary['turned_away'])


COUNTER = """
import os, signal, subprocess, sys
count = 0
def one(*_):
    global count
    count += 1
def two(*_):
    os._exit(count)
signal.signal(signal.SIGUSR1, one)
signal.signal(signal.SIGUSR2, two)
# It stays alive, so that the receiver finds the sender of the signal.
other = subprocess.Popen(['sh', '-c', 'trap : USR1; read go; kill -USR1 0; echo done; read end'], stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE)
os.setpgid(0, 0)
other.stdin.write(b'go\\n')
other.stdin.flush()
other.stdout.readline()
open(sys.argv[1], 'w').close()
while True:
    signal.pause()
"""


def signal_of_a_descendant_to_its_group_is_not_forwarded(case):
    """
    A signal that a descendant sends to the whole group reaches the group only. The program has left the group here,
    because two pending signals of one kind are delivered as one.
    """
    ready = case.path('ready')
    child = case.start([sys.executable, '-c', COUNTER, ready])
    wait_for(lambda: os.path.exists(ready), 'the program to be ready')
    os.kill(child.pid, signal.SIGUSR2)      # forwarded after earlier signals
    case.finish(child).ok(0)


def interrupt_before_the_start_starts_no_program(case):
    """Ctrl-C before the program has been started: the program is not started."""
    for attempt in range(20):
        mark = case.path('started%d' % attempt)
        pid, terminal = pty.fork()
        if pid == 0:
            os.execve(WAYMARK, [WAYMARK, 'record', '-o', case.path('early%d' % attempt), '--', 'sh', '-c',
                                'echo > %s; sleep 1' % mark], case.env)
        ours = 1 << (signal.SIGINT - 1)
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            blocked = slurp('/proc/%d/status' % pid).split('SigBlk:')[1].split()[0]
            if int(blocked, 16) & ours:
                break
        os.write(terminal, b'\x03')
        _, status = os.waitpid(pid, 0)
        os.close(terminal)
        check(os.WIFEXITED(status) and os.WEXITSTATUS(status) != 0, 'Ctrl-C was ignored: status %x', status)
        if not os.path.exists(mark):
            return
    raise Skip('Ctrl-C always came too late')


if __name__ == '__main__':
    main([
        program_inherits_the_environment_unchanged, closed_standard_descriptors_stay_closed,
        summary_to_full_output_reports_an_error, file_size_limit_is_reported, soft_descriptor_limit_is_raised,
        hard_descriptor_limit_is_reported, program_that_drops_root_is_reported,
        control_characters_in_names_are_not_printed, unrecorded_program_that_ends_last_is_reported,
        application_that_failed_to_register_in_time_is_reported, short_lived_programs_are_not_reported_as_unrecorded,
        signal_of_a_descendant_to_its_group_is_not_forwarded, interrupt_before_the_start_starts_no_program
    ])
