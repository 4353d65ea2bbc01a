/* SPDX-License-Identifier: MIT */
/*
 * show.c - see show.h.
 */
#include <inttypes.h>
#include <pwd.h>
#include <string.h>
#include <time.h>

#include "cli/command.h"
#include "cli/show.h"
#include "wire/ctl.h"

#include <waymark/ring.h>

#define NAME_COLUMN_MAX 48u

static void heading(const char *text)
{
	const char *bold = wmk_cli_color(stdout, WMK_CLI_BOLD);

	printf("%s%s%s", bold, text, *bold ? wmk_cli_color(stdout, WMK_CLI_PLAIN) : "");
}

/* ── loss ────────────────────────────────────────────────────────────────────────────────────────────── */

/* Return the number of lost records, without the records that overwrite mode discards by design. */
static uint64_t missed(const struct waymark_ctl_counts *counts)
{
	return counts->lost - counts->overwritten;
}

void wmk_show_counts(const struct waymark_ctl_session_info *session)
{
	const struct waymark_ctl_counts *counts = session->counts;
	char bytes[32];

	printf("%" PRIu64 " record%s, %" PRIu64 " lost", counts->records, wmk_cli_plural(counts->records),
	       counts->lost);
	if (counts->overwritten)
		printf(" (%" PRIu64 " overwritten by newer ones)", counts->overwritten);
	printf(", %s in %s\n", wmk_cli_bytes_text(counts->bytes, bytes, sizeof(bytes)), wmk_cli_clean(session->path));
}

/*
 * True if the session reports this reason for lost records. A reported reason is more exact than a reason that is
 * inferred from the counts.
 */
static bool is_explained(const struct waymark_ctl_session_info *session, const char *reason)
{
	for (unsigned i = 0; i < session->n_unrecorded; i++)
		if (strcmp(session->unrecorded[i]->reason, reason) == 0)
			return true;
	return false;
}

/* Return the main cause of the loss, and the option of enable-channel that avoids the loss. */
static const char *remedy(const struct waymark_ctl_session_info *session,
			  const struct waymark_ctl_channel_info *channel, char *buf, size_t size)
{
	const struct waymark_ctl_counts *counts = channel->counts;
	uint64_t worst = counts->lost_full, least = channel->mode == WAYMARK_CTL_OVERWRITE ? 4 : 2;
	char text[64];

	snprintf(buf, size, "its buffers were full; try %s",
		 wmk_cli_larger_buffers(channel->subbuf_size, channel->n_subbufs, text, sizeof(text)));
	if (counts->lost_size > worst) {
		worst = counts->lost_size;
		if (channel->poll_us && channel->subbuf_size > WAYMARK_RING_SEQ_MAX)
			snprintf(buf, size, "they are larger than 16k; try --wake=writer");
		else
			snprintf(buf, size, "they are larger than a sub-buffer; try --subbuf-size %s",
				 wmk_cli_size_text(2 * channel->subbuf_size, text, sizeof(text)));
	}
	if (counts->lost_memory > worst) {
		worst = counts->lost_memory;
		if (is_explained(session, "mprotect"))
			snprintf(buf, size, "mprotect of its buffers was refused; no option avoids this");
		else if (channel->reclaim_us)
			snprintf(buf, size,
				 "the memory of idle buffers was not allocated again in time; try --subbuf-size %s",
				 wmk_cli_size_text(2 * channel->subbuf_size, text, sizeof(text)));
		else if (channel->n_subbufs / 2 >= least)
			snprintf(buf, size,
				 "there was no memory for its buffers; try --num-subbuf %" PRIu64 ", which uses less",
				 channel->n_subbufs / 2);
		else
			snprintf(buf, size,
				 "there was no memory for its buffers; try --subbuf-size %s, which uses less",
				 wmk_cli_size_text(channel->subbuf_size / 2 >= WMK_CLI_SUBBUF_MIN
							   ? channel->subbuf_size / 2
							   : WMK_CLI_SUBBUF_MIN,
						   text, sizeof(text)));
	}
	if (counts->lost_retry > worst) {
		worst = counts->lost_retry;
		snprintf(buf, size, is_explained(session, "shared-storage") ?
			 "children of vfork() or clone(CLONE_VM) recorded; no option avoids this" :
			 "the program was interrupted repeatedly; no option avoids this");
	}
	if (counts->unwritten > worst)
		snprintf(buf, size,
			 "they could not be written; try `waymark create --output` with a directory that has free "
			 "space");
	return buf;
}

