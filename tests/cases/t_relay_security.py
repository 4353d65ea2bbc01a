#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
What a relay refuses, with a sentence for the sender and a sentence in the relay's log, while another host is served.
Secrets are in files of mode 0600 only. The clients use OpenSSL: Python's module ssl, and `openssl s_client`.
"""
import contextlib
import glob
import os
import re
import shutil
import socket
import stat
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from control import Control  # noqa: E402
from daemon import World  # noqa: E402
from harness import WAYMARK, check, finished, main, need, slurp, wait_for  # noqa: E402
from relay import Refused, Relay, Sender  # noqa: E402
from relay_process import spools  # noqa: E402

SUB = 'ust/uid/1000/64-bit'
KEY = bytes(16)


class Site:
    """A relay with TLS, the certificates of its hosts, and a sender of the host `good` that must always be served."""

    def __init__(self, case, conf=''):
        self.case, self.place, self.log = case, case.path('certificates'), case.path('log')
        self.control = Control(case, 'administrator')
        self.control.env['WAYMARK_RELAY_DIR'] = self.place
        self.authority = os.path.join(self.place, 'ca.crt')
        self.control('relay', 'init')
        self.conf = case.path('relay.conf')
        with open(self.conf, 'w') as f:
            f.write(conf)
        self.relay = Relay(case.path('relay'), '--tls', '--certificates', self.place, '--conf', self.conf,
                           log=self.log)
        self.good = Sender(self.relay, 'good', self.enroll('good'))
        self.good.trace('shop', SUB, KEY)
        self.written = 0

    def enroll(self, name, *options):
        path = self.case.path(name + '.pem')
        self.control('relay', 'enroll', name, *options, path)
        return path

    def sender(self, pem, host='web1'):
        return Sender(self.relay, host, pem, self.authority)

    def check_good(self):
        """The relay acknowledges more data of the host `good`."""
        self.good.metadata(b'/* CTF 1.8 */\n', self.written)
        self.written += 14
        self.good.settle()

    def logs(self, words):
        wait_for(lambda: words in slurp(self.log), '"%s" in the log of the relay: %s' % (words, slurp(self.log)))

    def refuses(self, connect, at_sender, in_log):
        """connect() is refused with a message that has `at_sender`, and the log has `in_log` (once, if repeated)."""
        try:
            connect()
        except Refused as refusal:
            check(at_sender in str(refusal), 'the sender received: %s, not "%s"', refusal, at_sender)
        else:
            check(False, 'not refused: %s', at_sender)
        self.logs(in_log)
        self.check_good()

    def close(self):
        self.check_good()
        self.good.close()
        self.relay.close()
        self.control.close()


@contextlib.contextmanager
def site(case, conf=''):
    here = Site(case, conf)
    try:
        yield here
    except BaseException:
        here.relay.kill()
        raise
    here.close()


def first_request(site, pem, host='web1'):
    sender = site.sender(pem, host)
    with contextlib.closing(sender):
        sender.trace('shop', SUB, KEY)


def expired_certificate(site, name):
    """A certificate of this relay's authority that has expired: with the key of another certificate."""
    pem, request, extensions = site.case.path(name + '.pem'), site.case.path('request'), site.case.path('extensions')
    with open(extensions, 'w') as f:
        f.write('keyUsage=critical,digitalSignature\nextendedKeyUsage=clientAuth\n')
    key = site.case.path('key')
    for argv in (['req', '-new', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', key,
                  '-subj', '/OU=sender/CN=' + name, '-out', request],
                 ['x509', '-req', '-in', request, '-CA', site.authority, '-CAkey', os.path.join(site.place, 'ca.key'),
                  '-days', '-1', '-extfile', extensions, '-out', pem]):
        done = finished(['openssl', *argv], capture_output=True, text=True, stdin=subprocess.DEVNULL)
        check(done.returncode == 0, 'openssl %s: %s', argv, done.stderr)
    with open(pem, 'a') as f:
        f.write(slurp(key) + slurp(site.authority))
    os.chmod(pem, 0o600)
    return pem


