/* SPDX-License-Identifier: MIT */
/*
 * traced_syscalls.c - system calls with many kinds of arguments, equal in each run, for tests of their display. Usage:
 * traced_syscalls KIND, in a private directory.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kernel/t/narrow.h"

#define NOTHING(call) do { if ((long)(call) < 0) errno = 0; } while (0)

/* An address without a mapping, which the compiler does not know. */
static void *volatile nowhere = (void *)16;

static void files(void)
{
	char long_text[200], buf[300];
	struct iovec vectors[3] = { { long_text, 5 }, { long_text, 100 }, { NULL, 0 } };
	struct stat st;
	int fd, other;

	memset(long_text, 'x', sizeof(long_text));
	memcpy(long_text, "a\n\t\"\\\0011\001\200\377~", 11);
	fd = open("made", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);
	NOTHING(write(fd, long_text, 32));
	NOTHING(write(fd, long_text, 33));
	NOTHING(write(fd, "", 0));
	NOTHING(write(fd, nowhere, 4));
	NOTHING(writev(fd, vectors, 3));
	NOTHING(pwrite(fd, "abc", 3, 5));
	NOTHING(lseek(fd, 0, SEEK_SET));
	NOTHING(read(fd, buf, 20));
	NOTHING(read(fd, buf, sizeof(buf)));
	NOTHING(read(fd, buf, sizeof(buf)));
	NOTHING(read(-1, buf, sizeof(buf)));
	NOTHING(lseek(fd, -3, SEEK_END));
	vectors[0].iov_base = buf, vectors[1].iov_base = buf + 10, vectors[2].iov_base = buf + 200;
	NOTHING(pread(fd, buf, 10, 2));
	NOTHING(preadv(fd, vectors, 2, 0));
	NOTHING(readv(fd, vectors, 2));
	NOTHING(fstat(fd, &st));
	NOTHING(stat("/dev/null", &st));
	NOTHING(lstat("/nowhere/at/all", &st));
	NOTHING(stat("/", &st));
#ifdef SYS_access                    /* not available on aarch64 */
	NOTHING(syscall(SYS_access, "made", R_OK | W_OK));
	NOTHING(syscall(SYS_access, "made", F_OK));
#endif
	NOTHING(fcntl(fd, F_GETFD));
	NOTHING(fcntl(fd, F_SETFD, 0));
	NOTHING(fcntl(fd, F_GETFL));
	NOTHING(fcntl(fd, F_SETFL, O_APPEND | O_NONBLOCK));
	other = fcntl(fd, F_DUPFD_CLOEXEC, 20);
	NOTHING(dup2(fd, 15));
	NOTHING(dup3(fd, 16, O_CLOEXEC));
	NOTHING(dup3(fd, fd, 0));
	NOTHING(ftruncate(fd, 10));
	NOTHING(flock(fd, LOCK_EX | LOCK_NB));
	NOTHING(fsync(fd));
	NOTHING(posix_fadvise(fd, 0, 100, POSIX_FADV_WILLNEED));
	NOTHING(fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, 4096));
	NOTHING(ioctl(fd, TCGETS, buf));
	NOTHING(ioctl(fd, FIONREAD, buf));
	NOTHING(close(other));
	NOTHING(mkdir("dir", 0755));
	NOTHING(mkdir("dir", 0));
	NOTHING(rename("made", "renamed"));
	NOTHING(syscall(SYS_renameat2, AT_FDCWD, "renamed", AT_FDCWD, "again", RENAME_NOREPLACE));
	NOTHING(symlink("again", "link"));
	NOTHING(readlink("link", buf, sizeof(buf)));
	NOTHING(readlink("again", buf, sizeof(buf)));
	NOTHING(link("again", "hard"));
	NOTHING(chmod("hard", 04711));
	NOTHING(fchmod(fd, 0600));
	NOTHING(chown("hard", 0, -1));
	NOTHING(truncate("hard", 3));
	NOTHING(faccessat(AT_FDCWD, "hard", X_OK, AT_EACCESS));
	NOTHING(unlink("hard"));
	NOTHING(unlinkat(AT_FDCWD, "dir", AT_REMOVEDIR));
	NOTHING(unlinkat(AT_FDCWD, "again", 0));
	NOTHING(unlink("link"));
	NOTHING(mknod("pipe", S_IFIFO | 0600, 0));
	NOTHING(utimensat(AT_FDCWD, "pipe", NULL, 0));
	NOTHING(utimensat(AT_FDCWD, "pipe", (struct timespec[]){ { 1000000000, 5 }, { 0, UTIME_OMIT } },
			  AT_SYMLINK_NOFOLLOW));
	NOTHING(unlink("pipe"));
	NOTHING(syscall(SYS_getcwd, buf, 5));
	NOTHING(chdir("/nowhere"));
	NOTHING(umask(022));
	NOTHING(open("", O_WRONLY | O_EXCL | O_NOCTTY | O_SYNC | O_DIRECTORY | O_NOFOLLOW | O_PATH));
	NOTHING(open("/tmp", O_RDWR | O_TMPFILE, 0600));
	NOTHING(open(nowhere, O_RDONLY));
	NOTHING(memfd_create("a name", MFD_CLOEXEC));
	NOTHING(syscall(SYS_close_range, 500, 600, 0));
}

