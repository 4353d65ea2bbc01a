/* SPDX-License-Identifier: MIT */
/*
 * names.h - names of tables and columns, made from names in a trace. SQLite compares names without case (of ASCII), so
 * each name of a set is unique without case.
 */
#ifndef WMK_ANALYZE_QUERY_NAMES_H
#define WMK_ANALYZE_QUERY_NAMES_H

/* Initialized with zeros. */
struct wmk_query_names {
	void *root;                /* a tree of strings */
};

/* A copy with U+FFFD in place of bytes that are not UTF-8. The caller frees the copy. NULL: no memory. */
char *wmk_query_names_clean(const char *name);
/*
 * Add a name to the set. An empty name becomes PREFIX. A name NAME that the set already has becomes PREFIX_NAME. If the
 * set has PREFIX_NAME too, the name becomes PREFIX_NAME_2, then PREFIX_NAME_3. Returns the name, which belongs to the
 * set. NULL: no memory.
 */
const char *wmk_query_names_add(struct wmk_query_names *names, const char *name, const char *prefix);
void wmk_query_names_free(struct wmk_query_names *names);

#endif
