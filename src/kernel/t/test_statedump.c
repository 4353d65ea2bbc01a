/* SPDX-License-Identifier: MIT */
/*
 * test_statedump.c - the state dump of a made-up machine: each expected line exactly once, and no other line.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "dump_rig.h"
#include "tree.h"

struct machine {
	struct tree tree;
	struct dump_rig rig;
	char proc[300], sys[300];
};

#define KTHREAD 0x00200000u

static int setup(void **state)
{
	struct machine *m = calloc(1, sizeof(*m));

	assert_non_null(m);
	tree_make(&m->tree);
	dump_rig_open(&m->rig);
	snprintf(m->proc, sizeof(m->proc), "%s/proc", m->tree.dir);
	snprintf(m->sys, sizeof(m->sys), "%s/sys", m->tree.dir);
	tree_dir(&m->tree, "proc");
	tree_dir(&m->tree, "sys");
	*state = m;
	return 0;
}

static int teardown(void **state)
{
	struct machine *m = *state;

	dump_rig_close(&m->rig);
	tree_remove(&m->tree);
	free(m);
	wmk_error_clear();
	return 0;
}

static void run(struct machine *m, unsigned parts)
{
	assert_int_equal(dump_rig_run(&m->rig, (struct wmk_kstatedump_options){ .proc = m->proc,
										.sys = m->sys,
										.parts = parts }),
			 0);
}

static void one_process(struct machine *m, int pid, const char *name, char letter, unsigned flags)
{
	char base[64], ids[16];
	struct tree_task task = { .tid = pid,
				  .pid = pid,
				  .ppid = 1,
				  .name = name,
				  .state = letter,
				  .flags = flags,
				  .n_threads = 1,
				  .cpu = 3,
				  .prio = 20,
				  .ids = ids,
				  .tgids = ids };

	snprintf(ids, sizeof(ids), "%d", pid);
	snprintf(base, sizeof(base), "proc/%d/task/%d", pid, pid);
	tree_task(&m->tree, base, &task);
}

static void state_dump_has_each_process_once(void **state)
{
	struct machine *m = *state;

	one_process(m, 10, "a) S (b", 'R', 0);
	one_process(m, 11, "new\nline", 'S', 0);
	one_process(m, 12, "kthreadd", 'S', KTHREAD);
	one_process(m, 13, "dead", 'Z', 0);
	one_process(m, 14, "gone", 'X', 0);
	one_process(m, 15, "stopped", 'T', 0);
	one_process(m, 16, "\xff\xfe odd", 'D', 0);
	/* Entries that are not processes. */
	one_process(m, 17, "other", 'S', 0);
	tree_put(&m->tree, "proc/17/task/17/stat", "18 (other) S 1 1 1\n");
	tree_put(&m->tree, "proc/18", "no directory");
	tree_put(&m->tree, "proc/uptime", "1 1");
	tree_dir(&m->tree, "proc/19/task/19");
	tree_dir(&m->tree, "proc/020/task/20");
	tree_dir(&m->tree, "proc/99999999999");
	run(m, WMK_KSTATEDUMP_PROCESSES);
	assert_string_equal(m->rig.lines[0], "start{ } ");
	assert_string_equal(m->rig.lines[m->rig.n - 1], "end{ } ");
	assert_int_equal(m->rig.n, 9);
#define STATE \
	"process_state{ tid=%d pid=%d ppid=1 name=\"%s\" type=%d mode=5 submode=0 status=%d cpu=3 " \
	"file_table_address=%d } "
	dump_rig_once(&m->rig, STATE, 10, 10, "a) S (b", 0, 2, 10);
	dump_rig_once(&m->rig, STATE, 11, 11, "new\nline", 0, 5, 11);
	dump_rig_once(&m->rig, STATE, 12, 12, "kthreadd", 1, 5, 0);
	dump_rig_once(&m->rig, STATE, 13, 13, "dead", 0, 4, 0);
	dump_rig_once(&m->rig, STATE, 14, 14, "gone", 0, 7, 0);
	dump_rig_once(&m->rig, STATE, 15, 15, "stopped", 0, 0, 15);
	dump_rig_once(&m->rig, STATE, 16, 16, "\xff\xfe odd", 0, 5, 16);
	assert_int_equal(m->rig.counts.threads, 7);
	assert_int_equal(m->rig.counts.gone, 3);
	assert_int_equal(m->rig.counts.left_out, 0);
	/* Only some processes. */
	const pid_t pids[] = { 15, 4711, 10 };
	struct wmk_kstatedump_options some = {
		.proc = m->proc, .parts = WMK_KSTATEDUMP_PROCESSES, .pids = pids, .n_pids = 3
	};

	assert_int_equal(dump_rig_run(&m->rig, some), 0);
	assert_int_equal(m->rig.n, 4);
	assert_int_equal(dump_rig_begin(&m->rig, "process_state{ tid=15 "), 1);
	assert_int_equal(dump_rig_begin(&m->rig, "process_state{ tid=10 "), 1);
	some.n_pids = 0;
	assert_int_equal(dump_rig_run(&m->rig, some), 0);
	assert_int_equal(m->rig.n, 2);
}

