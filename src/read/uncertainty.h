/* SPDX-License-Identifier: MIT */
/*
 * uncertainty.h - how certain the times of records are, and whether their order is known (`view --uncertainty`).
 *
 * The order of records of the same clock is certain, because the reader compares their clock values. Two traces have
 * the same clock if the UUID of the clock is the same, as in all traces of one boot. If two records of different clocks
 * are closer in time than the sum of their uncertainties, their real order may be the reverse. If traces of several
 * hosts use the clock of their relay (hosts.h), the order is shown even without `--uncertainty`.
 */
#ifndef WMK_READ_UNCERTAINTY_H
#define WMK_READ_UNCERTAINTY_H

#include "read/print.h"
#include "read/trace.h"

struct wmk_read_clock_seen {
	char *id;                  /* HOST and UUID of the clock, or its UUID, or the path of the trace */
	int64_t until;             /* ns: the latest possible time of its records so far; INT64_MAX: unknown */
};

/* Starts zeroed. */
struct wmk_read_uncertainty {
	struct wmk_read_clock_seen *clocks;
	uint32_t n, cap;
};

/*
 * Set stream->uncertainty for the current record. The caller must call this function for records in the order of time.
 * If `out` is not NULL, the beginning of a line is appended: "±0.000000123 ? ", in which '?' marks an unknown order.
 * `with_number` false: "? " only. 0 or -ENOMEM.
 */
int wmk_read_uncertainty_set(struct wmk_read_uncertainty *seen, struct wmk_read_stream *stream, bool with_number,
			     struct wmk_print_text *out);
void wmk_read_uncertainty_free(struct wmk_read_uncertainty *seen);

#endif
