# SPDX-License-Identifier: MIT
"""Bad traces of CTF 2 with correct metadata: packets and records are wrong. Each trace also has a good stream."""
import collections

from ctf18 import save
from fragments import PREAMBLE, at, event, metadata, of, option, structure, u

# The reader's error must contain `words`. `kept` are the numbers of the records of stream A that the reader must
# deliver nevertheless; it must not deliver the others.
Bad = collections.namedtuple('Bad', 'name write words kept')
DATA = []
A, B = 'stream_a', 'stream_b'
UUID = bytes(range(0x30, 0x40))
BEGIN, MAGIC = 5000, 0xc1fc1fc1
COUNT = 3                                   # packets of a stream, records of a packet
ALL = list(range(COUNT * COUNT))

HEAD = [('magic', 4, 'packet-magic-number'), ('uuid', 16, 'metadata-stream-uuid'), ('class', 1, 'data-stream-class-id')]
CONTEXT = [('total', 8, 'packet-total-length'), ('content', 8, 'packet-content-length'),
           ('begin', 8, 'default-clock-timestamp'), ('end', 8, 'packet-end-default-clock-timestamp'),
           ('sequence', 8, 'packet-sequence-number')]
HEAD_SIZE = sum(size for _, size, _ in HEAD + CONTEXT)
LEB128, TEXT = of('variable-length-unsigned-integer'), of('null-terminated-string')
FIELDS = [('n', u(8)), ('leb', LEB128), ('text', TEXT), ('wide', of('null-terminated-string', encoding='utf-16be')),
          ('size', u(64)), ('data', of('dynamic-length-blob', length_field_location=at('size'))), ('count', LEB128),
          ('list', of('dynamic-length-array', length_field_location=at('count'), element_field_class=u(16))),
          ('which', u(8)),
          ('choice',
           of('variant', selector_field_location=at('which'), options=[option([[1, 1]], u(8)),
                                                                       option([[2, 9]], TEXT)]))]


def members(fields):
    return structure(
        *((name, of('static-length-blob', length=size, roles=[role]) if size == 16 else u(8 * size, roles=[role]))
          for name, size, role in fields))


def fragments():
    yield {**PREAMBLE, 'uuid': list(UUID)}
    yield {'type': 'trace-class', 'packet-header-field-class': members(HEAD)}
    yield {'type': 'clock-class', 'id': 'c', 'frequency': 1000, 'origin': 'unix-epoch'}
    for number in range(2):
        yield {
            'type': 'data-stream-class', 'id': number, 'default-clock-class-id': 'c',
            'packet-context-field-class': members(CONTEXT),
            'event-record-header-field-class': members([('id', 1, 'event-record-class-id'),
                                                        ('time', 8, 'default-clock-timestamp')])
        }
        yield {**event(*FIELDS), 'data-stream-class-id': number, 'id': 5 + number, 'name': 'e%d' % number}


def number_of(value, size):
    return value if isinstance(value, bytes) else value.to_bytes(size, 'little')


def payload(n, leb=None, text=b'\0', wide=b'\0\0', size=None, count=None, which=None):
    """The fields in bytes. Each given argument replaces the correct value."""
    data, items, kind = b'\xff' * (n % 4), [1000 + n] * (n % 3), 1 + n % 2
    return b''.join((number_of(n, 1), b'\xac\x02' if leb is None else leb, b'text %d' % n, text,
                     'wide \u0100'.encode('utf-16be'), wide, number_of(len(data) if size is None else size, 8), data,
                     number_of(len(items), 1) if count is None else count, *(number_of(item, 2) for item in items),
                     number_of(kind if which is None else which, 1), number_of(n, 1) if kind == 1 else b'two\0'))


def packet(records, stream, sequence, begin, lie=None):
    """`records` are (time, id, payload)."""
    body = b''.join(number_of(number, 1) + number_of(time, 8) + fields for time, number, fields in records)
    bits = 8 * (HEAD_SIZE + len(body))
    said = {
        'magic': MAGIC, 'uuid': UUID, 'class': stream, 'total': bits + 8 * sequence, 'content': bits, 'begin': begin,
        'end': begin + 90, 'sequence': sequence, **(lie or {})
    }
    return b''.join(number_of(said[name], size) for name, size, _ in HEAD + CONTEXT) + body + bytes(sequence)


def stream_of(stream, lies=None, wrong=None):
    """
    The packets of a stream. `lies`: {packet: false values of its header}; `wrong`: {(packet, record): (time, id,
    payload)}, where None selects the correct value.
    """
    packets = []
    for p in range(COUNT):
        records, begin = [], BEGIN + 100 * p
        for r in range(COUNT):
            right = (begin + 10 * r, 5 + stream, payload(100 * stream + COUNT * p + r))
            records.append([
                mine if other is None else other
                for mine, other in zip(right, (wrong or {}).get((p, r), (None, None, None)))
            ])
        packets.append(packet(records, stream, p, begin, (lies or {}).get(p)))
    return packets


