/* SPDX-License-Identifier: MIT */
/* test_link.c - a link transfers bytes with and without TLS, and each end refuses an invalid peer. */
#include <errno.h>
#include <fcntl.h>
#include <openssl/ssl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "net/certificates.h"
#include "net/link.h"
#include "net/tls.h"
#include "net/tls_state.h"
#include "store/t/testdir.h"

static char dir[256];
static struct wmk_tls *relay;

static const char *in_dir(const char *name)
{
	static char path[2][400];
	static unsigned n;

	snprintf(path[++n % 2], sizeof(path[0]), "%s/%s", dir, name);
	return path[n % 2];
}

static int setup(void **state)
{
	static const char *const names[] = { "localhost", "127.0.0.1", "::1" };

	(void)state;
	testdir_make(dir);
	assert_int_equal(0, wmk_certificates_init(in_dir("relay"), names, 3));
	assert_int_equal(0, wmk_certificates_enroll(in_dir("relay"), "web1", WMK_PEER_SENDER, 30, in_dir("web1.pem")));
	assert_int_equal(0, wmk_tls_open_server(in_dir("relay"), &relay));
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	wmk_tls_close(relay);
	testdir_remove(dir);
	return 0;
}

struct pair {
	struct wmk_link *relay, *peer;
	struct wmk_tls *tls;
	int at_relay, at_peer;         /* results of the handshake */
};

/* Connect two links and run both handshakes until neither can proceed. */
static void connect_pair(struct pair *pair, const char *pem, const char *server)
{
	int sockets[2];

	*pair = (struct pair){ .at_relay = -EAGAIN, .at_peer = -EAGAIN };
	assert_int_equal(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets));
	assert_int_equal(0, pem ? wmk_tls_open_client(pem, &pair->tls) : 0);
	assert_int_equal(0, wmk_link_open(sockets[0], pem ? relay : NULL, NULL, &pair->relay));
	assert_int_equal(0, wmk_link_open(sockets[1], pair->tls, server, &pair->peer));
	for (unsigned i = 0; i < 10; i++) {
		if (pair->at_peer == -EAGAIN)
			pair->at_peer = wmk_link_handshake(pair->peer);
		/* After a refusal, the chain of causes is that of the peer. */
		if (pair->at_relay == -EAGAIN && (pair->at_peer == 0 || pair->at_peer == -EAGAIN))
			pair->at_relay = wmk_link_handshake(pair->relay);
	}
}

static void close_pair(struct pair *pair)
{
	wmk_link_close(pair->peer);
	wmk_link_close(pair->relay);
	wmk_tls_close(pair->tls);
}

/* Send a megabyte while the other end receives; neither end blocks. */
static void transfer(struct wmk_link *from, struct wmk_link *to)
{
	enum { SIZE = 1 << 20 };
	uint8_t *sent = malloc(SIZE), *got = malloc(SIZE);
	size_t n_sent = 0, n_got = 0;

	for (size_t i = 0; i < SIZE; i++)
		sent[i] = (uint8_t)(i * 31 + i / 257);
	while (n_got < SIZE) {
		ssize_t n = n_sent < SIZE ? wmk_link_write(from, sent + n_sent, SIZE - n_sent) : -EAGAIN;

		assert_true(n > 0 || n == -EAGAIN);
		n_sent += n > 0 ? (size_t)n : 0;
		n = wmk_link_read(to, got + n_got, SIZE - n_got);
		assert_true(n > 0 || n == -EAGAIN);
		n_got += n > 0 ? (size_t)n : 0;
	}
	assert_memory_equal(sent, got, SIZE);
	free(sent);
	free(got);
}

static void plain_link_transfers_bytes_without_a_peer_name(void **state)
{
	struct pair pair;
	char byte;

	(void)state;
	connect_pair(&pair, NULL, NULL);
	assert_int_equal(0, pair.at_relay);
	assert_int_equal(0, wmk_link_verify(pair.relay));
	assert_null(wmk_link_peer(pair.relay));
	assert_int_equal(-EAGAIN, wmk_link_read(pair.relay, &byte, 1));
	transfer(pair.peer, pair.relay);
	transfer(pair.relay, pair.peer);
	wmk_link_close(pair.peer);
	pair.peer = NULL;
	assert_int_equal(0, wmk_link_read(pair.relay, &byte, 1));
	assert_int_equal(-EPIPE, wmk_link_write(pair.relay, &byte, 1));
	close_pair(&pair);
}

