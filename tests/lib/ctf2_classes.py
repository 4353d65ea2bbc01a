# SPDX-License-Identifier: MIT
"""Field classes of Common Trace Format 2 for ctf2.py: the syntax and the meaning of fragments."""
import collections
import json
import re

from traces import Failure

DEEPEST = 64                                # field classes within field classes

MOST_EMPTY = 1 << 16                        # fields of no bits in one packet header and context, or in one event record

# An integer of a class with mappings, with the names that apply to it; a bit map (bit i is element i) with the active
# flags.
Mapped = collections.namedtuple('Mapped', 'value names')

Flags = collections.namedtuple('Flags', 'value names')

# Properties that JSON objects may have, and (!) must have.
BITS = 'length:integer! byte-order:string! bit-order:string alignment:integer '

INTEGER = 'preferred-display-base:integer mappings:object roles:array '

ARRAY = 'element-field-class:class! minimum-alignment:integer '

LOCATED, SELECTED = 'length-field-location:object! ', 'selector-field-location:object! '

CLASS = 'type:string! attributes:object extensions:object '

IDENTITY = 'namespace:string name:string uid:string ' + CLASS

SHAPES = {
    'fixed-length-bit-array': CLASS + BITS,
    'fixed-length-bit-map': CLASS + BITS + 'flags:object!',
    'fixed-length-boolean': CLASS + BITS,
    'fixed-length-unsigned-integer': CLASS + BITS + INTEGER,
    'fixed-length-signed-integer': CLASS + BITS + INTEGER,
    'fixed-length-floating-point-number': CLASS + BITS,
    'structure': CLASS + 'member-classes:array minimum-alignment:integer',
    'variable-length-unsigned-integer': CLASS + INTEGER,
    'variable-length-signed-integer': CLASS + INTEGER,
    'null-terminated-string': CLASS + 'encoding:string',
    'dynamic-length-string': CLASS + LOCATED + 'encoding:string',
    'static-length-string': CLASS + 'encoding:string length:integer!',
    'dynamic-length-blob': CLASS + LOCATED + 'media-type:string',
    'static-length-blob': CLASS + 'length:integer! media-type:string roles:array',
    'static-length-array': CLASS + ARRAY + 'length:integer!',
    'dynamic-length-array': CLASS + ARRAY + LOCATED,
    'optional': CLASS + SELECTED + 'field-class:class! selector-field-ranges:array',
    'variant': CLASS + SELECTED + 'options:array!',
    'member class': 'name:string! field-class:class! attributes:object extensions:object',
    'option': 'name:string field-class:class! selector-field-ranges:array! attributes:object extensions:object',
    'field location': 'origin:string path:array!',
    'field-class-alias': CLASS + 'name:string! field-class:class!',
    # The specification defines no "uid" of a preamble; it is accepted.
    'preamble': CLASS + 'version:integer! uuid:array uid:string',
    'trace-class': IDENTITY + 'environment:object packet-header-field-class:class',
    'clock-class': IDENTITY +
    'id:string! frequency:integer! origin:class offset-from-origin:object precision:integer accuracy:integer '
    'description:string',
    'clock origin': 'namespace:string name:string! uid:string!',
    'clock offset': 'seconds:integer cycles:integer',
    'data-stream-class': IDENTITY + 'id:integer default-clock-class-id:string packet-context-field-class:class '
    'event-record-header-field-class:class event-record-common-context-field-class:class',
    'event-record-class': IDENTITY +
    'id:integer data-stream-class-id:integer specific-context-field-class:class payload-field-class:class',
}

SHAPES = {
    name: [re.fullmatch(r'([\w-]+):(\w+)(!?)', word).groups() for word in text.split()]
    for name, text in SHAPES.items()
}

FRAGMENTS = ('preamble', 'field-class-alias', 'trace-class', 'clock-class', 'data-stream-class', 'event-record-class')

FIELD_CLASSES = tuple(name for name in SHAPES if ' ' not in name and name not in FRAGMENTS)

KINDS = {'integer': (int,), 'string': (str,), 'object': (dict,), 'array': (list,), 'class': (dict, str)}

ENCODINGS = {'utf-8': 1, 'utf-16be': 2, 'utf-16le': 2, 'utf-32be': 4, 'utf-32le': 4}

HEADER, CONTEXT, RECORD_HEADER = 'packet-header', 'packet-context', 'event-record-header'

COMMON, SPECIFIC, PAYLOAD = 'event-record-common-context', 'event-record-specific-context', 'event-record-payload'

