/* SPDX-License-Identifier: MIT */
/*
 * ctl.c - the tables of objects between a client and the session daemon (see ctl.h). The same names are used in JSON,
 * so a saved session cannot be read after a member is renamed. The limits protect both sides from malformed messages;
 * the session daemon has other limits for resources.
 */
#include "wire/ctl.h"
#include "base/array.h"
#include "wire/unrecorded.h"

#include <waymark/detail/abi.h>

#define PATH_BYTES WMK_OBJECT_TEXT_MAX
#define MESSAGE_BYTES 1024u
#define TYPE_BYTES 512u

static const char *const domain_kinds[] = { "user", "pid", "exec", "kernel" };
static const char *const modes[] = { "discard", "overwrite" };
static const char *const buffers[] = { "uid", "pid" };
static const char *const allocations[] = { "per-cpu", "per-channel" };
static const char *const preallocations[] = { "default", "preallocate", "on-demand" };
static const char *const call_arguments[] = { "text", "none" };
static const char *const calls_by[] = { "none", "bpf", "tracefs" };
const char *const wmk_ctl_trace_formats[WMK_CTL_TRACE_FORMATS] = { "ctf-1.8", "ctf-2" };
const char *const wmk_ctl_clocks[WMK_CTL_CLOCKS] = { "default", "counter", "monotonic", "plugin" };
static const char *const rule_probes[] = { "none",     "probe",           "probe-return",
					   "function", "userspace-probe", "userspace-probe-return" };
static const char *const level_ops[] = { "any", "at-least", "exactly", "between" };
static const char *const levels[] = {
	"emerg",        "alert",      "crit",           "err",           "warning",
	"notice",       "info",       "debug_system",   "debug_program", "debug_process",
	"debug_module", "debug_unit", "debug_function", "debug_line",    "debug",
};
static const char *const event_kinds[] = { "event", "marker", "text", "guard", "begin", "end", "counter" };
static const char *const track_kinds[] = { "pid", "uid", "gid", "kernel_pid" };
static const char *const regenerate_kinds[] = { "metadata", "statedump" };

/*
 * The compiler checks that each enum value has a name, because a value without a name would make a whole reply
 * undecodable.
 */
#define ALL_HAVE_NAMES(names, last) _Static_assert(WMK_ARRAY_LEN(names) == (last) + 1, "one name for each value")
ALL_HAVE_NAMES(domain_kinds, WMK_DOMAIN_KERNEL);
ALL_HAVE_NAMES(modes, WMK_MODE_OVERWRITE);
ALL_HAVE_NAMES(buffers, WMK_BUFFERS_PID);
ALL_HAVE_NAMES(allocations, WMK_PER_CHANNEL);
ALL_HAVE_NAMES(preallocations, WMK_PREALLOCATE_ON_DEMAND);
ALL_HAVE_NAMES(call_arguments, WMK_CALL_ARGUMENTS_NONE);
ALL_HAVE_NAMES(calls_by, WMK_CALLS_BY_TRACEFS);
ALL_HAVE_NAMES(wmk_ctl_trace_formats, WMK_TRACE_CTF_2);
ALL_HAVE_NAMES(wmk_ctl_clocks, WMK_CTL_CLOCK_PLUGIN);
ALL_HAVE_NAMES(rule_probes, WMK_RULE_USER_PROBE_RETURN);
ALL_HAVE_NAMES(level_ops, WMK_LEVEL_BETWEEN);
ALL_HAVE_NAMES(levels, WAYMARK_LEVEL_DEBUG);
ALL_HAVE_NAMES(event_kinds, WAYMARK_KIND_COUNTER);
ALL_HAVE_NAMES(track_kinds, WMK_TRACK_KINDS - 1);
ALL_HAVE_NAMES(regenerate_kinds, WMK_REGENERATE_STATEDUMP);

/* ── sessions, channels, applications ────────────────────────────────────────────────────────────────── */

