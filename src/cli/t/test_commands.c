/* SPDX-License-Identifier: MIT */
/*
 * test_commands.c - requests, output and rejected arguments of each command; fake_ctl.c replaces libwaymark-ctl.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "cli/command.h"
#include "cli/current.h"
#include "cli/daemon.h"
#include "fake_ctl.h"

static char home[] = "/tmp/waymark-cli-XXXXXX", said[16384];

/* Redirect standard output and error to a file until captured(). */
static int capture(int fd[3])
{
	char path[64];

	snprintf(path, sizeof(path), "%s/said", home);
	fflush(stdout);
	fd[0] = dup(1);
	fd[1] = dup(2);
	fd[2] = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	return fd[2] >= 0 && dup2(fd[2], 1) == 1 && dup2(fd[2], 2) == 2 ? 0 : -1;
}

static void captured(int fd[3])
{
	ssize_t n;

	fflush(stdout);
	dup2(fd[0], 1);
	dup2(fd[1], 2);
	n = pread(fd[2], said, sizeof(said) - 1, 0);
	said[n > 0 ? n : 0] = '\0';
	for (unsigned i = 0; i < 3; i++)
		close(fd[i]);
}

/* Run a command line like main(), without "waymark". Returns the exit status. */
static int run(const char *line)
{
	char text[512], *argv[40];
	const struct wmk_cli_command *command;
	int argc = 0, fd[3], status;

	snprintf(text, sizeof(text), "%s", line);
	for (char *word = strtok(text, " "); word; word = strtok(NULL, " "))
		argv[argc++] = word;
	argv[argc] = NULL;
	command = wmk_cli_look_up(argv[0]);
	assert_non_null(command);
	memset(fake.asked, 0, sizeof(fake.asked));
	assert_int_equal(capture(fd), 0);
	status = wmk_cli_run(command, argv + 1, argc - 1);
	captured(fd);
	assert_int_equal(fake.results, 0);
	return status;
}

static void asks(const char *line, const char *asked)
{
	int status = run(line);

	if (status != 0 || strcmp(fake.asked, asked) != 0)
		fail_msg("`%s`: status %d, requests '%s', expected '%s'; output '%s'", line, status, fake.asked, asked,
			 said);
}

static void says(const char *words)
{
	if (!strstr(said, words))
		fail_msg("missing output '%s' in '%s'", words, said);
}

static void refuses(const char *line, const char *words)
{
	int status = run(line);

	if (status != WMK_CLI_USAGE || fake.asked[0] || !strstr(said, words) || !strstr(said, "usage: waymark"))
		fail_msg("`%s`: status %d, requests '%s', output '%s', expected '%s'", line, status, fake.asked, said,
			 words);
}

static void fails(const char *line, const char *words)
{
	int status = run(line);

	if (status != WMK_CLI_FAILED || !strstr(said, words))
		fail_msg("`%s`: status %d, output '%s', expected '%s'", line, status, said, words);
}

/* ── sessions and applications ───────────────────────────────────────────────────────────────────────── */

static struct waymark_ctl_counts counts = { .records = 120, .lost = 3, .lost_full = 3, .bytes = 1500000 }, none;
static const struct waymark_ctl_trackers trackers;
static const char *const exclusions[] = { "a:b" }, *const contexts[] = { "vpid", "ip" };
static const struct waymark_ctl_rule_info rule = {
	.pattern = "a:*", .exclusions = exclusions, .n_exclusions = 1, .level_op = WAYMARK_CTL_AT_LEAST, .level = 4,
	.enabled = true, .matched = 2, .filter = "", .place = "",
}, plain = { .pattern = "a:*", .enabled = true, .matched = 5, .filter = "", .place = "" },
filtered = { .pattern = "a:f", .enabled = true, .matched = 1, .filter = "n>1", .place = "" },
*const rules[] = { &rule, &plain, &filtered };
static struct waymark_ctl_channel_info channel = {
	.name = "chan",
	.subbuf_size = 4096,
	.n_subbufs = 4,
	.enabled = true,
	.contexts = contexts,
	.n_contexts = 2,
	.rules = rules,
	.n_rules = 3,
	.counts = &counts,
	.memory = 2100000,
};
static const struct waymark_ctl_channel_info *const channels[] = { &channel };
static struct waymark_ctl_session_info one = {
	.name = "one", .path = "/traces/one", .shm_path = "", .url = "", .description = "", .snapshot_name = "",
	.snapshot_path = "", .active = true, .started = true,
	.channels = channels, .n_channels = 1, .trackers = &trackers, .counts = &counts,
}, two = { .name = "two", .path = "/traces/two", .shm_path = "/shm/two-1", .url = "", .description = "",
	  .snapshot_name = "", .snapshot_path = "",
	  .trackers = &trackers, .counts = &none };
