/* SPDX-License-Identifier: MIT */
/*
 * test_probe.c - kernel probes: the lines for tracefs, the column of syntax errors, and the messages after the kernel
 * refuses. Symbols and types are in files of the test, and the functions of tracefs are replaced here, so nothing
 * depends on the kernel of this machine.
 */
#include <bpf/btf.h>
#include <elf.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "kernel/probe/probe.h"
#include "kernel/tracefs/tracefs.h"

static char folder[64], kallsyms[96];

/* ── a tracefs with one file ─────────────────────────────────────────────────────────────────────────── */

static struct {
	char events[8192];
	const char *missing;         /* a file that does not exist */
	int refuse_at, refuse_with;  /* the n-th write from now fails with this error */
	const char *message;
} fake;

int wmk_tracefs_read(int dir, const char *file, char **text, size_t *len)
{
	(void)dir;
	assert_string_equal(file, "dynamic_events");
	*text = strdup(fake.events);
	*len = strlen(fake.events);
	return *text ? 0 : -ENOMEM;
}

static void drop_lines(const char *name)
{
	char *line = fake.events;

	while (*line) {
		const size_t len = strcspn(line, "\n") + 1, begin = strcspn(line, ":") + 1,
			     word = strcspn(line + begin, " ");

		if (word == strlen(name) && memcmp(line + begin, name, word) == 0)
			memmove(line, line + len, strlen(line + len) + 1);
		else
			line += len;
	}
}

int wmk_tracefs_write(int dir, const char *file, const char *text, bool append)
{
	const size_t len = strlen(fake.events);

	(void)dir;
	assert_string_equal(file, "dynamic_events");
	assert_true(append);
	if (fake.refuse_at && --fake.refuse_at == 0)
		return wmk_error(fake.refuse_with, "cannot write");
	if (text[0] == '-')
		drop_lines(text + 2);
	else
		snprintf(fake.events + len, sizeof(fake.events) - len, "%s\n", text);
	return 0;
}

bool wmk_tracefs_has(int dir, const char *file)
{
	(void)dir;
	return !fake.missing || strcmp(fake.missing, file) != 0;
}

void wmk_tracefs_last_error(int dir, char *words, size_t size)
{
	(void)dir;
	snprintf(words, size, "%s", fake.message ? fake.message : "");
}

/* ── a kernel with a few functions ───────────────────────────────────────────────────────────────────── */

static const char symbols[] =
	"ffffffff81000000 T do_sys_openat2\n"
	"ffffffff81000100 t vfs_read\n"
	"ffffffff81000180 t __pfx_vfs_raed\n"
	"ffffffff81000200 T kfree.part.0\n"
	"ffffffff81000300 D jiffies\n"
	"ffffffff81000400 T no_result\n"
	"ffffffff81000500 T by_value\n"
	"broken\n"
	"ffffffffc0000000 t shop_open\t[shop]\n";

static void write_file(const char *path, const void *bytes, size_t len)
{
	FILE *out = fopen(path, "w");

	assert_non_null(out);
	assert_int_equal(fwrite(bytes, 1, len, out), len);
	assert_int_equal(fclose(out), 0);
}

