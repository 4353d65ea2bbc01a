/* SPDX-License-Identifier: MIT */
/* relay_conf.c - the parser of relay.conf (see relay_conf.h). */
#include "relay/relay_conf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "base/nearest.h"
#include "base/size.h"
#include "net/certificates.h"
#include "store/store.h"

#define BLANK " \t\r"
#define NO_HOST SIZE_MAX

static const struct {
	const char *name;
	size_t at, host_at;            /* host_at NO_HOST: a limit that cannot be set for one host */
	uint64_t min, max;
} known[] = {
	{ "connections", offsetof(struct wmk_relay_conf, connections), NO_HOST, 1, 100000 },
	{ "max-bytes", offsetof(struct wmk_relay_conf, max_bytes), offsetof(struct wmk_relay_conf_host, max_bytes), 0,
	  INT64_MAX },
	{ "max-connections", offsetof(struct wmk_relay_conf, max_connections),
	  offsetof(struct wmk_relay_conf_host, max_connections), 1, 100000 },
	{ "max-rate", offsetof(struct wmk_relay_conf, max_rate), offsetof(struct wmk_relay_conf_host, max_rate),
	  0, INT64_MAX },
	{ "disk-reserve", offsetof(struct wmk_relay_conf, disk_reserve), NO_HOST, 0, INT64_MAX },
};

void wmk_relay_conf_default(struct wmk_relay_conf *conf)
{
	*conf = (struct wmk_relay_conf){ .connections = 2000, .max_connections = 1000,
					 .disk_reserve = WMK_STORE_KEEP_FREE };
}

static char *trimmed(char *text)
{
	text += strspn(text, BLANK);
	for (size_t n = strlen(text); n && strchr(BLANK, text[n - 1]); n--)
		text[n - 1] = '\0';
	return text;
}

static int unknown(const char *name)
{
	struct wmk_nearest near;
	char names[64];

	wmk_nearest_init(&near, name);
	for (size_t i = 0; i < WMK_ARRAY_LEN(known); i++)
		wmk_nearest_offer(&near, known[i].name);
	wmk_nearest_text(&near, names, sizeof(names));
	return wmk_errorx(-EINVAL, "unknown limit '%.40s'%s%s", name, names[0] ? "; did you mean: " : "", names);
}

/* Find or create the entry of a host. NULL with a cause chain. */
static struct wmk_relay_conf_host *host_of(struct wmk_relay_conf *conf, const char *name)
{
	struct wmk_relay_conf_host *grown;

	for (size_t i = 0; i < conf->n_hosts; i++)
		if (strcmp(conf->hosts[i].name, name) == 0)
			return &conf->hosts[i];
	if (!wmk_peer_name_is_valid(name)) {
		wmk_errorx(-EINVAL, "'%.40s' is not the name of a host", name);
		return NULL;
	}
	grown = conf->n_hosts == WMK_RELAY_CONF_HOSTS
			? NULL
			: realloc(conf->hosts, (conf->n_hosts + 1) * sizeof(*grown));
	if (!grown) {
		wmk_error(-ENOMEM, "no memory for another host, or more than %u hosts", WMK_RELAY_CONF_HOSTS);
		return NULL;
	}
	conf->hosts = grown;
	grown += conf->n_hosts++;
	*grown = (struct wmk_relay_conf_host){ .max_bytes = UINT64_MAX, .max_connections = UINT64_MAX,
					       .max_rate = UINT64_MAX };
	strcpy(grown->name, name);
	return grown;
}

/* view NAME = HOST[,HOST...], or = * */
static int take_view(const char *name, char *value, struct wmk_relay_conf *conf)
{
	struct wmk_relay_conf_view is = { .hosts = "," }, *grown;
	size_t i = 0;

	if (!wmk_peer_name_is_valid(name))
		return wmk_errorx(-EINVAL, "'%.40s' is not the name of a viewer: the form is view NAME = "
				  "HOST[,HOST...], or view NAME = *", name);
	strcpy(is.name, name);
	if (strcmp(trimmed(value), "*") == 0)
		strcpy(is.hosts, "*");
	for (char *next, *host = is.hosts[0] == '*' ? NULL : value; host; host = next) {
		next = strchr(host, ',');
		if (next)
			*next++ = '\0';
		host = trimmed(host);
		if (!wmk_peer_name_is_valid(host) || strlen(is.hosts) + strlen(host) + 2 > sizeof(is.hosts))
			return wmk_errorx(-EINVAL, "'%.40s' is not the name of a host", host);
		strcat(strcat(is.hosts, host), ",");
	}
	while (i < conf->n_views && strcmp(conf->views[i].name, name) != 0)
		i++;
	if (i == conf->n_views) {
		grown = i == WMK_RELAY_CONF_HOSTS ? NULL : realloc(conf->views, (i + 1) * sizeof(*grown));
		if (!grown)
			return wmk_error(-ENOMEM, "no memory for another viewer, or more than %u viewers",
					 WMK_RELAY_CONF_HOSTS);
		conf->views = grown;
		conf->n_views++;
	}
	conf->views[i] = is;
	return 0;
}

