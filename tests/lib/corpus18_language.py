# SPDX-License-Identifier: MIT
"""Good traces of corpus18.py: what the metadata may contain, shown by the records that result."""
from ctf18 import (BEGIN, CLOCK, MAGIC, UUID_TEXT, Goods, Packet, Plain, integers, metadata_packet, one_packet,
    packetized, save)

LANGUAGE = Goods()


def bare(directory, text, write, order='le', **files):
    """A trace of one file and one packet without header or context; write(bits) writes the records."""
    save(directory, metadata=text, stream=Packet(lambda b, content, whole: write(b), order).bytes, **files)


@LANGUAGE.add()
def comments(directory):
    bare(directory, '''/* CTF 1.8 *//**//***//* one // two */
// typealias { " ' \\
/* of
   several * lines ** / */trace/**/{ major/* */=/* */1; minor = 8; // } byte_order = be;
byte_order = le; }; typealias integer { size = /* 16 */ 8; } := u8; // /* not open
stream { event.header := struct { u8 id; }; };
event { name = "/* no comment */ // none"; id = 0; fields := struct { u8 /* a */ b /* c */ ; string s; /* } */ }; };
// the last line
''', lambda b: b.i(8, 0).i(8, 1).s('/* x */'))


# babeltrace2 2.0 requires a newline after a comment.
@LANGUAGE.add(expected=['e: { s = "x" }'])
def comment_that_ends_the_text(directory):
    bare(
        directory, '''/* CTF 1.8 */
trace { major = 1; minor = 8; byte_order = le; }; stream { };
event { name = "e"; fields := struct { string s; }; }; // the end''',
        lambda b: b.s('x'))


@LANGUAGE.add(('crlf', 'tabs', 'one_line', 'tight'))
def white_space(directory, variant):
    text = '''/* CTF 1.8 */
typealias integer { size = 8 ; } := u8 ;
trace { major = 1 ; minor = 8 ; byte_order = le ; } ;
stream { event . header := struct { u8 id ; } ; } ;
event { name = "e" ; id = 0 ; fields := struct { u8 a [ 2 ] ; enum : u8 { A = 0 ... 3 , B } b ; } align ( 8 ) ; } ;
'''
    if variant == 'tight':
        for sign in '{};:=,[]().':
            text = text.replace(' ' + sign, sign).replace(sign + ' ', sign)
        text = text.replace('}:=', '} :=')
    text = {
        'crlf': text.replace('\n', '\r\n'), 'tabs': text.replace(' ', '\t').replace('/*\tCTF\t1.8\t*/',
                                                                                    '/* CTF 1.8 */'),
        'one_line': text.replace('\n', ' '), 'tight': text
    }[variant]
    bare(directory, text, lambda b: b.i(8, 0).raw(b'\1\2\3'))


# White space of C that babeltrace2 2.0 does not know.
@LANGUAGE.add(expected=['e: { s = "x" }'])
def white_space_of_c(directory):
    bare(
        directory, '''/* CTF 1.8 */
trace\v{\fmajor\v=\f1;\v\f minor = 8; byte_order = le; };\fstream { };\v\nevent { name = "e"; fields := struct {
string\vs; }; };
''', lambda b: b.s('x'))