/* ssize_t vfs_read(struct file *file, char *buf, size_t count, bool again), and others */
static void write_btf(void)
{
	struct btf *btf = btf__new_empty();
	const int s32 = btf__add_int(btf, "int", 4, BTF_INT_SIGNED), u64 = btf__add_int(btf, "unsigned long", 8, 0);
	const int s64 = btf__add_int(btf, "long", 8, BTF_INT_SIGNED), u8 = btf__add_int(btf, "_Bool", 1, BTF_INT_BOOL);
	const int wide = btf__add_int(btf, "__int128", 16, 0), text = btf__add_ptr(btf, btf__add_const(btf, u8));
	const int size = btf__add_typedef(btf, "size_t", u64), pair = btf__add_struct(btf, "pair", 16);
	int proto = btf__add_func_proto(btf, s64);
	char path[128];
	const void *raw;
	__u32 len;

	btf__add_func_param(btf, "file", text);
	btf__add_func_param(btf, "buf", text);
	btf__add_func_param(btf, "count", size);
	btf__add_func_param(btf, "again", u8);
	assert_true(btf__add_func(btf, "vfs_read", BTF_FUNC_GLOBAL, proto) > 0);
	proto = btf__add_func_proto(btf, s32);
	btf__add_func_param(btf, "dfd", s32);
	btf__add_func_param(btf, "filename", text);
	btf__add_func(btf, "do_sys_openat2", BTF_FUNC_GLOBAL, proto);
	proto = btf__add_func_proto(btf, 0);
	btf__add_func_param(btf, "first", s32);
	btf__add_func(btf, "no_result", BTF_FUNC_GLOBAL, proto);
	proto = btf__add_func_proto(btf, wide);
	btf__add_func_param(btf, "first", s32);
	btf__add_func_param(btf, "both", pair);
	btf__add_func_param(btf, "last", s32);
	btf__add_func(btf, "by_value", BTF_FUNC_GLOBAL, proto);
	raw = btf__raw_data(btf, &len);
	snprintf(path, sizeof(path), "%s/vmlinux", folder);
	write_file(path, raw, len);
	btf__free(btf);
}

static int set_up(void **state)
{
	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/waymark-probe-XXXXXX");
	assert_non_null(mkdtemp(folder));
	snprintf(kallsyms, sizeof(kallsyms), "%s/kallsyms", folder);
	write_file(kallsyms, symbols, sizeof(symbols) - 1);
	write_btf();
	return 0;
}

static int tear_down(void **state)
{
	char path[128];

	(void)state;
	unlink(kallsyms);
	snprintf(path, sizeof(path), "%s/vmlinux", folder);
	unlink(path);
	return rmdir(folder);
}

static int make_on(unsigned machine, enum wmk_probe_kind kind, const char *typed, const char *name,
		   struct wmk_probe **probe)
{
	const struct wmk_probe_options options = {
		.group = "waymark_t", .name = name, .machine = machine, .kallsyms = kallsyms, .btf = folder
	};

	return wmk_probe_make(kind, typed, &options, probe);
}

static struct wmk_probe *made(enum wmk_probe_kind kind, const char *typed, const char *name)
{
	struct wmk_probe *probe;
	char text[1024];

	if (make_on(EM_X86_64, kind, typed, name, &probe) < 0)
		fail_msg("%s: %s", typed, wmk_error_text(text, sizeof(text)));
	return probe;
}

/* Compare all lines, each with a newline. */
static void check_lines(unsigned machine, enum wmk_probe_kind kind, const char *typed, const char *expected)
{
	char lines[8192] = "", line[WMK_PROBE_LINE_MAX], text[1024];
	struct wmk_probe *probe;

	if (make_on(machine, kind, typed, NULL, &probe) < 0)
		fail_msg("%s: %s", typed, wmk_error_text(text, sizeof(text)));
	for (uint32_t i = 0; i < probe->n_events; i++)
		for (uint32_t j = 0; j < probe->events[i].n_places; j++)
			strcat(strcat(lines, wmk_probe_line(probe, &probe->events[i], j, line)), "\n");
	assert_string_equal(lines, expected);
	wmk_probe_free(probe);
}

static void check_wrong(enum wmk_probe_kind kind, const char *typed, int err, const char *words)
{
	struct wmk_probe *probe = NULL;
	char text[1024];
	const int got = make_on(EM_X86_64, kind, typed, NULL, &probe);

	if (got >= 0)
		fail_msg("%s is accepted", typed);
	wmk_error_text(text, sizeof(text));
	if (got != err || !strstr(text, words))
		fail_msg("%s: %d: %s", typed, got, text);
}

