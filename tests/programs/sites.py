#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes a C program with many sites: sites.py COUNT PARTS OUTPUT (part 0 holds main; `sites.py 10000 4 a.c b.c c.c d.c`)."""
import sys

count, outputs = int(sys.argv[1]), sys.argv[2:]
each = count // len(outputs)
for part, path in enumerate(outputs):
    with open(path, 'w') as f:
        f.write('#include <stdint.h>\n#include <waymark/trace.h>\nvoid part%d(uint32_t v);\n' % part)
        f.write('void part%d(uint32_t v)\n{\n' % part)
        for i in range(part * each, (part + 1) * each):
            f.write('\twaymark(many, event_%d, v);\n' % i)
        f.write('}\n')
        if part == 0:
            for other in range(1, len(outputs)):
                f.write('void part%d(uint32_t v);\n' % other)
            f.write('int main(void)\n{\n')
            for any_part in range(len(outputs)):
                f.write('\tpart%d(%d);\n' % (any_part, any_part))
            f.write('\treturn 0;\n}\n')
