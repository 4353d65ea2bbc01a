/* SPDX-License-Identifier: MIT */
/*
 * torture.c - processes × threads × signals × migrations × kills on tiny rings, in all modes, from a seed. Content,
 * count and time of every record are checked.
 *
 *     torture [SEED [ROUNDS]]      prints the seed; exit status 1 and a message after a failure
 *
 * Each writer is a thread, or the signal handler of a thread. It numbers its records, and publishes the numbers of
 * begun, done and lost records in memory that outlives it. A record contains {writer, number, time before the call,
 * length, kind}, and as many bytes, which follow from the number.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ring/record_header.h"

#define MAX_PROCS 4
#define MAX_THREADS 4
#define MAX_WRITERS (MAX_PROCS * MAX_THREADS * 2)
#define MAX_RECORDS 40000u /* of one writer */
#define MAX_EXTRA 300u

struct payload {
	uint32_t writer, number;
	uint64_t before;
	uint32_t len, kind;
};

struct writer {
	volatile uint64_t begun, done, lost;
	volatile pid_t tid;
	char pad[96];
};

static struct writer *writers; /* shared */
static struct { uint64_t before, ts; } *seen[MAX_WRITERS];

static struct config {
	struct waymark_ring_options options;
	unsigned procs, threads, records, timer_us, kill;
	int move, nested;
} config;

static struct waymark_ring_set *reader_set, *set;
static uint64_t n_read;

/* ── writing ─────────────────────────────────────────────────────────────────────────────────────────── */

static __thread uint32_t my_writer; /* my_writer + 1: the signal handler */
static __thread uint64_t my_random;
static uint64_t seed;

static uint32_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(*state >> 33);
}

static unsigned char pattern(uint32_t number, uint32_t i, uint32_t kind)
{
	if (kind >= WAYMARK_FRAG_TEXT && (number + i) % 11 == 5)
		return 0;
	return (unsigned char)((number * 31 + i * 7) | 1);
}

static void record_one(uint32_t writer, uint32_t random)
{
	struct writer *w = &writers[writer];
	struct payload p = { writer, (uint32_t)w->begun, 0, random % 3 == 0 ? 0 : random / 3 % MAX_EXTRA,
			     random >> 20 & 3 };
	uint64_t buf[MAX_EXTRA / 8 + 1];
	unsigned char *bytes = (unsigned char *)buf;
	struct waymark_ring_frag f[2] = { { &p, sizeof(p), WAYMARK_FRAG_WORDS }, { bytes, p.len, p.kind } };
	uint32_t id = random % 50 == 7 ? 70000 : random % 20 == 3 ? 40 : 3;

	if (p.number >= MAX_RECORDS)
		return;
	for (uint32_t i = 0; i < p.len; i++)
		bytes[i] = pattern(p.number, i, p.kind);
	w->begun = p.number + 1;
	p.before = wmk_ring_now(set);
	if (waymark_ring_record(set, id, f, p.len ? 2 : 1) == 0)
		w->done++;
	else
		w->lost++;
}

static void on_signal(int sig)
{
	static __thread volatile int inside;
	int saved = errno;

	(void)sig;
	/* Signals are blocked here, but the thread sanitizer may deliver them nevertheless. */
	if (my_random && !inside) {
		inside = 1;
		record_one(my_writer + 1, (uint32_t)(wmk_ring_now(set) * 2654435761u) >> 8);
		inside = 0;
	}
	errno = saved;
}

static void *write_records(void *arg)
{
	pthread_t self = pthread_self();

	my_writer = (uint32_t)(uintptr_t)arg;
	writers[my_writer].tid = (pid_t)syscall(SYS_gettid);
	my_random = seed ^ ((uint64_t)(my_writer + 1) << 32) ^ 0x9e3779b97f4a7c15ull;
	for (unsigned i = 0; i < config.records; i++) {
		uint32_t r = next_random(&my_random);

		if (config.move && r % 64 == 0) {
			cpu_set_t one;

			CPU_ZERO(&one);
			CPU_SET(r / 64 % (unsigned)sysconf(_SC_NPROCESSORS_ONLN), &one);
			sched_setaffinity(0, sizeof(one), &one);
		}
		if (config.nested && r % 97 == 0)
			pthread_kill(self, SIGUSR1);
		record_one(my_writer, next_random(&my_random));
	}
	writers[my_writer].tid = 0;
	return NULL;
}

