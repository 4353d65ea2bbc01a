/* SPDX-License-Identifier: MIT */
/*
 * syscall_fields.h - private to this folder: what each kind of argument is, and what is in the record of a system call,
 * in order. Class and payload are made from one list.
 */
#ifndef WMK_KERNEL_SYSCALL_FIELDS_H
#define WMK_KERNEL_SYSCALL_FIELDS_H

#include "kernel/syscall/syscall_info.h"

enum wmk_kshow {
	WMK_KSHOW_ID, /* the call's number */
	WMK_KSHOW_RET,
	WMK_KSHOW_NUMBER, /* the argument itself */
	/* What it points to: */
	WMK_KSHOW_TEXT,
	WMK_KSHOW_TEXTS,
	WMK_KSHOW_BLOB,
	WMK_KSHOW_ADDRESS,
	WMK_KSHOW_TIME,
	WMK_KSHOW_STAT,
	WMK_KSHOW_PAIR,
	WMK_KSHOW_POLLS,
	WMK_KSHOW_POINTERS, /* how the pointers were */
};

struct wmk_kitem {
	uint8_t show;            /* enum wmk_kshow */
	uint8_t arg;
};

#define WMK_KITEMS (2 + 2 * WMK_SYSCALLS_ARGS)
#define WMK_KITEM_FIELDS 4u      /* of one item at most */
#define WMK_KPOINTER_BITS 3u     /* of one argument: NULL, unreadable, cut; in the order of what is shown */

/* How many. */
unsigned wmk_syscall_items(const struct wmk_syscall *call, bool is_exit, struct wmk_kitem items[WMK_KITEMS]);

struct wmk_kkind_row {
	const char *word;        /* in the rows of tables */
	uint8_t width, base;     /* of the argument itself as a field: bits, and how it is written */
	bool is_signed;
	uint8_t show;            /* enum wmk_kshow: what it points to; WMK_KSHOW_NUMBER: nothing */
	uint8_t op;              /* enum wmk_syscalls_op: how that is copied, ... */
	bool at_entry, at_exit;  /* ... when, ... */
	uint16_t unit, max;      /* ... and how much; max 0: as the limits say */
};

/* By enum wmk_kkind. */
extern const struct wmk_kkind_row wmk_kkinds[WMK_KKINDS];

static inline bool wmk_kshow_is_pointed(enum wmk_kshow show)
{
	return show >= WMK_KSHOW_TEXT && show <= WMK_KSHOW_POLLS;
}

#endif
