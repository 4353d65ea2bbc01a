# SPDX-License-Identifier: MIT
"""
A second implementation of filters, written from waymark-filter(7): trees of expressions that print themselves with as
few parentheses as C needs, and that compute their value for a record. A record is (kinds, values, labels): the kind of
each name that a filter may use, the values of this record, and the labels of enumerations.
"""
import math
import re

SIGNED, UNSIGNED, FRACTION, TEXT = 'signed', 'unsigned', 'fraction', 'text'
STAR = None
LOWEST, HIGHEST = -1 << 63, (1 << 64) - 1
NEEDLESS = .07                   # how many operands get redundant parentheses

# Precedence, from the weakest to the strongest: ?: is 0, a prefix operator 11, an atom 12.
LEVELS = [('||', ), ('&&', ), ('|', ), ('^', ), ('&', ), ('==', '!='), ('<', '<=', '>', '>=', 'in'), ('<<', '>>'),
          ('+', '-'), ('*', '/', '%')]
LEVEL = {operator: level for level, operators in enumerate(LEVELS, 1) for operator in operators}
BEFORE, ATOM = 11, 12
COMPARE = {
    '==': lambda a, b: a == b, '!=': lambda a, b: a != b, '<': lambda a, b: a < b, '<=': lambda a, b: a <= b,
    '>': lambda a, b: a > b, '>=': lambda a, b: a >= b,
}


class Absent(Exception):
    """The expression has no value in this record."""


def wrapped(kind, value):
    value &= HIGHEST
    return value - (1 << 64) if kind == SIGNED and value >> 63 else value


def common(*kinds):
    """The kind of two numbers after conversion; the kind of an absent operand does not matter."""
    numbers = {SIGNED, UNSIGNED, FRACTION}.intersection(kinds)
    return FRACTION if FRACTION in numbers else UNSIGNED if UNSIGNED in numbers else SIGNED if numbers else None


def become(kind, value):
    return float(value) if kind == FRACTION else wrapped(kind, value)


def divided(a, b):
    """Division of fractions as in IEEE 754, where Python raises exceptions."""
    if b:
        return a / b
    return math.nan if not a or math.isnan(a) else math.copysign(math.inf, math.copysign(1, a) * math.copysign(1, b))


def arithmetic(operator, kind, a, b):
    if kind == FRACTION:
        return {'+': lambda: a + b, '-': lambda: a - b, '*': lambda: a * b, '/': lambda: divided(a, b)}[operator]()
    if operator in '/%':
        if b == 0:
            raise Absent
        quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)      # towards 0
        return wrapped(kind, quotient if operator == '/' else a - b * quotient)
    return wrapped(kind, {'+': a + b, '-': a - b, '*': a * b, '&': a & b, '|': a | b, '^': a ^ b}[operator])


class Node:
    """An expression. print(random) returns its text and the precedence of its weakest operator."""

    def text(self, random, level=0):
        """The text as an operand of an operator with precedence `level`."""
        text, strength = self.print(random)
        if strength < level or random.random() < NEEDLESS:
            return random.choice(('(%s)', '( %s )')) % text
        return text

    def kind(self, kinds):
        """Its kind in an event, from the fields of the event. None: it has no value in any record of the event."""
        raise NotImplementedError

    def value(self, record):
        """A number, or bytes."""
        raise NotImplementedError

    def number(self, record):
        if self.kind(record[0]) in (TEXT, None):
            raise Absent
        return self.value(record)

    def inside(self):
        """Its operators and those of its operands."""
        yield from ()


class Number(Node):
    """A literal number with its minus sign."""

    def __init__(self, value):
        self.stands = value

    def print(self, random):
        value = abs(self.stands)
        if isinstance(value, float):
            text = '1e400' if math.isinf(value) else repr(value)
        else:
            text = random.choice(['%d'] * 5 + ['0x%x', '0X%X', '0%o', 'b']) if value else '%d'
            text = '0b' + bin(value)[2:] if text == 'b' else text % value
            if 32 <= value < 127 and chr(value) not in "'\\" and random.random() < .1:
                text = "'%c'" % value
        return ('-' + text, BEFORE) if math.copysign(1, self.stands) < 0 else (text, ATOM)

    def kind(self, kinds):
        return FRACTION if isinstance(self.stands, float) else UNSIGNED if self.stands >> 63 > 0 else SIGNED

    def value(self, record):
        return self.stands


class Text(Node):
    """A literal text: bytes and stars."""

    def __init__(self, *parts):
        self.parts = parts

    def print(self, random):
        text = ''
        for part in self.parts:
            text += '*' if part is STAR else ''.join(self.escaped(random, byte) for byte in part)
        return '"%s"' % text, ATOM

    @staticmethod
    def escaped(random, byte):
        if chr(byte) in '"\\*':
            return random.choice(('\\' + chr(byte), '\\%03o' % byte))
        return chr(byte) if 32 <= byte < 127 and random.random() < .95 else '\\%03o' % byte

    def kind(self, kinds):
        return TEXT

    def value(self, record):
        return b''.join(self.parts)

    def matches(self, text):
        return re.fullmatch(b''.join(b'.*' if part is STAR else re.escape(part) for part in self.parts), text,
                            re.DOTALL) is not None


class Field(Node):
    def __init__(self, path):
        self.path = path

    def print(self, random):
        return self.path, ATOM

    def kind(self, kinds):
        return kinds.get(self.path)

    def value(self, record):
        if self.path not in record[1]:
            raise Absent
        return record[1][self.path]


class Exists(Field):
    def print(self, random):
        return 'exists(%s)' % self.path, ATOM

    def kind(self, kinds):
        return SIGNED

    def value(self, record):
        return int(self.path in record[1])

    def inside(self):
        yield 'exists'


