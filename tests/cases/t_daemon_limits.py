#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How much a session may write: it stops by itself, says so, and goes on when there is room."""
import os
import shutil
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from daemon import World, numbers_of  # noqa: E402
from harness import Trace, check, main, small_disk  # noqa: E402

KB = 200
SMALL = ['--subbuf-size', '4k', '--num-subbuf', '8']


def begin(w, name, *channel):
    w('create', name, '--max-size', '%dk' % KB)
    w('enable-channel', '-s', name, name, *(channel or SMALL))
    w('enable-event', '-s', name, '-c', name, 'test:*')
    w('start', name)


def written(path):
    """Bytes of streams and indexes."""
    return sum(
        os.path.getsize(os.path.join(top, name)) for top, _, names in os.walk(path) for name in names
        if name != 'metadata')


def fill(w, name, *programs):
    """Record until the session has stopped."""
    def full():
        for program in programs:
            program('emit 500')
        return w.session(name)['full']
    w.wait(full, 'the session to be full')
    is_now = w.session(name)
    check(not is_now['active'] and is_now['max_size'] == KB << 10, 'it is full and: %s', is_now)
    # what tells counts may be above: a packet without records for each stream
    room = (KB << 10) - written(is_now['path'])
    check(-200 * 8 <= room < 2 * 4096 * len(programs) * (os.cpu_count() or 1), '%d bytes of room are left', room)
    return is_now


def end_and_count(w, name):
    """Stopped, and destroyed; the readers see as many records as were counted. (What is left in the rings may find room
    yet, piece by piece.)"""
    stopped = w('stop', name, '--json')
    is_now = w('destroy', name, '--json').json['sessions'][0]
    causes = sum(is_now['counts'][k]
                 for k in ('lost_full', 'lost_memory', 'lost_size', 'lost_retry', 'overwritten', 'unwritten'))
    check(is_now['counts']['lost'] == causes, 'counts: %s', is_now['counts'])
    trace = Trace(is_now['path'], lossy=True)
    there = sum(1 for _ in trace.records())
    check(there == is_now['counts']['records'], '%d records are there, %d were counted', there,
          is_now['counts']['records'])
    return trace, stopped.err


def session_stops_at_its_maximum_size(case):
    with World(case) as w:
        program = w.scripted()
        begin(w, 'small')
        w.begin('other', 'test:*')
        fill(w, 'small', program)
        check('full' in w('list').out, 'list says: %s', w('list').out)
        check('`waymark clear`' in w('list', 'small').out, 'list says: %s', w('list', 'small').out)
        refused = w('start', 'small', status=1)
        check('--max-size' in refused.err and 'clear' in refused.err, 'start says: %s', refused.err)
        program('emit 10')               # into the other one alone
        w('clear', '-s', 'small')
        check(not w.session('small')['full'] and w.session('small')['counts']['records'] == 0, 'cleared, it is: %s',
              w.session('small'))
        w('start', 'small')
        program('emit 10')
        is_now, trace = w.end('small', lost=0)
        check([len(n) for n in numbers_of(trace).values()] == [10], 'after clear: %s', numbers_of(trace))
        program.end()
        w.finish('other', lost=0)


def maximum_size_holds_after_restarts(case):
    """Whoever dies: what is there is measured, not remembered."""
    with World(case) as w:
        program = w.scripted()
        begin(w, 'small')
        program('emit 500')
        w('stop', 'small')
        w('start', 'small')
        before = w.consumerd()
        os.kill(before, signal.SIGKILL)
        w.wait(lambda: w.consumerd() not in (None, before), 'another consumer daemon')
        path = fill(w, 'small', program)['path']
        size = written(path)
        before = w.consumerd()
        os.kill(before, signal.SIGKILL)
        w.wait(lambda: w.consumerd() not in (None, before), 'another consumer daemon')
        os.kill(w.sessiond(), signal.SIGKILL)
        check(w.session('small')['full'], 'the next daemon knows nothing of it: %s', w.session('small'))
        w.wait_apps([program.pid])
        check('--max-size' in w('start', 'small', status=1).err, 'it was started')
        check(written(path) <= size + 200 * 8, 'it has grown from %d to %d bytes', size, written(path))
        _, message = end_and_count(w, 'small')
        check('--max-size' in message, 'stop says: %s', message)
        program.end()


