// A chart of several lines over training steps, games or hours, with intervals.

import { clear, svg } from "../base/dom.js";

const [WIDE, HIGH] = [560, 200];

function ticks(low, high, count) {
  const step = 10 ** Math.floor(Math.log10((high - low) / count || 1));
  const wide = [1, 2, 5, 10].map((n) => n * step).find((n) => (high - low) / n <= count) || step * 10;
  const found = [];
  for (let at = Math.ceil(low / wide) * wide; at <= high + wide * 1e-6; at += wide) found.push(Number(at.toPrecision(10)));
  return found;
}

const short = (n) => (Math.abs(n) >= 1e6 ? `${n / 1e6}M` : Math.abs(n) >= 1e4 ? `${n / 1e3}k` : String(n));

// series: [{name, points: [[x, y, low, high]]}]; fixed: [[name, y]]; ticksAt: [[x, up]]; low, high: of y, else as needed.
export function drawChart(element, { series, fixed = [], marks = [], percent = false, low, high, label }) {
  const all = series.flatMap(({ points }) => points);
  if (!all.length) {
    clear(element, svg("text", { x: WIDE / 2, y: HIGH / 2, class: "tick" }, "nothing yet"));
    return;
  }
  const values = [...all.flatMap((p) => [p[1], p[2] ?? p[1], p[3] ?? p[1]]), ...fixed.map(([, y]) => y)];
  const bottom = low ?? Math.min(...values);
  const top = Math.max(high ?? Math.max(...values), bottom + 1e-9);
  const last = Math.max(...all.map((p) => p[0]), 1e-9);
  const x = (value) => (value / last) * WIDE;
  const y = (value) => HIGH * (1 - (value - bottom) / (top - bottom));
  const found = [];
  for (const at of ticks(bottom, top, 5)) {
    found.push(svg("path", { d: `M0 ${y(at)}H${WIDE}`, class: "axis" }), svg("text", { x: -5, y: y(at) + 4, class: "tick right" }, percent ? `${Math.round(100 * at)} %` : short(at)));
  }
  for (const at of ticks(0, last, 6)) found.push(svg("text", { x: x(at), y: HIGH + 24, class: "tick" }, short(at)));
  for (const [name, at] of fixed) found.push(svg("path", { d: `M0 ${y(at)}H${WIDE}`, class: "fixed" }), svg("text", { x: WIDE, y: y(at) < 20 ? y(at) + 20 : y(at) - 4, class: "tick right" }, percent ? name : `${name}: ${Math.round(at)}`));
  for (const [at, up] of marks) found.push(svg("path", { d: `M${x(at)} ${HIGH}v-10`, class: up ? "gate up" : "gate" }, svg("title", {}, up ? "promoted" : "not promoted")));
  series.forEach(({ points }, i) => {
    for (const [at, , from, to] of points) if (from !== undefined) found.push(svg("path", { d: `M${x(at)} ${y(from)}V${y(to)}`, class: `line line-${i}` }));
    found.push(svg("path", { d: points.map((p, k) => `${k ? "L" : "M"}${x(p[0]).toFixed(1)} ${y(p[1]).toFixed(1)}`).join(""), class: `line line-${i}` }));
    if (points.length < 40) for (const p of points) found.push(svg("circle", { cx: x(p[0]), cy: y(p[1]), r: 3, class: `line-dot line-${i}` }));
  });
  element.setAttribute("viewBox", `-68 -12 ${WIDE + 92} ${HIGH + 46}`);
  element.setAttribute("aria-label", label);
  clear(element, svg("title", {}, label), ...found);
}
