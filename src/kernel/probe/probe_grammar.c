/* SPDX-License-Identifier: MIT */
/* probe_grammar.c - a recursive-descent parser of probes (see probe.h). The parser looks up no file and no symbol. */
#include "kernel/probe/probe_grammar.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/scan.h"

struct reader {
	const char *text, *at;
};

static unsigned column(const struct reader *in)
{
	return (unsigned)(in->at - in->text) + 1;
}

static int wrong(const struct reader *in, const char *what)
{
	if (*in->at)
		return wmk_errorx(-EINVAL, "column %u: %s, not '%.12s'", column(in), what, in->at);
	return wmk_errorx(-EINVAL, "column %u: %s is missing at the end", column(in), what);
}

static bool begins_name(char c)
{
	return wmk_scan_is_word(c) && !wmk_scan_is_digit(c);
}

/* Return whether the character can be in the name of a function or variable. Compilers add suffixes such as .isra.0. */
static bool in_symbol(char c)
{
	return wmk_scan_is_word(c) || c == '.' || c == '$';
}

static void skip_blanks(struct reader *in)
{
	in->at += strspn(in->at, " \t");
}

static bool take(struct reader *in, char c)
{
	skip_blanks(in);
	if (*in->at != c)
		return false;
	in->at++;
	return true;
}

/* Read the longest word of characters that `in_it` accepts. An empty word is an error. */
static int take_word(struct reader *in, bool (*in_it)(char), const char *what, char *word, size_t size)
{
	size_t len = 0;

	while (in_it(in->at[len]))
		len++;
	if (len == 0)
		return wrong(in, what);
	if (len >= size)
		return wmk_errorx(-EINVAL, "column %u: %s has more than %zu characters", column(in), what, size - 1);
	memcpy(word, in->at, len);
	word[len] = '\0';
	in->at += len;
	return 0;
}

/* Read a number, decimal or 0x..., up to `most`. */
static int take_number(struct reader *in, uint64_t most, uint64_t *number)
{
	struct wmk_scan scan = { in->at, in->at + strlen(in->at) };

	if (!wmk_scan_is_digit(*in->at))
		return wrong(in, "a number");
	const bool is_hex = wmk_scan_take(&scan, "0x") || wmk_scan_take(&scan, "0X");

	if (!wmk_scan_number(&scan, is_hex ? 16 : 10, most, number) || wmk_scan_is_word(*scan.at))
		return wmk_errorx(-EINVAL, "column %u: not a number, or too large: %.24s", column(in), in->at);
	in->at = scan.at;
	return 0;
}

/* ── types ───────────────────────────────────────────────────────────────────────────────────────────── */

bool wmk_probe_type_is_string(const char *type)
{
	return strcmp(type, "string") == 0 || strcmp(type, "ustring") == 0;
}

static bool is_type(const char *word)
{
	static const char *const types[] = { "u8",  "u16", "u32", "u64",  "s8",     "s16",    "s32",    "s64",    "x8",
					     "x16", "x32", "x64", "char", "symbol", "symstr", "string", "ustring" };

	for (size_t i = 0; i < WMK_ARRAY_LEN(types); i++)
		if (strcmp(word, types[i]) == 0)
			return true;
	return false;
}

static int take_bits(struct reader *in, struct wmk_probe_arg *arg)
{
	uint64_t bits, shift = 0, size = 0;
	const unsigned at = column(in);

	in->at++;
	if (take_number(in, 64, &bits) < 0)
		return -EINVAL;
	if (!take(in, '@') || take_number(in, 63, &shift) < 0 || !take(in, '/') || take_number(in, 64, &size) < 0 ||
	    bits == 0 || (size != 8 && size != 16 && size != 32 && size != 64) || bits + shift > size)
		return wmk_errorx(-EINVAL, "column %u: the form of bits is bBITS@SHIFT/SIZE, with SIZE 8, 16, 32 or 64",
				  at);
	snprintf(arg->type, sizeof(arg->type), "b%u@%u/%u", (unsigned)bits, (unsigned)shift, (unsigned)size);
	return 0;
}

