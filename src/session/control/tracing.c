/* SPDX-License-Identifier: MIT */
/*
 * tracing.c - open and close a wmk_tracing.
 */
#include "session/kernel/kernel_restore.h"
#include "session/model/class_table.h"
#include "session/model/quota.h"
#include "session/model/session_model.h"
#include "session/model/unrecorded.h"

#include "base/error.h"
#include "kernel/tracefs/tracefs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#define SESSION_BUCKETS 64u

#ifdef __SANITIZE_THREAD__
/* liburcu is built without ThreadSanitizer, which therefore does not see its synchronization. */
const char *__tsan_default_suppressions(void);
__attribute__((visibility("default"), used)) const char *__tsan_default_suppressions(void)
{
	return "called_from_lib:liburcu.so\n";
}
#endif

void wmk_tracing_thread_begin(void)
{
	urcu_memb_register_thread();
}

void wmk_tracing_thread_end(void)
{
	urcu_memb_unregister_thread();
}

static uint64_t half_of_memory(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);

	return pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page / 2 : 1u << 31;
}

static int options_take(struct wmk_tracing *tracing, const struct wmk_tracing_options *given)
{
	struct wmk_tracing_options *o = &tracing->options;
	uint32_t first;

	if (given->size != sizeof(*given) || !given->consumer || !given->clocks)
		return wmk_error(-EINVAL, "invalid tracing options: structure size, no consumer or no clocks");
	*o = *given;
	tracing->clocks = *given->clocks;
	o->clocks = &tracing->clocks;
	snprintf(tracing->kernel_owner, sizeof(tracing->kernel_owner), "%s", o->kernel_owner ? o->kernel_owner : "");
	o->kernel_owner = tracing->kernel_owner;
	atomic_init(&tracing->rings_made, o->first_rings_id);
	o->max_apps = o->max_apps ? o->max_apps : 16384;
	o->max_user_apps = o->max_user_apps ? o->max_user_apps : 1024;
	o->max_sessions = o->max_sessions ? o->max_sessions : 64;
	o->max_channels =
		o->max_channels && o->max_channels < WMK_SESSION_CHANNELS ? o->max_channels : WMK_SESSION_CHANNELS;
	o->max_rules = !o->max_rules ? 1024 : o->max_rules < WMK_CTL_RULES_MAX ? o->max_rules : WMK_CTL_RULES_MAX;
	o->max_ring_bytes = o->max_ring_bytes ? o->max_ring_bytes : half_of_memory() / 2;
	if (!o->max_users_ring_bytes)
		o->max_users_ring_bytes = o->max_ring_bytes > half_of_memory() ? o->max_ring_bytes : half_of_memory();
	tracing->slots = calloc(o->max_apps, sizeof(*tracing->slots));
	tracing->sessions =
		cds_lfht_new_flavor(SESSION_BUCKETS, SESSION_BUCKETS, SESSION_BUCKETS, 0, &urcu_memb_flavor, NULL);
	if (!tracing->slots || !tracing->sessions)
		return wmk_error(-ENOMEM, "no memory for sessions and applications");
	/*
	 * A random first generation differs from the generations of the previous daemon. Applications may still hold
	 * claims with generations of the previous daemon in adopted rings.
	 */
	if (getrandom(&first, sizeof(first), 0) != sizeof(first))
		return wmk_error(-errno, "cannot get random numbers");
	for (unsigned i = 0; i < o->max_apps; i++)
		tracing->slots[i].generation = first & WMK_GENERATION_MAX;
	int err = wmk_classes_init(tracing);

	return err < 0 ? err : wmk_class_cache_init(tracing);
}

int wmk_tracing_open(const struct wmk_tracing_options *options, struct wmk_tracing **out)
{
	struct wmk_tracing *tracing = calloc(1, sizeof(*tracing));

	if (!tracing)
		return wmk_error(-ENOMEM, "no memory for sessions and applications");
	pthread_mutex_init(&tracing->lock, NULL);
	pthread_mutex_init(&tracing->calls_lock, NULL);
	int err = options_take(tracing, options);

	if (err < 0) {
		wmk_tracing_close(tracing);
		return err;
	}
	*out = tracing;
	return 0;
}

static void sessions_end(struct wmk_tracing *tracing)
{
	struct wmk_session **all = NULL;
	int n = wmk_session_get_all(tracing, &all);

	tracing->closing = true;
	for (int i = 0; i < n; i++) {
		if (wmk_session_lock(all[i]) == 0) {
			wmk_session_destroy(all[i]);
			wmk_session_unlock(all[i]);
			wmk_session_finish(all[i], NULL, NULL);
		}
		wmk_session_put(all[i]);
	}
	free(all);
}

void wmk_tracing_leave(struct wmk_tracing *tracing)
{
	if (tracing)
		tracing->leaving = true;
}

void wmk_tracing_sweep(struct wmk_tracing *tracing)
{
	wmk_kernel_sweep(tracing);
}

void wmk_tracing_close(struct wmk_tracing *tracing)
{
	if (!tracing)
		return;
	if (tracing->sessions) {
		sessions_end(tracing);
		if (tracing->deferred)
			urcu_memb_barrier();
		WMK_TSAN_ACQUIRE(tracing);
		cds_lfht_destroy(tracing->sessions, NULL);
	}
	wmk_tracefs_close(tracing->tracefs);
	wmk_class_cache_free(tracing);
	wmk_classes_free(tracing);
	wmk_quotas_free(tracing);
	pthread_mutex_destroy(&tracing->lock);
	pthread_mutex_destroy(&tracing->calls_lock);
	free(tracing->slots);
	free(tracing->before);
	free(tracing->shards);
	free(tracing);
}

const struct wmk_tracing_options *wmk_tracing_quotas(const struct wmk_tracing *tracing)
{
	return &tracing->options;
}
