/* SPDX-License-Identifier: MIT */
/*
 * arg_names.c - names of numbers in system calls' arguments, in the order and the spelling of strace (see
 * arg_format.h); syscall_labels.c has those of traces. The values are those of the kernel's and the C library's
 * headers.
 */
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/netlink.h>
#include <linux/sched.h>
#include <linux/stat.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
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
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "strace/arg_format.h"

#define N(name) { (uint32_t)(name), #name }
/* What si_code means depends on the signal. */
#define CODE(signal, name) { (uint64_t)(signal) << 32 | (name), #name }

#ifdef __x86_64__
#define WIDE_FILES 0100000u      /* the C library says 0 of it */
#elif defined(__aarch64__)
#define WIDE_FILES 0400000u
#else
#define WIDE_FILES (uint32_t)O_LARGEFILE
#endif

const struct wmk_kname wmk_knames_open[] = {
	N(O_CREAT),
	N(O_EXCL),
	N(O_NOCTTY),
	N(O_TRUNC),
	N(O_APPEND),
	N(O_NONBLOCK),
	N(O_SYNC),
	N(O_DSYNC),
	N(O_ASYNC),
	N(O_DIRECT),
	{ WIDE_FILES, "O_LARGEFILE" },
	N(O_NOFOLLOW),
	N(O_NOATIME),
	N(O_CLOEXEC),
	N(O_PATH),
	N(O_TMPFILE),
	N(O_DIRECTORY),
	{ 0, NULL },
};

const struct wmk_kname wmk_knames_cloexec[] = {
	N(O_CLOEXEC), N(O_DIRECT), N(O_NONBLOCK),
	{ 0, NULL },
};

const struct wmk_kname wmk_knames_prot[] = {
	N(PROT_NONE), N(PROT_READ), N(PROT_WRITE), N(PROT_EXEC), N(PROT_GROWSDOWN), N(PROT_GROWSUP),
	{ 0, NULL },
};

const struct wmk_kname wmk_knames_map[] = {
	N(MAP_SHARED_VALIDATE), N(MAP_SHARED),     N(MAP_PRIVATE),  N(MAP_FIXED),           N(MAP_ANONYMOUS),
	{ 0x40, "MAP_32BIT" },  N(MAP_NORESERVE),  N(MAP_POPULATE), N(MAP_NONBLOCK),        N(MAP_GROWSDOWN),
	N(MAP_DENYWRITE),       N(MAP_EXECUTABLE), N(MAP_LOCKED),   N(MAP_FIXED_NOREPLACE), { 0x80000, "MAP_SYNC" },
	N(MAP_STACK),           N(MAP_HUGETLB),    { 0, NULL },
};

const struct wmk_kname wmk_knames_clone[] = {
	N(CLONE_VM),
	N(CLONE_FS),
	N(CLONE_FILES),
	N(CLONE_SIGHAND),
	N(CLONE_PIDFD),
	N(CLONE_PTRACE),
	N(CLONE_VFORK),
	N(CLONE_PARENT),
	N(CLONE_THREAD),
	N(CLONE_NEWNS),
	N(CLONE_SYSVSEM),
	N(CLONE_SETTLS),
	N(CLONE_PARENT_SETTID),
	N(CLONE_CHILD_CLEARTID),
	N(CLONE_DETACHED),
	N(CLONE_UNTRACED),
	N(CLONE_CHILD_SETTID),
	N(CLONE_NEWCGROUP),
	N(CLONE_NEWUTS),
	N(CLONE_NEWIPC),
	N(CLONE_NEWUSER),
	N(CLONE_NEWPID),
	N(CLONE_NEWNET),
	N(CLONE_IO),
	{ 0, NULL },
};

const struct wmk_kname wmk_knames_wait[] = {
	N(WNOHANG), N(WSTOPPED), N(WEXITED), N(WCONTINUED), N(WNOWAIT), N(__WCLONE), N(__WALL), N(__WNOTHREAD),
	{ 0, NULL },
};

const struct wmk_kname wmk_knames_waitid[] = {
	N(P_ALL), N(P_PID), N(P_PGID), { 3, "P_PIDFD" },
	{ 0, NULL },
};

