/* SPDX-License-Identifier: MIT */
/*
 * syscall_info.c - look up system calls by number and name, and parse their rows (see syscall_info.h).
 */
#include "kernel/syscall/syscall_info.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/error.h"
#include "base/nearest.h"
#include "base/scan.h"
#include "kernel/syscall/syscall_fields.h"
#include "kernel/syscall/syscall_table.h"

/* ── kinds ───────────────────────────────────────────────────────────────────────────────────────────── */

#define NUMBER(kind, name, bits, sign, in_base) \
	[WMK_KKIND_##kind] = { \
		.word = name, .width = bits, .is_signed = sign, .base = in_base, .show = WMK_KSHOW_NUMBER \
	}
#define POINTED(kind, name, what, how, entry, exit, unit, max) \
	[WMK_KKIND_##kind] = { name, 64, 16, false, WMK_KSHOW_##what, WMK_SYSCALLS_##how, entry, exit, unit, max }

const struct wmk_kkind_row wmk_kkinds[WMK_KKINDS] = {
	NUMBER(NONE, "none", 64, false, 16),
	NUMBER(INT, "int", 32, true, 10),
	NUMBER(UINT, "uint", 32, false, 10),
	NUMBER(LONG, "long", 64, true, 10),
	NUMBER(ULONG, "ulong", 64, false, 10),
	NUMBER(HEX, "hex", 64, false, 16),
	NUMBER(POINTER, "ptr", 64, false, 16),
	NUMBER(FD, "fd", 32, true, 10),
	NUMBER(PID, "pid", 32, true, 10),
	NUMBER(UID, "uid", 32, false, 10),
	NUMBER(MODE, "mode", 32, false, 8),
	NUMBER(ERRNO, "errno", 64, true, 10),
	NUMBER(SET, "", 32, false, 10),
	POINTED(PATH, "path", TEXT, TEXT, true, false, 1, 0),
	POINTED(TEXT, "text", TEXT, TEXT, true, false, 1, 0),
	POINTED(TEXTS, "texts", TEXTS, TEXTS, true, false, 1, 0),
	POINTED(BYTES_IN, "in", BLOB, BYTES, true, false, 1, 0),
	POINTED(BYTES_OUT, "out", BLOB, RETURNED, false, true, 1, 0),
	POINTED(ADDRESS_IN, "addrin", ADDRESS, BYTES, true, false, 1, WMK_SYSCALLS_ADDRESS_MAX),
	POINTED(ADDRESS_OUT, "addrout", ADDRESS, LENGTH_AT, false, true, 1, WMK_SYSCALLS_ADDRESS_MAX),
	POINTED(VECTORS_IN, "viin", BLOB, VECTORS_IN, true, false, 1, 0),
	POINTED(VECTORS_OUT, "viout", BLOB, VECTORS_RETURNED, false, true, 1, 0),
	POINTED(TIME_IN, "timein", TIME, FIXED, true, false, 16, 16),
	POINTED(TIME_OUT, "timeout", TIME, FIXED, false, true, 16, 16),
	POINTED(STAT, "stat", STAT, FIXED, false, true, sizeof(struct stat), sizeof(struct stat)),
	POINTED(POLLS, "polls", POLLS, BYTES, true, true, 8, 8 * WMK_SYSCALLS_POLLS_MAX),
	POINTED(PAIR_OUT, "pair", PAIR, FIXED, false, true, 8, 8),
};

const char *wmk_syscall_word(const struct wmk_syscall_arg *arg)
{
	return arg->kind == WMK_KKIND_SET ? wmk_kset_word((enum wmk_kset)arg->set) : wmk_kkinds[arg->kind].word;
}

/* ── numbers and names ───────────────────────────────────────────────────────────────────────────────── */

static const struct wmk_syscall_number *table_of(enum wmk_kabi abi, unsigned *n)
{
	*n = abi == WMK_KABI_NATIVE ? wmk_syscall_native_n : wmk_syscall_compat_n;
	return abi == WMK_KABI_NATIVE ? wmk_syscall_native : wmk_syscall_compat;
}

static int compare_number(const void *key, const void *row)
{
	const unsigned number = *(const unsigned *)key, there = ((const struct wmk_syscall_number *)row)->number;

	return number < there ? -1 : number > there;
}

const char *wmk_syscall_name(enum wmk_kabi abi, unsigned number)
{
	const struct wmk_syscall_number *row;
	unsigned n;

	row = table_of(abi, &n);
	row = bsearch(&number, row, n, sizeof(*row), compare_number);
	return row ? row->name : NULL;
}

static const char *event_name(const char *name)
{
	for (unsigned i = 0; i < wmk_syscall_aliases_n; i++)
		if (strcmp(wmk_syscall_aliases[i][0], name) == 0)
			return wmk_syscall_aliases[i][1];
	return name;
}

int wmk_syscall_find(enum wmk_kabi abi, const char *name)
{
	const struct wmk_syscall_number *row;
	struct wmk_nearest near;
	char meant[128];
	unsigned n;

	row = table_of(abi, &n);
	for (unsigned i = 0; i < n; i++)
		if (strcmp(row[i].name, name) == 0)
			return row[i].number;
	wmk_nearest_init(&near, name);
	for (unsigned i = 0; i < n; i++) {
		if (strcmp(event_name(row[i].name), name) == 0)
			return row[i].number;
		wmk_nearest_offer(&near, row[i].name);
	}
	if (near.n)
		return wmk_errorx(-ENOENT, "no system call is named %.40s: did you mean %s?", name,
				  wmk_nearest_text(&near, meant, sizeof(meant)));
	return wmk_errorx(-ENOENT, "no system call is named %.40s", name);
}

/* ── rows ────────────────────────────────────────────────────────────────────────────────────────────── */

static void copy_name(char to[WMK_SYSCALL_NAME], const char *from, size_t len)
{
	if (len > WMK_SYSCALL_NAME - 1)
		len = WMK_SYSCALL_NAME - 1;
	memcpy(to, from, len);
	to[len] = 0;
}

const char *wmk_syscall_row(const char *const rows[], unsigned n, enum wmk_kabi abi, const char *name)
{
	const size_t len = strlen(name);
	const char mine = abi == WMK_KABI_COMPAT ? '*' : '-';
	const char *all = NULL;

	for (unsigned i = 0; i < n; i++) {
		const char *row = rows[i];
		const bool narrow = *row == '*' || *row == '-';

		if (strncmp(row + narrow, name, len) != 0 || row[narrow + len] != '(')
			continue;
		if (narrow && *row == mine)
			return row + 1;
		if (!narrow)
			all = row;
	}
	return all;
}

/* False: unknown word. */
static bool find_kind(const char *word, size_t len, struct wmk_syscall_arg *arg)
{
	for (unsigned i = 0; i < WMK_KKINDS + WMK_KSETS; i++) {
		arg->kind = i < WMK_KKINDS ? (uint8_t)i : WMK_KKIND_SET;
		arg->set = i < WMK_KKINDS ? 0 : (uint8_t)(i - WMK_KKINDS);
		if (strncmp(wmk_syscall_word(arg), word, len) == 0 && !wmk_syscall_word(arg)[len])
			return true;
	}
	return false;
}

/* Parse a kind and its length argument at `at`; returns the position after both; NULL: unknown word. */
static const char *read_kind(const char *at, struct wmk_syscall_arg *arg)
{
	const size_t len = strspn(at, "abcdefghijklmnopqrstuvwxyz");

	if (!len || !find_kind(at, len, arg))
		return NULL;
	at += len;
	if (*at == ':') {
		arg->len_arg = (uint8_t)(at[1] - '0');
		at += 2;
	}
	return at;
}

/* False: the row is invalid (a test parses all rows). */
static bool read_row(const char *row, struct wmk_syscall *call)
{
	struct wmk_syscall_arg result = { .kind = WMK_KKIND_NONE };
	const char *at = strchr(row, '(') + 1;

	while (*at != ')') {
		struct wmk_syscall_arg *arg = &call->args[call->n_args];
		size_t len;

		at = call->n_args < WMK_SYSCALLS_ARGS ? read_kind(at, arg) : NULL;
		if (!at || *at != ' ')
			return false;
		len = strcspn(++at, ",)");
		copy_name(arg->name, at, len);
		at += len;
		at += *at == ',' ? 2 : 0;
		call->n_args++;
	}
	at = read_kind(at + 2, &result);
	call->ret = result.kind;
	for (unsigned i = 0; i < call->n_args; i++)
		if (call->args[i].len_arg >= call->n_args)
			return false;
	return at && !*at;
}

/* Six numbers of unknown meaning. */
static void make_unknown(struct wmk_syscall *call)
{
	call->n_args = WMK_SYSCALLS_ARGS;
	call->ret = WMK_KKIND_LONG;
	for (unsigned i = 0; i < WMK_SYSCALLS_ARGS; i++) {
		call->args[i] = (struct wmk_syscall_arg){ .name = "arg0", .kind = WMK_KKIND_HEX };
		call->args[i].name[3] = (char)('0' + i);
	}
}

int wmk_syscall_describe(enum wmk_kabi abi, unsigned number, struct wmk_syscall *call)
{
	const char *name = wmk_syscall_name(abi, number),
		   *row = name ? wmk_syscall_row(wmk_syscall_rows, wmk_syscall_rows_n, abi, name) : NULL;

	*call = (struct wmk_syscall){
		.abi = (uint8_t)abi, .number = (uint16_t)number, .name = "unknown", .event = "unknown"
	};
	if (name) {
		const char *event = abi == WMK_KABI_NATIVE ? event_name(name) : name;

		copy_name(call->name, name, strlen(name));
		copy_name(call->event, event, strlen(event));
	}
	call->is_known = row && read_row(row, call);
	if (!call->is_known)
		make_unknown(call);
	return name ? 0 : wmk_errorx(-ENOENT, "no system call has number %u", number);
}

/* ── from the kernel's formats ───────────────────────────────────────────────────────────────────────── */

static bool ends_with(const char *word, const char *end)
{
	const size_t len = strlen(word), n = strlen(end);

	return len >= n && strcmp(word + len - n, end) == 0;
}

static uint8_t kind_of_pointer(const struct wmk_kfield *field)
{
	static const char *const paths[] = {
		"filename", "pathname", "path", "oldname", "newname", "specialfile", "name"
	};

	/*
	 * A text is an input of the system call. A parameter that is named like a buffer may contain bytes instead of a
	 * text.
	 */
	if (strncmp(field->type, "const char *", 12) != 0 || strchr(field->type + 12, '*') ||
	    strstr(field->name, "buf") || strstr(field->name, "ptr"))
		return WMK_KKIND_POINTER;
	for (size_t i = 0; i < WMK_ARRAY_LEN(paths); i++)
		if (strcmp(field->name, paths[i]) == 0)
			return WMK_KKIND_PATH;
	return WMK_KKIND_TEXT;
}

static uint8_t kind_of(const struct wmk_kfield *field)
{
	static const struct {
		const char *type;
		uint8_t kind;
	} kinds[] = {
		{ "pid_t", WMK_KKIND_PID },          { "umode_t", WMK_KKIND_MODE },    { "uid_t", WMK_KKIND_UID },
		{ "gid_t", WMK_KKIND_UID },          { "qid_t", WMK_KKIND_UID },       { "long", WMK_KKIND_LONG },
		{ "loff_t", WMK_KKIND_LONG },        { "off_t", WMK_KKIND_LONG },      { "size_t", WMK_KKIND_ULONG },
		{ "const size_t", WMK_KKIND_ULONG }, { "u64", WMK_KKIND_ULONG },       { "__u64", WMK_KKIND_ULONG },
		{ "unsigned long", WMK_KKIND_ULONG }, { "aio_context_t", WMK_KKIND_ULONG }, { "u32", WMK_KKIND_UINT },
		{ "unsigned int", WMK_KKIND_UINT },  { "unsigned", WMK_KKIND_UINT },   { "__u32", WMK_KKIND_UINT },
		{ "const __u32", WMK_KKIND_UINT },
	};
	uint8_t kind = WMK_KKIND_INT;

	if (field->is_pointer || strchr(field->type, '*'))
		return kind_of_pointer(field);
	for (size_t i = 0; i < WMK_ARRAY_LEN(kinds); i++)
		if (strcmp(field->type, kinds[i].type) == 0)
			kind = kinds[i].kind;
	if (kind == WMK_KKIND_ULONG && (strstr(field->name, "flags") || ends_with(field->name, "addr")))
		return WMK_KKIND_HEX;
	return (kind == WMK_KKIND_INT || kind == WMK_KKIND_UINT) && ends_with(field->name, "fd") ? WMK_KKIND_FD : kind;
}

/* Names of arguments become names of fields, so they must be identifiers, and unique. */
static bool is_name(const struct wmk_syscall *call, const char *name)
{
	if (!*name || wmk_scan_is_digit(*name) || strlen(name) >= WMK_SYSCALL_NAME)
		return false;
	for (const char *c = name; *c; c++)
		if (!wmk_scan_is_word(*c))
			return false;
	for (unsigned i = 0; i < call->n_args; i++)
		if (strcmp(call->args[i].name, name) == 0)
			return false;
	return true;
}

void wmk_syscall_refine(struct wmk_syscall *call, const struct wmk_kformat *format)
{
	struct wmk_syscall made = *call;

	if (call->is_known)
		return;
	made.n_args = 0;
	memset(made.args, 0, sizeof(made.args));
	for (uint32_t i = format->n_common; i < format->n_common + format->n_fields; i++) {
		const struct wmk_kfield *field = &format->fields[i];
		struct wmk_syscall_arg *arg = &made.args[made.n_args];

		/*
		 * Skip fields that are not arguments: the number, under one of two names, and data copied by the
		 * kernel.
		 */
		if (strcmp(field->name, "__syscall_nr") == 0 || strcmp(field->name, "nr") == 0 ||
		    field->shape != WMK_KSHAPE_NUMBER)
			continue;
		if (made.n_args == WMK_SYSCALLS_ARGS || !is_name(&made, field->name))
			return;
		copy_name(arg->name, field->name, strlen(field->name));
		arg->kind = kind_of(field);
		made.n_args++;
	}
	made.is_known = true;
	*call = made;
}

/* ── what is copied ──────────────────────────────────────────────────────────────────────────────────── */

static uint32_t at_most(uint32_t wanted, uint32_t most)
{
	return wanted < most ? wanted : most;
}

static struct wmk_syscalls_copy copy_of(const struct wmk_syscall *call, const struct wmk_syscall_arg *arg,
					const struct wmk_syscalls_limits *limits)
{
	const struct wmk_kkind_row *kind = &wmk_kkinds[arg->kind];
	struct wmk_syscalls_copy copy = { .op = kind->op,
					  .arg = (uint8_t)(arg - call->args),
					  .len_arg = arg->len_arg,
					  .unit = kind->unit,
					  .max = kind->max };

	copy.is_late = wmk_syscall_is_late(call, copy.arg);
	if (kind->op == WMK_SYSCALLS_TEXT)
		copy.max = (uint16_t)at_most(limits->text, WMK_SYSCALLS_PART_MAX);
	else if (kind->op == WMK_SYSCALLS_TEXTS)
		copy.max = (uint16_t)at_most(limits->text, WMK_SYSCALLS_STRING_MAX);
	else if (!kind->max)
		copy.max = (uint16_t)at_most(limits->bytes, WMK_SYSCALLS_PART_MAX);
	if (kind->show == WMK_KSHOW_TIME && call->abi == WMK_KABI_COMPAT)
		copy.unit = copy.max = 8;
	return copy;
}

bool wmk_syscall_is_late(const struct wmk_syscall *call, unsigned arg)
{
	return wmk_kkinds[call->args[arg].kind].show == WMK_KSHOW_TEXT && strncmp(call->name, "execve", 6) != 0;
}

void wmk_syscall_add_copy(struct wmk_syscalls_copy copies[WMK_SYSCALLS_PARTS],
			  const struct wmk_syscalls_copy *copy)
{
	for (unsigned i = 0; i < WMK_SYSCALLS_PARTS; i++)
		if (copies[i].op == WMK_SYSCALLS_NOTHING) {
			copies[i] = *copy;
			return;
		}
}

void wmk_syscall_plan(const struct wmk_syscall *call, const struct wmk_syscalls_limits *limits,
		    struct wmk_syscalls_plan *plan)
{
	memset(plan, 0, sizeof(*plan));
	for (unsigned i = 0; i < call->n_args; i++) {
		const struct wmk_kkind_row *kind = &wmk_kkinds[call->args[i].kind];
		const struct wmk_syscalls_copy copy = copy_of(call, &call->args[i], limits);

		if (kind->at_entry)
			wmk_syscall_add_copy(plan->at_entry, &copy);
		if (kind->at_exit)
			wmk_syscall_add_copy(plan->at_exit, &copy);
	}
}
