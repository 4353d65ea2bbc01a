/* SPDX-License-Identifier: MIT */
/*
 * describe.c - describe sessions and channels for the protocol (wire/ctl.h).
 */
#include "ring/set.h"
#include "session/control/ring_requests.h"
#include "session/kernel/kernel_channel.h"
#include "session/model/session_model.h"
#include "session/model/stale_claims.h"
#include "session/model/unrecorded.h"

#include "base/error.h"

#include <waymark/ring.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/*
 * The kernel's list of events is long: the daemon reads the list at most once per description, and only for kernel
 * channels.
 */
struct described_classes {
	bool looked;
	struct wmk_kcatalog *catalog;    /* NULL: unavailable */
};

static const struct wmk_kcatalog *catalog_of(struct wmk_tracing *tracing, struct described_classes *known)
{
	if (!known->looked && wmk_kernel_catalog(tracing, &known->catalog) < 0) {
		wmk_error_clear();
		known->catalog = NULL;
	}
	known->looked = true;
	return known->catalog;
}

/* The memory of a ring set is a file: the blocks of the file are the memory that the ring set occupies. */
static uint64_t memory_of(const struct wmk_session_channel *channel)
{
	uint64_t bytes = 0;
	struct stat st;

	for (const struct rings *rings = channel->session->rings; rings; rings = rings->next)
		if (rings->channel != channel)
			continue;
		else if (rings->kernel)
			bytes += rings->bytes;
		else if (rings->set && fstat(waymark_ring_set_fd(rings->set), &st) == 0)
			bytes += (uint64_t)st.st_blocks * 512;
	return bytes;
}

/* The memory that idle rings have returned to the system. */
static uint64_t reclaimed_of(const struct wmk_session_channel *channel)
{
	uint64_t bytes = 0;

	for (const struct rings *rings = channel->session->rings; rings; rings = rings->next) {
		const bool is_wanted = rings->channel == channel && rings->set;

		for (uint32_t i = 0; is_wanted && i < waymark_ring_set_rings(rings->set); i++)
			bytes += wmk_ring_set_reclaimed(rings->set, i);
	}
	return bytes;
}

static int channel_describe(const struct wmk_session_channel *channel, struct described_classes *known,
			    struct wmk_ctl_channel *is, struct wmk_arena *arena)
{
	int err = wmk_object_copy(&wmk_ctl_channel_object, &channel->is, is, arena);

	if (err < 0)
		return err;
	for (uint32_t i = 0; i < is->rules.n; i++) {
		struct wmk_ctl_rule *rule = (struct wmk_ctl_rule *)is->rules.items + i;

		rule->matched = wmk_channel_is_kernel(channel)
					? wmk_kernel_fitting(catalog_of(channel->session->tracing, known), rule)
					: wmk_tracing_fitting(channel->session->tracing, rule);
	}
	wmk_channel_counts(channel, &is->counts);
	is->memory = memory_of(channel);
	is->reclaimed = reclaimed_of(channel);
	return 0;
}

int wmk_session_describe(struct wmk_session *session, struct wmk_ctl_session *is, struct wmk_arena *arena)
{
	wmk_session_free_stale_claims(session);
	wmk_session_count(session);
	return wmk_session_describe_known(session, is, arena);
}

int wmk_session_describe_known(struct wmk_session *session, struct wmk_ctl_session *is, struct wmk_arena *arena)
{
	struct wmk_ctl_session bare = {
		.name = session->name,
		.path = session->path,
		.uid = session->uid,
		.gid = session->gid,
		.created = session->created,
		.active = session->active,
		.started = session->started,
		.settings = session->settings,
		.full = session->full,
		.stopping = session->stopping,
		.trackers = session->trackers,
		.rotations = session->chunk.number,
		.closed_chunk = session->chunk.closed,
		.snapshots_omitted = session->snapshots_omitted,
	};
	struct described_classes known = { false, NULL };
	int err = wmk_object_copy(&wmk_ctl_session_object, &bare, is, arena);

	for (unsigned i = 0; err == 0 && i < session->n_channels; i++) {
		struct wmk_counts own = { 0 };

		if (session->channels[i]->own) {         /* the channel is hidden, but its losses count */
			wmk_channel_counts(session->channels[i], &own);
			wmk_counts_add(&is->counts, &own);
			continue;
		}
		struct wmk_ctl_channel *channel = wmk_arena_append(arena, &is->channels, sizeof(*channel));

		err = channel ? channel_describe(session->channels[i], &known, channel, arena) : -ENOMEM;
		if (err == 0)
			wmk_counts_add(&is->counts, &channel->counts);
	}
	wmk_kcatalog_close(known.catalog);
	return err < 0 ? err : wmk_session_unrecorded(session, is, arena);
}
