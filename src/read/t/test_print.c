/* SPDX-License-Identifier: MIT */
/*
 * test_print.c - unit tests of print.h. The first tests expect the output of babeltrace2 2.0.4 for the same metadata
 * and bytes, except for the control characters in an event's name (see print.h).
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/array.h"
#include "base/error.h"
#include "read/t/print_rig.h"
#include "read/print_state.h"

static const char metadata[] =
	"/* CTF 1.8 */\n"
	"typealias integer { size = 8; align = 8; signed = false; } := u8;\n"
	"typealias integer { size = 8; align = 8; signed = false; encoding = UTF8; } := ch;\n"
	"typealias integer { size = 32; align = 8; signed = false; } := u32;\n"
	"typealias integer { size = 32; align = 8; signed = true; } := s32;\n"
	"typealias integer { size = 64; align = 8; signed = false; } := u64;\n"
	"trace { major = 1; minor = 8; byte_order = le; uuid = \"01020304-0506-0708-090a-0b0c0d0e0f10\";\n"
	"	packet.header := struct { u32 magic; }; };\n"
	"env { hostname = \"ho\\\"st\\\\x\"; procname = \"proc\"; vpid = 42; domain = \"ust\"; };\n"
	"clock { name = c; freq = 1000000000; offset_s = 1700000000; offset = 5; };\n"
	"typealias integer { size = 64; align = 8; signed = false; map = clock.c.value; } := ts;\n"
	"stream {\n	packet.context := struct { u64 content_size; u64 packet_size; ts timestamp_begin; ts "
	"timestamp_end; u64 events_discarded;\n		u64 packet_seq_num; u32 cpu_id; ts other; };\n"
	"	event.header := struct { u8 id; ts timestamp; };\n"
	"	event.context := struct { s32 _vpid; };\n"
	"};\n"
	"event { name = \"ints\"; id = 0; loglevel = 13; fields := struct {\n"
	"	integer { size = 8; align = 8; signed = true; base = 16; } h8;\n"
	"	integer { size = 12; align = 1; signed = true; base = 16; } h12;\n"
	"	integer { size = 4; align = 1; signed = false; base = 16; } h4;\n"
	"	integer { size = 5; align = 1; signed = true; base = 2; } b5;\n"
	"	integer { size = 3; align = 1; signed = false; base = 8; } o3;\n"
	"	integer { size = 16; align = 8; signed = true; base = 8; } o16;\n"
	"	integer { size = 16; align = 8; signed = false; base = 8; } ou16;\n"
	"	integer { size = 8; align = 8; signed = false; base = 2; } b8;\n"
	"	integer { size = 64; align = 8; signed = true; base = 8; } o64;\n"
	"	integer { size = 64; align = 8; signed = true; } d64;\n"
	"	integer { size = 10; align = 1; signed = true; base = 8; } o10;\n"
	"	integer { size = 6; align = 1; signed = true; } d6;\n"
	"}; };\n"
	"event { name = \"nest\"; id = 1; fields := struct {\n"
	"	struct { } none;\n"
	"	struct { u8 a; struct { u8 b; } in; } s;\n"
	"	u8 arr[3]; u8 arr0[0]; struct { u8 x; } sarr[2];\n"
	"	u8 n; u8 seq[n]; ch t[4]; u8 tn; ch tseq[tn];\n"
	"	enum : u8 { A = 0, B = 0 ... 2, A = 5, \"q\\\"x\" = 7, C = 1 } e[5];\n"
	"	enum : integer { size = 8; signed = true; base = 16; } { NEG = -2 ... -1, Z = 0 } se[2];\n"
	"	enum : u8 { v1 = 1, v2 = 2 } tag;\n"
	"	variant <tag> { u8 v1; struct { u8 p; ch q[2]; } v2; } var;\n"
	"}; };\n"
	"event { name = \"text\"; id = 2; fields := struct { string a; string _b; string __c; }; };\n"
	"event { name = \"reals\"; id = 3; fields := struct { floating_point { exp_dig = 11; mant_dig = 53; align "
	"= 8; } d[16];\n	floating_point { exp_dig = 8; mant_dig = 24; align = 8; } f[3]; }; };\n"
	"event { name = \"na\\\"me\\twith\\\\esc\\033[1m\"; id = 4; fields := struct { }; };\n"
	"event { name = \"\"; id = 5; fields := struct { u8 shown; ts hidden; struct { ts x; } all_hidden; struct "
	"{ ts x; u8 y; } some;\n	ts arr[1]; u8 last; }; };\n"
	"event { name = \"ctx\"; id = 6; context := struct { u8 k; ts hidden; }; };\n"
	"event { name = \"only_hidden\"; id = 7; context := struct { }; fields := struct { ts hidden; }; };\n";

#define LONG "\0\0\0\0\0\0\0"     /* the other bytes of a small 64-bit number */
#define EVENT(id, time) id time LONG "\xfe\xff\xff\xff"
#define PACKET(cpu) "\xc1\x1f\xfc\xc1" "\0" LONG "\0" LONG "\0" LONG "\0" LONG "\0" LONG "\0" LONG cpu "\0\0\0" \
	"\0" LONG

