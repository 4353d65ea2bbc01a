/* SPDX-License-Identifier: MIT */
/* view.c - see view.h. */
#include "ctl/view.h"

#include <errno.h>
#include <string.h>

static void fill(struct wmk_arena *arena, const struct wmk_object *is, const void *object, uint8_t *view, int *err);

static void fill_pointer(const struct wmk_member *m, uint8_t *view, const void *pointer)
{
	memcpy(view + m->view, &pointer, sizeof(pointer));
}

static void fill_list(struct wmk_arena *arena, const struct wmk_member *m, const struct wmk_list *list, uint8_t *view,
		      int *err)
{
	const unsigned n = list->n;

	memcpy(view + m->view_n, &n, sizeof(n));
	fill_pointer(m, view, m->of ? wmk_ctl_view_list(arena, m->of, list, err) : list->items);
}

static void fill_member(struct wmk_arena *arena, const struct wmk_member *m, const uint8_t *at, uint8_t *view, int *err)
{
	uint32_t number;

	if (m->view_kind == WMK_VIEW_NAME) {
		memcpy(&number, at, sizeof(number));
		fill_pointer(m, view, m->names[number]);
		return;
	}
	switch (m->kind) {
	case WMK_MEMBER_LIST:
	case WMK_MEMBER_TEXTS:
	case WMK_MEMBER_NUMBERS:
		fill_list(arena, m, (const void *)at, view, err);
		break;
	case WMK_MEMBER_OBJECT:
		if (m->view_kind == WMK_VIEW_IN_PLACE)
			fill(arena, m->of, at, view, err);
		else
			fill_pointer(m, view, wmk_ctl_view(arena, m->of, at, err));
		break;
	default:
		memcpy(view + m->view, at, wmk_member_size(m));
	}
}

static void fill(struct wmk_arena *arena, const struct wmk_object *is, const void *object, uint8_t *view, int *err)
{
	for (unsigned i = 0; i < is->n_members && *err == 0; i++)
		if (is->members[i].view_kind != WMK_VIEW_NONE)
			fill_member(arena, &is->members[i], (const uint8_t *)object + is->members[i].offset, view, err);
}

void *wmk_ctl_view(struct wmk_arena *arena, const struct wmk_object *is, const void *object, int *err)
{
	void *view = wmk_arena_alloc(arena, is->view_size);

	if (view)
		fill(arena, is, object, view, err);
	else
		*err = -ENOMEM;
	return view;
}

void *wmk_ctl_view_list(struct wmk_arena *arena, const struct wmk_object *is, const struct wmk_list *list, int *err)
{
	const uint8_t *items = list->items;

	if (*err < 0 || list->n == 0)
		return NULL;
	void **pointers = wmk_arena_alloc(arena, list->n * sizeof(*pointers));
	uint8_t *views = pointers ? wmk_arena_alloc(arena, list->n * is->view_size) : NULL;
	if (!views) {
		*err = -ENOMEM;
		return NULL;
	}
	for (uint32_t i = 0; *err == 0 && i < list->n; i++) {
		pointers[i] = views + i * is->view_size;
		fill(arena, is, items + i * is->size, pointers[i], err);
	}
	return pointers;
}
