# SPDX-License-Identifier: MIT
"""Good traces of corpus18.py: times that wrap, several clocks or none, equal times."""
import functools

from corpus18_streams import CLOCKED, EVENT, ORDERS, SIZES, TRACE, counting, sized
from ctf18 import BEGIN, MAGIC, Goods, Packet, Plain, integers, joined, save

TIMES = Goods()


@TIMES.add(('8', '16', '27', '32', '33', '56'))
def times_that_wrap(directory, variant):
    """Each short time continues from the preceding one, and the first one from the begin time of the packet."""
    bits = int(variant)
    wrap = 1 << bits
    text = '/* CTF 1.8 */\n' + integers() + CLOCKED % (bits, 8 if bits % 8 == 0 else 1) + TRACE % ('le', '') + '''
typealias integer { size = 64; align = 8; map = clock.c.value; } := stamp_t;
stream { packet.context := struct { stamp_t timestamp_begin; stamp_t timestamp_end; uint32_t content_size;
uint32_t packet_size; };
	event.header := struct { t timestamp; }; };
''' + EVENT
    times = [5 + wrap * 10, wrap * 11 - 1, wrap * 11, wrap * 12 - 1, wrap * 12, wrap * 12 + 1, wrap * 13]

    def packet(first, last):
        def write(b, content, whole):
            b.i(64, times[first]).i(64, times[last]).i(32, content).i(32, whole)
            for n in range(first, last + 1):
                b.align(8).i(bits, times[n] & wrap - 1, 8 if bits % 8 == 0 else 1).i(8, n)
        return Packet(write)
    save(directory, metadata=text, stream=joined([packet(0, 3), packet(4, 6)]))


@TIMES.add(ORDERS)
def barectf_like(directory, variant):
    """The minimum that a bare-metal tracer writes: small packed headers, a slow clock, packets of one size."""
    text = '/* CTF 1.8 */\n' + '''typealias integer { size = 16; align = 8; map = clock.tick.value; } := tick;
clock { name = tick; freq = 8000000; };
trace { major = 1; minor = 8; byte_order = %s;
	packet.header := struct { integer { size = 16; align = 8; } magic16; integer { size = 4; } stream_id; }; };
stream { id = 2; packet.context := struct { integer { size = 12; } packet_size; integer { size = 12; } content_size;
integer { size = 32; map =
	clock.tick.value; } timestamp_begin; integer { size = 32; map = clock.tick.value; } timestamp_end; } align(8);
	event.header := struct { integer { size = 4; } id;
		integer { size = 12; map = clock.tick.value; } timestamp; }; };
event { name = "bits"; id = 1; stream_id = 2; fields := struct { integer { size = 1; } on; integer { size = 3; }
level; }; };
event { name = "temperature"; id = 2; stream_id = 2;
	fields := struct { integer { size = 11; signed = true; } value; integer { size = 5; } sensor; }; };
''' % variant

    def packet(times):
        def write(b, content, whole):
            b.i(16, 0xabcd).i(4, 2).align(8).i(12, whole).i(12, content).i(32, times[0]).i(32, times[-1])
            for n, time in enumerate(times):
                b.i(4, 1 + n % 2).i(12, time & 0xfff, 1)
                b.i(11, -n).i(5, n) if n % 2 else b.i(1, 1).i(3, n)
        return Packet(write, variant, whole=8 * 64)
    save(directory, metadata=text, stream=joined([packet([5, 4000, 4096, 5000, 9000]), packet([9001, 9001, 12000])]))


@TIMES.add(('one', 'two'))
def no_clock(directory, variant):
    """Records without any time keep the order of their file."""
    text = '/* CTF 1.8 */\n' + integers() + TRACE % (
        'le', ' packet.header := struct { uint32_t magic; };') + 'stream { %s };\n' % SIZES + EVENT

    def write(first):
        return lambda b, content, whole: b.i(32, MAGIC).i(32, content).i(32, whole).i(8, first).i(8, first + 1)
    save(directory, metadata=text, stream=joined([Packet(write(n * 10)) for n in range(1 if variant == 'one' else 3)]))


