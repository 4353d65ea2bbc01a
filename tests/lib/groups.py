# SPDX-License-Identifier: MIT
"""
The group with access to root's session daemon. If the machine has no such group, the tests create one that only they
see.
"""
import grp
import os
import tempfile

from harness import Skip
from mounts import lay_over, private_mounts


def _make(name):
    """
    Mount a copy of /etc/group with one more line over the original, in a mount namespace of this process and its future
    children.
    """
    number = next(n for n in range(61100, 62000) if n not in {g.gr_gid for g in grp.getgrall()})
    with open('/etc/group') as f:
        text = f.read()
    private_mounts()
    # (the mounted file stays after its name is removed)
    with tempfile.NamedTemporaryFile('w', prefix='wmk-group-') as f:
        f.write('%s%s:x:%d:\n' % (text if text.endswith('\n') else text + '\n', name, number))
        f.flush()
        os.chmod(f.name, 0o644)
        lay_over(f.name, '/etc/group')


def tracing_group():
    """The id of the group. Call it before the start of the first daemon and program that need the group."""
    try:
        return grp.getgrnam('tracing').gr_gid
    except KeyError:
        pass
    try:
        _make('tracing')
        return grp.getgrnam('tracing').gr_gid
    except (OSError, KeyError) as error:
        raise Skip('the group tracing does not exist, and the tests cannot create it: %s' % error)
