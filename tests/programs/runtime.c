/* SPDX-License-Identifier: MIT */
/*
 * runtime.c - events that are declared at run time, with fields of every type.
 *
 *     runtime N      N records of script:all with values computed from their number; then one more event,
 *                    registered late
 *     runtime many N N events many:event_<i> with one field, one record of each
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <waymark/runtime.h>
#include "ledger.h"

#define FIELD(t, n, ...) { .type = WAYMARK_T_##t, .name = n, __VA_ARGS__ }

static const struct waymark_label colours[] = { { "RED", 0, 0 }, { "GREEN", 1, 1 }, { "OTHER", 2, 9 } };
static const struct waymark_labels colour = { "colour", 3, 0, colours };

static const struct waymark_field fields[] = {
	FIELD(S8, "s8", .flags = WAYMARK_F_NAMED), FIELD(U8, "u8", .flags = WAYMARK_F_NAMED),
	FIELD(S16, "s16", .flags = WAYMARK_F_NAMED), FIELD(U16, "u16", .flags = WAYMARK_F_NAMED),
	FIELD(S32, "s32", .flags = WAYMARK_F_NAMED), FIELD(U32, "u32", .flags = WAYMARK_F_NAMED),
	FIELD(S64, "s64", .flags = WAYMARK_F_NAMED), FIELD(U64, "u64", .flags = WAYMARK_F_NAMED),
	FIELD(BOOL, "yes", .flags = WAYMARK_F_NAMED), FIELD(FLOAT, "f32", .flags = WAYMARK_F_NAMED),
	FIELD(DOUBLE, "f64", .flags = WAYMARK_F_NAMED), FIELD(POINTER, "pointer", .flags = WAYMARK_F_NAMED),
	FIELD(STRING, "string", .flags = WAYMARK_F_NAMED), FIELD(TEXT, "text", .flags = WAYMARK_F_NAMED),
	FIELD(BYTES, "bytes", .flags = WAYMARK_F_NAMED),
	FIELD(SEQ, "seq", .elem = WAYMARK_T_S32, .flags = WAYMARK_F_NAMED),
	FIELD(ARRAY, "array", .elem = WAYMARK_T_U16, .count = 3, .flags = WAYMARK_F_NAMED),
	FIELD(ENUM, "colour", .elem = WAYMARK_T_U8, .labels = &colour, .flags = WAYMARK_F_NAMED),
	FIELD(U32, "hex", .flags = WAYMARK_F_NAMED | WAYMARK_F_HEX),
	FIELD(U16, "port", .flags = WAYMARK_F_NAMED | WAYMARK_F_BE),
};

#define N_FIELDS (sizeof(fields) / sizeof(fields[0]))

static void fill(union waymark_value *v, uint64_t i, int32_t *seq, uint16_t *array, char *text)
{
	uint16_t port = (uint16_t)(i * 257);
	uint8_t wire[2] = { (uint8_t)(port >> 8), (uint8_t)port };
	memset(v, 0, sizeof(*v) * N_FIELDS);
	v[0].s64 = (int8_t) - (int)(i % 128), v[1].u64 = i % 256, v[2].s64 = (int16_t) - (int)(i % 32768),
	v[3].u64 = i % 65536;
	v[4].s64 = -(int64_t)i, v[5].u64 = 0xffffffffu - i, v[6].s64 = INT64_MIN + (int64_t)i,
	v[7].u64 = UINT64_MAX - i;
	v[8].u64 = i % 2, v[9].f32 = (float)i / 4, v[10].f64 = (double)i / 8;
	v[11].pointer = (const void *)(uintptr_t)(0x7000000000ull + i);
	for (uint64_t k = 0; k < 8; k++)
		text[k] = (char)('a' + (i + k) % 26), seq[k] = (int32_t)(i * k) - 5, array[k] = (uint16_t)(i + k);
	text[i % 8] = 0;
	v[12].ref.base = text, v[12].ref.len = SIZE_MAX;
	v[13].ref.base = "0123456789", v[13].ref.len = i % 11;
	v[14].ref.base = array, v[14].ref.len = i % 5;
	v[15].ref.base = seq, v[15].ref.len = i % 8 * sizeof(*seq);
	v[16].ref.base = array;
	v[17].u64 = i % 10, v[18].u64 = i * 16;
	memcpy(&v[19].u64, wire, sizeof(wire));
}

static int many_events(uint64_t n)
{
	char name[64];
	struct waymark_schema schema = { .size = sizeof(schema),
					 .provider = "many",
					 .name = name,
					 .level = WAYMARK_LEVEL_INFO,
					 .fields = fields + 5,
					 .n_fields = 1 };
	for (uint64_t i = 0; i < n; i++) {
		union waymark_value value = { .u64 = i };
		snprintf(name, sizeof(name), "event_%llu", (unsigned long long)i);
		struct waymark_event *event = waymark_event_register(&schema);
		for (int k = 0; k < 10000 && event && !waymark_event_enabled(event); k++)
			usleep(100);
		if (!event || waymark_event_record(event, &value, 1))
			return 3;
	}
	return 0;
}

/* Event kinds for display: a counter, an invalid kind, and a caller's older structure without kinds. */
static int kinds(void)
{
	static const struct waymark_field number = { .type = WAYMARK_T_DOUBLE,
						     .flags = WAYMARK_F_NAMED,
						     .name = "value" },
					  text = { .type = WAYMARK_T_STRING,
						   .flags = WAYMARK_F_NAMED,
						   .name = "value" };
	struct waymark_schema schema = { .size = sizeof(schema),
					 .provider = "script",
					 .name = "level",
					 .fields = &number,
					 .n_fields = 1,
					 .kind = WAYMARK_KIND_COUNTER };
	const union waymark_value value = { .f64 = 2.5 };
	struct waymark_event *counter = waymark_event_register(&schema), *old;

	if (!counter)
		return 9;
	for (int i = 0; i < 3000 && !waymark_event_enabled(counter); i++)
		usleep(1000);
	waymark_event_record(counter, &value, 1);
	waymark_event_unregister(counter);
	schema.fields = &text;
	if (waymark_event_register(&schema) || errno != EINVAL)
		return 10;
	schema.kind = WAYMARK_KIND_GUARD;
	if (waymark_event_register(&schema) || errno != EINVAL)
		return 11;
	schema.kind = WAYMARK_KIND_TEXT;
	if (waymark_event_register(&schema) || errno != EINVAL)
		return 12;
	schema.size = offsetof(struct waymark_schema, kind);     /* the rest is ignored */
	old = waymark_event_register(&schema);
	if (!old)
		return 13;
	waymark_event_unregister(old);
	schema.size--;
	if (waymark_event_register(&schema) || errno != EINVAL)
		return 14;
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 2 && !strcmp(argv[1], "many"))
		return many_events(strtoull(argv[2], NULL, 10));
	uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
	static struct waymark_schema schema = { .size = sizeof(schema), .provider = "script", .name = "all",
		.level = WAYMARK_LEVEL_INFO, .fields = fields, .n_fields = N_FIELDS };
	union waymark_value v[N_FIELDS];
	int32_t seq[8];
	uint16_t array[8];
	char text[9] = "";
	struct waymark_event *event = waymark_event_register(&schema);
	ledger_map();
	uint32_t w = writer_new();
	if (!event)
		return 3;
	for (int i = 0; i < 3000 && !waymark_event_enabled(event); i++)
		usleep(1000);
	for (uint64_t i = 0; i < n; i++) {
		fill(v, i, seq, array, text);
		uint64_t number = writer_begin(w);
		if (waymark_event_record(event, v, N_FIELDS))
			return 4;
		writer_end(w, number);
	}
	if (waymark_event_record(event, v, N_FIELDS - 1) != -EINVAL || waymark_event_record(NULL, v, 0) != -EINVAL)
		return 5;
	schema.n_fields = WAYMARK_MAX_FIELDS + 1;
	if (waymark_event_register(&schema) || errno != E2BIG)
		return 6;
	schema.n_fields = 1;
	schema.name = "two words";
	if (waymark_event_register(&schema) || errno != EINVAL)
		return 7;
	schema.name = "late";
	struct waymark_event *late = waymark_event_register(&schema);
	for (int i = 0; i < 3000 && !waymark_event_enabled(late); i++)
		usleep(1000);
	if (!late || waymark_event_record(late, v, 1))
		return 8;
	waymark_event_unregister(late);
	waymark_event_unregister(event);
	return kinds();
}
