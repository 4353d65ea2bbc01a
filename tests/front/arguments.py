#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
The SDT note of an enabled block describes the staged arguments: the size, sign and location of each.

  arguments.py SOURCE_ROOT
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE = '''#include <waymark/trace.h>
extern int number; extern const char *text; extern unsigned long wide; extern short little; extern double real;
extern unsigned char byte;
WAYMARK_LABELS(states, (NEW, 0), (PAID, 1));
void f(void);
void f(void)
{
	waymark(t, numbers, byte, little, number, wide, real, (signed char)1);
	waymark(t, mixed, number, text, byte, wm_level(ERR), wm_bytes("abc", 3), wide, wm_enum(states, number));
	waymark(t, twelve, %s);
	waymark(t, thirteen, number, %s);
	waymark(t, nothing);
}
''' % (', '.join(['number'] * 12), ', '.join(['number'] * 12))

# The references follow one word for each scalar and one more.
EXPECTED = {
    'numbers': '1@0 -2@1 -4@3 8@7 8@15 -1@23',
    'mixed': '-4@0 8@REFS 1@8 8@REFS+16 8@16 -4@24',
    'twelve': ' '.join('-4@%d' % (4 * i) for i in range(12)),
}
COMPILERS = ['gcc', 'clang', 'g++', 'clang++', 'aarch64-linux-gnu-gcc', 'aarch64-linux-gnu-g++']


def notes(compiler, level, root):
    """{name of the event: its arguments as SIZE@OFFSET}; all arguments of an event have the same base register."""
    language = ['-x', 'c++', '-std=c++11'] if '++' in compiler else ['-x', 'c', '-std=c11']
    with tempfile.TemporaryDirectory() as place:
        source, target = os.path.join(place, 'a.c'), os.path.join(place, 'a.o')
        with open(source, 'w') as f:
            f.write(SOURCE)
        include = '-I' + os.path.join(root, 'include')
        subprocess.run([compiler, *language, level, include, '-c', source, '-o', target], check=True)
        text = subprocess.run(['readelf', '-nW', target], stdout=subprocess.PIPE, text=True, check=True).stdout
    found = {}
    for name, arguments in re.findall(r'Name: (\w+)_args\n.*\n\s*Arguments: (.*)', text):
        one = re.findall(r'(-?\d+)@(\d+)\((%\w+)\)', arguments) or \
            [(size, offset, base) for size, base, offset in re.findall(r'(-?\d+)@\[(\w+), (\d+)\]', arguments)]
        assert len({base for _, _, base in one}) <= 1, '%s: several bases: %s' % (name, arguments)
        found[name] = ' '.join('%s@%s' % (size, offset) for size, offset, _ in one)
    return found


def main():
    compilers = [c for c in COMPILERS if shutil.which(c)]
    if not shutil.which('readelf') or not compilers:
        print('no readelf or no compiler')
        return 77
    for compiler in compilers:
        for level in ('-O0', '-O2'):
            found = notes(compiler, level, sys.argv[1])
            # in C, an argument that is a level has its own word
            refs = 8 * (5 + ('++' not in compiler))
            for name, expected in EXPECTED.items():
                expected = expected.replace('REFS+16', str(refs + 16)).replace('REFS', str(refs))
                if found.get(name) != expected:
                    sys.exit('%s %s: %s is %s, not %s' % (compiler, level, name, found.get(name), expected))
            for name in ('thirteen', 'nothing'):
                if found.get(name):
                    sys.exit('%s %s: %s has arguments: %s' % (compiler, level, name, found[name]))
    print('arguments of %d events with %s' % (len(EXPECTED), ' '.join(compilers)))
    return 0


if __name__ == '__main__':
    sys.exit(main())
