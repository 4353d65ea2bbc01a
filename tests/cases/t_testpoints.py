#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Applications that are killed or stopped at every test point of a record: between any two stores that other threads can
see.

Restartable sequences have windows (src/ring/window.h), other code has named points (src/base/testpoint.h). A point that
is not reached fails its case, by name. A point in the sources that is not listed here fails as well.
"""
import os
import re
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from harness import (FEATURES, PERCENT, SEED, Gate, Skip, check, check_sequences, limit, main, slurp,
                     wait_for)  # noqa: E402

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..')
CLAIM = {'GLIBC_TUNABLES': 'glibc.pthread.rseq=0'}
# Point: (mode of the program `testpoints` that reaches it, additional environment).
NAMED = {
    'claim_claimed': ('records', CLAIM),
    'claim_entered': ('records', CLAIM),
    'claim_copied': ('records', CLAIM),
    'claim_slot': ('records', CLAIM),
    'claim_committed': ('records', CLAIM),
    'record_filtered': ('filtered', {}),
    'record_tabled': ('tabled', {}),
    'record_cut': ('cut', {}),
    'record_losing': ('lose', {}),
    'record_lost': ('lose', {}),
    'record_probing': ('probe', {}),
    'record_probed': ('probe', {}),
    'record_walking': ('probe', {}),
    'record_walked': ('probe', {}),
    'ring_placing': ('edge', {}),
    'ring_waking': ('edge', {}),
}
# Rings that hold the longest string of a field, and the records of a paced writer for long enough.
SIZES = ['--subbuf-size', '128k', '--num-subbuf', '16']
# About every second record of the mode `edge`, which has 16,000 bytes, meets the end of one of these sub-buffers. In
# larger ones, processes that share a CPU can keep writing in the same order, so that always the other one meets it.
EDGE_SIZES = ['--subbuf-size', '32k', '--num-subbuf', '64']
# Repetitions: enough to reach each point of the mode after AFTER passes, and not more than the rings hold.
TURNS = {'records': 4000, 'filtered': 4000, 'tabled': 4000, 'edge': 100, 'cut': 25, 'lose': 400, 'probe': 400}
AFTER = {'records': 200, 'filtered': 200, 'tabled': 200, 'edge': 10, 'cut': 10, 'lose': 200, 'probe': 200}
# Modes that need a filter, which changes the path of a record: an evaluated program, or a table.
FILTERS = {'filtered': '!exists(seq) || seq * 2 > seq', 'tabled': '!exists(seq) || seq * 2 > 0'}
# Points that almost only the end of a sub-buffer reaches.
AT_EDGES = {'ring_placing': 6, 'ring_waking': 6}
# Windows that a sequence passes when it enters a sub-buffer.
EDGES = range(5, 9)


def sources(pattern, *folders):
    """Matches of the pattern in the sources of the recording path, without its tests."""
    found = set()
    for folder in folders:
        for top, _, files in os.walk(os.path.join(ROOT, folder)):
            if not {'t', 'model'} & set(top.split(os.sep)):
                for name in files:
                    if name.endswith(('.c', '.h')):
                        found |= set(re.findall(pattern, slurp(os.path.join(top, name))))
    return found


def points():
    """[(name, mode, environment without the action, format of the variable's value)] of all points."""
    if 'testpoints' not in FEATURES:
        raise Skip('needs a build with -Dtestpoints=true')
    named = {name for name in sources(r'WMK_TESTPOINT\((\w+)\)', 'src/ring', 'src/tracer', 'include/waymark')
             if not name.startswith(('helper_', 'reclaim_'))}   # (a recording thread never reaches these)
    check(named == set(NAMED), 'points in the sources or here, but not in both: %s', named ^ set(NAMED))
    all_points = [(name, mode, env, 'WMK_TESTPOINT', name + '=%s:%d') for name, (mode, env) in sorted(NAMED.items())]
    if os.uname().machine == 'x86_64':
        count = max(int(n) for n in sources(r'define WMK_SEQ_WINDOWS (\d+)', 'src/ring'))
        used = {int(n) for n in sources(r'WMK_SEQ_WINDOW\((\d+)\)', 'src/ring')}
        check(used == set(range(count)), 'of %d windows the sequences use %s', count, sorted(used))
        all_points += [('window_%d' % n, 'edge' if n in EDGES else 'records', {}, 'WMK_SEQ_POINT', '%d:%%s:%%d' % n)
                       for n in range(count)]
    return all_points


def assignments(point, action, after):
    """The point's environment as words for `env`."""
    _, _, env, variable, form = point
    # The helper thread may be the one that reaches the point, while the program waits for its registration.
    return ' '.join('%s=%s' % item for item in [*env.items(), (variable, form % (action, after)),
                                                ('WAYMARK_REGISTER_TIMEOUT', '600000')])


def options(places):
    """Options of `waymark record`. All places must have the same filter, or none."""
    wanted = {FILTERS.get(mode) for _, mode, *_ in places}
    check(len(wanted) == 1, 'filters of one recording: %s', wanted)
    return [word for text in wanted if text for word in ('--filter', text)]


def words_of(mode):
    """The mode argument of the program."""
    return 'records' if mode in FILTERS else mode


def killed_once(case, point, after):
    """
    A program is killed at the point. The other program of this user, which records on the same CPUs, loses nothing.
    """
    name, mode, *_ = point
    case.ledger.__init__(case.ledger.path)
    dead = case.path('dead')
    if os.path.exists(dead):
        os.unlink(dead)
    script = '%s until 1 20000 & env %s %s %s %d; echo $? >%s.new; mv %s.new %s; wait' % (
        case.program('busy'), assignments(
            point, 'kill', after), case.program('testpoints'), words_of(mode), TURNS[mode], dead, dead, dead)
    child = case.start(['sh', '-c', script], (EDGE_SIZES if mode == 'edge' else SIZES) + options([point]))
    wait_for(lambda: os.path.exists(dead) or child.poll() is not None, 'the program to end at ' + name)
    check(os.path.exists(dead), '%s: waymark record ended early: %s', name, slurp(child.wmk[1])[-500:])
    status = slurp(dead).strip()
    check(status != '0', '%s was never reached', name)
    check(status == '137', '%s: the program ended with status %s, not killed', name, status)
    begun = case.ledger.begun()
    wait_for(lambda: case.ledger.begun() > begun + 500, 'the other program to continue (killed at %s)' % name)
    case.ledger.set_flag(1, 1)
    result = case.finish(child).ok()
    numbers = check_sequences(result.trace(), case.ledger, result.lost, killed=True)
    slots = case.ledger.read()
    whole = [w for w, (b, r) in slots.items() if b == r and numbers.get(w) == list(range(1, b + 1))]
    check(whole, '%s: the other program has lost records: %s', name, result.err[-300:])
    if mode != 'lose':
        check(result.lost == 0, '%s: %d records lost', name, result.lost)
        for w, (_, returned) in slots.items():
            check(
                len(numbers.get(w, [])) >= returned, '%s: writer %d: %d calls returned, %d records read', name, w,
                returned, len(numbers.get(w, [])))


@limit(150)
def trace_is_complete_after_a_kill_at_each_testpoint(case):
    places = points()
    for point in places:
        most = AT_EDGES.get(point[0], AFTER[point[1]])
        for after in (0, 3, most) if PERCENT >= 100 else (case.random.randrange(most),):
            killed_once(case, point, after)
    print('# killed at %d points' % len(places))


def stopped(case, places):
    """
    One writer is stopped at each of the places. Others write ten times the size of the same ring, and lose nothing.
    """
    case.ledger.__init__(case.ledger.path)
    for leftover in ('pids', 'done', 'failed'):
        if os.path.exists(case.path(leftover)):
            os.unlink(case.path(leftover))
    go = Gate(case.path('go'))
    ring, text, writers = 8 * (128 << 10), 2000, 4
    each = 10 * ring // text // writers + 1
    lines, turns = ['cd ' + case.directory
                    ], {'records': 30, 'filtered': 30, 'tabled': 30, 'edge': 60, 'cut': 6, 'lose': 6, 'probe': 30}
    for point in places:
        # Few repetitions: the records of all stopped writers share the rings with the others' records.
        name, mode, *_ = point
        after = 0 if name in AT_EDGES else min(turns[mode] // 3, AFTER[mode])
        lines.append('taskset -c $CPU env %s %s %s %d & echo "$! %s" >>pids' % (
            assignments(point, 'stop', after), case.program('testpoints'), words_of(mode), turns[mode], name))
    busy = 'taskset -c $CPU %s' % case.program('busy')
    lines += ['echo ready >>pids', 'read word <go',
              '%s large %d %d 2000 || echo others >>failed' % (busy, writers, each), 'echo >done', 'read word <go',
              'while read pid name; do [ "$pid" = ready ] || wait $pid || echo $name $? >>failed; done <pids']
    script = case.path('script')
    with open(script, 'w') as f:
        f.write('\n'.join(lines) + '\n')
    case.ledger.set_flag(0, 1)
    child = case.start(['sh', script], ['--subbuf-size', '128k', '--num-subbuf', '8'] + options(places),
                       env={'CPU': str(case.random.choice(sorted(os.sched_getaffinity(0))))})
    wait_for(lambda: os.path.exists(case.path('pids')) and 'ready' in slurp(case.path('pids')), 'all programs to start',
             60)
    victims = {int(pid): name for pid, name in re.findall(r'^(\d+) (\w+)$', slurp(case.path('pids')), re.M)}
    check(len(victims) == len(places), 'only %d of %d programs were started', len(victims), len(places))
    try:
        for pid, name in victims.items():
            wait_for(lambda: state(pid) in ('T', 'Z', None), 'the program to be stopped at ' + name)
            check(state(pid) == 'T', '%s was never reached (%s)', name, state(pid))
        go()
        wait_for(lambda: os.path.exists(case.path('done')), 'the other writers to end')
        for pid, name in victims.items():
            check(state(pid) == 'T', 'the program at %s continued by itself', name)
    finally:
        for pid in victims:
            os.kill(pid, signal.SIGCONT) if state(pid) == 'T' else None
    go()
    result = case.finish(child).ok()
    go.close()
    check(not os.path.exists(case.path('failed')), 'programs failed: %s',
          slurp(case.path('failed')) if os.path.exists(case.path('failed')) else '')
    losers = sum(6 for p in places if p[1] == 'lose')
    check(result.lost == losers, '%d records lost, not %d, with writers stopped at %s', result.lost, losers,
          ' '.join(victims.values()))
    numbers = check_sequences(result.trace(), case.ledger, result.lost)
    check(len(numbers) == len(places) + writers, '%d writers in the trace, not %d', len(numbers), len(places) + writers)


def state(pid):
    """The state letter in /proc/PID/stat, or None."""
    try:
        return slurp('/proc/%d/stat' % pid).rsplit(')', 1)[1].split()[0]
    except OSError:
        return None


@limit(60)
def writers_stopped_at_all_testpoints_block_no_other_writer(case):
    """One writer is stopped at each of the points at the same time."""
    places = points()
    stopped(case, [place for place in places if place[1] not in FILTERS])
    for mode in FILTERS:
        stopped(case, [place for place in places if place[1] == mode])


@limit(300)
def writer_stopped_at_each_testpoint_blocks_no_other_writer(case):
    """One point after another; short runs draw some."""
    places = points()
    for point in places if PERCENT >= 100 else case.random.sample(places, 2):
        stopped(case, [point])


if __name__ == '__main__':
    print('# points with seed %d' % SEED)
    main([
        trace_is_complete_after_a_kill_at_each_testpoint, writers_stopped_at_all_testpoints_block_no_other_writer,
        writer_stopped_at_each_testpoint_blocks_no_other_writer
    ])
