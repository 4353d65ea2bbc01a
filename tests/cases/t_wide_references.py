#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Numbers of up to 4096 bits that other data depend on: filters, lengths, selectors, ids, times; and damage in them.
(t_wide_numbers.py tests how they are shown.)
"""
import functools
import itertools
import json
import os
import struct as bytes_of
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
import ctf2  # noqa: E402
import wide_output as shown  # noqa: E402
from ctf18 import save  # noqa: E402
from harness import PERCENT, VIEW, WAYMARK, check, limit, main, rounds  # noqa: E402
from t_convert_ctf import rewritten  # noqa: E402
from t_wide_numbers import (  # noqa: E402
    BYTE, EDGE_LABELS, ORDERS, compare, directory_of, in_range, leb128, of_values, run)
from wide_numbers import (  # noqa: E402
    EDGES, MOST_GROUPS, WIDEST, Array, Bits, Choice, Leaf, Made, Struct, scratch, span)

# ── filters ──────────────────────────────────────────────────────────────────────────────────────────────

COMPARISONS = {
    '==': lambda a, b: a == b, '!=': lambda a, b: a != b, '<': lambda a, b: a < b, '<=': lambda a, b: a <= b,
    '>': lambda a, b: a > b, '>=': lambda a, b: a >= b
}
LITERALS = [
    0, 1, 5, -1, -5, 255, 10**18, (1 << 63) - 1, (1 << 64) - 1, (1 << 64) - 2, (1 << 63) + 1, -(1 << 63) + 1, 1 << 62
]


@limit(300)
def filter_compares_wide_integers_as_nearest_64_bit_values(case):
    """A filter uses the nearest number of 64 bits."""
    for version in (2, 1):
        fields = [('x', Leaf('unsigned', 128)), ('bits', Leaf('unsigned', 3)), ('y', Leaf('signed', 200)),
                  ('e', Leaf('unsigned', 72, base=16, labels=EDGE_LABELS[False])),
                  ('s', Leaf('signed', 65, labels=[('none', [(0, 0)])])), ('q', Array(Leaf('unsigned', 4096), 2)),
                  ('n', Leaf('unsigned', 16)), ('z', Leaf('signed', 65))]
        if version == 2:
            fields += [('a', Leaf('array', 65)), ('m', Leaf('map', 70, labels=[('bit', [(69, 69)])])),
                       ('b', Leaf('boolean', 100)), ('l', Leaf('unsigned', None)), ('k', Leaf('signed', None, align=8))]
        edges_of = {
            True: [edge for edge in EDGES if abs(edge) < 1 << 128],
            False: [abs(edge) for edge in EDGES if abs(edge) < 1 << 128]
        }

        def value(name, leaf, n):
            if name in ('n', 'bits'):
                return n & (1 << leaf.length) - 1
            if isinstance(leaf, Array):
                return [value('', leaf.element, n) for _ in range(2)]
            picked = case.random.choice(edges_of[leaf.signed]) + case.random.choice((0, 0, 0, 1))
            return in_range(leaf, picked) if leaf.length else picked

        made, records = of_values(version, fields,
                                  [{name: value(name, leaf, n) for name, leaf in fields} for n in range(120)])
        for part in range(0, 120, 40):
            made.packet(case.random, records[part:part + 40])
        path = made.write(scratch(case, 'filtered'))
        named = dict(fields)
        leaves = [(name, leaf, lambda of, name=name: of[name]) for name, leaf in fields
                  if isinstance(leaf, Leaf) and leaf.kind != 'boolean']
        leaves.append(('q[1]', named['q'].element, lambda of: of['q'][1]))

        def chosen(expression):
            return [
                json.loads(line)['fields']['n']
                for line in run(case, [WAYMARK, 'view', '--json', '--filter', expression, path])[1]
            ]

        def asked(expression, wanted):
            numbers, got = [of['n'] for *_, of in records if wanted(of)], chosen(expression)
            check(got == numbers, '%s, %s: records %s, not %s: %s', path, expression, got, numbers,
                  [of for *_, of in records if of['n'] in set(got) ^ set(numbers)][:2])
        for _ in range(rounds(300)):
            name, leaf, get = case.random.choice(leaves)
            operator, literal = case.random.choice(list(COMPARISONS)), case.random.choice(LITERALS)
            asked('%s %s %d' % (name, operator, literal), lambda of: COMPARISONS[operator]
                  (shown.clamped(leaf, get(of)), literal))
        for name, leaf, get in leaves:
            top = (1 << 63) - 1 if leaf.signed else (1 << 64) - 1
            asked('%s == %d' % (name, top), lambda of: get(of) >= top)
            asked('%s > 5' % name, lambda of: get(of) > 5)
            if leaf.signed:
                asked('%s < %d' % (name, -top), lambda of: get(of) < -top)
        asked('x > 5 && y < -5 || q[0] == 0', lambda of: of['x'] > 5 and of['y'] < -5 or of['q'][0] == 0)
        asked('x in [0, 1, 18446744073709551615]', lambda of: of['x'] in (0, 1) or of['x'] >= (1 << 64) - 1)
        asked('e == "none"', lambda of: of['e'] == 0)
        asked('exists(x) && n % 2 == 1', lambda of: of['n'] % 2 == 1)
        if version == 2:
            asked('b == "true"', lambda of: of['b'] != 0)
            asked('b == "false" && l > 5', lambda of: of['b'] == 0 and of['l'] > 5)
        # The other records do not change when a filter removes some.
        for form in ('ctf-2',) + (('ctf',) if version == 1 else ()):
            out = rewritten(case, form, path, '-F', 'x > 5')
            check(
                run(case, [WAYMARK, *VIEW, out])[1] == run(case, [WAYMARK, *VIEW, '-F', 'x > 5', path])[1],
                '%s in %s: wrong records', path, form)


class Bytes:
    """A text or a blob with the length of an earlier member."""
    alignment = 8

    def __init__(self, kind, of):
        self.kind, self.of = kind, of

    def leaves(self):
        return ()

    def json(self):
        return {'type': 'dynamic-length-' + self.kind, 'length-field-location': {'path': [self.of]}}

    def write(self, out, value):
        out.align(8)
        for byte in value:
            out.put(byte, 8, 'le')
        return value


def dependents(case, leaf, good):
    """[(field class, value)] for each use of an unsigned number: as a length of `good`, or as a selector."""
    options = [('a', [(0, 4)], BYTE), ('b', [((1 << 63) - 1, (1 << 63) - 1)], BYTE),
               ('c', [(1 << 63, (1 << 64) - 1)] if not leaf.signed else [(-(1 << 63), -1)], BYTE)]
    yield Choice('of', options, False), (0, 7)
    if not leaf.signed:
        yield Array(BYTE, of='of'), [7] * good
    yield Choice('of', [('x', [pair for _, ranges, _ in options for pair in ranges], BYTE)], True), (0, 7)
    if not leaf.signed:
        yield Bytes('blob', 'of'), b'x' * good
        yield Bytes('string', 'of'), b'x' * good


@limit(300)
def wide_length_or_selector_beyond_64_bits_is_damage(case):
    """
    A length or selector that fits into 64 bits is used. Otherwise the record is damaged: the records before it and the
    other packets are read.
    """
    unfit = {
        False: [1 << 64, (1 << 64) + 2, 1 << 70, 3 << 64],
        True: [1 << 63, 1 << 64, (1 << 64) + 2, -(1 << 63) - 1, -(1 << 64) + 2, -(1 << 64) - 1]
    }
    for version, kind, (order, backwards) in itertools.product((2, 1), ('unsigned', 'signed'), ORDERS):
        if version == 1 and backwards:
            continue
        for length in case.random.sample((73, 100, 128, 200, 4096, None), rounds(6)):
            if version == 1 and length is None:
                continue
            leaf = Leaf(kind, length, order, backwards)
            for of, good in dependents(case, leaf, 2):
                if version == 1 and not isinstance(of, (Array, Choice)) or version == 1 and isinstance(
                        of, Choice) and of.is_optional:
                    continue
                leaf.labels = [(option, ranges)
                               for option, ranges, _ in of.options] if version == 1 and isinstance(of, Choice) else []
                members = [('n', BYTE), ('shift', Leaf('unsigned', 3, order)), ('of', leaf), ('what', of),
                           ('end', BYTE)]
                value = case.random.choice(unfit[leaf.signed] +
                                           ([] if length is None else [span(length, leaf.signed)[1]]))
                made, records = of_values(
                    version, members, [{'n': n, 'shift': n & 7, 'of': 2 if n != 4 else value, 'what': good, 'end': n}
                                       for n in range(9)], order)
                for part in (records[:3], records[3:7], records[7:]):
                    made.packet(case.random, part)
                path = made.write(scratch(case, 'of'))
                about = '%s: %s with %s' % (path, shown.described(leaf, value), type(of).__name__)
                status, lines, err = run(case, [WAYMARK, 'view', '--json', path], (0, 1))
                got = [(of['n'], of['end']) for of in (json.loads(line)['fields'] for line in lines)]
                check(got == [(n, n) for n in (0, 1, 2, 3, 7, 8)], '%s: records %s', about, got)
                check(status == 1 and b'damaged' in err, '%s: status %d: %s', about, status, err.decode())
                status, lines, err = run(case, [WAYMARK, *VIEW, path], (1,))
                check(len(lines) == 6 and b'damaged' in err, '%s: %d lines: %s', about, len(lines), err.decode())
                _, lines, err = run(case, [case.program('wide_numbers'), path])
                check(
                    len(lines) == 6 and b'damage:' in err, '%s: the library gives %d records: %s', about, len(lines),
                    err.decode())
                two = rewritten(case, 'ctf-2', path, status=1)
                check(
                    len(run(case, [WAYMARK, *VIEW, two])[1]) == 6, '%s: the conversion to CTF 2 has other records',
                    about)


# ── refused metadata ────────────────────────────────────────────────────────────────────────────────────

def metadata_with_numbers_beyond_4096_bits_is_refused(case):
    """More than 4096 bits, and floats of an unknown format, are refused when the metadata is read."""
    tries = []
    longer = (WIDEST + 1, WIDEST + 4, 5000, 1 << 16, (1 << 16) + 8, (1 << 32) + 8, (1 << 64) - 1, 1 << 64,
              (1 << 64) + 8)
    for kind, length in itertools.product(('array', 'map', 'boolean', 'unsigned', 'signed'), longer):
        tries.append((of_values(2, [('x', Leaf(kind, length, labels=[('a', [(0, 0)])] if kind == 'map' else []))],
                                [])[0].metadata(), '%s of %d bits' % (kind, length)))
    for length in (WIDEST + 32, WIDEST + 1, 96, 129, 144, 80, 24, (1 << 32) + 128, 1 << 64):
        tries.append((of_values(2, [('x', Leaf('real', length))], [])[0].metadata(), 'real of %d bits' % length))
    old = of_values(1, [('x', BYTE)], [])[0].metadata()
    for length, signed, kind in itertools.product(
            longer, ('', 'signed = true; '), ('integer { size = %d; %s}', 'enum : integer { size = %d; %s} { a, b }')):
        tries.append((old.replace(BYTE.tsdl('x').encode(),
                                  ((kind + ' x;') % (length, signed)).encode()), kind % (length, signed)))
    for pair in ((16, 112), (15, 112), (15, 114), (14, 114), (19, 236), (18, 238), (20, 236), (11, 54), (8, 25),
                 (5, 12), (11, 85), (35, WIDEST - 3), (0, 128), (128, 0), (15, 0), ((1 << 32) + 15, 113),
                 (15, (1 << 32) + 113), (19, 13), (1 << 64, 1 << 64)):
        kind = 'floating_point { exp_dig = %d; mant_dig = %d; }' % pair
        tries.append((old.replace(BYTE.tsdl('x').encode(), (kind + ' x;').encode()), kind))
    for metadata, what in tries if PERCENT >= 100 else case.random.sample(tries, 40):
        path = os.path.dirname(scratch(case, 'refused'))
        save(path, metadata=metadata, stream=bytes(2000))
        status, lines, err = run(case, [WAYMARK, *VIEW, path], (1,))
        check(not lines and err.strip() and b'cannot read the trace' in err, '%s: %s: %s, %s', path, what, lines[:1],
              err.decode())


# ── time ────────────────────────────────────────────────────────────────────────────────────────────────

def stamped(path, stamps, begin=None, size=16):
    """
    A trace with these LEB128 numbers (bytes) as the times of its records. With `begin` = {first record: time}, packets
    have a begin time, and a size of `size` bits.
    """
    stamp = {'type': 'variable-length-unsigned-integer', 'roles': ['default-clock-timestamp']}

    def number(bits, *roles):
        return {
            'type': 'fixed-length-unsigned-integer', 'length': bits, 'byte-order': 'little-endian', 'alignment': 8,
            'roles': list(roles)
        }

    def struct(**members):
        return {
            'type': 'structure', 'member-classes': [{'name': name, 'field-class': of} for name, of in members.items()]
        }

    stream = {
        'type': 'data-stream-class', 'id': 0, 'default-clock-class-id': 'c',
        'event-record-header-field-class': struct(t=stamp)
    }
    if begin is not None:
        stream['packet-context-field-class'] = struct(size=number(32, 'packet-total-length', 'packet-content-length'),
                                                      at=number(64, 'default-clock-timestamp'))
    fragments = [{'type': 'preamble', 'version': 2}, {'type': 'trace-class'}, {
        'type': 'clock-class', 'id': 'c', 'frequency': 1000000000, 'origin': 'unix-epoch'
    }, stream, {'type': 'event-record-class', 'id': 0, 'name': 'e', 'payload-field-class': struct(n=dict(number(16)))}]
    fragments[-1]['payload-field-class']['member-classes'][0]['field-class'].pop('roles')
    bodies = [stamp + bytes_of.pack('<H', n) for n, stamp in enumerate(stamps)]
    data = b''.join(bodies)
    if begin is not None:
        firsts = sorted(begin) + [len(bodies)]
        packets = [(begin[first], b''.join(bodies[first:past])) for first, past in zip(firsts, firsts[1:])]
        data = b''.join(bytes_of.pack('<IQ', 8 * (12 + len(body)), at) + body for at, body in packets)
    os.makedirs(path)
    for name, what in (('metadata', ''.join('\x1e%s\n' % json.dumps(fragment)
                                            for fragment in fragments).encode()), ('stream', data)):
        with open(os.path.join(path, name), 'wb') as f:
            f.write(what)
    return path


def stamp_of(value, groups):
    return leb128([value >> 7 * n & 0x7f for n in range(groups)])


def times_of(case, path, *options):
    """[(ns, n)]"""
    got = [json.loads(line) for line in run(case, [WAYMARK, 'view', '--json', *options, path])[1]]
    return [(int(one['time'].replace('.', '')), one['fields']['n']) for one in got]


@limit(300)
def leb128_timestamps_advance_the_clock(case):
    """A record's time has the last bits of the clock, 7 for each byte (CTF 2, 6.3)."""
    path = stamped(scratch(case, 'stamps'), [b'\x64', b'\x14', b'\x1e'])
    check(times_of(case, path) == [(100, 0), (148, 1), (158, 2)], 'stamps of 100, 20, 30: %s', times_of(case, path))
    for _ in range(rounds(60)):
        now, stamps, begin, meant = case.random.randrange(1 << 40), [], {}, []
        for n in range(case.random.randint(2, 60)):
            is_first = case.random.random() < 0.2 or n == 0
            groups = case.random.randint(1, 9)
            if is_first:
                now = begin[n] = now + case.random.choice((0, 1, case.random.randrange(1 << 30)))
            now += case.random.randrange(min(1 << 7 * groups,
                                             1 << 45)) if case.random.random() < 0.7 else case.random.choice(
                                                 (0, 1, (1 << min(7 * groups, 45)) - 1))
            # More bytes than needed make another time: the upper bits are 0, and they replace those of the clock.
            stamps.append(stamp_of(now & (1 << 7 * groups) - 1, groups))
            meant.append((now, n))
        path = stamped(scratch(case, 'stamps'), stamps, begin)
        check([(record.cycles, record.fields['payload']['n']) for record in ctf2.Trace(path).records()] == meant,
              '%s: the Python decoder has different times', path)
        check(times_of(case, path) == meant, '%s: times are %s, not %s', path, times_of(case, path), meant)
        two = rewritten(case, 'ctf-2', path)
        check(
            times_of(case, two) == meant, '%s: its conversion to CTF 2 has times %s, not %s', path, times_of(case, two),
            meant)
        check([(record.cycles, record.fields['payload']['n'])
               for record in ctf2.Trace(directory_of(two)).records()] == meant,
              '%s: the Python decoder has different records', two)
        kept = case.random.choice(('n % 3 == 1', 'n > 20', 'n == %d' % (len(meant) - 1)))
        chosen = {'n % 3 == 1': lambda n: n % 3 == 1,
                  'n > 20': lambda n: n > 20}.get(kept, lambda n: n == len(meant) - 1)
        some = [(time, n) for time, n in meant if chosen(n)]
        check(
            times_of(case, path, '-F', kept) == some, '%s, %s: times are %s, not %s', path, kept,
            times_of(case, path, '-F', kept), some)
        out = path + 'some'
        status, _, err = run(case, [WAYMARK, 'convert', '--to', 'ctf-2', '-o', out, '-F', kept, path], (0, 1))
        check(status == 0 and times_of(case, out) == some or status == 1 and b'does not fit' in err,
              '%s, %s: wrong times with a filter, or a wrong message: %s', path, kept, err.decode())
        first, last = sorted(case.random.choices([time for time, _ in meant], k=2))
        part = times_of(case, path, '--begin', '%d.%09d' % divmod(first, 10**9), '--end',
                        '%d.%09d' % divmod(last, 10**9))
        check(part == [(time, n) for time, n in meant if first <= time <= last], '%s: from %d to %d: %s', path, first,
              last, part)
        status, _, err = run(case, [WAYMARK, 'convert', '--to', 'ctf', '-o', path + 'old', path], (1,))
        check(b'CTF 1.8' in err, '%s: %s', path, err.decode())


