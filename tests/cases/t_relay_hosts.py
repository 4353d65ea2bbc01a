#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
The clocks of several hosts at a relay: each sender measures the relay's clock in its trace clock, and view puts the
records of all hosts on the relay's clock.
"""
import contextlib
import json
import os
import re
import struct
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from daemon import World  # noqa: E402
from delay_proxy import DelayProxy  # noqa: E402
from harness import WAYMARK, check, limit, main  # noqa: E402
from relay_process import Relay, wait_sent  # noqa: E402
from waits import finished  # noqa: E402

HEAD, POINT = 176, struct.Struct('<QQQII')
UUIDS = {'web1': '11111111-89ab-cdef-0123-456789abcdef', 'web2': '22222222-89ab-cdef-0123-456789abcdef'}


class Host:
    """A machine with a clock of its own that sends its traces to the relay as HOST."""

    def __init__(self, case, w, relay, name, port, ahead=0, ppm=0):
        self.w, self.relay, self.name, self.ahead, self.ppm = w, relay, name, 3600 + ahead, ppm
        self.url = 'tcp://127.0.0.1:%d/%s' % (port, name)
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

    def real(self, value, offset):
        """The real time, in ns, of a value of this host's clock. `offset`: real time minus CLOCK_MONOTONIC."""
        return value * 100 / (1 + self.ppm / 1e6) - self.ahead * 10**9 + offset

    def set_wrong(self, seconds):
        """Shift real time in the files of the host, as if its real time were wrong."""
        for at, _, names in os.walk(self.path):
            if '.clock' in names:
                path = os.path.join(at, '.clock')
                with open(path, 'rb') as f:
                    data = f.read()
                points = [list(POINT.unpack_from(data, i)) for i in range(64, len(data), POINT.size)]
                with open(path, 'wb') as f:
                    f.write(data[:64] + b''.join(POINT.pack(v, m, r + seconds * 10**9, *more)
                                                 for v, m, r, *more in points))

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
def hosts(case, delay=0):
    """Two hosts: the clock of the second one is 5 s ahead and 50 ppm fast. `delay`: s, between it and the relay."""
    with World(case, daemon=False) as one, World(case, 'other', daemon=False) as two, contextlib.ExitStack() as stack:
        relay = Relay(one)
        port = stack.enter_context(DelayProxy(relay.port, delay)).port if delay else relay.port
        yield Host(case, one, relay, 'web1', relay.port), Host(case, two, relay, 'web2', port, ahead=5, ppm=50)
        relay.end()


def view(*argv):
    done = finished([WAYMARK, 'view', *argv], capture_output=True, text=True)
    check(done.returncode == 0 and not done.stderr, 'view: status %d: %s', done.returncode, done.stderr[-500:])
    return done.stdout.splitlines()


def records(*argv):
    return [r for r in map(json.loads, view('--json', *argv)) if r['event'] == 'test:seq']


def ns_of(seconds):
    whole, part = seconds.split('.')
    return int(whole) * 10**9 + int(part)


def take_turns(both, turns, rest):
    """Each host records in turn, `rest` ms after the other one, and the other one again directly after it."""
    for _ in range(turns):
        for host, other in (both, both[::-1]):
            host.program('rest %d' % rest)
            host.program('emit 3')
            other.program('emit 3')


def check_merged(both, offset):
    """
    Returns the records, after the checks: each time is within its uncertainty, and the mark of an unknown order is at
    the right records. So records that are further apart than their uncertainties are in the right order.
    """
    found, late = records('--uncertainty', *(host.path for host in both)), {host.name: 0 for host in both}
    for host in both:
        # The values of the clock, in the order of the host's records.
        lines = view('--style=babeltrace', '--clock-cycles', '--no-delta', host.path)
        values = [int(re.search(r'\[0*(\d+)\]', line).group(1)) for line in lines if 'test:seq' in line]
        own = [r for r in found if r['host'] == host.name]
        check(len(values) == len(own) > 0, '%s: %d and %d records', host.name, len(values), len(own))
        for value, record in zip(values, own):
            error = ns_of(record['time']) - host.real(value, offset)
            check(abs(error) <= ns_of(record['uncertainty']) + 20000, '%s: the error %d is above %s', host.name, error,
                  record['uncertainty'])
    last = 0
    for record in found:
        at, most = ns_of(record['time']), ns_of(record['uncertainty'])
        unknown = any(until >= at - most for host, until in late.items() if host != record['host'])
        check(record['order_unknown'] == unknown and at >= last, 'the order of %s, after %s', record, late)
        late[record['host']], last = max(late[record['host']], at + most), at
    return found


