/* SPDX-License-Identifier: MIT */
/*
 * member.c - one of many applications. It has 32 events, reports when its main() began and whether they were enabled by
 * then, and sleeps. Built once for each tracer (MEMBER_H); app_group.c starts it.
 *
 *     member PLACE        its index in the shared memory
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "member_times.h"
#include MEMBER_H

static uint64_t first;

/* The loader calls this before the constructors of all libraries. */
static void before_all(int argc, char **argv, char **env)
{
	(void)argc;
	(void)argv;
	(void)env;
	first = now_ns();
}

__attribute__((section(".preinit_array"), used)) static void (*const preinit)(int, char **, char **) = before_all;

/* Never called; the compiler cannot know that. */
static int volatile work_to_do;

static void work(int n, const char *text)
{
	MEMBER_EVENTS(n, text)
}

int main(int argc, char **argv)
{
	uint64_t ready = now_ns();
	unsigned long at = argc == 2 ? strtoul(argv[1], NULL, 10) : 0;
	struct member_times *times =
		mmap(NULL, (at + 1) * sizeof(*times), PROT_READ | PROT_WRITE, MAP_SHARED, MEMBER_TIMES_FD, 0);

	if (argc != 2 || times == MAP_FAILED) {
		fprintf(stderr, "usage: app_group starts %s PLACE\n", argv[0]);
		return 2;
	}
	if (work_to_do)
		work(argc, argv[0]);
	const void *flag = member_flag();
	times[at] = (struct member_times){
		.first = first,
		.ready = ready,
		.on = flag && member_on(flag),
		.flag = (uint64_t)(uintptr_t)flag,
		.flag_bytes = MEMBER_FLAG_BYTES,
	};
	if (write(MEMBER_TIMES_PIPE, "", 1) != 1)
		return 1;
	for (;;)
		pause();
}
