/* SPDX-License-Identifier: MIT */
/*
 * classes.c - the distinct event classes of all applications: which channel wants each, its id there, and what people
 * meant by a pattern that matches none.
 */
#include "session/internal.h"

#include "base/error.h"
#include "base/nearest.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ── channels and their patterns ─────────────────────────────────────────────────────────────────────── */

int wmk_channels_copy(struct wmk_apps *apps, const struct wmk_apps_options *options)
{
	for (unsigned i = 0; i < options->n_channels; i++) {
		struct channel *c = &apps->channels[i];
		const struct wmk_apps_channel *given = &options->channels[i];

		c->given = *given;
		c->on = true;
		c->patterns = calloc(given->n_patterns + 1, sizeof(*c->patterns));
		apps->n_channels = i + 1;
		if (!c->patterns)
			return wmk_error(-ENOMEM, "no memory for the patterns of a channel");
		for (unsigned p = 0; p < given->n_patterns; p++) {
			int err = wmk_apps_pattern_check(given->patterns[p]);

			if (err < 0)
				return err;
			c->patterns[p].text = strdup(given->patterns[p]);
			if (!c->patterns[p].text)
				return wmk_error(-ENOMEM, "no memory for the patterns of a channel");
			c->n_patterns++;
			c->n_includes += given->patterns[p][0] != '!';
		}
	}
	return 0;
}

void wmk_channels_free(struct wmk_apps *apps)
{
	for (unsigned i = 0; i < apps->n_channels; i++) {
		for (unsigned p = 0; p < apps->channels[i].n_patterns; p++)
			free(apps->channels[i].patterns[p].text);
		free(apps->channels[i].patterns);
	}
}

/* Does the channel want this event of the program? Counts what each pattern matches. */
static bool channel_wants(struct channel *c, const struct wmk_event_class *event)
{
	bool in = c->n_includes == 0, out = false;

	for (unsigned p = 0; p < c->n_patterns; p++) {
		bool exclude = c->patterns[p].text[0] == '!';

		if (!wmk_apps_pattern_match(c->patterns[p].text + exclude, event->provider, event->name))
			continue;
		c->patterns[p].matched++;
		in = in || !exclude;
		out = out || exclude;
	}
	return in && !out;
}

static uint32_t channel_for(struct wmk_apps *apps, const struct class *class)
{
	uint32_t found = NO_CHANNEL;

	for (unsigned i = 0; i < apps->n_channels; i++) {
		struct channel *c = &apps->channels[i];
		bool wants = class->own ? c->given.statedump : channel_wants(c, class->event);

		if (wants && found == NO_CHANNEL)
			found = i;
	}
	return found;
}

/* ── classes ─────────────────────────────────────────────────────────────────────────────────────────── */

struct class *wmk_class_intern(struct wmk_apps *apps, struct wmk_event_class *event)
{
	uint64_t hash = wmk_event_hash(event);
	struct class **bucket = &apps->classes[hash % CLASS_BUCKETS], *class;
	size_t size = strlen(event->provider) + strlen(event->name) + 2;

	for (class = *bucket; class; class = class->next)
		if (class->hash == hash && wmk_event_same(class->event, event)) {
			wmk_event_class_free(event);
			return class;
		}
	class = calloc(1, sizeof(*class));
	char *full = malloc(size);
	if (!class || !full) {
		wmk_error(-ENOMEM, "no memory for event %s:%s", event->provider, event->name);
		free(class);
		free(full);
		wmk_event_class_free(event);
		return NULL;
	}
	snprintf(full, size, "%s:%s", event->provider, event->name);
	*class = (struct class){ .next = *bucket, .hash = hash, .event = event, .full = full,
				 .own = strcmp(event->provider, WMK_STATEDUMP_PROVIDER) == 0 ||
					strcmp(event->provider, WMK_LIBRARY_PROVIDER) == 0 };
	class->channel = channel_for(apps, class);
	*bucket = class;
	apps->stats.events_seen += !class->own;
	return class;
}

int wmk_class_declare(struct wmk_apps *apps, struct class *class)
{
	struct channel *c = &apps->channels[class->channel];

	if (class->declared)
		return 0;
	int err = apps->options.ops.on_event_class(apps->options.ops.data, class->channel, c->next_id, class->event);
	if (err)
		return err;
	class->id = c->next_id++;
	class->declared = true;
	apps->stats.classes_enabled += !class->own;
	return 0;
}

void wmk_classes_free(struct wmk_apps *apps)
{
	for (unsigned i = 0; i < CLASS_BUCKETS; i++)
		while (apps->classes[i]) {
			struct class *class = apps->classes[i];

			apps->classes[i] = class->next;
			wmk_event_class_free(class->event);
			free(class->full);
			free(class);
		}
}

const char *wmk_apps_pattern(const struct wmk_apps *apps, unsigned channel, unsigned i, uint64_t *matched)
{
	if (channel >= apps->n_channels || i >= apps->channels[channel].n_patterns)
		return NULL;
	*matched = apps->channels[channel].patterns[i].matched;
	return apps->channels[channel].patterns[i].text;
}

/* ── nearest names ───────────────────────────────────────────────────────────────────────────────────── */

#define HALF_RIGHT 100u      /* more than any sum of distances that are near */

/* `len` bytes of a pattern without what is not meant literally. */
static void literal(const char *pattern, size_t len, char *buf, size_t size)
{
	size_t n = 0;

	for (size_t i = 0; i < len && n + 1 < size; i++)
		if (!strchr("*?[]\\", pattern[i]))
			buf[n++] = pattern[i];
	buf[n] = '\0';
}

/* How far `word` is from `name`; UINT32_MAX: too far to be meant. Nothing literal is near everything. */
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
	/* The right name with a wrong provider, or the other way round, is near too, though less so. */
	if (a == UINT32_MAX || b == UINT32_MAX)
		return (second[0] && b == 0) || (first[0] && a == 0) ? HALF_RIGHT : UINT32_MAX;
	return a + b;
}

unsigned wmk_apps_nearest(const struct wmk_apps *apps, const char *pattern, const char **names, unsigned max)
{
	unsigned best[16], n = 0;

	if (max > sizeof(best) / sizeof(best[0]))
		max = sizeof(best) / sizeof(best[0]);
	pattern += *pattern == '!';
	for (unsigned i = 0; i < CLASS_BUCKETS; i++)
		for (const struct class *class = apps->classes[i]; class; class = class->next) {
			unsigned d = class->own ? UINT32_MAX : class_distance(pattern, class->event), at = n;

			for (unsigned k = 0; k < n; k++)
				if (strcmp(names[k], class->full) == 0)
					d = UINT32_MAX;      /* declared twice with different fields */
			while (at > 0 && d != UINT32_MAX &&
			       (best[at - 1] > d || (best[at - 1] == d && strcmp(names[at - 1], class->full) > 0)))
				at--;
			if (d == UINT32_MAX || at == max)
				continue;
			n += n < max;
			memmove(&best[at + 1], &best[at], (n - at - 1) * sizeof(best[0]));
			memmove(&names[at + 1], &names[at], (n - at - 1) * sizeof(names[0]));
			best[at] = d;
			names[at] = class->full;
		}
	/* Half right is better than nothing, and only than that. */
	while (n > 1 && best[n - 1] == HALF_RIGHT && best[0] < HALF_RIGHT)
		n--;
	return n;
}
