/* SPDX-License-Identifier: MIT */
/*
 * relay.c - `waymark relay`: manage the certificates of machines that send traces to the relay, and of users that read
 * traces.
 *
 * The commands run on the relay's machine and change only files (net/certificates.h). A running relay detects each
 * change of these files. The action `status` also queries the running relay.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/command.h"
#include "cli/path.h"
#include "cli/relay_hosts.h"
#include "net/certificates.h"
#include "relay/status_query.h"

/* The words of the command are in the order of enum relay_action. */
#define ACTIONS "init enroll revoke status"
enum relay_action { INIT, ENROLL, REVOKE, STATUS };

#define DAYS_DEFAULT 825           /* of a certificate; more than two years */
#define DAYS_MAX 3650
#define NAMES_MAX 64               /* of a relay */

struct relay_args {
	struct wmk_cli_common common;
	const char *directory;         /* NULL: wmk_relay_dir() */
	bool viewer;
	uint64_t days;                 /* 0: DAYS_DEFAULT */
	/* status: address of the relay; NULL: the default address, where no relay may run */
	const char *at;
};

static void print_result(const struct relay_args *args, const char *member, const char *value)
{
	struct wmk_cli_json json = { .out = stdout };

	if (!args->common.json)
		return;
	wmk_cli_json_open(&json, NULL, '{');
	wmk_cli_json_text(&json, member, value);
	wmk_cli_json_close(&json, '}');
	putchar('\n');
}

/* ── init ────────────────────────────────────────────────────────────────────────────────────────────── */

static int init(const struct relay_args *args, const char *directory, char **names, int n_names)
{
	const char *all[NAMES_MAX + 4];
	char host[HOST_NAME_MAX + 1] = "";
	size_t n = 0;
	int err;

	if (n_names > NAMES_MAX)
		return wmk_error(-E2BIG, "%d names given: a relay has at most %d", n_names, NAMES_MAX);
	for (int i = 0; i < n_names; i++)
		all[n++] = names[i];
	if (gethostname(host, sizeof(host)) == 0 && *host)
		all[n++] = host;
	all[n++] = "localhost";
	all[n++] = "127.0.0.1";
	all[n++] = "::1";
	err = wmk_certificates_init(directory, all, n);
	if (err == -EEXIST)
		wmk_error_add(err, "the relay has certificates already (remove %s to begin again)", directory);
	if (err < 0)
		return err;
	if (!args->common.json)
		printf("Relay certificates made in %s, for the names %s%slocalhost%s\n"
		       "Next: waymark relay enroll HOST, for each machine that sends traces.\n",
		       directory, host, *host ? ", " : "", n_names ? " and those given" : "");
	print_result(args, "directory", directory);
	return 0;
}

/* ── enroll and revoke ───────────────────────────────────────────────────────────────────────────────── */

static int enroll(const struct relay_args *args, const char *directory, const char *name, const char *file)
{
	const enum wmk_peer_role role = args->viewer ? WMK_PEER_VIEWER : WMK_PEER_SENDER;
	const int days = args->days ? (int)args->days : DAYS_DEFAULT;
	char output[PATH_MAX];
	int err;

	if (!file && snprintf(output, sizeof(output), "%s.pem", name) >= (int)sizeof(output))
		return wmk_error(-ENAMETOOLONG, "the name of the peer is too long");
	err = wmk_certificates_enroll(directory, name, role, days, file ? file : output);
	if (err < 0)
		return err;
	if (!args->common.json)
		printf("Certificate and key of %s are in %s, valid for %d days.\n"
		       "Move the file to its machine: ~/.config/waymark/relay.pem (root: /etc/waymark/relay.pem).\n",
		       name, file ? file : output, days);
	print_result(args, "file", file ? file : output);
	return 0;
}

static int revoke_peer(const struct relay_args *args, const char *directory, const char *name)
{
	int err = wmk_certificates_revoke(directory, name);

	if (err < 0)
		return err;
	if (!args->common.json)
		printf("Certificate of %s revoked. A running relay closes its connections within a second.\n", name);
	print_result(args, "revoked", name);
	return 0;
}

