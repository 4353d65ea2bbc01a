# SPDX-License-Identifier: MIT
"""Good traces of corpus18.py: every type of field, in every width, order, alignment and nesting."""
import math

from ctf18 import BEGIN, Goods, Plain, one_packet, save, Packet, MAGIC, integers

TYPES = Goods()
ORDERS = ('le', 'be')


def values_of(size, signed):
    """Values that reveal a misplaced bit: all bits clear, all set, the limits, asymmetric stripes."""
    mask = (1 << size) - 1
    found = [0, mask, 1, 1 << size - 1, 0x0123456789abcdef5 & mask, 0xdeadbeefcafe1234 >> 64 - size, mask >> 1]
    return [v - (1 << size) if signed and v >> size - 1 else v for v in found]


def every_width(directory, order, signed, align, base='10', widths=range(1, 65), first=1):
    """Fields of all widths in one record, behind `first` - 1 bits that shift them when they are packed."""
    fields = 'integer { size = %d; align = 1; } before;\n' % (first - 1) if first > 1 else ''
    for size in widths:
        fields += 'integer { size = %d; align = %d; signed = %s; base = %s; } w%d;\n' % (
            size, align, 'true' if signed else 'false', base, size)

    def writer(which):
        def write(bits):
            if first > 1:
                bits.i(first - 1, 1)
            for size in widths:
                bits.i(size, values_of(size, signed)[which], align)
        return write
    one_packet(directory, fields, [writer(n) for n in range(7)], order)


@TYPES.add(ORDERS)
def unsigned_packed(directory, variant):
    every_width(directory, variant, False, 1)


@TYPES.add(ORDERS)
def signed_packed(directory, variant):
    every_width(directory, variant, True, 1)


@TYPES.add(ORDERS)
def unsigned_in_bytes(directory, variant):
    every_width(directory, variant, False, 8)


@TYPES.add(ORDERS)
def signed_in_bytes(directory, variant):
    every_width(directory, variant, True, 8)


@TYPES.add(ORDERS)
def signed_in_words(directory, variant):
    every_width(directory, variant, True, 32)


@TYPES.add(ORDERS)
def whole_bytes_at_every_bit(directory, variant):
    """Integers of 8, 16, 32 and 64 bits that begin at each bit of a byte: the last needs nine bytes."""
    fields, sizes = '', (8, 16, 32, 64)
    for shift in range(8):
        fields += 'integer { size = 8; align = 8; } at%d;\n' % shift
        if shift:
            fields += 'integer { size = %d; } by%d;\n' % (shift, shift)
        fields += ''.join('integer { size = %d; align = 1; signed = %s; } s%d_%d;\n' % (
            size, 'true' if shift % 2 else 'false', shift, size) for size in sizes)

    def writer(which):
        def write(bits):
            for shift in range(8):
                bits.i(8, shift)
                if shift:
                    bits.i(shift, 0)
                for size in sizes:
                    bits.i(size, values_of(size, shift % 2)[which], 1)
        return write
    one_packet(directory, fields, [writer(n) for n in range(7)], variant)


@TYPES.add(('2', '8'))
def every_base(directory, variant):
    every_width(directory, 'le', False, 1, variant)


@TYPES.add(('2', '8'))
def every_base_signed(directory, variant):
    every_width(directory, 'be', True, 1, variant)


@TYPES.add()
def every_base_16(directory):
    every_width(directory, 'le', False, 1, '16', [*range(1, 61), 64])


@TYPES.add()
def every_base_signed_16(directory):
    every_width(directory, 'be', True, 1, '16', [*range(1, 61), 64])


# babeltrace2 2.0 rounds these widths up to 64 bits and then shifts a 1 by 64, which gives 0 on x86-64.
@TYPES.add(expected=[
    '[02:40:01.000000000] (+?.?????????) event: { cpu_id = 0 }, { w61 = 0x123456789ABCDEF, w62 = 0x3FFFFFFFFFFFFFFF, '
    'w63 = 0xFFFFFFFFFFFFFFFE }'
])
def base_16_of_61_to_63_bits(directory):
    one_packet(directory, '''integer { size = 61; base = 16; } w61; integer { size = 62; base = 16; } w62;
integer { size = 63; base = 16; signed = true; } w63;''',
               [lambda b: b.i(61, 0x123456789abcdef).i(62, (1 << 62) - 1).i(63, -2)])


