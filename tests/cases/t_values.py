#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Values that an output format cannot express: each kind of value in each format of `convert`, with one rule for all.
"""
import csv
import io
import json
import math
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
import perfetto  # noqa: E402
from ctf18 import save  # noqa: E402
from harness import WAYMARK, check, main, need  # noqa: E402
from t_view import read  # noqa: E402

FORMATS = ('text', 'json', 'csv', 'chrome', 'perfetto')


def integer(bits, sign='unsigned', **more):
    return dict({'type': 'fixed-length-%s-integer' % sign, 'length': bits, 'byte-order': 'little-endian',
                 'alignment': 8}, **more)


FLOAT = {'type': 'fixed-length-floating-point-number', 'length': 64, 'byte-order': 'little-endian', 'alignment': 8}
TEXT = {'type': 'null-terminated-string'}
BLOB = {'type': 'static-length-blob', 'length': 4}
BOOL = {'type': 'fixed-length-boolean', 'length': 8, 'byte-order': 'little-endian', 'alignment': 8}
LABELS = integer(8, mappings={'one': [[1, 1]]})
BROKEN, SIGNS = b'a\xffb\xc3', 'quote " comma , line\nreturn\rtab\tend'

# kind: (field class, bytes, then the expected value in text, in JSON and Chrome, in CSV, in Perfetto)
VALUES = {
    'greatest_unsigned': (integer(64), b'\xff' * 8, '18446744073709551615', 2 ** 64 - 1, '18446744073709551615',
                          2 ** 64 - 1),
    'least_signed': (integer(64, 'signed'), b'\0' * 7 + b'\x80', '-9223372036854775808', -2 ** 63,
                     '-9223372036854775808', -2 ** 63),
    'unsigned_of_128_bits': (integer(128), b'\xff' * 16, str(2 ** 128 - 1), 2 ** 128 - 1, str(2 ** 128 - 1),
                             str(2 ** 128 - 1)),
    'signed_of_128_bits': (integer(128, 'signed'), b'\0' * 15 + b'\x80', str(-2 ** 127), -2 ** 127, str(-2 ** 127),
                           str(-2 ** 127)),
    'not_a_number': (FLOAT, struct.pack('<d', math.nan), 'nan', 'NaN', 'NaN', math.nan),
    'infinity': (FLOAT, struct.pack('<d', math.inf), 'inf', 'Infinity', 'Infinity', math.inf),
    'negative_infinity': (FLOAT, struct.pack('<d', -math.inf), '-inf', '-Infinity', '-Infinity', -math.inf),
    'boolean_of_7': (BOOL, b'\7', 'true', True, 'true', True),
    'text_that_is_not_utf8': (TEXT, BROKEN + b'\0', None, 'a\ufffdb\ufffd', 'a\ufffdb\ufffd', 'a\ufffdb\ufffd'),
    'text_with_special_characters': (TEXT, SIGNS.encode() + b'\0', None, SIGNS, SIGNS, SIGNS),
    'empty_text': (TEXT, b'\0', '""', '', '', ''),
    'bytes': (BLOB, b'\0\x7f\x80\xff', None, '007f80ff', '007f80ff', '007f80ff'),
    'value_with_a_label': (LABELS, b'\1', '( "one" : container = 1 )', {'label': 'one', 'value': 1}, 'one', 'one'),
    'value_without_a_label': (LABELS, b'\2', '( <unknown> : container = 2 )', {'label': None, 'value': 2}, '2', 2),
    'empty_structure': ({'type': 'structure'}, b'', '{ }', {}, '{}', None),
    'empty_array': ({'type': 'static-length-array', 'length': 0, 'element-field-class': integer(8)}, b'', '[ ]', [],
                    '[]', None),
}
# (clock offset in seconds, clock value): expected seconds since 1970 in JSON and CSV; None: no time
TIMES = {
    'first': ((0, 0), '0.000000000'),
    'before_1970': ((-1, 5), '-0.999999995'),
    'last': ((9223372034, 854775807), '9223372034.854775807'),
    'value_beyond_2262': ((0, 2 ** 63), None),
    'sum_beyond_2262': ((9223372035, 2 ** 62), None),
    'origin_beyond_2262': ((9223372036, 1), None),
    'origin_far_beyond_2262': ((1351530929945824323, 1), None),
    'origin_before_1677': ((-9223372037, 1), None),
}


def converted(case, path, form):
    """(output, warnings)"""
    out = case.path('out')
    status, _, err = read(case, [WAYMARK, 'convert', '--to', form, '-o', out, path])
    check(status == 0, '%s: status %d: %s', form, status, err.decode())
    with open(out, 'rb') as f:
        return f.read(), err.decode().splitlines()


def without_threads(err):
    """The warnings, except that records without a thread context have one track for each CPU."""
    return [line for line in err if 'one track for each CPU' not in line or 'times count' in line]


def rows_of(data):
    return list(csv.DictReader(io.StringIO(data.decode(), newline=''), strict=True))


def drawn_by_chrome(data):
    return [event for event in json.loads(data)['traceEvents'] if event['ph'] != 'M']


def drawn_by_perfetto(case, data):
    path = case.path('perfetto')
    with open(path, 'wb') as f:
        f.write(data)
    return perfetto.events(perfetto.decode(path))


def same(got, wanted):
    return got == wanted or wanted != wanted and got != got                 # (NaN equals nothing)


def value_case(name, row):
    def run(case):
        need('protoc')
        field, data, text, value, cell, drawn = row
        path = case.path('t')
        event = {'type': 'event-record-class', 'name': 'e', 'payload-field-class': {
            'type': 'structure', 'member-classes': [{'name': 'before', 'field-class': integer(8)},
                                                    {'name': 'v', 'field-class': field}]}}
        save(path, s=b'\7' + data, metadata=''.join('\x1e%s\n' % json.dumps(fragment) for fragment in (
            {'type': 'preamble', 'version': 2}, {'type': 'trace-class'}, {'type': 'data-stream-class'}, event)))
        for form in FORMATS:
            out, err = converted(case, path, form)
            check(without_threads(err) == [], '%s: %s', form, err)
            if form == 'text':
                wanted = b'e: { before = 7, v = %s }\n' % (text or '').encode()
                check(out == wanted or text is None and out.startswith(b'e: { before = 7, v = '), 'text: %s, not %s',
                      out, wanted)
            elif form == 'json':
                check(same(json.loads(out)['fields']['v'], value), 'json: %s, not %s', out, value)
            elif form == 'csv':
                check([row['v'] for row in rows_of(out)] == [cell], 'csv: %s, not %s', out, cell)
            elif form == 'chrome':
                check([e['args']['fields']['v'] for e in drawn_by_chrome(out)] == [value], 'chrome: %s, not %s', out,
                      value)
            else:
                got = [e['args'].get('v') for e in drawn_by_perfetto(case, out)]
                check(len(got) == 1 and same(got[0], drawn), 'perfetto: %s, not %s', got, drawn)
    run.__name__ = name
    return run


def clocked(path, offset, values):
    save(path, s=b''.join(struct.pack('<QB', value, n) for n, value in enumerate(values)), metadata='''/* CTF 1.8 */
typealias integer { size = 8; align = 8; } := u8;
trace { major = 1; minor = 8; byte_order = le; };
clock { name = c; offset_s = %d; };
stream { event.header := struct { integer { size = 64; align = 8; map = clock.c.value; } timestamp; }; };
event { name = "e"; fields := struct { u8 v; }; };
''' % offset)


def time_case(name, row):
    def run(case):
        need('protoc')
        (offset, value), wanted = row
        path = case.path('t')
        clocked(path, offset, (value, value))
        for form in FORMATS:
            out, err = converted(case, path, form)
            words = 'warning: records with a time before 1677 or after 2262 (shown without time): 2'
            far = [line for line in err if words in line]
            err = without_threads(err)
            check(len(far) == (wanted is None), '%s: wrong warnings: %s', form, err)
            check(len(err) == len(far) + (form == 'perfetto' and name == 'before_1970'), '%s: other warnings: %s', form,
                  err)
            if form == 'text':
                check(out.startswith(b'[??:??:??.?????????] ') == (wanted is None), 'text: %s', out)
            elif form == 'json':
                check([json.loads(line)['time'] for line in out.splitlines()] == [wanted, wanted], 'json: %s', out)
            elif form == 'csv':
                check([row['time'] for row in rows_of(out)] == [wanted or ''] * 2, 'csv: %s', out)
            elif form == 'chrome':
                first = 0 if wanted is None else value + offset * 10 ** 9
                check([e['ts'] for e in drawn_by_chrome(out)] == [0, 0], 'chrome: %s', out)
                check(json.loads(out)['otherData']['first_record_ns'] == str(first), 'chrome: %s', out)
            else:
                since = 0 if wanted is None or wanted.startswith('-') else value + offset * 10 ** 9
                got = [e['time'] for e in drawn_by_perfetto(case, out)]
                check(got == [since] * 2, 'perfetto: %s, not %s', got, since)
    run.__name__ = 'time_' + name
    return run


def perfetto_times_before_1970_count_from_the_first_record(case):
    """Perfetto has no times before 1970: the intervals are kept."""
    need('protoc')
    path = case.path('t')
    clocked(path, -1, (5, 25, 2000000005))
    out, err = converted(case, path, 'perfetto')
    check([e['time'] for e in drawn_by_perfetto(case, out)] == [0, 20, 2000000000], 'wrong times')
    check(len(err) == 1 and 'times count from the first record' in err[0], 'wrong warnings: %s', err)


def record_without_time_gets_the_time_of_its_predecessor(case):
    """In formats that need a time for each record."""
    need('protoc')
    path = case.path('t')
    clocked(path, 0, (5, 2 ** 63))
    check([e['ts'] for e in drawn_by_chrome(converted(case, path, 'chrome')[0])] == [0, 0], 'chrome: wrong times')
    check([e['time'] for e in drawn_by_perfetto(case, converted(case, path, 'perfetto')[0])] == [5, 5],
          'perfetto: wrong times')


def csv_column_titles_are_distinct(case):
    """Fields with the names of the first columns, and two that differ only by a leading underscore."""
    path = case.path('t')
    names = ('time', 'trace', 'stream', 'event', '_event', 'x', '_x', 'x_2')
    save(path, s=bytes(range(len(names))), metadata='/* CTF 1.8 */\ntrace { major = 1; minor = 8; byte_order = le; };\n'
         'event { name = "e"; fields := struct { %s }; };\n' % ' '.join('integer { size = 8; } %s;' % name for name
                                                                        in names))
    out, err = converted(case, path, 'csv')
    head = out.decode().splitlines()[0].split(',')
    check(len(set(head)) == len(head) == 4 + len(names) and not err, 'columns: %s, %s', head, err)
    row = rows_of(out)[0]
    titles = ('fields.time', 'fields.trace', 'fields.stream', 'fields.event', 'fields.event_2', 'x', 'x_3', 'x_2')
    check([row[title] for title in titles] == [str(n) for n in range(len(names))] and row['event'] == 'e', 'cells: %s',
          row)


if __name__ == '__main__':
    main([value_case(name, row) for name, row in VALUES.items()] +
         [time_case(name, row) for name, row in TIMES.items()] +
         [perfetto_times_before_1970_count_from_the_first_record, record_without_time_gets_the_time_of_its_predecessor,
          csv_column_titles_are_distinct])
