/* SPDX-License-Identifier: MIT */
/*
 * tls_state.h - the contents of struct wmk_tls, for tls.c and link.c, and errors of OpenSSL as a cause chain.
 */
#ifndef WMK_NET_TLS_STATE_H
#define WMK_NET_TLS_STATE_H

#include <openssl/ssl.h>
#include <pthread.h>
#include <stdbool.h>
#include <time.h>

struct wmk_tls {
	SSL_CTX *context;
	BIO_METHOD *output;            /* of wmk_link_output() */
	bool is_server;
	char own_name[64];             /* CN of the own certificate */
	pthread_mutex_t lock;          /* of the members below; only a server changes them */
	X509_STORE *trusted;           /* the current authority and revoked certificates */
	char *directory;
	struct timespec read_at[2];    /* the times of the files ca.crt and revoked.crl */
};

/* Like wmk_error(), but adds the first error in OpenSSL's error queue of this thread. Clears the queue. */
int wmk_tls_error(int err, const char *format, ...) __attribute__((format(printf, 2, 3), cold));
/* link.c: the output of links with TLS, for BIO_new(). NULL: no memory. The caller calls BIO_meth_free(). */
BIO_METHOD *wmk_link_output(void);

#endif
