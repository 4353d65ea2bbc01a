/* SPDX-License-Identifier: MIT */
/*
 * set.c - ring sets: create, open, retire, close. A reader maps all memory of the set accessible. A writer maps the
 * data PROT_NONE, and makes a sub-buffer accessible when the writer enters the sub-buffer.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ring/file.h"
#include "ring/record_header.h"

#define GUARD_LEN 65536 /* longer than any copy: a copy to a forged position ends here, not in other memory */

extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned int __rseq_size __attribute__((weak));

/* Retired sets, which a later open of a set with the same shape reuses. */
static struct waymark_ring_set *retired;

static int power_of_two(uint64_t v)
{
	return v != 0 && (v & (v - 1)) == 0;
}

static uint64_t round_up(uint64_t v, uint64_t to)
{
	return (v + to - 1) / to * to;
}

/* Return the highest number of a possible CPU, plus one. */
static uint32_t possible_cpus(void)
{
	char buf[256], *p;
	long n = sysconf(_SC_NPROCESSORS_CONF);
	int fd = open("/sys/devices/system/cpu/possible", O_RDONLY | O_CLOEXEC);
	ssize_t len;
	unsigned last;

	if (fd >= 0) {
		len = read(fd, buf, sizeof(buf) - 1);
		close(fd);
		buf[len > 0 ? len : 0] = 0;
		for (p = buf + strlen(buf); p > buf && (p[-1] == '\n' || (p[-1] >= '0' && p[-1] <= '9')); p--)
			;
		if (sscanf(p, "%u", &last) == 1 && last < WMK_RING_MAX_CPUS && (long)last + 1 > n)
			n = (long)last + 1;
	}
	return n < 1 ? 1 : n > (long)WMK_RING_MAX_CPUS ? WMK_RING_MAX_CPUS : (uint32_t)n;
}

/* Check all values from which the layout is computed. */
static int check_geometry(const struct waymark_ring_options *o, uint64_t page)
{
	if (!power_of_two(o->subbuf_size) || o->subbuf_size < WMK_RING_MIN_SUBBUF ||
	    o->subbuf_size > WMK_RING_MAX_SUBBUF || o->subbuf_size < page)
		return -EINVAL;
	if (!power_of_two(o->n_subbufs) || o->n_subbufs < (o->mode == WAYMARK_RING_OVERWRITE ? 4u : 2u) ||
	    (uint64_t)o->n_subbufs * o->subbuf_size > WMK_RING_MAX_SIZE)
		return -EINVAL;
	if (o->n_cpus == 0 || o->n_cpus > WMK_RING_MAX_CPUS || o->header_room % 8 != 0 ||
	    o->header_room > WMK_RING_MAX_ROOM)
		return -EINVAL;
	if (o->mode > WAYMARK_RING_OVERWRITE || o->clock > WAYMARK_CLOCK_PLUGIN || o->block_us < -1)
		return -EINVAL;
	if (o->allocation > WAYMARK_RING_PER_SET || (o->allocation == WAYMARK_RING_PER_SET && o->n_cpus != 1) ||
	    (o->poll_us && (o->block_us || o->allocation == WAYMARK_RING_PER_SET)))
		return -EINVAL;
	return 0;
}

static uint64_t data_offset(uint32_t n_rings, uint64_t page)
{
	return round_up(WMK_RING_HEADER_SIZE, page) + round_up((uint64_t)n_rings * sizeof(struct wmk_ring_ctl), page);
}

/*
 * Return true if the sets have equal values in all members that a recording thread with a stale pointer may still read.
 */
static int same_shape(const struct waymark_ring_set *set, const struct waymark_ring_options *o)
{
	const struct waymark_ring_options *is = &set->options;

	return is->n_cpus == o->n_cpus && is->subbuf_size == o->subbuf_size && is->n_subbufs == o->n_subbufs &&
	       is->header_room == o->header_room && is->mode == o->mode && is->clock == o->clock &&
	       is->block_us == o->block_us && is->poll_us == o->poll_us && is->allocation == o->allocation;
}

static struct waymark_ring_set *take_retired(const struct waymark_ring_options *o)
{
	/*
	 * Acquire: pairs with the release in wmk_ring_set_retire(). The exchange takes the whole list, so that the
	 * compare-and-exchange cannot find an element that was removed and added again.
	 */
	struct waymark_ring_set *list = __atomic_exchange_n(&retired, NULL, __ATOMIC_ACQ_REL), *found = NULL, *next;

