/* SPDX-License-Identifier: MIT */
/*
 * link.c - a byte stream to a peer; link.h describes it.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "net/certificates.h"
#include "net/link.h"
#include "net/tls_state.h"

#define READ_BYTES (64u << 10)         /* that one system call receives with TLS */

struct wmk_link {
	int socket;
	short events;
	bool is_open;                  /* the handshake is complete */
	struct wmk_tls *tls;           /* NULL: plain TCP */
	SSL *ssl;
	bool more;                     /* another TLS record follows at once */
	/* the next read returns this error, which followed received bytes; 0: none */
	int failed;
	struct wmk_error_chain *cause;
	char peer[WMK_PEER_NAME_MAX], role[WMK_PEER_NAME_MAX];
};

/* ── open and close ──────────────────────────────────────────────────────────────────────────────────── */

/* Require that the certificate of the server has this name or this address. */
static int expect_server(SSL *ssl, const char *server)
{
	X509_VERIFY_PARAM *param = SSL_get0_param(ssl);
	unsigned char address[16];
	char name[256];

	if (inet_pton(AF_INET, server, address) == 1 || inet_pton(AF_INET6, server, address) == 1)
		return X509_VERIFY_PARAM_set1_ip_asc(param, server) == 1 ? 0 : -EINVAL;
	X509_VERIFY_PARAM_set_hostflags(param, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
	/* The macro SSL_set_tlsext_host_name() casts its argument to a pointer type without the qualifier const. */
	if (snprintf(name, sizeof(name), "%s", server) >= (int)sizeof(name))
		return -EINVAL;
	return SSL_set1_host(ssl, server) == 1 && SSL_set_tlsext_host_name(ssl, name) == 1 ? 0 : -EINVAL;
}

static int open_tls(struct wmk_link *link, const char *server)
{
	link->ssl = SSL_new(link->tls->context);
	if (!link->ssl || SSL_set_fd(link->ssl, link->socket) != 1)
		return wmk_tls_error(-ENOMEM, "cannot begin TLS");
	if (link->tls->is_server) {
		SSL_set_accept_state(link->ssl);
		return 0;
	}
	SSL_set_connect_state(link->ssl);
	if (!server || expect_server(link->ssl, server) < 0)
		return wmk_tls_error(-EINVAL, "\"%.100s\" is not the name or address of a relay", server ? server : "");
	return 0;
}

int wmk_link_open(int socket, struct wmk_tls *tls, const char *server, struct wmk_link **link)
{
	struct wmk_link *new = calloc(1, sizeof(*new));
	const int flags = fcntl(socket, F_GETFL), one = 1;
	int err = 0;

	if (!new || flags < 0 || fcntl(socket, F_SETFL, flags | O_NONBLOCK) < 0) {
		err = wmk_error(new ? -errno : -ENOMEM, "cannot use the connection");
		free(new);
		close(socket);
		return err;
	}
	*new = (struct wmk_link){ .socket = socket, .events = POLLIN, .tls = tls };
	/*
	 * An error is ignored, because a socket without the option TCP_NODELAY (for example from socketpair()) never
	 * delays data.
	 */
	setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (tls)
		err = open_tls(new, server);
	if (err < 0) {
		wmk_link_close(new);
		return err;
	}
	new->is_open = !tls;
	*link = new;
	return 0;
}

void wmk_link_close(struct wmk_link *link)
{
	if (!link)
		return;
	if (link->ssl && link->is_open)
		SSL_shutdown(link->ssl);
	SSL_free(link->ssl);
	ERR_clear_error();
	wmk_error_drop(link->cause);
	close(link->socket);
	free(link);
}

/* ── output of TLS ───────────────────────────────────────────────────────────────────────────────────── */

/*
 * The end of the TLS layer. OpenSSL passes one record of 16 kB at a time. MSG_MORE lets the kernel send several records
 * together, so the peer wakes up less often.
 */
static int output_write(BIO *bio, const char *data, size_t size, size_t *written)
{
	const struct wmk_link *link = BIO_get_data(bio);
	ssize_t sent;

	BIO_clear_retry_flags(bio);
	do
		sent = send(link->socket, data, size, MSG_NOSIGNAL | (link->more ? MSG_MORE : 0));
	while (sent < 0 && errno == EINTR);
	if (sent < 0 && errno == EAGAIN)
		BIO_set_retry_write(bio);
	*written = sent < 0 ? 0 : (size_t)sent;
	return sent >= 0;
}

static long output_control(BIO *bio, int command, long number, void *data)
{
	(void)bio;
	(void)number;
	(void)data;
	return command == BIO_CTRL_FLUSH;
}

BIO_METHOD *wmk_link_output(void)
{
	BIO_METHOD *method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "wmk_link");

	if (method && BIO_meth_set_write_ex(method, output_write) == 1 &&
	    BIO_meth_set_ctrl(method, output_control) == 1)
		return method;
	BIO_meth_free(method);
	return NULL;
}

