/* SPDX-License-Identifier: MIT */
/*
 * copy.bpf.h - copies what the arguments of a system call point to. The functions of copy.bpf.h read user memory
 * without faults, and append parts to the record in the scratch buffer. syscalls.bpf.c calls only copy_part().
 */
#ifndef WMK_KERNEL_BPF_COPY_H
#define WMK_KERNEL_BPF_COPY_H

#include "maps.bpf.h"

/*
 * Limits a size so that the verifier accepts the size. Without the barrier, clang could compare one register and use
 * another register with the same value. Older verifiers (Linux 6.1) do not detect that two registers have the same
 * value.
 */
static __always_inline __u64 bounded(__u64 size)
{
	asm volatile("" : "+r"(size));
	return size > WMK_SYSCALLS_PART_MAX ? WMK_SYSCALLS_PART_MAX : size;
}

/* Copies a text to `to`, where WMK_SYSCALLS_PART_MAX + 8 bytes are free. */
static __always_inline void copy_text(struct wmk_syscalls_part *part, __u8 *to, __u64 from, __u32 max)
{
	long n;

	if (max > WMK_SYSCALLS_PART_MAX)
		max = WMK_SYSCALLS_PART_MAX;
	/*
	 * bpf_probe_read_user_str() copies at most `max` + 1 bytes and a NUL, and returns the number of bytes with the
	 * NUL. A result above `max` + 1 shows that the text is longer than `max`.
	 */
	n = bpf_probe_read_user_str(to, max + 2, (const void *)from);
	if (n < 0) {
		part->flags |= WMK_SYSCALLS_PART_UNREADABLE;
	} else if (n > (long)max + 1) {
		part->flags |= WMK_SYSCALLS_PART_CUT;
		part->len = max;
	} else if (n > 0) {          /* Linux before 6.2 returns 0 for an empty text */
		part->len = n - 1;
	}
}

static __always_inline void copy_bytes(struct wmk_syscalls_part *part, __u8 *to, __u64 from, __u64 len, __u32 max)
{
	__u32 n = max;

	if (n > WMK_SYSCALLS_PART_MAX)
		n = WMK_SYSCALLS_PART_MAX;
	if (len > n)
		part->flags |= WMK_SYSCALLS_PART_CUT;
	else
		n = len;
	if (bpf_probe_read_user(to, bounded(n), (const void *)from) != 0) {
		/* Only the next page may be missing: the function copies up to the beginning of that page. */
		__u32 left = 4096 - (from & 4095);

		part->flags |= WMK_SYSCALLS_PART_UNREADABLE;
		if (left >= n || left > WMK_SYSCALLS_PART_MAX || bpf_probe_read_user(to, left, (const void *)from) != 0)
			return;
		n = left;
	}
	part->len = n;
}

static __always_inline __u64 read_pointer(__u64 at, int compat, int *is_bad)
{
	__u64 pointer = 0;

	*is_bad = bpf_probe_read_user(&pointer, compat ? 4 : 8, (const void *)at) != 0;
	return pointer;
}

/*
 * A function that a loop calls is not inlined. The verifier checks such a function once, not on each path through the
 * loop.
 */

#define TEXT_UNREADABLE 0x10000
#define TEXT_CUT 0x20000

/*
 * Copies a text of an argv to the part at `at`, behind the `used` bytes that the part has already. Returns the new
 * number of used bytes, with the flags TEXT_CUT and TEXT_UNREADABLE. flags.
 */
__noinline int copy_one_text(__u32 slot, __u32 at, __u32 used, __u64 text, __u32 max)
{
	struct scratch *scratch = bpf_map_lookup_elem(&scratches, &slot);
	int flags = 0;
	__u8 *to;
	long n;

	if (!scratch || at > PARTS_LAST)
		return used & (WMK_SYSCALLS_STRINGS_ROOM - 1);
	to = scratch->record + at + sizeof(struct wmk_syscalls_part);
	if (max > WMK_SYSCALLS_STRING_MAX)
		max = WMK_SYSCALLS_STRING_MAX;
	used &= WMK_SYSCALLS_STRINGS_ROOM - 1;
	n = bpf_probe_read_user_str(to + used, max + 2, (const void *)text);
	if (n <= 0 || n > WMK_SYSCALLS_STRING_MAX + 2) {
		flags = n ? TEXT_UNREADABLE : 0;         /* 0: an empty text, see copy_text() */
		n = 1;
		to[used] = 0;
	}
	if (n > (long)max + 1) {
		flags = TEXT_CUT;
		n = max + 1;
	}
	/* The last text may exceed WMK_SYSCALLS_STRINGS_ROOM; the part has spare room for this text. */
	used += n;
	to[(used - 1) & (2 * WMK_SYSCALLS_STRINGS_ROOM - 1)] = 0;
	return used | flags;
}

