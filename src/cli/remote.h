/* SPDX-License-Identifier: MIT */
/*
 * remote.h - run a command of `waymark` on another machine, through OpenSSH.
 *
 *     waymark --host ann@web1 list  ──►  ssh ann@web1 waymark list
 */
#ifndef WMK_CLI_REMOTE_H
#define WMK_CLI_REMOTE_H

/*
 * Replace this process by ssh. On `host`, ssh runs `waymark` with the arguments, which end with NULL. The remote shell
 * passes each argument unchanged. `host` is a destination as ssh accepts it. $WAYMARK_SSH replaces the program `ssh`.
 * Returns only after an error: -errno with a cause chain.
 */
int wmk_cli_remote_exec(const char *host, char *const *arguments);

#endif
