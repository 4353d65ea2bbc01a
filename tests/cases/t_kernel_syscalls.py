#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
System calls with the memory that their arguments point to, in `record -k` and in sessions: correct, exactly counted, in
order, and reported where they are not available.
"""
import collections
import contextlib
import os
import re
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from daemon import World  # noqa: E402
from harness import (  # noqa: E402
    PROGRAMS, VIEW, WAYMARK, Skip, check, communicated, finished, limit, main, need, rounds, slurp, wait_for)
from kernel import has_narrow_calls  # noqa: E402
from traces import LOSS, LOST, groups_after  # noqa: E402

TRACING = '/sys/kernel/tracing'
SYSCALLS = os.path.join(PROGRAMS, 'syscalls')
HEAD = re.compile(r'\[(\d+)\] (?:\S+ )?([\w:]+): \{')
Record = collections.namedtuple('Record', 'time name scopes fields')
# A call of the program and its exit make 2 records.
MADE = re.compile(r'^/nowhere/\d+/(\d+)$')


def need_bpf(case):
    """BPF is available; otherwise every case would test plain numbers."""
    if os.geteuid() or not os.path.isdir(TRACING + '/events/syscalls'):
        raise Skip('recording the kernel needs root and tracefs')
    result = case.record(['true'], ['-k', 'syscall:mknodat']).ok()
    if 'without the data that their arguments point to' in result.err:
        raise Skip(result.err.strip())


def parse(line):
    head, groups = groups_after(HEAD, line)
    scopes = {}
    for group in groups[:-1]:
        scopes.update(group)
    return Record(int(head[1]), head[2], scopes, groups[-1])


def read(directory, lossy=False):
    """
    (records in the order of time, lost records counted by babeltrace2): both readers agree, and warn of nothing but
    losses. The records are those of `view`, because babeltrace 2.0.4 prints an empty string with the field's previous
    value.
    """
    lines, lost = {}, 0
    for reader in ('babeltrace2', 'view'):
        argv = [WAYMARK, *VIEW, '--no-pager'] if reader == 'view' else [reader]
        done = finished([*argv, '--clock-cycles', '--no-delta', directory], capture_output=True, text=True,
                        errors='replace', timeout=300)
        check(done.returncode == 0, '%s: status %d: %s', reader, done.returncode, done.stderr[:2000])
        for line in filter(str.strip, done.stderr.splitlines()):
            check(lossy and (LOSS.search(line) or 'lost' in line), '%s warns: %s', reader, line[:500])
            lost += sum(int(n) for n in LOST.findall(line)) if reader == 'babeltrace2' else 0
        lines[reader] = done.stdout.splitlines()
    check(
        len(lines['view']) == len(lines['babeltrace2']), 'view prints %d records, babeltrace2 %d', len(lines['view']),
        len(lines['babeltrace2']))
    return [parse(line) for line in lines['view']], lost


def named(records, *names):
    return [r for r in records if r.name in names]


def made_by(text):
    return int(re.search(r'^made (\d+)$', text, re.M)[1])


def check_made(records, made, lost=0):
    """Each call and its exit is recorded, or counted as lost. The texts have the order of the calls."""
    entries = [r for r in named(records, 'syscall_entry_mknodat') if r.scopes['procname'] == 'syscalls']
    exits = [r for r in named(records, 'syscall_exit_mknodat') if r.scopes['procname'] == 'syscalls']
    check(
        len(entries) + len(exits) + lost == 2 * made, '%d entries + %d exits + %d lost for %d calls',
        len(entries), len(exits), lost, made)
    last = {}
    for r in entries:
        text = MADE.match(r.fields['filename'])
        if not text:             # its page was not in memory: the exit has the text
            check(r.fields['pointers'] == 2, 'a call whose text is %r: %s', r.fields['filename'], r)
            continue
        check(
            last.get(r.scopes['tid'], -1) < int(text[1]), 'thread %s: %s is after %s', r.scopes['tid'], text[1],
            last.get(r.scopes['tid']))
        last[r.scopes['tid']] = int(text[1])
    return entries


# ── correct records ───────────────────────────────────────────────────────────────────────────────────────

CALLS = ('openat', 'execve', 'connect', 'nanosleep', 'writev')


def check_shapes(records, blob=False, child=True):
    """`blob`: parse() does not read the bytes. `child`: a child process of the program is recorded too."""
    records = [r for r in records if r.scopes.get('procname') == 'syscalls']
    opened = {r.fields['filename']: r for r in named(records, 'syscall_entry_openat')}
    exits = [r.fields for r in named(records, 'syscall_exit_openat')]
    late = {f['filename'] for f in exits if f['filename']}
    pids = {r.scopes['pid'] for r in named(records, 'syscall_entry_writev')}
    check(len(pids) == 1, 'one program: %s', pids)
    pid = pids.pop()
    texts = set(opened) | late
    named_by = {'/nowhere/at/all', '/nowhere/by-thread', '/dev/null'}
    check(named_by <= texts, 'opened: %s, late %s', sorted(opened), late)
    check(('/nowhere/by-child' in texts) == child, 'the child: opened %s, late %s', sorted(opened), late)
    if '/nowhere/by-thread' in opened:
        who = opened['/nowhere/by-thread'].scopes
        check(who['pid'] == pid and who['tid'] != pid, 'the thread: %s', who)
    if '/nowhere/by-child' in opened:
        check(opened['/nowhere/by-child'].scopes['pid'] != pid, 'the child: %s', opened['/nowhere/by-child'])
    of_nobody = [r.fields for r in named(records, 'syscall_entry_openat') if not r.fields['filename']]
    check([f for f in of_nobody if f['pointers'] == 1] and [f for f in of_nobody if f['pointers'] == 2],
          'NULL, and an unreadable pointer: %s', of_nobody)
    check(sum(f['ret'] == -14 for f in exits) == 2, 'two fail with EFAULT: %s', exits)
    cut = [r for name, r in opened.items() if name.startswith('/xxx')]
    check(
        len(cut) == 1 and cut[0].fields['filename'] == '/' + 'x' * 255 and cut[0].fields['pointers'] == 4,
        'the text that is too long: %s', cut)
    run = [r.fields for r in named(records, 'syscall_entry_execve') if r.fields['filename'] == '/nowhere/program']
    check(len(run) == 1 and run[0]['argv'] == ['one', 'two words', 'drei'], 'execve: %s', run)
    to = [r.fields for r in named(records, 'syscall_entry_connect')]
    check(
        len(to) == 1 and to[0]['uservaddr_address'] == '127.0.0.1' and to[0]['uservaddr_port'] == 9
        and to[0]['uservaddr_family'][1] == 2, 'connect: %s', to)
    slept = [r.fields for r in named(records, 'syscall_entry_nanosleep')]
    check([s for s in slept if s['rqtp_sec'] == 0 and s['rqtp_nsec'] == 7], 'nanosleep: %s', slept)
    wrote = [r.fields for r in named(records, 'syscall_entry_writev')]
    check(len(wrote) == 1 and (blob or bytes(wrote[0]['vec_bytes']) == b'abcde'), 'writev: %s', wrote)
    narrow = [r.fields['filename'] for r in named(records, 'compat_syscall_entry_openat')]
    check(narrow == ['/nowhere/narrow'] * has_narrow_calls(), 'the 32-bit call: %s', narrow)


def patterns(*calls):
    return [word for call in calls for word in ('-k', 'syscall:' + call)]


def data_of_pointer_arguments_is_recorded(case):
    need_bpf(case)
    result = case.record([SYSCALLS, 'shapes'], patterns(*CALLS)).ok()
    check_shapes(read(result.directory)[0])


def data_of_pointer_arguments_is_recorded_in_ctf_2(case):
    """The metadata is JSON, which babeltrace2 does not read: only `view` reads it."""
    need_bpf(case)
    result = case.record([SYSCALLS, 'shapes'], [*patterns(*CALLS), '--trace-format', 'ctf-2']).ok()
    done = finished([WAYMARK, *VIEW, '--no-pager', '--clock-cycles', '--no-delta', result.directory],
                    capture_output=True, text=True)
    check(done.returncode == 0 and not done.stderr, 'view: status %d, %s', done.returncode, done.stderr)
    lines = done.stdout.splitlines()
    check([line for line in lines if 'entry_writev' in line and 'vec_bytes = { 61 62 63 64 65 }' in line], 'writev: %s',
          lines[-5:])
    check_shapes([parse(line) for line in lines], blob=True)


def data_of_pointer_arguments_is_recorded_by_a_session(case):
    need_bpf(case)
    with World(case) as w:
        begin(w, 'shapes', *CALLS)
        done = finished([SYSCALLS, 'shapes'], env=w.env)
        check(done.returncode == 0, 'the program ended with status %d', done.returncode)
        check('by BPF' in w('list', 'shapes').out, 'list does not name BPF: %s', w('list', 'shapes').out)
        check_shapes(end(w, 'shapes')[0])


# ── exact counts ──────────────────────────────────────────────────────────────────────────────────────────

LARGE = ('--subbuf-size', '4M', '--num-subbuf', '8')


@limit(240)
def recorded_system_calls_are_counted_exactly(case):
    need_bpf(case)
    n = rounds(200000)
    result = case.record([SYSCALLS, 'count', '2', str(n)], [*patterns('mknodat'), *LARGE]).ok()
    check(result.lost == 0, '%d lost', result.lost)
    entries = check_made(read(result.directory)[0], made_by(result.out))
    check(len(entries) == 2 * n, '%d entries of %d', len(entries), 2 * n)


@limit(240)
def small_rings_count_lost_system_calls(case):
    """recorded + lost = made, in the summary and in the trace."""
    need_bpf(case)
    result = case.record([SYSCALLS, 'count', '2', str(rounds(100000) + 20000)],
                         [*patterns('mknodat'), '--subbuf-size', '4k', '--num-subbuf', '2']).ok()
    check(result.lost > 0, 'nothing was lost in rings of 8 kB')
    records, lost = read(result.directory, lossy=True)
    check(lost == result.lost, 'the trace has %d lost records, the summary %d', lost, result.lost)
    check_made(records, made_by(result.out), lost)


@limit(240)
def system_calls_by_bpf_are_in_order(case):
    """
    A user record, a system call, a user record, with two clocks that are mapped onto each other: each triple has this
    order.
    """
    need_bpf(case)
    n = rounds(100000)
    result = case.record([SYSCALLS, 'order', str(n)], [*patterns('openat'), '-e', 'test:*', *LARGE]).ok()
    at, least = 0, None
    for r in sorted(read(result.directory)[0], key=lambda r: r.time):
        if r.name.startswith('test:'):
            check(r.fields['i'] == at // 3 and r.name == ('test:before', '', 'test:after')[at % 3], 'at %d: %s', at, r)
            at += 1
        elif r.name == 'syscall_entry_openat' and r.fields['filename'] == '/nowhere/%d' % (at // 3):
            check(at % 3 == 1, 'at %d: %s', at, r)
            at += 1
    check(at == 3 * n, '%d of %d records', at, 3 * n)


# ── sessions ────────────────────────────────────────────────────────────────────────────────────────────

def begin(w, name, *calls, channel=()):
    w('create', name)
    w('enable-channel', '-k', '-s', name, 'calls', *channel)
    w('add-context', '-k', '-s', name, '-c', 'calls', 'pid', 'tid', 'procname')
    for call in calls:
        w('enable-event', '-k', '-s', name, '-c', 'calls', 'syscall:' + call)
    return w('start', name)


def end(w, name, lossy=False):
    """Returns (records, the stopped session)."""
    stopped = w.stop(name)
    w('destroy', name)
    records, lost = read(stopped['path'], lossy)
    check(lost == stopped['counts']['lost'], 'the trace has %d lost records, the session %d', lost,
          stopped['counts']['lost'])
    check(
        len(records) == stopped['counts']['records'], 'the trace has %d records, the session %d', len(records),
        stopped['counts']['records'])
    return records, stopped


def count(w, threads, n):
    done = finished([SYSCALLS, 'count', str(threads), str(n)], env=w.env, capture_output=True, text=True, timeout=240)
    check(done.returncode == 0, 'the program ended with status %d', done.returncode)
    return made_by(done.stdout)


@limit(240)
def system_calls_of_a_session_are_counted_exactly(case):
    """While the session is stopped nothing is recorded, and after its next start everything."""
    need_bpf(case)
    n = rounds(50000)
    with World(case) as w:
        begin(w, 'counted', 'mknodat', channel=LARGE)
        made = count(w, 2, n)
        w('stop', 'counted')
        count(w, 2, n)
        w('start', 'counted')
        made += count(w, 1, n)
        check_made(end(w, 'counted')[0], made)


@limit(240)
def small_rings_of_a_session_count_lost_system_calls(case):
    need_bpf(case)
    with World(case) as w:
        begin(w, 'small', 'mknodat', channel=('--subbuf-size', '4k', '--num-subbuf', '2'))
        made = count(w, 2, 20000)
        records, stopped = end(w, 'small', lossy=True)
        check(stopped['counts']['lost'] > 0, 'nothing was lost in rings of 8 kB')
        check_made(records, made, stopped['counts']['lost'])


@limit(240)
def rule_changes_lose_no_system_calls(case):
    """
    Rules for other calls are enabled and disabled: no record of this call is lost. While its own rule is disabled, it
    is not recorded.
    """
    need_bpf(case)
    with World(case) as w:
        begin(w, 'changed', 'mknodat', channel=LARGE)
        program = w.run([SYSCALLS, 'until'], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(3):
            w('enable-event', '-k', '-s', 'changed', '-c', 'calls', 'syscall:unlink*')
            w('enable-event', '-k', '-s', 'changed', '-c', 'calls', 'sched_switch')
            w('disable-event', '-k', '-s', 'changed', '-c', 'calls', 'syscall:unlink*')
            w('disable-event', '-k', '-s', 'changed', '-c', 'calls', 'sched_switch')
        made = made_by(communicated(program)[0])
        w('disable-event', '-k', '-s', 'changed', '-c', 'calls', 'syscall:mknodat')
        w('enable-event', '-k', '-s', 'changed', '-c', 'calls', 'syscall:getpriority')
        count(w, 1, 1000)
        w('enable-event', '-k', '-s', 'changed', '-c', 'calls', 'syscall:mknodat')
        made += count(w, 1, 1000)
        records, stopped = end(w, 'changed', lossy=True)
        check_made(records, made, stopped['counts']['lost'])


@limit(240)
def gap_after_kill_of_consumer_daemon_is_reported(case):
    """The next consumer daemon loads the BPF programs again. The gap is reported as an unknown number of calls."""
    need_bpf(case)
    with World(case) as w:
        begin(w, 'killed', 'mknodat', channel=LARGE)
        before = count(w, 1, 5000)
        w('stop', 'killed')
        w('start', 'killed')
        dead = w.kernel_consumerd()
        os.kill(dead, signal.SIGKILL)
        w.wait(lambda: w.kernel_consumerd() not in (None, dead), 'another consumer')
        # the answer shows that it drains the buffers
        w('disable-event', '-k', '-s', 'killed', '-c', 'calls', 'syscall:mknodat')
        w('enable-event', '-k', '-s', 'killed', '-c', 'calls', 'syscall:mknodat')
        after = count(w, 1, 5000)
        answer = w('stop', 'killed')
        check('an unknown number of system calls' in answer.err, 'the gap is not reported: %s', answer.err)
        stopped = w.session('killed')
        check(stopped['counts']['gaps'] > 0, 'counts: %s', stopped['counts'])
        w('destroy', 'killed')
        records, _ = read(stopped['path'])
        entries = [r for r in named(records, 'syscall_entry_mknodat') if r.scopes['procname'] == 'syscalls']
        check(
            len(entries) == before + after, '%d entries, not %d + %d', len(entries),
            before, after)
        metadata = slurp(os.path.join(stopped['path'], 'kernel', 'metadata'))
        check('crashed; an unknown number of records was lost' in metadata,
              'the gap is not in the metadata')


def session_recorded_by_bpf_survives_kill_of_session_daemon(case):
    """The next session daemon finds the channel active, recorded by BPF."""
    need_bpf(case)
    with World(case) as w:
        begin(w, 'again', 'mknodat', channel=LARGE)
        made = count(w, 1, 2000)
        dead = w.sessiond()
        os.kill(dead, signal.SIGKILL)
        w.wait(lambda: w.sessiond() != dead, 'the session daemon to end')
        made += count(w, 1, 2000)
        w.start_daemon()
        check('by BPF' in w('list', 'again').out, 'list: %s', w('list', 'again').out)
        made += count(w, 1, 2000)
        check_made(end(w, 'again')[0], made)


# ── numbers ─────────────────────────────────────────────────────────────────────────────────────────────

def syscall_arguments_none_records_only_numbers(case):
    """--syscall-arguments none records numbers only, also after save and load."""
    need_bpf(case)
    result = case.record([SYSCALLS, 'shapes'], [*patterns('openat'), '--syscall-arguments', 'none']).ok()
    opened = [r for r in named(read(result.directory)[0], 'syscall_entry_openat') if r.scopes['procname'] == 'syscalls']
    check(opened and all(isinstance(r.fields['filename'], int) for r in opened), 'opened: %s', opened[:3])
    with World(case) as w:
        answer = begin(w, 'none', 'openat', channel=('--syscall-arguments', 'none'))
        check('arguments' not in answer.err, 'a warning for a requested option: %s', answer.err)
        check('as requested' in w('list', 'none').out, 'list: %s', w('list', 'none').out)
        saved = case.path('saved')
        w('save', '-o', saved, 'none')
        w('destroy', 'none')
        w('load', '-i', saved)
        check(w.session('none')['channels'][0]['call_arguments'] == 'none', 'loaded: %s', w.session('none')['channels'])
        w('destroy', 'none')


# ── texts with each option ────────────────────────────────────────────────────────────────────────────────

BY_NAME = '$ctx.procname == "syscalls"'

# Options of `record`; each kind of argument keeps its text.
RECORD_OPTIONS = [
    ('--program-only',), ('--overwrite',), ('--kernel-filter', BY_NAME),
    ('--program-only', '--overwrite', '--kernel-filter', BY_NAME),
]


@limit(240)
def text_arguments_are_recorded_with_each_option_of_record(case):
    need_bpf(case)
    for options in RECORD_OPTIONS:
        result = case.record([SYSCALLS, 'shapes'], [*patterns(*CALLS), '--no-statedump', *options]).ok()
        check('arguments' not in result.err, '%s: %s', options, result.err)
        check(result.lost == 0, '%s: %d lost', options, result.lost)
        records = read(result.directory)[0]
        check_shapes(records)
        if BY_NAME in options:
            others = [r for r in records if 'syscall_' in r.name and r.scopes['procname'] != 'syscalls']
            check(not others, '%s: the filter did not remove %s', options, others[:2])


# Of a session's kernel channel: options of the channel, options of the rule, whether the process is tracked, whether
# its children are recorded.
SESSION_OPTIONS = [
    (('--pid', 'PID'), (), False, False), (('--pid', 'PID', '--follow'), (), False, True), ((), (), True, False),
    ((), ('--filter', BY_NAME), False, True), (('--overwrite',), (), False, True),
    (('--overwrite',), ('--filter', BY_NAME), True, False), (('--pid', 'PID', '--overwrite'), (), True, False),
    (('--pid', 'PID', '--follow', '--overwrite'), ('--filter', BY_NAME), False, True),
]


@limit(240)
def text_arguments_are_recorded_with_each_option_of_a_session(case):
    """Each kind of argument keeps its text; processes that are not selected are not recorded."""
    need_bpf(case)
    with World(case) as w:
        for channel, rule, tracked, child in SESSION_OPTIONS:
            what = (channel, rule, tracked)
            shell = ['sh', '-c', 'read go; exec "$0" shapes', SYSCALLS]
            program, other = (w.run(shell, stdin=subprocess.PIPE, text=True) for _ in range(2))
            pid = str(program.pid)
            domain = [pid if word == 'PID' else word for word in channel]
            to = ['-k', '-s', 'texts', '-c', 'calls', *[x for x in domain if x != '--overwrite']]
            w('create', 'texts', '--no-statedump')
            w('enable-channel', '-k', '-s', 'texts', *domain, 'calls')
            w('add-context', *to, 'pid', 'tid', 'procname')
            if tracked:
                w('track', '-k', '-s', 'texts', '--pid=' + pid)
            for call in CALLS:
                said = w('enable-event', *to, 'syscall:' + call, *rule).err
                check('arguments' not in said, '%s: %s', what, said)
            check('by BPF' in w('list', 'texts').out, '%s: list: %s', what, w('list', 'texts').out)
            w('start', 'texts')
            for one in (program, other):
                communicated(one, 'go\n')
            records = end(w, 'texts')[0]
            selected = channel[:1] == ('--pid',) or tracked
            if selected:
                check(other.pid not in {r.scopes['pid'] for r in records}, '%s: another process was recorded', what)
            check_shapes([r for r in records if selected or is_of(r, program.pid, records)], child=child)


def is_of(record, pid, records):
    """A record of the process or its child: of any process except the shells that ran the program."""
    shells = {r.scopes['pid'] for r in records if r.name == 'syscall_entry_writev'}
    return record.scopes['pid'] == pid or record.scopes['pid'] not in shells


# A filter that reads the memory of pointer arguments, the call, and the number of the program's records that it
# selects.
FILTERS = [
    ('filename == "/nowhere/*"', 'openat', 3 + has_narrow_calls()),
    ('filename == "/dev/null" && dfd == -100', 'openat', 1), ('ret == -14', 'openat', 2),
    ('uservaddr_port == 9 && uservaddr_address == "127.0.0.1"', 'connect', 1), ('rqtp_nsec == 7', 'nanosleep', 1),
    ('filename == "/nowhere/program"', 'execve', 1),
]


@limit(240)
def filters_can_compare_text_arguments_of_system_calls(case):
    """A filter is evaluated on the complete record, also for 32-bit calls."""
    need_bpf(case)
    for text, call, n in FILTERS:
        result = case.record([SYSCALLS, 'shapes'], [*patterns(call), '--no-statedump', '--kernel-filter', text]).ok()
        found = [r for r in read(result.directory)[0] if 'syscall_' in r.name and r.scopes['procname'] == 'syscalls']
        check(len(found) == n, '%s: %d records: %s', text, len(found), found)


@limit(240)
def overwrite_mode_loses_the_oldest_system_calls(case):
    """The newest records are kept; recorded + lost = made, in the summary and in the trace."""
    need_bpf(case)
    n = rounds(50000) + 20000
    small = ('--overwrite', '--subbuf-size', '16k', '--num-subbuf', '4')
    result = case.record([SYSCALLS, 'count', '1', str(n)], [*patterns('mknodat'), *small]).ok()
    check(result.lost > 0, 'nothing was overwritten in buffers of 64 kB')
    records, lost = read(result.directory, lossy=True)
    check(lost == result.lost, 'the trace has %d lost records, the summary %d', lost, result.lost)
    entries = check_made(records, made_by(result.out), lost)
    check(int(MADE.match(entries[-1].fields['filename'])[1]) == n - 1, 'the newest record is %s', entries[-1])


def overwrite_channel_keeps_records_up_to_its_buffer_size(case):
    """The records kept until the stop fill the channel's buffers. After the next start the buffers begin empty."""
    need_bpf(case)
    with World(case) as w:
        begin(w, 'over', 'mknodat', channel=('--overwrite', '--subbuf-size', '16k', '--num-subbuf', '4'))
        made = count(w, 1, 20000)
        w('stop', 'over')
        first = w.session('over')['counts']
        check(first['lost'] > 0 and first['records'] + first['lost'] >= 2 * made, '%d calls were made: %s', made, first)
        w('start', 'over')
        made += count(w, 1, 100)
        records, stopped = end(w, 'over', lossy=True)
        check_made(records, made, stopped['counts']['lost'])