void wmk_show_unrecorded(const struct waymark_ctl_session_info *session)
{
	for (unsigned i = 0; i < session->n_unrecorded; i++) {
		const struct waymark_ctl_unrecorded *one = session->unrecorded[i];

		if (one->pid)
			wmk_cli_warn("%s (pid %" PRIu64 ", uid %" PRIu64 ") was %s: %s", wmk_cli_clean(one->name),
				     one->pid, one->uid, one->in_part ? "recorded in part" : "not recorded", one->why);
		else
			wmk_cli_warn("session %s: %s", session->name, one->why);
	}
	if (session->unrecorded_more)
		wmk_cli_warn("%" PRIu64 " more application%s not recorded, or only partly", session->unrecorded_more,
			     session->unrecorded_more == 1 ? " was" : "s were");
}

void wmk_show_loss(const struct waymark_ctl_session_info *session)
{
	char words[160];

	for (unsigned i = 0; i < session->n_channels; i++) {
		const struct waymark_ctl_channel_info *channel = session->channels[i];
		uint64_t n = missed(channel->counts);

		if (n)
			wmk_cli_warn("channel %s of session %s lost %" PRIu64 " record%s: %s", channel->name,
				     session->name, n, wmk_cli_plural(n),
				     remedy(session, channel, words, sizeof(words)));
		if (channel->counts->gaps)
			wmk_cli_warn(
				"channel %s of session %s lost an unknown number of system calls: the reader of the "
				"kernel's buffers crashed (%" PRIu64 " stream%s)",
				channel->name, session->name, channel->counts->gaps,
				wmk_cli_plural(channel->counts->gaps));
		if (channel->counts->cut)
			wmk_cli_warn("channel %s of session %s: %" PRIu64 " string%s or sequence%s cut", channel->name,
				     session->name, channel->counts->cut, wmk_cli_plural(channel->counts->cut),
				     channel->counts->cut == 1 ? " was" : "s were");
	}
}

/* ── sessions ────────────────────────────────────────────────────────────────────────────────────────── */

static const char *state_of(const struct waymark_ctl_session_info *session)
{
	return session->active ? "records" : session->full ? "full" : session->started ? "stopped" : "not started";
}

static int width_of(size_t longest, const char *title)
{
	size_t least = strlen(title);

	return (int)(longest < least ? least : longest > NAME_COLUMN_MAX ? NAME_COLUMN_MAX : longest);
}

void wmk_show_sessions(const struct waymark_ctl_session_info *const *sessions, unsigned n, const char *current)
{
	size_t longest = 0;
	char title[160];
	int width;

	if (!n) {
		puts("There are no sessions; `waymark create` creates one.");
		return;
	}
	for (unsigned i = 0; i < n; i++)
		longest = strlen(sessions[i]->name) > longest ? strlen(sessions[i]->name) : longest;
	width = width_of(longest, "SESSION");
	snprintf(title, sizeof(title), "  %-*s  %-11s  %8s  %12s  %8s  %s\n", width, "SESSION", "STATE", "CHANNELS",
		 "RECORDS", "LOST", "TRACE");
	heading(title);
	for (unsigned i = 0; i < n; i++) {
		const struct waymark_ctl_session_info *session = sessions[i];

		printf("%c %-*s  %-11s  %8u  %12" PRIu64 "  %8" PRIu64 "  %s\n",
		       strcmp(session->name, current) == 0 ? '*' : ' ', width, session->name, state_of(session),
		       session->n_channels, session->counts->records, session->counts->lost,
		       wmk_cli_clean(session->path));
	}
}

