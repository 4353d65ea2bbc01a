// SPDX-License-Identifier: MIT
/*
 * syscalls.bpf.c - runs in the kernel at entry and exit of each system call. The programs write the arguments of the
 * system call as a record to the CPU's ring, with the memory that the arguments point to.
 *
 * syscall_bpf.c writes `config` (syscall_record.h), which selects system calls and copies. The programs read user
 * memory without faults. If a page is missing, the part is marked as unreadable. The programs count each record that
 * does not fit into a ring, so that recorded + lost = made.
 *
 * Kernel structures are declared here with the members that are used; libbpf adapts their offsets to the running kernel
 * (CO-RE). Programs of kind tp_btf dereference kernel pointers directly, without a helper function.
 */
#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "copy.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

#define KERNEL __attribute__((preserve_access_index))
#define CLONE_THREAD 0x00010000u

typedef struct {
	int counter;
} KERNEL atomic_t;

struct signal_struct {
	atomic_t live;
} KERNEL;

struct thread_info {
	unsigned long flags;
	__u32 status;
} KERNEL;

struct task_struct {
	struct thread_info thread_info;
	int pid, tgid, exit_code;
	struct signal_struct *signal;
} KERNEL;

#if defined(__TARGET_ARCH_x86)
struct pt_regs {
	unsigned long bx, cx, dx, si, di, bp, r8, r9, r10, orig_ax;
} KERNEL;

#define IS_COMPAT(task) ((task)->thread_info.status & 2)   /* TS_COMPAT: also set for int $0x80 in a 64-bit program */
#define NUMBER(regs) ((long)(int)(regs)->orig_ax)

static __always_inline void arguments(struct pt_regs *regs, int compat, __u64 *to)
{
	if (compat) {
		to[0] = (__u32)regs->bx;
		to[1] = (__u32)regs->cx;
		to[2] = (__u32)regs->dx;
		to[3] = (__u32)regs->si;
		to[4] = (__u32)regs->di;
		to[5] = (__u32)regs->bp;
	} else {
		to[0] = regs->di;
		to[1] = regs->si;
		to[2] = regs->dx;
		to[3] = regs->r10;
		to[4] = regs->r8;
		to[5] = regs->r9;
	}
}
#elif defined(__TARGET_ARCH_arm64)
struct pt_regs {
	__u64 regs[31];
	__u64 orig_x0;
	__s32 syscallno;
} KERNEL;

#define IS_COMPAT(task) ((task)->thread_info.flags >> 22 & 1)   /* TIF_32BIT */
#define NUMBER(regs) ((long)(regs)->syscallno)

static __always_inline void arguments(struct pt_regs *regs, int compat, __u64 *to)
{
	(void)compat;
	to[0] = regs->orig_x0;
	to[1] = regs->regs[1];
	to[2] = regs->regs[2];
	to[3] = regs->regs[3];
	to[4] = regs->regs[4];
	to[5] = regs->regs[5];
}
#else
#error "unsupported architecture: the registers of system call arguments are not defined"
#endif

/* ── records ─────────────────────────────────────────────────────────────────────────────────────────── */

static __always_inline int is_followed(__u32 pid)
{
	for (unsigned i = 0; i < WMK_SYSCALLS_EXCLUDED; i++)
		if (config.excluded[i] == pid)
			return 0;
	return config.is_all || bpf_map_lookup_elem(&pids, &pid);
}

/* Returns whether this system call of this process is to be recorded. */
static __always_inline int is_wanted(const struct task_struct *task, __u32 index, int abi)
{
	const __u32 pid = task->tgid;

	/*
	 * Without the mask below, the verifier rejects the access to the array. The barrier prevents the compiler from
	 * removing the mask as redundant.
	 */
	__asm__ __volatile__("" : "+r"(index));
	index &= WMK_SYSCALLS_NUMBERS - 1;
	if (!(config.wanted[abi][index / 64] >> (index % 64) & 1))
		return 0;
	return is_followed(pid);
}

/*
 * Returns the index of a system call number in the tables. One comparison is enough, because a negative number is a
 * large unsigned number.
 */
static __always_inline __u32 index_of(long number)
{
	return (unsigned long)number < WMK_SYSCALLS_NUMBERS ? number : WMK_SYSCALLS_OTHER;
}

/* Returns the size of a record in a ring, header included, in bytes. */
static __always_inline __u64 whole_size(__u64 size)
{
	return (size + BPF_RINGBUF_HDR_SZ + 7) & ~(__u64)7;
}