@LANGUAGE.add()
def constants(directory):
    """Decimal, octal and hexadecimal constants, suffixes of C, both signs."""
    bare(
        directory, '''/* CTF 1.8 */
typealias integer { size = 8u; } := a; typealias integer { size = 0x8; } := b; typealias integer { size = 010;
align = 0X10; } := c;
typealias integer { size = 16UL; align = 8lu; } := d; typealias integer { size = 0x10ull; align = 1ULL; } := e;
typealias integer { size = 020LLU; align = 8u; } := f; typealias integer { size = 8llU; align = 8Ul; signed = 1; } := g;
trace { major = 01; minor = 0x8; byte_order = le; };
stream { event.header := struct { a id; }; };
event { name = "0"; id = 0; stream_id = 0x0; fields := struct { a x[0x2]; b y[02]; c z[2u]; d u; e v; f w[0x01UL]; }; };
event { name = "18"; id = 0x12; fields := struct { enum : g { M = -0x2, N = -01 ... +1, O = 0x7f, P = -128 } x[6]; }; };
event { name = "19"; id = 023; fields := struct { integer { size = 0xC; align = 01; } x;
	integer { size = 4; } y; }; };
''', lambda b: b.i(8, 0).i(8, 1, 16).raw(b'\2\3\4').i(8, 5, 16).i(8, 6, 16).i(16, 7).i(16, 8).i(16, 9).i(8, 0x12).raw(
            b'\xfe\xff\0\1\x7f\x80').i(8, 0x13).i(12, 0xabc).i(4, 0xd))


# babeltrace2 2.0 knows only the suffixes with a `u`.
@LANGUAGE.add(expected=['e: { a = [ [0] = 1, [1] = 2 ], b = ( "A" : container = 3 ) }'])
def constants_with_l(directory):
    bare(
        directory, '''/* CTF 1.8 */
typealias integer { size = 8L; align = 010l; } := u8; trace { major = 1LL; minor = 0x8ll; byte_order = le; };
stream { };
event { name = "e"; fields := struct { u8 a[2L]; enum : u8 { A = 0L ... 0x3LL } b; }; };
''', lambda b: b.raw(b'\1\2\3'))


@LANGUAGE.add()
def string_literals(directory):
    """All escapes of C in texts that readers print: names of events, labels, the names of host and process."""
    plain = Plain(
        env='''env {
	hostname = "a b\\\\c\\"d\\'e\\?f";
	procname = "\\101\\x42\\103D \\0415 \\x7e";
	vpid = 0x10;
};
''', types='enum label : uint8_t { "\\061\\x32", "a\\nb", "\\"\\"", "\\\\", "/* */", "//", "ä€😀", "%s", "...", " " };\n'
    )
    plain.event('plain', 'enum label x;')
    plain.event('with \\"quotes\\" \\\\ and \\x41\\102C', '')
    plain.event('äöü €', '')
    plain.event('sp:ace:: ::<T>(a, b)[0]{x}=%d;#', '')
    plain.event('tab here', '')
    records = [(BEGIN + n, 0, lambda b, n=n: b.i(8, n)) for n in range(10)]
    plain.write(directory, stream=[plain.packet(records + [(BEGIN + 10 + n, n, None) for n in range(1, 5)])])


@LANGUAGE.add()
def typedefs(directory):
    """Typedefs of every type, several in one declaration, with arrays and sequences, in all places that allow them."""
    text = '''/* CTF 1.8 */
typealias integer { size = 8; } := u8;
typedef u8 byte; typedef byte octet, pair[2], grid[2][3]; typedef integer { size = 16; } half; typedef struct { u8 x;
} boxed;
typedef struct tagged { u8 y; } tagged_t; typedef struct tagged again; typedef enum : u8 { A, B } ab;
typedef enum named : u8 { C, D } cd;
typedef string text; typedef text texts[2]; typedef pair pairs[2];
typedef floating_point { exp_dig = 8; mant_dig = 24; align = 8; } real; typedef octet several[n];
trace { typedef u8 in_trace; typedef in_trace two_in_trace[2]; major = 1; minor = 8; byte_order = le; };
stream { typedef u8 in_stream; event.context := struct { in_stream c; }; event.header := struct {
typedef u8 in_struct; in_struct id; }; };
event { typedef u8 in_event; name = "e"; fields := struct { typedef half in_fields; byte a; octet b; pair c; grid d;
half e; boxed f; tagged_t g;
	again h; ab i; cd j; text l; texts m; pairs o; real p; byte n; several q; in_fields r; in_event s;
	struct tagged t;
	enum named u; octet v[2]; pair w[2]; }; };
'''

    def write(b):
        b.i(8, 0).i(8, 99).i(8, 1).i(8,
                                     2).raw(bytes(range(3,
                                                        11))).i(16,
                                                                11).raw(b'\x0c\x0d\x0e').i(8,
                                                                                           0).i(8,
                                                                                                1).s('l').s('m').s('mm')
        b.raw(bytes(range(4))).f(32, 0.25).i(8, 3).raw(b'\1\2\3').i(16, 16).i(8, 17).i(8, 18).i(8,
                                                                                                1).raw(bytes(range(6)))
    bare(directory, text, write)


