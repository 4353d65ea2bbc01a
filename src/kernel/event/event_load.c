/* SPDX-License-Identifier: MIT */
/*
 * event_load.c - loads a kernel event from its `format` file (see kernel_event.h).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "kernel/event/kernel_event.h"
#include "kernel/tracefs/tracefs.h"

int wmk_kformat_load(int dir, const char *system, const char *name, struct wmk_kformat **format)
{
	char path[300], *text;
	size_t len;
	int err;

	if (strchr(system, '/') || strchr(name, '/') || *system == '.' || *name == '.' ||
	    snprintf(path, sizeof(path), "events/%s/%s/format", system, name) >= (int)sizeof(path))
		return wmk_error(-EINVAL, "invalid event name \"%.60s:%.60s\"", system, name);
	err = wmk_tracefs_read(dir, path, &text, &len);
	if (err < 0)
		return err;
	err = wmk_kformat_parse(system, text, len, format);
	free(text);
	return err;
}

int wmk_kevent_load(int dir, const char *system, const char *name, struct wmk_kevent **event)
{
	struct wmk_kformat *format;
	int err = wmk_kformat_load(dir, system, name, &format);

	if (err < 0)
		return err;
	err = wmk_kevent_make(format, event);
	free(format);
	return err;
}
