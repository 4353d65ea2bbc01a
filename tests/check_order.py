#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Checks the order of the folders: a folder includes only the interfaces of earlier folders, and no file hides a system
header.

If a folder has an order of sub-folders, the same rule applies to these.

usage: check_order.py [ROOT]         check the tree; exit status 1 when an #include goes back
       check_order.py --self-test    plant edges that must be found, and similar ones that must not

Files with more than 600 lines cause a warning: they lack a concept.
"""
import os
import re
import sys
import tempfile

# The order of docs/tree.md. It may name folders that do not exist yet.
ORDER = ['base', 'schema', 'ring', 'filter', 'ctf', 'wire', 'tracer', 'store', 'net', 'kernel', 'strace', 'import',
         'read', 'symbols', 'sender', 'consumer', 'relay', 'ctl', 'session', 'sessiond', 'analyze', 'top', 'cli',
         'daemons']
# Folders that may include fewer folders than those before them. The ring is a separate library. Applications link
# libwaymark, so it contains only code that is acceptable there.
ONLY = {
    'base': set(),
    'ring': {'base'},
    'filter': {'base', 'schema'},
    'ctl': {'base', 'wire'},
    'tracer': {'base', 'schema', 'ring', 'filter', 'wire'},
    'import': {'base', 'schema', 'ctf', 'store'},
    'net': {'base'},
}
# The order of sub-folders within a folder. Files of `bpf` are compiled for the kernel.
SUB_ORDER = {
    'kernel': ['proc', 'tracefs', 'event', 'tasks', 'probe', 'statedump', 'syscall', 'bpf', 'channel'],
    'session': ['model', 'kernel', 'apps', 'control', 'recovery'],
}
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.M)
SYSTEM = re.compile(r'^\s*#\s*include\s*<([^>/]+)>', re.M)
LONGEST = 600


def sources(top):
    for where, dirs, files in os.walk(top):
        dirs[:] = [d for d in dirs if d != 'corpus' and not d.startswith('corpus-')]
        for name in files:
            if name.endswith(('.c', '.h', '.cc', '.cpp', '.S', '.inc')):
                yield os.path.join(where, name)


def folder_of(path, src):
    return os.path.relpath(path, src).split(os.sep)[0]


def target_folder(path, include, src):
    """The folder of src/ that an #include leads into, or None (a system header, include/waymark, a generated file)."""
    beside = os.path.normpath(os.path.join(os.path.dirname(path), include))
    if os.path.exists(beside) and beside.startswith(src + os.sep):
        return folder_of(beside, src)
    first = include.split('/')[0]
    return first if '/' in include and os.path.isdir(os.path.join(src, first)) else None


def sub_folder(path, src):
    """The sub-folder of a file, if its folder has an order of sub-folders; None also for tests."""
    words = os.path.relpath(path, src).split(os.sep)
    return words[1] if words[0] in SUB_ORDER and len(words) > 2 and words[1] != 't' else None


def target_path(path, include, src):
    beside = os.path.normpath(os.path.join(os.path.dirname(path), include))
    return beside if os.path.exists(beside) else os.path.join(src, include)


def within_folder(path, include, src):
    """
    A sentence if an #include leads to a later sub-folder of the same folder, or to one that is not in the order; else
    None.
    """
    here, there = sub_folder(path, src), sub_folder(target_path(path, include, src), src)
    order = SUB_ORDER.get(folder_of(path, src), [])
    if here is None or there is None or here == there:
        return None
    if here not in order or there not in order:
        return f'{here if here not in order else there} has no place in the order of sub-folders'
    return f'{there} comes after {here}' if order.index(there) > order.index(here) else None


