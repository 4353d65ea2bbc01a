#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Users cannot see, control or disturb each other's sessions. The cases run as root and act as other users."""
import contextlib
import glob
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
import hostile  # noqa: E402
from control import Answer  # noqa: E402
from daemon import SANITIZED, World, numbers_of  # noqa: E402
from groups import tracing_group  # noqa: E402
from harness import PERCENT, PROGRAMS, WAYMARK, Skip, check, finished, limit, main, slurp  # noqa: E402
from hostile import ALICE, BOB, as_user, refused  # noqa: E402
from users import created_user, join_group, log_in, open_to_all  # noqa: E402


@contextlib.contextmanager
def world_of_root(case, **more):
    with open_to_all(case), World(case, **more) as w:
        os.chmod(w.place, 0o755)
        yield w


def command(w, user, *argv, groups=(), status=0):
    """Run a command of another user on root's daemon."""
    home = w.case.path('alice' if user == ALICE else 'bob')
    argv = [WAYMARK, '-n', *map(str, argv)]
    done = finished(argv, env=dict(w.env, HOME=home, WAYMARK_HOME=home), capture_output=True, text=True,
                    stdin=subprocess.DEVNULL, user=user.pw_uid, group=user.pw_gid, extra_groups=list(groups))
    answer = Answer(argv, done.returncode, done.stdout, done.stderr)
    return answer if status is None else answer.ok(status)


def check_modes(path, uid):
    """Check that the owner alone can access the trace."""
    for top, directories, files in os.walk(path):
        for name in ['.'] + directories + files:
            st = os.lstat(os.path.join(top, name))
            wanted = 0o700 if stat.S_ISDIR(st.st_mode) else 0o600
            check(stat.S_IMODE(st.st_mode) == wanted, '%s/%s has mode %o', top, name, st.st_mode)
            check(st.st_uid == uid, '%s/%s belongs to %d, not to %d', top, name, st.st_uid, uid)


def names(answer):
    return sorted(s['name'] for s in answer.json['sessions'])


def daemon_of_root_records_all_users(case):
    """Each user has separate rings; root owns the files."""
    with world_of_root(case) as w:
        w.begin('all')
        programs = [w.scripted(user=user) for user in (ALICE, BOB, None)]
        for program in programs:
            program('emit 10')
        for program in programs:
            program.end()
        stopped, _, numbers = w.finish('all', lost=0)
        check(sorted(map(len, numbers.values())) == [10] * 3, 'wrong records: %s', numbers)
        check_modes(stopped['path'], 0)
        there = sorted(os.listdir(os.path.join(stopped['path'], 'ust', 'uid')))
        check(there == ['0', str(ALICE.pw_uid), str(BOB.pw_uid)], 'wrong users with a trace: %s', there)


def unprivileged_user_is_rejected(case):
    """A user outside the group cannot connect to root's daemon."""
    with world_of_root(case) as w:
        w.begin('roots')
        for verb in (['list'], ['create', 'x'], ['stop', 'roots'], ['destroy', '--all'], ['list', '-u']):
            command(w, ALICE, *verb, status=1).prints('permission|may not|refuse|tracing')
        check(names(w('list', '--json')) == ['roots'], 'wrong sessions of root: %s', names(w('list', '--json')))
        check(w.session('roots')['active'], 'root\'s session was stopped')
        for name in ('ctl.sock', 'sessiond.pid', 'state', 'consumer.sock'):
            if os.path.exists(os.path.join(w.rundir, name)):
                st = os.stat(os.path.join(w.rundir, name))
                check(not st.st_mode & 0o007, '%s is open to everybody: %o', name, st.st_mode)
        w('destroy', 'roots')


