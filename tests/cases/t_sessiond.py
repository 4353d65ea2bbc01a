#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
The session daemon as a process: one instance, socket activation, idle state, kills and restarts while applications
record.
"""
import contextlib
import fcntl
import glob
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from harness import (  # noqa: E402
    FEATURES, Skip, awaited, check, check_sequences, finished, main, need, need_other_users, not_under_tsan, rounds,
    slurp, wait_for)
from traces import Trace  # noqa: E402

SESSIOND = os.environ['WMK_SESSIOND']


class Daemon:
    """waymark-sessiond in the case's own runtime directory."""

    def __init__(self, case):
        self.case, self.rundir, self.process = case, case.short('run'), None
        self.env = dict(case.env, WAYMARK_RUNDIR=self.rundir)

    def start(self, *argv, **popen):
        ready, ours = os.pipe()
        with open(self.case.path('sessiond.err'), 'a', encoding='utf-8') as err:
            self.process = subprocess.Popen([SESSIOND, *argv], env=dict(self.env, WAYMARK_READY_FD=str(ours)),
                                            pass_fds=[ours], stdin=subprocess.DEVNULL, stdout=err, stderr=err,
                                            start_new_session=True, **popen)
        self.case.started.append(self.process)
        os.close(ours)
        with os.fdopen(ready, 'rb') as f:
            words = f.read()
        return words.decode()

    def end(self, number):
        self.process.send_signal(number)
        awaited(self.process)
        return self.process.returncode

    def control(self, *words, status=0):
        done = finished([self.case.program('control'), *words], env=self.env, capture_output=True, text=True)
        check(done.returncode == status, 'control %s: status %d: %s', ' '.join(words), done.returncode, done.stderr)
        return json.loads(done.stdout) if done.stdout else done.stderr

    def kill_both(self):
        """In random order."""
        pids = [self.process.pid, self.consumer()]
        self.case.random.shuffle(pids)
        for pid in filter(None, pids):
            os.kill(pid, signal.SIGKILL)
        awaited(self.process)

    def shut_down(self):
        self.control('shutdown')
        check(awaited(self.process) == 0, 'it ended with %s', self.process.returncode)
        wait_for(lambda: not self.consumer(), 'the consumer daemon to end')

    def consumer(self):
        with contextlib.suppress(OSError, ValueError):
            pid = int(slurp(os.path.join(self.rundir, 'consumer.pid')))
            if 'waymark-consume' in slurp('/proc/%d/comm' % pid):
                return pid
        return 0


@contextlib.contextmanager
def running_daemon(case):
    d = Daemon(case)
    try:
        yield d
    finally:
        if d.process and d.process.poll() is None:
            d.end(signal.SIGKILL)
        if d.consumer():
            os.kill(d.consumer(), signal.SIGKILL)


def second_daemon_is_refused(case):
    """A second daemon names the process of the first. After any end of the first one, it can be started again."""
    with running_daemon(case) as first:
        check(first.start() == '+', 'it did not report that it listens')
        second = Daemon(case)
        words = second.start()
        check(words.startswith('!') and 'process %d' % first.process.pid in words, 'the second printed: %s', words)
        check(awaited(second.process) == 1, 'the second ended with %s', second.process.returncode)
        check(first.control('version'), 'the first daemon no longer answers')
        for number, status in (signal.SIGKILL, -9), (signal.SIGTERM, 0), (signal.SIGINT, 0):
            check(first.end(number) == status, 'signal %d: it ended with %s', number, first.process.returncode)
            check(first.start() == '+', 'it did not start again after signal %d', number)
        first.control('shutdown')
        check(awaited(first.process) == 0, 'it ended with %s', first.process.returncode)
        left = set(os.listdir(first.rundir)) - {'notify', 'state', 'consumer.pid'}
        check(not left, 'left behind: %s', left)


