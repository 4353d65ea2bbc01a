/* SPDX-License-Identifier: MIT */
/* fields.h - events with every field type of LTTng-UST 2.13 (its macros include this file several times). */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER fields
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./fields.h"

#if !defined(TESTS_LTTNG_FIELDS_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define TESTS_LTTNG_FIELDS_H

#include <lttng/tracepoint.h>
#include <stdint.h>

LTTNG_UST_TRACEPOINT_ENUM(fields, state, LTTNG_UST_TP_ENUM_VALUES(
	lttng_ust_field_enum_value("IDLE", 0)
	lttng_ust_field_enum_value("RUNNING", 1)
	lttng_ust_field_enum_range("WAITING", 2, 9)
	lttng_ust_field_enum_value("GONE", -1)))

LTTNG_UST_TRACEPOINT_EVENT(
	fields, integers, LTTNG_UST_TP_ARGS(int64_t, v),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_integer(int8_t, s8, v) lttng_ust_field_integer(uint8_t, u8, v) lttng_ust_field_integer(
			int16_t, s16, v) lttng_ust_field_integer(uint16_t, u16, v)
			lttng_ust_field_integer(int32_t, s32, v) lttng_ust_field_integer(uint32_t, u32, v)
				lttng_ust_field_integer(int64_t, s64, v) lttng_ust_field_integer(uint64_t, u64, v)
					lttng_ust_field_integer_hex(uint32_t, hex, v)
						lttng_ust_field_integer_network(uint16_t, network, v)
							lttng_ust_field_integer_network_hex(uint32_t, network_hex, v)))

LTTNG_UST_TRACEPOINT_EVENT(fields, floats, LTTNG_UST_TP_ARGS(double, v),
	LTTNG_UST_TP_FIELDS(lttng_ust_field_float(float, f, v) lttng_ust_field_float(double, d, v)))

LTTNG_UST_TRACEPOINT_EVENT(fields, texts, LTTNG_UST_TP_ARGS(const char *, text, size_t, len),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_string(string, text) lttng_ust_field_array_text(char, array, text, 8)
		lttng_ust_field_sequence_text(char, sequence, text, size_t, len)))

LTTNG_UST_TRACEPOINT_EVENT(
	fields, lists, LTTNG_UST_TP_ARGS(const int *, list, size_t, len),
	LTTNG_UST_TP_FIELDS(lttng_ust_field_array(int, array, list, 3) lttng_ust_field_array_hex(int, array_hex, list,
												 3)
				    lttng_ust_field_sequence(int, sequence, list, size_t, len)
					    lttng_ust_field_sequence_hex(int, sequence_hex, list, uint16_t, len)
						    lttng_ust_field_array_network(uint16_t, array_network, list, 2)
							    lttng_ust_field_sequence_network(uint32_t, sequence_network,
											     list, uint8_t, len)))

LTTNG_UST_TRACEPOINT_EVENT(fields, enumerations, LTTNG_UST_TP_ARGS(int, v),
			   LTTNG_UST_TP_FIELDS(lttng_ust_field_enum(fields, state, int, in_int, v)
						       lttng_ust_field_enum(fields, state, int8_t, in_byte, v)))

LTTNG_UST_TRACEPOINT_EVENT(fields, nothing, LTTNG_UST_TP_ARGS(), LTTNG_UST_TP_FIELDS())

LTTNG_UST_TRACEPOINT_EVENT(fields, severe, LTTNG_UST_TP_ARGS(int, v),
			   LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, v, v)))
LTTNG_UST_TRACEPOINT_LOGLEVEL(fields, severe, LTTNG_UST_TRACEPOINT_LOGLEVEL_CRIT)
LTTNG_UST_TRACEPOINT_MODEL_EMF_URI(fields, severe, "http://example.org/severe?a=1")

#endif
#include <lttng/tracepoint-event.h>
