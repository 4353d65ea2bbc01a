/* SPDX-License-Identifier: MIT */
/*
 * test_json.c - CTF 2's metadata: each kind of fragment and its errors; text that is cut at or has a wrong byte at any
 * place. Field classes: test_json_type.c.
 */
#include "base/array.h"
#include "json_case.h"

/* ── fragments ───────────────────────────────────────────────────────────────────────────────────────── */

static void valid_json_preamble_is_read_and_invalid_one_rejected(void **state)
{
	static const char with_uuid[] =
		"{'type': 'preamble', 'version': 2, 'uuid': [0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,255], 'more': {}}";
	static const struct {
		int err;
		const char *message, *text;
	} wrong[] = {
		{ -ENOTSUP, "meta:1: fragment 1 (preamble) + found version 3", "{'type': 'preamble', 'version': 3}" },
		{ -EPROTO, "'version': expected a whole number from 0 on, not '2'",
		  "{'type': 'preamble', 'version': '2'}" },
		{ -EPROTO, "missing property 'version'", "{'type': 'preamble'}" },
		{ -EPROTO, "'uuid': expected a list of 16 bytes, not a list of 3",
		  "{'type': 'preamble', 'version': 2, 'uuid': [1, 2, 3]}" },
		{ -EPROTO, "byte 16: expected a whole number from 0 to 255, not 256",
		  "{'type': 'preamble', 'version': 2, 'uuid': [0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,256]}" },
		{ -EPROTO, "'uuid': expected a list, not 'f00'", "{'type': 'preamble', 'version': 2, 'uuid': 'f00'}" },
		{ -ENOTSUP, "'extensions'/'my.tracer' + 'piano'",
		  "{'type': 'preamble', 'version': 2, 'extensions': {'my.tracer': {'piano': {}}}}" },
		{ -EPROTO, "'extensions'/'my.tracer': expected an object, not true",
		  "{'type': 'preamble', 'version': 2, 'extensions': {'my.tracer': true}}" },
		{ -EPROTO, "'attributes': expected an object, not 1",
		  "{'type': 'preamble', 'version': 2, 'attributes': 1}" },
		{ -EPROTO, "the preamble first", STREAM },
		{ -EPROTO, "expected a known type of fragment, not 'foreword'", "{'type': 'foreword'}" },
		{ -EPROTO, "'type': expected a string, not null", "{'type': null}" },
		{ -EPROTO, "missing property 'type'", "{}" },
		{ -EPROTO, "expected an object, not a list of 0", "[]" },
	};

	(void)state;
	accept((const char *const[]){ with_uuid, NULL });
	assert_int_equal(class->major, 2);
	assert_int_equal(class->minor, 0);
	assert_true(class->has_uuid);
	assert_memory_equal(class->uuid, "\0\1\2\3\4\5\6\7\x8\x9\xa\xb\xc\xd\xe\xff", 16);
	accept((const char *const[]){ "{'type': 'preamble', 'version': 2, 'extensions': {'my.tracer': {}}}", NULL });
	assert_false(class->has_uuid);
	for (size_t i = 0; i < WMK_ARRAY_LEN(wrong); i++)
		refuse(wrong[i].err, wrong[i].message, (const char *const[]){ wrong[i].text, NULL });
	REFUSE(-EPROTO, "fragment 2 (preamble) + found a second one", PREAMBLE);
}

