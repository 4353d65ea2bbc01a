#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Make man pages from a public header, so that the header is the only source of the documentation.

usage: man_from_header.py HEADER LIBRARY VERSION MAP DIRECTORY

LIBRARY ("waymark-ctl") is the name for pkg-config. MAP is its version map, which lists the functions. The pages in
DIRECTORY are LIBRARY.7, from the comment at the beginning of the header; LIBRARY-SECTION.3 for each section; and
FUNCTION.3 for each function, a link to the page of its section.

In the header, `/* -- NAME: summary -- */` (with box-drawing lines instead of hyphens) begins a section, and `/* -- NAME
-- */` continues one. The text of a header that is included between declarations replaces the #include line.

A comment belongs to the declaration that follows it; a comment followed by an empty line belongs to the section. In a
comment, an empty line begins a paragraph, and lines with an indent of four or more are copied unchanged.
"""
import os
import re
import sys
import textwrap

SECTION = re.compile(r'/\* ── (\w+)(?:: (.+?))? ─+ \*/\n')
TOKEN = re.compile(r'/\*.*?\*/|[;,\n]|[^;,\n/]+|/', re.S)


class Section:
    def __init__(self, name, summary):
        self.name, self.summary = name, summary
        self.words, self.functions, self.types = [], [], []


def paragraphs_of(comment):
    """The paragraphs of a comment; a paragraph of code is a list of lines."""
    lines = [re.sub(r'^\s*\* ?', '', line).rstrip() for line in comment.strip()[2:-2].strip('* \t\n').split('\n')]
    paragraphs = []
    for block in re.split(r'\n(?:[ \t]*\n)+', '\n'.join(lines)):
        rows = block.split('\n')
        code = all(row.startswith('    ') for row in rows)
        if code and paragraphs and isinstance(paragraphs[-1], list):
            paragraphs[-1] += [''] + rows
        else:
            paragraphs.append(rows if code else ' '.join(row.strip() for row in rows))
    return [p for p in paragraphs if p]


def escape(text):
    return text.replace('\\', '\\e').replace('-', '\\-')


def line(text):
    """One line of text, protected from being read as a request."""
    return ('\\&' if text[:1] in ("'", '.') else '') + text + '\n'


def roff(text, names):
    """Prose, one sentence on a line; function names and text in backquotes get another font."""
    text = re.sub(r'`([^`]+)`', '\\\\fI\\1\\\\fR', escape(text))
    text = re.sub(r'\b(%s)\b' % '|'.join(names), '\\\\fB\\1\\\\fR', text) if names else text
    return ''.join(line(sentence) for sentence in re.split(r'(?<=[.;:]) (?=\S)', text))


def paragraphs(words, names, between='.PP\n'):
    out = []
    for p in words:
        if isinstance(p, list):
            out.append('.RS 4\n.nf\n' + ''.join(line(escape(row))
                                                for row in textwrap.dedent('\n'.join(p)).split('\n')) + '.fi\n.RE\n')
        else:
            out.append(roff(p, names))
    return between.join(out)


def prototype(text, width=76):
    """Lines of a declaration, with its parameters in italics."""
    rows, row = [], ''
    if len(text.split(',')[0]) >= width:             # the type gets its own line
        before, name = re.match(r'(.*?\W)(\w+\()', text).groups()
        rows, text = [before.rstrip()], name + text[len(before + name):]
    for part in re.split(r'(?<=,) ', text):
        if row and len(row) + len(part) >= width:
            rows.append(row)
            row = ' ' * 8 + part
        else:
            row += (' ' if row else '') + part
    return [
        '\\fB' + re.sub(r'(\w+)([,)])', '\\\\fI\\1\\\\fB\\2', escape(r)).replace('\\fIvoid\\fB', 'void') + '\\fR'
        for r in rows + [row]
    ]


def members(body, end):
    """[declaration, words] of the body of a structure or enumeration. A comment belongs to the declaration before it on
    the same line, or to the next one."""
    found, text, above, same_line = [], '', '', False
    for token in TOKEN.findall(body):
        if token.startswith('/*'):
            if text.strip():
                text += '\0' + token
            elif same_line:
                found[-1][1] += paragraphs_of(token)
            else:
                above = token
        elif token == '\n':
            same_line = same_line and bool(text.strip())
            text += ' '
        elif token == end:
            name, *inside = text.split('\0')
            comments = [c for c in [above] + [c[:c.index('*/') + 2] for c in inside] if c]
            found.append([' '.join(name.split()), [p for c in comments for p in paragraphs_of(c)]])
            text, above, same_line = '', '', True
        else:
            text += token
    if text.strip():
        found.append([' '.join(text.split('\0')[0].split()), paragraphs_of(above) if above else []])
    return found


def type_page(kind, name, body, words, names):
    out = '.SS %s %s\n' % (kind, name) + paragraphs(words, names)
    for declaration, comment in members(body, ',' if kind == 'enum' else ';'):
        out += '.TP\n.B %s\n' % escape(declaration) + paragraphs(comment, names, '.IP\n')
    return out


def read(text):
    """The paragraphs at the beginning, and the sections by name."""
    first = re.search(r'/\*\n \* \w+\.h - .*?\*/', text, re.S).group()
    sections, at = {}, None
    pieces = SECTION.split(text)
    for name, summary, body in zip(pieces[1::3], pieces[2::3], pieces[3::3]):
        if name in sections and summary or name not in sections and not summary:
            sys.exit('section %s: exactly the first heading must have a summary ("NAME: summary")' % name)
        at = sections.setdefault(name, Section(name, summary))
        declarations(body.split('#ifdef')[0], at)
    return paragraphs_of(first), sections


DECLARATION = re.compile(
    r'(?P<comment>/\*.*?\*/)(?P<gap>[ \t]*\n\n)?|(?P<kind>struct|enum) (?P<name>\w+) \{(?P<body>.*?)\};|'
    r'#define (?P<define>[^\n]*)\n|(?P<function>[^;#/{]+\([^;]*\));', re.S)


def declarations(text, section):
    words = []
    for m in DECLARATION.finditer(text):
        if m['comment'] and m['gap']:
            section.words += paragraphs_of(m['comment'])
        elif m['comment']:
            words = paragraphs_of(m['comment'])
        elif m['kind']:
            section.types.append((m['kind'], m['name'], m['body'], words))
        elif m['define']:
            section.types.append(('#define', m['define'], '', words))
        else:
            section.functions.append((' '.join(m['function'].split()), words))
        if not m['comment']:
            words = []


def head(name, number, version, summary):
    return '.\\" made from a header by man_from_header.py\n.TH "%s" %d "" "Waymark %s" "Waymark"\n.SH NAME\n' \
        '%s \\- %s\n' % (
        escape(name.upper()), number, version, escape(name), escape(summary))


def see(names):
    return '.SH SEE ALSO\n' + ',\n'.join('.BR %s (%s)' % (escape(n), s) for n, s in names) + '\n'


def with_parts(header):
    """The text of a header, with the declarations of headers that it includes between its own."""
    with open(header, encoding='utf-8') as f:
        text = f.read()

    def part(match):
        body = with_parts(os.path.join(os.path.dirname(header), match.group(1)))
        return re.search(r'extern "C" \{\n#endif\n(.*)#ifdef __cplusplus\n', body, re.S).group(1)
    return re.sub(r'(?<=\n\n)#include <waymark/(\w+\.h)>\n', part, text)


def main(header, library, version, symbols, directory):
    begin, sections = read(with_parts(header))
    with open(symbols, encoding='utf-8') as f:
        names = re.findall(r'(\w+);', f.read().split('local:')[0])
    pages = {}
    declared = [re.search(r'(\w+)\(', f).group(1) for s in sections.values() for f, words in s.functions if words]
    if sorted(declared) != sorted(names):
        sys.exit('%s: functions in no section, without a comment, or not exported: %s' %
                 (header, ', '.join(sorted(set(declared) ^ set(names)))))
    include = '.B #include <waymark/%s>\n' % os.path.basename(header)
    build = '.PP\n.nf\n\\fBcc\\fR ... \\fB$(pkg\\-config \\-\\-cflags \\-\\-libs %s)\\fR\n.fi\n' % escape(library)
    summary = begin[0].split(' - ', 1)[1].rstrip('.').replace('`', '')
    others = [(library + '-' + s, 3) for s in sections]
    more = [('waymark', 1), ('waymark-sessiond', 8)]
    pages[library + '.7'] = head(library, 7, version, re.sub(r' \([^)]*\)$', '', summary)) + '.SH SYNOPSIS\n' + \
        include + build + '.SH DESCRIPTION\n' + paragraphs(begin[1:], names) + '.SH PAGES\n' + \
        ''.join('.TP\n.BR %s (3)\n'
                '%s\n' % (escape(library + '-' + s.name), escape(s.summary)) for s in sections.values()) + \
        see(others + more)
    for s in sections.values():
        page = head(library + '-' + s.name, 3, version, s.summary) + '.SH SYNOPSIS\n' + include + '.PP\n.nf\n' + \
            '\n'.join('\n'.join(prototype(f)) for f, _ in s.functions) + '\n.fi\n' + build
        page += '.SH DESCRIPTION\n' + paragraphs(s.words, names) if s.words else ''
        page += '.SH FUNCTIONS\n' if s.functions else ''
        for f, words in s.functions:
            name = re.search(r'(\w+)\(', f).group(1)
            page += '.TP\n.BR %s ()\n' % name + paragraphs(words, names, '.IP\n')
            pages[name + '.3'] = '.so man3/%s-%s.3\n' % (library, s.name)
        page += '.SH TYPES\n' + ''.join(type_page(*t, names) for t in s.types) if s.types else ''
        pages['%s-%s.3' % (library, s.name)] = page + see([(library, 7)] +
                                                          [o for o in others if o[0] != library + '-' + s.name] + more)
    for name, text in pages.items():
        with open(os.path.join(directory, name), 'w', encoding='utf-8') as f:
            f.write(text)


if __name__ == '__main__':
    if len(sys.argv) != 6:
        sys.exit(__doc__)
    main(*sys.argv[1:])
