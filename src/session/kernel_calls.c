/* SPDX-License-Identifier: MIT */
/*
 * kernel_calls.c - system calls of kernel channels (see kernel_calls.h).
 */
#include "session/kernel_calls.h"

#include "base/error.h"
#include "kernel/calls_event.h"
#include "kernel/calls_reader.h"
#include "kernel/catalog.h"
#include "kernel/tracefs.h"
#include "session/kernel_inside.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct wmk_kernel_calls {
	struct class *classes[WMK_KCALLS_ABIS][WMK_KCALLS_NUMBERS][2];   /* of entry and exit; NULL: not declared */
	uint64_t want[WMK_KCALLS_WORDS];
	bool counted;                    /* the memory of its rings */
	bool is_told;                    /* the consumer knows `told` */
	uint64_t told[WMK_KCALLS_WORDS];
};

/* A call, in one direction. */
struct way {
	uint16_t abi, number;
	bool is_exit;
};

/* ... as the kernel's list of events has it. */
struct named {
	char call[WMK_KCALL_NAME], name[WMK_KCALL_NAME + 32];
	struct wmk_kentry entry;
};

/* ── what rules mean ─────────────────────────────────────────────────────────────────────────────────── */

static void name_of(enum wmk_kabi abi, unsigned number, char name[WMK_KCALL_NAME])
{
	struct wmk_kcall call;

	if (wmk_kcall_describe(abi, number, &call) < 0)
		wmk_error_clear();
	memcpy(name, call.event, WMK_KCALL_NAME);
}

/* As the list of the kernel's events would have it; those of 32-bit programs, of which it has none, by their names in traces. */
static void name_way(const struct way *way, struct named *named)
{
	name_of((enum wmk_kabi)way->abi, way->number, named->call);
	snprintf(named->name, sizeof(named->name), "%s_%s_%s", way->abi == WMK_KABI_COMPAT ? "compat_syscall" : "sys",
		 way->is_exit ? "exit" : way->abi == WMK_KABI_COMPAT ? "entry" : "enter", named->call);
	named->entry = (struct wmk_kentry){ .system = "syscalls", .name = named->name, .trace = named->name, .call = named->call, .is_exit = way->is_exit };
}

/* Those of which only some records are wanted are tracefs's: filters are asked of its events. */
static bool rules_want(const struct wmk_session_channel *channel, const struct way *way)
{
	struct named named;

	name_way(way, &named);
	return wmk_kernel_rules_want(channel, NULL, &named.entry, true);
}

/* What tracefs has recorded once it goes on with: there would be a gap, or records would be there twice. */
static bool is_by_tracefs(const struct rings *rings, const struct way *way)
{
	struct named named;

	name_way(way, &named);
	return wmk_kernel_event_find(rings->kernel, &named.entry) != NULL;
}

/* The next that rules want, from *way on. */
static bool next_wanted(const struct wmk_session_channel *channel, unsigned *at, struct way *way)
{
	for (; *at < WMK_KCALLS_ABIS * WMK_KCALLS_NUMBERS * 2; (*at)++) {
		*way = (struct way){ (uint16_t)(*at / 2 / WMK_KCALLS_NUMBERS), (uint16_t)(*at / 2 % WMK_KCALLS_NUMBERS), *at % 2 };
		if (rules_want(channel, way)) {
			(*at)++;
			return true;
		}
	}
	return false;
}

/* ── decided ─────────────────────────────────────────────────────────────────────────────────────────── */

static bool names_calls(const struct wmk_session_channel *channel)
{
	const struct wmk_ctl_rule *rules = channel->is.rules.items;
	unsigned at = 0;
	struct way way;

	for (uint32_t i = 0; i < channel->is.rules.n; i++)
		if (rules[i].enabled)
			return next_wanted(channel, &at, &way);
	return false;
}

/* What worked once does; what did not may later. (loading and verifying takes long: not under the lock that all registrations need) */
static int probe(struct wmk_tracing *tracing)
{
	int err;

	pthread_mutex_lock(&tracing->calls_lock);
	err = tracing->kernel_calls ? 0 : wmk_kcalls_probe();
	tracing->kernel_calls = err == 0;
	pthread_mutex_unlock(&tracing->calls_lock);
	return err;
}

static void decide(struct wmk_session_channel *channel)
{
	struct wmk_ctl_channel *is = &channel->is;
	char words[300] = "";

	is->calls_by = WMK_CALLS_BY_TRACEFS;
	if (is->call_arguments == WMK_CALL_ARGUMENTS_NONE)
		return;
	if (is->mode == WMK_MODE_OVERWRITE) {
		snprintf(words, sizeof(words), "buffers of BPF, which reads it, cannot give up the oldest records");
	} else if (is->domain.pid) {
		snprintf(words, sizeof(words), "BPF, which reads it, does so for the whole machine, and this channel is one process's");
	} else if (probe(channel->session->tracing) < 0) {
		wmk_error_text(words, sizeof(words));
		wmk_error_clear();
	} else {
		is->calls_by = WMK_CALLS_BY_BPF;
		return;
	}
	is->calls_why = wmk_arena_text(&channel->arena, words);
	channel->calls_untold = is->calls_why != NULL;
	if (!is->calls_why)
		wmk_error_clear();
}

void wmk_session_calls_decide(struct wmk_session *session)
{
	for (unsigned i = 0; i < session->n_channels && session->tracing->kernel_owner[0]; i++) {
		struct wmk_session_channel *channel = session->channels[i];

		if (wmk_channel_is_kernel(channel) && channel->is.calls_by == WMK_CALLS_BY_NOBODY && names_calls(channel))
			decide(channel);
	}
}

