/* SPDX-License-Identifier: MIT */
/*
 * fuzz_packet.c - any bytes as a stream of a trace with all kinds of fields. Records are decoded to the end or to an
 * error. The fast paths must give the same values and ends as the walk, and the walk must give the values of the bits.
 * The first byte selects the class of the stream (0xc1: the first; below 0x80: the last): one with all kinds of fields,
 * one with the headers that have a fast path, in either byte order, or one of CTF 2.
 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "ctf/bits.h"
#include "ctf/wide_number.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define TRACE \
	"typealias integer { size = 8; } := u8;\ntypealias integer { size = 32; align = 32; } := u32;\n" \
	"typealias integer { size = 64; align = 8; map = clock.c.value; } := t64;\n" \
	"trace { major = 1; minor = 8; byte_order = le; packet.header := struct { u8 first; u8 uuid[16]; }; };\n" \
		"clock { name = c; freq = 1000; };\n"

/*
 * Headers of 32, 48, 56 or 72 bits; all but the last have their numbers in the first 64 bits. Events of constant and of
 * variable size.
 */
#define NEAR(order, bits) TRACE \
	"stream { packet.context := struct { u8 p; u8 q[p]; }; event.header := struct { enum : integer { size = 5; " \
		"byte_order = " order "; } " \
	"{ compact = 0 ... 28, medium = 29, large = 30, extended = 31 } id; variant <id> { struct { integer { size " \
		"= 27; byte_order = " order "; " \
	"map = clock.c.value; } timestamp; } compact; struct { integer { size = 16; align = 1; byte_order = " order \
		"; } id; integer { size = " bits "; byte_order = " order "; " \
	"map = clock.c.value; } timestamp; } medium; struct { u8 id; integer { size = 40; align = 8; byte_order = " \
		order "; map = clock.c.value; } timestamp; } large; " \
	"struct { u8 id; t64 timestamp; } extended; } v; } align(8); event.context := struct { u8 c; u8 d; }; };\n" \
	"event { id = 0; };\nevent { id = 1; context := struct { u8 l; }; fields := struct { u8 a[5]; integer { " \
		"size = 3; } b; }; };\n" \
	"event { id = 2; fields := struct { u8 a; string b; }; };\nevent { id = 3; context := struct { u32 l; }; " \
		"fields := struct { u8 a; }; };\n" \
	"event { id = 4; context := struct { u8 l; integer { size = 8; encoding = UTF8; } t[l]; }; fields := " \
		"struct { string a[2]; string b; }; };\n" \
	"event { id = 7; context := struct { integer { size = 4; } l; }; fields := struct { integer { size = 4; } m; " \
		"u8 n; }; };\n"

/*
 * CTF 2: lengths and selectors in variants, optional fields and array elements, in the same ones and in earlier ones.
 * ' stands for ".
 */
#define U8 "{'type': 'fixed-length-unsigned-integer', 'length': 8, 'byte-order': 'little-endian', 'alignment': 8}"
#define ROLE(role) \
	"{'type': 'fixed-length-unsigned-integer', 'length': 8, 'byte-order': 'little-endian', 'alignment': 8, " \
	"'roles': ['" role "']}"
#define MEMBER(name, class) "{'name': '" name "', 'field-class': " class "}"
#define STRUCTURE(members) "{'type': 'structure', 'member-classes': [" members "]}"
#define AT(origin, path) "{'origin': 'event-record-" origin "', 'path': [" path "]}"
#define OPTION(from, to, class) "{'selector-field-ranges': [[" #from ", " #to "]], 'field-class': " class "}"
#define VARIANT(at, options) "{'type': 'variant', 'selector-field-location': " at ", 'options': [" options "]}"
#define OPTIONAL(at, class) \
	"{'type': 'optional', 'selector-field-location': " at \
	", 'selector-field-ranges': [[1, 200]], 'field-class': " class "}"
#define ARRAY(at, class) \
	"{'type': 'dynamic-length-array', 'length-field-location': " at ", 'element-field-class': " class "}"