#define INTS EVENT("\0", "\x10") "\xff" "\xfe\x5f" "\xbd" \
	"\xff\xff\x08\x00\x05\xff\xff\xff\xff\xff\xff\xff\xff\x00\x00\x00\x00\x00\x00\x00\x80" "\xff\xff"
#define NEST EVENT("\1", "\x11") "\x01\x02\x03\x04\x05\x06\x07\x02\x08\x09" "ab\0d" "\x03" "x?y" \
	"\x00\x05\x01\x07\x09\xff\x05\x02\x20" "z\0"
#define NEST1 EVENT("\1", "\x12") "\x01\x02\x03\x04\x05\x06\x07\x00" "abcd" "\x00\x00\x05\x01\x07\x09\xff\x00\x01\x20"
#define TEXT EVENT("\2", "\x13") \
	"\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10" \
	"\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b\x1c" \
	"\x1d\x1e\x1f\x20\x7f\x80\x9b\xff\0" "a\\b\"c'd?e%s\xc3\xa9\0" "\0"
#define REALS EVENT("\3", "\x14") "\0\0\0\0\0\0\0\0" "\0\0\0\0\0\0\0\x80" "\0\0\0\0\0\0\xf8\x7f" \
	"\0\0\0\0\0\0\xf8\xff" "\0\0\0\0\0\0\xf0\x7f" \
	"\0\0\0\0\0\0\xf0\xff" "\x9a\x99\x99\x99\x99\x99\xb9\x3f" "\0\0\0\0\x80\x84\x2e\x41" \
	"\0\0\0\0\x7e\x84\x2e\x41" "\0\0\0\x54\x34\x6f\x9d\x41" \
	"\x2d\x43\x1c\xeb\xe2\x36\x1a\x3f" "\xf1\x68\xe3\x88\xb5\xf8\xe4\x3e" "\x9c\x75\x00\x88\x3c\xe4\x37\x7e" \
	"\x01\0\0\0\0\0\0\0" \
	"\x18\x2d\x44\x54\xfb\x21\x09\x40" "\0\0\0\0\0\x88\xc3\xc0" "\xcd\xcc\xcc\x3d\xff\xff\x7f\x7f\0\0\x80\x3f"
#define NAMED EVENT("\4", "\x15")
#define UNNAMED EVENT("\5", "\x16") "\x01" "\x16" LONG "\x16" LONG "\x16" LONG "\x02" "\x16" LONG "\x03"

/* A packet of CPU 3, then one of CPU 1. */
static const char first[] = PACKET("\3") INTS NEST NEST1 TEXT REALS NAMED UNNAMED;
static const char second[] = PACKET("\1") EVENT("\6", "\x20") "\x07" "\x20" LONG EVENT("\7", "\x21") "\x21" LONG;

#define LABELS_1 "[ [0] = ( \"A\", \"B\" : container = 0 ), [1] = ( \"A\" : container = 5 ), [2] = ( \"B\", \"C\" " \
	": container = 1 ), " \
	"[3] = ( \"q\\\"x\" : container = 7 ), [4] = ( <unknown> : container = 9 ) ]"
#define HOST " ho\"st\\x:proc:(42) "
#define AT(ns, delta) "[22:13:20.0000000" ns "] (+" delta ")"
#define CPU3 "{ cpu_id = 3 }, { vpid = -2 }, "
#define CPU1 "{ cpu_id = 1 }, { vpid = -2 }, "

