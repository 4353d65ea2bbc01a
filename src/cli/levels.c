/* SPDX-License-Identifier: MIT */
/*
 * levels.c - see levels.h.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include <waymark/ctl.h>

#include "base/error.h"
#include "base/nearest.h"
#include "cli/command.h"
#include "cli/levels.h"

int wmk_cli_level(const char *text, uint32_t *level)
{
	static const char prefix[] = "TRACE_";
	struct wmk_nearest near;
	uint64_t number;
	char names[80], all[160] = "";
	const char *name;

	if (text[0] >= '0' && text[0] <= '9') {
		if (wmk_cli_number(text, WAYMARK_CTL_LEVELS - 1, &number) < 0)
			return wmk_error_add(-EINVAL, "levels range from 0 (%s) to %d (%s)", waymark_ctl_level_name(0),
					     WAYMARK_CTL_LEVELS - 1,
					     waymark_ctl_level_name(WAYMARK_CTL_LEVELS - 1));
		*level = (uint32_t)number;
		return 0;
	}
	if (strncasecmp(text, prefix, sizeof(prefix) - 1) == 0)
		text += sizeof(prefix) - 1;
	wmk_nearest_init(&near, text);
	for (uint32_t i = 0; (name = waymark_ctl_level_name(i)); i++) {
		if (strcasecmp(text, name) == 0) {
			*level = i;
			return 0;
		}
		wmk_nearest_offer(&near, name);
		snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s", i ? ", " : "", name);
	}
	if (near.n)
		return wmk_error(-EINVAL, "unknown log level \"%.40s\"; did you mean: %s?", text,
				 wmk_nearest_text(&near, names, sizeof(names)));
	wmk_error(-EINVAL, "the levels are %s", all);
	return wmk_error_add(-EINVAL, "unknown log level \"%.40s\"", text);
}

int wmk_cli_level_range(const char *text, uint32_t *from, uint32_t *to)
{
	const char *dots = strstr(text, "..");
	char first[64];
	int err;

	if (!dots) {
		err = wmk_cli_level(text, from);
		*to = *from;
		return err;
	}
	snprintf(first, sizeof(first), "%.*s", (int)(dots - text), text);
	err = wmk_cli_level(first, from);
	if (err == 0)
		err = wmk_cli_level(dots + 2, to);
	if (err < 0)
		return err;
	if (*from > *to) {
		uint32_t swap = *from;

		*from = *to;
		*to = swap;
	}
	return 1;
}
