#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Each command in each PID, time, user or mount namespace works correctly, or fails with a message."""
import contextlib
import json
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from harness import Failure, Gate, Result, Skip, WAYMARK, check, communicated, finished, need  # noqa: E402
from control import SESSIOND  # noqa: E402
from kernel import CALLS as ALL_CALLS, KCALLS, KernelWorld, kernel_main, need_kernel, patterns  # noqa: E402

CALLS = ALL_CALLS[:2]           # the kernel takes long to enable each call
AHEAD = 1000                     # offset of the time namespace's clocks in seconds
SPACES = {
    'none': [],
    'pid': ['--pid', '--fork', '--mount-proc'],
    'pid, /proc of its parent': ['--pid', '--fork'],
    'time': ['--time', '--fork', '--monotonic', str(AHEAD), '--boottime', str(2 * AHEAD)],
    'user': ['--user'],
    'user, root mapped': ['--user', '--map-root-user'],
    'mount': ['--mount'],
}
NUMBERS = 'its records have process numbers of the initial PID namespace'
TRIPLES, TURNS = 4, 2
# A child of the shell makes the user events and openat() calls, then the shell executes the program that makes the
# other calls.
PROGRAM = ['sh', '-c', '"$0" triples %d; exec "$0" calls 1 %d' % (TRIPLES, TURNS), KCALLS]
KERNEL = ['-k', 'syscall:openat', '-k', 'sched_process_exec', *patterns(*CALLS)]
SMALL = ['--no-statedump', '--subbuf-size', '64k', '--num-subbuf', '4']


def within(space):
    return ['unshare', *SPACES[space]] if SPACES[space] else []


class Rows:
    """Rows of a table; all failed rows are reported together."""

    def __init__(self):
        self.n, self.failed = 0, []

    @contextlib.contextmanager
    def row(self, *names):
        self.n += 1
        try:
            yield
        except Failure as failure:
            self.failed.append('%s: %s' % (' in '.join(names), failure))

    def end(self):
        check(not self.failed, '%d of %d rows: %s', len(self.failed), self.n, '\n'.join(self.failed))


def records(directory):
    """[(seconds since 1970, event, context, fields)] of a trace."""
    done = finished([WAYMARK, 'view', '--json', directory], capture_output=True, text=True)
    check(done.returncode == 0 and not done.stderr, 'view: %s', done.stderr[-500:])
    lines = map(json.loads, done.stdout.splitlines())
    return [(float(line['time']), line['event'], line.get('context') or {}, line['fields']) for line in lines]


def has_user_events(found):
    n = sum(event in ('test:before', 'test:after') for _, event, _, _ in found)
    check(n == 2 * TRIPLES, '%d records of the program, not %d', n, 2 * TRIPLES)


def has_kernel_events(found, only):
    """The kernel records of the program have its name and lie between its user records. `only`: there are no others."""
    ours = [r for r in found if r[2].get('procname') == 'kcalls']
    for call in CALLS:
        for way in 'entry', 'exit':
            n = sum(event == 'syscall_%s_%s' % (way, call) for _, event, _, _ in ours)
            check(n == TURNS, '%d records of syscall_%s_%s, not %d', n, way, call, TURNS)
    n = sum(event == 'sched_process_exec' for _, event, _, _ in ours)
    check(n == 2, '%d records of the exec of kcalls, not 2', n)
    if only:
        names = {None, 'kcalls', 'sh', 'unshare', 'waymark'}
        others = [r for r in found if r[2].get('procname') not in names]
        check(not others, '%d records of other programs: %s', len(others), others[:4])
    between, open_calls = None, 0
    for _, event, context, _ in found:
        if event == 'test:before':
            between = set()
        elif event == 'test:after':
            open_calls += {'syscall_entry_openat', 'syscall_exit_openat'} <= between
            between = None
        elif between is not None and context.get('procname') == 'kcalls':
            between.add(event)
    check(open_calls == TRIPLES, '%d calls are between the events around them, not %d', open_calls, TRIPLES)