static void state_dump_has_each_thread_and_its_files_once(void **state)
{
	struct machine *m = *state;
	struct tree_task task = { .tid = 31,
				  .pid = 30,
				  .ppid = 2,
				  .name = "second",
				  .state = 'S',
				  .n_threads = 3,
				  .ids = "31",
				  .tgids = "30" };
	char path[64];

	one_process(m, 30, "first", 'S', 0);
	task.tid = 30;
	tree_task(&m->tree, "proc/30/task/30", &task);
	task.tid = 31;
	tree_task(&m->tree, "proc/30/task/31", &task);
	task.tid = 32;
	tree_task(&m->tree, "proc/30/task/32", &task);
	tree_link(&m->tree, "proc/30/task/30/fd/0", "/dev/null");
	tree_put(&m->tree, "proc/30/task/30/fdinfo/0", "pos:\t0\nflags:\t0100002\nmnt_id:\t24\n");
	tree_link(&m->tree, "proc/30/task/30/fd/7", "/tmp/a b\nc (deleted)");
	tree_put(&m->tree, "proc/30/task/30/fdinfo/7", "pos:\t0\nflags:\t0402100001\nmnt_id:\t24\n");
	tree_link(&m->tree, "proc/30/task/30/fd/8", "socket:[123]");
	tree_put(&m->tree, "proc/30/task/30/fdinfo/8", "pos:\t0\nflags:\t010000000\n");
	tree_link(&m->tree, "proc/30/task/30/fd/9", "closed meanwhile");
	tree_link(&m->tree, "proc/30/task/30/fd/10", "lies");
	tree_put(&m->tree, "proc/30/task/30/fdinfo/10", "flags:\tx\n");
	tree_link(&m->tree, "proc/30/task/31/fd/0", "/not/to/be/shown");
	tree_put(&m->tree, "proc/30/task/30/maps",
		 "00400000-00452000 r-xp 00000000 08:02 173521      /a b/\\012c (deleted)\n"
		 "00651000-00652000 rw-s 00051000 08:02 173521\n7f00-7e00 r-xp 0 0:0 0\n00652000-00653000 r--s "
		 "00000000 00:01 5 /dev/zero (deleted)\n");
	run(m, WMK_KSTATEDUMP_FILES | WMK_KSTATEDUMP_MAPS | WMK_KSTATEDUMP_PROCESSES);
	assert_int_equal(m->rig.n, 11);
	assert_int_equal(dump_rig_begin(&m->rig, "process_state{ tid=3"), 3);
	dump_rig_once(&m->rig, "process_state{ tid=32 pid=30 ppid=2 name=\"second\" type=0 mode=5 submode=0 status=5 "
			       "cpu=0 file_table_address=30 } ");
#define FILE_LINE "file_descriptor{ file_table_address=30 fd=%d flags=%u fmode=%u filename=\"%s\" } "
	dump_rig_once(&m->rig, FILE_LINE, 0, 0100002, 3, "/dev/null");
	dump_rig_once(&m->rig, FILE_LINE, 7, 02100001, 2, "/tmp/a b\nc (deleted)");
	dump_rig_once(&m->rig, FILE_LINE, 8, 010000000, 0x4000, "socket:[123]");
#define MAP_LINE "vm_map{ pid=30 start=%u end=%u flags=%u inode=%u pgoff=%u } "
	dump_rig_once(&m->rig, MAP_LINE, 0x400000, 0x452000, 5, 173521, 0);
	dump_rig_once(&m->rig, MAP_LINE, 0x651000, 0x652000, 0x8b, 173521, 0x51000);
	dump_rig_once(&m->rig, MAP_LINE, 0x652000, 0x653000, 0x81, 5, 0);
	assert_int_equal(m->rig.counts.gone, 3);

	/* The main thread has ended: the next thread has its files and memory. */
	task.tid = 30;
	task.state = 'Z';
	tree_task(&m->tree, "proc/30/task/30", &task);
	for (unsigned tid = 31; tid <= 32; tid++) {
		snprintf(path, sizeof(path), "proc/30/task/%u/maps", tid);
		tree_put(&m->tree, path, "1000-2000 rw-p 0 0:0 0\n");
		snprintf(path, sizeof(path), "proc/30/task/%u/fdinfo/0", tid);
		tree_put(&m->tree, path, "flags:\t0\n");
		snprintf(path, sizeof(path), "proc/30/task/%u/fd/0", tid);
		tree_link(&m->tree, path, "x");
	}
	run(m, WMK_KSTATEDUMP_FILES | WMK_KSTATEDUMP_MAPS);
	assert_int_equal(m->rig.n, 4);
	assert_int_equal(dump_rig_begin(&m->rig, "file_descriptor{ file_table_address=3"), 1);
	assert_int_equal(dump_rig_begin(&m->rig, "vm_map{ pid=30 start=4096 end=8192 flags=3 "), 1);
}

