/* SPDX-License-Identifier: MIT */
/*
 * outputs.h - outputs of the server: traces of one session share one. The server's thread, except where said.
 */
#ifndef WMK_CONSUMER_OUTPUTS_H
#define WMK_CONSUMER_OUTPUTS_H

#include "consumer/server_state.h"

/*
 * `budget_fd`: the budget page that came with the trace, or -1; the first trace of an output brings that of all. 0 or
 * -errno with a cause chain.
 */
int wmk_server_output_join(struct wmk_server_trace *trace, int budget_fd);
/* The budget page of the trace's output, or -1; the output's. */
int wmk_server_output_budget(const struct wmk_server_trace *trace);
/* The trace is closed. */
void wmk_server_output_leave(struct wmk_server_trace *trace);
/* The trace's thread: it belongs to the traces that joined it. */
struct wmk_output *wmk_server_output_of(const struct wmk_server_trace *trace);
/* There is room again. */
void wmk_server_output_cleared(struct wmk_server_trace *trace);
/*
 * Report outputs that are full and were not reported yet. To a session daemon that has just connected: all of them
 * again.
 */
void wmk_server_outputs_notify(struct wmk_consumer_server *server);
void wmk_server_outputs_notify_again(struct wmk_consumer_server *server);

#endif
