/* SPDX-License-Identifier: MIT */
/* peer.c - the thread of a connection (see peer.h). */
#include "relay/peer.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "base/thread.h"

#define STACK_BYTES (128u * 1024)
#define LOOK_MS 500                  /* interval of the checks for live readers and for revoked certificates */
#define LAST_MS 2000                 /* to send the last message to a refused peer */
/* maximum bytes of answers that a peer has not read: more than the largest answer */
#define ANSWERS_MAX (WMK_RELAY_BODY_MAX + (1u << 20))

struct wmk_relay_peer {
	struct wmk_relay_peer *next;
	struct wmk_peers *peers;
	struct wmk_link *link;
	int socket;                          /* of the link, until the link is closed; under the lock of the peers */
	char address[64];                    /* of the peer, for messages */
	bool tls;
	unsigned certificates;
	int64_t resume_ms;                   /* the rate of the host is used up until this time; 0: it is not */
	struct wmk_relay_in in;
	struct wmk_ingest ingest;
};

/* End a connection from another thread. The next read of the connection returns the end of the stream. */
static void cut(void *data)
{
	const struct wmk_relay_peer *peer = data;

	shutdown(peer->socket, SHUT_RDWR);
}

/* Log an error of the connection, together with the address of the peer and the name in the peer's certificate. */
static void report(void *data, const char *text)
{
	const struct wmk_relay_peer *peer = data;
	const char *name = peer->ingest.peer;
	char line[WMK_RELAY_MESSAGE_MAX + sizeof(peer->address) + WMK_RELAY_HOST_MAX + 8];

	snprintf(line, sizeof(line), "%s%s%s: %s", peer->address, name ? ", " : "", name ? name : "", text);
	if (peer->peers->log)
		peer->peers->log(line);
}

static void store_address(struct wmk_relay_peer *peer)
{
	struct sockaddr_storage of;
	socklen_t len = sizeof(of);

	if (getpeername(peer->socket, (struct sockaddr *)&of, &len) < 0 ||
	    getnameinfo((const struct sockaddr *)&of, len, peer->address, sizeof(peer->address), NULL, 0,
			NI_NUMERICHOST) != 0)
		strcpy(peer->address, "unknown address");
}

/* Wait for input, or for space to send output. 1: ready; 0: timeout. */
static int await(const struct wmk_relay_peer *peer, short events, int64_t timeout_ms)
{
	struct pollfd poller = { .fd = peer->socket, .events = events };
	const int n = poll(&poller, 1, timeout_ms < 0 ? 0 : timeout_ms > LOOK_MS ? LOOK_MS : (int)timeout_ms);

	return n < 0 && errno != EINTR ? -errno : n > 0;
}

/* Send the queued messages within a limited time. */
static void send_last(struct wmk_relay_peer *peer)
{
	const int64_t end = wmk_relay_now_ms() + LAST_MS;
	int sent;

	while ((sent = wmk_relay_out_send(&peer->ingest.out, peer->link)) == 0 && wmk_relay_now_ms() < end)
		await(peer, POLLOUT, end - wmk_relay_now_ms());
	if (sent < 0)
		wmk_error_clear();
	/*
	 * The peer may still send. Read and discard the remaining input, because unread bytes would make close()
	 * discard the last message.
	 */
	shutdown(peer->socket, SHUT_WR);
	peer->in.len = peer->in.next = 0;
	while (sent == 1 && wmk_relay_now_ms() < end) {
		const int got = wmk_relay_in_receive(&peer->in, peer->link);

		if (got == 0 || (got < 0 && got != -EAGAIN && got != -ENOBUFS))
			break;
		peer->in.len = peer->in.next = 0;
		if (got == -EAGAIN)
			await(peer, POLLIN, end - wmk_relay_now_ms());
	}
	wmk_error_clear();
}

