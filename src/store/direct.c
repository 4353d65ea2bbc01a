/* SPDX-License-Identifier: MIT */
/*
 * direct.c - writes past the page cache. They cost no copy and leave the program's pages in the cache alone, and a
 * fast disk takes twice as much by them; but the cache swallows a burst that a slow disk cannot. So large packets are
 * timed, and go past the cache unless the cache takes them at more than four times the speed.
 */
#include "store/direct.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "store/internal.h"

#define CACHE_BIAS 4u
#define TRY_OTHER 32u              /* one packet in so many goes the other way, to see how fast that is now */

void wmk_direct_open(struct wmk_direct *direct, struct wmk_direct_rates *rates, int dir, const char *name)
{
	direct->rates = rates;
	direct->fd = openat(dir, name, O_WRONLY | O_NOFOLLOW | O_CLOEXEC | O_DIRECT);
}

void wmk_direct_close(struct wmk_direct *direct)
{
	if (direct->fd >= 0)
		close(direct->fd);
	direct->fd = -1;
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/*
 * What direct writes take: the first iovec up to its last whole block in place, the rest in one aligned block of our
 * own. The thread's own: two streams may be written by two threads.
 */
static int write_past(int fd, const struct iovec *iov, int n, uint64_t offset)
{
	static _Thread_local uint8_t tail[WMK_CTF_PAD_MAX + 2 * WMK_STORE_ALIGN] __attribute__((aligned(WMK_DIRECT_BLOCK)));
	size_t whole = iov[0].iov_len & ~(size_t)(WMK_STORE_ALIGN - 1), len = iov[0].iov_len - whole;
	struct iovec aligned[2] = { { iov[0].iov_base, whole }, { tail, 0 } };

	memcpy(tail, (const uint8_t *)iov[0].iov_base + whole, len);
	for (int i = 1; i < n; i++) {
		if (len + iov[i].iov_len > sizeof(tail))
			return -EINVAL;
		memcpy(tail + len, iov[i].iov_base, iov[i].iov_len);
		len += iov[i].iov_len;
	}
	aligned[1].iov_len = len;
	return wmk_store_write_whole(fd, aligned, len ? 2 : 1, offset);
}

static uint64_t rate_of(const struct wmk_direct *direct, bool past)
{
	return atomic_load_explicit(&direct->rates->rate[past], memory_order_relaxed);
}

/* The first large packet goes past the cache, the second one through it; then it is known which is better. */
static bool go_past(struct wmk_direct *direct, const struct iovec *iov, size_t size, uint64_t offset)
{
	const uint64_t cached = rate_of(direct, false), direct_rate = rate_of(direct, true);
	uint32_t turn;
	bool past = direct_rate == 0 || (cached != 0 && cached <= CACHE_BIAS * direct_rate);

	if (direct->fd < 0 || size < WMK_STORE_DIRECT_MIN || offset % WMK_DIRECT_BLOCK || size % WMK_DIRECT_BLOCK ||
	    (uintptr_t)iov[0].iov_base % WMK_STORE_ALIGN)
		return false;
	turn = atomic_fetch_add_explicit(&direct->rates->turn, 1, memory_order_relaxed);
	return turn % TRY_OTHER == TRY_OTHER - 1 ? !past : past;
}

static void learn(struct wmk_direct *direct, bool past, size_t size, uint64_t ns)
{
	uint64_t rate = (uint64_t)size * 1000000 / (ns + 1), before = rate_of(direct, past);

	atomic_store_explicit(&direct->rates->rate[past], before ? (3 * before + rate) / 4 : rate,
			      memory_order_relaxed);
}

int wmk_direct_write(struct wmk_direct *direct, int fd, const struct iovec *iov, int n, uint64_t offset)
{
	size_t size = 0;
	uint64_t start;
	bool past;
	int i, err;

	for (i = 0; i < n; i++)
		size += iov[i].iov_len;
	past = go_past(direct, iov, size, offset);
	start = size < WMK_STORE_DIRECT_MIN ? 0 : now_ns();
	err = past ? write_past(direct->fd, iov, n, offset) : wmk_store_write_whole(fd, iov, n, offset);
	if (err == -EINVAL && past) {
		/* The file system opens files that way, but wants another alignment: not past the cache then. */
		wmk_direct_close(direct);
		return wmk_store_write_whole(fd, iov, n, offset);
	}
	if (err < 0 || !start)
		return err;
	learn(direct, past, size, now_ns() - start);
	return 0;
}
