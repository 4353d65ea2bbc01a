/* SPDX-License-Identifier: MIT */
/*
 * decode.c - the benchmarks' reader of traces that does nothing with the records: decode DIR... prints how many there are.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

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

int main(int argc, char **argv)
{
	struct wmk_read_paths paths = { NULL, 0, 0 };
	struct wmk_read_stream *stream;
	struct wmk_read_trace *trace;
	struct wmk_read_merge *merge;
	uint64_t records = 0;
	int got;

	if (wmk_read_merge_create(damage, NULL, &merge) < 0)
		fail();
	for (int i = 1; i < argc; i++)
		if (wmk_read_traces_find(argv[i], &paths) < 0)
			fail();
	for (uint32_t i = 0; i < paths.n; i++)
		if (wmk_read_trace_open(paths.paths[i], paths.paths[i], &trace) < 0 || wmk_read_merge_add(merge, trace) < 0)
			fail();
	while ((got = wmk_read_merge_next(merge, &stream)) > 0)
		records += got == WMK_READ_RECORD;
	if (got < 0)
		fail();
	printf("records %" PRIu64 "\n", records);
	return 0;
}
