/* SPDX-License-Identifier: MIT */
/*
 * object.h - structures that travel: one table per structure says what its members are; the codec, the printer and the
 * reader of JSON (ctl/json.h) all follow that table, so that a member is named in one place.
 *
 *     struct wmk_ctl_channel ──wmk_object_encode()──► bytes of a frame's body ──wmk_object_decode()──► struct wmk_ctl_channel
 *            │                                                                                              │
 *            └──────────────────────────── ctl/json.h: list --json, save, load, the daemon's state ─────────┘
 *
 * As bytes: the members in the table's order, fixed-width little-endian numbers; strings and lists with a u32 length in
 * front. Both sides have the same version (the frame's header says it), so no names travel. Nothing that comes in is
 * trusted: each length and count is held against the table's limit and against what is left of the body before anything
 * is allocated.
 *
 * Memory: decoding puts all into one arena, freed as a whole. Strings that are absent decode as "" (never NULL);
 * encoding takes NULL for "".
 */
#ifndef WMK_WIRE_OBJECT_H
#define WMK_WIRE_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum wmk_member_kind {
	WMK_MEMBER_U32,      /* uint32_t */
	WMK_MEMBER_U64,      /* uint64_t */
	WMK_MEMBER_I64,      /* int64_t */
	WMK_MEMBER_BOOL,     /* bool */
	WMK_MEMBER_ENUM,     /* uint32_t, 0 .. n_words-1, in JSON one of `words` */
	WMK_MEMBER_TEXT,     /* const char *, at most `limit` bytes, no NUL within */
	WMK_MEMBER_UUID,     /* uint8_t[16] */
	WMK_MEMBER_OBJECT,   /* a structure of type `of`, in place */
	WMK_MEMBER_LIST,     /* struct wmk_list of structures of type `of`, at most `limit` of them */
	/* struct wmk_list of const char *, at most `limit` of them, each of at most WMK_OBJECT_TEXT_MAX bytes */
	WMK_MEMBER_TEXTS,
	WMK_MEMBER_NUMBERS,  /* struct wmk_list of uint64_t, at most `limit` of them */
};

#define WMK_OBJECT_TEXT_MAX 4096u
#define WMK_OBJECT_DEPTH_MAX 8u
#define WMK_OBJECT_MAX (16u << 20)  /* bytes of an encoded object */

struct wmk_list {
	void *items;         /* an array of `n` elements, in place */
	uint32_t n;
};

struct wmk_object;

struct wmk_member {
	const char *name;    /* in JSON */
	uint8_t kind;        /* enum wmk_member_kind */
	uint32_t offset;
	uint32_t limit;      /* TEXT: bytes, LIST, TEXTS, NUMBERS: elements */
	const struct wmk_object *of;
	const char *const *names;
	uint32_t n_names;
};

struct wmk_object {
	const char *name;
	size_t size;         /* of the structure */
	const struct wmk_member *members;
	unsigned n_members;
};

/* Entries of a table; the compiler holds the member's type against the kind. */
#define WMK_MEMBER_AT(s, m, type) \
	(offsetof(struct s, m) + 0 * sizeof(char[__builtin_types_compatible_p(__typeof__(((struct s *)0)->m), type) ? 1 : -1]))