const struct wmk_kname wmk_knames_at[] = {
	N(AT_SYMLINK_NOFOLLOW), N(AT_REMOVEDIR), N(AT_SYMLINK_FOLLOW), N(AT_NO_AUTOMOUNT),
	N(AT_EMPTY_PATH),       N(AT_RECURSIVE), { 0, NULL },
};

const struct wmk_kname wmk_knames_unlinkat[] = {
	N(AT_REMOVEDIR),
	{ 0, NULL },
};

const struct wmk_kname wmk_knames_linkat[] = {
	N(AT_SYMLINK_FOLLOW), N(AT_EMPTY_PATH),
	{ 0, NULL },
};

const struct wmk_kname wmk_knames_faccessat[] = {
	N(AT_SYMLINK_NOFOLLOW), N(AT_EACCESS), N(AT_EMPTY_PATH),
	{ 0, NULL },
};

const struct wmk_kname wmk_knames_statxat[] = {
	N(AT_STATX_FORCE_SYNC), N(AT_STATX_DONT_SYNC), N(AT_SYMLINK_NOFOLLOW), N(AT_NO_AUTOMOUNT), N(AT_EMPTY_PATH),
	{ 0, NULL },
};

const struct wmk_kname wmk_knames_statxmask[] = {
	{ 0xfff, "STATX_ALL" },
	{ 0x7ff, "STATX_BASIC_STATS" },
	N(STATX_TYPE),
	N(STATX_MODE),
	N(STATX_NLINK),
	N(STATX_UID),
	N(STATX_GID),
	N(STATX_ATIME),
	N(STATX_MTIME),
	N(STATX_CTIME),
	N(STATX_INO),
	N(STATX_SIZE),
	N(STATX_BLOCKS),
	N(STATX_BTIME),
	{ 0x1000, "STATX_MNT_ID" },
	{ 0x2000, "STATX_DIOALIGN" },
	{ 0, NULL },
};

const struct wmk_kname wmk_knames_statxattr[] = {
	{ 4, "STATX_ATTR_COMPRESSED" },      { 0x10, "STATX_ATTR_IMMUTABLE" },
	{ 0x20, "STATX_ATTR_APPEND" },       { 0x40, "STATX_ATTR_NODUMP" },
	{ 0x800, "STATX_ATTR_ENCRYPTED" },   { 0x1000, "STATX_ATTR_AUTOMOUNT" },
	{ 0x2000, "STATX_ATTR_MOUNT_ROOT" }, { 0x100000, "STATX_ATTR_VERITY" },
	{ 0x200000, "STATX_ATTR_DAX" },      { 0, NULL },
};

const struct wmk_kname wmk_knames_access[] = {
	N(F_OK), N(R_OK), N(W_OK), N(X_OK),
	{ 0, NULL },
};

const struct wmk_kname wmk_knames_whence[] = {
	N(SEEK_SET), N(SEEK_CUR), N(SEEK_END), N(SEEK_DATA), N(SEEK_HOLE),
	{ 0, NULL },
};

const struct wmk_kname wmk_knames_epollnew[] = {
	N(EPOLL_CLOEXEC),
	{ 0, NULL },
};

const struct wmk_kname wmk_knames_epollop[] = {
	N(EPOLL_CTL_ADD), N(EPOLL_CTL_DEL), N(EPOLL_CTL_MOD),
	{ 0, NULL },
};

const struct wmk_kname wmk_knames_eventfd[] = {
	N(EFD_SEMAPHORE), N(EFD_CLOEXEC), N(EFD_NONBLOCK),
	{ 0, NULL },
};

const struct wmk_kname wmk_knames_timerfd[] = {
	N(TFD_CLOEXEC), N(TFD_NONBLOCK),
	{ 0, NULL },
};

const struct wmk_kname wmk_knames_signalfd[] = {
	N(SFD_CLOEXEC), N(SFD_NONBLOCK),
	{ 0, NULL },
};

