#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`waymark convert`: an independent parser reads each format back and finds the values of `waymark view --json`."""
import csv
import io
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
import corpus18  # noqa: E402
import perfetto  # noqa: E402
from ctf18 import save  # noqa: E402
from harness import PERCENT, VIEW, WAYMARK, check, limit, main, need  # noqa: E402
from t_filter import NO_NUMBERS, is_enum, records_of  # noqa: E402
from t_view import read  # noqa: E402

csv.field_size_limit(1 << 30)
PREFIXES = (('packet', 'packet.'), ('context', 'context.'), ('event_context', 'event_context.'), ('fields', ''))


def drawn_name(record):
    return record.get('message') or record.get('event') or 'event'


def converted(case, form, path, *options, status=0):
    """The converted trace as bytes."""
    out = case.path('converted')
    got, _, err = read(case, [WAYMARK, 'convert', '--to', form, '-o', out, *options, path])
    check(got == status, 'convert --to %s %s: status %d: %s', form, path, got, err[-500:].decode())
    with open(out, 'rb') as f:
        return f.read()


def corpus_and_recordings(case):
    """Yields paths of traces: the corpus (a sample of it in a short run) and three recordings."""
    for trace in corpus18.GOOD if PERCENT >= 100 else case.random.sample(corpus18.GOOD, 40):
        path = case.path(trace.name)
        if not os.path.exists(path):
            trace.make(path)
        yield path
    yield case.record([case.program('busy'), 'count', '3', '50', '0'],
                      ['-c', 'vpid', '-c', 'vtid', '-c', 'procname']).ok().directory
    # the main thread records
    yield case.record([case.program('procs'), 'leaf', '20'],
                      ['-c', 'vpid', '-c', 'vtid', '-c', 'procname']).ok().directory
    yield case.record([case.program('types')]).ok().directory


def ns_of(record):
    whole, part = record['time'].split('.')
    return int(whole) * 1000000000 + (-int(part) if whole.startswith('-') else int(part))


@limit(300)
def text_and_json_conversion_equals_view(case):
    """The formats text and json equal the output of `view`."""
    for path in corpus_and_recordings(case):
        check(
            converted(case, 'json', path).splitlines() == read(case, [WAYMARK, 'view', '--json', path])[1],
            '%s: the JSON differs', path)
        check(
            converted(case, 'text', path).splitlines() == read(case, [WAYMARK, *VIEW, path])[1],
            '%s: the text differs', path)


def same_cell(cell, value):
    if is_enum(value):
        return cell == (value['label'] if value['label'] is not None else str(value['value']))
    if isinstance(value, (dict, list)):
        return json.loads(cell) == value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return cell == str(value) or float(cell) == value and (isinstance(value, float) or abs(value) < 1 << 53)
    if isinstance(value, str):
        return cell == value or '\ufffd' in value or cell == json.dumps(value)
    return cell == ('' if value is None else str(value))


def title_of(prefix, name):
    return 'fields.' + name if not prefix and name in ('time', 'trace', 'stream', 'event') else prefix + name


@limit(300)
def csv_conversion_equals_view(case):
    for path in corpus_and_recordings(case):
        records = records_of(case, path)
        rows = list(csv.reader(io.StringIO(converted(case, 'csv', path).decode(errors='replace'), newline='')))
        head, rows = rows[0], rows[1:]
        check(head[:4] == ['time', 'trace', 'stream', 'event'] and len(set(head[4:])) == len(head) - 4,
              '%s: columns %s', path, head)
        check(
            len(rows) == len(records) and all(len(row) == len(head) for row in rows), '%s: %d rows, %d records', path,
            len(rows), len(records))
        if names_twice(case, path):                  # JSON keeps one of them: t_values.py
            continue
        for row, record in zip(rows, records):
            cells = dict(zip(head[4:], row[4:]))
            check(row[0] == (record.get('time') or '') and row[1] == record['trace'] and row[2] == record['stream']
                  and row[3] == record.get('event', ''), '%s: %s, not %s', path, row[:4], record)
            wanted = {title_of(prefix, name): value for part, prefix in PREFIXES for name, value in (record.get(part)
                    or {}).items()}
            for name, value in wanted.items():
                check(same_cell(cells.get(name), value), '%s: %s is %r, not %r', path, name, cells.get(name), value)
            check(all(cell == '' for name, cell in cells.items() if name not in wanted),
                  '%s: %s has other cells than %s', path, cells, wanted)