static void state_dump_has_namespaces_of_each_level(void **state)
{
	struct machine *m = *state;
	struct tree_task parent = { .tid = 40, .pid = 40, .ppid = 1, .name = "p", .state = 'S', .n_threads = 1,
				    .ids = "40\t5", .tgids = "40\t5", .inum = 100 };
	struct tree_task task = { .tid = 41, .pid = 41, .ppid = 40, .name = "c", .state = 'S', .n_threads = 1,
				  .ids = "41\t6\t1", .tgids = "41\t6\t1", .inum = 200, .uid = 100007 };

	tree_link(&m->tree, "proc/self", "40");
	tree_task(&m->tree, "proc/40", &parent);
	tree_task(&m->tree, "proc/40/task/40", &parent);
	tree_task(&m->tree, "proc/41/task/41", &task);
	tree_put(&m->tree, "proc/41/task/41/uid_map", "         0     100000      65536\n");
	tree_put(&m->tree, "proc/41/task/41/gid_map",
		 "         5          1          1\n         0     200000      65536\n");
	run(m, WMK_KSTATEDUMP_NAMESPACES);
	/* A made-up link has no ioctl, so outer namespaces are unknown. */
	dump_rig_once(&m->rig, "process_pid_ns{ tid=41 vtid=1 vpid=1 vppid=0 ns_level=2 ns_inum=200 } ");
	dump_rig_once(&m->rig, "process_pid_ns{ tid=41 vtid=6 vpid=6 vppid=5 ns_level=1 ns_inum=0 } ");
	dump_rig_once(&m->rig, "process_pid_ns{ tid=41 vtid=41 vpid=41 vppid=40 ns_level=0 ns_inum=0 } ");
	dump_rig_once(&m->rig, "process_user_ns{ tid=41 vuid=7 vgid=65534 ns_level=0 ns_inum=201 } ");
	dump_rig_once(&m->rig, "process_user_ns{ tid=40 vuid=0 vgid=1 ns_level=0 ns_inum=101 } ");
	dump_rig_once(&m->rig, "process_cgroup_ns{ tid=41 ns_inum=202 } ");
	dump_rig_once(&m->rig, "process_ipc_ns{ tid=41 ns_inum=203 } ");
	dump_rig_once(&m->rig, "process_mnt_ns{ tid=41 ns_inum=204 } ");
	dump_rig_once(&m->rig, "process_net_ns{ tid=41 ns_inum=205 } ");
	dump_rig_once(&m->rig, "process_time_ns{ tid=41 ns_inum=206 } ");
	dump_rig_once(&m->rig, "process_uts_ns{ tid=41 ns_inum=207 } ");
	assert_int_equal(m->rig.n, 2 + 10 + 9);
	assert_int_equal(m->rig.counts.namespaces, m->rig.n - 2);
}

