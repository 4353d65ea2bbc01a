/* SPDX-License-Identifier: MIT */
/*
 * consumer_port.h - the consumer of the session daemon's traces: the consumer daemon (consumer_link.h) creates their
 * directories, writes their metadata and drains their rings.
 *
 *     wmk_tracing ──wmk_consumer_port_ops──► wmk_consumer_port ──link──► waymark-consumerd
 *
 * The link is opened with the first session, or immediately if a consumer daemon is already running. If the session
 * daemon ends while recording continues (wmk_consumer_port_leave()), the consumer daemon keeps all traces and rings.
 * The next session daemon takes over the consumer daemon (state_file.h).
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
	 * Optional. Called with a message when the consumer daemon has crashed, runs again, or will not be restarted.
	 * Must not call the port.
	 */
	void (*on_change)(void *data, const char *words);
	/*
	 * Optional. Called when the traces of the session with the directory `path` have reached
	 * wmk_trace_info.max_size. Called in a thread that must not block.
	 */
	void (*on_full)(void *data, const char *path);
	/*
	 * Optional. Called when a program requests a snapshot of the session with the directory `path`. Called in a
	 * thread that must not block.
	 */
	void (*on_requested)(void *data, const char *path);
	/*
	 * Optional. Called when the clock counter of the session with the directory `path` has decreased. Called in a
	 * thread that must not block.
	 */
	void (*on_restarted)(void *data, const char *path);
	/*
	 * Optional. Called when the metadata of the session with the directory `path` must be replaced. Called in a
	 * thread that must not block.
	 */
	void (*on_stale)(void *data, const char *path);
	/*
	 * Optional. Called when the open chunk of a session has reached the size in its schedule
	 * (wmk_consumer_port_ops.chunk_is_due). Called in a thread that must not block.
	 */
	void (*on_due)(void *data);
	void *data;
};

extern const struct wmk_consumer_port_ops wmk_consumer_port_ops;       /* its `data` is a struct wmk_consumer_port */

int wmk_consumer_port_open(const struct wmk_consumer_port_options *options, struct wmk_consumer_port **port);
/*
 * After wmk_consumer_port_leave(), closing a trace or rings releases them without ending them, because the consumer
 * daemon keeps running.
 */
void wmk_consumer_port_leave(struct wmk_consumer_port *port);
/* The consumer daemon writes all records and exits. */
int wmk_consumer_port_shutdown(struct wmk_consumer_port *port);
void wmk_consumer_port_close(struct wmk_consumer_port *port);

/* ── taking over from an earlier session daemon ──────────────────────────────────────────────────────── */

/* True if a consumer runs. The function does not start a consumer daemon. */
bool wmk_consumer_port_has_consumer(const struct wmk_consumer_port *port);
/*
 * List the traces and rings that the consumer daemon holds; if no consumer daemon runs, start one. If the consumer
 * daemon does not answer, the port requests the list later, before it adds any trace. If a trace or ring set is opened
 * as `restored`, the port searches the list by trace UUID and stream id. A restored trace or ring set that is not in
 * the list is added to the consumer daemon, which continues at the end of the files.
 */
int wmk_consumer_port_take_over(struct wmk_consumer_port *port);
/*
 * Return the descriptor of rings that the consumer daemon holds; the port owns this descriptor. -ENOENT: the consumer
 * holds other rings, but not these rings. -ENODATA: the consumer holds nothing, so it may not be the consumer that had
 * these rings.
 */
int wmk_consumer_port_held(const struct wmk_consumer_port *port, const uint8_t trace_uuid[16], uint32_t stream_id);
/*
 * For wmk_rings_gone: get the counts of rings that the consumer daemon has written and released. -ENOENT: the consumer
 * has no such counts.
 */
int wmk_consumer_port_gone(const struct wmk_consumer_port *port, const uint8_t trace_uuid[16], const char *channel,
		    struct wmk_counts *counts);
/* End the traces and rings that no session has opened again, and free the list. */
void wmk_consumer_port_taken_over(struct wmk_consumer_port *port);

#endif
