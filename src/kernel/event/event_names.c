/* SPDX-License-Identifier: MIT */
/*
 * event_names.c - the table of names (see event_names.h). tests/cases/t_kernel_names.py compares it with the headers of
 * lttng-modules.
 */
#include "kernel/event/event_names.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/*
 * A kernel name may contain one `*`; a `*` in the name in the trace stands for the same characters. The first row of
 * the table that matches an event applies. Fields are separated by spaces:
 *
 *     pid=tid      another name                      vec#       without labels
 *     prio-100     subtracts 100                     rwbs|      letters as bits
 *     nr!          left out                          +tid       adds the current thread as a field
 *     +processes   adds the processes of parent_pid and child_pid, which are threads in the kernel
 */
struct row {
	const char *system, *kernel;
	const char *name;              /* in the trace; NULL: the same */
	const char *fields;
};

static const struct row rows[] = {
	{ "syscalls", "sys_enter_clone", "syscall_entry_clone",
	  "__syscall_nr! parent_tidptr=parent_tid child_tidptr=child_tid" },
	{ "syscalls", "sys_enter_mmap", "syscall_entry_mmap", "__syscall_nr! off=offset" },
	{ "syscalls", "sys_enter_setns", "syscall_entry_setns", "__syscall_nr! flags=nstype" },
	{ "syscalls", "sys_enter_vmsplice", "syscall_entry_vmsplice", "__syscall_nr! uiov=iov" },
	{ "syscalls", "sys_enter_*", "syscall_entry_*", "__syscall_nr!" },
	{ "syscalls", "sys_exit_*", "syscall_exit_*", "__syscall_nr!" },

	/*
	 * Priorities: the kernel numbers real-time priorities from 0 to 99, and lttng-modules numbers them from -100 to
	 * -1.
	 */
	{ "sched", "sched_switch", NULL, "prev_pid=prev_tid prev_prio-100 next_pid=next_tid next_prio-100" },
	{ "sched", "sched_pi_setprio", NULL, "pid=tid oldprio-100 newprio-100" },
	{ "sched", "sched_process_fork", NULL, "parent_pid=parent_tid child_pid=child_tid "
	  "parent_process=parent_pid child_process=child_pid +processes" },
	{ "sched", "sched_process_exec", NULL, "pid=tid old_pid=old_tid" },
	{ "sched", "sched_kthread_stop", NULL, "pid=tid" },
	{ "sched", "sched_stat_*", NULL, "pid=tid" },
	{ "sched", "sched_wak*", NULL, "pid=tid prio-100" },
	{ "sched", "sched_migrate_task", NULL, "pid=tid prio-100" },
	{ "sched", "sched_process_free", NULL, "pid=tid prio-100" },
	{ "sched", "sched_process_exit", NULL, "pid=tid prio-100" },
	{ "sched", "sched_process_wait", NULL, "pid=tid prio-100" },
	{ "sched", "sched_wait_task", NULL, "pid=tid prio-100" },

	{ "irq", "softirq_*", "irq_softirq_*", "vec#" },
	{ "irq_vectors", "x86_platform_ipi_*", "x86_irq_vectors_ipi_*", "" },
	{ "irq_vectors", "*_entry", "x86_irq_vectors_*_entry", "" },
	{ "irq_vectors", "*_exit", "x86_irq_vectors_*_exit", "" },
	{ "exceptions", "page_fault_*", "x86_exceptions_page_fault_*", "" },

	{ "timer", "hrtimer_init", "timer_hrtimer_init", "clockid# mode#" },
	{ "timer", "hrtimer_start", "timer_hrtimer_start", "mode#" },
	{ "timer", "hrtimer_cancel", "timer_hrtimer_cancel", "" },
	{ "timer", "hrtimer_expire_*", "timer_hrtimer_expire_*", "" },
	{ "timer", "itimer_*", "timer_itimer_*", "" },

	{ "block", "block_rq_insert", NULL, "rwbs| +tid" },
	{ "block", "block_rq_issue", NULL, "rwbs| +tid" },
	{ "block", "block_rq_merge", NULL, "rwbs| +tid" },
	{ "block", "block_bio_bounce", NULL, "rwbs| +tid" },
	{ "block", "block_bio_*merge", NULL, "rwbs| +tid" },
	{ "block", "block_bio_queue", NULL, "rwbs| +tid" },
	{ "block", "block_getrq", NULL, "rwbs| +tid" },
	{ "block", "block_split", NULL, "rwbs| +tid" },
	{ "block", "block_plug", NULL, "+tid" },
	{ "block", "block_unplug", NULL, "+tid" },
	{ "block", "block_*", NULL, "rwbs|" },

	{ "net", "netif_*", "net_if_*", "" },
	{ "net", "napi_gro_*", "net_napi_gro_*", "" },
	{ "skb", "kfree_skb", "skb_kfree", "" },
	{ "skb", "consume_skb", "skb_consume", "" },
	{ "sock", "sock_exceed_buf_limit", NULL, "kind#" },
	{ "udp", "udp_fail_queue_rcv_skb", NULL, "sport=lport" },

	{ "power", "cpu_idle", "power_cpu_idle", "" },
	{ "power", "cpu_frequency", "power_cpu_frequency", "" },
	{ "power", "machine_suspend", "power_machine_suspend", "" },
	{ "power", "wakeup_source_*", "power_wakeup_source_*", "" },
	{ "power", "clock_*", "power_clock_*", "" },

	{ "kmem", "kmalloc", "kmem_kmalloc", "" },
	{ "kmem", "kmalloc_node", "kmem_kmalloc_node", "" },
	{ "kmem", "kfree", "kmem_kfree", "" },
	{ "kmem", "mm_page_*", "kmem_mm_page_*", "" },
	{ "compaction", "mm_compaction_isolate_migratepages", "compaction_isolate_migratepages", "" },
	{ "compaction", "mm_compaction_isolate_freepages", "compaction_isolate_freepages", "" },
	{ "compaction", "mm_compaction_migratepages", "compaction_migratepages", "" },
	{ "vmscan", "mm_shrink_slab_*", "mm_vmscan_shrink_slab_*", "" },
	{ "vmscan", "mm_vmscan_lru_isolate", NULL, "highest_zoneidx=classzone_idx lru#" },
	{ "vmscan", "mm_vmscan_lru_shrink_inactive", NULL,
	  "nr_activate0=nr_activate_anon nr_activate1=nr_activate_file" },
	{ "writeback", "wbc_writepage", "writeback_wbc_writepage", "" },
	{ "writeback", "global_dirty_state", "writeback_global_dirty_state", "" },
	{ "writeback", "bdi_dirty_ratelimit", "writeback_bdi_dirty_ratelimit", "" },
	{ "writeback", "balance_dirty_pages", "writeback_balance_dirty_pages",
	  "wb_setpoint=bdi_setpoint wb_dirty=bdi_dirty" },

	{ "printk", "console", "printk_console", "" },
	{ "random", "*", "random_*", "" },
	{ "regmap", "regcache_sync", "regmap_regcache_sync", "" },
	{ "asoc", "snd_soc_*", "asoc_snd_soc_*", "" },
	{ "jbd", "journal_write_superblock", "jbd_journal_write_superblock", "" },

	{ "btrfs", "__extent_writepage", "btrfs__extent_writepage", "" },
	{ "btrfs", "add_delayed_*", "btrfs_add_delayed_*", "action# parent# ref_root# type#" },
	{ "btrfs", "run_delayed_*", "btrfs_run_delayed_*", "action# parent# ref_root# type#" },
	{ "btrfs", "find_free_extent", "btrfs_find_free_extent", "" },
	{ "btrfs", "alloc_extent_state", "btrfs_alloc_extent_state", "" },
	{ "btrfs", "free_extent_state", "btrfs_free_extent_state", "" },
	{ "btrfs", "btrfs_*", NULL, "root_objectid#" },
	{ "ext4", "ext4_mballoc_alloc", NULL, "cr#" },
	{ "ext4", "ext4_fallocate_enter", NULL, "offset=pos" },
	{ "ext4", "ext4_punch_hole", NULL, "offset=pos" },
	{ "ext4", "ext4_zero_range", NULL, "offset=pos" },

	{ "kvmmmu", "mark_mmio_spte", "kvm_mmu_mark_mmio_spte", "" },
	{ "kvmmmu", "handle_mmio_page_fault", "kvm_mmu_handle_mmio_page_fault", "" },
	{ "kvmmmu", "fast_page_fault", "kvm_mmu_fast_page_fault", "" },
	{ "kvm", "kvm_userspace_exit", NULL, "reason#" },
	{ "kvm", "kvm_mmio", NULL, "type#" },
	{ "kvm", "kvm_fpu", NULL, "load#" },
	{ "kvm", "kvm_entry", "kvm_x86_entry", "" },
	{ "kvm", "kvm_exit", "kvm_x86_exit", "exit_reason#" },
	{ "kvm", "kvm_hypercall", "kvm_x86_hypercall", "" },
	{ "kvm", "kvm_hv_hypercall", "kvm_x86_hv_hypercall", "" },
	{ "kvm", "kvm_pio", "kvm_x86_pio", "" },
	{ "kvm", "kvm_cpuid", "kvm_x86_cpuid", "" },
	{ "kvm", "kvm_apic", "kvm_x86_apic", "reg#" },
	{ "kvm", "kvm_apic_ipi", "kvm_x86_apic_ipi", "" },
	{ "kvm", "kvm_apic_accept_irq", "kvm_x86_apic_accept_irq", "" },
	{ "kvm", "kvm_inj_virq", "kvm_x86_inj_virq", "vector=irq" },
	{ "kvm", "kvm_inj_exception", "kvm_x86_inj_exception", "exception# error_code#" },
	{ "kvm", "kvm_page_fault", "kvm_x86_page_fault", "" },
	{ "kvm", "kvm_msr", "kvm_x86_msr", "" },
	{ "kvm", "kvm_cr", "kvm_x86_cr", "" },
	{ "kvm", "kvm_pic_set_irq", "kvm_x86_pic_set_irq", "" },
	{ "kvm", "kvm_eoi", "kvm_x86_eoi", "" },
	{ "kvm", "kvm_pv_eoi", "kvm_x86_pv_eoi", "" },
	{ "kvm", "kvm_nested_vmexit", "kvm_x86_nested_vmexit",
	  "exit_reason=exit_code# guest_rip=rip info1=exit_info1 info2=exit_info2 intr_info=exit_int_info "
	  "error_code=exit_int_info_err" },
	{ "kvm", "kvm_nested_vmexit_inject", "kvm_x86_nested_vmexit_inject", "exit_code#" },
	{ "kvm", "kvm_nested_vmrun", "kvm_x86_nested_vmrun", "" },
	{ "kvm", "kvm_nested_intercepts", "kvm_x86_nested_intercepts", "" },
	{ "kvm", "kvm_nested_intr_vmexit", "kvm_x86_nested_intr_vmexit", "" },
	{ "kvm", "kvm_invlpga", "kvm_x86_invlpga", "" },
	{ "kvm", "kvm_skinit", "kvm_x86_skinit", "" },
	{ "kvm", "kvm_emulate_insn", "kvm_x86_emulate_insn", "flags#" },
	{ "kvm", "kvm_write_tsc_offset", "kvm_x86_write_tsc_offset", "" },
	{ "kvm", "vcpu_match_mmio", "kvm_x86_vcpu_match_mmio", "" },
};

