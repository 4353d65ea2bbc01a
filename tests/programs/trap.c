/* SPDX-License-Identifier: MIT */
/*
 * trap.c - runs a program up to one exact instruction, and kills or stops it there.
 *
 *     trap kill  MODULE OFFSET AFTER -- PROGRAM ARGS...   SIGKILL when the instruction is reached for the (AFTER + 1)st
 *                time
 *     trap stop  MODULE OFFSET AFTER -- PROGRAM ARGS...   stops there until flag 7 of the ledger is set, then resumes
 *     trap steps MODULE SECTION SIZE -- PROGRAM ARGS...   prints the instructions of a record (see below)
 *     trap reached MODULE FILE 0 -- PROGRAM ARGS...  prints the executed instructions among those with offsets in the
 *                                                    file
 *
 * The program (procs trapped) raises SIGTRAP when it is ready, and again at its end. OFFSET is relative to the load
 * address of MODULE (the end of a mapped file's name). Only a breakpoint can stop inside a restartable sequence: a
 * single step would restart it. Flag 6 is 1 when the instruction was reached, flag 8 is 1 when the program ended
 * without reaching it.
 *
 * `steps` single-steps from the first SIGTRAP to the second. It prints `step OFFSET` for each instruction within
 * MODULE, and `sequence BEGIN END` for each descriptor of a restartable sequence in the section at offset SECTION. A
 * single step restarts a sequence at once, so `reached` finds the instructions that a record really executes: it sets
 * breakpoints everywhere and removes each when it is hit.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#define LEDGER_ONLY
#include "ledger.h"

#if defined(__x86_64__)

static pid_t pid;

static int die(const char *what)
{
	fprintf(stderr, "trap: %s: %s\n", what, strerror(errno));
	return 91;
}

/* Wait until the program stops with SIGTRAP. Returns 0, or its exit status if it ended. Other signals are forwarded. */
static int next_trap(void)
{
	int status;
	for (;;) {
		if (waitpid(pid, &status, 0) != pid)
			return -1;
		if (!WIFSTOPPED(status))
			return status ? status : -1;
		if (WSTOPSIG(status) == SIGTRAP)
			return 0;
		ptrace(PTRACE_CONT, pid, NULL, (void *)(long)WSTOPSIG(status));
	}
}

static uint64_t module_base(const char *module)
{
	char path[64], line[4608], name[4352];
	unsigned long begin, offset, found = 0;
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	FILE *f = fopen(path, "r");
	while (f && !found && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%*x %*s %lx %*s %*s %4351s", &begin, &offset, name) != 3)
			continue;
		size_t n = strlen(name), m = strlen(module);
		if (offset == 0 && n >= m && !strcmp(name + n - m, module))
			found = begin;
	}
	if (f)
		fclose(f);
	return found;
}

static uint64_t peek(uint64_t address)
{
	return (uint64_t)ptrace(PTRACE_PEEKDATA, pid, (void *)address, NULL);
}

static int steps(uint64_t base, uint64_t section, uint64_t size)
{
	struct user_regs_struct regs;
	for (uint64_t at = 0; at + 32 <= size; at += 32) {
		uint64_t start = peek(base + section + at + 8), length = peek(base + section + at + 16);
		if (start > base && length < 65536)
			printf("sequence %llx %llx\n", (unsigned long long)(start - base),
			       (unsigned long long)(start - base + length));
	}
	for (long i = 0; i < 2000000; i++) {
		int status;
		if (ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) || waitpid(pid, &status, 0) != pid ||
		    !WIFSTOPPED(status))
			return die("step");
		siginfo_t info;
		if (!ptrace(PTRACE_GETSIGINFO, pid, NULL, &info) && info.si_code <= 0)
			return ptrace(PTRACE_DETACH, pid, NULL, NULL) ? die("detach") : 0;
		if (ptrace(PTRACE_GETREGS, pid, NULL, &regs))
			return die("registers");
		if (regs.rip >= base && regs.rip < base + (64u << 20))
			printf("step %llx\n", (unsigned long long)regs.rip - (unsigned long long)base);
	}
	return die("the record does not end");
}

static int set_byte(uint64_t address, uint64_t byte)
{
	uint64_t word = peek(address);
	return (int)ptrace(PTRACE_POKETEXT, pid, (void *)address, (void *)((word & ~0xffull) | byte));
}

