/* SPDX-License-Identifier: MIT */
/* shard_table.h - shards of a wmk_tracing, and slots of applications. */
#ifndef WMK_SESSION_SHARD_TABLE_H
#define WMK_SESSION_SHARD_TABLE_H

#include "session/model/session_model.h"

int wmk_slot_claim(struct wmk_tracing *tracing, uint32_t *slot, uint32_t *generation);
void wmk_slot_release(struct wmk_tracing *tracing, uint32_t slot);
int wmk_tracing_shard_add(struct wmk_tracing *tracing, struct wmk_shard *apps);
void wmk_tracing_shard_remove(struct wmk_tracing *tracing, struct wmk_shard *apps);

#endif
