/* SPDX-License-Identifier: MIT */
/*
 * calls_kept.c - packets of system calls that are kept in overwrite mode (see calls_kept.h). A BPF ring buffer cannot
 * give up its oldest records, so it is
 * drained all the time, and what is given up is the oldest packet.
 */
#include "kernel/calls_kept.h"

#include <stdlib.h>
#include <string.h>

struct wmk_kcallkept_packet *wmk_kcallkept_take(struct wmk_kcallkept *kept)
{
	struct wmk_kcallkept_packet *packet = kept->first;

	if (!packet)
		return NULL;
	kept->first = packet->next;
	kept->last = kept->first ? kept->last : NULL;
	kept->bytes -= packet->len;
	return packet;
}

void wmk_kcallkept_free(struct wmk_kcallkept_packet *packet)
{
	if (packet)
		free(packet->memory);
	free(packet);
}

static struct wmk_kcallkept_packet *packet_make(const struct wmk_kcallkept_packet *is, const uint8_t *data)
{
	const size_t bytes =
		(WMK_KCALLKEPT_ROOM + is->len + WMK_KCALLKEPT_ALIGN - 1) & ~(size_t)(WMK_KCALLKEPT_ALIGN - 1);
	struct wmk_kcallkept_packet *made = malloc(sizeof(*made));

	if (!made)
		return NULL;
	*made = *is;
	made->next = NULL;
	made->memory = aligned_alloc(WMK_KCALLKEPT_ALIGN, bytes);
	if (!made->memory) {
		free(made);
		return NULL;
	}
	made->data = made->memory + WMK_KCALLKEPT_ROOM;
	memcpy(made->data, data, is->len);
	return made;
}

void wmk_kcallkept_add(struct wmk_kcallkept *kept, const struct wmk_kcallkept_packet *is, const uint8_t *data)
{
	struct wmk_kcallkept_packet *made = packet_make(is, data);

	if (!made) {
		kept->overwritten += is->records;
		return;
	}
	if (kept->last)
		kept->last->next = made;
	else
		kept->first = made;
	kept->last = made;
	kept->bytes += made->len;
	while (kept->bytes > kept->room && kept->first != kept->last) {
		struct wmk_kcallkept_packet *oldest = wmk_kcallkept_take(kept);

		kept->overwritten += oldest->records;
		wmk_kcallkept_free(oldest);
	}
}

void wmk_kcallkept_clear(struct wmk_kcallkept *kept)
{
	struct wmk_kcallkept_packet *packet;

	while ((packet = wmk_kcallkept_take(kept)))
		wmk_kcallkept_free(packet);
	kept->overwritten = 0;
}
