/* SPDX-License-Identifier: MIT */
/* followed.c - live readers of a trace (see followed.h). */
#include "store/followed.h"

#include <fcntl.h>
#include <unistd.h>

#include "store/store_state.h"

bool wmk_store_is_followed(const struct wmk_store *store)
{
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	return store->live >= 0 && fcntl(store->live, F_OFD_GETLK, &whole) == 0 && whole.l_type != F_UNLCK;
}

void wmk_store_low_water(const struct wmk_store *store, uint64_t ts)
{
	const struct wmk_store_low_water water = { ts, ~ts };

	if (store->live < 0 || pwrite(store->live, &water, sizeof(water), 0) < 0)
		return;
}
