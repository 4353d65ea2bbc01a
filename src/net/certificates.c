/* SPDX-License-Identifier: MIT */
/*
 * certificates.c - the certificate authority of a relay; certificates.h describes its files.
 *
 * The CN of a certificate is the name of a peer, and the OU is the role of this peer. Formats: RFC 5280 (certificates,
 * lists of revoked certificates), RFC 7468 (PEM).
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "net/certificates.h"
#include "net/tls_state.h"

#define AUTHORITY_DAYS 7300
#define SERVER_DAYS 3650
#define DAY_S 86400L

static const char *const role_names[] = { [WMK_PEER_SENDER] = "sender", [WMK_PEER_VIEWER] = "viewer" };

/* ── files ───────────────────────────────────────────────────────────────────────────────────────────── */

/*
 * The parts of a PEM file; the file has the parts in this order. A pointer is NULL if the file does not have this part.
 */
struct pem {
	EVP_PKEY *key;
	X509 *certificate, *authority;
	X509_CRL *revoked;
};

static bool write_parts(FILE *file, const struct pem *pem)
{
	return (!pem->key || PEM_write_PrivateKey(file, pem->key, NULL, NULL, 0, NULL, NULL) == 1) &&
	       (!pem->certificate || PEM_write_X509(file, pem->certificate) == 1) &&
	       (!pem->authority || PEM_write_X509(file, pem->authority) == 1) &&
	       (!pem->revoked || PEM_write_X509_CRL(file, pem->revoked) == 1) && fflush(file) == 0 &&
	       fsync(fileno(file)) == 0;
}

/* Create a new file. The file of a private key has mode 0600 from its creation. */
static int write_new(const char *path, const struct pem *pem)
{
	const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, pem->key ? 0600 : 0644);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
	bool is_written;

	if (!file) {
		const int err = -errno;

		if (fd >= 0)
			close(fd);
		return wmk_error(err, "cannot create %s", path);
	}
	is_written = write_parts(file, pem);
	if (fclose(file) == 0 && is_written)
		return 0;
	unlink(path);
	return wmk_tls_error(-EIO, "cannot write %s", path);
}

static int path_in(char path[static PATH_MAX], const char *directory, const char *folder, const char *name,
		   const char *suffix)
{
	const int len = snprintf(path, PATH_MAX, "%s/%s%s%s", directory, folder, name, suffix);

	return len < PATH_MAX ? 0 : wmk_error(-ENAMETOOLONG, "the path of %s is too long", name);
}

/* Write a new file, which replaces an existing file of the same name. */
static int replace(const char *path, const struct pem *pem)
{
	char new[PATH_MAX];
	int err;

	if (snprintf(new, sizeof(new), "%s.new", path) >= (int)sizeof(new))
		return wmk_error(-ENAMETOOLONG, "the path of %s is too long", path);
	unlink(new);
	err = write_new(new, pem);
	if (err < 0)
		return err;
	return rename(new, path) == 0 ? 0 : wmk_error(-errno, "cannot replace %s", path);
}

static X509 *read_certificate(const char *path)
{
	FILE *file = fopen(path, "re");
	X509 *certificate = file ? PEM_read_X509(file, NULL, NULL, NULL) : NULL;

	if (!file)
		wmk_error(-errno, "cannot read %s", path);
	else if (!certificate)
		wmk_tls_error(-EINVAL, "cannot read a certificate from %s", path);
	if (file)
		fclose(file);
	return certificate;
}

static EVP_PKEY *read_key(const char *path)
{
	FILE *file = fopen(path, "re");
	EVP_PKEY *key = file ? PEM_read_PrivateKey(file, NULL, NULL, NULL) : NULL;

	if (!file)
		wmk_error(-errno, "cannot read %s", path);
	else if (!key)
		wmk_tls_error(-EINVAL, "cannot read a key from %s", path);
	if (file)
		fclose(file);
	return key;
}

/* ── certificates ────────────────────────────────────────────────────────────────────────────────────── */

