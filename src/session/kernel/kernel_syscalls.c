/* SPDX-License-Identifier: MIT */
/*
 * kernel_syscalls.c - system calls of kernel channels (see kernel_syscalls.h).
 */
#include "session/kernel/kernel_syscalls.h"

#include "base/error.h"
#include "kernel/channel/syscall_reader.h"
#include "kernel/event/catalog.h"
#include "kernel/syscall/syscall_event.h"
#include "kernel/tracefs/tracefs.h"
#include "session/kernel/kernel_events.h"
#include "session/kernel/kernel_filter.h"
#include "session/kernel/kernel_rings.h"
#include "session/kernel/kernel_send.h"
#include "session/model/class_table.h"
#include "session/model/quota.h"
#include "session/model/rings.h"
#include "session/model/session_report.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEND_BYTES (1u << 20)            /* approximate limit of filters in one message to the consumer daemon */
#define NEVER "$ctx.tid == -2"           /* no thread has that number */

/* Entry or exit of a system call. */
struct direction {
	struct class *class;             /* NULL: not declared */
	struct wmk_kfilter_made filter;  /* as sent, if is_sent; `never`: the consumer daemon drops all records */
	bool is_sent;
};

struct wmk_kernel_syscalls {
	struct direction at[WMK_SYSCALLS_ABIS][WMK_SYSCALLS_NUMBERS][2];
	struct wmk_kfilter_made none;    /* a program that drops all records, made when first needed */
	uint64_t want[WMK_SYSCALLS_WORDS];
	bool counted;                    /* the memory of its rings is charged */
	/* These members store what was last sent to the consumer daemon. */
	bool is_sent, narrowed;
	uint64_t last_sent[WMK_SYSCALLS_WORDS], pids[WMK_CONSUMERD_PIDS];
};

/* One direction (entry or exit) of a system call. */
struct way {
	uint16_t abi, number;
	bool is_exit;
};

/* A system call as an entry of the kernel's list of events. */
struct named {
	char call[WMK_SYSCALL_NAME], name[WMK_SYSCALL_NAME + 32];
	struct wmk_kentry entry;
};

/* ── match rules ─────────────────────────────────────────────────────────────────────────────────────── */

static void name_of(enum wmk_kabi abi, unsigned number, char name[WMK_SYSCALL_NAME])
{
	struct wmk_syscall call;

	if (wmk_syscall_describe(abi, number, &call) < 0)
		wmk_error_clear();
	memcpy(name, call.event, WMK_SYSCALL_NAME);
}

/*
 * Name a system call in the same way as the kernel's list of events. The list has no system calls of 32-bit processes:
 * such a system call gets the name that its event has in traces.
 */
static void name_way(const struct way *way, struct named *named)
{
	name_of((enum wmk_kabi)way->abi, way->number, named->call);
	snprintf(named->name, sizeof(named->name), "%s_%s_%s", way->abi == WMK_KABI_COMPAT ? "compat_syscall" : "sys",
		 way->is_exit ? "exit" : way->abi == WMK_KABI_COMPAT ? "entry" : "enter", named->call);
	named->entry = (struct wmk_kentry){ .system = "syscalls",
					    .name = named->name,
					    .trace = named->name,
					    .call = named->call,
					    .is_exit = way->is_exit };
}

static bool rules_select(const struct wmk_session_channel *channel, const struct way *way)
{
	struct named named;

	name_way(way, &named);
	return wmk_kernel_rules_select(channel, NULL, &named.entry);
}

/* ── decide between BPF and tracefs ──────────────────────────────────────────────────────────────────── */

static bool names_calls(const struct wmk_session_channel *channel)
{
	const struct wmk_ctl_rule *rules = channel->is.rules.items;
	bool any = false;

	for (uint32_t i = 0; i < channel->is.rules.n; i++)
		any |= rules[i].enabled;
	for (unsigned at = 0; any && at < WMK_SYSCALLS_ABIS * WMK_SYSCALLS_NUMBERS * 2; at++) {
		const struct way way = { (uint16_t)(at / 2 / WMK_SYSCALLS_NUMBERS),
					 (uint16_t)(at / 2 % WMK_SYSCALLS_NUMBERS), at % 2 };

		if (rules_select(channel, &way))
			return true;
	}
	return false;
}

