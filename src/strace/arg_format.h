/* SPDX-License-Identifier: MIT */
/*
 * arg_format.h - private to print_syscall.c and the forms (arg_*.c). A form defines how an argument is printed; a word
 * in the table names the form.
 */
#ifndef WMK_STRACE_ARG_FORMAT_H
#define WMK_STRACE_ARG_FORMAT_H

#include "strace/print_syscall.h"

/* An argument to print. */
struct wmk_kview {
	const struct wmk_kprint *print;
	const struct wmk_syscalls_record *entry, *exit;   /* exit record: NULL until the system call returns */
	unsigned arg;
	uint64_t value;
	bool has_failed;
	bool is_alone;           /* printed alone: no separator before it */
	const struct wmk_syscalls_piece *piece;   /* the data that the argument points to; NULL: the form copies
						   * nothing */
	const void *data;        /* WMK_KFORM_WHOLE: the bytes of the piece, aligned */
};

/* Prints an argument. If the record contains no copy of the argument's data, the caller prints the pointer instead. */
typedef void wmk_kform_print(struct wmk_kline *line, const struct wmk_kview *view);
#define PRINT(name) void name(struct wmk_kline *line, const struct wmk_kview *view)
typedef bool wmk_kform_is_shown(const struct wmk_kview *view);

enum {
	WMK_KFORM_IN = 1,        /* copied at entry */
	WMK_KFORM_OUT = 2,       /* copied at exit */
	WMK_KFORM_LATE = 4,      /* printed at exit */
	WMK_KFORM_OWN = 8,       /* the function of the form prints the preceding ", " */
	WMK_KFORM_WHOLE = 16,    /* needs all `unit` bytes */
	WMK_KFORM_ALWAYS = 32,   /* the function of the form is called even without copied data */
};
/* Maximum size of a structure that is printed by a form with WMK_KFORM_WHOLE. */
#define WMK_KFORM_BYTES 392u

struct wmk_kform {
	const char *word;
	wmk_kform_print *print;
	wmk_kform_is_shown *is_shown;   /* NULL: always printed */
	const char *name;        /* "flags="; NULL: none */
	uint8_t op;              /* enum wmk_syscalls_op: what is copied */
	uint8_t when;            /* WMK_KFORM_* bits */
	uint16_t unit, max;      /* bytes; max 0: the length at which texts are cut */
	const struct wmk_kname *names;
	const char *unknown;
	bool is_wide;            /* 32-bit programs have another layout of the structure, which is not copied */
};

extern const struct wmk_kform wmk_kforms[];       /* arg_forms.c */
extern const unsigned wmk_kforms_n;

/*
 * Rows have the syntax of syscall_table.h without names: "name(word word:N ...) word". The last word of a row is the
 * form of the result: d, p, o, fcntl, poll or none.
 */
extern const char *const wmk_kprint_rows[];
extern const unsigned wmk_kprint_rows_n;

/* ── helpers of forms ───────────────────────────────────────────────────────────────────────────────── */

/*
 * Return the data to which the argument points, from the entry or the exit record; piece 1 of a vector is the content
 * of its elements. NULL: not in the record.
 */
const struct wmk_syscalls_piece *wmk_kview_in(const struct wmk_kview *view, unsigned which);
const struct wmk_syscalls_piece *wmk_kview_out(const struct wmk_kview *view, unsigned which);
/*
 * Returns the data that the form prints, from the entry record or the exit record. If data is copied at both entry and
 * exit, the form prints the data from the entry record.
 */
const struct wmk_syscalls_piece *wmk_kview_piece(const struct wmk_kview *view, unsigned which);
/* Copies a whole structure. Returns false if the copied structure is incomplete. `at_exit`: from the exit record. */
bool wmk_kview_struct(const struct wmk_kview *view, bool at_exit, void *to, size_t size);
static inline uint64_t wmk_kview_arg(const struct wmk_kview *view, unsigned arg)
{
	return arg < view->entry->n_values ? view->entry->values[arg] : 0;
}
/* Prints ", " before an argument with a form that has WMK_KFORM_OWN. */
static inline void wmk_kview_next(struct wmk_kline *line, const struct wmk_kview *view)
{
	if (view->arg && !view->is_alone)
		wmk_kline_bytes(line, ", ", 2);
}
/* Prints `name`, usually "member=", and then the number. */
void wmk_kline_member(struct wmk_kline *line, const char *name, int64_t value);
/* Prints "[number]". */
void wmk_kline_bracketed(struct wmk_kline *line, int64_t number);
/* Prints a text up to the configured length; "..." follows an incomplete text. */
void wmk_kline_text(struct wmk_kline *line, const struct wmk_kview *view, const uint8_t *bytes, size_t n, bool is_cut);
void wmk_kline_open(struct wmk_kline *line, uint64_t flags);