/* ── lines ───────────────────────────────────────────────────────────────────────────────────────────── */

static void probe_places_are_converted_to_kprobe_definitions(void **state)
{
	(void)state;
	check_lines(EM_X86_64, WMK_PROBE_KERNEL, "vfs_read", "p:waymark_t/vfs_read vfs_read\n");
	check_lines(EM_X86_64, WMK_PROBE_KERNEL, " vfs_read+0x10 ", "p:waymark_t/vfs_read_0x10 vfs_read+16\n");
	check_lines(EM_X86_64, WMK_PROBE_KERNEL, "0xffffffff81000100",
		    "p:waymark_t/at_0xffffffff81000100 0xffffffff81000100\n");
	check_lines(EM_X86_64, WMK_PROBE_KERNEL, "shop:shop_open", "p:waymark_t/shop_open shop:shop_open\n");
	check_lines(EM_X86_64, WMK_PROBE_KERNEL, "kfree.part.0()", "p:waymark_t/kfree_part_0 kfree.part.0\n");
	check_lines(EM_X86_64, WMK_PROBE_KERNEL_RETURN, "shop_open()", "r:waymark_t/shop_open_return shop_open\n");
}

static void probe_arguments_are_converted_to_fetch_arguments(void **state)
{
	(void)state;
	check_lines(EM_X86_64, WMK_PROBE_KERNEL, "do_sys_openat2(dfd, filename:string, %si:x64, +8(%di):u32)",
		    "p:waymark_t/do_sys_openat2 do_sys_openat2 dfd=$arg1:s32 filename=+0($arg2):string si=%si:x64 "
		    "arg4=+8(%di):u32\n");
	check_lines(EM_X86_64, WMK_PROBE_KERNEL, "vfs_read ( buf , n = count:u32, again, pos=%rcx, %eax )",
		    "p:waymark_t/vfs_read vfs_read buf=$arg2:x64 n=$arg3:u32 again=$arg4:u8 pos=%cx:x64 eax=%ax:x32\n");
	check_lines(EM_X86_64, WMK_PROBE_KERNEL, "vfs_read($arg2:ustring, $comm, $stack, $stack2:u8, who=$comm:string)",
		    "p:waymark_t/vfs_read vfs_read arg2=+0($arg2):ustring comm=$comm:string arg3=$stack:x64 "
		    "arg4=$stack2:u8 who=$comm:string\n");
	check_lines(EM_X86_64, WMK_PROBE_KERNEL,
		    "vfs_read(buf:u8[16], @jiffies, @jiffies+4:u32, @0xff:string, +u8(-16(buf)):string, "
		    "f=file:b4@2/32)",
		    "p:waymark_t/vfs_read vfs_read buf=+0($arg2):u8[16] arg2=@jiffies+0:x64 arg3=@jiffies+4:u32 "
		    "arg4=@0xff:string arg5=+u8(-16($arg2)):string f=$arg1:b4@2/32\n");
	check_lines(EM_X86_64, WMK_PROBE_KERNEL, "vfs_read+4(%di:symbol, %r10d)",
		    "p:waymark_t/vfs_read_0x4 vfs_read+4 di=%di:symbol r10d=%r10:x32\n");
	check_lines(EM_AARCH64, WMK_PROBE_KERNEL, "vfs_read(%x1, %w2, %lr, %sp)",
		    "p:waymark_t/vfs_read vfs_read x1=%x1:x64 w2=%x2:x32 lr=%x30:x64 sp=%sp:x64\n");
	check_lines(EM_X86_64, WMK_PROBE_KERNEL, "by_value(first)", "p:waymark_t/by_value by_value first=$arg1:s32\n");
}