@LANGUAGE.add()
def aliases(directory):
    """Names as in C: several words, with const and pointers; aliases of aliases, of structs, enums and variants."""
    bare(
        directory, '''/* CTF 1.8 */
typealias integer { size = 8; } := unsigned char; typealias integer { size = 16; align = 8; } := unsigned short int;
typealias integer { size = 32; align = 8; signed = true; } := int; typealias integer { size = 32; align = 8; }
:= unsigned int;
typealias integer { size = 64; align = 8; signed = true; } := long; typealias integer { size = 64; align = 8; }
:= unsigned long;
typealias integer { size = 64; align = 8; signed = true; } := long long; typealias integer { size = 64; align = 8; }
:= unsigned long long;
typealias integer { size = 64; align = 8; base = 16; } := void *; typealias string := const char *;
typealias integer { size = 64; align = 8; base = 16; } := const struct_like * const *; typealias integer { size = 8;
signed = true; } := char;
typealias floating_point { exp_dig = 8; mant_dig = 24; align = 8; } := float;
typealias floating_point { exp_dig = 11; mant_dig = 53; align = 8; } := double; typealias integer { size = 1; }
:= _Bool;
typealias unsigned char := byte; typealias byte := octet; typealias struct { byte x; } := boxed;
typealias struct tagged { byte y; } := tagged_t;
typealias struct tagged := again; typealias enum : byte { A, B } := ab; typealias enum named : byte { C } := cd;
typealias integer { size = 7; } := seven;
typealias unsigned int := signed_less;
trace { major = 1; minor = 8; byte_order = le; };
stream { event.header := struct { byte id; }; };
event { name = "e"; fields := struct { unsigned char a; unsigned short int b; int c; unsigned int d; long e;
unsigned long f; long long g;
	unsigned long long h; ab i; void *k; const char *l; const struct_like * const *m; char n; float o; double p;
_Bool q; seven r; octet s;
	boxed t; tagged_t u; again v; cd w; signed_less x; unsigned char y[2]; void *z[2]; const char *aa[1];
struct tagged bb; enum named cc; }; };
''', lambda b: b.i(8, 0).i(8, 1).i(16, 2).i(32, -3).i(32, 4).i(64, -5).i(64, 6).i(64, -7).i(64, 8).i(8, 1).i(
            64, 0xabc).s('l').i(64, 0xdef).i(8, -1).f(32, 1.5).f(64, -2.5).i(1, 1).i(7, 99).i(8, 9).raw(b'\1\2\3\0').i(
                32, 10).raw(b'\4\5').i(64, 1).i(64, 2).s('aa').raw(b'\6\0'))


# babeltrace2 2.0 takes every such variant for one without a tag, which must not have such a name.
@LANGUAGE.add(expected=['e: { tag = ( "A" : container = 0 ), a = { 1 }, b = { 2 } }',
                        'e: { tag = ( "B" : container = 1 ), a = { "x" }, b = { "y" } }'])
def variants_by_typedef_and_alias(directory):
    bare(
        directory, '''/* CTF 1.8 */
typealias integer { size = 8; } := u8; typedef variant <tag> { u8 A; string B; } defined; typealias variant <tag> {
u8 A; string B; } := aliased;
trace { major = 1; minor = 8; byte_order = le; }; stream { };
event { name = "e"; fields := struct { enum : u8 { A, B } tag; defined a; aliased b; }; };
''', lambda b: b.raw(b'\0\1\2\1').s('x').s('y'))