static void memory(void)
{
	char *at = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	NOTHING(mprotect(at, 4096, PROT_NONE));
	NOTHING(mprotect(at, 8192, PROT_READ | PROT_EXEC));
	NOTHING(madvise(at, 8192, MADV_DONTNEED));
	NOTHING(msync(at, 4096, MS_SYNC));
	at = mremap(at, 65536, 4096, MREMAP_MAYMOVE);
	NOTHING(munmap(at, 4096));
	NOTHING(munmap((char *)nowhere + 1, 4096));
	NOTHING(mmap(NULL, 4096, PROT_READ, MAP_SHARED, -1, 0) == MAP_FAILED ? -1 : 0);
	NOTHING(mmap(NULL, 0, PROT_NONE, MAP_PRIVATE, -1, 0) == MAP_FAILED ? -1 : 0);
}

static void waiting(void)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLET, .data = { .u64 = 7 } };
	struct timespec wait = { 0, 1000 };
	int pipes[2], epoll, fd;
	struct pollfd polls[2];
	uint64_t one = 1;

	NOTHING(pipe(pipes));
	polls[0] = (struct pollfd){ pipes[0], POLLIN | POLLPRI, 0 };
	polls[1] = (struct pollfd){ pipes[1], POLLOUT, 0 };
	NOTHING(poll(polls, 2, 1000));
	NOTHING(poll(polls, 1, 0));
	NOTHING(poll(NULL, 0, 1));
	NOTHING(ppoll(polls, 2, &wait, NULL));
	epoll = epoll_create1(EPOLL_CLOEXEC);
	fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
	NOTHING(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event));
	NOTHING(epoll_wait(epoll, &event, 1, 0));
	NOTHING(epoll_ctl(epoll, EPOLL_CTL_DEL, fd, NULL));
	NOTHING(read(fd, &one, sizeof(one)));
	NOTHING(read(fd, &one, sizeof(one)));
	NOTHING(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
	NOTHING(nanosleep(&wait, NULL));
	NOTHING(clock_nanosleep(CLOCK_MONOTONIC, 0, &wait, NULL));
	NOTHING(clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &wait, NULL));
	NOTHING(syscall(SYS_clock_getres, CLOCK_BOOTTIME, &wait));
	NOTHING(syscall(SYS_nanosleep, &(struct timespec){ 0, -1 }, NULL));
}

static void sockets(void)
{
	struct sockaddr_un un = { AF_UNIX, "\0abstract-name" }, path = { AF_UNIX, "/nowhere/socket" };
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(9), .sin_addr = { htonl(INADDR_LOOPBACK) } };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6,
				    .sin6_port = htons(9),
				    .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	int one = 1, pair[2], fd, udp;
	socklen_t len = sizeof(in);
	char buf[64];

	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	NOTHING(connect(fd, (struct sockaddr *)&path, sizeof(path)));
	NOTHING(connect(fd, (struct sockaddr *)&un, 2 + 14));
	NOTHING(close(fd));
	fd = socket(AF_INET, SOCK_STREAM, IPPROTO_TCP);
	NOTHING(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)));
	NOTHING(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)));
	in.sin_port = 0;
	NOTHING(bind(fd, (struct sockaddr *)&in, sizeof(in)));
	NOTHING(listen(fd, 5));
	NOTHING(shutdown(fd, SHUT_RDWR));
	NOTHING(getsockopt(fd, SOL_SOCKET, SO_ERROR, &one, &len));
	NOTHING(getpeername(fd, (struct sockaddr *)&in, &len));
	udp = socket(AF_INET, SOCK_DGRAM, IPPROTO_IP);
	in.sin_port = htons(9);
	NOTHING(sendto(udp, "hello", 5, MSG_NOSIGNAL | MSG_DONTWAIT, (struct sockaddr *)&in, sizeof(in)));
	NOTHING(recvfrom(udp, buf, sizeof(buf), MSG_DONTWAIT, NULL, NULL));
	NOTHING(connect(udp, (struct sockaddr *)&in6, sizeof(in6)));
	NOTHING(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair));
	NOTHING(send(pair[0], "a message", 9, 0));
	NOTHING(recv(pair[1], buf, sizeof(buf), MSG_PEEK));
	NOTHING(accept4(pair[1], NULL, NULL, SOCK_CLOEXEC));
	NOTHING(socket(AF_INET6, 77, 0));
	NOTHING(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0));
}

