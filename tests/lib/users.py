# SPDX-License-Identifier: MIT
"""For cases with programs and daemons of other users. Needs root, which can become any user."""
import contextlib
import os
import pwd
import subprocess
import tempfile

from harness import check, finished, need, need_other_users
from hostile import ALICE, BOB
from mounts import copy_of
from traces import Ledger


@contextlib.contextmanager
def open_to_all(case):
    """Until the block ends, the case's directory and ledger are in a place that other users can access."""
    need_other_users()
    kept, kept_ledger, kept_env = case.directory, case.ledger, dict(case.env)
    with tempfile.TemporaryDirectory(prefix='wmk-users-', dir='/tmp') as directory:
        os.chmod(directory, 0o755)
        case.directory = directory
        case.ledger = Ledger(case.path('ledger'))
        os.chmod(case.ledger.path, 0o666)
        case.env['WMK_TEST_LEDGER'] = case.ledger.path
        for who, name in ((ALICE, 'alice'), (BOB, 'bob')):
            os.mkdir(case.path(name), 0o700)
            os.chown(case.path(name), *who)
        try:
            yield
        finally:
            case.directory, case.ledger, case.env = kept, kept_ledger, kept_env


def _run(*argv):
    done = subprocess.run(argv, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    check(done.returncode == 0, '`%s` ended with status %d: %s', ' '.join(argv), done.returncode, done.stderr.strip())


@contextlib.contextmanager
def created_user(case, name):
    """
    Create an account with a home and a group by useradd, and yield its entry of the user database; useradd chooses the
    uid. This process and its children see a copy of /etc, so the account does not outlive them.
    """
    need_other_users()
    need('useradd', 'usermod', 'groupadd', 'su')
    etc = case.path('etc')
    os.mkdir(etc)
    with copy_of('/etc', etc):
        _run('useradd', '--system', '--user-group', '--create-home', '--home-dir', case.path('home-' + name), '--shell',
             '/bin/sh', name)
        yield pwd.getpwnam(name)


def join_group(name, group):
    """Add the user to the group, from the next login on; create the group if it does not exist."""
    _run('groupadd', '--system', '--force', group)
    _run('usermod', '--append', '--groups', group, name)


def log_in(w, user, *argv, timeout=120):
    """
    Run a command as at a login of the user: with the groups of the database and a fresh environment. Only the variables
    that select the daemon of `w` are kept.
    """
    keep = {k: v for k, v in w.env.items() if k.startswith(('WAYMARK_', 'WMK_', 'PATH', 'LD_')) and k != 'WAYMARK_HOME'}
    return finished(
        ['su', '--preserve-environment', '--shell', '/bin/sh', user.pw_name, '-c', 'exec "$0" "$@"', '--', *argv],
        env=dict(keep, HOME=user.pw_dir, USER=user.pw_name), capture_output=True, text=True, timeout=timeout,
        stdin=subprocess.DEVNULL, start_new_session=True)
