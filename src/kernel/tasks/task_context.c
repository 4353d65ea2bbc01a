/* SPDX-License-Identifier: MIT */
/* task_context.c - context fields of kernel records (see task_context.h). */
#include "kernel/tasks/task_context.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "ctf/writer.h"
#include "kernel/tracefs/cpu_buffer.h"
#include "kernel/tracefs/instance.h"
#include "kernel/tasks/task_table.h"

#define TASKS_KB 512u                /* size of the buffer for events of tasks on each CPU, in KiB */
#define CLOCK_NAME 32u
#define ASK_AGAIN_MS 1000u           /* a scan of /proc takes milliseconds */
#define KNOWN 64u                    /* cached tasks with encoded contexts; a power of two */
/* bytes of contexts that one fixed-size copy covers; the default contexts have 24 bytes */
#define SHORT 32u
/* common_flags of the kernel's records (include/linux/trace_events.h). */
#define FLAG_IRQS_OFF 0x01u
#define FLAG_NEED_RESCHED 0x04u
#define FLAG_HARDIRQ 0x08u
#define FLAG_SOFTIRQ 0x10u
#define PRIO_BASE 100                /* the kernel's priority is the result of task_prio() plus this number */

/* Position of a field in a record, in bytes. */
struct place {
	uint32_t at, size;
};

enum task_event { NEWTASK, RENAME, EXEC, EXIT, TASK_EVENTS };

static const struct {
	const char *system, *name;
	const char *fields[4];
} task_events[TASK_EVENTS] = {
	[NEWTASK] = { "task", "task_newtask", { "pid", "comm", "clone_flags" } },
	[RENAME] = { "task", "task_rename", { "pid", "oldcomm", "newcomm" } },
	[EXEC] = { "sched", "sched_process_exec", { "pid", "old_pid" } },
	[EXIT] = { "sched", "sched_process_exit", { "pid", "comm" } },
};

/* A context that differs for each record, and the byte offset of this context among the contexts. */
struct flag {
	unsigned context;
	size_t at;
};

/* Cached contexts of a task's records on a CPU. */
struct known {
	int32_t tid;
	unsigned cpu;
	uint64_t from, until;                /* valid times; until == 0: the entry is unused */
	uint8_t bytes[WMK_KCONTEXT_BYTES];
};

struct wmk_kcontext {
	uint8_t contexts[WMK_KCONTEXT_CONTEXTS];
	unsigned n;
	size_t bytes;                        /* size of all contexts */
	struct flag flags[WMK_KCONTEXT_CONTEXTS];
	unsigned n_flags;
	struct known known[KNOWN];
	unsigned want;                       /* WMK_KTASK_... bits */
	struct wmk_ktasks *tasks;            /* NULL: no context needs the table */
	int instance;                        /* directory of the instance with events of tasks; -1: none */
	uint32_t ids[TASK_EVENTS];
	struct place places[TASK_EVENTS][4];
	struct wmk_kcpu **cpus;
	unsigned n_cpus;
	bool has_noted;                      /* an event was noted in this drain pass */
	/* the kernel overwrote events before this time, and no scan of /proc has followed; 0: no gap */
	uint64_t gap;
	uint64_t asked_ms;                   /* time of the last scan of /proc, CLOCK_MONOTONIC */
};

/* ── events of tasks ─────────────────────────────────────────────────────────────────────────────────── */

/* If a kernel lacks a field, the position of this field stays empty (oldcomm is absent since Linux 6.18). */
static int places_find(struct wmk_kcontext *kcontext, enum task_event event)
{
	struct wmk_kformat *format;
	int err = wmk_kformat_load(kcontext->instance, task_events[event].system, task_events[event].name, &format);

	if (err < 0)
		return err;
	kcontext->ids[event] = format->id;
	for (unsigned f = 0; f < 4 && task_events[event].fields[f]; f++)
		for (uint32_t i = format->n_common; i < format->n_common + format->n_fields; i++)
			if (strcmp(format->fields[i].name, task_events[event].fields[f]) == 0)
				kcontext->places[event][f] =
					(struct place){ format->fields[i].offset, format->fields[i].size };
	free(format);
	return 0;
}

