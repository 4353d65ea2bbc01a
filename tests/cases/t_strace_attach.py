#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`waymark strace` of running processes; signals; outputs and buffers that are too small."""
import os
import re
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from harness import WAYMARK, awaited, check, main, slurp, wait_for  # noqa: E402
from processes import cpu_seconds  # noqa: E402
from t_strace import PAUSE, needs, waymark  # noqa: E402


def attached_tracer(case, *options, target=('forever',)):
    """(target, tracer) with the tracer attached."""
    process = subprocess.Popen([case.program('traced_syscalls'), *target], stdin=subprocess.DEVNULL)
    case.started.append(process)
    if target == ('forever',):
        wait_for(lambda: slurp('/proc/%d/syscall' % process.pid).split()[0] in PAUSE,
                 'the program to wait for a signal')
    tracer = subprocess.Popen([WAYMARK, 'strace', '-p', str(process.pid), *options], stderr=subprocess.PIPE, text=True)
    case.started.append(tracer)
    line = tracer.stderr.readline()
    check('process %d attached' % process.pid in line, '%s', line)
    return process, tracer


def end(process):
    process.kill()
    awaited(process)


def attached_tracer_ends_with_its_process_or_on_detach(case):
    """-p: a process that ends, and one from which the tracer detaches."""
    needs(case)
    process, tracer = attached_tracer(case)
    process.send_signal(signal.SIGTERM)
    text = tracer.stderr.read()
    check(awaited(tracer) == 0, 'the tracer ended with %s', tracer.returncode)
    check('+++ killed by SIGTERM +++' in text and '<... pause resumed>' in text, '%s', text)
    awaited(process)
    process, tracer = attached_tracer(case)
    tracer.send_signal(signal.SIGINT)
    text = tracer.stderr.read()
    check(awaited(tracer) == 0 and 'process %d detached' % process.pid in text, '%s: %s', tracer.returncode, text)
    check(process.poll() is None, 'the process ended with its tracer')
    end(process)


def interrupt_ends_a_tracer_with_a_slow_output(case):
    """
    A process makes calls continually, faster than its lines are read. An interrupt ends the tracer, which first prints
    the records made before.
    """
    needs(case)
    process, tracer = attached_tracer(case, '--buffer-size', '2M', target=('many', str(10 ** 9)))
    for _ in range(100000):
        check(os.read(tracer.stderr.fileno(), 2), 'the tracer has ended: %s', tracer.poll())
    had = cpu_seconds(process.pid)
    wait_for(lambda: cpu_seconds(process.pid) > had + 1, 'more records than fit into the buffers')
    tracer.send_signal(signal.SIGINT)
    text = b''
    while part := os.read(tracer.stderr.fileno(), 2):
        text = text[-200:] + part
    check(awaited(tracer) == 0 and b'records' in text, '%s: %s', tracer.returncode, text)
    check(process.poll() is None, 'the process ended with its tracer')
    end(process)


def strace_forwards_signals_to_the_command(case):
    """A signal to the tracer alone is forwarded; the tracer reports how the command ended."""
    needs(case)
    output = case.path('calls')
    tracer = subprocess.Popen(
        [WAYMARK, 'strace', '-o', output, 'sh', '-c', 'trap "exit 9" TERM; echo ready; while :; do sleep 0.01; done'],
        stdout=subprocess.PIPE, text=True)
    case.started.append(tracer)
    check(tracer.stdout.readline() == 'ready\n', 'the command does not run')
    tracer.terminate()
    check(awaited(tracer) == 9, 'the tracer ended with %d', tracer.returncode)
    with open(output) as file:
        text = file.read()
    check('--- SIGTERM' in text and text.endswith('+++ exited with 9 +++\n'), '%s', text[-300:])


