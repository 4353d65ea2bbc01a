# SPDX-License-Identifier: MIT
"""The group whose members may use root's session daemon. Where the machine has none, the tests see one that nobody else does."""
import ctypes
import grp
import os
import tempfile

from harness import Skip

CLONE_NEWNS = 0x20000
MS_BIND, MS_REC, MS_PRIVATE = 1 << 12, 1 << 14, 1 << 18


def _call(name, *args):
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, name)(*args):
        raise OSError(ctypes.get_errno(), '%s: %s' % (name, os.strerror(ctypes.get_errno())))


def _mount(source, target, flags):
    _call('mount', source, target, None, ctypes.c_ulong(flags), None)


def _make(name):
    """A group file with one line more lies over the machine's, in a mount namespace that this process and what it starts from now on are in."""
    number = next(n for n in range(61100, 62000) if n not in {g.gr_gid for g in grp.getgrall()})
    with open('/etc/group') as f:
        text = f.read()
    _call('unshare', CLONE_NEWNS)
    _mount(b'none', b'/', MS_REC | MS_PRIVATE)
    # (what is mounted stays without its name)
    with tempfile.NamedTemporaryFile('w', prefix='wmk-group-') as f:
        f.write('%s%s:x:%d:\n' % (text if text.endswith('\n') else text + '\n', name, number))
        f.flush()
        os.chmod(f.name, 0o644)
        _mount(f.name.encode(), b'/etc/group', MS_BIND)


def tracing_group():
    """Its number. Before the first daemon and program that shall know it."""
    try:
        return grp.getgrnam('tracing').gr_gid
    except KeyError:
        pass
    try:
        _make('tracing')
        return grp.getgrnam('tracing').gr_gid
    except (OSError, KeyError) as error:
        raise Skip('there is no group tracing, and none can be made for the tests: %s' % error)