	for (; list; list = next) {
		next = list->next_retired;
		if (!found && same_shape(list, o)) {
			found = list;
			continue;
		}
		list->next_retired = __atomic_load_n(&retired, __ATOMIC_RELAXED);
		while (!__atomic_compare_exchange_n(&retired, &list->next_retired, list, 0, __ATOMIC_ACQ_REL,
						    __ATOMIC_RELAXED))
			;
	}
	return found;
}

/* Reserve the addresses for a set with this shape, and fill the private members that never change. */
static int reserve(const struct waymark_ring_options *o, int is_reader, struct waymark_ring_set **out)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), ring_size = (uint64_t)o->subbuf_size * o->n_subbufs;
	uint32_t n_rings = o->n_cpus + WAYMARK_RING_CLAIMS + WMK_RING_SPARES;
	uint64_t offset = data_offset(n_rings, page), shared_len = offset + n_rings * ring_size;
	size_t private_len = round_up(sizeof(struct waymark_ring_set) + n_rings * sizeof(struct wmk_ring_view), page);
	unsigned char *shared, *base = mmap(NULL, private_len + shared_len + GUARD_LEN, PROT_NONE,
					    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct waymark_ring_set *set = (struct waymark_ring_set *)base;
	int rseq = &__rseq_size && __rseq_size != 0;

	if (base == MAP_FAILED)
		return -errno;
	if (mprotect(base, private_len, PROT_READ | PROT_WRITE) < 0) {
		int err = -errno;

		munmap(base, private_len + shared_len + GUARD_LEN);
		return err;
	}
	shared = base + private_len;
	set->header = (struct wmk_set_header *)shared;
	set->rseq_offset = rseq ? __rseq_offset : 0;
	set->seq_cpus = rseq && o->allocation == WAYMARK_RING_PER_CPU ? o->n_cpus : 0;
	set->clock = o->clock;
	set->clock_ahead = o->clock == WAYMARK_CLOCK_MONOTONIC ? (uint64_t)wmk_clock_offsets().monotonic : 0;
	set->ring_mask = ring_size - 1;
	set->subbuf_size = o->subbuf_size;
	set->usable = o->subbuf_size - WMK_RING_SLACK;
	set->first = sizeof(struct wmk_ring_sub) + o->header_room;
	set->n_rings = n_rings;
	set->fd = -1;
	set->is_reader = (uint32_t)is_reader;
	set->private_len = private_len;
	set->shared_len = shared_len;
	set->options = *o;
	for (uint32_t i = 0; i < n_rings; i++) {
		set->ring[i].ctl = (struct wmk_ring_ctl *)(shared + round_up(WMK_RING_HEADER_SIZE, page)) + i;
		set->ring[i].data = shared + offset + i * ring_size;
	}
	*out = set;
	return 0;
}

/* True if this mapping may access all data of a ring at once. */
static int is_open(const struct waymark_ring_set *set, uint32_t ring)
{
	return set->is_reader || (set->options.poll_us && ring < set->options.n_cpus);
}

/* Reset the members that a reused set must not keep. */
static void renew(struct waymark_ring_set *set, const struct waymark_ring_options *o)
{
	memcpy(set->options.uuid, o->uuid, sizeof(o->uuid));
	wmk_ring_set_to(&set->identity, WMK_CLAIM_ANONYMOUS);
	wmk_ring_set_to(&set->may_block, 1);
	for (uint32_t i = 0; i < set->n_rings; i++) {
		wmk_ring_set_to(&set->ring[i].limit, 0);
		wmk_ring_set_to(&set->ring[i].accessible, is_open(set, i) ? set->ring_mask + 1 : 0);
		set->ring[i].mapped = set->ring[i].looked = 0;
	}
}

