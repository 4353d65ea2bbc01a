#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The session daemon as a process: one at a time, sockets handed over, idle, killed and ended while programs record."""
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from harness import Skip, check, check_sequences, main, need, rounds, slurp, wait_for  # noqa: E402
from traces import Trace  # noqa: E402

SESSIOND = os.environ['WMK_SESSIOND']


class Daemon:
    """waymark-sessiond in a directory of the case's own."""

    def __init__(self, case):
        self.case, self.rundir, self.process = case, case.path('run'), None
        self.env = dict(case.env, WAYMARK_RUNDIR=self.rundir)

    def start(self, **popen):
        ready, ours = os.pipe()
        with open(self.case.path('sessiond.err'), 'a', encoding='utf-8') as err:
            self.process = subprocess.Popen([SESSIOND], env=dict(self.env, WAYMARK_READY_FD=str(ours)), pass_fds=[ours],
                                            stdin=subprocess.DEVNULL, stdout=err, stderr=err, start_new_session=True, **popen)
        self.case.started.append(self.process)
        os.close(ours)
        with os.fdopen(ready, 'rb') as f:
            words = f.read()
        return words.decode()

    def end(self, number):
        self.process.send_signal(number)
        self.process.wait(60)
        return self.process.returncode

    def control(self, *words, status=0):
        done = subprocess.run([self.case.program('control'), *words], env=self.env, capture_output=True, text=True, timeout=120)
        check(done.returncode == status, 'control %s: status %d: %s', ' '.join(words), done.returncode, done.stderr)
        return json.loads(done.stdout) if done.stdout else done.stderr

    def consumer(self):
        with contextlib.suppress(OSError, ValueError):
            pid = int(slurp(os.path.join(self.rundir, 'consumer.pid')))
            if 'waymark-consume' in slurp('/proc/%d/comm' % pid):
                return pid
        return 0


@contextlib.contextmanager
def daemon(case):
    d = Daemon(case)
    try:
        yield d
    finally:
        if d.process and d.process.poll() is None:
            d.end(signal.SIGKILL)
        if d.consumer():
            os.kill(d.consumer(), signal.SIGKILL)


def one_at_a_time(case):
    """A second daemon says which process is the first; after any end of that one, the next starts."""
    with daemon(case) as first:
        check(first.start() == '+', 'it did not say that it listens')
        second = Daemon(case)
        words = second.start()
        check(words.startswith('!') and 'process %d' % first.process.pid in words, 'the second said: %s', words)
        check(second.process.wait(60) == 1, 'the second ended with %s', second.process.returncode)
        check(first.control('version'), 'the first does not answer any more')
        for number, status in (signal.SIGKILL, -9), (signal.SIGTERM, 0), (signal.SIGINT, 0):
            check(first.end(number) == status, 'signal %d: it ended with %s', number, first.process.returncode)
            check(first.start() == '+', 'it did not start again after signal %d', number)
        first.control('shutdown')
        check(first.process.wait(60) == 0, 'it ended with %s', first.process.returncode)
        left = set(os.listdir(first.rundir)) - {'wait', 'state', 'consumer.pid'}
        check(not left, 'left behind: %s', left)


def sockets_handed_over(case):
    """As systemd does: listening sockets from descriptor 3 on."""
    with daemon(case) as d:
        os.mkdir(d.rundir, 0o700)
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(os.path.join(d.rundir, 'ctl.sock'))
        listener.listen(16)

        def hand_over():
            os.dup2(listener.fileno(), 3)
            os.set_inheritable(3, True)
            os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS='1', LISTEN_FDNAMES='ctl', WAYMARK_RUNDIR=d.rundir)
            os.execve(SESSIOND, [SESSIOND], os.environ)
        child = os.fork()
        if child == 0:
            try:
                os.setsid()
                hand_over()
            finally:
                os._exit(1)
        try:
            check(d.control('version'), 'it does not answer on the socket that it was handed')
            check(os.path.exists(os.path.join(d.rundir, 'app.sock')), 'it made no other')
        finally:
            os.kill(child, signal.SIGTERM)
            _, status = os.waitpid(child, 0)
        check(status == 0, 'it ended with %d', status)
        check(os.path.exists(os.path.join(d.rundir, 'ctl.sock')), 'it removed what is not its own')
        listener.close()


def switches(pid):
    return sum(int(line.split()[1]) for thread in os.listdir('/proc/%d/task' % pid)
               for line in slurp('/proc/%d/task/%s/status' % (pid, thread)).splitlines() if line.startswith('voluntary'))


def idle(case):
    """With a session that waits for programs, nothing wakes it."""
    with daemon(case) as d:
        d.start()
        d.control('create=s:' + case.path('trace'), 'events=s:*', 'start=s')
        seconds = 60 if rounds(100) == 100 else 2
        for _ in range(20):                              # what the commands left to do ends some time
            before = switches(d.process.pid)
            time.sleep(seconds)                          # the measured time, not a condition
            woken = switches(d.process.pid) - before
            if woken == 0:
                break
        check(woken == 0, 'it was woken %d times in %d s', woken, seconds)
        d.control('destroy=s', 'shutdown')
        d.process.wait(60)


def goes_on(case):
    """Killed and ended, started again, at random moments while programs record: every record is there, once."""
    need('babeltrace', 'babeltrace2')
    for turn in range(rounds(20)):
        trace = case.path('trace%d' % turn)
        case.board.__init__(case.board.path)
        with daemon(case) as d:
            check(d.start() == '+', 'it did not start')
            d.control('create=s:' + trace, 'events=s:test:*', 'start=s')
            busy = subprocess.Popen([case.program('busy'), 'paced', '3', '30000', '2000'], env=d.env, start_new_session=True)
            case.started.append(busy)
            wait_for(lambda: case.board.flag(0) == 3, 'three threads to record')
            for _ in range(3):
                time.sleep(case.random.random() * 0.15)          # the moment, not a condition
                d.end(case.random.choice([signal.SIGKILL, signal.SIGTERM]))
                time.sleep(case.random.random() * 0.05)
                check(d.start() == '+', 'it did not start again: %s', slurp(case.path('sessiond.err')))
                listed = d.control('list')
                check(listed['sessions'] and listed['sessions'][0].get('active'), 'the session is not there: %s', listed)
            check(busy.wait(120) == 0, 'the program ended with %s', busy.returncode)
            last = d.control('destroy=s')['sessions'][0]['counts']
            check_sequences(Trace(trace), case.board, last.get('lost', 0))
            check(last.get('records', 0) >= 90000 and not last.get('lost'), 'the counts are %s', last)
            d.control('shutdown')
            check(d.process.wait(60) == 0, 'it ended with %s', d.process.returncode)
            wait_for(lambda: not d.consumer(), 'the consumer daemon to end')


def strangers(case):
    """Another user reaches neither the directory of a user's daemon nor the control socket of root's."""
    if os.geteuid() != 0:
        raise Skip('only root can be somebody else')
    with daemon(case) as d:
        for path in case.directory, os.path.dirname(case.directory):
            if os.stat(path).st_mode & 1 == 0:
                os.chmod(path, 0o711)
        d.start()
        done = subprocess.run([case.program('control'), 'version'], env=d.env, capture_output=True, text=True, timeout=60,
                              user=65534, group=65534, extra_groups=[])
        check(done.returncode == 1 and 'error 13' in done.stderr, 'a stranger was answered: %s', done.stderr)
        check(d.control('version'), 'root is not answered')
        d.control('shutdown')
        d.process.wait(60)


main([one_at_a_time, sockets_handed_over, idle, goes_on, strangers])
