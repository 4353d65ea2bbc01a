/* SPDX-License-Identifier: MIT */
/*
 * print_syscall.c - selects the form of each argument of a system call, and prints records as a line (see
 * print_syscall.h).
 */
#include "strace/print_syscall.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "strace/arg_format.h"

/* ── forms ───────────────────────────────────────────────────────────────────────────────────────────── */

static const struct wmk_kform *find_form(const char *word, size_t len)
{
	for (unsigned i = 0; i < wmk_kforms_n; i++)
		if (strncmp(wmk_kforms[i].word, word, len) == 0 && !wmk_kforms[i].word[len])
			return &wmk_kforms[i];
	return NULL;
}

static const struct {
	const char *word;
	uint8_t ret;
} returns[] = {
	{ "d", WMK_KRETURN_NUMBER },    { "p", WMK_KRETURN_POINTER }, { "o", WMK_KRETURN_OCTAL },
	{ "fcntl", WMK_KRETURN_FCNTL }, { "poll", WMK_KRETURN_POLL }, { "none", WMK_KRETURN_NEVER },
};

/* Returns false if the row of the table is malformed (a test reads all rows). */
static bool read_row(const char *row, struct wmk_kprint *print)
{
	const char *at = strchr(row, '(') + 1;

	while (*at != ')') {
		const size_t len = strcspn(at, " :)");
		const struct wmk_kform *form = print->n_args < WMK_SYSCALLS_ARGS ? find_form(at, len) : NULL;

		if (!form)
			return false;
		at += len;
		if (*at == ':') {
			print->len_args[print->n_args] = (uint8_t)(at[1] - '0') % WMK_SYSCALLS_ARGS;
			at += 2;
		}
		print->forms[print->n_args++] = form;
		at += *at == ' ';
	}
	for (size_t i = 0; i < WMK_ARRAY_LEN(returns); i++)
		if (strcmp(returns[i].word, at + 2) == 0) {
			print->ret = returns[i].ret;
			return true;
		}
	return false;
}

static void by_kinds(struct wmk_kprint *print)
{
	print->n_args = print->call.n_args;
	for (unsigned i = 0; i < print->n_args; i++) {
		const struct wmk_syscall_arg *arg = &print->call.args[i];
		const char *word = wmk_syscall_word(arg);
		const size_t len = strlen(arg->name);

		if (arg->kind == WMK_KKIND_FD && len >= 3 && strcmp(arg->name + len - 3, "dfd") == 0)
			word = "dirfd";
		print->forms[i] = find_form(word, strlen(word));
		print->len_args[i] = arg->len_arg;
	}
	print->ret = print->call.ret == WMK_KKIND_POINTER ? WMK_KRETURN_POINTER :
		     print->call.is_known && print->call.ret == WMK_KKIND_NONE ? WMK_KRETURN_NEVER : WMK_KRETURN_NUMBER;
}

/* ── copied data ─────────────────────────────────────────────────────────────────────────────────────── */

/* Copies the I/O vector itself and the content of its elements. */
static void add_vectors(struct wmk_kprint *print, unsigned arg, const struct wmk_kform *form)
{
	const bool at_exit = form->when & WMK_KFORM_OUT;
	const uint16_t unit = print->call.abi == WMK_KABI_COMPAT ? 8 : 16;
	const uint32_t bytes = print->strings * WMK_SYSCALLS_VECTORS, most = WMK_SYSCALLS_PART_MAX / 2;
	const struct wmk_syscalls_copy vector = { .op = WMK_SYSCALLS_BYTES,
						  .arg = (uint8_t)arg,
						  .len_arg = print->len_args[arg],
						  .unit = unit,
						  .max = (uint16_t)(unit * WMK_SYSCALLS_VECTORS) };
	const struct wmk_syscalls_copy content = { .op = form->op,
						   .arg = (uint8_t)arg,
						   .len_arg = print->len_args[arg],
						   .unit = 1,
						   .max = (uint16_t)(bytes < most ? bytes : most) };

	wmk_syscall_add_copy(at_exit ? print->plan.at_exit : print->plan.at_entry, &vector);
	wmk_syscall_add_copy(at_exit ? print->plan.at_exit : print->plan.at_entry, &content);
}

static uint16_t most_of(const struct wmk_kprint *print, const struct wmk_kform *form)
{
	if (form->max)
		return form->max;
	/*
	 * The record contains one more byte than is printed, so that the printer can detect texts that are longer than
	 * the limit.
	 */
	if (form->op == WMK_SYSCALLS_TEXTS)
		return (uint16_t)(print->strings < WMK_SYSCALLS_STRING_MAX ? print->strings + 1 :
									   WMK_SYSCALLS_STRING_MAX);
	return (uint16_t)print->strings;
}

