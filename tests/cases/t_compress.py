#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
`waymark compress`: compressed traces read like plain ones, a damaged frame costs only its own records, and a crash
leaves the plain or the compressed trace.
"""
import filecmp
import json
import os
import re
import signal
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from ctf18 import save  # noqa: E402
from harness import PERCENT, VIEW, WAYMARK, check, communicated, limit, main, need, rounds  # noqa: E402
from t_convert_ctf import rewritten, sampled_corpus_and_recordings  # noqa: E402
from t_view import part, read, recording_of_many_packets, seconds  # noqa: E402

METADATA = '''/* CTF 1.8 */
trace { major = 1; minor = 8; byte_order = le; };
clock { name = c; freq = 1000000000; };
typealias integer { size = 64; } := u64;
typealias integer { size = 64; map = clock.c.value; } := t64;
stream { packet.context := struct { t64 timestamp_begin; t64 timestamp_end; u64 content_size; u64 packet_size;
u64 events_discarded; u64 packet_seq_num; }; event.header := struct { t64 timestamp; }; };
event { fields := struct { u64 number; }; };
'''
PACKETS, RECORDS, PACKET = 42, 50, 64 << 10
FRAME_PACKETS = 4         # packets of 64 KiB in a frame of 256 KiB


def trace_with_many_frames(case, path):
    """Packets of 64 KiB: records, then bytes that are hard to compress in one half and easy in the other."""
    stream, entries = b'', struct.pack('>4I', 0xC1F1DCC1, 1, 1, 72)
    for n in range(PACKETS):
        begin, content = n * 1000, 48 + 16 * RECORDS
        packet = struct.pack('<6Q', begin, begin + 900, content * 8, PACKET * 8, 0, n)
        packet += b''.join(struct.pack('<2Q', begin + 10 * r, n * RECORDS + r) for r in range(RECORDS))
        entries += struct.pack('>9Q', len(stream), PACKET * 8, content * 8, begin, begin + 900, 0, 0, 0, n)
        stream += packet + case.random.randbytes((PACKET - content) // 2)
        stream += bytes(-len(stream) % PACKET)
    save(path, metadata=METADATA, stream=stream, index__stream__idx=entries)
    os.rename(os.path.join(path, 'index', 'stream', 'idx'), os.path.join(path, 'index', 'stream.idx'))
    os.rmdir(os.path.join(path, 'index', 'stream'))
    return stream


def frames_of(path):
    """Returns [(begin, end)] of the frames in a compressed file, from its seek table, and the position of the table."""
    with open(path, 'rb') as f:
        data = f.read()
    n, flags, magic = struct.unpack('<IBI', data[-9:])
    check((flags, magic) == (0, 0x8F92EAB1), '%s: footer %s', path, data[-9:].hex())
    at, frames = len(data) - 17 - 8 * n, []
    check(struct.unpack_from('<II', data, at) == (0x184D2A5E, 8 * n + 9), '%s: head of the seek table', path)
    for i in range(n):
        begin = frames[-1][1] if frames else 0
        frames.append((begin, begin + struct.unpack_from('<I', data, at + 8 + 8 * i)[0]))
    check(frames[-1][1] == at, '%s: the frames end at %d, the table begins at %d', path, frames[-1][1], at)
    return frames, at


def files_below(path):
    return sorted(os.path.relpath(os.path.join(top, name), path) for top, _, names in os.walk(path) for name in names)


def same_files(left, right):
    check(files_below(left) == files_below(right), '%s has %s, %s has %s', left, files_below(left), right,
          files_below(right))
    different = [n for n in files_below(left) if not filecmp.cmp(os.path.join(left, n), os.path.join(right, n), False)]
    check(not different, 'the files %s differ between %s and %s', different, left, right)


def compress(case, path, status=0):
    got, out, err = read(case, [WAYMARK, 'compress', '--json', path])
    check(got == status, 'compress %s: status %s: %s', path, got, err.decode())
    return json.loads(b'\n'.join(out))['traces'], err.decode()


def copied(case, path, name):
    copy = case.path(name)
    subprocess.run(['rm', '-rf', copy], check=True)
    subprocess.run(['cp', '-a', path, copy], check=True)
    return copy


def numbers(lines):
    return [int(re.search(rb'number = (\d+)', line).group(1)) for line in lines]


def view(case, path, *options):
    return read(case, [WAYMARK, *VIEW, *options, path])


@limit(300)
def compressed_trace_gives_the_same_output_as_the_plain_one(case):
    """view, JSON, convert and an independent decompressor have the same results as for the plain trace."""
    need('zstd')
    done = 0
    os.mkdir(case.path('copy'))
    for n, (_, path) in enumerate(sampled_corpus_and_recordings(case)):
        if n % 3 and PERCENT < 100 and n < 60:
            continue
        copy = copied(case, path, os.path.join('copy', os.path.basename(path)))
        plain = view(case, path, '--json')
        if any(not os.path.isfile(os.path.join(copy, name)) for name in files_below(copy)):
            _, err = compress(case, copy, 1)
            check('is not a regular file' in err and view(case, copy, '--json')[:2] == plain[:2], '%s: %s', path, err)
            continue
        result, _ = compress(case, copy)
        names = [name for name in files_below(copy) if name.endswith('.zst')]
        check(len(names) == sum(r['files'] for r in result), '%s: compressed %s, reported: %s', path, names, result)
        status, lines, _ = view(case, copy, '--json')
        check((status, lines) == plain[:2], '%s: the compressed trace reads otherwise: %s', path, lines[:2])
        if plain[0] == 0 and names:
            same_files(rewritten(case, 'ctf', copy), rewritten(case, 'ctf', path))
            library = [read(case, [case.program('reader'), which])[:2] for which in (copy, path)]
            check(library[0] == library[1], '%s: libwaymark-ctf reads %s', path, library[0][1][:2])
            done += 1
        for name in names:
            subprocess.run(['zstd', '-q', '-d', '--rm', os.path.join(copy, name)], check=True)
        same_files(copy, path)
    check(done >= 3, 'only %d traces were compared', done)


def begin_option_finds_its_frame_by_the_compression_index(case):
    """--begin and --end select the same records as in the plain trace, and skip frames without reading them."""
    path, _, lines, times = recording_of_many_packets(case)
    copy = copied(case, path, 'compressed')
    compress(case, copy)
    for _ in range(max(4, rounds(30))):
        first, last = sorted(case.random.sample(range(len(times)), 2))
        wanted = [line for line, at in zip(lines, times) if times[first] <= at <= times[last]]
        status, got, err = part(case, copy, '--begin', seconds(times[first]), '--end', seconds(times[last]))
        check((status, got) == (0, wanted), 'status %d, %d records, not %d: %s', status, len(got), len(wanted), err)
    path = case.path('frames')
    trace_with_many_frames(case, path)
    compress(case, path)
    file = os.path.join(path, 'stream.zst')
    frames, _ = frames_of(file)
    check(len(frames) == -(-PACKETS // FRAME_PACKETS), '%d frames', len(frames))
    flip(file, frames[2][0] + 40000, 3)
    at = (PACKETS - 6) * 1000
    status, got, err = view(case, path, '--begin', '1970-01-01T00:00:00.%09d' % at)
    check(status == 0 and numbers(got) == list(range((PACKETS - 6) * RECORDS, PACKETS * RECORDS)),
          'status %d, %d records: %s', status, len(got), err)


def flip(path, at, bit):
    with open(path, 'r+b') as f:
        f.seek(at)
        byte = f.read(1)[0]
        f.seek(at)
        f.write(bytes((byte ^ 1 << bit, )))


def unflipped_content(path, stream):
    """Whether zstd reads the same content. Then the bit has no meaning, such as an unused bit of a frame header."""
    done = subprocess.run(['zstd', '-q', '-d', '-c', path], capture_output=True)
    return done.returncode == 0 and done.stdout == stream


@limit(600)
def flipped_bit_damages_only_one_compressed_frame(case):
    """
    One bit is flipped at seeded places. The records of all other frames are printed, and the damaged frame is reported
    with its position.
    """
    need('zstd')
    path = case.path('trace')
    stream = trace_with_many_frames(case, path)
    compress(case, path)
    file = os.path.join(path, 'stream.zst')
    frames, table = frames_of(file)
    every = set(range(PACKETS * RECORDS))
    size, silent = os.path.getsize(file), 0
    # Some places are at the beginnings of frames and in the table, where few random places are.
    places = [b + n for b, _ in frames[:3] for n in (0, 4, 5, 9)] + list(range(table, size, 7))
    places = case.random.sample(places, min(len(places), rounds(40)))
    for at in places + [case.random.randrange(size) for _ in range(max(30, rounds(460)))]:
        bit = case.random.randrange(8)
        flip(file, at, bit)
        status, lines, err = view(case, path)
        got, err = numbers(lines), err.decode()
        where = 'bit %d of byte %d' % (bit, at)
        number = next((n for n, (begin, end) in enumerate(frames) if begin <= at < end), None)
        lost = set() if number is None else every & set(
            range(number * FRAME_PACKETS * RECORDS, (number + 1) * FRAME_PACKETS * RECORDS))
        check(got == sorted(set(got)), '%s: records are repeated or out of order', where)
        if status == 0 and unflipped_content(file, stream):
            check(set(got) == every, '%s: %d records without an error', where, len(got))
            silent += 1
        elif number is None:
            check(status == 1 and 'seek table' in err and set(got) == every,
                  '%s in the seek table: status %d, %d records: %s', where, status, len(got), err)
        else:
            named = "'stream.zst': frame %d, at byte %d of the compressed file" % (number, frames[number][0])
            check(status == 1 and named in err, '%s: status %d: %s', where, status, err)
            check(every - set(got) == lost, '%s: records of other frames are missing: %s', where,
                  sorted(every - set(got) - lost)[:5])
        flip(file, at, bit)
    check(silent <= 2 + rounds(10), '%d flipped bits had no effect', silent)


@limit(300)
def killed_compression_leaves_a_complete_trace(case):
    """
    Traces are compressed while the process is killed. Each trace is then plain or compressed, and the next run
    completes the work.
    """
    path = case.path('trace')
    stream = trace_with_many_frames(case, path)
    every = list(range(PACKETS * RECORDS))
    whole = time.monotonic()
    compress(case, copied(case, path, 'timed'))
    whole = time.monotonic() - whole
    for turn in range(max(8, rounds(100))):
        top = case.path('top')
        subprocess.run(['rm', '-rf', top], check=True)
        os.mkdir(top)
        trace = copied(case, path, 'top/trace')
        child = subprocess.Popen([WAYMARK, 'compress', trace], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(case.random.random() * whole)
        child.send_signal(signal.SIGKILL)
        child.wait()
        status, lines, err = view(case, top)
        check(status == 0 and numbers(lines) == every, 'turn %d: status %d, %d records: %s', turn, status, len(lines),
              err)
        compress(case, top)
        left = os.listdir(top), os.listdir(trace)
        check(left[0] == ['trace'] and 'stream.zst' in left[1], 'turn %d: the next run leaves %s', turn, left)
        check(numbers(view(case, top)[1]) == every, 'turn %d: the completed trace lacks records', turn)
    check(len(stream) == PACKETS * PACKET, 'the trace has changed')


def trace_that_cannot_be_compressed_is_unchanged(case):
    """A trace that is being written, one that is compressed already, and a directory without a trace."""
    path = case.path('trace')
    trace_with_many_frames(case, path)
    lock = subprocess.Popen([sys.executable, '-c', '''
import fcntl, struct, sys
f = open(sys.argv[1], "r+")
fcntl.fcntl(f, 37, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0))
print("locked", flush=True)
sys.stdin.read()
''', os.path.join(path, 'metadata')], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    lock.stdout.readline()
    before = files_below(path)
    _, err = compress(case, path, 1)
    check('being written' in err and files_below(path) == before, 'a trace that is being written: %s', err)
    communicated(lock, b'')
    result, _ = compress(case, path)
    check(result[0]['files'] == 1 and result[0]['bytes'] == PACKETS * PACKET and
          result[0]['compressed_bytes'] == os.path.getsize(os.path.join(path, 'stream.zst')), 'reported: %s', result)
    again, _ = compress(case, path)
    check(again[0]['files'] == 0 and '.trace.compress' not in os.listdir(os.path.dirname(path)), 'again: %s', again)
    os.mkdir(case.path('empty'))
    status, _, err = read(case, [WAYMARK, 'compress', case.path('empty')])
    check(status == 1 and b'no trace' in err, 'an empty directory: status %d: %s', status, err)


if __name__ == '__main__':
    main([
        compressed_trace_gives_the_same_output_as_the_plain_one, begin_option_finds_its_frame_by_the_compression_index,
        flipped_bit_damages_only_one_compressed_frame, killed_compression_leaves_a_complete_trace,
        trace_that_cannot_be_compressed_is_unchanged
    ])
