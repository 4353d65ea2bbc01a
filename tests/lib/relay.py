# SPDX-License-Identifier: MIT
"""A relay of one test, and a sender that sends a stored trace to it, packet by packet (docs/relay.md)."""
import contextlib
import os
import socket
import ssl
import struct
import subprocess

from harness import WAIT_S, WAYMARK, Failure, check

RELAYD = os.environ.get('WMK_RELAYD', os.path.join(os.path.dirname(WAYMARK), '../daemons/waymark-relayd'))
HEAD, TRAILER = 88, 16                                 # of a packet in a stream file (ctf/writer.h)
REPLY, ERROR, HELLO, ACK, FOLLOWED = range(0x400, 0x405)
PACKET, METADATA = 0x410, 0x411
TRACE, STREAM, CLOSE = 0x425, 0x426, 0x42c


class Relay:
    """`log`: a file that receives the messages of the relay."""

    def __init__(self, directory, *options, log=None):
        self.root = os.path.join(directory, 'root')
        self.options, self.log = options, log
        self.start()

    def start(self, port=0):
        with open(self.log, 'a') if self.log else contextlib.nullcontext() as log:
            self.child = subprocess.Popen([RELAYD, '--output', self.root, '--listen', '127.0.0.1:%d' % port,
                                           '--print-ports', *self.options], stdout=subprocess.PIPE, stderr=log,
                                          text=True)
        line = self.child.stdout.readline()
        check(line, 'the relay does not start')
        self.port = int(line)

    @property
    def address(self):
        return '127.0.0.1:%d' % self.port

    def kill(self):
        self.child.kill()
        self.child.wait()
        self.child.stdout.close()

    def close(self):
        self.child.terminate()
        status = self.child.wait(WAIT_S)
        self.child.stdout.close()
        check(status == 0, 'the relay ended with status %d', status)


def text(value):
    value = value.encode()
    return struct.pack('<I', len(value)) + value


class Refused(Failure):
    """The relay has sent ERROR."""


class Sender:
    """
    A connection for one trace of `host`. TLS with `pem`, the file of `waymark relay enroll`, or with `authority`, the
    file of the authority of the relay.
    """

    def __init__(self, relay, host, pem=None, authority=None):
        self.socket = socket.create_connection(('127.0.0.1', relay.port), WAIT_S)
        if pem or authority:
            context = ssl.create_default_context(cafile=authority or pem)
            if pem:
                context.load_cert_chain(pem)
            self.socket = context.wrap_socket(self.socket, server_hostname='127.0.0.1')
        self.number = self.acknowledged = self.data = 0
        self.receive()
        self.say(HELLO, text('waymark-sender') + text('test') + text(host))

    def close(self):
        self.socket.close()

    def say(self, kind, body=struct.pack('<I', 0)):
        self.number += 1
        if PACKET <= kind <= METADATA:
            self.data = self.number
        self.socket.sendall(struct.pack('<IHHII', len(body), kind, 1, self.number, 0) + body)

    def read(self, size):
        found = b''
        while len(found) < size:
            part = self.socket.recv(size - len(found))
            if not part:
                raise EOFError
            found += part
        return found

    def receive(self):
        """The type and the body of the next message. An error fails the test."""
        size, kind, _, number, _ = struct.unpack('<IHHII', self.read(16))
        body = self.read(size)
        if kind == ERROR:
            raise Refused('the relay refuses: ' + body[8:].decode(errors='replace'))
        if kind == ACK:
            self.acknowledged = number
        return kind, body

    def request(self, kind, *body):
        self.say(kind, *body)
        while True:
            kind, body = self.receive()
            if kind == REPLY:
                return body

    def settle(self):
        """Wait until all data is acknowledged."""
        while self.acknowledged < self.data:
            self.receive()

    def trace(self, session, sub, uuid):
        self.request(TRACE, text(session) + text(sub) + uuid + struct.pack('<IQB', 2, 0, 1))

    def metadata(self, content, at=0):
        self.say(METADATA, struct.pack('<QBI', at, 0, len(content)) + content)

    def stream(self, number, name):
        """Returns the number of packets that the relay has."""
        body = self.request(STREAM, struct.pack('<I', number) + text(name) + struct.pack('<QQBQ', 0, 0, 1, 0) +
                            text(''))
        found, sequence = struct.unpack_from('<B36xQ', body)
        return sequence + 1 if found else 0

    def packet(self, number, packet):
        """Send a packet as the stream file has it."""
        (stream_id, instance, begin, end, content, _, sequence, cpu, lost) = struct.unpack_from(
            '<20xIQQQQQQI4xQ', packet)
        position, cut = struct.unpack_from('<QI', packet, len(packet) - TRAILER)
        records = packet[HEAD:content // 8]
        self.say(PACKET, struct.pack('<IIQQQQQQQII', number, stream_id, instance, begin, end, len(records), sequence,
                                     position, lost, cpu, cut) + records)


def packets_of(path):
    """The packets of a stream file."""
    with open(path, 'rb') as f:
        content = f.read()
    found, at = [], 0
    while at < len(content):
        size = struct.unpack_from('<Q', content, at + 56)[0] // 8
        found.append(content[at:at + size])
        at += size
    return found


def streams_of(directory):
    """{name: packets} of a stored trace."""
    return {name: packets_of(os.path.join(directory, name)) for name in sorted(os.listdir(directory))
            if name not in ('metadata', 'index') and not name.startswith('.')}
