#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
`waymark convert --to ctf` and `--to ctf-2`: names of fields, labels and options stay distinct in the other version.
"""
import os
import re
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
import ctf2  # noqa: E402
from harness import WAYMARK, check, limit, main  # noqa: E402
from t_convert_ctf import TSDL, hostile, number, rewritten, save_two, structure, view  # noqa: E402
from t_convert_metadata import BESIDE, fields_of, metadata_of, named, convert_message  # noqa: E402
from t_filter import records_of  # noqa: E402
from t_view import read  # noqa: E402

TWINS = 'enum : u8 { _A, A } _t; variant <_t> { u8 _A; string A; } _v;'


def field_names_that_differ_by_underscore_remain_distinct(case):
    """
    Names that differ by a leading '_' are distinct in CTF 2 and are restored in CTF 1.8 made from it, as are the
    references to them.
    """
    event, context = 'event { name = "e"; fields := struct { %s }; ' \
        '};\n', 'stream { packet.context := struct { %s }; };\n'
    for n, (fields, data, names) in enumerate((
        ('u8 a; u8 _a;', b'\1\2', {'a': 1, '_a': 2}),
        ('u8 _a; u8 a;', b'\1\2', {'a': 1, '_a': 2}),
        ('u8 a, _a, __a;', b'\1\2\3', {'a': 1, '_a': 2, '__a': 3}),
        ('u8 __a; u8 _a;', b'\1\2', {'_a': 1, 'a': 2}),
        ('u8 _a; u8 _b;', b'\1\2', {'a': 1, 'b': 2}),
        ('u8 n; u8 _n; u8 _s[n]; u8 _t[_n];', b'\0\2\3\4', {'n': 0, '_n': 2, 's': [], 't': [3, 4]}),
        ('struct { u8 x, _x; u8 _s[_x]; } _y, y;', b'\5\1\6\7\1\x08',
         {'y': {'x': 5, '_x': 1, 's': [6]}, '_y': {'x': 7, '_x': 1, 's': [8]}}),
        (TWINS, b'\0\7', {'t': 0, 'v': 7}),
        (TWINS, b'\1x\0', {'t': 1, 'v': 'x'}),
        ('enum : u8 { __A, _A, A } _t; variant <_t> { u8 __A; string _A; struct { u8 _b; } A; } _v;', b'\0\7',
         {'t': 0, 'v': 7}),
            # the name without a scope would refer to the nearer field
        ('enum : u8 { L, M } _t; struct { enum : u8 { L, M } t, _t; variant <event.fields._t> { u8 L; string M; } '
         '_v; } _s;',
         b'\1\0\0x\0', None))):
        path = hostile(case, 'twins%d' % n, TSDL + event % fields, data)
        message, two = convert_message(case, 'ctf-2', path)
        direct_message, direct = convert_message(case, 'ctf', path)
        message_again, again = convert_message(case, 'ctf', two)
        check(not message and not direct_message and not message_again, '%s: the messages are "%s", "%s", "%s"', fields,
              message, direct_message, message_again)
        check(
            metadata_of(again) == metadata_of(direct), '%s: CTF 1.8 made from CTF 2 is %s', fields, metadata_of(again))
        check(
            metadata_of(convert_message(case, 'ctf-2', again)[1]) == metadata_of(two),
            '%s: CTF 2 made from that differs', fields)
        check(view(case, again) == view(case, direct) == view(case, path), '%s: the records differ', fields)
        got = fields_of(two)['payload']
        check(names is None or [(name, getattr(of, 'value', of)) for name, of in got.items()] == list(names.items()),
              '%s: in CTF 2 %s', fields, got)
    # A field has its role by its name in CTF 1.8. The last of two such fields counts.
    roles = hostile(
        case, 'roles', TSDL + 'typealias integer { size = 32; align = 8; } := u32;\n' +
        context % 'u32 packet_size; u32 content_size; u32 _content_size;' + event % 'u8 _a;',
        struct.pack('<III', 13 * 8 + 8, 12 * 8, 13 * 8) + b'\1\2')
    two = rewritten(case, 'ctf-2', roles)
    again = rewritten(case, 'ctf', two)
    check(' content_size;' in metadata_of(again) and ' _content_size;' in metadata_of(again), 'names with roles: %s',
          metadata_of(again))
    check(
        view(case, again) == view(case, roles) and len(view(case, again)[0]) == 1, 'names with roles: %s, not %s',
        view(case, again), view(case, roles))


@limit(30)
def many_equal_field_names_convert_quickly(case):
    """Many members have names that become one identifier. Each gets the next number, without a linear search."""
    n, long = 20000, 'x' * 255
    names = [
        name for i in range(n) for name in ('a%s%s' % (chr(0x4e00 + i // 100), chr(0x4e00 + i % 100)), long + str(i))
    ] + ['a_', 'a______4', 'a______4']
    names[-1] += '?'
    path = os.path.join(case.path('alike'), 't')
    save_two(path, [{'type': 'preamble', 'version': 2}, {'type': 'trace-class'}, {'type': 'data-stream-class'}, {
        'type': 'event-record-class', 'name': 'e',
        'payload-field-class': structure(**{name: number(8) for name in names})
    }], b'')
    found = re.findall(r'} (\w+);', metadata_of(rewritten(case, 'ctf', path)))
    wanted = [base + ('_%d' % i if i > 1 else '') for i in range(1, n + 1) for base in ('_a______', '_' + long)]
    # a numbered name is used once
    wanted += ['_a_', '_a______4', '_a______4_']
    check(len(found) == len(wanted), '%d names, not %d', len(found), len(wanted))
    for got, name in zip(found, wanted):
        check(got == name, '%s, not %s', got, name)


def labels_with_underscore_match_their_options(case):
    """Readers of 1.8 remove one leading '_' of a label and of its option: both still match, and the change is
    reported."""
    options = [{'name': name, 'field-class': number(8 + 8 * i), 'selector-field-ranges': [[i, i]]}
               for i, name in enumerate(('_a', '__b'))]
    fields = structure(t=dict(number(8), mappings={'_a': [[0, 0]], '__b': [[1, 1]]}),
                       v={'type': 'variant', 'selector-field-location': {'path': ['t']}, 'options': options})
    path = os.path.join(case.path('bars'), 't')
    save_two(path, [{'type': 'preamble', 'version': 2}, {'type': 'trace-class'}, {'type': 'data-stream-class'},
                    {'type': 'event-record-class', 'name': 'e', 'payload-field-class': fields}], b'\1\2\3\0\4')
    message, out = convert_message(case, 'ctf', path)
    check('(they were changed)' in message, 'the message is "%s"', message)
    check([r['fields']['v'] for r in records_of(case, out)] == [0x302, 4], 'the values are %s', records_of(case, out))


def invalid_name_attributes_of_ctf_2_are_ignored_with_report(case):
    """Attributes with names of 1.8 are ignored, with a report, if a name is invalid, is used by another field, or
    changes what a field means."""
    plain = [{'type': 'preamble', 'version': 2}, {'type': 'trace-class'}, {'type': 'data-stream-class'}]
    for n, (members, names, words) in enumerate(
        (({'a': named(name='a'), '_a': named(name='_a')}, ('a', '_a'),
          None), ({'a': named(name='_a'), '_a': named(name='a')}, ('_a', 'a'), None), ({'a': named(name=5),
                                                                                        'b': {}}, ('_a', '_b'), BESIDE),
         ({'a': named(name=['a'])}, ('_a', ), BESIDE), ({'a': named(name={'word': 'a'})}, ('_a', ), BESIDE),
         ({'a': named(name=None), 'b': named(name='')}, ('_a', '_b'),
          BESIDE), ({'a': {'attributes': {'waymark,2026': 'name'}}}, ('_a', ),
                    BESIDE), ({'a': {'attributes': {'other': {'name': 'a'}}}}, ('_a', ), BESIDE),
         ({'a': named(name='a', more=1)}, ('a', ),
          BESIDE), ({'a': {'attributes': {'waymark,2026': {'name': 'a'}, 'other': 1}}}, ('a', ),
                    BESIDE), ({'a': named(word='a')}, ('_a', ), BESIDE), ({'a': named(name='b')}, ('_a', ), BESIDE),
         ({'a': named(name='a; u8 b')}, ('_a', ), BESIDE), ({'a': named(name='a\0')}, ('_a', ), BESIDE),
         ({'9a': named(name='9a')}, ('_9a', ), BESIDE), ({'int': named(name='int')}, ('_int', ),
                                                         BESIDE), ({'\xe4': named(name='\xe4')}, ('___', ), BESIDE),
         ({'a': {}, '_a': named(name='_a')}, ('_a', '__a'),
          BESIDE), ({'_a': named(name='_a'),
                     'a': {}}, ('__a', '_a'), BESIDE), ({'a': named(name='_a'),
                                                         '_a': named(name='_a')}, ('_a', '__a'), BESIDE))):
        fields = {
            'type': 'structure',
            'member-classes': [dict({'name': name, 'field-class': number(8)}, **of) for name, of in members.items()]
        }
        path = os.path.join(case.path('of%d' % n), 't')
        save_two(path, [*plain, {'type': 'event-record-class', 'name': 'e', 'payload-field-class': fields}],
                 bytes(range(1,
                             len(members) + 1)))
        message, out = convert_message(case, 'ctf', path)
        check(words in message if words else not message, '%s: the message is "%s"', members, message)
        check(tuple(re.findall(r'} (\w+);', metadata_of(out))) == names, '%s: %s', members, metadata_of(out))
        check([v for r in ctf2.Trace(path).records()
               for v in r.fields['payload'].values()] == list(range(1,
                                                                    len(members) + 1)),
              'the second decoder reads other values')
        check([p.split(b' = ')[-1] for p in view(case, out)[0][0].split(b',')
               ] == [p.split(b' = ')[-1] for p in view(case, path)[0][0].split(b',')], '%s: the values differ', members)


def name_attribute_that_changes_a_field_role_is_ignored(case):
    """A name that would give a role to a field of a packet's context, or remove one, is ignored."""
    for n, (name, role, kept, ident, words) in enumerate(
        (('_content_size', None, 'content_size', '__content_size',
          BESIDE), ('_content_size', None, '_content_size', '__content_size',
                    BESIDE), ('content_size', 'packet-content-length', '__content_size', 'content_size', BESIDE),
         ('_content_size', 'packet-content-length', '_content_size', '_content_size', None))):
        members = [{'name': 'packet_size', 'field-class': number(8, 'packet-total-length')},
                   dict({'name': name, 'field-class': number(8, *([role] if role else []))}, **named(name=kept))]
        stream = {
            'type': 'data-stream-class', 'packet-context-field-class': {'type': 'structure', 'member-classes': members}
        }
        path = os.path.join(case.path('context%d' % n), 't')
        save_two(path, [{'type': 'preamble', 'version': 2}, {'type': 'trace-class'}, stream,
                        {'type': 'event-record-class', 'name': 'e', 'payload-field-class': structure(a=number(8))}],
                 b'\x18\x18\1')
        message, out = convert_message(case, 'ctf', path)
        check(words in message if words else not message, '%s, %s: the message is "%s"', name, kept, message)
        check(' %s;' % ident in metadata_of(out), '%s, %s: %s', name, kept, metadata_of(out))
        check([r['fields'] for r in records_of(case, out)] == [{'a': 1}], '%s, %s: %s', name, kept,
              records_of(case, out))