static const struct waymark_ctl_field_info field = { "amount", "f64", "EUR" }, *const fields[] = { &field };
static const struct waymark_ctl_event_info event = {
	.provider = "shop", .name = "pa\033id", .level = 6, .file = "shop.c", .line = 12, .enabled = true,
	.fields = fields, .n_fields = 1,
}, *const app_events[] = { &event };
static const struct waymark_ctl_app_info app = {
	.pid = 77,
	.name = "shop",
	.exe = "/usr/bin/shop",
	.connected = true,
	.n_known = 1,
	.events = app_events,
	.n_events = 1,
	.why = "",
};

static int setup(void **state)
{
	(void)state;
	memset(&fake, 0, sizeof(fake));
	fake.sessions[0] = &one;
	fake.sessions[1] = &two;
	fake.n_sessions = 2;
	return wmk_current_set("one");
}

static int begin(void **state)
{
	(void)state;
	if (!mkdtemp(home) || setenv("WAYMARK_HOME", home, 1) < 0 || setenv("COLUMNS", "80", 1) < 0)
		return -1;
	return 0;
}

static int end(void **state)
{
	char path[64];

	(void)state;
	wmk_current_forget(NULL);
	snprintf(path, sizeof(path), "%s/said", home);
	unlink(path);
	snprintf(path, sizeof(path), "%s/.waymark", home);
	rmdir(path);
	return rmdir(home);
}

/* ── tests ───────────────────────────────────────────────────────────────────────────────────────────── */

static void session_commands_send_their_requests(void **state)
{
	char asked[128], name[256];

	(void)state;
	snprintf(asked, sizeof(asked), "create two /there %s; ", home);
	asks("create two -o /there", asked);
	says("Session two: its trace will be in /traces/two");
	assert_int_equal(wmk_current_get(name, sizeof(name)), 0);
	assert_string_equal(name, "two");
	snprintf(asked, sizeof(asked), "create two - %s live 1000000; ", home);
	asks("create two --live", asked);
	snprintf(asked, sizeof(asked), "create two - %s live 50000; ", home);
	asks("create two --live=50ms", asked);
	asks("create two --live=50000", asked);
	snprintf(asked, sizeof(asked), "create two - %s; del-output two -; ", home);
	asks("create two --no-output", asked);
	says("Session two writes nothing; `waymark snapshot record DIR`");
	refuses("create two --no-output -o /there", "exclude each other");
	refuses("create two --live=0", "too short: at least 1 microseconds");
	refuses("create two --live=soon", "not a time: give microseconds");
	refuses("create two --live=2000000s", "too long: at most");
	asks("set-session one", "");
	asks("start", "start one; ");
	says("Session one records into /traces/one");
	asks("start two", "start two; ");
	asks("start -s two", "start two; ");
	asks("stop", "stop one; ");
	says("Session one stopped: 120 records, 3 lost, 1.5 MB in /traces/one");
	says("channel chan of session one lost 3 records: its buffers were full; try --num-subbuf 2048 or "
	     "--subbuf-size 2M");
	asks("stop --all --json", "stop ALL; ");
	says("{\"about\":\"\"}");
	asks("clear two", "clear two; ");
	asks("reclaim-memory -u chan -c a,b --older-than 2m", "reclaim-memory one a b chan 120000000; ");
	asks("rotate two", "rotate two; ");
	asks("enable-rotation two --timer=2s --size 1M --retain-age=1h",
	     "enable-rotation two 2000000 1048576 0 3600000000 0; ");
	says("no scheduled rotations");
	refuses("enable-rotation two", "no schedule given");
	asks("disable-rotation two --size", "disable-rotation two 2; ");
	asks("destroy two", "destroy two; ");
	says("Session two destroyed: 0 records, 0 lost");
	assert_int_equal(wmk_current_get(name, sizeof(name)), 0);
	asks("start --glob t*", "start glob t*; ");
	says("Session two records into /traces/two");
	asks("clear --glob t*", "clear glob t*; ");
	asks("stop --glob t* --no-wait", "stop glob t* no-wait; ");
	says("Session two stops: its last records are being written to /traces/two");
	asks("destroy -n two", "destroy two no-wait; ");
	asks("list --glob t*", "list glob t*; ");
	asks("list --mem-usage", "");
	says("All sessions: ");
	asks("list one --mem-usage", "");
	says("  chan                          2.1 MB");
	refuses("list --glob t* one", "exclude each other");
	refuses("list --glob t* --kernel", "--glob lists sessions");
	refuses("stop --glob t* --all", "--all and --glob exclude each other");
	refuses("destroy --glob t* one", "--glob and a session");
	asks("destroy", "destroy one; ");
	assert_int_equal(wmk_current_get(name, sizeof(name)), -ENOENT);
	fails("start", "waymark create");
	fake.error = "there is no session 'tow'";
	fails("set-session tow", "there is no session 'tow'");
	refuses("start a b", "give one session");
	refuses("start a -s b", "two sessions given");
	refuses("destroy a --all", "exclude each other");
	refuses("set-session", "no session given");
}