# ── the tracer's own calls ────────────────────────────────────────────────────────────────────────────────

def check_not_its_own(case, options):
    """System calls of all processes are recorded, except those of the tracer."""
    with World(case) as w:
        # (its thread would end before its id is known)
        w('create', 'all', '--no-statedump')
        w('enable-channel', '-k', '-s', 'all', 'calls', *LARGE, *options)
        w('add-context', '-k', '-s', 'all', '-c', 'calls', 'pid', 'tid', 'procname')
        w('enable-event', '-k', '-s', 'all', '-c', 'calls', 'syscall:*')
        w('start', 'all')
        own = set(w.daemons())
        count(w, 1, 1000)
        stopped = w.stop('all')
        w('destroy', 'all')
        records, _ = read(stopped['path'], lossy=True)
        pids = {r.scopes['pid'] for r in records}
        check(len(pids) > 1, 'the records have the PIDs %s', pids)
        check(not pids & own, 'records of daemons: %s', [r for r in records if r.scopes['pid'] in own][:3])


@limit(240)
def system_calls_of_waymark_are_not_recorded_by_bpf(case):
    need_bpf(case)
    check_not_its_own(case, ())


@limit(240)
def system_calls_of_waymark_are_not_recorded_by_tracefs(case):
    need_bpf(case)
    check_not_its_own(case, ('--syscall-arguments', 'none'))