static int take_type(struct reader *in, struct wmk_probe_arg *arg)
{
	const struct reader begin = *in;
	uint64_t count;

	if (*in->at == 'b' && wmk_scan_is_digit(in->at[1]))
		return take_bits(in, arg);
	if (take_word(in, wmk_scan_is_word, "a type", arg->type, sizeof(arg->type)) < 0)
		return -EINVAL;
	if (!is_type(arg->type))
		return wrong(&begin, "a type (u8..u64, s8..s64, x8..x64, char, string, ustring, symbol)");
	if (!take(in, '['))
		return 0;
	skip_blanks(in);
	if (take_number(in, 64, &count) < 0)
		return -EINVAL;
	if (count == 0 || strncmp(arg->type, "sym", 3) == 0)
		return wmk_errorx(-EINVAL, "column %u: an array has 1 to 64 elements that are numbers or strings",
				  column(&begin));
	arg->count = (uint32_t)count;
	return take(in, ']') ? 0 : wrong(in, "]");
}

/* ── values ──────────────────────────────────────────────────────────────────────────────────────────── */

static int take_dollar(struct reader *in, struct wmk_probe_arg *arg)
{
	const struct reader begin = { in->text, in->at - 1 };
	char word[16];
	uint64_t number = 0;

	if (take_word(in, begins_name, "comm, retval, stack or argN", word, sizeof(word)) < 0)
		return -EINVAL;
	if (wmk_scan_is_digit(*in->at)) {
		arg->is_slot = true;
		if (take_number(in, 255, &number) < 0)
			return -EINVAL;
	}
	arg->number = (int64_t)number;
	if (strcmp(word, "arg") == 0 && number > 0)
		arg->base = WMK_PROBE_ARGUMENT;
	else if (strcmp(word, "stack") == 0)
		arg->base = WMK_PROBE_STACK;
	else if (strcmp(word, "retval") == 0 && !arg->is_slot)
		arg->base = WMK_PROBE_RETVAL;
	else if (strcmp(word, "comm") == 0 && !arg->is_slot)
		arg->base = WMK_PROBE_COMM;
	else
		return wrong(&begin, "$comm, $retval, $stack, $stackN or $arg1 ...");
	return 0;
}

static int take_at(struct reader *in, struct wmk_probe_arg *arg)
{
	uint64_t number = 0;
	int err;

	if (wmk_scan_is_digit(*in->at)) {
		arg->base = WMK_PROBE_MEMORY;
		err = take_number(in, UINT64_MAX, &number);
		arg->number = (int64_t)number;
		return err;
	}
	arg->base = WMK_PROBE_SYMBOL;
	if (take_word(in, in_symbol, "a symbol or an address", arg->text, sizeof(arg->text)) < 0)
		return -EINVAL;
	if (*in->at != '+')
		return 0;
	in->at++;
	err = take_number(in, INT32_MAX, &number);
	arg->number = (int64_t)number;
	return err;
}

static int take_base(struct reader *in, struct wmk_probe_arg *arg)
{
	if (take(in, '%')) {
		arg->base = WMK_PROBE_REGISTER;
		return take_word(in, wmk_scan_is_word, "a register", arg->text, 16);
	}
	if (take(in, '$'))
		return take_dollar(in, arg);
	if (take(in, '@'))
		return take_at(in, arg);
	arg->base = WMK_PROBE_NAMED;
	if (!begins_name(*in->at))
		return wrong(in, "a value: NAME, %REGISTER, $arg1, $retval, +OFFSET(VALUE) or @SYMBOL");
	return take_word(in, wmk_scan_is_word, "a name", arg->text, WMK_PROBE_FIELD_MAX * 2);
}

static int take_deref(struct reader *in, struct wmk_probe_arg *arg)
{
	struct wmk_probe_deref *deref = &arg->derefs[arg->n_derefs];
	const bool minus = *in->at == '-';
	uint64_t number;

	if (arg->n_derefs == WMK_PROBE_DEREFS_MAX)
		return wmk_errorx(-EINVAL, "column %u: more than %u dereferences", column(in),
				  WMK_PROBE_DEREFS_MAX);
	in->at++;
	deref->is_user = *in->at == 'u';
	in->at += deref->is_user;
	if (take_number(in, INT32_MAX, &number) < 0)
		return -EINVAL;
	deref->offset = minus ? -(int64_t)number : (int64_t)number;
	arg->n_derefs++;
	return take(in, '(') ? 0 : wrong(in, "'(' and the value that is the address");
}

static int take_value(struct reader *in, struct wmk_probe_arg *arg)
{
	int err;

	for (;;) {
		skip_blanks(in);
		if (*in->at != '+' && *in->at != '-')
			break;
		err = take_deref(in, arg);
		if (err < 0)
			return err;
	}
	err = take_base(in, arg);
	if (err == 0 && arg->base == WMK_PROBE_COMM && arg->n_derefs)
		return wmk_errorx(-EINVAL, "column %u: $comm is a string, not an address", arg->column);
	for (uint32_t i = 0; err == 0 && i < arg->n_derefs; i++)
		if (!take(in, ')'))
			return wrong(in, "')'");
	return err;
}