def in_time(found, begun):
    wrong = [(t, event) for t, event, _, _ in found if not begun - 1 <= t <= time.time() + 1]
    check(found and not wrong, '%d of %d records have wrong times, for example %s; start at %s', len(wrong), len(found),
          wrong[:1], begun)


def ran(w, argv):
    child = w.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    out, err = communicated(child)
    w.children.remove(child)
    return Result(child.returncode, out, err, None)


def record(w, rows, command, options, outer=(), inner=(), words=None, number=[0]):
    """One row: the program is recorded completely, or the command fails with these words."""
    number[0] += 1
    directory, begun = w.case.path('t%d' % number[0]), time.time()
    done = ran(w, [*outer, WAYMARK, 'record', *options, *SMALL, '-c', 'procname', '-o', directory,
                   '--', *inner, *PROGRAM])
    if words:
        check(done.status == 1 and words in done.err, 'status %d, "%s" is not in the message: %s', done.status, words,
              done.err[-500:])
        return
    done.ok()
    check(' 0 lost' in done.err, 'wrong message: %s', done.err[-500:])
    found = records(directory)
    in_time(found, begun)
    has_user_events(found)
    if '-k' in options:
        has_kernel_events(found, '-p' in options)


# A recording of the kernel has the program's user events as well.
RECORDS = {
    'record --private': ['--private'], 'record': [],
    'record --private -k -p': ['--private', *KERNEL, '-p'], 'record -k -p': [*KERNEL, '-p'],
    'record --private -k': ['--private', *KERNEL], 'record -k': KERNEL,
}
COVERED = {'none': ('record --private', 'record', 'record --private -k', 'record -k'),
           'pid': ('record',), 'pid, /proc of its parent': ('record',)}


def record_command_in_a_namespace_records_events(case):
    """`waymark record` in a namespace, alone or through a session daemon outside."""
    rows = Rows()
    with KernelWorld(case) as w:
        for command, options in RECORDS.items():
            for space in SPACES:
                if command in COVERED.get(space, ('record --private', 'record')):
                    continue
                refused = NUMBERS if space.startswith('pid') and {'--private', '-k'} <= set(options) else None
                with rows.row(command, space):
                    record(w, rows, command, options, within(space), words=refused)
    rows.end()


def applications_are_recorded_in_namespaces(case):
    """The program is in a namespace, and `waymark record` is outside."""
    rows = Rows()
    with KernelWorld(case) as w:
        for command in ('record --private -k -p', 'record -k -p'):
            for space in [space for space in SPACES if space != 'none']:
                with rows.row(command, space):
                    record(w, rows, command, RECORDS[command], inner=within(space))
    rows.end()


def strace_command_in_a_namespace_prints_system_calls(case):
    """`waymark strace`, by BPF and by tracefs."""
    need_kernel()
    rows = Rows()
    for command in ['strace'], ['strace', '--no-bpf']:
        for space in SPACES:
            with rows.row(' '.join(command), space):
                refused = NUMBERS if space.startswith('pid') else 'only root' if space == 'user' else None
                begun = time.time()
                argv = [*within(space), WAYMARK, *command, '-f', '-ttt', '-e', ','.join(CALLS), *PROGRAM]
                done = finished(argv, env=case.env, stdin=subprocess.DEVNULL, capture_output=True, text=True)
                if refused:
                    check(done.returncode == 1 and refused in done.stderr, 'status %d: %s', done.returncode,
                          done.stderr[-500:])
                    continue
                calls = [line.split() for line in done.stderr.splitlines() if any(call + '(' in line for call in CALLS)]
                check(len(calls) == TURNS * len(CALLS), '%d calls are printed, not %d: %s', len(calls),
                      TURNS * len(CALLS), done.stderr[-800:])
                # (with -f each line begins with the thread)
                times = [float(words[2] if words[0] == '[pid' else words[1]) for words in calls]
                check(all(begun - 1 <= t <= time.time() + 1 for t in times), 'the times are wrong: %s, at %s',
                      times[:2], begun)
    rows.end()