/* Return the name of the session or, for a destroyed session, the name of its spool. */
static const char *relay_name(const struct waymark_ctl_relay_info *relay)
{
	const char *slash = strrchr(relay->path, '/');

	return wmk_cli_clean(*relay->session ? relay->session : slash ? slash + 1 : relay->path);
}

void wmk_show_relays(const struct waymark_ctl_relay_info *const *relays, unsigned n)
{
	size_t longest = 0;
	char title[160], behind[32], spooled[32];
	int width;

	for (unsigned i = 0; i < n; i++)
		longest = strlen(relay_name(relays[i])) > longest ? strlen(relay_name(relays[i])) : longest;
	width = width_of(longest, "SENT TO A RELAY");
	snprintf(title, sizeof(title), "  %-*s  %-13s  %8s  %8s  %s\n", width, "SENT TO A RELAY", "STATE", "BEHIND",
		 "SPOOL", "RELAY");
	if (n)
		heading(title);
	for (unsigned i = 0; i < n; i++) {
		const struct waymark_ctl_relay_info *is = relays[i];

		printf("  %-*s  %-13s  %8s  %8s  %s%s\n", width, relay_name(is),
		       is->connected ? "connected" : "not connected",
		       wmk_cli_bytes_text(is->behind, behind, sizeof(behind)),
		       wmk_cli_bytes_text(is->spooled, spooled, sizeof(spooled)), wmk_cli_clean(is->url),
		       is->kernel ? ", kernel channels" : "");
		if (!*is->session)
			printf("    session destroyed; its remaining data is being sent from %s\n",
			       wmk_cli_clean(is->path));
		if (*is->error)
			printf("    %s\n", wmk_cli_clean(is->error));
	}
}

static void show_rule(const struct waymark_ctl_rule_info *rule)
{
	printf("    %-32s", wmk_cli_clean(rule->pattern));
	for (unsigned i = 0; i < rule->n_exclusions; i++)
		printf("%s%s", i ? "," : " except ", wmk_cli_clean(rule->exclusions[i]));
	if (rule->level_op == WAYMARK_CTL_AT_LEAST)
		printf(" level %s or more severe", waymark_ctl_level_name(rule->level));
	else if (rule->level_op == WAYMARK_CTL_EXACTLY)
		printf(" level %s", waymark_ctl_level_name(rule->level));
	else if (rule->level_op == WAYMARK_CTL_BETWEEN)
		printf(" level %s to %s", waymark_ctl_level_name(rule->level), waymark_ctl_level_name(rule->level_to));
	if (*rule->filter)
		printf(" if %s", wmk_cli_clean(rule->filter));
	if (rule->probe)
		printf(" at %s", wmk_cli_clean(rule->place));
	printf(" %s, %" PRIu64 " event%s matched\n", rule->enabled ? "enabled" : "disabled", rule->matched,
	       wmk_cli_plural(rule->matched));
}

static void show_domain(const struct waymark_ctl_channel_info *channel)
{
	if (channel->domain == WAYMARK_CTL_PID)
		printf(", process %" PRIu64, channel->pid);
	else if (channel->domain == WAYMARK_CTL_EXEC)
		printf(", programs %s", wmk_cli_clean(channel->exec));
	else if (channel->domain == WAYMARK_CTL_KERNEL)
		fputs(", the kernel", stdout);
	if (channel->domain == WAYMARK_CTL_KERNEL && channel->pid)
		printf(" in process %" PRIu64, channel->pid);
	if (channel->domain != WAYMARK_CTL_USER && channel->follow)
		fputs(" and its descendants", stdout);
}

/* Print a time in the largest unit that gives a whole number. */
static void show_time(const char *what, uint64_t us)
{
	static const struct {
		const char *name;
		uint64_t us;
	} units[] = { { "h", 3600000000 }, { "min", 60000000 }, { "s", 1000000 }, { "ms", 1000 }, { "us", 1 } };
	unsigned i = 0;

	while (us % units[i].us)
		i++;
	printf("%s %" PRIu64 " %s", what, us / units[i].us, units[i].name);
}

