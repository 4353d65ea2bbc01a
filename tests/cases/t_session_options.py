#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Options of LTTng's session commands: --glob, --no-wait, create --live, list --mem-usage."""
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from daemon import World  # noqa: E402
from harness import check, limit, main  # noqa: E402


def names(answer):
    return sorted(s['name'] for s in answer.json['sessions'])


@limit(120)
def pattern_selects_sessions(case):
    with World(case) as w:
        for name in 'day', 'night', 'noon':
            w('create', name)
            w('enable-event', '-s', name, 'test:*')
        check(names(w('list', '--glob', 'n*', '--json')) == ['night', 'noon'], 'list --glob')
        check(names(w('start', '--glob', 'n[io]*', '--json')) == ['night', 'noon'], 'start --glob')
        check(not w.session('day')['active'], 'a session that does not match records')
        w('list', '--glob', 'x*', status=1).prints("no session matches 'x*'")
        w('stop', '--glob', '[', status=1).prints("without a ']'")
        check(names(w('clear', '--glob', 'night', '--json')) == ['night'], 'clear --glob')
        check(names(w('stop', '--glob', '*', '--json')) == ['night', 'noon'], 'stop --glob: inactive ones are no error')
        w('destroy', '--glob', 'n*').prints('Session night destroyed')
        check(names(w('list', '--json')) == ['day'], 'destroy --glob')
        w('status', status=1).prints('no current session')   # noon was the current one
        w('destroy', '--all')


def records(w, path):
    return [line for line in w('view', path, status=None).out.splitlines() if 'test:seq' in line]


@limit(120)
def no_wait_commands_return_before_the_last_records_are_written(case):
    with World(case) as w:
        w.begin('one', channel=['--flush-interval', '0'])
        program = w.scripted()
        program('emit 5')
        w.remember_rings()
        consumerd = w.consumerd()
        os.kill(consumerd, signal.SIGSTOP)
        is_now = w('stop', '--no-wait', '--json').json['sessions'][0]
        check(is_now['stopping'] and not is_now['active'], 'stop --no-wait: %s', is_now)
        os.kill(consumerd, signal.SIGCONT)
        w.wait(lambda: not w.session('one')['stopping'], 'the last records to be written')
        check(len(records(w, is_now['path'])) == 5, 'records after stop --no-wait: %s', records(w, is_now['path']))
        w('start', 'one')
        program('emit 2')
        os.kill(consumerd, signal.SIGSTOP)
        w('destroy', '--no-wait').prints('Session one stops: its last records are being written to')
        check(not w('list', '--json').json['sessions'], 'the session is listed after destroy --no-wait')
        os.kill(consumerd, signal.SIGCONT)
        w.wait(lambda: len(records(w, is_now['path'])) == 7, 'the records of a destroyed session')
        program.end()


@limit(120)
def session_daemon_exit_waits_for_destroyed_sessions(case):
    with World(case) as w:
        w.begin('one', channel=['--flush-interval', '0'])
        program = w.scripted()
        program('emit 3')
        path = w.session('one')['path']
        w.remember_rings()
        consumerd = w.consumerd()
        os.kill(consumerd, signal.SIGSTOP)
        w('destroy', '-n', 'one')
        os.kill(w.sessiond(), signal.SIGTERM)
        os.kill(consumerd, signal.SIGCONT)
        w.wait(lambda: not w.sessiond(), 'the session daemon to end')
        check(not w('list', '--json').json['sessions'], 'the next session daemon has a destroyed session')
        check(len(records(w, path)) == 3, 'records: %s', records(w, path))
        program.end()


@limit(120)
def live_option_sets_the_flush_interval_of_a_session(case):
    with World(case) as w:
        w('create', 'live', '--live=20ms')
        w('enable-event', 'test:*')
        w('enable-channel', 'slow', '--switch-timer', '2s')
        w('enable-channel', 'newest', '--overwrite')
        flush = {c['name']: c['flush_us'] for c in w.session('live')['channels']}
        check(flush == {'channel0': 20000, 'slow': 2000000, 'newest': -1}, 'flush intervals: %s', flush)
        w('list', 'live').prints('live: flushed every 20 ms')
        w('save', 'live')
        w('destroy', 'live')
        w('load', 'live')
        check(w.session('live')['flush_us'] == 20000, 'the saved session: %s', w.session('live'))
        w('destroy', 'live')
        w('create', 'usual', '--live')
        check(w.session('usual')['flush_us'] == 1000000, 'create --live: %s', w.session('usual'))
        w('destroy', 'usual')


@limit(120)
def session_without_output_writes_only_requested_snapshots(case):
    with World(case) as w:
        w('create', 'none', '--no-output').prints('Session none writes nothing')
        w('enable-event', 'test:*')
        w('start')
        program = w.scripted()
        program('emit 3')
        is_now = w.session('none')
        check(is_now['snapshot'] and not is_now['snapshot_path'], 'list: %s', is_now)
        w('snapshot', 'record', status=1).prints("session 'none' has no snapshot output")
        w('snapshot', 'record', w.case.path('here'))
        at = os.path.join(w.case.path('here'), os.listdir(w.case.path('here'))[0])
        check(len(records(w, at)) == 3, 'records of the snapshot: %s', records(w, at))
        check(not os.path.exists(is_now['path']), '%s exists', is_now['path'])
        w('save', 'none')
        w('destroy', 'none')
        w('load', 'none')
        check(not w.session('none')['snapshot_path'], 'loaded: %s', w.session('none'))
        w('destroy', 'none')
        w('create', 'x', '--no-output', '--max-size', '1M', status=1).prints('has no effect with --snapshot')
        program.end()


def memory_of(pid):
    """Bytes of the memory of all ring sets that the process has open."""
    blocks = {}
    for fd in os.listdir('/proc/%d/fd' % pid):
        path = '/proc/%d/fd/%s' % (pid, fd)
        if 'waymark-ring' in os.readlink(path):
            blocks[os.stat(path).st_ino] = os.stat(path).st_blocks
    return 512 * sum(blocks.values())


@limit(120)
def listed_memory_of_buffers_equals_that_of_their_files(case):
    with World(case) as w:
        w('create', 'one', '--no-statedump')
        w('enable-channel', 'small', '--subbuf-size', '4k', '--num-subbuf', '2')
        w('enable-event', '-c', 'small', 'test:*')
        check(w.session('one')['channels'][0]['memory'] == 0, 'memory without buffers: %s', w.session('one'))
        w('start')
        program = w.scripted()
        program('emit 1')
        said = w.session('one')['channels'][0]['memory']
        is_now = memory_of(w.sessiond())
        check(said > 0 and said == is_now, 'list: %d bytes; /proc: %d', said, is_now)
        w('list', '--mem-usage').prints('small')
        w('list', '--mem-usage', '-k', status=2).prints('--mem-usage lists sessions')
        w.finish('one')
        program.end()


if __name__ == '__main__':
    main([
        pattern_selects_sessions,
        no_wait_commands_return_before_the_last_records_are_written,
        session_daemon_exit_waits_for_destroyed_sessions,
        live_option_sets_the_flush_interval_of_a_session,
        session_without_output_writes_only_requested_snapshots,
        listed_memory_of_buffers_equals_that_of_their_files
    ])
