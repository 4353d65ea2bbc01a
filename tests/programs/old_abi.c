/* SPDX-License-Identifier: MIT */
/* old_abi.c - a module in the layout of version 1 of the header: its descriptor has no `own`, the module no `entry`. */
#include <stddef.h>
#include <waymark/detail/abi.h>

static unsigned char byte;
static struct waymark_desc desc = {
	.size = offsetof(struct waymark_desc, own), .version = 1, .kind = WAYMARK_KIND_EVENT,
	.level = WAYMARK_LEVEL_DEBUG,
	.provider = "old", .name = "event", .file = __FILE__, .function = "main", .line = 1,
};
static struct waymark_site site = { .size = sizeof(site), .version = 1, .how = WAYMARK_HOW_BYTE };
static struct waymark_module module = {
	.size = offsetof(struct waymark_module, entry), .version = 1, .begin = &site, .end = &site + 1,
	.anchor = &module,
};

/* Runs before main(), like the constructor of the header: events that are already enabled are so when it returns. */
__attribute__((constructor)) static void begin(void)
{
	site.code = (int32_t)((char *)&byte - (char *)&site.code);
	site.desc = (int32_t)((char *)&desc - (char *)&site.desc);
	waymark_module_register(&module);
}

static void (*volatile called)(struct waymark_desc *, const uint64_t *, const struct waymark_ref *,
			       const void *) = waymark_record;

int main(void)
{
	/* The functions that its sites call must exist, or the program would not start. */
	return !called || byte != 0;
}
