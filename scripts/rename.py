#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Applies a map of renames to the tree; a branch made before a rename is brought up to date by the same map.

usage: rename.py MAP...   apply maps (scripts/renames/*.map), and print bare mentions of renamed files that were left
       rename.py --self-test

A map has one rename a line; "#" begins a comment:
  file OLD NEW     paths from the root; the include lines, lists of meson.build and mentions "folder/name" change too
  name OLD NEW     an identifier, as a whole word, in every text file
  tag FILE OLD NEW "struct OLD" (union, enum) in one file, named by its path before the map
  local FILE OLD NEW  an identifier in the code of one file, not in its comments and strings
The guard of a renamed header changes with it.
A line has no effect if its OLD no longer exists, so a map can be applied twice.
"""
import os
import re
import subprocess
import sys
import tempfile

SKIPPED = re.compile(r'(^|/)(corpus[^/]*|formats|golden|traces)/|^scripts/renames/|^docs/decisions/')
NO_CODE = r'(?s:/\*.*?\*/)|"(?:\\.|[^"\\\n])*"|#include [^\n]*'
BEFORE, AFTER = r'(?<![\w/.-])', r'(?![\w-])(?!\.\w)'


def git(root, *words):
    return subprocess.run(['git', '-C', root, *words], check=True, capture_output=True, text=True).stdout


def texts(root):
    for path in git(root, 'ls-files').splitlines():
        whole = os.path.join(root, path)
        if SKIPPED.search(path) or os.path.islink(whole) or not os.path.isfile(whole):
            continue
        with open(whole, 'rb') as f:
            data = f.read()
        try:
            yield path, data.decode()
        except UnicodeDecodeError:
            continue


def parse(lines):
    files, names, in_one = {}, {}, []
    for number, line in enumerate(lines, 1):
        words = line.split('#')[0].split()
        if not words:
            continue
        if len(words) == 4 and words[0] in ('tag', 'local'):
            in_one.append(tuple(words))
            continue
        if len(words) != 3 or words[0] not in ('file', 'name'):
            raise SystemExit('line %d: "%s" is no rename (use: file|name OLD NEW, tag|local FILE OLD NEW)'
                             % (number, line.strip()))
        (files if words[0] == 'file' else names)[words[1]] = words[2]
    return files, names, in_one


def guard(path):
    """WMK_KERNEL_TRACKER_H for src/kernel/tasks/tracker.h."""
    words = path.split('/')
    return 'WMK_%s_%s' % (words[1].upper(), words[-1].replace('.', '_').upper())


def top_of(path):
    """src/kernel/t/x.c belongs to src/kernel; tests/cases/x.py to tests."""
    words = path.split('/')
    return '/'.join(words[:2]) if words[0] == 'src' else words[0]


def mentions(path, before, files):
    """The names of each renamed file in a file's text: the whole path, "folder/name", the bare name in its folder.

    `before`: the path that the file had before the renames.
    """
    here = os.path.dirname(path)
    for old, new in files.items():
        yield old, new
        if old.startswith('src/'):
            yield old[4:], new[4:]
        if old.startswith('include/'):
            yield old[8:], new[8:]
        if os.path.basename(path) == 'meson.build':
            if old.startswith(here + '/'):
                yield os.path.relpath(old, here), os.path.relpath(new, here)
        elif top_of(old) == top_of(before):
            yield os.path.basename(old), os.path.basename(new)


def rename_in_one(text, kind, old, new):
    if kind == 'tag':
        return re.sub(r'\b(struct|union|enum) %s\b' % re.escape(old), r'\1 ' + new, text)
    return re.sub(NO_CODE + r'|\b%s\b' % re.escape(old), lambda m: new if m.group() == old else m.group(), text)