/*
 * Call this after the handshake: the link then reads or sends several TLS records with one system call, unless the
 * kernel does the encryption.
 */
static int use_batches(struct wmk_link *link)
{
	if (!BIO_get_ktls_recv(SSL_get_rbio(link->ssl))) {
		SSL_set_default_read_buffer_len(link->ssl, READ_BYTES);
		SSL_set_read_ahead(link->ssl, 1);
	}
	if (!BIO_get_ktls_send(SSL_get_wbio(link->ssl))) {
		BIO *bio = BIO_new(link->tls->output);

		if (!bio)
			return wmk_tls_error(-ENOMEM, "cannot begin TLS");
		BIO_set_data(bio, link);
		BIO_set_init(bio, 1);
		SSL_set0_wbio(link->ssl, bio);
	}
	return 0;
}

/* ── transfer ────────────────────────────────────────────────────────────────────────────────────────── */

/* Convert the result of a failed OpenSSL function to -errno. 0: the peer has ended the stream. */
static int tls_result(struct wmk_link *link, int result, const char *doing)
{
	const int saved = errno;

	switch (SSL_get_error(link->ssl, result)) {
	case SSL_ERROR_WANT_READ:
		link->events = POLLIN;
		return -EAGAIN;
	case SSL_ERROR_WANT_WRITE:
		link->events = POLLOUT;
		return -EAGAIN;
	case SSL_ERROR_ZERO_RETURN:
		return 0;
	case SSL_ERROR_SYSCALL:
		ERR_clear_error();
		link->is_open = false;
		return wmk_error(saved ? -saved : -ECONNRESET, "cannot %s", doing);
	default:
		link->is_open = false;
		return wmk_tls_error(-EPROTO, "cannot %s", doing);
	}
}

int wmk_link_handshake(struct wmk_link *link)
{
	int result;
	long verified;

	if (!link->ssl || link->is_open)
		return 0;
	ERR_clear_error();
	errno = 0;
	result = SSL_do_handshake(link->ssl);
	if (result == 1) {
		link->is_open = true;
		link->events = POLLIN;
		return use_batches(link);
	}
	verified = SSL_get_verify_result(link->ssl);
	result = tls_result(link, result, "complete the TLS handshake");
	if (result == 0)
		return wmk_error(-ECONNRESET, "the peer closed the connection during the TLS handshake");
	if (result != -EAGAIN && verified != X509_V_OK)
		return wmk_error(-EACCES, "the certificate of the relay is refused: %s",
				 X509_verify_cert_error_string(verified));
	return result;
}

ssize_t wmk_link_read(struct wmk_link *link, void *data, size_t size)
{
	size_t n = 0;
	ssize_t got = 0;
	int result;

	if (!link->ssl) {
		do
			got = recv(link->socket, data, size, 0);
		while (got < 0 && errno == EINTR);
		link->events = POLLIN;
		if (got >= 0)
			return got;
		return errno == EAGAIN ? -EAGAIN : wmk_error(-errno, "cannot receive");
	}
	if (link->failed) {
		wmk_error_give(link->cause);
		link->cause = NULL;
		return link->failed;
	}
	ERR_clear_error();
	errno = 0;
	/* SSL_read_ex() returns at most one TLS record. */
	do {
		result = SSL_read_ex(link->ssl, (char *)data + got, size - (size_t)got, &n);
		got += result == 1 ? (ssize_t)n : 0;
	} while (result == 1 && (size_t)got < size && SSL_has_pending(link->ssl));
	if (result == 1)
		return got;
	result = tls_result(link, result, "receive");
	if (got == 0)
		return result;
	if (result < 0 && result != -EAGAIN) {
		link->failed = result;
		link->cause = wmk_error_take();
	}
	return got;
}