/*
 * Test whether BPF can record system calls. Success is remembered. A failure is tested again, because its cause may be
 * temporary. The kernel takes long to load and verify a BPF program. The test therefore has a separate lock, which
 * registrations do not need.
 */
static int probe(struct wmk_tracing *tracing)
{
	int err;

	pthread_mutex_lock(&tracing->calls_lock);
	err = tracing->kernel_calls ? 0 : wmk_syscalls_probe();
	tracing->kernel_calls = err == 0;
	pthread_mutex_unlock(&tracing->calls_lock);
	return err;
}

static void decide(struct wmk_session_channel *channel)
{
	struct wmk_ctl_channel *is = &channel->is;
	char words[300] = "";

	is->calls_by = WMK_CALLS_BY_TRACEFS;
	if (is->settings.call_arguments == WMK_CALL_ARGUMENTS_NONE)
		return;
	if (probe(channel->session->tracing) == 0) {
		is->calls_by = WMK_CALLS_BY_BPF;
		return;
	}
	wmk_error_text(words, sizeof(words));
	wmk_error_clear();
	is->calls_why = wmk_arena_text(&channel->arena, words);
	channel->syscalls_unreported = is->calls_why != NULL;
	if (!is->calls_why)
		wmk_error_clear();
}

bool wmk_channel_syscalls_expected_by_bpf(const struct wmk_session_channel *channel)
{
	if (channel->is.calls_by != WMK_CALLS_BY_NONE)
		return wmk_channel_syscalls_by_bpf(channel);
	if (channel->is.settings.call_arguments == WMK_CALL_ARGUMENTS_NONE)
		return false;
	const bool is = probe(channel->session->tracing) == 0;

	if (!is)
		wmk_error_clear();
	return is;
}

void wmk_session_syscalls_decide(struct wmk_session *session)
{
	for (unsigned i = 0; i < session->n_channels && session->tracing->kernel_owner[0]; i++) {
		struct wmk_session_channel *channel = session->channels[i];

		if (wmk_channel_is_kernel(channel) && channel->is.calls_by == WMK_CALLS_BY_NONE &&
		    names_calls(channel))
			decide(channel);
	}
}

bool wmk_session_syscalls_warning(struct wmk_session *session, char *words, size_t size)
{
	for (unsigned i = 0; i < session->n_channels; i++) {
		struct wmk_session_channel *channel = session->channels[i];

		if (channel->syscalls_late) {
			channel->syscalls_late = false;
			wmk_error_format(words, size,
					 "channel %.60s: system calls are not recorded yet: the kernel still verifies "
					 "the BPF program; recording begins when it has finished",
					 channel->is.name);
			return true;
		}
		if (!channel->syscalls_unreported)
			continue;
		channel->syscalls_unreported = false;
		wmk_error_format(words, size,
				 "channel %.60s: system calls are recorded without the data that their arguments "
				 "point to: "
				 "%.250s",
				 channel->is.name, channel->is.calls_why);
		return true;
	}
	return false;
}

/* ── declare ─────────────────────────────────────────────────────────────────────────────────────────── */

int wmk_kernel_syscall_class(const struct wmk_tracefs *tracefs, const struct wmk_kentry *entry,
			  struct wmk_event_class **class)
{
	struct wmk_syscall call;
	const int number = wmk_syscall_find(WMK_KABI_NATIVE, entry->call);

	if (number < 0)
		return number;
	wmk_syscalls_describe_in(tracefs->dir, WMK_KABI_NATIVE, (unsigned)number, &call);
	return wmk_syscalls_class(&call, entry->is_exit, class);
}

