/* SPDX-License-Identifier: MIT */
/*
 * report.js - facts, findings, charts and tables of a report. timeline.js draws the timeline, flame.js the flame
 * graph. data.c describes the data.
 * Texts of the trace are never parsed as HTML: they are set by textContent or drawn on the canvas.
 */
"use strict";

const { result, tables: tableColumns } = JSON.parse(document.getElementById("result").textContent);
const data = JSON.parse(document.getElementById("data").textContent);
const dark = window.matchMedia("(prefers-color-scheme: dark)");

/* ── elements and texts ──────────────────────────────────────────────────────────────────────────────── */

function element(tag, parent, text, className) {
	const made = document.createElement(tag);

	if (text !== undefined)
		made.textContent = text;
	if (className)
		made.className = className;
	if (parent)
		parent.append(made);
	return made;
}

function scaled(value, base, units) {
	let i = 0;

	for (; Math.abs(value) >= base && i + 1 < units.length; i++)
		value /= base;
	const text = Number.isInteger(value) && i === 0 ? String(value) : value.toPrecision(4).replace(/\.?0+$/, "");

	return text.includes("e") ? String(Math.round(value)) + " " + units[i] : text + " " + units[i];
}

function durationText(ns) {
	return scaled(ns, 1000, ["ns", "µs", "ms", "s"]);
}

function countText(count) {
	return count.toLocaleString("en-US", { maximumFractionDigits: 1 });
}

/* "1700000000.000000022" as a BigInt of ns */
function nsOf(text) {
	const [whole, part] = text.replace("-", "").split("."), ns = BigInt(whole) * 1000000000n + BigInt(part);

	return text.startsWith("-") ? -ns : ns;
}

const beginNs = nsOf(result.begin);
const dateOf = ns => {
	const date = new Date(Number(ns / 1000000n));

	return isNaN(date) ? String(ns) : date.toISOString().replace("T", " ").replace("Z", " UTC");
};
const sinceBegin = ns => ns ? "+" + durationText(ns) : "0";

/* For each kind of column: the text of a cell, and the value by which rows are sorted. */
const kinds = {
	text: { show: String },
	id: { show: String, isNumber: true },
	count: { show: countText, isNumber: true },
	ns: { show: durationText, isNumber: true },
	time: { show: text => sinceBegin(Number(nsOf(text) - beginNs)), isNumber: true,
		sort: text => Number(nsOf(text) - beginNs) },
	since: { show: sinceBegin, isNumber: true },
	bytes: { show: bytes => scaled(bytes, 1024, ["B", "KiB", "MiB", "GiB", "TiB"]), isNumber: true },
	percent: { show: percent => percent.toFixed(1) + " %", isNumber: true },
	value: { show: value => String(+value.toPrecision(6)), isNumber: true },
	rate: { show: rate => scaled(rate, 1000, ["/s", "k/s", "M/s", "G/s"]), isNumber: true },
};

/* ── tables ──────────────────────────────────────────────────────────────────────────────────────────── */

const ROWS_SHOWN = 100;

function sorted(rows, at, kind, descending) {
	const value = row => row[at] === null || row[at] === undefined ? null
			     : kind.sort ? kind.sort(row[at]) : row[at];
	const order = (a, b) => kind.isNumber ? a - b : a < b ? -1 : a > b ? 1 : 0;

	/* Unknown values are at the end in both orders. */
	return rows.map(row => [value(row), row]).sort(([a], [b]) => {
		if (a === null || b === null)
			return (a === null) - (b === null);
		return descending ? order(b, a) : order(a, b);
	}).map(pair => pair[1]);
}

/*
 * Make a table that a click on a head sorts. columns: [head, kind]; rows: arrays of values, null if unknown. `chosen`
 * (optional) is called with the row and its number when a row is clicked.
 */
