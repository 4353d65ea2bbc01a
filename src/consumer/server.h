/* SPDX-License-Identifier: MIT */
/*
 * server.h - waymark-consumerd: consumers for a session daemon in another process, which commands them over a socket
 * (wire/consumerd.h).
 *
 *     <rundir>/consumer.sock ──requests──► server's thread ──work──► thread of each trace: carries it out
 *                            ◄─answers───                  ◄──done──
 *
 * Draining continues when the session daemon ends. The next session daemon receives all traces and rings with the
 * request LIST. Only one session daemon is connected at a time; a new connection replaces the earlier connection. After
 * SHUTDOWN or wmk_consumer_server_stop(), the server ends when all rings are drained and written. The server also ends
 * when it has no trace and the session daemon has disconnected.
 *
 * Errors are -errno with a cause chain. Errors that belong to no request are written to the log.
 */
#ifndef WMK_CONSUMER_SERVER_H
#define WMK_CONSUMER_SERVER_H

#include <stddef.h>
#include <stdint.h>

struct wmk_consumer_server;

#define WMK_SERVER_USER_TRACES 2048u

struct wmk_consumer_server_options {
	size_t size;                 /* sizeof(struct wmk_consumer_server_options) */
	/*
	 * The server creates the directory with mode 0700 if it does not exist, and refuses a directory that another
	 * user owns or can write to. NULL: no socket.
	 */
	const char *rundir;
	int kernel;                  /* 1: for kernel channels, with its own socket and lock file */
	uint64_t keep_free;          /* bytes of a disk that stay free (wmk_store_keep_free()) */
	/* 1: records that cannot be written when rings are removed stay in the rings, for a later attempt */
	int keep;
	int await_mount;             /* 1: open a trace when its file system is mounted (store/late_mount.h) */
	unsigned max_user_traces;    /* open traces of one user other than root; 0: WMK_SERVER_USER_TRACES */
	int connection;              /* socket of a session daemon that is already connected; -1: none */
	const char *version;         /* sent in HELLO */
	void (*log)(const char *words);      /* any thread; may be NULL */
};

/* -EADDRINUSE: another consumer daemon runs there. The server takes ownership of `connection`, except on failure. */
int wmk_consumer_server_open(const struct wmk_consumer_server_options *options, struct wmk_consumer_server **server);
/* Serve requests until the server ends; the file comment has the conditions. 0 or -errno. */
int wmk_consumer_server_run(struct wmk_consumer_server *server);
/* Make wmk_consumer_server_run() drain all rings and return. Async-signal-safe, any thread. */
void wmk_consumer_server_stop(struct wmk_consumer_server *server);
void wmk_consumer_server_close(struct wmk_consumer_server *server);

#endif
