/* SPDX-License-Identifier: MIT */
/*
 * sched_trace.c - write a trace of scheduler events of any size, as a kernel recording has them:
 *
 *     sched_trace DIRECTORY RECORDS THREADS
 *
 * On each of two CPUs, the running thread wakes one of 8 threads of this CPU (sched_waking, sched_wakeup) and blocks.
 * Then the other thread runs (sched_switch). A record begins 1 us after the previous record of its CPU.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define CPUS 2u
#define PACKET (256u << 10)
#define HEADER 88u                     /* packet header and context */
#define FIRST_TID 1000u
#define PARTNERS 8u                    /* threads that a thread wakes */

enum { SWITCH, WAKING, WAKEUP };

static const char *const metadata =
	"/* CTF 1.8 */\n"
	"typealias integer { size = 5; align = 1; signed = false; } := uint5_t;\n"
	"typealias integer { size = 8; align = 8; signed = false; } := uint8_t;\n"
	"typealias integer { size = 16; align = 1; signed = false; } := uint16_bits_t;\n"
	"typealias integer { size = 32; align = 8; signed = false; } := uint32_t;\n"
	"typealias integer { size = 64; align = 8; signed = false; } := uint64_t;\n"
	"typealias integer { size = 32; align = 8; signed = true; } := int32_t;\n"
	"typealias integer { size = 64; align = 8; signed = true; } := int64_t;\n"
	"typealias integer { size = 8; align = 8; signed = false; encoding = UTF8; } := char8_t;\n"
	"trace { major = 1; minor = 8; byte_order = le; uuid = \"0f704c6f-03da-4772-a9ff-5eb70fa4d49b\";\n"
	"\tpacket.header := struct { uint32_t magic; uint8_t uuid[16]; uint32_t stream_id;\n"
	"\t\tuint64_t stream_instance_id; }; };\n"
	"env { hostname = \"bench\"; domain = \"kernel\"; tracer_name = \"lttng-modules\"; tracer_major = 2;\n"
	"\ttracer_minor = 13; tracer_patchlevel = 0; sysname = \"Linux\"; kernel_release = \"6.1.0\"; };\n"
	"clock { name = \"monotonic\"; freq = 1000000000; offset_s = 1700000000; };\n"
	"typealias integer { size = 27; align = 1; signed = false; map = clock.monotonic.value; } := time27_t;\n"
	"typealias integer { size = 64; align = 8; signed = false; map = clock.monotonic.value; } := time64_t;\n"
	"struct packet_context { time64_t timestamp_begin; time64_t timestamp_end; uint64_t content_size;\n"
	"\tuint64_t packet_size; uint64_t packet_seq_num; uint64_t events_discarded; uint32_t cpu_id;\n"
	"\tuint32_t padding; };\n"
	"struct event_header { enum : uint5_t { compact = 0 ... 30, extended = 31 } id;\n"
	"\tvariant <id> { struct { time27_t timestamp; } compact;\n"
	"\t\tstruct { uint32_t id; time64_t timestamp; } extended; } v; } align(8);\n"
	"stream { id = 0; event.header := struct event_header; packet.context := struct packet_context;\n"
	"\tevent.context := struct { int32_t _pid; int32_t _tid; char8_t _procname[16]; }; };\n"
	"event { name = \"sched_switch\"; id = 0; stream_id = 0; fields := struct { char8_t _prev_comm[16];\n"
	"\tint32_t _prev_tid; int32_t _prev_prio; int64_t _prev_state; char8_t _next_comm[16];\n"
	"\tint32_t _next_tid; int32_t _next_prio; } align(8); };\n"
	"event { name = \"sched_waking\"; id = 1; stream_id = 0; fields := struct { char8_t _comm[16]; int32_t _tid;\n"
	"\tint32_t _prio; int32_t _target_cpu; } align(8); };\n"
	"event { name = \"sched_wakeup\"; id = 2; stream_id = 0; fields := struct { char8_t _comm[16]; int32_t _tid;\n"
	"\tint32_t _prio; int32_t _target_cpu; } align(8); };\n";
static const unsigned char uuid[16] = { 0x0f, 0x70, 0x4c, 0x6f, 0x03, 0xda, 0x47, 0x72,
					0xa9, 0xff, 0x5e, 0xb7, 0x0f, 0xa4, 0xd4, 0x9b };

