#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`waymark convert --to ctf` and `--to ctf-2`: fields with roles, event headers and streams without ids."""
import os
import re
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
import ctf2  # noqa: E402
from harness import VIEW, WAYMARK, check, main, need  # noqa: E402
from t_convert_ctf import number, rewritten, save_two, structure, view  # noqa: E402
from t_filter import records_of  # noqa: E402
from t_view import read  # noqa: E402


def packets_without_stream_id_belong_to_stream_class_0(case):
    """Packets of a trace with several stream classes have no stream id: all belong to class 0, in both versions."""
    fragments = [{'type': 'preamble', 'version': 2}, {'type': 'trace-class'},
                 {'type': 'clock-class', 'id': 'c', 'frequency': 1000000000}]
    for n in (1, 0):
        fragments += [{
            'type': 'data-stream-class', 'id': n, 'default-clock-class-id': 'c',
            'event-record-header-field-class': structure(t=number(64, 'default-clock-timestamp'))
        }, {
            'type': 'event-record-class', 'id': 0, 'data-stream-class-id': n, 'name': 'e%d' % n,
            'payload-field-class': structure(a=number(8))
        }]
    path = case.path('without')
    save_two(path, fragments, b''.join(struct.pack('<QB', 1000 + n, n) for n in range(3)))
    before = records_of(case, path)
    check([(r['event'], r['fields']['a']) for r in before] == [('e0', 0), ('e0', 1), ('e0', 2)], 'the records are %s',
          before)
    for form in ('ctf', 'ctf-2'):
        again = records_of(case, rewritten(case, form, path))
        check([(r['event'], r['time'], r['fields']) for r in again] == [(r['event'], r['time'], r['fields'])
                                                                        for r in before], '%s: %s', form, again)


CLASS, STREAM, TOTAL, CONTENT = 'data-stream-class-id', 'data-stream-id', 'packet-total-length', 'packet-content-length'

FROM, TO = 'default-clock-timestamp', 'packet-end-default-clock-timestamp'
SEQUENCE, LOST = 'packet-sequence-number', 'discarded-event-record-counter-snapshot'

# The records of with_roles(): (event, time). The id of an event equals the last bits of its time.
OF_ROLES = [('e%d' % (1000 + n % 2 * 1000), start + 1000 + n % 2 * 1000)
            for n, start in enumerate(part << 16 for part in (0, 0, 1, 1, 4, 4, 5, 5))]


def with_roles(path, *context, header=(CLASS, STREAM), labels=False):
    """
    Write a trace of two packets with four records each. The field of the packet header is 5. The fields of the packet
    context have the roles in `context`; their values are the size, the begin, and a counter (0, then 2).
    """
    fragments = [{'type': 'preamble', 'version': 2}, {
        'type': 'trace-class', 'packet-header-field-class': structure(h=number(32, *header))
    }, {'type': 'clock-class', 'id': 'c', 'frequency': 1000000000, 'origin': 'unix-epoch'}, {
        'type': 'data-stream-class', 'id': 5, 'default-clock-class-id': 'c',
        'event-record-header-field-class': structure(
            x=dict(number(16, 'event-record-class-id', FROM), mappings={'low': [[0, 1500]]})),
        'packet-context-field-class': structure(
            **{
                'f%d' % n: dict(number(64, *roles), **({'mappings': {'small': [[0, 9]]}} if labels else {}))
                for n, roles in enumerate(context)
            })
    }]
    for event, bits in ((1000, 4), (2000, 8)):
        fragments.append({'type': 'event-record-class', 'id': event, 'data-stream-class-id': 5, 'name': 'e%d' % event,
                          'payload-field-class': structure(a=dict(number(bits), alignment=1))})
    save_two(
        path, fragments, b''.join(
            struct.pack('<IQQQ', 5, 8 * (28 + 4 * 3), start, counter) + b''.join(
                struct.pack('<HB', time & 0xffff, first + n) for n, (_, time) in enumerate(OF_ROLES[first:first + 4]))
            for first, start, counter in ((0, 0, 0), (4, 1 << 18, 2))))
    return path


