/* SPDX-License-Identifier: MIT */
/*
 * decode.c - the trace reader of the benchmarks: decode WHAT DIR... reads all records, and prints their number.
 *
 * WHAT `records`: find each record: its event, its time, its parts and its end. `values`: also read all values of
 * contexts and payload one by one, as a program does that prints or converts them.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "read/merge.h"

static void fail(void)
{
	char words[1024];

	fprintf(stderr, "decode: %s\n", wmk_error_text(words, sizeof(words)));
	exit(1);
}

static void damage(void *data, const struct wmk_read_stream *stream, int err)
{
	(void)data;
	(void)stream;
	(void)err;
	fail();
}

/* Sum the values of a structure, so that the compiler cannot omit reading them; for strings, sum the lengths. */
static inline uint64_t values_of(struct wmk_ctf_walk *walk, const struct wmk_ctf_program *program)
{
	struct wmk_ctf_item item;
	struct wmk_ctf_pace pace;
	uint64_t sum = 0;

	if (!program->n_ops)
		return 0;
	pace = wmk_ctf_pace_begin(walk, program);
	while (wmk_ctf_pace_next(&pace, walk, &item))
		sum += item.is_end ? 0 : item.op->code == WMK_CTF_STRING ? item.len : item.value.u;
	return sum;
}

/* Sum the values of a record, without its header. */
static uint64_t values(struct wmk_read_stream *stream)
{
	struct wmk_ctf_record *record = &stream->record;
	struct wmk_ctf_walk *walk = &record->walk;
	uint64_t sum;

	walk->in = stream->bytes;
	walk->at = record->common_at;
	sum = values_of(walk, &stream->decoder->event_context);
	sum += values_of(walk, &record->event->context);
	return sum + values_of(walk, &record->event->payload);
}

int main(int argc, char **argv)
{
	struct wmk_read_paths paths = { NULL, 0, 0 };
	struct wmk_read_stream *stream;
	struct wmk_read_trace *trace;
	struct wmk_read_merge *merge;
	uint64_t records = 0, sum = 0;
	bool with_values;
	int got;

	if (wmk_read_merge_create(damage, NULL, &merge) < 0)
		fail();
	if (argc < 3 || (strcmp(argv[1], "records") && strcmp(argv[1], "values"))) {
		fprintf(stderr, "usage: decode records|values DIR...\n");
		return 2;
	}
	for (int i = 2; i < argc; i++)
		if (wmk_read_traces_find(argv[i], &paths) < 0)
			fail();
	for (uint32_t i = 0; i < paths.n; i++)
		if (wmk_read_trace_open(paths.paths[i], paths.paths[i], &trace) < 0 ||
		    wmk_read_merge_add(merge, trace) < 0)
			fail();
	with_values = !strcmp(argv[1], "values");
	while ((got = wmk_read_merge_next(merge, &stream)) > 0) {
		if (got == WMK_READ_RECORD) {
			records++;
			sum += with_values ? values(stream) : 0;
		}
	}
	if (got < 0)
		fail();
	printf("records %" PRIu64 "\nsum %" PRIu64 "\n", records, sum);
	return 0;
}
