#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Sessions of the session daemon, controlled by the commands that a user types."""
import contextlib
import json
import os
import pwd
import re
import subprocess
import sys
import tempfile

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..')
sys.path.insert(0, os.path.join(TOP, 'tests', 'lib'))
from control import Control  # noqa: E402
from harness import (  # noqa: E402
    PROGRAMS, WAYMARK, Skip, Trace, check, check_sequences, communicated, finished, limit, main, need, slurp, wait_for)

BUILD = os.environ.get('WMK_BUILD', 'build')


@contextlib.contextmanager
def own_daemon(case, *args, **more):
    """A daemon for one case, which is removed afterwards."""
    one = Control(case, *args, **more)
    try:
        yield one
    finally:
        one.close()


def readme_command_lines():
    """The command lines in the README's section on sessions."""
    section = re.search(r'^## A session\n(.*?)^## ', slurp(os.path.join(TOP, 'README.md')), re.M | re.S)
    check(section, 'the README has no section "A session"')
    lines = re.findall(r'^\$ (.*)$', section.group(1), re.M)
    check(len(lines) >= 8, 'the README has only these command lines: %s', lines)
    return [re.sub(r'\s+#.*', '', line) for line in lines]


def programs_of_the_readme(directory):
    """./shop, ./workers (forks) and ./plugins (loads a library)."""
    for name in ('shop', 'workers', 'plugins'):
        os.symlink(os.path.join(os.path.abspath(BUILD), 'examples', name), os.path.join(directory, name))


def run_command_lines(control, directory):
    """Run all command lines; check their output. Returns the path of the trace."""
    programs_of_the_readme(directory)
    answers = {}
    for line in readme_command_lines():
        words = line.split()
        answers[words[1] if words[0] == 'waymark' else words[0]] = control.shell(line, directory)
        if words[:2] == ['waymark', 'stop']:
            path = control('list', '--json').json['sessions'][0]['path']
    check(' 0 lost' in answers['stop'].out + answers['stop'].err, 'stop does not report losses: %s',
          answers['stop'].err + answers['stop'].out)
    check(' 0 lost' in answers['destroy'].out + answers['destroy'].err, 'destroy does not report losses')
    for name in ('shop:order', 'workers:task', 'plugin:report'):
        check(name in answers['view'].out, '`waymark view` shows no record of %s: %s', name,
              answers['view'].out[-1000:])
    check(control('list', '--json').json['sessions'] == [], 'a session is left')
    return path


def check_readme_trace(path):
    """Check the records of the process that forks, of its three children, and of the process that loads a library."""
    trace = Trace(path)
    parents = {r.scopes['vpid'] for name in ('started', 'ended') for r in trace.records('workers:' + name)}
    started = {r.fields['pid'] for r in trace.records('workers:started')}
    tasks = [(r.scopes['vpid'], r.fields['task']) for r in trace.records('workers:task')]
    check(
        len(parents) == 1 and len(started) == 3 and not parents & started, 'wrong parents or children: %s %s', parents,
        started)
    check(
        sorted(tasks) == sorted((pid, task) for pid in started for task in range(4)), 'wrong tasks of the children: %s',
        tasks)
    check(len(list(trace.records('workers:ended'))) == 3, 'not three records of ended children')
    check(
        len(list(trace.records('plugin:loaded'))) == 1 and len(list(trace.records('plugin:unloaded'))) == 1,
        'not one record that the library was loaded and unloaded')
    check(len(list(trace.records('plugin:report'))) >= 4, 'records of the loaded library are missing')
    for top, directories, files in os.walk(path):
        for name in directories:
            check(os.stat(os.path.join(top, name)).st_mode & 0o77 == 0, '%s/%s is open to others', top, name)
        for name in files:
            check(os.stat(os.path.join(top, name)).st_mode & 0o77 == 0, '%s/%s is open to others', top, name)


def readme_commands_succeed(case):
    """The command lines of the README, run by the user of the tests."""
    need('babeltrace2')
    directory = case.path('here')
    os.mkdir(directory)
    with own_daemon(case) as control:
        check_readme_trace(run_command_lines(control, directory))
        check(os.stat(os.path.join(control.home, '.waymark')).st_mode & 0o777 == 0o700, '~/.waymark is open to others')


@contextlib.contextmanager
def temporary_user():
    """A user account that is removed after the case."""
    name = 'wmktest%d' % os.getpid()
    finished(['useradd', '-M', '-s', '/bin/sh', name], check=True, capture_output=True)
    try:
        yield pwd.getpwnam(name)
    finally:
        finished(['userdel', name], capture_output=True)


