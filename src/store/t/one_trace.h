/* SPDX-License-Identifier: MIT */
/*
 * one_trace.h - shared by tests of one trace: a directory for each test, a trace `t` in it, packets of at most 8 kB.
 */
#ifndef WMK_STORE_ONE_TRACE_H
#define WMK_STORE_ONE_TRACE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "store/store.h"
#include "testdir.h"

#define SUB "ust/uid/1/64-bit"
#define IN_SUB(name) "t/" SUB "/" name

static const uint8_t uuid[16] = "0123456789abcdef";
static char dir[256];

static inline int setup(void **state)
{
	(void)state;
	testdir_make(dir);
	return 0;
}

static inline int teardown(void **state)
{
	(void)state;
	testdir_remove(dir);
	return 0;
}

/* Static buffers: two of them, in turn. */
static inline const char *in_dir(const char *name)
{
	static char paths[2][512];
	static unsigned turn;

	turn = !turn;
	snprintf(paths[turn], sizeof(paths[turn]), "%s/%s", dir, name);
	return paths[turn];
}

static inline struct wmk_store *create(void)
{
	struct wmk_store *store;

	assert_int_equal(wmk_store_create(in_dir("t"), SUB, &store), 0);
	return store;
}

static inline unsigned mode_of(const char *name)
{
	struct stat st;

	assert_int_equal(lstat(in_dir(name), &st), 0);
	return st.st_mode;
}

/* -1: the file does not exist. */
static inline off_t size_of(const char *name)
{
	struct stat st;

	return lstat(in_dir(name), &st) < 0 ? -1 : st.st_size;
}

static inline void limit_files(rlim_t bytes)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = bytes == RLIM_INFINITY ? limit.rlim_max : bytes;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static inline int append(struct wmk_store_stream *stream, struct wmk_ctf_packet *packet)
{
	static uint8_t bytes[8192];
	static uint8_t end[WMK_CTF_END_MAX];
	struct iovec iov[2] = { { bytes, WMK_CTF_PACKET_ROOM + packet->content }, { end, 0 } };

	memset(bytes, 'r', sizeof(bytes));
	wmk_ctf_packet_encode(bytes, uuid, packet);
	iov[1].iov_len = wmk_ctf_packet_end(end, packet);
	return wmk_store_stream_append(stream, iov, 2, packet);
}

#endif
