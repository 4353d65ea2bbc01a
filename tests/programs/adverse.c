/* SPDX-License-Identifier: MIT */
/*
 * adverse.c - applications that are hostile to a tracer.
 *
 *     adverse closefds N     closes all descriptors from 3 on, repeatedly, while it records
 *     adverse mlockall N     locks all memory, present and future, while it records
 *     adverse mega N BYTES   records of BYTES bytes each, under a 50 us timer
 *     adverse edit N         a thread edits a string while it is recorded
 *     adverse null N         NULL strings
 *     adverse hog N LIMIT F  fills memory until the usage of its control group (in file F) is nearly LIMIT bytes, then
 *                            records
 *     adverse text N BYTES   strings of BYTES bytes
 *
 * Flag 0: how often the timer's handler or the editor ran.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include "ledger.h"

static uint64_t n, size;
static _Atomic int stop_now;
static char edited[256];

static void on_timer(int sig)
{
	(void)sig;
	ledger->flag[0]++;
}

static void emit_many(uint32_t w, uint64_t times)
{
	for (uint64_t i = 0; i < times; i++)
		writer_emit(w);
}

static int do_closefds(uint32_t w)
{
	for (int turn = 0; turn < 10; turn++) {
		if (close_range(3, ~0U, 0))
			return 3;
		emit_many(w, n / 10);
		/*
		 * The next descriptors that we open must get the lowest numbers: the table contains no descriptor of
		 * the library.
		 */
		int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
		if (fd != 3)
			return 4;
		usleep(20000);
		emit_many(w, n / 10);
	}
	return 0;
}

static int do_mlockall(uint32_t w)
{
	emit_many(w, n / 2);
	if (mlockall(MCL_CURRENT | MCL_FUTURE))
		return 3;
	emit_many(w, n / 2);
	FILE *f = fopen("/proc/self/status", "r");
	char line[256];
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "VmRSS: %lu", (unsigned long *)&ledger->flag[3]) == 1)
			break;
	if (f)
		fclose(f);
	return 0;
}

static int do_mega(uint32_t w)
{
	unsigned char *big = malloc(size);
	struct sigaction action;
	struct itimerval every = { { 0, 50 }, { 0, 50 } }, never = { { 0, 0 }, { 0, 0 } };
	if (!big)
		return 3;
	memset(&action, 0, sizeof(action));
	action.sa_handler = on_timer;
	action.sa_flags = SA_RESTART;
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	for (uint64_t i = 0; i < n; i++) {
		uint64_t seq = writer_begin(w);
		uint32_t writer = w, sum = writer_sum(w, seq);
		memset(big, (int)(seq & 0x7f), size);
		uint64_t mono = clock_nsec(CLOCK_MONOTONIC), t0 = clock_counter();
		waymark(test, mega, writer, seq, t0, mono, sum, wm_bytes(big, size));
		writer_end(w, seq);
	}
	setitimer(ITIMER_REAL, &never, NULL);
	free(big);
	return 0;
}

static void *editor(void *arg)
{
	size_t length = 0;
	(void)arg;
	while (!stop_now) {
		length = (length * 7 + 13) % (sizeof(edited) - 1);
		for (size_t i = 0; i < sizeof(edited) - 1; i++)
			((char volatile *)edited)[i] = i < length ? 'x' : 0;
		__atomic_fetch_add(&ledger->flag[0], 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static int do_edit(uint32_t w)
{
	pthread_t thread;
	if (pthread_create(&thread, NULL, editor, NULL))
		return 3;
	while (!__atomic_load_n(&ledger->flag[0], __ATOMIC_RELAXED))
		usleep(100);
	for (uint64_t i = 0; i < n; i++) {
		uint64_t seq = writer_begin(w);
		uint32_t writer = w, sum = writer_sum(w, seq);
		uint64_t mono = clock_nsec(CLOCK_MONOTONIC), t0 = clock_counter();
		const char *string = edited;
		waymark(test, edit, string, writer, seq, t0, mono, sum);
		writer_end(w, seq);
	}
	stop_now = 1;
	pthread_join(thread, NULL);
	return 0;
}

static int do_null(uint32_t w)
{
	const char *volatile nothing = NULL;
	for (uint64_t i = 0; i < n; i++) {
		uint64_t seq = writer_begin(w);
		const char *string = nothing, *text = "after";
		waymark(test, null, seq, string, text);
		writer_end(w, seq);
	}
	return 0;
}

static int do_text(uint32_t w)
{
	char *buffer = malloc(size + 1);
	if (!buffer)
		return 3;
	for (uint64_t i = 0; i < n; i++)
		writer_emit_text(w, buffer, size);
	free(buffer);
	return 0;
}

static const char *usage_file;

static size_t used_bytes(void)
{
	unsigned long used = 0;
	FILE *f = fopen(usage_file, "r");
	if (!f || fscanf(f, "%lu", &used) != 1)
		exit(6);
	fclose(f);
	return used;
}

static int do_hog(uint32_t w)
{
	/*
	 * Leave the group at most 256 kB: memory that the tracer touches for the first time now is not available. (If
	 * more were filled, the out-of-memory killer would kill this process, which shows nothing about the tracer.)
	 */
	emit_many(w, 10);
	for (size_t piece = 64 << 10; used_bytes() + piece + (256 << 10) < size; ledger->flag[0]++) {
		char *at = mmap(NULL, piece, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (at == MAP_FAILED)
			return 3;
		memset(at, 1, piece);
	}
	emit_many(w, n);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct { const char *name; int (*run)(uint32_t); } modes[] = {
		{ "closefds", do_closefds }, { "mlockall", do_mlockall }, { "mega", do_mega }, { "edit", do_edit },
		{ "null", do_null }, { "text", do_text }, { "hog", do_hog },
	};
	n = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
	size = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;
	usage_file = argc > 4 ? argv[4] : "/nowhere";
	ledger_map();
	uint32_t w = writer_new();
	for (size_t i = 0; argc > 1 && i < sizeof(modes) / sizeof(modes[0]); i++)
		if (!strcmp(argv[1], modes[i].name))
			return modes[i].run(w);
	return 2;
}