KEYWORDS = ('align', 'callsite', 'const', 'char', 'clock', 'double', 'enum', 'env', 'event', 'floating_point', 'float',
            'integer', 'int', 'long', 'short', 'signed', 'stream', 'string', 'struct', 'trace', 'typealias', 'typedef',
            'unsigned', 'variant', 'void', '_Bool', '_Complex', '_Imaginary')


@LANGUAGE.add()
def keywords_as_names(directory):
    """
    One underscore before a name is not part of the name, so keywords can be names; a second underscore is part of it.
    """
    fields = ''.join('uint8_t _%s;\n' % k for k in KEYWORDS
                     if k[0] != '_') + 'uint8_t __two; uint8_t ___three; uint8_t a_; uint8_t _; uint8_t _1;'
    count = len([k for k in KEYWORDS if k[0] != '_']) + 5
    one_packet(directory, fields, [lambda b: b.raw(bytes(range(count)))])


@LANGUAGE.add()
def keywords_as_labels(directory):
    names = [k for k in KEYWORDS if k != 'typealias']
    one_packet(
        directory,
        'enum : uint8_t { %s } a; enum : uint8_t { %s } b;' % (', '.join(names), ', '.join('"%s"' % k
                                                                                           for k in KEYWORDS)),
        [lambda b, n=n: b.i(8, n).i(8, n) for n in range(len(KEYWORDS))])


# This is the only keyword that babeltrace2 2.0 does not accept as a label.
@LANGUAGE.add(expected=['e: { a = ( "typealias" : container = 3 ) }'])
def keyword_typealias_as_label(directory):
    bare(directory, '''/* CTF 1.8 */
trace { major = 1; minor = 8; byte_order = le; }; stream { };
event { name = "e"; fields := struct { enum : integer { size = 8; } { typealias = 3 } a; }; };
''', lambda b: b.i(8, 3))


@LANGUAGE.add()
def words_of_attributes_as_names(directory):
    """The keywords to the left of a `=` have no special meaning as names of fields."""
    names = (
        'id name size base map major minor uuid magic timestamp stream_id packet_size content_size fields context '
        'header packet freq offset '
        'value exp_dig mant_dig byte_order encoding loglevel le be true false UTF8 native x v cpu_id').split()
    one_packet(directory, 'uint8_t %s;' % ', '.join(names), [lambda b: b.raw(bytes(range(len(names))))])


@LANGUAGE.add()
def underscores(directory):
    """A length or a tag finds a name behind an underscore; the labels of the tag select options by name."""
    one_packet(
        directory, '''uint8_t _len; uint8_t a[_len]; enum : uint8_t { _event, plain, __twice } _tag;
variant <_tag> { uint8_t _event; uint16_t plain; string __twice; } _v;''', [
            lambda b: b.raw(b'\2ab').i(8, 0).i(8, 1), lambda b: b.i(8, 0).i(8, 1).i(16, 2),
            lambda b: b.raw(b'\1a').i(8, 2).s('x')
        ])


# babeltrace2 2.0 aborts (an assertion) if two names differ only in the underscore, and if it copies the name of an
# option with an underscore.
@LANGUAGE.add(expected=[
    'e: { a = 1, a = 2, tag = ( "_A" : container = 0 ), v = { 3 }, w = { n = 1, s = [ [0] = 4 ], v = { 5 } } }',
    'e: { a = 1, a = 2, tag = ( "A" : container = 1 ), v = { "x" }, w = { n = 0, s = [ ], v = { "y" } } }'
])
def underscores_that_matter(directory):
    bare(
        directory, '''/* CTF 1.8 */
typealias integer { size = 8; } := u8; trace { major = 1; minor = 8; byte_order = le; }; stream { };
enum tags : u8 { _A, A }; variant named { u8 _A; string A; }; struct copied { u8 _n; u8 s[_n]; variant named <tag> v; };
event { name = "e"; fields := struct { u8 a; u8 _a; enum tags tag; variant <tag> { u8 _A; string A; } v;
struct copied w; }; };
''', lambda b: b.raw(b'\1\2\0\3\1\4\5').raw(b'\1\2\1').s('x').i(8, 0).s('y'))


