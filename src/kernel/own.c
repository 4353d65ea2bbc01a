/* SPDX-License-Identifier: MIT */
/*
 * own.c - the tracer's own processes and threads (see own.h).
 */
#include "kernel/own.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

#define LOOK_NS 100000000u

void wmk_kown_init(struct wmk_kown *own, wmk_kown_find *find, void *data)
{
	*own = (struct wmk_kown){ .find = find, .data = data };
	wmk_kown_look(own);
}

static uint32_t slot_of(int32_t tid)
{
	return ((uint32_t)tid * 0x9E3779B1u >> 16) & (WMK_KOWN_SLOTS - 1);
}

static void add(struct wmk_kown *own, int32_t tid)
{
	uint32_t slot = slot_of(tid);

	if (own->n_tids >= WMK_KOWN_SLOTS / 2)
		return;
	while (own->tids[slot] && own->tids[slot] != tid)
		slot = (slot + 1) & (WMK_KOWN_SLOTS - 1);
	own->n_tids += own->tids[slot] == 0;
	own->tids[slot] = tid;
}

bool wmk_kown_has(const struct wmk_kown *own, int32_t tid)
{
	uint32_t slot = slot_of(tid);

	if (tid <= 0)
		return false;
	while (own->tids[slot] && own->tids[slot] != tid)
		slot = (slot + 1) & (WMK_KOWN_SLOTS - 1);
	return own->tids[slot] == tid;
}

static void add_threads(struct wmk_kown *own, pid_t pid)
{
	const struct dirent *entry;
	char path[32];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			add(own, (int32_t)strtol(entry->d_name, NULL, 10));
	if (dir)
		closedir(dir);
}

void wmk_kown_look(struct wmk_kown *own)
{
	const uint64_t now = wmk_clock_monotonic();
	pid_t pids[WMK_KOWN_PIDS] = { getpid() };
	unsigned n = 1;

	if (own->looked && now - own->looked < LOOK_NS)
		return;
	own->looked = now;
	if (own->find)
		n = own->find(own->data, pids);
	if (n != own->n_pids || memcmp(pids, own->pids, n * sizeof(*pids)) != 0) {
		memcpy(own->pids, pids, n * sizeof(*pids));
		own->n_pids = n;
		own->version++;
	}
	memset(own->tids, 0, sizeof(own->tids));
	own->n_tids = 0;
	for (unsigned i = 0; i < n; i++)
		add_threads(own, pids[i]);
}

static long read_some(const char *path, char *text, size_t size)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	const ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);

	text[n > 0 ? n : 0] = '\0';
	if (fd >= 0)
		close(fd);
	return n;
}

pid_t wmk_kown_of_file(const char *path, const char *comm)
{
	char text[32], name[48];
	long pid;

	if (read_some(path, text, sizeof(text)) <= 0)
		return 0;
	pid = strtol(text, NULL, 10);
	if (pid <= 0 || pid > INT32_MAX)
		return 0;
	snprintf(name, sizeof(name), "/proc/%ld/comm", pid);
	if (read_some(name, text, sizeof(text)) <= 0)
		return 0;
	text[strcspn(text, "\n")] = '\0';
	return strcmp(text, comm) == 0 ? (pid_t)pid : 0;
}
