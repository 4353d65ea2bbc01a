#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Limits of sessions: a session that reaches its maximum size stops and reports it, and can be started again when it is
cleared. Quotas limit users.
"""
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
    session = w.session(name)
    check(not session['active'] and session['max_size'] == KB << 10, 'wrong state of the full session: %s', session)
    # a packet without records that carries the last counts may exceed the limit, once for each stream
    room = (KB << 10) - written(session['path'])
    check(-200 * 8 <= room < 2 * 4096 * len(programs) * (os.cpu_count() or 1), '%d bytes are left below the limit',
          room)
    return session


def end_and_count(w, name):
    """
    Stop and destroy the session; check that readers find the counted number of records. Returns (trace, messages of
    `stop`). Records that are left in the rings may still fit.
    """
    stopped = w('stop', name, '--json')
    session = w('destroy', name, '--json').json['sessions'][0]
    causes = sum(session['counts'][k]
                 for k in ('lost_full', 'lost_memory', 'lost_size', 'lost_retry', 'overwritten', 'unwritten'))
    check(session['counts']['lost'] == causes, 'wrong sum of causes: %s', session['counts'])
    trace = Trace(session['path'], lossy=True)
    there = sum(1 for _ in trace.records())
    check(there == session['counts']['records'], '%d records in the trace, %d counted', there,
          session['counts']['records'])
    return trace, stopped.err


def session_stops_at_its_maximum_size(case):
    with World(case) as w:
        program = w.scripted()
        begin(w, 'small')
        w.begin('other', 'test:*')
        fill(w, 'small', program)
        check('full' in w('list').out, 'list printed: %s', w('list').out)
        check('`waymark clear`' in w('list', 'small').out, 'list printed: %s', w('list', 'small').out)
        refused = w('start', 'small', status=1)
        check('--max-size' in refused.err and 'clear' in refused.err, 'start printed: %s', refused.err)
        program('emit 10')               # recorded by the other session only
        w('clear', '-s', 'small')
        check(not w.session('small')['full'] and w.session('small')['counts']['records'] == 0,
              'wrong state after clear: %s', w.session('small'))
        w('start', 'small')
        program('emit 10')
        session, trace = w.end('small', lost=0)
        check([len(n) for n in numbers_of(trace).values()] == [10], 'wrong records after clear: %s', numbers_of(trace))
        program.end()
        w.finish('other', lost=0)


def maximum_size_of_a_session_is_kept_after_restarts(case):
    """The size is measured again when a daemon is replaced; it does not depend on the daemon's memory."""
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
        check(w.session('small')['full'], 'the session is not full for the next daemon: %s', w.session('small'))
        w.wait_apps([program.pid])
        check('--max-size' in w('start', 'small', status=1).err, 'the full session was started')
        check(written(path) <= size + 200 * 8, 'the trace has grown from %d to %d bytes', size, written(path))
        _, message = end_and_count(w, 'small')
        check('--max-size' in message, 'stop printed: %s', message)
        program.end()


def maximum_size_is_kept_without_a_session_daemon(case):
    """
    Without a session daemon, the consumer daemon does not exceed the limit. The next session daemon learns that the
    session is full.
    """
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
        for _ in range(4):               # more than fits
            program('emit 1000')
        check(written(path) <= (KB << 10) + 200 * 8, 'the trace has %d bytes', written(path))
        w.start_daemon()
        w.wait(lambda: w.session('small')['full'], 'the session to be full')
        check(not w.session('small')['active'], 'the full session is active')
        end_and_count(w, 'small')
        program.end()


def maximum_size_covers_the_traces_of_all_processes(case):
    with World(case) as w:
        programs = [w.scripted() for _ in range(3)]
        begin(w, 'small', '--buffers-pid', *SMALL)
        programs[0]('emit 500')
        programs[0].end()                # the size of its trace still counts
        session = fill(w, 'small', *programs[1:])
        check(
            len(os.listdir(os.path.join(session['path'], 'ust', 'pid'))) == 3, 'not three traces of processes: %s',
            os.listdir(session['path']))
        # the full size is available again, including the share of the ended process
        w('clear', '-s', 'small')
        w('start', 'small')
        check(fill(w, 'small', *programs[1:])['counts']['records'] > 0, 'nothing was recorded')
        end_and_count(w, 'small')
        for program in programs[1:]:
            program.end()


