/* SPDX-License-Identifier: MIT */
/*
 * statedump.c - record the loaded objects as events, with the names and fields of LTTng-UST, which Trace Compass and
 * babeltrace support:
 *
 *     lttng_ust_statedump:start │ bin_info, build_id, debug_link for each object │ end
 *     lttng_ust_lib:load, build_id, debug_link, unload                              libraries loaded or unloaded later
 *
 * The events of lttng_ust_statedump and lttng_ust_lib are ordinary run-time events, which the helper thread records.
 */
#include <stdlib.h>
#include <string.h>

#include "tracer/objects.h"
#include "tracer/lock.h"
#include "tracer/process.h"
#include "tracer/runtime_event.h"
#include "tracer/statedump.h"
#include "tracer/thread_state.h"
#include "tracer/tracer.h"
#include "wire/wire.h"

#define NAMED(kind, text) { .type = WAYMARK_T_##kind, .name = text, .flags = WAYMARK_F_NAMED }

static const struct waymark_field bin_info_fields[] = {
	NAMED(POINTER, "baddr"), NAMED(U64, "memsz"),       NAMED(STRING, "path"),
	NAMED(U8, "is_pic"),     NAMED(U8, "has_build_id"), NAMED(U8, "has_debug_link"),
};
static const struct waymark_field build_id_fields[] = {
	NAMED(POINTER, "baddr"),
	{ .type = WAYMARK_T_SEQ, .elem = WAYMARK_T_U8, .name = "build_id", .flags = WAYMARK_F_NAMED | WAYMARK_F_HEX },
};
static const struct waymark_field debug_link_fields[] = { NAMED(POINTER, "baddr"), NAMED(U32, "crc"),
							  NAMED(STRING, "filename") };
static const struct waymark_field load_fields[] = {
	NAMED(POINTER, "baddr"),   NAMED(U64, "memsz"),         NAMED(STRING, "path"),
	NAMED(U8, "has_build_id"), NAMED(U8, "has_debug_link"),
};
static const struct waymark_field base_fields[] = { NAMED(POINTER, "baddr") };

#define SCHEMA(p, n, f, count) \
	{ \
		.size = sizeof(struct waymark_schema), .provider = p, .name = n, \
		.level = WAYMARK_LEVEL_DEBUG_SYSTEM, .fields = f, .n_fields = count \
	}

enum { START, BIN_INFO, BUILD_ID, DEBUG_LINK, END, LOAD, LOAD_BUILD_ID, LOAD_DEBUG_LINK, UNLOAD, EVENTS };

static const struct waymark_schema schemas[EVENTS] = {
	[START] = SCHEMA(WMK_STATEDUMP_PROVIDER, "start", NULL, 0),
	[BIN_INFO] = SCHEMA(WMK_STATEDUMP_PROVIDER, "bin_info", bin_info_fields, 6),
	[BUILD_ID] = SCHEMA(WMK_STATEDUMP_PROVIDER, "build_id", build_id_fields, 2),
	[DEBUG_LINK] = SCHEMA(WMK_STATEDUMP_PROVIDER, "debug_link", debug_link_fields, 3),
	[END] = SCHEMA(WMK_STATEDUMP_PROVIDER, "end", NULL, 0),
	[LOAD] = SCHEMA(WMK_LIBRARY_PROVIDER, "load", load_fields, 5),
	[LOAD_BUILD_ID] = SCHEMA(WMK_LIBRARY_PROVIDER, "build_id", build_id_fields, 2),
	[LOAD_DEBUG_LINK] = SCHEMA(WMK_LIBRARY_PROVIDER, "debug_link", debug_link_fields, 3),
	[UNLOAD] = SCHEMA(WMK_LIBRARY_PROVIDER, "unload", base_fields, 1),
};

static struct waymark_event *events[EVENTS];
static struct wmk_loaded_object *known;
static long n_known;
static bool dumped, failed;      /* failed: the objects cannot be listed; tried again when they change */
static uint32_t seen_changes;
/*
 * The list of objects that wmk_statedump_prepare() has made; n < 0: no list. `changes`: the value of wmk_tracer.changes
 * when the list was made.
 */
static struct {
	struct wmk_loaded_object *objects;
	long n;
	uint32_t changes;
} prepared = { .n = -1 };

static struct waymark_event *register_event(const struct waymark_schema *schema)
{
	struct waymark_event *event = wmk_runtime_event_make(schema);
	int err;

	if (!event)
		return NULL;
	wmk_lock();
	err = wmk_runtime_event_declare(event, schema, true);
	wmk_unlock();
	if (err < 0) {
		free(event);
		return NULL;
	}
	return event;
}

void wmk_statedump_register(void)
{
	for (int i = 0; i < EVENTS; i++)
		if (!events[i])
			events[i] = register_event(&schemas[i]);
}

