/* SPDX-License-Identifier: MIT */
/*
 * output_work.h - requests about the output of a session that need no open trace: OUTPUT_CHECK, LIST_LEFT, REMOVE_LEFT.
 *
 *     server's thread ──wmk_server_output_work_start()──► a thread of the request: reads or changes the directory
 *                     ◄──── server->output_work_done ◄───
 *
 * Each request runs in a separate thread, so that a disk that does not respond delays only requests about this disk.
 * The number of request threads per uid is limited. Only the server's thread calls these functions.
 */
#ifndef WMK_CONSUMER_OUTPUT_WORK_H
#define WMK_CONSUMER_OUTPUT_WORK_H

#include "consumer/server_state.h"

#define WMK_SERVER_OUTPUT_WORK_MAX 256u  /* maximum number of threads */
#define WMK_SERVER_OUTPUT_WORK_USER 8u   /* maximum for one uid other than root */

/* 0: the request is answered later; -errno with a cause chain; -EAGAIN: too many such requests are in progress. */
int wmk_server_output_work_start(struct wmk_consumer_server *server, uint16_t type, uint32_t request,
				 const struct wmk_consumerd_output *is);
/* Send the replies to all requests that are done. */
void wmk_server_output_work_answer(struct wmk_consumer_server *server);

#endif