#define WMK_MEMBER_OF_U32(s, m) { .name = #m, .kind = WMK_MEMBER_U32, .offset = WMK_MEMBER_AT(s, m, uint32_t) }
#define WMK_MEMBER_OF_U64(s, m) { .name = #m, .kind = WMK_MEMBER_U64, .offset = WMK_MEMBER_AT(s, m, uint64_t) }
#define WMK_MEMBER_OF_I64(s, m) { .name = #m, .kind = WMK_MEMBER_I64, .offset = WMK_MEMBER_AT(s, m, int64_t) }
#define WMK_MEMBER_OF_BOOL(s, m) { .name = #m, .kind = WMK_MEMBER_BOOL, .offset = WMK_MEMBER_AT(s, m, bool) }
#define WMK_MEMBER_OF_ENUM(s, m, w) \
	{ .name = #m, .kind = WMK_MEMBER_ENUM, .offset = WMK_MEMBER_AT(s, m, uint32_t), .names = (w), .n_names = sizeof(w) / sizeof((w)[0]) }
#define WMK_MEMBER_OF_TEXT(s, m, max) \
	{ .name = #m, .kind = WMK_MEMBER_TEXT, .offset = WMK_MEMBER_AT(s, m, const char *), .limit = (max) }
/* The same for a member `m` of the structure that `s` has in `in`; it is encoded as a member of `s`. */
#define WMK_MEMBER_IN_U64(s, in, m) { .name = #m, .kind = WMK_MEMBER_U64, .offset = WMK_MEMBER_AT(s, in.m, uint64_t) }
#define WMK_MEMBER_IN_BOOL(s, in, m) { .name = #m, .kind = WMK_MEMBER_BOOL, .offset = WMK_MEMBER_AT(s, in.m, bool) }
#define WMK_MEMBER_IN_ENUM(s, in, m, w, n) \
	{ .name = #m, .kind = WMK_MEMBER_ENUM, .offset = WMK_MEMBER_AT(s, in.m, uint32_t), .names = (w), \
	  .n_names = (n) }
#define WMK_MEMBER_IN_TEXT(s, in, m, max) \
	{ .name = #m, .kind = WMK_MEMBER_TEXT, .offset = WMK_MEMBER_AT(s, in.m, const char *), .limit = (max) }
#define WMK_MEMBER_OF_UUID(s, m) { .name = #m, .kind = WMK_MEMBER_UUID, .offset = WMK_MEMBER_AT(s, m, uint8_t[16]) }
#define WMK_MEMBER_OF_OBJECT(s, m, type, object) \
	{ .name = #m, .kind = WMK_MEMBER_OBJECT, .offset = WMK_MEMBER_AT(s, m, struct type), .of = &(object) }
#define WMK_MEMBER_OF_LIST(s, m, object, max) \
	{ .name = #m, .kind = WMK_MEMBER_LIST, .offset = WMK_MEMBER_AT(s, m, struct wmk_list), .limit = (max), .of = &(object) }
#define WMK_MEMBER_OF_TEXTS(s, m, max) \
	{ .name = #m, .kind = WMK_MEMBER_TEXTS, .offset = WMK_MEMBER_AT(s, m, struct wmk_list), .limit = (max) }
#define WMK_MEMBER_OF_NUMBERS(s, m, max) \
	{ .name = #m, .kind = WMK_MEMBER_NUMBERS, .offset = WMK_MEMBER_AT(s, m, struct wmk_list), .limit = (max) }
#define WMK_OBJECT_OF(names, s, members_) \
	{ .name = (names), .size = sizeof(struct s), .members = (members_), .n_members = sizeof(members_) / sizeof((members_)[0]) }

/*
 * All that was decoded; of short texts that are the same, mostly one. Starts from zeros. Its limit is on the sum of
 * what it holds: a small message cannot unfold into a large one.
 */
struct wmk_arena {
	struct wmk_arena_piece *pieces;
	size_t used;
};
#define WMK_ARENA_MAX (64u << 20)
/* `size` zeroed bytes, aligned for anything; NULL with a cause chain (no memory, or over the limit). */
void *wmk_arena_alloc(struct wmk_arena *arena, size_t size);
/* A copy; NULL with a cause chain. */
const char *wmk_arena_text(struct wmk_arena *arena, const char *text);
/* Make the empty list one of `n` zeroed elements of `size` bytes. 0 or -ENOMEM. */
int wmk_arena_list(struct wmk_arena *arena, struct wmk_list *list, uint32_t n, size_t size);
/*
 * Room for one more element of `size` bytes at the end of the list: zeroed; NULL with a cause chain. Amortised: lists
 * grow by doubling, and a list that comes from here, from wmk_arena_list(), decoding or copying has room up to the next
 * power of two; no other list may be given.
 */
void *wmk_arena_append(struct wmk_arena *arena, struct wmk_list *list, size_t size);
void wmk_arena_free(struct wmk_arena *arena);

struct wmk_out;
/*
 * Append a frame of `type` whose body is `object`. 0, -ENOMEM, -EMSGSIZE (a limit of the table, or WMK_OBJECT_MAX),
 * -EINVAL (a number that is none of its words'), with a cause chain that names the member. One of more than
 * WMK_OBJECT_PART_MAX bytes goes in several frames:
 * all but the last have the type WMK_OBJECT_PART, and the receiver joins the bodies, of whatever length, before it
 * decodes.
 */
#define WMK_OBJECT_PART 0x10fu
#define WMK_OBJECT_PART_MAX (65536u - 16u)   /* with its header, what receivers keep room for */
int wmk_object_send(struct wmk_out *out, uint16_t type, uint32_t request, const struct wmk_object *is,
		    const void *object);
/* Bytes: malloc'd at *bytes, the length returned; or -errno as above. */
long wmk_object_encode(const struct wmk_object *is, const void *object, uint8_t **bytes);
/*
 * Fill `object` (is->size bytes) from the whole of `body`. 0; -EPROTO, -ENOMEM, with a cause chain that names the
 * member: then `object` is all zeros, and what was decoded lies unused in the arena.
 */
int wmk_object_decode(const struct wmk_object *is, const void *body, size_t len, void *object, struct wmk_arena *arena);
/* A deep copy. 0 or -ENOMEM. */
int wmk_object_copy(const struct wmk_object *is, const void *from, void *to, struct wmk_arena *arena);

#endif
