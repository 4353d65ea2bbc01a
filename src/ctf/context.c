/* SPDX-License-Identifier: MIT */
/*
 * context.c - the contexts that a record can carry: number, name, type. To add one, add a line here and the code that
 * fetches it to the tracer's table; their numbers are the wire's (enum wmk_context).
 */
#include <string.h>

#include "ctf/writer.h"

#define INT_TYPE(bits, sign, in_base) { .kind = WMK_TYPE_INT, .width = (bits), .is_signed = (sign), .base = (in_base) }

static const struct wmk_type char_type = INT_TYPE(8, 0, 10);

static const struct wmk_ctf_context contexts[] = {
	{ 1, "process id, as the process sees it", { .name = "vpid", .type = INT_TYPE(32, 1, 10) } },
	{ 2, "thread id, as the process sees it", { .name = "vtid", .type = INT_TYPE(32, 1, 10) } },
	{ 3, "name of the thread (comm)",
	  { .name = "procname", .type = { .kind = WMK_TYPE_ARRAY, .is_text = 1, .count = 16, .elem = &char_type } } },
	{ 4, "CPU on which the record was made", { .name = "cpu_id", .type = INT_TYPE(32, 1, 10) } },
	{ 5, "pthread_self() of the thread", { .name = "pthread_id", .type = INT_TYPE(64, 0, 16) } },
	{ 6, "address of the trace point", { .name = "ip", .type = INT_TYPE(64, 0, 16) } },
};

const struct wmk_ctf_context *wmk_ctf_context(unsigned number)
{
	for (size_t i = 0; i < sizeof(contexts) / sizeof(contexts[0]); i++)
		if (contexts[i].number == number)
			return &contexts[i];
	return NULL;
}

const struct wmk_ctf_context *wmk_ctf_context_find(const char *name)
{
	for (size_t i = 0; i < sizeof(contexts) / sizeof(contexts[0]); i++)
		if (strcmp(contexts[i].field.name, name) == 0)
			return &contexts[i];
	return NULL;
}
