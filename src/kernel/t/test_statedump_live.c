/* SPDX-License-Identifier: MIT */
/*
 * test_statedump_live.c - the state dump of this machine, with processes made for the test: names with odd bytes,
 * threads, a thread with its own file table, files of every kind, mappings, a zombie, namespaces. It is written to a
 * trace, which babeltrace2 reads without a warning, and which compare_proc.py compares with its own reading of /proc.
 * Values that only this program knows are checked here.
 *
 *     test-kernel-statedump-live COMPARE_PROC.PY
 */
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "dump_rig.h"
#include "store/t/handmade.h"
#include "store/t/testdir.h"

#define NAME "a) S\n(\xff b"
#define MAPPED_AT 0x20000000000ull

static const char *compare_script;

/* ── the processes ───────────────────────────────────────────────────────────────────────────────────── */

struct child {
	pid_t pid;
	int32_t tids[2];           /* of its other threads */
};

static void must(bool so, const char *words)
{
	if (!so) {
		perror(words);
		_exit(1);
	}
}

static void put_fd(int fd, int at)
{
	must(fd >= 0 && dup3(fd, at, O_CLOEXEC * (at & 1)) == at, "dup3");
	close(fd);
}

static void open_files(const char *dir)
{
	char path[512];
	int ends[2];

	must(chdir(dir) == 0, "chdir");
	put_fd(open("/dev/null", O_RDONLY), 100);
	put_fd(open("a b\nc \"q\"", O_RDWR | O_CREAT | O_APPEND, 0600), 101);
	put_fd(open("deleted", O_WRONLY | O_CREAT, 0600), 102);
	must(unlink("deleted") == 0, "unlink");
	put_fd(open(".", O_PATH | O_DIRECTORY), 103);
	put_fd(eventfd(0, 0), 104);
	put_fd(epoll_create1(0), 105);
	put_fd(socket(AF_UNIX, SOCK_STREAM, 0), 106);
	must(pipe2(ends, O_NONBLOCK) == 0, "pipe2");
	put_fd(ends[0], 107);
	put_fd(ends[1], 108);
	put_fd(memfd_create("memory", 0), 109);
	snprintf(path, sizeof(path), "%s/a b\nc \"q\"", dir);
	put_fd(open(path, O_RDONLY | O_NOFOLLOW), 110);
}

static void map_memory(void)
{
	const size_t page = 4096;
	char *at;

	must(ftruncate(101, 4 * 4096) == 0, "ftruncate");
	at = mmap((void *)(uintptr_t)MAPPED_AT, 2 * page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, 101,
		  (off_t)page);
	must(at != MAP_FAILED, "mmap");
	must(mmap(at + 4 * page, page, PROT_READ, MAP_SHARED | MAP_FIXED, 110, 0) != MAP_FAILED, "mmap");
	must(mmap(at + 8 * page, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED,
	     "mmap");
}

static int ready[2];

static void say_ready(int32_t tid)
{
	must(write(ready[1], &tid, sizeof(tid)) == sizeof(tid), "write");
}

static void *thread_main(void *data)
{
	prctl(PR_SET_NAME, data ? "own files" : "second thread!!");
	if (data) {
		must(unshare(CLONE_FILES) == 0, "unshare");
		must(open("/dev/zero", O_RDONLY) >= 0 && close(100) == 0, "another file");
	}
	say_ready(gettid());
	for (;;)
		pause();
	return NULL;
}

static void child_main(const char *dir)
{
	pthread_t thread;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, NAME);
	open_files(dir);
	map_memory();
	must(pthread_create(&thread, NULL, thread_main, NULL) == 0 &&
		     pthread_create(&thread, NULL, thread_main, ready) == 0,
	     "pthread_create");
	say_ready(getpid());
	for (;;)
		pause();
}

static int32_t receive_tid(void)
{
	int32_t tid = 0;

	assert_int_equal(read(ready[0], &tid, sizeof(tid)), sizeof(tid));
	return tid;
}

