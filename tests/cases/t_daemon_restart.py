#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Session daemons restart, or start after their applications: they find all applications, no start waits without end, and
recording continues.
"""
import os
import signal
import socket
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from control import SESSIOND  # noqa: E402
from daemon import World, state  # noqa: E402
from harness import SEED, Trace, check, check_sequences, limit, main, rounds, slurp  # noqa: E402

# The longest time that an application waits, and an allowance for a busy machine.
BOUND_S, SLACK_S = 3, 60


class RandomActions:
    """The random actions of restarted_daemon_reconnects_to_its_applications."""

    def __init__(self, world, random):
        self.world, self.random, self.programs, self.frozen = world, random, [], None
        self.ending = None                   # a session daemon that received SIGTERM

    def pick(self):
        return self.random.choice(self.programs) if self.programs else None

    def start_program(self):
        begun = time.monotonic()
        # The wait of the application, not a timeout of the harness.
        self.programs.append(self.world.scripted(env={'WAYMARK_REGISTER_TIMEOUT': str(BOUND_S * 1000)}))
        took = time.monotonic() - begun
        check(took < BOUND_S + SLACK_S, 'a program started after %.1f s', took)

    def kill_program(self):
        if self.programs:
            self.programs.pop(self.random.randrange(len(self.programs))).kill()

    def end_program(self):
        if self.programs:
            self.programs.pop(self.random.randrange(len(self.programs))).end()

    def stop_program(self):
        program = self.pick()
        if program:
            os.kill(program.pid, signal.SIGSTOP)
            self.world.wait(lambda: state(program.pid) == 'T', 'the program to stop')
            self.start_daemon()
            os.kill(program.pid, signal.SIGCONT)

    def start_daemon(self):
        if self.frozen is None:
            # The ending daemon may close the connection of a command.
            self.world.wait(lambda: self.world('list', status=None).status == 0 or self.world.sessiond() != self.ending,
                            'a command to succeed, or the session daemon to end')
            self.world.start_daemon()

    def end_daemon(self, sig=signal.SIGTERM):
        self.thaw()
        pid = self.world.sessiond()
        if pid:
            os.kill(pid, sig)
            self.ending = pid
            if sig == signal.SIGKILL or self.random.random() < 0.5:
                self.world.wait(lambda: self.world.sessiond() != pid, 'the session daemon to end')

    def kill_daemon(self):
        self.end_daemon(signal.SIGKILL)

    def freeze(self):
        """Stop the daemon, so that it does not answer. Applications start nevertheless."""
        pid = self.world.sessiond()
        if pid and self.frozen is None:
            os.kill(pid, signal.SIGSTOP)
            self.frozen = pid

    def thaw(self):
        if self.frozen is not None:
            os.kill(self.frozen, signal.SIGCONT)
            self.frozen = None

    def turn(self):
        actions = [
            self.start_program, self.start_program, self.kill_program, self.end_program, self.stop_program,
            self.start_daemon, self.end_daemon, self.kill_daemon, self.freeze, self.thaw
        ]
        chosen = [self.random.choice(actions) for _ in range(self.random.randrange(2, 7))]
        try:
            for action in chosen:
                action()
        finally:
            self.thaw()
        return [a.__name__ for a in chosen]


@limit(60)
def restarted_daemon_reconnects_to_its_applications(case):
    """
    Daemons and applications start, stop and are killed in random order. The daemon finds all live applications, and
    they record on in the first session.
    """
    with World(case, daemon=False) as w:
        actions = RandomActions(w, case.random)
        for _ in range(2):
            actions.start_program()       # before any daemon or its notification page exists
        w.start_daemon()
        w.wait_apps([p.pid for p in actions.programs], 'programs that started before the daemon')
        w.begin('all')
        for turn in range(rounds(100)):
            done = actions.turn()
            if len(actions.programs) > 8:
                actions.kill_program()
            actions.start_daemon()
            alive = {p.pid for p in actions.programs}
            w.wait(lambda: w.apps() == alive,
                   'turn %d (%s): exactly the programs %s to be registered' % (turn, ' '.join(done), sorted(alive)))
            check(
                w.session('all')['active'], 'turn %d (%s): the session is not active', turn, ' '.join(done))
            w('enable-event', '-s', 'all', 'test:*')      # all have confirmed when it returns
            for program in actions.programs:
                program('emit 3')
        for program in actions.programs:
            program.end()
        w.finish('all', lost=0)


@limit(30)
def application_start_waits_a_limited_time_for_the_daemon(case):
    """An application starts while its daemon is stopped, or is killed during the registration."""
    with World(case) as w:
        w.begin('any')
        for how in (signal.SIGSTOP, signal.SIGKILL):
            pid = w.sessiond()
            os.kill(pid, signal.SIGSTOP)
            begun = time.monotonic()
            child = w.run([case.program('procs'), 'leaf', '3'], env={'WAYMARK_REGISTER_TIMEOUT': '1000'})
            if how == signal.SIGKILL:
                os.kill(pid, signal.SIGKILL)
            w.wait_end(child)
            check(time.monotonic() - begun < 1 + SLACK_S, 'the program ended after %.1f s', time.monotonic() - begun)
            os.kill(pid, signal.SIGCONT) if how == signal.SIGSTOP else None
        w.start_daemon()
        w('destroy', 'any')


def concurrent_commands_start_one_daemon(case):
    """Concurrent commands start one daemon."""
    with World(case, daemon=False) as w:
        children = [w.run([os.environ.get('WMK_WAYMARK', 'waymark'), 'create', 's%d' % i]) for i in range(8)]
        for child in children:
            w.wait_end(child)
        # a daemon that lost the race may still be ending
        w.wait(lambda: len([name for name in w.daemons().values() if name.startswith('waymark-sess')]) == 1,
               'one daemon to be left')
        check(len(w('list', '--json').json['sessions']) == 8, 'sessions are missing: %s', w('list').out)


def socket_activated_daemon_takes_over_from_the_running_one(case):
    """
    A socket of systemd appears while a daemon runs that a command has started. The first command on the socket moves
    everything to the activated daemon.
    """
    with World(case) as w:
        program = w.scripted()
        w.begin('one', 'test:*')
        program('emit 10')
        before, path = w.sessiond(), os.path.join(w.rundir, 'ctl.sock')
        os.unlink(path)                  # as systemd does
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(path)
        listener.listen(16)
        child = os.fork()
        if child == 0:
            try:
                os.setsid()
                os.dup2(listener.fileno(), 3)
                os.set_inheritable(3, True)
                os.execve(SESSIOND, [SESSIOND],
                          dict(w.env, LISTEN_PID=str(os.getpid()), LISTEN_FDS='1', LISTEN_FDNAMES='ctl'))
            finally:
                os._exit(1)
        try:
            check(w.session('one')['active'], 'the session is not active')
            check(w.sessiond() == child and before != child, 'wrong daemons: %s', w.daemons())
            check(
                os.path.exists(path) and os.path.exists(os.path.join(w.rundir, 'app.sock')), 'sockets are missing: %s',
                os.listdir(w.rundir))
            w.wait_apps([program.pid])
            program('emit 10')
            check([len(n) for n in w.finish('one', lost=0)[2].values()] == [20], 'records are missing')
            program.end()
        finally:
            os.kill(child, signal.SIGTERM)
            check(os.waitpid(child, 0)[1] == 0, 'the activated daemon ended with an error')
            listener.close()


def recording_continues_in_directory_that_is_not_utf8(case):
    """
    The path of a trace need not be UTF-8. The trace continues after both daemons are killed, and `list` prints valid
    JSON. Names that are not UTF-8 are rejected.
    """
    def odd(text):
        return os.fsdecode(text.encode('latin-1'))

    with World(case) as w:
        top, program = case.path(odd('s\xfc\xdf')), w.scripted()
        path = os.path.join(top, *[odd('\xfc' * 200)] * 8)
        shown = ''.join('\ufffd' if '\udc80' <= c <= '\udcff' else c for c in path)
        w('create', 'one', '-o', path, '--json')
        w('enable-event', '-s', 'one', 'test:*')
        w('start', 'one', '--json')
        program('emit 5')
        check(w.session('one')['path'] == shown, 'list shows another path: %s', w.session('one'))
        w('save', 'one').prints('not utf-8')
        for how in (['create', odd('\xfcber')], ['enable-channel', '-s', 'one',
                                                 odd('\xfcber')], ['enable-event', '-s', 'one',
                                                                   odd('a:\xfc*')],
                    ['enable-event', '-s', 'one', 'a:*', '--exclude',
                     odd('a:\xfc')], ['enable-event', '-s', 'one', 'a:*', '--exec',
                                      odd('\xfc')]):
            w(*how, '--json', status=1).prints('UTF-8')
        pids = [w.sessiond(), w.consumerd()]
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        w.wait(lambda: w.sessiond() not in pids and w.consumerd() not in pids, 'both daemons to end')
        check(w.session('one')['active'], 'the session is not active: %s', w.session('one'))
        w.wait_apps([program.pid])
        program('emit 5')
        session = w.stop('one')
        check(session['counts']['lost'] == 0, 'records are lost: %s', session['counts'])
        w('destroy', 'one', '--json')
        check(not os.path.exists(case.path('s\ufffd\ufffd')), 'a directory with replaced characters was created')
        os.rename(path, case.path('plain'))
        check_sequences(Trace(case.path('plain')), case.ledger)
        # an executable with such a name, and one with a name that is too long for a session and is cut within a
        # character
        for name in (odd('m\xfcller'), 'x' + 50 * '\xfc'):
            os.symlink(case.program('procs'), case.path(name))
            summary = w('record', '--json', '-o', case.path('of%d' % len(name)), '--', case.path(name), 'leaf',
                        '3').json
            check(summary['session'] and summary['records'] >= 3, 'wrong summary: %s', summary)
        program.end()


def start_in_unfinished_trace(w, name, *left):
    """
    Start a session in a trace directory that holds `left`, [(name, content)], already. Returns the directory of the
    metadata.
    """
    w('create', name)
    w('enable-event', '-s', name, 'test:*')
    place = os.path.join(w.session(name)['path'], 'ust', 'uid', str(os.getuid()), '64-bit')
    os.makedirs(os.path.join(place, 'index'), mode=0o700)
    for file, content in left:
        with open(os.path.join(place, file), 'w') as f:
            f.write(content)
    w('start', name, status=None)        # this creates the trace; with root's daemon the first application does
    return place


def next_daemon_completes_an_unfinished_trace(case):
    """
    A daemon was killed while it created a trace. The next daemon completes the trace, but does not touch one with a
    stream.
    """
    torn = '/* CTF 1.8 */\ntypealias integer { size = 8; al'
    with World(case) as w:
        start_in_unfinished_trace(w, 'empty', ('metadata', ''))
        start_in_unfinished_trace(w, 'torn', ('metadata', torn), ('.metadata.new', 'trace {'))
        used = start_in_unfinished_trace(w, 'used', ('metadata', torn), ('app_0', 'packets'))
        program = w.scripted()
        program('emit 3')
        program.end()
        for name in ('empty', 'torn'):
            w.finish(name, lost=0)
        check(
            w.session('used')['counts']['records'] == 0, 'records were written to a trace with a stream: %s',
            w.session('used'))
        check((slurp(os.path.join(used, 'metadata')), slurp(os.path.join(used, 'app_0'))) == (torn, 'packets'),
              'the trace with a stream was changed')
        w('destroy', 'used')


if __name__ == '__main__':
    print('# any order with seed %d' % SEED)
    main([
        restarted_daemon_reconnects_to_its_applications, application_start_waits_a_limited_time_for_the_daemon,
        concurrent_commands_start_one_daemon, socket_activated_daemon_takes_over_from_the_running_one,
        recording_continues_in_directory_that_is_not_utf8, next_daemon_completes_an_unfinished_trace
    ])
