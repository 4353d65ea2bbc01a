/* SPDX-License-Identifier: MIT */
/*
 * peer.h - for fuzzers of dialogues: any bytes as what the other side of a socket says, with the descriptors that it
 * says are there.
 */
#ifndef WMK_WIRE_T_PEER_H
#define WMK_WIRE_T_PEER_H

#include <stddef.h>
#include <stdint.h>

/*
 * Say the frame that `data` begins with, or all of it where that is no whole one. With a frame that says that a
 * descriptor travels with it goes one of the `n_fds`, chosen by its request number; -1: none goes. Returns how many
 * bytes are done with: all, when nothing more can be said.
 */
size_t peer_say(int sock, const uint8_t *data, size_t size, const int *fds, unsigned n_fds);
/* Ends the process if other descriptors are open than when this was called first. */
void peer_count_descriptors(void);

#endif