static struct child make_child(const char *dir)
{
	struct child child = { .pid = fork() };

	if (child.pid == 0)
		child_main(dir);
	assert_true(child.pid > 0);
	for (unsigned received = 0, n = 0; received < 3; received++) {
		const int32_t tid = receive_tid();

		if (tid != child.pid)
			child.tids[n++] = tid;
	}
	return child;
}

/* Fork a process in its own namespaces: 0 if that is not permitted. */
static pid_t make_boxed(void)
{
	pid_t pid = fork(), inner;
	char path[64];
	int fd;

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (unshare(CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWNET | CLONE_NEWNS |
			    CLONE_NEWCGROUP) < 0) {
			say_ready(0);
			_exit(0);
		}
		inner = fork();
		if (inner == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (;;)
				pause();
		}
		say_ready(inner > 0);
		for (;;)
			pause();
	}
	assert_true(pid > 0);
	if (!receive_tid()) {
		waitpid(pid, NULL, 0);
		return 0;
	}
	snprintf(path, sizeof(path), "/proc/%d/uid_map", pid);
	fd = open(path, O_WRONLY);
	if (fd >= 0) {
		assert_int_equal(write(fd, "7 0 1\n", 6), 6);
		close(fd);
	}
	return pid;
}

static pid_t only_child_of(pid_t pid)
{
	char path[64], text[64] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
	file = fopen(path, "r");
	assert_true(file && fgets(text, sizeof(text), file));
	fclose(file);
	return atoi(text);
}