static void tls_link_transfers_bytes_with_a_verified_peer(void **state)
{
	struct pair pair;
	char byte;

	(void)state;
	connect_pair(&pair, in_dir("web1.pem"), "localhost");
	assert_int_equal(0, pair.at_peer);
	assert_int_equal(0, pair.at_relay);
	assert_int_equal(0, wmk_link_verify(pair.relay));
	assert_string_equal("web1", wmk_link_peer(pair.relay));
	assert_string_equal("sender", wmk_link_role(pair.relay));
	transfer(pair.peer, pair.relay);
	transfer(pair.relay, pair.peer);
	wmk_link_close(pair.peer);
	pair.peer = NULL;
	assert_int_equal(0, wmk_link_read(pair.relay, &byte, 1));
	close_pair(&pair);
}

/* The reader receives all bytes before a corrupt record, then the error. */
static void bytes_before_a_corrupt_tls_record_are_received(void **state)
{
	static const uint8_t corrupt[37] = { 0x17, 3, 3, 0, 32 };
	struct pair pair;
	uint8_t bytes[100];
	char text[WMK_ERROR_LEN];
	ssize_t n;
	size_t got = 0;

	(void)state;
	connect_pair(&pair, in_dir("web1.pem"), "127.0.0.1");
	memset(bytes, 1, sizeof(bytes));
	assert_int_equal(sizeof(bytes), wmk_link_write(pair.peer, bytes, sizeof(bytes)));
	assert_int_equal(sizeof(bytes), wmk_link_write(pair.peer, bytes, sizeof(bytes)));
	assert_int_equal(sizeof(corrupt), send(wmk_link_socket(pair.peer), corrupt, sizeof(corrupt), 0));
	while ((n = wmk_link_read(pair.relay, bytes, 60)) > 0 || n == -EAGAIN)
		got += n > 0 ? (size_t)n : 0;
	assert_int_equal(2 * sizeof(bytes), got);
	assert_int_equal(-EPROTO, n);
	assert_non_null(strstr(wmk_error_text(text, sizeof(text)), "bad record mac"));
	close_pair(&pair);
}

static void peer_accepts_only_relay_addresses_of_the_certificate(void **state)
{
	static const char *const accepted[] = { "127.0.0.1", "::1" };
	static const char *const refused[] = { "127.0.0.2", "other.example" };
	struct pair pair;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		connect_pair(&pair, in_dir("web1.pem"), accepted[i]);
		assert_int_equal(0, pair.at_peer);
		close_pair(&pair);
		connect_pair(&pair, in_dir("web1.pem"), refused[i]);
		assert_int_equal(-EACCES, pair.at_peer);
		assert_non_null(strstr(wmk_error_get(0), "the certificate of the relay is refused: "));
		close_pair(&pair);
	}
}

/* The handshake succeeds, so that the relay can send its error. Then the relay refuses the peer. */
static void assert_refused(const char *pem, const char *why)
{
	struct pair pair;

	connect_pair(&pair, pem, "localhost");
	assert_int_equal(0, pair.at_relay);
	assert_int_equal(-EACCES, wmk_link_verify(pair.relay));
	assert_non_null(strstr(wmk_error_get(0), why));
	close_pair(&pair);
}

static void expired_peer_certificate_is_refused(void **state)
{
	(void)state;
	assert_int_equal(0, wmk_certificates_enroll(in_dir("relay"), "late", WMK_PEER_SENDER, -1, in_dir("late.pem")));
	assert_refused(in_dir("late.pem"), "\"late\" is refused: certificate has expired");
}

static void revoked_peer_certificate_is_refused(void **state)
{
	struct pair before;

	(void)state;
	assert_int_equal(0, wmk_certificates_enroll(in_dir("relay"), "gone", WMK_PEER_VIEWER, 30, in_dir("gone.pem")));
	assert_int_equal(0, wmk_tls_reload(relay));
	connect_pair(&before, in_dir("gone.pem"), "localhost");
	assert_int_equal(0, wmk_link_verify(before.relay));
	assert_string_equal("viewer", wmk_link_role(before.relay));
	assert_int_equal(0, wmk_certificates_revoke(in_dir("relay"), "gone"));
	assert_int_equal(1, wmk_tls_reload(relay));
	assert_int_equal(0, wmk_tls_reload(relay));
	/* A link that was accepted before is refused, too. */
	assert_int_equal(-EACCES, wmk_link_verify(before.relay));
	assert_non_null(strstr(wmk_error_get(0), "certificate revoked"));
	close_pair(&before);
	assert_refused(in_dir("gone.pem"), "certificate revoked");
	/* Another peer is still accepted. */
	connect_pair(&before, in_dir("web1.pem"), "localhost");
	assert_int_equal(0, wmk_link_verify(before.relay));
	close_pair(&before);
}

