#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Rotations of a session: each record is in exactly one chunk, and each closed chunk is a complete trace, even if the
daemons are killed at any moment.
"""
import glob
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from daemon import World, numbers_of, state  # noqa: E402
from harness import SEED, Trace, check, limit, main, rounds  # noqa: E402
from hostile import ALICE, BOB  # noqa: E402
from t_daemon_users import world_of_root  # noqa: E402
from t_follow import Follower  # noqa: E402
from killed_once import KilledOnce, need_testpoints  # noqa: E402
from rotations import (
    CLAIM, IN_CONSUMER, IN_SESSION, SIZES, archives, check_chunks, check_counts, ended, failed_check, kill,
    more_records, numbers_in, planted, running, uuids)  # noqa: E402


@limit(60)
def each_record_is_in_one_chunk_after_rotations_under_load(case):
    for buffers, env in (([], {}), (['--buffers-pid'], {}), ([], CLAIM)):
        with World(case, name='load' + ''.join(buffers) + ''.join(env)) as w:
            case.ledger.__init__(case.ledger.path)
            w.begin('load', channel=SIZES + buffers)
            running(case, w, env=env)
            for n in range(rounds(30) + 2):
                more_records(case, w)
                is_now = w('rotate', 'load', '--json').json['sessions'][0]
                check(is_now['rotations'] == n + 1 and os.path.isdir(
                    os.path.join(is_now['path'], 'archives', is_now['closed_chunk'])), 'after a rotation: %s', is_now)
            more_records(case, w)
            is_now = ended(case, w, 'load')
            check_counts(case, is_now)
            chunks = check_chunks(case, is_now['path'])
            check(len(chunks) == is_now['rotations'], '%d of %d chunks have a trace', len(chunks), is_now['rotations'])


@limit(60)
def closed_chunk_can_be_removed_immediately(case):
    with World(case) as w:
        w.begin('gone', channel=SIZES)
        program = w.scripted()
        program('emit 10')
        w('rotate', 'gone')
        path = w.session('gone')['path']
        chunk, = archives(path)
        numbers, = numbers_of(Trace(chunk)).values()
        check(numbers == list(range(1, 11)), 'the closed chunk has %s', numbers)
        w.shell('rm -r "%s"' % chunk, '/')
        program('emit 10')
        w('rotate', 'gone')
        program('emit 5')
        program.end()
        text = w('stop', 'gone').out
        made = next(channel for channel in w.session('gone')['channels'] if channel['name'] == 'gone')
        check(made['counts']['records'] == 25, 'after stop: %s', made)
        check(' 0 lost, ' in text, 'stop prints: %s', text)
        _, trace = w.end('gone', lost=0)
        numbers, = numbers_of(trace).values()
        check(numbers == list(range(11, 26)), 'the other chunks have %s', numbers)
        w.children.remove(program.child)


@limit(60)
def rotation_splits_the_rings_of_all_users(case):
    """Each chunk has a trace of each user, and each trace ends at the rotation; one user's program has no rseq."""
    with world_of_root(case) as w:
        w.begin('all', channel=SIZES)
        programs = {ALICE: w.scripted(user=ALICE), BOB: w.scripted(user=BOB, env=CLAIM)}
        w.wait_apps([program.pid for program in programs.values()])
        turns = rounds(20) + 2
        for turn in range(turns):
            for n, program in enumerate(programs.values()):
                program('emit %d' % (10 + n))
            if turn < turns - 1:
                w('rotate', 'all')
        for program in programs.values():
            program.end()
            w.children.remove(program.child)
        is_now, _, numbers = w.finish('all', lost=0)
        check(sorted(map(len, numbers.values())) == [10 * turns, 11 * turns], 'wrong records: %s', numbers)
        chunks = check_chunks(case, is_now['path'])
        check(len(chunks) == turns - 1, '%d chunks after %d rotations', len(chunks), turns - 1)
        for turn, chunk in enumerate(chunks + [is_now['path']]):
            there = sorted(os.listdir(os.path.join(chunk, 'ust', 'uid')))
            check(there == sorted(str(user.pw_uid) for user in programs), '%s has traces of %s', chunk, there)
            for n, user in enumerate(programs):
                trace = Trace(os.path.join(chunk, 'ust', 'uid', str(user.pw_uid)))
                size = 10 + n
                wanted = list(range(turn * size + 1, (turn + 1) * size + 1))
                check(list(numbers_of(trace).values()) == [wanted], '%s: user %d has %s, not %s', chunk, user.pw_uid,
                      numbers_of(trace), wanted)


@limit(200)
def random_kills_during_rotations_lose_no_records(case):
    with World(case) as w:
        for turn in range(rounds(25)):
            case.ledger.__init__(case.ledger.path)
            name = 'k%d' % turn
            w.begin(name, channel=SIZES + case.random.choice(([], ['--buffers-pid'])))
            running(case, w)
            both = False
            for _ in range(3):
                more_records(case, w, 100)
                rotate = w.run([os.environ.get('WMK_WAYMARK', 'waymark'), 'rotate', name],
                               stderr=subprocess.DEVNULL)
                time.sleep(case.random.random() * 0.02)      # this is a moment, not a condition
                victims = case.random.sample([w.consumerd, w.sessiond], case.random.randrange(1, 3))
                for victim in victims:
                    kill(victim())
                both |= len(victims) > 1
                w.wait_end(rotate, None)
                w.start_daemon()
                begun = case.ledger.begun()
                w.wait(lambda: case.ledger.begun() > begun + 200, 'the program to record on')
                w('enable-event', '-s', name, '-c', name, 'test:*')
            w('rotate', name)
            is_now = ended(case, w, name)
            # Without both daemons, the next ones may close a chunk before its rings are back: its records do not count.
            if not both:
                check_counts(case, is_now)
            check(is_now['counts']['lost'] == 0, 'turn %d: %s', turn, is_now['counts'])
            check_chunks(case, is_now['path'])