static void show_options(const struct waymark_ctl_channel_info *channel)
{
	const bool flushes = channel->mode != WAYMARK_CTL_OVERWRITE;
	char size[32], limit[32];

	printf("    %" PRIu64 " sub-buffers of %s for each %s%s; ", channel->n_subbufs,
	       wmk_cli_size_text(channel->subbuf_size, size, sizeof(size)),
	       channel->allocation == WAYMARK_CTL_RINGS_PER_CHANNEL ? "of min(8, CPUs) rings" : "CPU",
	       channel->domain == WAYMARK_CTL_KERNEL ? "" :
	       channel->buffers == WAYMARK_CTL_PER_PID ? " and process" : " and user");
	if (channel->mode == WAYMARK_CTL_OVERWRITE)
		fputs("overwrites the oldest records", stdout);
	else if (channel->blocking_us < 0)
		fputs("applications wait for space", stdout);
	else if (channel->blocking_us)
		printf("applications wait %" PRId64 " us for space, then records are lost", channel->blocking_us);
	else
		fputs("new records are lost when full", stdout);
	if (flushes && channel->flush_us < 0)
		fputs("; written in whole sub-buffers", stdout);
	else if (flushes && channel->flush_us != 1000000)
		printf("; flushed every %g ms", (double)channel->flush_us / 1000);
	if (channel->poll_us)
		printf("; read every %g ms, without system calls of applications", (double)channel->poll_us / 1000);
	else if (channel->preallocation == WAYMARK_CTL_PREALLOCATE_ALL)
		fputs("; memory allocated at once", stdout);
	else if (channel->preallocation == WAYMARK_CTL_PREALLOCATE_ON_DEMAND)
		fputs("; memory allocated on demand", stdout);
	if (channel->reclaim_us) {
		fputs("; ", stdout);
		show_time("idle memory given back after", channel->reclaim_us);
	}
	if (channel->reclaimed)
		printf("; %s given back now", wmk_cli_bytes_text(channel->reclaimed, size, sizeof(size)));
	if (channel->tracefile_size)
		printf("; files of %s", wmk_cli_size_text(channel->tracefile_size, limit, sizeof(limit)));
	if (channel->tracefile_count)
		printf(", the last %" PRIu64 " kept", channel->tracefile_count);
	fputc('\n', stdout);
	if (channel->calls_by == WAYMARK_CTL_CALLS_BY_BPF)
		puts("    system calls with the data that their arguments point to (by BPF)");
	else if (channel->calls_by == WAYMARK_CTL_CALLS_BY_EVENTS)
		printf("    arguments of system calls as numbers%s%s\n", *channel->calls_why ? ": " : ", as requested",
		       wmk_cli_clean(channel->calls_why));
}

static void show_channel(const struct waymark_ctl_channel_info *channel)
{
	fputs("  ", stdout);
	heading(channel->name);
	printf(": %s", channel->enabled ? "enabled" : "disabled");
	show_domain(channel);
	printf("; %" PRIu64 " record%s, %" PRIu64 " lost\n", channel->counts->records,
	       wmk_cli_plural(channel->counts->records), channel->counts->lost);
	show_options(channel);
	for (unsigned i = 0; i < channel->n_contexts; i++)
		printf("%s%s%s", i ? ", " : "    with ", channel->contexts[i],
		       i + 1 == channel->n_contexts ? "\n" : "");
	for (unsigned i = 0; i < channel->n_rules; i++)
		show_rule(channel->rules[i]);
	if (!channel->n_rules)
		puts("    no events: use `waymark enable-event`");
}

