/* SPDX-License-Identifier: MIT */
/*
 * test_relay_identity.c - two rules that keep each record exactly once: data is acknowledged when it is on the disk,
 * and a packet is identified by its range of positions. The test is also built with a planted violation of each rule,
 * and then must fail.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/error.h"
#include "relay/ingest_trace.h"
#include "relay/t/client.h"
#include "relay/t/relay_rig.h"

#define TRACE "web1/shop/ust/uid/1000/64-bit"
#define FILES_MAX 64u

int __wrap_fdatasync(int fd);
int __real_fdatasync(int fd);

/* The size of each file at its last synchronization. */
static struct {
	pthread_mutex_t lock;
	struct {
		ino_t inode;
		long size;
	} files[FILES_MAX];
	unsigned n;
} synced = { .lock = PTHREAD_MUTEX_INITIALIZER };

int __wrap_fdatasync(int fd)
{
	struct stat st;
	unsigned i = 0;

	if (fstat(fd, &st) < 0)
		return -1;
	pthread_mutex_lock(&synced.lock);
	while (i < synced.n && synced.files[i].inode != st.st_ino)
		i++;
	if (i < FILES_MAX) {
		synced.files[i].inode = st.st_ino;
		synced.files[i].size = (long)st.st_size;
		synced.n = i < synced.n ? synced.n : i + 1;
	}
	pthread_mutex_unlock(&synced.lock);
	return __real_fdatasync(fd);
}

static void is_synced(const struct relay_rig *rig, const char *name)
{
	char path[600];
	struct stat st;
	long size = -1;

	snprintf(path, sizeof(path), "%s/root/" TRACE "/%s", rig->dir, name);
	assert_int_equal(stat(path, &st), 0);
	pthread_mutex_lock(&synced.lock);
	for (unsigned i = 0; i < synced.n; i++)
		if (synced.files[i].inode == st.st_ino)
			size = synced.files[i].size;
	pthread_mutex_unlock(&synced.lock);
	assert_int_equal(size, st.st_size);
}

static void acknowledged_data_is_on_the_disk(void **state)
{
	struct relay_rig rig;
	struct client client;

	(void)state;
	synced.n = 0;
	relay_rig_begin(&rig, NULL);
	client_open(&client, rig.port, "web1");
	assert_int_equal(client_trace(&client, "shop", NULL), 0);
	assert_int_equal(client_stream(&client, 0, "app_0", NULL), 0);
	assert_int_equal(client_stream(&client, 1, "app_1", NULL), 0);
	for (unsigned i = 0; i < 3; i++) {
		client_metadata(&client, i * 4, 0, "/**/");
		client_packet(&client, 0, i, i * 100, 100);
		client_packet(&client, 1, i, i * 5000, 5000);
		assert_int_equal(client_acknowledged(&client), 0);
		is_synced(&rig, "metadata");
		is_synced(&rig, "app_0");
		is_synced(&rig, "app_1");
		is_synced(&rig, "index/app_0.idx");
		is_synced(&rig, "index/app_1.idx");
	}
	client_close(&client);
	relay_rig_end(&rig);
}

/* A stream with limited files: a file is on the disk before the next file begins. */
static void file_of_a_limited_stream_is_synced_before_the_next_begins(void **state)
{
	const struct wmk_relay_stream stream = { .name = "app_0", .create = true, .tracefile_size = 8192,
						 .tracefile_count = 8, .chunk = "" };
	struct relay_rig rig;
	struct client client;

	(void)state;
	synced.n = 0;
	relay_rig_begin(&rig, NULL);
	client_open(&client, rig.port, "web1");
	assert_int_equal(client_trace(&client, "shop", NULL), 0);
	assert_int_equal(client_request(&client, WMK_RELAY_STREAM, &stream, NULL), 0);
	client_packet(&client, 0, 0, 0, 5000);
	assert_int_equal(client_acknowledged(&client), 0);
	for (unsigned i = 1; i < 4; i++)
		client_packet(&client, 0, i, i * 5000, 5000);
	assert_int_equal(client_acknowledged(&client), 0);
	is_synced(&rig, "app_0_1");
	is_synced(&rig, "app_0_2");
	is_synced(&rig, "app_0_3");
	is_synced(&rig, "index/app_0_3.idx");
	client_close(&client);
	relay_rig_end(&rig);
}

static enum wmk_ingest_verdict compare(const struct wmk_ingest_end *end, uint64_t sequence, uint64_t position,
				       uint64_t content, bool byte_positions)
{
	const struct wmk_ctf_packet packet = { .sequence = sequence, .ring_position = position, .content = content };

	return wmk_ingest_compare(end, &packet, byte_positions);
}

static void packet_is_identified_by_its_range_of_ring_positions(void **state)
{
	const struct wmk_ctf_packet first = { .sequence = 0, .ring_position = 100, .content = 50 },
				    second = { .sequence = 1, .ring_position = 200, .content = 100 },
				    counts = { .sequence = 2, .ring_position = 300 };
	struct wmk_ingest_end end = { 0 };

	(void)state;
	assert_int_equal(compare(&end, 0, 100, 50, true), WMK_INGEST_WRITE);
	assert_int_equal(compare(&end, 1, 100, 50, true), WMK_INGEST_MISSING);
	wmk_ingest_advance(&end, &first, true);
	wmk_ingest_advance(&end, &second, true);
	wmk_ingest_advance(&end, &counts, true);
	/* a restarted consumer daemon cuts packets differently: new numbers, old records */
	assert_int_equal(compare(&end, 3, 100, 200, true), WMK_INGEST_DROP);
	assert_int_equal(compare(&end, 3, 250, 50, true), WMK_INGEST_DROP);
	assert_int_equal(compare(&end, 3, 250, 51, true), WMK_INGEST_PART);
	assert_int_equal(compare(&end, 3, 300, 1, true), WMK_INGEST_WRITE);
	/* an old number, but new records: the packet must not be dropped */
	assert_int_equal(compare(&end, 1, 300, 10, true), WMK_INGEST_MISSING);
	assert_int_equal(compare(&end, 4, 300, 10, true), WMK_INGEST_MISSING);
	/* packets without records */
	assert_int_equal(compare(&end, 2, 300, 0, true), WMK_INGEST_DROP);
	assert_int_equal(compare(&end, 3, 300, 0, true), WMK_INGEST_WRITE);
	assert_int_equal(compare(&end, 4, 300, 0, true), WMK_INGEST_MISSING);
}

static void position_of_a_kernel_channel_packet_is_a_record_count(void **state)
{
	const struct wmk_ctf_packet first = { .sequence = 0, .ring_position = 3, .content = 500 };
	struct wmk_ingest_end end = { 0 };

	(void)state;
	assert_int_equal(compare(&end, 0, 3, 500, false), WMK_INGEST_WRITE);
	wmk_ingest_advance(&end, &first, false);
	assert_int_equal(compare(&end, 1, 3, 500, false), WMK_INGEST_DROP);
	assert_int_equal(compare(&end, 1, 7, 500, false), WMK_INGEST_WRITE);
	assert_int_equal(compare(&end, 2, 7, 500, false), WMK_INGEST_MISSING);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packet_is_identified_by_its_range_of_ring_positions),
		cmocka_unit_test(position_of_a_kernel_channel_packet_is_a_record_count),
		cmocka_unit_test(acknowledged_data_is_on_the_disk),
		cmocka_unit_test(file_of_a_limited_stream_is_synced_before_the_next_begins),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
