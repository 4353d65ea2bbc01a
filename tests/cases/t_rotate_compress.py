#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
`create --compress`: closed chunks are compressed while the session records. Each record is in exactly one chunk, also
if the consumer daemon is killed meanwhile, and a follower prints it once.
"""
import json
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from daemon import World  # noqa: E402
from harness import WAYMARK, check, limit, main, need, rounds  # noqa: E402
from t_follow import Follower  # noqa: E402
from rotations import SIZES, check_chunks, ended, kill, more_records, numbers_in, running  # noqa: E402


def begin(w, name):
    w('create', name, '--compress')
    w('enable-channel', '-s', name, 'main', *SIZES)
    w('enable-event', '-s', name, '-c', 'main', 'test:seq')
    w('start', name)


def are_compressed(path):
    """All chunks are compressed, and the plain ones are removed."""
    place = os.path.join(path, 'archives')
    if not os.path.isdir(place) or [name for name in os.listdir(place) if name[0] == '.']:
        return False
    return not [name for top, _, names in os.walk(place) if 'metadata' in names for name in names
                if name != 'metadata' and name[0] != '.' and not name.endswith('.zst')]


def wait_compressed(w, path):
    w.wait(lambda: are_compressed(path), 'all chunks to be compressed')


def check_decompressed(case, path):
    """The session's chunks, decompressed by zstd, hold each record once."""
    copy = case.path('decompressed')
    subprocess.run(['rm', '-rf', copy], check=True)
    subprocess.run(['cp', '-a', path, copy], check=True)
    packed = [os.path.join(top, name) for top, _, names in os.walk(copy) for name in names if name.endswith('.zst')]
    check(packed, 'no file of %s is compressed', path)
    subprocess.run(['zstd', '-q', '-d', '--rm', *packed], check=True)
    check_chunks(case, copy)
    shown = [subprocess.run([WAYMARK, 'view', where], env=case.env, capture_output=True) for where in (path, copy)]
    check(shown[0].returncode == 0 and shown[0].stdout == shown[1].stdout, 'the compressed chunks read otherwise: %s',
          shown[0].stderr.decode())


@limit(120)
def closed_chunks_are_compressed_under_load(case):
    """The follower, which has read the plain chunks, does not print the compressed ones again."""
    need('zstd')
    with World(case) as w:
        begin(w, 'packed')
        check('closed chunks are compressed' in w('list', 'packed').out, 'list: %s', w('list', 'packed').out)
        running(case, w)
        path = w.session('packed')['path']
        follower = Follower(w, 'packed')
        for _ in range(rounds(30) + 2):
            more_records(case, w)
            w('rotate', 'packed')
            wait_compressed(w, path)
        more_records(case, w)
        case.ledger.set_flag(1, 1)
        w.wait_end(next(child for child in w.children if child is not follower.child))
        w.stop('packed')
        w('destroy', 'packed')
        w.children.remove(follower.child)
        found = numbers_in(line.decode('latin-1') for line in follower.end())
        for writer, (begun, _) in case.ledger.read().items():
            check(found.get(writer) == list(range(1, begun + 1)), 'writer %d: %d of %d records were printed', writer,
                  len(found.get(writer, [])), begun)
        check_decompressed(case, path)


@limit(120)
def kill_while_chunks_are_compressed_loses_no_record(case):
    """The consumer daemon is killed (kill -9). A later rotation compresses the chunks that it left plain."""
    need('zstd')
    with World(case) as w:
        begin(w, 'killed')
        running(case, w)
        path = w.session('killed')['path']
        for _ in range(max(3, rounds(60))):
            more_records(case, w)
            w('rotate', 'killed')
            time.sleep(case.random.random() * 0.02)
            kill(w.consumerd())
            w.wait(w.consumerd, 'the next consumer daemon')
        w('rotate', 'killed')
        wait_compressed(w, path)
        ended(case, w, 'killed')
        check_decompressed(case, path)


def stream_is_resumed_after_a_compressed_chunk(case):
    """The consumer daemon is killed while the only packets of a stream are in a compressed chunk."""
    need('zstd')
    with World(case) as w:
        begin(w, 'resumed')
        program = w.scripted()
        for n in range(3):
            program('emit 10')
            w('rotate', 'resumed')
            wait_compressed(w, w.session('resumed')['path'])
            kill(w.consumerd())
            w.wait(w.consumerd, 'the next consumer daemon')
        program('emit 5')
        path = w.session('resumed')['path']
        program.end()
        w.children.remove(program.child)
        check(w.stop('resumed')['counts']['lost'] == 0, 'records are lost: %s', w.session('resumed'))
        w('destroy', 'resumed')
        lines = subprocess.run([WAYMARK, 'view', '--json', path], env=case.env, capture_output=True, text=True).stdout
        numbers = [json.loads(line)['fields']['seq'] for line in lines.splitlines() if '"test:seq"' in line]
        check(numbers == list(range(1, 36)), 'the records are %s', numbers)


if __name__ == '__main__':
    main([
        closed_chunks_are_compressed_under_load, kill_while_chunks_are_compressed_loses_no_record,
        stream_is_resumed_after_a_compressed_chunk
    ])
