# SPDX-License-Identifier: MIT
"""
The machine's shared memory: is what a world of processes took back, whoever else has rings at the time?

Rings that others hold are counted and taken off. Where those come and go while it is looked at, and only there, the sum
may be off by theirs: then it is said that nothing was found out, and why. Where there are no others (WMK_ALONE), that
is a failure.
"""
import contextlib
import os
import re

from harness import check, holds_within, slurp
from processes import pids

ALLOWED_KB = 1024
WAIT_S = 30
BUSY_S = 3                           # where others are busy all the time: what is not found out by then will not be
RING = re.compile(r'/memfd:waymark-ring|/\d+\.rings')


def shmem_kb():
    return int(re.search(r'^Shmem:\s+(\d+)', slurp('/proc/meminfo'), re.M).group(1))


def _bytes(path, at):
    """Of shared memory, of the file `path` that is met at `at`: a ring on a disk has none."""
    return os.stat(at).st_blocks * 512 if path.startswith(('/memfd:', '/dev/shm/')) else 0


def rings_of(pid):
    """{(device, inode): bytes that it has in memory} of the rings that a process has mapped or open."""
    found = {}
    with contextlib.suppress(OSError):
        maps = slurp('/proc/%d/maps' % pid)
        if not maps:                                     # a kernel thread or a zombie: it has no descriptors either
            return found
        for line in maps.splitlines() if RING.search(maps) else ():
            if RING.search(line):
                words = line.split()
                major, minor = (int(x, 16) for x in words[3].split(':'))
                size = 0
                with contextlib.suppress(OSError):       # root's to follow
                    size = _bytes(words[5], '/proc/%d/map_files/%s' % (pid, words[0]))
                found[os.makedev(major, minor), int(words[4])] = size
    with contextlib.suppress(OSError):
        for fd in os.listdir('/proc/%d/fd' % pid):
            path = '/proc/%d/fd/%s' % (pid, fd)
            with contextlib.suppress(OSError):
                to = os.readlink(path)
                if RING.search(to):
                    st = os.stat(path)
                    found[st.st_dev, st.st_ino] = _bytes(to, path)
    return found


def all_rings():
    """The same of all processes."""
    found = {}
    for pid in pids():
        found.update(rings_of(pid))
    return found


def sample():
    """(kB of shared memory without the rings that anybody has, those rings); None in the middle of a change."""
    rings, kb = all_rings(), shmem_kb()
    return (kb - sum(rings.values()) // 1024, rings) if rings == all_rings() else None


class Shmem:
    """As it is now."""

    def __init__(self):
        self.is_known = holds_within(sample, BUSY_S)

    def is_back(self):
        """
        Waits until no more is used than then, but for 1 MB, and nobody holds a ring of ours any more: all that there
        are then are others'. Fails in words if that does not come, and returns words instead where it may be because of
        others; '' if all is well.
        """
        if not self.is_known:
            return 'Shmem is not known as it was: rings of others came and went all the time'
        (kb, others), seen = self.is_known, []
        wait_s = WAIT_S if os.environ.get('WMK_ALONE') else BUSY_S

        def back():
            is_now = sample()
            if is_now:
                seen.append(is_now)
            return is_now and is_now[0] <= kb + ALLOWED_KB

        def is_unclear():
            return not seen or any(rings != others for _, rings in seen)

        if holds_within(back, wait_s) or (not is_unclear() and holds_within(back, WAIT_S)):
            return ''
        is_now, rings = seen[-1] if seen else (shmem_kb(), all_rings())
        if is_unclear():
            return (
                'Shmem was not held against what it was: rings of others come and go, %d at the beginning, %d at the '
                'end; without them it was %d kB, and is %d kB'
                % (len(others), len(rings), kb, is_now))
        check(False, 'waited %d s in vain for Shmem to be back at %d kB, it is %d kB, without %d rings of others',
              WAIT_S, kb, is_now, len(others))
