# SPDX-License-Identifier: MIT
"""Good traces of corpus18.py: blocks that declare clocks."""
from corpus18_language import CLOCKS, FREQUENCIES, OFFSETS, bare
from ctf18 import Goods, integers

CLOCK_BLOCKS = Goods()


def stamped(directory, clock, stamps, name='c', size=64):
    """Events at these times of the clock."""
    text = '/* CTF 1.8 */\n' + integers(
    ) + clock + '''typealias integer { size = %d; align = 8; map = clock.%s.value; } := t;
trace { major = 1; minor = 8; byte_order = le; };
stream { event.header := struct { t timestamp; }; };
event { name = "e"; fields := struct { uint8_t n; }; };
''' % (size, name)

    def write(b):
        for n, stamp in enumerate(stamps):
            b.i(size, stamp).i(8, n)
    bare(directory, text, write)


@CLOCK_BLOCKS.add(list(FREQUENCIES))
def clock_freq(directory, variant):
    """The conversion of cycles to nanoseconds must not accumulate an error."""
    f = FREQUENCIES[variant]
    clock = 'clock { name = c; freq = %d; offset_s = 1500000000; };\n' % f
    stamps = sorted(
        [0, 1, 2, 3, 7, f // 3, f // 2, f - 1, f, f + 1, 59 * f + f * 2 // 3, 86399 * f, 10 * 86400 * f + 1])
    stamped(directory, clock, stamps)


# babeltrace2 2.0 divides by zero if there is no frequency.
@CLOCK_BLOCKS.add(expected=[
    '[02:40:00.000000000] (+?.?????????) e: { n = 0 }', '[02:40:00.999999999] (+0.999999999) e: { n = 1 }',
    '[02:40:20.000000000] (+19.000000001) e: { n = 2 }'
])
def clock_without_freq(directory):
    stamped(directory, 'clock { name = c; offset_s = 1500000000; };\n', [0, 999999999, 20000000000])


# Times before 1970 are seconds with a sign, as babeltrace2 2.0 documents. It prints the sign in the first line only.
@CLOCK_BLOCKS.add(expected=[
    '[-10.000000000] (+?.?????????) e: { n = 0 }', '[-9.000000000] (+1.000000000) e: { n = 1 }',
    '[00:00:00.000000000] (+9.000000000) e: { n = 2 }', '[00:00:01.000000005] (+1.000000005) e: { n = 3 }'
])
def clock_that_begins_before_1970(directory):
    stamped(directory, 'clock { name = c; freq = 1000000000; offset_s = -10; };\n',
            [0, 10**9, 10 * 10**9, 11 * 10**9 + 5])


@CLOCK_BLOCKS.add(list(OFFSETS))
def clock_offset(directory, variant):
    stamped(directory, 'clock { name = c; freq = %d; %s };\n' % OFFSETS[variant],
            [0, 1, 999999999, 1000000000, 20000000000])


@CLOCK_BLOCKS.add(list(CLOCKS))
def clock_block(directory, variant):
    stamped(directory, CLOCKS[variant] + '\n', [1, 1000001, 1 << 40])


@CLOCK_BLOCKS.add()
def clock_of_many(directory):
    """Only the mapped clock counts."""
    stamped(directory, '''clock { name = a; freq = 10; offset_s = 1; }; clock { name = c; offset_s = 2; freq = 1000; };
clock { name = "b"; freq = 5; };
''', [0, 5])


@CLOCK_BLOCKS.add()
def clock_that_is_not_mapped(directory):
    """An integer named timestamp uses the trace's clock if there is one."""
    text = '/* CTF 1.8 */\n' + integers() + '''clock { name = only; freq = 1000; offset_s = 100; };
trace { major = 1; minor = 8; byte_order = le; };
stream { packet.context := struct { uint64_t timestamp_begin; uint64_t timestamp_end; }; event.header := struct {
uint32_t timestamp; }; };
event { name = "e"; fields := struct { uint8_t n; }; };
'''
    bare(directory, text, lambda b: b.i(64, 1000).i(64, 9000).i(32, 1500).i(8, 1).i(32, 9000).i(8, 2))
