# SPDX-License-Identifier: MIT
"""LTTng as a rival: a private session daemon with its own home directory and its fastest settings.

The session daemon of root always uses /run/lttng, regardless of the environment. So run.py enters a mount namespace in
which that directory is empty (private_namespace); a daemon of the machine is neither used nor disturbed.
"""
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time

import process

IN_NAMESPACE = ['unshare', '-m', 'sh', '-c', 'mount -t tmpfs none /run/lttng && exec "$@"', 'sh']
NEEDED = ('lttng', 'lttng-sessiond', 'babeltrace2')


def missing():
    """The programs that this rival lacks here, as one string; empty if it can run."""
    return ' '.join(name for name in NEEDED if not shutil.which(name))


def private_namespace():
    """As root, execute this program again in a mount namespace with an empty /run/lttng."""
    if os.geteuid() != 0 or os.environ.get('BENCH_PRIVATE') or missing() or not shutil.which('unshare'):
        return
    os.makedirs('/run/lttng', exist_ok=True)
    os.environ['BENCH_PRIVATE'] = '1'
    os.execvp('unshare', IN_NAMESPACE + [sys.executable] + sys.argv)


class Daemon:
    """One lttng-sessiond, from construction to close()."""

    def __init__(self, home, load=None):
        """`load`: a file of sessions that it creates and starts."""
        self.home = os.path.abspath(home)
        os.makedirs(self.home, exist_ok=True)
        self.env = dict(os.environ, LTTNG_HOME=self.home, HOME=self.home)
        self.log = open(os.path.join(self.home, 'sessiond.log'), 'a')
        self.begin(load)

    def begin(self, load=None):
        """Start it; self.began and self.ready are the times, CLOCK_MONOTONIC in ns."""
        self.ready = None

        def on_ready(*_):
            self.ready = time.monotonic_ns()
        before = signal.signal(signal.SIGUSR1, on_ready)
        self.began = time.monotonic_ns()
        self.process = subprocess.Popen(['lttng-sessiond', '--no-kernel', '--sig-parent'] +
                                        (['--load=' + load] if load else []), env=self.env, stdout=self.log,
                                        stderr=self.log)
        deadline = time.monotonic() + 20
        while not self.ready:
            if time.monotonic() > deadline or self.process.poll() is not None:
                self.close()
                raise RuntimeError('lttng-sessiond is not ready after 20 s (see %s)' % self.log.name)
            time.sleep(0.001)
        signal.signal(signal.SIGUSR1, before)

    @property
    def pid(self):
        return self.process.pid

    def consumer_pid(self):
        return next(iter(process.named('lttng-consumer', 'LTTNG_HOME=' + self.home)), None)

    def close(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.log.close()

    def command(self, *args):
        done = subprocess.run(['lttng', *args], env=self.env, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError('lttng %s: %s' % (' '.join(args), done.stderr or done.stdout))
        return done.stdout + done.stderr

    def start(self, name, output, overwrite=False, contexts=(), events='bench:*', subbuf_size='4M', num_subbuf=8,
              wanted=None, live=None, streamed=None):
        """Start a session with one channel per user, by default with 8 x 4 MB per CPU and all events of the provider
        `bench`. `live`: (microseconds or None, URL of a relay daemon). `streamed`: URL of a relay daemon."""
        if live:
            where = ['--live' + ('=%d' % live[0] if live[0] else ''), '--set-url=' + live[1]]
        elif streamed:
            where = ['--set-url=' + streamed]
        else:
            where = ['--snapshot'] if overwrite else ['--output=' + os.path.abspath(output)]
        self.command('create', name, *where)
        self.command('enable-channel', '-u', '-s', name, '--overwrite' if overwrite else '--discard',
                     '--subbuf-size=' + subbuf_size, '--num-subbuf=%d' % num_subbuf, '--buffers-uid', 'channel')
        if contexts:
            self.command('add-context', '-u', '-s', name, '-c', 'channel', *['--type=' + c for c in contexts])
        self.command('enable-event', '-u', '-s', name, '-c', 'channel', events,
                     *(['--filter', wanted] if wanted else []))
        self.command('start', name)

    def stop(self, name):
        """Stop and destroy; waits until everything is on disk."""
        self.command('stop', name)
        self.command('destroy', name)

    def listed(self):
        """Number of applications that it lists with their events, and the milliseconds of the command."""
        with open(os.path.join(self.home, 'listed'), 'w+') as out:      # (a pipe would add the time of Python)
            begin = time.monotonic_ns()
            subprocess.run(['lttng', 'list', '-u'], env=self.env, stdout=out, stderr=subprocess.STDOUT, check=True)
            took = (time.monotonic_ns() - begin) / 1e6
            out.seek(0)
            return len(re.findall(r'^PID: ', out.read(), re.M)), took

    def consumer_cpu(self):
        """CPU seconds that the user-space consumer has used so far."""
        pid = self.consumer_pid()
        return process.cpu_ns(pid) / 1e9 if pid else 0.0


def has_relay():
    return shutil.which('lttng-relayd') is not None


class Relay:
    """One lttng-relayd on free ports of the loopback device, from construction to close()."""

    def __init__(self, home):
        self.home = os.path.abspath(home)
        os.makedirs(self.home)
        sockets = [socket.create_server(('127.0.0.1', 0)) for _ in range(3)]
        control, data, self.live = [s.getsockname()[1] for s in sockets]
        for s in sockets:
            s.close()
        self.url = 'net://127.0.0.1:%d:%d' % (control, data)
        with open(os.path.join(self.home, 'relayd.log'), 'w') as log:
            self.process = subprocess.Popen(
                ['lttng-relayd', '--output', self.home, '--control-port', 'tcp://127.0.0.1:%d' % control,
                 '--data-port', 'tcp://127.0.0.1:%d' % data, '--live-port', 'tcp://127.0.0.1:%d' % self.live],
                env=dict(os.environ, LTTNG_HOME=self.home, HOME=self.home), stdout=log, stderr=log)
        deadline = time.monotonic() + 20
        while True:
            try:
                socket.create_connection(('127.0.0.1', self.live), 1).close()
                break
            except OSError:
                if time.monotonic() > deadline or self.process.poll() is not None:
                    self.close()
                    raise RuntimeError('lttng-relayd is not ready after 20 s (see %s)' % log.name) from None
                time.sleep(0.01)

    def viewer(self, session):
        """The URL of a session for live readers."""
        return 'net://127.0.0.1:%d/host/%s/%s' % (self.live, socket.gethostname(), session)

    def output(self, session):
        """The directory that has the traces of a session."""
        host = os.path.join(self.home, socket.gethostname())
        return next(os.path.join(host, name) for name in sorted(os.listdir(host)) if name.startswith(session))

    def close(self):
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait()


def counted(directory):
    """The records in a trace, as babeltrace2 counts them."""
    done = subprocess.run(['babeltrace2', directory, '--component', 'sink.utils.counter', '--params', 'step=+0'],
                          capture_output=True, text=True, check=True)
    return int(re.findall(r'(\d+) Event messages?', done.stdout)[-1])
