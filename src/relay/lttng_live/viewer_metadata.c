/* SPDX-License-Identifier: MIT */
/*
 * viewer_metadata.c - the metadata of a trace as TSDL packets (CTF 1.8.3, section 7.1), in whole declarations, while
 * the file grows.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "ctf/writer.h"
#include "relay/lttng_live/viewer_session.h"

#define TSDL_MAGIC 0x75D11D57u
#define TSDL_HEAD 37u
#define METADATA_MAX (64u << 20)   /* maximum size of one answer; the size of a packet in bits has 32 bits */

/* The offsets of fields in the header of a TSDL packet. */
enum tsdl_at { AT_MAGIC = 0, AT_UUID = 4, AT_CONTENT = 24, AT_SIZE = 28, AT_MAJOR = 35, AT_MINOR = 36 };

/*
 * Skip a string literal or a comment that begins at text[i]. Returns the position after the string literal or comment.
 * Returns `i` if neither a string literal nor a comment begins at text[i].
 */
static size_t skip_quoted(const char *text, size_t i, size_t len)
{
	const char *end;

	if (text[i] == '"') {
		for (i++; i < len && text[i] != '"'; i++)
			if (text[i] == '\\')
				i++;
		return i < len ? i + 1 : len;
	}
	if (len - i < 2 || text[i] != '/' || (text[i + 1] != '*' && text[i + 1] != '/'))
		return i;
	end = text[i + 1] == '*' ? memmem(text + i + 2, len - i - 2, "*/", 2) : memchr(text + i, '\n', len - i);
	if (!end)
		return len;
	return (size_t)(end - text) + (text[i + 1] == '*' ? 2 : 1);
}

/* Return the length of the complete declarations at the beginning of the text. */
static size_t whole_declarations(const char *text, size_t len)
{
	size_t whole = 0, i = 0;
	unsigned depth = 0;

	while (i < len) {
		const size_t behind = skip_quoted(text, i, len);

		if (behind != i) {
			i = behind;
			continue;
		}
		if (text[i] == '{')
			depth++;
		else if (text[i] == '}' && depth)
			depth--;
		i++;
		if (text[i - 1] == ';' && !depth)
			whole = i;
	}
	return whole;
}

/*
 * If the writer has replaced the metadata file, open the new file. The writer replaces the file at the start of each
 * chunk.
 */
static int open_current(struct viewer_trace *trace, struct stat *st)
{
	int fd;

	if (fstat(trace->metadata, st) < 0)
		return -errno;
	if (st->st_nlink)
		return 0;
	fd = openat(trace->directory, "metadata", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	close(trace->metadata);
	trace->metadata = fd;
	return fstat(fd, st);
}

/*
 * Read all metadata bytes that the viewer has not received into a buffer, allocated with malloc(). NULL means that
 * there are no new bytes, or that an error occurred.
 */
static char *read_rest(struct viewer_trace *trace, size_t *len)
{
	struct stat st;
	uint64_t rest;
	char *text;
	ssize_t got;

	if (open_current(trace, &st) < 0 || (uint64_t)st.st_size <= trace->n_metadata)
		return NULL;
	rest = (uint64_t)st.st_size - trace->n_metadata;
	text = malloc(rest < METADATA_MAX ? rest : METADATA_MAX);
	if (!text)
		return NULL;
	got = pread(trace->metadata, text, rest < METADATA_MAX ? rest : METADATA_MAX, (off_t)trace->n_metadata);
	if (got <= 0) {
		free(text);
		return NULL;
	}
	*len = whole_declarations(text, (size_t)got);
	return text;
}

bool wmk_viewer_metadata_has_grown(struct viewer_trace *trace)
{
	size_t len = 0;
	char *text = read_rest(trace, &len);

	free(text);
	return len > 0;
}

/* The UUID of a metadata packet is the UUID of the trace, or zero if the trace has no UUID yet. */
static void trace_uuid(const struct viewer_trace *trace, uint8_t uuid[16])
{
	memset(uuid, 0, 16);
	for (const struct viewer_stream *stream = trace->streams; stream; stream = stream->next)
		if (pread(stream->data, uuid, 16, 4) == 16)
			return;
}

/*
 * Find the lines that contain the clock offset, in the form that ctf/metadata.c writes. Returns false if the text does
 * not contain the lines of the clock offset.
 */
static bool find_offset(const char *text, size_t len, size_t *begin, size_t *end)
{
	const char *from = memmem(text, len, "\toffset_s = ", strlen("\toffset_s = ")), *to;

	to = from ? memmem(from, len - (size_t)(from - text), "\tabsolute", strlen("\tabsolute")) : NULL;
	if (!to)
		return false;
	*begin = (size_t)(from - text);
	*end = (size_t)(to - text);
	return true;
}

/*
 * Each chunk of a session has its own measurement of the clock offset. babeltrace2 fails if times decrease. To avoid
 * decreasing times, all traces that the viewer receives get the clock offset of the first trace. If the text contains
 * another clock offset, the function replaces the text.
 */
static int use_first_offset(struct viewer_session *session, char **text, size_t *len)
{
	size_t begin, end, first;
	char *new;

	if (!find_offset(*text, *len, &begin, &end))
		return 0;
	if (!session->clock_offset) {
		session->clock_offset = strndup(*text + begin, end - begin);
		return session->clock_offset ? 0 : -ENOMEM;
	}
	first = strlen(session->clock_offset);
	new = malloc(*len - (end - begin) + first);
	if (!new)
		return -ENOMEM;
	memcpy(new, *text, begin);
	memcpy(new + begin, session->clock_offset, first);
	memcpy(new + begin + first, *text + end, *len - end);
	free(*text);
	*text = new;
	*len = *len - (end - begin) + first;
	return 0;
}

static uint8_t *make_packet(const struct viewer_trace *trace, const char *text, size_t len)
{
	uint8_t *bytes = calloc(1, TSDL_HEAD + len);

	if (!bytes)
		return NULL;
	wmk_put32(bytes + AT_MAGIC, TSDL_MAGIC);
	trace_uuid(trace, bytes + AT_UUID);
	wmk_put32(bytes + AT_CONTENT, (uint32_t)(TSDL_HEAD + len) * 8);
	wmk_put32(bytes + AT_SIZE, (uint32_t)(TSDL_HEAD + len) * 8);
	bytes[AT_MAJOR] = 1;
	bytes[AT_MINOR] = 8;
	memcpy(bytes + TSDL_HEAD, text, len);
	return bytes;
}

int wmk_viewer_metadata_packet(struct viewer_session *session, struct viewer_trace *trace, uint8_t **packet,
			       size_t *size)
{
	size_t n_read = 0, len;
	char *text = read_rest(trace, &n_read);
	int err = 0;

	*packet = NULL;
	len = n_read;
	if (text && len && !trace->n_metadata)
		err = use_first_offset(session, &text, &len);
	if (text && len && err == 0)
		*packet = make_packet(trace, text, len);
	free(text);
	if (err < 0 || !*packet)
		return err < 0 || n_read ? -ENOMEM : 0;
	trace->n_metadata += n_read;
	*size = TSDL_HEAD + len;
	return 1;
}
