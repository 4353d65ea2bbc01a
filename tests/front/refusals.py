#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Programs that must not compile, each with its message, and a variant of each, one token different, that must compile.

  refusals.py SOURCE_ROOT
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

PREFIX = '''#include <waymark/trace.h>
struct record { int a; };
extern struct record records[2]; extern int square[2][2], numbers[2]; extern const char *texts[2];
WAYMARK_LABELS(states, (NEW, 0), (PAID, 1));
WAYMARK_EVENT(shop, paid, (int id, const char *who), wm_field(int, id, id), wm_field(const char *, who, who));
extern struct record r;
extern int x, *p; extern const char *s; extern double d; extern unsigned char c; extern __int128 wide;
'''
FUNCTION = '#line # "case"\nvoid f#(void); void f#(void) { @; }\n'
ARRAYS = 'waymark: (only an array of numbers|an argument of this type cannot be a field)'
NAMES = 'waymark: provider and name of an event are identifiers'
THIRTY = ', '.join(['x'] * 30)
# languages, the text that must not compile, the token to change, its replacement, the message
CASES = [
    ('c c++', 'waymark(a, b, %s, x, x, x)' % THIRTY, ', x, x, x)', ', x, x)', 'waymark: at most 32 fields'),
    ('c c++', 'waymark(a, b, %s, %s, %s)' % (THIRTY, THIRTY, 'x'), ', %s, x)' % THIRTY, ', x)',
     'waymark: at most 32 fields'),
    ('c c++', 'waymark(a, b, %s, x, x, wm_level(ERR), x)' % THIRTY, ', wm_level(ERR), x)', ', wm_level(ERR))',
     'waymark: at most 32 fields'),
    ('c c++', 'waymark(a, b, r)', 'r)', 'r.a)', 'waymark: an argument of this type cannot be a field'),
    ('c c++', 'waymark(a, b, wm_hex(d))', 'd)', 'x)', 'waymark: wm_hex takes an integer'),
    ('c c++', 'waymark(a, b, wm_oct(s))', 's)', 'x)', 'waymark: wm_oct takes an integer'),
    ('c c++', 'waymark(a, b, wm_net(c))', '(c)', '(x)', 'waymark: wm_net takes an integer of 16, 32 or 64 bits'),
    ('c c++', 'waymark(a, b, wm_seq(&s, 1))', '&s', '&x', 'waymark: wm_seq takes a pointer to numbers'),
    ('c c++', 'waymark(a, b, wm_array(&s, 1))', '&s', '&x', 'waymark: wm_array takes a pointer to numbers'),
    ('c c++', 'waymark(a, b, wm_enum(states, d))', 'd)', 'x)', 'waymark: wm_enum takes an integer'),
    ('c c++', 'waymark(a, b, wm_flags(states, d))', 'd)', 'x)', 'waymark: wm_flags takes an integer'),
    ('c c++', 'waymark(a, b, wm_enum(unknown, x))', 'unknown', 'states', 'unknown'),
    ('c c++', 'waymark(a, b, x, wm_level(LOUD))', 'LOUD', 'ERR', 'WAYMARK_LEVEL_LOUD'),
    ('c c++', 'waymark_mark(m, "a %d", s)', '%d', '%s', 'format'),
    ('c c++', 'waymark_mark(m, "a %d b %d", x)', ', x', ', x, x', 'format'),
    ('c c++', 'waymark_mark(m, s)', 's)', '"s")', 's'),
    ('c c++', 'waymark_logf(INFO, "%s", d)', '%s', '%f', 'format'),
    ('c c++', 'waymark_logf(LOUD, "%d", x)', 'LOUD', 'INFO', 'WAYMARK_LEVEL_LOUD'),
    ('c c++', 'waymark_shop_paid(s, s)', '(s,', '(x,', 'waymark_shop_paid|conversion'),
    ('c c++', 'waymark_shop_paid(x)', '(x)', '(x, s)', 'waymark_shop_paid|too few arguments'),
    ('c c++', 'waymark_counter(a, b, s)', 's)', 'x)', 'waymark: the value of a counter is a number'),
    ('c c++', 'waymark_counter(a, b, p)', 'p)', '*p)', 'waymark: the value of a counter is a number'),
    ('c c++', 'waymark_counter(a, b, x, r)', 'r)', 'd)', 'waymark: an argument of this type cannot be a field'),
    ('c c++', 'waymark_begin(a, b, %s, x, x, x)' % THIRTY, ', x, x, x)', ', x, x)', 'waymark: at most 32 fields'),
    ('c++', 'if (x) { waymark_span(a, b, r); }', 'r)', 'x)', 'waymark: an argument of this type cannot be a field'),
    ('c++', 'x = waymark_span(a, b)', 'x = ', '', 'expected'),
    ('c c++', 'waymark(a, b, records)', 'records', 'records[0].a', ARRAYS),
    ('c c++', 'waymark(a, b, texts)', 'texts', 'texts[0]', 'waymark: only an array of numbers can be a field'),
    ('c c++', 'waymark(a, b, square)', 'square', 'square[1]', ARRAYS),
    ('c c++', 'waymark(a, b, wm_hex(numbers))', 'numbers', '*numbers', 'waymark: wm_hex takes an integer'),
    ('c c++', 'waymark_counter(a, b, numbers)', 'numbers', 'x', 'waymark: the value of a counter is a number'),
    ('c c++', 'waymark(a)', 'a)', 'a, b)', NAMES),
    ('c c++', 'waymark(a, )', 'a, )', 'a, b)', NAMES),
    ('c c++', 'waymark()', '()', '(a, b)', NAMES),
    ('c c++', 'waymark(a, b-c, 1)', 'b-c', 'b_c', NAMES),
    ('c c++', 'waymark(a-c, b, 1)', 'a-c', 'a_c', NAMES),
    ('c c++', 'waymark("a", "b", 1)', '"a", "b"', 'a, b', NAMES),
    ('c c++', 'waymark(a, "b", 1)', '"b"', 'b', NAMES),
    ('c c++', 'waymark(a, 1b, 1)', '1b', 'b1', NAMES),
    ('c c++', 'waymark(a, b.c, 1)', 'b.c', 'b', NAMES),
    ('c c++', 'waymark(a, b c, 1)', 'b c', 'b', NAMES),
    ('c c++', 'waymark(a, %s, 1)' % ('n' * 256), 'n' * 256, 'n' * 255, NAMES),
    ('c c++', 'waymark_begin(a)', 'a)', 'a, b)', NAMES),
    ('c c++', 'waymark_begin(a, )', 'a, )', 'a, b)', NAMES),
    ('c c++', 'waymark_end(a, b-c)', 'b-c', 'b', NAMES),
    ('c++', 'waymark_span(a, b-c)', 'b-c', 'b', NAMES),
    ('c c++', 'waymark_counter(a, b-c, x)', 'b-c', 'b', NAMES),
    ('c c++', 'waymark_counter(a, b)', 'b)', 'b, x)', 'waymark: the value of the counter is missing'),
    ('c c++', 'waymark_mark("m", "a %d", x)', '"m"', 'm', NAMES),
    ('c c++', 'waymark_mark(m)', 'm)', 'm, "a")', 'waymark: the format is missing'),
    ('c c++', 'waymark_logf(INFO)', 'INFO)', 'INFO, "a")', 'waymark: the format is missing'),
    ('c c++', 'x = wm_enabled(a, b-c)', 'b-c', 'b', NAMES),
    ('c c++', '} WAYMARK_EVENT(a, b-c, (int n), n); void g(void); void g(void) { (void)x', 'b-c', 'bc', NAMES),
    ('c', 'x = (int)(wm_hex(x))', 'wm_hex(x)', 'x', 'waymark_argument_context'),
]
COMPILERS = {'c': ['gcc', 'clang'], 'c++': ['g++', 'clang++']}