def name_attribute_that_selects_another_option_is_ignored(case):
    """
    A label selects the option of its name. A name that would match another option is ignored; a conversion is rejected
    if labels cannot distinguish the options.
    """
    plain = [{'type': 'preamble', 'version': 2}, {'type': 'trace-class'}, {'type': 'data-stream-class'}]
    refusal = 'its labels differ from the names of the options'
    for n, (options, labels, words) in enumerate(
        (({'A': 'A', '_A': '_A'}, ('A', '_A'), None), ({'A': '_A', '_A': 'A'}, ('_A', 'A'), None),
         ({'A': '_A', '_A': 'A'}, ('A', '_A'), BESIDE), ({'A': 'A', '_A': '_A'}, ('_A', 'A'), refusal),
         ({'A': '_A', 'B': 'B'}, ('A', 'B'), None), ({'A': '__A', '__A': 'A'}, ('A', '__A'), BESIDE),
         ({'A': 'B',
           'B': 'A'}, ('A', 'B'), BESIDE), ({'A': 'A',
                                             '_A': 'A'}, ('A', '_A'), BESIDE), ({'A': '__A',
                                                                                 'B': '__A'}, ('A', 'B'), BESIDE))):
        of_both = [
            dict({'name': name, 'field-class': number(8 + 8 * i), 'selector-field-ranges': [[i, i]]},
                 **named(name=kept)) for i, (name, kept) in enumerate(options.items())
        ]
        fields = structure(t=dict(number(8), mappings={label: [[i, i]] for i, label in enumerate(labels)}),
                           v={'type': 'variant', 'selector-field-location': {'path': ['t']}, 'options': of_both})
        path = os.path.join(case.path('options%d' % n), 't')
        save_two(path, [*plain, {'type': 'event-record-class', 'name': 'e', 'payload-field-class': fields}],
                 b'\1\2\3\0\4')
        out = path + 'x'
        got, _, err = read(case, [WAYMARK, 'convert', '--to', 'ctf', '-o', out, path])
        check(got == (words == refusal) and (words or '') in err.decode() and bool(words) == bool(err),
              '%s, %s: status %d: %s', options, labels, got, err.decode())
        if got == 0:
            check([r['fields']['v'] for r in records_of(case, out)] == [0x302, 4], '%s, %s: the values are %s', options,
                  labels, records_of(case, out))


if __name__ == '__main__':
    main([
        field_names_that_differ_by_underscore_remain_distinct, labels_with_underscore_match_their_options,
        many_equal_field_names_convert_quickly, invalid_name_attributes_of_ctf_2_are_ignored_with_report,
        name_attribute_that_changes_a_field_role_is_ignored, name_attribute_that_selects_another_option_is_ignored
    ])
