/* SPDX-License-Identifier: MIT */
/*
 * lifecycle.c - a program at the edges of its life, while libwaymark's helper thread is at work. Each `where` is one
 * record of edge:mark.
 *
 *     lifecycle cancel N         N threads are cancelled, one after the other, while others record
 *     lifecycle users N          N times a process with threads sets all its ids (to their present values)
 *     lifecycle exit HOW         _exit | abort | exec | thread_exec at once, perhaps while the helper thread registers
 *     lifecycle again            the program that exec executes: one record
 *     lifecycle daemon FILE      daemon(); the daemon records, then writes FILE
 *     lifecycle forks N          N forks one after the other, from a process with threads that record
 *     lifecycle library PATH N   loads and unloads the library N times
 *     lifecycle taken            records an event that the library's destructor has half removed: its descriptor has a
 *                                chain but no event any more
 *     lifecycle nomem            executes itself with an empty /proc; needs root
 *     lifecycle user UID         changes to that user, then records; needs root
 *     lifecycle nowhere          the same, and mprotect() refuses memory that is writable and executable
 */
#include <errno.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <waymark/runtime.h>
#include <waymark/trace.h>

static _Atomic int stop;

static void mark(const char *where)
{
	waymark(edge, mark, where, wm_named("pid", (int)getpid()));
}

static void *record(void *arg)
{
	for (uint64_t i = 0; !stop; i++) {
		waymark(edge, busy, i);
		usleep(200);
	}
	return arg;
}

static void start(pthread_t threads[4])
{
	for (int i = 0; i < 4; i++)
		if (pthread_create(&threads[i], NULL, record, NULL))
			exit(3);
}

static void join(pthread_t threads[4])
{
	stop = 1;
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
}

static void *cancelled(void *arg)
{
	for (;;) {
		waymark(edge, doomed);
		usleep(20);
	}
	return arg;
}

static int do_cancel(int n)
{
	pthread_t threads[4], one;
	void *how;

	start(threads);
	for (int i = 0; i < n; i++) {
		if (pthread_create(&one, NULL, cancelled, NULL))
			return 3;
		usleep(100);
		if (pthread_cancel(one) || pthread_join(one, &how) || how != PTHREAD_CANCELED)
			return 4;
	}
	join(threads);
	mark("cancelled");
	return 0;
}

/*
 * The C library makes every thread of the process set its ids, including the helper thread. If a thread blocked the
 * library's signal, this would hang.
 */
static int do_users(int n)
{
	pthread_t threads[4];

	start(threads);
	for (int i = 0; i < n; i++)
		if (setgid(getgid()) || setuid(getuid()) || setresuid(-1u, -1u, -1u))
			return 4;
	join(threads);
	mark("users");
	return 0;
}

static void *exec_again(void *self)
{
	execl(self, self, "again", (char *)NULL);
	return NULL;
}

static int do_exit(const char *how, char *self)
{
	pthread_t one;

	mark("before");
	if (!strcmp(how, "_exit"))
		_exit(0);
	if (!strcmp(how, "abort")) {
		setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
		abort();
	}
	if (!strcmp(how, "exec"))
		exec_again(self);
	if (pthread_create(&one, NULL, exec_again, self))
		return 3;
	pause();
	return 5;
}

static int do_daemon(const char *file)
{
	pid_t before = getpid();

	mark("before");
	/*
	 * The manual way to become a daemon: a child, a new session, a grandchild; the parent exits at once after each
	 * step.
	 */
	for (int i = 0; i < 2; i++) {
		pid_t pid = fork();

		if (pid < 0)
			return 3;
		if (pid > 0)
			_exit(0);
		setsid();
	}
	mark(getpid() == before ? "wrong" : "daemon");
	int fd = open(file, O_WRONLY | O_CREAT, 0600);

	return fd < 0;
}

