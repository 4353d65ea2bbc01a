/* SPDX-License-Identifier: MIT */
/* test_files.c - save sessions to files and load them, with a fake daemon. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include <waymark/ctl.h>

#include "fake.h"

static const char *contexts[] = { "vpid" }, *excluded[] = { "a:x" };
static uint64_t pids[] = { 4, 5 };
static struct wmk_ctl_rule rules[] = {
	{ .pattern = "a:*", .exclusions = { excluded, 1 }, .enabled = true, .matched = 12 },
	{ .pattern = "b:*", .level_op = WMK_LEVEL_EXACTLY, .level = 6 },
	{ .pattern = "c:*" }, { .pattern = "c:*", .level_op = WMK_LEVEL_AT_LEAST, .enabled = true },
};
static struct wmk_ctl_channel channels[] = {
	{ .name = "c",
	  .settings.mode = WMK_MODE_OVERWRITE,
	  .settings.subbuf_size = 4096,
	  .contexts = { contexts, 1 },
	  .rules = { rules, 4 },
	  .enabled = true,
	  .counts = { .records = 9 } },
	{ .name = "d", .domain = { .kind = WMK_DOMAIN_EXEC, .exec = "shop" } },
};
static struct wmk_ctl_session sessions[] = {
	{ .name = "one",
	  .path = "/nowhere/one",
	  .uid = 1,
	  .created = 2,
	  .active = true,
	  .started = true,
	  .channels = { channels, 2 },
	  .trackers = { .pid = true, .uid = true, .pids = { pids, 2 } },
	  .counts = { .lost = 3 } },
	{ .name = "two" },
};

static const char saved_one[] =
	"{\n"
	"\t\"version\": 1,\n"
	"\t\"session\": {\n"
	"\t\t\"name\": \"one\",\n"
	"\t\t\"path\": \"/nowhere/one\",\n"
	"\t\t\"channels\": [\n"
	"\t\t\t{\n"
	"\t\t\t\t\"name\": \"c\",\n"
	"\t\t\t\t\"mode\": \"overwrite\",\n"
	"\t\t\t\t\"subbuf_size\": 4096,\n"
	"\t\t\t\t\"contexts\": [\"vpid\"],\n"
	"\t\t\t\t\"rules\": [\n"
	"\t\t\t\t\t{ \"pattern\": \"a:*\", \"exclusions\": [\"a:x\"], \"enabled\": true },\n";

struct rig {
	struct fake fake;
	struct waymark_ctl *ctl;
	char home[64];
};

static int setup(void **state)
{
	struct rig *rig = calloc(1, sizeof(*rig));
	struct waymark_ctl_connect_options options = { .size = sizeof(options), .start = WAYMARK_CTL_START_NEVER };

	*state = rig;
	strcpy(rig->home, "/tmp/wmk-home-XXXXXX");
	assert_non_null(mkdtemp(rig->home));
	setenv("HOME", rig->home, 1);
	fake_open(&rig->fake, (uid_t)-1);
	rig->fake.sessions = (struct wmk_list){ sessions, 2 };
	options.rundir = rig->fake.dir;
	return waymark_ctl_connect(&options, &rig->ctl);
}

static int teardown(void **state)
{
	struct rig *rig = *state;
	char command[100];

	waymark_ctl_close(rig->ctl);
	fake_close(&rig->fake);
	snprintf(command, sizeof(command), "rm -rf %s", rig->home);
	int status = system(command);
	free(rig);
	return status;
}

static void assert_says(const char *what)
{
	char text[1400];

	if (!strstr(waymark_ctl_error_text(text, sizeof(text)), what))
		fail_msg("'%s' does not say '%s'", text, what);
}

/* Return the path of a file in the home directory, in one of four buffers. */
static const char *at_home(const struct rig *rig, const char *name)
{
	static char paths[4][200];
	static unsigned next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", rig->home, name);
	return path;
}

static void write_text(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fputs(text, file) < 0, 0);
	fclose(file);
}