def group_members_control_their_own_sessions(case):
    """
    Members of the group record all applications in their own sessions, which are written with their rights. They see no
    other sessions.
    """
    group = tracing_group()
    with world_of_root(case) as w:
        w.begin('roots')
        program = w.scripted(user=BOB)
        member = {'groups': [group]}
        command(w, ALICE, 'create', 'alices', **member)
        command(w, ALICE, 'enable-event', '-s', 'alices', 'test:*', **member)
        command(w, ALICE, 'start', 'alices', **member)
        w.wait_apps([program.pid])
        program('emit 10')
        check(names(command(w, ALICE, 'list', '--json', **member)) == ['alices'], 'alice sees sessions of others')
        check(names(command(w, BOB, 'list', '--json', **member)) == [], 'the user sees sessions of others')
        def enabled(answer):
            return {e['name'] for a in answer.json['apps'] for e in a['events'] if e['enabled']}

        check('seq' in enabled(command(w, ALICE, 'list', '-u', '--json', **member)),
              'alice does not see the events of her session')
        check(not enabled(command(w, BOB, 'list', '-u', '--json', **member)), 'bob sees events of other sessions')
        for verb in ('stop', 'start', 'clear', 'destroy', 'list'):
            for session in ('roots', 'alices'):
                command(w, BOB, verb, session, status=1, **member).prints('no session|not there|there is no')
        command(w, BOB, 'enable-event', '-s', 'alices', 'other:*', status=1, **member)
        command(w, BOB, 'track', '-s', 'alices', '--uid', '1', status=1, **member)
        for verb in ('stop', 'destroy'):
            command(w, BOB, verb, '--all', **member)
        check(names(w('list', '--json')) == ['alices', 'roots'], 'wrong sessions: %s', names(w('list', '--json')))
        check(all(s['active'] for s in w('list', '--json').json['sessions']), 'a session of another user was stopped')
        stopped = command(w, ALICE, 'stop', 'alices', '--json', **member).json['sessions'][0]
        check(stopped['path'].startswith(case.path('alice')), 'alice\'s trace is in %s', stopped['path'])
        command(w, ALICE, 'destroy', 'alices', **member)
        check_modes(stopped['path'], ALICE.pw_uid)
        program('emit 5')
        program.end()
        _, _, numbers = w.finish('roots', lost=0)
        check(list(map(len, numbers.values())) == [15], 'wrong records of root\'s session: %s', numbers)


def forced_load_replaces_only_own_sessions(case):
    """
    `load --force` replaces only a session of the same owner, also if root runs it. Another user's session of the same
    name is kept.
    """
    member = {'groups': [tracing_group()]}
    with world_of_root(case) as w:
        program = w.scripted(user=BOB)
        for verb in (['create', 'same'], ['enable-event', '-s', 'same', 'test:*'], ['start', 'same']):
            command(w, ALICE, *verb, **member)
        w.wait_apps([program.pid])
        program('emit 10')
        w('create', 'same')
        w('enable-event', '-s', 'same', 'roots:*')
        w('save', 'same')
        w('destroy', 'same')
        for turn in range(2):
            w('load', 'same', '--force')
            roots, alices = w.session('same'), command(w, ALICE, 'list', 'same', '--json', **member).json['sessions'][0]
            check(alices['uid'] == ALICE.pw_uid and alices['active'], 'alice\'s session after %d loads: %s', turn + 1,
                  alices)
            check(roots['uid'] == 0 and [r['pattern'] for r in roots['channels'][0]['rules']] == ['roots:*'],
                  'wrong session of root: %s', roots)
            w('enable-event', '-s', 'same', 'more:*')        # removed when the session is replaced
        # If the load is rejected for another reason, no session is destroyed.
        os.mkdir(case.path('taken'))
        with open(os.path.join(case.path('taken'), 'photo'), 'w'):
            pass
        w('load', 'same', '--force', '--override-output', case.path('taken'), status=1).prints('not empty')
        check(
            len(w.session('same')['channels'][0]['rules']) == 2, 'root\'s session was replaced: %s',
            w.session('same'))
        program('emit 5')
        program.end()
        stopped = command(w, ALICE, 'stop', 'same', '--json', **member).json['sessions'][0]
        command(w, ALICE, 'destroy', 'same', **member)
        check(stopped['counts']['records'] >= 15, 'alice\'s session lacks records: %s', stopped['counts'])


