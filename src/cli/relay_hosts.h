/* SPDX-License-Identifier: MIT */
/* relay_hosts.h - the status of a running relay, as `waymark relay status` prints it. */
#ifndef WMK_CLI_RELAY_HOSTS_H
#define WMK_CLI_RELAY_HOSTS_H

#include "cli/command.h"
#include "wire/relay.h"

/* Print the hosts of the relay at `at`, their traces and their latest errors. */
void wmk_cli_relay_print(const char *at, const struct wmk_relay_status *status);
/* Print the member "relay" of the JSON object, which is null if `relay` is NULL. */
void wmk_cli_relay_json(struct wmk_cli_json *json, const struct wmk_relay_status *status);

#endif
