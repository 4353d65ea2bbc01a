#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Child processes of every kind, several programs, and processes that are not followed."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from harness import (  # noqa: E402
    FEATURES, WAYMARK, Result, Skip, check, finished, main, need, need_other_users, not_under_tsan, rounds, wait_for)


def forked_children_are_recorded(case):
    _, trace, numbers = case.checked([case.program('procs'), 'fork', '12'], ['-c', 'vpid', '-c', 'vtid'], lost=0)
    pids = {}
    for r in trace.records('test:seq'):
        pids.setdefault(r.fields['writer'], set()).add(r.scopes['vpid'])
        check(r.scopes['vpid'] == r.scopes['vtid'], 'a process of one thread has vpid %d, vtid %d', r.scopes['vpid'],
              r.scopes['vtid'])
    check(all(len(p) == 1 for p in pids.values()), 'a writer with several vpids: %s', pids)
    check(len(set.union(*pids.values())) == 25, '25 processes, but %d vpids', len(set.union(*pids.values())))


def vforked_children_lose_no_records_of_the_parent(case):
    """Records of the children are in the trace or counted as lost; all records of the parents are in the trace."""
    result, _, numbers = case.checked([case.program('procs'), 'vfork', '20'])
    begun = case.ledger.read()
    check(numbers.get(1) == list(range(1, begun[1][0] + 1)), 'the parent lost records')
    check(result.lost <= 40, '%d lost, more than the children recorded', result.lost)


def child_of_a_process_without_helper_is_recorded(case):
    """waymark_helper_stop() affects this process only: a child starts its own helper thread and records."""
    result, _, numbers = case.checked([case.program('procs'), 'stopped', '9'], lost=0)
    check(numbers.get(2) == list(range(1, 10)), 'the child recorded %s', numbers.get(2))


def cloned_children_lose_no_records_of_the_parent(case):
    not_under_tsan('TSan does not support a child that shares the memory and is not a thread')
    result, _, numbers = case.checked([case.program('procs'), 'clone', '12'])
    begun = case.ledger.read()
    check(numbers.get(1) == list(range(1, begun[1][0] + 1)), 'the parent lost records')


def each_program_of_repeated_exec_is_recorded(case):
    _, _, numbers = case.checked([case.program('procs'), 'exec', '20'], lost=0)
    check(len(numbers) == 21, '%d writers, not 21', len(numbers))


def spawned_children_are_recorded(case):
    case.checked([case.program('procs'), 'spawn', '20'], lost=0)


def children_in_new_namespaces_are_recorded(case):
    if os.geteuid():
        raise Skip('needs root')
    case.checked([case.program('procs'), 'unshare', '20'], lost=0)


def short_lived_children_are_recorded(case):
    case.checked([case.program('procs'), 'storm', str(rounds(3000))], lost=0)


def concurrent_programs_are_recorded(case):
    script = ' & '.join('%s count 2 5000' % case.program('busy') for _ in range(4)) + ' & wait'
    _, _, numbers = case.checked(['sh', '-c', script], ['--subbuf-size', '4M'], lost=0)
    check(len(numbers) == 8, '%d writers, not 8', len(numbers))


def need_process_list(result):
    """The list of started processes needs perf_event_open(). If the kernel refuses it, the summary warns."""
    if not result.summary['not_followed_complete']:
        check('cannot name applications' in result.err, 'no warning about the missing list: %s', result.err[-500:])
        raise Skip('perf_event_open() is refused here')
    return result.summary['not_followed']


def child_with_cleared_environment_is_reported(case):
    """The child is not followed, and the summary reports it."""
    result = case.record([case.program('procs'), 'clearenv', '5']).ok()
    seen = sum(1 for _ in result.trace().records('test:seq'))
    check(seen == 5, '%d records, not the 5 made before exec', seen)
    named = need_process_list(result)
    check(len(named) == 1 and named[0]['why'] in ('environment', 'unknown'), 'not followed: %s', named)
    check('not followed' in result.err, 'the summary does not report it: %s', result.err[-500:])


def short_lived_unrecorded_children_are_counted(case):
    """
    Children that live for a millisecond, half of them without the environment: each of those is counted, and no other
    is named.
    """
    n = rounds(400)
    leaf = case.program('procs') + ' leaf 1'
    script = 'i=0; while [ $i -lt %d ]; do i=$((i+1)); %s; env -i WMK_TEST_LEDGER=%s %s; /bin/true; done' % (
        n, leaf, case.ledger.path, leaf)
    result = case.record(['sh', '-c', script]).ok()
    need_process_list(result)
    check(result.summary['not_followed_count'] == n, '%d named as not followed, not %d',
          result.summary['not_followed_count'], n)
    for one in result.summary['not_followed']:
        check(one['name'] == 'procs' and one['why'] in ('environment', 'unknown'), 'not followed: %s', one)
    check(len(result.summary['programs']) == n, '%d registered, not %d', len(result.summary['programs']), n)


