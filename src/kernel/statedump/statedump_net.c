/* SPDX-License-Identifier: MIT */
/*
 * statedump_net.c - network interfaces of the state dump, as lttng-modules reports them: an interface that is up has
 * one record for each IPv4 address of the interface. An interface that is down has one record, with the address 0.
 *
 * No file lists the addresses of the interfaces, so a netlink socket queries them. The socket reports the network
 * namespace of this process.
 */
#include <dirent.h>
#include <errno.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kernel/statedump/statedump_record.h"

static int emit(struct wmk_kdump *dump, const char *name, const void *address)
{
	static const uint8_t none[4];

	wmk_kdump_put_text(dump, name, strlen(name));
	/* Addresses are in network byte order already. */
	wmk_kdump_put(dump, address ? address : none, sizeof(none));
	dump->counts.devices++;
	return wmk_kdump_emit(dump, WMK_KSTATEDUMP_NETWORK_INTERFACE);
}

/* ── interfaces that are up ──────────────────────────────────────────────────────────────────────────── */

static int dump_address(struct wmk_kdump *dump, int fd, struct nlmsghdr *message)
{
	struct ifaddrmsg *about = NLMSG_DATA(message);
	struct ifreq request = { .ifr_ifindex = 0 };
	const void *address = NULL;
	int left;

	if (message->nlmsg_type != RTM_NEWADDR || message->nlmsg_len < NLMSG_LENGTH(sizeof(*about)))
		return 0;
	left = (int)(message->nlmsg_len - NLMSG_LENGTH(sizeof(*about)));
	for (struct rtattr *a = IFA_RTA(about); RTA_OK(a, left); a = RTA_NEXT(a, left))
		if (a->rta_type == IFA_ADDRESS && RTA_PAYLOAD(a) == 4)
			address = RTA_DATA(a);
	request.ifr_ifindex = (int)about->ifa_index;
	if (!address || ioctl(fd, SIOCGIFNAME, &request) < 0)
		return 0;
	request.ifr_name[IFNAMSIZ - 1] = '\0';
	if (ioctl(fd, SIOCGIFFLAGS, &request) < 0 || !(request.ifr_flags & IFF_UP))
		return 0;
	return emit(dump, request.ifr_name, address);
}

/* A netlink reply has several messages; the last message is NLMSG_DONE. */
static int dump_answers(struct wmk_kdump *dump, int fd)
{
	union {
		struct nlmsghdr head;
		char bytes[16384];
	} answer;
	int err = 0;

	for (;;) {
		ssize_t len = recv(fd, &answer, sizeof(answer), 0);

		if (len <= 0)
			return wmk_kdump_missed(dump, len < 0 ? -errno : -EPIPE);
		for (struct nlmsghdr *m = &answer.head; err == 0 && NLMSG_OK(m, len); m = NLMSG_NEXT(m, len)) {
			if (m->nlmsg_type == NLMSG_DONE || m->nlmsg_type == NLMSG_ERROR)
				return 0;
			err = dump_address(dump, fd, m);
		}
		if (err)
			return err;
	}
}

static int dump_addresses(struct wmk_kdump *dump)
{
	struct {
		struct nlmsghdr head;
		struct ifaddrmsg about;
	} request = { .head = { .nlmsg_len = sizeof(request),
				.nlmsg_type = RTM_GETADDR,
				.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
		      .about = { .ifa_family = AF_INET } };
	const int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	int err;

	if (fd < 0)
		return wmk_kdump_missed(dump, -errno);
	err = send(fd, &request, sizeof(request), 0) == (ssize_t)sizeof(request) ? dump_answers(dump, fd)
										 : wmk_kdump_missed(dump, -EPIPE);
	close(fd);
	return err;
}

/* ── interfaces that are down ────────────────────────────────────────────────────────────────────────── */

/* The file contains a hexadecimal number, for example "0x1003". */
static bool is_down(DIR *interfaces, const char *name)
{
	char path[WMK_KDUMP_NAME_MAX + 16], text[32];
	uint64_t flags;
	long len;

	snprintf(path, sizeof(path), "%.255s/flags", name);
	len = wmk_kproc_read(dirfd(interfaces), path, text, sizeof(text));
	return len > 2 && memcmp(text, "0x", 2) == 0 &&
	       wmk_kproc_number(text + 2, (size_t)len - 2, 16, UINT32_MAX, &flags) > 0 && !(flags & IFF_UP);
}

static int dump_if_down(struct wmk_kdump *dump, DIR *interfaces, const char *name)
{
	return is_down(interfaces, name) ? emit(dump, name, NULL) : 0;
}

int wmk_kdump_network(struct wmk_kdump *dump)
{
	const int err = dump->options->sys ? 0 : dump_addresses(dump);

	return err ? err : wmk_kdump_each_sys(dump, "class/net", dump_if_down);
}
