#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The man pages of a library: groff reports no warning, and each exported function is explained in one of
them.

usage: check_man.py MAP DIRECTORY PAGE...

What it looks for is planted as well, and must be found.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile


def troff(directory, name):
    """The warnings of groff for a page, run where `man` runs it."""
    return subprocess.run(['groff', '-man', '-Tutf8', '-ww', '-z', name], cwd=directory, capture_output=True, text=True,
                          timeout=60).stderr


def explained(pages, function):
    """Pages that have it in the synopsis and among the functions, with words."""
    shown = re.compile(r'\b%s\(' % function)
    described = re.compile(r'^\.TP\n\.BR %s \(\)\n[^.\n]' % function, re.M)
    return [
        name for name, text in pages.items()
        if shown.search(re.sub(r'\\f[BIR]', '',
                               text.split('.SH FUNCTIONS')[0])) and described.search(text)
    ]


def wrong_functions(pages, functions, directory):
    wrong = []
    for function in functions:
        found = explained(pages, function)
        if len(found) != 1:
            wrong.append('%s is explained in %s, not in one page' % (function, ', '.join(found) or 'none'))
            continue
        alias = os.path.join(directory, function + '.3')
        if not os.path.exists(alias) or open(alias).read() != '.so man3/%s\n' % found[0]:
            wrong.append('%s.3 does not lead to %s' % (function, found[0]))
    return wrong


def wrong_roff(directory, names):
    return ['%s: %s' % (name, said) for name in names for said in [troff(directory, name)] if said]


def main(symbols, directory, names):
    pages = {name: open(os.path.join(directory, name), encoding='utf-8').read() for name in names}
    functions = re.findall(r'(\w+);', open(symbols).read().split('local:')[0])
    wrong = wrong_functions(pages, functions, directory)
    if not functions or not wrong_functions(pages, ['not_' + functions[0]], directory) or \
            not wrong_functions(dict(pages, twice=pages[explained(pages, functions[0])[0]]), functions[:1], directory):
        wrong.append('a function without a page, or with two, is not found')
    unseen = [
        name for name in names if name.endswith('.3') and name[:-2] not in pages.get(names[-1], '').replace('\\-', '-')
    ]
    wrong += ['the overview does not name ' + name for name in unseen]
    if shutil.which('groff'):
        wrong += wrong_roff(directory, names)
        with tempfile.TemporaryDirectory() as planted:
            with open(os.path.join(planted, 'bad.3'), 'w') as f:
                f.write(pages[names[0]] + '.NOSUCH macro\n')
            if not wrong_roff(planted, ['bad.3']):
                wrong.append('troff says nothing of a macro that there is not')
    else:
        print('SKIPPED: groff is not there, so nobody has looked at the pages as troff does')
    for line in wrong:
        print(line)
    print('%d functions in %d pages' % (len(functions), len(names)) + (', wrong' if wrong else ''))
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
