/* SPDX-License-Identifier: MIT */
/*
 * outputs.c - outputs of the server: all traces of one session share one output, with its max_size. The server notifies
 * the session daemon when an output is full, and when the open chunk of an output is large enough for a rotation.
 *
 *     server's thread                            a trace's thread
 *     join: found by path, or made
 *     notify: FULL to the session daemon  ◄wake─ a packet is refused: full
 *     notify: CHUNK_DUE                   ◄wake─ the open chunk has chunk_max bytes
 *     leave: the last user closes it
 */
#include "consumer/outputs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "consumer/connection.h"
#include "consumer/senders.h"

/* files of streams in a spool: their number if all were full, and limits of their size */
#define SPOOL_FILES 256u
#define SPOOL_FILE_MIN (16u << 10)
#define SPOOL_FILE_MAX (4u << 20)

struct wmk_server_output {
	struct wmk_server_output *next;
	struct wmk_consumer_server *server;
	struct wmk_output *output;
	unsigned n_users;                /* traces, and requests about the output */
	char *path;
	uint64_t uid, gid, max_size;
	int budget_fd;                   /* received budget page; -1: none */
	struct wmk_sender *sender;       /* of the relay; NULL: none */
	bool notified;
	atomic_bool full, due;           /* relaxed: the server's thread reads them after the wake */
	/* likewise: a program requests a snapshot, and the session daemon was not notified */
	atomic_bool requested;
	bool was_requested;
	/* likewise: the clock of a trace has restarted, and its chunk is not closed yet */
	atomic_bool restarted;
	bool was_restarted;
};

static void on_full(void *data)
{
	struct wmk_server_output *output = data;

	/* A full output refuses the same packet in each drain pass, but the server's thread is woken only once. */
	if (!atomic_exchange_explicit(&output->full, true, memory_order_relaxed))
		wmk_server_wake(output->server);
}

static void on_due(void *data)
{
	struct wmk_server_output *output = data;

	atomic_store_explicit(&output->due, true, memory_order_relaxed);
	wmk_server_wake(output->server);
}

/*
 * Notes are not written to the metadata, because the session daemon determines the content of the metadata. The session
 * daemon receives the text of a note together with the counts.
 */
static void on_note(void *data, const char *words)
{
	const struct wmk_server_output *output = data;

	wmk_server_log(output->server, "%s: %s", output->path, words);
}

static void on_changed(void *data, bool look)
{
	const struct wmk_server_output *output = data;

	(look ? wmk_sender_rescan : wmk_sender_wake)(output->sender);
}

/* Called when the sender has removed files, so that the spool has room again. The sender's thread. */
static void on_removed(void *data)
{
	const struct wmk_server_output *output = data;

	if (output->output->ops->usage(output->output) < 0)
		wmk_error_clear();
}

static void output_free(struct wmk_server_output *output)
{
	/* The sender continues until the relay has all data of the spool. */
	if (output->sender) {
		wmk_sender_on_removed(output->sender, NULL, NULL);
		wmk_server_sender_leave(output->server, output->sender);
	}
	if (output->output)
		output->output->ops->close(output->output);
	if (output->budget_fd >= 0)
		close(output->budget_fd);
	free(output->path);
	free(output);
}

/*
 * Return the maximum size of a file in the spool: 1/SPOOL_FILES of the spool, within limits. A small file size is
 * better, because a spool file can be removed only when the relay has the whole file.
 */
static uint64_t spool_file_size(uint64_t spool_size)
{
	const uint64_t size = spool_size / SPOOL_FILES;

	return size < SPOOL_FILE_MIN ? SPOOL_FILE_MIN : size > SPOOL_FILE_MAX ? SPOOL_FILE_MAX : size;
}

static struct wmk_server_output *output_new(struct wmk_consumer_server *server, const struct wmk_consumerd_trace *is,
					    int budget_fd)
{
	struct wmk_server_output *output = calloc(1, sizeof(*output));
	const struct wmk_output_directory_options options = {
		.path = is->path, .uid = (uid_t)is->uid, .gid = (gid_t)is->gid, .keep_free = server->options.keep_free,
		.max_size = is->max_size, .budget_fd = budget_fd, .kernel = server->options.kernel,
		/* a full spool has room again when the relay has acknowledged */
		.full = *is->url ? NULL : on_full,
		.due = on_due, .await_mount = server->options.await_mount, .note = on_note, .data = output,
		.spool_file_size = *is->url ? spool_file_size(is->max_size) : 0, .changed = on_changed,
	};

	if (!output) {
		wmk_error(-ENOMEM, "no memory for an output");
		return NULL;
	}
	output->budget_fd = budget_fd >= 0 ? fcntl(budget_fd, F_DUPFD_CLOEXEC, 3) : -1;
	output->path = strdup(is->path);
	int err = !output->path ? wmk_error(-ENOMEM, "no memory for an output")
		: budget_fd >= 0 && output->budget_fd < 0
			? wmk_error(-errno, "cannot duplicate the descriptor of the budget page of %.240s: %s",
				    is->path, strerror(errno))
			: wmk_output_directory_open(&options, &output->output);
	output->server = server;
	if (err >= 0 && *is->url)
		err = wmk_server_sender_join(server, is, &output->sender);
	if (err >= 0 && output->sender)
		wmk_sender_on_removed(output->sender, on_removed, output);
	if (err < 0) {
		output_free(output);
		return NULL;
	}
	output->uid = is->uid;
	output->gid = is->gid;
	output->max_size = is->max_size;
	output->next = server->outputs;
	server->outputs = output;
	return output;
}

