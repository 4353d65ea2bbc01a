/* SPDX-License-Identifier: MIT */
/*
 * test_sdt.c - arguments of SDT notes, as compilers write them for three machines, and invalid ones.
 */
#include <elf.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "kernel/probe/sdt.h"

/* "s32 di", "u64 bp-24", "s8 =5", "u32 counter+4", "? why" */
static void show(const struct wmk_sdt_arg *arg, char text[256])
{
	switch (arg->kind) {
	case WMK_SDT_REGISTER:
		snprintf(text, 256, "%s %s", arg->type, arg->base);
		break;
	case WMK_SDT_MEMORY:
		snprintf(text, 256, "%s %s%+" PRId64, arg->type, arg->base, arg->number);
		break;
	case WMK_SDT_CONSTANT:
		snprintf(text, 256, "%s =%" PRId64, arg->type, arg->number);
		break;
	case WMK_SDT_VARIABLE:
		snprintf(text, 256, "%s %s%+" PRId64, arg->type, arg->symbol, arg->number);
		break;
	default:
		snprintf(text, 256, "? %s", arg->why);
	}
}

/* One argument, alone and as the second of three. */
static void check(unsigned machine, const char *operand, const char *expected)
{
	struct wmk_sdt_arg args[WMK_SDT_ARGS_MAX];
	char text[256], three[512];

	assert_int_equal(wmk_sdt_args(machine, operand, args), 1);
	show(&args[0], text);
	if (strcmp(text, expected) != 0)
		fail_msg("%s: %s, not %s", operand, text, expected);
	snprintf(three, sizeof(three), " 1@%s %s\t-1@%s ", machine == EM_AARCH64 ? "x0" : "%al", operand,
		 machine == EM_AARCH64 ? "x1" : "%bl");
	assert_int_equal(wmk_sdt_args(machine, three, args), 3);
	show(&args[1], text);
	assert_string_equal(text, expected);
	show(&args[2], text);
	assert_string_equal(text, machine == EM_AARCH64 ? "s8 x1" : "s8 bx");
}

