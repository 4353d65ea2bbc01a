# SPDX-License-Identifier: MIT
"""Good traces of corpus18.py: headers, packets, clocks, indexes, files and folders of every producer."""
import functools
import os

from ctf18 import BEGIN, CLOCK, MAGIC, UUID, UUID_TEXT, Goods, Packet, Plain, index, integers, joined, save

STREAMS = Goods()
ORDERS = ('le', 'be')
TRACE = 'trace { major = 1; minor = 8; byte_order = %s;%s };\n'
CLOCKED = '''clock { name = c; freq = 1000000000; offset_s = 1500000000; };
typealias integer { size = %d; align = %d; map = clock.c.value; } := t;
'''
SIZES = 'packet.context := struct { uint32_t content_size; uint32_t packet_size; };'
EVENT = 'event { name = "e"; fields := struct { uint8_t n; }; };\n'


def sized(write, order='le', **more):
    """A packet with its two sizes in its context, then with what write(bits) writes."""
    return Packet(lambda b, content, whole: write(b.i(32, content).i(32, whole)), order, **more)


def counting(first, count, step=1000, number=0, data=lambda b, n: b.i(8, n)):
    """`count` records of Plain, from time `first` on."""
    return [(first + step * n, number, functools.partial(data, n=n)) for n in range(count)]


def plain_of_one(**more):
    plain = Plain(**more)
    plain.event('e', 'uint8_t n;')
    return plain


# Beginnings of packets.

HEADS = {
    'nothing': '', 'empty': ' ', 'magic': 'uint32_t magic;', 'uuid': 'uint8_t uuid[16];',
    'stream': 'uint8_t stream_id;',
    'all': 'uint32_t magic; uint8_t uuid[16]; uint32_t stream_id; uint64_t stream_instance_id;',
    'more': 'uint32_t magic; uint8_t version; string words; uint32_t stream_id;'
}


@STREAMS.add(list(HEADS))
def packet_header(directory, variant):
    text = '/* CTF 1.8 */\n' + integers() + TRACE % (
        'le', ' uuid = "%s"; packet.header := struct { %s };' % (UUID_TEXT, HEADS[variant]) if HEADS[variant] else '')

    def write(b, content, whole):
        for word in HEADS[variant].replace(';', '').split():
            if word in ('magic', 'uuid[16]', 'stream_id', 'stream_instance_id', 'version', 'words'):
                {
                    'magic': lambda: b.i(32, MAGIC), 'uuid[16]': lambda: b.raw(UUID), 'version': lambda: b.i(8, 2),
                    'words': lambda: b.s('some words'), 'stream_id': lambda: b.i(8 if variant == 'stream' else 32, 0),
                    'stream_instance_id': lambda: b.i(64, 9)
                }[word]()
        b.i(32, content).i(32, whole).i(8, 1).i(8, 2)

    save(directory, metadata=text + 'stream { %s };\n' % SIZES + EVENT,
         stream=joined([Packet(write), Packet(write, pad=3)]))


CONTEXTS = {
    'none': ('', []), 'empty': (' ', []), 'packet_size': ('uint32_t packet_size;', [('whole', 32)]),
    'content_size': ('uint32_t content_size;', [('content', 32)]),
    'reversed': ('uint64_t packet_size; uint64_t content_size;', [('whole', 64), ('content', 64)]),
    'small': ('uint16_t content_size; uint16_t packet_size;', [('content', 16), ('whole', 16)]), 'mine': (
        'uint32_t content_size; uint32_t packet_size; uint32_t cpu_id; string name; uint8_t n; struct { uint8_t '
        'a[n]; } list;',
        [('content', 32), ('whole', 32)]),
    'bits': ('integer { size = 20; } content_size; integer { size = 20; } packet_size; integer { size = 3; } cpu_id;',
             [('content', 20), ('whole', 20)])
}


