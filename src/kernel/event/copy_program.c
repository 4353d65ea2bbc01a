/* SPDX-License-Identifier: MIT */
/*
 * copy_program.c - runs a copy program on one record (see copy_program.h). The content of the record is not trusted:
 * positions in the record are checked against the record's length.
 */
#include "kernel/event/copy_program.h"
#include "kernel/event/kernel_event.h"
#include "kernel/event/event_names.h"

#include "base/error.h"

#include <errno.h>
#include <string.h>

/* Finds a text or elements outside of the fixed part of a record. */
static bool locate(const struct wmk_kcopy *copy, const uint8_t *record, size_t len, const uint8_t **at, size_t *n)
{
	uint32_t word;
	size_t offset = copy->from;

	if (copy->place == WMK_KPLACE_REST) {
		*at = record + offset;
		*n = len - offset;
		return true;
	}
	memcpy(&word, record + copy->from, sizeof(word));
	offset = (word & 0xffff) + (copy->place == WMK_KPLACE_REL ? offset + sizeof(word) : 0);
	*n = word >> 16;
#ifdef WMK_PLANTED_BUG_KERNEL_COPY
	*n &= 0x7f;              /* the fuzzer must find this */
	if (offset > len)
		return false;
#else
	if (offset > len || *n > len - offset)
		return false;
#endif
	*at = record + offset;
	return true;
}

/*
 * Copies a text or elements from outside of the fixed part of a record. Subtracts the size of the text or elements from
 * *spare.
 */
static int copy_far(const struct wmk_kcopy *copy, const uint8_t *record, size_t len, uint8_t **out, size_t *spare)
{
	const uint8_t *at;
	size_t n;

	if (!locate(copy, record, len, &at, &n))
		return -EPROTO;
	const uint32_t elements = copy->code == WMK_KCOPY_FAR_ELEMENTS ? (uint32_t)(n / copy->len) : 0;

	n = copy->code == WMK_KCOPY_FAR_TEXT ? strnlen((const char *)at, n) : (size_t)elements * copy->len;
	if (n > *spare)
		return -ENOSPC;
	*spare -= n;
	if (copy->code == WMK_KCOPY_FAR_ELEMENTS) {
		memcpy(*out, &elements, sizeof(elements));
		*out += sizeof(elements);
	}
	memcpy(*out, at, n);
	*out += n;
	if (copy->code == WMK_KCOPY_FAR_TEXT)
		*(*out)++ = '\0';
	return 0;
}

static uint8_t *add(uint8_t *end, const struct wmk_kcopy *copy)
{
	uint32_t value;

	memcpy(&value, end - copy->back, sizeof(value));
	value += (uint32_t)copy->add;
	memcpy(end - copy->back, &value, sizeof(value));
	return end;
}

static uint8_t *copy_text(uint8_t *out, const struct wmk_kcopy *copy, const uint8_t *at)
{
	const size_t n = strnlen((const char *)at, copy->len);

	memcpy(out, at, n);
	out[n] = '\0';
	return out + n + 1;
}

static uint8_t *copy_rwbs(uint8_t *out, const struct wmk_kcopy *copy, const uint8_t *at)
{
	const uint32_t bits = wmk_krwbs_bits((const char *)at, copy->len);

	memcpy(out, &bits, sizeof(bits));
	return out + sizeof(bits);
}

long wmk_kevent_copy(const struct wmk_kevent *event, const uint8_t *record, size_t len, uint8_t *out, size_t room)
{
	const struct wmk_kcopy *copy = event->copies, *end = copy + event->n_copies;
	const uint8_t *begin = out;
	size_t spare;
	int err;

	if (len < event->min_len)
		return wmk_error(-EPROTO, "malformed record of %.60s: it has %zu bytes, less than %u",
				 event->kernel_name, len, event->min_len);
	if (room < event->max_fixed)
		return -ENOSPC;
	spare = room - event->max_fixed;
	for (; copy < end; copy++) {
		const uint8_t *at = record + copy->from;

		switch ((enum wmk_kcopy_code)copy->code) {
		case WMK_KCOPY_1: *out++ = *at; break;
		case WMK_KCOPY_2: memcpy(out, at, 2); out += 2; break;
		case WMK_KCOPY_4: memcpy(out, at, 4); out += 4; break;
		case WMK_KCOPY_8: memcpy(out, at, 8); out += 8; break;
		case WMK_KCOPY_BYTES: memcpy(out, at, copy->len); out += copy->len; break;
		case WMK_KCOPY_ADD: out = add(out, copy); break;
		case WMK_KCOPY_TEXT: out = copy_text(out, copy, at); break;
		case WMK_KCOPY_RWBS: out = copy_rwbs(out, copy, at); break;
		case WMK_KCOPY_FAR_TEXT:
		case WMK_KCOPY_FAR_ELEMENTS:
			err = copy_far(copy, record, len, &out, &spare);
			if (err == -EPROTO)
				return wmk_error(err,
						 "malformed record of %.60s: a field refers to bytes outside of its "
						 "%zu bytes",
						 event->kernel_name, len);
			if (err < 0)
				return err;
			break;
		}
	}
	return out - begin;
}

void wmk_kcommon_read(const uint8_t *record, struct wmk_kcommon *common)
{
	memcpy(&common->type, record, 2);
	common->flags = record[2];
	common->preempt_count = record[3];
	memcpy(&common->tid, record + 4, 4);
}