@TYPES.add()
def names_of_bases(directory):
    names = [
        'decimal', 'dec', 'd', 'i', 'u', '10', 'hexadecimal', 'hex', 'x', 'X', 'p', '16', '0x10', 'octal', 'oct', 'o',
        '8', '010', 'binary', 'b', '2'
    ]
    fields = ''.join('integer { size = 16; base = %s; } b%d;\n' % (name, n) for n, name in enumerate(names))
    fields += ''.join('integer { size = 16; base = "%s"; signed = true; } q%d;\n' % (name, n)
                      for n, name in enumerate(names) if not name[0].isdigit())

    def write(bits):
        for n in range(len(names)):
            bits.i(16, 0x1234)
        for _ in [n for n in names if not n[0].isdigit()]:
            bits.i(16, -5)
    one_packet(directory, fields, [write])


@TYPES.add()
def attributes_of_integers(directory):
    """Every notation of an attribute's value, attributes in any order, and the defaults."""
    one_packet(
        directory,
        '''integer { signed = 1; size = 8; } a; integer { signed = 0; size = 8; } b; integer { signed = TRUE;
size = 8; } c;
integer { signed = FALSE; size = 8; } d; integer { size = 8 ; signed = true ; } e; integer{size=8;}f;
integer { encoding = none; size = 8; } g; integer { encoding = UTF8; size = 8; align = 8; } h; integer {
encoding = ASCII; size = 8; } i;
integer { byte_order = native; size = 16; } j; integer { align = 16; size = 8; byte_order = network; } k; integer {
size = 3; } l;
integer { size = 12; } m; integer { size = 24; } n;''', [
            lambda b: b.align(16).i(8, -1).i(8, 255).i(8, -2).i(8, 254).i(8, -3).i(8, 253).i(8, 65).i(8, 66).i(8, 67).i(
                16, 258).i(8, 11, 16).i(3, 5).i(12, 0xabc).i(24, 0xabcdef)
        ])


@TYPES.add(ORDERS)
def orders_in_one_record(directory, variant):
    """Integers and floats in the byte order that is not that of the trace."""
    fields, sizes = '', (8, 16, 24, 32, 40, 48, 64)
    for order in ('be', 'le', 'native', 'network'):
        fields += ''.join('integer { size = %d; align = 8; signed = true; byte_order = %s; } %s%d;\n' %
                          (size, order, order, size) for size in sizes)
        fields += 'floating_point { exp_dig = 8; mant_dig = 24; byte_order = %s; align = 8; } %s_f;\n' % (order, order)

    def write(bits):
        for order in ('be', 'le', variant, 'be'):
            for size in sizes:
                bits.i(size, -0x123456789abcd, 8, order)
            bits.f(32, 1.25, 8, order)
    one_packet(directory, fields, [write], variant)


FLOATS = '''typealias floating_point { exp_dig = 8; mant_dig = 24; align = 8; } := f32;
typealias floating_point { exp_dig = 11; mant_dig = 53; align = 8; } := f64;
'''


@TYPES.add(ORDERS)
def floats(directory, variant):
    numbers = [0.0, -0.0, 1.0, -1.5, 0.1, 1e10, 123456789.0, 1e-5, 3.4028234663852886e38, math.pi, math.inf, -math.inf]
    records = [lambda b, v=v: b.f(32, v).f(64, v) for v in numbers]
    # The smallest and the largest denormal, the smallest normal number; quiet NaNs of both signs, and one with a
    # payload.
    for small, big in ((1, 1), (0x7fffff, (1 << 52) - 1), (0x800000, 1 << 52), (0x7fc00000, 0x7ff8 << 48),
                       (0xffc00000, 0xfff8 << 48), (0x7fc12345, 0x7ff8123456789abc), (0x80000001, 1 << 63 | 1),
                       (0x7f7fffff, 0x7fefffffffffffff)):
        records.append(lambda b, small=small, big=big: b.f(32, small).f(64, big))
    one_packet(directory, 'f32 a; f64 b;', records, variant, FLOATS)