# Two processes that wait for input. One session has channels for the first one, and the other session tracks it, both
# by its PID in the namespace.
BY_NUMBER = """
set -e
mine() { read go <"$GATE"; exec "$KCALLS" triples 4; }
mine & one=$!
mine & two=$!
trap 'kill -9 $one $two 2>/dev/null || :' EXIT
w() { "$WAYMARK" "$@" >/dev/null; }
w create --no-statedump -o "$OUT.s" "s$ROW"
w enable-channel --pid $one u; w enable-event --pid $one -c u 'test:*'
w enable-channel -k --pid $one k; w enable-event -k --pid $one -c k --syscall openat
w add-context -k --pid $one -c k -t pid
w start
w create --no-statedump -o "$OUT.t" "t$ROW"
w enable-event 'test:*'; w enable-event -k --syscall openat
w track --pid $one,$two; w untrack --pid $two; w track -k --pid $one,$two; w untrack -k --pid $two
w start
if w track --pid 400000000 2>/dev/null && [ "$OTHER" ]; then exit 9; fi
echo go >"$GATE"; echo go >"$GATE"
wait $one; wait $two
w destroy; w destroy "s$ROW"
"""


def pid_options_use_the_namespace_of_the_client(case):
    """--pid, track and untrack use the PIDs of the client's namespace."""
    rows = Rows()
    with KernelWorld(case) as w:
        for row, space in enumerate(SPACES):
            with rows.row('--pid', space), contextlib.closing(Gate(case.path('gate%d' % row))) as gate:
                out = case.path('numbers%d' % row)
                w.env.update(GATE=gate.path, KCALLS=KCALLS, WAYMARK=WAYMARK, OUT=out, ROW=str(row),
                             OTHER='other' if space.startswith('pid') else '')
                ran(w, [*within(space), 'sh', '-c', BY_NUMBER]).ok()
                for session in 's', 't':
                    found = records('%s.%s' % (out, session))
                    has_user_events(found)
                    pids = {c['pid'] for _, event, c, _ in found if 'openat' in event}
                    n = sum('syscall_entry_openat' == event for _, event, _, _ in found)
                    check(len(pids) == 1 and n >= TRIPLES, 'session %s: %d calls of the processes %s', session, n, pids)
    rows.end()


def lists_are_complete_for_clients_in_namespaces(case):
    rows = Rows()
    with KernelWorld(case) as w:
        w('create', 'shown')
        program = w.scripted()
        w.wait_apps([program.pid])
        for space in SPACES:
            for what, words in ((['list'], 'shown'), (['list', '-u'], 'pid %d' % program.pid),
                                (['list', '-k', 'sched_switch'], 'sched:sched_switch')):
                with rows.row(' '.join(what), space):
                    done = ran(w, [*within(space), WAYMARK, *what]).ok()
                    check(words in done.out, 'the list has: %s', done.out[-500:])
        program.end()
    rows.end()


OUTSIDE = 'cannot translate process numbers'
MOUNT_PROC = '/proc belongs to another PID namespace'
DAEMONS = {
    # Expected message for a PID; expected message for a recording of the kernel.
    'pid': (OUTSIDE, NUMBERS), 'pid, /proc of its parent': (MOUNT_PROC, NUMBERS), 'time': (None, None),
    'user': (None, None), 'user, root mapped': (None, None), 'mount': (None, None),
}


def session_daemon_in_a_namespace_records_events(case):
    """The session daemon is in a namespace, and its clients are outside."""
    rows = Rows()
    for space, (numbers, kernel) in DAEMONS.items():
        world = KernelWorld(case, name='home%d' % rows.n, daemon=False)
        os.mkdir(world.rundir, 0o700)
        with world as w:
            daemon = w.run([*within(space), SESSIOND])
            w.wait(lambda: w('-n', 'list', status=None).status == 0, 'the daemon to listen')
            for command in ['record -k -p'] + ['record', 'record -k'] * (space == 'time' or numbers is not None):
                with rows.row(command, 'daemon: ' + space):
                    record(w, rows, command, RECORDS[command], words=numbers)
            for command in ['track', '--pid'], ['track', '-k', '--pid']:
                with rows.row(' '.join(command), 'daemon: ' + space):
                    w('create', 'one')
                    done = w(*command, os.getpid(), status=1 if numbers else 0)
                    check(not numbers or numbers in done.err, 'wrong message: %s', done.err)
                    w('destroy', 'one')
            with rows.row('enable-event -k', 'daemon: ' + space):
                w('create', 'one')
                done = w('enable-event', '-k', 'sched_switch', status=1 if kernel else 0)
                check(not kernel or kernel in done.err, 'wrong message: %s', done.err)
                done = w('list', '-k', 'sched_switch')
                check(not kernel or kernel in done.out, 'the list has: %s', done.out)
                w('destroy', 'one')
            w('-n', 'destroy', '--all', status=None)
            check(daemon.poll() is None, 'the daemon has ended')
    rows.end()


