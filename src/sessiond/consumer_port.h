/* SPDX-License-Identifier: MIT */
/*
 * consumer_port.h - the consumer of the session daemon's traces: the consumer daemon (consumer_link.h) creates their
 * directories, writes their metadata and drains their rings.
 *
 *     wmk_tracing ──wmk_consumer_port_ops──► wmk_consumer_port ──link──► waymark-consumerd
 *
 * The link opens with the first session, or at once if a consumer daemon runs already. When the session daemon ends
 * while recording continues (wmk_consumer_port_leave()), the consumer daemon keeps everything. The next session daemon
 * takes over the consumer daemon (state_file.h).
 */
#ifndef WMK_SESSIOND_CONSUMER_PORT_H
#define WMK_SESSIOND_CONSUMER_PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sessiond/consumer_link.h"
#include "session/tracing.h"

struct wmk_consumer_port;

struct wmk_consumer_port_options {
	size_t size;                     /* sizeof(struct wmk_consumer_port_options) */
	const char *rundir;
	const char *program;             /* path of waymark-consumerd */
	uint64_t keep_free;              /* bytes per disk (wmk_consumer_link_options) */
	/* records that cannot be written at the end stay in the rings, which are files (wmk_consumer_link_options) */
	bool keep;
	/*
	 * Optional: a message: the consumer has crashed, runs again, or will not be restarted. Must not call the port.
	 */
	void (*on_change)(void *data, const char *words);
	/*
	 * Optional: the traces of the session with this directory have reached wmk_trace_info.max_size. Called in a
	 * thread that must not block.
	 */
	void (*on_full)(void *data, const char *path);
	/*
	 * Optional: a program requests a snapshot of the session with this directory. Called in a thread that must not
	 * block.
	 */
	void (*on_requested)(void *data, const char *path);
	/*
	 * Optional: the counter of the clock of this session has gone back. Called in a thread that must not block.
	 */
	void (*on_restarted)(void *data, const char *path);
	/*
	 * Optional: the metadata of the session with this directory must be replaced. Called in a thread that must not
	 * block.
	 */
	void (*on_stale)(void *data, const char *path);
	/*
	 * Optional: the open chunk of a session has reached the size of its schedule
	 * (wmk_consumer_port_ops.chunk_is_due). Called in a thread that must not block.
	 */
	void (*on_due)(void *data);
	void *data;
};

extern const struct wmk_consumer_port_ops wmk_consumer_port_ops;       /* its `data` is a struct wmk_consumer_port */

int wmk_consumer_port_open(const struct wmk_consumer_port_options *options, struct wmk_consumer_port **port);
/* After this call, closing releases rings and traces without ending them: the consumer keeps running. */
void wmk_consumer_port_leave(struct wmk_consumer_port *port);
/* The consumer writes everything and exits. */
int wmk_consumer_port_shutdown(struct wmk_consumer_port *port);
void wmk_consumer_port_close(struct wmk_consumer_port *port);

/* ── taking over from an earlier session daemon ──────────────────────────────────────────────────────── */

/* True if a consumer runs. The function does not start a consumer. */
bool wmk_consumer_port_has_consumer(const struct wmk_consumer_port *port);
/*
 * List what the consumer holds; start a consumer if none runs. If the consumer cannot be reached, the port requests the
 * list later, before it adds anything. Traces and rings that are opened as `restored` are found in the list, by the
 * UUID of the trace and the stream id. A trace or ring set that is not in the list is added to the consumer, which
 * continues at the end of the files.
 */
int wmk_consumer_port_take_over(struct wmk_consumer_port *port);
/*
 * The descriptor of rings that the consumer holds, owned by the port. -ENOENT: the consumer holds other rings, but not
 * these rings. -ENODATA: the consumer holds nothing, so it may not be the consumer that had these rings.
 */
int wmk_consumer_port_held(const struct wmk_consumer_port *port, const uint8_t trace_uuid[16], uint32_t stream_id);
/*
 * For wmk_rings_gone: counts of rings that the consumer has written and released. -ENOENT: the consumer has no such
 * counts.
 */
int wmk_consumer_port_gone(const struct wmk_consumer_port *port, const uint8_t trace_uuid[16], const char *channel,
		    struct wmk_counts *counts);
/* End the traces and rings that no session has opened again, and free the list. */
void wmk_consumer_port_taken_over(struct wmk_consumer_port *port);

#endif
