#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Count C tokens without comments by folder, outside t/ and tests/: the size of the product, independent of its layout.

usage: c_tokens.py [COMMIT...]   a table: a column for each commit, and for the working tree
"""
import re
import subprocess
import sys

TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|\w+|[^\w\s]', re.S)
COUNTED = re.compile(r'^(src|include)/(?!.*/t/).*\.[chS]$')


def git(*arguments):
    return subprocess.run(['git', *arguments], capture_output=True, text=True, errors='replace', check=True).stdout


def names(commit, path=()):
    command = ['ls-tree', '-r', '--name-only', commit] if commit else ['ls-files', '-co', '--exclude-standard']
    return set(git(*command, *path).splitlines())


def text(commit, name):
    if commit:
        return git('show', '%s:%s' % (commit, name))
    with open(name, encoding='utf-8', errors='replace') as f:
        return f.read()


def tokens(source):
    """The tokens of a source. Adjacent string literals are one token, because splitting a long one is layout."""
    found = []
    for token in TOKEN.findall(source):
        if token.startswith(('//', '/*')):
            continue
        if token[0] == '"' and found and found[-1][0] == '"':
            found[-1] = found[-1][:-1] + token[1:]
        else:
            found.append(token)
    return found


def counts(commit):
    found = {}
    for name in names(commit):
        if COUNTED.match(name):
            folder = '/'.join(name.split('/')[:2 if name.startswith('src') else 1])
            found[folder] = found.get(folder, 0) + len(tokens(text(commit, name)))
    return found


def table(commits):
    columns = [counts(commit) for commit in [*commits, None]]
    folders = sorted(set().union(*columns))
    print('| folder | %s | now |%s' % (' | '.join(commits), ' % |' if commits else ''))
    print('|---' * (len(columns) + 1 + bool(commits)) + '|')
    for folder in [*folders, 'all']:
        row = [sum(c.values()) if folder == 'all' else c.get(folder, 0) for c in columns]
        part = ' %s |' % ('%.1f' % (100 * row[-1] / row[0]) if row[0] else '-') if commits else ''
        print('| %s | %s |%s' % (folder, ' | '.join(map(str, row)), part))


def main(args):
    if args[:1] == ['--help']:
        print(__doc__)
        return 0
    table(args)
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
