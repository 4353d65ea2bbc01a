/* SPDX-License-Identifier: MIT */
/*
 * reattach.c - take over rings of an earlier daemon that only applications still hold, because both daemons crashed.
 *
 *     session->awaited ──► an application registers, and offers a set ──► session->rings, which the consumer daemon
 *                   │                                                     appends to the existing stream files
 *                   │                                                     └─► the application uses the same set and ids
 *                   └───► no application has it: reported when the session stops and ends (wmk_session_awaited())
 *
 * An application is not trusted, and any process that has mapped a set can write the header of the set. A set is
 * accepted if
 * - its file has the owner and the inode of a file that a daemon of this user created (no process can choose an inode);
 * - its trace belongs to the user of the application that offers it;
 * - its geometry is that of the session's channel.
 * The consumer daemon checks the content of the ring set, as for each ring set.
 */
#include "session/recovery/reattach.h"

#include "base/error.h"
#include "ring/file.h"
#include "session/apps/app.h"
#include "session/apps/app_channels.h"
#include "session/apps/tracker.h"
#include "session/model/process_set.h"
#include "session/model/quota.h"
#include "session/model/rings.h"
#include "session/model/session_report.h"
#include "session/model/shm_path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ── reattach ────────────────────────────────────────────────────────────────────────────────────────── */

static void unlink_awaited(struct rings *rings)
{
	struct rings **at = &rings->session->awaited;

	while (*at && *at != rings)
		at = &(*at)->next;
	if (*at)
		*at = rings->next;
}

int wmk_rings_reattach(struct rings *rings, int fd)
{
	const uint64_t bytes = wmk_rings_bytes(&rings->channel->is);
	int err = rings->set ? 0 : wmk_ring_set_open_reader_any(fd, &rings->set);

	if (err < 0)
		return wmk_error(err, "cannot map the rings of channel '%.240s'", rings->channel->is.name);
	if (!rings->bytes) {
		err = wmk_quota_rings_charge(rings->session->tracing, rings->session->uid, bytes, true);
		rings->bytes = err == 0 ? bytes : 0;
	}
	if (err == 0)
		err = wmk_trace_ensure_open(rings->trace);
	if (err == 0)
		err = wmk_rings_open_here(rings, true);
	if (err < 0)
		return err;
	rings->restored = true;
	unlink_awaited(rings);
	wmk_rings_link(&rings->session->rings, rings);
	return 0;
}

static void reattach_again(struct wmk_session *session)
{
	for (struct rings *rings = session->awaited, *next; rings; rings = next) {
		next = rings->next;
		int err = rings->set ? wmk_rings_reattach(rings, -1) : 0;

		if (err < 0)
			wmk_session_report(session, err, NULL);
	}
}

static int abandon(struct wmk_session *session)
{
	int err = 0;

	reattach_again(session);
	while (session->awaited) {
		struct rings *rings = session->awaited;

		session->awaited = rings->next;
		if (rings->set)
			err = -EIO;
		rings->closed = true;
		wmk_rings_put(rings);
	}
	return err == 0 ? 0 : wmk_error(err, "cannot write rings that an application has reattached");
}

unsigned wmk_session_awaited(struct wmk_session *session, char *words, size_t size)
{
	unsigned n = 0;
	uint64_t bytes = 0;
	size_t at = 0;

	if (size)
		words[0] = '\0';
	for (const struct rings *rings = session->awaited; rings; rings = rings->next) {
		const struct trace *trace = rings->trace;
		int len;

		if (rings->set || rings->spent)
			continue;
		n++;
		bytes += wmk_rings_bytes(&rings->channel->is);
		if (n > 4 || at >= size)
			continue;
		len = snprintf(words + at, size - at, "%s%.40s of %s %u", n > 1 ? ", " : "", rings->channel->is.name,
			       trace->pid ? "process" : "user",
			       trace->pid ? (unsigned)trace->pid : (unsigned)trace->uid);
		at += len > 0 ? (size_t)len : 0;
	}
	if (n && at < size)
		snprintf(words + at, size - at, "%s: %llu KiB", n > 4 ? ", ..." : "",
			 (unsigned long long)(bytes >> 10));
	return n;
}

/* ── sets that applications offer ────────────────────────────────────────────────────────────────────── */

static bool is_for(const struct rings *rings, struct app *app, const uint8_t uuid[16])
{
	const struct trace *trace = rings->trace;

	if (memcmp(rings->uuid, uuid, sizeof(rings->uuid)) != 0 || trace->ended || trace->uid != app->uid)
		return false;
	if (!trace->pid)
		return true;
	const uint64_t began = trace->pid == app->pid ? wmk_app_start_time(app) : 0;

	/*
	 * 0: the process has just ended, so its start time is unknown. The random UUID is sufficient to identify the
	 * set.
	 */
	return trace->pid == app->pid && (began == 0 || trace->start_time == began);
}

