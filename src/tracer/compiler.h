/* SPDX-License-Identifier: MIT */
/*
 * compiler.h - attributes and hints for the compiler.
 */
#ifndef WMK_TRACER_COMPILER_H
#define WMK_TRACER_COMPILER_H

#define WMK_EXPORT __attribute__((visibility("default")))
/* If a symbol is declared with WMK_HIDDEN, code accesses the symbol without an entry in the global offset table. */
#define WMK_HIDDEN __attribute__((visibility("hidden")))
/*
 * WMK_FIRST_PAGE places variables of the start-up path in a page that the loader has already written to. With
 * WMK_FIRST_PAGE, an application that does not record writes to no further page of the library's data.
 */
#define WMK_FIRST_PAGE __attribute__((section(".data")))

#define wmk_likely(x) __builtin_expect(!!(x), 1)
#define wmk_unlikely(x) __builtin_expect(!!(x), 0)

#endif