def leb128_timestamps_beyond_64_bits_wrap(case):
    """Times of 70 bits, of which the clock has 64, and many groups of 0."""
    for groups in (10, 11, 20, 100, MOST_GROUPS):
        times = [(1 << 62) + 5, (1 << 62) + 6, (1 << 62) + (1 << 40)]
        path = stamped(scratch(case, 'ten'), [stamp_of(time, groups) for time in times])
        check(
            times_of(case, path) == [(time, n) for n, time in enumerate(times)], '%d bytes: %s', groups,
            times_of(case, path))


def ids_times_and_sizes_beyond_64_bits_are_correct_or_refused(case):
    """
    An id, a time or a size of more than 64 bits has its correct value, also after a conversion to CTF 2 and with a
    filter. Otherwise the metadata is refused with a message.
    """
    combinations = list(itertools.product((65, 72, 100, 128, 4096), ('le', 'be'), ('id', 'time', 'size')))
    for length, order, what in case.random.sample(combinations, max(5, rounds(30))):
        wide = functools.partial(Leaf, 'unsigned', length, order, align=8)
        record = [('id', wide(roles=['event-record-class-id']) if what == 'id' else Leaf(
            'unsigned', 8, order, align=8, roles=['event-record-class-id'])),
                  ('t', wide(roles=['default-clock-timestamp']) if what == 'time' else Leaf(
                      'unsigned', 64, order, align=8, roles=['default-clock-timestamp']))]
        made = Made(2, order, [(None, Struct([('n', BYTE)])) for _ in range(3)], record=record, sized=False)
        made.context = Struct([('total', wide(
            roles=['packet-total-length', 'packet-content-length']))]) if what == 'size' else made.context
        meant, body = [(n % 3, 1000 + n, n) for n in range(6)], (length + 7) // 8
        bits = sum(((body if what == 'id' else 1) + (body if what == 'time' else 8) + 1) * 8
                   for _ in meant) + (8 * body if what == 'size' else 0)
        made.packet(case.random, [(event, {'id': event, 't': time}, None, None, {'n': n}) for event, time, n in meant],
                    context={'total': bits} if what == 'size' else {})
        fragments = list(made.fragments())
        fragments[2:2] = [{'type': 'clock-class', 'id': 'c', 'frequency': 1000000000, 'origin': 'unix-epoch'}]
        fragments[3]['default-clock-class-id'] = 'c'
        metadata = ''.join('\x1e%s\n' % json.dumps(fragment) for fragment in fragments).encode()
        path = made.write(scratch(case, 'role'), metadata=metadata)
        about = '%s: %s of %d bits' % (path, what, length)
        check([(r.id, r.cycles, r.fields['payload']['n']) for r in ctf2.Trace(path).records()] == meant,
              '%s: the test\'s own trace is wrong', about)

        def seen(where, *options):
            return [(int(r['event'][1:]), int(r['time'].replace('.', '')), r['fields']['n'])
                    for r in map(json.loads,
                                 run(case, [WAYMARK, 'view', '--json', *options, where])[1])]
        # Values that do not fit may be reported as damage, but must not crash the reader.
        run(case, [WAYMARK, *VIEW, made.write(scratch(case, 'role'), b'\xff' * 2000, metadata)], (0, 1))
        if run(case, [WAYMARK, *VIEW, path], (0, 1))[0] == 1:
            err = run(case, [WAYMARK, *VIEW, path], (1, ))[2]
            check(b'cannot read the trace' in err, '%s: damage reported in a correct trace', about)
            continue
        check(seen(path) == meant, '%s: %s', about, seen(path))
        for options in ((), ('-F', 'n % 2 == 1'), ('-F', 'n == 4')):
            wanted = seen(path, *options)
            check(
                seen(rewritten(case, 'ctf-2', path, *options)) == wanted, '%s: CTF 2 with %s has %s', about,
                options, seen(rewritten(case, 'ctf-2', path, *options)))
            check([(r.id, r.cycles, r.fields['payload']['n'])
                   for r in ctf2.Trace(directory_of(rewritten(case, 'ctf-2', path, *options))).records()] == wanted,
                  '%s: CTF 2 with %s: the Python decoder has different records', about, options)


