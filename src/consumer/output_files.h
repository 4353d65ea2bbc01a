/* SPDX-License-Identifier: MIT */
/* output_files.h - a directory as the output of a session (output_directory.c), and its requests about whole traces. */
#ifndef WMK_CONSUMER_OUTPUT_FILES_H
#define WMK_CONSUMER_OUTPUT_FILES_H

#include <pthread.h>
#include <stdbool.h>

#include "consumer/output.h"
#include "store/store.h"

#define PID_SUB "ust/pid/"          /* directory of the traces of processes */

struct directory_output {
	struct wmk_output output;
	struct wmk_output_directory_options is;  /* its `path` is the next member */
	char *path;
	pthread_mutex_t lock;      /* of `measured` */
	bool measured;
	struct wmk_store_budget budget;
};

/* True if the output counts its bytes. */
static inline bool wmk_output_is_counted(const struct directory_output *output)
{
	return output->is.max_size || output->budget.page;
}

/* Give up the rights of the owner, and return `err`. */
static inline int wmk_output_identity_end(int err)
{
	wmk_store_identity_end();
	return err;
}

/* Members of struct wmk_output_ops. `output`: a struct directory_output. */
int wmk_output_directory_check(struct wmk_output *output);
int wmk_output_directory_each_process(struct wmk_output *output, int (*one)(void *data, const char *name), void *data);
int wmk_output_directory_remove_process(struct wmk_output *output, const char *name);
int wmk_output_directory_archive_process(struct wmk_output *output, const char *name, const char *chunk);
int wmk_output_directory_archive_end(struct wmk_output *output, const char *chunk);
int wmk_output_directory_retain(struct wmk_output *output, const struct wmk_retention *keep,
				void (*log)(const char *words));

#endif
