/* SPDX-License-Identifier: MIT */
/*
 * proc.c - the fake applications of world.h: processes that carry out commands of the test. They do not use cmocka:
 * wrong messages are counted.
 */
#include "world.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "schema/schema.h"

const struct world_event world_events[WORLD_EVENTS] = {
	{ "shop", "paid", WAYMARK_LEVEL_INFO, 1 }, { "shop", "sent", WAYMARK_LEVEL_WARNING, 1 },
	{ "shop", "lost", WAYMARK_LEVEL_ERR, 1 },  { "net", "rx", WAYMARK_LEVEL_DEBUG, 0 },
	{ "net", "tx", WAYMARK_LEVEL_DEBUG, 0 },   { "net", "drop", WAYMARK_LEVEL_CRIT, 2 },
	{ "disk", "read", WAYMARK_LEVEL_INFO, 2 }, { "disk", "write", WAYMARK_LEVEL_NOTICE, 2 },
	{ "twin", "x", WAYMARK_LEVEL_ERR, 1 },     { "twin", "x", WAYMARK_LEVEL_DEBUG_LINE, 1 },
	{ "shop", "paid", WAYMARK_LEVEL_INFO, 2 }, { "end", "all", WAYMARK_LEVEL_EMERG, 0 },
};

struct bid {
	uint32_t verb, n;
};

static struct proc *procs;
static int memory, controls[WORLD_PROCS][2];     /* [0] the test's end, [1] the application's end */
static pid_t first;

/* ── in the application ──────────────────────────────────────────────────────────────────────────────── */

static struct {
	struct proc *is;
	unsigned number;
	int socket;
	struct wmk_in in;
	struct wmk_out out;
	uint32_t batch, done;
} me;

static void disconnect(void)
{
	if (me.socket >= 0)
		close(me.socket);
	me.socket = -1;
	wmk_in_free(&me.in);
	wmk_out_free(&me.out);
	memset(me.is->channels, 0, sizeof(me.is->channels));
}

static void told_channel(const void *body, size_t len, int fd)
{
	struct wmk_channel_msg msg;
	struct stat st;

	if (wmk_channel_decode(body, len, &msg) != 0 || msg.channel >= WORLD_CHANNELS || fd < 0 ||
	    fstat(fd, &st) != 0 || msg.field_limit < 16 || me.is->channels[msg.channel].live) {
		me.is->bad++;
		return;
	}
	struct proc_channel *ch = &me.is->channels[msg.channel];

	*ch = (struct proc_channel){ .live = true, .key = msg.field_limit - 16, .flags = msg.flags,
				     .n_contexts = msg.n_contexts, .inode = (uint64_t)st.st_ino };
	for (unsigned i = 0; i < WORLD_EVENTS; i++)
		ch->ids[i] = WORLD_NO_ID;
}

/* True if the application has rings of a later layout: disabling is sent for both, whether the event moved or not. */
static bool is_earlier(const struct proc_channel *ch)
{
	for (uint32_t i = 0; i < WORLD_CHANNELS; i++)
		if (me.is->channels[i].live && me.is->channels[i].key == ch->key &&
		    me.is->channels[i].n_contexts > ch->n_contexts)
			return true;
	return false;
}

static void told_event(uint32_t channel, uint32_t event, uint32_t id)
{
	struct proc_channel *ch =
		channel < WORLD_CHANNELS && me.is->channels[channel].live ? &me.is->channels[channel] : NULL;

	if (!ch || event >= WORLD_EVENTS) {
		me.is->bad++;
		return;
	}
	/* nothing is sent twice */
	me.is->bad += (ch->ids[event] == WORLD_NO_ID) == (id == WORLD_NO_ID) &&
		      !(id == WORLD_NO_ID && (me.is->unmoved || is_earlier(ch)));
	ch->ids[event] = id;
}

/* Move an event to a channel with the same contexts and more. */
static void told_move(const struct wmk_move_msg *move)
{
	if (move->from >= WORLD_CHANNELS || move->channel >= WORLD_CHANNELS || move->event >= WORLD_EVENTS ||
	    me.is->channels[move->from].n_contexts >= me.is->channels[move->channel].n_contexts) {
		me.is->bad++;
		return;
	}
	me.is->moves++;
	if (me.is->unmoved)
		return;
	told_event(move->from, move->event, WORLD_NO_ID);
	told_event(move->channel, move->event, move->id);
}

