#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Check the units, tmpfiles.d and sysusers.d files with the tools of systemd, as they are installed. Skips checks for
which this machine has no tool.

usage: check_units.py DAEMON SERVICE ROOT.SOCKET USER.SOCKET TMPFILES SYSUSERS RELAY RELAY.SERVICE EARLY.SERVICE
EARLY.SOCKET
"""
import os
import shutil
import stat
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'tests', 'lib'))
from waits import finished  # noqa: E402


def run(argv, wanted_silent=True):
    done = finished(argv, 60, capture_output=True, text=True)
    if done.returncode or (wanted_silent and done.stderr.strip()):
        sys.exit('%s: status %d\n%s%s' % (' '.join(argv), done.returncode, done.stdout, done.stderr))


def write_unit(service, units, name, daemon):
    """The unit as installed, with the daemon of the build."""
    with open(service, encoding='utf-8') as f:
        text = f.read()
    line = next(l for l in text.splitlines() if l.startswith('ExecStart='))
    argv = line.split('=', 1)[1].split()
    argv[0] = os.path.abspath(daemon)
    with open(os.path.join(units, name), 'w', encoding='utf-8') as f:
        f.write(text.replace(line, 'ExecStart=' + ' '.join(argv)))


def main(daemon, service, root_socket, user_socket, tmpfiles, sysusers, relay, relay_service, *early):
    if not shutil.which('systemd-analyze'):
        print('skipped: systemd-analyze is not installed')
        sys.exit(77)
    for socket, manager, drop_ins in (root_socket, '--system', ()), (user_socket, '--user', ()), (root_socket,
                                                                                                 '--system', early):
        with tempfile.TemporaryDirectory() as units:
            write_unit(service, units, 'waymark-sessiond.service', daemon)
            write_unit(relay_service, units, 'waymark-relayd.service', relay)
            shutil.copy(socket, os.path.join(units, 'waymark-sessiond.socket'))
            for drop_in, kind in zip(drop_ins, ('service', 'socket')):
                folder = os.path.join(units, 'waymark-sessiond.%s.d' % kind)
                os.mkdir(folder)
                shutil.copy(drop_in, os.path.join(folder, 'early-boot.conf'))
            os.environ['XDG_RUNTIME_DIR'] = units
            os.environ['SYSTEMD_UNIT_PATH'] = units + ':'
            run(['systemd-analyze', manager, '--man=no', 'verify', os.path.join(units, 'waymark-sessiond.service'),
                 os.path.join(units, 'waymark-sessiond.socket')] +
                ([os.path.join(units, 'waymark-relayd.service')] if manager == '--system' else []))
    with tempfile.TemporaryDirectory() as root:
        if shutil.which('systemd-tmpfiles') and os.geteuid() == 0:
            os.makedirs(os.path.join(root, 'etc'))
            with open(os.path.join(root, 'etc', 'passwd'), 'w', encoding='utf-8') as f:
                f.write('root:x:0:0::/root:/bin/sh\n')
            with open(os.path.join(root, 'etc', 'group'), 'w', encoding='utf-8') as f:
                f.write('root:x:0:\n')
            run(['systemd-tmpfiles', '--root=' + root, '--create', os.path.abspath(tmpfiles)], False)
            fifo = os.stat(os.path.join(root, 'run/waymark/notify'))
            if not stat.S_ISFIFO(fifo.st_mode) or fifo.st_mode & 0o777 != 0o644 or fifo.st_uid:
                sys.exit('/run/waymark/notify: mode %o and uid %d, expected a FIFO with mode 644 and uid 0' %
                         (fifo.st_mode, fifo.st_uid))
        if shutil.which('systemd-sysusers'):
            run(['systemd-sysusers', '--root=' + root, '--dry-run', os.path.abspath(sysusers)], False)


main(*sys.argv[1:])
