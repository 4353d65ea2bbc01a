/* SPDX-License-Identifier: MIT */
/*
 * statedump.h - the kernel state dump: the state of the machine before the first record. The dump has processes and
 * threads with their namespaces, open files and mappings. The dump also has interrupts, network interfaces, block
 * devices and CPUs. The source is /proc and /sys. The output is event records `lttng_statedump_*` with the names and
 * fields of lttng-modules 2.13, so that existing analyses can use the records.
 *
 *     wmk_kstatedump_classes[WMK_KSTATEDUMP_...]        constant event classes, for the metadata
 *     wmk_kstatedump(&options, record, data)            calls `record` once for each event record
 *
 * The payload of a record is packed, with the fields of the record's event class. Two values are not visible outside
 * the kernel. Instead of an address, `file_table_address` has the number of a thread of the process. The dump usually
 * takes the first thread that uses the file table. The dump stores only two file tables of each process. A
 * `file_table_address` of 0 means no file table, or a kernel thread. `fmode` and the `flags` of a mapping have only the
 * bits that /proc shows. Task numbers belong to the PID namespace of the /proc that is read. To read the state of other
 * processes, this process needs the right to trace them (ptrace). Without the right to trace a process, the dump counts
 * the objects of that process in `denied`.
 *
 * The dump keeps no state and needs constant memory: 30 kB, and the buffers of readdir(). Any thread. The dump is not a
 * snapshot of one moment: files are read one after the other. Records of the running trace show tasks that begin or end
 * during the dump.
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

/* Parts of the dump. The records `start` and `end` are always written. */
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
	/* records of each kind; devices: interrupts, interfaces, disks, CPUs */
	uint64_t processes, threads, namespaces, files, maps, devices;
	uint64_t gone;             /* disappeared or changed between listing and reading */
	/* objects that are not readable: a file, the mappings or a namespace of a process, or a part of the machine */
	uint64_t denied;
	uint64_t left_out;         /* above a limit */
};

struct wmk_kstatedump_options {
	/*
	 * The root directories of the two trees; NULL: "/proc", "/sys". If a root is NULL, system calls add data that
	 * the files of this root lack: addresses of interfaces, and which threads share a file table.
	 */
	const char *proc, *sys;
	unsigned parts;
	const pid_t *pids;         /* only these processes, each once; NULL: all */
	size_t n_pids;
	uint64_t (*clock)(void *data);
	void *clock_data;
	uint32_t max_threads;      /* of all processes; 0: the kernel's maximum */
	uint32_t max_files, max_maps;          /* of one process; 0: a million */
	struct wmk_kstatedump_counts *counts;  /* or NULL */
};

/*
 * Run one dump. Payloads are valid during the call of `record`. If `record` returns a value other than 0, the dump ends
 * and returns this value. Returns 0, or -errno with a cause chain: the root of /proc cannot be opened, or no descriptor
 * or memory is free.
 */
int wmk_kstatedump(const struct wmk_kstatedump_options *options,
		   int (*record)(void *data, unsigned event, uint64_t ts, const void *payload, size_t len), void *data);

#endif