struct authority {
	EVP_PKEY *key;
	X509 *certificate;
	int lock;                      /* only one command at a time changes the directory */
};

static bool add_extension(X509 *certificate, X509 *issuer, int nid, const char *value)
{
	X509V3_CTX context;
	X509_EXTENSION *extension;
	bool is_added;

	X509V3_set_ctx_nodb(&context);
	X509V3_set_ctx(&context, issuer, certificate, NULL, NULL, 0);
	extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
	is_added = extension && X509_add_ext(certificate, extension, -1) == 1;
	X509_EXTENSION_free(extension);
	return is_added;
}

static bool set_serial(X509 *certificate)
{
	BIGNUM *random = BN_new();
	const bool is_set = random && BN_rand(random, 127, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) == 1 &&
			    BN_to_ASN1_INTEGER(random, X509_get_serialNumber(certificate));

	BN_free(random);
	return is_set;
}

static bool add_name(X509_NAME *name, const char *type, const char *value)
{
	return X509_NAME_add_entry_by_txt(name, type, MBSTRING_UTF8, (const unsigned char *)value, -1, -1, 0) == 1;
}

/*
 * A certificate without signature. The certificate is valid from one minute before the current time, because the clock
 * of a peer may be behind.
 */
static X509 *new_certificate(EVP_PKEY *key, const char *name, const char *role, int days)
{
	X509 *new = X509_new();
	X509_NAME *subject = new ? X509_get_subject_name(new) : NULL;
	const long from = days < 0 ? days * DAY_S - DAY_S : -60;

	if (new && X509_set_version(new, X509_VERSION_3) == 1 && set_serial(new) &&
	    X509_gmtime_adj(X509_getm_notBefore(new), from) && X509_gmtime_adj(X509_getm_notAfter(new), days * DAY_S) &&
	    X509_set_pubkey(new, key) == 1 && (!role || add_name(subject, "OU", role)) && add_name(subject, "CN", name))
		return new;
	X509_free(new);
	return NULL;
}

static bool sign(X509 *certificate, X509 *issuer, EVP_PKEY *key)
{
	return X509_set_issuer_name(certificate, X509_get_subject_name(issuer)) == 1 &&
	       X509_sign(certificate, key, EVP_sha256()) > 0;
}

/* Add the extensions that RFC 5280 requires in a certificate that is not an authority, and sign the certificate. */
static bool finish(X509 *certificate, const char *purpose, const struct authority *authority)
{
	return add_extension(certificate, authority->certificate, NID_key_usage, "critical,digitalSignature") &&
	       add_extension(certificate, authority->certificate, NID_ext_key_usage, purpose) &&
	       add_extension(certificate, authority->certificate, NID_subject_key_identifier, "hash") &&
	       add_extension(certificate, authority->certificate, NID_authority_key_identifier, "keyid") &&
	       sign(certificate, authority->certificate, authority->key);
}

static bool is_address(const char *name)
{
	unsigned char address[16];

	return inet_pton(AF_INET, name, address) == 1 || inet_pton(AF_INET6, name, address) == 1;
}

/* "DNS:relay,IP:192.0.2.1", malloc'd. NULL means that a name has invalid characters, or that memory is exhausted. */
static char *alternative_names(const char *const names[], size_t n)
{
	size_t size = 1;
	char *list = NULL;

	for (size_t i = 0; i < n; i++) {
		if (!*names[i] || strpbrk(names[i], ", \t\n\"\\") || (strchr(names[i], ':') && !is_address(names[i])))
			return NULL;
		size += strlen(names[i]) + sizeof("DNS:,");
	}
	list = calloc(1, size);
	for (size_t i = 0; list && i < n; i++)
		snprintf(list + strlen(list), size - strlen(list), "%s%s:%s", i ? "," : "",
			 is_address(names[i]) ? "IP" : "DNS", names[i]);
	return list;
}

