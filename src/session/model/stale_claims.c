/* SPDX-License-Identifier: MIT */
/*
 * stale_claims.c - free what applications of an earlier daemon left when they ended: traces of their own, and claims of
 * rings.
 *
 *     restored trace of a process ── process has ended? ──► the trace ends (on_ended)
 *     restored rings ── claim ── identity from the earlier daemon ── process has ended? ──► the claim is freed
 *
 * The session daemon loads all identities of earlier daemons before it restores the first session, and keeps the list
 * unchanged. An application that has registered again may still hold a ring claim under its old identity. An unknown or
 * hidden process counts as running, because the ring claims of a running process must not be freed.
 */
#include "session/model/stale_claims.h"

#include "base/error.h"
#include "ring/set.h"
#include "session/model/process_stat.h"

#include <errno.h>
#include <stdlib.h>

#define BEFORE_MAX (1u << 18)

int wmk_tracing_earlier_identities(struct wmk_tracing *tracing, const struct wmk_identity *is)
{
	unsigned n = tracing->n_before;

	if (is->slot == 0 || is->generation == 0 || is->generation > WMK_GENERATION_MAX || is->pid <= 0)
		return wmk_error(-EINVAL, "invalid identity: slot %u, generation %u, process %d", is->slot,
				 is->generation, (int)is->pid);
	if (n == BEFORE_MAX)
		return wmk_errorx(-E2BIG, "more than %u applications of an earlier daemon", BEFORE_MAX);
	if ((n & (n - 1)) == 0) {        /* 0 or a power of two: the array is full */
		struct wmk_identity *more = realloc(tracing->before, (n ? 2 * n : 1) * sizeof(*more));

		if (!more)
			return wmk_error(-ENOMEM, "no memory for the applications of an earlier daemon");
		tracing->before = more;
	}
	tracing->before[tracing->n_before++] = *is;
	return 0;
}

/* True if every process that had this identity has certainly ended. */
static bool has_ended(const struct wmk_tracing *tracing, uint32_t slot, uint32_t generation)
{
	bool ended = false;

	for (unsigned i = 0; i < tracing->n_before; i++) {
		const struct wmk_identity *is = &tracing->before[i];

		if (is->slot != slot || is->generation != generation)
			continue;
		if (wmk_process_lives(is->pid, is->birth))
			return false;
		ended = true;
	}
	return ended;
}

static void claims_look(struct rings *rings)
{
	const struct wmk_tracing *tracing = rings->session->tracing;
	uint32_t slot, generation;
	int freed = 0;

	for (uint32_t i = waymark_ring_set_cpus(rings->set); i < waymark_ring_set_rings(rings->set); i++)
		if (wmk_ring_set_claimed_by(rings->set, i, &slot, &generation) && has_ended(tracing, slot, generation))
			freed += waymark_ring_set_free_claims(rings->set, slot, generation);
	if (freed > 0)
		tracing->options.consumer->rings_wake(rings->output);
}

void wmk_session_free_stale_claims(struct wmk_session *session)
{
	const struct wmk_tracing_options *o = &session->tracing->options;
	bool ended = false;

	for (struct trace *trace = session->traces; trace; trace = trace->next)
		if (trace->restored && trace->output && trace->pid && !trace->ended &&
		    !wmk_process_lives(trace->pid, trace->start_time))
			trace->ended = ended = true;
	for (struct rings *rings = session->rings; rings && session->tracing->n_before; rings = rings->next)
		if (rings->restored && rings->set)
			claims_look(rings);
	if (ended && o->on_ended)
		o->on_ended(o->data, session);
}
