/* SPDX-License-Identifier: MIT */
/*
 * test_missing_features.c - missing features of a kernel: in a made-up tracefs with files that are missing or refused,
 * each cause has its message; and the kernel of this machine, in an instance that the test removes.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "kernel/channel/missing_features.h"
#include "kernel/t/tree.h"

/* ── files ───────────────────────────────────────────────────────────────────────────────────────────── */

/* The files of a kernel that has all features. */
static const char *const files[] = {
	"root/kprobe_events",
	"root/uprobe_events",
	"instance/events/syscalls/sys_enter_exit_group/enable",
	"instance/set_ftrace_filter",
	"instance/current_tracer",
	"instance/buffer_subbuf_size_kb",
	"vmlinux",
};

struct features_rig {
	struct tree tree;
	int root, instance;
	char btf[300];
};

static int make(void **state)
{
	struct features_rig *rig = calloc(1, sizeof(*rig));
	char path[300];

	tree_make(&rig->tree);
	for (unsigned i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		tree_put(&rig->tree, files[i], "kept");
	snprintf(path, sizeof(path), "%s/root", rig->tree.dir);
	rig->root = open(path, O_PATH | O_DIRECTORY);
	snprintf(path, sizeof(path), "%s/instance", rig->tree.dir);
	rig->instance = open(path, O_PATH | O_DIRECTORY);
	snprintf(rig->btf, sizeof(rig->btf), "%s/vmlinux", rig->tree.dir);
	assert_true(rig->root >= 0 && rig->instance >= 0);
	*state = rig;
	return 0;
}

static int unmake(void **state)
{
	struct features_rig *rig = *state;

	close(rig->root);
	close(rig->instance);
	tree_remove(&rig->tree);
	free(rig);
	return 0;
}

static void gone(const struct features_rig *rig, const char *file)
{
	char path[400];

	snprintf(path, sizeof(path), "%s/%s", rig->tree.dir, file);
	assert_int_equal(unlink(path), 0);
}

static void contents(const struct features_rig *rig, const char *file, char *text, size_t size)
{
	char path[400];

	snprintf(path, sizeof(path), "%s/%s", rig->tree.dir, file);
	int fd = open(path, O_RDONLY);
	ssize_t n = read(fd, text, size - 1);

	assert_true(n >= 0);
	text[n] = '\0';
	close(fd);
}

static struct wmk_kmissing tried(const struct features_rig *rig)
{
	struct wmk_kmissing lacks = { .err = { 0 } };

	wmk_kmissing_try_files(rig->root, rig->instance, rig->btf, &lacks);
	return lacks;
}

static void no_missing_feature_is_reported_on_a_complete_kernel(void **state)
{
	const struct features_rig *rig = *state;
	const struct wmk_kmissing lacks = tried(rig);
	char text[64];

	for (unsigned i = 0; i < WMK_KFEATURES; i++)
		assert_false(wmk_kmissing_text(&lacks, (enum wmk_kfeature)i, text, sizeof(text)));
	/* Existing probes are unchanged; the function filter was set and the tracer reset. */
	contents(rig, "root/kprobe_events", text, sizeof(text));
	assert_string_equal(text, "kept");
	contents(rig, "root/uprobe_events", text, sizeof(text));
	assert_string_equal(text, "kept");
	contents(rig, "instance/set_ftrace_filter", text, sizeof(text));
	assert_string_equal(text, "schedule");
	contents(rig, "instance/current_tracer", text, sizeof(text));
	assert_string_equal(text, "nop");
}

/* Each missing file causes exactly one missing feature. */
static void each_missing_kernel_file_causes_one_missing_feature(void **state)
{
	static const struct {
		const char *file, *says;
		enum wmk_kfeature lack;
	} cases[] = {
		{ "root/kprobe_events", "CONFIG_KPROBE_EVENTS", WMK_KFEATURE_KPROBES },
		{ "root/uprobe_events", "CONFIG_UPROBE_EVENTS", WMK_KFEATURE_UPROBES },
		{ "instance/events/syscalls/sys_enter_exit_group/enable", "CONFIG_FTRACE_SYSCALLS",
		  WMK_KFEATURE_SYSCALLS },
		{ "instance/set_ftrace_filter", "CONFIG_FUNCTION_TRACER", WMK_KFEATURE_FUNCTIONS },
		{ "instance/buffer_subbuf_size_kb", "Linux 6.8", WMK_KFEATURE_SUBBUFS },
		{ "vmlinux", "CONFIG_DEBUG_INFO_BTF", WMK_KFEATURE_TYPES },
	};
	const struct features_rig *rig = *state;
	char words[WMK_KMISSING_TEXT];

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		gone(rig, cases[i].file);
		const struct wmk_kmissing lacks = tried(rig);

		for (unsigned k = 0; k < WMK_KFEATURES; k++)
			assert_int_equal(wmk_kmissing_text(&lacks, (enum wmk_kfeature)k, words, sizeof(words)),
					 k == cases[i].lack);
		assert_true(wmk_kmissing_text(&lacks, cases[i].lack, words, sizeof(words)));
		assert_non_null(strstr(words, cases[i].says));
		tree_put(&rig->tree, cases[i].file, "kept");
	}
	assert_int_equal(wmk_error_number(), 0);
}

