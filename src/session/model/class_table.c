/* SPDX-License-Identifier: MIT */
/*
 * class_table.c - the distinct event classes of all applications in one lock-free table; similar names for a pattern
 * that matches no class.
 *
 * A class is a unique combination of provider, name, fields and level. Classes that differ only in their level are kin:
 * rules distinguish these classes, but traces do not. Look-ups hold no lock. A thread holds the lock of the wmk_tracing
 * while it adds a class. The serial numbers of classes therefore have no gaps, and the thread finds the kin of the new
 * class. Classes are never removed; quotas of applications limit the number of classes.
 */
#include "session/model/class_table.h"

#include "base/error.h"
#include "base/nearest.h"
#include "session/model/channel.h"
#include "session/model/session_model.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CLASS_BUCKETS 8192u          /* fixed: resizing would need a thread of liburcu */

int wmk_classes_init(struct wmk_tracing *tracing)
{
	tracing->classes = cds_lfht_new_flavor(CLASS_BUCKETS, CLASS_BUCKETS, CLASS_BUCKETS, 0, &urcu_memb_flavor, NULL);
	return tracing->classes ? 0 : wmk_error(-ENOMEM, "no memory for the table of events");
}

/* Quota of one user's applications. Classes are never freed, so each user has a separate quota. */
#define SHARE_CLASSES 65536u
#define SHARE_BYTES (64u << 20)

struct class_quota {
	struct class_quota *next;
	uid_t uid;
	uint32_t classes;
	uint64_t bytes;
};

struct class_key {
	const struct wmk_event_class *event;
	struct class *kin;
};

/*
 * Return 1 if the class is the wanted class. The hash table calls class_equals() for each class with the same hash
 * until class_equals() returns 1. class_equals() therefore also finds and stores the kin of the wanted class.
 */
static int class_equals(struct cds_lfht_node *node, const void *key)
{
	struct class *class = wmk_container_of(node, struct class, node);
	struct class_key *wanted = (struct class_key *)(uintptr_t)key;

	WMK_TSAN_ACQUIRE(node);
	if (!wmk_event_same(class->event, wanted->event))
		return 0;
	wanted->kin = class;
	return class->event->level == wanted->event->level;
}

static struct class *class_find(struct wmk_tracing *tracing, unsigned long hash, struct class_key *wanted)
{
	struct cds_lfht_iter iter;
	struct cds_lfht_node *node;

	urcu_memb_read_lock();
	cds_lfht_lookup(tracing->classes, hash, class_equals, wanted, &iter);
	node = cds_lfht_iter_get_node(&iter);
	urcu_memb_read_unlock();
	return node ? wmk_container_of(node, struct class, node) : NULL;
}

static struct class *class_make(struct wmk_event_class *event)
{
	size_t size = strlen(event->provider) + strlen(event->name) + 2;
	struct class *class = calloc(1, sizeof(*class));

	if (class)
		class->full = malloc(size);
	if (!class || !class->full) {
		wmk_error(-ENOMEM, "no memory for event %s:%s", event->provider, event->name);
		free(class);
		return NULL;
	}
	snprintf(class->full, size, "%s%s%s", event->provider, *event->provider ? ":" : "", event->name);
	class->event = event;
	class->own = !*event->provider || strcmp(event->provider, WMK_STATEDUMP_PROVIDER) == 0 ||
		     strcmp(event->provider, WMK_LIBRARY_PROVIDER) == 0;
	return class;
}

/* Charge a new class to the quota of `uid`. The lock of the wmk_tracing is held. */
static int class_quota_charge(struct wmk_tracing *tracing, uid_t uid, size_t bytes)
{
	struct class_quota *share = tracing->class_quotas;

	if (uid == 0 || uid == geteuid())
		return 0;
	while (share && share->uid != uid)
		share = share->next;
	if (!share) {
		share = calloc(1, sizeof(*share));
		if (!share)
			return wmk_error(-ENOMEM, "no memory for an event");
		share->uid = uid;
		share->next = tracing->class_quotas;
		tracing->class_quotas = share;
	}
	if (share->classes == SHARE_CLASSES || bytes > SHARE_BYTES - share->bytes)
		return wmk_errorx(-EDQUOT,
				  "applications of user %u exceed the limit of %u different events or %u MiB of event "
				  "descriptions",
				  (unsigned)uid, SHARE_CLASSES, SHARE_BYTES >> 20);
	share->classes++;
	share->bytes += bytes;
	return 0;
}

