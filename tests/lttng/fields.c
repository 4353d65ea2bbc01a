/* SPDX-License-Identifier: MIT */
/* fields.c - a program for LTTng-UST: some records of each event of fields.h, from two threads. */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "fields.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static void *record(void *arg)
{
	static const int64_t numbers[] = { 0, 1, -1, INT8_MIN, 1000, INT32_MAX, INT64_MIN, INT64_MAX };
	static const double reals[] = { 0, -0.5, 1e300, 3.25, 1.0 / 3, -1e-300 };
	/* (no empty string: babeltrace2 2.0 shows unrelated bytes for it) */
	static const char *const texts[] = { "a text", "caf\xc3\xa9", "tab\tquote\"back\\slash\nend",
					     "1234567890 and more" };
	static const int lists[] = { 1, -2, 0x7fffffff, 4, 5 };

	(void)arg;
	for (unsigned i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		lttng_ust_tracepoint(fields, integers, numbers[i]);
	for (unsigned i = 0; i < sizeof(reals) / sizeof(reals[0]); i++)
		lttng_ust_tracepoint(fields, floats, reals[i]);
	for (unsigned i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		char padded[32] = "";

		strcpy(padded, texts[i]);
		lttng_ust_tracepoint(fields, texts, padded, strlen(padded));
	}
	for (unsigned i = 0; i <= 5; i++)
		lttng_ust_tracepoint(fields, lists, lists, i);
	for (int i = -2; i <= 10; i += 3)
		lttng_ust_tracepoint(fields, enumerations, i);
	lttng_ust_tracepoint(fields, nothing);
	lttng_ust_tracepoint(fields, severe, 7);
	return NULL;
}

int main(int argc, char **argv)
{
	const int rounds = argc > 1 ? atoi(argv[1]) : 1;
	pthread_t other;

	for (int i = 0; i < rounds; i++) {
		record(NULL);
		pthread_create(&other, NULL, record, NULL);
		pthread_join(other, NULL);
	}
	return 0;
}
