/* SPDX-License-Identifier: MIT */
/*
 * traces.c - traces of the server and their rings: create, find, free.
 */
#include "consumer/traces.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "consumer/kernel_copy.h"
#include "consumer/outputs.h"
#include "consumer/trace_metadata.h"
#include "consumer/trace_rotation.h"
#include "kernel/channel/channel_reader.h"

struct wmk_server_trace *wmk_server_trace_find(struct wmk_consumer_server *server, uint64_t number)
{
	struct wmk_server_trace *trace = server->traces;

	while (trace && trace->is.trace != number)
		trace = trace->next;
	return trace;
}

struct wmk_server_rings *wmk_server_rings_find(struct wmk_server_trace *trace, uint64_t number)
{
	struct wmk_server_rings *rings = trace->rings;

	while (rings && (rings->removing || rings->is.rings != number))
		rings = rings->next;
	return rings;
}

void wmk_server_rings_close(struct wmk_server_rings *rings)
{
	if (rings->set)
		waymark_ring_set_close(rings->set);
	if (rings->kernel)
		wmk_kreader_close(rings->kernel);
	wmk_kernel_copy_free(rings->copy);
	rings->set = NULL;
	rings->kernel = NULL;
	rings->copy = NULL;
}

struct wmk_server_rings *wmk_server_rings_of_instance(struct wmk_consumer_server *server, int fd,
						      struct wmk_server_trace **trace)
{
	struct stat wanted, is;

	if (fstat(fd, &wanted) < 0)
		return NULL;
	for (*trace = server->traces; *trace; *trace = (*trace)->next)
		for (struct wmk_server_rings *rings = (*trace)->rings; rings; rings = rings->next)
			if (rings->is.kernel && !rings->is.copy && !rings->removing && fstat(rings->fd, &is) == 0 &&
			    is.st_dev == wanted.st_dev && is.st_ino == wanted.st_ino)
				return rings;
	return NULL;
}

void wmk_server_rings_unref(struct wmk_server_rings *rings)
{
	if (--rings->refs)
		return;
	wmk_server_rings_close(rings);
	if (rings->fd >= 0)
		close(rings->fd);
	wmk_arena_free(&rings->arena);
	free(rings);
}

void wmk_server_rings_unlink(struct wmk_server_trace *trace, struct wmk_server_rings *rings)
{
	struct wmk_server_rings **at = &trace->rings;

	while (*at && *at != rings)
		at = &(*at)->next;
	if (!*at)
		return;
	*at = rings->next;
	trace->n_rings--;
	wmk_server_rings_unref(rings);
}

void wmk_server_trace_free(struct wmk_server_trace *trace)
{
	struct wmk_server_trace **at = &trace->server->traces;

	while (*at && *at != trace)
		at = &(*at)->next;
	if (*at) {
		*at = trace->next;
		trace->server->n_traces--;
	}
	if (trace->consumer) {
		if (wmk_consumer_stop(trace->consumer) < 0)
			wmk_error_clear();
		wmk_consumer_close(trace->consumer);
	}
	wmk_server_output_leave(trace);
	while (trace->rings)
		wmk_server_rings_unlink(trace, trace->rings);
	wmk_arena_free(&trace->arena);
	free(trace);
}

struct wmk_server_trace *wmk_server_trace_new(struct wmk_consumer_server *server, const struct wmk_consumerd_trace *is,
					      int budget_fd)
{
	struct wmk_server_trace *trace = calloc(1, sizeof(*trace));
	struct wmk_consumer_options options = { .ready = wmk_server_metadata_write,
						  .before_pass = wmk_server_rotation_continue,
						  .requested = wmk_server_output_requested,
						  .restarted = wmk_server_output_restarted };
	int err = -ENOMEM;

	if (!trace) {
		wmk_error(err, "no memory for a trace");
		return NULL;
	}
	trace->server = server;
	trace->metadata_end = &trace->metadata;
	trace->rotations_end = &trace->rotations;
	trace->gated = is->gated;
	options.data = trace;
	err = wmk_object_copy(&wmk_consumerd_trace_object, is, &trace->is, &trace->arena);
	if (err >= 0)
		err = wmk_server_output_join(trace, budget_fd);
	if (err >= 0)
		err = wmk_consumer_open(&options, &trace->consumer);
	if (err >= 0)
		err = wmk_consumer_start(trace->consumer);
	if (err < 0) {
		wmk_server_trace_free(trace);
		return NULL;
	}
	trace->next = server->traces;
	server->traces = trace;
	server->n_traces++;
	return trace;
}

int wmk_server_rings_new(struct wmk_server_trace *trace, const struct wmk_consumerd_rings *is, int fd,
			 struct wmk_server_rings **result)
{
	struct wmk_server_rings *rings = calloc(1, sizeof(*rings));

	if (!rings)
		return wmk_error(-ENOMEM, "no memory for rings");
	rings->refs = 1;
	rings->fd = -1;
	if (wmk_object_copy(&wmk_consumerd_rings_object, is, &rings->is, &rings->arena) < 0) {
		wmk_server_rings_unref(rings);
		return -ENOMEM;
	}
	rings->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (rings->fd < 0) {
		int err = -errno;

		wmk_server_rings_unref(rings);
		return wmk_error(err, "cannot duplicate the descriptor of channel %.60s", is->channel);
	}
	rings->next = trace->rings;
	trace->rings = rings;
	trace->n_rings++;
	*result = rings;
	return 0;
}
