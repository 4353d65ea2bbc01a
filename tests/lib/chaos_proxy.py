# SPDX-License-Identifier: MIT
"""
A TCP proxy that damages connections. A seed selects the damage of each connection and the moment, in bytes.

    proxy = Proxy(random, relay.port, HARMS)
    ... connect to proxy.port ...
    proxy.calm()                # end all connections; later connections are not damaged
    proxy.close()

| harm | effect |
|---|---|
| cut | both sides are reset |
| truncate | a part of a block is forwarded, then the connection ends in order |
| delay | each block is held back for up to DELAY_S seconds |
| corrupt | one bit of a block is inverted; the connection continues |
| stall | no more bytes are forwarded, and the connection stays open |
"""
import contextlib
import random
import socket
import struct
import threading
import time

HARMS = ('cut', 'truncate', 'delay', 'corrupt', 'stall')
DELAY_S = 0.05
BLOCK = 16 << 10
AFTER_MAX = 300000              # bytes before the damage, at most


class Connection:
    """One connection: two threads, one for each direction. Each direction has a plan of its own."""

    def __init__(self, client, server, seed, harms):
        self.sockets = (client, server)
        chance = random.Random(seed)
        self.plans = [(chance.choice(harms), int(AFTER_MAX ** chance.random()), random.Random(chance.random()))
                      for _ in range(2)]
        self.threads = [threading.Thread(target=self.forward, args=(way,), daemon=True) for way in range(2)]
        for thread in self.threads:
            thread.start()

    def forward(self, way):
        source, target = self.sockets[way], self.sockets[1 - way]
        harm, left, chance = self.plans[way]
        with contextlib.suppress(OSError):
            while block := source.recv(BLOCK):
                is_due, left = 0 <= left < len(block), left - len(block)
                if harm == 'delay' and left < 0:
                    time.sleep(DELAY_S * chance.random())           # the damage, not a condition
                elif is_due:
                    if harm in ('cut', 'stall'):
                        break
                    if harm == 'truncate':
                        target.sendall(block[:chance.randrange(len(block))])
                        break
                    if harm == 'corrupt':
                        at = chance.randrange(len(block))
                        block = block[:at] + bytes([block[at] ^ 1 << chance.randrange(8)]) + block[at + 1:]
                target.sendall(block)
            if harm == 'stall' and left < 0:
                return
            if harm == 'cut' and left < 0:
                for one in self.sockets:
                    one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
                self.shut_down()
                self.end()
        self.shut_down()

    def shut_down(self):
        """close() does not end a connection while the other thread waits for its bytes."""
        for one in self.sockets:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def end(self):
        for one in self.sockets:
            one.close()


class Proxy:
    def __init__(self, seed, target, harms):
        self.seed, self.target, self.harms = seed, target, harms
        self.connections, self.lock = [], threading.Lock()
        self.number = 0
        self.listener = socket.create_server(('127.0.0.1', 0), backlog=64)
        self.port = self.listener.getsockname()[1]
        self.thread = threading.Thread(target=self.accept, daemon=True)
        self.thread.start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(('127.0.0.1', self.target), 5)
                server.settimeout(None)
            except OSError:
                client.close()
                continue
            with self.lock:
                self.number += 1
                self.connections.append(Connection(client, server, '%s %d' % (self.seed, self.number), self.harms))

    def end_all(self):
        with self.lock:
            ended, self.connections = self.connections, []
        for connection in ended:
            connection.shut_down()
            for thread in connection.threads:
                thread.join(10)
            connection.end()

    def calm(self):
        with self.lock:
            self.harms = ('none',)
        self.end_all()

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join(10)
        self.end_all()
