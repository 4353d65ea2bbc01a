/* SPDX-License-Identifier: MIT */
/* ingest_answer.h - what the relay sends to a sender. Besides these functions, ingest.h has those of the connection. */
#ifndef WMK_RELAY_INGEST_ANSWER_H
#define WMK_RELAY_INGEST_ANSWER_H

#include <stdint.h>

#include "relay/ingest.h"

/* Append a message of this type. 0 or -errno with a cause chain. */
int wmk_ingest_answer(struct wmk_ingest *ingest, uint16_t type, uint32_t number, const struct wmk_object *is,
		      const void *object);
/* Append ERROR with the current cause chain, which is cleared. */
void wmk_ingest_send_error(struct wmk_ingest *ingest, uint32_t number, int err);

#endif