#define BLOB(at) "{'type': 'dynamic-length-blob', 'length-field-location': " at "}"
#define WIDE(class, bits, order) "{'type': 'fixed-length-" class "', 'length': " bits ", 'byte-order': " order "}"
#define EVENT(id, members) \
	"\x1e{'type': 'event-record-class', 'id': " #id ", 'payload-field-class': " STRUCTURE(members) "}\n"

#define WAYS \
	"\x1e{'type': 'preamble', 'version': 2}\n\x1e{'type': 'trace-class', 'packet-header-field-class': " \
		STRUCTURE(MEMBER("first", U8)) "}\n" \
	"\x1e{'type': 'clock-class', 'id': 'c', 'frequency': 1000}\n" \
	"\x1e{'type': 'data-stream-class', 'default-clock-class-id': 'c', 'event-record-header-field-class': " \
	STRUCTURE(MEMBER("id", ROLE("event-record-class-id")) "," MEMBER("t", ROLE("default-clock-timestamp"))) \
		", 'event-record-common-context-field-class': " \
	STRUCTURE(MEMBER("k", U8) "," MEMBER("w", VARIANT(AT("common-context", "'k'"), OPTION(0, 9, \
		STRUCTURE(MEMBER("z", U8))) "," \
		  OPTION(10, 99, STRUCTURE(MEMBER("y", U8) "," MEMBER("z", U8))) "," OPTION(100, 255, U8)))) "}\n" \
	EVENT(0, MEMBER("n", U8) "," MEMBER("v", VARIANT("{'path': ['n']}", OPTION(0, 1, U8) "," OPTION(2, 255, \
		"{'type': 'variable-length-unsigned-integer'}"))) "," \
	      MEMBER("b", BLOB(AT("payload", "'v'")))) \
	EVENT(1, MEMBER("b", BLOB(AT("common-context", "'w', 'z'"))) "," MEMBER("m", U8) "," MEMBER("c", \
		ARRAY("{'path': ['m']}", STRUCTURE(MEMBER("n", U8) "," \
	      MEMBER("o", OPTIONAL("{'path': ['n']}", STRUCTURE(MEMBER("l", U8) "," MEMBER("d", BLOB(AT("payload", \
	      	"'c', 'o', 'l'")))))) "," \
	      MEMBER("p", OPTIONAL("{'path': ['n']}", ARRAY("{'path': ['o', 'l']}", U8))))))) \
	EVENT(2, MEMBER("n", U8) "," MEMBER("o", OPTIONAL("{'path': ['n']}", VARIANT("{'path': ['n']}", OPTION(1, 9, \
		STRUCTURE(MEMBER("s", U8))) "," OPTION(10, 255, U8)))) \
	      "," MEMBER("p", VARIANT(AT("payload", "'o', 's'"), OPTION(0, 100, BLOB("{'path': ['n']}")) "," \
	      	OPTION(101, 255, U8)))) \
	EVENT(3, MEMBER("a", WIDE("unsigned-integer", "70", "'little-endian'")) "," MEMBER("b", \
		WIDE("signed-integer", "131", "'big-endian'")) "," \
	      MEMBER("c", WIDE("signed-integer", "65", "'little-endian', 'bit-order': 'last-to-first'")) "," \
	      	MEMBER("d", WIDE("unsigned-integer", "72", \
	      "'big-endian', 'bit-order': 'first-to-last'")) "," MEMBER("n", \
	      	"{'type': 'variable-length-unsigned-integer'}") "," \
	      MEMBER("s", "{'type': 'variable-length-signed-integer'}") "," MEMBER("f", \
	      	WIDE("floating-point-number", "160", "'big-endian'")) "," \
	      MEMBER("t", ARRAY("{'path': ['n']}", WIDE("boolean", "90", "'little-endian'"))))