class Before(Node):
    """A prefix operator: ! - + ~."""

    def __init__(self, operator, operand):
        self.operator, self.operand = operator, operand

    def print(self, random):
        text = self.operand.text(random, BEFORE)
        if self.operator == '-' and isinstance(self.operand,
                                               Number) and self.operand.kind(None) == UNSIGNED and text[0] != '(':
            text = '(%s)' % text  # without parentheses it would be one literal, below the lowest number
        return self.operator + random.choice(('', '', ' ')) + text, BEFORE

    def kind(self, kinds):
        kind = common(self.operand.kind(kinds))
        if self.operator == '!':
            return SIGNED if kind else None
        return None if self.operator == '~' and kind == FRACTION else kind

    def value(self, record):
        kind, value = self.kind(record[0]), self.operand.number(record)
        if self.operator == '!':
            return int(not value)
        if kind is None:
            raise Absent
        if self.operator == '~':
            return wrapped(kind, ~value)
        if self.operator == '-':
            return -value if kind == FRACTION else wrapped(kind, -value)
        return value

    def inside(self):
        yield self.operator + ' before'
        yield from self.operand.inside()


def can_be_compared(left, right, kinds):
    """
    (A literal text and a number may be a label and an enumeration, which kinds do not show. No such comparison is a
    condition of ?: here.)
    """
    both = left.kind(kinds), right.kind(kinds)
    return None not in both and ((both[0] == TEXT) == (both[1] == TEXT) or isinstance(left, Text)
                                 or isinstance(right, Text))


def compared(operator, left, right, record):
    """Compare two operands; one of them may be a literal text, which is a pattern or a label."""
    for one, other in ((left, right), (right, left)):
        if isinstance(one, Text) and isinstance(other, Field) and other.path in record[2]:
            value = other.value(record)
            known = [label for label, low, high in record[2][other.path] if low <= value <= high]
            return (operator == '!=') != any(one.matches(label) for label in known)
    kinds = left.kind(record[0]), right.kind(record[0])
    if None in kinds or (kinds[0] == TEXT) != (kinds[1] == TEXT):
        raise Absent
    if TEXT in kinds:
        for one, other in ((left, right), (right, left)):
            if isinstance(one, Text) and STAR in one.parts:
                return (operator == '!=') != one.matches(other.value(record))
        return COMPARE[operator](left.value(record), right.value(record))
    a, b = left.number(record), right.number(record)
    return COMPARE[operator](float(a), float(b)) if FRACTION in kinds else COMPARE[operator](a, b)


class Pair(Node):
    def __init__(self, operator, left, right):
        self.operator, self.left, self.right = operator, left, right

    def print(self, random):
        level, space = LEVEL[self.operator], random.choice((' ', ' ', ''))
        return self.left.text(random, level) + space + self.operator + space + self.right.text(random, level + 1), level

    def kind(self, kinds):
        if self.operator in ('&&', '||'):
            return SIGNED
        both = self.left.kind(kinds), self.right.kind(kinds)
        if self.operator in COMPARE:
            return SIGNED if can_be_compared(self.left, self.right, kinds) else None
        if None in both or TEXT in both or FRACTION in both and self.operator not in ('+', '-', '*', '/'):
            return None
        return both[0] if self.operator in ('<<', '>>') else common(*both)

    def value(self, record):
        if self.operator == '&&':
            return int(wants(self.left, record) and wants(self.right, record))
        if self.operator == '||':
            return int(wants(self.left, record) or wants(self.right, record))
        if self.operator in COMPARE:
            return int(compared(self.operator, self.left, self.right, record))
        kind, a, b = self.kind(record[0]), self.left.number(record), self.right.number(record)
        if kind is None:
            raise Absent
        if self.operator in ('<<', '>>'):
            if not 0 <= b <= 63:
                raise Absent
            return wrapped(kind, a << b if self.operator == '<<' else a >> b)
        return arithmetic(self.operator, kind, become(kind, a), become(kind, b))

    def inside(self):
        yield self.operator
        yield from self.left.inside()
        yield from self.right.inside()


class In(Node):
    def __init__(self, operand, choices):
        self.operand, self.choices = operand, choices

    def print(self, random):
        return '%s in [%s]' % (self.operand.text(random, LEVEL['in']), ', '.join(
            choice.print(random)[0] for choice in self.choices)), LEVEL['in']

    def kind(self, kinds):
        return SIGNED if any(can_be_compared(self.operand, choice, kinds) for choice in self.choices) else None

    def value(self, record):
        return int(any([compared('==', self.operand, choice, record) for choice in self.choices]))

    def inside(self):
        yield 'in'
        yield from self.operand.inside()


class Either(Node):
    """The conditional operator: only one side is evaluated, but both determine the kind."""

    def __init__(self, condition, yes, no):
        self.condition, self.yes, self.no = condition, yes, no

    def print(self, random):
        return '%s ? %s : %s' % (self.condition.text(random, 1), self.yes.text(random), self.no.text(random)), 0

    def kind(self, kinds):
        if common(self.condition.kind(kinds)) is None:
            return None                                  # the kinds of its sides do not matter
        return common(self.yes.kind(kinds), self.no.kind(kinds))

    def value(self, record):
        side = self.yes if self.condition.number(record) else self.no
        return become(self.kind(record[0]), side.number(record))

    def inside(self):
        yield '?:'
        for part in (self.condition, self.yes, self.no):
            yield from part.inside()


def wants(expression, record):
    try:
        return expression.number(record) != 0
    except Absent:
        return False
