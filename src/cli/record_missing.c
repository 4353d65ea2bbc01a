/* SPDX-License-Identifier: MIT */
/*
 * record_missing.c - report what is missing in a trace of `waymark record`: applications that were not recorded, with
 * the reason, and a program without recorded events.
 */
#include <inttypes.h>
#include <string.h>

#include "cli/command.h"
#include "cli/record.h"
#include "wire/unrecorded.h"

bool wmk_record_unrecorded(const struct wmk_record_result *result, unsigned i, struct waymark_ctl_unrecorded *one)
{
	if (result->session) {
		if (i < result->session->n_unrecorded)
			*one = *result->session->unrecorded[i];
		return i < result->session->n_unrecorded;
	}
	const struct wmk_list *list = &result->rec->is.unrecorded;
	const struct wmk_ctl_unrecorded *from = (const struct wmk_ctl_unrecorded *)list->items + i;

	if (i >= list->n)
		return false;
	*one = (struct waymark_ctl_unrecorded){
		.pid = from->pid, .uid = from->uid, .name = from->name, .why = from->why,
		.reason = wmk_unrecorded_names[from->reason], .in_part = from->in_part,
	};
	return true;
}

bool wmk_record_is_explained(const struct wmk_record_result *result, const char *reason, pid_t pid)
{
	struct waymark_ctl_unrecorded one;

	for (unsigned i = 0; wmk_record_unrecorded(result, i, &one); i++)
		if ((!*reason || strcmp(one.reason, reason) == 0) && (!pid || one.pid == (uint64_t)pid))
			return true;
	return false;
}

/* The reasons that `waymark record` without a daemon prints for each application (say_programs()). */
static bool is_said_elsewhere(const struct wmk_record_result *result, const struct waymark_ctl_unrecorded *one)
{
	return !result->session && (strcmp(one->reason, wmk_unrecorded_names[WMK_UNRECORDED_REFUSED]) == 0 ||
				    strcmp(one->reason, wmk_unrecorded_names[WMK_UNRECORDED_DROPPED]) == 0);
}

static uint64_t more(const struct wmk_record_result *result)
{
	return result->session ? result->session->unrecorded_more : result->rec->is.unrecorded_more;
}

/*
 * Return the number of records of the program's own events. *matched: the number of known events that the patterns
 * match.
 */
static uint64_t of_the_program(const struct wmk_record_result *result, uint64_t *matched)
{
	const struct waymark_ctl_session_info *session = result->session;
	uint64_t records = 0;

	*matched = 0;
	if (!session) {
		for (unsigned i = 0; i < result->options->n_patterns; i++)
			if (result->options->patterns[i][0] != '!')
				*matched += wmk_tracing_matching(result->rec->tracing, result->options->patterns[i]);
		if (!result->options->n_patterns)
			*matched = 1;
		return result->counts->records - result->rec->statedump_records - result->rec->kernel_records;
	}
	for (unsigned c = 0; c < session->n_channels; c++) {
		if (session->channels[c]->domain == WAYMARK_CTL_KERNEL)
			continue;
		records += session->channels[c]->counts->records + session->channels[c]->counts->lost;
		for (unsigned i = 0; i < session->channels[c]->n_rules; i++)
			*matched += session->channels[c]->rules[i]->matched;
	}
	return records;
}

/* Warn if the trace contains only the state dump, because such a trace is not a recording of the program's events. */
static void say_nothing_recorded(const struct wmk_record_result *result)
{
	uint64_t matched;
	const struct wmk_record_args *args = result->args;
	const bool any = of_the_program(result, &matched) || result->counts->lost ||
			 wmk_record_is_explained(result, "", 0);

	if (any || !result->counts->records || (args->kernel.n && !args->patterns.n && !result->options->filter))
		return;
	if (!matched)
		wmk_cli_warn("no event of %s was recorded: the patterns (-e) match none of its events",
			     result->program);
	else if (result->options->filter)
		wmk_cli_warn("no event of %s was recorded: no record matches the filter '%.100s'", result->program,
			     result->options->filter);
	else
		wmk_cli_warn("no event of %s was recorded: the program executed none of the enabled tracepoints",
			     result->program);
}

void wmk_record_missing(const struct wmk_record_result *result)
{
	struct waymark_ctl_unrecorded one;

	for (unsigned i = 0; wmk_record_unrecorded(result, i, &one); i++) {
		if (is_said_elsewhere(result, &one))
			continue;
		if (one.pid)
			wmk_cli_warn("%s (pid %" PRIu64 ", uid %" PRIu64 ") was %s: %s", wmk_cli_clean(one.name),
				     one.pid, one.uid, one.in_part ? "recorded in part" : "not recorded", one.why);
		else
			wmk_cli_warn("%s", one.why);
	}
	if (more(result))
		wmk_cli_warn("%" PRIu64 " more applications were not recorded, or only partly", more(result));
	say_nothing_recorded(result);
}

void wmk_record_json_missing(const struct wmk_record_result *result)
{
	struct waymark_ctl_unrecorded one;

	fputs(",\"unrecorded\":[", stdout);
	for (unsigned i = 0; wmk_record_unrecorded(result, i, &one); i++) {
		fprintf(stdout, "%s{\"pid\":%" PRIu64 ",\"uid\":%" PRIu64 ",\"name\":", i ? "," : "", one.pid, one.uid);
		wmk_cli_json_string(stdout, one.name);
		fprintf(stdout, ",\"reason\":\"%s\",\"in_part\":%s,\"why\":", one.reason,
			one.in_part ? "true" : "false");
		wmk_cli_json_string(stdout, one.why);
		fputc('}', stdout);
	}
	fprintf(stdout, "],\"unrecorded_more\":%" PRIu64, more(result));
}