def killed_record_leaves_no_bpf_program(case):
    """A killed `record --private` leaves no BPF program in the kernel."""
    need_bpf(case)
    need('bpftool')
    child = case.start([SYSCALLS, 'until'], patterns('mknodat'))
    ids = wait_for(lambda: programs_of(child.pid), 'the programs to be loaded')
    check(there(ids), 'the BPF programs %s are not loaded', ids)
    os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    wait_for(lambda: not there(ids), 'the programs to be unloaded')
    case.started.remove(child)
    # the next recording removes the killed one's instance
    finished([WAYMARK, 'record', '--private', '-k', 'sched_switch', '-o',
              case.path('sweep'), '--', 'true'], capture_output=True)


def programs_of(pid):
    found = set()
    for fd in os.listdir('/proc/%d/fdinfo' % pid):
        with contextlib.suppress(OSError):
            found |= set(re.findall(r'^prog_id:\s+(\d+)', slurp('/proc/%d/fdinfo/%s' % (pid, fd)), re.M))
    return found if len(found) >= 3 else None


def there(ids):
    done = subprocess.run(['bpftool', 'prog', 'show'], capture_output=True, text=True)
    return ids & set(re.findall(r'^(\d+):', done.stdout, re.M))


if __name__ == '__main__':
    main([
        data_of_pointer_arguments_is_recorded, data_of_pointer_arguments_is_recorded_in_ctf_2,
        data_of_pointer_arguments_is_recorded_by_a_session, recorded_system_calls_are_counted_exactly,
        small_rings_count_lost_system_calls, system_calls_by_bpf_are_in_order,
        system_calls_of_a_session_are_counted_exactly, small_rings_of_a_session_count_lost_system_calls,
        rule_changes_lose_no_system_calls, gap_after_kill_of_consumer_daemon_is_reported,
        session_recorded_by_bpf_survives_kill_of_session_daemon, syscall_arguments_none_records_only_numbers,
        text_arguments_are_recorded_with_each_option_of_record,
        text_arguments_are_recorded_with_each_option_of_a_session, filters_can_compare_text_arguments_of_system_calls,
        overwrite_mode_loses_the_oldest_system_calls, overwrite_channel_keeps_records_up_to_its_buffer_size,
        system_calls_of_waymark_are_not_recorded_by_bpf, system_calls_of_waymark_are_not_recorded_by_tracefs,
        killed_record_leaves_no_bpf_program
    ])
