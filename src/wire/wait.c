/* SPDX-License-Identifier: MIT */
/* wait.c - see wait.h. */
#include "wire/wait.h"

#include "base/clock.h"
#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define TEMPORARY ".wait.new"
#define LOOK_MS 1000

#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif

/* The kernel's struct futex_waitv and its flags; older headers have none. */
struct waitv {
	uint64_t value, address;
	uint32_t flags, reserved;
};
#define WAITV_32 2u
#define WAITV_PRIVATE 128u

_Static_assert(sizeof(struct wmk_wait_page) <= WMK_WAIT_BYTES, "one page");
_Static_assert(sizeof(_Atomic(uint32_t)) == 4, "a futex is 32 bits");

static bool is_good(const struct wmk_wait_page *page)
{
	return page->magic == WMK_WAIT_MAGIC && page->version == WMK_WAIT_VERSION;
}

/* NULL, or what is wrong with it. */
static const char *check_file(const struct stat *st, uid_t owner)
{
	if (!S_ISREG(st->st_mode))
		return "is not a plain file";
	if (st->st_uid != owner)
		return "belongs to somebody else";
	if (st->st_mode & (S_IWGRP | S_IWOTH))
		return "can be written by others";
	if (st->st_size != WMK_WAIT_BYTES)
		return "has another size";
	return NULL;
}

/* ── the daemon's side ───────────────────────────────────────────────────────────────────────────────── */