#define DOMAIN(kind, ...) WMK_SHARED(kind, wmk_ctl_domain, waymark_ctl_channel_info, __VA_ARGS__)
static const struct wmk_member domain_members[] = {
	{ .name = "kind", WMK_FIELD_ENUM(wmk_ctl_domain, kind, domain_kinds),
	  WMK_VIEW(wmk_ctl_domain, kind, waymark_ctl_channel_info, domain) },
	DOMAIN(BOOL, follow),
	DOMAIN(U64, pid),
	WMK_MEMBER(U64, wmk_ctl_domain, start_time),
	DOMAIN(TEXT, exec, PATH_BYTES),
};
const struct wmk_object wmk_ctl_domain_object = WMK_OBJECT_OF("domain", wmk_ctl_domain, domain_members);

/* The counts that clients see. */
static const struct wmk_member counts_members[] = {
#define WMK_COUNT(name) WMK_SHARED(U64, wmk_counts, waymark_ctl_counts, name),
#include "wire/counts.def"
};
const struct wmk_object wmk_ctl_counts_object =
	WMK_OBJECT_SHARED("counts", wmk_counts, waymark_ctl_counts, counts_members);

#define RULE(kind, ...) WMK_SHARED(kind, wmk_ctl_rule, waymark_ctl_rule_info, __VA_ARGS__)
static const struct wmk_member rule_members[] = {
	RULE(TEXT, pattern, WMK_CTL_PATTERN_MAX),
	RULE(TEXTS, exclusions, 64),
	RULE(ENUM, level_op, level_ops),
	RULE(ENUM, level, levels),
	RULE(ENUM, level_to, levels),
	RULE(TEXT, filter, WMK_CTL_FILTER_MAX),
	RULE(BOOL, enabled),
	RULE(U64, matched),
	RULE(ENUM, probe, rule_probes),
	RULE(TEXT, place, WMK_CTL_PLACE_MAX),
};
const struct wmk_object wmk_ctl_rule_object =
	WMK_OBJECT_SHARED("rule", wmk_ctl_rule, waymark_ctl_rule_info, rule_members);

#define SETTING(kind, ...) \
	WMK_SHARED_IN(kind, wmk_ctl_channel, settings, waymark_ctl_channel_info, __VA_ARGS__)
#define CHANNEL(kind, ...) WMK_SHARED(kind, wmk_ctl_channel, waymark_ctl_channel_info, __VA_ARGS__)
static const struct wmk_member channel_members[] = {
	CHANNEL(TEXT, name, WMK_CTL_NAME_MAX),
	{ .name = "domain", WMK_FIELD_OBJECT(wmk_ctl_channel, domain, wmk_ctl_domain, wmk_ctl_domain_object),
	  .view_kind = WMK_VIEW_IN_PLACE },
	SETTING(ENUM, mode, modes),
	SETTING(ENUM, buffers, buffers),
	SETTING(U64, subbuf_size),
	SETTING(U64, n_subbufs),
	SETTING(I64, blocking_us),
	SETTING(U64, field_limit),
	SETTING(U64, tracefile_size),
	SETTING(U64, tracefile_count),
	CHANNEL(TEXTS, contexts, 32),
	CHANNEL(LIST, rules, wmk_ctl_rule_object, WMK_CTL_RULES_MAX),
	CHANNEL(BOOL, enabled),
	CHANNEL(OBJECT, counts, wmk_counts, wmk_ctl_counts_object),
	CHANNEL(U64, memory),
	SETTING(ENUM, call_arguments, call_arguments),
	SETTING(I64, flush_us),
	SETTING(ENUM, allocation, allocations),
	SETTING(ENUM, preallocation, preallocations),
	SETTING(U64, poll_us),
	SETTING(U64, reclaim_us),
	CHANNEL(U64, reclaimed),
	CHANNEL(ENUM, calls_by, calls_by),
	CHANNEL(TEXT, calls_why, MESSAGE_BYTES),
};
const struct wmk_object wmk_ctl_channel_object =
	WMK_OBJECT_SHARED("channel", wmk_ctl_channel, waymark_ctl_channel_info, channel_members);