static int do_forks(int n)
{
	pthread_t threads[4];

	start(threads);
	for (int i = 0; i < n; i++) {
		pid_t pid = fork();
		int status;

		if (pid == 0) {
			mark("child");
			_exit(0);
		}
		if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
			return 4;
	}
	join(threads);
	mark("forks");
	return 0;
}

static struct waymark_desc *taken;

static void take_rest(int signal)
{
	(void)signal;
	__atomic_store_n(&taken->chain, NULL, __ATOMIC_RELEASE);
}

/*
 * The state that a thread sees if it has loaded the chain while another thread is in exit(). Here it lasts until the
 * alarm.
 */
static int do_taken(void)
{
	static const struct waymark_field fields[] = {
		{ .type = WAYMARK_T_STRING, .name = "text", .flags = WAYMARK_F_NAMED }
	};
	static const struct waymark_schema schema = {
		.size = sizeof(schema),
		.provider = "edge",
		.name = "taken",
		.level = WAYMARK_LEVEL_INFO,
		.fields = fields,
		.n_fields = 1,
	};
	const struct itimerval soon = { .it_value = { .tv_usec = 50000 } };
	const struct waymark_ref ref = { "text", SIZE_MAX };
	struct waymark_event *event = waymark_event_register(&schema);

	while (event && !waymark_event_enabled(event))
		usleep(1000);
	if (!event)
		return 3;
	/* the fast path is taken if the CPU's ring is open */
	cpu_set_t here;

	CPU_ZERO(&here);
	CPU_SET((unsigned)sched_getcpu(), &here);
	sched_setaffinity(0, sizeof(here), &here);
	mark("before");
	taken = (struct waymark_desc *)(void *)event;           /* its first member */
	signal(SIGALRM, take_rest);
	setitimer(ITIMER_REAL, &soon, NULL);
	__atomic_store_n(&taken->event, NULL, __ATOMIC_RELEASE);
	waymark_record(taken, NULL, &ref, NULL);
	_exit(0);                        /* the library's own tables are inconsistent now */
}

/* Make /proc empty, in a private mount namespace. */
static int hide_proc(void)
{
	return unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	       mount("none", "/proc", "tmpfs", MS_RDONLY, NULL);
}

/* Deny memory that is writable and executable from here on, also after exec. */
static int refuse_mprotect(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 0, 2),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PROT_READ | PROT_WRITE | PROT_EXEC, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static int do_refused(int both, char *self)
{
	if (hide_proc() || (both && refuse_mprotect()))
		return 77;
	execl(self, self, "again", (char *)NULL);
	return 5;
}

/* Load and unload a library with sites N times, slowly enough for observers. */
static int do_library(const char *path, int n)
{
	for (int i = 0; i < n; i++) {
		void (*emit)(uint32_t, int) = NULL;
		void *library = dlopen(path, RTLD_NOW);

		if (!library || !(*(void **)&emit = dlsym(library, "plugin_emit")))
			return 4;
		emit((uint32_t)i, 1);
		if (dlclose(library))
			return 5;
		usleep(20000);
	}
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "", *how = argc > 2 ? argv[2] : "";

	if (!strcmp(what, "cancel"))
		return do_cancel(atoi(how));
	if (!strcmp(what, "users"))
		return do_users(atoi(how));
	if (!strcmp(what, "exit"))
		return do_exit(how, argv[0]);
	if (!strcmp(what, "daemon"))
		return do_daemon(how);
	if (!strcmp(what, "forks"))
		return do_forks(atoi(how));
	if (!strcmp(what, "library") && argc > 3)
		return do_library(how, atoi(argv[3]));
	if (!strcmp(what, "taken"))
		return do_taken();
	if (!strcmp(what, "nowhere") || !strcmp(what, "nomem"))
		return do_refused(!strcmp(what, "nowhere"), argv[0]);
	if (!strcmp(what, "user") && (setgid((gid_t)atoi(how)) || setuid((uid_t)atoi(how))))
		return 4;
	mark("again");
	return 0;
}
