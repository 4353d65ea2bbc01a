/* SPDX-License-Identifier: MIT */
/* shard_table.c - the shards of a wmk_tracing, and the slots of applications for claims of rings. */
#include "session/model/shard_table.h"

#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

int wmk_slot_claim(struct wmk_tracing *tracing, uint32_t *slot, uint32_t *generation)
{
	unsigned max = tracing->options.max_apps, i;
	int err = -EMFILE;

	pthread_mutex_lock(&tracing->lock);
	for (unsigned tried = 0; tracing->slots_used < max && tried < max; tried++) {
		i = tracing->slot_next;
		tracing->slot_next = (i + 1) % max;
		if (tracing->slots[i].used)
			continue;
		tracing->slots[i].used = true;
		tracing->slots[i].generation = (tracing->slots[i].generation + 1) & WMK_GENERATION_MAX;
		if (tracing->slots[i].generation == 0)
			tracing->slots[i].generation = 1;
		tracing->slots_used++;
		*slot = i + 1;
		*generation = tracing->slots[i].generation;
		err = 0;
		break;
	}
	pthread_mutex_unlock(&tracing->lock);
	return err;
}

void wmk_slot_release(struct wmk_tracing *tracing, uint32_t slot)
{
	pthread_mutex_lock(&tracing->lock);
	tracing->slots[slot - 1].used = false;
	tracing->slots_used--;
	pthread_mutex_unlock(&tracing->lock);
}

bool wmk_slot_describe(struct wmk_tracing *tracing, uint32_t slot, uint32_t generation, uid_t uid, pid_t *pid,
		       char name[16])
{
	pthread_mutex_lock(&tracing->lock);
	const struct app_slot *of = slot && slot <= tracing->options.max_apps ? &tracing->slots[slot - 1] : NULL;
	const bool is_known = of && of->generation == generation && of->pid && of->uid == uid;

	if (is_known) {
		*pid = of->pid;
		snprintf(name, sizeof(of->name), "%s", of->name);
	}
	pthread_mutex_unlock(&tracing->lock);
	return is_known;
}

int wmk_tracing_shard_add(struct wmk_tracing *tracing, struct wmk_shard *apps)
{
	struct wmk_shard **more;

	pthread_mutex_lock(&tracing->lock);
	more = realloc(tracing->shards, (tracing->n_shards + 1) * sizeof(struct wmk_shard *));
	if (more) {
		more[tracing->n_shards++] = apps;
		tracing->shards = more;
	}
	pthread_mutex_unlock(&tracing->lock);
	return more ? 0 : wmk_error(-ENOMEM, "no memory for one more shard of applications");
}

void wmk_tracing_shard_remove(struct wmk_tracing *tracing, struct wmk_shard *apps)
{
	pthread_mutex_lock(&tracing->lock);
	for (unsigned i = 0; i < tracing->n_shards; i++)
		if (tracing->shards[i] == apps) {
			tracing->shards[i] = tracing->shards[--tracing->n_shards];
			break;
		}
	pthread_mutex_unlock(&tracing->lock);
}
