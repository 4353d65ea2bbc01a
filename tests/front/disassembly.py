#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
A disabled site consists of the named instructions only.

  disassembly.py SOURCE_ROOT [--bytes]

Each function of disassembly.c is compiled with its site and without. The code that can run while the event is disabled
is all code except the block to which only an enabled site jumps. It must consist of the same instructions, plus `nop`
and `test $disp32,%eax`. A span is two of these, and a register test at its end unless the compiler removes it. A span
may also use callee-saved registers and stack space, but it adds no other loads and stores. The same checks must fail
for a WAYMARK_NO_PATCH build, where a site is a load and a branch; --bytes verifies that.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

EQUAL = {'gcc': ['constant', 'argument', 'several', 'stored', 'text', 'called', 'chosen'],
         'clang': ['constant', 'argument', 'stored', 'text', 'chosen']}
# clang moves the return value into %rax before the site; without the site, one instruction with three operands does
# both (several). After the address of a local object was an operand of assembly, clang makes no tail call, although the
# object is dead by then (called).
COMPILERS = ['gcc', 'clang', 'g++', 'clang++']


def disassemble(compiler, root, level, more):
    source = os.path.join(root, 'tests', 'front', 'disassembly.c')
    language = ['-x', 'c++', '-std=c++11'] if '++' in compiler else ['-std=c11']
    with tempfile.TemporaryDirectory() as place:
        target = os.path.join(place, 'out.o')
        subprocess.run([compiler, *language, level, '-fno-asynchronous-unwind-tables', '-fcf-protection=none', *more,
                        '-I' + os.path.join(root, 'include'), '-c', source, '-o', target], check=True)
        text = subprocess.run(['objdump', '-dr', '-C', '--no-show-raw-insn', target], stdout=subprocess.PIPE, text=True,
                              check=True).stdout
    functions, name = {}, None
    for line in text.splitlines():
        start = re.match(r'[0-9a-f]+ <(\w+)(\(.*\))?>:$', line)
        if start:
            name = start.group(1)
            functions[name] = []
        elif name and re.match(r'\s+[0-9a-f]+: R_', line):
            # A jump or a call out of the object: to a symbol, not to the placeholder address before linking.
            at, what = functions[name][-1]
            functions[name][-1] = (at, re.sub(r'^(j\w+|call) .*', r'\1 ' + re.split(r'[-+]', line.split()[2])[0], what))
        elif name and re.match(r'\s+[0-9a-f]+:\t', line):
            at, what = line.strip().split(':\t', 1)
            functions[name].append((int(at, 16), re.sub(r'\s*#.*', '', ' '.join(what.split()))))
    return functions


def hot(instructions):
    """
    The instructions that can run from the entry on, with both branches of each conditional jump, except those to which
    only an enabled site jumps. The compiler may place either branch first, so a condition compares equal to its
    opposite.
    """
    at = {address: i for i, (address, _) in enumerate(instructions)}
    seen, todo = set(), [0]
    while todo:
        i = todo.pop()
        if i in seen or i >= len(instructions):
            continue
        seen.add(i)
        what = instructions[i][1]
        jump = re.match(r'j\w+ ([0-9a-f]+) <', what)
        if jump and int(jump.group(1), 16) in at:
            todo.append(at[int(jump.group(1), 16)])
        if not re.match(r'(ret|jmp)\b', what):
            todo.append(i + 1)
    named = [re.sub(r'^((?:j\w+|call) )[0-9a-f]+ <(\w+).*', r'\1\2', instructions[i][1]) for i in sorted(seen)]
    return [
        re.sub(r'^j(?!mp)n?(\w+)',
               lambda m: 'j ' + {'ge': 'l', 'g': 'le', 'ae': 'b', 'a': 'be'}.get(m.group(1), m.group(1)), what)
        for what in named
    ]


def is_site(what):
    return what == 'nop' or re.match(r'test \$0x[0-9a-f]+,%eax$', what)


