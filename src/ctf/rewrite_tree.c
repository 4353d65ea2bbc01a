/* SPDX-License-Identifier: MIT */
/*
 * rewrite_tree.c - build JSON trees (see rewrite_tree.h).
 */
#include <errno.h>

#include "base/error.h"
#include "base/utf8.h"
#include "ctf/json.h"
#include "ctf/rewrite_tree.h"
#include "ctf/text_buffer.h"

void wmk_tree_no_memory(struct wmk_tree_writer *w)
{
	if (w->err >= 0)
		w->err = wmk_error(-ENOMEM, "no memory for metadata");
}

void wmk_tree_put(struct wmk_tree_writer *w, json_object *object, const char *key, json_object *value)
{
	if (object && value && json_object_object_add(object, key, value) == 0)
		return;
	json_object_put(value);
	wmk_tree_no_memory(w);
}

void wmk_tree_append(struct wmk_tree_writer *w, json_object *array, json_object *value)
{
	if (array && json_object_array_add(array, value) == 0)
		return;
	json_object_put(value);
	wmk_tree_no_memory(w);
}

/* JSON texts are UTF-8, so the writer replaces invalid bytes by U+FFFD. */
json_object *wmk_tree_text_of(struct wmk_tree_writer *w, const char *text)
{
	struct wmk_ctf_text_buffer clean = { NULL, 0, 0, 0 };
	json_object *made;
	size_t len;

	for (; *text; text += len ? len : 1) {
		len = wmk_utf8_length(text, WMK_UTF8_MAX);
		wmk_ctf_put(&clean, "%.*s", len ? (int)len : 3, len ? text : "\xef\xbf\xbd");
	}
	if (clean.err)
		wmk_tree_no_memory(w);
	made = json_object_new_string_len(clean.len ? clean.text : "", (int)clean.len);
	wmk_ctf_text_free(&clean);
	return made;
}

void wmk_tree_put_text(struct wmk_tree_writer *w, json_object *object, const char *key, const char *text)
{
	if (text)
		wmk_tree_put(w, object, key, wmk_tree_text_of(w, text));
}

json_object *wmk_tree_parse(const char *more)
{
	struct json_tokener *tokener = json_tokener_new_ex(WMK_CTF_JSON_DEPTH);
	json_object *kept = tokener ? json_tokener_parse_ex(tokener, more, (int)strlen(more) + 1) : NULL;

	if (tokener)
		json_tokener_free(tokener);
	return kept;
}

void wmk_tree_put_more(struct wmk_tree_writer *w, json_object *object, const char *more)
{
	json_object *kept = more ? wmk_tree_parse(more) : NULL;

	if (more && !kept)
		wmk_tree_no_memory(w);
	if (!kept)
		return;
	json_object_object_foreach(kept, key, value)
		wmk_tree_put(w, object, key, json_object_get(value));
	json_object_put(kept);
}

void wmk_tree_put_number(struct wmk_tree_writer *w, json_object *object, const char *key, uint64_t number)
{
	wmk_tree_put(w, object, key, json_object_new_uint64(number));
}

json_object *wmk_tree_integer_of(uint64_t value, bool is_signed)
{
	return is_signed ? json_object_new_int64((int64_t)value) : json_object_new_uint64(value);
}

void wmk_tree_append_range(struct wmk_tree_writer *w, json_object *ranges, uint64_t from, uint64_t to, bool is_signed)
{
	json_object *range = json_object_new_array();

	wmk_tree_append(w, range, wmk_tree_integer_of(from, is_signed));
	wmk_tree_append(w, range, wmk_tree_integer_of(to, is_signed));
	wmk_tree_append(w, ranges, range);
}