static int take(char *line, struct wmk_relay_conf *conf)
{
	char *value = strchr(line, '='), *host;
	struct wmk_relay_conf_host *of = NULL;
	uint64_t number;
	size_t i = 0;
	int err;

	if (!value)
		return wmk_errorx(-EINVAL, "cannot parse '%.40s': the form is name = number, or name host = number",
				  trimmed(line));
	*value++ = '\0';
	line = trimmed(line);
	host = line + strcspn(line, BLANK);
	if (*host) {
		*host++ = '\0';
		host = trimmed(host);
	}
	if (strcmp(line, "view") == 0)
		return take_view(host, value, conf);
	while (i < WMK_ARRAY_LEN(known) && strcmp(known[i].name, line) != 0)
		i++;
	if (i == WMK_ARRAY_LEN(known))
		return unknown(line);
	if (*host && known[i].host_at == NO_HOST)
		return wmk_errorx(-EINVAL, "%s is a limit of all hosts together, not of '%.40s'", line, host);
	err = wmk_size_parse(trimmed(value), &number);
	if (err < 0)
		return err;
	if (number < known[i].min || number > known[i].max)
		return wmk_errorx(-ERANGE, "invalid %s: allowed are %llu to %llu", line,
				  (unsigned long long)known[i].min, (unsigned long long)known[i].max);
	if (*host && !(of = host_of(conf, host)))
		return wmk_error_number();
	*(uint64_t *)(void *)(of ? (char *)of + known[i].host_at : (char *)conf + known[i].at) = number;
	return 0;
}

int wmk_relay_conf_parse(const char *path, const char *text, size_t len, struct wmk_relay_conf *conf)
{
	const char *end = text + len;
	char line[WMK_RELAY_CONF_LINE + 1];

	wmk_relay_conf_default(conf);
	for (unsigned number = 1; text < end; number++) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		const size_t n = (size_t)((newline ? newline : end) - text);
		int err = n > WMK_RELAY_CONF_LINE || memchr(text, '\0', n)
				  ? wmk_errorx(-EINVAL, "the line is too long or holds a null character")
				  : 0;

		if (err == 0) {
			memcpy(line, text, n);
			line[n] = '\0';
			line[strcspn(line, "#")] = '\0';
			err = *trimmed(line) ? take(line, conf) : 0;
		}
		if (err < 0) {
			wmk_relay_conf_free(conf);
			return wmk_error_add(err, "%.240s, line %u", path, number);
		}
		text += n + 1;
	}
	return 0;
}

int wmk_relay_conf_read(const char *path, struct wmk_relay_conf *conf)
{
	const int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	int err = fd < 0 ? -errno : 0;
	struct stat st;
	char *text;
	ssize_t n;

	wmk_relay_conf_default(conf);
	if (err < 0)
		return wmk_error(err, "cannot open %.240s", path);
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > WMK_RELAY_CONF_BYTES) {
		close(fd);
		return wmk_error(-EINVAL, "%.240s is not a regular file of at most %u bytes", path,
				 WMK_RELAY_CONF_BYTES);
	}
	text = malloc((size_t)st.st_size + 1);
	n = text ? pread(fd, text, (size_t)st.st_size, 0) : -1;
	err = !text ? wmk_error(-ENOMEM, "no memory to read %.240s", path)
	      : n < 0 ? wmk_error(-errno, "cannot read %.240s", path)
		      : wmk_relay_conf_parse(path, text, (size_t)n, conf);
	free(text);
	close(fd);
	return err;
}

struct wmk_relay_conf_host wmk_relay_conf_of(const struct wmk_relay_conf *conf, const char *host)
{
	struct wmk_relay_conf_host found = { .max_bytes = conf->max_bytes, .max_connections = conf->max_connections,
					     .max_rate = conf->max_rate };

	for (size_t i = 0; i < conf->n_hosts; i++) {
		const struct wmk_relay_conf_host *is = &conf->hosts[i];

		if (strcmp(is->name, host) != 0)
			continue;
		found.max_bytes = is->max_bytes == UINT64_MAX ? found.max_bytes : is->max_bytes;
		found.max_connections =
			is->max_connections == UINT64_MAX ? found.max_connections : is->max_connections;
		found.max_rate = is->max_rate == UINT64_MAX ? found.max_rate : is->max_rate;
	}
	strncpy(found.name, host, sizeof(found.name) - 1);
	return found;
}

bool wmk_relay_conf_may_view(const struct wmk_relay_conf *conf, const char *name, const char *role, const char *host)
{
	char one[WMK_RELAY_HOST_MAX + 3];

	if (strcmp(role, "viewer") != 0)
		return strcmp(name, host) == 0;
	snprintf(one, sizeof(one), ",%.*s,", (int)WMK_RELAY_HOST_MAX, host);
	for (size_t i = 0; i < conf->n_views; i++)
		if (strcmp(conf->views[i].name, name) == 0)
			return conf->views[i].hosts[0] == '*' || strstr(conf->views[i].hosts, one);
	return true;
}

void wmk_relay_conf_free(struct wmk_relay_conf *conf)
{
	free(conf->views);
	conf->views = NULL;
	conf->n_views = 0;
	free(conf->hosts);
	conf->hosts = NULL;
	conf->n_hosts = 0;
}
