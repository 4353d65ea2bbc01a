/* SPDX-License-Identifier: MIT */
/*
 * follow.c - see follow.h. Everything read here belongs to other processes, which may end or lie at any moment: a read that fails is
 * a process that is gone.
 */
#include <ctype.h>
#include <dirent.h>
#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/follow.h"

#define PROCESSES_MAX 4096
#define LOOK_NS 50000000ull      /* now and then */
#define HURRY_NS 3000000ull      /* after something has happened: so long ... */
#define HURRY_STEP_NS 200000ull  /* ... and so often */
#define COSTLY_NS 20000000ull  /* a look that took longer has many to look at */
#define WATCHED_MAX 16
#define ENVIRONMENT_MAX (4u << 20)

void wmk_follow_init(struct wmk_follow *follow, const char *rundir)
{
	memset(follow, 0, sizeof(*follow));
	snprintf(follow->entry, sizeof(follow->entry), "WAYMARK_RUNDIR=%s", rundir);
	/* Without it (too many instances of this user) we look now and then only. */
	follow->opened = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
}

void wmk_follow_close(struct wmk_follow *follow)
{
	if (follow->opened >= 0)
		close(follow->opened);
	follow->opened = -1;
}

const char *wmk_follow_why_text(enum wmk_follow_why why)
{
	return why == WMK_FOLLOW_SET_ID ? "is set-id" : why == WMK_FOLLOW_USER ? "runs as another user" : "cleared its environment";
}

/* All of /proc/PID/FILE, at most `max` bytes, NUL-terminated; NULL when it cannot be read. free() it. */
static char *read_proc(pid_t pid, const char *file, size_t max, size_t *len)
{
	char path[64], *buf = NULL;
	size_t cap = 0;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	*len = 0;
	for (;;) {
		ssize_t n;

		if (cap - *len < 4096) {
			char *more = cap < max ? realloc(buf, cap + 65536 + 1) : NULL;

			if (!more)
				break;
			buf = more;
			cap += 65536;
		}
		n = read(fd, buf + *len, cap - *len);
		if (n < 0) {
			free(buf);
			buf = NULL;
		}
		if (n <= 0)
			break;
		*len += (size_t)n;
	}
	close(fd);
	if (buf)
		buf[*len] = '\0';
	return buf;
}

/* Is the entry one of the NUL-separated strings? */
static bool has_entry(const char *environment, size_t len, const char *entry)
{
	size_t n = strlen(entry) + 1;

	for (const char *p = environment; p < environment + len; p += strlen(p) + 1)
		if ((size_t)(environment + len - p) >= n - 1 && strncmp(p, entry, n) == 0)
			return true;
	return false;
}

/* Does the ELF file hold sites of its own? So does a program into which libwaymark was linked statically. */
static bool elf_has_sites(pid_t pid)
{
	char path[64], names[65536];
	Elf64_Ehdr head;
	Elf64_Shdr strings;
	bool found = false;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	if (pread(fd, &head, sizeof(head), 0) == (ssize_t)sizeof(head) && memcmp(head.e_ident, ELFMAG, SELFMAG) == 0 &&
	    head.e_ident[EI_CLASS] == ELFCLASS64 && head.e_shentsize == sizeof(strings) && head.e_shoff < INT64_MAX / 2 &&
	    pread(fd, &strings, sizeof(strings), (off_t)(head.e_shoff + (uint64_t)head.e_shstrndx * sizeof(strings))) ==
	    (ssize_t)sizeof(strings) && strings.sh_offset < INT64_MAX / 2) {
		size_t size = strings.sh_size < sizeof(names) ? strings.sh_size : sizeof(names);
		ssize_t n = pread(fd, names, size, (off_t)strings.sh_offset);

		found = n > 0 && memmem(names, (size_t)n, "waymark_sites", 13);
	}
	close(fd);
	return found;
}

/* What /proc/PID/status says of the process: real and effective ids differ, in either kind. */
static bool is_set_id(const char *status)
{
	static const char *const lines[] = { "\nUid:", "\nGid:" };

	for (unsigned i = 0; i < 2; i++) {
		const char *p = strstr(status, lines[i]);
		unsigned real, effective;

		if (p && sscanf(p + 5, "%u %u", &real, &effective) == 2 && real != effective)
			return true;
	}
	return false;
}

/* Its own user from now on, as a server that gave up root: our runtime directory is closed to it. */
static bool is_other_user(const char *status)
{
	const char *p = strstr(status, "\nUid:");
	unsigned real;

	return p && sscanf(p + 5, "%u", &real) == 1 && real != getuid();
}

