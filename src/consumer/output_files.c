/* SPDX-License-Identifier: MIT */
/* output_files.c - requests about whole traces and chunks in the directory of a session (see output_files.h). */
#include "consumer/output_files.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "store/archive.h"

int wmk_output_directory_check(struct wmk_output *given)
{
	const struct directory_output *output = (const struct directory_output *)given;
	int err = wmk_store_identity_begin(output->is.uid, output->is.gid);

	if (err < 0)
		return err;
	err = wmk_store_check_path(output->path);
	wmk_store_identity_end();
	if (err == 0 || err == -ENOTEMPTY || err == -ENOTDIR || err == -ELOOP)
		return err;
	return wmk_error(err, "user %u cannot write a trace in %.240s", (unsigned)output->is.uid, output->path);
}

int wmk_output_directory_each_process(struct wmk_output *given, int (*one)(void *data, const char *name), void *data)
{
	const struct directory_output *output = (const struct directory_output *)given;
	int err = wmk_store_identity_begin(output->is.uid, output->is.gid);

	if (err < 0)
		return err;
	return wmk_output_identity_end(wmk_store_each_process(output->path, one, data));
}

int wmk_output_directory_remove_process(struct wmk_output *given, const char *name)
{
	const struct directory_output *output = (const struct directory_output *)given;
	int err = wmk_store_identity_begin(output->is.uid, output->is.gid);

	if (err < 0)
		return err;
	return wmk_output_identity_end(wmk_store_remove_process(output->path, name));
}

int wmk_output_directory_archive_process(struct wmk_output *given, const char *name, const char *chunk)
{
	const struct directory_output *output = (const struct directory_output *)given;
	int err = wmk_store_identity_begin(output->is.uid, output->is.gid);
	char sub[300];

	if (err < 0)
		return err;
	if (!name[0] || name[0] == '.' || strchr(name, '/') || strlen(name) > 255)
		err = wmk_error(-EINVAL, "'%.240s' is not a valid name for the trace of a process", name);
	snprintf(sub, sizeof(sub), PID_SUB "%.255s", name);
	if (err >= 0)
		err = wmk_store_archive(output->path, sub, chunk);
	return wmk_output_identity_end(err);
}

int wmk_output_directory_archive_end(struct wmk_output *given, const char *chunk)
{
	const struct directory_output *output = (const struct directory_output *)given;
	int err = wmk_store_identity_begin(output->is.uid, output->is.gid);

	if (err < 0)
		return err;
	return wmk_output_identity_end(wmk_store_archive_end(output->path, chunk));
}

int wmk_output_directory_retain(struct wmk_output *given, const struct wmk_retention *keep,
				void (*log)(const char *words))
{
	struct directory_output *output = (struct directory_output *)given;
	int err = wmk_store_identity_begin(output->is.uid, output->is.gid);
	struct wmk_retained retained;

	if (err < 0)
		return err;
	err = wmk_retention_apply(output->path, keep, log, &retained);
	/* After an error, the deleted bytes count against the limit until the next measurement. */
	if (retained.deleted && wmk_output_is_counted(output) &&
	    wmk_store_measure_deleted(&output->budget, output->path) < 0)
		wmk_error_clear();
	wmk_store_identity_end();
	return err;
}