bool wmk_session_calls_warning(struct wmk_session *session, char *words, size_t size)
{
	for (unsigned i = 0; i < session->n_channels; i++) {
		struct wmk_session_channel *channel = session->channels[i];

		if (!channel->calls_untold)
			continue;
		channel->calls_untold = false;
		wmk_error_format(words, size, "channel %.60s: system calls are recorded without what their arguments point to: %.250s", channel->is.name,
				 channel->is.calls_why);
		return true;
	}
	return false;
}

/* ── declared ────────────────────────────────────────────────────────────────────────────────────────── */

/* NULL with a cause chain. */
static struct class *class_of(struct wmk_tracing *tracing, const struct wmk_tracefs *tracefs, const struct way *way)
{
	struct wmk_event_class *class;
	struct wmk_kcall call;

	wmk_kcalls_describe_in(tracefs->dir, (enum wmk_kabi)way->abi, way->number, &call);
	return wmk_kcalls_class(&call, way->is_exit, &class) < 0 ? NULL : wmk_class_intern(tracing, class);
}

/* The ids are given, and the consumer is told of them. */
static int introduce(struct rings *rings, struct wmk_kernel_calls *calls, const struct way *ways, struct class *const *classes, unsigned n)
{
	struct wmk_consumerd_event tell[WMK_KERNEL_TELL_MAX];
	char names[WMK_KERNEL_TELL_MAX][WMK_KCALLS_EVENT_NAME];
	struct wmk_kernel_info about = { .events = tell, .n_events = n };
	int err = wmk_rings_declare(rings, classes, n);

	for (unsigned i = 0; i < n && err == 0; i++) {
		wmk_kcalls_event_name((enum wmk_kabi)ways[i].abi, ways[i].number, ways[i].is_exit, names[i]);
		tell[i] = (struct wmk_consumerd_event){ .system = WMK_KCALLS_SYSTEM, .name = names[i], .id = rings->ids[classes[i]->kin] };
	}
	if (err == 0)
		err = wmk_kernel_say(rings, &about);
	for (unsigned i = 0; i < n && err == 0; i++)
		calls->classes[ways[i].abi][ways[i].number][ways[i].is_exit] = classes[i];
	return err;
}

/* Those that are wanted and new; and which are. One that cannot be declared is told, and the others are recorded. */
static int introduce_all(const struct wmk_tracefs *tracefs, struct rings *rings, struct wmk_kernel_calls *calls)
{
	struct class *classes[WMK_KERNEL_TELL_MAX];
	struct way ways[WMK_KERNEL_TELL_MAX], way;
	unsigned at = 0, n = 0;
	int err = 0;

	memset(calls->want, 0, sizeof(calls->want));
	while (err == 0 && next_wanted(rings->channel, &at, &way)) {
		if (is_by_tracefs(rings, &way))
			continue;
		calls->want[way.abi * (WMK_KCALLS_NUMBERS / 64) + way.number / 64] |= 1ull << (way.number % 64);
		if (calls->classes[way.abi][way.number][way.is_exit])
			continue;
		classes[n] = class_of(rings->session->tracing, tracefs, &way);
		if (!classes[n]) {
			wmk_session_worry(rings->session, wmk_error_number() < 0 ? wmk_error_number() : -ENOMEM, NULL);
			continue;
		}
		ways[n++] = way;
		if (n == WMK_KERNEL_TELL_MAX) {
			err = introduce(rings, calls, ways, classes, n);
			n = 0;
		}
	}
	return err < 0 || n == 0 ? err : introduce(rings, calls, ways, classes, n);
}

/* ── on and off ──────────────────────────────────────────────────────────────────────────────────────── */

static int tell(struct rings *rings, struct wmk_kernel_calls *calls, const uint64_t *words)
{
	uint64_t copy[WMK_KCALLS_WORDS];
	struct wmk_kernel_info about = { .calls = copy, .n_calls = WMK_KCALLS_WORDS,
					 .calls_bytes = rings->channel->is.subbuf_size * rings->channel->is.n_subbufs };

	if (calls->is_told && memcmp(calls->told, words, sizeof(calls->told)) == 0)
		return 0;
	memcpy(copy, words, sizeof(copy));
	int err = wmk_kernel_say(rings, &about);

	calls->is_told = err == 0;
	memcpy(calls->told, words, sizeof(calls->told));
	return err;
}

int wmk_kernel_calls_switch(struct rings *rings, struct wmk_kernel_calls *calls, bool on)
{
	static const uint64_t none[WMK_KCALLS_WORDS];

	return calls ? tell(rings, calls, on ? calls->want : none) : 0;
}

/* Its rings are the owner's as well as those of tracefs are. */
static int count_memory(struct rings *rings, struct wmk_kernel_calls *calls)
{
	const uint64_t bytes = wmk_rings_bytes(&rings->channel->is);
	int err = calls->counted ? 0 : wmk_owner_rings_take(rings->session->tracing, rings->session->uid, bytes, rings->restored);

	if (err < 0 || calls->counted)
		return err;
	calls->counted = true;
	rings->bytes += bytes;
	return 0;
}

int wmk_kernel_calls_update(const struct wmk_tracefs *tracefs, struct rings *rings, struct wmk_kernel_calls **calls)
{
	int err;

	if (!wmk_channel_calls_by_bpf(rings->channel))
		return 0;
	if (!*calls)
		*calls = calloc(1, sizeof(**calls));
	if (!*calls)
		return wmk_error(-ENOMEM, "no memory for system calls");
	err = count_memory(rings, *calls);
	return err < 0 ? err : introduce_all(tracefs, rings, *calls);
}
