#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`waymark --host HOST COMMAND`, over a real sshd on the loopback interface, has the result of COMMAND itself."""
import contextlib
import getpass
import os
import shutil
import socket
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from daemon import World  # noqa: E402
from harness import WAYMARK, check, finished, main, need, wait_for  # noqa: E402


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


def accepts(port):
    with socket.socket() as s:
        return s.connect_ex(('127.0.0.1', port)) == 0


@contextlib.contextmanager
def sshd(case, w):
    """An sshd of this user; commands run through it have the environment of the World. Yields its configuration."""
    need('/usr/sbin/sshd', 'ssh', 'ssh-keygen')
    folder, port = os.path.join(w.place, 'ssh'), free_port()
    os.mkdir(folder, 0o700)
    if os.getuid() == 0:
        os.makedirs('/run/sshd', mode=0o755, exist_ok=True)      # sshd of root changes its root to this empty directory
    for key in ('host', 'user'):
        subprocess.run(['ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-f', os.path.join(folder, key)], check=True)
    shutil.copy(os.path.join(folder, 'user.pub'), os.path.join(folder, 'authorized'))
    remote = dict({name: w.env[name] for name in w.env if name.startswith('WAYMARK')}, HOME=w.home, PATH=w.env['PATH'])
    with open(os.path.join(folder, 'sshd_config'), 'w') as f:
        f.write('\n'.join(['ListenAddress 127.0.0.1', 'Port %d' % port, 'HostKey %s/host' % folder, 'UsePAM no',
                           'AuthorizedKeysFile %s/authorized' % folder, 'StrictModes no', 'PermitRootLogin yes',
                           'PasswordAuthentication no', 'PidFile none',
                           'SetEnv ' + ' '.join('"%s=%s"' % item for item in remote.items())]) + '\n')
    with open(os.path.join(folder, 'config'), 'w') as f:
        f.write('\n'.join(['Host machine', 'HostName 127.0.0.1', 'Port %d' % port, 'User ' + getpass.getuser(),
                           'IdentityFile %s/user' % folder, 'IdentitiesOnly yes', 'BatchMode yes',
                           'StrictHostKeyChecking no', 'UserKnownHostsFile %s/known' % folder,
                           'LogLevel ERROR']) + '\n')
    wrapper = os.path.join(folder, 'ssh')
    with open(wrapper, 'w') as f:
        f.write('#!/bin/sh\nexec ssh -F %s/config "$@"\n' % folder)
    os.chmod(wrapper, 0o755)
    server = w.run(['/usr/sbin/sshd', '-D', '-e', '-f', os.path.join(folder, 'sshd_config')], stderr=subprocess.DEVNULL)
    wait_for(lambda: accepts(port), 'sshd to accept connections')
    yield wrapper
    server.terminate()
    w.wait_end(server, status=None)


def both(w, ssh, *argv, status=0, same=True):
    """Run the command locally and by --host, and compare the outputs. Returns the output of the remote command."""
    remote = finished([WAYMARK, '--host', 'machine', *map(str, argv)], env=dict(w.env, WAYMARK_SSH=ssh),
                      capture_output=True, text=True, stdin=subprocess.DEVNULL)
    check(remote.returncode == status, '%s ended with %d: %s', argv, remote.returncode, remote.stderr)
    if same:
        local = w(*argv, status=status)
        check(remote.stdout == local.out and remote.stderr == local.err, '%s\nremote: %s%s\nlocal: %s%s', argv,
              remote.stdout, remote.stderr, local.out, local.err)
    return remote.stdout


def remote_commands_are_the_same_as_local_ones(case):
    with World(case) as w, sshd(case, w) as ssh:
        odd = "it's $HOME \"q\" `x` \\ * ;"
        both(w, ssh, 'create', 'far', '--description', odd, '-o', os.path.join(w.place, 'trace'), '--json', same=False)
        check(w('list', 'far', '--json').json['sessions'][0]['description'] == odd, 'the description has changed')
        w('enable-channel', '-s', 'far', 'c')
        w('enable-event', '-s', 'far', '-c', 'c', 'test:*')
        both(w, ssh, 'start', 'far', same=False)
        app = w.scripted()
        app('emit 20')
        both(w, ssh, 'stop', 'far', same=False)
        app.end()
        for argv in (['list', '--json'], ['list', 'far', '--json'], ['list', 'far'], ['status'], ['version', '--json'],
                     ['list', '--userspace', '--json'], ['help', 'record'], ['add-context', '--list'],
                     ['view', '--style=babeltrace', os.path.join(w.place, 'trace')],
                     ['view', '--json', os.path.join(w.place, 'trace')]):
            check(both(w, ssh, *argv), '%s prints nothing', argv)
        both(w, ssh, 'list', 'absent', '--json', status=1)
        both(w, ssh, 'create', '--shorter', status=2)
        both(w, ssh, 'nonsense', status=2)
        both(w, ssh, 'destroy', 'far', same=False)
        check(not w('list', '--json').json['sessions'], 'the session exists')


def unreachable_hosts_are_reported(case):
    with World(case, daemon=False) as w:
        w('--host', '-oProxyCommand=false', 'list', status=2).prints('is not a host')
        w('--host', status=2).prints('needs a value')
        w.env['WAYMARK_SSH'] = case.path('absent')
        w('--host', 'machine', 'list', status=2).prints('is not installed')


if __name__ == '__main__':
    main([remote_commands_are_the_same_as_local_ones, unreachable_hosts_are_reported])
