#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
`waymark view` of Common Trace Format 1.8: the lines equal those of babeltrace2, also for unusual and damaged traces
(tests/lib/corpus18.py).
"""
import contextlib
import json
import os
import shutil
import re
import resource
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
import corpus18  # noqa: E402
import traces  # noqa: E402
from corpus18_bad import ANY  # noqa: E402
from ctf18 import integers, save  # noqa: E402
from harness import FEATURES, PERCENT, VIEW, WAYMARK, awaited, check, finished, main, need, rounds  # noqa: E402

DELTA = re.compile(rb'^(\[[^]]*\]) \(\+[^)]*\)')
LOST = re.compile(rb'(?:discarded|lost) (?:(\d+) )?(event|packet)')
# Messages of babeltrace2 2.0 about fields that it does not show.
LEFT_OUT = re.compile(r'User field found in (?:packet|event) header: ignoring|"callsite" blocks are not supported')
# A reader that needs more memory for a trace of a few pages has trusted a wrong length. (Sanitizers need terabytes of
# addresses.)
MEMORY, OUTPUT = 2 << 30, 256 << 20
HANGS_S = 60
BROKEN = (b'Sanitizer', b'runtime error:', b'Assertion')


@contextlib.contextmanager
def bounded():
    """
    Limits for processes started meanwhile. (A limit for each child would fork all of Python, which takes longer than
    the child's work.)
    """
    limits = {resource.RLIMIT_FSIZE: OUTPUT}
    if 'sanitize' not in FEATURES:
        limits[resource.RLIMIT_AS] = MEMORY
    before = {of: resource.getrlimit(of) for of in limits}
    for of, most in limits.items():
        resource.setrlimit(of, (most, before[of][1]))
    try:
        yield
    finally:
        for of, both in before.items():
            resource.setrlimit(of, both)


def read(case, argv):
    """(status, lines, stderr) of a reader."""
    env = dict(case.env, TZ='UTC', LC_ALL='C.UTF-8')
    # files and not pipes: the output may be endless
    with open(case.path('stdout'), 'w+b') as out, open(case.path('stderr'), 'w+b') as err:
        with bounded():
            status = finished(argv, HANGS_S, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=err).returncode
        out.seek(0)
        err.seek(0)
        return status, out.read().splitlines(), err.read()


def view(case, path, statuses=(0, 1)):
    status, lines, err = read(case, [WAYMARK, *VIEW, path])
    shown = err[-800:].decode(errors='replace')
    check(status in statuses, 'waymark view %s ended with status %s, not %s: %s', path, status,
          ' or '.join(map(str, statuses)), shown)
    check(not any(words in err for words in BROKEN), 'waymark view %s: %s', path, shown)
    check(status == 0 or err.strip(), 'waymark view %s ended with status 1 and without a message', path)
    return status, lines, err


def beside_losses(err):
    """The messages of a reader, except for those about lost records."""
    return [line for line in err.decode(errors='replace').splitlines() if line.strip() and not traces.LOSS.search(line)]


def babeltrace2(case, path):
    """The lines that it prints; it may report lost records only."""
    need('babeltrace2')
    status, lines, err = read(case, ['babeltrace2', path])
    strange = [line for line in beside_losses(err) if not LEFT_OUT.search(line)]
    check(status == 0 and not strange, 'the trace %s is not correct: babeltrace2 ended with status %s: %s', path,
          status, '\n'.join(strange)[:800])
    return lines, err


def same(path, ours, theirs, who='babeltrace2'):
    """Fails at the first line that differs."""
    for number in range(max(len(ours), len(theirs))):
        pair = [
            lines[number].decode(errors='backslashreplace') if number < len(lines) else 'nothing'
            for lines in (ours, theirs)
        ]
        check(pair[0] == pair[1], '%s, line %d:\nwaymark view: %s\n%s: %s', path, number + 1, pair[0], who, pair[1])


def losses(err):
    """[(number, object)] of the losses that a reader reports; 0 if it does not know the number."""
    return sorted((int(count or 0), what) for count, what in LOST.findall(err))


def without_delta(lines):
    """The time since the previous line changes when lines are missing."""
    return [DELTA.sub(rb'\1', line) for line in lines]


def good_case(trace):
    def run(case):
        path = case.path(trace.name)
        trace.make(path)
        if trace.expected is None:
            theirs, their_err = babeltrace2(case, path)
        else:
            theirs, their_err = [line.encode() for line in trace.expected], b''
        _, ours, err = view(case, path, (0,))
        same(path, ours, theirs, 'expected' if trace.expected is not None else 'babeltrace2')
        strange = beside_losses(err)
        check(not strange, '%s: unexpected messages: %s', path, '\n'.join(strange)[:800])
        check(
            losses(err) == losses(their_err), '%s: reported losses: %s, by babeltrace2: %s', path, losses(err),
            losses(their_err))
    run.__name__ = 'good_' + trace.name
    return run


def lines_of(case, make, name):
    """The lines of babeltrace2 for a correct trace, without the deltas."""
    if make is None:
        return []
    path = case.path(name)
    make(path)
    return without_delta(babeltrace2(case, path)[0])


def missing(wanted, lines):
    """The first wanted line that is not among the others, in this order; or None."""
    rest = iter(lines)
    return next((line for line in wanted if line not in rest), None)


def bad_case(trace):
    def run(case):
        path = case.path(trace.name)
        trace.make(path)
        _, lines, err = view(case, path, (1,))
        text = err.decode(errors='replace')
        for word in trace.words:
            check(word.lower() in text.lower(), '%s: "%s" is not in the messages: %s', path, word, text[-800:])
        lines = without_delta(lines)
        gone = missing(lines_of(case, trace.rest, 'rest'), lines)
        check(gone is None, '%s: this record is not damaged, and is missing: %s', path, gone)
        possible = set(lines if trace.whole == ANY else lines_of(case, trace.whole, 'whole'))
        for line in lines:
            check(line in possible, '%s: this record is not in the trace: %s', path, line)
    run.__name__ = 'bad_' + trace.name
    return run


def alike(text, value):
    """Whether a value in a line of text equals that of a JSON object."""
    if isinstance(text, bool) or isinstance(value, bool):
        return False                                    # CTF 1.8 has no booleans
    if isinstance(text, tuple):
        label = value['label']
        return text[1] == value['value'] and (label in text[0] if label is not None else text[0] == ('<unknown>',))
    if isinstance(text, dict):
        return list(text) == list(value) and all(alike(text[key], value[key]) for key in text)
    if isinstance(text, list):
        return isinstance(value, list) and len(text) == len(value) and all(map(alike, text, value))
    if isinstance(text, str) and isinstance(value, str):
        return text.encode().decode('unicode_escape').encode(
            'latin-1').decode() == value if '\\' in text else text == value
    if isinstance(value, float):
        return isinstance(text, (int, float)) and abs(text - value) <= 1e-5 * abs(value)
    if isinstance(value, str):
        return {'nan': 'NaN', '-nan': 'NaN', 'inf': 'Infinity', '-inf': '-Infinity'}.get(str(text)) == value
    return isinstance(text, int) and (text - value) % (1 << 64) == 0


def json_output_has_the_records_of_text_output(case):
    """
    The JSON output has the same records, each an object that a parser accepts. For a program with fields of each type,
    it has the same values.
    """
    for trace in corpus18.GOOD if PERCENT >= 100 else case.random.sample(corpus18.GOOD, 40):
        path = case.path(trace.name)
        trace.make(path)
        lines = read(case, [WAYMARK, *VIEW, '--clock-seconds', '--no-delta', path])[1]
        status, got, err = read(case, [WAYMARK, 'view', '--json', path])
        check(status == 0 and len(got) == len(lines), '%s: %d objects, %d lines: %s', path, len(got), len(lines),
              err[-300:].decode())
        for line, text in zip(got, lines):
            record = json.loads(line.decode())
            time = record.get('time')
            check(time is None or text.startswith(b'[' + time.encode() + b'] '), '%s: %s\n%s', path, text, line)
    result = case.record([case.program('types')]).ok()
    lines = read(case, [WAYMARK, *VIEW, '--no-delta', result.directory])[1]
    got = read(case, [WAYMARK, 'view', '--json', result.directory])[1]
    check(len(got) == len(lines) > 10, '%d objects, %d lines', len(got), len(lines))
    for line, text in zip(got, lines):
        record, text, groups = json.loads(line.decode()), text.decode(), []
        head = ': "%s", {' % record['message'] if 'message' in record else ': {'
        at = text.index(head) + len(head) - 1
        while at < len(text):
            group, at = traces.group_of(text, at)
            groups.append(group)
            at += 2
        check(alike(groups[-1], record['fields']), 'different values:\n%s\n%s', text, line.decode())
        check(alike(groups[0], record['packet']), 'different values:\n%s\n%s', text, line.decode())


def plain(value):
    """A value of --json in the form of tests/programs/reader.c: enumerations are numbers."""
    if isinstance(value, dict):
        return value['value'] if list(value) == ['label', 'value'] else {key: plain(v) for key, v in value.items()}
    return [plain(v) for v in value] if isinstance(value, list) else value


def reader_library_returns_the_values_of_json_output(case):
    """libwaymark-ctf gives the values of --json: in order, by name, and from any time on."""
    path, inside, _, times = recording_of_many_packets(case)
    types = case.record([case.program('types')], ['-c', 'vpid', '-c', 'procname']).ok().directory
    some_time = times[case.random.randrange(len(times))]
    for directory, seek in ((types, None), (path, None), (path, some_time), (path, times[0]), (path, times[-1] + 1)):
        wanted = [json.loads(line) for line in part_json(case, directory, seek)]
        status, lines, err = read(case, [case.program('reader'), directory] + ([str(seek)] if seek else []))
        check(status == 0 and len(lines) == len(wanted), '%s: status %d, %d records, not %d: %s', directory, status,
              len(lines), len(wanted), err[-500:].decode())
        for line, want in zip(lines, wanted):
            got = json.loads(line)
            packet, context, event_context, fields = got['scopes']
            check(
                seconds(got['time']) == want['time'] and got['event'] == want['event']
                and got['stream'] == want['stream'] and got['level'] == want.get('level', -1),
                'different values: %s\n%s', want, got)
            check((context, event_context, fields) == (want.get('context'), want.get('event_context'),
                                                       plain(want['fields'])), 'different values: %s\n%s', want, got)
            check(packet['cpu_id'] == want['packet']['cpu_id'], 'different values: %s\n%s', want, got)
    for directory, expression in ((path, 'seq % 3 == 1'), (path, 'seq > 5 && $ctx.cpu_id >= 0'),
                                  (types, '$event == "*s*" && $ctx.vpid > 1'), (types, 'u16 >= 0')):
        wanted = [line for line in read(case, [WAYMARK, 'view', '--json', '-F', expression, directory])[1]]
        status, lines, err = read(case, [case.program('reader'), directory, '0', expression])
        check(status == 0 and 0 < len(lines) == len(wanted), '%s: status %d, %d records, not %d: %s', expression,
              status, len(lines), len(wanted), err[-500:].decode())
        check([json.loads(line)['event'] for line in lines] == [json.loads(line)['event'] for line in wanted],
              '%s: wrong records', expression)
    status, _, err = read(case, [case.program('reader'), case.directory + '/nothing'])
    check(status == 1 and b'nothing' in err, 'status %d, %s', status, err.decode())


def part_json(case, path, begin=None):
    return read(case, [WAYMARK, 'view', '--json', *(['--begin', seconds(begin)] if begin else []), path])[1]


def recording_of_many_packets(case):
    """A recording of many packets: (its directory, that of its streams, its lines, their times in ns)."""
    result = case.record([case.program('busy'), 'paced', '2', '3000', '100'],
                         ['--subbuf-size', '4k', '--num-subbuf', '64']).ok()
    inside = next(top for top, _, files in os.walk(result.directory) if 'metadata' in files)
    check(len(os.listdir(os.path.join(inside, 'index'))) >= 1, 'no index in %s', inside)
    lines = part(case, result.directory)[1]
    times = [int(line[1:line.index(b']')].replace(b'.', b'')) for line in lines]
    check(times == sorted(times) and len(times) > 6000, '%d records', len(times))
    return result.directory, inside, lines, times


def part(case, path, *options):
    return read(case, [WAYMARK, *VIEW, '--clock-seconds', '--no-delta', *options, path])


def seconds(ns):
    return '%d.%09d' % (ns // 1000000000, ns % 1000000000)


def time_options_select_records(case):
    """
    --begin and --end select the same records as a choice line by line: with a correct index, without one, with one that
    leads too far or elsewhere.
    """
    path, inside, lines, times = recording_of_many_packets(case)
    led, true = 0, {}
    for index in ('right', 'misleading', 'wrong', 'none'):
        for _ in range(max(5, rounds(50))):
            first, last = sorted(case.random.sample(range(len(times)), 2))
            begin, end = times[first], times[last]
            status, got, err = part(case, path, '--begin', seconds(begin), '--end', seconds(end))
            wanted = [line for line, time in zip(lines, times) if begin <= time <= end]
            same('%s from %s to %s, index %s' % (path, seconds(begin), seconds(end), index), got, wanted, 'wanted')
            check(status == 0 or index in ('misleading', 'wrong'), '%s: status %d: %s', path, status,
                  err[-500:].decode())
            led += b'refers to byte' in err
        for name in os.listdir(os.path.join(inside, 'index')):
            file = os.path.join(inside, 'index', name)
            if index in ('right', 'misleading'):
                with open(file, 'r+b') as f:
                    data = bytearray(true.setdefault(file, f.read()))
                    for at in range(16 + 2 * 72, len(data) - 72, 72):
                        # each packet except the first two gets the offset of the next one
                        if index == 'misleading':
                            data[at:at + 8] = data[at + 72:at + 80]
                        elif case.random.random() < 0.5:    # the end time of some packets becomes their begin time
                            data[at + 32:at + 40] = data[at + 24:at + 32]
                    f.seek(0)
                    f.write(data)
            elif index == 'wrong':
                os.unlink(file)
    check(led, 'no reader followed the wrong index')
    for words, said in (('--begin=soon', 'invalid time'), ('--end=[12:00', 'invalid time')):
        status, _, err = part(case, path, words)
        check(status == 1 and said in err.decode(), '%s: status %d, %s', words, status, err.decode())
    status, got, _ = part(case, path, '--begin', seconds(times[-1] + 1))
    check(status == 0 and not got, 'records after the last one: %s', got[:3])


def packet_without_end_time_is_read(case):
    """
    The last packet and its index entry have the end time 0, as after a crash: the same records are found as without an
    index.
    """
    _, inside, _, _ = recording_of_many_packets(case)
    for n in range(2, 12):
        path, bare = case.path('packets_%d' % n), case.path('bare_%d' % n)
        shutil.copytree(inside, path, dirs_exist_ok=True)
        for name in os.listdir(os.path.join(path, 'index')):
            with open(os.path.join(path, 'index', name), 'r+b') as index, open(os.path.join(path, name[:-len('.idx')]),
                                                                               'r+b') as stream:
                last = index.read()[16 + 72 * (n - 1):][:72]
                if not last:
                    continue
                index.truncate(16 + 72 * n)
                offset, size, end = (int.from_bytes(last[at:at + 8], 'big') for at in (0, 8, 32))
                stream.truncate(offset + size // 8)
                stream.seek(offset + 40)         # docs/trace-format.md
                check(stream.read(8) == end.to_bytes(8, 'little'), 'the packet at %d does not end at %d', offset, end)
                stream.seek(offset + 40)
                stream.write(bytes(8))
                index.seek(16 + 72 * (n - 1) + 32)
                index.write(bytes(8))
        shutil.copytree(path, bare, dirs_exist_ok=True,
                        ignore=lambda directory, names: [name for name in names if name == 'index'])
        times = [line[1:line.index(b']')].decode() for line in part(case, bare)[1]]
        check(times, 'no records in %s', bare)
        for at in case.random.sample(range(len(times)), min(len(times), max(10, rounds(100)))):
            for options in ([], ['--end', times[min(at + 20, len(times) - 1)]]):
                options += ['--begin', times[at]]
                status, got, err = part(case, path, *options)
                same('%s %s' % (path, ' '.join(options)), got, part(case, bare, *options)[1], 'wanted')
                check(status == 0 and not err, 'status %d: %s', status, err[-500:].decode())


def packet_without_begin_time_continues_the_clock(case):
    """
    After packets that are skipped, or to which an index has led wrongly, short timestamps continue from the end of the
    previous packet.
    """
    tsdl = '''/* CTF 1.8 */
typealias integer { size = 8; } := u8; typealias integer { size = 64; align = 8; } := u64;
trace { major = 1; minor = 8; byte_order = le; };
clock { name = c; freq = 1000000000; }; typealias integer { size = 64; align = 8; map = clock.c.value; } := stamp;
stream { packet.context := struct { u64 content_size; u64 packet_size; stamp timestamp_end;
	enum : u8 { without = 0, timestamp_begin = 1 } has;
	variant <has> { struct { } without; stamp timestamp_begin; } v; };
	event.header := struct { integer { size = 8; map = clock.c.value; } timestamp; }; };
event { name = "e"; fields := struct { u8 n; }; };'''

    def packet(begin, *times):
        records = b''.join(bytes([time & 255, time // 10 & 255]) for time in times)
        size = 8 * (25 + (8 if begin is not None else 0) + len(records))
        return b''.join(n.to_bytes(8, 'little')
                        for n in (size, size, times[-1])) + (b'\0' if begin is None else b'\1' +
                                                             begin.to_bytes(8, 'little')) + records

    packets = [
        packet(1000, 1000, 1200, 1400, 1600),
        packet(None, 1650, 1700),
        packet(3000, 3000, 3100),
        packet(4000, 4000, 4200)
    ]
    wanted = [1000, 1200, 1400, 1600, 1650, 1700, 3000, 3100, 4000, 4200]
    index, at = (0xC1F1DCC1).to_bytes(4, 'big') + b''.join(n.to_bytes(4, 'big') for n in (1, 1, 72)), 0
    # The index gives the third packet, too, an end time that is too early. The reader follows it there, and the packet
    # contradicts it.
    led = 0
    for data, begin, end in zip(packets, (1000, 1600, 3000, 4000), (1600, 1601, 1602, 4200)):
        index += b''.join(
            n.to_bytes(8, 'big') for n in (at, 8 * len(data), 8 * len(data), begin, end, 0, 0, 0, (1 << 64) - 1))
        at += len(data)
    for name, files in (('plain', {}), ('index', {'index/stream.idx': index})):
        path = case.path(name)
        os.makedirs(os.path.join(path, 'index'))
        for file, data in dict(files, metadata=tsdl.encode(), stream=b''.join(packets)).items():
            with open(os.path.join(path, file), 'wb') as f:
                f.write(data)
        for begin in (0, 1601, 1640, 1660, 1701, 3050):
            _, lines, err = part(case, path, '--begin', seconds(begin))
            got = [int(line[1:line.index(b']')].replace(b'.', b'')) for line in lines]
            check(got == [time for time in wanted if time >= begin], '%s from %d: %s: %s', name, begin, got, err[-300:])
            led += b'refers to byte' in err
    check(led, 'no reader followed the index')


def nested_empty_arrays_are_read(case):
    """Empty arrays in an array count up to the same limit as others."""
    save(
        case.path('empty'),
        metadata='/* CTF 1.8 */\n' + integers() + 'trace { major = 1; minor = 8; byte_order = le; };\nstream { };\n'
        'event { name = "e"; fields := struct { uint8_t n; uint16_t m; struct { uint8_t x[n]; } y[m]; }; };\n',
        stream=b'\0' + (60000).to_bytes(2, 'little'))
    status, lines, err = read(case, [WAYMARK, *VIEW, case.path('empty')])
    check(status == 0 and len(lines) == 1 and lines[0].count(b'x = [ ]') == 60000, 'status %d, %d lines: %s', status,
          len(lines), err[-500:].decode())
    # Half a million elements that no filter uses, in each of 20000 records and in each of 20000 packets.
    none = 'struct { } a[65536], b[65536], c[65536], d[65000]; '
    for name, header, fields, stream in (('records', 'uint8_t none;', none + 'uint8_t x;', b'\0\0\0' + bytes(20000)),
                                         ('packets', none, 'uint8_t x;', b'\x18\x18\0' * 20000),
                                         ('contexts', '', 'uint8_t x;', b'\x18\x18\0' * 20000)):
        sizes = 'uint8_t m; uint8_t ' \
            'n;' if name == 'records' else 'uint8_t content_size; uint8_t packet_size;' + none * (
            name == 'contexts')
        save(
            case.path(name), metadata='/* CTF 1.8 */\n' + integers() +
            'trace { major = 1; minor = 8; byte_order = le; packet.header := struct { %s }; };\n'
            'stream { packet.context := struct { %s }; };\nevent { name = "e"; fields := struct { %s }; };\n' %
            (header, sizes, fields), stream=stream)
        for argv in (['view'], ['view', '--json'], ['convert', '--to',
                                                    'csv'], ['convert', '--to',
                                                             'chrome'])[:4 if name == 'contexts' else 1]:
            status, lines, err = read(case, [WAYMARK, *argv, '--filter', 'x == 1', case.path(name)])
            check(status == 0 and len(lines) <= 3 * (argv[0] == 'convert'), '%s, %s: status %d, %d lines: %s', name,
                  argv, status, len(lines), err[-500:].decode())


def view_reads_several_trace_paths(case):
    """Traces given one by one, with unusual forms of paths."""
    trace = next(t for t in corpus18.GOOD if t.name == 'several_traces')
    trace.make(case.path('all'))
    paths = [case.path('all') + name for name in ('/b/c/', '//a', '/b/../b/deep')]
    need('babeltrace2')
    theirs = read(case, ['babeltrace2', *paths])[1]
    status, ours, err = read(case, [WAYMARK, *VIEW, *paths])
    check(status == 0 and theirs, 'waymark view %s ended with status %d: %s', ' '.join(paths), status,
          err[-800:].decode(errors='replace'))
    same(' '.join(paths), ours, theirs)


def unrelated_clocks_are_reported_once(case):
    """Clocks without a known common origin are reported once, and their records are shown all the same."""
    text = '/* CTF 1.8 */\n' + integers() + '''trace { major = 1; minor = 8; byte_order = le; };\n%s
stream { event.header := struct { integer { size = 8; align = 8; map = clock.c.value; } timestamp; }; };
event { name = "e"; fields := struct { uint8_t n; }; };\n'''
    one, two = ('uuid = "%s";' % (digit * 8 + '-0000-0000-0000-000000000000') for digit in '12')
    clocks = {
        'plain': '', 'again': '', 'absolute': 'absolute = TRUE;', 'absolute_too': 'absolute = TRUE; ' + two, 'one': one,
        'one_too': one, 'two': two
    }
    for name, more in clocks.items():
        save(
            case.path('of') + '/' + name, metadata=text % ('clock { name = c; freq = 1000; %s };' % more),
            stream=bytes([3, 1, 5, 2]))
    for name, tracer in (('lttng', 'lttng-modules'), ('lttng_too', 'lttng-ust')):
        save(
            case.path('of') + '/' + name, metadata=text % ('clock { name = c; %s };\nenv { tracer_name = "%s"; };' %
                                                           (one if name == 'lttng' else two, tracer)), stream=b'\5\1')
    for apart, names in ((True, 'plain again'), (True, 'absolute plain'), (True, 'one two'),
                         (True, 'absolute absolute_too one'), (False, 'absolute absolute_too'), (False, 'one one_too'),
                         (False, 'absolute_too two absolute'), (False, 'plain'), (False, 'lttng lttng_too'),
                         (False, 'absolute lttng')):
        paths = ['%s/%s' % (case.path('of'), name) for name in names.split()]
        for command in ([*VIEW], ['convert', '--to', 'json', '-o', case.path('out')]):
            status, lines, err = read(case, [WAYMARK, *command, *paths])
            told = err.decode().count("cannot relate the clock 'c' of '%s'" % paths[0])
            check(status == 0 and told == apart, '%s, %s: status %d, reported %d times: %s', names, command, status,
                  told, err.decode())
            check(command != [*VIEW] or len(lines) == sum(1 if 'lttng' in path else 2 for path in paths),
                  '%s: %d lines', names, len(lines))


def at_a_terminal(case, argv, **env):
    """(status, output on the terminal) of a command with its output on a terminal."""
    ours, theirs = os.openpty()
    child = subprocess.Popen(argv, env=dict(case.env, TZ='UTC', LC_ALL='C.UTF-8', TERM='xterm', **env),
                             stdin=subprocess.DEVNULL, stdout=theirs, stderr=subprocess.STDOUT)
    os.close(theirs)
    shown = b''
    with contextlib.suppress(OSError):                  # the end of a terminal
        while piece := os.read(ours, 65536):
            shown += piece
    os.close(ours)
    return awaited(child, HANGS_S), shown.replace(b'\r\n', b'\n')


def terminal_output_equals_plain_output(case):
    """With a pager and colours: without the colours the output equals that of a file."""
    path, paged = case.path('tiny'), case.path('paged')
    corpus18.Tiny().write(path)
    plain = b'\n'.join(view(case, path, (0,))[1]) + b'\n'
    pager = {'WAYMARK_PAGER': 'cat > ' + paged}
    for options, env, colours in (([], pager, True), ([], dict(pager, NO_COLOR='1'), False),
                                  (['--color=never'], pager, False), ([], {'PAGER': 'cat > ' + paged}, True)):
        status, shown = at_a_terminal(case, [WAYMARK, *VIEW, *options, path], **env)
        with open(paged, 'rb') as f:
            got = f.read()
        os.unlink(paged)
        check(status == 0 and shown == b'', '%s: status %d, %s', env, status, shown[:300])
        check(re.sub(rb'\033\[\d+m', b'', got) == plain, '%s: %s', env, got[:300])
        check((b'\033[1m' in got) == colours, '%s: %s', env, got[:300])
    for options, env in ((['--no-pager'], pager), ([], {'WAYMARK_PAGER': ''}), ([], {'PAGER': 'cat'})):
        status, shown = at_a_terminal(case, [WAYMARK, *VIEW, '--color=never', *options, path], **env)
        check(status == 0 and shown == plain and not os.path.exists(paged), '%s: status %d, %s', env, status,
              shown[:300])
    status, lines, _ = read(case, ['env', 'WAYMARK_PAGER=' + pager['WAYMARK_PAGER'], WAYMARK, *VIEW, path])
    check(status == 0 and b'\n'.join(lines) + b'\n' == plain and not os.path.exists(paged),
          'a pager was started without a terminal')
    status, lines, _ = read(case, [WAYMARK, *VIEW, '--color=always', path])
    check(status == 0 and b'\033[36m' in lines[0], 'no colours: %s', lines[:1])
    # Losses are reported at their place between the records.
    lossy = case.path('lossy')
    next(t for t in corpus18.GOOD if t.name == 'counters_discarded').make(lossy)
    status, shown = at_a_terminal(case, [WAYMARK, *VIEW, '--color=never', lossy], **pager)
    with open(paged, 'rb') as f:
        got = f.read().splitlines()
    told = [i for i, line in enumerate(got) if line.startswith(b'waymark: ')]
    check(status == 0 and shown == b'' and told == [6, 13], 'losses: status %d, %s, %s', status, shown[:300], got)
    many = recording_of_many_packets(case)[0]
    status, shown = at_a_terminal(case, [WAYMARK, *VIEW, '--color=never', many], WAYMARK_PAGER='head -n 1')
    check(status == 0 and shown.count(b'\n') == 1, 'the pager ended early: status %d, %s', status, shown[-300:])


def names_of_corpus_traces_are_unique(case):
    names = [trace.name for trace in corpus18.GOOD] + ['bad ' + trace.name for trace in corpus18.BAD]
    check(len(names) == len(set(names)), 'duplicate names: %s', {name for name in names if names.count(name) > 1})


def planted_missing_record_is_detected_by_the_checks(case):
    """The checks of this file fail for wrong input."""
    check(
        missing([b'a', b'b'], [b'a', b'x', b'b']) is None and missing([b'a', b'b'], [b'b', b'a']) == b'b',
        'missing() ignores the order')
    check(
        without_delta([b'[00:00:01.000000000] (+0.000000005) e: { }']) == [b'[00:00:01.000000000] e: { }'],
        'without_delta() left a delta')
    trace = corpus18.Tiny()
    check(
        trace.untouched(trace.begins[1] + 4) == trace.before(trace.begins[1]) == 3,
        'untouched() is wrong for a packet\'s header')
    check(
        trace.before(trace.ends[0]) == 1 and trace.before(trace.ends[0] - 1) == 0,
        'before() is wrong at the end of a record')


if __name__ == '__main__':
    main([names_of_corpus_traces_are_unique,
          planted_missing_record_is_detected_by_the_checks] + [good_case(t) for t in corpus18.GOOD] +
         [bad_case(t) for t in corpus18.BAD] + [
             terminal_output_equals_plain_output, view_reads_several_trace_paths, unrelated_clocks_are_reported_once,
             json_output_has_the_records_of_text_output, reader_library_returns_the_values_of_json_output,
             time_options_select_records, packet_without_end_time_is_read,
             packet_without_begin_time_continues_the_clock, nested_empty_arrays_are_read
         ])
