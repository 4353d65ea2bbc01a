/* SPDX-License-Identifier: MIT */
/*
 * mirror.h - view sessions of a relay: copy its files to a temporary directory, which readers use as a trace.
 *
 *     tls://RELAY[:PORT]/HOST/SESSION        with the certificate in wmk_peer_file()
 *     tls://RELAY[:PORT]/HOST                all sessions of a host
 *     tls://RELAY[:PORT]                     all hosts that the certificate allows
 *     tcp://RELAY[:PORT]...                  RELAY is a loopback address
 *
 * The directory has mode 0700. A separate process removes the directory when the mirror is closed, or when the mirror's
 * process ends, even by SIGKILL.
 */
#ifndef WMK_RELAY_MIRROR_H
#define WMK_RELAY_MIRROR_H

#include <stdbool.h>

struct wmk_mirror;

/* True if the text begins with tls:// or tcp://. */
bool wmk_mirror_is_url(const char *text);
/*
 * Connect and copy the session. If `follow` is true, start a thread that updates the copy until the mirror is closed.
 * 0; -EINVAL: invalid URL; -errno. All errors are returned with a cause chain.
 */
int wmk_mirror_open(const char *url, bool follow, struct wmk_mirror **mirror);
const char *wmk_mirror_path(const struct wmk_mirror *mirror);
/* Remove the copy. -errno with a cause chain: renewing the copy had ended before, because the connection failed. */
int wmk_mirror_close(struct wmk_mirror *mirror);

#endif
