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

#define HEAD "waymark-rotation 1\n"
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

int wmk_chunk_journal_end(char **text)
{
	return append(text, "end\n");
}

void wmk_chunk_journal_free(struct wmk_chunk_journal *journal)
{
	for (size_t i = 0; i < journal->n; i++)
		free(journal->cuts[i].stream);
	free(journal->cuts);
	*journal = (struct wmk_chunk_journal){ NULL, 0 };
}

static int add(struct wmk_chunk_journal *journal, const char *line)
{
	struct wmk_chunk_cut *grown = realloc(journal->cuts, (journal->n + 1) * sizeof(*grown)), *one;
	const char *name;
	int at = 0;

	if (!grown)
		return -ENOMEM;
	journal->cuts = grown;
	one = &grown[journal->n];
	if (sscanf(line, "cut %" SCNu64 " %" SCNu64 " %" SCNu64 "%n", &one->cut.pos, &one->cut.ts, &one->cut.records,
		   &at) != 3 ||
	    line[at] != ' ')
		return -EINVAL;
	name = line + at + 1;
	if (strcspn(name, "\n") == 0 || strcspn(name, "\n") > STREAM)
		return -EINVAL;
	one->stream = strndup(name, strcspn(name, "\n"));
	if (!one->stream)
		return -ENOMEM;
	journal->n++;
	return 0;
}

int wmk_chunk_journal_parse(const char *text, uint64_t chunk, struct wmk_chunk_journal *journal)
{
	const char *line = text + strlen(HEAD);
	uint64_t number;
	int err = 0;

	*journal = (struct wmk_chunk_journal){ NULL, 0 };
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