/*
 * Wakes the reader if this record makes the ring cross a multiple of the wake-up threshold. `before`: unread bytes
 * before the record. If several CPUs write to one ring, `before` contains the records of other CPUs. If several CPUs
 * write to one ring, the ring may therefore cross a multiple of the threshold without a wake. A reader that waits for
 * the first record sets the threshold 0. With the threshold 0, each record wakes the reader, because CPUs that share a
 * ring cannot determine which record is the first. The reader changes the threshold after a wake.
 */
static __always_inline __u64 wake_flags(__u64 before, __u64 size)
{
	const __u64 at = config.wake_at;

	return at == 0 || before / at != (before + whole_size(size)) / at ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP;
}

/* Submits a reserved record: the unread bytes of the ring already include this record. */
static __always_inline void submit(void *ring, void *record, __u64 size)
{
	bpf_ringbuf_submit(record, wake_flags(bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) - whole_size(size), size));
}

static __always_inline void *ring_of(__u32 cpu)
{
	return bpf_map_lookup_elem(&rings, &cpu);
}

static __always_inline struct scratch *scratch_of(__u32 slot)
{
	return bpf_map_lookup_elem(&scratches, &slot);
}

static __always_inline void fill_head(struct wmk_syscalls_head *head, const struct task_struct *task, __u32 number,
				      __u32 cpu, __u8 flags, __u8 n_values)
{
	head->time = bpf_ktime_get_ns();
	head->pid = task->tgid;
	head->tid = task->pid;
	head->number = number;
	head->cpu = cpu;
	head->flags = flags;
	head->n_values = n_values;
	head->n_parts = 0;
	head->reserved = 0;
}

struct short_entry {
	struct wmk_syscalls_head head;
	__u64 values[WMK_SYSCALLS_ARGS];
};

struct other_entry {
	struct short_entry entry;
	__u64 number;
};

struct short_exit {
	struct wmk_syscalls_head head;
	__u64 values[1];
};

static __always_inline int has_parts(const struct wmk_syscalls_copy *copies)
{
	return copies[0].op != WMK_SYSCALLS_NOTHING;
}

/* Entry or exit of a system call. */
struct call {
	const struct task_struct *task;
	__u32 number, cpu;
	int abi;
	struct wmk_syscalls_counts *count;
	const struct wmk_syscalls_copy *copies;
};

/* Fills *call and returns whether the system call is to be recorded. `slot` selects entry or exit. */
static __always_inline int begin_call(struct call *call, __u32 number, __u32 slot)
{
	const struct task_struct *task = bpf_get_current_task_btf();
	const int abi = IS_COMPAT(task) ? 1 : 0;
	const struct wmk_syscalls_plan *plan = &config.plans[abi][number & (WMK_SYSCALLS_NUMBERS - 1)];

	if (!is_wanted(task, number, abi))
		return 0;
	*call = (struct call){ .task = task, .number = number, .abi = abi };
	call->count = bpf_map_lookup_elem(&counts, &slot);
	call->cpu = bpf_get_smp_processor_id();
	call->copies = slot == WMK_SYSCALLS_SLOT_ENTRY ? plan->at_entry : plan->at_exit;
	return call->count != NULL;
}

static __always_inline void count_call(const struct call *call, int is_sent)
{
	if (is_sent)
		call->count->recorded++;
	else
		call->count->lost++;
}

/*
 * Appends the parts to the record in the scratch buffer and copies the record to the ring. Returns whether the ring had
 * space.
 */
static __always_inline int send_long(struct scratch *scratch, __u32 slot, const struct call *call, __u64 at, __u32 late)
{
	const struct wmk_syscalls_copy *copies = call->copies;
	struct wmk_syscalls_head *head = (struct wmk_syscalls_head *)scratch->record;
	void *ring = ring_of(call->cpu);
	/* a failed system call has written no results */
	const int is_whole = slot == WMK_SYSCALLS_SLOT_ENTRY || (long)scratch->ret >= 0;

	for (__u32 i = 0; is_whole && i < WMK_SYSCALLS_PARTS && copies[i].op != WMK_SYSCALLS_NOTHING; i++) {
		const __u64 end = (__u64)copy_part(slot, call->abi, call->number, i, at) & 0x3fff;

		if (end == at)
			break;
		at = end;
		head->n_parts++;
	}
	for (__u32 i = 0; late && i < WMK_SYSCALLS_PARTS && head->n_parts < WMK_SYSCALLS_PARTS; i++) {
		const __u64 end =
			late >> i & 1
				? (__u64)copy_part(slot, call->abi, call->number, WMK_SYSCALLS_PARTS + i, at) & 0x3fff
				: at;

		if (end != at)
			head->n_parts++;
		at = end;
	}
	if (!ring || at > PARTS_END)
		return 0;
	return bpf_ringbuf_output(ring, scratch->record, at,
				  wake_flags(bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA), at)) == 0;
}

