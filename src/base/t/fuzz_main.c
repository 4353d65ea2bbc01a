/* SPDX-License-Identifier: MIT */
/*
 * fuzz_main.c - a driver for LLVMFuzzerTestOneInput() that works with any compiler: replays a corpus, then mutates it.
 *
 *     fuzz-NAME [--seconds N] [--expect-crash] CORPUS-FOLDER...
 *
 * The duration is --seconds, else 20 s x WMK_ROUNDS_PERCENT / 100 (default 10 percent). The seed is WMK_SEED, else
 * derived from the time; it is printed. The code under test is compiled with -fsanitize-coverage=trace-pc,trace-cmp,
 * which calls the hooks below: an input that reaches a new edge joins the corpus of this run, and mutations use the
 * operands of comparisons. A failure aborts and leaves the input in ./crash-<seed>. --expect-crash inverts the result:
 * the run succeeds if a crash (a planted bug) occurs within the time.
 */
#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define INPUT_MAX 8192u
#define CORPUS_MAX 8192u
#define EDGES (1u << 16)
#define OPERANDS 256u
#define CRASH_STATUS 88

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
/* Optional functions of a fuzzer: the parent calls them once each, before and after the fuzzing child process. */
void fuzz_set_up(void) __attribute__((weak));
void fuzz_clean_up(void) __attribute__((weak));
const char *__asan_default_options(void);
const char *__ubsan_default_options(void);
void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_cmp1(uint8_t a, uint8_t b);
void __sanitizer_cov_trace_cmp2(uint16_t a, uint16_t b);
void __sanitizer_cov_trace_cmp4(uint32_t a, uint32_t b);
void __sanitizer_cov_trace_cmp8(uint64_t a, uint64_t b);
void __sanitizer_cov_trace_const_cmp1(uint8_t a, uint8_t b);
void __sanitizer_cov_trace_const_cmp2(uint16_t a, uint16_t b);
void __sanitizer_cov_trace_const_cmp4(uint32_t a, uint32_t b);
void __sanitizer_cov_trace_const_cmp8(uint64_t a, uint64_t b);
void __sanitizer_cov_trace_cmpf(float a, float b);
void __sanitizer_cov_trace_cmpd(double a, double b);
void __sanitizer_cov_trace_switch(uint64_t value, void *cases);

static struct input {
	uint8_t *data;
	size_t len;
} corpus[CORPUS_MAX];
static unsigned n_corpus;
static uint8_t edges[EDGES];
static uint64_t operands[OPERANDS], n_operands;
static bool fresh_edge;
static uintptr_t previous;
static uint64_t seed, state;
static struct {
	size_t len;
	uint8_t data[INPUT_MAX];
} *current;                      /* shared with the parent */

/* ── hooks of the instrumentation and of the sanitizers ──────────────────────────────────────────────── */

const char *__asan_default_options(void)
{
	return "exitcode=88:abort_on_error=0:detect_leaks=1:allocator_may_return_null=1:handle_abort=0";
}

const char *__ubsan_default_options(void)
{
	return "exitcode=88:print_stacktrace=1";
}

void __sanitizer_cov_trace_pc(void)
{
	uintptr_t here = (uintptr_t)__builtin_return_address(0) * 0x9E3779B97F4A7C15u >> 40;
	uint8_t *edge = &edges[(here ^ previous) % EDGES];

	if (!*edge) {
		*edge = 1;
		fresh_edge = true;
	}
	previous = here >> 1;
}

static void operand(uint64_t a, uint64_t b)
{
	if (a != b)
		operands[n_operands++ % OPERANDS] = a;
}