#define TRACKERS(kind, ...) WMK_SHARED(kind, wmk_ctl_trackers, waymark_ctl_trackers, __VA_ARGS__)
static const struct wmk_member trackers_members[] = {
	TRACKERS(BOOL, pid),
	TRACKERS(BOOL, uid),
	TRACKERS(BOOL, gid),
	TRACKERS(BOOL, kernel_pid),
	TRACKERS(NUMBERS, pids, 16384),
	TRACKERS(NUMBERS, uids, 16384),
	TRACKERS(NUMBERS, gids, 16384),
	TRACKERS(NUMBERS, kernel_pids, 16384),
};
const struct wmk_object wmk_ctl_trackers_object =
	WMK_OBJECT_SHARED("trackers", wmk_ctl_trackers, waymark_ctl_trackers, trackers_members);

#define UNRECORDED(kind, ...) WMK_SHARED(kind, wmk_ctl_unrecorded, waymark_ctl_unrecorded, __VA_ARGS__)
static const struct wmk_member unrecorded_members[] = {
	UNRECORDED(U64, pid),
	UNRECORDED(U64, uid),
	UNRECORDED(TEXT, name, WMK_CTL_NAME_MAX),
	{ .name = "reason", WMK_FIELD_ENUM(wmk_ctl_unrecorded, reason, wmk_unrecorded_names),
	  .view_kind = WMK_VIEW_NAME, .view = offsetof(struct waymark_ctl_unrecorded, reason) },
	UNRECORDED(BOOL, in_part),
	UNRECORDED(TEXT, why, MESSAGE_BYTES),
};
const struct wmk_object wmk_ctl_unrecorded_object =
	WMK_OBJECT_SHARED("unrecorded", wmk_ctl_unrecorded, waymark_ctl_unrecorded, unrecorded_members);

/* An object that contains only the settings. */
struct settings_alone { struct wmk_ctl_settings settings; };
static const struct wmk_member settings_members[] = {
	WMK_CTL_SETTINGS_SIZE(settings_alone),
	WMK_CTL_SETTINGS(settings_alone),
};
const struct wmk_object wmk_ctl_settings_object = WMK_OBJECT_OF("settings", settings_alone, settings_members);

#define SESSION(kind, ...) WMK_SHARED(kind, wmk_ctl_session, waymark_ctl_session_info, __VA_ARGS__)
static const struct wmk_member session_members[] = {
	SESSION(TEXT, name, WMK_CTL_NAME_MAX),
	SESSION(TEXT, path, PATH_BYTES),
	SESSION(U64, uid),
	SESSION(U64, gid),
	SESSION(U64, created),
	SESSION(BOOL, active),
	SESSION(BOOL, started),
	WMK_CTL_SETTINGS_SIZE(wmk_ctl_session),
	SESSION(BOOL, full),
	SESSION(BOOL, stopping),
	WMK_CTL_SETTINGS(wmk_ctl_session),
	SESSION(LIST, channels, wmk_ctl_channel_object, WMK_CTL_CHANNELS_MAX),
	SESSION(OBJECT, trackers, wmk_ctl_trackers, wmk_ctl_trackers_object),
	SESSION(OBJECT, counts, wmk_counts, wmk_ctl_counts_object),
	SESSION(LIST, unrecorded, wmk_ctl_unrecorded_object, WMK_CTL_UNRECORDED_MAX),
	SESSION(U64, unrecorded_more),
	SESSION(U64, rotations),
	SESSION(TEXT, closed_chunk, WMK_CTL_NAME_MAX),
	SESSION(U64, snapshots_omitted),
};
const struct wmk_object wmk_ctl_session_object =
	WMK_OBJECT_SHARED("session", wmk_ctl_session, waymark_ctl_session_info, session_members);