def readme_commands_succeed_as_unprivileged_user(case):
    if os.geteuid():
        raise Skip('needs root, to make a user')
    need('useradd', 'userdel', 'babeltrace2')
    with temporary_user() as user, tempfile.TemporaryDirectory(prefix='waymark-user-') as directory:
        os.chmod(directory, 0o755)
        case.directory, kept = directory, case.directory
        try:
            here = case.path('here')
            os.mkdir(here)
            os.chown(here, user.pw_uid, user.pw_gid)
            if subprocess.run(['test', '-x', os.path.join(BUILD, 'examples', 'shop')], user=user.pw_uid,
                              group=user.pw_gid).returncode:
                raise Skip('another user cannot reach the programs of this build')
            with own_daemon(case, user=user) as control:
                path = run_command_lines(control, here)
                check(os.stat(path).st_uid == user.pw_uid, 'the trace is not the user\'s')
                check_readme_trace(path)
        finally:
            case.directory = kept


def event_rules_select_events(case):
    """Wildcards, exclusions, log levels and several patterns. `list` shows the rules as they were given."""
    with own_daemon(case) as control:
        control('create', 'one')
        control('enable-channel', 'small', '--subbuf-size', '64k', '--num-subbuf', '4')
        control('enable-event', 'test:*,plugin:*', 'shop:order_paid', '--exclude', 'test:text', '-c', 'small')
        control('enable-event', '-a', '--loglevel', 'WARNING..CRIT', '-c', 'small')
        control('add-context', '-t', 'vpid,vtid', '-c', 'small')
        channel = control('list', 'one', '--json').json['sessions'][0]['channels'][0]
        check(channel['name'] == 'small' and channel['subbuf_size'] == 65536, 'wrong channel: %s', channel)
        check({r['pattern'] for r in channel['rules']} >= {'test:*', 'plugin:*', 'shop:order_paid', '*'},
              'wrong rules: %s', channel)
        check(channel['contexts'] == ['vpid', 'vtid'], 'wrong contexts: %s', channel['contexts'])
        control('disable-event', 'plugin:*', '-c', 'small')
        rules = {
            r['pattern']: r['enabled']
            for r in control('list', 'one', '--json').json['sessions'][0]['channels'][0]['rules']
        }
        check(rules['plugin:*'] is False and rules['test:*'] is True, 'after disable-event: %s', rules)
        control('start')
        control.shell('%s/busy texts 1 10' % PROGRAMS, control.home)
        control.shell('%s/busy count 1 10 0' % PROGRAMS, control.home)
        control('stop')
        path = control('list', 'one', '--json').json['sessions'][0]['path']
        trace = Trace(path)
        check(sum(1 for _ in trace.records('test:seq')) == 10, 'not 10 records of the enabled event test:seq')
        check(not list(trace.records('test:text')), 'the excluded event test:text is recorded')
        control('destroy').prints('0 lost')


def loaded_session_equals_saved_session(case):
    """`load` restores the channels and trackers that `save` wrote."""
    with own_daemon(case) as control:
        control('create', 'kept')
        control('enable-channel', 'a', '--overwrite', '--num-subbuf', '4', '--subbuf-size', '8k')
        control('enable-event', 'x:*', '-c', 'a', '--exclude', 'x:y', '--loglevel-only', 'INFO')
        control('add-context', '-t', 'procname', '-c', 'a')
        control('track', '--uid', os.getuid())
        before = control('list', 'kept', '--json').json['sessions'][0]
        control('save', 'kept')
        control('save', 'kept', status=1).prints('--force')
        control('destroy', 'kept')
        control('load', 'kept')
        after = control('list', 'kept', '--json').json['sessions'][0]
        for member in ('channels', 'trackers'):
            check(before[member] == after[member], '%s was saved as %s, loaded as %s', member, before[member],
                  after[member])


def command_line_mistakes_are_reported_with_hints(case):
    with own_daemon(case) as control:
        control('enable-event', 'a:b', status=1).prints('waymark create')
        control('craete', status=2).prints('create')
        control('create', 'one')
        control('create', 'one', status=1).prints('one')
        control('start', 'oen', status=1).prints('one')
        control('enable-event', status=2).prints('--all')
        control('enable-event', 'a[b', status=1).prints('a[b')
        control('enable-event', 'a:b', '--loglevel', 'WRANING', status=2).prints('WARNING')
        control('add-context', '-t', 'vpdi', status=2).prints('vpid')
        control('enable-channel', 'c', '--overwrite', '--discard', status=2)
        control('track', '--pid', status=2)
        control('set-session', 'two', status=1).prints('two')
        control('enable-event', 'shop:order')
        control('disable-event', 'shop:odrer', status=1).prints('shop:order')
        control('disable-event', 'shop:order', '-c', 'chanel0', status=1).prints('channel0')


