/* SPDX-License-Identifier: MIT */
/*
 * class_table.h - the distinct event classes of all applications (class_table.c), found by what they are or by the
 * bytes that describe them (class_cache.c). They stay as long as the wmk_tracing.
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

/* Never freed before the wmk_tracing. */
struct class {
	struct cds_lfht_node node;
	struct wmk_event_class *event;
	char *full;                      /* provider:name */
	uint32_t serial;
	/* serial of the first that is the same but for its level: they share their ids */
	uint32_t kin;
	bool own;                        /* the tracer's own, or the kernel's: none that programs are asked for */
	atomic_uint encodings;           /* that are remembered; relaxed: a count */
	struct class *dead;              /* at the end: the next to free */
};

/* The class that is the same as *event, which it takes over or frees. NULL with a cause chain. Any thread. */
struct class *wmk_class_intern(struct wmk_tracing *tracing, struct wmk_event_class *event);
/*
 * Likewise, for a program of user `uid`, in `bytes` bytes: a new one counts into what the user's programs may have
 * brought. NULL also: -EDQUOT.
 */
struct class *wmk_class_bring(struct wmk_tracing *tracing, struct wmk_event_class *event, uid_t uid, size_t bytes);
int wmk_classes_init(struct wmk_tracing *tracing);
void wmk_classes_free(struct wmk_tracing *tracing);

/*
 * class_cache.c: the class that these bytes of a user's program describe (wmk_event_encode()), decoded once for all who
 * send the same. -errno with a cause chain. Any thread.
 */
int wmk_class_lookup(struct wmk_tracing *tracing, const void *encoded, size_t len, uid_t uid, struct class **class);
int wmk_class_cache_init(struct wmk_tracing *tracing);
void wmk_class_cache_free(struct wmk_tracing *tracing);

/* Under the read lock of the table. */
void wmk_tracing_each_class(struct wmk_tracing *tracing, void (*one)(void *data, const struct class *class),
			    void *data);

#endif