def socket_activation_descriptors_are_used_by_the_daemon(case):
    """Socket activation as by systemd: listening sockets from descriptor 3 on."""
    with running_daemon(case) as d:
        os.mkdir(d.rundir, 0o700)
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(os.path.join(d.rundir, 'ctl.sock'))
        listener.listen(16)

        def hand_over():
            os.dup2(listener.fileno(), 3)
            os.set_inheritable(3, True)
            os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS='1', LISTEN_FDNAMES='ctl',
                              WAYMARK_RUNDIR=d.rundir)
            os.execve(SESSIOND, [SESSIOND], os.environ)
        child = os.fork()
        if child == 0:
            try:
                os.setsid()
                hand_over()
            finally:
                os._exit(1)
        try:
            check(d.control('version'), 'it does not answer on the inherited socket')
            check(os.path.exists(os.path.join(d.rundir, 'app.sock')), 'it did not create app.sock')
        finally:
            os.kill(child, signal.SIGTERM)
            _, status = os.waitpid(child, 0)
        check(status == 0, 'it ended with %d', status)
        check(os.path.exists(os.path.join(d.rundir, 'ctl.sock')), 'it removed the inherited socket')
        listener.close()


def switches(pid):
    return sum(
        int(line.split()[1]) for thread in os.listdir('/proc/%d/task' % pid)
        for line in slurp('/proc/%d/task/%s/status' % (pid, thread)).splitlines() if line.startswith('voluntary'))


def idle_daemon_does_not_wake(case):
    """Nothing wakes the daemon while a session waits for applications."""
    not_under_tsan('TSan\'s own thread wakes ten times a second')
    with running_daemon(case) as d:
        d.start()
        d.control('create=s:' + case.path('trace'), 'events=s:*', 'start=s')
        seconds = 60 if rounds(100) == 100 else 2
        for _ in range(20):                              # work left by the commands ends at some time
            before = switches(d.process.pid)
            time.sleep(seconds)                          # the measured time, not a condition
            woken = switches(d.process.pid) - before
            if woken == 0:
                break
        check(woken == 0, 'it was woken %d times in %d s', woken, seconds)
        d.control('destroy=s', 'shutdown')
        awaited(d.process)


def programs_that_record(d):
    """The applications that have registered since the daemon started."""
    return [app for app in d.control('apps').get('apps', []) if app.get('connected') and app.get('n_events')]


def pace():
    """Microseconds between groups of records, so that a slow build has few of them to read."""
    return '20000' if 'sanitize' in FEATURES else '6000'


def second_rings(trace):
    """Streams of rings that were created beside the awaited ones."""
    return [name for _, _, names in os.walk(trace) for name in names if '~' in name]


def restarted_daemon_records_each_record_once(case):
    """
    The daemon is killed or terminated and restarted at random moments while applications record: each record is in the
    trace once.
    """
    need('babeltrace', 'babeltrace2')
    for turn in range(rounds(20)):
        trace = case.path('trace%d' % turn)
        case.ledger.__init__(case.ledger.path)
        with running_daemon(case) as d:
            check(d.start() == '+', 'it did not start')
            d.control('create=s:' + trace, 'events=s:test:*', 'start=s')
            busy = subprocess.Popen([case.program('busy'), 'paced', '3', '30000', '2000'], env=d.env,
                                    start_new_session=True)
            case.started.append(busy)
            wait_for(lambda: case.ledger.flag(0) == 3, 'three threads to record')
            for _ in range(3):
                time.sleep(case.random.random() * 0.15)          # the moment, not a condition
                d.end(case.random.choice([signal.SIGKILL, signal.SIGTERM]))
                time.sleep(case.random.random() * 0.05)
                check(d.start() == '+', 'it did not start again: %s', slurp(case.path('sessiond.err')))
                listed = d.control('list')
                check(listed['sessions'] and listed['sessions'][0].get('active'), 'the session is missing: %s',
                      listed)
            check(awaited(busy) == 0, 'the program ended with %s', busy.returncode)
            last = d.control('destroy=s')['sessions'][0]['counts']
            check_sequences(Trace(trace), case.ledger, last.get('lost', 0))
            check(last.get('records', 0) >= 90000 and not last.get('lost'), 'the counts are %s', last)
            d.shut_down()