def list_to_full_output_reports_an_error(case):
    """The output of `list` cannot be written, whether it is short or long. One error reports the cause."""
    with own_daemon(case) as control, open('/dev/full', 'w') as full:
        control('create', 'many')
        for patterns in ([], ['long_provider_%03d:a_long_name' % i for i in range(600)]):
            if patterns:
                control('enable-event', *patterns)
            listed = control('list', '--json').out
            check(len(listed) > 70000 if patterns else len(listed) < 4000, 'the list has %d bytes', len(listed))
            check(len(json.loads(listed)['sessions']) == 1, 'wrong number of sessions: %s', listed[:300])
            done = finished([WAYMARK, 'list', '--json'], stdout=full, stderr=subprocess.PIPE, text=True,
                            env=control.env)
            check(done.returncode == 1 and done.stderr.count('\n') == 1, 'status %d: %s', done.returncode, done.stderr)
            check('cannot write to standard output: No space left on device' in done.stderr, 'wrong error: %s',
                  done.stderr)


def option_n_starts_no_daemon(case):
    """With -n a command fails instead of starting a daemon."""
    with own_daemon(case) as control:
        control('-n', 'list', status=1).prints('daemon')
        check(not control.daemons(), 'a daemon was started: %s', control.daemons())
        check(
            control('-n', 'list', '--names', 'contexts').out.split()[0] == 'vpid',
            'names of contexts are not listed without a daemon')


def lost_records_are_shown_at_stop_and_destroy(case):
    """`stop` and `destroy` report losses together with the option that avoids them."""
    with own_daemon(case) as control:
        control('create', 'lossy')
        control('enable-channel', 'tiny', '--subbuf-size', '4k', '--num-subbuf', '2')
        control('enable-event', '-a', '-c', 'tiny')
        control('start')
        control.shell('%s/busy count 2 100000 0' % PROGRAMS, control.home)
        control('stop').prints('lost', '--subbuf-size|--num-subbuf')
        control('destroy').prints('lost', '--subbuf-size|--num-subbuf')
        control('create', 'brief')
        control('enable-channel', 'wordy', '--field-limit', '8', status=2).prints('16')
        control('enable-channel', 'wordy', '--field-limit', '16')
        control('enable-event', '-a', '-c', 'wordy')
        control('start')
        control.shell('%s/busy texts 1 300' % PROGRAMS, control.home)
        control('stop').prints('cut')
        path = control('list', 'brief', '--json').json['sessions'][0]['path']
        texts = [r.fields['text'] for r in Trace(path).records('test:text')]
        check(
            len(texts) == 300 and max(map(len, texts)) <= 16, '%d texts, of at most %d characters', len(texts),
            max(map(len, texts)))
        control('destroy')


def record_adds_contexts_unless_others_are_named(case):
    """With --private and through the daemon."""
    with own_daemon(case) as control:
        control('create')
        for number, (options, wanted) in enumerate((
                ([], {'vpid', 'vtid', 'procname'}), (['-c', 'none'], set()), (['-c', 'vpid'], {'vpid'}),
                (['-c', 'none', '-c', 'vtid'], {'vtid'}))):
            for how in [], ['--private']:
                place = case.path('contexts%d%s' % (number, ''.join(how)))
                control('record', *how, *options, '-e', 'test:*', '-o', place, '--', case.program('procs'), 'leaf', 2)
                lines = [json.loads(line) for line in control('view', '--json', place).out.splitlines()]
                found = {name for r in lines if r['event'] == 'test:seq'
                         for part in ('event_context', 'context') for name in r.get(part, {})}
                check(found == wanted, '%s: contexts %s, not %s', how + options, found, wanted)


