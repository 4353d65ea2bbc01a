# SPDX-License-Identifier: MIT
"""
Reads Common Trace Format 2. It is written from the text of the specification alone (CTF2-SPEC-2.0rB, with section
numbers below; CTF2-FS-1.0 for the files), so that it is independent of other readers and writers. ctf2_self.py tests
it.

Trace(directory) reads the metadata; packets() and records() read the data streams. A violation of the specification
raises Failure with its position. "Doubt:" marks what the specification leaves open, and what other readers might
interpret differently.
"""
import math
import pathlib
import struct
from fractions import Fraction
from types import SimpleNamespace

from ctf2_classes import (CLOCKED, COMMON, CONTEXT, ENCODINGS, FRAGMENTS, HEADER, MOST_EMPTY, PAYLOAD, RECORD_HEADER,
                          ROLES, SPECIFIC, FieldClass, Flags, Mapped, at_least, json_texts, must, one_of, shaped)
from traces import Failure  # noqa: F401 (callers catch it)


class Field:
    """A decoded field: its kind, its value, the structure around it, and whether decoding is still in progress."""
    __slots__ = 'kind', 'value', 'inside', 'open', 'names'

    def __init__(self, kind, value, inside=None, names=None):
        self.kind, self.value, self.inside, self.open, self.names = kind, value, inside, False, names

    def plain(self):
        if self.kind == 'structure':
            return {name: member.plain() for name, member in self.value.items()}
        if self.kind == 'array':
            return [item.plain() for item in self.value]
        if self.names is not None:
            return (Flags if self.kind == 'bits' else Mapped)(self.value, self.names)
        return self.value


