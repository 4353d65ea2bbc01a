/* SPDX-License-Identifier: MIT */
/*
 * summary.c - print the summary of `waymark record`: warnings, then one line with the counts.
 */
#include <inttypes.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/command.h"
#include "cli/record.h"
#include "symbols/kernel_symbols.h"

#define NEAREST_MAX 3

/*
 * Return the option that avoids the main cause of the loss. Overwritten records are the main cause only if no record
 * was lost for another cause. Returns NULL if no option avoids the loss.
 */
static const char *remedy(const struct wmk_record_result *result, char *buf, size_t size)
{
	const struct wmk_counts *counts = result->counts;
	const uint64_t lost[WAYMARK_LOST_CAUSES] = {
#define WMK_COUNT(name)
#define WMK_COUNT_LOST(name, cause) [cause] = counts->name,
#include "wire/counts.def"
	};
	unsigned worst = 0;
	char text[32];

	for (unsigned i = 1; i < WAYMARK_LOST_CAUSES; i++)
		if (lost[i] > lost[worst])
			worst = i;
	if (counts->unwritten > lost[worst]) {
		snprintf(buf, size, "-o with a directory that has free space");
		return buf;
	}
	if (!lost[worst] && !counts->overwritten)
		return NULL;
	switch (worst) {
	case WAYMARK_LOST_SIZE:
		snprintf(buf, size, "--subbuf-size %s",
			 wmk_cli_size_text(2ull * result->options->subbuf_size, text, sizeof(text)));
		return buf;
	case WAYMARK_LOST_MEMORY:
		if (wmk_record_is_explained(result, "mprotect", 0))
			return NULL;
		/* The records were lost because memory was not available, so suggest smaller buffers. */
		if (result->options->n_subbufs / 2 >= (result->options->overwrite ? 4u : 2u))
			snprintf(buf, size, "--num-subbuf %u", result->options->n_subbufs / 2);
		else if (result->options->subbuf_size / 2 >= 4096)
			snprintf(buf, size, "--subbuf-size %s",
				 wmk_cli_size_text(result->options->subbuf_size / 2, text, sizeof(text)));
		else
			return NULL;
		return buf;
	case WAYMARK_LOST_RETRY:
		return NULL;
	default:
		return wmk_cli_larger_buffers(result->options->subbuf_size, result->options->n_subbufs, buf, size);
	}
}

void wmk_record_not_instrumented(const struct wmk_record_result *result)
{
	wmk_cli_warn("%s is not instrumented: neither it nor a program that it started uses libwaymark (include "
		     "<waymark/trace.h> and link with -lwaymark; see `pkg-config --cflags --libs waymark`)",
		     result->program);
}

static void say_unmatched(const struct wmk_record_result *result)
{
	const char *names[NEAREST_MAX];

	for (unsigned i = 0; i < result->options->n_patterns; i++) {
		const char *pattern = result->options->patterns[i];
		uint64_t matched = wmk_tracing_matching(result->rec->tracing, pattern);
		char list[512] = "";
		unsigned n;

		if (matched)
			continue;
		n = wmk_tracing_nearest(result->rec->tracing, pattern, names, NEAREST_MAX);
		for (unsigned k = 0; k < n; k++)
			snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s",
				 k ? ", " : "; did you mean: ", names[k]);
		wmk_cli_warn("no event matched -e '%s'%s%s", pattern, list, n ? "?" : "");
	}
}

/* Report a filter that does not apply to any recorded event, with the reason. */
static void say_filter(const struct wmk_record_result *result)
{
	struct wmk_ctl_rule rule = { .pattern = "*", .filter = result->options->filter };
	char words[8 * WMK_ERROR_LEN];
	bool fits = false, any = false;

	for (unsigned i = 0; i < result->options->n_patterns && rule.filter && !fits; i++) {
		rule.pattern = result->options->patterns[i];
		if (rule.pattern[0] == '!')
			continue;
		fits = wmk_tracing_filter_check(result->rec->tracing, &rule) >= 0;
		any = true;
	}
	if (!rule.filter || fits || (!any && wmk_tracing_filter_check(result->rec->tracing, &rule) >= 0))
		return;
	wmk_cli_warn("%s", wmk_error_text(words, sizeof(words)));
	wmk_error_clear();
}

