# SPDX-License-Identifier: MIT
"""
Benchmarks of the relay: CPU time and throughput of the sender with its relay, with TLS and with plain TCP; delays of
viewers (relay_viewers.py).

The rival is lttng-consumerd with lttng-relayd, which have no TLS. All files are on a tmpfs: traces, spools and homes.
"""
import contextlib
import glob
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import lttng_session
import process
import relay_viewers
import waymark_session
from common import RIVAL, case, parse, show
from recording import tree_size

TMPFS = '/dev/shm'
RINGS = {'subbuf_size': '4M', 'num_subbuf': 8}
PLAIN, TLS = 'tcp', 'ours'
SIDES = (TLS, PLAIN, RIVAL)
SENT_S = 120            # limit for the spool of a session to be sent
RECORDS = 3000000       # of each of the two programs that make the same records on all sides
PAUSE_EVERY = 2000      # records, then 1 ms: slow enough that no side loses records
FULL_SPEED_MS = '1000'


class Relay:
    """
    One waymark-relayd, and the environment of its sender. `tls`: with certificates that `waymark relay` makes; else the
    host is "sender", too. `live`: with a server of the LTTng-live protocol.
    """

    def __init__(self, b, place, tls, live=False):
        os.mkdir(place)
        self.root = os.path.join(place, 'root')
        self.keys, self.pem = os.path.join(place, 'keys'), os.path.join(place, 'sender.pem')
        self.viewer_pem = os.path.join(place, 'viewer.pem')
        self.env = {'WAYMARK_RELAY_PEM': self.pem}
        if tls:
            env = dict(os.environ, WAYMARK_RELAY_DIR=self.keys)
            for args in (('init', '127.0.0.1'), ('enroll', 'sender', self.pem),
                         ('enroll', '--viewer', 'viewer', self.viewer_pem)):
                subprocess.run([b.waymark, 'relay', *args], env=env, stdout=subprocess.DEVNULL, check=True)
        self.process = subprocess.Popen(
            [os.path.join(b.build, 'src', 'daemons', 'waymark-relayd'), '--output', self.root, '--listen',
             '127.0.0.1:0', '--print-ports', *(['--tls', '--certificates', self.keys] if tls else []),
             *(['--lttng-live=0'] if live else [])], stdout=subprocess.PIPE, text=True)
        ports = [self.process.stdout.readline() for _ in range(2 if live else 1)]
        if not all(ports):
            raise RuntimeError('waymark-relayd does not start')
        self.live_port = int(ports[-1])
        self.url = ('tls://127.0.0.1:%d' if tls else 'tcp://127.0.0.1:%d/sender') % int(ports[0])

    def wait_session(self):
        """The name of the only session, when the relay has its first metadata."""
        end = time.monotonic() + SENT_S
        while time.monotonic() < end:
            found = glob.glob(os.path.join(self.root, 'sender', '*', '**', 'metadata'), recursive=True)
            if found and os.path.getsize(found[0]):
                return os.path.relpath(found[0], os.path.join(self.root, 'sender')).split(os.sep)[0]
            time.sleep(0.01)
        raise RuntimeError('the relay has no session after %d s' % SENT_S)

    def close(self):
        self.process.terminate()
        self.process.wait()
        self.process.stdout.close()


def same_records(b, tracer):
    """Two programs, each with RECORDS records."""
    return [['taskset', '-c', str(cpu), b.program('work_' + tracer), 'count', 'bytes64', str(RECORDS),
             str(PAUSE_EVERY)] for cpu in (b.cpus * 2)[:2]]


def full_speed(b, tracer):
    """One program, two threads at full speed."""
    return [[b.program('work_' + tracer), 'stream', 'bytes64', ','.join(map(str, (b.cpus * 2)[:2])), FULL_SPEED_MS]]


def run_all(programs, env):
    """Run the programs at the same time. Returns the number of records that they began."""
    children = [subprocess.Popen(argv, env=env, stdout=subprocess.PIPE, text=True) for argv in programs]
    begun = 0
    for child in children:
        begun += int(parse(child.stdout.read())['begun'])
        child.stdout.close()
        if child.wait():
            sys.exit('%s: status %d' % (' '.join(child.args), child.returncode))
    return begun


class Usage:
    """CPU time of a consumer daemon and a relay from construction to end()."""

    def __init__(self, consumer, relay):
        self.pids = {'sender': consumer, 'relay': relay}
        self.before = {name: process.settled_cpu_ns(pid) for name, pid in self.pids.items()}
        self.begin = time.monotonic()

    def end(self, seconds, directory, begun, records):
        """`seconds`: from the first record until the relay had all records."""
        size = tree_size(directory)
        used = {name: (process.settled_cpu_ns(pid) - self.before[name]) / 1e9 for name, pid in self.pids.items()}
        return {'cpu_s_per_GB': sum(used.values()) / (size / 1e9), 'MB_per_s': size / 1e6 / seconds,
                'cpu_ns_per_record': sum(used.values()) * 1e9 / records, 'bytes': size, 'records': records,
                'lost': begun - records, 'lost_percent': 100 * (begun - records) / begun,
                **{name + '_cpu_s_per_GB': cpu / (size / 1e9) for name, cpu in used.items()}}


