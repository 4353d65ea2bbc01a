/* SPDX-License-Identifier: MIT */
/* membarrier.c - see membarrier.h. */
#include <errno.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>
#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#endif

#include "tracer/membarrier.h"

int wmk_membarrier(int command, int registration)
{
	for (int i = 0; i < 2; i++) {
		if (syscall(SYS_membarrier, command, 0, 0) == 0)
			return 0;
		if (errno != EPERM || syscall(SYS_membarrier, registration, 0, 0) != 0)
			break;
	}
	return -errno;
}

void wmk_membarrier_prepare(void)
{
#if __has_include(<sys/single_threaded.h>)
	if (!__libc_single_threaded)
		return;
	syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0);
	syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_RSEQ, 0, 0);
#endif
}
