/* SPDX-License-Identifier: MIT */
/*
 * traces.h - traces and rings of the server: made, found, freed. The server's thread, except where said.
 *
 * NULL, or -errno with a cause chain, without memory. What is made is in its list.
 */
#ifndef WMK_CONSUMER_TRACES_H
#define WMK_CONSUMER_TRACES_H

#include "consumer/server_state.h"

struct wmk_server_trace *wmk_server_trace_find(struct wmk_consumer_server *server, uint64_t number);
struct wmk_server_trace *wmk_server_trace_new(struct wmk_consumer_server *server, const struct wmk_consumerd_trace *is,
					      int budget_fd);
/* Closed, with all that it has; it has no work items. */
void wmk_server_trace_free(struct wmk_server_trace *trace);
struct wmk_server_rings *wmk_server_rings_find(struct wmk_server_trace *trace, uint64_t number);
int wmk_server_rings_new(struct wmk_server_trace *trace, const struct wmk_consumerd_rings *is, int fd,
			 struct wmk_server_rings **result);
/* Out of the list; work items may still have references. */
void wmk_server_rings_unlink(struct wmk_server_trace *trace, struct wmk_server_rings *rings);
void wmk_server_rings_unref(struct wmk_server_rings *rings);
/* The trace's thread: its streams are gone. */
void wmk_server_rings_close(struct wmk_server_rings *rings);
/* By what its streams are known to the trace's consumer; NULL: there are none. */
static inline const void *wmk_server_rings_from(const struct wmk_server_rings *rings)
{
	return rings->set ? (const void *)rings->set : rings->kernel;
}

#endif
