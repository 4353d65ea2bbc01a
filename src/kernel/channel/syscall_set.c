/* SPDX-License-Identifier: MIT */
/*
 * syscall_set.c - selects the system calls of a kernel channel that BPF records, and stores their ids (see
 * syscall_reader.h). syscall_stream.c makes the packets.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "kernel/channel/syscall_set.h"
#include "kernel/proc/procfs.h"
#include "kernel/tracefs/instance.h"
#include "kernel/tracefs/tracefs.h"

#define RING_MIN 4096u
#define RING_MAX (1u << 30)
/* overwrite mode: minimum size of the ring, which holds records only until the next drain pass */
#define RING_OVERWRITE (4u << 20)

static const char *const abi_names[WMK_SYSCALLS_ABIS] = { "native", "compat" };

/* ── names ───────────────────────────────────────────────────────────────────────────────────────────── */

void wmk_syscalls_event_name(enum wmk_kabi abi, unsigned number, bool is_exit, char name[WMK_SYSCALLS_EVENT_NAME])
{
	snprintf(name, WMK_SYSCALLS_EVENT_NAME, "%s_%s_%u", abi_names[abi], is_exit ? "exit" : "entry", number);
}

int wmk_syscalls_event_parse(const char *name, enum wmk_kabi *abi, unsigned *number, bool *is_exit)
{
	char again[WMK_SYSCALLS_EVENT_NAME];
	const char *digits = strrchr(name, '_');

	*number = digits ? (unsigned)strtoul(digits + 1, NULL, 10) : WMK_SYSCALLS_NUMBERS;
	for (unsigned i = 0; i < 2 * WMK_SYSCALLS_ABIS && *number < WMK_SYSCALLS_NUMBERS; i++) {
		*abi = (enum wmk_kabi)(i / 2);
		*is_exit = i % 2;
		wmk_syscalls_event_name(*abi, *number, *is_exit, again);
		if (strcmp(name, again) == 0)
			return 0;
	}
	return wmk_error(-EINVAL, "invalid name of a system call event \"%.60s\"", name);
}

void wmk_syscalls_describe_in(int dir, enum wmk_kabi abi, unsigned number, struct wmk_syscall *call)
{
	char event[WMK_SYSCALL_NAME + 16];
	struct wmk_kformat *format;

	if (wmk_syscall_describe(abi, number, call) < 0)
		wmk_error_clear();
	if (call->is_known || abi != WMK_KABI_NATIVE || !wmk_syscall_name(abi, number))
		return;
	snprintf(event, sizeof(event), "sys_enter_%s", call->event);
	if (wmk_kformat_load(dir, "syscalls", event, &format) == 0) {
		wmk_syscall_refine(call, format);
		free(format);
	} else {
		wmk_error_clear();
	}
}

/* ── the set ─────────────────────────────────────────────────────────────────────────────────────────── */

static struct wmk_syscall_entry *call_make(const struct wmk_kreader *reader, enum wmk_kabi abi, unsigned number)
{
	struct wmk_syscall_entry *call = calloc(1, sizeof(*call));

	if (!call) {
		wmk_error(-ENOMEM, "cannot record system calls: no memory");
		return NULL;
	}
	call->ids[0] = call->ids[1] = WMK_SYSCALL_SET_NO_ID;
	wmk_syscalls_describe_in(reader->instance, abi, number, &call->call);
	return call;
}

int wmk_syscall_set_event(struct wmk_kreader *reader, const char *name, uint32_t id)
{
	struct wmk_syscall_set *set = reader->calls;
	struct wmk_syscall_entry **at;
	enum wmk_kabi abi;
	unsigned number;
	bool is_exit;
	int err = wmk_syscalls_event_parse(name, &abi, &number, &is_exit);

	if (err < 0)
		return err;
	if (!set)
		set = reader->calls = calloc(1, sizeof(*set));
	if (!set)
		return wmk_error(-ENOMEM, "cannot record system calls: no memory");
	at = &set->calls[abi][number];
	if (!*at)
		*at = call_make(reader, abi, number);
	if (!*at)
		return -ENOMEM;
	if ((*at)->ids[is_exit] != WMK_SYSCALL_SET_NO_ID && (*at)->ids[is_exit] != id)
		return wmk_error(-EEXIST, "the system call %s already has the id %u and cannot get the id %u", name,
				 (*at)->ids[is_exit], id);
	(*at)->ids[is_exit] = id;
	return 0;
}