def shared_output_directory_is_rejected(case):
    """
    An output directory that another session uses is rejected. The message names that session only to a user that may
    see it.
    """
    member = {'groups': [tracing_group()]}
    with world_of_root(case) as w:
        shared = case.path('shared')
        os.mkdir(shared)
        os.chmod(shared, 0o1777)
        place = os.path.join(shared, 'trace')
        command(w, ALICE, 'create', 'alices', '-o', place, **member)
        command(w, ALICE, 'create', 'second', '-o', shared + '//./trace/', status=1,
                **member).prints("session 'alices'")
        w('create', 'roots', '-o', place, status=1).prints("session 'alices' of user %d" % ALICE.pw_uid)
        said = command(w, BOB, 'create', 'own', '-o', place, status=1, **member).prints("a session of another user")
        check("session 'alices'" not in said.err, 'the message names the session of another user: %s', said.err)
        command(w, ALICE, 'destroy', 'alices', **member)
        command(w, BOB, 'create', 'own', '-o', place, **member)
        w('create', 'one', '-o', case.path('one'))
        w('save', 'one')
        w('load', 'one', '--override-name', 'two', status=1).prints("session 'one'", '--override-output')
        w('load', 'one', '--override-name', 'two', '--default-output')
        command(w, BOB, 'destroy', 'own', **member)


def daemon_of_a_user_serves_that_user_only(case):
    """A user's daemon records only applications of that user. Root may control it."""
    with open_to_all(case), World(case, 'alices', user=ALICE) as w:
        check(os.stat('/proc/%d' % w.sessiond()).st_uid == ALICE.pw_uid, 'the daemon has another user')
        w.begin('alices')
        own, bobs, roots = w.scripted(), w.scripted(user=BOB), w.scripted(user=hostile.Who(0, 0))
        w.wait_apps([own.pid])
        for program in (own, bobs, roots):
            program('emit 10')
        check(w.apps() == {own.pid}, 'alice\'s daemon has the applications %s, not only %d', w.apps(), own.pid)
        for name in os.listdir(w.rundir):
            said = as_user(BOB, refused, os.listdir, w.rundir), as_user(BOB, refused, open,
                                                                        os.path.join(w.rundir, name))
            check(said == ('True', 'True'), 'bob can read %s', name)
        check(
            as_user(BOB, refused, hostile.connect, os.path.join(w.rundir, 'app.sock')) == 'True',
            'the user can connect')
        for program in (own, bobs, roots):
            program.end()
        stopped, trace = w.end('alices', lost=0)
        check(
            list(map(len,
                     numbers_of(trace).values())) == [10], 'wrong records in alice\'s trace: %s', numbers_of(trace))
        check_modes(stopped['path'], ALICE.pw_uid)


def runtime_directory_of_another_user_is_rejected(case):
    """
    Without /run/user the runtime directory is in /tmp. If another user owns it, or if it is a link, it is rejected with
    a message.
    """
    place = '/tmp/waymark-%d' % ALICE.pw_uid
    if os.path.lexists(place) or os.path.exists('/run/user/%d' % ALICE.pw_uid):
        raise Skip('%s exists' % place)
    with open_to_all(case):
        env = {k: v for k, v in case.env.items() if k != 'WAYMARK_RUNDIR'}
        env.update(HOME=case.path('alice'), WAYMARK_SESSIOND=os.environ.get('WMK_SESSIOND', ''),
                   WAYMARK_REGISTER_TIMEOUT='1000')
        os.mkdir(case.path('trap'), 0o777)
        os.chown(case.path('trap'), *ALICE)
        for make in (lambda: (os.mkdir(place, 0o777), os.chown(place, *BOB), os.chmod(place, 0o777)),
                     lambda: os.symlink(case.path('trap'), place)):
            make()
            try:
                # Root's daemon may run on this machine. It rejects the user, so the user's own directory is tried next.
                done = finished([WAYMARK, 'create', 'x'], env=env, capture_output=True, text=True, user=ALICE.pw_uid,
                                group=ALICE.pw_gid, extra_groups=[])
                check(done.returncode == 1 and place in done.stderr, 'status %d: %s', done.returncode, done.stderr)
                check(not os.listdir(case.path('trap')), 'files were created behind the link: %s',
                      os.listdir(case.path('trap')))
                finished([os.path.join(PROGRAMS, 'procs'), 'leaf', '3'], env=env, check=True, user=ALICE.pw_uid,
                         group=ALICE.pw_gid, extra_groups=[])
            finally:
                os.unlink(place) if os.path.islink(place) else shutil.rmtree(place)