@TYPES.add(ORDERS)
def floats_aligned_otherwise(directory, variant):
    """Floats that are aligned to 1 bit, to a word, and behind a few bits."""
    one_packet(
        directory, '''integer { size = 3; } before; floating_point { exp_dig = 8; mant_dig = 24; align = 1; } a;
floating_point { exp_dig = 11; mant_dig = 53; align = 1; } b; floating_point { align = 32; mant_dig = 24;
exp_dig = 8; } c;
integer { size = 5; } between; floating_point { exp_dig = 11; mant_dig = 53; align = 64; } d; uint8_t after;''', [
            lambda b, v=v: b.align(64).i(3, 5).f(32, v, 1).f(64, v, 1).f(32, v, 32).i(5, 9).f(64, v, 64).i(8, 77)
            for v in (1.5, -2.25)
        ], variant, FLOATS)


@TYPES.add()
def strings(directory):
    texts = [
        '', 'plain', ' two  words ', '"quoted" and \'this\'', 'back\\slash \\n', 'tab\tnew\nline\r\v\f\a\b\x1b',
        '\x01\x02\x1f\x7f', 'a?b??c', 'häß€😀', b'\xff\xfe not UTF-8 \x80', b'\xc3', '{ } [ ] = , ( )', '%s %n %%',
        'x' * 3000
    ]
    one_packet(directory, 'string a; string { encoding = UTF8; } b; string { encoding = ASCII; } c; str d;',
               [lambda b, t=t: b.s(t).s(t).s('').s(t) for t in texts],
               types='typealias string { encoding = UTF8; } := str;\n')


TEXT = 'typealias integer { size = 8; align = 8; encoding = UTF8; signed = %s; } := letter;\n'


@TYPES.add(('true', 'false'))
def text_in_arrays(directory, variant):
    """A text ends at the first zero, or with its array."""
    one_packet(directory, 'letter a[5]; uint8_t n; letter b[n]; letter none[0]; uint8_t after;', [
        lambda b, t=t: b.raw(t[:5].ljust(5, b'\0')).i(8, len(t)).raw(t).i(8, 99)
        for t in (b'', b'ab', b'abcde', b'ab\0cd', b'\0\0\0\0\0', 'öäü'.encode(), b'a\tb"c', b'exactly so and longer')
    ], types=TEXT % variant)


@TYPES.add()
def text_of_ascii(directory):
    one_packet(
        directory,
        'integer { size = 8; align = 8; encoding = ASCII; } a[4]; integer { size = 8; align = 8; encoding = none; } '
        'b[2];',
        [lambda b: b.raw(b'ab\0\0AB')])


@TYPES.add()
def bytes_that_are_no_text(directory):
    one_packet(directory, 'uint8_t a[3]; integer { size = 8; base = 16; } b[3]; uint8_t n; int8_t c[n];',
               [lambda b: b.raw(b'abcdef').i(8, 2).i(8, -1).i(8, 97)])


ENUMS = '''enum state : uint8_t { IDLE, BUSY, DONE = 5, AFTER };
enum sign : int8_t { DEEP = -128 ... -100, BELOW = -5 ... -2, MINUS = -1, ZERO, PLUS, MANY = 10 ... 127 };
enum shared : uint8_t { LOW = 0 ... 9, FIVE = 5, MIDDLE = 4 ... 6, ALL = 0 ... 255 };
enum words : uint8_t {
"two words", "a \\"quoted\\" one" = 3, "" = 4, _under = 5, __two = 6, "stream" = 7, "tab\\tnew\\nline" = 8, "ä" = 9 };
enum again : uint8_t { ONE = 1, TWICE = 2, TWICE = 4 ... 5, ONE = 9, };
enum wide : uint64_t {
TOP = 0xffffffffffffffff, HALF = 0x8000000000000000 ... 0x8fffffffffffffff, SMALL = 07, NOTHING = 0 };
enum wide_signed : int64_t { LEAST = -9223372036854775808, GREATEST = 9223372036854775807, NONE = 0 };
'''


@TYPES.add(ORDERS)
def enums(directory, variant):
    rows = [(0, -128, 0, 0, 1, 0, 0), (1, -100, 5, 3, 2, 7, -(1 << 63)), (2, -99, 4, 4, 3, 8, (1 << 63) - 1),
            (5, -2, 9, 5, 4, 1 << 63, 1), (6, -1, 10, 6, 5, (1 << 64) - 1, -1), (7, 0, 255, 7, 9, 0x8fff << 48, 0),
            (255, 1, 6, 8, 8, 0x9000 << 48, 5), (4, 2, 7, 9, 0, 1, 2), (3, 127, 200, 1, 255, 6, -5),
            (0, -6, 1, 2, 6, 0, 0)]
    one_packet(
        directory,
        'enum state a; enum sign b; enum shared c; enum words d; enum again e; enum wide f; enum wide_signed g;',
        [lambda b, r=r: b.i(8, r[0]).i(8, r[1]).i(8, r[2]).i(8, r[3]).i(8, r[4]).i(64, r[5]).i(64, r[6])
         for r in rows], variant, ENUMS)


