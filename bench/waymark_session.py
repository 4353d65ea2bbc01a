# SPDX-License-Identifier: MIT
"""A private session daemon of Waymark with its own runtime directory; the counterpart of lttng_session.Daemon."""
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time

import process

READY_S = 20


class Daemon:
    """One waymark-sessiond, from construction to close(); crash() and begin() replace it."""

    def __init__(self, build, place=None, env=None):
        """`place`: the directory of its home, by default that of temporary files. `env`: additional variables."""
        self.waymark = os.path.join(build, 'src', 'cli', 'waymark')
        self.programs = os.path.join(build, 'src', 'daemons')
        self.home = tempfile.mkdtemp(prefix='waymark-bench-', dir=place)       # a socket's path is short
        self.rundir = os.path.join(self.home, 'run')
        os.mkdir(self.rundir, 0o700)
        self.env = dict(os.environ, HOME=self.home, WAYMARK_RUNDIR=self.rundir, WAYMARK_REGISTER_TIMEOUT='60000',
                        **(env or {}))
        self.log = open(os.path.join(self.home, 'sessiond.log'), 'a')
        self.process = None
        self.begin()

    def begin(self):
        """Start it; self.began and self.ready are the times, CLOCK_MONOTONIC in ns."""
        here, there = os.pipe()
        self.began = time.monotonic_ns()
        self.process = subprocess.Popen([
            os.path.join(self.programs, 'waymark-sessiond'), '--rundir', self.rundir, '--consumerd',
            os.path.join(self.programs, 'waymark-consumerd')
        ], env=dict(self.env, WAYMARK_READY_FD=str(there)), pass_fds=[there], stdin=subprocess.DEVNULL, stdout=self.log,
                                        stderr=self.log)
        os.close(there)
        message = os.read(here, 1000) if select.select([here], [], [], READY_S)[0] else b''
        self.ready = time.monotonic_ns()
        os.close(here)
        if message[:1] != b'+':
            raise RuntimeError('waymark-sessiond is not ready after %d s: %s (see %s)' %
                               (READY_S, message[1:].decode(errors='replace'), self.log.name))

    def crash(self):
        """Kill it; the consumer daemon continues."""
        self.process.kill()
        self.process.wait()

    @property
    def pid(self):
        return self.process.pid

    def consumer_pid(self):
        return next(iter(process.named('waymark-consume', 'WAYMARK_RUNDIR=' + self.rundir)), None)

    def close(self):
        if self.process and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.crash()
        for sig in (signal.SIGTERM, signal.SIGKILL):
            consumers = process.named('waymark-consume', 'WAYMARK_RUNDIR=' + self.rundir)
            for pid in consumers:
                os.kill(pid, sig)
            process.wait_gone(consumers, 10)
        self.log.close()
        shutil.rmtree(self.home, ignore_errors=True)

    def command(self, *args):
        done = subprocess.run([self.waymark, *args], env=self.env, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError('waymark %s: %s' % (' '.join(args), done.stderr or done.stdout))
        return done.stdout

    def start(self, name, output, events, subbuf_size='256k', num_subbuf=4, options=(),
              statedump=True, url=None):
        """Start a session with one channel per user and these events. Without `output` and `url`, the URL of a relay:
        for snapshots. `options`: of the channel."""
        where = ['--set-url', url] if url else ['--output', os.path.abspath(output)] if output else ['--snapshot']
        self.command('create', name, *where, *([] if statedump else ['--no-statedump']))
        self.command('enable-channel', '-u', '-s', name, '--subbuf-size', subbuf_size, '--num-subbuf', str(num_subbuf),
                     *options, 'channel')
        self.command('enable-event', '-u', '-s', name, '-c', 'channel', events)
        self.command('start', name)

    def stop(self, name):
        self.command('stop', name)
        self.command('destroy', name)

    def listed(self):
        """Number of applications that it lists with their events, and the milliseconds of the command."""
        with open(os.path.join(self.home, 'listed'), 'w+') as out:      # (a pipe would add the time of Python)
            begin = time.monotonic_ns()
            subprocess.run([self.waymark, 'list', '-u', '--json'], env=self.env, stdout=out, check=True)
            took = (time.monotonic_ns() - begin) / 1e6
            out.seek(0)
            return len(json.load(out)['apps']), took
