# SPDX-License-Identifier: MIT
"""A session daemon of one test, in its own runtime directory, and the commands that a test sends to it."""
import contextlib
import json
import os
import shlex
import signal
import subprocess

from harness import WAIT_S, WAYMARK, check, finished, holds_within, slurp

SESSIOND = os.path.abspath(os.environ.get('WMK_SESSIOND', 'build/src/daemons/waymark-sessiond'))
ENDS_S = 60


class Answer:
    """The exit status and the output of one command."""

    def __init__(self, argv, status, out, err):
        self.argv, self.status, self.out, self.err = argv, status, out, err

    def ok(self, status=0):
        check(self.status == status, '`%s` ended with status %d, not %d: %s', shlex.join(self.argv), self.status,
              status, (self.err + self.out)[-1500:])
        return self

    def prints(self, *words):
        """Check that the output contains each of the words (alternatives: a|b)."""
        text = (self.err + self.out).lower()
        for word in words:
            check(any(w in text for w in word.lower().split('|')), '`%s` does not print "%s": %s',
                  shlex.join(self.argv), word, (self.err + self.out)[-1500:])
        return self

    @property
    def json(self):
        try:
            return json.loads(self.out)
        except ValueError:
            check(False, 'the output of `%s` is not JSON: %s', shlex.join(self.argv), (self.out + self.err)[-1500:])


class Control:
    """Commands of one user. With `user` (a pwd entry), they run as that user."""

    def __init__(self, case, name='home', user=None):
        self.home = case.short(name)
        self.rundir = os.path.join(self.home, 'run')
        self.user = user
        for path in (self.home, self.rundir):
            os.mkdir(path, 0o700)
            if user:
                os.chown(path, user.pw_uid, user.pw_gid)
        self.env = dict(case.env, HOME=self.home, WAYMARK_RUNDIR=self.rundir, WAYMARK_SESSIOND=SESSIOND,
                        PATH=os.path.dirname(WAYMARK) + ':' + case.env.get('PATH', ''))

    @property
    def as_user(self):
        if not self.user:
            return {}
        return {'user': self.user.pw_uid, 'group': self.user.pw_gid, 'extra_groups': []}

    def shell(self, line, cwd, status=0, timeout=WAIT_S):
        """Run a line in a shell."""
        argv = ['bash', '-c', line]
        done = finished(argv, env=self.env, cwd=cwd, capture_output=True, text=True, timeout=timeout,
                        stdin=subprocess.DEVNULL, start_new_session=True, **self.as_user)
        return Answer(argv, done.returncode, done.stdout, done.stderr).ok(status)

    def __call__(self, *argv, status=0, timeout=WAIT_S):
        """Run `waymark ARGV` and check its exit status."""
        argv = [WAYMARK, *map(str, argv)]
        done = finished(argv, env=self.env, capture_output=True, text=True, timeout=timeout, stdin=subprocess.DEVNULL,
                        start_new_session=True, **self.as_user)
        return Answer(argv, done.returncode, done.stdout, done.stderr).ok(status)

    def daemons(self):
        """{pid: name} of the daemons that use this runtime directory."""
        found = {}
        for pid in filter(str.isdigit, os.listdir('/proc')):
            with contextlib.suppress(OSError):
                name = slurp('/proc/%s/comm' % pid).strip()
                if name.startswith('waymark-') and ('WAYMARK_RUNDIR=' + self.rundir) in slurp(
                        '/proc/%s/environ' % pid).split('\0'):
                    found[int(pid)] = name
        return found

    def close(self):
        """End the daemons. A daemon that does not end is a failure."""
        # One after the other: a running session daemon would restart a consumer daemon that has ended.
        stayed = [name for name in ('waymark-session', 'waymark-consume') if not self.end_daemons(name, signal.SIGTERM)]
        left = [name for name in stayed if not self.end_daemons(name, signal.SIGKILL)]
        check(not stayed, 'daemons did not exit on SIGTERM: %s%s', stayed, ', nor on SIGKILL' if left else '')

    def end_daemons(self, name, sig):
        """Send the signal to the daemons of that name. Returns whether all of them ended."""
        def alive():
            return [pid for pid, comm in self.daemons().items() if comm.startswith(name)]
        for pid in alive():
            with contextlib.suppress(OSError):
                os.kill(pid, sig)
        return holds_within(lambda: not alive(), ENDS_S)
