/* SPDX-License-Identifier: MIT */
/*
 * connection.h - a connection to a session daemon, and the state that the files of libwaymark-ctl share.
 *
 *     commands.c   options of a public function ──► request object ─┐
 *     save.c, load.c   several requests                             ├─► request.c: request, reply ──► result.c: result
 *     connect.c    select a daemon; daemon_start.c: start one ──────┘
 */
#ifndef WMK_CTL_CONNECTION_H
#define WMK_CTL_CONNECTION_H

#include <stdint.h>

#include <waymark/ctl.h>

#include "wire/ctl.h"
#include "wire/wire.h"

#define TIMEOUT_MS 30000

struct waymark_ctl {
	int socket;                  /* -1: the connection is closed */
	int timeout_ms;              /* -1: no limit */
	bool started;                /* waymark_ctl_connect() started the daemon */
	uint32_t request;            /* number of the latest request */
	struct wmk_in in;
	struct wmk_out out;
	char rundir[128];
};

struct waymark_ctl_result {
	struct wmk_arena objects;    /* memory of `object` */
	struct wmk_arena views;      /* memory of the members below */
	const struct wmk_object *is;
	void *object;
	const struct waymark_ctl_session_info **sessions;
	const struct waymark_ctl_relay_info **relays;
	const struct waymark_ctl_app_info **apps, **unanswered;
	const char *const *warnings, *const *files;
	unsigned n_sessions, n_relays, n_apps, n_unanswered, n_warnings, n_files;
	const struct waymark_ctl_event_info **events;
	const char *const *lacks;
	unsigned n_events, n_lacks;
	const char *kernel_clock;
	const struct waymark_ctl_version_info *version;
	const struct waymark_ctl_snapshot_info *snapshot;
};

/* ── time ────────────────────────────────────────────────────────────────────────────────────────────── */

/*
 * wmk_ctl_deadline() returns the time that is `timeout_ms` from now (-1: no deadline). wmk_ctl_left() returns the
 * milliseconds until a deadline, for poll(): 0 when it has passed, -1 without a deadline.
 */
uint64_t wmk_ctl_deadline(int timeout_ms);
int wmk_ctl_left(uint64_t deadline);

/* ── requests ────────────────────────────────────────────────────────────────────────────────────────── */

/*
 * Send a request and wait for its reply. `result` may be NULL. Errors of the daemon are returned together with the
 * daemon's messages. -ETIMEDOUT; -ECONNRESET, -EPROTO: the connection is closed.
 */
int wmk_ctl_request(struct waymark_ctl *ctl, uint16_t type, const void *request, struct waymark_ctl_result **result);
/* Wait until the daemon exits and so closes the connection. 0 or -ETIMEDOUT. */
int wmk_ctl_wait_for_end(struct waymark_ctl *ctl);
/*
 * Split a line in the format of wmk_error_text() into a cause chain; the outermost message comes first in the line.
 * Changes `words`. Returns `err`.
 */
int wmk_ctl_error_chain(int err, char *words);
/*
 * Copy the options structure of a public function; the structure begins with its size. Members that do not exist in the
 * version of an older caller are set to zero. If a newer caller has set a member that does not exist in this version,
 * the options are rejected (-EINVAL). Sets *result, which receives the result of the function, to NULL; `result` may be
 * NULL.
 */
int wmk_ctl_options(void *to, size_t size, const void *from, const char *what, struct waymark_ctl_result **result);
#define WMK_CTL_OPTIONS(to, from, what, result) wmk_ctl_options((to), sizeof(*(to)), (from), (what), (result))

/* ── results ─────────────────────────────────────────────────────────────────────────────────────────── */

/* Make a result for `is`. *object is zeroed; the caller fills it from result->objects. NULL with a cause chain. */
struct waymark_ctl_result *wmk_ctl_result_new(const struct wmk_object *is);
/* Create the public structures of a complete object. 0 or -errno. */
int wmk_ctl_result_finish(struct waymark_ctl_result *result);

/* The object in the results of waymark_ctl_save() and waymark_ctl_load(). No message contains this object. */
struct wmk_ctl_files_reply {
	struct wmk_list files, warnings;     /* of const char * */
	struct wmk_list unanswered;          /* of struct wmk_ctl_app */
	struct wmk_list sessions;            /* of struct wmk_ctl_session */
};
extern const struct wmk_object wmk_ctl_files_reply_object;
/*
 * wmk_ctl_files_add_text() adds a string to a list of `result`. wmk_ctl_files_add_outcome() adds the warnings and the
 * unanswered applications of another result. 0 or -ENOMEM.
 */
int wmk_ctl_files_add_text(struct waymark_ctl_result *result, struct wmk_list *list, const char *text);
int wmk_ctl_files_add_outcome(struct waymark_ctl_result *result, const struct waymark_ctl_result *of);

/* ── files of saved sessions ─────────────────────────────────────────────────────────────────────────── */

#define WMK_CTL_SAVED_VERSION 1u
struct wmk_ctl_saved {
	uint32_t version;
	struct wmk_ctl_session session;
};
extern const struct wmk_object wmk_ctl_saved_object;
/* Return $HOME, or the home directory in the user database; -ENOENT if neither exists. */
int wmk_ctl_home(char *buf, size_t size);
/* Check that a session name can be used as a file name. 0 or -EINVAL. */
int wmk_ctl_name_check(const char *name);
/*
 * Open $HOME/.waymark/sessions; if `make` is true, create missing directories with mode 0700. Symbolic links below
 * $HOME are not followed. Returns a descriptor, or -errno.
 */
int wmk_ctl_sessions_dir(bool make, char *path, size_t size);

/* ── start a daemon ──────────────────────────────────────────────────────────────────────────────────── */

/*
 * Start the program of the session daemon, and wait until the daemon listens. `rundir` is the value of WAYMARK_RUNDIR
 * in the daemon's environment. NULL: the daemon inherits the variable. -ECHILD: the program failed, and the cause chain
 * contains its message; another daemon may run by now. -ETIMEDOUT; -ENOENT, -EACCES: no program.
 */
int wmk_ctl_daemon_start(const char *program, const char *rundir, const char *recover, uint64_t deadline);

#endif