static void valid_json_trace_class_is_read_and_invalid_one_rejected(void **state)
{
	static const char trace[] = "{'type': 'trace-class', 'namespace': 'n', 'name': 'the name', 'uid': 'u',"
				    "'environment': {'a': 'text', 'b': -5, 'c': 18446744073709551615},"
				    "'packet-header-field-class': " STRUCT(MEMBER("p", U8)) "}";

	(void)state;
	ACCEPT(trace);
	assert_string_equal(class->trace_name, "the name");
	assert_int_equal(class->n_env, 3);
	assert_string_equal(class->env[0].name, "a");
	assert_string_equal(class->env[0].text, "text");
	assert_null(class->env[1].text);
	assert_int_equal(class->env[1].number, -5);
	assert_false(class->env[1].is_unsigned);
	assert_true(class->env[2].is_unsigned);
	assert_true((uint64_t)class->env[2].number == UINT64_MAX);
	assert_string_equal(class->packet_header->members[0].name, "p");
	ACCEPT("{'type': 'trace-class'}", STREAM);
	assert_null(class->trace_name);
	assert_null(class->packet_header);
	REFUSE(-EPROTO, "found a second one", trace, "{'type': 'trace-class'}");
	REFUSE(-EPROTO, "before the first data stream class", STREAM, trace);
	REFUSE(-EPROTO, "'environment'/'a': expected a whole number or a string, not 1.5",
	       "{'type': 'trace-class', 'environment': {'a': 1.5}}");
	REFUSE(-EPROTO, "'environment': expected an object", "{'type': 'trace-class', 'environment': ['a']}");
	REFUSE(-EPROTO, "'name': expected a string, not 1", "{'type': 'trace-class', 'name': 1}");
	REFUSE(-EPROTO, "'packet-header-field-class': expected a structure",
	       "{'type': 'trace-class', 'packet-header-field-class': " U8 "}");
	REFUSE(-EPROTO, "expected a field class", "{'type': 'trace-class', 'packet-header-field-class': 5}");
	REFUSE(-ENOTSUP, "'extensions'/'x' + 'y'", "{'type': 'trace-class', 'extensions': {'x': {'y': null}}}");
}

static void valid_json_clock_class_is_read_and_invalid_one_rejected(void **state)
{
	static const char *const wrong[][2] = {
		{ "'frequency': expected a whole number from 1 on, not 0", "'id': 'd', 'frequency': 0" },
		{ "missing property 'frequency'", "'id': 'd'" },
		{ "missing property 'id'", "'frequency': 1" },
		{ "a clock class 'c' exists", "'id': 'c', 'frequency': 1" },
		{ "'precision': expected a whole number from 0 on, not -1",
		  "'id': 'd', 'frequency': 1, 'precision': -1" },
		{ "'accuracy': expected a whole number from 0 on, not 0.5",
		  "'id': 'd', 'frequency': 1, 'accuracy': 0.5" },
		{ "'origin': expected 'unix-epoch' or an object", "'id': 'd', 'frequency': 1, 'origin': 'big bang'" },
		{ "'origin': missing property 'uid'", "'id': 'd', 'frequency': 1, 'origin': {'name': 'n'}" },
		{ "'offset-from-origin': expected an object, not 5",
		  "'id': 'd', 'frequency': 1, 'offset-from-origin': 5" },
		{ "'cycles': expected a whole number from 0 to 9, not 10",
		  "'id': 'd', 'frequency': 10, 'offset-from-origin': {'cycles': 10}" },
		{ "'offset-from-origin'/'seconds': expected a whole number of seconds",
		  "'id': 'd', 'frequency': 1, 'offset-from-origin': {'seconds': 9223372036854775808}" },
		{ "'description': expected a string", "'id': 'd', 'frequency': 1, 'description': {}" },
	};
	char text[400];

	(void)state;
	ACCEPT(CLOCK,
	       "{'type': 'clock-class', 'id': 'd', 'namespace': 's', 'name': 'n', 'uid': 'u', 'description': 'what', "
	       "'precision': 3,'frequency': 18446744073709551615, 'accuracy': 4, 'origin': 'unix-epoch',"
	       "'offset-from-origin': {'seconds': -18003, 'cycles': 7}}",
	       "{'type': 'clock-class', 'id': 'e', 'frequency': 1, 'origin': {'name': 'o', 'uid': 'v'}}",
	       "{'type': 'data-stream-class', 'default-clock-class-id': 'd'}",
	       "{'type': 'data-stream-class', 'id': 1}");
	assert_int_equal(class->n_clocks, 3);
	assert_string_equal(class->clocks[0].name, "");
	assert_false(class->clocks[0].absolute);
	assert_null(class->clocks[0].uuid);
	assert_string_equal(class->clocks[1].name, "n");
	assert_string_equal(class->clocks[1].uuid, "u");
	assert_string_equal(class->clocks[1].description, "what");
	assert_true(class->clocks[1].freq == UINT64_MAX);
	assert_int_equal(class->clocks[1].precision, 3);
	assert_int_equal(class->clocks[1].offset_s, -18003);
	assert_int_equal(class->clocks[1].offset, 7);
	assert_true(class->clocks[1].absolute);
	assert_false(class->clocks[2].absolute);
	assert_ptr_equal(class->streams[0]->clock, &class->clocks[1]);
	assert_null(class->streams[1]->clock);
	for (size_t i = 0; i < WMK_ARRAY_LEN(wrong); i++) {
		snprintf(text, sizeof(text), "{'type': 'clock-class', %s}", wrong[i][1]);
		REFUSE(-EPROTO, wrong[i][0], CLOCK, text);
	}
}

