# SPDX-License-Identifier: MIT
"""
Waymark built for aarch64 with Debian's packages of that architecture, for the machine that machine.py emulates.

The build is kept in the cache (emulated.py), beside the packages. A second run compiles only what has changed.
"""
import os
import shutil
import subprocess

from emulated import ROOT, Sysroot, cache, installed
from harness import check, finished
from machine import Build

TRIPLET = 'aarch64-linux-gnu'
BUILD_S = 900
CROSS_FILE = {
    'binaries': [
        "c = ['{triplet}-gcc', '--sysroot={root}']", "cpp = ['{triplet}-g++', '--sysroot={root}']",
        "ar = '{triplet}-ar'", "strip = '{triplet}-strip'", "pkgconfig = 'pkg-config'",
        "exe_wrapper = ['qemu-aarch64', '-L', '{root}']"
    ],
    'properties': [
        "sys_root = '{root}'",
        "pkg_config_libdir = '{root}/usr/lib/{triplet}/pkgconfig:{root}/usr/share/pkgconfig'"
    ],
    'host_machine': ["system = 'linux'", "cpu_family = 'aarch64'", "cpu = 'aarch64'", "endian = 'little'"]
}


FOLDER = os.path.join(cache(), 'arm64')
BUILD = os.path.join(FOLDER, 'build')
# Unit tests of the kernel domain, and Debian's strace: programs for the machine besides those of tests/programs.
UNITS = os.path.join(BUILD, 'src', 'kernel', 't')
STRACE = os.path.join(FOLDER, 'sysroot', 'usr', 'bin', 'strace')


def run(what, *argv):
    done = finished(argv, BUILD_S, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                    text=True)
    check(done.returncode == 0, '%s for aarch64 failed: %s', what, done.stdout[-2000:])


def build_for_aarch64(programs, units=()):
    """
    Returns a Build with `programs` of tests/programs and `units` of UNITS. Raises NotHere if a tool or a package is
    missing.
    """
    for tool in ('meson', 'ninja', 'pkg-config', 'readelf', 'qemu-aarch64', TRIPLET + '-gcc', TRIPLET + '-g++'):
        installed(tool)
    sysroot = Sysroot('arm64', TRIPLET)
    cross = os.path.join(FOLDER, 'cross.ini')
    with open(cross, 'w') as file:
        for section, lines in CROSS_FILE.items():
            file.write('\n'.join(['[%s]' % section, *lines, '']).format(triplet=TRIPLET, root=sysroot.root))
    if not os.path.exists(os.path.join(BUILD, 'build.ninja')):
        shutil.rmtree(BUILD, ignore_errors=True)
        run('meson setup', 'meson', 'setup', BUILD, ROOT, '--cross-file', cross, '--werror', '-Dtests=enabled',
            '-Dfuzz=false', '-Dbpf=enabled', '--buildtype=release')
    targets = ['src/cli/waymark', 'src/daemons/waymark-sessiond', 'src/daemons/waymark-consumerd']
    targets += ['tests/' + name for name in programs] + ['src/kernel/t/' + name for name in units]
    run('the build', 'ninja', '-C', BUILD, *targets)
    return Build(os.path.join(BUILD, targets[0]), os.path.join(BUILD, targets[1]), os.path.join(BUILD, 'tests'),
                 os.path.join(sysroot.root, 'bin', 'busybox'), sysroot.libraries)
