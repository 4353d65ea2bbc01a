/* SPDX-License-Identifier: MIT */
/*
 * json_attributes.c - parts of CTF 2's metadata that are not needed to read streams: attributes, namespaces, unique
 * ids. struct wmk_ctf_event_class has members for two attributes, the log level and the EMF URI. The parser keeps the
 * text of all other attributes, namespaces and unique ids, so that rewrite_json.c can write the text again.
 */
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "ctf/json.h"

void wmk_ctf_json_extras(const struct wmk_ctf_json_at *of)
{
	struct wmk_ctf_json_at at;

	if (wmk_ctf_json_get(of, "attributes", &at))
		wmk_ctf_json_is(&at, json_type_object);
	if (!wmk_ctf_json_get(of, "extensions", &at) || !wmk_ctf_json_is(&at, json_type_object))
		return;
	/*
	 * Reject all extensions, declared or not, because the effect of an extension is unknown. The property
	 * `extensions` of the preamble declares the extensions in use; this function also rejects that property.
	 */
	json_object_object_foreach(at.value, space, of_space) {
		const struct wmk_ctf_json_at inner = wmk_ctf_json_member(&at, space, of_space);

		if (!wmk_ctf_json_is(&inner, json_type_object))
			return;
		json_object_object_foreach(of_space, name, value) {
			(void)value;
			wmk_ctf_json_error(&inner, -ENOTSUP, "unsupported extension \"%.*s\" of the format",
					   wmk_ctf_json_shown(name), name);
		}
	}
}

/* ── kept ────────────────────────────────────────────────────────────────────────────────────────────── */

const char *wmk_ctf_json_keep(const struct wmk_ctf_json_at *of, enum wmk_ctf_json_kept what)
{
	static const char *const names[][6] = {
		[WMK_CTF_JSON_OF_CLASSES] = { "namespace", "uid", "attributes" },
		[WMK_CTF_JSON_OF_CLOCKS] = { "namespace", "accuracy", "precision", "origin", "attributes" },
		[WMK_CTF_JSON_OF_FIELDS] = { "attributes" },
	};
	json_object *object = json_object_new_object();
	struct wmk_ctf_json_at at;
	bool has_memory = object;
	const char *text = "", *kept = NULL;

	for (unsigned i = 0; names[what][i] && has_memory; i++)
		if (wmk_ctf_json_get(of, names[what][i], &at))
			has_memory = json_object_object_add(object, names[what][i], json_object_get(at.value)) == 0;
	if (has_memory && json_object_object_length(object)) {
		text = json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
		kept = text ? wmk_ctf_copy_text(of->in->to, text, strlen(text)) : NULL;
	}
	json_object_put(object);
	if (!has_memory || !text)
		wmk_ctf_fail(of->in->to, wmk_error(-ENOMEM, "no memory for metadata"));
	return kept;
}

/* ── attributes of events ────────────────────────────────────────────────────────────────────────────── */

static const char *const spaces[] = { "babeltrace.org,2020", "lttng.org,2009" };

/* An attribute that several tracers define, together with the object that contains the attribute. NULL: not present. */
static json_object *attribute(const struct wmk_ctf_json_at *of, const char *name, json_object **in)
{
	struct wmk_ctf_json_at all, space, at;

	if (!wmk_ctf_json_get(of, "attributes", &all))
		return NULL;
	for (size_t i = 0; i < WMK_ARRAY_LEN(spaces); i++)
		if (wmk_ctf_json_get(&all, spaces[i], &space) && json_object_is_type(space.value, json_type_object) &&
		    wmk_ctf_json_get(&space, name, &at)) {
			*in = space.value;
			return at.value;
		}
	return NULL;
}

/* -1 for an unknown level. */
static int32_t level_of(json_object *value)
{
	if (json_object_is_type(value, json_type_int)) {
		int64_t number = json_object_get_int64(value);

		return number >= WAYMARK_LEVEL_EMERG && number <= WAYMARK_LEVEL_DEBUG ? (int32_t)number : -1;
	}
	for (size_t i = 0; json_object_is_type(value, json_type_string) && i < WMK_CTF2_LEVELS; i++)
		if (strcmp(wmk_ctf2_levels[i], json_object_get_string(value)) == 0)
			return (int32_t)i;
	return -1;
}

static void drop_if_empty(json_object *of, const char *name)
{
	json_object *value;

	if (json_object_object_get_ex(of, name, &value) && json_object_is_type(value, json_type_object) &&
	    !json_object_object_length(value))
		json_object_object_del(of, name);
}

void wmk_ctf_json_attributes(const struct wmk_ctf_json_at *at, struct wmk_ctf_event_class *event)
{
	json_object *space, *uri = attribute(at, "emf-uri", &space);
	struct wmk_ctf_json_at all;

	if (json_object_is_type(uri, json_type_string)) {
		const char *text = json_object_get_string(uri);

		event->emf_uri = wmk_ctf_copy_text(at->in->to, text, strlen(text));
		json_object_object_del(space, "emf-uri");
	}
	event->level = level_of(attribute(at, "log-level", &space));
	if (event->level >= 0)
		json_object_object_del(space, "log-level");
	if (wmk_ctf_json_get(at, "attributes", &all)) {
		for (size_t i = 0; i < WMK_ARRAY_LEN(spaces); i++)
			drop_if_empty(all.value, spaces[i]);
		drop_if_empty(at->value, "attributes");
	}
	event->more = wmk_ctf_json_keep(at, WMK_CTF_JSON_OF_CLASSES);
}
