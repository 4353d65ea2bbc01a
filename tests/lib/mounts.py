# SPDX-License-Identifier: MIT
"""Mounts that only a test sees: a mount namespace of this process and its future children. Needs root."""
import contextlib
import ctypes
import os
import shutil
import subprocess

from harness import Skip

CLONE_NEWNS = 0x20000
MS_BIND, MS_REC, MS_PRIVATE = 1 << 12, 1 << 14, 1 << 18
MNT_DETACH = 2


def _call(name, *args):
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, name)(*args):
        raise OSError(ctypes.get_errno(), '%s: %s' % (name, os.strerror(ctypes.get_errno())))


def _mount(source, target, kind, flags, options=None):
    _call('mount', os.fsencode(source), os.fsencode(target), kind, ctypes.c_ulong(flags), options)


def private_mounts():
    """Enter a mount namespace. Later mounts are invisible outside it."""
    _call('unshare', CLONE_NEWNS)
    _mount('none', '/', None, MS_REC | MS_PRIVATE)


def lay_over(source, target):
    """Mount a file over another."""
    _mount(source, target, None, MS_BIND)


@contextlib.contextmanager
def copy_of(directory, copy):
    """Until the block ends, changes in `directory` go to a copy of it; `copy`: an empty directory."""
    try:
        subprocess.run(['cp', '-a', directory + '/.', copy], check=True, stdin=subprocess.DEVNULL)
        shutil.copystat(directory, copy)
        private_mounts()
        _mount(copy, directory, None, MS_BIND)
    except (OSError, subprocess.CalledProcessError) as error:
        raise Skip('cannot mount a copy of %s over it: %s' % (directory, error))
    try:
        yield
    finally:
        _call('umount2', os.fsencode(directory), MNT_DETACH)


@contextlib.contextmanager
def fresh_run(*users):
    """
    Until the block ends, /run is empty except for the directories of logged-in users, as before the first start of a
    daemon.
    """
    try:
        private_mounts()
        _mount('none', '/run', b'tmpfs', 0, b'mode=755')
    except OSError as error:
        raise Skip('cannot mount a private /run: %s' % error)
    try:
        os.mkdir('/run/user')
        for user in users:
            path = '/run/user/%d' % user.pw_uid
            os.mkdir(path, 0o700)
            os.chown(path, user.pw_uid, user.pw_gid)
        yield
    finally:
        _call('umount2', b'/run', MNT_DETACH)
