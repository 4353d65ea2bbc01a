/* SPDX-License-Identifier: MIT */
/*
 * server.h - waymark-consumerd: consumers for a session daemon in another process, which commands them over a socket
 * (wire/consumerd.h).
 *
 *     <rundir>/consumer.sock ──requests──► server's thread ──work──► a thread for each trace: its consumer, which carries them out
 *                            ◄─answers───                  ◄──done──
 *
 * A session daemon may go and another come: consuming goes on, LIST hands over all that there is. One is served at a
 * time; a new one takes the place of the old. The server ends when it is told to (SHUTDOWN,
 * wmk_consumer_server_stop()), all rings emptied and written; and when it holds nothing and nobody is connected any
 * more.
 *
 * Errors are -errno with a cause chain. What concerns nobody who is connected goes to `log`.
 */
#ifndef WMK_CONSUMER_SERVER_H
#define WMK_CONSUMER_SERVER_H

#include <stddef.h>
#include <stdint.h>

struct wmk_consumer_server;

#define WMK_SERVER_USER_TRACES 2048u

struct wmk_consumer_server_options {
	size_t size;                 /* sizeof(struct wmk_consumer_server_options) */
	const char *rundir;          /* made 0700 if absent; refused if another's or open to others; NULL: no socket */
	int kernel;                  /* 1: for kernel channels: at a socket of its own */
	uint64_t keep_free;          /* bytes of a disk that stay free (wmk_store_keep_free()) */
	/* 1: at the end of rings what could not be written stays in them, for who tries again */
	int keep;
	unsigned max_user_traces;    /* traces of one user other than root at a time; 0: WMK_SERVER_USER_TRACES */
	int connection;              /* a session daemon that is there from the beginning, taken over; -1: none */
	const char *version;         /* said in HELLO */
	void (*log)(const char *words);      /* any thread; may be NULL */
};

/* -EADDRINUSE: another one runs there. `connection` is the caller's still when this fails. */
int wmk_consumer_server_open(const struct wmk_consumer_server_options *options, struct wmk_consumer_server **server);
/* Serves until the end; then everything is written that could be. 0 or -errno. */
int wmk_consumer_server_run(struct wmk_consumer_server *server);
/* Async-signal-safe, any thread: wmk_consumer_server_run() empties all rings and returns. */
void wmk_consumer_server_stop(struct wmk_consumer_server *server);
void wmk_consumer_server_close(struct wmk_consumer_server *server);

#endif
