/* SPDX-License-Identifier: MIT */
/*
 * process_set.c - the known processes in the domain of a channel with `follow` (tracker.c), by pid and start time.
 *
 * The set is an open-addressing hash table; its size is a power of two, and at most half of its entries are used.
 * Before the table grows, entries of processes that have ended are removed. A removed entry is still needed in only one
 * case: the process forked a child just before the process ended, and the child registers after the removal. Under the
 * session's lock.
 */
#include "session/model/process_set.h"

#include "session/model/process_stat.h"
#include "session/model/session_model.h"
#include <stdlib.h>

#define MEMBERS_MAX 65536u
#define PLACES_MIN 16u
#define REFUSED_UNTIL_LOOK 4096u     /* a full table is checked for ended processes once in this many rejections */

/* Return the entry of the process, or the free entry for the process. */
static struct process_set_entry *place_of(struct process_set_entry *places, unsigned n, pid_t pid, uint64_t start_time)
{
	uint64_t h = ((uint64_t)pid * 0x9e3779b97f4a7c15u) ^ start_time * 0xc2b2ae3d27d4eb4fu;
	unsigned at = (unsigned)(h ^ h >> 32) & (n - 1);

	while (places[at].pid && (places[at].pid != pid || places[at].start_time != start_time))
		at = (at + 1) & (n - 1);
	return &places[at];
}

bool wmk_process_set_has(const struct process_set *members, pid_t pid, uint64_t start_time)
{
	return pid && members->n_places && place_of(members->places, members->n_places, pid, start_time)->pid;
}

bool wmk_process_set_has_pid(const struct process_set *members, pid_t pid, uid_t uid)
{
	for (unsigned i = 0; pid && i < members->n_places; i++)
		if (members->places[i].pid == pid && members->places[i].uid == uid)
			return true;
	return false;
}

/*
 * Move the entries of processes that still run to a new table of at least four times their number. No memory: no
 * change.
 */
static void renew(struct process_set *members)
{
	unsigned n = PLACES_MIN, living = 0;

	for (unsigned i = 0; i < members->n_places; i++) {
		struct process_set_entry *is = &members->places[i];

		is->ended = is->pid && !wmk_process_lives(is->pid, is->start_time);
		living += is->pid && !is->ended;
	}
	while (n < 4 * living)
		n *= 2;
	struct process_set_entry *places = calloc(n, sizeof(*places));

	for (unsigned i = 0; places && i < members->n_places; i++)
		if (members->places[i].pid && !members->places[i].ended)
			*place_of(places, n, members->places[i].pid, members->places[i].start_time) =
				members->places[i];
	if (!places)
		return;
	free(members->places);
	members->places = places;
	members->n_places = n;
	members->n = living;
}

void wmk_process_set_add(struct process_set *members, pid_t pid, uint64_t start_time, uid_t uid)
{
	if (!pid || wmk_process_set_has(members, pid, start_time))
		return;
	if (members->n == MEMBERS_MAX ? members->refused++ % REFUSED_UNTIL_LOOK == 0
				      : 2 * members->n >= members->n_places)
		renew(members);
	if (members->n == MEMBERS_MAX || 2 * members->n >= members->n_places)
		return;
	*place_of(members->places, members->n_places, pid, start_time) =
		(struct process_set_entry){ .pid = pid, .start_time = start_time, .uid = uid };
	members->n++;
}

void wmk_process_set_free(struct process_set *members)
{
	free(members->places);
}