static void printed_records_equal_those_of_babeltrace2(void **state)
{
	struct rig rig;

	(void)state;
	rig_open(&rig, metadata, NULL, NULL, NULL);
	rig_print(&rig, first, sizeof(first) - 1);
	assert_string_equal(rig_text(&rig),
		AT("21", "?.?????????") HOST "ints: " CPU3 "{ h8 = 0xFF, h12 = 0xFFE, h4 = 0x5, b5 = 0b11101, o3 "
			"= 05, o16 = 0777777, ou16 = 010, "
		"b8 = 0b00000101, o64 = 01777777777777777777777, d64 = -9223372036854775808, o10 = 07777, d6 = -1 }\n"
		AT("22", "0.000000001") HOST "nest: " CPU3 "{ none = { }, s = { a = 1, in = { b = 2 } }, arr = [ "
			"[0] = 3, [1] = 4, [2] = 5 ], arr0 = [ ], "
		"sarr = [ [0] = { x = 6 }, [1] = { x = 7 } ], n = 2, seq = [ [0] = 8, [1] = 9 ], t = \"ab\", tn = "
		"3, tseq = \"x\\?y\", e = " LABELS_1 ", "
		"se = [ [0] = ( \"NEG\" : container = 0xFF ), [1] = ( <unknown> : container = 0x5 ) ], tag = ( "
		"\"v2\" : container = 2 ), var = { { p = 32, q = \"z\" } } }\n"
		AT("23", "0.000000001") HOST "nest: " CPU3 "{ none = { }, s = { a = 1, in = { b = 2 } }, arr = [ "
			"[0] = 3, [1] = 4, [2] = 5 ], arr0 = [ ], "
		"sarr = [ [0] = { x = 6 }, [1] = { x = 7 } ], n = 0, seq = [ ], t = \"abcd\", tn = 0, tseq = "
		"\"\", e = " LABELS_1 ", "
		"se = [ [0] = ( \"NEG\" : container = 0xFF ), [1] = ( \"Z\" : container = 0x0 ) ], tag = ( \"v1\" "
		": container = 1 ), var = { 32 } }\n"
		AT("24", "0.000000001") HOST "text: " CPU3 "{ a = "
			"\"\\x01\\x02\\x03\\x04\\x05\\x06\\a\\b\\t\\n\\v\\f\\r\\x0e\\x0f\\x10"
			"\\x11\\x12\\x13\\x14\\x15\\x16"
		"\\x17\\x18\\x19\\x1a\\e\\x1c\\x1d\\x1e\\x1f \\x7f\x80\x9b\xff\", b = "
		"\"a\\\\b\\\"c\\'d\\?e%s\xc3\xa9\", _c = \"\" }\n"
		AT("25", "0.000000001") HOST "reals: " CPU3 "{ d = [ [0] = 0, [1] = -0, [2] = nan, [3] = -nan, "
			"[4] = inf, [5] = -inf, [6] = 0.1, [7] = 1e+06, "
		"[8] = 999999, [9] = 1.23457e+08, [10] = 0.0001, [11] = 1e-05, [12] = 1e+300, [13] = "
		"4.94066e-324, [14] = 3.14159, [15] = -10000 ], f = [ [0] = 0.1, [1] = 3.40282e+38, [2] = 1 ] }\n"
		AT("26", "0.000000001") HOST "na\"me\\twith\\esc\\e[1m: " CPU3 "{ }\n"
		AT("27", "0.000000001") HOST "<unknown>: " CPU3 "{ shown = 1, some = { y = 2 }, last = 3 }\n");
	rig_print(&rig, second, sizeof(second) - 1);
	assert_string_equal(rig_text(&rig),
		AT("37", "0.000000010") HOST "ctx: " CPU1 "{ k = 7 }\n"
		AT("38", "0.000000001") HOST "only_hidden: " CPU1 "{ }\n");
	rig_close(&rig);
}

#define LABELS_2 "[ ( \"A\", \"B\" : container = 0 ), ( \"A\" : container = 5 ), ( \"B\", \"C\" : container = 1 " \
	"), ( \"q\\\"x\" : container = 7 ), " \
	"( <unknown> : container = 9 ) ]"
#define SCOPES(cpu) "stream.packet.context = { " cpu " }, stream.event.context = { -2 }"
#define FIRST_BARE "{ 0xFF, 0xFFE, 0x5, 0b11101, 05, 0777777, 010, 0b00000101, 01777777777777777777777, " \
	"-9223372036854775808, 07777, -1 }"
#define NEST_BARE "{ { }, { 1, { 2 } }, [ 3, 4, 5 ], [ ], [ { 6 }, { 7 } ], 2, [ 8, 9 ], \"ab\", 3, \"x\\?y\", " \
	LABELS_2 ", " \
	"[ ( \"NEG\" : container = 0xFF ), ( <unknown> : container = 0x5 ) ], ( \"v2\" : container = 2 ), { { 32, " \
	"\"z\" } } }"

/* --fields=trace,loglevel --names=scope */
static void printed_scope_names_equal_those_of_babeltrace2(void **state)
{
	static const char bytes[] = PACKET("\3") INTS NEST;
	struct wmk_print_options options = { .clock = WMK_PRINT_TIME };
	struct rig rig;

	(void)state;
	assert_int_equal(wmk_print_names("scope", &options.names), 0);
	assert_int_equal(wmk_print_fields("trace,loglevel", &options.fields), 0);
	rig_open(&rig, metadata, NULL, &options, "ho\"st\\x");
	rig_print(&rig, bytes, sizeof(bytes) - 1);
	assert_string_equal(rig_text(&rig),
		AT("21", "?.?????????") " ho\"st\\xTRACE_DEBUG_LINE (13) ints: " SCOPES("3") ", event.fields = "
			FIRST_BARE "\n"
		AT("22", "0.000000001") " ho\"st\\xnest: " SCOPES("3") ", event.fields = " NEST_BARE "\n");
	rig_print(&rig, second, sizeof(second) - 1);
	assert_string_equal(rig_text(&rig),
		AT("37", "0.000000015") " ho\"st\\xctx: " SCOPES("1") ", event.context = { 7 }\n"
		AT("38", "0.000000001") " ho\"st\\xonly_hidden: " SCOPES("1") ", event.context = { }\n");
	rig_close(&rig);
}

