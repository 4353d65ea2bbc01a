/* SPDX-License-Identifier: MIT */
/*
 * syscall_event.c - event classes of system calls (see syscall_event.h).
 */
#include "kernel/syscall/syscall_event.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "kernel/syscall/syscall_fields.h"
#include "schema/scratch.h"

/* ── the list of items ───────────────────────────────────────────────────────────────────────────────── */

struct list {
	struct wmk_kitem *items;
	unsigned n, n_pointed;
};

static void add(struct list *list, enum wmk_kshow show, unsigned arg)
{
		/* The BPF program copies the data of at most WMK_SYSCALLS_PARTS pointers, in this order. */
	if (wmk_kshow_is_pointed(show) && list->n_pointed++ >= WMK_SYSCALLS_PARTS)
		return;
	list->items[list->n++] = (struct wmk_kitem){ .show = (uint8_t)show, .arg = (uint8_t)arg };
}

unsigned wmk_syscall_items(const struct wmk_syscall *call, bool is_exit, struct wmk_kitem items[WMK_KITEMS])
{
	struct list list = { .items = items };

	if (!wmk_syscall_name((enum wmk_kabi)call->abi, call->number))
		add(&list, WMK_KSHOW_ID, 0);
	if (is_exit)
		add(&list, WMK_KSHOW_RET, 0);
	for (unsigned i = 0; i < call->n_args; i++) {
		const struct wmk_kkind_row *kind = &wmk_kkinds[call->args[i].kind];

		/* A text replaces its pointer. */
		if (!is_exit && kind->show != WMK_KSHOW_TEXT && kind->show != WMK_KSHOW_TEXTS)
			add(&list, WMK_KSHOW_NUMBER, i);
		if (is_exit ? kind->at_exit || wmk_syscall_is_late(call, i) : kind->at_entry)
			add(&list, (enum wmk_kshow)kind->show, i);
	}
	if (list.n_pointed)
		add(&list, WMK_KSHOW_POINTERS, 0);
	return list.n;
}

/* ── fields ──────────────────────────────────────────────────────────────────────────────────────────── */

#define FIELDS (WMK_KITEMS * WMK_KITEM_FIELDS)
#define LABELS (WMK_SYSCALLS_PARTS * WMK_KPOINTER_BITS)
#define NAME (WMK_SYSCALL_NAME + 16)

/* A class under construction. */
struct draft {
	struct wmk_field fields[FIELDS];
	char names[FIELDS][NAME], label_names[LABELS][NAME];
	struct wmk_label labels[LABELS];
	unsigned n, n_labels;
};

static const struct wmk_type text_type = { .kind = WMK_TYPE_STRING };

#define NUMBER_TYPE(bits, is_negative, in_base) \
	{ \
		.kind = WMK_TYPE_INT, .width = (bits), .is_signed = (is_negative), .base = (in_base) \
	}

static const struct wmk_field poll_fields[] = {
	{ .name = "fd", .type = NUMBER_TYPE(32, 1, 10) }, { .name = "events", .type = NUMBER_TYPE(16, 0, 16) },
	{ .name = "revents", .type = NUMBER_TYPE(16, 0, 16) },
};
static const struct wmk_type poll_type = { .kind = WMK_TYPE_STRUCT, .members = poll_fields, .count = 3 };

/* The trace fields that represent pointed-to data, except socket addresses. */
static const struct {
	uint8_t show;              /* enum wmk_kshow */
	const char *suffix;
	struct wmk_type type;
} pointed_fields[] = {
	{ WMK_KSHOW_TEXT, "", { .kind = WMK_TYPE_STRING } },
	{ WMK_KSHOW_TEXTS, "", { .kind = WMK_TYPE_SEQUENCE, .elem = &text_type } },
	{ WMK_KSHOW_BLOB, "_bytes", { .kind = WMK_TYPE_BLOB } },
	{ WMK_KSHOW_TIME, "_sec", NUMBER_TYPE(64, 1, 10) },
	{ WMK_KSHOW_TIME, "_nsec", NUMBER_TYPE(64, 1, 10) },
	{ WMK_KSHOW_STAT, "_mode", NUMBER_TYPE(32, 0, 8) },
	{ WMK_KSHOW_STAT, "_uid", NUMBER_TYPE(32, 0, 10) },
	{ WMK_KSHOW_STAT, "_gid", NUMBER_TYPE(32, 0, 10) },
	{ WMK_KSHOW_STAT, "_size", NUMBER_TYPE(64, 1, 10) },
	{ WMK_KSHOW_PAIR, "_0", NUMBER_TYPE(32, 1, 10) },
	{ WMK_KSHOW_PAIR, "_1", NUMBER_TYPE(32, 1, 10) },
	{ WMK_KSHOW_POLLS, "_fds", { .kind = WMK_TYPE_SEQUENCE, .elem = &poll_type } },
};

