/* SPDX-License-Identifier: MIT */
/*
 * screen.h - the tables of `waymark top` on the terminal, and its keys. Only this file uses ncurses.
 *
 *     waymark top  SESSION            1,234 records/s  0 lost ...
 *     [Threads] Processes  System calls  Spans  Events
 *     heads of columns; the head of the sort column is in reverse video
 *     rows
 *     the line of keys, or the filter
 *
 * One thread.
 */
#ifndef WMK_TOP_SCREEN_H
#define WMK_TOP_SCREEN_H

#include "analyze/result.h"

struct wmk_screen;

/* `sort`: key of the column by which tables are sorted at first, or NULL. -ENOTTY with a cause chain. */
int wmk_screen_open(const char *source, const char *sort, struct wmk_screen **screen);
/* Restore the terminal. NULL does nothing. */
void wmk_screen_close(struct wmk_screen *screen);
/* Take ownership of `shown`, and draw it. While the screen is paused, `shown` is freed and not drawn. */
void wmk_screen_show(struct wmk_screen *screen, struct wmk_result *shown);
/* The trace has ended: show this in the header. */
void wmk_screen_ended(struct wmk_screen *screen);
/* Handle typed keys, and changes of the screen size. False: quit. */
bool wmk_screen_keys(struct wmk_screen *screen);

#endif
