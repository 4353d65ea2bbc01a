/* SPDX-License-Identifier: MIT */
/*
 * hosts.h - the hosts that send to the relay: the directory of each host below the root, and its limits.
 *
 * The entry of a host exists from the host's first connection until the relay exits. Any thread.
 */
#ifndef WMK_RELAY_HOSTS_H
#define WMK_RELAY_HOSTS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "relay/relay_conf.h"

struct wmk_relay_host {
	struct wmk_relay_host *next;
	struct wmk_relay_conf_host is;       /* name and limits */
	/* of all files in the host's directory; relaxed, because it is only a count */
	_Atomic int64_t bytes;
	/* time at which the bytes that were received are within the rate of the host, in ns; relaxed: only a count */
	_Atomic int64_t rate_ns;
	/* under the lock of the table */
	unsigned connections;
	bool measured;
	int64_t measured_ms;                 /* time of the latest refusal */
	char error[WMK_RELAY_MESSAGE_MAX + 1];       /* the text of the latest refusal */
};

struct wmk_relay_hosts {
	pthread_mutex_t lock;
	const struct wmk_relay_conf *conf;
	char *root;                          /* absolute path, without symbolic links */
	int dir;                             /* of the root */
	struct wmk_relay_host *first;
	unsigned n;
};

/* Milliseconds of CLOCK_MONOTONIC. */
int64_t wmk_relay_now_ms(void);

/* Create the root directory with mode 0700 if it does not exist, and open it. `conf` must outlive the table. */
int wmk_relay_hosts_open(struct wmk_relay_hosts *hosts, const char *root, const struct wmk_relay_conf *conf);
void wmk_relay_hosts_close(struct wmk_relay_hosts *hosts);

/*
 * Find or create the entry of a host, and count a connection of this host. -EINVAL: the name is invalid; -EDQUOT: the
 * host has its maximum of connections; -errno: its directory cannot be made or measured.
 */
int wmk_relay_host_enter(struct wmk_relay_hosts *hosts, const char *name, struct wmk_relay_host **host);
void wmk_relay_host_leave(struct wmk_relay_hosts *hosts, struct wmk_relay_host *host);
/* 0: the quota has room for `bytes` more; -EDQUOT with a cause chain. */
int wmk_relay_host_room(struct wmk_relay_hosts *hosts, struct wmk_relay_host *host, uint64_t bytes);
/* Add `bytes`, the change in the size of the host's files, to the host's total. */
void wmk_relay_host_count(struct wmk_relay_host *host, int64_t bytes);
/*
 * Count `bytes` that the relay has received from the host. Returns the time until which the relay must not receive more
 * from the host (in the clock of wmk_relay_now_ms()), or 0 if the relay may receive now. After a pause, a host may
 * exceed its rate limit by at most the bytes of one second.
 */
int64_t wmk_relay_host_received(struct wmk_relay_host *host, uint64_t bytes);
/* Call this after files of the host were removed, to measure the directory again. */
void wmk_relay_host_measure(struct wmk_relay_hosts *hosts, struct wmk_relay_host *host);
/* Store the latest error. Returns false if the text is equal to that of the previous error. */
bool wmk_relay_host_set_error(struct wmk_relay_hosts *hosts, struct wmk_relay_host *host, const char *text);

/*
 * Store the path of HOST/SESSION in *path, allocated with malloc(). Checks the names. Checks that no component of the
 * path and of `sub` is a symbolic link. *exists: the directory `sub` exists. -EINVAL, -ELOOP, -errno with a cause
 * chain.
 */
int wmk_relay_host_path(const struct wmk_relay_hosts *hosts, const struct wmk_relay_host *host, const char *session,
			const char *sub, char **path, bool *exists);
/*
 * Open a directory or file below HOST/SESSION for reading. No component of the path may be a symbolic link. `path` is
 * relative; "" selects the session directory itself. If `session` is "", the directory of the host is opened. If `host`
 * is "", and session and path are empty, the root directory is opened. -EINVAL: invalid name; -EXDEV: not a path below
 * HOST; -ELOOP, -errno, with a cause chain. The caller closes the descriptor.
 */
int wmk_relay_hosts_open_file(const struct wmk_relay_hosts *hosts, const char *host, const char *session,
			      const char *path);

#endif