static struct wmk_type number_type(unsigned width, bool is_signed, unsigned base)
{
	return (struct wmk_type)NUMBER_TYPE((uint8_t)width, is_signed, (uint8_t)base);
}

static struct wmk_type set_type(enum wmk_kset set)
{
	struct wmk_type type = number_type(32, false, 10);
	unsigned n;
	bool is_flags;

	type.labels = wmk_kset_labels(set, &n, &is_flags);
	type.count = n;
	type.kind = is_flags ? WMK_TYPE_FLAGS : WMK_TYPE_ENUM;
	type.base = is_flags ? 16 : 10;
	return type;
}

static struct wmk_type type_of(const struct wmk_syscall_arg *arg)
{
	const struct wmk_kkind_row *kind = &wmk_kkinds[arg->kind];

	return arg->kind == WMK_KKIND_SET ? set_type((enum wmk_kset)arg->set) :
					    number_type(kind->width, kind->is_signed, kind->base);
}

static void add_field(struct draft *draft, const char *name, const char *suffix, struct wmk_type type)
{
	snprintf(draft->names[draft->n], NAME, "%s%s", name, suffix);
	draft->fields[draft->n] = (struct wmk_field){ .name = draft->names[draft->n], .type = type };
	draft->n++;
}

static void add_labels(struct draft *draft, const char *name)
{
	static const char *const ends[WMK_KPOINTER_BITS] = { "null", "unreadable", "cut" };

	for (unsigned i = 0; i < WMK_KPOINTER_BITS; i++) {
		char *label = draft->label_names[draft->n_labels];

		snprintf(label, NAME, "%s_%s", name, ends[i]);
		draft->labels[draft->n_labels] =
			(struct wmk_label){ .name = label, .from = 1 << draft->n_labels, .to = 1 << draft->n_labels };
		draft->n_labels++;
	}
}

static void add_item(struct draft *draft, const struct wmk_syscall *call, const struct wmk_kitem *item)
{
	const struct wmk_syscall_arg *arg = &call->args[item->arg];
	struct wmk_type type;

	if (wmk_kshow_is_pointed((enum wmk_kshow)item->show))
		add_labels(draft, arg->name);
	switch (item->show) {
	case WMK_KSHOW_ID:
		add_field(draft, "id", "", number_type(32, false, 10));
		break;
	case WMK_KSHOW_RET:
		add_field(draft, "ret", "",
			  call->ret == WMK_KKIND_POINTER ? number_type(64, false, 16) : number_type(64, true, 10));
		break;
	case WMK_KSHOW_NUMBER:
		add_field(draft, arg->name, "", type_of(arg));
		break;
	case WMK_KSHOW_ADDRESS:
		type = set_type(WMK_KSET_FAMILY);
		type.width = 16;
		add_field(draft, arg->name, "_family", type);
		add_field(draft, arg->name, "_port", number_type(16, false, 10));
		add_field(draft, arg->name, "_address", text_type);
		break;
	case WMK_KSHOW_POINTERS:
		type = number_type(16, false, 16);
		type.kind = WMK_TYPE_FLAGS;
		type.labels = draft->labels;
		type.count = draft->n_labels;
		add_field(draft, "pointers", "", type);
		break;
	default:
		break;
	}
	for (size_t i = 0; i < WMK_ARRAY_LEN(pointed_fields); i++)
		if (pointed_fields[i].show == item->show)
			add_field(draft, arg->name, pointed_fields[i].suffix, pointed_fields[i].type);
}

int wmk_syscalls_class(const struct wmk_syscall *call, bool is_exit, struct wmk_event_class **class)
{
	struct draft *draft = calloc(1, sizeof(*draft));
	struct wmk_event_class event = { .provider = "", .kind = WAYMARK_KIND_EVENT, .level = WAYMARK_LEVEL_INFO };
	struct wmk_kitem items[WMK_KITEMS];
	char name[WMK_SYSCALL_NAME + 32];
	unsigned n;
	int err;

	if (!draft)
		return wmk_error(-ENOMEM, "no memory for an event class");
	n = wmk_syscall_items(call, is_exit, items);
	for (unsigned i = 0; i < n; i++)
		add_item(draft, call, &items[i]);
	snprintf(name, sizeof(name), "%ssyscall_%s_%s", call->abi == WMK_KABI_COMPAT ? "compat_" : "",
		 is_exit ? "exit" : "entry", call->event);
	event.name = name;
	event.n_fields = (uint16_t)draft->n;
	event.fields = draft->fields;
	err = wmk_class_check(&event);
	if (!err)
		err = wmk_class_clone(&event, class);
	free(draft);
	return err < 0 ? wmk_error_add(err, "cannot declare %s", name) : 0;
}
