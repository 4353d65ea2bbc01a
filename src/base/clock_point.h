/* SPDX-License-Identifier: MIT */
/*
 * clock_point.h - sync points of a trace clock: its value, CLOCK_MONOTONIC and real time at one moment. The file .clock
 * of a trace contains sync points (docs/trace-format.md), so that a reader can correct times. At a relay, the file
 * .clock.relay of a trace contains sync points with the times of the relay.
 *
 *     consumer ──wmk_clock_point_take()──► point ──encode──► store: .clock ──decode──► reader
 *     sender ──exchange with the relay──► point ──encode──► store: .clock.relay ──decode──► reader
 */
#ifndef WMK_BASE_CLOCK_POINT_H
#define WMK_BASE_CLOCK_POINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock_plugin.h"
#include "base/peer_name.h"

#define WMK_CLOCK_FILE ".clock"
#define WMK_CLOCK_RELAY_FILE ".clock.relay"
#define WMK_CLOCK_FILE_HEAD 64u          /* bytes before the first point of .clock */
#define WMK_CLOCK_RELAY_HEAD 176u        /* bytes before the first point of .clock.relay */
#define WMK_CLOCK_POINT_BYTES 32u
#define WMK_CLOCK_UUID 37u               /* with the NUL */

/* The sync point was measured directly after real time was set, or after the machine resumed from suspend. */
#define WMK_CLOCK_POINT_STEP 1u

struct wmk_clock_point {
	uint64_t value;            /* of the trace clock */
	uint64_t monotonic_ns;     /* CLOCK_MONOTONIC of the machine */
	uint64_t real_ns;          /* CLOCK_REALTIME: ns since 1970 */
	uint32_t uncertainty_ns;   /* maximum error of `monotonic_ns` and of `real_ns` at `value` */
	uint32_t flags;            /* WMK_CLOCK_POINT_... */
};

/*
 * Prepare `clocks` for wmk_clocks_now(), without a measurement. Loads the plug-in that WAYMARK_CLOCK_PLUGIN names.
 * Returns 0, or -errno with a cause chain if the plug-in cannot be used.
 */
int wmk_clocks_prepare(struct wmk_clocks *clocks);
/* Store the UUID that the metadata declares for this clock, or an empty string if the clock has no UUID. */
void wmk_clocks_uuid(const struct wmk_clocks *clocks, enum wmk_clock_kind kind, char uuid[WMK_CLOCK_UUID]);
/*
 * Measure a sync point: the function makes 16 attempts, and uses the attempt with the shortest time between its first
 * and its last reading. Takes a few microseconds. The flags are 0. Any thread.
 */
void wmk_clock_point_take(const struct wmk_clocks *clocks, enum wmk_clock_kind kind, struct wmk_clock_point *point);

/* The head of the files .clock and .clock.relay. The head identifies the clocks of the sync points in the file. */
struct wmk_clock_head {
	char uuid[WMK_CLOCK_UUID];           /* of the trace clock; "": none */
	uint32_t kind;                       /* of .clock: 1 + enum wmk_clock_kind; 0: unknown */
	/* UUID of the relay's clocks. The points have their times. "": the file .clock */
	char relay[WMK_CLOCK_UUID];
	char host[WMK_PEER_NAME_MAX];        /* HOST of the trace at the relay; "": the file .clock */
};
/* Returns the number of bytes: WMK_CLOCK_FILE_HEAD or WMK_CLOCK_RELAY_HEAD. */
size_t wmk_clock_head_encode(const struct wmk_clock_head *head, uint8_t bytes[WMK_CLOCK_RELAY_HEAD]);
/*
 * `len` is the size of the header, which determines the type of the file. 0; -EPROTO: another type or version of file.
 */
int wmk_clock_head_decode(const uint8_t *bytes, size_t len, struct wmk_clock_head *head);
void wmk_clock_point_encode(const struct wmk_clock_point *point, uint8_t bytes[WMK_CLOCK_POINT_BYTES]);
void wmk_clock_point_decode(const uint8_t bytes[WMK_CLOCK_POINT_BYTES], struct wmk_clock_point *point);

#endif
