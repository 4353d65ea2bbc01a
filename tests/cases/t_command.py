#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`waymark record`: its messages, its exit status and the files that it leaves behind."""
import json
import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from harness import WAYMARK, Skip, check, check_sequences, communicated, finished, main, slurp, wait_for  # noqa: E402


def prints(result, *words):
    text = (result.err + result.out).lower()
    for word in words:
        check(any(w in text for w in word.split('|')), '"%s" is not printed: %s', word,
              (result.err + result.out)[-800:])


def record_returns_the_exit_status_of_the_program(case):
    for code in (0, 1, 3, 77):
        case.record([case.program('procs'), 'status', str(code)]).ok(code)


def record_returns_the_signal_of_a_killed_program(case):
    case.record(['sh', '-c', '%s status 0; kill -SEGV $$' % case.program('procs')]).ok(128 + signal.SIGSEGV)


def summary_of_record_is_one_line(case):
    """Without --json the summary is one line with records, lost records and path."""
    child = case.start([case.program('procs'), 'leaf', '5'], json_summary=False)
    result = case.finish(child).ok()
    lines = [line for line in (result.err + result.out).splitlines() if line.strip()]
    check(len(lines) == 1, 'the summary is not one line: %s', lines)
    check('lost' in lines[0] and result.directory in lines[0] and 'record' in lines[0], 'the summary is: %s', lines[0])


def json_summary_has_counts_and_path(case):
    result = case.record([case.program('procs'), 'leaf', '5']).ok()
    for key in ('records', 'lost', 'bytes', 'path'):
        check(key in result.summary, 'the summary has no `%s`: %s', key, result.summary)
    check(os.path.realpath(result.summary['path']) == os.path.realpath(result.directory), '`path` is %s',
          result.summary['path'])
    size = sum(os.path.getsize(os.path.join(top, f)) for top, _, files in os.walk(result.directory) for f in files)
    check(
        abs(result.summary['bytes'] - size) <= size * 0.5, '`bytes` is %s, but the files have %d bytes',
        result.summary['bytes'], size)


def lost_records_are_reported_with_the_option_to_avoid_them(case):
    """The warning about lost records names the option that avoids the loss."""
    child = case.start([case.program('busy'), 'count', '2', '100000'], ['--subbuf-size', '4k', '--num-subbuf', '2'],
                       json_summary=False)
    result = case.finish(child).ok()
    prints(result, 'lost', '--subbuf-size|--num-subbuf')


def interrupt_of_process_group_leaves_complete_trace(case):
    """
    Ctrl-C signals the whole foreground process group. The application ends in its own way, and the trace is complete.
    """
    child = case.start([case.program('procs'), 'forever'])
    wait_for(lambda: case.ledger.flag(0) and case.ledger.begun() > 50, 'the program to record')
    os.killpg(child.pid, signal.SIGINT)
    result = case.finish(child).ok(7)
    check_sequences(result.trace(), case.ledger, result.lost, killed=True)


def record_forwards_an_interrupt_to_the_program(case):
    """`waymark record` forwards SIGINT and SIGTERM to the program."""
    for sig in (signal.SIGINT, signal.SIGTERM):
        case.ledger.set_flag(0, 0)
        child = case.start([case.program('procs'), 'forever'])
        wait_for(lambda: case.ledger.flag(0), 'the program to record')
        os.kill(child.pid, sig)
        result = case.finish(child)
        check(result.status == (7 if sig == signal.SIGINT else 128 + sig), 'status %d after signal %d', result.status,
              sig)
        result.trace()


def missing_program_is_reported(case):
    result = case.record(['/nonexistent/program'])
    check(result.status not in (0, None), 'status %s', result.status)
    prints(result, '/nonexistent/program', 'not found|no such file')
    check(not os.path.exists(os.path.join(result.directory, 'metadata')), 'a trace was left behind')


def program_that_is_not_executable_is_reported(case):
    path = case.path('plain')
    with open(path, 'w') as f:
        f.write('no program\n')
    result = case.record([path])
    check(result.status not in (0, None), 'status %s', result.status)
    prints(result, 'plain', 'permission|execut')


def program_without_tracepoints_runs_and_hint_is_printed(case):
    """The warning names what the program must be linked with. The program runs nevertheless."""
    result = case.record(['sh', '-c', 'exit 4']).ok(4)
    check(result.summary.get('instrumented') is False, '`instrumented` is not false: %s', result.summary)
    result = case.record(['sh', '-c', 'exit 4'], json_summary=False).ok(4)
    prints(result, 'instrument', '-lwaymark|pkg-config|waymark/trace.h')


