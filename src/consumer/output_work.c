/* SPDX-License-Identifier: MIT */
/*
 * output_work.c - requests about the output of a session. Each request runs in a separate thread (see output_work.h).
 */
#include "consumer/output_work.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/thread.h"
#include "consumer/connection.h"
#include "consumer/idle_compression.h"
#include "consumer/output.h"
#include "consumer/outputs.h"
#include "consumer/senders.h"
#include "store/spool.h"

struct wmk_server_output_work {
	struct wmk_server_output_work *next, *next_done;
	struct wmk_consumer_server *server;
	pthread_t thread;
	uint16_t type;                   /* enum wmk_consumerd_type */
	uint32_t request;
	uint64_t connection;             /* number of the connection that sent the request */
	struct wmk_consumerd_output is;  /* in `arena` */
	struct wmk_server_output *held;  /* the output of the session's open traces, for ARCHIVE_END; NULL: none */
	struct wmk_arena arena;
	/* Results of the request: the request's thread owns the results until the work is done. */
	struct wmk_consumerd_left left;  /* in `arena` */
	int err;
	char words[512];
};

/* ── in the thread of the request ────────────────────────────────────────────────────────────────────── */

static int add_left(void *data, const char *name)
{
	struct wmk_server_output_work *work = data;
	const char **added;

	if (work->left.processes.n == WMK_CONSUMERD_LEFT_MAX) {
		work->left.more = true;
		return 1;
	}
	added = wmk_arena_append(&work->arena, &work->left.processes, sizeof(*added));
	if (!added || !(*added = wmk_arena_text(&work->arena, name)))
		return -ENOMEM;
	return 0;
}

static void log_cause(const struct wmk_server_output_work *work)
{
	char words[600];

	if (work->server->options.log)
		work->server->options.log(wmk_error_text(words, sizeof(words)));
	wmk_error_clear();
}

/* The chunk is closed even if the deletion or the compression of closed chunks fails. */
static int archive_end(const struct wmk_server_output_work *work, struct wmk_output *output)
{
	const struct wmk_consumerd_output *is = &work->is;
	const struct wmk_retention keep = { .size = is->retain_size, .us = is->retain_us, .count = is->retain_count };
	struct wmk_output *const used = work->held ? wmk_server_output_held(work->held) : output;
	void (*log)(const char *words) = work->server->options.log;
	int err = output->ops->archive_end(output, is->chunk);

	if (err == 0 && (keep.size || keep.us || keep.count) && used->ops->retain(used, &keep, log) < 0)
		log_cause(work);
	if (err == 0 && is->compress && wmk_idle_compression_start(is->path, (uid_t)is->uid, (gid_t)is->gid, log) < 0)
		log_cause(work);
	return err;
}

static int carry_out(struct wmk_server_output_work *work, struct wmk_output *output)
{
	if (work->type == WMK_CONSUMERD_OUTPUT_CHECK)
		return output->ops->check(output);
	if (work->type == WMK_CONSUMERD_LIST_LEFT)
		return output->ops->each_process(output, add_left, work);
	if (work->type == WMK_CONSUMERD_ARCHIVE_LEFT)
		return output->ops->archive_process(output, work->is.process, work->is.chunk);
	if (work->type == WMK_CONSUMERD_ARCHIVE_END)
		return archive_end(work, output);
	return output->ops->remove_process(output, work->is.process);
}

static void *run(void *arg)
{
	struct wmk_server_output_work *work = arg;
	struct wmk_consumer_server *server = work->server;
	const struct wmk_output_directory_options options = {
		.path = work->is.path, .uid = (uid_t)work->is.uid, .gid = (gid_t)work->is.gid, .budget_fd = -1,
	};
	struct wmk_output *output = NULL;

	if (work->type == WMK_CONSUMERD_OUTPUT_END)
		work->err = wmk_store_spool_end(work->is.path, (uid_t)work->is.uid, (gid_t)work->is.gid);
	else
		work->err = wmk_output_directory_open(&options, &output);
	if (output) {
		work->err = carry_out(work, output);
		output->ops->close(output);
	}
	if (work->err < 0)
		wmk_error_text(work->words, sizeof(work->words));
	wmk_error_clear();
	pthread_mutex_lock(&server->lock_done);
	work->next_done = server->output_work_done;
	server->output_work_done = work;
	pthread_mutex_unlock(&server->lock_done);
	wmk_server_wake(server);
	return NULL;
}