def reattached_rings_lose_no_records(case):
    """
    Both daemons are killed together while applications record. The reattached rings are used again, and no record is
    lost or recorded twice.
    """
    need('babeltrace', 'babeltrace2')
    for turn in range(rounds(10)):
        trace = case.path('trace%d' % turn)
        case.ledger.__init__(case.ledger.path)
        with running_daemon(case) as d:
            check(d.start() == '+', 'it did not start')
            d.control('create=s:' + trace, 'events=s:test:*', 'start=s')
            busy = [
                subprocess.Popen([case.program('busy'), 'paced', '2', '10000000',
                                  pace()], env=d.env, start_new_session=True) for _ in range(2)
            ]
            case.started += busy
            wait_for(lambda: case.ledger.flag(0) == 4, 'four threads to record')
            for _ in range(3):
                wait_for(lambda: len(programs_that_record(d)) == 2, 'both programs to register')
                time.sleep(case.random.random() * 0.15)          # the moment, not a condition
                d.kill_both()
                time.sleep(case.random.random() * 0.1)
                check(d.start() == '+', 'it did not start again: %s', slurp(case.path('sessiond.err')))
                listed = d.control('list')
                check(listed['sessions'] and listed['sessions'][0].get('active'), 'the session is missing: %s',
                      listed)
            wait_for(lambda: len(programs_that_record(d)) == 2, 'both programs to register')
            case.ledger.set_flag(1, 1)
            for program in busy:
                check(awaited(program) == 0, 'a program ended with %s', program.returncode)
            check(not second_rings(trace), 'the applications did not keep their rings: %s', second_rings(trace))
            ended = d.control('destroy=s')
            check(not ended.get('warnings'), 'warnings: %s', ended)
            last = ended['sessions'][0]['counts']
            check_sequences(Trace(trace), case.ledger, last.get('lost', 0))
            check(last.get('records', 0) and not last.get('lost'), 'the counts are %s', last)
            d.shut_down()


def rings_that_no_application_reattaches_are_reported(case):
    """
    No application reattaches the rings: new applications get new rings beside them, and a warning reports the possible
    loss.
    """
    need('babeltrace', 'babeltrace2')
    trace = case.path('trace')
    with running_daemon(case) as d:
        check(d.start() == '+', 'it did not start')
        d.control('create=s:' + trace, 'events=s:test:*', 'start=s')
        for turn in range(3):
            busy = subprocess.Popen([case.program('busy'), 'count', '2', '5000', '0'], env=d.env,
                                    start_new_session=True)
            case.started.append(busy)
            check(awaited(busy) == 0, 'the program ended with %s', busy.returncode)
            # all records are in the files: the lost rings are empty
            stopped = d.control('stop=s')
            check(('has reattached' in str(stopped.get('warnings'))) == (turn > 0),
                  'after %d crashes of both daemons: %s', turn, stopped)
            d.control('start=s')
            d.kill_both()
            words = d.start()
            check(words == '+', 'it did not start again: %s %s', words, slurp(case.path('sessiond.err')))
            check(d.control('list')['sessions'][0].get('active'), 'the session is missing')
        check({n.split('~')[1][0] for n in second_rings(trace)} == {'2', '3'}, 'the streams are %s',
              second_rings(trace))
        ended = d.control('destroy=s')
        check('3 ring sets' in str(ended['warnings']) or '6 ring sets' in str(ended['warnings']), 'wrong warnings: %s',
              ended)
        check_sequences(Trace(trace), case.ledger, 0)
        d.shut_down()


def reattached_rings_are_kept_until_a_consumer_daemon_starts(case):
    """Rings that are reattached without a consumer daemon are kept, and drained when one has started."""
    need('babeltrace', 'babeltrace2')
    trace, late, may = case.path('trace'), case.path('late'), case.path('may')
    with open(late, 'w', encoding='utf-8') as f:
        f.write('#!/bin/sh\n[ -e %s ] && exec %s/waymark-consumerd "$@"\nexit 1\n' % (may, os.path.dirname(SESSIOND)))
    os.chmod(late, 0o700)
    with running_daemon(case) as d:
        check(d.start() == '+', 'it did not start')
        d.control('create=s:' + trace, 'events=s:test:*', 'start=s')
        busy = subprocess.Popen([case.program('busy'), 'paced', '2', '10000000', '20000'], env=d.env,
                                start_new_session=True)
        case.started.append(busy)
        wait_for(lambda: case.ledger.flag(0) == 2, 'two threads to record')
        d.end(signal.SIGKILL)  # first the session daemon: it would start another consumer daemon
        os.kill(d.consumer(), signal.SIGKILL)
        wait_for(lambda: not d.consumer(), 'the consumer daemon to be gone')
        check(d.start('--consumerd', late) == '+', 'it did not start again: %s', slurp(case.path('sessiond.err')))
        wait_for(lambda: programs_that_record(d), 'the program to register')
        with open(may, 'w', encoding='utf-8'):
            pass
        stopped = d.control('stop=s')
        check('cannot open the trace' in str(stopped['warnings']) and 'has reattached' not in str(stopped['warnings']),
              'wrong warnings: %s', stopped)
        before = stopped['sessions'][0]['counts']
        check(before['records'] and not before['lost'], 'the records in the rings are not written: %s', before)
        d.control('start=s')
        case.ledger.set_flag(1, 1)
        check(awaited(busy) == 0, 'the program ended with %s', busy.returncode)
        after = d.control('destroy=s')['sessions'][0]['counts']
        check(after['records'] >= before['records'] and not after['lost'], 'the counts are %s, and were %s', after,
              before)
        check(not second_rings(trace) and Trace(trace).count() == after['records'],
              'the readers find %d records, not those of %s',
              Trace(trace).count(), after)
        d.shut_down()


