/* SPDX-License-Identifier: MIT */
/*
 * consumer_port_counts.c - reports of the consumer daemon about rings: their counts, and streams that ended early
 * because the ring is corrupt. Errors about a corrupt stream name the user and the applications that could write to the
 * ring.
 */
#include "sessiond/consumer_port_traces.h"

#include "base/error.h"
#include "ctf/writer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

void wmk_port_rings_user(void *data, uid_t uid, const char *name, pid_t pid)
{
	struct port_rings *rings = data;
	char one[80];

	snprintf(one, sizeof(one), "%.40s (process %d)", name && *name ? name : "unnamed", (int)pid);
	pthread_mutex_lock(&rings->trace->lock);
	const size_t len = strlen(rings->users);

	if (len == 0)
		snprintf(rings->users, sizeof(rings->users), "user %u, %s", (unsigned)uid, one);
	else if (strstr(rings->users, one) == NULL && !rings->users_many) {
		rings->users_many = len + strlen(one) + 8 >= sizeof(rings->users);
		snprintf(rings->users + len, sizeof(rings->users) - len, ", %s", rings->users_many ? "..." : one);
	}
	pthread_mutex_unlock(&rings->trace->lock);
}

/*
 * Get the names of the applications that could write to the rings. If no application that could write to the rings has
 * registered with this daemon, `users` receives the path of the trace.
 */
static void users_of(struct port_rings *rings, char users[OUT_USERS])
{
	pthread_mutex_lock(&rings->trace->lock);
	snprintf(users, OUT_USERS, "%.149s", rings->users[0] ? rings->users : rings->trace->sub);
	pthread_mutex_unlock(&rings->trace->lock);
}

/* Add a comment about a corrupt ring to the metadata, with the stream and the reason. Readers skip comments. */
static void name_in_trace(struct port_rings *rings, const struct wmk_consumerd_stats *stats)
{
	struct wmk_ctf_text_buffer text = { 0 };
	char users[OUT_USERS], words[OUT_USERS + 512];

	if (!stats->words || !stats->words[0] || !rings->trace->has_comments)
		return;
	if (!stats->counts.errors && !stats->counts.gaps)
		return;
	/*
	 * Set the flag rings->named before writing the comment. If another thread replaces the metadata at the same
	 * time, the comment may be lost. metadata_replace() then resets the flag, so that a later report writes the
	 * comment again. (relaxed: a second comment does no harm)
	 */
	if (atomic_exchange_explicit(&rings->named, true, memory_order_relaxed))
		return;
	users_of(rings, users);
	snprintf(words, sizeof(words), "%s: %.500s", users, stats->words);
	if (wmk_ctf_comment_text(&text, words) < 0 ||
	    wmk_consumer_link_metadata(rings->trace->side->link, rings->trace->number, text.text, text.len, false,
				       0) < 0) {
		atomic_store_explicit(&rings->named, false, memory_order_relaxed);
		wmk_error_clear();
	}
	wmk_ctf_text_free(&text);
}

void wmk_port_counts_keep(struct port_rings *rings, const struct wmk_consumerd_report *report)
{
	struct wmk_counts sum = { 0 }, earlier = { 0 };

	for (uint32_t i = 0; i < report->channels.n; i++) {
		const struct wmk_consumerd_stats *s =
			&((const struct wmk_consumerd_channel *)report->channels.items + i)->stats;

		wmk_counts_add(&sum, &s->counts);
		wmk_counts_add(&earlier, &s->earlier);
		name_in_trace(rings, s);
	}
	rings->counts = sum;
	rings->earlier = earlier;
}

int wmk_port_rings_corrupt(struct port_rings *rings, const struct wmk_consumerd_report *report)
{
	char users[OUT_USERS];

	for (uint32_t i = 0; i < report->channels.n; i++) {
		const struct wmk_consumerd_stats *s =
			&((const struct wmk_consumerd_channel *)report->channels.items + i)->stats;

		if (!s->counts.errors || !s->words || !s->words[0])
			continue;
		users_of(rings, users);
		wmk_errorx(-EPROTO, "%s", s->words);
		return wmk_error_add(-EPROTO, "%s", users);
	}
	return 0;
}
