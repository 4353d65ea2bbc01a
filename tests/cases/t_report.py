#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
`waymark report` in headless Chromium: a script in a copy of the page zooms, pans, sorts and clicks, and what the page
then shows equals `waymark analyze` and `waymark view`.
"""
import collections
import hashlib
import json
import os
import re
import shutil
import struct
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'lib'))
import event_trace  # noqa: E402
import t_symbols  # noqa: E402
from ctf18 import BEGIN, Plain  # noqa: E402
from harness import PERCENT, VIEW, WAYMARK, Skip, check, finished, main  # noqa: E402
from sched_trace import Simulation  # noqa: E402
from t_analyze import result_of  # noqa: E402
from t_convert_folded import folded  # noqa: E402
from t_view import read  # noqa: E402

BROWSERS = 'chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome'
HOSTILE = '</script><script>window.attacked = 1</script><!--<script>\u2028"\'&'
KIND = '\tmodel.emf.uri = "waymark:%s";\n'
SPAN = '<img src=x onerror="window.attacked=1">'
# The release of uPlot in third_party, as its archive has it.
UPLOT = {'uPlot.iife.min.js': '7f29cd14e36d84141ab49c5e0a806d88e4d855596a9bc0e10799bc2c114b4c4f',
         'uPlot.min.css': 'df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04',
         'LICENSE': '8f989229699b4fe2f1a0432d0e9edc338a8a911e250e2d1b01ecd770a5f5b1bd'}


class Spans(Simulation):
    """Threads with states, spans with a hostile name, and records with a hostile field."""

    def __init__(self, random, steps):
        self.open = {}
        super().__init__(random, steps)

    def emit(self, cpu, name, *values):
        if 'note' not in self.ids:
            self.ids['note'] = self.plain.event('shop:note', 'string text; uint64_t number;')
            for kind in ('begin', 'end'):
                self.ids[kind] = self.plain.event('shop:work_' + kind, '', more=KIND % kind)
        super().emit(cpu, name, *values)
        tid = self.running[cpu]
        if tid and name.startswith('sched') and self.random.random() < 0.3:
            depth = self.open.get(tid, 0)
            kind = 'end' if depth and self.random.random() < 0.5 else 'begin'
            self.open[tid] = depth + (1 if kind == 'begin' else -1)
            super().emit(cpu, kind)
        if self.random.random() < 0.01:
            super().emit(cpu, 'note', HOSTILE, (64, 2**63 + 1))


def made(case, name, *options):
    status, _, err = read(case, [WAYMARK, 'report', case.path(name), '-o', case.path(name + '.html'), *options])
    check(status == 0, 'report of %s: %s', name, err)
    with open(case.path(name + '.html'), encoding='utf-8') as f:
        return f.read()


def embedded(page, name):
    return json.loads(re.search('<script type="application/json" id="%s">(.*?)</script>' % name, page, re.S)[1])


def browse(case, name, page, width=1400, scheme=1, is_virtual=True):
    """What report_steps.js writes. Scheme 0: dark. Virtual time waits for timers of the page, and measures nothing."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if not browser:
        raise Skip('chromium-headless-shell is not installed')
    with open(os.path.join(HERE, '..', 'lib', 'report_steps.js'), encoding='utf-8') as f:
        page = page.replace('</body>', '<script>%s</script></body>' % f.read())
    path = case.path(name + '.steps.html')
    with open(path, 'w', encoding='utf-8') as f:
        f.write(page)
    done = finished(
        [browser, '--no-sandbox', '--disable-gpu', '--user-data-dir=' + case.path('profile'), '--enable-logging=stderr',
         '--host-resolver-rules=MAP * ~NOTFOUND', '--window-size=%d,1200' % width,
         *(['--virtual-time-budget=20000'] if is_virtual else []),
         '--blink-settings=preferredColorScheme=%d' % scheme, '--dump-dom', 'file://' + path],
        capture_output=True)
    console = [line for line in done.stderr.decode('utf-8', 'replace').splitlines() if 'CONSOLE' in line]
    check(not console, 'console: %s', console[:5])
    dom = done.stdout.decode('utf-8', 'replace')
    check('id="outcome"' in dom, 'the script did not end: %s %s', done.returncode, done.stderr[-500:])
    return embedded_outcome(dom)


