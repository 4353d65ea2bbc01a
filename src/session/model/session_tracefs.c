/* SPDX-License-Identifier: MIT */
/*
 * session_tracefs.c - tracefs for all sessions of a daemon, opened when a session first needs it (see
 * kernel_channel.h).
 */
#include "session/model/session_tracefs.h"

#include "base/error.h"
#include "kernel/tracefs/tracefs.h"

#include <errno.h>

int wmk_kernel_tracefs(struct wmk_tracing *tracing, struct wmk_tracefs **tracefs)
{
	int err = 0;

	*tracefs = NULL;
	if (!tracing->kernel_owner[0])
		return wmk_errorx(-ENOTSUP, "this session daemon does not trace the kernel");
	pthread_mutex_lock(&tracing->lock);
	if (!tracing->tracefs)
		err = wmk_tracefs_open(NULL, &tracing->tracefs);
	*tracefs = tracing->tracefs;
	pthread_mutex_unlock(&tracing->lock);
	return err;
}
