#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Filters: every operator, in expression trees without redundant parentheses. A second evaluation uses the values that
were written into a small trace.
"""
import json
import math
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from ctf18 import BEGIN, Plain  # noqa: E402
from filter_values import COMPARE, FRACTION, HIGHEST, LEVEL, LEVELS, LOWEST, SIGNED, STAR, TEXT, UNSIGNED  # noqa: E402
from filter_values import Absent, Before, Either, Exists, Field, In, Number, Pair, Text, wants  # noqa: E402
from harness import WAYMARK, check, limit, main, rounds  # noqa: E402
from t_view import read  # noqa: E402

TYPES = '''typealias floating_point { exp_dig = 8; mant_dig = 24; align = 8; } := f32;
typealias floating_point { exp_dig = 11; mant_dig = 53; align = 8; } := f64;
'''
CONTEXT = '	event.context := struct { int32_t vpid; string procname; };\n'
# Two events; some names have other types in the second one. Expressions are made for the first one.
FIELDS = '''uint8_t n; int64_t s; uint64_t u; int8_t c; uint32_t w; f64 d; f32 f; string t; string o;
int16_t list[3]; uint8_t many; uint64_t more[many];
string names[2]; struct { int64_t x; struct { uint64_t y; f64 z; } deep[2]; } st; enum : int8_t {
low = -3 ... 0, zero = 0, one = 1, two = 2 } e;
enum : uint64_t { small = 0 ... 9, large = 18446744073709551615 } eu; int8_t in; uint8_t exists; enum : uint8_t {
num, txt, rec } tag;
variant <tag> { int64_t num; string txt; struct { f64 q; uint64_t l[2]; } rec; } v;'''
OTHER = 'uint8_t n; string s; f64 u; uint64_t c; string d; int32_t t; uint8_t list[1]; enum : uint8_t { one = 7 } ' \
    'e; struct { string x; } st; int64_t only;'
LABELS = {
    'e': [(b'low', -3, 0), (b'zero', 0, 0), (b'one', 1, 1), (b'two', 2, 2)], 'eu': [(b'small', 0, 9),
                                                                                    (b'large', HIGHEST, HIGHEST)],
    'tag': [(b'num', 0, 0), (b'txt', 1, 1), (b'rec', 2, 2)]
}
OTHER_LABELS = {'e': [(b'one', 7, 7)]}
EVERYWHERE = {'$event': TEXT, '$ctx.vpid': SIGNED, '$ctx.procname': TEXT, '$ctx.cpu_id': SIGNED, 'n': SIGNED}
KINDS = dict(
    EVERYWHERE, **{
        's': SIGNED, 'u': UNSIGNED, 'c': SIGNED, 'w': SIGNED, 'd': FRACTION, 'f': FRACTION, 't': TEXT, 'o': TEXT,
        'many': SIGNED, 'st.x': SIGNED, 'e': SIGNED, 'eu': UNSIGNED, 'in': SIGNED, 'exists': SIGNED, 'tag': SIGNED,
        'v.num': SIGNED, 'v.txt': TEXT, 'v.rec.q': FRACTION, **{'list[%d]' % i: SIGNED for i in range(4)},
        **{'more[%d]' % i: UNSIGNED for i in range(4)}, **{'names[%d]' % i: TEXT for i in range(3)},
        **{'st.deep[%d].%s' % (i, name): kind for i in range(3) for name, kind in (('y', UNSIGNED), ('z', FRACTION))},
        **{'v.rec.l[%d]' % i: UNSIGNED for i in range(3)}
    })
# Operands of exists() only: fields that are neither number nor text, and names that no event has.
PARTS = [
    'st', 'st.deep', 'st.deep[0]', 'st.deep[2]', 'list', 'names', 'more', 'v', 'v.rec', 'v.rec.l', 'only', 'nothing',
    '$ctx.nothing'
]
OTHER_KINDS = dict(EVERYWHERE, s=TEXT, u=FRACTION, c=UNSIGNED, d=TEXT, t=SIGNED, e=SIGNED, only=SIGNED,
                   **{'st.x': TEXT}, **{'list[%d]' % i: SIGNED for i in range(4)})

WHOLE = [
    0, 0, 1, 1, 2, 3, 5, 7, 63, 64, -1, -2, -7, 127, -128, 255, 1 << 31, (1 << 32) - 1, (1 << 53) + 1, (1 << 63) - 1,
    LOWEST, LOWEST + 1, 1 << 63, HIGHEST
]
FRACTIONS = [
    0.0, -0.0, 1.0, -1.0, .5, -2.5, 3.0, 1e-3, 9007199254740992.0, 9223372036854775808.0, 18446744073709551616.0,
    -1e300, math.inf, -math.inf, math.nan
]
SHIFTS = [0, 1, 3, 8, 31, 32, 62, 63, 64, 64, 65, -1]
TEXTS = [b'', b'a', b'ab', b'abc', b'a*c', b'*', b'b', b'B"', b'\\', b'\xc3\xa9', b'a\nb', b'abcabcabd', b'x' * 70]
OPERATORS = {*LEVEL, '?:', 'exists', '! before', '- before', '+ before', '~ before'}


def some_whole(random, bits, signed):
    value = random.choice(WHOLE) if random.random() < .8 else random.getrandbits(random.choice((4, 16, 64)))
    value &= (1 << bits) - 1
    return value - (1 << bits) if signed and value >> bits - 1 else value


class Record:
    """One record of the trace: its values for a filter, and the bits to write."""

    def __init__(self, random, number, event):
        self.random, self.bits, self.number, self.event = random, [], number, event
        self.values = {'$event': event.encode()}
        self.i('$ctx.vpid', 32)
        self.s('$ctx.procname')
        self.put('n', 'i', 8, number)
        if event == 'all':
            self.all()
        else:
            self.other()
        self.seen = KINDS if event == 'all' else OTHER_KINDS, self.values, LABELS if event == 'all' else OTHER_LABELS

    def put(self, path, how, *what):
        self.values[path] = what[-1]
        self.bits.append((how, *what))

    def i(self, path, bits, signed=True, value=None):
        value = some_whole(self.random, bits, signed) if value is None else value
        self.put(path, 'i', bits, value)
        return value

    def f(self, path, bits=64):
        value = self.random.choice(FRACTIONS) if self.random.random() < .8 else self.random.uniform(-9, 9)
        if bits == 32 and math.isfinite(value):
            value = struct.unpack('<f', struct.pack('<f', value if abs(value) < 1e30 else 1.5))[0]
        self.put(path, 'f', bits, value)

    def s(self, path):
        self.put(path, 's', self.random.choice(TEXTS))

    def all(self):
        self.i('s', 64)
        self.i('u', 64, False)
        self.i('c', 8)
        self.i('w', 32, False)
        self.f('d')
        self.f('f', 32)
        self.s('t')
        self.s('o')
        for item in range(3):
            self.i('list[%d]' % item, 16)
        for item in range(self.i('many', 8, value=self.random.randrange(4))):
            self.i('more[%d]' % item, 64, False)
        self.s('names[0]')
        self.s('names[1]')
        self.i('st.x', 64)
        for item in range(2):
            self.i('st.deep[%d].y' % item, 64, False)
            self.f('st.deep[%d].z' % item)
        self.i('e', 8, value=self.random.choice((-3, 0, 0, 1, 2, 3)))
        self.i('eu', 64, value=self.random.choice((0, 9, 10, HIGHEST)))
        self.i('in', 8)
        self.i('exists', 8, False)
        option = self.i('tag', 8, value=self.random.randrange(3))
        if option == 0:
            self.i('v.num', 64)
        elif option == 1:
            self.s('v.txt')
        else:
            self.f('v.rec.q')
            self.i('v.rec.l[0]', 64, False)
            self.i('v.rec.l[1]', 64, False)
            self.has('v.rec', 'v.rec.l')
        self.has('st', 'st.deep', 'st.deep[0]', 'list', 'names', 'more', 'v')

    def other(self):
        self.s('s')
        self.f('u')
        self.i('c', 64, False)
        self.s('d')
        self.i('t', 32)
        self.i('list[0]', 8, False)
        self.i('e', 8, value=self.random.choice((7, 1)))
        self.s('st.x')
        self.i('only', 64)
        self.has('st', 'list')

    def has(self, *paths):
        self.values.update(dict.fromkeys(paths))

    def write(self, bits):
        for how, *what in self.bits:
            getattr(bits, how)(*what)


def made(case, path):
    plain = Plain(types=TYPES, contexts=CONTEXT)
    plain.event('all', FIELDS)
    plain.event('other', OTHER)
    records = [Record(case.random, n, 'other' if n % 6 == 5 else 'all') for n in range(48)]
    packets = []
    for cpu, part in ((0, records[:16]), (5, records[16:])):
        packets.append(
            plain.packet([(BEGIN + 1000 * r.number, int(r.event == 'other'), r.write) for r in part], cpu=cpu,
                         sequence=len(packets)))
        for record in part:
            record.values['$ctx.cpu_id'] = cpu
    plain.write(path, stream=packets)
    return records


class Maker:
    """Expressions that are valid for the event `all`."""

    def __init__(self, random, records):
        self.random, self.records = random, [record for record in records if record.event == 'all']

    def field(self, *kinds):
        return Field(self.random.choice([path for path, kind in KINDS.items() if kind in kinds]))

    def leaf(self, whole):
        kinds = (SIGNED, UNSIGNED) if whole else (SIGNED, UNSIGNED, FRACTION)
        if self.random.random() < .6:
            return self.field(*kinds)
        if not whole and self.random.random() < .3:
            return Number(self.random.choice([value for value in FRACTIONS if not math.isnan(value)]))
        return Number(self.random.choice(WHOLE))

    def number(self, depth, whole=False):
        random, how = self.random, self.random.random()
        if depth == 0 or how < .1:
            return self.leaf(whole)
        if how < .25:
            operator = random.choice('!-+~')
            return Before(operator, self.number(depth - 1, operator == '~' or whole and operator != '!'))
        if how < .32:
            return Either(self.number(depth - 1), self.number(depth - 1, whole), self.number(depth - 1, whole))
        if how < .55:
            return self.truth(depth)
        if how < .65:
            by = self.number(depth - 1, True)
            return Pair(
                random.choice(('<<', '>>')), self.number(depth - 1, True),
                random.choice((by, Number(random.choice(SHIFTS)), Pair('&', by, Number(random.choice((3, 63)))))))
        operator = random.choice('+-*/&|^%' if whole or random.random() < .6 else '+-*/')
        whole = whole or operator in '&|^%'
        return Pair(operator, self.number(depth - 1, whole), self.number(depth - 1, whole))

    def mixed(self, depth):
        """
        Any operator inside any other, so that operator precedence changes the result. Small operands show most
        differences.
        """
        random = self.random
        if depth == 0 or random.random() < .1:
            return Number(random.choice((1, 2, 3, 5, 6))) if random.random() < .4 else self.field(SIGNED, UNSIGNED)
        if random.random() < .1:
            return Before(random.choice('!-~'), self.mixed(depth - 1))
        if random.random() < .1:
            return Either(*(self.mixed(depth - 1) for _ in range(3)))
        operator, left = random.choice(list(LEVEL)), self.mixed(depth - 1)
        if operator == 'in':
            return In(left, [Number(0), Number(random.choice((1, 2, 3)))])
        return Pair(operator, left, self.mixed(depth - 1))

    def any(self):
        """The root expression: many are compared with a value that they have, so that each bit of the result counts."""
        random, depth = self.random, self.random.randint(1, 4)
        if random.random() < .4:
            return self.truth(depth)
        expression = self.mixed(min(depth, 3)) if random.random() < .7 else self.number(depth)
        value = self.value_of(expression) if random.random() < .8 else None
        return Pair('==', expression, value) if value else expression

    def truth(self, depth):
        random, how = self.random, self.random.random()
        if how < .1:
            return Exists(random.choice((random.choice(list(KINDS)), random.choice(PARTS))))
        # Fields of the other event. A name that no event has would be refused.
        if how < .13:
            both = random.choice((('&&', Exists('only')), ('||', Before('!', Exists('only')))))
            return Pair(both[0], both[1], Pair(random.choice([*COMPARE, '-', '|']), Field('only'), self.leaf(True)))
        if how < .3:
            return self.texts()
        if how < .4:
            choices = [Number(random.choice(WHOLE + FRACTIONS[:-1])) for _ in range(random.randint(1, 4))]
            operand = self.number(depth - 1)
            if random.random() < .5 and isinstance(operand, Field):
                choices.append(self.value_of(operand) or choices[0])
            return In(operand, choices)
        if how < .6:
            return Pair(random.choice(('&&', '||')), self.number(depth - 1), self.number(depth - 1))
        operator, operand = random.choice(list(COMPARE)), self.number(depth - 1)
        other = random.random() < .5 and self.value_of(operand) or self.number(depth - 1)
        return Pair(operator, *random.choice(((operand, other), (other, operand))))

    def value_of(self, operand):
        """The operand's value in one of the records; None if it has no value or the value cannot be written."""
        record = self.random.choice(self.records).seen
        try:
            value = operand.number(record)
        except Absent:
            return None
        return None if value != value else Number(value)

    def texts(self):
        random = self.random
        if random.random() < .25:
            path = random.choice(list(LABELS))
            labels = [label for label, *_ in LABELS[path]]
            some = [
                random.choice((Text(label), Text(label[:1], STAR), Text(STAR, label[-2:]), Text(STAR)))
                for label in random.sample(labels, 2)
            ]
            return In(Field(path), some) if random.random() < .3 else self.pair(('==', '!='), Field(path), some[0])
        field, how = self.field(TEXT), random.random()
        if how < .2:
            return Pair(random.choice(list(COMPARE)), field, self.field(TEXT))
        if how < .4:
            return self.pair(list(COMPARE), field, Text(random.choice(TEXTS)))
        if how < .6:
            return In(field, [self.pattern() for _ in range(random.randint(1, 4))])
        return self.pair(('==', '!='), field, self.pattern())

    def pair(self, operators, one, other):
        return Pair(self.random.choice(operators), *self.random.choice(((one, other), (other, one))))

    def pattern(self):
        """A pattern of one of the texts, with stars in place of some parts."""
        text, parts = self.random.choice(TEXTS), []
        for _ in range(self.random.randint(0, 3)):
            cut = self.random.randint(0, len(text))
            parts += [text[:cut], STAR]
            text = text[self.random.randint(cut, len(text)):]
        return Text(*parts, text)


