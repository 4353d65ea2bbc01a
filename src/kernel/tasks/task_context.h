/* SPDX-License-Identifier: MIT */
/*
 * task_context.h - context fields of kernel records. The values of the context fields come from the common fields of
 * each record and from the history of tasks (task_table.h).
 *
 * A separate tracefs instance, <channel's>~tasks, records the names and processes of tasks: task_newtask, task_rename,
 * sched_process_exec and sched_process_exit. The instance exists only if a context field or wmk_kcontext_process()
 * needs these events. If a crashed process left its ~tasks instance behind, the next process adopts that instance.
 * wmk_kcontext_drain() empties the buffers of this instance before records are converted, so that all earlier events of
 * tasks are known. wmk_kcontext_follow() empties these buffers whenever many events have arrived, because the channel
 * can have no records for a long time. If the kernel has overwritten events of tasks, the names in /proc apply to later
 * records. /proc is scanned once a second at most.
 *
 * A context belongs to one thread. Errors: -errno with a cause chain.
 */
#ifndef WMK_KERNEL_TASK_CONTEXT_H
#define WMK_KERNEL_TASK_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/event/kernel_event.h"
#include "schema/schema.h"

#define WMK_KCONTEXT_BYTES 256u            /* maximum size of all contexts of a record */
#define WMK_KCONTEXT_CONTEXTS 64u          /* maximum number of contexts */
#define WMK_KCONTEXT_SUFFIX "~tasks"

struct wmk_kcontext;

/*
 * Returns the process of the thread `tid` at the time `ts`; -1: unknown. Each result is -1 if wmk_kcontext_open() got
 * `processes` = false and none of the context fields needs the events of tasks.
 */
int32_t wmk_kcontext_process(struct wmk_kcontext *kcontext, unsigned cpu, uint64_t ts, int32_t tid);
/*
 * `instance`: the channel's directory. `contexts`: numbers (wmk_ctf_context()), each once. `processes`: prepare for
 * wmk_kcontext_process(). -EINVAL: a context is not available for kernel records.
 */
int wmk_kcontext_open(int instance, const uint8_t *contexts, unsigned n, bool processes,
		      struct wmk_kcontext **kcontext);
void wmk_kcontext_close(struct wmk_kcontext *kcontext);
/* Opens the buffer of a CPU that may have come online. -ENOENT, -ENODEV: the CPU has not been online. */
int wmk_kcontext_cpu(struct wmk_kcontext *kcontext, unsigned cpu);
/* Copies the contexts in their order and returns their number. */
unsigned wmk_kcontext_contexts(const struct wmk_kcontext *kcontext, uint8_t contexts[WMK_KCONTEXT_CONTEXTS]);
/* Reads all events of tasks that have happened by now. */
int wmk_kcontext_drain(struct wmk_kcontext *kcontext);
/*
 * Return a descriptor for poll() that is readable when the CPU has many events of tasks. -1: the buffer of that CPU is
 * not open.
 */
int wmk_kcontext_fd(const struct wmk_kcontext *kcontext, unsigned cpu);
/*
 * Empties the kernel's buffer of this CPU, even if the channel has no records. 1: the buffer had events; 0: the buffer
 * had none.
 */
int wmk_kcontext_follow(struct wmk_kcontext *kcontext, unsigned cpu);
/*
 * Encodes the contexts of a record, packed, in their order. Returns the size of the encoded contexts, at most
 * WMK_KCONTEXT_BYTES.
 */
size_t wmk_kcontext_encode(struct wmk_kcontext *kcontext, unsigned cpu, uint64_t ts, const struct wmk_kcommon *common,
			   uint8_t out[WMK_KCONTEXT_BYTES]);
/* Like wmk_kcontext_encode(), for a record that contains its process number. */
size_t wmk_kcontext_encode_of(struct wmk_kcontext *kcontext, unsigned cpu, uint64_t ts,
			      const struct wmk_kcommon *common, int32_t pid, uint8_t out[WMK_KCONTEXT_BYTES]);
/* Like wmk_kcontext_encode(), for a record without a task: numbers are -1, namespaces 0, names empty. */
size_t wmk_kcontext_no_task(const struct wmk_kcontext *kcontext, uint8_t out[WMK_KCONTEXT_BYTES]);

#endif