static void handle_frame(const struct wmk_frame *frame, const void *body, int fd)
{
	struct wmk_enable_msg enable;
	const void *filter;
	size_t filter_len;
	struct wmk_disable_msg disable;
	struct wmk_move_msg move;
	struct wmk_channel_flags_msg flags;
	uint32_t value = 0;
	int err = 0;

	switch (frame->type) {
	case WMK_MSG_WELCOME: me.is->welcomes++; break;
	case WMK_MSG_REFUSED: me.is->refused++; break;
	case WMK_MSG_STATEDUMP: me.is->statedumps++; break;
	case WMK_MSG_CHANNEL: told_channel(body, frame->length, fd); break;
	case WMK_MSG_ENABLE:
		err = wmk_enable_decode(body, frame->length, &enable, &filter, &filter_len);
		if (err == 0)
			told_event(enable.channel, enable.event, enable.id);
		break;
	case WMK_MSG_DISABLE:
		err = wmk_disable_decode(body, frame->length, &disable);
		if (err == 0)
			told_event(disable.channel, disable.event, WORLD_NO_ID);
		break;
	case WMK_MSG_MOVE:
		err = wmk_move_decode(body, frame->length, &move);
		if (err == 0)
			told_move(&move);
		break;
	case WMK_MSG_DONE: err = wmk_u32_decode(body, frame->length, &me.done); break;
	case WMK_MSG_CHANNEL_FLAGS:
		err = wmk_channel_flags_decode(body, frame->length, &flags);
		if (err == 0 && flags.channel < WORLD_CHANNELS && me.is->channels[flags.channel].live &&
		    me.is->channels[flags.channel].flags != flags.flags)
			me.is->channels[flags.channel].flags = flags.flags;
		else
			me.is->bad++;
		break;
	case WMK_MSG_CHANNEL_GONE:
		err = wmk_u32_decode(body, frame->length, &value);
		if (err == 0 && value < WORLD_CHANNELS && me.is->channels[value].live) {
			me.is->channels[value].live = false;
			me.is->gone++;
		} else {
			me.is->bad++;
		}
		break;
	case WMK_MSG_SYNC:
		err = wmk_u32_decode(body, frame->length, &value);
		me.is->syncs++;
		if (err == 0 && !me.is->mute)    /* seq_cst: the test sets `mute` before its request */
			err = wmk_out_u32(&me.out, WMK_MSG_SYNCED, value);
		break;
	default: me.is->bad++; break;
	}
	me.is->bad += err != 0;
}

/* Handle what has arrived. */
static void listen_once(void)
{
	struct wmk_frame frame;
	const void *body;
	int came, fd;

	if (me.socket < 0)
		return;
	do {
		came = wmk_in_receive(&me.in, me.socket);
		while (came == 1 && wmk_in_frame(&me.in, &frame, &body, &fd) == 1) {
			handle_frame(&frame, body, fd);
			if (fd >= 0)
				close(fd);
		}
	} while (came == 1);
	if (came == -EAGAIN)
		came = wmk_out_send(&me.out, me.socket) < 0 ? 0 : 1;
	if (came != 1)
		disconnect();
}

static int wait_done(void)
{
	uint64_t end = wmk_clock_monotonic() + 8000000000u;

	while (me.socket >= 0 && me.done != me.batch && wmk_clock_monotonic() < end) {
		struct pollfd fd = { .fd = me.socket, .events = POLLIN };

		poll(&fd, 1, 100);
		listen_once();
	}
	return me.socket >= 0 && me.done == me.batch ? 0 : -1;
}

static void send_events(uint32_t events)
{
	static const struct wmk_field fields[2] = {
		{ "a", "ms", { .kind = WMK_TYPE_INT, .width = 32, .base = 10 } },
		{ "b", NULL, { .kind = WMK_TYPE_STRING } },
	};
	unsigned char buf[1024];

	for (uint32_t i = 0; i < WORLD_EVENTS; i++) {
		const struct wmk_event_class event = {
			.provider = world_events[i].provider,
			.name = world_events[i].name,
			.level = world_events[i].level,
			.file = "a.c",
			.line = i,
			.n_fields = world_events[i].n_fields,
			.fields = fields,
		};
		long len = events >> i & 1 ? wmk_event_encode(&event, buf, sizeof(buf), NULL) : 0;

		if (len > 0)
			wmk_out_event(&me.out, i, buf, (size_t)len);
	}
	wmk_out_u32(&me.out, WMK_MSG_EVENTS_END, ++me.batch);
	wmk_out_send(&me.out, me.socket);
}

