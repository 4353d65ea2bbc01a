/* SPDX-License-Identifier: MIT */
/* repeats.c - count repeated messages (see repeats.h). */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/hash.h"
#include "read/repeats.h"

/* Hash without digits. */
static uint64_t hash_of(const void *of, const char *words)
{
	uint64_t hash = wmk_hash_bytes(WMK_HASH_BEGIN, &of, sizeof(of));

	for (; *words; words++)
		if (*words < '0' || *words > '9')
			hash = wmk_hash_bytes(hash, words, 1);
	return hash;
}

bool wmk_read_repeats_first(struct wmk_read_repeats *repeats, const void *of, const char *words)
{
	const uint64_t hash = hash_of(of, words);
	struct wmk_read_repeats_kind *kind;

	if (!repeats->kinds)
		repeats->kinds = calloc(WMK_READ_REPEATS_MAX, sizeof(*repeats->kinds));
	if (!repeats->kinds)
		return true;
	for (uint32_t i = 0; i < repeats->n_kinds; i++) {
		kind = &repeats->kinds[i];
		if (kind->hash != hash)
			continue;
		kind->n++;
		wmk_error_drop(kind->last);
		kind->last = wmk_error_take();
		return false;
	}
	if (repeats->n_kinds < WMK_READ_REPEATS_MAX)
		repeats->kinds[repeats->n_kinds++].hash = hash;
	return true;
}

void wmk_read_repeats_end(struct wmk_read_repeats *repeats, void (*tell)(void *data, int err), void *data)
{
	for (uint32_t i = 0; i < repeats->n_kinds; i++) {
		const struct wmk_read_repeats_kind *kind = &repeats->kinds[i];

		if (!kind->n)
			continue;
		/* (NULL: no memory for the chain; only the number of messages is known) */
		wmk_error_give(kind->last);
		if (!kind->last)
			wmk_errorx(-ENOMEM, "%" PRIu64 " more messages of the same kind", kind->n);
		else if (kind->n > 1)
			wmk_error_add(wmk_error_number(), "last of %" PRIu64 " more messages of the same kind",
				      kind->n);
		if (tell)
			tell(data, wmk_error_number());
		wmk_error_clear();
	}
	free(repeats->kinds);
	*repeats = (struct wmk_read_repeats){ .n_kinds = 0 };
}

void wmk_read_repeats_warnings(struct wmk_read_repeats *seen, const struct wmk_read_trace *trace,
			       void (*report)(void *data, int err), void *data)
{
	const struct wmk_ctf_class *class = trace->class;
	char path[PATH_MAX], name[WMK_CTF_SHORT];

	snprintf(path, sizeof(path), "%s/metadata", trace->path);
	for (uint32_t i = 0; i < class->n_warnings; i++) {
		const struct wmk_ctf_warning *warning = &class->warnings[i];

		wmk_errorx(-EPROTO, "%s", warning->words);
		if (warning->count > 1)
			wmk_error_add(-EPROTO, "first of %u places", warning->count);
		wmk_error_add(-EPROTO, "%s:%u:%u", wmk_ctf_short_name(name, path), warning->line, warning->column);
		if (wmk_read_repeats_first(seen, NULL, warning->words))
			report(data, -EPROTO);
		wmk_error_clear();
	}
}
