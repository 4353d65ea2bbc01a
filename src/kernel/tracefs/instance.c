/* SPDX-License-Identifier: MIT */
/*
 * instance.c - tracefs instances: created completely or not at all; removed also after a crash of the owner.
 */
#include "kernel/tracefs/instance.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "kernel/proc/namespaces.h"
#include "kernel/proc/procfs.h"

#define PREFIX "waymark-"
#define WAKE_PERCENT 25u             /* the kernel wakes readers when this percentage of a buffer is filled */
#define KIB 1024u
#define CLOCKS 256u                  /* bytes of trace_clock, which lists all clocks */

/* ── owners and names ────────────────────────────────────────────────────────────────────────────────── */

/*
 * Return the start time of a process, in ticks of the initial time namespace; 0: the process does not exist or is
 * hidden.
 */
static uint64_t began(pid_t pid)
{
	struct wmk_kproc_stat stat;

	return wmk_kproc_stat_of(pid, &stat) == 0 && stat.start ? wmk_kspaces_start_time(stat.start) : 0;
}

int wmk_kinstance_owner_dir(int dir, char owner[WMK_KINSTANCE_OWNER])
{
	struct stat st;

	if (fstat(dir, &st) < 0)
		return wmk_error(-errno, "cannot get the device and inode of the runtime directory");
	snprintf(owner, WMK_KINSTANCE_OWNER, "d%" PRIx64 ".%" PRIu64, (uint64_t)st.st_dev, (uint64_t)st.st_ino);
	return 0;
}

void wmk_kinstance_owner_self(char owner[WMK_KINSTANCE_OWNER])
{
	snprintf(owner, WMK_KINSTANCE_OWNER, "p%d.%" PRIu64, (int)getpid(), began(getpid()));
}

int wmk_kinstance_name(const char *owner, const char *session, const char *channel, char name[WMK_KINSTANCE_NAME])
{
	if (snprintf(name, WMK_KINSTANCE_NAME, PREFIX "%s-%s-%s", owner, session, channel) >= (int)WMK_KINSTANCE_NAME)
		return wmk_errorx(
			-ENAMETOOLONG,
			"the names of session and channel have %zu bytes together: the kernel allows at most %zu",
			strlen(session) + strlen(channel), WMK_KINSTANCE_NAME - sizeof(PREFIX) - strlen(owner) - 2);
	return 0;
}

bool wmk_kinstance_owner_has_ended(int pid, uint64_t ticks)
{
	uint64_t now;

	/* In a nested PID namespace, other processes are not visible. */
	if (pid <= 0 || !wmk_kspaces_is_first_pid())
		return false;
	now = began(pid);
	/* The offset of a time namespace may be a fraction of a tick. */
	return now == 0 || (ticks != 0 && now + 1 != ticks && now != ticks && now != ticks + 1);
}

/* Return whether the instance belongs to a process that has ended. */
static bool is_orphan(const char *name)
{
	uint64_t ticks;
	int pid;

	return sscanf(name, PREFIX "p%d.%" SCNu64 "-", &pid, &ticks) == 2 && wmk_kinstance_owner_has_ended(pid, ticks);
}

/* ── creation ────────────────────────────────────────────────────────────────────────────────────────── */

const char *wmk_kinstance_clock(enum wmk_clock_kind kind)
{
#if defined(__x86_64__)
	if (kind == WMK_CLOCK_COUNTER)
		return "x86-tsc";
#endif
	return kind == WMK_CLOCK_MONOTONIC ? "mono" : NULL;
}

bool wmk_kinstance_has_clock(const struct wmk_tracefs *tracefs, enum wmk_clock_kind kind)
{
	const char *clock = wmk_kinstance_clock(kind);
	char text[CLOCKS];

	return clock && wmk_kproc_read(tracefs->dir, "trace_clock", text, sizeof(text)) > 0 && strstr(text, clock);
}

int wmk_kinstance_clock_check(const struct wmk_tracefs *tracefs, enum wmk_clock_kind kind)
{
	if (kind == WMK_CLOCK_PLUGIN)
		return wmk_errorx(-ENOTSUP, "kernel events cannot be recorded with the clock of a plug-in");
	if (wmk_kinstance_has_clock(tracefs, kind))
		return 0;
	return wmk_errorx(-ENOTSUP,
			  kind == WMK_CLOCK_COUNTER ? "the kernel of this machine does not offer the clock 'counter' "
						      "(%s/trace_clock): create the session with --clock=monotonic"
						    : "the kernel does not offer the clock 'mono' (%s/trace_clock)",
			  tracefs->path);
}

