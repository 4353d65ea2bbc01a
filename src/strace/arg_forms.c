/* SPDX-License-Identifier: MIT */
/*
 * arg_forms.c - the table of forms: the print function, the data to copy, and the names of values (see arg_format.h).
 * arg_names.c has the names of values that print functions use as well.
 */
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "kernel/syscall/syscall_names.h"
#include "strace/arg_format.h"

#define N(name) { (uint32_t)(name), #name }
#define NAMES(...) (const struct wmk_kname[]){ __VA_ARGS__, { 0, NULL } }
#define NAME(form, none, ...) { .word = form, .print = wmk_kshow_name, .unknown = none, .names = NAMES(__VA_ARGS__) }
#define FLAGS(form, none, ...) { .word = form, .print = wmk_kshow_flags, .unknown = none, .names = NAMES(__VA_ARGS__) }
#define NUMBER(form, show) { .word = form, .print = show }
/* An argument that is printed only if the function `has` returns true. */
#define SOMETIMES(form, show, has, at) { .word = form, .print = show, .is_shown = has, .when = at }
#define COPIED(form, show, how, bytes, most, at) \
	{ \
		.word = form, .print = show, .op = WMK_SYSCALLS_##how, .unit = bytes, .max = most, .when = at \
	}
#define IN(form, show, how, most) COPIED(form, show, how, 1, most, WMK_KFORM_IN)
#define OUT(form, show, how, most) COPIED(form, show, how, 1, most, WMK_KFORM_OUT | WMK_KFORM_LATE)
/* Structures of a fixed size. `wide` specifies that 32-bit programs have another layout of the structure. */
#define STRUCT(form, show, bytes, wide, at) \
	{ \
		.word = form, .print = show, .op = WMK_SYSCALLS_FIXED, .unit = bytes, .max = bytes, .is_wide = wide, \
		.when = WMK_KFORM_WHOLE | (at) \
	}
#define STRUCT_IN(form, show, bytes, wide) STRUCT(form, show, bytes, wide, WMK_KFORM_IN)
#define STRUCT_OUT(form, show, bytes, wide) STRUCT(form, show, bytes, wide, WMK_KFORM_OUT | WMK_KFORM_LATE)