static void enable_channel_sends_its_settings(void **state)
{
	(void)state;
	asks("enable-channel chan", "enable-channel one chan mode 0 buffers 0 0 x 0 block 0 files 0 x 0; ");
	says("Channel chan of session one is enabled: 4 sub-buffers of 4k");
	asks("enable-channel -u a,b -s two --overwrite --num-subbuf 3 --subbuf-size=6000 --buffers-pid -C 1M -W 5 "
	     "--pid 12 --follow",
	     "enable-channel two a pid 12 follow mode 1 buffers 1 4 x 8192 block 0 files 5 x 1048576; "
	     "enable-channel two b pid 12 follow mode 1 buffers 1 4 x 8192 block 0 files 5 x 1048576; ");
	says("rounded up to 8k, a power of two");
	asks("enable-channel c --discard --blocking-timeout inf --exec sh",
	     "enable-channel one c exec sh mode 0 buffers 0 0 x 0 block -1 files 0 x 0; ");
	asks("enable-channel c --blocking-timeout=100",
	     "enable-channel one c mode 0 buffers 0 0 x 0 block 100 files 0 x 0; ");
	asks("enable-channel c --buffer-ownership process --buffer-allocation=per-channel "
	     "--buffer-preallocation on-demand",
	     "enable-channel one c mode 0 buffers 1 0 x 0 block 0 files 0 x 0; allocation 1 2 poll 0; ");
	asks("enable-channel c --wake timer",
	     "enable-channel one c mode 0 buffers 0 0 x 0 block 0 files 0 x 0; allocation 0 0 poll 100000; ");
	asks("enable-channel c --read-timer 5ms --auto-reclaim-memory older-than:1ms",
	     "enable-channel one c mode 0 buffers 0 0 x 0 block 0 files 0 x 0; allocation 0 0 poll 5000; idle 1000; ");
	refuses("enable-channel c --wake=writer --read-timer 5ms", "exclude each other");
	refuses("enable-channel c --buffer-ownership user --buffers-pid", "exclude each other");
	asks("disable-channel chan -s one", "disable-channel one chan; ");
	refuses("enable-channel", "no channel given");
	refuses("enable-channel c --overwrite --discard", "--discard and --overwrite");
	refuses("enable-channel c --buffers-uid --buffers-pid", "--buffers-uid and --buffers-pid");
	refuses("enable-channel c --overwrite --blocking-timeout 5", "exclude each other");
	refuses("enable-channel c --overwrite --num-subbuf 2", "the minimum is 4");
	refuses("enable-channel c --overwrite --flush-interval 5", "exclude each other");
	refuses("enable-channel c --tracefile-count 2", "--tracefile-size");
	refuses("enable-channel c --tracefile-size 4k --subbuf-size 1M", "at least one sub-buffer");
	refuses("enable-channel c --blocking-timeout soon", "microseconds");
	refuses("enable-channel c --subbuf-sise 1", "did you mean --subbuf-size");
	refuses("enable-channel c --follow", "--pid or --exec");
	fake.rc = -ENOENT;
	fails("disable-channel cahn", "did you mean: chan?");
}

