#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Checks comments, documents, messages, test names and commit subjects against the language rules of docs/glossary.md.

usage: check_language.py ROOT             check; exit status 1 on a violation that tests/check_language_known.txt does
not list
       check_language.py --shrink ROOT    the same, and lower the numbers in that list to what was found
       check_language.py --self-test      plant violations that must be found, and similar texts that must not

The list has a line `COUNT RULE FILE` for violations that existed when the check was introduced. A count only falls.
"""
import io
import os
import re
import subprocess
import sys
import tempfile
import tokenize

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'lib'))
from known import Known  # noqa: E402

KNOWN = 'tests/check_language_known.txt'
TOPS = ('src', 'include', 'tests', 'bench', 'examples', 'scripts', 'docs', 'data', 'README.md', 'CONTRIBUTING.md',
        'meson.build')
# Inputs and recorded text are not prose of this project; the two files quote the banned words.
SKIPPED = re.compile(r'(^|/)(corpus[^/]*|formats|golden|traces)/|^docs/glossary\.md$|^tests/check_language')
LONGEST_SENTENCE = 40
LONGEST_SUBJECT = 72

BANNED = re.compile(
    r"\b(whoever|whom|whose|nobody|somebody|him|his|told|tells|hears|goes on"
    r"|stands there|is none|buries|bury|nudge[ds]?|poke[ds]?"
    r"|who (?:is|was|has|had|does|did|may|can|comes|wants|reads|writes|asks|dies|records|runs|waits))\b", re.I)
C_TOKENS = re.compile(r'(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<text>"(?:\\.|[^"\\\n])*")|\'(?:\\.|[^\'\\\n])*\'', re.S)
TEST_NAME = re.compile(r'^(?:static void (\w+)\(void \*\*\w+\)|def ([a-z]\w*)\(case\))', re.M)
# (columns of a table or a usage text end a sentence, too)
SENTENCE_END = re.compile(r'(?<=[.!?:;])\s|\n\s*\n|\n\s*[-*|#]|(?<=\S) {2,}(?=\S)')


def files(root):
    for top in TOPS:
        path = os.path.join(root, top)
        if os.path.isfile(path):
            yield top
        for where, _, names in os.walk(path):
            for name in sorted(names):
                shown = os.path.relpath(os.path.join(where, name), root)
                if name.endswith(
                    ('.c', '.h', '.cc', '.S', '.py', '.sh', '.md', '.in', '.build')) and not SKIPPED.search(shown):
                    yield shown


def c_prose(text):
    """[(prose, is a message)] of a C source; directives that include files hold no messages."""
    found = []
    for match in C_TOKENS.finditer(re.sub(r'^\s*#\s*include.*$', '', text, flags=re.M)):
        if match.group('comment'):
            found.append((re.sub(r'(?m)^\s*\*|^//|/\*+|\*/', '', match.group('comment')), False))
        elif match.group('text'):
            found.append((match.group('text')[1:-1], True))
    return found


def python_prose(text):
    found = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                found.append((token.string.lstrip('#'), False))
            elif token.type == tokenize.STRING and token.string.startswith(('"""', "'''")):
                found.append((token.string[3:-3], False))
    except (tokenize.TokenError, IndentationError, SyntaxError):
        pass
    return found


def prose(path, text):
    if path.endswith(('.c', '.h', '.cc', '.S')):
        return c_prose(text)
    if path.endswith('.py'):
        return python_prose(text)
    if path.endswith('.md'):
        text = re.sub(r'```.*?```|`[^`\n]*`', ' ', text, flags=re.S)
        return [(text, False)]
    if path.endswith('.in'):
        return [(re.sub(r'(?m)^\.(\\"|[a-zA-Z]+ ).*$|^\.nf$.*?^\.fi$', '\n\n', text,
                        flags=re.S if '.nf' in text else 0), False)]
    return [(match.group(1), False) for match in re.finditer(r'^\s*#(?!!)(.*)$', text, re.M)]


