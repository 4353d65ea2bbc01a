/* SPDX-License-Identifier: MIT */
/*
 * statedump_record.h - the state of one running dump. Internal to the state dump. statedump.c runs the dump,
 * statedump_task.c has processes, and statedump_ns.c has namespaces. statedump_machine.c and statedump_net.c have the
 * rest of the machine.
 *
 * Functions return 0; -errno if this process lacks descriptors or memory (without a cause chain); or the value that
 * `record` returned. Objects that are gone or not readable are counted, and are not errors.
 */
#ifndef WMK_KERNEL_STATEDUMP_RECORD_H
#define WMK_KERNEL_STATEDUMP_RECORD_H

#include <dirent.h>
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
	char name[WMK_KPROC_NAME];   /* of the action, truncated like a task's name */
};

/* A namespace and its ancestors up to our own namespace. */
struct wmk_kdump_chain {
	uint32_t n, inums[WMK_KPROC_LEVELS];   /* innermost first */
};

struct wmk_kdump {
	const struct wmk_kstatedump_options *options;
	int (*record)(void *data, unsigned event, uint64_t ts, const void *payload, size_t len);
	void *data;
	int proc, sys;                /* descriptors; sys: -errno if it cannot be opened */
	/* `record` returned a value other than 0, which the dump returns without a cause chain */
	bool was_refused;
	bool may_compare;             /* numbers in this /proc are valid for system calls */
	uint32_t own_user_ns;         /* 0: unknown */
	struct wmk_kstatedump_counts counts;
	uint32_t n_irq_threads;
	struct wmk_kdump_irq_thread irq_threads[WMK_KDUMP_IRQ_THREADS];
	/* caches of PID and user namespaces, by the innermost number */
	struct wmk_kdump_chain chains[2][WMK_KDUMP_CHAINS];
	int32_t parent;               /* the process that parent_status describes; 0: none yet */
	struct wmk_kproc_status parent_status;
	struct wmk_kproc_lines lines;
	size_t len;
	uint8_t payload[WMK_KSTATEDUMP_PAYLOAD_MAX];
};

/* One thread, and the values that were read from its files in /proc. */
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

/* Count the error of an object that is gone or not readable and return 0; return any other error. */
int wmk_kdump_missed(struct wmk_kdump *dump, long err);

/* These functions append fields to the payload; bytes beyond the payload's capacity are cut off. */
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

#define WMK_KDUMP_NAME_MAX 255u    /* bytes of a text that is not a path; the rest is cut off */

/*
 * Append `text` up to its first NUL, at most PATH_MAX bytes, and a NUL. In a record with more than one text, the caller
 * limits each text to WMK_KDUMP_NAME_MAX.
 */
void wmk_kdump_put_text(struct wmk_kdump *dump, const char *text, size_t len);
/* Pass the payload to `record`, and begin an empty payload. */
int wmk_kdump_emit(struct wmk_kdump *dump, enum wmk_kstatedump_event event);

/* Open a directory of /sys. NULL with errno. */
DIR *wmk_kdump_open_sys(const struct wmk_kdump *dump, const char *path);
/* Call `one` for each entry of a directory of /sys, except entries with a dot at the beginning. */
int wmk_kdump_each_sys(struct wmk_kdump *dump, const char *path,
		       int (*one)(struct wmk_kdump *dump, DIR *dir, const char *name));

int wmk_kdump_processes(struct wmk_kdump *dump);
int wmk_kdump_namespaces(struct wmk_kdump *dump, const struct wmk_kdump_task *task);
int wmk_kdump_interrupts(struct wmk_kdump *dump);
int wmk_kdump_network(struct wmk_kdump *dump);
int wmk_kdump_block(struct wmk_kdump *dump);
int wmk_kdump_cpus(struct wmk_kdump *dump);

#endif
