/* SPDX-License-Identifier: MIT */
/*
 * registers.c - names of registers, in assembler and in the kernel's fetch arguments (see sdt.h).
 *
 * On x86, the kernel uses the 16-bit names for registers of any width: %di is all of rdi.
 */
#include <elf.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/scan.h"
#include "kernel/probe/sdt.h"

struct name {
	const char *name, *kernel_name;
	unsigned size;
};

/*
 * The kernel's name of a register, and the name of its lowest byte. r and e in front of the kernel's name mean 64 and
 * 32 bits.
 */
static const char *const x86_wide[][2] = {
	{ "ax", "al" },  { "bx", "bl" },  { "cx", "cl" },  { "dx", "dl" }, { "si", "sil" },
	{ "di", "dil" }, { "bp", "bpl" }, { "sp", "spl" }, { "ip", "" },
};

static const struct name x86_names[] = {
	{ "flags", "flags", 8 }, { "cs", "cs", 8 }, { "ss", "ss", 8 }, { "orig_ax", "orig_ax", 8 },
};

static const struct name arm_names[] = {
	{ "sp", "sp", 8 }, { "lr", "x30", 8 }, { "pc", "pc", 8 }, { "pstate", "pstate", 8 },
};

static bool is_text(const char *name, size_t len, const char *text)
{
	return strlen(text) == len && memcmp(name, text, len) == 0;
}

static unsigned find_name(const struct name *names, size_t n, const char *name, size_t len, char kernel_name[8])
{
	for (size_t i = 0; i < n; i++)
		if (is_text(name, len, names[i].name)) {
			snprintf(kernel_name, 8, "%s", names[i].kernel_name);
			return names[i].size;
		}
	return 0;
}

/* rax eax ax al, and so on. */
static unsigned find_x86_wide(const char *name, size_t len, char kernel_name[8])
{
	const bool has_width = len == 3 && (name[0] == 'r' || name[0] == 'e');

	for (size_t i = 0; i < WMK_ARRAY_LEN(x86_wide); i++) {
		const bool is_byte = len && is_text(name, len, x86_wide[i][1]);

		if (!is_byte && !is_text(name + has_width, len - has_width, x86_wide[i][0]))
			continue;
		snprintf(kernel_name, 8, "%s", x86_wide[i][0]);
		return is_byte ? 1 : name[0] == 'e' ? 4 : 8;
	}
	return 0;
}

/* Parse an index of one or two digits from `least` to `most`; -1: not an index. */
static int take_index(const char *digits, size_t len, unsigned least, unsigned most)
{
	struct wmk_scan scan = { digits, digits + len };
	uint64_t index;

	if (len > 2 || (len == 2 && digits[0] == '0') || !wmk_scan_number(&scan, 10, most, &index) ||
	    scan.at != scan.end)
		return -1;
	return index < least ? -1 : (int)index;
}

/* r8 r8d r8w r8b ... r15b */
static unsigned find_x86_numbered(const char *name, size_t len, char kernel_name[8])
{
	unsigned size = 8;
	int index;

	if (len < 2 || name[0] != 'r')
		return 0;
	switch (name[len - 1]) {
	case 'd': size = 4; len--; break;
	case 'w': size = 2; len--; break;
	case 'b': size = 1; len--; break;
	default: break;
	}
	index = take_index(name + 1, len - 1, 8, 15);
	if (index < 0)
		return 0;
	snprintf(kernel_name, 8, "r%u", (unsigned)index % 100);
	return size;
}

static unsigned find_arm_numbered(const char *name, size_t len, char kernel_name[8])
{
	const int index = len > 1 && (name[0] == 'x' || name[0] == 'w') ? take_index(name + 1, len - 1, 0, 30) : -1;

	if (index < 0)
		return 0;
	snprintf(kernel_name, 8, "x%u", (unsigned)index % 100);
	return name[0] == 'x' ? 8 : 4;
}

unsigned wmk_register_find(unsigned machine, const char *name, size_t len, char kernel_name[8])
{
	unsigned size;

	if (machine == EM_AARCH64) {
		size = find_name(arm_names, WMK_ARRAY_LEN(arm_names), name, len, kernel_name);
		return size ? size : find_arm_numbered(name, len, kernel_name);
	}
	if (machine != EM_X86_64 && machine != EM_386)
		return 0;
	size = find_x86_wide(name, len, kernel_name);
	if (!size)
		size = find_name(x86_names, WMK_ARRAY_LEN(x86_names), name, len, kernel_name);
	return size || machine == EM_386 ? size : find_x86_numbered(name, len, kernel_name);
}

const char *wmk_register_of_argument(unsigned machine, unsigned n)
{
	static const char *const x86[] = { "di", "si", "dx", "cx", "r8", "r9" };
	static const char *const arm[] = { "x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7" };

	if (machine == EM_X86_64 && n >= 1 && n <= WMK_ARRAY_LEN(x86))
		return x86[n - 1];
	return machine == EM_AARCH64 && n >= 1 && n <= WMK_ARRAY_LEN(arm) ? arm[n - 1] : NULL;
}
