/* SPDX-License-Identifier: MIT */
/*
 * syscall_fields.h - private to this folder: the properties of each kind of argument, and the ordered list of items in
 * the record of a system call. The class and the payload are made from the same list of items.
 */
#ifndef WMK_KERNEL_SYSCALL_FIELDS_H
#define WMK_KERNEL_SYSCALL_FIELDS_H

#include "kernel/syscall/syscall_info.h"

enum wmk_kshow {
	WMK_KSHOW_ID, /* the number of the system call */
	WMK_KSHOW_RET,
	WMK_KSHOW_NUMBER, /* the argument itself */
	/* The data that the argument points to: */
	WMK_KSHOW_TEXT,
	WMK_KSHOW_TEXTS,
	WMK_KSHOW_BLOB,
	WMK_KSHOW_ADDRESS,
	WMK_KSHOW_TIME,
	WMK_KSHOW_STAT,
	WMK_KSHOW_PAIR,
	WMK_KSHOW_POLLS,
	WMK_KSHOW_POINTERS, /* the state of each pointer */
};

struct wmk_kitem {
	uint8_t show;            /* enum wmk_kshow */
	uint8_t arg;
};

#define WMK_KITEMS (2 + 2 * WMK_SYSCALLS_ARGS)
#define WMK_KITEM_FIELDS 4u      /* fields of one item at most */
#define WMK_KPOINTER_BITS 3u     /* bits for one argument: NULL, unreadable, cut; in the order of the items */

/* Fill the list of items and return its length. */
unsigned wmk_syscall_items(const struct wmk_syscall *call, bool is_exit, struct wmk_kitem items[WMK_KITEMS]);

struct wmk_kkind_row {
	const char *word;        /* in the rows of tables */
	uint8_t width, base;     /* of the argument's own field: number of bits, and the base for printing */
	bool is_signed;
	uint8_t show;            /* enum wmk_kshow: the data that the argument points to; WMK_KSHOW_NUMBER: none */
	uint8_t op;              /* enum wmk_syscalls_op: how that data is copied, ... */
	bool at_entry, at_exit;  /* ... when, ... */
	uint16_t unit, max;      /* ... and how much; max 0: by the limits */
};

/* By enum wmk_kkind. */
extern const struct wmk_kkind_row wmk_kkinds[WMK_KKINDS];

static inline bool wmk_kshow_is_pointed(enum wmk_kshow show)
{
	return show >= WMK_KSHOW_TEXT && show <= WMK_KSHOW_POLLS;
}

#endif
