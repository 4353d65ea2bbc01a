/* SPDX-License-Identifier: MIT */
/*
 * fuzz_viewer.c - use arbitrary bytes as the requests of a viewer of the LTTng-live protocol. The root has one session
 * with a trace of two packets. Eight bytes 0xff in the input stand for the id of the session, which no input can
 * contain.
 */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/hash.h"
#include "ctf/writer.h"
#include "relay/lttng_live/viewer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
void fuzz_set_up(void);
void fuzz_clean_up(void);
ssize_t __wrap_send(int socket, const void *bytes, size_t size, int flags);

#define INPUT_MAX 65536u
#define PACKETS 2u

static char top[] = "/dev/shm/waymark-fuzz-XXXXXX";
static const char *const folders[] = { "host", "host/session", "host/session/ust", "host/session/ust/index" };
static const char *const names[] = { "metadata", "chan_0", "index/chan_0.idx" };
static int root;
static uint64_t session_id;

static void must(bool so)
{
	if (!so)
		abort();
}

/* Read all answers of the viewer's thread. */
ssize_t __wrap_send(int socket, const void *bytes, size_t size, int flags)
{
	const uint8_t *at = bytes;
	uint8_t sum = 0;

	(void)socket;
	(void)flags;
	for (size_t i = 0; i < size; i++)
		sum ^= at[i];
	errno = EPIPE;
	return size == 1 && sum == 0x5a ? -1 : (ssize_t)size;
}

static void put(const char *name, const void *bytes, size_t size)
{
	char path[100];
	int fd;

	snprintf(path, sizeof(path), "host/session/ust/%s", name);
	fd = openat(root, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	must(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
	close(fd);
}

static void make_trace(void)
{
	static const char metadata[] = "/* CTF 1.8 */\ntrace { major = 1; };\nclock {\n\toffset_s = 1;\n\toffset = 2;\n"
				       "\tabsolute = TRUE;\n};\nstream { id = 0; };\nevent { torn";
	static const uint8_t uuid[16] = { 1, 2, 3 };
	uint8_t head[WMK_CTF_INDEX_HEAD];

	put("metadata", metadata, sizeof(metadata) - 1);
	wmk_ctf_index_head(head);
	put("index/chan_0.idx", head, sizeof(head));
	for (unsigned i = 0; i < PACKETS; i++) {
		const struct wmk_ctf_packet packet = { .begin_ts = 10 * i, .end_ts = 10 * i + 5, .sequence = i,
						       .content = 8 };
		uint8_t bytes[WMK_CTF_PACKET_ROOM + 8 + WMK_CTF_END_MAX] = { 0 }, entry[WMK_CTF_INDEX_ENTRY];

		wmk_ctf_packet_encode(bytes, uuid, &packet);
		wmk_ctf_packet_end(bytes + WMK_CTF_PACKET_ROOM + 8, &packet);
		put("chan_0", bytes, wmk_ctf_packet_size(&packet));
		wmk_ctf_index_packet(entry, i * wmk_ctf_packet_size(&packet), &packet);
		put("index/chan_0.idx", entry, sizeof(entry));
	}
}

void fuzz_set_up(void)
{
	struct stat st;

	must(mkdtemp(top) != NULL);
	root = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	must(root >= 0);
	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++)
		must(mkdirat(root, folders[i], 0700) == 0);
	make_trace();
	must(fstatat(root, "host/session", &st, 0) == 0);
	session_id = wmk_hash_bytes(WMK_HASH_BEGIN, (const uint64_t[2]){ st.st_dev, st.st_ino }, 16);
}

void fuzz_clean_up(void)
{
	char path[100];

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(path, sizeof(path), "host/session/ust/%s", names[i]);
		unlinkat(root, path, 0);
	}
	for (size_t i = sizeof(folders) / sizeof(*folders); i-- > 0;)
		unlinkat(root, folders[i], AT_REMOVEDIR);
	close(root);
	rmdir(top);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t any[8] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };
	static uint8_t input[INPUT_MAX];
	int sockets[2];
	uint8_t *at = input;

	if (size > INPUT_MAX)
		return 0;
	memcpy(input, data, size);
	while ((at = memmem(at, size - (size_t)(at - input), any, sizeof(any))) != NULL) {
		wmk_put64(at, htobe64(session_id));
		at += sizeof(any);
	}
	must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) == 0);
	must(write(sockets[1], input, size) == (ssize_t)size && shutdown(sockets[1], SHUT_WR) == 0);
	wmk_viewer_serve(sockets[0], root);
	wmk_error_clear();
	close(sockets[0]);
	close(sockets[1]);
	return 0;
}
