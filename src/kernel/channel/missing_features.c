/* SPDX-License-Identifier: MIT */
/*
 * missing_features.c - tests which features the kernel lacks, and describes them (see missing_features.h).
 */
#include "kernel/channel/missing_features.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "kernel/syscall/syscall_bpf.h"
#include "kernel/tracefs/cpu_buffer.h"
#include "kernel/tracefs/instance.h"
#include "kernel/proc/namespaces.h"

#define BTF "/sys/kernel/btf/vmlinux"
#define SMALL_BYTES 65536u           /* buffer size of an instance that receives no records */
/* an event of each kernel that has events of system calls */
#define A_CALL "events/syscalls/sys_enter_exit_group/enable"
#define A_FUNCTION "schedule"
#define A_SUBBUF_KIB "8"              /* larger than a page, except on machines with large pages */

/*
 * `lack`: which feature does not work; `absent`: the reason if the kernel lacks the feature; `file`: the file that was
 * tried.
 */
static const struct {
	const char *lack, *absent, *file;
} rows[WMK_KFEATURES] = {
	[WMK_KFEATURE_SYSCALLS] = { "system calls have no events", "it is built without CONFIG_FTRACE_SYSCALLS",
				    "events/syscalls" },
	[WMK_KFEATURE_KPROBES] = { "the kernel's functions cannot be probed",
				   "it is built without CONFIG_KPROBE_EVENTS", "kprobe_events" },
	[WMK_KFEATURE_UPROBES] = { "programs cannot be probed", "it is built without CONFIG_UPROBE_EVENTS",
				   "uprobe_events" },
	[WMK_KFEATURE_FUNCTIONS] = { "there is no function tracer",
				     "it is built without CONFIG_FUNCTION_TRACER or CONFIG_DYNAMIC_FTRACE",
				     "current_tracer" },
	[WMK_KFEATURE_SUBBUFS] = { "its sub-buffers have the size of a page", "other sizes came with Linux 6.8",
				   "buffer_subbuf_size_kb" },
	[WMK_KFEATURE_MAPPING] = { "its buffers are copied, not mapped: if the consumer daemon is killed, records that "
				   "were read but not written are lost",
				   "mapping came with Linux 6.10", "trace_pipe_raw" },
	[WMK_KFEATURE_TYPES] = { "parameters of its functions are not known by name",
				 "it is built without CONFIG_DEBUG_INFO_BTF", BTF },
};

/* ── tests ───────────────────────────────────────────────────────────────────────────────────────────── */

