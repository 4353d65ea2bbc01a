/* SPDX-License-Identifier: MIT */
/*
 * register_client.c - the cost of a registration without a tracer: speaks the protocol (src/wire) from the connection
 * to DONE, and does nothing else.
 *
 *     register_client RUNDIR N EVENTS        N processes, one after the other; each stays connected until the end of
 *                                            standard input
 *
 * Prints "median NS p90 NS enabled N": time from connect() to DONE, and the average number of enabled events.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <waymark/detail/abi.h>

#include "member_times.h"
#include "schema/schema.h"
#include "wire/wire.h"

#define EVENTS_MAX 1000

struct answer {
	uint64_t ns;
	uint32_t enabled, failed;       /* failed: an errno */
};

static struct wmk_out out;
static struct wmk_in in;

static int queue_events(unsigned events)
{
	static const struct wmk_field fields[2] = {
		{ "n", NULL, { .kind = WMK_TYPE_INT, .width = 32, .is_signed = true, .base = 10 } },
		{ "text", NULL, { .kind = WMK_TYPE_STRING } },
	};
	struct wmk_hello hello = {
		.abi = WMK_WIRE_ABI, .word_bits = 64, .pid = (uint32_t)getpid(), .name = "register_client"
	};
	int err = wmk_out_hello(&out, &hello);

	for (unsigned i = 0; err == 0 && i < events; i++) {
		char name[16];
		unsigned char buf[1024];
		const struct wmk_event_class event = {
			.provider = "member", .name = name, .n_fields = 2, .fields = fields
		};

		snprintf(name, sizeof(name), "e%02u", i);
		long len = wmk_event_encode(&event, buf, sizeof(buf), NULL);
		err = len < 0 ? (int)len : wmk_out_event(&out, i, buf, (size_t)len);
	}
	return err == 0 ? wmk_out_u32(&out, WMK_MSG_EVENTS_END, 1) : err;
}

/* Send all messages, and receive answers until DONE. */
static int exchange(int sock, uint32_t *enabled)
{
	struct wmk_frame frame;
	const void *body;
	int fd, got;

	while ((got = wmk_out_send(&out, sock)) == 0)
		;
	while (got >= 0) {
		while ((got = wmk_in_frame(&in, &frame, &body, &fd)) == 1) {
			if (fd >= 0)
				close(fd);
			*enabled += frame.type == WMK_MSG_ENABLE;
			if (frame.type == WMK_MSG_DONE)
				return 0;
			if (frame.type == WMK_MSG_REFUSED)
				return -ECONNREFUSED;
		}
		if (got < 0)
			break;
		/*
		 * Poll, as libwaymark does. A process that sleeps in recv() is also woken when the peer has read the
		 * data, at the expense of the peer.
		 */
		poll(&(struct pollfd){ .fd = sock, .events = POLLIN }, 1, -1);
		got = wmk_in_receive(&in, sock);
		got = got == 0 ? -ECONNRESET : got == -EAGAIN ? 0 : got;
	}
	return got;
}

static struct answer register_once(const struct sockaddr_un *address, unsigned events)
{
	struct answer answer = { 0 };
	int err = queue_events(events), sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (err == 0 && sock < 0)
		err = -errno;
	uint64_t begin = now_ns();
	if (err == 0 && connect(sock, (const struct sockaddr *)address, sizeof(*address)) != 0)
		err = -errno;
	if (err == 0)
		err = exchange(sock, &answer.enabled);
	answer.ns = now_ns() - begin;
	answer.failed = (uint32_t)-err;
	return answer;
}

static int by_time(const void *a, const void *b)
{
	uint64_t x = ((const struct answer *)a)->ns, y = ((const struct answer *)b)->ns;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	unsigned n = argc == 4 ? (unsigned)strtoul(argv[2], NULL, 10) : 0,
		 events = argc == 4 ? (unsigned)strtoul(argv[3], NULL, 10) : 0;
	struct answer *answers = n && n <= 100000 && events <= EVENTS_MAX ? calloc(n, sizeof(*answers)) : NULL;
	pid_t *pids = answers ? calloc(n, sizeof(*pids)) : NULL;
	uint64_t enabled = 0;
	unsigned begun = 0;
	int ends[2], status = 0;

	if (!pids || pipe(ends) != 0 ||
	    snprintf(address.sun_path, sizeof(address.sun_path), "%s/" WMK_APP_SOCKET, argv[1]) >=
		    (int)sizeof(address.sun_path)) {
		fprintf(stderr, "usage: %s RUNDIR N EVENTS\n", argv[0]);
		return 2;
	}
	for (; begun < n && !status; begun++) {
		pids[begun] = fork();
		if (pids[begun] == 0) {
			struct answer mine = register_once(&address, events);
			if (write(ends[1], &mine, sizeof(mine)) != sizeof(mine))
				return 1;
			for (;;)
				pause();
		}
		if (pids[begun] < 0 || read(ends[0], &answers[begun], sizeof(answers[0])) != sizeof(answers[0]) ||
		    answers[begun].failed) {
			fprintf(stderr, "register_client: process %u cannot register: %s\n", begun,
				strerror((int)answers[begun].failed));
			status = 1;
		}
		enabled += answers[begun].enabled;
	}
	if (!status) {
		qsort(answers, n, sizeof(*answers), by_time);
		printf("median %llu p90 %llu enabled %.2f\n", (unsigned long long)answers[n / 2].ns,
		       (unsigned long long)answers[n * 9 / 10].ns, (double)enabled / n);
		fflush(stdout);
		while (getchar() != EOF)
			;
	}
	for (unsigned i = 0; i < begun; i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
	free(answers);
	free(pids);
	return status;
}