/* ── init ────────────────────────────────────────────────────────────────────────────────────────────── */

static void close_authority(struct authority *authority)
{
	EVP_PKEY_free(authority->key);
	X509_free(authority->certificate);
	if (authority->lock >= 0)
		close(authority->lock);
}

static int make_authority(const char *directory, struct authority *authority)
{
	char certificate[PATH_MAX], key[PATH_MAX];
	int err = path_in(certificate, directory, "", "ca", ".crt");

	if (err == 0)
		err = path_in(key, directory, "", "ca", ".key");
	if (err < 0)
		return err;
	authority->key = EVP_EC_gen("P-256");
	authority->certificate =
		authority->key ? new_certificate(authority->key, "Waymark relay", NULL, AUTHORITY_DAYS) : NULL;
	if (!authority->certificate ||
	    !add_extension(authority->certificate, authority->certificate, NID_basic_constraints,
			   "critical,CA:TRUE,pathlen:0") ||
	    !add_extension(authority->certificate, authority->certificate, NID_key_usage,
			   "critical,keyCertSign,cRLSign") ||
	    !add_extension(authority->certificate, authority->certificate, NID_subject_key_identifier, "hash") ||
	    !sign(authority->certificate, authority->certificate, authority->key))
		return wmk_tls_error(-ENOMEM, "cannot make the authority");
	err = write_new(key, &(struct pem){ .key = authority->key });
	return err < 0 ? err : write_new(certificate, &(struct pem){ .certificate = authority->certificate });
}

static int make_server(const char *directory, const struct authority *authority, const char *names)
{
	char certificate_path[PATH_MAX], key_path[PATH_MAX];
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *certificate = key ? new_certificate(key, "Waymark relay server", NULL, SERVER_DAYS) : NULL;
	int err = path_in(certificate_path, directory, "", "server", ".crt");

	if (err == 0)
		err = path_in(key_path, directory, "", "server", ".key");
	if (err == 0 && (!certificate ||
			 !add_extension(certificate, authority->certificate, NID_subject_alt_name, names) ||
			 !finish(certificate, "serverAuth", authority)))
		err = wmk_tls_error(-ENOMEM, "cannot make the certificate of the relay");
	if (err == 0)
		err = write_new(key_path, &(struct pem){ .key = key });
	if (err == 0)
		err = write_new(certificate_path, &(struct pem){ .certificate = certificate });
	X509_free(certificate);
	EVP_PKEY_free(key);
	return err;
}

/* Create a directory and its missing parents. */
static int make_directories(const char *directory)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s", directory) >= (int)sizeof(path))
		return wmk_error(-ENAMETOOLONG, "the path of the relay's certificates is too long");
	for (char *end = strchr(path + 1, '/'); end; end = strchr(end + 1, '/')) {
		*end = '\0';
		if (mkdir(path, 0755) < 0 && errno != EEXIST)
			return wmk_error(-errno, "cannot create %s", path);
		*end = '/';
	}
	return mkdir(path, 0700) == 0 || errno == EEXIST ? 0 : wmk_error(-errno, "cannot create %s", path);
}

int wmk_certificates_init(const char *directory, const char *const names[], size_t n)
{
	struct authority authority = { .lock = -1 };
	char peers[PATH_MAX], *list = alternative_names(names, n);
	int err;

	if (!list)
		return wmk_errorx(-EINVAL, "the certificate of the relay cannot contain these names (give names of "
				  "machines or IP addresses)");
	err = make_directories(directory);
	if (err == 0)
		err = path_in(peers, directory, "", "peers", "");
	if (err == 0 && mkdir(peers, 0700) < 0 && errno != EEXIST)
		err = wmk_error(-errno, "cannot create %s", peers);
	if (err == 0)
		err = make_authority(directory, &authority);
	if (err == 0)
		err = make_server(directory, &authority, list);
	close_authority(&authority);
	free(list);
	return err;
}

/* ── enroll and revoke ───────────────────────────────────────────────────────────────────────────────── */