static void on_signal(int number)
{
	(void)number;
}

static void processes(void)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART | SA_NOCLDSTOP };
	char one[] = "one", two[] = "t\"wo", variable[] = "A=1";
	struct rlimit limit;
	struct utsname name;
	sigset_t set;
	int status;
	pid_t pid;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGRTMIN + 3);
	NOTHING(sigprocmask(SIG_BLOCK, &set, NULL));
	NOTHING(sigprocmask(SIG_SETMASK, NULL, &set));
	action.sa_mask = set;
	NOTHING(sigaction(SIGUSR1, &action, NULL));
	NOTHING(sigaction(SIGUSR1, NULL, &action));
	NOTHING(sigaction(SIGKILL, &action, NULL));
	NOTHING(kill(getpid(), SIGUSR1));
	NOTHING(kill(getpid(), 0));
	NOTHING(kill(999999999, SIGTERM));
	NOTHING(getrlimit(RLIMIT_NOFILE, &limit));
	NOTHING(getrlimit(RLIMIT_CORE, &limit));
	NOTHING(uname(&name));
	NOTHING(prctl(PR_SET_NAME, "a name"));
	NOTHING(prctl(PR_GET_DUMPABLE));
	NOTHING(getpgid(0));
	NOTHING(sched_yield());
	NOTHING(syscall(SYS_futex, &status, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1, NULL, NULL, 0));
	NOTHING(syscall(SYS_futex, &status, FUTEX_WAIT | FUTEX_CLOCK_REALTIME, 0x7fffffff, NULL, NULL, 0));
	NOTHING(setpgid(0, 0));
	NOTHING(waitpid(-1, &status, WNOHANG));
	NOTHING(setresuid(-1, -1, -1));
	pid = fork();
	if (pid == 0)
		_exit(7);
	NOTHING(waitpid(pid, &status, 0));
	pid = fork();
	if (pid == 0) {
		raise(SIGTERM);
		_exit(0);
	}
	NOTHING(waitpid(pid, &status, WUNTRACED));
	NOTHING(execve("/nowhere/program", (char *[]){ one, two, NULL }, (char *[]){ variable, NULL }));
}

static void *thread(void *arg)
{
	NOTHING(syscall(SYS_getpgid, 0));
	return arg;
}

static void threads(void)
{
	for (int i = 0; i < 3; i++) {
		pthread_t one;

		if (pthread_create(&one, NULL, thread, NULL) == 0)
			pthread_join(one, NULL);
	}
}

/* System calls in 32-bit mode, with registers set by assembly. */
static void narrow(void)
{
#ifdef __x86_64__
	static const char name[] = "/nowhere";
	char *low = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);

	if (!narrow_works())
		exit(77);
	memcpy(low, name, sizeof(name));
	narrow_call(5, (long)low, 0, 0);
	narrow_call(NARROW_GETPID, 0, 0, 0);
	narrow_call(4, -1, (long)low, 3);
	NOTHING(getppid());
#endif
}

/* Numbers without a system call, and rt_sigreturn(), which has no number at its exit. */
static void unnamed(void)
{
	struct sigaction action = { .sa_handler = on_signal };

	for (unsigned i = 0; i < 2; i++) {
		syscall(9999, 1, 2, 3, 4, 5, 6);
		syscall(511, 1, 2, 3, 4, 5, 6);
		syscall(-1, 1, 2, 3, 4, 5, 6);
		syscall(0x7ffffffe, 1, 2, 3, 4, 5, 6);
	}
	sigaction(SIGUSR2, &action, NULL);
	raise(SIGUSR2);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} kinds[] = { { "files", files },     { "memory", memory },       { "waiting", waiting },
		      { "sockets", sockets }, { "processes", processes }, { "threads", threads },
		      { "narrow", narrow },   { "unnamed", unnamed } };

	if (argc > 1 && strcmp(argv[1], "forever") == 0)
		for (;;)
			pause();
	if (argc > 2 && strcmp(argv[1], "many") == 0)
		for (long i = atol(argv[2]); i > 0; i--)
			syscall(SYS_getppid);
	if (argc > 1 && strcmp(argv[1], "crash") == 0)
		*(volatile int *)nowhere = 1;
	for (unsigned i = 0; argc > 1 && i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(argv[1], kinds[i].name) == 0)
			kinds[i].run();
	return 0;
}
