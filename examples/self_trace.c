/* SPDX-License-Identifier: MIT */
/*
 * self_trace.c - a program that controls its own tracing: it records itself during its work, and prints where the trace
 * is. A session daemon is started if none runs.
 *
 *     examples/self_trace [DIRECTORY]
 *     babeltrace2 DIRECTORY
 *
 * Build with: cc self_trace.c $(pkg-config --cflags --libs waymark waymark-ctl)
 */
#include <stdio.h>
#include <unistd.h>

#include <waymark/ctl.h>
#include <waymark/trace.h>

#define SESSION "self-trace"

static int report(const char *what)
{
	char why[1000];

	fprintf(stderr, "self_trace: %s: %s\n", what, waymark_ctl_error_text(why, sizeof(why)));
	return 1;
}

static unsigned long work(unsigned rounds)
{
	unsigned long sum = 0;

	for (unsigned i = 0; i < rounds; i++) {
		sum += sum * 31 + i;
		waymark(self, round, i, sum);
	}
	return sum;
}

/*
 * Wait until this program has registered with the session daemon. That takes no time if a session daemon has run
 * before; otherwise applications check every ten seconds (docs/registration.md).
 */
static int wait_until_known(struct waymark_ctl *ctl)
{
	const struct waymark_ctl_apps_options us = { .size = sizeof(us), .pid = (uint64_t)getpid() };
	const struct waymark_ctl_app_info *const *apps;
	struct waymark_ctl_result *result;
	unsigned known = 0;

	for (unsigned i = 0; i < 20000 && !known; i++) {
		if (waymark_ctl_list_apps(ctl, &us, &result) < 0)
			return report("list");
		known = waymark_ctl_result_apps(result, &apps);
		waymark_ctl_result_free(result);
		if (!known)
			usleep(1000);
	}
	return 0;       /* without registration, no records are made */
}

/* Start a session that records the events `self:*` of this process only. */
static int begin(struct waymark_ctl *ctl, const char *path)
{
	const struct waymark_ctl_domain us = { .size = sizeof(us), .kind = WAYMARK_CTL_PID, .pid = (uint64_t)getpid() };
	const struct waymark_ctl_rule rule = { .size = sizeof(rule), .pattern = "self:*" };
	const struct waymark_ctl_create_options create = { .size = sizeof(create), .name = SESSION, .path = path };
	const struct waymark_ctl_events_options events = {
		.size = sizeof(events), .session = SESSION, .domain = &us, .rules = &rule, .n_rules = 1,
	};

	if (waymark_ctl_create(ctl, &create, NULL) < 0)
		return report("create");
	if (waymark_ctl_enable_event(ctl, &events, NULL) < 0 || waymark_ctl_start(ctl, SESSION, NULL) < 0) {
		report("enable-event, start");
		waymark_ctl_destroy(ctl, SESSION, NULL);
		return 1;
	}
	return 0;
}

static int end(struct waymark_ctl *ctl)
{
	const struct waymark_ctl_session_info *const *sessions;
	struct waymark_ctl_result *result;

	if (waymark_ctl_stop(ctl, SESSION, &result) < 0)
		return report("stop");
	if (waymark_ctl_result_sessions(result, &sessions) == 1)
		printf("%llu records, %llu lost, in %s\n", (unsigned long long)sessions[0]->counts->records,
		       (unsigned long long)sessions[0]->counts->lost, sessions[0]->path);
	waymark_ctl_result_free(result);
	return waymark_ctl_destroy(ctl, SESSION, NULL) < 0 ? report("destroy") : 0;
}

int main(int argc, char **argv)
{
	struct waymark_ctl *ctl;

	if (waymark_ctl_connect(NULL, &ctl) < 0)
		return report("connect");
	int failed = wait_until_known(ctl) || begin(ctl, argc > 1 ? argv[1] : NULL);
	if (!failed) {
		printf("%lx\n", work(1000));
		failed = end(ctl);
	}
	waymark_ctl_close(ctl);
	return failed;
}
