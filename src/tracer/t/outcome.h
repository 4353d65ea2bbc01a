/* SPDX-License-Identifier: MIT */
/* outcome.h - run a test program with its own session daemon, and collect the result. Include it after cmocka. */
#ifndef WMK_TRACER_T_OUTCOME_H
#define WMK_TRACER_T_OUTCOME_H

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "tracer/t/fake_sessiond.h"
#include "tracer/t/run.h"

struct outcome {
	struct run_records records;
	uint64_t lost;
	int status;
	unsigned apps;
};

/* Records have the context field vpid only. Status 77: not permitted on this machine. */
static inline struct outcome outcome_of(const char *program, const char *kind, struct fake_sessiond_options options)
{
	options.prefix = "t:mark";
	options.n_contexts = 1;
	options.contexts[0] = WMK_CONTEXT_VPID;
	struct fake_sessiond *c = fake_sessiond_start(run_make_dir(), &options);
	struct outcome o = { .status = run_program(program, kind) };

	assert_true(o.status >= 0);
	assert_true(fake_sessiond_read(c, run_keep, &o.records, &o.lost, NULL) >= 0);
	o.apps = fake_sessiond_apps(c);
	fake_sessiond_free(c);
	run_remove_dir();
	if (WIFEXITED(o.status) && WEXITSTATUS(o.status) == 77) {
		run_forget(&o.records);
		skip();         /* not permitted here */
	}
	assert_int_equal(o.status, 0);
	return o;
}

/* Count the records with this `where`; check that the context field vpid of each is its own pid. */
static inline unsigned where(const struct outcome *o, const char *place)
{
	char wanted[64];
	unsigned n = 0;

	snprintf(wanted, sizeof(wanted), "} t:mark where=\"%s\" pid=", place);
	for (unsigned i = 0; i < o->records.n; i++) {
		const char *at = strstr(o->records.text[i], wanted);
		int vpid, pid;

		if (!at)
			continue;
		assert_int_equal(sscanf(o->records.text[i], "{vpid=%d", &vpid), 1);
		assert_int_equal(sscanf(at + strlen(wanted), "%d", &pid), 1);
		assert_int_equal(vpid, pid);
		n++;
	}
	return n;
}

#endif
