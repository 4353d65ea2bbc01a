/* SPDX-License-Identifier: MIT */
/*
 * container.h - from a member to the structure that it is in. (liburcu's own macro takes the const off on its way,
 * which clang minds.)
 */
#ifndef WMK_BASE_CONTAINER_H
#define WMK_BASE_CONTAINER_H

#include <stddef.h>
#include <stdint.h>

#define wmk_container_of(pointer, type, member) ((type *)((uintptr_t)(pointer) - offsetof(type, member)))

#endif
