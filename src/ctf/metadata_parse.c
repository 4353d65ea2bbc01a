/* SPDX-License-Identifier: MIT */
/*
 * metadata_parse.c - select the parser of a metadata text: TSDL (CTF 1.8) or JSON (CTF 2); see class.h.
 */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "ctf/build.h"
#include "ctf/json.h"
#include "ctf/tsdl.h"

/* "{" without a record separator is also JSON: its parser reports the missing separator. TSDL never begins with "{". */
static bool is_json(const char *text, size_t len)
{
	if (len && text[0] == 0x1e)
		return true;
	while (len && strchr(" \t\r\n", *text) && *text) {
		text++;
		len--;
	}
	return len && *text == '{';
}

int wmk_ctf_metadata_parse(const char *text, size_t len, const char *name, bool partial, struct wmk_ctf_class **class)
{
	char shown[WMK_CTF_SHORT];
	struct wmk_ctf_builder builder = { .name = wmk_ctf_short_name(shown, name) };
	int err, built;

	*class = NULL;
	if (len > WMK_CTF_METADATA_MAX)
		return wmk_error(-E2BIG, "metadata of %zu bytes exceeds the limit of %u", len, WMK_CTF_METADATA_MAX);
	if (is_json(text, len))
		err = wmk_ctf_json_parse(&builder, text, len, shown, partial);
	else
		err = wmk_tsdl_parse(&builder, text, len, shown, partial);
	if (err >= 0) {
		built = wmk_ctf_build(&builder, class);
		return built < 0 ? wmk_error_add(built, "cannot read the metadata '%s'", shown) : err;
	}
	wmk_ctf_builder_free(&builder);
	return wmk_error_add(err, "cannot read the metadata '%s'", shown);
}