@LANGUAGE.add()
def declarations_in_scopes(directory):
    """
    A name refers to the nearest scope, and its scope ends with the block. An event is not in the scope of its stream.
    """
    bare(
        directory, '''/* CTF 1.8 */
typealias integer { size = 8; } := t; struct s { t outer; }; enum e : t { OUTER }; variant v { t OUTER; };
trace { typealias integer { size = 16; } := t; typedef t half; typedef struct s { half traced; } traced_t; major = 1;
minor = 8; byte_order = le; };
stream { typealias integer { size = 24; } := t; typedef struct s { t streamed; } s_t; typedef enum e : t { STREAM } e_t;
	event.header := struct { integer { size = 8; } id; };
	event.context := struct { t c; struct s d; enum e f; }; };
event { id = 0; name = "zero"; typealias integer { size = 32; } := t; fields := struct { t a; struct s b;
	struct { typealias integer { size = 8; base = 16; } := t; t c; struct { t d; typedef struct s { t inner; } s_t;
struct s e; } f;
	struct s g; } h; t i; }; };
event { id = 1; name = "one"; typedef enum e : t { EVENT } e_t; fields := struct { enum e a; t b; struct s c;
struct { enum e f; } g;
	variant <a> { t EVENT; } d; }; };
event { id = 2; name = "two"; fields := struct { enum e a; t b; struct s c; variant v <a> d; }; };
''', lambda b: b.i(8, 0).i(24, 1).i(24, 2).i(24, 0).i(32, 3).i(8, 4).i(8, 0xa).i(8, 0xb).i(8, 0xc).i(8, 5).i(32, 6).i(
            8, 1).i(24, 7).i(24, 8).i(24, 9).i(8, 0).i(8, 10).i(8, 11).i(8, 0).i(8, 12).i(8, 2).i(24, 13).i(24, 14).i(
                24, 15).i(8, 0).i(8, 16).i(8, 17).i(8, 18))


@LANGUAGE.add()
def tags_of_types(directory):
    """Structs, enums and variants by their tags; each kind has its own name space."""
    one_packet(
        directory,
        '''struct same a; enum same b; variant same <b> c; same d; struct here { uint8_t x; } e; struct here f;
enum there : uint8_t { L } g; enum there h; variant where <g> { uint8_t L; } i; variant where <h> j; struct later k;''',
        [lambda b: b.i(8, 1).i(8, 1).s('text').i(8, 2).raw(b'\3\4\0\0\5\6').i(8, 7).i(8, 0).i(8, 8)],
        types='''struct same { uint8_t x; }; enum same : uint8_t { one, two };
variant same { uint8_t one; string two; };
typealias integer { size = 8; } := same; struct later { struct same s; enum same e; variant same <e> v; };
''')


@LANGUAGE.add()
def declarators(directory):
    one_packet(
        directory,
        'uint8_t a, b[2], c, d[1][1]; struct { uint8_t x; } e, f[2]; enum : uint8_t { A } g, h[2]; string i, j;',
        [lambda b: b.raw(bytes(range(1, 13))[:10]).i(8, 0).s('i').s('j')])


