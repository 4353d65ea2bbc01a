/* SPDX-License-Identifier: MIT */
/* name_check.c - names of sessions and channels. */
#include "session/model/name_check.h"

#include "base/error.h"
#include "base/utf8.h"

#include <errno.h>
#include <string.h>

/* Names become names of directories and files, and are shown on terminals. */
int wmk_name_check(const char *what, const char *name)
{
	size_t len = name ? strnlen(name, WMK_CTL_NAME_MAX + 1) : 0;

	if (len == 0 || len > WMK_CTL_NAME_MAX)
		return wmk_error(-EINVAL, "a %s's name has 1 to %u bytes", what, WMK_CTL_NAME_MAX);
	for (const char *c = name; *c; c++)
		if (*c == '/' || (unsigned char)*c < ' ' || *c == 0x7f)
			return wmk_error(-EINVAL, "a %s's name holds no '/' and no control characters", what);
	if (name[0] == '.')
		return wmk_error(-EINVAL, "a %s's name does not begin with a '.'", what);
	if (!wmk_utf8_is(name))          /* else no terminal could show it, and no state file hold it */
		return wmk_error(-EINVAL, "a %s's name is UTF-8", what);
	return 0;
}
