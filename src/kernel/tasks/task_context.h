/* SPDX-License-Identifier: MIT */
/*
 * task_context.h - the contexts of the kernel's records: from the fields that all of them have, and from who was who at
 * that time (task_table.h).
 *
 * What tasks are called and whose they are is followed by an instance of tracefs of its own, <channel's>~tasks:
 * task_newtask, task_rename, sched_process_exec and sched_process_exit. It is made where a context asks for it alone,
 * or taken over from one who died, and is emptied before records are looked at (look), so that whatever happened before
 * them is known; and whenever much has come (follow), as there may be no records for long. If the kernel had to
 * overwrite some all the same, tasks are called what /proc says from there on: asked for once a second at most.
 *
 * One thread. -errno with a cause chain.
 */
#ifndef WMK_KERNEL_TASK_CONTEXT_H
#define WMK_KERNEL_TASK_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/event/kernel_event.h"
#include "schema/schema.h"

#define WMK_KCONTEXT_BYTES 256u            /* of all contexts of a record at most */
#define WMK_KCONTEXT_CONTEXTS 64u          /* contexts at most */
#define WMK_KCONTEXT_SUFFIX "~tasks"

struct wmk_kcontext;

/* Which process the thread was of, then; -1: it is not known. Of one that was opened with `processes`. */
int32_t wmk_kcontext_process(struct wmk_kcontext *who, unsigned cpu, uint64_t ts, int32_t tid);
/*
 * `instance`: the channel's directory. Contexts by number (wmk_ctf_context()), each once. -EINVAL: one that is not of
 * the kernel.
 */
int wmk_kcontext_open(int instance, const uint8_t *contexts, unsigned n, bool processes, struct wmk_kcontext **who);
void wmk_kcontext_close(struct wmk_kcontext *who);
/* A CPU may have come online. -ENOENT, -ENODEV: it has not. */
int wmk_kcontext_cpu(struct wmk_kcontext *who, unsigned cpu);
/* Its contexts, in their order; how many. */
unsigned wmk_kcontext_contexts(const struct wmk_kcontext *who, uint8_t contexts[WMK_KCONTEXT_CONTEXTS]);
/* Everything that has happened by now is known from here on. */
int wmk_kcontext_look(struct wmk_kcontext *who);
/* For poll(): readable when there is much to follow on that CPU. -1: nothing is followed there. */
int wmk_kcontext_fd(const struct wmk_kcontext *who, unsigned cpu);
/* Makes room in the kernel's buffer of that CPU, whether there are records or not. 1: there was something; 0. */
int wmk_kcontext_follow(struct wmk_kcontext *who, unsigned cpu);
/* The contexts of a record, packed, in their order: bytes, WMK_KCONTEXT_BYTES at most. */
size_t wmk_kcontext_encode(struct wmk_kcontext *who, unsigned cpu, uint64_t ts, const struct wmk_kcommon *common,
			   uint8_t out[WMK_KCONTEXT_BYTES]);
/* The same of a record that tells its process by itself. */
size_t wmk_kcontext_encode_of(struct wmk_kcontext *who, unsigned cpu, uint64_t ts, const struct wmk_kcommon *common,
			      int32_t pid, uint8_t out[WMK_KCONTEXT_BYTES]);
/* The same of a record that is nobody's: numbers are -1, namespaces 0, names empty. */
size_t wmk_kcontext_nobody(const struct wmk_kcontext *who, uint8_t out[WMK_KCONTEXT_BYTES]);

#endif
