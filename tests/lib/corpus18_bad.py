# SPDX-License-Identifier: MIT
"""Bad traces of corpus18.py with correct metadata: the contents of packets, records, indexes or folders are wrong."""
import collections
import functools
import os

from ctf18 import BEGIN, METADATA_MAGIC, Packet, Plain, index, integers, joined, metadata_packet, save

# The reader's error must contain `words`. `rest` writes a trace of the records that the reader must deliver
# nevertheless; `whole` writes one of the records that it may deliver. None: no records. A `whole` of ANY: those
# records, with any time.
ANY = 'any'
Bad = collections.namedtuple('Bad', 'name make words rest whole')
DATA = []

FIELDS = '''uint8_t n; string text; integer { size = 3; } bits; integer { size = 13; signed = true; } more;
uint64_t length; uint16_t list[length];
enum : uint8_t { one = 1, two = 2 } tag; variant <tag> { uint8_t one; string two; } choice;'''


def fields_of(b, n, length=None, items=None, tag=None, end=True):
    count = n % 3 if items is None else items
    b.i(8, n).raw(b'record %d' % n).raw(b'\0' if end else b'').i(3, n % 8).i(13,
                                                                             -n).i(64,
                                                                                   count if length is None else length)
    for item in range(count):
        b.i(16, 1000 + item)
    kind = 1 + n % 2
    b.i(8, kind if tag is None else tag)
    return b.i(8, n) if kind == 1 else b.s('two')


def small_trace(keep=None, lies=None, wrong=None):
    """
    Two files with two stream classes, three packets in each file, three records in a packet; their times interleave.
    keep(file, packet, record) returns False for a record to leave out. `lies` is {(file, packet): false values for the
    header}. `wrong` is {(file, packet, record): (time, id, fields)}, where None selects the correct value. Returns
    (Plain, {file: packets}).
    """
    plain, files = Plain(streams=2), {}
    plain.event('of_a', FIELDS, stream=0)
    plain.event('of_b', FIELDS, stream=1)
    for stream, name in enumerate(('stream_a', 'stream_b')):
        files[name] = []
        for p in range(3):
            records, begin = [], BEGIN + 100000 * p + 5000 * stream
            for r in range(3):
                time, number, fields = (wrong or {}).get((name, p, r), (None, None, None))
                if keep is None or keep(name, p, r):
                    records.append((begin + 20000 * r if time is None else time, stream if number is None else number,
                                    fields or functools.partial(fields_of, n=p * 3 + r)))
            files[name].append(
                plain.packet(records, begin, begin + 60000, pad=8 * p, stream=stream, sequence=p, lie=(lies or {}).get(
                    (name, p))))
    return plain, files


def small(directory, keep=None, lies=None, wrong=None, change=None):
    """Write the trace; change({file: bytearray}, {file: packets}) may modify the bytes first."""
    plain, files = small_trace(keep, lies, wrong)
    data = {name: bytearray(joined(packets)) for name, packets in files.items()}
    if change:
        change(data, files)
    save(directory, metadata=plain.text(), **data)


def not_of(file, packet=0, record=0):
    """Returns a keep() that leaves out all records of a file from the given one on."""
    return lambda f, p, r: f != file or (p, r) < (packet, record)


def data_is_bad(name, words, keep, whole=small, **damage):
    DATA.append(Bad(name, functools.partial(small, **damage), words, functools.partial(small, keep=keep), whole))


A, B = 'stream_a', 'stream_b'
FIRST, MIDDLE, LAST = (A, 0), (A, 1), (A, 2)


def cut_at(file, packet, where):
    """
    Cut the file `where` bytes after the beginning of a packet; a negative `where` counts from the end of its content.
    """
    def change(data, files):
        start = sum(len(p.bytes) for p in files[file][:packet])
        end = start + (files[file][packet].content + 7) // 8
        del data[file][start + where if where >= 0 else end + where:]
    return change


