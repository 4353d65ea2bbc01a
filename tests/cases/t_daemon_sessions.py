#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Several sessions record the same applications with different events, contexts and buffers; per-process buffers;
allow-lists of processes.
"""
import collections
import contextlib
import os
import re
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from daemon import World, numbers_of, rings_of, state  # noqa: E402
from harness import WAYMARK, Gate, Trace, check, check_sequences, limit, main, rounds  # noqa: E402
from t_filter import records_of  # noqa: E402
from t_convert_ctf import second_decoding  # noqa: E402


def kill(pid):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def up_to(n, first=1):
    return list(range(first, n + 1))


def contexts_of(trace, event='test:seq'):
    """Sets of context fields that records of the event have."""
    return {frozenset(r.scopes) & {'vpid', 'vtid', 'procname', 'ip', 'pthread_id'} for r in trace.records(event)}


def sessions_have_their_own_events_contexts_and_modes(case):
    """The end of one of three sessions does not change the others."""
    with World(case) as w:
        one, two = w.scripted(), w.scripted()
        w('create', 'numbers')
        w('add-context', '-s', 'numbers', '-t', 'vpid')
        w('enable-event', '-s', 'numbers', 'test:seq')
        w('create', 'flight')
        w('enable-channel', '-s', 'flight', 'newest', '--overwrite', '--subbuf-size', '4k', '--num-subbuf', '4')
        w('add-context', '-s', 'flight', '-c', 'newest', '-t', 'vtid,procname')
        w('enable-event', '-s', 'flight', '-c', 'newest', 'test:text')
        w('create', 'each')
        w('enable-channel', '-s', 'each', 'own', '--buffers-pid')
        w('enable-event', '-s', 'each', '-c', 'own', 'test:*')
        for name in ('numbers', 'flight', 'each'):
            w('start', name)
        for program in (one, two):
            for _ in range(50):
                program('emit 10')
                program('text 10')
        _, trace = w.end('numbers', lost=0)
        sequences = numbers_of(trace)
        check(
            len(sequences) == 2 and all(len(n) == 500 for n in sequences.values()), 'wrong numbers of records: %s',
            {k: len(v) for k, v in sequences.items()})
        check(not list(trace.records('test:text')), 'session numbers has an event of another session')
        check(contexts_of(trace) == {frozenset(['vpid'])}, 'session numbers has the contexts %s', contexts_of(trace))
        one('emit 20')
        two('text 20')
        session, trace = w.end('flight')
        texts = numbers_of(trace, 'test:text')
        check(session['counts']['overwritten'] > 0, 'no record was overwritten: the case records too little')
        check(session['counts']['lost'] == session['counts']['overwritten'], 'wrong counts of session flight: %s',
              session['counts'])
        check(not list(trace.records('test:seq')), 'session flight has an event of another session')
        check(
            contexts_of(trace, 'test:text') == {frozenset(['vtid', 'procname'])}, 'session flight has the contexts %s',
            contexts_of(trace, 'test:text'))
        check(
            max(n[-1] for n in texts.values()) == 1020, 'session flight lacks the newest records: %s',
            {k: v[-1] for k, v in texts.items()})
        one('emit 1')
        _, trace, numbers = w.finish('each', lost=0)
        check(
            sorted(len(n) for n in numbers.values()) == [1020, 1021], 'wrong numbers of records of session each: %s',
            {k: len(v) for k, v in numbers.items()})
        one.end()
        two.end()


def overwritten_records_count_as_lost_in_each_report(case):
    """
    Overwritten records count as lost in each report: `record` through the daemon, `record --private`, and a session
    (docs/loss.md).
    """
    flight = ['--overwrite', '--subbuf-size', '4k', '--num-subbuf', '4']

    def check_sum(counts, source):
        causes = sum(counts[k]
                     for k in ('lost_full', 'lost_memory', 'lost_size', 'lost_retry', 'overwritten', 'unwritten'))
        check(counts['overwritten'] > 0 and counts['lost'] == causes, '%s: wrong counts: %s', source, counts)

    with World(case) as w:
        for how in ([], ['--private']):
            case.ledger.__init__(case.ledger.path)
            place = case.path('of' + ''.join(how))
            figures = w('record', '--json', *how, *flight, '-e', 'test:*', '-o', place, '--', case.program('busy'),
                        'count', '1', '5000', '0').json
            check(bool(figures['session']) == (not how), 'the session of the recording is %s', figures['session'])
            check_sum(figures, how or 'through the daemon')
            check_sequences(Trace(place, lossy=True), case.ledger, figures['lost'])
        case.ledger.__init__(case.ledger.path)
        w.begin('flight', channel=flight)
        program = w.scripted()
        program('emit 5000')
        program.end()
        stopped = w('stop', 'flight', '--json').json['sessions'][0]['counts']
        check_sum(stopped, 'stop')
        words = '%d lost (%d overwritten' % (stopped['lost'], stopped['overwritten'])
        check(words in w('list', 'flight').out, 'list printed: %s', w('list', 'flight').out)
        check(' %d ' % stopped['lost'] in w('list').out, 'list printed: %s', w('list').out)
        session, _, _ = w.finish('flight')
        check_sum(session['counts'], 'list')


def count_of_matching_events_leaves_out_exclusions(case):
    """The number of matching events of a rule leaves out its exclusions."""
    with World(case) as w:
        program = w.scripted()
        w('create', 'one')

        def so_far(*options):
            said = w('enable-event', '-s', 'one', *options).out
            found = re.search(r'(\d+) events? so far', said)
            check(found, 'enable-event printed: %s', said)
            return int(found[1])
        everything = so_far('test:*')
        check(everything >= 2, 'only %d matching events', everything)
        matching = [
            everything,
            so_far('test:*', '-x', 'test:text'),
            so_far('test:*', '-x', 'test:*'),
            so_far('test:*', '--loglevel', 'emerg')
        ]
        check(matching == [everything, everything - 1, 0, 0], 'wrong numbers of matching events: %s', matching)
        listed = [rule['matched'] for rule in w.session('one')['channels'][0]['rules']]
        check(listed == matching, 'list shows other numbers: %s', listed)
        program.end()


def restarted_session_appends_to_its_trace(case):
    """A stopped session continues in the same trace. Records in between are neither written nor counted."""
    with World(case) as w:
        program = w.scripted()
        w.begin('twice')
        w.begin('always')
        program('emit 10')
        w.stop('twice')
        program('emit 10')
        w('start', 'twice')
        program('emit 10')
        _, trace = w.end('twice', lost=0)
        check(
            list(numbers_of(trace).values()) == [up_to(10) + up_to(30, 21)], 'wrong records of session twice: %s',
            numbers_of(trace))
        program.end()
        w.finish('always', lost=0)


def buffers_pid_option_creates_a_trace_per_process(case):
    """
    --buffers-pid creates a trace for each process, including forked children and executed programs. All are complete
    after the processes end.
    """
    with World(case) as w:
        w.begin('own', channel=['--buffers-pid', '--subbuf-size', '64k'])
        program = w.scripted()
        program('emit 5')
        program('fork 7')
        program('exec 9')
        program('emit 5')
        program.end()
        session, trace, numbers = w.finish('own', lost=0)
        check(sorted(len(n) for n in numbers.values()) == [7, 10, 10], 'wrong numbers of records: %s', numbers)
        places = os.listdir(os.path.join(session['path'], 'ust', 'pid'))
        check(len(places) >= 3, 'traces of %d processes, not of 3: %s', len(places), places)
        check(any(p.startswith('scripted-%d' % program.pid) for p in places),
              'no trace has a name that begins with scripted-%d: %s', program.pid, places)


def recorded_processes(w, name, options, program, others):
    """
    Record with a session that is limited by `options`. Returns 4 booleans: it records the application, its fork, its
    exec, other applications.
    """
    w('create', name)
    w('enable-event', '-s', name, 'test:seq', *options)
    w('start', name)
    program('emit 3')
    program('fork 4')
    program('exec 5')
    for other in others:
        other('emit 7')
    _, trace = w.end(name, lost=0)
    dumped = {
        int(m[1]) for m in (re.search(r' lttng_ust_statedump:start: .*\bvpid = (\d+)', line) for line in trace.lines)
        if m
    }
    check(dumped, 'the trace has no state dump')
    check(not dumped & {other.pid for other in others}, 'the trace has state dumps of other applications: %s',
          dumped)
    sizes = {writer: len(n) for writer, n in numbers_of(trace).items()}
    check(set(sizes.values()) <= {3, 4, 6, 7}, '%s: %s', name, sizes)
    return tuple(size in sizes.values() for size in (3, 4, 6, 7))     # `procs leaf 5` makes one more


def session_of_one_pid_records_that_process(case):
    """--pid N records one process; with --follow also its descendants."""
    with World(case) as w:
        program, other = w.scripted(), w.scripted()
        got = recorded_processes(w, 'pid', ['--pid', program.pid], program, [other])
        check(got == (True, False, False, False), '--pid records (itself, its fork, its exec, another): %s', got)
        got = recorded_processes(w, 'follow', ['--pid', program.pid, '--follow'], program, [other])
        check(got == (True, True, True, False), '--pid --follow records (itself, its fork, its exec, another): %s', got)
        w('create', 'gone')
        w('enable-event', '-s', 'gone', 'test:seq', '--pid', '999999999', status=1).prints('process|pid')
        w('destroy', 'gone')
        # When the process ends, the session frees its buffers and its trace is complete. The other session continues.
        w.begin('all', 'test:*')
        w('create', 'its')
        w('enable-event', '-s', 'its', 'test:*', '--pid', program.pid)
        w('enable-event', '-s', 'its', 'test:*', '--pid', program.pid)
        w('start', 'its')
        program('emit 10')
        before = len(rings_of(w.consumerd()))
        program.end()
        w.wait(lambda: len(rings_of(w.consumerd())) < before, 'its buffers to be freed')
        other('emit 1')
        check(w.session('its')['counts']['records'] >= 10, 'wrong counts: %s', w.session('its')['counts'])
        its, everything = w.end('its', lost=0)[1], w.end('all', lost=0)[1]
        check([len(n) for n in numbers_of(its).values()] == [10], 'wrong records of session its: %s', numbers_of(its))
        check(
            sorted(len(n) for n in numbers_of(everything).values()) == [1, 10], 'wrong records of session all: %s',
            numbers_of(everything))
        other.end()


def session_of_one_executable_records_its_processes(case):
    """
    --exec NAME records all processes of that executable and their forks; with --follow also programs that they execute.
    """
    with World(case) as w:
        program, other = w.scripted(), w.run([case.program('procs'), 'forever'])
        w.wait(lambda: case.ledger.flag(0), 'the other program to start')
        got = recorded_processes(w, 'exec', ['--exec', 'scripted'], program, [])
        check(got == (True, True, False, False), '--exec records (itself, its fork, its exec): %s', got)
        got = recorded_processes(w, 'path', ['--exec', case.program('scripted')], program, [])
        check(got == (True, True, False, False), '--exec with a path records (itself, its fork, its exec): %s', got)
        got = recorded_processes(w, 'follow', ['--exec', 'scripted', '--follow'], program, [])
        check(got == (True, True, True, False), '--exec --follow records (itself, its fork, its exec): %s', got)
        program.end()
        other.kill()
        w.wait_end(other, None)


def followed_process_is_recorded_after_its_ancestors_ended(case):
    """The next session daemon knows the followed process, although its ancestors have ended."""
    with World(case) as w, contextlib.ExitStack() as at_last:
        go = Gate(case.path('go'))
        at_last.callback(go.close)
        shell = w.run(['sh', '-c', 'read x <%s; %s forever & read x <%s' % (go.path, case.program('procs'), go.path)])
        w('create', 'follows')
        w('enable-event', '-s', 'follows', 'test:*', '--pid', shell.pid, '--follow')
        w('start', 'follows')
        go()
        w.wait(lambda: case.ledger.flag(0), 'the program to start')
        program = case.ledger.flag(0)
        at_last.callback(kill, program)
        w.wait_apps([program])
        go()
        w.wait_end(shell)
        os.kill(w.sessiond(), signal.SIGKILL)
        w('list')
        w.wait_apps([program])
        begun = case.ledger.begun()
        w.wait(lambda: case.ledger.begun() > begun + 500, 'the program to record on')
        kill(program)
        w.wait(lambda: state(program) in (None, 'Z'), 'the program to end')
        w.finish('follows', killed=True, lost=0)


def followed_process_is_recorded_after_a_double_fork(case):
    """A daemon-like double fork: the child ends, so /proc no longer shows the ancestors. The grandchild is recorded."""
    with World(case) as w, contextlib.ExitStack() as at_last:
        program = w.scripted()
        w('create', 'follows')
        w('enable-event', '-s', 'follows', 'test:seq', '--pid', program.pid, '--follow')
        w('start', 'follows')
        program('child 0')
        w.wait(lambda: case.ledger.flag(1), 'the child to start')
        w.wait_apps([case.ledger.flag(1)])
        sessiond = w.sessiond()
        os.kill(sessiond, signal.SIGSTOP)
        at_last.callback(os.kill, sessiond, signal.SIGCONT)
        w.wait(lambda: state(sessiond) == 'T', 'the daemon to stop')
        program('heir 0')
        w.wait(lambda: case.ledger.flag(2), 'the grandchild to start')
        check(state(case.ledger.flag(1)) is None, 'the child has not ended')
        os.kill(sessiond, signal.SIGCONT)
        w.wait_apps([case.ledger.flag(2)])
        program('will 9')
        w.wait(lambda: state(case.ledger.flag(2)) in (None, 'Z'), 'the grandchild to end')
        trace = w.end('follows', lost=0)[1]
        check([len(n) for n in numbers_of(trace).values()] == [9], 'wrong records of the grandchild: %s',
              numbers_of(trace))
        program.end()


def track_and_untrack_select_processes(case):
    """`track` limits the whole session and `untrack` reverts it, both at once."""
    with World(case) as w:
        one, two = w.scripted(), w.scripted()
        w.begin('some')
        w('track', '-s', 'some', '--pid', one.pid)

        def both():
            one('emit 1')
            two('emit 1')
        both()                                            # 1: one
        w('track', '-s', 'some', '--pid', two.pid)
        both()                                            # 2: both
        w('untrack', '-s', 'some', '--pid', one.pid)
        both()                                            # 3: two
        w('track', '-s', 'some', '--pid', '--all')
        both()                                            # 4: both
        w('track', '-s', 'some', '--uid', os.getuid() + 1)
        both()                                            # 5: none
        w('track', '-s', 'some', '--uid', os.getuid())
        both()                                            # 6: both
        w('untrack', '-s', 'some', '--pid', '--all')
        both()                                            # 7: none
        _, trace = w.end('some', lost=0)
        found = sorted(numbers_of(trace).values())
        check(found == [[1, 2, 4, 6], [2, 3, 4, 6]], 'wrong records: %s', found)
        one.end()
        two.end()


def children_of_tracked_processes_are_not_tracked(case):
    """
    A fork of a tracked process is not recorded, from its first record on. When the allow-list is removed, forks are
    recorded again. A tracked user or group includes children.
    """
    with World(case) as w:
        program = w.scripted()
        for name in ('its', 'all', 'user', 'group', 'foreign'):
            w.begin(name)
        w('track', '-s', 'its', '--pid', program.pid)
        w('track', '-s', 'user', '--uid', os.getuid())
        w('track', '-s', 'group', '--gid', os.getgid())
        w('track', '-s', 'foreign', '--gid', os.getgid() + 1)
        program('emit 3')
        for _ in range(max(rounds(200), 20)):
            program('fork 4')
        program('exec 5')
        w('track', '-s', 'its', '--pid', '--all')
        program('fork 9')
        its, everything = w.end('its', lost=0)[1], w.end('all', lost=0)[1]
        for name in ('user', 'group'):
            check(
                numbers_of(w.end(name, lost=0)[1]) == numbers_of(everything),
                'the session of the tracked %s has other records than session all', name)
        check(not numbers_of(w.end('foreign', lost=0)[1]), 'the session of a foreign group has records')
        sizes = collections.Counter(len(n) for n in numbers_of(its).values())
        check(sizes == {3: 1, 9: 1}, 'wrong records of the process and its forks: %s', sizes)
        sizes = collections.Counter(len(n) for n in numbers_of(everything).values())
        check(sizes[4] == max(rounds(200), 20) and sizes[9] == 1, 'session all lacks records: %s', sizes)
        program.end()


def track_request_above_the_limit_changes_nothing(case):
    """A request that exceeds the limit changes nothing."""
    with World(case) as w:
        program = w.scripted()
        w.begin('some')
        others = [str(10000000 + i) for i in range(4200)]
        w('track', '-s', 'some', '--pid', ','.join([str(program.pid)] + others[:4000]))
        before = w.session('some')['trackers']
        w('track', '-s', 'some', '--pid', ','.join(others[4000:]), status=1).prints('it is unchanged, with 4001')
        check(
            w.session('some')['trackers'] == before, '%d processes are tracked',
            len(w.session('some')['trackers']['pids']))
        w('untrack', '-s', 'some', '--pid', ','.join(others[:4000]))
        check(
            w.session('some')['trackers']['pids'] == [program.pid], 'wrong processes are tracked: %s',
            w.session('some')['trackers'])
        program('emit 3')
        program.end()
        w.finish('some', lost=0)


def stop_with_a_stopped_consumer_daemon_blocks_no_other_command(case):
    """
    While `stop` waits for the consumer daemon, applications start and end, and sessions are listed and changed. All
    records are in the trace at the end.
    """
    with World(case) as w:
        one = w.scripted()
        w.begin('slow', 'test:*')
        w.begin('other', 'test:*')
        one('emit 100')
        consumer = w.consumerd()
        os.kill(consumer, signal.SIGSTOP)
        command = w.run([WAYMARK, 'stop', 'slow'], stderr=subprocess.PIPE, text=True)
        w.wait(lambda: not w.session('slow')['active'], 'the session to be stopped')
        two = w.scripted()
        two('emit 100')
        one.end()
        w('enable-event', '-s', 'slow', 'scripted:late')
        check(command.poll() is None, '`stop` did not wait for the consumer: %s', command.poll())
        check(w.apps() == {two.pid}, 'wrong applications: %s', w.apps())
        os.kill(consumer, signal.SIGCONT)
        w.wait_end(command)
        check('could not' not in command.stderr.read(), 'stop reports a failure')
        two.end()
        check(w.consumerd() == consumer, 'the consumer was replaced')
        slow, other = w.end('slow', lost=0)[1], w.end('other', lost=0)[1]
        check([len(n) for n in numbers_of(slow).values()] == [100], 'wrong records of session slow: %s',
              numbers_of(slow))
        check(
            sorted(map(len,
                       numbers_of(other).values())) == [100, 100], 'wrong records of session other: %s',
            numbers_of(other))


def applications_start_while_the_consumer_daemon_is_stopped(case):
    """
    New applications need rings, which the consumer daemon receives when it resumes. The first records of these
    applications are in the trace.
    """
    with World(case) as w:
        w.begin('each', 'test:*', channel=['--buffers-pid'])
        one = w.scripted()
        one('emit 100')
        os.kill(w.consumerd(), signal.SIGSTOP)
        more = [w.scripted(env={'WAYMARK_REGISTER_TIMEOUT': '3000'}) for _ in range(4)]
        for app in w('list', '-u', '--json').json['apps']:
            check(not app.get('why'), 'program %d is unrecorded: %s', app['pid'], app.get('why'))
        for program in more:
            program('emit 100')
        more[0].end()
        os.kill(w.consumerd(), signal.SIGCONT)
        for program in (one, *more[1:]):
            program.end()
        trace = w.end('each', lost=0)[1]
        check([len(n) for n in numbers_of(trace).values()] == [100] * 5, 'wrong records: %s', numbers_of(trace))


SMALL = ['--subbuf-size', '4k', '--num-subbuf', '2', '--blocking-timeout', 'inf']


def blocking_application_waits_and_loses_nothing(case):
    """
    The consumer daemon is stopped and the rings hold about a hundred records. An application that is allowed to block
    waits and loses nothing.
    """
    with World(case) as w:
        w.begin('waits', 'test:*', channel=SMALL)
        program = w.scripted(env={'WAYMARK_ALLOW_BLOCKING': '1'})
        consumer = w.consumerd()
        os.kill(consumer, signal.SIGSTOP)
        try:
            program.send('emit 5000')
            w.wait(lambda: any(begun > 50 for begun, _ in case.ledger.read().values()), 'the rings to be full')
            check(not any(begun == 5000 for begun, _ in case.ledger.read().values()), 'the application did not block')
        finally:
            os.kill(consumer, signal.SIGCONT)
        check(program.answer() == 'ok', 'the program did not resume')
        program.end()
        numbers = w.finish('waits', lost=0)[2]
        check([len(n) for n in numbers.values()] == [5000], 'wrong records: %s',
              {n: len(of) for n, of in numbers.items()})


def application_without_blocking_permission_counts_losses(case):
    """
    The same channel, but the environment does not allow the application to block: it does not wait, and its losses are
    counted.
    """
    with World(case) as w:
        w.begin('goes_on', 'test:*', channel=SMALL)
        program = w.scripted()
        consumer = w.consumerd()
        os.kill(consumer, signal.SIGSTOP)
        try:
            program('emit 5000')
        finally:
            os.kill(consumer, signal.SIGCONT)
        program.end()
        session = w.finish('goes_on')[0]
        check(session['counts']['lost'] > 0, 'no record is counted as lost')


def record_falls_back_to_private_mode_if_the_daemon_hangs(case):
    """`waymark record` falls back to --private and prints a warning."""
    with World(case) as w:
        daemon = w.sessiond()
        os.kill(daemon, signal.SIGSTOP)
        try:
            done = w('record', '--json', '-o', case.path('trace'), '--', case.program('procs'), 'leaf', '100',
                     timeout=20)
        finally:
            os.kill(daemon, signal.SIGCONT)
        done.prints('cannot use the session daemon', 'has not answered')
        check(not done.json['session'], 'the session of the recording is %s', done.json['session'])
        check(
            sum(map(len,
                    check_sequences(Trace(case.path('trace')), case.ledger).values())) >= 100,
            'records are missing')
        check(w.sessiond() == daemon, 'another daemon was started')


@limit(120)
def ctf_2_session_survives_save_restart_and_new_layouts(case):
    """
    `create --trace-format=ctf-2`: the format is shown, saved and loaded, and survives a restart, new layouts and
    `regenerate`.
    """
    with World(case) as w:
        w('create', 'two', '--trace-format=ctf-2')
        check(
            w.session('two')['trace_format'] == 'ctf-2' and 'Common Trace Format 2' in w('list', 'two').out,
            'the format is not shown: %s',
            w('list', 'two').out)
        w('enable-event', '-s', 'two', 'test:*')
        w('save', 'two')
        w('destroy', 'two')
        w('load', 'two')
        check(w.session('two')['trace_format'] == 'ctf-2', 'the format is not saved')
        check('unknown trace format' in w('create', 'x', '--trace-format=ctf-3', status=2).err,
              'an unknown format is accepted')
        program = w.scripted()
        w('start', 'two')
        program('emit 3')
        os.kill(w.sessiond(), signal.SIGKILL)
        w.wait(lambda: not w.sessiond(), 'the daemon to end')
        w('list')
        w.wait_apps([program.pid])
        check(w.session('two')['trace_format'] == 'ctf-2', 'the next daemon lost the format')
        w('add-context', '-s', 'two', '-t', 'vpid')
        program('emit 3')
        w('regenerate', 'metadata', '-s', 'two')
        program('emit 1')
        path = w.session('two')['path']
        program.end()
        w('stop', 'two')
        seen = second_decoding(path)
        numbers = sorted(r['seq'] for (name, _), records in seen.items() for r in records if name == 'test:seq')
        check(numbers == list(range(1, 8)), 'wrong records: %s', numbers)
        records = [r['fields']['seq'] for r in records_of(case, path) if r['event'] == 'test:seq']
        check(records == list(range(1, 8)), 'wrong records: %s', records)
        w('destroy', 'two')


if __name__ == '__main__':
    main([
        sessions_have_their_own_events_contexts_and_modes, overwritten_records_count_as_lost_in_each_report,
        count_of_matching_events_leaves_out_exclusions, restarted_session_appends_to_its_trace,
        buffers_pid_option_creates_a_trace_per_process, session_of_one_pid_records_that_process,
        session_of_one_executable_records_its_processes, followed_process_is_recorded_after_its_ancestors_ended,
        followed_process_is_recorded_after_a_double_fork, track_and_untrack_select_processes,
        children_of_tracked_processes_are_not_tracked, track_request_above_the_limit_changes_nothing,
        stop_with_a_stopped_consumer_daemon_blocks_no_other_command,
        applications_start_while_the_consumer_daemon_is_stopped, blocking_application_waits_and_loses_nothing,
        application_without_blocking_permission_counts_losses, record_falls_back_to_private_mode_if_the_daemon_hangs,
        ctf_2_session_survives_save_restart_and_new_layouts
    ])
