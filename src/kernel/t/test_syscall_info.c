/* SPDX-License-Identifier: MIT */
/*
 * test_syscall_info.c - tables of system calls, copy plans, messages about missing features, and conversion of times:
 * all without the kernel.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include <cmocka.h>

#include "base/error.h"
#include "kernel/syscall/syscall_bpf.h"
#include "kernel/syscall/syscall_fields.h"
#include "kernel/syscall/syscall_table.h"

static const struct wmk_syscalls_limits limits = { .text = 256, .bytes = 64 };

static struct wmk_syscall describe(enum wmk_kabi abi, const char *name)
{
	struct wmk_syscall call;
	const int number = wmk_syscall_find(abi, name);

	assert_true(number >= 0);
	assert_int_equal(wmk_syscall_describe(abi, (unsigned)number, &call), 0);
	assert_int_equal(call.number, number);
	return call;
}

static void syscall_is_found_by_name_number_or_tracer_name(void **state)
{
	char words[256];

	(void)state;
	assert_int_equal(wmk_syscall_find(WMK_KABI_NATIVE, "openat"), SYS_openat);
	assert_int_equal(wmk_syscall_find(WMK_KABI_NATIVE, "futex"), SYS_futex);
	assert_string_equal(wmk_syscall_name(WMK_KABI_NATIVE, SYS_write), "write");
	assert_null(wmk_syscall_name(WMK_KABI_NATIVE, 511));
	assert_null(wmk_syscall_name(WMK_KABI_NATIVE, UINT32_MAX));
	/* By the name of the kernel's tracer. */
	assert_int_equal(wmk_syscall_find(WMK_KABI_NATIVE, "newfstat"), SYS_fstat);
	assert_string_equal(describe(WMK_KABI_NATIVE, "fstat").event, "newfstat");
	assert_int_equal(wmk_syscall_find(WMK_KABI_NATIVE, "opennat"), -ENOENT);
	assert_non_null(strstr(wmk_error_text(words, sizeof(words)), "openat"));
#ifdef __x86_64__
	assert_int_equal(wmk_syscall_find(WMK_KABI_COMPAT, "open"), 5);
	assert_int_equal(wmk_syscall_find(WMK_KABI_COMPAT, "execve"), 11);
	assert_string_equal(wmk_syscall_name(WMK_KABI_COMPAT, 102), "socketcall");
#endif
}

/*
 * Every row can be parsed, belongs to an existing system call, and is unique; names of arguments are unique; no plan
 * exceeds its limits.
 */
static void syscall_argument_table_has_unique_rows_of_known_calls(void **state)
{
	(void)state;
	for (unsigned i = 0; i < wmk_syscall_rows_n; i++) {
		const char *row = wmk_syscall_rows[i];
		const enum wmk_kabi abi = *row == '*' ? WMK_KABI_COMPAT : WMK_KABI_NATIVE;
		const char *begin = row + (abi == WMK_KABI_COMPAT);
		struct wmk_kitem items[WMK_KITEMS];
		char name[64];
		struct wmk_syscall call;

		snprintf(name, sizeof(name), "%.*s", (int)strcspn(begin, "("), begin);
		for (unsigned j = 0; j < i; j++)
			assert_int_not_equal(strncmp(wmk_syscall_rows[j], row, strcspn(row, "(") + 1), 0);
#ifndef __x86_64__
		/* Other machines lack calls that newer ones have replaced, and 32-bit calls. */
		if (wmk_syscall_find(abi, name) < 0)
			continue;
#endif
		call = describe(abi, name);
		if (!call.is_known)
			fail_msg("the row '%s' is invalid", row);
		for (unsigned a = 0; a < call.n_args; a++)
			for (unsigned b = 0; b < a; b++)
				assert_string_not_equal(call.args[a].name, call.args[b].name);
		for (unsigned is_exit = 0; is_exit < 2; is_exit++) {
			const unsigned n = wmk_syscall_items(&call, is_exit, items);
			unsigned pointed = 0;

			for (unsigned k = 0; k < n; k++)
				pointed += wmk_kshow_is_pointed((enum wmk_kshow)items[k].show);
			assert_true(pointed <= WMK_SYSCALLS_PARTS);
			assert_int_equal(pointed > 0, n && items[n - 1].show == WMK_KSHOW_POINTERS);
		}
	}
}