/* ── status ──────────────────────────────────────────────────────────────────────────────────────────── */

static const char *role_text(const struct wmk_peer_certificate *peer)
{
	return peer->role == WMK_PEER_VIEWER ? "viewer" : "sender";
}

static int print_peer(void *data, const struct wmk_peer_certificate *peer)
{
	unsigned *n = data;
	struct tm until;
	char day[16];

	gmtime_r(&peer->not_after, &until);
	strftime(day, sizeof(day), "%Y-%m-%d", &until);
	if ((*n)++ == 0)
		printf("%-24s %-8s %s\n", "NAME", "ROLE", "VALID UNTIL");
	printf("%-24s %-8s %s%s\n", peer->name, role_text(peer), day,
	       peer->not_after < time(NULL) ? ", expired" : "");
	return 0;
}

static int peer_json(void *data, const struct wmk_peer_certificate *peer)
{
	struct wmk_cli_json *json = data;

	wmk_cli_json_open(json, NULL, '{');
	wmk_cli_json_text(json, "name", peer->name);
	wmk_cli_json_text(json, "role", role_text(peer));
	wmk_cli_json_u64(json, "not_after", (uint64_t)peer->not_after);
	wmk_cli_json_close(json, '}');
	return 0;
}

/* Query the running relay. 1: *running is its status; 0: no relay runs at the default address; -errno. */
static int query(const struct relay_args *args, struct wmk_arena *arena, struct wmk_relay_status *running)
{
	int err = wmk_relay_status_query(args->at ? args->at : WMK_RELAY_STATUS_DEFAULT, arena, running);

	if (err == 0)
		return 1;
	if (args->at)
		return err;
	wmk_error_clear();
	return 0;
}

/* A relay that listens only on loopback addresses needs no certificates. */
static int without_certificates(int err, int runs)
{
	if (err != -ENOENT || runs != 1)
		return err;
	wmk_error_clear();
	return 0;
}

static int status_text(const struct relay_args *args, const char *directory, int runs,
		       const struct wmk_relay_status *running)
{
	unsigned n = 0;
	int err;

	if (runs)
		wmk_cli_relay_print(args->at ? args->at : WMK_RELAY_STATUS_DEFAULT, running);
	err = wmk_certificates_each(directory, print_peer, &n);
	if (err == 0 && n == 0)
		puts("No peer has a certificate (`waymark relay enroll HOST` makes one).");
	return without_certificates(err, runs);
}

static int status_json(const char *directory, int runs, const struct wmk_relay_status *running)
{
	struct wmk_cli_json json = { .out = stdout };
	int err;

	wmk_cli_json_open(&json, NULL, '{');
	wmk_cli_relay_json(&json, runs ? running : NULL);
	wmk_cli_json_open(&json, "peers", '[');
	err = wmk_certificates_each(directory, peer_json, &json);
	wmk_cli_json_close(&json, ']');
	wmk_cli_json_close(&json, '}');
	putchar('\n');
	return without_certificates(err, runs);
}

static int status(const struct relay_args *args, const char *directory)
{
	struct wmk_relay_status running;
	struct wmk_arena arena = { 0 };
	int runs = query(args, &arena, &running), err = runs;

	if (runs >= 0)
		err = args->common.json ? status_json(directory, runs, &running)
					: status_text(args, directory, runs, &running);
	wmk_arena_free(&arena);
	return err;
}

/* ── the command ─────────────────────────────────────────────────────────────────────────────────────── */

static int check(const struct relay_args *args, enum relay_action action, int n_rest)
{
	static const int least[] = { [INIT] = 1, [ENROLL] = 2, [REVOKE] = 2, [STATUS] = 1 };
	static const int most[] = { [INIT] = INT_MAX, [ENROLL] = 3, [REVOKE] = 2, [STATUS] = 1 };

	if (n_rest < least[action])
		return wmk_error(-EINVAL, "no name given: give the name of the machine or user");
	if (n_rest > most[action])
		return wmk_error(-EINVAL, "%d arguments given: the action takes at most %d", n_rest - 1,
				 most[action] - 1);
	if (action != ENROLL && (args->viewer || args->days))
		return wmk_error(-EINVAL, "--viewer and --days are options of enroll only");
	if (action != STATUS && args->at)
		return wmk_error(-EINVAL, "--at is an option of status only");
	return 0;
}