/* Reserve (or reuse) the address range, map the set, and fill the private structure. */
static int map_set(int fd, const struct waymark_ring_options *o, int is_reader, struct waymark_ring_set **out)
{
	struct waymark_ring_set *set = is_reader ? NULL : take_retired(o);
	unsigned char *shared;
	uint64_t control;
	int err = set ? 0 : reserve(o, is_reader, &set);

	if (err < 0)
		return err;
	shared = (unsigned char *)set->header;
	control = (uint64_t)(set->ring[0].data - shared);
	/*
	 * Recording threads with a stale pointer may access the control blocks of a reused set, so the control blocks
	 * stay accessible.
	 */
	if (mmap(shared, control, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED ||
	    mmap(shared + control, set->shared_len - control, is_reader ? PROT_READ | PROT_WRITE : PROT_NONE,
		 MAP_SHARED | MAP_FIXED, fd, (off_t)control) == MAP_FAILED ||
	    (o->poll_us &&               /* so that writers do not call mprotect() */
	     mprotect(shared + control, (size_t)o->n_cpus * (set->ring_mask + 1), PROT_READ | PROT_WRITE) < 0)) {
		err = -errno;
		if (is_reader)
			waymark_ring_set_close(set);
		else
			wmk_ring_set_retire(set);
		return err;
	}
	madvise(shared, set->shared_len, MADV_DONTDUMP);
	renew(set, o);
	*out = set;
	return 0;
}

/* Register a reader's set in a file with the SIGBUS handler, and close the set on failure. */
static int keep_in_file(struct waymark_ring_set *set)
{
	int err;

	set->in_file = 1;
	err = wmk_ring_file_guard(set);
	if (err < 0)
		waymark_ring_set_close(set);
	return err;
}

static void fill_header(struct waymark_ring_set *set, uint64_t page)
{
	const struct waymark_ring_options *o = &set->options;
	struct wmk_set_header *h = set->header;

	h->abi = WAYMARK_RING_ABI_VERSION;
	h->page_size = (uint32_t)page;
	h->subbuf_size = o->subbuf_size;
	h->n_subbufs = o->n_subbufs;
	h->n_cpus = o->n_cpus;
	h->n_rings = set->n_rings;
	h->header_room = o->header_room;
	h->mode = o->mode;
	h->clock = o->clock;
	h->owner = (uint32_t)getuid();
	h->block_us = o->block_us;
	h->data_offset = data_offset(set->n_rings, page);
	h->total_size = set->shared_len;
	memcpy(h->uuid, o->uuid, sizeof(h->uuid));
	h->poll_us = o->poll_us;
	h->allocation = o->allocation;
	h->claims_end = o->n_cpus + (o->allocation == WAYMARK_RING_PER_SET && possible_cpus() < WAYMARK_RING_CLAIMS
				     ? possible_cpus() : WAYMARK_RING_CLAIMS);
	h->magic = WMK_RING_MAGIC;
	waymark_ring_set_heartbeat(set);
}

/* Fill *o from the options, with defaults for unset members, and check *o. */
static int shape_of(const struct waymark_ring_options *options, uint64_t page, struct waymark_ring_options *o)
{
	if (options->size < offsetof(struct waymark_ring_options, uuid))
		return -EINVAL;
	memcpy(o, options, options->size < sizeof(*o) ? options->size : sizeof(*o));
	o->size = sizeof(*o);
	if (o->n_cpus == 0)
		o->n_cpus = o->allocation == WAYMARK_RING_PER_SET ? 1 : possible_cpus();
	return check_geometry(o, page);
}

static int make_room(int fd, const struct waymark_ring_options *o, uint64_t page, int in_file)
{
	const uint32_t n_rings = o->n_cpus + WAYMARK_RING_CLAIMS + WMK_RING_SPARES;
	const uint64_t control = data_offset(n_rings, page);

	if (ftruncate(fd, (off_t)(control + (uint64_t)n_rings * o->subbuf_size * o->n_subbufs)) < 0 ||
	    fallocate(fd, 0, 0, (off_t)control) < 0)
		return -errno;
	return in_file || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0 ? 0 : -errno;
}

/* Create a set in `fd`, and close `fd` on failure. */
static int create_in(const struct waymark_ring_options *options, int fd, int in_file, struct waymark_ring_set **set)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	struct waymark_ring_options o = { 0 };
	struct waymark_ring_set *s;
	int err = shape_of(options, page, &o);

	if (err == 0)
		err = make_room(fd, &o, page, in_file);
	if (err == 0)
		err = map_set(fd, &o, 1, &s);
	if (err < 0) {
		close(fd);
		return err;
	}
	s->fd = fd;
	err = in_file ? keep_in_file(s) : 0;
	if (err < 0)
		return err;
	fill_header(s, page);
	err = wmk_ring_set_prefault(s, o.prefault);
	if (err < 0) {
		waymark_ring_set_close(s);
		return err;
	}
	*set = s;
	return 0;
}