static void valid_json_stream_class_is_read_and_invalid_one_rejected(void **state)
{
	(void)state;
	ACCEPT(CLOCK,
	       "{'type': 'data-stream-class', 'id': 18446744073709551615, 'name': 's', 'default-clock-class-id': 'c',"
	       "'packet-context-field-class': " STRUCT(
		       MEMBER("cpu_id",
			      U8)) ", 'event-record-header-field-class': " STRUCT("") ",'event-record-common-context-"
										      "field-class': " STRUCT(
											      MEMBER("cpu_id", U8)) "}",
	       "{'type': 'data-stream-class', 'id': 5}",
	       "{'type': 'event-record-class', 'id': 7, 'data-stream-class-id': 18446744073709551615}");
	assert_int_equal(class->n_streams, 2);
	assert_int_equal(class->streams[0]->id, 5);
	assert_null(class->streams[0]->packet_context);
	assert_true(class->streams[1]->id == UINT64_MAX);
	assert_string_equal(class->streams[1]->name, "s");
	assert_ptr_equal(class->streams[1]->clock, &class->clocks[0]);
	assert_int_equal(class->streams[1]->packet_context->members[0].type.roles, WMK_ROLE_BIT(WMK_ROLE_CPU));
	assert_int_equal(class->streams[1]->event_header->kind, WMK_TYPE_STRUCT);
	assert_int_equal(class->streams[1]->event_header->count, 0);
	assert_int_equal(class->streams[1]->event_context->members[0].type.roles, WMK_ROLE_BIT(WMK_ROLE_NONE));
	assert_int_equal(class->streams[1]->events[0]->id, 7);
	REFUSE(-EPROTO, "fragment 3 + a data stream class 0 exists", STREAM, STREAM);
	REFUSE(-EPROTO, "'default-clock-class-id': expected the id of a clock class",
	       "{'type': 'data-stream-class', 'default-clock-class-id': 'c'}", CLOCK);
	REFUSE(-EPROTO, "'id': expected a whole number from 0 on, not -1", "{'type': 'data-stream-class', 'id': -1}");
	REFUSE(-EPROTO, "meta:2:38: fragment 2 is not JSON: a number of more than 64 bits",
	       "{'type': 'data-stream-class', 'id': 18446744073709551616}");
}

