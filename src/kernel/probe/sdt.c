/* SPDX-License-Identifier: MIT */
/*
 * sdt.c - parse assembler operands in SDT notes (see sdt.h). Compilers can use any addressing mode of an instruction.
 * An operand that is not supported becomes unreadable; its value is never guessed.
 */
#include "kernel/probe/sdt.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/scan.h"

static void unreadable(struct wmk_sdt_arg *arg, const char *why)
{
	arg->kind = WMK_SDT_UNREADABLE;
	arg->why = why;
}

static bool take(struct wmk_scan *span, const char *word)
{
	wmk_scan_space(span);
	return wmk_scan_take(span, word);
}

static bool at_end(struct wmk_scan *span)
{
	wmk_scan_space(span);
	return span->at == span->end;
}

static bool in_name(char c)
{
	return wmk_scan_is_word(c) || c == '.' || c == '$';
}

/* Parse a number without a sign, decimal or hexadecimal. */
static bool take_digits(struct wmk_scan *span, uint64_t *number)
{
	const bool is_hex = wmk_scan_take(span, "0x") || wmk_scan_take(span, "0X");

	return wmk_scan_number(span, is_hex ? 16 : 10, UINT64_MAX, number) &&
	       (span->at == span->end || !in_name(*span->at));
}

static bool take_number(struct wmk_scan *span, int64_t *number)
{
	uint64_t digits;
	bool minus = take(span, "-");

	if (!minus)
		take(span, "+");
	wmk_scan_space(span);
	if (!take_digits(span, &digits) || (minus && digits > (uint64_t)INT64_MAX + 1))
		return false;
	*number = (int64_t)(minus ? 0 - digits : digits);
	return true;
}

/* Parse a sum of numbers and at most one symbol: -20, counter, counter+8, 8+counter. */
static bool take_sum(struct wmk_scan *span, struct wmk_sdt_arg *arg)
{
	arg->number = 0;
	arg->symbol[0] = '\0';
	for (bool first = true;; first = false) {
		int64_t number;
		size_t len = 0;

		wmk_scan_space(span);
		if (span->at == span->end || (*span->at != '+' && *span->at != '-' && !first))
			return true;
		if (wmk_scan_is_digit(*span->at) || *span->at == '-' ||
		    (*span->at == '+' && span->end - span->at > 1 && wmk_scan_is_digit(span->at[1]))) {
			if (!take_number(span, &number) || __builtin_add_overflow(arg->number, number, &arg->number))
				return false;
			continue;
		}
		take(span, "+");
		while (span->at + len < span->end && in_name(span->at[len]))
			len++;
		if (len == 0 || len >= sizeof(arg->symbol) || arg->symbol[0] || wmk_scan_is_digit(*span->at))
			return false;
		memcpy(arg->symbol, span->at, len);
		arg->symbol[len] = '\0';
		span->at += len;
	}
}

/* Parse the name of a register; the name consists of letters and digits. */
static unsigned take_register(struct wmk_scan *span, unsigned machine, char base[8])
{
	const char *begin = span->at;

	while (span->at < span->end && in_name(*span->at))
		span->at++;
	return wmk_register_find(machine, begin, (size_t)(span->at - begin), base);
}

/* ── x86: %reg  $5  -20(%rbp)  (%rax)  counter+4(%rip) ───────────────────────────────────────────────── */

static void x86_register(struct wmk_scan *span, unsigned machine, struct wmk_sdt_arg *arg)
{
	if (!take_register(span, machine, arg->base) || !at_end(span)) {
		unreadable(arg, "the kernel cannot fetch its register");
		return;
	}
	arg->kind = WMK_SDT_REGISTER;
}

static void x86_memory(struct wmk_scan *span, unsigned machine, struct wmk_sdt_arg *arg)
{
	if (*span->at != '(' && !take_sum(span, arg))
		return;
	if (at_end(span)) {
		if (arg->symbol[0])
			arg->kind = WMK_SDT_VARIABLE;
		else
			unreadable(arg, "it is at a fixed address");
		return;
	}
	if (!take(span, "(") || !take(span, "%") || !take_register(span, machine, arg->base))
		return;
	if (!take(span, ")") || !at_end(span)) {
		unreadable(arg, "the kernel cannot fetch from base plus index");
		return;
	}
	if (strcmp(arg->base, "ip") == 0 && arg->symbol[0])
		arg->kind = WMK_SDT_VARIABLE;
	else if (strcmp(arg->base, "ip") == 0 || arg->symbol[0])
		unreadable(arg, "the kernel cannot fetch from a symbol plus register");
	else
		arg->kind = WMK_SDT_MEMORY;
}

