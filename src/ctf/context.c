/* SPDX-License-Identifier: MIT */
/*
 * context.c - the contexts that a record can have (schema/contexts.def), as fields of a trace.
 */
#include <string.h>

#include "base/array.h"
#include "ctf/writer.h"

#define INT_TYPE(bits, sign, in_base) { .kind = WMK_TYPE_INT, .width = (bits), .is_signed = (sign), .base = (in_base) }

static const struct wmk_type char_type = INT_TYPE(8, 0, 10);

#define TYPE_S32 INT_TYPE(32, 1, 10)
#define TYPE_U8 INT_TYPE(8, 0, 10)
#define TYPE_U32 INT_TYPE(32, 0, 10)
#define TYPE_HEX64 INT_TYPE(64, 0, 16)
#define TYPE_TEXT16 { .kind = WMK_TYPE_ARRAY, .is_text = 1, .count = 16, .elem = &char_type }

static const struct wmk_ctf_context contexts[] = {
#define WMK_CONTEXT(identifier, number_, name_, domains_, type_, help_) \
	{ .number = (number_), .domains = (domains_), .help = (help_), \
	  .field = { .name = (name_), .type = TYPE_##type_ } },
#include "schema/contexts.def"
};

const struct wmk_ctf_context *wmk_ctf_context_next(unsigned domains, const struct wmk_ctf_context *before)
{
	for (size_t i = before ? (size_t)(before - contexts) + 1 : 0; i < WMK_ARRAY_LEN(contexts); i++)
		if (contexts[i].domains & domains)
			return &contexts[i];
	return NULL;
}

const struct wmk_ctf_context *wmk_ctf_context(unsigned number)
{
	for (size_t i = 0; i < WMK_ARRAY_LEN(contexts); i++)
		if (contexts[i].number == number)
			return &contexts[i];
	return NULL;
}

const struct wmk_ctf_context *wmk_ctf_context_find(const char *name)
{
	for (size_t i = 0; i < WMK_ARRAY_LEN(contexts); i++)
		if (strcmp(contexts[i].field.name, name) == 0)
			return &contexts[i];
	return NULL;
}
