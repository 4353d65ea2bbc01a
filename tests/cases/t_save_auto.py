#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`waymark save --auto`: sessions that the session daemon loads and starts before it reports that it is ready."""
import contextlib
import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from control import SESSIOND  # noqa: E402
from daemon import World  # noqa: E402
from harness import WAYMARK, check, communicated, limit, main  # noqa: E402


@contextlib.contextmanager
def world(case):
    with World(case) as w:
        w.saved = os.path.join(w.home, 'etc', 'sessions')
        w.env['WAYMARK_SESSIONS'] = w.saved
        yield w


def restart(w):
    """
    End all daemons, and start the session daemon as systemd does. Returns the daemon after it has reported readiness.
    """
    for name in 'waymark-session', 'waymark-consume':
        w.end_daemons(name, signal.SIGTERM)
    subprocess.run(['rm', '-rf', os.path.join(w.rundir, 'state')], check=True)
    read, write = os.pipe()
    daemon = subprocess.Popen([SESSIOND], env=dict(w.env, WAYMARK_READY_FD=str(write)), pass_fds=[write],
                              stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    os.close(write)
    with os.fdopen(read) as ready:
        text = ready.read()
    check(text == '+', 'the session daemon reports: %s', text)
    return daemon


def log_of(daemon):
    daemon.send_signal(signal.SIGTERM)
    return communicated(daemon)[1]


@limit(120)
def saved_session_records_after_a_restart(case):
    """The session exists and records when the daemon reports readiness. The first record of a program is in it."""
    with world(case) as w:
        w('create', 'boot', '--description', 'kept')
        w('enable-channel', '-s', 'boot', 'wide', '--subbuf-size=64k')
        w('enable-event', '-s', 'boot', '-c', 'wide', 'test:*')
        w('save', '--auto', 'boot').prints('saved ' + os.path.join(w.saved, 'boot.json'), 'starts')
        w('save', '--auto', 'boot', status=1).prints('--force')
        w('save', '--auto', '--force', 'boot')
        w('destroy', 'boot')
        paths = []
        for _ in range(2):
            daemon = restart(w)
            session = w.session('boot')
            check(session['active'] and session['description'] == 'kept', 'the session is %s', session)
            subprocess.run([case.program('busy'), 'count', '1', '5'], env=w.env, check=True)
            done = w.stop('boot')
            check(done['path'] not in paths, 'two starts write into %s', done['path'])
            paths.append(done['path'])
            w('destroy', 'boot')
            log = log_of(daemon)
            check('session boot is loaded and started' in log, 'log: %s', log)
        for path in paths:
            lines = subprocess.run([WAYMARK, 'view', path], env=w.env, capture_output=True, text=True).stdout
            check(lines.count('test:seq') == 5, '%s has: %s', path, lines)


@limit(120)
def damaged_saved_session_does_not_prevent_loading_of_others(case):
    """A file that cannot be loaded is reported in words. A session of an earlier daemon is kept."""
    with world(case) as w:
        for name in 'first', 'last':
            w('create', name)
            w('enable-event', '-s', name, 'test:*')
            w('save', '--auto', name)
            w('destroy', name)
        with open(os.path.join(w.saved, 'first.json')) as f:
            sound = f.read()
        files = {
            'broken': sound[:len(sound) // 2],
            'empty': '',
            'other': sound.replace('"version": ', '"version": 99'),
            'name': sound.replace('"first"', '"a/b"')
        }
        for name, text in files.items():
            with open(os.path.join(w.saved, name + '.json'), 'w') as f:
                f.write(text)
        os.mkdir(os.path.join(w.saved, 'folder.json'))
        daemon = restart(w)
        names = sorted(s['name'] for s in w('list', '--json').json['sessions'])
        check(names == ['first', 'last'], 'the sessions are %s', names)
        w('stop', 'last')
        daemon.send_signal(signal.SIGKILL)
        log = communicated(daemon)[1]
        for name in [*files, 'folder']:
            check('cannot load the saved session %s/%s.json: ' % (w.saved, name) in log, '%s is not in: %s', name, log)
        again = subprocess.Popen([SESSIOND], env=w.env, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        w.wait(lambda: w.sessiond(), 'the next session daemon')
        check(not w.session('last')['active'] and w.session('first')['active'], 'restored sessions changed')
        for name in names:
            w('destroy', name)
        log_of(again)


if __name__ == '__main__':
    main([saved_session_records_after_a_restart, damaged_saved_session_does_not_prevent_loading_of_others])
