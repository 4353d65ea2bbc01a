#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
A ring with invalid counts is corrupt: its stream ends, an error names user and application, and all other counts stay
exact.
"""
import contextlib
import os
import re
import shutil
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from daemon import World, numbers_of, state  # noqa: E402
from harness import Trace, check, main  # noqa: E402
from hostile import ALICE  # noqa: E402
from restarts import COMMANDS, check_restarts, counted, reported, sessions_of  # noqa: E402
from traces import metadata_text  # noqa: E402
from users import open_to_all  # noqa: E402

# src/ring/layout.h: struct wmk_set_header takes a page; then struct wmk_ring_ctl of each ring, its counts in line 2.
CONTROL, CONTROL_SIZE, LOST = 4096, 512, 128
LARGEST = 1 << 53

# Numbers of lost records that the other user's ring reports, after it has reported 5.
VIOLATIONS = ((1 << 64) - 1, (1 << 64) - 1000, 3, LARGEST + 1)


def sets_of(pid):
    """
    Paths in /proc of the ring sets with 2 sub-buffers that the process has mapped, each set once. Root can open them.
    """
    found = {}
    for name in os.listdir('/proc/%d/map_files' % pid):
        path = '/proc/%d/map_files/%s' % (pid, name)
        with contextlib.suppress(OSError):
            if 'memfd:waymark-ring' not in os.readlink(path):
                continue
            with open(path, 'rb') as f:
                head = f.read(24)
            if head[20:24] == (2).to_bytes(4, 'little'):
                found.setdefault(os.stat(path).st_ino, path)
    return [found[inode] for inode in sorted(found)]


def report_lost(path, value):
    """Set the count of records that the non-empty ring lost because it was full."""
    with open(path, 'r+b', buffering=0) as f:
        at = CONTROL
        while not any(os.pread(f.fileno(), 8, at)):
            at += CONTROL_SIZE
        os.pwrite(f.fileno(), value.to_bytes(8, 'little'), at + LOST)


def corrupt_counts_of_one_user_change_no_other_counts(case):
    """Root's sessions: root's application loses records, and another user's ring has impossible counts."""
    with open_to_all(case), World(case) as w:
        os.chmod(w.place, 0o755)
        names = ['s%d' % n for n in range(len(VIOLATIONS))]
        for name in names:
            w.begin(name, 'test:*', channel=['--subbuf-size', '4k', '--num-subbuf', '2'])
        alice, root = w.scripted(user=ALICE), w.scripted()
        alice('emit 20')
        for path in sets_of(alice.pid):
            report_lost(path, 5)
        root('emit 2000')
        earlier = [w.session(name)['counts'] for name in names]
        mine = sets_of(alice.pid)
        check(len(mine) == len(VIOLATIONS), 'the program has %d ring sets', len(mine))
        for value, path in zip(VIOLATIONS, mine):
            report_lost(path, value)
        for name, before in zip(names, earlier):
            stopped = w('stop', name, '--json')
            found = re.search(r'user %d, scripted \(process %d\): stopped writing stream \S+: its ring is corrupt: '
                              r'[^:]*lost[^:]* is (\d+), out of range (\d+) to %d' %
                              (ALICE.pw_uid, alice.pid, LARGEST), stopped.err)
            check(found, 'stop printed: %s', stopped.err)
            check(int(found.group(1)) in VIOLATIONS, 'stop printed: %s', stopped.err)
            session = stopped.json['sessions'][0]
            counts = session['counts']
            # the 5 lost records that this ring reported before are still counted
            check(counts['lost'] == before['lost'] >= 5, '%s: counts %s, before %s', name, counts, before)
            check(counts['lost'] == counts['lost_full'], 'wrong causes: %s', counts)
            texts = '\n'.join(metadata_text(session['path']))
            check(re.search(r'/\*[^*]*user %d, scripted[^*]*is corrupt' % ALICE.pw_uid, texts),
                  'the metadata does not name the stream')
            trace = Trace(session['path'], lossy=True)
            seen, lost = len(max(numbers_of(trace).items())[1]), before['lost'] - 5
            check(seen + lost == 2000, '%s: %d records of root, %d lost', name, seen, lost)
            w('destroy', name)
        alice.end()
        root.end()


def counts_over_restarts(case, *channel):
    """A live and an ended application have lost records. A daemon ends; the next command reports the same counts."""
    with World(case) as w:
        names = sessions_of()
        for name in names:
            w('create', name, '--no-statedump')
            w('enable-channel', '-s', name, name, '--subbuf-size', '4k', '--num-subbuf', '2', *channel)
            w('enable-event', '-s', name, '-c', name, 'test:*')
            w('start', name)
        ended, lives = w.scripted(), w.scripted()
        for program in (ended, lives):
            program('emit 2000')
        ended.end()
        for name in names:
            w.stop(name)
            w('start', name)
        before = check_restarts(w, w.consumerd, program=lives)
        for counts in before:
            check(counts[0]['lost'] > 0 and counts[0]['records'] + counts[0]['lost'] == 4000, '%s', counts)
        lives.end()


