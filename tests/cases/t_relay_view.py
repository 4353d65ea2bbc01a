#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`waymark view tls://RELAY/HOST/SESSION`: the records of a session at a relay, also while it is recorded there."""
import contextlib
import fcntl
import os
import re
import resource
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from daemon import World  # noqa: E402
from harness import WAIT_S, WAYMARK, check, finished, main, slurp, wait_for  # noqa: E402
from relay import Relay  # noqa: E402

HOST, NAME = 'web1', 'shop'
STYLE = ('--style=babeltrace', '--clock-metadata', '--no-delta')


class Shop:
    """A session with its traces below a relay's root, as those of the host web1."""

    def __init__(self, case, w, relay):
        self.case, self.w, self.relay = case, w, relay
        self.path = os.path.join(relay.root, HOST, NAME)
        os.makedirs(self.path, exist_ok=True)
        w('create', NAME, '-o', self.path, '--no-statedump')
        w('enable-channel', '-s', NAME, 'live')
        w('enable-event', '-s', NAME, '-c', 'live', 'test:*')
        w('start', NAME)
        self.temporary = case.path('tmp')
        os.makedirs(self.temporary, exist_ok=True)
        self.env = dict(os.environ, TMPDIR=self.temporary)
        self.url = 'tcp://127.0.0.1:%d/%s/%s' % (relay.port, HOST, NAME)

    def view(self, what, *options):
        return finished([WAYMARK, 'view', *STYLE, *options, what], capture_output=True, text=True, env=self.env)

    def follow(self, n=1):
        """A live viewer: (process, path of its lines, path of its messages)."""
        out, err = self.case.path('lines%d' % n), self.case.path('messages%d' % n)
        with open(out, 'w') as o, open(err, 'w') as e:
            child = subprocess.Popen([WAYMARK, 'view', *STYLE, '--follow', self.url], stdout=o, stderr=e, env=self.env)
        return child, out, err

    def end(self, viewer):
        child, out, err = viewer
        status = child.wait(WAIT_S)
        check(status == 0 and not slurp(err), 'the viewer ended with %d: %s', status, slurp(err)[-2000:])
        return slurp(out).splitlines()

    def check_removed(self):
        wait_for(lambda: not os.listdir(self.temporary), 'the copy to be removed')


@contextlib.contextmanager
def shop(case, *options):
    with World(case) as w:
        relay = Relay(w.place, *options)
        try:
            yield w, Shop(case, w, relay)
        except BaseException:
            relay.kill()
            raise
        relay.close()


def printed(viewer, n):
    check(viewer[0].poll() is None, 'the viewer ended with %s after %d lines: %s', viewer[0].returncode,
          len(slurp(viewer[1]).splitlines()), slurp(viewer[2])[-2000:])
    return len(slurp(viewer[1]).splitlines()) >= n


def sequence(lines):
    return [int(re.search(r'\bseq = (\d+)', line).group(1)) for line in lines]


def view_of_a_relay_equals_view_of_its_directory(case):
    with shop(case) as (w, s):
        program = w.scripted()
        program('emit 3000')
        w('rotate', NAME)
        program('emit 500')
        w('stop', NAME)
        one = s.view(s.url)
        check(one.returncode == 0, 'while the session exists: %s', one.stderr)
        check(len(one.stdout.splitlines()) == 3500, '%d lines', len(one.stdout.splitlines()))
        program.end()
        w('destroy', NAME)
        local, remote = s.view(s.path), s.view(s.url)
        check(local.returncode == 0 and remote.returncode == 0, 'view: %s%s', local.stderr, remote.stderr)
        check(local.stdout == remote.stdout, 'other lines')
        check(len(local.stdout.splitlines()) == 3500, 'lines')
        s.check_removed()


def follow_through_a_relay_prints_each_record_once(case):
    with shop(case) as (w, s):
        program = w.scripted()
        program('emit 100')
        w('rotate', NAME)
        program('emit 100')
        viewer = s.follow()
        wait_for(lambda: printed(viewer, 200), 'the first records')
        for n in range(3, 6):
            program('emit 100')
            wait_for(lambda n=n: printed(viewer, 100 * n), 'records of a recording session')
            w('rotate', NAME)
        program('emit 100')
        wait_for(lambda: printed(viewer, 600), 'records after the rotations')
        w('clear', NAME)
        program('emit 100')
        wait_for(lambda: printed(viewer, 700), 'records after a clear')
        program.end()
        w('destroy', NAME)
        check(sequence(s.end(viewer)) == list(range(1, 701)), 'each record once and in order')
        s.check_removed()


def killed_viewer_does_not_disturb_other_viewers(case):
    with shop(case) as (w, s):
        program = w.scripted()
        program('emit 10')
        viewers = [s.follow(n) for n in range(3)]
        for viewer in viewers:
            wait_for(lambda v=viewer: printed(v, 10), 'records at each viewer')
        killed = viewers.pop()[0]
        killed.send_signal(signal.SIGKILL)
        killed.wait(WAIT_S)
        wait_for(lambda: len(os.listdir(s.temporary)) == 2, 'the copy of a killed viewer to be removed')
        program('emit 1000')
        for viewer in viewers:
            wait_for(lambda v=viewer: printed(v, 1010), 'further records')
        program.end()
        w('destroy', NAME)
        for viewer in viewers:
            check(sequence(s.end(viewer)) == list(range(1, 1011)), 'each record once')
        s.check_removed()