static int open_authority(const char *directory, struct authority *authority)
{
	char path[PATH_MAX];
	int err = path_in(path, directory, "", "ca", ".key");

	*authority = (struct authority){ .lock = -1 };
	if (err < 0)
		return err;
	authority->lock = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (authority->lock < 0 || flock(authority->lock, LOCK_EX) < 0)
		wmk_error(-errno, "cannot lock %s", directory);
	else
		authority->key = read_key(path);
	if (authority->key && path_in(path, directory, "", "ca", ".crt") == 0)
		authority->certificate = read_certificate(path);
	if (authority->certificate)
		return 0;
	return wmk_error_add(-ENOENT, "cannot use the certificate authority of the relay (`waymark relay init` "
				      "makes it)");
}

static int enroll(const char *directory, const struct authority *authority, const char *name, enum wmk_peer_role role,
		  int days, const char *output)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *certificate = key ? new_certificate(key, name, role_names[role], days) : NULL;
	char path[PATH_MAX];
	int err = path_in(path, directory, "peers/", name, ".crt");

	if (err == 0 && (!certificate || !finish(certificate, "clientAuth", authority)))
		err = wmk_tls_error(-ENOMEM, "cannot make the certificate");
	if (err == 0)
		err = write_new(output, &(struct pem){ .key = key, .certificate = certificate,
						       .authority = authority->certificate });
	if (err == 0) {
		err = replace(path, &(struct pem){ .certificate = certificate });
		if (err < 0)
			unlink(output);
	}
	X509_free(certificate);
	EVP_PKEY_free(key);
	return err;
}

static bool is_expired(const X509 *certificate)
{
	return X509_cmp_current_time(X509_get0_notAfter(certificate)) < 0;
}

int wmk_certificates_enroll(const char *directory, const char *name, enum wmk_peer_role role, int days,
			    const char *output)
{
	struct authority authority;
	char path[PATH_MAX];
	X509 *former = NULL;
	int err;

	if (!wmk_peer_name_is_valid(name))
		return wmk_errorx(-EINVAL, "\"%.100s\" cannot be the name of a peer (1 to 63 letters, digits, '-', "
				  "'_' and '.'; the first is a letter, a digit or '_')", name);
	err = open_authority(directory, &authority);
	if (err == 0)
		err = path_in(path, directory, "peers/", name, ".crt");
	if (err == 0 && access(path, F_OK) == 0)
		former = read_certificate(path);
	if (former && !is_expired(former))
		err = wmk_errorx(-EEXIST, "%s has a certificate already (revoke it first)", name);
	if (err == 0)
		err = enroll(directory, &authority, name, role, days, output);
	X509_free(former);
	close_authority(&authority);
	return err;
}

/* Return the list of revoked certificates after adding this certificate. */
static X509_CRL *extend_revoked(const char *path, const struct authority *authority, X509 *certificate)
{
	FILE *file = fopen(path, "re");
	X509_CRL *list = file ? PEM_read_X509_CRL(file, NULL, NULL, NULL) : X509_CRL_new();
	X509_REVOKED *entry = X509_REVOKED_new();
	ASN1_TIME *now = X509_gmtime_adj(NULL, 0), *next = X509_gmtime_adj(NULL, AUTHORITY_DAYS * DAY_S);

	if (file)
		fclose(file);
	/* X509_CRL_add0_revoked() takes ownership of the entry. */
	if (list && entry && now && next && X509_CRL_set_version(list, X509_CRL_VERSION_2) == 1 &&
	    X509_CRL_set_issuer_name(list, X509_get_subject_name(authority->certificate)) == 1 &&
	    X509_CRL_set1_lastUpdate(list, now) == 1 && X509_CRL_set1_nextUpdate(list, next) == 1 &&
	    X509_REVOKED_set_serialNumber(entry, X509_get_serialNumber(certificate)) == 1 &&
	    X509_REVOKED_set_revocationDate(entry, now) == 1 && X509_CRL_add0_revoked(list, entry) == 1) {
		entry = NULL;
		if (X509_CRL_sort(list) == 1 && X509_CRL_sign(list, authority->key, EVP_sha256()) > 0)
			goto done;
	}
	X509_CRL_free(list);
	list = NULL;
done:
	X509_REVOKED_free(entry);
	ASN1_TIME_free(now);
	ASN1_TIME_free(next);
	return list;
}

