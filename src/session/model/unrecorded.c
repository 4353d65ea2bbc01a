/* SPDX-License-Identifier: MIT */
/* unrecorded.c - see unrecorded.h. */
#include "session/model/unrecorded.h"

#include "base/error.h"
#include "ring/set.h"
#include "session/model/shard_table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* One application and one reason. */
struct note {
	pid_t pid;                       /* 0: no particular application */
	uid_t uid;
	enum wmk_unrecorded reason;
	char name[WMK_WIRE_NAME_MAX + 1];
	char why[320];
};

/* Under the session's lock. */
struct unrecorded {
	unsigned n;
	uint64_t more;                   /* notes that did not fit */
	bool restored;                   /* the session recorded while no session daemon ran */
	struct note notes[WMK_CTL_UNRECORDED_MAX];
};

/* Totals of all sessions, as hints: if a total is 0, registrations skip the search. Relaxed. */
static atomic_uint n_restored, n_users;

static struct unrecorded *unrecorded_get(struct wmk_session *session)
{
	if (!session->unrecorded)
		session->unrecorded = calloc(1, sizeof(*session->unrecorded));
	return session->unrecorded;
}

static void note(struct wmk_session *session, const struct note *is)
{
	struct unrecorded *all = unrecorded_get(session);

	if (!all)
		return;
	for (unsigned i = 0; i < all->n; i++)
		if (all->notes[i].pid == is->pid && all->notes[i].reason == is->reason)
			return;
	if (all->n < WMK_CTL_UNRECORDED_MAX)
		all->notes[all->n++] = *is;
	else
		all->more++;
	if (is->reason == WMK_UNRECORDED_USER)
		atomic_fetch_add_explicit(&n_users, 1, memory_order_relaxed);
}

static void sentence(struct note *is, int err, const char *words)
{
	const char *system = err ? strerrordesc_np(err) : NULL;

	wmk_error_format(is->why, sizeof(is->why), "%s%s%s%s%s", wmk_unrecorded_messages[is->reason],
			 words && *words ? ": " : "", words ? words : "", system ? ": " : "", system ? system : "");
}

void wmk_unrecorded_in(struct wmk_session *session, const struct app_key *app, enum wmk_unrecorded reason, int err,
		       const char *words)
{
	struct note is = { .pid = app->pid, .uid = app->uid, .reason = reason };

	/* A process has no name before the daemon accepts its first message. */
	snprintf(is.name, sizeof(is.name), "%s", app->name[0] ? app->name : "a process");
	sentence(&is, err, words);
	note(session, &is);
}

bool wmk_unrecorded_forget_user(struct wmk_session *session, pid_t pid)
{
	struct unrecorded *all = session->unrecorded;

	for (unsigned i = 0; all && i < all->n; i++)
		if (all->notes[i].pid == pid && all->notes[i].reason == WMK_UNRECORDED_USER) {
			all->notes[i] = all->notes[--all->n];
			atomic_fetch_sub_explicit(&n_users, 1, memory_order_relaxed);
			return true;
		}
	return false;
}

bool wmk_unrecorded_any_user(void)
{
	return atomic_load_explicit(&n_users, memory_order_relaxed) != 0;
}

/* ── restarts ────────────────────────────────────────────────────────────────────────────────────────── */

bool wmk_unrecorded_is_restored(const struct wmk_session *session)
{
	return session ? session->unrecorded && session->unrecorded->restored :
			 atomic_load_explicit(&n_restored, memory_order_relaxed) != 0;
}

void wmk_unrecorded_restored(struct wmk_session *session)
{
	struct unrecorded *all = session->active && !session->recovered ? unrecorded_get(session) : NULL;
	struct note is = { .uid = session->uid, .reason = WMK_UNRECORDED_RESTART };
	const time_t now = time(NULL);
	bool any = false;
	char when[40];
	struct tm tm;

	for (unsigned i = 0; i < session->n_channels; i++)
		any |= !session->channels[i]->own && session->channels[i]->is.domain.kind != WMK_DOMAIN_KERNEL;
	if (!all || !any || all->restored)
		return;
	all->restored = true;
	atomic_fetch_add_explicit(&n_restored, 1, memory_order_relaxed);
	localtime_r(&now, &tm);
	strftime(when, sizeof(when), "restarted at %H:%M:%S", &tm);
	sentence(&is, 0, when);
	note(session, &is);
}

/* ── rings ───────────────────────────────────────────────────────────────────────────────────────────── */

static void look_at(struct wmk_session *session, const struct rings *rings)
{
	static const enum wmk_unrecorded reasons[WMK_RING_WHY_COUNT] = {
		[WMK_RING_WHY_PROTECT] = WMK_UNRECORDED_PROTECT,
		[WMK_RING_WHY_SHARED_STORAGE] = WMK_UNRECORDED_SHARED_STORAGE,
	};
	uint32_t slot, generation;
	enum wmk_ring_why why;

	for (unsigned i = 0; wmk_ring_set_explained(rings->set, i, &why, &slot, &generation); i++) {
		struct note is = { .uid = rings->trace->uid, .reason = reasons[why] };
		char name[16];

		if (wmk_slot_describe(session->tracing, slot, generation, rings->trace->uid, &is.pid, name))
			snprintf(is.name, sizeof(is.name), "%s", name);
		sentence(&is, 0, NULL);
		note(session, &is);
	}
}

void wmk_unrecorded_collect(struct wmk_session *session)
{
	for (const struct rings *rings = session->rings; rings; rings = rings->next)
		if (rings->set)
			look_at(session, rings);
}

/* ── lists ───────────────────────────────────────────────────────────────────────────────────────────── */

int wmk_session_unrecorded(struct wmk_session *session, struct wmk_ctl_session *is, struct wmk_arena *arena)
{
	wmk_unrecorded_collect(session);
	for (unsigned i = 0; session->unrecorded && i < session->unrecorded->n; i++) {
		const struct note *from = &session->unrecorded->notes[i];
		struct wmk_ctl_unrecorded *to = wmk_arena_append(arena, &is->unrecorded, sizeof(*to));

		if (!to)
			return -ENOMEM;
		*to = (struct wmk_ctl_unrecorded){
			.pid = (uint64_t)from->pid, .uid = from->uid, .reason = from->reason,
			.in_part = wmk_unrecorded_in_part[from->reason],
			.name = wmk_arena_text(arena, from->name), .why = wmk_arena_text(arena, from->why),
		};
		if (!to->name || !to->why)
			return -ENOMEM;
	}
	is->unrecorded_more = session->unrecorded ? session->unrecorded->more : 0;
	return 0;
}

void wmk_unrecorded_free(struct wmk_session *session)
{
	if (session->unrecorded && session->unrecorded->restored)
		atomic_fetch_sub_explicit(&n_restored, 1, memory_order_relaxed);
	for (unsigned i = 0; session->unrecorded && i < session->unrecorded->n; i++)
		if (session->unrecorded->notes[i].reason == WMK_UNRECORDED_USER)
			atomic_fetch_sub_explicit(&n_users, 1, memory_order_relaxed);
	free(session->unrecorded);
}
