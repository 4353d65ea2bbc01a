/* SPDX-License-Identifier: MIT */
/*
 * types.h - every kind of declaration and every type of field, in the language that includes it (types.c,
 * types_cxx.cc).
 *
 *     types N      N rounds; the values are computed from the number of the round
 */
#include <arpa/inet.h>
#include <string.h>
#include "ledger.h"

WAYMARK_LABELS(colour, (RED, 0), (GREEN, 1), (OTHER, 2, 9));
WAYMARK_LABELS(mode, (READ, 1), (WRITE, 2), (EXECUTE, 4));

struct task {
	int tid;
	char comm[16];
};

WAYMARK_EVENT(sched, switch, (struct task *prev, struct task *next),
	      wm_field(int, prev_tid, prev->tid), wm_field(int, next_tid, next->tid), wm_named("comm",
		      (const char *)next->comm));

static int evaluated;

static int costly(int v)
{
	evaluated++;
	return v;
}

static void record_all(uint64_t i)
{
	int8_t s8 = (int8_t)-(int)(i % 128);
	uint8_t u8 = (uint8_t)i;
	int16_t s16 = (int16_t)-(int)(i % 32768);
	uint16_t u16 = (uint16_t)i;
	int32_t s32 = -(int32_t)i;
	uint32_t u32 = 0xffffffffu - (uint32_t)i;
	int64_t s64 = INT64_MIN + (int64_t)i;
	uint64_t u64 = UINT64_MAX - i;
	bool yes = i % 2;
	float f32 = (float)i / 4;
	double f64 = (double)i / 8;
	void *pointer = (void *)(uintptr_t)(0x7000000000ull + i);
	char character = 'a';
	long l = (long)i * -3;
	unsigned long long ull = i * 5;
	waymark(types, scalars, s8, u8, s16, u16, s32, u32, s64, u64, yes, f32, f64, pointer, character, l, ull);

	char text[9];
	const char *string = text, *nothing = NULL;
	for (uint64_t k = 0; k < 8; k++)
		text[k] = (char)('a' + (i + k) % 26);
	text[i % 8] = 0;
	unsigned char bytes[5] = { 1, 2, 3, 4, (unsigned char)i };
	int32_t numbers[4] = { 1, -2, 3, (int32_t)i };
	uint16_t fixed[3] = { 7, 8, (uint16_t)i };
	double halves[2] = { 0.5, (double)i };
	int after = 4711;
	waymark(types, refs, string, nothing, wm_named("text", wm_text("0123456789", i % 11)), wm_named("blob",
		wm_bytes(bytes, i % 6)),
		wm_named("seq", wm_seq(numbers, i % 5)), wm_named("fixed", wm_array(fixed, 3)), wm_named("halves",
			wm_array(halves, 2)),
		after);

	waymark(types, arrays, numbers, bytes, wm_named("pair", halves), after);

	uint16_t port = htons((uint16_t)(i * 257));
	uint32_t address = htonl(0x7f000001u + (uint32_t)i);
	int which = (int)(i % 10);
	unsigned bits = (unsigned)(i % 8);
	waymark(types, wrapped, wm_hex(u32), wm_oct(u16), wm_net(port), wm_named("peer", wm_net(address)),
		wm_enum(colour, which),
		wm_flags(mode, bits), wm_named("renamed", s32), wm_level(WARNING));

	struct task one, *two = &one;
	one.tid = (int)i;
	strcpy(one.comm, "worker");
	waymark(types, names, one.tid, two->tid, i + 1, one.tid);
	waymark_sched_switch(&one, two);
	waymark_mark(plain, "count %d name %s ratio %f big %llx", (int)i, string, (double)i / 2,
		     (unsigned long long)i << 33);
	waymark_logf(INFO, "%s has %d items", string, (int)i);
	waymark(types, nothing_at_all);
	waymark(types, once, wm_named("value", costly((int)i)));
	if (wm_enabled(types, scalars))
		ledger->flag[1]++;
	if (wm_enabled(types, no_such_event))
		ledger->flag[2]++;
}

static void record_many_fields(void)
{
	int a = 1;
	waymark(types, many, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a,
		a, a);
}

static int types_main(int argc, char **argv)
{
	uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
	ledger_map();
	for (uint64_t i = 0; i < n; i++)
		record_all(i);
	record_many_fields();
	ledger->flag[0] = (uint64_t)evaluated;
	return 0;
}
