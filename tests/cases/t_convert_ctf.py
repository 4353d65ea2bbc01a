#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
`waymark convert --to ctf` and `--to ctf-2`: traces in the other version of the format, with all or some records, read
back by three readers.
"""
import functools
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
import corpus18  # noqa: E402
import ctf2  # noqa: E402
from ctf18 import BEGIN, Plain, save  # noqa: E402
from harness import PERCENT, VIEW, WAYMARK, check, limit, main, need  # noqa: E402
from t_convert import names_twice  # noqa: E402
from t_filter import NO_NUMBERS, is_enum, records_of  # noqa: E402
from t_view import read  # noqa: E402

# The trace with names that differ by a leading '_': a reader of CTF 1.8 shows them alike, a reader of CTF 2 does not.
OTHER_NAMES = 'underscores_that_matter'
EVERYTHING = ('-n', 'all', '-f', 'all')


def rewritten(case, form, path, *options, status=0, name=None):
    """Convert `path`. Returns the output directory; its last component is that of `path`, because readers show it."""
    case.number = getattr(case, 'number', 0) + 1
    out = os.path.join(case.path('made%d' % case.number), name or os.path.basename(path))
    os.makedirs(os.path.dirname(out))
    got, _, err = read(case, [WAYMARK, 'convert', '--to', form, '-o', out, *options, path])
    check(got == status, 'convert --to %s %s: status %d: %s', form, path, got, err[-500:].decode())
    return out


def view(case, path, *options):
    """(records, warnings about losses) that `view` prints, without the directories."""
    status, lines, err = read(case, [WAYMARK, *VIEW, *EVERYTHING, *options, path])
    check(status == 0, 'view %s: status %d: %s', path, status, err[-500:].decode())
    return lines, err.replace(path.encode(), b'')


def sampled_corpus_and_recordings(case):
    for trace in corpus18.GOOD if PERCENT >= 100 else case.random.sample(corpus18.GOOD, 60):
        path = os.path.join(case.path('of_' + trace.name), 't')
        os.makedirs(os.path.dirname(path))
        trace.make(path)
        yield trace.name, path
    for program in ('types', 'spans'):
        yield program, case.record([case.program(program)],
                                   ['-c', 'vpid', '-c', 'vtid', '-c', 'procname']).ok().directory


@limit(600)
def conversion_to_ctf_2_and_back_keeps_all_records(case):
    """
    A trace is converted from 1.8 to 2 and to 1.8 again. Records, fields and names stay the same; babeltrace2 reads the
    last one, too.
    """
    theirs = 0
    for name, path in sampled_corpus_and_recordings(case):
        two = rewritten(case, 'ctf-2', path)
        again, direct = rewritten(case, 'ctf', two), rewritten(case, 'ctf', path)
        wanted = view(case, path)
        for out in (again, direct) if name == OTHER_NAMES else (two, again, direct):
            check(
                view(case, out) == wanted, '%s: the records of %s differ: %s', name, out,
                [p for p in zip(view(case, out)[0], wanted[0]) if p[0] != p[1]][:1])
        try:
            need('babeltrace2')
        except Exception:                               # the other readers suffice; the count below is 0 then
            continue
        status, lines, _ = read(case, ['babeltrace2', path])
        if status == 0:
            # babeltrace2 rejects a name that is a keyword of TSDL
            got, shown, err = read(case, ['babeltrace2', again])
            check(got == 0 and shown == lines, '%s: babeltrace2 shows different records of %s: %s', name, again,
                  err[-300:].decode())
            theirs += len(lines)
    check(theirs == 0 or theirs > 100, 'babeltrace2 has read %d records', theirs)


def same(got, wanted, where):
    """Does a value of the second decoder equal a value of `view --json`?"""
    if isinstance(got, ctf2.Mapped):
        if not got.names and not is_enum(wanted):
            return same(got.value, wanted, where)
        return is_enum(wanted) and got.value == wanted['value'] and (wanted['label'] is None and not got.names
                                                                     or wanted['label'] in got.names)
    if isinstance(got, dict):
        return isinstance(wanted, dict) and list(got) == list(wanted) and all(
            same(got[n], wanted[n], where) for n in got)
    if isinstance(got, list):
        return isinstance(wanted, list) and len(got) == len(wanted) and all(
            same(g, w, where) for g, w in zip(got, wanted))
    if isinstance(got, float):
        # Python parses -0 in JSON as an integer
        return (repr(float(wanted)) == repr(got)
                or got == wanted == 0) if wanted in NO_NUMBERS or isinstance(wanted, (int, float)) else False
    if isinstance(got, ctf2.Flags):
        return got.value == wanted
    if isinstance(got, bytes):
        return got.hex() == wanted
    if isinstance(got, str):
        return got == wanted or '\ufffd' in wanted or '\udc80' <= max(got, default='') <= '\udcff'
    return got == wanted


@limit(600)
def independent_decoder_reads_same_records_from_ctf_2(case):
    """The second decoder, written from the specification alone, reads the converted traces."""
    n = 0
    for name, path in sampled_corpus_and_recordings(case):
        if name == OTHER_NAMES or names_twice(case, path):
            continue
        two = rewritten(case, 'ctf-2', path)
        made = {}
        for top, _, files in os.walk(two):
            if 'metadata' in files:
                try:
                    for record in ctf2.Trace(top, errors='surrogateescape').records():
                        made.setdefault((os.path.relpath(top, two), record.file), []).append(record)
                # a packet must not end before it begins, but a killed tracer writes the end 0
                except ctf2.Failure as failure:
                    check('ends at 0' in str(failure), '%s: %s', name, failure)
                    made = None
                    break
        if made is None:
            continue
        wanted = {}
        for record in records_of(case, path):
            wanted.setdefault(record['stream'], []).append(record)
        check(
            sorted(len(r) for r in made.values()) == sorted(len(r) for r in wanted.values())
            or len(made) != len(wanted), '%s: wrong numbers of records in the streams: %s', name,
            {k: len(v) for k, v in made.items()})
        if len(made) != len(wanted):                    # streams of one name in several traces
            check(sum(map(len, made.values())) == sum(map(len, wanted.values())), '%s: the records differ', name)
            continue
        for (_, stream), records in made.items():
            for got, of in zip(records, wanted[stream]):
                n += 1
                check(got.name == of.get('event'), '%s: the event %s, not %s', name, got.name, of)
                for scope, part in (('common-context', 'context'), ('specific-context', 'event_context'), ('payload',
                                                                                                           'fields')):
                    check(same(got.fields[scope] or {},
                               of.get(part) or {}, name), '%s: %s of %s is %s, not %s', name, scope, got.name,
                          got.fields[scope], of.get(part))
                if 'time' in of and got.cycles is not None and abs(got.time) < 1 << 53:
                    whole, part = of['time'].split('.')
                    check(
                        abs(got.time - int(whole) * 10**9 - int(part)) < 2, '%s: at %d, not %s', name, got.time,
                        of['time'])
    check(n > 100, 'only %d records', n)


@limit(300)
def selected_records_are_converted_unchanged(case):
    """A filter or a range of time leaves the selected records unchanged."""
    path = case.record([case.program('spans')], ['-c', 'vpid', '-c', 'vtid', '-c', 'procname']).ok().directory
    busy = case.record([case.program('busy'), 'count', '3', '2000', '0']).ok().directory
    for of, expression in ((path, '$event == "*begin"'), (path, '$event == "spans:job*"'), (path, 'value > 1'),
                           (busy, 'n % 7 == 3'), (busy, '$event == "none"')):
        for form in ('ctf', 'ctf-2'):
            if expression.startswith('n ') and not any('n' in r['fields'] for r in records_of(case, of)[-50:]):
                expression = '$event != "*"'
            out = rewritten(case, form, of, '-F', expression)
            check(
                view(case, out)[0] == view(case, of, '-F', expression)[0], '%s of %s: the records differ', expression,
                of)
            _, _, err = read(case, [WAYMARK, *VIEW, out])
            check(b'WARNING' not in err, 'records that were left out are reported as lost: %s', err.decode())
    records = records_of(case, busy)
    some = ('--begin', records[len(records) // 3]['time'], '--end', records[len(records) // 2]['time'])
    out = rewritten(case, 'ctf-2', busy, *some)
    # (with the option, times are those of JSON, which are corrected)
    check(
        view(case, out, '--uncertainty')[0] == view(case, busy, '--uncertainty', *some)[0] and view(case, out)[0],
        'the records of a range of time differ')


def time_gaps_longer_than_8_bit_timestamps_are_kept(case):
    """
    Event headers hold 8 bits of the time. Where left-out records create a longer gap, a new packet holds the full time.
    """
    plain = Plain()
    plain.event('e', 'uint32_t n;')
    metadata = plain.text().replace(
        'struct { uint16_t id; stamp_t timestamp; }', 'struct { uint16_t id; tiny_t timestamp; }').replace(
            'trace {', 'typealias integer { size = 8; align = 8; map = clock.c.value; } := tiny_t;\ntrace {', 1)
    clock = [
        line.split('"')[1] if '"' in line else line.split('=')[1].strip(' ;') for line in plain.text().splitlines()
        if line.strip().startswith('name =')
    ][0]
    metadata = metadata.replace('clock.c.value', 'clock.%s.value' % clock)
    tiny = [(BEGIN + 100 * n, 0, lambda b, n=n: b.i(32, n)) for n in range(200)]
    packets = []
    for first in range(0, 200, 50):
        packet = plain.packet(tiny[first:first + 50], sequence=first // 50)
        packets.append(packet)
    path = os.path.join(case.path('gaps'), 't')
    os.makedirs(os.path.dirname(path))
    # Replace the 64-bit times by 8-bit times; the packet header and its sizes are adapted.
    data = b''
    for number, packet in enumerate(packets):
        whole, head, size = bytes(packet.bytes), Plain.HEAD, 2 + 8 + 4
        body = b''.join(whole[at:at + 3] + whole[at + 10:at + size] for at in range(head, head + 50 * size, size))
        bits = (head + len(body)) * 8
        start = bytearray(whole[:head])
        start[40:48] = start[48:56] = bits.to_bytes(8, 'little')
        data += bytes(start) + body
    save(path, metadata=metadata.encode(), stream=data)
    check(
        len(records_of(case, path)) == 200, 'the source trace is wrong: %s',
        read(case, [WAYMARK, *VIEW, path])[2].decode())
    for expression in ('n % 3 == 0', 'n % 40 == 39', 'n == 7 || n == 150', 'n > 60'):
        for form in ('ctf', 'ctf-2'):
            out = rewritten(case, form, path, '-F', expression)
            check(view(case, out) == view(case, path, '-F', expression), '%s: %s', expression, view(case, out)[0][:3])


def conversion_stops_at_damage_and_rejects_used_directories(case):
    """A missing or non-empty output directory is rejected. Records before damage are converted."""
    tiny, path = corpus18.Tiny(), os.path.join(case.path('tiny'), 't')
    os.makedirs(os.path.dirname(path))
    tiny.write(path)
    status, _, err = read(case, [WAYMARK, 'convert', '--to', 'ctf', path])
    check(status == 2 and b'-o DIR' in err, 'status %d: %s', status, err.decode())
    out = rewritten(case, 'ctf-2', path)
    status, _, err = read(case, [WAYMARK, 'convert', '--to', 'ctf', '-o', out, path])
    check(status == 1 and b'is not empty' in err, 'status %d: %s', status, err.decode())
    check(
        oct(os.stat(out).st_mode & 0o777) == '0o700'
        and oct(os.stat(os.path.join(out, 'metadata')).st_mode & 0o777) == '0o600', 'wrong permissions')
    for cut in case.random.sample(range(len(tiny.data)), 20):
        tiny.write(path, data=tiny.data[:cut])
        whole = read(case, [WAYMARK, *VIEW, path])
        out = rewritten(case, 'ctf-2', path, status=whole[0])
        check(read(case, [WAYMARK, *VIEW, out])[:2] == (0, whole[1]), 'cut at byte %d: the records differ', cut)


def fields_that_ctf_1_8_cannot_express_are_rejected_by_name(case):
    """What CTF 1.8 cannot express is rejected with the field's name, or reported as lost."""
    header = {'type': 'preamble', 'version': 2}
    clockless = {'type': 'data-stream-class', 'id': 0}

    def trace(fields, data):
        path = os.path.join(case.path('two%d' % len(os.listdir(case.directory))), 't')
        os.makedirs(path)
        event = {
            'type': 'event-record-class', 'name': 'e',
            'payload-field-class': {'type': 'structure', 'member-classes': fields}
        }
        with open(os.path.join(path, 'metadata'), 'w', encoding='utf-8') as f:
            f.write(''.join('\x1e%s\n' % json.dumps(fragment)
                            for fragment in (header, {'type': 'trace-class'}, clockless, event)))
        with open(os.path.join(path, 'stream'), 'wb') as f:
            f.write(data)
        return path

    def field(name, kind, **more):
        return {
            'name': name, 'field-class': dict({'type': kind},
                                              **{key.replace('_', '-'): value for key, value in more.items()})
        }

    bits = functools.partial(dict, length=8, byte_order='little-endian', alignment=8)
    byte = {key.replace('_', '-'): value for key, value in bits(type='fixed-length-unsigned-integer').items()}
    options = [{
        'selector-field-ranges': [[i, i]],
        'field-class': {'type': 'structure', 'member-classes': [{'name': name, 'field-class': byte} for name in names]}
    } for i, names in enumerate(('x', 'xl', 'l'))]
    for fields, data, words in (([
            field('n', 'fixed-length-unsigned-integer', **bits()),
            field('v', 'variant', selector_field_location={'path': ['n']}, options=options),
            field('blob', 'dynamic-length-blob', length_field_location={'path': ['v', 'l']})
    ], b'\1\7\2ab\2\1c', b"'blob': it depends on a value in a variant"), ([
            field('far', 'variable-length-unsigned-integer')
    ], b'\x81\x01', b"'far': it has no fixed size"), ([field('wide', 'null-terminated-string', encoding='utf-16le')],
                                                    b'a\0\0\0', b"'wide': its text is not UTF-8"),
                                ([field('back', 'fixed-length-unsigned-integer', **bits(bit_order='last-to-first'))],
                                 b'\x01', b"'back': its bit order differs")):
        path = trace(fields, data)
        got, _, err = read(case, [WAYMARK, 'convert', '--to', 'ctf', '-o', path + 'x', path])
        check(got == 1 and words in err and b'CTF 1.8' in err, 'status %d: %s', got, err.decode())
        again = rewritten(case, 'ctf-2', path)
        check(view(case, again) == view(case, path) and view(case, path), 'CTF 2 of %s differs', fields)
        check(
            sorted(second_decoding(again).values()) == sorted(second_decoding(path).values()),
            'CTF 2 of %s differs for the second decoder', fields)
    path = trace([
        field('yes', 'fixed-length-boolean', **bits()),
        field('maybe', 'optional', selector_field_location={'path': ['yes']},
              field_class={'type': 'null-terminated-string'}),
        field('map', 'fixed-length-bit-map', flags={'a': [[0, 1]]}, **bits()),
        field('raw', 'static-length-blob', length=2, media_type='image/x')
    ], b'\x01hello\0\x03ab')
    check(view(case, rewritten(case, 'ctf-2', path)) == view(case, path), 'the CTF 2 trace differs')
    out = rewritten(case, 'ctf', path)
    _, _, err = read(case, [WAYMARK, 'convert', '--to', 'ctf', '-o', out + 'x', path])
    check(all(words in err for words in (b'the names of bits', b'media types', b'optional fields')),
          'the loss is not reported: %s', err.decode())
    record = records_of(case, out)[0]['fields']
    check(record['maybe'] == 'hello' and record['map'] == 3 and record['raw'] == [97, 98], 'wrong values: %s', record)
    for reader in (['babeltrace2'],):
        try:
            need(reader[0])
        except Exception:
            continue
        got, lines, err = read(case, [*reader, out])
        check(got == 0 and b'maybe = { "hello" }' in lines[0], '%s', err.decode())