/* ── names (arg_names.c) ───────────────────────────────────────────────────────────────────────────── */

extern const struct wmk_kname wmk_knames_open[], wmk_knames_clone[], wmk_knames_statxat[],
	wmk_knames_statxmask[], wmk_knames_statxattr[], wmk_knames_poll[], wmk_knames_epoll[], wmk_knames_family[],
	wmk_knames_socktype[], wmk_knames_sockflags[], wmk_knames_ip[], wmk_knames_netlink[], wmk_knames_so[],
	wmk_knames_tcp[], wmk_knames_futex[], wmk_knames_action[], wmk_knames_type[], wmk_knames_code[];

/* ── arg_format.c, arg_dependent.c ─────────────────────────────────────────────────────────────────────── */

wmk_kform_print wmk_kshow_int, wmk_kshow_uint, wmk_kshow_long, wmk_kshow_ulong, wmk_kshow_hex,
	wmk_kshow_long_hex, wmk_kshow_pointer, wmk_kshow_dirfd, wmk_kshow_uid, wmk_kshow_mode, wmk_kshow_mknod,
	wmk_kshow_device, wmk_kshow_offset, wmk_kshow_name, wmk_kshow_flags, wmk_kshow_open, wmk_kshow_signal,
	wmk_kshow_statx_flags, wmk_kshow_path, wmk_kshow_bytes, wmk_kshow_directory, wmk_kshow_random, wmk_kshow_texts,
	wmk_kshow_environment, wmk_kshow_vectors, wmk_kshow_fcntl_arg, wmk_kshow_ioctl_arg, wmk_kshow_clone_stack,
	wmk_kshow_clone_flags, wmk_kshow_clone_tls, wmk_kshow_clone_child, wmk_kshow_futex_op, wmk_kshow_futex_time,
	wmk_kshow_futex_value3, wmk_kshow_prctl_arg;
wmk_kform_is_shown wmk_khas_device, wmk_khas_open_mode, wmk_khas_fcntl_arg, wmk_khas_mremap_to,
	wmk_khas_clone_parent, wmk_khas_clone_tls, wmk_khas_clone_child, wmk_khas_futex_value, wmk_khas_futex_time,
	wmk_khas_futex_other, wmk_khas_futex_value3, wmk_khas_prctl_arg, wmk_khas_prctl_rest;

/* ── arg_struct.c, arg_signal.c ─────────────────────────────────────────────────────────────────────────────────── */

wmk_kform_print wmk_kshow_stat, wmk_kshow_statx, wmk_kshow_timespec, wmk_kshow_timespecs,
	wmk_kshow_timeval, wmk_kshow_polls, wmk_kshow_pair, wmk_kshow_rlimit, wmk_kshow_action, wmk_kshow_sigset,
	wmk_kshow_status, wmk_kshow_dirents, wmk_kshow_clone3, wmk_kshow_clone3_size, wmk_kshow_uname,
	wmk_kshow_epoll_event, wmk_kshow_epoll_events, wmk_kshow_int_at, wmk_kshow_stack, wmk_kshow_times;
/* Prints the ready descriptors of poll(), after the result of poll(). */
void wmk_kline_polled(struct wmk_kline *line, const struct wmk_kview *view);
void wmk_kline_mode(struct wmk_kline *line, uint32_t mode);
void wmk_kline_device(struct wmk_kline *line, uint64_t device);
void wmk_kline_sigset(struct wmk_kline *line, uint64_t set);
void wmk_kline_status(struct wmk_kline *line, uint32_t status);

/* ── arg_sockaddr.c ─────────────────────────────────────────────────────────────────────────────────── */

wmk_kform_print wmk_kshow_address, wmk_kshow_address_len, wmk_kshow_sockopt, wmk_kshow_protocol, wmk_kshow_socket,
	wmk_kshow_so;

#endif
