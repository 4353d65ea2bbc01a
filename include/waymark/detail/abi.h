/* SPDX-License-Identifier: MIT */
/*
 * abi.h - the binary interface between instrumented programs and libwaymark.
 *
 * The content of this file is an ABI, because it is compiled into applications. The macros of trace.h produce these
 * structures, and libwaymark reads them. Applications include this file only through the public headers.
 *
 *     source line            object file                                        libwaymark (src/tracer)
 *     ───────────            ───────────                                        ───────────────────────
 *     waymark(shop, paid,    .text            nop; test $rel32,%eax  ◄── one byte is patched: A9 ↔ E9
 *             id, name)      waymark_sites    struct waymark_site ──► site, descriptor
 *                            .data            struct waymark_desc ──► names, fields; chain of recorders
 *                            .text (cold)     stage words and refs, jump to waymark_enter()
 *
 * One declaration can be inlined at many addresses, so there are two kinds of objects:
 * - the *descriptor* defines the event. There is one per declaration (per instantiation, in a C++ template);
 * - the *site* locates a tracepoint. Each address at which the declaration is inlined has its own site. The assembler
 *   writes the site.
 *
 * Descriptors with the same provider, name, kind, format and fields are one event.
 */
#ifndef WAYMARK_DETAIL_ABI_H
#define WAYMARK_DETAIL_ABI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if !defined(__LP64__)
#error "Waymark traces 64-bit programs only (x86-64 and aarch64): compile without -m32 or -mx32"
#endif

#define WAYMARK_ABI_VERSION 2
#define WAYMARK_MAX_FIELDS 32

/* Kinds of descriptors. */
enum waymark_kind {
	WAYMARK_KIND_EVENT = 0,   /* waymark(), WAYMARK_EVENT() */
	WAYMARK_KIND_MARKER = 1,  /* waymark_mark(): fields come from the format string in `text` */
	WAYMARK_KIND_TEXT = 2,    /* waymark_logf(): fields as for MARKER; the format is also a label of field `msg` */
	WAYMARK_KIND_GUARD = 3,   /* wm_enabled(): patched with the event of that name, records nothing */
	/*
	 * BEGIN, END and COUNTER equal EVENT, except for a mark in the schema. Tools that draw a trace use this mark.
	 */
	/* waymark_begin(), waymark_span(): beginning of a time span of its thread; the name ends in "_begin" */
	WAYMARK_KIND_BEGIN = 4,
	WAYMARK_KIND_END = 5,     /* waymark_end(), end of the scope of waymark_span(): "_end" */
	WAYMARK_KIND_COUNTER = 6, /* waymark_counter(): the first field, "value", is a number that changes */
};

/* Log levels, as in syslog and LTTng; a smaller number is more severe. */
enum waymark_level {
	WAYMARK_LEVEL_EMERG = 0, WAYMARK_LEVEL_ALERT = 1, WAYMARK_LEVEL_CRIT = 2, WAYMARK_LEVEL_ERR = 3,
	WAYMARK_LEVEL_WARNING = 4, WAYMARK_LEVEL_NOTICE = 5, WAYMARK_LEVEL_INFO = 6,
	WAYMARK_LEVEL_DEBUG_SYSTEM = 7, WAYMARK_LEVEL_DEBUG_PROGRAM = 8, WAYMARK_LEVEL_DEBUG_PROCESS = 9,
	WAYMARK_LEVEL_DEBUG_MODULE = 10, WAYMARK_LEVEL_DEBUG_UNIT = 11, WAYMARK_LEVEL_DEBUG_FUNCTION = 12,
	WAYMARK_LEVEL_DEBUG_LINE = 13, WAYMARK_LEVEL_DEBUG = 14,
};

/*
 * Field types. Scalars are staged in words; STRING, TEXT, BYTES, SEQ and ARRAY are passed by reference.
 * SEQ and ARRAY have the element's scalar type in `elem`.
 */
enum waymark_type {
	WAYMARK_T_NONE = 0,
	WAYMARK_T_S8, WAYMARK_T_U8, WAYMARK_T_S16, WAYMARK_T_U16, WAYMARK_T_S32, WAYMARK_T_U32,
	WAYMARK_T_S64, WAYMARK_T_U64,
	WAYMARK_T_BOOL,           /* one byte, 0 or 1 */
	WAYMARK_T_FLOAT, WAYMARK_T_DOUBLE,
	WAYMARK_T_POINTER,        /* 64 bits, printed in base 16 */
	/* one ref: NUL-terminated; ref.len is strlen(), or SIZE_MAX: the library measures it */
	WAYMARK_T_STRING,
	WAYMARK_T_TEXT,           /* one ref: ref.len bytes of text, recorded as a string */
	WAYMARK_T_BYTES,          /* one ref: ref.len bytes, recorded as a u32 length and bytes */
	WAYMARK_T_SEQ,            /* one ref: ref.len bytes = whole elements, recorded as a u32 count and elements */
	WAYMARK_T_ARRAY,          /* one ref: `count` elements, recorded without a length */
	WAYMARK_T_ENUM,           /* a scalar of type `elem`; labels name its values */
	WAYMARK_T_FLAGS,          /* a scalar of type `elem`; labels name its bits and may be combined */
};

#define WAYMARK_F_HEX 0x01u       /* base 16 */
#define WAYMARK_F_BE 0x02u        /* the value is in network byte order and is recorded as such */
#define WAYMARK_F_NAMED 0x04u     /* `name` is the name of the field, not the text of an argument */
#define WAYMARK_F_OCT 0x08u       /* base 8 */

