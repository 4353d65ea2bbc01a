#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
`waymark convert --from` converts logs of other programs to traces. Their records equal those of another parser
(tests/lib/logs.py).
"""
import collections
import contextlib
import json
import os
import re
import select
import shutil
import stat
import subprocess
import sys
import time
import zoneinfo
from datetime import datetime

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
import logs  # noqa: E402
import traces  # noqa: E402
from harness import (  # noqa: E402
    FEATURES, VIEW, WAYMARK, Skip, awaited, check, finished, limit, main, need, rounds, slurp)
from t_filter import records_of  # noqa: E402
from t_view import babeltrace2, read, without_delta  # noqa: E402

SAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'import')
BOOT = 1795300000
DAY = 1795219200                # 2026-11-21, 00:00 UTC: the day before the modification time of strace-tt.txt
CHANGED = DAY + 86400 + 3600
# file, format, options, arguments of the other parser, number of lines that are not understood
LOGS = [
    ('syslog-3164.log', 'syslog', ['--year', '2025'], {'year': 2025}, 2),
    ('syslog-3164.log', 'syslog', [], {'year': 2025}, 2),
    ('syslog-5424.log', 'syslog', [], {}, 0),
    ('syslog-iso.log', 'syslog', [], {}, 0),
    ('journal-full.log', 'syslog', [], {}, 2),
    ('dmesg.txt', 'dmesg', [], {}, 1),
    ('dmesg.txt', 'dmesg', ['--boot-time', str(BOOT)], {'origin': BOOT * 1000000000}, 1),
    ('dmesg-x.txt', 'dmesg', ['--boot-time', '2026-11-22T01:35:44+01:00'], {'origin': 1795307744 * 1000000000}, 0),
    ('dmesg-r.txt', 'dmesg', ['--boot-time', '2026-11-22'], {'origin': 1795305600 * 1000000000}, 0),
    ('dmesg-T.txt', 'dmesg', [], {}, 0),
    ('perf.txt', 'perf', [], {}, 0),
    ('perf.txt', 'perf', ['--boot-time', '%d.5' % BOOT], {'origin': BOOT * 1000000000 + 500000000}, 0),
    ('strace-f.txt', 'strace', [], {}, 0),
    ('strace-tt.txt', 'strace', [], {'day': DAY}, 0),
    ('strace-tt.txt', 'strace', ['--boot-time', '2000-01-01'], {'day': 946684800}, 0),
    ('strace-r.txt', 'strace', ['--boot-time', str(BOOT)], {'origin': BOOT * 1000000000}, 0),
]


def imported(case, form, paths, *options, status=0, stdin=None, zone='UTC'):
    """(directory of the trace, messages)"""
    out = case.path('imported')
    shutil.rmtree(out, ignore_errors=True)
    argv = [WAYMARK, 'convert', '--from', form, '-o', out, *options, *paths]
    done = finished(argv, env=dict(case.env, TZ=zone, LC_ALL='C.UTF-8'), input=stdin if stdin is not None else b'',
                    capture_output=True)
    said = done.stderr.decode(errors='replace')
    check(done.returncode == status and 'anitizer' not in said and 'runtime error' not in said, '%s: status %s: %s',
          ' '.join(argv), done.returncode, said[-1500:])
    return out, said


def parts(record):
    whole, part = record['time'].split('.')
    fields = {name: value['label'] if isinstance(value, dict) else value for name, value in record['fields'].items()}
    if 'callchain' in fields:
        check(fields.pop('_callchain_length') == len(fields['callchain']), 'wrong length of the call chain: %s', record)
    return int(whole) * 1000000000 + int(part), record['event'], record.get('context') or {}, fields


def key(parts_of_one):
    return json.dumps(parts_of_one, sort_keys=True)


def compare(case, path, expected):
    """The trace has exactly the expected records, in order, and babeltrace2 prints the same lines."""
    records = [parts(record) for record in records_of(case, path)]
    check([r[0] for r in records] == sorted(r[0] for r in records), '%s: not in the order of time', path)
    got, wanted = sorted(map(key, records)), sorted(map(key, expected))
    for number in range(max(len(got), len(wanted))):
        pair = [side[number] if number < len(side) else 'nothing' for side in (got, wanted)]
        check(pair[0] == pair[1], '%s:\nfound    %s\nexpected %s', path, *pair)
    theirs, _ = babeltrace2(case, path)
    same_lines(path, without_delta(read(case, [WAYMARK, *VIEW, path])[1]), without_delta(theirs))


def same_lines(path, ours, theirs):
    """
    In any order. babeltrace2 2.0.4 prints an empty string with the field's previous value: any text matches there.
    """
    left = collections.Counter(theirs)
    for line in ours:
        if b'= ""' in line:
            shape = re.compile(b'= "[^"]*(?:\\\\.[^"]*)*"'.join(re.escape(piece)
                                                                for piece in line.split(b'= ""')) + b'$')
            line = next((their for their, n in left.items() if n and shape.match(their)), line)
        check(left[line] > 0, '%s: babeltrace2 has no line %s', path, line)
        left[line] -= 1
    check(not +left, '%s: only babeltrace2 has %s', path, +left)


def sample(case, name):
    path = case.path(name)
    shutil.copy(os.path.join(SAMPLES, name), path)
    os.utime(path, (CHANGED, CHANGED))
    return path


def sample_logs_are_imported(case):
    """Each sample with each set of options."""
    for name, form, options, told, unknown in LOGS:
        path = sample(case, name)
        if name == 'syslog-3164.log' and not options:
            os.utime(path, (1769000000, 1769000000))         # January 2026
        out, said = imported(case, form, [path], *options)
        compare(case, out, logs.expect(form, slurp(path), **told))
        check(('%d line' % unknown in said and 'not understood' in said) == (unknown > 0), '%s: %s', name, said)
        check(('1970' in said) == (form in ('dmesg', 'perf') and not options and name != 'dmesg-T.txt'),
              '%s: wrong message about an assumed origin: %s', name, said)
        check(('without a year' in said) == (name == 'syslog-3164.log' and not options),
              '%s: wrong message about an assumed year: %s', name, said)


def local_times_follow_the_time_zone(case):
    """Local times use the time zone, before and after a change to or from summer time."""
    zone = 'Europe/Berlin'
    text = ''.join('%s h t: m\n' % when for when in ('Mar 28 12:00:00', 'Mar 29 01:59:59', 'Mar 29 03:00:00',
                                                     'Jul  1 00:00:00', 'Oct 25 12:00:00'))
    out, _ = imported(case, 'syslog', ['-'], '--year', '2026', stdin=text.encode(), zone=zone)
    wanted = [
        int(
            datetime.strptime('2026 ' + line[:15],
                              '%Y %b %d %H:%M:%S').replace(tzinfo=zoneinfo.ZoneInfo(zone)).timestamp())
        for line in text.splitlines()
    ]
    check([int(r['time'].split('.')[0]) for r in records_of(case, out)] == wanted, 'the times are not %s', wanted)


def several_logs_are_imported_into_one_trace(case):
    """Several files and standard input; file modes; a directory with an earlier trace is not changed."""
    out, _ = imported(case, 'dmesg',
                      [sample(case, 'dmesg.txt'), '-', sample(case, 'dmesg-x.txt')], stdin=b'[    0.250000] between\n')
    texts = [r['fields'].get('message') for r in records_of(case, out)]
    check(len(texts) == 14 and 'between' in texts, 'three files: %s', texts)
    for top, directories, names in os.walk(out):
        for name in directories + names:
            mode = stat.S_IMODE(os.stat(os.path.join(top, name)).st_mode)
            check(mode == (0o700 if name in directories else 0o600), '%s has mode %o', name, mode)
    status, _, err = read(case, [WAYMARK, 'convert', '--from', 'dmesg', '-o', out, sample(case, 'dmesg.txt')])
    check(status == 1 and b'not empty' in err, 'a directory with a trace in it: status %d: %s', status, err)
    out, said = imported(case, 'syslog', ['-'])
    check(records_of(case, out) == [] and '0 records' in said, 'an empty log: %s', said)
    absent = case.path('absent')
    status, _, err = read(case, [WAYMARK, 'convert', '--from', 'dmesg', '-o', absent, case.path('no-such-file')])
    check(status == 1 and b'no-such-file' in err and not os.path.exists(absent), 'no such file: status %d: %s', status,
          err)
    status, _, err = read(case, [WAYMARK, 'convert', '--from', 'dmesg', '-o', absent, case.directory])
    check(status == 1 and case.directory.encode() in err, 'a directory as a log: status %d: %s', status, err)


def import_mistakes_are_reported(case):
    log, out = sample(case, 'dmesg.txt'), case.path('out')
    for argv, wanted in ((['--from', 'syslogg', '-o', out,
                           log], 'syslog'), (['--from', 'dmesg', '--to', 'csv', '-o', out,
                                              log], '--to ctf'), (['--from', 'dmesg', log], '-o DIR'),
                         (['--from', 'dmesg', '-o', out], 'no log given'), (['--year', '2020', '--to', 'csv',
                                                                           log], '--from'),
                         (['--from', 'syslog', '--year', '20x', '-o', out,
                           log], '20x'), (['--from', 'syslog', '--year', '1812', '-o', out,
                                           log], '1970'), (['--from', 'dmesg', '--boot-time', 'soon', '-o', out,
                                                            log], 'soon')):
        status, _, err = read(case, [WAYMARK, 'convert', *argv])
        check(status == 2 and wanted in err.decode(), '%s: status %d: %s', argv, status, err.decode())
        check(not os.path.exists(out), '%s created a directory', argv)
    imported(case, 'dmesg', [log], '--to', 'ctf')


def import_selects_by_time_and_filter(case):
    """--begin, --end and --filter select records of the whole log, and no temporary files remain."""
    for name, form, options in (('dmesg-x.txt', 'dmesg', ['--boot-time', str(BOOT)]), ('syslog-5424.log', 'syslog', []),
                                ('strace-f.txt', 'strace', [])):
        log = sample(case, name)
        whole = records_of(case, imported(case, form, [log], *options)[0])
        times = sorted(r['time'] for r in whole)
        begin, end = times[len(times) // 3], times[2 * len(times) // 3]
        event = whole[-1]['event']
        for more, wanted in ((['--begin',
                               begin], lambda r: r['time'] >= begin), (['--begin', begin, '--end',
                                                                        end], lambda r: begin <= r['time'] <= end),
                             (['--filter', '$event == "%s"' % event],
                              lambda r: r['event'] == event), (['--filter', '$event == "none"'], lambda r: False)):
            before = set(os.listdir(case.directory)) - {'imported'}
            out, said = imported(case, form, [log], *options, *more, '--to', 'ctf')
            got, expected = ([{**r, 'delta': None} for r in records]
                             for records in (records_of(case, out), filter(wanted, whole)))
            check(got == expected, '%s %s: %d records of %d, not %d', name, more, len(got), len(whole), len(expected))
            check('%d record' % len(whole) in said, 'the number of all records is not reported: %s', said)
            check(
                set(os.listdir(case.directory)) - {'imported'} == before, 'left behind: %s',
                set(os.listdir(case.directory)) - before)
    before = set(os.listdir(case.directory)) - {'imported'}
    out, said = imported(case, 'dmesg', [sample(case, 'dmesg-x.txt')], '--filter', 'no such', status=1)
    check(not os.path.exists(out) and "found 'such'" in said, 'an invalid filter: %s', said)
    os.makedirs(os.path.join(case.path('taken'), 'it is'))
    status, _, err = read(case, [
        WAYMARK, 'convert', '--from', 'dmesg', '--begin', '5', '-o',
        case.path('taken') + '/',
        sample(case, 'dmesg-x.txt')
    ])
    check(status == 1 and b'is not empty' in err, 'a directory in use: status %d: %s', status, err)
    check(
        set(os.listdir(case.directory)) - before <= {'imported', 'taken', 'dmesg-x.txt'}, 'left behind: %s',
        set(os.listdir(case.directory)) - before)


def import_is_merged_with_a_trace_by_time(case):
    """The records are merged with those of another trace, by time."""
    other = case.record([case.program('busy'), 'count', '2', '50', '0']).ok().directory
    theirs = [parts(r)[0] for r in records_of(case, other)]
    between = [(a + b) // 2 for a, b in zip(theirs, theirs[1:]) if b - a > 2]
    check(len(between) > 10, 'only %d gaps', len(between))
    lines = ''.join('%s.%09dZ host log[%d]: %d\n' %
                    (datetime.utcfromtimestamp(t // 1000000000).strftime('%Y-%m-%dT%H:%M:%S'), t % 1000000000, n + 1, t)
                    for n, t in enumerate(between))
    out, _ = imported(case, 'syslog', ['-'], stdin=lines.encode())
    together = records_of(case, other, out)
    times = [parts(r)[0] for r in together]
    check(times == sorted(times) and sorted(theirs + between) == times, 'the traces are not merged')
    check(all(parts(r)[0] == int(r['fields']['message']) for r in together if r['event'] == 'syslog:message'),
          'a record\'s time is not that of its message')
    status, _, err = read(case, ['babeltrace2', other, out]) if shutil.which('babeltrace2') else (0, [], b'')
    check(status == 0, 'babeltrace2: %s', err)


def imported_records_keep_their_thread_ids(case):
    """Records are assigned to their threads in formats that have threads."""
    out, _ = imported(case, 'strace', [sample(case, 'strace-f.txt')])
    chrome = case.path('chrome')
    status, _, err = read(case, [WAYMARK, 'convert', '--to', 'chrome', '-o', chrome, out])
    check(status == 0, 'chrome: %s', err)
    events = [e for e in json.loads(slurp(chrome))['traceEvents'] if e['ph'] != 'M']
    check({(e['pid'], e['tid']) for e in events} == {(3656, 3656), (3658, 3658)}, 'threads: %s', events)
    out, _ = imported(case, 'perf', [sample(case, 'perf.txt')])
    status, _, err = read(case, [WAYMARK, 'convert', '--to', 'chrome', '-o', chrome, out])
    names = {(e['pid'], e['tid']): e['args']['name'] for e in json.loads(slurp(chrome))['traceEvents']
             if e['ph'] == 'M'}
    check(names.get((7683, 7690)) == 'Web Content', 'names: %s', names)


def readable(case, form, data, lines=None):
    """Any input becomes a trace that readers open. If `lines` is given, it has as many records."""
    out, said = imported(case, form, ['-'], stdin=data)
    status, records, err = read(case, [WAYMARK, 'view', '--json', out])
    check(status == 0 and not err, '%s of %r: %s', form, data[-200:], err[:500])
    check(lines is None or len(records) == lines, '%s of %r: %d records, %s lines', form, data[-200:], len(records),
          lines)
    return out, said


@limit(300)
def unparsable_log_lines_are_imported_as_text(case):
    """Lines that are not understood are kept with their full text; long lines are split."""
    for form in ('syslog', 'dmesg', 'perf', 'strace'):
        lines = [
            ''.join(chr(case.random.randrange(33, 127)) for _ in range(case.random.randrange(1, 90)))
            for _ in range(300)
        ]
        out, said = readable(case, form, '\n'.join(lines).encode(), 300)
        texts = [r['fields']['text'] for r in records_of(case, out) if r['event'] == form + ':line']
        check(texts == lines and '300 lines were not understood' in said, '%s: wrong lines: %s', form, said)
        data = bytes(case.random.randrange(256) for _ in range(20000))
        out, _ = readable(case, form, data)
        check(
            subprocess.run(['babeltrace2', out], capture_output=True, check=False).returncode == 0
            if shutil.which('babeltrace2') else True, '%s: babeltrace2', form)
        long = 'x' * ((5 << 19) + 17)
        out, _ = readable(case, form, ('a\n' + long + '\nb').encode(), 5)
        check(''.join(r['fields']['text'] for r in records_of(case, out)) == 'a' + long + 'b',
              '%s: a long line has changed', form)
        out, _ = readable(case, form, b'a\0b\0\n\0', 2)
        check([r['fields']['text'] for r in records_of(case, out)] == ['a\u2400b\u2400', '\u2400'], '%s: NULs', form)
        out, _ = readable(case, form, b'a\r\n \r\n\t\n\nb\r\n', 2)


@limit(300)
def truncated_log_keeps_complete_lines(case):
    """Each sample, cut at each length: complete lines have the same records as before."""
    for name, form, options, told, _ in LOGS:
        if options or 'year' in told or name == 'strace-tt.txt':
            continue
        text = slurp(os.path.join(SAMPLES, name))
        data = text.encode()
        lengths = range(len(data)) if rounds(100) == 100 else case.random.sample(range(len(data)),
                                                                                 4 if 'sanitize' in FEATURES else 20)
        for length in lengths:
            part = data[:length]
            known = form in ('syslog', 'dmesg')
            out, _ = readable(case, form, part,
                              sum(1 for line in part.split(b'\n') if line.strip(b' \t\r')) if known else None)
            if known:
                whole = logs.expect(form, part[:part.rfind(b'\n') + 1].decode(), **told)
                got = sorted(key(parts(r)) for r in records_of(case, out))
                check(all(key(one) in got for one in whole), '%s, cut at %d: complete lines have changed', name,
                      length)


def log_with_a_changed_byte_is_imported(case):
    for name, form, options, _, _ in LOGS:
        data = slurp(os.path.join(SAMPLES, name)).encode()
        for _ in range(rounds(60)):
            at = case.random.randrange(len(data))
            readable(case, form, data[:at] + bytes([case.random.randrange(256)]) + data[at + 1:])


@limit(300)
def log_lines_out_of_order_are_sorted_by_time(case):
    """
    Lines slightly out of order are sorted. Two swapped halves, each longer than the sort window, keep their times.
    """
    count = 70000
    later, earlier = ([base + 10 * n + case.random.randrange(2000) for n in range(count)] for base in (10000000000, 0))
    lines = ''.join('[%5d.%06d] %d\n' % (us // 1000000, us % 1000000, us) for us in later + earlier)
    out, said = imported(case, 'dmesg', ['-'], stdin=lines.encode())
    check('out of order' not in said, 'records have wrong times: %s', said)
    status, shown, err = read(case, [WAYMARK, 'view', '--json', out])
    check(status == 0 and len(shown) == 2 * count, '%d records: %s', len(shown), err)
    times, texts = [], []
    for line in shown:
        record = json.loads(line)
        times.append(int(record['time'].replace('.', '')) // 1000)
        texts.append(int(record['fields']['message']))
    check(times == texts == sorted(later + earlier), 'wrong times')


def log_lines_beyond_the_sort_window_are_reported(case):
    """A reversed log longer than the sort window: the last lines cannot keep their times, and a message reports it."""
    count, kept = 70000, 65536
    lines = ''.join('[%5d.000000] %d\n' % (n, n) for n in range(count, 0, -1))
    out, said = imported(case, 'dmesg', ['-'], stdin=lines.encode())
    late = int(said.split(' records out of order')[0].split()[-1])
    times = [(parts(r)[0], int(r['fields']['message']) * 1000000000) for r in records_of(case, out)]
    others = [pair for pair in times if pair[0] != pair[1]]
    check(
        len(times) == count and times == sorted(times, key=lambda pair: pair[0]), '%d records, or not in order',
        len(times))
    check(
        len(others) == late and 0 < late <= count - kept and all(shown > own for shown, own in others),
        '%d reported as late, %d have a wrong time', late, len(others))
    status, _, err = read(case, ['babeltrace2', out]) if shutil.which('babeltrace2') else (0, [], b'')
    check(status == 0 and not err, 'babeltrace2: %s', err)


def strace_call_longer_than_the_sort_window_is_imported(case):
    """A call that ends after more lines than the sort window: both halves are recorded."""
    begin = '7 1795336891.000000 read(3,  <unfinished ...>\n'
    many = ['8 1795336892.%06d getppid() = 1\n' % n for n in range(66000)]
    out, _ = imported(case, 'strace', ['-'],
                      stdin=(begin + ''.join(many) + '7 1795336899.000000 <... read resumed>"a", 1) = 1\n').encode())
    _, lines, _ = read(case, [WAYMARK, 'view', '--json', '--filter', '$event != "strace:call"', out])
    got = [parts(json.loads(line)) for line in lines]
    check([(g[1], g[3]) for g in got] == [('strace:unfinished', {'name': 'read', 'args': '3,'}),
                                          ('strace:resumed', {'name': 'read', 'args': '"a", 1', 'ret': 1})],
          'halves: %s', got)
    out, _ = imported(
        case, 'strace', ['-'],
        stdin=(begin + ''.join(many[:6000]) + '7 1795336899.000000 <... read resumed>"a", 1) = 1\n').encode())
    first = parts(records_of(case, out)[0])
    check(
        first == (1795336891000000000, 'strace:call', {'vtid': 7},
                  {'name': 'read', 'args': '3, "a", 1', 'ret': 1, 'duration_ns': 8000000000}), 'the complete call: %s',
        first)


def records_beyond_the_event_name_limit_become_text_lines(case):
    """Event names beyond the limit: their records become lines."""
    lines = ''.join('a 1 [000] %d.000000: p:event%d: k%d=%d\n' % (n, n, n, n) for n in range(5000))
    out, said = imported(case, 'perf', ['-'], stdin=lines.encode())
    names = [r['event'] for r in records_of(case, out)]
    check(
        len(names) == 5000 and names[0] == 'p:event0' and names.count('perf:line') > 0 and 'not understood' in said,
        '%d records, %d lines: %s', len(names), names.count('perf:line'), said)
    babeltrace2(case, out)


def split_strace_lines_are_joined(case):
    """strace reports a new process in the middle of a line."""
    out, said = imported(case, 'strace', [sample(case, 'strace-split.txt')])
    got = [parts(r) for r in records_of(case, out)]
    second = 1795336891000000000
    notes = [g[3]['message'].split()[2] for g in got if g[1] == 'strace:note']
    check(sorted(notes) == ['10475', '10476', '10477', '10478', '25948', '25949'], 'notes: %s', notes)
    calls = [(g[0] - second, g[2].get('vtid'), g[3]['name'], g[3]['args'], g[3]['ret']) for g in got
             if g[1] == 'strace:call']
    check(
        calls == [
            (1000, None, 'pipe2', '[3, 4], 0', 0),
            (2000, None, 'clone',
             'child_stack=NULL, flags=CLONE_CHILD_CLEARTID|CLONE_CHILD_SETTID|SIGCHLD, child_tidptr=0x7fee5a115a10',
             25948), (3000, 25947, 'close', '4', 0),
            (4000, 25948, 'newfstatat', 'AT_FDCWD, "/usr/bin/sleep", 0x7ffcb9d346b0, 0', -1),
            (5000, 25947, 'vfork', '', 10476), (6000, 25948, 'getpid', '', 25948), (9000, 25948, 'getpid', '', 25948)
        ], 'calls: %s', calls)
    lines = [g[3]['text'] for g in got if g[1] == 'strace:line']
    check(
        lines == ['[pid 25947] 1795336891.000008 write(1, "abc", ', '[pid 25947] 1795336891.000010 getuid(']
        and '2 lines' in said, 'lines: %s: %s', lines, said)


@limit(60)
def progress_of_convert_is_shown_on_a_terminal(case):
    """
    A terminal shows the progress of a log that is still being written, and of a trace with its records written to a
    file and not to the terminal.
    """
    ours, theirs = os.openpty()
    log, written = case.path('log'), 0
    os.mkfifo(log)
    child = subprocess.Popen([WAYMARK, 'convert', '--from', 'dmesg', '-o',
                              case.path('made'), log], env=case.env, stdin=subprocess.DEVNULL, stdout=theirs,
                             stderr=theirs)
    shown = b''
    os.set_blocking(ours, False)
    with open(log, 'wb') as file:
        while b' records\033[K' not in shown:
            file.write(b''.join(b'[%5d.%06d] line %d\n' % (n // 1000000, n % 1000000, n)
                                for n in range(written, written + 1000)))
            written += 1000
            with contextlib.suppress(BlockingIOError):
                shown += os.read(ours, 65536)
    check(re.search(rb'\r\d+ MB, \d+ records\033\[K', shown), 'a log: %s', shown[-300:])
    check(awaited(child) == 0, 'the log: %s', shown[-300:])
    output = case.path('output')
    os.mkfifo(output)
    child = subprocess.Popen([WAYMARK, 'convert', '--to', 'text', '-o', output,
                              case.path('made')], env=case.env, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs)
    with open(output, 'rb') as file:
        file.read(1)
        begun = time.monotonic()
        while time.monotonic() < begun + 1.1:      # no progress is printed in the first second
            select.select([], [], [], 0.1)
        lines = sum(line.endswith(b'\n') for line in file)
    check(awaited(child) == 0 and lines == written, '%d lines of %d', lines, written)
    os.close(theirs)
    shown = b''
    with contextlib.suppress(OSError):
        while piece := os.read(ours, 65536):
            shown += piece
    os.close(ours)
    check(
        re.search(rb'\r *\d+ % of \d+ MB, \d+ records\033\[K', shown) and shown.endswith(b'\r\033[K'), 'a trace: %s',
        shown[-300:])


def strace_output_is_imported(case):
    need('strace')
    path = case.path('strace.out')
    script = 'ls /nonexistent; (sleep 0.01; kill -TERM $$) & cat /proc/self/status >/dev/null; wait'
    done = subprocess.run(['strace', '-f', '-ttt', '-T', '-o', path, 'sh', '-c', script], capture_output=True,
                          check=False)
    if not os.path.exists(path) or not os.path.getsize(path):
        raise Skip('strace is not permitted to trace: %s' % done.stderr.decode()[-200:])
    out, said = imported(case, 'strace', [path])
    check('not understood' not in said, 'lines of strace: %s', said)
    compare(case, out, logs.expect('strace', slurp(path)))
    # On a terminal strace names threads only while there are several: calls are complete all the same.
    done = subprocess.run(
        ['strace', '-f', '-ttt', 'sh', '-c', '(sleep 0.02; cat /proc/self/stat) | cat >/dev/null; sleep 0.01 & wait'],
        capture_output=True, check=False)
    out, said = imported(case, 'strace', ['-'], stdin=done.stderr)
    halves = [r for r in records_of(case, out) if r['event'] in ('strace:resumed', 'strace:unfinished')]
    check(not halves and 'not understood' not in said, 'halves of calls: %s: %s', halves, said)
    for options in (['-tt'], ['-r'], ['-t', '-y'], ['-f', '-tt', '-Y', '-yy'], ['-k', '-ttt'], ['-i', '-ttt', '-n']):
        done = subprocess.run(['strace', *options, '-o', path, 'sh', '-c', script], capture_output=True, check=False)
        if b'invalid option' in done.stderr or b'not supported' in done.stderr or not os.path.getsize(path):
            continue
        out, said = imported(case, 'strace', [path])
        check('not understood' not in said, 'strace %s: %s', options, said)


def dmesg_output_is_imported(case):
    need('dmesg')
    for options in ([], ['-x'], ['-r'], ['-d'], ['-T'], ['--time-format', 'iso']):
        done = subprocess.run(['dmesg', *options], env=dict(case.env, TZ='UTC', LC_ALL='C'), capture_output=True,
                              check=False)
        if done.returncode or not done.stdout.strip():
            raise Skip('dmesg prints nothing here')
        text = done.stdout.decode(errors='replace')
        out, _ = imported(case, 'dmesg', ['-'], stdin=text.encode())
        if not options or options[0] in ('-x', '-r', '-T'):
            compare(case, out, logs.expect('dmesg', text))
        records = records_of(case, out)
        lines = [r['fields']['text'] for r in records if r['event'] == 'dmesg:line']
        check(not [line for line in lines if line.startswith(('[', '<', '20', 'kern'))], 'dmesg %s: %s', options, lines)


def perf_output_is_imported(case):
    need('perf')
    data = case.path('perf.data')
    done = subprocess.run([
        'perf', 'record', '-q', '-g', '-e', 'cpu-clock', '-o', data, 'sh', '-c',
        'i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done'
    ], capture_output=True, check=False)
    if done.returncode:
        raise Skip('perf is not permitted to record: %s' % done.stderr.decode()[-200:])
    for options in ([], ['-G'], ['-F', '+pid'], ['-F', 'comm,pid,tid,time,period,event,ip,sym,dso', '-G']):
        text = subprocess.run(['perf', 'script', '-i', data, *options], capture_output=True,
                              check=True).stdout.decode(errors='replace')
        out, said = imported(case, 'perf', ['-'], stdin=text.encode())
        check('not understood' not in said, 'perf script %s: %s', options, said)
        compare(case, out, logs.expect('perf', text))


def journal_output_is_imported(case):
    need('journalctl')
    for style in ('short', 'short-precise', 'short-iso', 'short-iso-precise', 'short-full', 'short-unix',
                  'short-monotonic'):
        done = subprocess.run(['journalctl', '-q', '-n', '50', '--no-pager', '-o', style],
                              env=dict(case.env, TZ='UTC', LC_ALL='C'), capture_output=True, check=False)
        if done.returncode or not done.stdout.strip():
            raise Skip('there is no journal here')
        out, _ = imported(case, 'syslog', ['-'], stdin=done.stdout)
        check(any(r['event'] == 'syslog:message' for r in records_of(case, out)), 'journalctl -o %s: no message', style)


def planted_wrong_imported_records_are_detected(case):
    """The comparison of this file fails for wrong records."""
    path = sample(case, 'dmesg.txt')
    out, _ = imported(case, 'dmesg', [path])
    wanted = logs.expect('dmesg', slurp(path))
    wrong = wanted[3][:3] + ({**wanted[3][3], 'message': 'another'},)
    for expected in (wanted[:-1], wanted + wanted[:1], wanted[:3] + [wrong] + wanted[4:]):
        try:
            compare(case, out, expected)
        except traces.Failure:
            continue
        check(False, 'a wrong record was not found')


if __name__ == '__main__':
    main([
        sample_logs_are_imported, local_times_follow_the_time_zone, several_logs_are_imported_into_one_trace,
        import_mistakes_are_reported, import_selects_by_time_and_filter, import_is_merged_with_a_trace_by_time,
        imported_records_keep_their_thread_ids, unparsable_log_lines_are_imported_as_text,
        truncated_log_keeps_complete_lines, log_with_a_changed_byte_is_imported,
        log_lines_out_of_order_are_sorted_by_time, log_lines_beyond_the_sort_window_are_reported,
        strace_call_longer_than_the_sort_window_is_imported, records_beyond_the_event_name_limit_become_text_lines,
        split_strace_lines_are_joined, progress_of_convert_is_shown_on_a_terminal, strace_output_is_imported,
        dmesg_output_is_imported, perf_output_is_imported, journal_output_is_imported,
        planted_wrong_imported_records_are_detected
    ])