bool wmk_show_rotation(const struct waymark_ctl_session_info *session)
{
	const bool is_scheduled = session->rotate_us || session->rotate_size || session->retain_size ||
				  session->retain_us;
	const char *comma = "";
	char size[32];

	if (session->rotate_us) {
		show_time("rotated every", session->rotate_us);
		comma = ", ";
	}
	if (session->rotate_size) {
		printf("%srotated at %s", comma, wmk_cli_size_text(session->rotate_size, size, sizeof(size)));
		comma = ", ";
	}
	if (session->retain_size) {
		printf("%skeeps %s", comma, wmk_cli_size_text(session->retain_size, size, sizeof(size)));
		comma = ", ";
	}
	if (session->retain_us) {
		printf("%s", comma);
		show_time("keeps chunks for", session->retain_us);
		comma = ", ";
	}
	if (session->retain_count)
		printf("%skeeps %" PRIu64 " closed chunk%s", comma, session->retain_count,
		       wmk_cli_plural(session->retain_count));
	return is_scheduled || session->retain_count;
}

static void show_tracker(const char *what, bool narrowed, const uint64_t *ids, unsigned n)
{
	if (!narrowed)
		return;
	printf("  only %s:", what);
	for (unsigned i = 0; i < n; i++)
		printf(" %" PRIu64, ids[i]);
	puts(n ? "" : " none");
}

void wmk_show_session(const struct waymark_ctl_session_info *session, const char *channel)
{
	const struct waymark_ctl_trackers *trackers = session->trackers;
	time_t created = (time_t)session->created;
	char date[64] = "", size[32];
	struct tm tm;

	if (localtime_r(&created, &tm))
		strftime(date, sizeof(date), "%Y-%m-%d %H:%M:%S", &tm);
	heading(session->name);
	printf(": %s, created %s, clock %s\n  ", state_of(session), date,
	       session->clock < WMK_CTL_CLOCKS ? wmk_ctl_clocks[session->clock] : "unknown");
	if (*session->description)
		printf("description: %s\n  ", wmk_cli_clean(session->description));
	if (session->max_size)
		printf("maximum size of the trace: %s%s\n  ", wmk_cli_size_text(session->max_size, size, sizeof(size)),
		       session->full ? ", reached: `waymark clear` frees space" : "");
	if (session->trace_format != WAYMARK_CTL_CTF_1_8)
		printf("trace format: Common Trace Format 2\n  ");
	if (session->rotations)
		printf("%" PRIu64 " closed chunk%s, the latest in archives/%s\n  ", session->rotations,
		       session->rotations > 1 ? "s" : "", wmk_cli_clean(session->closed_chunk));
	if (session->snapshots_omitted)
		printf("%" PRIu64 " snapshot request%s of applications %s not served\n  ", session->snapshots_omitted,
		       wmk_cli_plural(session->snapshots_omitted), session->snapshots_omitted == 1 ? "was" : "were");
	if (*session->shm_path)
		printf("ring files in %s\n  ", wmk_cli_clean(session->shm_path));
	if (session->flush_us)
		printf("live: flushed every %g ms\n  ", (double)session->flush_us / 1000);
	if (session->no_statedump)
		printf("no state dump\n  ");
	if (session->compress)
		printf("closed chunks are compressed\n  ");
	if (wmk_show_rotation(session))
		printf("\n  ");
	if (*session->url)
		printf("sent to %s, spool of at most %s in %s\n  ", wmk_cli_clean(session->url),
		       wmk_cli_size_text(session->spool_size, size, sizeof(size)), wmk_cli_clean(session->path));
	wmk_show_counts(session);
	wmk_show_unrecorded(session);
	show_tracker("processes", trackers->pid, trackers->pids, trackers->n_pids);
	show_tracker("users", trackers->uid, trackers->uids, trackers->n_uids);
	show_tracker("groups", trackers->gid, trackers->gids, trackers->n_gids);
	show_tracker("processes in the kernel domain", trackers->kernel_pid, trackers->kernel_pids,
		     trackers->n_kernel_pids);
	for (unsigned i = 0; i < session->n_channels; i++)
		if (!channel || strcmp(session->channels[i]->name, channel) == 0)
			show_channel(session->channels[i]);
	if (!session->n_channels)
		puts("  no channels: `waymark enable-event` creates one");
}