static void enable_event_sends_its_rules(void **state)
{
	(void)state;
	asks("enable-event a:*", "enable-event one - a:*; ");
	says("Session one, channel chan: a:* enabled, 5 events so far");
	asks("enable-event a:* -x a:b --loglevel warning", "enable-event one - a:*!a:b level 1 4 4; ");
	says("Session one, channel chan: a:* enabled, 2 events so far");
	asks("enable-event -u a:*,b d -c chan -x x,y --exclude z -s two",
	     "enable-event two chan a:*!x!y!z b!x!y!z d!x!y!z; ");
	asks("enable-event a:f,b --filter n>1", "enable-event one - a:f if n>1 b if n>1; ");
	says("Session one, channel chan: a:f enabled, 1 event so far");
	refuses("enable-event a:f --filter=", "the filter is empty");
	asks("enable-event -a", "enable-event one - *; ");
	asks("enable-event a --loglevel WARNING", "enable-event one - a level 1 4 4; ");
	asks("enable-event a --loglevel=TRACE_INFO", "enable-event one - a level 1 6 6; ");
	asks("enable-event a --loglevel-only 14", "enable-event one - a level 2 14 14; ");
	asks("enable-event a --loglevel info..err --exec prog --follow",
	     "enable-event one - exec prog follow a level 3 3 6; ");
	asks("disable-event a:*,b -c chan", "disable-event one chan a:* b; ");
	asks("disable-event --all-events", "disable-event one -; ");
	asks("enable-event -k sched_*,irq:*", "enable-event one - kernel sched_* irq:*; ");
	asks("enable-event -k --syscall openat,syscall:read",
	     "enable-event one - kernel syscall:openat syscall:read; ");
	asks("enable-event -k --syscall --all", "enable-event one - kernel syscall:*; ");
	asks("enable-event -k x --pid 7 --follow", "enable-event one - kernel pid 7 follow x; ");
	asks("enable-event -k --probe vfs_read(count) reads",
	     "enable-event one - kernel reads probe 1 vfs_read(count); ");
	asks("enable-event -k --function f g", "enable-event one - kernel g probe 3 f; ");
	asks("enable-event -k --userspace-probe sdt:/dev/null:p:n g",
	     "enable-event one - kernel g probe 4 sdt:/dev/null:p:n; ");
	refuses("enable-event -k --userspace-probe /nowhere/at/all:f g",
		"cannot find the program or library /nowhere/at/all");
	refuses("enable-event -k --userspace-probe main g", "PATH:SYMBOL");
	refuses("enable-event --probe f g", "add --kernel");
	refuses("enable-event --syscall openat", "add --kernel");
	refuses("enable-event -k --probe f g,h", "exactly one name");
	refuses("enable-event -k --probe f --function g h", "two probes given");
	refuses("enable-event -k -u x", "exclude each other");
	refuses("enable-event -k x --exec a", "give a process (--pid)");
	refuses("enable-event", "--all");
	refuses("enable-event -a x", "exclude each other");
	refuses("enable-event x,", "empty");
	refuses("enable-event x --loglevel wraning", "warning");
	refuses("enable-event x --loglevel 15", "from 0 (emerg) to 14 (debug)");
	refuses("enable-event x --loglevel info..", "unknown log level");
	refuses("enable-event x --loglevel 1 --loglevel-only 2", "two log level conditions");
	refuses("enable-event x --pid 1 --exec a", "exclude each other");
	fake.unanswered[0] = &app;
	fake.n_unanswered = 1;
	fake.warnings[0] = "a sentence";
	fake.n_warnings = 1;
	asks("enable-event b --json", "enable-event one - b; ");
	says("warning: a sentence");
	says("1 application has not confirmed the change yet, and will apply it as soon as it can: shop (pid 77)");
	fake.rc = -ENOENT;
	fails("enable-event a -c cahn", "did you mean: chan?");
	fake.rc = -EACCES;
	fake.error = "it is not yours";
	fails("enable-event a", "it is not yours");
}

