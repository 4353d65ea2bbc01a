/* SPDX-License-Identifier: MIT */
/*
 * flame.js - the flame graph of a report: a bar for each frame of a stack, below the bar of the frame that called it.
 * The width of a bar is its time. data.c describes the nodes.
 *
 *     nodes ──layout()──► bars of the zoomed node ──draw()──► pixels
 *                              └── barAt(x, y) ──► select(), zoom()
 */
"use strict";

(() => {
const canvas = document.getElementById("flame-canvas");
const context = canvas.getContext("2d"), info = document.getElementById("flame-item");
/* LEAST: width of the least bar. A canvas has a limited height, so few callers of the zoomed node are drawn. */
const ROW = 18, LEAST = 0.4, CALLERS = 10, ROWS = 200;
let all = null, zoomed = null, selected = null, bars = [], wanted = "", size = { wide: 0, high: 0 }, colors = {};

/* ── the tree ────────────────────────────────────────────────────────────────────────────────────────── */

let nodes = [], kind = "";

/* kind: "stacks", with ns, or "callstacks", with numbers of records. */
function makeTree(which) {
	const list = data[which].nodes;

	kind = which;
	nodes = [];
	all = { name: "all threads", total: 0, self: 0, depth: 0, parent: null, children: [] };
	for (let i = 0; i < list.length; i += 4) {
		const [number, frame, total, self] = list.slice(i, i + 4), parent = number < 0 ? all : nodes[number];
		const node = { name: data[which].frames[frame], total, self, depth: parent.depth + 1, parent, children: [] };

		parent.children.push(node);
		nodes.push(node);
		if (parent === all)
			all.total += total;
	}
	for (const node of [all, ...nodes])
		node.children.sort((a, b) => a.name < b.name ? -1 : a.name > b.name ? 1 : 0);
}

const isTime = () => kind === "stacks";
const amount = value => isTime() ? durationText(value) : countText(value);

function pathOf(node) {
	const path = [];

	for (; node; node = node.parent)
		path.unshift(node);
	return path;
}

const isWanted = node => wanted && node.name.toLowerCase().includes(wanted);

/* ── drawing ─────────────────────────────────────────────────────────────────────────────────────────── */

let first = 0;          /* depth of the first row */

/* Compute the bars: the zoomed node and its callers over the whole width, and the nodes below it. */
function layout() {
	first = Math.max(0, zoomed.depth - CALLERS);
	bars = pathOf(zoomed).slice(first).map(node => ({ node, x: 0, width: size.wide, isCaller: node !== zoomed }));
	const open = [bars[bars.length - 1]];

	while (open.length) {
		const bar = open.pop();
		let x = bar.x;

		for (const node of bar.node.children) {
			const width = node.total / Math.max(1, zoomed.total) * size.wide, made = { node, x, width };

			x += width;
			if (width < LEAST || node.depth - first >= ROWS)
				continue;
			bars.push(made);
			open.push(made);
		}
	}
}

function drawBar({ node, x, width, isCaller }) {
	const y = (node.depth - first) * ROW;

	context.globalAlpha = isCaller ? 0.55 : 1;
	context.fillStyle = node === all ? colors.panel : isWanted(node) ? colors.running : nameColor(node.name);
	context.fillRect(x, y + 1, Math.max(width - 0.5, 0.5), ROW - 1);
	if (width > 26) {
		context.fillStyle = isWanted(node) ? colors.on : colors.text;
		fitText(context, node.name, x + 4, y + ROW / 2 + 1, width - 8);
	}
	context.globalAlpha = 1;
	if (node === selected) {
		context.strokeStyle = colors.accent;
		context.lineWidth = 2;
		context.strokeRect(x + 1, y + 1, Math.max(width - 2, 1), ROW - 1);
	}
}

function draw() {
	const begun = performance.now(), ratio = window.devicePixelRatio || 1;

	size.wide = canvas.clientWidth;
	layout();
	size.high = (1 + bars.reduce((most, bar) => Math.max(most, bar.node.depth - first), 0)) * ROW + 2;
	canvas.style.height = size.high + "px";
	canvas.width = Math.round(size.wide * ratio);
	canvas.height = Math.round(size.high * ratio);
	for (const name of ["back", "panel", "text", "accent", "running", "on"])
		colors[name] = color(name);
	context.setTransform(ratio, 0, 0, ratio, 0, 0);
	context.font = "11px system-ui, sans-serif";
	context.textBaseline = "middle";
	context.fillStyle = colors.back;
	context.fillRect(0, 0, size.wide, size.high);
	bars.forEach(drawBar);
	canvas.dataset.ms = (performance.now() - begun).toFixed(2);
}

/* ── selection and zoom ──────────────────────────────────────────────────────────────────────────────── */

function barAt(x, y) {
	const depth = Math.floor(y / ROW) + first;

	return bars.find(bar => bar.node.depth === depth && x >= bar.x && x < bar.x + Math.max(bar.width, 1));
}

const percent = (node, whole) => kinds.percent.show(100 * node.total / Math.max(1, whole.total));

function select(node) {
	selected = node;
	info.replaceChildren();
	draw();
	if (!node) {
		element("p", info, "Click a frame to zoom to its stack.", "note");
		return;
	}
	element("h3", info, node.name);
	const list = element("dl", info);
	const put = (name, value) => {
		element("dt", list, name);
		element("dd", list, value);
	};

	put(isTime() ? "time" : "records", amount(node.total) + ", " + percent(node, all) + " of all");
	if (node.parent && node.parent !== all)
		put("of its caller", percent(node, node.parent));
	if (node !== all)
		put(isTime() ? "own time" : "own records", amount(node.self));
	if (node.depth > 1)
		put("stack", pathOf(node).slice(1).map(is => is.name).join(" › "));
}

function zoom(node) {
	zoomed = node;
	select(node);
}

function sibling(by) {
	const list = selected && selected.parent ? selected.parent.children : [];

	select(list[list.indexOf(selected) + by] || selected || all);
}

const keys = {
	ArrowDown: () => select(selected ? selected.children.reduce((a, b) => b.total > a.total ? b : a, selected.children[0] || selected) : zoomed),
	ArrowUp: () => select(selected && selected.parent || all),
	ArrowLeft: () => sibling(-1), ArrowRight: () => sibling(1),
	Enter: () => zoom(selected || all), Escape: () => zoom(all), "0": () => zoom(all),
};
canvas.addEventListener("keydown", event => {
	if (!keys[event.key] || event.ctrlKey || event.metaKey || event.altKey)
		return;
	event.preventDefault();
	keys[event.key]();
});
canvas.addEventListener("click", event => {
	const box = canvas.getBoundingClientRect(), bar = barAt(event.clientX - box.left, event.clientY - box.top);

	if (bar)
		zoom(bar.node);
});
document.getElementById("flame-all").addEventListener("click", () => zoom(all));
document.getElementById("flame-find").addEventListener("input", event => {
	wanted = event.target.value.trim().toLowerCase();
	draw();
});

/* ── table ───────────────────────────────────────────────────────────────────────────────────────────── */

/* For each name: the time of the outermost frames of this name, and the own time of all. */
function rows() {
	const sums = new Map();

	for (const node of nodes) {
		const sum = sums.get(node.name) || [node.name, 0, 0];

		sums.set(node.name, sum);
		sum[1] += node.self;
		if (!pathOf(node.parent).some(is => is.name === node.name))
			sum[2] += node.total;
	}
	return [...sums.values()].sort((a, b) => b[1] - a[1]);
}

const details = document.getElementById("flame-table");
function fillTable() {
	const column = isTime() ? ["time", "ns"] : ["records", "count"];

	while (details.childElementCount > 1)
		details.lastElementChild.remove();
	if (details.open)
		makeTable(details, [["frame", "text"], ["own " + column[0], column[1]], column], rows());
}
details.addEventListener("toggle", fillTable);

function showTree(which) {
	makeTree(which);
	document.getElementById("flame-words").textContent = (isTime()
		? "Spans and system calls of threads. The width of a frame is its time"
		: "Call stacks of records. The width of a frame is its number of records") +
		"; a frame is below its caller." +
		(data[which].left_out ? " " + countText(data[which].left_out) + " short stacks are left out." : "");
	fillTable();
	zoomed = all;
	select(null);
}

if (!hasStacks("stacks") && !hasStacks("callstacks"))
	return;
document.getElementById("flame-kinds").hidden = !hasStacks("stacks") || !hasStacks("callstacks");
document.getElementById("flame-kind").addEventListener("change", event => showTree(event.target.value));
dark.addEventListener("change", draw);
window.addEventListener("resize", draw);
/* For tests. */
window.waymark.flame = { all: () => all, zoomed: () => zoomed, selected: () => selected, bars: () => bars, draw };
showTree(hasStacks("stacks") ? "stacks" : "callstacks");
})();
