/* SPDX-License-Identifier: MIT */
/*
 * json.h - export records as JSON, one object per line ("JSON lines", RFC 8259).
 *
 *     {"time":"1700000000.000000022","trace":"vm/ust/uid/0/64-bit","stream":"channel0_1","event":"sched:switch",
 *      "packet":{"cpu_id":3},"context":{"vpid":-2},
 *      "fields":{"next":7,"comm":"worker","state":{"label":"NEW","value":0}}}
 *
 * `time` is a string with the seconds since 1970, because JSON readers keep only 53 bits of a number. `time` is null if
 * the time does not fit into 64 bits of nanoseconds. Members without a value are absent, such as `time` if the trace
 * has no clock, or `level` if the event has no log level.
 *
 *     integers, booleans    as such
 *     floats                numbers; "NaN", "Infinity" and "-Infinity" as strings
 *     texts                 strings, with U+FFFD for bytes that are not UTF-8
 *     enumerations          an object of label (null if the value has none) and value
 *     flags                 a number
 *     bytes                 a string of hexadecimal digits
 *     variants              their content
 *     optionals             their content; null if absent
 */
#ifndef WMK_READ_JSON_H
#define WMK_READ_JSON_H

#include "read/exporter.h"

extern const struct wmk_read_exporter wmk_read_json;

#endif
