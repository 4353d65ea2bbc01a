# SPDX-License-Identifier: MIT
"""
Traces with numbers of any size, random or given: field classes of CTF 2 and, for some of them, of CTF 1.8; their
values, encoded bit by bit. Written from the text of the specifications alone. wide_output.py defines the output that a
reader has to show.
"""
import json
import math
import os
from fractions import Fraction

from ctf18 import save
from traces import check

WIDEST = 4096
NAMES = {'le': 'little-endian', 'be': 'big-endian'}
TYPES = {
    'array': 'fixed-length-bit-array', 'map': 'fixed-length-bit-map', 'boolean': 'fixed-length-boolean',
    'real': 'fixed-length-floating-point-number', 'unsigned': 'fixed-length-unsigned-integer',
    'signed': 'fixed-length-signed-integer'
}
LENGTHS = (1, 7, 8, 9, 31, 32, 33, 61, 62, 63, 64, 65, 66, 67, 68, 71, 72, 73, 96, 100, 127, 128, 129, 191, 192, 193,
           255, 256, 257, 511, 512, 513, 1000, 1024, 2047, 2048, 4032, 4095, 4096)
REALS = (16, 32, 64, 128, 160, 192, 224, 256, 288, 320, 512, 992, 1024, 2048, 4064, 4096)
# bytes of a LEB128 number with at most WIDEST bits, counted either way
MOST_GROUPS = WIDEST // 7
EDGES = [
    0, 1, -1, 2, -2, 5, 9, 10, 99, 1 << 31, 1 << 32, (1 << 63) - 1, 1 << 63, (1 << 63) + 1, (1 << 64) - 1, 1 << 64,
    (1 << 64) + 1,
    -(1 << 63), -(1 << 63) - 1, -(1 << 63) + 1, -(1 << 64), -(1 << 64) - 1, -(1 << 64) + 1, 1 << 65, 1 << 127, 1 << 128,
    (1 << 128) - 1, 10**9, 10**18, 10**19, 10**19 - 1, 10**20, 10**20 - 1, 10**27, 10**36, 10**38, 10**38 + 10**19,
    10**38 - 1, 10**1200, -10**18, -10**19, -10**20, -10**38
]


# ── numbers ─────────────────────────────────────────────────────────────────────────────────────────────

def span(length, signed):
    """The smallest and the largest integer of this many bits."""
    return (-(1 << length - 1), (1 << length - 1) - 1) if signed else (0, (1 << length) - 1)


