/* SPDX-License-Identifier: MIT */
/*
 * outputs.h - outputs of the server: all traces of one session share one output. The server's thread, unless stated
 * otherwise.
 */
#ifndef WMK_CONSUMER_OUTPUTS_H
#define WMK_CONSUMER_OUTPUTS_H

#include "consumer/server_state.h"

/*
 * Assign an output to the trace. `budget_fd`: the budget page that was received with the trace, or -1. The output keeps
 * the budget page of its first trace. 0 or -errno with a cause chain.
 */
int wmk_server_output_join(struct wmk_server_trace *trace, int budget_fd);
/* Return the budget page of the trace's output, which the output owns; -1: no page. */
int wmk_server_output_budget(const struct wmk_server_trace *trace);
/* Release the output of a closed trace. */
void wmk_server_output_leave(struct wmk_server_trace *trace);
/*
 * Hold the output of the open traces of a session until wmk_server_output_release(). Returns NULL if no trace of the
 * session is open. wmk_server_output_held(): any thread.
 */
struct wmk_server_output *wmk_server_output_hold(struct wmk_consumer_server *server, const char *path, uint64_t uid);
struct wmk_output *wmk_server_output_held(const struct wmk_server_output *output);
/* NULL is allowed. */
void wmk_server_output_release(struct wmk_server_output *output);
/* Return the output of the trace; the output stays valid until the trace releases the output. The trace's thread. */
struct wmk_output *wmk_server_output_of(const struct wmk_server_trace *trace);
/*
 * Called after a request has changed the directory of an output. If the output has a sender, the sender reads the
 * directory again.
 */
void wmk_server_outputs_rescan(struct wmk_consumer_server *server, const char *path);
/* Called after the output was cleared, so that the output is no longer full. */
void wmk_server_output_cleared(struct wmk_server_trace *trace);
/* The `requested` of struct wmk_consumer_options. `trace`: a struct wmk_server_trace. The trace's thread. */
void wmk_server_output_requested(void *trace);
/* The `restarted` of struct wmk_consumer_options. `trace`: a struct wmk_server_trace. The trace's thread. */
void wmk_server_output_restarted(void *trace);
/* Measure a sync point for each trace: either real time was set, or one trace shows that the counter has gone back. */
void wmk_server_clock_stepped(const struct wmk_consumer_server *server);
/*
 * Called when a rotation of the session begins, so that the server does not repeat RESTARTED to a new session daemon.
 */
void wmk_server_output_rotated(const struct wmk_server_trace *trace);
/*
 * Report each full output (FULL) that was not reported yet, each output with a new request for a snapshot (REQUESTED),
 * and each chunk that is due (CHUNK_DUE). After a new session daemon has connected, wmk_server_outputs_notify_again()
 * lets wmk_server_outputs_notify() repeat the reports FULL, REQUESTED and RESTARTED.
 */
void wmk_server_outputs_notify(struct wmk_consumer_server *server);
void wmk_server_outputs_notify_again(struct wmk_consumer_server *server);

#endif