def embedded_outcome(dom):
    outcome = json.loads(re.search('id="outcome">(.*?)</script>', dom, re.S)[1])
    check(not outcome['errors'] and not outcome['requests'] and not outcome['attacked'], 'page: %s', outcome)
    check(not outcome['is_wide'], 'the page is wider than its window')
    return outcome


def duration(text):
    value, unit = text.split(' ')
    return float(value) * {'ns': 1, 'µs': 1e3, 'ms': 1e6, 's': 1e9}[unit]


def html_report_zooms_pans_sorts_and_shows_fields(case):
    Spans(case.random, 3000).write(case.path('trace'))
    page = made(case, 'trace')
    check(not re.search(r'<(link|img|iframe)\b|\bsrc=|@import|url\(', re.sub(r'(?s)<script.*?</script>', '', page)),
          'the page refers to other files')
    is_ = browse(case, 'trace', page)
    summary = result_of(case, case.path('trace'))
    length = summary['length_ns']
    check(is_['whole'] == is_['zero'] == [0, length], 'window: %s', is_['whole'])
    spans = {name: is_[name][1] - is_[name][0] for name in ('whole', 'wheel', 'plus', 'right', 'minus', 'drag')}
    check(spans['whole'] > spans['wheel'] > spans['plus'] and abs(spans['right'] - spans['plus']) < 1 < spans['minus']
          - spans['plus'] and abs(spans['drag'] - spans['minus']) < 1, 'windows: %s', spans)
    check(is_['right'][0] > is_['plus'][0] and is_['drag'][0] > is_['minus'][0], 'windows: %s', is_)
    # Spans, states and records.
    slowest = summary['tables']['slowest'][0]
    check(is_['span']['title'] == slowest['span'], 'span: %s', is_['span'])
    check(abs(duration(is_['span']['fields']['duration']) / slowest['duration_ns'] - 1) < 0.001 and
          is_['span']['fields']['thread'].endswith(' %d' % slowest['tid']), 'span: %s', is_['span'])
    check(is_['state']['title'].endswith(': running') and 'CPU' in is_['state']['fields'], 'state: %s', is_['state'])
    # (the reader of the page replaces control characters; U+2028 is kept)
    check(is_['record']['title'] == 'shop:note' and is_['record']['fields']['text'] == HOSTILE and
          is_['record']['fields']['number'] == str(2**63 + 1), 'record: %s', is_['record'])
    check(is_['counts']['records'] == summary['records'], 'records: %s', is_['counts'])
    # Tables.
    check(is_['tables'] == ['table-' + name for name in summary['tables']], 'tables: %s', is_['tables'])
    running = [duration(text) for text in is_['running']]
    check(running == sorted(running, reverse=True) and is_['running_again'] == sorted(is_['running'], key=duration),
          'sorted: %s', running)
    check(is_['events'] == sorted(row['event'] for row in summary['tables']['events']), 'events: %s', is_['events'])
    check(is_['findings'] == summary['notes'], 'findings: %s', is_['findings'])
    check(is_['charts'] == ['chart-records', 'chart-cpus'], 'charts: %s', is_['charts'])
    check(min(is_['chart_tables']) > 50 and is_['window_rows'] > 0, 'tables: %s', is_)
    check(is_['found'] == is_['labels'][-1:], 'found: %s', is_['found'])
    check_sums(page, summary)
    check_flame_graph(case, page, is_)
    # A narrow window; light and dark.
    narrow = browse(case, 'trace', page, 700, 0)
    check(narrow['background'] != is_['background'], 'light and dark: %s', narrow['background'])
    check(narrow['span'] == is_['span'] and narrow['events'] == is_['events'], 'narrow: %s', narrow['span'])


