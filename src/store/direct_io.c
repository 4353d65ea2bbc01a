/* SPDX-License-Identifier: MIT */
/*
 * direct_io.c - direct I/O: writes that bypass the page cache. Direct writes need no copy, do not evict other pages
 * from the cache, and double the throughput of a fast disk. The page cache can absorb a burst that is too fast for a
 * slow disk. To select the faster method, the consumer daemon measures how long large writes take. Large packets bypass
 * the page cache, unless the page cache is more than four times as fast. When the consumer daemon falls behind, large
 * packets use the faster method. A full page cache is much slower than the disk. The speed of the page cache is
 * therefore tested with small writes, and is not tested while the buffers fill up.
 */
#include "store/direct_io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "store/store_state.h"

#define CACHE_BIAS 4u
/* one packet of this many is written partly the other way, to measure the speed of the other way */
#define TRY_OTHER 32u
#define TRY_PRESSED 4u             /* the same while more than PRESSED percent of the ring wait to be written */
/* percentage of a ring that waits to be written; up to RELAXED, the other way is tested */
#define RELAXED 25u
#define PRESSED 50u                /* above this percentage, packets use the faster way even if that way is the cache */
#define CACHE_CHUNK (512u * 1024)
#define DIRECT_CHUNK (1024u * 1024)
#define WMK_DIRECT_IOV 4

void wmk_direct_open(struct wmk_direct *direct, struct wmk_direct_rates *rates, int dir, const char *name, int fd)
{
	struct stat is, st;

	direct->rates = rates;
	/*
	 * O_NONBLOCK is required because the owner of the directory may have replaced the file by a FIFO, which would
	 * block open().
	 */
	direct->fd = openat(dir, name, O_WRONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_DIRECT);
	if (direct->fd >= 0 &&
	    (fstat(fd, &is) != 0 || fstat(direct->fd, &st) != 0 || is.st_dev != st.st_dev || is.st_ino != st.st_ino))
		wmk_direct_close(direct);
}

void wmk_direct_close(struct wmk_direct *direct)
{
	if (direct->fd >= 0)
		close(direct->fd);
	direct->fd = -1;
}

/*
 * Direct I/O requires aligned memory. The whole blocks of the first iovec are written without a copy; the remaining
 * bytes are written from one aligned buffer. Each thread has its own buffer, because threads write different streams at
 * the same time.
 */
