/* SPDX-License-Identifier: MIT */
/* grow_rig.c - see grow_rig.h. */
#include "read/t/grow_rig.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "read/record_scope.h"

#define HEAD 36u                   /* bytes of a packet before its records */

static const char metadata[] =
	"/* CTF 1.8 */\n"
	"typealias integer { size = 8; align = 8; signed = false; } := u8;\n"
	"typealias integer { size = 32; align = 8; signed = false; } := u32;\n"
	"typealias integer { size = 64; align = 8; signed = false; } := u64;\n"
	"trace { major = 1; minor = 8; byte_order = le; packet.header := struct { u32 magic; }; };\n"
	"clock { name = c; freq = 1000000000; };\n"
	"typealias integer { size = 64; align = 8; signed = false; map = clock.c.value; } := ts;\n"
	"stream {\n"
	"	packet.context := struct { u64 content_size; u64 packet_size; ts timestamp_begin; ts timestamp_end; "
	"};\n"
	"	event.header := struct { u8 id; ts timestamp; };\n"
	"};\n";

static void write_all(int fd, const void *bytes, size_t len)
{
	assert_int_equal(write(fd, bytes, len), len);
}

void rig_open(struct grow_rig *rig, bool is_locked)
{
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	snprintf(rig->path, sizeof(rig->path), "/tmp/waymark-grow-XXXXXX");
	assert_non_null(mkdtemp(rig->path));
	rig->dir = open(rig->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(rig->dir >= 0);
	rig->metadata = openat(rig->dir, "metadata", O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
	assert_true(rig->metadata >= 0);
	if (is_locked)
		assert_int_equal(fcntl(rig->metadata, F_OFD_SETLK, &whole), 0);
	write_all(rig->metadata, metadata, strlen(metadata));
	rig_declare(rig, 0);
}

void rig_unlock(struct grow_rig *rig)
{
	struct flock whole = { .l_type = F_UNLCK, .l_whence = SEEK_SET };

	assert_int_equal(fcntl(rig->metadata, F_OFD_SETLK, &whole), 0);
}

void rig_close(struct grow_rig *rig)
{
	DIR *dir = fdopendir(rig->dir);
	struct dirent *entry;

	while ((entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			unlinkat(rig->dir, entry->d_name, 0);
	closedir(dir);
	close(rig->metadata);
	assert_int_equal(rmdir(rig->path), 0);
}

void rig_declare(struct grow_rig *rig, unsigned id)
{
	char text[100];

	write_all(rig->metadata, text,
		  (size_t)snprintf(text, sizeof(text),
				   "event { name = \"e%u\"; id = %u; fields := struct { u32 n; }; };\n", id, id));
}

static size_t put(uint8_t *packet, size_t at, uint64_t value, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		packet[at + i] = (uint8_t)(value >> 8 * i);
	return at + bytes;
}

size_t rig_packet(uint8_t packet[RIG_PACKET], unsigned id, uint64_t begin, unsigned n, unsigned from)
{
	const size_t content = HEAD + 13 * n, size = content + 3;
	size_t at = put(packet, 0, 0xC1FC1FC1u, 4);

	assert_true(size <= RIG_PACKET);
	at = put(packet, at, content * 8, 8);
	at = put(packet, at, size * 8, 8);
	at = put(packet, at, begin, 8);
	at = put(packet, at, n ? begin + n - 1 : begin, 8);
	for (unsigned i = 0; i < n; i++) {
		at = put(packet, at, id, 1);
		at = put(packet, at, begin + i, 8);
		at = put(packet, at, from + i, 4);
	}
	return put(packet, at, 0, 3);
}

void rig_append(struct grow_rig *rig, const char *file, const void *bytes, size_t len)
{
	int fd = openat(rig->dir, file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	write_all(fd, bytes, len);
	close(fd);
}

void rig_cut(struct grow_rig *rig, const char *file, size_t len)
{
	int fd = openat(rig->dir, file, O_WRONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)len), 0);
	close(fd);
}

unsigned rig_count(struct wmk_read_stream *stream)
{
	struct wmk_ctf_walk *walk = &stream->record.walk;
	struct wmk_ctf_item item;

	wmk_ctf_walk_enter(walk, wmk_read_scope_begin(stream, WMK_READ_PAYLOAD));
	while (wmk_ctf_next(walk, &item))
		if (item.op->code == WMK_CTF_INT)
			return (unsigned)item.value.u;
	fail_msg("a record without its number");
	return 0;
}
