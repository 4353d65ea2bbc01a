#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
The indexes that `waymark convert --to ctf` and `--to ctf-2` write beside stream files: they describe every packet
correctly, readers use them, and they are absent where they cannot be correct.
"""
import filecmp
import os
import resource
import shutil
import signal
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
import ctf2  # noqa: E402
from ctf18 import BEGIN, CLOCK, Plain, save  # noqa: E402
from harness import VIEW, WAYMARK, check, finished, limit, main, need, rounds  # noqa: E402
from t_filter import records_of  # noqa: E402
from t_import import SAMPLES, imported  # noqa: E402
from t_convert_ctf import rewritten, sampled_corpus_and_recordings  # noqa: E402
from t_view import recording_of_many_packets, part, read, seconds  # noqa: E402

UNKNOWN = (1 << 64) - 1
# LTTng's index format, version 1.1.
HEAD, ENTRY = struct.Struct('>4I'), struct.Struct('>9Q')
# The packet header of our own traces (docs/trace-format.md); an index entry has the same values.
OWN = struct.Struct('<I16sIQ5QIIQ')
# A type of times that is not mapped to a clock.
STAMPS = 'typealias integer { size = 64; align = 8; signed = false; } := stamp_t;\n'


def entries_of(path):
    """Entries of an index file: tuples of offset, size, content, begin, end, lost, stream class, instance, sequence."""
    with open(path, 'rb') as f:
        data = f.read()
    check(HEAD.unpack_from(data) == (0xC1F1DCC1, 1, 1, ENTRY.size), '%s: wrong header %s', path, data[:16].hex())
    check((len(data) - HEAD.size) % ENTRY.size == 0, '%s: size of %d bytes is not a whole number of entries', path,
          len(data))
    return list(ENTRY.iter_unpack(data[HEAD.size:]))


def indexes_of(path):
    """
    {stream file: index file or None} of all traces at and below `path`. Fails if an index folder holds anything else.
    """
    found = {}
    for top, folders, files in os.walk(path):
        if 'metadata' not in files:
            continue
        folder = os.path.join(top, 'index')
        left = set(os.listdir(folder)) if 'index' in folders else set()
        check('index' not in folders or left, '%s is empty', folder)
        for name in files:
            if name != 'metadata' and name[0] != '.':
                found[os.path.join(top, name)] = os.path.join(folder, name + '.idx') if name + '.idx' in left else None
                left.discard(name + '.idx')
        check(not left, '%s holds other files: %s', folder, left)
    return found


def packets_of(directory):
    """
    {stream file: [entry]} as the second decoder, written from the specification, reads the packets. The entry of a
    packet that lacks a value is False.
    """
    found = {}
    for packet in ctf2.Trace(directory, errors='surrogateescape').packets():
        can = None not in (packet.begin, packet.end) and 'packet-total-length' in packet.roles
        found.setdefault(os.path.join(directory, packet.file), []).append(
            can and tuple(number & UNKNOWN
                          for number in (packet.offset, packet.total, packet.content, packet.begin, packet.end,
                                         packet.roles.get('discarded-event-record-counter-snapshot', 0),
                                         packet.stream_class, UNKNOWN if packet.stream_id is None else packet.stream_id,
                                         packet.roles.get('packet-sequence-number', UNKNOWN))))
    return found


def rise(entries):
    return all(a[3] <= b[3] and a[4] <= b[4] for a, b in zip(entries, entries[1:]))


def true_indexes(two):
    """
    Compare the indexes of a trace in CTF 2 with its packets. Returns the number of entries. A stream may lack an index
    only if a packet lacks a value or times decrease.
    """
    n, indexes = 0, indexes_of(two)
    for directory in {os.path.dirname(stream) for stream in indexes}:
        try:
            packets = packets_of(directory)
        except ctf2.Failure as failure:
            check('ends at' in str(failure), '%s: %s', directory, failure)   # a killed tracer writes the end 0
            continue
        for stream, wanted in packets.items():
            if indexes[stream] is None:
                check(not all(wanted) or not rise(wanted) or not all(entry[4] for entry in wanted), '%s has no index',
                      stream)
                continue
            got = entries_of(indexes[stream])
            check(got == wanted, '%s: the index has %s, the packets have %s', stream, got[:3], wanted[:3])
            check(
                sum(entry[1] for entry in got) == 8 * os.path.getsize(stream),
                '%s: the index does not cover the file', stream)
            n += len(got)
    return n


def same_files(one, two):
    """Both versions have the same packets, and so the same indexes."""
    for top, _, files in os.walk(one):
        for name in files:
            file = os.path.join(top, name)
            check(name == 'metadata' or filecmp.cmp(file, os.path.join(two, os.path.relpath(file, one)), shallow=False),
                  '%s differs in CTF 2', file)
    check(len(indexes_of(one)) == len(indexes_of(two)), 'different numbers of streams: %s, %s', one, two)


@limit(300)
def packet_index_of_each_converted_trace_is_correct(case):
    n = 0
    for _, path in sampled_corpus_and_recordings(case):
        two = rewritten(case, 'ctf-2', path)
        same_files(rewritten(case, 'ctf', path), two)
        n += true_indexes(two)
    check(n > 40, 'only %d entries', n)


def own_entry(stream, entry):
    """The index entry of one of our own packets, parsed here without a reader."""
    with open(stream, 'rb') as f:
        f.seek(entry[0])
        magic, _, stream_id, instance, begin, end, content, size, sequence, _, _, lost = OWN.unpack(f.read(OWN.size))
    check(magic == 0xC1FC1FC1, '%s: no packet at byte %d', stream, entry[0])
    return (entry[0], size, content, begin, end, lost, stream_id, instance, sequence)


@limit(300)
def packet_index_of_selected_records_is_correct(case):
    """All records, a filter, a range of time, and two traces at once."""
    path, _, _, times = recording_of_many_packets(case)
    middle = ('--begin', seconds(times[len(times) // 3]), '--end', seconds(times[len(times) // 2]))
    other = case.record([case.program('types')]).ok().directory
    for options in ((), ('-F', 'seq % 7 == 3'), ('-F', '$event == "none"'), middle, (other, ), (*middle, '-F',
                                                                                                'seq > 3', other)):
        two, one = rewritten(case, 'ctf-2', path, *options), rewritten(case, 'ctf', path, *options)
        same_files(one, two)
        indexes = indexes_of(one)
        check(indexes and None not in indexes.values() and true_indexes(two) > len(indexes), '%s: %s', options, indexes)
        for stream, index in indexes.items():
            for entry in entries_of(index):
                check(
                    own_entry(stream, entry) == entry, '%s: %s, but its packet has %s', index, entry,
                    own_entry(stream, entry))


def packet_index_of_split_packets_is_correct(case):
    """Where left-out records split a packet, each part has an index entry with its own begin and sequence number."""
    plain = Plain(clock=Plain().clock +
                  'typealias integer { size = 8; align = 8; map = clock.test.value; } := tiny_t;\n')
    plain.event('e', 'uint32_t n;')
    metadata = plain.text().replace('struct { uint16_t id; stamp_t timestamp; }',
                                    'struct { uint16_t id; tiny_t timestamp; }')

    def fields(bits, number, of):
        bits.i(16, 0).i(8, (BEGIN + 100 * of) & 255).i(32, of)
    data = b''
    for number in range(4):
        numbers = range(50 * number, 50 * number + 50)
        packet = plain.packet([(BEGIN + 100 * n, 0, None) for n in numbers], sequence=number)
        head, body = bytearray(packet.bytes[:Plain.HEAD]), b''.join(
            struct.pack('<HBI', 0, (BEGIN + 100 * n) & 255, n) for n in numbers)
        head[40:48] = head[48:56] = (8 * (Plain.HEAD + len(body))).to_bytes(8, 'little')
        data += bytes(head) + body
    path = case.path('tiny/t')
    save(path, metadata=metadata, stream=data)
    check(
        len(records_of(case, path)) == 200, 'the source trace is wrong: %s',
        read(case, [WAYMARK, *VIEW, path])[2].decode())
    for options, n in (((), 4), (('-F', 'n % 40 == 39'), 5)):
        out = rewritten(case, 'ctf-2', path, *options)
        same_files(rewritten(case, 'ctf', path, *options), out)
        check(true_indexes(out) == n, '%s: %d packets', options, true_indexes(out))
        check([entry[8] for entry in entries_of(out + '/index/stream.idx')] == list(range(n)),
              '%s: wrong sequence numbers', options)
    save(path, metadata=metadata.replace('stamp_t timestamp_end', 'uint64_t end'), stream=data)
    out = rewritten(case, 'ctf', path, '-F', 'n % 40 == 39')
    check(
        len(records_of(case, out)) == 5 and set(indexes_of(out).values()) == {None},
        'a stream without ends of packets has an index')


@limit(300)
def readers_use_the_packet_index(case):
    """
    A range of time has the same records with and without the index. A wrong index is noticed, so the reader uses it.
    babeltrace2 takes the positions of packets from it.
    """
    path, _, _, times = recording_of_many_packets(case)
    for form in ('ctf', 'ctf-2'):
        out = rewritten(case, form, path)
        bare = out + '-bare'
        shutil.copytree(out, bare, ignore=shutil.ignore_patterns('index'))
        check(None not in indexes_of(out).values() and set(indexes_of(bare).values()) == {None}, 'indexes of %s', out)
        for _ in range(max(5, rounds(30))):
            begin, end = sorted(case.random.sample(times, 2))
            some = [part(case, of, '--begin', seconds(begin), '--end', seconds(end)) for of in (out, bare)]
            check(some[0] == some[1]
                  and some[0][0] == 0 and some[0][1], '%s: %d records with the index, %d without: %s', form,
                  len(some[0][1]), len(some[1][1]), some[0][2].decode())
        if form == 'ctf':
            babeltrace2_uses(case, out, bare)
        for index in indexes_of(out).values():
            entries = entries_of(index)
            with open(index, 'r+b') as f:
                f.seek(HEAD.size)
                f.write(b''.join(
                    ENTRY.pack(entry[0] + (8 if n > 1 else 0), *entry[1:]) for n, entry in enumerate(entries)))
        status, _, err = part(case, out, '--begin', seconds(times[len(times) // 2]))
        check(status == 1 and b'refers to byte' in err, 'the reader does not use the index: status %d, %s', status,
              err.decode())


def babeltrace2_uses(case, out, bare):
    try:
        need('babeltrace2')
    except Exception:                                   # our own reader suffices
        return
    said = [read(case, ['babeltrace2', '--log-level=INFO', of]) for of in (out, bare)]
    check(said[0][:2] == said[1][:2] and said[0][0] == 0 and len(said[0][1]) > 6000, 'babeltrace2: status %d and %d',
          said[0][0], said[1][0])
    check(
        b'falling back' in said[1][2] and b'falling back' not in said[0][2]
        and b'Building index from .idx' in said[0][2], 'babeltrace2 does not use the index')
    status, _, err = read(case, ['babeltrace2', out])
    check(status == 0 and not err, 'babeltrace2 warns: %s', err.decode())


def packet_index_is_omitted_where_it_cannot_be_correct(case):
    """
    A stream has no index if its index file cannot have a name, if its times decrease or belong to neither of two
    clocks, or if its packets lack sizes, begins or ends. All records are converted.
    """
    plain, records = Plain(streams=2), [(BEGIN + 10 * n, 0, None) for n in range(3)]
    plain.event('e', '')
    plain.event('f', '', stream=1)
    later = [(BEGIN + 1000 + 10 * n, 0, None) for n in range(3)]
    good = [plain.packet(records), plain.packet(later, sequence=1)]
    long_name = 'n' * 252
    for number, (files, with_index) in enumerate((
            ({'a': good, 'b': good[:1]}, {'a', 'b'}),
            ({'a': good, 'index': good}, set()),
            ({'a': good, long_name[:251]: good, long_name: good}, {'a', long_name[:251]}),
            ({'a': good, 'open': [plain.packet(records, lie={'end': 0}), good[1]]}, {'a'}),
            ({'a': good, 'zero': [plain.packet(records, lie={'begin': 0, 'end': 0}), good[1]]}, {'a'}),
            ({'a': good, 'backwards': [plain.packet(records, lie={'end': BEGIN + 2000}), good[1]]}, {'a'}))):
        path = case.path('odd%d/t' % number)
        plain.write(path, **files)
        lines = read(case, [WAYMARK, *VIEW, path])[1]
        for form in ('ctf', 'ctf-2'):
            out = rewritten(case, form, path, status=read(case, [WAYMARK, *VIEW, path])[0])
            check(
                read(case, [WAYMARK, *VIEW, out])[1] == lines and len(lines) > 5, '%s: the records differ',
                sorted(files))
            check({os.path.basename(s) for s, i in indexes_of(out).items() if i} == with_index, '%s: wrong indexes %s',
                  sorted(files), indexes_of(out))
    for old, new in (('uint64_t packet_size', 'uint64_t size'), ('stamp_t timestamp_end', 'uint64_t end'),
                     ('stamp_t timestamp_begin',
                      'uint64_t begin'), (CLOCK, 'clock { name = one; };\nclock { name = two; };\n' + STAMPS)):
        path = case.path('without %s/t' % new.split()[1])
        save(path, metadata=plain.text().replace(old, new, 1), a=good[0].bytes)
        check(len(records_of(case, path)) == 3, 'without %s the source trace is wrong', old)
        check(
            set(indexes_of(rewritten(case, 'ctf', path)).values()) == {None}, 'the trace without %s has an index', old)


def trace_without_clock_gets_an_index(case):
    """
    Times of a trace without a clock count as nanoseconds: its index equals that of the same trace with a clock of 1
    GHz.
    """
    plain = Plain()
    plain.event('e', '')
    records = [[(BEGIN + 1000 * p + 10 * n, 0, None) for n in range(3)] for p in range(2)]
    packets = b''.join(plain.packet(of, sequence=p).bytes for p, of in enumerate(records))
    for form in ('ctf', 'ctf-2'):
        entries = []
        for name, clock in (('with', CLOCK), ('without', STAMPS)):
            path = case.path('%s %s/t' % (form, name))
            save(path, metadata=plain.text().replace(CLOCK, clock, 1), a=packets)
            out = rewritten(case, form, path)
            index, = indexes_of(out).values()
            check(index, '%s: no index %s a clock', form, name)
            entries.append(entries_of(index))
            check(records_of(case, out) == records_of(case, path), '%s: the records %s a clock differ', form, name)
        check(entries[0] == entries[1] and len(entries[0]) == 2, '%s: the entries differ: %s', form, entries)


SMALL = '''/* CTF 1.8 */
clock { name = c; freq = 1000000000; };
typealias integer { size = 32; align = 8; map = clock.c.value; } := stamp_t;
trace { major = 1; minor = 8; byte_order = le; };
stream { packet.context := struct { stamp_t timestamp_begin; stamp_t timestamp_end;
	integer { size = 32; align = 8; } packet_size; }; };
event { name = "e"; fields := struct { integer { size = 8; align = 8; } n; }; };
'''


def small_packets(case, name, n):
    """A stream that is smaller than its index: 13 bytes for each packet, against 72."""
    path = case.path(name + '/t')
    save(path, metadata=SMALL, stream=b''.join(struct.pack('<IIIB', i + 1, i + 1, 104, i & 255) for i in range(n)))
    return path


def check_nothing_left(out, words):
    left = [
        name for _, folders, files in os.walk(out) for name in folders + files
        if name not in ('metadata', 'stream', 'other')
    ]
    check(not left, '%s: other files are left: %s', words, left)


def write_error_leaves_no_index(case):
    """
    The limit of file sizes stops the index early, late or at its end, or stops the stream. The error names its cause,
    and no index is left.
    """
    path = small_packets(case, 'small', 3000)           # 39 kB, with an index of 216 kB
    for room, of in ((1 << 30, None), (200000, 'the index of'), (100000, 'the index of'), (50000, 'the index of'),
                     (5000, "'stream'")):
        out = case.path('out%d' % room)
        done = finished(
            [WAYMARK, 'convert', '--to', 'ctf', '-o', out, path], env=case.env, stderr=subprocess.PIPE,
            preexec_fn=lambda:
            (signal.signal(signal.SIGXFSZ, signal.SIG_IGN), resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))))
        if not of:
            check(done.returncode == 0 and len(entries_of(out + '/index/stream.idx')) == 3000, 'status %d: %s',
                  done.returncode, done.stderr.decode())
            continue
        check(
            done.returncode == 1 and b'cannot write ' + of.encode() in done.stderr and b'File too large' in done.stderr,
            'room for %d bytes: status %d: %s', room, done.returncode, done.stderr.decode())
        check_nothing_left(out, 'room for %d bytes' % room)
    check(
        read(case, [WAYMARK, *VIEW, case.path('out200000')])[:2] == read(case, [WAYMARK, *VIEW, path])[:2],
        'records before the error are missing')


def conversion_error_leaves_no_index(case):
    """The conversion fails when another stream has complete packets. That stream has no index either."""
    metadata = SMALL.replace('size = 32; align = 8; map', 'size = 16; align = 8; map').replace(
        ' packet_size; }; };',
        ' packet_size; }; event.header := struct { integer { size = 8; align = 8; map = clock.c.value; } timestamp; '
        '}; };'
    )

    def packet(begin, times, is_late):
        return struct.pack('<HHI', begin, 65535, 8 * (8 + 2 * len(times))) + b''.join(
            struct.pack('<BB', time & 255, is_late(time)) for time in times)
    path = case.path('rejected/t')
    save(path, metadata=metadata, other=b''.join(packet(n, [n], lambda _: 1) for n in range(2000)),
         stream=packet(0, range(100, 80000, 100), lambda time: time > 70000))
    check(len(records_of(case, path)) == 2799, 'the source trace is wrong')
    check(true_indexes(rewritten(case, 'ctf-2', path)) == 2001, 'the index does not have all packets')
    out = case.path('out')
    status, _, err = read(case, [WAYMARK, 'convert', '--to', 'ctf', '-o', out, '-F', 'n == 1', path])
    check(status == 1 and b'does not fit' in err, 'status %d: %s', status, err.decode())
    check_nothing_left(out, 'rejected')


def killed_conversion_leaves_no_index(case):
    """
    SIGXFSZ ends the conversion when the index reaches the limit of file sizes. The incomplete index does not have its
    final name.
    """
    path, out = small_packets(case, 'small', 3000), case.path('out')

    def limits():
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (100000, 100000))

    done = finished([WAYMARK, 'convert', '--to', 'ctf', '-o', out, path], env=case.env, stderr=subprocess.DEVNULL,
                    preexec_fn=limits)
    check(done.returncode == -signal.SIGXFSZ, 'status %d', done.returncode)
    left = os.listdir(out + '/index')
    check(left and not [name for name in left if name.endswith('.idx')], 'wrong files are left: %s', left)
    status, lines, err = read(case, [WAYMARK, *VIEW, '--begin', '0.000000500', '--end', '0.000001000', out])
    check(status == 0 and len(lines) == 501, 'status %d, %d records: %s', status, len(lines), err.decode())


def imported_log_has_an_index(case):
    """Traces that are imported from logs have indexes, with all records or some."""
    for options in ((), ('-F', '$event != "none"')):
        out, _ = imported(case, 'syslog', [os.path.join(SAMPLES, 'syslog-5424.log')], *options)
        indexes = indexes_of(out)
        check(indexes and None not in indexes.values(), 'a log with %s: %s', options, indexes)
        for stream, index in indexes.items():
            for entry in entries_of(index):
                check(
                    own_entry(stream, entry) == entry, '%s: %s, but its packet has %s', index, entry,
                    own_entry(stream, entry))


if __name__ == '__main__':
    main([
        packet_index_of_each_converted_trace_is_correct, packet_index_of_selected_records_is_correct,
        packet_index_of_split_packets_is_correct, readers_use_the_packet_index,
        packet_index_is_omitted_where_it_cannot_be_correct, trace_without_clock_gets_an_index,
        write_error_leaves_no_index, conversion_error_leaves_no_index, killed_conversion_leaves_no_index,
        imported_log_has_an_index
    ])