@TYPES.add()
def enums_declared_in_every_way(directory):
    """
    Enums with any integer as container, packed, without a name, by typedef and alias, and with the default container
    `int`.
    """
    one_packet(
        directory,
        '''enum : integer { size = 3; signed = true; } { A = -4 ... -1, B } a; enum : integer { size = 5; } { A, B } b;
enum { FIRST, SECOND } c; enum plain { THIRD = 3 } d; enum plain e; enumerated f; aliased g; enum : bits3 { X, Y } h;
enum : bits3 { X, Y } i[2];
enum { KEY, INT = -1 } j, k;''', [
            lambda b, n=n: b.i(3, n - 1, 32).i(5, n).i(32, n, 32).i(32, n + 3).i(32, n).i(8, n).i(8, n).i(3, n).i(3, n).
            i(3, 1 - n).i(32, -n, 32).i(32, n) for n in (0, 1)
        ], types='''typealias integer { size = 32; align = 32; signed = true; } := int;
typealias integer { size = 3; } := bits3; typedef enum : uint8_t { E0, E1 } enumerated;
typealias enum : uint8_t { T0, T1 = 1 } := aliased;
''')


@TYPES.add()
def enums_in_other_bases(directory):
    one_packet(
        directory,
        '''enum : integer { size = 8; base = 16; } { A = 0x10 ... 0x1f } a; enum : integer { size = 8; base = 2; } {
A = 3 } b;
enum : integer { size = 8; base = 8; signed = true; } { A = -1 } c;''',
        [lambda b: b.i(8, 0x1a).i(8, 3).i(8, -1), lambda b: b.i(8, 0xfa).i(8, 4).i(8, -2)])


@TYPES.add(ORDERS)
def structs(directory, variant):
    one_packet(
        directory,
        '''struct { } nothing; struct { uint8_t a; struct { uint16_t b; struct { uint32_t c; } deep; } in; } s;
struct { struct { } e; struct { string t; } f; } g; struct point p; struct point q, r; struct { uint8_t x; }
many[2];''',
        [
            lambda b: b.i(8, 1).i(16, 2).i(32, 3).s('text').i(16, 4).i(16, -5).i(16, 6).i(16, 7).i(16, 8).i(16, 9).i(
                8, 10).i(8, 11)
        ], variant, 'struct point { int16_t x; int16_t y; };\n')


@TYPES.add(ORDERS)
def aligned_structs(directory, variant):
    """
    A struct has the alignment of its most strictly aligned field, or that of align(); it has no padding at its end.
    """
    one_packet(
        directory,
        '''uint8_t a; struct { uint8_t b; } align(32) s; uint8_t c; struct { integer { size = 16; align = 64; } d; }
t; uint8_t e;
struct wide w; integer { size = 3; } f; struct { integer { size = 2; } g; integer { size = 1; } h; } bits; struct { }
align(64) hole; uint8_t i;
struct { struct { integer { size = 8; align = 128; } j; } in; } out; struct { uint8_t k; } align(8) arr[2]; uint8_t l;
struct { uint8_t m; } align(16) gaps[3];''', [
            lambda b: b.i(8, 1, 128).align(32).i(8, 2).i(8, 3).i(16, 4, 64).i(8, 5).align(16).i(8, 6).i(3, 7).i(2, 1).i(
                1, 1).align(64).i(8, 9).i(8, 10, 128).i(8, 11).i(8, 12).i(8, 13).i(8, 14, 16).i(8, 15, 16).i(8, 16, 16)
        ] * 2, variant, 'struct wide { uint8_t w; } align(16);\n')


@TYPES.add(ORDERS)
def arrays(directory, variant):
    one_packet(
        directory, '''uint16_t a[3]; uint8_t none[0]; int8_t b[2][3]; int8_t c[2][1][2]; integer { size = 5; } bits[7];
struct { uint8_t x; string y; } d[2]; string e[3]; struct { uint8_t in[2]; } f[2]; four g; four h[2];
uint8_t i, j[2], k; uint8_t hex[0x2];
floating_point { exp_dig = 8; mant_dig = 24; align = 8; } l[2]; enum : uint8_t { A, B } m[3];''',
        [lambda b: write_arrays(b)], variant, 'typedef uint8_t four[4];\n')