int wmk_syscall_set_filter(struct wmk_kreader *reader, const char *name, const void *program, size_t len)
{
	struct wmk_syscall_entry *call;
	enum wmk_kabi abi;
	unsigned number;
	bool is_exit;
	int err = wmk_syscalls_event_parse(name, &abi, &number, &is_exit);

	if (err < 0)
		return err;
	call = reader->calls ? reader->calls->calls[abi][number] : NULL;
	if (!call || call->ids[is_exit] == WMK_SYSCALL_SET_NO_ID)
		return program ? wmk_error(-ENOENT, "cannot filter the system call %s: the channel does not record it",
					   name)
			       : 0;
	if (!program && !call->filters[is_exit].is_set)
		return 0;
	if (!call->classes[is_exit])
		err = wmk_syscalls_class(&call->call, is_exit, &call->classes[is_exit]);
	return err < 0 ? err :
			 wmk_kreader_filters_set(reader, call->classes[is_exit], &call->filters[is_exit], program, len,
						 false);
}

static void call_free(struct wmk_syscall_entry *call)
{
	if (!call)
		return;
	for (unsigned i = 0; i < 2; i++) {
		wmk_kreader_filters_free(&call->filters[i]);
		if (call->classes[i])
			wmk_event_class_free(call->classes[i]);
	}
	free(call);
}

void wmk_syscall_set_free(struct wmk_syscall_set *set)
{
	if (!set)
		return;
	if (set->bpf)
		wmk_syscalls_close(set->bpf);
	for (unsigned abi = 0; abi < WMK_SYSCALLS_ABIS; abi++)
		for (unsigned number = 0; number < WMK_SYSCALLS_NUMBERS; number++)
			call_free(set->calls[abi][number]);
	free(set);
}

/* ── BPF ─────────────────────────────────────────────────────────────────────────────────────────────── */

/*
 * Returns the number of rings: one ring for each CPU number up to the last online CPU. The number of possible CPUs may
 * be much larger, and each ring allocates its memory at creation.
 */
static uint32_t rings_wanted(void)
{
	char text[1024] = "", *last = text;
	long cpu;

	wmk_kproc_read(AT_FDCWD, "/sys/devices/system/cpu/online", text, sizeof(text));
	for (char *at = text; *at && *at != '\n'; at++)
		if (*at == ',' || *at == '-')
			last = at + 1;
	cpu = strtol(last, NULL, 10);
	return cpu >= 0 && cpu < 65536 ? (uint32_t)cpu + 1 : 0;
}

static uint32_t ring_bytes(uint64_t bytes)
{
	uint32_t ring = RING_MIN;

	while (ring < bytes && ring < RING_MAX)
		ring *= 2;
	return ring;
}


static int bpf_open(struct wmk_kreader *reader, uint64_t bytes)
{
	struct wmk_syscall_set *set = reader->calls;
	/* (event-fork: the instance records one process and its descendants) */
	const bool is_of_process = wmk_kinstance_has_option(reader->instance, "event-fork"),
		   overwrites = wmk_kinstance_has_option(reader->instance, "overwrite");
	const struct wmk_syscalls_options options = {
		.is_all = !is_of_process,
		.is_childless = !is_of_process || reader->only_pid,
		.is_kept = !is_of_process,
		.n_rings = rings_wanted(),
		.ring_bytes = ring_bytes(overwrites && bytes < RING_OVERWRITE ? RING_OVERWRITE : bytes),
		.clock = wmk_kinstance_is_counter(reader->instance) ? WMK_CLOCK_COUNTER : WMK_CLOCK_MONOTONIC,
	};
	int err = wmk_syscalls_open(&options, &set->bpf);

	if (err < 0) {
		set->bpf = NULL;
		return err;
	}
	set->is_of_process = is_of_process;
	set->kept_bytes = overwrites ? bytes : 0;
	wmk_syscalls_exclude_only(set->bpf, reader->own.pids, reader->own.n_pids);
	return 0;
}

int wmk_syscalls_probe(void)
{
	const struct wmk_syscalls_options options = {
		.is_all = true, .n_rings = 1, .ring_bytes = RING_MIN, .processes = 1, .clock = WMK_CLOCK_MONOTONIC
	};
	struct wmk_syscalls *calls;
	int err = wmk_syscalls_open(&options, &calls);

	if (err < 0)
		return err;
	err = wmk_syscalls_start(calls);
	wmk_syscalls_close(calls);
	return err;
}

