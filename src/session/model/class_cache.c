/* SPDX-License-Identifier: MIT */
/*
 * class_cache.c - a table of event classes by the encoding in which applications declare them.
 *
 *     EVENT {number, bytes} ──► table: same bytes? ── yes ──► class
 *                                 └─ no: decode, intern (class_table.c), add to the table
 *
 * A thousand applications of one build send the same bytes a thousand times. The cache decodes, checks and interns the
 * same bytes only once. One class may have several encodings, because an encoding contains the line of the site; the
 * cache keeps a few encodings of each class. Look-ups hold no lock. Entries of the cache are never removed; an encoding
 * that is not cached is decoded each time.
 *
 * Applications choose the bytes, so the hash is keyed: no application can fill one bucket.
 */
#include "session/model/class_table.h"
#include "session/model/session_model.h"

#include "base/error.h"
#include "base/hash.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define BUCKETS 8192u                /* fixed: resizing would need a thread of liburcu */
#define ENCODINGS_BYTES (16u << 20)
#define ENCODINGS_OF_A_CLASS 8u

struct encoding {
	struct cds_lfht_node node;
	struct encoding *dead;           /* in wmk_class_cache_free(): the next to free */
	struct class *class;
	size_t len;
	uint8_t bytes[];
};

int wmk_class_cache_init(struct wmk_tracing *tracing)
{
	if (getrandom(tracing->encoding_secret, sizeof(tracing->encoding_secret), 0) !=
	    sizeof(tracing->encoding_secret))
		return wmk_error(-errno, "cannot get random numbers");
	tracing->encodings = cds_lfht_new_flavor(BUCKETS, BUCKETS, BUCKETS, 0, &urcu_memb_flavor, NULL);
	return tracing->encodings ? 0 : wmk_error(-ENOMEM, "no memory for the table of events");
}

/* Cache entries with the same hash are compared by their bytes. */
static unsigned long hash_of(const struct wmk_tracing *tracing, const uint8_t *bytes, size_t len)
{
	return (unsigned long)wmk_hash_keyed(tracing->encoding_secret[2], tracing->encoding_secret, bytes, len);
}

struct encoding_key {
	const void *bytes;
	size_t len;
};

static int is_wanted(struct cds_lfht_node *node, const void *key)
{
	const struct encoding *e = wmk_container_of(node, struct encoding, node);
	const struct encoding_key *wanted = key;

	WMK_TSAN_ACQUIRE(node);
	return e->len == wanted->len && memcmp(e->bytes, wanted->bytes, wanted->len) == 0;
}

static struct class *look(struct wmk_tracing *tracing, unsigned long hash, const struct encoding_key *wanted)
{
	struct cds_lfht_iter iter;

	urcu_memb_read_lock();
	cds_lfht_lookup(tracing->encodings, hash, is_wanted, wanted, &iter);
	struct cds_lfht_node *node = cds_lfht_iter_get_node(&iter);
	urcu_memb_read_unlock();
	return node ? wmk_container_of(node, struct encoding, node)->class : NULL;
}

static void remember(struct wmk_tracing *tracing, unsigned long hash, const struct encoding_key *wanted,
		     struct class *class)
{
	const uint64_t size = sizeof(struct encoding) + wanted->len;

	if (atomic_fetch_add_explicit(&class->encodings, 1, memory_order_relaxed) >= ENCODINGS_OF_A_CLASS) {
		atomic_fetch_sub_explicit(&class->encodings, 1, memory_order_relaxed);
		return;
	}
	/* relaxed: a count */
	const uint64_t before = atomic_fetch_add_explicit(&tracing->encoding_bytes, size, memory_order_relaxed);
	struct encoding *e = before + size <= ENCODINGS_BYTES ? malloc(size) : NULL;
	struct cds_lfht_node *there = NULL;

	if (e) {
		e->class = class;
		e->len = wanted->len;
		memcpy(e->bytes, wanted->bytes, wanted->len);
		urcu_memb_read_lock();
		WMK_TSAN_RELEASE(&e->node);
		there = cds_lfht_add_unique(tracing->encodings, hash, is_wanted, wanted, &e->node);
		urcu_memb_read_unlock();
	}
	if (e && there == &e->node)
		return;
	atomic_fetch_sub_explicit(&tracing->encoding_bytes, size, memory_order_relaxed);
	atomic_fetch_sub_explicit(&class->encodings, 1, memory_order_relaxed);
	free(e);
}

int wmk_class_lookup(struct wmk_tracing *tracing, const void *encoded, size_t len, uid_t uid, struct class **class)
{
	const struct encoding_key wanted = { encoded, len };
	const unsigned long hash = hash_of(tracing, encoded, len);
	struct wmk_event_class *event;

	*class = look(tracing, hash, &wanted);
	if (*class)
		return 0;
	int err = wmk_event_decode(encoded, len, &event);
	if (err < 0)
		return err;
	if (!event->provider[0]) {
		wmk_event_class_free(event);
		return wmk_error(-EPROTO,
				 "an application declares an event without a provider: only kernel events have none");
	}
	*class = wmk_class_bring(tracing, event, uid, len);
	/* The error number is missing if its message could not be allocated. */
	if (!*class)
		return wmk_error_number() < 0 ? wmk_error_number() : -ENOMEM;
	remember(tracing, hash, &wanted, *class);
	return 0;
}

void wmk_class_cache_free(struct wmk_tracing *tracing)
{
	struct encoding *e, *dead = NULL;
	struct cds_lfht_iter iter;
	struct cds_lfht_node *node;

	if (!tracing->encodings)
		return;
	urcu_memb_read_lock();
	cds_lfht_for_each(tracing->encodings, &iter, node) {
		e = wmk_container_of(node, struct encoding, node);
		cds_lfht_del(tracing->encodings, &e->node);
		e->dead = dead;
		dead = e;
	}
	urcu_memb_read_unlock();
	cds_lfht_destroy(tracing->encodings, NULL);
	while ((e = dead) != NULL) {
		dead = e->dead;
		free(e);
	}
}