static int do_connect(uint32_t events)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct wmk_hello hello = {
		.abi = WMK_WIRE_ABI, .word_bits = 64, .pid = (uint32_t)getpid(), .image = me.is->image
	};

	disconnect();
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/%s", me.is->rundir, WMK_APP_SOCKET);
	me.socket = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (me.socket < 0 || connect(me.socket, (struct sockaddr *)&address, sizeof(address)) != 0)
		return -1;
	snprintf(hello.name, sizeof(hello.name), "proc %u", me.number);
	wmk_out_hello(&me.out, &hello);
	send_events(events);
	return wait_done();
}

static void live(unsigned number);

static int do_spawn(uint32_t n)
{
	pid_t pid = fork();

	if (pid != 0)
		return pid > 0 ? 0 : -1;
	if (me.socket >= 0)
		close(me.socket);        /* the parent's connection; data queued for it stays there */
	memset(&me, 0, sizeof(me));
	live(n);
	_exit(0);
}

static int do_exec(uint32_t other)
{
	char number[16], fd[16];

	snprintf(number, sizeof(number), "%u", me.number);
	snprintf(fd, sizeof(fd), "%d", memory);
	char *const path = other ? me.is->other : me.is->self, *const args[] = { path, (char *)(uintptr_t) "--live",
										 number, fd, NULL };

	disconnect();
	execv(path, args);
	return -1;
}

static int obey(const struct bid *bid)
{
	switch (bid->verb) {
	case PROC_SPAWN:
		return do_spawn(bid->n);
	case PROC_CONNECT:
		return do_connect(bid->n);
	case PROC_EVENTS:
		send_events(bid->n);
		return wait_done();
	case PROC_GONE:
		wmk_out_u32(&me.out, WMK_MSG_EVENT_GONE, bid->n);
		send_events(0);
		/* until the daemon has answered, it may still send the event */
		if (wait_done() != 0)
			return -1;
		for (unsigned i = 0; i < WORLD_CHANNELS; i++)
			me.is->channels[i].ids[bid->n] = WORLD_NO_ID;
		return 0;
	case PROC_CLOSE:
		disconnect();
		return 0;
	case PROC_EXEC:
		return do_exec(bid->n);  /* the new program answers */
	case PROC_USER:
		return setresuid(bid->n, bid->n, bid->n) == 0 ? 0 : -1;
	default:
		_exit(0);
	}
}

static void live(unsigned number)
{
	int control = controls[number][1];
	struct bid bid;
	char answer;

	signal(SIGCHLD, SIG_IGN);
	me.is = &procs[number];
	me.number = number;
	me.socket = -1;
	me.is->pid = getpid();
	for (answer = 0;;) {
		/* the first answer goes to the process that started this one */
		if (send(control, &answer, 1, MSG_NOSIGNAL) != 1)
			_exit(1);
		for (;;) {
			struct pollfd fds[2] = { { .fd = control, .events = POLLIN },
						 { .fd = me.socket, .events = POLLIN } };

			poll(fds, 2, me.is->mute == PROC_WORKS ? 0 : -1);
			if (fds[1].revents)
				listen_once();
			if (fds[0].revents)
				break;
		}
		if (recv(control, &bid, sizeof(bid), 0) != sizeof(bid))
			_exit(0);        /* the test has ended */
		answer = (char)obey(&bid);
	}
}

/* ── in the test ─────────────────────────────────────────────────────────────────────────────────────── */

static void map(void)
{
	procs = mmap(NULL, sizeof(*procs) * WORLD_PROCS, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
	if (procs == MAP_FAILED)
		abort();
}

/* Return the number of a control socket, which is the same in all processes. */
static int control_fd(unsigned i)
{
	return 100 + (int)i;
}

void procs_begin(int argc, char **argv)
{
	if (argc == 4 && strcmp(argv[1], "--live") == 0) {
		memory = atoi(argv[3]);
		map();
		for (unsigned i = 0; i < WORLD_PROCS; i++)
			controls[i][1] = control_fd(i);
		live((unsigned)atoi(argv[2]));
	}
	memory = memfd_create("procs", 0);
	if (memory < 0 || ftruncate(memory, (off_t)(sizeof(*procs) * WORLD_PROCS)) != 0)
		abort();
	map();
	if (readlink("/proc/self/exe", procs[0].self, sizeof(procs[0].self) - 1) <= 0)
		abort();
	for (unsigned i = 0; i < WORLD_PROCS; i++) {
		if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, controls[i]) != 0 || dup2(controls[i][1], control_fd(i)) < 0)
			abort();
		close(controls[i][1]);
		controls[i][1] = control_fd(i);
		fcntl(controls[i][0], F_SETFD, FD_CLOEXEC);
	}
	first = fork();
	if (first == 0) {
		for (unsigned i = 0; i < WORLD_PROCS; i++)
			close(controls[i][0]);
		live(0);
	}
	char answer = 1;
	if (first < 0 || recv(controls[0][0], &answer, 1, 0) != 1 || answer != 0)
		abort();
}

