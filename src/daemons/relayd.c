/* SPDX-License-Identifier: MIT */
/*
 * relayd.c - waymark-relayd: options of the relay. relay/server.h implements it: it stores the traces of other
 * machines.
 */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/descriptor_limit.h"
#include "base/error.h"
#include "daemons/daemon_signals.h"
#include "net/certificates.h"
#include "relay/lttng_live/live_server.h"
#include "relay/server.h"
#include "sessiond/rundir.h"

#define ARENAS 4                     /* of malloc(): the thread of each connection uses little memory */
#define DEFAULT_LISTEN "127.0.0.1:5850"

static struct wmk_relay_server *server;
static struct wmk_lttng_live *live;      /* NULL: off */

static void log_message(const char *text)
{
	fprintf(stderr, "waymark-relayd: %s\n", text);
}

static void on_signal(int number)
{
	(void)number;
	wmk_relay_server_stop(server);
}

static void usage(FILE *out)
{
	fprintf(out,
		"usage: waymark-relayd [options] --output DIR\n"
		"Store traces that consumer daemons of other machines send, in DIR/HOST/SESSION.\n\n"
		"  --listen ADDR:PORT     an address to listen on, up to %u times (%s); addresses other\n"
		"                         than loopback use TLS. Port 0: any free port\n"
		"  --output DIR           the directory of all hosts, created with mode 0700\n"
		"  --conf FILE            limits of hosts, see waymark-relayd(8) (%s)\n"
		"  --certificates DIR     certificates, see `waymark relay init` (/etc/waymark/relay)\n"
		"  --tls                  use TLS on loopback addresses, too\n"
		"  --lttng-live[=PORT]    serve viewers of the LTTng-live protocol, such as babeltrace2, on this\n"
		"                         port of 127.0.0.1 (%u)\n"
		"  --print-ports          print the ports when the relay listens\n"
		"  --version, --help\n",
		WMK_RELAY_LISTEN_MAX, DEFAULT_LISTEN, WAYMARK_RELAY_CONF, WMK_LTTNG_LIVE_PORT);
}

struct relayd_args {
	const char *listen[WMK_RELAY_LISTEN_MAX];
	size_t n_listen;
	const char *output, *conf, *certificates;
	bool tls, print_ports;
	bool lttng_live;
	uint16_t live_port;
};

static bool parse_live(const char *value, struct relayd_args *args)
{
	char *end = NULL;
	const unsigned long port = value ? strtoul(value, &end, 10) : WMK_LTTNG_LIVE_PORT;

	args->lttng_live = true;
	args->live_port = (uint16_t)port;
	return !value || (*value >= '0' && *value <= '9' && !*end && port <= UINT16_MAX);
}

static int parse(int argc, char **argv, struct relayd_args *args)
{
	static const struct option known[] = {
		{ "listen", required_argument, NULL, 'l' },
		{ "output", required_argument, NULL, 'o' },
		{ "conf", required_argument, NULL, 'c' },
		{ "certificates", required_argument, NULL, 'C' },
		{ "tls", no_argument, NULL, 't' },
		{ "lttng-live", optional_argument, NULL, 'L' },
		{ "print-ports", no_argument, NULL, 'p' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ 0 },
	};
	int option;

	while ((option = getopt_long(argc, argv, "", known, NULL)) >= 0) {
		switch (option) {
		case 'l':
			if (args->n_listen == WMK_RELAY_LISTEN_MAX)
				return -1;
			args->listen[args->n_listen++] = optarg;
			break;
		case 'o':
			args->output = optarg;
			break;
		case 'c':
			args->conf = optarg;
			break;
		case 'C':
			args->certificates = optarg;
			break;
		case 't':
			args->tls = true;
			break;
		case 'L':
			if (!parse_live(optarg, args))
				return -1;
			break;
		case 'p':
			args->print_ports = true;
			break;
		case 'h':
			usage(stdout);
			exit(0);
		case 'V':
			printf("waymark-relayd " WAYMARK_VERSION "\n");
			exit(0);
		default:
			return -1;
		}
	}
	if (!args->n_listen)
		args->listen[args->n_listen++] = DEFAULT_LISTEN;
	return optind == argc && args->output ? 0 : -1;
}

/* The default configuration file of the relay may be absent. */
static int read_conf(const struct relayd_args *args, struct wmk_relay_conf *conf)
{
	int err = wmk_relay_conf_read(args->conf ? args->conf : WAYMARK_RELAY_CONF, conf);

	if (err != -ENOENT || args->conf)
		return err;
	wmk_error_clear();
	return 0;
}

static void print_ports(const struct relayd_args *args)
{
	for (size_t i = 0; i < args->n_listen; i++)
		printf("%u\n", wmk_relay_server_port(server, i));
	if (live)
		printf("%u\n", wmk_lttng_live_port(live));
	fflush(stdout);
}

static int open_server(const struct relayd_args *args, const struct wmk_relay_conf *conf)
{
	static char certificates[PATH_MAX];
	struct wmk_relay_server_options options = { .listen = args->listen, .n_listen = args->n_listen,
						    .output = args->output, .certificates = args->certificates,
						    .tls = args->tls, .conf = conf, .version = WAYMARK_VERSION,
						    .log = log_message };
	int err = 0;

	if (!options.certificates) {
		err = wmk_relay_dir(certificates, sizeof(certificates));
		options.certificates = certificates;
	}
	if (err == 0)
		err = wmk_relay_server_open(&options, &server);
	if (err < 0 || !args->lttng_live)
		return err;
	err = wmk_lttng_live_open(args->output, args->live_port, &live);
	if (err < 0)
		wmk_relay_server_close(server);
	return err;
}

int main(int argc, char **argv)
{
	struct wmk_sessiond_rundir_starter starter;
	struct relayd_args args = { 0 };
	struct wmk_relay_conf conf;
	char text[600];
	int err;

	if (parse(argc, argv, &args) < 0) {
		usage(stderr);
		return 2;
	}
	wmk_sessiond_rundir_starter(&starter);
	mallopt(M_ARENA_MAX, ARENAS);
	/* Each stream needs three descriptors. */
	wmk_descriptor_limit_raise();
	err = read_conf(&args, &conf);
	if (err >= 0) {
		err = open_server(&args, &conf);
		if (err >= 0) {
			wmk_daemon_catch_signals(on_signal);
			if (args.print_ports)
				print_ports(&args);
			wmk_sd_notify(&starter, "READY=1", NULL);
			err = wmk_relay_server_run(server);
			wmk_sd_notify(&starter, "STOPPING=1", NULL);
			wmk_lttng_live_close(live);
			wmk_relay_server_close(server);
		}
		wmk_relay_conf_free(&conf);
	}
	if (err < 0)
		log_message(wmk_error_text(text, sizeof(text)));
	return err < 0;
}
