/* SPDX-License-Identifier: MIT */
/*
 * callstacks.c - call stacks of records as folded stacks (see callstacks.h).
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "read/callstacks.h"

static void add(struct wmk_read_callstacks *callstacks, const char *text)
{
	if (callstacks->n_frames < WMK_READ_CALLSTACK_MAX)
		snprintf(callstacks->frames[callstacks->n_frames++], sizeof(*callstacks->frames), "%s", text);
}

/* A call stack lists the innermost function first. An unknown function is shown as its address. */
static void add_field(struct wmk_read_callstacks *callstacks, const char *field,
		      const struct wmk_read_addresses *addresses, int64_t pid, int64_t ns)
{
	const struct wmk_read_symbolizer *symbolizer = callstacks->symbolizer;
	struct wmk_read_frame found[WMK_READ_FRAMES_MAX];
	char text[32];

	for (unsigned i = 0; i < addresses->n; i++) {
		const struct wmk_read_address *is = &addresses->items[i];
		unsigned n;

		if (strcmp(is->field, field) != 0)
			continue;
		n = symbolizer->find(symbolizer->data, pid, ns, is->value - is->is_return, found, WMK_READ_FRAMES_MAX);
		for (unsigned f = 0; f < n; f++)
			add(callstacks, found[f].function);
		snprintf(text, sizeof(text), "0x%" PRIx64, is->value);
		if (!n)
			add(callstacks, text);
	}
}

int wmk_read_callstacks_add(struct wmk_read_callstacks *callstacks, struct wmk_read_stream *stream)
{
	struct wmk_read_thread_id who = { .cpu = WMK_READ_NOWHERE };
	struct wmk_read_addresses addresses;
	const char *stack[WMK_READ_CALLSTACK_MAX + 2];
	char number[32];
	unsigned n = 0;
	int err = wmk_read_addresses(stream, &addresses);

	if (err >= 0 && addresses.n)
		err = wmk_read_thread_id_of_record(&who, stream);
	if (err < 0)
		return err;
	callstacks->n_frames = 0;
	/* (the kernel is called by the user's functions) */
	add_field(callstacks, "callstack_kernel", &addresses, -1, stream->ns);
	add_field(callstacks, "callstack_user", &addresses, who.has_pid ? who.pid : -1, stream->ns);
	if (!callstacks->n_frames)
		return 0;
	snprintf(number, sizeof(number), "%" PRId64, who.pid);
	stack[n++] = *who.name ? who.name : who.has_pid ? number : "unknown thread";
	while (callstacks->n_frames)
		stack[n++] = callstacks->frames[--callstacks->n_frames];
	stack[n++] = wmk_or_empty(stream->record.event->class->name);
	return wmk_read_stacks_add(&callstacks->stacks, stack, n, 1);
}

static int callstacks_record(void *state, struct wmk_read_stream *stream, struct wmk_print_text *out)
{
	(void)out;
	return wmk_read_callstacks_add(state, stream);
}

/* (the state of a stream is the state of the form) */
static int callstacks_stream(void *whole, const struct wmk_read_stream *stream, void **state)
{
	(void)stream;
	*state = whole;
	return 0;
}

static void callstacks_stream_free(void *state)
{
	(void)state;
}

static int callstacks_end(void *whole, struct wmk_print_text *out)
{
	const struct wmk_read_callstacks *callstacks = whole;

	return wmk_read_stacks_put(&callstacks->stacks, out);
}

static const char *callstacks_remark(void *whole)
{
	const struct wmk_read_callstacks *callstacks = whole;

	return callstacks->stacks.n_nodes ? NULL : "no stacks: no record has the context callstack_user or "
						   "callstack_kernel";
}

const struct wmk_read_exporter wmk_read_callstacks = {
	.name = "callstacks",
	.end = callstacks_end,
	.remark = callstacks_remark,
	.stream = callstacks_stream,
	.stream_free = callstacks_stream_free,
	.record = callstacks_record,
};
