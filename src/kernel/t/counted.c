/* SPDX-License-Identifier: MIT */
/* counted.c - see counted.h. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "counted.h"

#define TRACEFS "/sys/kernel/tracing"
#define PREFIX "wmkt-pages-"
#define MAGIC UINT64_C(0x77616d6b6b657261)

struct board {
	_Atomic bool go;
	struct {
		_Atomic uint64_t made;
		uint64_t last_after;
	} of[WRITERS_MAX];
};

/* Layout of raw_syscalls:sys_enter, checked in instance_missing(). */
struct call {
	uint16_t type;
	uint8_t flags, preempt_count;
	int32_t pid;
	int64_t number;
	uint64_t index, before, after_last, magic, more[2];
};

static uint16_t call_type;

static uint64_t tsc(void)
{
#ifdef __x86_64__
	uint32_t low, high;

	__asm__ volatile("lfence; rdtsc; lfence" : "=a"(low), "=d"(high) : : "memory");
	return (uint64_t)high << 32 | low;
#else
	return 0;
#endif
}

static bool read_text(const char *path, char *text, size_t size)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	const ssize_t n = fd >= 0 ? read(fd, text, size - 1) : -1;

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

const char *instance_missing(void)
{
	char text[4096];
	const char *id;

	if (geteuid() != 0)
		return "not root: the kernel's tracer cannot be used";
	if (access(TRACEFS "/instances", W_OK) != 0)
		return "no tracefs at " TRACEFS;
	if (!read_text(TRACEFS "/trace_clock", text, sizeof(text)) || !strstr(text, "x86-tsc"))
		return "the kernel's tracer has no clock x86-tsc";
	if (!read_text(TRACEFS "/events/raw_syscalls/sys_enter/format", text, sizeof(text)) ||
	    !strstr(text, "args[6];\toffset:16;\tsize:48"))
		return "the kernel has no event raw_syscalls:sys_enter of the expected layout";
	id = strstr(text, "\nID: ");
	if (!id)
		return "the kernel's event raw_syscalls:sys_enter has no number";
	call_type = (uint16_t)atoi(id + 5);
	return NULL;
}

bool instance_set(const struct instance *made, const char *file, const char *text)
{
	const int fd = openat(made->dir, file, O_WRONLY | O_CLOEXEC | O_TRUNC);
	const bool done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return done;
}

bool instance_has(const struct instance *made, const char *file)
{
	return faccessat(made->dir, file, F_OK, 0) == 0;
}

void instance_make(struct instance *made)
{
	static unsigned count;

	snprintf(made->name, sizeof(made->name), PREFIX "%d-%u", (int)getpid(), count++);
	snprintf(made->path, sizeof(made->path), TRACEFS "/instances/%s", made->name);
	assert_int_equal(mkdir(made->path, 0700), 0);
	made->dir = open(made->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(made->dir >= 0);
	assert_true(instance_set(made, "trace_clock", "x86-tsc"));
}

void instance_remove(struct instance *made)
{
	close(made->dir);
	assert_int_equal(rmdir(made->path), 0);
}

void instances_sweep(void)
{
	DIR *dir = opendir(TRACEFS "/instances");
	char path[512];

	for (struct dirent *entry; dir && (entry = readdir(dir));) {
		const int pid =
			strncmp(entry->d_name, PREFIX, strlen(PREFIX)) == 0 ? atoi(entry->d_name + strlen(PREFIX)) : 0;

		if (pid > 0 && (pid == getpid() || (kill(pid, 0) < 0 && errno == ESRCH))) {
			snprintf(path, sizeof(path), TRACEFS "/instances/%s", entry->d_name);
			rmdir(path);
		}
	}
	if (dir)
		closedir(dir);
}

void instance_record(const struct instance *made, const pid_t *pids, unsigned n)
{
	char text[64] = "";

	/* While the list of processes is replaced it is empty, which selects all processes. */
	assert_true(instance_set(made, "tracing_on", "0"));
	for (unsigned i = 0; i < n; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%d ", (int)pids[i]);
	assert_true(instance_set(made, "set_event_pid", text));
	snprintf(text, sizeof(text), "id == %d", (int)SYS_getppid);
	assert_true(instance_set(made, "events/raw_syscalls/sys_enter/filter", text));
	assert_true(instance_set(made, "events/raw_syscalls/sys_enter/enable", "1"));
	assert_true(instance_set(made, "tracing_on", "1"));
}

/* ── writers ─────────────────────────────────────────────────────────────────────────────────────────── */

static void pin(unsigned cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set) != 0)
		_exit(2);
}

static _Noreturn void write_calls(struct writers *w, unsigned i)
{
	uint64_t before, after = 0;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	pin(w->cpu[i]);
	while (!w->board->go)
		sched_yield();
	for (uint64_t call = 0; call < w->calls; call++) {
		before = tsc();
		syscall(SYS_getppid, call, before, after, MAGIC, 0, 0);
		after = tsc();
		w->board->of[i].made = call + 1;
	}
	w->board->of[i].last_after = after;
	_exit(0);
}

