# SPDX-License-Identifier: MIT
"""
Bad traces of corpus18.py with wrong metadata. In the texts, a '§' marks the token with the error: the message must have
its line and its column, both from 1, where each byte is one column. A '¶' marks a line without a column, for a text
that is too long for a message or that ends there.
"""
import functools

from corpus18_bad import Bad
from ctf18 import Packet, integers, save

METADATA = []
ENDS = ('comment_not_closed', 'brace_not_closed', 'ends_in_a_word', 'ends_in_a_string')
START = '/* CTF 1.8 */\n' + integers() + '''typealias floating_point { exp_dig = 8; mant_dig = 24; align = 8; } := f32;
enum e : uint8_t { E0, E1 };
struct s { uint8_t n; };
'''
TRACE = 'trace { major = 1; minor = 8; byte_order = le; };\n'
STREAM = 'stream { };\n'


def place_of(text):
    """The text without its mark, and the position as the message must give it."""
    for mark, with_column in (('§', True), ('¶', False)):
        if mark in text:
            before, after = text.split(mark)
            line, column = before.count('\n') + 1, len(before[before.rfind('\n') + 1:].encode()) + 1
            return before + after, ':%d:%d' % (line, column) if with_column else ':%d:' % line
    return text, 'metadata'


def trace_of(directory, text):
    save(directory, metadata=text, stream=Packet(lambda b, content, whole: b.i(8, 1)).bytes)


def bad(name, text, *words, whole=None):
    """Metadata that ends too early is read up to its end; `whole` is the part that is complete."""
    text, place = place_of(text)
    METADATA.append(Bad('metadata_' + name, functools.partial(trace_of, text=text), ['metadata', place, *words], None,
                        whole and functools.partial(trace_of, text=whole)))


def bad_fields(name, fields, *words):
    bad(name, START + TRACE + STREAM + 'event { name = "e"; fields := struct {\n    ' + fields + '\n}; };\n', *words)


def bad_block(name, block, *words):
    before = START + TRACE + STREAM + 'event { name = "e"; fields := struct { uint8_t n; }; };\n'
    bad(name, before + block + '\n', *words, whole=before if name in ENDS else None)


# Tokens.

for name, fields in {
        'no_semicolon': 'uint8_t a\n    §uint8_t b;', 'no_name': 'uint8_t §;', 'two_names': 'uint8_t a §b;',
        'number_as_name': 'uint8_t §5;', 'string_as_name': 'uint8_t §"a";', 'comma_at_end': 'uint8_t a,§;',
        'no_size_of_an_array': 'uint8_t a[§];', 'bracket_not_closed': 'uint8_t a[2§;',
        'bracket_not_opened': 'uint8_t a§];', 'wrong_bracket': 'uint8_t a[2§};', 'strange_sign': 'uint8_t a; §$',
        'strange_sign_2': 'uint8_t a§@b;', 'strange_byte': 'uint8_t a§\x01;', 'hash': '§#include "x"',
        'number_with_letters': 'uint8_t a[§12abc];', 'hex_without_digits': 'uint8_t a[§0x];',
        'octal_with_9': 'uint8_t a[§09];', 'number_too_great': 'uint8_t a[§0x10000000000000000];',
        'decimal_too_great': 'uint8_t a[§18446744073709551616];',
        'range_of_two_dots': 'enum : uint8_t { A = 1 §.. 2 } a;',
        'range_without_end': 'enum : uint8_t { A = 1 ... §} a;',
        'range_without_begin': 'enum : uint8_t { A = §... 2 } a;', 'label_without_comma': 'enum : uint8_t { A §B } a;',
        'label_without_value': 'enum : uint8_t { A = §, B } a;', 'label_that_is_a_number': 'enum : uint8_t { §5 } a;',
        'enum_of_nothing': 'enum : §{ A } a;', 'enum_without_braces': 'enum : uint8_t §a;',
        'tag_not_closed': 'variant <tag §{ uint8_t A; } v;', 'tag_that_is_empty': 'variant <§> { uint8_t A; } v;',
        'align_without_bracket': 'struct { uint8_t x; } align §8 a;',
        'align_without_number': 'struct { uint8_t x; } align(§) a;',
        'attribute_without_value': 'integer { size = §; } a;', 'attribute_without_sign': 'integer { size §8; } a;',
        'attribute_without_semicolon': 'integer { size = 8 §} a;',
        'field_in_an_integer': 'integer { size = 8; uint8_t §a; } b;', 'no_type': '§= 5;', 'only_a_word': 'uint8_t§;',
        'path_with_two_dots': 'uint8_t a[s.§.n];', 'string_not_closed': 'enum : uint8_t { §"A } a;',
        'bad_escape': 'enum : uint8_t { §"A\\q" } a;', 'bad_hex_escape': 'enum : uint8_t { §"\\xg" } a;',
        'unknown_kind': '§integers { size = 8; } a;', 'typedef_without_name': 'typedef uint8_t §;',
        'alias_without_sign': 'typealias uint8_t §octet;', 'alias_without_name': 'typealias uint8_t := §;'
}.items():
    bad_fields(name, fields)

