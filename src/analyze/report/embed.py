#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Makes a C header with the text of the files that form the page of a report.

usage: embed.py OUTPUT NAME=FILE...
"""
import sys


def main(output, *parts):
    with open(output, 'w', encoding='ascii') as out:
        for part in parts:
            name, path = part.split('=', 1)
            with open(path, 'rb') as f:
                data = f.read()
            if not path.endswith('.html') and b'</s' in data.lower():
                sys.exit('%s: contains </s, which would end its element in the page' % path)
            out.write('static const char %s[] = {' % name)
            for at in range(0, len(data), 24):
                out.write('\n\t' + ' '.join('0x%02x,' % byte if byte < 128 else "'\\x%02x'," % byte
                                            for byte in data[at:at + 24]))
            out.write(' 0x00\n};\n')


main(*sys.argv[1:])