def apply(root, files, names, in_one):
    for kind, path, old, new in in_one:
        path = os.path.join(root, path)
        if os.path.exists(path):
            with open(path, encoding='utf-8') as f:
                text = f.read()
            with open(path, 'w', encoding='utf-8') as f:
                f.write(rename_in_one(text, kind, old, new))
    def exists(path):
        return os.path.exists(os.path.join(root, path))

    # A branch may mention the old name of a file that was renamed before.
    files = {old: new for old, new in files.items() if exists(old) or exists(new)}
    for old, new in files.items():
        if not exists(old):
            continue
        os.makedirs(os.path.dirname(os.path.join(root, new)), exist_ok=True)
        git(root, 'mv', old, new)
    names = {**names, **{guard(old): guard(new) for old, new in files.items() if re.match(r'src/\w+/.*\.h$', old)}}
    word = re.compile(r'(?<![\w/])(%s)\b(?!\.[chS]\b)' % '|'.join(map(re.escape, names))) if names else None
    before = {}
    for old, new in files.items():
        before.update({new: old} if os.path.isfile(os.path.join(root, new)) else {})
    bare = {os.path.basename(old): new for old, new in files.items()}
    for path, text in list(texts(root)):
        changed = text
        table = dict(mentions(path, before.get(path, path), files))
        if table:
            longest = sorted(table, key=len, reverse=True)
            any_of = '(%s)' % '|'.join(map(re.escape, longest))
            changed = re.sub(BEFORE + any_of + AFTER, lambda m: table[m.group(1)], changed)
        if word:
            changed = word.sub(lambda m: names[m.group(1)], changed)
        if changed != text:
            with open(os.path.join(root, path), 'w', encoding='utf-8') as f:
                f.write(changed)
        for old, new in bare.items():
            if top_of(path) != top_of(new) and re.search(BEFORE + re.escape(old) + AFTER, changed):
                print('%s mentions %s: is it %s?' % (path, old, new))


def self_test():
    with tempfile.TemporaryDirectory() as root:
        def put(path, text):
            os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
            with open(os.path.join(root, path), 'w', encoding='utf-8') as f:
                f.write(text)
        put('src/a/who.c', '/* who.c, who.h */ #include "a/who.h"\nint who(int who_else);')
        put('src/a/who.h', '#ifndef WMK_A_WHO_H\nint who(int);')
        put('src/a/print.c', '/* print.c, who.c */')
        put('src/a/meson.build', "files('who.c', 'b_who.c')")
        put('src/b/x.c', '#include "a/who.h"\n#include "b/who.h"\nstruct s s; who(1); /* n */ n("n");')
        put('docs/a.md', 'see `a/who.h` and src/a/who.c')
        git(root, 'init', '-q')
        git(root, 'add', '.')
        renames = parse([
            'file src/a/who.c src/a/tasks/task.c', 'file src/a/who.h src/a/tasks/task.h # moved',
            'file src/a/print.c src/c/line.c', 'name who task_find', 'tag src/b/x.c s set', 'local src/b/x.c n count'
        ])
        for _ in range(2):
            apply(root, *renames)
        got = {path: text for path, text in texts(root)}
        wanted = {
            'src/a/tasks/task.c': '/* task.c, task.h */ #include "a/tasks/task.h"\nint task_find(int who_else);',
            'src/a/tasks/task.h': '#ifndef WMK_A_TASK_H\nint task_find(int);', 'src/c/line.c': '/* line.c, task.c */',
            'src/a/meson.build': "files('tasks/task.c', 'b_who.c')",
            'src/b/x.c': '#include "a/tasks/task.h"\n#include "b/who.h"\n'
                         'struct set s; task_find(1); /* n */ count("n");',
            'docs/a.md': 'see `a/tasks/task.h` and src/a/tasks/task.c'
        }
        if got != wanted:
            raise SystemExit('self-test: got %r' % {k: v for k, v in got.items() if wanted.get(k) != v})
    print('rename: self-test ok')


def main():
    if sys.argv[1:] == ['--self-test']:
        return self_test()
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    for name in sys.argv[1:]:
        with open(name, encoding='utf-8') as f:
            apply(root, *parse(f))


if __name__ == '__main__':
    main()