@TIMES.add()
def times_of_packets_alone(directory):
    """Events have no time of their own, their packets do."""
    text = '/* CTF 1.8 */\n' + integers() + CLOCKED % (64, 8) + TRACE % ('le', '') + '''stream {
	packet.context := struct { uint32_t content_size; uint32_t packet_size;
		t timestamp_begin; t timestamp_end; }; };
''' + EVENT
    save(
        directory, metadata=text,
        stream=joined([sized(lambda b, n=n: b.i(64, 1000 * n).i(64, 1000 * n + 500).i(8, 1).i(8, 2))
                       for n in range(3)]))


@TIMES.add()
def times_without_packets(directory):
    """Events have times, packets do not; the packets of a file keep their order."""
    text = '/* CTF 1.8 */\n' + integers() + CLOCKED % (64, 8) + TRACE % ('le', '')
    text += 'stream { %s event.header := struct { t timestamp; }; };\n' % SIZES
    save(directory, metadata=text + EVENT,
         stream=joined([sized(lambda b, n=n: b.i(64, 1000 * n).i(8, 1).i(64, 1000 * n + 1).i(8, 2)) for n in range(3)]))


@TIMES.add()
def two_clocks(directory):
    """Each stream has its own clock; both are absolute, so the records are merged into one order."""
    text = '/* CTF 1.8 */\n' + integers() + '''clock { name = a; freq = 1000; offset_s = 1500000000; absolute = TRUE; };
clock { name = b; freq = 1000000; offset_s = 1500000001; absolute = TRUE; };
typealias integer { size = 64; align = 8; map = clock.a.value; } := ta; typealias integer { size = 64; align = 8;
map = clock.b.value; } := tb;
trace { major = 1; minor = 8; byte_order = le; packet.header := struct { uint8_t stream_id; }; };
stream { id = 0; event.header := struct { ta timestamp; }; }; stream { id = 1; event.header := struct { tb timestamp;
}; };
event { name = "of_a"; stream_id = 0; fields := struct { uint8_t n; }; }; event { name = "of_b"; stream_id = 1;
fields := struct { uint8_t n; }; };
'''

    def packet(stream, times):
        def write(b, content, whole):
            b.i(8, stream)
            for n, time in enumerate(times):
                b.i(64, time).i(8, n)
        return Packet(write)

    save(directory, metadata=text, a=packet(0, [0, 500, 1001, 2500, 9000]).bytes,
         b=packet(1, [0, 2, 1400000, 9000000]).bytes)


@TIMES.add()
def fields_of_a_clock(directory):
    """An integer that is mapped to the clock may be anywhere; it is printed as a number."""
    plain = Plain()
    plain.event('e', 'uint64_t a; uint8_t b;')
    plain.write(directory,
                stream=[plain.packet([(BEGIN + n, 0, lambda b, n=n: b.i(64, BEGIN - 5).i(8, n)) for n in range(2)])])


@TIMES.add()
def equal_times(directory):
    """Records with equal times, in one stream and in several."""
    plain = Plain(streams=2)
    plain.event('first', 'uint8_t n;', stream=0)
    plain.event('second', 'uint8_t n;', stream=1)
    plain.write(directory, a=[plain.packet(counting(BEGIN, 3, 0, 0))],
                b=[plain.packet(counting(BEGIN, 3, 0, 1), stream=1)])


@TIMES.add()
def same_times_on_two_cpus(directory):
    """Two files of one stream class with the same times and with different instance ids."""
    text = '/* CTF 1.8 */\n' + integers() + CLOCKED % (64, 8) + TRACE % (
        'le', ' packet.header := struct { uint32_t magic; uint32_t stream_id; uint32_t stream_instance_id; };'
    ) + '''stream { id = 0;
	packet.context := struct { t timestamp_begin; t timestamp_end; uint32_t cpu_id; }; event.header := struct {
t timestamp; }; };
event { name = "e"; stream_id = 0; fields := struct { uint8_t n; }; };
'''

    def write(b, content, whole, cpu):
        b.i(32, MAGIC).i(32, 0).i(32, cpu).i(64, 5).i(64, 9).i(32, cpu)
        for n, time in enumerate((5, 6, 6, 9)):
            b.i(64, time).i(8, 10 * cpu + n)

    save(directory, metadata=text,
         **{'chan_%d' % cpu: Packet(functools.partial(write, cpu=cpu)).bytes for cpu in range(3)})
