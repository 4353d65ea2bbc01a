/* SPDX-License-Identifier: MIT */
/*
 * state_ids.c - the id of each event in each of a session's rings, kept for the next daemon (see state_file.h).
 *
 *     N.ids    {len, id, rings} class   {len, id, rings} class   ...
 *
 * A record is appended in one write, before an application receives the id. When rings end with their process, the
 * records of these rings stay in N.ids. When the file has grown to twice its needed length, records of ended rings are
 * removed.
 */
#include "session/model/session_model.h"
#include "session/recovery/state_entry.h"
#include "session/recovery/state_file.h"

#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TIDY_FROM (256u << 10)       /* bytes */

/* ── append ──────────────────────────────────────────────────────────────────────────────────────────── */

static int ids_open(struct wmk_state *state, struct state_entry *entry)
{
	char name[STATE_NAME];

	wmk_state_file(name, entry->number, "ids");
	entry->ids = openat(state->dir, name, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
	return entry->ids >= 0 ? 0 : wmk_error(-errno, "cannot open the file for ids of events");
}

static int id_append(int ids, const void *record, size_t len)
{
	struct stat st;

	if (fstat(ids, &st) != 0)
		return wmk_error(-errno, "cannot append to the file for ids of events");
	ssize_t n = write(ids, record, len);
	if (n == (ssize_t)len)
		return 0;
	int err = n < 0 ? -errno : -ENOSPC;
	if (ftruncate(ids, st.st_size) != 0)      /* an incomplete record would hide all later ones */
		return wmk_error(err, "cannot write the id of an event, nor remove the incomplete record");
	return wmk_error(err, "cannot write the id of an event");
}

int wmk_state_id(struct wmk_state *state, struct wmk_session *session, uint64_t rings_id, uint32_t id,
		 const struct wmk_event_class *event)
{
	struct state_entry *entry = wmk_state_entry_for(state, session);
	struct state_id head = { 0, id, rings_id };
	size_t need = 0;
	int err = entry ? 0 : -ENOMEM;

	/* new rings are in the state file before an application writes into them */
	if (err == 0 && rings_id > entry->last_rings)
		err = wmk_state_write(state, entry, session);
	if (err == 0 && entry->ids < 0)
		err = ids_open(state, entry);
	if (err < 0)
		return err;
	wmk_event_encode(event, NULL, 0, &need);
	uint8_t *record = need && need <= WMK_EVENT_MAX ? malloc(sizeof(head) + need) : NULL;
	if (!record)
		return wmk_error(-ENOMEM, "no memory to write the id of an event");
	head.len = (uint32_t)need;
	memcpy(record, &head, sizeof(head));
	long n = wmk_event_encode(event, record + sizeof(head), need, NULL);
	err = n < 0 ? (int)n : id_append(entry->ids, record, sizeof(head) + need);
	if (err == 0 && entry->shm_ids >= 0)
		err = id_append(entry->shm_ids, record, sizeof(head) + need);
	free(record);
	return err;
}

size_t wmk_state_id_at(const uint8_t *bytes, size_t len, size_t at, struct state_id *head)
{
	if (at > len || len - at < sizeof(*head))
		return 0;
	memcpy(head, bytes + at, sizeof(*head));
#ifdef WMK_PLANTED_BUG_STATE                 /* the fuzzer must find this */
	return head->len <= WMK_EVENT_MAX ? sizeof(*head) + head->len : 0;
#else
	return head->len <= WMK_EVENT_MAX && head->len <= len - at - sizeof(*head) ? sizeof(*head) + head->len : 0;
#endif
}

/* ── remove records of ended rings ───────────────────────────────────────────────────────────────────── */

static int by_number(const void *a, const void *b)
{
	const uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return left < right ? -1 : left > right;
}

/* Return the sorted numbers of the session's rings; the caller frees the array. NULL: no memory. */
static uint64_t *numbers_of(const struct state_session *is)
{
	uint64_t *numbers = malloc((is->rings.n ? is->rings.n : 1) * sizeof(*numbers));

	for (uint32_t i = 0; numbers && i < is->rings.n; i++)
		numbers[i] = ((const struct state_rings *)is->rings.items)[i].id;
	if (numbers)
		qsort(numbers, is->rings.n, sizeof(*numbers), by_number);
	return numbers;
}

/*
 * Keep the records of the rings in `numbers`, in their order, and remove all other records. Returns the new length; the
 * whole length if the file cannot be parsed.
 */
static size_t filter(uint8_t *bytes, size_t len, const uint64_t *numbers, size_t n)
{
	size_t at = 0, kept = 0, size;
	struct state_id head;

	while ((size = wmk_state_id_at(bytes, len, at, &head)) != 0)
		at += size;
	if (at != len)
		return len;
	for (at = 0; (size = wmk_state_id_at(bytes, len, at, &head)) != 0; at += size)
		if (bsearch(&head.rings, numbers, n, sizeof(*numbers), by_number)) {
			memmove(bytes + kept, bytes + at, size);
			kept += size;
		}
	return kept;
}

/* An error is ignored, because the file stays correct and a later call tries again. */
void wmk_state_ids_tidy(struct wmk_state *state, struct state_entry *entry, const struct wmk_session *session,
			const struct state_session *is)
{
	char name[STATE_NAME], fresh[STATE_NAME];
	uint8_t *bytes = NULL;
	uint64_t *numbers = NULL;
	struct stat st;
	long len = 0;

	if (entry->ids < 0 || fstat(entry->ids, &st) != 0 || st.st_size < (off_t)TIDY_FROM ||
	    st.st_size / 2 < entry->ids_kept)
		return;
	wmk_state_file(name, entry->number, "ids");
	wmk_state_file(fresh, entry->number, "new");
	numbers = numbers_of(is);
	if (numbers)
		len = wmk_state_read_file(state->dir, name, IDS_MAX, &bytes);
	if (numbers && len == st.st_size) {
		const size_t kept = filter(bytes, (size_t)len, numbers, is->rings.n);

		if (kept == (size_t)len) {
			entry->ids_kept = (off_t)kept;
		} else if (wmk_state_bytes_write(state->dir, name, fresh, bytes, kept) == 0) {
			entry->ids_kept = (off_t)kept;
			close(entry->ids);       /* the replaced file; the next id opens the new one */
			entry->ids = -1;
			if (entry->shm_ids >= 0)
				wmk_state_shm_ids(state, entry, session);
		}
	}
	wmk_error_clear();
	free(numbers);
	free(bytes);
}
