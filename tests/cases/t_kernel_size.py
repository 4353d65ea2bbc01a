#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""--max-size of a session with user and kernel channels: both consumer daemons and the metadata share one budget."""
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from daemon import CONSUMERD_COMM  # noqa: E402
from harness import check, limit  # noqa: E402
from kernel import KernelWorld, kernel_main  # noqa: E402

MAX = 600 << 10
USER = ['--subbuf-size', '4k', '--num-subbuf', '64']
KERNEL = ['--subbuf-size', '16k', '--num-subbuf', '64', '--syscall-arguments', 'none']
CPUS = os.cpu_count() or 1
# A packet without records, and the header of an index, may exceed the size: for each stream, here at most two for a
# CPU.
SLACK = 3 * CPUS * 256


def in_files(path):
    return sum(os.path.getsize(os.path.join(at, name)) for at, _, names in os.walk(path) for name in names)


def in_kernel(path):
    return in_files(os.path.join(path, 'kernel'))


def begin(w, name, *rotation, size=MAX):
    """A session with a user and a kernel channel. Returns the directory of its trace."""
    w('create', name, '--no-statedump', '--max-size', str(size))
    w('enable-channel', '-s', name, 'user', *USER, *rotation)
    w('enable-event', '-s', name, '-c', 'user', 'test:*')
    w.begin_calls(name, *KERNEL, *rotation, create=False)
    return w.session(name)['path']


def record(w, program, n=500):
    """Make more records in both domains."""
    program('emit %d' % n)
    w.calls(1, n // 10)


def is_full(w, name):
    return w.session(name)['full']


def check_counts(w, name):
    """Stop and destroy the session: the readers see the counted records and the same number of lost ones."""
    trace = w.destroyed(name, lossy=True)
    check(trace.counts['lost'] == trace.lost, '%s counts %s, the trace reports %d lost', name, trace.counts, trace.lost)
    causes = sum(trace.counts[k]
                 for k in ('lost_full', 'lost_memory', 'lost_size', 'lost_retry', 'overwritten', 'unwritten'))
    check(trace.counts['lost'] == causes, 'counts: %s', trace.counts)
    return trace


def session_daemon(w):
    return w.sessiond()


def user_consumer_daemon(w):
    return next((pid for pid, name in w.daemons().items()
                 if name == CONSUMERD_COMM and pid not in w.kernel_consumerds()), None)


def kernel_consumer_daemon(w):
    return w.kernel_consumerd()


def kill(w, which, program):
    pid = which(w)
    os.kill(pid, signal.SIGKILL)
    if which == session_daemon:
        w.start_daemon()
    w.wait(lambda: which(w) not in (None, pid), 'another daemon')
    w.wait_apps([program.pid])


@limit(180)
def user_and_kernel_records_share_the_maximum_size(case):
    """The budget also holds if a daemon is killed once. Each daemon is killed in turn."""
    with KernelWorld(case) as w:
        program = w.scripted()
        for victim in (None, user_consumer_daemon, kernel_consumer_daemon, session_daemon):
            name = victim.__name__ if victim else 'undisturbed'
            path = begin(w, name)
            def half(at=path):
                record(w, program)
                return in_files(at) > MAX // 2
            w.wait(half, 'half of the size to be written')
            if victim:
                kill(w, victim, program)
            def full(which=name):
                record(w, program)
                return is_full(w, which)
            w.wait(full, 'the session to be full')
            user, kernel = in_files(path) - in_kernel(path), in_kernel(path)
            check(user > MAX // 20 and kernel > MAX // 20, '%s: %d bytes of user channels, %d of kernel channels', name,
                  user, kernel)
            check(user + kernel <= MAX + SLACK, '%s: the trace has %d bytes, --max-size is %d', name, user + kernel,
                  MAX)
            # at most one packet of each stream did not fit
            check(user + kernel >= MAX - CPUS * ((4 + 16) << 10) - (16 << 10), '%s stopped at %d bytes', name,
                  user + kernel)
            check_counts(w, name)
            check(
                in_files(path) <= MAX + SLACK, '%s: at the end the trace has %d bytes, --max-size is %d', name,
                in_files(path), MAX)
        program.end()


@limit(120)
def rotating_files_of_both_domains_stay_within_maximum_size(case):
    """Files of both domains replace each other within the size, and the session continues."""
    with KernelWorld(case) as w:
        program = w.scripted()
        path = begin(w, 'rotates', '--tracefile-size', '32k', '--tracefile-count', '2', size=MAX + CPUS * (128 << 10))
        def replaced():
            record(w, program)
            check(in_files(path) <= MAX + CPUS * (128 << 10) + SLACK, 'the trace has %d bytes', in_files(path))
            return w.session('rotates')['counts']['records'] > 20000
        w.wait(replaced, 'files to be replaced')
        check(w.session('rotates')['active'], 'the session stopped: %s', w.session('rotates'))
        for which in (user_consumer_daemon, kernel_consumer_daemon):
            kill(w, which, program)
            record(w, program)
        check(w.session('rotates')['active'], 'the session stopped after a restart: %s', w.session('rotates'))
        w('destroy', 'rotates')
        program.end()


if __name__ == '__main__':
    kernel_main([user_and_kernel_records_share_the_maximum_size,
                 rotating_files_of_both_domains_stay_within_maximum_size])
