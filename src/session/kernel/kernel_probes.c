/* SPDX-License-Identifier: MIT */
/*
 * kernel_probes.c - install and remove the probes of kernel channels (see kernel_probes.h).
 */
#include "session/kernel/kernel_probes.h"

#include "base/error.h"
#include "kernel/probe/probe.h"
#include "kernel/tracefs/instance.h"
#include "session/model/session_model.h"
#include "store/store.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct kernel_probe {
	struct wmk_probe *probe;
	char *name, *place;              /* from the rule */
	uint32_t kind;
};

struct wmk_kernel_probes {
	char group[WMK_PROBE_NAME_MAX];
	struct kernel_probe *probes;
	unsigned n;
};

static enum wmk_probe_kind kind_of(uint32_t probe)
{
	static const enum wmk_probe_kind kinds[] = {
		[WMK_RULE_PROBE] = WMK_PROBE_KERNEL,
		[WMK_RULE_PROBE_RETURN] = WMK_PROBE_KERNEL_RETURN,
		[WMK_RULE_FUNCTION] = WMK_PROBE_FUNCTION,
		[WMK_RULE_USER_PROBE] = WMK_PROBE_USER,
		[WMK_RULE_USER_PROBE_RETURN] = WMK_PROBE_USER_RETURN,
	};

	return kinds[probe];
}

/* Prefix of the groups of an owner. The kernel accepts letters, digits and '_'. */
static void prefix_of(const char *owner, char prefix[WMK_PROBE_NAME_MAX])
{
	snprintf(prefix, WMK_PROBE_NAME_MAX, WMK_KPROBE_GROUP "%.32s_", owner);
	for (char *c = prefix; *c; c++)
		if (!isalnum((unsigned char)*c))
			*c = '_';
}

static void group_of(const struct rings *rings, char group[WMK_PROBE_NAME_MAX])
{
	char prefix[WMK_PROBE_NAME_MAX];

	prefix_of(rings->session->tracing->kernel_owner, prefix);
	snprintf(group, WMK_PROBE_NAME_MAX, "%.41s%" PRIu64, prefix, rings->id);
}

/* Make a probe. An application's file is read with the identity of the session's owner. */
static int make(const struct wmk_ctl_rule *rule, uid_t uid, gid_t gid, const struct wmk_probe_options *options,
		struct wmk_probe **probe)
{
	const bool is_file = rule->probe == WMK_RULE_USER_PROBE || rule->probe == WMK_RULE_USER_PROBE_RETURN;
	int err = is_file ? wmk_store_identity_begin(uid, gid) : 0;

	if (err < 0)
		return err;
	err = wmk_probe_make(kind_of(rule->probe), rule->place, options, probe);
	if (is_file)
		wmk_store_identity_end();
	return err;
}

int wmk_kernel_probe_check(const struct wmk_tracefs *tracefs, const struct wmk_ctl_rule *rule, uid_t uid, gid_t gid,
			   char *note, size_t size)
{
	char group[WMK_PROBE_NAME_MAX];
	const struct wmk_probe_options options = { .group = group, .name = rule->pattern };
	struct wmk_probe *probe;
	int err;

	if (rule->probe > WMK_RULE_USER_PROBE_RETURN)
		return wmk_error(-EINVAL, "unknown kind of probe");
	if (rule->exclusions.n)
		return wmk_errorx(-EINVAL, "a probe is one event and cannot have exclusions");
	if (strpbrk(rule->pattern, "*?[]\\:"))
		return wmk_errorx(-EINVAL, "'%.60s' cannot name the event of a probe: use letters, digits and '_'",
				  rule->pattern);
	/* a group of this thread; if the daemon crashes, the next sweep removes it like other orphans */
	snprintf(group, sizeof(group), WMK_KPROBE_GROUP "p%d_0_check%d", (int)getpid(), (int)gettid());
	err = make(rule, uid, gid, &options, &probe);
	if (err < 0)
		return err;
	snprintf(note, size, "%s", probe->note);
	/*
	 * Let the kernel check the probe. The trial probe is removed below. The removal of an event that was never
	 * enabled empties no buffers.
	 */
	err = wmk_probe_install(tracefs->dir, probe);
	if (err == 0) {
		struct wmk_error_chain *why;

		err = wmk_kernel_probe_filter_fits(tracefs, group, rule->filter);
		why = wmk_error_take();
		if (wmk_probe_remove(tracefs->dir, probe) < 0)
			wmk_error_clear();
		wmk_error_give(why);
	}
	wmk_probe_free(probe);
	return err;
}

static bool is_of(const struct kernel_probe *one, const struct wmk_ctl_rule *rule)
{
	return one->kind == rule->probe && strcmp(one->name, rule->pattern) == 0 &&
	       strcmp(one->place, rule->place) == 0;
}

static struct kernel_probe *find(const struct wmk_kernel_probes *probes, const struct wmk_ctl_rule *rule)
{
	for (unsigned i = 0; i < probes->n; i++)
		if (is_of(&probes->probes[i], rule))
			return &probes->probes[i];
	return NULL;
}

