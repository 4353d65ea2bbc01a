# SPDX-License-Identifier: MIT
"""LTTng as a rival: a session daemon of our own, in a directory of our own, with the best settings that it has.

Root's daemon always lives in /run/lttng, whatever the environment says; run.py therefore gives itself a mount namespace
with an empty one (private_namespace), so that a daemon of the machine is neither used nor disturbed.
"""
import os
import re
import shutil
import signal
import subprocess
import sys
import time

IN_NAMESPACE = ['unshare', '-m', 'sh', '-c', 'mount -t tmpfs none /run/lttng && exec "$@"', 'sh']
NEEDED = ('lttng', 'lttng-sessiond', 'babeltrace2')


def missing():
    """The programs that this rival lacks here, as one string; empty if it can run."""
    return ' '.join(name for name in NEEDED if not shutil.which(name))


def private_namespace():
    """As root, go on in a mount namespace whose /run/lttng is our own: executes this very program again in it."""
    if os.geteuid() != 0 or os.environ.get('BENCH_PRIVATE') or missing() or not shutil.which('unshare'):
        return
    os.makedirs('/run/lttng', exist_ok=True)
    os.environ['BENCH_PRIVATE'] = '1'
    os.execvp('unshare', IN_NAMESPACE + [sys.executable] + sys.argv)


class Daemon:
    """One lttng-sessiond, from construction to close()."""

    def __init__(self, home):
        self.home = os.path.abspath(home)
        os.makedirs(self.home, exist_ok=True)
        self.env = dict(os.environ, LTTNG_HOME=self.home, HOME=self.home)
        self.log = open(os.path.join(self.home, 'sessiond.log'), 'w')
        self.process = subprocess.Popen(['lttng-sessiond', '--no-kernel'], env=self.env,
                                        stdout=self.log, stderr=self.log)
        deadline = time.monotonic() + 20
        while subprocess.run(['lttng', 'list'], env=self.env, capture_output=True).returncode:
            if time.monotonic() > deadline or self.process.poll() is not None:
                self.close()
                raise RuntimeError('lttng-sessiond does not answer; see ' + self.log.name)
            time.sleep(0.1)

    def close(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.log.close()

    def lttng(self, *args):
        done = subprocess.run(['lttng', *args], env=self.env, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError('lttng %s: %s' % (' '.join(args), done.stderr or done.stdout))
        return done.stdout + done.stderr

    def start(self, name, output, overwrite=False, contexts=()):
        """A session with one channel of 8 x 4 MB per CPU and user, every event of provider `bench`."""
        where = ['--snapshot'] if overwrite else ['--output=' + os.path.abspath(output)]
        self.lttng('create', name, *where)
        self.lttng('enable-channel', '-u', '-s', name, '--overwrite' if overwrite else '--discard', '--subbuf-size=4M',
                   '--num-subbuf=8', '--buffers-uid', 'channel')
        if contexts:
            self.lttng('add-context', '-u', '-s', name, '-c', 'channel', *['--type=' + c for c in contexts])
        self.lttng('enable-event', '-u', '-s', name, '-c', 'channel', 'bench:*')
        self.lttng('start', name)

    def stop(self, name):
        """Stop and destroy; waits until everything is on disk."""
        self.lttng('stop', name)
        self.lttng('destroy', name)

    def consumer_cpu(self):
        """CPU seconds that the user-space consumer has used so far."""
        ticks = 0
        for pid in filter(str.isdigit, os.listdir('/proc')):
            try:
                with open('/proc/%s/stat' % pid) as f:
                    stat = f.read()
                with open('/proc/%s/environ' % pid, 'rb') as f:
                    ours = os.fsencode('LTTNG_HOME=' + self.home) in f.read()
            except OSError:
                continue
            if '(lttng-consumerd' in stat and ours:
                fields = stat.rsplit(')', 1)[1].split()
                ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf('SC_CLK_TCK')


def counted(directory):
    """The records in a trace, as babeltrace2 counts them."""
    done = subprocess.run(['babeltrace2', directory, '--component', 'sink.utils.counter', '--params', 'step=+0'],
                          capture_output=True, text=True, check=True)
    return int(re.findall(r'(\d+) Event messages?', done.stdout)[-1])
