#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
The clocks of several hosts at a relay: each sender measures the relay's clock in its trace clock.
"""
import contextlib
import os
import struct
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from daemon import World  # noqa: E402
from harness import check, limit, main  # noqa: E402
from relay_process import Relay, wait_sent  # noqa: E402

HEAD, POINT = 176, struct.Struct('<QQQII')
UUIDS = {'web1': '11111111-89ab-cdef-0123-456789abcdef', 'web2': '22222222-89ab-cdef-0123-456789abcdef'}


class Host:
    """A machine with a clock of its own that sends its traces to the relay as HOST."""

    def __init__(self, case, w, relay, name, ahead=0, ppm=0):
        self.w, self.relay, self.name = w, relay, name
        self.url = 'tcp://127.0.0.1:%d/%s' % (relay.port, name)
        w.env.update(WAYMARK_CLOCK_PLUGIN=case.program('libclock.so'), WMK_TEST_CLOCK_AHEAD=str(ahead),
                     WMK_TEST_CLOCK_PPM=str(ppm), WMK_TEST_CLOCK_UUID=UUIDS[name])

    def begin(self):
        self.w.start_daemon()
        self.w('create', 'shop', '--set-url', self.url)
        self.w('enable-event', '-s', 'shop', 'test:*')
        self.w('start', 'shop')
        self.program = self.w.scripted()

    def end(self):
        self.program.end()
        self.w('stop', 'shop')
        self.w('destroy', 'shop')
        wait_sent(self.w)

    @property
    def path(self):
        return os.path.join(self.relay.root, self.name)

    def points(self):
        """[(HOST in the file, UUID of the relay's clock, points)] of all traces."""
        found = []
        for at, _, names in os.walk(self.path):
            if '.clock.relay' in names:
                with open(os.path.join(at, '.clock.relay'), 'rb') as f:
                    data = f.read()
                check(data[:8] == b'wmkrelay' and (len(data) - HEAD) % POINT.size == 0, 'damaged: %s', data[:80])
                found.append((data[112:176].rstrip(b'\0').decode(), data[64:112].rstrip(b'\0').decode(),
                              [POINT.unpack_from(data, i) for i in range(HEAD, len(data), POINT.size)]))
        return found


@contextlib.contextmanager
def hosts(case):
    """Two hosts: the clock of the second one is 5 s ahead and 50 ppm fast."""
    with World(case, daemon=False) as one, World(case, 'other', daemon=False) as two:
        relay = Relay(one)
        yield Host(case, one, relay, 'web1'), Host(case, two, relay, 'web2', ahead=5, ppm=50)
        relay.end()


@limit(60)
def relay_has_points_of_its_clock_for_each_host(case):
    """At the connection and at the end, in the trace clock of each host, within the stated uncertainty."""
    with hosts(case) as both:
        for host in both:
            host.begin()
            host.program('emit 10')
        for host in both:
            host.end()
        now = time.monotonic_ns()
        for host in both:
            found = host.points()
            check(len(found) == 1, '%s: %d traces with points', host.name, len(found))
            name, relay, points = found[0]
            with open('/proc/sys/kernel/random/boot_id') as f:
                check(name == host.name and relay == f.read().strip(), 'the header has %s, %s', name, relay)
            check(len(points) >= 2, '%s: points: %s', host.name, points)
            ahead, ppm = (3605, 50) if host.name == 'web2' else (3600, 0)
            for value, monotonic, real, uncertainty, _ in points:
                true = value * 100 / (1 + ppm / 1e6) - ahead * 10**9
                check(abs(true - monotonic) <= uncertainty + 200, '%s: the error %d is above %d', host.name,
                      true - monotonic, uncertainty)
                check(monotonic <= now and abs(real - monotonic - (time.time_ns() - time.monotonic_ns())) < 10**8,
                      'real time %d, monotonic time %d', real, monotonic)
                check(uncertainty < 10**8, 'uncertainty: %d ns', uncertainty)


if __name__ == '__main__':
    sys.exit(main([relay_has_points_of_its_clock_for_each_host]))
