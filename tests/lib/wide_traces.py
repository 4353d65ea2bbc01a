# SPDX-License-Identifier: MIT
"""Traces of wide_numbers.py with random classes and values."""
from wide_numbers import LENGTHS, REALS, WIDEST, Array, Choice, Leaf, Made, Struct, span

LABELS = [(0, 0), (1, 1), (2, 9), (10, 99), (100, 300), (1 << 31, 1 << 32), ((1 << 63) - 9, (1 << 63) - 1),
          (1 << 63, (1 << 63) + 9), ((1 << 64) - 9, (1 << 64) - 2), ((1 << 64) - 1, (1 << 64) - 1), (-1, -1), (-9, -2),
          (-300, -100), (-(1 << 63), -(1 << 63)), (-(1 << 63) + 1, -(1 << 63) + 9), (1000, 1 << 20)]


class Maker:
    """Random field classes with one byte order; with `mixed`, with both, where the order changes at byte boundaries."""

    def __init__(self, random, version, order, mixed, most=WIDEST, backwards=True, leb128=True):
        self.random, self.version, self.order, self.mixed = random, version, order, mixed
        self.most, self.names = most, 0
        self.backwards, self.leb128 = backwards and version == 2, leb128 and version == 2
        self.now, self.free = order, True       # the order of the preceding bits; whether it may change

    def length(self):
        random = self.random
        return min(
            self.most,
            random.choice((random.choice(LENGTHS), random.choice(LENGTHS[9:30]), random.randint(1, 64),
                           random.randint(65, 300), random.randint(65, self.most) if self.most > 65 else self.most)))

    def labels(self, kind, length):
        """Labels of an integer within 64 bits; of a map, any bits."""
        random = self.random
        if kind == 'map':
            return [('bit%d' % n, [(low, min(low + random.choice((0, 0, 1, 70)), length - 1))
                                   for low in random.choices(range(length), k=random.choice((1, 1, 3)))])
                    for n in range(random.randint(1, 5))]
        signed = kind == 'signed'
        low, high = span(min(length or 64, 64), signed)
        fit = [pair for pair in LABELS if low <= pair[0] and pair[1] <= high]
        picked = random.sample(fit, min(len(fit), random.randint(1, 6)))
        labels = [('label %d' % n, [pair]) for n, pair in enumerate(picked)]
        if random.random() < 0.3:                       # some values have several names
            labels.append(('label of more', [(random.choice(picked)[0], random.choice(picked)[1])]))
            labels[-1] = (labels[-1][0], [tuple(sorted(labels[-1][1][0]))])
        return labels

    def leaf(self, kinds=None, labelled=None, align=None, fixed=False, roles=()):
        random = self.random
        kind = random.choice(
            kinds or
            (('array', 'map', 'boolean', 'unsigned', 'unsigned', 'signed', 'signed', 'real') if self.version == 2 else
             ('unsigned', 'unsigned', 'signed', 'signed', 'real')))
        length = self.length()
        if kind == 'real':
            length = random.choice([n for n in REALS if n <= self.most])
        elif kind == 'boolean' and not self.backwards:
            length = min(length, 64)            # CTF 1.8 cannot express larger booleans
        elif kind in ('unsigned', 'signed') and self.leb128 and not fixed and random.random() < 0.25:
            length = None
        align = align or (1 << random.choice((3, 3, 4, 5, 6, 9, 12)) if random.random() < 0.25 else 1)
        order = self.now
        if length and align >= 8 and self.mixed and self.free:
            self.now = order = random.choice(('le', 'be'))
        is_labelled = labelled if labelled is not None else random.random() < 0.3
        return Leaf(
            kind, length, order, self.backwards and random.random() < 0.25, align, random.choice((2, 8, 10, 10, 16)),
            self.labels(kind, length) if kind == 'map' or kind in ('unsigned', 'signed') and is_labelled else (), roles)

    def inner(self, depth):
        """The content of an optional or repeated field: it has the bit order of the fields before and after it."""
        before, self.free = self.free, False
        made = self.node(depth)
        self.free = before
        return made

    def node(self, depth=0):
        way = self.random.randrange(14 if depth < 3 else 10)
        if way < 10:
            return self.leaf()
        if way < 12:
            return Array(self.inner(depth + 1) if way == 10 else self.leaf(), self.random.randint(1, 3))
        return Struct(self.members(self.random.randint(0, 3), depth + 1), self.random.choice((1, 1, 8, 64)))

    def members(self, count, depth=0):
        made = []
        for _ in range(count):
            made += self.pair(depth) if self.random.random() < 0.15 and depth < 3 else [(self.name(), self.node(depth))]
        return made

    def name(self):
        self.names += 1
        return 'f%d' % self.names

    def pair(self, depth):
        """A number, and a field that uses it as length or selector."""
        random, of, name = self.random, self.name(), self.name()
        way = random.choice(('length', 'variant', 'optional', 'boolean') if self.version == 2 else ('length',
                                                                                                    'variant'))
        if way == 'length':
            length = self.leaf(('unsigned',), False)
            length.pick = lambda random, most=min(3, (1 << (length.length or 7)) - 1): random.randint(0, most)
            return [(of, length), (name, Array(self.inner(depth + 1), of=of))]
        if way == 'boolean':
            return [(of, self.leaf(('boolean',))), (name, Choice(of, [('x', None, self.inner(depth + 1))], True))]
        selector = self.leaf(('unsigned', 'signed'), False)
        low, high = span(min(selector.length or 64, 64), selector.signed)
        ranges = [pair for pair in LABELS if low <= pair[0] and pair[1] <= high]
        ranges = random.sample(ranges, min(len(ranges), random.randint(1, 4)))
        options = [('option%d' % n, [pair], self.inner(depth + 1)) for n, pair in enumerate(ranges)]
        if self.version == 1:
            selector.labels = [(option, pairs) for option, pairs, _ in options]
        selector.pick = lambda random: random.randint(*random.choice(ranges))
        if way == 'variant':
            return [(of, selector), (name, Choice(of, options, False))]
        selector.pick = lambda random: random.randint(*random.choice(ranges)) if random.random(
        ) < 0.7 else random.randint(max(low, -500), min(high, 500))
        return [(of, selector), (name, Choice(of, [options[0][:1] + (ranges,) + options[0][2:]], True))]

    def scope(self, count, least):
        """A root structure. Where byte orders may change, it begins with a byte."""
        if self.mixed:
            self.now = self.random.choice(('le', 'be'))
        return Struct(self.members(count), least)