def write_arrays(b):
    for n in range(3):
        b.i(16, 1000 + n)
    for n in range(6 + 4):
        b.i(8, -n)
    for n in range(7):
        b.i(5, 31 - n)
    b.i(8, 1).s('one').i(8, 2).s('').s('x').s('').s('z').raw(bytes(range(4)))
    b.raw(bytes(range(4))).raw(bytes(range(8))).i(8, 1).raw(b'\2\3').i(8, 4).raw(b'\5\6').f(32,
                                                                                            0.5).f(32,
                                                                                                   -0.5).raw(b'\0\1\2')


@TYPES.add()
def arrays_of_aligned_structs(directory):
    """Each element is aligned. The array is aligned before its first element, even if it is empty."""
    one_packet(
        directory, '''uint8_t a; struct { uint8_t n; integer { size = 16; align = 32; } x; } s[2]; uint8_t b; uint8_t n;
integer { size = 8; align = 64; } none[n]; uint8_t after; struct { uint8_t y; } align(32) empty[0]; uint8_t last;''', [
            lambda b: b.i(8, 1, 64).align(32).i(8, 2).i(16, 3, 32).align(32).i(8, 4).i(16, 5, 32).i(8, 6).i(8, 0).align(
                64).i(8, 7).align(32).i(8, 8)
        ])


@TYPES.add(ORDERS)
def sequences(directory, variant):
    """
    Lengths of any integer type, before the sequence in the struct or in a struct around it, in an array of structs;
    sequences in sequences.
    """
    def write(n):
        def write_one(b):
            b.i(8, n)
            for x in range(n):
                b.i(16, x)
            b.i(3, n % 5)
            for x in range(n % 5):
                b.i(6, x + 40)
            for x in range(n):
                b.i(8, x).s('t%d' % x)
            b.i(8, 2)
            for outer in (1, 2):
                b.i(8, outer)
                for x in range(outer):
                    b.i(32, x)
            for _ in range(n):
                b.raw(bytes(range(n)))
            b.i(64, 1).raw(b'A')
        return write_one
    one_packet(
        directory, '''uint8_t n; uint16_t a[n]; integer { size = 3; } bits; integer { size = 6; } b[bits];
struct { uint8_t x; string t; } c[n]; uint8_t rows; struct { uint8_t cols; uint32_t cell[cols]; } d[rows];
uint8_t e[n][n];
uint64_t long_one; struct { struct { uint8_t f[long_one]; } in; } out;''', [write(n) for n in (0, 1, 2, 7)], variant)


@TYPES.add()
def sequences_by_paths(directory):
    """A length inside a preceding struct, by a relative path; of two fields with one name, the nearest is used."""
    one_packet(
        directory, '''struct { uint8_t n; struct { uint8_t m; } in; } s; uint8_t a[s.n]; uint8_t b[s.in.m]; uint8_t n;
struct { uint8_t n; uint8_t c[n]; } t; uint8_t d[n]; uint8_t e[event.fields.s.n]; uint8_t f[event.fields.n];''',
        [lambda b: b.raw(b'\1\2' + b'a' + b'bb' + b'\3' + b'\1c' + b'ddd' + b'e' + b'fff')])


VARIANTS = '''enum kind : uint8_t {
small = 0, big = 1 ... 9, text = 10, record = 11, none = 12, "odd" = 13 ... 14, list = 15 };
variant named { uint8_t small; uint64_t big; string text; struct { uint8_t a; string b; } record; struct { } none;
int8_t odd; uint8_t list[2]; };
'''


@TYPES.add(ORDERS)
def variants(directory, variant):
    def put(b, kind):
        b.i(8, kind)
        return {0: lambda: b.i(8, 200), 1: lambda: b.i(64, 1 << 40), 9: lambda: b.i(64, 9), 10: lambda: b.s('ten'),
                11: lambda: b.i(8, 1).s('in'), 12: lambda: b, 13: lambda: b.i(8, -13), 14: lambda: b.i(8, -14),
                15: lambda: b.raw(b'ab')}[kind]()
    one_packet(directory, 'enum kind tag; variant named <tag> v; uint8_t after;',
               [lambda b, k=k: put(b, k).i(8, 99) for k in (0, 1, 9, 10, 11, 12, 13, 14, 15)], variant, VARIANTS)


