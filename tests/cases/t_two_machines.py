#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
The section "Two machines in five minutes" of the README, as typed. Each machine is a network namespace with its own
host name, /run, /etc/hosts and home; a pair of virtual network devices connects them. Needs root.
"""
import contextlib
import os
import re
import select
import signal
import socket
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from control import SESSIOND  # noqa: E402
from harness import (WAIT_S, WAYMARK, Skip, awaited, check, finished, limit, main, need,  # noqa: E402
                     need_other_users, slurp, stuck)
from hostile import ALICE  # noqa: E402
from processes import marked  # noqa: E402
from waits import wait_for  # noqa: E402

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..')
BUILD = os.path.abspath(os.environ.get('WMK_BUILD', 'build'))
RELAYD = os.path.join(os.path.dirname(SESSIOND), 'waymark-relayd')
ADDRESSES = {'relay': '10.99.0.1', 'web1': '10.99.0.2'}

LISTENS = 'import socket; socket.create_connection((%r, 5850), 5)' % ADDRESSES['relay']

# `scp MACHINE:FILE TO`: both homes are directories of this machine.
SCP = '''#!/bin/sh
exec cp "{place}/${{1%%:*}}/${{1#*:}}" "$2"
'''


def become_machine(name, hosts, uid, gid):
    """In new namespaces: set the host name, /run and /etc/hosts, then wait until standard input is closed."""
    socket.sethostname(name)
    run_user = '/run/user/' + uid
    subprocess.run(['mount', '-t', 'tmpfs', 'none', '/run'], check=True)
    os.makedirs(run_user)
    os.chown(run_user, int(uid), int(gid))
    os.chmod(run_user, 0o700)
    subprocess.run(['mount', '--bind', hosts, '/etc/hosts'], check=True)
    subprocess.run(['ip', 'link', 'set', 'lo', 'up'], check=True)
    print('ready', flush=True)
    sys.stdin.read()


def run(*argv):
    done = finished(argv, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return done.returncode == 0, done.stderr


class Machine:
    """Namespaces, and a shell of the user ALICE in them."""

    def __init__(self, place, name):
        self.name, self.home = name, os.path.join(place, name)
        os.mkdir(self.home, 0o700)
        os.chown(self.home, *ALICE)
        hosts = os.path.join(place, name + '.hosts')
        with open(hosts, 'w') as f:
            f.writelines('%s %s\n' % (address, host) for host, address in
                         [('localhost', '127.0.0.1'), *ADDRESSES.items()])
        os.chmod(hosts, 0o644)
        self.shell, self.mark = None, 'WMK_MACHINE=' + self.home      # in the environment of its processes
        self.holder = subprocess.Popen(['unshare', '--net', '--uts', '--mount', '--propagation', 'private',
                                        sys.executable, __file__, 'machine', name, hosts, *map(str, ALICE)],
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if self.holder.stdout.readline() != 'ready\n':
            words = self.holder.stderr.read()
            self.close()
            raise Skip('no namespaces: %s' % words.strip().splitlines()[-1:])

    def inside(self, *argv):
        return ['nsenter', '-t', str(self.holder.pid), '--net', '--uts', '--mount', *argv]

    def begin_shell(self, place):
        env = {'HOME': self.home, 'PATH': os.path.join(place, 'bin') + ':/usr/bin:/bin',
               'WMK_MACHINE': self.home, 'XDG_RUNTIME_DIR': '/run/user/%d' % ALICE[0]}
        uid, gid = map(str, ALICE)
        self.shell = subprocess.Popen(self.inside('--wd=' + self.home, '-S', uid, '-G', gid, 'sh'), env=env, text=True,
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def type(self, line):
        """Type a line. Returns what it printed, as far as it has printed when it ends."""
        self.shell.stdin.write(line + '\necho "<$?>"\n')
        self.shell.stdin.flush()
        printed = ''
        while not (end := re.search(r'^<(\d+)>\n', printed, re.M)):
            if not select.select([self.shell.stdout], [], [], WAIT_S)[0]:
                stuck('%s$ %s did not end: %s' % (self.name, line, printed))
            part = os.read(self.shell.stdout.fileno(), 65536).decode()
            check(part, '%s$ %s: the shell has ended: %s', self.name, line, printed)
            printed += part
        check(end.group(1) == '0', '%s$ %s: status %s: %s', self.name, line, end.group(1), printed)
        return printed[:end.start()]

    def close(self):
        if self.shell:
            self.shell.stdin.close()
            for pid in marked(self.mark):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGTERM)
            awaited(self.shell)
            self.shell.stdout.close()
            wait_for(lambda: not marked(self.mark), 'the processes of %s to end' % self.name)
        self.holder.stdin.close()
        awaited(self.holder)
        self.holder.stdout.close()
        self.holder.stderr.close()


def connect(machines):
    """A pair of network devices, one in each machine."""
    ends = [(machine, 'wmk%d%s' % (os.getpid() % 1000000, side)) for machine, side in zip(machines, 'ab')]
    done, words = run('ip', 'link', 'add', ends[0][1], 'netns', str(machines[0].holder.pid), 'type', 'veth', 'peer',
                      ends[1][1], 'netns', str(machines[1].holder.pid))
    if not done:
        raise Skip('no pair of network devices: %s' % words.strip())
    for machine, device in ends:
        for command in (['address', 'add', ADDRESSES[machine.name] + '/24', 'dev', device],
                        ['link', 'set', device, 'up']):
            done, words = run(*machine.inside('ip', *command))
            check(done, '%s: ip %s: %s', machine.name, command, words)


def lines_of_the_readme():
    """(machine, command line) of the section."""
    section = re.search(r'^## Two machines in five minutes\n(.*?)^## ', slurp(os.path.join(TOP, 'README.md')),
                        re.M | re.S)
    check(section, 'the README has no section "Two machines in five minutes"')
    lines = re.findall(r'^(\w+)\$ (.*)$', section.group(1), re.M)
    check(len(lines) >= 7 and {machine for machine, _ in lines} == set(ADDRESSES), 'the README has: %s', lines)
    return [(machine, re.sub(r'\s+#.*', '', line)) for machine, line in lines]


def programs(place):
    """The programs of the README, where a user of both machines finds them."""
    os.mkdir(os.path.join(place, 'bin'), 0o755)
    for name, target in (('waymark', WAYMARK), ('waymark-sessiond', SESSIOND), ('waymark-relayd', RELAYD)):
        os.symlink(os.path.abspath(target), os.path.join(place, 'bin', name))
    scp = os.path.join(place, 'bin', 'scp')
    with open(scp, 'w') as f:
        f.write(SCP.format(place=place))
    os.chmod(scp, 0o755)
    shop = os.path.join(BUILD, 'examples', 'shop')
    os.symlink(shop, os.path.join(place, 'web1', 'shop'))
    for path in (WAYMARK, RELAYD, shop):
        if finished(['setpriv', '--reuid', str(ALICE[0]), '--regid', str(ALICE[1]), '--clear-groups', 'test', '-x',
                     path], stdin=subprocess.DEVNULL).returncode:
            raise Skip('another user cannot reach the programs of this build')


@limit(60)
def readme_commands_send_a_trace_to_another_machine(case):
    need_other_users()
    need('ip', 'unshare', 'nsenter', 'mount', 'setpriv')
    with tempfile.TemporaryDirectory(prefix='wmk-machines-', dir='/tmp') as place:
        os.chmod(place, 0o755)
        machines = {}
        try:
            for name in ADDRESSES:
                machines[name] = Machine(place, name)
            programs(place)
            connect(list(machines.values()))
            for machine in machines.values():
                machine.begin_shell(place)
                check(machine.type('uname -n') == machine.name + '\n', '%s has another host name', machine.name)
            check_lines(machines)
        finally:
            for machine in machines.values():
                machine.close()


def check_lines(machines):
    printed, spools = {}, os.path.join(machines['web1'].home, '.local/state/waymark/spool')
    for name, line in lines_of_the_readme():
        if line.startswith('waymark view'):
            wait_for(lambda: not os.listdir(spools), 'the relay to have the trace')
        printed[line.split()[1] if line.startswith('waymark ') else line.split()[0]] = machines[name].type(line)
        if line.startswith('waymark-relayd'):
            probe = machines['web1'].inside(sys.executable, '-c', LISTENS)
            wait_for(lambda: finished(probe, stdin=subprocess.DEVNULL).returncode == 0, 'the relay to listen')
    pem = os.path.join(machines['web1'].home, '.config/waymark/relay.pem')
    check(os.stat(pem).st_mode & 0o777 == 0o600, 'the key has mode %o', os.stat(pem).st_mode)
    recorded = re.search(r'(\d+) records?, 0 lost', printed['record'])
    check(recorded, 'record printed: %s', printed['record'])
    events = printed['view'].splitlines()
    check(sum('shop:payment' in line for line in events) >= 5, 'view printed: %s', printed['view'][-1000:])
    shown = machines['relay'].type('waymark view --json traces/web1/*').splitlines()
    check(len(shown) == int(recorded.group(1)), '%s records at the relay, %s recorded', len(shown), recorded.group(1))


if __name__ == '__main__':
    if sys.argv[1:2] == ['machine']:
        become_machine(*sys.argv[2:])
        sys.exit()
    main([readme_commands_send_a_trace_to_another_machine])
