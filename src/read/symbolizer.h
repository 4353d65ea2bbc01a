/* SPDX-License-Identifier: MIT */
/*
 * symbolizer.h - functions and lines of the addresses in a record. src/symbols finds them. Addresses are in the context
 * fields `ip`, `callstack_user` and `callstack_kernel`, and in the fields `function`, `location` and `call_site` of
 * kernel events.
 *
 *     record ──wmk_read_addresses()──► addresses ──find()──► frames ──wmk_read_symbols_set()──► text
 */
#ifndef WMK_READ_SYMBOLIZER_H
#define WMK_READ_SYMBOLIZER_H

#include "read/print.h"
#include "read/thread_id.h"

/* A function at an address. Texts are valid until the next call of find(). */
struct wmk_read_frame {
	const char *function;
	uint64_t offset;               /* of the address in the function; 0 if it is inlined */
	const char *file;              /* NULL: unknown */
	int line;
	bool is_inlined;               /* the next frame is the function that contains it */
};
#define WMK_READ_FRAMES_MAX 32u        /* functions at an address */

struct wmk_read_symbolizer {
	void *data;
	/*
	 * Find the functions at an address of a process at the time `ns`, the innermost function first; -1 is an
	 * unknown process. 0: unknown.
	 */
	unsigned (*find)(void *data, int64_t pid, int64_t ns, uint64_t address, struct wmk_read_frame *frames,
			 unsigned max);
};

#define WMK_READ_ADDRESSES_MAX 256u

struct wmk_read_address {
	const char *field;
	uint64_t value;
	bool is_return;                /* of the instruction after a call, as `ip` is */
};

struct wmk_read_addresses {
	struct wmk_read_address items[WMK_READ_ADDRESSES_MAX];
	unsigned n;
};

/* Get the addresses in the record; the caller calls this function after WMK_READ_RECORD. Errors of ctf/decode.h. */
int wmk_read_addresses(struct wmk_read_stream *stream, struct wmk_read_addresses *addresses);
/* Format a stack frame, such as "function+0x1c (file.c:42)". Returns the length. */
size_t wmk_read_frame_text(const struct wmk_read_frame *frame, char *buf, size_t size);
/*
 * Set `text` to the symbols of the record: "  # ip: inner (a.c:3) < outer+0x1c (a.c:9)". The caller calls this function
 * after WMK_READ_RECORD. With `is_json`, the text is a JSON member:
 *
 *     ,"symbols":{"ip":["inner (a.c:3)","outer+0x1c (a.c:9)"]}
 *
 * If the record has no symbols, the text is empty. Sets stream->symbols. If `symbolizer` is NULL, the function has no
 * effect. -ENOMEM; errors of ctf/decode.h.
 */
int wmk_read_symbols_set(const struct wmk_read_symbolizer *symbolizer, struct wmk_read_stream *stream, bool is_json,
			 struct wmk_print_text *text);

#endif