static void say_programs(const struct wmk_record_result *result)
{
	const struct wmk_follow *follow = result->follow;
	struct wmk_shard_stats apps;
	struct wmk_app_info info;

	for (unsigned i = 0; wmk_shard_get(result->rec->apps, i, &info); i++)
		if (info.error && info.complained && wmk_record_is_explained(result, "", info.pid))
			continue;
		else if (info.error && info.complained)
			wmk_cli_warn("%s (pid %d): %s", info.name, info.pid,
				     info.why ? info.why : strerror(info.error));
		else if (info.error)
			wmk_cli_warn("%s (pid %d) was not recorded%s: %s", info.name, info.pid,
				     info.connected ? "" : " to its end", info.why ? info.why : strerror(info.error));
	for (unsigned i = 0; i < follow->n && i < WMK_FOLLOW_MAX; i++)
		wmk_cli_warn("%s (pid %d) was not followed: it %s", follow->list[i].name, follow->list[i].pid,
			     wmk_follow_why_text(&follow->list[i]));
	if (follow->n > WMK_FOLLOW_MAX)
		wmk_cli_warn("%u more programs were not followed", follow->n - WMK_FOLLOW_MAX);
	wmk_shard_stats(result->rec->apps, &apps);
	if (apps.turned_away)
		wmk_cli_warn("%" PRIu64
			     " connection%s of applications could not be accepted: no free file descriptors (raise "
			     "`ulimit -Hn`); their records are missing",
			     apps.turned_away, wmk_cli_plural(apps.turned_away));
	if (follow->error)
		wmk_cli_warn("cannot name applications that were not followed: the kernel does not report which "
			     "programs are started: %s",
			     strerror(-follow->error));
	else if (wmk_follow_incomplete(follow))
		wmk_cli_warn(
			"the list of applications that were not followed may be incomplete: too many programs started");
	if (result->running)
		wmk_cli_warn("%u application%s continued after %s had ended; %s recorded until then", result->running,
			     wmk_cli_plural(result->running), result->program,
			     result->running == 1 ? "it was" : "they were");
}

static void say_trouble(const struct wmk_record_result *result)
{
	const struct wmk_recording *rec = result->rec;
	const struct wmk_counts *counts = result->counts;

	if (rec->metadata_error)
		wmk_cli_warn("%s", rec->metadata_words);
	if (rec->stats.words[0])
		wmk_cli_warn("%s", rec->stats.words);
	if (rec->failure[0] && strcmp(rec->failure, rec->stats.words) != 0)
		wmk_cli_warn("cannot write all records: %s", rec->failure);
	if (counts->lost_full && counts->behind_us / 1000)
		wmk_cli_warn("while the rings were full, the write rate of the disk was %" PRIu64 " MB/s",
			     counts->behind_bytes / counts->behind_us);
	if (counts->cut)
		wmk_cli_warn("%" PRIu64 " string%s or sequence%s cut to 64k", counts->cut, wmk_cli_plural(counts->cut),
			     counts->cut == 1 ? " was" : "s were");
}

/* Print warnings. With --json, the JSON output contains the same facts as the warnings. */
static void print_warnings(const struct wmk_record_result *result)
{
	struct wmk_shard_stats apps;

	wmk_shard_stats(result->rec->apps, &apps);
	if (apps.apps_seen + apps.apps_refused + apps.apps_dropped == 0 && result->follow->n == 0 &&
	    !result->args->kernel.n)
		wmk_record_not_instrumented(result);
	else if (!result->args->kernel.n || result->args->patterns.n)
		say_unmatched(result);
	say_filter(result);
	wmk_record_missing(result);
	say_programs(result);
	say_trouble(result);
}

static void print_text(const struct wmk_record_result *result)
{
	const struct wmk_counts *counts = result->counts;
	char bytes[32], option[128], lost[320] = "";
	const char *help = remedy(result, option, sizeof(option));

	if (counts->overwritten)
		snprintf(lost, sizeof(lost), " (%" PRIu64 " overwritten by newer ones", counts->overwritten);
	if (help && counts->lost)
		snprintf(lost + strlen(lost), sizeof(lost) - strlen(lost), "%stry %s",
			 lost[0] ? "; " : " (", help);
	if (lost[0])
		strcat(lost, ")");
	if (result->args->url)
		wmk_cli_note("%" PRIu64 " record%s, %" PRIu64 " lost%s, sent to %s", counts->records,
			     wmk_cli_plural(counts->records), counts->lost, lost, wmk_cli_clean(result->args->url));
	/* a daemon creates the directory when the first application connects */
	else if (access(result->path, F_OK) < 0)
		wmk_cli_note("%" PRIu64 " record%s, no trace", counts->records, wmk_cli_plural(counts->records));
	else
		wmk_cli_note("%" PRIu64 " record%s, %" PRIu64 " lost%s, %s in %s", counts->records,
			     wmk_cli_plural(counts->records), counts->lost, lost,
			     wmk_cli_bytes_text(counts->bytes, bytes, sizeof(bytes)), result->path);
}

