/* SPDX-License-Identifier: MIT */
/* clock_restart.c - a counter that goes back (see clock_restart.h). */
#include "consumer/clock_restart.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/sum.h"

#define HOLD_NS 10000000000u       /* limit of the time for which streams wait for the next chunk */

static void note(struct wmk_consumer *consumer, const char *words)
{
	struct wmk_output_trace *output = consumer->options.output;

	if (output->ops->note)
		output->ops->note(output, words);
}

/* Return the number of records of the ring set of a group. 0: it has none, or they cannot be counted. */
static uint64_t records_of(struct wmk_consumer *consumer, const struct wmk_group *group)
{
	struct wmk_ring_totals one;
	uint64_t sum = 0;

	for (size_t i = 0; i < consumer->n_sets; i++)
		for (uint32_t ring = 0; consumer->sets[i] == group->from &&
					ring < waymark_ring_set_rings(consumer->sets[i]); ring++)
			if (wmk_ring_set_totals(consumer->sets[i], ring, &one) == 0)
				wmk_sum_add(&sum, one.records);
	return sum;
}

void wmk_clock_restarted(struct wmk_consumer *consumer, const struct wmk_clock_point *point)
{
	struct wmk_consumer_clock *clock = &consumer->clock;
	char words[240];

	if (clock->restarted_ns)
		return;
	clock->restarted_ns = wmk_clock_monotonic();
	for (size_t i = 0; i < consumer->n_groups; i++)
		consumer->groups[i]->in_order = records_of(consumer, consumer->groups[i]);
	snprintf(words, sizeof(words),
		 "the clock went back from %llu to %llu: until the next chunk, each record repeats the time of the "
		 "previous record%s",
		 (unsigned long long)clock->last.value, (unsigned long long)point->value,
		 consumer->options.restarted ? "" : " (create another session)");
	note(consumer, words);
	if (consumer->options.restarted)
		consumer->options.restarted(consumer->options.data);
}

bool wmk_clock_restart_awaits_chunk(const struct wmk_consumer *consumer)
{
	const uint64_t since = consumer->clock.restarted_ns;

	return since && consumer->options.restarted && consumer->options.output->ops->rotate &&
	       wmk_clock_monotonic() - since < HOLD_NS;
}

void wmk_clock_restart_expire(struct wmk_consumer *consumer, bool now)
{
	if (!consumer->clock.restarted_ns || consumer->rotating || (wmk_clock_restart_awaits_chunk(consumer) && !now))
		return;
	for (size_t i = 0; i < consumer->n_streams; i++) {
		struct wmk_stream *stream = consumer->streams[i];

		if (!stream->group->is_next)
			continue;
		stream->source->ops->chunk_cut_at(stream->source, NULL);
		stream->has_cut = false;
	}
	for (size_t i = 0; i < consumer->n_groups; i++)
		consumer->groups[i]->is_next = false;
}

void wmk_clock_restart_end(struct wmk_consumer *consumer)
{
	uint64_t repeated = 0;
	char words[160];

	for (size_t i = 0; i < consumer->n_groups && consumer->clock.restarted_ns; i++) {
		const struct wmk_group *group = consumer->groups[i];
		const uint64_t now = group->is_next ? 0 : records_of(consumer, group);

		wmk_sum_add(&repeated, now > group->in_order ? now - group->in_order : 0);
	}
	if (consumer->clock.restarted_ns) {
		snprintf(words, sizeof(words),
			 "the chunk ends because its clock restarted: at least the last %llu records repeat the time "
			 "of the previous record",
			 (unsigned long long)repeated);
		note(consumer, words);
	}
	consumer->clock.restarted_ns = 0;
	for (size_t i = 0; i < consumer->n_groups; i++)
		consumer->groups[i]->is_next = false;
}
