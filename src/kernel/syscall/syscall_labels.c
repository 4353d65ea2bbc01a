/* SPDX-License-Identifier: MIT */
/*
 * syscall_labels.c - names of numbers in arguments and results of system calls. The compiler takes the values from the
 * headers of the kernel and the C library.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <linux/futex.h>
#include <linux/sched.h>

#include "base/array.h"
#include "kernel/syscall/syscall_info.h"
#include "kernel/syscall/syscall_names.h"

#define L(name) { #name, (int64_t)(name), (int64_t)(name) }

static const struct wmk_label opens[] = {
	L(O_WRONLY),
	L(O_RDWR),
	L(O_CREAT),
	L(O_EXCL),
	L(O_NOCTTY),
	L(O_TRUNC),
	L(O_APPEND),
	L(O_NONBLOCK),
	L(O_DSYNC),
	L(O_ASYNC),
	L(O_DIRECT),
#ifdef __x86_64__
	/*
	 * The C library defines O_LARGEFILE as 0, because 64-bit programs do not need this flag. The kernel's value is
	 * needed to show the flag in system calls of 32-bit programs.
	 */
	{ "O_LARGEFILE", 0100000, 0100000 },
#endif
	L(O_DIRECTORY),
	L(O_NOFOLLOW),
	L(O_NOATIME),
	L(O_CLOEXEC),
	L(O_SYNC),
	L(O_PATH),
	L(O_TMPFILE),
};
static const struct wmk_label prots[] = { WMK_SYSCALL_PROTS(L) };
static const struct wmk_label maps[] = {
	L(MAP_SHARED),    L(MAP_PRIVATE),   L(MAP_SHARED_VALIDATE), L(MAP_FIXED),   L(MAP_ANONYMOUS),
	L(MAP_GROWSDOWN), L(MAP_DENYWRITE), L(MAP_EXECUTABLE),      L(MAP_LOCKED),  L(MAP_NORESERVE),
	L(MAP_POPULATE),  L(MAP_NONBLOCK),  L(MAP_STACK),           L(MAP_HUGETLB), L(MAP_FIXED_NOREPLACE),
};
static const struct wmk_label clones[] = {
	L(CLONE_VM),
	L(CLONE_FS),
	L(CLONE_FILES),
	L(CLONE_SIGHAND),
	L(CLONE_PIDFD),
	L(CLONE_PTRACE),
	L(CLONE_VFORK),
	L(CLONE_PARENT),
	L(CLONE_THREAD),
	L(CLONE_NEWNS),
	L(CLONE_SYSVSEM),
	L(CLONE_SETTLS),
	L(CLONE_PARENT_SETTID),
	L(CLONE_CHILD_CLEARTID),
	L(CLONE_UNTRACED),
	L(CLONE_CHILD_SETTID),
	L(CLONE_NEWCGROUP),
	L(CLONE_NEWUTS),
	L(CLONE_NEWIPC),
	L(CLONE_NEWUSER),
	L(CLONE_NEWPID),
	L(CLONE_NEWNET),
	L(CLONE_IO),
};
static const struct wmk_label families[] = { WMK_SYSCALL_FAMILIES(L) };
static const struct wmk_label sockets[] = { WMK_SYSCALL_SOCKET_TYPES(L), L(SOCK_NONBLOCK), L(SOCK_CLOEXEC) };
static const struct wmk_label ats[] = {
	L(AT_SYMLINK_NOFOLLOW), { "AT_REMOVEDIR|AT_EACCESS", AT_REMOVEDIR, AT_REMOVEDIR },
	L(AT_SYMLINK_FOLLOW),   L(AT_NO_AUTOMOUNT),
	L(AT_EMPTY_PATH),       L(AT_STATX_FORCE_SYNC),
	L(AT_STATX_DONT_SYNC),  L(AT_RECURSIVE),
};
static const struct wmk_label waits[] = { L(WNOHANG), L(WUNTRACED),   L(WEXITED), L(WCONTINUED),
					  L(WNOWAIT), L(__WNOTHREAD), L(__WALL),  L(__WCLONE) };