#define CYCLES(low) "timestamp = 000000000000000000" low ", trace = ho\"st\\x, , trace:hostname = ho\"st\\x, " \
	"trace:domain = ust, " \
	"trace:procname = proc, trace:vpid = (42), "

/* --fields=all --names=header,context --no-delta --clock-cycles; and with the delta, as t1 below shows it. */
static void printed_header_names_equal_those_of_babeltrace2(void **state)
{
	static const char bytes[] = PACKET("\3") INTS NEST UNNAMED;
	struct wmk_print_options options = { .clock = WMK_PRINT_CYCLES, .no_delta = true };
	struct rig rig;

	(void)state;
	assert_int_equal(wmk_print_names("header,context", &options.names), 0);
	assert_int_equal(wmk_print_fields("all", &options.fields), 0);
	rig_open(&rig, metadata, NULL, &options, "ho\"st\\x");
	rig_print(&rig, bytes, sizeof(bytes) - 1);
	assert_string_equal(rig_text(&rig),
		CYCLES("16") "loglevel = TRACE_DEBUG_LINE (13), name = ints, " CPU3 FIRST_BARE "\n"
		CYCLES("17") "name = nest, " CPU3 NEST_BARE "\n"
		CYCLES("22") "name = <unknown>, " CPU3 "{ 1, { 2 }, 3 }\n");
	rig_close(&rig);
	options = (struct wmk_print_options){ .date = true, .names = WMK_PRINT_NAMES_ALL, .fields =
		WMK_PRINT_FIELD_HOSTNAME };
	rig_open(&rig, metadata, NULL, &options, NULL);
	rig_print(&rig, second, sizeof(second) - 1);
	assert_string_equal(rig_text(&rig),
		"timestamp = 2023-11-14 22:13:20.000000037, delta = +?.?????????, trace:hostname = ho\"st\\x, "
		"name = ctx, stream.packet.context = "
		"{ cpu_id = 1 }, stream.event.context = { vpid = -2 }, event.context = { k = 7 }\n"
		"timestamp = 2023-11-14 22:13:20.000000038, delta = +0.000000001, trace:hostname = ho\"st\\x, "
		"name = only_hidden, stream.packet.context = "
		"{ cpu_id = 1 }, stream.event.context = { vpid = -2 }, event.context = { }\n");
	rig_close(&rig);
}

static void lost_records_are_reported(void **state)
{
	struct wmk_print_loss loss = { .count = 3, .has_times = true, .begin = 24, .end = 40, .stream_name =
		"/t2/stream", .stream_id = 0 };
	struct rig rig;

	(void)state;
	rig_open(&rig, metadata, NULL, NULL, "ho\"st\\x");
	assert_int_equal(wmk_print_lost(rig.stream, &loss, &rig.out), 0);
	assert_string_equal(rig_text(&rig), "WARNING: Tracer discarded 3 events between [22:13:20.000000029] and "
		"[22:13:20.000000045] in trace \"ho\"st\\x\" "
		"(UUID: 01020304-0506-0708-090a-0b0c0d0e0f10) within stream \"/t2/stream\" (stream class ID: 0, "
		"stream ID: 0).\n");
	loss = (struct wmk_print_loss){ .is_packets = true, .count = 1, .has_times = true, .begin = 24, .end =
		32, .stream_name = "a\nb", .stream_id = -1 };
	assert_int_equal(wmk_print_lost(rig.stream, &loss, &rig.out), 0);
	assert_string_equal(rig_text(&rig), "WARNING: Tracer discarded 1 packet between [22:13:20.000000029] and "
		"[22:13:20.000000037] in trace \"ho\"st\\x\" "
		"(UUID: 01020304-0506-0708-090a-0b0c0d0e0f10) within stream \"a\\nb\" (stream class ID: 0, no "
		"stream ID).\n");
	loss = (struct wmk_print_loss){ .count = WMK_PRINT_LOST_UNKNOWN, .stream_id = 7 };
	rig.class->has_uuid = false;
	free(rig.trace->name);
	rig.trace->name = NULL;
	assert_int_equal(wmk_print_lost(rig.stream, &loss, &rig.out), 0);
	assert_string_equal(rig_text(&rig), "WARNING: Tracer may have discarded events (unknown time range) in "
		"trace \"(unknown)\" (no UUID) within stream \"(unknown)\" (stream class ID: 0, stream ID: 7).\n");
	rig_close(&rig);
}

/* ── time ────────────────────────────────────────────────────────────────────────────────────────────── */

static void zone(const char *name)
{
	setenv("TZ", name, 1);
	tzset();
}