static const char *const metadata[] = {
	TRACE
	"stream { packet.context := struct { u8 p; u8 q[p]; };\n"
	"  event.header := struct { enum : integer { size = 5; } { compact = 0 ... 30, extended = 31 } id;\n"
	"    variant <id> { struct { integer { size = 27; map = clock.c.value; } timestamp; } compact; struct { u8 id; "
	"t64 timestamp; } extended; } v; };\n  event.context := struct { u8 c; }; };\n"
	"event { id = 0; fields := struct { u8 a; string b; u8 n; u32 d[n]; integer { size = 8; encoding = UTF8; } "
	"t[n]; }; };\n"
	"event { id = 1; fields := struct { enum : u8 { x = 0 ... 9, y = 10 ... 20, z = 21 ... 255 } tag; variant "
	"<tag> { u8 x;\n"
	"  struct { u8 m; struct { u8 k; integer { size = 3; } e[k]; string f; } g[m]; } y; struct { } z; } v[2]; } "
	"align(64); };\n"
	"event { id = 2; context := struct { u8 l; }; fields := struct { struct { } none[stream.packet.context.p]; u8 "
	"h[event.context.l]; "
	"floating_point { exp_dig = 11; mant_dig = 53; } f; integer { size = 63; align = 1; byte_order = be; signed = "
	"true; } i; }; };\n"
	"event { id = 200; };\nevent { id = 201; fields := struct { integer { size = 16; signed = true; byte_order = "
	"be; } a; integer { size = 24; signed = true; } b; u32 c; "
	"struct { integer { size = 40; byte_order = be; } d; floating_point { exp_dig = 11; mant_dig = 53; align = 8; "
	"} e; } s; t64 g; "
	"integer { size = 64; signed = true; byte_order = be; } h; integer { size = 8; signed = true; } i; }; };\n",
	NEAR("le", "27"),
	NEAR("be", "27"),
	NEAR("le", "21"),
	WAYS,
};

#define CLASSES (WMK_ARRAY_LEN(metadata))
#define OLD (CLASSES - 1)              /* the classes of CTF 1.8 */

static struct wmk_ctf_class *classes[CLASSES];
static struct wmk_ctf_decoder *decoders[CLASSES];

static void begin(void)
{
	for (unsigned i = 0; i < CLASSES && !decoders[i]; i++) {
		char *text = strdup(metadata[i]);

		for (char *c = text; c && i >= OLD && *c; c++)
			if (*c == '\'')
				*c = '"';
		if (!text || wmk_ctf_metadata_parse(text, strlen(text), "fuzzed", false, &classes[i]) < 0 ||
		    wmk_ctf_compile(classes[i], "fuzzed", &decoders[i]) < 0 || (i && !decoders[i]->streams[0].plan))
			abort();
		free(text);
	}
}

/* Read the values of a header. */
struct header_values {
	uint64_t id, time;
};

/* Bit `i` of a number that may be wide, read from its place. */
static bool bit_of(const struct wmk_ctf_walk *walk, const struct wmk_ctf_item *item, uint64_t i)
{
	const struct wmk_ctf_op *op = item->op;

	if (!op->width)
		return wmk_bits_slow(walk->in.bytes, item->at + i / 7 * 8 + i % 7, 1, false);
	i = op->is_reversed ? op->width - 1 - i : i;
	return wmk_bits_slow(walk->in.bytes, item->at + (op->is_big ? op->width - 1 - i : i), 1, op->is_big);
}

/* The digits of such a number must equal its bits; it must be wide if and only if the bits do not fit 64 bits. */
static bool is_right_wide(const struct wmk_ctf_walk *walk, const struct wmk_ctf_item *item)
{
	char binary[WMK_CTF_WIDE_DIGITS], decimal[WMK_CTF_WIDE_DIGITS];
	const size_t n = wmk_ctf_wide_digits(item, 2, binary), value_bits = item->op->is_signed ? 63 : 64;
	const bool sign = item->op->is_signed && bit_of(walk, item, n - 1);
	bool fits = true;

	if (n != item->len || wmk_ctf_wide_digits(item, 10, decimal) - sign > n || (decimal[0] == '-') != sign)
		return false;
	for (size_t i = 0; i < n; i++) {
		if (bit_of(walk, item, i) != (binary[n - 1 - i] == '1'))
			return false;
		fits &= i < value_bits || bit_of(walk, item, i) == sign;
	}
	for (size_t i = 0; i < 64 && fits; i++)
		if ((item->value.u >> i & 1) != (i < n ? bit_of(walk, item, i) : sign))
			return false;
	return item->is_wide != fits;
}