static void return_probes_record_the_return_value(void **state)
{
	(void)state;
	check_lines(EM_X86_64, WMK_PROBE_KERNEL_RETURN, "vfs_read",
		    "r:waymark_t/vfs_read_return vfs_read retval=$retval:s64\n");
	check_lines(EM_X86_64, WMK_PROBE_KERNEL_RETURN, "vfs_read($retval:x32, count)",
		    "r:waymark_t/vfs_read_return vfs_read retval=$retval:x32 count=$arg3:u64\n");
	check_lines(EM_X86_64, WMK_PROBE_KERNEL_RETURN, "no_result", "r:waymark_t/no_result_return no_result\n");
	check_lines(EM_X86_64, WMK_PROBE_KERNEL_RETURN, "kfree.part.0",
		    "r:waymark_t/kfree_part_0_return kfree.part.0 retval=$retval:x64\n");
	check_lines(EM_X86_64, WMK_PROBE_FUNCTION, "vfs_read",
		    "p:waymark_t/vfs_read_entry vfs_read\nr:waymark_t/vfs_read_exit vfs_read retval=$retval:s64\n");
	check_lines(EM_X86_64, WMK_PROBE_FUNCTION, "vfs_read(count, got=$retval)",
		    "p:waymark_t/vfs_read_entry vfs_read count=$arg3:u64\nr:waymark_t/vfs_read_exit vfs_read "
		    "got=$retval:s64\n");
	check_lines(EM_X86_64, WMK_PROBE_FUNCTION, "vfs_read(count)",
		    "p:waymark_t/vfs_read_entry vfs_read count=$arg3:u64\nr:waymark_t/vfs_read_exit vfs_read "
		    "retval=$retval:s64\n");
	check_lines(EM_X86_64, WMK_PROBE_FUNCTION, "vfs_read()",
		    "p:waymark_t/vfs_read_entry vfs_read\nr:waymark_t/vfs_read_exit vfs_read\n");
	check_lines(EM_X86_64, WMK_PROBE_FUNCTION, "no_result",
		    "p:waymark_t/no_result_entry no_result\nr:waymark_t/no_result_exit no_result\n");
}

static void probe_names_are_made_valid_and_cut_to_the_limit(void **state)
{
	struct wmk_probe *probe = made(WMK_PROBE_KERNEL, "vfs_read(n=count)", "9 lives: \xc3\xa4");

	(void)state;
	assert_string_equal(probe->events[0].name, "_9_lives____");
	assert_true(probe->is_named);
	assert_int_equal(probe->events[0].n_fields, 1);
	assert_string_equal(probe->events[0].fields[0].name, "n");
	assert_string_equal(probe->events[0].fields[0].type, "u64");
	wmk_probe_free(probe);
	probe = made(WMK_PROBE_KERNEL_RETURN, "vfs_read", "mine");
	assert_string_equal(probe->events[0].name, "mine");
	wmk_probe_free(probe);
	probe = made(WMK_PROBE_FUNCTION, "vfs_read",
		     "a_name_that_is_longer_than_the_kernel_lets_a_name_of_an_event_be");
	assert_string_equal(probe->events[0].name, "a_name_that_is_longer_than_the_kernel_lets_a_name__entry");
	assert_string_equal(probe->events[1].name, "a_name_that_is_longer_than_the_kernel_lets_a_name__exit");
	wmk_probe_free(probe);
}

/* ── errors ──────────────────────────────────────────────────────────────────────────────────────────── */