def check_sums(page, summary):
    """Intervals of the page and their rests equal the sums of the analyses."""
    data = embedded(page, 'data')
    tids = data['tracks'][1::4]
    kinds = {kind: {} for kind in range(6)}
    for track, kind, ns in zip(data['states'][0::6], data['states'][1::6], data['states'][3::6]):
        kinds[kind][tids[track]] = kinds[kind].get(tids[track], 0) + ns
    for track, kind, cells in data['rests']:
        if data['tracks'][4 * track] == 0:
            kinds[kind][tids[track]] = kinds[kind].get(tids[track], 0) + sum(cells[1::2])
    for kind, name in ((2, 'running'), (3, 'runnable'), (4, 'blocked')):
        exact = {}
        for row in summary['tables'].get('threads', []):
            exact[row['tid']] = exact.get(row['tid'], 0) + row[name + '_ns']
        check({tid: ns for tid, ns in kinds[kind].items() if ns} == {tid: ns for tid, ns in exact.items() if ns},
              '%s: %s, not %s', name, kinds[kind], exact)
    spans = sum(ns for ns in data['spans'][3::7] if ns >= 0) + sum(kinds[5].values())
    check(spans == sum(row['total_ns'] or 0 for row in summary['tables'].get('spans', [])), 'spans: %s', spans)
    check(sum(data['grid']['records']) == summary['records'], 'records: %s', data['grid'])
    check(sum(data['grid']['busy']) == sum(row['busy_ns'] for row in summary['tables'].get('cpus', [])),
          'busy: %s', sum(data['grid']['busy']))


def stacks_of(page, which='stacks'):
    """{stack: ns without deeper stacks}; checks the times with deeper stacks."""
    stacks = embedded(page, 'data')[which]
    nodes = [stacks['nodes'][i:i + 4] for i in range(0, len(stacks['nodes']), 4)]
    paths, sums = [], [node[3] for node in nodes]
    for parent, frame, _, _ in nodes:
        paths.append((paths[parent] if parent >= 0 else []) + [stacks['frames'][frame]])
    for i in range(len(nodes) - 1, -1, -1):
        check(nodes[i][0] < i, 'node %d precedes its parent', i)
        if nodes[i][0] >= 0:
            sums[nodes[i][0]] += sums[i]
    if not stacks['left_out']:
        check(sums == [node[2] for node in nodes], 'times with deeper stacks differ from their sums')
    return {';'.join(path): node[3] for path, node in zip(paths, nodes) if node[3]}


def without_roots(stacks):
    """`convert` has the number of a process instead of a name that is not a context."""
    sums = collections.Counter()
    for stack, ns in stacks.items():
        sums[stack.partition(';')[2]] += ns
    return sums


def check_flame_graph(case, page, is_):
    """The stacks are those of `convert --to folded`. A click and keys zoom."""
    check(without_roots(stacks_of(page)) == without_roots(folded(case, case.path('trace'))), 'stacks differ')
    whole = is_['stacks'][0]
    check(whole[:2] == ['all threads', 0] and whole[2] == sum(stacks_of(page).values()), 'all: %s', whole)
    clicked, zoomed, wide = is_['clicked']
    check(clicked == zoomed and abs(wide - is_['flame_wide']) < 1, 'zoom: %s', is_['clicked'])
    check('of all' in is_['flame_fields']['time'] and is_['flame_fields']['stack'].endswith('› ' + clicked),
          'fields: %s', is_['flame_fields'])
    parent = is_['flame_fields']['stack'].split(' › ')[0]
    up, enter, down, right, left, zero = is_['flame']
    check(up == [clicked, parent] and enter == [parent, parent] and down[0] == right[0] == left[0] == parent and
          zero == ['all threads', 'all threads'], 'keys: %s', is_['flame'])
    check([row[0] for row in is_['flame_rows']] and sum(duration(row[1]) for row in is_['flame_rows']) >
          0.99 * whole[2], 'table: %s', is_['flame_rows'])


def flame_graph_has_system_calls(case):
    event_trace.syscalls(case.random, 1500).write(case.path('calls'))
    ours, theirs = stacks_of(made(case, 'calls')), folded(case, case.path('calls'))
    check('p100;syscall:read' in ours and without_roots(ours) == without_roots(theirs), '%s, not %s', ours, theirs)


def report_draws_call_stacks_as_a_flame_graph(case):
    """A trace with call stacks and system calls: a choice between two flame graphs."""
    program, start = case.program('symbols'), t_symbols.addresses_of(case.program('symbols'))['main'][0]
    stacks = [([t_symbols.BASE + start, 0x1234], []), ([t_symbols.BASE + start], [t_symbols.KERNEL])] * 2
    t_symbols.write_stacks(case, case.path('trace'), program, stacks, [4096])
    page = made(case, 'trace', '--symbols')
    check(stacks_of(page, 'callstacks') == {'77;0x1234;main;shop:work': 2,
                                            '77;main;0x%x;shop:work' % t_symbols.KERNEL: 2},
          'call stacks: %s', stacks_of(page, 'callstacks'))
    check('77;syscall:futex' in stacks_of(page), 'stacks: %s', stacks_of(page))
    is_ = browse(case, 'trace', page)
    check(['main', 2, 2] in is_['callstacks'] and 'number of records' in is_['callstacks_words'], 'page: %s',
          is_['callstacks'])
    check(sorted(row[0] for row in is_['flame_rows']) == sorted(
        ['77', '0x1234', 'main', '0x%x' % t_symbols.KERNEL, 'shop:work']), 'table: %s', is_['flame_rows'])
    check('callstacks' not in embedded(made(case, 'trace'), 'data'), 'call stacks without the option')