HEADER_OF_1 = '''/* CTF 1.8 */
trace { major = 1; minor = 8; byte_order = %(order)s; };
clock { name = c; freq = 1000000000; };
stream { event.header := struct { enum : integer { size = %(tag)d; align = 8; } { compact = 0 ... 30, extended = 31 }
id; variant <id> {
\tstruct { integer { size = 27; map = clock.c.value; } timestamp; } compact;
\tstruct { integer { size = %(id)d; align = 8; } id; integer { size = %(time)d; align = 8; map = clock.c.value; }
timestamp; } extended; } v; }; };
'''


def ctf_1_headers_with_wide_fields_are_decoded(case):
    """LTTng's headers with more bits: selectors, ids and times are correct."""
    for order in ('le', 'be'):
        for lengths in ((65, 16, 64), (5, 100, 64), (8, 32, 128), (128, 65, 72), (4096, 4096, 4096)):
            tag, number, time = lengths
            text = HEADER_OF_1 % {'order': order, 'tag': tag, 'id': number, 'time': time} + ''.join(
                'event { id = %d; name = "e%d"; fields := struct { integer { size = 8; align = 8; } n; }; };\n' % (n, n)
                for n in range(40))
            out, meant = Bits(case.random), [((7, 3)[n % 2] if n % 3 else 33, 1000 + 5 * n, n) for n in range(12)]
            for event, at, n in meant:
                out.align(8)
                out.put(event if n % 3 else 31, tag, order)
                if n % 3:
                    out.put(at, 27, order)
                else:
                    out.align(8)
                    out.put(event, number, order)
                    out.align(8)
                    out.put(at, time, order)
                out.align(8)
                out.put(n, 8, order)
            path = os.path.dirname(scratch(case, 'header'))
            save(path, metadata=text, stream=bytes(out.data))
            for where in (path, rewritten(case, 'ctf', path), rewritten(case, 'ctf-2', path)):
                got = [(int(r['event'][1:]), int(r['time'].replace('.', '')), r['fields']['n'])
                       for r in map(json.loads,
                                    run(case, [WAYMARK, 'view', '--json', where])[1])]
                check(got == meant, '%s: %s, of %s bits, %s: %s, not %s', where, order, lengths, 'its header', got,
                      meant)
            got = [(r.id, r.cycles, r.fields['payload']['n']) for r in ctf2.Trace(directory_of(where)).records()]
            check(got == meant, '%s: the Python decoder has %s', where, got)


