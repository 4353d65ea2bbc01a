/* SPDX-License-Identifier: MIT */
/*
 * tracefs_mini.c - as much of tracefs.h as src/kernel/probe_install.c uses, on any directory: what is written is what a test looks at.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "kernel/tracefs.h"

int wmk_tracefs_read(int dir, const char *file, char **text, size_t *len)
{
	const int fd = openat(dir, file, O_RDONLY | O_CLOEXEC);
	size_t room = 1u << 16;
	ssize_t n;

	if (fd < 0)
		return wmk_error(-errno, "cannot open %s", file);
	*text = malloc(room);
	*len = 0;
	while (*text && (n = read(fd, *text + *len, room - *len - 1)) > 0) {
		*len += (size_t)n;
		if (room - *len < 4096)
			*text = realloc(*text, room *= 2);
	}
	close(fd);
	if (!*text)
		return wmk_error(-ENOMEM, "cannot read %s", file);
	(*text)[*len] = '\0';
	return 0;
}

int wmk_tracefs_write(int dir, const char *file, const char *text, bool append)
{
	const int fd = openat(dir, file, O_WRONLY | O_CLOEXEC | (append ? O_APPEND : O_TRUNC));
	int err = 0;

	if (fd < 0)
		return wmk_error(-errno, "cannot open %s", file);
	if (write(fd, text, strlen(text)) < 0)
		err = wmk_error(-errno, "cannot write to %s", file);
	close(fd);
	return err;
}

bool wmk_tracefs_has(int dir, const char *file)
{
	return faccessat(dir, file, F_OK, 0) == 0;
}

/* The latest entry's first line, from "error: " on. */
void wmk_tracefs_last_error(int dir, char *words, size_t size)
{
	char *text, *at, *latest = NULL;
	size_t len;

	words[0] = '\0';
	if (wmk_tracefs_read(dir, "error_log", &text, &len) < 0)
		return;
	for (at = text; (at = strstr(at, "error: ")) != NULL; at++)
		latest = at + strlen("error: ");
	if (latest)
		snprintf(words, size, "%.*s", (int)strcspn(latest, "\n"), latest);
	free(text);
}
