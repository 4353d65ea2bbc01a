/* SPDX-License-Identifier: MIT */
/*
 * consumerd.c - waymark-consumerd: options of the consumer daemon. consumer/server.h implements it: it drains rings
 * into trace directories, controlled by a session daemon.
 */
#include <errno.h>
#include <getopt.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/descriptor_limit.h"
#include "base/error.h"
#include "consumer/server.h"
#include "daemons/daemon_signals.h"
#include "store/store.h"
#include "wire/wire.h"

static struct wmk_consumer_server *server;

static void log_message(const char *words)
{
	fprintf(stderr, "waymark-consumerd: %s\n", words);
}

static void on_signal(int number)
{
	(void)number;
	wmk_consumer_server_stop(server);
}

static void usage(FILE *out)
{
	fprintf(out,
		"usage: waymark-consumerd [--rundir DIR] [--kernel] [--disk-reserve BYTES] [--keep] [--connection FD]\n"
		"Drain rings into trace directories. The session daemon starts it; see waymark-consumerd(8).\n");
}

/*
 * Give up CAP_SYS_RESOURCE: a process that writes for a user must not exceed that user's quota, nor use the blocks that
 * a file system reserves for root. Called before threads are created, because each thread has its own capabilities.
 */
static void obey_quotas(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &header, data) < 0)
		return;
	data[0].effective &= ~(1u << CAP_SYS_RESOURCE);
	data[0].permitted &= ~(1u << CAP_SYS_RESOURCE);
	if (syscall(SYS_capset, &header, data) < 0)
		log_message("cannot give up CAP_SYS_RESOURCE: disk quotas of users may be exceeded");
}

/* During the final cleanup, signals have no effect. */
static void ignore_signals(void)
{
	const struct sigaction ignore = { .sa_handler = SIG_IGN };

	sigaction(SIGTERM, &ignore, NULL);
	sigaction(SIGINT, &ignore, NULL);
}

static int parse(int argc, char **argv, struct wmk_consumer_server_options *options)
{
	static const struct option known[] = {
		{ "rundir", required_argument, NULL, 'r' }, { "connection", required_argument, NULL, 'c' },
		{ "kernel", no_argument, NULL, 'k' }, { "disk-reserve", required_argument, NULL, 'd' },
		{ "keep", no_argument, NULL, 'K' },
		{ "help", no_argument, NULL, 'h' },	    { "version", no_argument, NULL, 'V' }, { 0 },
	};
	char *end;
	int option;

	while ((option = getopt_long(argc, argv, "", known, NULL)) >= 0) {
		switch (option) {
		case 'r':
			options->rundir = optarg;
			break;
		case 'c':
			options->connection = (int)strtol(optarg, &end, 10);
			if (!*optarg || *end || options->connection < 0)
				return -1;
			break;
		case 'k':
			options->kernel = 1;
			break;
		case 'd':
			options->keep_free = strtoull(optarg, &end, 10);
			if (!*optarg || *end)
				return -1;
			break;
		case 'K':
			options->keep = 1;
			break;
		case 'h':
			usage(stdout);
			exit(0);
		case 'V':
			printf("waymark-consumerd " WAYMARK_VERSION "\n");
			exit(0);
		default:
			return -1;
		}
	}
	return optind == argc ? 0 : -1;
}

int main(int argc, char **argv)
{
	struct wmk_consumer_server_options options = { .size = sizeof(options),
						       .connection = -1,
						       .keep_free = WMK_STORE_KEEP_FREE,
						       .await_mount = getenv("WAYMARK_AWAIT_MOUNT") != NULL,
						       .version = WAYMARK_VERSION,
						       .log = log_message };
	char rundir[128], words[600];
	int err;

	if (parse(argc, argv, &options) < 0) {
		usage(stderr);
		return 2;
	}
	if (!options.rundir) {
		err = wmk_rundir(geteuid(), 1, rundir, sizeof(rundir));
		options.rundir = rundir;
	} else {
		err = 0;
	}
	/* Each ring set needs one descriptor, and each stream needs two or three. */
	wmk_descriptor_limit_raise();
	obey_quotas();
	if (err >= 0)
		err = wmk_consumer_server_open(&options, &server);
	if (err >= 0) {
		wmk_daemon_catch_signals(on_signal);
		err = wmk_consumer_server_run(server);
		ignore_signals();
		wmk_consumer_server_close(server);
	}
	if (err < 0)
		log_message(wmk_error_text(words, sizeof(words)));
	return err < 0;
}
