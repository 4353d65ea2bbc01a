#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Numbers of up to 4096 bits, in both versions of the format: `waymark` and the library give the written values in each
form of output.
"""
import csv
import itertools
import json
import os
import sys
from fractions import Fraction

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
import ctf2  # noqa: E402
import perfetto  # noqa: E402
import wide_output as shown  # noqa: E402
from harness import PERCENT, VIEW, WAYMARK, check, limit, main, need, rounds  # noqa: E402
from t_convert_ctf import rewritten  # noqa: E402
from t_view import BROKEN, read  # noqa: E402
from traces import Failure  # noqa: E402
from wide_numbers import (  # noqa: E402
    EDGES, REALS, WIDEST, Array, Bits, Leaf, Made, Struct, encoded, format_of, nearest, real_bits, scratch,
    some_integer, span)
from wide_traces import some_trace  # noqa: E402

csv.field_size_limit(1 << 30)
BYTE = Leaf('unsigned', 8, align=8)
FORMS = ('text', 'json', 'csv', 'chrome', 'perfetto', 'library')
ORDERS = tuple(itertools.product(('le', 'be'), (False, True)))


def run(case, argv, statuses=(0,)):
    status, lines, err = read(case, argv)
    check(status in statuses and not any(words in err for words in BROKEN), '%s: status %s: %s', ' '.join(argv[1:]),
          status, err[-800:].decode(errors='replace'))
    return status, lines, err


def directory_of(path):
    return next(top for top, _, files in os.walk(path) if 'metadata' in files)


# ── a trace in every form ───────────────────────────────────────────────────────────────────────────────

def as_text(case, path, made, wanted):
    return run(case, [WAYMARK, *VIEW, path])[1], shown.check_text


def as_json(case, path, made, wanted):
    return run(case, [WAYMARK, 'view', '--json', path])[1], shown.check_object


def as_csv(case, path, made, wanted):
    out = case.path('table')
    run(case, [WAYMARK, 'convert', '--to', 'csv', '-o', out, path])
    with open(out, encoding='utf-8', newline='') as f:
        head, *rows = csv.reader(f)
    return [dict(zip(head[4:], row[4:])) for row in rows], shown.check_row


def as_perfetto(case, path, made, wanted):
    need('protoc')
    out = case.path('perfetto')
    run(case, [WAYMARK, 'convert', '--to', 'perfetto', '-o', out, path])
    return perfetto.events(perfetto.decode(out)), shown.check_event


def as_chrome(case, path, made, wanted):
    out = case.path('chrome')
    run(case, [WAYMARK, 'convert', '--to', 'chrome', '-o', out, path])
    with open(out, encoding='utf-8') as f:
        return [event for event in shown.parsed(f.read())['traceEvents'] if event['ph'] != 'M'], shown.check_drawn


def as_library(case, path, made, wanted):
    return run(case, [case.program('wide_numbers'), path])[1], shown.check_walk


def as_decoded(case, path, made, wanted):
    return list(ctf2.Trace(directory_of(path)).records()), shown.check_decoded


def compare(case, path, made, form):
    """Check all records of a trace in one form."""
    wanted = made.records()
    got, same = globals()['as_' + form](case, path, made, wanted)
    check(len(got) == len(wanted), '%s, %s: %d records, not %d', path, form, len(got), len(wanted))
    for number, (record, (context, of)) in enumerate(zip(got, wanted)):
        same(record, made, context, of, '%s, %s, record %d' % (path, form, number))


def plain_class(thing):
    """A field class of CTF 2 in one form: defaults are added, and equivalent forms are replaced."""
    if isinstance(thing, list):
        return list(map(plain_class, thing))
    if not isinstance(thing, dict):
        return thing
    made = {
        name: plain_class(value) for name, value in thing.items()
        if name not in ('selector-field-location', 'length-field-location', 'minimum-alignment')
    }
    kind = made.get('type', '')
    if 'byte-order' in made:
        made.setdefault('bit-order', 'first-to-last' if made['byte-order'] == 'little-endian' else 'last-to-first')
        made.setdefault('alignment', 1)
    if kind.endswith('integer'):
        made.setdefault('preferred-display-base', 10)
    elif kind == 'fixed-length-bit-array':              # is written as an unsigned integer
        made.update({'type': 'fixed-length-unsigned-integer', 'preferred-display-base': 16})
    for name in ('flags', 'mappings'):
        made[name] = {label: sorted(map(tuple, ranges)) for label, ranges in thing.get(name, {}).items()}
    if 'flags' in thing:
        made['flags'] = {
            label: {bit for low, high in ranges for bit in range(low, high + 1)}
            for label, ranges in thing['flags'].items()
        }
    return made


def classes_of(path):
    with open(os.path.join(directory_of(path), 'metadata'), encoding='utf-8') as f:
        fragments = [json.loads(text) for text in f.read().split('\x1e')[1:]]
    return [{name: plain_class(value) for name, value in fragment.items() if name.endswith('-field-class')}
            for fragment in fragments]


def same_classes(path, two):
    for was, now in zip(classes_of(path), classes_of(two)):
        for name, struct in was.items():
            for a, b in zip(struct.get('member-classes', []), now.get(name, {}).get('member-classes', [])):
                check(a == b, '%s: the class of %s changed: %s, not %s', two, a['name'], b, a)
            check(struct == now.get(name), '%s: %s changed: %s, not %s', two, name, now.get(name), struct)


def in_version_2(case, path, made):
    """Converted to CTF 2 again: the same classes, the same values in both decoders, and the names of bits."""
    two = rewritten(case, 'ctf-2', path)
    if made.version == 2:
        same_classes(path, two)
    for form in ('decoded', 'json'):
        compare(case, two, made, form)
    check(
        run(case, [WAYMARK, *VIEW, two])[1] == run(case, [WAYMARK, *VIEW, path])[1],
        '%s: the lines differ from those of %s', two, path)
    some = ('-F', '$event == "e0"')
    wanted = run(case, [WAYMARK, *VIEW, *some, path])[1]
    check(len(wanted) == sum(record[0] == 0 for _, record in made.records()), '%s: %d records of e0', path, len(wanted))
    check(
        run(case, [WAYMARK, *VIEW, rewritten(case, 'ctf-2', path, *some)])[1] == wanted,
        '%s: wrong records with a filter', path)


def is_said_by_1(made):
    """Whether CTF 1.8 can express the trace. None: it may be refused."""
    leaves = list(made.leaves())
    if any(leaf.length is None or leaf.backwards and leaf.length > 1 for leaf in leaves):
        return False
    is_long = any(leaf.kind == 'boolean' and leaf.length > 64 for leaf in leaves)
    return None if any(leaf.backwards for leaf in leaves) or b'"optional"' in made.metadata() or is_long else True


def in_version_1(case, path, made):
    said = is_said_by_1(made)
    out = scratch(case, 'old')
    os.makedirs(os.path.dirname(out))
    status, _, err = run(case, [WAYMARK, 'convert', '--to', 'ctf', '-o', out, path], (0, 1))
    words = err.decode(errors='replace')
    if status:
        check(said is not True, '%s: CTF 1.8 can express it, but: %s', path, words)
        check('CTF 1.8' in words, '%s: the message does not name CTF 1.8: %s', path, words)
        return
    check(said is not False, '%s: CTF 1.8 cannot express it, but the conversion succeeded', path)
    lines = run(case, [WAYMARK, 'view', '--json', out])[1]
    check(len(lines) == len(made.records()), '%s: %d records', out, len(lines))
    for number, (line, (context, record)) in enumerate(zip(lines, made.records())):
        got, where = shown.parsed(line), '%s, record %d' % (out, number)
        for part, struct, value in shown.parts_of(made, context, record):
            shown.check_tree(got[part], struct, value, '%s: %s' % (where, part), check_old_leaf,
                             is_absent=lambda got: True)
    check([
        line
        for line in map(as_numbers,
                        run(case, [WAYMARK, 'view', '--json', rewritten(case, 'ctf-2', out)])[1])
    ] == list(map(as_numbers, lines)), '%s: its conversion to CTF 2 has different records', out)


def as_numbers(line):
    got = json.loads(line)
    return {name: value for name, value in got.items() if name not in ('trace', 'stream')}


def check_old_leaf(got, node, value, where):
    """Like shown.check_json_leaf(), for classes that have another type in CTF 1.8."""
    if node.kind == 'boolean':
        number = got['value'] if isinstance(got, dict) else got
        check(number == str(value) or number is (value != 0), '%s: %s, not %s: %s', where, number, value,
              shown.described(node, value))
        return
    # A selector is an enumeration in CTF 1.8.
    if isinstance(got, dict) and not (node.labels and node.kind != 'map'):
        got = got['value']
    shown.check_json_leaf(got, node, value, where)


def all_forms(case, made, name, more=()):
    path = made.write(scratch(case, name))
    for form in (('decoded',) if made.version == 2 else ()) + FORMS + tuple(more):
        compare(case, path, made, form)
    in_version_2(case, path, made)
    in_version_1(case, path, made)
    return path


# ── cases ───────────────────────────────────────────────────────────────────────────────────────────────

@limit(600)
def random_ctf_2_values_are_equal_in_all_output_formats(case):
    """Random traces of CTF 2."""
    for _ in range(rounds(140)):
        simple = case.random.random() < 0.4            # only classes that CTF 1.8 can express
        all_forms(case, some_trace(case.random, 2, backwards=not simple, leb128=not simple), 'any')


@limit(600)
def random_ctf_1_values_are_equal_in_all_output_formats(case):
    """Random traces of CTF 1.8."""
    for _ in range(rounds(90)):
        all_forms(case, some_trace(case.random, 1), 'any')


def of_values(version, members, values, order='le', least=1, **more):
    """A trace of one event class with `values` as its records."""
    made = Made(version, order, [(None, Struct(members, least))], least=least, **more)
    return made, [(0, {}, None, None, value) for value in values]


def in_range(leaf, value):
    """The value, or that of its last bits if it does not fit."""
    low, high = span(leaf.length, leaf.signed)
    return value if low <= value <= high else (value - low) % (1 << leaf.length) + low


EDGE_LENGTHS = (65, 72, 127, 128, 129, 512, 4096)
EDGE_LABELS = {
    False: [('none', [(0, 0)]), ('top', [((1 << 64) - 1, (1 << 64) - 1)]), ('some', [(5, 9), (1 << 63, (1 << 63) + 1)]),
            ('too', [(9, 10)])], True: [('none', [(0, 0)]), ('top', [((1 << 63) - 1, (1 << 63) - 1)]),
                                        ('bottom', [(-(1 << 63), -(1 << 63))]), ('minus', [(-1, -1), (5, 9)]),
                                        ('too', [(-2, -1)])]
}


def edge_fields(version, length, order, backwards, first):
    """Numbers of one length in all display forms, after `first` bits that shift them."""
    def leaf(kind, base=10, labels=(), align=1):
        return Leaf(kind, length, order, backwards, align, base, labels)
    fields = [leaf(kind, base) for kind in ('unsigned', 'signed') for base in (10, 16, 8, 2)]
    fields += [
        leaf(kind, base, EDGE_LABELS[kind == 'signed'])
        for kind, base in (('unsigned', 10), ('signed', 10), ('unsigned', 16), ('signed', 2))
    ]
    if version == 2:
        fields += [leaf('boolean')] if backwards or first % 2 else []       # (CTF 1.8 cannot express this one)
        fields += [
            leaf('array'),
            leaf('map', labels=[('first', [(0, 0)]), ('high', [(64, 64)]), ('last', [(length - 1, length - 1),
                                                                                     (3, 62)])])
        ]
    before = [('before', Leaf('unsigned', first, order))] if first else []
    return before + [('f%d' % n, field) for n, field in enumerate(fields)]


def edge_traces(case):
    for version, length in [(2, length) for length in EDGE_LENGTHS
                            ] + [(1, length) for length in case.random.sample(EDGE_LENGTHS, max(2, rounds(7)))]:
        combinations = list(itertools.product(ORDERS if version == 2 else ORDERS[::2], range(8)))
        for (order, backwards), first in case.random.sample(combinations, min(len(combinations), rounds(6))):
            members = edge_fields(version, length, order, backwards, first)
            lows = [span(length, signed)[end] for signed in (False, True) for end in (0, 1)]
            values = (EDGES if PERCENT >= 100 else case.random.sample(EDGES, 24)) + [
                edge + more for edge in lows for more in (-1, 0, 1)
            ] + [1 << length // 2, some_integer(case.random, length, True)]
            made, records = of_values(version, members, [{name: in_range(leaf, value) for name, leaf in members}
                                                         for value in values], order)
            for part in range(0, len(records), 20):
                made.packet(case.random, records[part:part + 20])
            yield made


@limit(600)
def edge_values_are_equal_in_all_output_formats(case):
    """The least and greatest numbers, and those around the limits of 64 bits, in each base."""
    for made in edge_traces(case):
        all_forms(case, made, 'edge')


def leb128(groups):
    """The bytes of the groups, lowest first."""
    return bytes(group | (0x80 if n < len(groups) - 1 else 0) for n, group in enumerate(groups))


def real_values(length):
    """Bits of numbers that reveal a wrong rounding, a wrong range or a wrong sign."""
    width, digits = format_of(length)
    bias, most = (1 << width - 1) - 1, (1 << width) - 1
    fractions = [0, 1, 1 << digits - 1, (1 << digits) - 1]
    found = [
        real_bits(length, sign, exponent, fraction) for sign in (False, True)
        for exponent in (0, 1, bias, bias + 1, most - 1, most) for fraction in fractions
    ]
    if digits > 60:
        # Next to the middle between two doubles; next to the greatest double; below the smallest one.
        for top, exponent in itertools.product((0, 1, 2, (1 << 52) - 1),
                                               (0, 1, 1023, -1022, -1023, -1050, -1073, -1074, -1075, 1024, 5)):
            for rest in (0, 1 << digits - 53, (1 << digits - 53) + 1, (1 << digits - 53) - 1,
                         (1 << digits - 53) + (1 << digits - 60)):
                found.append(real_bits(length, top == 1, exponent + bias, top << digits - 52 | rest))
    return found + [encoded(value, length) for value in (1, -1, 2, -3, 1024)]


@limit(600)
def reals_round_to_the_nearest_double(case):
    """Every format is rounded to the nearest double, ties to even, and to infinity beyond the range."""
    for length in [
            128, *case.random.sample(REALS, max(3, rounds(len(REALS)))),
            *case.random.sample(range(160, WIDEST + 1, 32), max(2, rounds(10)))
    ]:
        order, backwards = case.random.choice(ORDERS)
        version = case.random.choice((1, 2)) if not backwards else 2
        first = case.random.randrange(8)
        members = ([('before', Leaf('unsigned', first, order))] if first else []) + [
            ('x', Leaf('real', length, order, backwards)), ('n', Leaf('unsigned', 16, order))
        ]
        values = real_values(length) + [members[-2][1].draw(case.random) for _ in range(20)]
        made, records = of_values(
            version, members,
            [{name: value if name == 'x' else n
              for name, _ in members} if not first else {'before': n & (1 << first) - 1, 'x': value, 'n': n}
             for n, value in enumerate(values)], order)
        for part in range(0, len(records), 40):
            made.packet(case.random, records[part:part + 40])
        all_forms(case, made, 'real')


def texts_of_the_reader_library_are_valid_as_long_as_the_record(case):
    """Texts that the library returns remain valid as long as the record."""
    fields = [('x', Leaf('unsigned', 128)), ('y', Leaf('signed', 128)), ('z', Array(Leaf('unsigned', 65), 3)),
              ('l', Leaf('signed', None))]
    made, records = of_values(2, fields,
                              [{'x': 1 << 64, 'y': -1 << 100, 'z': [1 << 64, 5, (1 << 64) + 7], 'l': 1 << 90}
                               for _ in range(2)])
    made.packet(case.random, records)
    path = made.write(scratch(case, 'stay'))
    for line in run(case, [case.program('wide_numbers'), path])[1]:
        gone = [value['name'] for scope in json.loads(line)['scopes'] for value in scope if not value['kept']]
        check(not gone, '%s: texts of %s changed before the next record', path, gone)


# ── names beyond 64 bits ────────────────────────────────────────────────────────────────────────────────

def labels_of_values_beyond_64_bits_are_shown_or_rejected(case):
    """
    CTF 2 names values of any size: their labels are shown, or the metadata is refused with a message. Flags of all bits
    are shown.
    """
    far = 1 << 150
    labels = {
        False: [('low', [(0, 1 << 64)]), ('high', [((1 << 64) + 1, far)]),
                ('far', [(far + 1, far + 1), (1 << 199, (1 << 200) - 1)])],
        True: [('minus', [(-far, -1)]), ('zero', [(0, 0)]), ('low', [(1, 1 << 63)]), ('high', [((1 << 63) + 1, far)]),
               ('least', [(-(1 << 199), -(1 << 199))])]
    }
    flags = [('all', [(0, 199)]), ('first', [(0, 0)]), ('at64', [(64, 64)]), ('around', [(63, 65)]),
             ('high', [(128, 190), (192, 192)]), ('last', [(199, 199)])]
    for order, backwards in ORDERS:
        members = [('u', Leaf('unsigned', 200, order, backwards, labels=labels[False])),
                   ('s', Leaf('signed', 200, order, backwards, labels=labels[True])),
                   ('m', Leaf('map', 200, order, backwards, labels=flags)),
                   ('lu', Leaf('unsigned', None, labels=labels[False])),
                   ('ls', Leaf('signed', None, labels=labels[True]))]
        values = [
            0, 1, -1, 5, (1 << 63) - 1, 1 << 63, (1 << 63) + 1, (1 << 64) - 1, 1 << 64, (1 << 64) + 1, far, far + 1,
            far + 2, -far, -far - 1, -(1 << 63), -(1 << 63) - 1, -(1 << 199), 1 << 198, 1 << 190, 1 << 191, 1 << 192,
            1 << 65
        ]
        made, records = of_values(2, members, [{
            name: in_range(leaf, value) if leaf.length else value if leaf.signed else abs(value)
            for name, leaf in members
        } for value in values], order)
        made.packet(case.random, records)
        path = made.write(scratch(case, 'names'))
        compare(case, path, made, 'decoded')
        if run(case, [WAYMARK, *VIEW, path], (0, 1))[0] == 1:
            check(b'more than 64 bits' in run(case, [WAYMARK, *VIEW, path], (1, ))[2],
                  '%s: the message does not name the limit of 64 bits', path)
            continue
        for form in FORMS:
            compare(case, path, made, form)
        in_version_2(case, path, made)


def names_of_bits_above_64_are_preserved_by_conversion(case):
    """The names of a bit map's bits, converted to CTF 2 again."""
    for length, (order, backwards) in itertools.product((65, 128, 200, 4096), ORDERS):
        maker = [('n%d' % bit, [(bit, bit)]) for bit in sorted(case.random.sample(range(length), min(40, length)))
                 ] + [('all', [(0, length - 1)]), ('top', [(length - 1, length - 1)])]
        members = [('shift', Leaf('unsigned', 5, order)), ('m', Leaf('map', length, order, backwards, labels=maker))]
        made, records = of_values(2, members,
                                  [{'shift': bit & 31, 'm': 1 << bit}
                                   for bit in sorted({0, 63, 64, length - 1, *case.random.sample(range(length), 5)})] +
                                  [{'shift': 1, 'm': 0}, {'shift': 2, 'm': (1 << length) - 1}], order)
        made.packet(case.random, records)
        in_version_2(case, made.write(scratch(case, 'map')), made)


