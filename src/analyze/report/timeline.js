/* SPDX-License-Identifier: MIT */
/*
 * timeline.js - the timeline of a report: rows of CPUs and threads on a canvas, with states, spans and records.
 *
 *     tracks ──layout()──► rows with their y ──draw()──► pixels
 *                                     └── find(x, y) ──► item ──► select(): its fields
 *
 * A list of items is sorted by time, and its items do not overlap. So a binary search finds an item. Items that share a
 * pixel are drawn once.
 */
"use strict";

(() => {
const canvas = document.getElementById("canvas"), context = canvas.getContext("2d");
const THREAD = 0, RUNNING = 2, RUNNABLE = 3, BLOCKED = 4, SPAN = 5;
const stateNames = ["unknown", "absent", "running", "runnable", "blocked"];
const TOP = 24, STATE = 13, SPAN_ROW = 16, RECORDS = 10, GAP = 7;
const length = Math.max(data.length, 1);
const view = { from: 0, to: length, top: 0 };
let rows = [], height = 0, selected = null, colors = {}, wanted = "", frame = 0;

/* ── tracks and items ────────────────────────────────────────────────────────────────────────────────── */

function newTrack(kind, id, pid, name) {
	return { kind, id, pid, name, states: [], depths: [], records: [], rests: [], running: 0,
		 label: kind === THREAD ? (name || (id ? "thread" : "idle")) + " " + id : id < 0 ? "unknown CPU" : "CPU " + id };
}

const tracks = [], cpus = new Map();

function flat(list, n, take) {
	for (let i = 0; i < list.length; i += n)
		take(...list.slice(i, i + n));
}

function cpuTrack(id) {
	if (!cpus.has(id)) {
		cpus.set(id, newTrack(1, id, 0, ""));
		tracks.push(cpus.get(id));
	}
	return cpus.get(id);
}

flat(data.tracks, 4, (kind, id, pid, name) => {
	const track = newTrack(kind, id, pid, name);

	tracks.push(track);
	if (kind !== THREAD)
		cpus.set(id, track);
});
flat(data.states, 6, (number, kind, from, ns, cpu, wait) => {
	const track = tracks[number], item = { type: "state", track, kind, from, to: from + ns, cpu, wait };

	track.states.push(item);
	if (kind === RUNNING) {
		track.running += ns;
		if (cpu >= 0)
			cpuTrack(cpu).states.push(item);
	}
});
flat(data.spans, 7, (number, depth, from, ns, self, name, cpu) => {
	const track = tracks[number];

	while (track.depths.length <= depth)
		track.depths.push([]);
	track.depths[depth].push({ type: "span", track, kind: SPAN, depth, from, to: from + Math.max(ns, 0), self,
				   name: data.names[name], cpu, hasNoEnd: ns < 0 });
});
let number = 0;
flat(data.records, 4, (from, track, cpu, event) => {
	const item = { type: "record", track: tracks[track], from, to: from, cpu, name: data.events[event], number: number++ };

	if (item.track)
		item.track.records.push(item);
});
for (const [track, kind, cells] of data.rests)
	flat(cells, 2, (cell, ns) => {
		const from = cell * data.rest_width;

		tracks[track].rests.push({ type: "rest", track: tracks[track], kind, from, ns,
					   to: Math.min(from + data.rest_width, length) });
		if (kind === RUNNING)
			tracks[track].running += ns;
	});
for (const track of tracks)
	for (const list of [track.states, ...track.depths])
		list.sort((a, b) => a.from - b.from);

/* CPUs first; then threads with spans; then by running time. */
function before(a, b) {
	return b.kind - a.kind || (a.kind !== THREAD ? a.id - b.id
			: (b.depths.length > 0) - (a.depths.length > 0) || b.running - a.running ||
			  b.records.length - a.records.length || a.id - b.id);
}
tracks.sort(before);

function isWanted(track) {
	const has = text => text.toLowerCase().includes(wanted);

	return !wanted || has(track.label) || String(track.pid) === wanted ||
	       track.depths.some(list => list.some(item => has(item.name))) ||
	       track.records.some(item => has(item.name));
}

const isEmpty = track => !track.states.length && !track.depths.length && !track.records.length && !track.rests.length;

/* Compute y and height of the lists of each row, relative to the first row. */
function layout() {
	let y = 0;

	rows = tracks.filter(track => !isEmpty(track) && isWanted(track)).map(track => {
		const row = { track, y, lists: [] };
		const add = (items, high) => {
			row.lists.push({ items, y, high });
			y += high;
		};

		row.hasStates = track.states.length > 0 || track.rests.some(rest => rest.kind !== SPAN);
		if (row.hasStates)
			add(track.states, STATE);
		if (!track.depths.length && track.rests.some(rest => rest.kind === SPAN))
			add([], SPAN_ROW);
		track.depths.forEach(items => add(items, SPAN_ROW));
		if (track.records.length)
			add(track.records, RECORDS);
		y = Math.max(y, row.y + 15);
		row.high = y - row.y;
		y += GAP;
		return row;
	});
	height = y;
}

/* ── drawing ─────────────────────────────────────────────────────────────────────────────────────────── */

/* (a copy, because reading the size from the browser for each item is slow) */
let size = { wide: 0, high: 0, left: 0 };
function takeSize() {
	size = { wide: canvas.clientWidth, high: canvas.clientHeight, left: canvas.clientWidth < 700 ? 108 : 170 };
}
const wide = () => size.wide, high = () => size.high, left = () => size.left;
const xOf = ns => left() + (ns - view.from) / (view.to - view.from) * (wide() - left());
const nsAt = x => view.from + (x - left()) / (wide() - left()) * (view.to - view.from);

function takeColors() {
	colors = {};
	for (const name of ["back", "panel", "line", "text", "faint", "accent", "running", "runnable", "blocked", "unknown",
			    "lost", "record", "on"])
		colors[name] = color(name);
	colors.states = [colors.unknown, colors.back, colors.running, colors.runnable, colors.blocked];
}

/* The first item that ends at `ns` or later. */
function firstAt(items, ns) {
	let low = 0, end = items.length;

	while (low < end) {
		const middle = (low + end) >> 1;

		if (items[middle].to < ns)
			low = middle + 1;
		else
			end = middle;
	}
	return low;
}

function itemColor(item, row) {
	if (item.type === "span")
		return nameColor(item.name);
	if (item.type === "record")
		return colors.record;
	return row.track.kind === THREAD ? colors.states[item.kind] : nameColor(item.track.label);
}

function labelOf(item, row) {
	return item.type === "span" ? item.name
	       : row.track.kind !== THREAD ? item.track.label
	       : item.kind === BLOCKED ? data.waits[item.wait] : stateNames[item.kind];
}

function drawList(row, list, y) {
	let last = -1;

	for (let i = firstAt(list.items, view.from); i < list.items.length && list.items[i].from <= view.to; i++) {
		const item = list.items[i];
		const x = Math.max(xOf(item.from), left()), end = Math.min(xOf(item.to), wide());
		const width = Math.max(end - x, item.type === "record" ? 1.5 : 1);

		if (width <= 1.5 && Math.floor(x) === last)
			continue;
		last = width <= 1.5 ? Math.floor(x) : -1;
		context.fillStyle = itemColor(item, row);
		context.fillRect(x, y + 1, width > 3 ? width - 0.5 : width, list.high - 2);
		if (width > 26 && item.type !== "record") {
			context.fillStyle = row.track.kind === THREAD && (item.kind === RUNNING || item.kind === RUNNABLE) ? colors.on : colors.text;
			fitText(context, labelOf(item, row), x + 3, y + list.high / 2, width - 6);
		}
	}
}

/* Draw the intervals that are left out: the height is their share of the time of each cell. */
function drawRests(row, top) {
	const sums = new Map();

	for (const rest of row.track.rests) {
		if (rest.to < view.from || rest.from > view.to)
			continue;
		const list = row.lists[rest.kind === SPAN && row.hasStates ? 1 : 0] || row.lists[0];
		const key = list.y + ":" + rest.from, below = sums.get(key) || 0;
		const share = Math.min(1 - below, rest.ns / Math.max(1, rest.to - rest.from));
		/* (whole pixels, so that no gap is visible between cells) */
		const x = Math.round(Math.max(xOf(rest.from), left())), end = Math.round(Math.min(xOf(rest.to), wide()));

		sums.set(key, below + share);
		context.fillStyle = rest.kind === SPAN ? colors.faint : colors.states[rest.kind];
		context.fillRect(x, top + list.y + (list.high - 1) * (1 - below - share), end - x, (list.high - 1) * share);
	}
}

/* A step of the axis: 1, 2 or 5 times a power of ten. */
function stepOf(least) {
	const power = 10 ** Math.floor(Math.log10(least));

	return [1, 2, 5, 10].map(n => n * power).find(step => step >= least);
}

function drawAxis() {
	const step = Math.max(1, stepOf((view.to - view.from) / Math.max(1, (wide() - left()) / 110)));

	context.fillStyle = colors.panel;
	context.fillRect(0, 0, wide(), TOP);
	for (let ns = Math.ceil(view.from / step) * step; ns <= view.to; ns += step) {
		const x = xOf(ns), text = sinceBegin(ns);

		context.fillStyle = colors.line;
		context.fillRect(x, 0, 1, high());
		context.fillStyle = colors.faint;
		if (x + 6 * text.length < wide())
			context.fillText(text, x + 4, TOP / 2);
	}
}

function drawLosses() {
	flat(data.losses, 4, (from, to) => {
		if (to < view.from || from > view.to)
			return;
		const x = Math.max(xOf(from), left());

		context.fillStyle = colors.lost;
		context.fillRect(x, TOP - 4, Math.max(2, Math.min(xOf(to), wide()) - x), 4);
	});
}

function drawSelected(row, list, y) {
	if (!selected || !list.items.includes(selected))
		return;
	const x = Math.max(xOf(selected.from), left()), end = Math.min(xOf(selected.to), wide());

	if (end < left() || x > wide())
		return;
	context.strokeStyle = colors.accent;
	context.lineWidth = 2;
	context.strokeRect(x - 1, y, Math.max(end - x, 2) + 2, list.high);
}

function draw() {
	const begun = performance.now(), ratio = window.devicePixelRatio || 1;

	frame = 0;
	takeSize();
	if (canvas.width !== Math.round(wide() * ratio) || canvas.height !== Math.round(high() * ratio)) {
		canvas.width = Math.round(wide() * ratio);
		canvas.height = Math.round(high() * ratio);
	}
	context.setTransform(ratio, 0, 0, ratio, 0, 0);
	context.font = "11px system-ui, sans-serif";
	context.textBaseline = "middle";
	context.fillStyle = colors.back;
	context.fillRect(0, 0, wide(), high());
	drawAxis();
	context.save();
	context.beginPath();
	context.rect(0, TOP, wide(), high() - TOP);
	context.clip();
	const top = TOP + 4 - view.top;

	for (const row of rows) {
		if (top + row.y + row.high < TOP || top + row.y > high())
			continue;
		drawRests(row, top);
		for (const list of row.lists) {
			drawList(row, list, top + list.y);
			drawSelected(row, list, top + list.y);
		}
		context.fillStyle = colors.back;
		context.fillRect(0, top + row.y - 1, left() - 1, row.high + 2);
		context.fillStyle = colors.text;
		fitText(context, row.track.label, 6, top + row.y + 7, left() - 12);
		context.fillStyle = colors.line;
		context.fillRect(0, top + row.y + row.high + GAP / 2, wide(), 0.5);
	}
	context.restore();
	drawLosses();
	document.getElementById("window").textContent = sinceBegin(Math.round(view.from)) + " to " +
		sinceBegin(Math.round(view.to)) + " (" + durationText(Math.round(view.to - view.from)) + ")";
	canvas.dataset.frames = Number(canvas.dataset.frames || 0) + 1;
	canvas.dataset.ms = (performance.now() - begun).toFixed(2);
	fillWindowTable();
}

function redraw() {
	if (!frame)
		frame = requestAnimationFrame(draw);
}

/* ── zoom and move ───────────────────────────────────────────────────────────────────────────────────── */

function show(from, to) {
	const span = Math.min(length, Math.max(20, to - from));

	view.from = Math.max(0, Math.min(from, length - span));
	view.to = Math.max(view.from + 1, Math.min(length, view.from + span));
	redraw();
}

function zoom(factor, at = (view.from + view.to) / 2) {
	show(at - (at - view.from) * factor, at + (view.to - at) * factor);
}

function move(part) {
	const by = (view.to - view.from) * part;

	show(view.from + by, view.to + by);
}

function scroll(pixels) {
	view.top = Math.max(0, Math.min(view.top + pixels, height - (high() - TOP)));
	redraw();
}

canvas.addEventListener("wheel", event => {
	const unit = event.deltaMode === 1 ? 16 : 1;

	event.preventDefault();
	if (event.shiftKey)
		scroll((event.deltaY || event.deltaX) * unit);
	else if (Math.abs(event.deltaX) > Math.abs(event.deltaY))
		move(event.deltaX * unit / wide());
	else
		zoom(Math.exp(event.deltaY * unit * 0.002), nsAt(Math.max(left(), event.offsetX)));
}, { passive: false });

let drag = null;
canvas.addEventListener("pointerdown", event => {
	drag = { x: event.clientX, y: event.clientY, from: view.from, to: view.to, top: view.top, moved: false };
	if (event.isTrusted)
		canvas.setPointerCapture(event.pointerId);
});
canvas.addEventListener("pointermove", event => {
	if (!drag)
		return;
	const x = event.clientX - drag.x, y = event.clientY - drag.y;

	drag.moved = drag.moved || Math.abs(x) + Math.abs(y) > 4;
	if (!drag.moved)
		return;
	const by = -x / (wide() - left()) * (drag.to - drag.from);

	view.top = drag.top;
	show(drag.from + by, drag.to + by);
	scroll(-y);
});
canvas.addEventListener("pointerup", event => {
	const box = canvas.getBoundingClientRect();

	if (drag && !drag.moved)
		select(find(event.clientX - box.left, event.clientY - box.top));
	drag = null;
});
canvas.addEventListener("pointercancel", () => { drag = null; });

const keys = {
	"+": () => zoom(0.6), "=": () => zoom(0.6), "-": () => zoom(1 / 0.6), "0": () => show(0, length),
	ArrowLeft: () => move(-0.2), ArrowRight: () => move(0.2), ArrowUp: () => scroll(-60), ArrowDown: () => scroll(60),
	PageUp: () => scroll(-high() / 2), PageDown: () => scroll(high() / 2),
	n: () => step(1), p: () => step(-1),
	z: () => selected && show(selected.from - (selected.to - selected.from) * 0.2,
				  selected.to + Math.max(40, (selected.to - selected.from) * 0.2)),
};
canvas.addEventListener("keydown", event => {
	if (!keys[event.key] || event.ctrlKey || event.metaKey || event.altKey)
		return;
	event.preventDefault();
	keys[event.key]();
});
for (const button of document.querySelectorAll("[data-do]"))
	button.addEventListener("click", keys[{ in: "+", out: "-", all: "0" }[button.dataset.do]]);

/* ── selection ───────────────────────────────────────────────────────────────────────────────────────── */

function nearest(list, x) {
	const ns = nsAt(x), i = firstAt(list.items, ns);
	const away = item => item ? Math.max(xOf(item.from) - x, x - xOf(item.to), 0) : Infinity;
	const best = [list.items[i - 1], list.items[i]].reduce((a, b) => away(a) <= away(b) ? a : b);

	return away(best) <= 5 ? best : null;
}

function find(x, y) {
	const at = y - TOP - 4 + view.top, row = rows.find(is => at >= is.y && at < is.y + is.high);

	if (!row || x < left() || y < TOP)
		return null;
	const list = row.lists.find(is => at >= is.y && at < is.y + is.high);

	return list ? nearest(list, x) || row.track.rests.find(rest => nsAt(x) >= rest.from && nsAt(x) < rest.to) || null : null;
}

let lines = null;
/* Numbers with more digits than JavaScript keeps become texts. */
function fieldsOf(item) {
	lines = lines || document.getElementById("fields").textContent.split("\n");
	const safe = (lines[item.number] || "{}").replace(/"(?:[^"\\]|\\.)*"|-?\d{16,}(?![\d.eE])/g,
							  part => part[0] === '"' ? part : '"' + part + '"');
	return JSON.parse(safe);
}