def write(directory, lies=None, wrong=None, change=None):
    """change(bytes, packets of these bytes) may modify stream A before it is written."""
    packets = stream_of(0, lies, wrong)
    data = bytearray(b''.join(packets))
    if change:
        change(data, packets)
    save(directory, metadata=metadata(*fragments()), **{A: data, B: b''.join(stream_of(1))})


def bad(name, words, kept, **how):
    DATA.append(Bad(name, lambda directory: write(directory, **how), (A, *words), kept))


def before(p, r=0):
    return ALL[:COUNT * p + r]


def but(p, r):
    """All records except the remaining ones of a packet."""
    return before(p, r) + ALL[COUNT * (p + 1):]


def cut(p, where):
    """Cut the file `where` bytes after the beginning of a packet; a negative `where` counts from its end."""
    def change(data, packets):
        start = sum(map(len, packets[:p]))
        del data[start + where if where >= 0 else start + len(packets[p]) + where:]
    return change


bad('cut', ['packet'], before(2, 2), change=cut(2, -9))
bad('cut_in_a_record_header', ['packet'], before(2), change=cut(2, HEAD_SIZE + 3))
bad('cut_before_the_records', ['packet'], before(2), change=cut(2, HEAD_SIZE))
bad('cut_in_its_context', ['header'], before(2), change=cut(2, 40))
bad('cut_in_its_header', ['header'], before(1), change=cut(1, 3))

for name, lie, words in (('content_greater_than_packet', {'content': 1 << 30},
                          ['content of 1073741824']), ('content_of_0', {'content': 0}, ['content of 0']),
                         ('content_less_than_header', {'content': 8 * HEAD_SIZE - 1},
                          ['content of %d' % (8 * HEAD_SIZE - 1),
                           'header has %d' % (8 * HEAD_SIZE)]), ('content_of_all_ones', {'content': (1 << 64) - 1},
                                                                 ['content of 18446744073709551615']),
                         ('packet_of_0', {'total': 0}, ['packet of 0 bits']),
                         ('packet_not_of_bytes', {'total': 8 * 900 + 1},
                          ['packet of 7201 bits']), ('packet_less_than_header', {'total': 64,
                                                                                 'content': 64}, ['packet of 64 bits']),
                         ('wrong_magic', {'magic': MAGIC - 1},
                          ['magic']), ('swapped_magic', {'magic': MAGIC.to_bytes(4, 'big')},
                                       ['magic']), ('wrong_uuid', {'uuid': bytes(16)},
                                                    ['uuid']), ('swapped_uuid', {'uuid': UUID[::-1]}, ['uuid']),
                         ('unknown_stream', {'class': 9}, ['stream class 9']), ('another_stream', {'class': 1},
                                                                                ['stream class'])):
    bad(name, ['byte %d' % len(stream_of(0)[0]), *words], before(1), lies={1: lie})
bad('packet_beyond_the_file', ['packet'], ALL, lies={2: {'total': 1 << 24}})
bad('packet_far_beyond_the_file', ['packet'], before(2), lies={1: {'total': (1 << 64) - 8}})
bad('ends_before_it_begins', ['ends before it begins'], ALL, lies={1: {'end': 5}})
bad('content_ends_in_a_record', ['packet'], but(1, 2), lies={1: {'content': 8 * (len(stream_of(0)[1]) - 2)}})

for name, value, word in (('unknown_event', 77, 'event 77'), ('event_0', 0, 'event 0'), ('event_of_another_stream', 6,
                                                                                         'event 6')):
    bad(name, [word, 'stream class 0'], but(1, 1), wrong={(1, 1): (None, value, None)})
for name, field, how in (('leb128_of_many_bits', 'leb', {'leb': b'\x80' * 5000}), ('leb128_without_end', 'leb', {
        'leb': b'\x80' * 20
}), ('text_without_end', 'text', {'text': b'a' * 5000}), ('wide_text_without_end', 'wide', {'wide': b'\0a' * 2500}),
                         ('wide_text_that_ends_between', 'wide', {'wide': b'a\0\0a' * 1250}), ('blob_beyond_the_packet',
                                                                                               'data', {'size': 60000}),
                         ('blob_of_a_terabyte', 'data', {'size': 1 << 40}), ('blob_whose_bits_wrap', 'data',
                                                                             {'size': 1 << 61}),
                         ('blob_of_all_ones', 'data', {'size': (1 << 64) - 1}), ('list_beyond_the_packet', 'list',
                                                                                 {'count': b'\xff\xff\x03'}),
                         ('list_whose_bits_wrap', 'list', {'count': b'\x80' * 8 + b'\x10'}),
                         ('length_of_more_than_64_bits', 'count', {'count': b'\x81' * 12 + b'\1'})):
    fields = payload(COUNT + 2, **how)
    # it continues to the end of the content, which a zero follows
    if field in how and field != 'count':
        fields = fields[:fields.index(how[field]) + len(how[field])]
    bad(name, ["'%s'" % field], but(1, 2), wrong={(1, 2): (None, None, fields)})
for value in (0, 10, 255):
    bad('variant_by_%d' % value, ["'choice'", 'which', 'is %d,' % value], but(1, 1),
        wrong={(1, 1): (None, None, payload(COUNT + 1, which=value))})