static void probe_syntax_errors_are_reported_with_their_column(void **state)
{
	(void)state;
	check_wrong(WMK_PROBE_KERNEL, "", -EINVAL, "column 1: a function or an address is missing at the end");
	check_wrong(WMK_PROBE_KERNEL, "vfs_read+", -EINVAL, "column 10: a number is missing");
	check_wrong(WMK_PROBE_KERNEL, "vfs_read+0xg", -EINVAL, "column 10:");
	check_wrong(WMK_PROBE_KERNEL, "vfs_read+99999999999", -EINVAL, "column 10: not a number, or too large");
	check_wrong(WMK_PROBE_KERNEL, "vfs_read vfs_write", -EINVAL, "column 10: '(' or the end, not 'vfs_write'");
	check_wrong(WMK_PROBE_KERNEL, "vfs_read(", -EINVAL, "column 10: a value");
	check_wrong(WMK_PROBE_KERNEL, "vfs_read(count", -EINVAL, "column 15: ',' or ')' is missing");
	check_wrong(WMK_PROBE_KERNEL, "vfs_read(count,)", -EINVAL, "column 16: a value");
	check_wrong(WMK_PROBE_KERNEL, "vfs_read(count:u33)", -EINVAL, "column 16: a type");
	check_wrong(WMK_PROBE_KERNEL, "vfs_read(count:u8[0])", -EINVAL, "column 16: an array has 1 to 64");
	check_wrong(WMK_PROBE_KERNEL, "vfs_read(count:u8[65])", -EINVAL, "column 19: not a number, or too large");
	check_wrong(WMK_PROBE_KERNEL, "vfs_read(count:b9@0/8)", -EINVAL, "column 16: the form of bits");
	check_wrong(WMK_PROBE_KERNEL, "vfs_read(count:b", -EINVAL, "column 16: a type");
	check_wrong(WMK_PROBE_KERNEL, "vfs_read(count:b3", -EINVAL, "column 16: the form of bits");
	check_wrong(WMK_PROBE_KERNEL, "vfs_read(%xyz)", -EINVAL, "column 10: this machine has no register %xyz");
	check_wrong(WMK_PROBE_KERNEL, "vfs_read(%x1)", -EINVAL, "%ax %bx");
	check_wrong(WMK_PROBE_KERNEL, "vfs_read($cmm)", -EINVAL, "column 10: $comm, $retval");
	check_wrong(WMK_PROBE_KERNEL, "vfs_read($arg0)", -EINVAL, "column 10:");
	check_wrong(WMK_PROBE_KERNEL, "vfs_read($comm:u8)", -EINVAL, "$comm has the type string");
	check_wrong(WMK_PROBE_KERNEL, "vfs_read(+0($comm))", -EINVAL, "$comm is a string, not an address");
	check_wrong(WMK_PROBE_KERNEL, "vfs_read(+8 %di)", -EINVAL, "column 13: '(' and the value");
	check_wrong(WMK_PROBE_KERNEL, "vfs_read(+8(%di)", -EINVAL, "column 17: ',' or ')'");
	check_wrong(WMK_PROBE_KERNEL, "vfs_read(+0(+0(+0(+0(+0(%di))))))", -EINVAL,
		    "column 22: more than 4 dereferences");
	check_wrong(WMK_PROBE_KERNEL, "vfs_read(%di, %si, di=%dx)", -EINVAL, "column 23: two fields are named di");
	check_wrong(WMK_PROBE_KERNEL, "vfs_read(common_pid=%di)", -EINVAL,
		    "column 10: the kernel reserves field names such as");
	check_wrong(WMK_PROBE_KERNEL, "vfs_read(a_name_that_is_much_too_long_for_it=%di)", -EINVAL,
		    "column 10: a field's name has more than 31");
	check_wrong(WMK_PROBE_KERNEL, "vfs_read(+2000000000(+2000000000(+2000000000(+2000000000(%r10)))):b1@1/64)",
		    -EINVAL, "too long for the kernel");
}