static uint64_t number_at(const struct wmk_krecord *record, struct place place)
{
	uint64_t value = 0;

	if (place.size == 0 || place.size > 8 || place.at > record->len || record->len - place.at < place.size)
		return 0;
	memcpy(&value, record->data + place.at, place.size);
	return value;
}

/* Returns NULL if the record has no such field. */
static const char *name_at(const struct wmk_krecord *record, struct place place)
{
	if (place.size != WMK_KPROC_NAME || place.at > record->len || record->len - place.at < place.size)
		return NULL;
	return (const char *)record->data + place.at;
}

/*
 * Notes an exit. If the table has no name of the task, the function first notes a change of the task's name, with the
 * name in the exit event as old and as new name. The old name of a change applies to earlier times.
 */
static void note_end(struct wmk_kcontext *kcontext, uint64_t ts, int32_t tid, const char *name)
{
	struct wmk_ktask task = { .known = 0 };

	if (name &&
	    (wmk_ktasks_find(kcontext->tasks, tid, 0, ts, WMK_KTASK_NAME, &task) < 0 || !(task.known & WMK_KTASK_NAME)))
		wmk_ktasks_note_rename(kcontext->tasks, ts, tid, name, name);
	wmk_ktasks_note_exit(kcontext->tasks, ts, tid);
}

/* Notes one event of a task. If memory is exhausted, the event is skipped, and the change stays unknown. */
static void note(struct wmk_kcontext *kcontext, const struct wmk_krecord *record)
{
	const struct place *places;
	struct wmk_kcommon common;
	unsigned event = 0;

	while (event < TASK_EVENTS && kcontext->ids[event] != record->type)
		event++;
	if (event == TASK_EVENTS || record->len < 8)
		return;
	places = kcontext->places[event];
	kcontext->has_noted = true;
	wmk_kcommon_read(record->data, &common);
	const int32_t tid = (int32_t)number_at(record, places[0]);

	if (event == NEWTASK && name_at(record, places[1]))
		wmk_ktasks_note_fork(kcontext->tasks, record->ts, common.tid, tid, name_at(record, places[1]),
				     number_at(record, places[2]));
	else if (event == RENAME && name_at(record, places[2]))
		/* a record without field `pid` belongs to the renamed thread itself */
		wmk_ktasks_note_rename(kcontext->tasks, record->ts, places[0].size ? tid : common.tid,
				       name_at(record, places[1]), name_at(record, places[2]));
	else if (event == EXEC)
		wmk_ktasks_note_exec(kcontext->tasks, record->ts, tid, (int32_t)number_at(record, places[1]));
	else if (event == EXIT)
		note_end(kcontext, record->ts, tid, name_at(record, places[1]));
}

static int drain_cpu(struct wmk_kcontext *kcontext, struct wmk_kcpu *cpu, bool flush)
{
	struct wmk_krecord record;
	struct wmk_kpart part;
	struct wmk_kpage page;
	int ret;

	while ((ret = wmk_kcpu_next(cpu, flush, &part)) == 1) {
		ret = wmk_kpart_open(cpu, &part, &page);
		if (ret == 0 && page.missed && page.begin_ts > kcontext->gap)
			kcontext->gap = page.begin_ts;
		while (ret == 0 && (ret = wmk_kpage_next(&page, &record)) == 1) {
			note(kcontext, &record);
			ret = 0;
		}
		wmk_kcpu_release(cpu);
		if (ret < 0)
			return ret;
	}
	return ret;
}

static bool has_gap(const struct wmk_kcontext *kcontext)
{
	return kcontext->gap && (!kcontext->asked_ms || (uint64_t)wmk_clock_ms() - kcontext->asked_ms >= ASK_AGAIN_MS);
}

/*
 * Scans /proc again after events of tasks were overwritten. The scan runs after all CPUs have been read, because later
 * events of other CPUs may show the effect of an overwritten event. If the scan fails, names stay as they are until the
 * next attempt.
 */
static void close_gap(struct wmk_kcontext *kcontext)
{
	if (wmk_ktasks_rescan(kcontext->tasks, kcontext->gap) < 0)
		wmk_error_clear();
	else
		kcontext->gap = 0;
	kcontext->asked_ms = (uint64_t)wmk_clock_ms();
	kcontext->has_noted = true;
}

