/* SPDX-License-Identifier: MIT */
/*
 * names.h - names of tables and columns, made from names in a trace. SQLite ignores the case of ASCII letters in names,
 * so two names of a set must not differ only in the case of letters.
 */
#ifndef WMK_ANALYZE_QUERY_NAMES_H
#define WMK_ANALYZE_QUERY_NAMES_H

/* Initialized with zeros. */
struct wmk_query_names {
	void *root;                /* a tree of strings */
};

/*
 * Return a copy of the name with U+FFFD in place of bytes that are not UTF-8. The caller frees the copy. NULL: no
 * memory.
 */
char *wmk_query_names_clean(const char *name);
/*
 * Add a name to the set. An empty name becomes PREFIX. If the set already has the name NAME, the new name becomes
 * PREFIX_NAME. If the set also has PREFIX_NAME, the new name becomes PREFIX_NAME_2, then PREFIX_NAME_3. Returns the
 * name as stored in the set; the set owns this string. NULL: no memory.
 */
const char *wmk_query_names_add(struct wmk_query_names *names, const char *name, const char *prefix);
void wmk_query_names_free(struct wmk_query_names *names);

#endif
