# SPDX-License-Identifier: MIT
"""
Tests ctf2.py with traces that are written out here, byte by byte. Runs without arguments; exit status 0: ctf2.py reads
them correctly.
"""
import math
import os
import random
import re
import sys
import tempfile

from ctf2 import Flags, Mapped, Trace
from fragments import BE, LE, PREAMBLE, STREAM, at, bits, event, i, metadata, of, option, structure, u
from traces import Failure, check

UUID = list(range(16))
done = []


def read(fragments, what='records', **files):
    """The contents of a trace with these fragments (or this metadata) and files."""
    with tempfile.TemporaryDirectory() as directory:
        for name, data in {'metadata': fragments if isinstance(fragments, bytes) else metadata(*fragments),
                           **files}.items():
            with open(os.path.join(directory, name), 'wb') as f:
                f.write(data if isinstance(data, bytes) else bytes.fromhex(data))
        trace = Trace(directory)
        return trace if what == 'trace' else list(getattr(trace, what)())


def same(found, meant):
    done.append(meant)
    check(repr(found) == repr(meant), 'check %d: %r, and not %r', len(done), found, meant)


def payload(members, data, *meant):
    """Records with these members and no others."""
    same([tuple(r.fields['payload'].values()) for r in read([PREAMBLE, STREAM, event(*members)], s=data)], list(meant))


def fields(classes, data, *meant):
    payload([('m%d' % n, c) for n, c in enumerate(classes)], data, meant)


def wrong(words, fragments, what='records', **files):
    done.append(words)
    try:
        read(fragments, what, **files)
    except Failure as e:
        check(re.search(words, str(e)), 'check %d raised %s, and not %s', len(done), e, words)
    else:
        raise Failure('check %d: nothing was raised, where it should be: %s' % (len(done), words))


def bad(words, *classes, data=''):
    wrong(words, [PREAMBLE, STREAM, event(*(('m%d' % n, c) for n, c in enumerate(classes)))], s=data)


