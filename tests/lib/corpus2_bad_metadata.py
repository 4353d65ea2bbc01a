# SPDX-License-Identifier: MIT
"""
Metadata of CTF 2 that the specification forbids, one trace for each rule, with the error that a reader has to report:
the cause and the position. No record can be read from these traces. ctf2.py has to reject them as well.
"""
import collections
import json

from fragments import PREAMBLE, STREAM, at, bits, event, i, metadata, of, option, structure, u

Bad = collections.namedtuple('Bad', 'name metadata words')
METADATA = []
TRACE = {'type': 'trace-class'}
CLOCK = {'type': 'clock-class', 'id': 'c', 'frequency': 1000}
UUID = {**PREAMBLE, 'uuid': list(range(16))}
BYTE, TEXT = u(8), of('null-terminated-string')
GOOD = metadata(PREAMBLE, STREAM, event(('n', BYTE)))


def bad(name, fragments, *words):
    METADATA.append(Bad(name, fragments if isinstance(fragments, bytes) else metadata(*fragments),
                        ('metadata', *words)))


def bad_class(name, field_class, *words, before=()):
    """A member "m" of the payload of the only event; it follows the given members."""
    bad(name, [PREAMBLE, STREAM, event(*before, ('m', field_class))], *words)


def without(thing, *names):
    return {name: value for name, value in thing.items() if name not in names}


def blob(*path, **more):
    return of('dynamic-length-blob', length_field_location=at(*path, **more))


def alias(name, field_class):
    return {'type': 'field-class-alias', 'name': name, 'field-class': field_class}


# ── the text ────────────────────────────────────────────────────────────────────────────────────────────

bad('no_json', b'\x1e{"type": "preamble", "version": 2}\n\x1ethis is no JSON\n', 'metadata:2:', 'fragment 2',
    'not JSON')
bad('no_separator', GOOD[1:], 'metadata:1:1', 'record separator', 'first fragment')
bad('no_separator_between', GOOD.replace(b'\n\x1e', b'\n', 1), 'metadata:2:1', 'fragment 1', 'not JSON')
bad('cut_fragment', GOOD[:-9], 'metadata:3:', 'fragment 3', 'ends too early')
bad('nothing_but_separators', b'\x1e\n\x1e\n', 'preamble', 'no fragment')
bad('trailing_comma', GOOD.replace(b'2}', b'2,}'), 'metadata:1:', 'fragment 1', 'not JSON')
bad('no_utf_8', GOOD.replace(b'"n"', b'"\xff"'), 'metadata:3:', 'fragment 3', 'utf')
bad('nan', GOOD.replace(b': 8', b': NaN'), 'metadata:3', 'fragment 3')
bad('number_of_many_digits', GOOD.replace(b': 8', b': 8' + b'0' * 30), 'metadata:3:', 'more than 64 bits')
bad('fragment_that_is_a_list', b'\x1e[]\n', 'metadata:1', 'fragment 1', 'object')
bad('fragment_that_is_a_list_later', GOOD + b'\x1e["preamble"]\n', 'metadata:4', 'fragment 4',
    'expected an object, not a list of 1')

# ── fragments ───────────────────────────────────────────────────────────────────────────────────────────

bad('no_type', [PREAMBLE, {'id': 1}], 'fragment 2', '"type"')
bad('unknown_fragment', [PREAMBLE, {'type': 'stream-class'}], 'metadata:2', 'fragment 2', '"type"', 'stream-class')
bad('type_of_a_number', [PREAMBLE, {'type': 1}], 'metadata:2', 'fragment 2', '"type"', 'expected a string, not 1')
bad('no_preamble', [STREAM, event(('n', BYTE))], 'metadata:1', 'fragment 1 (data-stream-class)', 'preamble first')
bad('preamble_later', [TRACE, PREAMBLE, STREAM], 'metadata:1', 'preamble first')
bad('two_preambles', [PREAMBLE, STREAM, PREAMBLE], 'metadata:3', 'fragment 3 (preamble)', 'second')
bad('version_3', [{**PREAMBLE, 'version': 3}, STREAM], 'fragment 1 (preamble)', 'version 3', 'version 2')
bad('version_1', [{**PREAMBLE, 'version': 1}, STREAM], 'fragment 1 (preamble)', 'version 1')
bad('version_of_text', [{**PREAMBLE, 'version': '2'}, STREAM], 'fragment 1 (preamble)', '"version"', 'not "2"')
bad('version_with_a_point', b'\x1e{"type": "preamble", "version": 2.0}\n', 'fragment 1 (preamble)', '"version"',
    'not 2.0')
