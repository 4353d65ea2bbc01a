/* SPDX-License-Identifier: MIT */
/* shard_table.h - shards of a wmk_tracing, and slots of applications. */
#ifndef WMK_SESSION_SHARD_TABLE_H
#define WMK_SESSION_SHARD_TABLE_H

#include "session/model/session_model.h"

int wmk_slot_claim(struct wmk_tracing *tracing, uint32_t *slot, uint32_t *generation);
void wmk_slot_release(struct wmk_tracing *tracing, uint32_t slot);
/*
 * Describe the latest application of the slot, if this application had this generation and belongs to user `uid`. *name
 * has 16 bytes. False: unknown.
 */
bool wmk_slot_describe(struct wmk_tracing *tracing, uint32_t slot, uint32_t generation, uid_t uid, pid_t *pid,
		       char name[16]);
int wmk_tracing_shard_add(struct wmk_tracing *tracing, struct wmk_shard *apps);
void wmk_tracing_shard_remove(struct wmk_tracing *tracing, struct wmk_shard *apps);

#endif