# ── damage ──────────────────────────────────────────────────────────────────────────────────────────────

def small(case, version):
    """A small trace with each kind of number: (trace, lines, begins of the packets and the end of the last one)."""
    members = [('a', Leaf('unsigned', 3)), ('b', Leaf('unsigned', 77, base=16)), ('c', Leaf('signed', 130, align=8)),
               ('d', Leaf('signed', 65, labels=EDGE_LABELS[True])), ('e', Leaf('real', 128)),
               ('f', Array(Leaf('unsigned', 67, base=8), 2)), ('len', Leaf('unsigned', 90)),
               ('g', Array(Leaf('signed', 70), of='len'))]
    members[-2][1].pick = lambda random: random.randint(0, 2)
    if version == 2:
        members += [('h', Leaf('boolean', 66)), ('i', Leaf('map', 99, labels=[('x', [(98, 98)])])),
                    ('j', Leaf('unsigned', None)), ('k', Leaf('signed', None)),
                    ('o', Choice('h', [('x', None, Leaf('array', 101))], True)),
                    ('l', Leaf('array', 73, backwards=True))]
    made = Made(version, 'le', [(None, Struct(members))], common=Struct([('w', Leaf('unsigned', 81))]))
    begins = [0]
    for count in (2, 1, 3):
        records = [made.draw(case.random) for _ in range(count)]
        for record in records:
            record[-1].update({name: case.random.getrandbits(100) for name in ('j', 'k') if name in record[-1]})
        made.packet(case.random, records, pad=case.random.choice((0, 2)))
        begins.append(len(made.data))
    path = made.write(scratch(case, 'small'))
    lines = run(case, [WAYMARK, *VIEW, path])[1]
    compare(case, path, made, 'text')
    return made, lines, begins


