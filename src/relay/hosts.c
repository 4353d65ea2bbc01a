/* SPDX-License-Identifier: MIT */
/* hosts.c - the hosts of a relay, their directories and quotas (see hosts.h). */
#include "relay/hosts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "net/certificates.h"
#include "store/store.h"

#define MEASURE_MS 5000              /* minimum time between two measurements of a host that has used up its quota */

int64_t wmk_relay_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int wmk_relay_hosts_open(struct wmk_relay_hosts *hosts, const char *root, const struct wmk_relay_conf *conf)
{
	int err = wmk_store_make_directory(root);

	*hosts = (struct wmk_relay_hosts){ .conf = conf, .dir = -1 };
	if (err < 0 && err != -EEXIST)
		return wmk_error_add(err, "cannot use %.240s as the trace directory of the relay", root);
	wmk_error_clear();
	hosts->root = realpath(root, NULL);
	hosts->dir = hosts->root ? open(hosts->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	if (hosts->dir < 0) {
		err = -errno;
		free(hosts->root);
		return wmk_error(err, "cannot use %.240s as the trace directory of the relay: %s", root,
				 strerror(-err));
	}
	pthread_mutex_init(&hosts->lock, NULL);
	return 0;
}

void wmk_relay_hosts_close(struct wmk_relay_hosts *hosts)
{
	while (hosts->first) {
		struct wmk_relay_host *host = hosts->first;

		hosts->first = host->next;
		free(host);
	}
	pthread_mutex_destroy(&hosts->lock);
	close(hosts->dir);
	free(hosts->root);
}

/* Measure with the lock held. If the disk does not respond, only connections of new hosts are delayed. */
static int measure(struct wmk_relay_hosts *hosts, struct wmk_relay_host *host)
{
	char path[PATH_MAX];
	uint64_t bytes;
	int err;

	if (snprintf(path, sizeof(path), "%s/%s", hosts->root, host->is.name) >= (int)sizeof(path))
		return wmk_error(-ENAMETOOLONG, "the path of %.200s is too long", hosts->root);
	err = wmk_store_usage(path, &bytes);
	if (err == 0)
		atomic_store_explicit(&host->bytes, (int64_t)bytes, memory_order_relaxed);
	host->measured_ms = wmk_relay_now_ms();
	host->measured = err == 0;
	return err;
}

static int open_with(int dir, const char *path, uint64_t flags)
{
	const struct open_how how = { .flags = flags | O_CLOEXEC,
				      .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS };
	const int fd = (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));

	return fd < 0 ? -errno : fd;
}

static int open_beneath(int dir, const char *path)
{
	return open_with(dir, path, O_PATH | O_DIRECTORY);
}

static int make_directory(const struct wmk_relay_hosts *hosts, const char *name)
{
	int fd = mkdirat(hosts->dir, name, 0700) < 0 && errno != EEXIST ? -errno : 0;

	if (fd == 0)
		fd = open_beneath(hosts->dir, name);
	if (fd < 0)
		return wmk_error(fd, "cannot use %.200s/%.64s for the traces of a host: %s", hosts->root, name,
				 fd == -ELOOP ? "it is a symbolic link" : strerror(-fd));
	close(fd);
	return 0;
}

/* With the lock held. */
static struct wmk_relay_host *find_or_make(struct wmk_relay_hosts *hosts, const char *name)
{
	struct wmk_relay_host *host = hosts->first;

	while (host && strcmp(host->is.name, name) != 0)
		host = host->next;
	if (host)
		return host;
	host = hosts->n < WMK_RELAY_HOSTS_MAX ? calloc(1, sizeof(*host)) : NULL;
	if (!host) {
		wmk_error(-ENOMEM, "no memory for another host (the relay has %u hosts)", hosts->n);
		return NULL;
	}
	host->is = wmk_relay_conf_of(hosts->conf, name);
	host->next = hosts->first;
	hosts->first = host;
	hosts->n++;
	return host;
}

