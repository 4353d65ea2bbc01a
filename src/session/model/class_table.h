/* SPDX-License-Identifier: MIT */
/*
 * class_table.h - the distinct event classes of all applications, found by content (class_table.c) or by their encoding
 * (class_cache.c). Classes exist as long as the wmk_tracing exists.
 */
#ifndef WMK_SESSION_CLASS_TABLE_H
#define WMK_SESSION_CLASS_TABLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <urcu/urcu-memb.h>
#include <urcu/rculfhash.h>

#include "schema/schema.h"

#define CLASSES_MAX (1u << 20)

struct wmk_tracing;

/* A class exists as long as the wmk_tracing exists. */
struct class {
	struct cds_lfht_node node;
	struct wmk_event_class *event;
	char *full;                      /* provider:name */
	uint32_t serial;
	/* serial of the first class that differs only in its level: they share their ids */
	uint32_t kin;
	bool own;                        /* an event of the tracer or the kernel, which applications cannot enable */
	atomic_uint encodings;           /* number of cached encodings; relaxed: a count */
	struct class *dead;              /* in wmk_classes_free(): the next to free */
};

/*
 * Return the class that equals *event. The function takes ownership of *event, and may free *event. NULL with a cause
 * chain. Any thread.
 */
struct class *wmk_class_intern(struct wmk_tracing *tracing, struct wmk_event_class *event);
/*
 * Like wmk_class_intern(), for an application of user `uid`, with an encoding of `bytes` bytes: a new class is charged
 * to the user's quota. NULL also for -EDQUOT.
 */
struct class *wmk_class_bring(struct wmk_tracing *tracing, struct wmk_event_class *event, uid_t uid, size_t bytes);
int wmk_classes_init(struct wmk_tracing *tracing);
void wmk_classes_free(struct wmk_tracing *tracing);

/*
 * Find the class of an encoding (wmk_event_encode()) that an application of `uid` sent; decodes each encoding once.
 * Returns 0, or -errno with a cause chain. Any thread.
 */
int wmk_class_lookup(struct wmk_tracing *tracing, const void *encoded, size_t len, uid_t uid, struct class **class);
int wmk_class_cache_init(struct wmk_tracing *tracing);
void wmk_class_cache_free(struct wmk_tracing *tracing);

/* Call `one` for each class, under the RCU read lock. */
void wmk_tracing_each_class(struct wmk_tracing *tracing, void (*one)(void *data, const struct class *class),
			    void *data);

#endif