static void probes_with_unknown_symbols_or_parameters_are_refused(void **state)
{
	(void)state;
	check_wrong(WMK_PROBE_KERNEL, "vfs_raed", -ENOENT,
		    "this kernel has no function vfs_raed: did you mean vfs_read?");
	check_wrong(WMK_PROBE_KERNEL, "xyzzyxyzzy", -ENOENT, "/proc/kallsyms lists");
	check_wrong(WMK_PROBE_KERNEL, "jiffies", -EINVAL, "jiffies is data of the kernel");
	check_wrong(WMK_PROBE_KERNEL, "shap:shop_open", -ENOENT, "module shap is not loaded");
	check_wrong(WMK_PROBE_KERNEL, "shop:shop_oepn", -ENOENT,
		    "the module shop has no function shop_oepn: did you mean shop_open?");
	check_wrong(WMK_PROBE_KERNEL, "shop:vfs_read", -ENOENT, "/proc/kallsyms lists");
	check_wrong(WMK_PROBE_KERNEL, "0x1000", -EINVAL, "0x1000 is not an address of the kernel");
	check_wrong(WMK_PROBE_KERNEL, "vfs_read(cuont)", -EINVAL,
		    "column 10: vfs_read has no parameter cuont: it has file, buf, count, again");
	check_wrong(WMK_PROBE_KERNEL, "vfs_read+4(count)", -ENOENT, "entry of a whole function");
	check_wrong(WMK_PROBE_KERNEL, "vfs_read+4($arg1)", -EINVAL,
		    "column 12: $arg1 is available only at a function's entry");
	check_wrong(WMK_PROBE_KERNEL, "kfree.part.0(object)", -ENOENT,
		    "column 14: cannot look up the parameter object");
	check_wrong(WMK_PROBE_KERNEL, "shop:shop_open(x)", -EOPNOTSUPP, "the module shop has no type information");
	check_wrong(WMK_PROBE_KERNEL, "by_value(last)", -EINVAL, "is not passed in a register of its own");
	check_wrong(WMK_PROBE_KERNEL, "vfs_read($retval)", -EINVAL, "$retval is available only at a function's return");
	check_wrong(WMK_PROBE_KERNEL_RETURN, "vfs_read+4", -EINVAL, "without an offset");
	check_wrong(WMK_PROBE_USER, "elf:nowhere-at-all:main", -ENOENT, "no program nowhere-at-all in $PATH");
	check_wrong(WMK_PROBE_USER, "./here:main", -EINVAL, "not an absolute path");
	check_wrong(WMK_PROBE_USER, "/bin/sh", -EINVAL, "expected PATH:SYMBOL");
	check_wrong(WMK_PROBE_USER, "sdt:/bin/sh:main", -EINVAL, "expected PATH:PROVIDER:NAME");
	check_wrong(WMK_PROBE_USER, "/my files/sh:main", -EINVAL,
		    "column 4: the kernel does not accept a path with a blank");
	check_wrong(WMK_PROBE_USER, "/sh#1:main", -EINVAL,
		    "column 4: the kernel does not accept a path with a blank or a #");
	check_wrong(WMK_PROBE_USER, "/tmp:main", -EINVAL, "/tmp is not a regular file");
	check_wrong(WMK_PROBE_USER, "/no/such/file:main", -ENOENT, "cannot open /no/such/file");
	check_wrong(WMK_PROBE_USER_RETURN, "sdt:/bin/sh:a:b", -EINVAL, "not an SDT probe");
}

static void invalid_probe_groups_are_refused(void **state)
{
	const char *const bad[] = { NULL, "", "1a", "a b", "a/b", "a-b" };
	struct wmk_probe *probe;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const struct wmk_probe_options options = { .group = bad[i] };

		assert_int_equal(wmk_probe_make(WMK_PROBE_KERNEL, "0x1", &options, &probe), -EINVAL);
	}
}

/* ── installing and refusals ─────────────────────────────────────────────────────────────────────────── */

