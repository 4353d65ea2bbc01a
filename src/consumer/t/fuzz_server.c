/* SPDX-License-Identifier: MIT */
/*
 * fuzz_server.c - send any bytes, as a session daemon would, to a complete waymark-consumerd without its disk: frames,
 * objects, traces, rings, work items in their threads. A frame that announces a descriptor gets that of a ring set. At
 * the end everything is released.
 */
#include <ftw.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "consumer/consumer.h"
#include "consumer/server.h"
#include "store/store.h"
#include "wire/consumerd.h"
#include "wire/t/peer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
void fuzz_set_up(void);
void fuzz_clean_up(void);
typedef int opening(const char *path, const char *sub, struct wmk_store **store);
opening __wrap_wmk_store_open, __wrap_wmk_store_add, __wrap_wmk_store_create, __wrap_wmk_store_take_over;
opening __real_wmk_store_open, __real_wmk_store_create;

static char dir[] = "/tmp/waymark-fuzz-XXXXXX";
static struct waymark_ring_set *set;

/* Paths are below this directory, or do not exist. */
int __wrap_wmk_store_open(const char *path, const char *sub, struct wmk_store **store)
{
	if (path[1] != 't' || !sub[0])
		return wmk_error(-2, "no such directory");
	return __real_wmk_store_open(dir, "here", store);
}

int __wrap_wmk_store_add(const char *path, const char *sub, struct wmk_store **store)
{
	return __wrap_wmk_store_open(path, sub, store);
}

int __wrap_wmk_store_create(const char *path, const char *sub, struct wmk_store **store)
{
	return __wrap_wmk_store_open(path, sub, store);
}

int __wrap_wmk_store_take_over(const char *path, const char *sub, struct wmk_store **store)
{
	return __wrap_wmk_store_open(path, sub, store);
}

int __wrap_wmk_store_each_process(const char *path, int (*one)(void *data, const char *name), void *data);
int __wrap_wmk_store_remove_process(const char *path, const char *name);

/* No directory of this machine is listed or removed. */
int __wrap_wmk_store_each_process(const char *path, int (*one)(void *data, const char *name), void *data)
{
	for (unsigned i = 0; path[1] == 't' && i < 3; i++)
		if (one(data, "shop-1") != 0)
			break;
	return 0;
}

int __wrap_wmk_store_remove_process(const char *path, const char *name)
{
	return path[1] == 't' && name[0] ? 0 : wmk_error(-22, "no process of that name");
}

int __wrap_wmk_store_archive(const char *path, const char *sub, const char *chunk);
int __wrap_wmk_store_archive_end(const char *path, const char *chunk);

/* No directory of this machine may be moved. */
int __wrap_wmk_store_archive(const char *path, const char *sub, const char *chunk)
{
	return path[1] == 't' && sub[0] && chunk[0] ? 0 : wmk_error(-22, "no chunk of that name");
}

int __wrap_wmk_store_archive_end(const char *path, const char *chunk)
{
	return path[1] == 't' && chunk[0] ? 0 : wmk_error(-22, "no chunk of that name");
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	(void)st;
	(void)kind;
	(void)ftw;
	return remove(path);
}

void fuzz_set_up(void)
{
	struct wmk_store *store;

	if (!mkdtemp(dir) || __real_wmk_store_create(dir, "here", &store) < 0)
		abort();
	wmk_store_close(store);
}

void fuzz_clean_up(void)
{
	nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void *serve(void *server)
{
	if (wmk_consumer_server_run(server) < 0)
		abort();
	return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct waymark_ring_options ring = { .size = sizeof(ring),
						   .subbuf_size = 4096,
						   .n_subbufs = 2,
						   .n_cpus = 1,
						   .header_room = WMK_CTF_PACKET_ROOM };
	struct wmk_consumer_server_options options = { .size = sizeof(options), .version = "fuzz" };
	struct wmk_consumer_server *server;
	pthread_t thread;
	uint8_t answer[4096];
	int pair[2];

	if (!set && waymark_ring_set_create(&ring, &set) != 0)
		abort();
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		abort();
	options.connection = pair[1];
	if (wmk_consumer_server_open(&options, &server) < 0 || pthread_create(&thread, NULL, serve, server) != 0)
		abort();
	const int fd = waymark_ring_set_fd(set);

	for (size_t at = 0; at < size;)
		at += peer_send(pair[0], data + at, size - at, &fd, 1);
	shutdown(pair[0], SHUT_WR);
	/* Wait until the server has received everything. */
	while (read(pair[0], answer, sizeof(answer)) > 0)
		continue;
	wmk_consumer_server_stop(server);
	pthread_join(thread, NULL);
	wmk_consumer_server_close(server);
	close(pair[0]);
	return 0;
}