static const struct wmk_label signals[] = {
	L(SIGHUP),  L(SIGINT),    L(SIGQUIT), L(SIGILL),   L(SIGTRAP), L(SIGABRT), L(SIGBUS),  L(SIGFPE),
	L(SIGKILL), L(SIGUSR1),   L(SIGSEGV), L(SIGUSR2),  L(SIGPIPE), L(SIGALRM), L(SIGTERM), L(SIGSTKFLT),
	L(SIGCHLD), L(SIGCONT),   L(SIGSTOP), L(SIGTSTP),  L(SIGTTIN), L(SIGTTOU), L(SIGURG),  L(SIGXCPU),
	L(SIGXFSZ), L(SIGVTALRM), L(SIGPROF), L(SIGWINCH), L(SIGIO),   L(SIGPWR),  L(SIGSYS),  { "SIGRT", 32, 64 },
};
static const struct wmk_label whences[] = { WMK_SYSCALL_WHENCES(L) };
static const struct wmk_label accesses[] = { L(R_OK), L(W_OK), L(X_OK) };
static const struct wmk_label messages[] = {
	L(MSG_OOB),        L(MSG_PEEK),     L(MSG_DONTROUTE), L(MSG_CTRUNC),       L(MSG_TRUNC),    L(MSG_DONTWAIT),
	L(MSG_EOR),        L(MSG_WAITALL),  L(MSG_CONFIRM),   L(MSG_ERRQUEUE),     L(MSG_NOSIGNAL), L(MSG_MORE),
	L(MSG_WAITFORONE), L(MSG_ZEROCOPY), L(MSG_FASTOPEN),  L(MSG_CMSG_CLOEXEC),
};
static const struct wmk_label epolls[] = { WMK_SYSCALL_EPOLL_OPS(L) };
static const struct wmk_label clocks[] = { WMK_SYSCALL_CLOCKS(L), L(CLOCK_TAI) };
static const struct wmk_label fcntls[] = { WMK_SYSCALL_FCNTLS(L) };
/* Defines labels for an operation of futex() without and with the flag FUTEX_PRIVATE_FLAG. */
#define FUTEX(name) L(name), { #name "|FUTEX_PRIVATE_FLAG", (name) | FUTEX_PRIVATE_FLAG, (name) | FUTEX_PRIVATE_FLAG }
static const struct wmk_label futexes[] = {
	FUTEX(FUTEX_WAIT),
	FUTEX(FUTEX_WAKE),
	FUTEX(FUTEX_REQUEUE),
	FUTEX(FUTEX_CMP_REQUEUE),
	FUTEX(FUTEX_WAKE_OP),
	FUTEX(FUTEX_LOCK_PI),
	FUTEX(FUTEX_UNLOCK_PI),
	FUTEX(FUTEX_TRYLOCK_PI),
	FUTEX(FUTEX_WAIT_BITSET),
	FUTEX(FUTEX_WAKE_BITSET),
	{ "FUTEX_WAIT_BITSET|FUTEX_PRIVATE_FLAG|FUTEX_CLOCK_REALTIME",
	  FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME,
	  FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME },
};
static const struct wmk_label advices[] = { WMK_SYSCALL_ADVICES(L) };
static const struct wmk_label renames[] = { WMK_SYSCALL_RENAMES(L) };
static const struct wmk_label masks[] = { WMK_SYSCALL_MASKS(L) };

static const struct {
	const char *word;          /* in the rows of tables */
	const struct wmk_label *labels;
	unsigned n;
	bool is_flags;
} sets[WMK_KSETS] = {
#define SET(word, array, is_flags) { word, array, WMK_ARRAY_LEN(array), is_flags }
	[WMK_KSET_OPEN] = SET("open", opens, true),
	[WMK_KSET_PROT] = SET("prot", prots, true),
	[WMK_KSET_MAP] = SET("map", maps, true),
	[WMK_KSET_CLONE] = SET("clone", clones, true),
	[WMK_KSET_FAMILY] = SET("family", families, false),
	[WMK_KSET_SOCKET] = SET("socket", sockets, true),
	[WMK_KSET_AT] = SET("at", ats, true),
	[WMK_KSET_WAIT] = SET("wait", waits, true),
	[WMK_KSET_SIGNAL] = SET("signal", signals, false),
	[WMK_KSET_WHENCE] = SET("whence", whences, false),
	[WMK_KSET_ACCESS] = SET("access", accesses, true),
	[WMK_KSET_MESSAGE] = SET("msg", messages, true),
	[WMK_KSET_EPOLL] = SET("epoll", epolls, false),
	[WMK_KSET_CLOCK] = SET("clock", clocks, false),
	[WMK_KSET_FCNTL] = SET("fcntl", fcntls, false),
	[WMK_KSET_FUTEX] = SET("futex", futexes, false),
	[WMK_KSET_ADVICE] = SET("advice", advices, false),
	[WMK_KSET_RENAME] = SET("rename", renames, true),
	[WMK_KSET_MASK] = SET("mask", masks, false),
};

const char *wmk_kset_word(enum wmk_kset set)
{
	return sets[set].word;
}

const struct wmk_label *wmk_kset_labels(enum wmk_kset set, unsigned *n, bool *is_flags)
{
	*n = sets[set].n;
	*is_flags = sets[set].is_flags;
	return sets[set].labels;
}

const char *wmk_syscall_errno(unsigned number)
{
	/*
	 * Only a tracer sees ERESTARTSYS and similar errors: the kernel restarts the system call, or returns EINTR
	 * instead.
	 */
	switch (number) {
	case 0: return NULL;
	case 512: return "ERESTARTSYS";
	case 513: return "ERESTARTNOINTR";
	case 514: return "ERESTARTNOHAND";
	case 516: return "ERESTART_RESTARTBLOCK";
	default: return strerrorname_np((int)number);
	}
}