def output_directory_hidden_by_a_mount_namespace_is_reported(case):
    """A directory that only one of client and daemon sees is named in the message."""
    mounted = ['unshare', '--mount', 'sh', '-ec', 'mount -t tmpfs none "$0"; exec "$@"']
    hidden = case.path('hidden')
    os.mkdir(hidden)
    rows = Rows()
    with KernelWorld(case) as w:
        for command in ['create', 'one', '-o'], ['record', '-o']:
            for below in 'trace', 'more/than/one':
                with rows.row(' '.join(command), 'mount'):
                    program = ['--', 'true'] if command[0] == 'record' else []
                    done = ran(w, [*mounted, hidden, WAYMARK, *command, os.path.join(hidden, below), *program])
                    check(done.status == 1 and 'the client has another mount namespace' in done.err, 'status %d: %s',
                          done.status, done.err)
                    check(not os.listdir(hidden), 'files were created: %s', os.listdir(hidden))
        with rows.row('create -o, seen by both', 'mount'):
            ran(w, [*mounted, hidden, WAYMARK, 'create', 'two', '-o', case.path('seen')]).ok()
        # (the program runs until the notification has been handled)
        with rows.row('record --private', 'program: mount'), contextlib.closing(Gate(case.path('gate'))) as gate:
            script = 'mount -t tmpfs none "$WAYMARK_RUNDIR"; "$0" forever & read go <"$1"; kill $!; wait $! || :'
            child = case.start([*mounted[:-1], script, case.program('procs'), gate.path])
            w.wait(lambda: any(begun > 6000 for begun, _ in case.ledger.read().values()), 'the program to have run')
            gate()
            done = case.finish(child).ok()
            check([one['why'] for one in done.summary['not_followed']] == ['mounts'], 'wrong message: %s', done.summary)
    rows.end()


def pid_namespace_without_fork_is_reported_with_the_option(case):
    """After `unshare --pid` without --fork no thread can be started, and the message names --fork."""
    rows = Rows()
    for argv in ([WAYMARK, 'record', '--private', '-o', case.path('none'), '--', 'true'],
                 [SESSIOND, '--rundir', case.short('run')]):
        with rows.row(os.path.basename(argv[0]), 'pid, without a fork'):
            done = finished(['unshare', '--pid', *argv], env=case.env, capture_output=True, text=True)
            check(done.returncode == 1 and '--fork' in done.stderr, 'status %d: %s', done.returncode,
                  done.stderr)
    rows.end()


def cases_of(*cases):
    need('unshare')
    every = ['unshare', *SPACES['time'], 'unshare', '--user', '--pid', '--fork', '--mount-proc', 'true']
    if finished(every, capture_output=True).returncode:
        cases = [skipped]
    kernel_main(list(cases))


def skipped(_case):
    raise Skip('namespaces cannot be created here')


if __name__ == '__main__':
    cases_of(record_command_in_a_namespace_records_events, applications_are_recorded_in_namespaces,
             strace_command_in_a_namespace_prints_system_calls,
             pid_options_use_the_namespace_of_the_client, lists_are_complete_for_clients_in_namespaces,
             session_daemon_in_a_namespace_records_events,
             output_directory_hidden_by_a_mount_namespace_is_reported,
             pid_namespace_without_fork_is_reported_with_the_option)