def viewer_that_does_not_read_does_not_delay_other_viewers(case):
    with shop(case) as (w, s):
        program = w.scripted()
        program('emit 10')
        viewers = [s.follow(n) for n in range(3)]
        argv = [WAYMARK, 'view', *STYLE, '--follow', s.url]
        late = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=s.env)
        fcntl.fcntl(late.stdout.fileno(), fcntl.F_SETPIPE_SZ, resource.getpagesize())
        for viewer in viewers:
            wait_for(lambda v=viewer: printed(v, 10), 'records at each viewer')
        check(late.stdout.read1(1), 'the slow viewer prints nothing')
        program('emit 3000')
        for viewer in viewers:
            wait_for(lambda v=viewer: printed(v, 3010), 'further records')
        check(late.poll() is None, 'the slow viewer ended with %s', late.returncode)
        late.kill()
        late.wait(WAIT_S)
        late.stdout.close()
        program.end()
        w('destroy', NAME)
        for viewer in viewers:
            check(sequence(s.end(viewer)) == list(range(1, 3011)), 'each record once')
        s.check_removed()


def invalid_relay_addresses_and_lost_relays_are_reported(case):
    with shop(case) as (w, s):
        base = 'tcp://127.0.0.1:%d/' % s.relay.port
        for url, words in ((base + 'web1/a/b', 'the form is'), (base + '/shop', 'the form is'),
                           (base + 'web9', 'no host "web9"'),
                           (base + 'web1/none', 'has no session "none"'), (base + '../shop', 'name of a host'),
                           (base + 'web1/..', 'name of the session'), ('tcp://192.0.2.1/web1/shop', 'use tls://'),
                           ('tcp://127.0.0.1:1/web1/shop', 'cannot connect to the relay')):
            done = s.view(url)
            check(done.returncode == 1 and words in done.stderr, '%s: %s', url, done.stderr)
        os.symlink('/etc', os.path.join(s.relay.root, HOST, 'link'))
        done = s.view(base + 'web1/link')
        check(done.returncode == 1 and 'symbolic link' in done.stderr, 'a link: %s', done.stderr)
        program = w.scripted()
        program('emit 10')
        viewer = s.follow()
        wait_for(lambda: printed(viewer, 10), 'records')
        s.relay.kill()
        check(viewer[0].wait(WAIT_S) == 1 and 'relay' in slurp(viewer[2]), 'messages: %s', slurp(viewer[2]))
        s.check_removed()
        s.relay.start()
        program.end()
        w('destroy', NAME)


def viewer_certificate_limits_the_visible_hosts(case):
    place = case.path('keys')
    conf = case.path('relay.conf')
    keys = dict(os.environ, WAYMARK_RELAY_DIR=place)

    def relay(*args):
        done = finished([WAYMARK, 'relay', *args], capture_output=True, text=True, env=keys)
        check(done.returncode == 0, '%s: %s', args, done.stderr)

    relay('init', '127.0.0.1')
    for name, *options in (('ann', '--viewer'), ('bob', '--viewer'), ('web1',), ('web2',)):
        relay('enroll', name, *options, case.path(name + '.pem'))
    with open(conf, 'w') as f:
        f.write('view bob = web2, web3\nview ann = *\n')
    with shop(case, '--tls', '--certificates', place, '--conf', conf) as (w, s):
        program = w.scripted()
        program('emit 20')
        program.end()
        w('destroy', NAME)
        url = s.url.replace('tcp://', 'tls://')
        for name, words in (('ann', None), ('web1', None), ('bob', '"bob" is not permitted to view host "web1"'),
                            ('web2', '"web2" is not permitted to view host "web1"'), ('none', 'needs a certificate')):
            s.env['WAYMARK_RELAY_PEM'] = case.path(name + '.pem')
            done = s.view(url)
            if words:
                check(done.returncode == 1 and words in done.stderr and not done.stdout, '%s: %s', name, done.stderr)
            else:
                check(done.returncode == 0 and len(done.stdout.splitlines()) == 20, '%s: %s', name, done.stderr)
        # All hosts: only those that the certificate allows.
        for name, n in ('ann', 20), ('web1', 20), ('bob', 0), ('web2', 0):
            s.env['WAYMARK_RELAY_PEM'] = case.path(name + '.pem')
            done = s.view(url[:url.index('/web1')])
            check((done.returncode == 0) == (n > 0) and len(done.stdout.splitlines()) == n, '%s: %s', name, done.stderr)
        done = s.view(s.url)
        check(done.returncode == 1, 'plain TCP at an address with TLS: %s', done.stdout)


if __name__ == '__main__':
    main([view_of_a_relay_equals_view_of_its_directory, follow_through_a_relay_prints_each_record_once,
          killed_viewer_does_not_disturb_other_viewers, viewer_that_does_not_read_does_not_delay_other_viewers,
          invalid_relay_addresses_and_lost_relays_are_reported,
          viewer_certificate_limits_the_visible_hosts])