static int drain_cpus(struct wmk_kcontext *kcontext, unsigned from, unsigned to, bool flush)
{
	int err = 0;

	kcontext->has_noted = false;
	for (unsigned i = from; i < to && i < kcontext->n_cpus && err == 0; i++)
		if (kcontext->cpus[i])
			err = drain_cpu(kcontext, kcontext->cpus[i], flush);
	if (err == 0 && flush && has_gap(kcontext))
		close_gap(kcontext);
	for (unsigned i = 0; i < KNOWN && kcontext->has_noted; i++)
		kcontext->known[i].until = 0;
	return err;
}

int wmk_kcontext_drain(struct wmk_kcontext *kcontext)
{
	return drain_cpus(kcontext, 0, kcontext->n_cpus, true);
}

int wmk_kcontext_follow(struct wmk_kcontext *kcontext, unsigned cpu)
{
	int err = drain_cpus(kcontext, cpu, cpu + 1, false);
	const bool any = kcontext->has_noted;

	if (err == 0 && has_gap(kcontext))
		err = wmk_kcontext_drain(kcontext);
	return err < 0 ? err : any;
}

int wmk_kcontext_fd(const struct wmk_kcontext *kcontext, unsigned cpu)
{
	return cpu < kcontext->n_cpus && kcontext->cpus[cpu] ? wmk_kcpu_fd(kcontext->cpus[cpu]) : -1;
}

/* ── the instance ────────────────────────────────────────────────────────────────────────────────────── */

/* Reads the selected clock: in "local [mono] boot", the clock in brackets is selected. */
static int clock_of(int instance, char clock[CLOCK_NAME])
{
	char *text, *begin;
	size_t len;
	int err = wmk_tracefs_read(instance, "trace_clock", &text, &len);

	if (err < 0)
		return err;
	begin = strchr(text, '[');
	snprintf(clock, CLOCK_NAME, "%.*s", begin ? (int)strcspn(begin + 1, "]") : 0, begin ? begin + 1 : "");
	free(text);
	return 0;
}

/* Writes the name of the instance, followed by `suffix`. */
static int name_of(int instance, const char *suffix, char name[WMK_KINSTANCE_NAME])
{
	char link[40], path[600], *base;
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", instance);
	n = readlink(link, path, sizeof(path) - 1);
	path[n > 0 ? n : 0] = '\0';
	base = strrchr(path, '/');
	if (!base)
		return wmk_error(-EIO, "cannot find the directory of a tracefs instance");
	if (snprintf(name, WMK_KINSTANCE_NAME, "%s%s", base + 1, suffix) >= (int)WMK_KINSTANCE_NAME)
		return wmk_error(-ENAMETOOLONG, "the instance name %.80s is too long for a suffix", base + 1);
	return 0;
}

/* Enables the events. The removal of an adopted instance may be incomplete, so all events are enabled again. */
static int instance_fill(struct wmk_kcontext *kcontext)
{
	int err = wmk_kinstance_switch(kcontext->instance, true);

	for (unsigned event = 0; event < TASK_EVENTS && err == 0; event++) {
		err = places_find(kcontext, event);
		if (err == 0)
			err = wmk_kinstance_event(kcontext->instance, task_events[event].system,
						  task_events[event].name, true);
	}
	return err;
}

/* Adopts the instance of a crashed process. -ENOENT: no instance, or an instance with another clock, now removed. */
static int instance_adopt(struct wmk_kcontext *kcontext, const struct wmk_tracefs *tracefs, const char *name,
			  const char *clock)
{
	char its[CLOCK_NAME];
	int err = wmk_tracefs_instance_open(tracefs, name, &kcontext->instance);

	if (err < 0)
		return err;
	err = clock_of(kcontext->instance, its);
	if (err == 0 && strcmp(its, clock) == 0)
		return 0;
	close(kcontext->instance);
	kcontext->instance = -1;
	err = wmk_kinstance_remove(tracefs, name);
	return err < 0 ? err : -ENOENT;
}

static int instance_make(struct wmk_kcontext *to, const struct wmk_tracefs *fs, const char *name, const char *clock)
{
	int err = wmk_tracefs_instance_make(fs, name, &to->instance);

	if (err == 0)
		err = wmk_tracefs_write(to->instance, "trace_clock", clock, false);
	return err < 0 ? err : wmk_kinstance_buffers(to->instance, true, (uint64_t)TASKS_KB * 1024);
}