static void note(struct wmk_follow *follow, pid_t pid, enum wmk_follow_why why)
{
	struct wmk_unfollowed one = { .pid = pid, .why = why };
	size_t len;
	char *stat = read_proc(pid, "stat", 4096, &len), *name, *end;
	bool known;

	if (!stat)
		return;
	name = strchr(stat, '(');
	end = strrchr(stat, ')');
	known = name && end && sscanf(end + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
				      &one.start) == 1;
	if (known)
		snprintf(one.name, sizeof(one.name), "%.*s", (int)(end - name - 1), name + 1);
	/* A process names itself as it likes: nothing that a terminal would obey is printed. */
	for (char *c = one.name; *c; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			*c = '?';
	free(stat);
	for (unsigned i = 0; i < follow->n && i < WMK_FOLLOW_MAX; i++)
		if (follow->list[i].pid == one.pid && follow->list[i].start == one.start)
			return;
	if (!known)
		return;
	if (follow->n < WMK_FOLLOW_MAX)
		follow->list[follow->n] = one;
	follow->n++;
}

/*
 * An empty environment was seen. In the middle of exec a process has none yet, and at its end none any more: asked of one whose program has
 * been mapped and still is, the answer is true.
 */
static bool is_cleared(const struct wmk_follow *follow, pid_t pid)
{
	size_t len;
	char *environment = read_proc(pid, "environ", ENVIRONMENT_MAX, &len);
	bool cleared = environment && !has_entry(environment, len, follow->entry), told = environment && len > 0;
	char *maps = cleared && !told ? read_proc(pid, "maps", ENVIRONMENT_MAX, &len) : NULL;

	cleared = cleared && (told || (maps && len > 0));
	free(maps);
	free(environment);
	return cleared;
}

static void look_at(struct wmk_follow *follow, pid_t pid)
{
	size_t len;
	char *status = read_proc(pid, "status", 65536, &len), *environment, *maps;
	bool set_id, other_user, certain;

	if (!status)
		return;
	set_id = is_set_id(status);
	other_user = is_other_user(status);
	free(status);
	environment = read_proc(pid, "environ", ENVIRONMENT_MAX, &len);
	if (!set_id && !other_user && (!environment || has_entry(environment, len, follow->entry))) {
		free(environment);
		return;
	}
	certain = set_id || other_user || len > 0;
	free(environment);
	/* What set-id programs map is not for everyone to see: then they may well be instrumented. */
	maps = read_proc(pid, "maps", ENVIRONMENT_MAX, &len);
	if (maps ? (strstr(maps, "/libwaymark.so") || elf_has_sites(pid)) && (certain || is_cleared(follow, pid)) : set_id)
		note(follow, pid, set_id ? WMK_FOLLOW_SET_ID : other_user ? WMK_FOLLOW_USER : WMK_FOLLOW_ENVIRONMENT);
	free(maps);
}

/* Appends the children of all of a process's threads to pids[n...]; returns the new n. */
static unsigned add_children(pid_t pid, pid_t *pids, unsigned n)
{
	char path[64];
	struct dirent *entry;
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	tasks = opendir(path);
	if (!tasks)
		return n;
	while ((entry = readdir(tasks))) {
		char file[300], *list, *p, *end;
		size_t len;

		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		snprintf(file, sizeof(file), "task/%s/children", entry->d_name);
		list = read_proc(pid, file, 1u << 20, &len);
		if (!list)
			continue;
		for (p = list; n < PROCESSES_MAX; p = end) {
			long child = strtol(p, &end, 10);

			if (end == p)
				break;
			pids[n++] = (pid_t)child;
		}
		free(list);
	}
	closedir(tasks);
	return n;
}

static void look(struct wmk_follow *follow)
{
	pid_t pids[PROCESSES_MAX];
	unsigned n = add_children(getpid(), pids, 0);

	for (unsigned i = 0; i < n; i++) {
		look_at(follow, pids[i]);
		n = add_children(pids[i], pids, n);
	}
}

void wmk_follow_gone(struct wmk_follow *follow)
{
	follow->hurry = wmk_clock_monotonic() + HURRY_NS;
	follow->next = 0;
}

void wmk_follow_registered(struct wmk_follow *follow, pid_t pid)
{
	char *maps, *name, *end;
	size_t len;

	if (follow->opened < 0 || follow->watched == WATCHED_MAX)
		return;
	maps = read_proc(pid, "maps", ENVIRONMENT_MAX, &len);
	name = maps ? strstr(maps, "/libwaymark.so") : NULL;
	if (name) {
		end = name + strcspn(name, "\n");
		*end = '\0';
		while (name > maps && name[-1] != ' ')
			name--;
		/* The same file gives the same number again. */
		follow->watched = inotify_add_watch(follow->opened, name, IN_OPEN);
	}
	free(maps);
}

uint64_t wmk_follow_look(struct wmk_follow *follow)
{
	char events[4096];
	uint64_t now, due;

	if (follow->opened >= 0 && read(follow->opened, events, sizeof(events)) > 0)
		wmk_follow_gone(follow);
	now = wmk_clock_monotonic();
	if (now >= follow->next && now >= follow->earliest) {
		uint64_t begin = now;

		look(follow);
		now = wmk_clock_monotonic();
		follow->next = now + (now < follow->hurry ? HURRY_STEP_NS : LOOK_NS);
		/* Thousands of processes take long to look at, and those that register meanwhile wait for this thread. */
		follow->earliest = now - begin > COSTLY_NS ? now + 4 * (now - begin) : now;
	}
	due = follow->next > follow->earliest ? follow->next : follow->earliest;
	return due > now ? due - now : 0;
}
