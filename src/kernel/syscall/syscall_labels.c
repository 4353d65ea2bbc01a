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
	 * The C library defines it as 0, because 64-bit programs do not need it. The kernel's value shows it in the
	 * calls of 32-bit programs.
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
static const struct wmk_label prots[] = { L(PROT_READ), L(PROT_WRITE), L(PROT_EXEC), L(PROT_GROWSDOWN),
					  L(PROT_GROWSUP) };
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
static const struct wmk_label families[] = {
	L(AF_UNSPEC), L(AF_UNIX),    L(AF_INET),   L(AF_AX25),      L(AF_IPX),   L(AF_X25), L(AF_INET6),
	L(AF_KEY),    L(AF_NETLINK), L(AF_PACKET), L(AF_RDS),       L(AF_PPPOX), L(AF_LLC), L(AF_IB),
	L(AF_MPLS),   L(AF_CAN),     L(AF_TIPC),   L(AF_BLUETOOTH), L(AF_ALG),   L(AF_NFC), L(AF_VSOCK),
	L(AF_KCM),    L(AF_QIPCRTR), L(AF_SMC),    L(AF_XDP),
};
static const struct wmk_label sockets[] = {
	L(SOCK_STREAM), L(SOCK_DGRAM),  L(SOCK_RAW),      L(SOCK_RDM),     L(SOCK_SEQPACKET),
	L(SOCK_DCCP),   L(SOCK_PACKET), L(SOCK_NONBLOCK), L(SOCK_CLOEXEC),
};
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
static const struct wmk_label whences[] = { L(SEEK_SET), L(SEEK_CUR), L(SEEK_END), L(SEEK_DATA), L(SEEK_HOLE) };
static const struct wmk_label accesses[] = { L(R_OK), L(W_OK), L(X_OK) };
static const struct wmk_label messages[] = {
	L(MSG_OOB),        L(MSG_PEEK),     L(MSG_DONTROUTE), L(MSG_CTRUNC),       L(MSG_TRUNC),    L(MSG_DONTWAIT),
	L(MSG_EOR),        L(MSG_WAITALL),  L(MSG_CONFIRM),   L(MSG_ERRQUEUE),     L(MSG_NOSIGNAL), L(MSG_MORE),
	L(MSG_WAITFORONE), L(MSG_ZEROCOPY), L(MSG_FASTOPEN),  L(MSG_CMSG_CLOEXEC),
};
static const struct wmk_label epolls[] = { L(EPOLL_CTL_ADD), L(EPOLL_CTL_DEL), L(EPOLL_CTL_MOD) };
static const struct wmk_label clocks[] = {
	L(CLOCK_REALTIME),          L(CLOCK_MONOTONIC),     L(CLOCK_PROCESS_CPUTIME_ID),
	L(CLOCK_THREAD_CPUTIME_ID), L(CLOCK_MONOTONIC_RAW), L(CLOCK_REALTIME_COARSE),
	L(CLOCK_MONOTONIC_COARSE),  L(CLOCK_BOOTTIME),      L(CLOCK_REALTIME_ALARM),
	L(CLOCK_BOOTTIME_ALARM),    L(CLOCK_TAI),
};
static const struct wmk_label fcntls[] = {
	L(F_DUPFD),         L(F_GETFD),      L(F_SETFD),      L(F_GETFL),     L(F_SETFL),     L(F_GETLK),
	L(F_SETLK),         L(F_SETLKW),     L(F_SETOWN),     L(F_GETOWN),    L(F_SETSIG),    L(F_GETSIG),
	L(F_OFD_GETLK),     L(F_OFD_SETLK),  L(F_OFD_SETLKW), L(F_SETLEASE),  L(F_GETLEASE),  L(F_NOTIFY),
	L(F_DUPFD_CLOEXEC), L(F_SETPIPE_SZ), L(F_GETPIPE_SZ), L(F_ADD_SEALS), L(F_GET_SEALS),
};
/* An operation, alone and with the flag that usually accompanies it. */
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
static const struct wmk_label advices[] = {
	L(MADV_NORMAL),      L(MADV_RANDOM),     L(MADV_SEQUENTIAL), L(MADV_WILLNEED), L(MADV_DONTNEED),
	L(MADV_FREE),        L(MADV_REMOVE),     L(MADV_DONTFORK),   L(MADV_DOFORK),   L(MADV_MERGEABLE),
	L(MADV_UNMERGEABLE), L(MADV_HUGEPAGE),   L(MADV_NOHUGEPAGE), L(MADV_DONTDUMP), L(MADV_DODUMP),
	L(MADV_WIPEONFORK),  L(MADV_KEEPONFORK), L(MADV_COLD),       L(MADV_PAGEOUT),
};
static const struct wmk_label renames[] = { L(RENAME_NOREPLACE), L(RENAME_EXCHANGE), L(RENAME_WHITEOUT) };
static const struct wmk_label masks[] = { L(SIG_BLOCK), L(SIG_UNBLOCK), L(SIG_SETMASK) };

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
	/* Visible only to a tracer: the kernel restarts the system call, or returns EINTR instead. */
	switch (number) {
	case 0: return NULL;
	case 512: return "ERESTARTSYS";
	case 513: return "ERESTARTNOINTR";
	case 514: return "ERESTARTNOHAND";
	case 516: return "ERESTART_RESTARTBLOCK";
	default: return strerrorname_np((int)number);
	}
}