static int instance_open(struct wmk_kcontext *kcontext, int channel)
{
	char name[WMK_KINSTANCE_NAME], clock[CLOCK_NAME];
	struct wmk_tracefs *tracefs;
	int err = name_of(channel, WMK_KCONTEXT_SUFFIX, name);

	if (err == 0)
		err = clock_of(channel, clock);
	if (err == 0)
		err = wmk_tracefs_open(NULL, &tracefs);
	if (err < 0)
		return err;
	err = instance_adopt(kcontext, tracefs, name, clock);
	if (err == -ENOENT) {
		wmk_error_clear();
		err = instance_make(kcontext, tracefs, name, clock);
	}
	wmk_tracefs_close(tracefs);
	return err < 0 ? err : instance_fill(kcontext);
}

int wmk_kcontext_cpu(struct wmk_kcontext *kcontext, unsigned cpu)
{
	return cpu >= kcontext->n_cpus || kcontext->cpus[cpu]
		       ? 0
		       : wmk_kcpu_open(kcontext->instance, cpu, WMK_KCPU_BEST, &kcontext->cpus[cpu]);
}

static int cpus_open(struct wmk_kcontext *kcontext)
{
	int err = 0;

	kcontext->n_cpus = wmk_kinstance_cpus(kcontext->instance);
	if (kcontext->n_cpus == 0)
		return wmk_error_number();
	kcontext->cpus = calloc(kcontext->n_cpus, sizeof(struct wmk_kcpu *));
	if (!kcontext->cpus) {
		kcontext->n_cpus = 0;
		return wmk_error(-ENOMEM, "cannot prepare context fields: no memory");
	}
	for (unsigned i = 0; i < kcontext->n_cpus && err == 0; i++) {
		err = wmk_kcontext_cpu(kcontext, i);
		if (err == -ENOENT || err == -ENODEV)
			err = (wmk_error_clear(), 0);    /* the CPU has not been online yet */
	}
	return err;
}

/* ── contexts ────────────────────────────────────────────────────────────────────────────────────────── */

static unsigned want_of(unsigned context)
{
	switch (context) {
	case WMK_CONTEXT_PROCNAME:
		return WMK_KTASK_NAME;
	case WMK_CONTEXT_PID:
	case WMK_CONTEXT_PPID:
		return WMK_KTASK_PID;
	case WMK_CONTEXT_PRIO:
		return WMK_KTASK_PRIO;
	case WMK_CONTEXT_VPID:
	case WMK_CONTEXT_VTID:
	case WMK_CONTEXT_VPPID:
		return WMK_KTASK_VIRTUAL | WMK_KTASK_PID;
	default:
		return context >= WMK_CONTEXT_CGROUP_NS && context <= WMK_CONTEXT_UTS_NS ? WMK_KTASK_NAMESPACES : 0;
	}
}

static bool is_flag(unsigned context)
{
	return context >= WMK_CONTEXT_PREEMPTIBLE && context <= WMK_CONTEXT_NEED_RESCHEDULE;
}

static int add_context(struct wmk_kcontext *kcontext, unsigned number)
{
	const struct wmk_ctf_context *context = wmk_ctf_context(number);
	const size_t size = wmk_context_bytes(number);

	if (!context || !(context->domains & WMK_CONTEXT_KERNEL) || kcontext->n == WMK_KCONTEXT_CONTEXTS ||
	    size > WMK_KCONTEXT_BYTES - kcontext->bytes)
		return wmk_error(-EINVAL, "context field %u is not available for kernel records", number);
	if (is_flag(number))
		kcontext->flags[kcontext->n_flags++] = (struct flag){ number, kcontext->bytes };
	kcontext->contexts[kcontext->n++] = (uint8_t)number;
	kcontext->want |= want_of(number);
	kcontext->bytes += size;
	return 0;
}