def notify_fifo_of_another_user_is_ignored(case):
    """
    Another user cannot change root's FIFO. An application does not open a FIFO that others own or can write to, and
    starts nevertheless.
    """
    def has_open(program, path):
        """Does a thread have `path` open? The helper thread has its own descriptor table."""
        for fd in glob.glob('/proc/%d/task/*/fd/*' % program.pid):
            with contextlib.suppress(OSError):       # closed meanwhile
                if os.readlink(fd) == path:
                    return True
        return False

    with world_of_root(case) as w:
        fifo = os.path.join(w.rundir, 'notify')
        st = os.stat(fifo)
        check(st.st_uid == 0 and st.st_mode == stat.S_IFIFO | 0o644, 'root\'s FIFO has mode %o', st.st_mode)
        for act in ((os.open, fifo, os.O_WRONLY | os.O_NONBLOCK), (open, os.path.join(w.rundir, 'hints'), 'r+'),
                    (os.unlink, fifo), (os.rename, fifo, fifo + '2'), (open, os.path.join(w.rundir, 'new'), 'w')):
            check(as_user(BOB, refused, *act) == 'True', 'another user can %s', act)
        for owner, mode in ((BOB, 0o644), (BOB, 0o666), (ALICE, 0o666), (ALICE, 0o644)):
            place = tempfile.mkdtemp(prefix='wmk-', dir='/tmp')
            try:
                os.chown(place, *owner)
                os.chmod(place, 0o777)
                fifo = os.path.join(place, 'notify')
                os.mkfifo(fifo)
                os.chown(fifo, *owner)
                os.chmod(fifo, mode)
                program = w.scripted(user=ALICE, env={'WAYMARK_RUNDIR': place})
                program('rest 100')          # the helper thread has tried to open it
                is_good = (owner, mode) == (ALICE, 0o644)
                w.wait(lambda: has_open(program, fifo) or not is_good, 'the FIFO to be open')
                check(
                    has_open(program, fifo) == is_good, 'the FIFO of user %d with mode %o: wrong result', owner.pw_uid,
                    mode)
                program('emit 1')
                program.end()
            finally:
                shutil.rmtree(place)


