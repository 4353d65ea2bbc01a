#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`waymark view` without an argument shows the trace of the current session or the latest trace."""
import contextlib
import json
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from control import Control  # noqa: E402
from harness import VIEW, WAYMARK, awaited, check, finished, main, slurp, wait_for  # noqa: E402

NOTE = 'showing the latest trace: '


@contextlib.contextmanager
def daemon_of_the_home(case):
    control = Control(case)
    try:
        yield control
    finally:
        control.close()


def recorded(case, control, name, number):
    """Record with `waymark record`. Returns the path of the trace."""
    path = case.path(name)
    control('record', '-o', path, '--', case.program('procs'), 'leaf', number)
    return path


def prints_trace(control, path, has_note, *options):
    """
    Check that `waymark view` shows the trace in `path`, with the note about the latest trace or without any message.
    """
    done = control('view', *options)
    check(done.out and done.out == control('view', *options, path).out, '%s is not shown: %s', path,
          done.err + done.out[-500:])
    check(done.err == ('waymark: %s%s\n' % (NOTE, path) if has_note else ''), '%s: wrong message: %s', path, done.err)


def session(case, control, name, number):
    """Record with a session that becomes the current one. Returns the path of its trace."""
    control('create', name)
    control('enable-event', 'test:*')
    control('start')
    control.shell('%s leaf %d' % (case.program('procs'), number), control.home)
    return control('stop', '--json').json['sessions'][0]['path']


def state(control, name):
    return os.path.join(control.home, '.waymark', name)


def default_trace_of_view_is_the_last_recorded_one(case):
    """Text and JSON, another reader, and paths that are relative or hold arbitrary bytes. No daemon is started."""
    with daemon_of_the_home(case) as control:
        control('view', status=1).prints('no trace given', 'waymark create')
        prints_trace(control, recorded(case, control, 'one', 3), True)
        prints_trace(control, recorded(case, control, 'two', 4), True, '--json')
        control.shell('cd %s; waymark record -o here -- %s leaf 5' % (case.directory, case.program('procs')),
                      control.home)
        prints_trace(control, case.path('here'), True)
        check(os.stat(state(control, 'trace')).st_mode & 0o777 == 0o600, '~/.waymark/trace is open to others')
        check(os.stat(state(control, '')).st_mode & 0o777 == 0o700, '~/.waymark is open to others')
        # a command that leaves no trace changes nothing
        control('record', '-o', case.path('none'), '--', '/nowhere/program', status=1)
        prints_trace(control, case.path('here'), True)
        odd = recorded(case, control, 'a\n\n\x1b[7m "b"\\ \n', 6)
        done = control('view', '-e', 'echo', '--', '-n')
        check(done.out == odd, 'the path is %r', done.out)
        check(done.err.count('\n') == 1 and '\x1b' not in done.err, 'control characters are not escaped: %r', done.err)
        no_utf8 = os.fsencode(case.path('bytes')) + b'\xff\xc3'
        for argv in (['record', '-o', no_utf8, '--', case.program('procs'), 'leaf', '7'], ['view'], ['view', no_utf8]):
            done = finished([WAYMARK, *argv], env=control.env, stdin=subprocess.DEVNULL, capture_output=True)
            check(done.returncode == 0 and (argv[0] == 'record' or b'test:seq' in done.stdout), '%s: %s', argv,
                  done.stderr)
        with open(state(control, 'trace'), 'rb') as f:
            check(f.read() == no_utf8 + b'\n', '~/.waymark/trace does not hold the path')
        check(not control.daemons(), 'a daemon was started')


