/* SPDX-License-Identifier: MIT */
/*
 * metadata.c - write the head of TSDL metadata: trace, env, clock, stream classes. event.c writes event classes.
 *
 * The record header (4, 6 or 13 bytes) is an enumeration of 5 bits that selects one of three structures; see
 * docs/trace-format.md.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "ctf/tsdl_fields.h"
#include "ctf/ctf2_writer.h"
#include "ctf/text_buffer.h"

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define BYTE_ORDER_NAME "le"
#else
#define BYTE_ORDER_NAME "be"
#endif

static void put_types(struct wmk_ctf_text_buffer *out)
{
	static const unsigned widths[] = { 5, 8, 16, 32, 64 };
	size_t i;

	for (i = 0; i < WMK_ARRAY_LEN(widths); i++)
		wmk_ctf_put(out, "typealias integer { size = %u; align = %u; signed = false; } := uint%u_t;\n",
			    widths[i], widths[i] == 5 ? 1 : 8, widths[i]);
	/* In the medium header, the id follows a field of 5 bits, so the id has no alignment. */
	wmk_ctf_put(out, "typealias integer { size = 16; align = 1; signed = false; } := uint16_bits_t;\n\n");
}

static void put_trace(struct wmk_ctf_text_buffer *out, const struct wmk_ctf_trace *trace)
{
	char uuid[WMK_CTF_UUID_TEXT];

	wmk_ctf_put(out, "trace {\n\tmajor = 1;\n\tminor = 8;\n\tbyte_order = %s;\n", BYTE_ORDER_NAME);
	wmk_ctf_put_entry(out, "uuid", wmk_ctf_uuid_text(uuid, trace->uuid));
	wmk_ctf_put(out,
		    "\tpacket.header := struct {\n\t\tuint32_t magic;\n\t\tuint8_t uuid[16];\n\t\tuint32_t stream_id;\n"
			 "\t\tuint64_t stream_instance_id;\n\t};\n};\n\n");
}

unsigned wmk_ctf_env_fixed(const struct wmk_ctf_trace *trace, struct wmk_ctf_env env[WMK_CTF_ENV_FIXED])
{
	const struct wmk_ctf_env all[] = {
		{ "hostname", trace->hostname, 0 },
		{ "domain", trace->domain, 0 },
		/*
		 * Trace Compass recognizes the names of LTTng-UST's events, contexts and state dump only with the
		 * tracer name "lttng-ust" and a version of at least 2.8. Waymark's names are LTTng-UST's names. With
		 * another tracer name, Trace Compass reads the trace, but its user-space views stay empty.
		 */
		{ "tracer_name", "lttng-ust", 0 },
		{ "tracer_major", NULL, 2 },
		{ "tracer_minor", NULL, 13 },
		{ "tracer_patchlevel", NULL, 0 },
		{ "made_by", "waymark", 0 },
		{ "tracer_buffering_scheme", trace->buffering, 0 },
		{ "tracer_buffering_id", trace->buffering_id, 0 },
		{ "architecture_bit_width", NULL, 64 },
		{ "trace_name", trace->name, 0 },
		{ "trace_creation_datetime", trace->created, 0 },
	};
	static const char *const texts[] = { "hostname",
					     "domain",
					     "tracer_buffering_scheme",
					     "tracer_buffering_id",
					     "trace_name",
					     "trace_creation_datetime" };
	unsigned n = 0;

	_Static_assert(WMK_ARRAY_LEN(all) <= WMK_CTF_ENV_FIXED, "the array must have room for all entries");
	for (size_t i = 0; i < WMK_ARRAY_LEN(all); i++) {
		bool is_text = false;

		for (size_t j = 0; j < WMK_ARRAY_LEN(texts); j++)
			is_text = is_text || !strcmp(texts[j], all[i].name);
		/* An unknown text is omitted. */
		if (!is_text || all[i].text)
			env[n++] = all[i];
	}
	return n;
}

static void put_entry(struct wmk_ctf_text_buffer *out, const struct wmk_ctf_env *entry)
{
	char ident[WMK_CTF_IDENT];

	wmk_ctf_ident(ident, "", entry->name, "");
	if (entry->text)
		wmk_ctf_put_entry(out, ident, entry->text);
	else
		wmk_ctf_put(out, "\t%s = %" PRId64 ";\n", ident, entry->number);
}

static void put_env(struct wmk_ctf_text_buffer *out, const struct wmk_ctf_trace *trace)
{
	struct wmk_ctf_env own[WMK_CTF_ENV_FIXED];
	const unsigned n = wmk_ctf_env_fixed(trace, own);

	wmk_ctf_put(out, "env {\n");
	for (unsigned i = 0; i < n; i++)
		put_entry(out, &own[i]);
	for (unsigned i = 0; i < trace->n_env; i++)
		put_entry(out, &trace->env[i]);
	wmk_ctf_put(out, "};\n\n");
}

