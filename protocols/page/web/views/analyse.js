// Analysis of the position on the board: it begins by itself, and follows the board.

import { button, choice, clear, el } from "../base/dom.js";
import { drawHeat, drawLine, drawMarks, drawOwners, heatOf } from "../board/overlay.js";
import { MoveTable } from "../plots/movetable.js";
import { DotPlot, Graph, WdlBar } from "../plots/plots.js";
import { firstWdl, points, thousands, worth } from "../plots/values.js";
import { t, word } from "../words/language.js";
import { View } from "./view.js";

const EVERY_MS = 100; // between reports
const FAST_MS = 300; // between drawings of the numbers ...
const SLOW_MS = 600; // ... and of the pictures

export class AnalyseView extends View {
  name = "analyse";
  title = "Analyse";
  comments = true;

  constructor(app) {
    super(app);
    this.paused = false;
    this.heat = "none";
    this.lines = 5;
    this.chosen = new Set(); // moves that alone are searched
    this.here = null; // the position that all this is about
    this.report = null;
    this.line = null; // under the pointer
    this.table = new MoveTable({
      hover: (pv) => this.hover(pv),
      play: (move) => this.app.play(move),
      only: (move, on) => this.choose(move, on),
    });
    this.bar = new WdlBar();
    this.dots = new DotPlot();
    this.graph = new Graph((ply) => this.app.go(ply));
    this.figures = el("p", { class: "figures" });
    this.mover = el("p", { class: "soft" });
    this.switch = button("Pause", () => this.pause(), { class: "main", id: "pause" });
    document.addEventListener("visibilitychange", () => this.app.view === this && (document.hidden ? this.hide() : this.ready()));
  }

  show() {
    const go = this.app.hello.sizes.length > 0;
    const kinds = [["none", "best moves"], ["policy", "policy"], ["visits", "visits"], ["value", "value"], ...(go ? [["owners", "territory"]] : [])];
    if (!kinds.some(([kind]) => kind === this.heat)) this.heat = "none";
    return [
      el("section", { class: "card", "aria-label": "The search" },
        this.bar.element, this.table.element, this.figures,
        el("div", { class: "row" }, this.switch,
          button("+1,000", () => this.more(1000), { title: "search 1,000 more visits" }),
          button("+10,000", () => this.more(10000), { title: "search 10,000 more visits" }),
          choice("On the board", kinds, this.heat, (kind) => this.setHeat(kind), { id: "heat" }),
          choice("Lines", [1, 2, 3, 5, 8, 12].map((n) => [n, n]), this.lines, (n) => this.setLines(Number(n)))),
        this.mover),
      el("div", { class: "pair" },
        el("section", { class: "card", "aria-label": "Moves as dots" }, el("h2", {}, "Moves: expected result and visits"), this.dots.element),
        el("section", { class: "card", "aria-label": "The game" }, el("h2", {}, t("The game: expected result of {side}", { side: this.app.hello.sides[0] })), this.graph.element))];
  }

  buttons() {
    const { match } = this.app;
    return this.app.hello.sizes.length
      ? [button("Pass", () => this.app.play("pass"), { disabled: !match.legal.includes("pass") })] : [];
  }

  setHeat(kind) {
    this.heat = kind;
    this.overlay();
  }

  setLines(lines) {
    this.lines = lines;
    this.again();
  }

  choose(move, on) {
    if (on) this.chosen.add(move);
    else this.chosen.delete(move);
    this.again();
  }

  again() {
    this.hide();
    this.ready();
  }

  pause() {
    this.paused = !this.paused;
    if (!this.paused) this.ready();
    else {
      this.hide();
      this.draw(); // the last report
    }
    this.drawSwitch();
  }

  drawSwitch() {
    this.switch.textContent = word(this.asked ? "Pause" : "Go on");
  }

  more(visits) {
    this.hide();
    this.paused = true;
    this.search({ visits });
  }

  // The position is known: search it, unless it was paused.
  ready() {
    const { match } = this.app;
    this.place(match);
    if (this.asked || this.paused || match.over || match.waiting || document.hidden || !match.here) return;
    this.search({});
  }

