# SPDX-License-Identifier: MIT
"""The group whose members may use root's session daemon. Where the machine has none, the tests see one that nobody else
does."""
import grp
import os
import tempfile

from harness import Skip
from mounts import lay_over, private_mounts


def _make(name):
    """A group file with one line more lies over the machine's, in a mount namespace that this process and what it
    starts from now on are in."""
    number = next(n for n in range(61100, 62000) if n not in {g.gr_gid for g in grp.getgrall()})
    with open('/etc/group') as f:
        text = f.read()
    private_mounts()
    # (what is mounted stays without its name)
    with tempfile.NamedTemporaryFile('w', prefix='wmk-group-') as f:
        f.write('%s%s:x:%d:\n' % (text if text.endswith('\n') else text + '\n', name, number))
        f.flush()
        os.chmod(f.name, 0o644)
        lay_over(f.name, '/etc/group')


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