static void valid_json_event_class_is_read_and_invalid_one_rejected(void **state)
{
	static const struct {
		const char *attributes;
		int level;
		const char *uri;
	} attributes[] = {
		{ "{'lttng.org,2009': {'log-level': 'emergency'}}", 0, NULL },
		{ "{'babeltrace.org,2020': {'log-level': 'debug:line'}}", 13, NULL },
		{ "{'lttng.org,2009': {'log-level': 'debug', 'emf-uri': 'http://x'}}", 14, "http://x" },
		{ "{'lttng.org,2009': {'log-level': 6}}", 6, NULL },
		{ "{'lttng.org,2009': {'log-level': 15}}", -1, NULL },
		{ "{'lttng.org,2009': {'log-level': 'loud', 'emf-uri': 5}}", -1, NULL },
		{ "{'lttng.org,2009': 5}", -1, NULL },
		{ "{'other': {'log-level': 'debug'}}", -1, NULL },
		{ "{'lttng.org,2009': {'log-level': 'debug'}, 'babeltrace.org,2020': {'log-level': 'warning'}}", 4,
		  NULL },
	};
	char text[400];

	(void)state;
	ACCEPT(STREAM,
	       "{'type': 'event-record-class', 'id': 9, 'name': 'e', 'namespace': 'n', 'uid': 'u', "
	       "'specific-context-field-class': " STRUCT(MEMBER("c", U8)) ", 'payload-field-class': " STRUCT(
		       MEMBER("p", U8)) "}",
	       "{'type': 'event-record-class'}");
	assert_int_equal(class->streams[0]->n_events, 2);
	assert_null(class->streams[0]->events[0]->name);
	assert_null(class->streams[0]->events[0]->payload);
	assert_int_equal(class->streams[0]->events[0]->level, -1);
	assert_int_equal(class->streams[0]->events[1]->id, 9);
	assert_string_equal(class->streams[0]->events[1]->name, "e");
	assert_string_equal(class->streams[0]->events[1]->context->members[0].name, "c");
	assert_string_equal(class->streams[0]->events[1]->payload->members[0].name, "p");
	for (size_t i = 0; i < WMK_ARRAY_LEN(attributes); i++) {
		snprintf(text, sizeof(text), "{'type': 'event-record-class', 'attributes': %s}",
			 attributes[i].attributes);
		ACCEPT(STREAM, text);
		assert_int_equal(class->streams[0]->events[0]->level, attributes[i].level);
		if (attributes[i].uri)
			assert_string_equal(class->streams[0]->events[0]->emf_uri, attributes[i].uri);
		else
			assert_null(class->streams[0]->events[0]->emf_uri);
	}
	REFUSE(-EPROTO, "data stream class 1 does not exist", STREAM,
	       "{'type': 'event-record-class', 'data-stream-class-id': 1}");
	REFUSE(-EPROTO, "fragment 2 + data stream class 0 does not exist", "{'type': 'event-record-class'}", STREAM);
	REFUSE(-EPROTO, "have the id 0", STREAM, "{'type': 'event-record-class'}", "{'type': 'event-record-class'}");
	REFUSE(-EPROTO, "'payload-field-class': expected a structure", STREAM, EVENT(U8));
}

/* ── the text ────────────────────────────────────────────────────────────────────────────────────────── */

/* Metadata with all kinds of fragments and field classes, as of a tracer, with aliases and a variant in the header. */
static const char *const whole[] = {
	"{'type': 'preamble', 'version': 2, 'uuid': [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16]}",
	ALIAS("ts",
	      "{'type': 'fixed-length-unsigned-integer', 'length': 64, 'byte-order': 'little-endian', 'alignment': 8,"
	      "'roles': ['default-clock-timestamp']}"),
	ALIAS("header",
	      "{'type': 'structure', 'minimum-alignment': 8, 'member-classes': [" MEMBER(
		      "id",
		      BITS("unsigned-integer",
			   "'length': 5, 'mappings': {'compact': [[0, 30]], 'extended': [[31, 31]]},"
			   "'roles': ['event-record-class-id']")) "," MEMBER("v",
									     "{'type': 'variant', "
									     "'selector-field-location': {'path': "
									     "['id']}, 'options': [{'name': 'compact', "
									     "'selector-field-ranges': [[0, 30]], "
									     "'field-class': " STRUCT(MEMBER(
										     "t",
										     BITS("unsigned-integer",
											  "'length': 27, 'roles': "
											  "['default-clock-timestamp'"
											  "]"))) "},{'name': "
												 "'extended', "
												 "'selector-field-"
												 "ranges': [[31, 31]], "
												 "'field-class':"
												 " " STRUCT(MEMBER(
													 "id",
													 BITS("unsign"
													      "ed-"
													      "integer",
													      "'lengt"
													      "h': 32, "
													      "'align"
													      "ment':"
													      " 8, "
													      "'roles"
													      "': ['"
													      "event-"
													      "record"
													      "-class"
													      "-id'"
													      "]"))
			"," MEMBER("t",

			"'ts'")) "}]}") "]}"),
	"{'type': 'trace-class', 'environment': {'domain': 'ust'}, 'packet-header-field-class': " STRUCT(
		MEMBER("magic", BITS("unsigned-integer", "'length': 32, 'roles': ['packet-magic-number']")) "," MEMBER(
			"uuid", "{'type': 'static-length-blob', 'length': 16, 'roles': ['metadata-stream-uuid']}")) "}",
	"{'type': 'clock-class', 'id': 'm', 'name': 'm', 'frequency': 1000000000, 'origin': 'unix-epoch'}",
	"{'type': 'data-stream-class', 'default-clock-class-id': 'm', 'event-record-header-field-class': 'header',"
	"'packet-context-field-class': " STRUCT(MEMBER("begin", "'ts'") "," MEMBER("cpu_id", U8)) "}",
	"{'type': 'event-record-class', 'id': 1, 'name': 'sch\xc3\xb6n', 'payload-field-class': " STRUCT(
		MEMBER("len", "{'type': 'variable-length-unsigned-integer'}") "," MEMBER(
			"text",
			"{'type': 'dynamic-length-string', 'length-field-location':"
			"{'origin': 'event-record-payload', 'path': ['len']}}") "," MEMBER("flags",
											   BITS("bit-map",
												"'length': 8, 'flags': "
												"{'a': [[0, 1], [3, "
												"3]]}"))) "}",
	NULL
};