def links_in_output_paths_are_not_followed(case):
    """
    Traces are written with the owner's rights. Links to places without these rights, and links as the last component,
    are not followed.
    """
    group = tracing_group()
    with world_of_root(case) as w:
        secret = case.path('secret')
        os.mkdir(secret, 0o700)
        home, member = case.path('alice'), {'groups': [group]}
        os.symlink(secret, os.path.join(home, 'way'))
        os.mkdir(os.path.join(home, 'other'))
        os.chown(os.path.join(home, 'other'), *ALICE)
        os.symlink(os.path.join(home, 'other'), os.path.join(home, 'last'))
        program = w.scripted(user=ALICE)

        def attempt(name, path, between=lambda: None):
            """Run all commands of a recording, whatever their status."""
            command(w, ALICE, 'create', name, '-o', path, status=None, **member)
            between()
            command(w, ALICE, 'enable-event', '-s', name, 'test:*', status=None, **member)
            command(w, ALICE, 'start', name, status=None, **member)
            program('emit 5')
            command(w, ALICE, 'stop', name, status=None, **member)
            command(w, ALICE, 'destroy', name, status=None, **member)
            check(os.listdir(secret) == [], '%s: files were created in root\'s directory: %s', name, os.listdir(secret))
            check(os.listdir(os.path.join(home, 'other')) == [], '%s: a link as the last component was followed', name)

        attempt('direct', os.path.join(secret, 'trace'))
        attempt('way', os.path.join(home, 'way', 'trace'))
        attempt('last', os.path.join(home, 'last'))
        late = os.path.join(home, 'late')

        def replace(with_what):
            if os.path.isdir(late) and not os.path.islink(late):
                shutil.rmtree(late)
            if not os.path.lexists(late):
                os.symlink(with_what, late)
        attempt('late', late, lambda: replace(secret))
        # A part of the trace is replaced by a link while the session records.
        command(w, ALICE, 'create', 'part', '-o', os.path.join(home, 'part'), **member)
        command(w, ALICE, 'enable-channel', '-s', 'part', 'c', '--buffers-pid', **member)
        command(w, ALICE, 'enable-event', '-s', 'part', '-c', 'c', 'test:*', **member)
        command(w, ALICE, 'start', 'part', **member)
        program('emit 5')
        for name in ('ust/pid', 'ust'):
            path = os.path.join(home, 'part', name)
            if os.path.isdir(path):
                os.rename(path, path + '.old')
            os.makedirs(os.path.dirname(path), exist_ok=True)
            if not os.path.lexists(path):
                os.symlink(secret, path)
            second = w.scripted(user=BOB)        # a new user: this application gets a trace directory
            second('emit 5')
            second.end()
        command(w, ALICE, 'stop', 'part', status=None, **member)
        command(w, ALICE, 'destroy', 'part', status=None, **member)
        check(os.listdir(secret) == [], 'files were created behind a link: %s', os.listdir(secret))
        program.end()


def resident_kb(pid):
    return int(re.search(r'^VmRSS:\s+(\d+)', slurp('/proc/%d/status' % pid), re.M).group(1))


def open_files(pid):
    return len(os.listdir('/proc/%d/fd' % pid))


def all_attacks(case, path):
    random, megabytes = case.random, 400 if PERCENT >= 100 else 40
    hostile.bytes_of_any_kind(path, random, 30)
    hostile.frames_too_long(path)
    held = hostile.frames_that_do_not_end(path)
    one, _ = hostile.endless_messages(path, megabytes)
    hostile.lying_registrations(path, random)
    hostile.descriptors_that_lie(path)
    for s in held + [one]:
        s.close()
    return 'done'


@limit(60)
def hostile_registrations_disturb_no_recording(case):
    """
    Another user attacks the socket of applications. An application records on, commands are answered, and no resources
    leak.
    """
    with world_of_root(case) as w:
        w.begin('calm')
        program = w.scripted(user=ALICE)
        program('threads 1')
        first = w.scripted(user=BOB)         # creates the rings of this user
        first('emit 10')
        first.end()
        pid, files, kept = w.sessiond(), open_files(w.sessiond()), resident_kb(w.sessiond())
        as_user(BOB, all_attacks, case, os.path.join(w.rundir, 'app.sock'))
        w('enable-event', '-s', 'calm', 'other:*')
        program('emit 10')
        fresh = w.scripted(user=BOB)
        fresh('emit 10')
        check(w.sessiond() == pid, 'the session daemon has crashed')
        fresh.end()
        w.wait(lambda: open_files(pid) <= files + 2,
               'descriptors to be closed: %d, before %d' % (open_files(pid), files))
        if not SANITIZED:
            check(resident_kb(pid) < kept + 100000, 'the daemon has grown from %d to %d kB', kept, resident_kb(pid))
        shown = w('list', '-u').out
        check('\x1b' not in shown, 'control characters in the name of an application are not escaped: %r', shown)
        program.kill()
        w.finish('calm', killed=True, lost=0)


