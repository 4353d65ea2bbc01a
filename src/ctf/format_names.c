/* SPDX-License-Identifier: MIT */
/* format_names.c - names of roles, scopes, encodings and log levels (see format_names.h). */
#include "ctf/format_names.h"

const struct wmk_ctf_role_names wmk_ctf_roles[WMK_ROLES] = {
	[WMK_ROLE_MAGIC] = { "magic", "packet-magic-number", WMK_SCOPE_PACKET_HEADER },
	[WMK_ROLE_UUID] = { "uuid", "metadata-stream-uuid", WMK_SCOPE_PACKET_HEADER },
	[WMK_ROLE_STREAM_CLASS] = { "stream_id", "data-stream-class-id", WMK_SCOPE_PACKET_HEADER },
	[WMK_ROLE_STREAM] = { "stream_instance_id", "data-stream-id", WMK_SCOPE_PACKET_HEADER },
	[WMK_ROLE_PACKET_SIZE] = { "packet_size", "packet-total-length", WMK_SCOPE_PACKET_CONTEXT },
	[WMK_ROLE_CONTENT_SIZE] = { "content_size", "packet-content-length", WMK_SCOPE_PACKET_CONTEXT },
	[WMK_ROLE_BEGIN] = { "timestamp_begin", "default-clock-timestamp", WMK_SCOPE_PACKET_CONTEXT },
	[WMK_ROLE_END] = { "timestamp_end", "packet-end-default-clock-timestamp", WMK_SCOPE_PACKET_CONTEXT },
	[WMK_ROLE_LOST] = { "events_discarded", "discarded-event-record-counter-snapshot", WMK_SCOPE_PACKET_CONTEXT },
	[WMK_ROLE_SEQUENCE] = { "packet_seq_num", "packet-sequence-number", WMK_SCOPE_PACKET_CONTEXT },
	[WMK_ROLE_CPU] = { "cpu_id", NULL, WMK_SCOPE_PACKET_CONTEXT },
	[WMK_ROLE_EVENT_CLASS] = { "id", "event-record-class-id", WMK_SCOPE_EVENT_HEADER },
	[WMK_ROLE_TIME] = { "timestamp", "default-clock-timestamp", WMK_SCOPE_EVENT_HEADER },
};

const char *const wmk_tsdl_scope_names[WMK_SCOPES] = {
	"",
	"trace.packet.header",
	"stream.packet.context",
	"stream.event.header",
	"stream.event.context",
	"event.context",
	"event.fields",
};

const char *const wmk_ctf2_origins[WMK_SCOPES] = {
	"packet-header",
	"packet-context",
	"event-record-header",
	"event-record-common-context",
	"event-record-specific-context",
	"event-record-payload",
};

const char *const wmk_ctf2_encodings[] = { "utf-8", "utf-16le", "utf-16be", "utf-32le", "utf-32be", NULL };

const char *const wmk_ctf2_levels[WMK_CTF2_LEVELS] = {
	"emergency",     "alert",         "critical",      "error",        "warning",    "notice",         "info",
	"debug:system",  "debug:program", "debug:process", "debug:module", "debug:unit", "debug:function", "debug:line",
	"debug",
};
