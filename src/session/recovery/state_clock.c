/* SPDX-License-Identifier: MIT */
/*
 * state_clock.c - keep one measurement of each clock for all daemons of a session's life (see state_file.h).
 */
#include "session/recovery/state_entry.h"
#include "session/recovery/state_file.h"

#include "base/error.h"
#include "ctl/json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CLOCK_FRESH "clock.new"
/* Two measurements of the rate of one clock differ by less than 1/RATE_PARTS of the rate. */
#define RATE_PARTS 100u

struct state_clock {
	uint32_t kind;               /* enum wmk_clock_kind */
	uint64_t freq, offset, precision;
	int64_t offset_s;
	const char *uuid;
};

struct state_clocks { struct wmk_list clocks; };     /* of struct state_clock */

static const struct wmk_member clock_members[] = {
	WMK_MEMBER(U32, state_clock, kind),
	WMK_MEMBER(U64, state_clock, freq),
	WMK_MEMBER(I64, state_clock, offset_s),
	WMK_MEMBER(U64, state_clock, offset),
	WMK_MEMBER(U64, state_clock, precision),
	WMK_MEMBER(TEXT, state_clock, uuid, 36),
};
static const struct wmk_object clock_object = WMK_OBJECT_OF("clock", state_clock, clock_members);
static const struct wmk_member clocks_members[] = {
	WMK_MEMBER(LIST, state_clocks, clocks, clock_object, WMK_CLOCK_KINDS),
};
static const struct wmk_object clocks_object = WMK_OBJECT_OF("clocks", state_clocks, clocks_members);

static bool is_sane(const struct state_clock *kept)
{
	return kept->kind <= WMK_CLOCK_COUNTER && kept->freq > 0 && kept->offset < kept->freq;
}

/*
 * True if the kept clock equals the clock that this daemon has measured, and belongs to the same boot. The counter is
 * accepted even if the kernel does not use it any more, because the sessions recorded with it.
 */
static bool is_same(const struct state_clock *kept, const struct wmk_clocks *clocks)
{
	const struct wmk_clock *now = &clocks->of[kept->kind];
	const char *uuid = now->freq ? now->uuid : clocks->of[WMK_CLOCK_MONOTONIC].uuid;
	uint64_t apart = kept->freq > now->freq ? kept->freq - now->freq : now->freq - kept->freq;

	return *uuid && strcmp(kept->uuid, uuid) == 0 && (!now->freq || apart <= now->freq / RATE_PARTS);
}

static void take(const struct state_clock *kept, struct wmk_clock *clock)
{
	wmk_clock_label(kept->kind, clock);
	strcpy(clock->uuid, kept->uuid);
	clock->freq = kept->freq;
	clock->offset_s = kept->offset_s;
	clock->offset = kept->offset;
	clock->precision = kept->precision;
}

/*
 * Read the clocks from the file. Returns how many were taken. The machine of a recovered recording may not exist any
 * more, so only the clocks in the file are valid for that recording.
 */
static unsigned clocks_read(const struct wmk_state *state, struct wmk_clocks *clocks)
{
	struct wmk_arena arena = { 0 };
	struct state_clocks kept;
	uint8_t *text = NULL;
	long len = wmk_state_read_file(state->dir, CLOCK_FILE, CLOCK_MAX, &text);
	const bool is_read =
		len >= 0 && wmk_json_read(&clocks_object, (const char *)text, (size_t)len, &kept, &arena) == 0;
	const struct state_clock *each = is_read ? kept.clocks.items : NULL;
	unsigned taken = 0;

	for (int i = 0; i < WMK_CLOCK_KINDS && state->recovered; i++)
		clocks->of[i].freq = 0;
	for (uint32_t i = 0; is_read && i < kept.clocks.n; i++)
		if (is_sane(&each[i]) && (state->recovered || is_same(&each[i], clocks))) {
			take(&each[i], &clocks->of[each[i].kind]);
			taken++;
		}
	wmk_error_clear();
	free(text);
	wmk_arena_free(&arena);
	return taken;
}

static int clocks_write(const struct wmk_state *state, const struct wmk_clocks *clocks)
{
	struct state_clock all[WMK_CLOCK_KINDS];
	struct state_clocks are = { .clocks = { .items = all } };
	char *text = NULL;

	for (int i = 0; i <= WMK_CLOCK_COUNTER; i++) {
		const struct wmk_clock *clock = &clocks->of[i];

		if (clock->freq)
			all[are.clocks.n++] = (struct state_clock){
				.kind = (uint32_t)i, .freq = clock->freq, .offset = clock->offset,
				.precision = clock->precision, .offset_s = clock->offset_s, .uuid = clock->uuid };
	}
	int err = wmk_json_text(&clocks_object, &are, 0, &text);

	if (err == 0)
		err = wmk_state_file_write(state, CLOCK_FILE, CLOCK_FRESH, text);
	free(text);
	return err;
}

int wmk_state_clocks(struct wmk_state *state, struct wmk_clocks *clocks)
{
	const unsigned kept = wmk_state_sessions(state) > 0 ? clocks_read(state, clocks) : 0;
	unsigned n = 0;

	if (state->recovered)
		return kept ? 0 : wmk_errorx(-ENODATA, "the clock of the recording is unknown: " CLOCK_FILE
					     " is missing there, or invalid");
	for (int i = 0; i <= WMK_CLOCK_COUNTER; i++)
		n += clocks->of[i].freq != 0;
	return kept == n ? 0 : clocks_write(state, clocks);
}