def default_trace_of_view_is_the_destroyed_session(case):
    """
    The latest trace is that of the destroyed session; if several are destroyed, that of the current one. A session
    without a trace changes nothing.
    """
    with daemon_of_the_home(case) as control:
        path = session(case, control, 'one', 3)
        prints_trace(control, path, False)
        control('destroy', '--json')
        prints_trace(control, path, True)
        for current in range(4):     # the current session is one of three with a trace, then one without
            paths = [session(case, control, name, 4 + n) for n, name in enumerate(('a', 'b', 'c'))]
            control('create', 'd')
            control('set-session', 'abcd'[current])
            control('destroy', '--all')
            done = control('view')
            check(done.err in ['waymark: %s%s\n' % (NOTE, path) for path in paths[current:current + 1] or paths],
                  'wrong message: %s', done.err)
        second = session(case, control, 'second', 9)
        control('destroy')
        control('create', 'nothing')
        control('destroy')
        prints_trace(control, second, True)
        control('record', '-o', case.path('through'), '--', case.program('procs'), 'leaf', 6)
        check(control.daemons(), 'no daemon runs')
        prints_trace(control, case.path('through'), True)


def default_trace_is_the_later_of_record_and_session(case):
    """A `record` is later than an existing session, until a command changes that session again."""
    with daemon_of_the_home(case) as control:
        path = session(case, control, 'old', 3)
        traces = []
        for again in (['start'], ['stop'], ['set-session', 'old'], ['start', 'old']):
            traces.append(recorded(case, control, 'r%d' % len(traces), 4 + len(traces)))
            prints_trace(control, traces[-1], True)
            control(*again)
            prints_trace(control, path, False)
        # a command on another session does not make the current one later
        session(case, control, 'other', 20)
        control('set-session', 'old')
        traces.append(recorded(case, control, 'last', 30))
        for command in ('start', 'stop'):
            control(command, 'other')
            prints_trace(control, traces[-1], True)
        # a session without records has nothing to show
        control('create', 'new')
        prints_trace(control, traces[-1], True)
        control('view', 'new', status=1).prints('no trace yet in')
        control('view', 'nev', status=1).prints('no such trace or session', 'not a directory', "no session 'nev'",
                                                'new')
        # a removed trace cannot be shown
        control('set-session', 'old')
        shutil.rmtree(traces[-1])
        prints_trace(control, path, False)
        gone = recorded(case, control, 'gone', 31)
        shutil.rmtree(gone)
        done = control('view').prints(gone, 'no longer exists')
        check(done.out == control('view', path).out, 'the session is not shown')
        # the session ended without a command of this user
        kept = recorded(case, control, 'kept', 32)
        with open(state(control, 'session'), 'w') as f:
            f.write('nosuch\n')
        os.rename(state(control, 'trace'), state(control, 'trace-before'))
        done = control('view').prints('nosuch', NOTE + kept)
        check(done.out == control('view', kept).out, 'the latest trace is not shown')


def follow_selects_the_active_session(case):
    """--follow shows a session that records; without one it shows the latest trace and ends."""
    with daemon_of_the_home(case) as control:
        control('create', 'live')
        control('enable-channel', 'small', '--subbuf-size', '4k')
        control('enable-event', 'test:*', '-c', 'small')
        control('start')
        control.shell('%s count 1 1000 0' % case.program('busy'), control.home)
        recorded(case, control, 'last', 3)
        with open(case.path('shown'), 'w') as out, open(case.path('said'), 'w') as err:
            child = subprocess.Popen([WAYMARK, *VIEW, '--follow'], env=control.env, stdin=subprocess.DEVNULL,
                                     stdout=out, stderr=err, start_new_session=True)
        try:
            wait_for(lambda: os.path.getsize(case.path('shown')), 'records of the session')
            control('stop')
            check(awaited(child) == 0, 'status %d: %s', child.returncode, slurp(case.path('said')))
        finally:
            child.kill()
            child.wait()
        check(NOTE not in slurp(case.path('said')), 'the latest trace was followed: %s', slurp(case.path('said')))
        for name in ('stopped', 'destroyed'):
            path = recorded(case, control, name, 4)
            done = control(*VIEW, '--follow').prints(NOTE + path)
            check(done.out == control(*VIEW, path).out, 'wrong output: %s', done.out[-500:])
            control('destroy', '--all')