def some_integer(random, length, signed):
    low, high = span(length, signed)
    way = random.randrange(8)
    if way < 2:
        value = random.getrandbits(length) + low
    elif way == 2:
        value = random.choice(EDGES)
    elif way == 3:
        value = random.getrandbits(random.randint(1, length)) * random.choice((1, -1))
    elif way == 4:
        value = random.choice((low, high)) + random.randint(-2, 2)
    elif way == 5:
        value = sum(1 << random.randrange(length) for _ in range(random.randint(1, 3)))
    elif way == 6:
        value = 10 ** random.randint(0, length * 3 // 10 + 1) + random.randint(-1, 1)
    else:
        value = random.choice((1, -1)) * random.randint(0, 300)
    return value if low <= value <= high else random.getrandbits(length) + low


def format_of(length):
    """(bits of the exponent, bits of the fraction) of IEEE 754-2008's binary interchange formats."""
    width = {16: 5, 32: 8, 64: 11, 128: 15}.get(length) or round(4 * math.log2(length)) - 13
    return width, length - 1 - width


def real_bits(length, negative, exponent, fraction):
    """The bits of the number with this stored exponent."""
    width, digits = format_of(length)
    return int(negative) << length - 1 | exponent << digits | fraction


def encoded(value, length):
    """The bits of a Fraction, which must be exact in the format."""
    width, digits = format_of(length)
    bias, size = (1 << width - 1) - 1, abs(value)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent -= size < Fraction(2) ** exponent
    if exponent < 1 - bias:
        scaled, stored = size / Fraction(2) ** (1 - bias - digits), 0
    else:
        scaled, stored = (size / Fraction(2) ** exponent - 1) * (1 << digits), exponent + bias
    check(scaled.denominator == 1 and stored < (1 << width) - 1, '%s is not a number of %d bits', value, length)
    return real_bits(length, value < 0, stored, int(scaled))


def nearest(bits, length):
    """(the double nearest to a number of that format, whether it is so small that its last digits may be lost)"""
    width, digits = format_of(length)
    exponent, fraction = bits >> digits & (1 << width) - 1, bits & (1 << digits) - 1
    sign, bias = -1.0 if bits >> length - 1 else 1.0, (1 << width - 1) - 1
    if exponent == (1 << width) - 1:
        return (math.nan if fraction else sign * math.inf), False
    if not exponent and not fraction:
        return sign * 0.0, False
    power = max(exponent, 1) - bias
    if power > 1100:
        return sign * math.inf, False
    if power < -1100 - (digits if not exponent else 0):
        return sign * 0.0, True
    exact = (Fraction(fraction, 1 << digits) + (1 if exponent else 0)) * Fraction(2) ** power
    try:
        return sign * (exact.numerator / exact.denominator), exact < Fraction(2) ** -1022 and length > 64
    except OverflowError:
        return sign * math.inf, False


def some_real(random, length):
    """Bits of a random number; often within the range of a double, often near the middle between two doubles."""
    width, digits = format_of(length)
    bias, most = (1 << width - 1) - 1, (1 << width) - 1
    way = random.randrange(10)
    if way == 0:
        return random.getrandbits(length)
    if way == 1:
        return real_bits(length,
                         random.random() < 0.5, random.choice((0, most)),
                         random.choice((0, 1, random.getrandbits(digits), (1 << digits) - 1)))
    exponent = bias + random.choice(
        (0, 1, -1, 10, -10, random.randint(-40, 80), random.randint(-1090, 1030), 1023, -1022))
    fraction = random.getrandbits(digits)
    if way > 5 and digits > 54:
        top = random.choice((random.getrandbits(52), (1 << 52) - 1, 0, 1))
        fraction = top << digits - 52 | random.choice((0, 1 << digits - 53)) + random.choice(
            (0, 1, -1, 1 << random.randrange(digits - 53)))
        fraction &= (1 << digits) - 1
    return real_bits(length, random.random() < 0.5, min(max(exponent, 0), most - 1), fraction)


# ── field classes ───────────────────────────────────────────────────────────────────────────────────────

class Leaf:
    """
    A number. Its values are integers; those of booleans and floats are their bits. `length` None: LEB128. `labels` (of
    bits, for a map) are [(name, [(from, to)])].
    """

    def __init__(self, kind, length, order='le', backwards=False, align=1, base=10, labels=(), roles=(), pick=None):
        self.kind, self.length, self.order, self.backwards = kind, length, order, backwards
        self.align, self.base = align, base
        self.labels, self.roles, self.pick, self.bytes, self.more = list(labels), list(roles), pick, None, None

    signed = property(lambda self: self.kind == 'signed')
    alignment = property(lambda self: self.align if self.length else 8)

    def leaves(self):
        yield self

    def json(self):
        named = {name: [list(pair) for pair in ranges] for name, ranges in self.labels}
        made = {'type': TYPES[self.kind].replace('fixed', 'fixed' if self.length else 'variable')}
        if self.length:
            made.update({'length': self.length, 'byte-order': NAMES[self.order], 'alignment': self.align})
            if self.backwards:
                made['bit-order'] = 'last-to-first' if self.order == 'le' else 'first-to-last'
        if self.kind in ('unsigned', 'signed'):
            made['preferred-display-base'] = self.base
            made.update({'mappings': named} if named else {}, **({'roles': self.roles} if self.roles else {}))
        elif self.kind == 'map':
            made['flags'] = named
        return made

    def tsdl(self, name):
        if self.kind == 'real':
            width, digits = format_of(self.length)
            return 'floating_point { exp_dig = %d; mant_dig = %d; align = %d; byte_order = %s; } %s;' % (
                width, digits + 1, self.align, self.order, name)
        made = 'integer { size = %d; signed = %s; align = %d; base = %d; byte_order = %s; }' % (
            self.length, 'true' if self.signed else 'false', self.align, self.base, self.order)
        if self.labels:
            made = 'enum : %s { %s }' % (made, ', '.join('"%s" = %d ... %d' % (name, *pair)
                                                         for name, ranges in self.labels for pair in ranges))
        return '%s %s;' % (made, name)

    def draw(self, random):
        if self.pick:
            return self.pick(random)
        if self.kind == 'real':
            return some_real(random, self.length)
        if self.kind == 'boolean' and random.random() < 0.6:
            return random.choice((0, 0, 1 << random.randrange(self.length)))
        if self.labels and self.kind != 'map' and random.random() < 0.6:
            low, high = span(self.length or 64, self.signed)
            value = random.choice(random.choice(random.choice(self.labels)[1])) + random.choice(
                (0, 0, 1, -1, 1 << 64, -(1 << 64)))
            return value if (low <= value <= high if self.length else self.signed or value >= 0) else 0
        return some_integer(random, self.length or random.choice(
            (7, 8, 14, 63, 64, 65, 70, 71, 128, 1000, 7 * MOST_GROUPS)), self.signed)

    def write(self, out, value):
        if self.length:
            out.align(self.align)
            out.put(value, self.length, self.order, self.backwards)
        else:
            self.bytes = out.leb128(value, self.signed, self.more)
        return value


class Array:
    """An array of `length` elements; with `of`, the length is the value of that earlier member."""

    def __init__(self, element, count=None, of=None):
        self.element, self.count, self.of = element, count, of
        self.alignment = element.alignment

    def leaves(self):
        return self.element.leaves()

    def json(self):
        made = {
            'type': 'dynamic-length-array' if self.of else 'static-length-array',
            'element-field-class': self.element.json()
        }
        return dict(made, **{'length-field-location': {'path': [self.of]}} if self.of else {'length': self.count})

    def tsdl(self, name):
        return self.element.tsdl('%s[%s]' % (name, self.of or self.count))

    def draw(self, random, count=None):
        return [self.element.draw(random) for _ in range(self.count if count is None else count)]

    def write(self, out, values):
        out.align(self.alignment)
        return [self.element.write(out, value) for value in values]


class Choice:
    """
    A variant, or (with one option) an optional, which the member `of` selects. `ranges` None: the selector is a
    boolean. Its value is (option or None, value).
    """

    def __init__(self, of, options, is_optional):
        self.of, self.options, self.is_optional, self.alignment = of, options, is_optional, 1

    def leaves(self):
        for _, _, inner in self.options:
            yield from inner.leaves()

    def json(self):
        where, (_, ranges, inner) = {'selector-field-location': {'path': [self.of]}}, self.options[0]
        if not self.is_optional:
            return {
                'type': 'variant', **where, 'options': [{
                    'name': name, 'selector-field-ranges': [list(pair) for pair in ranges], 'field-class': inner.json()
                } for name, ranges, inner in self.options]
            }
        return {
            'type': 'optional', **where, 'field-class': inner.json(),
            **({'selector-field-ranges': [list(pair) for pair in ranges]} if ranges else {})
        }

    def tsdl(self, name):
        return 'variant <%s> { %s } %s;' % (self.of, ' '.join(inner.tsdl(option)
                                                              for option, _, inner in self.options), name)

    def draw(self, random, selector):
        for number, (_, ranges, inner) in enumerate(self.options):
            if selector if ranges is None else any(low <= selector <= high for low, high in ranges):
                return number, inner.draw(random)
        return None, None

    def write(self, out, value):
        return value if value[0] is None else (value[0], self.options[value[0]][2].write(out, value[1]))


class Struct:
    """[(name, field class)]; a value is {name: value}."""

    def __init__(self, members, least=1):
        self.members, self.least = list(members), least

    alignment = property(lambda self: max([self.least] + [inner.alignment for _, inner in self.members]))

    def leaves(self):
        for _, inner in self.members:
            yield from inner.leaves()

    def json(self):
        return {
            'type': 'structure', 'minimum-alignment': self.least,
            'member-classes': [{'name': name, 'field-class': inner.json()} for name, inner in self.members]
        }

    def tsdl(self, name=None):
        return 'struct { %s }%s%s' % (' '.join(inner.tsdl(n) for n, inner in self.members), ' align(%d)' %
                                      self.least if self.least > 1 else '', ' %s;' % name if name else '')

    def draw(self, random):
        made = {}
        for name, inner in self.members:
            of = getattr(inner, 'of', None)
            made[name] = inner.draw(random, made[of]) if of else inner.draw(random)
        return made

    def write(self, out, value):
        out.align(self.alignment)
        return {name: inner.write(out, value[name]) for name, inner in self.members}


class Bits:
    """The bits of one packet. Bits that no field covers are random."""

    def __init__(self, random):
        self.random, self.data, self.at = random, bytearray(), 0

    def to(self, at):
        self.at = at
        self.data += self.random.randbytes(max(0, (at + 7) // 8 - len(self.data)))

    def align(self, alignment):
        self.to(self.at + -self.at % alignment)

    def put(self, value, length, order, backwards=False):
        """
        6.4.3: in little endian, a byte's lowest bit is the first, and the first bit is the lowest of the value; in big
        endian, the order is the opposite.
        """
        value &= (1 << length) - 1
        if backwards:
            value = int(format(value, '0%db' % length)[::-1], 2)
        first, past = self.at // 8, (self.at + length + 7) // 8
        shift = self.at - 8 * first if order == 'le' else 8 * past - self.at - length
        self.to(self.at + length)
        whole = int.from_bytes(self.data[first:past], NAMES[order][:-7])
        whole = whole & ~((1 << length) - 1 << shift) | value << shift
        self.data[first:past] = whole.to_bytes(past - first, NAMES[order][:-7])

    def leb128(self, value, signed, more=None):
        """Write a LEB128 number in the fewest bytes, or in up to three more. Returns their number."""
        least = max(1, -(-((value if value >= 0 else ~value).bit_length() + signed) // 7))
        groups = min(max(least, MOST_GROUPS), least + (self.random.choice((0, 0, 0, 1, 3)) if more is None else more))
        self.align(8)
        for n in range(groups):
            self.put(value >> 7 * n & 0x7f | (0x80 if n < groups - 1 else 0), 8, 'le')
        return groups

    def again(self, at, value, length, order):
        """Overwrite the value at bit `at`."""
        here, self.at = self.at, at
        self.put(value, length, order)
        self.at = here


# ── traces ──────────────────────────────────────────────────────────────────────────────────────────────

class Made:
    """
    A trace of one stream class. Arguments are the classes of the packet's header (or None), its context, a record's
    header and common context (or None), and of the events' contexts (or None) and payloads. Packets begin with their
    sizes. With `sized` False, the file is one packet.
    """

    def __init__(self, version, order, events, header=(), context=(), record=(), common=None, sized=True, least=1):
        size = Leaf('unsigned', 32, order, align=8)
        roles = ['packet-total-length', 'packet-content-length']
        sizes = [(name, Leaf('unsigned', 32, order, align=8, roles=[role]))
                 for name, role in zip(('packet_size', 'content_size'), roles)] if sized else []
        self.size, self.version, self.order, self.common = size, version, order, common
        self.events, self.sized = events, sized
        self.header, self.context = (Struct(header, least) if header else None), Struct([*sizes, *context], least)
        self.record = Struct([*record], least)
        self.packets, self.data, self.ends = [], b'', []
        names = [name for name, _ in self.record.members]
        check('id' in names or len(events) == 1, 'records have no id, but there are %d events', len(events))

    def leaves(self):
        for struct in (self.header, self.context, self.record, self.common, *(s for pair in self.events for s in pair)):
            yield from struct.leaves() if struct else ()

    def metadata(self):
        return self.tsdl() if self.version == 1 else ''.join('\x1e%s\n' % json.dumps(fragment)
                                                             for fragment in self.fragments()).encode()

    def fragments(self):
        def given(**named):
            return {
                '%s-field-class' % name.replace('_', '-'): struct.json() for name, struct in named.items()
                if struct and struct.members
            }
        yield {'type': 'preamble', 'version': 2}
        yield {'type': 'trace-class', **given(packet_header=self.header)}
        yield {
            'type': 'data-stream-class', 'id': 0,
            **given(packet_context=self.context, event_record_header=self.record,
                    event_record_common_context=self.common)
        }
        for number, (context, payload) in enumerate(self.events):
            yield {
                'type': 'event-record-class', 'id': number, 'name': 'e%d' % number,
                **given(specific_context=context, payload=payload)
            }

    def tsdl(self):
        def given(name, struct):
            return '\t%s := %s;\n' % (name, struct.tsdl()) if struct and struct.members else ''

        text = '/* CTF 1.8 */\ntrace {\n\tmajor = 1;\n\tminor = 8;\n\tbyte_order = %s;\n%s};\n' % (
            self.order, given('packet.header', self.header))
        text += 'stream {\n%s%s%s};\n' % (given('packet.context', self.context), given(
            'event.header', self.record), given('event.context', self.common))
        for number, (context, payload) in enumerate(self.events):
            identity = '\tid = %d;\n' % number if self.record.members else ''
            text += 'event {\n\tname = "e%d";\n%s%s%s};\n' % (number, identity, given(
                'context', context), given('fields', payload))
        return text.encode()

    def draw(self, random):
        """A random record: (event, its header, its common context, its own context, its payload)."""
        number = random.randrange(len(self.events))
        header = self.record.draw(random)
        if 'id' in header:
            header['id'] = number
        return (number, header, *(struct.draw(random) if struct and struct.members else None
                                  for struct in (self.common, *self.events[number])))

    def packet(self, random, records, pad=0, context=None):
        """Append a packet of these records; self.ends receives the byte at which each ends."""
        out, start = Bits(random), len(self.data)
        if self.header:
            self.header.write(out, self.header.draw(random))
        value = self.context.draw(random)
        value.update(context or {})
        if self.context.members:
            out.align(self.context.alignment)
        sizes_at = out.at
        if self.context.members:
            self.context.write(out, value)
        for number, header, common, own, payload in records:
            for struct, inner in ((self.record, header), (self.common, common),
                                  *zip(self.events[number], (own, payload))):
                if struct and struct.members:
                    struct.write(out, inner)
            self.ends.append(start + (out.at + 7) // 8)
        content = out.at
        out.align(8)
        out.to(out.at + 8 * pad)
        check(self.sized or content == out.at and not pad and not self.packets, 'the end of this packet is not defined')
        if self.sized:
            out.again(sizes_at, out.at, 32, self.order)
            out.again(sizes_at + 32, content, 32, self.order)
        self.packets.append((value, records))
        self.data += out.data

    def write(self, path, data=None, metadata=None):
        save(path, metadata=metadata or self.metadata(), stream=self.data if data is None else data)
        return path

    def records(self):
        """(the packet's context, results of draw())"""
        return [(context, record) for context, records in self.packets for record in records]


# ── at random ───────────────────────────────────────────────────────────────────────────────────────────


def scratch(case, name):
    """A new directory `t`; readers show the last part of its path."""
    case.number = getattr(case, 'number', 0) + 1
    return os.path.join(case.path('%s%d' % (name, case.number)), 't')
