/* SPDX-License-Identifier: MIT */
/*
 * statedump_record.h - one dump that is under way. Internal to the state dump: statedump.c has the beginning and the
 * end, statedump_task.c the processes, statedump_ns.c their namespaces, statedump_machine.c and statedump_net.c what is
 * not a process.
 *
 * Functions return 0, an errno of our own means (no descriptors, no memory; without a chain), or what the caller's
 * `record` returned. That something is gone or hidden is counted.
 */
#ifndef WMK_KERNEL_STATEDUMP_RECORD_H
#define WMK_KERNEL_STATEDUMP_RECORD_H

#include <limits.h>
#include <stdbool.h>
#include <string.h>

#include "kernel/proc/procfs.h"
#include "kernel/statedump/statedump.h"

#define WMK_KDUMP_IRQ_THREADS 512u
#define WMK_KDUMP_CHAINS 16u

/* The thread "irq/<irq>-<name>" that handles an interrupt. */
struct wmk_kdump_irq_thread {
	uint32_t irq;
	int32_t tid;
	char name[WMK_KPROC_NAME];   /* of the action, cut as that of a task is */
};

/* A namespace and those around it, as far as we are in them. */
struct wmk_kdump_chain {
	uint32_t n, inums[WMK_KPROC_LEVELS];   /* the innermost first */
};

struct wmk_kdump {
	const struct wmk_kstatedump_options *options;
	int (*record)(void *data, unsigned event, uint64_t ts, const void *payload, size_t len);
	void *data;
	int proc, sys;                /* descriptors; sys: -errno where there is none */
	bool was_refused;             /* by the caller's `record`: the error is his */
	bool may_compare;             /* numbers in this /proc are those that system calls take */
	uint32_t own_user_ns;         /* 0: not known */
	struct wmk_kstatedump_counts counts;
	uint32_t n_irq_threads;
	struct wmk_kdump_irq_thread irq_threads[WMK_KDUMP_IRQ_THREADS];
	/* known ones, by their innermost: of PID, of user namespaces */
	struct wmk_kdump_chain chains[2][WMK_KDUMP_CHAINS];
	int32_t parent;               /* whose numbers are in parent_status: the latest one asked for */
	struct wmk_kproc_status parent_status;
	struct wmk_kproc_lines lines;
	size_t len;
	uint8_t payload[WMK_KSTATEDUMP_PAYLOAD_MAX];
};

/* One thread, as far as it was read. */
struct wmk_kdump_task {
	int dir;                      /* /proc/<pid>/task/<tid> */
	int32_t tid, pid;
	struct wmk_kproc_stat stat;
	struct wmk_kproc_status status;
};

static inline bool wmk_kdump_wants(const struct wmk_kdump *dump, unsigned part)
{
	return dump->options->parts & part;
}

static inline bool wmk_kdump_is_zombie(const struct wmk_kdump_task *task)
{
	return task->stat.state == 'Z' || task->stat.state == 'X' || task->stat.state == 'x';
}

/* What a failure means: 0, counted, or the failure where it is one of our own. */
int wmk_kdump_missed(struct wmk_kdump *dump, long err);

/* A payload, field by field. */
static inline void wmk_kdump_put(struct wmk_kdump *dump, const void *bytes, size_t len)
{
	if (len > sizeof(dump->payload) - dump->len)
		len = sizeof(dump->payload) - dump->len;
	memcpy(dump->payload + dump->len, bytes, len);
	dump->len += len;
}

static inline void wmk_kdump_put_8(struct wmk_kdump *dump, uint8_t value)
{
	wmk_kdump_put(dump, &value, sizeof(value));
}

static inline void wmk_kdump_put_16(struct wmk_kdump *dump, uint16_t value)
{
	wmk_kdump_put(dump, &value, sizeof(value));
}

static inline void wmk_kdump_put_32(struct wmk_kdump *dump, uint32_t value)
{
	wmk_kdump_put(dump, &value, sizeof(value));
}

static inline void wmk_kdump_put_i32(struct wmk_kdump *dump, int32_t value)
{
	wmk_kdump_put(dump, &value, sizeof(value));
}

static inline void wmk_kdump_put_64(struct wmk_kdump *dump, uint64_t value)
{
	wmk_kdump_put(dump, &value, sizeof(value));
}

#define WMK_KDUMP_NAME_MAX 255u    /* bytes of what is no path: more of it is not shown */

/*
 * Up to a NUL among the bytes, and a NUL. At most a path's length of it; where there is more than one text,
 * WMK_KDUMP_NAME_MAX.
 */
void wmk_kdump_put_text(struct wmk_kdump *dump, const char *text, size_t len);
/* The payload goes; the next one is empty. */
int wmk_kdump_emit(struct wmk_kdump *dump, enum wmk_kstatedump_event event);

int wmk_kdump_processes(struct wmk_kdump *dump);
int wmk_kdump_namespaces(struct wmk_kdump *dump, const struct wmk_kdump_task *task);
int wmk_kdump_interrupts(struct wmk_kdump *dump);
int wmk_kdump_network(struct wmk_kdump *dump);
int wmk_kdump_block(struct wmk_kdump *dump);
int wmk_kdump_cpus(struct wmk_kdump *dump);

#endif