def ctf_2_metadata_is_copied_unchanged(case):
    """Metadata of CTF 2 that no record needs is copied unchanged."""
    attributes = {
        'example.org': {'a': [1, -2, 1.50, 'text', None, True, {'deep': {'er': []}}], 'big': 18446744073709551615},
        'other': 'just a text'
    }
    field = {
        'type': 'fixed-length-unsigned-integer', 'length': 8, 'byte-order': 'little-endian', 'alignment': 8,
        'attributes': {'of': {'field': 1}}
    }
    of_class = {'namespace': 'example.org,2026', 'uid': 'a uid', 'attributes': attributes}
    fragments = [{'type': 'preamble', 'version': 2, 'attributes': attributes},
                 dict(of_class, type='trace-class', name='t'),
                 dict(of_class, type='clock-class', id='clock0', name='c', frequency=1000, precision=0, accuracy=7,
                      origin={'namespace': 'n', 'name': 'o', 'uid': 'u'}),
                 {'type': 'clock-class', 'id': 'clock1', 'frequency': 5, 'origin': 'unix-epoch', 'precision': 3},
                 dict(of_class, type='data-stream-class', id=0, name='s'),
                 dict(
                     of_class, type='event-record-class', id=0, name='e', **{
                         'payload-field-class': {
                             'type': 'structure', 'attributes': {'of': {'structure': 2}}, 'member-classes': [{
                                 'name': 'x', 'field-class': field, 'attributes': {'of': {'member': 5}}
                             }, {
                                 'name': 'y', 'field-class': {
                                     'type': 'static-length-array', 'length': 2,
                                     'element-field-class': dict(field, attributes={'of': {'element': 3}}),
                                     'attributes': {'of': {'array': 4}}
                                 }
                             }, {
                                 'name': 'z', 'attributes': {'of': {'another member': 6}}, 'field-class': {
                                     'type': 'variant', 'selector-field-location': {'path': ['x']},
                                     'attributes': {'of': {'variant': 7}}, 'options': [{
                                         'name': 'a', 'selector-field-ranges': [[0, 9]], 'field-class': field,
                                         'attributes': {'of': {'option': 8}}
                                     }, {
                                         'name': 'b', 'selector-field-ranges': [[10,
                                                                                 255]],
                                         'field-class': dict(field, attributes={})
                                     }]
                                 }
                             }]
                         }
                     })]
    # two attributes that Waymark understands, beside one that it does not
    fragments[-1]['attributes'] = dict(attributes,
                                       **{'babeltrace.org,2020': {'log-level': 'warning', 'emf-uri': 'x:y', 'more': 1}})
    path = os.path.join(case.path('all'), 't')
    os.makedirs(path)
    with open(os.path.join(path, 'metadata'), 'w', encoding='utf-8') as f:
        f.write(''.join('\x1e%s\n' % json.dumps(fragment) for fragment in fragments))
    with open(os.path.join(path, 's'), 'wb') as f:
        f.write(b'\1\2\3\4')
    again = rewritten(case, 'ctf-2', path)
    with open(os.path.join(again, 'metadata'), encoding='utf-8') as f:
        got = [json.loads(text) for text in f.read().split('\x1e')[1:]]
    check(len(got) == len(fragments), '%d fragments of %d', len(got), len(fragments))

    def within(wanted, there, where):
        if isinstance(wanted, dict) and isinstance(there, dict):
            for key, value in wanted.items():
                check(key in there, '%s: %s is missing', where, key)
                within(value, there[key], where + '.' + key)
        elif isinstance(wanted, list) and isinstance(there, list):
            check(len(wanted) == len(there), '%s: %s, not %s', where, there, wanted)
            for i, value in enumerate(wanted):
                within(value, there[i], '%s[%d]' % (where, i))
        else:
            check(wanted == there and type(wanted) is type(there), '%s: %s, not %s', where, there, wanted)

    for wanted, there in zip(fragments, got):
        within(wanted, there, wanted['type'])
        for key in ('namespace', 'uid', 'attributes', 'accuracy', 'precision', 'origin'):
            check(there.get(key) == wanted.get(key), '%s: its %s is %s', wanted['type'], key, there.get(key))
    check(view(case, again) == view(case, path) and len(view(case, path)[0]) == 1, 'the records differ')
    with open(os.path.join(rewritten(case, 'ctf', path), 'metadata'), encoding='utf-8') as f:
        text = f.read()
    check('loglevel = 4' in text and 'x:y' in text, 'attributes that CTF 1.8 can express are missing: %s', text)


