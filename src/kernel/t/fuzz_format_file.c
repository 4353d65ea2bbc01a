/* SPDX-License-Identifier: MIT */
/*
 * fuzz_format_file.c - arbitrary bytes as a format file. Nothing after the end is read. A parsed format keeps the
 * guarantees of format_file.h; an event made of it can be described in a trace, and a record of zeros can be copied.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "kernel/event/kernel_event.h"
#include "kernel/t/decode.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool so)
{
	if (!so)
		abort();
}

static void look(const struct wmk_kfield *field)
{
	must(field->name[0] && strlen(field->name) <= WMK_NAME_MAX && field->type);
	must(field->offset + field->size <= WMK_KFORMAT_REACH && field->n_labels <= WMK_KFORMAT_LABELS);
	if (field->shape == WMK_KSHAPE_ARRAY)
		must(field->elem && field->elem <= 8 && field->count * field->elem == field->size);
	if (field->shape == WMK_KSHAPE_NUMBER)
		must(!field->n_labels || field->size == 1 || field->size == 2 || field->size == 4 || field->size == 8 ||
		     !field->size);
	for (uint32_t i = 0; i < field->n_labels; i++)
		must(field->labels[i].name[0] && field->labels[i].from == field->labels[i].to &&
		     field->shape == WMK_KSHAPE_NUMBER);
}

static void use(const struct wmk_kformat *format)
{
	struct wmk_kevent *event;
	struct decoded decoded;

	if (wmk_kevent_make(format, &event) < 0)
		return;
	must(decoded_make(event->class, WMK_CTF_1_8, &decoded) == 0);
	/* (several fields can extend to the record's end, each at most over all of it) */
	const size_t room = event->max_fixed + (size_t)event->class->n_fields * event->min_len;
	uint8_t *record = calloc(1, event->min_len), *out = malloc(room + 1);
	const long n = wmk_kevent_copy(event, record, event->min_len, out, room);

	must(record && out && n >= 0 && n <= (long)room);
	struct wmk_ctf_bytes in = { out, 0, (uint64_t)n * 8 };
	struct wmk_ctf_walk walk;

	wmk_ctf_walk_begin(&walk, &in, 0);
	must(wmk_ctf_skip(&walk, decoded_payload(&decoded)) == 0 && walk.at == (uint64_t)n * 8);
	free(record);
	free(out);
	decoded_free(&decoded);
	wmk_kevent_free(event);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const systems[] = { "s", "syscalls", "sched", "block" };
	char *text = malloc(size ? size : 1);
	struct wmk_kformat *format;

	must(text != NULL);
	memcpy(text, data, size);
	if (wmk_kformat_parse(systems[size % 4], text, size, &format) == 0) {
		free(text);
		text = NULL;
		for (uint32_t i = 0; i < format->n_common + format->n_fields; i++)
			look(&format->fields[i]);
		use(format);
		free(format);
	}
	free(text);
	wmk_error_clear();
	return 0;
}
