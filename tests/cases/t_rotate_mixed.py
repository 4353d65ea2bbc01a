#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Rotations of one session with all kinds of buffers: a kernel channel, rings of two users, rings of each process, and
claim rings that all threads share. All daemons are killed at random moments. Each record is in exactly one chunk.
"""
import contextlib
import glob
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from harness import PERCENT, SEED, WAYMARK, check, limit, rounds  # noqa: E402
from hostile import ALICE, BOB  # noqa: E402
from kernel import KernelWorld, kernel_main  # noqa: E402
from processes import state  # noqa: E402
from rotations import (
    CALL, KEPT, LARGE, SIZES, archives, check_chunks, each_once, ended,
    failed_check, joined, kill, planted, use_consumerd)  # noqa: E402
from users import open_to_all  # noqa: E402

# The channels of programs, with the event that each records.
CHANNELS = (('uid', 'test:seq', []), ('pid', 'test:text', ['--buffers-pid']),
            ('claim', 'test:more', ['--buffer-allocation=per-channel']))
SPIN = '3000000'


class Mixed:
    """A session with all kinds of buffers, and the programs that it records."""

    def __init__(self, case, w, name='mixed'):
        self.case, self.w, self.name, self.programs = case, w, name, []
        w('create', name, '--no-statedump')
        for channel, event, options in CHANNELS:
            w('enable-channel', '-s', name, channel, *SIZES, *options)
            w('enable-event', '-s', name, '-c', channel, event)
        w.begin_calls(name, *LARGE, *KEPT, calls=[CALL], create=False)
        for user in (ALICE, BOB):
            self.programs.append(w.run([case.program('busy'), 'kinds', '3', SPIN], user=user))
        self.calls = w.until(2, every=1)
        w.wait(lambda: case.ledger.flag(0) == 6, 'the threads to record')

    def stopped(self):
        """A context: the programs stand still, so they cannot hand back their rings."""
        @contextlib.contextmanager
        def block():
            for program in self.programs:
                os.kill(program.pid, signal.SIGSTOP)
            self.w.wait(lambda: all(state(program.pid) == 'T' for program in self.programs), 'the programs to stop')
            yield
            for program in self.programs:
                os.kill(program.pid, signal.SIGCONT)
        return block()

    def more(self):
        begun = self.case.ledger.begun()
        self.w.wait(lambda: self.case.ledger.begun() > begun + 60, 'the programs to record on')

    def kill_all(self):
        w = self.w
        for pid in (w.sessiond(), w.consumerd(), w.kernel_consumerd()):
            kill(pid)

    def rotate_and_kill(self):
        """Kill all daemons at a random moment of a rotation."""
        rotate = self.w.run([WAYMARK, 'rotate', self.name], stderr=subprocess.DEVNULL)
        time.sleep(self.case.random.random() * 0.03)         # this waits for a time, not for a condition
        self.kill_all()
        self.w.wait_end(rotate, None)
        self.w.start_daemon()

    def rotate_before_rings_are_back(self):
        """Kill all daemons. The next daemons rotate before the programs hand back their rings."""
        with self.stopped():
            self.kill_all()
            self.w.start_daemon()
            self.w('rotate', self.name)

    def end(self):
        """Check that each record is in exactly one chunk. Returns the closed chunks."""
        self.w.wait_apps([program.pid for program in self.programs])
        self.w('rotate', self.name)
        made, tids = self.w.ended(self.calls)
        is_now = ended(self.case, self.w, self.name)
        check(is_now['counts']['lost'] == 0, 'the session has %s', is_now['counts'])
        each_once(joined(is_now['path']), made, tids)
        check_chunks(self.case, is_now['path'])
        return archives(is_now['path'])


@contextlib.contextmanager
def mixed(case, consumerd=None):
    with open_to_all(case), KernelWorld(case, daemon=False) as w:
        os.chmod(w.place, 0o755)
        os.chmod(w.rundir, 0o755)
        if consumerd:
            use_consumerd(w, consumerd)
        w.start_daemon()
        yield Mixed(case, w)


def rotate_often(session, turns):
    for turn in range(turns):
        session.more()
        if turn % 8 == 1:
            session.rotate_before_rings_are_back()
        elif turn % 2:
            session.w('rotate', session.name)
        else:
            session.rotate_and_kill()


@limit(300)
def each_record_is_in_one_chunk_after_kills_of_all_daemons(case):
    turns = rounds(200) if PERCENT >= 100 else 6
    with mixed(case) as session:
        rotate_often(session, turns)
        chunks = session.end()
    print('# %d chunks' % len(chunks))


@limit(60)
def planted_double_write_of_records_is_detected(case):
    """The consumer daemon writes records again that are in the closed chunk."""
    with failed_check('is recorded twice'), mixed(case, planted('twice')) as session:
        path = session.w.session(session.name)['path']
        session.w.wait(lambda: [f for f in glob.glob(path + '/ust/**/uid_?', recursive=True) if os.path.getsize(f)],
                       'records in the trace')
        session.rotate_before_rings_are_back()
        session.end()


if __name__ == '__main__':
    print('# kills with seed %d' % SEED)
    kernel_main([each_record_is_in_one_chunk_after_kills_of_all_daemons, planted_double_write_of_records_is_detected])
