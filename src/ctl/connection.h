/* SPDX-License-Identifier: MIT */
/*
 * connection.h - a connection to a session daemon, and the state that the files of libwaymark-ctl share.
 *
 *     commands.c   options of a public function ──► request object ─┐
 *     save.c, load.c   several of them                               ├─► request.c: one request, one reply ──► result.c: what users see
 * of it
 *     connect.c    which daemon; daemon_start.c: there is none, start it ──┘
 */
#ifndef WMK_CTL_CONNECTION_H
#define WMK_CTL_CONNECTION_H

#include <stdint.h>

#include <waymark/ctl.h>

#include "wire/ctl.h"
#include "wire/wire.h"

#define TIMEOUT_MS 30000

struct waymark_ctl {
	int socket;                  /* -1: broken, what it says next belongs to nothing */
	int timeout_ms;              /* -1: for ever */
	bool started;
	uint32_t request;            /* number of the latest */
	struct wmk_in in;
	struct wmk_out out;
	char rundir[128];
};

struct waymark_ctl_result {
	struct wmk_arena objects;    /* of `object` */
	struct wmk_arena views;      /* of all below */
	const struct wmk_object *is;
	void *object;
	const struct waymark_ctl_session_info **sessions;
	const struct waymark_ctl_app_info **apps, **unanswered;
	const char *const *warnings, *const *files;
	unsigned n_sessions, n_apps, n_unanswered, n_warnings, n_files;
	const struct waymark_ctl_event_info **events;
	const char *const *lacks;
	unsigned n_events, n_lacks;
	const char *kernel_clock;
	const struct waymark_ctl_version_info *version;
};

/* ── time ────────────────────────────────────────────────────────────────────────────────────────────── */

/*
 * The moment `timeout_ms` from now (-1: never), and what is left until then, for poll(): 0 when it is past, -1 for
 * never.
 */
uint64_t wmk_ctl_deadline(int timeout_ms);
int wmk_ctl_left(uint64_t deadline);

/* ── requests ────────────────────────────────────────────────────────────────────────────────────────── */

/*
 * Ask and wait for the answer. `result` may be NULL. The daemon's own error comes back with its words; -ETIMEDOUT;
 * -ECONNRESET, -EPROTO:
 * the connection is no more.
 */
int wmk_ctl_request(struct waymark_ctl *ctl, uint16_t type, const void *request, struct waymark_ctl_result **result);
/* Wait until the daemon closes the connection, as it does when it ends. 0, -ETIMEDOUT. */
int wmk_ctl_wait_for_end(struct waymark_ctl *ctl);
/*
 * A chain that has become one line (outermost first, as wmk_error_text() makes it) is a chain again. Changes `words`.
 * Returns `err`.
 */
int wmk_ctl_error_chain(int err, char *words);
/*
 * Take the options of a public function, which begin with their size: what a caller of an older version does not know
 * is zero, what one of a newer version set and we do not know is refused (-EINVAL).
 */
int wmk_ctl_options(void *to, size_t size, const void *from, const char *what);
#define WMK_CTL_OPTIONS(to, from, what) wmk_ctl_options((to), sizeof(*(to)), (from), (what))

/* ── results ─────────────────────────────────────────────────────────────────────────────────────────── */

/* A result for `is`: *object is zeroed and the caller's to fill, from result->objects. NULL with a cause chain. */
struct waymark_ctl_result *wmk_ctl_result_new(const struct wmk_object *is);
/* The object is full: make what users see. */
int wmk_ctl_result_finish(struct waymark_ctl_result *result);

/* What save and load answer: not a message, but a result like those. */
struct wmk_ctl_files_reply {
	struct wmk_list files, warnings;     /* of const char * */
	struct wmk_list unanswered;          /* of struct wmk_ctl_app */
	struct wmk_list sessions;            /* of struct wmk_ctl_session */
};
extern const struct wmk_object wmk_ctl_files_reply_object;
/* Add to what is filed. 0 or -ENOMEM. */
int wmk_ctl_files_add_text(struct waymark_ctl_result *result, struct wmk_list *list, const char *text);
int wmk_ctl_files_add_outcome(struct waymark_ctl_result *result, const struct waymark_ctl_result *of);

/* ── files of saved sessions ─────────────────────────────────────────────────────────────────────────── */

#define WMK_CTL_SAVED_VERSION 1u
struct wmk_ctl_saved {
	uint32_t version;
	struct wmk_ctl_session session;
};
extern const struct wmk_object wmk_ctl_saved_object;
/* $HOME, else the user's home; -ENOENT when neither is known. */
int wmk_ctl_home(char *buf, size_t size);
/* May a session be called that? Else -EINVAL: it is going to be a file's name. */
int wmk_ctl_name_check(const char *name);
/*
 * Open $HOME/.waymark/sessions; `make`: make what is missing, 0700. No link is followed below $HOME. A descriptor, or
 * -errno.
 */
int wmk_ctl_sessions_dir(bool make, char *path, size_t size);

/* ── starting a daemon ───────────────────────────────────────────────────────────────────────────────── */

/*
 * Start the daemon's program and wait until it says that it listens. `rundir`: put into its environment, or NULL.
 * -ECHILD: it failed, its words are in the chain; perhaps another one runs by now. -ETIMEDOUT; -ENOENT, -EACCES: no
 * program.
 */
int wmk_ctl_daemon_start(const char *program, const char *rundir, const char *recover, uint64_t deadline);

#endif
