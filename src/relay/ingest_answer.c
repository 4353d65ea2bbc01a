/* SPDX-License-Identifier: MIT */
/* ingest_answer.c - messages from the relay to a sender: answers, errors, acknowledgements (see ingest_answer.h). */
#include "relay/ingest_answer.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/testpoint.h"
#include "relay/ingest_packet.h"

int wmk_ingest_answer(struct wmk_ingest *ingest, uint16_t type, uint32_t number,
		      const struct wmk_object *is, const void *object)
{
	struct wmk_relay_frame frame = { .type = type, .number = number,
					 .epoch = ingest->trace ? ingest->trace->epoch : 0 };

	return wmk_relay_out_message(&ingest->out, &frame, is, object);
}

static void send_error(struct wmk_ingest *ingest, uint32_t number, int err, bool refused)
{
	char text[WMK_RELAY_MESSAGE_MAX + 1];
	const struct wmk_relay_error error = { .err = (uint32_t)-err, .text = text };

	if (!wmk_error_get(0))
		wmk_error(err, "the relay cannot process the message: %s", strerror(-err));
	wmk_error_text(text, sizeof(text));
	wmk_error_clear();
	/*
	 * The connection of a viewer has no host. Requests of viewers fail regularly, for instance after a file was
	 * removed, so the relay reports only viewers that it refuses.
	 */
	if (ingest->host ? wmk_relay_host_set_error(ingest->relay->hosts, ingest->host, text) : refused) {
		if (ingest->report)
			ingest->report(ingest->data, text);
	}
	if (wmk_ingest_answer(ingest, WMK_RELAY_ERROR, number, &wmk_relay_error_object, &error) < 0)
		wmk_error_clear();
}

void wmk_ingest_send_error(struct wmk_ingest *ingest, uint32_t number, int err)
{
	send_error(ingest, number, err, false);
}

int wmk_ingest_refuse(struct wmk_ingest *ingest, uint32_t number, int err)
{
	send_error(ingest, number, err, true);
	ingest->refused = true;
	return err;
}

void wmk_ingest_begin(struct wmk_ingest *ingest)
{
	char host[WMK_RELAY_HOST_MAX + 1] = "";
	const struct wmk_relay_hello hello = { .greeting = WMK_RELAY_GREETING, .version = ingest->relay->version,
					       .host = host };

	if (gethostname(host, sizeof(host) - 1) < 0)
		host[0] = '\0';
	if (wmk_ingest_answer(ingest, WMK_RELAY_HELLO, 0, &wmk_relay_hello_object, &hello) < 0)
		wmk_error_clear();
}

int wmk_ingest_commit(struct wmk_ingest *ingest)
{
	const struct wmk_empty none = { 0 };
	int err = 0;

	ingest->due_ms = 0;
	if (ingest->trace) {
		WMK_TESTPOINT(relay_before_sync);
		err = wmk_ingest_trace_sync(ingest->trace);
		WMK_TESTPOINT(relay_after_sync);
	}
	if (err < 0) {
		/*
		 * The kernel reports a write error only once. After a write error, the relay closes the trace. When the
		 * trace is opened again, the relay reads the state of the files from the disk.
		 */
		wmk_ingest_send_error(ingest, ingest->number, err);
		wmk_ingest_packet_cancel(ingest);
		wmk_ingest_trace_close(ingest->relay->traces, ingest->trace);
		ingest->trace = NULL;
		return err;
	}
	if (ingest->acknowledged == ingest->number || ingest->refused)
		return 0;
	ingest->acknowledged = ingest->number;
	return wmk_ingest_answer(ingest, WMK_RELAY_ACK, ingest->number, &wmk_empty_object, &none);
}

int wmk_ingest_report_followed(struct wmk_ingest *ingest)
{
	struct wmk_relay_followed now = { false };

	if (ingest->trace)
		now.followed = ingest->trace->out->ops->is_followed(ingest->trace->out);
	if (now.followed == ingest->followed)
		return 0;
	ingest->followed = now.followed;
	return wmk_ingest_answer(ingest, WMK_RELAY_FOLLOWED, 0, &wmk_relay_followed_object, &now);
}