def real_of(value, length):
    """IEEE 754-2008 binary interchange format; for more than 64 bits, the nearest float."""
    if length <= 64:
        return struct.unpack({16: '<e', 32: '<f', 64: '<d'}[length], value.to_bytes(length // 8, 'little'))[0]
    width = 15 if length == 128 else round(4 * math.log2(length)) - 13
    digits, most = length - width - 1, (1 << width) - 1
    exponent, fraction = value >> digits & most, value & (1 << digits) - 1
    exponent -= most >> 1
    if exponent > most >> 1:
        found = math.nan if fraction else math.inf
    elif exponent < -1200:                  # A subnormal of the wide format is 0 as a float.
        found = 0.0
    else:
        exact = (1 + Fraction(fraction, 1 << digits)) * Fraction(2) ** min(exponent, 1024)
        try:
            found = exact.numerator / exact.denominator
        except OverflowError:
            found = math.inf
    return -found if value >> length - 1 else found


class Packet:
    """Decodes one packet of a data stream: the variables of 6.1 and the procedures of 6.4."""

    def __init__(self, trace, file, data, start, number):
        self.trace, self.file, self.data, self.start, self.number = trace, file, data, start, number
        self.x, self.end, self.clock, self.last_order, self.empty = 0, 8 * (len(data) - start), 0, None, 0
        self.content = self.total = None    # None is the infinity of the specification
        self.scopes, self.scope, self.roles, self.stream = {}, None, {}, None

    def must(self, condition, words, *args):
        if not condition:
            at = 'byte %d bit %d' % (self.start + self.x // 8, self.x % 8)
            must(False, '%s: packet %s, %s (%s): ' + words, self.file, self.number, at, self.scope or 'packet', *args)

    def room(self, bits):
        left = self.end - self.x if self.content is None else self.content - self.x
        self.must(bits <= left, '%s bits are wanted where the content of the packet has only %s left', bits, left)
        self.must(self.x + bits <= self.end, '%s bits are wanted where the file has only %s left', bits,
                  self.end - self.x)

    def align_to(self, alignment):
        # Doubt: 2.0 and 2.0rA also forbid a record that ends exactly where the content ends; 2.0rB calls that an error
        # of the earlier versions.
        self.room(-self.x % alignment)
        self.x += -self.x % alignment

    def read_bytes(self, count):
        self.room(8 * count)
        self.x += 8 * count
        return self.data[self.start + self.x // 8 - count:self.start + self.x // 8]

    def read_bits(self, c):
        self.align_to(c.align)
        self.room(c.length)
        self.must(not self.x % 8 or self.last_order == c.order, 'the byte order changes within a byte')
        self.last_order = c.order
        first, past = self.x // 8, (self.x + c.length + 7) // 8
        value = int.from_bytes(self.data[self.start + first:self.start + past], c.order[:-len('-endian')])
        # The first bit read is the lowest of a little-endian field and the highest of a big-endian one.
        value >>= self.x - 8 * first if c.order == 'little-endian' else 8 * past - self.x - c.length
        value &= (1 << c.length) - 1
        self.x += c.length
        return int(format(value, '0%db' % c.length)[::-1], 2) if c.backwards else value

    def read_leb128(self, signed):
        groups = [self.read_bytes(1)[0]]
        while groups[-1] & 0x80:
            groups.append(self.read_bytes(1)[0])
        value = int(''.join(format(group & 0x7f, '07b') for group in reversed(groups)), 2)
        return value - (1 << 7 * len(groups)) if signed and groups[-1] & 0x40 else value, 7 * len(groups)

    def read_text(self, c, length):
        """
        Read up to the first code unit of zeroes. Without a length, the terminator must exist; with a length, the bytes
        after it are garbage.
        """
        at, unit = self.start + self.x // 8, ENCODINGS[c.encoding]
        self.room(8 * length if length is not None else 8 * unit)
        room = length if length is not None else (min(self.end, self.end if self.content is None else self.content) -
                                                  self.x) // 8
        end = self.data.find(bytes(unit), at, at + room)
        while end >= 0 and (end - at) % unit:
            end = self.data.find(bytes(unit), end + 1, at + room)
        if end < 0:
            self.must(length is not None, 'a string does not end before the packet does')
            self.must(room % unit == 0, '%s bytes are no %s, and none of them ends the string', room, c.encoding)
            end = at + room
        self.x += 8 * (end - at + unit if length is None else length)
        try:
            # Doubt: the specification does not define the result for bytes that are invalid in the encoding.
            return self.data[at:end].decode(c.encoding, self.trace.errors)
        except UnicodeDecodeError as e:
            self.must(False, 'a string is no %s: %s', c.encoding, str(e))

    def locate(self, location, inside):
        """6.4.2: the field at a location, for a field with the nearest structure `inside`."""
        origin, path = location.get('origin'), location['path']
        found = inside if origin is None else self.scopes.get(origin)
        words = '%s %s' % (origin or 'relative', path)
        self.must(found is not None, 'location %s: nothing of that origin is decoded', words)
        for i, step in enumerate(path):
            if step is None:
                found = found.inside
                self.must(found is not None, 'location %s: step %s leaves the outermost structure', words, i)
            else:
                found = found.value.get(step)
                self.must(found is not None, 'location %s: no %s is decoded there', words, step)
            while found.kind == 'array':
                self.must(found.open, 'location %s: %s is an array that is not being decoded', words, step)
                found = found.value[-1]
                self.must(found is not None, 'location %s: the element of %s is not decoded', words, step)
            expected = ('structure',) if i < len(path) - 1 else ('boolean', 'unsigned', 'signed')
            self.must(found.kind in expected, 'location %s: step %s leads to a %s', words, i, found.kind)
        return found

    def length_of(self, c, inside):
        if c.location is None:
            return c.length
        found = self.locate(c.location, inside)
        self.must(found.kind == 'unsigned', 'a length that is a %s', found.kind)
        return found.value

    def decode(self, c, inside, put):
        """Decodes a field within the structure `inside`. put() receives it as soon as other fields may refer to it."""
        before, kind = self.x, c.type
        if kind == 'structure':
            self.align_to(c.align)
            field = Field('structure', {}, inside)
            put(field)
            for name, member in c.members.items():
                self.decode(member, field, lambda f, name=name: field.value.__setitem__(name, f))
        elif kind in ('static-length-array', 'dynamic-length-array'):
            length = self.length_of(c, inside)
            self.align_to(c.align)
            field = Field('array', [], inside)
            put(field)
            field.open = True
            for _ in iter(range(length)):
                field.value.append(None)
                self.decode(c.element, inside, lambda f: field.value.__setitem__(-1, f))
            field.open = False
        elif kind == 'optional':
            found = self.locate(c.location, inside)
            self.must(found.kind == 'boolean' or c.ranges, 'an optional without ranges, chosen by a %s', found.kind)
            if found.value if found.kind == 'boolean' else any(low <= found.value <= high for low, high in c.ranges):
                self.decode(c.element, inside, put)
            else:
                put(Field('nil', None, inside))
        elif kind == 'variant':
            found = self.locate(c.location, inside)
            self.must(found.kind in ('unsigned', 'signed'), 'the selector of a variant is a %s', found.kind)
            option = [option for ranges, option in c.options for low, high in ranges if low <= found.value <= high]
            self.must(option, 'no option of the variant is for %s', found.value)
            self.decode(option[0], inside, put)
        else:
            put(self.leaf(c, inside))
        if self.x == before:
            self.empty += 1
            self.must(self.empty <= MOST_EMPTY, 'more than %s fields without a bit', MOST_EMPTY)

    def leaf(self, c, inside):
        kind, bits, names = c.type, c.length, None
        if kind.startswith('fixed-length'):
            value = self.read_bits(c)
        else:
            length = self.length_of(c, inside)
            self.align_to(8)
        if kind.startswith('fixed-length-bit'):
            if c.names:
                ones = [i for i, one in enumerate(reversed(format(value, 'b'))) if one == '1']
                names = frozenset(n for n, ranges in c.names.items() for low, high in ranges
                                  if any(low <= i <= high for i in ones))
            field = Field('bits', value, inside, names)
        elif kind == 'fixed-length-boolean':
            field = Field('boolean', value != 0, inside)
        elif kind == 'fixed-length-floating-point-number':
            field = Field('real', real_of(value, bits), inside)
        elif kind.endswith('integer'):
            if kind.startswith('variable-length'):
                value, bits = self.read_leb128(c.signed)
            elif c.signed and value >> bits - 1:
                value -= 1 << bits
            if c.names:
                names = frozenset(n for n, ranges in c.names.items() for low, high in ranges if low <= value <= high)
            field = Field('signed' if c.signed else 'unsigned', value, inside, names)
        else:
            string = kind.endswith('string')
            field = Field('string', self.read_text(c, length), inside) if string else Field(
                'blob', self.read_bytes(length), inside)
        # Doubt: a role applies at any depth and at each occurrence, and only below the root for which the specification
        # defines it.
        for role in c.roles:
            if role in ROLES.get(self.scope, ()):
                self.play(role, field.value, bits)
        return field

    def play(self, role, value, bits):
        self.roles[role] = value
        if role == 'packet-magic-number':
            self.must(value == 0xc1fc1fc1, 'the magic number is %s', hex(value))
        elif role == 'metadata-stream-uuid':
            self.must(value == self.trace.uuid, 'the UUID is %s, that of the metadata %s', value.hex(),
                      self.trace.uuid.hex())
        elif role == 'packet-content-length':
            self.content = value
        elif role == 'packet-total-length':
            self.total = value
        elif role == 'default-clock-timestamp':
            # 6.3. Doubt: if the field has the width of the clock and its value decreases, this adds 2^64; the clock
            # does not go back.
            mask = (1 << bits) - 1
            self.clock = (self.clock & ~mask) + value + (mask + 1 if value < self.clock & mask else 0)

    def root(self, scope, c):
        self.scope, self.scopes[scope] = scope, None
        if c is None:
            return None
        self.decode(c, None, lambda f: self.scopes.__setitem__(scope, f))
        return self.scopes[scope].plain()

    def begin(self):
        """Decodes the header and the context; returns the value that packets() yields."""
        header = self.root(HEADER, self.trace.header)
        self.stream = self.trace.streams.get(self.roles.get('data-stream-class-id', 0))
        self.must(self.stream is not None, 'no data stream class has the id %s',
                  self.roles.get('data-stream-class-id', 0))
        context = self.root(CONTEXT, self.stream.context)
        begin, end = self.clock if CLOCKED[0] in self.roles else None, self.roles.get(CLOCKED[1])
        self.must(begin is None or end is None or begin <= end, 'the packet begins at %s and ends at %s', begin, end)
        self.total = self.content if self.total is None else self.total
        self.content = self.total if self.content is None else self.content
        if self.total is not None:
            self.must(self.content <= self.total, 'the content is %s bits long, the whole packet %s', self.content,
                      self.total)
            self.must(self.total % 8 == 0 and self.total > 0, 'a packet cannot be %s bits long', self.total)
            # Doubt: the procedures of the specification do not make these two checks; taken literally, this would be
            # a packet without records.
            self.must(self.x <= self.content, 'the content ends at bit %s, within header or context', self.content)
            self.must(self.total <= self.end, 'the packet is %s bits long, the file has %s', self.total, self.end)
        self.context, time = context, self.trace.nanoseconds
        return SimpleNamespace(file=self.file, number=self.number, offset=self.start, header=header, context=context,
                               roles=dict(self.roles), stream_class=self.stream.id, stream_name=self.stream.name,
                               stream_namespace=self.stream.namespace, stream_id=self.roles.get('data-stream-id'),
                               total=self.total, content=self.content, begin=begin, end=end,
                               begin_time=time(self.stream.clock, begin), end_time=time(self.stream.clock, end))

    def records(self):
        limit = self.end if self.content is None else self.content
        while self.x < limit:
            before, self.empty, self.roles = self.x, 0, {}
            self.scopes = {scope: self.scopes[scope] for scope in (HEADER, CONTEXT)}
            header = self.root(RECORD_HEADER, self.stream.header)
            number = self.roles.get('event-record-class-id', 0)
            c = self.stream.records.get(number)
            self.must(c is not None, 'no event record class of data stream class %s has the id %s', self.stream.id,
                      number)
            # Doubt: with a clock and without any timestamp this is 0, as in the procedure of the specification.
            cycles = None if self.stream.clock is None else self.clock
            common, specific = self.root(COMMON, self.stream.common), self.root(SPECIFIC, c.specific)
            fields = {
                CONTEXT: self.context, 'common-context': common, 'specific-context': specific,
                'payload': self.root(PAYLOAD, c.payload)
            }
            self.must(self.x > before, 'an event record without a bit')
            yield SimpleNamespace(file=self.file, packet=self.number, stream_class=self.stream.id, name=c.name,
                                  id=number, namespace=c.namespace, uid=c.uid, attributes=c.attributes, cycles=cycles,
                                  time=self.trace.nanoseconds(self.stream.clock, cycles), header=header, fields=fields)


class Trace:
    """
    A trace in a directory. `errors` is the error handler of bytes.decode() for invalid strings, for instance
    'surrogateescape'.
    """

    def __init__(self, directory, errors='strict'):
        self.directory, self.errors = directory, errors
        self.preamble = self.trace_class = self.uuid = self.header = None
        self.aliases, self.clocks, self.streams = {}, {}, {}
        path = pathlib.Path(directory, 'metadata')
        must(path.is_file(), 'there is no %s', str(path))
        for i, fragment in enumerate(json_texts(path.read_bytes(), str(path))):
            where = '%s: fragment %d' % (path, i)
            must(isinstance(fragment, dict), '%s is no JSON object', where)
            kind = one_of(FRAGMENTS, fragment, 'type', where)
            where += ' (%s)' % kind
            must((kind == 'preamble') == (i == 0), '%s: a preamble has to be the first fragment and no other', where)
            getattr(self, 'add_' + kind.replace('-', '_'))(shaped(fragment, kind, where), where)
        must(self.streams, '%s: there is no data stream class', str(path))
        about = self.trace_class or {}
        self.name, self.namespace, self.uid, self.environment = *map(about.get,
                                                                     ('name', 'namespace', 'uid')), about.get(
                                                                         'environment', {})
        self.files = sorted(f.name for f in path.parent.iterdir()
                            if f.name != 'metadata' and not f.name.startswith('.') and f.is_file())

    def field_class(self, thing, where, depth=0):
        if isinstance(thing, str):
            must(thing in self.aliases, '%s: no earlier field class alias is called %s', where, thing)
            return self.aliases[thing]
        return FieldClass(self, thing, where, depth)

    def root_class(self, fragment, name, where, scope=None, clock=None):
        name += '-field-class'
        if name not in fragment:
            return None
        where += ': ' + name
        c = self.field_class(fragment[name], where)
        must(c.type == 'structure', '%s is no structure', where)
        for role in c.played & set(ROLES.get(scope, ())):
            must(clock or role not in CLOCKED, '%s: the role %s without a default clock', where, role)
            must(role != 'metadata-stream-uuid' or self.uuid is not None,
                 '%s: the role %s, and the preamble has no uuid', where, role)
            having = [(i, role in member.roles) for i, member in enumerate(c.members.values()) if role in member.played]
            must(role != 'packet-magic-number' or having == [(0, True)],
                 '%s: the role %s is not that of the first member', where, role)
        return c

    def add_preamble(self, fragment, where):
        must(fragment['version'] == 2, '%s: version %s, not 2', where, fragment['version'])
        self.preamble = fragment
        uuid = fragment.get('uuid', [0] * 16)
        must(
            len(uuid) == 16 and all(type(b) is int and 0 <= b < 256 for b in uuid), '%s: uuid is not 16 bytes: %s',
            where, uuid)
        self.uuid = bytes(uuid) if 'uuid' in fragment else None

    def add_field_class_alias(self, fragment, where):
        must(fragment['name'] not in self.aliases, '%s: the name %s is taken', where, fragment['name'])
        self.aliases[fragment['name']] = self.field_class(fragment['field-class'], where + ': ' + fragment['name'])

    def add_trace_class(self, fragment, where):
        must(self.trace_class is None, '%s: there is one already', where)
        must(not self.streams, '%s: after a data stream class', where)
        for name, value in fragment.get('environment', {}).items():
            must(type(value) in (int, str), '%s: the environment has no integer or string at %s', where, name)
        self.trace_class = fragment
        self.header = self.root_class(fragment, HEADER, where, HEADER)

    def add_clock_class(self, fragment, where):
        must(fragment['id'] not in self.clocks, '%s: the id %s is taken', where, fragment['id'])
        frequency = at_least(1, fragment, 'frequency', where)
        offset = shaped(fragment.get('offset-from-origin', {}), 'clock offset', where + ': offset-from-origin')
        must(
            at_least(0, offset, 'cycles', where) < frequency, '%s: an offset of %s cycles is a second or more', where,
            offset.get('cycles'))
        must(
            min(fragment.get('precision', 0), fragment.get('accuracy', 0)) >= 0, '%s: a negative precision or accuracy',
            where)
        if fragment.get('origin', 'unix-epoch') != 'unix-epoch':
            shaped(fragment['origin'], 'clock origin', where + ': origin')
        self.clocks[fragment['id']] = fragment

    def add_data_stream_class(self, fragment, where):
        number = at_least(0, fragment, 'id', where)
        must(number not in self.streams, '%s: the id %s is taken', where, number)
        clock = fragment.get('default-clock-class-id')
        must(clock is None or clock in self.clocks, '%s: no earlier clock class has the id %s', where, clock)

        def root(scope):
            return self.root_class(fragment, scope, where, scope, self.clocks.get(clock))

        self.streams[number] = self.named(fragment, clock=self.clocks.get(clock), context=root(CONTEXT),
                                          header=root(RECORD_HEADER), common=root(COMMON), records={})

    def add_event_record_class(self, fragment, where):
        number, parent = at_least(0, fragment, 'id', where), at_least(0, fragment, 'data-stream-class-id', where)
        must(parent in self.streams, '%s: no earlier data stream class has the id %s', where, parent)
        records = self.streams[parent].records
        must(number not in records, '%s: the id %s is taken', where, number)
        records[number] = self.named(fragment, specific=self.root_class(fragment, 'specific-context', where),
                                     payload=self.root_class(fragment, 'payload', where))

    def named(self, fragment, **more):
        return SimpleNamespace(id=fragment.get('id', 0), name=fragment.get('name'), namespace=fragment.get('namespace'),
                               uid=fragment.get('uid'), attributes=fragment.get('attributes', {}), **more)

    def nanoseconds(self, clock, cycles):
        """Nanoseconds since the origin of a clock (a value of .clocks), rounded down."""
        if clock is None or cycles is None:
            return None
        offset = clock.get('offset-from-origin', {})
        return math.floor(
            offset.get('seconds', 0) * 10**9 + Fraction((offset.get('cycles', 0) + cycles) * 10**9, clock['frequency']))

    def walk(self, with_records):
        for name in self.files:
            data, start, number = pathlib.Path(self.directory, name).read_bytes(), 0, 0
            while start < len(data):
                packet = Packet(self, name, data, start, number)
                about = packet.begin()
                yield about, packet.records() if with_records else ()
                start, number = len(data) if packet.total is None else start + packet.total // 8, number + 1

    def packets(self):
        return (about for about, _ in self.walk(False))

    def records(self):
        return (record for _, records in self.walk(True) for record in records)