def several_roles_of_a_field_are_kept_in_ctf_2(case):
    """All roles of a field count, and CTF 2 keeps them. Roles that CTF 1.8 cannot express are reported or rejected."""
    def seen(where):
        times = [r['time'].split('.') for r in records_of(case, where)]
        got = [(r['event'], int(s) * 10**9 + int(ns), r['fields']['a'])
               for r, (s, ns) in zip(records_of(case, where), times)]
        check(got == [(*wanted, n) for n, wanted in enumerate(OF_ROLES)], '%s has %s', where, got)

    path = with_roles(os.path.join(case.path('roles'), 't'), (TOTAL, CONTENT), (FROM, TO), (SEQUENCE, LOST))
    two, old = rewritten(case, 'ctf-2', path), rewritten(case, 'ctf', path)
    for where in (path, two, old):
        seen(where)
    said = read(case, [WAYMARK, *VIEW, path])[2]
    check(b'2 events' in said and b'1 packet' in said, 'the value of the counter is not reported: %s', said.decode())
    check(view(case, two) == view(case, path), 'the CTF 2 trace differs')
    for where in (path, two):
        records, seen = list(ctf2.Trace(where).records()), [p.roles for p in ctf2.Trace(where).packets()]
        check([(r.name, r.time) for r in records] == OF_ROLES, 'the second decoder reads the records %s', records)
        check(
            seen == [{CLASS: 5, STREAM: 5, TOTAL: 320, CONTENT: 320, FROM: start, TO: start, SEQUENCE: n, LOST: n}
                     for start, n in ((0, 0), (1 << 18, 2))], 'the second decoder reads the packets %s', seen)
    # CTF 1.8 expresses one of the counter's two roles, and both roles of the size and of the id.
    said = read(case, [WAYMARK, *VIEW, old])[2]
    check(b'2 events' in said and b'1 packet' not in said, 'wrong warnings in CTF 1.8: %s', said.decode())
    _, _, err = read(case, [WAYMARK, 'convert', '--to', 'ctf', '-o', old + 'x', path])
    check(b'more than one role of a field' in err, 'the loss of roles is not reported: %s', err.decode())
    sizes = with_roles(os.path.join(case.path('sizes'), 't'), (TOTAL, CONTENT), (FROM,), (LOST,), header=(CLASS,))
    _, _, err = read(case, [WAYMARK, 'convert', '--to', 'ctf', '-o', sizes + 'x', sizes])
    check(b'more than one role' not in err and view(case, rewritten(case, 'ctf', sizes)) == view(case, sizes),
          'sizes and ids in CTF 1.8 differ: %s', err.decode())
    labels = with_roles(os.path.join(case.path('labels'), 't'), (TOTAL, CONTENT), (FROM, ), (LOST, ), header=(CLASS, ),
                        labels=True)
    check(
        view(case, rewritten(case, 'ctf', labels)) == view(case, labels),
        'enumerations with several roles differ in CTF 1.8')
    try:
        need('babeltrace2')
    except Exception:
        return
    status, lines, err = read(case, ['babeltrace2', '--clock-cycles', old])
    got = [(re.search(rb'e\d000', line).group().decode(), int(re.match(rb'\[(\d+)\]', line).group(1)))
           for line in lines]
    check(status == 0 and got == OF_ROLES, 'babeltrace2 shows %s: %s', got, err.decode())


