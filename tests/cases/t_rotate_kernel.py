#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Rotations of sessions with kernel channels: each counted system call is in exactly one chunk, even if the daemons are
killed at any moment. A chunk has the records from before `rotate`, and no later records.
"""
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from daemon import numbers_of  # noqa: E402
from harness import SEED, WAYMARK, Trace, check, limit, rounds  # noqa: E402
from kernel import KernelTrace, KernelWorld, kernel_main, number, signed  # noqa: E402
from killed_once import KilledOnce, need_testpoints  # noqa: E402
from rotations import (
    CALL, IN_CONSUMER, IN_SESSION, KEPT, LARGE, archives, each_once, joined, kernel_chunks, kill)  # noqa: E402
from t_follow import Follower  # noqa: E402


def rotated(w, name):
    return w('rotate', name, '--json').json['sessions'][0]


def ended(w, name, all_chunks=True):
    """Stop and destroy the session. Its counts must include all chunks. Returns (path, records of all chunks)."""
    w.stop(name)
    is_now = w('destroy', name, '--json').json['sessions'][0]
    trace = joined(is_now['path'], lossy=True)
    n = len(trace.records)
    check(not all_chunks or is_now['counts']['records'] == n, 'the chunks have %d records, the session has %s', n,
          is_now['counts'])
    check(is_now['counts']['lost'] == is_now['counts']['overwritten'], 'the session has %s', is_now['counts'])
    return is_now['path'], trace


def recorded_more(w, name, least=1):
    """Wait until the session has more records."""
    begun = w.session(name)['counts']['records']
    w.wait(lambda: w.session(name)['counts']['records'] >= begun + least, 'more records in %s' % name)


@limit(60)
def kernel_records_under_load_are_in_one_chunk(case):
    """Rotate with records of the kernel and with records of BPF."""
    with KernelWorld(case) as w:
        for name, channel in (('tracefs', KEPT), ('bpf', [])):
            w.begin_calls(name, *LARGE, *channel, calls=[CALL])
            program = w.until(2)
            turns = rounds(40) + 1
            for turn in range(turns):
                recorded_more(w, name, 100)
                check(rotated(w, name)['rotations'] == turn + 1, 'rotation %d was not counted', turn)
            made, tids = w.ended(program)
            path, trace = ended(w, name)
            check(len(archives(path)) == turns, '%d chunks after %d rotations', len(archives(path)), turns)
            check(trace.lost == 0, '%s: %d records were lost', name, trace.lost)
            each_once(trace, made, tids)


def turns_in(place, tids):
    """The numbers of the turns with an entry of the call in a chunk, in order."""
    return [-2 - signed(number(r.fields, 'pid')) for r in KernelTrace(place).records
            if r.name == 'syscall_entry_' + CALL and number(r.context, 'tid') in tids]


@limit(60)
def user_and_kernel_channels_rotate_together(case):
    """Each closed chunk has the records of both domains that were made before `rotate`, and no others."""
    with KernelWorld(case) as w:
        w('create', 'both', '--no-statedump')
        w('enable-channel', '-s', 'both', 'user')
        w('enable-event', '-s', 'both', '-c', 'user', 'test:*')
        w.begin_calls('both', create=False, calls=[CALL])
        program = w.scripted()
        w.wait_apps([program.pid])
        tids = []
        turns = rounds(10) + 2
        for turn in range(turns):
            program('emit %d' % (turn + 1))
            tids.append(w.calls(1, turn + 5)[1])
            rotated(w, 'both')
        program.end()
        w.children.remove(program.child)
        path, _ = ended(w, 'both', all_chunks=False)
        begun = 1
        for turn, chunk in enumerate(archives(path)):
            numbers, = numbers_of(Trace(os.path.join(chunk, 'ust'))).values()
            check(numbers == list(range(begun, begun + turn + 1)), 'chunk %d has the user records %s', turn, numbers)
            begun += turn + 1
            place = os.path.join(chunk, 'kernel')
            found = [len(turns_in(place, ids)) for ids in tids]
            check(found == [turn + 5 if n == turn else 0 for n in range(turns)], 'chunk %d has the calls %s', turn,
                  found)


@limit(60)
def closed_kernel_chunk_can_be_removed_immediately(case):
    """The next consumer daemon continues after the closed chunk without reading it, and loses no record."""
    with KernelWorld(case) as w:
        w.begin_calls('gone', *LARGE, *KEPT, calls=[CALL])
        path, tids = w.session('gone')['path'], []
        for turn in range(rounds(10) + 2):
            tids.append(w.calls(1, 100)[1])
            rotated(w, 'gone')
            chunk, = archives(path)
            found = [len(turns_in(os.path.join(chunk, 'kernel'), ids)) for ids in tids]
            check(found == [100 if n == turn else 0 for n in range(turn + 1)], 'chunk %d has the calls %s', turn, found)
            w.shell('rm -r "%s"' % chunk, '/')
            pid = w.kernel_consumerd()
            kill(pid)
            w.wait(lambda gone=pid: w.kernel_consumerd() not in (None, gone), 'another consumer daemon')
        tids.append(w.calls(1, 30)[1])
        _, trace = ended(w, 'gone', all_chunks=False)
        found = [len(turns_in(os.path.join(path, 'kernel'), ids)) for ids in tids]
        check(found == [0] * (len(tids) - 1) + [30], 'the open chunk has the calls %s', found)
        check(trace.lost == 0, 'records are counted as lost')


@limit(60)
def chunk_of_overwrite_buffers_has_the_records_since_rotation(case):
    """Each chunk has the records since the previous rotation, also with a state dump in its own stream."""
    with KernelWorld(case) as w:
        for name, channel in (('tracefs', KEPT), ('bpf', [])):
            w('create', name)
            w.begin_calls(name, '--overwrite', *channel, create=False, calls=[CALL])
            tids = []
            for _ in range(rounds(10) + 2):
                tids.append(w.calls(1, 50)[1])
                rotated(w, name)
            tids.append(w.calls(1, 50)[1])
            path, trace = ended(w, name)
            for n, place in enumerate(kernel_chunks(path)):
                found = [len(turns_in(place, ids)) for ids in tids]
                check(found == [50 if n == m else 0 for m in range(len(tids))], '%s: chunk %d has the calls %s', name,
                      n, found)
            dumps = [r for r in trace.records if r.name.startswith('lttng_statedump')]
            begun = [r for r in dumps if r.name == 'lttng_statedump_start']
            check(len(begun) == 1, '%s: %d dumps begin', name, len(begun))
            check(any(r.name == 'lttng_statedump_end' for r in dumps), '%s: the dump does not end', name)


@limit(60)
def follower_prints_each_kernel_record_once_over_rotations(case):
    with KernelWorld(case) as w:
        w.begin_calls('live', *LARGE, *KEPT, calls=[CALL])
        follower = Follower(w, 'live')
        made = []
        for turn in range(rounds(50) + 2):
            made += range(w.calls(1, 20 + turn)[0])
            rotated(w, 'live')
        made += range(w.calls(1, 10)[0])
        ended(w, 'live')
        w.children.remove(follower.child)
        lines = follower.end()
        turns = [-2 - signed(number(line.decode().rpartition('{')[2], 'pid')) for line in lines
                 if b'syscall_entry_' + CALL.encode() in line]
        check(sorted(turns) == sorted(made), '%d of %d entries were printed', len(turns), len(made))


@limit(200)
def random_kills_during_kernel_rotations_lose_no_records(case):
    with KernelWorld(case) as w:
        for turn in range(rounds(15)):
            name = 'k%d' % turn
            w.begin_calls(name, *LARGE, *KEPT, calls=[CALL])
            program = w.until(2)
            for _ in range(3):
                recorded_more(w, name, 100)
                rotate = w.run([WAYMARK, 'rotate', name], stderr=subprocess.DEVNULL)
                time.sleep(case.random.random() * 0.03)      # this waits for a time, not for a condition
                for victim in case.random.sample([w.kernel_consumerd, w.sessiond], case.random.randrange(1, 3)):
                    kill(victim())
                w.wait_end(rotate, None)
                w.start_daemon()
            w('rotate', name)
            made, tids = w.ended(program)
            _, trace = ended(w, name)
            check(trace.lost == 0, 'turn %d: %d records were lost', turn, trace.lost)
            each_once(trace, made, tids)


def rotate_and_be_killed(case, daemon, point):
    """Records before the rotation are in the closed chunk. Later records are not."""
    with KernelWorld(case, name='%s-%s' % (daemon[0], point), daemon=False) as w:
        killed = KilledOnce(w, daemon, point)
        w.begin_calls('one', *LARGE, *KEPT, calls=[CALL])
        tids = [w.calls(1, 100)[1]]
        w('rotate', 'one', status=None)
        killed.wait()
        w.start_daemon()
        tids.append(w.calls(1, 70)[1])
        w.wait(lambda: len(archives(w.session('one')['path'])) == 1 and archives(w.session('one')['path'])[0][-2:] ==
               '-0' or w('rotate', 'one', status=None) is None, killed.row + ': the rotation to be finished')
        tids.append(w.calls(1, 50)[1])
        w('rotate', 'one')
        tids.append(w.calls(1, 30)[1])
        path, trace = ended(w, 'one')
        found = [[len(turns_in(place, ids)) for place in kernel_chunks(path)] for ids in tids]
        check([sum(n) for n in found] == [100, 70, 50, 30], '%s: chunks have the calls %s', killed.row, found)
        check(trace.lost == 0, '%s: records were lost', killed.row)
        # If the daemon is killed before it has saved the session, no chunk is closed. A later rotation closes the
        # chunk.
        check(found[0][0] == 100 and found[1][0] == (70 if point == 'session_cut' else 0),
              '%s: the first chunk has the calls %s', killed.row, found)


@limit(200)
def kernel_rotation_is_finished_after_kill_of_consumer_daemon(case):
    need_testpoints()
    for point in IN_CONSUMER:
        if point != 'archive_before_rename':                  # the testpoint is in the consumer daemon of applications
            rotate_and_be_killed(case, 'kernel consumer', point)


@limit(200)
def kernel_rotation_is_finished_after_kill_of_session_daemon(case):
    need_testpoints()
    for point in IN_SESSION:
        rotate_and_be_killed(case, 'session', point)


if __name__ == '__main__':
    print('# kills with seed %d' % SEED)
    kernel_main([
        kernel_records_under_load_are_in_one_chunk, user_and_kernel_channels_rotate_together,
        closed_kernel_chunk_can_be_removed_immediately, chunk_of_overwrite_buffers_has_the_records_since_rotation,
        follower_prints_each_kernel_record_once_over_rotations, random_kills_during_kernel_rotations_lose_no_records,
        kernel_rotation_is_finished_after_kill_of_consumer_daemon,
        kernel_rotation_is_finished_after_kill_of_session_daemon
    ])