@STREAMS.add(list(CONTEXTS))
def packet_context(directory, variant):
    """Without a packet size the file is one packet; without a content size all of the packet is content."""
    fields, sizes = CONTEXTS[variant]
    text = '/* CTF 1.8 */\n' + integers() + TRACE % ('le', '') + 'stream { %s };\n' % (
        'packet.context := struct { %s };' % fields if fields else '')

    def write(b, content, whole):
        for name, size in sizes:
            b.i(size, content if name == 'content' else whole)
        if variant == 'mine':
            b.i(32, 3).s('a name').i(8, 2).raw(b'xy')
        if variant == 'bits':
            b.i(3, 5)
        b.i(8, 1).i(8, 2).i(8, 3)
    pad = 5 if len(sizes) == 2 else 0
    count = 3 if 'whole' in dict(sizes) else 1
    save(directory, metadata=text + EVENT, stream=joined([Packet(write, pad=pad)] * count))


# Headers of events.

HEADERS = {
    'id_8': ('uint8_t id;', lambda b, i, t: b.i(8, i)), 'id_64': ('uint64_t id;', lambda b, i, t: b.i(64, i)),
    'id_bits': ('integer { size = 3; } id; integer { size = 5; } rest;', lambda b, i, t: b.i(3, i, 1).i(5, 9)),
    'time_first': ('t timestamp; uint16_t id;', lambda b, i, t: b.i(64, t).i(16, i)),
    'enum': ('enum : uint8_t { zero, one, two } id; t timestamp;', lambda b, i, t: b.i(8, i).i(64, t)),
    'more': ('uint8_t id; uint8_t flags; string why; t timestamp; uint8_t end;',
             lambda b, i, t: b.i(8, i).i(8, 7).s('so').i(64, t).i(8, 1)),
    'other_name': ('uint8_t id; t when;', lambda b, i, t: b.i(8, i).i(64, t)),
    'aligned': ('integer { size = 8; align = 64; } id; t timestamp;', lambda b, i, t: b.i(8, i, 64).i(64, t))
}


@STREAMS.add(list(HEADERS))
def event_header(directory, variant):
    fields, head = HEADERS[variant]
    text = '/* CTF 1.8 */\n' + integers() + CLOCKED % (64, 8) + TRACE % ('be', '')
    text += 'stream { %s event.header := struct { %s }; };\n' % (SIZES, fields)
    for number in range(3):
        text += 'event { id = %d; name = "e%d"; fields := struct { uint8_t n; }; };\n' % (number, number)

    def write(b):
        for n in range(6):
            head(b, n % 3, 1000 * n)
            b.i(8, n)
    save(directory, metadata=text, stream=sized(write, 'be').bytes)


def many_ids(directory, ids, streams):
    """Each stream uses all of the ids."""
    text = '/* CTF 1.8 */\n' + integers() + TRACE % (
        'le', ' packet.header := struct { uint32_t magic; uint64_t stream_id; };')
    for stream in streams:
        text += 'stream { id = %d; event.header := struct { uint64_t id; }; };\n' % stream
        for number in ids:
            text += 'event { id = %d; stream_id = %d; name = "e%x_of_%x"; fields := struct { uint8_t n; }; };\n' % (
                number, stream, number, stream)

    def write(b, content, whole, stream):
        b.i(32, MAGIC).i(64, stream)
        for n, number in enumerate(ids):
            b.i(64, number).i(8, n)
    save(directory, metadata=text, **{'file%d' % s: Packet(functools.partial(write, stream=s)).bytes for s in streams})


@STREAMS.add()
def event_ids(directory):
    """Sparse and unordered ids, up to the largest of 32 bits; the same ids in another stream denote other events."""
    many_ids(directory, (5, 0, 65535, 0x80000000, 0xffffffff), (7, 0x80000001))


# babeltrace2 2.0 reads only the lower half of an id.
@STREAMS.add(expected=[
    'e%x_of_7: { n = %d }' % (number, n)
    for n, number in enumerate((0, 1, 1 << 32, (1 << 64) - 1, 1 << 63, (1 << 32) - 1))
])
def event_ids_of_64_bits(directory):
    many_ids(directory, (0, 1, 1 << 32, (1 << 64) - 1, 1 << 63, (1 << 32) - 1), (7,))


