/* SPDX-License-Identifier: MIT */
/*
 * json.h - export records as JSON, one object per line ("JSON lines", RFC 8259).
 *
 *     {"time":"1700000000.000000022","trace":"vm/ust/uid/0/64-bit","stream":"channel0_1","event":"sched:switch",
 *      "packet":{"cpu_id":3},"context":{"vpid":-2},
 *      "fields":{"next":7,"comm":"worker","state":{"label":"NEW","value":0}}}
 *
 * `time` is seconds since 1970 as a string, because readers of JSON keep 53 bits of a number. It is absent without a
 * clock, as are other parts that a record lacks; `level` is present if the event has one. Values: integers and booleans
 * as such; floats as numbers, "NaN", "Infinity" and "-Infinity" as strings; texts as strings, with U+FFFD for bytes
 * that are not UTF-8; enumerations as an object of label (null if the value has none) and value; flags as a number;
 * bytes as a string of hexadecimal digits; a variant as its content; an absent optional value as null.
 */
#ifndef WMK_READ_JSON_H
#define WMK_READ_JSON_H

#include "read/exporter.h"

extern const struct wmk_read_exporter wmk_read_json;

#endif
