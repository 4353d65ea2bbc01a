# SPDX-License-Identifier: MIT
"""
Benchmarks of the viewers of a relay: time from a record on the sender to its line at each of many viewers, one of which
reads a byte a second; the same for babeltrace2 at the server of the LTTng-live protocol.
"""
import fcntl
import os
import statistics
import subprocess
import threading

import waymark_session
from common import show
from live import BUFFERS, FIRST_NS, Printed, paced

VIEWERS = 20
RATE, RECORDS = 100, 1000       # per second; in all


class Slow:
    """A live reader that prints into a pipe of one page, from which a byte is read each second."""

    def __init__(self, argv, env):
        self.child = subprocess.Popen(argv, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        fcntl.fcntl(self.child.stdout.fileno(), fcntl.F_SETPIPE_SZ, os.sysconf('SC_PAGESIZE'))
        self.ended, self.bytes = threading.Event(), 0
        self.thread = threading.Thread(target=self.read)
        self.thread.start()

    def read(self):
        while not self.ended.wait(1):
            self.bytes += len(os.read(self.child.stdout.fileno(), 1))

    def close(self):
        self.child.kill()
        self.child.wait()
        self.ended.set()
        self.thread.join()
        self.child.stdout.close()


def median_of(reader):
    """The median of the delays in ms, without the first second; None if the reader printed nothing."""
    delays = [ms for at, ms in reader.delays if at >= reader.delays[0][0] + FIRST_NS]
    return statistics.median(delays) if delays else None


def watched(b, relay, place, readers, slow=None):
    """
    Run the paced program with live readers, which `readers` and `slow` start with the name of the session. Returns the
    median of each reader.
    """
    daemon = waymark_session.Daemon(b.build, place, relay.env)
    started, late = [], None
    try:
        daemon.start('watched', None, 'bench:*', url=relay.url, statedump=False, **BUFFERS)
        warm = subprocess.Popen(paced(b, 'waymark', 10, 50), env=daemon.env, stdout=subprocess.DEVNULL)
        name = relay.wait_session()
        started = [Printed(*of) for of in readers(name)]
        late = Slow(*slow(name)) if slow else None
        warm.wait()
        for reader in started:
            reader.wait(1, 20)
        b.run(paced(b, 'waymark', RATE, RECORDS), daemon.env)
        for reader in started:
            reader.wait(RECORDS, 10)
        daemon.stop('watched')
        return [median_of(reader) for reader in started]
    finally:
        for reader in started + ([late] if late else []):
            reader.close()
        daemon.close()


def viewers(b, relay, place):
    """The medians of all viewers but the slow one."""
    argv = [b.waymark, 'view', '--follow']
    env = dict(os.environ, WAYMARK_RELAY_PEM=relay.viewer_pem)

    def one(name):
        return argv + ['%s/sender/%s' % (relay.url, name)], env
    return watched(b, relay, place, lambda name: [one(name)] * (VIEWERS - 1), one)


def lttng_live(b, relay, place):
    """The median of babeltrace2."""
    def one(name):
        url = 'net://127.0.0.1:%d/host/sender/%s' % (relay.live_port, name)
        # The lines must not wait in the buffer of standard output until it is full.
        return [(['stdbuf', '-oL', 'babeltrace2', '--input-format=lttng-live', url], dict(os.environ))]
    return watched(b, relay, place, one)


def case_of(name, medians):
    """`ours`: the largest median of the readers."""
    found = [round(ms, 3) for ms in medians if ms is not None]
    result = {'name': name, 'unit': 'ms', 'floor': None, 'ours': max(found, default=None), 'rivals': {},
              'runs': [{'ours': max(found, default=None), 'readers': found, 'silent': len(medians) - len(found)}]}
    show(result)
    return result
