// Review of a whole game: load it, have every position searched, see the mistakes.

import { button, byId, choice, clear, el } from "../base/dom.js";
import { drawMarks } from "../board/overlay.js";
import { Files } from "../game/files.js";
import { Graph } from "../plots/plots.js";
import { points, thousands } from "../plots/values.js";
import { t, word } from "../words/language.js";
import { Lesson } from "./lesson.js";
import { findMistakes, marksOf, mistakeList, pointsLost } from "./mistakes.js";
import { View } from "./view.js";

export class ReviewView extends View {
  name = "review";
  title = "Review";
  comments = true;

  constructor(app) {
    super(app);
    this.visits = 200;
    this.at = -1; // the position that is searched, -1: none
    this.runs = false; // it rests while the position changes, or another view is shown
    this.kind = "score";
    this.above = 2;
    this.files = new Files(app, this);
    this.lesson = null; // about the mistakes of the game
    this.whose = 2; // mistakes of that side, 2: of both
    this.graph = new Graph((ply) => this.app.go(ply));
    this.list = el("div", { id: "mistakes" });
    this.school = el("div", { class: "row", id: "school" });
    this.place = el("div"); // of the lesson
    this.progress = el("progress", { max: 1, value: 0, "aria-label": "Positions searched" });
    this.switch = button("Review the game", () => this.start(), { class: "main", id: "review" });
  }

  show() {
    const go = this.app.hello.sizes.length > 0;
    this.body = el("div", {}, el("div", { class: "row" }, this.switch,
          choice("Visits a move", [50, 200, 800, 3200].map((n) => [n, thousands(n)]), this.visits, (n) => (this.visits = Number(n))),
          go && choice("Graph", [["score", "expected result"], ["lead", "lead in points"]], this.kind, (kind) => this.setKind(kind))),
      this.progress, this.graph.element, this.school);
    this.found = el("section", { class: "card", "aria-label": "Mistakes" }, el("h2", {}, "Mistakes"), this.list);
    this.cards = [el("section", { class: "card", "aria-label": "Review" }, this.place, this.body), this.found,
      this.files.saveCard()];
    return [this.files.loadCard(), ...this.cards];
  }

  setKind(kind) {
    this.kind = kind;
    this.draw();
  }

  buttons() {
    const { match, link } = this.app;
    return match.left ? [button("Back to the game", () => match.back(link, () => this.ready()), { id: "back" })] : [];
  }

  // ---------------------------------------------------------------- searching

  // Begin the review of a record that the server has read.
  take({ root, moves, tree, comments, hidden, names, result, fault, source }) {
    this.runs = true;
    const short = !source && (hidden > 0 || comments.some(Boolean));
    this.app.start({ root, moves, tree, comments, hidden, short, names, result, source, ply: 0, you: 2 }, () => {
      this.app.turnTo(this);
      if (fault) this.app.note(fault);
    });
  }

  start() {
    this.hide();
    this.runs = !this.runs;
    this.ready();
  }

  // The position is known: go on with the review, unless a variation of the game is on the board.
  ready() {
    if (this.runs && this.at < 0 && !this.app.match.left) {
      this.at = 0;
      this.next();
    }
    this.draw();
  }

  // Show the review of the game on the board, and search what is not known.
  begin() {
    this.runs = true;
    this.app.turnTo(this);
  }

  // Search the next position that is not known well enough.
  next() {
    const { match } = this.app;
    if (match.end) match.learnEnd();
    while (this.at <= match.moves.length && (match.values[this.at]?.visits || 0) >= this.visits) this.at++;
    if (this.at > match.moves.length || !match.plies.length) {
      this.at = -1;
      this.runs = false;
      match.store();
      this.draw();
      return;
    }
    const moves = match.moves.slice(0, this.at);
    let last = null;
    this.ask({ root: match.root, moves, visits: this.visits, lines: 1, every: 1000 }, (said) => {
      if (said.is === "report") last = said;
      if (said.is === "error") this.start(); // which stops it
      if (said.is !== "answer") return;
      if (last) match.learn(last, this.at);
      this.at++;
      this.next();
      this.draw();
    });
    this.draw();
  }