def invalid_last_trace_file_is_ignored(case):
    """
    An invalid or too long path, a link and other types of file are ignored with a warning. `record` replaces them and
    follows no link.
    """
    with daemon_of_the_home(case) as control:
        good = recorded(case, control, 'good', 3)
        place, victim = state(control, 'trace'), case.path('victim')
        with open(place, 'rb') as f:
            whole = f.read()
        for text in (b'', b'\n', b'relative\n', whole[:-1], b'/tmp\0' + whole, whole + b'\0\n', b'/' * 4096 + b'\n',
                     b'/' + b'x' * 1000000 + b'\n'):
            with open(place, 'wb') as f:
                f.write(text)
            done = control('view', status=1).prints('does not hold the path of a directory', 'no trace given')
            check(not done.out, 'records are shown: %s', done.out[-300:])
        with open(place, 'wb') as f:
            f.write(b'/' * 3000 + whole)
        check(control('view').out == control('view', good).out, 'a long path is not shown')
        with open(victim, 'wb') as f:
            f.write(whole)
        for make in (lambda: os.symlink(victim, place), lambda: os.mkfifo(place), lambda: os.mkdir(place)):
            os.rename(place, case.path('moved')) if not os.path.isdir(place) else os.rmdir(place)
            make()
            control('view', status=1).prints('cannot find the latest trace')
            control('record', '-o', case.path('r'), '--', case.program('procs'), 'status', 5, status=5)
            shutil.rmtree(case.path('r'))
        with open(victim, 'rb') as f:
            check(f.read() == whole, 'a link was followed')
        os.rmdir(place)
        check(os.listdir(state(control, '')) == [], 'files are left: %s', os.listdir(state(control, '')))
        # other users may write to the directory
        os.chmod(state(control, ''), 0o777)
        control('record', '-o', case.path('r'), '--', case.program('procs'), 'status', 5, status=5)
        check(os.listdir(state(control, '')) == [], 'a file was written there')
        control('view', status=1).prints('others may write')


def unwritable_home_directory_fails_no_command(case):
    """Status and output of the command stay the same."""
    def record(control, home, before=()):
        place = case.path('trace')
        env = {k: v for k, v in control.env.items() if k != 'HOME'}
        done = finished([*before, WAYMARK, 'record', '--json', '-o', place, '--',
                         case.program('procs'), 'status', '3'], stdin=subprocess.DEVNULL,
                        env=dict(env, HOME=home) if home is not None else env, capture_output=True, text=True)
        shutil.rmtree(place)
        return done.returncode, sorted(json.loads(done.stdout)), done.stderr

    with daemon_of_the_home(case) as control:
        wanted = record(control, control.home)
        check(wanted[0] == 3 and 'path' in wanted[1] and not wanted[2], 'with a home: %s', wanted)
        check(os.path.exists(state(control, 'trace')), '~/.waymark/trace is not written')
        with open(case.path('file'), 'w'):
            pass
        for home in ('/proc', '/nowhere/at/all', 'relative', case.path('file')):
            check(record(control, home) == wanted, 'with HOME=%s: %s', home, record(control, home))
        if os.geteuid() == 0:
            home = case.path('other')
            os.mkdir(home)
            read_only = [
                'unshare', '-m', '--propagation', 'private', 'sh', '-ec',
                'mount --bind "$HOME" "$HOME"; mount -o remount,bind,ro "$HOME"; exec "$@"', 'sh'
            ]
            check(
                record(control, home, read_only) == wanted and not os.listdir(home),
                'with a home that is read only: %s', record(control, home, read_only))
            # another user's home: root creates no file there
            os.chown(home, 65534, 65534)
            check(
                record(control, home) == wanted and not os.listdir(home), 'with another user\'s home: %s',
                os.listdir(home))


if __name__ == '__main__':
    main([
        default_trace_of_view_is_the_last_recorded_one, default_trace_of_view_is_the_destroyed_session,
        default_trace_is_the_later_of_record_and_session, follow_selects_the_active_session,
        invalid_last_trace_file_is_ignored, unwritable_home_directory_fails_no_command
    ])
