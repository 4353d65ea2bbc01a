/* SPDX-License-Identifier: MIT */
/*
 * arg_view.c - finds the data of one argument in a record: pieces, structures, the result (see arg_format.h).
 */
#include <string.h>

#include "strace/arg_format.h"

static const struct wmk_syscalls_piece *find_piece(const struct wmk_syscalls_record *record, unsigned arg,
						   unsigned which, bool is_late)
{
	for (unsigned i = 0; record && i < record->n_parts; i++) {
		const struct wmk_syscalls_piece *part = &record->parts[i];

		if (part->arg == arg && !(part->flags & WMK_SYSCALLS_PART_LATE) == !is_late && which-- == 0)
			return part;
	}
	return NULL;
}

/* Returns NULL if the pointer is null or the memory was unreadable. */
static const struct wmk_syscalls_piece *usable(const struct wmk_syscalls_piece *piece)
{
	if (!piece || (piece->flags & WMK_SYSCALLS_PART_NULL) ||
	    (!piece->len && (piece->flags & WMK_SYSCALLS_PART_UNREADABLE)))
		return NULL;
	return piece;
}

const struct wmk_syscalls_piece *wmk_kview_in(const struct wmk_kview *view, unsigned which)
{
	const struct wmk_syscalls_piece *piece = find_piece(view->entry, view->arg, which, false);

	if (piece && (piece->flags & WMK_SYSCALLS_PART_UNREADABLE)) {
		const struct wmk_syscalls_piece *late = find_piece(view->exit, view->arg, which, true);

		piece = late ? late : piece;
	}
	return usable(piece);
}

const struct wmk_syscalls_piece *wmk_kview_out(const struct wmk_kview *view, unsigned which)
{
	return view->has_failed ? NULL : usable(find_piece(view->exit, view->arg, which, false));
}

bool wmk_kview_struct(const struct wmk_kview *view, bool at_exit, void *to, size_t size)
{
	const struct wmk_syscalls_piece *piece = at_exit ? wmk_kview_out(view, 0) : wmk_kview_in(view, 0);

	if (!piece || piece->len < size)
		return false;
	memcpy(to, piece->bytes, size);
	return true;
}

void wmk_kline_text(struct wmk_kline *line, const struct wmk_kview *view, const uint8_t *bytes, size_t n, bool is_cut)
{
	const size_t most = view->print->strings;

	wmk_kline_quoted(line, bytes, n < most ? n : most, false);
	if (is_cut || n > most)
		wmk_kline_bytes(line, "...", 3);
}

int64_t wmk_kprint_value(const struct wmk_syscalls_record *exit)
{
	const uint64_t value = exit->n_values ? exit->values[0] : 0;

	return exit->abi == WMK_KABI_COMPAT ? (int32_t)value : (int64_t)value;
}

const struct wmk_syscalls_piece *wmk_kview_piece(const struct wmk_kview *view, unsigned which)
{
	const unsigned when = view->print->forms[view->arg]->when & (WMK_KFORM_IN | WMK_KFORM_OUT);

	return when == WMK_KFORM_OUT ? wmk_kview_out(view, which) : wmk_kview_in(view, which);
}

void wmk_kline_member(struct wmk_kline *line, const char *name, int64_t value)
{
	wmk_kline_put(line, name);
	wmk_kline_signed(line, value);
}

void wmk_kline_bracketed(struct wmk_kline *line, int64_t number)
{
	wmk_kline_member(line, "[", number);
	wmk_kline_char(line, ']');
}
