#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
The clock of a session without the kernel domain: it is selected, shown, saved, and kept over restarts, or rejected.
Times are corrected by the sync points that the consumer daemon writes.
"""
import json
import os
import re
import shutil
import signal
import struct
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from clocks import NAMES, available, has_counter  # noqa: E402
from daemon import World  # noqa: E402
from harness import PERCENT, Skip, VIEW, WAYMARK, check, finished, limit, main, slurp  # noqa: E402


def metadata(directory):
    return [slurp(os.path.join(at, 'metadata')) for at, _, names in os.walk(directory) if 'metadata' in names]


def numbers_and_times(directory):
    done = finished([WAYMARK, 'view', '--json', directory], capture_output=True, text=True)
    check(done.returncode == 0 and not done.stderr, 'view: %s', done.stderr[-500:])
    found = [json.loads(line) for line in done.stdout.splitlines()]
    return [(r['fields']['seq'], float(r['time'])) for r in found if r['event'] == 'test:seq']


@limit(120)
def clock_of_a_session_is_listed_saved_and_restored(case):
    begun, wanted = time.time(), available()
    with World(case) as w:
        for clock in wanted:
            w('create', clock, '--clock', clock)
            w('enable-event', '-s', clock, 'test:*')
            check(w.session(clock)['clock'] == clock, '%s is not shown: %s', clock, w.session(clock))
            check('clock ' + clock in w('list', clock).out, '%s is not shown: %s', clock, w('list', clock).out)
            w('save', clock)
            w('destroy', clock)
            w('load', clock)
            check(w.session(clock)['clock'] == clock, '%s is not saved', clock)
            w('start', clock)
        program = w.scripted()
        program('emit 3')
        os.kill(w.sessiond(), signal.SIGKILL)
        w.wait(lambda: not w.sessiond(), 'the session daemon to end')
        w('list')
        w.wait_apps([program.pid])
        program('emit 3')
        program.end()
        for clock in wanted:
            check(w.session(clock)['clock'] == clock, 'session %s has another clock after the restart', clock)
            path = w.stop(clock)['path']
            w('destroy', clock)
            found = numbers_and_times(path)
            check([number for number, _ in found] == list(range(1, 7)), '%s: %s', clock, found)
            check(begun - 1 <= found[0][1] <= found[-1][1] <= time.time() + 1, '%s: %s, at %s', clock, found, begun)
            names = {re.search(r'clock \{\s*name = "?(\w+)', text).group(1) for text in metadata(path)}
            check(names == {NAMES[clock][0]}, '%s: the metadata has the clock %s', clock, names)


def counter_is_the_default_clock_where_available(case):
    """A session without the kernel domain uses the counter if this machine has a usable one."""
    with World(case) as w:
        w('create', 'one')
        clock = w.session('one')['clock']
        check(clock == 'monotonic' or has_counter(), 'the default is %s', clock)
        check(clock == 'counter' or not has_counter() or os.uname().machine != 'x86_64', 'the default is %s', clock)
        w('destroy', 'one')


def unavailable_clock_is_rejected(case):
    with World(case) as w:
        for word in 'tsc', 'plugin', 'default', '':
            for argv in ['create', 'x', '--clock=' + word], ['record', '--clock=' + word, '--', 'true']:
                w(*argv, status=2).prints('the clocks are counter and monotonic')
        if not has_counter():
            w('create', 'x', '--clock=counter', status=1).prints('not use the counter', 'use --clock=monotonic')
    done = case.record([case.program('procs'), 'leaf', '1'], ['--clock=monotonic'],
                       env={'WAYMARK_CLOCK_PLUGIN': case.program('libclock.so')})
    words = 'plug-in an_hour_on, and no other clock'
    check(done.status == 1 and words in done.err, 'status %s: %s', done.status, done.err)


def option_of_record_selects_the_clock(case):
    for clock in available():
        done = case.record([case.program('procs'), 'leaf', '20'], ['--clock', clock]).ok()
        words = 'name = "%s"' % NAMES[clock][0]
        check(all(words in text for text in metadata(done.directory)), '%s: the metadata has another clock', clock)
        check(done.lost == 0 and len(numbers_and_times(done.directory)) >= 20, '%s: %s', clock, done.err)


CLOCK_HEAD, POINT = 64, struct.Struct('<QQQII')        # value, monotonic, real, uncertainty, flags


def clock_file(directory):
    found = [os.path.join(at, '.clock') for at, _, names in os.walk(directory) if '.clock' in names]
    check(len(found) == 1, 'files of sync points: %s', found)
    return found[0]


def read_points(path):
    with open(path, 'rb') as f:
        data = f.read()
    check(data[:8] == b'wmkclock' and (len(data) - CLOCK_HEAD) % POINT.size == 0, 'damaged: %s', data[:80])
    return data[:CLOCK_HEAD], [list(POINT.unpack_from(data, at)) for at in range(CLOCK_HEAD, len(data), POINT.size)]


def write_points(path, head, points):
    with open(path, 'wb') as f:
        f.write(head + b''.join(POINT.pack(*point) for point in points))


def view(directory, *argv, status=0):
    done = finished([WAYMARK, 'view', '--json', '--uncertainty', *argv, directory], capture_output=True, text=True)
    check(done.returncode == status, 'view: status %d: %s', done.returncode, done.stderr[-500:])
    return [r for r in map(json.loads, done.stdout.splitlines()) if r['event'] == 'test:seq'], done.stderr


def ns_of(seconds):
    whole, part = seconds.split('.')
    return int(whole) * 10**9 + int(part)


def real_minus_monotonic():
    """ns, and half of the time of its measurement."""
    best = None
    for _ in range(1000):
        before, monotonic, after = time.time_ns(), time.monotonic_ns(), time.time_ns()
        if best is None or after - before < best[1] * 2:
            best = ((before + after) // 2 - monotonic, (after - before) // 2 + 1)
    return best


def fast_trace(case, w, ppm=200, bursts=30):
    """
    The trace of a session with a clock that is so many ppm too fast: bursts of 40 records, 50 ms apart.
    """
    w.env['WAYMARK_CLOCK_PLUGIN'] = case.program('libclock.so')
    w.env['WMK_TEST_CLOCK_PPM'] = str(ppm)
    w('create', 'fast')
    w('enable-event', '-s', 'fast', 'test:*')
    w('start', 'fast')
    program = w.scripted()
    for _ in range(bursts):
        program('emit 40')
        program('rest 50')
    program.end()
    path = w.stop('fast')['path']
    w('destroy', 'fast')
    return path


def both_readers_are_silent(directory, records):
    for reader in 'babeltrace2', 'babeltrace':
        done = finished([reader, directory], capture_output=True, text=True, errors='replace')
        check(done.returncode == 0 and not done.stderr, '%s: %s', reader, done.stderr[:500])
        check(sum('test:seq' in line for line in done.stdout.splitlines()) == records, '%s: records missing', reader)


@limit(60)
def corrected_times_are_within_their_uncertainty(case):
    """
    With a clock that is 200 ppm too fast, the error at 1,200 instants is at most the stated uncertainty, which is at
    most 20 us.
    """
    with World(case, daemon=False) as w:
        path = fast_trace(case, w)
    offset, slack = real_minus_monotonic()
    records, _ = view(path)
    check(len(records) == 1200, '%d records', len(records))
    raw = finished([WAYMARK, 'view', '--json', '--clock-metadata', path], capture_output=True, text=True).stdout
    raw = [r for r in map(json.loads, raw.splitlines()) if r['event'] == 'test:seq']
    worst = 0
    for a, b, uncorrected in zip(records, records[1:] + [None], raw):
        at, stated = ns_of(a['time']), ns_of(a['uncertainty'])
        least = a['fields']['mono'] + offset - slack - 100
        most = b['fields']['mono'] + offset + slack + 100 if b else at
        check(least - stated <= at <= most + stated, 'record %s: %d ns too early, or %d too late, uncertainty %d',
              a['fields']['seq'], least - at, at - most, stated)
        check(stated <= 20000, 'an uncertainty of %d ns', stated)
        check(not a['order_unknown'], 'the order of one clock is unknown: %s', a)
        worst = max(worst, abs(ns_of(uncorrected['time']) - at))
    check(worst > 50000, 'without the sync points, times differ by %d ns only', worst)
    both_readers_are_silent(path, 1200)


@limit(60)
def step_of_real_time_is_reported_at_its_record(case):
    """
    A point in the middle reports that real time was set forward by 3 s: all later records jump, and keep their order.
    """
    with World(case, daemon=False) as w:
        path = fast_trace(case, w, ppm=0, bursts=5)
    file = clock_file(path)
    head, points = read_points(file)
    before, _ = view(path)
    cycles = finished([WAYMARK, *VIEW, '--clock-cycles', '--no-delta', path], capture_output=True, text=True).stdout
    values = [int(v) for v in re.findall(r'^\[(\d+)\] .*test:seq', cycles, re.M)]
    check(len(values) == len(before) == 200 and len(points) >= 2, '%d values, %d points', len(values), len(points))
    first, last = points[0], points[-1]
    value = values[120]  # the beginning of a burst
    part = (value - first[0]) / (last[0] - first[0])
    for step in 3 * 10**9, -3 * 10**9:
        middle = [value] + [int(first[i] + part * (last[i] - first[i])) for i in (1, 2)] + [first[3], 1]
        middle[2] += step
        end = list(last)
        end[2] += step
        write_points(file, head, [first, middle, end])
        after, err = view(path)
        check(not err and [r['fields']['seq'] for r in after] == list(range(1, 201)), 'order or messages: %s', err)
        for i, (a, b) in enumerate(zip(before, after)):
            moved = ns_of(b['time']) - ns_of(a['time']) - (step if i >= 120 else 0)
            check(abs(moved) < 100000, 'step %d: record %d moved by %d ns', step, i, moved)
        text = finished([WAYMARK, *VIEW, '--uncertainty', path], capture_output=True, text=True).stdout
        jumps = [line for line in text.splitlines() if re.search(r'\([+-][2-9]\.', line)]
        check(len(jumps) == 1 and ('(-' in jumps[0]) == (step < 0), 'jumps: %s', jumps)
        both_readers_are_silent(path, 200)


@limit(60)
def order_of_nearly_simultaneous_records_of_two_clocks_is_unknown(case):
    with World(case, daemon=False) as w:
        path = fast_trace(case, w, bursts=1)
    other, records = case.path('other'), view(path)[0]
    shutil.copytree(path, other)
    uuid = b'01234567-89ab-cdef-0123-456789abcdef'
    for name in clock_file(other), os.path.join(os.path.dirname(clock_file(other)), 'metadata'):
        with open(name, 'rb') as f:
            data = f.read()
        check(uuid in data, 'no %s in %s', uuid, name)
        with open(name, 'wb') as f:
            f.write(data.replace(uuid, uuid[::-1].replace(b'-', b'0')[:8] + uuid[8:]))
    both, _ = view(path, other)
    check(len(both) == 2 * len(records), '%d records', len(both))
    check(sum(not r['order_unknown'] for r in both) < len(records) and any(r['order_unknown'] for r in both[:2]),
          'the order of records at the same time is known')
    done = finished([WAYMARK, *VIEW, '--uncertainty', path, other], capture_output=True, text=True)
    lines = [line for line in done.stdout.splitlines() if 'test:seq' in line]
    check(all(re.match(r'±\d\.\d{9} [ ?] \[', line) for line in lines), 'lines: %s', lines[:3])
    check([' ? [' in line for line in lines] == [r['order_unknown'] for r in both], 'text and JSON differ')
    # Without sync points, nothing is known about the order.
    os.unlink(clock_file(other))
    both, _ = view(path, other)
    check(all(r['order_unknown'] for r in both[1:]) and {r['uncertainty'] for r in both} > {None}, 'order is known')


@limit(120)
def records_before_and_after_a_restart_of_the_counter_are_in_order(case):
    """
    The counter restarts at 0: the session continues in new rings and a new chunk. The consumer daemon measures the
    clock when the session stops or, in a long run, before it sleeps.
    """
    base = case.path('base')
    with open(base, 'wb') as f:
        f.write(bytes(8))
    with World(case, daemon=False) as w:
        w.env.update(WAYMARK_CLOCK_PLUGIN=case.program('libclock.so'), WMK_TEST_CLOCK_BASE=base)
        w.begin('back')
        program = w.scripted()
        os.sched_setaffinity(program.pid, {min(os.sched_getaffinity(0))})        # one ring
        program('emit 100')
        path = w.session('back')['path']
        if PERCENT >= 100:
            time.sleep(11)          # the age of a sync point that is measured before a sleep
        with open(base, 'r+b') as f:
            f.write(struct.pack('<Q', time.monotonic_ns() // 100 + 3600 * 10**7))
        program('emit 1')
        if PERCENT < 100:
            w.stop('back')
        w.wait(lambda: os.path.isdir(path + '/archives') and 'recording continues in new rings and a new chunk' in
               slurp(w.log), 'the session to continue in a new chunk')
        if PERCENT < 100:
            w('start', 'back')
        program('emit 50')
        # The next daemons continue in the new rings.
        os.kill(w.consumerd(), signal.SIGKILL)
        os.kill(w.sessiond(), signal.SIGKILL)
        w.wait(lambda: not w.sessiond(), 'the session daemon to end')
        w.start_daemon()
        w.wait_apps([program.pid])
        program('emit 50')
        program.end()
        w.stop('back')
        w('destroy', 'back')
        check(re.search(r'the clock went back from \d+ to \d+', slurp(w.log)) and
              'at least the last 0 records repeat the time of the previous record' in slurp(w.log), 'log: %s',
              slurp(w.log))
    offset, _ = real_minus_monotonic()
    records, err = view(path)
    check(not err and [r['fields']['seq'] for r in records] == list(range(1, 202)), 'records: %s %s', err,
          [r['fields']['seq'] for r in records])
    late = [r['fields']['seq'] for r in records if abs(ns_of(r['time']) - r['fields']['mono'] - offset) > 10**8]
    check(set(late) <= {101}, 'records with another time than that of their call: %s', late)
    check(len(os.listdir(path + '/archives')) == 1, 'chunks: %s', os.listdir(path + '/archives'))
    streams = [f for _, _, names in os.walk(path + '/ust') for f in names if re.search(r'~\d+_\d+$', f)]
    check(streams and all('~2_' in f for f in streams), 'streams after the restart: %s', streams)
    both_readers_are_silent(path, 201)


@limit(120)
def busy_applications_continue_in_order_after_a_restart_of_the_counter(case):
    """
    An idle and a busy application have buffers of their own: the trace of the idle one shows the restart. Only records
    between the restart and the new rings have another time than that of their call.
    """
    if PERCENT < 100:
        raise Skip('takes 15 s: in the long run')
    base = case.path('base')
    with open(base, 'wb') as f:
        f.write(bytes(8))
    with World(case, daemon=False) as w:
        w.env.update(WAYMARK_CLOCK_PLUGIN=case.program('libclock.so'), WMK_TEST_CLOCK_BASE=base)
        w.begin('back', channel=['--buffers-pid', '--subbuf-size', '256k', '--num-subbuf', '8'])
        program, busy = w.scripted(), w.run([case.program('busy'), 'until', '2', '3000000'])
        w.wait(lambda: case.ledger.flag(0) >= 2, 'the threads to record')
        program('emit 100')
        path = w.session('back')['path']
        time.sleep(11)              # the age of a sync point that is measured before a sleep
        with open(base, 'r+b') as f:
            f.write(struct.pack('<Q', time.monotonic_ns() // 100 + 3600 * 10**7))
        restarted = time.monotonic_ns()
        program('emit 1')
        w.wait(lambda: 'recording continues in new rings and a new chunk' in slurp(w.log), 'the next chunk')
        continued = time.monotonic_ns()
        begun = case.ledger.begun()
        w.wait(lambda: case.ledger.begun() > begun + 500, 'the program to record on')
        program('emit 100')
        case.ledger.set_flag(1, 1)
        w.wait_end(busy)
        program.end()
        w.stop('back')
        w('destroy', 'back')
    offset, _ = real_minus_monotonic()
    records, err = view(path)
    check(not err, 'view: %s', err)
    found, late = {}, []
    for r in records:
        found.setdefault(r['fields']['writer'], []).append(r['fields']['seq'])
        if abs(ns_of(r['time']) - r['fields']['mono'] - offset) > 10**8:
            late.append(r['fields']['mono'])
    for writer, (begun, _) in case.ledger.read().items():
        check(sorted(found.get(writer, [])) == list(range(1, begun + 1)), 'writer %d: %d of %d records', writer,
              len(found.get(writer, [])), begun)
    check(all(restarted - 10**8 <= at <= continued for at in late), 'records with another time: %s',
          [at for at in late if not restarted - 10**8 <= at <= continued][:10])
    check(len(late) < len(records) // 2, '%d of %d records have another time', len(late), len(records))
    print('# %d of %d records have another time, %.3f s' % (len(late), len(records), (continued - restarted) / 1e9))


@limit(60)
def damaged_clock_sync_points_are_reported(case):
    with World(case, daemon=False) as w:
        path = fast_trace(case, w, bursts=1)
    file, wanted = clock_file(path), view(path)[0]
    head, points = read_points(file)
    write_points(file, head, points + [points[0]])
    got, err = view(path, status=1)
    check('the sync points of the clock of' in err and 'the clock goes back at byte' in err, 'reported: %s', err)
    check(got == wanted, 'the points before the damage are not used')
    write_points(file, head[:8] + b'?' + head[9:], points)
    got, err = view(path, status=1)
    check('an unknown version' in err and len(got) == len(wanted), 'reported: %s', err)
    check(got[0]['uncertainty'] is None, 'uncertainty: %s', got[0])
    os.unlink(file)
    got, err = view(path)
    check(not err and len(got) == len(wanted), 'without sync points: %s', err)


@limit(60)
def converted_trace_keeps_the_corrected_times(case):
    with World(case, daemon=False) as w:
        path = fast_trace(case, w, bursts=3)
    wanted, _ = view(path)
    for form in 'ctf', 'ctf-2':
        directory = case.path(form)
        done = finished([WAYMARK, 'convert', '--to', form, '-o', directory, path], capture_output=True, text=True)
        check(done.returncode == 0, 'convert: %s', done.stderr)
        got, _ = view(directory)
        keys = 'time', 'uncertainty', 'fields'
        check([[r[k] for k in keys] for r in got] == [[r[k] for k in keys] for r in wanted], '%s: times differ', form)


if __name__ == '__main__':
    main([
        clock_of_a_session_is_listed_saved_and_restored, counter_is_the_default_clock_where_available,
        unavailable_clock_is_rejected, option_of_record_selects_the_clock, corrected_times_are_within_their_uncertainty,
        step_of_real_time_is_reported_at_its_record, order_of_nearly_simultaneous_records_of_two_clocks_is_unknown,
        records_before_and_after_a_restart_of_the_counter_are_in_order,
        busy_applications_continue_in_order_after_a_restart_of_the_counter,
        damaged_clock_sync_points_are_reported, converted_trace_keeps_the_corrected_times
    ])
