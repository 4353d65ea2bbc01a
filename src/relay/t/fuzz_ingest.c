/* SPDX-License-Identifier: MIT */
/*
 * fuzz_ingest.c - pass arbitrary bytes, in pieces, to the ingest of a relay with a directory of its own. With any
 * input, no file is created outside the root, only complete messages are processed, and the numbers of packets agree.
 * All memory is released. Disks are not synchronized.
 */
#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "relay/ingest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
void fuzz_set_up(void);
void fuzz_clean_up(void);
int __wrap_fdatasync(int fd);
int __wrap_fsync(int fd);

static char dir[] = "/tmp/waymark-fuzz-XXXXXX";
static char root[64], host[80];

int __wrap_fdatasync(int fd)
{
	return fd < 0 ? -1 : 0;
}

int __wrap_fsync(int fd)
{
	return fd < 0 ? -1 : 0;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	(void)st;
	(void)kind;
	(void)ftw;
	return remove(path);
}

void fuzz_set_up(void)
{
	if (!mkdtemp(dir))
		abort();
	snprintf(root, sizeof(root), "%s/root", dir);
	snprintf(host, sizeof(host), "%s/web1", root);
}

void fuzz_clean_up(void)
{
	nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* The directory has no other entry. */
static void has_only(const char *path, const char *name)
{
	DIR *entries = opendir(path);

	if (!entries)
		return;
	for (const struct dirent *entry; (entry = readdir(entries));)
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
		    strcmp(entry->d_name, name) != 0)
			abort();
	closedir(entries);
}

static void cut(void *data)
{
	(void)data;
	abort();                     /* only one connection exists */
}

static void streams_agree(const struct wmk_ingest *ingest)
{
	const struct wmk_ingest_trace *trace = ingest->trace;

	for (size_t i = 0; trace && i < trace->n_streams; i++) {
		const struct wmk_ingest_end *end = &trace->streams[i]->end;

		/* Without a gap, the next number follows the last packet. A gap only increases the next number. */
		if (!trace->gaps &&
		    (end->any != (end->sequence > 0) || (end->any && end->last.sequence + 1 != end->sequence)))
			abort();
		if (end->any && end->sequence <= end->last.sequence)
			abort();
	}
	if (ingest->acknowledged > ingest->number)
		abort();
}

/* Process bytes. Returns the number of used bytes; -1: the connection ends. */
static int feed(struct wmk_ingest *ingest, struct wmk_relay_in *in, const uint8_t *data, size_t size)
{
	uint8_t *room;
	size_t n = 0;

	if (wmk_relay_in_room(in, &room, &n) < 0)
		abort();
	n = n < size ? n : size;
	memcpy(room, data, n);
	in->len += n;
	const int err = wmk_ingest_take(ingest, in);

	if (in->next > in->len)
		abort();             /* the message is incomplete */
	if (err < 0)
		return -1;
	streams_agree(ingest);
	if (ingest->due_ms && ingest->number % 3 == 0 && wmk_ingest_commit(ingest) < 0)
		return -1;
	return (int)n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wmk_relay_conf conf;
	struct wmk_relay_hosts hosts;
	struct wmk_ingest_traces traces;
	struct wmk_ingest_relay relay = { .version = "fuzz", .clock_uuid = "boot", .hosts = &hosts, .traces = &traces };
	struct wmk_ingest ingest = { .relay = &relay, .cut = cut, .peer = "web1", .role = "sender" };
	struct wmk_relay_in in = { 0 };
	const size_t piece = size % 7 == 0 ? 100 : 65536;

	wmk_relay_conf_default(&conf);
	conf.max_bytes = 1 << 20;
	conf.disk_reserve = 0;
	if (wmk_relay_hosts_open(&hosts, root, &conf) < 0)
		abort();
	wmk_ingest_traces_init(&traces, &hosts);
	wmk_ingest_begin(&ingest);
	for (size_t at = 0; at < size;) {
		const int used = feed(&ingest, &in, data + at, size - at < piece ? size - at : piece);

		if (used < 0)
			break;
		at += (size_t)used;
	}
	wmk_ingest_end(&ingest);
	wmk_relay_out_free(&ingest.out);
	wmk_relay_in_free(&in);
	wmk_ingest_traces_free(&traces);
	wmk_relay_hosts_close(&hosts);
	wmk_error_clear();
	has_only(dir, "root");
	has_only(root, "web1");
	nftw(host, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	return 0;
}
