/* SPDX-License-Identifier: MIT */
/*
 * runtime.h - declare events at run time, connect callbacks to events, and request snapshots.
 *
 * This header is for languages and programs that cannot use the macros of trace.h: describe an event, get a handle, and
 * record with the handle.
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

/*
 * Description of an event. `size` is sizeof(struct waymark_schema), so that later versions of the library can append
 * members.
 */
struct waymark_schema {
	size_t size;
	const char *provider;     /* identifier, 1 to 127 bytes */
	const char *name;         /* identifier, 1 to 127 bytes */
	uint32_t level;           /* enum waymark_level */
	uint32_t n_fields;        /* 0 to WAYMARK_MAX_FIELDS */
	const struct waymark_field *fields;
	/*
	 * WAYMARK_KIND_EVENT, or a span or counter: WAYMARK_KIND_BEGIN (the name ends in "_begin"), _END ("_end"),
	 * _COUNTER (the first field is a number)
	 */
	uint32_t kind;
};

/* An event that was registered at run time. Opaque. */
struct waymark_event;

/*
 * The value of one field. The type of the field selects the member of the union. For ENUM and FLAGS, `elem` of the
 * field selects the member.
 *
 *   S8 .. S64              s64
 *   U8 .. U64, BOOL        u64 (in the low bits; with WAYMARK_F_BE in network byte order, as in memory)
 *   FLOAT                  f32
 *   DOUBLE                 f64
 *   POINTER                pointer
 *   STRING, TEXT, BYTES, SEQ, ARRAY  ref: base and length in bytes; len SIZE_MAX (STRING only): up to the NUL.
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
 * Declare an event. The library copies the schema and everything that the schema points to. After the call, the caller
 * may free the schema. Returns a handle that stays valid until waymark_event_unregister(); or NULL with errno
 *   EINVAL   a provider or event name that is not an identifier, a type that does not exist, an element type that is
 *            not a scalar, an unknown kind, level or size, a counter without a number
 *   E2BIG    more than WAYMARK_MAX_FIELDS fields
 *   ENOMEM
 * Any thread; not from a signal handler (it takes a lock and allocates). The call does not wait for a session daemon:
 * if a session records the event, the event may become enabled after the call has returned.
 */
struct waymark_event *waymark_event_register(const struct waymark_schema *schema);

/*
 * Returns 1 while a session records the event or a callback is connected to the event, else 0; 0 for NULL. Costs one
 * load. Any thread; async-signal-safe.
 */
int waymark_event_enabled(const struct waymark_event *event);

/*
 * Record the event. `n` must be the number of fields of the schema. The library keeps no reference to `values`. Returns
 * 0 if the event is recorded, lost and counted, or not enabled. Returns -EINVAL, and records nothing, if n differs from
 * the schema or event is NULL. Preserves errno. Any thread; async-signal-safe.
 */
int waymark_event_record(struct waymark_event *event, const union waymark_value *values, unsigned n);

/*
 * Remove an event. No thread may use the handle during or after the call of waymark_event_unregister(). NULL has no
 * effect. Any thread; not from a signal handler.
 */
void waymark_event_unregister(struct waymark_event *event);

/*
 * The event record that a callback receives. Valid during the call only. Fields have their final names (WAYMARK_F_NAMED
 * is set in each).
 */
struct waymark_probe_record {
	size_t size;
	const char *provider, *name;
	const struct waymark_field *fields;
	const union waymark_value *values;
	uint32_t n_fields;
	uint32_t level;
};

/*
 * A callback of an event. A callback runs in the thread that reaches the tracepoint, before the record is written. If a
 * signal handler reaches the tracepoint, the callback runs in the signal handler. Events within a callback are
 * recorded, but call no callback.
 */
typedef void (*waymark_probe_fn)(const struct waymark_probe_record *record, void *data);

/*
 * Call `fn(record, data)` each time a thread reaches the event. `event` is "provider:name"; a library that is loaded
 * later may define the event. A pair (fn, data) can be connected to an event only once; the number of pairs is not
 * limited. A connected callback enables the event even if no session records it. Returns 0, -EINVAL (not of the form
 * "provider:name", fn NULL), -EEXIST (already connected), -ENOMEM. Any thread; not from a signal handler or a callback.
 */
int waymark_connect(const char *event, waymark_probe_fn fn, void *data);

/*
 * Undo waymark_connect() with the same three arguments. After waymark_disconnect() has returned 0, no thread runs fn
 * with data, now or later, so data may be freed. The function waits for running callbacks and for records in progress,
 * at most five seconds. Returns 0, -ENOENT (not connected), -EINVAL, or -ETIMEDOUT. After -ETIMEDOUT, fn is not called
 * again, but a thread may still run fn, so data must be kept. Once a signal handler or a callback has left a record by
 * longjmp(), every later waymark_disconnect() returns -ETIMEDOUT. Any thread; not from a signal handler or a callback
 * (-EDEADLK).
 */
int waymark_disconnect(const char *event, waymark_probe_fn fn, void *data);

/*
 * Request a snapshot: each flight recorder that records this process copies what its buffers hold to a separate trace.
 * A flight recorder is a session of the user of this process with a channel in overwrite mode and a snapshot output
 * (`waymark create --snapshot`). The call returns at once. The session daemon records the snapshot afterwards, even if
 * the process has ended. Each session records at most one requested snapshot in 10 s, and counts the other requests.
 *
 * The snapshot is named REASON-DATE-NUMBER, and the environment of its trace contains the reason. `reason` is cut to
 * 127 bytes. "_" replaces control characters and bytes that are not UTF-8; in the name, "_" also replaces '/', spaces
 * and a '.' at the beginning. `reason` NULL or "": the snapshot has the name of the session's snapshot output.
 *
 * Returns 0; -ENOENT if no channel in overwrite mode records this process; -EAGAIN if an earlier request is not served
 * yet, and this request is only counted. Preserves errno. Any thread; async-signal-safe. Takes no lock. The function
 * makes at most one system call for each channel in overwrite mode, to wake the reader of the channel.
 */
int waymark_snapshot(const char *reason);

/*
 * End the helper thread, close its descriptors, and disable all events that sessions have enabled. Callbacks stay
 * connected. Call waymark_helper_stop() before an operation that requires a single thread (unshare(CLONE_NEWUSER)), or
 * before a check for leaked threads. The helper thread does not start again in this process; a forked child starts its
 * own helper thread. Returns 0; a second call of waymark_helper_stop() has no effect. Any thread; not from a signal
 * handler.
 */
int waymark_helper_stop(void);

#ifdef __cplusplus
}
#endif
#endif