/* Print a record without fields for each of `times`. */
static void check_times(const char *clock, const struct wmk_print_options *options, const uint64_t *times,
	unsigned n, const char *wanted)
{
	char text[800], bytes[64];
	struct rig rig;

	snprintf(text, sizeof(text), "trace { major = 1; minor = 8; byte_order = le; };\nclock { name = c; %s "
		"};\nstream { event.header := struct {\n"
		 "integer { size = 64; align = 8; map = clock.c.value; } timestamp; }; };\nevent { name = e; "
		 "};\n", clock);
	rig_open(&rig, text, NULL, options, NULL);
	for (unsigned i = 0; i < n; i++)
		for (unsigned j = 0; j < 8; j++)
			bytes[8 * i + j] = (char)(times[i] >> 8 * j);
	rig_print(&rig, bytes, (size_t)n * 8);
	assert_string_equal(rig_text(&rig), wanted);
	rig_close(&rig);
}

static void times_print_in_each_format(void **state)
{
	const struct wmk_print_options usual = WMK_PRINT_OPTIONS, seconds = { .clock = WMK_PRINT_SECONDS, .date =
		true }, date = { .date = true, .no_delta = true },
				       gmt = { .gmt = true }, cycles = { .clock = WMK_PRINT_CYCLES };
	const uint64_t zero_one[] = { 0, 1000000001, 3 }, change[] = { 1698541199, 1698541200 }, far[] = { 1,
		(uint64_t)INT64_MAX - 1, 5 };

	(void)state;
	check_times("freq = 1000000000; offset_s = 1700000000;", &seconds, zero_one, 3,
		    "[1700000000.000000000] (+?.????????\?) e: \n[1700000001.000000001] (+1.000000001) e: "
		    "\n[1700000000.000000003] (+18446744072.709551618) e: \n");
	check_times("freq = 1000000000; offset_s = 1700000000;", &date, zero_one, 2, "[2023-11-14 "
		"22:13:20.000000000] e: \n[2023-11-14 22:13:21.000000001] e: \n");
	check_times("freq = 1000000000;", &cycles, zero_one, 3,
		    "[00000000000000000000] (+???????????\?) e: \n[00000000001000000001] (+001000000001) e: "
		    "\n[00000000000000000003] (+18446744072709551618) e: \n");
	/* At the end of summer time, an hour is repeated. */
	zone("CET-1CEST,M3.5.0,M10.5.0/3");
	check_times("freq = 1;", &usual, change, 2, "[02:59:59.000000000] (+?.????????\?) e: "
		"\n[02:00:00.000000000] (+1.000000000) e: \n");
	check_times("freq = 1;", &gmt, change, 2, "[00:59:59.000000000] (+?.????????\?) e: \n[01:00:00.000000000] "
		"(+1.000000000) e: \n");
	zone("UTC0");
	/* A time that exceeds 64 bits is not printed, nor is a delta from it. */
	check_times("freq = 1000000000; offset_s = 1;", &usual, far, 3,
		    "[00:00:01.000000001] (+?.????????\?) e: \n[??:??:?\?.????????\?] (+?.????????\?) e: "
		    "\n[00:00:01.000000005] (+0.000000004) e: \n");
	check_times("freq = 1000000000; offset_s = 9223372036;", &usual, far, 1,
		    "[??:??:?\?.????????\?] (+?.????????\?) e: \n");
	/* Times before the origin. */
	check_times("freq = 1000000000; offset_s = -1;", &usual, zero_one, 3,
		    "[-1.000000000] (+?.????????\?) e: \n[00:00:00.000000001] (+1.000000001) e: \n[-0.999999997] "
		    "(+18446744072.709551618) e: \n");
}

/* A clock of a processor: the times that babeltrace2 prints for these values. */
static void times_are_rounded_as_in_babeltrace2(void **state)
{
	const struct wmk_print_options usual = WMK_PRINT_OPTIONS;
	const uint64_t times[] = { 4813327232169, 4813327249719, 4813327250499, 4813327251487, 4813327347817,
		4813327358919 };

	(void)state;
	check_times("freq = 2596122149; precision = 2941314; offset_s = 1795311344; offset = 698707124; absolute "
		"= TRUE;", &usual, times, 6,
		    "[02:06:38.314112741] (+?.????????\?) e: \n[02:06:38.314119501] (+0.000006760) e: "
		    "\n[02:06:38.314119801] (+0.000000300) e: \n"
		    "[02:06:38.314120182] (+0.000000381) e: \n[02:06:38.314157287] (+0.000037105) e: "
		    "\n[02:06:38.314161564] (+0.000004277) e: \n");
}

/* ── hostile and damaged input ─────────────────────────────────────────────────────────────────────────────── */

/*
 * If any byte of the contexts and payload is missing, the result is an error without text, and the time is unchanged.
 */
