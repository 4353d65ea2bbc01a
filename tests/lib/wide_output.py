# SPDX-License-Identifier: MIT
"""
The output that a reader has to show for the values of wide_numbers.py: as text, JSON, a table, annotations, results of
the library, and results of the decoder of ctf2.py. Each function reports the first difference with the field, its class
and its bits.
"""
import json
import math
import re

import ctf2
from traces import check
from wide_numbers import Array, Choice, Leaf, Struct, nearest

U64, S64 = (0, (1 << 64) - 1), (-(1 << 63), (1 << 63) - 1)


def described(leaf, value):
    return '%s of %s bits, %s%s, align %d, base %d, with the value %s (0x%x)' % (
        leaf.kind, leaf.length or '7 * %s' % leaf.bytes, leaf.order, ' backwards' if leaf.backwards else '', leaf.align,
        leaf.base, value, value)


def names_of(leaf, value):
    """The labels of a value, in the order of the metadata."""
    return [name for name, ranges in leaf.labels if any(low <= value <= high for low, high in ranges)]


def clamped(leaf, value):
    """The nearest integer of 64 bits."""
    low, high = S64 if leaf.signed else U64
    return min(max(value, low), high)


def fits(leaf, value):
    return clamped(leaf, value) == value


def same_real(text, leaf, value, form):
    """
    Returns whether the text denotes the same number as the double. A number below the normal range of doubles may also
    be 0 or have lost digits.
    """
    wanted, is_tiny = nearest(value, leaf.length)
    if not is_tiny:
        return text == form % wanted or math.isnan(wanted) and text in ('nan', '-nan')
    try:
        got = float(text)
    except ValueError:
        return False
    return abs(got - wanted) <= max(abs(wanted) * 1e-5 if form == '%g' else 0, 2.0 ** -1074) or got == 0


# ── text ────────────────────────────────────────────────────────────────────────────────────────────────

