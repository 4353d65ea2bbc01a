/* SPDX-License-Identifier: MIT */
/*
 * relay_url.c - the URL of a relay (see relay_url.h).
 */
#include "wire/relay_url.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "wire/relay.h"

static int refuse(const char *text, const char *why)
{
	return wmk_errorx(-EINVAL, "invalid relay '%.200s': %s", text, why);
}

/* Return the text after `scheme`, or NULL if the text has another scheme. */
static const char *after(const char *text, const char *scheme)
{
	const size_t len = strlen(scheme);

	return strncmp(text, scheme, len) == 0 ? text + len : NULL;
}

static int refuse_scheme(const char *text)
{
	static const char *const lttng[] = { "net://", "net6://", "tcp6://", "file://" };

	for (unsigned i = 0; i < sizeof(lttng) / sizeof(*lttng); i++)
		if (after(text, lttng[i]))
			return refuse(text,
				      "the URLs net, net6, tcp6 and file belong to LTTng, and its relay has another "
				      "protocol (use tcp://127.0.0.1 for waymark-relayd, --output for a directory)");
	return refuse(text, "the form is tls://RELAY[:PORT] or tcp://127.0.0.1[:PORT][/HOST]");
}

static int is_loopback(const char *address)
{
	return after(address, "127.") || strcmp(address, "localhost") == 0 || strcmp(address, "::1") == 0;
}

void wmk_relay_own_name(char name[WMK_PEER_NAME_MAX])
{
	char found[256] = "";

	if (gethostname(found, sizeof(found) - 1) < 0)
		found[0] = '\0';
	snprintf(name, WMK_PEER_NAME_MAX, "%.*s", WMK_PEER_NAME_MAX - 1, found);
	for (char *c = name; *c; c++)
		if (!isalnum((unsigned char)*c) && !strchr("-_.", *c))
			*c = '-';
	if (!wmk_peer_name_is_valid(name))
		snprintf(name, WMK_PEER_NAME_MAX, "localhost");
}

int wmk_relay_url_parse(const char *text, struct wmk_relay_url *url)
{
	const char *tcp = after(text, "tcp://"), *at = tcp ? tcp : after(text, "tls://"), *end, *slash;
	size_t len;

	if (strlen(text) > WMK_RELAY_URL_MAX)
		return refuse(text, "the URL is too long");
	if (!at)
		return refuse_scheme(text);
	memset(url, 0, sizeof(*url));
	url->port = WMK_RELAY_PORT;
	url->tls = !tcp;
	slash = strchr(at, '/');
	end = *at == '[' ? strchr(at, ']') : at + strcspn(at, ":/");
	at += *at == '[';
	if (!end || (slash && slash < end))
		return refuse(text, "']' is missing after the address");
	len = (size_t)(end - at);
	if (len == 0 || len >= sizeof(url->address))
		return refuse(text, "the address of the relay is missing or too long");
	memcpy(url->address, at, len);
	at = end + (*end == ']');
	if (*at == ':') {
		char *digits;
		const unsigned long port = strtoul(at + 1, &digits, 10);

		if (!isdigit((unsigned char)at[1]) || port == 0 || port > UINT16_MAX)
			return refuse(text, "the port must be a number from 1 to 65535");
		url->port = (uint16_t)port;
		at = digits;
	}
	if (*at && *at != '/')
		return refuse(text, "the form is tls://RELAY[:PORT] or tcp://127.0.0.1[:PORT][/HOST]");
	at += *at == '/';
	if (*at && url->tls)
		return refuse(text, "tls:// takes HOST from the certificate of this machine (the form is "
				    "tls://RELAY[:PORT])");
	if (*at && !wmk_peer_name_is_valid(at))
		return refuse(text,
			      "HOST must have 1 to 63 letters, digits, '-', '_' or '.', and begin with a letter, a "
			      "digit or '_'");
	snprintf(url->host, sizeof(url->host), "%s", at);
	if (!url->tls && !is_loopback(url->address))
		return refuse(text,
			      "plain TCP is allowed only to a relay on this machine (127.0.0.1, [::1], localhost): "
			      "use tls:// for other machines");
	return 0;
}