/* Install a probe, unless an earlier daemon has installed the probe under the same name in the same group. */
static int install(const struct wmk_tracefs *tracefs, struct wmk_probe *probe)
{
	char path[200];
	bool there = true;

	for (uint32_t i = 0; i < probe->n_events; i++) {
		snprintf(path, sizeof(path), "events/%s/%s", probe->group, probe->events[i].name);
		there = there && wmk_tracefs_has(tracefs->dir, path);
	}
	for (uint32_t i = 0; there && i < probe->n_events; i++)
		probe->events[i].is_installed = true;
	return there ? 0 : wmk_probe_install(tracefs->dir, probe);
}

static int add(const struct wmk_tracefs *tracefs, const struct wmk_session *session, struct wmk_kernel_probes *probes,
	       const struct wmk_ctl_rule *rule)
{
	const struct wmk_probe_options options = { .group = probes->group, .name = rule->pattern };
	struct kernel_probe *more = realloc(probes->probes, (probes->n + 1) * sizeof(*more));
	struct kernel_probe made = { .kind = rule->probe };
	int err;

	if (!more)
		return wmk_error(-ENOMEM, "no memory for a probe");
	probes->probes = more;
	made.name = strdup(rule->pattern);
	made.place = strdup(rule->place);
	err = made.name && made.place ? make(rule, session->uid, session->gid, &options, &made.probe)
				      : wmk_error(-ENOMEM, "no memory for a probe");
	if (err == 0) {
		err = install(tracefs, made.probe);
		if (err < 0)
			wmk_probe_free(made.probe);
	}
	if (err < 0) {
		free(made.name);
		free(made.place);
		return err;
	}
	more[probes->n++] = made;
	return 0;
}

int wmk_kernel_probes_install(const struct wmk_tracefs *tracefs, const struct rings *rings,
			      struct wmk_kernel_probes **probes)
{
	const struct wmk_list *list = &rings->channel->is.rules;
	const struct wmk_ctl_rule *rules = list->items;
	int first = 0;

	for (uint32_t i = 0; i < list->n; i++) {
		if (!rules[i].enabled || !wmk_rule_is_probe(&rules[i]))
			continue;
		if (!*probes) {
			*probes = calloc(1, sizeof(**probes));
			if (!*probes)
				return wmk_error(-ENOMEM, "no memory for probes");
			group_of(rings, (*probes)->group);
		}
		int err = find(*probes, &rules[i]) ? 0 : add(tracefs, rings->session, *probes, &rules[i]);

		if (err < 0 && first == 0)
			first = err;
	}
	return first;
}

bool wmk_kernel_probe_makes(const struct wmk_kernel_probes *probes, const struct wmk_ctl_rule *rule,
			    const struct wmk_kentry *entry)
{
	const struct kernel_probe *one =
		probes && strcmp(entry->system, probes->group) == 0 ? find(probes, rule) : NULL;

	for (uint32_t i = 0; one && i < one->probe->n_events; i++)
		if (strcmp(one->probe->events[i].name, entry->name) == 0)
			return true;
	return false;
}

bool wmk_kentry_is_probe(const struct wmk_kentry *entry)
{
	return strncmp(entry->system, WMK_KPROBE_GROUP, strlen(WMK_KPROBE_GROUP)) == 0;
}

void wmk_kernel_probes_close(const struct wmk_tracefs *tracefs, struct wmk_kernel_probes *probes, bool keep)
{
	if (!probes)
		return;
	for (unsigned i = 0; i < probes->n; i++) {
		if (!keep && wmk_probe_remove(tracefs->dir, probes->probes[i].probe) < 0)
			wmk_error_clear();       /* the next sweep removes it */
		wmk_probe_free(probes->probes[i].probe);
		free(probes->probes[i].name);
		free(probes->probes[i].place);
	}
	free(probes->probes);
	free(probes);
}

const char *wmk_kernel_probes_group(const struct wmk_kernel_probes *probes)
{
	return probes ? probes->group : "";
}

/* ── remove orphans ──────────────────────────────────────────────────────────────────────────────────── */

struct probe_sweep {
	const struct wmk_tracefs *tracefs;
	char prefix[WMK_PROBE_NAME_MAX];
	bool (*keep)(void *data, const char *group);
	void *data;
};

static bool is_orphan(const char *group)
{
	uint64_t began;
	int pid;

	return sscanf(group, WMK_KPROBE_GROUP "p%d_%" SCNu64 "_", &pid, &began) == 2 &&
	       wmk_kinstance_owner_has_ended(pid, began);
}

static int sweep_one(void *data, const char *group)
{
	const struct probe_sweep *sweep = data;
	const bool ours = strncmp(group, sweep->prefix, strlen(sweep->prefix)) == 0 && !sweep->keep(sweep->data, group);

	if ((ours || is_orphan(group)) && wmk_probe_remove_group(sweep->tracefs->dir, group) < 0)
		wmk_error_clear();       /* an event is enabled elsewhere: the next sweep tries again */
	return 0;
}

void wmk_kernel_probes_sweep(const struct wmk_tracefs *tracefs, const char *owner,
			     bool (*keep)(void *data, const char *group), void *data)
{
	struct probe_sweep sweep = { .tracefs = tracefs, .keep = keep, .data = data };

	prefix_of(owner, sweep.prefix);
	if (wmk_tracefs_each(tracefs->dir, "events", sweep_one, &sweep) < 0)
		wmk_error_clear();
}