  // What belongs to another position is forgotten.
  place(match) {
    if (match.position === this.here) return;
    this.here = match.position;
    this.report = null;
    this.line = null;
    this.chosen.clear();
    this.table.clear();
    clear(this.figures, match.over ? "The game is over." : "…");
  }

  search(limit) {
    const { match } = this.app;
    if (match.over) return;
    this.place(match);
    const only = [...this.chosen];
    this.ask({ root: match.root, moves: match.played, lines: this.lines, every: EVERY_MS, only, ...limit }, (said) => {
      if (said.is === "report") this.hear(said);
      if (this.asked) return;
      this.drawSwitch();
      this.draw();
    });
    this.drawSwitch();
  }

  hear(report) {
    const first = !this.report;
    this.report = report;
    this.app.match.learn(report);
    if (this.frame) return;
    this.frame = setTimeout(() => {
      this.frame = 0;
      this.draw();
    }, first ? 0 : FAST_MS);
  }

  hover(pv) {
    this.line = pv;
    this.overlay();
  }

  draw() {
    const { match, board } = this.app;
    if (!match.here || !board.board) return;
    this.place(match);
    const now = performance.now();
    const rests = this.asked && this.drawn === this.here && now - this.drawnAt < SLOW_MS; // pictures change slowly
    if (!rests) {
      this.drawn = this.here;
      this.drawnAt = now;
      this.drawGraph();
    }
    const { report } = this;
    if (!report) return;
    const write = (move) => match.words[match.legal.indexOf(move)] || move;
    const wdl = firstWdl(report, match.turn);
    this.bar.show(wdl, this.app.hello.sides, match.name !== "chess");
    const score = report.lines.length ? worth(report.lines[0], match.name, match.turn ? -1 : 1) : "";
    const lead = report.lead !== null ? ` · ${leads(this.app, report.lead, match.turn)}` : score && ` · ${score}`;
    const chance = (100 * (wdl[0] + wdl[1] / 2)).toFixed(1);
    clear(this.figures, el("strong", {}, `${this.app.hello.sides[0]} ${chance} %`),
      `${lead} · ${t("{visits} visits · {speed}/s · depth {depth}", { visits: thousands(report.visits), speed: thousands(report.nps), depth: `${report.depth}–${report.deepest}` })}`);
    this.table.show(report, write, this.chosen, match.name);
    this.mover.textContent = t("Q, chances and dots are those of {side}, to move.", { side: this.app.hello.sides[match.turn] });
    if (rests) return;
    this.dots.show(report, write);
    this.overlay();
  }

  drawGraph() {
    const { match } = this.app;
    this.graph.show({ plies: match.moves.length, points: points(match), ply: match.ply, title: t("Expected result of {side} over the game, %", { side: this.app.hello.sides[0] }) });
  }

  // Redraw what is on the board alone.
  overlay() {
    const { match, board } = this.app;
    const { report } = this;
    if (!report || this.app.view !== this || !board.board || match.position !== this.here) return;
    drawHeat(board, ["policy", "visits", "value"].includes(this.heat) ? heatOf(board, report, this.heat) : []);
    drawOwners(board, this.heat === "owners" ? report.owners : null, match.turn);
    if (this.line) {
      drawLine(board, this.line, match.turn);
      return;
    }
    const rows = report.moves.filter((row) => row[2]);
    const best = rows.find((row) => row[0] === report.lines[0]?.pv[0]);
    const all = rows.reduce((sum, row) => sum + row[2], 0) || 1;
    const shown = best && ["none", "owners"].includes(this.heat) ? rows.filter((row) => row[2] >= all / 50).slice(0, 4) : [];
    drawMarks(board, shown.map(([move, , n, q]) =>
      ({ move, share: n / all, loss: (best[3] - q) / 2, label: board.game.pieces === "stones" ? `${Math.round(50 * (1 + q))}` : "" })));
  }

  rest() {
    super.rest();
    clearTimeout(this.frame); // what it would draw may belong to another position
    this.frame = 0;
    this.drawSwitch();
  }
}

function leads(app, lead, turn) {
  const side = lead >= 0 ? turn : 1 - turn;
  return `${app.hello.sides[side]} +${Math.abs(lead).toFixed(1)}`;
}