static pid_t make_zombie(void)
{
	const pid_t pid = fork();
	siginfo_t info;

	if (pid == 0)
		_exit(0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	return pid;
}

/* Wait until the task sleeps in pause(): then its state does not change any more. */
static void await_pause(pid_t pid)
{
	char path[64], text[1024];
	FILE *file;
	char *at;

	do {
		snprintf(path, sizeof(path), "/proc/%d/stat", pid);
		file = fopen(path, "r");
		assert_non_null(file);
		text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
		fclose(file);
		at = strrchr(text, ')');
		assert_non_null(at);
		sched_yield();
	} while (at[2] != 'S');
}

/* ── the trace ───────────────────────────────────────────────────────────────────────────────────────── */

struct trace {
	struct wmk_store *store;
	struct wmk_store_stream *stream;
	struct handmade packet;
	uint64_t now;
};

static uint64_t tick(void *data)
{
	return ++((struct trace *)data)->now;
}

static int put(void *data, unsigned event, uint64_t ts, const void *payload, size_t len)
{
	struct trace *trace = data;

	if (trace->packet.len + len + 64 > sizeof(trace->packet.bytes) - WMK_CTF_PACKET_ROOM) {
		assert_int_equal(handmade_append(trace->stream, &trace->packet, 0), 0);
		handmade_packet(&trace->packet, ts);
	}
	handmade_compact(&trace->packet, event, ts);
	handmade_put(&trace->packet, payload, len);
	return 0;
}

static void write_trace(const char *path, struct wmk_kstatedump_counts *counts)
{
	static const unsigned contexts[] = { 0 };
	struct trace *trace = calloc(1, sizeof(*trace));
	const struct wmk_kstatedump_options options = {
		.parts = WMK_KSTATEDUMP_ALL, .clock = tick, .clock_data = trace, .counts = counts
	};

	assert_non_null(trace);
	assert_int_equal(wmk_store_create(path, "kernel", &trace->store), 0);
	assert_int_equal(wmk_store_stream_create(trace->store, "state_0", NULL, &trace->stream), 0);
	handmade_start(trace->store, contexts);
	for (uint32_t i = 0; i < WMK_KSTATEDUMP_EVENTS; i++)
		handmade_event(trace->store, i, &wmk_kstatedump_classes[i]);
	handmade_packet(&trace->packet, 1);
	assert_int_equal(wmk_kstatedump(&options, put, trace), 0);
	assert_int_equal(handmade_append(trace->stream, &trace->packet, 0), 0);
	assert_int_equal(wmk_store_stream_close(trace->stream), 0);
	wmk_store_close(trace->store);
	free(trace);
}

/* ── the test ────────────────────────────────────────────────────────────────────────────────────────── */

static void expect_ours(const struct dump_rig *rig, const struct child *child, const char *dir)
{
	struct stat st;
	char path[400], other[64];

	dump_rig_once(rig, "file_descriptor{ file_table_address=%d fd=100 flags=%u fmode=1 filename=\"/dev/null\" } ",
		      child->pid, 0100000u);
	dump_rig_once(rig,
		      "file_descriptor{ file_table_address=%d fd=101 flags=%u fmode=3 filename=\"%s/a b\nc \"q\"\" } ",
		      child->pid, 0100000u | O_RDWR | O_APPEND | O_CLOEXEC, dir);
	dump_rig_once(rig,
		      "file_descriptor{ file_table_address=%d fd=102 flags=%u fmode=2 filename=\"%s/deleted "
		      "(deleted)\" } ",
		      child->pid, 0100001u, dir);
	dump_rig_once(rig, "file_descriptor{ file_table_address=%d fd=103 flags=%u fmode=16384 filename=\"%s\" } ",
		      child->pid, (unsigned)(O_PATH | O_DIRECTORY | O_CLOEXEC), dir);
	snprintf(path, sizeof(path), "%s/a b\nc \"q\"", dir);
	assert_int_equal(stat(path, &st), 0);
	dump_rig_once(rig, "vm_map{ pid=%d start=%llu end=%llu flags=%u inode=%llu pgoff=4096 } ", child->pid,
		      MAPPED_AT, MAPPED_AT + 0x2000, 0x8bu, (unsigned long long)st.st_ino);
	dump_rig_once(rig, "vm_map{ pid=%d start=%llu end=%llu flags=%u inode=%llu pgoff=0 } ", child->pid,
		      MAPPED_AT + 0x4000, MAPPED_AT + 0x5000, 0x81u, (unsigned long long)st.st_ino);
	dump_rig_once(rig, "vm_map{ pid=%d start=%llu end=%llu flags=0 inode=0 pgoff=0 } ", child->pid,
		      MAPPED_AT + 0x8000, MAPPED_AT + 0x9000);
	/* One of its other threads has its own file table. */
	snprintf(path, sizeof(path), "file_descriptor{ file_table_address=%d ", child->tids[0]);
	snprintf(other, sizeof(other), "file_descriptor{ file_table_address=%d ", child->tids[1]);
	assert_true((dump_rig_begin(rig, path) == 0) != (dump_rig_begin(rig, other) == 0));
	assert_true(dump_rig_begin(rig, "network_interface{ name=\"lo\" ") >= 1);
	assert_int_equal(dump_rig_begin(rig, "cpu_topology"), sysconf(_SC_NPROCESSORS_ONLN));
}

static void boxed_is_boxed(const struct dump_rig *rig, pid_t outer, pid_t inner)
{
	char line[128];

	dump_rig_once(rig, "process_pid_ns{ tid=%d vtid=%d vpid=%d vppid=%d ns_level=0 ns_inum=4026531836 } ", inner,
		      inner, inner, outer);
	snprintf(line, sizeof(line), "process_pid_ns{ tid=%d vtid=1 vpid=1 vppid=0 ns_level=1 ns_inum=", inner);
	assert_int_equal(dump_rig_begin(rig, line), 1);
	snprintf(line, sizeof(line), "process_user_ns{ tid=%d vuid=7 vgid=65534 ns_level=1 ns_inum=", inner);
	assert_int_equal(dump_rig_begin(rig, line), 1);
	dump_rig_once(rig, "process_user_ns{ tid=%d vuid=0 vgid=0 ns_level=0 ns_inum=4026531837 } ", inner);
}

static void state_dump_of_the_running_system_matches_proc(void **state)
{
	char dir[256], path[300], command[1024], *out, *err;
	struct wmk_kstatedump_counts counts;
	struct dump_rig rig;
	struct child child;
	pid_t boxed, zombie;
	int status;

	(void)state;
	testdir_make(dir);
	assert_int_equal(pipe2(ready, 0), 0);
	child = make_child(dir);
	boxed = getuid() == 0 ? make_boxed() : 0;
	zombie = make_zombie();
	await_pause(child.pid);
	await_pause(child.tids[0]);
	await_pause(child.tids[1]);
	snprintf(path, sizeof(path), "%s/trace", dir);
	write_trace(path, &counts);
	snprintf(command, sizeof(command), "python3 %s %s %d %d %d", compare_script, path, getpid(), child.pid, zombie);
	if (boxed)
		snprintf(command + strlen(command), 64, " %d %d", boxed, only_child_of(boxed));
	status = testdir_run(command, &out, &err);
	if (status)
		fail_msg("%s: %d\n%s%s", command, status, out, err);
	print_message("%s", out);
	free(out);
	free(err);
	dump_rig_open(&rig);
	assert_int_equal(dump_rig_run(&rig, (struct wmk_kstatedump_options){ .parts = WMK_KSTATEDUMP_ALL }), 0);
	expect_ours(&rig, &child, dir);
	if (boxed)
		boxed_is_boxed(&rig, boxed, only_child_of(boxed));
	else
		print_message("skipped: namespaces, because this user may not create them\n");
	dump_rig_close(&rig);
	for (unsigned i = 0; i < 2; i++)
		if ((i ? boxed : child.pid) > 0) {
			kill(i ? boxed : child.pid, SIGKILL);
			waitpid(i ? boxed : child.pid, NULL, 0);
		}
	waitpid(zombie, NULL, 0);
	testdir_remove(dir);
}

/* ── addresses ───────────────────────────────────────────────────────────────────────────────────────── */

/*
 * Run in its own network namespace, with a single interface that is down. Returns 0; the number of the failed step; 77:
 * a namespace is not permitted.
 */
static int addressed(void)
{
	static const char line[] = "network_interface{ name=\"lo\" address_ipv4=167838211 } ";
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr = { htonl(0x0a010203) } };
	struct ifreq request = { .ifr_name = "lo" };
	struct dump_rig rig;
	size_t before, after;
	int fd;

	if (unshare(CLONE_NEWNET) < 0)
		return 77;
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	memcpy(&request.ifr_addr, &address, sizeof(address));
	if (fd < 0 || ioctl(fd, SIOCSIFADDR, &request) < 0 || ioctl(fd, SIOCGIFFLAGS, &request) < 0)
		return 1;
	request.ifr_flags &= (short)~IFF_UP;
	if (ioctl(fd, SIOCSIFFLAGS, &request) < 0)
		return 2;
	dump_rig_open(&rig);
	if (dump_rig_run(&rig, (struct wmk_kstatedump_options){ .parts = WMK_KSTATEDUMP_NETWORK }) != 0)
		return 3;
	before = dump_rig_count(&rig, line);
	request.ifr_flags |= IFF_UP;
	if (ioctl(fd, SIOCSIFFLAGS, &request) < 0 ||
	    dump_rig_run(&rig, (struct wmk_kstatedump_options){ .parts = WMK_KSTATEDUMP_NETWORK }) != 0)
		return 4;
	after = dump_rig_count(&rig, line);
	dump_rig_close(&rig);
	close(fd);
	return before ? 5 : after != 1 ? 6 : 0;
}

static void state_dump_has_addresses_of_interfaces_that_are_up(void **state)
{
	const pid_t pid = fork();
	int status;

	(void)state;
	if (pid == 0)
		_exit(addressed());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(state_dump_of_the_running_system_matches_proc),
					    cmocka_unit_test(state_dump_has_addresses_of_interfaces_that_are_up) };

	if (argc < 2)
		return 2;
	compare_script = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