@LANGUAGE.add()
def blocks_in_any_order(directory):
    """Types are declared before their use; all other blocks, and attributes in blocks, come in any order."""
    save(
        directory, metadata='''/* CTF 1.8 */
event { fields := struct { integer { size = 8; } a; }; name = "early"; id = 7; };
typealias integer { size = 32; align = 8; } := u32;
stream { event.header := struct { integer { size = 8; } id; u32 timestamp; }; packet.context := struct {
u32 packet_size; u32 content_size; }; };
event { loglevel = 4; id = 8; name = "late"; fields := struct { u32 b; }; };
trace { packet.header := struct { u32 magic; }; byte_order = be; minor = 8; major = 1; };
env { vpid = 7; hostname = "host"; };
clock { offset_s = 10; freq = 1000; name = "c"; };
''', stream=Packet(
            lambda b, content, whole: b.i(32, MAGIC).i(32, whole).i(32, content).i(8, 7).i(32, 1).i(8, 2).i(8, 8).i(
                32, 3).i(32, 4), 'be').bytes)


@LANGUAGE.add()
def event_attributes(directory):
    plain = Plain()
    for level in range(15):
        plain.event('level_%d' % level, '', more='\tloglevel = %d;\n' % level)
    plain.event('uri', 'uint8_t a;', more='\tmodel.emf.uri = "http://example.org/%s?a=b#c";\n\tloglevel = 0xd;\n')
    plain.write(
        directory,
        stream=[plain.packet([(BEGIN + n, n, None) for n in range(15)] + [(BEGIN + 20, 15, lambda b: b.i(8, 1))])])


@LANGUAGE.add(('one', 'two', 'three', 'four', 'none'))
def env_blocks(directory, variant):
    """Parts of the environment that each line shows, and values that are not printed; a trace without the block."""
    env = {
        'one': 'hostname = "machine"; vpid = 4711; procname = "program";',
        'two': 'hostname = "h"; domain = "kernel"; sysname = "Linux"; tracer_name = "other"; tracer_major = 2; '
               'tracer_minor = 0x7; negative = -3;',
        'three': 'vpid = 12; anything = "x"; big = 0x7fffffffffffffff; empty = ""; _under = 1; domain = "ust"; '
                 'procname = "p q";',
        'four': 'hostname = ""; procname = "only"; architecture_bit_width = 32; trace_name = "name"; '
        'trace_creation_datetime = "20260101T000000+0000";', 'none': ''
    }[variant]
    plain = Plain(env='env { %s };\n' % env if env else '')
    plain.event('e', 'uint8_t a;')
    plain.write(directory, stream=[plain.packet([(BEGIN + n, 0, lambda b, n=n: b.i(8, n)) for n in range(2)])])


@LANGUAGE.add()
def callsites(directory):
    plain = Plain(env='''callsite { name = "e"; func = "main"; file = "a.c"; line = 12; ip = 0x4000; };
callsite { name = e; func = other; file = "b.c"; line = 13; };
''')
    plain.event('e', 'uint8_t a;')
    plain.write(directory, stream=[plain.packet([(BEGIN, 0, lambda b: b.i(8, 1))])])


@LANGUAGE.add(expected=[
    '[02:40:01.%d] (+%s) machine:(4711) %s: { cpu_id = 0 }, { a = %d }' %
    (123456789 + n, '0.000000001' if n else '?.?????????', name, n)
    for n, name in enumerate(('high', 'low', 'word', 'text', 'known'))
])
def said_besides(directory):
    """
    Entries without a meaning in the format, in each block; log levels of other tracers; a clock with all of its
    entries, another with few.
    """
    clock = '''clock {
	name = test; uuid = "01234567-89ab-cdef-0123-456789abcdef"; description = "said \\"so\\", in July";
freq = 1000000000; precision = 100;
	offset_s = 1500000000; offset = 123456789; absolute = TRUE; colour = "red";
	maker.year = 1999; kind = odd; drift = -5;
};
clock { name = other; freq = 32768; offset_s = -2; offset = 17; absolute = FALSE; };
typealias integer { size = 64; align = 8; signed = false; map = clock.test.value; } := stamp_t;
'''
    plain = Plain(
        env=
        '''env { hostname = "machine"; vpid = 4711; anything = ""; least = -9223372036854775808;
most = 18446744073709551615; _x = "y"; a.b.c = 3; };
env { more = "of it"; };
callsite { name = "e"; func = "main"; file = "a.c"; line = 12; ip = 0xffffffff81000000; };
callsite { };
callsite { name = e; func = other; };
''', clock=clock, contexts='\tname = "of the stream"; size.of.it = 4;\n')
    for name, more in (('high', 'loglevel = 99;'), ('low', 'loglevel = -1;'), ('word', 'loglevel = TRACE_INFO;'),
                       ('text', 'loglevel = "loud"; colour = "green";'),
                       ('known', 'loglevel = 13; model.emf.uri = "http://example.org"; model.other = 7;')):
        plain.event(name, 'uint8_t a;', more='\t%s\n' % more)
    metadata = plain.text().replace('\tmajor = 1;', '\tmajor = 1; colour = "a \\"b\\""; of.it = 5; kind = odd.one;', 1)
    save(directory, metadata=metadata,
         stream=plain.packet([(BEGIN + n, n, lambda b, n=n: b.i(8, n)) for n in range(5)]).bytes)


