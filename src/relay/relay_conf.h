/* SPDX-License-Identifier: MIT */
/*
 * relay_conf.h - the file relay.conf: limits of a relay, for all hosts and for one host.
 *
 *     connections = 2000             of all hosts together
 *     max-bytes = 100G               on the disk, for each host; 0: no limit
 *     max-bytes web1 = 500G          for the host "web1"
 *     max-connections = 500          for each host
 *     disk-reserve = 256M            of the file system, which stays free
 *
 * waymark-relayd(8) describes the names. A text after '#' is a comment.
 */
#ifndef WMK_RELAY_RELAY_CONF_H
#define WMK_RELAY_RELAY_CONF_H

#include <stddef.h>
#include <stdint.h>

#include "wire/relay.h"

#define WMK_RELAY_CONF_HOSTS 4096u           /* maximum number of lines with a host */
#define WMK_RELAY_CONF_BYTES (1u << 20)

struct wmk_relay_conf_host {
	char name[WMK_RELAY_HOST_MAX + 1];
	uint64_t max_bytes, max_connections;     /* UINT64_MAX: the limit for each host applies */
};
struct wmk_relay_conf {
	uint64_t connections, max_bytes, max_connections, disk_reserve;
	struct wmk_relay_conf_host *hosts;
	size_t n_hosts;
};

/* The limits that apply without a file. */
void wmk_relay_conf_default(struct wmk_relay_conf *conf);
/* Parse `text`. `path` is for messages. 0, or -errno with a cause chain that contains the line number. */
int wmk_relay_conf_parse(const char *path, const char *text, size_t len, struct wmk_relay_conf *conf);
/* Read the file. -ENOENT: the file does not exist, and *conf has the defaults. */
int wmk_relay_conf_read(const char *path, struct wmk_relay_conf *conf);
/* The limits of a host. */
struct wmk_relay_conf_host wmk_relay_conf_of(const struct wmk_relay_conf *conf, const char *host);
void wmk_relay_conf_free(struct wmk_relay_conf *conf);

#endif
