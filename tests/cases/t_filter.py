#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Filters select the same records as a second evaluation of the same expression over the JSON output."""
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
import corpus18  # noqa: E402
from ctf18 import BEGIN, Plain, save  # noqa: E402
from harness import VIEW, WAYMARK, check, limit, main, rounds  # noqa: E402
from t_view import read  # noqa: E402

NAME = re.compile(r'[A-Za-z_][A-Za-z0-9_]*$')
OPERATORS = {
    '==': lambda a, b: a == b, '!=': lambda a, b: a != b, '<': lambda a, b: a < b, '<=': lambda a, b: a <= b,
    '>': lambda a, b: a > b, '>=': lambda a, b: a >= b,
}

DEEP = 8                         # names and indexes of one field, waymark-filter(7)
NO_NUMBERS = ('NaN', '-NaN', 'Infinity', '-Infinity')   # strings in the JSON output


class Absent(Exception):
    """The record has no such field."""


class Mismatch(Absent):
    """The field is an array or a structure, or its type cannot be compared with the literal."""


def is_enum(value):
    return isinstance(value, dict) and list(value) == ['label', 'value']


def leaves(value, path=''):
    """(path, value) of each number and text in a record's fields that a filter can name."""
    if len(re.findall(r'\w+', path)) > DEEP:
        return
    if is_enum(value) or isinstance(value, (int, float, str)):
        yield path, value
    elif isinstance(value, dict):
        for name, inner in value.items():
            if NAME.match(name):
                yield from leaves(inner, '%s.%s' % (path, name) if path else name)
    elif isinstance(value, list):
        for index, inner in enumerate(value[:3]):
            yield from leaves(inner, '%s[%d]' % (path, index))


def at(record, path):
    value = record
    for name, index in re.findall(r'([A-Za-z_]\w*)|\[(\d+)\]', path):
        if name and (not isinstance(value, dict) or name not in value or is_enum(value)):
            raise Absent
        if index and (not isinstance(value, list) or int(index) >= len(value)):
            raise Absent
        value = value[name] if name else value[int(index)]
    if isinstance(value, (list, dict)) and not is_enum(value):
        raise Mismatch
    return value


def quoted(text):
    return '"%s"' % ''.join('\\%03o' % byte if chr(byte) in '"\\*' or byte < 32 or byte > 126 else chr(byte)
                            for byte in text.encode())


class Comparison:
    def __init__(self, path, operator, literal):
        self.path, self.operator, self.literal = path, operator, literal

    def text(self):
        return '%s %s %s' % (self.path, self.operator,
                             quoted(self.literal) if isinstance(self.literal, str) else repr(self.literal))

    def of(self, record):
        value = at(record, self.path)
        if isinstance(self.literal, str) and is_enum(value):
            value = value['label']
            if value is None:
                return self.operator == '!='
        elif is_enum(value):
            value = value['value']
        if isinstance(value, str) and not isinstance(self.literal, str) and value in NO_NUMBERS:
            value = float(value)
        if isinstance(value, str) != isinstance(self.literal, str):
            raise Mismatch
        if isinstance(value, str):
            return OPERATORS[self.operator](value.encode(), self.literal.encode())
        return OPERATORS[self.operator](value, self.literal)


class Exists:
    def __init__(self, path):
        self.path = path

    def text(self):
        return 'exists(%s)' % self.path

    def of(self, record):
        try:
            at(record, self.path)
        except Mismatch:
            return True
        except Absent:
            return False
        return True


class Pair:
    """&& or ||; an operand without a value is false."""
    def __init__(self, operator, left, right):
        self.operator, self.left, self.right = operator, left, right

    def text(self):
        return '(%s) %s (%s)' % (self.left.text(), self.operator, self.right.text())

    def of(self, record):
        values = []
        for side in (self.left, self.right):
            try:
                values.append(side.of(record))
            except Absent:
                values.append(False)
        return all(values) if self.operator == '&&' else any(values)


class Not:
    def __init__(self, inner):
        self.inner = inner

    def text(self):
        return '!(%s)' % self.inner.text()

    def of(self, record):
        return not self.inner.of(record)


def wants(expression, record):
    try:
        return expression.of(record['fields'])
    except Absent:
        return False