COMPACT = '''struct event_header_compact {
	enum : integer { size = 5; } { compact = 0 ... 30, extended = 31 } id;
	variant <id> {
		struct { integer { size = 27; align = 1; map = clock.c.value; } timestamp; } compact;
		struct { uint32_t id; integer { size = 64; align = 8; map = clock.c.value; } timestamp; } extended;
	} v;
} align(8);
'''
LARGE = '''struct event_header_large {
	enum : uint16_t { compact = 0 ... 65534, extended = 65535 } id;
	variant <id> {
		struct { integer { size = 32; align = 8; map = clock.c.value; } timestamp; } compact;
		struct { uint32_t id; integer { size = 64; align = 8; map = clock.c.value; } timestamp; } extended;
	} v;
} align(8);
'''
LTTNG = '''trace {
	major = 1; minor = 8; uuid = "%s"; byte_order = %s;
	packet.header := struct { uint32_t magic; uint8_t uuid[16]; uint32_t stream_id; uint64_t stream_instance_id; };
};
env { hostname = "host"; domain = "ust"; tracer_name = "lttng-ust"; tracer_major = 2; tracer_minor = 13; };
clock { name = "c"; uuid = "%s"; freq = 1000000000; offset = 1500000000000000000; };
typealias integer { size = 64; align = 8; map = clock.c.value; } := t;
struct packet_context { t timestamp_begin; t timestamp_end; uint64_t content_size; uint64_t packet_size;
uint64_t packet_seq_num;
	unsigned long events_discarded; uint32_t cpu_id; };
%sstream {
	id = 0;
	event.header := struct event_header_%s;
	packet.context := struct packet_context;
	event.context := struct { integer { size = 32; align = 8; signed = 1; } _vpid;
		integer { size = 8; encoding = UTF8; align = 8; } _procname[17]; };
};
event { name = "tp:one"; id = 0; stream_id = 0; loglevel = 13; fields := struct { uint8_t _n; string _s; }; };
event { name = "tp:thirty"; id = 30; stream_id = 0; loglevel = 13; fields := struct { uint8_t _n; }; };
event { name = "tp:far"; id = 70000; stream_id = 0; loglevel = 13; fields := struct { void *_p; uint8_t __l_length;
uint8_t _l[__l_length]; }; };
'''


def lttng(directory, order, header, bits, align=8):
    """Two packets as LTTng writes them: short times that wrap, long ones after more than one wrap."""
    text = '/* CTF 1.8 */\n' + integers() + '''typealias integer { size = %d; align = %d; } := unsigned long;
typealias integer { size = %d; align = %d; base = 16; } := void *;
''' % (bits, align, bits, align) + LTTNG % (UUID_TEXT, order, UUID_TEXT, COMPACT if header == 'compact' else LARGE,
                                            header)
    width, short, escape = (5, 27, 31) if header == 'compact' else (16, 32, 65535)

    def record(b, time, number, long, n):
        b.align(8).i(width, escape if long else number, 1)
        b.i(32, number).i(64, time) if long else b.i(short, time & (1 << short) - 1, 1 if short == 27 else 8)
        b.i(32, 100 + n).raw(b'process'.ljust(17, b'\0'))
        {
            0: lambda: b.i(8, n).s('text %d' % n), 30: lambda: b.i(8, n),
            70000: lambda: b.i(bits, 0xdeadbeef, align).i(8, 2).raw(b'ab')
        }[number]()

    def packet(sequence, records):
        def write(b, content, whole):
            b.i(32, MAGIC).raw(UUID).i(32,
                                       0).i(64,
                                            0).i(64,
                                                 records[0][0]).i(64,
                                                                  records[-1][0]).i(64,
                                                                                    content).i(64,
                                                                                               whole).i(64, sequence)
            b.i(bits, 0, align).i(32, 1)
            for n, (time, number, long) in enumerate(records):
                record(b, time, number, long, n)
        return Packet(write, order, pad=11)
    wrap = 1 << short
    times = [(1000, 0, False), (wrap - 1, 30, False), (wrap, 0, False), (wrap + 5, 0, True), (3 * wrap + 9, 0, True),
             (3 * wrap + 10, 70000, True)]
    save(directory, metadata=text,
         chan_0=joined([packet(0, times),
                        packet(1, [(t + 3 * wrap + 10, i, long) for t, i, long in times])]))


