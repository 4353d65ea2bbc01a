# SPDX-License-Identifier: MIT
"""Tests perfetto.py: encodes valid and invalid traces by hand, and reads them."""
import re
import struct
import sys
import tempfile

from harness import Skip, need
from perfetto import REALTIME, decode, events, tracks
from traces import Failure, check

def varint(n):
    n &= (1 << 64) - 1
    data = bytearray()
    while n > 127:
        data.append(n & 127 | 128)
        n >>= 7
    return bytes(data) + bytes([n])


def message(*fields):
    """
    A message of (number, value): an int is a varint, a float a double; texts, bytes and messages are length-delimited.
    """
    data = b''
    for number, value in fields:
        if isinstance(value, float):
            data += varint(number << 3 | 1) + struct.pack('<d', value)
        elif isinstance(value, int):
            data += varint(number << 3) + varint(value)
        else:
            value = value.encode() if isinstance(value, str) else value
            data += varint(number << 3 | 2) + varint(len(value)) + value
    return data


# 2027-01-15 08:00:00 UTC
T0 = 1800000000 * 10**9
TEXT = 'ä"\'\\\n\t\x01 1\u20ac'


def trace(*packets):
    return message(*[(1, p) for p in packets])


def snapshot(primary=REALTIME, *clocks):
    return message((6, message(*[(1, message((1, n), (2, t))) for n, t in clocks or [(REALTIME, T0)]], (2, primary))),
                   (10, 7))


def process(uuid, pid, name):
    return message((10, 7), (60, message((1, uuid), (3, message((1, pid), (6, name))))))


def thread(uuid, parent, name, *ids):
    return message((10, 7), (60, message((1, uuid), (5, parent), (4, message(*ids, (5, name))))))


def event(time, kind, uuid, *fields, sequence=7, more=()):
    return message((8, time), (10, sequence), (11, message((9, kind), (11, uuid), *fields)), (58, REALTIME), *more)


def annotation(name, *value):
    return (4, message((10, name), *value))


START = (snapshot(), process(1, 4711, 'server'), thread(2, 1, 'worker', (1, 4711), (2, 4712)))
COUNTER = message((10, 7), (60, message((1, 3), (5, 1), (2, 'queue'), (8, b''))))