def some(case, count, part):
    """All numbers below `count` in a full run, else 1/part of the run's share."""
    wanted = rounds(count)
    return sorted(case.random.sample(range(count), count if wanted >= count else max(1, wanted // part)))


@limit(600)
def complete_records_of_a_truncated_wide_stream_are_printed(case):
    """For every length exactly the complete records are printed."""
    for version in (2, 1):
        made, lines, begins = small(case, version)
        for length in some(case, len(made.data), 2):
            path = made.write(scratch(case, 'cut'), made.data[:length])
            status, got, err = run(case, [WAYMARK, *VIEW, path], (0, 1))
            wanted = lines[:sum(end <= length for end in made.ends)]
            check(got == wanted, '%s: cut at byte %d of %d: %d lines, not %d: %s', path, length, len(made.data),
                  len(got), len(wanted), [pair for pair in zip(got, wanted) if pair[0] != pair[1]])
            check(status == (length not in begins), '%s: cut at byte %d: status %d: %s', path, length, status,
                  err.decode())


@limit(600)
def wide_records_before_a_changed_byte_are_printed(case):
    """The records that end before the changed byte are printed. With changed metadata the reader must not crash."""
    for version in (2, 1):
        made, lines, _ = small(case, version)
        metadata = made.metadata()
        for byte in some(case, len(made.data), 2):
            data = bytearray(made.data)
            data[byte] ^= case.random.choice((0xff, 0x80, 1, case.random.randrange(1, 256)))
            path = made.write(scratch(case, 'changed'), bytes(data))
            # (a record that ends within the byte does not count)
            got, wanted = run(case, [WAYMARK, *VIEW, path], (0, 1))[1], lines[:sum(end <= byte for end in made.ends)]
            check(got[:len(wanted)] == wanted, '%s: byte %d of %d changed: records before it: %s, not %s', path, byte,
                  len(data), got[:len(wanted)], wanted)
            run(case, [WAYMARK, 'view', '--json', path], (0, 1))
        for byte in some(case, len(metadata), 8):
            text = bytearray(metadata)
            text[byte] = case.random.choice(b'0123456789') if chr(
                text[byte]).isdigit() else text[byte] ^ case.random.randrange(1, 256)
            run(case, [WAYMARK, *VIEW, made.write(scratch(case, 'changed'), metadata=bytes(text))], (0, 1))


if __name__ == '__main__':
    main([
        filter_compares_wide_integers_as_nearest_64_bit_values, wide_length_or_selector_beyond_64_bits_is_damage,
        metadata_with_numbers_beyond_4096_bits_is_refused, leb128_timestamps_advance_the_clock,
        leb128_timestamps_beyond_64_bits_wrap, ids_times_and_sizes_beyond_64_bits_are_correct_or_refused,
        ctf_1_headers_with_wide_fields_are_decoded, complete_records_of_a_truncated_wide_stream_are_printed,
        wide_records_before_a_changed_byte_are_printed
    ])
