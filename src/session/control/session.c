/* SPDX-License-Identifier: MIT */
/*
 * session.c - create, start, stop and destroy a session.
 *
 * The functions of this file change only the session, under its lock. After a change, wmk_tracing_update() reconciles
 * the applications with the session (app_barrier.c, app_reconcile.c).
 */
#include "session/snapshot.h"
#include "session/control/session.h"

#include "base/cond.h"
#include "base/error.h"
#include "base/utf8.h"
#include "session/control/ring_requests.h"
#include "session/kernel/kernel_channel.h"
#include "session/kernel/kernel_statedump.h"
#include "session/kernel/kernel_syscalls.h"
#include "session/model/channel.h"
#include "session/model/name_check.h"
#include "session/model/quota.h"
#include "session/model/rings.h"
#include "session/model/rotation_settings.h"
#include "session/model/session_clock.h"
#include "session/model/session_report.h"
#include "session/model/session_table.h"
#include "session/model/shm_path.h"
#include "session/model/stale_claims.h"
#include "session/model/trace_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ── create ──────────────────────────────────────────────────────────────────────────────────────────── */

/* Return the session's charges to the owner's quotas. A repeated call does nothing. */
static void uncount(struct wmk_session *session)
{
	/* relaxed: only the atomicity of the exchange matters */
	if (!atomic_exchange_explicit(&session->counted, false, memory_order_relaxed))
		return;
	wmk_quota_rules_uncharge(session->tracing, session->uid, session->rule_bytes);
	wmk_quota_trace_uncharge(session->tracing, session->uid, session->trace_bytes);
	wmk_quota_session_uncharge(session->tracing, session->uid);
}

static int shm_make(struct wmk_session *session, const struct wmk_session_options *options)
{
	char *path;
	int err = wmk_shm_make(options->settings.shm_path, options->name, session->created, &path, &session->shm);

	if (err < 0)
		return err;
	session->settings.shm_path = wmk_arena_text(&session->arena, path);
	if (!session->settings.shm_path)
		rmdir(path);
	free(path);
	return session->settings.shm_path ? 0 : -ENOMEM;
}

/*
 * A process that can write to a file of rings can truncate the file, and then the applications that record into the
 * file crash. Therefore only the daemon's own user may have rings in files.
 */
static int shm_fill(struct wmk_session *session, const struct wmk_session_options *options)
{
	session->recovered = options->shm == WMK_SHM_RECOVERED;
	if (session->uid != geteuid())
		return wmk_errorx(-EPERM, "rings in files (--shm-path) need a session daemon of your own: this one "
					  "runs as another user");
	if (options->shm == WMK_SHM_NEW)
		return shm_make(session, options);
	/* Without the directory, the session records into memory; applications may still reattach rings. */
	if (wmk_shm_open(session->settings.shm_path, &session->shm) < 0)
		wmk_session_report(session, wmk_error_number(),
				  "its rings in files are missing (recovered or removed); new rings are in memory");
	else if (!session->recovered && wmk_shm_lock(session->shm, false) < 0)
		return wmk_error_number();
	wmk_error_clear();
	return 0;
}

/* A new flight recorder has its own path as the output of snapshots. */
static int snapshot_fill(struct wmk_session *session)
{
	const struct wmk_ctl_snapshot_output output = { .session = session->name, .name = "", .path = session->path };

	if (!session->settings.snapshot || session->tracing->restoring)
		return 0;
	if (session->settings.max_size)
		return wmk_errorx(-EINVAL, "a limit of the trace (--max-size) has no effect with --snapshot: limit "
				  "each snapshot instead (waymark snapshot record --max-size)");
	if (session->settings.flush_us)
		return wmk_errorx(-EINVAL, "a flush interval (--live) has no effect with --snapshot: nothing is "
				  "written before a snapshot");
	if (session->settings.compress)
		return wmk_errorx(-EINVAL, "--compress has no effect with --snapshot: no chunk is closed");
	return *session->settings.snapshot_path ? 0 : wmk_session_snapshot_output(session, &output);
}

