#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Traces of other tracers: traces that babeltrace accepts are accepted, with a warning where the specification forbids
them. Repeated messages are merged.
"""
import os
import re
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from ctf18 import save  # noqa: E402
from harness import PERCENT, VIEW, WAYMARK, check, finished, main, need  # noqa: E402
from t_view import read  # noqa: E402

U8 = 'typealias integer { size = 8; align = 8; signed = false; } := u8;\n'
TRACE = 'trace { major = 1; minor = 8; byte_order = le; };\n'
BYTES, FLOATS = b'\1\2', struct.pack('<ff', 1.5, 2)
SIGNED = ['e: { v = -1 }', 'e: { v = 1 }']


def event(fields='u8 v;', name='"e"'):
    return 'event { name = %s; fields := struct { %s }; };\n' % (name, fields)


def of_type(text, before=TRACE):
    return U8 + 'typealias %s := t;\n' % text + before + event('t v;')


def of_integer(attributes):
    return of_type('integer { %s }' % attributes)


def of_trace(text):
    return U8 + text + event()


def of_clock(clock):
    return (U8 + 'typealias integer { size = 8; align = 8; map = clock.c.value; } := ts;\n' + TRACE + clock +
            'stream { event.header := struct { ts timestamp; }; };\n' + event())


def numbers(*values):
    return ['e: { v = %s }' % v for v in values]


def at_times(*pairs):
    return ['[00:00:00.%09d] e: { v = %d }' % pair for pair in pairs]


def prints_lines(text, data, lines, *words):
    return text, data, lines, words


UNKNOWN = "unknown property '%s' of this type: ignored"
MAP = 'a map other than clock.NAME.value: ignored'
LAST = "duplicate property '%s' of a type: the last one counts"
TIMES, SHOWN = b'\1\7\2\1', at_times((1, 7), (2, 1))

# Metadata and data that babeltrace 1.5 or 2.0 reads, the expected lines, and the expected warnings.
ACCEPTED = {
    'unknown_word': prints_lines(of_integer('size = 8; aa = bb;'), BYTES, numbers(1, 2), UNKNOWN % 'aa'),
    'unknown_number': prints_lines(of_integer('size = 8; aa = 3;'), BYTES, numbers(1, 2), UNKNOWN % 'aa'),
    'unknown_negative': prints_lines(of_integer('size = 8; aa = -3;'), BYTES, numbers(1, 2), UNKNOWN % 'aa'),
    'unknown_string': prints_lines(of_integer('size = 8; aa = "x y";'), BYTES, numbers(1, 2), UNKNOWN % 'aa'),
    'unknown_path': prints_lines(of_integer('size = 8; aa = b.c;'), BYTES, numbers(1, 2), UNKNOWN % 'aa'),
    'unknown_name_of_two_words': prints_lines(of_integer('size = 8; a.a = 3;'), BYTES, numbers(1, 2), UNKNOWN % 'a.a'),
    'unknown_name_that_is_a_keyword': prints_lines(of_integer('size = 8; clock = 3;'), BYTES, numbers(1, 2),
                                                   UNKNOWN % 'clock'),
    'unknown_twice': prints_lines(of_integer('size = 8; aa = 3; aa = 4;'), BYTES, numbers(1, 2), UNKNOWN % 'aa',
                                  LAST % 'aa'),
    'size_twice': prints_lines(of_integer('size = 16; size = 8;'), BYTES, numbers(1, 2), LAST % 'size'),
    'signed_twice': prints_lines(of_integer('size = 8; signed = false; signed = true;'), b'\xff\1', SIGNED,
                                 LAST % 'signed'),
    'signed_2': prints_lines(of_integer('size = 8; signed = 2;'), b'\xff\1', SIGNED, 'read as true'),
    'signed_of_less': prints_lines(of_integer('size = 8; signed = -1;'), b'\xff\1', SIGNED, 'read as true'),
    'map_of_a_string': prints_lines(of_integer('size = 8; map = "clock.c.value";'), BYTES, numbers(1, 2), MAP),
    'map_of_a_word': prints_lines(of_integer('size = 8; map = foo;'), BYTES, numbers(1, 2), MAP),
    'map_of_a_path': prints_lines(of_integer('size = 8; map = foo.c.value;'), BYTES, numbers(1, 2), MAP),
    'float_with_an_unknown_property': prints_lines(of_type('floating_point { exp_dig = 8; mant_dig = 24; base = 10; }'),
                                                   FLOATS, numbers('1.5', 2), UNKNOWN % 'base'),
    'float_with_exp_dig_twice': prints_lines(of_type('floating_point { exp_dig = 11; exp_dig = 8; mant_dig = 24; }'),
                                             FLOATS, numbers('1.5', 2), LAST % 'exp_dig'),
    'string_with_an_unknown_property': prints_lines(of_type('string { align = 8; }'), b'ab\0', numbers('"ab"'),
                                                    UNKNOWN % 'align'),
    'string_of_another_encoding': prints_lines(of_type('string { encoding = LATIN1; }'), b'ab\0', numbers('"ab"'),
                                               "unknown encoding 'LATIN1' of a string"),
    'string_with_encoding_twice': prints_lines(of_type('string { encoding = UTF8; encoding = ASCII; }'), b'ab\0',
                                               numbers('"ab"'), LAST % 'encoding'),
    'range_of_a_label_backwards': prints_lines(of_type('enum : u8 { A = 3 ... 1 }'), b'\1\3',
                                               numbers('( "A" : container = 1 )', '( "A" : container = 3 )'),
                                               'is reversed'),
    'structure_of_alignment_0': prints_lines(of_type('struct { u8 a; } align(0)'), BYTES,
                                             numbers('{ a = 1 }', '{ a = 2 }'), 'not a power of two'),
    'structure_of_alignment_3': prints_lines(of_type('struct { u8 a; } align(3)'), BYTES,
                                             numbers('{ a = 1 }', '{ a = 2 }'), 'not a power of two'),
    'version_1_9': prints_lines(of_trace(TRACE.replace('minor = 8', 'minor = 9')), BYTES, numbers(1, 2),
                                'metadata with minor = 9 is read as version 1.8'),
    'version_2_8': prints_lines(of_trace(TRACE.replace('major = 1', 'major = 2')), BYTES, numbers(1, 2),
                                'metadata with major = 2 is read as version 1.8'),
    'signature_of_1_9': prints_lines('/* CTF 1.9 */\n' + of_trace(TRACE), BYTES, numbers(1, 2),
                                     'metadata of CTF 1.9 is read as CTF 1.8'),
    'byte_order_of_a_string': prints_lines(of_trace(TRACE.replace('le;', '"le";')), BYTES, numbers(1, 2),
                                           'a byte_order that is a string'),
    'environment_of_a_path': prints_lines(
        of_trace(TRACE) + 'env { a = b.c; };\n', BYTES, numbers(1, 2), 'neither a string nor a number'),
    'environment_of_a_type': prints_lines(
        of_trace(TRACE) + 'env { a := u8; };\n', BYTES, numbers(1, 2), 'is a type, but this block has only values'),
    'clock_of_freq_0': prints_lines(of_clock('clock { name = c; freq = 0; };\n'), TIMES, SHOWN,
                                    'the freq of a clock is 0: read as 1 GHz'),
    'clock_of_a_strange_uuid': prints_lines(of_clock('clock { name = c; uuid = "foo"; };\n'), TIMES, SHOWN,
                                            'the uuid of a clock is not 32'),
    'clock_described_by_a_number': prints_lines(of_clock('clock { name = c; description = 3; };\n'), TIMES, SHOWN,
                                                'the description of a clock is not a string'),
    'clock_with_a_type': prints_lines(of_clock('clock { name = c; foo := u8; };\n'), TIMES, SHOWN,
                                      'is a type, but this block has only values'),
    'events_without_an_id': prints_lines(
        U8 + TRACE + event() + 'event { name = "f"; id = 1; fields := struct { u8 v; }; };\n', BYTES, numbers(1, 2),
        "all records are read as 'e'"),
    'string_of_two_lines': prints_lines(U8 + TRACE + event(name='"a\nb"'), BYTES,
                                        [r'a\nb: { v = 1 }', r'a\nb: { v = 2 }'], 'a string of more than one line'),
    'no_clock': prints_lines(U8 + TRACE + 'stream { event.header := struct { u8 timestamp; }; };\n' + event(), TIMES,
                             SHOWN),
    'no_clock_of_packets': prints_lines(
        U8 + TRACE + 'stream { packet.context := struct { u8 timestamp_begin; u8 timestamp_end; }; };\n' + event(),
        b'\1\2\7\2', at_times((1, 7), (1, 2))),
    'pointer': prints_lines(U8 + 'typealias u8 := u8 *;\n' + TRACE + event('u8 *v;'), BYTES, numbers('0x1', '0x2')),
}


def stripped(lines):
    """Without the time since the previous line."""
    return [re.sub(r'^(\[[^]]*\]) \(\+[^)]*\)', r'\1', line.decode()) for line in lines]


def accepted_case(name, row):
    def run(case):
        metadata, data, lines, words = row
        path = case.path('foreign')
        save(path, metadata=metadata, s=data)
        status, got, err = read(case, [WAYMARK, *VIEW, path])
        err = err.decode()
        check(status == 0 and stripped(got) == lines, '%s: status %d, %s, not %s: %s', name, status, stripped(got),
              lines, err)
        warned = [line for line in err.splitlines() if 'warning: ' in line]
        check(
            len(warned) == len(words) == len(err.splitlines()), '%s: the warnings are %s, expected %s', name, err,
            words)
        for word in words:
            check(any(word in line for line in warned), '%s: "%s" is not in %s', name, word, err)
        check(all(re.search(r'foreign/metadata:\d+:\d+: ', line) for line in warned), '%s: no place in %s', name, err)
        # (only long runs check that babeltrace accepts the row)
        if PERCENT >= 100:
            need('babeltrace', 'babeltrace2')
            readers = [finished([reader, path], 60, capture_output=True) for reader in ('babeltrace', 'babeltrace2')]
            check(any(r.returncode == 0 and r.stdout for r in readers), '%s: neither babeltrace reads it', name)
    run.__name__ = 'accepts_' + name
    return run


def streams_without_a_clock_are_merged_by_time(case):
    """Every output format gives the records times of a 1 GHz clock."""
    path = os.path.join(case.path('of'), 'no-clock')
    header = 'trace { major = 1; minor = 8; byte_order = le; packet.header := struct { u8 stream_id; }; };\n'
    metadata = (U8 + 'typealias integer { size = 64; align = 8; } := u64;\n' + header +
                'stream { id = 0; event.header := struct { u8 id; u64 timestamp; }; };\n'
                'event { name = "e"; id = 0; stream_id = 0; fields := struct { u8 v; }; };\n')
    files = {name: b'\0' + b''.join(b'\0' + struct.pack('<QB', 1000 * v, v) for v in values) for name, values in (('a',
            (1, 3)), ('b', (2, 4)))}
    save(path, metadata=metadata, **files)
    check(stripped(read(case, [WAYMARK, *VIEW, path])[1]) == ['[00:00:00.00000%d000] e: { v = %d }' % (v, v) for v
                                                               in range(1, 5)], 'view: wrong lines')
    wanted = {'json': rb'"time":"0.00000(\d)000"', 'csv': rb'(?m)^0.00000(\d)000,', 'chrome': rb'"ts":(\d).000',
              'ctf': None}
    for form, pattern in wanted.items():
        out = case.path('out-' + form)
        status, _, err = read(case, [WAYMARK, 'convert', '--to', form, '-o', out, path])
        is_why = form == 'chrome' and b'one track for each CPU' in err
        check(status == 0 and (not err or is_why), '%s: status %d: %s', form,
              status, err.decode())
        if not pattern:
            check(stripped(read(case, [WAYMARK, *VIEW, out])[1]) == ['[00:00:00.00000%d000] e: { v = %d }' % (v, v)
                                                                      for v in range(1, 5)], '%s: wrong lines', form)
            continue
        with open(out, 'rb') as f:
            got = re.findall(pattern, f.read())
        check(got == ([b'0', b'1', b'2', b'3'] if form == 'chrome' else [b'1', b'2', b'3', b'4']), '%s: times %s', form,
              got)


def repeated_damage_messages_are_printed_as_a_count(case):
    """The first message of a kind is printed, and the last one with the number of those between."""
    path = case.path('damaged')
    header = ('stream { packet.context := struct { u8 packet_size; u8 content_size; };\n'
              'event.header := struct { u8 id; }; };\n')
    for n, lines in ((1, 1), (2, 2), (9, 2)):
        directory = '%s-%d' % (path, n)
        # (each packet has a valid record and a record of an unknown event)
        save(directory, metadata=U8 + TRACE + header + 'event { name = "e"; id = 0; fields := struct { u8 v; }; };\n',
             s=bytes([48, 48, 0, 1, 7, 1]) * n)
        status, got, err = read(case, [WAYMARK, *VIEW, directory])
        said = err.decode().splitlines()
        check(status == 1 and len(got) == n and len(said) == lines, '%d: status %d, %d records: %s', n, status,
              len(got), err.decode())
        check(n < 3 or 'last of %d more messages of the same kind' % (n - 1) in said[-1],
              '%d: the count is not in %s', n, said)
        check('byte %d' % (6 * (n - 1)) in said[-1], '%d: the last place is not in %s', n, said)


def repeated_warnings_are_printed_as_a_count(case):
    """In one trace, and in several."""
    path = case.path('of')
    attributes = 'typealias integer { size = 8; aa = 1; } := %s;\n'
    for name in ('a', 'b', 'c'):
        save(os.path.join(path, name), metadata=U8 + attributes % 'x' + attributes % 'y' + TRACE + event(), s=BYTES)
    status, _, err = read(case, [WAYMARK, *VIEW, path])
    said = err.decode().splitlines()
    check(status == 0 and len(said) == 2, 'status %d: %s', status, err.decode())
    check("a/metadata:2:31: first of 2 places: unknown property 'aa'" in said[0], 'first: %s', said[0])
    check('last of 2 more messages of the same kind' in said[1] and 'c/metadata:2:31' in said[1], 'last: %s',
          said[1])


def long_paths_in_messages_are_truncated_with_an_ellipsis(case):
    path = os.path.join(case.path('of'), *['a-directory-of-some-name'] * 4)
    save(path, metadata=U8 + 'nonsense', s=BYTES)
    _, _, err = read(case, [WAYMARK, *VIEW, path])
    cut = [word for word in re.findall(r"[^ ':]*-of-some-name/metadata", err.decode()) if not word.startswith(('/',
            '.../', '...'))]
    check(not cut and '...' in err.decode(), 'paths without their beginning: %s in %s', cut, err.decode())


def directory_without_trace_is_reported(case):
    """Without a session daemon, by name and by path."""
    path = case.path('file.c')
    with open(path, 'w', encoding='utf-8'):
        pass
    for command in ([*VIEW], ['convert', '--to', 'json']):
        for name, words in ((path, 'is a file'), (case.path('missing'), 'does not exist')):
            status, _, err = read(case, [WAYMARK, '-n', *command, name])
            said = "no such trace: '%s' %s" % (name[:110], words)
            check(status == 1 and said[:80] in err.decode(), '%s: status %d: %s', name, status, err.decode())
    status, _, err = read(case, [WAYMARK, '-n', 'view', 'missing'])
    said = 'waymark: error: no such trace or session: "missing" is not a directory, and no session has this name\n'
    check(status == 1 and err.decode() == said, 'status %d: %s', status, err.decode())


if __name__ == '__main__':
    main([directory_without_trace_is_reported] +
         [accepted_case(name, row) for name, row in ACCEPTED.items()] +
         [streams_without_a_clock_are_merged_by_time, repeated_damage_messages_are_printed_as_a_count,
          repeated_warnings_are_printed_as_a_count,
          long_paths_in_messages_are_truncated_with_an_ellipsis])
