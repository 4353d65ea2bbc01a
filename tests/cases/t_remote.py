#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`waymark --host HOST COMMAND`, over a real sshd on the loopback interface, has the result of COMMAND itself."""
import contextlib
import getpass
import glob
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from daemon import World, state  # noqa: E402
from harness import PERCENT, WAYMARK, check, finished, limit, main, need, wait_for  # noqa: E402


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


def accepts(port):
    with socket.socket() as s:
        return s.connect_ex(('127.0.0.1', port)) == 0


@contextlib.contextmanager
def sshd(case, w, shared=False):
    """
    An sshd of this user; commands run through it have the environment of the World. `shared`: all commands use one
    connection, which is faster. Yields the program to execute instead of ssh.
    """
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
                           'ControlPath %s/shared' % folder, 'StrictHostKeyChecking no',
                           'UserKnownHostsFile %s/known' % folder, 'LogLevel ERROR']) + '\n')
    wrapper = os.path.join(folder, 'ssh')
    with open(wrapper, 'w') as f:
        f.write('#!/bin/sh\nexec ssh -F %s/config "$@"\n' % folder)
    os.chmod(wrapper, 0o755)
    server = w.run(['/usr/sbin/sshd', '-D', '-e', '-f', os.path.join(folder, 'sshd_config')], stderr=subprocess.DEVNULL)
    wait_for(lambda: accepts(port), 'sshd to accept connections')
    if shared:
        connection = w.run([wrapper, '-M', '-N', 'machine'])
        wait_for(lambda: os.path.exists(os.path.join(folder, 'shared')), 'the shared connection')
    yield wrapper
    if shared:
        connection.terminate()
        w.wait_end(connection, status=None)
    server.terminate()
    w.wait_end(server, status=None)


