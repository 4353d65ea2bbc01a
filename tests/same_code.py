#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Proves that a change of wording changed nothing else: compares the code of two commits without comments and strings.

usage: same_code.py OLD [NEW] [-- PATH...]   list files with different code; exit status 1 if any
       same_code.py --strings OLD [NEW] ...  also print how many string literals differ in each file
       same_code.py --self-test

NEW is the working tree by default. C files are compared by token, Python files by syntax tree without docstrings. The
texts of string literals are compared separately. A renamed file counts as another file.
"""
import ast
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'scripts'))
import c_tokens  # noqa: E402

COMPARED = re.compile(r'\.(c|h|cc|S|py)$')


def c_code(source):
    """(tokens with each literal replaced by "", the literals)"""
    tokens = c_tokens.tokens(source.replace('\\\n', ' '))
    return [t if t[0] != '"' else '""' for t in tokens], [t for t in tokens if t[0] == '"']


def python_code(source):
    """The same for a Python file; a docstring counts as a comment."""
    tree, literals = ast.parse(source), []
    for node in ast.walk(tree):
        body = getattr(node, 'body', None)
        if (isinstance(node, (ast.Module, ast.FunctionDef, ast.ClassDef)) and body and isinstance(body[0], ast.Expr)
                and isinstance(body[0].value, ast.Constant) and isinstance(body[0].value.value, str)):
            body[0].value.value = 'docstring'
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            literals.append(node.value)
            node.value = ''
    return ast.dump(tree), literals


def code(name, source):
    return python_code(source) if name.endswith('.py') else c_code(source)


def compare(old, new, path):
    """[(file, whether the code differs, how many literals differ)] of the files with any difference."""
    before, after = c_tokens.names(old, path), c_tokens.names(new, path)
    found = []
    for name in sorted(n for n in before | after if COMPARED.search(n)):
        if name not in before or name not in after:
            found.append((name, True, 0))
            continue
        was, now = c_tokens.text(old, name), c_tokens.text(new, name)
        if was == now:
            continue
        (code_was, texts_was), (code_now, texts_now) = code(name, was), code(name, now)
        changed = sum(a != b for a, b in zip(texts_was, texts_now)) + abs(len(texts_was) - len(texts_now))
        if code_was != code_now or changed:
            found.append((name, code_was != code_now, changed))
    return found


def self_test():
    """(name, before, after, whether the code differs, how many literals differ)"""
    cases = [
        ('a.c', 'int a; /* one */', 'int a; /* two */', False, 0),
        ('a.c', 'int a; /* one */', 'int b; /* one */', True, 0),
        ('a.c', 'f("one" "two");', 'f("onetwo");', False, 0),
        ('a.c', 'f("one %d", 1);', 'f("two %d", 1);', False, 1),
        ('a.c', '#define A \\\n\t1', '#define A 1', False, 0),
        ('a.py', '"""One."""\na = 1  # b', '"""Two."""\na = 1', False, 0),
        ('a.py', 'a = "one"', 'a = "two"', False, 1),
        ('a.py', 'a = 1', 'a = 2', True, 0),
    ]
    bad = 0
    for name, was, now, differs, changed in cases:
        (code_was, texts_was), (code_now, texts_now) = code(name, was), code(name, now)
        if (code_was != code_now, sum(a != b for a, b in zip(texts_was, texts_now))) != (differs, changed):
            print('%s: %r and %r' % (name, was, now))
            bad = 1
    print('self-test: %d cases%s' % (len(cases), ' FAILED' if bad else ''))
    return bad


def main(args):
    if args == ['--self-test']:
        return self_test()
    strings = args[:1] == ['--strings']
    args = args[1:] if strings else args
    commits, path = (args[:args.index('--')], args[args.index('--') + 1:]) if '--' in args else (args, [])
    if not 1 <= len(commits) <= 2 or commits[0].startswith('-'):
        sys.exit(__doc__)
    found = compare(commits[0], commits[1] if len(commits) == 2 else None, path)
    for name, differs, changed in found:
        if differs:
            print('%s: the code differs' % name)
        elif strings:
            print('%s: %d string literals differ' % (name, changed))
    return 1 if any(differs for _, differs, _ in found) else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