static int set_clock(int instance, enum wmk_clock_kind kind)
{
	const char *clock = wmk_kinstance_clock(kind);
	int err = wmk_tracefs_write(instance, "trace_clock", clock, false);

	return err < 0 ? wmk_error_add(err, "cannot set the kernel's trace clock to '%s'", clock) : 0;
}

/* Larger sub-buffers cost less, but the kernel limits their size (before Linux 6.8: one page). */
static void set_subbuf(int instance, uint64_t bytes)
{
	for (uint64_t kib = bytes / KIB; kib >= 8; kib /= 2) {
		if (wmk_tracefs_write_number(instance, "buffer_subbuf_size_kb", kib) == 0)
			return;
		wmk_error_clear();
	}
}

int wmk_kinstance_buffers(int instance, bool overwrite, uint64_t cpu_bytes)
{
	int err = wmk_tracefs_write(instance, "options/overwrite", overwrite ? "1" : "0", false);

	if (err == 0) {
		err = wmk_tracefs_write_number(instance, "buffer_size_kb", (cpu_bytes + KIB - 1) / KIB);
		if (err < 0)
			return wmk_error_add(err, "the kernel cannot allocate buffers of %" PRIu64 " kB on each CPU",
					     cpu_bytes / KIB);
	}
	if (err == 0 && wmk_kinstance_wake(instance, false) < 0)
		wmk_error_clear();
	return err;
}

int wmk_kinstance_wake(int instance, bool first)
{
	/* Older kernels lack the file buffer_percent, and always wake readers for the first record. */
	return wmk_tracefs_has(instance, "buffer_percent")
		       ? wmk_tracefs_write_number(instance, "buffer_percent", first ? 0 : WAKE_PERCENT)
		       : 0;
}

static int set_up(int instance, const struct wmk_kinstance_options *options)
{
	int err = wmk_tracefs_write(instance, "tracing_on", "0", false);

	if (err == 0)
		err = set_clock(instance, options->clock);
	if (err < 0)
		return err;
	set_subbuf(instance, options->subbuf_bytes);
	return wmk_kinstance_buffers(instance, options->overwrite, options->cpu_bytes);
}

int wmk_kinstance_make(const struct wmk_tracefs *tracefs, const char *name, const struct wmk_kinstance_options *options,
		       int *instance)
{
	int err = wmk_kinstance_clock_check(tracefs, options->clock);

	if (err == 0)
		err = wmk_tracefs_instance_make(tracefs, name, instance);
	if (err < 0)
		return err;
	err = set_up(*instance, options);
	if (err < 0) {
		struct wmk_error_chain *why = wmk_error_take();

		close(*instance);
		*instance = -1;
		wmk_tracefs_instance_remove(tracefs, name);
		wmk_error_give(why);
	}
	return err;
}

int wmk_kinstance_switch(int instance, bool on)
{
	return wmk_tracefs_write(instance, "tracing_on", on ? "1" : "0", false);
}

