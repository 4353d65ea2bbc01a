#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The restartable sequence of a record is aborted at each of its instructions, also by a move to another CPU."""
import collections
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from clocks import has_counter  # noqa: E402
from harness import Skip, check, limit, main, need  # noqa: E402

KINDS = ('run', 'text', 'short_text', 'bytes')
TEXT, BYTES = 'a text of some length', b'twenty bytes of data'


def instructions(library):
    """Offsets of the instructions of waymark_enter(), relative to its first one."""
    text = subprocess.run(['objdump', '-d', '--no-show-raw-insn', '--disassemble=waymark_enter', library],
                          stdout=subprocess.PIPE, text=True, check=True).stdout
    found = [int(at, 16) for at in re.findall(r'^\s*([0-9a-f]+):\t', text, re.M)]
    check(len(found) > 100, 'waymark_enter() has %d instructions', len(found))
    return [at - found[0] for at in found]


def aborted_at_each(case, options):
    if os.uname().machine != 'x86_64':
        raise Skip('x86-64 only')
    if not has_counter():
        raise Skip('waymark_enter() writes records only if the counter is the clock of this machine')
    need('objdump')
    library = os.path.join(os.environ['WMK_BUILD'], 'src', 'tracer', 'libwaymark.so')
    offsets, path = instructions(library), case.path('offsets')
    with open(path, 'w') as f:
        f.write(''.join('%d\n' % at for at in offsets))
    command = ['sh', '-c', '"$0" "$1" >"$2"', case.program('aborted'), path, case.path('counts')]
    result = case.record(command, options).ok()
    check(result.lost == 0, '%d records are lost', result.lost)
    with open(case.path('counts')) as f:
        n, hit, aborted = map(int, f.read().split())
    check(n == len(offsets) and hit > n, '%d of %d instructions, %d breakpoints hit', n, len(offsets), hit)
    # Without restartable sequences (a kernel before 4.18, a C library before 2.35) the short path is not used.
    if os.environ.get('GLIBC_TUNABLES') is None:
        check(aborted > 100, 'only %d sequences were aborted', aborted)
    seen = collections.defaultdict(list)
    for record in result.trace().records():
        if record.name.startswith('aborted:'):
            seen[record.name.split(':')[1]].append(record.fields)
    for kind in KINDS:
        numbers = [f['n'] for f in seen[kind]]
        check(numbers == list(range(n)), '%s: wrong sequence numbers %s', kind, numbers)
    check(len(seen['array']) == n, '%d arrays, not %d', len(seen['array']), n)
    check([f['n'] for f in seen['inner']] == list(range(1, hit + 1)), 'wrong records of the signal handler: %s',
          seen['inner'][-3:])
    for i in range(n):
        check(seen['run'][i]['twice'] == 2 * i and seen['text'][i]['text'] == TEXT, 'record %d: %s', i, seen['run'][i])
        check(seen['short_text'][i]['text'] == TEXT[:i % 16], 'record %d: %s', i, seen['short_text'][i])


@limit(100)
def record_aborted_at_each_instruction_is_complete(case):
    aborted_at_each(case, [])


@limit(100)
def record_with_contexts_aborted_at_each_instruction_is_complete(case):
    aborted_at_each(case, ['-c', 'vpid', '-c', 'vtid', '-c', 'procname'])


if __name__ == '__main__':
    main([record_aborted_at_each_instruction_is_complete, record_with_contexts_aborted_at_each_instruction_is_complete])
