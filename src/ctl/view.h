/* SPDX-License-Identifier: MIT */
/*
 * view.h - make the public structures (waymark/ctl.h) of received objects, by the tables of wire/object.h.
 *
 * A public structure may grow in later versions. Users get pointers to public structures, so no program depends on the
 * size of a structure. Strings and arrays are shared with the object.
 */
#ifndef WMK_CTL_VIEW_H
#define WMK_CTL_VIEW_H

#include "wire/object.h"

/* The public structure of an object. NULL without memory: then *err is -ENOMEM. */
void *wmk_ctl_view(struct wmk_arena *arena, const struct wmk_object *is, const void *object, int *err);
/* An array of pointers to the public structures of a list of objects. NULL: the list is empty, or *err is -ENOMEM. */
void *wmk_ctl_view_list(struct wmk_arena *arena, const struct wmk_object *is, const struct wmk_list *list, int *err);

#endif