#define RELAY(kind, ...) WMK_SHARED(kind, wmk_ctl_relay, waymark_ctl_relay_info, __VA_ARGS__)
static const struct wmk_member relay_members[] = {
	RELAY(TEXT, session, WMK_CTL_NAME_MAX),
	RELAY(TEXT, path, PATH_BYTES),
	RELAY(TEXT, url, WMK_RELAY_URL_MAX),
	RELAY(U64, uid),
	RELAY(BOOL, kernel),
	RELAY(BOOL, connected),
	RELAY(U64, behind),
	RELAY(U64, spooled),
	RELAY(TEXT, error, MESSAGE_BYTES),
};
const struct wmk_object wmk_ctl_relay_object =
	WMK_OBJECT_SHARED("relay", wmk_ctl_relay, waymark_ctl_relay_info, relay_members);

#define FIELD(kind, ...) WMK_SHARED(kind, wmk_ctl_field, waymark_ctl_field_info, __VA_ARGS__)
static const struct wmk_member field_members[] = {
	FIELD(TEXT, name, WMK_CTL_NAME_MAX),
	FIELD(TEXT, type, TYPE_BYTES),
	FIELD(TEXT, unit, WMK_CTL_NAME_MAX),
};
static const struct wmk_object field_object =
	WMK_OBJECT_SHARED("field", wmk_ctl_field, waymark_ctl_field_info, field_members);

#define EVENT(kind, ...) WMK_SHARED(kind, wmk_ctl_event, waymark_ctl_event_info, __VA_ARGS__)
static const struct wmk_member event_members[] = {
	EVENT(TEXT, provider, WMK_CTL_NAME_MAX),
	EVENT(TEXT, name, WMK_CTL_NAME_MAX),
	EVENT(ENUM, kind, event_kinds),
	EVENT(ENUM, level, levels),
	EVENT(TEXT, file, PATH_BYTES),
	EVENT(U32, line),
	EVENT(BOOL, enabled),
	EVENT(LIST, fields, field_object, 1024),
};
const struct wmk_object wmk_ctl_event_object =
	WMK_OBJECT_SHARED("event", wmk_ctl_event, waymark_ctl_event_info, event_members);

#define APP(kind, ...) WMK_SHARED(kind, wmk_ctl_app, waymark_ctl_app_info, __VA_ARGS__)
static const struct wmk_member app_members[] = {
	APP(U64, pid),
	APP(U64, uid),
	APP(U64, gid),
	WMK_MEMBER(U64, wmk_ctl_app, start_time),
	APP(TEXT, name, WMK_CTL_NAME_MAX),
	APP(TEXT, exe, PATH_BYTES),
	APP(BOOL, connected),
	{ .name = "n_events", WMK_FIELD_U32(wmk_ctl_app, n_events),
	  WMK_VIEW(wmk_ctl_app, n_events, waymark_ctl_app_info, n_known) },
	APP(TEXT, why, MESSAGE_BYTES),
	APP(LIST, events, wmk_ctl_event_object, 1u << 20),
};
const struct wmk_object wmk_ctl_app_object = WMK_OBJECT_SHARED("app", wmk_ctl_app, waymark_ctl_app_info, app_members);

/* ── replies ─────────────────────────────────────────────────────────────────────────────────────────── */

#define VERSION(kind, ...) WMK_SHARED(kind, wmk_ctl_version_reply, waymark_ctl_version_info, __VA_ARGS__)
static const struct wmk_member version_reply_members[] = {
	VERSION(TEXT, version, WMK_CTL_NAME_MAX),
	VERSION(U64, pid),
	VERSION(U64, uid),
	VERSION(U64, started),
	VERSION(TEXT, rundir, PATH_BYTES),
};
const struct wmk_object wmk_ctl_version_reply_object =
	WMK_OBJECT_SHARED("version reply", wmk_ctl_version_reply, waymark_ctl_version_info, version_reply_members);