static void make_plan(struct wmk_kprint *print)
{
	const bool is_exec = strncmp(print->call.name, "execve", 6) == 0;

	for (unsigned i = 0; i < print->n_args; i++) {
		const struct wmk_kform *form = print->forms[i];
		struct wmk_syscalls_copy copy = { .op = form->op, .arg = (uint8_t)i, .len_arg = print->len_args[i],
			.unit = form->unit ? form->unit : 1, .max = most_of(print, form) };

		if (form->op == WMK_SYSCALLS_NOTHING || (form->is_wide && print->call.abi == WMK_KABI_COMPAT))
			continue;
		if (form->op == WMK_SYSCALLS_VECTORS_IN || form->op == WMK_SYSCALLS_VECTORS_RETURNED) {
			add_vectors(print, i, form);
			continue;
		}
		if (form->when & WMK_KFORM_OUT)
			wmk_syscall_add_copy(print->plan.at_exit, &copy);
		copy.is_late = !is_exec;
		if (form->when & WMK_KFORM_IN)
			wmk_syscall_add_copy(print->plan.at_entry, &copy);
	}
}

void wmk_kprint_make(enum wmk_kabi abi, unsigned number, uint32_t strings, struct wmk_kprint *print)
{
	const char *row;

	memset(print, 0, sizeof(*print));
	print->strings = strings < WMK_KPRINT_STRINGS_MAX ? strings : WMK_KPRINT_STRINGS_MAX;
	if (wmk_syscall_describe(abi, number, &print->call) < 0) {
		wmk_error_clear();
		if (number == WMK_SYSCALLS_OTHER)
			snprintf(print->call.name, sizeof(print->call.name), "unknown");
		else
			snprintf(print->call.name, sizeof(print->call.name), "syscall_%#x", number);
	}
	row = wmk_syscall_row(wmk_kprint_rows, wmk_kprint_rows_n, abi, print->call.name);
	if (!row || !read_row(row, print))
		by_kinds(print);
	while (print->n_entry < print->n_args && !(print->forms[print->n_entry]->when & WMK_KFORM_LATE))
		print->n_entry++;
	make_plan(print);
}

/* ── lines ───────────────────────────────────────────────────────────────────────────────────────────── */

static bool has_failed(const struct wmk_syscalls_record *exit)
{
	const int64_t value = exit ? wmk_kprint_value(exit) : 0;

	return value < 0 && value >= -4095;
}

static bool put_arg(const struct wmk_kprint *print, unsigned arg, const struct wmk_syscalls_record *entry,
		    const struct wmk_syscalls_record *exit, bool is_alone, struct wmk_kline *line)
{
	const struct wmk_kform *form = print->forms[arg];
	uint64_t data[WMK_KFORM_BYTES / sizeof(uint64_t)];
	struct wmk_kview view = { .print = print,
				  .entry = entry,
				  .exit = exit,
				  .arg = arg,
				  .has_failed = has_failed(exit),
				  .is_alone = is_alone,
				  .value = arg < entry->n_values ? entry->values[arg] : 0 };
	const bool is_whole = form->when & WMK_KFORM_WHOLE;

	if (form->is_shown && !form->is_shown(&view))
		return false;
	if (!(form->when & WMK_KFORM_OWN))
		wmk_kview_next(line, &view);
	if (form->name)
		wmk_kline_put(line, form->name);
	if (form->op != WMK_SYSCALLS_NOTHING)
		view.piece = wmk_kview_piece(&view, 0);
	if (is_whole && view.piece && view.piece->len >= form->unit)
		view.data = memcpy(data, view.piece->bytes, form->unit);
	if (form->op == WMK_SYSCALLS_NOTHING || (is_whole ? view.data : view.piece) || (form->when & WMK_KFORM_ALWAYS))
		form->print(line, &view);
	else
		wmk_kline_pointer(line, view.value);
	return true;
}

/*
 * Returns whether the text of the entry ends with a comma, as in strace. The text ends with a comma if arguments
 * precede the comma, and if the first argument to print at exit has neither a condition nor its own separator
 * (WMK_KFORM_OWN).
 */
static bool has_comma_before(const struct wmk_kprint *print)
{
	const struct wmk_kform *form = print->n_entry < print->n_args ? print->forms[print->n_entry] : NULL;

	return print->n_entry && form && !form->is_shown && !(form->when & WMK_KFORM_OWN);
}