def some_trace(random, version, most=WIDEST, records=6, backwards=True, leb128=True):
    """A trace with random classes and values, and one to three packets."""
    order, mixed = random.choice(('le', 'be')), random.random() < 0.5
    maker = Maker(random, version, order, mixed, most, backwards, leb128)
    least = 8 if mixed else 1

    def some(count, chance):
        return maker.scope(count, least) if random.random() < chance else None
    header = some(2, 0.2)
    context = [('w%d' % n, maker.leaf(align=8 if mixed and n == 0 else None))
               for n in range(random.choice((0, 0, 1, 2)))]
    if mixed:
        maker.now = order
    number = Leaf('unsigned', random.choice((2, 3, 8, 13, 64)), order, align=random.choice((1, 8)),
                  roles=['event-record-class-id'])
    maker.now, maker.free = order, False
    before, after = ([('h%d' % (2 * n + m), maker.leaf()) for n in range(random.choice((0, 0, 0, 1, 2)))]
                     for m in (0, 1))
    maker.free = True
    common = some(2, 0.3)
    events = []
    for _ in range(random.randint(1, 3)):
        context_of = some(2, 0.2)
        events.append((context_of, maker.scope(random.randint(1, 10), least)))
    made = Made(version, order, events, header.members if header else (), context, [*before, ('id', number), *after],
                common, least=least)
    for _ in range(random.randint(1, 3)):
        made.packet(random, [made.draw(random) for _ in range(random.randint(1, records))], pad=random.choice(
            (0, 0, 1, 9)))
    return made