@TYPES.add()
def variants_in_every_place(directory):
    """
    The tag in the same struct, in one around it, in a preceding struct; variants in variants, in arrays, in sequences;
    a packed or a negative tag.
    """
    one_packet(
        directory, '''enum : integer { size = 3; signed = true; } { minus = -2 ... -1, zero = 0, plus = 1 } tag;
struct { variant <tag> { uint8_t minus; uint16_t zero; struct { } plus; } v; } s; enum : uint8_t { a, b } in;
variant <in> { uint8_t a; string b; } beside; enum : uint8_t { outer, other } o; enum : uint8_t { inner, last } i;
variant <o> { variant <i> { uint8_t inner; string last; } outer; uint8_t other; } nested;
struct { enum : uint8_t { one, two } k; variant <k> { uint8_t one; uint16_t two; } v; } list[2]; uint8_t n;
struct { enum : uint8_t { x = 0, y = 1 } which;
	variant <which> { string x; floating_point { exp_dig = 8; mant_dig = 24; align = 8; } y; } v; } many[n];
variant <tag> { uint8_t minus[n]; struct { uint8_t m; uint8_t p[m]; } zero; string plus; } last;''', [
            lambda b: b.i(3, -1).i(8, 1).i(8, 0).i(8, 2).i(8, 0).i(8, 1).s('in').i(8, 0).i(8, 3).i(8, 1).i(16, 4).i(
                8, 0), lambda b: b.i(3, 0).i(16, 5).i(8, 1).s('b').i(8, 1).i(8, 0).i(8, 6).i(8, 1).i(16, 7).i(8, 0).i(
                    8, 8).i(8, 2).i(8, 1).f(32, 2.5).i(8, 0).s('x').i(8, 3).raw(b'\1\2\3'), lambda b: b.i(3, 1).i(8, 1).
            s('').i(8, 0).i(8, 0).i(8, 9).i(8, 0).i(8, 1).i(8, 0).i(8, 2).i(8, 1).i(8, 0).s('').s('end')
        ])


@TYPES.add()
def variants_with_aligned_options(directory):
    """The alignment of an option applies where the option is read, not where the variant begins."""
    one_packet(
        directory,
        '''enum : uint8_t { narrow, wide, packed } tag; variant <tag> { uint8_t narrow; integer { size = 32;
align = 64; } wide;
struct { integer { size = 3; } a; integer { size = 5; } b; } packed; } v; uint8_t after;''', [
            lambda b: b.i(8, 0).i(8, 1).i(8, 2), lambda b: b.i(8, 1).i(32, 3, 64).i(8, 4),
            lambda b: b.i(8, 2).i(3, 5).i(5, 6).i(8, 7)
        ])


SCOPES = '''/* CTF 1.8 */
''' + integers() + '''enum which : uint8_t { first, second };
trace {
	major = 1; minor = 8; byte_order = %s;
	packet.header := struct { uint32_t magic; uint32_t stream_id; uint8_t hn; enum which ht; };
};
stream {
	id = 0;
	packet.context := struct { uint64_t content_size; uint64_t packet_size; uint8_t pn; enum which pt;
uint8_t local[pn]; };
	event.header := struct { uint16_t id; uint8_t en; enum which et; };
	event.context := struct { uint8_t sn; enum which st; uint8_t here[%s]; };
};
event {
	id = 0; name = "scopes"; stream_id = 0;
	context := struct { uint8_t cn; enum which ct; };
	fields := struct {
		uint8_t fn; enum which ft; struct { %s } all;
	};
};
'''
LENGTHS, TAGS = ('hn', 'pn', 'en', 'sn', 'cn', 'fn'), ('ht', 'pt', 'et', 'st', 'ct', 'ft')
NAMES = ('trace.packet.header.', 'stream.packet.context.', 'stream.event.header.', 'stream.event.context.',
         'event.context.', 'event.fields.')


