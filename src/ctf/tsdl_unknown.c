/* SPDX-License-Identifier: MIT */
/*
 * tsdl_unknown.c - keep TSDL entries without a meaning in CTF (see tsdl_unknown.h).
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "ctf/tsdl_unknown.h"
#include "ctf/rewrite_tree.h"

/* ── read from TSDL ──────────────────────────────────────────────────────────────────────────────────── */

int wmk_tsdl_unknown_add(struct wmk_tsdl_unknown *kept, const char *path, const struct wmk_tsdl_unknown_value *value)
{
	struct wmk_tree_writer w = { .err = 0 };
	json_object *made = NULL;

	if (!kept->entries)
		kept->entries = json_object_new_object();
	if (kept->entries && json_object_object_length(kept->entries) >= (int)WMK_CTF_STREAMS_MAX)
		return wmk_error(-E2BIG, "the block has more than %u entries", WMK_CTF_STREAMS_MAX);
	if (value->text && value->is_word) {
		made = json_object_new_object();
		wmk_tree_put_text(&w, made, "word", value->text);
	} else {
		made = value->text ? wmk_tree_text_of(&w, value->text)
				   : wmk_tree_integer_of((uint64_t)value->number, !value->is_unsigned);
	}
	wmk_tree_put(&w, kept->entries, path, made);
	return w.err;
}

/* Make the JSON text; the function takes ownership of both trees. */
static int make_text(struct wmk_scratch *scratch, json_object *entries, json_object *callsites, const char **more)
{
	struct wmk_tree_writer w = { .err = 0 };
	json_object *whole, *attributes, *ours;
	const char *text;

	*more = NULL;
	if (!entries && !callsites)
		return 0;
	ours = json_object_new_object();
	if (entries)
		wmk_tree_put(&w, ours, "entries", entries);
	if (callsites)
		wmk_tree_put(&w, ours, "callsites", callsites);
	attributes = json_object_new_object();
	wmk_tree_put(&w, attributes, WMK_TSDL_UNKNOWN_SPACE, ours);
	whole = json_object_new_object();
	wmk_tree_put(&w, whole, "attributes", attributes);
	text = w.err >= 0
		       ? json_object_to_json_string_ext(whole, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE)
		       : NULL;
	*more = text ? wmk_scratch_text(scratch, text, strlen(text)) : NULL;
	json_object_put(whole);
	return *more ? 0 : wmk_error(-ENOMEM, "no memory for metadata");
}

int wmk_tsdl_unknown_of_class(struct wmk_tsdl_unknown *kept, struct wmk_scratch *scratch, const char **more)
{
	json_object *entries = kept->entries;

	kept->entries = NULL;
	return make_text(scratch, entries, NULL, more);
}

void wmk_tsdl_unknown_of_trace(struct wmk_tsdl_unknown *kept)
{
	kept->of_trace = kept->entries;
	kept->entries = NULL;
}

int wmk_tsdl_unknown_callsite(struct wmk_tsdl_unknown *kept)
{
	struct wmk_tree_writer w = { .err = 0 };

	if (!kept->callsites)
		kept->callsites = json_object_new_array();
	if (kept->callsites && json_object_array_length(kept->callsites) >= WMK_CTF_EVENTS_MAX)
		return wmk_error(-E2BIG, "the metadata has more than %u callsites", WMK_CTF_EVENTS_MAX);
	wmk_tree_append(&w, kept->callsites, kept->entries ? kept->entries : json_object_new_object());
	kept->entries = NULL;
	return w.err;
}

int wmk_tsdl_unknown_end(struct wmk_tsdl_unknown *kept, struct wmk_scratch *scratch, const char **more)
{
	int err = make_text(scratch, kept->of_trace, kept->callsites, more);

	json_object_put(kept->entries);
	*kept = (struct wmk_tsdl_unknown){ 0 };
	return err;
}

/* ── written as TSDL ─────────────────────────────────────────────────────────────────────────────────── */

bool wmk_tsdl_unknown_is_path(const char *path)
{
	char name[WMK_CTF_IDENT], ident[WMK_CTF_IDENT];
	size_t len;

	for (;; path += len + 1) {
		len = strcspn(path, ".");
		if (!len || len >= WMK_NAME_MAX || (*path >= '0' && *path <= '9'))
			return false;
		memcpy(name, path, len);
		name[len] = '\0';
		wmk_ctf_ident(ident, "", name, "");
		if (strcmp(ident, name) != 0 || wmk_ctf_is_keyword(name))
			return false;
		if (!path[len])
			return true;
	}
}

/*
 * Return whether the format gives the entry a meaning in this block. The block's writer derives known entries from the
 * members of the class.
 */
static bool is_known(enum wmk_tsdl_unknown_block block, const char *path)
{
	static const char *const known[][9] = {
		[WMK_TSDL_UNKNOWN_TRACE] = { "major", "minor", "byte_order", "uuid" },
		[WMK_TSDL_UNKNOWN_CLOCK] = { "name", "uuid", "description", "freq", "precision", "offset_s", "offset",
					     "absolute" },
		[WMK_TSDL_UNKNOWN_STREAM] = { "id" },
		[WMK_TSDL_UNKNOWN_EVENT] = { "id", "stream_id", "name", "model.emf.uri" },
		[WMK_TSDL_UNKNOWN_CALLSITE] = { NULL },
	};

	for (unsigned i = 0; known[block][i]; i++)
		if (!strcmp(known[block][i], path))
			return true;
	return false;
}