static int act(const struct relay_args *args, enum relay_action action, const char *directory, char **rest, int n_rest)
{
	switch (action) {
	case INIT:
		return init(args, directory, rest + 1, n_rest - 1);
	case ENROLL:
		return enroll(args, directory, rest[1], n_rest > 2 ? rest[2] : NULL);
	case REVOKE:
		return revoke_peer(args, directory, rest[1]);
	default:
		return status(args, directory);
	}
}

static int run(void *data, char **rest, int n_rest)
{
	const struct relay_args *args = data;
	char directory[PATH_MAX];
	int action = n_rest ? wmk_cli_choice(ACTIONS, "unknown action \"@\"; the actions are: #", rest[0])
			    : wmk_error(-EINVAL, "no action given: give init, enroll, revoke or status");
	int err = action < 0 ? action : check(args, (enum relay_action)action, n_rest);

	if (err < 0)
		return err;
	err = args->directory ? wmk_cli_absolute_path(args->directory, directory, sizeof(directory))
			      : wmk_relay_dir(directory, sizeof(directory));
	if (err == 0)
		err = act(args, (enum relay_action)action, directory, rest, n_rest);
	if (err == 0)
		return 0;
	wmk_cli_print_error();
	return WMK_CLI_FAILED;
}

static const char *const details[] = {
	"A relay (waymark-relayd) accepts connections from other machines only with TLS and a certificate of its own "
	"authority. The actions run on the machine of the relay, as the user of the relay.",
	"init: makes the authority, and the certificate of the relay for the given names and addresses, the name of "
	"this machine and localhost. Other machines must reach the relay by one of these names.",
	"enroll: makes a key and a certificate for a machine that sends traces, or with --viewer for a user that reads "
	"traces. Both are written to FILE, by default NAME.pem. NAME becomes the directory of the traces of this "
	"machine. FILE contains the key: move it to the other machine, for example with scp. The relay keeps no copy "
	"of the key.",
	"revoke: makes the certificate of NAME invalid. The name may be enrolled again.",
	"status: prints the hosts of the relay that runs on this machine, with their connections, traces, quotas and "
	"latest errors, and lists the certificates.",
	"The directory of the certificates is $WAYMARK_RELAY_DIR, else /etc/waymark/relay for root, else "
	"~/.config/waymark/relay.",
	NULL
};

static const struct wmk_cli_option options[] = {
	{ 0, "certificates", "DIR", "The directory of the relay's certificates.",
	  WMK_CLI_NOT_EMPTY(struct relay_args, directory, "the directory is missing") },
	{ 0, "viewer", NULL, "enroll: the certificate is for a user that reads traces.",
	  WMK_CLI_FLAG(struct relay_args, viewer) },
	{ 0, "days", "N", "enroll: the certificate is valid for N days. The default is 825.",
	  WMK_CLI_NUMBER(struct relay_args, days, DAYS_MAX) },
	{ 0, "at", "ADDR:PORT", "status: a loopback address of the relay. The default is 127.0.0.1:5850.",
	  WMK_CLI_NOT_EMPTY(struct relay_args, at, "the address is missing") },
	WMK_CLI_OPTION_JSON,
};

const struct wmk_cli_command wmk_cli_relay = {
	.name = "relay",
	.arguments = "init [NAME]... | enroll NAME [FILE] | revoke NAME | status",
	.choices = ACTIONS,
	.summary = "Make and revoke the certificates of a relay, and show its state",
	.details = details,
	WMK_CLI_OPTIONS(options),
	.args_size = sizeof(struct relay_args),
	.run = run,
};
