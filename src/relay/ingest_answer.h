/* SPDX-License-Identifier: MIT */
/*
 * ingest_answer.h - messages from the relay to a sender. ingest.h declares the functions for the connection's thread.
 */
#ifndef WMK_RELAY_INGEST_ANSWER_H
#define WMK_RELAY_INGEST_ANSWER_H

#include <stdint.h>

#include "relay/ingest.h"

/* Append a message of this type to the output of the connection. 0 or -errno with a cause chain. */
int wmk_ingest_answer(struct wmk_ingest *ingest, uint16_t type, uint32_t number, const struct wmk_object *is,
		      const void *object);
/* Append the message ERROR with the current cause chain, and clear the chain. */
void wmk_ingest_send_error(struct wmk_ingest *ingest, uint32_t number, int err);

#endif
