/* SPDX-License-Identifier: MIT */
/* seed.c - the object of a seed in corpus-object (see seed.h). */
#include "wire/t/seed.h"

#include "base/array.h"
#include "wire/consumerd.h"
#include "wire/ctl.h"
#include "wire/relay.h"

#define REPLY 128u                   /* first bytes from this value on select replies to clients */
#define CONSUMER 240u                /* first bytes from here on select objects of the consumer daemon and the relay */

const struct wmk_object *seed_object(uint8_t first)
{
	static const struct wmk_object *const consumers[] = { &wmk_consumerd_report_object,
							      &wmk_consumerd_list_item_object,
							      &wmk_consumerd_full_object,
							      &wmk_relay_hello_object,
							      &wmk_relay_output_object,
							      &wmk_relay_names_object,
							      &wmk_relay_trace_object,
							      &wmk_relay_stream_object,
							      &wmk_relay_stream_reply_object,
							      &wmk_relay_rotation_object,
							      &wmk_relay_packet_object,
							      &wmk_relay_metadata_object,
							      &wmk_relay_clock_object,
							      &wmk_relay_error_object,
							      &wmk_relay_trace_reply_object,
							      &wmk_relay_status_object };
	const struct wmk_request_type *c = &wmk_ctl_requests[first % REPLY % wmk_ctl_n_requests];

	if (first >= CONSUMER)
		return consumers[(first - CONSUMER) % WMK_ARRAY_LEN(consumers)];
	return first < REPLY ? c->request : c->reply;
}
