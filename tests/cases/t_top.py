#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`waymark top`: its intervals add up to what was recorded; its screen shows tables, takes keys and can be resized."""
import json
import os
import re
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
import event_trace  # noqa: E402
from daemon import World  # noqa: E402
from harness import WAIT_S, WAYMARK, awaited, check, finished, limit, main, slurp, wait_for  # noqa: E402
from t_analyze import result_of  # noqa: E402
from t_view import read  # noqa: E402
from users import ALICE, open_to_all  # noqa: E402

EVENT = 'test:seq'


class Top:
    """`waymark top --batch --json ...`; a thread collects its intervals."""

    def __init__(self, w, *argv):
        self.intervals, self.err = [], w.case.path('top-said')
        with open(self.err, 'wb') as err:
            self.child = w.run([WAYMARK, 'top', '--batch', '--json', *argv], stdout=subprocess.PIPE, stderr=err)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.child.stdout:
            self.intervals.append(json.loads(line))

    def count(self):
        return sum(row['count'] for one in list(self.intervals) for row in one['tables'].get('events', [])
                   if row['event'] == EVENT)

    def end(self):
        awaited(self.child)
        self.reader.join(WAIT_S)
        check(self.child.returncode == 0, 'top ended with status %s: %s', self.child.returncode,
              slurp(self.err)[-800:])


def start_session(w):
    w('create', 'one')
    w('enable-event', '-s', 'one', 'test:*')
    w('start', 'one')
    return w.scripted()


def ns_of(text):
    seconds, _, fraction = text.partition('.')
    return int(seconds) * 10**9 + int(fraction)


def check_rates(top):
    """A rate is the count divided by the length of the interval; an interval begins where the last one has ended."""
    before = None
    for one in top.intervals:
        if before and before['records'] and one['records']:
            check(ns_of(one['begin']) == ns_of(before['begin']) + before['length_ns'], 'a gap: %s, then %s', before,
                  one)
        for row in one['tables'].get('events', []):
            if one['length_ns']:
                rate = 1e9 * row['count'] / one['length_ns']
                check(abs(row['per_s'] - rate) <= 1e-3 * rate, '%s in %d ns: %s', row, one['length_ns'], rate)
        before = one


@limit(120)
def record_counts_of_top_add_up_over_its_intervals(case):
    with World(case) as w:
        program = start_session(w)
        program('emit 10')
        top, sent = Top(w, 'one', '-d', '0.1'), 10
        for n in (1, 300, 20):
            program('emit %d' % n)
            sent += n
            wait_for(lambda: top.count() == sent, 'intervals with %d records' % sent)
        program.end()
        w('stop', 'one')
        top.end()
        check(top.count() == sent, '%d records, not %d', top.count(), sent)
        check(not any(one['lost'] for one in top.intervals), 'lost: %s', top.intervals)
        check_rates(top)
        w('destroy', 'one')


@limit(120)
def count_option_ends_top_after_the_given_intervals(case):
    with World(case) as w:
        program = start_session(w)
        program('emit 5')
        top = Top(w, 'one', '-d', '0.1', '-n', '3')
        top.end()
        check(len(top.intervals) == 3, '%d intervals', len(top.intervals))
        text = w('top', 'one', '--batch', '-d', '0.5', '-n', '1').out
        check(re.search(r'^Totals$', text, re.M) and EVENT in text, 'text: %s', text)
        program.end()
        w('destroy', 'one')


@limit(120)
def temporary_session_of_top_is_removed_at_its_end(case):
    with open_to_all(case), World(case, 'alices', user=ALICE) as w:
        program = w.scripted()
        top = Top(w, '-d', '0.1')
        wait_for(lambda: top.intervals, 'an interval')
        program('emit 40')
        wait_for(lambda: top.count() == 40, 'an interval with the records')
        session = w('list', '--json').json['sessions'][0]
        check(os.path.isdir(session['path']), 'no trace in %s', session['path'])
        top.child.terminate()
        top.end()
        check(not w('list', '--json').json['sessions'], 'the session still exists')
        check(not os.path.exists(session['path']), 'the trace still exists')
        program.end()