def maximum_size_holds_without_a_session_daemon(case):
    """The consumer daemon writes no more than it may, and the next session daemon hears of it."""
    with World(case) as w:
        program = w.scripted()
        begin(w, 'small')
        program('emit 100')
        path = w.session('small')['path']
        sessiond = w.sessiond()
        os.kill(sessiond, signal.SIGKILL)
        def nearly():
            program('emit 1000')
            return written(path) > (KB << 10) - 2 * 4096 * (1 + (os.cpu_count() or 1))
        w.wait(nearly, 'the trace to fill')
        for _ in range(4):               # and more than found room
            program('emit 1000')
        check(written(path) <= (KB << 10) + 200 * 8, '%d bytes are there', written(path))
        w.start_daemon()
        w.wait(lambda: w.session('small')['full'], 'the session to be full')
        check(not w.session('small')['active'], 'it records')
        end_and_count(w, 'small')
        program.end()


def maximum_size_is_shared_by_processes(case):
    with World(case) as w:
        programs = [w.scripted() for _ in range(3)]
        begin(w, 'small', '--buffers-pid', *SMALL)
        programs[0]('emit 500')
        programs[0].end()                # what it has written counts on
        is_now = fill(w, 'small', *programs[1:])
        check(
            len(os.listdir(os.path.join(is_now['path'], 'ust', 'pid'))) == 3, 'the trace has: %s',
            os.listdir(is_now['path']))
        # room is again for as much as before, also where the one that has ended had some
        w('clear', '-s', 'small')
        w('start', 'small')
        check(fill(w, 'small', *programs[1:])['counts']['records'] > 0, 'nothing was recorded')
        end_and_count(w, 'small')
        for program in programs[1:]:
            program.end()


def invalid_maximum_size_is_rejected(case):
    with World(case) as w:
        check('--max-size' in w('create', 'x', '--max-size', '0', status=2).err, 'it says nothing')
        check('size' in w('create', 'x', '--max-size', 'much', status=2).err, 'it says nothing')
        w('create', 'x', '--max-size', '100k')
        w('enable-event', '-s', 'x', 'test:*')
        message = w('start', 'x', status=1).err
        check('--max-size' in message and '--subbuf-size' in message, 'it says: %s', message)
        w('save', '-s', 'x')
        w('destroy', 'x')
        w('load', '-s', 'x')
        check(w.session('x')['max_size'] == 100 << 10, 'loaded: %s', w.session('x'))


def each_limit_of_the_file_is_enforced(case):
    """Each limit of the file holds, and its error names it."""
    lines = 'sessions = 2 # of one user\nchannels = 3\nrules = 4\nring-memory = 4M\ntrace-size = %dk\n' % KB
    with World(case, limits=lines) as w:
        def names(answer, limit):
            answer.prints('the limit "%s" is set in %s (waymark-sessiond(8))' % (limit, w.limits))
            check('Argument list too long' not in answer.err, 'the system\'s words for it are of no use: %s',
                  answer.err)

        names(w('create', 'x', '--max-size', '1M', status=1).prints('--max-size'), 'trace-size')
        w('create', 'one')
        check(w.session('one')['max_size'] == KB << 10, 'its trace may have: %s', w.session('one'))
        w('create', 'two', '--max-size', '100k')
        names(w('create', 'three', status=1).prints('2 are the limit'), 'sessions')
        for name in ('a', 'b'):
            w('enable-channel', '-s', 'one', name, *SMALL)
        w('enable-channel', '-s', 'two', 'large', '--subbuf-size', '64k', '--num-subbuf', '64')
        for n in range(4):
            w('enable-event', '-s', 'one', '-c', 'a', 'test:%d' % n)
        names(w('enable-event', '-s', 'one', '-c', 'a', 'test:seq', status=1).prints('4 rules'), 'rules')
        w('enable-event', '-s', 'two', '-c', 'large', 'test:*')
        program = w.scripted()
        # (root's daemon makes rings when a program comes, a user's at once)
        w('start', 'two', status=None).prints('4 MB are the limit', 'the limit "ring-memory" is set in')
        w('enable-event', '-s', 'one', '-c', 'b', 'test:*')
        w('start', 'one')
        # the tracer's own is the third
        names(w('enable-channel', '-s', 'one', 'c', status=1).prints('3 channels'), 'channels')
        fill(w, 'one', program)
        end_and_count(w, 'one')
        program.end()