def report_draws_lost_records(case):
    simulation = Spans(case.random, 2000)
    simulation.write(case.path('trace'), {(0, 3), (1, 5)})
    page = made(case, 'trace')
    data = embedded(page, 'data')
    check(len(data['losses']) == 8, 'losses: %s', data['losses'])
    # (a page has no stacks from the begin of a loss, `convert` from its end)
    ours, theirs = without_roots(stacks_of(page)), without_roots(folded(case, case.path('trace')))
    check(ours and sum(ours.values()) <= sum(theirs.values()), 'stacks: %s, not %s', ours, theirs)
    outcome = browse(case, 'trace', page)
    check(outcome['counts']['records'] == result_of(case, case.path('trace'))['records'], 'records: %s',
          outcome['counts'])


def report_of_a_large_trace_keeps_long_spans(case):
    """More than 100,000 records: no single records, each long span, exact sums, and a small page. Long: a million."""
    n_spans = 500000 if PERCENT >= 100 else 80000
    plain = Plain(contexts='\tevent.context := struct { int32_t vpid; int32_t vtid; };\n')
    now, parts, long = BEGIN, [], []
    for kind in ('begin', 'end'):
        plain.event('shop:%s_%s' % (SPAN.replace('"', "'"), kind), '', more=KIND % kind)
    for n in range(n_spans):
        ns = case.random.choice((100, 900, 5000)) if n % 1000 else 3000000
        parts += [struct.pack('<HQii', 0, now, 4, 5 + n % 3), struct.pack('<HQii', 1, now + ns, 4, 5 + n % 3)]
        long += [(now, ns)] if ns > 5000 else []
        now += ns + 200
    # (the fields of the first record contain all others, which is faster to write)
    plain.write(case.path('trace'), stream=[plain.packet(
        [(BEGIN, 0, lambda bits: bits.i(32, 4).i(32, 5).raw(b''.join(parts[1:])))], end=now)])
    page = made(case, 'trace')
    summary = result_of(case, case.path('trace'))
    data = embedded(page, 'data')
    check(summary['records'] == 2 * n_spans and not data['whole'] and not data['records'], 'records: %s',
          summary['records'])
    kept = set(zip(data['spans'][2::7], data['spans'][3::7]))
    check(all((at - BEGIN, ns) in kept for at, ns in long), 'not all of %d long spans are in the page', len(long))
    check(data['left_out'] + len(kept) == n_spans and data['left_out'] > 0, 'spans: %d, left out %d', len(kept),
          data['left_out'])
    check_sums(page, summary)
    check(len(page) < 5 << 20, 'the page has %d bytes', len(page))
    outcome = browse(case, 'trace', page)
    check('100,000' in outcome['note'] and outcome['counts']['spans'] == len(kept), 'page: %s', outcome['note'])
    # (100 ms on an idle machine)
    timed = browse(case, 'trace', page, is_virtual=False)
    times = {name: timed[name] for name in ('first_ms', 'zoom_ms', 'flame_first_ms', 'flame_zoom_ms')}
    print('# %d records, %d bytes, frames: %s' % (summary['records'], len(page), times))
    check(max(times.values()) < 2000, 'frames take %s', times)