def strace_follows_children_after_the_command_ended(case):
    """-f: a child of the command outlives it. The tracer follows the child until it is interrupted, then detaches."""
    needs(case)
    for options in ([], ['--no-bpf']):
        output = case.path('behind%d' % len(options))
        tracer = subprocess.Popen(
            [WAYMARK, 'strace', '-f', *options, '-o', output, 'sh', '-c', 'sleep 1000 & echo $!; exit 5'],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        case.started.append(tracer)
        sleeper = int(tracer.stdout.readline())
        wait_for(lambda: 'exited with 5 +++' in slurp(output), 'the command\'s end, in %s' % output)
        check(tracer.poll() is None, '%s: the tracer has ended with the command: %s', options, tracer.returncode)
        tracer.send_signal(signal.SIGINT)
        check(awaited(tracer) == 5, '%s: the tracer ended with %d', options, tracer.returncode)
        os.kill(sleeper, signal.SIGKILL)                       # (it still runs)


IN_A_CALL = """
import os, sys, threading
r, w = os.pipe()
print(os.getpid(), flush=True)
thread = threading.Thread(target=os.read, args=(r, 1))
thread.start()
sys.stdin.readline()
os.write(w, b'x')
thread.join()
"""


def attached_tracer_prints_system_calls_in_progress(case):
    """-f -p: the exit of the call that each thread is in when the tracer attaches, also with tracefs events."""
    needs(case)
    for options in ([], ['--no-bpf']):
        process = subprocess.Popen([sys.executable, '-c', IN_A_CALL], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   text=True)
        case.started.append(process)
        pid = int(process.stdout.readline())

        def calls_of_threads():
            return [slurp('/proc/%d/task/%s/syscall' % (pid, t)).split()[:1] for t in os.listdir('/proc/%d/task' % pid)]
        wait_for(lambda: calls_of_threads() in ([['0'], ['0']], [['63'], ['63']]), 'both threads to read')
        tracer = subprocess.Popen(
            [WAYMARK, 'strace', '-f', *options, '-p', str(pid)], stderr=subprocess.PIPE, text=True)
        case.started.append(tracer)
        line = tracer.stderr.readline()
        while 'attached' not in line:
            check(line, 'the tracer is not attached')
            line = tracer.stderr.readline()
        process.stdin.write('go\n')
        process.stdin.close()
        text = tracer.stderr.read()
        check(
            awaited(tracer) == 0 and awaited(process) == 0, '%s: tracer and process ended with %s, %s', options,
            tracer.returncode, process.returncode)
        check(text.count('<... read resumed>') == 2, '%s: not two ends of read() are printed: %s', options, text[:2000])


def full_nonblocking_output_of_strace_loses_no_lines(case):
    """The output is full and is read late: no line is lost."""
    needs(case)
    out, into = os.pipe()
    os.set_blocking(into, False)
    os.write(into, b'x' * 65000)
    tracer = subprocess.Popen([WAYMARK, 'strace', case.program('traced_syscalls'), 'files'], stdout=subprocess.DEVNULL,
                              stderr=into)
    case.started.append(tracer)
    os.close(into)
    with os.fdopen(out) as reader:
        text = reader.read()[65000:]
    check(awaited(tracer) == 0, 'the tracer ended with %d', tracer.returncode)
    check(
        text.startswith('execve(') and text.endswith('+++ exited with 0 +++\n'), 'the output is: %s ... %s',
        text[:300], text[-300:])


def full_output_disk_of_strace_is_reported(case):
    needs(case)
    done = waymark(case, ['-o', '/dev/full', case.program('traced_syscalls'), 'files'])
    check(done.returncode == 1 and 'cannot write to /dev/full' in done.stderr, '%d %s', done.returncode, done.stderr)


def system_calls_lost_in_small_buffers_are_counted(case):
    """Buffers that are much too small: the number of lost records is exact."""
    needs(case)
    n = 200000
    output = case.path('calls')
    done = waymark(
        case, ['-o', output, '-e', 'getppid', '--buffer-size', '4k',
               case.program('traced_syscalls'), 'many',
               str(n)])
    lost = re.search(r'(\d+) records .* were lost.*--buffer-size 8k', done.stderr)
    check(lost and done.returncode == 0, '%d %s', done.returncode, done.stderr)
    with open(output) as file:
        text = file.read()
    whole = len(re.findall(r'^getppid\(\) +=', text, re.M))
    half = len(re.findall(r'^getppid\(.*<unfinished|^<\.\.\. getppid resumed>', text, re.M))
    # Each call has two records, and one of them may be lost. Calls of the loader and of the exit may be among the lost
    # ones.
    missing, lost = 2 * n - 2 * whole - half, int(lost.group(1))
    check(0 < missing <= lost <= missing + 20, '%d of %d calls are printed, %d of them by half, %d records were lost',
          whole, n, half, lost)


if __name__ == '__main__':
    main([
        attached_tracer_ends_with_its_process_or_on_detach, interrupt_ends_a_tracer_with_a_slow_output,
        strace_forwards_signals_to_the_command, strace_follows_children_after_the_command_ended,
        attached_tracer_prints_system_calls_in_progress, full_nonblocking_output_of_strace_loses_no_lines,
        full_output_disk_of_strace_is_reported, system_calls_lost_in_small_buffers_are_counted
    ])
