#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Generate the tables of system call numbers from the kernel's headers, as the compiler sees them.

usage: syscall_numbers.py OUTPUT COMPILER [ARGUMENT...]
"""
import re
import subprocess
import sys

# System calls of the machine; and those of its 32-bit programs, if the headers have them (x86).
TABLES = (('native', ('asm/unistd_64.h', 'asm/unistd.h')), ('compat', ('asm/unistd_32.h',)))
MOST = 512


def defines(compiler, header):
    """Macros that the header defines, name to text; None if the header does not exist."""
    run = subprocess.run([*compiler, '-E', '-dM', '-x', 'c', '-'], input=f'#include <{header}>\n', text=True,
                         capture_output=True)
    if run.returncode:
        return None
    return dict(re.findall(r'^#define (\w+) +(.+)$', run.stdout, re.M))


def numbers(macros):
    """System calls, number to name. A macro may have another macro as its value."""
    calls = {}
    for macro, text in macros.items():
        match = re.fullmatch(r'__NR_([a-z_]\w*)', macro)
        if not match or match.group(1) in ('syscalls', 'arch_specific_syscall'):
            continue
        for _ in range(4):
            text = macros.get(text, text)
        if re.fullmatch(r'\d+', text) and int(text) < MOST:
            calls[int(text)] = match.group(1)
    return calls


def main():
    output, compiler = sys.argv[1], sys.argv[2:]
    lines = [
        '/* Made by syscall_numbers.py from the headers of this machine\'s kernel. */',
        '#include "kernel/syscall/syscall_table.h"'
    ]
    for table, headers in TABLES:
        found = next((macros for macros in (defines(compiler, header) for header in headers) if macros), {})
        calls = numbers(found)
        if table == 'native' and len(calls) < 200:
            sys.exit(f'syscall_numbers: {len(calls)} calls in {headers}: is linux-libc-dev installed?')
        rows = [f'\t{{ {number}, "{calls[number]}" }},' for number in sorted(calls)] or ['\t{ 0, "" },']
        lines += ['', f'const struct wmk_syscall_number wmk_syscall_{table}[] = {{', *rows, '};',
                  f'const unsigned wmk_syscall_{table}_n = {len(calls)};']
    with open(output, 'w', encoding='utf-8') as file:
        file.write('\n'.join(lines) + '\n')


main()
