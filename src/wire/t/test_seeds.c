/* SPDX-License-Identifier: MIT */
/*
 * test_seeds.c - the seeds of the fuzzers contain objects that decode. Members have no names in messages, so a new
 * member makes each seed with its object undecodable, and the fuzzers see only refused messages. A member is therefore
 * added together with its seeds. Seeds with names that begin with "bad-" are not checked. The arguments are the
 * corpora.
 */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "wire/consumerd.h"
#include "wire/ctl.h"
#include "wire/relay.h"
#include "wire/t/seed.h"
#include "wire/wire.h"

#define SEED_MAX 65536u
#define FIRST_REQUEST 2u             /* number of the first request of fuzz_reply.c */

struct seed {
	const char *name;
	const uint8_t *data;
	size_t len;
	unsigned objects;            /* decoded so far */
	unsigned wrong;
};

static void decode(struct seed *seed, const struct wmk_object *is, const uint8_t *body, size_t len)
{
	struct wmk_arena arena = { 0 };
	void *object = malloc(is->size);
	uint8_t *exact = malloc(len ? len : 1);  /* exact size, so that a sanitizer detects overreads */

	assert_non_null(object);
	assert_non_null(exact);
	if (len)
		memcpy(exact, body, len);
	if (wmk_object_decode(is, exact, len, object, &arena) != 0) {
		print_error("cannot decode object %u of the seed \"%s\" (encode it with all members)\n",
			    seed->objects + 1, seed->name);
		for (unsigned i = 0; wmk_error_get(i); i++)
			print_error("    %s\n", wmk_error_get(i));
		seed->wrong++;
	}
	seed->objects++;
	wmk_arena_free(&arena);
	free(object);
	free(exact);
}

/* corpus-object: the first byte selects the object; the rest is its body. */
static void check_object(struct seed *seed)
{
	decode(seed, seed_object(seed->data[0]), seed->data + 1, seed->len - 1);
}

/* corpus-command: {type of the request: one byte, length: two bytes, body}, ... */
static void check_commands(struct seed *seed)
{
	size_t at = 0;

	while (seed->len - at >= 3) {
		const uint8_t *head = seed->data + at;
		const struct wmk_request_type *c = wmk_ctl_request_find((uint16_t)(WMK_CTL_VERSION + head[0] % 32));
		const size_t len = head[1] | (size_t)head[2] << 8;

		at += 3;
		assert_non_null(c);
		assert_true(len <= seed->len - at);
		decode(seed, c->request, seed->data + at, len);
		at += len;
	}
	assert_int_equal(at, seed->len);
}

/* Object of the frame's body; NULL: the frame has no object. */
typedef const struct wmk_object *object_of_frame(const struct seed *seed, const struct wmk_frame *frame);

static const struct wmk_object *consumer_request(const struct seed *seed, const struct wmk_frame *frame)
{
	const struct wmk_request_type *c = wmk_consumerd_request_find(frame->type);

	(void)seed;
	assert_non_null(c);
	return c->request;
}

/* The first byte of the seed selects the first request; further requests follow in the order of the table. */
static const struct wmk_object *reply(const struct seed *seed, const struct wmk_frame *frame)
{
	if (frame->type != WMK_CTL_REPLY || frame->request < FIRST_REQUEST)
		return NULL;
	return wmk_ctl_requests[(seed->data[0] + frame->request - FIRST_REQUEST) % wmk_ctl_n_requests].reply;
}

/* Frames from `at` on. The bodies of an object's parts are joined. */
static void check_frames(struct seed *seed, size_t at, object_of_frame *object_of)
{
	static uint8_t joined[SEED_MAX];
	struct wmk_frame frame;
	size_t n = 0;

	while (seed->len - at >= sizeof(frame)) {
		memcpy(&frame, seed->data + at, sizeof(frame));
		at += sizeof(frame);
		assert_true(frame.length <= seed->len - at);
		memcpy(joined + n, seed->data + at, frame.length);
		n += frame.length;
		at += frame.length;
		if (frame.type == WMK_OBJECT_PART)
			continue;
		const struct wmk_object *is = object_of(seed, &frame);

		if (is)
			decode(seed, is, joined, n);
		n = 0;
	}
	assert_int_equal(at, seed->len);
}

static void check_replies(struct seed *seed)
{
	check_frames(seed, 1, reply);
}

static void check_consumer_requests(struct seed *seed)
{
	check_frames(seed, 0, consumer_request);
}

static void check_corpus(const char *corpus, void (*check)(struct seed *seed))
{
	static uint8_t data[SEED_MAX];
	DIR *dir = opendir(corpus);
	unsigned objects = 0, wrong = 0;

	assert_non_null(dir);
	for (const struct dirent *entry; (entry = readdir(dir));) {
		struct seed seed = { .name = entry->d_name, .data = data };
		char path[4096];

		if (entry->d_name[0] == '.' || strncmp(entry->d_name, "bad-", 4) == 0)
			continue;
		snprintf(path, sizeof(path), "%s/%s", corpus, entry->d_name);
		FILE *file = fopen(path, "rb");

		assert_non_null(file);
		seed.len = fread(data, 1, sizeof(data), file);
		fclose(file);
		assert_in_range(seed.len, 1, sizeof(data) - 1);
		check(&seed);
		objects += seed.objects;
		wrong += seed.wrong;
	}
	closedir(dir);
	assert_true(objects > 0);
	assert_int_equal(wrong, 0);
}

static char **corpora;

static void fuzzing_seeds_of_objects_are_decoded(void **state)
{
	(void)state;
	check_corpus(corpora[0], check_object);
}

static void fuzzing_seeds_of_replies_are_decoded(void **state)
{
	(void)state;
	check_corpus(corpora[1], check_replies);
}

static void fuzzing_seeds_of_client_requests_are_decoded(void **state)
{
	(void)state;
	check_corpus(corpora[2], check_commands);
}

static void fuzzing_seeds_of_consumer_requests_are_decoded(void **state)
{
	(void)state;
	check_corpus(corpora[3], check_consumer_requests);
}

/* The header of a frame to the relay has the length, type and number at the same places. */
static const struct wmk_object *relay_message(const struct seed *seed, const struct wmk_frame *frame)
{
	const struct wmk_request_type *c = wmk_relay_request_find(frame->type);

	(void)seed;
	return frame->type == WMK_RELAY_HELLO ? &wmk_relay_hello_object
	       : c			      ? c->request
					      : wmk_relay_data_object(frame->type);
}

static void check_relay_messages(struct seed *seed)
{
	check_frames(seed, 0, relay_message);
}

static void fuzzing_seeds_of_relay_messages_are_decoded(void **state)
{
	(void)state;
	check_corpus(corpora[4], check_relay_messages);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fuzzing_seeds_of_objects_are_decoded),
		cmocka_unit_test(fuzzing_seeds_of_replies_are_decoded),
		cmocka_unit_test(fuzzing_seeds_of_client_requests_are_decoded),
		cmocka_unit_test(fuzzing_seeds_of_consumer_requests_are_decoded),
		cmocka_unit_test(fuzzing_seeds_of_relay_messages_are_decoded),
	};

	if (argc != 6) {
		fprintf(stderr, "usage: test-wire-seeds OBJECTS REPLIES COMMANDS CONSUMER-REQUESTS RELAY-MESSAGES\n");
		return 2;
	}
	corpora = argv + 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
