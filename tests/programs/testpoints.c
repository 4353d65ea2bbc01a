/* SPDX-License-Identifier: MIT */
/*
 * testpoints.c - passes every test point of the recording path repeatedly, for the cases that kill or stop it there.
 *
 *     testpoints records N     N turns: a record with numbers only, and one with a string of 0 to 300 bytes
 *     testpoints edge N        N turns: records of 16,000 bytes, one every 5 ms: soon at the end of a sub-buffer
 *     testpoints cut N         N turns: a record with a string that is longer than the limit of a field
 *     testpoints lose N        N turns: a record, and one that is too large and is counted as lost
 *     testpoints probe N       N turns: a record that a probe of this program sees as well
 *
 * Waits until flag 0 of the ledger shows that another process records, so that this process is not the only writer.
 */
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <waymark/runtime.h>
#include "ledger.h"

#define LONG_TEXT 70000

static void on_record(const struct waymark_probe_record *record, void *data)
{
	*(uint64_t *)data += record->n_fields;
}

/* An array with a NULL address, larger than the substitute that is recorded for it. */
static void emit_lost(uint32_t writer)
{
	uint64_t seq = writer_begin(writer);
	const uint64_t *nothing = NULL;

	waymark(test, lost, wm_array(nothing, 9000));
	writer_end(writer, seq);
}

static int wait_for_others(void)
{
	uint64_t end = clock_nsec(CLOCK_MONOTONIC) + 30000000000u;

	while (!__atomic_load_n(&ledger->flag[0], __ATOMIC_ACQUIRE)) {
		if (clock_nsec(CLOCK_MONOTONIC) > end) {
			fprintf(stderr, "testpoints: no other process has set flag 0 of the ledger within 30 s\n");
			return -1;
		}
		sched_yield();
	}
	return 0;
}

int main(int argc, char **argv)
{
	static char buffer[LONG_TEXT + 1];
	const char *mode = argc > 2 ? argv[1] : "";
	uint64_t n = argc > 2 ? strtoull(argv[2], NULL, 10) : 0, fields = 0;

	ledger_map();
	uint32_t w = writer_new();

	if (!n || wait_for_others() < 0)
		return 2;
	if (!strcmp(mode, "probe") && waymark_connect("test:seq", on_record, &fields))
		return 4;
	for (uint64_t i = 0; i < n; i++) {
		writer_emit(w);
		if (!strcmp(mode, "records"))
			writer_emit_text(w, buffer, (size_t)(i * 7 % 301));
		else if (!strcmp(mode, "cut"))
			writer_emit_text(w, buffer, LONG_TEXT);
		else if (!strcmp(mode, "lose"))
			emit_lost(w);
		if (!strcmp(mode, "edge")) {
			writer_emit_text(w, buffer, 16000);
			usleep(5000);
		}
	}
	if (!strcmp(mode, "probe") && fields != 5 * n) {
		fprintf(stderr, "testpoints: the probe has seen %llu fields, not %llu\n", (unsigned long long)fields,
			(unsigned long long)(5 * n));
		return 5;
	}
	return 0;
}