static const struct wmk_member outcome_members[] = {
	WMK_MEMBER(LIST, wmk_ctl_outcome, unanswered, wmk_ctl_app_object, 65536),
	WMK_MEMBER(TEXTS, wmk_ctl_outcome, warnings, WMK_CTL_WARNINGS_MAX),
	WMK_MEMBER(LIST, wmk_ctl_outcome, sessions, wmk_ctl_session_object, WMK_CTL_SESSIONS_MAX),
};
const struct wmk_object wmk_ctl_outcome_object = WMK_OBJECT_OF("outcome", wmk_ctl_outcome, outcome_members);

static const struct wmk_member sessions_members[] = {
	WMK_MEMBER(LIST, wmk_ctl_sessions, sessions, wmk_ctl_session_object, WMK_CTL_SESSIONS_MAX),
	WMK_MEMBER(LIST, wmk_ctl_sessions, relays, wmk_ctl_relay_object, WMK_CTL_RELAYS_MAX),
};
const struct wmk_object wmk_ctl_sessions_object = WMK_OBJECT_OF("sessions", wmk_ctl_sessions, sessions_members);

static const struct wmk_member apps_members[] = { WMK_MEMBER(LIST, wmk_ctl_apps, apps, wmk_ctl_app_object, 65536) };
const struct wmk_object wmk_ctl_apps_object = WMK_OBJECT_OF("apps", wmk_ctl_apps, apps_members);

static const struct wmk_member kernel_members[] = {
	WMK_MEMBER(LIST, wmk_ctl_kernel, events, wmk_ctl_event_object, 1u << 20),
	WMK_MEMBER(TEXTS, wmk_ctl_kernel, lacks, 64),
	WMK_MEMBER(TEXT, wmk_ctl_kernel, clock, WMK_CTL_NAME_MAX),
};
const struct wmk_object wmk_ctl_kernel_object = WMK_OBJECT_OF("kernel", wmk_ctl_kernel, kernel_members);

#define SNAPSHOT(kind, ...) WMK_SHARED(kind, wmk_ctl_snapshot_reply, waymark_ctl_snapshot_info, __VA_ARGS__)
static const struct wmk_member snapshot_reply_members[] = {
	SNAPSHOT(TEXT, path, PATH_BYTES),
	SNAPSHOT(U64, records),
	SNAPSHOT(U64, bytes),
	SNAPSHOT(U64, overwritten),
	WMK_MEMBER(TEXTS, wmk_ctl_snapshot_reply, warnings, WMK_CTL_WARNINGS_MAX),
};
const struct wmk_object wmk_ctl_snapshot_reply_object =
	WMK_OBJECT_SHARED("snapshot reply", wmk_ctl_snapshot_reply, waymark_ctl_snapshot_info, snapshot_reply_members);

/* ── requests ────────────────────────────────────────────────────────────────────────────────────────── */

static const struct wmk_member create_members[] = {
	WMK_MEMBER(TEXT, wmk_ctl_create, name, WMK_CTL_NAME_MAX),
	WMK_MEMBER(TEXT, wmk_ctl_create, path, PATH_BYTES),
	WMK_MEMBER(TEXT, wmk_ctl_create, home, PATH_BYTES),
	WMK_CTL_SETTINGS_SIZE(wmk_ctl_create),
	WMK_CTL_SETTINGS(wmk_ctl_create),
};
static const struct wmk_object create_object = WMK_OBJECT_OF("create", wmk_ctl_create, create_members);

static const struct wmk_member session_name_members[] = {
	WMK_MEMBER(TEXT, wmk_ctl_session_name, session, WMK_CTL_PATTERN_MAX),
	WMK_MEMBER(BOOL, wmk_ctl_session_name, glob),
	WMK_MEMBER(BOOL, wmk_ctl_session_name, no_wait),
};
static const struct wmk_object session_name_object = WMK_OBJECT_OF("which", wmk_ctl_session_name, session_name_members);

static const struct wmk_member list_sessions_members[] = {
	WMK_MEMBER(TEXT, wmk_ctl_list_sessions, session, WMK_CTL_PATTERN_MAX),
	WMK_MEMBER(BOOL, wmk_ctl_list_sessions, glob),
};
static const struct wmk_object list_sessions_object =
	WMK_OBJECT_OF("list sessions", wmk_ctl_list_sessions, list_sessions_members);

