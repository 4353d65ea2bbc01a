#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws sentences and test names of the tree for a reading by engineers who have not seen them, with controls mixed in.

usage: draw.py [ROOT]           print 200 sentences and 40 controls, numbered
       draw.py --names [ROOT]   print 60 names of tests and 12 controls, numbered
       draw.py --key [--names] [ROOT]   print for each number where its sentence stands: FILE:LINE, or "control:
       old|good"

A reader receives the first list only and marks each sentence that has to be read twice. The reading is void unless the
reader marks at least 16 of the 20 old controls (80 %) and at most 2 of the 20 good ones (10 %).
The seed is the hash of the tree of HEAD, so that the draw cannot be chosen. The sentences come in equal parts from
documents, messages with help texts, comments of .c files, and comments of headers.
"""
import os
import random
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import check_language as language  # noqa: E402

CLASSES = ('documents', 'messages', 'comments', 'headers')
EACH, NAMES = 50, 60
SHORTEST = 6
SENTENCE_END = re.compile(r'(?<=[.!?])\s|\n\s*\n|\n\s*(?=[-*] )|(?<=\S) {3,}(?=\S)')
CAPITALS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ`'


def words(text):
    return re.findall(r"[A-Za-z][\w'-]*", text)


def plain(text):
    return ' '.join(text.replace('\\n', ' ').replace('\\t', ' ').replace('\\"', '"').split())


def class_of(path):
    if '/t/' in path or path.startswith(('tests/', 'bench/', 'scripts/')):
        return None
    if path.endswith(('.md', '.in')):
        return 'documents'
    if path.endswith('.h'):
        return 'headers'
    return 'comments' if path.endswith(('.c', '.S')) else None


def joined_messages(text):
    """[(line, message)]: string literals side by side are one."""
    found = []
    for match in re.finditer(r'"(?:\\.|[^"\\\n])*"(?:\s*(?:PRI\w+\s*)?"(?:\\.|[^"\\\n])*")*', text):
        message = ''.join(re.findall(r'"((?:\\.|[^"\\\n])*)"', match.group(0)))
        found.append((text.count('\n', 0, match.start()) + 1, message))
    return found


def comments(text):
    found = []
    for match in language.C_TOKENS.finditer(text):
        if match.group('comment'):
            found.append((text.count('\n', 0, match.start()) + 1,
                          re.sub(r'(?m)^\s*\*|^//|/\*+|\*/', '', match.group('comment'))))
    return found


def sentences(text):
    """Whole sentences of prose: tables, diagrams and fragments are left out."""
    text = re.sub(r'(?m)^\s*[\w./-]+\.(?:c|h|S|py) - ', '', text)
    for sentence in SENTENCE_END.split(text):
        sentence = plain(sentence)
        if (len(words(sentence)) >= SHORTEST and sentence.endswith(('.', '?', '!')) and sentence[0] in CAPITALS
                and not re.search(r'[│─►┌└├|{}]|\.TP|\\f|/\*', sentence)):
            yield sentence


def document(path, text):
    """The prose of a page with its code spans; blocks of code, headings and tables are left out."""
    if path.endswith('.md'):
        text = re.sub(r'```.*?```', '\n\n', text, flags=re.S)
        return re.sub(r'^#.*$|^\|.*$|^ {4,}.*$', '\n\n', text, flags=re.M)
    text = re.sub(r'(?m)^\.nf$(?s:.*?)^\.fi$', '\n\n', text)
    text = re.sub(r'^\.(?:SH|TH|TP|SS|EX|EE|\\").*$', '\n\n', text, flags=re.M)
    return re.sub(r'\\f.|^\.\w+ ?|\\&', '', text, flags=re.M).replace('\\-', '-')


def sentences_of(root):
    """{class: [(sentence, path, line)]}, each sentence once, in the order of the tree."""
    found, seen = {name: [] for name in CLASSES}, set()

    def add(name, sentence, path, line):
        if sentence not in seen:
            seen.add(sentence)
            found[name].append((sentence, path, line))

    for path in sorted(language.files(root)):
        name = class_of(path)
        if not name or not path.startswith(('src/', 'include/', 'docs/', 'README', 'CONTRIBUTING')):
            continue
        with open(os.path.join(root, path), encoding='utf-8') as f:
            text = f.read()
        if name == 'documents':
            for sentence in sentences(document(path, text)):
                at = text.find(' '.join(sentence.split()[:3]))
                add(name, sentence, path, text.count('\n', 0, at) + 1 if at >= 0 else 1)
            continue
        for line, prose in comments(text):
            for sentence in sentences(prose):
                add(name, sentence, path, line)
        without = language.C_TOKENS.sub(
            lambda m: re.sub(r'[^\n]', ' ', m.group(0)) if m.group('comment') else m.group(0), text)
        for line, message in joined_messages(without):
            if len(words(message)) >= SHORTEST and ' ' in message:
                add('messages', plain(message), path, line)
    return found


def names_of(root):
    found = []
    for path in sorted(language.files(root)):
        with open(os.path.join(root, path), encoding='utf-8', errors='replace') as f:
            text = f.read()
        for match in language.TEST_NAME.finditer(text):
            name = match.group(1) or match.group(2)
            found.append((name, path, text.count('\n', 0, match.start()) + 1))
    return found


def controls(file):
    with open(os.path.join(HERE, file), encoding='utf-8') as f:
        return [line.strip().split('\t')[0] for line in f if line.strip() and not line.startswith('#')]


def draw(root, of_names):
    """[(text, where)] in the order in which it is read."""
    seed = subprocess.run(['git', '-C', root, 'rev-parse', 'HEAD^{tree}'], capture_output=True, text=True, check=True)
    chance = random.Random(seed.stdout.strip())
    if of_names:
        drawn = [(name, '%s:%d' % (path, line)) for name, path, line in chance.sample(names_of(root), NAMES)]
        drawn += [(name, 'control: ' + kind) for kind in ('old', 'good')
                  for name in controls('controls_names_%s.txt' % kind)]
    else:
        found = sentences_of(root)
        drawn = [(text, '%s:%d' % (path, line)) for name in CLASSES
                 for text, path, line in chance.sample(found[name], EACH)]
        drawn += [(text, 'control: ' + kind) for kind in ('old', 'good') for text in controls('controls_%s.txt' % kind)]
    chance.shuffle(drawn)
    return drawn


def main(args):
    key, of_names = '--key' in args, '--names' in args
    rest = [a for a in args if a not in ('--key', '--names')]
    if len(rest) > 1 or any(a.startswith('-') for a in rest):
        sys.exit(__doc__)
    for number, (text, where) in enumerate(draw(rest[0] if rest else '.', of_names), 1):
        print('%d\t%s' % (number, where if key else text))


if __name__ == '__main__':
    main(sys.argv[1:])
