/* SPDX-License-Identifier: MIT */
/* remote_traces.c - open directories and copies of sessions at relays (see remote_traces.h). */
#include "cli/remote_traces.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"

int wmk_remote_traces_open(struct wmk_remote_traces *traces, const char *const *paths, unsigned n, bool follow)
{
	struct wmk_error_chain *chain;
	int err = 0;

	traces->paths = calloc(n, sizeof(*traces->paths));
	traces->mirrors = calloc(n, sizeof(*traces->mirrors));
	traces->n = n;
	if (!traces->paths || !traces->mirrors)
		err = wmk_error(-ENOMEM, "no memory for %u paths", n);
	for (unsigned i = 0; i < n && err == 0; i++) {
		traces->paths[i] = paths[i];
		if (!wmk_mirror_is_url(paths[i]))
			continue;
		err = wmk_mirror_open(paths[i], follow, &traces->mirrors[i]);
		if (err == 0)
			traces->paths[i] = wmk_mirror_path(traces->mirrors[i]);
	}
	if (err < 0) {
		chain = wmk_error_take();
		wmk_remote_traces_close(traces);
		wmk_error_clear();
		wmk_error_give(chain);
	}
	return err;
}

int wmk_remote_traces_close(struct wmk_remote_traces *traces)
{
	int err = 0;

	for (unsigned i = 0; i < traces->n && traces->mirrors; i++) {
		const int one = traces->mirrors[i] ? wmk_mirror_close(traces->mirrors[i]) : 0;

		err = err < 0 ? err : one;
	}
	free(traces->paths);
	free(traces->mirrors);
	return err;
}
