/* SPDX-License-Identifier: MIT */
/*
 * aborted.c - record under a breakpoint at each instruction of waymark_enter() in turn: aborted FILE. The file has the
 * offsets of the instructions, in decimal, one per line.
 *
 * A breakpoint inside the restartable sequence aborts it. The signal handler makes another record on the same CPU and
 * moves the thread to the next CPU, before the first record is restarted. All values that the first attempt has
 * computed are then invalid. The program prints the number of breakpoints that were hit, and of those that aborted a
 * sequence.
 */
#include <dlfcn.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <waymark/trace.h>

static unsigned char *volatile armed;
static unsigned char kept;
static unsigned n_hit, n_aborted, n_cpus;
static int cpus[64], at_cpu;

#if defined(__x86_64__)
static void on_trap(int sig, siginfo_t *info, void *context)
{
	greg_t *ip = &((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
	unsigned char *at = armed;
	cpu_set_t one;

	(void)sig, (void)info;
	*at = kept;
	armed = NULL;
	n_hit++;
	if (*ip == (greg_t)(uintptr_t)at + 1)
		*ip = (greg_t)(uintptr_t)at;
	else
		n_aborted++;
	waymark(aborted, inner, wm_named("n", n_hit));
	CPU_ZERO(&one);
	at_cpu = (at_cpu + 1) % (int)n_cpus;
	CPU_SET((unsigned)cpus[at_cpu], &one);
	sched_setaffinity(0, sizeof(one), &one);
}

static void arm(unsigned char *at)
{
	kept = *at;
	armed = at;
	*at = 0xcc;
}

static void disarm(void)
{
	if (armed)
		*armed = kept;
	armed = NULL;
}
#else
static void on_trap(int sig, siginfo_t *info, void *context)
{
	(void)sig, (void)info, (void)context;
}
static void arm(unsigned char *at) { (void)at; }
static void disarm(void) { }
#endif

/*
 * One record of each kind with its own path through the code; `n` is the number of the instruction with the breakpoint.
 */
static void record(unsigned char *at, unsigned n)
{
	static const char text[] = "a text of some length";
	static const unsigned char bytes[20] = "twenty bytes of data";

	arm(at);
	waymark(aborted, run, wm_named("n", n), wm_named("twice", (uint64_t)n * 2));
	disarm();
	arm(at);
	waymark(aborted, text, wm_named("n", n), wm_named("text", text));
	disarm();
	arm(at);
	waymark(aborted, short_text, wm_named("n", n), wm_named("text", wm_text(text, n % 16)));
	disarm();
	arm(at);
	waymark(aborted, bytes, wm_named("n", n), wm_named("bytes", wm_bytes(bytes, n % 21)));
	disarm();
	arm(at);
	waymark(aborted, array, wm_named("array", wm_array(bytes, 20)));
	disarm();
}

int main(int argc, char **argv)
{
	const struct sigaction sa = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };
	unsigned char *enter = dlsym(RTLD_DEFAULT, "waymark_enter");
	FILE *file = argc > 1 ? fopen(argv[1], "r") : NULL;
	unsigned offset, n = 0;
	cpu_set_t allowed;

	if (!enter || !file || sched_getaffinity(0, sizeof(allowed), &allowed) < 0)
		return 2;
	for (int i = 0; i < CPU_SETSIZE && n_cpus < 64; i++)
		if (CPU_ISSET(i, &allowed))
			cpus[n_cpus++] = i;
	const uintptr_t page = (uintptr_t)enter & ~(uintptr_t)4095;

	if (mprotect((void *)page, 2 * 4096, PROT_READ | PROT_WRITE | PROT_EXEC) < 0)
		return 3;
	sigaction(SIGTRAP, &sa, NULL);
	for (; fscanf(file, "%u", &offset) == 1; n++)
		record(enter + offset, n);
	printf("%u %u %u\n", n, n_hit, n_aborted);
	fclose(file);
	return 0;
}