void procs_end(void)
{
	for (unsigned i = 0; i < WORLD_PROCS; i++)
		close(controls[i][0]);
	waitpid(first, NULL, 0);
}

struct proc *proc_at(unsigned i)
{
	return &procs[i];
}

static int answer_of(unsigned i)
{
	struct pollfd fd = { .fd = controls[i][0], .events = POLLIN };
	char answer = 1;

	if (poll(&fd, 1, 10000) != 1 || recv(controls[i][0], &answer, 1, 0) != 1)
		fail_msg("process %u does not answer", i);
	return answer;
}

static int pidfd_of(unsigned i)
{
	int fd = (int)syscall(SYS_pidfd_open, procs[i].pid, 0);

	if (fd < 0)
		fail_msg("process %u is gone by itself", i);
	return fd;
}

/* Wait until the process has ended, before another one gets its number and control socket. */
static void wait_end(unsigned i, int pidfd)
{
	struct pollfd fd = { .fd = pidfd, .events = POLLIN };

	procs[i].pid = 0;
	if (poll(&fd, 1, 10000) != 1)
		fail_msg("process %u does not end", i);
	close(pidfd);
}

void proc_kill(unsigned i)
{
	int pidfd = pidfd_of(i);

	assert_int_equal(kill(procs[i].pid, SIGKILL), 0);
	wait_end(i, pidfd);
}

int proc_bid(unsigned i, enum proc_verb verb, uint32_t n)
{
	const struct bid bid = { (uint32_t)verb, n };

	if (verb == PROC_SPAWN) {
		memset(&procs[n], 0, sizeof(procs[n]));
		memcpy(procs[n].rundir, procs[0].rundir, sizeof(procs[n].rundir));
		memcpy(procs[n].self, procs[0].self, sizeof(procs[n].self));
		memcpy(procs[n].other, procs[0].other, sizeof(procs[n].other));
	}
	int pidfd = verb == PROC_QUIT ? pidfd_of(i) : -1;

	assert_int_equal(send(controls[i][0], &bid, sizeof(bid), MSG_NOSIGNAL), (ssize_t)sizeof(bid));
	if (verb == PROC_QUIT) {
		wait_end(i, pidfd);
		return 0;
	}
	if (answer_of(i) != 0)
		return -1;
	return verb == PROC_SPAWN ? answer_of(n) : 0;
}

struct proc *proc_start(unsigned by, unsigned i, uint32_t events)
{
	assert_int_equal(proc_bid(by, PROC_SPAWN, i), 0);
	assert_int_equal(proc_bid(i, PROC_CONNECT, events), 0);
	return &procs[i];
}

int procs_kill(void **state)
{
	(void)state;
	for (unsigned i = 1; i < WORLD_PROCS; i++)
		if (procs[i].pid)
			proc_kill(i);
	return 0;
}

const struct proc_channel *proc_channel(unsigned i, uint32_t key)
{
	const struct proc_channel *found = NULL;

	assert_int_equal(procs[i].bad, 0);
	for (unsigned c = 0; c < WORLD_CHANNELS; c++)
		if (procs[i].channels[c].live && procs[i].channels[c].key == key) {
			const struct proc_channel *one = &procs[i].channels[c];

			if (found && found->n_contexts == one->n_contexts)
				fail_msg("process %u has two channels of key %u with %u contexts", i, key,
					 one->n_contexts);
			if (!found || one->n_contexts > found->n_contexts)
				found = one;
		}
	return found;
}

uint32_t proc_enabled(unsigned i, uint32_t key)
{
	const struct proc_channel *channel = proc_channel(i, key);
	uint32_t bits = 0;

	for (unsigned e = 0; channel && e < WORLD_EVENTS; e++)
		bits |= (uint32_t)(channel->ids[e] != WORLD_NO_ID) << e;
	return bits;
}