static void syscall_arguments_have_name_kind_and_length_argument(void **state)
{
	struct wmk_syscall call = describe(WMK_KABI_NATIVE, "openat");

	(void)state;
	assert_true(call.is_known);
	assert_int_equal(call.n_args, 4);
	assert_string_equal(call.args[1].name, "filename");
	assert_int_equal(call.args[1].kind, WMK_KKIND_PATH);
	assert_int_equal(call.args[2].kind, WMK_KKIND_SET);
	assert_int_equal(call.args[2].set, WMK_KSET_OPEN);
	assert_int_equal(call.ret, WMK_KKIND_FD);
	call = describe(WMK_KABI_NATIVE, "sendto");
	assert_int_equal(call.args[1].kind, WMK_KKIND_BYTES_IN);
	assert_int_equal(call.args[1].len_arg, 2);
	assert_int_equal(call.args[4].len_arg, 5);
	assert_int_equal(describe(WMK_KABI_NATIVE, "getppid").n_args, 0);
	/* A system call that is not in the table. */
	call = describe(WMK_KABI_NATIVE, "kexec_load");
	assert_false(call.is_known);
	assert_int_equal(call.n_args, 6);
	assert_string_equal(call.args[5].name, "arg5");
	assert_int_equal(wmk_syscall_describe(WMK_KABI_NATIVE, 511, &call), -ENOENT);
	assert_string_equal(call.event, "unknown");
#ifdef __x86_64__
	/* The 32-bit system calls of these names have other arguments, or none. */
	assert_string_equal(describe(WMK_KABI_COMPAT, "clone").args[3].name, "tls");
	assert_string_equal(describe(WMK_KABI_NATIVE, "clone").args[3].name, "child_tidptr");
	assert_int_equal(describe(WMK_KABI_COMPAT, "mmap").n_args, 1);
#else
	assert_string_equal(describe(WMK_KABI_NATIVE, "clone").args[3].name, "tls");
	assert_string_equal(describe(WMK_KABI_NATIVE, "clone").args[4].name, "child_tidptr");
#endif
}

static const char *const format_text =
	"name: sys_enter_acct\nID: 1\nformat:\n"
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\tfield:unsigned char "
	"common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n\tfield:int "
	"common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
	"\tfield:int __syscall_nr;\toffset:8;\tsize:4;\tsigned:1;\n\tfield:const char * "
	"name;\toffset:16;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned int flags;\toffset:24;\tsize:8;\tsigned:0;\n\tfield:struct stat * "
	"statbuf;\toffset:32;\tsize:8;\tsigned:0;\n"
	"\tfield:pid_t pid;\toffset:40;\tsize:8;\tsigned:0;\n\nprint fmt: \"name: 0x%08lx\", ((unsigned "
	"long)(REC->name))\n";

static void syscall_missing_in_the_table_takes_arguments_from_its_format(void **state)
{
	struct wmk_syscall call = describe(WMK_KABI_NATIVE, "acct"), open = describe(WMK_KABI_NATIVE, "openat"),
			   before = open;
	struct wmk_kformat *format;
	struct wmk_syscalls_plan plan;

	(void)state;
	assert_false(call.is_known);
	assert_int_equal(wmk_kformat_parse("syscalls", format_text, strlen(format_text), &format), 0);
	wmk_syscall_refine(&call, format);
	assert_true(call.is_known);
	assert_int_equal(call.n_args, 4);
	assert_string_equal(call.args[0].name, "name");
	assert_int_equal(call.args[0].kind, WMK_KKIND_PATH);
	assert_int_equal(call.args[1].kind, WMK_KKIND_UINT);
	assert_int_equal(call.args[2].kind, WMK_KKIND_POINTER);
	assert_int_equal(call.args[3].kind, WMK_KKIND_PID);
	wmk_syscall_plan(&call, &limits, &plan);
	assert_int_equal(plan.at_entry[0].op, WMK_SYSCALLS_TEXT);
	assert_int_equal(plan.at_entry[1].op, WMK_SYSCALLS_NOTHING);
	/* The table takes precedence. */
	wmk_syscall_refine(&open, format);
	assert_memory_equal(&open, &before, sizeof(open));
	free(format);
}