/* Opens the file as for use, but without O_TRUNC, which would remove the probes of all users. */
static int try_open(int dir, const char *file, int flags)
{
	int fd = openat(dir, file, flags | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

static int try_write(int dir, const char *file, const char *text)
{
	int err = wmk_tracefs_write(dir, file, text, false);

	wmk_error_clear();
	return err;
}

/* Traces one function only. To trace all functions, the kernel would patch its code in tens of thousands of places. */
static int try_functions(int instance)
{
	int err = try_write(instance, "set_ftrace_filter", A_FUNCTION);

	if (err < 0)
		return err;
	err = try_write(instance, "current_tracer", "function");
	return err < 0 ? err : try_write(instance, "current_tracer", "nop");
}

void wmk_kmissing_try_files(int root, int instance, const char *btf, struct wmk_kmissing *lacks)
{
	lacks->err[WMK_KFEATURE_KPROBES] = try_open(root, "kprobe_events", O_WRONLY | O_APPEND);
	lacks->err[WMK_KFEATURE_UPROBES] = try_open(root, "uprobe_events", O_WRONLY | O_APPEND);
	lacks->err[WMK_KFEATURE_TYPES] = try_open(AT_FDCWD, btf, O_RDONLY);
	if (instance < 0)
		return;
	lacks->err[WMK_KFEATURE_SYSCALLS] = try_open(instance, A_CALL, O_WRONLY);
	lacks->err[WMK_KFEATURE_FUNCTIONS] = try_functions(instance);
	lacks->err[WMK_KFEATURE_SUBBUFS] = try_write(instance, "buffer_subbuf_size_kb", A_SUBBUF_KIB);
}

/* If the instance has no files of the current CPU (-ENOENT), mapping counts as available. */
static int try_mapping(int instance)
{
	const int cpu = sched_getcpu();
	struct wmk_kcpu *buffer;
	int err = wmk_kcpu_open(instance, cpu < 0 ? 0 : (unsigned)cpu, WMK_KCPU_MAP, &buffer);

	if (err == 0)
		wmk_kcpu_close(buffer);
	wmk_error_clear();
	return err == -ENOENT ? 0 : err;
}

static int try_arguments(enum wmk_clock_kind clock, char *words, size_t size)
{
	const struct wmk_syscalls_options options = {
		.n_rings = 1, .ring_bytes = 4096, .processes = 1, .clock = clock,
	};
	struct wmk_syscalls *calls;
	int err = wmk_syscalls_open(&options, &calls);

	if (err == 0)
		wmk_syscalls_close(calls);
	else
		wmk_error_text(words, size);
	wmk_error_clear();
	return err;
}

int wmk_kmissing_find(const struct wmk_tracefs *tracefs, const char *instance_name, enum wmk_clock_kind clock,
		      bool arguments, struct wmk_kmissing *lacks)
{
	const struct wmk_kinstance_options options = { .clock = clock, .cpu_bytes = SMALL_BYTES, .subbuf_bytes = 0 };
	int instance = -1;

	*lacks = (struct wmk_kmissing){ .err = { 0 } };
	/* remove an instance of that name that a crashed process left */
	int err = wmk_kinstance_remove(tracefs, instance_name);

	if (err < 0)
		return err;
	err = wmk_kspaces_check();
	if (err == 0)
		err = wmk_kinstance_make(tracefs, instance_name, &options, &instance);
	lacks->err[WMK_KFEATURE_INSTANCE] = err;
	if (err < 0)
		wmk_error_text(lacks->instance, sizeof(lacks->instance));
	wmk_error_clear();
	wmk_kmissing_try_files(tracefs->dir, instance, BTF, lacks);
	if (instance >= 0) {
		lacks->err[WMK_KFEATURE_MAPPING] = try_mapping(instance);
		close(instance);
		if (wmk_kinstance_remove(tracefs, instance_name) < 0)
			wmk_error_clear();       /* the owner's next cleanup removes it */
	}
	if (arguments)
		lacks->err[WMK_KFEATURE_ARGUMENTS] = try_arguments(clock, lacks->arguments, sizeof(lacks->arguments));
	return 0;
}

/* ── descriptions ────────────────────────────────────────────────────────────────────────────────────── */

/*
 * Returns true if the kernel lacks the feature, false if the kernel has the feature and refuses its use. (-EINVAL,
 * -ENODEV: no such tracer or size.)
 */
static bool is_absent(int err)
{
	return err == -ENOENT || err == -EINVAL || err == -ENODEV || err == -ENOTSUP || err == -ENOTTY;
}

bool wmk_kmissing_text(const struct wmk_kmissing *lacks, enum wmk_kfeature which, char *words, size_t size)
{
	const int err = lacks->err[which];
	const bool is_refused = err == -EPERM || err == -EACCES;

	if (err == 0)
		return false;
	if (which == WMK_KFEATURE_INSTANCE)
		snprintf(words, size, "it cannot be traced: %s", lacks->instance);
	else if (which == WMK_KFEATURE_ARGUMENTS)
		snprintf(words, size, "%s", lacks->arguments);
	else if (is_absent(err))
		snprintf(words, size, "%s: %s", rows[which].lack, rows[which].absent);
	else
		snprintf(words, size, "%s: %s %s (%s)%s", rows[which].lack, rows[which].file,
			 is_refused ? "is refused" : "cannot be used", strerror(-err),
			 is_refused ? ", by lockdown, a container or a security module" : "");
	return true;
}