bad_fields(
    'selectors_of_many_labels',
    '¶enum : uint32_t { ' + 'A, ' * 3000 + 'B } tag; ' + ''.join('variant <tag> { uint8_t A; } v%d; ' % i
                                                                 for i in range(1500)), 'too many labels')
bad_fields(
    'lengths_in_many_members', ''.join('uint8_t d%d; ' % i for i in range(6000)) + 'uint8_t %s; ' % ('n' * 1200) +
    ''.join('uint8_t a%d[%s%s]; ' % (i, '¶' if i == 2353 else '', 'n' * 1200) for i in range(2500)),
    'too many comparisons')
# (The reader must not keep a copy of a name at each length that it had while it grew: that would be gigabytes.)
bad_block(
    'aliases_of_many_words', ''.join('typealias integer { size = 8; } := a%d %s;\n' % (i, '*' * 2040)
                                     for i in range(600)) + 'typealias ¶nothing := b;', 'nothing')
bad_block('alias_of_many_words', '¶typealias integer { size = 8; } := ' + 'a ' * 2100 + ';', 'exceeds 4096 bytes')

for name, block in {
        'unknown_block': '§nothing { a = 1; };', 'block_without_semicolon': 'env { a = 1; }\n§clock { name = c; };',
        'brace_not_opened': '§};', 'brace_too_many': 'env { a = 1; }§};', 'block_without_brace': 'env §a = 1; };',
        'assignment_outside': '§a = 1;', 'lone_string': '§"text";', 'colon_for_assignment': 'env { a := §1; };',
        'type_for_a_value': 'env { a = §struct { }; };', 'block_in_a_block': 'env { clock §{ }; };',
        'comment_not_closed': '§/* and so on', 'brace_not_closed': '¶env { a = 1; ',
        'ends_in_a_word': 'typealias §integ', 'ends_in_a_string': 'env { a = §"b'
}.items():
    bad_block(name, block)

bad('strange_beginning', '/* CTF 1.8 */\n§\x7fELF\x02\x01')
bad('of_a_program', '/* CTF 1.8 */\n#§!/bin/sh\nexit 0\n'.replace('#§', '§#'))
bad('of_nothing', '')
bad('of_a_signature', '/* CTF 1.8 */\n')
bad('with_a_zero_byte', START + TRACE + STREAM + 'event { §\0 };\n')
bad('nested_without_end', START + TRACE + STREAM + 'event { name = "e"; fields := ' + 'struct { ' * 100000)
bad(
    'nested_too_deep', START + TRACE + STREAM + 'event { name = "e"; fields := ' + 'struct { ' * 100000 +
    'uint8_t a; ' + '} a; ' * 99999 + '}; };\n')
bad('brackets_too_deep',
    START + TRACE + STREAM + 'event { name = "e"; fields := struct { uint8_t a' + '[1]' * 100000 + '; }; };\n')
bad('signs_without_end', START + 'enum x : uint8_t { A = ' + '-' * 100000 + '1 };\n')

# Semantics.