/* Declare the clock, and the types of times that refer to the name of the clock. */
static void put_clock(struct wmk_ctf_text_buffer *out, const struct wmk_clock *clock)
{
	char name[WMK_CTF_IDENT];

	/* A plug-in may give its clock any name: the prefix turns "1ghz" and keywords into valid identifiers. */
	wmk_ctf_ident(name, clock->kind == WMK_CLOCK_PLUGIN ? "plugin_" : "", clock->name, "");
	wmk_ctf_put(out, "clock {\n");
	wmk_ctf_put_entry(out, "name", name);
	if (clock->uuid[0])
		wmk_ctf_put_entry(out, "uuid", clock->uuid);
	wmk_ctf_put_entry(out, "description", clock->description);
	wmk_ctf_put(out, "\tfreq = %" PRIu64 ";\n\tprecision = %" PRIu64 ";\n", clock->freq, clock->precision);
	wmk_ctf_put(out, "\toffset_s = %" PRId64 ";\n\toffset = %" PRIu64 ";\n\tabsolute = TRUE;\n};\n\n",
		    clock->offset_s, clock->offset);
	wmk_ctf_put(
		out,
		"typealias integer { size = 27; align = 1; signed = false; map = clock.%s.value; } := uint27_time_t;\n",
		name);
	wmk_ctf_put(out,
		    "typealias integer { size = 64; align = 8; signed = false; map = clock.%s.value; } := "
		    "uint64_time_t;\n\n",
		    name);
}

static void put_headers(struct wmk_ctf_text_buffer *out)
{
	wmk_ctf_put(out, "struct packet_context {\n\tuint64_time_t timestamp_begin;\n\tuint64_time_t timestamp_end;\n"
			 "\tuint64_t content_size;\n\tuint64_t packet_size;\n\tuint64_t packet_seq_num;\n\tuint32_t "
			 "cpu_id;\n"
			 "\tinteger { size = 64; align = 64; signed = false; } events_discarded;\n};\n\n");
	wmk_ctf_put(out, "struct event_header {\n"
			 "\tenum : uint5_t { compact = 0 ... 29, medium = 30, extended = 31 } id;\n\tvariant <id> {\n"
			 "\t\tstruct { uint27_time_t timestamp; } compact;\n"
			 "\t\tstruct { uint16_bits_t id; uint27_time_t timestamp; } medium;\n"
			 "\t\tstruct { uint32_t id; uint64_time_t timestamp; } extended;\n\t} v;\n} align(8);\n\n");
}

int wmk_ctf_trace_text(struct wmk_ctf_text_buffer *out, const struct wmk_ctf_trace *trace)
{
	const struct wmk_clock *clock = trace->clock;

	if (!clock || !clock->freq || clock->offset >= clock->freq || !clock->name[0] ||
	    !memchr(clock->name, 0, sizeof(clock->name)) ||
	    !memchr(clock->description, 0, sizeof(clock->description)) || !memchr(clock->uuid, 0, sizeof(clock->uuid)))
		return wmk_error(-EINVAL, "the trace's clock has no name or no frequency");
	if (trace->version == WMK_CTF_2)
		return wmk_ctf2_put_trace(out, trace);
	wmk_ctf_put(out, "/* CTF 1.8 */\n\n");
	put_types(out);
	put_trace(out, trace);
	put_env(out, trace);
	put_clock(out, clock);
	put_headers(out);
	return out->err;
}

int wmk_ctf_stream_text(struct wmk_ctf_text_buffer *out, uint32_t version, uint32_t id,
			const struct wmk_field *const *contexts, unsigned n_contexts)
{
	struct wmk_field fields[WMK_CTF_CONTEXTS_MAX];
	size_t start = out->len;
	unsigned i;
	int err;

	if (n_contexts > WMK_CTF_CONTEXTS_MAX)
		return wmk_error(-E2BIG, "%u contexts, at most %d", n_contexts, WMK_CTF_CONTEXTS_MAX);
	for (i = 0; i < n_contexts; i++)
		fields[i] = *contexts[i];
	if (version == WMK_CTF_2)
		return wmk_ctf2_put_stream(out, id, fields, n_contexts);
	wmk_ctf_put(out, "stream {\n\tid = %" PRIu32 ";\n\tevent.header := struct event_header;\n"
			 "\tpacket.context := struct packet_context;\n", id);
	if (n_contexts) {
		wmk_ctf_put(out, "\tevent.context := struct {\n");
		err = wmk_ctf_put_fields(out, fields, n_contexts, 2);
		if (err < 0) {
			wmk_ctf_text_cut(out, start);
			return wmk_error_add(err, "cannot declare the contexts of stream %" PRIu32, id);
		}
		wmk_ctf_put(out, "\t};\n");
	}
	wmk_ctf_put(out, "};\n\n");
	return out->err;
}