def number_text(leaf, value):
    """
    A pattern for the output of `view`. The number of digits of a LEB128 number is not defined: any number of digits
    with that value matches.
    """
    if leaf.base == 10 and leaf.kind not in ('array', 'map'):
        return str(value)
    base = 16 if leaf.kind in ('array', 'map') else leaf.base
    size, prefix, form = {16: (4, '0x', 'X'), 8: (3, '0', 'o'), 2: (1, '0b', 'b')}[base]
    if value >= 0 and base != 2:
        return prefix + format(value, form)
    if leaf.length:
        # (an octal number of 64 bits is not extended to 66 bits)
        bits = -(-leaf.length // size) * size if (leaf.length, base) != (64, 8) else 64
        return prefix + format(value & (1 << bits) - 1, form).rjust(leaf.length if base == 2 else 0, '0')
    if value >= 0:
        return prefix + '0*' + format(value, form)
    ones, digits = format((1 << size) - 1, form), format(value & (1 << (value.bit_length() // size + 2) * size) - 1,
                                                         form)
    return '%s[13]?%s*%s' % (prefix, ones, digits.lstrip(ones))


def tokens(node, value, name):
    """(pattern, its description) for the text of a value."""
    if isinstance(node, Leaf):
        if node.kind == 'real':
            yield (node, value), name
        elif node.kind == 'boolean':
            yield 'true' if value else 'false', (name, node, value)
        elif node.labels and node.kind != 'map':
            names = ', '.join('"%s"' % label for label in names_of(node, value)) or '<unknown>'
            yield '\\( %s : container = %s \\)' % (names, number_text(node, value)), (name, node, value)
        else:
            yield number_text(node, value), (name, node, value)
    elif isinstance(node, Array):
        yield '\\[', name
        for number, inner in enumerate(value):
            yield '%s \\[%d\\] = ' % (',' if number else '', number), name
            yield from tokens(node.element, inner, '%s[%d]' % (name, number))
        yield ' \\]', name
    elif isinstance(node, Struct):
        yield '\\{', name
        for number, (member, inner) in enumerate(node.members):
            yield '%s %s = ' % (',' if number else '', member), name
            yield from tokens(inner, value[member], '%s.%s' % (name, member))
        yield ' \\}', name
    elif value[0] is None:
        yield '<none>', name
    else:
        yield '\\{ ', name
        yield from tokens(node.options[value[0]][2], value[1], name)
        yield ' \\}', name


def parts_of(made, context, record):
    """[(its name in view --json, the class, the value)] of a record; the sizes of the packet are not shown."""
    number, _, common, own, payload = record
    shown = Struct([(name, inner)
                    for name, inner in made.context.members if name not in ('packet_size', 'content_size')],
                   made.context.least)
    given = [('packet', shown, context), ('context', made.common, common),
             ('event_context', made.events[number][0], own), ('fields', made.events[number][1], payload)]
    return [(name, struct, value) for name, struct, value in given if struct and struct.members]


def check_text(line, made, context, record, where):
    line, at, between = line.decode(), 0, 'e%d: ' % record[0]
    for part, struct, value in parts_of(made, context, record):
        for token, about in [(re.escape(between), part), *tokens(struct, value, part)]:
            if isinstance(token, tuple):
                found = re.compile(r'[^ ,]+').match(line, at)
                check(found and same_real(found.group(), *token, '%g'), '%s: %s is shown as %s, not %g: %s', where,
                      about, line[at:at + 60],
                      nearest(token[1], token[0].length)[0], described(*token))
            else:
                found = re.compile(token + r'(?![\w.])').match(line, at) if isinstance(
                    about, tuple) else re.compile(token).match(line, at)
                check(found, '%s: %s is shown as %s, not as %s: %s', where,
                      about[0] if isinstance(about, tuple) else about, line[at:at + 1500], token,
                      described(*about[1:]) if isinstance(about, tuple) else line[:200])
            at = found.end()
        between = ', '
    check(at == len(line), '%s: unexpected text at the end of the line: %s', where, line[at:at + 200])


# ── nested values ───────────────────────────────────────────────────────────────────────────────────────

def check_tree(got, node, value, where, leaf, is_absent=lambda got: got is None):
    """Check that `got` has the shape of `node` and that each of its leaves is correct."""
    if isinstance(node, Leaf):
        leaf(got, node, value, where)
    elif isinstance(node, Array):
        check(
            isinstance(got, (list, tuple)) and len(got) == len(value), '%s: %d elements, not %s', where, len(value),
            got)
        for number, inner in enumerate(value):
            check_tree(got[number], node.element, inner, '%s[%d]' % (where, number), leaf, is_absent)
    elif isinstance(node, Struct):
        check(
            isinstance(got, dict) and list(got) == [name for name, _ in node.members], '%s: members are %s', where, got)
        for name, inner in node.members:
            check_tree(got[name], inner, value[name], '%s.%s' % (where, name), leaf, is_absent)
    elif value[0] is None:
        check(is_absent(got), '%s: %s, where no value is expected', where, got)
    else:
        check_tree(got, node.options[value[0]][2], value[1], where, leaf, is_absent)


# ── JSON ────────────────────────────────────────────────────────────────────────────────────────────────

class Digits(str):
    """The digits of a number as printed."""


def parsed(line):
    return json.loads(line, parse_int=Digits, parse_float=Digits)


def check_json_leaf(got, node, value, where):
    is_number = isinstance(got, Digits)
    if node.kind == 'real':
        wanted = nearest(value, node.length)[0]
        word = 'NaN' if math.isnan(
            wanted) else '-Infinity' if wanted == -math.inf else 'Infinity' if wanted == math.inf else None
        good = got == word and not is_number if word else is_number and same_real(got, node, value, '%.17g')
        check(good, '%s: %s, not %s: %s', where, got, word or '%.17g' % wanted, described(node, value))
    elif node.kind == 'boolean':
        check(got is (value != 0), '%s: %s, not %s: %s', where, got, value != 0, described(node, value))
    elif node.labels and node.kind != 'map':
        names = names_of(node, value)
        check(
            isinstance(got, dict) and list(got) == ['label', 'value'], '%s: %s is no enumeration: %s', where, got,
            described(node, value))
        check(got['label'] in names if names else got['label'] is None, '%s: label %s, not one of %s: %s', where,
              got['label'], names, described(node, value))
        check(
            isinstance(got['value'], Digits) and got['value'] == str(value), '%s: %s, not %s: %s', where, got['value'],
            value, described(node, value))
    else:
        check(is_number and got == str(value), '%s: %s, not %s: %s', where, got, value, described(node, value))


def check_json(got, node, value, where):
    """Check a value of `view --json`, of parsed()."""
    check_tree(got, node, value, where, check_json_leaf)


def check_object(line, made, context, record, where):
    got, parts = parsed(line), parts_of(made, context, record)
    check(got.get('event') == 'e%d' % record[0], '%s: the event is %s, not e%d', where, got.get('event'), record[0])
    there = [name for name in got if name in ('context', 'event_context', 'fields') or name == 'packet' and got[name]]
    check(there == [name for name, *_ in parts], '%s: it has %s', where, list(got))
    for name, struct, value in parts:
        check_json(got[name], struct, value, '%s: %s' % (where, name))


def check_drawn(event, made, context, record, where):
    """Check one of Chrome's trace events."""
    check(event['name'] == 'e%d' % record[0], '%s: the event is %s', where, event['name'])
    for name, struct, value in parts_of(made, context, record):
        check_json(event['args'][name], struct, value, '%s: %s' % (where, name))


# ── a table ─────────────────────────────────────────────────────────────────────────────────────────────

PREFIXES = {'packet': 'packet.', 'context': 'context.', 'event_context': 'event_context.', 'fields': ''}


def check_row(cells, made, context, record, where):
    """Check a row; `cells` by the names of the columns."""
    wanted = {
        PREFIXES[part] + name: (inner, value[name]) for part, struct, value in parts_of(made, context, record)
        for name, inner in struct.members
    }
    for name, cell in cells.items():
        if name not in wanted:
            check(cell == '', '%s: %s is %s, but the record has no such field', where, name, cell)
            continue
        node, value = wanted[name]
        about = '%s: %s' % (where, name)
        while isinstance(node, Choice) and value[0] is not None:        # the cell has the selected option
            node, value = node.options[value[0]][2], value[1]
        if isinstance(node, Leaf) and node.labels and node.kind != 'map':
            check(cell in (names_of(node, value) or [str(value)]), '%s is %s: %s, %s', about, cell,
                  names_of(node, value), described(node, value))
        elif isinstance(node, Choice) and value[0] is None:
            check(cell in ('', 'null'), '%s is %s, where no value is expected', about, cell)
        else:
            check_json(cell if cell in ('NaN', 'Infinity', '-Infinity') else parsed(cell), node, value, about)
    check(set(wanted) <= set(cells), '%s: there is no column for %s', where, set(wanted) - set(cells))


# ── annotations ─────────────────────────────────────────────────────────────────────────────────────────

def check_annotation(got, node, value, where):
    """Check an annotation of perfetto.events(); None is an empty message."""
    if isinstance(node, Leaf):
        if node.kind == 'real':
            wanted, is_tiny = nearest(value, node.length)
            good = isinstance(got, float) and (repr(got) == repr(wanted) or math.isnan(got) and math.isnan(wanted)
                                               or is_tiny and abs(got - wanted) <= 2.0**-1022)
            check(good, '%s: %r, not %r: %s', where, got, wanted, described(node, value))
            return
        names = names_of(node, value) if node.labels and node.kind != 'map' else []
        wanted = [value != 0] if node.kind == 'boolean' else names or [value if fits(node, value) else str(value)]
        check(got in wanted and type(got) is type(wanted[0]), '%s: %r, not %r: %s', where, got, wanted,
              described(node, value))
    elif isinstance(node, Array):
        check(got is None and not value or isinstance(got, list) and len(got) == len(value),
              '%s: %s has not %d elements', where, got, len(value))
        for number, inner in enumerate(value):
            check_annotation(got[number], node.element, inner, '%s[%d]' % (where, number))
    elif isinstance(node, Struct):
        # Values without any number may be missing.
        there = [(name, inner) for name, inner in node.members
                 if name in (got or {}) or list(flat(inner, value[name], name))]
        check(not there and got is None or isinstance(got, dict) and list(got) == [name for name, _ in there],
              '%s: %s has not %s', where, got, [name for name, _ in there])
        for name, inner in there:
            check_annotation(got[name], inner, value[name], '%s.%s' % (where, name))
    elif value[0] is None:
        check(got is None, '%s: %s, where no value is expected', where, got)
    else:
        check_annotation(got, node.options[value[0]][2], value[1], where)


def check_event(event, made, context, record, where):
    check(event['name'] == 'e%d' % record[0], '%s: the event is %s', where, event['name'])
    for part, struct, value in parts_of(made, context, record):
        if part == 'fields':
            args = {name: inner for name, inner in event['args'].items() if not name.startswith('$')}
            check_annotation(args or None, struct, value, where)
        else:
            check_annotation(event['args'].get('$' + part), struct, value, '%s: $%s' % (where, part))


# ── the library ─────────────────────────────────────────────────────────────────────────────────────────

def flat(node, value, name):
    """(leaf, its value, its name) in the order of the traversal."""
    if isinstance(node, Leaf):
        yield node, value, name
    elif isinstance(node, Array):
        for inner in value:
            yield from flat(node.element, inner, None)
    elif isinstance(node, Struct):
        for member, inner in node.members:
            yield from flat(inner, value[member], member)
    elif value[0] is not None:
        yield from flat(node.options[value[0]][2], value[1], None)


def check_given(got, node, value, where):
    """Check one of the values that programs/wide_numbers.c prints."""
    kind = {'real': 'real', 'boolean': 'bool', 'signed': 'signed'}.get(node.kind, 'unsigned')
    check(got['kind'] == kind, '%s: the kind is %s, not %s: %s', where, got['kind'], kind, described(node, value))
    if kind == 'real':
        wanted, is_tiny = nearest(value, node.length)
        got = math.nan if got['real'] in ('nan', '-nan') else float.fromhex(got['real'])
        check(
            repr(got) == repr(wanted) or is_tiny and abs(got - wanted) <= 2.0**-1022, '%s: %r, not %r: %s', where, got,
            wanted, described(node, value))
    elif kind == 'bool':
        check((got['number'] != 0) == (value != 0) and got['text'] is None, '%s: %s, not %s: %s', where, got,
              value != 0, described(node, value))
    else:
        wanted = clamped(node, value)
        names = names_of(node, value) if node.kind != 'map' else []
        check(got['number'] == wanted, '%s: the number is %s, not %s: %s', where, got['number'], wanted,
              described(node, value))
        check(got['text'] == (None if wanted == value else str(value)), '%s: the text is %s: %s', where, got['text'],
              described(node, value))
        check(got['label'] in (names or [None]), '%s: the label is %s, not one of %s: %s', where, got['label'], names,
              described(node, value))


def check_walk(line, made, context, record, where):
    """Check a line of programs/wide_numbers.c: all values, and those of the payload by their names."""
    got = json.loads(line)
    check(got['event'] == 'e%d' % record[0] and got['by_name'], '%s: event %s, by name: %s', where, got['event'],
          got['by_name'])
    shown = {'packet': 0, 'context': 1, 'event_context': 2, 'fields': 3}
    for part, struct, value in parts_of(made, context, record):
        values = [v for v in got['scopes'][shown[part]] if v['name'] not in ('packet_size', 'content_size')]
        wanted = list(flat(struct, value, None))
        check(len(values) == len(wanted), '%s: %s has %d values, not %d', where, part, len(values), len(wanted))
        for one, (node, inner, name) in zip(values, wanted):
            check(name is None or one['name'] == name, '%s: %s, not %s', where, one['name'], name)
            check_given(one, node, inner, '%s: %s %s' % (where, part, one['name']))


# ── the decoder of ctf2.py ──────────────────────────────────────────────────────────────────────────────

def check_plain_leaf(got, node, value, where):
    if isinstance(got, (ctf2.Flags, ctf2.Mapped)):
        names = names_of(node, value) if node.kind != 'map' else [
            name for name, ranges in node.labels
            if any(value >> low & (1 << high - low + 1) - 1 for low, high in ranges)
        ]
        check(got.names == frozenset(names), '%s: names %s, not %s: %s', where, sorted(got.names), names,
              described(node, value))
        got = got.value
    if node.kind == 'real':
        wanted, is_tiny = nearest(value, node.length)
        check(
            isinstance(got, float) and (repr(got) == repr(wanted) or is_tiny and abs(got - wanted) <= 2.0**-1022),
            '%s: %r, not %r: %s', where, got, wanted, described(node, value))
    else:
        wanted = value != 0 if node.kind == 'boolean' else value
        check(got == wanted and type(got) is type(wanted), '%s: %s, not %s: %s', where, got, wanted,
              described(node, value))


def check_decoded(record, made, context, of, where):
    """Check a record of ctf2.Trace."""
    check(record.name == 'e%d' % of[0], '%s: the event is %s', where, record.name)
    names = {
        'packet': 'packet-context', 'context': 'common-context', 'event_context': 'specific-context',
        'fields': 'payload'
    }
    for part, struct, value in parts_of(made, context, of):
        got = {
            name: inner for name, inner in (record.fields[names[part]] or {}).items()
            if part != 'packet' or name not in ('packet_size', 'content_size')
        }
        check_tree(got, struct, value, '%s: %s' % (where, part), check_plain_leaf)
