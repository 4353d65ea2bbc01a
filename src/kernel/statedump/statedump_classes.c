/* SPDX-License-Identifier: MIT */
/*
 * statedump_classes.c - event classes of the state dump: names and fields of lttng-modules 2.13 (see statedump.h).
 */
#include "kernel/statedump/statedump.h"

#include "base/array.h"

#define NUMBER(name_, width_, signed_, base_) \
	{ .name = name_, .type = { .kind = WMK_TYPE_INT, .width = width_, .is_signed = signed_, .base = base_ } }
#define I32(name) NUMBER(name, 32, 1, 10)
#define U8(name) NUMBER(name, 8, 0, 10)
#define U16(name) NUMBER(name, 16, 0, 10)
#define U32(name) NUMBER(name, 32, 0, 10)
#define U64(name) NUMBER(name, 64, 0, 10)
#define HEX32(name) NUMBER(name, 32, 0, 16)
#define HEX64(name) NUMBER(name, 64, 0, 16)
#define TEXT(name_) { .name = name_, .type = { .kind = WMK_TYPE_STRING } }

static const struct wmk_type byte = { .kind = WMK_TYPE_INT, .width = 8, .is_signed = 1, .base = 10 };

static const struct wmk_field process_state[] = {
	I32("tid"),
	I32("pid"),
	I32("ppid"),
	{ .name = "name", .type = { .kind = WMK_TYPE_ARRAY, .is_text = 1, .count = 16, .elem = &byte } },
	I32("type"),
	I32("mode"),
	I32("submode"),
	I32("status"),
	U32("cpu"),
	HEX64("file_table_address"),
};
static const struct wmk_field pid_ns[] = { I32("tid"),   I32("vtid"),     I32("vpid"),
					   I32("vppid"), I32("ns_level"), U32("ns_inum") };
static const struct wmk_field user_ns[] = { I32("tid"), U32("vuid"), U32("vgid"), I32("ns_level"), U32("ns_inum") };
static const struct wmk_field other_ns[] = { I32("tid"), U32("ns_inum") };
static const struct wmk_field file_descriptor[] = { HEX64("file_table_address"), I32("fd"), NUMBER("flags", 32, 0, 8),
						    HEX32("fmode"), TEXT("filename") };
static const struct wmk_field vm_map[] = { I32("pid"),     HEX64("start"), HEX64("end"),
					   HEX64("flags"), U64("inode"),   U64("pgoff") };
static const struct wmk_field interrupt[] = { U32("irq"), TEXT("name"), TEXT("action"), I32("tid") };
static const struct wmk_field network_interface[] = {
	TEXT("name"),
	{ .name = "address_ipv4", .type = { .kind = WMK_TYPE_INT, .width = 32, .order = WMK_ORDER_BIG, .base = 16 } },
};
static const struct wmk_field block_device[] = { U32("dev"), TEXT("diskname") };
static const struct wmk_field cpu_topology[] = {
	TEXT("architecture"), U16("cpu_id"), TEXT("vendor"), U8("family"), U8("model"), TEXT("model_name"),
	U16("physical_id"), U16("core_id"), U16("cores"),
};

#define EMPTY(name_) { .provider = "", .name = "lttng_statedump_" name_, .level = WAYMARK_LEVEL_DEBUG }
#define CLASS(name_, fields_) \
	{ .provider = "", .name = "lttng_statedump_" name_, .level = WAYMARK_LEVEL_DEBUG, .fields = fields_, \
	  .n_fields = WMK_ARRAY_LEN(fields_) }

const struct wmk_event_class wmk_kstatedump_classes[WMK_KSTATEDUMP_EVENTS] = {
	[WMK_KSTATEDUMP_START] = EMPTY("start"),
	[WMK_KSTATEDUMP_END] = EMPTY("end"),
	[WMK_KSTATEDUMP_PROCESS_STATE] = CLASS("process_state", process_state),
	[WMK_KSTATEDUMP_PID_NS] = CLASS("process_pid_ns", pid_ns),
	[WMK_KSTATEDUMP_USER_NS] = CLASS("process_user_ns", user_ns),
	[WMK_KSTATEDUMP_CGROUP_NS] = CLASS("process_cgroup_ns", other_ns),
	[WMK_KSTATEDUMP_IPC_NS] = CLASS("process_ipc_ns", other_ns),
	[WMK_KSTATEDUMP_MNT_NS] = CLASS("process_mnt_ns", other_ns),
	[WMK_KSTATEDUMP_NET_NS] = CLASS("process_net_ns", other_ns),
	[WMK_KSTATEDUMP_TIME_NS] = CLASS("process_time_ns", other_ns),
	[WMK_KSTATEDUMP_UTS_NS] = CLASS("process_uts_ns", other_ns),
	[WMK_KSTATEDUMP_FILE_DESCRIPTOR] = CLASS("file_descriptor", file_descriptor),
	[WMK_KSTATEDUMP_VM_MAP] = CLASS("vm_map", vm_map),
	[WMK_KSTATEDUMP_INTERRUPT] = CLASS("interrupt", interrupt),
	[WMK_KSTATEDUMP_NETWORK_INTERFACE] = CLASS("network_interface", network_interface),
	[WMK_KSTATEDUMP_BLOCK_DEVICE] = CLASS("block_device", block_device),
	[WMK_KSTATEDUMP_CPU_TOPOLOGY] = CLASS("cpu_topology", cpu_topology),
};
