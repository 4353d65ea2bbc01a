/* SPDX-License-Identifier: MIT */
/*
 * peer.h - for fuzzers of protocols: sends any bytes over a socket, with the descriptors that the frames announce.
 */
#ifndef WMK_WIRE_T_PEER_H
#define WMK_WIRE_T_PEER_H

#include <stddef.h>
#include <stdint.h>

/*
 * Send the frame at the start of `data`, or all of `data` if that is not a complete frame. A frame with WMK_FRAME_FD is
 * sent with one of the `n_fds`, selected by its request number; -1: none. Returns the number of bytes that were used:
 * all of them if the connection has ended.
 */
size_t peer_send(int sock, const uint8_t *data, size_t size, const int *fds, unsigned n_fds);
/* Ends the process if other descriptors are open than when this was called first. */
void peer_count_descriptors(void);

#endif
