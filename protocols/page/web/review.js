// Review of a whole game: load it, have every position searched, see the mistakes.

import { button, choice, el } from "./dom.js";
import { findMistakes, marksOf, mistakeList } from "./mistakes.js";
import { drawLine, drawMarks } from "./overlay.js";
import { Graph } from "./plots.js";
import { points, thousands } from "./values.js";
import { View } from "./view.js";

export class ReviewView extends View {
  name = "review";
  title = "Review";

  constructor(app) {
    super(app);
    this.visits = 200;
    this.at = -1; // the position that is searched, -1: none
    this.kind = "score";
    this.graph = new Graph((ply) => this.app.go(ply));
    this.list = el("div", { id: "mistakes" });
    this.progress = el("progress", { max: 1, value: 0, "aria-label": "Positions searched" });
    this.switch = button("Review the game", () => this.start(), { class: "main", id: "review" });
    this.text = el("textarea", { rows: 3, id: "text", "aria-label": "A game or a position as text", placeholder: "Paste a game (PGN, KIF, CSA, KI2, SGF) or a position (FEN, SFEN), or drop a file here" });
    this.file = el("input", { type: "file", id: "file", accept: ".pgn,.kif,.kifu,.csa,.ki2,.sgf,.usi,.txt,.fen,.sfen", "aria-label": "A game's file" });
    this.file.addEventListener("change", () => this.file.files[0] && this.readFile(this.file.files[0]));
  }

  show() {
    const go = this.app.hello.sizes.length > 0;
    const load = el("section", { class: "card drop", "aria-label": "Load a game" }, el("h2", {}, "A game"),
      this.text, el("div", { class: "row" }, button("Load the text", () => this.read(this.text.value, ""), { id: "load" }), this.file));
    load.addEventListener("dragover", (event) => event.preventDefault());
    load.addEventListener("drop", (event) => {
      event.preventDefault();
      const [file] = event.dataTransfer.files;
      if (file) this.readFile(file);
      else this.read(event.dataTransfer.getData("text"), "");
    });
    const formats = this.app.hello.formats.map((name) => button(name, () => this.save(name), { title: `save as ${name}, with comments` }));
    return [load,
      el("section", { class: "card", "aria-label": "Review" },
        el("div", { class: "row" }, this.switch,
          choice("Visits a move", [50, 200, 800, 3200].map((n) => [n, thousands(n)]), this.visits, (n) => (this.visits = Number(n))),
          go && choice("Graph", [["score", "expected result"], ["lead", "lead in points"]], this.kind, (kind) => this.setKind(kind))),
        this.progress, this.graph.element, this.list),
      el("section", { class: "card", "aria-label": "Save" }, el("h2", {}, "Save"),
        el("div", { class: "row" }, ...formats, button("Page", () => this.save("page"), { title: "a page that opens without a server" })))];
  }

  setKind(kind) {
    this.kind = kind;
    this.draw();
  }

  buttons() {
    const { match } = this.app;
    if (!match.main) return [];
    const left = match.main.some((move, i) => match.moves[i] !== move) || match.moves.length !== match.main.length;
    return left ? [button("Back to the game", () => this.back())] : [];
  }

  back() {
    const { match, link } = this.app;
    let same = 0;
    while (same < match.moves.length && match.moves[same] === match.main[same]) same++;
    match.forget(same);
    match.moves = [...match.main];
    match.go(link, same, () => this.ready());
  }

  // ---------------------------------------------------------------- loading and saving

  readFile(file) {
    if (file.size > 700_000) {
      this.app.note("This file is too long: give one game.");
      return;
    }
    file.arrayBuffer().then((bytes) => this.read(decode(bytes), file.name));
  }

  read(text, name) {
    this.hide();
    this.app.link.ask("read", { text, name }, (said) => {
      if (said.is === "error") {
        this.app.note(said.text);
        return;
      }
      if (said.fault) this.app.note(said.fault);
      const { root, moves, names, result } = said;
      this.app.match.begin(this.app.link, { root, moves, names, result, main: moves, ply: moves.length ? 0 : undefined, you: 2 }, (fault) => (fault ? this.app.note(fault) : this.start()));
    });
  }