/* Without an instance, features that need one are not tested and not reported as missing. */
static void instance_features_are_not_reported_without_an_instance(void **state)
{
	const struct features_rig *rig = *state;
	struct wmk_kmissing lacks = { .err = { 0 } };
	char words[WMK_KMISSING_TEXT];

	gone(rig, "root/uprobe_events");
	gone(rig, "instance/buffer_subbuf_size_kb");
	wmk_kmissing_try_files(rig->root, -1, rig->btf, &lacks);
	assert_int_equal(lacks.err[WMK_KFEATURE_UPROBES], -ENOENT);
	assert_false(wmk_kmissing_text(&lacks, WMK_KFEATURE_SUBBUFS, words, sizeof(words)));
}

/* ── messages ────────────────────────────────────────────────────────────────────────────────────────── */

static void says(enum wmk_kfeature which, int err, const char *wanted)
{
	struct wmk_kmissing lacks = { .instance = "no clock of that name", .arguments = "no BPF of any kind" };
	char words[WMK_KMISSING_TEXT];

	lacks.err[which] = err;
	assert_true(wmk_kmissing_text(&lacks, which, words, sizeof(words)));
	if (!strstr(words, wanted))
		fail_msg("the message is: %s", words);
}

static void each_cause_of_a_missing_kernel_feature_has_its_message(void **state)
{
	(void)state;
	for (unsigned i = 0; i < WMK_KFEATURES; i++) {
		says((enum wmk_kfeature)i, -ENOENT,
		     i == WMK_KFEATURE_INSTANCE    ? "no clock"
		     : i == WMK_KFEATURE_ARGUMENTS ? "no BPF"
						   : ": ");
		if (i != WMK_KFEATURE_INSTANCE && i != WMK_KFEATURE_ARGUMENTS)
			says((enum wmk_kfeature)i, -EPERM, "is refused (Operation not permitted), by lockdown");
	}
	says(WMK_KFEATURE_MAPPING, -ENOTSUP, "mapping came with Linux 6.10");
	says(WMK_KFEATURE_FUNCTIONS, -EINVAL, "built without CONFIG_FUNCTION_TRACER");
	says(WMK_KFEATURE_KPROBES, -EIO, "kprobe_events cannot be used (Input/output error)");
}

/* ── this machine ────────────────────────────────────────────────────────────────────────────────────── */

static void missing_features_of_the_running_kernel_match_its_files(void **state)
{
	struct wmk_tracefs *tracefs;
	struct wmk_kmissing lacks;
	char name[64], words[WMK_KMISSING_TEXT];
	int instance;

	(void)state;
	if (wmk_tracefs_open(NULL, &tracefs) < 0) {
		print_message("skipped: %s\n", wmk_error_text(words, sizeof(words)));
		wmk_error_clear();
		skip();
	}
	snprintf(name, sizeof(name), "wmkt-lacks-%d", (int)getpid());
	/* an instance that an earlier run left */
	assert_int_equal(wmk_tracefs_instance_make(tracefs, name, &instance), 0);
	close(instance);
	for (unsigned with = 0; with < 2; with++) {
		memset(&lacks, 0xff, sizeof(lacks));
		assert_int_equal(wmk_kmissing_find(tracefs, name, WMK_CLOCK_MONOTONIC, with, &lacks), 0);
		assert_int_equal(lacks.err[WMK_KFEATURE_INSTANCE], 0);
		assert_int_equal(lacks.err[WMK_KFEATURE_KPROBES] == -ENOENT,
				 !wmk_tracefs_has(tracefs->dir, "kprobe_events"));
		assert_int_equal(lacks.err[WMK_KFEATURE_UPROBES] == -ENOENT,
				 !wmk_tracefs_has(tracefs->dir, "uprobe_events"));
		assert_int_equal(lacks.err[WMK_KFEATURE_SYSCALLS] == -ENOENT,
				 !wmk_tracefs_has(tracefs->dir, "events/syscalls"));
		assert_int_equal(lacks.err[WMK_KFEATURE_TYPES] == -ENOENT, access("/sys/kernel/btf/vmlinux", F_OK) < 0);
		assert_true(with || lacks.err[WMK_KFEATURE_ARGUMENTS] == 0);
		assert_int_equal(wmk_tracefs_instance_open(tracefs, name, &instance), -ENOENT);
		wmk_error_clear();
	}
	/*
	 * A clock that the kernel does not have is reported; the features that need no instance are tested.
	 */
	assert_int_equal(wmk_kmissing_find(tracefs, name, WMK_CLOCK_PLUGIN, false, &lacks), 0);
	assert_true(wmk_kmissing_text(&lacks, WMK_KFEATURE_INSTANCE, words, sizeof(words)));
	assert_non_null(
		strstr(words, "it cannot be traced: kernel events cannot be recorded with the clock of a plug-in"));
	assert_false(wmk_kmissing_text(&lacks, WMK_KFEATURE_SUBBUFS, words, sizeof(words)));
	assert_int_equal(wmk_tracefs_instance_open(tracefs, name, &instance), -ENOENT);
	wmk_error_clear();
	wmk_tracefs_close(tracefs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(no_missing_feature_is_reported_on_a_complete_kernel, make, unmake),
		cmocka_unit_test_setup_teardown(each_missing_kernel_file_causes_one_missing_feature, make, unmake),
		cmocka_unit_test_setup_teardown(instance_features_are_not_reported_without_an_instance, make, unmake),
		cmocka_unit_test(each_cause_of_a_missing_kernel_feature_has_its_message),
		cmocka_unit_test(missing_features_of_the_running_kernel_match_its_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