def report_of_a_large_trace_has_exact_sums_of_thread_states(case):
    plain, files, random = Plain(contexts='\tevent.context := struct { int32_t tid; int32_t pid; };\n'), {}, case.random
    plain.event('sched_switch', 'int32_t prev_tid; int32_t prev_prio; int64_t prev_state; int32_t next_tid; '
                                'int32_t next_prio;')
    plain.event('sched_wakeup', 'int32_t tid; int32_t prio; int32_t target_cpu;')
    for cpu in range(3):
        now, parts, running = BEGIN, [], 0
        for _ in range(20000):
            tid = random.choice([is_ for is_ in range(100 * cpu + 1, 100 * cpu + 31) if is_ != running])
            now += random.choice((500, 3000, 20000, 100000))
            parts.append(struct.pack('<HQiiiii', 1, now, running, running, tid, 20, cpu))
            now += random.randrange(100, 2000)
            parts.append(struct.pack('<HQiiiiqii', 0, now, running, running, running, 20, int(running > 0), tid, 20))
            running = tid
        files['kernel_%d' % cpu] = [plain.packet([(BEGIN, 1, lambda bits, parts=parts, cpu=cpu: bits.i(32, 0).i(
            32, 0).i(32, 100 * cpu + 1).i(32, 20).i(32, cpu).raw(b''.join(parts)))], end=now, cpu=cpu)]
    plain.write(case.path('trace'), **files)
    page = made(case, 'trace')
    data = embedded(page, 'data')
    check(data['left_out'] > 0 and len(data['states']) <= 6 * 60000, '%d states, left out %d', len(data['states']) // 6,
          data['left_out'])
    check_sums(page, result_of(case, case.path('trace')))
    check(len(page) < 5 << 20, 'the page has %d bytes', len(page))
    check(browse(case, 'trace', page)['state']['title'].endswith(': running'), 'no state in the page')


def large_fields_are_left_out(case):
    """At most 100,000 records with more than 3 MiB of fields: the page has all records without fields, and says so."""
    note = b'x' * 100 + b'\0'
    for name, n in (('small', 20000), ('large', 40000)):
        plain, now = Plain(contexts='\tevent.context := struct { int32_t vpid; int32_t vtid; };\n'), BEGIN
        plain.event('shop:note', 'string text;')
        records = [struct.pack('<HQii', 0, now + 1000 * i, 4, 5 + i % 3) + note for i in range(1, n)]
        plain.write(case.path(name), stream=[plain.packet(
            [(BEGIN, 0, lambda bits, more=b''.join(records): bits.i(32, 4).i(32, 5).raw(note + more))],
            end=BEGIN + 1000 * n)])
        page = made(case, name)
        data, is_large = embedded(page, 'data'), name == 'large'
        check(data['whole'] and len(data['records']) == 4 * n, '%s: %d of %d records', name, len(data['records']) // 4,
              n)
        check(data['has_fields'] != is_large and ('"text":"xxx' in page) != is_large, '%s: fields', name)
        check(len(page) < 5 << 20, '%s: the page has %d bytes', name, len(page))
        outcome = browse(case, name, page)
        check(('more than 3 MiB' in outcome['note']) == is_large, '%s: page: %s', name, outcome['note'])


def report_of_an_empty_trace_is_valid_and_missing_one_fails(case):
    Plain().write(case.path('none'))
    page = made(case, 'none')
    check(embedded(page, 'data')['length'] == 0, 'data of an empty trace')
    check(browse(case, 'none', page)['labels'] == [], 'page of an empty trace')
    status, _, err = read(case, [WAYMARK, 'report', case.path('absent'), '-o', case.path('absent.html')])
    check(status == 1 and not os.path.exists(case.path('absent.html')), 'absent: %s %s', status, err)
    status, out, _ = read(case, [WAYMARK, 'report', case.path('none')])
    check(status == 0 and out[0] == b'<!DOCTYPE html>', 'standard output: %s', out[:1])


def uplot_is_the_release(_case):
    folder = os.path.join(HERE, '..', '..', 'third_party', 'uPlot')
    with open(os.path.join(folder, 'README'), encoding='utf-8') as f:
        words = f.read()
    for name, digest in UPLOT.items():
        with open(os.path.join(folder, name), 'rb') as f:
            check(hashlib.sha256(f.read()).hexdigest() == digest, '%s was changed', name)
        check(digest in words, 'README does not have the hash of %s', name)


if __name__ == '__main__':
    main([html_report_zooms_pans_sorts_and_shows_fields, flame_graph_has_system_calls,
          report_draws_call_stacks_as_a_flame_graph, report_draws_lost_records,
          report_of_a_large_trace_keeps_long_spans, report_of_a_large_trace_has_exact_sums_of_thread_states,
          large_fields_are_left_out, report_of_an_empty_trace_is_valid_and_missing_one_fails,
          uplot_is_the_release])
