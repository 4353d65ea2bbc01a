#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of the checks themselves: each passes for correct input, and fails with its own message for wrong input."""
import ast
import contextlib
import glob
import io
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
import shmem  # noqa: E402
from daemon import World  # noqa: E402
from harness import Case, awaited, check, communicated, finished, main, need, slurp, wait_for  # noqa: E402
from processes import stacks  # noqa: E402
from traces import (LEDGER_HEAD, LEDGER_SLOT, Failure, check_sequences, parse_line, writer_sum)  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get('WMK_BUILD', os.path.join(ROOT, 'build'))


class Fake:
    """A trace that is not read from files."""

    def __init__(self, lines, frequency=2400000000):
        self.lines, self.frequency = lines, frequency


def line(time, writer, seq, t0, total=None, cpu=0, name='seq', tail=''):
    total = writer_sum(writer, seq) if total is None else total
    return '[%020d] host test:%s: { cpu_id = %d }, { writer = %d, seq = %d, t0 = %d, mono = %d, sum = %d%s }' % (
        time, name, cpu, writer, seq, t0, t0, total, tail)


def put(ledger, writer, begun, returned):
    with open(ledger.path, 'r+b') as f:
        f.seek(LEDGER_HEAD + writer * LEDGER_SLOT)
        f.write(struct.pack('<QQ', begun, returned))


def fails(words, function, *args, **more):
    try:
        function(*args, **more)
    except Failure as failure:
        check(words in str(failure), 'it failed with "%s", not with "%s"', failure, words)
        return
    check(False, 'it did not fail with "%s"', words)


def harness_detects_wrong_record_sequences(case):
    put(case.ledger, 1, 3, 3)
    good = [line(11, 1, 1, 10), line(21, 1, 2, 20), line(31, 1, 3, 30)]
    check(check_sequences(Fake(good), case.ledger) == {1: [1, 2, 3]}, 'three correct records were not found')
    check_sequences(Fake(good[:2]), case.ledger, lost=1)
    fails('the counts are inconsistent', check_sequences, Fake(good[:2]), case.ledger)
    fails('the counts are inconsistent', check_sequences, Fake(good), case.ledger, lost=1)
    fails('recorded twice', check_sequences, Fake(good + good[2:]), case.ledger)
    fails('torn record', check_sequences, Fake(good[:2] + [line(31, 1, 3, 30, total=1)]), case.ledger)
    fails('which began no record', check_sequences, Fake(good + [line(41, 2, 1, 40)]), case.ledger)
    fails('but only 3 were begun', check_sequences, Fake(good + [line(41, 1, 4, 40)]), case.ledger)
    fails('before the call', check_sequences, Fake(good[:2] + [line(29, 1, 3, 30)]), case.ledger)
    fails('after number', check_sequences, Fake([line(25, 1, 1, 10, cpu=1)] + good[1:]), case.ledger)
    fails('time goes back', check_sequences, Fake([good[2], line(22, 1, 2, 20), good[0]]), case.ledger)
    fails('cannot be parsed', check_sequences, Fake(good + ['[1] host test:seq: { writer = 1 }']), case.ledger)
    put(case.ledger, 1, 4, 3)
    check_sequences(Fake(good), case.ledger, killed=True)
    fails('did not return', check_sequences, Fake(good), case.ledger, lost=1)
    text = line(11, 1, 1, 10, name='text', tail=', text = "bcd"')
    check_sequences(Fake([text, *good[1:]]), case.ledger, killed=True)
    fails('torn text', check_sequences, Fake([text.replace('bcd', 'bcc')]), case.ledger, killed=True)


def harness_parses_text_lines_of_records(case):
    r = parse_line(
        '[00000000000000000012] vm shop:order: { cpu_id = 1 }, { procname = "a \\" b" }, '
        '{ id = 5, list = [ [0] = 1, [1] = -2 ], e = ( "RED" : container = 3 ), hex = 0xFF, d = 2.5, none = "" }')
    check(r.time == 12 and r.name == 'shop:order' and r.scopes['cpu_id'] == 1, 'the head is %s', r)
    check(r.fields == {'id': 5, 'list': [1, -2], 'e': (('RED',), 3), 'hex': 255, 'd': 2.5, 'none': ''},
          'fields are %s', r.fields)
    fails('not a record', parse_line, 'something else')