static void show_memory(const char *name, uint64_t memory, uint64_t reclaimed)
{
	char bytes[32];

	printf("  %-24s  %10s", name, wmk_cli_bytes_text(memory, bytes, sizeof(bytes)));
	if (reclaimed)
		printf("  (%s given back)", wmk_cli_bytes_text(reclaimed, bytes, sizeof(bytes)));
	putchar('\n');
}

void wmk_show_memory(const struct waymark_ctl_session_info *const *sessions, unsigned n, const char *channel)
{
	uint64_t all = 0;
	char bytes[32];

	for (unsigned i = 0; i < n; i++) {
		uint64_t sum = 0, reclaimed = 0;

		heading(sessions[i]->name);
		puts(":");
		for (unsigned k = 0; k < sessions[i]->n_channels; k++) {
			const struct waymark_ctl_channel_info *is = sessions[i]->channels[k];

			if (channel && strcmp(is->name, channel) != 0)
				continue;
			show_memory(is->name, is->memory, is->reclaimed);
			sum += is->memory;
			reclaimed += is->reclaimed;
		}
		if (!channel)
			show_memory("together", sum, reclaimed);
		all += sum;
	}
	if (n > 1)
		printf("All sessions: %s\n", wmk_cli_bytes_text(all, bytes, sizeof(bytes)));
	if (!n)
		puts("There are no sessions; `waymark create` creates one.");
}

/* ── applications ────────────────────────────────────────────────────────────────────────────────────── */

void wmk_show_fields(const struct waymark_ctl_event_info *event)
{
	size_t longest = 0;

	for (unsigned i = 0; i < event->n_fields; i++)
		longest = strlen(event->fields[i]->name) > longest ? strlen(event->fields[i]->name) : longest;
	for (unsigned i = 0; i < event->n_fields; i++) {
		const struct waymark_ctl_field_info *field = event->fields[i];
		bool unit = field->unit && field->unit[0];

		printf("      %-*s  %s%s%s%s\n", width_of(longest, ""), wmk_cli_clean(field->name),
		       wmk_cli_clean(field->type), unit ? " (" : "", unit ? wmk_cli_clean(field->unit) : "",
		       unit ? ")" : "");
	}
}

static void show_event(const struct waymark_ctl_event_info *event, int width, bool fields)
{
	const char *level = waymark_ctl_level_name(event->level);
	char name[320], place[512] = "";

	snprintf(name, sizeof(name), "%s:%s", event->provider, event->name);
	if (event->file && event->file[0])
		snprintf(place, sizeof(place), "%.480s:%" PRIu32, event->file, event->line);
	printf("  %-*s  %-14s  %-8s  %s\n", width, wmk_cli_clean(name), level ? level : "?",
	       event->enabled ? "enabled" : "", wmk_cli_clean(place));
	if (fields)
		wmk_show_fields(event);
}

static void show_app(const struct waymark_ctl_app_info *app, bool fields)
{
	const struct passwd *user = getpwuid((uid_t)app->uid);
	size_t longest = 0;

	heading(wmk_cli_clean(app->name));
	printf(" (pid %" PRIu64 ", user ", app->pid);
	if (user)
		fputs(user->pw_name, stdout);
	else
		printf("%" PRIu64, app->uid);
	printf("%s%s): %u event%s%s%s\n", app->exe && app->exe[0] ? ", " : "", app->exe ? wmk_cli_clean(app->exe) : "",
	       app->n_known, wmk_cli_plural(app->n_known), app->why && app->why[0] ? "; " : "",
	       app->why ? wmk_cli_clean(app->why) : "");
	for (unsigned i = 0; i < app->n_events; i++) {
		size_t len = strlen(app->events[i]->provider) + 1 + strlen(app->events[i]->name);

		longest = len > longest ? len : longest;
	}
	for (unsigned i = 0; i < app->n_events; i++)
		show_event(app->events[i], width_of(longest, ""), fields);
}

void wmk_show_apps(const struct waymark_ctl_app_info *const *apps, unsigned n, bool fields)
{
	if (!n)
		puts("No instrumented application is running.");
	for (unsigned i = 0; i < n; i++)
		show_app(apps[i], fields);
}