def ways(instructions, i=0, done=()):
    """All paths without loops from an instruction to a return: lists of instructions."""
    at = {address: k for k, (address, _) in enumerate(instructions)}
    while i < len(instructions) and i not in done:
        what, done = instructions[i][1], (*done, i)
        if re.match(r'ret\b', what):
            yield [instructions[k][1] for k in done]
            return
        jump = re.match(r'j(\w+) ([0-9a-f]+) <', what)
        there = at.get(int(jump.group(2), 16)) if jump else None
        if jump and jump.group(1) != 'mp' and there is not None:
            yield from ways(instructions, there, done)
        if jump and jump.group(1) == 'mp':
            if there is None:
                return
            i = there
        else:
            i += 1


KEEPING = re.compile(
    r'(push|pop) %\w+$|(add|sub) \$0x[0-9a-f]+,%rsp$|mov %\w+,%\w+$|mov \$0x[0-9a-f]+,%\w+$|xor (%\w+),\3$')


def essence(instructions):
    """The instructions without those that only save, set or move registers, and without the names of registers."""
    return [re.sub(r'%\w+', '%', re.sub(r' <.*', '', what)) for what in instructions if not KEEPING.match(what)]


def wrong_span(plain, sited):
    """
    Compares the path through a function with a span that records nothing with the only path without the span. Returns a
    sentence, or None.
    """
    quiet = [way for way in ways(sited) if not any('waymark_record' in what for what in way)]
    if len(quiet) != 1:
        return '%d ways on which nothing is recorded' % len(quiet)
    way, expected = quiet[0], essence(next(ways(plain)))
    sites = [what for what in way if re.match(r'test \$0x[0-9a-f]+,%eax$', what)]
    rest = essence(what for what in way if what not in sites and what != 'nop')
    tests = [i for i, what in enumerate(rest) if re.match(r'test %,%$', what)]
    for i in tests:
        rest[i:i + 2] = [] if re.match(r'j\w+ ', rest[i + 1]) else rest[i:i + 2]
    if len(sites) != 2 or way.count('nop') > 2 or len(tests) > 1 or sorted(rest) != sorted(expected):
        return 'without: %s; with: %s' % ('; '.join(expected), '; '.join(way))
    return None


def compare(compiler, root, level, more):
    """A sentence for each function with unexpected code; the number of functions that were checked."""
    wrong = []
    without = disassemble(compiler, root, level, more)
    with_sites = disassemble(compiler, root, level, [*more, '-DSITES'])
    has_span = 'spanned' in with_sites
    if has_span:
        words = wrong_span(without['spanned'], with_sites['spanned'])
        wrong += ['%s %s, spanned(): %s' % (compiler, level, words)] if words else []
    for name in EQUAL['clang' if 'clang' in compiler else 'gcc']:
        plain, sited = hot(without[name]), hot(with_sites[name])
        # the instructions of a site are adjacent: remove them once, the rest must be equal
        left, removed, i = [], [], 0
        while i < len(sited):
            if sited[i] == 'nop' and i + 1 < len(sited) and is_site(sited[i + 1]) and not removed:
                removed = sited[i:i + 2]
                i += 2
            else:
                left.append(sited[i])
                i += 1
        if len(removed) != 2 or not removed[1].startswith('test') or sorted(left) != sorted(plain):
            wrong.append('%s %s, %s():\n  without: %s\n  with:    %s' %
                         (compiler, level, name, '; '.join(plain), '; '.join(sited)))
    return wrong, len(EQUAL['clang' if 'clang' in compiler else 'gcc']) + has_span


def main():
    root = os.path.abspath(sys.argv[1])
    with_bytes = '--bytes' in sys.argv
    wrong, done = [], 0
    for compiler in COMPILERS:
        if not shutil.which(compiler):
            continue
        for level in ('-O2', '-O3'):
            for more in ([], ['-fPIC']):
                done += 1
                found, n = compare(compiler, root, level, [*more, '-DWAYMARK_NO_PATCH'] if with_bytes else more)
                if with_bytes and len(found) < n:
                    wrong.append('%s %s: a site that loads a byte passed for one that costs nothing, %d times' %
                                 (compiler, level, n - len(found)))
                elif not with_bytes:
                    wrong += found
    for w in wrong:
        print(w)
    print('%d builds, %d wrong' % (done, len(wrong)))
    return bool(wrong) or done == 0


if os.uname().machine != 'x86_64':
    print('not x86-64: left out')
    sys.exit(77)
sys.exit(main())
