#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Ring files (`create --shm-path`): their records survive all processes, and `recover` or the next session daemon writes
them to the trace.
"""
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from daemon import World, numbers_of, state  # noqa: E402
from harness import SEED, WAYMARK, Trace, check, limit, main, rounds, slurp, small_disk  # noqa: E402


def begin(w, name, where, *channel):
    w('create', name, '--shm-path', where)
    if channel:
        w('enable-channel', '-s', name, name, *channel)
    w('enable-event', '-s', name, 'test:*', *(('-c', name) if channel else ()))
    w('start', name)


def kill_all(w, programs, random=None):
    """Kill every process of this world one by one, in random order if `random` is given."""
    w.remember_rings()
    victims = [p for p in (w.sessiond(), w.consumerd()) if p] + list(programs)
    if random:
        random.shuffle(victims)
    for victim in victims:
        if isinstance(victim, int):
            os.kill(victim, signal.SIGKILL)
        else:
            victim.kill()
    # a session daemon that survives its consumer daemon starts another one
    w.wait(
        lambda: not [os.kill(pid, signal.SIGKILL) for pid in w.daemons()
                     if state(pid) not in ('Z', None)] and not w.own_processes(), 'all processes to end')


def kill_daemons(w):
    for pid in (w.sessiond(), w.consumerd()):
        os.kill(pid, signal.SIGKILL)
    w.wait(lambda: not [pid for pid in w.daemons() if state(pid) not in ('Z', None)], 'the daemons to end')


def freeze(w):
    """Stop the consumer daemon, so that records stay in the rings."""
    pid = w.consumerd()
    os.kill(pid, signal.SIGSTOP)
    w.wait(lambda: state(pid) == 'T', 'the consumer daemon to stop')


def files_of(where):
    return [f for f in glob.glob(os.path.join(where, '*', '*.rings'))]


def recovered(w, where, n=1):
    """Run `waymark recover`. Returns the last state of the `n` sessions."""
    answer = w('recover', where, '--json')
    found, at, decoder = [], 0, json.JSONDecoder()
    text = answer.out.strip()
    while at < len(text):
        one, end = decoder.raw_decode(text, at)
        found += one['sessions']
        at = end + len(text[end:]) - len(text[end:].lstrip())
    check(len(found) == n, 'wrong number of recovered sessions: %s', answer.out)
    check(os.listdir(where) == [], 'files are left in %s: %s', where, os.listdir(where))
    check(not glob.glob('/tmp/waymark-recover-*'), 'files are left in /tmp: %s', glob.glob('/tmp/waymark-recover-*'))
    return found


def check_complete(trace, calls, turn):
    """
    Check that each call that returned has its record, and that there are no more records than calls; `calls`: {writer:
    (begun, returned)}.
    """
    found = numbers_of(trace)
    for writer, (begun, returned) in calls.items():
        numbers = found.pop(writer, [])
        check(numbers == list(range(1,
                                    len(numbers) + 1)) and returned <= len(numbers) <= begun,
              'turn %d: writer %d: %d of %d calls have returned, but the trace ends with %s', turn, writer, returned,
              begun, numbers[-5:])
    check(not found, 'turn %d: records of unknown writers: %s', turn, list(found))


@limit(120)
def records_survive_the_kill_of_all_processes(case):
    """
    All processes are killed at a random moment in random order, with per-user and per-process buffers. All completed
    records are in the trace.
    """
    writers = set()
    for turn in range(rounds(30)):
        with World(case, 'home%d' % turn, daemon=False) as w:
            where = case.path('rings%d' % turn)
            begin(w, 'one', where, *(('--buffers-pid',) if turn % 2 else ()))
            programs = [w.scripted() for _ in range(3)]
            before = w.session('one')['path']
            programs[0]('threads 2')
            for program in programs[1:]:
                program('emit %d' % case.random.randrange(1, 3000))
            if case.random.random() < 0.7:
                freeze(w)
                for program in programs[1:]:
                    program('emit %d' % case.random.randrange(1, 3000))
            kill_all(w, programs, case.random)
            session = recovered(w, where)[0]
            check(session['path'] == before and session['counts']['lost'] == 0, 'turn %d: wrong path or losses: %s',
                  turn, session['counts'])
            trace = Trace(session['path'])
            check_complete(trace,
                           {writer: calls for writer, calls in case.ledger.read().items() if writer not in writers},
                           turn)
            writers = set(case.ledger.read())
            check(
                w('view').out.count('test:seq') == len(list(trace.records('test:seq'))),
                '`view` does not show the recovered trace')


def next_daemon_finds_ring_files_without_applications(case):
    """No application survives either. The next session daemon finds the rings by itself, and new records go to them."""
    with World(case) as w:
        where, program = case.path('rings'), w.scripted()
        begin(w, 'one', where)
        freeze(w)
        program('emit 100')
        files = sorted(files_of(where))
        kill_all(w, [program])
        w.start_daemon()
        check(w.session('one')['active'], 'the session is not active')
        other = w.scripted()
        other('emit 50')
        check(sorted(files_of(where)) == files, 'the ring files changed: %s', files_of(where))
        other.end()
        numbers = w.finish('one', lost=0)[2]
        check(
            sorted(len(n) for n in numbers.values()) == [50, 100], 'wrong records: %s',
            {k: len(n) for k, n in numbers.items()})
        check(os.listdir(where) == [], 'wrong files are left: %s', os.listdir(where))


def recover_does_not_change_rings_in_use(case):
    """`recover` fails without changes while an application maps the rings. The next daemon continues with them."""
    with World(case) as w:
        where, program = case.path('rings'), w.scripted()
        begin(w, 'one', where)
        freeze(w)
        program('emit 10')
        for pid in (w.sessiond(), w.consumerd()):
            os.kill(pid, signal.SIGKILL)
        w.wait(lambda: not w.daemons(), 'both daemons to end')
        files = sorted(files_of(where))
        w('recover', where, status=1).prints('still uses')
        check(sorted(files_of(where)) == files, 'the ring files changed')
        w.start_daemon()
        w.wait_apps([program.pid])
        program('emit 10')
        # the daemon still maps them
        program.end()
        w('recover', where, status=1).prints('still uses')
        check([len(n) for n in w.finish('one', lost=0)[2].values()] == [20], 'records are missing')
        w('recover', where, status=1).prints('nothing to recover')
        w('recover', case.path('none'), status=1).prints('cannot list')
        w('recover', status=2).prints('no directory given')


def rings_of_another_machine_are_recovered(case):
    """The trace has the clock of the recording, not that of this machine. The state directory is not needed."""
    def metadata(session):
        check(len(list(Trace(session['path']).records('test:seq'))) == 10, 'records are missing in %s', session['path'])
        return slurp(glob.glob(session['path'] + '/ust/uid/*/64-bit/metadata')[0])

    def seconds(session):
        return int(re.search(r'offset_s = (-?\d+);', metadata(session))[1])

    with World(case) as w:
        where, program = case.path('rings'), w.scripted()
        os.mkdir(where, 0o700)
        for name in ('one', 'two'):
            begin(w, name, os.path.join(where, name) if name == 'one' else where)
        freeze(w)
        program('emit 10')
        kill_all(w, [program])
        for path in glob.glob(os.path.join(where, 'two*', 'clock.json')):
            clocks = json.loads(slurp(path))
            for clock in clocks['clocks']:
                clock['offset_s'] -= 5000000
                clock['uuid'] = '01234567-89ab-cdef-0123-456789abcdef'
            with open(path, 'w') as f:
                json.dump(clocks, f)
        for path in glob.glob(os.path.join(w.rundir, 'state', '*')):
            os.unlink(path)
        one = recovered(w, os.path.join(where, 'one'))[0]
        os.rmdir(os.path.join(where, 'one'))
        # `recover` works on a copy of the directory, too
        shutil.copytree(where, case.path('copy'))
        shutil.rmtree(where)
        two = recovered(w, case.path('copy'))[0]
        check(seconds(one) - seconds(two) == 5000000, 'wrong offsets of clocks: %s, %s', metadata(one), metadata(two))
        check('01234567-89ab-cdef' in metadata(two), 'the trace has another UUID of the clock')


def streams_of(session):
    return [
        f for f in glob.glob(session['path'] + '/ust/uid/*/64-bit/*')
        if os.path.basename(f).startswith('one_') and os.path.getsize(f)
    ]


def recover_completes_a_truncated_trace(case):
    """
    Parts of the trace are lost with the machine. The records in the rings are recovered. Other records are counted as
    lost, or as a gap if their number is unknown.
    """
    for what in ('nothing', 'metadata', 'streams', 'halves'):
        with World(case, 'home-' + what) as w:
            where, program = case.path('rings-' + what), w.scripted(env={'WAYMARK_ALLOW_BLOCKING': '1'})
            writers = set(case.ledger.read())
            begin(w, 'one', where, '--subbuf-size', '4k', '--num-subbuf', '8', '--blocking-timeout', 'inf')
            program('emit 3000')
            before = w.stop('one')
            w('start', 'one')
            freeze(w)
            program('emit 20')
            kill_all(w, [program])
            streams = streams_of(before)
            check(streams, 'all streams are empty')
            if what == 'nothing':
                shutil.rmtree(before['path'])
            for path in streams if what == 'streams' else glob.glob(
                    before['path'] + '/ust/uid/*/64-bit/metadata') if what == 'metadata' else ():
                os.unlink(path)
            for path in streams if what == 'halves' else ():
                os.truncate(path, os.path.getsize(path) // 2)
            session = recovered(w, where)[0]
            counts = next(c['counts'] for c in session['channels'] if c['name'] == 'one')
            trace = Trace(session['path'], lossy=counts['lost'] > 0)
            found = {k: v for k, v in numbers_of(trace).items() if k not in writers}
            numbers = next(iter(found.values()))
            check(
                len(found) == 1 and numbers[-20:] == list(range(3001, 3021)),
                '%s: records of the rings are missing: %s', what, numbers[-25:])
            if what == 'metadata':
                check(len(numbers) == 3020 and counts['lost'] == 0, '%s: %d records, %s', what, len(numbers), counts)
            elif what == 'halves':
                check(counts['gaps'] >= 1 and 100 < len(numbers) < 3000 and numbers[0] == 1, '%s: %d records, %s', what,
                      len(numbers), counts)
            else:
                check(counts['lost'] > 0 and counts['gaps'] == 0 and len(numbers) + counts['lost'] == 3020,
                      '%s: %d records, %s', what, len(numbers), counts)


def damage_in_a_ring_directory_is_reported_by_recover(case):
    """
    `recover` rejects a directory without a clock or a valid session and keeps it. It reports invalid rings and recovers
    the others.
    """
    with World(case) as w:
        where, program = case.path('rings'), w.scripted()
        begin(w, 'one', where)
        w('enable-channel', '-s', 'one', 'other')
        w('enable-event', '-s', 'one', 'scripted:*', '-c', 'other')
        freeze(w)
        program('emit 10')
        program('late 10')
        place_of_trace = w.session('one')['path']
        check(len(files_of(where)) == 3, 'wrong ring files: %s', files_of(where))
        kill_all(w, [program])
        place = glob.glob(os.path.join(where, 'one-*'))[0]
        os.rename(os.path.join(place, 'clock.json'), case.path('clock'))
        w('recover', where, status=1).prints('clock of the recording')
        os.rename(case.path('clock'), os.path.join(place, 'clock.json'))
        whole = slurp(os.path.join(place, '1.json'))
        damaged = json.loads(whole)
        for rings in damaged['rings']:
            rings['set'] = '01234567-89ab-cdef-0123-456789abcdef'
        with open(os.path.join(place, '1.json'), 'w') as f:
            json.dump(damaged, f)
        w('recover', where, status=1).prints('cannot take over any ring of the session: the ring set offered')
        check(len(files_of(where)) == 3, 'wrong ring files: %s', files_of(where))
        with open(os.path.join(place, '1.json'), 'w') as f:
            f.write(whole[:len(whole) // 2])
        w('recover', where, status=1).prints('cannot read the session in 1.json')
        with open(os.path.join(place, '1.json'), 'w') as f:
            f.write(whole)
        cut = next(rings for rings in json.loads(whole)['rings'] if rings.get('stream_id', 0) in (0, 2))
        for path in files_of(where):
            if int(os.path.basename(path).split('.')[0]) == cut['id']:
                os.truncate(path, 100000)
        answer = w('recover', where, status=1)
        answer.prints('recovered', 'stay unchanged', 'is not a ring set')
        check([int(os.path.basename(f).split('.')[0]) for f in files_of(where)] == [cut['id']],
              'wrong files are left: %s', files_of(where))
        found = Trace(place_of_trace)
        left = {True: 'scripted:late', False: 'test:seq'}[cut['stream_id'] == 0]
        check([len(list(found.records(name))) for name in ('scripted:late', 'test:seq')
               ] == [10 * (left == name) for name in ('scripted:late', 'test:seq')], 'wrong records: %s',
              found.lines[:3])


def rings_of_ended_processes_are_recovered(case):
    """
    Per-process buffers: processes end before the consumer daemon has written their records, then all others are killed.
    """
    for how in ('recover', 'next daemon'):
        writers = set(case.ledger.read())
        with World(case, 'home-' + how[:4]) as w:
            where, first = case.path('rings-' + how[:4]), w.scripted()
            begin(w, 'one', where, '--buffers-pid')
            first('emit 1')
            path = w.session('one')['path']
            freeze(w)
            for _ in range(3):
                program = w.scripted()
                program('emit 100')
                program.end()
            kill_all(w, [first])
            check(len(files_of(where)) == 5, 'wrong ring files: %s', files_of(where))
            if how == 'recover':
                recovered(w, where)
            else:
                w.start_daemon()
                w('destroy', 'one')
                check(os.listdir(where) == [], 'wrong files are left: %s', os.listdir(where))
            found = {k: len(v) for k, v in numbers_of(Trace(path)).items() if k not in writers}
            check(sorted(found.values()) == [1, 100, 100, 100], '%s: wrong records: %s', how, found)


def recover_on_a_full_disk_keeps_the_rings(case):
    """
    Records that do not fit on the disk stay in the rings until the next `recover`. Records beyond --max-size are
    counted as unwritten.
    """
    with small_disk(case, '64k') as place:
        with World(case) as w:
            where, program = case.path('rings'), w.scripted()
            w('create', 'one', '--shm-path', where, '-o', os.path.join(place, 'trace'))
            w('enable-event', '-s', 'one', 'test:*')
            w('start', 'one')
            freeze(w)
            program('emit 4000')
            kill_all(w, [program])
            for _ in range(2):
                w('recover', where, status=1).prints('No space left', 'is kept')
                check(len(files_of(where)) == 1, 'unwritten rings were removed: %s', files_of(where))
            subprocess.run(['mount', '-o', 'remount,size=64m', place], check=True)
            session = recovered(w, where)[0]
            check([len(n) for n in numbers_of(Trace(session['path'])).values()] == [4000], 'records are missing')
            check(session['counts']['lost'] == 0, 'records are lost: %s', session['counts'])
        with World(case, 'limited') as w:
            where, program = case.path('limited-rings'), w.scripted()
            w('create', 'one', '--shm-path', where, '--max-size', '80k')
            w('enable-channel', '-s', 'one', 'one', '--subbuf-size', '64k')
            w('enable-event', '-s', 'one', 'test:*', '-c', 'one')
            w('start', 'one')
            freeze(w)
            program('emit 4000')
            kill_all(w, [program])
            counts = recovered(w, where)[0]['counts']
            check(counts['unwritten'] > 0, 'more than --max-size was written: %s', counts)


def concurrent_recovers_write_each_record_once(case):
    """
    Several `recover` commands run at once, one is interrupted, and a daemon starts meanwhile. Each record is written
    once, and no file is left.
    """
    for turn in range(rounds(12)):
        with World(case, 'home%d' % turn) as w:
            where, program = case.path('rings%d' % turn), w.scripted()
            begin(w, 'one', where)
            freeze(w)
            program('emit 100')
            path = w.session('one')['path']
            kill_all(w, [program])
            others = [w.run([WAYMARK, 'recover', where], stderr=subprocess.DEVNULL) for _ in range(2)]
            time.sleep(case.random.random() / 10)
            if turn % 2:
                others[0].send_signal(signal.SIGINT)
                w('list')
            for other in others:
                w.wait_end(other, status=None)
            if os.listdir(where):
                w('-n', 'destroy', '--all', status=None)
                w('recover', where, status=None)
            w('-n', 'destroy', '--all', status=None)
            check(os.listdir(where) == [], 'turn %d: left: %s', turn, os.listdir(where))
            check([len(n) for n in numbers_of(Trace(path)).values()] == [100], 'turn %d: records are missing', turn)
            w.wait(lambda: not glob.glob('/tmp/waymark-recover-*'), 'files in /tmp to be removed')


def truncated_ring_file_affects_only_its_session(case):
    """Ring files are truncated while the daemons map them. The daemons survive, and another session is complete."""
    with World(case) as w:
        where, program = case.path('rings'), w.scripted()
        begin(w, 'one', where)
        w.begin('two', 'scripted:*')
        program('emit 100')
        program('late 100')
        os.kill(program.pid, signal.SIGSTOP)
        w.wait(lambda: state(program.pid) == 'T', 'the program to stop')
        pids = [w.sessiond(), w.consumerd()]
        for path in files_of(where):
            os.truncate(path, 0)
        program.kill()
        other = w.scripted()
        other.send('late 100')           # its records do not reach the truncated file
        check(other.answer() == 'ok', 'the application of another session crashed')
        w('list', 'one')
        w('stop', 'one', status=None)
        session = w.stop('two')
        check(
            len(list(Trace(session['path']).records('scripted:late'))) == 200 and session['counts']['lost'] == 0,
            'wrong records of the other session: %s', session['counts'])
        check([w.sessiond(), w.consumerd()] == pids, 'a daemon has crashed')
        w('destroy', 'one', status=None)
        w('destroy', 'two')


def recording_continues_when_ring_files_are_removed(case):
    """Ring files are removed with their directory. Applications that map them, and new ones, record on without loss."""
    with World(case) as w:
        where, program = case.path('rings'), w.scripted()
        begin(w, 'one', where)
        program('emit 10')
        shutil.rmtree(where)
        other = w.scripted()
        for who in (program, other):
            who('emit 5')
            who.end()
        check(sorted(len(n) for n in w.finish('one', lost=0)[2].values()) == [5, 15], 'records are missing')


def next_daemon_reattaches_rings_of_removed_files(case):
    """
    The directory is removed and both daemons are killed. The application that maps the rings hands them to the next
    daemon.
    """
    with World(case) as w:
        where, program = case.path('rings'), w.scripted()
        begin(w, 'one', where)
        freeze(w)
        program('emit 100')
        shutil.rmtree(where)
        kill_daemons(w)
        w.start_daemon()
        w.wait_apps({program.pid})
        program('emit 5')
        program.end()
        check([len(n) for n in w.finish('one', lost=0)[2].values()] == [105], 'records are missing')


def unsafe_ring_directories_are_rejected(case):
    """
    Directories that others can write to, links and missing parents are rejected. `save` and `load` keep the path, and
    `list` shows it.
    """
    with World(case) as w:
        bad = case.path('bad')
        os.mkdir(bad)
        os.chmod(bad, 0o777)
        w('create', 'one', '--shm-path', bad, status=1).prints('may have write access')
        os.chmod(bad, 0o700)
        os.symlink(bad, case.path('link'))
        w('create', 'one', '--shm-path', case.path('link'), status=1).prints('link')
        w('create', 'one', '--shm-path', case.path('none/below'), status=1).prints('none/below')
        w('create', 'one', '--shm-path', '', status=2)
        check(os.listdir(bad) == [], 'wrong files are left: %s', os.listdir(bad))
        w('create', 'one', '--shm-path', bad)
        w('create', 'one', '--shm-path', bad, status=1).prints('already')
        check(len(os.listdir(bad)) == 1, 'wrong files are left: %s', os.listdir(bad))
        w('list', 'one').prints('ring files in ' + bad)
        check(
            os.path.dirname(w.session('one')['shm_path']) == bad, 'list shows another directory: %s',
            w.session('one')['shm_path'])
        w('save', 'one', '-o', case.path('saved'))
        w('destroy', 'one')
        check(os.listdir(bad) == [], 'wrong files are left: %s', os.listdir(bad))
        w('load', '-i', case.path('saved'))
        check(
            os.path.dirname(w.session('one')['shm_path']) == bad, 'the loaded session has another directory: %s',
            w.session('one')['shm_path'])
        w('load', '-i', case.path('saved'), '-f')
        check(len(os.listdir(bad)) == 1, 'wrong files are left: %s', os.listdir(bad))
        # a foreign file is kept
        kept = os.path.join(w.session('one')['shm_path'], 'letter')
        with open(kept, 'w') as f:
            f.write('dear')
        w('destroy', 'one')
        check(
            os.listdir(os.path.dirname(kept)) == ['letter'], 'wrong files are left: %s',
            os.listdir(os.path.dirname(kept)))


if __name__ == '__main__':
    print('# moments with seed %d' % SEED)
    main([
        records_survive_the_kill_of_all_processes, next_daemon_finds_ring_files_without_applications,
        recover_does_not_change_rings_in_use, rings_of_another_machine_are_recovered,
        recover_completes_a_truncated_trace, damage_in_a_ring_directory_is_reported_by_recover,
        rings_of_ended_processes_are_recovered, recover_on_a_full_disk_keeps_the_rings,
        concurrent_recovers_write_each_record_once, truncated_ring_file_affects_only_its_session,
        recording_continues_when_ring_files_are_removed, next_daemon_reattaches_rings_of_removed_files,
        unsafe_ring_directories_are_rejected
    ])