@STREAMS.add(ORDERS)
def lttng_compact(directory, variant):
    lttng(directory, variant, 'compact', 64)


@STREAMS.add(ORDERS)
def lttng_large(directory, variant):
    lttng(directory, variant, 'large', 64)


@STREAMS.add(ORDERS)
def lttng_of_32_bits(directory, variant):
    lttng(directory, variant, 'compact', 32)


@STREAMS.add(ORDERS)
def lttng_aligned(directory, variant):
    """The layout for machines that require aligned words."""
    lttng(directory, variant, 'large', 32, 32)


# Clocks and times.


# Files and packets.

@STREAMS.add(ORDERS)
def many_streams(directory, variant):
    """Three stream classes with their own headers and contexts, in five files with interleaved times."""
    plain = Plain(variant, streams=3)
    for n in range(3):
        plain.event('e%d' % n, 'uint8_t n; string of;', stream=n)
    files = {}
    for number in range(5):
        def data(b, n, number=number):
            return b.i(8, n).s('file %d' % number)

        files['chan_%d' % number] = [
            plain.packet(counting(BEGIN + 70000 * p + 777 * number, 9, 5000 + 13 * number, number % 3, data),
                         stream=number % 3, cpu=number, sequence=p) for p in range(3)
        ]
    plain.write(directory, **files)


@STREAMS.add()
def packets_of_every_kind(directory):
    """
    Empty packets at the beginning, in the middle and at the end; padding of every length; a packet with a header and
    padding only.
    """
    plain = plain_of_one()
    packets = [plain.packet([], BEGIN, BEGIN), plain.packet([], BEGIN, BEGIN + 5, pad=100, sequence=1)]
    packets += [
        plain.packet(counting(BEGIN + 10 * n, n % 3, 1), BEGIN + 10 * n, BEGIN + 10 * n + 9, pad=n, sequence=n)
        for n in range(2, 18)
    ]
    packets += [plain.packet([], BEGIN + 200, BEGIN + 300, pad=4096, sequence=18)]
    plain.write(directory, stream=packets)