def compile_it(compiler, root, texts, suffix):
    """(exit status, messages) of a source with one function for each text. Messages refer to the text of number N,
    counted from 1, as line N of the file `case`."""
    with tempfile.TemporaryDirectory() as place:
        source = os.path.join(place, 'refused' + suffix)
        with open(source, 'w', encoding='utf-8') as out:
            out.write(PREFIX + ''.join(
                re.sub('(?<!^)#', str(n), FUNCTION).replace('@', text) for n, text in enumerate(texts, 1)))
        standard = '-std=gnu++11' if suffix == '.cc' else '-std=gnu11'
        every = '-ferror-limit=0' if compiler.startswith('clang') else '-fmax-errors=0'
        done = subprocess.run([
            compiler, standard, '-Wall', '-Werror', every, '-I' + os.path.join(root, 'include'), '-c', source, '-o',
            os.path.join(place, 'refused.o')
        ], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        return done.returncode, done.stdout


def errors_of(messages, number=None):
    """The lines that report an error; with `number`, only those of errors that refer to this text. The compiler names
    the line of a macro's definition first, then the line that uses the macro."""
    errors, lines = [], messages.splitlines()
    starts = [n for n, line in enumerate(lines) if 'error' in line] + [len(lines)]
    for start, end in zip(starts, starts[1:]):
        if number is None or any(line.startswith('case:%d:' % number) for line in lines[start:end]):
            errors.append(lines[start])
    return '\n'.join(errors)


def check_refused(compiler, root, cases, suffix):
    """The number of (text, message) that are not refused with their message. All are in one source; a text without its
    message is compiled alone, since a syntax error can hide the errors after it."""
    together = compile_it(compiler, root, [text for text, _ in cases], suffix)[1]
    wrong = 0
    for number, (text, message) in enumerate(cases, 1):
        if re.search(message, errors_of(together, number)):
            continue
        code, alone = compile_it(compiler, root, [text], suffix)
        if code and re.search(message, errors_of(alone)):
            continue
        wrong += 1
        print('%s: %s\n  must be refused with "%s", and was %s:\n%s' % (
            compiler, text, message, 'refused with' if code else 'accepted', errors_of(alone)[:1500]))
    return wrong


def refused_twins(compiler, root, twins, suffix):
    """The number of variants that do not compile. All are in one source; if it fails, each is compiled alone."""
    if not compile_it(compiler, root, twins, suffix)[0]:
        return 0
    failed = 0
    for twin in twins:
        code, said = compile_it(compiler, root, [twin], suffix)
        if code:
            failed += 1
            print('%s: the twin must compile: %s\n%s' % (compiler, twin, said[:1500]))
    if not failed:
        print('%s: twins that compile alone do not compile in one source' % compiler)
    return failed or 1


def main():
    root = os.path.abspath(sys.argv[1])
    failed = done = 0
    for language, suffix in (('c', '.c'), ('c++', '.cc')):
        for compiler in filter(shutil.which, COMPILERS[language]):
            cases, twins = [], []
            for languages, text, token, instead, message in CASES:
                assert text.count(token) >= 1, text
                if language in languages.split():
                    head, _, tail = text.rpartition(token)
                    twins.append(head + instead + tail)
                    cases.append((text, message))
            failed += check_refused(compiler, root, cases, suffix)
            failed += refused_twins(compiler, root, twins, suffix)
            done += len(twins)
    print('%d refusals with their twins, %d wrong' % (done, failed))
    return failed != 0 or done == 0


sys.exit(main())