static void role_of_a_json_alias_depends_on_its_use(void **state)
{
	const struct wmk_ctf_stream_class *stream;
	const struct wmk_type *option;

	(void)state;
	accept(whole);
	stream = class->streams[0];
	assert_int_equal(class->packet_header->members[0].type.roles, WMK_ROLE_BIT(WMK_ROLE_MAGIC));
	assert_int_equal(class->packet_header->members[1].type.roles, WMK_ROLE_BIT(WMK_ROLE_UUID));
	/* One alias with one role: the meaning of the role depends on the use. */
	assert_int_equal(stream->packet_context->members[0].type.roles, WMK_ROLE_BIT(WMK_ROLE_BEGIN));
	assert_int_equal(stream->packet_context->members[1].type.roles, WMK_ROLE_BIT(WMK_ROLE_CPU));
	assert_int_equal(stream->event_header->members[0].type.roles, WMK_ROLE_BIT(WMK_ROLE_EVENT_CLASS));
	option = &stream->event_header->members[1].type.members[1].type;
	assert_int_equal(option->members[0].type.roles, WMK_ROLE_BIT(WMK_ROLE_EVENT_CLASS));
	assert_int_equal(option->members[1].type.roles, WMK_ROLE_BIT(WMK_ROLE_TIME));
	assert_string_equal(stream->clock->name, "m");
	assert_string_equal(stream->events[0]->name, "sch\xc3\xb6n");
}

/* Metadata that is cut anywhere: an error without `partial`; with it, all complete fragments are read. */
static void cut_json_metadata_keeps_complete_fragments(void **state)
{
	size_t len, n = 0, last = 0;
	char *text = sequence(whole, &len), *part;

	(void)state;
	for (size_t cut = 1; cut < len; cut++) {
		bool is_end = text[cut - 1] == '\n' || text[cut] == '\n' || text[cut - 1] == 0x1e;

		part = malloc(cut);        /* a sanitizer finds reads behind it */
		assert_non_null(part);
		memcpy(part, text, cut);
		drop(NULL);
		const int got = wmk_ctf_metadata_parse(part, cut, "meta", true, &class);
		char message[1000];

		/* the cut must be reported */
		assert_int_equal(got, is_end && cut > 1 ? 0 : 1);
		assert_true(!got || strstr(wmk_error_text(message, sizeof(message)),
					   cut > 1 ? "unexpected end" : "expected a preamble"));
		assert_true(class->n_streams >= n);
		n = class->n_streams;
		last = n ? class->streams[0]->n_events : 0;
		drop(NULL);
		assert_int_equal(wmk_ctf_metadata_parse(part, cut, "meta", false, &class),
				 is_end && cut > 1 ? 0 : -EPROTO);
		free(part);
	}
	assert_int_equal(n, 1);
	assert_int_equal(last, 1);
	free(text);
}

