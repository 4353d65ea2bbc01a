/* SPDX-License-Identifier: MIT */
/*
 * main.c - `waymark`: find the command in the table, parse its options and run it.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/command.h"
#include "cli/daemon.h"

/*
 * If a standard descriptor is closed, a file that we open could get its number, and messages would be written to that
 * file. So a placeholder takes the number. The placeholder fails on use like a closed descriptor, and is closed before
 * the program that we run starts.
 */
static void hold_standard_descriptors(void)
{
	for (int fd = 0; fd < 3; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", (fd == 0 ? O_WRONLY : O_RDONLY) | O_CLOEXEC) < 0)
			return;
}

int main(int argc, char **argv)
{
	const struct wmk_cli_command *command;
	const char *name;
	int status;

	hold_standard_descriptors();
	while (argc > 1 && (strcmp(argv[1], "-n") == 0 || strcmp(argv[1], "--no-sessiond") == 0)) {
		wmk_cli_no_sessiond = true;
		argv++;
		argc--;
	}
	name = argc > 1 ? argv[1] : NULL;
	if (!name) {
		wmk_cli_overview(stderr);
		return WMK_CLI_USAGE;
	}
	if (strcmp(name, "-h") == 0 || strcmp(name, "--help") == 0)
		name = "help";
	else if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0)
		name = "version";
	command = wmk_cli_find(name);
	if (!command) {
		wmk_cli_print_error();
		return WMK_CLI_USAGE;
	}
	status = wmk_cli_run(command, argv + 2, argc - 2);
	errno = EIO;
	if (fflush(stdout) == EOF || ferror(stdout)) {
		wmk_error(-errno, "cannot write to standard output: %s", strerror(errno));
		wmk_cli_print_error();
		status = status ? status : WMK_CLI_FAILED;
	}
	return status;
}
