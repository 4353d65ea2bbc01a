/* SPDX-License-Identifier: MIT */
/*
 * syscall_payload.c - write records of system calls as payloads of their classes (see syscall_event.h).
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "base/error.h"
#include "kernel/syscall/syscall_event.h"
#include "kernel/syscall/syscall_fields.h"

/* Once a value does not fit, all later values are dropped. */
struct out {
	uint8_t *at;
	size_t room, len;
	bool is_full;
};

static void put(struct out *out, const void *bytes, size_t len)
{
#ifdef WMK_PLANTED_BUG_SYSCALLS
	if (out->is_full || len > out->room - out->len + 1) {
#else
	if (out->is_full || len > out->room - out->len) {
#endif
		out->is_full = true;
		return;
	}
	if (len)
		memcpy(out->at + out->len, bytes, len);
	out->len += len;
}

static void put16(struct out *out, uint16_t value)
{
	put(out, &value, sizeof(value));
}

static void put32(struct out *out, uint32_t value)
{
	put(out, &value, sizeof(value));
}

static void put64(struct out *out, uint64_t value)
{
	put(out, &value, sizeof(value));
}

/* The text ends at its first NUL. */
static void put_text(struct out *out, const void *text, size_t len)
{
	put(out, text, len ? strnlen(text, len) : 0);
	put(out, "", 1);
}

/* ── numbers ─────────────────────────────────────────────────────────────────────────────────────────── */

/* An argument of a 32-bit program has 32 bits; the sign of a signed argument is extended. */
static void put_number(struct out *out, const struct wmk_syscall *call, const struct wmk_syscalls_record *record,
		       unsigned arg)
{
	const uint8_t kind = call->args[arg].kind;
	const uint64_t value = arg < record->n_values ? record->values[arg] : 0;

	if (wmk_kkinds[kind].width == 32)
		put32(out, (uint32_t)value);
	else if (call->abi == WMK_KABI_COMPAT && kind == WMK_KKIND_LONG)
		put64(out, (uint64_t)(int64_t)(int32_t)value);
	else
		put64(out, value);
}

/* ── pointed-to data ─────────────────────────────────────────────────────────────────────────────────── */

static const struct wmk_syscalls_piece *piece_of(const struct wmk_syscalls_record *record, unsigned arg)
{
	static const struct wmk_syscalls_piece none = { .bytes = NULL };

	for (unsigned i = 0; i < record->n_parts; i++)
		if (record->parts[i].arg == arg)
			return &record->parts[i];
	return &none;
}

static void put_texts(struct out *out, const struct wmk_syscalls_piece *piece)
{
	const size_t count_at = out->len;
	const uint8_t *at = piece->bytes;
	uint32_t n = 0;

	put32(out, 0);
	for (size_t left = piece->len; n < piece->count && left; n++) {
		const size_t len = strnlen((const char *)at, left);

		if (len == left)
			break;
		put(out, at, len + 1);
		at += len + 1;
		left -= len + 1;
	}
	if (!out->is_full)
		memcpy(out->at + count_at, &n, sizeof(n));
}

static void put_blob(struct out *out, const struct wmk_syscalls_piece *piece)
{
	put32(out, piece->len);
	put(out, piece->bytes, piece->len);
}

/* Copy the available bytes of a structure, and zero the rest. */
static void take(void *to, size_t size, const struct wmk_syscalls_piece *piece)
{
	memset(to, 0, size);
	if (piece->len)
		memcpy(to, piece->bytes, piece->len < size ? piece->len : size);
}

/* An abstract name begins with a NUL; the payload has '@' instead, as in ss(8). The text ends at the next NUL. */
static void unix_address(const struct sockaddr_un *address, size_t len, char *text, size_t size)
{
	const size_t begin = offsetof(struct sockaddr_un, sun_path), most = sizeof(address->sun_path);
	size_t n = len > begin ? len - begin : 0;
	const bool is_abstract = n && !address->sun_path[0];

	n = n < most ? n : most;
	snprintf(text, size, "%s%.*s", is_abstract ? "@" : "", (int)(n - is_abstract), address->sun_path + is_abstract);
}

static void put_address(struct out *out, const struct wmk_syscalls_piece *piece)
{
	union {
		struct sockaddr any;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
		struct sockaddr_un un;
		struct sockaddr_nl nl;
	} address;
	char text[sizeof(struct sockaddr_un) + 2] = "";
	uint16_t port = 0;

	take(&address, sizeof(address), piece);
	switch (address.any.sa_family) {
	case AF_INET:
		port = ntohs(address.in.sin_port);
		inet_ntop(AF_INET, &address.in.sin_addr, text, sizeof(text));
		break;
	case AF_INET6:
		port = ntohs(address.in6.sin6_port);
		inet_ntop(AF_INET6, &address.in6.sin6_addr, text, sizeof(text));
		break;
	case AF_UNIX:
		unix_address(&address.un, piece->len, text, sizeof(text));
		break;
	case AF_NETLINK:
		snprintf(text, sizeof(text), "%u", address.nl.nl_pid);
		break;
	default:
		break;
	}
	put16(out, address.any.sa_family);
	put16(out, port);
	put_text(out, text, sizeof(text));
}

static void put_time(struct out *out, const struct wmk_syscalls_piece *piece, bool is_narrow)
{
	int64_t wide[2];
	int32_t narrow[2];

	if (is_narrow) {
		take(narrow, sizeof(narrow), piece);
		wide[0] = narrow[0];
		wide[1] = narrow[1];
	} else {
		take(wide, sizeof(wide), piece);
	}
	put(out, wide, sizeof(wide));
}

/* On 64-bit machines, the kernel's struct stat equals the C library's struct stat. */
static void put_stat(struct out *out, const struct wmk_syscalls_piece *piece)
{
	struct stat stat;

	take(&stat, sizeof(stat), piece);
	put32(out, stat.st_mode);
	put32(out, stat.st_uid);
	put32(out, stat.st_gid);
	put64(out, (uint64_t)stat.st_size);
}

static void put_pair(struct out *out, const struct wmk_syscalls_piece *piece)
{
	uint32_t pair[2];

	take(pair, sizeof(pair), piece);
	put(out, pair, sizeof(pair));
}

/* struct pollfd has no padding. */
static void put_polls(struct out *out, const struct wmk_syscalls_piece *piece)
{
	put32(out, piece->len / 8);
	put(out, piece->bytes, piece->len / 8 * 8);
}

static void put_pointed(struct out *out, const struct wmk_syscall *call, enum wmk_kshow show,
			const struct wmk_syscalls_piece *piece)
{
	switch (show) {
	case WMK_KSHOW_TEXT:
		put_text(out, piece->bytes, piece->len);
		break;
	case WMK_KSHOW_TEXTS:
		put_texts(out, piece);
		break;
	case WMK_KSHOW_ADDRESS:
		put_address(out, piece);
		break;
	case WMK_KSHOW_TIME:
		put_time(out, piece, call->abi == WMK_KABI_COMPAT);
		break;
	case WMK_KSHOW_STAT:
		put_stat(out, piece);
		break;
	case WMK_KSHOW_PAIR:
		put_pair(out, piece);
		break;
	case WMK_KSHOW_POLLS:
		put_polls(out, piece);
		break;
	default:
		put_blob(out, piece);
		break;
	}
}

long wmk_syscalls_payload(const struct wmk_syscall *call, const struct wmk_syscalls_record *record, uint8_t *out_bytes,
			  size_t room)
{
	struct out out = { .at = out_bytes, .room = room };
	struct wmk_kitem items[WMK_KITEMS];
	const unsigned n = wmk_syscall_items(call, record->is_exit, items);
	unsigned n_pointed = 0;
	uint16_t pointers = 0;

	for (unsigned i = 0; i < n; i++) {
		const enum wmk_kshow show = (enum wmk_kshow)items[i].show;

		if (wmk_kshow_is_pointed(show)) {
			const struct wmk_syscalls_piece *piece = piece_of(record, items[i].arg);

			pointers |= (uint16_t)((piece->flags & ((1u << WMK_KPOINTER_BITS) - 1))
					       << (WMK_KPOINTER_BITS * n_pointed++));
			put_pointed(&out, call, show, piece);
		} else if (show == WMK_KSHOW_ID) {
			put32(&out, record->number);
		} else if (show == WMK_KSHOW_RET) {
			put64(&out, record->n_values ? record->values[0] : 0);
		} else if (show == WMK_KSHOW_POINTERS) {
			put16(&out, pointers);
		} else {
			put_number(&out, call, record, items[i].arg);
		}
	}
	return out.is_full ? wmk_error(-ENOSPC, "a record of %s does not fit into %zu bytes", call->name, room)
			   : (long)out.len;
}
