#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Rounds of a session with four writers that sends its trace to a relay. Meanwhile, a proxy damages the connections
(chaos_proxy.py), daemons are killed, chunks are closed, and disks are full. For each stream, the number of emitted
records equals the records in the relay's trace plus the lost count in this trace.

A seed selects all of this; the time of each action varies. Without TLS, nothing detects an inverted bit on a loopback
connection, so rounds with this damage use TLS.
"""
import collections
import contextlib
import errno
import glob
import os
import random
import shutil
import signal
import struct
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from chaos_proxy import HARMS, Proxy  # noqa: E402
from daemon import World  # noqa: E402
from harness import (  # noqa: E402
    PERCENT, SEED, WAYMARK, Ledger, Skip, Trace, check, check_sequences, limit, main, small_disk)
from relay import packets_of  # noqa: E402
from relay_process import Relay, wait_sent  # noqa: E402

WRITERS, ROUNDS, SHORT, ROUND_S = 4, 200, 4, 60
SPIN = '600000'
CHANNELS = (['--subbuf-size', '256k', '--num-subbuf', '8'], ['--subbuf-size', '16k', '--num-subbuf', '4'],
            ['--subbuf-size', '4k', '--num-subbuf', '8'])
SPOOLS = ([], ['--spool-size', '256k'], ['--spool-size', '2M'])
NO_CPU = 0xffffffff                     # of the streams of claim rings


def kill(pid):
    with contextlib.suppress(OSError, TypeError):
        os.kill(pid, signal.SIGKILL)


class Disk:
    """A small file system, which is filled for a time. None: this user cannot mount one."""

    def __init__(self, path):
        self.path = path
        self.ballast = path and os.path.join(path, 'ballast')

    def fill(self):
        with open(self.ballast, 'wb', buffering=0) as f:
            try:
                while True:
                    f.write(bytes(64 << 10))
            except OSError as error:
                check(error.errno == errno.ENOSPC, 'cannot fill the disk: %s', error)

    def empty(self):
        with contextlib.suppress(OSError, TypeError):
            os.unlink(self.ballast)


@contextlib.contextmanager
def disk_of(case):
    try:
        with small_disk(case, '24m') as path:
            yield Disk(path)
    except Skip as reason:
        print('# not checked: full disks (%s)' % reason, flush=True)
        yield Disk(None)


def lost_of(path):
    """{CPU: lost records} of a trace with all its chunks. The packets of each stream are numbered from 0."""
    lost = collections.Counter()
    for top, _, files in os.walk(path):
        for name in files if 'metadata' in files else ():
            packets = [] if name == 'metadata' or name[0] == '.' else packets_of(os.path.join(top, name))
            numbers = [struct.unpack_from('<Q', packet, 64)[0] for packet in packets]
            check(numbers == [*range(len(packets))], '%s/%s has the packets %s', top, name, numbers)
            if packets:
                cpu, count = struct.unpack_from('<I4xQ', packets[-1], 72)
                lost[cpu] += count
    return lost


class Round:
    def __init__(self, case, w, relays, disk, number):
        self.case, self.w, self.disk, self.name = case, w, disk, 'r%d' % number
        chance = self.random = random.Random('%d %d' % (SEED, number))
        self.harms = tuple(chance.sample(HARMS, chance.randrange(1, len(HARMS))))
        self.tls = 'corrupt' in self.harms or chance.random() < 0.3
        self.relay = relays[self.tls]
        self.actions = chance.choices([self.kill_relay, self.kill_consumer, self.kill_session, self.rotate]
                                      + ([self.fill_disk] if disk.path else []), k=chance.randrange(2, 6))
        self.late = chance.choice([None, self.kill_relay, self.kill_consumer])
        self.channel, self.spool = chance.choice(CHANNELS), chance.choice(SPOOLS)
        self.killed = set()
        self.rotations = []

    def __str__(self):
        names = [action.__name__ for action in [*self.actions, *([self.late] if self.late else [])]]
        return 'seed %d, round %s: %s, %s, %s%s' % (SEED, self.name, 'TLS' if self.tls else 'TCP', '+'.join(self.harms),
                                                    ' '.join([*self.channel, *self.spool, '']), ', '.join(names))

    # ── actions ─────────────────────────────────────────────────────────────────────────────────────────

    def kill_relay(self):
        if self.relay.child:
            self.relay.kill()
            self.relay.child = None

    def kill_consumer(self):
        self.killed.add('consumer')
        kill(self.w.consumerd())

    def kill_session(self):
        self.killed.add('session')
        kill(self.w.sessiond())

    def rotate(self):
        """Does not wait for the end: other actions interrupt the rotation."""
        self.rotations.append(self.w.run([WAYMARK, 'rotate', self.name]))

    def fill_disk(self):
        self.disk.fill()

    def act(self, action):
        action()
        self.more_records(self.random.randrange(20, 1500))
        if self.random.random() < 0.6:
            self.repair()

    def repair(self):
        self.disk.empty()
        if not self.relay.child:
            self.relay.start()
        self.w.start_daemon()

    # ── the session ─────────────────────────────────────────────────────────────────────────────────────

    def more_records(self, n):
        begun = self.case.ledger.begun()
        self.w.wait(lambda: self.case.ledger.begun() > begun + n, 'the writers to record')

    def begin(self, url):
        w, name = self.w, self.name
        self.case.ledger.__init__(self.case.ledger.path)
        w('create', name, '--set-url', url, *self.spool)
        w('enable-channel', '-s', name, 'c', *self.channel)
        w('enable-event', '-s', name, 'test:*', '-c', 'c')
        w('start', name)
        cpus = sorted(os.sched_getaffinity(0))
        self.programs, self.cpu_of = [], {}
        for n in range(WRITERS):
            cpu = cpus[n % len(cpus)]
            self.programs.append(w.run(['taskset', '-c', str(cpu), self.case.program('busy'), 'until', '1', SPIN]))
            w.wait(lambda n=n: self.case.ledger.flag(0) > n, 'the writers to record')
            writer, = self.case.ledger.read().keys() - self.cpu_of.keys()
            self.cpu_of[writer] = cpu

    def end(self):
        """Returns the lost count of the session."""
        w, name = self.w, self.name
        w.remember_rings()
        self.repair()
        w('enable-event', '-s', name, '-c', 'c', 'test:*')           # all applications have confirmed
        self.case.ledger.set_flag(1, 1)
        for program in self.programs:
            w.wait_end(program)
        for rotation in self.rotations:
            w.wait_end(rotation, None)
        w('stop', name)
        return w('destroy', name, '--json').json['sessions'][0]['counts']['lost']

    def end_of_spool(self):
        if self.late:
            self.late()
        self.repair()
        # A consumer daemon that starts for another session also sends the spools that are left.
        if self.late == self.kill_consumer:
            self.w('create', 'next', '--set-url', self.relay.url)
            self.w('enable-event', '-s', 'next', 'test:*')
            self.w('start', 'next')
            other = Ledger(self.case.path('other'))
            self.w.wait_end(self.w.run([self.case.program('busy'), 'count', '1', '1', '0'],
                                       env={'WMK_TEST_LEDGER': other.path}))
            self.w('destroy', 'next')

    def check_trace(self, lost):
        path = self.relay.trace(self.name)
        archives = os.path.join(path, 'archives')
        left = [name for name in os.listdir(archives) if name[0] == '.'] if os.path.isdir(archives) else []
        check(not left, 'chunks that are not closed: %s', left)
        lost_at = lost_of(path)
        total = sum(lost_at.values())
        numbers = check_sequences(Trace(path, lossy=total > 0), self.case.ledger, total)
        begun = {cpu: 0 for cpu in self.cpu_of.values()}
        read = dict(begun)
        for writer, (count, _) in self.case.ledger.read().items():
            begun[self.cpu_of[writer]] += count
            read[self.cpu_of[writer]] += len(numbers.get(writer, ()))
        for cpu, count in begun.items():
            missing = count - read[cpu] - lost_at[cpu]
            check(0 <= missing <= lost_at[NO_CPU], 'CPU %d: emitted %d, read %d, lost %d', cpu, count, read[cpu],
                  lost_at[cpu])
        # docs/rotation.md, "Counts": the exception.
        if not (self.rotations and {'consumer', 'session'} <= self.killed):
            check(lost == total, '%d records lost in the trace, %d in the session', total, lost)
        shutil.rmtree(path)
        return sum(read.values()), total

    def run(self):
        proxy = Proxy(SEED, self.relay.port, self.harms)
        try:
            self.begin(self.relay.url.replace(str(self.relay.port), str(proxy.port)))
            for action in self.actions:
                self.act(action)
            lost = self.end()
            self.end_of_spool()
            proxy.calm()
            wait_sent(self.w, ROUND_S)
        finally:
            proxy.close()
        return (*self.check_trace(lost), proxy.number)


@limit(150)
def each_record_is_stored_or_counted_under_random_relay_faults(case):
    with disk_of(case) as disk, World(case, daemon=False) as w:
        place, pem = case.path('certificates'), case.path('relay.pem')
        w.env.update(WAYMARK_RELAY_DIR=place, WAYMARK_RELAY_PEM=pem)
        if disk.path:
            for path in (os.path.join(w.home, '.local/state/waymark/spool'), os.path.join(w.place, 'relay')):
                os.makedirs(os.path.dirname(path), exist_ok=True)
                os.mkdir(os.path.join(disk.path, os.path.basename(path)), 0o700)
                os.symlink(os.path.join(disk.path, os.path.basename(path)), path)
        w('relay', 'init')
        w('relay', 'enroll', 'web1', pem)
        relays = [Relay(w), Relay(w, certificates=place)]
        for number in range(ROUNDS * PERCENT // 100 if PERCENT >= 100 else SHORT):
            one, begun = Round(case, w, relays, disk, number), time.monotonic()
            try:
                records, lost, connections = one.run()
            except Exception as failure:
                raise type(failure)('%s: %s' % (one, failure)) from failure
            seconds = time.monotonic() - begun
            print('# %s: %d records, %d lost, %d connections, %.1f s' % (one, records, lost, connections, seconds),
                  flush=True)
            check(seconds <= ROUND_S, '%s: %.1f s', one, seconds)


@limit(60)
def relay_that_acknowledges_nothing_is_reported(case):
    if PERCENT < 100:
        raise Skip('waits 30 s for the relay, in long runs only')
    with World(case, daemon=False) as w:
        relay = Relay(w)
        w('create', 'stall', '--set-url', relay.url)
        w('enable-event', '-s', 'stall', 'test:*')
        w('start', 'stall')
        program = w.run([case.program('busy'), 'until', '1', SPIN])
        w.wait(lambda: glob.glob(os.path.join(relay.root, '*/stall-*/ust/uid/*/*/channel0_*')), 'records at the relay')
        os.kill(relay.child.pid, signal.SIGSTOP)
        begun = case.ledger.begun()
        w.wait(lambda: case.ledger.begun() > begun + 1000, 'the writer to record')
        case.ledger.set_flag(1, 1)
        w.wait_end(program)
        w.wait(lambda: any(words in w.printed() for words in ('acknowledged nothing', 'does not answer')),
               'the reason in the log')
        os.kill(relay.child.pid, signal.SIGCONT)
        lost = w('destroy', 'stall', '--json').json['sessions'][0]['counts']['lost']
        wait_sent(w)
        check_sequences(Trace(relay.trace('stall'), lossy=lost > 0), case.ledger, lost)


if __name__ == '__main__':
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    main([each_record_is_stored_or_counted_under_random_relay_faults, relay_that_acknowledges_nothing_is_reported])