TSDL = '''/* CTF 1.8 */
typealias integer { size = 8; align = 8; signed = false; } := u8;
typealias integer { size = 4; align = 1; signed = false; } := u4;
trace { major = 1; minor = 8; byte_order = le; };
'''
CLOCK = 'clock { name = c; freq = 1000000000; };\n'


def hostile(case, name, tsdl, data):
    path = os.path.join(case.path(name), 't')
    os.makedirs(path)
    save(path, metadata=tsdl.encode(), stream=data)
    return path


def unusual_valid_traces_are_never_converted_wrongly(case):
    """Valid traces that no tracer writes are converted correctly or rejected with a message, in a short time."""
    stamp = 'integer { size = 64; align = 8; signed = true; map = clock.c.value; }'
    event = 'event { name = "e"; fields := struct { %s }; };\n'
    signed = hostile(case, 'signed',
                     TSDL + CLOCK + 'stream { event.header := struct { %s timestamp; }; };\n' % stamp + event % 'u8 n;',
                     b''.join((1000 * n + 5).to_bytes(8, 'little') + bytes([n]) for n in range(5)))
    for form in ('ctf', 'ctf-2'):
        check(
            view(case, rewritten(case, form, signed)) == view(case, signed), 'records with signed times differ in %s',
            form)
    halves = hostile(
        case, 'halves', TSDL +
        'stream { packet.context := struct { integer { size = 32; align = 8; } packet_size; }; };\n' + event % 'u4 a;',
        (40).to_bytes(4, 'little') + b'\x21')
    got, _, err = read(case, [WAYMARK, 'convert', '--to', 'ctf', '-o', halves + 'x', '-F', 'a == 1', halves])
    check(got == 1 and b'ends within a byte' in err, 'a record that ends within a byte: status %d, %s', got,
          err.decode())
    narrow = hostile(
        case, 'narrow', TSDL + CLOCK +
        '''stream { packet.context := struct { integer { size = 16; align = 8; map = clock.c.value; } timestamp_begin;
        integer { size = 32; align = 8; } packet_size; integer { size = 32; align = 8; } content_size; };
        event.header := struct { integer { size = 8; align = 8; map = clock.c.value; } timestamp; }; };\n''' +
        event % 'integer { size = 16; align = 8; } n;',
        bytes(2) + ((10 + 3000) * 8).to_bytes(4, 'little') * 2 +
        b''.join(bytes([n * 100 % 256]) + n.to_bytes(2, 'little') for n in range(1000)))
    got, _, err = read(case, [WAYMARK, 'convert', '--to', 'ctf-2', '-o', narrow + 'x', '-F', 'n == 900', narrow])
    check(got == 1 and b'does not fit' in err, 'a time that does not fit into a packet header: status %d, %s', got,
          err.decode())
    mixed = hostile(case, 'mixed', TSDL + event % ('u4 a; integer { size = 4; align = 1; byte_order = be; } b; u4 c;'),
                    bytes(range(0x10, 0x40)))
    got, _, err = read(case, [WAYMARK, 'convert', '--to', 'ctf', '-o', mixed + 'x', '-F', 'a > 3', mixed])
    check(got == 1 and b'both byte orders' in err or view(case, mixed + 'x') == view(case, mixed, '-F', 'a > 3'),
          'both byte orders: status %d, %s', got, err.decode())
    back = hostile(case, 'back',
                   TSDL + CLOCK + 'stream { event.header := struct { %s timestamp; }; };\n' % stamp + event % 'u8 n;',
                   b''.join(time.to_bytes(8, 'little') + b'\0' for time in (2400, 1000, 2370)))
    out = case.path('back.json')
    read(case, [WAYMARK, 'convert', '--to', 'chrome', '-o', out, back])
    with open(out, encoding='utf-8') as f:
        check(
            any(e.get('ts', 0) < 0 for e in json.load(f)['traceEvents']) or read(case, [WAYMARK, *VIEW, back])[0],
            'decreasing times are not converted')
    # A name without a scope refers to the nearest field, even if that name differs by a leading '_'.
    near = hostile(
        case, 'near', TSDL + event %
        'enum : u8 { L, M } _t; struct { enum : u8 { L, M } t; variant <event.fields._t> { u8 L; string M; } v; } s;',
        b'\1\0x\0')
    for form in ('ctf', 'ctf-2'):
        check(
            view(case, rewritten(case, form, near)) == view(case, near), '%s: a name refers to another field: %s', form,
            view(case, rewritten(case, form, near)))
    # Many labels that share values, in many variants.
    labels = ', '.join('l%d = %d ... %d' % (n, n % 100, 200 - n % 97) for n in range(3000))
    wide = hostile(
        case, 'wide',
        TSDL + event % ('enum : u8 { %s } s; %s' % (labels, ' '.join('variant <s> { u8 l%d; u8 l1; } v%d;' % (n + 2, n)
                                                                     for n in range(60)))),
        bytes([1]) + bytes(60))
    for form in ('ctf', 'ctf-2'):
        out = rewritten(case, form, wide)
        check(
            records_of(case, out)[0]['fields']['v0'] == records_of(case, wide)[0]['fields']['v0'],
            '%s: another option is selected', form)