def trace_size_of_one_user_is_limited(case):
    """What all sessions of a user may write: spoken for while they are there; who asks for nothing has the rest, and it
    is enforced."""
    with World(case, limits='user-trace-size = %dk\n' % (KB + 600)) as w:
        w('create', 'one', '--max-size', '600k')
        w('create', 'two', '--max-size', '%dk' % (KB + 1), status=1).prints('%d bytes together' % (KB + 600 << 10),
                                                                          'leave %d' % (KB << 10))
        w('create', 'rest')
        check(w.session('rest')['max_size'] == KB << 10, 'the rest is: %s', w.session('rest')['max_size'])
        w('create', 'three', status=1).prints('leave 0', '"user-trace-size" is set in')
        w('create', 'three', '--max-size', '1', status=1).prints('leave 0')
        os.kill(w.sessiond(), signal.SIGKILL)
        w('create', 'three', status=1).prints('leave 0')           # the next daemon knows what is spoken for
        w('destroy', 'one')
        w('create', 'one', '--max-size', '600k')
        w('destroy', 'one')
        program = w.scripted()
        w('enable-channel', '-s', 'rest', 'a', *SMALL)
        w('enable-event', '-s', 'rest', '-c', 'a', 'test:*')
        w('start', 'rest')
        fill(w, 'rest', program)
        end_and_count(w, 'rest')
        program.end()
    with World(case, 'again', limits='user-trace-size = 1M\ntrace-size = 700k\n') as w:
        w('create', 'one')
        check(w.session('one')['max_size'] == 700 << 10, 'what a session may have: %s', w.session('one'))
        w('create', 'two', '--max-size', '325k', status=1).prints('leave 331776')
        w('create', 'two', '--max-size', '300k')
        w('create', 'three')
        check(w.session('three')['max_size'] == 24 << 10, 'what is left: %s', w.session('three'))


def free_disk_space_is_kept(case):
    """A twentieth of it, or so much as is message: to who records, a disk with less is full, until somebody makes
    room."""
    with small_disk(case, '40M') as place:
        def free():
            return os.statvfs(place).f_bavail * os.statvfs(place).f_frsize

        with World(case, limits='disk-reserve = 1G\n') as w:
            with open(os.path.join(place, 'ballast'), 'wb') as f:
                os.posix_fallocate(f.fileno(), 0, free() - (5 << 20))
            program = w.scripted()
            w('create', 'one', '-o', os.path.join(place, 'trace'))
            w('enable-channel', '-s', 'one', 'one', *SMALL)
            w('enable-event', '-s', 'one', 'test:*', '-c', 'one')
            w('start', 'one')

            seen = [0]

            def refused():
                """Near the edge, and records that come do not come into the trace."""
                program('emit 1000')
                seen.append(w.session('one')['counts']['records'])
                return free() < (3 << 20) and len(set(seen[-20:])) == 1
            w.wait(refused, 'the disk to be full')
            written_by_then = w.session('one')['counts']['records']
            # (looked at once in a mebibyte of each stream, which lie in one trace)
            check((1 << 20) - 65536 <= free() < (3 << 20), '%d bytes stay free', free())
            os.unlink(os.path.join(place, 'ballast'))

            def is_written_again():
                program('emit 100')
                return w.session('one')['counts']['records'] > written_by_then + 1000
            w.wait(is_written_again, 'records to be written again')
            stopped = w('stop', 'one', '--json')
            check('lost' in stopped.err, 'the loss is not told: %s', stopped.err)
            trace = Trace(os.path.join(place, 'trace'), lossy=True)
            is_now = w('destroy', 'one', '--json').json['sessions'][0]
            check(sum(1 for _ in trace.records()) == is_now['counts']['records'], 'records: %s', is_now['counts'])
            program.end()
            shutil.rmtree(os.path.join(place, 'trace'))      # (it is in memory, of which nothing may be left)