static int write_past(int fd, const struct iovec *iov, int n, uint64_t offset)
{
	static _Thread_local uint8_t tail[WMK_CTF_PAD_MAX + 2 * WMK_STORE_ALIGN]
		__attribute__((aligned(WMK_DIRECT_BLOCK)));
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

static bool can_go_past(const struct wmk_direct *direct, const struct iovec *iov, size_t size, uint64_t offset)
{
	return direct->fd >= 0 && size >= WMK_STORE_DIRECT_MIN && offset % WMK_DIRECT_BLOCK == 0 &&
	       size % WMK_DIRECT_BLOCK == 0 && (uintptr_t)iov[0].iov_base % WMK_STORE_ALIGN == 0;
}

/*
 * While packets are written through the page cache, a trial measures the speed of direct I/O. While packets are written
 * with direct I/O (`past` is set), a trial measures the speed of the page cache. Returns how many bytes of the packet
 * are written as a trial; 0 if the packet has no trial. There is no trial until the speed of the current method is
 * known. While at most RELAXED percent of the buffer wait to be written, there is a trial for every packet until the
 * speed of the other method is known. When both speeds are known, there is a trial for one packet in TRY_OTHER. While
 * more than PRESSED percent of the buffer wait to be written, there is a trial for one packet in TRY_PRESSED. Between
 * RELAXED and PRESSED percent, there are no trials.
 */
static size_t trial(struct wmk_direct *direct, bool past)
{
	const uint32_t turn = atomic_fetch_add_explicit(&direct->rates->turn, 1, memory_order_relaxed) + 1;
	const uint32_t pressure = atomic_load_explicit(&direct->rates->pressure, memory_order_relaxed);
	const bool unknown = rate_of(direct, !past) == 0;

	if (rate_of(direct, past) == 0)
		return 0;
	if (pressure <= RELAXED ? unknown || turn % TRY_OTHER == 0 : pressure > PRESSED && turn % TRY_PRESSED == 0)
		return past ? CACHE_CHUNK : DIRECT_CHUNK;
	return 0;
}

static bool prefer_past(const struct wmk_direct *direct)
{
	const uint64_t cached = rate_of(direct, false), past = rate_of(direct, true);
	const uint32_t pressure = atomic_load_explicit(&direct->rates->pressure, memory_order_relaxed);

	return past == 0 || cached <= (pressure > PRESSED ? 1 : CACHE_BIAS) * past;
}

/*
 * Store the average of the previous rate and the new rate. A short write has the same weight as the write of a whole
 * packet.
 */
static void learn(struct wmk_direct *direct, bool past, size_t size, uint64_t ns)
{
	uint64_t rate = (uint64_t)size * 1000000 / (ns + 1), before = rate_of(direct, past);

	atomic_store_explicit(&direct->rates->rate[past], before ? (before + rate) / 2 : rate, memory_order_relaxed);
}

/* Write `size` bytes from the address `at`, which is within the first iovec, and measure the time of the write. */
static int write_piece(struct wmk_direct *direct, int fd, bool past, uint8_t *at, size_t size, uint64_t offset)
{
	const struct iovec iov = { at, size };
	uint64_t start = wmk_clock_monotonic();
	int err = wmk_store_write_whole(past ? direct->fd : fd, &iov, 1, offset);

	if (err >= 0)
		learn(direct, past, size, wmk_clock_monotonic() - start);
	return err;
}

/* Write the packet, except the first `done` bytes of its first iovec. */
static int write_rest(struct wmk_direct *direct, int fd, bool past, const struct iovec *iov, int n, size_t done,
		      size_t size, uint64_t offset)
{
	struct iovec rest[WMK_DIRECT_IOV];
	uint64_t start = wmk_clock_monotonic();
	int err;

	memcpy(rest, iov, (size_t)n * sizeof(*iov));
	rest[0].iov_base = (uint8_t *)rest[0].iov_base + done;
	rest[0].iov_len -= done;
	err = past ? write_past(direct->fd, rest, n, offset + done) :
		     wmk_store_write_whole(fd, rest, n, offset + done);
	if (err >= 0)
		learn(direct, past, size - done, wmk_clock_monotonic() - start);
	return err;
}

/*
 * Write a packet that permits both methods, by direct I/O or through the page cache. The first part of the packet may
 * be written as a trial (see trial()). For the other parts, prefer_past() selects direct I/O or the page cache. Writes
 * to the page cache are split, to detect early that the kernel slows the writer down because of too many dirty pages.
 */
static int write_either(struct wmk_direct *direct, int fd, const struct iovec *iov, int n, size_t size,
			uint64_t offset)
{
	bool past = prefer_past(direct);
	size_t done = trial(direct, past), whole = iov[0].iov_len & ~(size_t)(WMK_DIRECT_BLOCK - 1);
	int err = 0;

	if (done && done < whole)
		err = write_piece(direct, fd, !past, iov[0].iov_base, done, offset);
	else
		done = 0;
	past = prefer_past(direct);
	while (err >= 0 && !past && whole - done > CACHE_CHUNK) {
		err = write_piece(direct, fd, false, (uint8_t *)iov[0].iov_base + done, CACHE_CHUNK, offset + done);
		done += CACHE_CHUNK;
		past = prefer_past(direct);
	}
	return err < 0 ? err : write_rest(direct, fd, past, iov, n, done, size, offset);
}

int wmk_direct_write(struct wmk_direct *direct, int fd, const struct iovec *iov, int n, uint64_t offset)
{
	size_t size = 0;
	int i, err;

	for (i = 0; i < n; i++)
		size += iov[i].iov_len;
	if (n > WMK_DIRECT_IOV || !can_go_past(direct, iov, size, offset))
		return wmk_store_write_whole(fd, iov, n, offset);
	err = write_either(direct, fd, iov, n, size, offset);
	if (err == -EINVAL) {
		/* The file system accepts O_DIRECT but requires another alignment, so use the cache from now on. */
		wmk_direct_close(direct);
		return wmk_store_write_whole(fd, iov, n, offset);
	}
	/*
	 * The failed write has already truncated the part that it was writing. If a write fails, truncate the earlier
	 * parts of the packet, too. If the truncation of the earlier parts fails, the next attempt overwrites these
	 * parts.
	 */
	if (err < 0 && ftruncate(fd, (off_t)offset) < 0)
		(void)0;
	return err;
}
