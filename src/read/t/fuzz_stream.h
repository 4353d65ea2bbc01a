/* SPDX-License-Identifier: MIT */
/*
 * fuzz_stream.h - metadata of the traces for fuzz_stream.c. Each one uses another way to identify, delimit or decode
 * streams.
 */
#ifndef WMK_READ_T_FUZZ_STREAM_H
#define WMK_READ_T_FUZZ_STREAM_H

#include <stdbool.h>

#define TYPES \
	"typealias integer { size = 8; } := u8;\ntypealias integer { size = 16; align = 8; } := u16;\ntypealias " \
	"integer { size = 32; align = 8; } := u32;\n" \
	"typealias integer { size = 64; align = 8; } := u64;\ntypealias integer { size = 8; map = clock.c.value; } " \
	":= t8;\n" \
	"typealias integer { size = 16; align = 8; map = clock.c.value; } := t16;\ntypealias integer { size = 64; " \
	"align = 8; map = clock.c.value; } := t64;\n"
#define TRACE(order, header, clock) \
	"/* CTF 1.8 */\n" TYPES "trace { major = 1; minor = 8; byte_order = " order "; " header \
	"};\nclock { name = c; " clock "};\n"
#define EVENTS(of) \
	"event { " of "id = 0; fields := struct { u8 a; }; };\nevent { " of \
	"id = 1; fields := struct { string s; }; };\n" \
	"event { " of "id = 2; fields := struct { u8 n; u16 d[n]; }; };\nevent { " of \
	"id = 3; fields := struct { integer { size = 3; } b; }; };\n"
/* As LTTng writes them: 27 bits of the time. */
#define CONTEXT \
	"packet.context := struct { t64 timestamp_begin; t64 timestamp_end; u64 content_size; u64 packet_size; u64 " \
	"packet_seq_num; u64 events_discarded; u32 cpu_id; }; "
#define COMPACT(order) \
	"event.header := struct { enum : integer { size = 5; byte_order = " order \
	"; } { compact = 0 ... 30, extended = 31 } id; variant <id> { " \
	"struct { integer { size = 27; byte_order = " order \
	"; map = clock.c.value; } timestamp; } compact; struct { u32 id; t64 timestamp; } extended; } v; } align(8); "

#define FAR \
	"typealias integer { size = 8; align = 64; } := a64;\ntypealias integer { size = 8; align = 256; } := " \
	"a256;\ntypealias integer { size = 8; align = 1073741824; } := far;\n"

static const struct { const char *text; bool has_sizes;
} metadata[] = {
	{ TRACE("le", "packet.header := struct { u32 magic; u32 stream_id; u64 stream_instance_id; }; ",
		"freq = 1000000000; ") "stream { id = 0; " CONTEXT COMPACT("le") "};\n" EVENTS("stream_id = 0; "),
	  true },
	{ TRACE("be",
		"uuid = \"61616161-6161-6161-6161-616161616161\"; packet.header := struct { u32 magic; u8 uuid[16]; "
		"}; ",
		"freq = 1000; offset_s = -5; offset = 7; ") "stream { " CONTEXT COMPACT("be") "};\n" EVENTS(""),
	  true },
	/* Small numbers, and three classes: with times, without times, with records without a size. */
	{
		TRACE("le", "packet.header := struct { u8 stream_id; u8 stream_instance_id; }; ",
		      "freq = 1000000000; offset_s = 1; ") "stream { id = 0; packet.context := struct { t16 "
							   "timestamp_begin; t16 timestamp_end; u16 content_size; u16 "
							   "packet_size; u8 packet_seq_num; u8 events_discarded; }; "
							   "event.header := struct { u8 id; t8 timestamp; }; "
							   "event.context := struct { u8 c; }; };\n" EVENTS(
								   "stream_id = 0; ") "stream { id = 1; packet.context "
										      ":= struct { u16 packet_size; "
										      "u16 content_size; }; "
										      "event.header := struct { u8 id; "
										      "}; };\n" EVENTS("stream_id = "
												       "1; ") "stream "
													      "{ id = "
													      "2; "
													      "packet."
													      "context "
													      ":= "
													      "struct "
													      "{ u16 "
													      "packet_"
													      "size; "
													      "}; "
													      "};"
													      "\nevent "
													      "{ "
													      "stream_"
													      "id = 2; "
													      "fields "
													      ":= "
													      "struct "
													      "{ u8 n; "
													      "integer "
													      "{ size "
													      "= 3; } "
													      "d[n]; "
													      "}; };\n",
		true },
	/* Neither header nor context. */
	{ TRACE("le", "",
		"freq = 1000000000; ") "stream { event.header := struct { u8 id; t16 timestamp; }; };\n" EVENTS(""),
	  false },
	/* A packet end without a begin. */
	{ TRACE("be", "",
		"freq = 1000000000; ") "stream { packet.context := struct { t16 timestamp_end; u16 packet_size; }; "
				       "event.header := struct { u8 id; t8 timestamp; }; };\n" EVENTS(""),
	  true },
	/* A content size without a packet size; no value has whole bytes. */
	{ TRACE("be", "", "freq = 3; ") "stream { packet.context := struct { u16 content_size; t16 timestamp_begin; u8 "
					"events_discarded; }; event.header := struct { integer { size = 3; } id; "
					"integer { size = 6; map = clock.c.value; } timestamp; }; };\n" EVENTS(""),
	  true },
	/*
	 * Alignments larger than the value: some bytes, and larger than any file; and sizes that exceed 64 bits.
	 */
	{ TRACE("le", "", "freq = 1000000000; ") FAR
	  "stream { packet.context := struct { u16 content_size; u16 packet_size; enum : u8 { near = 0 ... 250, away = "
	  "251 ... 255 } tag; "
	  "variant <tag> { a64 near; struct { far x[0]; } away; } v; }; event.header := struct { u8 id; t8 timestamp; "
	  "}; };\n" EVENTS("") "event { id = 4; fields := struct { u8 n; a64 d[n]; }; };\nevent { id = 5; context := "
			       "struct { a256 c; }; fields := struct { string s; a64 d[2]; }; };\n"
			       "event { id = 6; fields := struct { enum : u8 { near = 0 ... 250, away = 251 ... 255 } "
			       "tag; variant <tag> { a256 near; far away; } v; u8 a; }; };\n"
			       "event { id = 7; fields := struct { far a[0]; }; };\nevent { id = 8; fields := struct { "
			       "far a[2147483648]; far b[2147483648]; far c[2147483648]; "
			       "far d[2147483648]; far e[2147483648]; far f[2147483648]; far g[2147483648]; far "
			       "h[2147483648]; }; };\n",
	  true },
};

#endif
