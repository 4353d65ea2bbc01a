# SPDX-License-Identifier: MIT
"""
Writes Common Trace Format 1.8.3 bit by bit, from the text of the specification alone. corpus18*.py makes its traces
with it, and a reader that shares no line with it has to read them. The output may be wrong on purpose: sizes and ids
are those of the caller.
"""
import collections
import functools
import os
import struct

MAGIC, METADATA_MAGIC, INDEX_MAGIC = 0xC1FC1FC1, 0x75D11D57, 0xC1F1DCC1
UUID = bytes(range(0x10, 0x20))
UUID_TEXT = '10111213-1415-1617-1819-1a1b1c1d1e1f'


class Bits:
    """
    A sequence of fields. In little endian, bit fields fill each byte from its lowest bit, lowest bits of the value
    first. In big endian, they fill it from the highest bit, highest bits first. Positions and alignments count from the
    start of the packet. Methods return self, so that calls can be chained.
    """

    def __init__(self, order='le'):
        self.order, self.bits, self.data, self.marks = order, 0, bytearray(), []

    def align(self, bits):
        self._to(self.bits + -self.bits % bits)
        return self

    def _to(self, bits):
        self.bits = bits
        self.data.extend(bytes((bits + 7) // 8 - len(self.data)))

    def i(self, size, value, align=None, order=None):
        """
        An integer of `size` bits. An alignment of None is the default of the specification for a declaration without
        one.
        """
        self.align(align or (1 if size % 8 else 8))
        start = self.bits
        self._to(start + size)
        for n in range(size):
            if value >> n & 1:
                little = (order or self.order) == 'le'
                at = start + (n if little else size - 1 - n)
                self.data[at // 8] |= 1 << at % 8 if little else 0x80 >> at % 8
        return self

    def f(self, size, value, align=8, order=None):
        """A floating point number of 32 or 64 bits. An int is the bits themselves, for instance of a NaN."""
        if isinstance(value, float):
            value = int.from_bytes(struct.pack('<f' if size == 32 else '<d', value), 'little')
        return self.i(size, value, align, order)

    def s(self, text):
        """A string with its terminator."""
        return self.raw((text.encode() if isinstance(text, str) else text) + b'\0')

    def raw(self, data):
        self.align(8)
        start = self.bits // 8
        self._to(self.bits + 8 * len(data))
        self.data[start:start + len(data)] = data
        return self

    def mark(self):
        """Mark the end of a record here."""
        self.marks.append(self.bits)
        return self


class Packet:
    """
    A packet and its sizes in bits: `content` is the used part, `whole` includes the padding. write(bits, content,
    whole) is called twice, because contents and sizes depend on each other. `marks` has the ends of the records, in
    bits from the start of the packet.
    """

    def __init__(self, write, order='le', whole=None, pad=0):
        first = Bits(order)
        write(first, 0, 0)
        self.content = first.bits
        self.whole = whole or (self.content + 7) // 8 * 8 + 8 * pad
        bits = Bits(order)
        write(bits, self.content, self.whole)
        self.marks = bits.marks
        self.bytes = bytes(bits.data).ljust(self.whole // 8, b'\0')


def integers(order=''):
    """Declarations of uint8_t to uint64_t and int8_t to int64_t, aligned to bytes."""
    order = ' byte_order = %s;' % order if order else ''
    return ''.join('typealias integer { size = %d; align = 8; signed = %s;%s } := %sint%d_t;\n' % (
        size, 'false' if u else 'true', order, u, size) for u in ('u', '') for size in (8, 16, 32, 64))


CLOCK = '''clock {
	name = test;
	description = "a clock that begins in July of 2017";
	freq = 1000000000;
	offset_s = 1500000000;
	offset = 0;
};
typealias integer { size = 64; align = 8; signed = false; map = clock.test.value; } := stamp_t;
'''
BEGIN = 1000000000


class Plain:
    """
    The layout of most traces: a packet header with magic number, UUID and stream id, a packet context with times,
    sizes, counters and cpu_id, an event header with id and time, all aligned to bytes.
    """
    HEAD = 76       # offset of the first event in its packet, in bytes

    def __init__(self, order='le', types='', env='', clock=CLOCK, streams=1, contexts=''):
        self.order, self.types, self.env, self.clock, self.streams = order, types, env, clock, streams
        self.contexts, self.events = contexts, []

    def event(self, name, fields, stream=0, more=''):
        """Declare an event; returns its id. `fields` are the declarations inside the struct."""
        self.events.append((name, fields, stream, more))
        return len(self.events) - 1

    def text(self):
        text = '/* CTF 1.8 */\n' + integers() + self.types + self.trace() + self.env + self.clock
        for number in range(self.streams):
            text += self.stream(number)
        for number, (name, fields, stream, more) in enumerate(self.events):
            text += 'event {\n\tname = "%s";\n\tid = %d;\n\tstream_id = %d;\n%s\tfields := struct {\n\t\t%s\n\t};\n' \
                '};\n' % (
                name, number, stream, more, fields.strip().replace('\n', '\n\t\t'))
        return text

    def trace(self):
        return '''trace {
	major = 1;
	minor = 8;
	uuid = "%s";
	byte_order = %s;
	packet.header := struct { uint32_t magic; uint8_t uuid[16]; uint32_t stream_id; };
};
''' % (UUID_TEXT, self.order)

    def stream(self, number):
        return '''stream {
	id = %d;
	packet.context := struct {
		stamp_t timestamp_begin; stamp_t timestamp_end;
		uint64_t content_size; uint64_t packet_size;
		uint64_t packet_seq_num; uint64_t events_discarded;
		uint32_t cpu_id;
	};
	event.header := struct { uint16_t id; stamp_t timestamp; };
%s};
''' % (number, self.contexts)

    def packet(self, records, begin=None, end=None, pad=0, lie=None, **head):
        """
        `records` are (time, id, function that writes contexts and fields, or None). `head` may have stream, sequence,
        discarded and cpu. `lie` has false values for any of these, for magic, uuid, begin and end, and for the sizes
        content and whole.
        """
        values = {'magic': MAGIC, 'uuid': UUID, 'stream': 0, 'sequence': 0, 'discarded': 0, 'cpu': 0,
                  'begin': records[0][0] if begin is None else begin, 'end': records[-1][0] if end is None else end}

        def write(bits, content, whole):
            said = dict(values, content=content, whole=whole)
            assert set(head) | set(lie or {}) <= set(said), (head, lie)
            said.update(head, **(lie or {}))
            bits.i(32, said['magic']).raw(said['uuid']).i(32, said['stream'])
            for name in ('begin', 'end', 'content', 'whole', 'sequence', 'discarded'):
                bits.i(64, said[name])
            bits.i(32, said['cpu'])
            for time, number, fields in records:
                bits.i(16, number).i(64, time)
                if fields:
                    fields(bits)
                bits.mark()
        return Packet(write, self.order, pad=pad)

    def write(self, directory, **files):
        """Write the files; each file is a list of packets."""
        save(directory, metadata=self.text(), **{name: joined(packets) for name, packets in files.items()})


def joined(packets):
    return b''.join(p.bytes for p in packets)


def ends(packets):
    """Where each record of a stream file ends, in bytes from its start."""
    found, start = [], 0
    for packet in packets:
        found += [start + (mark + 7) // 8 for mark in packet.marks]
        start += len(packet.bytes)
    return found


def one_packet(directory, fields, records, order='le', types='', contexts='', more=''):
    """A trace with one event class `event`, in one packet; `records` are functions that write contexts and fields."""
    plain = Plain(order, types, contexts=contexts)
    plain.event('event', fields, more=more)
    plain.write(directory, stream=[plain.packet([(BEGIN + 1000 * n, 0, r) for n, r in enumerate(records)])])


def save(directory, **files):
    """Make the directory and its parents, with these files of text or bytes. `__` in a name separates folders."""
    os.makedirs(directory, exist_ok=True)
    for name, data in files.items():
        path = os.path.join(directory, name.replace('__', '/'))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'wb') as f:
            f.write(data.encode() if isinstance(data, str) else data)


def metadata_packet(text, order='le', uuid=UUID, pad=0, **lie):
    """One packet of packetized metadata; `lie` has false values for fields of its header."""
    text = text.encode() if isinstance(text, str) else text
    head = {
        'magic': METADATA_MAGIC, 'checksum': 0, 'content': 8 * (37 + len(text)), 'whole': 8 * (37 + len(text) + pad),
        'compression': 0, 'encryption': 0, 'checksum_scheme': 0, 'major': 1, 'minor': 8
    }
    assert not set(lie) - set(head), lie
    head.update(lie)
    bits = Bits(order).i(32, head['magic']).raw(uuid)
    for name in ('checksum', 'content', 'whole'):
        bits.i(32, head[name])
    for name in ('compression', 'encryption', 'checksum_scheme', 'major', 'minor'):
        bits.i(8, head[name])
    return bytes(bits.data) + text + bytes(pad)


def packetized(text, order='le', uuid=UUID, size=200, pad=0):
    """Metadata in packets that end anywhere, also inside a word."""
    data = text.encode()
    return b''.join(metadata_packet(data[at:at + size], order, uuid, pad) for at in range(0, len(data), size))


def index(packets, minor=1, magic=INDEX_MAGIC, major=1, length=None, change=None):
    """
    The LTTng index of a stream file of Plain; it is always big endian. `packets` are (packet, {begin, end, discarded,
    stream, instance, sequence}). change(number, entry) may make an entry wrong.
    """
    names = ['offset', 'whole', 'content', 'begin', 'end', 'discarded', 'stream'
             ] + ['instance', 'sequence'] * (minor >= 1)
    out, offset = struct.pack('>IIII', magic, major, minor, 8 * len(names) if length is None else length), 0
    for number, (packet, more) in enumerate(packets):
        entry = dict(dict.fromkeys(names, 0), offset=offset, whole=packet.whole, content=packet.content, **more)
        if change:
            change(number, entry)
        out += b''.join(struct.pack('>Q', entry[name] & (1 << 64) - 1) for name in names)
        offset += len(packet.bytes)
    return out


Good = collections.namedtuple('Good', 'name make expected')


class Goods(list):
    """
    Good traces, each a function that makes the directory. Traces with `expected` lines are those that babeltrace2
    cannot read, or reads incorrectly.
    """

    def add(self, variants=(), expected=None):
        """Decorator: adds one trace, or one for each variant, which is then the second argument of the function."""
        def mark(function):
            if not variants:
                self.append(Good(function.__name__, function, expected))
            for variant in variants:
                self.append(
                    Good('_'.join(filter(None, (function.__name__, variant))),
                         functools.partial(function, variant=variant), expected))
            return function
        return mark