bad('no_version', [{'type': 'preamble'}, STREAM], 'fragment 1 (preamble)', '"version"')
bad('uuid_of_15_bytes', [{**PREAMBLE, 'uuid': [0] * 15}, STREAM], 'fragment 1 (preamble)', '"uuid"', '16 bytes',
    'list of 15')
bad('uuid_of_text', [{**PREAMBLE, 'uuid': 'x'}, STREAM], 'fragment 1 (preamble)', '"uuid"', 'not "x"')
bad('uuid_of_256', [{**PREAMBLE, 'uuid': [0] * 15 + [256]}, STREAM], '"uuid"/byte 16', '256')
bad('uuid_of_minus_1', [{**PREAMBLE, 'uuid': [-1] + [0] * 15}, STREAM], '"uuid"/byte 1', '-1')
NEW = {'extensions': {'example.com': {'new': True}}}
for where, number, fragments in (('preamble', 1, [{**PREAMBLE, **NEW},
                                                  STREAM]), ('trace-class', 2, [PREAMBLE, {**TRACE, **NEW}, STREAM]),
                                 ('clock-class', 2, [PREAMBLE, {**CLOCK, **NEW},
                                                     STREAM]), ('data-stream-class', 2, [PREAMBLE, {**STREAM, **NEW}]),
                                 ('event-record-class', 3, [PREAMBLE, STREAM, {**event(('n', BYTE)), **NEW}]),
                                 ('field-class-alias', 2, [PREAMBLE, {**alias('a', BYTE), **NEW}, STREAM])):
    bad('extension_of_' + where.replace('-', '_'), fragments, 'fragment %d (%s)' % (number, where),
        '"extensions"/"example.com"', '"new"', 'unsupported extension')
bad_class('extension_of_a_field_class', {**BYTE, **NEW}, 'member 1 "m"', '"extensions"/"example.com"', '"new"')
bad_class('extension_of_a_member',
          structure(('in', BYTE)) | {'member-classes': [{'name': 'in', 'field-class': BYTE, **NEW}]}, 'member 1 "in"',
          '"new"')
bad_class('extensions_of_a_list', {**BYTE, 'extensions': []}, 'member 1 "m"', '"extensions"', 'object')
bad_class('attributes_of_a_text', {**BYTE, 'attributes': 'x'}, 'member 1 "m"', '"attributes"', 'not "x"')
bad('two_trace_classes', [PREAMBLE, TRACE, TRACE, STREAM], 'metadata:3', 'fragment 3 (trace-class)', 'second')
bad('trace_class_after_a_stream', [PREAMBLE, STREAM, TRACE], 'fragment 3 (trace-class)',
    'before the first data stream class')
bad('environment_of_a_list', [PREAMBLE, {**TRACE, 'environment': []}, STREAM], 'fragment 2 (trace-class)',
    '"environment"', 'object')
bad('environment_of_a_real', [PREAMBLE, {**TRACE, 'environment': {'x': 1.5}}, STREAM], '"environment"/"x"', '1.5')

# ── clocks, streams, events ─────────────────────────────────────────────────────────────────────────────

bad('clock_without_id', [PREAMBLE, without(CLOCK, 'id'), STREAM], 'fragment 2 (clock-class)', '"id"')
bad('clock_twice', [PREAMBLE, CLOCK, CLOCK, STREAM], 'fragment 3 (clock-class)', 'clock class "c" exists')
bad('clock_without_frequency', [PREAMBLE, without(CLOCK, 'frequency'), STREAM], 'fragment 2 (clock-class)',
    '"frequency"')
