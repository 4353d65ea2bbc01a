/* SPDX-License-Identifier: MIT */
/*
 * fuzz_format.c - any text as a format and as the text of an argument: the resulting class can be encoded and decoded.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "schema/format.h"
#include "schema/schema.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void declare(const struct waymark_desc *desc)
{
	struct wmk_event_class *event, *again;
	size_t need = 0;

	if (wmk_event_from_desc(desc, &event) < 0)
		return;
	wmk_event_encode(event, NULL, 0, &need);
	void *bytes = malloc(need);
	if (!bytes || wmk_event_encode(event, bytes, need, NULL) != (long)need ||
	    wmk_event_decode(bytes, need, &again) != 0)
		abort();
	if (!wmk_event_same(event, again))
		abort();
	free(bytes);
	wmk_event_class_free(event);
	wmk_event_class_free(again);
}

static uint8_t staged(const struct wmk_format_arg *arg)
{
	static const uint8_t types[] = { WAYMARK_T_S32, WAYMARK_T_DOUBLE, WAYMARK_T_STRING, WAYMARK_T_POINTER };

	return types[arg->class];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wmk_format_arg *args = malloc(WAYMARK_MAX_FIELDS * sizeof(*args));
	uint8_t types[WAYMARK_MAX_FIELDS];
	char *text = malloc(size + 1);
	struct waymark_desc desc = {
		.size = sizeof(desc), .version = WAYMARK_ABI_VERSION, .provider = "p", .name = "n"
	};

	if (!args || !text)
		abort();
	memcpy(text, data, size);
	text[size] = '\0';
	int n = wmk_format_parse(text, args, WAYMARK_MAX_FIELDS);
	for (int i = 0; i < n; i++)
		types[i] = staged(&args[i]);
	desc.text = text;
	desc.arg_types = types;
	desc.n_fields = n > 0 ? (uint32_t)n : 0;
	desc.kind = WAYMARK_KIND_MARKER;
	declare(&desc);
	desc.kind = WAYMARK_KIND_TEXT;
	desc.name = NULL;
	desc.file = text;
	declare(&desc);

	const struct waymark_field fields[] = { { .type = WAYMARK_T_S32, .name = text },
						{ .type = WAYMARK_T_STRING, .name = text } };
	const struct waymark_desc event = {
		.size = sizeof(desc), .provider = "p", .name = "n", .n_fields = 2, .fields = fields
	};
	declare(&event);
	free(args);
	free(text);
	return 0;
}