static void announce(struct wmk_wait_page *page)
{
	/* (W1) release: sockets listen, pid and start are there; pairs with the acquire in wmk_wait_generation() */
	atomic_fetch_add_explicit(&page->generation, 1, memory_order_release);
	syscall(SYS_futex, &page->generation, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* The page that is there: mapped, whether it will do or not; NULL: nothing that could have been one. */
static struct wmk_wait_page *open_present(int dir, bool *good)
{
	int fd = openat(dir, WMK_WAIT_FILE, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct wmk_wait_page *page;
	struct stat st;

	*good = false;
	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_size != WMK_WAIT_BYTES) {
		close(fd);
		return NULL;
	}
	page = mmap(NULL, WMK_WAIT_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED) {
		close(fd);
		return NULL;
	}
	/* more than the owner may read it, and nobody may have opened it to write */
	*good = is_good(page) && !check_file(&st, geteuid()) && st.st_nlink == 1 && fchmod(fd, 0644) == 0;
	close(fd);
	return page;
}

/* Who has tried at the last generation of a page that is lost must not take this page's for the same. */
static uint32_t first_generation(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint32_t)ts.tv_sec * 1000003u ^ (uint32_t)ts.tv_nsec;
}

/* A whole page, which gets its name when it is ready. */
static int make_new(int dir, struct wmk_wait_page **out)
{
	struct wmk_wait_page *page = MAP_FAILED;
	int fd, err;

	unlinkat(dir, TEMPORARY, 0);
	fd = openat(dir, TEMPORARY, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return wmk_error(-errno, "cannot create the page that programs wait on (%s)", TEMPORARY);
	/* the memory is had now: a reader must not find none */
	err = -posix_fallocate(fd, 0, WMK_WAIT_BYTES);
	if (err == 0) {
		page = mmap(NULL, WMK_WAIT_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		err = page == MAP_FAILED ? -errno : 0;
	}
	if (err == 0) {
		page->magic = WMK_WAIT_MAGIC;
		page->version = WMK_WAIT_VERSION;
		atomic_store_explicit(&page->generation, first_generation(), memory_order_relaxed);
		if (fchmod(fd, 0644) < 0 || renameat(dir, TEMPORARY, dir, WMK_WAIT_FILE) < 0)
			err = -errno;
	}
	close(fd);
	if (err < 0) {
		if (page != MAP_FAILED)
			munmap(page, WMK_WAIT_BYTES);
		unlinkat(dir, TEMPORARY, 0);
		return wmk_error(err, "cannot make the page that programs wait on (%s)", WMK_WAIT_FILE);
	}
	*out = page;
	return 0;
}

int wmk_wait_create(int rundir_fd, struct wmk_wait_page **page)
{
	bool good;
	struct wmk_wait_page *present = open_present(rundir_fd, &good);

	if (good) {
		atomic_store_explicit(&present->dumps, 0, memory_order_relaxed);         /* relaxed: a hint */
		*page = present;
		return 0;
	}
	int err = make_new(rundir_fd, page);

	if (present) {
		/* those who wait on it look for the page anew */
		if (err == 0 && present->magic == WMK_WAIT_MAGIC)
			announce(present);
		munmap(present, WMK_WAIT_BYTES);
	}
	return err;
}

void wmk_wait_announce(struct wmk_wait_page *page, pid_t pid, uint64_t start)
{
	atomic_store_explicit(&page->start, start, memory_order_relaxed);
	atomic_store_explicit(&page->pid, (uint32_t)pid, memory_order_relaxed);
	announce(page);
}

void wmk_wait_count_dumps(struct wmk_wait_page *page, bool more)
{
	/* relaxed: it is about nothing else */
	atomic_fetch_add_explicit(&page->dumps, more ? 1u : -1u, memory_order_relaxed);
}

void wmk_wait_retire(struct wmk_wait_page *page)
{
	/* relaxed: a reader that still sees the pid finds no such process */
	atomic_store_explicit(&page->pid, 0, memory_order_relaxed);
	atomic_store_explicit(&page->start, 0, memory_order_relaxed);
}

void wmk_wait_destroy(struct wmk_wait_page *page)
{
	if (page)
		munmap(page, WMK_WAIT_BYTES);
}

/* ── a program's side ────────────────────────────────────────────────────────────────────────────────── */

int wmk_wait_open(const char *rundir, uid_t owner, const struct wmk_wait_page **page)
{
	char path[256];
	const char *wrong;
	struct stat st;
	void *map;
	int n = snprintf(path, sizeof(path), "%s/" WMK_WAIT_FILE, rundir), fd;

	if (n < 0 || (size_t)n >= sizeof(path))
		return wmk_error(-ENAMETOOLONG, "the runtime directory's path is too long");
	/* (a pipe that has this name does not make us wait for its other end) */
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return errno == ENOENT ? -ENOENT : wmk_error(-errno, "cannot open %s", path);
	wrong = fstat(fd, &st) < 0 ? "cannot be looked at" : check_file(&st, owner);
	map = wrong ? MAP_FAILED : mmap(NULL, WMK_WAIT_BYTES, PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	if (!wrong && map == MAP_FAILED)
		wrong = "cannot be mapped";
	if (!wrong && !is_good(map)) {
		munmap(map, WMK_WAIT_BYTES);
		wrong = "is of another version, or no such page";
	}
	if (wrong)
		return wmk_error(-EPERM, "%s %s: not waiting on it", path, wrong);
	*page = map;
	return 0;
}

void wmk_wait_close(const struct wmk_wait_page *page)
{
	if (page)
		munmap((void *)(uintptr_t)page, WMK_WAIT_BYTES);
}

static struct timespec as_timespec(int64_t ms)
{
	return (struct timespec){ .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };
}

static bool changed(const struct wmk_wait_for pages[WMK_WAIT_PAGES])
{
	for (unsigned i = 0; i < WMK_WAIT_PAGES; i++)
		if (pages[i].page && wmk_wait_generation(pages[i].page) != pages[i].generation)
			return true;
	return false;
}

void wmk_wait_on_one(const struct wmk_wait_for pages[WMK_WAIT_PAGES], const _Atomic(uint32_t) *word, uint32_t value, int64_t ms)
{
	int64_t end = ms < 0 ? INT64_MAX : wmk_clock_ms() + ms, left = ms < 0 ? LOOK_MS : ms;
	bool any = pages[0].page || pages[1].page;

	while (left > 0 && !changed(pages)) {
		struct timespec ts = as_timespec(any && left > LOOK_MS ? LOOK_MS : left);

		if (syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, ms < 0 && !any ? NULL : &ts, NULL, 0) == 0 || errno != ETIMEDOUT)
			return;
		left = end - wmk_clock_ms();
	}
}

void wmk_wait_on(const struct wmk_wait_for pages[WMK_WAIT_PAGES], const _Atomic(uint32_t) *word, uint32_t value, int64_t ms)
{
	struct waitv waits[WMK_WAIT_PAGES + 1] = {
		{ .value = value, .address = (uint64_t)(uintptr_t)word, .flags = WAITV_32 | WAITV_PRIVATE },
	};
	struct timespec until = as_timespec(ms < 0 ? 0 : wmk_clock_ms() + ms);
	unsigned n = 1;

	for (unsigned i = 0; i < WMK_WAIT_PAGES; i++)
		if (pages[i].page)
			waits[n++] = (struct waitv){ .value = pages[i].generation,
				.address = (uint64_t)(uintptr_t)&pages[i].page->generation, .flags = WAITV_32 };
	if (syscall(SYS_futex_waitv, waits, n, 0, ms < 0 ? NULL : &until, CLOCK_MONOTONIC) >= 0 || errno == EAGAIN || errno == EINTR ||
	    errno == ETIMEDOUT)
		return;
	wmk_wait_on_one(pages, word, value, ms);
}