/*
 * Return whether the entry is a valid log level. A `loglevel` with an invalid value (tsdl_block.c) is treated as an
 * unknown entry.
 */
static bool is_level(enum wmk_tsdl_unknown_block block, const char *path, json_object *value)
{
	return block == WMK_TSDL_UNKNOWN_EVENT && !strcmp(path, "loglevel") &&
	       json_object_is_type(value, json_type_int) && json_object_get_int64(value) >= 0 &&
	       json_object_get_int64(value) <= WAYMARK_LEVEL_DEBUG;
}

/* Return whether the value is a text without a NUL; in CTF 1.8 a NUL would end the text. */
static bool is_text(json_object *value)
{
	return json_object_is_type(value, json_type_string) &&
	       strlen(json_object_get_string(value)) == (size_t)json_object_get_string_len(value);
}

static void lose(struct wmk_tsdl_writer *w, enum wmk_ctf_lost what)
{
	w->lost |= 1u << what;
}

/*
 * Metadata of CTF 2 is not trusted: the writer reports an entry as lost if the TSDL parser would not have kept the
 * entry for this block.
 */
static void put_entry(struct wmk_tsdl_writer *w, enum wmk_tsdl_unknown_block block, const char *path,
		      json_object *value)
{
	json_object *word;
	const bool is_word = json_object_object_get_ex(value, "word", &word) && json_object_object_length(value) == 1 &&
			     is_text(word) && wmk_tsdl_unknown_is_path(json_object_get_string(word));

	if (is_known(block, path) || is_level(block, path, value) || !wmk_tsdl_unknown_is_path(path) ||
	    !(is_word || is_text(value) || json_object_is_type(value, json_type_int))) {
		lose(w, WMK_CTF_LOST_ATTRIBUTE);
		return;
	}
	wmk_ctf_put(w->out, "\t%s = ", path);
	if (json_object_is_type(value, json_type_string))
		wmk_ctf_put_quoted(w->out, json_object_get_string(value));
	else
		wmk_ctf_put(w->out, "%s", is_word ? json_object_get_string(word) : json_object_to_json_string(value));
	wmk_ctf_put(w->out, ";\n");
}

static void put_entries(struct wmk_tsdl_writer *w, enum wmk_tsdl_unknown_block block, json_object *entries)
{
	json_object_object_foreach(entries, path, value)
		put_entry(w, block, path, value);
}

/* Write an attribute of Waymark. */
static void put_own(struct wmk_tsdl_writer *w, enum wmk_tsdl_unknown_block block, const char *name, json_object *value)
{
	if (!strcmp(name, "entries") && json_object_is_type(value, json_type_object))
		put_entries(w, block, value);
	else if (block != WMK_TSDL_UNKNOWN_TRACE || strcmp(name, "callsites") != 0 ||
		 !json_object_is_type(value, json_type_array))
		lose(w, WMK_CTF_LOST_ATTRIBUTE);
}

static void put_attributes(struct wmk_tsdl_writer *w, enum wmk_tsdl_unknown_block block, json_object *attributes)
{
	json_object_object_foreach(attributes, space, of_space) {
		if (strcmp(space, WMK_TSDL_UNKNOWN_SPACE) != 0 || !json_object_is_type(of_space, json_type_object)) {
			lose(w, WMK_CTF_LOST_ATTRIBUTE);
			continue;
		}
		json_object_object_foreach(of_space, name, value)
			put_own(w, block, name, value);
	}
}

void wmk_tsdl_unknown_put(struct wmk_tsdl_writer *w, enum wmk_tsdl_unknown_block block, const char *more)
{
	json_object *kept = more ? wmk_tree_parse(more) : NULL;

	if (more && !kept && w->err >= 0)
		w->err = wmk_error(-ENOMEM, "no memory for metadata");
	if (!kept)
		return;
	json_object_object_foreach(kept, key, value) {
		if (!strcmp(key, "attributes"))
			put_attributes(w, block, value);
		else if (!strcmp(key, "accuracy") ||
			 (!strcmp(key, "origin") && !json_object_is_type(value, json_type_string)))
			lose(w, WMK_CTF_LOST_ORIGIN);
		else if (strcmp(key, "precision") != 0 && strcmp(key, "origin") != 0) /* (written as entries of 1.8) */
			lose(w, WMK_CTF_LOST_ATTRIBUTE);
	}
	json_object_put(kept);
}

void wmk_tsdl_unknown_put_callsites(struct wmk_tsdl_writer *w, const char *more)
{
	json_object *kept = more ? wmk_tree_parse(more) : NULL, *at;
	const bool has = json_object_object_get_ex(kept, "attributes", &at) &&
			 json_object_object_get_ex(at, WMK_TSDL_UNKNOWN_SPACE, &at) &&
			 json_object_object_get_ex(at, "callsites", &at) && json_object_is_type(at, json_type_array);

	for (size_t i = 0; has && i < json_object_array_length(at); i++) {
		json_object *entries = json_object_array_get_idx(at, i);

		if (!json_object_is_type(entries, json_type_object)) {
			lose(w, WMK_CTF_LOST_ATTRIBUTE);
			continue;
		}
		wmk_ctf_put(w->out, "callsite {\n");
		put_entries(w, WMK_TSDL_UNKNOWN_CALLSITE, entries);
		wmk_ctf_put(w->out, "};\n\n");
	}
	json_object_put(kept);
}