const struct wmk_kform wmk_kforms[] = {
	NUMBER("int", wmk_kshow_int),
	NUMBER("uint", wmk_kshow_uint),
	NUMBER("long", wmk_kshow_long),
	NUMBER("ulong", wmk_kshow_ulong),
	NUMBER("hex32", wmk_kshow_hex),
	NUMBER("hex", wmk_kshow_long_hex),
	NUMBER("ptr", wmk_kshow_pointer),
	NUMBER("fd", wmk_kshow_int),
	NUMBER("pid", wmk_kshow_int),
	NUMBER("errno", wmk_kshow_int),
	NUMBER("dirfd", wmk_kshow_dirfd),
	NUMBER("uid", wmk_kshow_uid),
	NUMBER("mode", wmk_kshow_mode),
	NUMBER("mknod", wmk_kshow_mknod),
	SOMETIMES("mkdev", wmk_kshow_device, wmk_khas_device, 0),
	NUMBER("signal", wmk_kshow_signal),
	NUMBER("open", wmk_kshow_open),
	SOMETIMES("omode", wmk_kshow_mode, wmk_khas_open_mode, 0),
	NUMBER("statxat", wmk_kshow_statx_flags),
	NUMBER("protocol", wmk_kshow_protocol),
	NUMBER("socktype", wmk_kshow_socket),
	NUMBER("so", wmk_kshow_so),
	SOMETIMES("mremapto", wmk_kshow_pointer, wmk_khas_mremap_to, 0),
	{ .word = "clonestack", .print = wmk_kshow_clone_stack, .name = "child_stack=" },
	{ .word = "cloneflags", .print = wmk_kshow_clone_flags, .name = "flags=" },
	{ .word = "clonetid", .print = wmk_kshow_int_at, .is_shown = wmk_khas_clone_parent, .name = "parent_tid=",
	  .op = WMK_SYSCALLS_FIXED, .unit = 4, .max = 4, .when = WMK_KFORM_WHOLE | WMK_KFORM_OUT | WMK_KFORM_LATE },
	{ .word = "clonetls", .print = wmk_kshow_clone_tls, .is_shown = wmk_khas_clone_tls, .name = "tls=",
	  .when = WMK_KFORM_LATE },
	{ .word = "clonechild", .print = wmk_kshow_clone_child, .is_shown = wmk_khas_clone_child,
	  .name = "child_tidptr=", .when = WMK_KFORM_LATE },
	NUMBER("futex", wmk_kshow_futex_op),
	SOMETIMES("futexval", wmk_kshow_uint, wmk_khas_futex_value, 0),
	{ .word = "futextime", .print = wmk_kshow_futex_time, .is_shown = wmk_khas_futex_time,
	  .op = WMK_SYSCALLS_FIXED, .unit = 16, .max = 16, .is_wide = true,
	  .when = WMK_KFORM_WHOLE | WMK_KFORM_IN | WMK_KFORM_ALWAYS },
	SOMETIMES("futexaddr", wmk_kshow_pointer, wmk_khas_futex_other, 0),
	SOMETIMES("futexval3", wmk_kshow_futex_value3, wmk_khas_futex_value3, 0),
	{ .word = "prctlarg", .print = wmk_kshow_prctl_arg, .is_shown = wmk_khas_prctl_arg,
	  .op = WMK_SYSCALLS_TEXT, .unit = 1, .max = 16, .when = WMK_KFORM_IN | WMK_KFORM_ALWAYS },
	SOMETIMES("prctlrest", wmk_kshow_long_hex, wmk_khas_prctl_rest, 0),
	SOMETIMES("fcntlarg", wmk_kshow_fcntl_arg, wmk_khas_fcntl_arg, 0),
	COPIED("ioctlarg", wmk_kshow_ioctl_arg, FIXED, 8, 8, WMK_KFORM_OUT | WMK_KFORM_LATE | WMK_KFORM_ALWAYS),
	STRUCT_IN("off", wmk_kshow_offset, 8, false),

	IN("path", wmk_kshow_path, TEXT, WMK_SYSCALLS_PART_MAX),
	IN("text", wmk_kshow_bytes, TEXT, 0),
	IN("in", wmk_kshow_bytes, BYTES, 0),
	OUT("out", wmk_kshow_bytes, RETURNED, 0),
	OUT("outhex", wmk_kshow_random, RETURNED, 0),
	OUT("outpath", wmk_kshow_directory, RETURNED, WMK_SYSCALLS_PART_MAX),
	IN("texts", wmk_kshow_texts, TEXTS, 0),
	COPIED("env", wmk_kshow_environment, FIXED, 4096, 4096, WMK_KFORM_IN),
	IN("viin", wmk_kshow_vectors, VECTORS_IN, 0),
	OUT("viout", wmk_kshow_vectors, VECTORS_RETURNED, 0),
	IN("addrin", wmk_kshow_address, BYTES, WMK_SYSCALLS_ADDRESS_MAX),
	OUT("addrout", wmk_kshow_address, LENGTH_AT, WMK_SYSCALLS_ADDRESS_MAX),
	STRUCT("addrlen>", wmk_kshow_address_len, 4, false, WMK_KFORM_IN | WMK_KFORM_OUT | WMK_KFORM_LATE),
	IN("sockopt", wmk_kshow_sockopt, BYTES, 64),
	OUT("sockoptout>", wmk_kshow_sockopt, LENGTH_AT, 64),
	COPIED("polls", wmk_kshow_polls, BYTES, 8, 8 * WMK_SYSCALLS_POLLS_MAX, WMK_KFORM_IN | WMK_KFORM_OUT),
	STRUCT_OUT("stat", wmk_kshow_stat, sizeof(struct stat), true),
	STRUCT_OUT("statx>", wmk_kshow_statx, 256, false),
	STRUCT_IN("timein", wmk_kshow_timespec, 16, true),
	STRUCT_OUT("timeout", wmk_kshow_timespec, 16, true),
	STRUCT_IN("times", wmk_kshow_timespecs, 32, true),
	/* the structure is copied at entry, so that it is printed even if the system call failed */
	STRUCT("tsleft", wmk_kshow_timespec, 16, true, WMK_KFORM_IN | WMK_KFORM_OUT),
	{ .word = "left>", .print = wmk_kshow_pointer, .when = WMK_KFORM_LATE },
	STRUCT_IN("tv", wmk_kshow_timeval, 16, true),
	STRUCT_OUT("tv>", wmk_kshow_timeval, 16, true),
	STRUCT_OUT("pair", wmk_kshow_pair, 8, false),
	STRUCT_OUT("int>", wmk_kshow_int_at, 4, false),
	STRUCT_OUT("status>", wmk_kshow_status, 4, false),
	STRUCT_IN("rlimit", wmk_kshow_rlimit, 16, true),
	STRUCT_OUT("rlimit>", wmk_kshow_rlimit, 16, true),
	STRUCT_IN("action", wmk_kshow_action, 32, true),
	STRUCT_OUT("action>", wmk_kshow_action, 32, true),
	STRUCT_IN("sigset", wmk_kshow_sigset, 8, false),
	STRUCT_OUT("sigset>", wmk_kshow_sigset, 8, false),
	STRUCT_IN("stack", wmk_kshow_stack, 24, true),
	STRUCT_OUT("stack>", wmk_kshow_stack, 24, true),
	STRUCT_IN("clone3", wmk_kshow_clone3, 64, false),
	{ .word = "clone3size", .print = wmk_kshow_clone3_size, .when = WMK_KFORM_OWN | WMK_KFORM_LATE },
	STRUCT_OUT("uname>", wmk_kshow_uname, 390, false),
	STRUCT_OUT("times>", wmk_kshow_times, 32, true),
	STRUCT_IN("epollevent", wmk_kshow_epoll_event, sizeof(struct epoll_event), false),
	COPIED("epollevents>", wmk_kshow_epoll_events, RETURNED, sizeof(struct epoll_event),
	       32 * sizeof(struct epoll_event), WMK_KFORM_OUT | WMK_KFORM_LATE),
	OUT("dirents>", wmk_kshow_dirents, RETURNED, WMK_SYSCALLS_PART_MAX),

	NAME("prctl", "PR_",
		N(PR_SET_PDEATHSIG), N(PR_GET_PDEATHSIG), N(PR_GET_DUMPABLE), N(PR_SET_DUMPABLE), N(PR_GET_KEEPCAPS),
		N(PR_SET_KEEPCAPS), N(PR_SET_NAME), N(PR_GET_NAME), N(PR_GET_SECCOMP), N(PR_SET_SECCOMP),
		N(PR_CAPBSET_READ), N(PR_CAPBSET_DROP), N(PR_GET_TIMERSLACK), N(PR_SET_TIMERSLACK), N(PR_SET_MM),
		N(PR_SET_CHILD_SUBREAPER), N(PR_GET_CHILD_SUBREAPER), N(PR_SET_NO_NEW_PRIVS), N(PR_GET_NO_NEW_PRIVS),
		N(PR_SET_THP_DISABLE), N(PR_GET_THP_DISABLE), N(PR_CAP_AMBIENT), { 0x59616d61, "PR_SET_PTRACER" },
		{ 0x53564d41, "PR_SET_VMA" }),
	NAME("whence", "SEEK_", WMK_SYSCALL_WHENCES(N)),
	NAME("mask", "SIG_", WMK_SYSCALL_MASKS(N)),
	NAME("clock", "CLOCK_", WMK_SYSCALL_CLOCKS(N)),
	NAME("itimer", "ITIMER_", N(ITIMER_REAL), N(ITIMER_VIRTUAL), N(ITIMER_PROF)),
	NAME("fcntl", "F_", WMK_SYSCALL_FCNTLS(N), N(F_SETOWN_EX), N(F_GETOWN_EX)),
	NAME("ioctl", "_",
		N(TCGETS), N(TCSETS), N(TCSETSW), N(TCSETSF), N(TCGETA), N(TCSETA), N(TCSBRK), N(TCXONC), N(TCFLSH),
		N(TIOCEXCL), N(TIOCNXCL), N(TIOCSCTTY), N(TIOCGPGRP), N(TIOCSPGRP), N(TIOCOUTQ), N(TIOCSTI),
		N(TIOCGWINSZ), N(TIOCSWINSZ), N(TIOCMGET), N(FIONREAD), N(FIONBIO), N(TIOCNOTTY), N(TIOCSETD),
		N(TIOCGETD), N(TIOCGSID), N(TIOCGPTN), N(TIOCSPTLCK), N(FIONCLEX), N(FIOCLEX), N(FIOASYNC),
		N(SIOCGIFCONF), N(SIOCGIFNAME), N(SIOCGIFFLAGS), N(SIOCGIFADDR), N(SIOCGIFINDEX), N(SIOCGIFHWADDR),
		N(SIOCGIFMTU), { 0x40049409, "BTRFS_IOC_CLONE or FICLONE" }, { 0x2400, "PERF_EVENT_IOC_ENABLE" },
		{ 0x2401, "PERF_EVENT_IOC_DISABLE" }, { 0xc020660b, "FS_IOC_FIEMAP" },
		{ 0x80086601, "FS_IOC_GETFLAGS" }),
	NAME("epoll", "EPOLL_CTL_", WMK_SYSCALL_EPOLL_OPS(N)),
	{ .word = "family", .print = wmk_kshow_name, .names = wmk_knames_family, .unknown = "AF_" },
	NAME("shutdown", "SHUT_", N(SHUT_RD), N(SHUT_WR), N(SHUT_RDWR)),
	NAME("sol", "SOL_",
		N(SOL_IP), N(SOL_SOCKET), N(SOL_TCP), { 17, "SOL_UDP" }, N(SOL_IPV6), N(SOL_ICMPV6), N(SOL_RAW),
		N(SOL_PACKET), N(SOL_NETLINK)),
	NAME("advice", "MADV_", WMK_SYSCALL_ADVICES(N)),
	NAME("fadvice", "POSIX_FADV_",
		N(POSIX_FADV_NORMAL), N(POSIX_FADV_RANDOM), N(POSIX_FADV_SEQUENTIAL), N(POSIX_FADV_WILLNEED),
		N(POSIX_FADV_DONTNEED), N(POSIX_FADV_NOREUSE)),
	NAME("resource", "RLIMIT_",
		N(RLIMIT_CPU), N(RLIMIT_FSIZE), N(RLIMIT_DATA), N(RLIMIT_STACK), N(RLIMIT_CORE), N(RLIMIT_RSS),
		N(RLIMIT_NPROC), N(RLIMIT_NOFILE), N(RLIMIT_MEMLOCK), N(RLIMIT_AS), N(RLIMIT_LOCKS),
		N(RLIMIT_SIGPENDING), N(RLIMIT_MSGQUEUE), N(RLIMIT_NICE), N(RLIMIT_RTPRIO), N(RLIMIT_RTTIME)),
	NAME("rusage", "RUSAGE_", N(RUSAGE_SELF), { 0xffffffff, "RUSAGE_CHILDREN" }, { 1, "RUSAGE_THREAD" }),
	NAME("archprctl", "ARCH_",
		{ 0x1001, "ARCH_SET_GS" }, { 0x1002, "ARCH_SET_FS" }, { 0x1003, "ARCH_GET_FS" },
		{ 0x1004, "ARCH_GET_GS" }, { 0x1011, "ARCH_GET_CPUID" }, { 0x1012, "ARCH_SET_CPUID" }),
	NAME("waitid", "P_", N(P_ALL), N(P_PID), N(P_PGID), { 3, "P_PIDFD" }),
	FLAGS("prot", "PROT_", N(PROT_NONE), WMK_SYSCALL_PROTS(N)),
	FLAGS("map", "MAP_",
		N(MAP_SHARED_VALIDATE), N(MAP_SHARED), N(MAP_PRIVATE), N(MAP_FIXED), N(MAP_ANONYMOUS),
		{ 0x40, "MAP_32BIT" }, N(MAP_NORESERVE), N(MAP_POPULATE), N(MAP_NONBLOCK), N(MAP_GROWSDOWN),
		N(MAP_DENYWRITE), N(MAP_EXECUTABLE), N(MAP_LOCKED), N(MAP_FIXED_NOREPLACE), { 0x80000, "MAP_SYNC" },
		N(MAP_STACK), N(MAP_HUGETLB)),
	{ .word = "clone", .print = wmk_kshow_flags, .names = wmk_knames_clone, .unknown = "CLONE_" },
	FLAGS("wait", "W",
		N(WNOHANG), N(WSTOPPED), N(WEXITED), N(WCONTINUED), N(WNOWAIT), N(__WCLONE), N(__WALL), N(__WNOTHREAD)),
	FLAGS("at", "AT_",
		N(AT_SYMLINK_NOFOLLOW), N(AT_REMOVEDIR), N(AT_SYMLINK_FOLLOW), N(AT_NO_AUTOMOUNT), N(AT_EMPTY_PATH),
		N(AT_RECURSIVE)),
	FLAGS("unlinkat", "AT_", N(AT_REMOVEDIR)),
	FLAGS("linkat", "AT_", N(AT_SYMLINK_FOLLOW), N(AT_EMPTY_PATH)),
	FLAGS("faccessat", "AT_", N(AT_SYMLINK_NOFOLLOW), N(AT_EACCESS), N(AT_EMPTY_PATH)),
	{ .word = "statxmask", .print = wmk_kshow_flags, .names = wmk_knames_statxmask, .unknown = "STATX_" },
	FLAGS("access", "?_OK", N(F_OK), N(R_OK), N(W_OK), N(X_OK)),
	FLAGS("cloexec", "O_", N(O_CLOEXEC), N(O_DIRECT), N(O_NONBLOCK)),
	FLAGS("epollnew", "EPOLL_", N(EPOLL_CLOEXEC)),
	FLAGS("eventfd", "EFD_", N(EFD_SEMAPHORE), N(EFD_CLOEXEC), N(EFD_NONBLOCK)),
	FLAGS("timerfd", "TFD_", N(TFD_CLOEXEC), N(TFD_NONBLOCK)),
	FLAGS("signalfd", "SFD_", N(SFD_CLOEXEC), N(SFD_NONBLOCK)),
	FLAGS("inotify", "IN_", N(IN_CLOEXEC), N(IN_NONBLOCK)),
	{ .word = "socket", .print = wmk_kshow_flags, .names = wmk_knames_sockflags, .unknown = "SOCK_" },
	FLAGS("msg", "MSG_",
		N(MSG_OOB), N(MSG_PEEK), N(MSG_DONTROUTE), N(MSG_CTRUNC), N(MSG_PROXY), N(MSG_TRUNC), N(MSG_DONTWAIT),
		N(MSG_EOR), N(MSG_WAITALL), N(MSG_FIN), N(MSG_SYN), N(MSG_CONFIRM), N(MSG_RST), N(MSG_ERRQUEUE),
		N(MSG_NOSIGNAL), N(MSG_MORE), N(MSG_WAITFORONE), N(MSG_BATCH), N(MSG_ZEROCOPY), N(MSG_FASTOPEN),
		N(MSG_CMSG_CLOEXEC)),
	FLAGS("flock", "LOCK_", N(LOCK_SH), N(LOCK_EX), N(LOCK_NB), N(LOCK_UN)),
	FLAGS("fallocate", "FALLOC_FL_",
		N(FALLOC_FL_KEEP_SIZE), N(FALLOC_FL_PUNCH_HOLE), N(FALLOC_FL_NO_HIDE_STALE),
		N(FALLOC_FL_COLLAPSE_RANGE), N(FALLOC_FL_ZERO_RANGE), N(FALLOC_FL_INSERT_RANGE),
		N(FALLOC_FL_UNSHARE_RANGE)),
	FLAGS("closerange", "CLOSE_RANGE_", { 2, "CLOSE_RANGE_UNSHARE" }, { 4, "CLOSE_RANGE_CLOEXEC" }),
	FLAGS("memfd", "MFD_", N(MFD_CLOEXEC), N(MFD_ALLOW_SEALING), N(MFD_HUGETLB)),
	FLAGS("mount", "MS_",
		N(MS_RDONLY), N(MS_NOSUID), N(MS_NODEV), N(MS_NOEXEC), N(MS_SYNCHRONOUS), N(MS_REMOUNT), N(MS_MANDLOCK),
		N(MS_DIRSYNC), N(MS_NOATIME), N(MS_NODIRATIME), N(MS_BIND), N(MS_MOVE), N(MS_REC), N(MS_SILENT),
		N(MS_POSIXACL), N(MS_UNBINDABLE), N(MS_PRIVATE), N(MS_SLAVE), N(MS_SHARED), N(MS_RELATIME),
		N(MS_STRICTATIME), N(MS_LAZYTIME)),
	FLAGS("umount", "MNT_", N(MNT_FORCE), N(MNT_DETACH), N(MNT_EXPIRE), N(UMOUNT_NOFOLLOW)),
	FLAGS("rename", "RENAME_", WMK_SYSCALL_RENAMES(N)),
	FLAGS("mremap", "MREMAP_", N(MREMAP_MAYMOVE), N(MREMAP_FIXED), { 4, "MREMAP_DONTUNMAP" }),
	FLAGS("msync", "MS_", N(MS_ASYNC), N(MS_INVALIDATE), N(MS_SYNC)),
	FLAGS("random", "GRND_", N(GRND_NONBLOCK), N(GRND_RANDOM), { 4, "GRND_INSECURE" }),
	FLAGS("timerabs", "TIMER_", N(TIMER_ABSTIME)),
};

const unsigned wmk_kforms_n = WMK_ARRAY_LEN(wmk_kforms);