/* Parse the name of a field before a single '='; the field's value follows. */
static int take_field_name(struct reader *in, struct wmk_probe_arg *arg)
{
	struct reader ahead = *in;
	const unsigned at = column(in);

	while (wmk_scan_is_word(*ahead.at))
		ahead.at++;
	if (!begins_name(*in->at) || !take(&ahead, '='))
		return 0;
	if (take_word(in, wmk_scan_is_word, "a field's name", arg->name, sizeof(arg->name)) < 0)
		return -EINVAL;
	*in = ahead;
	skip_blanks(in);
	if (strncmp(arg->name, "common_", 7) == 0 || strncmp(arg->name, "__", 2) == 0)
		return wmk_errorx(-EINVAL, "column %u: the kernel reserves field names such as %s", at, arg->name);
	return 0;
}

/* Give a field without a name the name of its value, or the name argN, where N is the field's place in the list. */
static void name_field(struct wmk_probe_arg *arg, uint32_t index)
{
	const bool is_plain = arg->n_derefs == 0;
	const size_t len = strnlen(arg->text, sizeof(arg->name) - 1);

	if (arg->name[0])
		return;
	if (is_plain && (arg->base == WMK_PROBE_NAMED || arg->base == WMK_PROBE_REGISTER))
		memcpy(arg->name, arg->text, len);
	else if (is_plain && (arg->base == WMK_PROBE_RETVAL || arg->base == WMK_PROBE_COMM))
		strcpy(arg->name, arg->base == WMK_PROBE_RETVAL ? "retval" : "comm");
	else
		snprintf(arg->name, sizeof(arg->name), "arg%u",
			 is_plain && arg->base == WMK_PROBE_ARGUMENT ? (unsigned)arg->number : index + 1);
}

static int take_arg(struct reader *in, struct wmk_probe_text *text)
{
	struct wmk_probe_arg *arg = &text->args[text->n_args];
	int err;

	skip_blanks(in);
	if (text->n_args == WMK_PROBE_ARGS_MAX)
		return wmk_errorx(-EINVAL, "column %u: more than %u arguments", column(in), WMK_PROBE_ARGS_MAX);
	err = take_field_name(in, arg);
	arg->column = column(in);
	err = err < 0 ? err : take_value(in, arg);
	if (err == 0 && take(in, ':')) {
		skip_blanks(in);
		err = take_type(in, arg);
	}
	if (err < 0)
		return err;
	if (arg->base == WMK_PROBE_COMM && arg->type[0] && (strcmp(arg->type, "string") != 0 || arg->count))
		return wmk_errorx(-EINVAL, "column %u: $comm has the type string: no other type is allowed",
				  arg->column);
	name_field(arg, text->n_args);
	for (uint32_t i = 0; i < text->n_args; i++)
		if (strcmp(text->args[i].name, arg->name) == 0)
			return wmk_errorx(
				-EINVAL, "column %u: two fields are named %s: rename one of them (NAME=VALUE)",
				arg->column, arg->name);
	text->n_args++;
	return 0;
}

static int take_args(struct reader *in, struct wmk_probe_text *text)
{
	int err;

	in->at++;
	text->has_args = true;
	if (take(in, ')'))
		return 0;
	do {
		err = take_arg(in, text);
		if (err < 0)
			return err;
	} while (take(in, ','));
	return take(in, ')') ? 0 : wrong(in, "',' or ')'");
}

/* ── places ──────────────────────────────────────────────────────────────────────────────────────────── */

/* SYMBOL[+OFFSET] or ADDRESS */
static int take_symbol(struct reader *in, struct wmk_probe_text *text)
{
	if (wmk_scan_is_digit(*in->at))
		return take_number(in, UINT64_MAX, &text->number);
	if (take_word(in, in_symbol, "a function or an address", text->symbol, sizeof(text->symbol)) < 0)
		return -EINVAL;
	if (*in->at != '+')
		return 0;
	in->at++;
	return take_number(in, INT32_MAX, &text->number);
}

static int take_kernel_place(struct reader *in, struct wmk_probe_text *text)
{
	const char *colon = in->at;

	while (wmk_scan_is_word(*colon) || *colon == '-')
		colon++;
	if (*colon == ':' && colon > in->at) {
		if ((size_t)(colon - in->at) >= sizeof(text->scope))
			return wmk_errorx(-EINVAL, "column %u: the module's name is too long", column(in));
		memcpy(text->scope, in->at, (size_t)(colon - in->at));
		in->at = colon + 1;
	}
	return take_symbol(in, text);
}