/*
 * If the session has a relay, the directory of the session is the spool for data that the relay has not acknowledged
 * yet.
 */
static int relay_fill(struct wmk_session *session)
{
	struct wmk_ctl_settings *settings = &session->settings;
	struct wmk_relay_url url;
	int err = *settings->url ? wmk_relay_url_parse(settings->url, &url) : 0;

	if (!*settings->url && settings->spool_size)
		return wmk_errorx(-EINVAL, "--spool-size has no effect without a relay (--set-url)");
	if (err < 0 || !*settings->url)
		return err;
	if (settings->max_size)
		return wmk_errorx(-EINVAL, "--max-size limits a trace in a directory; the spool of a session with "
				  "a relay is limited by --spool-size");
	if (settings->snapshot)
		return wmk_errorx(-EINVAL, "a flight recorder (--snapshot) has no relay: its snapshots are written "
				  "to directories");
	if (settings->compress)
		return wmk_errorx(-EINVAL, "--compress has no effect with a relay: the spool is not compressed");
	if (!settings->spool_size)
		settings->spool_size = WMK_RELAY_SPOOL_DEFAULT;
	if (settings->spool_size < WMK_RELAY_SPOOL_MIN)
		return wmk_errorx(-EINVAL, "--spool-size is too small: the minimum is %u bytes",
				  WMK_RELAY_SPOOL_MIN);
	return 0;
}

/* Set the open chunk: the first chunk, or the chunk that was open in an earlier daemon. */
static int chunk_fill(struct wmk_session *session, const struct wmk_session_chunk *restored)
{
	static const uint8_t none[16];

	session->chunk.begin = session->created;
	if (restored)
		session->chunk = *restored;
	if (strchr(session->chunk.closed, '/') || session->chunk.closed[0] == '.' ||
	    (session->chunk.number > 0) != (session->chunk.closed[0] != '\0'))
		return wmk_error(-EINVAL, "invalid name '%.100s' of trace chunk %" PRIu64, session->chunk.closed,
				 session->chunk.number);
	if (memcmp(session->chunk.session_uuid, none, sizeof(none)) != 0)
		return 0;
	return wmk_trace_uuid_make(session->chunk.session_uuid);
}

static int session_fill(struct wmk_session *session, const struct wmk_session_options *options)
{
	session->uid = options->uid;
	session->gid = options->gid;
	session->all_users = options->all_users;
	session->created = (uint64_t)time(NULL);
	if (chunk_fill(session, options->chunk) < 0)
		return wmk_error_number();
	session->name = strdup(options->name);
	session->path = strdup(options->path);
	session->trace_name = options->trace_name ? strdup(options->trace_name) : NULL;
	if (!session->name || !session->path || (options->trace_name && !session->trace_name))
		return wmk_error(-ENOMEM, "no memory for a session");
	int err = wmk_object_copy(&wmk_ctl_settings_object, &options->settings, &session->settings, &session->arena);
	if (err == 0)
		err = wmk_clock_of_choice(session->tracing, options->settings.clock, &session->clock);
	if (err == 0)
		err = relay_fill(session);
	if (err == 0)
		err = wmk_quota_trace_charge(session->tracing, session->uid,
					     *session->settings.url ? session->settings.spool_size
								    : options->settings.max_size,
					     &session->trace_bytes);
	if (err < 0)
		return err;
	session->settings.clock = wmk_clock_as_choice(session->clock);
	err = wmk_settings_rotation_check(&session->settings);
	if (err == 0)
		err = snapshot_fill(session);
	if (err < 0)
		return err;
	if (!session->settings.max_size && !*session->settings.url)
		session->settings.max_size = session->tracing->options.max_trace_size;
	/* a restored session keeps its earlier max_size */
	if (session->trace_bytes && !session->tracing->restoring && !*session->settings.url)
		session->settings.max_size = session->trace_bytes;
	return *session->settings.shm_path ? shm_fill(session, options) : 0;
}