def number(bits, *roles):
    return dict(
        {'type': 'fixed-length-unsigned-integer', 'length': bits, 'byte-order': 'little-endian', 'alignment': 8},
        **({'roles': list(roles)} if roles else {}))


def structure(**members):
    return {'type': 'structure', 'member-classes': [{'name': name, 'field-class': of} for name, of in members.items()]}


def save_two(path, fragments, data):
    os.makedirs(path)
    save(path, metadata=b''.join(b'\x1e' + json.dumps(fragment).encode() + b'\n' for fragment in fragments),
         stream=data)


def traces_below_one_directory_get_distinct_directories(case):
    """Several traces below one directory: output directories are not nested, and none takes the name of another."""
    tiny = corpus18.Tiny()
    for name in ('one/t1', 'two/t1', 'two/t1x', 'three/t1/stream', 'four/deep/t1'):
        os.makedirs(case.path(name))
        tiny.write(case.path(name))
    os.makedirs(case.path('five/t1/y'))
    tiny.write(case.path('five/t1/y'))
    given = [case.path(name) for name in ('one/t1', 'two', 'three', 'four', 'five')]
    out = os.path.join(case.path('met'), 't')
    os.makedirs(os.path.dirname(out))
    status, _, err = read(case, [WAYMARK, 'convert', '--to', 'ctf-2', '-o', out, *given])
    check(status == 0, 'status %d: %s', status, err.decode())
    before, after = (len(read(case, [WAYMARK, *VIEW, *paths])[1]) for paths in (given, [out]))
    check(before == after == 6 * len(tiny.ends), '%d records before and %d after the conversion', before, after)


