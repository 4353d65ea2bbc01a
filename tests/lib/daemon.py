# SPDX-License-Identifier: MIT
"""
The environment of tests of the session daemon: its own runtime directory, home and programs. All of it is gone at the
end.

    with World(case) as w:
        w('create', 'one'); w('enable-event', 'test:*'); w('start')
        program = w.scripted(); program('emit 3')
        os.kill(w.consumerd(), 9)

The end of the block ends the programs and the daemons. It fails if a process remains, if another process holds a ring
of this World, or if the machine's shared memory does not return to its level.
"""
import contextlib
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time

from control import SESSIOND, Answer, Control
from harness import (FEATURES, WAIT_S, WAYMARK, Failure, Trace, awaited, check, check_sequences, communicated, slurp,
    stuck, wait_for)
from processes import marked, pids, state  # noqa: F401 (cases take them from here)
from shmem import Shmem, rings_of  # noqa: F401

# The kernel cuts names of processes.
SESSIOND_COMM, CONSUMERD_COMM = 'waymark-sessiond'[:15], 'waymark-consumerd'[:15]


def numbers_of(trace, event='test:seq'):
    """{writer: its numbers in the trace, sorted}."""
    found = {}
    for r in trace.records(event):
        found.setdefault(r.fields['writer'], []).append(r.fields['seq'])
    return {w: sorted(n) for w, n in found.items()}