static void assert_holds(const char *path, const char *beginning)
{
	char text[8192] = "";
	struct stat st;
	FILE *file = fopen(path, "r");

	assert_non_null(file);
	assert_int_equal(fstat(fileno(file), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	fclose(file);
	if (strncmp(text, beginning, strlen(beginning)) != 0)
		fail_msg("%s holds %s", path, text);
	assert_null(strstr(text, "matched"));
	assert_null(strstr(text, "counts"));
	assert_null(strstr(text, "active"));
	assert_null(strstr(text, "uid\": 1"));
}

static int save(struct rig *rig, const char *session, const char *path, bool replace,
		struct waymark_ctl_result **result)
{
	const struct waymark_ctl_save_options options = {
		.size = sizeof(options), .session = session, .path = path, .replace = replace
	};

	return waymark_ctl_save(rig->ctl, &options, result);
}

static void saved_sessions_replace_files_only_on_request(void **state)
{
	struct rig *rig = *state;
	const struct waymark_ctl_session_info *const *saved;
	struct waymark_ctl_result *result;
	const char *const *files;

	assert_int_equal(save(rig, NULL, NULL, false, &result), 0);
	assert_int_equal(waymark_ctl_result_files(result, &files), 2);
	assert_string_equal(files[0], at_home(rig, ".waymark/sessions/one.json"));
	assert_string_equal(files[1], at_home(rig, ".waymark/sessions/two.json"));
	assert_int_equal(waymark_ctl_result_sessions(result, &saved), 2);
	assert_true(saved[0]->active && saved[0]->channels[0]->rules[0]->matched == 12);
	assert_holds(files[0], saved_one);
	assert_holds(files[1], "{\n\t\"version\": 1,\n\t\"session\": {\n\t\t\"name\": \"two\"\n\t}\n}\n");
	waymark_ctl_result_free(result);
	/* An existing file is replaced only on request. */
	assert_int_equal(save(rig, "one", NULL, false, NULL), -EEXIST);
	assert_says("the file exists");
	assert_int_equal(save(rig, "one", NULL, true, NULL), 0);
	/* A file given by name; a directory, which is created. */
	assert_int_equal(save(rig, "two", at_home(rig, "my.json"), false, NULL), 0);
	assert_holds(at_home(rig, "my.json"), "{\n\t\"version\": 1,");
	assert_int_equal(save(rig, NULL, at_home(rig, "made"), false, NULL), 0);
	assert_holds(at_home(rig, "made/one.json"), saved_one);
	assert_int_equal(save(rig, NULL, at_home(rig, "all.json"), false, NULL), -EINVAL);
	assert_says("cannot save 2 sessions to the single file");
	assert_int_equal(save(rig, "three", NULL, false, NULL), -ENOENT);
	rig->fake.sessions.n = 0;
	assert_int_equal(save(rig, NULL, NULL, false, NULL), -ENOENT);
	assert_int_equal(access(at_home(rig, ".waymark/sessions/.waymark-1-0.tmp"), F_OK), -1);
}

/* Links are not followed, and a daemon with an invalid session name cannot cause a write elsewhere. */
static void save_does_not_follow_links_or_write_elsewhere(void **state)
{
	struct rig *rig = *state;
	struct wmk_ctl_session liar = { .name = "../liar" };
	struct stat st;

	write_text(at_home(rig, "victim"), "untouched");
	assert_int_equal(symlink(at_home(rig, "victim"), at_home(rig, "link.json")), 0);
	assert_int_equal(save(rig, "two", at_home(rig, "link.json"), false, NULL), -EEXIST);
	assert_int_equal(save(rig, "two", at_home(rig, "link.json"), true, NULL), 0);
	assert_int_equal(lstat(at_home(rig, "link.json"), &st), 0);
	assert_true(S_ISREG(st.st_mode));
	assert_int_equal(stat(at_home(rig, "victim"), &st), 0);
	assert_int_equal(st.st_size, 9);
	assert_int_equal(mkdir(at_home(rig, "elsewhere"), 0700), 0);
	assert_int_equal(symlink("elsewhere", at_home(rig, ".waymark")), 0);
	assert_int_equal(save(rig, "two", NULL, false, NULL), -ENOTDIR);
	assert_says("cannot open the directory .waymark");
	rig->fake.sessions = (struct wmk_list){ &liar, 1 };
	assert_int_equal(save(rig, NULL, at_home(rig, "made"), false, NULL), -EINVAL);
	assert_says("invalid session name: '/'");
	assert_int_equal(access(at_home(rig, "liar.json"), F_OK), -1);
}

/* ── load ────────────────────────────────────────────────────────────────────────────────────────────── */

static void assert_asked(struct rig *rig, const char *const *lines)
{
	char home[100], want[500];

	for (unsigned i = 0;; i++) {
		char *line = fake_log(&rig->fake, i);

		if (!lines[i]) {
			assert_string_equal(line, "");
			free(line);
			return;
		}
		/* HOME in a line stands for the home directory. */
		snprintf(home, sizeof(home), "\"home\": \"%s\"", rig->home);
		const char *mark = strstr(lines[i], "HOME");
		snprintf(want, sizeof(want), "%.*s%s%s",
			 mark ? (int)(mark - lines[i]) : 499, lines[i], mark ? home : "", mark ? mark + 4 : "");
		assert_string_equal(line, want);
		free(line);
	}
}

static void load_sends_the_requests_that_restore_saved_sessions(void **state)
{
	static const char *const asked[] = {
		"create {\"name\": \"one\",\"path\": \"/nowhere/one\",HOME}",
		"track {\"session\": \"one\",\"ids\": [4, 5]}",
		"untrack {\"session\": \"one\",\"kind\": \"uid\",\"all\": true}",
		"enable-channel {\"session\": \"one\",\"channel\": {\"name\": \"c\",\"mode\": "
		"\"overwrite\",\"subbuf_size\": 4096,"
		"\"contexts\": [\"vpid\"],\"rules\": [{ \"pattern\": \"a:*\", \"exclusions\": [\"a:x\"], \"enabled\": "
		"true },{ \"pattern\": \"b:*\", \"level_op\": \"exactly\", \"level\": \"info\", \"enabled\": true },"
		"{ \"pattern\": \"c:*\", \"enabled\": true },{ \"pattern\": \"c:*\", \"level_op\": \"at-least\", "
		"\"enabled\": true }],\"enabled\": true}}",
		"disable-event {\"session\": \"one\",\"channel\": \"c\",\"patterns\": [\"b:*\"]}",
		"enable-channel {\"session\": \"one\",\"channel\": {\"name\": \"d\",\"domain\": {\"kind\": "
		"\"exec\",\"exec\": \"shop\"},\"enabled\": true}}",
		"disable-channel {\"session\": \"one\",\"channel\": \"d\",\"domain\": {\"kind\": \"exec\",\"exec\": "
		"\"shop\"}}",
		"list-sessions {\"session\": \"one\"}",
		"create {\"name\": \"two\",HOME}",
		"list-sessions {\"session\": \"two\"}",
		NULL,
	};
	struct waymark_ctl_load_options options = { .size = sizeof(options) };
	struct rig *rig = *state;
	const struct waymark_ctl_session_info *const *loaded;
	struct waymark_ctl_result *result;
	const char *const *texts;

	assert_int_equal(save(rig, NULL, NULL, false, NULL), 0);
	fake_log_clear(&rig->fake);
	assert_int_equal(waymark_ctl_load(rig->ctl, &options, &result), 0);
	assert_asked(rig, asked);
	assert_int_equal(waymark_ctl_result_files(result, &texts), 2);
	assert_int_equal(waymark_ctl_result_sessions(result, &loaded), 2);
	assert_string_equal(loaded[1]->name, "two");
	assert_int_equal(waymark_ctl_result_warnings(result, &texts), 1);
	assert_non_null(strstr(texts[0], "the pattern 'c:*' were disabled"));
	waymark_ctl_result_free(result);
}

/* A session of that name exists until it is destroyed. */
static bool there_is_one;

static bool with_one_there(struct fake *fake, int sock, const struct wmk_frame *frame, const void *request)
{
	const bool is_create = frame->type == WMK_CTL_CREATE, is_destroy = frame->type == WMK_CTL_DESTROY;
	const char *name = is_create    ? ((const struct wmk_ctl_create *)request)->name
			   : is_destroy ? ((const struct wmk_ctl_session_name *)request)->session
					: "";

	fake->refuse = there_is_one && !strcmp(name, "two") ? WMK_CTL_CREATE : 0;
	fake->refuse_errno = EEXIST;
	fake->refuse_words = "there is one already";
	there_is_one = there_is_one && !(is_destroy && !strcmp(name, "two"));
	return fake_answer(fake, sock, frame, request);
}

static void name_and_output_are_overridden_only_for_a_single_loaded_session(void **state)
{
	static const char *const asked[] = {
		"create {\"name\": \"new\",\"path\": \"/other\",HOME}", "list-sessions {\"session\": \"new\"}", NULL,
	};
	struct rig *rig = *state;
	struct waymark_ctl_load_options options = {
		.size = sizeof(options), .session = "two", .name = "new", .output = "/other", .replace = true,
	};

	assert_int_equal(save(rig, NULL, NULL, false, NULL), 0);
	fake_log_clear(&rig->fake);
	rig->fake.sessions = (struct wmk_list){ 0 };
	/* the daemon does not list the session that it has created */
	assert_int_equal(waymark_ctl_load(rig->ctl, &options, NULL), -ENOENT);
	assert_asked(rig, asked);
	options.output = NULL;
	rig->fake.sessions = (struct wmk_list){ sessions, 2 };
	options.session = NULL;
	options.name = "new";
	assert_int_equal(waymark_ctl_load(rig->ctl, &options, NULL), -EINVAL);
	assert_says("cannot apply one name or path to 2 sessions");
	options.output = "/o";
	options.default_output = true;
	assert_int_equal(waymark_ctl_load(rig->ctl, &options, NULL), -EINVAL);
}

static void forced_load_replaces_a_session_only_on_name_conflict(void **state)
{
	static const char *const asked[] = { "create {\"name\": \"two\",HOME}", NULL };
	char tried[80], gone[80];
	const char *const replaced[] = {
		"create {\"name\": \"two\",HOME}",
		tried,
		gone,
		"destroy {\"session\": \"two\"}",
		"create {\"name\": \"two\",HOME}",
		"list-sessions {\"session\": \"two\"}",
		NULL,
	};
	struct rig *rig = *state;
	struct waymark_ctl_load_options options = { .size = sizeof(options), .session = "two" };

	assert_int_equal(save(rig, NULL, NULL, false, NULL), 0);
	fake_log_clear(&rig->fake);
	there_is_one = true;
	rig->fake.handler = with_one_there;
	assert_int_equal(waymark_ctl_load(rig->ctl, &options, NULL), -EEXIST);
	assert_says("there is one already");
	assert_asked(rig, asked);
	options.replace = true;
	fake_log_clear(&rig->fake);
	snprintf(tried, sizeof(tried), "create {\"name\": \"loading-%d\",HOME}", (int)getpid());
	snprintf(gone, sizeof(gone), "destroy {\"session\": \"loading-%d\"}", (int)getpid());
	assert_int_equal(waymark_ctl_load(rig->ctl, &options, NULL), 0);
	assert_asked(rig, replaced);
	/* after another error, no session is destroyed */
	rig->fake.handler = NULL;
	rig->fake.refuse = WMK_CTL_CREATE;
	rig->fake.refuse_errno = ENOTEMPTY;
	rig->fake.refuse_words = "there are photos";
	fake_log_clear(&rig->fake);
	assert_int_equal(waymark_ctl_load(rig->ctl, &options, NULL), -ENOTEMPTY);
	assert_asked(rig, asked);
}

static void loaded_session_does_not_write_into_an_existing_trace(void **state)
{
	struct rig *rig = *state;
	struct waymark_ctl_load_options options = { .size = sizeof(options), .path = at_home(rig, "one.json") };
	struct wmk_ctl_session there = { .name = "one", .path = at_home(rig, "trace") };
	struct waymark_ctl_result *result;
	const char *const *warnings;

	rig->fake.sessions = (struct wmk_list){ &there, 1 };
	assert_int_equal(save(rig, "one", options.path, false, NULL), 0);
	assert_int_equal(mkdir(there.path, 0700), 0);
	write_text(at_home(rig, "trace/metadata"), "");
	fake_log_clear(&rig->fake);
	rig->fake.refuse = WMK_CTL_LIST_SESSIONS;
	rig->fake.refuse_errno = EIO;
	rig->fake.refuse_words = "enough";
	assert_int_equal(waymark_ctl_load(rig->ctl, &options, NULL), -EIO);
	char *line = fake_log(&rig->fake, 0);
	assert_null(strstr(line, "trace"));
	free(line);
	rig->fake.refuse = 0;
	assert_int_equal(waymark_ctl_load(rig->ctl, &options, &result), 0);
	assert_int_equal(waymark_ctl_result_warnings(result, &warnings), 1);
	assert_non_null(strstr(warnings[0], "contains a trace"));
	waymark_ctl_result_free(result);
}

/* If a part fails, the incomplete session is destroyed, and the first error is reported. */
static void session_is_destroyed_if_a_part_of_it_cannot_be_loaded(void **state)
{
	struct rig *rig = *state;
	struct waymark_ctl_load_options options = { .size = sizeof(options), .session = "one" };

	assert_int_equal(save(rig, NULL, NULL, false, NULL), 0);
	fake_log_clear(&rig->fake);
	rig->fake.refuse = WMK_CTL_ENABLE_CHANNEL;
	rig->fake.refuse_errno = ENOSPC;
	rig->fake.refuse_words = "no room: not enough memory";
	assert_int_equal(waymark_ctl_load(rig->ctl, &options, NULL), -ENOSPC);
	assert_says(
		"cannot load session 'one': cannot create channel 'c': the command 'enable-channel' failed: no room: "
		"not enough memory");
	char *last = fake_log(&rig->fake, 4);
	assert_string_equal(last, "destroy {\"session\": \"one\"}");
	free(last);
}

static void invalid_saved_sessions_are_refused_with_reason(void **state)
{
	static const struct {
		const char *text, *says;
	} bad[] = {
		{ "", "line 1 is not valid JSON" },
		{ "{}", "a saved session of version 0" },
		{ "{\"version\": 2}", "a saved session of version 2" },
		{ "{\"version\": 1, \"session\": {\"nam\": \"x\"}}",
		  "not a saved session: in session: 'session' has no member 'nam' (perhaps: name" },
		{ "{\"version\": 1, \"session\": {}}", "invalid session name ''" },
		{ "{\"version\": 1, \"session\": {\"name\": \"a/b\"}}", "'/' and control characters are not allowed" },
		{ "{\"version\": 1, \"session\": {\"name\": \"x\", \"channels\": [{\"name\": \"c\", \"domain\": "
		  "{\"kind\": \"pid\", \"pid\": 1,\"start_time\": 999999999999}}]}}",
		  "process 1 of channel 'c' has ended" },
	};
	struct rig *rig = *state;
	struct waymark_ctl_load_options options = { .size = sizeof(options), .path = at_home(rig, "bad.json") };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		write_text(options.path, bad[i].text);
		assert_true(waymark_ctl_load(rig->ctl, &options, NULL) < 0);
		assert_says(bad[i].says);
	}
	char *line = fake_log(&rig->fake, 0);
	assert_string_equal(line, "");           /* no request was sent */
	free(line);
	options.session = "other";
	write_text(options.path, "{\"version\": 1, \"session\": {\"name\": \"x\"}}");
	assert_int_equal(waymark_ctl_load(rig->ctl, &options, NULL), -ENOENT);
	assert_says("it contains session 'x', not 'other'");
	options.session = NULL;
	options.path = at_home(rig, "nothing");
	assert_int_equal(waymark_ctl_load(rig->ctl, &options, NULL), -ENOENT);
	options.path = rig->home;
	unlink(at_home(rig, "bad.json"));
	assert_int_equal(waymark_ctl_load(rig->ctl, &options, NULL), -ENOENT);
	assert_says("no saved sessions in");
	options.path = "/dev/zero";
	assert_int_equal(waymark_ctl_load(rig->ctl, &options, NULL), -EINVAL);
	assert_says("not a regular file");
	options.path = at_home(rig, "fifo.json");
	assert_int_equal(mkfifo(options.path, 0600), 0);
	assert_int_equal(waymark_ctl_load(rig->ctl, &options, NULL), -EINVAL);
	options.path = at_home(rig, "large.json");
	write_text(options.path, "");
	assert_int_equal(truncate(options.path, 1 << 30), 0);
	assert_int_equal(waymark_ctl_load(rig->ctl, &options, NULL), -EFBIG);
}

#define WITH_RIG(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_RIG(saved_sessions_replace_files_only_on_request),
		WITH_RIG(save_does_not_follow_links_or_write_elsewhere),
		WITH_RIG(load_sends_the_requests_that_restore_saved_sessions),
		WITH_RIG(name_and_output_are_overridden_only_for_a_single_loaded_session),
		WITH_RIG(forced_load_replaces_a_session_only_on_name_conflict),
		WITH_RIG(loaded_session_does_not_write_into_an_existing_trace),
		WITH_RIG(session_is_destroyed_if_a_part_of_it_cannot_be_loaded),
		WITH_RIG(invalid_saved_sessions_are_refused_with_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
