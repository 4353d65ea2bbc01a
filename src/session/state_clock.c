/* SPDX-License-Identifier: MIT */
/*
 * state_clock.c - one measurement of the trace clock for all daemons of a session's life (see state.h).
 */
#include "session/state_inside.h"

#include "base/error.h"
#include "ctl/json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CLOCK_FRESH "clock.new"
/* What two measurements of one clock's rate never differ by: parts of the rate. */
#define RATE_PARTS 100u

struct state_clock {
	uint32_t kind;               /* enum wmk_clock_kind */
	uint64_t freq, offset, precision;
	int64_t offset_s;
	const char *uuid;
};

static const struct wmk_member clock_members[] = {
	WMK_MEMBER_OF_U32(state_clock, kind),
	WMK_MEMBER_OF_U64(state_clock, freq),
	WMK_MEMBER_OF_I64(state_clock, offset_s),
	WMK_MEMBER_OF_U64(state_clock, offset),
	WMK_MEMBER_OF_U64(state_clock, precision),
	WMK_MEMBER_OF_TEXT(state_clock, uuid, 36),
};
static const struct wmk_object clock_object = WMK_OBJECT_OF("clock", state_clock, clock_members);

/* The same clock since the same start of the machine, and sane. Of what is recovered the machine may be gone, and its clock with it. */
static bool is_of(const struct state_clock *kept, const struct wmk_clock *clock, bool recovered)
{
	uint64_t apart = kept->freq > clock->freq ? kept->freq - clock->freq : clock->freq - kept->freq;

	if (recovered)
		return kept->kind <= WMK_CLOCK_COUNTER && kept->freq > 0 && kept->offset < kept->freq && strlen(kept->uuid) < sizeof(clock->uuid);
	return kept->kind == (uint32_t)clock->kind && strcmp(kept->uuid, clock->uuid) == 0 && kept->offset < kept->freq &&
	       apart <= clock->freq / RATE_PARTS;
}

static bool clock_read(const struct wmk_state *state, struct wmk_clock *clock)
{
	struct wmk_arena arena = { 0 };
	struct state_clock kept;
	uint8_t *text = NULL;
	long len = wmk_state_slurp(state->dir, CLOCK_FILE, CLOCK_MAX, &text);
	bool taken = len >= 0 && wmk_json_read(&clock_object, (const char *)text, (size_t)len, &kept, &arena) == 0 && is_of(&kept, clock, state->recovered);

	if (taken) {
		clock->kind = kept.kind;
		strcpy(clock->uuid, kept.uuid);
		clock->freq = kept.freq;
		clock->offset_s = kept.offset_s;
		clock->offset = kept.offset;
		clock->precision = kept.precision;
	}
	wmk_error_clear();
	free(text);
	wmk_arena_free(&arena);
	return taken;
}

int wmk_state_clock(struct wmk_state *state, struct wmk_clock *clock)
{
	const struct state_clock is = { .kind = (uint32_t)clock->kind, .freq = clock->freq, .offset = clock->offset,
					.precision = clock->precision, .offset_s = clock->offset_s, .uuid = clock->uuid };
	char *text = NULL;

	if (wmk_state_sessions(state) > 0 && clock_read(state, clock))
		return 0;
	if (state->recovered)
		return wmk_error_said(-ENODATA, "the clock of the recording is not known: " CLOCK_FILE " is missing there, or not understood");
	int err = wmk_json_text(&clock_object, &is, 0, &text);
	if (err == 0)
		err = wmk_state_file_write(state, CLOCK_FILE, CLOCK_FRESH, text);
	free(text);
	return err;
}