data_is_bad('packet_cut', ['stream_a'], not_of(A, 2, 2), change=cut_at(A, 2, -3))
data_is_bad('packet_cut_in_its_context', ['stream_a'], not_of(A, 2), change=cut_at(A, 2, 50))
data_is_bad('packet_cut_in_its_header', ['stream_a'], not_of(A, 1), change=cut_at(A, 1, 3))
data_is_bad('packet_cut_at_its_head', ['stream_a'], not_of(A, 1), change=cut_at(A, 1, Plain.HEAD))
data_is_bad('file_of_one_byte', ['stream_a'], not_of(A), change=cut_at(A, 0, 1))

# Sizes. A packet with wrong sizes cannot be interpreted, so no record is expected from that packet on.
data_is_bad('content_greater_than_packet', ['stream_a', 'content'], not_of(A, 1), lies={MIDDLE: {'content': 1 << 20}})
data_is_bad('content_greater_than_packet_by_a_bit', ['stream_b', 'content'], not_of(B),
            lies={(B, 0): {'content': small_trace()[1][B][0].whole + 1}})
data_is_bad('content_of_0', ['stream_a', 'content'], not_of(A, 1), lies={MIDDLE: {'content': 0}})
data_is_bad('content_less_than_header', ['stream_a', 'content'], not_of(A, 1),
            lies={MIDDLE: {'content': 8 * Plain.HEAD - 8}})
data_is_bad('content_of_all_ones', ['stream_a', 'content'], not_of(A, 1), lies={MIDDLE: {'content': (1 << 64) - 1}})
data_is_bad('packet_of_0', ['stream_a', 'packet'], not_of(A, 1), lies={MIDDLE: {'whole': 0}})
data_is_bad('packet_and_content_of_0', ['stream_a'], not_of(A, 1), lies={MIDDLE: {'whole': 0, 'content': 0}})
data_is_bad('packet_beyond_the_file', ['stream_a', 'packet'], not_of(A, 2), lies={LAST: {'whole': 1 << 24}})
data_is_bad('packet_far_beyond_the_file', ['stream_a', 'packet'], not_of(A, 1), lies={MIDDLE: {'whole': (1 << 64) - 8}})
data_is_bad('packet_and_content_far_beyond', ['stream_a'], not_of(A, 1),
            lies={MIDDLE: {'whole': 1 << 63, 'content': 1 << 63}})
data_is_bad('packet_not_of_bytes', ['stream_a', 'packet'], not_of(A, 1), lies={MIDDLE: {'whole': 8 * 400 + 3}})
data_is_bad('packet_less_than_header', ['stream_a', 'packet'], not_of(A, 1),
            lies={MIDDLE: {'whole': 64, 'content': 64}})
data_is_bad('first_packet_of_0', ['stream_a'], not_of(A), lies={FIRST: {'whole': 0}})


def shorter(bits):
    """Content that ends inside its last record."""
    content = small_trace()[1][A][1].content - bits
    return {'lies': {MIDDLE: {'content': content}}}


data_is_bad('content_ends_in_a_record', ['stream_a'], not_of(A, 1, 2), **shorter(8))
data_is_bad('content_ends_in_a_header', ['stream_a'], not_of(A, 1, 2), **shorter(8 * 25))

# Ids. After a record of an unknown class, the next record cannot be found in this packet; the next packet can be read.
data_is_bad('unknown_event', ['stream_a', '777'], lambda f, p, r: f != A or (p, r) < (1, 1) or p > 1,
            wrong={(A, 1, 1): (None, 777, None)})
data_is_bad('event_of_another_stream', ['stream_a', '1'], lambda f, p, r: f != A or (p, r) < (1, 0) or p > 1,
            wrong={(A, 1, 0): (None, 1, None)})
data_is_bad('unknown_stream', ['stream_a', '999'], not_of(A, 1), lies={MIDDLE: {'stream': 999}})
data_is_bad('unknown_stream_of_a_file', ['stream_a', '999'], not_of(A),
            lies={(A, n): {'stream': 999} for n in range(3)})