function put(list, name, value) {
	if (value === null || value === undefined || value === "")
		return;
	if (typeof value === "object" && "label" in value && "value" in value)
		value = (value.label === null ? "unknown" : value.label) + " (" + value.value + ")";
	element("dt", list, name);
	element("dd", list, typeof value === "object" ? JSON.stringify(value) : String(value));
}

function select(item) {
	const place = document.getElementById("item");

	selected = item && item.type !== "rest" ? item : null;
	place.replaceChildren();
	redraw();
	if (!item) {
		element("p", place, "Nothing here: click a span, a state or a record.", "note");
		return;
	}
	const title = { span: () => item.name, record: () => item.name, rest: () => "short intervals",
			state: () => item.track.label + ": " + stateNames[item.kind] }[item.type]();
	element("h3", place, title);
	const list = element("dl", place);

	put(list, "kind", item.type === "rest" ? "sum of intervals that are not in the page" : item.type);
	if (item.track)
		put(list, item.track.kind === THREAD ? "thread" : "track", item.track.label);
	put(list, "process", item.track && item.track.pid ? item.track.pid : null);
	put(list, "from", sinceBegin(item.from) + " (" + dateOf(beginNs + BigInt(item.from)) + ")");
	if (item.type === "span" || item.type === "state")
		put(list, "duration", item.hasNoEnd ? "unknown: the span has no end" : durationText(item.to - item.from));
	if (item.type === "span" && !item.hasNoEnd)
		put(list, "self", durationText(item.self));
	if (item.type === "state" && item.kind === BLOCKED)
		put(list, "waits for", data.waits[item.wait]);
	if (item.type === "rest")
		put(list, item.kind === SPAN ? "spans" : stateNames[item.kind], durationText(item.ns));
	if (item.cpu >= 0 && (item.type !== "state" || item.kind === RUNNING))
		put(list, "CPU", item.cpu);
	if (item.type === "record")
		for (const [scope, values] of Object.entries(fieldsOf(item)))
			for (const [name, value] of Object.entries(values || {}))
				put(list, scope === "fields" ? name : scope + "." + name, value);
}