@STREAMS.add()
def packets_of_pages(directory):
    """
    (babeltrace2 2.0 shows unrelated bytes for an empty string that begins where its buffer ends: there is no empty
    string here.)
    """
    plain = Plain()
    plain.event('e', 'uint32_t n; string text;')
    packets = []
    for p in range(4):
        records = counting(BEGIN + p * 1000000, 60, 900, 0, lambda b, n: b.i(32, n).s('x' * (1 + n % 29)))
        packets.append(plain.packet(records, pad=-plain.packet(records).whole // 8 % 4096, sequence=p))
    plain.write(directory, stream=packets)


@STREAMS.add()
def content_that_ends_in_a_byte(directory):
    """The content size is in bits: the bits after it in the last byte are not an event."""
    text = '/* CTF 1.8 */\ntypealias integer { size = 16; align = 1; } := uint32_t;\n' + TRACE % (
        'le', '') + 'stream { %s };\n' % SIZES + '''
event { name = "e"; fields := struct { integer { size = 3; } n; }; };
'''

    def write(count):
        def fields(b, content, whole):
            b.i(16, content).i(16, whole)
            for n in range(count):
                b.i(3, n)
        return Packet(fields, pad=1)
    save(directory, metadata=text, stream=joined([write(n) for n in range(1, 8)]))


@STREAMS.add(('discarded', 'sequence', 'both', 'between_files', 'first', 'small'))
def counters(directory, variant):
    """Lost records are reported between packets and before the first, by counters of 32 bits."""
    plain = plain_of_one()
    lost = {
        'discarded': [(0, 0), (1, 0), (2, 5), (3, 5), (4, 6)], 'sequence': [(0, 0), (1, 0), (4, 0), (5, 0),
                                                                            (7, 0)], 'both': [(0, 0), (3, 2), (4, 1002),
                                                                                              (9, 1002)],
        'between_files': [(0, 3), (1, 4)], 'first': [(6, 9), (7, 9)], 'small': [(0, 0), (1, 1), (2, 1)]
    }[variant]
    packets = [
        plain.packet(counting(BEGIN + 10000 * n, 3), end=BEGIN + 10000 * n + 5000, sequence=s, discarded=d)
        for n, (s, d) in enumerate(lost)
    ]
    files = {'stream': packets}
    if variant == 'between_files':
        files['other'] = [plain.packet(counting(BEGIN + 500 + 10000 * n, 2), sequence=s + 1, discarded=d * 2, cpu=1)
                          for n, (s, d) in enumerate([(0, 0), (3, 7)])]
    plain.write(directory, **files)


@STREAMS.add(('1_1', '1_0', 'missing', 'empty_folder', 'of_one', 'foreign'))
def indexes(directory, variant):
    """Indexes of LTTng in both versions. A missing or an unusable index of one file, or of all, is not an error."""
    plain = plain_of_one(streams=2)
    plain.event('f', 'uint8_t n;', stream=1)
    files = {}
    for number, name in enumerate(('a', 'b')):
        files[name] = [
            plain.packet(counting(BEGIN + 10000 * p + 100 * number, 3, number=number), pad=p, sequence=p, stream=number)
            for p in range(3)
        ]
    plain.write(directory, **files)
    made = {}
    for number, (name, packets) in enumerate(files.items()):
        entries = [(packet, {
            'begin': BEGIN + 10000 * p + 100 * number, 'end': BEGIN + 10000 * p + 100 * number + 2000, 'stream': number
        }) for p, packet in enumerate(packets)]
        if variant in ('1_1', '1_0') or variant == 'of_one' and number:
            made['index__%s.idx' % name] = index([(p, dict(e, **({'sequence': n} if variant != '1_0' else {})))
                                                  for n, (p, e) in enumerate(entries)],
                                                 int(variant == '1_1' or variant == 'of_one'))
    if variant == 'foreign':
        made['index__c.idx'] = b'of no file'
    if variant == 'empty_folder':
        made['index__.nothing'] = b''
    save(directory, **made)


@STREAMS.add()
def files_that_are_no_streams(directory):
    """
    Empty files, hidden files, folders, pipes, dangling links: not part of the trace, and a reader does not block on
    them.
    """
    plain = plain_of_one()
    plain.write(directory, stream=[plain.packet(counting(BEGIN, 2))])
    save(
        directory, **{
            'empty': b'', '.hidden': b'what an editor leaves', 'folder__file': b'no trace', '.folder__file': b'nor this'
        })
    os.mkfifo(os.path.join(directory, 'pipe'))
    os.symlink('nowhere', os.path.join(directory, 'link'))


# Folders.

def host(name, uuid, first):
    plain = plain_of_one(env='env { hostname = "%s"; };\n' % name, clock=CLOCK.replace('offset = 0', 'absolute = TRUE'))
    plain.trace = lambda: Plain.trace(plain).replace(UUID_TEXT, uuid + UUID_TEXT[8:])
    said = {'uuid': bytes.fromhex(uuid) + UUID[4:]}
    return plain, [plain.packet(counting(first + 10000 * n, 3, step), lie=said) for n, step in enumerate((1000, 2100))]


@STREAMS.add()
def several_traces(directory):
    """Traces of several hosts, at several depths below one folder; their records are merged into one order."""
    for name, where, first in (('one', 'a', BEGIN), ('two', 'b/deep/er', BEGIN + 700), ('three', 'b/c', BEGIN + 9001)):
        plain, packets = host(name, '%08x' % (0xa0000000 + first), first)
        plain.write('%s/%s' % (directory, where), stream=packets)


@STREAMS.add()
def equal_times_of_traces(directory):
    """Records of one time in two traces, where the order of the folders differs from that of the UUIDs."""
    for name, uuid in (('a', 'bbbbbbbb'), ('b', 'aaaaaaaa'), ('c', 'cccccccc')):
        plain, packets = host(name, uuid, BEGIN)
        plain.write('%s/%s' % (directory, name), stream=packets)


@STREAMS.add()
def traces_in_a_trace(directory):
    """A folder that is a trace and contains another one."""
    plain, packets = host('outer', 'aaaaaaaa', BEGIN)
    plain.write(directory, stream=packets)
    plain, packets = host('inner', 'bbbbbbbb', BEGIN + 300)
    plain.write(directory + '/in', stream=packets)


@STREAMS.add()
def chunks_of_one_session(directory):
    """Chunks of a rotation: folders with one UUID, each with a part of every stream. Together they are one trace."""
    text = '/* CTF 1.8 */\n' + integers() + LTTNG % (UUID_TEXT, 'le', UUID_TEXT, COMPACT, 'compact')
    text = text.replace('unsigned long events', 'uint64_t events').replace('void *_p', 'uint64_t _p')

    def packet(sequence, cpu, first):
        def write(b, content, whole):
            b.i(32, MAGIC).raw(UUID).i(32, 0).i(64,
                                                cpu).i(64,
                                                       first).i(64,
                                                                first + 2000).i(64,
                                                                                content).i(64,
                                                                                           whole).i(64,
                                                                                                    sequence).i(64, 0)
            b.i(32, cpu)
            for n in range(2):
                b.align(8).i(5, 30, 1).i(27, first + 1000 * n & (1 << 27) - 1).i(32, cpu).raw(b'p'.ljust(17, b'\0')).i(
                    8, 10 * sequence + n)
        return Packet(write)
    for chunk in range(3):
        save(
            '%s/archives/%d/ust/uid/0/64-bit' % (directory, chunk), metadata=text, **{
                'chan_%d' % cpu:
                joined([packet(2 * chunk + n, cpu, BEGIN + 100000 * chunk + 20000 * n + 300 * cpu) for n in range(2)])
                for cpu in range(2)
            })


# Defects of producers that readers tolerate.

def quirk(directory, tracer, version, packets, **more):
    plain = plain_of_one(env='env { tracer_name = "%s"; tracer_major = %d; tracer_minor = %d; tracer_patch = %d; };\n' %
                         (tracer, *version))
    plain.write(
        directory, stream=[
            plain.packet(records, begin, end, sequence=n, **more) for n, (begin, end, records) in enumerate(packets)
        ])


@STREAMS.add()
def lttng_events_after_their_packet(directory):
    """LTTng before 2.11 took the end time of a packet before that of the last event."""
    quirk(directory, 'lttng-ust', (2, 10, 0), [(BEGIN, BEGIN + 1500, counting(BEGIN, 3)),
                                               (BEGIN + 2500, BEGIN + 9000, counting(BEGIN + 3000, 3))])


@STREAMS.add()
def lttng_crash(directory):
    """A trace that was saved after a crash of the application: its last packet has no end."""
    quirk(directory, 'lttng-ust', (2, 12, 0), [(BEGIN, BEGIN + 5000, counting(BEGIN, 3)),
                                               (BEGIN + 6000, 0, counting(BEGIN + 6000, 3))])


@STREAMS.add()
def barectf_events_before_their_packet(directory):
    """barectf before 2.3.1 read the begin time of a packet after the time of its first event."""
    quirk(directory, 'barectf', (2, 3, 0), [(BEGIN + 10, BEGIN + 2500, counting(BEGIN, 3)),
                                            (BEGIN + 3010, BEGIN + 9000, counting(BEGIN + 3000, 3))])