data_is_bad('wrong_magic', ['stream_a', 'magic'], not_of(A, 1), lies={MIDDLE: {'magic': 0xC1FC1FC0}})
data_is_bad('swapped_magic', ['stream_a', 'magic'], not_of(A), lies={(A, n): {'magic': 0xC11FFCC1} for n in range(3)})
data_is_bad('wrong_uuid', ['stream_a', 'uuid'], not_of(A, 1), lies={MIDDLE: {'uuid': bytes(16)}})
data_is_bad('uuid_of_another_trace', ['stream_a', 'uuid'], not_of(A),
            lies={(A, n): {'uuid': bytes(range(16))} for n in range(3)})


def bad_fields(name, words, **how):
    """
    A record with unreadable fields in the middle of a packet. The records before it and the next packets can be
    read.
    """
    data_is_bad(name, ['stream_a', *words], lambda f, p, r: f != A or (p, r) < (1, 1) or p > 1,
                wrong={(A, 1, 1): (None, None, functools.partial(fields_of, n=4, **how))})


bad_fields('sequence_beyond_the_packet', ['length'], length=60000)
bad_fields('sequence_of_a_terabyte', ['length'], length=1 << 40)
bad_fields('sequence_whose_bits_wrap', ['length'], length=1 << 60)
bad_fields('sequence_whose_bits_wrap_to_little', ['length'], length=(1 << 60) + 1, items=1)
bad_fields('sequence_of_all_ones', ['length'], length=(1 << 64) - 1)
bad_fields('variant_without_option', ['tag'], tag=3)


def no_end(bits):
    return bits.i(8, 1).raw(b'a string that goes on and on')


data_is_bad('string_without_end', ['stream_a', 'text'], not_of(A, 2, 2), wrong={(A, 2, 2): (None, None, no_end)})

# Times. All records are present; only their order is wrong.
data_is_bad('time_going_back', ['stream_a', 'back'], not_of(A, 1, 1), ANY,
            wrong={(A, 1, 1): (BEGIN + 1000, None, None)})
data_is_bad('packet_before_the_last', ['stream_a', 'back'], not_of(A, 2), ANY, lies={LAST: {'begin': 5, 'end': 6}},
            wrong={(A, 2, r): (5, None, None) for r in range(3)})
data_is_bad('packet_that_ends_before_it_begins', ['stream_a'], not_of(A, 1), lies={MIDDLE: {'end': 5}})


def foreign(directory, data):
    small(directory)
    save(directory, stream_c=data)


# A file that is not a stream does not keep the others from being read.
for kind, garbage in (('text', b'Dear reader,\n' * 40), ('zeros', bytes(4096)), ('ones', b'\xff' * 4096),
                      ('metadata', b'/* CTF 1.8 */\n')):
    DATA.append(Bad('file_of_' + kind, functools.partial(foreign, data=garbage), ['stream_c'], small, small))

NOTHING = '''/* CTF 1.8 */
trace { major = 1; minor = 8; byte_order = le; };
stream { };
event { name = "e"; fields := struct { %s}; };
'''
NO_BITS = {
    'event_of_no_bits': '', 'event_of_an_empty_array': 'integer { size = 8; } a[0]; ',
    'event_of_an_empty_struct': 'struct { } a; '
}


def no_bits(directory, fields):
    save(directory, metadata=NOTHING % fields, stream=b'\1\2\3')


# Records without bits would never end.
for name, inside in NO_BITS.items():
    DATA.append(Bad(name, functools.partial(no_bits, fields=inside), ['stream'], None, None))


def sequence_of_nothing(directory, length):
    """2^40 elements without bits fit into any packet and into no memory. A reader must not loop over them either."""
    save(directory, metadata='/* CTF 1.8 */\n' + integers() + NOTHING[14:] % 'uint64_t n; struct { } a[n]; ',
         stream=Packet(lambda b, content, whole: b.i(64, length)).bytes)


DATA.append(
    Bad('sequence_of_nothing', functools.partial(sequence_of_nothing, length=1 << 40), ['stream', 'elements of size 0'],
        None, None))


# Alignments that are far larger than the field.