/* Return the class of a system call in one direction. NULL with a cause chain. */
static struct class *class_of(struct wmk_tracing *tracing, const struct wmk_tracefs *tracefs, const struct way *way)
{
	struct wmk_event_class *class;
	struct wmk_syscall call;

	wmk_syscalls_describe_in(tracefs->dir, (enum wmk_kabi)way->abi, way->number, &call);
	return wmk_syscalls_class(&call, way->is_exit, &class) < 0 ? NULL : wmk_class_intern(tracing, class);
}

/*
 * One direction (entry or exit) of a system call that must be sent, because the direction was not sent yet or its
 * filter has changed.
 */
struct news {
	struct way way;
	struct class *class;
	struct wmk_kfilter_made filter;
};

struct syscalls_message {
	struct rings *rings;
	const struct wmk_tracefs *tracefs;
	struct wmk_kernel_syscalls *calls;
	struct news news[WMK_KERNEL_SEND_MAX];
	unsigned n;
	size_t bytes;
};

static struct direction *direction_of(struct wmk_kernel_syscalls *calls, const struct way *way)
{
	return &calls->at[way->abi][way->number][way->is_exit];
}

/* Declare the ids of the collected directions and send them with their filters. Empties `t`. */
static int send_collected(struct syscalls_message *t)
{
	struct wmk_consumerd_event events[WMK_KERNEL_SEND_MAX];
	char names[WMK_KERNEL_SEND_MAX][WMK_SYSCALLS_EVENT_NAME];
	struct class *classes[WMK_KERNEL_SEND_MAX];
	const struct wmk_kernel_info about = { .events = events, .n_events = t->n };
	int err;

	for (unsigned i = 0; i < t->n; i++)
		classes[i] = t->news[i].class;
	err = t->n ? wmk_rings_declare(t->rings, classes, t->n) : 0;
	for (unsigned i = 0; i < t->n && err == 0; i++) {
		const struct news *news = &t->news[i];
		const struct wmk_kfilter_made *filter = news->filter.never ? &t->calls->none : &news->filter;

		wmk_syscalls_event_name((enum wmk_kabi)news->way.abi, news->way.number, news->way.is_exit, names[i]);
		events[i] = (struct wmk_consumerd_event){ .system = WMK_SYSCALLS_SYSTEM,
							  .name = names[i],
							  .id = t->rings->ids[news->class->kin],
							  .filter_len = filter->len,
							  .filter = { filter->program, (filter->len + 7) / 8 } };
	}
	if (err == 0 && t->n)
		err = wmk_kernel_send(t->rings, &about);
	for (unsigned i = 0; i < t->n; i++) {
		struct direction *direction = direction_of(t->calls, &t->news[i].way);

		if (err < 0) {
			wmk_kfilter_made_free(&t->news[i].filter);
			continue;
		}
		wmk_kfilter_made_free(&direction->filter);
		*direction =
			(struct direction){ .class = t->news[i].class, .filter = t->news[i].filter, .is_sent = true };
	}
	t->n = 0;
	t->bytes = 0;
	return err;
}

static int never_make(struct syscalls_message *t, const struct class *class)
{
	const struct wmk_kfilter_event about = { .class = class->event };
	struct wmk_filter_expr *expr;
	int err = t->calls->none.program ? 0 : wmk_filter_parse(NEVER, &expr);

	if (err < 0 || t->calls->none.program)
		return err;
	err = wmk_kfilter_make(&about, (const struct wmk_filter_expr *const *)&expr, 1, &t->calls->none);
	wmk_filter_expr_free(expr);
	return err;
}

/*
 * Find the class and the filter of a direction. If the class cannot be declared or the filter cannot be made, the
 * session reports the error and does not record the direction. Returns 0 or -ENOMEM.
 */
