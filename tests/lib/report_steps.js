/* SPDX-License-Identifier: MIT */
/*
 * report_steps.js - appended to a report by t_report.py: uses the page as a reader does, and writes what it shows as
 * JSON to an element.
 */
"use strict";

(async () => {
const canvas = document.getElementById("canvas"), w = window.waymark, out = { errors: [] };
const all = id => [...document.querySelectorAll(id)].map(is => is.textContent);
const shown = () => [w.view.from, w.view.to];
const fields = () => Object.fromEntries([...document.querySelectorAll("#item dt")].map(is =>
	[is.textContent, is.nextSibling.textContent]));

window.addEventListener("error", event => out.errors.push(event.message));
function mouse(type, x, y, more = {}) {
	const box = canvas.getBoundingClientRect(), kind = type === "wheel" ? WheelEvent : PointerEvent;

	canvas.dispatchEvent(new kind(type, { clientX: box.left + x, clientY: box.top + y, bubbles: true, cancelable: true,
					      ...more }));
	w.draw();
}
function key(name) {
	canvas.dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true, cancelable: true }));
	w.draw();
	return shown();
}
function click(item) {
	const margin = Math.max(1000, item.to - item.from);

	w.show(item.from - margin, item.to + margin);
	w.draw();
	const place = w.place(item);

	mouse("pointerdown", place.x, place.y);
	mouse("pointerup", place.x, place.y);
	return { title: document.querySelector("#item h3").textContent, fields: fields() };
}
function sort(table, column) {
	const heads = [...document.querySelectorAll(table + " th")], i = heads.findIndex(is => is.textContent === column);

	heads[i].querySelector("button").click();
	return [...document.querySelectorAll(table + " tbody tr")].map(row => row.children[i].textContent);
}

out.whole = shown();
out.first_ms = Number(canvas.dataset.ms);
mouse("wheel", 600, 60, { deltaY: -500 });
out.wheel = shown();
out.zoom_ms = Number(canvas.dataset.ms);
out.plus = key("+");
out.right = key("ArrowRight");
out.minus = key("-");
mouse("pointerdown", 600, 60);
mouse("pointermove", 500, 60);
mouse("pointerup", 500, 60);
out.drag = shown();
out.zero = key("0");
const tracks = w.tracks(), spans = tracks.flatMap(is => is.depths.flat());
const records = tracks.flatMap(is => is.records), states = tracks.filter(is => !is.kind).flatMap(is => is.states);
const longest = list => list.reduce((a, b) => b.to - b.from > a.to - a.from ? b : a);

out.labels = tracks.map(is => is.label);
out.counts = { spans: spans.length, records: records.length, states: states.length };
if (spans.length)
	out.span = click(longest(spans));
if (states.length)
	out.state = click(longest(states.filter(is => is.kind === 2)));
const hostile = records.find(is => is.name.includes("note"));
if (hostile)
	out.record = click(hostile);
out.flame = [];
if (w.flame) {
	const place = document.getElementById("flame-canvas"), press = name => {
		place.dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true, cancelable: true }));
		out.flame.push([w.flame.zoomed().name, w.flame.selected().name]);
	};
	const widest = w.flame.bars().filter(is => is.node.depth === 2).reduce((a, b) => b.width > a.width ? b : a);
	const box = place.getBoundingClientRect();

	out.stacks = w.flame.bars().map(is => [is.node.name, is.node.depth, is.node.total, is.node.self]);
	out.flame_first_ms = Number(place.dataset.ms);
	place.dispatchEvent(new MouseEvent("click", { clientX: box.left + widest.x + widest.width / 2,
						      clientY: box.top + 2 * 18 + 9, bubbles: true }));
	out.flame_zoom_ms = Number(place.dataset.ms);
	out.clicked = [widest.node.name, w.flame.zoomed().name, w.flame.bars().find(is => is.node === widest.node).width];
	out.flame_wide = place.clientWidth;
	out.flame_fields = Object.fromEntries([...document.querySelectorAll("#flame-item dt")].map(is =>
		[is.textContent, is.nextSibling.textContent]));
	for (const name of ["ArrowUp", "Enter", "ArrowDown", "ArrowRight", "ArrowLeft", "0"])
		press(name);
	if (!document.getElementById("flame-kinds").hidden) {
		const kind = document.getElementById("flame-kind");

		kind.value = "callstacks";
		kind.dispatchEvent(new Event("change"));
		out.callstacks = w.flame.bars().map(is => [is.node.name, is.node.depth, is.node.total]);
		out.callstacks_words = all("#flame-words")[0];
	}
}
key("n");
out.next = document.querySelector("#item h3")?.textContent;
out.tables = [...document.querySelectorAll("#table-list > div")].map(is => is.id);
if (document.querySelector("#table-threads")) {
	out.running = sort("#table-threads", "running");
	out.running_again = sort("#table-threads", "running");
}
if (document.querySelector("#table-events"))
	out.events = sort("#table-events", "event");
out.findings = all("#findings li");
out.facts = all("#facts")[0];
out.note = all("#detail-note")[0];
out.charts = [...document.querySelectorAll("#chart-list > div")].map(is => is.id);
/* (without virtual time, the browser does not wait for the rest) */
const place = document.createElement("script");
const write = () => {
	out.requests = performance.getEntriesByType("resource").length;
	out.attacked = Boolean(window.attacked);
	out.is_wide = document.documentElement.scrollWidth > document.documentElement.clientWidth;
	place.textContent = JSON.stringify(out).replaceAll("<", "\\u003c");
};
place.type = "application/json";
place.id = "outcome";
document.body.append(place);
write();
for (const details of document.querySelectorAll("details"))
	details.open = true;
await new Promise(done => setTimeout(done, 400));
/* The page fills the table after a delay, which is longer on a busy machine. */
for (let i = 0; i < 100 && document.getElementById("window-table") && !document.querySelector("#window-table tbody"); i++)
	await new Promise(done => setTimeout(done, 100));
out.chart_tables = [...document.querySelectorAll("#chart-list details")].map(is => is.querySelectorAll("tbody tr").length);
out.flame_rows = [...document.querySelectorAll("#flame-table tbody tr")].map(is =>
	[...is.children].map(cell => cell.textContent));
out.window_rows = document.querySelectorAll("#window-table tbody tr").length;
const find = document.getElementById("find");
find.value = out.labels[out.labels.length - 1];
find.dispatchEvent(new Event("input"));
out.found = w.tracks().map(is => is.label);
out.background = getComputedStyle(document.body).backgroundColor;
write();
})();