int wmk_kcontext_open(int instance, const uint8_t *contexts, unsigned n, bool processes, struct wmk_kcontext **result)
{
	struct wmk_kcontext *kcontext = calloc(1, sizeof(*kcontext));
	int err = 0;

	if (!kcontext)
		return wmk_error(-ENOMEM, "cannot prepare context fields: no memory");
	kcontext->instance = -1;
	kcontext->want = processes ? WMK_KTASK_PID : 0;
	for (unsigned i = 0; i < n && err == 0; i++)
		err = add_context(kcontext, contexts[i]);
	if (err == 0 && kcontext->want) {
		err = instance_open(kcontext, instance);
		/* scan after the events are enabled, so that events report changes during the scan */
		if (err == 0)
			err = wmk_ktasks_open(NULL, wmk_kinstance_now(kcontext->instance), 0, &kcontext->tasks);
		if (err == 0)
			err = cpus_open(kcontext);
	}
	if (err < 0) {
		wmk_kcontext_close(kcontext);
		return err;
	}
	*result = kcontext;
	return 0;
}

unsigned wmk_kcontext_contexts(const struct wmk_kcontext *kcontext, uint8_t contexts[WMK_KCONTEXT_CONTEXTS])
{
	memcpy(contexts, kcontext->contexts, kcontext->n);
	return kcontext->n;
}

/* If the removal fails, the channel's owner removes the instance. */
static void instance_close(int instance)
{
	char name[WMK_KINSTANCE_NAME];
	struct wmk_tracefs *tracefs = NULL;
	int err = name_of(instance, "", name);

	close(instance);
	if (err == 0)
		err = wmk_tracefs_open(NULL, &tracefs);
	if (err == 0)
		err = wmk_kinstance_remove(tracefs, name);
	wmk_tracefs_close(tracefs);
	if (err < 0)
		wmk_error_clear();
}

void wmk_kcontext_close(struct wmk_kcontext *kcontext)
{
	if (!kcontext)
		return;
	for (unsigned i = 0; i < kcontext->n_cpus && kcontext->cpus; i++)
		if (kcontext->cpus[i])
			wmk_kcpu_close(kcontext->cpus[i]);
	free(kcontext->cpus);
	wmk_ktasks_close(kcontext->tasks);
	if (kcontext->instance >= 0)
		instance_close(kcontext->instance);
	free(kcontext);
}

int32_t wmk_kcontext_process(struct wmk_kcontext *kcontext, unsigned cpu, uint64_t ts, int32_t tid)
{
	struct wmk_ktask task;

	if (!kcontext->tasks || wmk_ktasks_find(kcontext->tasks, tid, cpu, ts, WMK_KTASK_PID, &task) < 0)
		return -1;
	return task.known & WMK_KTASK_PID ? task.pid : -1;
}

/* Kinds of namespaces in the order of their contexts. */
static const uint8_t ns_of[] = { WMK_KNS_CGROUP, WMK_KNS_IPC,  WMK_KNS_MNT,  WMK_KNS_NET,
				 WMK_KNS_PID,    WMK_KNS_TIME, WMK_KNS_USER, WMK_KNS_UTS };

static int32_t number_of(unsigned context, unsigned cpu, const struct wmk_ktask *task)
{
	switch (context) {
	case WMK_CONTEXT_TID:
		return task->tid;
	case WMK_CONTEXT_CPU_ID:
		return (int32_t)cpu;
	case WMK_CONTEXT_PID:
		return task->known & WMK_KTASK_PID ? task->pid : -1;
	case WMK_CONTEXT_PPID:
		return task->known & WMK_KTASK_PID ? task->ppid : -1;
	case WMK_CONTEXT_VPID:
		return task->known & WMK_KTASK_VIRTUAL ? task->vpid : -1;
	case WMK_CONTEXT_VTID:
		return task->known & WMK_KTASK_VIRTUAL ? task->vtid : -1;
	case WMK_CONTEXT_VPPID:
		/* the parent's number in the task's namespace is unknown; in the initial namespace it is ppid */
		return task->known & WMK_KTASK_VIRTUAL && task->vpid == task->pid ? task->ppid : -1;
	case WMK_CONTEXT_PRIO:
		return task->known & WMK_KTASK_PRIO ? task->prio + PRIO_BASE : -1;
	default:
		return (int32_t)task->ns[ns_of[context - WMK_CONTEXT_CGROUP_NS]];
	}
}