bool wmk_kprint_arg(const struct wmk_kprint *print, unsigned arg, const struct wmk_syscalls_record *entry,
		    const struct wmk_syscalls_record *exit, struct wmk_kline *line)
{
	return put_arg(print, arg, entry, exit, true, line);
}

void wmk_kprint_name(const struct wmk_kprint *print, const struct wmk_syscalls_record *entry, struct wmk_kline *line)
{
	if (entry->number != WMK_SYSCALLS_OTHER) {
		wmk_kline_put(line, print->call.name);
		return;
	}
	wmk_kline_put(line, "syscall_");
	wmk_kline_hex(line, entry->abi == WMK_KABI_COMPAT ? (uint32_t)entry->other : entry->other);
}

void wmk_kprint_entry(const struct wmk_kprint *print, const struct wmk_syscalls_record *entry,
		      const struct wmk_syscalls_record *late, struct wmk_kline *line)
{
	wmk_kprint_name(print, entry, line);
	wmk_kline_char(line, '(');
	for (unsigned i = 0; i < print->n_entry; i++)
		put_arg(print, i, entry, late, false, line);
	if (has_comma_before(print))
		wmk_kline_bytes(line, ", ", 2);
}

void wmk_kprint_rest(const struct wmk_kprint *print, const struct wmk_syscalls_record *entry,
		     const struct wmk_syscalls_record *exit, struct wmk_kline *line)
{
	for (unsigned i = print->n_entry; i < print->n_args; i++)
		put_arg(print, i, entry, exit, i == print->n_entry && has_comma_before(print), line);
}

const char *wmk_kprint_errno(int64_t result, char room[24])
{
	const char *name;

	if (result >= 0 || result < -4095)
		return NULL;
	name = wmk_syscall_errno((unsigned)-result);
	if (!name) {
		snprintf(room, 24, "ERRNO_%u", (unsigned)-result);
		name = room;
	}
	return name;
}

/*
 * Returns the text for a result that the kernel handles itself and does not return to the program; NULL for any other
 * result.
 */
static const char *restart_words(int64_t err)
{
	return err == 512   ? "To be restarted if SA_RESTART is set"
	       : err == 513 ? "To be restarted"
	       : err == 514 ? "To be restarted if no handler"
	       : err == 516 ? "Interrupted by signal"
			    : NULL;
}

static void put_failure(struct wmk_kline *line, int64_t result)
{
	const char *words = restart_words(-result);
	char room[24];

	wmk_kline_put(line, words ? "? " : "-1 ");
	wmk_kline_put(line, wmk_kprint_errno(result, room));
	wmk_kline_bytes(line, " (", 2);
	wmk_kline_put(line, words ? words : strerror((int)-result));
	wmk_kline_char(line, ')');
}

static void put_fcntl(struct wmk_kline *line, const struct wmk_syscalls_record *entry, int64_t value)
{
	const uint32_t command = entry->n_values > 1 ? (uint32_t)entry->values[1] : UINT32_MAX;

	if (command == 1 || command == 3) {   /* F_GETFD, F_GETFL */
		wmk_kline_hex(line, (uint64_t)value);
		if (command == 1 && !value)
			return;
		wmk_kline_put(line, " (flags ");
		if (command == 1)
			wmk_kline_put(line, "FD_CLOEXEC");
		else
			wmk_kline_open(line, (uint64_t)value);
		wmk_kline_char(line, ')');
	} else {
		wmk_kline_signed(line, value);
	}
}

void wmk_kprint_result(const struct wmk_kprint *print, const struct wmk_syscalls_record *entry,
		       const struct wmk_syscalls_record *exit, struct wmk_kline *line)
{
	const int64_t value = wmk_kprint_value(exit);
	const struct wmk_kview view = {
		.print = print, .entry = entry, .exit = exit, .value = entry->n_values ? entry->values[0] : 0
	};

	if (has_failed(exit)) {
		put_failure(line, value);
		return;
	}
	switch (print->ret) {
	case WMK_KRETURN_POINTER:
		wmk_kline_hex(line, exit->n_values ? exit->values[0] : 0);
		break;
	case WMK_KRETURN_OCTAL:
		wmk_kline_octal(line, (uint64_t)value, 3);
		break;
	case WMK_KRETURN_FCNTL:
		put_fcntl(line, entry, value);
		break;
	case WMK_KRETURN_POLL:
		wmk_kline_signed(line, value);
		if (value)
			wmk_kline_polled(line, &view);
		else
			wmk_kline_put(line, " (Timeout)");
		break;
	default:
		wmk_kline_signed(line, value);
		break;
	}
}
