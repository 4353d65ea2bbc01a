/* SPDX-License-Identifier: MIT */
/*
 * container.h - get a structure from the address of its member. clang warns about the macro of liburcu, because it
 * drops `const`.
 */
#ifndef WMK_BASE_CONTAINER_H
#define WMK_BASE_CONTAINER_H

#include <stddef.h>
#include <stdint.h>

#define wmk_container_of(pointer, type, member) ((type *)((uintptr_t)(pointer) - offsetof(type, member)))

#endif