static void state_dump_has_each_interrupt_device_and_cpu_once(void **state)
{
	struct machine *m = *state;

	one_process(m, 50, "irq/24-ahci[0000", 'S', KTHREAD);
	one_process(m, 51, "irq/9-acpi", 'S', 0);                /* a user process with such a name */
	tree_put(&m->tree, "sys/kernel/irq/9/chip_name", "IO-APIC\n");
	tree_put(&m->tree, "sys/kernel/irq/9/actions", "acpi,i801_smbus\n");
	tree_put(&m->tree, "sys/kernel/irq/24/chip_name", "\n");
	tree_put(&m->tree, "sys/kernel/irq/24/actions", "ahci[0000:00:17.0]\n");
	tree_put(&m->tree, "sys/kernel/irq/25/chip_name", "PCI-MSI 0000:01\n");
	tree_put(&m->tree, "sys/kernel/irq/25/actions", "(null)\n");
	tree_put(&m->tree, "sys/kernel/irq/26/chip_name", "unused\n");
	tree_put(&m->tree, "sys/kernel/irq/26/actions", "");
	tree_dir(&m->tree, "sys/kernel/irq/27");
	tree_put(&m->tree, "sys/class/block/sda/dev", "8:0\n");
	tree_put(&m->tree, "sys/class/block/sda/size", "1000\n");
	tree_put(&m->tree, "sys/class/block/sda/hidden", "0\n");
	tree_put(&m->tree, "sys/class/block/cciss!c0d0p1/dev", "104:1048575\n");
	tree_put(&m->tree, "sys/class/block/cciss!c0d0p1/size", "1\n");
	tree_put(&m->tree, "sys/class/block/loop0/dev", "7:0\n");
	tree_put(&m->tree, "sys/class/block/loop0/size", "0\n");
	tree_put(&m->tree, "sys/class/block/nvme0c0n1/dev", "259:1\n");
	tree_put(&m->tree, "sys/class/block/nvme0c0n1/size", "5\n");
	tree_put(&m->tree, "sys/class/block/nvme0c0n1/hidden", "1\n");
	tree_put(&m->tree, "sys/class/block/bad/dev", "259:\n");
	tree_put(&m->tree, "sys/class/block/bad/size", "5\n");
	tree_put(&m->tree, "sys/class/net/up/flags", "0x1003\n");
	tree_put(&m->tree, "sys/class/net/down/flags", "0x1002\n");
	tree_put(&m->tree, "sys/class/net/odd/flags", "1002");
	tree_put(&m->tree, "proc/cpuinfo",
		 "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 26\nmodel\t\t: 2\nmodel name\t: AMD EPYC\n"
		 "physical id\t: 1\ncore id\t\t: 5\ncpu cores\t: 8\nflags\t\t: fpu\npower management:\n\nprocessor\t: "
		 "1\nvendor_id\t:\ncpu family\t: 300\n");
	run(m, WMK_KSTATEDUMP_ALL & ~(WMK_KSTATEDUMP_NAMESPACES | WMK_KSTATEDUMP_MAPS | WMK_KSTATEDUMP_FILES));
	dump_rig_once(&m->rig, "interrupt{ irq=9 name=\"IO-APIC\" action=\"acpi\" tid=0 } ");
	dump_rig_once(&m->rig, "interrupt{ irq=9 name=\"IO-APIC\" action=\"i801_smbus\" tid=0 } ");
	dump_rig_once(&m->rig, "interrupt{ irq=24 name=\"unnamed_irq_chip\" action=\"ahci[0000:00:17.0]\" tid=50 } ");
	dump_rig_once(&m->rig, "interrupt{ irq=25 name=\"PCI-MSI 0000:01\" action=\"\" tid=0 } ");
	assert_int_equal(dump_rig_begin(&m->rig, "interrupt"), 4);
	dump_rig_once(&m->rig, "block_device{ dev=%u diskname=\"sda\" } ", 8u << 20);
	dump_rig_once(&m->rig, "block_device{ dev=%u diskname=\"cciss/c0d0p1\" } ", 104u << 20 | 1048575);
	assert_int_equal(dump_rig_begin(&m->rig, "block_device"), 2);
	dump_rig_once(&m->rig, "network_interface{ name=\"down\" address_ipv4=0 } ");
	assert_int_equal(dump_rig_begin(&m->rig, "network_interface"), 1);
	dump_rig_once(&m->rig, "cpu_topology{ architecture=\"x86\" cpu_id=0 vendor=\"AuthenticAMD\" family=26 model=2 "
		      "model_name=\"AMD EPYC\" physical_id=1 core_id=5 cores=8 } ");
	dump_rig_once(&m->rig, "cpu_topology{ architecture=\"x86\" cpu_id=1 vendor=\"unknown\" family=0 model=0 "
		      "model_name=\"unknown\" physical_id=0 core_id=0 cores=0 } ");
	assert_int_equal(m->rig.counts.devices, 9);
	assert_int_equal(m->rig.counts.gone, 2);
}

