/* SPDX-License-Identifier: MIT */
/*
 * tls.c - keys and certificates of one end of a link; tls.h describes them.
 */
#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "net/tls.h"
#include "net/tls_state.h"

/* Both ends use the first cipher in this list that both ends support. AES with 128-bit keys uses the least CPU time. */
#define CIPHERS "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256"

int wmk_tls_error(int err, const char *format, ...)
{
	const unsigned long first = ERR_get_error();
	char text[WMK_ERROR_LEN];
	va_list list;

	va_start(list, format);
	vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	ERR_clear_error();
	if (!first)
		return wmk_error(err, "%s", text);
	wmk_errorx(err, "%s", ERR_reason_error_string(first) ? ERR_reason_error_string(first) : "error of OpenSSL");
	return wmk_error_add(err, "%s", text);
}

/* During the handshake, the server accepts every certificate. wmk_link_verify() then checks the certificate. */
static int accept_any(int is_valid, X509_STORE_CTX *check)
{
	(void)is_valid;
	(void)check;
	return 1;
}

static struct wmk_tls *new_tls(bool is_server)
{
	struct wmk_tls *tls = calloc(1, sizeof(*tls));

	if (!tls)
		return NULL;
	pthread_mutex_init(&tls->lock, NULL);
	tls->is_server = is_server;
	tls->context = SSL_CTX_new(is_server ? TLS_server_method() : TLS_client_method());
	tls->output = wmk_link_output();
	if (!tls->context || !tls->output || SSL_CTX_set_min_proto_version(tls->context, TLS1_3_VERSION) != 1 ||
	    SSL_CTX_set_ciphersuites(tls->context, CIPHERS) != 1) {
		wmk_tls_close(tls);
		return NULL;
	}
	SSL_CTX_set_mode(tls->context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
					       SSL_MODE_RELEASE_BUFFERS);
	SSL_CTX_set_options(tls->context, SSL_OP_ENABLE_KTLS | SSL_OP_NO_RENEGOTIATION);
	/* TLS session resumption is disabled, because a resuming peer would not present its certificate again. */
	SSL_CTX_set_session_cache_mode(tls->context, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_num_tickets(tls->context, 0);
	return tls;
}

void wmk_tls_close(struct wmk_tls *tls)
{
	if (!tls)
		return;
	SSL_CTX_free(tls->context);
	BIO_meth_free(tls->output);
	X509_STORE_free(tls->trusted);
	free(tls->directory);
	pthread_mutex_destroy(&tls->lock);
	free(tls);
}

/* Fail if the file does not exist, or if another user can read the private key in the file. */
static int check_key_file(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return wmk_error(-errno, "cannot read %s", path);
	if (st.st_mode & (S_IRWXG | S_IRWXO))
		return wmk_errorx(-EACCES, "other users can read the key in %s (chmod 600 %s)", path, path);
	return 0;
}

static int use_key(struct wmk_tls *tls, const char *certificate, const char *key)
{
	int err = check_key_file(key);

	if (err < 0)
		return err;
	if (SSL_CTX_use_certificate_chain_file(tls->context, certificate) != 1)
		return wmk_tls_error(-EINVAL, "cannot use the certificate in %s", certificate);
	if (SSL_CTX_use_PrivateKey_file(tls->context, key, SSL_FILETYPE_PEM) != 1)
		return wmk_tls_error(-EINVAL, "cannot use the key in %s", key);
	if (SSL_CTX_check_private_key(tls->context) != 1)
		return wmk_tls_error(-EINVAL, "the certificate in %s does not match the key in %s", certificate, key);
	return 0;
}

/* ── the relay ───────────────────────────────────────────────────────────────────────────────────────── */

static int read_revoked(X509_STORE *trusted, const char *path)
{
	FILE *file = fopen(path, "re");
	X509_CRL *revoked;
	int err = 0;

	if (!file && errno == ENOENT)
		return 0;
	if (!file)
		return wmk_error(-errno, "cannot read %s", path);
	revoked = PEM_read_X509_CRL(file, NULL, NULL, NULL);
	fclose(file);
	if (!revoked || X509_STORE_add_crl(trusted, revoked) != 1)
		err = wmk_tls_error(-EINVAL, "cannot use the list of revoked certificates in %s", path);
	else
		X509_STORE_set_flags(trusted, X509_V_FLAG_CRL_CHECK);
	X509_CRL_free(revoked);
	return err;
}

static int read_trusted(const char *directory, X509_STORE **trusted)
{
	X509_STORE *new = X509_STORE_new();
	char path[4096];
	int err = 0;

	snprintf(path, sizeof(path), "%s/ca.crt", directory);
	if (!new || X509_STORE_load_file(new, path) != 1)
		err = wmk_tls_error(-EINVAL, "cannot use the certificate authority in %s", path);
	snprintf(path, sizeof(path), "%s/revoked.crl", directory);
	if (err == 0)
		err = read_revoked(new, path);
	if (err < 0)
		X509_STORE_free(new);
	else
		*trusted = new;
	return err;
}

static void times_of(const char *directory, struct timespec times[static 2])
{
	static const char *const names[2] = { "ca.crt", "revoked.crl" };
	char path[4096];
	struct stat st;

	for (size_t i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/%s", directory, names[i]);
		times[i] = stat(path, &st) == 0 ? st.st_mtim : (struct timespec){ 0 };
	}
}

int wmk_tls_reload(struct wmk_tls *tls)
{
	struct timespec now[2];
	X509_STORE *trusted, *former;
	int err;

	times_of(tls->directory, now);
	if (memcmp(now, tls->read_at, sizeof(now)) == 0)
		return 0;
	err = read_trusted(tls->directory, &trusted);
	if (err < 0)
		return err;
	pthread_mutex_lock(&tls->lock);
	former = tls->trusted;
	tls->trusted = trusted;
	memcpy(tls->read_at, now, sizeof(now));
	pthread_mutex_unlock(&tls->lock);
	X509_STORE_free(former);
	return 1;
}

int wmk_tls_open_server(const char *directory, struct wmk_tls **tls)
{
	struct wmk_tls *new = new_tls(true);
	char certificate[4096], key[4096];
	int err;

	if (!new)
		return wmk_tls_error(-ENOMEM, "cannot begin TLS");
	snprintf(certificate, sizeof(certificate), "%s/server.crt", directory);
	snprintf(key, sizeof(key), "%s/server.key", directory);
	SSL_CTX_set_verify(new->context, SSL_VERIFY_PEER, accept_any);
	new->directory = strdup(directory);
	err = new->directory ? use_key(new, certificate, key) : -ENOMEM;
	if (err == 0)
		err = wmk_tls_reload(new);
	if (err < 0) {
		wmk_tls_close(new);
		return wmk_error_add(err, "cannot use the certificates of the relay (`waymark relay init` makes them)");
	}
	*tls = new;
	return 0;
}

/* ── a peer ──────────────────────────────────────────────────────────────────────────────────────────── */

const char *wmk_tls_own_name(const struct wmk_tls *tls)
{
	return tls->own_name;
}

int wmk_tls_open_client(const char *file, struct wmk_tls **tls)
{
	struct wmk_tls *new = new_tls(false);
	int err;

	if (!new)
		return wmk_tls_error(-ENOMEM, "cannot begin TLS");
	SSL_CTX_set_verify(new->context, SSL_VERIFY_PEER, NULL);
	err = use_key(new, file, file);
	if (err == 0 && SSL_CTX_load_verify_file(new->context, file) != 1)
		err = wmk_tls_error(-EINVAL, "cannot use the certificate authority in %s", file);
	if (err < 0) {
		wmk_tls_close(new);
		return wmk_error_add(err, "cannot use the certificate of this machine "
					  "(`waymark relay enroll` on the relay makes one)");
	}
	X509_NAME_get_text_by_NID(X509_get_subject_name(SSL_CTX_get0_certificate(new->context)), NID_commonName,
				  new->own_name, sizeof(new->own_name));
	*tls = new;
	return 0;
}