/* Find the list of arguments: the parenthesis that the last character closes. NULL: no list. */
static const char *find_args(const char *typed)
{
	const char *at = typed + strlen(typed);
	int depth = 0;

	while (at > typed && (at[-1] == ' ' || at[-1] == '\t'))
		at--;
	if (at == typed || at[-1] != ')')
		return NULL;
	while (at > typed) {
		at--;
		depth += *at == ')';
		depth -= *at == '(';
		if (depth == 0)
			return at;
	}
	return NULL;
}

/* Find the last colon in [begin, end). */
static const char *last_colon(const char *begin, const char *end)
{
	while (end > begin)
		if (*--end == ':')
			return end;
	return NULL;
}

/* The kernel splits the line at blanks, and drops everything after a '#'. */
static int take_path(struct reader *in, const char *end, struct wmk_probe_text *text)
{
	const size_t len = (size_t)(end - in->at);
	const size_t fit = strcspn(in->at, " \t\n#");

	if (len == 0 || len >= sizeof(text->path))
		return len ? wmk_errorx(-EINVAL, "column %u: the path is too long", column(in))
			   : wrong(in, "a path");
	if (fit < len)
		return wmk_errorx(-EINVAL,
				  "column %zu: the kernel does not accept a path with a blank or a #: give a "
				  "symbolic link without them",
				  column(in) + fit);
	memcpy(text->path, in->at, len);
	in->at = end + 1;
	return 0;
}

static int take_user_place(struct reader *in, struct wmk_probe_text *text)
{
	const char *args = find_args(in->at), *end = args ? args : in->at + strlen(in->at), *colon, *second;
	int err;

	text->place = strncmp(in->at, "sdt:", 4) == 0 ? WMK_PROBE_AT_SDT : WMK_PROBE_IN_ELF;
	if (text->place == WMK_PROBE_AT_SDT || strncmp(in->at, "elf:", 4) == 0)
		in->at += 4;
	colon = last_colon(in->at, end);
	if (text->place == WMK_PROBE_IN_ELF) {
		if (!colon)
			return wmk_errorx(-EINVAL, "column %u: expected PATH:SYMBOL, not %.60s", column(in),
					  in->at);
		err = take_path(in, colon, text);
		return err < 0 ? err : take_symbol(in, text);
	}
	second = colon ? last_colon(in->at, colon) : NULL;
	if (!second)
		return wmk_errorx(-EINVAL, "column %u: expected PATH:PROVIDER:NAME, not %.60s", column(in), in->at);
	err = take_path(in, second, text);
	if (err == 0)
		err = take_word(in, in_symbol, "a provider", text->scope, sizeof(text->scope));
	if (err == 0 && !take(in, ':'))
		err = wrong(in, "':'");
	return err < 0 ? err : take_word(in, in_symbol, "a probe's name", text->symbol, sizeof(text->symbol));
}

static bool is_user(enum wmk_probe_kind kind)
{
	return kind == WMK_PROBE_USER || kind == WMK_PROBE_USER_RETURN;
}

int wmk_probe_text_read(enum wmk_probe_kind kind, const char *typed, struct wmk_probe_text *text)
{
	struct reader in = { typed, typed };
	const bool at_begin_only = kind != WMK_PROBE_KERNEL && kind != WMK_PROBE_USER;
	int err;

	memset(text, 0, sizeof(*text));
	if (strnlen(typed, WMK_PROBE_TEXT_MAX) == WMK_PROBE_TEXT_MAX)
		return wmk_errorx(-EINVAL, "the probe has more than %u characters", WMK_PROBE_TEXT_MAX - 1);
	skip_blanks(&in);
	err = is_user(kind) ? take_user_place(&in, text) : take_kernel_place(&in, text);
	if (err < 0)
		return err;
	if (at_begin_only && (text->place == WMK_PROBE_AT_SDT || (text->symbol[0] && text->number)))
		return wmk_errorx(
			-EINVAL, "column %u: entry and return probes need a function without an offset, not an SDT "
				 "probe",
			column(&in));
	skip_blanks(&in);
	if (*in.at == '(')
		err = take_args(&in, text);
	skip_blanks(&in);
	if (err == 0 && *in.at)
		return wrong(&in, text->has_args ? "the end" : "'(' or the end");
#ifdef WMK_PLANTED_BUG_PROBE
	if (text->n_args == 3)
		text->args[WMK_PROBE_ARGS_MAX - 1 + (uint32_t)text->args[2].number].count = 1;
#endif
	return err;
}