def invalid_maximum_size_is_rejected(case):
    with World(case) as w:
        check('--max-size' in w('create', 'x', '--max-size', '0', status=2).err, 'no message about --max-size')
        check('size' in w('create', 'x', '--max-size', 'much', status=2).err, 'no message about --max-size')
        w('create', 'x', '--max-size', '100k')
        w('enable-event', '-s', 'x', 'test:*')
        message = w('start', 'x', status=1).err
        check('--max-size' in message and '--subbuf-size' in message, 'wrong message: %s', message)
        w('save', '-s', 'x')
        w('destroy', 'x')
        w('load', '-s', 'x')
        check(w.session('x')['max_size'] == 100 << 10, 'wrong maximum size after load: %s', w.session('x'))


def each_limit_of_the_file_is_enforced(case):
    """Each limit in the limits file is enforced, and its error names it."""
    lines = 'sessions = 2 # of one user\nchannels = 3\nrules = 4\nring-memory = 4M\ntrace-size = %dk\n' % KB
    with World(case, limits=lines) as w:
        def names(answer, limit):
            answer.prints('the limit "%s" is set in %s (waymark-sessiond(8))' % (limit, w.limits))
            check('Argument list too long' not in answer.err, 'the message has the text of errno: %s',
                  answer.err)

        names(w('create', 'x', '--max-size', '1M', status=1).prints('--max-size'), 'trace-size')
        w('create', 'one')
        check(w.session('one')['max_size'] == KB << 10, 'wrong maximum size: %s', w.session('one'))
        w('create', 'two', '--max-size', '100k')
        names(w('create', 'three', status=1).prints('the limit is 2'), 'sessions')
        for name in ('a', 'b'):
            w('enable-channel', '-s', 'one', name, *SMALL)
        w('enable-channel', '-s', 'two', 'large', '--subbuf-size', '64k', '--num-subbuf', '64')
        for n in range(4):
            w('enable-event', '-s', 'one', '-c', 'a', 'test:%d' % n)
        names(w('enable-event', '-s', 'one', '-c', 'a', 'test:seq', status=1).prints('4 rules'), 'rules')
        w('enable-event', '-s', 'two', '-c', 'large', 'test:*')
        program = w.scripted()
        # root's daemon creates rings when an application connects; a user's daemon creates them at once
        w('start', 'two', status=None).prints('the limit is 4 MB', 'the limit "ring-memory" is set in')
        w('enable-event', '-s', 'one', '-c', 'b', 'test:*')
        w('start', 'one')
        # the automatic channel of the state dump is the third
        names(w('enable-channel', '-s', 'one', 'c', status=1).prints('3 channels'), 'channels')
        fill(w, 'one', program)
        end_and_count(w, 'one')
        program.end()


def trace_size_of_one_user_is_limited(case):
    """
    The limit on the traces of all sessions of a user: existing sessions reserve their maximum size, and a session
    without one gets the rest.
    """
    with World(case, limits='user-trace-size = %dk\n' % (KB + 600)) as w:
        w('create', 'one', '--max-size', '600k')
        w('create', 'two', '--max-size', '%dk' % (KB + 1), status=1).prints('limited to %d bytes' % (KB + 600 << 10),
                                                                          'leave %d' % (KB << 10))
        w('create', 'rest')
        check(
            w.session('rest')['max_size'] == KB << 10, 'the rest has the wrong maximum size %s',
            w.session('rest')['max_size'])
        w('create', 'three', status=1).prints('leave 0', '"user-trace-size" is set in')
        w('create', 'three', '--max-size', '1', status=1).prints('leave 0')
        os.kill(w.sessiond(), signal.SIGKILL)
        w('create', 'three', status=1).prints('leave 0')           # the next daemon knows the reserved sizes
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
        check(w.session('one')['max_size'] == 700 << 10, 'wrong maximum size: %s', w.session('one'))
        w('create', 'two', '--max-size', '325k', status=1).prints('leave 331776')
        w('create', 'two', '--max-size', '300k')
        w('create', 'three')
        check(
            w.session('three')['max_size'] == 24 << 10, 'wrong maximum size of the last session: %s',
            w.session('three'))


def reserved_disk_space_is_left_free(case):
    """
    The consumer daemon leaves the reserve free (disk-reserve, but at most a twentieth of the disk). A disk with less
    free space counts as full until space is freed.
    """
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
                """The reserve is reached, and new records are not written."""
                program('emit 1000')
                seen.append(w.session('one')['counts']['records'])
                return free() < (3 << 20) and len(set(seen[-20:])) == 1
            w.wait(refused, 'the disk to be full')
            written_by_then = w.session('one')['counts']['records']
            # free space is checked once for each mebibyte of a stream
            check((1 << 20) - 65536 <= free() < (3 << 20), '%d bytes are free', free())
            os.unlink(os.path.join(place, 'ballast'))

            def is_written_again():
                program('emit 100')
                return w.session('one')['counts']['records'] > written_by_then + 1000
            w.wait(is_written_again, 'records to be written again')
            stopped = w('stop', 'one', '--json')
            check('lost' in stopped.err, 'the loss is not reported: %s', stopped.err)
            trace = Trace(os.path.join(place, 'trace'), lossy=True)
            session = w('destroy', 'one', '--json').json['sessions'][0]
            check(
                sum(1 for _ in trace.records()) == session['counts']['records'], 'wrong number of records: %s',
                session['counts'])
            program.end()
            shutil.rmtree(os.path.join(place, 'trace'))      # the file system is in memory