static const struct wmk_member list_apps_members[] = {
	WMK_MEMBER(BOOL, wmk_ctl_list_apps, events),
	WMK_MEMBER(TEXT, wmk_ctl_list_apps, pattern, WMK_CTL_PATTERN_MAX),
	WMK_MEMBER(U64, wmk_ctl_list_apps, pid),
};
static const struct wmk_object list_apps_object = WMK_OBJECT_OF("list apps", wmk_ctl_list_apps, list_apps_members);

static const struct wmk_member list_kernel_members[] = {
	WMK_MEMBER(TEXTS, wmk_ctl_list_kernel, patterns, WMK_CTL_RULES_MAX),
	WMK_MEMBER(BOOL, wmk_ctl_list_kernel, fields),
	WMK_MEMBER(BOOL, wmk_ctl_list_kernel, lacks),
};
static const struct wmk_object list_kernel_object =
	WMK_OBJECT_OF("list kernel", wmk_ctl_list_kernel, list_kernel_members);

static const struct wmk_member enable_channel_members[] = {
	WMK_MEMBER(TEXT, wmk_ctl_enable_channel, session, WMK_CTL_NAME_MAX),
	WMK_MEMBER(OBJECT, wmk_ctl_enable_channel, channel, wmk_ctl_channel, wmk_ctl_channel_object),
};
static const struct wmk_object enable_channel_object =
	WMK_OBJECT_OF("enable channel", wmk_ctl_enable_channel, enable_channel_members);

/* The first members of all requests on a channel. */
#define ON_CHANNEL(s) \
	WMK_MEMBER(TEXT, s, session, WMK_CTL_NAME_MAX), \
	WMK_MEMBER(TEXT, s, channel, WMK_CTL_NAME_MAX), \
	WMK_MEMBER(OBJECT, s, domain, wmk_ctl_domain, wmk_ctl_domain_object)

static const struct wmk_member disable_channel_members[] = { ON_CHANNEL(wmk_ctl_disable_channel) };
static const struct wmk_object disable_channel_object =
	WMK_OBJECT_OF("disable channel", wmk_ctl_disable_channel, disable_channel_members);

static const struct wmk_member enable_event_members[] = {
	ON_CHANNEL(wmk_ctl_enable_event),
	WMK_MEMBER(LIST, wmk_ctl_enable_event, rules, wmk_ctl_rule_object, WMK_CTL_RULES_MAX),
};
static const struct wmk_object enable_event_object =
	WMK_OBJECT_OF("enable event", wmk_ctl_enable_event, enable_event_members);

static const struct wmk_member disable_event_members[] = {
	ON_CHANNEL(wmk_ctl_disable_event),
	WMK_MEMBER(TEXTS, wmk_ctl_disable_event, patterns, 4096),
};
static const struct wmk_object disable_event_object =
	WMK_OBJECT_OF("disable event", wmk_ctl_disable_event, disable_event_members);

static const struct wmk_member add_context_members[] = {
	ON_CHANNEL(wmk_ctl_add_context),
	WMK_MEMBER(TEXTS, wmk_ctl_add_context, contexts, 32),
};
static const struct wmk_object add_context_object =
	WMK_OBJECT_OF("add context", wmk_ctl_add_context, add_context_members);

static const struct wmk_member track_members[] = {
	WMK_MEMBER(TEXT, wmk_ctl_track, session, WMK_CTL_NAME_MAX),
	WMK_MEMBER(ENUM, wmk_ctl_track, kind, track_kinds),
	WMK_MEMBER(BOOL, wmk_ctl_track, all),
	WMK_MEMBER(NUMBERS, wmk_ctl_track, ids, 16384),
};
static const struct wmk_object track_object = WMK_OBJECT_OF("track", wmk_ctl_track, track_members);

