/* SPDX-License-Identifier: MIT */
/*
 * quota.c - quotas of each user: sessions, rules, memory of rings, bytes of traces.
 *
 * Commands run concurrently. A command charges the quota before it creates an object, and uncharges the quota if the
 * creation fails. The lock is tracing->lock. A thread may take tracing->lock while it holds a session's lock, but not a
 * session's lock while it holds tracing->lock.
 */
#include "session/model/quota.h"

#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct quota {
	struct quota *next;
	uid_t uid;
	unsigned sessions;
	uint64_t ring_bytes, rule_bytes, trace_bytes;
};

/*
 * Limit of the rules of all sessions of one user. The limit ensures that one reply can list all rules of a user, and
 * that the next daemon can read the state file of each session.
 */
#define RULE_BYTES_MAX (4u << 20)

static struct quota **find(struct wmk_tracing *tracing, uid_t uid)
{
	struct quota **at = &tracing->owners;

	while (*at && (*at)->uid != uid)
		at = &(*at)->next;
	return at;
}

/* Find or create the quota of `uid`. Locked. NULL with a cause chain: no memory. */
static struct quota *owner_get(struct wmk_tracing *tracing, uid_t uid)
{
	struct quota **at = find(tracing, uid);

	if (*at)
		return *at;
	*at = calloc(1, sizeof(**at));
	if (*at)
		(*at)->uid = uid;
	else
		wmk_error(-ENOMEM, "no memory for the quota of a user");
	return *at;
}

static void forget_if_nothing(struct quota **at)
{
	struct quota *owner = *at;

	if (owner->sessions || owner->ring_bytes || owner->rule_bytes || owner->trace_bytes)
		return;
	*at = owner->next;
	free(owner);
}

int wmk_limit_reached(const struct wmk_tracing *tracing, int err, const char *limit, const char *format, ...)
{
	char words[WMK_ERROR_LEN];
	va_list args;

	va_start(args, format);
	vsnprintf(words, sizeof(words), format, args);
	va_end(args);
	if (!tracing->options.limits_file)
		return wmk_errorx(err, "%s", words);
	wmk_errorx(err, "the limit \"%s\" is set in %.240s (waymark-sessiond(8))", limit,
		   tracing->options.limits_file);
	return wmk_error_add(err, "%s", words);
}

int wmk_quota_session_charge(struct wmk_tracing *tracing, uid_t uid)
{
	const unsigned max = tracing->options.max_sessions;
	int err = 0;

	pthread_mutex_lock(&tracing->lock);
	struct quota *owner = owner_get(tracing, uid);

	if (!owner)
		err = -ENOMEM;
	else if (owner->sessions >= max && !tracing->restoring)
		err = wmk_limit_reached(tracing, -E2BIG, "sessions",
					"the user has %u sessions, and the limit is %u: destroy one first",
					owner->sessions, max);
	else if (tracing->n_sessions >= WMK_CTL_SESSIONS_MAX && !tracing->restoring)
		err = wmk_errorx(-E2BIG, "this session daemon has %u sessions of all users, and the limit of each "
				 "daemon is %u: destroy one first", tracing->n_sessions, WMK_CTL_SESSIONS_MAX);
	if (err == 0) {
		owner->sessions++;
		tracing->n_sessions++;
	} else if (owner) {
		forget_if_nothing(find(tracing, uid));
	}
	pthread_mutex_unlock(&tracing->lock);
	return err;
}

void wmk_quota_session_uncharge(struct wmk_tracing *tracing, uid_t uid)
{
	pthread_mutex_lock(&tracing->lock);
	struct quota **at = find(tracing, uid);

	(*at)->sessions--;
	tracing->n_sessions--;
	forget_if_nothing(at);
	pthread_mutex_unlock(&tracing->lock);
}

int wmk_quota_rule_charge(struct wmk_tracing *tracing, uid_t uid, uint64_t bytes)
{
	int err = 0;

	pthread_mutex_lock(&tracing->lock);
	struct quota *owner = owner_get(tracing, uid);

	if (!owner)
		err = -ENOMEM;
	else if (bytes > RULE_BYTES_MAX - (owner->rule_bytes < RULE_BYTES_MAX ? owner->rule_bytes : RULE_BYTES_MAX) &&
		 !tracing->restoring)
		err = wmk_errorx(-E2BIG,
				 "the event rules of all sessions of a user exceed the limit of %u MB: use fewer "
				 "or shorter patterns and exclusions, or fewer sessions",
				 RULE_BYTES_MAX >> 20);
	else
		owner->rule_bytes += bytes;
	if (owner)
		forget_if_nothing(find(tracing, uid));
	pthread_mutex_unlock(&tracing->lock);
	return err;
}

