/* SPDX-License-Identifier: MIT */
/*
 * test_relay_tls.c - a relay with TLS, and senders with certificates: valid, missing, of another authority, of another
 * host, expired, revoked. For each refusal, the sender receives a message.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "net/certificates.h"
#include "net/tls.h"
#include "relay/messages.h"
#include "relay/server.h"
#include "store/t/testdir.h"

#define WAIT_MS 20000

struct tls_rig {
	char dir[256], certificates[300], root[300];
	struct wmk_relay_conf conf;
	struct wmk_relay_server *server;
	pthread_t thread;
	uint16_t port;
};

/* A sender. `text` is the text of the relay's latest ERROR. */
struct tls_client {
	struct wmk_tls *tls;
	struct wmk_link *link;
	struct wmk_relay_in in;
	struct wmk_relay_out out;
	uint32_t number;
	char text[WMK_RELAY_MESSAGE_MAX + 1];
};

static void *run(void *data)
{
	if (wmk_relay_server_run(((struct tls_rig *)data)->server) < 0)
		abort();
	return NULL;
}

static void rig_begin(struct tls_rig *rig)
{
	static const char *const listen[] = { "127.0.0.1:0" }, *const names[] = { "127.0.0.1" };
	struct wmk_relay_server_options options = { .listen = listen, .n_listen = 1, .tls = true, .version = "test" };

	memset(rig, 0, sizeof(*rig));
	testdir_make(rig->dir);
	snprintf(rig->certificates, sizeof(rig->certificates), "%s/ca", rig->dir);
	snprintf(rig->root, sizeof(rig->root), "%s/root", rig->dir);
	assert_int_equal(wmk_certificates_init(rig->certificates, names, 1), 0);
	wmk_relay_conf_default(&rig->conf);
	options.output = rig->root;
	options.certificates = rig->certificates;
	options.conf = &rig->conf;
	assert_int_equal(wmk_relay_server_open(&options, &rig->server), 0);
	rig->port = wmk_relay_server_port(rig->server, 0);
	assert_int_equal(pthread_create(&rig->thread, NULL, run, rig), 0);
}

static void rig_end(struct tls_rig *rig)
{
	wmk_relay_server_stop(rig->server);
	pthread_join(rig->thread, NULL);
	wmk_relay_server_close(rig->server);
	testdir_remove(rig->dir);
	wmk_error_clear();
}

static void enroll(const struct tls_rig *rig, const char *name, int days, char file[400])
{
	snprintf(file, 400, "%s/%s.pem", rig->dir, name);
	assert_int_equal(wmk_certificates_enroll(rig->certificates, name, WMK_PEER_SENDER, days, file), 0);
}

static void await(struct tls_client *client)
{
	struct pollfd poller = { .fd = wmk_link_socket(client->link), .events = wmk_link_events(client->link) };

	assert_int_equal(poll(&poller, 1, WAIT_MS), 1);
}

static int connected_socket(uint16_t port)
{
	const struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(port),
					.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(connect(fd, (const struct sockaddr *)&to, sizeof(to)), 0);
	return fd;
}

/* Connect. `file`: the certificate of the client. 0, or the error of the handshake. */
static int client_begin(struct tls_client *client, const struct tls_rig *rig, const char *file)
{
	int err;

	memset(client, 0, sizeof(*client));
	assert_int_equal(wmk_tls_open_client(file, &client->tls), 0);
	assert_int_equal(wmk_link_open(connected_socket(rig->port), client->tls, "127.0.0.1", &client->link), 0);
	while ((err = wmk_link_handshake(client->link)) == -EAGAIN)
		await(client);
	return err;
}

static void client_end(struct tls_client *client)
{
	wmk_link_close(client->link);
	wmk_tls_close(client->tls);
	wmk_relay_in_free(&client->in);
	wmk_relay_out_free(&client->out);
	wmk_error_clear();
}

/* Receive the relay's next message. Returns its type; -errno of an ERROR; -EPIPE: the stream has ended. */
static int receive(struct tls_client *client)
{
	struct wmk_relay_error error;
	struct wmk_arena arena = { 0 };
	struct wmk_relay_frame frame;
	uint8_t *body;
	int got;

	while ((got = wmk_relay_in_message(&client->in, &frame, &body)) == 0) {
		got = wmk_relay_in_receive(&client->in, client->link);
		if (got == -EAGAIN)
			await(client);
		else if (got <= 0)
			return -EPIPE;
	}
	assert_int_equal(got, 1);
	if (frame.type != WMK_RELAY_ERROR)
		return frame.type;
	assert_int_equal(wmk_object_decode(&wmk_relay_error_object, body, frame.length, &error, &arena), 0);
	snprintf(client->text, sizeof(client->text), "%s", error.text);
	wmk_arena_free(&arena);
	return -(int)error.err;
}

static void say(struct tls_client *client, uint16_t type, const struct wmk_object *is, const void *object)
{
	struct wmk_relay_frame frame = { .type = type, .number = ++client->number };
	int sent;

	assert_int_equal(wmk_relay_out_message(&client->out, &frame, is, object), 0);
	while ((sent = wmk_relay_out_send(&client->out, client->link)) == 0)
		await(client);
	assert_int_equal(sent, 1);
}