bad('frequency_of_0', [PREAMBLE, {**CLOCK, 'frequency': 0}, STREAM], 'fragment 2 (clock-class)', '"frequency"', 'not 0')
bad('cycles_of_a_second', [PREAMBLE, {**CLOCK, 'offset-from-origin': {'cycles': 1000}}, STREAM],
    '"offset-from-origin"/"cycles"', '1000')
bad('cycles_below_0', [PREAMBLE, {**CLOCK, 'offset-from-origin': {'cycles': -1}}, STREAM],
    '"offset-from-origin"/"cycles"', '-1')
bad('seconds_with_a_point', [PREAMBLE, {**CLOCK, 'offset-from-origin': {'seconds': 1.5}}, STREAM],
    '"offset-from-origin"/"seconds"', '1.5')
bad('unknown_origin', [PREAMBLE, {**CLOCK, 'origin': 'big-bang'}, STREAM], 'fragment 2 (clock-class)', '"origin"',
    'big-bang')
bad('origin_without_uid', [PREAMBLE, {**CLOCK, 'origin': {'name': 'x'}}, STREAM], 'fragment 2 (clock-class)',
    '"origin"', '"uid"')
bad('precision_below_0', [PREAMBLE, {**CLOCK, 'precision': -1}, STREAM], 'fragment 2 (clock-class)', '"precision"',
    '-1')
bad('stream_of_an_unknown_clock', [PREAMBLE, {**STREAM, 'default-clock-class-id': 'c'}],
    'fragment 2 (data-stream-class)', '"default-clock-class-id"', 'clock class', '"c"')
bad('stream_of_a_later_clock', [PREAMBLE, {**STREAM, 'default-clock-class-id': 'c'}, CLOCK],
    'fragment 2 (data-stream-class)', '"default-clock-class-id"', 'before')
TIME = structure(('t', u(8, roles=['default-clock-timestamp'])))
for part in ('packet-context', 'event-record-header'):
    name = part + '-field-class'
    bad('time_without_a_clock_in_the_%s' % part.replace('-', '_'), [PREAMBLE, {**STREAM, name: TIME}],
        'fragment 2 (data-stream-class)', 'default-clock-class-id', name)
bad('end_without_a_clock', [
    PREAMBLE,
    {**STREAM, 'packet-context-field-class': structure(('t', u(8, roles=['packet-end-default-clock-timestamp'])))}
], 'default-clock-class-id', 'packet-context-field-class')
bad('stream_twice', [PREAMBLE, STREAM, {**STREAM, 'id': 0}], 'fragment 3 (data-stream-class)',
    'data stream class 0 exists')
bad('stream_below_0', [PREAMBLE, {**STREAM, 'id': -1}], 'fragment 2 (data-stream-class)', '"id"', '-1')
bad('event_of_no_stream', [PREAMBLE, STREAM, {**event(('n', BYTE)), 'data-stream-class-id': 7}],
    'fragment 3 (event-record-class)', 'data stream class 7')
bad('event_before_its_stream', [PREAMBLE, event(('n', BYTE)), STREAM], 'fragment 2 (event-record-class)',
    'data stream class 0 does not exist')
bad('event_twice', [PREAMBLE, STREAM, event(('n', BYTE)), event(('n', BYTE))], 'metadata:4', 'stream 0', 'id 0')
bad('event_below_0', [PREAMBLE, STREAM, {**event(('n', BYTE)), 'id': -1}], 'fragment 3 (event-record-class)', '"id"',
    '-1')

# ── field classes ───────────────────────────────────────────────────────────────────────────────────────

bad('alias_twice', [PREAMBLE, alias('a', BYTE), alias('a', BYTE), STREAM], 'fragment 3 (field-class-alias)',
    'alias "a" exists')
bad('alias_of_itself', [PREAMBLE, alias('a', structure(('x', 'a'))), STREAM], 'fragment 2 (field-class-alias)',
    'member 1 "x"', 'alias', '"a"')
bad('alias_later', [PREAMBLE, STREAM, event(('m', 'a')), alias('a', BYTE)], 'fragment 3 (event-record-class)',
    'member 1 "m"', 'before', '"a"')
bad('alias_without_a_class', [PREAMBLE, without(alias('a', BYTE), 'field-class'), STREAM],
    'fragment 2 (field-class-alias)', '"field-class"')