int wmk_session_make(struct wmk_tracing *tracing, const struct wmk_session_options *options, struct wmk_session **out)
{
	struct wmk_session *session;
	int err = wmk_name_check("session", options->name);

	if (err == 0 && (!options->path || options->path[0] != '/'))
		err = wmk_error(-EINVAL, "invalid trace path \"%.200s\": it must begin with '/'",
				options->path ? options->path : "");
	if (err == 0)
		err = wmk_quota_session_charge(tracing, options->uid);
	if (err < 0)
		return err;
	session = calloc(1, sizeof(*session));
	if (!session) {
		wmk_quota_session_uncharge(tracing, options->uid);
		return wmk_error(-ENOMEM, "no memory for a session");
	}
	atomic_init(&session->counted, true);
	session->tracing = tracing;
	session->shm = -1;
	pthread_mutex_init(&session->lock, NULL);
	wmk_cond_init(&session->written);
	atomic_init(&session->refs, 2);  /* the table's, and the caller's */
	err = session_fill(session, options);
	if (err < 0) {
		wmk_session_unmake(session);
		return err;
	}
	*out = session;
	return 0;
}

void wmk_session_unmake(struct wmk_session *session)
{
	uncount(session);
	wmk_session_put(session);
	wmk_session_put(session);
}

/*
 * The name is checked before the limit of sessions, so that a client that replaces a session gets -EEXIST even at the
 * limit.
 */
static int name_is_free(struct wmk_tracing *tracing, const struct wmk_session_options *options)
{
	int err = wmk_name_check("session", options->name);
	struct wmk_session *there = err == 0 ? wmk_session_get(tracing, options->uid, options->name) : NULL;

	if (there)
		err = wmk_errorx(-EEXIST, "session '%s' exists already", options->name);
	wmk_session_put(there);
	return err;
}

int wmk_session_output_check(const struct wmk_tracing *tracing, const struct wmk_session_options *options)
{
	const struct wmk_trace_info info = { .path = options->path, .uid = options->uid, .gid = options->gid };
	const struct wmk_tracing_options *o = &tracing->options;

	return o->consumer->output_check ? o->consumer->output_check(o->consumer_data, &info) : 0;
}

int wmk_session_relays(const struct wmk_tracing *tracing, struct wmk_list *relays, struct wmk_arena *arena)
{
	const struct wmk_tracing_options *o = &tracing->options;

	return o->consumer->relays ? o->consumer->relays(o->consumer_data, relays, arena) : 0;
}

int wmk_session_path_check(struct wmk_tracing *tracing, const struct wmk_session_options *options)
{
	struct wmk_session *there = wmk_session_of_path(tracing, options->path);
	const bool own = there && there->uid == options->uid;
	int err = 0;

	if (own && strcmp(there->name, options->name) != 0)
		err = wmk_errorx(-EBUSY, "session '%.40s' has its trace in %.60s already: use another directory",
				 there->name, there->path);
	else if (there && !own && options->uid == 0)
		err = wmk_errorx(-EBUSY,
				 "session '%.40s' of user %u has its trace in %.50s already: use another directory",
				 there->name, (unsigned)there->uid, there->path);
	else if (there && !own)          /* the user may not see the name of that session */
		err = wmk_errorx(-EBUSY,
				 "a session of another user has its trace in %.60s already: use another directory",
				 there->path);
	wmk_session_put(there);
	return err;
}

/* If two threads create sessions with the same path at the same time, one of the two creations fails. */
static int enter_alone(struct wmk_tracing *tracing, const struct wmk_session_options *options,
		       struct wmk_session *session)
{
	pthread_mutex_lock(&tracing->lock);
	int err = wmk_session_path_check(tracing, options);