static void installed_probe_has_unique_name_and_is_removed(void **state)
{
	static const char others[] =
		"p:waymark_t/vfs_read_entry elsewhere\np:other/vfs_read_exit x\nr8:waymark_t/old y\n";
	struct wmk_probe *probe = made(WMK_PROBE_FUNCTION, "vfs_read(count)", NULL);

	(void)state;
	memset(&fake, 0, sizeof(fake));
	strcpy(fake.events, others);
	assert_int_equal(wmk_probe_install(-1, probe), 0);
	assert_string_equal(fake.events + strlen(others), "p:waymark_t/vfs_read_entry_2 vfs_read count=$arg3:u64\n"
						      "r:waymark_t/vfs_read_exit vfs_read retval=$retval:s64\n");
	assert_int_equal(wmk_probe_remove(-1, probe), 0);
	assert_string_equal(fake.events, others);
	assert_int_equal(wmk_probe_remove_group(-1, "waymark_t"), 0);
	assert_string_equal(fake.events, "p:other/vfs_read_exit x\n");
	wmk_probe_free(probe);
}

static void check_refusal(int err, const char *message, const char *words)
{
	struct wmk_probe *probe = made(WMK_PROBE_FUNCTION, "vfs_read(count)", NULL);
	char text[1024];

	memset(&fake, 0, sizeof(fake));
	fake.refuse_at = 2;
	fake.refuse_with = err;
	fake.message = message;
	assert_int_equal(wmk_probe_install(-1, probe), err);
	wmk_error_text(text, sizeof(text));
	if (!strstr(text, "the kernel refuses the probe vfs_read_exit at vfs_read: ") || !strstr(text, words))
		fail_msg("%s", text);
	assert_string_equal(fake.events, "");       /* the first event was removed again */
	assert_false(probe->events[0].is_installed);
	wmk_probe_free(probe);
}

static void kernel_errors_for_refused_probes_are_explained(void **state)
{
	(void)state;
	check_refusal(-EINVAL, "trace_kprobe: error: The symbol is not unique", "several functions have that name");
	check_refusal(-EINVAL, "Failed to register probe event", "vfs_read cannot be probed at this place");
	check_refusal(-EPERM, "Failed to register probe event", "probes need root");
	check_refusal(-EINVAL, "Probe point is not an instruction boundary", "no instruction begins");
	check_refusal(-ENOENT, "Invalid probed address or symbol", "has no such symbol");
	check_refusal(-EINVAL, "Unknown type is specified", "char needs 6.2");
	check_refusal(-EINVAL, "Invalid $-variable specified", "need Linux 6.9");
	check_refusal(-EINVAL, "Something new", "the kernel reports: Something new");
	check_refusal(-EINVAL, "", "gives no reason");
	check_refusal(-ENOMEM, "", "no memory for the probe: Cannot allocate memory");
}

static void probes_report_missing_kernel_features(void **state)
{
	static const struct {
		const char *missing, *words;
		int err;
	} cases[] = { { "kprobe_events", "CONFIG_KPROBE_EVENTS", -EOPNOTSUPP },
		      { "dynamic_events", "CONFIG_DYNAMIC_EVENTS", -EOPNOTSUPP },
		      { "events", "probes need root", -EACCES } };
	struct wmk_probe *probe = made(WMK_PROBE_KERNEL, "vfs_read", NULL);
	char text[512];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		memset(&fake, 0, sizeof(fake));
		fake.missing = cases[i].missing;
		assert_int_equal(wmk_probe_install(-1, probe), cases[i].err);
		assert_non_null(strstr(wmk_error_text(text, sizeof(text)), cases[i].words));
	}
	wmk_probe_free(probe);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(probe_places_are_converted_to_kprobe_definitions),
		cmocka_unit_test(probe_arguments_are_converted_to_fetch_arguments),
		cmocka_unit_test(return_probes_record_the_return_value),
		cmocka_unit_test(probe_names_are_made_valid_and_cut_to_the_limit),
		cmocka_unit_test(probe_syntax_errors_are_reported_with_their_column),
		cmocka_unit_test(probes_with_unknown_symbols_or_parameters_are_refused),
		cmocka_unit_test(invalid_probe_groups_are_refused),
		cmocka_unit_test(installed_probe_has_unique_name_and_is_removed),
		cmocka_unit_test(kernel_errors_for_refused_probes_are_explained),
		cmocka_unit_test(probes_report_missing_kernel_features),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