def applications_beyond_the_limit_run_unrecorded(case):
    """Who comes when there are as many runs on without being recorded; when one has ended, the next is recorded
    again."""
    with World(case, limits='programs = 2\n') as w:
        w.begin('all', 'test:*')
        first, second, third = w.scripted(), w.scripted(), w.scripted()
        w.wait_apps([first.pid, second.pid])
        for program in (first, second, third):
            program('emit 5')
        check(w.apps() == {first.pid, second.pid}, 'listed are %s, not %s', w.apps(), {first.pid, second.pid})
        first.end()
        w.wait(lambda: first.pid not in w.apps(), 'the first to be gone')
        fourth = w.scripted()
        w.wait_apps([fourth.pid])
        fourth('emit 7')
        trace = w.end('all', lost=0)[1]
        check(sorted(len(n) for n in numbers_of(trace).values()) == [5, 5, 7], 'recorded: %s', numbers_of(trace))


def lowered_limits_keep_running_sessions(case):
    """What was allowed once goes on under the next daemon; what is new has to do with less."""
    with World(case, limits='sessions = 3\n') as w:
        program = w.scripted()
        for name in ('one', 'two'):
            w('create', name, '--max-size', '10M')
            w('enable-channel', '-s', name, name + 'a,' + name + 'b', *SMALL)
            for pattern in ('test:*', 'scripted:*'):
                w('enable-event', '-s', name, '-c', name + 'a', pattern)
            w('start', name)
        with open(w.limits, 'w') as f:
            f.write('sessions = 1\nchannels = 1\nrules = 1\ntrace-size = 64k\n')
        os.kill(w.sessiond(), signal.SIGKILL)
        w('list')
        w.wait_apps([program.pid])
        program('emit 10')
        check('the limit' in w('create', 'three', status=1).err, 'a session was allowed')
        check('the limit' in w('enable-channel', '-s', 'one', 'c', status=1).err, 'a channel was allowed')
        for name in ('one', 'two'):
            is_now, trace = w.end(name, lost=0)
            check(is_now['max_size'] == 10 << 20 and len(is_now['channels']) == 2, 'it is: %s', is_now)
            check([len(n) for n in numbers_of(trace).values()] == [10], '%s has: %s', name, numbers_of(trace))
        program.end()


def rules_beyond_the_reply_size_are_rejected(case):
    """They are refused when they are asked for, in words; what was there before is listed, and is there under the next
    daemon."""
    with World(case) as w:
        w('create', 'one')
        message = None
        for n in range(12):
            w('enable-channel', '-s', 'one', 'c%d' % n)
            # quotation marks take two bytes in the file that the next daemon reads
            patterns = ['%s%d' % ('"' * 500, 1000 * n + i) for i in range(1000)]
            message = w('enable-event', '-s', 'one', '-c', 'c%d' % n,
                     *(','.join(patterns[i:i + 200]) for i in range(0, 1000, 200)), status=None)
            if message.status:
                break
        check(message.status == 1 and 'may have 4 MB together' in message.err, 'it says: %s', message.err[-500:])

        def rules():
            return [[r['pattern'] for r in c['rules']] for c in w.session('one')['channels']]
        before = rules()
        check(sum(map(len, before)) > 3000, 'there are: %s', list(map(len, before)))
        os.kill(w.sessiond(), signal.SIGKILL)
        check(rules() == before, 'the next daemon knows of: %s', list(map(len, rules())))
        w('enable-event', '-s', 'one', '-c', 'c0', '"' * 505, status=1).prints('may have 4 MB together')
        w('destroy', 'one')
        program = w.scripted()
        w.begin('two')
        program('emit 10')
        program.end()
        w.finish('two', lost=0)


def invalid_limits_file_stops_the_daemon_start(case):
    """The daemon does not begin, and whoever wanted it reads why."""
    with World(case, limits='sessions = 2\nsesions = 3\n', daemon=False) as w:
        message = w('list', status=1).err
        check('line 2' in message and 'did you mean: sessions' in message, 'it says: %s', message)
        with open(w.limits, 'w') as f:
            f.write('sessions = 2\n')
        w('list')
        w('create', 'x')


if __name__ == '__main__':
    main([
        session_stops_at_its_maximum_size, maximum_size_holds_after_restarts,
        maximum_size_holds_without_a_session_daemon, maximum_size_is_shared_by_processes,
        invalid_maximum_size_is_rejected, each_limit_of_the_file_is_enforced, trace_size_of_one_user_is_limited,
        free_disk_space_is_kept, applications_beyond_the_limit_run_unrecorded, lowered_limits_keep_running_sessions,
        rules_beyond_the_reply_size_are_rejected, invalid_limits_file_stops_the_daemon_start
    ])
