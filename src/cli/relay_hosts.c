/* SPDX-License-Identifier: MIT */
/* relay_hosts.c - the status of a running relay as text and JSON (see relay_hosts.h). */
#include "cli/relay_hosts.h"

#include <stdio.h>

static void print_trace(const struct wmk_relay_status_trace *trace)
{
	char bytes[40];

	printf("    %s/%s: %s, %llu packets, %s, chunk %llu", trace->session, trace->sub,
	       trace->connected ? "connected" : "not connected", (unsigned long long)trace->packets,
	       wmk_cli_bytes_text(trace->bytes, bytes, sizeof(bytes)), (unsigned long long)trace->chunk);
	if (trace->packets)
		printf(", last data %.1f s ago", (double)trace->idle_ms / 1000);
	if (trace->dropped)
		printf(", %llu repeated packets dropped", (unsigned long long)trace->dropped);
	if (trace->gaps)
		printf(", %llu gaps: the relay lost data that it had acknowledged", (unsigned long long)trace->gaps);
	printf("%s%s\n", trace->error[0] ? "; last error: " : "", trace->error);
}

static void print_host(const struct wmk_relay_status_host *host)
{
	const struct wmk_relay_status_trace *traces = host->traces.items;
	char bytes[40], max[40];

	printf("  %s: %u connections of %u, %s", host->host, host->connections, host->max_connections,
	       wmk_cli_bytes_text(host->bytes, bytes, sizeof(bytes)));
	if (host->max_bytes)
		printf(" of %s", wmk_cli_bytes_text(host->max_bytes, max, sizeof(max)));
	printf(" on the disk");
	if (host->max_rate)
		printf(", at most %s/s", wmk_cli_bytes_text(host->max_rate, max, sizeof(max)));
	putchar('\n');
	for (uint32_t i = 0; i < host->traces.n; i++)
		print_trace(&traces[i]);
	if (host->error[0])
		printf("    last refusal: %s\n", host->error);
}

void wmk_cli_relay_print(const char *at, const struct wmk_relay_status *status)
{
	const struct wmk_relay_status_host *hosts = status->hosts.items;

	printf("Relay %s at %s, traces in %s\n", status->version, at, status->root);
	for (uint32_t i = 0; i < status->hosts.n; i++)
		print_host(&hosts[i]);
	if (!status->hosts.n)
		printf("  No host has connected since the relay started.\n");
}

static void trace_json(struct wmk_cli_json *json, const struct wmk_relay_status_trace *trace)
{
	wmk_cli_json_open(json, NULL, '{');
	wmk_cli_json_text(json, "session", trace->session);
	wmk_cli_json_text(json, "path", trace->sub);
	wmk_cli_json_bool(json, "connected", trace->connected);
	wmk_cli_json_u64(json, "packets", trace->packets);
	wmk_cli_json_u64(json, "bytes", trace->bytes);
	wmk_cli_json_u64(json, "dropped", trace->dropped);
	wmk_cli_json_u64(json, "gaps", trace->gaps);
	wmk_cli_json_u64(json, "idle_ms", trace->idle_ms);
	wmk_cli_json_u64(json, "epoch", trace->epoch);
	wmk_cli_json_u64(json, "chunk", trace->chunk);
	wmk_cli_json_text(json, "error", trace->error[0] ? trace->error : NULL);
	wmk_cli_json_close(json, '}');
}

static void host_json(struct wmk_cli_json *json, const struct wmk_relay_status_host *host)
{
	const struct wmk_relay_status_trace *traces = host->traces.items;

	wmk_cli_json_open(json, NULL, '{');
	wmk_cli_json_text(json, "host", host->host);
	wmk_cli_json_u64(json, "connections", host->connections);
	wmk_cli_json_u64(json, "max_connections", host->max_connections);
	wmk_cli_json_u64(json, "bytes", host->bytes);
	wmk_cli_json_u64(json, "max_bytes", host->max_bytes);
	wmk_cli_json_u64(json, "max_rate", host->max_rate);
	wmk_cli_json_text(json, "error", host->error[0] ? host->error : NULL);
	wmk_cli_json_open(json, "traces", '[');
	for (uint32_t i = 0; i < host->traces.n; i++)
		trace_json(json, &traces[i]);
	wmk_cli_json_close(json, ']');
	wmk_cli_json_close(json, '}');
}

void wmk_cli_relay_json(struct wmk_cli_json *json, const struct wmk_relay_status *status)
{
	const struct wmk_relay_status_host *hosts;

	if (!status) {
		wmk_cli_json_text(json, "relay", NULL);
		return;
	}
	hosts = status->hosts.items;
	wmk_cli_json_open(json, "relay", '{');
	wmk_cli_json_text(json, "version", status->version);
	wmk_cli_json_text(json, "directory", status->root);
	wmk_cli_json_u64(json, "uptime_ms", status->uptime_ms);
	wmk_cli_json_u64(json, "connections", status->connections);
	wmk_cli_json_open(json, "hosts", '[');
	for (uint32_t i = 0; i < status->hosts.n; i++)
		host_json(json, &hosts[i]);
	wmk_cli_json_close(json, ']');
	wmk_cli_json_close(json, '}');
}
