/* SPDX-License-Identifier: MIT */
/*
 * kernel_statedump.c - the state dump of a session that traces the kernel (kernel/statedump/statedump.h): which
 * processes existed, with which files, before the first record about them.
 *
 * The session daemon declares the events of the dump in the first kernel channel that records, and requests the dump.
 * The consumer daemon makes the dump while the channel records. A dump is made at each start, when the session is
 * cleared, and on request.
 */
#include "session/kernel/kernel_statedump.h"

#include "base/error.h"
#include "kernel/statedump/statedump.h"
#include "kernel/statedump/statedump_source.h"
#include "schema/scratch.h"
#include "session/kernel/kernel_channel.h"
#include "session/kernel/kernel_send.h"
#include "session/model/class_table.h"
#include "session/model/rings.h"
#include "session/model/session_clock.h"
#include "session/model/session_report.h"

#include <errno.h>

static int classes_of(struct wmk_tracing *tracing, struct class *classes[WMK_KSTATEDUMP_EVENTS])
{
	for (unsigned i = 0; i < WMK_KSTATEDUMP_EVENTS; i++) {
		struct wmk_event_class *copy;
		int err = wmk_class_clone(&wmk_kstatedump_classes[i], &copy);

		classes[i] = err < 0 ? NULL : wmk_class_intern(tracing, copy);
		if (!classes[i])
			return wmk_error_number() < 0 ? wmk_error_number()
						      : wmk_error(-ENOMEM, "no memory for the events of a state dump");
	}
	return 0;
}

static int ask(struct rings *rings)
{
	struct wmk_session *session = rings->session;
	struct wmk_consumerd_event events[WMK_KSTATEDUMP_EVENTS];
	struct class *classes[WMK_KSTATEDUMP_EVENTS];
	struct wmk_kernel_info about = { .events = events, .n_events = WMK_KSTATEDUMP_EVENTS };
	int err = classes_of(session->tracing, classes);

	if (err == 0)
		err = wmk_rings_declare(rings, classes, WMK_KSTATEDUMP_EVENTS);
	if (err < 0)
		return err;
	for (unsigned i = 0; i < WMK_KSTATEDUMP_EVENTS; i++)
		events[i] = (struct wmk_consumerd_event){ .system = "",
							  .name = wmk_kstatedump_classes[i].name,
							  .id = rings->ids[classes[i]->kin] };
	/* repeat a dump that the previous consumer daemon began only if the dump is incomplete */
	/* in a flight recorder, each snapshot has a dump of its own */
	if (!session->settings.snapshot)
		about.statedump = rings->restored && session->kernel_dumps == 1 ? WMK_KDUMPER_ANY
									       : wmk_session_now(session);
	return wmk_kernel_send(rings, &about);
}

void wmk_kernel_statedump_send(struct rings *rings)
{
	struct wmk_session *session = rings->session;
	int err;

	if (session->settings.no_statedump || session->kernel_dumped == session->kernel_dumps)
		return;
	err = ask(rings);
	if (err == 0)
		session->kernel_dumped = session->kernel_dumps;
	else
		wmk_session_report(session, err, "cannot record the state dump of the kernel");
}

void wmk_session_kernel_statedump(struct wmk_session *session)
{
	session->kernel_dumps++;
	if (session->active && wmk_session_kernel_update(session) < 0)
		wmk_session_report(session, wmk_error_number(), NULL);
}