for name, (fields, *words) in {
        'unknown_type': ('§nothing_t a;', 'nothing_t'), 'unknown_struct': ('struct §unknown_s a;', 'unknown_s'),
        'unknown_enum': ('enum §unknown_e a;', 'unknown_e'), 'unknown_variant': ('enum e t; variant §unknown_v <t> a;',
                                                                                 'unknown_v'),
        'unknown_words': ('§unsigned short long a;', 'unsigned'), 'unknown_pointer': ('§uint8_t *a;', ),
        'field_twice': ('uint8_t a; uint8_t §a;',
                        'a'), 'option_twice': ('enum e t; variant <t> { uint8_t E0; uint8_t §E0; } v;', 'e0'),
        'type_twice': ('typedef uint8_t x;\n    typedef uint8_t §x; x a;',
                       'x'), 'struct_twice': ('struct t { } a;\n    struct §t { } b;',
                                              't'), 'integer_without_size': ('§integer { signed = true; } a;', 'size'),
        'integer_of_0_bits': ('integer { size = §0; } a;',
                              'size'), 'integer_of_4097_bits': ('integer { size = §4097; } a;', 'size'),
        'integer_of_many_bits': ('integer { size = §0x100000008; } a;',
                                 'size'), 'integer_of_negative_bits': ('integer { size = §-8; } a;', 'size'),
        'size_of_words': ('integer { size = §big; } a;', 'size'), 'align_of_0': ('integer { size = 8; align = §0; } a;',
                                                                                 'align'),
        'align_of_3': ('integer { size = 8; align = §3; } a;',
                       'align'), 'struct_align_of_3': ('struct { } align(§3) a;', 'align'),
        'struct_align_of_less': ('struct { } align(§-8) a;',
                                 'align'), 'base_of_7': ('integer { size = 8; base = §7; } a;', 'base'),
        'base_of_words': ('integer { size = 8; base = §seven; } a;',
                          'base'), 'sign_of_words': ('integer { size = 8; signed = §perhaps; } a;', 'signed'),
        'order_of_words': ('integer { size = 8; byte_order = §me; } a;',
                           'me'), 'encoding_of_words': ('integer { size = 8; encoding = §EBCDIC; } a;', 'EBCDIC'),
        'map_of_no_clock': ('integer { size = 8; map = §clock.none.value; } a;',
                            'none'), 'float_without_digits': ('§floating_point { exp_dig = 8; } a;', 'mant_dig'),
        'float_of_9_digits': ('§floating_point { exp_dig = 9; mant_dig = 20; } a;', ),
        'float_of_0_digits': ('floating_point { exp_dig = §0; mant_dig = 0; } a;', ),
        'float_of_many_digits': ('floating_point { exp_dig = §0x100000008; mant_dig = 24; } a;', ),
        'enum_of_a_string': ('enum : string { A §} a;', ), 'enum_of_a_float': ('enum : §f32 { A } a;', ),
        'enum_of_int_without_int': ('enum §{ A } a;',
                                    'int'), 'enum_value_of_words': ('enum : uint8_t { A = §"x" } a;',
                                                                    'A'), 'array_of_less': ('uint8_t a[§-1];', ),
        'array_of_no_field': ('uint8_t a[§unknown];', 'unknown'), 'array_by_itself': ('uint8_t a[§a];', 'a'),
        'array_by_a_later_field': ('uint8_t a[§later]; uint8_t later;',
                                   'later'), 'array_by_a_string': ('string n;\n    uint8_t a[§n];', 'n'),
        'array_by_a_signed': ('int8_t n;\n    uint8_t a[§n];',
                              'n'), 'array_by_a_float': ('f32 n;\n    uint8_t a[§n];',
                                                         'n'), 'array_by_a_struct': ('struct s n;\n    uint8_t a[§n];',
                                                                                     'n'),
        'array_by_a_path_into_nothing': ('struct s t;\n    uint8_t a[§t.m];',
                                         't.m'), 'array_by_an_unknown_scope': ('uint8_t a[§stream.packet.context.n];',
                                                                               'stream.packet.context.n'),
        'array_by_an_absent_scope': ('uint8_t a[§event.context.n];',
                                     'event.context.n'), 'variant_without_tag': ('§variant { uint8_t A; } v;', 'tag'),
        'variant_by_no_field': ('variant <§unknown> { uint8_t A; } v;',
                                'unknown'), 'variant_by_an_integer': ('uint8_t t;\n    variant <§t> { uint8_t A; } v;',
                                                                      't'),
        'variant_by_a_later_field': ('variant <§later> { uint8_t E0; } v; enum e later;', 'later')
}.items():
    bad_fields(name, fields, *words)

# Fields that are larger than any packet: a reader may reject the declaration or the first such field.
for name, fields in {
        'array_of_all_memory': 'uint64_t a[0xffffffffffffffff];',
        'array_whose_bits_wrap': 'uint64_t a[0x400000000000000];',
        'arrays_whose_bits_wrap': 'uint8_t a[0x7fffffff][0x7fffffff][0x7fffffff];',
        'array_of_a_terabyte': 'uint8_t a[0x10000000000];',
        'struct_of_great_arrays': 'struct { uint8_t x[0x7fffffffffffff]; uint64_t y[0x3ffffffffffff]; } a[0x1000];'
}.items():
    bad_fields(name, fields)
    METADATA[-1] = METADATA[-1]._replace(words=[])



