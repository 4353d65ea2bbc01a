# SPDX-License-Identifier: MIT
"""
Field classes of CTF 2 for the traces of wide_numbers.py: valid and invalid strings in each encoding, and BLOBs. A value
has the bytes to write and the text that a reader has to show. Both are composed character by character, without a
decoder.
"""
import codecs
import collections

UNITS = {'utf-16le': (2, 'little'), 'utf-16be': (2, 'big'), 'utf-32le': (4, 'little'), 'utf-32be': (4, 'big')}
KINDS = ('static-length', 'dynamic-length', 'null-terminated')
REPLACED = '\ufffd'
# Characters near each limit; characters with zero bytes at either end, or with the bytes of another character in the
# other byte order.
CHARACTERS = (1, 9, 10, 0x22, 0x41, 0x5c, 0x7f, 0x80, 0xe9, 0xff, 0x100, 0x7ff, 0x800, 0x4100, 0xd7ff, 0xe000, 0xff00,
              0xfeff, 0xfffd, 0xffff, 0x10000, 0x103ff, 0x1f600, 0x2f800, 0xf0000, 0x10ffff)
HIGH, LOW = (0xd800, 0xd83d, 0xdbff), (0xdc00, 0xde00, 0xdfff)
TOO_LARGE = (0x110000, 0x7fffffff, 0x80000000, 0xffffffff)

# The bytes in the stream, their text, and whether they are whole code units.
Value = collections.namedtuple('Value', 'data shown is_whole')


def one_by_one(error):
    """One replacement character for each invalid unit. (Python's own handler combines two.)"""
    return REPLACED, min(error.start + UNITS[error.encoding.replace('-le', 'le').replace('-be', 'be')][0],
                         len(error.object))


codecs.register_error('one-by-one', one_by_one)


def unit(value, encoding):
    size, order = UNITS[encoding]
    return value.to_bytes(size, order)


def encoded(character, encoding):
    if UNITS[encoding][0] == 4 or character < 0x10000:
        return unit(character, encoding)
    return unit(0xd800 + (character - 0x10000 >> 10), encoding) + unit(0xdc00 + (character & 0x3ff), encoding)


def piece(random, encoding):
    """
    (bytes, text) of a character, or of an invalid sequence. A low surrogate after a lone high one would form a pair.
    """
    way = random.randrange(8)
    if way < 5:
        character = random.choice(CHARACTERS)
        return encoded(character, encoding), chr(character)
    if way == 5:
        return unit(random.choice(LOW), encoding), REPLACED
    if way == 6:
        return unit(random.choice(HIGH), encoding) + unit(0x41, encoding), REPLACED + 'A'
    if UNITS[encoding][0] == 4:
        return unit(random.choice(TOO_LARGE), encoding), REPLACED
    return unit(random.choice(HIGH), encoding) * 2 + encoded(0xe9, encoding), REPLACED * 2 + '\xe9'


class Text:
    """
    A string. `length`: the bytes of a static string; `of`: the earlier member with the length of a dynamic one.
    `values`: the values to draw from.
    """
    alignment = 8

    def __init__(self, kind, encoding, length=None, of=None, values=None):
        self.kind, self.encoding, self.length, self.of, self.values = kind, encoding, length, of, values

    def leaves(self):
        return ()

    def json(self):
        made = {'type': self.kind + '-string', 'encoding': self.encoding}
        return dict(
            made,
            **({'length': self.length}
               if self.length is not None else {'length-field-location': {'path': [self.of]}} if self.of else {}))

    def draw(self, random, length=None):
        if self.values:
            return random.choice(self.values)
        length = self.length if length is None else length
        size, (data, shown) = UNITS[self.encoding][0], (b'', '')
        while len(data) < (random.randrange(40) if length is None else length) and (length is None
                                                                                    or random.random() < 0.95):
            more = piece(random, self.encoding)
            if length is not None and len(data) + len(more[0]) > length:
                break
            data, shown = data + more[0], shown + more[1]
        if length is None:
            return Value(data + bytes(size), shown, True)
        left = length - len(data)
        if left < size:                         # no room for a terminator: the remaining bytes are not a character
            return Value(data + b'a' * left, shown + REPLACED * bool(left), not left)
        return Value(data + bytes(size) + random.randbytes(left - size), shown, True)

    def write(self, out, value):
        out.align(8)
        out.put(int.from_bytes(value.data, 'little'), 8 * len(value.data), 'le')
        return value


class Blob(Text):
    """A BLOB; its value is shown in hexadecimal digits."""

    def __init__(self, length=None, of=None):
        super().__init__('static-length' if of is None else 'dynamic-length', None, length, of)

    def json(self):
        made = {'type': self.kind + '-blob', 'media-type': 'application/x'}
        return dict(made,
                    **({'length': self.length} if self.of is None else {'length-field-location': {'path': [self.of]}}))

    def draw(self, random, length=None):
        length = self.length if length is None else length
        data = random.choice((b'\xff' * length, bytes(length), random.randbytes(length)))
        return Value(data, data.hex(), True)
