/* SPDX-License-Identifier: MIT */
/*
 * contexts.h - numbers, domains and sizes of context fields (contexts.def).
 */
#ifndef WMK_SCHEMA_CONTEXTS_H
#define WMK_SCHEMA_CONTEXTS_H

/* The domains in which a context field is available, as a bit mask. */
enum wmk_context_domain { WMK_CONTEXT_USER = 1, WMK_CONTEXT_KERNEL = 2 };

enum wmk_context {
#define WMK_CONTEXT(identifier, number, name, domains, type, help) WMK_CONTEXT_##identifier = (number),
#include "schema/contexts.def"
};

/* Sizes of the types. */
enum { WMK_CONTEXT_S32 = 4, WMK_CONTEXT_U8 = 1, WMK_CONTEXT_U32 = 4, WMK_CONTEXT_HEX64 = 8, WMK_CONTEXT_TEXT16 = 16 };

/* Return the size of a context field in bytes; 0: unknown number. */
static inline unsigned wmk_context_bytes(unsigned context)
{
	switch (context) {
#define WMK_CONTEXT(identifier, number, name, domains, type, help) case number: return WMK_CONTEXT_##type;
#include "schema/contexts.def"
	}
	return 0;
}

static inline unsigned wmk_context_domains(unsigned context)
{
	switch (context) {
#define WMK_CONTEXT(identifier, number, name, domains, type, help) case number: return domains;
#include "schema/contexts.def"
	}
	return 0;
}

#endif
