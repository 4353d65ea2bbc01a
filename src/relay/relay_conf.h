/* SPDX-License-Identifier: MIT */
/*
 * relay_conf.h - the file relay.conf: limits of a relay, for all hosts and for one host.
 *
 *     connections = 2000             of all hosts together
 *     max-bytes = 100G               on the disk, for each host; 0: no limit
 *     max-bytes web1 = 500G          for the host "web1"
 *     max-connections = 500          for each host
 *     max-rate = 10M                 bytes per second that the relay receives from each host; 0: no limit
 *     disk-reserve = 256M            of the file system, which stays free
 *     view ann = web1,web2           the hosts that the viewer "ann" may view; * (the default): all
 *
 * waymark-relayd(8) describes the names. Text after '#' is a comment.
 */
#ifndef WMK_RELAY_RELAY_CONF_H
#define WMK_RELAY_RELAY_CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/relay.h"

#define WMK_RELAY_CONF_HOSTS 4096u           /* maximum number of lines with a host */
#define WMK_RELAY_CONF_LINE 200u
#define WMK_RELAY_CONF_BYTES (1u << 20)

struct wmk_relay_conf_host {
	char name[WMK_RELAY_HOST_MAX + 1];
	uint64_t max_bytes, max_connections, max_rate;       /* UINT64_MAX: the limit for each host applies */
};
/* A line with `view`. A later line replaces an earlier line with the same name. */
struct wmk_relay_conf_view {
	char name[WMK_RELAY_HOST_MAX + 1];
	char hosts[WMK_RELAY_CONF_LINE + 1];     /* "*", or names with commas between and around them */
};
struct wmk_relay_conf {
	uint64_t connections, max_bytes, max_connections, max_rate, disk_reserve;
	struct wmk_relay_conf_host *hosts;
	size_t n_hosts;
	struct wmk_relay_conf_view *views;
	size_t n_views;
};

/* Set the limits that apply if there is no file. */
void wmk_relay_conf_default(struct wmk_relay_conf *conf);
/* Parse `text`. `path` is for messages. 0, or -errno with a cause chain that contains the line number. */
int wmk_relay_conf_parse(const char *path, const char *text, size_t len, struct wmk_relay_conf *conf);
/* Read the file. -ENOENT: the file does not exist, and *conf has the defaults. */
int wmk_relay_conf_read(const char *path, struct wmk_relay_conf *conf);
/* The limits of a host. */
struct wmk_relay_conf_host wmk_relay_conf_of(const struct wmk_relay_conf *conf, const char *host);
/* True if the peer with this name and role in its certificate may view the traces of `host`. */
bool wmk_relay_conf_may_view(const struct wmk_relay_conf *conf, const char *name, const char *role, const char *host);
void wmk_relay_conf_free(struct wmk_relay_conf *conf);

#endif