def packet(records, content=None, sequence=0, discarded=0, begin=None, end=None):
    body = b''
    for time, writer, seq, t0 in records:
        body += struct.pack('<BIQ', 31, 2, time) + struct.pack('<IQQQI', writer, seq, t0, t0, writer_sum(writer, seq))
    bits = (88 + len(body)) * 8 if content is None else content
    times = [r[0] for r in records] or [0]
    head = struct.pack('<I16sIQ', 0xc1fc1fc1, b'u' * 16, 0, 0)
    head += struct.pack('<QQQQQIIQ', times[0] if begin is None else begin, times[-1] if end is None else end, bits,
                        (88 + len(body) + 16) * 8, sequence, 0, 0, discarded)
    return head + body + bytes(16)


def harness_detects_wrong_streams_in_a_scan(case):
    put(case.ledger, 1, 3, 3)
    good = [(11, 1, 1, 10), (21, 1, 2, 20), (31, 1, 3, 30)]

    def scan(data):
        path = case.path('stream')
        with open(path, 'wb') as f:
            f.write(data)
        done = finished([case.program('scan'), case.ledger.path, '2', path], capture_output=True, text=True)
        return done.stdout.strip() if done.returncode == 0 else done.stderr.strip()

    whole = packet(good[:2]) + packet(good[2:], sequence=1, discarded=7)
    check(scan(whole) == 'read 3 lost 7 begun 3 returned 3', 'a good stream: %s', scan(whole))
    for words, data in (
            ('twice', packet(good + good[2:])), ('before the call', packet([(9, 1, 1, 10)])), ('goes back',
                    packet([good[1], good[0]], begin=5, end=50)),
            ('outside', packet(good, end=25)), ('overlap', packet(good) + packet([], sequence=1, begin=20)),
            ('was not begun', packet([(41, 1, 4, 40)])), ('not in order', packet(good) + packet([], sequence=2,
                    begin=40, end=40)),
            ('not in order', packet(good, discarded=1)), ('behind the last', packet(good,
                    content=(88 + 3 * 45 - 2 * 45 + 2) * 8)),
            ('whole header', whole + b'x'), ('no packet', whole + b'x' * 200), ('torn', whole[:-20] + b'abcd' +
                    whole[-16:])):
        check(words in scan(data), '"%s" was not printed, but: %s', words, scan(data))


def harness_detects_sanitizer_reports(case):
    """
    A sanitizer's report is found even if no test waits for the process, and whatever its user. A correct program has no
    report.
    """
    need('cc')
    source, program = case.path('bad.c'), case.short('bad')
    with open(source, 'w') as f:
        f.write(
            '#include <stdlib.h>\nint main(int n, char **v)\n{\n\tchar *p = calloc(4, 1);\n'
            '\treturn p[n > 1 ? 7 : 0] + !v;\n}\n'
        )
    subprocess.run(['cc', '-fsanitize=address,undefined', '-o', program, source], check=True)
    os.chmod(program, 0o755)
    for argv, options, wanted in (([program], {}, False), ([program, 'x'], {}, True),
                                  ([program, 'x'], {'user': 65534, 'group': 65534, 'extra_groups': []}, True)):
        if options and os.geteuid():
            continue
        inner = Case(tempfile.mkdtemp(dir=case.directory), 'x', sanitized=True)
        finished(argv, env=inner.env, stderr=subprocess.DEVNULL, **options)
        said = inner.reported()
        check(('heap-buffer-overflow' in said) == wanted and (wanted or not said), '%s: %s', argv, said)
        shutil.rmtree(inner.reports)


def failed_wait_of_a_test_prints_process_stacks(case):
    """
    The stacks of all processes that the case has started, and of their children, whatever their environment. They come
    from the debugger, or from the kernel without a debugger.
    """
    child = subprocess.Popen(['sh', '-c', 'sleep 60 & wait'], env=case.env, start_new_session=True)
    case.started.append(child)
    bare = {k: v for k, v in case.env.items() if not k.startswith('WMK_')}
    ours = subprocess.Popen(['sleep', '60'], env=bare)
    other = int(
        finished(['sh', '-c', 'sleep 60 >/dev/null & echo $!'], env=bare, stdout=subprocess.PIPE, text=True).stdout)
    try:
        def sleeper():
            with open('/proc/%d/task/%d/children' % (child.pid, child.pid)) as f:
                return f.read().split()
        pid = int(wait_for(sleeper, 'the shell to start another')[0])
        wait_for(lambda: slurp('/proc/%d/comm' % pid).strip() == 'sleep', 'sleep to run')
        wait_for(
            lambda: all(
                slurp('/proc/%d/stat' % p).rsplit(')', 1)[1].split()[0] == 'S' for p in (child.pid, pid, ours.pid)),
            'all to sleep')
        try:
            wait_for(lambda: False, 'nothing', 0.1)
        except Failure as failure:
            said = str(failure)
        for words in ('waited 0 s in vain for nothing', '== %d sh (S)' % child.pid, '== %d sleep (S)' % pid,
                      '== %d sleep (S)' % ours.pid):
            check(words in said, '"%s" is not in the message: %s', words, said)
        check('sleep' in said.rsplit('==', 1)[1].split('\n', 1)[1], 'the stack of sleep is missing: %s', said)
        check('== %d ' % other not in said, 'a process of another case is shown: %s', said)
        path = os.environ['PATH']
        os.environ['PATH'] = '/nowhere'
        said = stacks({pid: 'sleep'})
        os.environ['PATH'] = path
        check('in the kernel at' in said, 'without a debugger: %s', said)
    finally:
        os.kill(other, signal.SIGKILL)
        ours.kill()
        ours.wait()