/*
 * Waits until all runs of BPF programs that started before the change have ended. Each run of a program is an RCU
 * read-side critical section.
 */
static void quiesce(void)
{
	syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
}

static bool bit_of(const uint64_t *words, unsigned abi, unsigned number)
{
	return words[abi * (WMK_SYSCALLS_NUMBERS / 64) + number / 64] >> (number % 64) & 1;
}

/*
 * Changes only the bits that differ: a system call that is selected before and after the change is recorded without a
 * gap. Returns whether the change removed any system call.
 */
static bool want(struct wmk_syscall_set *set, const uint64_t *wanted)
{
	bool fewer = false;

	for (unsigned abi = 0; abi < WMK_SYSCALLS_ABIS; abi++)
		for (unsigned number = 0; number < WMK_SYSCALLS_NUMBERS; number++) {
			const bool on = bit_of(wanted, abi, number);

			if (on == bit_of(set->wanted, abi, number))
				continue;
			if (on && set->calls[abi][number])
				wmk_syscalls_describe(set->bpf, &set->calls[abi][number]->call);
			wmk_syscalls_want(set->bpf, (enum wmk_kabi)abi, number, on);
			fewer |= !on;
		}
	memcpy(set->wanted, wanted, sizeof(set->wanted));
	return fewer;
}

/*
 * Replaces the set of processes in which BPF records. A process that is in both the old set and the new set is recorded
 * without a gap.
 */
static int narrow(const struct wmk_kreader *reader, const struct wmk_syscalls_wanted *wanted)
{
	unsigned n = 0;
	pid_t *pids;
	int err;

	if (reader->calls->is_of_process)
		return 0;
	pids = calloc(wanted->n_pids + 1u, sizeof(*pids));
	if (!pids)
		return wmk_error(-ENOMEM, "cannot store the recorded processes: no memory");
	for (unsigned i = 0; wanted->narrowed && i < wanted->n_pids; i++)
		if (wanted->pids[i])
			pids[n++] = (pid_t)wanted->pids[i];
	err = wmk_syscalls_follow_only(reader->calls->bpf, pids, n, !wanted->narrowed);
	free(pids);
	return err;
}

static int start(const struct wmk_kreader *reader)
{
	struct wmk_syscall_set *set = reader->calls;
	int err = 0;

	if (set->is_started)
		return 0;
	if (set->is_of_process)
		err = wmk_syscalls_follow_only(set->bpf, NULL, 0, false);
	if (err == 0)
		err = wmk_syscalls_start(set->bpf);
	/* From this line on, BPF records new children, so the scan of set_event_pid misses no child. */
	if (err == 0 && set->is_of_process)
		err = wmk_syscall_set_follow(reader);
	if (err < 0)
		wmk_syscalls_stop(set->bpf);
	set->is_started = err == 0;
	return err;
}

int wmk_kreader_calls(struct wmk_kreader *reader, const struct wmk_syscalls_wanted *wanted)
{
	struct wmk_syscall_set *set = reader->calls;
	bool any = false, opened = false;
	int err = 0;

	for (unsigned i = 0; i < WMK_SYSCALLS_WORDS; i++)
		any |= wanted->calls[i] != 0;
	if (!set || (!any && !wanted->resume && !set->bpf))
		return 0;
	if (!set->bpf) {
		err = bpf_open(reader, wanted->bytes);
		opened = err == 0;
	}
	if (err == 0)
		err = narrow(reader, wanted);
	if (err == 0 && any)
		err = start(reader);
	/* (a retry loads BPF again and reports the new streams) */
	if (err < 0 && opened) {
		wmk_syscalls_close(set->bpf);
		set->bpf = NULL;
	}
	if (err < 0)
		return err;
	if (want(set, wanted->calls) || wanted->narrowed) {
		/* Detach the program while no system call is selected. */
		if (!any)
			wmk_syscalls_stop(set->bpf);
		set->is_started &= any;
		quiesce();
	}
	return opened;
}

unsigned wmk_kreader_rings(const struct wmk_kreader *reader)
{
	return reader->calls && reader->calls->bpf ? wmk_syscalls_rings(reader->calls->bpf) : 0;
}
