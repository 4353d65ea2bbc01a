/* SPDX-License-Identifier: MIT */
/*
 * viewer.h - one connection of the LTTng-live protocol: a viewer such as babeltrace2.
 */
#ifndef WMK_RELAY_VIEWER_H
#define WMK_RELAY_VIEWER_H

/*
 * Handle the requests of a viewer until the viewer closes the connection or violates the protocol. `root` is the
 * directory that contains the directories HOST/SESSION. The function blocks; shut the socket down to end the function
 * from another thread. 0: the viewer has closed the connection; -errno with a cause chain. The caller closes both
 * descriptors.
 */
int wmk_viewer_serve(int socket, int root);

#endif