/*
 * One label of an enumeration: for the values from `from` to `to`, both included. For WAYMARK_T_FLAGS these are bits.
 */
struct waymark_label {
	const char *name;
	int64_t from, to;
};

struct waymark_labels {
	const char *name;
	uint32_t count;
	uint32_t reserved;
	const struct waymark_label *label;
};

/*
 * One field. With WAYMARK_F_NAMED, `name` is the name of the field. Otherwise `name` is the source text of the
 * argument, from which the library derives the field name (docs/instrument.md):
 * - an identifier is the name; for a.m or a->m it is the last member;
 * - in wm_field(type, name, expr) it is the second argument, in wm_named("x", v) the quoted name;
 * - in wm_enum(), wm_flags(), wm_unit() and wm_media() it comes from the second argument;
 * - in wm_hex(v) and the other wrappers it comes from the first argument;
 * - otherwise it is argN.
 *
 * If `unit` or `media` is NULL, the library takes the unit or the media type from the source text of the argument: from
 * wm_unit("ms", v) or wm_media("image/png", p, len).
 */
struct waymark_field {
	uint8_t type;      /* enum waymark_type */
	uint8_t elem;      /* scalar type of the elements, or of the enumeration */
	uint16_t flags;
	uint32_t count;    /* ARRAY: number of elements */
	const char *name;
	const struct waymark_labels *labels;
	const char *media; /* BYTES: media type, or NULL */
	const char *unit;  /* or NULL */
};

struct waymark_recorder;   /* private to libwaymark */

struct waymark_desc {
	uint32_t size;            /* sizeof(struct waymark_desc): later versions append */
	uint16_t version;         /* WAYMARK_ABI_VERSION */
	uint8_t kind;             /* enum waymark_kind */
	uint8_t level;            /* enum waymark_level */
	/*
	 * The first recorder of the event; NULL if the event is not enabled. The library stores `chain` with release
	 * order, and loads `chain` with acquire order before it uses the recorder.
	 */
	struct waymark_recorder *chain;
	void *event;              /* private to the library; NULL in the object file */
	/*
	 * provider: "marker" for MARKER, "text" for TEXT. name: NULL for TEXT; the library makes <file>_<line> of the
	 * members below. function: NULL in C++.
	 */
	const char *provider, *name;
	const char *file, *function;
	uint32_t line;
	uint32_t n_fields;
	const struct waymark_field *fields;  /* n_fields of them; NULL for MARKER and TEXT */
	const char *text;         /* MARKER, TEXT: the format string; else NULL */
	/*
	 * MARKER, TEXT: types of the staged arguments, n_fields of them (enum waymark_type); the library checks the
	 * format string against them. Else NULL.
	 */
	const uint8_t *arg_types;
	uint64_t own[8];          /* private to the library; 0 in the object file */
};

/*
 * One tracepoint in the text. All references in a site are relative to the address of the member that holds the
 * reference, so that the entry needs no relocation. The assembler writes each entry into the section "waymark_sites".
 */
struct waymark_site {
	uint8_t size;             /* sizeof(struct waymark_site) = 16 */
	uint8_t version;          /* WAYMARK_ABI_VERSION */
	uint8_t how;              /* enum waymark_how */
	uint8_t reserved;
	int32_t code;             /* to the patchable instruction, or to the byte that the code tests */
	int32_t target;           /* to the enabled block (HOW_PATCH), else 0 */
	int32_t desc;             /* to the struct waymark_desc */
};

enum waymark_how {
	WAYMARK_HOW_PATCH = 1,    /* x86-64: A9 <rel32> ↔ E9 <rel32>; aarch64: nop ↔ b target */
	WAYMARK_HOW_BYTE = 2,     /* `code` refers to a byte: 0 disabled, 1 enabled */
};

/* A module is an executable or shared library with sites; each module has its own hidden object. */
struct waymark_module {
	uint32_t size;
	uint32_t version;
	const struct waymark_site *begin, *end;
	const void *anchor;       /* an address within the module, to find its ELF file */
	struct waymark_module *next;  /* private to the library */
	void *priv;               /* private to the library */
	/* waymark_enter(), or NULL. Link-time optimisation does not detect a reference in assembly code. */
	void (*entry)(void);
};

/* A field passed by reference. */
struct waymark_ref {
	const void *base;
	size_t len;               /* bytes; SIZE_MAX for a NUL-terminated string that the library measures */
};

/*
 * Record one event. The enabled block calls it with
 *
 *   words  the fixed-size fields, packed little-endian without gaps, in order; readable to a multiple of 16 bytes. A
 *          field that follows a ref starts a new word: run of scalars | ref | run of scalars | ...; each run begins at
 *          a new word, and the last word of a run is padded with zeros. Macros build whole words in registers, so that
 *          the copy into the ring loads them with the width of the stores;
 *   refs   one for each STRING, TEXT, BYTES, SEQ, ARRAY field, in order;
 *   ip     an address in the enabled block, for the context field `ip`; NULL: the return address.
 *
 * The function returns no error: lost records are counted. Preserves errno. Any thread; async-signal-safe.
 */
void waymark_record(struct waymark_desc *desc, const uint64_t *words, const struct waymark_ref *refs, const void *ip);

#if defined(__x86_64__)
/* waymark_record() for an enabled block, which jumps here (call.h). C code cannot call it. */
void waymark_enter(void);
#endif

/*
 * The constructor (priority 101) of each module calls waymark_module_register(), the destructor
 * waymark_module_unregister(). A second call for the same module has no effect.
 */
void waymark_module_register(struct waymark_module *module);
void waymark_module_unregister(struct waymark_module *module);

#ifdef __cplusplus
}
#endif
#endif
