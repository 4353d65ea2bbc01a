/* SPDX-License-Identifier: MIT */
/*
 * live_wire.h - numbers and sizes of the LTTng-live protocol 2.4, as babeltrace2 defines them (its file
 * src/plugins/ctf/lttng-live/lttng-viewer-abi.h, MIT). All integers are big-endian, and structures have no padding.
 *
 *     request: u64 size, u32 command, u32 version, body of `size` bytes          answer: without a header
 */
#ifndef WMK_RELAY_LIVE_WIRE_H
#define WMK_RELAY_LIVE_WIRE_H

#define LIVE_MAJOR 2u
#define LIVE_MINOR 4u              /* the lower of the two minor versions is used */

#define LIVE_HEAD 16u
#define LIVE_BODY_MAX 64u          /* of any request */
#define LIVE_HOST 64u
#define LIVE_NAME 255u
#define LIVE_PATH 4096u

enum live_command {
	LIVE_CONNECT = 1,          /* u64 session, u32 major, u32 minor, u32 type -> the same */
	LIVE_LIST_SESSIONS,        /* -> u32 n, n x {u64 id, u32 timer, u32 clients, u32 streams, host, name} */
	LIVE_ATTACH,               /* u64 session, u64 unused, u32 seek -> u32 status, u32 n, n streams */
	LIVE_NEXT_INDEX,           /* u64 stream -> index */
	LIVE_PACKET,               /* u64 stream, u64 offset, u32 len -> u32 status, u32 len, u32 flags, bytes */
	LIVE_METADATA,             /* u64 stream -> u64 len, u32 status, bytes */
	LIVE_NEW_STREAMS,          /* u64 session -> u32 status, u32 n, n streams */
	LIVE_CREATE,               /* -> u32 status */
	LIVE_DETACH,               /* u64 session -> u32 status */
};
/* a stream: u64 id, u64 trace, u32 is_metadata, path, name */
/* an index: u64 offset, u64 size, u64 content, u64 begin, u64 end, u64 lost, u64 class, u32 status, u32 flags */

enum live_seek { LIVE_SEEK_BEGINNING = 1, LIVE_SEEK_LAST };
enum live_flag { LIVE_NEW_METADATA_FLAG = 1, LIVE_NEW_STREAM_FLAG = 2 };
enum live_attached { LIVE_ATTACH_OK = 1, LIVE_ATTACH_ALREADY, LIVE_ATTACH_UNKNOWN };
enum live_index { LIVE_INDEX_OK = 1, LIVE_INDEX_RETRY, LIVE_INDEX_HUP, LIVE_INDEX_ERROR, LIVE_INDEX_INACTIVE };
enum live_packet { LIVE_PACKET_OK = 1, LIVE_PACKET_RETRY, LIVE_PACKET_ERROR };
enum live_metadata { LIVE_METADATA_OK = 1, LIVE_METADATA_NO_NEW, LIVE_METADATA_ERROR };
enum live_streams { LIVE_STREAMS_OK = 1, LIVE_STREAMS_NO_NEW, LIVE_STREAMS_ERROR, LIVE_STREAMS_HUP };
enum live_created { LIVE_CREATE_OK = 1 };
enum live_detached { LIVE_DETACH_OK = 1, LIVE_DETACH_UNKNOWN };

#endif