def unrecorded_processes_have_the_correct_reason(case):
    """Programs that run long enough to be checked: the summary has the reason for each of them."""
    leaf = case.program('procs')
    enough = case.path('enough')
    os.mkfifo(enough)
    script = ('WAYMARK_DISABLE=1 %s forever & a=$!; WAYMARK_RUNDIR=/nowhere %s forever & b=$!; '
              'env -u WAYMARK_RUNDIR %s forever & c=$!; read word <%s; kill $a $b $c; wait $a $b $c; true') % (
                  leaf, leaf, leaf, enough)
    child = case.start(['sh', '-c', script])
    wait_for(lambda: sorted(begun > 6000 for begun, _ in case.ledger.read().values()) == [True] * 3,
             'all three to have run for a while')
    with open(enough, 'w') as file:
        file.write('enough\n')
    result = case.finish(child).ok()
    whys = sorted(one['why'] for one in need_process_list(result))
    check(whys == ['disabled', 'environment', 'other-rundir'], 'reasons: %s', whys)


def recorded_and_untraced_programs_are_not_reported(case):
    """Neither programs without libwaymark, whatever their environment, nor recorded ones are reported."""
    script = 'env -i /bin/true; i=0; while [ $i -lt %d ]; do i=$((i+1)); %s leaf 1 & /bin/true; wait; done' % (
        rounds(200), case.program('procs'))
    result = case.record(['sh', '-c', script]).ok()
    named = need_process_list(result)
    check(named == [], 'not followed: %s', named)


def unrecorded_processes_are_reported_to_unprivileged_users(case):
    """The list of started processes is available to unprivileged users."""
    need_other_users()
    need('setpriv')
    place = tempfile.mkdtemp(prefix='waymark-user-')
    try:
        ledger = os.path.join(place, 'ledger')
        shutil.copy(case.ledger.path, ledger)
        os.chmod(ledger, 0o666)
        os.chmod(place, 0o777)
        command = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups', WAYMARK, 'record', '--json', '-o',
                   os.path.join(place, 'trace'), '--', 'env', '-i', 'WMK_TEST_LEDGER=' + ledger, case.program('procs'),
                   'leaf', '1']
        done = finished(command, capture_output=True, text=True, env=dict(case.env, HOME=place))
        check(done.returncode == 0, 'status %d: %s', done.returncode, done.stderr[-500:])
        result = Result(done.returncode, done.stdout, done.stderr, place)
        named = need_process_list(result)
        check(len(named) == 1 and named[0]['why'] in ('environment', 'unknown'), 'not followed: %s', named)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def set_id_child_is_reported(case):
    """A set-id program must not read WAYMARK_RUNDIR: it is not followed, and the summary reports it."""
    need_other_users()
    if 'sanitize' in FEATURES:
        raise Skip('a set-id program ignores ASAN_OPTIONS=verify_asan_link_order=0')
    need('setpriv')
    place = case.path('setid')
    os.mkdir(place)
    os.chmod(case.directory, 0o755)
    child = os.path.join(place, 'procs')
    text = subprocess.run(['ldd', case.program('procs')], capture_output=True, text=True).stdout
    library = re.search(r'(/\S*libwaymark\.so\S*)', text)
    if library:
        # A set-id program ignores $ORIGIN in its search path: build one with an absolute path.
        need('gcc')
        where = os.path.dirname(library.group(1))
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'programs', 'procs.c')
        done = subprocess.run([
            'gcc', '-O1', '-D_GNU_SOURCE', '-I' + os.path.join(os.path.dirname(source), '..', '..', 'include'), source,
            '-o', child,
            library.group(1), '-Wl,-rpath,' + os.path.realpath(where)
        ], capture_output=True, text=True)
        check(done.returncode == 0, 'cannot be compiled: %s', done.stderr[:800])
    else:
        shutil.copy(case.program('procs'), child)
    os.chown(child, 65534, 65534)
    os.chmod(child, 0o6755)
    os.chmod(case.ledger.path, 0o666)
    mount = subprocess.run(['findmnt', '-no', 'OPTIONS', '-T', place], capture_output=True, text=True).stdout
    if 'nosuid' in mount:
        raise Skip('the build folder is mounted nosuid')
    result = case.record(['sh', '-c', '%s leaf 5; %s leaf 10000000' % (case.program('procs'), child)]).ok()
    named = need_process_list(result)
    check([one['why'] for one in named] == ['set-id'], 'not followed: %s', named)


def state_dump_lists_loaded_objects(case):
    result = case.record([case.program('procs'), 'leaf', '3'], ['-c', 'vpid']).ok()
    trace = result.trace()
    paths = ' '.join(line for line in trace.lines if 'test:' not in line)
    check('procs' in paths and 'libc' in paths, 'no state dump names the program and the C library: %s', paths[:500])


if __name__ == '__main__':
    main([
        forked_children_are_recorded, vforked_children_lose_no_records_of_the_parent,
        cloned_children_lose_no_records_of_the_parent, child_of_a_process_without_helper_is_recorded,
        each_program_of_repeated_exec_is_recorded, spawned_children_are_recorded,
        children_in_new_namespaces_are_recorded, short_lived_children_are_recorded, concurrent_programs_are_recorded,
        child_with_cleared_environment_is_reported, short_lived_unrecorded_children_are_counted,
        unrecorded_processes_have_the_correct_reason, recorded_and_untraced_programs_are_not_reported,
        unrecorded_processes_are_reported_to_unprivileged_users, set_id_child_is_reported,
        state_dump_lists_loaded_objects
    ])
