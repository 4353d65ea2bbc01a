/* SPDX-License-Identifier: MIT */
/*
 * view.h - make the public structures (waymark/ctl.h) of received objects, by the tables of wire/object.h.
 *
 * Later versions can add members to a public structure. Programs get only pointers to public structures, so no program
 * depends on the size of a structure. The public structure shares strings and arrays with the object.
 */
#ifndef WMK_CTL_VIEW_H
#define WMK_CTL_VIEW_H

#include "wire/object.h"

/* Return the public structure of an object. NULL means that memory is exhausted, and *err is -ENOMEM. */
void *wmk_ctl_view(struct wmk_arena *arena, const struct wmk_object *is, const void *object, int *err);
/*
 * Return an array of pointers to the public structures of the objects in a list. NULL means that the list is empty, or
 * that *err is -ENOMEM.
 */
void *wmk_ctl_view_list(struct wmk_arena *arena, const struct wmk_object *is, const struct wmk_list *list, int *err);

#endif
