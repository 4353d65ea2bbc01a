/* SPDX-License-Identifier: MIT */
/* module.c - see module.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "tracer/event.h"
#include "tracer/module.h"
#include "tracer/patch.h"
#include "tracer/tracer.h"

/* module->priv has this value if the module was scanned. */
static char scanned;

static struct waymark_desc *site_desc(const struct waymark_site *site)
{
	return (struct waymark_desc *)((uintptr_t)&site->desc + (uintptr_t)(intptr_t)site->desc);
}

/*
 * A descriptor of version 1 ends before the member `own`, and its sites call waymark_record(). Events with a descriptor
 * of version 1 are listed, but cannot be enabled; the library reports the reason.
 */
static bool is_first_version(const struct waymark_desc *desc)
{
	return desc->version == 1 && desc->size == offsetof(struct waymark_desc, own);
}

/* A descriptor of an unknown version or kind, or with missing parts, is ignored. */
static bool is_valid(const struct waymark_desc *desc)
{
	if (!is_first_version(desc) && (desc->size < sizeof(*desc) || desc->version != WAYMARK_ABI_VERSION))
		return false;
	if (desc->kind != WAYMARK_KIND_GUARD && !wmk_kind_has_class(desc->kind))
		return false;
	if (!desc->provider || (!desc->name && desc->kind != WAYMARK_KIND_TEXT) || desc->n_fields > WAYMARK_MAX_FIELDS)
		return false;
	if (wmk_kind_has_format(desc->kind))
		return desc->text && (!desc->n_fields || desc->arg_types);
	return !desc->n_fields || desc->fields;
}

static void scan_guard(struct waymark_desc *desc, const struct waymark_site *site)
{
	struct wmk_name *name = wmk_name_get(desc->provider, desc->name, true);

	if (!name)
		return;
	if (wmk_name_add_guard(name, site) < 0)
		return;
	desc->event = name;
	if (name->events)
		wmk_patch_later(name->events);
}

static void scan_site(const struct waymark_site *site)
{
	struct waymark_desc *desc = site_desc(site);
	const char *why = wmk_patch_check(site);

	if (!is_valid(desc))
		return;
	if (desc->kind == WAYMARK_KIND_GUARD) {
		if (!why)
			scan_guard(desc, site);
		return;
	}
	struct wmk_event *event = desc->event;

	if (!event) {
		event = wmk_event_get(desc);
		if (!event || wmk_event_add_desc(event, desc) < 0)
			return;
	}
	if (why)
		wmk_event_untraceable(event, why);
	else if (wmk_event_add_site(event, site) == 0 && event->chain)
		wmk_patch_later(event);
}

void wmk_modules_scan(void)
{
	for (struct waymark_module *m = wmk_tracer.modules; m; m = m->next) {
		if (m->priv)
			break;          /* newest first: the others were scanned */
		for (const struct waymark_site *site = m->begin; site < m->end; site++)
			scan_site(site);
	}
	for (struct waymark_module *m = wmk_tracer.modules; m && !m->priv; m = m->next)
		m->priv = &scanned;
}

/* Remove the sites of the module from an unordered array. */
static void drop_site(const struct waymark_site **sites, uint32_t *n, const struct waymark_module *m)
{
	for (uint32_t i = 0; i < *n;)
		if (sites[i] >= m->begin && sites[i] < m->end)
			sites[i] = sites[--*n];
		else
			i++;
}

static void forget_site(const struct waymark_module *m, const struct waymark_site *site)
{
	struct waymark_desc *desc = site_desc(site);

	if (!desc->event)
		return;         /* rejected, or removed with an earlier site of the same descriptor */
	if (desc->kind == WAYMARK_KIND_GUARD) {
		struct wmk_name *name = desc->event;

		drop_site(name->guards, &name->n_guards, m);
		desc->event = NULL;
	} else {
		struct wmk_event *event = desc->event;

		drop_site(event->sites, &event->n_sites, m);
		wmk_event_drop_desc(event, desc);
	}
}

void wmk_module_forget(const struct waymark_module *m)
{
	for (const struct waymark_site *site = m->begin; site < m->end; site++)
		forget_site(m, site);
}