def unwritable_output_directory_is_reported(case):
    result = case.record([case.program('procs'), 'status', '0'], output='/proc/nowhere/trace')
    check(result.status not in (0, None), 'status %s', result.status)
    prints(result, '/proc/nowhere|/proc')


def missing_interpreter_is_reported_and_leaves_no_trace(case):
    """
    exec() fails after the checks of the file have passed. The error is reported, and the new trace directory is
    removed.
    """
    script = case.path('script')
    with open(script, 'w') as f:
        f.write('#!/nowhere/interpreter\n')
    os.chmod(script, 0o755)
    result = case.record([script])
    check(result.status == 1, 'status %d', result.status)
    prints(result, 'cannot run')
    check(not os.path.exists(result.directory), '%s is left behind', result.directory)
    os.mkdir(case.path('there'))
    result = case.record([script], output=case.path('there'))
    check(os.listdir(case.path('there')) == [], 'the directory holds %s', os.listdir(case.path('there')))


def output_directory_that_is_not_empty_is_refused(case):
    place = case.path('used')
    os.mkdir(place)
    with open(os.path.join(place, 'thing'), 'w') as f:
        f.write('mine')
    result = case.record([case.program('procs'), 'status', '0'], output=place)
    check(result.status == 1 or result.status == 2, 'status %s', result.status)
    prints(result, 'empty')
    check(os.listdir(place) == ['thing'] and slurp(os.path.join(place, 'thing')) == 'mine', 'the directory was touched')
    check(not case.ledger.read(), 'the program was started')


def empty_output_directory_is_used(case):
    place = case.path('fresh')
    os.mkdir(place)
    case.checked([case.program('procs'), 'leaf', '5'], output=place, lost=0)


def trace_files_are_private_to_the_user(case):
    result = case.record([case.program('procs'), 'leaf', '5']).ok()
    for top, folders, files in os.walk(result.directory):
        for name in folders:
            mode = os.stat(os.path.join(top, name)).st_mode & 0o777
            check(mode == 0o700, 'folder %s has mode %o', name, mode)
        for name in files:
            mode = os.stat(os.path.join(top, name)).st_mode & 0o777
            check(mode == 0o600, 'file %s has mode %o', name, mode)


def unmatched_pattern_is_reported(case):
    result = case.record([case.program('procs'), 'leaf', '5'], ['-e', 'test:sek']).ok()
    prints(result, 'test:sek', 'test:seq')
    check(not list(result.trace().records('test:seq')), 'test:seq is recorded but not enabled')


def patterns_select_events(case):
    result = case.record([case.program('busy'), 'texts', '1', '20'], ['-e', 'test:seq']).ok()
    check(result.trace().count() == 0 or not list(result.trace().records('test:text')), 'test:text is in the trace')
    result = case.record([case.program('busy'), 'texts', '1', '20'], ['-e', 'te*:t*']).ok()
    check(len(list(result.trace().records('test:text'))) == 20, 'te*:t* did not select test:text')
    result = case.record([case.program('busy'), 'texts', '1', '20'], ['-e', 'nothing:here', '-e', 'test:text']).ok()
    check(len(list(result.trace().records('test:text'))) == 20, 'the second pattern did not select test:text')
    prints(result, 'nothing:here')


def rounded_sub_buffer_sizes_are_reported(case):
    child = case.start([case.program('procs'), 'leaf', '5'], ['--subbuf-size', '5000', '--num-subbuf', '3'],
                       json_summary=False)
    result = case.finish(child).ok()
    prints(result, '8192|8k|8 k', '4')
    for bad in ('0', '-1', 'x', '12Q', '99999999999999999999', ''):
        for option in ('--subbuf-size', '--num-subbuf'):
            result = case.record([case.program('procs'), 'leaf', '5'], [option, bad])
            check(result.status == 2, '%s %r: status %d: %s', option, bad, result.status, result.err)