def some_expression(random, known, depth=2):
    if depth and random.random() < .6:
        if random.random() < .3:
            return Not(some_expression(random, known, depth - 1))
        return Pair(random.choice(('&&', '||')), some_expression(random, known, depth - 1),
                    some_expression(random, known, depth - 1))
    path, value = random.choice(known)
    if random.random() < .15:
        return Exists(path)
    if is_enum(value):
        if value['label'] is not None and random.random() < .5:
            return Comparison(path, random.choice(('==', '!=')), value['label'])
        value = value['value']
    return Comparison(path, random.choice(list(OPERATORS)), value)


def records_of(case, path, *options):
    status, lines, err = read(case, [WAYMARK, 'view', '--json', *options, path])
    check(status == 0, '%s: status %d: %s', path, status, err[-500:].decode())
    return [json.loads(line) for line in lines]


def simple(records):
    """Leaves without NaN, infinities, texts with null bytes and long texts."""
    return [
        (path, value) for record in records for path, value in leaves(record.get('fields') or {})
        if not (isinstance(value, float) and value != value) and not (isinstance(value, str) and value in NO_NUMBERS)
        and not (isinstance(value, str) and ('\0' in value or len(value) > 200))
    ]


@limit(600)
def random_filters_equal_independent_evaluation(case):
    """Expressions over values of the corpus's traces select the same records as the evaluation in Python."""
    tried = chosen = 0
    for trace in corpus18.GOOD:
        path = case.path(trace.name)
        trace.make(path)
        with open(os.path.join(path, 'metadata'), 'rb') if os.path.exists(os.path.join(path, 'metadata')) else open(
                os.devnull, 'rb') as f:
            if b'variant' in f.read():                   # --json does not show the selected option
                continue
        records = records_of(case, path)
        known = simple(records)
        # --json replaces bytes that are not UTF-8, and shows only one of several labels of a value.
        known = [(p, v) for p, v in known if not (isinstance(v, str) and '\ufffd' in v)]
        if trace.name.startswith('enums'):
            known = [(p, v['value'] if is_enum(v) else v) for p, v in known]
        if not known:
            continue
        for _ in range(max(2, rounds(10))):
            expression = some_expression(case.random, known)
            wanted = [record for record in records if wants(expression, record)]
            status, lines, err = read(case, [WAYMARK, 'view', '--json', '--filter=' + expression.text(), path])
            if status == 1 and b'does not fit the event' in err and len({record['event'] for record in records}) > 1:
                continue                                # the name has another type in another event
            check(status == 0, '%s, %s: status %d: %s', path, expression.text(), status, err[-500:].decode())
            got = [json.loads(line) for line in lines]
            check(got == wanted, '%s, %s: %d records of %d, not %d', path, expression.text(), len(got), len(records),
                  len(wanted))
            tried += 1
            chosen += 0 < len(got) < len(records)
    check(tried > 100 and chosen > tried // 20, '%d filters of %d selected a part of the records', chosen, tried)


def shown(case, path, text):
    status, lines, err = read(case, [WAYMARK, *VIEW, '--no-delta', '--filter=' + text, path])
    return status, lines, err.decode()


def filter_selects_by_context_and_name(case):
    """$ctx, $event, elements and both spellings of a name, on a new recording."""
    result = case.record([case.program('types')], ['-c', 'vpid', '-c', 'procname']).ok()
    records = records_of(case, result.directory)
    check(len(records) > 10, '%d records', len(records))
    pid, name = records[0]['context']['vpid'], records[0]['event']
    for text, wanted in (('$ctx.vpid == %d' % pid, lambda r: True), ('$ctx.vpid != %d' % pid, lambda r: False),
                         ('$ctx.procname == "types"', lambda r: r['context'].get('procname') == 'types'),
                         ('$event == "%s"' % name, lambda r: r['event'] == name), ('$event != "*:*"', lambda r: False),
                         ('$ctx.cpu_id >= 0 && !exists($ctx.vtid)',
                          lambda r: True), ('$ctx.cpu_id == 0', lambda r: r['packet']['cpu_id'] == 0)):
        got = records_of(case, result.directory, '--filter', text)
        check(got == [record for record in records if wanted(record)], '%s: %d of %d', text, len(got), len(records))


def filter_selects_by_variant_option(case):
    """An option is named by its name; records with another option have no such field."""
    trace = next(t for t in corpus18.GOOD
                 if t.name.startswith('variants_in_every_place') or t.name.startswith('variants'))
    path = case.path(trace.name)
    trace.make(path)
    text = ' '.join(line.decode() for line in shown(case, path, '1')[1])
    found = re.search(r'tag = \( "(\w+)" : container = \d+ \), (\w+) = \{ (-?\d+) \}', text)
    check(found is not None, 'no variant in %s', text)
    option, variant, value = found.groups()
    status, got, err = shown(case, path, '%s.%s == %s' % (variant, option, value))
    check(status == 0 and got, '%s.%s: status %d, %s', variant, option, status, err)
    status, _, err = shown(case, path, '%s == %s' % (variant, value))
    check(status == 1 and 'is a variant' in err and option in err, '%s: status %d, %s', variant, status, err)


def filter_exists_is_true_for_present_structures_and_elements(case):
    """exists() of fields that are neither number nor text: structure options, elements, and members of an option."""
    path = case.path('trace')
    next(t for t in corpus18.GOOD if t.name == 'variants_in_every_place').make(path)
    for name, wanted in (('last.zero', 1), ('last.minus', 1), ('last', 3), ('s.v.plus', 1), ('s.v', 3),
                         ('nested.outer', 2), ('list', 3), ('list[1]', 3), ('list[2]', 0), ('many', 3), ('many[0]', 2),
                         ('many[1]', 1), ('many[2]', 0), ('last.zero.p', 1)):
        for text, count in (('exists(%s)', wanted), ('!exists(%s)', 3 - wanted)):
            status, lines, err = shown(case, path, text % name)
            check(status == 0 and len(lines) == count, text + ': status %d, %d records, not %d: %s', name, status,
                  len(lines), count, err)


def filter_errors_are_reported_with_their_position(case):
    result = case.record([case.program('types')]).ok()
    field = next(path for record in records_of(case, result.directory) for path, _ in leaves(record['fields'])
                 if len(path) > 4 and NAME.match(path))
    for text, words in (('', 'empty'), ('a ==', 'column 5'), (field + 'x == 1', 'is %s' % field),
                        ('%s = 1' % field, '=='), ('"a" == 1', 'a number with a text'),
                        ('.'.join('abcdefgh') + '.i == 1', 'column 16: a field has at most %d names' % DEEP)):
        status, lines, err = shown(case, result.directory, text)
        check(status == 1 and not lines and words in err, '%s: status %d, %d lines: %s', text, status, len(lines), err)


def filter_matches_label_ranges_beyond_the_field_width(case):
    """A label's range that exceeds the values of its field, and the range of signed numbers."""
    plain, path = Plain(), case.path('labels')
    plain.event('e', 'enum : uint8_t { low = 0 ... 127, high = 128 ... 0xFFFFFFFFFFFFFFFF } f;')
    values = (0, 127, 128, 200, 255)
    save(path, metadata=plain.text(),
         stream=plain.packet([(BEGIN + n, 0, lambda b, v=v: b.i(8, v)) for n, v in enumerate(values)]).bytes)
    for text, wanted in (('f == "high"', (128, 200, 255)), ('f != "high"', (0, 127)), ('f == "low"', (0, 127)),
                         ('f == "*"', values)):
        got = [r['fields']['f']['value'] for r in records_of(case, path, '--filter', text)]
        check(got == list(wanted), '%s gives %s', text, got)


def planted_wrong_filter_results_are_detected(case):
    record = {'fields': {'a': 1, 'b': {'label': 'X', 'value': 2}, 'c': ['p', 'q']}}
    for expression, wanted in ((Comparison('a', '==', 1), True), (Comparison('a', '<', 1), False),
                               (Comparison('b', '==',
                                           'X'), True), (Comparison('c[1]', '==',
                                                                    'q'), True), (Comparison('c[2]', '!=', 'q'), False),
                               (Not(Comparison('c[2]', '==', 'q')),
                                False), (Not(Pair('&&', Comparison('c[2]', '==', 'q'),
                                                  Exists('a'))), True), (Pair('||', Comparison('c', '==', 1),
                                                                              Exists('a')), True),
                               (Comparison('c', '==', 1), False), (Exists('c'), True), (Exists('d'), False)):
        check(wants(expression, record) == wanted, '%s is not %s', expression.text(), wanted)


if __name__ == '__main__':
    main([
        planted_wrong_filter_results_are_detected, random_filters_equal_independent_evaluation,
        filter_selects_by_context_and_name, filter_selects_by_variant_option,
        filter_exists_is_true_for_present_structures_and_elements, filter_errors_are_reported_with_their_position,
        filter_matches_label_ranges_beyond_the_field_width
    ])