static __always_inline void remember_late(const struct task_struct *task, __u32 number, __u8 abi, __u8 parts)
{
	const struct late late = { .number = number, .abi = abi, .parts = parts };
	const __u32 tid = task->pid;

	if (bpf_map_update_elem(&lates, &tid, &late, BPF_NOEXIST) == 0)
		__sync_fetch_and_add(&n_late, 1);
}

static __always_inline void forget_late(__u32 tid)
{
	if (bpf_map_delete_elem(&lates, &tid) == 0)
		__sync_fetch_and_add(&n_late, -1);
}

/*
 * Returns the parts of this system call that the exit record retries, one bit each, and removes the thread's entry from
 * `lates`.
 */
static __always_inline __u32 recall_late(const struct task_struct *task, __u32 number, int abi)
{
	const __u32 tid = task->pid;
	const struct late *late = bpf_map_lookup_elem(&lates, &tid);
	__u32 parts;

	if (!late)
		return 0;
	parts = late->number == number && late->abi == abi ? late->parts : 0;
	forget_late(tid);
	return parts;
}

static __always_inline int send_other(struct pt_regs *regs, const struct call *call, __u8 flags, long number)
{
	void *ring = ring_of(call->cpu);
	struct other_entry *record = ring ? bpf_ringbuf_reserve(ring, sizeof(*record), 0) : NULL;

	if (!record)
		return 0;
	fill_head(&record->entry.head, call->task, WMK_SYSCALLS_OTHER, call->cpu, flags, WMK_SYSCALLS_ARGS + 1);
	arguments(regs, call->abi, record->entry.values);
	record->number = number;
	submit(ring, record, sizeof(*record));
	return 1;
}

