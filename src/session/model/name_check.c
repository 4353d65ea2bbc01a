/* SPDX-License-Identifier: MIT */
/* name_check.c - check the names of sessions and channels. */
#include "session/model/name_check.h"

#include "base/error.h"
#include "base/utf8.h"

#include <errno.h>
#include <string.h>

/* Names of sessions and channels become names of directories and files, and terminals display these names. */
int wmk_name_check(const char *what, const char *name)
{
	size_t len = name ? strnlen(name, WMK_CTL_NAME_MAX + 1) : 0;

	if (len == 0 || len > WMK_CTL_NAME_MAX)
		return wmk_error(-EINVAL, "invalid %s name: 1 to %u bytes are allowed", what, WMK_CTL_NAME_MAX);
	for (const char *c = name; *c; c++)
		if (*c == '/' || (unsigned char)*c < ' ' || *c == 0x7f)
			return wmk_error(-EINVAL, "invalid %s name: '/' and control characters are not allowed", what);
	if (name[0] == '.')
		return wmk_error(-EINVAL, "invalid %s name: a '.' at its beginning is not allowed", what);
	if (!wmk_utf8_is(name))          /* terminals and state files need UTF-8 */
		return wmk_error(-EINVAL, "invalid %s name: it is not valid UTF-8", what);
	return 0;
}