def certificate_errors_are_reported_by_relay_and_sender(case):
    """None, of another authority, expired, revoked, of another host."""
    need('openssl')
    with site(case) as s:
        s.refuses(lambda: first_request(s, None), 'no certificate', 'no certificate')
        other = Control(case, 'other')
        other.env['WAYMARK_RELAY_DIR'] = case.path('other-certificates')
        other('relay', 'init')
        other('relay', 'enroll', 'web1', case.path('foreign.pem'))
        s.refuses(lambda: first_request(s, case.path('foreign.pem')), '"web1" is refused', '"web1" is refused')
        s.refuses(lambda: first_request(s, expired_certificate(s, 'late')), 'has expired', '"late" is refused')
        s.refuses(lambda: first_request(s, s.enroll('web2')), 'of host "web2"', 'of host "web2"')
        gone = s.enroll('gone')
        first_request(s, gone, 'gone')
        s.control('relay', 'revoke', 'gone')
        s.refuses(lambda: first_request(s, gone, 'gone'), 'revoked', 'revoked')


def connections_without_tls_1_3_are_refused(case):
    """TLS 1.2 fails with the alert of TLS; plain text is no TLS."""
    need('openssl')
    with site(case) as s:
        for version, words in (('-tls1_2', 'alert protocol version'), ('-tls1_1', '')):
            pem = case.path('good.pem')
            done = finished(['openssl', 's_client', '-connect', s.relay.address, version, '-cert', pem, '-key', pem],
                            capture_output=True, text=True, stdin=subprocess.DEVNULL)
            check(done.returncode and words in done.stderr, '%s: %d, %s', version, done.returncode, done.stderr)
        s.logs('unsupported protocol')
        s.check_good()
        with socket.create_connection(('127.0.0.1', s.relay.port)) as plain:
            plain.sendall(b'GET / HTTP/1.1\r\n\r\n')
            s.logs('http request')


def sender_cannot_write_outside_of_the_directory_of_its_host(case):
    """Names with '..', '/' and NUL, and links in the relay's tree."""
    with site(case) as s:
        pem = s.enroll('web1')
        outside = case.path('outside')
        os.mkdir(outside)

        def trace(session, sub):
            sender = s.sender(pem)
            with contextlib.closing(sender):
                sender.trace(session, sub, KEY)

        def stream(name):
            sender = s.sender(pem)
            with contextlib.closing(sender):
                sender.trace('shop', SUB, KEY)
                sender.stream(0, name)

        for session in ('..', '../good', 'a/b', '/etc', '.hidden'):
            s.refuses(lambda: trace(session, SUB), 'name of', 'name of')
        for sub in ('..', 'ust/../../../good', '/etc', 'a//b'):
            s.refuses(lambda: trace('shop', sub), 'path', 'path')
        for name in ('../metadata', 'a/b', '.epoch'):
            s.refuses(lambda: stream(name), 'name of', 'name of')
        s.refuses(lambda: trace('sh\0op', SUB), 'NUL', 'NUL')
        s.refuses(lambda: stream('ap\0p'), 'NUL', 'NUL')
        for host in ('..', 'web1/shop', 'web\0'):
            s.refuses(lambda: first_request(s, pem, host), '', '')
        os.symlink(outside, os.path.join(s.relay.root, 'web1', 'link'))
        s.refuses(lambda: trace('link', SUB), 'symbolic link', 'symbolic link')
        os.makedirs(os.path.join(s.relay.root, 'web1', 'deep'))
        os.symlink(outside, os.path.join(s.relay.root, 'web1', 'deep', 'ust'))
        s.refuses(lambda: trace('deep', SUB), 'symbolic link', 'symbolic link')
        os.symlink(outside, os.path.join(s.relay.root, 'web3'))
        s.refuses(lambda: first_request(s, s.enroll('web3'), 'web3'), 'symbolic link', 'symbolic link')
        check(not os.listdir(outside), 'the relay has written to %s', os.listdir(outside))
        check(sorted(os.listdir(s.relay.root)) == ['good', 'web1', 'web3'], '%s', os.listdir(s.relay.root))


