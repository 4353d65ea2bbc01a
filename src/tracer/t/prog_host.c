/* SPDX-License-Identifier: MIT */
/*
 * prog_host.c - programs with unusual behaviour, which the library must not break. test_host.c has the expected
 * results.
 */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <waymark/runtime.h>
#include <waymark/trace.h>

#define DEADLOCK_S 40    /* everything here takes less time, except a deadlock */

#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
/* It cannot search for leaks in a process that was copied in the middle of an operation. */
const char *__asan_default_options(void);
__attribute__((visibility("default"))) const char *__asan_default_options(void)
{
	return "detect_leaks=0";
}
#endif

static int in_main;
/* system calls that on_trap() answered: all; those of threads other than the main thread */
static atomic_int trapped, trapped_elsewhere;

static void mark(const char *where)
{
	waymark(t, mark, where, wm_named("pid", (int)syscall(SYS_getpid)));
}

/* Enabled by probes only. */
static void other(void)
{
	waymark(t, other, wm_named("n", 1));
}

static void probe(const struct waymark_probe_record *record, void *data)
{
	(void)record;
	++*(int *)data;
}

static void until_input(void)
{
	char byte;

	if (read(0, &byte, 1) < 0)
		_exit(67);
}

static int wait_ok(pid_t pid)
{
	int status = -1;

	return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

/* ── handlers that fork ──────────────────────────────────────────────────────────────────────────────── */

static atomic_int armed_fork, armed_call, failed;

static void fork_in_handler(const char *here, const char *child)
{
	mark(here);
	pid_t pid = fork();

	if (pid == 0) {
		mark(child);
		exit(3);
	}
	failed += wait_ok(pid) != 3;
}

static void on_user(int number)
{
	(void)number;
	fork_in_handler("handler", "handler_child");
}

static void signal_self(void)
{
	syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), SIGUSR1);
}

/* Registered before the handlers of the library: runs while the library's handler holds the lock. */
static void on_fork(void)
{
	if (atomic_exchange(&armed_fork, 0))
		signal_self();
}

/* A system call of the library while it holds the lock. */
static void on_call(void)
{
	if (syscall(SYS_gettid) != getpid() || !atomic_exchange(&armed_call, 0))
		return;
	signal_self();
	fork_in_handler("fault", "lost");
}

static int do_handlers(void)
{
	static int calls;

	mark("before");
	armed_fork = 1;
	pid_t pid = fork();

	if (pid == 0) {
		mark("child");
		exit(0);
	}
	int rc = wait_ok(pid);

	armed_call = 1;
	if (waymark_connect("t:other", probe, &calls) != 0)
		return 4;
	other();
	waymark_disconnect("t:other", probe, &calls);
	mark("after");
	return rc ? rc : failed || armed_fork || armed_call || calls != 1 ? 5 : 0;
}

/* ── a thread that is cancelled ──────────────────────────────────────────────────────────────────────── */

static int connected, cancelled_calls;

/* The thread must end at the first cancellation point that is not inside the library. */
static void *connect_cancelled(void *arg)
{
	(void)arg;
	pthread_cancel(pthread_self());
	connected = waymark_connect("t:other", probe, &cancelled_calls) == 0;
	pthread_testcancel();
	return NULL;
}

static int do_cancel(void)
{
	pthread_t thread;
	void *result = NULL;

	if (pthread_create(&thread, NULL, connect_cancelled, NULL) != 0 || pthread_join(thread, &result) != 0 ||
	    result != PTHREAD_CANCELED)
		_exit(3);
	if (!connected)
		_exit(4);       /* it was cancelled inside the library, which never releases the lock */
	other();
	mark("after");
	return waymark_disconnect("t:other", probe, &cancelled_calls) == 0 && cancelled_calls == 1 ? 0 : 5;
}

/* ── a sandbox ───────────────────────────────────────────────────────────────────────────────────────── */

/* Answer with ENOSYS. */
static void on_trap(int number, siginfo_t *info, void *context)
{
	ucontext_t *at = context;

	(void)number;
	(void)info;
	trapped++;
	trapped_elsewhere += syscall(SYS_gettid) != getpid();
	on_call();
#if defined(__x86_64__)
	at->uc_mcontext.gregs[REG_RAX] = -ENOSYS;
#else
	at->uc_mcontext.regs[0] = (unsigned long long)-ENOSYS;
#endif
}

#define TRAP_IF(number) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP)

/* signalfd4() is called by the helper thread only; membarrier() by every thread that patches sites. */
static void trap_calls(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)), TRAP_IF(SYS_signalfd4),
		TRAP_IF(SYS_membarrier), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };
	struct sigaction action = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_NODEFER };

	if (sigaction(SIGSYS, &action, NULL) != 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) != 0)
		_exit(77);
}

/* Each of these calls kills a thread that blocks SIGSYS. The child leaves the rings of its parent, and gets its own. */
static int do_trap(void)
{
	mark("before");
	pid_t pid = fork();

	if (pid == 0) {
		mark("child");
		exit(trapped_elsewhere > 0 ? 0 : 3);
	}
	int rc = wait_ok(pid);

	mark("after");
	return rc ? rc : trapped > 0 && trapped_elsewhere > 0 ? 0 : 4;
}

/* ── a handler that jumps ────────────────────────────────────────────────────────────────────────────── */

static sigjmp_buf back;

static void on_fault(int number)
{
	(void)number;
	siglongjmp(back, 1);
}