static int enter(struct wmk_relay_hosts *hosts, struct wmk_relay_host *host)
{
	int err = make_directory(hosts, host->is.name);

	if (err == 0 && !host->measured)
		err = measure(hosts, host);
	if (err == 0 && host->connections >= host->is.max_connections)
		err = wmk_error(-EDQUOT, "host \"%s\" has %u connections, its limit (max-connections in relay.conf)",
				host->is.name, host->connections);
	if (err < 0)
		wmk_error_text(host->error, sizeof(host->error));
	else
		host->connections++;
	return err;
}

int wmk_relay_host_enter(struct wmk_relay_hosts *hosts, const char *name, struct wmk_relay_host **host)
{
	int err;

	if (!wmk_peer_name_is_valid(name))
		return wmk_error(-EINVAL, "\"%.64s\" cannot be the name of a host: 1 to 63 letters, digits, '-', '_' "
				 "and '.', the first of them a letter, a digit or '_'", name);
	pthread_mutex_lock(&hosts->lock);
	*host = find_or_make(hosts, name);
	err = *host ? enter(hosts, *host) : -ENOMEM;
	pthread_mutex_unlock(&hosts->lock);
	return err;
}

void wmk_relay_host_leave(struct wmk_relay_hosts *hosts, struct wmk_relay_host *host)
{
	pthread_mutex_lock(&hosts->lock);
	host->connections--;
	pthread_mutex_unlock(&hosts->lock);
}

int wmk_relay_host_room(struct wmk_relay_hosts *hosts, struct wmk_relay_host *host, uint64_t bytes)
{
	int64_t used = atomic_load_explicit(&host->bytes, memory_order_relaxed);

	if (!host->is.max_bytes || (used >= 0 && (uint64_t)used + bytes <= host->is.max_bytes))
		return 0;
	/* The administrator may have removed traces, so measure the directory again. */
	pthread_mutex_lock(&hosts->lock);
	if (wmk_relay_now_ms() - host->measured_ms >= MEASURE_MS && measure(hosts, host) < 0)
		wmk_error_clear();
	pthread_mutex_unlock(&hosts->lock);
	used = atomic_load_explicit(&host->bytes, memory_order_relaxed);
	if (used >= 0 && (uint64_t)used + bytes <= host->is.max_bytes)
		return 0;
	return wmk_error(-EDQUOT, "the quota of host \"%s\" is used up: it has %lld of %llu bytes on the relay's disk "
			 "(remove traces there, or raise max-bytes in relay.conf)", host->is.name, (long long)used,
			 (unsigned long long)host->is.max_bytes);
}

void wmk_relay_host_count(struct wmk_relay_host *host, int64_t bytes)
{
	atomic_fetch_add_explicit(&host->bytes, bytes, memory_order_relaxed);
}

int64_t wmk_relay_host_received(struct wmk_relay_host *host, uint64_t bytes)
{
	const int64_t second = 1000000000, now = (int64_t)wmk_clock_monotonic();
	int64_t before = atomic_load_explicit(&host->rate_ns, memory_order_relaxed), after;

	if (!host->is.max_rate)
		return 0;
	do
		after = (before > now - second ? before : now - second) +
			(int64_t)((double)bytes * (double)second / (double)host->is.max_rate);
	while (!atomic_compare_exchange_weak_explicit(&host->rate_ns, &before, after, memory_order_relaxed,
						      memory_order_relaxed));
	return after > now ? after / 1000000 + 1 : 0;
}

void wmk_relay_host_measure(struct wmk_relay_hosts *hosts, struct wmk_relay_host *host)
{
	pthread_mutex_lock(&hosts->lock);
	if (measure(hosts, host) < 0)
		wmk_error_clear();
	pthread_mutex_unlock(&hosts->lock);
}