def violations(path, text):
    """[(rule, words)] of one file."""
    found = []
    for piece, is_message in prose(path, text):
        found += [('banned', match.group(0)) for match in BANNED.finditer(piece)]
        if is_message or path.endswith('.in'):
            continue
        for sentence in SENTENCE_END.split(piece):
            words = re.findall(r"[A-Za-z][\w'-]*", sentence)
            if len(words) > LONGEST_SENTENCE:
                found.append(('sentence', '%d words: %s ...' % (len(words), ' '.join(words[:8]))))
    for match in TEST_NAME.finditer(text):
        name = (match.group(1) or match.group(2)).replace('_', ' ')
        found += [('test-name', name) for _ in BANNED.finditer(name)]
    return found


def git(root, *arguments):
    done = subprocess.run(['git', '-C', root, *arguments], capture_output=True, text=True)
    return done.stdout.splitlines() if done.returncode == 0 else []


def long_subjects(root):
    """Subjects above the limit, of commits after the one that introduced this check; empty without a git history."""
    first = git(root, 'log', '--diff-filter=A', '--format=%H', '--', 'tests/check_language.py')
    if not first:
        return []
    return [line for line in git(root, 'log', '--format=%s', first[-1] + '..HEAD') if len(line) > LONGEST_SUBJECT]


def check(root, shrink=False):
    known = Known(root, KNOWN, 'Violations of the language rules that existed before tests/check_language.py.')
    found = {}
    for path in files(root):
        with open(os.path.join(root, path), encoding='utf-8', errors='replace') as f:
            for rule, words in violations(path, f.read()):
                found.setdefault((rule, path), []).append(words)
    wrong = known.excess(found)
    wrong += [
        'commit subject of %d characters (at most %d): %s' % (len(s), LONGEST_SUBJECT, s) for s in long_subjects(root)
    ]
    if shrink:
        known.shrink(found)
    return wrong


def self_test():
    """(file, text, rules that must be found in it)"""
    cases = [
        ('src/a.c', '/* Whoever reads it. */\n', ['banned']),
        ('src/b.c', '/* The reader reads it. */\n', []),
        ('src/c.c', 'int nobody = 65534;\n', []),
        ('src/d.c', 'void f(void) { print("nobody reads %s"); }\n', ['banned']),
        ('src/t/e.c', 'static void test_who_is_there(void **state)\n', ['test-name']),
        ('src/f.c', '/* ' + 'word ' * 41 + '. */\n', ['sentence']),
        ('src/g.c', '/* ' + 'word ' * 30 + '. ' + 'word ' * 30 + '. */\n', []),
        ('tests/h.py', '"""The daemon is told."""\n', ['banned']),
        ('tests/i.py', 'told = "told"\n', []),
        ('tests/j.py', 'def nobody_waits(case):\n', ['test-name']),
        ('docs/k.md', 'It goes on.\n\n```\nnobody\n```\n', ['banned']),
        ('docs/l.md', 'User `nobody` owns it.\n', []),
        ('scripts/m.sh', '#!/bin/sh\n# tells it\n', ['banned']),
        ('src/corpus-x/n.c', '/* nobody */\n', []),
    ]
    bad = 0
    with tempfile.TemporaryDirectory() as root:
        for path, text, _ in cases:
            os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
            with open(os.path.join(root, path), 'w') as f:
                f.write(text)
        wrong = check(root)
        for path, text, rules in cases:
            found = [w.split(': ')[1] for w in wrong if w.startswith(path + ':')]
            if found != rules:
                print('%s: %r: found %s, expected %s' % (path, text[:60], found, rules))
                bad = 1
        os.makedirs(os.path.join(root, 'tests'), exist_ok=True)
        Known(root, KNOWN, '').write({('banned', 'src/a.c'): 3})
        wrong, left = check(root, shrink=True), Known(root, KNOWN, '').counts
        if any(w.startswith('src/a.c') for w in wrong) or left != {('banned', 'src/a.c'): 1}:
            print('the list of known violations did not shrink to 1 for src/a.c: %s' % left)
            bad = 1
    print('self-test: %d cases%s' % (len(cases) + 1, ' FAILED' if bad else ''))
    return bad


def main(args):
    if args == ['--self-test']:
        return self_test()
    shrink = args[:1] == ['--shrink']
    root = (args[1:] if shrink else args) or ['.']
    wrong = check(root[0], shrink)
    print('\n'.join(wrong))
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
