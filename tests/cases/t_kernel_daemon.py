#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Kernel channels of sessions: exact counts while commands change them during recording, and `waymark record -k` through a
daemon.
"""
import os
import pwd
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from daemon import World  # noqa: E402
from harness import WAYMARK, Skip, check, communicated, limit, need, need_other_users, rounds, slurp  # noqa: E402
from kernel import (
    CALLS,
    KCALLS,
    KernelTrace,
    KernelWorld,
    all_there,
    check_turns,
    kernel_main,
    need_kernel,
    number,
    signed,  # noqa: E402
    text,
    turns_of)

LARGE = ['--subbuf-size', '1M', '--num-subbuf', '16']
# Room for all records of a case with all rounds (400000 records), even if other processes use the CPUs.
ROOM_FOR_ALL = ['--subbuf-size', '4M', '--num-subbuf', '16']


def only_system_calls_between_start_and_stop_are_recorded(case):
    """Only calls made while the session was started are recorded, and the counts equal those of the trace."""
    with KernelWorld(case) as w:
        w.begin_calls('one', *ROOM_FOR_ALL)
        tids, others, made = set(), set(), 0
        for turn in range(3):
            turns, ids = w.calls(2, rounds(20000))
            tids, made = tids | ids, made + turns
            session = w.stop('one')
            check(session['counts']['records'] == made * 2 * len(CALLS), 'turn %d: %s, not %d records', turn,
                  session['counts'], made * 2 * len(CALLS))
            others |= w.calls(1, 100)[1]
            w('start', 'one')
        others -= tids                   # (thread ids are reused)
        trace = w.destroyed('one', made * 2 * len(CALLS))
        check(not trace.calls(others), 'calls were recorded while the session was stopped')
        check_turns(trace, tids)


def clear_removes_kernel_records(case):
    with KernelWorld(case) as w:
        w.begin_calls('one', *ROOM_FOR_ALL)
        before = set()
        for _ in range(3):
            before |= w.calls(2, rounds(20000))[1]
            w('clear', 'one')
            check(
                w.session('one')['counts']['records'] == 0, 'after clear the counts are %s',
                w.session('one')['counts'])
        made, tids = w.calls(2, 500)
        trace = w.destroyed('one', made * 2 * len(CALLS))
        check(not trace.calls(before - tids), 'cleared records are in the trace')
        all_there(trace, made, tids, 2)


def disabled_kernel_events_and_channels_are_not_recorded(case):
    """Events and whole channels that are disabled, and enabled again."""
    with KernelWorld(case) as w:
        w.begin_calls('one', *LARGE)
        made, first = w.calls(1, 300)
        w('disable-event', '-k', '-s', 'one', '-c', 'kernel', '--syscall', CALLS[0])
        _, second = w.calls(1, 300)
        w('enable-event', '-k', '-s', 'one', '-c', 'kernel', '--syscall', CALLS[0])
        w('disable-channel', '-k', '-s', 'one', 'kernel')
        _, third = w.calls(1, 300)
        w('enable-channel', '-k', '-s', 'one', 'kernel')
        _, fourth = w.calls(1, 300)
        trace = w.destroyed('one')
        for tids in (first, fourth):
            all_there(trace, made, tids, 1)
        found = trace.calls(second)
        check({call for _, call, _ in found} == set(CALLS[1:]), 'records of a disabled event: %s',
              {k[1:]: len(v) for k, v in found.items()})
        check(not trace.calls(third), 'a disabled channel recorded')


def added_kernel_context_is_in_later_records(case):
    """Only records made after add-context have the new contexts."""
    with KernelWorld(case) as w:
        w.begin_calls('one', *LARGE, contexts=('tid',))
        made, first = w.calls(1, 300)
        w('add-context', '-k', '-s', 'one', '-c', 'kernel', '-t', 'procname', '-t', 'ppid')
        _, second = w.calls(1, 300)
        trace = w.destroyed('one')
        for tids in (first, second):
            all_there(trace, made, tids, 1)
        for r in trace.records:
            if number(r.context, 'tid') in second:
                check(
                    text(r.context, 'procname') == 'kcalls' and number(r.context, 'ppid') == os.getpid(),
                    'a record after add-context is %s', r)
            else:
                check('procname' not in r.context, 'a record before add-context is %s', r)


def kernel_sessions_record_independently(case):
    """Each session has all of its records, whatever the other session does."""
    with KernelWorld(case) as w:
        w.begin_calls('one', *LARGE)
        made, first = w.calls(1, 1000)
        w.begin_calls('two', *LARGE, calls=CALLS[:2])
        _, second = w.calls(1, 1000)
        w.stop('one')
        _, third = w.calls(1, 1000)
        one, two = w.destroyed('one'), w.destroyed('two')
        for tids in (first, second):
            all_there(one, made, tids, 1)
        check(not one.calls(third), 'a stopped session recorded')
        check(not two.calls(first), 'a session has records from before its creation')
        for tids in (second, third):
            found = two.calls(tids)
            check(
                len(found) == 4 and all(len(v) == made for v in found.values()), 'session two has %s',
                {k[1:]: len(v) for k, v in found.items()})


def kernel_sessions_respect_file_and_session_size_limits(case):
    """--tracefile-size, --max-size, overwrite mode and CTF 2."""
    with KernelWorld(case) as w:
        w.begin_calls('files', '--subbuf-size', '64k', '--num-subbuf', '64', '--tracefile-size', '256k')
        made, tids = w.calls(2, 3000)
        trace = w.destroyed('files')
        all_there(trace, made, tids, 2)
        of = [n for n in os.listdir(os.path.join(trace.directory, 'kernel')) if n.startswith('kernel_')]
        check(len(of) > 2, 'files: %s', of)
        check(all(os.path.getsize(os.path.join(trace.directory, 'kernel', n)) <= 256 << 10 for n in of),
              'a file is too large: %s', of)

        w('create', 'small', '--no-statedump', '--max-size', '1M')
        w.begin_calls('small', '--subbuf-size', '64k', '--num-subbuf', '8', create=False)
        program = w.until(2)
        w.wait(lambda: not w.session('small')['active'], 'the session to stop by itself')
        _, tids = w.ended(program)
        total = sum(
            os.path.getsize(os.path.join(top, n)) for top, _, names in os.walk(w.session('small')['path'])
            for n in names if n.startswith('kernel_'))
        check(total <= 1 << 20, '--max-size 1M: %d bytes', total)
        check_turns(w.destroyed('small', lossy=True), tids)

        w.begin_calls('ring', '--subbuf-size', '16k', '--num-subbuf', '4', '--overwrite')
        made, tids = w.calls(2, 20000)
        counts = w.stop('ring')['counts']
        trace = w.destroyed('ring', lossy=True)
        check(counts['overwritten'] > 0, 'nothing was overwritten: %s', counts)
        check(
            len(trace.records) + trace.lost == made * 2 * len(CALLS), '%d recorded + %d lost, not %d: %s',
            len(trace.records), trace.lost, made * 2 * len(CALLS), counts)

        w('create', 'new', '--no-statedump', '--trace-format', 'ctf-2')
        w.begin_calls('new', *LARGE, create=False)
        made, tids = w.calls(1, 200)
        all_there(w.destroyed('new', readers=('view',)), made, tids, 1)


def metadata_counts_in_the_maximum_size_of_a_session(case):
    """The metadata of all system calls takes most of --max-size."""
    with KernelWorld(case) as w:
        w('create', 'one', '--no-statedump', '--max-size', '1M')
        w('enable-event', '-k', '-s', 'one', 'syscall:*')
        w('start', 'one')
        path = w.session('one')['path']
        w.calls(2, 10000)
        w('destroy', 'one')
        files = [os.path.join(at, name) for at, _, names in os.walk(path) for name in names]
        metadata = sum(os.path.getsize(f) for f in files if f.endswith('/metadata'))
        check(metadata > 1 << 18 and len(files) > 1, 'files %s: %d bytes of metadata', files, metadata)
        total = sum(map(os.path.getsize, files))
        check(total <= 1 << 20, '%s has %d bytes, %d of them metadata', path, total, metadata)


def recorded_and_lost_kernel_records_equal_calls_made(case):
    """Lost and recorded records sum up to the calls made, at each stop."""
    with KernelWorld(case) as w:
        w.begin_calls('one', '--subbuf-size', '16k', '--num-subbuf', '4')
        made = 0
        for _ in range(3):
            made += w.calls(2, 20000)[0]
            counts = w.stop('one')['counts']
            check(counts['lost'] > 0, 'nothing was lost: %s', counts)
            check(counts['lost'] + counts['records'] == made * 2 * len(CALLS), '%s, not %d in sum', counts,
                  made * 2 * len(CALLS))
            w('start', 'one')
        trace = w.destroyed('one', lossy=True)
        check(
            len(trace.records) == counts['records'] and trace.lost == counts['lost'], 'the trace has %d, lost %d: %s',
            len(trace.records), trace.lost, counts)


@limit(60)
def consumer_daemon_killed_during_kernel_drain_is_replaced(case):
    """All kernel events at once; the consumer daemon is killed while it drains them."""
    with KernelWorld(case) as w:
        w('create', 'all')
        w('enable-channel', '-k', '-s', 'all', 'kernel', '--subbuf-size', '4M', '--num-subbuf', '8')
        w('enable-event', '-k', '-s', 'all', '-c', 'kernel', '*')
        w('start', 'all')
        pid = w.wait(w.kernel_consumerd, 'the consumer')
        # the moment, not a condition: the state dump is in progress or complete
        time.sleep(case.random.random() * 0.5)
        os.kill(pid, signal.SIGKILL)
        w.wait(lambda: w.kernel_consumerd() not in (None, pid), 'another consumer')
        w.calls(1, 100)
        w('stop', 'all')
        # the next consumer counts records as recorded that the killed one had skipped as its own (docs/kernel.md)
        trace = w.destroyed('all', lossy=True)
        check(
            len({r.name for r in trace.records}) > 50, 'only these were recorded: %s', {r.name for r in trace.records})


def waiting(w, turns=300):
    """A program that makes so many turns of calls after go(); its process id is known before."""
    return w.run(['sh', '-c', 'read go; exec "$@"', 'sh', KCALLS, 'calls', '1',
                  str(turns)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def go(w, *programs):
    """Start the programs together. Returns the thread ids of each."""
    for program in programs:
        program.stdin.write('go\n')
        program.stdin.flush()
    said = [communicated(program)[0] for program in programs]
    for program in programs:
        w.wait_end(program)
    return [turns_of(s)[1] for s in said]


def tracked_processes_are_recorded_by_bpf(case):
    """
    The session's allow-list: set, extended, emptied, removed while it records; after a crash of the session daemon;
    saved and loaded.
    """
    is_tracked(case)


def tracked_processes_are_recorded_by_tracefs(case):
    """The same without BPF: the next daemon also drains the first buffers. Their records do not have the context."""
    is_tracked(case, '--syscall-arguments', 'none')


def is_tracked(case, *options):
    with KernelWorld(case) as w:
        w.begin_calls('one', *LARGE, *options, contexts=('tid', 'procname'))
        made, first = w.calls(1, 300)
        in_it, out_of_it = [first], []

        def run(track, *argv):
            """Two programs; the first `track` of them are added to the list or removed from it."""
            programs = [waiting(w) for _ in range(2)]
            if argv:
                w(*argv, '-k', '-s', 'one', '--pid=' + ','.join(str(p.pid) for p in programs[:track])).prints('pid')
            return go(w, *programs)

        a, b = run(1, 'track')
        in_it, out_of_it = in_it + [a], out_of_it + [b]
        a, b = run(2, 'track')
        in_it += [a, b]
        a, b = run(1, 'untrack')
        out_of_it += [a, b]
        os.kill(w.sessiond(), signal.SIGKILL)
        w.wait(lambda: not w.sessiond(), 'the daemon to be gone')
        w('list', 'one')
        a, b = run(1, 'track')
        in_it, out_of_it = in_it + [a], out_of_it + [b]
        w('save', 'one', '-o', case.path('saved'))
        kept = w.session('one')['trackers']['kernel_pids']
        check(len(kept) == 4, 'tracked: %s', kept)
        w('untrack', '-k', '-s', 'one', '--pid', '--all')
        out_of_it += run(0)
        w('track', '-k', '-s', 'one', '--pid', '--all')
        in_it += run(0)
        trace = w.destroyed('one')
        for tids in in_it:
            all_there(trace, made, tids, 1)
        for tids in out_of_it:
            check(not trace.calls(tids), 'records of a process that is not tracked: %s',
                  {k: len(v) for k, v in trace.calls(tids).items()})
        w('load', '-i', case.path('saved'))
        check(w.session('one')['trackers']['kernel_pids'] == kept, 'loaded: %s', w.session('one')['trackers'])
        w('start', 'one')
        a, b = run(1, 'track')
        trace = w.destroyed('one')
        all_there(trace, made, a, 1)
        check(not trace.calls(b), 'records of a process that is not tracked')


def trackers_and_filters_apply_together(case):
    """Each rule keeps its own filter; a channel that is created later; refused requests."""
    with KernelWorld(case) as w:
        w('create', 'one', '--no-statedump')
        wanted, other = waiting(w), waiting(w)
        w('track', '-k', '-s', 'one', '--pid=%d' % wanted.pid)
        w('enable-channel', '-k', '-s', 'one', 'kernel', *LARGE)
        check('pid' in w.session('one')['channels'][0]['contexts'], 'the contexts are %s',
              w.session('one')['channels'][0]['contexts'])
        w('add-context', '-k', '-s', 'one', '-c', 'kernel', '-t', 'tid')
        w('enable-event', '-k', '-s', 'one', '-c', 'kernel', '--syscall', 'sched_setparam', '--filter', 'pid < -100')
        w('enable-event', '-k', '-s', 'one', '-c', 'kernel', '--syscall', 'timer_delete')
        w('start', 'one')
        tids, others = go(w, wanted, other)
        trace = w.destroyed('one')
        found = trace.calls(tids)
        entries = [signed(number(r.fields, 'pid')) for r in trace.named('syscall_entry_sched_setparam')]
        check(entries == list(range(-101, -302, -1)), 'the filter left %s', entries)
        check(all(len(found[tid, 'timer_delete', kind]) == 300 for tid in tids for kind in ('entry', 'exit')),
              'recorded: %s', {k: len(v) for k, v in found.items()})
        check(not trace.calls(others), 'records of a process that is not tracked')

        w('create', 'two')
        w('track', '-k', '-s', 'two', '--uid=0', status=2).prints('use --pid')
        w('track', '-k', '-u', '-s', 'two', '--pid=1', status=2).prints('one domain')
        w('track', '-k', '-s', 'two', '--pid=' + ','.join(map(str, range(1, 66))), status=1).prints('more than 64')
        w('enable-channel', '-k', '-s', 'two', 'kernel')
        w('enable-event', '-k', '-s', 'two', '-c', 'kernel', '--syscall', 'timer_delete,sched_setparam')
        w('enable-event', '-k', '-s', 'two', '-c', 'kernel', '--syscall', 'sched_getattr', '--filter',
          'pid in [%s]' % ', '.join(map(str, range(1000000, 1000400))))
        w('start', 'two')
        w('track', '-k', '-s', 'two', '--pid=' + ','.join(map(str, range(1000000, 1000060))),
          status=1).prints('too long')
        w('track', '-k', '-s', 'two', '--pid=1')
        w('track', '-k', '-s', 'two', '--pid=' + ','.join(map(str, range(1000000, 1000060))),
          status=1).prints('too long')
        check(w.session('two')['trackers']['kernel_pids'] == [1], 'tracked: %s', w.session('two')['trackers'])
        w('enable-event', '-k', '-s', 'two', '-c', 'kernel', 'sched_process_exit')
        w('track', '-k', '-s', 'two', '--pid=' + ','.join(map(str, range(2, 64))))
        w(
            'enable-event', '-k', '-s', 'two', '-c', 'kernel',
            ','.join('sched_process_exit'[:i] + '*' + 'sched_process_exit'[j:] for i in range(6, 16)
                     for j in range(i, i + 4)))
        check(len(w.session('two')['trackers']['kernel_pids']) == 63, 'tracked: %s', w.session('two')['trackers'])
        w('untrack', '-k', '-s', 'two', '--pid=' + ','.join(map(str, range(2, 64))))
        w('stop', 'two')
        w('start', 'two')
        w('track', '-k', '-s', 'two', '--pid', '--all')
        w('untrack', '-k', '-s', 'two', '--pid=1', status=1).prints('all are tracked')
        check(not w.session('two')['trackers']['kernel_pid'], 'tracked: %s', w.session('two')['trackers'])


# In its own PID namespace: a process, and one in a nested namespace. Each waits for input, then makes calls. Each has a
# channel, created with its PID there.
INSIDE = """
exec 3<&0
sh -c 'read go <&3; exec "$0" calls 1 300' "$KCALLS" & one=$!
unshare --pid --fork --mount-proc sh -c 'read go <&3; exec "$0" calls 1 300' "$KCALLS" & wrap=$!
until below=$(pgrep -P $wrap); do [ -d /proc/$wrap ] || exit; sleep 0.05; done
"$WAYMARK" enable-channel -k -s one --pid $one first &&
"$WAYMARK" enable-event -k -s one -c first --pid $one --syscall "$CALLS" &&
"$WAYMARK" enable-channel -k -s one --pid $below second &&
"$WAYMARK" enable-event -k -s one -c second --pid $below --syscall "$CALLS" &&
! "$WAYMARK" enable-event -k -s one -c first --pid 30000 --syscall "$CALLS" &&
"$WAYMARK" disable-channel -k -s one --pid $below second && : >"$READY"
wait
"""


def pids_are_interpreted_in_the_namespace_of_the_client(case):
    """PIDs from a client in a container are those of the container's PID namespace."""
    need('pgrep', 'unshare')
    with KernelWorld(case) as w:
        if subprocess.run(['unshare', '--pid', '--fork', '--mount-proc', 'true'], capture_output=True).returncode:
            raise Skip('PID namespaces cannot be created here')
        w('create', 'one', '--no-statedump')
        env = dict(KCALLS=KCALLS, WAYMARK=WAYMARK, CALLS=','.join(CALLS), READY=case.path('ready'))
        inside = w.run(['unshare', '--pid', '--fork', '--mount-proc', 'sh', '-c', INSIDE], env=env,
                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        w.wait(lambda: os.path.exists(case.path('ready')), 'the channels to be created inside')
        channels = w.session('one')['channels']
        pids = [c['domain']['pid'] for c in channels]
        check(
            len(pids) == 2 and all(slurp('/proc/%d/comm' % p).strip() == 'sh' for p in pids),
            'the channels are for processes %s', pids)
        check([(c['name'], c['enabled']) for c in channels] == [('first', True), ('second', False)],
              'the channels are %s', channels)
        w('enable-channel', '-k', '-s', 'one', '--pid', pids[1], 'second')     # the PID that `list` shows
        w('start', 'one')
        out, err = communicated(inside, 'go\ngo\n', 60)
        w.wait_end(inside)
        check('process 30000 does not exist' in err, 'waymark printed: %s', err)
        trace = w.destroyed('one')
        for call in CALLS:
            for kind in ('entry', 'exit'):
                n = len(trace.named('syscall_%s_%s' % (kind, call)))
                check(n == 600, '%d records of the %s of %s, not 600', n, kind, call)


def kernel_record_uses_the_running_session_daemon(case):
    with KernelWorld(case) as w:
        for command, status in (([KCALLS, 'calls', '1',
                                  '300'], 0), (['sh', '-c', 'exit 7'], 7), (['sh', '-c', 'kill -TERM $$'], 143)):
            path = case.path('trace%d' % status)
            answer = w('record', '-o', path, *[x for c in CALLS for x in ('-k', 'syscall:' + c)], '-e', 'test:*', '--',
                       *command, status=status)
            trace = KernelTrace(path)
            if status == 0:
                check(
                    len(trace.named(*['syscall_entry_' + c for c in CALLS])) == 300 * len(CALLS), 'recorded: %d',
                    len(trace.records))
                answer.prints('%d records' % len(trace.records), '0 lost')
        w('record', '-o', case.path('no'), '-k', 'sched_swich', '--', 'true', status=1).prints('sched_switch')
        check(not w('list', '--json').json['sessions'], 'sessions were left: %s', w('list').out)
        path = case.path('int')
        child = w.run([WAYMARK, 'record', '-o', path, '-k', 'sched_process_exit', '--', 'sleep', '1000'])
        w.wait(lambda: [s for s in w('list', '--json').json['sessions'] if s['active']], 'the recording to begin')
        w.wait(lambda: 'sleep' in w.own_processes().values(), 'sleep')
        os.killpg(child.pid, signal.SIGINT)
        w.wait_end(child, 128 + signal.SIGINT)
        check([r for r in KernelTrace(path).named('sched_process_exit') if text(r.context, 'procname') == 'sleep'],
              'the end of the program is not in the trace')


def invalid_kernel_requests_are_refused(case):
    with KernelWorld(case) as w:
        w('create', 'one')
        w('enable-event', '-k', '-s', 'one', 'sched_swich', status=1).prints('sched_switch')
        w('enable-event', '-k', '-s', 'one', '--syscall', 'opena', status=1).prints('openat')
        w('enable-event', '-k', '-s', 'one', '', status=None).prints('pattern|empty|name')
        w('enable-channel', '-k', '-s', 'one', '--buffers-pid', 'kernel', status=None).prints('kernel')
        w('enable-event', '-k', '-s', 'one', 'sched_switch')
        w('add-context', '-k', '-s', 'one', '-t', 'pthread_id', status=1).prints('pthread_id')
        w('start', 'one')
        w('enable-event', '-k', '-s', 'one', 'nowhere:*', status=1).prints('nowhere')
        check(w.session('one')['active'], 'a wrong pattern stopped the session')
        w('destroy', 'one')


def another_of_that_number(was):
    """A new process with the PID of an ended one; None if other processes took that PID."""
    for _ in range(200):
        with open('/proc/sys/kernel/ns_last_pid', 'w') as f:
            f.write(str(was - 1))
        child = subprocess.Popen(['sleep', '1000'])
        if child.pid == was:
            return child
        child.kill()
        child.wait()
    return None


def later_process_with_a_reused_pid_is_not_recorded(case):
    """A channel is for one process, and not for a later process with the same PID."""
    with KernelWorld(case) as w:
        first = subprocess.Popen(['sleep', '1000'])
        w('create', 'one')
        w('enable-channel', '-k', '-s', 'one', '--pid', first.pid, 'kernel')
        w('enable-event', '-k', '-s', 'one', '-c', 'kernel', '--pid', first.pid, 'sched_switch')
        w('start', 'one')
        w('stop', 'one')
        w('enable-channel', '-k', '-s', 'one', '--pid', first.pid, 'later')
        w('enable-event', '-k', '-s', 'one', '-c', 'later', '--pid', first.pid, 'sched_wakeup')
        first.kill()
        first.wait()
        w('start', 'one', status=1).prints('process')
        w('save', 'one', '-o', case.path('saved'))
        w('load', '-i', case.path('saved'), status=1).prints('process %d' % first.pid)
        second = another_of_that_number(first.pid)
        if not second:
            raise Skip('no process got the PID of an ended one')
        w('start', 'one', status=1).prints('process %d of the channel has ended' % first.pid)
        second.kill()
        second.wait()
        w('destroy', 'one')


def kernel_request_of_unprivileged_user_is_refused(case):
    """A user's own daemon refuses the kernel domain and names root; the user can still record applications."""
    need_kernel()
    need_other_users()
    with World(case, user=pwd.getpwuid(65534)) as w:
        w('create', 'one')
        w('enable-event', '-k', '-s', 'one', 'sched_switch', status=1).prints('root')
        w('record', '-k', 'sched_switch', '-o', case.short('t') + '/x', '--', 'true', status=None).prints('root')
        w('destroy', 'one')


if __name__ == '__main__':
    kernel_main([
        only_system_calls_between_start_and_stop_are_recorded, clear_removes_kernel_records,
        disabled_kernel_events_and_channels_are_not_recorded, added_kernel_context_is_in_later_records,
        kernel_sessions_record_independently, kernel_sessions_respect_file_and_session_size_limits,
        recorded_and_lost_kernel_records_equal_calls_made, metadata_counts_in_the_maximum_size_of_a_session,
        consumer_daemon_killed_during_kernel_drain_is_replaced, tracked_processes_are_recorded_by_bpf,
        tracked_processes_are_recorded_by_tracefs, trackers_and_filters_apply_together,
        pids_are_interpreted_in_the_namespace_of_the_client, kernel_record_uses_the_running_session_daemon,
        invalid_kernel_requests_are_refused, later_process_with_a_reused_pid_is_not_recorded,
        kernel_request_of_unprivileged_user_is_refused
    ])
