# SPDX-License-Identifier: MIT
"""
Helpers for tests of rotations: programs that record during rotations, the chunks of a session's trace, and the checks
that each record is in exactly one chunk.
"""
import contextlib
import os
import re
import signal

from harness import PROGRAMS, Failure, Trace, check, check_sequences, slurp
from kernel import KernelTrace, number, signed

# The buffers last for seconds without a consumer daemon.
SIZES = ['--subbuf-size', '256k', '--num-subbuf', '8']
SPIN = '300000'
# A program without rseq records through claims.
CLAIM = {'GLIBC_TUNABLES': 'glibc.pthread.rseq=0'}
# Buffers of kernel channels.
LARGE = ['--subbuf-size', '4M', '--num-subbuf', '16']
# Without a consumer daemon, the kernel keeps its own records. Records of BPF are lost together with the consumer
# daemon.
KEPT = ['--syscall-arguments', 'none']
CALL = 'sched_setparam'
# Points within a rotation, in order. Before the journal, nothing is cut.
IN_CONSUMER = ('rotation_journaled', 'rotation_drained', 'rotation_summed', 'rotation_counted', 'rotation_moved',
               'rotation_begun', 'archive_before_rename')
IN_SESSION = ('session_cut', 'session_chunk_saved', 'session_rotating', 'session_rotated')


def planted(bug):
    """The path of a consumer daemon with a planted bug (tests/meson.build)."""
    return os.path.join(PROGRAMS, 'waymark-consumerd-' + bug)


def use_consumerd(world, path):
    """Let the session daemon of a World (daemon=False) start this consumer daemon."""
    script = slurp(world.env['WAYMARK_SESSIOND'])
    with open(world.env['WAYMARK_SESSIOND'], 'w') as f:
        f.write(script.replace(' "$@"', ' "$@" --consumerd ' + path))


@contextlib.contextmanager
def failed_check(words):
    """The block must end with a failed check, and its text must contain `words`."""
    try:
        yield
    except Failure as failure:
        check(words in str(failure), 'the failed check is "%s", not "%s"', failure, words)
        return
    check(False, 'no check failed with "%s"', words)


def archives(path):
    """Returns the closed chunks of a session's trace, in order."""
    place = os.path.join(path, 'archives')
    names = [name for name in os.listdir(place) if name[0] != '.'] if os.path.isdir(place) else []
    return [os.path.join(place, name) for name in sorted(names, key=lambda name: int(name.rsplit('-', 1)[1]))]


def has_trace(path):
    return any('metadata' in names for _, _, names in os.walk(path))


def kill(pid):
    with contextlib.suppress(OSError, TypeError):
        os.kill(pid, signal.SIGKILL)


def uuids(path):
    """Returns the UUIDs of the traces at or below a directory."""
    found = []
    for place, _, names in os.walk(path):
        if 'metadata' in names:
            with open(os.path.join(place, 'metadata'), encoding='utf-8', errors='replace') as f:
                text = f.read()
            found += re.findall(r'trace \{[^}]*?uuid = "([0-9a-f-]+)"', text)
    return found


def numbers_in(lines):
    """{writer: its numbers in these lines of a reader, in their order}, of all events."""
    found = {}
    for line in lines:
        m = re.search(r'writer = (\d+), seq = (\d+)', line)
        if m:
            found.setdefault(int(m[1]), []).append(int(m[2]))
    return found


def check_chunks(case, path, killed=False, lost=0):
    """
    Check that each record is in one chunk, and that each chunk is a trace of its own. Returns the chunks that have a
    trace.
    """
    trace = Trace(path, lossy=lost > 0)                     # all chunks together
    check_sequences(trace, case.ledger, lost, killed)
    chunks = [chunk for chunk in archives(path) if has_trace(chunk)]
    check(not [name for name in os.listdir(os.path.join(path, 'archives')) if name[0] == '.'],
          'a rotation was not finished: %s', os.listdir(os.path.join(path, 'archives')))
    found = uuids(path)
    check(len(found) >= len(chunks), 'only %d UUIDs in %d chunks', len(found), len(chunks))
    check(len(set(found)) == len(found), 'two chunks have one UUID: %s', found)
    last = {}
    for chunk in chunks:
        # Chunks are in order: a thread's first number in a chunk is above its last one in the chunk before.
        for writer, numbers in numbers_in(Trace(chunk, lossy=lost > 0).lines).items():
            numbers.sort()
            check(numbers[0] > last.get(writer, 0), '%s: writer %d: number %d after %d', os.path.basename(chunk),
                  writer, numbers[0], last.get(writer, 0))
            last[writer] = numbers[-1]
    return chunks


def check_counts(case, is_now, made=None):
    """The counts of a channel are those of all chunks."""
    made = made or sum(begun for begun, _ in case.ledger.read().values())
    counts = next(channel['counts'] for channel in is_now['channels'] if channel['name'] == is_now['name'])
    check(counts['records'] == made and counts['lost'] == 0, '%d records were made, the session has %s', made, counts)


def running(case, w, threads='2', env=None):
    child = w.run([case.program('busy'), 'until', threads, SPIN], env=env)
    w.wait(lambda: case.ledger.flag(0) >= int(threads), 'the threads to record')
    return child


def more_records(case, w, n=300):
    begun = case.ledger.begun()
    w.wait(lambda: case.ledger.begun() > begun + n, 'the program to record on')


def ended(case, w, name):
    case.ledger.set_flag(1, 1)
    for child in list(w.children):
        w.wait_end(child)
    w.remember_rings()
    is_now = w.stop(name)
    w('destroy', name)
    return is_now


def kernel_chunks(path):
    """The directories of the kernel traces of all chunks, in order."""
    places = [os.path.join(chunk, 'kernel') for chunk in archives(path) + [path]]
    return [place for place in places if os.path.exists(os.path.join(place, 'metadata'))]


def joined(path, lossy=False):
    """The records of all chunks, in order. Both readers read each chunk, and each chunk is a separate trace."""
    hidden = [name for name in os.listdir(os.path.join(path, 'archives')) if name[0] == '.']
    check(not hidden, 'a rotation was not finished: %s', hidden)
    traces = [KernelTrace(place, lossy) for place in kernel_chunks(path)]
    found = uuids(path)
    check(len(set(found)) == len(found), 'two chunks have one UUID: %s', found)
    whole = KernelTrace.__new__(KernelTrace)
    whole.records = [record for trace in traces for record in trace.records]
    whole.lost = sum(trace.lost for trace in traces)
    return whole


def each_once(trace, made, tids):
    """Check that each record of CALL in `made` turns of these threads exists once. (Chunks overlap in time.)"""
    found = trace.calls(tids)
    n = sum(map(len, found.values()))
    check(n == made * 2, '%d records of %d turns', n, made)
    for (tid, call, kind), records in found.items():
        if kind == 'entry':
            turns = [-2 - signed(number(r.fields, 'pid')) for r in records]
            check(sorted(turns) == list(range(len(turns))), 'thread %d, %s: turns are missing or duplicated', tid, call)