const struct wmk_kname wmk_knames_inotify[] = {
	N(IN_CLOEXEC), N(IN_NONBLOCK),
	{ 0, NULL },
};

const struct wmk_kname wmk_knames_poll[] = {
	N(POLLIN),     N(POLLPRI), N(POLLOUT), N(POLLRDNORM), N(POLLWRNORM),           N(POLLRDBAND),
	N(POLLWRBAND), N(POLLERR), N(POLLHUP), N(POLLNVAL),   { 0x2000, "POLLRDHUP" }, { 0, NULL },
};

const struct wmk_kname wmk_knames_epoll[] = {
	N(EPOLLIN),     N(EPOLLPRI),     N(EPOLLOUT), N(EPOLLRDNORM), N(EPOLLWRNORM), N(EPOLLRDBAND),
	N(EPOLLWRBAND), N(EPOLLMSG),     N(EPOLLERR), N(EPOLLHUP),    N(EPOLLRDHUP),  N(EPOLLEXCLUSIVE),
	N(EPOLLWAKEUP), N(EPOLLONESHOT), N(EPOLLET),  { 0, NULL },
};

const struct wmk_kname wmk_knames_family[] = {
	N(AF_UNSPEC), N(AF_UNIX),    N(AF_INET),   N(AF_AX25),      N(AF_IPX),   N(AF_X25), N(AF_INET6),
	N(AF_KEY),    N(AF_NETLINK), N(AF_PACKET), N(AF_RDS),       N(AF_PPPOX), N(AF_LLC), N(AF_IB),
	N(AF_MPLS),   N(AF_CAN),     N(AF_TIPC),   N(AF_BLUETOOTH), N(AF_ALG),   N(AF_NFC), N(AF_VSOCK),
	N(AF_KCM),    N(AF_QIPCRTR), N(AF_SMC),    N(AF_XDP),       { 0, NULL },
};

const struct wmk_kname wmk_knames_socktype[] = {
	N(SOCK_STREAM), N(SOCK_DGRAM), N(SOCK_RAW), N(SOCK_RDM), N(SOCK_SEQPACKET), N(SOCK_DCCP), N(SOCK_PACKET),
	{ 0, NULL },
};

const struct wmk_kname wmk_knames_sockflags[] = {
	N(SOCK_CLOEXEC), N(SOCK_NONBLOCK),
	{ 0, NULL },
};

const struct wmk_kname wmk_knames_ip[] = {
	N(IPPROTO_IP),     N(IPPROTO_ICMP), N(IPPROTO_IGMP),    N(IPPROTO_IPIP), N(IPPROTO_TCP),
	N(IPPROTO_UDP),    N(IPPROTO_IPV6), N(IPPROTO_GRE),     N(IPPROTO_ESP),  N(IPPROTO_AH),
	N(IPPROTO_ICMPV6), N(IPPROTO_SCTP), N(IPPROTO_UDPLITE), N(IPPROTO_RAW),  { 0, NULL },
};

const struct wmk_kname wmk_knames_netlink[] = {
	N(NETLINK_ROUTE),          N(NETLINK_USERSOCK),   N(NETLINK_FIREWALL),  N(NETLINK_SOCK_DIAG),
	N(NETLINK_NFLOG),          N(NETLINK_XFRM),       N(NETLINK_SELINUX),   N(NETLINK_ISCSI),
	N(NETLINK_AUDIT),          N(NETLINK_FIB_LOOKUP), N(NETLINK_CONNECTOR), N(NETLINK_NETFILTER),
	N(NETLINK_KOBJECT_UEVENT), N(NETLINK_GENERIC),    N(NETLINK_CRYPTO),    { 0, NULL },
};

const struct wmk_kname wmk_knames_msg[] = {
	N(MSG_OOB),      N(MSG_PEEK),     N(MSG_DONTROUTE),    N(MSG_CTRUNC), N(MSG_PROXY),      N(MSG_TRUNC),
	N(MSG_DONTWAIT), N(MSG_EOR),      N(MSG_WAITALL),      N(MSG_FIN),    N(MSG_SYN),        N(MSG_CONFIRM),
	N(MSG_RST),      N(MSG_ERRQUEUE), N(MSG_NOSIGNAL),     N(MSG_MORE),   N(MSG_WAITFORONE), N(MSG_BATCH),
	N(MSG_ZEROCOPY), N(MSG_FASTOPEN), N(MSG_CMSG_CLOEXEC), { 0, NULL },
};