/* Select the next or previous item in the list of the selected item, and move the window to it. */
function step(by) {
	const lists = rows.flatMap(row => row.lists), list = lists.find(is => is.items.includes(selected)) ||
		lists.find(is => is.items.length);
	const item = list && list.items[selected ? list.items.indexOf(selected) + by : 0], half = (view.to - view.from) / 2;

	if (!item)
		return;
	select(item);
	if (item.to < view.from || item.from > view.to)
		show(item.from - half, item.from + half);
}

/* ── table, search, legend ───────────────────────────────────────────────────────────────────────────── */

const details = document.getElementById("window-table");
let tableTimer = 0;

function fillWindowTable() {
	clearTimeout(tableTimer);
	if (details.open)
		tableTimer = setTimeout(makeWindowTable, 150);
}

function makeWindowTable() {
	const place = details.lastElementChild, items = [];

	for (const row of rows.filter(is => is.track.kind === THREAD || !is.track.states.length))
		for (const list of row.lists)
			for (let i = firstAt(list.items, view.from); i < list.items.length && list.items[i].from <= view.to; i++)
				if (list.items[i].type !== "record")
					items.push(list.items[i]);
	items.sort((a, b) => (b.to - b.from) - (a.to - a.from));
	place.replaceChildren();
	makeTable(place, [["name", "text"], ["thread", "text"], ["from", "since"], ["duration", "ns"], ["CPU", "id"]],
		  items.slice(0, 1000).map(item => [
			item.type === "span" ? item.name : item.kind === BLOCKED ? "blocked: " + data.waits[item.wait] : stateNames[item.kind],
			item.track.label, item.from, item.hasNoEnd ? null : item.to - item.from, item.cpu >= 0 ? item.cpu : null, item]),
		  row => select(row[5]));
}
details.addEventListener("toggle", fillWindowTable);