static void run_process(unsigned index)
{
	struct itimerval timer = { { 0, (suseconds_t)config.timer_us }, { 0, (suseconds_t)config.timer_us } };
	struct sigaction sa = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	pthread_t threads[MAX_THREADS];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigfillset(&sa.sa_mask); /* one handler is one writer */
	if (waymark_ring_set_open(waymark_ring_set_fd(reader_set), &set) < 0)
		_exit(2);
	waymark_ring_set_identity(set, index + 1, 1);
	sigaction(SIGUSR1, &sa, NULL);
	sigaction(SIGALRM, &sa, NULL);
	if (config.timer_us)
		setitimer(ITIMER_REAL, &timer, NULL);
	for (unsigned t = 0; t < config.threads; t++)
		pthread_create(&threads[t], NULL, write_records, (void *)(uintptr_t)((index * MAX_THREADS + t) * 2));
	for (unsigned t = 0; t < config.threads; t++)
		pthread_join(threads[t], NULL);
	_exit(0);
}

/* ── checking ────────────────────────────────────────────────────────────────────────────────────────── */

static int fail(const char *what, uint64_t a, uint64_t b)
{
	printf("torture: %s (%llu, %llu)\n", what, (unsigned long long)a, (unsigned long long)b);
	return -1;
}

/* Decode the time and the id of a header. Returns its length; 0 at the end of the data. */
static size_t decode_header(const unsigned char *p, size_t len, uint64_t *ts, uint32_t *id)
{
	const uint64_t mask = (1ull << 27) - 1;
	uint64_t word = 0, low;
	size_t size = 4;

	if (len < 13 && len < sizeof(struct payload) + 4)
		return 0;
	memcpy(&word, p, 8);
	*id = word & 31;
	if (*id == 31) {
		memcpy(id, p + 1, 4);
		memcpy(ts, p + 5, 8);
		return 13;
	}
	low = word >> 5 & mask;
	if (*id == 30) {
		*id = word >> 5 & 0xffff;
		low = word >> 21 & mask;
		size = 6;
	}
	*ts += (low - *ts) & mask;
	return size;
}

static int check_record(const struct payload *p, const unsigned char *bytes, size_t room, uint64_t ts, size_t *len)
{
	size_t nul = p->len != 0 && p->kind == WAYMARK_FRAG_TEXT;

	if (p->writer >= MAX_WRITERS || p->number >= MAX_RECORDS || p->len >= MAX_EXTRA || p->kind > 3 ||
	    p->len + nul > room)
		return fail("a record's head is not one that was written", p->writer, p->number);
	for (uint32_t i = 0; i < p->len; i++) {
		unsigned char want = pattern(p->number, i, p->kind);

		if (bytes[i] != (want ? want : '#'))
			return fail("a byte differs", p->writer, p->number);
	}
	if (nul && bytes[p->len] != 0)
		return fail("no NUL behind a text", p->writer, p->number);
	if (ts < p->before)
		return fail("recorded before it was begun", ts, p->before);
	if (seen[p->writer][p->number].ts != 0)
		return fail("read twice", p->writer, p->number);
	seen[p->writer][p->number].ts = ts;
	seen[p->writer][p->number].before = p->before;
	*len = p->len + nul;
	return 0;
}

static int check_packet(const struct waymark_ring_packet *packet)
{
	const unsigned char *at = packet->data, *end = at + packet->len;
	uint64_t ts = packet->begin_ts, last = ts;

	while (at < end) {
		struct payload p;
		uint32_t id;
		size_t size = decode_header(at, (size_t)(end - at), &ts, &id);

		if (size == 0 || (size_t)(end - at) < size + sizeof(p) || (id != 3 && id != 40 && id != 70000))
			return fail("not a record header", packet->ring, packet->begin_pos);
		if (ts < last || ts > packet->end_ts)
			return fail("time out of order", ts, last);
		last = ts;
		at += size;
		memcpy(&p, at, sizeof(p));
		at += sizeof(p);
		if (check_record(&p, at, (size_t)(end - at), ts, &size) < 0)
			return -1;
		at += size;
		n_read++;
	}
	if (ts != packet->end_ts)
		return fail("a packet does not end at its last record", ts, packet->end_ts);
	return 0;
}

