/* SPDX-License-Identifier: MIT */
/* relay_rig.c - a relay for tests (see relay_rig.h). */
#include "relay/t/relay_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/error.h"
#include "store/t/testdir.h"

static void *run(void *data)
{
	struct relay_rig *rig = data;

	if (wmk_relay_server_run(rig->server) < 0)
		abort();
	return NULL;
}

void relay_rig_start(struct relay_rig *rig)
{
	static const char *const listen[] = { "127.0.0.1:0" };
	char root[300];
	const struct wmk_relay_server_options options = { .listen = listen, .n_listen = 1, .output = root,
							  .certificates = "/nonexistent", .conf = &rig->conf,
							  .version = "test" };

	snprintf(root, sizeof(root), "%s/root", rig->dir);
	assert_int_equal(wmk_relay_server_open(&options, &rig->server), 0);
	rig->port = wmk_relay_server_port(rig->server, 0);
	assert_int_equal(pthread_create(&rig->thread, NULL, run, rig), 0);
}

void relay_rig_begin(struct relay_rig *rig, const char *conf)
{
	memset(rig, 0, sizeof(*rig));
	testdir_make(rig->dir);
	if (conf)
		assert_int_equal(wmk_relay_conf_parse("relay.conf", conf, strlen(conf), &rig->conf), 0);
	else
		wmk_relay_conf_default(&rig->conf);
	rig->conf.disk_reserve = 0;
	relay_rig_start(rig);
}

void relay_rig_stop(struct relay_rig *rig)
{
	wmk_relay_server_stop(rig->server);
	pthread_join(rig->thread, NULL);
	wmk_relay_server_close(rig->server);
}

void relay_rig_end(struct relay_rig *rig)
{
	relay_rig_stop(rig);
	wmk_relay_conf_free(&rig->conf);
	testdir_remove(rig->dir);
	wmk_error_clear();
}

long relay_rig_size(const struct relay_rig *rig, const char *path)
{
	char whole[600];
	struct stat st;

	snprintf(whole, sizeof(whole), "%s/root/%s", rig->dir, path);
	return lstat(whole, &st) < 0 ? -1 : (long)st.st_size;
}

int relay_rig_has(const struct relay_rig *rig, const char *path, const char *text)
{
	char whole[600], *found;
	size_t len;

	snprintf(whole, sizeof(whole), "%s/root/%s", rig->dir, path);
	found = testdir_slurp(whole, &len);
	const int same = strncmp(found, text, strlen(text)) == 0;

	free(found);
	return same;
}