def second_decoding(path):
    """{(event, stream): [payload of each record]} of a trace, as the second decoder reads it."""
    seen = {}
    for top, _, files in os.walk(path):
        if 'metadata' in files:
            for record in ctf2.Trace(top, errors='surrogateescape').records():
                seen.setdefault((record.name, record.file), []).append(record.fields['payload'] or {})
    return seen


@limit(300)
def recording_in_ctf_2_equals_recording_in_ctf_1(case):
    """
    A trace of `record --trace-format=ctf-2` is equal for both decoders, and has the fields of a recording in CTF 1.8.
    """
    for program in ('types', 'types_cxx', 'spans'):
        if not os.path.exists(case.program(program)):
            continue
        path = case.record([case.program(program)],
                           ['--trace-format=ctf-2', '-c', 'vpid', '-c', 'vtid', '-c', 'procname']).ok().directory
        plain = case.record([case.program(program)], ['-c', 'vpid', '-c', 'vtid', '-c', 'procname']).ok().directory
        ours, theirs, of = {}, second_decoding(path), {}
        for to, directory in ((ours, path), (of, plain)):
            for record in records_of(case, directory):
                to.setdefault((record['event'], record['stream']), []).append(record.get('fields') or {})
        check(
            len(ours) > 5 and {k: len(v) for k, v in ours.items()} == {k: len(v) for k, v in theirs.items()},
            '%s: %s and %s', program, ours.keys(), theirs.keys())
        for event, records in ours.items():
            if event[0].startswith('lttng_ust'):
                continue
            others = [list(r) for (name, _), found in of.items() for r in found if name == event[0]]
            check(all(list(r) in others for r in records), '%s: the fields differ from those in CTF 1.8: %s, %s', event,
                  [list(r) for r in records][:1], others[:1])
            for mine, other in zip(records, theirs[event]):
                check(same(other, mine, event), '%s: view shows %s, the second decoder %s', event, mine, other)
    path = case.record([case.program('types')], ['--trace-format=ctf-2', '-e', 'types:*']).ok().directory
    metadata = next(os.path.join(top, 'metadata') for top, _, files in os.walk(path) if 'metadata' in files)
    with open(metadata, encoding='utf-8') as f:
        text = f.read()
    for kind in ('fixed-length-boolean', 'fixed-length-bit-map', 'dynamic-length-blob', 'mappings',
                 'preferred-display-base'):
        check('"%s"' % kind in text, 'the metadata has no %s', kind)