def daemon_restarts_change_no_counts_of_shared_buffers(case):
    counts_over_restarts(case)


def daemon_restarts_change_no_counts_of_per_process_buffers(case):
    counts_over_restarts(case, '--buffers-pid')


def records_of_a_process_that_ends_without_daemon_are_counted(case):
    """
    The application ends while the session daemon is stopped, and the daemon is killed then. The counts include its
    buffers.
    """
    with World(case) as w:
        w.begin('one', 'test:*', channel=['--subbuf-size', '4k', '--num-subbuf', '2', '--buffers-pid'])
        program = w.scripted()
        program('emit 2000')
        w.stop('one')
        w('start', 'one')
        # the state dump of `start` may be counted or not
        before, daemon = counted(w.session('one'))[1], w.sessiond()
        os.kill(daemon, signal.SIGSTOP)
        w.wait(lambda: state(daemon) == 'T', 'the session daemon to stop')
        program.kill()
        os.kill(daemon, signal.SIGKILL)
        w.wait(lambda: w.sessiond() != daemon, 'the session daemon to end')
        now = [counted(reported(w, command, 'one'))[1] for command in COMMANDS]
        check(now == [before] * len(COMMANDS), 'counts %s, before %s', now, before)


def list_counts_the_records_that_overwrite_buffers_hold(case):
    """Each record is counted once, as held or as overwritten: while the session records, and after each stop."""
    with World(case) as w:
        w('create', 'ring', '--no-statedump')
        w('enable-channel', '-s', 'ring', 'ring', '--overwrite', '--subbuf-size', '16k', '--num-subbuf', '4')
        w('enable-event', '-s', 'ring', '-c', 'ring', 'test:*')
        w('start', 'ring')
        program, made = w.scripted(), 0

        def counted(active, least=0):
            counts = w.session('ring')['counts']
            check(counts['records'] + counts['overwritten'] == made and counts['lost'] == counts['overwritten'],
                  'active: %s, %d records were made: %s', active, made, counts)
            check(counts['records'] >= least, 'at least %d records are held: %s', least, counts)
            return counts
        for number in (100, 20000, 30):
            program('emit %d' % number)
            made += number
            held = counted(True, min(made, 300))['records']
            check(made < 10000 or held < 10000, 'held: %d of %d', held, made)
        w.stop('ring')
        stopped = counted(False)
        w('start', 'ring')
        w.wait_apps([program.pid])
        for number in (50, 20000):
            program('emit %d' % number)
            made += number
            check(counted(True)['records'] >= stopped['records'], 'records of the trace are counted no more')
        program.end()
        w.children.remove(program.child)
        w.stop('ring')
        counts = counted(False)
        w('destroy', 'ring')
        check(counts['overwritten'] > 0, 'nothing was overwritten')


def removed_trace_directory_is_reported(case):
    """
    The warning has the number of lost records. If the consumer daemon was replaced, the number is unknown, and the
    warning says that records are lost.
    """
    with World(case) as w:
        for killed in (False, True):
            name = 'killed' if killed else 'removed'
            w('create', name, '--no-statedump')
            w('enable-event', '-s', name, 'test:*')
            w('start', name)
            program, path = w.scripted(), w.session(name)['path']
            os.sched_setaffinity(program.pid, {0})       # one stream: the error of only one stream is reported
            program('emit 1000')
            w.stop(name)
            w('start', name)
            shutil.rmtree(path)
            if killed:
                os.kill(w.consumerd(), signal.SIGKILL)
            program('emit 10')
            for command in ('stop', 'destroy'):
                done = w(command, name, '--json')
                counts = done.json['sessions'][0]['counts']
                words = 'records in its rings are lost: .*' if killed else (
                    r'its file was removed; \d+ records are lost: ')
                check(re.search('not everything could be written: .*' + words + path, done.err), '%s', done.err)
                check(killed or (counts['records'], counts['unwritten']) == (0, 1010), '%s: %s', command, counts)
            program.end()


if __name__ == '__main__':
    main([corrupt_counts_of_one_user_change_no_other_counts, daemon_restarts_change_no_counts_of_shared_buffers,
          daemon_restarts_change_no_counts_of_per_process_buffers,
          records_of_a_process_that_ends_without_daemon_are_counted,
          list_counts_the_records_that_overwrite_buffers_hold, removed_trace_directory_is_reported])