/* The first CPUs on which this process may run. */
static unsigned find_cpus(unsigned cpus[WRITERS_MAX])
{
	unsigned n = 0;
	cpu_set_t set;

	assert_int_equal(sched_getaffinity(0, sizeof(set), &set), 0);
	for (unsigned cpu = 0; cpu < CPU_SETSIZE && n < WRITERS_MAX; cpu++)
		if (CPU_ISSET(cpu, &set))
			cpus[n++] = cpu;
	return n;
}

void writers_start(struct writers *w, const struct instance *made, uint64_t calls)
{
	w->calls = calls;
	w->n = find_cpus(w->cpu);
	w->board = mmap(NULL, sizeof(*w->board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(w->board != MAP_FAILED);
	for (unsigned i = 0; i < w->n; i++) {
		w->pid[i] = fork();
		assert_true(w->pid[i] >= 0);
		if (w->pid[i] == 0)
			write_calls(w, i);
	}
	instance_record(made, w->pid, w->n);
}

void writers_go(struct writers *w)
{
	w->board->go = true;
}

static bool ended(struct writers *w, unsigned i)
{
	int status = 0;

	if (w->pid[i] > 0 && waitpid(w->pid[i], &status, WNOHANG) == w->pid[i]) {
		assert_int_equal(status, 0);
		w->pid[i] = 0;
	}
	return w->pid[i] == 0;
}

void writers_wait(struct writers *w, unsigned i, uint64_t calls)
{
	while (calls < w->calls ? w->board->of[i].made < calls && !ended(w, i) : !ended(w, i))
		sched_yield();
}

bool writers_ended(struct writers *w)
{
	bool all = true;

	for (unsigned i = 0; i < w->n; i++)
		all &= ended(w, i);
	return all;
}

void writers_stop(struct writers *w)
{
	for (unsigned i = 0; i < w->n; i++)
		writers_wait(w, i, w->calls);
	munmap(w->board, sizeof(*w->board));
}

/* ── tally ───────────────────────────────────────────────────────────────────────────────────────────── */

static void tally_call(struct tally *t, const struct wmk_krecord *record, const struct wmk_kpage *page, bool is_first)
{
	struct call call;

	assert_true(record->len >= sizeof(call));
	memcpy(&call, record->data, sizeof(call));
	assert_true(call.pid == t->pid && call.number == SYS_getppid && call.magic == MAGIC);
	/* Each number once, in order; missing numbers are before a page that reports them. */
	assert_true(call.index >= t->next && call.index < t->calls);
	if (t->overwrite && call.index > t->next)
		assert_true(is_first && page->missed);
	if (t->overwrite && is_first && page->lost_known)
		assert_int_equal(call.index - t->next, page->lost);
	/* The time is within the system call, and the previous record's time within the previous one. */
	assert_true(record->ts >= call.before);
	if (call.index == t->next && call.index > 0 && t->others == 0)
		assert_true(t->last_ts <= call.after_last);
	t->missing += call.index - t->next;
	t->next = call.index + 1;
	t->read++;
}

void tally_part(struct tally *t, const struct wmk_kcpu *buffer, const struct wmk_kpart *part, uint32_t from)
{
	struct wmk_kpart rest = *part;
	struct wmk_krecord record;
	struct wmk_kpage page;
	bool is_first = from == 0;
	int got;

	assert_true(from >= part->from && from <= part->until);
	rest.from = from;
	assert_int_equal(wmk_kpart_open(buffer, &rest, &page), 0);
	if (page.missed) {
		t->reported += page.lost;
		t->pages_unknown += !page.lost_known;
	}
	while ((got = wmk_kpage_next(&page, &record)) == 1) {
		assert_true(record.ts >= t->last_ts);
		if (record.type == call_type)
			tally_call(t, &record, &page, is_first);
		else
			t->others++;
		t->last_ts = record.ts;
		is_first = false;
	}
	assert_int_equal(got, 0);
	t->parts++;
	t->bytes += rest.until - rest.from;
}

void tally_end(const struct tally *t, struct wmk_kcpu *buffer, const struct writers *w, unsigned i)
{
	struct wmk_kcpu_stats stats;
	uint64_t lost;

	assert_int_equal(wmk_kcpu_stats(buffer, &stats), 0);
	lost = stats.overrun + stats.dropped + stats.commit_overrun;
	assert_int_equal(stats.entries, 0);
	assert_int_equal(stats.read, t->read + t->others);
	if (t->others == 0) {
		assert_int_equal(t->read + lost, t->calls);
		assert_int_equal(t->missing + (t->calls - t->next), lost);
	}
	if (t->overwrite && t->pages_unknown == 0)
		assert_int_equal(t->reported, stats.overrun);
	if (t->next == t->calls)
		assert_true(t->last_ts <= w->board->of[i].last_after || t->others);
}