static struct rings *find(struct rings *list, struct app *app, const uint8_t uuid[16])
{
	while (list && !is_for(list, app, uuid))
		list = list->next;
	return list;
}

/*
 * Returns true for a memory file that can have seals. For a file that cannot have seals, the result is true only if the
 * session has rings in files and the application's user is the daemon's user. The daemon does not call fstat() for
 * other descriptors: a FUSE server could give any answer about its files, at any time.
 */
static bool may_be_rings(const struct rings *rings, int fd)
{
	return fcntl(fd, F_GET_SEALS) >= 0 || (*rings->session->settings.shm_path && rings->trace->uid == geteuid());
}

/*
 * Check the inode before mapping, so that no other file is mapped. (A recovered set may be a copy, in a directory that
 * belongs to this user.)
 */
static int take(struct rings *rings, int fd)
{
	struct waymark_ring_options want;
	struct waymark_ring_set *set;
	struct stat st;

	if (!may_be_rings(rings, fd) || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) ||
	    (st.st_ino != rings->inode && !rings->session->recovered) || st.st_uid != geteuid())
		return wmk_error(-EPERM, "the descriptor offered as the rings of channel '%.240s' is not the expected "
					 "file",
				 rings->channel->is.name);
	int err = wmk_ring_set_open_reader_any(fd, &set);
	if (err < 0)
		return wmk_error(err, "the file offered as the rings of channel '%.240s' is not a ring set",
				 rings->channel->is.name);
	const struct waymark_ring_options *is = waymark_ring_set_options(set);
	wmk_rings_geometry(rings, &want);
	if (memcmp(is->uuid, rings->uuid, sizeof(is->uuid)) == 0 && is->subbuf_size == want.subbuf_size &&
	    is->n_subbufs == want.n_subbufs && is->header_room == want.header_room && is->mode == want.mode &&
	    is->clock == want.clock && is->block_us == want.block_us && is->poll_us == want.poll_us &&
	    is->allocation == want.allocation) {
		rings->set = set;
		return 0;
	}
	waymark_ring_set_close(set);
	return wmk_error(-EINVAL,
			 "the ring set offered for channel '%.240s' does not have the geometry of the channel",
			 rings->channel->is.name);
}

int wmk_rings_reattach_file(struct rings *rings)
{
	const struct wmk_session *session = rings->session;

	if (session->shm < 0)
		return -ENOENT;
	int fd = wmk_shm_file_open(session->shm, rings->id, session->recovered);
	if (fd == -ENOENT)
		wmk_error_clear();
	if (fd < 0)
		return fd;
	int err = take(rings, fd);
	close(fd);
	return err < 0 ? err : wmk_rings_reattach(rings, -1);
}

/* Locked. */
static int hand_back(struct wmk_session *session, struct app *app, const uint8_t uuid[16], int fd)
{
	struct rings *rings = find(session->rings, app, uuid);
	int err = 0;

	if (!rings) {
		rings = find(session->awaited, app, uuid);
		if (!rings)
			return 0;
		if (!rings->set)
			err = take(rings, fd);
		if (err == 0)
			err = wmk_rings_reattach(rings, -1);
	}
	/*
	 * An application that reattaches rings was a member of the channel's domain before, so the function adds the
	 * application as a member again. The ancestor of the application may have ended.
	 */
	if (err == 0 && rings->channel->is.domain.follow)
		wmk_process_set_add(&rings->channel->members, app->pid, wmk_app_start_time(app), app->uid);
	return err == 0 ? wmk_app_adopt_rings(app, rings) : err;
}

static int app_rings(struct app *app, const uint8_t uuid[16], int fd)
{
	struct wmk_session **all = NULL;
	int n = wmk_session_get_all(app->shard->tracing, &all), err = n < 0 ? n : 0;

	for (int i = 0; i < n; i++) {
		pthread_mutex_lock(&all[i]->lock);
		if (err == 0 && !all[i]->gone)
			err = hand_back(all[i], app, uuid, fd);
		pthread_mutex_unlock(&all[i]->lock);
		wmk_session_put(all[i]);
	}
	free(all);
	return err;
}

void wmk_reattach_init(struct wmk_tracing *tracing)
{
	static const struct wmk_reattach_ops ops = { app_rings, reattach_again, abandon };

	tracing->reattach = &ops;
}