const struct wmk_kname wmk_knames_shutdown[] = {
	N(SHUT_RD), N(SHUT_WR), N(SHUT_RDWR),
	{ 0, NULL },
};

const struct wmk_kname wmk_knames_sol[] = {
	N(SOL_IP),     N(SOL_SOCKET), N(SOL_TCP),    { 17, "SOL_UDP" }, N(SOL_IPV6),
	N(SOL_ICMPV6), N(SOL_RAW),    N(SOL_PACKET), N(SOL_NETLINK),    { 0, NULL },
};

const struct wmk_kname wmk_knames_so[] = {
	N(SO_DEBUG),        N(SO_REUSEADDR),     N(SO_TYPE),          N(SO_ERROR),        N(SO_DONTROUTE),
	N(SO_BROADCAST),    N(SO_SNDBUF),        N(SO_RCVBUF),        N(SO_KEEPALIVE),    N(SO_OOBINLINE),
	N(SO_NO_CHECK),     N(SO_PRIORITY),      N(SO_LINGER),        N(SO_REUSEPORT),    N(SO_PASSCRED),
	N(SO_PEERCRED),     N(SO_RCVLOWAT),      N(SO_SNDLOWAT),      N(SO_RCVTIMEO_OLD), N(SO_SNDTIMEO_OLD),
	N(SO_BINDTODEVICE), N(SO_ATTACH_FILTER), N(SO_DETACH_FILTER), N(SO_PEERNAME),     N(SO_ACCEPTCONN),
	N(SO_PEERSEC),      N(SO_SNDBUFFORCE),   N(SO_RCVBUFFORCE),   N(SO_PASSSEC),      N(SO_MARK),
	N(SO_PROTOCOL),     N(SO_DOMAIN),        N(SO_RXQ_OVFL),      N(SO_PEEK_OFF),     N(SO_INCOMING_CPU),
	{ 0, NULL },
};

const struct wmk_kname wmk_knames_tcp[] = {
	N(TCP_NODELAY),      N(TCP_MAXSEG),       N(TCP_CORK),     N(TCP_KEEPIDLE),
	N(TCP_KEEPINTVL),    N(TCP_KEEPCNT),      N(TCP_SYNCNT),   N(TCP_LINGER2),
	N(TCP_DEFER_ACCEPT), N(TCP_WINDOW_CLAMP), N(TCP_INFO),     N(TCP_QUICKACK),
	N(TCP_CONGESTION),   N(TCP_USER_TIMEOUT), N(TCP_FASTOPEN), { 0, NULL },
};

const struct wmk_kname wmk_knames_advice[] = {
	N(MADV_NORMAL),      N(MADV_RANDOM),     N(MADV_SEQUENTIAL), N(MADV_WILLNEED), N(MADV_DONTNEED),
	N(MADV_FREE),        N(MADV_REMOVE),     N(MADV_DONTFORK),   N(MADV_DOFORK),   N(MADV_MERGEABLE),
	N(MADV_UNMERGEABLE), N(MADV_HUGEPAGE),   N(MADV_NOHUGEPAGE), N(MADV_DONTDUMP), N(MADV_DODUMP),
	N(MADV_WIPEONFORK),  N(MADV_KEEPONFORK), N(MADV_COLD),       N(MADV_PAGEOUT),  { 0, NULL },
};

const struct wmk_kname wmk_knames_fadvice[] = {
	N(POSIX_FADV_NORMAL),
	N(POSIX_FADV_RANDOM),
	N(POSIX_FADV_SEQUENTIAL),
	N(POSIX_FADV_WILLNEED),
	N(POSIX_FADV_DONTNEED),
	N(POSIX_FADV_NOREUSE),
	{ 0, NULL },
};