SEC("tp_btf/sys_enter")
int BPF_PROG(wmk_enter, struct pt_regs *regs, long nr)
{
	const __u32 slot = WMK_SYSCALLS_SLOT_ENTRY, number = index_of(nr);
	struct call call;
	int is_sent = 0;

	if (!begin_call(&call, number, slot))
		return 0;
	const __u8 flags = call.abi ? WMK_SYSCALLS_IS_COMPAT : 0;

	if (number == WMK_SYSCALLS_OTHER) {
		is_sent = send_other(regs, &call, flags, nr);
	} else if (has_parts(call.copies)) {
		struct scratch *scratch = scratch_of(slot);

		if (scratch) {
			struct short_entry *begin = (struct short_entry *)scratch->record;

			fill_head(&begin->head, call.task, number, call.cpu, flags, WMK_SYSCALLS_ARGS);
			arguments(regs, call.abi, scratch->args);
			__builtin_memcpy(begin->values, scratch->args, sizeof(begin->values));
			scratch->late = 0;
			is_sent = send_long(scratch, slot, &call, sizeof(*begin), 0);
			if (scratch->late)
				remember_late(call.task, number, call.abi, scratch->late);
		}
	} else {
		void *ring = ring_of(call.cpu);
		struct short_entry *record = ring ? bpf_ringbuf_reserve(ring, sizeof(*record), 0) : NULL;

		if (record) {
			fill_head(&record->head, call.task, number, call.cpu, flags, WMK_SYSCALLS_ARGS);
			arguments(regs, call.abi, record->values);
			submit(ring, record, sizeof(*record));
			is_sent = 1;
		}
	}
	count_call(&call, is_sent);
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(wmk_exit, struct pt_regs *regs, long ret)
{
	const __u32 slot = WMK_SYSCALLS_SLOT_EXIT, number = index_of(NUMBER(regs));
	struct call call;
	__u32 late = 0;
	int is_sent = 0;

	if (!begin_call(&call, number, slot))
		return 0;
	const __u8 flags = WMK_SYSCALLS_IS_EXIT | (call.abi ? WMK_SYSCALLS_IS_COMPAT : 0);

	if (n_late)
		late = recall_late(call.task, number, call.abi);
	if (late || (has_parts(call.copies) && ret >= 0)) {
		struct scratch *scratch = scratch_of(slot);

		if (scratch) {
			struct short_exit *begin = (struct short_exit *)scratch->record;

			fill_head(&begin->head, call.task, number, call.cpu, flags, 1);
			arguments(regs, call.abi, scratch->args);
			scratch->ret = ret;
			begin->values[0] = ret;
			is_sent = send_long(scratch, slot, &call, sizeof(*begin), late);
		}
	} else {
		void *ring = ring_of(call.cpu);
		struct short_exit *record = ring ? bpf_ringbuf_reserve(ring, sizeof(*record), 0) : NULL;

		if (record) {
			fill_head(&record->head, call.task, number, call.cpu, flags, 1);
			record->values[0] = ret;
			submit(ring, record, sizeof(*record));
			is_sent = 1;
		}
	}
	count_call(&call, is_sent);
	return 0;
}

/* ── signals and exits ───────────────────────────────────────────────────────────────────────────────── */

/*
 * For a signal, the values hold the beginning of the kernel's siginfo; for an exit, the first value is the exit status.
 */
struct short_signal {
	struct wmk_syscalls_head head;
	__u64 values[WMK_SYSCALLS_ARGS];
};

static __always_inline void send_task(const struct task_struct *task, __u8 flags, const void *from, __u32 n_values)
{
	const __u32 cpu = bpf_get_smp_processor_id();
	void *ring = ring_of(cpu);
	__u32 slot = WMK_SYSCALLS_SLOT_TASK;
	struct wmk_syscalls_counts *count = bpf_map_lookup_elem(&counts, &slot);
	struct short_signal *record = ring ? bpf_ringbuf_reserve(ring, sizeof(*record), 0) : NULL;

	if (record) {
		fill_head(&record->head, task, 0, cpu, flags, n_values);
		__builtin_memset(record->values, 0, sizeof(record->values));
		bpf_probe_read_kernel(record->values, n_values * sizeof(__u64), from);
		submit(ring, record, sizeof(*record));
	}
	if (count && record)
		count->recorded++;
	else if (count)
		count->lost++;
}

SEC("tp_btf/signal_deliver")
int BPF_PROG(wmk_signal, int number, const void *info)
{
	struct task_struct *task = bpf_get_current_task_btf();

	/* SEND_SIG_NOINFO and SEND_SIG_PRIV (0, 1) are not pointers: no siginfo exists. */
	if ((__u64)info > 1 && is_followed(task->tgid))
		send_task(task, WMK_SYSCALLS_IS_SIGNAL, info, WMK_SYSCALLS_ARGS);
	return 0;
}

/* ── children ────────────────────────────────────────────────────────────────────────────────────────── */

/* Runs before the child runs. */
SEC("tp_btf/task_newtask")
int BPF_PROG(wmk_newtask, struct task_struct *child, __u64 clone_flags)
{
	const __u32 parent_pid = bpf_get_current_task_btf()->tgid, pid = child->tgid;
	__u32 slot = WMK_SYSCALLS_SLOT_TASK;
	struct wmk_syscalls_counts *count;
	__u8 one = 1;

	if ((clone_flags & CLONE_THREAD) || !bpf_map_lookup_elem(&pids, &parent_pid))
		return 0;
	if (bpf_map_update_elem(&pids, &pid, &one, BPF_ANY) != 0) {
		count = bpf_map_lookup_elem(&counts, &slot);
		if (count)
			count->unfollowed++;
	}
	return 0;
}

/*
 * The process number is free for reuse only after the last thread has run this program. `live` becomes 0 once all
 * threads have begun to exit, but some of these threads may not have run this program yet. If the exit of each thread
 * is recorded, the process stays in the map until wmk_task_free().
 */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(wmk_task_exit, struct task_struct *task)
{
	const __u32 pid = task->tgid;

	if (n_late)
		forget_late(task->pid);
	if (config.is_told && is_followed(pid)) {
		const __u64 status = (__u32)task->exit_code;

		send_task(task, WMK_SYSCALLS_IS_END, &status, 1);
	}
	if (!config.is_all && !config.is_told && !config.is_kept && task->signal->live.counter == 0)
		bpf_map_delete_elem(&pids, &pid);
	return 0;
}

/* The whole process has ended, because the kernel frees the first thread of a process last. */
SEC("tp_btf/sched_process_free")
int BPF_PROG(wmk_task_free, struct task_struct *task)
{
	const __u32 pid = task->tgid;

	if (task->pid == task->tgid)
		bpf_map_delete_elem(&pids, &pid);
	return 0;
}