static uint8_t flag_of(unsigned context, const struct wmk_kcommon *common)
{
	if (context == WMK_CONTEXT_NEED_RESCHEDULE)
		return (common->flags & FLAG_NEED_RESCHED) != 0;
	if (context == WMK_CONTEXT_INTERRUPTIBLE)
		return (common->flags & FLAG_IRQS_OFF) == 0;
	/* the low half is the depth of preempt_disable(); interrupts are not preempted either */
	return (common->preempt_count & 0xf) == 0 && !(common->flags & (FLAG_HARDIRQ | FLAG_SOFTIRQ | FLAG_IRQS_OFF));
}

/* Encodes the contexts of a task. Skips the bytes of contexts that differ for each record. */
static void encode(const struct wmk_kcontext *kcontext, unsigned cpu, const struct wmk_ktask *task, uint8_t *out)
{
	for (unsigned i = 0; i < kcontext->n; i++) {
		const unsigned context = kcontext->contexts[i];
		int32_t number;

		if (context == WMK_CONTEXT_PROCNAME) {
			memcpy(out, task->procname, WMK_KPROC_NAME);
			out += WMK_KPROC_NAME;
		} else if (is_flag(context)) {
			out++;
		} else {
			number = number_of(context, cpu, task);
			memcpy(out, &number, sizeof(number));
			out += sizeof(number);
		}
	}
}

static void find(struct wmk_kcontext *kcontext, unsigned cpu, uint64_t ts, int32_t tid, struct wmk_ktask *task)
{
	*task = (struct wmk_ktask){ .until = UINT64_MAX };
	if (kcontext->want && wmk_ktasks_find(kcontext->tasks, tid, cpu, ts, kcontext->want, task) < 0)
		*task = (struct wmk_ktask){ .until = task->until };
	task->tid = tid;
}

static void know(struct wmk_kcontext *kcontext, unsigned cpu, uint64_t ts, int32_t tid, struct known *known)
{
	struct wmk_ktask task;

	find(kcontext, cpu, ts, tid, &task);
	encode(kcontext, cpu, &task, known->bytes);
	known->tid = tid;
	known->cpu = cpu;
	known->from = ts;
	known->until = task.until;
}

static inline size_t encode_flags(const struct wmk_kcontext *kcontext, const struct wmk_kcommon *common, uint8_t *out)
{
	for (unsigned i = 0; i < kcontext->n_flags; i++)
		out[kcontext->flags[i].at] = flag_of(kcontext->flags[i].context, common);
	return kcontext->bytes;
}

size_t wmk_kcontext_encode(struct wmk_kcontext *kcontext, unsigned cpu, uint64_t ts, const struct wmk_kcommon *common,
			   uint8_t out[WMK_KCONTEXT_BYTES])
{
	struct known *known = &kcontext->known[(uint32_t)common->tid % KNOWN];

	if (ts >= known->until || ts < known->from || known->tid != common->tid || known->cpu != cpu)
		know(kcontext, cpu, ts, common->tid, known);
	/* Constant lengths let the compiler copy inline. */
	if (kcontext->bytes <= SHORT)
		memcpy(out, known->bytes, SHORT);
	else
		memcpy(out, known->bytes, WMK_KCONTEXT_BYTES);
	return encode_flags(kcontext, common, out);
}

size_t wmk_kcontext_encode_of(struct wmk_kcontext *kcontext, unsigned cpu, uint64_t ts,
			      const struct wmk_kcommon *common, int32_t pid, uint8_t out[WMK_KCONTEXT_BYTES])
{
	struct wmk_ktask task;

	find(kcontext, cpu, ts, common->tid, &task);
	task.ppid = task.known & WMK_KTASK_PID ? task.ppid : -1;
	task.pid = pid;
	task.known |= WMK_KTASK_PID;
	encode(kcontext, cpu, &task, out);
	return encode_flags(kcontext, common, out);
}

size_t wmk_kcontext_no_task(const struct wmk_kcontext *kcontext, uint8_t out[WMK_KCONTEXT_BYTES])
{
	const struct wmk_kcommon common = { .tid = -1 };
	const struct wmk_ktask task = { .tid = -1 };

	encode(kcontext, WMK_CTF_CPU_NONE, &task, out);
	return encode_flags(kcontext, &common, out);
}
