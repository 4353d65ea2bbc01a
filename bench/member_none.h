/* SPDX-License-Identifier: MIT */
/* member_none.h - no events in member.c: the same program without a tracer. */
#define MEMBER_EVENTS(n, text) (void)(n), (void)(text);
#define MEMBER_FLAG_BYTES 0

static const void *member_flag(void)
{
	return NULL;
}

static int member_on(const void *flag)
{
	(void)flag;
	return 0;
}
