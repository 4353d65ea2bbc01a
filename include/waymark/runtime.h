/* SPDX-License-Identifier: MIT */
/*
 * runtime.h - events that are declared while the program runs, and probes within the process.
 *
 * For languages and programs that cannot use the macros of trace.h: describe an event, get a handle, record through
 * it.
 *
 *     static const struct waymark_field fields[] = {
 *         { .type = WAYMARK_T_U32, .flags = WAYMARK_F_NAMED, .name = "code" },
 *         { .type = WAYMARK_T_STRING, .flags = WAYMARK_F_NAMED, .name = "what" },
 *     };
 *     static const struct waymark_schema schema = {
 *         .size = sizeof(schema), .provider = "script", .name = "step", .level = WAYMARK_LEVEL_INFO,
 *         .fields = fields, .n_fields = 2,
 *     };
 *     struct waymark_event *event = waymark_event_register(&schema);
 *     if (waymark_event_enabled(event)) {
 *         union waymark_value v[2] = { { .u64 = 7 }, { .ref = { "begin", SIZE_MAX } } };
 *         waymark_event_record(event, v, 2);
 *     }
 */
#ifndef WAYMARK_RUNTIME_H
#define WAYMARK_RUNTIME_H

#include <stdint.h>

#include <waymark/detail/abi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What an event is. `size` is sizeof(struct waymark_schema), so that later versions can append. */
struct waymark_schema {
	size_t size;
	const char *provider;     /* identifier, 1 to 127 bytes */
	const char *name;         /* identifier, 1 to 127 bytes */
	uint32_t level;           /* enum waymark_level */
	uint32_t n_fields;        /* 0 to WAYMARK_MAX_FIELDS */
	const struct waymark_field *fields;
	/*
	 * WAYMARK_KIND_EVENT, or how it is drawn: WAYMARK_KIND_BEGIN (the name ends in "_begin"), _END ("_end"),
	 * _COUNTER (the first field is a number)
	 */
	uint32_t kind;
};

/* An event that was registered at run time. Opaque. */
struct waymark_event;

/*
 * One field's value. Which member counts follows from the field's type (for ENUM and FLAGS from its `elem`):
 *   S8 .. S64              s64
 *   U8 .. U64, BOOL        u64 (in the low bits; with WAYMARK_F_BE in network byte order, as in memory)
 *   FLOAT                  f32
 *   DOUBLE                 f64
 *   POINTER                pointer
 *   STRING, TEXT, BYTES, SEQ, ARRAY  ref: base and length in bytes; len SIZE_MAX (STRING only): the library measures.
 *                          For ARRAY, len is ignored: `count` elements are read. A NULL base with STRING is recorded
 *                          as "(null)".
 */
union waymark_value {
	int64_t s64;
	uint64_t u64;
	float f32;
	double f64;
	const void *pointer;
	struct waymark_ref ref;
};

/*
 * Declare an event. The schema and all that it points to are copied; the caller may free them.
 * Returns a handle that stays valid until waymark_event_unregister(); or NULL with errno
 *   EINVAL   a name that is not an identifier, a type that does not exist, an element type that is not a scalar,
 *            another kind, a counter without a number, a size not known
 *   E2BIG    more than WAYMARK_MAX_FIELDS fields
 *   ENOMEM
 * Any thread. Not to be called from a signal handler (it takes a lock and memory). If a session wants the event
 * already, it may be enabled by the time that the call returns, but need not be: registering does not wait for a
 * controller.
 */
struct waymark_event *waymark_event_register(const struct waymark_schema *schema);

/*
 * Returns 1 while a session records the event or a probe is connected to it, else 0; 0 for NULL.
 * One load. Any thread, signal handlers included.
 */
int waymark_event_enabled(const struct waymark_event *event);

/*
 * Record. `n` must be the schema's number of fields. Nothing is kept of `values` or of what it refers to.
 * Returns 0 (recorded, lost and counted, or not enabled: a program need not care), or
 *   -EINVAL  n differs from the schema, or event is NULL: nothing recorded
 * Preserves errno. Any thread, signal handlers included.
 */
int waymark_event_record(struct waymark_event *event, const union waymark_value *values, unsigned n);

/*
 * Withdraw an event. The handle must not be used afterwards, nor by another thread during the call.
 * NULL does nothing. Any thread, not from a signal handler.
 */
void waymark_event_unregister(struct waymark_event *event);

/* What a probe sees. Valid during the call only. Fields have their final names (WAYMARK_F_NAMED is set in each). */
struct waymark_probe_record {
	size_t size;
	const char *provider, *name;
	const struct waymark_field *fields;
	const union waymark_value *values;
	uint32_t n_fields;
	uint32_t level;
};

/*
 * A callback of an event. It runs in the thread that came to the site, in signal handlers too if they have sites,
 * before the record is written. Events that it passes itself are recorded, but call no probe.
 */
typedef void (*waymark_probe_fn)(const struct waymark_probe_record *record, void *data);

/*
 * Call `fn(record, data)` each time an event is passed. `event` is "provider:name"; it need not exist yet (a library
 * that is loaded later may bring it). One pair (fn, data) can be connected once to an event; different pairs as often
 * as one likes. Enables the event's sites even when no session records it.
 * Returns 0, -EINVAL (not of the form "provider:name", fn NULL), -EEXIST (connected already), -ENOMEM.
 * Any thread, not from a signal handler, not from a probe.
 */
int waymark_connect(const char *event, waymark_probe_fn fn, void *data);

/*
 * Undo waymark_connect() with the same three arguments. When it returns, no thread runs fn with data, nor will: data
 * may be freed. It therefore waits for probes that are running and records that are being made, five seconds at most.
 * Returns 0, -ENOENT (not connected), -EINVAL, or
 *   -ETIMEDOUT  fn will not be called again, but somebody may still run it: data must be kept. So it is for ever once a
 *               signal handler, or a probe, has left a record by longjmp().
 * Any thread, not from a signal handler, not from a probe (-EDEADLK).
 */
int waymark_disconnect(const char *event, waymark_probe_fn fn, void *data);

/*
 * End the library's helper thread, close its descriptors, and disable what sessions have enabled. Probes stay. For
 * programs that must have one thread only (before unshare(CLONE_NEWUSER), or a check for leaked threads). It does not
 * come back in this process; a child made with fork has its own. Returns 0; a second call does nothing. Any thread,
 * not from a signal handler.
 */
int waymark_helper_stop(void);

#ifdef __cplusplus
}
#endif
#endif
