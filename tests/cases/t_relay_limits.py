#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Many connections to a relay: memory of each, half-open ones, and those with a certificate that was revoked."""
import os
import resource
import socket
import struct
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from harness import (  # noqa: E402
    FEATURES, PERCENT, WAIT_S, WAYMARK, Failure, Skip, check, finished, limit, main, slurp, wait_for)
from relay import ERROR, PACKET, Relay, Sender  # noqa: E402

SUB = 'ust/uid/1000/64-bit'
KEEPS = 256 << 10           # bytes that a connection needs at most
STREAMS = 6
WHOLE = 4 << 20             # bytes of records of a large packet


class Authority:
    """Certificates of a relay, and a relay with TLS that writes its messages to a file."""

    def __init__(self, case):
        self.case, self.directory = case, case.path('keys')
        self('init', '127.0.0.1')

    def __call__(self, *args):
        done = finished([WAYMARK, 'relay', *args], capture_output=True, text=True,
                        env=dict(os.environ, WAYMARK_RELAY_DIR=self.directory))
        check(done.returncode == 0, '%s: %s', args, done.stderr)

    def enroll(self, name):
        pem = self.case.path(name + '.pem')
        self('enroll', name, pem)
        return pem

    def relay(self, messages):
        """`messages`: the file of the relay's messages."""
        saved = os.dup(2)
        with open(messages, 'w') as f:
            os.dup2(f.fileno(), 2)
        try:
            return Relay(self.case.path('relay'), '--tls', '--certificates', self.directory)
        finally:
            os.dup2(saved, 2)
            os.close(saved)


def opened(relay, host, pem, session):
    """A sender with a trace and its streams."""
    sender = Sender(relay, host, pem)
    sender.trace(session, SUB, os.urandom(16))
    sender.metadata(b'/* CTF 1.8 */')
    for number in range(STREAMS):
        sender.stream(number, 'app_%d' % number)
    return sender


def send_packet(sender, sequence, content, records):
    """A packet of stream 0 with `content` bytes, and the first `records` bytes."""
    sender.number += 1
    body = struct.pack('<IIQQQQQQQII', 0, 0, 0, 1, 2, content, sequence, sequence * content, 0, 0, 0)
    sender.socket.sendall(struct.pack('<IHHII', len(body) + content, PACKET, 1, sender.number, 0) + body)
    sender.socket.sendall(bytes(records))


def check_writes(sender, sequence):
    """The relay still acknowledges data of this sender."""
    send_packet(sender, sequence, 64, 64)
    sender.data = sender.number
    sender.settle()


def resident(relay):
    with open('/proc/%d/status' % relay.child.pid) as f:
        return next(int(line.split()[1]) << 10 for line in f if line.startswith('VmRSS:'))


@limit(60)
def memory_of_a_relay_connection_is_bounded(case):
    authority = Authority(case)
    pem = authority.enroll('web1')
    relay = authority.relay(case.path('messages'))
    many = 200 if PERCENT >= 100 else 24
    opened(relay, 'web1', pem, 'first').close()
    before = resident(relay)
    senders = [opened(relay, 'web1', pem, 'shop%d' % n) for n in range(many)]
    for sender in senders:
        send_packet(sender, 0, WHOLE, WHOLE // 2)
    files = [os.path.join(relay.root, 'web1', 'shop%d' % n, SUB, 'app_0') for n in range(many)]
    wait_for(lambda: all(os.path.getsize(path) > WHOLE // 2 - KEEPS for path in files),
             'the relay to write the parts of packets')
    each = (resident(relay) - before) / many
    print('# %d bytes of memory for each of %d connections' % (each, many))
    # the relay writes parts of a packet as they arrive, and does not keep them
    check(each <= KEEPS or 'sanitize' in FEATURES, '%d bytes of memory for each connection', each)
    for sender in senders:
        sender.close()
    relay.close()


@limit(60)
def half_open_connections_are_closed_and_delay_no_host(case):
    # this process has one descriptor for each connection, and some of its own
    room = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (room[1], room[1]))
    many = min(10000 if PERCENT >= 100 else 1000, room[1] - 100)
    if many < 300:
        raise Skip('the limit of descriptors is %d' % room[1])
    authority = Authority(case)
    pem, messages = authority.enroll('web1'), case.path('messages')
    relay = authority.relay(messages)
    sender = opened(relay, 'web1', pem, 'shop')
    half = []
    for n in range(many):
        half.append(socket.create_connection(('127.0.0.1', relay.port), WAIT_S))
        if n % 100 == 0:
            check_writes(sender, n // 100)
    print('# %d half-open connections' % many)
    check_writes(sender, (many - 1) // 100 + 1)
    for one in half:
        one.settimeout(WAIT_S)
        try:
            check(one.recv(1) == b'', 'the relay sends bytes before the TLS handshake')
        except ConnectionResetError:
            pass
        one.close()
    check_writes(sender, (many - 1) // 100 + 2)
    sender.close()
    for words in ('did not complete the TLS handshake within', 'connections, its limit'):
        check(words in slurp(messages), 'the relay reports no "%s": %s', words, slurp(messages)[-2000:])
    opened(relay, 'web1', pem, 'later').close()
    relay.close()


def message_of(sender):
    """Wait until the relay ends the connection. Returns the text of its last message."""
    while True:
        size, kind = struct.unpack('<IH10x', sender.read(16))
        body = sender.read(size)
        if kind == ERROR:
            return body[8:].decode()


@limit(60)
def revoked_certificate_ends_its_connections_within_a_second(case):
    authority = Authority(case)
    relay = authority.relay(case.path('messages'))
    other = opened(relay, 'web2', authority.enroll('web2'), 'shop')
    took = []
    # An attempt takes longer if the machine is busy.
    while len(took) < 10 and (not took or min(took) > 1):
        name = 'web%d' % (3 + len(took))
        pem = authority.enroll(name)
        senders = [opened(relay, name, pem, 'shop%d' % n) for n in range(3)]
        authority('revoke', name)
        begin = time.monotonic()
        for sender in senders:
            text = message_of(sender)
            check('revoked' in text, 'the relay ends the connection with: %s', text)
            sender.close()
        took.append(time.monotonic() - begin)
        try:
            Sender(relay, name, pem)
            raise AssertionError('a new connection is not refused')
        except Failure as refusal:
            check('revoked' in str(refusal), 'a new connection: %s', refusal)
        check_writes(other, len(took) - 1)
    print('# the connections ended %.3f s after the command' % min(took))
    check(min(took) <= 1, 'the connections ended after %s s', took)
    other.close()
    relay.close()


if __name__ == '__main__':
    main([memory_of_a_relay_connection_is_bounded, half_open_connections_are_closed_and_delay_no_host,
          revoked_certificate_ends_its_connections_within_a_second])