def scopes(directory, order, lengths, tags):
    """Lengths and tags from every scope that is read earlier, by these names of LENGTHS and TAGS; two records."""
    inside = ''.join('uint8_t s%d[%s];' % pair for pair in enumerate(lengths))
    inside += ''.join('variant <%s> { uint8_t first; string second; } v%d;' % (tag, n) for n, tag in enumerate(tags))

    def write(b, content, whole):
        b.i(32, MAGIC).i(32, 0).i(8, 1).i(8, 1).i(64, content).i(64, whole).i(8, 2).i(8, 0).raw(b'xy')
        for n in range(2):
            b.i(16, 0).i(8, 3).i(8, n).i(8, 4).i(8, 1 - n).raw(b'zz').i(8, 5).i(8, n).i(8, n).i(8, n)
            for length in (1, 2, 3, 4, 5, n):
                b.raw(bytes(range(length)))
            for tag in (1, 0, n, 1 - n, n, n)[-len(tags):]:
                b.s('s') if tag else b.i(8, 7)
    save(directory, metadata=SCOPES % (order, lengths[1], inside), stream=Packet(write, order).bytes)


def scopes_expected():
    """Both records of scopes(), with all lengths and tags."""
    def label(n):
        return '( "%s" : container = %d )' % (('first', 'second')[n], n)
    lines = []
    for n in range(2):
        arrays = ['s%d = [ %s]' % (k, ', '.join('[%d] = %d' % (i, i) for i in range(count)) + ' ' * bool(count))
                  for k, count in enumerate((1, 2, 3, 4, 5, n))]
        options = ['v%d = { %s }' % (k, '"s"' if tag else '7') for k, tag in enumerate((1, 0, n, 1 - n, n, n))]
        lines.append(
            'scopes: { pn = 2, pt = %s, local = [ [0] = 120, [1] = 121 ] }, { sn = 4, st = %s, here = [ [0] = 122, '
            '[1] = 122 ] }, '
            '{ cn = 5, ct = %s }, { fn = %d, ft = %s, all = { %s } }' %
            (label(0), label(1 - n), label(n), n, label(n), ', '.join(arrays + options)))
    return lines


def absolute(names):
    return [scope + name for scope, name in zip(NAMES, names)]


@TYPES.add(ORDERS)
def scopes_by_name(directory, variant):
    scopes(directory, variant, absolute(LENGTHS), TAGS[-1:])


# babeltrace2 2.0 accepts a tag of one word, not a path.
@TYPES.add(expected=scopes_expected())
def scopes_of_tags_by_name(directory):
    scopes(directory, 'be', absolute(LENGTHS), absolute(TAGS))


# babeltrace2 2.0 searches a plain name in the same scope only, not in the scopes around it.
@TYPES.add(expected=scopes_expected())
def scopes_by_field(directory):
    scopes(directory, 'le', LENGTHS, TAGS)


@TYPES.add(expected=['e: { s = { t = ( "b" : container = 1 ) }, v = { "x" } }'])
def tag_in_a_struct(directory):
    save(directory, metadata='''/* CTF 1.8 */
trace { major = 1; minor = 8; byte_order = le; }; stream { }; typealias integer { size = 8; } := u8;
event { name = "e"; fields := struct { struct { enum : u8 { a, b } t; } s; variant <s.t> { u8 a; string b; } v; }; };
''', stream=b'\1x\0')


@TYPES.add()
def long_fields(directory):
    """Records of many pages, and of many times the size of a reader's buffer."""
    one_packet(directory, 'string a; uint32_t n; uint8_t b[n]; letter c[n];', [
        lambda b, n=n: b.s('0123456789' * n).i(32, n).raw(bytes(v & 0xff for v in range(n))).raw(b'x' * n)
        for n in (1, 9000, 0, 30000)
    ], types=TEXT % 'false')


@TYPES.add()
def contexts(directory):
    """Contexts of the stream and of the event; an event without fields, and one with an empty struct as its fields."""
    plain = Plain(
        contexts=
        '''	event.context := struct { uint32_t vpid; uint32_t vtid;
		integer { size = 8; encoding = UTF8; align = 8; } procname[17];
		struct { uint8_t a; } nested; };
''')
    plain.event('no_context', 'uint8_t a;')
    plain.event('context', 'uint8_t a;', more='\tcontext := struct { string why; uint8_t depth; };\n')
    plain.event('empty_context', '', more='\tcontext := struct { };\n')

    def common(b, name):
        return b.i(32, 1234).i(32, 5678).raw(name.ljust(17, b'\0')).i(8, 3)
    plain.write(
        directory, stream=[
            plain.packet([(BEGIN, 0, lambda b: common(b, b'a process').i(8, 1)),
                          (BEGIN + 5, 1, lambda b: common(b, b'').s('because').i(8, 2).i(8, 3)),
                          (BEGIN + 9, 2, lambda b: common(b, b'a long name of 17'))], cpu=3)
        ])