/* Do the TLS handshake if the address uses TLS, and then check the certificate. */
static int shake_hands(struct wmk_relay_peer *peer, int64_t end)
{
	int err;

	while ((err = wmk_link_handshake(peer->link)) == -EAGAIN) {
		if (wmk_relay_now_ms() >= end)
			return wmk_error(-ETIMEDOUT, "the peer did not complete the TLS handshake within %d ms",
					 WMK_PEER_HELLO_MS);
		await(peer, wmk_link_events(peer->link), end - wmk_relay_now_ms());
	}
	if (err < 0 || !peer->tls)
		return err;
	err = wmk_link_verify(peer->link);
	if (err < 0)
		return wmk_ingest_refuse(&peer->ingest, 0, err);
	peer->ingest.peer = wmk_link_peer(peer->link);
	peer->ingest.role = wmk_link_role(peer->link);
	return 0;
}

static int process(struct wmk_relay_peer *peer)
{
	const bool greeted = peer->ingest.greeted;
	int err = wmk_ingest_take(&peer->ingest, &peer->in);

	if (err == 0 && wmk_relay_out_queued(&peer->ingest.out) > ANSWERS_MAX)
		err = wmk_error(-EOVERFLOW, "the peer does not read the replies of the relay");
	if (!greeted && peer->ingest.greeted) {
		pthread_mutex_lock(&peer->peers->lock);
		peer->peers->n_greeting--;
		pthread_mutex_unlock(&peer->peers->lock);
	}
	return err;
}

/*
 * Do the periodic work that is due: commit, verify the peer's certificate again after certificate files have changed,
 * and report live readers.
 */
static int do_due(struct wmk_relay_peer *peer, int64_t *look)
{
	const int64_t now = wmk_relay_now_ms();
	const unsigned certificates = atomic_load_explicit(&peer->peers->certificates, memory_order_relaxed);
	int err = 0;

	if (peer->ingest.due_ms && now >= peer->ingest.due_ms) {
		err = wmk_ingest_commit(&peer->ingest);
		wmk_relay_in_idle(&peer->in);
	}
	if (err < 0 || now < *look)
		return err;
	*look = now + LOOK_MS;
	if (peer->tls && certificates != peer->certificates) {
		peer->certificates = certificates;
		err = wmk_link_verify(peer->link);
		if (err < 0)
			return wmk_ingest_refuse(&peer->ingest, 0, err);
	}
	return wmk_ingest_report_followed(&peer->ingest);
}

/* Receive bytes. -EAGAIN: none have arrived, or the rate of the host is used up. */
static int receive(struct wmk_relay_peer *peer)
{
	int got;

	if (peer->resume_ms && wmk_relay_now_ms() < peer->resume_ms)
		return -EAGAIN;
	got = wmk_relay_in_receive(&peer->in, peer->link);
	peer->resume_ms = got > 0 && peer->ingest.host ? wmk_relay_host_received(peer->ingest.host, (uint64_t)got) : 0;
	return got;
}

/* Wait for input, for space to send output if messages are `queued`, or until the next periodic work is due. */
static int await_next(struct wmk_relay_peer *peer, bool queued, int64_t look)
{
	const int64_t due = peer->ingest.due_ms ? peer->ingest.due_ms : look;
	const short output = queued ? POLLOUT : 0;
	int err;

	if (!peer->resume_ms)
		return await(peer, (short)(wmk_link_events(peer->link) | POLLIN | output), due - wmk_relay_now_ms());
	err = await(peer, output, (due < peer->resume_ms ? due : peer->resume_ms) - wmk_relay_now_ms());
	/* The connection has ended. */
	if (err == 1 && !queued)
		peer->resume_ms = 0;
	return err;
}

