/* SPDX-License-Identifier: MIT */
/*
 * probe_try.c - record one probe on the running kernel, from its text to its records: for the emulated machine. Its
 * kernel has kprobes.
 *
 *     probe_try kernel|return|function|user|user-return TEXT [COMMAND...]
 *
 * Prints the lines for the kernel, enables the events in an instance of its own, runs the command, prints the records,
 * and removes all of it. Exit status: 0; 1 if the probe is refused (the message is on standard error).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "kernel/probe/probe.h"
#include "kernel/tracefs/tracefs.h"

#define INSTANCE "instances/wmkt-probes-try"

static int fail(const char *what)
{
	char text[1024];

	fprintf(stderr, "%s: %s\n", what, wmk_error_text(text, sizeof(text)));
	return 1;
}

static int enable(int instance, const struct wmk_probe *probe, const char *on)
{
	int err = 0;

	for (uint32_t i = 0; i < probe->n_events && err == 0; i++) {
		char file[256];

		snprintf(file, sizeof(file), "events/%s/%s/enable", probe->group, probe->events[i].name);
		err = wmk_tracefs_write(instance, file, on, false);
	}
	return err;
}

static int run(char **command)
{
	const pid_t pid = command[0] ? fork() : -1;
	int status = 0;

	if (pid == 0) {
		execvp(command[0], command);
		_exit(127);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid ? status : 0;
}

static int record(int tracefs, const struct wmk_probe *probe, char **command)
{
	int instance, err;
	char *text;
	size_t len;

	if (mkdirat(tracefs, INSTANCE, 0700) < 0 && errno != EEXIST)
		return wmk_error(-errno, "cannot create an instance");
	instance = openat(tracefs, INSTANCE, O_PATH | O_DIRECTORY | O_CLOEXEC);
	err = enable(instance, probe, "1");
	if (err == 0 && run(command) != 0)
		fprintf(stderr, "the command failed\n");
	if (err == 0)
		err = enable(instance, probe, "0");
	if (err == 0)
		err = wmk_tracefs_read(instance, "trace", &text, &len);
	if (err == 0) {
		for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
			if (line[0] != '#')
				puts(line);
		free(text);
	}
	close(instance);
	unlinkat(tracefs, INSTANCE, AT_REMOVEDIR);
	return err;
}

int main(int argc, char **argv)
{
	static const char *const kinds[] = { "kernel", "return", "function", "user", "user-return" };
	const struct wmk_probe_options options = { .group = "wmkt_probes_try" };
	const int tracefs = open("/sys/kernel/tracing", O_PATH | O_DIRECTORY | O_CLOEXEC);
	char line[WMK_PROBE_LINE_MAX];
	struct wmk_probe *probe;
	unsigned kind = 0;
	int err;

	while (argc > 2 && kind < 5 && strcmp(argv[1], kinds[kind]) != 0)
		kind++;
	if (argc < 3 || kind == 5) {
		fprintf(stderr, "usage: probe_try kernel|return|function|user|user-return TEXT [COMMAND...]\n");
		return 2;
	}
	if (wmk_probe_make((enum wmk_probe_kind)kind, argv[2], &options, &probe) < 0)
		return fail("make");
	for (uint32_t i = 0; i < probe->n_events; i++)
		for (uint32_t j = 0; j < probe->events[i].n_places; j++)
			puts(wmk_probe_line(probe, &probe->events[i], j, line));
	if (probe->note[0])
		printf("note: %s\n", probe->note);
	fflush(stdout);
	err = wmk_probe_install(tracefs, probe);
	if (err < 0) {
		fail("install");
		wmk_probe_free(probe);
		return 1;
	}
	err = record(tracefs, probe, argv + 3);
	if (err < 0)
		fail("record");
	if (wmk_probe_remove(tracefs, probe) < 0)
		err = -fail("remove");
	wmk_probe_free(probe);
	return err < 0;
}