bool wmk_relay_host_set_error(struct wmk_relay_hosts *hosts, struct wmk_relay_host *host, const char *text)
{
	bool differs;

	pthread_mutex_lock(&hosts->lock);
	differs = strncmp(host->error, text, sizeof(host->error) - 1) != 0;
	snprintf(host->error, sizeof(host->error), "%s", text);
	pthread_mutex_unlock(&hosts->lock);
	return differs;
}

int wmk_relay_host_path(const struct wmk_relay_hosts *hosts, const struct wmk_relay_host *host, const char *session,
			const char *sub, char **path, bool *exists)
{
	char below[WMK_RELAY_HOST_MAX + 2 * WMK_RELAY_NAME_MAX + 4], whole[PATH_MAX];
	int err = wmk_relay_name_check("the name of the session", session, WMK_RELAY_NAME_MAX), fd;

	if (err == 0 && sub[0])
		err = wmk_relay_sub_check(sub);
	if (err < 0)
		return err;
	snprintf(below, sizeof(below), "%s/%s%s%s", host->is.name, session, sub[0] ? "/" : "", sub);
	fd = open_beneath(hosts->dir, below);
	*exists = fd >= 0;
	if (fd >= 0)
		close(fd);
	else if (fd != -ENOENT)
		return wmk_error(fd, "cannot use \"%.400s\" below the relay's directory: %s", below,
				 fd == -ELOOP ? "the path contains a symbolic link" : strerror(-fd));
	if (snprintf(whole, sizeof(whole), "%s/%s/%s", hosts->root, host->is.name, session) >= (int)sizeof(whole))
		return wmk_error(-ENAMETOOLONG, "the path of session \"%.200s\" is too long", session);
	*path = strdup(whole);
	return *path ? 0 : wmk_error(-ENOMEM, "no memory for a path");
}

/* Open the directory of a host; the host "" selects the root directory of all hosts. */
static int open_host(const struct wmk_relay_hosts *hosts, const char *host)
{
	int fd;

	if (host[0] && !wmk_peer_name_is_valid(host))
		return wmk_error(-EINVAL, "\"%.64s\" cannot be the name of a host", host);
	fd = open_with(hosts->dir, host[0] ? host : ".", O_RDONLY | O_DIRECTORY);
	return fd == -ENOENT ? wmk_error(fd, "this relay has no host \"%s\"", host)
	       : fd < 0	    ? wmk_error(fd, "cannot open the directory of host \"%s\": %s", host,
					fd == -ELOOP ? "it is a symbolic link" : strerror(-fd))
			    : fd;
}

/*
 * The path is resolved beneath the directory of the host (RESOLVE_BENEATH). With RESOLVE_BENEATH, a path with ".."
 * cannot refer to the directory of another host.
 */
int wmk_relay_hosts_open_file(const struct wmk_relay_hosts *hosts, const char *host, const char *session,
			      const char *path)
{
	char below[WMK_RELAY_NAME_MAX + WMK_RELAY_VIEW_PATH_MAX + 3];
	int err = 0, dir, fd;

	if (session[0])
		err = wmk_relay_name_check("the name of the session", session, WMK_RELAY_NAME_MAX);
	if (err == 0 && strlen(path) > WMK_RELAY_VIEW_PATH_MAX)
		err = wmk_error(-ENAMETOOLONG, "the path of a file is too long");
	dir = err < 0 ? err : open_host(hosts, host);
	if (dir < 0 || (!session[0] && !path[0]))
		return dir;
	snprintf(below, sizeof(below), "%s%s%s", session, session[0] && path[0] ? "/" : "", path);
	fd = open_with(dir, below, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	close(dir);
	if (fd == -ENOENT && !path[0])
		return wmk_error(fd, "host \"%s\" has no session \"%.200s\" here", host, session);
	return fd < 0 ? wmk_error(fd, "cannot read \"%.400s\" of host \"%s\": %s", below, host,
				  fd == -ELOOP ? "the path contains a symbolic link" : strerror(-fd))
		      : fd;
}