static void contexts_and_trackers_are_sent_or_rejected(void **state)
{
	(void)state;
	asks("add-context -t vpid -tvtid,ip procname -c chan", "add-context one chan vpid vtid ip procname; ");
	asks("add-context --list", "");
	says("vpid ");
	asks("add-context --list --json", "");
	says("[{\"name\":\"vpid\"");
	refuses("add-context -t vpdi", "did you mean: vpid");
	refuses("add-context -t vpid cpu_di", "did you mean: cpu_id");
	refuses("add-context", "no context given");
	asks("track --pid 1,2 --uid root", "track one 0 1 2; track one 1 0; ");
	asks("track --vpid=7", "track one 0 7; ");
	asks("track --pid --all", "track one 0 all; ");
	asks("untrack --gid --uid --all -s two", "untrack two 1 all; untrack two 2 all; ");
	asks("track --kernel --pid=7,8", "track one 3 7 8; ");
	asks("untrack -k --pid --all", "untrack one 3 all; ");
	refuses("track -k --pid 1 --uid root", "use --pid");
	refuses("track -k -u --pid 1", "give one domain");
	refuses("track", "nothing to track");
	refuses("track --pid", "--pid has no list");
	refuses("track --pid 1 --all", "give one of them");
	refuses("track 12", "--pid");
	fails("track --pid x", "not a process number");
	fails("track --pid 1 --uid no-such-user", "unknown user");
	assert_string_equal(fake.asked, "");     /* no request for the other kinds either */
	fake.rc = -E2BIG;
	fake.error = "too many";
	fails("track --pid 1 --uid root", "error: too many");
	assert_string_equal(fake.asked, "track one 0 1; ");
	fake.good = 2;
	fails("untrack --pid 1 --uid root --gid 0", "--gid not applied; already applied: --pid and --uid: too many");
}

static void save_load_and_regenerate_send_their_requests(void **state)
{
	(void)state;
	asks("save", "save ALL -; ");
	says("saved /saved/one.json");
	asks("save one -o /dir -f", "save one /dir replace; ");
	asks("load two -i x.json --override-name three --override-output /there",
	     "load two x.json name three output /there; ");
	asks("load --all --default-output --force", "load ALL - replace name - output - default; ");
	refuses("load --default-output --override-output x", "exclude each other");
	setenv("WAYMARK_SESSIONS", "/tmp/waymark-automatic", 1);
	asks("save one --auto", "save one /tmp/waymark-automatic; ");
	says("loads and starts each saved session");
	unsetenv("WAYMARK_SESSIONS");
	refuses("save one --all", "exclude each other");
	refuses("save one --auto -o /dir", "exclude each other");
	fake.rc = -EEXIST;
	fails("save", "--force");
	fails("load", "--override-name");
	fake.rc = -EBUSY;
	fails("load", "--override-output");
	fake.rc = 0;
	asks("regenerate metadata", "regenerate one 0; ");
	asks("regenerate statedump -s two", "regenerate two 1; ");
	asks("snapshot record", "snapshot one - - 0; ");
	asks("snapshot record --name n --max-size=2M /tmp/x -s two", "snapshot two n /tmp/x 2097152; ");
	asks("snapshot add-output --max-size=1k /tmp", "add-output one - /tmp 1024; ");
	asks("snapshot del-output", "del-output one -; ");
	asks("snapshot del-output name", "del-output one name; ");
	refuses("snapshot", "no action given");
	refuses("snapshot take", "the actions are: record");
	refuses("snapshot add-output", "no directory given");
	refuses("snapshot list-output --name=x", "record and add-output only");
	refuses("snapshot record a b", "unexpected argument");
	refuses("regenerate", "metadata or statedump");
	refuses("regenerate metadat", "the arguments are: metadata");
}

