/* SPDX-License-Identifier: MIT */
/*
 * object.h - structures in messages: one table per structure describes its members. The codec uses this table, as do
 * the JSON writer and the JSON reader (ctl/json.h), so that each member is described only once.
 *
 *     struct wmk_ctl_channel ──wmk_object_encode()──► body of a frame ──wmk_object_decode()──► struct wmk_ctl_channel
 *            │                                                                                      │
 *            └──────────────────────── ctl/json.h: list --json, save, load, the daemon's state ─────┘
 *
 * Encoding: the members are in the order of the table. Numbers have a fixed width and are little-endian. Strings and
 * lists are preceded by their length as a u32. Both sides have the same protocol version, which the header of the frame
 * contains, so names are not sent. Received objects are not trusted. Before memory is allocated, each length and count
 * is checked against the table's limit and against the size of the remaining body.
 *
 * All memory for decoding is allocated from one arena, which is freed as a whole. An empty string is decoded as ""
 * (never NULL), and NULL is encoded as "".
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
	WMK_MEMBER_ENUM,     /* uint32_t, 0 .. n_names-1, in JSON one of `names` */
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

/* The form that a member has in the public structure of its object (include/waymark/ctl.h). */
enum wmk_view_kind {
	WMK_VIEW_NONE,
	WMK_VIEW_SAME,       /* the same type; lists: a pointer and a number of elements; objects: a pointer */
	WMK_VIEW_IN_PLACE,   /* an object: its members are members of the public structure */
	WMK_VIEW_NAME,       /* an enumeration: the name of its value */
};

struct wmk_member {
	const char *name;    /* in JSON */
	uint8_t kind;        /* enum wmk_member_kind */
	uint8_t view_kind;   /* enum wmk_view_kind */
	uint16_t view, view_n;       /* offsets in the public structure: of the member, of the number of elements */
	uint32_t offset;
	uint32_t limit;      /* TEXT: bytes, LIST, TEXTS, NUMBERS: elements */
	const struct wmk_object *of;
	const char *const *names;
	uint32_t n_names;
};

/* Return the size in memory of a member that is a number or a text. */
size_t wmk_member_size(const struct wmk_member *m);

struct wmk_object {
	const char *name;
	size_t size;         /* of the structure */
	size_t view_size;    /* of the public structure; 0: none */
	const struct wmk_member *members;
	unsigned n_members;
};

/*
 * These macros define entries of a table; the compiler checks the type of the member. WMK_MEMBER(kind, s, m, ...)
 * describes member `m` of structure `s`. Further arguments depend on the kind:
 *
 *     ENUM                    its names
 *     TEXT, TEXTS, NUMBERS    their limit
 *     OBJECT                  the tag of its structure, its table
 *     LIST                    the table of its elements, the limit
 */
#define WMK_SAME_TYPE(a, b) (0 * sizeof(char[__builtin_types_compatible_p(a, b) ? 1 : -1]))
#define WMK_TYPE_OF(s, m) __typeof__(((struct s *)0)->m)
#define WMK_FIELD(s, m, kind_, type) \
	.kind = WMK_MEMBER_##kind_, .offset = offsetof(struct s, m) + WMK_SAME_TYPE(WMK_TYPE_OF(s, m), type)
#define WMK_FIELD_U32(s, m) WMK_FIELD(s, m, U32, uint32_t)
#define WMK_FIELD_U64(s, m) WMK_FIELD(s, m, U64, uint64_t)
#define WMK_FIELD_I64(s, m) WMK_FIELD(s, m, I64, int64_t)
#define WMK_FIELD_BOOL(s, m) WMK_FIELD(s, m, BOOL, bool)
#define WMK_FIELD_ENUM(s, m, w) WMK_FIELD(s, m, ENUM, uint32_t), .names = (w), .n_names = sizeof(w) / sizeof((w)[0])
#define WMK_FIELD_TEXT(s, m, max) WMK_FIELD(s, m, TEXT, const char *), .limit = (max)
#define WMK_FIELD_UUID(s, m) WMK_FIELD(s, m, UUID, uint8_t[16])
#define WMK_FIELD_OBJECT(s, m, type, object) WMK_FIELD(s, m, OBJECT, struct type), .of = &(object)
#define WMK_FIELD_LIST(s, m, object, max) WMK_FIELD(s, m, LIST, struct wmk_list), .limit = (max), .of = &(object)
#define WMK_FIELD_TEXTS(s, m, max) WMK_FIELD(s, m, TEXTS, struct wmk_list), .limit = (max)
#define WMK_FIELD_NUMBERS(s, m, max) WMK_FIELD(s, m, NUMBERS, struct wmk_list), .limit = (max)
#define WMK_MEMBER(kind_, s, m, ...) { .name = #m, WMK_FIELD_##kind_(s, m, ##__VA_ARGS__) }

/*
 * WMK_SHARED(kind, s, p, m, ...) is like WMK_MEMBER, for a member that also exists in the public structure `p` under
 * the same name.
 */
#define WMK_VIEW(s, m, p, q) \
	.view_kind = WMK_VIEW_SAME, .view = offsetof(struct p, q) + WMK_SAME_TYPE(WMK_TYPE_OF(s, m), WMK_TYPE_OF(p, q))
#define WMK_VIEW_POINTER(p, m) \
	.view_kind = WMK_VIEW_SAME, \
	.view = offsetof(struct p, m) + 0 * sizeof(char[sizeof(WMK_TYPE_OF(p, m)) == sizeof(void *) ? 1 : -1])
