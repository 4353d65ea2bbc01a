/* SPDX-License-Identifier: MIT */
/*
 * statedump.h - what was there before the first record: processes and threads, their namespaces, open files and memory;
 * interrupts, network interfaces, block devices, CPUs. From /proc and /sys, as records of the events
 * `lttng_statedump_*`, names and fields as lttng-modules 2.13 has them, so that analyses made for it find their state.
 *
 *     wmk_kstatedump_classes[WMK_KSTATEDUMP_...]        constant event classes, for the metadata
 *     wmk_kstatedump(&options, record, data)            goes through it all: one call of `record` each, payload as the class says, packed
 *
 * Two pieces of a kernel's memory cannot be seen from outside. What lttng-modules calls `file_table_address` is the
 * number of the first thread that has this table of files, which tells tables apart as well; 0: none. `fmode` and a
 * mapping's `flags` are the bits that /proc shows. Numbers of tasks are those of the PID namespace whose /proc it is.
 * What a process may be seen of is a matter of rights (ptrace): see counts.
 *
 * Nothing is kept, and memory is constant: 30 kB and the kernel's own buffers of directories. Any thread; the files are
 * read as they are met, so it is no snapshot: who comes or goes meanwhile is told by the events that are recorded at
 * the same time.
 */
#ifndef WMK_KERNEL_STATEDUMP_H
#define WMK_KERNEL_STATEDUMP_H

#include <stdint.h>
#include <sys/types.h>

#include "schema/schema.h"

enum wmk_kstatedump_event {
	WMK_KSTATEDUMP_START,
	WMK_KSTATEDUMP_END,
	WMK_KSTATEDUMP_PROCESS_STATE,
	WMK_KSTATEDUMP_PID_NS,
	WMK_KSTATEDUMP_USER_NS,
	WMK_KSTATEDUMP_CGROUP_NS,
	WMK_KSTATEDUMP_IPC_NS,
	WMK_KSTATEDUMP_MNT_NS,
	WMK_KSTATEDUMP_NET_NS,
	WMK_KSTATEDUMP_TIME_NS,
	WMK_KSTATEDUMP_UTS_NS,
	WMK_KSTATEDUMP_FILE_DESCRIPTOR,
	WMK_KSTATEDUMP_VM_MAP,
	WMK_KSTATEDUMP_INTERRUPT,
	WMK_KSTATEDUMP_NETWORK_INTERFACE,
	WMK_KSTATEDUMP_BLOCK_DEVICE,
	WMK_KSTATEDUMP_CPU_TOPOLOGY,
	WMK_KSTATEDUMP_EVENTS
};

/* Provider "". */
extern const struct wmk_event_class wmk_kstatedump_classes[WMK_KSTATEDUMP_EVENTS];

#define WMK_KSTATEDUMP_PAYLOAD_MAX 4352u   /* bytes of one payload: a path, and numbers */

/* Parts; start and end are always there. */
enum {
	WMK_KSTATEDUMP_PROCESSES = 1,
	WMK_KSTATEDUMP_NAMESPACES = 2,
	WMK_KSTATEDUMP_FILES = 4,
	WMK_KSTATEDUMP_MAPS = 8,
	WMK_KSTATEDUMP_INTERRUPTS = 16,
	WMK_KSTATEDUMP_NETWORK = 32,
	WMK_KSTATEDUMP_BLOCK = 64,
	WMK_KSTATEDUMP_CPUS = 128,
	WMK_KSTATEDUMP_ALL = 255
};

struct wmk_kstatedump_counts {
	/* records of each; devices: interrupts, interfaces, disks, CPUs */
	uint64_t processes, threads, namespaces, files, maps, devices;
	uint64_t gone;             /* went away, or was no longer what its directory said, while it was looked at */
	/* may not be seen: each file, the memory, a namespace of a process; a part of the machine */
	uint64_t denied;
	uint64_t left_out;         /* above a limit */
};

struct wmk_kstatedump_options {
	/* Other trees than the machine's own, NULL: "/proc", "/sys". What only system calls tell (addresses of interfaces, tables of files that
	 * threads share) is asked for where they are NULL. */
	const char *proc, *sys;
	unsigned parts;
	const pid_t *pids;         /* these processes alone, each once; NULL: all */
	size_t n_pids;
	uint64_t (*clock)(void *data);
	void *clock_data;
	uint32_t max_threads;      /* of all processes; 0: as many as a kernel can have */
	uint32_t max_files, max_maps;          /* of one process; 0: a million */
	struct wmk_kstatedump_counts *counts;  /* or NULL */
};

/*
 * Payloads are valid during the call. A value other than 0 from `record` ends the dump and is returned. 0; -errno with
 * a cause chain: a tree cannot be opened at all, or there are no descriptors or no memory left.
 */
int wmk_kstatedump(const struct wmk_kstatedump_options *options,
		   int (*record)(void *data, unsigned event, uint64_t ts, const void *payload, size_t len), void *data);

#endif
