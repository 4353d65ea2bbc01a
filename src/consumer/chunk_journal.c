/* SPDX-License-Identifier: MIT */
/*
 * chunk_journal.c - write and read the journal of a rotation (see chunk_journal.h).
 */
#include "consumer/chunk_journal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEAD "waymark-rotation 2\n"
#define STREAM 255                 /* bytes of the name of a stream, at most */

static int __attribute__((format(printf, 2, 3))) append(char **text, const char *format, ...)
{
	const size_t len = *text ? strlen(*text) : 0;
	char line[STREAM + 300], *grown;
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	grown = realloc(*text, len + strlen(line) + 1);
	if (!grown)
		return -ENOMEM;
	strcpy(grown + len, line);
	*text = grown;
	return 0;
}

int wmk_chunk_journal_begin(char **text, uint64_t chunk, const char *name)
{
	return append(text, HEAD "chunk %" PRIu64 " %.255s\n", chunk, name);
}

int wmk_chunk_journal_add(char **text, const char *stream, const struct wmk_ring_cut *cut)
{
	return append(text, "cut %" PRIu64 " %" PRIu64 " %" PRIu64 " %.255s\n", cut->pos, cut->ts, cut->records,
		      stream);
}

int wmk_chunk_journal_counts(char **text, const char *channel, const struct wmk_counts *counts)
{
	int err = append(text, "counts");

#define WMK_COUNT(name)                                                                                                \
	if (err == 0)                                                                                                  \
		err = append(text, " %" PRIu64, counts->name);
#define WMK_COUNT_INTERNAL(name) WMK_COUNT(name)
#include "wire/counts.def"
	return err < 0 ? err : append(text, " %.255s\n", channel);
}

int wmk_chunk_journal_end(char **text)
{
	return append(text, "end\n");
}

void wmk_chunk_journal_free(struct wmk_chunk_journal *journal)
{
	for (size_t i = 0; i < journal->n; i++)
		free(journal->cuts[i].stream);
	for (size_t i = 0; i < journal->n_counts; i++)
		free(journal->counts[i].channel);
	free(journal->cuts);
	free(journal->counts);
	*journal = (struct wmk_chunk_journal){ NULL, 0, NULL, 0 };
}

/* Parse the name at the end of a line, after a space. */
static int name_of(const char *line, char **name)
{
	if (*line++ != ' ' || strcspn(line, "\n") == 0 || strcspn(line, "\n") > STREAM)
		return -EINVAL;
	*name = strndup(line, strcspn(line, "\n"));
	return *name ? 0 : -ENOMEM;
}

static int add_counts(struct wmk_chunk_journal *journal, const char *line)
{
	struct wmk_chunk_counts *grown = realloc(journal->counts, (journal->n_counts + 1) * sizeof(*grown)), *one;
	int at, err;

	if (!grown)
		return -ENOMEM;
	journal->counts = grown;
	one = &grown[journal->n_counts];
	line += strlen("counts");
#define WMK_COUNT(name)                                                                                                \
	if (sscanf(line, " %" SCNu64 "%n", &one->counts.name, &at) != 1)                                               \
		return -EINVAL;                                                                                        \
	line += at;
#define WMK_COUNT_INTERNAL(name) WMK_COUNT(name)
#include "wire/counts.def"
	err = name_of(line, &one->channel);
	journal->n_counts += err == 0;
	return err;
}

static int add(struct wmk_chunk_journal *journal, const char *line)
{
	struct wmk_chunk_cut *grown, *one;
	int at = 0, err;

	if (strncmp(line, "counts ", strlen("counts ")) == 0)
		return add_counts(journal, line);
	grown = realloc(journal->cuts, (journal->n + 1) * sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	journal->cuts = grown;
	one = &grown[journal->n];
	if (sscanf(line, "cut %" SCNu64 " %" SCNu64 " %" SCNu64 "%n", &one->cut.pos, &one->cut.ts, &one->cut.records,
		   &at) != 3)
		return -EINVAL;
	err = name_of(line + at, &one->stream);
	journal->n += err == 0;
	return err;
}

int wmk_chunk_journal_parse(const char *text, uint64_t chunk, struct wmk_chunk_journal *journal)
{
	const char *line = text + strlen(HEAD);
	uint64_t number;
	int err = 0;

	*journal = (struct wmk_chunk_journal){ NULL, 0, NULL, 0 };
	if (strncmp(text, HEAD, strlen(HEAD)) != 0 || sscanf(line, "chunk %" SCNu64 " ", &number) != 1 ||
	    number != chunk)
		return -EINVAL;
	while (err == 0 && (line = strchr(line, '\n')) != NULL && strcmp(++line, "end\n") != 0)
		err = add(journal, line);
	if (err == 0 && !line)
		err = -EINVAL;
	if (err < 0)
		wmk_chunk_journal_free(journal);
	return err;
}

const struct wmk_ring_cut *wmk_chunk_journal_find(const struct wmk_chunk_journal *journal, const char *stream)
{
	for (size_t i = 0; i < journal->n; i++)
		if (strcmp(journal->cuts[i].stream, stream) == 0)
			return &journal->cuts[i].cut;
	return NULL;
}

const struct wmk_counts *wmk_chunk_journal_find_counts(const struct wmk_chunk_journal *journal, const char *channel)
{
	for (size_t i = 0; i < journal->n_counts; i++)
		if (strcmp(journal->counts[i].channel, channel) == 0)
			return &journal->counts[i].counts;
	return NULL;
}