static struct class *class_add(struct wmk_tracing *tracing, unsigned long hash, struct class_key *wanted,
			       struct wmk_event_class *event)
{
	struct class *class =
		tracing->n_classes < CLASSES_MAX
			? class_make(event)
			: (wmk_error(-ENOSPC, "more than %u different events have been registered", CLASSES_MAX), NULL);

	if (!class)
		return NULL;
	class->serial = tracing->n_classes;
	class->kin = wanted->kin ? wanted->kin->kin : class->serial;
	__atomic_store_n(&tracing->n_classes, class->serial + 1, __ATOMIC_RELAXED);
	if (!class->own && !wanted->kin)
		atomic_fetch_add_explicit(&tracing->events_seen, 1, memory_order_relaxed);
	urcu_memb_read_lock();
	WMK_TSAN_RELEASE(&class->node);
	cds_lfht_add(tracing->classes, hash, &class->node);
	urcu_memb_read_unlock();
	return class;
}

/* Applications choose names and fields; the secret key prevents them from choosing the bucket. */
static unsigned long hash_of(const struct wmk_tracing *tracing, const struct wmk_event_class *event)
{
	return (unsigned long)wmk_event_hash(event, tracing->encoding_secret);
}

struct class *wmk_class_intern(struct wmk_tracing *tracing, struct wmk_event_class *event)
{
	return wmk_class_bring(tracing, event, geteuid(), 0);
}

struct class *wmk_class_bring(struct wmk_tracing *tracing, struct wmk_event_class *event, uid_t uid, size_t bytes)
{
	const unsigned long hash = hash_of(tracing, event);
	struct class_key wanted = { event, NULL };
	struct class *class = class_find(tracing, hash, &wanted);

	if (!class) {
		pthread_mutex_lock(&tracing->lock);
		wanted.kin = NULL;
		class = class_find(tracing, hash, &wanted);      /* another thread may have added it */
		if (!class && class_quota_charge(tracing, uid, bytes) == 0)
			class = class_add(tracing, hash, &wanted, event);
		pthread_mutex_unlock(&tracing->lock);
	}
	if (!class || class->event != event)
		wmk_event_class_free(event);
	return class;
}

void wmk_classes_free(struct wmk_tracing *tracing)
{
	struct class *class, *dead = NULL;
	struct cds_lfht_iter iter;
	struct cds_lfht_node *node;

	while (tracing->class_quotas) {
		struct class_quota *share = tracing->class_quotas;

		tracing->class_quotas = share->next;
		free(share);
	}
	if (!tracing->classes)
		return;
	urcu_memb_read_lock();
	cds_lfht_for_each(tracing->classes, &iter, node) {
		class = wmk_container_of(node, struct class, node);
		cds_lfht_del(tracing->classes, &class->node);
		class->dead = dead;
		dead = class;
	}
	urcu_memb_read_unlock();
	cds_lfht_destroy(tracing->classes, NULL);
	while (dead) {
		class = dead;
		dead = class->dead;
		wmk_event_class_free(class->event);
		free(class->full);
		free(class);
	}
}

/* ── classes that match a pattern or are similar to it ───────────────────────────────────────────────── */

void wmk_tracing_each_class(struct wmk_tracing *tracing, void (*one)(void *data, const struct class *class), void *data)
{
	struct cds_lfht_iter iter;
	struct cds_lfht_node *node;

	urcu_memb_read_lock();
	cds_lfht_for_each(tracing->classes, &iter, node) {
		WMK_TSAN_ACQUIRE(node);
		one(data, wmk_container_of(node, struct class, node));
	}
	urcu_memb_read_unlock();
}

uint64_t wmk_tracing_matching(struct wmk_tracing *tracing, const char *pattern)
{
	struct cds_lfht_iter iter;
	struct cds_lfht_node *node;
	uint64_t n = 0;

	pattern += *pattern == '!';
	urcu_memb_read_lock();
	cds_lfht_for_each(tracing->classes, &iter, node) {
		WMK_TSAN_ACQUIRE(node);
		const struct class *class = wmk_container_of(node, struct class, node);

		n += !class->own && class->kin == class->serial &&
		     wmk_pattern_match(pattern, class->event->provider, class->event->name);
	}
	urcu_memb_read_unlock();
	return n;
}