int wmk_certificates_revoke(const char *directory, const char *name)
{
	struct authority authority;
	char peer[PATH_MAX], path[PATH_MAX];
	X509 *certificate = NULL;
	X509_CRL *list = NULL;
	int err;

	if (!wmk_peer_name_is_valid(name))
		return wmk_errorx(-EINVAL, "\"%.100s\" cannot be the name of a peer", name);
	err = open_authority(directory, &authority);
	if (err == 0)
		err = path_in(peer, directory, "peers/", name, ".crt");
	if (err == 0)
		err = path_in(path, directory, "", "revoked", ".crl");
	if (err == 0 && access(peer, F_OK) < 0)
		err = wmk_errorx(-ENOENT, "%s has no certificate (`waymark relay status` lists all)", name);
	if (err == 0)
		certificate = read_certificate(peer);
	if (err == 0)
		list = certificate ? extend_revoked(path, &authority, certificate) : NULL;
	if (err == 0 && !list)
		err = wmk_tls_error(-EINVAL, "cannot revoke the certificate of %s", name);
	if (err == 0)
		err = replace(path, &(struct pem){ .revoked = list });
	if (err == 0 && unlink(peer) < 0)
		err = wmk_error(-errno, "cannot remove %s", peer);
	X509_free(certificate);
	X509_CRL_free(list);
	close_authority(&authority);
	return err;
}

/* ── list ────────────────────────────────────────────────────────────────────────────────────────────── */

static int is_certificate(const struct dirent *entry)
{
	const size_t len = strlen(entry->d_name);

	return len > 4 && len - 4 < WMK_PEER_NAME_MAX && strcmp(entry->d_name + len - 4, ".crt") == 0;
}

static enum wmk_peer_role role_of(X509 *certificate)
{
	char role[16] = "";

	X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_organizationalUnitName, role, sizeof(role));
	return strcmp(role, role_names[WMK_PEER_VIEWER]) == 0 ? WMK_PEER_VIEWER : WMK_PEER_SENDER;
}

static int describe(const char *folder, const char *file, struct wmk_peer_certificate *peer)
{
	char path[PATH_MAX];
	X509 *certificate;
	struct tm until;
	int err = path_in(path, folder, "", file, "");

	if (err < 0)
		return err;
	certificate = read_certificate(path);
	if (!certificate)
		return -EINVAL;
	if (ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &until) != 1) {
		X509_free(certificate);
		return wmk_tls_error(-EINVAL, "cannot read a certificate from %s", path);
	}
	snprintf(peer->name, sizeof(peer->name), "%.*s", (int)strlen(file) - 4, file);
	peer->role = role_of(certificate);
	peer->not_after = timegm(&until);
	X509_free(certificate);
	return 0;
}

int wmk_certificates_each(const char *directory, int (*one)(void *data, const struct wmk_peer_certificate *peer),
			  void *data)
{
	struct dirent **entries = NULL;
	char folder[PATH_MAX];
	int err = path_in(folder, directory, "", "peers", ""), n;

	if (err < 0)
		return err;
	n = scandir(folder, &entries, is_certificate, alphasort);
	if (n < 0)
		return wmk_error(-errno, "cannot read %s (`waymark relay init` makes it)", folder);
	for (int i = 0; i < n; i++) {
		struct wmk_peer_certificate peer;

		if (err == 0)
			err = describe(folder, entries[i]->d_name, &peer);
		if (err == 0)
			err = one(data, &peer);
		free(entries[i]);
	}
	free(entries);
	return err;
}
