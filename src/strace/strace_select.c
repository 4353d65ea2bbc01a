/* SPDX-License-Identifier: MIT */
/*
 * strace_select.c - parses the selection of `waymark strace -e`: names and classes of system calls and signals, "all",
 * "none", and a leading '!' that inverts the list.
 */
#include <errno.h>
#include <fnmatch.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "strace/strace.h"
#include "strace/arg_format.h"

/*
 * The classes of strace. `forms` lists argument forms: a system call with an argument of one of these forms also
 * belongs to the class.
 */
static const struct {
	const char *name, *other;
	const char *forms[3];
	const char *calls;       /* globs, each surrounded by spaces */
} classes[] = {
	{ "file",
	  "",
	  { "path" },
	  " getcwd acct swapon swapoff uselib fanotify_mark name_to_handle_at quotactl open_tree move_mount fspick "
	  "mount_setattr "
	  "*listxattr setxattr lsetxattr getxattr lgetxattr removexattr lremovexattr renameat* futimesat oldstat "
	  "oldlstat chown32 lchown32 stat64 lstat64 truncate64 statfs64 umount " },
	{ "desc",
	  "",
	  { "fd", "dirfd" },
	  " mmap mmap2 select _newselect pselect6 poll ppoll epoll_* eventfd* timerfd_* signalfd* inotify_* pipe pipe2 "
	  "dup* memfd_create memfd_secret userfaultfd perf_event_open fanotify_* bpf io_uring_* pidfd_* open creat fs* "
	  "fremovexattr flistxattr "
	  "fgetxattr fsetxattr mq_* preadv* pwritev* getdents getdents64 vmsplice tee sync_file_range renameat "
	  "futimesat mknodat " },
	{ "network",
	  "net",
	  { NULL },
	  " socket socketpair socketcall connect bind listen accept accept4 getsockname getpeername sendto recvfrom "
	  "sendmsg recvmsg sendmmsg recvmmsg shutdown setsockopt getsockopt sendfile sendfile64 getpmsg putpmsg " },
	{ "process",
	  "",
	  { NULL },
	  " clone clone3 fork vfork execve execveat exit exit_group wait4 waitid waitpid kill tkill tgkill "
	  "rt_sigqueueinfo rt_tgsigqueueinfo pidfd_send_signal unshare " },
	{ "memory",
	  "",
	  { NULL },
	  " brk mmap mmap2 munmap mprotect pkey_mprotect mremap madvise process_madvise msync mlock mlock2 munlock "
	  "mlockall munlockall "
	  "mincore mbind move_pages migrate_pages set_mempolicy set_mempolicy_home_node get_mempolicy remap_file_pages "
	  "shmat shmdt io_setup io_destroy " },
	{ "signal",
	  "",
	  { NULL },
	  " rt_sig* rt_tgsigqueueinfo sigaltstack kill tkill tgkill pause signalfd signalfd4 pidfd_send_signal signal "
	  "sigaction sigpending sigprocmask sigreturn sigsuspend sgetmask ssetmask " },
	{ "ipc", "", { NULL }, " shm* sem* msg* ipc " },
};

struct walk {
	uint64_t (*calls)[WMK_SYSCALLS_NUMBERS / 64];
	bool any;
};

static void set(struct walk *walk, unsigned abi, unsigned number)
{
	walk->calls[abi][number / 64] |= (uint64_t)1 << (number % 64);
	walk->any = true;
}

static bool is_listed(const char *list, const char *name)
{
	while (*list) {
		char glob[40];
		size_t len;

		list += strspn(list, " ");
		len = strcspn(list, " ");
		snprintf(glob, sizeof(glob), "%.*s", (int)len, list);
		if (len && fnmatch(glob, name, 0) == 0)
			return true;
		list += len;
	}
	return false;
}

static bool has_form(unsigned abi, unsigned number, const char *const forms[3])
{
	struct wmk_kprint print;

	if (!forms[0])
		return false;
	wmk_kprint_make((enum wmk_kabi)abi, number, WMK_KPRINT_STRINGS, &print);
	for (unsigned i = 0; i < print.n_args; i++)
		for (unsigned k = 0; k < 3 && forms[k]; k++)
			if (strcmp(print.forms[i]->word, forms[k]) == 0)
				return true;
	return false;
}

static void add_class(struct walk *walk, size_t which)
{
	const bool is_desc = strcmp(classes[which].name, "desc") == 0;

	for (unsigned abi = 0; abi < WMK_SYSCALLS_ABIS; abi++)
		for (unsigned number = 0; number < WMK_SYSCALLS_NUMBERS; number++) {
			const char *name = wmk_syscall_name((enum wmk_kabi)abi, number);

			/* (class desc excludes system calls that work on sockets only) */
			const bool is_other = is_desc && name && is_listed(classes[2].calls, name) &&
					      strncmp(name, "sendfile", 8) != 0;

			if (name && (is_listed(classes[which].calls, name) ||
				     (!is_other && has_form(abi, number, classes[which].forms))))
				set(walk, abi, number);
		}
}