bad('wrong_inside_an_alias', [PREAMBLE, alias('a', structure(('x', u(0)))), STREAM], 'fragment 2 (field-class-alias)',
    'member 1 "x"', '"length"', 'not 0')
bad_class('unknown_alias', 'nothing', 'fragment 3 (event-record-class)', '"payload-field-class"/member 1 "m"', 'alias',
          '"nothing"')
bad_class('unknown_class', of('integer'), 'member 1 "m"', '"type"', 'integer')
bad_class('class_of_a_number', 5, 'member 1 "m"', 'field class', 'not 5')
bad_class('class_without_type', {'length': 8}, 'member 1 "m"', '"type"')
bad('payload_of_a_number', [PREAMBLE, STREAM, {'type': 'event-record-class', 'payload-field-class': BYTE}],
    'fragment 3', '"payload-field-class"', 'structure')
bad('header_of_a_number', [PREAMBLE, {**TRACE, 'packet-header-field-class': BYTE}, STREAM], 'fragment 2',
    '"packet-header-field-class"', 'structure')
bad('member_twice', [PREAMBLE, STREAM, event(('m', BYTE), ('m', BYTE))], 'member 2 "m"', 'duplicate name')
bad('member_without_name', [
    PREAMBLE, STREAM,
    event(('m', BYTE)) | {'payload-field-class': of('structure', member_classes=[{'field-class': BYTE}])}
], 'member 1', '"name"')
bad_class('members_of_an_object', of('structure', member_classes={}), 'member 1 "m"', '"member-classes"', 'list')

bad_class('no_byte_order', without(BYTE, 'byte-order'), 'member 1 "m"', '"byte-order"')
bad_class('unknown_byte_order', u(8, 'middle-endian'), 'member 1 "m"', '"byte-order"', 'middle-endian')
bad_class('unknown_bit_order', u(8, bit_order='shuffled'), 'member 1 "m"', '"bit-order"', 'shuffled')
bad_class('no_length', without(BYTE, 'length'), 'member 1 "m"', '"length"')
for name, length in (('0', 0), ('minus_8', -8), ('a_point', 8.5), ('text', '8'), ('true', True), ('null', None)):
    bad_class('bits_of_' + name, u(length), 'member 1 "m"', '"length"', 'not %s' % json.dumps(length))
for kind in ('string', 'blob'):
    for name, length in (('minus_1', -1), ('a_point', 1.5), ('text', '1')):
        bad_class('static_%s_of_%s' % (kind, name), of('static-length-' + kind, length=length), 'member 1 "m"',
                  '"length"', 'not %s' % json.dumps(length))
bad_class('static_array_of_minus_1', of('static-length-array', length=-1, element_field_class=BYTE), 'member 1 "m"',
          '"length"', '-1')
bad_class('array_without_a_class', of('static-length-array', length=1), 'member 1 "m"', '"element-field-class"')
bad_class('real_of_24_bits', bits('floating-point-number', 24), 'member 1 "m"', '"length"', '24')
for name, align in (('0', 0), ('3', 3), ('minus_8', -8), ('24', 24), ('a_point', 8.5), ('text', '8')):
    bad_class('alignment_of_' + name, u(8, align=align), 'member 1 "m"', '"alignment"', 'power of two',
              'not %s' % json.dumps(align))
for kind, name in ((structure, 'structure'),
                   (lambda **more: of('static-length-array', length=1, element_field_class=BYTE, **more), 'array')):
    bad_class('minimum_alignment_of_' + name, kind(minimum_alignment=12), 'member 1 "m"', '"minimum-alignment"',
              'power of two', '12')
