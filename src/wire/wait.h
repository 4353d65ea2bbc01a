/* SPDX-License-Identifier: MIT */
/*
 * wait.h - the page on which programs wait for their session daemon: file `wait` in its runtime directory (control.md, "An application
 * registers").
 *
 *     program                                     session daemon
 *     g = generation          (W1) acquire        bind, listen
 *     connect: nobody there                       generation + 1      (W1) release
 *     sleep while generation == g   ◄──────────── wake all
 *
 * A program loads the generation before it tries to connect, and sleeps on the value that it loaded: a daemon that announces itself in
 * between has changed it. Nobody clears anything, so nobody can miss anything. The daemon alone writes; programs map read-only, and only
 * what nobody but root or their own user could have written, or could make shorter under them.
 */
#ifndef WMK_WIRE_WAIT_H
#define WMK_WIRE_WAIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define WMK_WAIT_FILE "wait"
#define WMK_WAIT_BYTES 4096u
#define WMK_WAIT_MAGIC 0x7469617774796177u      /* "waytwait" */
#define WMK_WAIT_VERSION 1u

struct wmk_wait_page {                          /* at the file's beginning; zeros follow */
	uint64_t magic;
	uint32_t version;
	_Atomic(uint32_t) generation;           /* a futex, not private to a process */
	_Atomic(uint32_t) pid;                  /* of the daemon, as it sees itself; 0: it went in good order, or there was none */
	_Atomic(uint32_t) dumps;                /* a hint: sessions that record, and want to know what is loaded in a program that starts */
	_Atomic(uint64_t) start;                /* its start time, clock ticks since boot (/proc/PID/stat, field 22) */
};

/* ── the daemon's side: one at a time, which holds the directory's lock ──────────────────────────────── */

/*
 * Open the page in the directory `rundir_fd`, or make it: 0644, whatever the umask is. A good one goes on as it is, its generation too. What
 * else has the name is replaced; programs that have mapped an earlier page are woken. No session is known to want dumps. *page is unmapped by wmk_wait_destroy().
 * 0 or -errno with a cause chain.
 */
int wmk_wait_create(int rundir_fd, struct wmk_wait_page **page);
/* Connections are taken from here on: another generation, and everybody who waits wakes. */
void wmk_wait_announce(struct wmk_wait_page *page, pid_t pid, uint64_t start);
/* One session more, or less, records and wants state dumps: programs prepare them while they wait for their answer. */
void wmk_wait_count_dumps(struct wmk_wait_page *page, bool more);
/* Going in good order. The file stays, for those who wait on it. */
void wmk_wait_retire(struct wmk_wait_page *page);
void wmk_wait_destroy(struct wmk_wait_page *page);

/* ── a program's side ────────────────────────────────────────────────────────────────────────────────── */

/*
 * Map the page of the runtime directory `rundir`, read-only. It must be a plain file, not reached through a link, of exactly
 * WMK_WAIT_BYTES, owned by `owner`, writable by nobody else: whoever could cut it short could kill those who look at it. Uses one
 * descriptor, and gives it back. 0; -ENOENT: there is none; other -errno: not to be trusted, with a cause chain. wmk_wait_close() unmaps.
 */
int wmk_wait_open(const char *rundir, uid_t owner, const struct wmk_wait_page **page);
void wmk_wait_close(const struct wmk_wait_page *page);

static inline uint32_t wmk_wait_generation(const struct wmk_wait_page *page)
{
	/* (W1) acquire: the daemon listens, and its pid is there; pairs with the release in wmk_wait_announce() */
	return atomic_load_explicit(&page->generation, memory_order_acquire);
}

/* A hint. */
static inline uint32_t wmk_wait_dumps(const struct wmk_wait_page *page)
{
	return atomic_load_explicit(&page->dumps, memory_order_relaxed);         /* relaxed: it is about nothing else */
}

struct wmk_wait_for {
	const struct wmk_wait_page *page;       /* NULL: none */
	uint32_t generation;                    /* as it was loaded */
};
#define WMK_WAIT_PAGES 2u

/*
 * Sleep until one of the pages has another generation, or `word` another value (FUTEX_WAKE_PRIVATE wakes it), or `ms` are over (-1: for ever).
 * May return early. Before Linux 5.16, which cannot wait for several words, as wmk_wait_on_one().
 */
void wmk_wait_on(const struct wmk_wait_for pages[WMK_WAIT_PAGES], const _Atomic(uint32_t) *word, uint32_t value, int64_t ms);
/* The same by a wait on the word alone, with a look at the pages every second. */
void wmk_wait_on_one(const struct wmk_wait_for pages[WMK_WAIT_PAGES], const _Atomic(uint32_t) *word, uint32_t value, int64_t ms);

#endif