uint64_t wmk_tracing_fitting(struct wmk_tracing *tracing, const struct wmk_ctl_rule *rule)
{
	/*
	 * Classes that differ only in their level count as one event if the rule fits at least one of these classes. If
	 * there is no memory for the set of counted classes, only the first class of each event is tested.
	 */
	const uint32_t n_classes = __atomic_load_n(&tracing->n_classes, __ATOMIC_RELAXED);
	uint8_t *counted = rule->level_op == WMK_LEVEL_ANY ? NULL : calloc(n_classes / 8 + 1, 1);
	struct cds_lfht_iter iter;
	struct cds_lfht_node *node;
	uint64_t n = 0;

	urcu_memb_read_lock();
	cds_lfht_for_each(tracing->classes, &iter, node) {
		WMK_TSAN_ACQUIRE(node);
		const struct class *class = wmk_container_of(node, struct class, node);
		const uint32_t kin = class->kin;

		if (class->own || kin >= n_classes ||
		    (counted ? counted[kin / 8] >> kin % 8 & 1 : kin != class->serial))
			continue;
		if (!wmk_rule_fits(rule, class->event))
			continue;
		n++;
		if (counted)
			counted[kin / 8] |= (uint8_t)(1u << kin % 8);
	}
	urcu_memb_read_unlock();
	free(counted);
	return n;
}

#define HALF_RIGHT 100u      /* larger than any sum of two acceptable distances */

/* Copy `len` bytes of a pattern without its special characters. */
static void literal(const char *pattern, size_t len, char *buf, size_t size)
{
	size_t n = 0;

	for (size_t i = 0; i < len && n + 1 < size; i++)
		if (!strchr("*?[]\\", pattern[i]))
			buf[n++] = pattern[i];
	buf[n] = '\0';
}

/* Return the edit distance between `word` and `name`; UINT32_MAX: too large. The distance of an empty word is 0. */
static unsigned distance(const char *word, const char *name)
{
	size_t len = strlen(word);
	unsigned far = len < 4 ? 1 : (unsigned)(len / 3 + 1), d = len ? wmk_nearest_distance(word, name) : 0;

	return d <= far ? d : UINT32_MAX;
}

static unsigned class_distance(const char *pattern, const struct wmk_event_class *event)
{
	const char *colon = strchr(pattern, ':');
	char first[WMK_NAME_MAX + 1], second[WMK_NAME_MAX + 1];
	unsigned a, b;

	literal(pattern, colon ? (size_t)(colon - pattern) : strlen(pattern), first, sizeof(first));
	if (!first[0] && !colon)
		return UINT32_MAX;
	a = distance(first, event->provider);
	if (!colon) {
		b = distance(first, event->name);
		return a < b ? a : b;
	}
	literal(colon + 1, strlen(colon + 1), second, sizeof(second));
	b = distance(second, event->name);
	if (!first[0] && !second[0])
		return UINT32_MAX;
	/* A correct name with a wrong provider, or a wrong name with a correct provider, is similar, but ranks last. */
	if (a == UINT32_MAX || b == UINT32_MAX)
		return (second[0] && b == 0) || (first[0] && a == 0) ? HALF_RIGHT : UINT32_MAX;
	return a + b;
}

#define NEAREST_MAX 16u

struct nearest {
	const char **names;
	unsigned best[NEAREST_MAX];
	unsigned n, max;
};

static void nearest_offer(struct nearest *near, unsigned d, const char *name)
{
	unsigned at = near->n;

	for (unsigned k = 0; k < near->n; k++)
		if (strcmp(near->names[k], name) == 0)
			return;              /* the same name with different fields */
	while (at > 0 && (near->best[at - 1] > d || (near->best[at - 1] == d && strcmp(near->names[at - 1], name) > 0)))
		at--;
	if (at == near->max)
		return;
	near->n += near->n < near->max;
	memmove(&near->best[at + 1], &near->best[at], (near->n - at - 1) * sizeof(near->best[0]));
	memmove(&near->names[at + 1], &near->names[at], (near->n - at - 1) * sizeof(near->names[0]));
	near->best[at] = d;
	near->names[at] = name;
}

unsigned wmk_tracing_nearest(struct wmk_tracing *tracing, const char *pattern, const char **names, unsigned max)
{
	struct nearest near = { .names = names, .max = max < NEAREST_MAX ? max : NEAREST_MAX };
	struct cds_lfht_iter iter;
	struct cds_lfht_node *node;
	struct class *class;

	pattern += *pattern == '!';
	urcu_memb_read_lock();
	cds_lfht_for_each(tracing->classes, &iter, node) {
		WMK_TSAN_ACQUIRE(node);
		class = wmk_container_of(node, struct class, node);
		unsigned d = class->own ? UINT32_MAX : class_distance(pattern, class->event);

		if (d != UINT32_MAX)
			nearest_offer(&near, d, class->full);
	}
	urcu_memb_read_unlock();
	/* Names with only a correct provider or only a correct event are shown if no better name exists. */
	while (near.n > 1 && near.best[near.n - 1] == HALF_RIGHT && near.best[0] < HALF_RIGHT)
		near.n--;
	return near.n;
}