def usage_errors_return_status_2(case):
    for arguments in (['record'], ['record', '--'], ['record', '--nosuch', '--', 'true'], ['recrod'],
                      ['record', '-c', 'nosuchcontext', '--', 'true']):
        done = finished([WAYMARK] + arguments, capture_output=True, text=True, cwd=case.directory)
        check(done.returncode == 2, '%s: status %d', arguments, done.returncode)
        check(done.stderr.strip(), '%s: no message', arguments)
    # options that need kernel events, without any kernel event
    for option in (['--program-only'], ['--kernel-filter', 'prev_tid == 1'], ['--syscall-arguments', 'text'],
                   ['--syscall-arguments', 'none'], ['-c', 'prio'], ['-c', 'vpid', '-c', 'tid']):
        done = finished([WAYMARK, 'record', *option, '--', 'touch', 'it_ran'], capture_output=True, text=True,
                        cwd=case.directory)
        check(done.returncode == 2 and '--kernel' in done.stderr, '%s: status %d: %s', option, done.returncode,
              done.stderr)
        check(not os.path.exists(case.path('it_ran')), '%s: the program was run', option)
    check('record' in finished([WAYMARK, 'recrod'], capture_output=True, text=True).stderr,
          'the error about a misspelt command does not suggest the nearest one')


def record_command_removes_its_files_processes_and_shared_memory(case):
    """Runtime directories, processes and shared memory are removed."""
    places = [p for p in ('/run/waymark', '/run/user/%d' % os.getuid(), '/tmp', '/dev/shm') if os.path.isdir(p)]
    before = {p: set(os.listdir(p)) for p in places}
    case.record([case.program('procs'), 'leaf', '5']).ok()
    for place in places:
        fresh = {n for n in set(os.listdir(place)) - before[place] if 'waymark' in n.lower()}
        # Files of another user's recording disappear when that recording ends.
        wait_for(lambda: not fresh & set(os.listdir(place)), 'the files in %s to be removed: %s' % (place, fresh))


def disabled_library_starts_no_thread(case):
    """WAYMARK_DISABLE: the library starts no thread and records nothing."""
    done = finished(['sh', '-c', '%s leaf 1 && ls /proc/self/task | wc -l' % case.program('procs')],
                    env=dict(case.env, WAYMARK_DISABLE='1'), capture_output=True, text=True)
    check(done.returncode == 0, 'status %d', done.returncode)
    result = case.record([case.program('procs'), 'leaf', '5'], env={'WAYMARK_DISABLE': '1'}).ok()
    check(not list(result.trace().records('test:seq')), 'test:seq is recorded in spite of WAYMARK_DISABLE')


def default_output_directory_is_below_waymark_trace_dir(case):
    """Without -o the trace is below WAYMARK_TRACE_DIR, and the summary has its path."""
    done = finished([WAYMARK, 'record', '--json', '--', case.program('procs'), 'leaf', '5'],
                    env=dict(case.env, WAYMARK_TRACE_DIR=case.path('traces'),
                             HOME=case.directory), capture_output=True, text=True)
    check(done.returncode == 0, 'status %d: %s', done.returncode, done.stderr)
    summary = json.loads(done.stdout[done.stdout.index('{'):])
    check(os.path.realpath(summary['path']).startswith(os.path.realpath(case.path('traces'))), '`path` is %s',
          summary['path'])


def default_output_directories_of_one_second_are_distinct(case):
    """Recordings that start in the same second have different directories."""
    env = dict(case.env, WAYMARK_TRACE_DIR=case.path('many'))
    command = [WAYMARK, 'record', '--json', '--', case.program('procs'), 'leaf', '5']
    children = [
        subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(8)
    ]
    paths = set()
    for child in children:
        out, err = communicated(child)
        check(child.returncode == 0, 'status %d: %s', child.returncode, err)
        paths.add(json.loads(out[out.index('{'):])['path'])
    check(len(paths) == len(children), '%d traces of %d runs', len(paths), len(children))


if __name__ == '__main__':
    main([
        record_returns_the_exit_status_of_the_program, record_returns_the_signal_of_a_killed_program,
        summary_of_record_is_one_line, json_summary_has_counts_and_path,
        lost_records_are_reported_with_the_option_to_avoid_them, interrupt_of_process_group_leaves_complete_trace,
        record_forwards_an_interrupt_to_the_program, missing_program_is_reported,
        program_that_is_not_executable_is_reported, program_without_tracepoints_runs_and_hint_is_printed,
        unwritable_output_directory_is_reported, missing_interpreter_is_reported_and_leaves_no_trace,
        output_directory_that_is_not_empty_is_refused, empty_output_directory_is_used,
        trace_files_are_private_to_the_user, unmatched_pattern_is_reported, patterns_select_events,
        rounded_sub_buffer_sizes_are_reported, usage_errors_return_status_2,
        record_command_removes_its_files_processes_and_shared_memory,
        disabled_library_starts_no_thread, default_output_directory_is_below_waymark_trace_dir,
        default_output_directories_of_one_second_are_distinct
    ])