	if (err == 0)
		err = wmk_session_enter(tracing, session);
	pthread_mutex_unlock(&tracing->lock);
	return err;
}

int wmk_session_create(struct wmk_tracing *tracing, const struct wmk_session_options *options, struct wmk_session **out)
{
	const uint64_t max = tracing->options.max_trace_size;
	struct wmk_session *session;
	int err = !max || options->settings.max_size <= max
			  ? name_is_free(tracing, options)
			  : wmk_limit_reached(tracing, -EDQUOT, "trace-size",
					      "the limit of a session's trace is %" PRIu64 " bytes, not %" PRIu64
					      " (--max-size)",
					      max, options->settings.max_size);

	if (err == 0)
		err = wmk_session_make(tracing, options, &session);
	if (err < 0)
		return err;
	err = enter_alone(tracing, options, session);
	if (err < 0) {
		if (session->shm >= 0)
			rmdir(session->settings.shm_path);        /* the directory is still empty */
		wmk_session_unmake(session);
		return err;
	}
	*out = session;
	return 0;
}

const char *wmk_session_name(const struct wmk_session *session)
{
	return session->name;
}

uid_t wmk_session_uid(const struct wmk_session *session)
{
	return session->uid;
}

gid_t wmk_session_gid(const struct wmk_session *session)
{
	return session->gid;
}

bool wmk_session_recovered(const struct wmk_session *session)
{
	return session->recovered;
}

/* ── start, stop ─────────────────────────────────────────────────────────────────────────────────────── */

void wmk_session_activate(struct wmk_session *session, bool on)
{
	const struct wmk_tracing_options *options = &session->tracing->options;

	if (!session->settings.no_statedump && session->active != on && options->on_dumps)
		options->on_dumps(options->data, on);
	session->active = on;
}

/* The function also returns true after a start that failed. */
static bool has_own_channel(const struct wmk_session *session)
{
	for (unsigned i = 0; i < session->n_channels; i++)
		if (session->channels[i]->own)
			return true;
	return false;
}

int wmk_session_start(struct wmk_session *session)
{
	if (session->active)
		return wmk_errorx(-EALREADY, "session '%s' is active already", session->name);
	if (session->n_channels == 0)
		return wmk_errorx(-ENODATA, "session '%s' has no channel: enable an event first",
				  session->name);
	if (session->full)
		return wmk_errorx(-EDQUOT,
				  "the trace of session '%s' has reached its limit of %" PRIu64
				  " bytes (--max-size): clear it first",
				  session->name, session->settings.max_size);
	for (unsigned i = 0; i < session->n_channels && session->settings.max_size; i++)
		if (session->channels[i]->is.settings.subbuf_size > session->settings.max_size)
			return wmk_errorx(-EINVAL,
					  "the limit of the trace, %" PRIu64
					  " bytes (--max-size), is less than one sub-buffer of channel %.60s "
					  "(--subbuf-size)",
					  session->settings.max_size, session->channels[i]->is.name);
	if (!session->settings.no_statedump && !session->started && !has_own_channel(session)) {
		int err = wmk_session_add_own_channel(session);

		if (err < 0)
			return err;
	}
	const bool before = session->started;

	wmk_session_activate(session, true);
	if (!session->started)
		session->interval_begin = wmk_clock_monotonic();
	session->started = true;
	session->stopping = false;
	session->trouble = 0;
	wmk_session_syscalls_decide(session);
	session->kernel_dumps++;
	int err = wmk_session_kernel_update(session);

	if (err < 0) {
		struct wmk_error_chain *why = wmk_error_take();

		wmk_session_activate(session, false);
		session->started = before;
		wmk_session_kernel_update(session);
		wmk_error_give(why);
	}
	return err;
}