/* Serve the connection until the connection has to end. */
static int serve(struct wmk_relay_peer *peer)
{
	const int64_t hello = wmk_relay_now_ms() + WMK_PEER_HELLO_MS;
	int64_t look = wmk_relay_now_ms() + LOOK_MS;
	int err = shake_hands(peer, hello);

	if (err < 0)
		return err;
	wmk_ingest_begin(&peer->ingest);
	for (;;) {
		const int got = receive(peer);
		int sent;

		if (got == 0 || (got < 0 && got != -EAGAIN && got != -ENOBUFS))
			return got < 0 ? got : -EPIPE;
		err = process(peer);
		if (err == 0)
			err = do_due(peer, &look);
		if (err < 0)
			return err;
		if (!peer->ingest.greeted && wmk_relay_now_ms() >= hello)
			return wmk_ingest_refuse(&peer->ingest, 0, wmk_error(-ETIMEDOUT, "the peer has sent no HELLO "
						 "within %d ms", WMK_PEER_HELLO_MS));
		sent = wmk_relay_out_send(&peer->ingest.out, peer->link);
		if (sent < 0)
			return sent;
		if (got == -EAGAIN)
			err = await_next(peer, sent == 0, look);
		if (err < 0)
			return err;
	}
}

static void leave(struct wmk_relay_peer *peer)
{
	struct wmk_peers *peers = peer->peers;
	struct wmk_relay_peer **at = &peers->first;

	pthread_mutex_lock(&peers->lock);
	while (*at != peer)
		at = &(*at)->next;
	*at = peer->next;
	pthread_mutex_unlock(&peers->lock);
	/* From here, no other thread uses the socket, because the peer is not in a list and does not own the trace. */
	wmk_link_close(peer->link);
	wmk_relay_out_free(&peer->ingest.out);
	wmk_relay_in_free(&peer->in);
	pthread_mutex_lock(&peers->lock);
	peers->n--;
	if (!peer->ingest.greeted)
		peers->n_greeting--;
	pthread_cond_broadcast(&peers->ended);
	pthread_mutex_unlock(&peers->lock);
	free(peer);
}

static void *run(void *data)
{
	struct wmk_relay_peer *peer = data;
	char text[WMK_RELAY_MESSAGE_MAX];
	int err = serve(peer);

	if (err < 0 && wmk_error_get(0))
		report(peer, wmk_error_text(text, sizeof(text)));
	wmk_error_clear();
	wmk_ingest_end(&peer->ingest);
	send_last(peer);
	leave(peer);
	return NULL;
}

int wmk_peer_start(struct wmk_peers *peers, int socket, bool tls)
{
	struct wmk_relay_peer *peer = calloc(1, sizeof(*peer));
	pthread_attr_t attr;
	pthread_t thread;
	int err;

	if (!peer) {
		close(socket);
		return wmk_error(-ENOMEM, "no memory for a connection");
	}
	peer->peers = peers;
	peer->tls = tls;
	peer->socket = socket;
	store_address(peer);
	peer->certificates = atomic_load_explicit(&peers->certificates, memory_order_relaxed);
	peer->ingest = (struct wmk_ingest){ .relay = &peers->relay, .cut = cut, .report = report,
					     .data = peer };
	err = wmk_link_open(socket, tls ? peers->tls : NULL, NULL, &peer->link);
	if (err < 0) {
		free(peer);
		return err;
	}
	pthread_mutex_lock(&peers->lock);
	peer->next = peers->first;
	peers->first = peer;
	peers->n++;
	peers->n_greeting++;
	pthread_mutex_unlock(&peers->lock);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	err = -wmk_thread_create(&thread, &attr, run, peer);
	pthread_attr_destroy(&attr);
	if (err < 0) {
		leave(peer);
		return wmk_error(err, "cannot start the thread of a connection");
	}
	return 0;
}

void wmk_peers_end(struct wmk_peers *peers)
{
	pthread_mutex_lock(&peers->lock);
	for (const struct wmk_relay_peer *peer = peers->first; peer; peer = peer->next)
		shutdown(peer->socket, SHUT_RDWR);
	while (peers->n)
		pthread_cond_wait(&peers->ended, &peers->lock);
	pthread_mutex_unlock(&peers->lock);
}
