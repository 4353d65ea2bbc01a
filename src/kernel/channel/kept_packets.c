/* SPDX-License-Identifier: MIT */
/*
 * kept_packets.c - packets of system calls that overwrite mode keeps (see kept_packets.h). A BPF ring buffer cannot
 * drop its oldest records. The reader therefore moves records from the BPF ring buffer to kept packets continuously,
 * and drops the oldest kept packets.
 */
#include "kernel/channel/kept_packets.h"

#include <stdlib.h>
#include <string.h>

struct wmk_kept_packet *wmk_kept_packets_take(struct wmk_kept_packets *kept)
{
	struct wmk_kept_packet *packet = kept->first;

	if (!packet)
		return NULL;
	kept->first = packet->next;
	kept->last = kept->first ? kept->last : NULL;
	kept->bytes -= packet->len;
	return packet;
}

void wmk_kept_packets_free(struct wmk_kept_packet *packet)
{
	if (packet)
		free(packet->memory);
	free(packet);
}

static struct wmk_kept_packet *packet_make(const struct wmk_kept_packet *header, const uint8_t *data)
{
	const size_t bytes = (WMK_KEPT_PACKETS_ROOM + header->len + WMK_KEPT_PACKETS_ALIGN - 1) &
			     ~(size_t)(WMK_KEPT_PACKETS_ALIGN - 1);
	struct wmk_kept_packet *made = malloc(sizeof(*made));

	if (!made)
		return NULL;
	*made = *header;
	made->next = NULL;
	made->memory = aligned_alloc(WMK_KEPT_PACKETS_ALIGN, bytes);
	if (!made->memory) {
		free(made);
		return NULL;
	}
	made->data = made->memory + WMK_KEPT_PACKETS_ROOM;
	memcpy(made->data, data, header->len);
	return made;
}

void wmk_kept_packets_add(struct wmk_kept_packets *kept, const struct wmk_kept_packet *header, const uint8_t *data)
{
	struct wmk_kept_packet *made = packet_make(header, data);

	if (!made) {
		kept->overwritten += header->records;
		return;
	}
	if (kept->last)
		kept->last->next = made;
	else
		kept->first = made;
	kept->last = made;
	kept->bytes += made->len;
	while (kept->bytes > kept->room && kept->first != kept->last) {
		struct wmk_kept_packet *oldest = wmk_kept_packets_take(kept);

		kept->overwritten += oldest->records;
		wmk_kept_packets_free(oldest);
	}
}

void wmk_kept_packets_clear(struct wmk_kept_packets *kept)
{
	struct wmk_kept_packet *packet;

	while ((packet = wmk_kept_packets_take(kept)))
		wmk_kept_packets_free(packet);
	kept->overwritten = 0;
}