static int prepare(struct syscalls_message *t, struct news *news)
{
	const struct wmk_session_channel *channel = t->rings->channel;
	struct named named;
	int err = 0;

	news->class = direction_of(t->calls, &news->way)->class;
	news->filter = (struct wmk_kfilter_made){ .never = !rules_select(channel, &news->way) };
	if (news->filter.never)
		return 0;
	if (!news->class)
		news->class = class_of(t->rings->session->tracing, t->tracefs, &news->way);
	if (!news->class)
		err = wmk_error_number() < 0 ? wmk_error_number() : -ENOMEM;
	name_way(&news->way, &named);
	if (err == 0)
		err = wmk_kernel_syscall_filter_of(channel, &named.entry, news->class->event, &news->filter);
	if (err == 0)
		return 0;
	news->filter = (struct wmk_kfilter_made){ .never = true };
	if (err == -ENOMEM)
		return err;
	wmk_session_report(t->rings->session, err, NULL);
	return 0;
}

/* Collect the direction if it differs from the state that was sent to the consumer daemon. Takes the filter over. */
static int collect_if_new(struct syscalls_message *t, struct news *news)
{
	const struct direction *direction = direction_of(t->calls, &news->way);
	int err = 0;

	/*
	 * the consumer daemon does not record unknown directions, so it needs no message to switch this direction off
	 */
	if (direction->is_sent ? wmk_kfilter_made_same(&direction->filter, &news->filter) : news->filter.never) {
		wmk_kfilter_made_free(&news->filter);
		return 0;
	}
	if (news->filter.never)
		err = never_make(t, news->class);
	if (err < 0) {
		wmk_kfilter_made_free(&news->filter);
		return err;
	}
	t->bytes += news->filter.len;
	t->news[t->n++] = *news;
	return t->n == WMK_KERNEL_SEND_MAX || t->bytes >= SEND_BYTES ? send_collected(t) : 0;
}

/*
 * Collect the entry and the exit of a system call if a rule selects the entry or the exit. The consumer daemon then
 * receives both directions.
 */
static int collect_call(struct syscalls_message *t, unsigned abi, unsigned number)
{
	struct news both[2] = { { .way = { (uint16_t)abi, (uint16_t)number, false } },
				{ .way = { (uint16_t)abi, (uint16_t)number, true } } };
	int err = prepare(t, &both[0]);

	if (err == 0)
		err = prepare(t, &both[1]);
	if (err < 0 || (both[0].filter.never && both[1].filter.never)) {
		wmk_kfilter_made_free(&both[0].filter);
		wmk_kfilter_made_free(&both[1].filter);
		return err;
	}
	t->calls->want[abi * (WMK_SYSCALLS_NUMBERS / 64) + number / 64] |= 1ull << (number % 64);
	err = collect_if_new(t, &both[0]);
	if (err < 0)
		wmk_kfilter_made_free(&both[1].filter);
	return err < 0 ? err : collect_if_new(t, &both[1]);
}

static int send_all(const struct wmk_tracefs *tracefs, struct rings *rings, struct wmk_kernel_syscalls *calls)
{
	struct syscalls_message *t = calloc(1, sizeof(*t));
	int err = 0;

	if (!t)
		return wmk_error(-ENOMEM, "no memory for system calls");
	*t = (struct syscalls_message){ .rings = rings, .tracefs = tracefs, .calls = calls };
	memset(calls->want, 0, sizeof(calls->want));
	for (unsigned i = 0; i < WMK_SYSCALLS_ABIS * WMK_SYSCALLS_NUMBERS && err == 0; i++)
		err = collect_call(t, i / WMK_SYSCALLS_NUMBERS, i % WMK_SYSCALLS_NUMBERS);
	if (err == 0)
		err = send_collected(t);
	for (unsigned i = 0; i < t->n; i++)
		wmk_kfilter_made_free(&t->news[i].filter);
	free(t);
	return err;
}

/* ── switch on and off ───────────────────────────────────────────────────────────────────────────────── */

/*
 * Fill in the tracked processes. False: BPF records all processes, or the instance restricts the channel to one
 * process.
 */
