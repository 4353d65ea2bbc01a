/* SPDX-License-Identifier: MIT */
/*
 * size.h - parse sizes with unit letters: "4096", "64k", "8M", "2G" (multiples of 1024).
 */
#ifndef WMK_BASE_SIZE_H
#define WMK_BASE_SIZE_H

#include <stdint.h>

/* Returns 0, -EINVAL (not a size) or -ERANGE (too large), with a cause chain that quotes the text. Any thread. */
int wmk_size_parse(const char *text, uint64_t *size);

#endif
