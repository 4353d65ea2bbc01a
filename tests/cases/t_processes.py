#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Children of every kind, several programs, and those that cannot be followed."""
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from harness import Skip, check, main, need, rounds  # noqa: E402


def fork_children(case):
    _, trace, numbers = case.checked([case.program('procs'), 'fork', '12'], ['-c', 'vpid', '-c', 'vtid'], lost=0)
    pids = {}
    for r in trace.records('test:seq'):
        pids.setdefault(r.fields['writer'], set()).add(r.scopes['vpid'])
        check(r.scopes['vpid'] == r.scopes['vtid'], 'a process of one thread has vpid %d, vtid %d', r.scopes['vpid'],
              r.scopes['vtid'])
    check(all(len(p) == 1 for p in pids.values()), 'a writer with several vpids: %s', pids)
    check(len(set.union(*pids.values())) == 25, '25 processes, but %d vpids', len(set.union(*pids.values())))


def vfork_children(case):
    """What they record is in the trace or counted as lost; their parents' records are all there."""
    result, _, numbers = case.checked([case.program('procs'), 'vfork', '20'])
    begun = case.board.read()
    check(numbers.get(1) == list(range(1, begun[1][0] + 1)), 'the parent lost records')
    check(result.lost <= 40, '%d lost, more than the children made', result.lost)


def clone_children(case):
    result, _, numbers = case.checked([case.program('procs'), 'clone', '12'])
    begun = case.board.read()
    check(numbers.get(1) == list(range(1, begun[1][0] + 1)), 'the parent lost records')


def exec_again_and_again(case):
    _, _, numbers = case.checked([case.program('procs'), 'exec', '20'], lost=0)
    check(len(numbers) == 21, '%d writers, not 21', len(numbers))


def posix_spawn_children(case):
    case.checked([case.program('procs'), 'spawn', '20'], lost=0)


def unshared_namespaces(case):
    if os.geteuid():
        raise Skip('needs root')
    case.checked([case.program('procs'), 'unshare', '20'], lost=0)


def storm_of_short_lives(case):
    case.checked([case.program('procs'), 'storm', str(rounds(3000))], lost=0)


def several_programs_at_once(case):
    script = ' & '.join('%s count 2 5000' % case.program('busy') for _ in range(4)) + ' & wait'
    _, _, numbers = case.checked(['sh', '-c', script], ['--subbuf-size', '4M'], lost=0)
    check(len(numbers) == 8, '%d writers, not 8', len(numbers))


def cleared_environment_is_said(case):
    """The child is not followed, and the summary says so."""
    result = case.record([case.program('procs'), 'clearenv', '5']).ok()
    seen = sum(1 for _ in result.trace().records('test:seq'))
    check(seen == 5, '%d records, not the 5 of before exec', seen)
    check('not followed' in (result.err + result.out).lower() or result.summary.get('not_followed'),
          'nothing says that a child was not followed: %s %s', result.out[-500:], result.err[-500:])


def set_id_child_is_said(case):
    """A set-id program must not read our environment: it is not followed, and the summary says so."""
    if os.geteuid():
        raise Skip('needs root')
    need('setpriv')
    place = case.path('setid')
    os.mkdir(place)
    os.chmod(case.directory, 0o755)
    child = os.path.join(place, 'procs')
    text = subprocess.run(['ldd', case.program('procs')], capture_output=True, text=True).stdout
    library = re.search(r'(/\S*libwaymark\.so\S*)', text)
    if library:
        # Set-id programs do not look for libraries beside themselves: build one that names the place.
        need('gcc')
        where = os.path.dirname(library.group(1))
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'programs', 'procs.c')
        done = subprocess.run(['gcc', '-O1', '-D_GNU_SOURCE', '-I' + os.path.join(os.path.dirname(source), '..', '..',
                'include'), source,
                               '-o', child, library.group(1), '-Wl,-rpath,' + os.path.realpath(where)], capture_output=True, text=True)
        check(done.returncode == 0, 'cannot be compiled: %s', done.stderr[:800])
    else:
        shutil.copy(case.program('procs'), child)
    os.chown(child, 65534, 65534)
    os.chmod(child, 0o6755)
    os.chmod(case.board.path, 0o666)
    mount = subprocess.run(['findmnt', '-no', 'OPTIONS', '-T', place], capture_output=True, text=True).stdout
    if 'nosuid' in mount:
        raise Skip('the build folder is mounted nosuid')
    result = case.record(['sh', '-c', '%s leaf 5; %s leaf 10000000' % (case.program('procs'), child)]).ok()
    check('not followed' in (result.err + result.out).lower() or result.summary.get('not_followed'),
          'nothing says that a set-id child was not followed: %s %s', result.out[-500:], result.err[-500:])


def state_dump_names_the_objects(case):
    result = case.record([case.program('procs'), 'leaf', '3'], ['-c', 'vpid']).ok()
    trace = result.trace()
    paths = ' '.join(line for line in trace.lines if 'test:' not in line)
    check('procs' in paths and 'libc' in paths, 'no state dump names the program and the C library: %s', paths[:500])


if __name__ == '__main__':
    main([fork_children, vfork_children, clone_children, exec_again_and_again, posix_spawn_children,
          unshared_namespaces,
          storm_of_short_lives, several_programs_at_once, cleared_environment_is_said, set_id_child_is_said,
          state_dump_names_the_objects])
