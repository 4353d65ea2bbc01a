/* SPDX-License-Identifier: MIT */
/*
 * context.c - the contexts that a record can carry: number, name, type. To add one, add a line here and the code that
 * fetches it to the tracer's table; their numbers are the wire's (enum wmk_context).
 */
#include <string.h>

#include "ctf/writer.h"

#define INT_TYPE(bits, sign, in_base) { .kind = WMK_TYPE_INT, .width = (bits), .is_signed = (sign), .base = (in_base) }

static const struct wmk_type char_type = INT_TYPE(8, 0, 10);

#define NUMBER(name_, bits, sign) { .name = (name_), .type = INT_TYPE(bits, sign, 10) }
#define BOTH (WMK_CONTEXT_USER | WMK_CONTEXT_KERNEL)

/* Names and types of the kernel's are those of lttng-modules. */
static const struct wmk_ctf_context contexts[] = {
	{ WMK_CONTEXT_VPID, BOTH, "process id, as the process sees it", NUMBER("vpid", 32, 1) },
	{ WMK_CONTEXT_VTID, BOTH, "thread id, as the process sees it", NUMBER("vtid", 32, 1) },
	{ WMK_CONTEXT_PROCNAME, BOTH, "name of the thread (comm)",
	  { .name = "procname", .type = { .kind = WMK_TYPE_ARRAY, .is_text = 1, .count = 16, .elem = &char_type } } },
	{ WMK_CONTEXT_CPU_ID, BOTH, "CPU on which the record was made", NUMBER("cpu_id", 32, 1) },
	{ 5, WMK_CONTEXT_USER, "pthread_self() of the thread", { .name = "pthread_id", .type = INT_TYPE(64, 0, 16) } },
	{ 6, WMK_CONTEXT_USER, "address of the trace point", { .name = "ip", .type = INT_TYPE(64, 0, 16) } },
	{ WMK_CONTEXT_PID, WMK_CONTEXT_KERNEL, "process id", NUMBER("pid", 32, 1) },
	{ WMK_CONTEXT_TID, WMK_CONTEXT_KERNEL, "thread id", NUMBER("tid", 32, 1) },
	{ WMK_CONTEXT_PPID, WMK_CONTEXT_KERNEL, "process id of the parent", NUMBER("ppid", 32, 1) },
	{ WMK_CONTEXT_VPPID, WMK_CONTEXT_KERNEL, "process id of the parent, as the process sees it", NUMBER("vppid", 32, 1) },
	{ WMK_CONTEXT_PRIO, WMK_CONTEXT_KERNEL, "priority, as the kernel counts: 0 to 99 real-time, 100 to 139 by nice", NUMBER("prio", 32, 1) },
	{ WMK_CONTEXT_PREEMPTIBLE, WMK_CONTEXT_KERNEL, "1: the kernel could have been preempted there", NUMBER("preemptible", 8, 0) },
	{ WMK_CONTEXT_INTERRUPTIBLE, WMK_CONTEXT_KERNEL, "1: interrupts were enabled", NUMBER("interruptible", 8, 0) },
	{ WMK_CONTEXT_NEED_RESCHEDULE, WMK_CONTEXT_KERNEL, "1: another thread is to run on the CPU", NUMBER("need_reschedule", 8, 0) },
	{ WMK_CONTEXT_CGROUP_NS, WMK_CONTEXT_KERNEL, "cgroup namespace (inode)", NUMBER("cgroup_ns", 32, 0) },
	{ WMK_CONTEXT_IPC_NS, WMK_CONTEXT_KERNEL, "IPC namespace (inode)", NUMBER("ipc_ns", 32, 0) },
	{ WMK_CONTEXT_MNT_NS, WMK_CONTEXT_KERNEL, "mount namespace (inode)", NUMBER("mnt_ns", 32, 0) },
	{ WMK_CONTEXT_NET_NS, WMK_CONTEXT_KERNEL, "network namespace (inode)", NUMBER("net_ns", 32, 0) },
	{ WMK_CONTEXT_PID_NS, WMK_CONTEXT_KERNEL, "PID namespace (inode)", NUMBER("pid_ns", 32, 0) },
	{ WMK_CONTEXT_TIME_NS, WMK_CONTEXT_KERNEL, "time namespace (inode)", NUMBER("time_ns", 32, 0) },
	{ WMK_CONTEXT_USER_NS, WMK_CONTEXT_KERNEL, "user namespace (inode)", NUMBER("user_ns", 32, 0) },
	{ WMK_CONTEXT_UTS_NS, WMK_CONTEXT_KERNEL, "UTS namespace (inode)", NUMBER("uts_ns", 32, 0) },
};

const struct wmk_ctf_context *wmk_ctf_context_next(unsigned domains, const struct wmk_ctf_context *before)
{
	for (size_t i = before ? (size_t)(before - contexts) + 1 : 0; i < sizeof(contexts) / sizeof(contexts[0]); i++)
		if (contexts[i].domains & domains)
			return &contexts[i];
	return NULL;
}

const struct wmk_ctf_context *wmk_ctf_context(unsigned number)
{
	for (size_t i = 0; i < sizeof(contexts) / sizeof(contexts[0]); i++)
		if (contexts[i].number == number)
			return &contexts[i];
	return NULL;
}

const struct wmk_ctf_context *wmk_ctf_context_find(const char *name)
{
	for (size_t i = 0; i < sizeof(contexts) / sizeof(contexts[0]); i++)
		if (strcmp(contexts[i].field.name, name) == 0)
			return &contexts[i];
	return NULL;
}