/* Put the certificate of another relay's peer in front of the authority of this relay. */
static void certificate_of_another_authority_is_refused(void **state)
{
	static const char *const names[] = { "localhost" };
	char *out, *err, command[1600];

	(void)state;
	assert_int_equal(0, wmk_certificates_init(in_dir("other"), names, 1));
	assert_int_equal(0, wmk_certificates_enroll(in_dir("other"), "web1", WMK_PEER_SENDER, 30,
						    in_dir("foreign.pem")));
	snprintf(command, sizeof(command), "cat %s/relay/ca.crt >> %s/foreign.pem", dir, dir);
	assert_int_equal(0, testdir_run(command, &out, &err));
	free(out);
	free(err);
	assert_refused(in_dir("foreign.pem"), "refused: ");
}

/*
 * Connect a client of OpenSSL that has at most this version of TLS and no certificate. Returns the result of the
 * handshake at the relay, or after success the result of the verification.
 */
static int connect_bare(int version)
{
	SSL_CTX *context = SSL_CTX_new(TLS_client_method());
	struct wmk_link *link;
	int sockets[2], result = -EAGAIN;
	SSL *ssl;

	SSL_CTX_set_max_proto_version(context, version);
	ssl = SSL_new(context);
	assert_int_equal(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, sockets));
	assert_int_equal(0, wmk_link_open(sockets[0], relay, NULL, &link));
	assert_int_equal(1, SSL_set_fd(ssl, sockets[1]));
	for (unsigned i = 0; i < 10 && result == -EAGAIN; i++) {
		SSL_connect(ssl);
		result = wmk_link_handshake(link);
	}
	if (result == 0)
		result = wmk_link_verify(link);
	wmk_link_close(link);
	close(sockets[1]);
	SSL_free(ssl);
	SSL_CTX_free(context);
	return result;
}

static void peer_without_certificate_is_refused(void **state)
{
	(void)state;
	assert_int_equal(-EACCES, connect_bare(TLS1_3_VERSION));
	assert_non_null(strstr(wmk_error_get(0), "no certificate was presented"));
}

static void tls_older_than_1_3_is_refused(void **state)
{
	(void)state;
	assert_int_equal(-EPROTO, connect_bare(TLS1_2_VERSION));
	assert_non_null(strstr(wmk_error_get(1), "protocol"));
}

static void private_key_readable_by_others_is_refused(void **state)
{
	struct wmk_tls *tls;

	(void)state;
	assert_int_equal(0, chmod(in_dir("web1.pem"), 0640));
	assert_int_equal(-EACCES, wmk_tls_open_client(in_dir("web1.pem"), &tls));
	assert_int_equal(0, chmod(in_dir("web1.pem"), 0600));
	assert_int_equal(-ENOENT, wmk_tls_open_client(in_dir("absent.pem"), &tls));
	wmk_error_clear();
}

/* Random bytes instead of a handshake are an error, never a crash. */
static void bytes_that_are_not_tls_are_refused(void **state)
{
	static const char request[] = "GET / HTTP/1.1\r\nHost: relay\r\n\r\n";
	struct wmk_link *link;
	int sockets[2];

	(void)state;
	assert_int_equal(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets));
	assert_int_equal(0, wmk_link_open(sockets[0], relay, NULL, &link));
	assert_int_equal(sizeof(request) - 1, write(sockets[1], request, sizeof(request) - 1));
	assert_int_equal(-EPROTO, wmk_link_handshake(link));
	wmk_link_close(link);
	close(sockets[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_link_transfers_bytes_without_a_peer_name),
		cmocka_unit_test(tls_link_transfers_bytes_with_a_verified_peer),
		cmocka_unit_test(bytes_before_a_corrupt_tls_record_are_received),
		cmocka_unit_test(peer_accepts_only_relay_addresses_of_the_certificate),
		cmocka_unit_test(expired_peer_certificate_is_refused),
		cmocka_unit_test(revoked_peer_certificate_is_refused),
		cmocka_unit_test(certificate_of_another_authority_is_refused),
		cmocka_unit_test(peer_without_certificate_is_refused),
		cmocka_unit_test(tls_older_than_1_3_is_refused),
		cmocka_unit_test(private_key_readable_by_others_is_refused),
		cmocka_unit_test(bytes_that_are_not_tls_are_refused),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, setup, teardown);
}
