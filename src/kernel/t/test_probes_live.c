/* SPDX-License-Identifier: MIT */
/*
 * test_probes_live.c - probes in the program `probed`, built in several ways and recorded by this kernel: the trace has
 * exactly the records that the program prints, in its order. Skipped with a message if tracefs is not writable.
 *
 * All names begin with wmkt_probes, the instance is wmkt-probes; remains of an earlier run are removed first.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "kernel/probe/probe.h"
#include "kernel/tracefs/tracefs.h"

#define GROUP "wmkt_probes"
#define INSTANCE "instances/wmkt-probes"
#define ROUNDS 7
#define OUTPUT_MAX 65536

static int tracefs = -1, instance = -1;
static char **programs;
static const char *library, *stripped;

static void must(int err)
{
	char text[1024];

	if (err < 0)
		fail_msg("%s", wmk_error_text(text, sizeof(text)));
}

static int set_up(void **state)
{
	(void)state;
	tracefs = open("/sys/kernel/tracing", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (tracefs < 0 || faccessat(tracefs, "uprobe_events", W_OK, 0) < 0)
		return 0;
	unlinkat(tracefs, INSTANCE, AT_REMOVEDIR);
	must(wmk_probe_remove_group(tracefs, GROUP));
	if (mkdirat(tracefs, INSTANCE, 0700) < 0)
		return -1;
	instance = openat(tracefs, INSTANCE, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return instance < 0 ? -1 : 0;
}

static int tear_down(void **state)
{
	char *text;
	size_t len;

	(void)state;
	if (instance < 0)
		return 0;
	close(instance);
	if (unlinkat(tracefs, INSTANCE, AT_REMOVEDIR) < 0)
		fail_msg("cannot remove " INSTANCE ": %s", strerror(errno));
	must(wmk_tracefs_read(tracefs, "dynamic_events", &text, &len));
	if (strstr(text, GROUP))
		fail_msg("left in dynamic_events: %s", text);
	free(text);
	return 0;
}

static void need_tracefs(void)
{
	if (instance >= 0)
		return;
	print_message("skipped: uprobe_events in /sys/kernel/tracing is not writable\n");
	skip();
}

static void enable(const struct wmk_probe *probe, bool on)
{
	for (uint32_t i = 0; i < probe->n_events; i++) {
		char file[256];

		snprintf(file, sizeof(file), "events/%s/%s/enable", probe->group, probe->events[i].name);
		must(wmk_tracefs_write(instance, file, on ? "1" : "0", false));
	}
}

/* Run the program and store its output. */
static void run(const char *program, char *output)
{
	char rounds[8];
	int pipe_fds[2], status;
	size_t len = 0;
	ssize_t n;
	pid_t pid;

	snprintf(rounds, sizeof(rounds), "%d", ROUNDS);
	assert_int_equal(pipe(pipe_fds), 0);
	pid = fork();
	if (pid == 0) {
		dup2(pipe_fds[1], 1);
		execl(program, program, rounds, NULL);
		_exit(127);
	}
	close(pipe_fds[1]);
	while ((n = read(pipe_fds[0], output + len, OUTPUT_MAX - 1 - len)) > 0)
		len += (size_t)n;
	output[len] = '\0';
	close(pipe_fds[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* Keep the program's lines that begin with one of the names. */
static void keep(const char *printed, const char *const *names, char *kept)
{
	kept[0] = '\0';
	for (const char *line = printed; *line; line += strcspn(line, "\n") + 1) {
		const size_t word = strcspn(line, " ");

		for (int i = 0; names[i]; i++)
			if (strlen(names[i]) == word && memcmp(names[i], line, word) == 0)
				strncat(kept, line, strcspn(line, "\n") + 1);
	}
}

/* Read the kernel's trace: "... NAME: (ADDRESS [<- ADDRESS]) FIELDS" becomes "NAME FIELDS". */
static void recorded(char *lines)
{
	char *text;
	size_t len;

	must(wmk_tracefs_read(instance, "trace", &text, &len));
	lines[0] = '\0';
	for (char *line = text, *next; *line; line = next) {
		char *fields = strstr(line, ") "), *name;

		next = line + strcspn(line, "\n");
		*next++ = '\0';
		if (line[0] == '#' || !line[0])
			continue;
		name = fields ? strstr(line, ": (") : NULL;
		assert_non_null(name);
		*name = '\0';
		strcat(strcat(strcat(lines, strrchr(line, ' ') + 1), strstr(name + 3, ") ") + 1), "\n");
	}
	free(text);
	must(wmk_tracefs_write(instance, "trace", "", false));
}

static struct wmk_probe *make(enum wmk_probe_kind kind, const char *name, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
static struct wmk_probe *make(enum wmk_probe_kind kind, const char *name, const char *format, ...)
{
	const struct wmk_probe_options options = { .group = GROUP, .name = name };
	struct wmk_probe *probe;
	char typed[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(typed, sizeof(typed), format, args);
	va_end(args);
	must(wmk_probe_make(kind, typed, &options, &probe));
	return probe;
}

/* Install the probe and run the program: the records equal its lines of `names`. After removal, nothing is recorded. */
static void check(const char *program, struct wmk_probe *probe, const char *const *names, unsigned n)
{
	static char printed[OUTPUT_MAX], kept[OUTPUT_MAX], lines[OUTPUT_MAX];
	unsigned count = 0;

	must(wmk_probe_install(tracefs, probe));
	enable(probe, true);
	run(program, printed);
	enable(probe, false);
	recorded(lines);
	keep(printed, names, kept);
	assert_string_equal(lines, kept);
	for (const char *at = lines; *at; at++)
		count += *at == '\n';
	assert_int_equal(count, n);
	must(wmk_probe_remove(tracefs, probe));
	run(program, printed);
	recorded(lines);
	assert_string_equal(lines, "");
	wmk_probe_free(probe);
}

static void installed_function_probes_record_arguments_and_results(void **state)
{
	(void)state;
	need_tracefs();
	for (char **program = programs; *program; program++) {
		check(*program,
		      make(WMK_PROBE_USER, "checkout", "elf:%s:probed_checkout(who=$arg2:string, amount=$arg3:u64)",
			   *program),
		      (const char *const[]){ "checkout", NULL }, ROUNDS);
		check(*program,
		      make(WMK_PROBE_USER_RETURN, "checkout_return", "%s:probed_checkout($retval:s32)", *program),
		      (const char *const[]){ "checkout_return", NULL }, ROUNDS);
	}
}

static void sdt_probes_record_their_arguments(void **state)
{
	(void)state;
	need_tracefs();
	for (char **program = programs; *program; program++) {
		struct wmk_probe *probe =
			make(WMK_PROBE_USER, "order",
			     "sdt:%s:wmkt:order(arg1, who=arg2:string, arg3, arg4, arg5, arg6, arg7, arg8)", *program);

		assert_int_equal(probe->n_events, 1);
		assert_int_equal(probe->events[0].n_places, 2);
		check(*program, probe, (const char *const[]){ "order", NULL }, 2 * ROUNDS);
	}
}

/* Variables in .data and .bss: their distance in memory differs from that in the file. */
static void variables_of_sdt_probes_are_recorded(void **state)
{
	(void)state;
	need_tracefs();
#ifdef __x86_64__
	for (char **program = programs; *program; program++)
		check(*program, make(WMK_PROBE_USER, "variables", "sdt:%s:wmkt:variables", *program),
		      (const char *const[]){ "variables", NULL }, ROUNDS);
#else
	print_message("aarch64 has no operand that names a variable\n");
	skip();
#endif
}

/* Notes of one name with different arguments: one event for each combination of types. */
static void sdt_notes_with_different_types_become_separate_events(void **state)
{
	(void)state;
	need_tracefs();
	for (char **program = programs; *program; program++) {
		struct wmk_probe *probe = make(WMK_PROBE_USER, "odd", "sdt:%s:wmkt:odd", *program);

		assert_int_equal(probe->n_events, 2);
		check(*program, probe, (const char *const[]){ "odd", "odd_2", NULL }, 2 * ROUNDS);
	}
}

static void sdt_semaphore_is_set_while_recording(void **state)
{
	static char printed[OUTPUT_MAX];

	(void)state;
	need_tracefs();
	for (char **program = programs; *program; program++) {
		run(*program, printed);
		assert_null(strstr(printed, "guarded"));
		check(*program, make(WMK_PROBE_USER, "guarded", "sdt:%s:wmkt:guarded", *program),
		      (const char *const[]){ "guarded", NULL }, ROUNDS);
	}
}

static void functions_of_shared_library_are_recorded(void **state)
{
	(void)state;
	need_tracefs();
	for (char **program = programs; *program; program++) {
		check(*program,
		      make(WMK_PROBE_USER, "library", "%s:probed_library(amount=$arg1:s64, who=$arg2:string)", library),
		      (const char *const[]){ "library", NULL }, ROUNDS);
		check(*program,
		      make(WMK_PROBE_USER_RETURN, "library_return", "%s:probed_library(retval=$retval:s64)", library),
		      (const char *const[]){ "library_return", NULL }, ROUNDS);
	}
}

/* Every form of value and type that is available at the place. */
static void probes_record_values_of_every_form_and_type(void **state)
{
	(void)state;
	need_tracefs();
	for (char **program = programs; *program; program++)
		check(*program,
		      make(WMK_PROBE_USER, "forms",
			   "%s:probed_library(first=+0($arg2):u8, bytes=$arg2:u8[3], hex=+1($arg2):x8, "
			   "low=$arg1:b4@0/64, text=+u0($arg2):string, $comm, again=+1($arg2):ustring, "
			   "signed=$arg1:s8)",
			   library),
		      (const char *const[]){ "forms", NULL }, ROUNDS);
}

/* Variables with names only in .symtab are left out with a note; the other arguments are recorded. */
static void unnamed_variables_are_omitted_from_probes_with_a_note(void **state)
{
	struct wmk_probe *probe;

	(void)state;
	need_tracefs();
	probe = make(WMK_PROBE_USER, "order", "sdt:%s:wmkt:order(arg1, who=arg2:string)", stripped);
	assert_int_equal(probe->n_events, 1);
	must(wmk_probe_install(tracefs, probe));
	must(wmk_probe_remove(tracefs, probe));
	wmk_probe_free(probe);
#ifdef __x86_64__
	probe = make(WMK_PROBE_USER, "variables", "sdt:%s:wmkt:variables", stripped);
	assert_non_null(strstr(probe->note, "argument 1 is left out: it is in a variable that has no unique name in "
					    "the file (perhaps the file is stripped); argument 2 is"));
	assert_int_equal(probe->events[0].n_fields, 0);
	must(wmk_probe_install(tracefs, probe));
	must(wmk_probe_remove(tracefs, probe));
	wmk_probe_free(probe);
#endif
}

/* A second probe with the name that the user gave is refused; a name from the symbol gets a number. */
static void given_duplicate_probe_name_is_refused_and_default_numbered(void **state)
{
	struct wmk_probe *first, *second;
	char text[1024];

	(void)state;
	need_tracefs();
	for (int named = 0; named < 2; named++) {
		first = make(WMK_PROBE_USER, named ? "mine" : NULL, "%s:probed_library", library);
		second = make(WMK_PROBE_USER, named ? "mine" : NULL, "%s:probed_library($arg1)", library);
		must(wmk_probe_install(tracefs, first));
		if (named) {
			assert_int_equal(wmk_probe_install(tracefs, second), -EEXIST);
			assert_non_null(strstr(wmk_error_text(text, sizeof(text)), "another name"));
		} else {
			must(wmk_probe_install(tracefs, second));
			assert_string_equal(second->events[0].name, "probed_library_2");
		}
		must(wmk_probe_remove(tracefs, first));
		must(wmk_probe_remove(tracefs, second));
		wmk_probe_free(first);
		wmk_probe_free(second);
	}
}

/* An enabled event is not removed until it is disabled; a group can be removed by any process. */
static void enabled_probe_is_not_removed(void **state)
{
	struct wmk_probe *probe;
	char text[1024];

	(void)state;
	need_tracefs();
	probe = make(WMK_PROBE_USER, "busy", "sdt:%s:wmkt:odd", programs[0]);
	must(wmk_probe_install(tracefs, probe));
	enable(probe, true);
	assert_int_equal(wmk_probe_remove(tracefs, probe), -EBUSY);
	assert_non_null(strstr(wmk_error_text(text, sizeof(text)), "still being recorded"));
	enable(probe, false);
	must(wmk_probe_remove_group(tracefs, GROUP));
	must(wmk_probe_remove(tracefs, probe));
	wmk_probe_free(probe);
}

static void probe_errors_of_the_running_kernel_are_explained(void **state)
{
	struct wmk_probe *probe;
	char text[1024];
	char *place;

	(void)state;
	need_tracefs();
	probe = make(WMK_PROBE_USER, "refused", "%s:probed_library", library);
	place = probe->events[0].places[0];
	memcpy(place, "/xx", 3);
	assert_true(wmk_probe_install(tracefs, probe) < 0);
	assert_non_null(strstr(wmk_error_text(text, sizeof(text)), "cannot find the file"));
	wmk_probe_free(probe);
	probe = make(WMK_PROBE_KERNEL, "refused", "do_sys_openat2");
	memcpy(probe->events[0].places[0], "no_", 3);
	if (wmk_tracefs_has(tracefs, "kprobe_events")) {
		assert_true(wmk_probe_install(tracefs, probe) < 0);
		assert_non_null(strstr(wmk_error_text(text, sizeof(text)), "has no such symbol"));
	} else {
		assert_int_equal(wmk_probe_install(tracefs, probe), -EOPNOTSUPP);
		assert_non_null(strstr(wmk_error_text(text, sizeof(text)), "CONFIG_KPROBE_EVENTS"));
	}
	wmk_probe_free(probe);
}

/* Symbols and parameters of this kernel; nothing is installed. */
static void symbols_of_this_kernel_are_found(void **state)
{
	struct wmk_probe *probe;
	char line[WMK_PROBE_LINE_MAX];

	(void)state;
	if (access("/sys/kernel/btf/vmlinux", R_OK) < 0) {
		print_message("skipped: this kernel has no BTF, which has the names of parameters\n");
		skip();
	}
	probe = make(WMK_PROBE_FUNCTION, "open", "do_sys_openat2(dfd, filename:string)");
	assert_int_equal(probe->n_events, 2);
	assert_string_equal(wmk_probe_line(probe, &probe->events[0], 0, line),
			    "p:" GROUP "/open_entry do_sys_openat2 dfd=$arg1:s32 filename=+0($arg2):string");
	assert_string_equal(probe->events[1].fields[0].name, "retval");
	wmk_probe_free(probe);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(installed_function_probes_record_arguments_and_results),
		cmocka_unit_test(sdt_probes_record_their_arguments),
		cmocka_unit_test(variables_of_sdt_probes_are_recorded),
		cmocka_unit_test(sdt_notes_with_different_types_become_separate_events),
		cmocka_unit_test(sdt_semaphore_is_set_while_recording),
		cmocka_unit_test(functions_of_shared_library_are_recorded),
		cmocka_unit_test(probes_record_values_of_every_form_and_type),
		cmocka_unit_test(unnamed_variables_are_omitted_from_probes_with_a_note),
		cmocka_unit_test(given_duplicate_probe_name_is_refused_and_default_numbered),
		cmocka_unit_test(enabled_probe_is_not_removed),
		cmocka_unit_test(probe_errors_of_the_running_kernel_are_explained),
		cmocka_unit_test(symbols_of_this_kernel_are_found),
	};

	if (argc < 4)
		return 2;
	for (int i = 1; i < argc; i++) {
		argv[i] = realpath(argv[i], NULL);
		if (!argv[i])
			return 2;
	}
	library = argv[1];
	stripped = argv[2];
	programs = argv + 3;
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