static int drain(struct waymark_ring_reader **readers, unsigned flags)
{
	struct waymark_ring_packet packet;

	waymark_ring_set_heartbeat(reader_set);
	waymark_ring_set_back(reader_set);
	for (uint32_t i = 0; i < waymark_ring_set_rings(reader_set); i++) {
		int rc;

		while ((rc = waymark_ring_reader_next(readers[i], flags, &packet)) == 1) {
			if (check_packet(&packet) < 0 || waymark_ring_reader_release(readers[i], &packet) < 0)
				return -1;
		}
		if (rc < 0)
			return fail("the reader says that a ring lies", i, waymark_ring_reader_position(readers[i]));
	}
	return 0;
}

static int check_end(struct waymark_ring_reader **readers)
{
	uint64_t begun = 0, done = 0, lost = 0, counted = 0, overwritten = 0, causes[WAYMARK_LOST_CAUSES];

	for (uint32_t i = 0; i < waymark_ring_set_rings(reader_set); i++) {
		uint64_t all = waymark_ring_reader_lost(readers[i], causes), sum = 0;

		for (unsigned c = 0; c < WAYMARK_LOST_CAUSES; c++)
			sum += causes[c];
		counted += sum;
		overwritten += all - sum;
	}
	for (unsigned w = 0; w < MAX_WRITERS; w++) {
		uint64_t last = 0;

		begun += writers[w].begun;
		done += writers[w].done;
		lost += writers[w].lost;
		for (unsigned n = 0; n < writers[w].begun && n < MAX_RECORDS; n++) {
			if (seen[w][n].ts == 0)
				continue;
			if (seen[w][n].before < last)
				return fail("a record's time is later than its writer's next call (number, by)", n,
					    last - seen[w][n].before);
			last = seen[w][n].ts;
		}
	}
	if (done + lost > n_read + overwritten + counted || n_read + overwritten + counted > begun)
		return fail("returned <= read + lost <= begun does not hold", n_read + overwritten + counted, begun);
	if (!config.kill && (n_read + overwritten != done || counted != lost))
		return fail("read and recorded differ", n_read + overwritten, done);
	printf("    begun %llu read %llu overwritten %llu lost %llu\n", (unsigned long long)begun,
	       (unsigned long long)n_read, (unsigned long long)overwritten, (unsigned long long)counted);
	return 0;
}

/* ── rounds ──────────────────────────────────────────────────────────────────────────────────────────── */

static void draw(uint64_t *random)
{
	static const unsigned sizes[] = { 4096, 4096, 8192, 65536 }, timers[] = { 0, 60, 300, 2000 };
	unsigned mode = next_random(random) % 3;

	memset(&config, 0, sizeof(config));
	config.options = (struct waymark_ring_options){
		.size = sizeof(config.options),
		.subbuf_size = sizes[next_random(random) % 4],
		.n_subbufs = 4u << next_random(random) % 3,
		.header_room = 96,
		.mode = mode == 1,
		.clock = WAYMARK_CLOCK_COUNTER,
		.block_us = mode == 2 ? -1 : 0,
		.prefault = next_random(random) % 4 ? 1 << 30 : 0,
	};
	config.procs = 1 + next_random(random) % MAX_PROCS;
	config.threads = 1 + next_random(random) % MAX_THREADS;
	config.records = 4000 + next_random(random) % 8000;
	config.timer_us = timers[next_random(random) % 4];
	config.move = next_random(random) % 2 == 0;
	config.nested = next_random(random) % 2 == 0;
	config.kill = mode != 2 && next_random(random) % 3 == 0;
	printf("  mode %u, %u × %u bytes, %u processes × %u threads × %u records, timer %u us%s%s%s\n", mode,
	       config.options.n_subbufs, config.options.subbuf_size, config.procs, config.threads, config.records,
	       config.timer_us, config.move ? ", moving" : "", config.nested ? ", nested" : "",
	       config.kill ? ", killed" : "");
	fflush(stdout);
}