/* Returns whether `name` matches `pattern`; *middle and *len are the characters of `name` at the `*` of the pattern. */
static bool fits(const char *pattern, const char *name, const char **middle, size_t *len)
{
	const char *star = strchr(pattern, '*');
	const size_t all = strlen(name);

	*middle = name;
	*len = 0;
	if (!star)
		return strcmp(pattern, name) == 0;
	const size_t before = (size_t)(star - pattern), behind = strlen(star + 1);

	if (all < before + behind || memcmp(name, pattern, before) != 0 || strcmp(name + all - behind, star + 1) != 0)
		return false;
	*middle = name + before;
	*len = all - before - behind;
	return true;
}

/* Writes `pattern` with `middle` in the place of the `*`. */
static bool fill(const char *pattern, const char *middle, size_t len, char name[WMK_NAME_MAX + 1])
{
	const char *star = strchr(pattern, '*');
	const size_t before = star ? (size_t)(star - pattern) : strlen(pattern);
	const int n = snprintf(name, WMK_NAME_MAX + 1, "%.*s%.*s%s", (int)before, pattern, star ? (int)len : 0, middle,
			       star ? star + 1 : "");

	return n > 0 && n <= WMK_NAME_MAX;
}

static const struct row *row_of(const char *system, const char *kernel_name, const char **middle, size_t *len)
{
	for (size_t i = 0; i < WMK_ARRAY_LEN(rows); i++)
		if (strcmp(rows[i].system, system) == 0 && fits(rows[i].kernel, kernel_name, middle, len))
			return &rows[i];
	return NULL;
}

