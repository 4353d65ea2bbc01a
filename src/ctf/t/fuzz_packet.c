/* SPDX-License-Identifier: MIT */
/*
 * fuzz_packet.c - any bytes as a stream of a trace that has something of everything: records decoded to the end, or to what is wrong; the
 * quick way must end where the walk does.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "ctf/decode.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char metadata[] =
	"typealias integer { size = 8; } := u8;\ntypealias integer { size = 32; align = 32; } := u32;\n"
	"typealias integer { size = 64; align = 8; map = clock.c.value; } := t64;\n"
	"trace { major = 1; minor = 8; byte_order = le; packet.header := struct { u8 first; u8 uuid[16]; }; };\nclock { name = c; freq = 1000; };\n"
	"stream { packet.context := struct { u8 p; u8 q[p]; };\n"
	"  event.header := struct { enum : integer { size = 5; } { compact = 0 ... 30, extended = 31 } id;\n"
	"    variant <id> { struct { integer { size = 27; map = clock.c.value; } timestamp; } compact; struct { u8 id; t64 timestamp; } extended; } v; };\n"
	"  event.context := struct { u8 c; }; };\n"
	"event { id = 0; fields := struct { u8 a; string b; u8 n; u32 d[n]; integer { size = 8; encoding = UTF8; } t[n]; }; };\n"
	"event { id = 1; fields := struct { enum : u8 { x = 0 ... 9, y = 10 ... 20, z = 21 ... 255 } tag; variant <tag> { u8 x;\n"
	"  struct { u8 m; struct { u8 k; integer { size = 3; } e[k]; string f; } g[m]; } y; struct { } z; } v[2]; } align(64); };\n"
	"event { id = 2; context := struct { u8 l; }; fields := struct { struct { } none[stream.packet.context.p]; u8 h[event.context.l]; "
	"floating_point { exp_dig = 11; mant_dig = 53; } f; integer { size = 63; align = 1; byte_order = be; signed = true; } i; }; };\n"
	"event { id = 200; };\n";

static struct wmk_ctf_class *class;
static struct wmk_ctf_decoder *decoder;

static void begin(void)
{
	if (decoder)
		return;
	if (wmk_ctf_metadata_parse(metadata, sizeof(metadata) - 1, "fuzzed", false, &class) < 0 || wmk_ctf_compile(class, "fuzzed", &decoder) < 0)
		abort();
}

/* All of one structure, from where the walk is. */
static void walk_through(struct wmk_ctf_walk *walk, const struct wmk_ctf_program *program)
{
	struct wmk_ctf_item item;

	wmk_ctf_walk_enter(walk, program);
	while (wmk_ctf_next(walk, &item))
		if (!item.is_end && (item.op->code == WMK_CTF_TEXT || item.op->code == WMK_CTF_STRING) && item.len && !item.text[item.len - 1])
			abort();
}

/* By values what wmk_ctf_record() has gone over by lengths. */
static void again(const struct wmk_ctf_stream_decoder *stream, struct wmk_ctf_record *record)
{
	struct wmk_ctf_walk *walk = &record->walk;

	walk->at = record->at;
	walk_through(walk, &stream->event_header);
	if (walk->err || walk->at != record->common_at)
		abort();
	walk_through(walk, &stream->event_context);
	if (walk->err || walk->at != record->context_at)
		abort();
	walk_through(walk, &record->event->context);
	if (walk->err || walk->at != record->payload_at)
		abort();
	walk_through(walk, &record->event->payload);
	if (walk->err || walk->at != record->end)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *bytes = malloc(size ? size : 1);
	struct wmk_ctf_bytes in = { bytes, 0, size * 8 };
	struct wmk_ctf_record record = { .time = 0 };
	const struct wmk_ctf_stream_decoder *stream;
	uint64_t at;

	begin();
	if (!bytes)
		abort();
	memcpy(bytes, data, size);
	stream = &decoder->streams[0];
	wmk_ctf_walk_begin(&record.walk, &in, 0);
	walk_through(&record.walk, &decoder->packet_header);
	if (!record.walk.err)
		walk_through(&record.walk, &stream->packet_context);
	at = record.walk.at;
	while (!record.walk.err && wmk_ctf_record(stream, &in, at, &record) >= 0 && record.end > at) {
		again(stream, &record);
		at = record.end;
	}
	wmk_error_clear();
	free(bytes);
	return 0;
}