@LANGUAGE.add()
def least_metadata(directory):
    """One stream and one event without ids, names or attributes."""
    bare(directory, '''/* CTF 1.8 */ trace { major = 1; minor = 8; byte_order = le; }; stream { };
event { name = "e"; fields := struct { string s; }; };''', lambda b: b.s('one').s('').s('three'))


@LANGUAGE.add()
def events_without_stream_id(directory):
    """Events without a stream id belong to the only stream, whatever its id is; a stream without an id has id 0."""
    text = '''/* CTF 1.8 */
typealias integer { size = 8; } := u8;
trace { major = 1; minor = 8; byte_order = le; };
stream { %sevent.header := struct { u8 id; }; };
event { name = "a"; id = 0; fields := struct { u8 x; }; };
event { name = "b"; id = 1; %sfields := struct { u8 x; }; };
'''
    bare(directory, text % ('', 'stream_id = 0; '), lambda b: b.raw(b'\0\1\1\2\0\3'))


@LANGUAGE.add()
def names_of_events(directory):
    bare(
        directory,
        '''/* CTF 1.8 */ typealias integer { size = 8; } := u8; trace { major = 1; minor = 8; byte_order = le; };
stream { event.header := struct { u8 id; }; };
event { id = 0; name = "a"; fields := struct { u8 x; }; }; event { id = 1; name = ""; fields := struct { u8 x; }; };
event { id = 2; name = identifier; fields := struct { u8 x; }; }; event { id = 3; name = "same"; fields := struct {
u8 x; }; };
event { id = 4; name = "same"; fields := struct { u8 y; }; };
''', lambda b: b.raw(b'\0\1\1\2\2\3\3\4\4\5'))


@LANGUAGE.add()
def types_of_headers(directory):
    """Packet header, contexts and event header by tag, by typedef, by alias."""
    save(
        directory, metadata='/* CTF 1.8 */\n' + integers() + '''struct head { uint32_t magic; uint32_t stream_id; };
typedef struct { uint64_t content_size; uint64_t packet_size; uint8_t mine; } context_t;
typealias struct { uint8_t id; } := header_t; struct common { uint8_t c; }; typedef struct own { uint8_t d; } own_t;
struct payload { uint8_t e; };
trace { major = 1; minor = 8; byte_order = be; packet.header := struct head; };
stream { id = 3; packet.context := context_t; event.header := header_t; event.context := struct common; };
event { id = 1; stream_id = 3; name = "e"; context := own_t; fields := struct payload; };
event { id = 2; stream_id = 3; name = "f"; context := struct own; fields := struct payload; };
''', stream=Packet(
            lambda b, content, whole: b.i(32, MAGIC).i(32, 3).i(64, content).i(64, whole).raw(b'\x09\1\2\3\4\2\5\6\7'),
            'be').bytes)


FREQUENCIES = {
    '1': 1, '10': 10, '1000': 1000, '32768': 32768, '1000000': 10**6, '3579545': 3579545, '999999999': 999999999,
    '1000000001': 1000000001, '2400000000': 2400000000, '5000000000': 5000000000
}