ORIGINS = (HEADER, CONTEXT, RECORD_HEADER, COMMON, SPECIFIC, PAYLOAD)

CLOCKED = ('default-clock-timestamp', 'packet-end-default-clock-timestamp')

ROLES = {HEADER: ('data-stream-class-id', 'data-stream-id', 'metadata-stream-uuid', 'packet-magic-number'),
         CONTEXT: ('default-clock-timestamp', 'discarded-event-record-counter-snapshot', 'packet-content-length',
                   'packet-end-default-clock-timestamp', 'packet-sequence-number', 'packet-total-length'),
         RECORD_HEADER: ('default-clock-timestamp', 'event-record-class-id')}


def must(condition, words, *args):
    if not condition:
        # Long values are truncated: the decimal conversion of a very long integer would raise a different exception.
        texts = (a if isinstance(a, str) else hex(a) if type(a) is int and a.bit_length() > 64 else repr(a)
                 for a in args)
        raise Failure(words % tuple(text if len(text) < 400 else text[:400] + '...' for text in texts))


def shaped(thing, shape, where):
    """Checks that a JSON object has the properties of its shape and no others."""
    must(isinstance(thing, dict), '%s: no JSON object: %s', where, thing)
    known = {name: kind for name, kind, _ in SHAPES[shape]}
    for name, value in thing.items():
        # Doubt: only the phrase "its allowed properties" (5) makes a property unknown to the specification an error.
        must(name in known, '%s: a %s has no property %s', where, shape, name)
        must(
            isinstance(value, KINDS[known[name]]) and not isinstance(value, bool), '%s: property %s is no %s: %s',
            where, name, known[name], value)
    for name, _, required in SHAPES[shape]:
        must(not required or name in thing, '%s: a %s needs the property %s', where, shape, name)
    for namespace, extensions in thing.get('extensions', {}).items():
        must(isinstance(extensions, dict), '%s: the extensions of %s are no JSON object', where, namespace)
        # 5.1: a reader that does not know an extension must not read the data streams.
        must(not extensions, '%s: an extension of %s that is unknown here: %s', where, namespace, list(extensions))
    return thing


def at_least(least, thing, name, where, default=0):
    value = thing.get(name, default)
    must(value >= least, '%s: %s is less than %s: %s', where, name, least, value)
    return value


def one_of(choices, thing, name, where, default=None):
    value = thing.get(name, default)
    must(value in choices, '%s: %s is none of %s: %s', where, name, ' '.join(str(c) for c in choices), value)
    return value


def ranges_of(thing, where):
    must(isinstance(thing, list) and thing, '%s: no integer range set: %s', where, thing)
    for pair in thing:
        must(
            isinstance(pair, list) and len(pair) == 2 and all(type(bound) is int for bound in pair)
            and pair[0] <= pair[1], '%s: no integer range: %s', where, pair)
    return [tuple(pair) for pair in thing]


def json_texts(data, where):
    """The values of a JSON text sequence (RFC 7464)."""
    def once(pairs):
        must(
            len(dict(pairs)) == len(pairs), '%s: a JSON object names a property twice: %s', where,
            [name for name, _ in pairs])
        return dict(pairs)

    must(data.startswith(b'\x1e'), '%s does not begin with a record separator, so it is no JSON text sequence', where)
    found = []
    for text in filter(None, data.split(b'\x1e')):         # consecutive separators count as one
        # Doubt: RFC 7464 requires the writer to end each text with LF, and allows a reader to accept an object without
        # it.
        must(text.endswith(b'\n'), '%s: JSON text %s does not end with a line feed', where, len(found))
        try:
            found.append(json.loads(text.decode('utf-8'), object_pairs_hook=once,
                                    parse_constant=lambda name: must(False, '%s: %s is no JSON', where, name)))
        except (ValueError, RecursionError) as e:
            raise Failure('%s: JSON text %d: %s' % (where, len(found), e))
    return found