static void record_with_missing_bytes_is_an_error_and_prints_nothing(void **state)
{
	static const char bytes[] = PACKET("\3") INTS NEST;
	const struct wmk_ctf_bytes whole = { (const uint8_t *)bytes, 0, (sizeof(bytes) - 1) * 8 };
	struct wmk_ctf_record record;
	struct rig rig;
	uint64_t at;

	(void)state;
	rig_open(&rig, metadata, NULL, NULL, NULL);
	at = rig_packet(&rig, &whole, &record);
	assert_int_equal(wmk_ctf_record(rig.stream->class->decoder, &whole, at, &record), 0);
	assert_int_equal(wmk_print_record(rig.stream, &whole, &record, &rig.out), 0);
	assert_int_equal(wmk_ctf_record(rig.stream->class->decoder, &whole, record.end, &record), 0);
	const struct wmk_print_last last = rig.print->last;
	const size_t len = rig.out.len;
	char *before = strndup(rig.out.text, len);

	for (uint64_t end = record.common_at / 8; end < sizeof(bytes) - 1; end++) {
		uint8_t *cut = malloc(end);
		const struct wmk_ctf_bytes in = { cut, 0, end * 8 };

		memcpy(cut, bytes, end);
		assert_int_equal(wmk_print_record(rig.stream, &in, &record, &rig.out), -ENODATA);
		assert_non_null(strstr(wmk_error_get(0), "cannot print a record of 'nest'"));
		wmk_error_clear();
		assert_int_equal(rig.out.len, len);
		assert_memory_equal(rig.out.text, before, len);
		assert_memory_equal(&rig.print->last, &last, sizeof(last));
		free(cut);
	}
	/* The complete record can still be printed, even twice. */
	assert_int_equal(wmk_print_record(rig.stream, &whole, &record, &rig.out), 0);
	const size_t line = rig.out.len - len;

	assert_int_equal(wmk_print_record(rig.stream, &whole, &record, &rig.out), 0);
	assert_int_equal(rig.out.len, len + 2 * line);
	assert_memory_equal(rig.out.text + len + 60, rig.out.text + len + line + 60, line - 60);
	free(before);
	rig_close(&rig);
}

/* The length of a line is limited: here thousands of bytes with thousands of labels each. */
static void too_long_line_is_an_error(void **state)
{
	static const char begin[] = "e: { many = [ [0] = ( \"\\\"0\", \"\\\"2\", \"\\\"4\", ";
	const unsigned n_labels = 3000, n_bytes = 2000;
	char *text = malloc(200 + 40 * n_labels), *p = text, *bytes = calloc(1, n_bytes);
	const struct wmk_ctf_bytes in = { (const uint8_t *)bytes, 0, n_bytes * 8 };
	struct wmk_ctf_record record;
	struct rig rig;
	int err;

	(void)state;
	p += sprintf(p, "trace { major = 1; minor = 8; byte_order = le; };\nstream { };\nevent { name = e; fields "
		":= struct { enum : integer { size = 8; } {");
	for (unsigned i = 0; i < n_labels; i++)
		p += sprintf(p, "%s \"\\\"%u\" = %u ... 255", i ? "," : "", i, i % 2);
	sprintf(p, " } many[%u]; }; };\n", n_bytes);
	rig_open(&rig, text, NULL, NULL, NULL);
	rig.out.max = 1 << 20;
	assert_int_equal(rig_packet(&rig, &in, &record), 0);
	assert_int_equal(wmk_ctf_record(rig.stream->class->decoder, &in, 0, &record), 0);
	err = wmk_print_record(rig.stream, &in, &record, &rig.out);
	assert_int_equal(err, -E2BIG);
	assert_int_equal(rig.out.len, 0);
	assert_true(rig.out.cap <= 2 << 20);
	wmk_error_clear();
	rig.out.max = 0;
	assert_int_equal(wmk_print_record(rig.stream, &in, &record, &rig.out), 0);
	assert_int_equal(strncmp(rig.out.text, begin, strlen(begin)), 0);
	rig_close(&rig);
	free(text);
	free(bytes);
}

static void control_characters_in_printed_names_are_escaped(void **state)
{
	static const char text[] = "trace { major = 1; minor = 8; byte_order = le; };\nenv { hostname = 7; vpid = "
		"\"x\\n\"; procname = \"\\033[2J\"; };\n"
		"stream { };\nevent { name = \"e\\n[00:00:00.000000000] f\"; loglevel = 99; fields := struct { "
		"enum : integer { size = 8; } { \"a\\nb\\001\" } x; }; };\n";
	struct wmk_print_options options = WMK_PRINT_OPTIONS;
	struct rig rig;

	(void)state;
	rig_open(&rig, text, NULL, NULL, NULL);
	rig_print(&rig, "\0", 1);
	assert_string_equal(rig_text(&rig), "7:\\e[2J:(x\\n) e\\n[00:00:00.000000000] f: { x = ( \"a\\nb\\x01\" : "
		"container = 0 ) }\n");
	rig_close(&rig);
	/* Without a time, with all names. */
	options.names = WMK_PRINT_NAMES_ALL;
	options.fields = WMK_PRINT_FIELDS_ALL;
	rig_open(&rig, text, NULL, &options, "a\rb");
	rig_print(&rig, "\1", 1);
	assert_string_equal(rig_text(&rig), "trace = a\\rb, trace:hostname = 7trace:procname = \\e[2Jtrace:vpid = "
		"(x\\n)name = e\\n[00:00:00.000000000] f, event.fields = { x = ( <unknown> : container = 1 ) }\n");
	rig_close(&rig);
}