@limit(60)
def account_outside_the_group_has_no_access(case):
    """
    A regular account, used through a login. Without the group it cannot access anything of root's daemon, whatever it
    sends. With the group, from its next login on, it has its own sessions but cannot see root's.
    """
    with open_to_all(case), created_user(case, 'wmkmallory') as mallory:
        with World(case) as w:
            os.chmod(w.place, 0o755)
            w.begin('roots')
            program = w.scripted(user=ALICE)
            pid, files = w.sessiond(), open_files(w.sessiond())

            def say(*argv, status):
                argv = [WAYMARK, '-n', *argv]
                done = log_in(w, mallory, *argv)
                return Answer(argv, done.returncode, done.stdout, done.stderr).ok(status)

            user = log_in(w, mallory, 'id', '-u').stdout.strip()
            check(user == str(mallory.pw_uid) and user not in ('', '0'), 'the login has user %s, not %d', user,
                  mallory.pw_uid)
            for verb in (['list'], ['create', 'own'], ['stop', 'roots'], ['destroy', '--all'], ['list', '-u']):
                say(*verb, status=1).prints('permission|may not|refuse|tracing')
            trace = w.session('roots')['path']
            for path in (trace, os.path.join(w.rundir, 'state'), os.path.join(w.rundir, 'sessiond.pid'),
                         os.path.join(w.rundir, 'consumer.sock')):
                got = log_in(w, mallory, 'ls' if os.path.isdir(path) else 'cat', path)
                check(got.returncode != 0 and not got.stdout, 'the user can read %s: %s', path, got.stdout)
            for signalled in (pid, w.consumerd(), program.pid):
                check(
                    log_in(w, mallory, 'kill', '-9', str(signalled)).returncode != 0, 'the user killed process %d',
                    signalled)
            own_groups = os.getgrouplist(mallory.pw_name, mallory.pw_gid)
            as_user(mallory, all_attacks, case, os.path.join(w.rundir, 'app.sock'), groups=own_groups)
            check(
                as_user(mallory, refused, hostile.connect, os.path.join(w.rundir, 'ctl.sock'),
                        groups=own_groups) == 'True', 'the user can connect')
            program('emit 10')
            check(w.sessiond() == pid and names(w('list', '--json')) == ['roots'], 'wrong sessions: %s',
                  names(w('list', '--json')))
            w.wait(lambda: open_files(pid) <= files + 2,
                   'descriptors to be closed: %d, before %d' % (open_files(pid), files))
            program.end()
            _, _, numbers = w.finish('roots', lost=0)
            check(list(map(len, numbers.values())) == [10], 'wrong records of root\'s session: %s', numbers)
        join_group(mallory.pw_name, 'tracing')
        with World(case, 'member') as w:         # a daemon looks up the group when it starts
            os.chmod(w.place, 0o755)
            w.begin('roots')
            say('create', 'own', status=0)
            check(names(say('list', '--json', status=0)) == ['own'], 'the user sees sessions of others')
            for verb in ('stop', 'clear', 'destroy'):
                say(verb, 'roots', status=1).prints('no session|not there|there is no')
            say('destroy', '--all', status=0)
            check(w.session('roots')['active'], 'the user stopped root\'s session')
            w('destroy', 'roots')


def connections_of_one_user_are_limited(case):
    """
    Another user's connections beyond its quota are rejected with the name of the limit. Root's application registers
    after them.
    """
    with world_of_root(case, limits='programs = 64\nuser-programs = 2\n') as w:
        w.begin('all')
        with hostile.acting_as(BOB):
            held = [hostile.connect(os.path.join(w.rundir, 'app.sock')) for _ in range(8)]
        answers = []
        for s in held:
            hostile.send(s, hostile.hello(b'bob'))
            answers.append(hostile.answer(s))
        kinds = [kind for kind, _ in answers]
        check(kinds.count(hostile.WELCOME) == 2 and kinds.count(hostile.REFUSED) == 6, 'wrong answers: %s', kinds)
        words = [body for kind, body in answers if kind == hostile.REFUSED][0]
        check(b'the limit of one user is 2' in words and b'"user-programs" is set in' in words, 'wrong message: %s',
              words)
        program = w.scripted()
        program('emit 10')
        program.end()
        for s in held:
            s.close()
        _, _, numbers = w.finish('all', lost=0)
        check(list(map(len, numbers.values())) == [10], 'wrong records: %s', numbers)


