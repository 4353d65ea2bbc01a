/* SPDX-License-Identifier: MIT */
/*
 * report.c - the report of the counts of a trace, by channel: the reply to several requests.
 */
#include "consumer/report.h"

#include <string.h>

#include "base/error.h"
#include "consumer/connection.h"

static void stats_out(const struct wmk_consumer_stats *from, struct wmk_consumerd_stats *to)
{
	*to = (struct wmk_consumerd_stats){
		.counts = from->counts,
		.earlier = from->earlier,
		.output_error = (uint32_t)-from->output_error,
		.stuck = from->stuck,
		.words = from->words,
	};
}

static void stats_sum(struct wmk_consumerd_stats *sum, const struct wmk_consumerd_stats *more, struct wmk_arena *arena)
{
	wmk_consumerd_stats_add(sum, more);
	sum->stuck |= more->stuck;
	if ((!sum->words || !sum->words[0]) && more->words && more->words[0])
		sum->words = wmk_arena_text(arena, more->words);
}

/*
 * Add `stats` to the counts of the channel in the list, or append the channel if the list does not contain the channel.
 * The list and the strings of the list are in the arena. The counts are dropped if no memory is available.
 */
static void channel_add(struct wmk_list *list, const char *channel, const struct wmk_consumerd_stats *stats,
			struct wmk_arena *arena)
{
	struct wmk_consumerd_channel *items = list->items;
	uint32_t i = 0;

	while (i < list->n && strcmp(items[i].channel, channel) != 0)
		i++;
	if (i == list->n) {
		if (i == WMK_CONSUMERD_CHANNELS_MAX || !wmk_arena_append(arena, list, sizeof(*items))) {
			wmk_error_clear();
			return;
		}
		items = list->items;
		items[i].channel = wmk_arena_text(arena, channel);
		if (!items[i].channel) {
			list->n--;
			wmk_error_clear();
			return;
		}
	}
	stats_sum(&items[i].stats, stats, arena);
}

void wmk_server_report_add(struct wmk_list *list, const char *channel, const struct wmk_consumer_stats *stats,
			   struct wmk_arena *arena)
{
	struct wmk_consumerd_stats out;

	stats_out(stats, &out);
	channel_add(list, channel, &out, arena);
}

void wmk_server_report(struct wmk_server_work *work)
{
	struct wmk_server_trace *trace = work->trace;
	const struct wmk_consumerd_channel *gone = trace->is.gone.items;
	struct wmk_consumerd_report answer = { 0 };
	struct wmk_arena arena = { 0 };

	for (unsigned i = 0; i < work->n_rings; i++)
		wmk_server_report_add(&answer.channels, work->rings[i]->is.channel, &work->stats[i], &arena);
	for (uint32_t i = 0; i < trace->is.gone.n && !work->target; i++)
		channel_add(&answer.channels, gone[i].channel, &gone[i].stats, &arena);
	wmk_server_reply(trace->server, work->connection, work->request, &wmk_consumerd_report_object, &answer);
	wmk_arena_free(&arena);
}