static const struct wmk_member regenerate_members[] = {
	WMK_MEMBER(TEXT, wmk_ctl_regenerate, session, WMK_CTL_NAME_MAX),
	WMK_MEMBER(ENUM, wmk_ctl_regenerate, what, regenerate_kinds),
};
static const struct wmk_object regenerate_object = WMK_OBJECT_OF("regenerate", wmk_ctl_regenerate, regenerate_members);

static const struct wmk_member reclaim_members[] = {
	WMK_MEMBER(TEXT, wmk_ctl_reclaim, session, WMK_CTL_NAME_MAX),
	WMK_MEMBER(TEXTS, wmk_ctl_reclaim, channels, WMK_CTL_CHANNELS_MAX),
	WMK_MEMBER(U64, wmk_ctl_reclaim, idle_us),
};
static const struct wmk_object reclaim_object = WMK_OBJECT_OF("reclaim", wmk_ctl_reclaim, reclaim_members);

static const struct wmk_member snapshot_members[] = {
	WMK_MEMBER(TEXT, wmk_ctl_snapshot, session, WMK_CTL_NAME_MAX),
	WMK_MEMBER(TEXT, wmk_ctl_snapshot, name, WMK_CTL_NAME_MAX),
	WMK_MEMBER(TEXT, wmk_ctl_snapshot, path, PATH_BYTES),
	WMK_MEMBER(U64, wmk_ctl_snapshot, max_size),
	WMK_MEMBER(TEXT, wmk_ctl_snapshot, reason, WMK_CTL_REASON_MAX),
	WMK_MEMBER(TEXT, wmk_ctl_snapshot, program, WMK_CTL_NAME_MAX),
	WMK_MEMBER(U64, wmk_ctl_snapshot, pid),
};
static const struct wmk_object snapshot_object = WMK_OBJECT_OF("snapshot", wmk_ctl_snapshot, snapshot_members);

static const struct wmk_member snapshot_output_members[] = {
	WMK_MEMBER(TEXT, wmk_ctl_snapshot_output, session, WMK_CTL_NAME_MAX),
	WMK_MEMBER(TEXT, wmk_ctl_snapshot_output, name, WMK_CTL_NAME_MAX),
	WMK_MEMBER(TEXT, wmk_ctl_snapshot_output, path, PATH_BYTES),
	WMK_MEMBER(U64, wmk_ctl_snapshot_output, max_size),
	WMK_MEMBER(BOOL, wmk_ctl_snapshot_output, remove),
};
static const struct wmk_object snapshot_output_object =
	WMK_OBJECT_OF("snapshot output", wmk_ctl_snapshot_output, snapshot_output_members);

static const struct wmk_member rotation_members[] = {
	WMK_MEMBER(TEXT, wmk_ctl_rotation, session, WMK_CTL_NAME_MAX),
	WMK_MEMBER(U64, wmk_ctl_rotation, rotate_us),
	WMK_MEMBER(U64, wmk_ctl_rotation, rotate_size),
	WMK_MEMBER(U64, wmk_ctl_rotation, retain_size),
	WMK_MEMBER(U64, wmk_ctl_rotation, retain_us),
	WMK_MEMBER(U64, wmk_ctl_rotation, retain_count),
	WMK_MEMBER(U32, wmk_ctl_rotation, off),
};
static const struct wmk_object rotation_object = WMK_OBJECT_OF("rotation", wmk_ctl_rotation, rotation_members);

/* ── the table ───────────────────────────────────────────────────────────────────────────────────────── */

const struct wmk_request_type wmk_ctl_requests[] = {
#define WMK_CTL_REQUEST(identifier, number, name, request, reply) { number, name, &request, &reply },
#include "wire/ctl_requests.def"
};
const unsigned wmk_ctl_n_requests = WMK_ARRAY_LEN(wmk_ctl_requests);

const struct wmk_request_type *wmk_ctl_request_find(uint16_t type)
{
	return wmk_request_type_find(wmk_ctl_requests, wmk_ctl_n_requests, type);
}
