/* SPDX-License-Identifier: MIT */
/*
 * allocations.c - count memory allocations while libwaymark-ctf reads a trace: allocations DIR FILTER NAME.
 *
 * For each way to read the trace, it prints a line "way RECORDS VALUES ALLOCATIONS" about the second half of the
 * records. The ways are: walk (all values of each record), filter (the same for records that match FILTER), accessor
 * and name (the field NAME). cases/t_allocations.py checks the lines.
 */
#include <stdio.h>
#include <string.h>
#include <waymark/ctf.h>
#include "count_allocations.h"

struct reading {
	struct waymark_ctf *ctf;
	struct waymark_ctf_accessor *accessor;
	const char *name;
	unsigned long values;
};

typedef void way_fn(struct reading *reading, const struct waymark_ctf_record *record);

static void walk(struct reading *reading, const struct waymark_ctf_record *record)
{
	struct waymark_ctf_value value;

	for (enum waymark_ctf_scope scope = WAYMARK_CTF_PACKET; scope <= WAYMARK_CTF_PAYLOAD; scope++) {
		waymark_ctf_walk_begin(record, scope);
		while (waymark_ctf_walk_next(record, &value) > 0)
			reading->values++;
	}
}

static void get(struct reading *reading, const struct waymark_ctf_record *record)
{
	struct waymark_ctf_value value;

	reading->values += waymark_ctf_accessor_get(reading->accessor, record, &value) == 0;
}

static void ask(struct reading *reading, const struct waymark_ctf_record *record)
{
	struct waymark_ctf_value value;

	reading->values += waymark_ctf_field(record, reading->name, &value) == 0;
}

static int fail(const char *what)
{
	char why[1000];

	fprintf(stderr, "allocations: %s: %s\n", what, waymark_ctf_error_text(why, sizeof(why)));
	return -1;
}

/* Read the trace once. `half`: the number of records before counting starts. Returns the number of records, or -1. */
static long read_all(const char *path, const char *filter, const char *name, way_fn *way, long half, const char *title)
{
	struct reading reading = { .name = name };
	const struct waymark_ctf_record *record;
	unsigned long allocations = 0, values = 0;
	long n = 0;
	int got;

	if (waymark_ctf_open(NULL, path, &reading.ctf) < 0 || waymark_ctf_filter(reading.ctf, filter) < 0 ||
	    waymark_ctf_accessor_create(reading.ctf, name, &reading.accessor) < 0)
		return fail(path);
	while ((got = waymark_ctf_next(reading.ctf, &record)) > 0) {
		way(&reading, record);
		if (++n == half) {
			allocations = counted_allocations();
			values = reading.values;
		}
	}
	if (got < 0)
		return fail(path);
	allocations = counted_allocations() - allocations;
	if (half)
		printf("%s %ld %lu %lu\n", title, n - half, reading.values - values, allocations);
	waymark_ctf_accessor_free(reading.accessor);
	waymark_ctf_close(reading.ctf);
	return n;
}

int main(int argc, char **argv)
{
	static const struct { const char *title; way_fn *way; int filtered; } ways[] = {
		{ "walk", walk, 0 }, { "filter", walk, 1 }, { "accessor", get, 0 }, { "name", ask, 0 },
	};

	if (argc != 4)
		return 2;
	for (unsigned i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		const char *filter = ways[i].filtered ? argv[2] : NULL;
		long n = read_all(argv[1], filter, argv[3], ways[i].way, 0, ways[i].title);

		if (n < 2 || read_all(argv[1], filter, argv[3], ways[i].way, n / 2, ways[i].title) != n)
			return 1;
	}
	return 0;
}