OFFSETS = {
    'none': (10**9, ''), 'seconds': (10**9, 'offset_s = 1234567890;'),
    'cycles': (10**9, 'offset = 1234567890123456789;'), 'both': (10**9, 'offset_s = 1600000000; offset = 999999999;'),
    'more_than_a_second': (10**9, 'offset = 5000000001; offset_s = 3;'), 'year_2200': (10**9, 'offset_s = 7258118400;'),
    'slow': (1000, 'offset_s = 1; offset = 999;'), 'slower': (10, 'offset_s = 100; offset = 0;')
}


CLOCKS = {
    'everything': 'clock { name = "c"; uuid = "%s"; description = "words, \\"quoted\\""; freq = 1000000; precision = '
                  '100; offset_s = 15; offset = 5; '
    'absolute = TRUE; };' % UUID_TEXT, 'absolute_no': 'clock { absolute = FALSE; name = c; freq = 1000; };',
    'absolute_1': 'clock { absolute = 1; name = c; freq = 1000; };',
    'absolute_0': 'clock { absolute = 0; name = c; freq = 1000; };',
    'absolute_small': 'clock { absolute = true; name = c; freq = 1000; offset_s = 0x10; };',
    'upper_uuid': 'clock { name = c; freq = 1000; uuid = "ABCDEF01-2345-6789-ABCD-EF0123456789"; };'
}


PACKETIZED = {
    'le': ('le', 200, 0), 'be': ('be', 200, 0), 'one': ('le', 1 << 20, 0), 'tiny': ('be', 7, 0),
    'padded': ('le', 100, 13)
}


@LANGUAGE.add(list(PACKETIZED))
def metadata_in_packets(directory, variant):
    order, size, pad = PACKETIZED[variant]
    plain = Plain(order)
    plain.event('e', 'uint8_t a; string b;')
    save(directory, metadata=packetized(plain.text(), order, size=size, pad=pad),
         stream=plain.packet([(BEGIN + n, 0, lambda b, n=n: b.i(8, n).s('text %d' % n)) for n in range(3)]).bytes)


@LANGUAGE.add()
def metadata_of_the_other_order(directory):
    """The metadata packets have a byte order that differs from that of the streams."""
    plain = Plain('be')
    plain.event('e', 'uint32_t a;')
    save(directory, metadata=packetized(plain.text(), 'le'),
         stream=plain.packet([(BEGIN, 0, lambda b: b.i(32, 1))]).bytes)


@LANGUAGE.add()
def metadata_without_words(directory):
    """A metadata packet may be empty."""
    plain = Plain()
    plain.event('e', 'uint32_t a;')
    save(directory, metadata=metadata_packet('') + packetized(plain.text(), size=1000) + metadata_packet('', pad=9),
         stream=plain.packet([(BEGIN, 0, lambda b: b.i(32, 1))]).bytes)


@LANGUAGE.add(('', 'in_packets'))
def large_metadata(directory, variant):
    """Hundreds of events and of fields, structs in structs."""
    plain = Plain()
    for number in range(400):
        plain.event('event_%03d' % number, ' '.join('uint8_t field_%d;' % n for n in range(number)))
    plain.event('deep', 'struct { ' * 40 + 'uint8_t a; ' + '} s; ' * 40)
    records = [(BEGIN + n, n, lambda b, n=n: b.raw(bytes(v & 0xff for v in range(n)))) for n in range(0, 400, 57)]
    stream = plain.packet(records + [(BEGIN + 500, 400, lambda b: b.i(8, 1))])
    save(directory, metadata=packetized(plain.text(), size=4096 - 37) if variant else plain.text(), stream=stream.bytes)


@LANGUAGE.add()
def metadata_alone(directory):
    """A trace without any record."""
    plain = Plain(clock=CLOCK)
    plain.event('e', 'uint32_t a;')
    save(directory, metadata=plain.text())
