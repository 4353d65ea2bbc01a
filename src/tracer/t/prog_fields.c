/* SPDX-License-Identifier: MIT */
/* prog_fields.c - record every type of field once. test_record.c has the expected result. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <waymark/runtime.h>
#include <waymark/trace.h>

WAYMARK_LABELS(colour, (RED, 1), (GREEN, 2, 5));

static void on_signal(int number)
{
	waymark(t, in_handler, number);
}

static __attribute__((constructor)) void begin(void)
{
	waymark(t, in_constructor);
}

static __attribute__((destructor)) void end(void)
{
	waymark(t, in_destructor);
}

static void *thread(void *arg)
{
	waymark(t, in_thread, wm_named("arg", (int)(intptr_t)arg));
	return NULL;
}

static void scalars(void)
{
	signed char s8 = -8;
	unsigned char u8 = 200;
	short s16 = -1600;
	unsigned short u16 = 60000;
	int s32 = -320000;
	unsigned u32 = 4000000000u;
	long s64 = -64000000000;
	unsigned long u64 = 18000000000000000000u;
	_Bool yes = 1;
	float f = 1.5f;
	double d = -0.25;
	void *pointer = (void *)0x1234;

	waymark(t, small, s8, u8, s16, u16);
	waymark(t, large, s32, u32, s64, u64);
	waymark(t, other, yes, f, d, pointer);
	waymark(t, shown, wm_named("hex", wm_hex(u32)), wm_named("net", wm_net((unsigned short)0x3412)));
	waymark(t, labels, wm_named("c", wm_enum(colour, 2)));
}

/* Strings without a NUL, followed by inaccessible memory. */
static void bounded(void)
{
	char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *end = page + 4096;

	if (page == MAP_FAILED || mprotect(end, 4096, PROT_NONE) != 0)
		abort();
	memcpy(end - 4, "abcd", 4);
	waymark_mark(bound, "n %d s %.*s c %.3s w %*d", 1, 4, end - 4, end - 4, 5, 9);
	waymark_mark(unbound, "s %.*s", -1, "whole");
	munmap(page, 8192);
}

static void references(void)
{
	static const int numbers[] = { 1, -2, 3 };
	const char *text = "hello", *null = NULL;
	char *large = malloc(1 << 20);

	memset(large, 'x', (1 << 20) - 1);
	large[(1 << 20) - 1] = '\0';
	waymark(t, strings, text, null, wm_named("part", wm_text("abcdef", 3)), wm_named("last", (int)7));
	waymark(t, blobs, wm_named("raw", wm_bytes("\1\2\377", 3)), wm_named("seq", wm_seq(numbers, 2)),
		wm_named("arr", wm_array(numbers, 3)), wm_named("none", wm_seq(numbers, 0)));
	waymark(t, cut, wm_named("before", (char)1), large, wm_named("seq", wm_seq((const int *)(void *)large, 1000)),
		wm_named("after", (short)2));
	waymark(t, utf8, wm_named("text", "aaaaaaaaaaaaaaaaaaaaaaaaaaa\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4"));
	waymark_mark(mark, "count %d name %s", 5, "five");
	waymark_logf(INFO, "%s has %d", "it", 3);
	bounded();
	free(large);
}

static void run_time(void)
{
	static const struct waymark_field fields[] = {
		{ .type = WAYMARK_T_U8, .name = "a", .flags = WAYMARK_F_NAMED },
		{ .type = WAYMARK_T_STRING, .name = "s", .flags = WAYMARK_F_NAMED },
		{ .type = WAYMARK_T_S32, .name = "b", .flags = WAYMARK_F_NAMED },
	};
	static const struct waymark_schema schema = {
		.size = sizeof(schema), .provider = "t", .name = "run_time", .fields = fields, .n_fields = 3
	};
	struct waymark_event *event = waymark_event_register(&schema);
	union waymark_value values[3] = { { .u64 = 9 }, { .ref = { "run", SIZE_MAX } }, { .s64 = -9 } };

	/*
	 * Registering does not wait. A session daemon that enables all events does so within a short time; with one
	 * that does not, the state dump is finished by then.
	 */
	for (int i = 0; i < (wm_enabled(t, large) ? 5000 : 500) && !waymark_event_enabled(event); i++)
		usleep(1000);
	waymark_event_record(event, values, 3);
	waymark_event_unregister(event);
}

int main(void)
{
	pthread_t other;

	scalars();
	references();
	signal(SIGUSR1, on_signal);
	raise(SIGUSR1);
	pthread_create(&other, NULL, thread, (void *)42);
	pthread_join(other, NULL);
	if (wm_enabled(t, small) && !wm_enabled(t, never))
		waymark(t, guards_agree);
	run_time();
	return 0;
}