  save(format) {
    const { match, link } = this.app;
    const fields = { format, root: match.root, moves: match.moves, names: match.names, result: match.result, values: match.moves.concat("").map((_, ply) => match.values[ply] || null) };
    link.ask("write", fields, (said) => {
      if (said.is === "error") {
        this.app.note(said.text);
        return;
      }
      const url = URL.createObjectURL(new Blob([said.text], { type: "text/plain" }));
      el("a", { href: url, download: `${match.names.filter(Boolean).join(" - ") || match.name}${said.suffix}` }).click();
      setTimeout(() => URL.revokeObjectURL(url), 10_000);
    });
  }

  // ---------------------------------------------------------------- searching

  start() {
    if (this.at >= 0) {
      this.hide();
      this.draw();
      return;
    }
    this.at = 0;
    this.next();
  }

  // Search the next position that is not known well enough.
  next() {
    const { match } = this.app;
    while (this.at <= match.moves.length && (match.values[this.at]?.visits || 0) >= this.visits) this.at++;
    if (this.at > match.moves.length || !match.plies.length) {
      this.at = -1;
      this.draw();
      return;
    }
    const moves = match.moves.slice(0, this.at);
    let last = null;
    this.ask({ root: match.root, moves, visits: this.visits, lines: 1, every: 1000 }, (said) => {
      if (said.is === "report") last = said;
      if (said.is === "error") this.hide();
      if (said.is !== "answer") return;
      if (last) match.learn(last, this.at);
      else match.values[this.at] = ended(match.over && this.at === match.ply ? match.over : said, match, this.at);
      this.at++;
      this.next();
      this.draw();
    });
    this.draw();
  }

  status() {
    const [first, second] = this.app.match.names;
    return first || second ? `${first || "?"} – ${second || "?"}` : "";
  }

  draw() {
    const { match, board, hello } = this.app;
    if (this.app.view !== this) return;
    this.switch.textContent = this.at >= 0 ? "Stop" : "Review the game";
    const known = match.moves.concat("").filter((_, ply) => match.values[ply]).length;
    this.progress.max = match.moves.length + 1;
    this.progress.value = known;
    const mistakes = findMistakes(match.values, match.plies, match.moves, hello.kinds);
    this.graph.show({ plies: match.moves.length, points: points(match), ply: match.ply, kind: this.kind, marks: marksOf(mistakes),
      title: this.kind === "lead" ? `Lead of ${hello.sides[0]} in points` : `Expected result of ${hello.sides[0]} over the game, in per cent` });
    mistakeList(this.list, { mistakes, sides: hello.sides, game: match.name, first: match.plies[0]?.turn || 0, onGo: (m) => this.app.go(m.ply) });
    const value = match.values[match.ply];
    if (!board.board || !value?.best?.length) return;
    const next = match.moves[match.ply];
    if (next && next !== value.best[0] && mistakes.some((m) => m.ply === match.ply)) {
      drawMarks(board, [{ move: value.best[0], share: 0.6, loss: 0 }, { move: next, share: 0.6, loss: 1 }]);
    } else {
      drawLine(board, value.best.slice(0, 1), match.turn);
    }
  }

  rest() {
    super.rest();
    this.at = -1;
  }
}

// The value of a position where the game is over.
function ended(over, match, ply) {
  const lines = over.lines?.[0];
  const score = lines ? lines.wdl[0] + lines.wdl[1] / 2 : 0.5;
  const turn = match.plies[ply].turn;
  return { score: turn ? 1 - score : score, lead: null, visits: Infinity, best: [], words: [] };
}

// Records of shogi come in Shift-JIS, too.
function decode(bytes) {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return new TextDecoder("shift_jis").decode(bytes);
  }
}