ssize_t wmk_link_write(struct wmk_link *link, const void *data, size_t size)
{
	size_t n = 0;
	ssize_t sent = 0;
	int result;

	if (!link->ssl) {
		do
			sent = send(link->socket, data, size, MSG_NOSIGNAL);
		while (sent < 0 && errno == EINTR);
		link->events = POLLOUT;
		if (sent >= 0)
			return sent;
		return errno == EAGAIN ? -EAGAIN : wmk_error(-errno, "cannot send");
	}
	ERR_clear_error();
	errno = 0;
	/* SSL_write_ex() sends at most one record. */
	do {
		link->more = size - (size_t)sent > SSL3_RT_MAX_PLAIN_LENGTH;
		result = SSL_write_ex(link->ssl, (const char *)data + sent, size - (size_t)sent, &n);
		sent += result == 1 ? (ssize_t)n : 0;
	} while (result == 1 && (size_t)sent < size);
	return sent > 0 ? sent : tls_result(link, result, "send");
}

short wmk_link_events(const struct wmk_link *link)
{
	return link->events;
}

int wmk_link_socket(const struct wmk_link *link)
{
	return link->socket;
}

/* ── the certificate of the peer ─────────────────────────────────────────────────────────────────────── */

/*
 * Get the value of the attribute `nid` in the subject of a certificate. "" if the attribute is absent or repeated, or
 * if the value is too long or contains a NUL.
 */
static void subject_value(X509 *certificate, int nid, char value[static WMK_PEER_NAME_MAX])
{
	X509_NAME *subject = X509_get_subject_name(certificate);
	const int at = X509_NAME_get_index_by_NID(subject, nid, -1);
	const ASN1_STRING *found;

	*value = '\0';
	if (at < 0 || X509_NAME_get_index_by_NID(subject, nid, at) >= 0)
		return;
	found = X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at));
	if (ASN1_STRING_length(found) >= WMK_PEER_NAME_MAX ||
	    memchr(ASN1_STRING_get0_data(found), '\0', (size_t)ASN1_STRING_length(found)))
		return;
	memcpy(value, ASN1_STRING_get0_data(found), (size_t)ASN1_STRING_length(found));
	value[ASN1_STRING_length(found)] = '\0';
}

static int verify_chain(struct wmk_link *link, X509 *certificate)
{
	X509_STORE_CTX *check = X509_STORE_CTX_new();
	X509_STORE *trusted;
	int result = X509_V_ERR_OUT_OF_MEM;

	pthread_mutex_lock(&link->tls->lock);
	trusted = link->tls->trusted;
	X509_STORE_up_ref(trusted);
	pthread_mutex_unlock(&link->tls->lock);
	if (check && X509_STORE_CTX_init(check, trusted, certificate, SSL_get_peer_cert_chain(link->ssl)) == 1 &&
	    X509_STORE_CTX_set_default(check, "ssl_client") == 1) {
		X509_verify_cert(check);
		result = X509_STORE_CTX_get_error(check);
	}
	X509_STORE_CTX_free(check);
	X509_STORE_free(trusted);
	ERR_clear_error();
	if (result == X509_V_OK)
		return 0;
	return wmk_errorx(-EACCES, "the certificate \"%s\" is refused: %s (`waymark relay enroll` makes a new one)",
			  link->peer, X509_verify_cert_error_string(result));
}

int wmk_link_verify(struct wmk_link *link)
{
	X509 *certificate;
	int err;

	if (!link->ssl)
		return 0;
	certificate = SSL_get1_peer_certificate(link->ssl);
	if (!certificate)
		return wmk_errorx(-EACCES, "no certificate was presented (`waymark relay enroll` makes one)");
	subject_value(certificate, NID_commonName, link->peer);
	subject_value(certificate, NID_organizationalUnitName, link->role);
	err = verify_chain(link, certificate);
	X509_free(certificate);
	if (err == 0 && !wmk_peer_name_is_valid(link->peer))
		return wmk_errorx(-EACCES, "the certificate is refused: its CN cannot name a directory");
	return err;
}

const char *wmk_link_peer(const struct wmk_link *link)
{
	return link->ssl ? link->peer : NULL;
}

const char *wmk_link_role(const struct wmk_link *link)
{
	return link->role;
}