int wmk_server_output_join(struct wmk_server_trace *trace, int budget_fd)
{
	const struct wmk_consumerd_trace *is = &trace->is;
	struct wmk_server_output *output = trace->server->outputs;

	while (output && (strcmp(output->path, is->path) != 0 || output->uid != is->uid || output->gid != is->gid ||
			  output->max_size != is->max_size))
		output = output->next;
	if (!output)
		output = output_new(trace->server, is, budget_fd);
	if (!output)
		return wmk_error_number();
	output->n_users++;
	trace->output = output;
	return 0;
}

struct wmk_server_output *wmk_server_output_hold(struct wmk_consumer_server *server, const char *path, uint64_t uid)
{
	struct wmk_server_output *output = server->outputs;

	while (output && (strcmp(output->path, path) != 0 || output->uid != uid))
		output = output->next;
	if (output)
		output->n_users++;
	return output;
}

struct wmk_output *wmk_server_output_held(const struct wmk_server_output *output)
{
	return output->output;
}

void wmk_server_output_leave(struct wmk_server_trace *trace)
{
	struct wmk_server_output *output = trace->output;

	trace->output = NULL;
	wmk_server_output_release(output);
}

void wmk_server_output_release(struct wmk_server_output *output)
{
	struct wmk_server_output **at;

	if (!output || --output->n_users)
		return;
	at = &output->server->outputs;
	while (*at != output)
		at = &(*at)->next;
	*at = output->next;
	output_free(output);
}

int wmk_server_output_budget(const struct wmk_server_trace *trace)
{
	return trace->output->budget_fd;
}

struct wmk_output *wmk_server_output_of(const struct wmk_server_trace *trace)
{
	return trace->output->output;
}

void wmk_server_outputs_rescan(struct wmk_consumer_server *server, const char *path)
{
	for (struct wmk_server_output *output = server->outputs; output; output = output->next)
		if (output->sender && strcmp(output->path, path) == 0)
			wmk_sender_rescan(output->sender);
}

void wmk_server_output_cleared(struct wmk_server_trace *trace)
{
	trace->output->notified = false;
	atomic_store_explicit(&trace->output->full, false, memory_order_relaxed);
}

void wmk_server_output_requested(void *data)
{
	const struct wmk_server_trace *trace = data;

	atomic_store_explicit(&trace->output->requested, true, memory_order_relaxed);
	wmk_server_wake(trace->server);
}

void wmk_server_output_restarted(void *data)
{
	const struct wmk_server_trace *trace = data;

	atomic_store_explicit(&trace->output->restarted, true, memory_order_relaxed);
	wmk_server_wake(trace->server);
}

void wmk_server_clock_stepped(const struct wmk_consumer_server *server)
{
	for (const struct wmk_server_trace *trace = server->traces; trace; trace = trace->next)
		if (!trace->removing)
			wmk_consumer_clock_stepped(trace->consumer);
}

void wmk_server_output_rotated(const struct wmk_server_trace *trace)
{
	trace->output->was_restarted = false;
}

void wmk_server_outputs_notify(struct wmk_consumer_server *server)
{
	for (struct wmk_server_output *output = server->outputs; output; output = output->next) {
		const struct wmk_consumerd_full full = { output->path };

		if (server->connection >= 0 &&
		    atomic_exchange_explicit(&output->requested, false, memory_order_relaxed) &&
		    wmk_server_send(server, WMK_CONSUMERD_REQUESTED, &wmk_consumerd_full_object, &full))
			output->was_requested = true;
		if (server->connection >= 0 &&
		    atomic_exchange_explicit(&output->restarted, false, memory_order_relaxed)) {
			/* All traces detect the restart before the session daemon adds the first new ring set. */
			wmk_server_clock_stepped(server);
			output->was_restarted =
				wmk_server_send(server, WMK_CONSUMERD_RESTARTED, &wmk_consumerd_full_object, &full);
		}
		if (server->connection >= 0 && atomic_exchange_explicit(&output->due, false, memory_order_relaxed))
			wmk_server_send(server, WMK_CONSUMERD_CHUNK_DUE, &wmk_empty_object, &full);
		if (output->notified || !atomic_load_explicit(&output->full, memory_order_relaxed))
			continue;
		output->notified = wmk_server_send(server, WMK_CONSUMERD_FULL, &wmk_consumerd_full_object, &full);
	}
}

void wmk_server_outputs_notify_again(struct wmk_consumer_server *server)
{
	for (struct wmk_server_output *output = server->outputs; output; output = output->next) {
		output->notified = false;
		/* the earlier session daemon may have ended before it recorded the snapshot */
		if (output->was_requested)
			atomic_store_explicit(&output->requested, true, memory_order_relaxed);
		if (output->was_restarted)
			atomic_store_explicit(&output->restarted, true, memory_order_relaxed);
	}
}