class FieldClass:
    """A field class, checked, with its defaults filled in: .type, .align, .roles, and the attributes of its type."""

    def __init__(self, trace, thing, where, depth=0):
        must(isinstance(thing, dict), '%s: no field class: %s', where, thing)
        self.type = one_of(FIELD_CLASSES, thing, 'type', where)
        shaped(thing, self.type, where)
        self.trace, self.where, self.depth = trace, where, depth
        self.deepest, self.members, self.element, self.options = 0, {}, None, []
        self.align = 8 if self.type.startswith('variable') or self.type.endswith(('string', 'blob')) else 1
        self.signed = self.type.endswith('-signed-integer')
        self.roles = self.roles_of(thing, where)
        self.played = set(self.roles)       # here and at any depth
        self.location = thing.get('length-field-location', thing.get('selector-field-location'))
        if self.location is not None:
            path = shaped(self.location, 'field location', where + ': location')['path']
            one_of(ORIGINS, self.location, 'origin', where, PAYLOAD)
            must(
                all(type(step) in (str, type(None)) for step in path) and path and path[-1] is not None,
                '%s: no path: %s', where, path)
        self.length = at_least(0, thing, 'length', where) if 'length' in thing else None
        self.encoding = one_of(ENCODINGS, thing, 'encoding', where, 'utf-8')
        one_of((2, 8, 10, 16), thing, 'preferred-display-base', where, 10)
        must(thing.get('flags', True), '%s: a bit map without flags', where)
        self.names = {
            name: ranges_of(ranges, where + ': ' + name)
            for name, ranges in thing.get('flags', thing.get('mappings', {})).items()
        }
        self.ranges = ranges_of(thing['selector-field-ranges'], where) if 'selector-field-ranges' in thing else None
        if 'byte-order' in thing:
            self.bits(thing, where)
        for name in ('alignment', 'minimum-alignment'):
            align = thing.get(name, 1)
            must(align > 0 and not align & align - 1, '%s: %s is no positive power of two: %s', where, name, align)
            self.align = max(self.align, align)
        for i, member in enumerate(thing.get('member-classes', [])):
            shaped(member, 'member class', '%s: member class %d' % (where, i))
            must(member['name'] not in self.members, '%s: two members are called %s', where, member['name'])
            self.members[member['name']] = found = self.inner(member, 'field-class', member['name'])
            self.align = max(self.align, found.align)
        if 'element-field-class' in thing:
            self.element = self.inner(thing, 'element-field-class', 'element')
            self.align = max(self.align, self.element.align)
        elif 'field-class' in thing:
            self.element = self.inner(thing, 'field-class', 'field class')
        elif self.type == 'variant':
            self.variant(thing, where)

    def inner(self, thing, name, step):
        must(self.depth < DEEPEST, '%s: more than %s field classes within each other', self.where, DEEPEST)
        found = self.trace.field_class(thing[name], self.where + '.' + step, self.depth + 1)
        self.deepest = max(self.deepest, found.deepest + 1)
        self.played |= found.played
        must(self.depth + self.deepest < DEEPEST, '%s: more than %s field classes within each other', self.where,
             DEEPEST)
        return found

    def roles_of(self, thing, where):
        roles, blob = thing.get('roles', []), self.type == 'static-length-blob'
        must(not roles or not self.signed, '%s: a signed integer has roles', where)
        for role in roles:
            must(
                isinstance(role, str) and any(role in known for known in ROLES.values()), '%s: unknown role: %s', where,
                role)
            must(blob == (role == 'metadata-stream-uuid'), '%s: the role %s is not one of a %s', where, role, self.type)
            must(not blob or thing['length'] == 16, '%s: %s is not 16 bytes long', where, role)
            must(role != 'packet-magic-number' or thing.get('length') == 32,
                 '%s: %s is no fixed-length integer of 32 bits', where, role)
        return roles

    def bits(self, thing, where):
        at_least(1, thing, 'length', where)
        self.order = one_of(('big-endian', 'little-endian'), thing, 'byte-order', where)
        natural = 'first-to-last' if self.order == 'little-endian' else 'last-to-first'
        self.backwards = one_of(('first-to-last', 'last-to-first'), thing, 'bit-order', where, natural) != natural
        must(
            self.type != 'fixed-length-floating-point-number' or self.length in (16, 32, 64, 128)
            or self.length > 128 and not self.length % 32, '%s: no floating point number has %s bits', where,
            self.length)

    def variant(self, thing, where):
        must(thing['options'], '%s: a variant without options', where)
        names, taken = set(), []
        for i, option in enumerate(thing['options']):
            shaped(option, 'option', '%s: option %d' % (where, i))
            must('name' not in option or option['name'] not in names, '%s: two options are called %s', where,
                 option.get('name'))
            names.add(option.get('name'))
            ranges = ranges_of(option['selector-field-ranges'], '%s: option %d' % (where, i))
            taken += [(low, high, i) for low, high in ranges]
            self.options.append((ranges, self.inner(option, 'field-class', 'option %d' % i)))
        taken.sort()
        reach = taken[0][1:]
        for low, high, i in taken:
            must(low > reach[0] or i == reach[1], '%s: the ranges of option %s meet those of another', where, i)
            reach = max(reach, (high, i))