/* ── in the server's thread ──────────────────────────────────────────────────────────────────────────── */

static void work_free(struct wmk_server_output_work *work)
{
	wmk_server_output_release(work->held);
	wmk_arena_free(&work->arena);
	free(work);
}

static int check_request(const struct wmk_consumer_server *server, const struct wmk_consumerd_output *is)
{
	unsigned all = 0, of_user = 0;

	if (is->path[0] != '/')
		return wmk_error(-EINVAL, "the path of the output '%.240s' is not absolute", is->path);
	if (is->uid >= UINT32_MAX || is->gid >= UINT32_MAX || (is->uid != geteuid() && geteuid() != 0))
		return wmk_error(-EPERM, "user %u cannot access an output of user %llu, group %llu",
				 (unsigned)geteuid(), (unsigned long long)is->uid, (unsigned long long)is->gid);
	for (const struct wmk_server_output_work *work = server->output_work; work; work = work->next) {
		all++;
		of_user += work->is.uid == is->uid;
	}
	if (all >= WMK_SERVER_OUTPUT_WORK_MAX || (is->uid != 0 && of_user >= WMK_SERVER_OUTPUT_WORK_USER))
		return wmk_errorx(-EAGAIN, "too many output requests: %u of user %llu are waiting for a disk (try "
					   "again later)", of_user,
				  (unsigned long long)is->uid);
	return 0;
}

int wmk_server_output_work_start(struct wmk_consumer_server *server, uint16_t type, uint32_t request,
				 const struct wmk_consumerd_output *is)
{
	int err = check_request(server, is);
	struct wmk_server_output_work *work = err < 0 ? NULL : calloc(1, sizeof(*work));

	if (!work)
		return err < 0 ? err : wmk_error(-ENOMEM, "no memory for a request");
	work->server = server;
	work->type = type;
	work->request = request;
	work->connection = server->connections;
	if (type == WMK_CONSUMERD_ARCHIVE_END)
		work->held = wmk_server_output_hold(server, is->path, is->uid);
	err = wmk_object_copy(&wmk_consumerd_output_object, is, &work->is, &work->arena);
	if (err >= 0 && (err = -wmk_thread_create(&work->thread, NULL, run, work)) < 0)
		wmk_error(err, "cannot start a thread for a request: %s", strerror(-err));
	if (err < 0) {
		work_free(work);
		return err;
	}
	work->next = server->output_work;
	server->output_work = work;
	return 0;
}

static void answer(struct wmk_server_output_work *work)
{
	struct wmk_consumer_server *server = work->server;

	wmk_server_outputs_rescan(server, work->is.path);
	if (work->err == 0 && work->type == WMK_CONSUMERD_OUTPUT_END)
		wmk_server_senders_beside(server, work->is.path, work->is.uid, work->is.gid);
	if (work->err < 0)
		wmk_server_refuse(server, work->connection, work->request, work->err, work->words);
	else if (work->type == WMK_CONSUMERD_LIST_LEFT)
		wmk_server_reply(server, work->connection, work->request, &wmk_consumerd_left_object, &work->left);
	else
		wmk_server_reply_done(server, work->connection, work->request);
}

void wmk_server_output_work_answer(struct wmk_consumer_server *server)
{
	struct wmk_server_output_work *work, *next, **at;

	pthread_mutex_lock(&server->lock_done);
	work = server->output_work_done;
	server->output_work_done = NULL;
	pthread_mutex_unlock(&server->lock_done);
	for (; work; work = next) {
		next = work->next_done;
		pthread_join(work->thread, NULL);
		for (at = &server->output_work; *at != work; at = &(*at)->next)
			continue;
		*at = work->next;
		answer(work);
		work_free(work);
	}
}
