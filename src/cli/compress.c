/* SPDX-License-Identifier: MIT */
/*
 * compress.c - `waymark compress`: replace traces by compressed ones (store/compress_directory.h).
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/command.h"
#include "read/trace.h"
#include "store/compress_directory.h"

/* Compress one trace at its absolute path. The string is modified. */
static int compress_at(char *path, struct wmk_compress_result *done)
{
	char *name = strrchr(path, '/'), *slash = name;
	const int trace = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int parent, err = 0;

	if (trace >= 0 && wmk_read_is_written(trace))
		err = wmk_errorx(-EBUSY, "the trace is being written (destroy its session first)");
	if (trace >= 0)
		close(trace);
	if (err < 0)
		return err;
	*slash = '\0';
	parent = open(slash == path ? "/" : path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	*slash = '/';
	if (parent < 0)
		return wmk_error(-errno, "cannot open the directory above the trace");
	err = wmk_compress_directory(parent, name + 1, done);
	close(parent);
	return err;
}

static void report(const char *path, const struct wmk_compress_result *done, struct wmk_cli_json *json)
{
	char before[32], after[32];

	if (json) {
		wmk_cli_json_open(json, NULL, '{');
		wmk_cli_json_text(json, "trace", path);
		wmk_cli_json_u64(json, "files", done->streams);
		wmk_cli_json_u64(json, "bytes", done->plain);
		wmk_cli_json_u64(json, "compressed_bytes", done->compressed);
		wmk_cli_json_close(json, '}');
	} else if (!done->streams) {
		printf("%s: nothing to compress\n", wmk_cli_clean(path));
	} else {
		printf("%s: %" PRIu32 " file%s, %s compressed to %s\n", wmk_cli_clean(path), done->streams,
		       wmk_cli_plural(done->streams), wmk_cli_bytes_text(done->plain, before, sizeof(before)),
		       wmk_cli_bytes_text(done->compressed, after, sizeof(after)));
	}
}

/* Compress one trace. Returns 0, or -errno after it has printed the error. */
static int compress_one(const char *path, struct wmk_cli_json *json)
{
	struct wmk_compress_result done;
	char words[8 * WMK_ERROR_LEN];
	char *whole = realpath(path, NULL);
	int err = whole ? compress_at(whole, &done) : wmk_error(-errno, "cannot find the trace");

	free(whole);
	if (err < 0) {
		wmk_error_add(err, "'%.240s' is not compressed", path);
		wmk_cli_warn("%s", wmk_cli_clean(wmk_error_text(words, sizeof(words))));
		wmk_error_clear();
		return err;
	}
	report(path, &done, json);
	return 0;
}

static int run_compress(void *data, char **rest, int n_rest)
{
	const struct wmk_cli_common *args = data;
	struct wmk_cli_json json = { .out = stdout };
	struct wmk_read_paths found = { NULL, 0, 0 };
	int err = 0, status = 0;

	if (!n_rest)
		return wmk_error(-EINVAL, "no trace given: give its directory, or a directory above it");
	for (int i = 0; i < n_rest && err >= 0; i++)
		err = wmk_read_traces_find(rest[i], &found);
	if (err < 0) {
		wmk_read_paths_free(&found);
		return wmk_cli_failed();
	}
	if (args->json) {
		wmk_cli_json_open(&json, NULL, '{');
		wmk_cli_json_open(&json, "traces", '[');
	}
	for (uint32_t i = 0; i < found.n; i++)
		if (compress_one(found.paths[i], args->json ? &json : NULL) < 0)
			status = WMK_CLI_FAILED;
	if (args->json) {
		wmk_cli_json_close(&json, ']');
		wmk_cli_json_close(&json, '}');
		putchar('\n');
	}
	wmk_read_paths_free(&found);
	return status;
}

static const char *const details[] = {
	"Replaces each trace in and below the directories by a compressed one. `waymark view`, `waymark convert` and "
	"libwaymark-ctf read it like an uncompressed trace, and --begin still uses the index.",
	"The stream files become files of zstd with the suffix .zst, in frames of whole packets with checksums. All "
	"other files are copied. The compressed trace is written beside the uncompressed trace and replaces it by one "
	"rename, so a crash leaves one complete trace. Both traces use disk space until the rename.",
	"Other readers, such as babeltrace2 and Trace Compass, cannot read compressed traces. For them, `waymark "
	"convert --to ctf` writes a plain trace; `zstd -d --rm` in the trace's directory restores the same bytes.",
	"A trace that is being written is not compressed; the exit status is then 1, as after other failures.",
	NULL
};

static const struct wmk_cli_option options[] = { WMK_CLI_OPTION_JSON };

const struct wmk_cli_command wmk_cli_compress = {
	.name = "compress",
	.arguments = "DIR...",
	.summary = "Compress traces",
	.details = details,
	WMK_CLI_OPTIONS(options),
	.args_size = sizeof(struct wmk_cli_common),
	.run = run_compress,
};