@limit(300)
def numbers_that_cross_reader_windows_are_decoded(case):
    """Streams larger than a reader's window: numbers cross the borders of windows."""
    for version in (2, 1):
        members = [('a', Leaf('unsigned', 5)), ('b', Leaf('signed', 4096)), ('c', Leaf('unsigned', 4095, base=16)),
                   ('d', Array(Leaf('unsigned', 1000), 3)), ('e', Leaf('real', 4096))]
        if version == 2:
            members += [('f', Leaf('signed', None)), ('g', Leaf('array', 77, backwards=True)),
                        ('h', Leaf('boolean', 4000))]
        made = Made(version, 'le', [(None, Struct(members))])
        for count in (1, 90, 3, 60):
            made.packet(case.random, [made.draw(case.random) for _ in range(count)])
        check(len(made.data) > 3 * 65536, 'only %d bytes', len(made.data))
        path = made.write(scratch(case, 'long'))
        for form in ('text', 'json', 'library'):
            compare(case, path, made, form)
        two = rewritten(case, 'ctf-2', path)
        check(
            run(case, [WAYMARK, *VIEW, two])[1] == run(case, [WAYMARK, *VIEW, path])[1],
            '%s: the lines differ from those of %s', two, path)


# ── the test itself ─────────────────────────────────────────────────────────────────────────────────────