/* ── JSON ────────────────────────────────────────────────────────────────────────────────────────────── */

static void json_member(const char *name, const char *text)
{
	fprintf(stdout, ",\"%s\":", name);
	if (text && *text)
		wmk_cli_json_string(stdout, text);
	else
		fputs("null", stdout);
}

static void json_patterns(const struct wmk_record_result *result)
{
	const char *names[NEAREST_MAX], *comma = "";

	fputs(",\"patterns\":[", stdout);
	for (unsigned i = 0; i < result->options->n_patterns; i++) {
		const char *pattern = result->options->patterns[i];
		uint64_t matched = wmk_tracing_matching(result->rec->tracing, pattern);
		unsigned n = matched ? 0 : wmk_tracing_nearest(result->rec->tracing, pattern, names, NEAREST_MAX);

		fprintf(stdout, "%s{\"pattern\":", comma);
		wmk_cli_json_string(stdout, pattern);
		fprintf(stdout, ",\"matched\":%" PRIu64 ",\"nearest\":[", matched);
		for (unsigned k = 0; k < n; k++) {
			fputs(k ? "," : "", stdout);
			wmk_cli_json_string(stdout, names[k]);
		}
		fputs("]}", stdout);
		comma = ",";
	}
	fputc(']', stdout);
}

static void json_programs(const struct wmk_record_result *result)
{
	const struct wmk_follow *follow = result->follow;
	struct wmk_shard_stats apps;
	struct wmk_app_info info;

	wmk_shard_stats(result->rec->apps, &apps);
	fputs(",\"programs\":[", stdout);
	for (unsigned i = 0; wmk_shard_get(result->rec->apps, i, &info); i++) {
		fprintf(stdout, "%s{\"pid\":%d,\"name\":", i ? "," : "", info.pid);
		wmk_cli_json_string(stdout, info.name);
		fprintf(stdout, ",\"events\":%u,\"enabled\":%u", info.events, info.enabled);
		json_member("error", info.error ? info.why ? info.why : strerror(info.error) : NULL);
		fputc('}', stdout);
	}
	fputs("],\"not_followed\":[", stdout);
	for (unsigned i = 0; i < follow->n && i < WMK_FOLLOW_MAX; i++) {
		fprintf(stdout, "%s{\"pid\":%d,\"name\":", i ? "," : "", follow->list[i].pid);
		wmk_cli_json_string(stdout, follow->list[i].name);
		fprintf(stdout, ",\"why\":\"%s\"}", wmk_follow_why_word(&follow->list[i]));
	}
	fprintf(stdout,
		"],\"not_followed_count\":%u,\"not_followed_complete\":%s,\"still_running\":%u,\"turned_away\":"
		"%" PRIu64,
		follow->n, wmk_follow_incomplete(follow) ? "false" : "true", result->running, apps.turned_away);
}

static void json_figures(const struct wmk_record_result *result)
{
	const struct wmk_counts *counts = result->counts;
	char option[128];

	fputs("{\"path\":", stdout);
	wmk_cli_json_string(stdout, result->path);
	fprintf(stdout,
		",\"records\":%" PRIu64 ",\"lost\":%" PRIu64 ",\"overwritten\":%" PRIu64 ",\"unwritten\":%" PRIu64,
		counts->records, counts->lost, counts->overwritten, counts->unwritten);
	fprintf(stdout,
		",\"lost_full\":%" PRIu64 ",\"lost_memory\":%" PRIu64 ",\"lost_size\":%" PRIu64
		",\"lost_retry\":%" PRIu64,
		counts->lost_full, counts->lost_memory, counts->lost_size, counts->lost_retry);
	json_member("url", result->args->url);
	json_member("remedy", counts->lost ? remedy(result, option, sizeof(option)) : NULL);
	fprintf(stdout, ",\"cut\":%" PRIu64 ",\"bytes\":%" PRIu64, counts->cut, counts->bytes);
}