FAR = 'typealias integer { size = 8; align = 8; } := u8;\ntypealias integer { size = 8; align = 1073741824; } := far;\n'


def wraps(directory):
    """Eight times 2^61 bits: in 64-bit arithmetic, a record of the first event has length 0 and ends where it began."""
    save(
        directory, metadata='/* CTF 1.8 */\n' + FAR + 'trace { major = 1; minor = 8; byte_order = le; };\n'
        'stream { event.header := struct { u8 id; }; };\n' +
        ''.join('event { name = "e%d"; id = %d; fields := struct { %s%s}; };\n' %
                (n, n, ''.join('far a%d[2147483648]; ' % i for i in range(8)), 'u8 more; ' * n)
                for n in range(2)), stream=b'\0\1\0\0\1\0' * 1000)


def context_far_away(directory):
    """An empty array, 128 MiB behind the beginning of a packet that claims that size, in a file of 64 bytes."""
    save(
        directory, metadata='/* CTF 1.8 */\n' + FAR + integers() + 'trace { major = 1; minor = 8; byte_order = le; };\n'
        'stream { packet.context := struct { uint64_t packet_size; uint64_t content_size; far x[0]; }; };\n'
        'event { name = "e"; fields := struct { uint8_t n; }; };\n',
        stream=(1 << 31).to_bytes(8, 'little') * 2 + b'x' * 48)


def members_of_members(directory):
    """Types that share their members: 10^12 paths in 60 kB."""
    text, inside = '', 'u8'
    for name in 'dcba':
        text += 'struct %s { %s};\n' % (name, ''.join('%s %s%d; ' % (inside, name, i) for i in range(1000)))
        inside = 'struct ' + name
    save(
        directory, metadata='/* CTF 1.8 */\n' + FAR + text +
        'clock { name = "c"; };\ntrace { major = 1; minor = 8; byte_order = le; };\n'
        'stream { event.header := struct a; };\nevent { name = "e"; fields := struct { u8 n; }; };\n',
        stream=b'12345678')


DATA += [
    Bad('sizes_that_wrap', wraps, ['stream'], None, None),
    Bad('context_far_away', context_far_away, ['stream', 'header'], None, None),
    Bad('members_of_members', members_of_members, ['metadata'], None, None)
]


# Indexes. Packets contain all that an index contains, so a wrong index causes no missing record.

def bad_index(directory, data=None, **more):
    plain, files = small_trace()
    small(directory)
    packets = [(p, {'begin': BEGIN + 100000 * n, 'end': BEGIN + 100000 * n + 60000, 'sequence': n})
               for n, p in enumerate(files[A])]
    made = index(packets, **more)
    save(directory, **{'index__stream_a.idx': made if data is None else data(made)})


def liar(number, **values):
    def change(n, entry):
        if n == number:
            entry.update({key: value(entry[key]) for key, value in values.items()})
    return change


LIARS = {
    'magic': {'magic': 0xC1F1DCC2}, 'version': {'major': 2}, 'entry_of_0_bytes': {'length': 0},
    'entry_of_7_bytes': {'length': 7}, 'huge_entries': {'length': 0xffffffff}, 'cut': {'data': lambda made: made[:-1]},
    'cut_in_its_header': {'data': lambda made: made[:7]}, 'no_bytes': {'data': lambda made: b''},
    'text': {'data': lambda made: b'text ' * 50}, 'too_long': {'data': lambda made: made + made[-72:]},
    'offset': {'change': liar(1,
                              offset=lambda v: v + 8)}, 'offset_beyond': {'change': liar(1, offset=lambda v: 1 << 40)},
    'offset_of_all_ones': {'change': liar(2, offset=lambda v:
                                          (1 << 64) - 1)}, 'same_offset': {'change': liar(1, offset=lambda v: 0)},
    'packet_size': {'change': liar(1, whole=lambda v: v + 64)}, 'packet_size_0': {'change': liar(1, whole=lambda v: 0)},
    'packet_size_of_all_ones': {'change': liar(1, whole=lambda v: (1 << 64) - 1)}
}
for name, how in LIARS.items():
    DATA.append(Bad('index_with_wrong_' + name, functools.partial(bad_index, **how), ['stream_a.idx'], small, small))


