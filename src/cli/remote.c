/* SPDX-License-Identifier: MIT */
/*
 * remote.c - `waymark --host HOST COMMAND` runs a command on another machine (see remote.h).
 *
 * The whole command runs on the other machine, so its paths, its session daemon and its current session belong to the
 * other machine. OpenSSH authenticates the user, encrypts the connection, and returns the exit status of the remote
 * command.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/remote.h"

/*
 * Return the length of a word in single quotes, with a space before the word. A single quote in the word becomes '\''.
 */
static size_t quoted_size(const char *word)
{
	size_t size = 3;

	for (; *word; word++)
		size += *word == '\'' ? 4 : 1;
	return size;
}

static char *append_quoted(char *end, const char *word)
{
	*end++ = ' ';
	*end++ = '\'';
	for (; *word; word++) {
		if (*word == '\'')
			end = mempcpy(end, "'\\''", 4);
		else
			*end++ = *word;
	}
	*end++ = '\'';
	*end = '\0';
	return end;
}

/* Build the command line for the shell of the other machine; the caller frees the text. */
static char *remote_line(char *const *arguments)
{
	size_t size = sizeof("waymark");
	char *line, *end;

	for (char *const *word = arguments; *word; word++)
		size += quoted_size(*word);
	line = malloc(size);
	if (!line)
		return NULL;
	end = stpcpy(line, "waymark");
	for (char *const *word = arguments; *word; word++)
		end = append_quoted(end, *word);
	return line;
}

int wmk_cli_remote_exec(const char *host, char *const *arguments)
{
	const char *given = getenv("WAYMARK_SSH"), *ssh = given && *given ? given : "ssh";
	/*
	 * If ssh allocates a terminal on the other machine, the keys of the pager and Ctrl-C reach the remote command.
	 */
	const char *terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) ? "-t" : "-T";
	char *line;
	int err;

	if (!*host || *host == '-')
		return wmk_errorx(-EINVAL, "\"%.100s\" is not a host (give a destination of ssh, such as ann@web1)",
				  host);
	line = remote_line(arguments);
	if (!line)
		return wmk_error(-ENOMEM, "cannot run a command on %.100s", host);
	execlp(ssh, ssh, terminal, "--", host, line, (char *)NULL);
	err = -errno;
	free(line);
	if (err == -ENOENT)
		return wmk_errorx(err, "cannot run a command on %.100s: %s is not installed (install "
				  "openssh-client)", host, ssh);
	return wmk_error(err, "cannot execute %s", ssh);
}