int waymark_ring_set_create(const struct waymark_ring_options *options, struct waymark_ring_set **set)
{
	int fd = memfd_create("waymark-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	return fd < 0 ? -errno : create_in(options, fd, 0, set);
}

int wmk_ring_set_create_in(const struct waymark_ring_options *options, int fd, struct waymark_ring_set **set)
{
	return create_in(options, fd, 1, set);
}

/* Open a set after a check that its header is consistent and within the limits. */
static int open_checked(int fd, int is_reader, int any, struct waymark_ring_set **set)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	struct waymark_ring_options o = { .size = sizeof(o) };
	struct wmk_set_header h;
	struct stat st;
	int kind = wmk_ring_file_kind(fd), err;

	if (kind < 0 || (kind > 0 && !any))
		return -EPERM;
	if (fstat(fd, &st) < 0 || pread(fd, &h, sizeof(h), 0) != (ssize_t)sizeof(h))
		return -EIO;
	if (h.magic != WMK_RING_MAGIC)
		return -EINVAL;
	if (h.abi != WAYMARK_RING_ABI_VERSION || h.page_size != page)
		return -EPROTONOSUPPORT;
	o.subbuf_size = h.subbuf_size;
	o.n_subbufs = h.n_subbufs;
	o.n_cpus = h.n_cpus;
	o.header_room = h.header_room;
	o.mode = h.mode;
	o.clock = h.clock;
	o.block_us = h.block_us;
	o.poll_us = h.poll_us;
	o.allocation = h.allocation;
	memcpy(o.uuid, h.uuid, sizeof(o.uuid));
	err = check_geometry(&o, page);
	if (err < 0)
		return err;
	if (h.n_rings != o.n_cpus + WAYMARK_RING_CLAIMS + WMK_RING_SPARES ||
	    h.data_offset != data_offset(h.n_rings, page) ||
	    (uint64_t)st.st_size != h.data_offset + (uint64_t)h.n_rings * o.subbuf_size * o.n_subbufs ||
	    h.total_size != (uint64_t)st.st_size)
		return -EINVAL;
	err = map_set(fd, &o, is_reader, set);
	if (err == 0)
		wmk_ring_set_to(&(*set)->in_file, (uint32_t)kind);
	return err;
}

int wmk_ring_set_uuid(int fd, uint8_t uuid[16])
{
	struct wmk_set_header h;

	if (pread(fd, &h, sizeof(h), 0) != (ssize_t)sizeof(h) || h.magic != WMK_RING_MAGIC)
		return -EINVAL;
	memcpy(uuid, h.uuid, sizeof(h.uuid));
	return 0;
}

static int open_reader(int fd, int any, struct waymark_ring_set **set)
{
	int own = fcntl(fd, F_DUPFD_CLOEXEC, 3), err;

	if (own < 0)
		return -errno;
	err = open_checked(own, 1, any, set);
	if (err < 0) {
		close(own);
		return err;
	}
	(*set)->fd = own;
	return (*set)->in_file ? keep_in_file(*set) : 0;
}

int waymark_ring_set_open(int fd, struct waymark_ring_set **set)
{
	return open_checked(fd, 0, 0, set);
}

int waymark_ring_set_open_reader(int fd, struct waymark_ring_set **set)
{
	return open_reader(fd, 0, set);
}

int wmk_ring_set_open_any(int fd, struct waymark_ring_set **set)
{
	return open_checked(fd, 0, 1, set);
}

int wmk_ring_set_open_reader_any(int fd, struct waymark_ring_set **set)
{
	return open_reader(fd, 1, set);
}

void wmk_ring_set_retire(struct waymark_ring_set *set)
{
	unsigned char *shared = (unsigned char *)set->header;
	uint64_t control = (uint64_t)(set->ring[0].data - shared);

	/*
	 * A recording thread with a stale pointer reads zeros, and the restartable sequence of the thread fails on the
	 * guard. A recording thread with a stale pointer may still write counts (count_cut), so the control blocks stay
	 * writable; the data needs no access.
	 */
	mmap(shared, control, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
	mmap(shared + control, set->shared_len - control, PROT_NONE,
	     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
	/* Release: pairs with the exchange in take_retired(). */
	set->next_retired = __atomic_load_n(&retired, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(&retired, &set->next_retired, set, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		;
}

void waymark_ring_set_close(struct waymark_ring_set *set)
{
	if (!set)
		return;
	if (set->in_file && set->is_reader)
		wmk_ring_file_unguard(set);
	if (set->fd >= 0)
		close(set->fd);
	munmap(set, set->private_len + set->shared_len + GUARD_LEN);
}

int waymark_ring_set_fd(const struct waymark_ring_set *set)
{
	return set->fd;
}

unsigned wmk_ring_set_recorded(const struct waymark_ring_set *set)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < set->n_rings; i++)
		n += wmk_ring_load(&set->ring[i].ctl->write_pos) != 0;
	return n;
}

uint32_t waymark_ring_set_cpus(const struct waymark_ring_set *set)
{
	return set->options.n_cpus;
}

uint32_t waymark_ring_set_rings(const struct waymark_ring_set *set)
{
	return set->n_rings;
}

const struct waymark_ring_options *waymark_ring_set_options(const struct waymark_ring_set *set)
{
	return &set->options;
}

void wmk_ring_set_plugin_clock(struct waymark_ring_set *set, uint64_t (*now)(void))
{
	set->plugin_clock = now;
}