/* ── types of CTF 2 only ─────────────────────────────────────────────────────────────────────────────── */

#define MEMBERS(array) .count = WMK_ARRAY_LEN(array), .members = array

static void types_of_ctf2_are_printed(void **state)
{
	static const char *const by_b[] = { "b" }, *const by_c[] = { "c" };
	static const struct wmk_ref ref_b = { .scope = WMK_SCOPE_PAYLOAD, .n = 1, .names = by_b },
				    ref_c = { .scope = WMK_SCOPE_PAYLOAD, .n = 1, .names = by_c };
	static const struct wmk_type u8 = { .kind = WMK_TYPE_INT, .width = 8, .base = 10 }, none = { .kind =
		WMK_TYPE_OPTIONAL, .elem = &u8, .ref = &ref_c };
	static const struct wmk_field members[] = {
		{ .name = "b", .type = { .kind = WMK_TYPE_BOOL, .width = 8 } },
		{ .name = "c", .type = { .kind = WMK_TYPE_BOOL, .width = 8 } },
		{ .name = "fl", .type = { .kind = WMK_TYPE_FLAGS, .width = 16 } },
		{ .name = "some", .type = { .kind = WMK_TYPE_OPTIONAL, .elem = &u8, .ref = &ref_b } },
		{ .name = "gone", .type = { .kind = WMK_TYPE_OPTIONAL, .elem = &u8, .ref = &ref_c } },
		{ .name = "inner", .type = { .kind = WMK_TYPE_OPTIONAL, .elem = &none, .ref = &ref_b } },
		{ .name = "list", .type = { .kind = WMK_TYPE_ARRAY, .count = 2, .elem = &none } },
		{ .name = "raw", .type = { .kind = WMK_TYPE_BLOB, .count = 2 } },
		{ .name = "empty", .type = { .kind = WMK_TYPE_BLOB } },
		{ .name = "wide", .type = { .kind = WMK_TYPE_STRING, .encoding = WMK_ENCODING_UTF16LE } },
		{ .name = "four", .type = { .kind = WMK_TYPE_ARRAY, .count = 8, .elem = &u8, .is_text = 1,
			.encoding = WMK_ENCODING_UTF32BE } },
		{ .name = "var", .type = { .kind = WMK_TYPE_INT, .is_variable = 1, .is_signed = 1, .base = 16 } },
		{ .name = "\n_a", .type = { .kind = WMK_TYPE_INT, .width = 8, .base = 10 } },
	};
	static const struct wmk_field header_members[] = { { .name = "id", .type = { .kind = WMK_TYPE_INT, .width
		= 8, .roles = WMK_ROLE_BIT(WMK_ROLE_EVENT_CLASS) } } };
	static const struct wmk_type payload = { .kind = WMK_TYPE_STRUCT, MEMBERS(members) }, header = { .kind =
		WMK_TYPE_STRUCT, MEMBERS(header_members) };
	static struct wmk_ctf_stream_class stream = { .event_header = &header, .n_events = 1 };
	static const struct wmk_ctf_event_class event = { .stream = &stream, .name = "e", .level = -1, .payload =
		&payload };
	static const struct wmk_ctf_event_class *const events[] = { &event };
	static const struct wmk_ctf_stream_class *const streams[] = { &stream };
	static const struct wmk_ctf_class class = { .major = 2, .order = WMK_ORDER_LITTLE, .streams = streams,
		.n_streams = 1 };
	static const char bytes[] = "\0" "\1\0" "\xf2\x01" "\7" "\x0f\xa0" "a\0\xe9\0\0\0" "\0\0\0\"\0\0\0\0"
		"\xac\x7e" "\1";
	struct rig rig;

	(void)state;
	stream.events = events;
	rig_open(&rig, NULL, &class, NULL, NULL);
	rig_print(&rig, bytes, sizeof(bytes) - 1);
	assert_string_equal(rig_text(&rig), "e: { b = true, c = false, fl = 0x1F2, some = { 7 }, gone = <none>, "
		"inner = { <none> }, list = [ [0] = <none>, [1] = <none> ], "
		"raw = { 0f a0 }, empty = { }, wide = \"a\xc3\xa9\", four = \"\\\"\", var = 0xFFFFFFFFFFFFFF2C, "
		"\\n_a = 1 }\n");
	rig_close(&rig);
}