int wmk_session_prepare(struct wmk_session *session, uid_t uid)
{
	for (unsigned i = 0; i < session->n_channels; i++)
		if (!wmk_channel_is_kernel(session->channels[i]) &&
		    session->channels[i]->is.settings.buffers == WMK_BUFFERS_UID &&
		    !wmk_rings_of_user(session->channels[i], uid))
			return session->trouble < 0 ? session->trouble : -EIO;
	return 0;
}

int wmk_session_stop(struct wmk_session *session)
{
	if (!session->active)
		return session->full ? 0 : wmk_errorx(-EALREADY, "session '%s' is not active", session->name);
	wmk_session_activate(session, false);
	session->stopping = true;
	if (wmk_session_kernel_update(session) < 0)
		wmk_session_report(session, wmk_error_number(), "cannot stop recording in the kernel");
	wmk_session_free_stale_claims(session);
	return 0;
}

void wmk_session_unstart(struct wmk_session *session)
{
	if (wmk_session_stop(session) < 0)
		wmk_error_clear();
	session->stopping = false;
}

struct wmk_session *wmk_session_of_path(struct wmk_tracing *tracing, const char *path)
{
	struct wmk_session **all = NULL, *found = NULL;
	int n = wmk_session_get_all(tracing, &all);

	for (int i = 0; i < n; i++) {
		if (!found && strcmp(all[i]->path, path) == 0)
			found = all[i];
		else
			wmk_session_put(all[i]);
	}
	free(all);
	return found;
}

int wmk_session_full(struct wmk_session *session)
{
	const bool was = session->active;

	session->full = true;
	return was ? wmk_session_stop(session)
		   : wmk_errorx(-EALREADY, "session '%s' is not active", session->name);
}

void wmk_session_regenerate_statedump(struct wmk_session *session)
{
	session->statedump_round++;
	wmk_session_kernel_statedump(session);
}

void wmk_session_reap(struct wmk_session *session)
{
	/* no command waits for this call, so no command could report the error */
	if (wmk_rings_close(session, true) == -EPROTO)
		wmk_session_report(session, -EPROTO, NULL);
}

void wmk_session_destroy(struct wmk_session *session)
{
	wmk_session_activate(session, false);
	session->gone = true;
	if (!session->tracing->leaving && wmk_session_kernel_update(session) < 0)
		wmk_error_clear();       /* its kernel instances are removed anyway */
	wmk_session_leave(session);
	uncount(session);
}

/* Call without the lock of the session. */
static int spool_end(const struct wmk_session *session)
{
	const struct wmk_trace_info info = { .path = session->path, .uid = session->uid, .gid = session->gid };
	const struct wmk_tracing_options *o = &session->tracing->options;

	return *session->settings.url && !session->tracing->leaving && o->consumer->output_end
		       ? o->consumer->output_end(o->consumer_data, &info)
		       : 0;
}

int wmk_session_finish(struct wmk_session *session, struct wmk_ctl_session *last, struct wmk_arena *arena)
{
	/* no thread can find the session any more, but a shard may still be using it */
	pthread_mutex_lock(&session->lock);
	/* A trace that is closed cannot be moved any more. (The next session daemon finishes what this one leaves.) */
	const int rotated = session->tracing->leaving ? 0 : wmk_session_rotate_finish(session);
	struct wmk_error_chain *cause = rotated < 0 ? wmk_error_take() : NULL;
	int err = wmk_rings_close(session, false);

	if (cause) {
		wmk_error_give(cause);
		err = err < 0 ? err : rotated;
	}
	wmk_session_rotate_abandon(session);
	/* needed if the session was never in the table, and so not destroyed */
	uncount(session);
	if (last && wmk_session_describe(session, last, arena) < 0 && err == 0)
		err = -ENOMEM;
	pthread_mutex_unlock(&session->lock);
	if (err == 0)
		err = spool_end(session);
	wmk_session_put(session);                /* the reference of the table */
	return err;
}