def packet_with_another_uuid_is_converted_without_damage(case):
    """
    A packet with another UUID is damage of a trace in CTF 1.8, but its records are shown. The converted trace has no
    damage, with all records or some.
    """
    plain = Plain()
    plain.event('e', 'uint8_t n;')
    path = case.path('another/t')
    packets = [[(BEGIN + 100 * p + n, 0, lambda b, n=n: b.i(8, n)) for n in range(4)] for p in range(3)]
    plain.write(path, stream=[plain.packet(records, sequence=p, lie={'uuid': bytes(16)} if p != 1 else None)
                              for p, records in enumerate(packets)])
    for form in ('ctf', 'ctf-2'):
        for options, count in (((), 12), (('--filter', 'n != 1'), 9)):
            status, wanted, err = read(case, [WAYMARK, *VIEW, *options, path])
            check(status == 1 and len(wanted) == count and b'UUID' in err,
                  'view: status %d, %d records: %s', status, len(wanted), err.decode())
            status, got, err = read(case, [WAYMARK, *VIEW, rewritten(case, form, path, *options, status=1)])
            check((status, got) == (0, wanted), '%s %s: status %d, %d records: %s',
                  form, options, status, len(got), err.decode())


if __name__ == '__main__':
    main([
        conversion_to_ctf_2_and_back_keeps_all_records, independent_decoder_reads_same_records_from_ctf_2,
        selected_records_are_converted_unchanged, time_gaps_longer_than_8_bit_timestamps_are_kept,
        conversion_stops_at_damage_and_rejects_used_directories,
        fields_that_ctf_1_8_cannot_express_are_rejected_by_name, ctf_2_metadata_is_copied_unchanged,
        unusual_valid_traces_are_never_converted_wrongly, traces_below_one_directory_get_distinct_directories,
        recording_in_ctf_2_equals_recording_in_ctf_1, packet_with_another_uuid_is_converted_without_damage
    ])