const struct wmk_kname wmk_knames_flock[] = {
	N(LOCK_SH), N(LOCK_EX), N(LOCK_NB), N(LOCK_UN),
	{ 0, NULL },
};

const struct wmk_kname wmk_knames_fallocate[] = {
	N(FALLOC_FL_KEEP_SIZE),  N(FALLOC_FL_PUNCH_HOLE),   N(FALLOC_FL_NO_HIDE_STALE), N(FALLOC_FL_COLLAPSE_RANGE),
	N(FALLOC_FL_ZERO_RANGE), N(FALLOC_FL_INSERT_RANGE), N(FALLOC_FL_UNSHARE_RANGE), { 0, NULL },
};

const struct wmk_kname wmk_knames_closerange[] = {
	{ 2, "CLOSE_RANGE_UNSHARE" }, { 4, "CLOSE_RANGE_CLOEXEC" },
	{ 0, NULL },
};

const struct wmk_kname wmk_knames_memfd[] = {
	N(MFD_CLOEXEC), N(MFD_ALLOW_SEALING), N(MFD_HUGETLB),
	{ 0, NULL },
};

const struct wmk_kname wmk_knames_mount[] = {
	N(MS_RDONLY),   N(MS_NOSUID),   N(MS_NODEV),       N(MS_NOEXEC),     N(MS_SYNCHRONOUS), N(MS_REMOUNT),
	N(MS_MANDLOCK), N(MS_DIRSYNC),  N(MS_NOATIME),     N(MS_NODIRATIME), N(MS_BIND),        N(MS_MOVE),
	N(MS_REC),      N(MS_SILENT),   N(MS_POSIXACL),    N(MS_UNBINDABLE), N(MS_PRIVATE),     N(MS_SLAVE),
	N(MS_SHARED),   N(MS_RELATIME), N(MS_STRICTATIME), N(MS_LAZYTIME),   { 0, NULL },
};

const struct wmk_kname wmk_knames_umount[] = {
	N(MNT_FORCE), N(MNT_DETACH), N(MNT_EXPIRE), N(UMOUNT_NOFOLLOW),
	{ 0, NULL },
};

const struct wmk_kname wmk_knames_rename[] = {
	N(RENAME_NOREPLACE), N(RENAME_EXCHANGE), N(RENAME_WHITEOUT),
	{ 0, NULL },
};

const struct wmk_kname wmk_knames_mremap[] = {
	N(MREMAP_MAYMOVE), N(MREMAP_FIXED), { 4, "MREMAP_DONTUNMAP" },
	{ 0, NULL },
};

const struct wmk_kname wmk_knames_msync[] = {
	N(MS_ASYNC), N(MS_INVALIDATE), N(MS_SYNC),
	{ 0, NULL },
};

const struct wmk_kname wmk_knames_how[] = {
	N(SIG_BLOCK), N(SIG_UNBLOCK), N(SIG_SETMASK),
	{ 0, NULL },
};

const struct wmk_kname wmk_knames_clock[] = {
	N(CLOCK_REALTIME),
	N(CLOCK_MONOTONIC),
	N(CLOCK_PROCESS_CPUTIME_ID),
	N(CLOCK_THREAD_CPUTIME_ID),
	N(CLOCK_MONOTONIC_RAW),
	N(CLOCK_REALTIME_COARSE),
	N(CLOCK_MONOTONIC_COARSE),
	N(CLOCK_BOOTTIME),
	N(CLOCK_REALTIME_ALARM),
	N(CLOCK_BOOTTIME_ALARM),
	{ 0, NULL },
};

const struct wmk_kname wmk_knames_timerabs[] = {
	N(TIMER_ABSTIME),
	{ 0, NULL },
};

const struct wmk_kname wmk_knames_itimer[] = {
	N(ITIMER_REAL), N(ITIMER_VIRTUAL), N(ITIMER_PROF),
	{ 0, NULL },
};