static void cpu_without_x86_vendor_is_omitted_from_the_state_dump(void **state)
{
	struct machine *m = *state;

	tree_put(&m->tree, "proc/cpuinfo", "processor\t: 0\nBogoMIPS\t: 50.00\nCPU implementer\t: 0x41\n\n");
	run(m, WMK_KSTATEDUMP_CPUS);
	assert_int_equal(m->rig.n, 2);
}

/* Texts longer than any in the kernel. */
static void long_texts_in_a_state_dump_are_truncated(void **state)
{
	struct machine *m = *state;
	static char text[20000];

	memset(text, 'y', sizeof(text) - 1);
	memcpy(text, "processor : 1\nvendor_id : ", 26);
	tree_put(&m->tree, "proc/cpuinfo", text);
	memset(text, 'z', 6000);
	text[6000] = '\0';
	tree_put(&m->tree, "sys/kernel/irq/9/chip_name", text);
	tree_put(&m->tree, "sys/kernel/irq/9/actions", text);
	run(m, WMK_KSTATEDUMP_CPUS | WMK_KSTATEDUMP_INTERRUPTS);
	assert_int_equal(m->rig.n, 4);
}

static void state_dump_records_above_limits_are_counted(void **state)
{
	struct machine *m = *state;
	struct wmk_kstatedump_options options = { .proc = m->proc,
						  .sys = m->sys,
						  .parts = WMK_KSTATEDUMP_PROCESSES | WMK_KSTATEDUMP_FILES |
							   WMK_KSTATEDUMP_MAPS,
						  .max_threads = 3,
						  .max_files = 2,
						  .max_maps = 1 };
	char path[64];

	for (int pid = 60; pid < 65; pid++)
		one_process(m, pid, "p", 'S', 0);
	for (int fd = 0; fd < 5; fd++) {
		snprintf(path, sizeof(path), "proc/60/task/60/fd/%d", fd);
		tree_link(&m->tree, path, "x");
		snprintf(path, sizeof(path), "proc/60/task/60/fdinfo/%d", fd);
		tree_put(&m->tree, path, "flags:\t0\n");
	}
	tree_put(&m->tree, "proc/60/task/60/maps",
		 "1000-2000 rw-p 0 0:0 0\n2000-3000 rw-p 0 0:0 0\n3000-4000 rw-p 0 0:0 0\n");
	assert_int_equal(dump_rig_run(&m->rig, options), 0);
	assert_int_equal(m->rig.counts.threads, 3);
	assert_int_equal(dump_rig_begin(&m->rig, "process_state"), 3);
	options.max_threads = 0;
	assert_int_equal(dump_rig_run(&m->rig, options), 0);
	assert_int_equal(m->rig.counts.threads, 5);
	assert_int_equal(m->rig.counts.files, 2);
	assert_int_equal(m->rig.counts.maps, 1);
	assert_int_equal(m->rig.counts.left_out, 3 + 2);
	/* Each record may be refused; no record follows. */
	const size_t all = m->rig.n;

	for (size_t i = 1; i <= all; i++) {
		m->rig.refuse_at = i;
		assert_int_equal(dump_rig_run(&m->rig, options), 77);
		assert_int_equal(m->rig.n, i);
	}
}

static void state_dump_counts_missing_parts_and_refuses_missing_proc(void **state)
{
	struct machine *m = *state;

	run(m, WMK_KSTATEDUMP_ALL);
	assert_int_equal(m->rig.n, 2);
	assert_int_equal(m->rig.counts.gone, 4);
	assert_int_equal(dump_rig_run(&m->rig, (struct wmk_kstatedump_options){ .proc = "/nowhere",
										.parts = WMK_KSTATEDUMP_ALL }),
			 -ENOENT);
	assert_non_null(strstr(wmk_error_get(0), "/nowhere"));
	assert_int_equal(dump_rig_run(&m->rig, (struct wmk_kstatedump_options){ .proc = m->proc,
										.sys = "/nowhere",
										.parts = WMK_KSTATEDUMP_ALL }),
			 0);
	assert_int_equal(m->rig.n, 2);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(state_dump_has_each_process_once),
		T(state_dump_has_each_thread_and_its_files_once),
		T(state_dump_has_namespaces_of_each_level),
		T(state_dump_has_each_interrupt_device_and_cpu_once),
		T(cpu_without_x86_vendor_is_omitted_from_the_state_dump),
		T(long_texts_in_a_state_dump_are_truncated),
		T(state_dump_records_above_limits_are_counted),
		T(state_dump_counts_missing_parts_and_refuses_missing_proc),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