@contextlib.contextmanager
def recording(case, site, name):
    """A World with a session that sends to the relay with the certificate of the host `name`."""
    with World(case, daemon=False) as w:
        w.env['WAYMARK_RELAY_PEM'] = site.enroll(name)
        w('create', 'shop', '--set-url', 'tls://' + site.relay.address, '--spool-size', '8M')
        w('enable-event', '-s', 'shop', 'test:*')
        w('start', 'shop')
        program = w.scripted()
        yield w, program
        program.end()
        w('destroy', 'shop')
        for spool in spools(w):                  # the relay would refuse the rest
            shutil.rmtree(spool, ignore_errors=True)


def error_of(w):
    return w('list', 'shop', '--json').json['relays'][0].get('error', '')


def list_shows_why_the_relay_refuses_a_session(case):
    """`list` shows why the relay refuses a session; the log of the relay has the same sentence."""
    with site(case, 'max-bytes web1 = 64k\n') as s, recording(case, s, 'web1') as (w, program):
        program('emit 5000')
        w('stop', 'shop')
        w.wait(lambda: 'quota of host "web1"' in error_of(w), 'the reason in `list`')
        w('list', 'shop').prints('quota of host "web1"')
        s.logs('quota of host "web1"')
        s.check_good()
        s.control('relay', 'revoke', 'web1')
        w.wait(lambda: 'revoked' in error_of(w), 'the reason in `list`')
        s.logs('revoked')
        s.check_good()


def secrets_of(path):
    """The lines of a private key in base64, without the first and the last line."""
    found = re.findall(r'-----BEGIN [A-Z ]*PRIVATE KEY-----\n(.*?)-----END', slurp(path), re.S)
    check(found, 'no key in %s', path)
    return [line.encode() for key in found for line in key.splitlines()]


def files_below(*places):
    for place in places:
        for where, _, names in os.walk(place):
            yield from (os.path.join(where, name) for name in names)


def private_keys_appear_only_in_private_key_files(case):
    """Files with keys have mode 0600; command lines, environments, logs, traces and spools have no part of a key."""
    with site(case) as s, recording(case, s, 'web1') as (w, program):
        viewer = s.enroll('ann', '--viewer')
        program('emit 500')
        w.wait(lambda: glob.glob(os.path.join(s.relay.root, 'web1', 'shop-*', '**', 'channel0_*'), recursive=True),
               'packets at the relay')
        w('stop', 'shop')
        name = os.path.basename(glob.glob(os.path.join(s.relay.root, 'web1', 'shop-*'))[0])
        copy = case.path('copy')
        os.mkdir(copy)
        follower = w.run([WAYMARK, 'view', '--follow', 'tls://%s/web1/%s' % (s.relay.address, name)],
                         env={'WAYMARK_RELAY_PEM': viewer, 'TMPDIR': copy})
        w.wait(lambda: list(files_below(copy)), 'the copy of the viewer')
        keys = [path for path in files_below(case.directory) if b'PRIVATE KEY' in binary(path)]
        check({os.path.basename(path) for path in keys} == {'ca.key', 'server.key', 'good.pem', 'web1.pem', 'ann.pem'},
              'files with keys: %s', keys)
        for path in keys:
            check(stat.S_IMODE(os.stat(path).st_mode) == 0o600, '%s has mode %o', path, os.stat(path).st_mode)
        secrets = [line for path in keys for line in secrets_of(path)]
        processes = [*w.own_processes(), s.relay.child.pid]
        check(len(processes) >= 5, 'processes: %s', processes)
        places = [path for path in files_below(case.directory, w.place, w.home) if path not in keys]
        places += ['/proc/%d/%s' % (pid, name) for pid in processes for name in ('cmdline', 'environ', 'comm')]
        check(len(places) > 30, 'places: %s', places)
        for path in places:
            content = binary(path)
            check(not [line for line in secrets if line in content], '%s has a part of a key', path)
        follower.terminate()
        w.wait_end(follower, status=None)


def binary(path):
    """The content; of a FIFO, a socket or a removed file nothing."""
    with contextlib.suppress(OSError):
        if os.path.isfile(path):
            with open(path, 'rb') as f:
                return f.read()
    return b''


if __name__ == '__main__':
    main([certificate_errors_are_reported_by_relay_and_sender, connections_without_tls_1_3_are_refused,
          sender_cannot_write_outside_of_the_directory_of_its_host, list_shows_why_the_relay_refuses_a_session,
          private_keys_appear_only_in_private_key_files])