HELLO, WELCOME, EVENTS_END, DONE, ERROR, RINGS = 1, 2, 5, 10, 14, 15
WITH_FD = 1


class ForgedApplication:
    """A client that speaks the protocol of an application."""

    def __init__(self, rundir):
        self.socket, self.bytes = socket.socket(socket.AF_UNIX), b''
        self.socket.settimeout(60)
        self.socket.connect(os.path.join(rundir, 'app.sock'))
        hello = struct.pack('<IIIIQQQqQ32s37s65s', 1, 64, os.getpid(), os.getppid(), 0, 7, 0, 0, 0, b'', b'', b'forged')
        self.send(HELLO, hello + b'\0' * (-len(hello) % 8))
        kind, _ = self.receive()
        check(kind == WELCOME, 'the daemon sent %d, not WELCOME', kind)

    def send(self, kind, body, fd=None):
        frame = struct.pack('<IHHII', len(body), kind, 1, 0, 0 if fd is None else WITH_FD) + body
        socket.send_fds(self.socket, [frame], [] if fd is None else [fd])

    def receive(self):
        while True:
            if len(self.bytes) >= 16:
                length, kind = struct.unpack_from('<IH', self.bytes)
                if len(self.bytes) >= 16 + length:
                    body, self.bytes = self.bytes[16:16 + length], self.bytes[16 + length:]
                    return kind, body
            more, fds, _, _ = socket.recv_fds(self.socket, 65536, 64)
            for fd in fds:
                os.close(fd)
            check(more, 'the daemon closed the connection')
            self.bytes += more

    def reattach(self, uuid, fd):
        """Reattach a ring set. Returns the daemon's answers before DONE."""
        self.send(RINGS, uuid, fd)
        self.send(EVENTS_END, struct.pack('<I', 1))
        answers = []
        while not answers or answers[-1][0] != DONE:
            answers.append(self.receive())
        return [(kind, body[4:].decode(errors='replace')) for kind, body in answers[:-1]]


def forge_reattachment(rundir, uuid, fd, words=None, user=None):
    """
    Reattach the set from another process, as `user`. Returns whether it was refused with these words or without an
    answer.
    """
    child = os.fork()
    if child == 0:
        status = 1
        try:
            if user:
                os.setgroups([])
                os.setresgid(user, user, user)
                os.setresuid(user, user, user)
            answers = ForgedApplication(rundir).reattach(uuid, fd)
            status = 0 if (any(kind == ERROR and words in text
                               for kind, text in answers) if words else not answers) else 2
            if status:
                print('# answered with %s' % answers, flush=True)
        finally:
            os._exit(status)
    return os.waitpid(child, 0)[1] == 0


def forged_sets(fd, other):
    """(description, a descriptor that resembles the set `fd`)"""
    size, header = os.fstat(fd).st_size, os.pread(fd, 4096, 0)
    yield 'another set', other
    yield 'a device', os.open('/dev/null', os.O_RDWR)
    yield 'a socket', socket.socketpair()[0].detach()
    for what, length, text, seals in (('a copy', size, header, 14), ('a copy without seals', size, header, 0),
                                      ('a copy that is too short', 8192, header, 14), ('invalid bytes', size,
                                                                                       b'\xff' * 4096, 14)):
        fake = os.memfd_create('fake', os.MFD_ALLOW_SEALING)
        os.ftruncate(fake, length)
        os.pwrite(fake, text, 0)
        if seals:
            fcntl.fcntl(fake, 1033, seals & ~8)          # F_ADD_SEALS: shrink, grow
        yield what, fake