# Folders.

def nothing(directory):
    os.makedirs(directory)


def missing(directory):
    pass


def a_file(directory):
    with open(directory, 'wb') as f:
        f.write(b'a file\n')


def metadata_is_a_folder(directory):
    small(directory)
    os.unlink(os.path.join(directory, 'metadata'))
    os.mkdir(os.path.join(directory, 'metadata'))


def no_metadata(directory):
    small(directory)
    os.unlink(os.path.join(directory, 'metadata'))


def one_bad_trace_of_two(directory):
    """A trace that cannot be read does not keep the others from being read."""
    small(os.path.join(directory, 'good'))
    save(os.path.join(directory, 'bad'), metadata='/* CTF 1.8 */\ntrace {', stream=b'x')


def good_one_of_two(directory):
    small(os.path.join(directory, 'good'))


DATA += [
    Bad('empty_folder', nothing, ['trace'], None, None),
    Bad('no_folder', missing, ['no such'], None, None),
    Bad('file_for_a_folder', a_file, ['trace'], None, None),
    Bad('metadata_is_a_folder', metadata_is_a_folder, ['metadata'], None, None),
    Bad('no_metadata', no_metadata, ['metadata'], None, None),
    Bad('one_bad_trace_of_two', one_bad_trace_of_two, ['bad/metadata'], good_one_of_two, good_one_of_two)
]


# Packetized metadata.

def packets_lie(directory, order='le', at=1, data=None, **lie):
    """Metadata in packets of 300 bytes; one of them has a false header."""
    plain, files = small_trace()
    text = plain.text().encode()
    parts = [text[n:n + 300] for n in range(0, len(text), 300)]
    made = [metadata_packet(part, order, **(lie if n == at else {})) for n, part in enumerate(parts)]
    whole = b''.join(made)
    save(directory, metadata=data(whole) if data else whole,
         **{name: joined(packets) for name, packets in files.items()})


def strange_uuid(directory):
    plain, files = small_trace()
    text = plain.text()
    save(directory, metadata=metadata_packet(text[:300]) + metadata_packet(text[300:], uuid=bytes(16)),
         **{name: joined(packets) for name, packets in files.items()})


SWAPPED = int.from_bytes(METADATA_MAGIC.to_bytes(4, 'big'), 'little')
METADATA_LIES = {
    'content_0': {'content': 0}, 'content_less_than_header': {'content': 8 * 36},
    'content_greater_than_packet': {'content': 8 * 400}, 'content_not_of_bytes': {'content': 8 * 300 + 1},
    'content_of_all_ones': {'content': 0xffffffff}, 'packet_0': {'whole': 0},
    'packet_less_than_header': {'whole': 8 * 36}, 'packet_beyond_the_file': {'whole': 8 << 20},
    'packet_of_all_ones': {'whole': 0xffffffff}, 'magic_later': {'magic': 0x75D11D58},
    'other_order_later': {'magic': SWAPPED}, 'compression': {'compression': 1}, 'encryption': {'encryption': 1},
    'version': {'major': 3}, 'first_content': {'at': 0, 'content': 1}, 'first_packet': {'at': 0, 'whole': 8},
    'cut': {'data': lambda whole: whole[:-20]}, 'cut_in_a_header': {'data': lambda whole: whole[:337 + 12]},
    'cut_in_the_first_header': {'data': lambda whole: whole[:9]}, 'end': {'data': lambda whole: whole + b'more'}
}
for name, lie in METADATA_LIES.items():
    DATA.append(
        Bad('metadata_packets_with_wrong_' + name, functools.partial(packets_lie, **lie), ['metadata'], None, small))
DATA.append(Bad('metadata_packets_with_wrong_uuid', strange_uuid, ['metadata', 'uuid'], None, small))
DATA.append(
    Bad('metadata_packets_be_with_wrong_size', functools.partial(packets_lie, order='be', content=8 * 400),
        ['metadata'], None, small))