static void list_prints_sessions_applications_and_names(void **state)
{
	static const struct waymark_ctl_relay_info relay = { .session = "", .path = "/a/two-2", .url = "tls://away",
							     .behind = 7000, .spooled = 80000, .error = "refused" };

	(void)state;
	fake.relays[fake.n_relays++] = &relay;
	asks("list", "");
	says("two-2            not connected    7.0 kB   80.0 kB  tls://away\n    session destroyed; ");
	says("* one  "), says("  two  ");
	asks("status", "");
	says("a:*                              except a:b level warning or more severe enabled, 2 events matched");
	says("with vpid, ip");
	asks("list one -c chan", "");
	asks("list --json", "");
	says("{\"about\":\"\"}");
	fails("list one -c chna", "did you mean: chan?");
	fake.apps[0] = &app;
	fake.n_apps = 1;
	asks("list -u", "apps 1 0; ");
	says("shop (pid 77, user root, /usr/bin/shop): 1 event");
	says("shop:pa?id");
	assert_null(strstr(said, "amount"));
	asks("list -f --pid 77", "apps 1 77; ");
	says("amount");
	says("f64 (EUR)");
	asks("list --names sessions", "");
	assert_string_equal(said, "one\ntwo\n");
	asks("list --names channels", "");
	assert_string_equal(said, "chan\n");
	asks("list --names events -u", "apps 1 0; ");
	assert_string_equal(said, "shop:pa?id\n");
	asks("list --names levels", "");
	says("emerg\n");
	refuses("list --names thing", "the kinds are: sessions, channels, events, contexts, levels");
	refuses("list --names chanels", "the kinds are: channels");
	refuses("convert --to jsn dir",
		"unknown format 'jsn'; the formats are text, json, csv, chrome, perfetto, folded, ctf, ctf-2; did you "
		"mean json, csv?");
	refuses("convert --from wordy dir", "unknown log format 'wordy'; the formats are syslog,");
	refuses("list -u one", "give no session or channel");
	refuses("list --pid 1", "--userspace");
	refuses("status one", "takes no arguments");
	fake.n_sessions = 0;
	asks("list", "");
	says("waymark create");
}

static void list_kernel_prints_events_and_missing_features(void **state)
{
	static const struct waymark_ctl_field_info tid = { "prev_tid", "s32", "" };
	static const struct waymark_ctl_field_info *const inside[] = { &tid };
	static const struct waymark_ctl_event_info events[] = {
		{ .provider = "irq",
		  .name = "irq_softirq_entry",
		  .file = "events/irq/softirq_entry",
		  .fields = inside,
		  .n_fields = 1 },
		{ .provider = "syscall",
		  .name = "open\033at",
		  .file = "events/syscalls/sys_enter_openat",
		  .enabled = true },
	};

	(void)state;
	fake.apps[0] = &app;
	fake.n_apps = 1;
	fake.events[0] = &events[0];
	fake.events[1] = &events[1];
	fake.n_events = 2;
	asks("list -k", "kernel 0 1; ");
	says("The kernel (2 events, timestamps from its clock x86-tsc):");
	says("irq:softirq_entry\n");
	says("syscall:open?at                       system call                                   enabled\n");
	says("has all features");
	assert_null(strstr(said, "prev_tid"));
	fake.lacks[0] = "no probes\033";
	fake.n_lacks = 1;
	asks("list -k -f sched_*,irq_* syscall:open*", "kernel 1 1 sched_* irq_* syscall:open*; ");
	says("      prev_tid  s32\n");
	says("Features that this kernel lacks:\n  - no probes?\n");
	asks("list --json -k", "kernel 0 1; ");
	says("{\"about\":\"\"}");
	/* completion does not test the features of the kernel */
	asks("list --names events -k", "kernel 0 0; ");
	assert_string_equal(said, "irq_softirq_entry\nsyscall:open?at\n");
	asks("list --names events", "apps 1 0; kernel 0 0; ");
	assert_string_equal(said, "shop:pa?id\nirq_softirq_entry\nsyscall:open?at\n");
	fake.kernel_rc = -EACCES;
	fake.error = "the kernel needs root";
	asks("list --names events", "apps 1 0; kernel 0 0; ");
	assert_string_equal(said, "shop:pa?id\n");
	fails("list --names events -k", "needs root");
	fails("list -k", "needs root");
	refuses("list -k -u", "give one domain");
	refuses("list -k -s one", "give no session or channel");
	refuses("list -k -c chan", "give no session or channel");
	refuses("list -k --pid 1", "--pid needs --userspace");
	refuses("list -k a,,b", "empty word");
}

