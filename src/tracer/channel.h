/* SPDX-License-Identifier: MIT */
/*
 * channel.h - the channels that controllers have given, and what becomes of them when a connection goes.
 *
 * A channel outlives its connection in three cases: in the child of a fork, which goes on recording before its own
 * registration is answered; around system calls that need a process without a helper; and when a controller that said
 * PERSIST has gone, until the next one. Such an orphan belongs to the place (root's controller, or the user's) that
 * gave it, and to no other. It is taken over when a controller there sends a channel with the same ring set, recorder
 * by recorder; what that has not confirmed by its first DONE is removed.
 *
 * All of it with the lock held.
 */
#ifndef WMK_TRACER_CHANNEL_H
#define WMK_TRACER_CHANNEL_H

#include <stdbool.h>
#include <stdint.h>

#include <waymark/ring.h>

#include "wire/wire.h"

struct wmk_conn;

struct wmk_channel {
	struct wmk_channel *next;
	struct wmk_conn *conn;          /* NULL: an orphan */
	struct waymark_ring_set *set;
	int fd;                         /* the set's, in the helper's table, for the next session daemon; or -1 */
	uint8_t endpoint;               /* index of the endpoint that gave it */
	bool persist;                   /* as an orphan it waits for the next session daemon */
	bool is_private;                /* not for the child of a fork */
	uint32_t number;
	uint32_t field_limit;
	uint8_t uuid[16];
	uint8_t n_contexts;
	uint8_t contexts[WMK_WIRE_CONTEXTS_MAX];
	uint16_t ctx_key;               /* see wmk_context_cache_key() */
	uint8_t ctx_words;
	bool short_clock;               /* the rings' clock is the one that the straight path reads */
	uint32_t enabled;               /* recorders ... */
	uint32_t enabled_helpers;       /* ... of which so many have events of the helper thread */
	uint64_t mapped_position;       /* bytes written when the helper mapped ahead last */
};

/* The connection's channel of this number, or NULL. */
struct wmk_channel *wmk_channel_find(const struct wmk_conn *conn, uint32_t number);
/*
 * The channel that a message tells, with the set that came along: an orphan that is the same, or a new one. *fd: the
 * set's; where the channel keeps it, it becomes -1. 0 or -errno with a cause chain.
 */
int wmk_channel_receive(struct wmk_conn *conn, const struct wmk_channel_msg *msg, int *fd);
/* Remove its recorders, then the channel itself. */
void wmk_channel_remove(struct wmk_channel *channel);
/* The connection is about to close: its channels become orphans (at most as many as one connection may have), or go. */
void wmk_channels_disown(struct wmk_conn *conn, bool keep);
/* Is something of an earlier controller in this place kept, to be handed back to the next? Lock held. */
bool wmk_channels_has_orphans(unsigned place);
/* Tell the controller of the sets that are here from the one before it: RINGS. 0 or -errno. */
int wmk_channels_hand_back(struct wmk_conn *conn);
/* The controller has sent all that it wants: what it has not confirmed goes. */
void wmk_channels_confirmed(struct wmk_conn *conn);
/*
 * Orphans of a place (those that wait for another controller too, if `persistent`), of all places if it is
 * WMK_ENDPOINTS.
 */
void wmk_orphans_remove(unsigned place, bool persistent);
/*
 * Descriptors of sets, which are in the helper's table: closed, if `close_them`; else they were in a table that is not
 * there any more.
 */
void wmk_channels_forget_fds(bool close_them);
/* In the child of a fork: what is its parent's alone is left. True: there was such a channel. */
bool wmk_channels_remove_private(void);

/*
 * One look at the rings: map what comes next. Looks more often while this program fills them, less while it does not,
 * and after some looks in vain not any more: a program that does nothing is not to wake, whatever others do. Where it
 * begins again after that, it faults pages in by itself, each once. Returns how long until the next look, in ms; -1: no
 * look is needed until something else wakes us. The first (`period` -1) comes a moment after what made it worth it: a
 * program that ends at once does without. The helper's; lock held.
 */
int wmk_channels_map_ahead(int period);

#endif