def process_that_does_not_end_in_a_test_prints_its_stacks(case):
    """
    The stacks are taken while the process hangs. Then it is killed, unless the case holds it. A process that ends in
    time gives the result of subprocess.
    """
    del case
    fails(' sleep (', finished, ['sleep', '60'], 0.1)
    with subprocess.Popen(['sleep', '60'], stdout=subprocess.PIPE) as child:
        fails('== %d sleep (' % child.pid, awaited, child, 0.1)
        check(child.poll() is None, 'it was killed')
        fails('== %d sleep (' % child.pid, communicated, child, None, 0.1)
        check(child.returncode == -signal.SIGKILL, 'it was not killed')
    done = finished(['sh', '-c', 'cat; echo x >&2; exit 3'], input='told', capture_output=True, text=True)
    check((done.returncode, done.stdout, done.stderr) == (3, 'told', 'x\n'), '%s', done)
    try:
        finished(['false'], check=True)
    except subprocess.CalledProcessError:
        return
    check(False, 'check=True did not raise an exception')


def no_test_passes_a_timeout_to_subprocess(case):
    """No test gives subprocess a time limit: subprocess kills the process without a report of its stacks."""
    del case
    # (these files may: how their processes end is not the verdict of a test)
    own = ('waits.py', 'processes.py', 'emulated.py', 'machine.py')
    found, looked = [], 0
    for path in sorted(glob.glob(os.path.join(ROOT, 'tests', '[cl]*', '*.py'))):
        with open(path, encoding='utf-8') as f:
            tree = ast.parse(f.read())
        for call in (node for node in ast.walk(tree)
                     if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            looked += 1
            of_subprocess = isinstance(call.func.value, ast.Name) and call.func.value.id == 'subprocess'
            limited = [k for k in call.keywords if k.arg == 'timeout']
            if os.path.basename(path) not in own and (call.func.attr == 'communicate' or (of_subprocess and limited)):
                found.append('%s:%d' % (os.path.relpath(path, ROOT), call.lineno))
    check(looked > 1000 and not found, 'of %d calls, these have a time limit: %s', looked, found)


def slow_test_prints_process_stacks(case):
    """
    scripts/stuck.py prints the stacks of a test without own limits before meson ends it, and nothing of other tests.
    """
    need('pkill')
    build, seen = case.path('build'), case.path('stuck')
    os.makedirs(os.path.join(build, 'meson-info'))
    with open(os.path.join(build, 'meson-info', 'intro-tests.json'), 'w', encoding='utf-8') as f:
        json.dump([{'name': 'slow', 'timeout': 1, 'cmd': ['/by/another/path/sh', '-c', 'sleep 1000 & wait', 'slow']},
                   {'name': 'patient', 'timeout': 1000, 'cmd': ['sleep', '2000']}], f)
    as_meson = "sh -c 'sleep 1000 & wait' slow & slow=$!; sleep 2000 & other=$!; until [ -s %s ]; do sleep 0.1; " \
        "done; " \
        "until grep -q '^== .* sleep' %s; do sleep 0.1; done; pkill -P $slow; kill $other; exit 7" % (seen, seen)
    done = finished([sys.executable, os.path.join(ROOT, 'scripts', 'stuck.py'), build, '2', seen, 'sh', '-c', as_meson])
    told_of = slurp(seen)
    check(done.returncode == 7 and re.match(r'slow has run for \d+ s', told_of), 'status %d: %s', done.returncode,
          told_of)
    check(
        re.search(r'^== \d+ slow \(', told_of, re.M) and re.search(r'^== \d+ sleep \(.*\n(Thread|#)', told_of, re.M),
        'it printed: %s', told_of)
    check(told_of.count('has run for') == 1 and 'patient' not in told_of, 'it printed: %s', told_of)


@contextlib.contextmanager
def sampled(kb, *rings):
    """
    shmem.py sees these values instead of the machine's: kB of shared memory, and rings that other processes hold. The
    last ones repeat.
    """
    kept = shmem.shmem_kb, shmem.all_rings, shmem.WAIT_S, shmem.BUSY_S
    kbs, held = list(kb), list(rings)
    shmem.shmem_kb = lambda: kbs.pop(0) if len(kbs) > 1 else kbs[0]
    shmem.all_rings = lambda: held.pop(0) if len(held) > 1 else held[0]
    shmem.WAIT_S = shmem.BUSY_S = 0.1
    try:
        yield
    finally:
        shmem.shmem_kb, shmem.all_rings, shmem.WAIT_S, shmem.BUSY_S = kept


def harness_counts_only_its_own_shared_memory(case):
    """
    The count ignores rings of other processes. The check is skipped with a message only if those rings change
    meanwhile.
    """
    other, large = {(1, 7): 8 << 20}, {(1, 7): 8 << 20, (1, 8): 4 << 20}

    def world(kb, *rings):
        said = io.StringIO()
        with sampled(kb,
                     *rings), contextlib.redirect_stdout(said), World(case, 'home%d' % case.random.randrange(1 << 40),
                                                                      daemon=False):
            pass
        return said.getvalue()

    # (two samples before, and two for each later look)
    check(world([10000], other) == '', 'a message without a difference of Shmem')
    check(world([10000, 14096], other, other, large) == '', 'a ring of another process was counted as ours')
    fails('shared memory is not back', world, [10000, 14096], other)
    fails('shared memory is not back', world, [10000, 14096], {})
    said = world([10000, 18192], other, other, large)
    check(
        said.startswith('# not checked: shared memory') and '1 at the beginning, 2 at the end' in said,
        'it printed: %s', said)
    held = [{(1, n): 4096} for n in range(1000)]
    said = world([10000], *held)
    check(said.startswith('# not checked: shared memory was not compared'), 'it printed: %s', said)
    ring = os.memfd_create('waymark-ring')
    os.write(ring, bytes(3 << 20))
    st = os.fstat(ring)
    sizes = shmem.rings_of(os.getpid())
    os.close(ring)
    check(sizes.get((st.st_dev, st.st_ino), 0) >= 3 << 20, 'no ring of 3 MB is in %s', sizes)


def test_script_reports_unknown_suites(case):
    """scripts/test.sh knows all existing suites, and reports an unknown one."""
    tree = case.path('tree')
    # (the tree cannot be built, so a build would fail if the unknown name were ignored)
    for name in ['scripts/test.sh'] + [
            name for folder in ('src', 'tests')
            for name in glob.glob(folder + '/**/meson.build', root_dir=ROOT, recursive=True)
    ]:
        os.makedirs(os.path.dirname(os.path.join(tree, name)), exist_ok=True)
        shutil.copy(os.path.join(ROOT, name), os.path.join(tree, name))
    done = subprocess.run(['scripts/test.sh', '--no-setup', '--suite', 'ring', 'raed', 'ctf'], cwd=tree,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    said, _, known = done.stderr.partition(' (known: ')
    check(done.returncode == 2 and said == "test: unknown suite 'raed'" and not done.stdout, 'status %d: %s%s',
          done.returncode, done.stdout, done.stderr)
    listed = subprocess.run(['meson', 'introspect', '--tests', BUILD], stdout=subprocess.PIPE, check=True).stdout
    here = {suite.split(':')[-1] for test in json.loads(listed) for suite in test['suite']}
    check(here <= set(known.strip(')\n').split()), 'suites %s are not in the known ones: %s',
          here - set(known.strip(')\n').split()), known)


if __name__ == '__main__':
    main([
        harness_detects_wrong_record_sequences, harness_parses_text_lines_of_records,
        harness_detects_wrong_streams_in_a_scan, harness_detects_sanitizer_reports,
        failed_wait_of_a_test_prints_process_stacks, process_that_does_not_end_in_a_test_prints_its_stacks,
        no_test_passes_a_timeout_to_subprocess, slow_test_prints_process_stacks,
        harness_counts_only_its_own_shared_memory, test_script_reports_unknown_suites
    ])