bad_class('base_of_3', u(8, preferred_display_base=3), 'member 1 "m"', '"preferred-display-base"', 'not 3')
bad_class('unknown_encoding', of('null-terminated-string', encoding='latin-1'), 'member 1 "m"', '"encoding"', 'latin-1')
for name, ranges, word in (('reversed', [[2, 1]], 'range 1'), ('reversed_later', [[1, 2], [-1, -2]], 'range 2'),
                           ('of_one', [[1]], 'range 1'), ('of_three', [[1, 2, 3]], 'range 1'),
                           ('of_reals', [[1, 2.5]], 'range 1/number 2'), ('of_texts', [['1', '2']], 'range 1/number 1'),
                           ('of_none', [], '"A"'), ('of_no_list', 1, '"A"'), ('of_numbers', [1, 2], 'range 1')):
    bad_class('mapping_' + name, u(8, mappings={'A': ranges}), 'member 1 "m"', '"mappings"', '"A"', word)
    bad_class('flag_' + name, bits('bit-map', 8, flags={'A': ranges}), 'member 1 "m"', '"flags"', '"A"', word)
    bad_class('option_' + name, of('variant', selector_field_location=at('s'),
                                   options=[option(ranges, BYTE, name='A')]), 'member 2 "m"', 'option 1 "A"',
              word.replace('"A"', 'selector-field-ranges'), before=[('s', BYTE)])
bad_class('mappings_of_a_list', u(8, mappings=[]), 'member 1 "m"', '"mappings"', 'object')
bad_class('no_flags', bits('bit-map', 8), 'member 1 "m"', '"flags"')
bad_class('flags_of_nothing', bits('bit-map', 8, flags={}), 'member 1 "m"', '"flags"', 'at least one')

# ── roles ───────────────────────────────────────────────────────────────────────────────────────────────

MAGIC, SAME = 'packet-magic-number', 'metadata-stream-uuid'


def bad_header(name, members, *words, preamble=UUID):
    bad(name, [preamble, {**TRACE, 'packet-header-field-class': structure(*members)}, STREAM,
               event(('n', BYTE))], 'fragment 2 (trace-class)', *words)


bad_header('unknown_role', [('m', u(8, roles=['packet-magic']))], 'member 1 "m"', 'role 1', 'packet-magic')
bad_header('role_of_a_number', [('m', u(8, roles=[1]))], 'member 1 "m"', 'role 1', 'not 1')
bad_header('roles_of_a_text', [('m', u(8, roles='x'))], 'member 1 "m"', '"roles"', 'list')
bad_header('magic_of_16_bits', [('m', u(16, roles=[MAGIC]))], 'member 1 "m"', 'role 1', 'magic', '32 bits')
bad_header('magic_of_leb128', [('m', of('variable-length-unsigned-integer', roles=[MAGIC]))], 'member 1 "m"', 'role 1',
           'magic', '32 bits')
bad_header('magic_second', [('a', BYTE), ('m', u(32, roles=[MAGIC]))], '"packet-header-field-class"', 'magic', 'first',
           'member 2')
bad_header('magic_within', [('a', structure(('m', u(32, roles=[MAGIC]))))], '"packet-header-field-class"', 'magic',
           'first')
bad_header('magic_twice', [('m', u(32, roles=[MAGIC])), ('o', u(32, roles=[MAGIC]))], '"packet-header-field-class"',
           'magic', 'first', 'member 2')
bad_header('signed_role', [('m', i(32, roles=[MAGIC]))], 'member 1 "m"', '"roles"', 'sign')
bad_header('uuid_of_a_number', [('m', u(128, roles=[SAME]))], 'member 1 "m"', 'role 1', SAME)
bad_header('uuid_role_of_15_bytes', [('m', of('static-length-blob', length=15, roles=[SAME]))], 'member 1 "m"',
           'role 1', '16 bytes', '15')
bad_header('blob_of_a_numbers_role', [('m', of('static-length-blob', length=4, roles=[MAGIC]))], 'member 1 "m"',
           'role 1', 'blob', MAGIC)
bad_header('uuid_role_and_no_uuid', [('m', of('static-length-blob', length=16, roles=[SAME]))], 'member 1 "m"',
           'role 1', '"uuid" of the preamble', preamble=PREAMBLE)

# ── references ──────────────────────────────────────────────────────────────────────────────────────────

