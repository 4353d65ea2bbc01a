# SPDX-License-Identifier: MIT
"""
The `path = value;` entries of the blocks of TSDL metadata (CTF 1.8.3, section 7), as data for comparisons. Types are
skipped.
"""
import functools
import re

TOKEN = re.compile(
    r'\s+|/\*.*?\*/|//[^\n]*|(?P<string>"(?:[^"\\]|\\.)*")|(?P<number>[-+]?(?:0[xX][0-9a-fA-F]+|[0-9]+))[uUlL]*|'
    r'(?P<word>[A-Za-z_][A-Za-z0-9_]*(?:\s*\.\s*[A-Za-z_][A-Za-z0-9_]*)*)|(?P<sign>:=|->|\.\.\.|.)', re.DOTALL)
ESCAPE = re.compile(r'\\(x[0-9a-fA-F]{1,2}|[0-7]{1,3}|.)', re.DOTALL)
KINDS = ('trace', 'env', 'clock', 'stream', 'event', 'callsite')


class Word(str):
    """A value that is not a quoted text."""
    def __repr__(self):
        return 'Word(%s)' % str.__repr__(self)


def _unescaped(match):
    what = match[1]
    if what[0] == 'x' or what[0] in '01234567':
        return chr(int(what.lstrip('x'), 16 if what[0] == 'x' else 8))
    return {'n': '\n', 't': '\t', 'r': '\r', 'a': '\a', 'b': '\b', 'f': '\f', 'v': '\v'}.get(what, what)


def _tokens(text):
    for match in TOKEN.finditer(text):
        of = match.lastgroup                 # None: white space or a comment
        if of == 'word':
            yield 'word', ''.join(match['word'].split())
        elif of == 'sign':
            yield 'sign', match['sign']
        elif of == 'number':
            digits = match['number'].lstrip('+-')
            number = int(digits, 16 if digits[:2] in ('0x', '0X') else 8 if digits[0] == '0' else 10)
            yield 'value', -number if match['number'][0] == '-' else number
        elif of == 'string':
            yield 'value', ESCAPE.sub(_unescaped, match['string'][1:-1])


def _past(tokens, at):
    """The position after the ';' that ends the statement at `at`."""
    depth = 0
    while depth or tokens[at] != ('sign', ';'):
        depth += (tokens[at] in (('sign', '{'), ('sign', '['))) - (tokens[at] in (('sign', '}'), ('sign', ']')))
        at += 1
    return at + 1


@functools.lru_cache(maxsize=4)              # (several traces with one origin often have the same metadata)
def blocks(text):
    """[(kind, [(path, value)])] in the order of the text, read-only; a value is a str, an int or a Word."""
    tokens, found, at = list(_tokens(text)), [], 0
    while at < len(tokens):
        if tokens[at][1] not in KINDS or tokens[at + 1] != ('sign', '{'):
            at = _past(tokens, at)
            continue
        kind, entries, at = tokens[at][1], [], at + 2
        while tokens[at] != ('sign', '}'):
            if tokens[at + 1] == ('sign', '='):
                of, value = tokens[at + 2]
                entries.append((tokens[at][1], Word(value) if of == 'word' else value))
            at = _past(tokens, at)
        found.append((kind, entries))
        at += 2
    return found