void __sanitizer_cov_trace_cmp1(uint8_t a, uint8_t b) { operand(a, b); }
void __sanitizer_cov_trace_cmp2(uint16_t a, uint16_t b) { operand(a, b); operand(b, a); }
void __sanitizer_cov_trace_cmp4(uint32_t a, uint32_t b) { operand(a, b); operand(b, a); }
void __sanitizer_cov_trace_cmp8(uint64_t a, uint64_t b) { operand(a, b); operand(b, a); }
void __sanitizer_cov_trace_const_cmp1(uint8_t a, uint8_t b) { operand(a, b); }
void __sanitizer_cov_trace_const_cmp2(uint16_t a, uint16_t b) { operand(a, b); }
void __sanitizer_cov_trace_const_cmp4(uint32_t a, uint32_t b) { operand(a, b); }
void __sanitizer_cov_trace_const_cmp8(uint64_t a, uint64_t b) { operand(a, b); }
void __sanitizer_cov_trace_cmpf(float a, float b) { (void)a; (void)b; }
void __sanitizer_cov_trace_cmpd(double a, double b) { (void)a; (void)b; }
void __sanitizer_cov_trace_switch(uint64_t value, void *cases)
{
	const uint64_t *numbers = cases;

	for (uint64_t i = 0; i < numbers[0]; i++)
		operand(numbers[2 + i], value);
}

/* ── inputs ──────────────────────────────────────────────────────────────────────────────────────────── */

static uint64_t dice(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static size_t below(size_t n)
{
	return n ? (size_t)(dice() % n) : 0;
}

static void corpus_add(const uint8_t *data, size_t len)
{
	if (n_corpus == CORPUS_MAX)
		return;
	uint8_t *copy = malloc(len ? len : 1);
	if (!copy)
		return;
	memcpy(copy, data, len);
	corpus[n_corpus++] = (struct input){ copy, len };
}

/* Run `current` on a copy of exactly its length, so that the sanitizer detects reads past the end. */
static void run(void)
{
	uint8_t *exact = malloc(current->len ? current->len : 1);

	if (!exact)
		exit(1);
	memcpy(exact, current->data, current->len);
	fresh_edge = false;
	previous = 0;
	LLVMFuzzerTestOneInput(exact, current->len);
	free(exact);
}

static int corpus_read(const char *folder)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;
	char path[4096];

	if (!dir) {
		fprintf(stderr, "%s: %s\n", folder, strerror(errno));
		return -1;
	}
	while ((entry = readdir(dir)) != NULL) {
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		FILE *f = entry->d_name[0] == '.' ? NULL : fopen(path, "rb");
		if (!f)
			continue;
		static uint8_t bytes[INPUT_MAX];
		size_t len = fread(bytes, 1, sizeof(bytes), f);
		fclose(f);
		corpus_add(bytes, len);
	}
	closedir(dir);
	return 0;
}

static void value_put(size_t at)
{
	static const uint64_t odd[] = {
		0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x10000, 0x7fffffff, 0x80000000u, 0xffffffffu,
		0x100000000u, INT64_MAX, UINT64_MAX,
	};
	uint64_t v = dice() % 2 && n_operands ? operands[below(n_operands < OPERANDS ? n_operands : OPERANDS)]
					       : odd[below(sizeof(odd) / sizeof(odd[0]))];
	size_t width = (size_t)1 << below(4);

	if (at + width <= current->len)
		memcpy(current->data + at, &v, width);
}

static void insert(size_t at, const uint8_t *from, size_t len)
{
	if (current->len + len > INPUT_MAX)
		return;
	memmove(current->data + at + len, current->data + at, current->len - at);
	memcpy(current->data + at, from, len);
	current->len += len;
}

static void mutate(void)
{
	const struct input *other = &corpus[below(n_corpus)];
	uint8_t bytes[16];
	size_t at = below(current->len + 1), len = below(16) + 1;

	switch (below(8)) {
	case 0:
		if (at < current->len)
			current->data[at] ^= (uint8_t)(1u << below(8));
		break;
	case 1:
		if (at < current->len)
			current->data[at] = (uint8_t)dice();
		break;
	case 2:
	case 3:
		value_put(at);
		break;
	case 4:
		for (size_t i = 0; i < len; i++)
			bytes[i] = (uint8_t)dice();
		insert(at, bytes, len);
		break;
	case 5:
		if (at + len <= current->len) {
			memmove(current->data + at, current->data + at + len, current->len - at - len);
			current->len -= len;
		}
		break;
	case 6:
		if (other->len) {
			size_t from = below(other->len), most = other->len - from;

			insert(at, other->data + from, below(most < 256 ? most : 256) + 1);
		}
		break;
	default:
		current->len = at;
		break;
	}
}