static void wrong_byte_anywhere_in_json_metadata_does_not_crash(void **state)
{
	static const char bytes[] = { '"', '{', ']', '0', ' ', '\x1e', '\0', '\xff', '\\' };
	size_t len;
	char *text = sequence(whole, &len);
	unsigned wrong = 0;

	(void)state;
	for (size_t at = 0; at < len; at++)
		for (size_t i = 0; i < sizeof(bytes); i++) {
			char was = text[at];

			text[at] = bytes[i];
			drop(NULL);
			wrong += wmk_ctf_metadata_parse(text, len, "meta", false, &class) < 0;
			text[at] = was;
		}
	assert_true(wrong > len);
	free(text);
}

static void refuse_text(const char *message, const char *text, size_t len)
{
	char words[1000];

	drop(NULL);
	assert_int_equal(wmk_ctf_metadata_parse(text, len, "meta", false, &class), -EPROTO);
	wmk_error_text(words, sizeof(words));
	if (!strstr(words, message))
		fail_msg("no '%s' in: %s", message, words);
}

#define PLAIN "\x1e{\"type\": \"preamble\", \"version\": 2}\n"
#define REFUSE_TEXT(message, text) refuse_text(message, text, sizeof(text) - 1)

/* Check the whole error, for metadata of this name. */
static void says(const char *name, int wanted, const char *message, const char *text, size_t len)
{
	char words[1000];

	drop(NULL);
	assert_int_equal(wmk_ctf_metadata_parse(text, len, name, false, &class), wanted);
	assert_string_equal(wmk_error_text(words, sizeof(words)), message);
}

#define SAYS(message, text) \
	says("meta", -EPROTO, "cannot read the metadata 'meta': " message, PLAIN text, sizeof(PLAIN text) - 1)
/* The last 60 bytes after an ellipsis, without a byte that would be a part of the first character. */
#define LONG "/home/a_person/traces/of_some_name_that_has_a_good_many_letters/\xc3\xa4"
#define LONG_END ".../a_directory_and_another_one_of_which_it_is/kernel/metadata"
#define LONG_PATH LONG "/a_directory_and_another_one_of_which_it_is/kernel/metadata"

static void json_errors_name_line_fragment_and_path(void **state)
{
	(void)state;
	SAYS("meta:2:25: fragment 2 is not JSON: unexpected character", "\x1e{\"type\": \"trace-class\",}");
	SAYS("meta:4:15: fragment 2 is not JSON: unexpected end", "\n\x1e{\n\"type\": \"trace");
	SAYS("meta:4:8: fragment 2 is not JSON: unexpected end", "\x1e{\n\n\"type\": \n \n");
	SAYS("meta:5:2: fragment 2 is not JSON: unexpected character", "\x1e{\n\"type\": \"trace-class\"\n}\n x\n");
	SAYS("meta:2:4: fragment 2 is not JSON: unexpected text after its end", "\x1e{}\0");
	SAYS("meta:3:4: fragment 2 is not JSON: a string in single quotes", "\x1e{\n\t  'type': 1}");
	SAYS("meta:3:11: fragment 3 is not JSON: a number of more than 64 bits",
	     "\x1e{\"type\": \"trace-class\"}\n\x1e{\"type\": -9223372036854775809}");
	/* valid JSON with invalid content: the line of the fragment, and the path to the value */
	SAYS("meta:4: fragment 2 (data-stream-class): \"id\": expected a whole number from 0 on, not \"x\"",
	     "\n\n\x1e{\n\"type\": \"data-stream-class\", \"id\": \"x\"}");
	SAYS("meta:5: two events of stream 0 have the id 0: 'a' and 'b'",
	     "\x1e{\"type\": \"data-stream-class\"}\n\x1e{\n\"type\": "
	     "\"event-record-class\", \"name\": \"a\"}\n\x1e{\"type\": \"event-record-class\", \"name\": \"b\"}");
	says(LONG_PATH, -EPROTO,
	     "cannot read the metadata '" LONG_END "': " LONG_END ":1:3: fragment 1 is not JSON: unexpected end",
	     "\x1e{", 2);
	says(LONG_PATH, -EPROTO,
	     "cannot read the metadata '" LONG_END "': " LONG_END
	     ":1: fragment 1: missing property \"type\"",
	     "\x1e{}", 3);
	says(LONG_PATH, -EPROTO,
	     "cannot read the metadata '" LONG_END "': " LONG_END ": expected a preamble, found no fragment",
	     "\x1e", 1);
}