bool wmk_kname_event(const char *system, const char *kernel_name, char name[WMK_NAME_MAX + 1])
{
	const char *middle;
	size_t len;
	const struct row *row = strlen(kernel_name) <= WMK_NAME_MAX ? row_of(system, kernel_name, &middle, &len) : NULL;

	if (row && row->name)
		return fill(row->name, middle, len, name);
	return snprintf(name, WMK_NAME_MAX + 1, "%s", kernel_name) <= WMK_NAME_MAX;
}

/* Returns the rule after the field's name: "=tid", "#", "-100", ...; *len: its length. NULL: no rule for this field. */
static const char *rule_of(const char *fields, const char *field, size_t *len)
{
	const size_t name_len = strlen(field);

	while (*fields) {
		*len = strcspn(fields, " ");
		if (*len > name_len && memcmp(fields, field, name_len) == 0 && strchr("=#|!-", fields[name_len])) {
			*len -= name_len;
			return fields + name_len;
		}
		fields += *len;
		fields += strspn(fields, " ");
	}
	return NULL;
}

void wmk_kname_field(const char *system, const char *kernel_name, const char *field, struct wmk_kfield_rule *rule)
{
	const char *middle, *words;
	size_t len;
	const struct row *row = row_of(system, kernel_name, &middle, &len);

	*rule = (struct wmk_kfield_rule){ .how = WMK_KHOW_PLAIN };
	snprintf(rule->name, sizeof(rule->name), "%s", field);
	words = row ? rule_of(row->fields, field, &len) : NULL;
	if (!words)
		return;
	if (*words == '=') {
		const size_t name_len = strcspn(++words, " #|!-");

		snprintf(rule->name, sizeof(rule->name), "%.*s", (int)name_len, words);
		words += name_len;
	}
	if (*words == '#')
		rule->how = WMK_KHOW_NUMBER;
	else if (*words == '|')
		rule->how = WMK_KHOW_RWBS;
	else if (*words == '!')
		rule->how = WMK_KHOW_DROPPED;
	else if (*words == '-')
		rule->how = WMK_KHOW_ADD;
	rule->add = rule->how == WMK_KHOW_ADD ? (int)strtol(words, NULL, 10) : 0;
}

