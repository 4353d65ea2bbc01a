/* SPDX-License-Identifier: MIT */
/*
 * snapshot_request.c - requests of programs for snapshots. One call of waymark_snapshot() stores the same request in
 * the rings of all channels of its process. A session detects duplicate requests by the id of the request.
 */
#include "session/snapshot.h"

#include "base/clock.h"
#include "base/utf8.h"
#include "ring/request.h"
#include "session/model/session_model.h"
#include "session/model/shard_table.h"

#include <stdio.h>
#include <string.h>

#define PAUSE_MS 10000             /* between two requested snapshots of a session */

/* Replace bytes that are not valid UTF-8, and control characters. */
static void clean_reason(char *text)
{
	for (size_t left = strlen(text), n; left; text += n, left -= n) {
		n = wmk_utf8_length(text, left);
		if (n == 0 || (unsigned char)*text < ' ' || *text == 0x7f) {
			*text = '_';
			n = 1;
		}
	}
}

/* A reason becomes the beginning of the name of a directory. */
static void name_of(const char *reason, char *name)
{
	strcpy(name, reason);
	for (char *c = name; *c; c++)
		if (*c == '/' || *c == ' ' || (*c == '.' && c == name))
			*c = '_';
}

static void accept_request(struct wmk_session *session, const struct rings *rings, const struct wmk_ring_request *from,
			   struct wmk_snapshot_request *request)
{
	*request = (struct wmk_snapshot_request){ 0 };
	snprintf(request->reason, sizeof(request->reason), "%s", from->reason);
	clean_reason(request->reason);
	name_of(request->reason, request->name);
	if (!wmk_slot_describe(session->tracing, from->slot, from->generation, rings->trace->uid, &request->pid,
			       request->program))
		request->program[0] = '\0';
}

int wmk_session_snapshot_requested(struct wmk_session *session, struct wmk_snapshot_request *request)
{
	const int64_t now = wmk_clock_ms();
	bool is_due = session->active && (session->requested_ms == 0 || now - session->requested_ms >= PAUSE_MS);
	uint64_t refused, most_refused = 0;
	struct wmk_ring_request from;
	int found = 0;

	for (const struct rings *rings = session->rings; rings; rings = rings->next) {
		if (!rings->set || rings->closed || rings->channel->is.settings.mode != WMK_MODE_OVERWRITE)
			continue;
		const int got = wmk_ring_request_take(rings->set, &from, &refused);

		if (!session->active || rings->trace->uid != session->uid)
			continue;
		most_refused = refused > most_refused ? refused : most_refused;
		if (got != 1 || from.id == session->request_last || from.id == session->request_omitted)
			continue;
		if (is_due) {
			accept_request(session, rings, &from, request);
			session->request_last = from.id;
			session->requested_ms = now;
			is_due = false;
			found = 1;
		} else {
			session->request_omitted = from.id;
			session->snapshots_omitted++;
		}
	}
	/* a call that was refused in one ring set is usually refused in all */
	session->snapshots_omitted += most_refused;
	return found;
}

void wmk_session_snapshot_omitted(struct wmk_session *session)
{
	session->snapshots_omitted++;
}