static void partial_metadata_with_errors_that_more_text_cannot_fix_is_rejected(void **state)
{
	static const char no_json[] = PLAIN "\x1e this is no JSON\n",
			  bare[] = " {\"type\": \"preamble\", \"version\": 2}\n";
	char words[1000];

	(void)state;
	assert_int_equal(wmk_ctf_metadata_parse(no_json, sizeof(no_json) - 1, "meta", true, &class), -EPROTO);
	assert_non_null(strstr(wmk_error_text(words, sizeof(words)), "meta:2:"));
	drop(NULL);
	assert_int_equal(wmk_ctf_metadata_parse(bare, sizeof(bare) - 1, "meta", true, &class), -EPROTO);
	assert_non_null(strstr(wmk_error_text(words, sizeof(words)),
			       "meta:1:1: expected a record separator (0x1e) before the first fragment"));
}

static void json_sequence_is_split_at_record_separators(void **state)
{
	static const char fine[] = "\x1e\x1e \n" PLAIN "\x1e\n\x1e";
	char deep[2000] = "{'x': ";

	(void)state;
	memset(deep + 6, '[', 600);
	memset(deep + 606, ']', 600);
	strcpy(deep + 1206, "}");
	assert_int_equal(wmk_ctf_metadata_parse(fine, sizeof(fine) - 1, "meta", false, &class), 0);
	REFUSE_TEXT("found no fragment", "\x1e \n");
	REFUSE_TEXT("unexpected end", PLAIN "\x1e{\"type\": \x1e{}");
	REFUSE_TEXT("is not JSON", PLAIN "\x1e{\"type\": \"trace-class\"} {}");
	REFUSE_TEXT("is not JSON", PLAIN "\x1e{\"type\": \"trace-class\"} x");
	REFUSE_TEXT("is not JSON", PLAIN "\x1e{\"type\": \"trace-class\",}");
	REFUSE_TEXT("is not JSON", PLAIN "\x1e{\"type\": \"trace\xff-class\"}");
	REFUSE_TEXT("is not JSON", PLAIN "\x1e{\"type\": \"trace-class\"}\0");
	REFUSE_TEXT("single quotes", PLAIN "\x1e{'type': \"trace-class\"}");
	REFUSE_TEXT("more than 64 bits", PLAIN "\x1e{\"type\": -9223372036854775809}");
	REFUSE(-ENOTSUP, "'name': a string contains a NUL", "{'type': 'data-stream-class', 'name': 'a\\u0000b'}");
	REFUSE(-E2BIG, "levels of nested values", deep);
	/* a number other than an integer may have any number of digits, if it is ignored */
	ACCEPT("{'type': 'trace-class', 'x': 0.1234567890123456789012345, 'y': -9223372036854775808, 'z': {'\\u0041': "
	       "[1e5]}}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(valid_json_preamble_is_read_and_invalid_one_rejected, drop),
		cmocka_unit_test_teardown(valid_json_trace_class_is_read_and_invalid_one_rejected, drop),
		cmocka_unit_test_teardown(valid_json_clock_class_is_read_and_invalid_one_rejected, drop),
		cmocka_unit_test_teardown(valid_json_stream_class_is_read_and_invalid_one_rejected, drop),
		cmocka_unit_test_teardown(valid_json_event_class_is_read_and_invalid_one_rejected, drop),
		cmocka_unit_test_teardown(role_of_a_json_alias_depends_on_its_use, drop),
		cmocka_unit_test_teardown(cut_json_metadata_keeps_complete_fragments, drop),
		cmocka_unit_test_teardown(wrong_byte_anywhere_in_json_metadata_does_not_crash, drop),
		cmocka_unit_test_teardown(partial_metadata_with_errors_that_more_text_cannot_fix_is_rejected, drop),
		cmocka_unit_test_teardown(json_sequence_is_split_at_record_separators, drop),
		cmocka_unit_test_teardown(json_errors_name_line_fragment_and_path, drop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