static bool has_mark(const char *system, const char *kernel_name, const char *mark)
{
	const char *middle;
	size_t len;
	const struct row *row = row_of(system, kernel_name, &middle, &len);

	return row && strstr(row->fields, mark);
}

bool wmk_kname_has_tid(const char *system, const char *kernel_name)
{
	return has_mark(system, kernel_name, "+tid");
}

bool wmk_kname_has_processes(const char *system, const char *kernel_name)
{
	return has_mark(system, kernel_name, "+processes");
}

bool wmk_kname_matches(const char *pattern, const char *system, const char *kernel_name)
{
	char name[WMK_NAME_MAX + 1], full[WMK_FULL_NAME];

	if (fnmatch(pattern, kernel_name, 0) == 0)
		return true;
	snprintf(full, sizeof(full), "%.*s:%.*s", WMK_NAME_MAX, system, WMK_NAME_MAX, kernel_name);
	if (fnmatch(pattern, full, 0) == 0)
		return true;
	if (!wmk_kname_event(system, kernel_name, name))
		return false;
	snprintf(full, sizeof(full), "%.*s:%s", WMK_NAME_MAX, system, name);
	return fnmatch(pattern, name, 0) == 0 || fnmatch(pattern, full, 0) == 0;
}

/* ── operations on block devices ─────────────────────────────────────────────────────────────────────── */

const struct wmk_label wmk_krwbs_labels[WMK_KRWBS_LABELS] = {
	{ "RWBS_FLAG_WRITE", 1, 1 },   { "RWBS_FLAG_DISCARD", 2, 2 },        { "RWBS_FLAG_READ", 4, 4 },
	{ "RWBS_FLAG_RAHEAD", 8, 8 },  { "RWBS_FLAG_BARRIER", 16, 16 },      { "RWBS_FLAG_SYNC", 32, 32 },
	{ "RWBS_FLAG_META", 64, 64 },  { "RWBS_FLAG_SECURE", 128, 128 },     { "RWBS_FLAG_FLUSH", 256, 256 },
	{ "RWBS_FLAG_FUA", 512, 512 }, { "RWBS_FLAG_PREFLUSH", 1024, 1024 },
};

/*
 * Converts letters such as "FWFS" to bits. The letters are: an optional F (flush); the operation W, D, DE, R, N or F
 * (flush); then any of F (write-through to the disk), A (read-ahead), S and M.
 */
unsigned wmk_krwbs_bits(const char *letters, size_t len)
{
	unsigned bits = 0;
	bool has_operation = false;

	len = strnlen(letters, len);
	for (size_t i = 0; i < len; i++) {
		switch (letters[i]) {
		case 'W': bits |= 1; break;
		case 'D': bits |= 2; break;
		case 'E': bits |= 128; break;
		case 'R': bits |= 4; break;
		case 'A': bits |= 8; break;
		case 'S': bits |= 32; break;
		case 'M': bits |= 64; break;
		case 'F':
			bits |= has_operation                                              ? 512
				: i == 0 && i + 1 < len && strchr("WDRFN", letters[i + 1]) ? 1024
											   : 256;
			break;
		default: break;
		}
		has_operation = has_operation || strchr("WDRN", letters[i]) || (letters[i] == 'F' && bits & 256);
	}
	return bits;
}
