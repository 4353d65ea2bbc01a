#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes a C program with many sites: sites.py EVENTS COPIES OUTPUT. Each event's site is inlined COPIES times."""
import sys

events, copies, output = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
with open(output, 'w') as f:
    f.write('#include <stdint.h>\n#include <waymark/trace.h>\n')
    for i in range(events):
        f.write('static inline __attribute__((always_inline)) void emit%d(uint32_t copy)\n{\n'
                '\twaymark(many, event_%d, copy);\n}\n' % (i, i))
        f.write('static __attribute__((noinline)) void all%d(void)\n{\n' % i)
        f.write(''.join('\temit%d(%d);\n' % (i, copy) for copy in range(copies)) + '}\n')
    f.write('int main(void)\n{\n' + ''.join('\tall%d();\n' % i for i in range(events)) + '\treturn 0;\n}\n')
