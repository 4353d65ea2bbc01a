/* SPDX-License-Identifier: MIT */
/* count_events.c - count the records of each event in a trace: count_events DIR (libwaymark-ctf). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <waymark/ctf.h>

int main(int argc, char **argv)
{
	static struct { const char *name; unsigned long n; } events[1000];
	const struct waymark_ctf_record *record;
	struct waymark_ctf *ctf;
	char why[1000];
	int i, got;

	if (argc != 2 || waymark_ctf_open(NULL, argv[1], &ctf) < 0) {
		fprintf(stderr, "count_events: %s\n",
			argc != 2 ? "usage: count_events DIR" : waymark_ctf_error_text(why, sizeof(why)));
		return 1;
	}
	while ((got = waymark_ctf_next(ctf, &record)) > 0) {
		for (i = 0; i < 999 && events[i].name && strcmp(events[i].name, waymark_ctf_event_name(record)) != 0;
		     i++)
			;
		events[i].name = i < 999 ? waymark_ctf_event_name(record) : "(others)";
		events[i].n++;
	}
	for (i = 0; i < 1000; i++)
		if (events[i].name)
			printf("%8lu %s\n", events[i].n, events[i].name);
	waymark_ctf_close(ctf);
	return got < 0;
}