static void say_hello(struct tls_client *client, const char *host)
{
	const struct wmk_relay_hello hello = { .greeting = WMK_RELAY_SENDER, .version = "test", .host = host };

	say(client, WMK_RELAY_HELLO, &wmk_relay_hello_object, &hello);
}

static int open_trace(struct tls_client *client)
{
	const struct wmk_relay_trace trace = { .session = "shop", .sub = "ust/uid/1000/64-bit",
					       .mode = WMK_RELAY_UNSURE };

	say(client, WMK_RELAY_TRACE, &wmk_relay_trace_object, &trace);
	return receive(client);
}

static void sender_with_certificate_is_served(void **state)
{
	struct tls_rig rig;
	struct tls_client client;
	char file[400];

	(void)state;
	rig_begin(&rig);
	enroll(&rig, "web1", 1, file);
	assert_int_equal(client_begin(&client, &rig, file), 0);
	assert_int_equal(receive(&client), WMK_RELAY_HELLO);
	say_hello(&client, "web1");
	assert_int_equal(open_trace(&client), WMK_RELAY_REPLY);
	client_end(&client);
	rig_end(&rig);
}

static void sender_with_certificate_of_another_host_is_refused(void **state)
{
	struct tls_rig rig;
	struct tls_client client;
	char file[400];

	(void)state;
	rig_begin(&rig);
	enroll(&rig, "web1", 1, file);
	assert_int_equal(client_begin(&client, &rig, file), 0);
	assert_int_equal(receive(&client), WMK_RELAY_HELLO);
	say_hello(&client, "web2");
	assert_int_equal(receive(&client), -EACCES);
	assert_non_null(strstr(client.text, "of host \"web1\""));
	client_end(&client);
	rig_end(&rig);
}

static void invalid_certificates_are_refused_by_the_relay(void **state)
{
	struct tls_rig rig, other;
	struct tls_client client;
	char expired[400], foreign[400], command[1000], *out, *err;

	(void)state;
	rig_begin(&rig);
	enroll(&rig, "web1", -1, expired);
	assert_int_equal(client_begin(&client, &rig, expired), 0);
	assert_int_equal(receive(&client), -EACCES);
	assert_non_null(strstr(client.text, "expired"));
	client_end(&client);

	/* The certificate and key belong to another authority. The sender trusts the authority of this relay. */
	rig_begin(&other);
	enroll(&other, "web1", 1, foreign);
	snprintf(command, sizeof(command), "cat %s/ca.crt >>%s", rig.certificates, foreign);
	assert_int_equal(testdir_run(command, &out, &err), 0);
	free(out);
	free(err);
	if (client_begin(&client, &rig, foreign) == 0) {
		assert_int_equal(receive(&client), -EACCES);
		assert_true(strlen(client.text) > 10);
	}
	client_end(&client);
	rig_end(&other);
	rig_end(&rig);
}

/* A client without a certificate, and a client without TLS 1.3. */
static void clients_without_certificate_or_tls_1_3_are_refused(void **state)
{
	struct tls_rig rig;
	char command[600], *out, *err;

	(void)state;
	rig_begin(&rig);
	snprintf(command, sizeof(command), "timeout 20 openssl s_client -connect 127.0.0.1:%u -quiet </dev/null "
		 "2>/dev/null | tr -c '[:print:]' ' '", rig.port);
	assert_int_equal(testdir_run(command, &out, &err), 0);
	assert_non_null(strstr(out, "certificate"));
	free(out);
	free(err);
	snprintf(command, sizeof(command), "timeout 20 openssl s_client -connect 127.0.0.1:%u -tls1_2 </dev/null 2>&1",
		 rig.port);
	assert_int_not_equal(testdir_run(command, &out, &err), 0);
	assert_non_null(strstr(out, "protocol version"));
	free(out);
	free(err);
	rig_end(&rig);
}

static void revoked_certificate_ends_a_connection(void **state)
{
	struct tls_rig rig;
	struct tls_client client, staying;
	char file[400], second[400];

	(void)state;
	rig_begin(&rig);
	enroll(&rig, "web1", 1, file);
	enroll(&rig, "web2", 1, second);
	assert_int_equal(client_begin(&client, &rig, file), 0);
	assert_int_equal(receive(&client), WMK_RELAY_HELLO);
	say_hello(&client, "web1");
	assert_int_equal(open_trace(&client), WMK_RELAY_REPLY);
	assert_int_equal(client_begin(&staying, &rig, second), 0);
	assert_int_equal(receive(&staying), WMK_RELAY_HELLO);
	say_hello(&staying, "web2");
	assert_int_equal(wmk_certificates_revoke(rig.certificates, "web1"), 0);
	assert_int_equal(receive(&client), -EACCES);
	assert_non_null(strstr(client.text, "revoked"));
	assert_int_equal(receive(&client), -EPIPE);
	assert_int_equal(open_trace(&staying), WMK_RELAY_REPLY);
	client_end(&client);
	client_end(&staying);
	rig_end(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sender_with_certificate_is_served),
		cmocka_unit_test(sender_with_certificate_of_another_host_is_refused),
		cmocka_unit_test(invalid_certificates_are_refused_by_the_relay),
		cmocka_unit_test(clients_without_certificate_or_tls_1_3_are_refused),
		cmocka_unit_test(revoked_certificate_ends_a_connection),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
