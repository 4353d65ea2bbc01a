# SPDX-License-Identifier: MIT
"""
A relay of a test: waymark-relayd on a port of its own, which can be killed and started again.

    relay = Relay(w, 'web1')
    w('create', 'one', '--set-url', relay.url)
    relay.kill(); relay.start()
    relay.trace('one')          # the directory HOST/SESSION
"""
import glob
import os
import socket

from control import SESSIOND
from waits import WAIT_S, check, holds_within, stuck, wait_for

RELAYD = os.path.join(os.path.dirname(SESSIOND), 'waymark-relayd')


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


class Relay:
    """`certificates`: a directory of `waymark relay init`; the connections have TLS, and HOST is in the certificate."""

    def __init__(self, world, host='web1', start=True, certificates=None):
        self.world, self.host, self.child = world, host, None
        self.options = ['--tls', '--certificates', certificates] if certificates else []
        self.root = os.path.join(world.place, 'relay')
        self.port = free_port()
        self.url = 'tls://localhost:%d' % self.port if certificates else 'tcp://127.0.0.1:%d/%s' % (self.port, host)
        if start:
            self.start()

    def start(self):
        with open(self.world.log, 'a') as log:
            self.child = self.world.run([RELAYD, '--output', self.root, '--listen', '127.0.0.1:%d' % self.port,
                                         *self.options], stderr=log)
        wait_for(self.listens, 'the relay to listen')

    def listens(self):
        with socket.socket() as s:
            return s.connect_ex(('127.0.0.1', self.port)) == 0

    def kill(self):
        self.child.kill()
        self.child.wait()
        self.world.children.remove(self.child)

    def end(self):
        self.child.terminate()
        self.world.wait_end(self.child, None)

    def traces(self, session):
        return glob.glob(os.path.join(self.root, self.host, session + '-*'))

    def trace(self, session):
        found = self.traces(session)
        check(len(found) == 1, 'the relay has %s', found)
        return found[0]


def spools(world):
    """The spools of a World."""
    return glob.glob(os.path.join(world.home, '.local/state/waymark/spool/*'))


def wait_sent(world, timeout=WAIT_S):
    """Wait until the relay has everything of destroyed sessions: their spools are gone."""
    def files():
        return [os.path.join(top, n) for spool in spools(world) for top, _, names in os.walk(spool) for n in names]

    holds_within(lambda: not spools(world), timeout) or stuck('the spools were not sent: %s, %s' %
                                                              (spools(world), files()))