@limit(60)
def records_of_two_hosts_are_merged_on_the_clock_of_the_relay(case):
    with hosts(case) as both:
        for host in both:
            host.begin()
        take_turns(both, 8, 60)
        for host in both:
            host.end()
        offset = time.time_ns() - time.monotonic_ns()
        both[1].set_wrong(7)
        found = check_merged(both, offset)
        unknown = [r['order_unknown'] for r in found]
        check(16 <= unknown.count(False) and len(found) == 96, 'unknown order: %d of %d', sum(unknown), len(found))
        order = [r['host'] for r in found if not r['order_unknown']]
        check(len(set(order)) == 2, 'records with a known order: %s', order)
        # Without --uncertainty, the order is marked too. The root has both hosts.
        root = both[0].relay.root
        plain = records(root)
        check([{**r, 'trace': 0} for r in plain] ==
              [{k: v for k, v in {**r, 'trace': 0}.items() if k != 'uncertainty'} for r in found], 'two views differ')
        lines = [line for line in view(root) if 'seq' in line]
        check(len(lines) == 96 and [line.startswith('? ') for line in lines] == unknown and
              all(r['host'] in line for r, line in zip(found, lines)), 'lines: %s', lines[:5])
        # A viewer of the relay, of all hosts or of both hosts, sees the same.
        url = 'tcp://127.0.0.1:%d' % both[0].relay.port
        for argv in [url], [url + '/'], [url + '/web1/', url + '/web2']:
            remote = records(*argv)
            check([{**r, 'trace': 0} for r in remote] == [{**r, 'trace': 0} for r in plain], '%s differs', argv)
        copy = case.path('copy')
        finished([WAYMARK, 'convert', '--to', 'ctf', '-o', copy, root], capture_output=True, text=True)
        keys = 'host', 'time', 'order_unknown', 'fields'
        check([[r[k] for k in keys] for r in records(copy)] == [[r[k] for k in keys] for r in plain],
              'the converted trace differs')
        # Traces of one host are not on the relay's clock, and have no marks.
        alone = records(both[1].path)
        check(not any('order_unknown' in r or 'host' in r for r in alone) and
              ns_of(alone[0]['time']) - ns_of([r for r in found if r['host'] == 'web2'][0]['time']) > 6 * 10**9,
              'one host: %s', alone[0])
        # A host without points of the relay's clock has an unknown uncertainty.
        for at, _, names in os.walk(both[0].path):
            if '.clock.relay' in names:
                os.unlink(os.path.join(at, '.clock.relay'))
        found = records('--uncertainty', root)
        check({r['uncertainty'] for r in found if r['host'] != 'web2'} == {None}, 'known without points: %s', found[0])
        check(all(r['order_unknown'] for r in found[6:]), 'an order is known without points')


@limit(60)
def clock_uncertainty_grows_with_the_network_delay(case):
    with hosts(case, delay=0.04) as both:
        for host in both:
            host.begin()
        take_turns(both, 3, 300)
        for host in both:
            host.end()
        found = check_merged(both, time.time_ns() - time.monotonic_ns())
        delayed = [ns_of(r['uncertainty']) for r in found if r['host'] == 'web2']
        check(min(delayed) >= 20 * 10**6, 'uncertainty with a delay of 40 ms: %d ns', min(delayed))
        check(max(delayed) <= 200 * 10**6, 'uncertainty with a delay of 40 ms: %d ns', max(delayed))
        check({False, True} == {r['order_unknown'] for r in found if r['host'] == 'web2'}, 'no order is known')


@limit(60)
def relay_stores_clock_points_of_each_host(case):
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
            for value, monotonic, real, uncertainty, _ in points:
                true = host.real(value, 0)
                check(abs(true - monotonic) <= uncertainty + 200, '%s: the error %d is above %d', host.name,
                      true - monotonic, uncertainty)
                check(monotonic <= now and abs(real - monotonic - (time.time_ns() - time.monotonic_ns())) < 10**8,
                      'real time %d, monotonic time %d', real, monotonic)
                check(uncertainty < 10**8, 'uncertainty: %d ns', uncertainty)


if __name__ == '__main__':
    sys.exit(main([relay_stores_clock_points_of_each_host,
                   records_of_two_hosts_are_merged_on_the_clock_of_the_relay,
                   clock_uncertainty_grows_with_the_network_delay]))