def chosen(case, path, text):
    status, lines, err = read(case, [WAYMARK, 'view', '--json', '--filter=' + text, path])
    check(status == 0, '%s: status %d: %s', text, status, err[-500:].decode())
    return [json.loads(line)['fields']['n'] for line in lines]


def wanted_of(expression, records):
    return [record.number for record in records if wants(expression, record.seen)]


def check_selection(case, path, records, expression):
    """The filter selects exactly the wanted records. Returns their number."""
    text, wanted = expression.text(case.random), wanted_of(expression, records)
    got = chosen(case, path, text)
    if got != wanted:
        first = records[min(set(got) ^ set(wanted))]
        check(False, '%s: selected %s, not %s; record %d: %s', text, got, wanted, first.number, first.values)
    return len(got)


def readings(maker, first, second):
    """
    x FIRST y SECOND z as C reads it, and with the other grouping. FIRST is an operator, ?: or a sign; SECOND is an
    operator or ?:.
    """
    x, y, z, w = (maker.mixed(0) for _ in range(4))

    def join(operator, left, right):
        if operator == '?:':
            return Either(left, right, w)
        return In(left, [Number(1), Number(2)]) if operator == 'in' else Pair(operator, left, right)
    if first in ('!', '-', '~'):
        return join(second, Before(first, x), y), Before(first, join(second, x, y))
    if first == '?:':                                    # x ? w : y SECOND z
        return Either(x, w, join(second, y, z)), join(second, Either(x, w, y), z)
    left, right = join(second, join(first, x, y), z), join(first, x, join(second, y, z))
    return (left, right) if second == '?:' or LEVEL[first] >= LEVEL[second] else (right, left)


