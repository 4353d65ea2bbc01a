/* SPDX-License-Identifier: MIT */
/* main.c - `waymark`: find the command in the table, parse the options of the command, and run the command. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/command.h"
#include "cli/daemon.h"
#include "cli/remote.h"

/*
 * If descriptor 0, 1 or 2 is closed, the next file that this process opens could get this number. The process would
 * then write messages for standard output or standard error to this file. hold_standard_descriptors() therefore opens a
 * placeholder for each closed standard descriptor. I/O on a placeholder fails, as I/O on a closed descriptor does. A
 * placeholder is closed when this process executes a program.
 */
static void hold_standard_descriptors(void)
{
	for (int fd = 0; fd < 3; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", (fd == 0 ? O_WRONLY : O_RDONLY) | O_CLOEXEC) < 0)
			return;
}

/*
 * Parse the options before the command, and set *host to the value of --host. Returns the number of arguments that
 * these options occupy; -EINVAL with a cause chain.
 */
static int parse_leading(char **argv, const char **host)
{
	int n = 1;

	for (; argv[n]; n++) {
		if (strcmp(argv[n], "-n") == 0 || strcmp(argv[n], "--no-sessiond") == 0)
			wmk_cli_no_sessiond = true;
		else if (strncmp(argv[n], "--host=", 7) == 0)
			*host = argv[n] + 7;
		else if (strcmp(argv[n], "--host") != 0)
			break;
		else if (argv[n + 1])
			*host = argv[++n];
		else
			return wmk_error(-EINVAL, "--host needs a value: the machine that runs the command");
	}
	return n - 1;
}

/* Run the command on another machine with ssh. The function returns only if ssh does not start. */
static int run_remote(const char *host, char **arguments)
{
	static char no_sessiond[] = "-n";

	/* `-n` can overwrite this element of argv, because the element held an option that has already been parsed. */
	if (wmk_cli_no_sessiond)
		*--arguments = no_sessiond;
	wmk_cli_remote_exec(host, arguments);
	wmk_cli_print_error();
	return WMK_CLI_USAGE;
}

int main(int argc, char **argv)
{
	const struct wmk_cli_command *command;
	const char *name, *host = NULL;
	int status, n_leading;

	hold_standard_descriptors();
	n_leading = argc > 1 ? parse_leading(argv, &host) : 0;
	if (n_leading < 0) {
		wmk_cli_print_error();
		return WMK_CLI_USAGE;
	}
	argv += n_leading;
	argc -= n_leading;
	if (host && argc > 1)
		return run_remote(host, argv + 1);
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
