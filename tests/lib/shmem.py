# SPDX-License-Identifier: MIT
"""
Checks that a World returned its shared memory to the machine, while other processes may have rings, too.

Rings of others are measured and subtracted. If these come and go during a measurement, the result may be wrong by their
size. The check then reports why it found nothing out. With WMK_ALONE, when no others exist, that is a failure.
"""
import contextlib
import os
import re

from harness import check, holds_within, slurp
from processes import pids

ALLOWED_KB = 1024
WAIT_S = 30
BUSY_S = 3                           # the limit while other processes are busy: a longer wait would not help
RING = re.compile(r'/memfd:waymark-ring|/\d+\.rings')


def shmem_kb():
    return int(re.search(r'^Shmem:\s+(\d+)', slurp('/proc/meminfo'), re.M).group(1))


def _bytes(path, at):
    """The shared memory of the file `path` with the mapping or descriptor `at`; 0 for a ring on a disk."""
    return os.stat(at).st_blocks * 512 if path.startswith(('/memfd:', '/dev/shm/')) else 0


def rings_of(pid):
    """{(device, inode): bytes in memory} of the rings that a process has mapped or open."""
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
                with contextlib.suppress(OSError):       # links that only root may follow
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
    """The same for all processes."""
    found = {}
    for pid in pids():
        found.update(rings_of(pid))
    return found


def sample():
    """(kB of shared memory without any rings, the rings); None if they changed during the measurement."""
    rings, kb = all_rings(), shmem_kb()
    return (kb - sum(rings.values()) // 1024, rings) if rings == all_rings() else None


class Shmem:
    """The shared memory at the time of construction."""

    def __init__(self):
        self.is_known = holds_within(sample, BUSY_S)

    def is_back(self):
        """
        Wait until the shared memory is at most 1 MB above its initial level; the caller has checked that all remaining
        rings belong to others. Fails if it stays above. Returns a text instead if others may be the cause; '' on
        success.
        """
        if not self.is_known:
            return 'shared memory was not compared: rings of other processes changed during all first measurements'
        (kb, others), seen = self.is_known, []
        wait_s = WAIT_S if os.environ.get('WMK_ALONE') else BUSY_S

        def back():
            latest = sample()
            if latest:
                seen.append(latest)
            return latest and latest[0] <= kb + ALLOWED_KB

        def is_unclear():
            return not seen or any(rings != others for _, rings in seen)

        if holds_within(back, wait_s) or (not is_unclear() and holds_within(back, WAIT_S)):
            return ''
        latest, rings = seen[-1] if seen else (shmem_kb(), all_rings())
        if is_unclear():
            return (
                'shared memory was not compared: the rings of other processes changed, %d at the beginning, %d at the '
                'end; without them it was %d kB, and is %d kB'
                % (len(others), len(rings), kb, latest))
        check(False, 'after %d s shared memory is not back at %d kB: it is %d kB, without %d rings of other processes',
              WAIT_S, kb, latest, len(others))
