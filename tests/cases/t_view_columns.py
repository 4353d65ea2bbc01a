#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
The columns of `waymark view`: each line has the values that `view --json` prints, columns are aligned, and the text is
the same on a terminal and in a pipe.
"""
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
import corpus18  # noqa: E402
from harness import VIEW, WAYMARK, check, main  # noqa: E402
from t_view import at_a_terminal, read  # noqa: E402

# one line: time, CPU, process, event, fields
LINE = re.compile(r'\+(\d+\.\d{3} \d{3} \d{3})(?: +\[(\d+)\])?(?: +(\S+/\d+))? +(\S+)(?:  +(.*))?$')
STATEDUMP = ('lttng_ust_statedump:', 'lttng_statedump_')


def lines_of(case, *argv, status=0):
    got, lines, err = read(case, [WAYMARK, 'view', *argv])
    check(got == status, '%s: status %s: %s', argv, got, err[-500:])
    return [line.decode() for line in lines]


def records_of(case, path):
    return [json.loads(line) for line in read(case, [WAYMARK, 'view', '--json', path])[1]]


def column_view_shows_the_values_of_json_output(case):
    """
    Time, CPU, process, event and fields of a recording are shown: without its state dump and, with --all, with it.
    """
    path = case.record([case.program('types')], ['-c', 'vpid', '-c', 'vtid', '-c', 'procname']).ok().directory
    records = records_of(case, path)
    start = min(int(r['time'].replace('.', '')) for r in records)
    shown = [r for r in records if not r['event'].startswith(STATEDUMP)]
    lines = lines_of(case, path)
    check(0 < len(shown) < len(records) and len(lines) == len(shown), '%d lines of %d records', len(lines), len(shown))
    for line, r in zip(lines, shown):
        found = LINE.match(line)
        check(found, 'not a line: %s', line)
        time, cpu, thread, event, fields = found.groups()
        check(int(re.sub(r'\D', '', time)) == int(r['time'].replace('.', '')) - start, 'time %s: %s', r['time'], line)
        context = r.get('event_context') or r['context']
        check(cpu == str(r['packet']['cpu_id']) and event == r['event'], 'CPU and event: %s: %s', r, line)
        check(thread == '%s/%d' % (context['procname'], context['vpid']), 'thread %s: %s', context, line)
        if (fields or '').startswith('"'):             # a message, which has the values
            continue
        for name, value in r['fields'].items():
            if isinstance(value, bool) or not isinstance(value, int) or name.startswith('_'):
                check(name.startswith('_') or name + '=' in (fields or ''), 'no field %s: %s', name, line)
            else:
                check(re.search(r'\b%s=(%d|0[xX]?%X|0%o|0b%s)\b' % (name, value, value, value, bin(value)[2:])
                                if value >= 0 else r'\b%s=(%d|0)' % (name, value), fields), '%s = %d: %s', name, value,
                      line)
    lines = lines_of(case, '--all', path)
    check(len(lines) == len(records), '--all prints %d lines of %d', len(lines), len(records))
    check(all(re.search(r' packet=\{cpu_id=\d+, ring_position=\d+, fields_cut=0\}$', line) for line in lines),
          'no values of packets: %s', lines[:2])


def columns_are_aligned(case):
    """The events of a screenful begin at one position; those of the next screenful are not further left."""
    path = case.record([case.program('types')], ['-c', 'vpid', '-c', 'procname']).ok().directory
    lines, last = lines_of(case, path), None
    for i in range(0, len(lines), 48):
        places = {LINE.match(line).start(4) for line in lines[i:i + 48]}
        check(len(places) == 1 and (last is None or min(places) >= last), 'lines %d: events begin at %s', i, places)
        last = places.pop()


def column_view_on_a_terminal_equals_that_in_a_pipe(case):
    path = case.record([case.program('types')], ['-c', 'vpid', '-c', 'procname']).ok().directory
    plain = '\n'.join(lines_of(case, path)).encode() + b'\n'
    for env, colours in (({}, True), ({'NO_COLOR': '1'}, False)):
        status, shown = at_a_terminal(case, [WAYMARK, 'view', '--no-pager', path], **env)
        check(status == 0 and (b'\033[1m' in shown) == colours, 'status %d, %s', status, shown[:300])
        check(re.sub(rb'\033\[\d+m', b'', shown) == plain, 'another text: %s', shown[:300])


def columns_with_wide_characters_are_aligned(case):
    """
    Wide characters have two columns, and combining ones have none. A name beyond the limit moves only its own line.
    """
    names = ['a', 'größe', '事件', 'e\u0301', 'x' * 60, 'end']
    path = case.path('names')
    text = ''.join('event { id = %d; name = "%s"; stream_id = 0; fields := struct { uint8_t v; }; };\n' % pair
                   for pair in enumerate(names))
    os.makedirs(path)
    with open(os.path.join(path, 'metadata'), 'w', encoding='utf-8') as f:
        f.write('/* CTF 1.8 */\ntypealias integer { size = 8; } := uint8_t;\ntrace { major = 1; minor = 8; '
                'byte_order = le; };\nstream { id = 0; event.header := struct { uint8_t id; }; };\n' + text)
    with open(os.path.join(path, 'stream'), 'wb') as f:
        f.write(b''.join(bytes([i, i]) for i in range(len(names))))
    lines = lines_of(case, path)
    widths = [1, 5, 4, 1, 60, 3]
    want = ['%s%s  v=%d' % (name, ' ' * (40 - width), i) for i, (name, width) in enumerate(zip(names, widths))]
    check(lines == want, '%s, not %s', lines, want)


def traces_of_other_tracers_are_shown(case):
    """Each good trace of the corpus has as many lines as records, with the name of each event."""
    for trace in corpus18.GOOD[::8]:
        path = case.path(trace.name)
        trace.make(path)
        status, theirs, _ = read(case, [WAYMARK, 'view', '--json', path])
        records = [json.loads(line) for line in theirs]
        _, lines, _ = read(case, [WAYMARK, 'view', path])
        check(len(lines) == len(records), '%s: %d lines, %d records', trace.name, len(lines), len(records))
        check(status or all((r['event'] or '').encode()[:5] in line for r, line in zip(records, lines)), '%s: names',
              trace.name)


def losses_are_reported_in_the_time_format_of_the_records(case):
    path = case.path('lossy')
    next(t for t in corpus18.GOOD if t.name == 'counters_discarded').make(path)
    status, lines, err = read(case, [WAYMARK, 'view', path])
    words = re.findall(r'waymark: (\d+) records? (?:was|were) lost between \+\S+ \d+ \d+ and \+\S+ \d+ \d+: stream "',
                       err.decode())
    _, _, theirs = read(case, [WAYMARK, *VIEW, path])
    check(status == 0 and words == re.findall(r'discarded (\d+) event', theirs.decode()) != [], 'losses: %s', err)


def view_shows_host_names_for_traces_of_several_hosts(case):
    paths = []
    for host in ('one', 'another'):
        paths.append(case.path(host))
        corpus18.Tiny().write(paths[-1])
        with open(os.path.join(paths[-1], 'metadata'), 'a', encoding='utf-8') as f:
            f.write('\nenv { hostname = "%s"; };\n' % host)
    check(not any(' one ' in line for line in lines_of(case, paths[0])), 'the host of a single trace is shown')
    lines = lines_of(case, *paths)
    named = sum(bool(re.search(r'  one      \S', line)) for line in lines)
    check(named == len(lines) // 2 > 0, 'no hosts: %s', lines[:3])


def clock_option_selects_the_displayed_time(case):
    path = case.record([case.program('types')], ['-c', 'none']).ok().directory
    wall = [re.match(r'\[(\S+)\]', line)[1] for line in lines_of(case, '--style=babeltrace', '--no-delta', path)]
    for options in (['--clock=abs'], ['--clock-gmt', '--clock-date']):
        first = lines_of(case, '--all', '--clock-metadata', *options, path)
        got = [line.split('  ')[0].split(' ')[-1][-6:] for line in first]
        check(got == [time[-6:] for time in wall], '%s: %s', options, first[:2])
    for options in (['--clock=cycles'], ['--clock-cycles']):
        check(all(re.match(r'\d+  \[', line.lstrip()) for line in lines_of(case, *options, path)), '%s', options)
    for options in (['--clock=seconds'], ['--clock-seconds']):
        check(all(re.match(r'\d+\.\d{9}  ', line) for line in lines_of(case, *options, path)), '%s', options)


def followed_trace_is_printed_with_the_same_rows(case):
    """With --follow, rows may be aligned in other groups."""
    path = case.record([case.program('types')], ['-c', 'vpid', '-c', 'procname']).ok().directory
    for options in ([], ['--all'], ['--clock=abs']):
        plain, followed = (lines_of(case, *more, *options, path) for more in ([], ['--follow']))
        check([line.split() for line in plain] == [line.split() for line in followed], '%s: %s\n%s', options, plain[:2],
              followed[:2])


def options_of_another_output_style_are_refused(case):
    path = case.path('tiny')
    corpus18.Tiny().write(path)
    for options, words in ((['--names=none'], '--style=babeltrace'), (['--fields=all'], '--style=babeltrace'),
                           (['--no-delta'], '--style=babeltrace'),
                           (['--style=babeltrace', '--all'], 'cannot combine --all'),
                           (['--style=babeltrace', '--clock=relative'], '--style=columns'),
                           (['--style=x'], 'columns and babeltrace'), (['--clock=x'], 'relative')):
        status, _, err = read(case, [WAYMARK, 'view', *options, path])
        check(status == 2 and words in err.decode(), '%s: status %s, %s', options, status, err)


def view_of_a_trace_with_only_a_state_dump_prints_a_hint(case):
    path = case.record(['true'], ['-e', 'none:*']).ok().directory
    path = case.record([case.program('types')], ['-e', 'none:*']).ok().directory if not records_of(case, path) else path
    hidden = len(records_of(case, path))
    status, lines, err = read(case, [WAYMARK, 'view', path])
    check(status == 0 and not lines and (not hidden or b'(--all shows them): %d' % hidden in err), '%s: %s', lines, err)


if __name__ == '__main__':
    main([column_view_shows_the_values_of_json_output, columns_are_aligned,
          column_view_on_a_terminal_equals_that_in_a_pipe, columns_with_wide_characters_are_aligned,
          traces_of_other_tracers_are_shown, losses_are_reported_in_the_time_format_of_the_records,
          view_shows_host_names_for_traces_of_several_hosts, clock_option_selects_the_displayed_time,
          followed_trace_is_printed_with_the_same_rows, options_of_another_output_style_are_refused,
          view_of_a_trace_with_only_a_state_dump_prints_a_hint])