void wmk_statedump_after_fork(void)
{
	dumped = failed = false;
	prepared.n = -1;            /* the parent's helper thread may be changing the list, so it is not freed */
}

void wmk_statedump_repeat(void)
{
	dumped = failed = false;
}

/*
 * The helper thread records the state dump in place of the application, so the context field procname of the helper
 * thread is set to the current name of the main thread. With `is_known`, the function uses the name that the
 * registration has just read.
 */
static void set_procname(bool is_known)
{
	memset(wmk_thread.procname, 0, sizeof(wmk_thread.procname));
	if (is_known)
		wmk_process_name(wmk_thread.procname, sizeof(wmk_thread.procname));
	else
		wmk_process_describe(wmk_thread.procname, sizeof(wmk_thread.procname));
	wmk_thread.ctx_key = 0;
}

static void record_object(const struct wmk_loaded_object *o, int info, int id, int link)
{
	union waymark_value v[6] = { { .u64 = o->base }, { .u64 = o->memsz }, { .ref = { o->path, SIZE_MAX } } };
	unsigned n = 3;

	if (info == BIN_INFO)
		v[n++].u64 = o->is_pic;
	v[n++].u64 = o->build_id_len != 0;
	v[n++].u64 = o->debug_link[0] != '\0';
	waymark_event_record(events[info], v, n);
	if (o->build_id_len) {
		v[1].ref = (struct waymark_ref){ o->build_id, o->build_id_len };
		waymark_event_record(events[id], v, 2);
	}
	if (o->debug_link[0]) {
		v[1].u64 = o->debug_crc;
		v[2].ref = (struct waymark_ref){ o->debug_link, SIZE_MAX };
		waymark_event_record(events[link], v, 3);
	}
}

static bool contains(const struct wmk_loaded_object *objects, long n, const struct wmk_loaded_object *wanted)
{
	for (long i = 0; i < n; i++)
		if (wmk_object_is_same(&objects[i], wanted))
			return true;
	return false;
}

static void record_changes(const struct wmk_loaded_object *objects, long n)
{
	for (long i = 0; i < n_known; i++)
		if (!contains(objects, n, &known[i]))
			waymark_event_record(events[UNLOAD], &(union waymark_value){ .u64 = known[i].base }, 1);
	for (long i = 0; i < n; i++)
		if (!contains(known, n_known, &objects[i]))
			record_object(&objects[i], LOAD, LOAD_BUILD_ID, LOAD_DEBUG_LINK);
}

static void record_all(const struct wmk_loaded_object *objects, long n)
{
	waymark_event_record(events[START], NULL, 0);
	for (long i = 0; i < n; i++)
		record_object(&objects[i], BIN_INFO, BUILD_ID, DEBUG_LINK);
	waymark_event_record(events[END], NULL, 0);
}

static uint32_t changes_now(void)
{
	wmk_lock();
	const uint32_t changes = wmk_tracer.changes;

	wmk_unlock();
	return changes;
}

void wmk_statedump_forget(void)
{
	if (prepared.n >= 0)
		wmk_objects_free(prepared.objects, prepared.n);
	prepared.n = -1;
}

void wmk_statedump_prepare(void)
{
	wmk_statedump_forget();
	prepared.changes = changes_now();
	prepared.n = wmk_objects_list(&prepared.objects);
}

/* List the objects that are loaded now. */
static long list_objects(uint32_t changes, struct wmk_loaded_object **objects)
{
	if (prepared.n >= 0 && prepared.changes == changes) {
		const long n = prepared.n;

		*objects = prepared.objects;
		prepared.n = -1;
		return n;
	}
	wmk_statedump_forget();
	return wmk_objects_list(objects);
}

void wmk_statedump_record(void)
{
	const bool wanted = waymark_event_enabled(events[BIN_INFO]);
	const uint32_t changes = changes_now();
	struct wmk_loaded_object *objects;

	if (!wanted)
		dumped = false;
	if (!wanted || ((dumped || failed) && changes == seen_changes))
		return;
	const bool is_prepared = prepared.n >= 0;
	long n = list_objects(changes, &objects);

	seen_changes = changes;
	failed = n < 0;
	if (failed)
		return;
	set_procname(is_prepared);
	if (!dumped)
		record_all(objects, n);
	else
		record_changes(objects, n);
	struct wmk_loaded_object *before = known;
	const long n_before = n_known;

	/*
	 * Replace `known` under the lock. If another thread forks while the old objects are freed, the child has no
	 * reference to the old objects.
	 */
	wmk_lock();
	known = objects;
	n_known = n;
	wmk_unlock();
	wmk_objects_free(before, n_before);
	dumped = true;
}