static __always_inline void copy_texts(struct wmk_syscalls_part *part, __u32 slot, __u32 at, __u64 from, __u32 max,
				       int compat)
{
	__u32 used = 0, count = 0, flags = 0;
	int is_bad;
	__u64 text = read_pointer(from, compat, &is_bad);

	/*
	 * The condition is at the end of each iteration, so a jump leads from one iteration to the next. Linux 6.1
	 * recognizes a bounded loop only by a jump from one iteration to the next.
	 */
	while (!is_bad && text) {
		int got;

		if (count == WMK_SYSCALLS_STRINGS || used >= WMK_SYSCALLS_STRINGS_ROOM - 1) {
			flags |= TEXT_CUT;
			break;
		}
		got = copy_one_text(slot, at, used, text, max);
		flags |= got;
		used = got & 0xffff;
		count++;
		text = read_pointer(from + count * (compat ? 4 : 8), compat, &is_bad);
	}
	if (is_bad)
		flags |= TEXT_UNREADABLE;
	if (flags & TEXT_UNREADABLE)
		part->flags |= WMK_SYSCALLS_PART_UNREADABLE;
	if (flags & TEXT_CUT)
		part->flags |= WMK_SYSCALLS_PART_CUT;
	part->count = count;
	part->len = used;
}

struct vector {
	__u64 base, len;
};

/*
 * Copies the memory of one vector to the part at `at`, behind the `used` bytes that the part has already. Returns 0, or
 * another value if the memory is unreadable.
 */
__noinline int copy_one_vector(__u32 slot, __u32 at, __u32 used, __u64 base, __u32 n)
{
	struct scratch *scratch = bpf_map_lookup_elem(&scratches, &slot);

	if (!scratch || at > PARTS_LAST || n > WMK_SYSCALLS_PART_MAX / 2)
		return 1;
	used &= WMK_SYSCALLS_PART_MAX / 2 - 1;
	return bpf_probe_read_user(scratch->record + at + sizeof(struct wmk_syscalls_part) + used, n,
				   (const void *)base) != 0;
}

static __always_inline void copy_vectors(struct wmk_syscalls_part *part, __u32 slot, __u32 at, __u64 from,
					 __u64 n_vectors, __u64 len, __u32 max, int compat)
{
	__u32 used = 0;

	if (max > WMK_SYSCALLS_PART_MAX / 2)
		max = WMK_SYSCALLS_PART_MAX / 2;
	for (__u32 i = 0; i < WMK_SYSCALLS_VECTORS; i++) {
		struct vector vector = {};
		__u32 narrow[2] = {};
		__u64 n;

		if (i >= n_vectors || !len)
			return;
		if (compat ? bpf_probe_read_user(narrow, sizeof(narrow), (const void *)(from + i * sizeof(narrow))) != 0
			   : bpf_probe_read_user(&vector, sizeof(vector), (const void *)(from + i * sizeof(vector))) !=
				     0) {
			part->flags |= WMK_SYSCALLS_PART_UNREADABLE;
			return;
		}
		if (compat) {
			vector.base = narrow[0];
			vector.len = narrow[1];
		}
		n = vector.len < len ? vector.len : len;
		len -= n;
		if (n > max - used) {
			n = max - used;
			part->flags |= WMK_SYSCALLS_PART_CUT;
			if (!n)
				return;
		}
		if (copy_one_vector(slot, at, used, vector.base, n)) {
			part->flags |= WMK_SYSCALLS_PART_UNREADABLE;
			return;
		}
		used += n;
		part->len = used;
	}
	if (n_vectors > WMK_SYSCALLS_VECTORS && len)
		part->flags |= WMK_SYSCALLS_PART_CUT;
}

/*
 * A count of elements has 32 bits; the upper half of its register is undefined. A length in bytes may have 64 bits. A
 * length above UINT32_MAX becomes UINT32_MAX, because the limit of a part is much smaller.
 */
static __always_inline __u64 length_of(__u64 count, __u16 unit)
{
	if (unit == 1 && count >> 32)
		return 0xffffffffu;
	return (count & 0xffffffffu) * unit;
}