function makeTable(parent, columns, rows, chosen) {
	const scroll = element("div", parent, undefined, "scroll"), table = element("table", scroll);
	const head = element("tr", element("thead", table)), body = element("tbody", table);
	let shown = rows, limit = ROWS_SHOWN, by = -1, descending = false;
	const more = element("button", parent, undefined);

	scroll.tabIndex = 0;
	more.type = "button";
	function fill() {
		body.replaceChildren(...shown.slice(0, limit).map(row => {
			const line = document.createElement("tr");

			row.slice(0, columns.length).forEach((value, i) => {
				const kind = kinds[columns[i][1]], known = value !== null && value !== undefined;
				const cell = element("td", line, known ? kind.show(value) : "-");

				if (kind.isNumber)
					cell.className = "number";
				else if (/^[ ▁▂▃▄▅▆▇█]+$/.test(cell.textContent))
					cell.className = "spark";
				else if (cell.textContent.length > 40)
					cell.className = "wide";
			});
			if (chosen) {
				line.style.cursor = "pointer";
				line.addEventListener("click", () => chosen(row));
			}
			return line;
		}));
		more.hidden = rows.length <= limit;
		more.textContent = "Show all " + countText(rows.length) + " rows";
	}
	more.addEventListener("click", () => {
		limit = Infinity;
		fill();
	});
	columns.forEach(([name, kindName], i) => {
		const kind = kinds[kindName], cell = element("th", head, undefined, kind.isNumber ? "number" : "");
		const button = element("button", cell, name);

		button.type = "button";
		cell.scope = "col";
		button.addEventListener("click", () => {
			descending = by === i ? !descending : Boolean(kind.isNumber);
			by = i;
			for (const other of head.children)
				other.removeAttribute("aria-sort");
			cell.setAttribute("aria-sort", descending ? "descending" : "ascending");
			shown = sorted(rows, i, kind, descending);
			fill();
		});
	});
	fill();
}

function makeTables() {
	const list = document.getElementById("table-list");

	for (const table of tableColumns) {
		const rows = result.tables[table.name] || [], block = element("div", list);

		block.id = "table-" + table.name;
		element("h3", block, table.title + " (" + countText(rows.length) + ")");
		makeTable(block, table.columns.map(([key, head, kind]) => [head === key ? key.replace(/_ns$/, "").replaceAll("_", " ") : head, kind]),
			  rows.map(row => table.columns.map(([key]) => row[key])));
	}
}

/* ── facts and findings ──────────────────────────────────────────────────────────────────────────────── */

function makeSummary() {
	const facts = document.getElementById("facts"), findings = document.getElementById("findings");
	const nav = document.getElementById("nav");
	const lost = countText(result.lost) + (result.lost_unknown ? " or more" : "");

	facts.textContent = countText(result.records) + " records in " + durationText(result.length_ns) + ", " + lost +
			    " lost. From " + dateOf(beginNs) + " to " + dateOf(beginNs + BigInt(result.length_ns)) + ".";
	for (const note of result.notes)
		element("li", findings, note);
	if (!result.notes.length)
		element("li", findings, "Nothing stands out.");
	for (const part of document.querySelectorAll("main > section:not([hidden])")) {
		const link = element("a", nav, part.querySelector("h2").textContent);

		link.href = "#" + part.id;
	}
}

/* ── charts ──────────────────────────────────────────────────────────────────────────────────────────── */

const color = name => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
const charts = [];

const hues = new Map();
function nameColor(name) {
	if (!hues.has(name)) {
		let hash = 7;

		for (const letter of name)
			hash = (hash * 31 + letter.codePointAt(0)) >>> 0;
		hues.set(name, hash % 360);
	}
	return dark.matches ? `hsl(${hues.get(name)} 42% 38%)` : `hsl(${hues.get(name)} 62% 74%)`;
}

/* Draw the beginning of a text that fits into the width. */
function fitText(context, text, x, y, width) {
	const letters = Math.floor(width / 6);

	if (letters < 2)
		return;
	context.fillText(text.length <= letters ? text : text.slice(0, letters - 1) + "…", x, y);
}