/* A number that is read at once must equal its bits. */
static bool is_right(const struct wmk_ctf_walk *walk, const struct wmk_ctf_item *item)
{
	const struct wmk_ctf_op *op = item->op;
	uint64_t value;

	if (item->is_end || op->code > WMK_CTF_FLAGS || (op->is_reversed && op->width <= 64) ||
	    (op->code == WMK_CTF_FLOAT && op->width != 64))
		return true;
	if (wmk_ctf_may_be_wide(op))
		return op->code == WMK_CTF_BOOL || op->code == WMK_CTF_FLOAT || is_right_wide(walk, item);
	value = wmk_bits_slow(walk->in.bytes, item->at, op->width, op->is_big);
	return item->value.u == (op->is_signed ? (uint64_t)wmk_bits_sign(value, op->width) : value);
}

/* A string must end at the first NUL. */
static bool is_whole(const struct wmk_ctf_walk *walk, const struct wmk_ctf_item *item)
{
	const uint8_t *begin = walk->in.bytes + item->at / 8;

	if (item->is_end || item->op->code != WMK_CTF_STRING || item->op->type->encoding != WMK_ENCODING_UTF8)
		return true;
	return item->text == (const char *)begin &&
	       memchr(begin, 0, (walk->in.end - item->at) / 8) == begin + item->len;
}

/* Check all of one structure, from the position of the walk. */
static void walk_through(struct wmk_ctf_walk *walk, const struct wmk_ctf_program *program, struct header_values *values)
{
	struct wmk_ctf_item item;

	wmk_ctf_walk_enter(walk, program);
	while (wmk_ctf_next(walk, &item)) {
		if (!is_right(walk, &item) || !is_whole(walk, &item))
			abort();
		if (!item.is_end && (item.op->code == WMK_CTF_TEXT || item.op->code == WMK_CTF_STRING) && item.len &&
		    !item.text[item.len - 1])
			abort();
		if (!values || item.is_end || item.op->code > WMK_CTF_ENUM)
			continue;
		if (item.op->roles & WMK_ROLE_BIT(WMK_ROLE_EVENT_CLASS))
			values->id = item.value.u;
		if (item.op->roles & WMK_ROLE_BIT(WMK_ROLE_TIME))
			values->time = wmk_ctf_time(values->time, item.value.u,
						    item.op->width ? item.op->width : (unsigned)item.len);
	}
}

/* Walk through the values that wmk_ctf_record() has skipped by length. */
static void again(const struct wmk_ctf_stream_decoder *stream, struct wmk_ctf_record *record, uint64_t before)
{
	struct header_values values = { .time = before };
	struct wmk_ctf_walk *walk = &record->walk;

	walk->at = record->at;
	walk_through(walk, &stream->event_header, &values);
	if (walk->err || walk->at != record->common_at || values.time != record->time ||
	    values.id != record->event->class->id)
		abort();
	walk_through(walk, &stream->event_context, NULL);
	if (walk->err || walk->at != record->context_at)
		abort();
	walk_through(walk, &record->event->context, NULL);
	if (walk->err || walk->at != record->payload_at)
		abort();
	walk_through(walk, &record->event->payload, NULL);
	if (walk->err || walk->at != record->end)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *bytes = malloc(size ? size : 1);
	struct wmk_ctf_bytes in = { bytes, 0, size * 8 };
	struct wmk_ctf_record record = { .time = 0 };
	const struct wmk_ctf_stream_decoder *stream;
	const struct wmk_ctf_decoder *decoder;
	uint64_t at, before;

	begin();
	if (!bytes)
		abort();
	memcpy(bytes, data, size);
	decoder = decoders[!size ? 0 : bytes[0] < 0x80 ? OLD : (bytes[0] + 3) % OLD];
	stream = &decoder->streams[0];
	wmk_ctf_walk_begin(&record.walk, &in, 0);
	walk_through(&record.walk, &decoder->packet_header, NULL);
	if (!record.walk.err)
		walk_through(&record.walk, &stream->packet_context, NULL);
	at = record.walk.at;
	while (!record.walk.err && (before = record.time, wmk_ctf_record(stream, &in, at, &record)) >= 0 &&
	       record.end > at) {
		again(stream, &record, before);
		at = record.end;
	}
	wmk_error_clear();
	free(bytes);
	return 0;
}