/* Copies a part as its plan specifies. Returns 0, or another value if the operation is unknown. */
static __always_inline int copy_by_plan(struct wmk_syscalls_part *part, const struct wmk_syscalls_copy *copy,
					const struct scratch *scratch, __u32 slot, __u32 at, __u64 from, __u64 count,
					int compat)
{
	__u8 *to = (__u8 *)(part + 1);
	__u32 length;

	switch (copy->op) {
	case WMK_SYSCALLS_TEXT:
		copy_text(part, to, from, copy->max);
		break;
	case WMK_SYSCALLS_BYTES:
		copy_bytes(part, to, from, length_of(count, copy->unit), copy->max);
		break;
	case WMK_SYSCALLS_FIXED:
		copy_bytes(part, to, from, copy->unit, copy->max);
		break;
	case WMK_SYSCALLS_RETURNED:
		copy_bytes(part, to, from, scratch->ret * copy->unit, copy->max);
		break;
	case WMK_SYSCALLS_LENGTH_AT:
		if (bpf_probe_read_user(&length, sizeof(length), (const void *)count) != 0)
			part->flags = WMK_SYSCALLS_PART_UNREADABLE;
		else
			copy_bytes(part, to, from, length, copy->max);
		break;
	case WMK_SYSCALLS_TEXTS:
		copy_texts(part, slot, at, from, copy->max, compat);
		break;
	case WMK_SYSCALLS_VECTORS_IN:
		copy_vectors(part, slot, at, from, count, ~0ull, copy->max, compat);
		break;
	case WMK_SYSCALLS_VECTORS_RETURNED:
		copy_vectors(part, slot, at, from, count, scratch->ret, copy->max, compat);
		break;
	default:
		return 1;
	}
	return 0;
}

/*
 * Copies part `which` to byte `at` of the record. A value of `which` from WMK_SYSCALLS_PARTS on selects a part of the
 * entry record that the exit record retries. Returns the offset of the next part. All arguments are numbers, so that
 * the verifier checks the function once.
 */
__noinline int copy_part(__u32 slot, __u32 abi, __u32 number, __u32 which, __u32 at)
{
	struct scratch *scratch = bpf_map_lookup_elem(&scratches, &slot);
	const struct wmk_syscalls_copy *copy;
	struct wmk_syscalls_part *part;
	struct wmk_syscalls_counts *count_here;
	__u64 from, count;
	__u32 index;
	int is_late;

	if (!scratch || abi >= WMK_SYSCALLS_ABIS || number >= WMK_SYSCALLS_NUMBERS || which >= 2 * WMK_SYSCALLS_PARTS ||
	    at > PARTS_LAST)
		return at;
	/*
	 * The entry record gets the parts of the first half of the plan. The exit record gets the parts of the second
	 * half of the plan, and then the late parts of the first half.
	 */
	is_late = which >= WMK_SYSCALLS_PARTS;
	index = slot == WMK_SYSCALLS_SLOT_ENTRY ? which :
		is_late ? which - WMK_SYSCALLS_PARTS : which + WMK_SYSCALLS_PARTS;
	__asm__ __volatile__("" : "+r"(index));
	if (index >= 2 * WMK_SYSCALLS_PARTS)
		return at;
	copy = (const struct wmk_syscalls_copy *)&config.plans[abi][number] + index;
	if (copy->arg >= WMK_SYSCALLS_ARGS || copy->len_arg >= WMK_SYSCALLS_ARGS)
		return at;
	from = scratch->args[copy->arg];
	count = scratch->args[copy->len_arg];
	/*
	 * The part is built in the map `scratches`, because the verifier then has fewer states to check: the verifier
	 * tracks no values in maps.
	 */
	part = (struct wmk_syscalls_part *)(scratch->record + at);
	*part = (struct wmk_syscalls_part){ .arg = copy->arg };
	if (!from)
		part->flags = WMK_SYSCALLS_PART_NULL;
	else if (copy_by_plan(part, copy, scratch, slot, at, from, count, abi))
		return at;
	if (part->flags & WMK_SYSCALLS_PART_UNREADABLE) {
		/* The entry record has already counted this part and marked it as unreadable. */
		if (is_late)
			return at;
		count_here = bpf_map_lookup_elem(&counts, &slot);
		if (count_here)
			count_here->unreadable++;
		if (copy->is_late)
			scratch->late |= 1u << which;
	}
	if (is_late)
		part->flags |= WMK_SYSCALLS_PART_LATE;
	return at + sizeof(*part) + ((part->len + 7) & 0xfff8u);
}

#endif