def over_ssh(w, ssh, *argv):
    """(status, output, errors) of the command with --host."""
    done = finished([WAYMARK, '--host', 'machine', *map(str, argv)], env=dict(w.env, WAYMARK_SSH=ssh),
                    capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout, done.stderr


def both(w, ssh, *argv, status=0, same=True):
    """Run the command locally and by --host, and compare the outputs. Returns the output of the remote command."""
    ended, out, err = over_ssh(w, ssh, *argv)
    check(ended == status, '%s ended with %d: %s', argv, ended, err)
    if same:
        local = w(*argv, status=status)
        check(out == local.out and err == local.err, '%s\nremote: %s%s\nlocal: %s%s', argv, out, err, local.out,
              local.err)
    return out


def remote_commands_have_the_effect_of_local_commands(case):
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


# Commands that change nothing: run twice in one World, they print the same.
READING = ('list', 'status', 'view', 'analyze', 'query', 'version')


def commands_with_json(w):
    """The commands of `waymark help` that have --json."""
    names = re.findall(r'^  ([a-z][a-z-]*)  ', w('help').out, re.M)
    check(len(names) > 30, 'help lists %s', names)
    return {name for name in names if re.search(r'^ +--json\b', w('help', name).out, re.M)}


def steps(case, w):
    """Command lines for all commands with --json, in order, without --json; a callable is an action between them."""
    trace, rings = os.path.join(w.place, 'trace'), os.path.join(w.place, 'rings')
    saved, pem = os.path.join(w.place, 'saved.json'), os.path.join(w.place, 'web1.pem')
    app = w.scripted()

    yield ['version']
    yield ['create', 'far', '-o', trace, '--description', 'it is "far"']
    yield ['set-session', 'far']
    yield ['enable-channel', '-s', 'far', 'c', '--subbuf-size', '64k']
    yield ['enable-event', '-s', 'far', '-c', 'c', 'test:*', '--filter', 'seq > 0']
    yield ['disable-event', '-s', 'far', '-c', 'c', 'test:*']
    yield ['enable-event', '-s', 'far', '-c', 'c', 'test:*']
    yield ['add-context', '-s', 'far', '-c', 'c', 'vpid']
    yield ['track', '-s', 'far', '--userspace', '--uid=%d' % os.getuid()]
    yield ['untrack', '-s', 'far', '--userspace', '--uid=%d' % os.getuid()]
    yield ['track', '-s', 'far', '--userspace', '--uid', '--all']
    yield ['enable-rotation', 'far', '--timer=1h']
    yield ['disable-rotation', 'far']
    yield ['start', 'far']
    app('emit 20')
    yield ['clear', 'far']
    app('emit 20')
    yield ['regenerate', 'metadata', '-s', 'far']
    yield ['reclaim-memory', '-s', 'far']
    yield ['top', 'far', '--batch', '-n', '1', '-d', '0.1']
    yield ['disable-channel', '-s', 'far', 'c']
    yield ['rotate', 'far']
    yield ['stop', 'far']
    yield ['list']
    yield ['list', 'far']
    yield ['list', '--userspace', '--fields']
    yield ['list', 'absent']
    yield ['status']
    yield ['save', 'far', '--output-path', saved]
    yield ['destroy', 'far']
    yield ['load', 'far', '--input-path', saved, '--override-name', 'near']
    chunk, = glob.glob(os.path.join(trace, 'archives', '*'))
    yield ['view', chunk]
    yield ['analyze', 'events', chunk]
    yield ['query', 'SELECT name, count(*) FROM events GROUP BY name', chunk]
    yield ['compress', chunk]
    yield ['create', 'recorder', '--snapshot', '-o', os.path.join(w.place, 'snapshots')]
    yield ['enable-event', '-s', 'recorder', 'test:*']
    yield ['start', 'recorder']
    app('emit 20')
    yield ['snapshot', 'record', '-s', 'recorder']
    yield ['record', '-o', os.path.join(w.place, 'recorded'), '--', case.program('busy'), 'count', '1', '10', '1']
    yield ['strace', '-o', os.path.join(w.place, 'calls'), '--', 'true']
    if PERCENT >= 100:                               # it measures for seconds
        yield ['calibrate']
    yield ['relay', 'init']
    yield ['relay', 'enroll', 'web1', pem]
    yield ['relay', 'status']
    yield ['relay', 'revoke', 'web1']
    yield ['create', 'crashed', '--shm-path', rings, '-o', os.path.join(w.place, 'rescued')]
    yield ['enable-event', '-s', 'crashed', 'test:*']
    yield ['start', 'crashed']
    app('emit 20')
    w.remember_rings()
    app.kill()
    for pid in (w.sessiond(), w.consumerd()):
        os.kill(pid, signal.SIGKILL)
    w.wait(lambda: not [pid for pid in w.daemons() if state(pid) not in ('Z', None)], 'the daemons to end')
    yield ['recover', rings]


def all_steps(case, w):
    """The steps, then each command with --json that has no step, without arguments: usually an error of usage."""
    seen = set() if PERCENT >= 100 else {'calibrate'}
    for step in steps(case, w):
        seen.add(step[0])
        yield step
    yield from ([name] for name in sorted(commands_with_json(w) - seen))


def shape(w, command, text):
    """The text without numbers, times and places of this World; of figures that depend on the time, the names."""
    if command in ('top', 'analyze'):
        return sorted(json.loads(text)) if text else text
    text = text.replace(w.place, 'PLACE').replace(w.home, 'HOME')
    return re.sub(r'-?\d+(\.\d+)?(e[+-]\d+)?', '0', re.sub(r'[0-9a-f]{8}-[0-9a-f-]{27}', 'UUID', text))


def results(case, name, remote):
    """[(command line, its status and the shape of its output)] of all steps, in a World of its own."""
    with World(case, name) as w:
        w.env['WAYMARK_RELAY_DIR'] = os.path.join(w.place, 'certificates')
        with sshd(case, w, shared=True) if remote else contextlib.nullcontext() as ssh:
            found = []
            for argv in all_steps(case, w):
                argv = argv[:1] + ['--json'] + argv[1:]
                if not remote:
                    done = w(*argv, status=None)
                    status, out, err = done.status, done.out, done.err
                else:
                    status, out, err = over_ssh(w, ssh, *argv)
                if remote and argv[0] in READING:
                    local = w(*argv, status=None)
                    check((status, out, err) == (local.status, local.out, local.err), '%s\nremote: %s%s\nlocal: %s%s',
                          argv, out, err, local.out, local.err)
                found.append((shape(w, '', ' '.join(argv)), status, shape(w, argv[0], out), shape(w, '', err)))
        return found


@limit(120)
def json_output_of_remote_commands_equals_local_output(case):
    """Each command of `waymark help` with --json, in the same order in two Worlds: through ssh, and locally."""
    remote, local = results(case, 'far', True), results(case, 'near', False)
    check(len(remote) == len(local), '%d remote results, %d local ones', len(remote), len(local))
    for there, here in zip(remote, local):
        check(there == here, 'remote: %s\nlocal: %s', there, here)
    fails = ('list --json absent', 'strace')
    failed = [line for line, status, *_ in local if status and not line.endswith('--json') and
              not line.startswith(fails)]
    check(not failed, 'commands failed: %s', failed)


def unreachable_hosts_are_reported(case):
    with World(case, daemon=False) as w:
        w('--host', '-oProxyCommand=false', 'list', status=2).prints('is not a host')
        w('--host', status=2).prints('needs a value')
        w.env['WAYMARK_SSH'] = case.path('absent')
        w('--host', 'machine', 'list', status=2).prints('is not installed')


if __name__ == '__main__':
    main([remote_commands_have_the_effect_of_local_commands, json_output_of_remote_commands_equals_local_output,
          unreachable_hosts_are_reported])