/* The function prints the JSON members that exist only for a recording in this process. */
static void json_own(const struct wmk_record_result *result)
{
	const struct wmk_counts *counts = result->counts;
	const struct wmk_recording *rec = result->rec;
	struct wmk_shard_stats apps;

	wmk_shard_stats(rec->apps, &apps);
	fprintf(stdout,
		",\"session\":null,\"state_dump\":%" PRIu64 ",\"writing_ms\":%" PRIu64 ",\"behind_ms\":%" PRIu64
		",\"behind_bytes\":%" PRIu64,
		rec->statedump_records, counts->writing_us / 1000, counts->behind_us / 1000, counts->behind_bytes);
	fprintf(stdout, ",\"packets\":%" PRIu64 ",\"streams\":%" PRIu64, counts->packets, counts->streams);
	fprintf(stdout, ",\"events\":%" PRIu64 ",\"instrumented\":%s", apps.classes_enabled,
		apps.apps_seen + apps.apps_refused + apps.apps_dropped ? "true" : "false");
	json_patterns(result);
	json_programs(result);
	json_member("error", rec->stats.words[0] ? rec->stats.words
			     : rec->failure[0]   ? rec->failure
						 : rec->metadata_words);
}

/* The function prints the JSON members that exist only for a recording with a daemon. */
static void json_session(const struct wmk_record_result *result)
{
	const struct waymark_ctl_session_info *session = result->session;
	const char *comma = "";

	json_member("session", session->name);
	fputs(",\"patterns\":[", stdout);
	for (unsigned c = 0; c < session->n_channels && result->args->patterns.n; c++) {
		for (unsigned i = 0; i < session->channels[c]->n_rules; i++, comma = ",") {
			fprintf(stdout, "%s{\"pattern\":", comma);
			wmk_cli_json_string(stdout, session->channels[c]->rules[i]->pattern);
			fprintf(stdout, ",\"matched\":%" PRIu64 "}", session->channels[c]->rules[i]->matched);
		}
	}
	fprintf(stdout, "],\"still_running\":%u,\"error\":null", result->running);
}

static void json_end(const struct wmk_record_result *result)
{
	if (WIFSIGNALED(result->child->status))
		fprintf(stdout, ",\"exit_status\":null,\"signal\":%d}\n", WTERMSIG(result->child->status));
	else
		fprintf(stdout, ",\"exit_status\":%d,\"signal\":null}\n", WEXITSTATUS(result->child->status));
}

static void print_json(const struct wmk_record_result *result)
{
	json_figures(result);
	wmk_record_json_missing(result);
	if (result->session)
		json_session(result);
	else
		json_own(result);
	json_end(result);
}

void wmk_record_failed(const struct wmk_record_result *result)
{
	char words[8 * WMK_ERROR_LEN];

	if (result->args->json) {
		fputs("{\"path\":", stdout);
		wmk_cli_json_string(stdout, result->path);
		json_member("error", wmk_error_text(words, sizeof(words)));
		json_end(result);
	}
	wmk_cli_print_error();
}

/* Save the names and addresses of the kernel's functions for `waymark view --symbols`. */
static void save_kernel_symbols(const struct wmk_record_result *result)
{
	char path[4096 + sizeof(WMK_KERNEL_SYMBOLS_FILE)];

	snprintf(path, sizeof(path), "%s/" WMK_KERNEL_SYMBOLS_FILE, result->path);
	if (wmk_kernel_symbols_save(path) < 0) {
		wmk_cli_print_error();
		wmk_error_clear();
	}
}

void wmk_record_figures(const struct wmk_record_result *result)
{
	if (result->args->kallsyms)
		save_kernel_symbols(result);
	if (WIFSIGNALED(result->child->status))
		wmk_cli_note("%s was killed by signal %d (%s)", result->program, WTERMSIG(result->child->status),
			     strsignal(WTERMSIG(result->child->status)));
	if (result->args->json)
		print_json(result);
	else
		print_text(result);
}

void wmk_record_summary(const struct wmk_record_result *result)
{
	print_warnings(result);
	wmk_record_figures(result);
}