const struct wmk_kname wmk_knames_fcntl[] = {
	N(F_DUPFD),     N(F_GETFD),     N(F_SETFD),         N(F_GETFL),      N(F_SETFL),      N(F_GETLK),
	N(F_SETLK),     N(F_SETLKW),    N(F_SETOWN),        N(F_GETOWN),     N(F_SETSIG),     N(F_GETSIG),
	N(F_SETOWN_EX), N(F_GETOWN_EX), N(F_OFD_GETLK),     N(F_OFD_SETLK),  N(F_OFD_SETLKW), N(F_SETLEASE),
	N(F_GETLEASE),  N(F_NOTIFY),    N(F_DUPFD_CLOEXEC), N(F_SETPIPE_SZ), N(F_GETPIPE_SZ), N(F_ADD_SEALS),
	N(F_GET_SEALS), { 0, NULL },
};

const struct wmk_kname wmk_knames_futex[] = {
	N(FUTEX_WAIT),
	{ FUTEX_WAIT | FUTEX_PRIVATE_FLAG, "FUTEX_WAIT_PRIVATE" },
	N(FUTEX_WAKE),
	{ FUTEX_WAKE | FUTEX_PRIVATE_FLAG, "FUTEX_WAKE_PRIVATE" },
	N(FUTEX_REQUEUE),
	{ FUTEX_REQUEUE | FUTEX_PRIVATE_FLAG, "FUTEX_REQUEUE_PRIVATE" },
	N(FUTEX_CMP_REQUEUE),
	{ FUTEX_CMP_REQUEUE | FUTEX_PRIVATE_FLAG, "FUTEX_CMP_REQUEUE_PRIVATE" },
	N(FUTEX_WAKE_OP),
	{ FUTEX_WAKE_OP | FUTEX_PRIVATE_FLAG, "FUTEX_WAKE_OP_PRIVATE" },
	N(FUTEX_LOCK_PI),
	{ FUTEX_LOCK_PI | FUTEX_PRIVATE_FLAG, "FUTEX_LOCK_PI_PRIVATE" },
	N(FUTEX_UNLOCK_PI),
	{ FUTEX_UNLOCK_PI | FUTEX_PRIVATE_FLAG, "FUTEX_UNLOCK_PI_PRIVATE" },
	N(FUTEX_TRYLOCK_PI),
	{ FUTEX_TRYLOCK_PI | FUTEX_PRIVATE_FLAG, "FUTEX_TRYLOCK_PI_PRIVATE" },
	N(FUTEX_WAIT_BITSET),
	{ FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, "FUTEX_WAIT_BITSET_PRIVATE" },
	N(FUTEX_WAKE_BITSET),
	{ FUTEX_WAKE_BITSET | FUTEX_PRIVATE_FLAG, "FUTEX_WAKE_BITSET_PRIVATE" },
	N(FUTEX_WAIT_REQUEUE_PI),
	{ FUTEX_WAIT_REQUEUE_PI | FUTEX_PRIVATE_FLAG, "FUTEX_WAIT_REQUEUE_PI_PRIVATE" },
	N(FUTEX_CMP_REQUEUE_PI),
	{ FUTEX_CMP_REQUEUE_PI | FUTEX_PRIVATE_FLAG, "FUTEX_CMP_REQUEUE_PI_PRIVATE" },
	{ FUTEX_FD, "FUTEX_FD" },
	{ 0, NULL },
};

const struct wmk_kname wmk_knames_resource[] = {
	N(RLIMIT_CPU),    N(RLIMIT_FSIZE),      N(RLIMIT_DATA),     N(RLIMIT_STACK),   N(RLIMIT_CORE),
	N(RLIMIT_RSS),    N(RLIMIT_NPROC),      N(RLIMIT_NOFILE),   N(RLIMIT_MEMLOCK), N(RLIMIT_AS),
	N(RLIMIT_LOCKS),  N(RLIMIT_SIGPENDING), N(RLIMIT_MSGQUEUE), N(RLIMIT_NICE),    N(RLIMIT_RTPRIO),
	N(RLIMIT_RTTIME), { 0, NULL },
};

const struct wmk_kname wmk_knames_rusage[] = {
	N(RUSAGE_SELF), { 0xffffffff, "RUSAGE_CHILDREN" }, { 1, "RUSAGE_THREAD" },
	{ 0, NULL },
};

