#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""LEB128 numbers of up to 4096 bits are values; longer ones are damage."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from harness import VIEW, WAYMARK, check, limit, main  # noqa: E402
from t_wide_numbers import BYTE, EDGE_LABELS, all_forms, leb128, of_values, run  # noqa: E402
from traces import Failure  # noqa: E402
from wide_numbers import EDGES, MOST_GROUPS, WIDEST, Bits, Leaf, scratch  # noqa: E402
import wide_output as shown  # noqa: E402


@limit(300)
def edge_values_of_leb128_integers_are_preserved(case):
    """Numbers of up to 585 bytes, in the fewest bytes or in more."""
    members = [('u%d' % base, Leaf('unsigned', None, base=base))
               for base in (10, 16, 8, 2)] + [('s%d' % base, Leaf('signed', None, base=base))
                                              for base in (10, 16, 8, 2)]
    members += [('eu', Leaf('unsigned', None, labels=EDGE_LABELS[False])),
                ('es', Leaf('signed', None, labels=EDGE_LABELS[True])), ('bit', Leaf('unsigned', 3)),
                ('after', Leaf('signed', None))]
    values = [edge for edge in EDGES if abs(edge) < 1 << 4000]
    values += [
        sign * ((1 << 7 * groups - less) + more) for groups in (9, 10, 19, 20, MOST_GROUPS) for less in (0, 1)
        for more in (-1, 0, 1) for sign in (1, -1)
    ]
    values = [value for value in values if -(1 << 7 * MOST_GROUPS - 1) <= value < 1 << 7 * MOST_GROUPS]

    def signed(value):
        return value if value < 1 << 7 * MOST_GROUPS - 1 else value - (1 << 7 * MOST_GROUPS)

    made, records = of_values(2, members, [{
        name: value & 7 if leaf.length else signed(value) if leaf.signed else max(value, ~value)
        for name, leaf in members
    } for value in values])
    for part in range(0, len(records), 20):
        made.packet(case.random, records[part:part + 20])
    all_forms(case, made, 'leb')


def one_leb128(case, kind, groups, value, base=10):
    """
    The second record of the first of two packets has a number with these bytes. It is `value`, or for None damage that
    ends only this packet.
    """
    leaf = Leaf(kind, None, base=base)
    leaf.more = 0
    made, records = of_values(2, [('n', BYTE), ('x', leaf)], [{'n': n, 'x': n} for n in range(4)])
    made.packet(case.random, records[:2])
    first = len(made.data)
    made.packet(case.random, records[2:], pad=len(groups))
    bits, number = Bits(case.random), leb128(groups)
    for _ in range(2):
        bits.put(8 * (first - 1 + len(number)), 32, 'le')
    path = made.write(scratch(case, 'long'), bytes(bits.data) + made.data[8:first - 1] + number + made.data[first:])
    status, lines, err = run(case, [WAYMARK, 'view', '--json', path], (0, 1))
    got = [tuple(map(int, shown.parsed(line)['fields'].values())) for line in lines]
    wanted, about = [(0, 0), *([(1, value)] if value is not None else []), (2, 2),
                     (3, 3)], '%s: %s of %d bytes' % (path, kind, len(groups))
    check(got == wanted, '%s: %s, not %s', about, got, wanted)
    check(status == (value is None) and (status == 0 or b'damaged' in err), '%s: status %d: %s', about, status,
          err.decode())
    lines, numbers = run(case, [WAYMARK, *VIEW, path], (status,))[1], [number for _, number in wanted]
    check(len(lines) == len(wanted), '%s: %d lines', about, len(lines))
    for line, number in zip(lines, numbers):
        pattern = 'e0: \\{ n = \\d, x = %s \\}' % shown.number_text(leaf, number)
        check(re.fullmatch(pattern, line.decode()), '%s: %s, not %s', about, line.decode(), pattern)


def leb128_integer_of_585_bytes_is_decoded(case):
    """Any 585 bytes are a number; far more bytes are damage."""
    low, most = [0] * MOST_GROUPS, [0x7f] * MOST_GROUPS
    for groups, unsigned, signed in ((most, (1 << 7 * MOST_GROUPS) - 1, -1), (low, 0, 0),
                                     (low[1:] + [0x40], 1 << 7 * MOST_GROUPS - 1, -(1 << 7 * MOST_GROUPS - 1)),
                                     (low[1:] + [0x3f], 0x3f << 7 * (MOST_GROUPS - 1), 0x3f << 7 * (MOST_GROUPS - 1)),
                                     (low * 2 + [1], None, None), (most * 6 + [1], None, None), (most * 200, None,
                                                                                                 None)):
        for kind, value in (('unsigned', unsigned), ('signed', signed)):
            for base in (2, case.random.choice((8, 10, 16))):
                one_leb128(case, kind, groups, value, base)


def leb128_integer_of_4096_bits_is_never_decoded_wrongly(case):
    """These need 586 bytes, which have 4102 bits: they are the correct number or damage, and never another number."""
    low, most = [0] * MOST_GROUPS, [0x7f] * MOST_GROUPS
    for kind, groups, value in (('unsigned', most + [1], (1 << WIDEST) - 1), ('unsigned', low + [0], 0),
                                ('signed', low + [0x7f], -(1 << WIDEST - 1)), ('signed', most + [0],
                                                                               (1 << WIDEST - 1) - 1)):
        try:
            one_leb128(case, kind, groups, None)
        except Failure:
            for base in (2, 8, 10, 16):
                one_leb128(case, kind, groups, value, base)


def leb128_integer_beyond_4096_bits_is_damage(case):
    """4097 bits and more are damage."""
    low, most = [0] * MOST_GROUPS, [0x7f] * MOST_GROUPS
    for kind, groups in (('unsigned', most + [0x7f]), ('unsigned', low + [2]), ('unsigned', low + [0x40]),
                         ('signed', low + [1]), ('signed', most + [0x7e]), ('signed', low + [0x40])):
        one_leb128(case, kind, groups, None)


if __name__ == '__main__':
    main([
        edge_values_of_leb128_integers_are_preserved, leb128_integer_of_585_bytes_is_decoded,
        leb128_integer_of_4096_bits_is_never_decoded_wrongly, leb128_integer_beyond_4096_bits_is_damage
    ])
