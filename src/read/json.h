/* SPDX-License-Identifier: MIT */
/*
 * json.h - records as JSON, an object on a line of its own for each (RFC 8259; "JSON lines").
 *
 *     {"time":"1700000000.000000022","trace":"vm/ust/uid/0/64-bit","stream":"channel0_1","event":"sched:switch",
 *      "packet":{"cpu_id":3},"context":{"vpid":-2},"fields":{"next":7,"comm":"worker","state":{"label":"NEW","value":0}}}
 *
 * `time` is seconds since 1970 as a string, because readers of JSON keep 53 bits of a number; it is left out where there is no clock, and so is
 * what a record does not have. `level` is there for events that have one. Values: integers and booleans as such; floats as numbers, "NaN",
 * "Infinity" and "-Infinity" as strings; texts as strings, bytes that are no UTF-8 as U+FFFD; enumerations as an object of label (null where
 * none has the value) and value; flags as a number; bytes as a string of hexadecimal digits; a variant as what it holds; what is not there as null.
 *
 * A struct wmk_json belongs to one stream and one thread. Errors: -ENOMEM, -E2BIG (print.h), those of ctf/decode.h; `out` is as before then.
 */
#ifndef WMK_READ_JSON_H
#define WMK_READ_JSON_H

#include "read/print.h"
#include "read/trace.h"

struct wmk_json;

int wmk_json_create(const struct wmk_read_stream *stream, struct wmk_json **json);
void wmk_json_free(struct wmk_json *json);
/* Behind WMK_READ_PACKET: what of the packet all its records show. */
int wmk_json_packet(struct wmk_json *json, struct wmk_read_stream *stream);
/* Behind WMK_READ_RECORD: its line, with the '\n', behind what `out` has. */
int wmk_json_record(const struct wmk_json *json, struct wmk_read_stream *stream, struct wmk_print_text *out);

#endif
