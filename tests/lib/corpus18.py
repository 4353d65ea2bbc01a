# SPDX-License-Identifier: MIT
"""
Traces of Common Trace Format 1.8 that a reader has to read (GOOD), and traces that it has to reject with a reason
(BAD). The expected output of a GOOD trace comes from babeltrace2, except for a few traces that bring their own lines. A
BAD trace names the words of the expected error, and the records that the reader has to deliver nevertheless. Tiny is
small enough to be cut and changed at each of its bytes. `corpus18.py FOLDER [NAME...]` writes the traces for
inspection.
"""
import functools
import os
import shutil
import sys

from corpus18_bad import DATA
from corpus18_bad_metadata import METADATA
from corpus18_clocks import CLOCK_BLOCKS
from corpus18_language import LANGUAGE
from corpus18_streams import STREAMS
from corpus18_times import TIMES
from corpus18_types import TYPES
from ctf18 import BEGIN, Good, Plain, ends, index, joined, packetized, save

LTTNG = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lttng', 'traces')


def copied(directory, trace):
    shutil.copytree(os.path.join(LTTNG, trace), directory)


# Traces that LTTng-UST wrote (tests/lttng/record.sh).
RECORDED = [Good('lttng_' + name, functools.partial(copied, trace=name), None) for name in sorted(os.listdir(LTTNG))]
GOOD = TYPES + LANGUAGE + CLOCK_BLOCKS + STREAMS + TIMES + RECORDED
BAD = DATA + METADATA

TINY_FIELDS = '''uint8_t n; string text; integer { size = 3; } bits; integer { size = 13; signed = true; } more;
uint8_t length;
uint16_t list[length]; enum : uint8_t { one = 1, two = 2 } tag; variant <tag> { uint8_t one; string two; } choice;'''


class Tiny:
    """
    One file of three packets with a field of each kind: its bytes, where its records end in them, and where the first
    record of each packet may begin.
    """

    def __init__(self):
        self.plain = Plain()
        self.plain.event('tiny', TINY_FIELDS)
        self.packets = []
        for p in range(3):
            records = [(BEGIN + 10000 * p + 2000 * r, 0, lambda b, n=3 * p + r: self.fields(b, n))
                       for r in range(2 if p == 1 else 3)]
            self.packets.append(self.plain.packet(records, pad=3 * p, sequence=p))
        self.data, self.ends = joined(self.packets), ends(self.packets)
        self.metadata, self.packetized = self.plain.text().encode(), packetized(self.plain.text(), size=400)
        self.index = index([(p, {'begin': BEGIN + 10000 * n, 'end': BEGIN + 10000 * n + 4000, 'sequence': n})
                            for n, p in enumerate(self.packets)])
        self.begins = [sum(len(p.bytes) for p in self.packets[:n]) for n in range(3)]

    @staticmethod
    def fields(b, n):
        b.i(8, n).s('text %d' % n).i(3, n % 8).i(13, -n).i(8, n % 3)
        for item in range(n % 3):
            b.i(16, 1000 + item)
        b.i(8, 1 + n % 2)
        return b.s('two') if n % 2 else b.i(8, n)

    def write(self, directory, data=None, metadata=None, made_index=None):
        files = {
            'metadata': self.metadata if metadata is None else metadata, 'stream': self.data if data is None else data
        }
        if made_index is not None:
            files['index__stream.idx'] = made_index
        save(directory, **files)

    def before(self, byte):
        """The number of records that end before this byte."""
        return sum(end <= byte for end in self.ends)

    def untouched(self, byte):
        """
        The number of records that a reader delivers before it interprets this byte. For a byte of a packet header,
        these are the records of the previous packets.
        """
        packet = max(n for n in range(3) if self.begins[n] <= byte)
        return self.before(self.begins[packet] if byte < self.begins[packet] + Plain.HEAD else byte)


def main(folder, *names):
    for kind, traces in (('good', GOOD), ('bad', BAD)):
        for trace in traces:
            if not names or trace.name in names:
                trace.make(os.path.join(folder, kind, trace.name))


if __name__ == '__main__':
    main(*sys.argv[1:])