struct stream {
	FILE *file;
	unsigned cpu, n_threads, running;      /* a number of 0 to n_threads - 1 */
	unsigned long long now, begin, packet; /* ns, ns, number */
	unsigned long long random;
	unsigned char buf[PACKET];
	size_t at;
};

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void put(struct stream *stream, const void *bytes, size_t n)
{
	memcpy(stream->buf + stream->at, bytes, n);
	stream->at += n;
}

static void put32(struct stream *stream, unsigned value)
{
	put(stream, &value, sizeof(value));
}

static void put64(struct stream *stream, unsigned long long value)
{
	put(stream, &value, sizeof(value));
}

static void put_name(struct stream *stream, unsigned thread)
{
	char name[16] = "";

	snprintf(name, sizeof(name), "worker-%u", thread % 1000);
	put(stream, name, sizeof(name));
}

static unsigned tid(const struct stream *stream, unsigned thread)
{
	return FIRST_TID + thread * CPUS + stream->cpu;
}

static void end_packet(struct stream *stream)
{
	const size_t used = stream->at;

	stream->at = 0;
	put32(stream, 0xc1fc1fc1);
	put(stream, uuid, sizeof(uuid));
	put32(stream, 0);
	put64(stream, stream->cpu);
	put64(stream, stream->begin);
	put64(stream, stream->now);
	put64(stream, used * 8);
	put64(stream, PACKET * 8ull);
	put64(stream, stream->packet++);
	put64(stream, 0);
	put32(stream, stream->cpu);
	put32(stream, 0);
	memset(stream->buf + used, 0, PACKET - used);
	if (fwrite(stream->buf, PACKET, 1, stream->file) != 1)
		fail("write");
	stream->begin = stream->now;
	stream->at = HEADER;
}

static void begin_record(struct stream *stream, unsigned event)
{
	if (stream->at + 128 > PACKET)
		end_packet(stream);
	stream->now += 1000;
	put32(stream, event | (unsigned)(stream->now & 0x7ffffff) << 5);
	put32(stream, tid(stream, stream->running));
	put32(stream, tid(stream, stream->running));
	put_name(stream, stream->running);
}

static void put_wakeup(struct stream *stream, unsigned event, unsigned thread)
{
	begin_record(stream, event);
	put_name(stream, thread);
	put32(stream, tid(stream, thread));
	put32(stream, 120);
	put32(stream, stream->cpu);
}

/* Three records. */
static void step(struct stream *stream)
{
	unsigned next;

	stream->random = stream->random * 6364136223846793005ull + 1442695040888963407ull;
	next = (stream->running + 1 + (unsigned)(stream->random >> 33) % PARTNERS) % stream->n_threads;
	put_wakeup(stream, WAKING, next);
	put_wakeup(stream, WAKEUP, next);
	begin_record(stream, SWITCH);
	put_name(stream, stream->running);
	put32(stream, tid(stream, stream->running));
	put32(stream, 120);
	put64(stream, 1);
	put_name(stream, next);
	put32(stream, tid(stream, next));
	put32(stream, 120);
	stream->running = next;
}

static FILE *create(const char *directory, const char *name)
{
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	file = fopen(path, "w");
	if (!file)
		fail(path);
	return file;
}

int main(int argc, char **argv)
{
	static struct stream streams[CPUS];
	const unsigned long long records = argc == 4 ? strtoull(argv[2], NULL, 10) : 0;
	const unsigned threads = argc == 4 ? (unsigned)strtoul(argv[3], NULL, 10) : 0;
	FILE *file;

	if (records < 3 || threads < 2 * PARTNERS * CPUS) {
		fprintf(stderr, "usage: sched_trace DIRECTORY RECORDS THREADS\n");
		return 2;
	}
	if (mkdir(argv[1], 0777))
		fail(argv[1]);
	file = create(argv[1], "metadata");
	if (fputs(metadata, file) < 0 || fclose(file))
		fail("metadata");
	for (unsigned i = 0; i < CPUS; i++) {
		char name[] = { 'c', 'p', 'u', (char)('0' + i), '\0' };

		streams[i] = (struct stream){ .file = create(argv[1], name), .cpu = i, .n_threads = threads / CPUS,
					      .random = i + 1, .at = HEADER };
	}
	for (unsigned long long n = 0; n < records; n += 3)
		step(&streams[n / 3 % CPUS]);
	for (unsigned i = 0; i < CPUS; i++) {
		end_packet(&streams[i]);
		if (fclose(streams[i].file))
			fail("close");
	}
	return 0;
}