void wmk_quota_rules_uncharge(struct wmk_tracing *tracing, uid_t uid, uint64_t bytes)
{
	if (!bytes)
		return;
	pthread_mutex_lock(&tracing->lock);
	struct quota **at = find(tracing, uid);

	(*at)->rule_bytes -= bytes;
	forget_if_nothing(at);
	pthread_mutex_unlock(&tracing->lock);
}

int wmk_quota_trace_charge(struct wmk_tracing *tracing, uid_t uid, uint64_t asked, uint64_t *taken)
{
	const uint64_t max = tracing->options.max_user_trace_size;
	int err = 0;

	*taken = 0;
	if (!max)
		return 0;
	pthread_mutex_lock(&tracing->lock);
	struct quota *owner = owner_get(tracing, uid);
	const uint64_t left = owner && owner->trace_bytes < max ? max - owner->trace_bytes : 0,
		       each = tracing->options.max_trace_size;
	const uint64_t want = asked ? asked : each && each < left ? each : left;

	if (!owner)
		err = -ENOMEM;
	else if ((want == 0 || want > left) && !tracing->restoring)
		err = wmk_limit_reached(tracing, -EDQUOT, "user-trace-size",
					"the traces of all sessions of a user are limited to %llu bytes, and other "
					"sessions leave %llu of them: use a smaller --max-size for this session or "
					"another one",
					(unsigned long long)max, (unsigned long long)left);
	else
		owner->trace_bytes += want;
	if (err == 0)
		*taken = want;
	if (owner)
		forget_if_nothing(find(tracing, uid));
	pthread_mutex_unlock(&tracing->lock);
	return err;
}

void wmk_quota_trace_uncharge(struct wmk_tracing *tracing, uid_t uid, uint64_t bytes)
{
	if (!bytes)
		return;
	pthread_mutex_lock(&tracing->lock);
	struct quota **at = find(tracing, uid);

	(*at)->trace_bytes -= bytes;
	forget_if_nothing(at);
	pthread_mutex_unlock(&tracing->lock);
}

uint64_t wmk_rings_bytes(const struct wmk_ctl_channel *is)
{
	uint64_t rings = (uint64_t)sysconf(_SC_NPROCESSORS_CONF);

	if (is->settings.allocation == WMK_PER_CHANNEL && rings > WAYMARK_RING_CLAIMS)
		rings = WAYMARK_RING_CLAIMS;
	return is->settings.subbuf_size * is->settings.n_subbufs * rings;
}

/* Locked. Pass -bytes to subtract. */
static void ring_bytes_add(struct wmk_tracing *tracing, struct quota *owner, uint64_t bytes)
{
	owner->ring_bytes += bytes;
	if (owner->uid != 0)
		tracing->users_ring_bytes += bytes;
}

int wmk_quota_rings_charge(struct wmk_tracing *tracing, uid_t uid, uint64_t bytes, bool there_already)
{
	const uint64_t max = tracing->options.max_ring_bytes, max_users = tracing->options.max_users_ring_bytes;
	const uint64_t *of_users = &tracing->users_ring_bytes;
	int err = 0;

	pthread_mutex_lock(&tracing->lock);
	struct quota *owner = owner_get(tracing, uid);

	if (!owner)
		err = -ENOMEM;
	else if (!there_already && (owner->ring_bytes > max || bytes > max - owner->ring_bytes))
		err = wmk_limit_reached(
			tracing, -ENOBUFS, "ring-memory",
			"the rings of a user would need %llu MB, and the limit is %llu MB: use fewer or smaller "
			"sub-buffers (--num-subbuf, --subbuf-size), or fewer sessions",
			(unsigned long long)((owner->ring_bytes + bytes) >> 20), (unsigned long long)(max >> 20));
	else if (!there_already && uid != 0 && (*of_users > max_users || bytes > max_users - *of_users))
		err = wmk_limit_reached(tracing, -ENOBUFS, "users-ring-memory",
					"the rings of all users except root would need %llu MB, and the limit is %llu "
					"MB: use fewer or smaller sub-buffers (--num-subbuf, --subbuf-size)",
					(unsigned long long)((*of_users + bytes) >> 20),
					(unsigned long long)(max_users >> 20));
	else
		ring_bytes_add(tracing, owner, bytes);
	if (owner)
		forget_if_nothing(find(tracing, uid));
	pthread_mutex_unlock(&tracing->lock);
	return err;
}

void wmk_quota_rings_uncharge(struct wmk_tracing *tracing, uid_t uid, uint64_t bytes)
{
	pthread_mutex_lock(&tracing->lock);
	struct quota **at = find(tracing, uid);

	ring_bytes_add(tracing, *at, -bytes);
	forget_if_nothing(at);
	pthread_mutex_unlock(&tracing->lock);
}

void wmk_quotas_free(struct wmk_tracing *tracing)
{
	while (tracing->owners) {
		struct quota *owner = tracing->owners;

		tracing->owners = owner->next;
		free(owner);
	}
}
