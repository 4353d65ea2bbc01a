/* SPDX-License-Identifier: MIT */
/*
 * fuzz_filter.c - an arbitrary text as a filter of a kernel event, arbitrary bytes as its record. The text for the
 * kernel is valid and rejects no wanted record; together with the consumer's program it decides as the filter does.
 * Also arbitrary bytes as the consumer's program.
 *
 * The first byte is the event, the second the CPU; then follow the record, the thread's name, and the text.
 */
#include "kernel/t/filter_rig.h"

#define HEAD (2u + RIG_RECORD + 16u)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void as_program(const struct rig *rig, const struct rig_moment *moment, const uint8_t *bytes, size_t len)
{
	struct wmk_kfilter_made made = { .program = malloc(len + 1), .len = (uint32_t)len };
	struct wmk_kfilter *filter;

	rig_must(made.program != NULL, "no memory", "");
	memcpy(made.program, bytes, len);
	if (wmk_kfilter_open(rig->event->class, rig_contexts, 2, made.program, made.len, &filter) == 0) {
		wmk_kfilter_close(filter);
		rig_program_wants(rig, moment, &made);
	}
	wmk_kfilter_made_free(&made);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wmk_filter_expr *expr;
	struct rig_filters made;
	struct rig_moment moment;

	if (size < HEAD)
		return 0;
	const struct rig *rig = rig_of(data[0] % RIG_EVENTS);
	const size_t len = size - HEAD;
	char *text = malloc(len + 1);

	rig_must(text != NULL, "no memory", "");
	moment.cpu = data[1];
	memcpy(moment.record, data + 2, RIG_RECORD);
	memcpy(moment.comm, data + 2 + RIG_RECORD, sizeof(moment.comm));
	rig_tame(rig, &moment);
	memcpy(text, data + HEAD, len);
	text[len] = '\0';
	if (wmk_filter_parse(text, &expr) == 0) {
		if (rig_make(rig, (const struct wmk_filter_expr *const *)&expr, 1, &made) == 0) {
			rig_agree(&made, &moment, text);
			rig_filters_free(&made);
		}
		wmk_filter_expr_free(expr);
	}
	wmk_error_clear();
	as_program(rig, &moment, data + HEAD, len);
	wmk_error_clear();
	free(text);
	return 0;
}