def checks_of_wide_numbers_reject_wrong_values(case):
    """The checks of this file fail for wrong values, and its own numbers are correct."""
    check(nearest(encoded(1 + Fraction(1, 1 << 53), 128), 128) == (1.0, False), 'a tie is not rounded to even')
    check(
        nearest(0x3fff8000000000000000000000000000, 128) == (1.5, False)
        and nearest(0x4000921fb54442d18469898cc51701b8, 128) == (3.141592653589793, False), 'binary128')
    check(
        nearest(0x7bff, 16) == (65504.0, False) and format_of(256) == (19, 236) and format_of(128) == (15, 112),
        'formats')
    check(
        shown.number_text(Leaf('signed', 65, base=8), -1) == '0' + '7' * 22
        and shown.number_text(Leaf('signed', 66, base=16), -2) == '0x' + 'F' * 16 + 'E', 'negative numbers')
    check(
        shown.number_text(Leaf('unsigned', 66, base=2), 5) == '0b' + '0' * 63 + '101'
        and shown.number_text(Leaf('array', 66), 0) == '0x0', 'digits')
    bits = Bits(case.random)
    for value, length, order, backwards in ((5, 3, 'le', False), (0x1ab, 9, 'le', False), (6, 4, 'le', True)):
        bits.put(value, length, order, backwards)
    check(bits.data == bytes([5 | 0xab << 3 & 0xff, 0x1ab >> 5 | 6 << 4]), 'bits are %s', bits.data.hex())
    planted = 0
    for _ in range(20):
        made = some_trace(case.random, 2, records=1)
        context, record = made.records()[0]
        leaves = [(name, leaf) for name, leaf in made.events[record[0]][1].members
                  if isinstance(leaf, Leaf) and leaf.kind in ('unsigned', 'signed')]
        if not leaves:
            continue
        name, leaf = case.random.choice(leaves)
        good = '{"event":"e%d"%s}' % (record[0], ''.join(
            ',"%s":%s' % (part, object_of(struct, value))
            for part, struct, value in shown.parts_of(made, context, record)))
        shown.check_object(good, made, context, record, 'good')
        other = (*record[:4], dict(record[4], **{name: record[4][name] ^ 1 << case.random.randrange(leaf.length or 7)}))
        try:
            shown.check_object(good, made, context, other, 'bad')
        except Failure:
            planted += 1
        else:
            check(False, 'a wrong value of %s was not found', shown.described(leaf, record[4][name]))
    check(planted > 3, 'only %d mistakes were planted', planted)


