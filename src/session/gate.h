/* SPDX-License-Identifier: MIT */
/*
 * gate.h - where programs come in: one thread accepts, and dispatches.
 *
 *     app.sock ──accept4()──► accepting thread ──take(shard, socket): the shard's wait-free queue──► shard 0 .. n-1
 *
 * It does nothing that can take long, so that a thousand programs that were woken at once find room in the listening queue. All connections
 * of one process go to the same shard. The thread sleeps when nothing comes.
 */
#ifndef WMK_SESSION_GATE_H
#define WMK_SESSION_GATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct wmk_gate;

struct wmk_gate_options {
	size_t size;                     /* sizeof(struct wmk_gate_options) */
	int listener;                    /* non-blocking; stays the caller's */
	uid_t only;                      /* programs of this user, the others are refused in words; (uid_t)-1: of all */
	unsigned n_shards;
	/* Takes over the socket, whatever it returns. From the accepting thread: it must not block. */
	int (*take)(void *data, unsigned shard, int socket);
	void *data;
};

struct wmk_gate_stats {
	uint64_t accepted, refused;      /* refused: another user's */
	uint64_t turned_away;            /* no descriptor was left to hear them with */
};

int wmk_gate_open(const struct wmk_gate_options *options, struct wmk_gate **gate);
/* Nobody comes in any more when it returns; those who wait in the listener's queue stay there. */
void wmk_gate_close(struct wmk_gate *gate);
/* Any thread. */
void wmk_gate_stats(const struct wmk_gate *gate, struct wmk_gate_stats *stats);

#endif