for name, path, words in (('to_nowhere', ['x'], ["'x'", 'does not exist']), ('to_itself', ['m'],
                                                                             ["'m'", 'does not come before']),
                          ('into_a_number', ['s', 'x'], ["'s.x'"]), ('to_text', ['t'], ["'t'", 'not an integer']),
                          ('to_a_structure', ['in'], ["'in'", 'not an integer']), ('to_a_real', ['r'],
                                                                                   ["'r'", 'not an integer']),
                          ('out_of_the_root', [None,
                                               's'], ['does not exist']), ('to_bits', ['b'], ["'b'", 'not an integer']),
                          ('to_a_signed_number', ['i'], ["'m'", 'signed']), ('to_a_boolean', ['o'], ["'m'",
                                                                                                     'boolean'])):
    bad_class(
        'length_' + name, blob(*path), 'metadata:3', 'length', *words, before=[('s', BYTE), ('t', TEXT),
                                                                               ('in', structure(('y', BYTE))),
                                                                               ('r', bits('floating-point-number', 32)),
                                                                               ('b', bits('bit-array', 8)), ('i', i(8)),
                                                                               ('o', bits('boolean', 8))])
bad('length_after_its_user', [PREAMBLE, STREAM, event(('m', blob('s')), ('s', BYTE))], 'metadata:3', "length 's'",
    'does not come before')
bad('length_in_a_part_that_is_not_there',
    [PREAMBLE, STREAM, event(
        ('m', blob('s', origin='packet-header')))], 'metadata:3', 'packet.header.s', 'does not exist')
bad('length_in_a_later_part', [
    PREAMBLE, {**STREAM, 'packet-context-field-class': structure(('m', blob('n', origin='event-record-payload')))},
    event(('n', BYTE))
], 'metadata:2', 'event.fields.n', 'does not come before')
bad_class('length_in_an_array', blob('a', 'y'), 'metadata:3', 'length', 'array',
          before=[('a', of('static-length-array', length=2, element_field_class=structure(('y', BYTE))))])
bad_class('unknown_part', blob('s', origin='payload'), 'member 2 "m"', '"length-field-location"/"origin"', 'payload',
          before=[('s', BYTE)])
bad_class('path_of_nothing', blob(), 'member 1 "m"', '"length-field-location"/"path"', 'last element of the path')
bad_class('path_outwards', blob('s', None), 'member 2 "m"', '"length-field-location"/"path"',
          'last element of the path', before=[('s', BYTE)])
bad_class('path_of_numbers', blob(1), 'member 1 "m"', '"length-field-location"/step 1', 'not 1')
bad_class('no_path', of('dynamic-length-string', length_field_location={}), 'member 1 "m"', '"length-field-location"',
          '"path"')
bad_class('no_location', of('dynamic-length-array', element_field_class=BYTE), 'member 1 "m"',
          '"length-field-location"')
WHETHER = of('optional', selector_field_location=at('s'), field_class=BYTE)
WHICH = of('variant', selector_field_location=at('s'), options=[option([[0, 9]], BYTE)])
bad_class('optional_by_a_number', WHETHER, 'metadata:3', 'selector', "'m'", 'ranges', before=[('s', BYTE)])
bad_class('optional_by_nothing', WHETHER, 'metadata:3', "selector 's'", 'does not exist')
bad_class('variant_by_a_boolean', WHICH, 'metadata:3', 'selector', "'m'", 'boolean', before=[('s', bits('boolean', 8))])
bad_class('variant_by_text', WHICH, 'metadata:3', "selector 's'", 'not an integer', before=[('s', TEXT)])
bad_class('variant_of_nothing', {**WHICH, 'options': []}, 'member 2 "m"', '"options"', 'at least one',
          before=[('s', BYTE)])
bad_class('options_that_meet',
          {**WHICH, 'options': [option([[0, 9]], BYTE, name='A'),
                                option([[5, 6]], BYTE, name='B')]}, 'member 2 "m"', '"options"', '"A" and "B"',
          before=[('s', BYTE)])
bad_class('option_twice', {**WHICH, 'options': [option([[0, 0]], BYTE, name='A'),
                                                option([[1, 1]], BYTE, name='A')]}, 'member 2 "m"', 'option 2 "A"',
          'duplicate name', before=[('s', BYTE)])
bad_class('option_without_ranges', {**WHICH, 'options': [{'field-class': BYTE, 'name': 'A'}]}, 'member 2 "m"',
          'option 1 "A"', '"selector-field-ranges"', before=[('s', BYTE)])
