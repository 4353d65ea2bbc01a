#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Options of channels: how buffers are allocated, and whether writers wake the consumer daemon."""
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from daemon import World  # noqa: E402
from harness import FEATURES, PERCENT, Skip, awaited, check, limit, main  # noqa: E402

CPUS = os.sysconf('SC_NPROCESSORS_CONF')


def begin(w, *options, contexts=()):
    w('create', 'one', '--no-statedump')
    w('enable-channel', 'chan', *options)
    for context in contexts:
        w('add-context', '-c', 'chan', '-t', context)
    w('enable-event', '-c', 'chan', 'silent:*')
    w('start')


def channel_of(w):
    return w.session('one')['channels'][0]


def run_silent(w, *argv):
    child = w.run([w.case.program('silent'), *map(str, argv)])
    awaited(child)
    w.children.remove(child)
    return child.returncode


@limit(120)
def wake_by_timer_records_without_any_system_call(case):
    """
    The first record makes no system call either. With context fields of the thread, the first record reads them, so
    only later records make none.
    """
    n = 500000 if PERCENT >= 100 else 10000
    for before, contexts in (0, ()), (1, ('vpid', 'vtid', 'procname')):
        with World(case, name='before%d' % before) as w:
            begin(w, '--wake=timer', '--subbuf-size', '16k', '--num-subbuf', 64 * n // 10000, contexts=contexts)
            status = run_silent(w, 'killed', n, before)
            check(status in (0, 77), 'the program with a system call filter ended with status %d', status)
            if status == 77:
                raise Skip('no seccomp')
            is_now, trace = w.end('one', lost=0)
            check(is_now['counts']['records'] == n + before, 'recorded: %d', is_now['counts']['records'])
            found = [r.fields['i'] for r in trace.records('silent:record')]
            check(found == list(range(before)) + list(range(n)), 'not each record once, in order')


@limit(120)
def wake_by_writer_option_causes_system_calls(case):
    """The filter of the test above has an effect."""
    if 'sanitize' in FEATURES:
        raise Skip('the sanitizer prints a report')
    with World(case) as w:
        begin(w, '--wake=writer', '--subbuf-size', '64k', '--num-subbuf', '256')
        # A writer makes the system call only if the consumer daemon sleeps: it may still drain when the program starts.
        w.wait(lambda: run_silent(w, 'killed', 50000, 1) in (-signal.SIGSYS, 77), 'the filter to end the program')
        w('destroy', 'one')


@limit(120)
def consumer_daemon_reads_rings_at_the_timer_interval(case):
    """A record reaches the trace without a wake and without a stop; memory is allocated at once."""
    with World(case) as w:
        begin(w, '--read-timer=50ms', '--flush-interval=50', '--subbuf-size', '64k', '--num-subbuf', '4')
        check(run_silent(w, 'threads', 1, 0) == 0, 'silent failed')
        said = channel_of(w)
        check(said['poll_us'] == 50000 and said['preallocation'] == 'preallocate', 'list: %s', said)
        check(said['memory'] >= CPUS * 4 * 65536, 'memory of the channel: %s', said['memory'])
        w('list', 'one').prints('read every 50 ms, without system calls of applications')
        for n in 5, 10:
            check(run_silent(w, 'threads', 1, 5) == 0, 'silent failed')
            w.wait(lambda: channel_of(w)['counts']['bytes'] > 0 and
                   len([r for r in w('view', '-s', 'one').out.splitlines() if 'record' in r]) == n,
                   '%d records in the trace' % n)
        w('destroy', 'one')


@limit(240)
def many_threads_share_the_rings_of_a_channel(case):
    threads, each = 64, 20000 if PERCENT >= 100 else 500
    with World(case) as w:
        begin(w, '--buffer-allocation=per-channel', '--subbuf-size', '1M', '--num-subbuf', '64',
              '--buffer-preallocation=on-demand')
        w('list', 'one').prints('for each of min(8, CPUs) rings and user')
        check(run_silent(w, 'threads', threads, each) == 0, 'silent failed')
        is_now, trace = w.end('one')
        counts, all_of_them = is_now['counts'], threads * each
        check(counts['records'] + counts['lost'] == all_of_them, 'counts: %s, of %d records', counts, all_of_them)
        check(counts['lost'] <= all_of_them // 10000, 'lost: %s', counts)
        found = sum(1 for _ in trace.records('silent:record'))
        check(found == counts['records'], 'in the trace: %d of %s', found, counts)
        streams = {f for _, _, names in os.walk(is_now['path']) for f in names
                   if f.startswith('chan_') and not f.endswith('.idx')}
        check(len(streams) <= min(8, CPUS), 'streams: %s', streams)


@limit(120)
def ring_memory_is_allocated_as_the_option_requests(case):
    shape, ring = ('--subbuf-size', '64k', '--num-subbuf', '16'), 16 * 65536
    expected = {'preallocate': (CPUS * ring, CPUS * ring + (1 << 20)),
                'on-demand': (CPUS * 65536, CPUS * 65536 + (1 << 20))}
    with World(case) as w:
        for how, (least, most) in expected.items():
            begin(w, '--buffer-preallocation', how, *shape)
            check(run_silent(w, 'threads', 1, 0) == 0, 'silent failed')
            check(channel_of(w)['preallocation'] == how, 'list: %s', channel_of(w))
            memory = channel_of(w)['memory']
            check(least <= memory <= most, '%s: %d bytes, not %d to %d', how, memory, least, most)
            w('destroy', 'one')
        w('create', 'one')
        w('enable-channel', 'a', '--buffer-ownership=process')
        w('enable-channel', 'b', '--buffer-ownership=user')
        found = {c['name']: c['buffers'] for c in w.session('one')['channels']}
        check(found == {'a': 'pid', 'b': 'uid'}, 'owners: %s', found)
        w('save', 'one')
        w('destroy', 'one')
        w('enable-channel', 'x', '--buffer-ownership=process', '--buffers-uid', status=2).prints('exclude each other')


@limit(120)
def mutually_exclusive_channel_options_are_refused(case):
    with World(case) as w:
        w('create', 'one')
        w('enable-channel', 'x', '--wake=timer', '--blocking-timeout=inf', status=1).prints(
            'excludes a blocking timeout')
        w('enable-channel', 'x', '--wake=timer', '--buffer-allocation=per-channel', status=1).prints(
            'excludes --buffer-allocation=per-channel')
        w('enable-channel', 'x', '--wake=timer', '--buffer-preallocation=on-demand', status=1).prints(
            'needs preallocated buffers')
        w('enable-channel', 'x', '--wake=writer', '--read-timer=1000', status=2).prints('exclude each other')
        w('enable-channel', 'x', '--read-timer=999', status=2).prints('too short: at least 1000 microseconds')
        w('enable-channel', 'x', '--buffer-allocation=per-channel')
        w('enable-channel', 'x', status=1).prints('its buffer allocation or wake-up mode cannot be changed')
        w('destroy', 'one')


if __name__ == '__main__':
    main([
        wake_by_timer_records_without_any_system_call,
        wake_by_writer_option_causes_system_calls,
        consumer_daemon_reads_rings_at_the_timer_interval,
        many_threads_share_the_rings_of_a_channel,
        ring_memory_is_allocated_as_the_option_requests,
        mutually_exclusive_channel_options_are_refused
    ])