@limit(300)
def chrome_trace_event_conversion_equals_view(case):
    for path in corpus_and_recordings(case):
        records = records_of(case, path)
        whole = json.loads(converted(case, 'chrome', path).decode())
        events = [e for e in whole['traceEvents'] if e['ph'] != 'M']
        names = {(e['pid'], e['tid']): e['args']['name'] for e in whole['traceEvents'] if e['ph'] == 'M'}
        called = {}
        check(len(events) == len(records), '%s: %d events, %d records', path, len(events), len(records))
        for event, record in zip(events, records):
            who = {**(record.get('event_context') or {}), **(record.get('context') or {})}
            check(event['name'] == drawn_name(record) and event['ph'] == 'i', '%s: %s, not %s', path, event, record)
            check(event['args'].pop('$event', None) == ('message' in record and record['event'] or None), '%s: %s',
                  path, event)
            check(
                event['args'] == {
                    part: record[part] for part in ('fields', 'context', 'event_context', 'packet') if part in record
                }, '%s: %s, not %s', path, event['args'], record)
            if 'time' in record:
                since = ns_of(record) - int(whole['otherData']['first_record_ns'])
                check(
                    abs(event['ts'] * 1000 - since) < 1 + abs(since) * 2.0**-51, '%s: at %s, not %s', path, event['ts'],
                    record['time'])
            if isinstance(who.get('vpid'), int):
                check(event['pid'] == who['vpid'] and event['tid'] == who.get('vtid', who['vpid']), '%s: %s on %s',
                      path, record, event)
                if who.get('procname'):
                    called.setdefault((event['pid'], event['tid']), who['procname'])     # the first name stays
        check(called.items() <= names.items(), '%s: threads have the names %s, not %s', path, names, called)


