#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Many threads at once: nothing lost in rings that are large enough, exact counts in those that are not."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from harness import check, limit, main, rounds  # noqa: E402

LARGE = ['--subbuf-size', '4M', '--num-subbuf', '8']


def busy(case, threads, total, options=LARGE, lost=0, mode='count', extra=()):
    each = max(1, total // threads)
    _, trace, numbers = case.checked([case.program('busy'), mode, str(threads), str(each), *extra], options, lost=lost)
    check(len(numbers) == threads, '%d writers in the trace, not %d', len(numbers), threads)
    return trace


def eight_busy_threads(case):
    busy(case, 8, rounds(2000000))


def sixteen_busy_threads(case):
    busy(case, 16, rounds(2000000))


def texts_of_every_length(case):
    busy(case, 4, rounds(200000), mode='texts')


def threads_that_wander(case):
    busy(case, 4, rounds(400000), mode='wander')


def one_thread_one_record(case):
    busy(case, 1, 1, options=())


def defaults_hold_a_modest_load(case):
    busy(case, 4, rounds(400000), options=(), mode='paced', extra=['1000'])


def smallest_rings_count_what_they_lose(case):
    """The smallest sizes that the command takes: most is lost, all is counted."""
    result, _, _ = case.checked([case.program('busy'), 'count', '4', str(rounds(500000))],
                                ['--subbuf-size', '4k', '--num-subbuf', '2'])
    check('records' in result.summary, 'the summary has no `records`')


def overwrite_keeps_the_newest(case):
    """A flight recorder: what the rings hold at the end, the rest counted exactly; of each writer the last numbers, without a gap."""
    result, trace, numbers = case.checked([case.program('busy'), 'count', '2', str(rounds(1000000))],
                                          ['--overwrite', '--subbuf-size', '64k', '--num-subbuf', '8'])
    check(result.lost > 0, 'nothing was overwritten, the test is too small')
    check(trace.count() > 1000, 'only %d records were left in the rings', trace.count())
    begun = case.board.read()
    newest = max(seq[-1] == begun[w][0] for w, seq in numbers.items())
    check(newest, 'the last record of no writer is in the trace')


def overwrite_loses_nothing_that_fits(case):
    case.checked([case.program('busy'), 'count', '2', '1000'], ['--overwrite'], lost=0)


@limit(60)
def large_rings_smallest_subbuffers(case):
    case.checked([case.program('busy'), 'texts', '3', '3000'], ['--subbuf-size', '4k', '--num-subbuf', '1024'], lost=0)


def contexts_are_true(case):
    _, trace, _ = case.checked([case.program('busy'), 'count', '3', '200'],
                               ['-c', 'vpid', '-c', 'vtid', '-c', 'procname', '-c', 'cpu_id', '-c', 'pthread_id', '-c', 'ip'],
                               lost=0)
    threads, processes = {}, set()
    for r in trace.records('test:seq'):
        check(r.scopes.get('procname') == 'busy', 'procname is %s', r.scopes.get('procname'))
        threads.setdefault(r.fields['writer'], set()).add((r.scopes['vtid'], r.scopes['pthread_id']))
        processes.add(r.scopes['vpid'])
        check(r.scopes['ip'] > 0x1000, 'ip is %x', r.scopes['ip'])
    check(len(processes) == 1, 'one process, but vpid is %s', processes)
    check(all(len(t) == 1 for t in threads.values()), 'one writer, several threads: %s', threads)
    check(len(set.union(*threads.values())) == 3, 'three threads, but vtid and pthread_id are %s', threads)


if __name__ == '__main__':
    main([one_thread_one_record, eight_busy_threads, sixteen_busy_threads, texts_of_every_length, threads_that_wander,
          defaults_hold_a_modest_load, smallest_rings_count_what_they_lose, overwrite_keeps_the_newest,
          overwrite_loses_nothing_that_fits, large_rings_smallest_subbuffers, contexts_are_true])
