#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
A relay stores traces of other machines. The stored trace has the records of the sent trace. Live readers print records
as they arrive. A relay that was killed continues.
"""
import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from control import Control  # noqa: E402
from harness import WAYMARK, awaited, check, finished, main, slurp, wait_for  # noqa: E402
from relay import CLOSE, RELAYD, Relay, Sender, streams_of  # noqa: E402

VIEW = (WAYMARK, 'view', '--style=babeltrace', '--clock-metadata', '--no-delta')
SUB = 'ust/uid/1000/64-bit'


class Sent:
    """A recorded trace, which is sent in parts."""

    def __init__(self, case, relay):
        recorded = case.record([case.program('busy'), 'count', '3', '2000', '0'],
                               ['--subbuf-size', '4k', '--num-subbuf', '256']).ok()
        self.lines = lines_of(recorded.directory)
        self.directory = next(where for where, _, files in os.walk(recorded.directory) if 'metadata' in files)
        self.streams = streams_of(self.directory)
        check(sum(map(len, self.streams.values())) > 5, 'too few packets: %s', self.streams.keys())
        self.relay, self.session = relay, 'shop'
        self.path = os.path.join(relay.root, 'web1', self.session)

    def connect(self):
        sender = Sender(self.relay, 'web1')
        with open(os.path.join(self.directory, 'metadata'), 'rb') as f:
            metadata = f.read()
        first = next(iter(self.streams.values()))[0]
        sender.trace(self.session, SUB, first[4:20])
        sender.metadata(metadata)
        return sender

    def send(self, sender, part=1.0):
        """Send the packets of the first `part` of each stream that the relay does not have."""
        for number, (name, packets) in enumerate(self.streams.items()):
            have = sender.stream(number, name)
            for packet in packets[have:round(len(packets) * part)]:
                sender.packet(number, packet)
        sender.settle()


def lines_of(path):
    done = finished([*VIEW, path], capture_output=True, text=True)
    check(done.returncode == 0, 'view fails: %s', done.stderr)
    return done.stdout.splitlines()


def trace_stored_by_the_relay_equals_the_sent_trace(case):
    relay = Relay(case.path('relay'))
    sent = Sent(case, relay)
    sender = sent.connect()
    sent.send(sender, 0.5)
    half = lines_of(sent.path)
    check(0 < len(half) < len(sent.lines) and set(half) <= set(sent.lines), '%d lines of %d while the trace grows',
          len(half), len(sent.lines))
    # the relay is killed; the sender continues at the end of the files, and also repeats packets that the relay has
    relay.kill()
    sender.close()
    relay.start()
    sender = sent.connect()
    number, packets = 0, next(iter(sent.streams.values()))
    sender.stream(number, next(iter(sent.streams)))
    sender.packet(number, packets[0])
    sent.send(sender)
    sender.request(CLOSE)
    sender.close()
    check(lines_of(sent.path) == sent.lines, 'the stored trace differs from the sent one')
    relay.close()


def follow_prints_a_trace_while_the_relay_receives_it(case):
    relay = Relay(case.path('relay'))
    sent = Sent(case, relay)
    sender = sent.connect()
    sent.send(sender, 0.3)
    printed = case.path('printed')
    with open(printed, 'w') as out:
        follower = subprocess.Popen([*VIEW, '--follow', '--wait', '1000000', sent.path], stdout=out,
                                    stderr=subprocess.STDOUT)
    wait_for(lambda: slurp(printed), 'the follower prints the first records')
    sent.send(sender, 0.6)
    # the connection breaks: the trace stays open, and the follower waits
    sender.close()
    sender = sent.connect()
    sent.send(sender)
    check(follower.poll() is None, 'the follower ended with the connection: %s', slurp(printed)[-500:])
    sender.request(CLOSE)
    sender.close()
    check(awaited(follower) == 0, 'the follower failed: %s', slurp(printed)[-500:])
    check(sorted(slurp(printed).splitlines()) == sorted(sent.lines), 'the follower printed other records')
    relay.close()


def relay_status_shows_hosts_and_quotas(case):
    conf = case.path('relay.conf')
    with open(conf, 'w') as f:
        f.write('# a comment\nmax-bytes web1 = 10M\nmax-rate = 50M\n')
    relay = Relay(case.path('relay'), '--conf', conf)
    w = Control(case)
    w.env['WAYMARK_RELAY_DIR'] = case.path('certificates')
    w('relay', 'status', '--at', relay.address).prints('No host has connected')
    sent = Sent(case, relay)
    sender = sent.connect()
    sent.send(sender)
    w('relay', 'status', '--at', relay.address).prints('web1: 1 connections of 1000', 'of 10.5 MB on the disk|of 10 MB',
                                                       'at most 52.4 MB/s|at most 50 MB/s',
                                                       'shop/ust/uid/1000/64-bit: connected')
    host = w('relay', 'status', '--at', relay.address, '--json').json['relay']['hosts'][0]
    check((host['host'], host['max_bytes'], host['max_rate'], host['error']) ==
          ('web1', 10 << 20, 50 << 20, None), '%s', host)
    trace = host['traces'][0]
    check(trace['connected'] and trace['packets'] == sum(map(len, sent.streams.values())), '%s', trace)
    sender.close()
    wait_for(lambda: not w('relay', 'status', '--at', relay.address, '--json').json['relay']['hosts'][0]['traces'][0]
             ['connected'], 'the relay observes the end of the connection')
    relay.close()
    w('relay', 'status', '--at', relay.address, status=1).prints('cannot connect to the relay')
    w('relay', 'status', '--at', '192.0.2.1:5850', status=1).prints('the status is available at loopback')
    w('relay', 'init', '--at', relay.address, status=2).prints('option of status only')


def invalid_options_of_the_relay_are_refused(case):
    def refused(status, words, *argv):
        done = finished([RELAYD, *argv], capture_output=True, text=True)
        check(done.returncode == status and words in done.stderr, '%s: status %d: %s', argv, done.returncode,
              done.stderr)
    root = case.path('root')
    refused(2, 'usage', '--listen', '127.0.0.1:0')
    refused(1, 'the form is ADDR:PORT', '--listen', 'localhost', '--output', root)
    refused(1, 'needs TLS', '--listen', '0.0.0.0:0', '--output', root, '--certificates', case.path('none'))
    conf = case.path('relay.conf')
    for line, words in (('max-byte = 1', 'did you mean: max-bytes'), ('max-bytes', 'the form is'),
                        ('connections web1 = 3', 'all hosts together'), ('connections = 0', 'allowed are 1 to'),
                        ('max-bytes ../x = 3', 'not the name of a host')):
        with open(conf, 'w') as f:
            f.write('\n' + line + '\n')
        refused(1, 'line 2', '--output', root, '--conf', conf)
        refused(1, words, '--output', root, '--conf', conf)


if __name__ == '__main__':
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    main([trace_stored_by_the_relay_equals_the_sent_trace, follow_prints_a_trace_while_the_relay_receives_it,
          relay_status_shows_hosts_and_quotas, invalid_options_of_the_relay_are_refused])
