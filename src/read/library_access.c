/* SPDX-License-Identifier: MIT */
/*
 * library_access.c - read one field of many records (waymark_ctf_accessor in include/waymark/ctf.h).
 *
 * The position of the field is found once for each event class:
 *
 *     AT_ONCE   at a constant distance from the begin of a context or the payload
 *     BEHIND    after values of varying size: these must be walked, but no names are compared
 *     BY_NAME   searched by name in each record: the field is, or is in, an array, a variant or an optional; or it is
 *               a structure
 *     NOWHERE   the class has no such field
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "read/library.h"

#define FIRST_CAP 16u

enum how { NOWHERE, AT_ONCE, BEHIND, BY_NAME };

/* The position of a field in the records of an event class. */
struct access {
	const struct wmk_ctf_event_decoder *event; /* NULL: free slot */
	enum how how;
	enum waymark_ctf_scope scope;
	uint32_t op;
	uint64_t distance;         /* AT_ONCE: distance in bits from the begin of the scope, after its alignment */
};

struct waymark_ctf_accessor {
	struct waymark_ctf *ctf;
	/* a hash table by event class, with linear probing; at most half of it is used */
	struct access *table;
	uint32_t cap, n;           /* cap: a power of two */
	unsigned n_parts;
	struct wmk_library_part parts[WMK_LIBRARY_PARTS];
	char name[];               /* the parts point into it */
};

/* ── find the position ───────────────────────────────────────────────────────────────────────────────── */

/*
 * Find the member of the structure `in` that the part names. Returns its operation, or 0. Advances *distance to the
 * member. The function clears *is_constant if a value of variable size precedes the member.
 */
static uint32_t find_member(const struct wmk_ctf_op *ops, uint32_t in, const struct wmk_library_part *part,
			    uint64_t *distance, bool *is_constant)
{
	for (uint32_t i = in + 1; ops[i].code != WMK_CTF_END; i = ops[i].next) {
		uint64_t bits;

		*distance = wmk_bits_align(*distance, ops[i].align);
		if (wmk_library_is_called(part, &ops[i]))
			return i;
		bits = wmk_ctf_fixed_bits(ops, i);
		*is_constant = *is_constant && bits;
		*distance += bits;
	}
	return 0;
}

/*
 * Do the same as find() in library_field.c, for names that refer to the same member in all records of the event class.
 */
static enum how find_in(const struct waymark_ctf_accessor *accessor, const struct wmk_ctf_op *ops,
			struct access *access)
{
	bool is_constant = true;
	uint32_t op = 0;

	access->distance = 0;
	for (unsigned i = 0; i < accessor->n_parts; i++) {
		if (ops[op].code != WMK_CTF_STRUCT)
			return NOWHERE;
		op = find_member(ops, op, &accessor->parts[i], &access->distance, &is_constant);
		if (!op)
			return NOWHERE;
		if (ops[op].code > WMK_CTF_STRUCT)
			return BY_NAME;
	}
	access->op = op;
	return ops[op].code == WMK_CTF_STRUCT ? BY_NAME : is_constant ? AT_ONCE : BEHIND;
}

static void locate(const struct waymark_ctf_accessor *accessor, const struct waymark_ctf_record *record,
		   struct access *access)
{
	const struct wmk_ctf_program *program;

	access->event = record->stream->record.event;
	access->how = NOWHERE;
	for (int scope = WAYMARK_CTF_PAYLOAD; scope >= WAYMARK_CTF_PACKET && access->how == NOWHERE; scope--) {
		access->scope = (enum waymark_ctf_scope)scope;
		wmk_library_enter(record, access->scope, &program);
		if (program->n_ops)
			access->how = find_in(accessor, program->ops, access);
	}
}

static struct access *place_of(struct access *table, uint32_t cap, const struct wmk_ctf_event_decoder *event)
{
	uint32_t i = (uint32_t)((uintptr_t)event / sizeof(*event)) & (cap - 1);

	while (table[i].event && table[i].event != event)
		i = (i + 1) & (cap - 1);
	return &table[i];
}

static int grow(struct waymark_ctf_accessor *accessor)
{
	const uint32_t cap = 2 * accessor->cap;
	struct access *table = calloc(cap, sizeof(*table));

	if (!table)
		return wmk_error(-ENOMEM, "no memory to look for a field in %u events", accessor->n);
	for (uint32_t i = 0; i < accessor->cap; i++)
		if (accessor->table[i].event)
			*place_of(table, cap, accessor->table[i].event) = accessor->table[i];
	free(accessor->table);
	accessor->table = table;
	accessor->cap = cap;
	return 0;
}

/* ── read the value ──────────────────────────────────────────────────────────────────────────────────── */

static int get(const struct waymark_ctf_accessor *accessor, const struct access *access,
	       const struct waymark_ctf_record *record, struct waymark_ctf_value *value)
{
	const struct wmk_ctf_program *program;
	struct wmk_ctf_item item;
	struct wmk_ctf_walk *walk;
	bool is_there;

	if (access->how == NOWHERE)
		return -ENOENT;
	if (access->how == BY_NAME)
		return wmk_library_field(record, accessor->parts, accessor->n_parts, value);
	walk = wmk_library_enter(record, access->scope, &program);
	if (access->how == AT_ONCE) {
		walk->at = wmk_bits_align(walk->at, program->ops->align) + access->distance;
		walk->op = access->op;
		is_there = wmk_ctf_next(walk, &item);
	} else {
		while ((is_there = wmk_ctf_next(walk, &item)) && item.op != &program->ops[access->op])
			;
	}
	if (!is_there)
		return -ENOENT;
	wmk_library_fill(record->ctf, &item, value);
	return 0;
}

API int waymark_ctf_accessor_get(struct waymark_ctf_accessor *accessor, const struct waymark_ctf_record *record,
				 struct waymark_ctf_value *value)
{
	struct access *access;

	if (record->ctf != accessor->ctf)
		return wmk_errorx(-EINVAL, "cannot read the field '%.240s': the record belongs to another handle",
				  accessor->name);
	access = place_of(accessor->table, accessor->cap, record->stream->record.event);
	if (!access->event) {
		if (2 * (accessor->n + 1) > accessor->cap) {
			int err = grow(accessor);

			if (err < 0)
				return err;
			access = place_of(accessor->table, accessor->cap, record->stream->record.event);
		}
		locate(accessor, record, access);
		accessor->n++;
	}
	return get(accessor, access, record, value);
}

/* ── create, free ────────────────────────────────────────────────────────────────────────────────────── */

API int waymark_ctf_accessor_create(struct waymark_ctf *ctf, const char *name, struct waymark_ctf_accessor **accessor)
{
	const size_t size = strlen(name) + 1;
	struct waymark_ctf_accessor *made = calloc(1, sizeof(*made) + size);
	int n;

	if (made)
		made->table = calloc(FIRST_CAP, sizeof(*made->table));
	if (!made || !made->table) {
		free(made);
		return wmk_error(-ENOMEM, "no memory to look for the field '%.240s'", name);
	}
	made->ctf = ctf;
	made->cap = FIRST_CAP;
	memcpy(made->name, name, size);
	n = wmk_library_split(made->name, made->parts);
	if (n < 0) {
		waymark_ctf_accessor_free(made);
		return wmk_errorx(-EINVAL, "'%.240s' is not a valid name of a field", name);
	}
	made->n_parts = (unsigned)n;
	*accessor = made;
	return 0;
}

API void waymark_ctf_accessor_free(struct waymark_ctf_accessor *accessor)
{
	if (!accessor)
		return;
	free(accessor->table);
	free(accessor);
}