/* Fields of one type share its formatted labels, which may be many and long. */
static void labels_of_a_shared_type_are_formatted_once(void **state)
{
	static const struct wmk_label some[] = { { .name = "A", .from = 1, .to = 1 } }, others[] = { { .name =
		"A", .from = 1, .to = 1 } };
	const struct wmk_type one = { .kind = WMK_TYPE_ENUM, .width = 8, .count = 1, .labels = some }, again = one;
	const struct wmk_type other = { .kind = WMK_TYPE_ENUM, .width = 8, .count = 1, .labels = others };
	struct wmk_read_table table = { .n = 0 };
	const struct wmk_print_labels *made[4];

	(void)state;
	assert_int_equal(wmk_print_labels_of(&table, &one, false, false, &made[0]), 0);
	assert_int_equal(wmk_print_labels_of(&table, &again, false, false, &made[1]), 0);
	assert_int_equal(wmk_print_labels_of(&table, &one, true, false, &made[2]), 0);
	assert_int_equal(wmk_print_labels_of(&table, &other, false, false, &made[3]), 0);
	assert_ptr_equal(made[0], made[1]);
	assert_ptr_not_equal(made[0], made[2]);
	assert_ptr_not_equal(made[0], made[3]);
	wmk_print_labels_free(&table);
}

/* The longest run of used slots: the maximum number of probes of a search. */
static unsigned longest_run(const struct wmk_read_table *table)
{
	unsigned longest = 0, length = 0;

	for (size_t i = 0; i < table->cap; i++) {
		const struct wmk_read_slot *slot = (const void *)(table->slots + i * table->size);

		length = slot->is_used ? length + 1 : 0;
		longest = length > longest ? length : longest;
	}
	return longest;
}

/* The number of probes stays small with many enumerations. */
static void label_cache_finds_many_enumerations_in_few_probes(void **state)
{
	static struct wmk_label labels[100000];
	const unsigned n = WMK_ARRAY_LEN(labels);
	struct wmk_read_table table = { .n = 0 };
	const struct wmk_print_labels **made = calloc(n, sizeof(struct wmk_print_labels *)), *again;

	(void)state;
	for (unsigned i = 0; i < n; i++) {
		const struct wmk_type type = { .kind = WMK_TYPE_ENUM, .width = 8, .count = 1, .labels = &labels[i] };

		assert_int_equal(wmk_print_labels_of(&table, &type, false, false, &made[i]), 0);
	}
	for (unsigned i = 0; i < n; i++) {
		const struct wmk_type type = { .kind = WMK_TYPE_ENUM, .width = 8, .count = 1, .labels = &labels[i] };

		assert_int_equal(wmk_print_labels_of(&table, &type, false, false, &again), 0);
		assert_ptr_equal(again, made[i]);
	}
	assert_int_equal(table.n, n);
	assert_true(longest_run(&table) <= 200);
	free(made);
	wmk_print_labels_free(&table);
}

static void print_options_are_parsed(void **state)
{
	uint8_t bits;

	(void)state;
	assert_int_equal(wmk_print_names("all", &bits), 0);
	assert_int_equal(bits, WMK_PRINT_NAMES_ALL);
	assert_int_equal(wmk_print_names("none", &bits), 0);
	assert_int_equal(bits, 0);
	assert_int_equal(wmk_print_names("args,ctx", &bits), 0);
	assert_int_equal(bits, WMK_PRINT_NAMES_DEFAULT);
	assert_int_equal(wmk_print_fields("trace:hostname,trace:procname,trace:vpid", &bits), 0);
	assert_int_equal(bits, WMK_PRINT_FIELDS_DEFAULT);
	assert_int_equal(wmk_print_fields("trace:domain,trace,loglevel,emf", &bits), 0);
	assert_int_equal(bits, WMK_PRINT_FIELDS_ALL & ~WMK_PRINT_FIELDS_DEFAULT);
	assert_int_equal(wmk_print_fields("hostname", &bits), -EINVAL);
	assert_string_equal(wmk_error_get(0), "unknown word \"hostname\" in the list of fields: the words are trace, "
		"trace:hostname, trace:domain, trace:procname, trace:vpid, loglevel, emf, all, none");
	assert_int_equal(wmk_print_names("", &bits), -EINVAL);
	assert_int_equal(wmk_print_names("scope,", &bits), -EINVAL);
	assert_int_equal(wmk_print_names("scopes", &bits), -EINVAL);
	wmk_error_clear();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(printed_records_equal_those_of_babeltrace2),
		cmocka_unit_test(printed_scope_names_equal_those_of_babeltrace2),
		cmocka_unit_test(printed_header_names_equal_those_of_babeltrace2),
		cmocka_unit_test(lost_records_are_reported),
		cmocka_unit_test(times_print_in_each_format),
		cmocka_unit_test(times_are_rounded_as_in_babeltrace2),
		cmocka_unit_test(record_with_missing_bytes_is_an_error_and_prints_nothing),
		cmocka_unit_test(too_long_line_is_an_error),
		cmocka_unit_test(control_characters_in_printed_names_are_escaped),
		cmocka_unit_test(types_of_ctf2_are_printed),
		cmocka_unit_test(labels_of_a_shared_type_are_formatted_once),
		cmocka_unit_test(label_cache_finds_many_enumerations_in_few_probes),
		cmocka_unit_test(print_options_are_parsed),
	};

	zone("UTC0");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