static void x86_sdt_operands_are_parsed_into_registers_and_types(void **state)
{
	static const char *const cases[][2] = {
		{ "8@%rdi", "u64 di" },
		{ "-4@%edi", "s32 di" },
		{ "-2@%di", "s16 di" },
		{ "1@%dil", "u8 di" },
		{ "-1@%al", "s8 ax" },
		{ "4@%r10d", "u32 r10" },
		{ "-2@%r8w", "s16 r8" },
		{ "1@%r15b", "u8 r15" },
		{ "8@%r9", "u64 r9" },
		{ "8@%rbp", "u64 bp" },
		{ "8@%rsp", "u64 sp" },
		{ "-4@$5", "s32 =5" },
		{ "4@$-3", "u32 =-3" },
		{ "8@$0x10", "u64 =16" },
		{ "8@$18446744073709551615", "u64 =-1" },
		{ "-8@$-9223372036854775808", "s64 =-9223372036854775808" },
		{ "-4@-20(%rbp)", "s32 bp-20" },
		{ "8@(%rax)", "u64 ax+0" },
		{ "8@24(%rsp)", "u64 sp+24" },
		{ "8@0x18(%rsp)", "u64 sp+24" },
		{ "8@-0(%rsp)", "u64 sp+0" },
		{ "4@4+8(%rsp)", "u32 sp+12" },
		{ "4@counter(%rip)", "u32 counter+0" },
		{ "-4@counter+8(%rip)", "s32 counter+8" },
		{ "-4@8+counter(%rip)", "s32 counter+8" },
		{ "-4@counter-8(%rip)", "s32 counter-8" },
		{ "4@counter.0(%rip)", "u32 counter.0+0" },
		{ "4@counter", "u32 counter+0" },
		{ "4@counter+4", "u32 counter+4" },
		{ "%rdi", "u64 di" },
		{ "@%rdi", "u64 di" },
		{ "8@(%rax,%rbx,4)", "? the kernel cannot fetch from base plus index" },
		{ "8@8(,%rbx,4)", "? its operand is not supported" },
		{ "4@table(,%rax,4)", "? its operand is not supported" },
		{ "4@table(%rax)", "? the kernel cannot fetch from a symbol plus register" },
		{ "8f@%xmm0", "? it is a floating-point number" },
		{ "8@%xmm0", "? the kernel cannot fetch its register" },
		{ "1@%ah", "? the kernel cannot fetch its register" },
		{ "8@%fs:-4", "? the kernel cannot fetch its register" },
		{ "8@%fs:here@tpoff", "? the kernel cannot fetch its register" },
		{ "8@$counter", "? it is the address of a symbol" },
		{ "8@8(%rip)", "? the kernel cannot fetch from a symbol plus register" },
		{ "8@4096", "? it is at a fixed address" },
		{ "8@here@GOTPCREL(%rip)", "? its operand is not supported" },
		{ "16@%rdi", "? its size is not 1, 2, 4 or 8 bytes" },
		{ "3@%rdi", "? its size is not 1, 2, 4 or 8 bytes" },
		{ "8@", "? its operand is not supported" },
		{ "-@%rdi", "? its size is not valid" },
		{ "8x@%rdi", "? its size is not valid" },
		{ "8@(%rax", "? the kernel cannot fetch from base plus index" },
		{ "8@%", "? the kernel cannot fetch its register" },
		{ "8@$", "? it is the address of a symbol" },
		{ "8@99999999999999999999(%rax)", "? its operand is not supported" },
		{ "8@9223372036854775807+1(%rax)", "? its operand is not supported" },
		{ "8@a+b(%rip)", "? its operand is not supported" },
		{ "8@%r16", "? the kernel cannot fetch its register" },
		{ "8@%r08", "? the kernel cannot fetch its register" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (strcmp(cases[i][0], "8@(%rax") != 0)      /* an open bracket extends over the next arguments */
			check(EM_X86_64, cases[i][0], cases[i][1]);
}

static void i386_sdt_operands_are_parsed_into_registers_and_types(void **state)
{
	(void)state;
	check(EM_386, "-4@%eax", "s32 ax");
	check(EM_386, "4@8(%ebp)", "u32 bp+8");
	check(EM_386, "4@counter", "u32 counter+0");
	check(EM_386, "%eax", "u32 ax");
	check(EM_386, "4@%r8", "? the kernel cannot fetch its register");
}

static void aarch64_sdt_operands_are_parsed_into_registers_and_types(void **state)
{
	static const char *const cases[][2] = {
		{ "8@x0", "u64 x0" },
		{ "-4@w1", "s32 x1" },
		{ "8@x30", "u64 x30" },
		{ "8@sp", "u64 sp" },
		{ "-4@5", "s32 =5" },
		{ "-4@-5", "s32 =-5" },
		{ "-4@#5", "s32 =5" },
		{ "4@wzr", "u32 =0" },
		{ "8@xzr", "u64 =0" },
		{ "-4@[sp, 12]", "s32 sp+12" },
		{ "-4@[sp,12]", "s32 sp+12" },
		{ "-4@[sp, #12]", "s32 sp+12" },
		{ "8@[x0]", "u64 x0+0" },
		{ "8@[x29, -16]", "u64 x29-16" },
		{ "8@[x0, x1]", "? the kernel cannot fetch from base plus index" },
		{ "8@[x0, :lo12:counter]", "? its offset is a symbol that only the linker resolves" },
		{ "8@d0", "? its operand is not supported" },
		{ "8@x31", "? its operand is not supported" },
		{ "8@counter", "? its operand is not supported" },
		{ "8@[x0, 8]!", "? its operand is not supported" },
		{ "8@[q0]", "? its operand is not supported" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		check(EM_AARCH64, cases[i][0], cases[i][1]);
}

static void malformed_sdt_argument_list_gives_limited_arguments(void **state)
{
	struct wmk_sdt_arg args[WMK_SDT_ARGS_MAX];

	(void)state;
	assert_int_equal(wmk_sdt_args(EM_X86_64, "", args), 0);
	assert_int_equal(wmk_sdt_args(EM_X86_64, "   ", args), 0);
	assert_int_equal(wmk_sdt_args(EM_X86_64, "8@(%rax", args), 1);
	assert_int_equal(args[0].kind, WMK_SDT_UNREADABLE);
	assert_int_equal(wmk_sdt_args(EM_X86_64, "8@(%rax 8@%rbx", args), 1);
	assert_int_equal(wmk_sdt_args(EM_X86_64, "a a a a a a a a a a a a a a a a a a a a a", args), WMK_SDT_ARGS_MAX);
	assert_int_equal(wmk_sdt_args(EM_ARM, "4@r0", args), 1);
	/* parsed as a symbol r0; programs of this machine cannot be probed */
	assert_int_equal(args[0].kind, WMK_SDT_VARIABLE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(x86_sdt_operands_are_parsed_into_registers_and_types),
		cmocka_unit_test(i386_sdt_operands_are_parsed_into_registers_and_types),
		cmocka_unit_test(aarch64_sdt_operands_are_parsed_into_registers_and_types),
		cmocka_unit_test(malformed_sdt_argument_list_gives_limited_arguments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
