/* SPDX-License-Identifier: MIT */
/*
 * event.c - the events of this process: descriptors with the same provider, name and fields are one event.
 *
 * A hash table contains the event names (provider:name). A name usually has one event. A name has several events if
 * libraries declare the same name with different fields. Names and events are never freed, so a library that is loaded
 * again needs no more memory.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "tracer/event.h"
#include "tracer/plan.h"
#include "tracer/probe.h"
#include "tracer/recorder.h"
#include "tracer/tracer.h"

static uint64_t hash_text(uint64_t h, const char *text)
{
	return wmk_hash_bytes(h, text, strlen(text) + 1);
}

static void grow_names(void)
{
	uint32_t n = wmk_tracer.n_buckets ? wmk_tracer.n_buckets * 4 : 64;
	struct wmk_name **buckets = calloc(n, sizeof(*buckets));

	if (!buckets)
		return;
	for (uint32_t i = 0; i < wmk_tracer.n_buckets; i++)
		for (struct wmk_name *name = wmk_tracer.names[i], *next; name; name = next) {
			next = name->next;
			name->next = buckets[name->hash & (n - 1)];
			buckets[name->hash & (n - 1)] = name;
		}
	free(wmk_tracer.names);
	wmk_tracer.names = buckets;
	wmk_tracer.n_buckets = n;
}

struct wmk_name *wmk_name_get(const char *provider, const char *event, bool make)
{
	uint64_t h = hash_text(hash_text(WMK_HASH_BEGIN, provider), event);
	struct wmk_name *name;

	if (wmk_tracer.n_buckets)
		for (name = wmk_tracer.names[h & (wmk_tracer.n_buckets - 1)]; name; name = name->next)
			if (name->hash == h && !strcmp(name->name, event) && !strcmp(name->provider, provider))
				return name;
	if (!make)
		return NULL;
	if (wmk_tracer.n_names >= wmk_tracer.n_buckets)
		grow_names();
	name = wmk_tracer.n_buckets ? calloc(1, sizeof(*name)) : NULL;
	if (!name)
		return NULL;
	name->provider = strdup(provider);
	name->name = strdup(event);
	if (!name->provider || !name->name) {
		free(name->provider);
		free(name->name);
		free(name);
		return NULL;
	}
	name->hash = h;
	name->next = wmk_tracer.names[h & (wmk_tracer.n_buckets - 1)];
	wmk_tracer.names[h & (wmk_tracer.n_buckets - 1)] = name;
	wmk_tracer.n_names++;
	return name;
}

/* Append an element to an array; when the array is full, its capacity doubles. */
static int append(void *array, uint32_t *n, uint32_t *cap, const void *element)
{
	void ***at = array;

	if (*n == *cap) {
		uint32_t more = *cap ? *cap * 2 : 1;
		void **bigger = realloc(*at, more * sizeof(void *));

		if (!bigger)
			return wmk_error(-ENOMEM, "no memory for %u sites", more);
		*at = bigger;
		*cap = more;
	}
	memcpy(&(*at)[(*n)++], &element, sizeof(element));
	return 0;
}

static struct wmk_event *event_make(struct wmk_event_class *class, const struct waymark_desc *desc,
				    struct wmk_name *name)
{
	struct wmk_event *event = calloc(1, sizeof(*event));

	if (!event)
		return NULL;
	if (wmk_plan_make(event, desc) < 0 ||
	    append(&wmk_tracer.events, &wmk_tracer.n_events, &wmk_tracer.cap_events, event) < 0) {
		free(event->ops);
		free(event->refs);
		free(event);
		return NULL;
	}
	event->number = wmk_tracer.n_events - 1;
	event->class = class;
	event->name = name;
	event->next_of_name = name->events;
	name->events = event;
	return event;
}

struct wmk_event *wmk_event_get(struct waymark_desc *desc)
{
	struct wmk_event_class *class;
	struct wmk_event *event = NULL;

	if (wmk_event_from_desc(desc, &class) < 0)
		return NULL;
	struct wmk_name *name = wmk_name_get(class->provider, class->name, true);

	if (name) {
		for (event = name->events; event; event = event->next_of_name)
			if (event->class->kind == class->kind && wmk_event_same(event->class, class))
				break;
		if (!event) {
			event = event_make(class, desc, name);
			if (event)
				return event;
		}
	}
	wmk_event_class_free(class);
	return event;
}

int wmk_event_add_desc(struct wmk_event *event, struct waymark_desc *desc)
{
	int err = append(&event->descs, &event->n_descs, &event->cap_descs, desc);

	if (err < 0)
		return err;
	wmk_write_guarded(desc->event, event);
	/* (T3) release: `event` is stored before the chain; pairs with the acquire of the chain in waymark_record() */
	__atomic_store_n(&desc->chain, event->chain, __ATOMIC_RELEASE);
	if (event->n_descs == 1)
		wmk_probes_attach(event);
	return 0;
}

int wmk_event_add_site(struct wmk_event *event, const struct waymark_site *site)
{
	return append(&event->sites, &event->n_sites, &event->cap_sites, site);
}

int wmk_name_add_guard(struct wmk_name *name, const struct waymark_site *site)
{
	return append(&name->guards, &name->n_guards, &name->cap_guards, site);
}

void wmk_event_drop_desc(struct wmk_event *event, struct waymark_desc *desc)
{
	uint32_t i;

	for (i = 0; i < event->n_descs && event->descs[i] != desc; i++)
		;
	if (i == event->n_descs)
		return;
	event->descs[i] = event->descs[--event->n_descs];
	/* the chain first: a thread that still uses this descriptor then finds no recorder */
	__atomic_store_n(&desc->chain, NULL, __ATOMIC_RELEASE);
	wmk_write_guarded(desc->event, NULL);
	if (event->n_descs)
		return;
	while (event->chain)
		wmk_recorder_remove(event->chain);
	event->life++;
}
