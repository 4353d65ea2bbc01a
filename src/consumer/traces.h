/* SPDX-License-Identifier: MIT */
/*
 * traces.h - traces and rings of the server: create, find, free. The server's thread, unless stated otherwise.
 *
 * On failure, a function that creates an object returns NULL or -errno with a cause chain; on success, it links the
 * object into its list.
 */
#ifndef WMK_CONSUMER_TRACES_H
#define WMK_CONSUMER_TRACES_H

#include "consumer/server_state.h"

struct wmk_server_trace *wmk_server_trace_find(struct wmk_consumer_server *server, uint64_t number);
struct wmk_server_trace *wmk_server_trace_new(struct wmk_consumer_server *server, const struct wmk_consumerd_trace *is,
					      int budget_fd);
/* Free a trace together with its rings. The trace must have no work items. */
void wmk_server_trace_free(struct wmk_server_trace *trace);
struct wmk_server_rings *wmk_server_rings_find(struct wmk_server_trace *trace, uint64_t number);
int wmk_server_rings_new(struct wmk_server_trace *trace, const struct wmk_consumerd_rings *is, int fd,
			 struct wmk_server_rings **result);
/* Remove rings from the list of the trace. Work items may still hold references to these rings. */
void wmk_server_rings_unlink(struct wmk_server_trace *trace, struct wmk_server_rings *rings);
void wmk_server_rings_unref(struct wmk_server_rings *rings);
/*
 * Close the ring set or the kernel reader of the rings. The function is called in the trace's thread, after the streams
 * of the rings were removed.
 */
void wmk_server_rings_close(struct wmk_server_rings *rings);
/*
 * Return the value of `from` that identifies the streams of `rings` in the consumer (consumer.h). Returns NULL if the
 * rings have no streams.
 */
static inline const void *wmk_server_rings_from(const struct wmk_server_rings *rings)
{
	return rings->set ? (const void *)rings->set : rings->copy ? (const void *)rings->copy : rings->kernel;
}
/* Find the rings that read the tracefs instance `fd`. Rings of snapshots are ignored. NULL: none. */
struct wmk_server_rings *wmk_server_rings_of_instance(struct wmk_consumer_server *server, int fd,
						      struct wmk_server_trace **trace);

#endif