def wait_sent(home):
    spools = os.path.join(home, '.local', 'state', 'waymark', 'spool')
    end = time.monotonic() + SENT_S
    while os.path.isdir(spools) and os.listdir(spools):
        if time.monotonic() > end:
            raise RuntimeError('the spool is not sent after %d s' % SENT_S)
        time.sleep(0.001)


def ours(b, place, programs, tls):
    relay = Relay(b, place, tls)
    daemon = waymark_session.Daemon(b.build, place, relay.env)
    try:
        daemon.start('cost', None, 'bench:*', url=relay.url, statedump=False, **RINGS)
        usage = Usage(daemon.consumer_pid(), relay.process.pid)
        begun = run_all(programs(b, 'waymark'), daemon.env)
        daemon.stop('cost')
        wait_sent(daemon.home)
        seconds = time.monotonic() - usage.begin
        out, _ = b.run([b.program('decode'), 'records', relay.root])
        return usage.end(seconds, relay.root, begun, int(parse(out)['records']))
    finally:
        daemon.close()
        relay.close()


def rival(b, place, programs):
    relay, name = lttng_session.Relay(place), 'cost%d' % b.serial
    try:
        b.daemon.start(name, None, streamed=relay.url, **RINGS)
        usage = Usage(b.daemon.consumer_pid(), relay.process.pid)
        begun = run_all(programs(b, 'lttng'), b.daemon.env)
        b.daemon.stop(name)
        seconds = time.monotonic() - usage.begin
        directory = relay.output(name)
        return usage.end(seconds, directory, begun, lttng_session.counted(directory))
    finally:
        relay.close()


@contextlib.contextmanager
def on_tmpfs():
    """A path on a tmpfs that does not exist yet, in a directory that is removed at the end."""
    place = tempfile.mkdtemp(prefix='waymark-bench-', dir=TMPFS)
    try:
        yield os.path.join(place, 'relay')
    finally:
        shutil.rmtree(place, ignore_errors=True)


def measured(b, programs):
    """The figures of all sides, in turn: a list of {side: figures}."""
    runs = []
    for _ in range(min(b.runs, 5)):
        run = {}
        for side in SIDES if b.daemon and lttng_session.has_relay() else SIDES[:2]:
            with on_tmpfs() as place:
                run[side] = rival(b, place, programs) if side == RIVAL else ours(b, place, programs, side == TLS)
        runs.append(run)
    return runs


def cost(b):
    """Two programs with the same records, then one program at full speed."""
    cases = []
    for name, programs in (('same_records', same_records), ('full_speed', full_speed)):
        runs = measured(b, programs)
        for key, unit in (('cpu_s_per_GB', 's/GB'), ('cpu_ns_per_record', 'ns/record'), ('MB_per_s', 'MB/s'),
                          ('lost_percent', '%')):
            figures = [{side: round(found[key], 3) for side, found in run.items()} for run in runs]
            for run, of in zip(runs, figures):
                of['details'] = run
            cases.append(case('%s_%s' % (name, key), unit, figures))
            cases[-1]['rivals'][PLAIN] = round(statistics.median(of[PLAIN] for of in figures), 4)
            for other in (PLAIN, RIVAL):
                if other in cases[-1]['rivals']:
                    show(cases[-1], other)
    return cases


def printed(b):
    """Time from a record to its printed line, with TLS between sender, relay and viewers."""
    cases = []
    for name, readers in (('printed_20_viewers', relay_viewers.viewers),
                          ('printed_lttng_live', relay_viewers.lttng_live)):
        if readers == relay_viewers.lttng_live and not (shutil.which('babeltrace2') and shutil.which('stdbuf')):
            print('  %s: left out (missing: babeltrace2 or stdbuf)' % name)
            continue
        with on_tmpfs() as place:
            relay = Relay(b, place, True, live=True)
            try:
                cases.append(relay_viewers.case_of(name, readers(b, relay, os.path.dirname(place))))
            finally:
                relay.close()
    return cases


def bench_relay(b):
    """Sender and relay with TLS ("ours") and with plain TCP ("tcp"), against lttng-consumerd and lttng-relayd."""
    if not os.path.isdir(TMPFS):
        sys.exit('relay: %s does not exist' % TMPFS)
    if not (b.daemon and lttng_session.has_relay()):
        print('  rival: absent (missing: %s)' % (b.absent or 'lttng-relayd'))
    return cost(b) + printed(b)