def forged_ring_reattachment_is_refused(case):
    """A descriptor that is not the awaited set, or that comes from another user, changes nothing."""
    if os.geteuid() != 0:
        raise Skip('only root can change its uid')
    need('babeltrace', 'babeltrace2')
    trace = case.path('trace')
    for path in case.directory, os.path.dirname(case.directory):
        if os.stat(path).st_mode & 1 == 0:
            os.chmod(path, 0o711)
    with running_daemon(case) as d:
        d.start()
        d.control('create=s:' + trace, 'events=s:test:*', 'start=s')
        busy = subprocess.Popen([case.program('busy'), 'paced', '2', '20000', '3000'], env=d.env,
                                start_new_session=True)
        case.started.append(busy)
        wait_for(lambda: case.ledger.flag(0) == 2, 'two threads to record')
        busy.send_signal(signal.SIGSTOP)                         # it reattaches nothing before the forged attempts
        wait_for(lambda: ') T ' in slurp('/proc/%d/stat' % busy.pid), 'the program to stop')
        d.kill_both()
        kept = {
            r['inode']: bytes.fromhex(r['set'].replace('-', ''))
            for r in json.loads(slurp(d.rundir + '/state/1.json'))['rings']
        }
        held = {}
        for path in glob.glob('/proc/%d/task/*/fd/*' % busy.pid):  # the helper thread has its own descriptor table
            with contextlib.suppress(OSError):
                held[os.stat(path).st_ino] = path
        (one, uuid), (other, _) = [(os.open(held[inode], os.O_RDWR), uuid) for inode, uuid in kept.items()]
        check(d.start() == '+', 'it did not start again: %s', slurp(case.path('sessiond.err')))
        check(forge_reattachment(d.rundir, os.urandom(16), one), 'an unknown uuid was accepted')
        check(forge_reattachment(d.rundir, uuid, one, user=65534), 'another user\'s set was accepted')
        for what, fake in forged_sets(one, other):
            check(forge_reattachment(d.rundir, uuid, fake, 'is not the expected file'),
                  '%s was accepted, or refused for another reason', what)
            check(forge_reattachment(d.rundir, uuid, fake, user=65534), '%s by another user was accepted', what)
        header = os.pread(one, 4096, 0)
        sizes = struct.unpack_from('<II', header, 16)
        os.pwrite(one, struct.pack('<II', sizes[0] // 2, sizes[1] * 2), 16)
        check(forge_reattachment(d.rundir, uuid, one, 'the geometry'),
              'the right file with another geometry was accepted')
        os.pwrite(one, header, 0)
        busy.send_signal(signal.SIGCONT)
        check(awaited(busy) == 0, 'the program ended with %s', busy.returncode)
        check(not second_rings(trace), 'the application did not keep its rings: %s', second_rings(trace))
        ended = d.control('destroy=s')
        check(not ended.get('warnings'), 'warnings: %s', ended)
        check_sequences(Trace(trace), case.ledger, ended['sessions'][0]['counts'].get('lost', 0))
        d.shut_down()


def daemon_directories_refuse_other_users(case):
    """Another user can access neither the directory of a user's daemon nor the control socket of root's."""
    need_other_users()
    with running_daemon(case) as d:
        for path in case.directory, os.path.dirname(case.directory):
            if os.stat(path).st_mode & 1 == 0:
                os.chmod(path, 0o711)
        d.start()
        done = finished([case.program('control'), 'version'], env=d.env, capture_output=True, text=True,
                        user=65534, group=65534, extra_groups=[])
        check(done.returncode == 1 and 'error 13' in done.stderr, 'another user was answered: %s', done.stderr)
        check(d.control('version'), 'the daemon does not answer root')
        d.control('shutdown')
        awaited(d.process)


main([
    second_daemon_is_refused, socket_activation_descriptors_are_used_by_the_daemon, idle_daemon_does_not_wake,
    restarted_daemon_records_each_record_once, reattached_rings_lose_no_records,
    rings_that_no_application_reattaches_are_reported, reattached_rings_are_kept_until_a_consumer_daemon_starts,
    forged_ring_reattachment_is_refused,
    daemon_directories_refuse_other_users
])