const struct wmk_kname wmk_knames_prctl[] = {
	N(PR_SET_PDEATHSIG),
	N(PR_GET_PDEATHSIG),
	N(PR_GET_DUMPABLE),
	N(PR_SET_DUMPABLE),
	N(PR_GET_KEEPCAPS),
	N(PR_SET_KEEPCAPS),
	N(PR_SET_NAME),
	N(PR_GET_NAME),
	N(PR_GET_SECCOMP),
	N(PR_SET_SECCOMP),
	N(PR_CAPBSET_READ),
	N(PR_CAPBSET_DROP),
	N(PR_GET_TIMERSLACK),
	N(PR_SET_TIMERSLACK),
	N(PR_SET_MM),
	N(PR_SET_CHILD_SUBREAPER),
	N(PR_GET_CHILD_SUBREAPER),
	N(PR_SET_NO_NEW_PRIVS),
	N(PR_GET_NO_NEW_PRIVS),
	N(PR_SET_THP_DISABLE),
	N(PR_GET_THP_DISABLE),
	N(PR_CAP_AMBIENT),
	{ 0x59616d61, "PR_SET_PTRACER" },
	{ 0x53564d41, "PR_SET_VMA" },
	{ 0, NULL },
};

const struct wmk_kname wmk_knames_archprctl[] = {
	{ 0x1001, "ARCH_SET_GS" },
	{ 0x1002, "ARCH_SET_FS" },
	{ 0x1003, "ARCH_GET_FS" },
	{ 0x1004, "ARCH_GET_GS" },
	{ 0x1011, "ARCH_GET_CPUID" },
	{ 0x1012, "ARCH_SET_CPUID" },
	{ 0, NULL },
};

const struct wmk_kname wmk_knames_random[] = {
	N(GRND_NONBLOCK), N(GRND_RANDOM), { 4, "GRND_INSECURE" },
	{ 0, NULL },
};

const struct wmk_kname wmk_knames_action[] = {
	{ 0x04000000, "SA_RESTORER" }, { 0x08000000, "SA_ONSTACK" },
	{ 0x10000000, "SA_RESTART" },  { 0x20000000, "SA_INTERRUPT" },
	{ 0x40000000, "SA_NODEFER" },  { 0x80000000, "SA_RESETHAND" },
	{ 4, "SA_SIGINFO" },           { 1, "SA_NOCLDSTOP" },
	{ 2, "SA_NOCLDWAIT" },         { 0, NULL },
};

const struct wmk_kname wmk_knames_ioctl[] = {
	N(TCGETS),
	N(TCSETS),
	N(TCSETSW),
	N(TCSETSF),
	N(TCGETA),
	N(TCSETA),
	N(TCSBRK),
	N(TCXONC),
	N(TCFLSH),
	N(TIOCEXCL),
	N(TIOCNXCL),
	N(TIOCSCTTY),
	N(TIOCGPGRP),
	N(TIOCSPGRP),
	N(TIOCOUTQ),
	N(TIOCSTI),
	N(TIOCGWINSZ),
	N(TIOCSWINSZ),
	N(TIOCMGET),
	N(FIONREAD),
	N(FIONBIO),
	N(TIOCNOTTY),
	N(TIOCSETD),
	N(TIOCGETD),
	N(TIOCGSID),
	N(TIOCGPTN),
	N(TIOCSPTLCK),
	N(FIONCLEX),
	N(FIOCLEX),
	N(FIOASYNC),
	N(SIOCGIFCONF),
	N(SIOCGIFNAME),
	N(SIOCGIFFLAGS),
	N(SIOCGIFADDR),
	N(SIOCGIFINDEX),
	N(SIOCGIFHWADDR),
	N(SIOCGIFMTU),
	{ 0x40049409, "BTRFS_IOC_CLONE or FICLONE" },
	{ 0x2400, "PERF_EVENT_IOC_ENABLE" },
	{ 0x2401, "PERF_EVENT_IOC_DISABLE" },
	{ 0xc020660b, "FS_IOC_FIEMAP" },
	{ 0x80086601, "FS_IOC_GETFLAGS" },
	{ 0, NULL },
};