def rotate_and_be_killed(case, daemon, point, **how):
    """Records before the rotation are in the closed chunk, later ones are not."""
    with World(case, name='%s-%s' % (daemon, point), daemon=False) as w:
        killed = KilledOnce(w, daemon, point, **how)
        w.begin('one', channel=SIZES)
        program = w.scripted()
        w.wait_apps([program.pid])
        program('emit 100')
        w('rotate', 'one', status=None)
        killed.wait()
        w.start_daemon()
        w.wait_apps([program.pid])
        program('emit 100')
        w.wait(lambda: len(archives(w.session('one')['path'])) == 1 and archives(w.session('one')['path'])[0][-2:] ==
               '-0' or w('rotate', 'one', status=None) is None, killed.row + ': the rotation to be finished')
        program('emit 50')
        w('rotate', 'one')
        program('emit 50')
        program.end()
        w.children.remove(program.child)
        is_now, trace = w.end('one', lost=0)
        check_counts(case, is_now, 300)
        found = numbers_of(trace)
        check(list(found.values()) == [list(range(1, 301))], '%s: the chunks have %s', killed.row,
              {writer: (len(n), n[:3], n[-3:]) for writer, n in found.items()})
        first = next(iter(numbers_of(Trace(archives(is_now['path'])[0])).values()), [])
        # If the daemon is killed before it has saved the session, nothing is closed: a later rotation closes the chunk.
        size = 200 if point == 'session_cut' else 100
        check(first == list(range(1, size + 1)), '%s: the first chunk has %d records: %s ... %s', killed.row,
              len(first), first[:3], first[-3:])
        found = uuids(is_now['path'])
        check(len(set(found)) == len(found), '%s: two chunks have one UUID: %s', killed.row, found)


@limit(200)
def rotation_is_finished_after_kill_of_consumer_daemon(case):
    need_testpoints()
    for point in IN_CONSUMER:
        rotate_and_be_killed(case, 'consumer', point)


@limit(60)
def planted_missing_rotation_journal_is_detected(case):
    need_testpoints()
    with failed_check('the first chunk has'):
        rotate_and_be_killed(case, 'consumer', 'rotation_journaled', consumerd=planted('no_journal'))


@limit(200)
def rotation_is_finished_after_kill_of_session_daemon(case):
    need_testpoints()
    for point in IN_SESSION:
        rotate_and_be_killed(case, 'session', point)


@limit(60)
def chunk_closed_before_its_rings_are_reattached_is_complete(case):
    """Both daemons crash within a packet, and the chunk is closed before the application reconnects."""
    with World(case) as w:
        w.begin('torn', channel=SIZES)
        program = w.scripted()
        os.sched_setaffinity(program.pid, {min(os.sched_getaffinity(0))})        # one stream
        path = w.session('torn')['path']

        def streams():
            return [f for f in glob.glob(path + '/**/torn_*', recursive=True) if not f.endswith('.idx')]
        program('emit 100')
        w.wait(lambda: any(os.path.getsize(f) for f in streams()), 'records in the trace')
        os.kill(program.pid, signal.SIGSTOP)
        w.wait(lambda: state(program.pid) == 'T', 'the program to stand still')
        for victim in (w.consumerd(), w.sessiond()):
            kill(victim)
        w.wait(lambda: not w.daemons(), 'the daemons to end')
        stream, = streams()
        with open(stream, 'r+b') as f:
            packet = f.read()
            f.write(packet[:120])               # the header, and less than a record
        w.start_daemon()
        w('rotate', 'torn')
        os.kill(program.pid, signal.SIGCONT)
        w.wait_apps([program.pid])
        program('emit 50')
        program.end()
        w.children.remove(program.child)
        is_now, trace = w.end('torn', lost=0)
        numbers, = numbers_of(trace).values()
        check(numbers == list(range(1, 151)), 'the chunks have %s', numbers)
        check(len(archives(is_now['path'])) == 1, 'chunks: %s', archives(is_now['path']))


@limit(60)
def follower_prints_each_record_once_over_rotations(case):
    with World(case) as w:
        w.begin('live', channel=SIZES)
        running(case, w)
        follower = Follower(w, 'live')
        for _ in range(rounds(50) + 2):
            more_records(case, w, 200)
            w('rotate', 'live')
        more_records(case, w)
        case.ledger.set_flag(1, 1)
        w.wait_end(next(child for child in w.children if child is not follower.child))
        w.stop('live')
        w('destroy', 'live')
        w.children.remove(follower.child)
        found = numbers_in(line.decode('latin-1') for line in follower.end())
        for writer, (begun, _) in case.ledger.read().items():
            numbers = found.get(writer, [])
            # Chunks overlap in time: a thread that changes its CPU during a cut has records in the other order.
            check(sorted(numbers) == list(range(1, begun + 1)),
                  'writer %d: %d records of %d were printed, from %s to %s', writer, len(numbers), begun, numbers[:3],
                  numbers[-3:])


if __name__ == '__main__':
    print('# kills with seed %d' % SEED)
    main([
        each_record_is_in_one_chunk_after_rotations_under_load, closed_chunk_can_be_removed_immediately,
        rotation_splits_the_rings_of_all_users,
        random_kills_during_rotations_lose_no_records, chunk_closed_before_its_rings_are_reattached_is_complete,
        rotation_is_finished_after_kill_of_consumer_daemon,
        follower_prints_each_record_once_over_rotations, rotation_is_finished_after_kill_of_session_daemon,
        planted_missing_rotation_journal_is_detected
    ])
