#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Scheduled rotations of a session, and the retention of its closed chunks: by size, age and number; chunks that are
being read; daemons that are killed.
"""
import fcntl
import os
import re
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from daemon import World, numbers_of  # noqa: E402
from harness import WAYMARK, Trace, check, communicated, finished, limit, main, rounds  # noqa: E402
from killed_once import KilledOnce, need_testpoints  # noqa: E402
from rotations import SIZES, archives, check_chunks, ended, kill, running  # noqa: E402

SCHEDULE = ('rotate_us', 'rotate_size', 'retain_size', 'retain_us', 'retain_count')


def schedule_of(w, name):
    is_now = w.session(name)
    return tuple(is_now.get(member, 0) for member in SCHEDULE)


def disk_use(path):
    """Bytes of all files below a directory. Files can be removed meanwhile."""
    size = 0
    for top, _, names in os.walk(path):
        for name in names:
            try:
                size += os.lstat(os.path.join(top, name)).st_size
            except FileNotFoundError:
                pass
    return size


def rotation_schedule_is_saved_and_restored_with_its_session(case):
    """Options change only their own setting; `list`, `save`, `load` and the next session daemon have all of them."""
    with World(case) as w:
        w.begin('kept', channel=SIZES)
        said = w('enable-rotation', 'kept', '--timer=1h', '--size', '1M').out
        check('rotated every 1 h, rotated at 1M' in said, 'enable-rotation: %s', said)
        w('enable-rotation', 'kept', '--timer', '7200000000', '--retain-size=1G', '--retain-age=48h',
          '--retain-count=9')
        wanted = (7200 * 10**6, 1 << 20, 1 << 30, 48 * 3600 * 10**6, 9)
        check(schedule_of(w, 'kept') == wanted, 'the schedule is %s', schedule_of(w, 'kept'))
        kill(w.sessiond())
        w.start_daemon()
        check(schedule_of(w, 'kept') == wanted, 'after a restart: %s', schedule_of(w, 'kept'))
        w('save', 'kept', '--output-path', case.path('kept.json'))
        w('load', 'kept', '--input-path', case.path('kept.json'), '--override-name', 'loaded', '--default-output')
        check(schedule_of(w, 'loaded') == wanted, 'after load: %s', schedule_of(w, 'loaded'))
        said = w('disable-rotation', 'kept', '--timer', '--retention').out
        check('rotated at 1M' in said and 'keeps' not in said, 'disable-rotation: %s', said)
        check(schedule_of(w, 'kept') == (0, 1 << 20, 0, 0, 0), 'the schedule is %s', schedule_of(w, 'kept'))
        check('no scheduled rotations' in w('disable-rotation', 'kept').out, 'disable-rotation')
        check('rotated' not in w('list', 'kept').out, 'list: %s', w('list', 'kept').out)


def invalid_rotation_schedules_are_refused(case):
    with World(case) as w:
        w.begin('bad')
        for options, words in ((['--size', '100'], 'the minimum is 4096'), (['--timer', '5ms'], 'too short'),
                               (['--retain-size', '5k'], 'the minimum is 40960'), ([], 'no schedule given')):
            said = w('enable-rotation', 'bad', *options, status=None).err
            check(words in said, '%s: %s', options, said)
        w('create', 'flight', '--snapshot')
        said = w('enable-rotation', 'flight', '--size', '1M', status=1).err
        check('flight recorder' in said, 'a flight recorder: %s', said)


@limit(60)
def session_is_rotated_by_size_and_by_time(case):
    for name, options in (('sized', ['--size', '16k']), ('timed', ['--timer', '100ms'])):
        with World(case, name=name) as w:
            case.ledger.__init__(case.ledger.path)
            w.begin(name, channel=SIZES)
            w('enable-rotation', name, *options)
            running(case, w)
            w.wait(lambda: w.session(name)['rotations'] >= 2, 'two rotations')
            # The schedule continues after a daemon has crashed.
            if name == 'sized':
                kill(w.consumerd())
                w.wait(w.consumerd, 'the next consumer daemon')
            else:
                kill(w.sessiond())
                w.start_daemon()
            after = w.session(name)['rotations']
            w.wait(lambda: w.session(name)['rotations'] >= after + 1, 'a rotation after a crash')
            w('disable-rotation', name)
            is_now = ended(case, w, name)
            chunks = check_chunks(case, is_now['path'])
            check(len(chunks) >= 3, 'only %d chunks', len(chunks))
            sizes = [disk_use(chunk) for chunk in chunks]
            if name == 'sized':
                check(min(sizes[:3]) >= 16 << 10, 'chunks have %s bytes', sizes)


def stopped_session_is_not_rotated(case):
    with World(case) as w:
        w.begin('idle', channel=SIZES)
        w('enable-rotation', 'idle', '--timer', '100ms')
        w.wait(lambda: w.session('idle')['rotations'] >= 1, 'a rotation')
        w.stop('idle')
        n = w.session('idle')['rotations']
        w.begin('other', channel=SIZES)
        w('enable-rotation', 'other', '--timer', '100ms')
        w.wait(lambda: w.session('other')['rotations'] >= 3, 'rotations of another session')
        check(w.session('idle')['rotations'] <= n + 1, 'the stopped session was rotated: %d, then %d', n,
              w.session('idle')['rotations'])


def number(chunk):
    return int(chunk.rsplit('-', 1)[1])


def chunks_of(path):
    """The numbers of the closed chunks, in order."""
    place = os.path.join(path, 'archives')
    return sorted(number(name) for name in (os.listdir(place) if os.path.isdir(place) else [])
                  if name[0] != '.' and name != 'own')


def places(path):
    """The names in archives/, with hidden ones, and the directory of the open chunk."""
    place, opened = os.path.join(path, 'archives'), os.path.join(path, 'ust', 'uid', str(os.geteuid()), '64-bit')
    return (os.listdir(place) if os.path.isdir(place) else [],
            os.stat(opened).st_ino if os.path.isdir(opened) else 0)


def begin(w, name, *options, num_subbuf=32):
    w('create', name, *options)
    w('enable-channel', '-s', name, 'main', '--subbuf-size', '8k', '--num-subbuf', num_subbuf)
    w('enable-event', '-s', name, '-c', 'main', 'test:seq')
    w('start', name)
    return w.session(name)['path']


@limit(60)
def trace_stays_within_the_retained_size(case):
    """The oldest chunks are deleted, also from the budget of --max-size: the session does not stop."""
    size, step, steps = 800 << 10, 2500, rounds(100) + 6      # a step is more than a tenth of the size
    with World(case) as w:
        path = begin(w, 'small', '--max-size', '1200k')
        w('enable-rotation', 'small', '--retain-size', '800k')
        program, largest = w.scripted(), [0]

        def is_rotated():
            before, use = places(path), disk_use(path)
            if before == places(path):                      # no chunk was moved while the files were counted
                largest[0] = max(largest[0], use)
            return chunks_of(path)[-1:] >= [n]
        for n in range(steps):
            program('emit %d' % step)
            w.wait(is_rotated, 'a rotation')
        check(size // 2 < largest[0] <= 1.05 * size + size // 10, '%d bytes on the disk', largest[0])
        kept = chunks_of(path)
        check(kept and kept[0] > 2, 'the chunks are %s', kept)
        check(kept == list(range(kept[0], kept[-1] + 1)), 'the oldest chunks were not the first: %s', kept)
        w.end_programs()
        is_now = w.stop('small')
        check(not is_now['full'], 'the session is full')
        w('destroy', 'small')
        found = next(iter(numbers_of(Trace(path)).values()))
        last = step * steps
        check(found == list(range(found[0], last + 1)), 'records %s ... %s of %d', found[:3], found[-3:], last)


def newest_chunks_are_kept_by_count(case):
    """A directory that a crash has left is removed. Directories with other names are kept."""
    with World(case) as w:
        path = begin(w, 'counted')
        w('enable-rotation', 'counted', '--retain-count=3')
        program = w.scripted()
        for n in range(6):
            program('emit 10')
            w('rotate', 'counted')
            check(chunks_of(path) == list(range(max(0, n - 2), n + 1)), 'chunks %s after %d', chunks_of(path), n)
            left = os.path.join(path, 'archives', '.20260102T030405+0000-20260102T030406+0000-%d.deleted' % n)
            check(not os.path.exists(left.replace('%d.d' % n, '%d.d' % (n - 1))), 'a deleted chunk is left')
            os.makedirs(os.path.join(left, 'ust'))
            os.makedirs(os.path.join(path, 'archives', 'own'), exist_ok=True)
        w.end_programs()
        w.stop('counted')
        w('rotate', 'counted')
        check(sorted(name for name in os.listdir(os.path.join(path, 'archives')) if name[0] in '.o') == ['own'],
              'left: %s', os.listdir(os.path.join(path, 'archives')))


def is_locked(path):
    fd = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False


@limit(60)
def chunk_in_use_by_a_reader_is_deleted_after_a_time_limit(case):
    """A `view` that began before prints the whole chunk, also if it is deleted at the time limit."""
    with World(case) as w:
        path = begin(w, 'read')
        program = w.scripted()
        for _ in range(20):
            program('emit 150')
        w('rotate', 'read')
        first = archives(path)[0]
        view = subprocess.Popen([WAYMARK, 'view', first], env=case.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        w.wait(lambda: is_locked(first), 'the reader to lock the chunk')
        w('enable-rotation', 'read', '--retain-count=1')
        for _ in range(3):
            program('emit 10')
            w('rotate', 'read')
        check(chunks_of(path) == [0, 3], 'the chunks are %s', chunks_of(path))
        check('is not deleted yet: a reader has locked it' in w.printed(), 'the log: %s', w.printed())
        mark = os.path.join(path, 'archives', '.%s.locked' % os.path.basename(first))
        since = os.stat(mark).st_mtime - 601
        os.utime(mark, (since, since))
        w('rotate', 'read')
        check(chunks_of(path) == [4], 'after the time limit, the chunks are %s', chunks_of(path))
        check('the time limit of 10 minutes is over' in w.printed(), 'the log: %s', w.printed())
        check(not os.path.exists(mark), 'the mark is left')
        out, err = communicated(view)
        check(view.returncode == 0 and out.count(b'test:seq') == 3000, 'view: status %d, %d records: %s',
              view.returncode, out.count(b'test:seq'), err.decode())


@limit(60)
def unthrottled_writer_does_not_exceed_the_retained_size(case):
    """The sum is sampled every 100 ms while a program records without pauses."""
    size = 5 << 20
    with World(case) as w:
        path = begin(w, 'free', num_subbuf=512)             # room for records while the consumer daemon waits for a CPU
        w('enable-rotation', 'free', '--retain-size', size)
        w.run([case.program('busy'), 'until', '1', '15000'])
        largest, chunk, end = 0, size // 10, 2 + rounds(40)
        while not chunks_of(path) or chunks_of(path)[0] < end:
            before, use = places(path), disk_use(path)
            if before == places(path):                      # no chunk was moved while the files were counted
                largest = max(largest, use)
            chunk = max([chunk, *map(disk_use, archives(path))])
            time.sleep(0.1)                                 # this is the interval of the samples
        is_now = ended(case, w, 'free')
        print('# %d rotations; at most %.3f of the size; a chunk has at most %.3f' %
              (is_now['rotations'], largest / size, chunk / size))
        check(size // 2 < largest <= 1.05 * size + chunk, '%d bytes on the disk, %d of a chunk', largest, chunk)
        check(is_now['counts']['lost'] == 0, 'lost: %s', is_now['counts'])


def viewed(case, path):
    """(status, {writer: numbers}, stderr) of `view`."""
    done = finished([WAYMARK, 'view', path], env=case.env, capture_output=True, text=True)
    found = [int(n) for n in re.findall(r'test:seq .* seq=(\d+)', done.stdout)]
    return done.returncode, found, done.stderr


@limit(60)
def view_of_a_chunk_that_is_deleted_is_complete_or_reports_it(case):
    """`view` of a chunk while retention deletes the oldest chunks of a free writer."""
    with World(case) as w:
        path, whole, gone = begin(w, 'race'), 0, 0
        w('enable-rotation', 'race', '--size', '64k', '--retain-count', '2')
        w.run([case.program('busy'), 'until', '1', '60000'])
        turns = rounds(100) + 2
        for turn in range(turns):
            w.wait(lambda: len(archives(path)) > 1, 'closed chunks')
            chunk, copy = archives(path)[0], case.path('copy%d' % turn)
            # links to the files: retention deletes the chunk, not the copy
            if finished(['cp', '-al', chunk, copy], capture_output=True).returncode:
                continue
            time.sleep(case.random.random() * 0.1)          # this is a moment, not a condition
            status, found, err = viewed(case, chunk)
            expected = viewed(case, copy)[1]
            check(expected == list(range(expected[0], expected[-1] + 1)), 'the copy has gaps')
            if status:
                check(not found and 'has been deleted, by the retention' in err, 'view: %d records: %s', len(found),
                      err)
            else:
                check(found == expected, 'view: %d records of %d: %s', len(found), len(expected), err)
            whole, gone = whole + (status == 0), gone + (status != 0)
        ended(case, w, 'race')
        print('# %d chunks were printed, %d reported as deleted' % (whole, gone))
        check(whole + gone > 0, 'no chunk was read')


@limit(60)
def chunks_above_the_maximum_age_are_deleted(case):
    with World(case) as w:
        path = begin(w, 'aged')
        w.scripted()('emit 10')
        w('enable-rotation', 'aged', '--retain-age=1s')
        w.wait(lambda: chunks_of(path) and chunks_of(path)[0] > 2, 'the first chunks to be deleted')
        kept = chunks_of(path)
        check(kept[-1] > kept[0], 'new chunks are deleted, too: %s', kept)


@limit(60)
def chunk_deletion_is_finished_after_kill_of_consumer_daemon(case):
    need_testpoints()
    with World(case, daemon=False) as w:
        killed = KilledOnce(w, 'consumer', 'retention_renamed')
        path = begin(w, 'cut')
        w('enable-rotation', 'cut', '--retain-count=1')
        program = w.scripted()
        for _ in range(4):
            program('emit 10')
            w('rotate', 'cut')
        killed.wait()
        check(chunks_of(path) == [3], 'the chunks are %s', chunks_of(path))
        check(not [name for name in os.listdir(os.path.join(path, 'archives')) if name[0] == '.'], 'left: %s',
              os.listdir(os.path.join(path, 'archives')))


if __name__ == '__main__':
    main([
        rotation_schedule_is_saved_and_restored_with_its_session, invalid_rotation_schedules_are_refused,
        session_is_rotated_by_size_and_by_time, stopped_session_is_not_rotated, trace_stays_within_the_retained_size,
        newest_chunks_are_kept_by_count, chunk_in_use_by_a_reader_is_deleted_after_a_time_limit,
        chunks_above_the_maximum_age_are_deleted, unthrottled_writer_does_not_exceed_the_retained_size,
        view_of_a_chunk_that_is_deleted_is_complete_or_reports_it,
        chunk_deletion_is_finished_after_kill_of_consumer_daemon
    ])
