/* SPDX-License-Identifier: MIT */
/* fake_sessiond_filter.c - enable events with filters, as text or as bytes (see fake_sessiond.h). */
#include <stdlib.h>
#include <string.h>

#include "filter/filter.h"
#include "tracer/t/fake_sessiond.h"
#include "tracer/t/fake_sessiond_state.h"

/* Look up fields by name; no other names. */
static void look_up(void *data, const struct wmk_filter_name *name, struct wmk_filter_found *found)
{
	const struct wmk_event_class *class = data;

	for (uint32_t i = 0; i < class->n_fields && name->scope == WMK_FILTER_FIELD && name->n_steps == 1; i++)
		if (!strcmp(class->fields[i].name, name->steps[0].name))
			found->input = (struct wmk_filter_input){ (uint8_t)wmk_filter_type_of(&class->fields[i].type),
								  WMK_FILTER_FIELD, (uint16_t)i, 0 };
}

static long encode(const char *text, const struct wmk_event_class *class, uint8_t **bytes)
{
	struct wmk_filter_expr *expr;
	struct wmk_filter_program *program;

	if (wmk_filter_parse(text, &expr) < 0 ||
	    wmk_filter_compile((const struct wmk_filter_expr *const *)&expr, 1, look_up, (void *)(uintptr_t) class,
			       WMK_FILTER_LAX, &program) < 0)
		abort();
	long n = wmk_filter_encode(program, bytes);

	if (n < 0)
		abort();
	wmk_filter_program_free(program);
	wmk_filter_expr_free(expr);
	return n;
}

bool fake_sessiond_filter(struct fake_sessiond *c, const char *const *texts, unsigned n)
{
	pthread_mutex_lock(&c->lock);
	for (unsigned i = 0; i < c->n_apps; i++) {
		struct app *app = &c->apps[i];

		for (unsigned k = 0; app->sock >= 0 && k < n * app->n_events; k++) {
			const unsigned event = k % app->n_events;
			const struct wmk_enable_msg enable = { CHANNEL, app->events[event].number,
							       app->events[event].id };
			const char *text = texts[k / app->n_events];
			uint8_t *bytes = NULL;
			long len = text ? encode(text, c->classes[app->events[event].id], &bytes) : 0;

			wmk_out_frame_parts(&app->out, WMK_MSG_ENABLE, &enable, sizeof(enable), bytes, (size_t)len);
			free(bytes);
		}
	}
	pthread_mutex_unlock(&c->lock);
	return fake_sessiond_sync(c);
}

bool fake_sessiond_filter_bytes(struct fake_sessiond *c, const char *event, const void *bytes, size_t len)
{
	pthread_mutex_lock(&c->lock);
	for (unsigned i = 0; i < c->n_apps; i++) {
		struct app *app = &c->apps[i];

		for (unsigned k = 0; app->sock >= 0 && k < app->n_events; k++) {
			const struct wmk_enable_msg enable = { CHANNEL, app->events[k].number, app->events[k].id };

			if (!strcmp(c->classes[app->events[k].id]->name, event))
				wmk_out_frame_parts(&app->out, WMK_MSG_ENABLE, &enable, sizeof(enable), bytes, len);
		}
	}
	pthread_mutex_unlock(&c->lock);
	return fake_sessiond_sync(c);
}