def field_with_contradictory_roles_is_rejected_by_name(case):
    """A field is rejected by name if its roles require different values."""
    def refuses(form, words, *context, options=(), **more):
        case.number = getattr(case, 'number', 0) + 1
        path = with_roles(case.path('odds%d' % case.number), *context, **more)
        status, _, err = read(case, [WAYMARK, 'convert', '--to', form, '-o', path + 'x', *options, path])
        check(status == 1 and words in err, '%s in %s: status %d: %s', context, form, status, err.decode())

    refuses('ctf', b"'f0': it has several roles, but its name can express only one", (TOTAL, FROM), (CONTENT,), (LOST,))
    refuses('ctf', b"'f2': it has several roles, but its name can express only one", (TOTAL,), (SEQUENCE,),
            (LOST, SEQUENCE))
    refuses('ctf', b"'h': it has several roles, but its name can express only one", (TOTAL, ), (FROM, ), (LOST, ),
            header=('packet-magic-number', CLASS))
    # The filter leaves out the records between two that are 2^16 ticks apart. Event headers have 16 bits of time, so a
    # packet is added.
    some, joint = ('-F', 'a == 1 || a == 3'), (TOTAL, CONTENT)
    for form in ('ctf', 'ctf-2'):
        refuses(form, b"'f1' cannot be changed: its roles require two different values, 0 and 2000", joint, (FROM, TO),
                (SEQUENCE, ), options=some)
        refuses(form, b"'f2' cannot be changed: its roles require two different values, 0 and 1", joint, (FROM, ),
                (SEQUENCE, LOST), options=some)
        if form == 'ctf-2':
            refuses(form, b"'f2' cannot be changed: another field has the same role", joint, (FROM, SEQUENCE),
                    (SEQUENCE, ), options=some)
        refuses(form, b"'f0' cannot be changed: its roles require two different values, 248 and 244", joint, (FROM, ),
                (LOST, ), options=('-F', 'a == 0'))
        path = with_roles(os.path.join(case.path('even' + form), 't'), joint, (FROM,), (SEQUENCE,), header=(CLASS,))
        check(view(case, rewritten(case, form, path, *some)) == view(case, path, *some), '%s: the records differ', form)


def each_time_in_an_event_header_advances_the_clock(case):
    """
    An event header may have several times, also variable-length ones. Each advances the clock by the bits that it has.
    """
    def variable():
        return {'type': 'variable-length-unsigned-integer', 'roles': [FROM]}

    def leb(value, size):
        return bytes((value >> 7 * n & 0x7f) | (0x80 if n + 1 < size else 0) for n in range(size))

    for name, header, records in (('two', {'t': number(64, FROM), 'lo': number(16, FROM)}, [
            struct.pack('<QHB', t, lo, n) for n, (t, lo) in enumerate(((0x1234fff0, 5), (0x12350010, 0x20)))
    ]), ('leb', {'t': variable()}, [
            leb(t, size) + bytes([n])
            for n, (t, size) in enumerate(((100, 1), (20, 1), (30, 1), (1000, 2), (5000, 10), (6000, 9)))
    ]), ('both', {'t': variable(), 'lo': number(8, FROM)},
         [leb(t, 2) + bytes([lo, n]) for n, (t, lo) in enumerate(((300, 3), (290, 250), (10, 1)))])):
        fragments = [{'type': 'preamble', 'version': 2}, {'type': 'trace-class'},
                     {'type': 'clock-class', 'id': 'c', 'frequency': 1000000000, 'origin': 'unix-epoch'}, {
                         'type': 'data-stream-class', 'default-clock-class-id': 'c',
                         'event-record-header-field-class': structure(**header)
                     }, {'type': 'event-record-class', 'name': 'e', 'payload-field-class': structure(a=number(8))}]
        path = os.path.join(case.path('times_' + name), 't')
        save_two(path, fragments, b''.join(records))
        wanted = [r.time for r in ctf2.Trace(path).records()]
        for where in (path, rewritten(case, 'ctf-2', path)):
            got = [int(r['time'].replace('.', '')) for r in records_of(case, where)]
            check(got == wanted and len(got) == len(records), '%s: %s has times %s, not %s', name, where, got, wanted)


if __name__ == '__main__':
    main([
        packets_without_stream_id_belong_to_stream_class_0, several_roles_of_a_field_are_kept_in_ctf_2,
        field_with_contradictory_roles_is_rejected_by_name, each_time_in_an_event_header_advances_the_clock
    ])