static int add_regex(struct walk *walk, const char *pattern)
{
	regex_t regex;

	if (regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB) != 0)
		return wmk_error(-EINVAL, "invalid regular expression \"/%.60s\"", pattern);
	for (unsigned abi = 0; abi < WMK_SYSCALLS_ABIS; abi++)
		for (unsigned number = 0; number < WMK_SYSCALLS_NUMBERS; number++) {
			const char *name = wmk_syscall_name((enum wmk_kabi)abi, number);

			if (name && regexec(&regex, name, 0, NULL, 0) == 0)
				set(walk, abi, number);
		}
	regfree(&regex);
	return walk->any ? 0 : wmk_errorx(-ENOENT, "no system call matches /%.60s", pattern);
}

static int add_name(struct walk *walk, const char *name)
{
	int number[WMK_SYSCALLS_ABIS];

	for (unsigned abi = WMK_SYSCALLS_ABIS; abi-- > 0;) {
		number[abi] = wmk_syscall_find((enum wmk_kabi)abi, name);
		if (number[abi] >= 0 && strcmp(wmk_syscall_name((enum wmk_kabi)abi, (unsigned)number[abi]), name) == 0)
			set(walk, abi, (unsigned)number[abi]);
	}
	if (!walk->any)
		return number[0] < 0 ? number[0] : wmk_errorx(-ENOENT, "no system call is named %.40s", name);
	wmk_error_clear();
	return 0;
}

static int add_call(void *data, const char *word)
{
	struct walk *walk = data;
	const char *name = word[0] == '%' ? word + 1 : word;
	int err;

	walk->any = false;
	if (word[0] == '/')
		return add_regex(walk, word + 1);
	if (strcmp(name, "all") == 0) {
		memset(walk->calls, 0xff, WMK_SYSCALLS_ABIS * sizeof(*walk->calls));
		return 0;
	}
	for (size_t i = 0; i < WMK_ARRAY_LEN(classes); i++)
		if (strcmp(classes[i].name, name) == 0 || (word[0] == '%' && strcmp(classes[i].other, name) == 0)) {
			add_class(walk, i);
			return 0;
		}
	if (word[0] == '%')
		return wmk_error(-EINVAL,
				 "unknown class %.40s of system calls (use file, desc, network, process, memory, "
				 "signal or ipc)",
				 word);
	err = add_name(walk, word + (word[0] == '?'));
	if (err < 0 && word[0] == '?') {
		wmk_error_clear();
		return 0;
	}
	return err;
}

static int add_signal(void *data, const char *word)
{
	uint64_t *signals = data;
	char room[24];

	if (strcmp(word, "all") == 0) {
		*signals = UINT64_MAX;
		return 0;
	}
	for (unsigned i = 1; i <= 64; i++) {
		const char *name = wmk_ksignal_name(i, room);

		if (strcasecmp(name, word) == 0 || strcasecmp(name + 3, word) == 0) {
			*signals |= (uint64_t)1 << (i - 1);
			return 0;
		}
	}
	return wmk_errorx(-ENOENT, "no signal is named %.40s", word);
}

/* Calls add() for each element of a list separated by commas; "none" means the empty list. */
static int each(const char *list, int (*add)(void *data, const char *word), void *data)
{
	int err = 0;

	if (strcmp(list, "none") == 0)
		return 0;
	for (;;) {
		const size_t len = strcspn(list, ",");
		char word[256];

		if (!len || len >= sizeof(word))
			return wmk_error(-EINVAL,
					 len ? "list element of %zu bytes: the limit is 255" : "empty list element",
					 len);
		memcpy(word, list, len);
		word[len] = '\0';
		err = add(data, word);
		list += len;
		if (err < 0 || !*list++)
			return err;
	}
}

void wmk_strace_select_init(struct wmk_strace_select *select)
{
	memset(select, 0xff, sizeof(*select));
}

/* Returns whether the expression begins with "word=". */
static bool is_word(const char *expression, size_t len, const char *word)
{
	return expression[len] == '=' && strlen(word) == len && strncmp(expression, word, len) == 0;
}

int wmk_strace_select_add(struct wmk_strace_select *select, const char *expression)
{
	const size_t len = strcspn(expression, "=");
	const bool is_signal = is_word(expression, len, "signal") || is_word(expression, len, "signals") ||
			       is_word(expression, len, "s");
	const bool is_trace = is_word(expression, len, "trace") || is_word(expression, len, "t");
	const char *list = is_signal || is_trace ? expression + len + 1 : expression;
	const bool is_not = *list == '!';
	uint64_t calls[WMK_SYSCALLS_ABIS][WMK_SYSCALLS_NUMBERS / 64] = { { 0 } }, signals = 0;
	struct walk walk = { .calls = calls };
	int err;

	if (expression[len] && !is_signal && !is_trace)
		return wmk_error(-EINVAL, "invalid expression \"%.60s\" (use trace=LIST or signal=LIST)", expression);
	list += is_not;
	err = is_signal ? each(list, add_signal, &signals) : each(list, add_call, &walk);
	if (err < 0)
		return err;
	if (is_signal)
		select->signals = is_not ? ~signals : signals;
	for (unsigned abi = 0; !is_signal && abi < WMK_SYSCALLS_ABIS; abi++)
		for (unsigned i = 0; i < WMK_SYSCALLS_NUMBERS / 64; i++)
			select->calls[abi][i] = is_not ? ~calls[abi][i] : calls[abi][i];
	return 0;
}