def object_of(node, value):
    """The expected output of `view --json`."""
    if isinstance(node, Leaf) and node.kind == 'real':
        number = nearest(value, node.length)[0]
        return {'nan': '"NaN"', 'inf': '"Infinity"', '-inf': '"-Infinity"'}.get(repr(number)) or '%.17g' % number
    if isinstance(node, Leaf):
        label = (shown.names_of(node, value) or [None])[0]
        is_label = node.labels and node.kind in ('unsigned', 'signed')
        return json.dumps(value != 0 if node.kind ==
                          'boolean' else {'label': label, 'value': value} if is_label else value)
    if isinstance(node, Array):
        return '[%s]' % ','.join(object_of(node.element, inner) for inner in value)
    if isinstance(node, Struct):
        return '{%s}' % ','.join('"%s":%s' % (name, object_of(inner, value[name])) for name, inner in node.members)
    return 'null' if value[0] is None else object_of(node.options[value[0]][2], value[1])


if __name__ == '__main__':
    main([
        checks_of_wide_numbers_reject_wrong_values, random_ctf_2_values_are_equal_in_all_output_formats,
        random_ctf_1_values_are_equal_in_all_output_formats, edge_values_are_equal_in_all_output_formats,
        reals_round_to_the_nearest_double, texts_of_the_reader_library_are_valid_as_long_as_the_record,
        labels_of_values_beyond_64_bits_are_shown_or_rejected, names_of_bits_above_64_are_preserved_by_conversion,
        numbers_that_cross_reader_windows_are_decoded
    ])
