/* SPDX-License-Identifier: MIT */
/* test_certificates.c - keys are private, names are checked, and no file is replaced without a command for it. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "net/certificates.h"
#include "store/t/testdir.h"

static char dir[256];

static const char *in_dir(const char *name)
{
	static char path[2][400];
	static unsigned n;

	snprintf(path[++n % 2], sizeof(path[0]), "%s/%s", dir, name);
	return path[n % 2];
}

static int setup(void **state)
{
	static const char *const names[] = { "relay.example", "192.0.2.1" };

	(void)state;
	testdir_make(dir);
	return wmk_certificates_init(in_dir("a/b/relay"), names, 2);
}

static int teardown(void **state)
{
	(void)state;
	testdir_remove(dir);
	return 0;
}

static int enroll(const char *name, const char *output)
{
	return wmk_certificates_enroll(in_dir("a/b/relay"), name, WMK_PEER_SENDER, 9, in_dir(output));
}

static void assert_mode(const char *path, mode_t mode)
{
	struct stat st;

	assert_int_equal(0, stat(path, &st));
	assert_int_equal(mode, st.st_mode & 07777);
}

static void certificate_directory_and_keys_are_private(void **state)
{
	(void)state;
	assert_mode(in_dir("a/b/relay"), 0700);
	assert_mode(in_dir("a/b/relay/ca.key"), 0600);
	assert_mode(in_dir("a/b/relay/server.key"), 0600);
	assert_int_equal(0, enroll("web1", "web1.pem"));
	assert_mode(in_dir("web1.pem"), 0600);
	/* The relay has no copy of the peer's key. */
	{
		size_t len;
		char *kept = testdir_slurp(in_dir("a/b/relay/peers/web1.crt"), &len);

		assert_null(strstr(kept, "PRIVATE KEY"));
		free(kept);
	}
}

static void second_init_of_certificates_is_refused(void **state)
{
	static const char *const names[] = { "relay.example" };

	(void)state;
	assert_int_equal(-EEXIST, wmk_certificates_init(in_dir("a/b/relay"), names, 1));
	wmk_error_clear();
}

static void invalid_peer_names_are_refused_in_certificates(void **state)
{
	static const char *const wrong[] = {
		"", ".", "..", "a/b", "-x", "a b", "\xc3\xa4", ".web", "a\nb", "a;b",
		"0123456789012345678901234567890123456789012345678901234567890123",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		assert_int_equal(-EINVAL, enroll(wrong[i], "wrong.pem"));
		assert_int_equal(-EINVAL, wmk_certificates_revoke(in_dir("a/b/relay"), wrong[i]));
		assert_int_equal(-1, access(in_dir("wrong.pem"), F_OK));
	}
}

static void invalid_relay_names_are_refused_in_certificates(void **state)
{
	static const char *const wrong[] = { "a,IP:1.2.3.4", "", "a b", "URI:http", "x\"y" };
	char directory[16];

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		snprintf(directory, sizeof(directory), "wrong%zu", i);
		assert_int_equal(-EINVAL, wmk_certificates_init(in_dir(directory), &wrong[i], 1));
	}
}

static void second_certificate_of_a_peer_is_refused(void **state)
{
	(void)state;
	assert_int_equal(0, enroll("db", "db.pem"));
	assert_int_equal(-EEXIST, enroll("db", "db2.pem"));
	/* An existing file is never replaced. */
	assert_int_equal(-EEXIST, enroll("db3", "db.pem"));
	assert_int_equal(-ENOENT, wmk_certificates_revoke(in_dir("a/b/relay"), "db3"));
	assert_int_equal(0, wmk_certificates_revoke(in_dir("a/b/relay"), "db"));
	assert_int_equal(0, enroll("db", "db2.pem"));
	/* An expired certificate needs no revocation. */
	assert_int_equal(0, wmk_certificates_enroll(in_dir("a/b/relay"), "old", WMK_PEER_SENDER, -1, in_dir("o1.pem")));
	assert_int_equal(0, enroll("old", "o2.pem"));
}

static int collect(void *data, const struct wmk_peer_certificate *peer)
{
	char *list = data;

	snprintf(list + strlen(list), 200 - strlen(list), "%s%s ", peer->name,
		 peer->role == WMK_PEER_VIEWER ? "(v)" : "");
	return 0;
}

static void certificate_list_is_sorted_by_peer_name(void **state)
{
	static const char *const names[] = { "x" };
	char list[200] = "";

	(void)state;
	assert_int_equal(0, wmk_certificates_init(in_dir("list"), names, 1));
	assert_int_equal(0, wmk_certificates_enroll(in_dir("list"), "b", WMK_PEER_VIEWER, 9, in_dir("lb.pem")));
	assert_int_equal(0, wmk_certificates_enroll(in_dir("list"), "a", WMK_PEER_SENDER, 9, in_dir("la.pem")));
	assert_int_equal(0, wmk_certificates_each(in_dir("list"), collect, list));
	assert_string_equal("a b(v) ", list);
	assert_int_equal(-ENOENT, wmk_certificates_each(in_dir("absent"), collect, list));
	wmk_error_clear();
}

/* The command `openssl verify` accepts each certificate for its purpose, and for no other purpose. */
static void openssl_verifies_certificates_only_for_their_purpose(void **state)
{
	static const char *const checks[] = {
		"openssl verify -purpose sslserver -verify_hostname relay.example -CAfile ca.crt server.crt",
		"openssl verify -x509_strict -purpose sslserver -verify_ip 192.0.2.1 -CAfile ca.crt server.crt",
		"openssl verify -x509_strict -purpose sslclient -CAfile ca.crt peers/probe.crt",
		"! openssl verify -purpose sslserver -CAfile ca.crt peers/probe.crt",
		"! openssl verify -purpose sslserver -verify_hostname other -CAfile ca.crt server.crt",
		"openssl crl -in revoked.crl -CAfile ca.crt -noout",
	};
	char command[1200], *out, *err;

	(void)state;
	assert_int_equal(0, enroll("past", "past.pem"));
	assert_int_equal(0, wmk_certificates_revoke(in_dir("a/b/relay"), "past"));
	assert_int_equal(0, enroll("probe", "p.pem"));
	for (size_t i = 0; i < sizeof(checks) / sizeof(*checks); i++) {
		snprintf(command, sizeof(command), "cd %s/a/b/relay && %s", dir, checks[i]);
		if (testdir_run(command, &out, &err) != 0)
			fail_msg("%s: %s%s", checks[i], out, err);
		free(out);
		free(err);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(certificate_directory_and_keys_are_private),
		cmocka_unit_test(second_init_of_certificates_is_refused),
		cmocka_unit_test(invalid_peer_names_are_refused_in_certificates),
		cmocka_unit_test(invalid_relay_names_are_refused_in_certificates),
		cmocka_unit_test(second_certificate_of_a_peer_is_refused),
		cmocka_unit_test(certificate_list_is_sorted_by_peer_name),
		cmocka_unit_test(openssl_verifies_certificates_only_for_their_purpose),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