document.getElementById("find").addEventListener("input", event => {
	wanted = event.target.value.trim().toLowerCase();
	view.top = 0;
	layout();
	redraw();
});

function makeLegend() {
	const legend = document.getElementById("legend");
	const add = (name, key) => element("span", legend, name).style.setProperty("--key", "var(--" + key + ")");

	if (data.has_states)
		for (const name of ["running", "runnable", "blocked", "unknown"])
			add(name, name);
	if (data.records.length)
		add("record", "record");
	if (data.losses.length)
		add("lost records", "lost");
}

function makeNote() {
	const note = document.getElementById("detail-note");
	const texts = [];

	if (!data.whole)
		texts.push("The trace has more than " + countText(data.most_records) + " records, so the page has no single records. " +
			   "Select a part: waymark report --begin TIME --end TIME.");
	else if (!data.has_fields)
		texts.push("The fields of the records are not in the page, because they have more than 3 MiB. " +
			   "Select a part: waymark report --begin TIME --end TIME.");
	if (data.left_out)
		texts.push(countText(data.left_out) + " short intervals are drawn as sums.");
	if (!data.has_states)
		texts.push("States of threads are not in the trace; to record them: waymark record --preset=sched -- COMMAND.");
	note.hidden = !texts.length;
	note.textContent = texts.join(" ");
}

dark.addEventListener("change", () => {
	takeColors();
	redraw();
});
window.addEventListener("resize", redraw);
/* For the charts, which select a window, and for tests. */
window.waymark = { view, show, find, place: item => {
	const list = rows.flatMap(row => row.lists).find(is => is.items.includes(item));

	return list && { x: (Math.max(xOf(item.from), left()) + Math.min(xOf(item.to), wide())) / 2,
			 y: TOP + 4 - view.top + list.y + list.high / 2 };
}, tracks: () => rows.map(row => row.track), draw };

takeColors();
makeLegend();
makeNote();
layout();
canvas.style.height = Math.max(120, Math.min(canvas.clientHeight, height + TOP + 10)) + "px";
draw();
})();