/* ── the run ─────────────────────────────────────────────────────────────────────────────────────────── */

static void leave_input(void)
{
	char name[64];
	FILE *f;

	snprintf(name, sizeof(name), "crash-%llu", (unsigned long long)seed);
	f = fopen(name, "wb");
	if (f) {
		fwrite(current->data, 1, current->len, f);
		fclose(f);
	}
	fprintf(stderr, "seed %llu: the input is in %s\n", (unsigned long long)seed, name);
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void fuzz(double seconds)
{
	double end = now() + seconds;
	uint64_t rounds = 0;
	unsigned files = n_corpus;

	for (unsigned i = 0; i < files; i++) {
		current->len = corpus[i].len;
		memcpy(current->data, corpus[i].data, current->len);
		run();
	}
	do {
		const struct input *base = &corpus[below(n_corpus)];

		current->len = base->len;
		memcpy(current->data, base->data, base->len);
		for (size_t n = below(5) + 1; n; n--)
			mutate();
		run();
		if (fresh_edge)
			corpus_add(current->data, current->len);
	} while (++rounds % 64 || now() < end);
	printf("%u files, %llu rounds, %u inputs kept\n", files, (unsigned long long)rounds, n_corpus - files);
	for (unsigned i = 0; i < n_corpus; i++)
		free(corpus[i].data);
	n_corpus = 0;
}

/* Fuzz in a child process, so that the parent can save the input and report the result however the child ends. */
static int fuzz_in_child(double seconds, bool expect_crash)
{
	int status;

	if (fuzz_set_up)
		fuzz_set_up();
	pid_t pid = fork();
	if (pid == 0) {
		fuzz(seconds);
		exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return 1;
	if (fuzz_clean_up)
		fuzz_clean_up();
	/* A sanitizer reported an error, or a check of the fuzzer itself aborted. */
	bool finding = (WIFEXITED(status) && WEXITSTATUS(status) == CRASH_STATUS) ||
		       (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	if (expect_crash) {
		if (finding)
			printf("the planted bug was found\n");
		else
			fprintf(stderr, "seed %llu: the planted bug was not found in %.0f s (status %#x)\n",
				(unsigned long long)seed, seconds, (unsigned)status);
		return !finding;
	}
	if (status == 0)
		return 0;
	leave_input();
	return 1;
}

int main(int argc, char **argv)
{
	const char *percent = getenv("WMK_ROUNDS_PERCENT"), *wanted = getenv("WMK_SEED");
	double seconds = 20.0 * (percent ? atof(percent) : 10.0) / 100.0;
	bool expect_crash = false;

	seed = wanted ? strtoull(wanted, NULL, 0) : (uint64_t)time(NULL) * 1000 + (uint64_t)getpid() % 1000;
	state = seed * 0x9E3779B97F4A7C15u | 1;
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--seconds") == 0 && i + 1 < argc)
			seconds = atof(argv[++i]);
		else if (strcmp(argv[i], "--expect-crash") == 0)
			expect_crash = true;
		else if (corpus_read(argv[i]) < 0)
			return 1;
	}
	printf("seed %llu\n", (unsigned long long)seed);
	fflush(stdout);
	if (n_corpus == 0) {
		fprintf(stderr, "the corpus is empty: give a folder with at least one file\n");
		return 1;
	}
	current = mmap(NULL, sizeof(*current), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return current == MAP_FAILED ? 1 : fuzz_in_child(seconds, expect_crash);
}