def check(root):
    """Sentences, one for each #include that goes back."""
    src = os.path.join(os.path.abspath(root), 'src')
    wrong = []
    for path in sorted(sources(src)):
        here = folder_of(path, src)
        shown = os.path.relpath(path, root)
        if here not in ORDER:
            wrong.append(f'{shown}: folder {here} has no place in the order')
            continue
        with open(path, encoding='utf-8', errors='replace') as f:
            text = f.read()
        for match in INCLUDE.finditer(text):
            there = target_folder(path, match.group(1), src)
            line = line_of(text, match)
            if there == here:
                why = within_folder(path, match.group(1), src)
                if why:
                    wrong.append(f'{shown}:{line}: includes {match.group(1)}: {why}')
            if there is None or there == here:
                continue
            if there not in ORDER:
                wrong.append(f'{shown}:{line}: includes {match.group(1)}: folder {there} has no place in the order')
            elif ORDER.index(there) > ORDER.index(here):
                wrong.append(f'{shown}:{line}: includes {match.group(1)}: {there} comes after {here}')
            elif here in ONLY and there not in ONLY[here] and '/t/' not in shown:
                wrong.append(f'{shown}:{line}: includes {match.group(1)}: {here} may not see {there}')
        # The include path of a build contains the folder of the sources, so a header there can hide a system header.
        for match in SYSTEM.finditer(text):
            if os.path.exists(os.path.join(src, here, match.group(1))):
                wrong.append(
                    f'{shown}:{line_of(text, match)}: <{match.group(1)}> is hidden by src/{here}/{match.group(1)}')
    return wrong


def line_of(text, match):
    return text.count('\n', 0, match.start()) + 1


def long_files(root):
    for top in ('src', 'include', 'tests', 'bench', 'examples'):
        for path in sources(os.path.join(root, top)):
            with open(path, encoding='utf-8', errors='replace') as f:
                lines = sum(1 for _ in f)
            if lines > LONGEST:
                yield f'{os.path.relpath(path, root)}: {lines} lines'


def self_test():
    """(file, its text, whether it must be found)"""
    cases = [
        ('src/base/a.c', '#include "wire/wire.h"\n', True),
        ('src/wire/a.c', '#include "base/error.h"\n', False),
        ('src/wire/b.c', '#include "tracer/t.h"\n', True),
        ('src/wire/c.c', '#  include "../tracer/t.h"\n', True),
        ('src/wire/d.c', '#include <tracer/t.h>\n', False),
        ('src/ring/a.c', '#include "schema/s.h"\n', True),
        ('src/ring/t/a.c', '#include "schema/s.h"\n', False),
        ('src/tracer/a.c', '#include "ctf/c.h"\n', True),
        ('src/tracer/b.c', '#include "wire/wire.h"\n#include "t.h"\n', False),
        ('src/base/b.c', '#include <error.h>\n', True),
        ('src/base/c.c', '#include <errno.h>\n', False),
        ('src/wire/e.c', '#include <error.h>\n', False),
        ('src/kernel/event/a.c', '#include "kernel/proc/p.h"\n', False),
        ('src/kernel/event/b.c', '#include "kernel/channel/c.h"\n', True),
        ('src/kernel/event/c.c', '#include "../channel/c.h"\n', True),
        ('src/kernel/event/d.c', '#include "kernel/newcomer/n.h"\n', True),
        ('src/kernel/t/a.c', '#include "kernel/channel/c.h"\n', False),
        ('src/newcomer/a.c', '\n', True),
        ('src/cli/a.c', '#include "newcomer/n.h"\n', True),
    ]
    headers = ['src/base/error.h', 'src/wire/wire.h', 'src/tracer/t.h', 'src/schema/s.h', 'src/ctf/c.h',
               'src/kernel/proc/p.h', 'src/kernel/channel/c.h', 'src/kernel/newcomer/n.h']
    with tempfile.TemporaryDirectory() as root:
        for name in headers + [c[0] for c in cases]:
            os.makedirs(os.path.join(root, os.path.dirname(name)), exist_ok=True)
        for name in headers:
            open(os.path.join(root, name), 'w').close()
        for name, text, _ in cases:
            with open(os.path.join(root, name), 'w') as f:
                f.write(text)
        wrong = check(root)
        bad = 0
        for name, text, found in cases:
            if any(w.startswith(name + ':') for w in wrong) != found:
                print(f'{name}: {text.strip()!r} should {"" if found else "not "}have been found')
                bad = 1
    print(f'self-test: {len(cases)} cases' + (' FAILED' if bad else ''))
    return bad


def main(args):
    if args == ['--self-test']:
        return self_test()
    root = args[0] if args else '.'
    if not os.path.isdir(os.path.join(root, 'src')):
        print(f'{root} has no src/')
        return 2
    for line in long_files(root):
        print(f'warning: {line} (more than {LONGEST})')
    wrong = check(root)
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