/* -n goes before the command. */
static void option_n_does_not_start_a_daemon(void **state)
{
	(void)state;
	asks("list", "");
	assert_int_equal(fake.starts, 1);
	wmk_cli_no_sessiond = true;
	asks("list", "");
	wmk_cli_no_sessiond = false;
	assert_int_equal(fake.connects, 2);
	assert_int_equal(fake.starts, 1);
}

static void loss_is_printed_with_the_option_that_avoids_it(void **state)
{
	(void)state;
	one.active = false;
	counts = (struct waymark_ctl_counts){ .lost = 1, .lost_size = 1 };
	asks("stop", "stop one; ");
	says("larger than a sub-buffer; try --subbuf-size 8k");
	counts = (struct waymark_ctl_counts){ .lost = 1, .lost_memory = 1 };
	asks("stop", "stop one; ");
	says("try --num-subbuf 2, which uses less");
	counts = (struct waymark_ctl_counts){ .lost = 12, .unwritten = 5, .overwritten = 7 };
	asks("stop", "stop one; ");
	says("12 lost (7 overwritten by newer ones)");
	says("lost 5 records: they could not be written");
	counts = (struct waymark_ctl_counts){ .lost = 7, .overwritten = 7 };
	asks("stop", "stop one; ");
	assert_null(strstr(said, "warning"));    /* overwrite mode loses records on purpose */
	counts = (struct waymark_ctl_counts){ .records = 1, .cut = 2 };
	asks("destroy", "destroy one; ");
	says("1 record, 0 lost");
	says("2 strings or sequences were cut");
}

/* If the daemon does not reply, or refuses the directory, the files in an existing directory are not removed. */
static void failed_record_keeps_files_of_an_existing_directory(void **state)
{
	char dir[80], file[96], line[200];

	(void)state;
	snprintf(dir, sizeof(dir), "%s/photos", home);
	snprintf(file, sizeof(file), "%s/one", dir);
	assert_int_equal(mkdir(dir, 0700), 0);
	assert_int_equal(mkdir(file, 0700), 0);
	snprintf(line, sizeof(line), "record -o %s -- /bin/true", dir);
	for (unsigned i = 0; i < 2; i++) {
		fake.rc = i ? -ENOTEMPTY : -ETIMEDOUT;
		assert_int_equal(run(line), WMK_CLI_FAILED);
		assert_non_null(strstr(fake.asked, "create record-true-"));
		assert_int_equal(access(file, F_OK), 0);
	}
	fake.rc = 0;
	assert_int_equal(rmdir(file), 0);
	assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(session_commands_send_their_requests, setup),
		cmocka_unit_test_setup(enable_channel_sends_its_settings, setup),
		cmocka_unit_test_setup(enable_event_sends_its_rules, setup),
		cmocka_unit_test_setup(contexts_and_trackers_are_sent_or_rejected, setup),
		cmocka_unit_test_setup(save_load_and_regenerate_send_their_requests, setup),
		cmocka_unit_test_setup(list_prints_sessions_applications_and_names, setup),
		cmocka_unit_test_setup(list_kernel_prints_events_and_missing_features, setup),
		cmocka_unit_test_setup(option_n_does_not_start_a_daemon, setup),
		cmocka_unit_test_setup(loss_is_printed_with_the_option_that_avoids_it, setup),
		cmocka_unit_test_setup(failed_record_keeps_files_of_an_existing_directory, setup),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