static bool narrowed(const struct rings *rings, uint64_t pids[WMK_CONSUMERD_PIDS])
{
	const struct wmk_ctl_trackers *trackers = &rings->session->trackers;

	memset(pids, 0, WMK_CONSUMERD_PIDS * sizeof(*pids));
	if (!trackers->kernel_pid || rings->channel->is.domain.pid)
		return false;
	for (uint32_t i = 0; i < trackers->kernel_pids.n && i < WMK_CONSUMERD_PIDS; i++)
		pids[i] = ((const uint64_t *)trackers->kernel_pids.items)[i];
	return true;
}

static int send_calls(struct rings *rings, struct wmk_kernel_syscalls *calls, const uint64_t *words)
{
	uint64_t copy[WMK_SYSCALLS_WORDS], pids[WMK_CONSUMERD_PIDS];
	struct wmk_kernel_info about = { .calls = copy,
					 .n_calls = WMK_SYSCALLS_WORDS,
					 .syscall_pids = pids,
					 .syscalls_narrowed = narrowed(rings, pids),
					 .syscall_ring_bytes = rings->channel->is.settings.subbuf_size *
							       rings->channel->is.settings.n_subbufs };

	if (calls->is_sent && memcmp(calls->last_sent, words, sizeof(calls->last_sent)) == 0 &&
	    calls->narrowed == about.syscalls_narrowed && memcmp(calls->pids, pids, sizeof(pids)) == 0)
		return 0;
	memcpy(copy, words, sizeof(copy));
	int err = wmk_kernel_send(rings, &about);

	rings->channel->syscalls_late = err > 0;
	calls->is_sent = err >= 0;
	calls->narrowed = about.syscalls_narrowed;
	memcpy(calls->last_sent, words, sizeof(calls->last_sent));
	memcpy(calls->pids, pids, sizeof(pids));
	return err < 0 ? err : 0;
}

int wmk_kernel_syscalls_switch(struct rings *rings, struct wmk_kernel_syscalls *calls, bool on)
{
	static const uint64_t none[WMK_SYSCALLS_WORDS];

	return calls ? send_calls(rings, calls, on ? calls->want : none) : 0;
}

void wmk_kernel_syscalls_free(struct wmk_kernel_syscalls *calls)
{
	if (!calls)
		return;
	for (unsigned abi = 0; abi < WMK_SYSCALLS_ABIS; abi++)
		for (unsigned number = 0; number < WMK_SYSCALLS_NUMBERS; number++) {
			wmk_kfilter_made_free(&calls->at[abi][number][0].filter);
			wmk_kfilter_made_free(&calls->at[abi][number][1].filter);
		}
	wmk_kfilter_made_free(&calls->none);
	free(calls);
}

/*
 * Charge the rings of BPF to the owner, in addition to the rings of tracefs. In overwrite mode, the charge is twice as
 * large: the consumer daemon also keeps packets, in total as large as the rings.
 */
static int count_memory(struct rings *rings, struct wmk_kernel_syscalls *calls)
{
	const uint64_t bytes =
		wmk_rings_bytes(&rings->channel->is) * (rings->channel->is.settings.mode == WMK_MODE_OVERWRITE ? 2 : 1);
	int err = calls->counted ? 0
				 : wmk_quota_rings_charge(rings->session->tracing, rings->session->uid, bytes,
							  rings->restored);

	if (err < 0 || calls->counted)
		return err;
	calls->counted = true;
	rings->bytes += bytes;
	return 0;
}

int wmk_kernel_syscalls_update(const struct wmk_tracefs *tracefs, struct rings *rings,
			       struct wmk_kernel_syscalls **calls)
{
	int err;

	if (!wmk_channel_syscalls_by_bpf(rings->channel))
		return 0;
	if (!*calls)
		*calls = calloc(1, sizeof(**calls));
	if (!*calls)
		return wmk_error(-ENOMEM, "no memory for system calls");
	err = count_memory(rings, *calls);
	return err < 0 ? err : send_all(tracefs, rings, *calls);
}