static void syscall_copy_plans_obey_limits_of_text_and_byte_lengths(void **state)
{
	const struct wmk_syscalls_limits vast = { .text = UINT32_MAX, .bytes = UINT32_MAX };
	struct wmk_syscalls_plan plan;
	struct wmk_syscall call = describe(WMK_KABI_NATIVE, "sendto");

	(void)state;
	wmk_syscall_plan(&call, &limits, &plan);
	assert_int_equal(plan.at_entry[0].op, WMK_SYSCALLS_BYTES);
	assert_int_equal(plan.at_entry[0].len_arg, 2);
	assert_int_equal(plan.at_entry[0].max, 64);
	assert_int_equal(plan.at_entry[1].op, WMK_SYSCALLS_BYTES);
	assert_int_equal(plan.at_entry[1].arg, 4);
	assert_int_equal(plan.at_entry[1].max, WMK_SYSCALLS_ADDRESS_MAX);
	assert_int_equal(plan.at_exit[0].op, WMK_SYSCALLS_NOTHING);
	call = describe(WMK_KABI_NATIVE, "recvfrom");
	wmk_syscall_plan(&call, &vast, &plan);
	assert_int_equal(plan.at_entry[0].op, WMK_SYSCALLS_NOTHING);
	assert_int_equal(plan.at_exit[0].op, WMK_SYSCALLS_RETURNED);
	assert_int_equal(plan.at_exit[0].max, WMK_SYSCALLS_PART_MAX);
	assert_int_equal(plan.at_exit[1].op, WMK_SYSCALLS_LENGTH_AT);
	call = describe(WMK_KABI_NATIVE, "execve");
	wmk_syscall_plan(&call, &vast, &plan);
	assert_int_equal(plan.at_entry[0].max, WMK_SYSCALLS_PART_MAX);
	assert_int_equal(plan.at_entry[0].is_late, 0);
	assert_int_equal(plan.at_entry[1].op, WMK_SYSCALLS_TEXTS);
	assert_int_equal(plan.at_entry[1].max, WMK_SYSCALLS_STRING_MAX);
	call = describe(WMK_KABI_NATIVE, "openat");
	wmk_syscall_plan(&call, &vast, &plan);
	assert_int_equal(plan.at_entry[0].is_late, 1);
}

static void labels_of_syscall_arguments_are_unique_and_fit_into_32_bits(void **state)
{
	unsigned n;
	bool is_flags;

	(void)state;
	assert_string_equal(wmk_syscall_errno(ENOENT), "ENOENT");
	assert_string_equal(wmk_syscall_errno(EHWPOISON), "EHWPOISON");
	assert_null(wmk_syscall_errno(0));
	assert_null(wmk_syscall_errno(4095));
	for (unsigned set = 0; set < WMK_KSETS; set++) {
		const struct wmk_label *labels = wmk_kset_labels((enum wmk_kset)set, &n, &is_flags);

		assert_true(labels && n > 1);
		for (unsigned i = 0; i < n; i++) {
			/* The values fit into the 32 bits of a record; a flag has at least one bit. */
			assert_true(labels[i].from >= !!is_flags && labels[i].to <= UINT32_MAX &&
				    labels[i].from <= labels[i].to);
			for (unsigned j = 0; j < i; j++)
				assert_string_not_equal(labels[i].name, labels[j].name);
		}
	}
}

static void assert_words(int err, struct wmk_syscalls_facts facts, int is, const char *words)
{
	char text[512];

	assert_int_equal(wmk_syscalls_refused(err, &facts), is);
	if (!strstr(wmk_error_text(text, sizeof(text)), words))
		fail_msg("'%s' does not contain '%s'", text, words);
}

static void missing_bpf_feature_is_reported_as_the_cause(void **state)
{
	const struct wmk_syscalls_facts good = { .is_root = true,
						 .has_btf = true,
						 .has_ringbuf = true,
						 .lockdown = "[none] integrity confidentiality\n",
						 .log = "" };
	struct wmk_syscalls_facts facts = good;

	(void)state;
	facts.is_root = false;
	assert_words(-EPERM, facts, -EPERM, "needs root");
	facts = good;
	facts.lockdown = "none integrity [confidentiality]\n";
	assert_words(-EPERM, facts, -EPERM, "locked down");
	assert_words(-EPERM, good, -EPERM, "even to root");
	assert_words(-ENOSYS, good, -ENOTSUP, "CONFIG_BPF_SYSCALL");
	facts = good;
	facts.has_btf = false;
	assert_words(-EINVAL, facts, -ENOTSUP, "CONFIG_DEBUG_INFO_BTF");
	facts = good;
	facts.has_ringbuf = false;
	assert_words(-EINVAL, facts, -ENOTSUP, "Linux 5.8");
	facts = good;
	facts.log = "libbpf: prog 'a': BPF program load failed\nlibbpf: -- BEGIN\n12: (79) r3 = *(u64 *)(r4 +0)\nR4 "
		    "unbounded memory access\nprocessed 28 insns\n";
	assert_words(-EACCES, facts, -EACCES, "verifier rejects the BPF program: R4 unbounded memory access");
	assert_words(-ENOSPC, good, -ENOSPC, "cannot load");
}