const struct wmk_kname wmk_knames_type[] = {
	N(S_IFSOCK), N(S_IFLNK), N(S_IFREG), N(S_IFBLK), N(S_IFDIR), N(S_IFCHR), N(S_IFIFO),
	{ 0, NULL },
};

const struct wmk_kname wmk_knames_code[] = {
	{ 0, "SI_USER" },
	{ 0x80, "SI_KERNEL" },
	{ (uint32_t)-1, "SI_QUEUE" },
	{ (uint32_t)-2, "SI_TIMER" },
	{ (uint32_t)-3, "SI_MESGQ" },
	{ (uint32_t)-4, "SI_ASYNCIO" },
	{ (uint32_t)-5, "SI_SIGIO" },
	{ (uint32_t)-6, "SI_TKILL" },
	CODE(SIGCHLD, CLD_EXITED),
	CODE(SIGCHLD, CLD_KILLED),
	CODE(SIGCHLD, CLD_DUMPED),
	CODE(SIGCHLD, CLD_TRAPPED),
	CODE(SIGCHLD, CLD_STOPPED),
	CODE(SIGCHLD, CLD_CONTINUED),
	CODE(SIGSEGV, SEGV_MAPERR),
	CODE(SIGSEGV, SEGV_ACCERR),
	CODE(SIGSEGV, SEGV_BNDERR),
	CODE(SIGSEGV, SEGV_PKUERR),
	CODE(SIGBUS, BUS_ADRALN),
	CODE(SIGBUS, BUS_ADRERR),
	CODE(SIGBUS, BUS_OBJERR),
	CODE(SIGFPE, FPE_INTDIV),
	CODE(SIGFPE, FPE_INTOVF),
	CODE(SIGFPE, FPE_FLTDIV),
	CODE(SIGFPE, FPE_FLTOVF),
	CODE(SIGFPE, FPE_FLTUND),
	CODE(SIGFPE, FPE_FLTRES),
	CODE(SIGFPE, FPE_FLTINV),
	CODE(SIGFPE, FPE_FLTSUB),
	CODE(SIGILL, ILL_ILLOPC),
	CODE(SIGILL, ILL_ILLOPN),
	CODE(SIGILL, ILL_ILLADR),
	CODE(SIGILL, ILL_ILLTRP),
	CODE(SIGILL, ILL_PRVOPC),
	CODE(SIGILL, ILL_PRVREG),
	CODE(SIGILL, ILL_COPROC),
	CODE(SIGILL, ILL_BADSTK),
	CODE(SIGTRAP, TRAP_BRKPT),
	CODE(SIGTRAP, TRAP_TRACE),
	CODE(SIGIO, POLL_IN),
	CODE(SIGIO, POLL_OUT),
	CODE(SIGIO, POLL_MSG),
	CODE(SIGIO, POLL_ERR),
	CODE(SIGIO, POLL_PRI),
	CODE(SIGIO, POLL_HUP),
	{ (uint64_t)SIGSYS << 32 | 1, "SYS_SECCOMP" },
	{ 0, NULL },
};

const struct wmk_kname wmk_knames_signal[] = {
	N(SIGHUP),  N(SIGINT),    N(SIGQUIT), N(SIGILL),   N(SIGTRAP), N(SIGABRT), N(SIGBUS),  N(SIGFPE),
	N(SIGKILL), N(SIGUSR1),   N(SIGSEGV), N(SIGUSR2),  N(SIGPIPE), N(SIGALRM), N(SIGTERM), N(SIGSTKFLT),
	N(SIGCHLD), N(SIGCONT),   N(SIGSTOP), N(SIGTSTP),  N(SIGTTIN), N(SIGTTOU), N(SIGURG),  N(SIGXCPU),
	N(SIGXFSZ), N(SIGVTALRM), N(SIGPROF), N(SIGWINCH), N(SIGIO),   N(SIGPWR),  N(SIGSYS),  { 0, NULL },
};
