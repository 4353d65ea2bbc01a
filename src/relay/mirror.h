/* SPDX-License-Identifier: MIT */
/*
 * mirror.h - view a session of a relay: a copy of its files in a temporary directory, which readers use as any trace.
 *
 *     tls://RELAY[:PORT]/HOST/SESSION        with the certificate in wmk_peer_file()
 *     tcp://RELAY[:PORT]/HOST/SESSION        RELAY is a loopback address
 *
 * The directory has mode 0700. It is removed when the mirror is closed, also if the process is killed.
 */
#ifndef WMK_RELAY_MIRROR_H
#define WMK_RELAY_MIRROR_H

#include <stdbool.h>

struct wmk_mirror;

/* Whether the text begins with tls:// or tcp://. */
bool wmk_mirror_is_url(const char *text);
/*
 * Connect and copy the session. `follow`: a thread then renews the copy until the mirror is
 * closed. 0; -EINVAL: not such a URL; -errno with a cause chain.
 */
int wmk_mirror_open(const char *url, bool follow, struct wmk_mirror **mirror);
const char *wmk_mirror_path(const struct wmk_mirror *mirror);
/* Remove the copy. 0; -errno with a cause chain: the copy ended before, because the connection failed. */
int wmk_mirror_close(struct wmk_mirror *mirror);

#endif