@limit(60)
def hostile_commands_disturb_no_recording(case):
    """A member of the group runs the same attacks on the socket of commands."""
    group = tracing_group()
    with world_of_root(case) as w:
        w.begin('calm')
        pid, files = w.sessiond(), open_files(w.sessiond())
        path = os.path.join(w.rundir, 'ctl.sock')

        def attack():
            all_attacks(case, path)
            held = [hostile.connect(path) for _ in range(200)]
            for s in held:
                hostile.send(s, hostile.frame(0x110, struct_nothing))
            time.sleep(0.1)
            return held and 'done'
        struct_nothing = bytes(4)
        as_user(BOB, attack, groups=[group])
        command(w, ALICE, 'list', groups=[group])
        check(w.sessiond() == pid and w.session('calm')['active'], 'the session daemon has crashed')
        w.wait(lambda: open_files(pid) <= files + 2,
               'descriptors to be closed: %d, before %d' % (open_files(pid), files))
        w('destroy', 'calm')


@limit(120)
def thousands_of_connections_disturb_no_recording(case):
    """
    Another user opens thousands of connections at once. An application registers and records, and commands are
    answered.
    """
    count = 10000 if PERCENT >= 100 else 1000
    # Each connection takes two descriptors, which is more than the limit.
    with world_of_root(case, files=count * 2) as w:
        w.begin('calm')
        first = w.scripted(user=ALICE)       # creates the rings of this user
        first('emit 10')
        first.end()
        pid = w.sessiond()
        files = open_files(pid)
        path = os.path.join(w.rundir, 'app.sock')
        go = case.path('go')

        def flood():
            there, release = hostile.connections(path, count)
            with open(os.path.join(case.path('bob'), 'there'), 'w') as f:
                f.write(str(there))
            os.rename(f.name, f.name + '.done')
            deadline = time.monotonic() + 200
            while not os.path.exists(go) and time.monotonic() < deadline:
                time.sleep(0.02)
            release()
            return there

        child = os.fork()
        if child == 0:
            status = 1
            with contextlib.suppress(BaseException):
                as_user(BOB, flood, seconds=300)
                status = 0
            os._exit(status)
        try:
            w.wait(lambda: os.path.exists(case.path('bob/there.done')), '%d connections' % count)
            there = int(slurp(case.path('bob/there.done')))
            check(there == count, 'only %d connections were made', there)
            program = w.scripted(user=ALICE)
            program('emit 10')
            w('enable-event', '-s', 'calm', 'other:*')
            program.end()
        finally:
            with open(go, 'w'):
                pass
            _, status = os.waitpid(child, 0)
        check(status == 0, 'the flood ended with status %d', status)
        check(w.sessiond() == pid, 'the session daemon has crashed')
        w.wait(lambda: open_files(pid) <= files + 2,
               'descriptors to be closed: %d, before %d' % (open_files(pid), files))
        _, _, numbers = w.finish('calm', lost=0)
        check(list(map(len, numbers.values())) == [10, 10], 'wrong records: %s', numbers)


if __name__ == '__main__':
    main([
        daemon_of_root_records_all_users, unprivileged_user_is_rejected, group_members_control_their_own_sessions,
        forced_load_replaces_only_own_sessions, shared_output_directory_is_rejected,
        daemon_of_a_user_serves_that_user_only, runtime_directory_of_another_user_is_rejected,
        notify_fifo_of_another_user_is_ignored, links_in_output_paths_are_not_followed,
        hostile_registrations_disturb_no_recording, account_outside_the_group_has_no_access,
        connections_of_one_user_are_limited, hostile_commands_disturb_no_recording,
        thousands_of_connections_disturb_no_recording
    ])
