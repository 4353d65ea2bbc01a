/* SPDX-License-Identifier: MIT */
/* limits_file.c - read limits of the administrator (see limits_file.h). */
#include "sessiond/limits_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "base/nearest.h"
#include "base/size.h"
#include "wire/ctl.h"

#define LINE_MAX_BYTES 200u
#define BLANK " \t\r"

static const struct {
	const char *name;
	size_t at;
	uint64_t max;
} known[] = {
	{ "sessions", offsetof(struct wmk_limits, sessions), WMK_CTL_SESSIONS_MAX },
	{ "channels", offsetof(struct wmk_limits, channels), 32 },
	{ "rules", offsetof(struct wmk_limits, rules), WMK_CTL_RULES_MAX },
	{ "programs", offsetof(struct wmk_limits, programs), 65536 },
	{ "user-programs", offsetof(struct wmk_limits, user_programs), 65536 },
	{ "ring-memory", offsetof(struct wmk_limits, ring_memory), UINT64_MAX },
	{ "users-ring-memory", offsetof(struct wmk_limits, users_ring_memory), UINT64_MAX },
	{ "trace-size", offsetof(struct wmk_limits, trace_size), UINT64_MAX },
	{ "disk-reserve", offsetof(struct wmk_limits, disk_reserve), UINT64_MAX },
	{ "user-trace-size", offsetof(struct wmk_limits, user_trace_size), UINT64_MAX },
};

static int unknown(const char *name)
{
	struct wmk_nearest near;
	char names[64];

	wmk_nearest_init(&near, name);
	for (size_t i = 0; i < WMK_ARRAY_LEN(known); i++)
		wmk_nearest_offer(&near, known[i].name);
	wmk_nearest_text(&near, names, sizeof(names));
	return wmk_errorx(-EINVAL, "unknown limit '%.40s'%s%s", name, names[0] ? "; did you mean: " : "",
			  names);
}

/* Removes blanks at both ends, and terminates the remaining text within `text`. */
static char *trimmed(char *text)
{
	text += strspn(text, BLANK);
	for (size_t n = strlen(text); n && strchr(BLANK, text[n - 1]); n--)
		text[n - 1] = '\0';
	return text;
}

static int take(char *line, struct wmk_limits *limits)
{
	char *value = strchr(line, '=');
	uint64_t number;

#ifndef WMK_PLANTED_BUG                          /* the fuzzer must find this */
	if (!value)
		return wmk_errorx(-EINVAL, "cannot parse '%.40s': the form is name = number", trimmed(line));
#endif
	*value++ = '\0';
	line = trimmed(line);
	for (size_t i = 0; i < WMK_ARRAY_LEN(known); i++) {
		if (strcmp(known[i].name, line) != 0)
			continue;
		int err = wmk_size_parse(trimmed(value), &number);

		if (err < 0)
			return err;
		if (number == 0 || number > known[i].max)
			return wmk_errorx(-ERANGE, "invalid %s: allowed are 1 to %llu", line,
					  (unsigned long long)known[i].max);
		*(uint64_t *)(void *)((char *)limits + known[i].at) = number;
		return 0;
	}
	return unknown(line);
}

int wmk_limits_parse(const char *path, const char *text, size_t len, struct wmk_limits *limits)
{
	const char *end = text + len;
	char line[LINE_MAX_BYTES + 1];

	*limits = (struct wmk_limits){ 0 };
	for (unsigned number = 1; text < end; number++) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		const size_t n = (size_t)((newline ? newline : end) - text);
		int err = n > LINE_MAX_BYTES || memchr(text, '\0', n)
				  ? wmk_errorx(-EINVAL, "the line is too long or holds a null character")
				  : 0;

		if (err == 0) {
			memcpy(line, text, n);
			line[n] = '\0';
			line[strcspn(line, "#")] = '\0';
			err = *trimmed(line) ? take(line, limits) : 0;
		}
		if (err < 0)
			return wmk_error_add(err, "%.240s, line %u", path, number);
		text += n + 1;
	}
	return 0;
}

int wmk_limits_read(const char *path, struct wmk_limits *limits)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC), err = fd < 0 ? -errno : 0;
	char *text = err == 0 ? malloc(WMK_LIMITS_FILE_MAX + 1) : NULL;
	struct stat st;
	size_t len = 0;
	ssize_t n;

	*limits = (struct wmk_limits){ 0 };
	if (err < 0)
		return wmk_error(err, "cannot open %.240s", path);
	if (!text || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
		err = wmk_error(!text ? -ENOMEM : -EINVAL, "%.240s is not a regular file", path);
	while (err == 0 && len <= WMK_LIMITS_FILE_MAX &&
	       (n = read(fd, text + len, WMK_LIMITS_FILE_MAX + 1 - len)) != 0) {
		if (n < 0 && errno != EINTR)
			err = wmk_error(-errno, "cannot read %.240s", path);
		len += n > 0 ? (size_t)n : 0;
	}
	if (err == 0 && len > WMK_LIMITS_FILE_MAX)
		err = wmk_errorx(-EFBIG, "%.240s has more than %u bytes", path, WMK_LIMITS_FILE_MAX);
	if (err == 0)
		err = wmk_limits_parse(path, text, len, limits);
	free(text);
	close(fd);
	return err;
}
