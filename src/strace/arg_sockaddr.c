/* SPDX-License-Identifier: MIT */
/*
 * arg_sockaddr.c - prints sockets: types, addresses and options (see arg_format.h).
 */
#include <arpa/inet.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "strace/arg_format.h"

/* The NUL at the start of an abstract socket name is printed as '@'. */
static void put_unix(struct wmk_kline *line, const struct wmk_syscalls_piece *piece)
{
	const size_t begin = offsetof(struct sockaddr_un, sun_path), most = sizeof(((struct sockaddr_un *)0)->sun_path);
	const uint8_t *path = piece->bytes + begin;
	size_t n = piece->len > begin ? piece->len - begin : 0;

	if (!n)
		return;
	n = n < most ? n : most;
	wmk_kline_put(line, ", sun_path=");
	if (!path[0] && n > 1) {
		wmk_kline_char(line, '@');
		wmk_kline_quoted(line, path + 1, n - 1, false);
	} else {
		wmk_kline_quoted(line, path, strnlen((const char *)path, n), false);
	}
}

static void put_port(struct wmk_kline *line, const char *name, uint16_t port)
{
	wmk_kline_put(line, name);
	wmk_kline_unsigned(line, ntohs(port));
	wmk_kline_char(line, ')');
}

static void put_in(struct wmk_kline *line, const struct sockaddr_in *in)
{
	char text[INET_ADDRSTRLEN] = "";

	put_port(line, ", sin_port=htons(", in->sin_port);
	wmk_kline_put(line, ", sin_addr=inet_addr(\"");
	wmk_kline_put(line, inet_ntop(AF_INET, &in->sin_addr, text, sizeof(text)) ? text : "");
	wmk_kline_put(line, "\")");
}

static void put_in6(struct wmk_kline *line, const struct sockaddr_in6 *in)
{
	char text[INET6_ADDRSTRLEN] = "";

	put_port(line, ", sin6_port=htons(", in->sin6_port);
	wmk_kline_put(line, ", sin6_flowinfo=htonl(");
	wmk_kline_unsigned(line, ntohl(in->sin6_flowinfo));
	wmk_kline_put(line, "), inet_pton(AF_INET6, \"");
	wmk_kline_put(line, inet_ntop(AF_INET6, &in->sin6_addr, text, sizeof(text)) ? text : "");
	wmk_kline_put(line, "\", &sin6_addr), sin6_scope_id=");
	wmk_kline_unsigned(line, in->sin6_scope_id);
}

static void put_netlink(struct wmk_kline *line, const struct sockaddr_nl *nl)
{
	char groups[8];

	wmk_kline_put(line, ", nl_pid=");
	wmk_kline_signed(line, (int32_t)nl->nl_pid);
	wmk_kline_put(line, ", nl_groups=");
	if (nl->nl_groups)
		wmk_kline_put(line, "0x");
	for (unsigned i = 0; i < sizeof(groups); i++)
		groups[i] = "0123456789abcdef"[nl->nl_groups >> (28 - 4 * i) & 15];
	wmk_kline_bytes(line, groups, sizeof(groups));
}

PRINT(wmk_kshow_address)
{
	const struct wmk_syscalls_piece *piece = view->piece;
	union {
		uint16_t family;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
		struct sockaddr_nl nl;
	} address = { .family = 0 };

	if (piece->len < sizeof(address.family)) {
		wmk_kline_pointer(line, view->value);
		return;
	}
	memcpy(&address, piece->bytes, piece->len < sizeof(address) ? piece->len : sizeof(address));
	wmk_kline_put(line, "{sa_family=");
	wmk_kline_name(line, wmk_knames_family, address.family, "AF_");
	if (address.family == AF_UNIX) {
		put_unix(line, piece);
	} else if (address.family == AF_INET && piece->len >= sizeof(address.in)) {
		put_in(line, &address.in);
	} else if (address.family == AF_INET6 && piece->len >= 24) {   /* older programs have no scope */
		put_in6(line, &address.in6);
	} else if (address.family == AF_NETLINK && piece->len >= sizeof(address.nl)) {
		put_netlink(line, &address.nl);
	} else {
		wmk_kline_put(line, ", sa_data=");
		wmk_kline_quoted(line, piece->bytes + 2, piece->len - 2, false);
	}
	wmk_kline_char(line, '}');
}

/* Prints an address length as "[16]", or as "[128 => 16]" if the system call has changed the length. */
PRINT(wmk_kshow_address_len)
{
	const int32_t before = *(const int32_t *)view->data;
	int32_t after;

	wmk_kline_member(line, "[", before);
	if (wmk_kview_struct(view, true, &after, sizeof(after)) && after != before)
		wmk_kline_member(line, " => ", after);
	wmk_kline_char(line, ']');
}

/* A socket option of 4 bytes is printed as a number; other options are printed as text. */
PRINT(wmk_kshow_sockopt)
{
	const struct wmk_syscalls_piece *piece = view->piece;
	int32_t number;

	if (piece->len == sizeof(number)) {
		memcpy(&number, piece->bytes, sizeof(number));
		wmk_kline_bracketed(line, number);
	} else {
		wmk_kline_text(line, view, piece->bytes, piece->len, piece->flags & WMK_SYSCALLS_PART_CUT);
	}
}

/* Prints the name of a socket option; the preceding argument is the level of the option. */
PRINT(wmk_kshow_so)
{
	const uint32_t level = view->arg ? (uint32_t)wmk_kview_arg(view, view->arg - 1) : 0;

	if (level == SOL_SOCKET)
		wmk_kline_name(line, wmk_knames_so, (uint32_t)view->value, "SO_");
	else if (level == IPPROTO_TCP)
		wmk_kline_name(line, wmk_knames_tcp, (uint32_t)view->value, "TCP_");
	else
		wmk_kline_hex(line, (uint32_t)view->value);
}

PRINT(wmk_kshow_socket)
{
	const uint32_t type = (uint32_t)view->value & 15, flags = (uint32_t)view->value & ~15u;

	if (!wmk_kname_of(wmk_knames_socktype, type)) {
		wmk_kline_name(line, wmk_knames_socktype, (uint32_t)view->value, "SOCK_");
		return;
	}
	wmk_kline_name(line, wmk_knames_socktype, type, "SOCK_");
	if (flags) {
		wmk_kline_char(line, '|');
		wmk_kline_flags(line, wmk_knames_sockflags, flags, NULL);
	}
}

PRINT(wmk_kshow_protocol)
{
	const uint32_t family = (uint32_t)wmk_kview_arg(view, 0), protocol = (uint32_t)view->value;

	if (family == AF_INET || family == AF_INET6)
		wmk_kline_name(line, wmk_knames_ip, protocol, "IPPROTO_");
	else if (family == AF_NETLINK)
		wmk_kline_name(line, wmk_knames_netlink, protocol, "NETLINK_");
	else
		wmk_kline_signed(line, (int32_t)protocol);
}
