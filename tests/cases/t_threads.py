#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Many threads at once: no loss in rings that are large enough, exact counts in those that are too small."""
import os
import re
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from harness import check, finished, limit, main, rounds  # noqa: E402

LARGE = ['--subbuf-size', '4M', '--num-subbuf', '8']
# Without restartable sequences a record needs one of 8 claim rings, and a preempted thread keeps its claim ring. With
# more than 8 threads some find no free one. These losses are counted, and the sums must still be correct.
CLAIMS = 'rseq=0' in os.environ.get('GLIBC_TUNABLES', '')


def none_lost(threads):
    return None if CLAIMS and threads > 8 else 0


def busy(case, threads, total, options=LARGE, mode='count', extra=()):
    each = max(1, total // threads)
    lost = none_lost(threads)
    _, trace, numbers = case.checked([case.program('busy'), mode, str(threads), str(each), *extra], options, lost=lost)
    check(len(numbers) == threads, '%d writers in the trace, not %d', len(numbers), threads)
    return trace


def check_steady_load(case, threads):
    """
    All CPUs are busy and record 100 MB a second: in sum 5 times the rings' size (50 times in long runs).

    A third reader (programs/scan.c) reads each stream in its own order, because the other two would take minutes. The
    trace is written into memory if there is room. Rings of that size hold a third of a second for each CPU, and a disk
    may pause for longer.
    """
    size, rate, total = 36, 100000000 // 36, rounds(3200000000)
    each = total // size // threads
    memory = '/dev/shm' if os.path.ismount(
        '/dev/shm') and shutil.disk_usage('/dev/shm').free > 3 * total else case.directory
    with tempfile.TemporaryDirectory(prefix='wmk-', dir=memory) as directory:
        result = case.record(
            [case.program('busy'), 'steady', str(threads),
             str(each), str(rate)], LARGE + ['-e', 'test:seq'], output=os.path.join(directory,
                                                                                    'trace'), timeout=100).ok()
        scan(case, result)
    rings = 8 * (4 << 20) * os.cpu_count()
    check(result.lost == 0 or none_lost(threads) is None, '%d of %d records lost: %s', result.lost, each * threads,
          result.err[-500:])
    check(result.summary['bytes'] > 4 * rings, 'only %d bytes, the rings hold %d', result.summary['bytes'], rings)


def eight_busy_threads_lose_no_records(case):
    check_steady_load(case, 8)


def sixteen_busy_threads_lose_no_records(case):
    check_steady_load(case, 16)


def two_readers_read_equal_records_of_sixteen_threads(case):
    busy(case, 16, rounds(1000000))


def texts_of_every_length_are_recorded(case):
    busy(case, 4, rounds(200000), mode='texts')


def migrating_threads_lose_no_records(case):
    busy(case, 4, rounds(400000), mode='wander')


def one_record_of_one_thread_is_recorded(case):
    busy(case, 1, 1, options=())


def default_rings_lose_no_records_under_a_moderate_load(case):
    busy(case, 4, rounds(400000), options=(), mode='paced', extra=['1000'])


def smallest_rings_count_all_lost_records(case):
    """The smallest sizes that the command accepts: most records are lost, and all are counted."""
    result, _, _ = case.checked([case.program('busy'), 'count', '4', str(rounds(500000))],
                                ['--subbuf-size', '4k', '--num-subbuf', '2'])
    check('records' in result.summary, 'the summary has no `records`')


def overwrite_mode_keeps_the_newest_records(case):
    """
    The rings keep the newest records at the end, and the others are counted exactly. At least one writer's last record
    is in the trace.
    """
    result, trace, numbers = case.checked([case.program('busy'), 'count', '2', str(rounds(1000000))],
                                          ['--overwrite', '--subbuf-size', '64k', '--num-subbuf', '8'])
    check(result.lost > 0, 'nothing was overwritten, so this case tests nothing')
    check(trace.count() > 1000, 'only %d records were left in the rings', trace.count())
    begun = case.ledger.read()
    newest = any(seq and seq[-1] == begun[w][0] for w, seq in numbers.items())
    check(newest, 'the last record of no writer is in the trace')


def overwrite_mode_loses_no_records_that_fit(case):
    case.checked([case.program('busy'), 'count', '2', '1000'], ['--overwrite'], lost=0)


@limit(60)
def smallest_subbuffers_lose_no_records(case):
    case.checked([case.program('busy'), 'texts', '3', '3000'], ['--subbuf-size', '4k', '--num-subbuf', '1024'], lost=0)


def context_fields_of_threads_are_correct(case):
    _, trace, _ = case.checked([case.program('busy'), 'count', '3', '200'],
                               ['-c', 'vpid', '-c', 'vtid', '-c', 'procname', '-c', 'cpu_id', '-c', 'pthread_id', '-c',
                                'ip'],
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


def check_full_speed(case, threads):
    """At full speed, more than the rings hold and more than a disk may take: each lost record is counted."""
    each = rounds(40000000) // threads
    result = case.record([case.program('busy'), 'count', str(threads), str(each)], LARGE + ['-e', 'test:seq'],
                         timeout=100).ok()
    scan(case, result)
    print('# %d of %d records lost by %d threads at full speed' % (result.lost, each * threads, threads))


def scan(case, result):
    """Check each record in the channel's streams with scan.c. The sums must agree, also with the summary."""
    streams, number = [], None
    for top, _, files in os.walk(result.directory):
        if 'metadata' in files:
            with open(os.path.join(top, 'metadata'), encoding='utf-8', errors='replace') as f:
                event = re.search(r'event \{[^{]*?name = "test:seq";\s*id = (\d+);', f.read())
            check(event, 'the metadata does not declare test:seq')
            number = event.group(1)
            streams += [os.path.join(top, n) for n in files if re.fullmatch(r'channel0_\w+', n)]
    check(streams, 'no stream of channel0 below %s', result.directory)
    done = finished([case.program('scan'), case.ledger.path, number, *streams], capture_output=True, text=True)
    check(done.returncode == 0, done.stderr.strip() or 'scan failed')
    read, lost, begun, returned = map(int, re.findall(r'\d+', done.stdout))
    check(read + lost == begun == returned, 'the sum is wrong: ' + done.stdout.strip())
    check(lost == result.lost, 'the streams have %d lost records, the summary %d', lost, result.lost)


def eight_threads_at_full_speed_count_lost_records(case):
    check_full_speed(case, 8)


def sixteen_threads_at_full_speed_count_lost_records(case):
    check_full_speed(case, 16)


def small_rings_at_full_speed_count_lost_records(case):
    """Most records are lost; the counts of each stream are exact."""
    result = case.record([case.program('busy'), 'count', '8', str(rounds(2000000))],
                         ['--subbuf-size', '16k', '--num-subbuf', '2', '-e', 'test:seq'], timeout=100).ok()
    scan(case, result)


if __name__ == '__main__':
    main([
        one_record_of_one_thread_is_recorded, eight_busy_threads_lose_no_records, sixteen_busy_threads_lose_no_records,
        two_readers_read_equal_records_of_sixteen_threads, eight_threads_at_full_speed_count_lost_records,
        sixteen_threads_at_full_speed_count_lost_records, small_rings_at_full_speed_count_lost_records,
        texts_of_every_length_are_recorded, migrating_threads_lose_no_records,
        default_rings_lose_no_records_under_a_moderate_load, smallest_rings_count_all_lost_records,
        overwrite_mode_keeps_the_newest_records, overwrite_mode_loses_no_records_that_fit,
        smallest_subbuffers_lose_no_records, context_fields_of_threads_are_correct
    ])
