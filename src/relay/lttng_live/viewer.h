/* SPDX-License-Identifier: MIT */
/*
 * viewer.h - one connection of the LTTng-live protocol: a viewer such as babeltrace2.
 */
#ifndef WMK_RELAY_VIEWER_H
#define WMK_RELAY_VIEWER_H

/*
 * Carry out the requests of a viewer until it closes the connection or violates the protocol. `root` is the directory
 * with HOST/SESSION. Blocks; to end it from another thread, shut the socket down. 0: the viewer has closed the
 * connection; -errno with a cause chain. The caller closes both descriptors.
 */
int wmk_viewer_serve(int socket, int root);

#endif
