// Pictures of numbers: the win-draw-loss bar, a dot for each move, the graph over the game.

import { clear, el, svg } from "../base/dom.js";
import { lossClass } from "../board/overlay.js";
import { t } from "../words/language.js";
import { percents } from "./values.js";

// wdl: of the first player.
export class WdlBar {
  constructor() {
    this.parts = ["win", "draw", "loss"].map((name) => el("i", { class: name }));
    this.element = el("div", { class: "wdl", role: "img" }, ...this.parts);
  }

  show(wdl, sides, blackFirst) {
    this.element.classList.toggle("black-first", blackFirst);
    const shown = percents(wdl);
    this.parts.forEach((part, i) => {
      part.style.width = `${100 * wdl[i]}%`;
      const side = wdl[i] > 0.25 && [sides[0], "", sides[1]][i];
      part.textContent = wdl[i] > 0.08 ? `${side || ""} ${shown[i]}`.trim() : "";
    });
    this.element.ariaLabel = this.element.title = t("{first} wins {win} %, draw {draw} %, {second} wins {loss} %", { first: sides[0], win: shown[0], draw: shown[1], second: sides[1], loss: shown[2] });
  }
}

const WIDE = 480;
const HIGH = 150;

// Of texts that would lie on each other the first stays.
function dropCovered(texts) {
  const boxes = [];
  for (const text of texts) {
    const a = text.getBBox();
    if (boxes.some((b) => a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height)) text.remove();
    else boxes.push(a);
  }
}

// Each visited move: expected result across, visits up (log), prior as size.
export class DotPlot {
  constructor() {
    this.dots = svg("g");
    this.element = svg("svg", { class: "plot", viewBox: `-58 -16 ${WIDE + 90} ${HIGH + 46}`, role: "img", "aria-label": "A dot for each move: expected result across, visits up, prior as size" },
      ...[0, 25, 50, 75, 100].flatMap((x) => [
        svg("path", { d: `M${(x / 100) * WIDE} 0V${HIGH}`, class: x === 50 ? "axis middle" : "axis" }),
        svg("text", { x: (x / 100) * WIDE, y: HIGH + 22, class: "tick" }, `${x} %`)]),
      this.dots);
  }

  show(report, words) {
    const most = Math.max(...report.moves.map((row) => row[2] || 0), 10);
    const top = Math.ceil(Math.log10(most) + 0.001);
    const best = report.moves.find((row) => row[0] === report.lines[0]?.pv[0]);
    const found = [];
    for (let power = 0; power <= top; power++) {
      const y = HIGH * (1 - power / top);
      found.push(svg("path", { d: `M0 ${y}H${WIDE}`, class: "axis" }), svg("text", { x: -4, y: y + 4, class: "tick right" }, power < 4 ? String(10 ** power) : `10${"⁰¹²³⁴⁵⁶⁷⁸⁹"[power]}`));
    }
    const [circles, names] = [[], []];
    report.moves.filter((row) => row[2]).slice(0, 60).forEach(([move, prior, n, q]) => {
      const x = (WIDE * (1 + q)) / 2;
      const y = HIGH * (1 - Math.log10(n) / top);
      const r = 3 + 14 * Math.sqrt(prior);
      circles.unshift(svg("circle", { cx: x, cy: y, r, class: `dot ${lossClass(best ? (best[3] - q) / 2 : 0)}` }, svg("title", {}, t("{move}: {n} visits", { move: words(move), n }))));
      if (n <= most / 20) return;
      const left = x < WIDE / 2; // the name is on the inner side
      const at = left ? x + r + 4 : x - r - 4;
      names.push(svg("text", { x: at, y: y + 4, class: left ? "dot-text" : "dot-text right" }, words(move)));
    });
    clear(this.dots, ...found, ...circles, ...names);
    dropCovered(names);
  }
}

// Values over the game: points [{ply, score 0..1 of the first player, lead}], marks [{ply, kind, title}].
export class Graph {
  constructor(onPly) {
    this.onPly = onPly;
    this.element = svg("svg", { class: "plot graph", viewBox: `-58 -16 ${WIDE + 74} ${HIGH + 46}`, role: "img" });
    this.element.addEventListener("click", (event) => {
      const { x } = new DOMPoint(event.clientX, event.clientY).matrixTransform(this.element.getScreenCTM().inverse());
      this.onPly(Math.round((x / WIDE) * this.plies));
    });
  }

  show({ plies, points, ply, marks = [], title, kind = "score" }) {
    this.plies = Math.max(plies, 1);
    const known = points.filter((point) => point && Number.isFinite(point[kind]));
    const most = kind === "lead" ? Math.max(5, ...known.map((point) => Math.abs(point.lead))) : 1;
    const height = (point) => HIGH * (kind === "lead" ? 0.5 - point.lead / most / 2 : 1 - point.score);
    const x = (at) => (at / this.plies) * WIDE;
    const labels = kind === "lead" ? [[`+${Math.round(most)}`, 0], ["0", 0.5], [`-${Math.round(most)}`, 1]] : [["100", 0], ["50", 0.5], ["0", 1]];
    const found = labels.flatMap(([text, y]) => [svg("path", { d: `M0 ${y * HIGH}H${WIDE}`, class: y === 0.5 ? "axis middle" : "axis" }), svg("text", { x: -4, y: y * HIGH + 4, class: "tick right" }, text)]);
    let line = "";
    let before = -2;
    for (const point of known) {
      line += `${point.ply === before + 1 ? "L" : "M"}${x(point.ply).toFixed(1)} ${height(point).toFixed(1)}`;
      before = point.ply;
    }
    found.push(svg("path", { d: line || "M0 0", class: "curve" }));
    if (known.length < 3) for (const point of known) found.push(svg("circle", { cx: x(point.ply), cy: height(point), r: 3, class: "curve-dot" }));
    for (const mark of marks) {
      const point = points[mark.ply];
      if (point) found.push(svg("circle", { cx: x(mark.ply), cy: height(point), r: 5, class: `dot ${mark.kind}` }, svg("title", {}, mark.title)));
    }
    found.push(svg("path", { d: `M${x(ply)} -4V${HIGH + 4}`, class: "here" }));
    const step = Math.max(10, Math.ceil(this.plies / 60) * 10);
    for (let at = 0; at <= this.plies; at += step) found.push(svg("text", { x: x(at), y: HIGH + 22, class: "tick" }, String(at)));
    this.element.setAttribute("aria-label", title);
    clear(this.element, svg("title", {}, title), ...found);
  }
}