unsigned wmk_kinstance_cpus(int instance)
{
	const int fd = openat(instance, "per_cpu", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	unsigned cpu, n = 0;
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (sscanf(entry->d_name, "cpu%u", &cpu) == 1 && cpu < WMK_KINSTANCE_CPUS_MAX && cpu >= n)
			n = cpu + 1;
	if (dir)
		closedir(dir);
	else if (fd >= 0)
		close(fd);
	if (n == 0)
		wmk_error(-EIO, "a tracefs instance has no per-CPU buffers");
	return n;
}

bool wmk_kinstance_is_counter(int instance)
{
	char text[CLOCKS];

	return wmk_kproc_read(instance, "trace_clock", text, sizeof(text)) > 0 && strstr(text, "[x86-tsc]");
}

bool wmk_kinstance_has_option(int instance, const char *name)
{
	char path[64], text[8];

	snprintf(path, sizeof(path), "options/%s", name);
	return wmk_kproc_read(instance, path, text, sizeof(text)) > 0 && *text == '1';
}

uint64_t wmk_kinstance_now(int instance)
{
	return wmk_kinstance_is_counter(instance) ? wmk_clock_counter() : wmk_kspaces_monotonic();
}

static int event_path(const char *system, const char *name, const char *file, char *path, size_t size)
{
	if (!*system || !*name || *system == '.' || *name == '.' || strchr(system, '/') || strchr(name, '/') ||
	    snprintf(path, size, "events/%s/%s/%s", system, name, file) >= (int)size)
		return wmk_error(-EINVAL, "'%.60s:%.60s' is not a valid event name", system, name);
	return 0;
}

int wmk_kinstance_event(int instance, const char *system, const char *name, bool on)
{
	char path[300];
	int err = event_path(system, name, "enable", path, sizeof(path));

	if (err == 0)
		err = wmk_tracefs_write(instance, path, on ? "1" : "0", false);
	return err < 0 ? wmk_error_add(err, "cannot %s the kernel's event %.60s:%.60s", on ? "enable" : "disable",
				       system, name)
		       : 0;
}

int wmk_kinstance_events_off(int instance)
{
	return wmk_tracefs_write(instance, "events/enable", "0", false);
}

int wmk_kinstance_filter(int instance, const char *system, const char *name, const char *filter)
{
	char path[300], words[160];
	int err = event_path(system, name, "filter", path, sizeof(path));

	if (err == 0)
		err = wmk_tracefs_write(instance, path, filter ? filter : "0", false);
	if (err == -EINVAL) {
		wmk_tracefs_last_error(instance, words, sizeof(words));
		err = wmk_errorx(err, "the kernel rejects the filter '%.50s' for %.40s: %.60s", filter, name,
				 words);
	}
	return err;
}

/* ── threads ─────────────────────────────────────────────────────────────────────────────────────────── */

static int write_tids(int instance, const char *file, const int32_t *tids, unsigned n)
{
	char text[16];
	int err = wmk_tracefs_write(instance, file, "", false);

	for (unsigned i = 0; i < n && err == 0; i++) {
		snprintf(text, sizeof(text), "%d", (int)tids[i]);
		err = wmk_tracefs_write(instance, file, text, true);
		/* The thread has ended in the meantime, and makes no more events. */
		if (err == -ESRCH || err == -EINVAL)
			err = (wmk_error_clear(), 0);
	}
	return err;
}

int wmk_kinstance_pids(int instance, const int32_t *tids, unsigned n)
{
	int err = wmk_tracefs_write(instance, "options/event-fork", n ? "1" : "0", false);

	return err < 0 ? err : write_tids(instance, "set_event_pid", tids, n);
}

int wmk_kinstance_without(int instance, const int32_t *tids, unsigned n)
{
	return write_tids(instance, "set_event_notrace_pid", tids, n);
}

/* ── removal ─────────────────────────────────────────────────────────────────────────────────────────── */

int wmk_kinstance_remove(const struct wmk_tracefs *tracefs, const char *name)
{
	int instance, err = wmk_tracefs_instance_open(tracefs, name, &instance);

	if (err == -ENOENT) {
		wmk_error_clear();
		return 0;
	}
	if (err < 0)
		return err;
	if (wmk_kinstance_switch(instance, false) < 0 || wmk_kinstance_events_off(instance) < 0)
		wmk_error_clear();
	close(instance);
	return wmk_tracefs_instance_remove(tracefs, name);
}

struct sweep {
	const struct wmk_tracefs *tracefs;
	char prefix[WMK_KINSTANCE_OWNER + 16];
	bool (*keep)(void *data, const char *name);
	void *data;
	int left;
};

static int sweep_one(void *data, const char *name)
{
	struct sweep *sweep = data;
	bool ours = strncmp(name, sweep->prefix, strlen(sweep->prefix)) == 0;

	if (ours && sweep->keep && sweep->keep(sweep->data, name))
		return 0;
	if (!ours && !is_orphan(name))
		return 0;
	/*
	 * If the PID namespace of this process is unknown, is_orphan() can be wrong: the owner may run in another
	 * container. wmk_tracefs_instance_remove() therefore stops no recording, and fails if the instance is in use.
	 */
	if ((ours ? wmk_kinstance_remove : wmk_tracefs_instance_remove)(sweep->tracefs, name) < 0) {
		wmk_error_clear();
		sweep->left++;
	}
	return 0;
}

int wmk_kinstance_sweep(const struct wmk_tracefs *tracefs, const char *owner,
			bool (*keep)(void *data, const char *name), void *data)
{
	struct sweep sweep = { .tracefs = tracefs, .keep = keep, .data = data };

	snprintf(sweep.prefix, sizeof(sweep.prefix), PREFIX "%s-", owner);
	int err = wmk_tracefs_each(tracefs->dir, "instances", sweep_one, &sweep);

	return err < 0 ? err : sweep.left;
}