def plain(value):
    """
    The value as a debug annotation holds it: a label is a string, and a float that JSON cannot express is a float.
    """
    if is_enum(value):
        return value['label'] if value['label'] is not None else value['value']
    if isinstance(value, dict):
        return {name or '_': plain(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [plain(inner) for inner in value]
    return value


def alike(got, wanted):
    if got is None:
        return wanted in ({}, [], None)                 # an empty annotation
    if isinstance(wanted, dict):
        return isinstance(got, dict) and list(got) == list(wanted) and all(
            alike(got[name], wanted[name]) for name in wanted)
    if isinstance(wanted, list):
        return isinstance(got, list) and len(got) == len(wanted) and all(map(alike, got, wanted))
    if isinstance(got, float) and isinstance(wanted, str) and wanted in NO_NUMBERS:
        return str(float(wanted)) == str(abs(got)) or float(wanted) == got
    return got == wanted


def names_twice(case, path):
    """Does a structure have two members of one name? (`_a` and `a` are shown with the same name.)"""
    found = []

    def look(pairs):
        found.extend(name for name, _ in pairs if [n for n, _ in pairs].count(name) > 1)
    for line in read(case, [WAYMARK, 'view', '--json', path])[1]:
        json.loads(line, object_pairs_hook=look)
    return bool(found)


@limit(300)
def perfetto_conversion_equals_view(case):
    """protoc decodes the trace with a definition that is independent of our encoder."""
    need('protoc')
    drawn = processes = 0
    for path in corpus_and_recordings(case):
        records = records_of(case, path)
        out = case.path('converted')
        if any(record.get('time', '').startswith('-') for record in records) or names_twice(case, path):
            continue
        names = {}
        converted(case, 'perfetto', path)
        events = perfetto.events(perfetto.decode(out))
        check(len(events) == len(records), '%s: %d events, %d records', path, len(events), len(records))
        for event, record in zip(events, records):
            who = {**(record.get('event_context') or {}), **(record.get('context') or {})}
            wanted = {
                **plain(record.get('fields') or {}),
                **{'$' + part: plain(record[part])
                   for part in ('context', 'event_context', 'packet') if record.get(part)}
            }
            check(event['args'].pop('$event', None) == ('message' in record and record['event'] or None), '%s: %s',
                  path, event)
            got = {name: value for name, value in event['args'].items() if value is not None or name in wanted}
            check(event['type'] == 'instant' and event['name'] == drawn_name(record), '%s: %s, not %s', path, event,
                  record)
            check(event['time'] == (ns_of(record) if 'time' in record else 0), '%s: at %s, not %s', path, event['time'],
                  record)
            check(alike(got, {name: value for name, value in wanted.items()}), '%s: %s, not %s', path, got, wanted)
            if isinstance(who.get('vpid'), int):
                check(event['pid'] == who['vpid'] and event['tid'] == who.get('vtid', who['vpid']), '%s: %s on %s',
                      path, record, event)
                drawn += 1
                if who.get('procname'):
                    called = names.setdefault((event['pid'], event['tid']), who['procname'])
                    check(event['thread_name'] == called, '%s: the thread has the name %s, not %s', path,
                          event['thread_name'], called)
                    # A process has the name of its main thread.
                    if event['pid'] == event['tid']:
                        check(event['process_name'] == called, '%s: the process has the name %s, not %s', path,
                              event['process_name'], called)
                        processes += 1
    check(processes > 10, 'only %d records have a process with a name', processes)
    check(drawn > 100, 'only %d records have a thread', drawn)


def steps_of(thread):
    """
    Items that one thread of spans.c produces, in order: (type, name, fields). For a counter the third item is its
    value.
    """
    yield 'begin', 'spans:job', {'thread': thread}
    for n in range(3):
        yield 'begin', 'spans:step', {'thread': thread, 'round': n}
        yield 'counter', 'spans:rounds', n
        yield 'instant', 'spans:note', {'round': n}
        if n == 2:
            yield 'begin', 'spans:read', {'name': 'a file'}
            yield 'counter', 'spans:huge', (1 << 64) - 1 - thread
            yield 'end', 'spans:read', {'bytes': 512}
        if n != 1:
            yield 'counter', 'spans:half', n * 0.5
            yield 'counter', 'spans:low', -n
            yield 'counter', 'spans:odd', int(n % 2 == 1)
        yield 'end', 'spans:step', {}
    yield 'instant', 'spans:nothing_end', {'thread': thread}
    yield 'end', 'spans:job', {}


SPANS = '$event == "spans:*"'


def drawn_by_chrome(case, path, *options):
    """[(type, name, fields, pid, tid)]"""
    types = {'i': 'instant', 'B': 'begin', 'E': 'end', 'C': 'counter'}
    events = [
        e for e in json.loads(converted(case, 'chrome', path, *options).decode())['traceEvents'] if e['ph'] != 'M'
    ]
    for e in events:
        check(e['ph'] != 'C' or list(e['args']) == ['value'], 'a counter has other arguments than its value: %s', e)
    return [(types[e['ph']], e['name'], e['args']['value'] if e['ph'] == 'C' else e.get('args', {}).get('fields', {}),
             e['pid'], e['tid']) for e in events]


def drawn_by_perfetto(case, path, *options):
    converted(case, 'perfetto', path, *options)
    drawn, open_spans = [], {}
    for e in perfetto.events(perfetto.decode(case.path('converted')), lossy=options[-1:] != (SPANS,)):
        who, name = (e['pid'], e['tid']), e['name']
        if e['type'] == 'begin':
            open_spans.setdefault(who, []).append(name)
        elif e['type'] == 'end':
            name = open_spans[who].pop()  # an end has no name in Perfetto's format: it closes the innermost span
        what = {key: value for key, value in e['args'].items() if not key.startswith('$')}
        drawn.append((e['type'], e['track'] if e['type'] == 'counter' else name,
                      e['value'] if e['type'] == 'counter' else what, *who))
    return drawn


def same_drawing(drawn, wanted):
    return len(drawn) == len(wanted) and all(
        d[:2] == w[:2] and (abs(d[2] - w[2]) <= 2.0**-52 * abs(w[2]) if d[0] == 'counter' else d[2] == w[2])
        for d, w in zip(drawn, wanted))


def spans_and_counters_are_converted_to_thread_tracks(case):
    """
    Spans are on the tracks of their threads and counters have their values, in C and in C++. Missing begins and ends
    are handled.
    """
    contexts = ['-c', 'vpid', '-c', 'vtid', '-c', 'procname']
    for program in ('spans', 'spans_cxx'):
        if not os.path.exists(case.program(program)):
            continue
        path = case.record([case.program(program)], ['-e', 'spans:*', *contexts]).ok().directory
        text = b'\n'.join(read(case, [WAYMARK, *VIEW, '-f', 'emf', '-n', 'none', path])[1])
        check(
            text.count(b' waymark:begin ') == text.count(b'_begin:') > 8, 'begins of spans are not marked: %s',
            text[:300])
        numbers = {
            r['fields']['thread']: r['context']['vtid'] for r in records_of(case, path)
            if r['event'] == 'spans:job_begin'
        }
        check(len(numbers) == 2, 'threads: %s', numbers)
        for draws in (drawn_by_chrome, drawn_by_perfetto):
            drawn = draws(case, path, '--filter', SPANS)
            check(len({pid for *_, pid, _ in drawn}) == 1, 'not one process: %s', drawn)
            for thread, tid in numbers.items():
                wanted = list(
                    steps_of(thread)) + ([('begin', 'spans:endless', {'why': 'it is the last'})] if thread == 0 else [])
                on_line = [d for d in drawn if d[0] != 'counter' and d[4] == tid]
                check(same_drawing(on_line, [w for w in wanted if w[0] != 'counter']), '%s: thread %d has %s, not %s',
                      draws.__name__, thread, on_line, wanted)
            counted = sorted(map(repr, (d[:2] + (float(d[2]),) for d in drawn if d[0] == 'counter')))
            wanted = sorted(
                map(repr,
                    (w[:2] + (float(w[2]), ) for thread in numbers for w in steps_of(thread) if w[0] == 'counter')))
            check(counted == wanted, '%s: counters are %s, not %s', draws.__name__, counted, wanted)
            # An inner span without an end ends with the span around it. An end without a begin is an instant.
            drawn = draws(case, path, '--filter', SPANS + ' && $event != "*step_end" && $event != "*read_end"')
            kinds = [d[0] for d in drawn if d[4] == numbers[1] and d[0] != 'counter']
            check(
                kinds.count('begin') == kinds.count('end') == 5 and kinds[-6:] == ['instant'] + ['end'] * 5, '%s: %s',
                draws.__name__, kinds)
            drawn = draws(case, path, '--filter', SPANS + ' && $event != "*step_begin"')
            names = [d[1] for d in drawn if d[0] == 'instant' and d[4] == numbers[1]]
            check(names.count('spans:step_end') == 3, '%s: %s', draws.__name__, names)


def spans_without_thread_ids_are_drawn_on_cpu_tracks(case):
    """One line explains why."""
    path = case.record([case.program('spans')], ['-e', 'spans:*', '-c', 'cpu_id']).ok().directory
    cpus = {r['packet']['cpu_id'] for r in records_of(case, path)}
    for form, draws in (('chrome', drawn_by_chrome), ('perfetto', drawn_by_perfetto)):
        _, _, err = read(case, [WAYMARK, 'convert', '--to', form, '-o', case.path('other'), path])
        said = err.decode().splitlines()
        check(len(said) == 1 and 'one track for each CPU' in said[0] and 'vtid' in said[0], '%s: printed: %s', form,
              said)
        drawn = draws(case, path, '--filter', SPANS + ' && 1 == 1')
        check({'begin', 'end', 'counter'} <= {d[0] for d in drawn}, '%s: spans are not drawn: %s', form, drawn)
        tracks = {d[4] for d in drawn if d[0] != 'counter'}
        check(tracks <= (cpus if form == 'chrome' else {None}), '%s: tracks %s, CPUs %s', form, tracks, cpus)


def convert_selects_by_time_and_filter(case):
    """--begin, --end and --filter; invalid options; a damaged stream."""
    path = case.record([case.program('types')]).ok().directory
    records = records_of(case, path)
    some = [
        json.loads(line) for line in converted(case, 'json', path, '--begin', records[2]['time'], '--end', records[-2]
                                               ['time'], '--filter', '$event != "lttng*"').splitlines()
    ]
    check(some == [r for r in records[2:-1] if not r['event'].startswith('lttng')], 'wrong records of a range: %d',
          len(some))
    for argv, words in ((['--to', 'xml',
                          path], 'unknown format'), ([path], 'no format given'), (['--to', 'csv'], 'no trace given')):
        status, _, err = read(case, [WAYMARK, 'convert', *argv])
        check(status == 2 and words in err.decode(), '%s: status %d: %s', argv, status, err.decode())
    status, _, err = read(case, [WAYMARK, 'convert', '--to', 'csv', '-o', case.directory + '/no/such', path])
    check(status == 1 and b'no/such' in err, 'status %d: %s', status, err.decode())
    stream = next(os.path.join(top, f) for top, _, files in os.walk(path) for f in files if f.startswith('channel0_'))
    os.truncate(stream, os.path.getsize(stream) - 1)
    for form in ('csv', 'chrome', 'perfetto'):
        converted(case, form, path, status=1)


def more_streams_than_descriptors_are_converted(case):
    """The trace has more streams than the soft limit of descriptors."""
    tiny, path = corpus18.Tiny(), case.path('many')
    tiny.write(path)
    for n in range(99):
        os.link(os.path.join(path, 'stream'), os.path.join(path, 'stream%d' % n))
    few = ['prlimit', '--nofile=64:4096']
    for argv in ([*VIEW, path], ['convert', '--to', 'text', path]):
        status, lines, err = read(case, few + [WAYMARK, *argv])
        check(status == 0 and len(lines) == 100 * len(tiny.ends), '%s: status %d, %d lines: %s', argv[0], status,
              len(lines), err.decode())


def utf16_and_utf32_texts_are_converted(case):
    """
    Each format has the same text whatever its encoding in the trace. Quotes and backslashes of C or JSON are not added
    where the format does not need them.
    """
    text = 'what? \'a\' "b",\\ \t\u20ac\U0001f600'
    field = {'name': 'wide', 'field-class': {'type': 'null-terminated-string'}}
    event = {
        'type': 'event-record-class', 'name': 'e',
        'payload-field-class': {'type': 'structure', 'member-classes': [field]}
    }
    thread = {
        'name': 'vtid',
        'field-class': {'type': 'fixed-length-unsigned-integer', 'length': 8, 'byte-order': 'little-endian'}
    }
    named = {'name': 'procname', 'field-class': field['field-class']}
    stream = {
        'type': 'data-stream-class', 'id': 0,
        'event-record-common-context-field-class': {'type': 'structure', 'member-classes': [thread, named]}
    }
    for encoding in ('utf-16le', 'utf-16be', 'utf-32le', 'utf-32be'):
        path = case.path(encoding)
        field['field-class']['encoding'] = encoding
        save(path, metadata=''.join('\x1e%s\n' % json.dumps(fragment) for fragment in
                                    ({'type': 'preamble', 'version': 2}, {'type': 'trace-class'}, stream, event)),
             stream=b'\7' + ('w\u00f6rker\0' + text + '\0').encode(encoding))
        check([r['fields'] for r in records_of(case, path)] == [{'wide': text}], '%s: the JSON differs', encoding)
        rows = list(csv.DictReader(io.StringIO(converted(case, 'csv', path).decode(), newline='')))
        check(len(rows) == 1 and text in rows[0].values(), '%s: wrong cells: %s', encoding, rows)
        every = json.loads(converted(case, 'chrome', path).decode())['traceEvents']
        drawn = [e['args'] for e in every if e['ph'] != 'M']
        check('w\u00f6rker' in [e['args'].get('name') for e in every if e['ph'] == 'M'],
              '%s: the thread has another name: %s', encoding, every)
        check(len(drawn) == 1 and drawn[0]['fields'] == {'wide': text}, '%s: wrong events: %s', encoding, drawn)
        check(text.encode() in converted(case, 'perfetto', path), '%s: not in UTF-8 for Perfetto', encoding)


def texts_in_variants_are_converted(case):
    """
    A value of a variant or an optional field is a cell like any other. The packet context shows a field with
    a role that the reader uses if an optional field holds it.
    """
    text, whole = 'say "hi", bye\\x', {
        'type': 'fixed-length-unsigned-integer', 'length': 8, 'byte-order': 'little-endian', 'alignment': 8
    }
    has = {'type': 'fixed-length-boolean', 'length': 8, 'byte-order': 'little-endian', 'alignment': 8}
    labelled = dict(whole, mappings={'a "label", so': [[9, 9]]})
    of = {'type': 'null-terminated-string'}

    def members(**classes):
        return {'type': 'structure', 'member-classes': [{'name': n, 'field-class': c} for n, c in classes.items()]}

    def optional(of):
        return {'type': 'optional', 'selector-field-location': {'path': ['has']}, 'field-class': of}

    options = [{'name': 'o%d' % i, 'field-class': c, 'selector-field-ranges': [[i, i]]}
               for i, c in enumerate((of, labelled, members(x=of), optional(of)))]
    event = members(has=has, sel=whole,
                    v={'type': 'variant', 'selector-field-location': {'path': ['sel']},
                       'options': options}, o=optional(of))
    context = members(has=has, o=optional(dict(whole, roles=['packet-sequence-number'])), x=whole)
    path, bytes_of = os.path.join(case.path('choices'), 't'), text.encode() + b'\0'
    save(
        path,
        metadata=''.join('\x1e%s\n' % json.dumps(fragment)
                         for fragment in ({'type': 'preamble', 'version': 2}, {'type': 'trace-class'},
                                          {'type': 'data-stream-class', 'packet-context-field-class': context},
                                          {'type': 'event-record-class', 'name': 'e', 'payload-field-class': event})),
        stream=b'\1\7\5' + b'\0\0' + bytes_of + b'\0\1\x09' + b'\0\2' + bytes_of + b'\1\3' + 2 * bytes_of)
    rows = list(csv.DictReader(io.StringIO(converted(case, 'csv', path).decode(), newline=''), strict=True))
    check([(row['v'], row['o']) for row in rows] == [(text, 'null'), ('a "label", so', 'null'),
                                                     (json.dumps({'x': text}, separators=(',', ':')), 'null'),
                                                     (text, text)], 'wrong cells: %s', rows)
    check({(row['packet.o'], row['packet.x']) for row in rows} == {('7', '5')}, 'wrong cells: %s', rows)
    check([r['packet'] for r in records_of(case, path)] == 4 * [{'has': True, 'o': 7, 'x': 5}], 'JSON: %s',
          records_of(case, path))
    check([r['fields']['v']
           for r in records_of(case, path)] == [text, {'label': 'a "label", so', 'value': 9}, {'x': text}, text],
          'JSON: %s', records_of(case, path))
    drawn = [e['args'] for e in json.loads(converted(case, 'chrome', path).decode())['traceEvents'] if e['ph'] != 'M']
    check([d['packet'] for d in drawn] == 4 * [{'has': True, 'o': 7, 'x': 5}], 'Chrome: %s', drawn)


if __name__ == '__main__':
    main([
        text_and_json_conversion_equals_view, csv_conversion_equals_view, chrome_trace_event_conversion_equals_view,
        perfetto_conversion_equals_view, spans_and_counters_are_converted_to_thread_tracks,
        spans_without_thread_ids_are_drawn_on_cpu_tracks, convert_selects_by_time_and_filter,
        more_streams_than_descriptors_are_converted, utf16_and_utf32_texts_are_converted,
        texts_in_variants_are_converted
    ])