@limit(300)
def each_pair_of_filter_operators_groups_as_in_c(case):
    """Each operator next to one of each precedence level, with values for which the grouping changes the result."""
    path, n_changed = case.path('trace'), 0
    records = made(case, path)
    maker, levels = Maker(case.random, records), LEVELS + [('?:',)]
    firsts = [[o for o in level if o != 'in'] for level in levels] + ['!-~']
    many = max(1, rounds(6))
    for first, second in [(first, second) for first in firsts for second in levels] * many:
        for _ in range(60):
            right, wrong = readings(maker, case.random.choice(first), case.random.choice(second))
            value = maker.value_of(right)
            if value and case.random.random() < .7:
                right, wrong = Pair('==', value, right), Pair('==', value, wrong)
            if wanted_of(right, records) != wanted_of(wrong, records):
                check_selection(case, path, records, right)
                n_changed += 1
                break
    # Both groupings of a || (b || c), a + (b + c) and sometimes a ? b : (c ? d : e) have the same result.
    check(n_changed >= many * len(firsts) * len(levels) * 8 // 10,
          'the grouping changed the result of %d expressions of %d', n_changed,
          many * len(firsts) * len(levels))


@limit(300)
def random_expressions_equal_independent_evaluation(case):
    """Trees of all operators over fields of all types select the same records as a second evaluation."""
    path, part, used = case.path('trace'), 0, set()
    records = made(case, path)
    check(
        chosen(case, path, '1') == [record.number for record in records], 'the records read differ from those written')
    maker, tried = Maker(case.random, records), max(130, rounds(2000))
    for _ in range(tried):
        expression = maker.any()
        if 0 < check_selection(case, path, records, expression) < len(records):
            part += 1
            used.update(expression.inside())
    check(part > tried // 4, '%d filters of %d selected a part of the records', part, tried)
    check(tried < 1000 or used == OPERATORS, 'no filter that selected a part of the records has %s',
          ' '.join(OPERATORS - used))


if __name__ == '__main__':
    main([each_pair_of_filter_operators_groups_as_in_c, random_expressions_equal_independent_evaluation])