/* Too long for a restartable sequence: copied in C, within a grace-period section that the thread never leaves. */
static __attribute__((noinline)) void record_from(const char *nowhere)
{
	waymark(t, mark_long, wm_bytes(nowhere, 20000));
}

static int do_jump(void)
{
	static int calls;
	const char *nowhere = mmap(NULL, 32768, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	signal(SIGSEGV, on_fault);
	mark("before");
	if (sigsetjmp(back, 1) == 0) {
		record_from(nowhere);
		return 3;       /* the memory was readable */
	}
	mark("jumped");
	if (waymark_connect("t:other", probe, &calls) != 0)
		return 4;
	other();
	/* the library cannot know that no thread runs the probe */
	if (waymark_disconnect("t:other", probe, &calls) != -ETIMEDOUT)
		return 5;
	other();
	if (calls != 1 || write(0, "", 1) != 1)
		return 6;
	until_input();
	mark("after");
	return 0;
}

/* ── events that come and go ─────────────────────────────────────────────────────────────────────────── */

/* An event with a description of 3 kB, registered and unregistered in turn for each byte of input. */
static int do_announce(void)
{
	static char names[32][101];
	struct waymark_field fields[32] = { { 0 } };
	struct waymark_schema schema = {
		.size = sizeof(schema), .provider = "host", .name = "announced", .fields = fields, .n_fields = 32
	};
	struct waymark_event *event = NULL;
	char byte;

	for (int i = 0; i < 32; i++) {
		memset(names[i], 'a' + i % 26, 100);
		names[i][0] = (char)('A' + i % 26);
		names[i][1] = (char)('a' + i / 26);
		fields[i] = (struct waymark_field){ .type = WAYMARK_T_U64, .name = names[i], .flags = WAYMARK_F_NAMED };
	}
	while (read(0, &byte, 1) == 1) {
		if (event) {
			waymark_event_unregister(event);
			event = NULL;
		} else if ((event = waymark_event_register(&schema)) == NULL) {
			return 3;
		}
		if (write(0, "", 1) != 1)
			return 4;
	}
	return 0;
}

/* ── one library replaces another ──────────────────────────────────────────────────────────────────────── */

static char **arguments;

/* Load the library and return its address. The helper thread lists the objects when an event is registered. */
static unsigned long load_and_announce(void **library)
{
	const struct waymark_schema schema = { .size = sizeof(schema), .provider = "host", .name = "look" };
	struct link_map *map = NULL;

	*library = dlopen(arguments[2], RTLD_NOW | RTLD_LOCAL);
	if (!*library || dlinfo(*library, RTLD_DI_LINKMAP, &map) != 0 || !waymark_event_register(&schema))
		_exit(3);
	return (unsigned long)map->l_addr;
}

/* Between two listings of the helper thread, the file is replaced. */
static int do_swap(void)
{
	void *library;
	unsigned long before = load_and_announce(&library);

	until_input();
	dlclose(library);
	if (rename(arguments[3], arguments[2]) != 0)
		return 4;
	if (load_and_announce(&library) != before)
		return 77;      /* the loader has chosen another address */
	until_input();
	return 0;
}

/* ── before the library ────────────────────────────────────────────────────────────────────────────────── */

/* Runs before the first call of the library, which is in a constructor. */
static void before_all(int argc, char **argv, char **environment)
{
	(void)environment;
	if (argc > 1 && !strcmp(argv[1], "trap"))
		trap_calls();
	if (argc > 1 && !strcmp(argv[1], "handlers")) {
		signal(SIGUSR1, on_user);
		pthread_atfork(on_fork, NULL, NULL);
		trap_calls();
	}
}

__attribute__((section(".preinit_array"), used)) static void (*const at_once)(int, char **, char **) = before_all;

/* ── the environment ─────────────────────────────────────────────────────────────────────────────────── */

/*
 * Replaces the function of the C library, also for libwaymark. From main() on, the program may change the environment
 * at any time; before, only the main thread may read it.
 */
char *secure_getenv(const char *name)
{
	size_t len = strlen(name);

	if (!strncmp(name, "WAYMARK_", 8) && (in_main || syscall(SYS_gettid) != getpid()))
		_exit(66);
	for (char **at = environ; at && *at; at++)
		if (!strncmp(*at, name, len) && (*at)[len] == '=')
			return *at + len + 1;
	return NULL;
}

/*
 * A child finds its session daemon by the environment at program start. With private rings, it records nothing before.
 */
static int do_environment(void)
{
	mark("before");
	setenv("WAYMARK_RUNDIR", "/nowhere", 1);
	setenv("WAYMARK_REGISTER_TIMEOUT", "0", 1);
	pid_t pid = fork();

	if (pid == 0) {
		mark("child");
		exit(0);
	}
	int rc = wait_ok(pid);

	mark("after");
	return rc;
}

int main(int argc, char **argv)
{
	static const struct { const char *name; int (*run)(void); } kinds[] = {
		{ "environment", do_environment }, { "trap", do_trap },
		{ "jump", do_jump }, { "announce", do_announce }, { "handlers", do_handlers },
		{ "swap", do_swap }, { "cancel", do_cancel },
	};

	in_main = 1;
	arguments = argv;
	alarm(DEADLOCK_S);
	for (size_t i = 0; argc > 1 && i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(argv[1], kinds[i].name))
			return kinds[i].run();
	return 90;
}