class Scripted:
    """A program that executes the commands of tests/programs/scripted.c."""

    def __init__(self, world, env=None, user=None):
        self.world = world
        self.child = world.run([world.case.program('scripted'), world.case.program('procs')], env=env, user=user,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        self.pid = self.child.pid
        self.last_line = 'to begin'

    def ready(self):
        check(self.answer() == 'ready', 'scripted printed no "ready"')
        return self

    def send(self, line):
        self.last_line = line
        self.child.stdin.write(line + '\n')
        self.child.stdin.flush()

    def answer(self, timeout=WAIT_S):
        if not select.select([self.child.stdout], [], [], timeout)[0]:
            self.world.stuck('program %d did not %s within %d s' % (self.pid, self.last_line, timeout))
        return self.child.stdout.readline().strip()

    def __call__(self, line):
        self.send(line)
        said = self.answer()
        check(said == 'ok', 'program %d, command "%s": %s', self.pid, line, said or 'it has ended')

    def end(self):
        """Close its standard input and check that it exits with status 0."""
        self.child.stdin.close()
        status = awaited(self.child)
        self.child.stdout.close()
        check(status == 0, 'program %d ended with status %d', self.pid, status)

    def kill(self):
        self.child.kill()
        self.child.wait()
        for stream in (self.child.stdin, self.child.stdout):
            with contextlib.suppress(OSError):
                stream.close()


class World(Control):
    """
    See the file comment. `user`: the owner of the daemon (a pwd entry, or anything with pw_uid and pw_gid); by default
    the user of the tests. `daemon`: the daemon starts first, and applications wait at their start until they are
    registered. `files`: the descriptor limit of the daemon. `limits`: lines of its limits file. `usual`: the runtime
    directory is not private but the default of that user (mounts.fresh_run()).
    """

    def __init__(self, case, name='home', user=None, daemon=True, files=None, limits=None, usual=False):
        super().__init__(case, name, user)
        self.case, self.children, self.rings, self.wanted = case, [], set(), daemon
        self.shmem = Shmem()
        # The path of a socket must be short; the path of a build folder may be long.
        self.place = tempfile.mkdtemp(prefix='wmk-', dir='/tmp')
        if user:
            os.chown(self.place, user.pw_uid, user.pw_gid)
        self.rundir = os.path.join(self.place, 'run')
        self.env['WAYMARK_RUNDIR'] = self.rundir
        self.env['WAYMARK_HOME'] = self.home
        self.mark = 'WAYMARK_RUNDIR=' + self.rundir      # in the environment of the processes of this World
        if usual:
            self.rundir = '/run/user/%d/waymark' % user.pw_uid if user and user.pw_uid else '/run/waymark'
            del self.env['WAYMARK_RUNDIR']
            self.mark = 'WAYMARK_HOME=' + self.home
        self.log = os.path.join(self.home, 'said')
        self.wrap(files, limits)

    def wrap(self, files, limits):
        """
        A daemon that a command starts has no terminal for its messages. This wrapper writes them to a file, which
        failures show.
        """
        path = os.path.join(self.home, 'sessiond')
        self.limits = os.path.join(self.home, 'limits.conf')
        if limits is not None:
            with open(self.limits, 'w') as f:
                f.write(limits)
            os.chmod(self.limits, 0o644)
        with open(path, 'w') as f:
            f.write('#!/bin/sh\n%sexec %s "$@" %s 2>>%s\n' %
                    ('ulimit -n %d; ' % files if files else '', SESSIOND,
                     '--limits ' + self.limits if limits is not None else '', self.log))
        os.chmod(path, 0o755)
        self.env['WAYMARK_SESSIOND'] = path

    # ── processes ───────────────────────────────────────────────────────────────────────────────────────

    def run(self, argv, env=None, user=None, **popen):
        """Start a program of this World; `user`: as another user."""
        who = {'user': user.pw_uid, 'group': user.pw_gid, 'extra_groups': []} if user else self.as_user
        popen.setdefault('stdin', subprocess.DEVNULL)
        popen.setdefault('stdout', subprocess.DEVNULL)
        child = subprocess.Popen(argv, env=dict(self.env, **(env or {})), start_new_session=True, **who, **popen)
        self.children.append(child)
        return child

    def scripted(self, **more):
        return Scripted(self, **more).ready()

    def wait_end(self, child, status=0, timeout=WAIT_S):
        awaited(child, timeout)
        self.children.remove(child)
        check(status is None or child.returncode == status, '%s ended with status %s, not %s', child.args,
              child.returncode, status)

    def own_processes(self):
        """{pid: name} of all live processes of this World."""
        return marked(self.mark)

    def daemons(self):
        return {pid: name for pid, name in self.own_processes().items() if name.startswith('waymark-')}

    def daemon(self, comm):
        found = [pid for pid, name in self.own_processes().items() if name == comm and state(pid) not in ('Z', None)]
        return found[0] if found else None

    def sessiond(self):
        return self.daemon(SESSIOND_COMM)

    def consumerd(self):
        return self.daemon(CONSUMERD_COMM)

    def kernel_consumerds(self):
        """The consumer daemons of kernel channels."""
        found = []
        for pid in self.daemons():
            with contextlib.suppress(OSError):                # the process may exit in the meantime
                if '--kernel' in slurp('/proc/%d/cmdline' % pid).split('\0'):
                    found.append(pid)
        return found

    def kernel_consumerd(self):
        return next(iter(self.kernel_consumerds()), None)

    stuck, wait = staticmethod(stuck), staticmethod(wait_for)

    def remember_rings(self):
        """Record the rings that the processes hold now; the end of the block checks that no process holds them."""
        for pid in self.own_processes():
            self.rings.update(rings_of(pid))

    # ── commands ────────────────────────────────────────────────────────────────────────────────────────

    def __call__(self, *argv, status=0, timeout=WAIT_S):
        argv = [WAYMARK, *map(str, argv)]
        child = subprocess.Popen(argv, env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True, start_new_session=True, **self.as_user)
        out, err = communicated(child, timeout=timeout)
        answer = Answer(argv, child.returncode, out, err)
        return answer if status is None else answer.ok(status)

    def start_daemon(self):
        """Start the daemon through a command, as a user does; returns its pid."""
        self('list')
        return self.sessiond()

    def session(self, name):
        return self('list', name, '--json').json['sessions'][0]

    def apps(self):
        """{pid} of the applications that are connected and have registered their events."""
        return {a['pid'] for a in self('list', '-u', '--json').json['apps'] if a['connected'] and a['events']}

    def wait_apps(self, wanted, words='the programs to register'):
        self.wait(lambda: set(wanted) <= self.apps(), '%s (%s)' % (words, sorted(wanted)))

    @contextlib.contextmanager
    def disconnected(self, program):
        """
        Kill the session daemon while the program is stopped. After the block, the program resumes; this returns when it
        has reconnected.
        """
        os.kill(program.pid, signal.SIGSTOP)
        self.wait(lambda: state(program.pid) == 'T', 'the program to stand still')
        os.kill(self.sessiond(), signal.SIGKILL)
        yield
        os.kill(program.pid, signal.SIGCONT)
        self.wait_apps([program.pid])

    def begin(self, name, *rules, channel=()):
        """
        Create and start a session. `channel`: options of a channel with the session's name; by default the default
        channel.
        """
        self('create', name)
        if channel:
            self('enable-channel', '-s', name, name, *channel)
        self('enable-event', '-s', name, *(rules or ('test:*',)), *(('-c', name) if channel else ()))
        self('start', name)

    def stop(self, name, **more):
        """Stop the session; returns its state."""
        return self('stop', name, '--json', **more).json['sessions'][0]

    def end(self, name, lost=None):
        """Stop and destroy a session. Returns (its last state, its trace as both readers see it)."""
        self.remember_rings()
        session = self.stop(name) if self.session(name)['active'] else self.session(name)
        self('destroy', name)
        counts = session['counts']
        if lost is not None:
            check(counts['lost'] == lost, '%s: %d records lost, not %d', name, counts['lost'], lost)
        check(counts['unwritten'] == 0, '%s: %d records were not written', name, counts['unwritten'])
        return session, Trace(session['path'], lossy=counts['lost'] + counts['overwritten'] > 0)

    def finish(self, name, killed=False, lost=None):
        """end(), and check every record against the ledger. Returns (state, trace, {writer: numbers})."""
        session, trace = self.end(name, lost)
        return session, trace, check_sequences(trace, self.case.ledger, session['counts']['lost'], killed)

    # ── the end ─────────────────────────────────────────────────────────────────────────────────────────

    def end_programs(self):
        for child in self.children:
            if child.poll() is None:
                with contextlib.suppress(OSError):
                    os.killpg(child.pid, signal.SIGKILL)
                child.wait()
            for stream in (child.stdin, child.stdout, child.stderr):
                with contextlib.suppress(OSError, ValueError):
                    if stream:
                        stream.close()
        self.children = []

    def holders(self):
        return {pid: slurp('/proc/%d/comm' % pid).strip() for pid in pids() if self.rings & rings_of(pid).keys()}

    def nothing_is_left(self):
        self.wait(lambda: not self.own_processes(), 'the processes of the World to exit: %s' % self.own_processes())
        left = self.holders()
        check(not left, 'other processes hold rings of the World: %s', left)
        # (No process holds a ring of this World, so all existing rings belong to others.)
        not_counted = self.shmem.is_back()
        check(not not_counted or not os.environ.get('WMK_ALONE'), '%s', not_counted)
        if not_counted:
            print('# not checked: ' + not_counted, flush=True)

    def close(self):
        self.remember_rings()
        self.end_programs()
        # Active sessions survive the end of a session daemon; only this ends all of them.
        if self.sessiond() and not [p for p in self.daemons() if state(p) == 'T']:
            self('-n', 'destroy', '--all', status=None, timeout=60)
        super().close()
        self.nothing_is_left()

    def __enter__(self):
        if self.wanted:
            self.start_daemon()
        return self

    def __exit__(self, kind, error, _traceback):
        try:
            if isinstance(error, Failure):
                raise Failure(str(error) + self.printed()) from None
            if not kind:
                self.close()
        finally:
            if self.daemons() or self.children:
                self.abandon()
            shutil.rmtree(self.place, ignore_errors=True)

    def printed(self):
        return '\nthe daemons said: ' + slurp(self.log)[-2000:] if os.path.exists(self.log) and os.path.getsize(
            self.log) else ''

    def abandon(self):
        """After a failure: end the programs and kill the daemons, without checks."""
        deadline = time.monotonic() + 30
        self.end_programs()
        while self.own_processes() and time.monotonic() < deadline:
            for pid in self.own_processes():
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.02)


SANITIZED = 'sanitize' in FEATURES