def self_test():
    need('protoc')
    done = []

    def packets(data):
        with tempfile.NamedTemporaryFile() as f:
            f.write(data)
            f.flush()
            return decode(f.name)

    def expect(got, wanted):
        check(repr(got) == repr(wanted), 'read %r, not %r', got, wanted)
        done.append(wanted)

    def wrong(words, *packs, data=None):
        try:
            got = events(packets(trace(*packs) if data is None else data))
        except Failure as failure:
            check(re.search(words, str(failure)), 'a mistake was found, but as "%s", not "%s"', failure, words)
            done.append(words)
            return
        raise Failure('the mistake "%s" was not found: %s' % (words, got))

    nan, inf = float('nan'), float('inf')
    leaf = message((1, 2), (4, message((5, -3))), (4, message((1, 1), (2, 'k'), (3, message((8, 'v'))))))
    values = (annotation('yes', (2, 1)), annotation('big', (3, (1 << 64) - 1)), annotation('low', (4, -(1 << 63))),
              annotation('half', (5, -0.5)), annotation('inf',
                                                        (5, inf)), annotation('minf',
                                                                              (5, -inf)), annotation('nan', (5, nan)),
              annotation('text', (6, TEXT)), annotation('at', (7, 0xffff8000deadbeef)), annotation('none', (6, '')),
              annotation('dict', (11, message((10, 'a'), (4, -1))),
                         (11, message((10, 'b'), (11, message((10, 'c'), (6, '}')))))),
              annotation('list', (12, message((4, 1))), (12, message((12, message(
                  (6, ' {')))))), annotation('old', (8, leaf)), annotation('empty', (8, message(
                      (1, 1)))), annotation('json', (9, '{"x": [1]}')))
    good = packets(
        trace(
            *START, COUNTER, event(T0 + 1, 1, 2, (22, 'waymark'), (22, 'net'), (23, 'request'), *values),
            event(T0 + 1, 3, 2, (23, TEXT)), event(T0 + 2, 4, 3, (30, -5)), event(T0 + 3, 2, 2),
            event(T0 + 4, 4, 3, (44, 1e300)),
            message((10, 8), (13, 3), (87, 1),
                    (12,
                     message((1, message((1, 1), (2, 'cat'))), (2, message((1, 9), (2, 'interned'))),
                             (3, message((1, 4), (2, 'key'))), (29, message(
                                 (1, 5), (2, 'value'))))), (59, message((11, message((11, 1))), (58, 64)))),
            snapshot(REALTIME, (REALTIME, T0 + 10**9), (3, 5000)),
            message((10, 8),
                    (6, message((1, message((1, 64), (2, 70), (4, 1000))), (1, message((1, REALTIME),
                                                                                       (2, T0 + 5000)))))),
            message((8, 71), (10, 8), (13, 2), (11, message((9, 3), (10, 9), (3, 1), (4, message((1, 4), (17, 5)))))),
            event(T0 + 10**9 + 7, 3, 2, (23, 'late')),
            message((8, 5008), (10, 7), (58, 3), (11, message((9, 3), (11, 2), (23, 'other clock'))))))
    expect(good[1], {'trusted_packet_sequence_id': 7,
                     'track_descriptor': {'uuid': 1, 'process': {'pid': 4711, 'process_name': 'server'}}})
    expect(good[6]['track_event'], {'type': 'TYPE_COUNTER', 'track_uuid': 3, 'counter_value': -5})
    found = events(good)
    keys = ('time', 'type', 'name', 'categories', 'pid', 'tid', 'process_name', 'thread_name', 'track', 'value')
    expect([tuple(e[k] for k in keys) for e in found], [
        (T0 + 1, 'begin', 'request', ['waymark', 'net'], 4711, 4712, 'server', 'worker', 'worker', None),
        (T0 + 1, 'instant', TEXT, [], 4711, 4712, 'server', 'worker', 'worker', None),
        (T0 + 2, 'counter', None, [], 4711, None, 'server', None, 'queue', -5),
        (T0 + 3, 'end', None, [], 4711, 4712, 'server', 'worker', 'worker', None),
        (T0 + 4, 'counter', None, [], 4711, None, 'server', None, 'queue', 1e300),
        (T0 + 6000, 'instant', 'interned', ['cat'], 4711, None, 'server', None, 'server', None),
        (T0 + 10**9 + 7, 'instant', 'late', [], 4711, 4712, 'server', 'worker', 'worker', None),
        (T0 + 10**9 + 8, 'instant', 'other clock', [], 4711, 4712, 'server', 'worker', 'worker', None)])
    expect(
        found[0]['args'], {
            'yes': True, 'big': (1 << 64) - 1, 'low': -(1 << 63), 'half': -0.5, 'inf': inf, 'minf': -inf, 'nan': nan,
            'text': TEXT, 'at': 0xffff8000deadbeef, 'none': '', 'dict': {'a': -1, 'b': {'c': '}'}}, 'list': [1, [' {']],
            'old': [-3, {'k': 'v'}], 'empty': {}, 'json': {'x': [1]}
        })
    expect(found[5]['args'], {'key': 'value'})
    expect(tracks(good)[3], {'pid': 4711, 'tid': None, 'process_name': 'server', 'thread_name': None, 'track': 'queue'})
    expect(events(packets(b'')), [])
    nameless = message((10, 7), (60, message((1, 1), (3, message((1, 4711))))))
    expect(tracks(packets(trace(START[0], nameless, *START[1:])))[2]['process_name'], 'server')
    wrong('declared again with another process', *START, process(1, 4711, 'other'))
    expect(len(events(packets(trace(*START, event(T0, 2, 2))), lossy=True)), 1)

    named = (23, 'n')
    wrong('track 9 is used and has not been declared', *START, event(T0, 3, 9, named))
    wrong('track 2 is used and has not been declared', START[0], event(T0, 3, 2, named), *START[1:])
    wrong('has the parent 1, which', START[0], START[2], event(T0, 3, 2, named))
    wrong('has the parent 8, which', START[0], thread(2, 8, 'unused', (1, 1), (2, 1)))
    wrong('its own ancestor', *[message((60, message((1, n), (5, 9 - n)))) for n in (4, 5)])
    wrong('that of a thread and has no tid', *START[:2], thread(2, 1, 'x', (1, 4711)))
    wrong('that of a thread and has no pid', *START[:2], thread(2, 1, 'x', (2, 4711)))
    wrong('of process 5, its parent of 4711', *START[:2], thread(2, 1, 'x', (1, 5), (2, 6)))
    wrong('declared again with another thread', *START, thread(2, 1, 'x', (1, 4711), (2, 6)))
    wrong('a track has no uuid', message((60, message((2, 'x')))))
    wrong('process and thread at once',
          message((60, message((1, 1), (3, message((1, 1))), (4, message((1, 1), (2, 1)))))))
    wrong('counter and has no name', *START, message((60, message((1, 3), (8, b'')))))
    wrong('sequence of a packet is 0', *START, event(T0, 3, 2, named, sequence=0))
    wrong('belongs to no sequence', *START, message((8, T0), (58, 1), (11, message((9, 3), (11, 2), named))))
    wrong('the time goes back', *START, event(T0 + 1, 3, 2, named), event(T0, 3, 2, named))
    wrong('has no time', *START, message((10, 7), (11, message((9, 3), (11, 2), named))))
    wrong('time is out of range', *START, event(1 << 63, 3, 2, named))
    wrong('no clock snapshot leads from clock 1 to the clock of the trace, 6', *START[1:], event(T0, 3, 2, named))
    wrong('after times were used', *START, event(T0, 3, 2, named), snapshot(3, (3, 1), (1, T0)))
    wrong('does not read it', snapshot(3, (1, T0)))
    wrong('has no type', *START, message((8, T0), (10, 7), (11, message((11, 2), named))))
    wrong('field 9 of TrackEvent is unknown: 9: 5', *START, event(T0, 5, 2, named))
    wrong('field 99 of TracePacket is unknown: 99: 1', *START, event(T0, 3, 2, named, more=[(99, 1)]))
    wrong('field 98 of TrackEvent is unknown', *START, event(T0, 3, 2, named, (98, message((1, 2)))))
    wrong('field 2 of Trace is unknown', data=trace(*START) + message((2, 'x')))
    wrong('protoc cannot read', data=trace(*START)[:-1])
    wrong('not valid UTF-8', *START, event(T0, 3, 2, (23, b'caf\xe9')))
    wrong('names no track', *START, message((8, T0), (10, 7), (58, 1), (11, message((9, 3), named))))
    wrong('has no name', *START, event(T0, 3, 2))
    wrong('two names', *START, event(T0, 3, 2, named, (10, 1)))
    wrong('instant event on track 3, which is that of a counter', *START, COUNTER, event(T0, 3, 3, named))
    wrong('counter event on track 2, which is that of no counter', *START, event(T0, 4, 2, (30, 1)))
    wrong('with 0 counter values', *START, COUNTER, event(T0, 4, 3))
    wrong('with 2 counter values', *START, COUNTER, event(T0, 4, 3, (30, 1), (44, 1.0)))
    wrong('an end at \\d+ closes nothing', *START, event(T0, 2, 2))
    wrong('the end of m at \\d+, while n is open', *START, event(T0, 1, 2, named), event(T0, 2, 2, (23, 'm')))
    wrong('before it began', *START, event(T0 + 1, 1, 2, named), event(T0, 2, 2, sequence=8))
    wrong('relies on earlier packets', *START, event(T0, 3, 2, (10, 1)))
    wrong('needs state that nobody has begun', *START, event(T0, 3, 2, named, more=[(13, 2)]))
    wrong('no entry 1 in event_names', *START, event(T0, 3, 2, (10, 1), more=[(13, 3)]))
    wrong('a packet of no sequence has sequence_flags', message((13, 1), (60, message((1, 1)))))
    wrong('an annotation has no name', *START, event(T0, 3, 2, named, (4, message((4, 1)))))
    wrong('two annotations are called a_b', *START,
          event(T0, 3, 2, named, annotation('a.b', (4, 1)), annotation('a_b', (4, 1))))
    wrong('two values', *START, event(T0, 3, 2, named, annotation('a', (4, 1), (3, 1))))
    wrong('element of an array has a name', *START,
          event(T0, 3, 2, named, annotation('a', (12, message((10, 'x'), (4, 1))))))
    wrong('can only hold one', *START, message((60, message((1, 5))), (11, message((9, 3)))))
    return len(done)


if __name__ == '__main__':
    try:
        print('ok: %d checks' % self_test())
    except Skip as reason:
        print('skipped: %s' % reason)
    except Failure as failure:
        sys.exit('not ok: %s' % failure)