/* Move writers to another CPU, at any point of a record. */
static void move_writers(uint64_t *random)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	for (unsigned w = 0; w < MAX_WRITERS; w += 2) {
		cpu_set_t one;

		if (writers[w].tid == 0)
			continue;
		CPU_ZERO(&one);
		CPU_SET(next_random(random) % (unsigned)cpus, &one);
		sched_setaffinity(writers[w].tid, sizeof(one), &one);
	}
}

static int watch(struct waymark_ring_reader **readers, pid_t *pids, uint64_t *random)
{
	unsigned left = config.procs;
	struct timespec pause = { 0, 200000 };

	while (left != 0) {
		pid_t pid;
		int status;

		if (drain(readers, next_random(random) % 2 ? WAYMARK_RING_FLUSH : 0) < 0)
			return -1;
		if (config.move)
			for (int i = 0; i < 20; i++)
				move_writers(random);
		if (config.kill && next_random(random) % 8 == 0)
			kill(pids[next_random(random) % config.procs], SIGKILL);
		while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
			for (unsigned i = 0; i < config.procs; i++) {
				if (pids[i] != pid)
					continue;
				waymark_ring_set_free_claims(reader_set, i + 1, 1);
				if (!config.kill)
					pids[i] = 0;
			}
			left--;
			if (!(WIFEXITED(status) && WEXITSTATUS(status) == 0) &&
			    !(config.kill && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL))
				return fail("a writer died", (uint64_t)status, 0);
		}
		if (waymark_ring_set_wait(reader_set, 1000) == 0)
			nanosleep(&pause, NULL);
	}
	return drain(readers, WAYMARK_RING_FLUSH);
}

static int round_of(uint64_t *random)
{
	struct waymark_ring_reader *readers[1024];
	pid_t pids[MAX_PROCS];
	int rc;

	draw(random);
	seed = *random;
	memset(writers, 0, MAX_WRITERS * sizeof(*writers));
	for (unsigned w = 0; w < MAX_WRITERS; w++)
		memset(seen[w], 0, MAX_RECORDS * sizeof(*seen[w]));
	n_read = 0;
	if (waymark_ring_set_create(&config.options, &reader_set) < 0)
		return fail("no ring set", 0, 0);
	for (uint32_t i = 0; i < waymark_ring_set_rings(reader_set); i++)
		if (waymark_ring_reader_open(reader_set, i, &readers[i]) < 0)
			return fail("no reader", i, 0);
	for (unsigned i = 0; i < config.procs; i++) {
		pids[i] = fork();
		if (pids[i] == 0)
			run_process(i);
	}
	rc = watch(readers, pids, random);
	if (rc == 0)
		rc = check_end(readers);
	for (uint32_t i = 0; i < waymark_ring_set_rings(reader_set); i++)
		waymark_ring_reader_close(readers[i]);
	waymark_ring_set_close(reader_set);
	return rc;
}

int main(int argc, char **argv)
{
	const char *percent = getenv("WMK_ROUNDS_PERCENT");
	uint64_t random = argc > 1 ? strtoull(argv[1], NULL, 0) : (uint64_t)time(NULL) ^ (uint64_t)getpid() << 20;
	unsigned rounds = argc > 2 ? (unsigned)atoi(argv[2]) : 200 * (percent ? (unsigned)atoi(percent) : 10) / 100;

	printf("seed %llu, %u rounds\n", (unsigned long long)random, rounds);
	writers = mmap(NULL, MAX_WRITERS * sizeof(*writers), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (unsigned w = 0; w < MAX_WRITERS; w++)
		seen[w] = calloc(MAX_RECORDS, sizeof(*seen[w]));
	for (unsigned i = 0; i < rounds; i++) {
		printf("round %u, state %llu\n", i, (unsigned long long)random);
		fflush(stdout);
		if (round_of(&random) < 0)
			return 1;
	}
	for (unsigned w = 0; w < MAX_WRITERS; w++)
		free(seen[w]);
	return 0;
}