def record_uses_the_running_session_daemon(case):
    """
    `waymark record` uses a running daemon: it creates its own session beside others, and also records processes that
    lack its environment.
    """
    with own_daemon(case) as control:
        control('create', 'all')
        control('enable-event', 'test:*')
        control('start')
        place = case.path('through')
        done = control(
            'record', '--json', '-e', 'test:*', '-e', '!test:text', '-c', 'vpid', '-o', place, '--', 'sh', '-c',
            '%s leaf 5; %s fork 3; env -u WAYMARK_RUNDIR true; exit 7' % (case.program('procs'), case.program('procs')),
            status=7)
        figures = done.json
        check(figures['path'] == place and figures['exit_status'] == 7 and figures['lost'] == 0, 'wrong summary: %s',
              figures)
        check([p['pattern'] for p in figures['patterns']] == ['test:*'] and figures['patterns'][0]['matched'],
              'wrong patterns: %s', figures)
        check([s['name'] for s in control('list', '--json').json['sessions']] == ['all'],
              'the session of the recording is left')
        recorded = check_sequences(Trace(place), case.ledger)
        check(all('vpid = ' in line for line in Trace(place).lines if ' test:seq: ' in line),
              'a record lacks the context vpid')
        # Only the session that existed before records another application.
        control.shell('%s leaf 4' % case.program('procs'), control.home)
        path = control('stop', '--json').json['sessions'][0]['path']
        both = check_sequences(Trace(path), case.ledger)
        check(
            set(both) > set(recorded) and all(both[w] == recorded[w] for w in recorded),
            'wrong records of the two sessions: %s, %s', recorded, both)
        # The parent of the application has ended.
        orphan = '( (%s leaf 6; touch ended) & ); while ! [ -e ended ]; do sleep 0.01; done' % case.program('procs')
        done = control.shell('%s record --json -o %s -- sh -c "%s"' % (WAYMARK, case.path('orphan'), orphan),
                             control.home)
        found = sum(1 for _ in Trace(case.path('orphan')).records('test:seq'))
        check(found == 7, '%d records of the orphan are in the trace', found)
        # Recordings that start in the same second have different directories.
        both = [
            subprocess.Popen([WAYMARK, 'record', '--json', '--',
                              case.program('procs'), 'leaf', '1'], env=dict(control.env,
                                                                            WAYMARK_TRACE_DIR=control.home),
                             stdout=subprocess.PIPE, text=True, start_new_session=True) for _ in range(4)
        ]
        places = [json.loads(communicated(child)[0])['path'] for child in both]
        check(
            len(set(places)) == 4 and all(os.path.dirname(p) == control.home for p in places), 'wrong directories: %s',
            places)
        # A program that cannot be executed leaves no trace.
        with open(case.path('script'), 'w') as f:
            f.write('#!/nowhere\n')
        os.chmod(case.path('script'), 0o755)
        control('record', '-o', case.path('nothing'), '--', case.path('script'), status=1).prints('cannot run')
        check(not os.path.exists(case.path('nothing')), 'an empty trace is left')
        check([s['name'] for s in control('list', '--json').json['sessions']] == ['all'], 'a session is left')
        control('record', '-o', case.path('none'), '--', 'true').prints('libwaymark|-lwaymark')
        control('record', '-o', place, '--', 'true', status=1).prints('not empty', '--private')
        check(not control('record', '--private', '--json', '--', case.program('procs'), 'leaf', '2').json['session'],
              '--private used the daemon')


def next_daemon_completes_the_recording_of_a_killed_daemon(case):
    """The next session daemon completes the recording of a killed one. No record is missing."""
    with own_daemon(case) as control:
        control('list')
        recorder = subprocess.Popen(
            [WAYMARK, 'record', '--json', '-o',
             case.path('trace'), '--',
             case.program('busy'), 'until', '2', '20000'], env=control.env, stdout=subprocess.PIPE, text=True,
            start_new_session=True)
        wait_for(lambda: case.ledger.begun() > 100, 'the program to record')
        for pid, name in control.daemons().items():
            if name.startswith('waymark-session'):
                os.kill(pid, 9)
        begun = case.ledger.begun()
        wait_for(lambda: case.ledger.begun() > begun + 100, 'the program to record on')
        case.ledger.set_flag(1, 1)
        out, _ = communicated(recorder)
        check(recorder.returncode == 0, '`record` ended with status %d', recorder.returncode)
        check_sequences(Trace(case.path('trace')), case.ledger, json.loads(out)['lost'])


@limit(60)
def unresponsive_application_is_reported(case):
    """An application that does not answer is named, and delays the command only for a bounded time."""
    with own_daemon(case) as control:
        control('create', 'one')
        control('enable-event', 'other:*')
        control('start')
        child = subprocess.Popen([case.program('procs'), 'forever'], env=control.env, start_new_session=True)
        try:
            wait_for(lambda: any(a['pid'] == child.pid for a in control('list', '-u', '--json').json['apps']),
                     'the program to register')
            os.kill(child.pid, 19)
            control('enable-event', 'test:*').prints('procs', str(child.pid))
        finally:
            os.kill(child.pid, 9)
            child.wait()


if __name__ == '__main__':
    main([
        readme_commands_succeed, readme_commands_succeed_as_unprivileged_user, event_rules_select_events,
        record_adds_contexts_unless_others_are_named, loaded_session_equals_saved_session,
        command_line_mistakes_are_reported_with_hints, list_to_full_output_reports_an_error, option_n_starts_no_daemon,
        lost_records_are_shown_at_stop_and_destroy, record_uses_the_running_session_daemon,
        next_daemon_completes_the_recording_of_a_killed_daemon, unresponsive_application_is_reported
    ])