def applications_beyond_the_limit_run_unrecorded(case):
    """
    An application beyond the limit runs unrecorded. When another one ends, the next application is recorded again.
    """
    with World(case, limits='programs = 2\n') as w:
        w.begin('all', 'test:*')
        first, second, third = w.scripted(), w.scripted(), w.scripted()
        w.wait_apps([first.pid, second.pid])
        for program in (first, second, third):
            program('emit 5')
        check(w.apps() == {first.pid, second.pid}, 'the listed applications are %s, not %s', w.apps(),
              {first.pid, second.pid})
        first.end()
        w.wait(lambda: first.pid not in w.apps(), 'the first application to end')
        fourth = w.scripted()
        w.wait_apps([fourth.pid])
        fourth('emit 7')
        trace = w.end('all', lost=0)[1]
        check(sorted(len(n) for n in numbers_of(trace).values()) == [5, 5, 7], 'wrong records: %s', numbers_of(trace))


def lowered_limits_keep_running_sessions(case):
    """
    A session that exceeds a lowered limit continues under the next daemon. New sessions and channels must respect the
    limit.
    """
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
        check('the limit' in w('create', 'three', status=1).err, 'a session beyond the limit was created')
        check('the limit' in w('enable-channel', '-s', 'one', 'c', status=1).err,
              'a channel beyond the limit was created')
        for name in ('one', 'two'):
            session, trace = w.end(name, lost=0)
            check(session['max_size'] == 10 << 20 and len(session['channels']) == 2, 'wrong state: %s', session)
            check([len(n) for n in numbers_of(trace).values()] == [10], '%s: wrong records: %s', name,
                  numbers_of(trace))
        program.end()


def rules_that_do_not_fit_into_a_reply_are_rejected(case):
    """Rules that do not fit into a reply are rejected. The existing rules are listed and survive a restart."""
    with World(case) as w:
        w('create', 'one')
        message = None
        for n in range(12):
            w('enable-channel', '-s', 'one', 'c%d' % n)
            # a quotation mark takes two bytes in the state file
            patterns = ['%s%d' % ('"' * 500, 1000 * n + i) for i in range(1000)]
            message = w('enable-event', '-s', 'one', '-c', 'c%d' % n,
                     *(','.join(patterns[i:i + 200]) for i in range(0, 1000, 200)), status=None)
            if message.status:
                break
        check(message.status == 1 and 'exceed the limit of 4 MB' in message.err, 'wrong message: %s',
              message.err[-500:])

        def rules():
            return [[r['pattern'] for r in c['rules']] for c in w.session('one')['channels']]
        before = rules()
        check(sum(map(len, before)) > 3000, 'too few rules: %s', list(map(len, before)))
        os.kill(w.sessiond(), signal.SIGKILL)
        check(rules() == before, 'the next daemon has other numbers of rules: %s', list(map(len, rules())))
        w('enable-event', '-s', 'one', '-c', 'c0', '"' * 505, status=1).prints('exceed the limit of 4 MB')
        w('destroy', 'one')
        program = w.scripted()
        w.begin('two')
        program('emit 10')
        program.end()
        w.finish('two', lost=0)


def invalid_limits_file_stops_the_daemon_start(case):
    """The session daemon does not start, and the command reports the cause."""
    with World(case, limits='sessions = 2\nsesions = 3\n', daemon=False) as w:
        message = w('list', status=1).err
        check('line 2' in message and 'did you mean: sessions' in message, 'wrong message: %s', message)
        with open(w.limits, 'w') as f:
            f.write('sessions = 2\n')
        w('list')
        w('create', 'x')


if __name__ == '__main__':
    main([
        session_stops_at_its_maximum_size, maximum_size_of_a_session_is_kept_after_restarts,
        maximum_size_is_kept_without_a_session_daemon, maximum_size_covers_the_traces_of_all_processes,
        invalid_maximum_size_is_rejected, each_limit_of_the_file_is_enforced, trace_size_of_one_user_is_limited,
        reserved_disk_space_is_left_free, applications_beyond_the_limit_run_unrecorded,
        lowered_limits_keep_running_sessions, rules_that_do_not_fit_into_a_reply_are_rejected,
        invalid_limits_file_stops_the_daemon_start
    ])