def by_the_letter(data, x, length, order, first_to_last):
    """6.4.3, bit by bit."""
    found = [0] * length
    for n in range(length):
        byte = data[(x + n) // 8]
        bit = byte >> (7 - (x + n) % 8 if order == BE else (x + n) % 8) & 1
        found[n if first_to_last else length - n - 1] = bit
    return sum(bit << n for n, bit in enumerate(found))


def try_bits():
    fields([u(8), u(16), u(32), u(64)], '01 0302 07060504 0f0e0d0c0b0a0908', 1, 0x203, 0x04050607, 0x08090a0b0c0d0e0f)
    fields([u(8, BE), u(16, BE), u(32, BE), u(64, BE)], '01 0203 04050607 08090a0b0c0d0e0f', 1, 0x203, 0x04050607,
           0x08090a0b0c0d0e0f)
    # 3, 9 and 4 bits: little-endian from the low end of each byte, big-endian from the high end.
    fields([u(3), u(9), u(4)], 'dd a9', 5, 0x13b, 10)
    fields([u(3, BE), u(9, BE), u(4, BE)], 'b3 ba', 5, 0b100111011, 10)
    fields([i(3), i(9), i(4, preferred_display_base=16)], 'dd a9', -3, 0x13b - 512, -6)
    fields([i(16), i(16, BE), i(1), i(7)], 'feff fffe 01', -2, -2, -1, 0)
    fields([u(128, BE), i(72)], 'ff' + '00' * 14 + '01' + '00' * 8 + '80', (255 << 120) + 1, -(1 << 71))
    # Alignment within the packet, not within the structure.
    fields([u(8), u(16, LE, 16), u(4), u(4, LE, 8), u(8, BE, 32)], '01 ff 0200 03 04 ffff 05', 1, 2, 3, 4, 5)
    # The byte order may change at any byte boundary, whatever fields precede it.
    fields([u(3), u(8, BE, 8), u(5, BE), u(3, BE)], '02 07 a3', 2, 7, 20, 3)
    # The other bit order reverses the bits; with 16 bits this differs from a swap of the bytes.
    fields([
        u(8, LE, bit_order='last-to-first'),
        u(8, BE, bit_order='first-to-last'),
        u(4, BE, bit_order='last-to-first'),
        u(4, BE)
    ], '01 80 12', 128, 1, 1, 2)
    fields([
        u(16, LE, bit_order='last-to-first'),
        u(16, BE, bit_order='first-to-last'),
        i(16, BE, bit_order='first-to-last')
    ], '0300 0003 8001', 0xc000, 0xc000, -0x7fff)
    fields([
        bits('bit-array', 12),
        bits('bit-array', 4, bit_order='last-to-first'),
        bits('boolean', 8),
        bits('boolean', 16, BE)
    ], '2311 00 0001', 0x123, 8, False, True)
    flags = {'RED': [[0, 2], [4, 4]], 'GREEN': [[7, 7], [9, 9]], 'FAR': [[16, 99], [-5, -1]]}
    fields([
        bits('bit-map', 16, BE, flags=flags),
        bits('bit-map', 8, LE, flags={'LOW': [[0, 0]]}),
        bits('bit-map', 8, LE, flags={'LOW': [[0, 0]]})
    ], '0200 0100', Flags(512, frozenset({'GREEN'})), Flags(1, frozenset({'LOW'})), Flags(0, frozenset()))
    found = read(
        [PREAMBLE, STREAM, event(
            ('a', bits('bit-map', 16, BE, flags={**flags, 'ALL': [[-1, 99]]})))], s='0010')[0].fields['payload']['a']
    same(found == (16, {'RED', 'ALL'}), True)
    # example 16
    planets = {'Mercury': [[7, 7]], 'Venus': [[6, 6], [2, 3]], 'Earth': [[5, 7]], 'Mars': [[0, 1]]}
    found = read([PREAMBLE, STREAM, event(('a', bits('bit-map', 8, flags=planets)))], s='a2')[0].fields['payload']['a']
    same(sorted(found.names), ['Earth', 'Mars', 'Mercury'])
    # Mappings may overlap, and a value may have no mapping.
    mapped = i(8, mappings={'banana': [[-5, -2], [8, 199]], 'orange': [[-3, -3]]})
    fields([mapped, mapped, mapped, u(8, mappings={})], 'fb 08 07 03', Mapped(-5, frozenset({'banana'})),
           Mapped(8, frozenset({'banana'})), Mapped(7, frozenset()), 3)
    found = read([PREAMBLE, STREAM, event(('a', mapped))], s='fd')[0].fields['payload']['a']
    same(found == (-3, {'banana', 'orange'}), True)

    # This differs from the literal procedure of the specification: it follows the intended meaning.
    chance = random.Random(2)
    for order in (BE, LE) * 8:
        data = bytes(chance.randrange(256) for _ in range(64))
        classes, x, meant = [], 0, []
        while x < 350:
            length, align, first = chance.randint(1, 70), chance.choice((1, 1, 2, 4, 8, 16)), chance.random() < .5
            x = -(-x // align) * align
            classes.append(u(length, order, align, bit_order='first-to-last' if first else 'last-to-first'))
            meant.append(by_the_letter(data, x, length, order, first))
            x += length
        data = data[:-(-x // 8)]
        if x % 8:                           # the remaining bits of the last byte would be another record
            classes.append(u(-x % 8, order))
            meant.append(by_the_letter(data, x, -x % 8, order, order == LE))
        payload([('m%d' % n, c) for n, c in enumerate(classes)], data, tuple(meant))


def try_reals():
    real = lambda *rest, **more: bits('floating-point-number', *rest, **more)       # noqa: E731
    fields([real(16), real(16, BE), real(32), real(32, BE), real(64), real(64, BE)],
           '003e be00 0000c03f bfc00000 000000000000f83f bff8000000000000', 1.5, -1.5, 1.5, -1.5, 1.5, -1.5)
    fields([real(32), real(32, BE), real(16), u(1), u(7)], '0000807f ff800000 0100 01', math.inf, -math.inf, 2.0**-24,
           1, 0)
    # The sign first: 0 01111111 1000..., each byte filled from its low end.
    fields([real(32, LE, bit_order='last-to-first')], 'fc030000', 1.5)
    fields([real(128, BE), real(128), real(128, BE), real(128, BE), real(128, BE)],
           '3fff8000000000000000000000000000' '0000000000000000000000000000ffbf' '7fff0000000000000000000000000000'
           '4000921fb54442d18469898cc51701b8' '00000000000000000000000000000001', 1.5, -1.0, math.inf, math.pi, 0.0)
    # binary160 has 16 exponent bits and 143 of the fraction; binary192 has 17 (IEEE 754-2008, table 3.5: round(4 log2
    # k) - 13).
    fields([real(160, BE), real(192, BE)], '3fffc000' + '00' * 16 + 'bfffe000' + '00' * 20, 1.5, -1.5)
    # Rounded once, to the nearest double: 1 + 3 * 2^-53 and (1 + 2^-52) * 2^-1022; values above the largest double, by
    # half a unit and by less.
    fields([real(128, BE)] * 4, '3fff0000000000001800000000000000'
           '3c010000000000001000000000000000'
           '43fefffffffffffff800000000000000'
           '43fefffffffffffff7ffffffffffffff', 1 + 2.0**-51, sys.float_info.min * (1 + 2.0**-52), math.inf,
           sys.float_info.max)
    same(
        math.isnan(
            read([PREAMBLE, STREAM, event(('a', real(64, BE)))], s='7ff8000000000000')[0].fields['payload']['a']), True)


def try_variable():
    vu, vs = of('variable-length-unsigned-integer'), of('variable-length-signed-integer')
    fields([vu] * 5, '00 7f 8001 e58e26 ffffffffffffffffff01', 0, 127, 128, 624485, (1 << 64) - 1)
    fields([vs] * 7, '00 3f 40 7f c0bb78 8000 ff7f', 0, 63, -64, -1, -123456, 0, -1)
    # The bytes of examples 98 and 99 of the specification, which gives the values.
    fields([vu, vs], 'b4c772 b4c772', 1876916, -220236)
    # Aligned to bytes; any number of bytes, 70 bits and more.
    fields([u(3), vu, u(1), u(7), vs], '05 01 01 808080808080808080808001', 5, 1, 1, 0, 1 << 77)
    same(
        read([PREAMBLE, STREAM,
              event(('a', of('variable-length-unsigned-integer', mappings={'x': [[128, 128]]})))],
             s='8001')[0].fields['payload'], {'a': Mapped(128, frozenset({'x'}))})


def try_strings():
    text = lambda kind, **more: of(kind + '-string', **more)        # noqa: E731
    fields([text('null-terminated'), text('null-terminated'),
            u(3), text('null-terminated')], '68c3a900 00 02 6a00', 'h\xe9', '', 2, 'j')
    fields([text('null-terminated', encoding=e) for e in ('utf-16le', 'utf-16be', 'utf-32le', 'utf-32be')],
           '00013dd800de0000'
           '010000410000'
           '00f6010000000000'
           '0000006100000000', '\u0100\U0001f600', '\u0100A', '\U0001f600', 'a')
    # 0x6100 0x0062 contains two consecutive zeroes, but no code unit of zeroes.
    fields([text('null-terminated', encoding='utf-16be')], '6100 0062 0000', '\u6100b')
    fields([text('static-length', length=5),
            text('static-length', length=2),
            text('static-length', length=0),
            u(8)], '6162000000 6364 09', 'ab', 'cd', '', 9)
    # The bytes after the first zero are garbage, and may be invalid text.
    fields([text('static-length', length=4),
            text('static-length', length=6, encoding='utf-16le')], '6100ffff 610000 00ffff', 'a', 'a')
    fields([u(8), text('dynamic-length', length_field_location=at('m0')), u(8),
            text('dynamic-length', length_field_location=at('m2', origin='event-record-payload'), encoding='utf-32be')],
           '03 616263 04 00000061', 3, 'abc', 4, 'a')
    # 5 bytes of UTF-16 with a zero unit: the specification stops there, before the sixth byte would be missing.
    fields([text('static-length', length=5, encoding='utf-16le')], '6100 0000 ff', 'a')
    fields([
        of('static-length-blob', length=3, media_type='image/tiff'),
        u(4),
        of('static-length-blob', length=0),
        u(8),
        of('dynamic-length-blob', length_field_location=at('m3'))
    ], 'ff0001 0f 02 abcd', b'\xff\0\1', 15, b'', 2, b'\xab\xcd')
    with tempfile.TemporaryDirectory() as directory:
        for name, data in ('metadata', metadata(PREAMBLE, STREAM, event(
            ('a', text('null-terminated'))))), ('s', b'\xff\0'):
            with open(os.path.join(directory, name), 'wb') as f:
                f.write(data)
        same([r.fields['payload']['a'] for r in Trace(directory, errors='surrogateescape').records()], ['\udcff'])
    bad('is no utf-8', text('null-terminated'), data='ff00')
    bad('does not end before', text('null-terminated', encoding='utf-16le'), data='6100 0061')
    bad('5 bytes are no utf-16be', text('static-length', length=5, encoding='utf-16be'), data='0061006200')


def try_compound():
    pair = structure(('a', u(8)), ('b', u(16, LE, 16)))
    fields([u(8), pair, u(8)], '01 ff 02 ff 0300 04', 1, {'a': 2, 'b': 3}, 4)
    # The structure has the alignment of its strictest member, and each element of the array is aligned again.
    fields([u(8), of('static-length-array', length=2, element_field_class=pair)], '01 ff 02 ff 0300 04 ff 0500', 1,
           [{'a': 2, 'b': 3}, {'a': 4, 'b': 5}])
    fields([u(8), structure(('a', u(8)), minimum_alignment=32), of('structure')], '01 ffffff 02', 1, {'a': 2}, {})
    # Elements with a smaller alignment than the array have no padding; an array without elements is aligned, too.
    fields([u(8), of('static-length-array', length=3, minimum_alignment=16, element_field_class=u(4)),
            u(4)], '01 ff 32 54', 1, [2, 3, 4], 5)
    fields([u(8), of('static-length-array', length=0, element_field_class=u(8, LE, 32)),
            u(8)], '01 ffffff 02', 1, [], 2)
    two = of('static-length-array', length=2, element_field_class=u(8))
    fields([of('static-length-array', length=2, element_field_class=two)], '01020304', [[1, 2], [3, 4]])
    # An optional field and a variant have no alignment; their contents have one, if they are present.
    here = of('optional', selector_field_location=at('m0'), field_class=u(16, LE, 16))
    fields([bits('boolean', 8), here, u(8)], '00 01', False, None, 1)
    fields([bits('boolean', 8), here, u(8)], '01 ff 0200 03', True, 2, 3)
    for kind, ranges, data, meant in ((u(8), [[1, 2], [250, 255]], 'fb 07', (251, 7)),
                                      (u(8), [[1, 2]], '03', (3, None)), (i(8), [[-6, -5]], 'fb 07', (-5, 7)),
                                      (of('variable-length-signed-integer'), [[-6, -5]], '7a 07', (-6, 7))):
        fields([kind,
                of('optional', selector_field_location=at('m0'), selector_field_ranges=ranges, field_class=u(8))], data,
               *meant)
    choice = of(
        'variant', selector_field_location=at('m0'), options=[
            option([[0, 0], [7, 9]], u(8), name='small'),
            option([[1, 6]], of('null-terminated-string')),
            option([[200, 200]],
                   structure(
                       ('n', u(8)),
                       ('x', of('dynamic-length-array', length_field_location=at('n'), element_field_class=u(8)))))
        ])
    fields([u(8), choice], '08 05', 8, 5)
    fields([u(8), choice], '06 6100', 6, 'a')
    fields([u(8), choice], 'c8 02 0102', 200, {'n': 2, 'x': [1, 2]})
    # Within an element: relative, through the parent, and from the origin through the array that is being decoded.
    element = structure(
        ('n', u(8)), ('r',
                      of('dynamic-length-array', length_field_location=at('n'), element_field_class=of(
                          'dynamic-length-string', length_field_location=at('n')))),
        ('s',
         structure(
             ('p', of('dynamic-length-blob', length_field_location=at(None, 'n'))),
             ('q', of('dynamic-length-blob', length_field_location=at(None, None, 'm0'))),
             ('o', of('dynamic-length-blob', length_field_location=at('m1', 'n', origin='event-record-payload'))))))
    fields([u(8), of('static-length-array', length=2, element_field_class=element)], '01'
           '02 6162 6364 6566 67 6869'
           '01 6a 6b 6c 6d', 1, [{'n': 2, 'r': ['ab', 'cd'], 's': {'p': b'ef', 'q': b'g', 'o': b'hi'}},
                                 {'n': 1, 'r': ['j'], 's': {'p': b'k', 'q': b'l', 'o': b'm'}}])
    # A variant as a length, and a length within a structure that is an option (examples 90 and 91 of the
    # specification).
    glass = of('variant', selector_field_location=at('m0'),
               options=[option([[0, 0]], u(8)),
                        option([[1, 1]], structure(('eagle', u(16, BE))))])
    fields([u(8), glass, of('dynamic-length-blob', length_field_location=at('m1'))], '00 02 aabb', 0, 2, b'\xaa\xbb')
    fields([u(8), glass, of('dynamic-length-blob', length_field_location=at('m1', 'eagle'))], '01 0001 aa', 1,
           {'eagle': 1}, b'\xaa')
    nested = of('optional', selector_field_location=at('m0'), selector_field_ranges=[[1, 255]], field_class=choice)
    fields([u(8), nested], '00', 0, None)
    fields([u(8), nested], '01 6200', 1, 'b')

    array = of('dynamic-length-array', length_field_location=at('m0'), element_field_class=of('structure'))
    bad('more than 65536 fields without a bit', u(64), array, data='ff' * 8)
    bad('8 bits are wanted', u(64), of('dynamic-length-array', length_field_location=at('m0'),
                                       element_field_class=u(8)), data='ff' * 9)
    bad('has only 8 left', u(64), of('dynamic-length-blob', length_field_location=at('m0')), data='ff' * 9)
    bad('a length that is a signed', i(8), of('dynamic-length-blob', length_field_location=at('m0')), data='01')
    bad('no option of the variant is for 10', u(8), choice, data='0a')
    bad('the selector of a variant is a boolean', bits('boolean', 8), choice, data='01')
    bad('optional without ranges', u(8), here, data='010000')
    bad('no m9 is decoded', u(8), of('dynamic-length-blob', length_field_location=at('m9')), data='01')
    bad('no m1 is decoded', of('dynamic-length-blob', length_field_location=at('m1')), u(8), data='01')
    bad('leaves the outermost', u(8), of('dynamic-length-blob', length_field_location=at(None, 'm0')), data='01')
    bad('m0 is an array that is not being decoded', two, of('dynamic-length-blob', length_field_location=at('m0')),
        data='0101')
    bad('nothing of that origin', u(8), of('dynamic-length-blob',
                                           length_field_location=at('m0', origin='packet-header')), data='01')
    bad('leads to a string', of('null-terminated-string'), of('dynamic-length-blob', length_field_location=at('m0')),
        data='3100')
    bad('byte 0 bit 3.*the byte order changes', u(3), u(5, BE), data='00')
    bad('an event record without a bit', of('structure'), data='00')


def roled(name, role, length=8, **more):
    return name, u(length, roles=[role], **more)


def try_packets():
    clock = {'type': 'clock-class', 'id': 'c', 'name': 'mono', 'frequency': 3, 'origin': 'unix-epoch',
             'offset-from-origin': {'seconds': -7, 'cycles': 2}}
    header = structure(('magic', u(32, BE, roles=['packet-magic-number'])),
                       ('uuid', of('static-length-blob', length=16, roles=['metadata-stream-uuid'])),
                       ('class', 'id8'), roled('stream', 'data-stream-id'))
    begin = roled('begin', 'default-clock-timestamp', 16)
    context = structure(roled('total', 'packet-total-length', 16), roled('content', 'packet-content-length', 16), begin,
                        roled('end', 'packet-end-default-clock-timestamp', 16),
                        roled('lost', 'discarded-event-record-counter-snapshot'),
                        roled('number', 'packet-sequence-number'), ('n', u(8)))
    stamp = of('variable-length-unsigned-integer', roles=['default-clock-timestamp'])
    record = structure(
        roled('id', 'event-record-class-id'),
        ('t',
         of('variant', selector_field_location=at('id'),
            options=[option([[0, 4]], structure(roled('t', 'default-clock-timestamp'))),
                     option([[5, 255]], stamp)])))
    fragments = [{**PREAMBLE, 'uuid': UUID},
                 {'type': 'field-class-alias', 'name': 'id8', 'field-class': u(8, roles=['data-stream-class-id'])},
                 {'type': 'field-class-alias', 'name': 'header',
                  'field-class': header}, {'type': 'field-class-alias', 'name': 'again', 'field-class': 'header'}, {
                      'type': 'trace-class', 'name': 'a trace', 'uid': 'x', 'namespace': 'ns',
                      'environment': {'host': 'h', 'n': 3}, 'packet-header-field-class': 'again'
                  }, clock, {
                      **STREAM, 'id': 9, 'name': 'nine', 'namespace': 'there', 'default-clock-class-id': 'c',
                      'packet-context-field-class': context, 'event-record-header-field-class': record,
                      'event-record-common-context-field-class': structure(('c', 'id8'))
                  },
                 event(
                     ('p', of('dynamic-length-blob', length_field_location=at('n', origin='packet-context'))),
                     ('q', of('dynamic-length-blob', length_field_location=at(
                         'c', origin='event-record-common-context'))), **{
                             'id': 5, 'data-stream-class-id': 9, 'name': 'five', 'namespace': 'here', 'uid': 'u',
                             'attributes': {'my': [1]}, 'specific-context-field-class': structure(
                                 ('s',
                                  of('optional', selector_field_location=at('id', origin='event-record-header'),
                                     selector_field_ranges=[[5, 5]], field_class=u(8))))
                         }), {'type': 'event-record-class', 'data-stream-class-id': 9}]
    head = 'c1fc1fc1' + bytes(UUID).hex() + '09 04'
    # 22 bytes of header, 11 of context: 264 bits. Header 05 and a LEB128 timestamp, context 01, specific 07, payload 2
    # + 1 bytes.
    first = head + '8001 7801 f012 f114 03 00 02' + '05 d725 01 07 aabb cc' '05 01 00 07 aabb' + 'ff'
    # The lowest byte alone: fe, then 03 is after the next 256, then 03 again; 0x7f in 7 bits, then a smaller 0x01.
    second = head + '7001 7001 f0ff ffff 09 01 02' + '00 fe 00' '00 03 00' '00 03 00' + '05 7f 00 07 aabb'
    first, second = bytes.fromhex(first), bytes.fromhex(second)
    # The lengths in the packet context are computed here.
    put = lambda data, total, content: data[:22] + (8 * total).to_bytes(2, 'little') + (8 * content).to_bytes(
        2, 'little') + data[26:]  # noqa: E731
    first, second = put(first, len(first), len(first) - 1), put(second, len(second), len(second))
    trace = read(fragments, 'trace')
    same([trace.name, trace.uid, trace.namespace, trace.environment, trace.uuid, trace.preamble['version']],
         ['a trace', 'x', 'ns', {'host': 'h', 'n': 3}, bytes(UUID), 2])
    same(trace.clocks, {'c': clock})
    same(trace.nanoseconds(clock, 0), -7 * 10 ** 9 + 666666666)
    same(trace.nanoseconds({**clock, 'offset-from-origin': {'seconds': -1}}, 1), -666666667)
    same(trace.nanoseconds({'frequency': 10 ** 9}, (1 << 64) - 1), (1 << 64) - 1)
    packets = read(fragments, 'packets', a=first + second, b=second, **{'.hidden': b'x'})
    same([(p.file, p.number, p.offset, p.stream_class, p.stream_id, p.stream_name, p.stream_namespace)
          for p in packets], [('a', 0, 0, 9, 4, 'nine', 'there'), ('a', 1, len(first), 9, 4, 'nine', 'there'),
                              ('b', 0, 0, 9, 4, 'nine', 'there')])
    same(
        packets[0].roles, {
            'packet-magic-number': 0xc1fc1fc1, 'metadata-stream-uuid': bytes(UUID), 'data-stream-class-id': 9,
            'data-stream-id': 4, 'packet-total-length': 8 * len(first), 'packet-content-length': 8 * len(first) - 8,
            'default-clock-timestamp': 0x12f0, 'packet-end-default-clock-timestamp': 0x14f1,
            'discarded-event-record-counter-snapshot': 3, 'packet-sequence-number': 0
        })
    same([packets[0].begin, packets[0].end, packets[0].begin_time, packets[0].context['n'], packets[0].header['magic']],
         [0x12f0, 0x14f1, -7 * 10 ** 9 + (0x12f2 * 10 ** 9) // 3, 2, 0xc1fc1fc1])
    records = read(fragments, a=first + second)
    same([(r.file, r.packet, r.id, r.name, r.namespace, r.uid, r.attributes) for r in records][1:3],
         [('a', 0, 5, 'five', 'here', 'u', {'my': [1]}), ('a', 1, 0, None, None, None, {})])
    # 0x12f0, then a smaller 0x12d7 in 14 bits: one 0x4000 more. Then 7 bits: 01 after 0x57.
    same([hex(r.cycles) for r in records],
         [hex(0x4000 + 0x12d7), hex(0x5301), '0xfffe', '0x10003', '0x10003', '0x1007f'])
    same(records[2].time, -7 * 10 ** 9 + (0x10000 * 10 ** 9) // 3)
    same(
        records[0].fields, {
            'packet-context': packets[0].context, 'common-context': {'c': 1}, 'specific-context': {'s': 7},
            'payload': {'p': b'\xaa\xbb', 'q': b'\xcc'}
        })
    same(records[2].fields,
         {'packet-context': packets[1].context, 'common-context': {'c': 0}, 'specific-context': None, 'payload': None})
    same(records[2].header, {'id': 0, 't': {'t': 0xfe}})

    flip = lambda data, n, byte: data[:n] + bytes([byte]) + data[n + 1:]        # noqa: E731
    wrong('a: packet 0.*the magic number is 0xc2', fragments, a=flip(first, 0, 0xc2))
    wrong('a: packet 1.*the UUID', fragments, a=first + flip(second, 8, 9))
    wrong('no data stream class has the id 8', fragments, a=flip(first, 20, 8))
    wrong('has the id 6', fragments, a=flip(first, 33, 6))
    wrong('begins at 65520 and ends at', fragments, a=flip(first, 27, 0xff))
    wrong('the content is', fragments, a=put(first, len(first) - 2, len(first)))
    wrong('cannot be \\d+ bits long', fragments, a=flip(first, 22, first[22] + 4))
    wrong('the content of the packet has only 0 left', fragments, a=put(first, len(first), 30))
    wrong('the file has', fragments, a=put(first, 999, len(first)))
    wrong('where the content of the packet has only', fragments, a=put(first, len(first), len(first) - 2))
    wrong('has only', fragments, a=first + second[:20])
    # Without lengths the packet is the whole file; without a context one length serves as both; padding is skipped.
    same([r.fields['payload']['a'] for r in read([PREAMBLE, STREAM, event(('a', u(8)))], s='010203')], [1, 2, 3])
    for role in ('packet-total-length', 'packet-content-length'):
        s = [PREAMBLE, {**STREAM, 'packet-context-field-class': structure(roled('l', role))}, event(('a', u(8)))]
        same([(r.packet, r.fields['payload']['a'], r.cycles, r.time) for r in read(s, s='180102 1003')],
             [(0, 1, None, None), (0, 2, None, None), (1, 3, None, None)])
    wrong('cannot be 0 bits', s, s='00')
    wrong(
        'within header or context',
        [PREAMBLE, {**STREAM, 'packet-context-field-class': structure(roled('l', 'packet-total-length'),
                                                                      ('x', u(8)))}], s='0800')
    # Doubt: the end of a packet is used as it is, not completed from the begin; a 64-bit time that decreases gains
    # 2^64.
    s = [
        PREAMBLE, {**clock, 'frequency': 10**9}, {
            **STREAM, 'default-clock-class-id': 'c',
            'event-record-header-field-class': structure(roled('t', 'default-clock-timestamp', 64))
        }, {'type': 'event-record-class'}
    ]
    same([r.cycles for r in read(s, s='0500000000000000 0400000000000000')], [5, (1 << 64) + 4])
    # Doubt: with a clock and without any timestamp, the clock is 0.
    s[2:] = [{**STREAM, 'default-clock-class-id': 'c'}, event(('a', u(8)))]
    same([r.cycles for r in read(s, s='05')], [0])
    wrong('without a default clock', [PREAMBLE, {**STREAM, 'packet-context-field-class': structure(begin)}])
    # A field has each of its roles; here the id of a record is the lowest byte of its time.
    times, counters = ['default-clock-timestamp', 'packet-end-default-clock-timestamp'
                       ], ['packet-sequence-number', 'discarded-event-record-counter-snapshot']
    lengths = ['packet-content-length', 'packet-total-length']
    s[2:] = [{
        **STREAM, 'default-clock-class-id': 'c', 'event-record-header-field-class': structure(
            ('x', u(8, roles=['event-record-class-id', times[0]]))), 'packet-context-field-class': structure(
                ('l', u(8, roles=lengths)), ('t', u(16, roles=times)), ('n', u(8, roles=counters)))
    }, {'type': 'event-record-class', 'id': 5}, {'type': 'event-record-class', 'id': 7}]
    same([p.roles for p in read(s, 'packets', s='38 0301 09 05 07 05')],
         [dict.fromkeys(lengths, 56) | dict.fromkeys(times, 0x103) | dict.fromkeys(counters, 9)])
    same([(r.id, r.cycles) for r in read(s, s='38 0301 09 05 07 05')], [(5, 0x105), (7, 0x107), (5, 0x205)])


def try_metadata():
    one = metadata(PREAMBLE, STREAM)
    same(read(b'\x1e' + one, s='').__class__, list)
    wrong('no JSON text sequence', one[1:])
    wrong('line feed', one[:-1])
    wrong('JSON text 1', one[:-4] + b'\n')
    wrong('utf-8', one.replace(b'data-stream', b'\xff'))
    wrong('twice', one.replace(b'"version": 2', b'"version": 2, "version": 2'))
    wrong('NaN is no JSON', one.replace(b'2', b'NaN'))
    wrong('version 3, not 2', one.replace(b'2', b'3'))
    wrong('no integer: 2.0', one.replace(b'2', b'2.0'))
    wrong('first fragment', [STREAM, PREAMBLE])
    wrong('no data stream class', [PREAMBLE])
    wrong('type is none of', [PREAMBLE, {'type': 'thing'}])
    wrong('has no property nmae', [PREAMBLE, {**STREAM, 'nmae': 'x'}])
    wrong('unknown here', [{**PREAMBLE, 'extensions': {'a': {'b': 1}}}, STREAM])
    wrong('after a data stream class', [PREAMBLE, STREAM, {'type': 'trace-class'}])
    wrong('the id 0 is taken', [PREAMBLE, STREAM, STREAM])
    wrong('the id 0 is taken', [PREAMBLE, STREAM, event(), event()])
    wrong('no earlier data stream class', [PREAMBLE, event(), STREAM])
    wrong('no earlier clock class', [PREAMBLE, {**STREAM, 'default-clock-class-id': 'c'}])
    clock = {'type': 'clock-class', 'id': 'c', 'frequency': 3}
    wrong('less than 1: 0', [PREAMBLE, {**clock, 'frequency': 0}, STREAM])
    wrong('is a second or more', [PREAMBLE, {**clock, 'offset-from-origin': {'cycles': 3}}, STREAM])
    wrong('needs the property uid', [PREAMBLE, {**clock, 'origin': {'name': 'x'}}, STREAM])
    alias = {'type': 'field-class-alias', 'name': 'a', 'field-class': u(8)}
    wrong('the name a is taken', [PREAMBLE, alias, alias, STREAM])
    wrong('no earlier field class alias is called b', [PREAMBLE, {**alias, 'field-class': 'b'}, STREAM])
    wrong('is no structure', [PREAMBLE, alias, {**STREAM, 'packet-context-field-class': 'a'}])
    wrong('and the preamble has no uuid', [PREAMBLE, {'type': 'trace-class', 'packet-header-field-class': structure(
        ('u', of('static-length-blob', length=16, roles=['metadata-stream-uuid'])))}, STREAM])
    wrong('is not that of the first member', [PREAMBLE, {'type': 'trace-class', 'packet-header-field-class': structure(
        ('u', u(8)), ('m', u(32, roles=['packet-magic-number'])))}, STREAM])
    for words, c in (('alignment is no positive power', u(8, LE, 3)), ('length is less than 1', u(0)),
                     ('byte-order is none of', u(8, 'le')), ('bit-order is none of', u(8, bit_order='up')),
                     ('has 24 bits', bits('floating-point-number', 24)), ('has roles', i(8, roles=['x'])),
                     ('unknown role', u(8, roles=['x'])), ('is none of 2 8 10 16', u(8, preferred_display_base=7)),
                     ('without flags', bits('bit-map', 8,
                                            flags={})), ('no integer range', u(8, mappings={'x': [[2, 1]]})),
                     ('no integer range set',
                      u(8, mappings={'x': []})), ('two members are called a', structure(
                          ('a', u(8)), ('a', u(8)))), ('needs the property length', of('static-length-string')),
                     ('encoding is none of', of('null-terminated-string',
                                                encoding='UTF-8')), ('type is none of', of('integer')),
                     ('no path', of('dynamic-length-blob',
                                    length_field_location=at())), ('needs the property path',
                                                                   of('dynamic-length-blob', length_field_location={})),
                     ('no path', of('dynamic-length-blob', length_field_location=at(
                         'a', None))), ('ranges of option 1 meet',
                                        of('variant', selector_field_location=at('a'),
                                           options=[option([[0, 9]], u(8)),
                                                    option([[3, 3]],
                                                           u(8))])), ('without options',
                                                                      of('variant', selector_field_location=at('a'),
                                                                         options=[]))):
        bad(words, c)
    deep = u(8)
    for _ in range(70):
        deep = of('static-length-array', length=1, element_field_class=deep)
    bad('more than 64 field classes', deep)
    # Each alias is twice the previous one, and none of them has a bit.
    twice = [{'type': 'field-class-alias', 'name': 'a0', 'field-class': of('structure')}]
    twice += [{
        'type': 'field-class-alias', 'name': 'a%d' % n, 'field-class': structure(('x', 'a%d' % (n - 1)),
                                                                                 ('y', 'a%d' % (n - 1)))
    } for n in range(1, 40)]
    wrong('fields without a bit',
          [PREAMBLE, *twice, STREAM, {'type': 'event-record-class', 'payload-field-class': 'a39'}], s='00')


def self_test():
    for part in (try_bits, try_reals, try_variable, try_strings, try_compound, try_packets, try_metadata):
        part()
    return len(done)


if __name__ == '__main__':
    try:
        print('ok: %d checks' % self_test())
    except Failure as failure:
        sys.exit('not ok: %s' % failure)