  // ---------------------------------------------------------------- the lesson

  get least() {
    return Math.min(...this.app.hello.kinds.map(([least]) => least));
  }

  mistakes() {
    const { match, hello } = this.app;
    return findMistakes(match.values, match.plies, match.moves, hello.kinds);
  }

  learn() {
    this.hide();
    this.lesson = new Lesson(this, this.tasks(this.mistakes()));
    clear(this.place, this.lesson.element);
    this.lesson.show();
  }

  tasks(mistakes) {
    return mistakes.filter((m) => m.best.length && (this.whose === 2 || m.turn === this.whose));
  }

  endLesson() {
    this.lesson = null;
    clear(this.place);
    this.app.draw();
  }

  takes(move) {
    if (!this.lesson) return false;
    this.lesson.answer(move);
    return true;
  }

  lets() {
    return !this.lesson || (this.lesson.asks && !this.asked);
  }

  // The way to a lesson, once the game is reviewed.
  drawSchool(mistakes, done) {
    const { match, hello } = this.app;
    if (match !== this.of) this.whose = match.you;
    this.of = match;
    const offered = done && !match.left && mistakes.length > 0;
    const sides = [[2, "both sides"], ...hello.sides.map((side, i) => [i, side])];
    clear(this.school, ...(offered ? [
      button("Learn from your mistakes", () => this.learn(), { id: "learn", disabled: !this.tasks(mistakes).length }),
      choice("Whose", sides, this.whose, (whose) => { this.whose = Number(whose); this.draw(); }, { id: "whose" })] : []));
  }

  status() {
    const [first, second] = this.app.match.names;
    return first || second ? `${first || "?"} – ${second || "?"}` : "";
  }

  draw() {
    const { match, board, hello } = this.app;
    if (this.app.view !== this) return;
    for (const card of this.cards) card.hidden = !match.moves.length;
    this.switch.textContent = word(this.runs ? "Stop" : "Review the game");
    const known = match.moves.concat("").filter((_, ply) => match.values[ply]).length;
    this.progress.max = match.moves.length + 1;
    this.progress.value = known;
    const mistakes = this.mistakes();
    if (this.lesson && this.lesson.match !== match) {
      this.lesson = null;
      clear(this.place);
    }
    this.body.hidden = Boolean(this.lesson);
    this.found.hidden = this.body.hidden || !known || !match.moves.length;
    this.drawSchool(mistakes, known > match.moves.length && !this.runs);
    this.graph.show({ plies: match.moves.length, points: points(match), ply: match.ply, kind: this.kind, marks: marksOf(mistakes),
      title: t(this.kind === "lead" ? "Lead of {side} in points" : "Expected result of {side} over the game, %", { side: hello.sides[0] }) });
    if (!known) clear(this.list);
    else mistakeList(this.list, { mistakes, sides: hello.sides, game: match.name, start: match.plies[0]?.text, done: known > match.moves.length, onGo: (m) => this.app.go(m.ply) });
    byId("moves").querySelectorAll("li > button:not(.other)").forEach((move, ply) => {
      const found = mistakes.find((m) => m.ply === ply);
      move.className = found ? `mistake ${found.colour}` : "";
      const lost = pointsLost(match.values[ply], match.values[ply + 1], match.plies[ply].turn);
      if (lost >= 0.5) move.dataset.lost = `−${lost.toFixed(1)}`;
    });
    if (this.lesson) {
      this.lesson.draw();
      return;
    }
    const value = match.values[match.ply];
    if (!board.board || !value?.best?.length) return;
    const wrong = mistakes.find((m) => m.ply === match.ply);
    drawMarks(board, [{ move: value.best[0], share: 0.6, loss: 0 }, wrong && { move: match.moves[match.ply], share: 0.6, loss: wrong.loss }].filter(Boolean));
  }

  rest() {
    super.rest();
    this.at = -1;
  }
}
