#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
`waymark convert --to ctf` and `--to ctf-2`: metadata that no record needs is written to the other version, or its loss
is reported.
"""
import json
import math
import os
import re
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
import corpus18  # noqa: E402
import ctf2  # noqa: E402
import tsdl  # noqa: E402
from ctf18 import METADATA_MAGIC  # noqa: E402
from harness import VIEW, WAYMARK, check, limit, main  # noqa: E402
from t_filter import records_of  # noqa: E402
from t_convert_ctf import TSDL, hostile, number, rewritten, save_two, structure, view  # noqa: E402
from t_view import read  # noqa: E402

LEFT_OUT = 'options of variants that no value selects'
KNOWN = {
    'trace': {'uuid': None}, 'stream': {}, 'event': {'name': None, 'loglevel': None}, 'callsite': {}, 'env': {},
    'clock': {'name': None, 'freq': 10**9, 'precision': 0, 'offset_s': 0, 'offset': 0, 'absolute': False, 'uuid': None}
}
# Entries about the layout, or that other entries replace. Other tests compare the records themselves.
OTHERWISE = {'trace': ('major', 'minor', 'byte_order'), 'stream': ('id',), 'event': ('id', 'stream_id')}


def metadata_values(path):
    """
    Values in the blocks of CTF 1.8 metadata, in a normal form: {kind: [{path: value}]}. All env blocks are merged.
    """
    with open(os.path.join(path, 'metadata'), encoding='utf-8', errors='replace') as f:
        text = f.read()
    found = {kind: [] for kind in KNOWN}
    for kind, entries in tsdl.blocks(text):
        one = dict(KNOWN[kind])
        for name, value in entries:
            if name in OTHERWISE.get(kind, ()):
                continue
            if kind == 'clock' and name == 'absolute':
                value = bool(value) if isinstance(value, int) else value[0] in 'tT'
            # a word is read as a string where only a string is valid
            if isinstance(value, tsdl.Word) and (kind == 'env' or (name in KNOWN[kind] and name != 'loglevel')):
                value = str(value)
            one[name] = value.replace('-', '').lower() if name == 'uuid' and name in KNOWN[kind] else value
        if kind == 'clock':
            whole, one['offset'] = divmod(one['offset'], one['freq'])
            one['offset_s'] += whole
        if kind == 'env' and found['env']:
            found['env'][0].update(one)
        else:
            found[kind].append(one)
    return {kind: sorted(of, key=repr) if kind != 'callsite' else of for kind, of in found.items()}


def is_one_text(path):
    """Is `path` one trace with plain-text metadata (not packetized)?"""
    try:
        with open(os.path.join(path, 'metadata'), 'rb') as f:
            return METADATA_MAGIC not in struct.unpack('<I', head := f.read(4)) + struct.unpack('>I', head)
    except FileNotFoundError:
        return False


@limit(300)
def tsdl_block_values_survive_the_ctf_round_trip(case):
    """
    Values of blocks in CTF 1.8, types excepted, survive a conversion to 1.8, also with CTF 2 in between. No loss is
    reported.
    """
    least = 0
    for trace in corpus18.GOOD:
        path = os.path.join(case.path('of_' + trace.name), 't')
        os.makedirs(os.path.dirname(path))
        trace.make(path)
        if not is_one_text(path):
            continue
        wanted = metadata_values(path)
        two = rewritten(case, 'ctf-2', path)
        for out in (rewritten(case, 'ctf', two), rewritten(case, 'ctf', path)):
            there = metadata_values(out)
            for kind, of in wanted.items():
                check(there[kind] == of, '%s: %s differs in %s: %s, not %s', trace.name, kind, out, there[kind],
                      of)
        least += sum(len(of) for of in wanted['callsite']) + sum('colour' in one for of in wanted.values()
                                                                 for one in of)
    check(least >= 12, 'only %d entries that are not part of the format', least)


def convert_message(case, form, path):
    """Convert `path`. Returns (message of convert, output directory)."""
    case.number = getattr(case, 'number', 0) + 1
    out = os.path.join(case.path('converted%d' % case.number), 't')
    os.makedirs(os.path.dirname(out))
    got, _, err = read(case, [WAYMARK, 'convert', '--to', form, '-o', out, path])
    check(got == 0, 'status %d: %s', got, err.decode())
    return err.decode(), out


def metadata_dropped_for_ctf_1_8_is_reported_by_kind(case):
    """Metadata that CTF 1.8 cannot express is reported by kind. The output is valid, whatever names the input has."""
    plain = [{'type': 'preamble', 'version': 2}, {'type': 'trace-class'},
             {'type': 'clock-class', 'id': 'c', 'frequency': 1000}, {'type': 'data-stream-class'},
             {'type': 'event-record-class', 'name': 'e', 'payload-field-class': structure(a=number(8))}]
    beside, origin = 'attributes, namespaces and unique ids', 'the accuracy of clocks'
    some, ours = {'attributes': {'example.org': {'a': 1}}
                  }, {'attributes': {'waymark,2026': {'entries': {'colour': 'red', 'model.other': {'word': 'x'}}}}}
    field = dict(number(8), **some)

    def entries(**of):
        return {'attributes': {'waymark,2026': {'entries': of}}}

    for n, (at, more, words, text) in enumerate(
        ((0, {}, None, ''), (0, some, beside, ''), (1, some, beside, ''), (1, {'uid': 'u'}, beside, ''),
         (1, {'name': 'n'}, 'the names of traces', ''), (2, some, beside, ''), (2, {'accuracy': 5}, origin, ''),
         (2, {'uid': 'no UUID'}, origin, ''), (2, {'origin': 'unix-epoch', 'precision': 3}, None,
                                               'precision = 3'), (2, {'origin': {'name': 'n', 'uid': 'u'}}, origin, ''),
         (2, {'name': '1ghz'}, 'not identifiers', 'clock_1ghz'), (2, {'name': 'event'}, 'not identifiers', '_event'),
         (3, some, beside, ''), (3, {'namespace': 'n'}, beside, ''), (4, some, beside, ''), (4, {
             'attributes': {'lttng.org,2009': {'log-level': 99}}
         }, beside, ''), (4, {'payload-field-class': structure(a=field)}, beside,
                          ''), (4, {'payload-field-class': dict(structure(a=number(8)), **some)}, beside,
                                ''), (1, ours, None, 'model.other = x;'), (2, ours, None, 'colour = "red";'),
         (3, ours, None, 'colour = "red";'), (4, ours, None, 'colour = "red";'), (4, entries(id=5), beside, ''),
         (2, entries(freq=5), beside, ''), (1, entries(minor=9), beside, ''), (4, entries(**{'a = 1; id': 5}), beside,
                                                                               ''), (4, entries(struct=1), beside, ''),
         (4, entries(a={'word': 'x; id = 7'}), beside, ''), (4, entries(a=[1]), beside, ''),
         (4, entries(a=1.5), beside, ''), (4, {'attributes': {'waymark,2026': {'callsites': [{}]}}}, beside, ''),
         (1, {'attributes': {'waymark,2026': {'callsites': [5, {'a': 1}]}}}, beside,
          'callsite {\n\ta = 1;'), (1, {'environment': {'struct': 1, '2nd': 'x', 'a b': 3, '': 4, 'fine': 5,
                                                        'a.b': 6}}, 'not identifiers', 'a.b = 6;'))):
        fragments = [dict(of, **more) if i == at else of for i, of in enumerate(plain)]
        path = os.path.join(case.path('of%d' % n), 't')
        save_two(path, fragments, b'\1\2')
        message, out = convert_message(case, 'ctf', path)
        check(words in message if words else not message, '%s: the message is "%s"', more, message)
        with open(os.path.join(out, 'metadata'), encoding='utf-8') as f:
            made = f.read()
        check(text in made, '%s: no %s in %s', more, text, made)
        check([(r['event'], r['fields']) for r in records_of(case, out)] == [('e', {'a': 1}), ('e', {'a': 2})],
              '%s: the records are %s', more, records_of(case, out))
    event = 'event { name = "e"; fields := struct { u8 a; }; %s };\n'
    for n, (tsdl_text, words) in enumerate(
        ((TSDL + event % '', None), (TSDL + event % 'other := struct { u8 b; };', 'types of scopes'),
         (TSDL + 'stream { event.footer := struct { u8 b; }; };' + event % '', 'types of scopes'),
         (TSDL.replace('minor', 'packet.footer := struct { u8 b; }; minor') + event % '', 'types of scopes'))):
        path = hostile(case, 'types%d' % n, tsdl_text, b'\1\2')
        for form in ('ctf', 'ctf-2'):
            message, out = convert_message(case, form, path)
            check(words in message if words else not message, '%s in %s: the message is "%s"', tsdl_text, form,
                  message)
            check([r['fields'] for r in records_of(case, out)] == [{'a': 1}, {'a': 2}], '%s: the records differ',
                  tsdl_text)


def metadata_of(path):
    with open(os.path.join(path, 'metadata'), encoding='utf-8') as f:
        return f.read()


def fields_of(path):
    """{scope: {name: value}} of the first record of a trace in CTF 2, as the second decoder reads it."""
    return next(iter(ctf2.Trace(path).records())).fields


def unselectable_variant_options_survive_the_ctf_round_trip(case):
    """
    CTF 2 gives such an option a value beyond the range of the selector, and a conversion back to 1.8 restores the
    option. If the type of the selector has no such value, or a label covers the option's values, the option is left
    out.
    """
    event = 'typealias integer { size = 64; align = 8; } := u64;\n' \
        'typealias integer { size = 8; align = 8; signed = true; } := i8;\n' \
        'event { name = "e"; fields := struct { enum : %s _t; variant <_t> { %s } _v; }; };\n'
    for n, (labels, options, data, ranges, words) in enumerate((
        ('u8 { A, B }', 'u8 A; u64 X; u8 B;', b'\1\7', [[0, 0], [256, 256], [1, 1]], ''),
        ('u8 { A = 0 ... 255 }', 'u64 X; u8 A; u64 Y;', b'\1\7', [[256] * 2, [0, 255], [257] * 2], ''),
        ('i8 { A = -1 }', 'u8 A; u64 X; u64 Y;', b'\xff\7', [[-1, -1], [256, 256], [257, 257]], ''),
            # labels of values beyond the range; an option with values that an earlier label covers
        ('u8 { A, C = 300, B = 256 ... 260 }', 'u8 A; u64 X; u8 B; u8 C;', b'\0\7', [[0, 0], [301] * 2, [256, 260],
                                                                                     [300, 300]], ''),
        ('u8 { A = 0 ... 9, B = 3 ... 5 }', 'u8 A; u64 B; u64 X;', b'\3\7', [[0, 9], [256] * 2], LEFT_OUT),
        ('u64 { A, B }', 'u8 A; u64 X; u8 B;', b'\1\0\0\0\0\0\0\0\7', [[0, 0], [1, 1]], LEFT_OUT),
        ('u8 { A, B = 18446744073709551615 }', 'u8 A; u64 X; u8 B;', b'\0\7', [[0, 0],
                                                                               [(1 << 64) - 1] * 2], LEFT_OUT))):
        path = hostile(case, 'options%d' % n, TSDL + event % (labels, options), data)
        message, two = convert_message(case, 'ctf-2', path)
        check(words in message if words else not message, '%s, %s: the message is "%s"', labels, options, message)
        got = [
            option['selector-field-ranges'] for option in json.loads(metadata_of(two).split('\x1e')[-1])
            ['payload-field-class']['member-classes'][1]['field-class']['options']
        ]
        check(got == [[r] for r in ranges], '%s, %s: ranges %s', labels, options, got)
        _, direct = convert_message(case, 'ctf', path)
        message_again, again = convert_message(case, 'ctf', two)
        if not words:
            check(not message_again and metadata_of(again) == metadata_of(direct),
                  '%s, %s: the message is "%s", CTF 1.8 made from CTF 2 is %s', labels, options, message_again,
                  metadata_of(again))
            check(
                metadata_of(convert_message(case, 'ctf-2', again)[1]) == metadata_of(two),
                '%s, %s: CTF 2 made from that differs', labels, options)
        check(
            view(case, two) == view(case, again) == view(case, path) and len(view(case, path)[0]) == 1,
            '%s, %s: the records differ', labels, options)
        check(
            fields_of(two)['payload']['v'] == 7, '%s, %s: the second decoder reads %s', labels, options, fields_of(two))


NO_LABEL = 'labels of values that a field with a role cannot hold'


def signed_variant_selectors_survive_the_ctf_round_trip(case):
    """
    A field with a role is unsigned in CTF 2. Its labels and the options that it selects have the values of the same
    bits, also in CTF 1.8 made from it.
    """
    signed = 'integer { size = %d; align = 8; signed = true; }'
    context, event = 'stream { packet.context := struct { enum : %s { %s } packet_seq_num; variant ' \
        '<packet_seq_num> { %s } _v; }; };\n', \
        'event { name = "e"; fields := struct { variant <stream.packet.context.packet_seq_num> { %s } _w; }; };\n'
    far = '-%d ... -%d' % (1 << 63, (1 << 63) - 1)
    for n, (bits, labels, options, data, mappings, ranges, words) in enumerate((
        (8, 'A = -5 ... -1, B = 0 ... 5', 'u8 A; u16 B;', (b'\xff\7', b'\x08'), {'A': [[251, 255]],
                                                                                 'B': [[0, 5]]}, None, ''),
        (8, 'A = -5 ... 5, B = 6', 'u8 A; u16 B;', (b'\xfb\7', b'\x08'), {'A': [[251, 255], [0, 5]],
                                                                          'B': [[6, 6]]}, None, ''),
        (8, 'A = -5 ... 5, B = 6', 'u8 A; u16 B;', (b'\5\7', b'\x08'), {'A': [[251, 255], [0, 5]],
                                                                        'B': [[6, 6]]}, None, ''),
        (16, 'A = -32768, B = -1', 'u16 A; u8 B;', (b'\xff\xff\7', b'\x08'),
         {'A': [[32768, 32768]], 'B': [[65535, 65535]]}, None, ''),
        (64, 'A = %s, B = -2 ... -1' % far, 'u16 A; u8 B;', (b'\xff' * 8 + b'\7', b'\x08'),
         {'A': [[1 << 63, (1 << 63) + 1]], 'B': [[(1 << 64) - 2, (1 << 64) - 1]]}, None, ''),
            # values beyond 8 signed bits are dropped, not wrapped: unsigned, 200 would match -56
        (8, 'B = -300 ... -200, A = 100 ... 300, C = 200 ... 255, D = -200 ... -100', 'u16 D; u8 A;',
         (b'\x7f\7', b'\x08'), {'A': [[100, 127]], 'D': [[128, 156]]}, None, NO_LABEL),
        (8, 'A = -1, B = 200', 'u8 A; u16 B;', (b'\xff\7', b'\x08'), {'A': [[255, 255]]}, {'A': [[255,
                                                                                                  255]]}, LEFT_OUT),
            # an option without a label gets a value beyond the range, as without a role
        (8, 'A = -1', 'u8 A; u16 X;', (b'\xff\7', b'\x08'), {'A': [[255, 255]]}, {'A': [[255, 255]], 'X': [[256,
                                                                                                            256]]}, ''),
            # the first of two matching labels counts
        (8, 'A = -3 ... 3, B = -5 ... 5', 'u8 A; u16 B;', (b'\xff\7', b'\x08'),
         {'A': [[253, 255], [0, 3]], 'B': [[251, 255], [0, 5]]}, {'A': [[253, 255], [0, 3]], 'B': [[251, 252],
                                                                                                   [4, 5]]}, ''))):
        text = TSDL + 'typealias integer { size = 16; align = 8; } := u16;\n' + context % (signed % bits, labels,
                                                                                           options) + event % options
        path = hostile(case, 'signed%d' % n, text, b''.join(data))
        message, two = convert_message(case, 'ctf-2', path)
        check(words in message if words else not message, '%d, %s: the message is "%s"', bits, labels, message)
        fragments = [json.loads(of) for of in metadata_of(two).split('\x1e')[1:]]
        of_context = next(of for of in fragments
                          if 'packet-context-field-class' in of)['packet-context-field-class']['member-classes']
        check(of_context[0]['field-class']['mappings'] == mappings, '%d, %s: %s', bits, labels, of_context[0])
        for variant in (of_context[1], fragments[-1]['payload-field-class']['member-classes'][0]):
            got = {option['name']: option['selector-field-ranges'] for option in variant['field-class']['options']}
            check(got == (ranges or mappings), '%d, %s: selected by %s', bits, labels, got)
        records = [r['fields'] for r in records_of(case, path)]
        check(records == [{'w': 8}] == [r['fields'] for r in records_of(case, two)], '%d, %s: %s, in CTF 2 %s',
              bits, labels, records, records_of(case, two))
        got = fields_of(two)
        check(got['payload']['w'] == 8, '%d, %s: the second decoder reads %s', bits, labels, got)
        if not words and len(ranges or mappings) == len(mappings) and not ranges:
            again = rewritten(case, 'ctf', two)
            check(
                view(case, again) == view(case, two), '%d, %s: CTF 1.8 made from that: %s', bits, labels,
                view(case, again))
    # The id of an event is in a header; the id there selects a variant that has another id.
    header = 'stream { event.header := struct { enum : %s { A = -1, B = 0 ... 5 } id; variant <id> { struct { u8 ' \
        'id; } A; struct { } B; } v; }; };\n'
    events = ''.join('event { name = "e%d"; id = %d; fields := struct { u8 a; }; };\n' % (i, i) for i in (0, 7))
    path = hostile(case, 'ids', TSDL + header % (signed % 8) + events, b'\0\x11\xff\7\x22')
    for form in ('ctf-2', 'ctf'):
        message, path = convert_message(case, form, path)
        check([(r['event'], r['fields']) for r in records_of(case, path)] == [('e0', {'a': 17}), ('e7', {'a': 34})],
              '%s: %s', form, records_of(case, path))
        check(not message, '%s: the message is "%s"', form, message)
    # A number of more than 64 bits cannot express a negative value without a sign.
    for name, behind in (
        ('wide', context % (signed % 72, 'A = -1, B = 1', 'u8 A; u8 B;') + event % 'u8 A; u8 B;'),
        ('alone',
         'stream { packet.context := struct { %s packet_seq_num; }; };\n'
         'event { name = "e"; fields := struct { u8 a; }; };\n'
         % (signed % 72))):
        path = hostile(case, name, TSDL + behind, b'\1' + bytes(8) + b'\7\x08')
        got, _, err = read(case, [WAYMARK, 'convert', '--to', 'ctf-2', '-o', case.path('refused'), path])
        check(got == 1 and b'more than 64 bits cannot have a role' in err, '%s: status %d: %s', name, got, err.decode())


@limit(30)
def many_unselectable_variant_options_convert_quickly(case):
    """
    Many options have values beyond the range of their selector, and as many labels match no option. The conversion
    takes well below a second.
    """
    n = 3000
    options = [{'name': 'o%d' % i, 'field-class': number(8), 'selector-field-ranges': [[1000 + i, 1000 + i]]}
               for i in range(n)]
    fields = structure(t=dict(number(8), mappings={'m%d' % i: [[i % 256, i % 256]] for i in range(n)}),
                       v={'type': 'variant', 'selector-field-location': {'path': ['t']}, 'options': options})
    path = os.path.join(case.path('beyond'), 't')
    save_two(path, [{'type': 'preamble', 'version': 2}, {'type': 'trace-class'}, {'type': 'data-stream-class'},
                    {'type': 'event-record-class', 'name': 'e', 'payload-field-class': fields}], b'')
    rewritten(case, 'ctf', path)


def variants_by(case, name, labels, variants):
    """
    Write a trace in CTF 2 with one selector. `labels` is {name: value}; `variants` lists the options of each variant,
    [[name, attributes]].
    """
    of = {
        'v%d' % i: {
            'type': 'variant', 'selector-field-location': {'path': ['t']}, 'options': [
                dict({'name': option, 'field-class': number(8), 'selector-field-ranges': [[n, n]]}, **more)
                for n, (option, more) in enumerate(options)
            ]
        } for i, options in enumerate(variants)
    }
    selector = dict(number(32), mappings={label: [[n, n]] for label, n in labels.items()}) if labels else number(32)
    path = os.path.join(case.path(name), 't')
    save_two(path, [{'type': 'preamble', 'version': 2}, {'type': 'trace-class'}, {'type': 'data-stream-class'},
                    {'type': 'event-record-class', 'name': 'e', 'payload-field-class': structure(t=selector, **of)}],
             b'')
    return path


@limit(60)
def many_labels_and_options_convert_quickly(case):
    """
    Each of many labels could match each of many options, by its name or by its name in CTF 1.8. The conversion takes a
    second or two, because it does not search linearly.
    """
    options = [['o%d' % i, named(name='o%d' % i)] for i in range(30000)]
    path = variants_by(case, 'many', {'x%d' % i: 100000 + i for i in range(60000)}, [options])
    status, _, err = read(case, [WAYMARK, 'convert', '--to', 'ctf', '-o', case.path('made'), path])
    check(status == 1 and b'too many labels' in err, 'status %d: %s', status, err.decode())


@limit(120)
def labels_beyond_the_limit_are_rejected(case):
    """
    CTF 1.8 repeats all labels of a selector for each of its variants. Up to the limit of the reader they are written
    and read; beyond it the conversion is rejected.
    """
    most, refusal = 1 << 22, b'too many labels'
    n = 6000
    labels = dict({'o': 0}, **{'x%d' % i: 100000 + i for i in range(n - 1)})
    for variants in (most // n, most // n + 1):
        path = variants_by(case, 'labels%d' % variants, labels, [[['o', {}]]] * variants)
        out = path + 'x'
        status, _, err = read(case, [WAYMARK, 'convert', '--to', 'ctf', '-o', out, path])
        check(status == (variants > most // n) and (refusal in err) == bool(status), '%d variants: status %d: %s',
              variants, status, err.decode())
        if not status:
            check(view(case, out) == view(case, path), '%d variants: the trace differs', variants)
    # A selector without labels gets one for each option: fewer than the limit, but with names too long to search.
    path = variants_by(case, 'long', None, [[['o%05d' % i + 'o' * 230, {}] for i in range(12500)]])
    status, _, err = read(case, [WAYMARK, 'convert', '--to', 'ctf', '-o', case.path('made'), path])
    check(status == 1 and refusal in err, 'long names: status %d: %s', status, err.decode())


def environment_entries_that_ctf_18_cannot_express_are_dropped(case):
    """
    Entries that CTF 1.8 expresses otherwise, or cannot express, are dropped with a report. Names of environment entries
    stay distinct.
    """
    plain = [{'type': 'preamble', 'version': 2}, {'type': 'data-stream-class'}]
    levels = {'log-level': 'error'}
    for n, (of_trace, of_event, wanted, gone, words) in enumerate(
        (({}, {'loglevel': 9, 'x': 9}, ('x = 9;', ), ('loglevel = 9', ), BESIDE),
         ({}, {'loglevel': 99}, ('loglevel = 99;', ), (), None), ({}, {'s': 'a\0b',
                                                                       't': 'a'}, ('t = "a";', ), ('s = ', ), BESIDE),
         ({}, {'s': {'word': 'a\0b'}, 't': {'word': 'a'}}, ('t = a;', ), ('s = ', ),
          BESIDE), ({'a b': 1, 'a_b': 2, '': 3, 'unnamed': 4,
                     'a+b': 5}, {}, ('a_b = 2;', 'unnamed = 4;'), (), 'names that are not identifiers'))):
        event = {'type': 'event-record-class', 'name': 'e', 'payload-field-class': structure(a=number(8))}
        if of_event:
            event['attributes'] = {'waymark,2026': {'entries': of_event}}
            event.update(levels if 'x' in of_event else {})
        path = os.path.join(case.path('entries%d' % n), 't')
        save_two(path, [
            plain[0],
            dict({'type': 'trace-class'}, **({'environment': of_trace} if of_trace else {})), plain[1], event
        ], b'\1')
        message, out = convert_message(case, 'ctf', path)
        text = metadata_of(out)
        check(words in message if words else not message, '%s: the message is "%s"', of_trace or of_event, message)
        check(all(w in text for w in wanted) and not any(g in text for g in gone), '%s: %s', of_trace or of_event, text)
        names = re.findall(r'\t(\w+) = \d', text.split('env {')[-1].split('}')[0]) if of_trace else []
        check(len(names) == len(set(names)) == len(of_trace), '%s: wrong names %s', of_trace, names)


def named(**attributes):
    return {'attributes': {'waymark,2026': attributes}}


BESIDE = 'attributes, namespaces and unique ids'


CLOCKS = 'clock { name = c; freq = 1000000000; };\nclock { name = d; freq = 1000; };\n'
TIME = 'integer { size = %d; align = 8; signed = false; map = clock.%s.value; } %s; '


def clock_mapped_integers_survive_the_ctf_round_trip(case):
    """
    Integers that hold values of a clock are mapped to that clock again after a conversion to CTF 2 and back. The same
    holds for times of another clock than the stream's.
    """
    context, header = TIME % (64, 'c', 'timestamp_begin'), TIME % (32, 'c', '_timestamp')
    data = struct.pack('<QQ', 5, 7) + struct.pack('<IQBQ', 9, 11, 1, 13)
    for n, (parts, kept) in enumerate((
        ((context + TIME % (64, 'c', '_at'), header, TIME % (64, 'c', '_in'), 'u8 _n; ' + TIME % (64, 'c', '_until')),
         3),
        ((context + TIME % (64, 'd', '_at'), header, TIME % (64, 'd', '_in'), 'u8 _n; ' + TIME % (64, 'd', '_until')),
         3),
            # the first time in the context gives the stream its clock if records have no time
        ((TIME % (64, 'd', '_at') + context, 'integer { size = 32; align = 8; } id; ', TIME % (64, 'c', '_in'),
          'u8 _n; struct { ' + TIME % (64, 'd', '_x[1]') + '} _s;'), 4),
        ((TIME % (64, 'd', 'timestamp_begin') + TIME % (64, 'd', 'timestamp_end'), header, TIME % (64, 'c', '_in'),
          'u8 _n; u8 _x[8];'), 3),
        ((context + 'integer { size = 64; align = 8; } _at; ',
          TIME % (16, 'c', '_timestamp') + TIME % (16, 'd', '_other'), TIME % (64, 'd', '_in'),
          'u8 _n; enum : ' + (TIME % (64, 'd', '')).replace('} ;', '}') + ' { L } _e; '), 3))):
        text = TSDL.replace(
            'trace', CLOCKS + 'trace'
        ) + 'stream { packet.context := struct { %s }; event.header := struct { %s }; ' \
            'event.context := struct { %s }; };\n' % parts[:3]
        path = hostile(case, 'clocks%d' % n,
                       text + 'event { name = "e"; id = 9; fields := struct { %s }; };\n' % parts[3], data)
        message, two = convert_message(case, 'ctf-2', path)
        direct_message, direct = convert_message(case, 'ctf', path)
        message_again, again = convert_message(case, 'ctf', two)
        check(not message and not direct_message and not message_again, '%s: the messages are "%s", "%s", "%s"', parts,
              message, direct_message, message_again)
        check(metadata_of(two).count('"waymark,2026"') == kept, '%s: %s', parts, metadata_of(two))
        check(
            re.findall('clock.(.).value', metadata_of(again)) == re.findall('clock.(.).value', text + parts[3]),
            '%s: %s', parts, metadata_of(again))
        check(metadata_of(again) == metadata_of(direct), '%s: CTF 1.8 made from CTF 2 is %s', parts, metadata_of(again))
        check(
            metadata_of(convert_message(case, 'ctf-2', again)[1]) == metadata_of(two),
            '%s: CTF 2 made from that differs', parts)
        check(
            view(case, again) == view(case, direct) == view(case, path) and len(view(case, path)[0]) == 1,
            '%s: the records differ', parts)
        got = fields_of(two)
        check(got['common-context'] == {'in': 11} and got['payload']['n'] == 1, '%s: in CTF 2 %s', parts, got)


def invalid_clock_attributes_of_ctf_2_are_ignored_with_report(case):
    """
    An attribute with a clock is ignored, with a report, if the clock does not exist or is ambiguous, or if the
    attribute would change the clock of the stream or make a field a time.
    """
    def of(bits, *roles, **attributes):
        return dict(number(bits, *roles), **named(**attributes))

    stamp, fine = number(16, 'default-clock-timestamp'), {'n': number(8)}
    for n, (context, header, payload, maps, words) in enumerate(
        (({}, {'t': stamp}, {'n': of(8, clock='d')}, 'cd', None), ({}, {'t': stamp}, {'n': of(8,
                                                                                              clock='c')}, 'cc', None),
         ({}, {'t': stamp}, {'n': of(8,
                                     clock='t')}, 'c', BESIDE), ({}, {'t': stamp}, {'n': of(8,
                                                                                            clock='e')}, 'c', BESIDE),
         ({}, {'t': stamp}, {'n': of(8, clock=5)}, 'c',
          BESIDE), ({}, {'t': stamp}, {'n': of(8, clock=['c'])}, 'c',
                    BESIDE), ({}, {'t': stamp}, {'n': of(8, clock='c.value; } a; integer { map = clock.c')}, 'c',
                              BESIDE), ({}, {'t': stamp}, {'n': of(8, clock='d', more=1)}, 'cd',
                                        BESIDE), ({}, {'t': stamp}, {'n': of(8, clock='d\0')}, 'c',
                                                  BESIDE), ({}, {'t': stamp}, {'n': of(8, clock='')}, 'c', BESIDE),
         ({}, {'t': stamp}, {'n': dict(of(8, clock='d'), type='fixed-length-boolean')}, 'c',
          BESIDE), ({}, {'t': stamp, 'x': of(16, clock='c')}, fine, 'c',
                    BESIDE), ({}, {'t': stamp, 'x': of(16, 'default-clock-timestamp', clock='d')}, fine, 'cd',
                              None), ({}, {'x': of(16, 'default-clock-timestamp', clock='d'), 't': stamp}, fine, 'cc',
                                      BESIDE), ({'x': of(16, clock='d')}, {'t': stamp}, fine, 'dc', None),
         ({'x': of(16, clock='d')}, {}, fine, '', BESIDE), ({'x': of(16, clock='c')}, {}, fine, 'c', None),
         ({'x': of(16, clock='d'),
           'timestamp_begin': stamp}, {}, fine, 'c', BESIDE), ({'timestamp_begin': stamp,
                                                                'x': of(16, clock='d')}, {}, fine, 'cd', None))):
        # clocks of one name get numbers
        clocks = [{'type': 'clock-class', 'id': name + str(i), 'name': name, 'frequency': 1000, 'origin': 'unix-epoch'}
                  for i, name in enumerate('cdtt' if "'t'}" in str(payload) else 'cd')]
        parts = {
            'packet-context-field-class': structure(**context), 'event-record-header-field-class': structure(**header)
        }
        fragments = [{'type': 'preamble', 'version': 2}, {'type': 'trace-class'}, *clocks,
                     dict(parts, type='data-stream-class', **{'default-clock-class-id': 'c0'}),
                     {'type': 'event-record-class', 'name': 'e', 'payload-field-class': structure(**payload)}]
        path = os.path.join(case.path('clock%d' % n), 't')
        save_two(path, fragments, b'\1\0' * (len(context) + len(header)) + b'\1')
        message, out = convert_message(case, 'ctf', path)
        check(words in message if words else not message, '%s %s %s: the message is "%s"', context, header, payload,
              message)
        check(''.join(re.findall(r'clock\.(\w)(?:_[0-9])?\.value', metadata_of(out))) == maps, '%s %s %s: %s', context,
              header, payload, metadata_of(out))
        times = [[(r.get('time'), list(r['fields'])) for r in records_of(case, where)] for where in (path, out)]
        # CTF 1.8 cannot express the clock of a stream without times
        check((times[0] == times[1] or not maps) and len(times[0]) == 1, '%s %s %s: the times differ: %s', context,
              header, payload, times)


def long_doubles_survive_the_ctf_round_trip(case):
    """
    CTF 2 holds x87 numbers as bits with an attribute. Both versions show the same values, also after a conversion back
    to CTF 1.8, and no loss is reported.
    """
    values = [1.5, -2.0, 0.1, 1e300, 0.0, 123456789.25]
    field = 'floating_point { exp_dig = 64; mant_dig = 64; align = %d; }'
    text = TSDL + 'event { name = "e"; fields := struct { u8 n; %s x; u4 a, b; %s y[2]; }; };\n' % (field % 8,
                                                                                                    field % 1)

    def bits(value):
        """An x87 number: 64 bits of mantissa with its leading bit, sign and exponent, and six bytes of padding."""
        mantissa, exponent = math.frexp(abs(value))
        high = (16382 + exponent if value else 0) | (math.copysign(1, value) < 0) << 15
        return struct.pack('<QH', int(mantissa * 2.0 ** 64), high) + b'\xa5' * 6

    path = hostile(
        case, 'real', text,
        b''.join(bytes([n]) + bits(value) + bytes([n]) + bits(-value) + bits(value) for n, value in enumerate(values)))
    message, two = convert_message(case, 'ctf-2', path)
    with open(os.path.join(two, 'metadata'), encoding='utf-8') as f:
        check('"long-double":true' in f.read().replace(' ', ''), 'no attribute long-double in %s', two)
    for source in (path, two):
        direct_message, out = convert_message(case, 'ctf', source)
        check(not message and not direct_message, 'the messages are "%s", "%s"', message, direct_message)
        with open(os.path.join(out, 'metadata'), encoding='utf-8') as f:
            check(f.read().count('exp_dig = 64; mant_dig = 64;') == 2, '%s has other types of numbers', out)
        for there in (source, out):
            got = [(of['n'], of['x'], *of['y']) for of in (r['fields'] for r in records_of(case, there))]
            check(got == [(n, value, -value, value) for n, value in enumerate(values)], '%s: %s', there, got)
    big = hostile(case, 'big', text.replace('byte_order = le', 'byte_order = be'), b'')
    status, _, err = read(case, [WAYMARK, *VIEW, big])
    check(status == 1 and b'x87' in err, 'status %d: %s', status, err.decode())


if __name__ == '__main__':
    main([
        tsdl_block_values_survive_the_ctf_round_trip, metadata_dropped_for_ctf_1_8_is_reported_by_kind,
        unselectable_variant_options_survive_the_ctf_round_trip, signed_variant_selectors_survive_the_ctf_round_trip,
        many_unselectable_variant_options_convert_quickly, many_labels_and_options_convert_quickly,
        labels_beyond_the_limit_are_rejected, environment_entries_that_ctf_18_cannot_express_are_dropped,
        clock_mapped_integers_survive_the_ctf_round_trip, invalid_clock_attributes_of_ctf_2_are_ignored_with_report,
        long_doubles_survive_the_ctf_round_trip
    ])
