/* SPDX-License-Identifier: MIT */
/*
 * json.h - records as JSON, an object on a line of its own for each (RFC 8259; "JSON lines").
 *
 *     {"time":"1700000000.000000022","trace":"vm/ust/uid/0/64-bit","stream":"channel0_1","event":"sched:switch",
 *      "packet":{"cpu_id":3},"context":{"vpid":-2},"fields":{"next":7,"comm":"worker","state":{"label":"NEW","value":0}}}
 *
 * `time` is seconds since 1970 as a string, because readers of JSON keep 53 bits of a number; it is left out where
 * there is no clock, and so is what a record does not have. `level` is there for events that have one. Values: integers
 * and booleans as such; floats as numbers, "NaN", "Infinity" and "-Infinity" as strings; texts as strings, bytes that
 * are no UTF-8 as U+FFFD; enumerations as an object of label (null where none has the value) and value; flags as a
 * number; bytes as a string of hexadecimal digits; a variant as what it holds; what is not there as null.
 *
 */
#ifndef WMK_READ_JSON_H
#define WMK_READ_JSON_H

#include "read/exporter.h"

extern const struct wmk_read_exporter wmk_read_json;

#endif