static void x86_operand(struct wmk_scan *span, unsigned machine, struct wmk_sdt_arg *arg)
{
	if (take(span, "%")) {
		x86_register(span, machine, arg);
	} else if (take(span, "$")) {
		if (take_number(span, &arg->number) && at_end(span))
			arg->kind = WMK_SDT_CONSTANT;
		else
			unreadable(arg, "it is the address of a symbol");
	} else {
		x86_memory(span, machine, arg);
	}
}

/* ── aarch64: x0  w0  5  #5  [sp, 24]  counter ───────────────────────────────────────────────────────── */

static void arm_memory(struct wmk_scan *span, unsigned machine, struct wmk_sdt_arg *arg)
{
	wmk_scan_space(span);
	if (!take_register(span, machine, arg->base))
		return;
	if (take(span, ",")) {
		take(span, "#");
		if (take(span, ":")) {
			unreadable(arg, "its offset is a symbol that only the linker resolves");
			return;
		}
		if (!take_number(span, &arg->number)) {
			unreadable(arg, "the kernel cannot fetch from base plus index");
			return;
		}
	}
	if (take(span, "]") && at_end(span))
		arg->kind = WMK_SDT_MEMORY;
}

static void arm_operand(struct wmk_scan *span, unsigned machine, struct wmk_sdt_arg *arg)
{
	struct wmk_scan name;

	if (take(span, "[")) {
		arm_memory(span, machine, arg);
		return;
	}
	if (take(span, "#") || wmk_scan_is_digit(*span->at) || *span->at == '-') {
		if (take_number(span, &arg->number) && at_end(span))
			arg->kind = WMK_SDT_CONSTANT;
		return;
	}
	name = *span;
	if (take_register(&name, machine, arg->base) && at_end(&name))
		arg->kind = WMK_SDT_REGISTER;
	else if (name.end - span->at == 3 && memcmp(span->at + 1, "zr", 2) == 0)
		arg->kind = WMK_SDT_CONSTANT;
}

/* ── SIZE@OPERAND ────────────────────────────────────────────────────────────────────────────────────── */

static bool take_size(struct wmk_scan *span, unsigned machine, struct wmk_sdt_arg *arg)
{
	const unsigned word = machine == EM_386 ? 4 : 8;
	int64_t size = word;
	bool has_size = span->at < span->end && (wmk_scan_is_digit(*span->at) || *span->at == '-');
	const char *digits = span->at;

	if (memchr(span->at, '@', (size_t)(span->end - span->at)) && has_size) {
		struct wmk_scan number = { digits, digits + strspn(digits, "-0123456789") };

		if (!take_number(&number, &size) || number.at != number.end)
			return false;
		span->at = number.end;
		if (take(span, "f")) {
			unreadable(arg, "it is a floating-point number");
			return false;
		}
	}
	/* An argument without a size is a machine word; old compilers write such notes. */
	if (memchr(span->at, '@', (size_t)(span->end - span->at)) && !take(span, "@"))
		return false;
	if (size != 1 && size != 2 && size != 4 && size != 8 && size != -1 && size != -2 && size != -4 && size != -8) {
		unreadable(arg, "its size is not 1, 2, 4 or 8 bytes");
		return false;
	}
	snprintf(arg->type, sizeof(arg->type), "%c%d", size < 0 ? 's' : 'u', (int)(size < 0 ? -size : size) * 8);
	return true;
}

static void read_arg(struct wmk_scan span, unsigned machine, struct wmk_sdt_arg *arg)
{
	unreadable(arg, "its size is not valid");
	if (!take_size(&span, machine, arg))
		return;
	/*
	 * The default reason. If the operand's parser does not recognize the operand, the parser keeps the default
	 * reason or stores a more exact reason.
	 */
	unreadable(arg, "its operand is not supported");
	if (at_end(&span))
		return;
	if (machine == EM_AARCH64)
		arm_operand(&span, machine, arg);
	else
		x86_operand(&span, machine, arg);
}

/* The argument ends at the next blank outside of brackets. */
static struct wmk_scan next_arg(const char **text)
{
	struct wmk_scan span = { *text + strspn(*text, " \t"), NULL };
	int depth = 0;

	for (span.end = span.at; *span.end; span.end++) {
		if (*span.end == '(' || *span.end == '[')
			depth++;
		else if ((*span.end == ')' || *span.end == ']') && depth)
			depth--;
		else if ((*span.end == ' ' || *span.end == '\t') && depth == 0)
			break;
	}
	*text = span.end;
	return span;
}

unsigned wmk_sdt_args(unsigned machine, const char *text, struct wmk_sdt_arg args[WMK_SDT_ARGS_MAX])
{
	unsigned n = 0;

	while (n < WMK_SDT_ARGS_MAX) {
		const struct wmk_scan span = next_arg(&text);

		if (span.at == span.end)
			break;
		memset(&args[n], 0, sizeof(args[n]));
		read_arg(span, machine, &args[n++]);
	}
	return n;
}
