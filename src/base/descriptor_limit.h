/* SPDX-License-Identifier: MIT */
/* descriptor_limit.h - use as many descriptors as the limits of the process allow. */
#ifndef WMK_BASE_DESCRIPTOR_LIMIT_H
#define WMK_BASE_DESCRIPTOR_LIMIT_H

#include <sys/resource.h>

/* Raise the soft limit of descriptors to the hard limit. After an error, the limit is unchanged. */
static inline void wmk_descriptor_limit_raise(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < files.rlim_max) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
}

#endif