def top_shows_the_values_of_the_io_and_counter_analyses(case):
    path = case.path('io')
    event_trace.requests(case.random, 1500).write(path)
    exact = result_of(case, 'io', path)
    rows = json.loads(read(case, [WAYMARK, 'top', '--batch', '--json', path])[1][-1])['tables']['io']
    found = {(row['pid'], row['operation']): row for row in rows}
    check(found and len(found) == len(exact['tables']['processes']) == len(rows), 'rows: %s', rows)
    for row in exact['tables']['processes']:
        ours = found[row['pid'], row['operation']]
        check(ours['bytes_per_s'] == int(1e9 * row['bytes'] / exact['length_ns']) and ours['name'] == row['process'] and
              ours['p99_ns'] == row['p99_ns'], 'process: %s, not %s', ours, row)
    path = case.record([case.program('spans')], ['-c', 'vpid', '-c', 'vtid']).ok().directory
    exact = result_of(case, 'counters', path)['tables']['counters']
    rows = json.loads(read(case, [WAYMARK, 'top', '--batch', '--json', path])[1][-1])['tables']['counters']
    keys = ('counter', 'pid', 'last', 'min', 'max', 'average')
    check(rows and sorted([row[key] for key in keys] for row in rows) == sorted([row[key] for key in keys] for row in
                                                                               exact), '%s, not %s', rows, exact)


class Tmux:
    """A terminal with a shell."""

    def __init__(self, w, width, height):
        self.w, self.socket = w, os.path.join(w.place, 'tmux')
        self('-f', '/dev/null', 'new-session', '-d', '-x', str(width), '-y', str(height), 'sh')

    def __call__(self, *argv):
        return finished(['tmux', '-S', self.socket, *argv], env=dict(self.w.env, PS1='$ '), check=True,
                        stdout=subprocess.PIPE, text=True).stdout

    def keys(self, *keys):
        self('send-keys', *keys)

    def screen(self):
        return self('capture-pane', '-p').split('\n')

    def shows(self, *texts):
        wait_for(lambda: all(text in '\n'.join(self.screen()) for text in texts),
                 '%s on the screen' % (texts,))

    def sorted_by(self):
        """The head of the column that is shown in reverse."""
        heads = '\n'.join(self('capture-pane', '-p', '-e').split('\n')[:3])
        found = re.findall(r'\x1b\[[0-9;]*7m([^\x1b]*)', heads)
        return found and found[-1].split('\n')[-1].strip()


@limit(200)
def top_screen_shows_tables_and_reacts_to_keys(case):
    with World(case) as w:
        program = start_session(w)
        program('emit 5')
        tmux = Tmux(w, 80, 24)
        try:
            tmux.keys('%s top one -d 0.2; echo "status $?"; stty -a' % WAYMARK, 'Enter')
            tmux.shows('waymark top  one', 'records/s', 'lost 0', 'Events', 'per second', 'q quit')
            tmux.keys('p')
            tmux.shows('paused')
            tmux.keys('p')
            program('emit 7')
            wait_for(lambda: program('emit 1') or EVENT in '\n'.join(tmux.screen()), 'the event on the screen')
            tmux('resize-window', '-x', '200', '-y', '50')
            wait_for(lambda: 'q quit' in tmux.screen()[49], 'keys in the last line of the larger screen')
            wait_for(lambda: tmux.sorted_by() == 'per second', 'the order on the larger screen')
            tmux.keys('>')
            wait_for(lambda: tmux.sorted_by() == 'count', 'the next column')
            tmux.keys('F6')
            wait_for(lambda: tmux.sorted_by() == 'share', 'the column after it')
            tmux.keys('/', 'z', 'z', 'Enter')
            tmux.shows('filter: zz')
            check(EVENT not in '\n'.join(tmux.screen()), 'the filter has no effect')
            tmux.keys('h')
            tmux.shows('quit', 'next table')
            tmux.keys('h')
            tmux.shows('waymark top  one')
            tmux('resize-window', '-x', '80', '-y', '24')
            tmux.keys('q')
            tmux.shows('status 0', ' icanon', ' echo ')
            check(tmux('display-message', '-p', '#{alternate_on}').strip() == '0', 'the screen is not restored')
        finally:
            tmux('kill-server')
        program.end()
        w('destroy', 'one')


if __name__ == '__main__':
    main([
        record_counts_of_top_add_up_over_its_intervals,
        count_option_ends_top_after_the_given_intervals,
        temporary_session_of_top_is_removed_at_its_end,
        top_shows_the_values_of_the_io_and_counter_analyses,
        top_screen_shows_tables_and_reacts_to_keys
    ])