#define WMK_VIEW_ARRAY(p, m) \
	WMK_VIEW_POINTER(p, m), .view_n = offsetof(struct p, n_##m) + WMK_SAME_TYPE(WMK_TYPE_OF(p, n_##m), unsigned)
#define WMK_VIEW_U32(s, p, m) WMK_VIEW(s, m, p, m)
#define WMK_VIEW_U64(s, p, m) WMK_VIEW(s, m, p, m)
#define WMK_VIEW_I64(s, p, m) WMK_VIEW(s, m, p, m)
#define WMK_VIEW_BOOL(s, p, m) WMK_VIEW(s, m, p, m)
#define WMK_VIEW_ENUM(s, p, m, w) WMK_VIEW(s, m, p, m)
#define WMK_VIEW_TEXT(s, p, m, max) WMK_VIEW(s, m, p, m)
#define WMK_VIEW_OBJECT(s, p, m, type, object) WMK_VIEW_POINTER(p, m)
#define WMK_VIEW_LIST(s, p, m, object, max) WMK_VIEW_ARRAY(p, m)
#define WMK_VIEW_TEXTS(s, p, m, max) WMK_VIEW_ARRAY(p, m)
#define WMK_VIEW_NUMBERS(s, p, m, max) WMK_VIEW_ARRAY(p, m)
#define WMK_SHARED(kind_, s, p, m, ...) \
	{ .name = #m, WMK_FIELD_##kind_(s, m, ##__VA_ARGS__), WMK_VIEW_##kind_(s, p, m, ##__VA_ARGS__) }
/*
 * An entry for the member s.in.m: the structure `s` contains a structure `in`, which has the member `m`. The codec
 * encodes `m` as if it were a direct member of `s`.
 */
#define WMK_SHARED_IN(kind_, s, in, p, m, ...) \
	{ .name = #m, WMK_FIELD_##kind_(s, in.m, ##__VA_ARGS__), WMK_VIEW(s, in.m, p, m) }

#define WMK_OBJECT(names, s, members_) \
	.name = (names), .size = sizeof(struct s), .members = (members_), \
	.n_members = sizeof(members_) / sizeof((members_)[0])
#define WMK_OBJECT_OF(names, s, members_) { WMK_OBJECT(names, s, members_) }
/* Like WMK_OBJECT_OF, for a structure `s` that has a corresponding public structure `p`. */
#define WMK_OBJECT_SHARED(names, s, p, members_) { WMK_OBJECT(names, s, members_), .view_size = sizeof(struct p) }

/*
 * The memory of decoded objects. Equal short texts usually share one copy. Starts zeroed. The total size of an arena is
 * limited, so that a small message cannot expand to a very large object.
 */
struct wmk_arena {
	struct wmk_arena_piece *pieces;
	size_t used;
};
#define WMK_ARENA_MAX (64u << 20)
/*
 * Allocate `size` bytes that are set to zero and aligned for any type. NULL with a cause chain: memory is exhausted, or
 * the limit of the arena is exceeded.
 */
void *wmk_arena_alloc(struct wmk_arena *arena, size_t size);
/* Copy `text`. NULL with a cause chain. */
const char *wmk_arena_text(struct wmk_arena *arena, const char *text);
/* Allocate `n` elements of `size` zeroed bytes for an empty list. 0 or -ENOMEM. */
int wmk_arena_list(struct wmk_arena *arena, struct wmk_list *list, uint32_t n, size_t size);
/*
 * Append an element of `size` zeroed bytes to the list; NULL with a cause chain. Lists grow by doubling.
 * wmk_arena_append() requires that the memory of the elements has room up to the next power of two. Memory from
 * wmk_arena_append(), wmk_arena_list(), decoding and copying always extends to the next power of two.
 */
void *wmk_arena_append(struct wmk_arena *arena, struct wmk_list *list, size_t size);
void wmk_arena_free(struct wmk_arena *arena);

/* An object without content. */
struct wmk_empty { uint32_t reserved; };
extern const struct wmk_object wmk_empty_object;

/* A request of a protocol: its number, its name, its request object and its reply object. */
struct wmk_request_type {
	uint16_t type;
	const char *name;
	const struct wmk_object *request, *reply;
};
/* Find the request with this type in a table of `n` requests. NULL: none has this type. */
const struct wmk_request_type *wmk_request_type_find(const struct wmk_request_type *table, unsigned n, uint16_t type);

struct wmk_out;
/*
 * Append a frame of the type `type`; its body is the encoded `object`. 0 or -errno with a cause chain that names the
 * member: -ENOMEM, -EMSGSIZE (above a limit of the table, or WMK_OBJECT_MAX), -EINVAL (an enum value without a name).
 * If an object has more than WMK_OBJECT_PART_MAX bytes, it is sent in several frames. All frames but the last have the
 * type WMK_OBJECT_PART. The receiver joins the bodies of all frames of an object before it decodes the object.
 */
#define WMK_OBJECT_PART 0x10fu
#define WMK_OBJECT_PART_MAX (65536u - 16u)   /* with the frame's header, this is the buffer size of receivers */
int wmk_object_send(struct wmk_out *out, uint16_t type, uint32_t request, const struct wmk_object *is,
		    const void *object);
/* Encode the object into new memory from malloc() at *bytes. Returns the length, or -errno like wmk_object_send(). */
long wmk_object_encode(const struct wmk_object *is, const void *object, uint8_t **bytes);
/*
 * Decode the entire `body` into `object` (is->size bytes). 0; -EPROTO, -ENOMEM, with a cause chain that names the
 * member. After an error, `object` is set to zeros, and the arena may contain allocated memory.
 */
int wmk_object_decode(const struct wmk_object *is, const void *body, size_t len, void *object, struct wmk_arena *arena);
/* A deep copy. 0 or -ENOMEM. */
int wmk_object_copy(const struct wmk_object *is, const void *from, void *to, struct wmk_arena *arena);

#endif