/* A counter with 2.5 GHz and later a little more; mono is in nanoseconds. */
static uint64_t counter_at(uint64_t mono)
{
	return mono < 5000000 ? 1000 + mono * 5 / 2 : 1000 + 5000000 * 5 / 2 + (mono - 5000000) * 5001 / 2000;
}

static void times_mapped_to_the_counter_are_within_the_stated_error(void **state)
{
	struct wmk_kclock *clock = calloc(1, sizeof(*clock));
	uint64_t last = 0, other = 0;

	(void)state;
	wmk_kclock_init(clock, WMK_CLOCK_MONOTONIC);
	assert_int_equal(wmk_kclock_map(clock, 77, &last), 77);
	*clock = (struct wmk_kclock){ .kind = WMK_CLOCK_COUNTER };
	/* Far more pairs than the limit. */
	for (uint64_t mono = 1000; mono < 10000000; mono += 1000)
		wmk_kclock_add(clock, &(const struct wmk_kclock_pair){ .mono = mono,
								       .value = counter_at(mono),
								       .width = mono % 7000 ? 50 : 60 });
	assert_true(clock->n <= WMK_KCLOCK_PAIRS);
	assert_int_equal(clock->taken, 9999);
	assert_true(wmk_kclock_error(clock) > 30 && wmk_kclock_error(clock) <= 100);
	last = 0;
	for (uint64_t mono = 1000; mono < 9999000; mono += 777) {
		const uint64_t before = last, value = wmk_kclock_map(clock, mono, &last), true_one = counter_at(mono);

		assert_true(value >= before);
		/* The pairs are exact: the only error is that of dropped pairs, which is reported. */
		assert_true((value > true_one ? value - true_one : true_one - value) <=
			    clock->bent + clock->thinned + 1);
	}
	/* Streams are independent; none goes back. */
	assert_true(wmk_kclock_map(clock, 5000, &other) < last);
	assert_int_equal(wmk_kclock_map(clock, 4000, &other), other);
	/* A pair that goes back in one of the clocks is dropped. */
	other = clock->taken;
	wmk_kclock_add(clock, &(const struct wmk_kclock_pair){ .mono = 20000000, .value = 5 });
	wmk_kclock_add(clock, &(const struct wmk_kclock_pair){ .mono = 5, .value = UINT64_MAX });
	assert_int_equal(clock->taken, other);
	/* Large values do not overflow. */
	*clock = (struct wmk_kclock){ .kind = WMK_CLOCK_COUNTER };
	wmk_kclock_add(clock, &(const struct wmk_kclock_pair){ .mono = 1ull << 60, .value = 1ull << 61 });
	wmk_kclock_add(clock, &(const struct wmk_kclock_pair){ .mono = 3ull << 60, .value = 5ull << 61 });
	last = 0;
	assert_int_equal(wmk_kclock_map(clock, 2ull << 60, &last), 3ull << 61);
	free(clock);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(syscall_is_found_by_name_number_or_tracer_name),
		cmocka_unit_test(syscall_argument_table_has_unique_rows_of_known_calls),
		cmocka_unit_test(syscall_arguments_have_name_kind_and_length_argument),
		cmocka_unit_test(syscall_missing_in_the_table_takes_arguments_from_its_format),
		cmocka_unit_test(syscall_copy_plans_obey_limits_of_text_and_byte_lengths),
		cmocka_unit_test(labels_of_syscall_arguments_are_unique_and_fit_into_32_bits),
		cmocka_unit_test(missing_bpf_feature_is_reported_as_the_cause),
		cmocka_unit_test(times_mapped_to_the_counter_are_within_the_stated_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