def header(fields):
    return TRACE.replace('; }', '; packet.header := §struct { %s }; }' % fields)


for name, (text, *words) in {
        'without_trace': (START + STREAM, 'trace'), 'two_traces': (START + TRACE + '§' + TRACE + STREAM, 'trace'),
        'trace_without_major': (START + '§trace { minor = 8; byte_order = le; };\n', 'major'),
        'trace_without_order': (START + '§trace { major = 1; minor = 8; };\n', 'byte_order'),
        'trace_of_no_order': (START + 'trace { major = 1; minor = 8; byte_order = §middle; };\n', 'byte_order'),
        'trace_of_native_order': (START + 'trace { major = 1; minor = 8; byte_order = §native; };\n', 'byte_order'),
        'short_uuid': (START + 'trace { major = 1; minor = 8; byte_order = le; uuid = §"12345678"; };\n', 'uuid'),
        'strange_uuid': (
            START +
            'trace { major = 1; minor = 8; byte_order = le; uuid = §"zzzzzzzz-1415-1617-1819-1a1b1c1d1e1f"; };\n',
            'uuid'),
        'header_that_is_no_struct': (START +
                                     'trace { major = 1; minor = 8; byte_order = le; packet.header := §uint8_t; };\n',
                                     'packet.header'), 'magic_of_16_bits': (START + header('uint16_t magic;') + STREAM,
                                                                            'magic'),
        'magic_that_is_signed': (START + header('int32_t magic;') + STREAM, 'magic', '32 bits'),
        'magic_of_a_string': (START + header('string magic;') + STREAM, 'magic',
                              '32 bits'), 'uuid_of_15_bytes': (START + header('uint8_t uuid[15];') + STREAM, 'uuid'),
        'uuid_of_17_bytes': (START + header('uint8_t uuid[17];') + STREAM, 'uuid',
                             '16 bytes'), 'uuid_of_longer_numbers': (START + header('uint16_t uuid[16];') + STREAM,
                                                                     'uuid', '16 bytes'),
        'context_that_is_no_struct': (START + TRACE + 'stream { packet.context := §uint8_t; };\n', 'packet.context'),
        'event_header_that_is_no_struct': (START + TRACE + 'stream { event.header := §uint8_t; };\n', 'event.header'),
        'event_context_that_is_no_struct': (START + TRACE + 'stream { event.context := §uint8_t; };\n',
                                            'event.context'),
        'array_by_a_later_part': (START + TRACE +
                                  'stream { packet.context := struct { uint8_t a[§event.fields.n]; }; };\n'
                                  'event { fields := struct { uint8_t n; }; };\n', 'event.fields.n',
                                  'does not come before'),
        'stream_id_of_less': (START + TRACE + 'stream { id = §-1; };\n', 'id', 'non-negative')
}.items():
    bad(name, text, *words)

for name, (block, *words) in {
        'two_streams_of_one_id': ('§stream { id = 0; };',
                                  '0'), 'two_streams_without_stream_id': ('§stream { id = 1; };', 'stream_id'),
        'stream_id_of_words': ('stream { id = §first; };',
                               'id'), 'event_of_no_stream': ('§event { name = "x"; id = 1; stream_id = 44; };', '44'),
        'two_events_of_one_id': ('§event { name = "x"; id = 0; };',
                                 '0'), 'event_id_of_less': ('event { name = "x"; id = §-1; };', 'id'),
        'fields_that_are_no_struct': ('event { name = "x"; id = 1; fields := §uint8_t; };', 'fields'),
        'fields_twice': ('event { name = "x"; id = 1; fields := struct { };\nfields := §struct { }; };',
                         'fields'), 'clock_without_name': ('§clock { freq = 1000; };', 'name'),
        'clock_of_words': ('clock { name = c; freq = §fast; };', 'freq'),
        'clock_twice': ('clock { name = c; };\n§clock { name = c; };',
                        "duplicate clock 'c'"), 'clock_of_less': ('clock { name = c; freq = §-1; };', 'freq'),
        'clock_of_less_precision': ('clock { name = c; precision = §-1; };',
                                    'precision'), 'struct_of_itself': ('struct r { struct §r in; };', 'r'),
        'alias_of_nothing': ('typealias §nothing_t := x;',
                             'nothing_t'), 'alias_twice': ('typealias uint8_t := x;\ntypealias uint16_t := §x;', 'x')
}.items():
    bad_block(name, block, *words)
