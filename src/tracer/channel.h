/* SPDX-License-Identifier: MIT */
/*
 * channel.h - channels of this process, and their state after a connection ends.
 *
 * A channel outlives its connection in three cases:
 * - in the child of a fork, which continues to record until it has registered;
 * - during system calls that require a process without helper thread;
 * - after a session daemon with the flag PERSIST has ended, until the next session daemon connects.
 *
 * An orphan channel belongs to the endpoint from which it was received: the endpoint of root's session daemon, or of
 * the user's session daemon. A session daemon of this endpoint adopts the orphan, recorder by recorder, by a message
 * CHANNEL with the same ring set. libwaymark removes the recorders that the session daemon has not confirmed by its
 * first DONE.
 *
 * All functions are called with the lock held.
 */
#ifndef WMK_TRACER_CHANNEL_H
#define WMK_TRACER_CHANNEL_H

#include <stdbool.h>
#include <stdint.h>

#include <waymark/ring.h>

#include "tracer/tracer.h"
#include "wire/wire.h"

struct wmk_conn;

struct wmk_channel {
	struct wmk_channel *next;
	struct wmk_conn *conn;          /* NULL: an orphan */
	struct waymark_ring_set *set;
	/* memfd of the set, open in the helper thread, for the next session daemon; or -1 */
	int fd;
	uint8_t endpoint;               /* index of its endpoint */
	bool persist;                   /* an orphan is kept for the next session daemon */
	bool is_private;                /* a forked child must not use it */
	uint32_t number;
	uint32_t field_limit;
	uint8_t uuid[16];
	uint8_t n_contexts;
	uint8_t contexts[WMK_WIRE_CONTEXTS_MAX];
	uint16_t ctx_key;               /* see wmk_context_cache_key() */
	uint8_t ctx_words;
	bool short_clock;               /* the clock is the counter, which the fast path in enter.S reads */
	uint32_t enabled;               /* number of recorders ... */
	uint32_t enabled_helpers;       /* ... and number of recorders with events of the helper thread */
	uint64_t mapped_position;       /* bytes written when the helper thread last mapped ahead */
	int64_t unused_ms;              /* the end of the grace period after the removal, by wmk_clock_ms() */
};

/* Lock held. The body of the loop must not remove the channel. */
#define wmk_for_each_channel(channel) \
	for (struct wmk_channel *channel = wmk_tracer.channels; channel; channel = channel->next)

/* Find the channel with the number `number` in the connection. NULL: none. */
struct wmk_channel *wmk_channel_find(const struct wmk_conn *conn, uint32_t number);
/*
 * Handle the message CHANNEL: adopt the orphan with the same ring set, or create a channel. *fd is the memfd of the
 * set; if the channel keeps it, *fd becomes -1. Returns 0 or -errno with a cause chain.
 */
int wmk_channel_receive(struct wmk_conn *conn, const struct wmk_channel_msg *msg, int *fd);
/* Remove the recorders of a channel, then the channel. */
void wmk_channel_remove(struct wmk_channel *channel);
/*
 * Called before the connection closes: with `keep`, the channels of the connection become orphans, at most as many as
 * one connection may have; otherwise, the channels are removed.
 */
void wmk_channels_disown(struct wmk_conn *conn, bool keep);
/* True if the endpoint has orphans of an earlier session daemon, which the next session daemon may reattach. */
bool wmk_channels_has_orphans(unsigned endpoint);
/* Send the message RINGS, with the ring sets of the previous session daemon. Returns 0 or -errno. */
int wmk_channels_hand_back(struct wmk_conn *conn);
/*
 * Called after the first DONE of a connection: remove the recorders and orphans that the session daemon has not
 * confirmed.
 */
void wmk_channels_confirmed(struct wmk_conn *conn);
/*
 * Remove the orphans of an endpoint, or of all endpoints if `endpoint` is WMK_ENDPOINTS. With `persistent`, also remove
 * orphans that are kept for the next session daemon.
 */
void wmk_orphans_remove(unsigned endpoint, bool persistent);
/*
 * Forget the descriptors of sets. `close_them`: close the descriptors first. `close_them` is false if the descriptor
 * table that contains the descriptors of the sets no longer exists.
 */
void wmk_channels_forget_fds(bool close_them);
/* In a forked child, remove the channels that belong to the parent only. Returns whether there were any. */
bool wmk_channels_remove_private(void);

/*
 * Map the ring memory that the application will write next. The helper thread calls this function again after the
 * returned time in ms. The returned time becomes shorter while the application fills the rings, and longer otherwise.
 *
 * Returns -1 if no mapping is needed until another event wakes the helper thread. An idle application does not wake up
 * when other applications fill the rings. When recording resumes after a pause, the application has one page fault for
 * each new page.
 *
 * `period` -1: the first call. The first mapping begins 1 ms later, so a short program does not map memory ahead.
 * Helper thread only.
 */
int wmk_channels_map_ahead(int period);

#endif