/* Prints `reached OFFSET` for each of the file's offsets that the program reaches between its two SIGTRAPs. */
static int reached(uint64_t base, const char *path)
{
	static struct { uint64_t offset, byte; } places[8192];
	struct user_regs_struct regs;
	unsigned long offset;
	unsigned n = 0, i;
	FILE *f = fopen(path, "r");
	while (f && n < 8192 && fscanf(f, "%lx", &offset) == 1)
		places[n++].offset = offset;
	if (!f || !n)
		return die(path);
	fclose(f);
	for (i = 0; i < n; i++)
		places[i].byte = peek(base + places[i].offset) & 0xff;
	for (i = 0; i < n; i++)
		if (set_byte(base + places[i].offset, 0xcc))
			return die("breakpoint");
	for (;;) {
		ptrace(PTRACE_CONT, pid, NULL, NULL);
		if (next_trap() || ptrace(PTRACE_GETREGS, pid, NULL, &regs))
			return die("the program ended on its way");
		for (i = 0; i < n && regs.rip != base + places[i].offset + 1; i++)
			continue;
		if (i == n)                           /* the program's own SIGTRAP */
			break;
		set_byte(--regs.rip, places[i].byte);
		ptrace(PTRACE_SETREGS, pid, NULL, &regs);
		printf("reached %llx\n", (unsigned long long)places[i].offset);
		places[i].offset = UINT64_MAX - base - 1;
	}
	for (i = 0; i < n; i++)
		if (places[i].offset < UINT64_MAX - base - 1)
			set_byte(base + places[i].offset, places[i].byte);
	return ptrace(PTRACE_DETACH, pid, NULL, NULL) ? die("detach") : 0;
}

static int never_reached(void)
{
	__atomic_store_n(&ledger->flag[8], 1, __ATOMIC_RELEASE);
	return ptrace(PTRACE_DETACH, pid, NULL, NULL) ? die("detach") : 0;
}

static int at_place(const char *mode, uint64_t address, uint64_t after)
{
	struct user_regs_struct regs;
	uint64_t byte = peek(address) & 0xff;
	int status;
	for (uint64_t hit = 0;; hit++) {
		if (set_byte(address, 0xcc))
			return die("breakpoint");
		ptrace(PTRACE_CONT, pid, NULL, NULL);
		status = next_trap();
		if (status)
			return WIFEXITED(status) ? WEXITSTATUS(status) : 92;
		if (ptrace(PTRACE_GETREGS, pid, NULL, &regs))
			return die("registers");
		/* the final SIGTRAP of the program: the instruction was never reached */
		if (regs.rip != address + 1)
			return never_reached();
		regs.rip = address;
		set_byte(address, byte);
		if (hit == after)
			break;
		/*
		 * Step over the breakpoint. In a sequence this aborts it, which is one more case that must be harmless.
		 */
		ptrace(PTRACE_SETREGS, pid, NULL, &regs);
		ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL);
		if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
			return 92;
	}
	__atomic_store_n(&ledger->flag[6], 1, __ATOMIC_RELEASE);
	if (!strcmp(mode, "kill")) {
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		return 137;
	}
	for (int i = 0; i < 60000 && !__atomic_load_n(&ledger->flag[7], __ATOMIC_ACQUIRE); i++)
		usleep(1000);
	ptrace(PTRACE_SETREGS, pid, NULL, &regs);
	ptrace(PTRACE_CONT, pid, NULL, NULL);
	status = next_trap();                         /* its own SIGTRAP at the end */
	if (status)
		return 92;
	ptrace(PTRACE_DETACH, pid, NULL, NULL);
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 93;
}

int main(int argc, char **argv)
{
	int status;
	if (argc < 7 || strcmp(argv[5], "--"))
		return 2;
	ledger_map();
	pid = fork();
	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		execv(argv[6], argv + 6);
		_exit(127);
	}
	if (next_trap())
		return die("exec");
	ptrace(PTRACE_SETOPTIONS, pid, NULL, (void *)PTRACE_O_EXITKILL);
	ptrace(PTRACE_CONT, pid, NULL, NULL);
	if (next_trap())
		return die("the program ended before it was ready");
	uint64_t base = module_base(argv[2]);
	if (!base)
		return die(argv[2]);
	if (!strcmp(argv[1], "steps")) {
		status = steps(base, strtoull(argv[3], NULL, 16), strtoull(argv[4], NULL, 16));
		waitpid(pid, NULL, 0);
		return status;
	}
	if (!strcmp(argv[1], "reached")) {
		status = reached(base, argv[3]);
		waitpid(pid, NULL, 0);
		return status;
	}
	return at_place(argv[1], base + strtoull(argv[3], NULL, 16), strtoull(argv[4], NULL, 10));
}

#else
int main(void)
{
	return 77;
}
#endif
