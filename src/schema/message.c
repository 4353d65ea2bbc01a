/* SPDX-License-Identifier: MIT */
/*
 * message.c - the format of a marker or text in metadata: percent-encoded in the URI of the event class (see schema.h).
 */
#include <stdio.h>
#include <string.h>

#include "schema/schema.h"

static const char scheme[] = "waymark:message:";

static bool is_plain(unsigned char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (c && strchr("-._~:/,;=!*'()+@$", c));
}

const char *wmk_message_uri(const struct wmk_event_class *event, char uri[WMK_MESSAGE_URI])
{
	char *p = uri + sizeof(scheme) - 1;

	if (!event->format || !wmk_kind_has_format(event->kind))
		return wmk_kind_uri(event->kind);
	memcpy(uri, scheme, sizeof(scheme));
	for (const char *c = event->format; *c && p + 4 <= uri + WMK_MESSAGE_URI; c++) {
		if (is_plain((unsigned char)*c))
			*p++ = *c;
		else
			p += sprintf(p, "%%%02X", (unsigned char)*c);
	}
	*p = '\0';
	return uri;
}

static int digit(char c)
{
	const char *digits = "0123456789ABCDEF", *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

bool wmk_message_format(const char *uri, char format[WMK_TEXT_MAX + 1])
{
	char *p = format;

	if (!uri || strncmp(uri, scheme, sizeof(scheme) - 1) != 0)
		return false;
	for (const char *c = uri + sizeof(scheme) - 1; *c; c++) {
		if (p == format + WMK_TEXT_MAX)
			return false;
		if (*c != '%') {
			*p++ = *c;
			continue;
		}
		if (digit(c[1]) < 0 || digit(c[2]) < 0 || !(digit(c[1]) | digit(c[2])))
			return false;
		*p++ = (char)(digit(c[1]) << 4 | digit(c[2]));
		c += 2;
	}
	*p = '\0';
	return true;
}
