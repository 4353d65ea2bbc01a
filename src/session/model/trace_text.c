/* SPDX-License-Identifier: MIT */
/* trace_text.c - the head of the metadata of a trace: of a session, or of a snapshot of it. */
#include "session/model/trace_text.h"

#include "base/error.h"
#include "session/model/session_clock.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

int wmk_trace_uuid_make(uint8_t uuid[16])
{
	if (getrandom(uuid, 16, 0) != 16)
		return wmk_error(-errno, "cannot get random numbers: %s", strerror(errno));
	uuid[6] = (uint8_t)((uuid[6] & 0x0f) | 0x40);
	uuid[8] = (uint8_t)((uuid[8] & 0x3f) | 0x80);
	return 0;
}

int wmk_trace_as_begin(const struct wmk_session *session, struct wmk_trace_as *as)
{
	wmk_session_clock_now(session, &as->clock);
	as->n_env = 0;
	return wmk_trace_uuid_make(as->uuid);
}

void wmk_trace_as_env(struct wmk_trace_as *as, const char *name, const char *text, int64_t number)
{
	if (as->n_env < WMK_TRACE_ENV_MAX)
		as->env[as->n_env++] = (struct wmk_ctf_env){ .name = name, .text = text, .number = number };
}

/*
 * Fill in the entries of the environment: the description of the session, and the entries of `as`. Returns their
 * number.
 */
static unsigned env_of(const struct wmk_session *session, const struct wmk_trace_as *as,
		       struct wmk_ctf_env env[WMK_TRACE_ENV_MAX + 1])
{
	unsigned n = 0;

	if (*session->settings.description)
		env[n++] = (struct wmk_ctf_env){ .name = "description", .text = session->settings.description };
	for (unsigned i = 0; as && i < as->n_env && i < WMK_TRACE_ENV_MAX; i++)
		env[n++] = as->env[i];
	return n;
}

int wmk_trace_text(const struct trace *trace, const struct wmk_session *session, const struct wmk_trace_as *as,
		   struct wmk_ctf_text_buffer *text)
{
	char created[32], host[65] = "", id[16];
	struct wmk_ctf_env env[WMK_TRACE_ENV_MAX + 3];
	struct utsname kernel;
	struct wmk_ctf_trace head = {
		.version = wmk_session_version(session),
		.name = session->trace_name ? session->trace_name : session->name,
		.created = created,
		.domain = trace->kernel ? "kernel" : "ust",
		.hostname = host,
		.buffering = trace->kernel ? NULL : trace->pid ? "pid" : "uid",
		.buffering_id = trace->kernel ? NULL : id,
		.clock = as ? &as->clock : wmk_session_clock(session),
		.env = env,
		.n_env = env_of(session, as, env),
	};
	time_t at = (time_t)session->created;
	struct tm tm;

	/* Readers decode the states of threads by the version of the kernel. */
	if (trace->kernel && uname(&kernel) == 0) {
		env[head.n_env++] = (struct wmk_ctf_env){ .name = "sysname", .text = kernel.sysname };
		env[head.n_env++] = (struct wmk_ctf_env){ .name = "kernel_release", .text = kernel.release };
	}
	memcpy(head.uuid, as ? as->uuid : trace->uuid, sizeof(head.uuid));
	snprintf(id, sizeof(id), "%u", trace->pid ? (unsigned)trace->pid : (unsigned)trace->uid);
	gethostname(host, sizeof(host) - 1);
	localtime_r(&at, &tm);
	strftime(created, sizeof(created), "%Y%m%dT%H%M%S%z", &tm);
	return wmk_ctf_trace_text(text, &head);
}

int wmk_trace_chunk_text(const struct trace *trace, const struct wmk_session *session,
			 const struct wmk_session_chunk *chunk, struct wmk_ctf_text_buffer *text)
{
	struct wmk_trace_as as = { .clock = wmk_session_chunk_clock(session, chunk) };
	char session_uuid[WMK_CTF_UUID_TEXT];

	wmk_ctf_chunk_uuid(as.uuid, trace->uuid, chunk->number);
	wmk_trace_as_env(&as, "session_uuid", wmk_ctf_uuid_text(session_uuid, chunk->session_uuid), 0);
	wmk_trace_as_env(&as, "chunk", NULL, (int64_t)chunk->number);
	wmk_trace_as_env(&as, "chunk_overlap_ns", NULL, (int64_t)chunk->overlap_ns);
	return wmk_trace_text(trace, session, &as, text);
}