/* values: one for each cell of the grid. */
function addChart(id, title, kindName, values, colorName, most) {
	const block = element("div", document.getElementById("chart-list")), kind = kinds[kindName];
	const from = values.map((_, i) => i * data.grid.width);
	let plot = null;

	block.id = "chart-" + id;
	element("h3", block, title);
	const place = element("div", block), details = element("details", block);

	element("summary", details, "Table: " + title);
	details.addEventListener("toggle", () => {
		if (details.open && details.childElementCount === 1)
			makeTable(details, [["from", "since"], [title, kindName]],
				  values.map((value, i) => [from[i], value]));
	});

	function draw() {
		const line = { stroke: color("line"), width: 1 };
		const axis = { stroke: color("faint"), grid: line, ticks: line };

		if (plot)
			plot.destroy();
		plot = new uPlot({
			width: Math.max(240, place.clientWidth),
			height: 190,
			scales: { x: { time: false, range: [0, Math.max(data.length, 1)] },
				  y: { range: (_, low, high) => [0, most || high * 1.05 || 1] } },
			axes: [{ ...axis, space: 80, values: (_, splits) => splits.map(ns => durationText(ns)) },
			       { ...axis, size: 70, values: (_, splits) => splits.map(value => kind.show(value)) }],
			series: [{ label: "from", value: (_, ns) => ns === null ? "-" : sinceBegin(ns) },
				 { label: title, stroke: color(colorName), fill: color(colorName) + "33", width: 1.5,
				   points: { show: false },
				   paths: uPlot.paths.stepped({ align: 1 }),
				   value: (_, value) => value === null || value === undefined ? "-" : kind.show(value) }],
			cursor: { drag: { setScale: false }, sync: { key: "time" } },
			hooks: { setSelect: [u => {
				if (u.select.width > 2)
					window.waymark.show(u.posToVal(u.select.left, "x"),
							    u.posToVal(u.select.left + u.select.width, "x"));
			}] },
		}, [from, values], place);
	}
	charts.push({ draw, resize: () => plot.setSize({ width: Math.max(240, place.clientWidth), height: 190 }) });
}

/* The last cell ends with the trace. */
function cellLength(i) {
	return Math.max(1, Math.min(data.grid.width, data.length - i * data.grid.width));
}

function makeCharts() {
	const list = document.getElementById("chart-list");

	if (!data.grid.n) {
		element("p", list, "The trace has no records.", "note");
		return;
	}
	const perSecond = row => row.map((sum, i) => sum * 1e9 / cellLength(i));

	/* (a last cell of a few ns has no useful rate) */
	const isShort = cellLength(data.grid.n - 1) < data.grid.width / 4 && data.grid.n > 1;
	const useful = isShort ? data.grid.n - 1 : data.grid.n;

	addChart("records", "Records per second", "rate", perSecond(data.grid.records).slice(0, useful), "record");
	if (data.has_states && data.cpus)
		addChart("cpus", "CPU use", "percent",
			 data.grid.busy.map((ns, i) => 100 * ns / cellLength(i) / data.cpus).slice(0, useful), "running", 100);
	if (data.grid.lost.some(Boolean))
		addChart("lost", "Lost records per second", "rate", perSecond(data.grid.lost).slice(0, useful), "lost");
	else
		element("p", list, data.losses.length ? "It is unknown how many records were lost. The timeline shows when."
				   : result.lost || result.lost_unknown ? "It is unknown when records were lost."
				   : "No records were lost.", "note");
	/* (draw after all charts exist: the width of a chart depends on their number) */
	charts.forEach(chart => chart.draw());
	dark.addEventListener("change", () => charts.forEach(chart => chart.draw()));
	window.addEventListener("resize", () => charts.forEach(chart => chart.resize()));
}

const hasStacks = which => data[which] !== undefined && data[which].nodes.length > 0;
document.getElementById("flame").hidden = !hasStacks("stacks") && !hasStacks("callstacks");
makeSummary();
makeCharts();
makeTables();
