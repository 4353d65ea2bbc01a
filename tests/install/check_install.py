#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Installs into an empty directory and uses what is there, as a user would: pkg-config, compile, record, read, man pages.

usage: check_install.py BUILD
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

PROGRAM = r'''
#include <stdio.h>
#include <waymark/trace.h>
int main(int argc, char **argv)
{
	for (int i = 0; i < 10; i++)
		waymark(installed, event, i, wm_named("program", argv[0]));
	return argc - 1;
}
'''


def run(argv, **more):
    done = subprocess.run(argv, capture_output=True, text=True, timeout=120, **more)
    if done.returncode:
        sys.exit('%s failed with %d:\n%s%s' % (' '.join(argv), done.returncode, done.stdout, done.stderr))
    return done.stdout


def find(root, name):
    found = [os.path.join(top, f) for top, _, files in os.walk(root) for f in files if f == name]
    if not found:
        sys.exit('%s is not installed' % name)
    return found[0]


def exported(library):
    """Names that the library defines for others, without their version."""
    return [line.split()[-1].split('@')[0] for line in run(['nm', '-D', '--defined-only', library]).splitlines()]


def check_symbols(root, name, allowed):
    library = os.path.realpath(find(root, name))
    versions = run(['readelf', '-V', library])
    if 'WAYMARK' not in versions.upper():
        sys.exit('%s has no version map' % name)
    wrong = [s for s in exported(library) if not re.match(allowed, s)]
    if wrong:
        sys.exit('%s exports %s' % (name, ', '.join(wrong)))
    needed = re.findall(r'NEEDED.*\[(.*?)\]', run(['readelf', '-d', library]))
    if [n for n in needed if not re.match(r'libc\.|ld-linux', n)]:
        sys.exit('%s needs %s, not the C library alone' % (name, ', '.join(needed)))


def check_program(root, env, flags, extra, work):
    source, program = os.path.join(work, 'user.c'), os.path.join(work, 'user')
    with open(source, 'w') as f:
        f.write(PROGRAM)
    compiler = os.environ.get('CC', 'cc').split()
    run(compiler + ['-O2', '-Wall', '-Wextra', '-Werror', source, '-o', program] + flags + extra)
    run([program], env=env)                      # with nobody who records
    trace = os.path.join(work, 'trace')
    shutil.rmtree(trace, ignore_errors=True)
    out = run([find(root, 'waymark'), 'record', '--json', '-o', trace, '--', program], env=env)
    summary = json.loads(out.splitlines()[-1])
    text = run(['babeltrace2', trace])
    n = text.count('installed:event')
    if n != 10 or summary['lost']:
        sys.exit('%d records of 10, %s' % (n, summary))


def check_manual(root, waymark, env):
    """The pages are there, troff has nothing to say against them, and every option of the table is in them."""
    for name in ('waymark.1', 'waymark-record.1'):
        page = find(root, name)
        if shutil.which('groff'):
            said = subprocess.run(['groff', '-man', '-Tascii', '-ww', page], capture_output=True, text=True)
            if said.stderr:
                sys.exit('%s: %s' % (name, said.stderr))
    with open(find(root, 'waymark-record.1')) as f:
        manual = f.read().replace('\\-', '-')
    for option in re.findall(r'--[a-z-]{2,}', run([waymark, 'help', 'record'], env=env)):
        if option not in manual:
            sys.exit('waymark-record.1 does not have ' + option)


def main(build):
    meson = shutil.which('meson')
    with tempfile.TemporaryDirectory(prefix='waymark-install-') as work:
        root = os.path.join(work, 'root')
        run([meson, 'install', '-C', build, '--destdir', root, '--no-rebuild', '--quiet'])
        pc = os.path.dirname(find(root, 'waymark.pc'))
        env = dict(os.environ, PKG_CONFIG_PATH=pc, PKG_CONFIG_SYSROOT_DIR=root)
        library = os.path.dirname(find(root, 'libwaymark.so.0'))
        env['LD_LIBRARY_PATH'] = library
        waymark = find(root, 'waymark')
        version = run([waymark, 'version'], env=env).split()[-1]
        if run(['pkg-config', '--modversion', 'waymark'], env=env).strip() != version:
            sys.exit('waymark.pc and `waymark version` differ')
        check_symbols(root, 'libwaymark.so.0', r'waymark_|WAYMARK|v?fork$|clone$|unshare$|setns$|set[a-z]*id$|setgroups$|initgroups$')
        check_symbols(root, 'libwaymark-ring.so.0', r'waymark_ring_|WAYMARK')
        flags = run(['pkg-config', '--cflags', '--libs', 'waymark'], env=env).split()
        check_program(root, env, flags, [], work)
        static = run(['pkg-config', '--cflags', 'waymark'], env=env).split() + [find(root, 'libwaymark.a'), '-pthread']
        check_program(root, env, static, ['-static'], work)
        check_manual(root, waymark, env)
    print('installed, compiled against it, recorded: all as it should be')


if __name__ == '__main__':
    main(os.path.abspath(sys.argv[1]))
