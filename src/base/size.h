/* SPDX-License-Identifier: MIT */
/*
 * size.h - numbers as people write them: "4096", "64k", "8M", "2G" (by 1024).
 */
#ifndef WMK_BASE_SIZE_H
#define WMK_BASE_SIZE_H

#include <stdint.h>

/* 0; -EINVAL: it is none; -ERANGE: too large. With a cause chain that quotes it. Any thread. */
int wmk_size_parse(const char *text, uint64_t *size);

#endif
