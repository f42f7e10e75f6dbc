// Review of a whole game: load it, have every position searched, see the mistakes.

import { button, byId, choice, clear, el } from "./dom.js";
import { findMistakes, marksOf, mistakeList } from "./mistakes.js";
import { drawMarks } from "./overlay.js";
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
    this.runs = false; // it rests while the position changes, or another view is shown
    this.kind = "score";
    this.above = 2;
    this.graph = new Graph((ply) => this.app.go(ply));
    this.list = el("div", { id: "mistakes" });
    this.progress = el("progress", { max: 1, value: 0, "aria-label": "Positions searched" });
    this.switch = button("Review the game", () => this.start(), { class: "main", id: "review" });
    this.games = el("div", { id: "games" }); // of a file with several
    this.text = el("textarea", { rows: 3, id: "text", "aria-label": "A game or a position as text", placeholder: "Paste a game (PGN, KIF, CSA, KI2, JKF, SGF) or a position (FEN, SFEN), or drop a file anywhere on the page" });
    this.file = el("input", { type: "file", id: "file", accept: ".pgn,.kif,.kifu,.csa,.ki2,.ki2u,.jkf,.json,.sgf,.gib,.ngf,.ugf,.usi,.txt,.epd,.fen,.sfen", "aria-label": "A game's file" });
    this.file.addEventListener("change", () => this.file.files[0] && this.readFile(this.file.files[0]));
  }

  show() {
    const go = this.app.hello.sizes.length > 0;
    const { moves } = this.app.match;
    const load = el("section", { class: "card", "aria-label": "Load a game" }, el("details", { open: !moves.length }, el("summary", {}, "Load a game"),
      this.text, el("div", { class: "row" }, button("Load the text", () => this.read(this.text.value), { id: "load" }), this.file)), this.games);
    const formats = this.app.hello.formats.map((name) => button(name, () => this.save(name), { title: `save as ${name}, with comments` }));
    this.cards = [el("section", { class: "card", "aria-label": "Review" },
        el("div", { class: "row" }, this.switch,
          choice("Visits a move", [50, 200, 800, 3200].map((n) => [n, thousands(n)]), this.visits, (n) => (this.visits = Number(n))),
          go && choice("Graph", [["score", "expected result"], ["lead", "lead in points"]], this.kind, (kind) => this.setKind(kind))),
        this.progress, this.graph.element, this.list),
      el("section", { class: "card", "aria-label": "Save" }, el("h2", {}, "Save"),
        el("div", { class: "row" }, ...formats, button("Page", () => this.save("page"), { title: "a page that opens without a server" })))];
    return [load, ...this.cards];
  }

  setKind(kind) {
    this.kind = kind;
    this.draw();
  }

  buttons() {
    const { match, link } = this.app;
    return match.left ? [button("Back to the game", () => match.back(link, () => this.ready()), { id: "back" })] : [];
  }

  // ---------------------------------------------------------------- loading and saving

  readFile(file) {
    if (file.size > 700_000) {
      this.app.note("This file is too long: give one game.");
      return;
    }
    file.arrayBuffer().then((bytes) => this.load({ data: base64(bytes), name: file.name }));
  }

  // Load a game of any kind as a text.
  read(text) {
    this.load({ text });
  }

  // Load a game of a text, or of a file in base64, and offer the others that are there.
  load(given) {
    this.app.turnTo(this);
    this.app.link.ask("load", given, (said) => {
      if (said.is === "error") {
        this.app.note(said.text);
        return;
      }
      const options = said.games.map((title, i) => [i + 1, `${i + 1}. ${title}`]);
      clear(this.games, options.length > 0 && choice("Game of the file", options, said.number, (n) => this.load({ ...given, number: Number(n) })));
      if (said.game === this.app.match.name) this.take(said);
      else this.app.choose(said.game, said);
    });
  }

  // Begin the review of a record that the server has read.
  take({ root, moves, names, result, fault, source }) {
    this.runs = true;
    this.app.start({ root, moves, names, result, source, main: moves, ply: 0, you: 2 }, () => {
      this.app.turnTo(this);
      if (fault) this.app.note(fault);
    });
  }

  save(format) {
    const { match, link } = this.app;
    const fields = { format, root: match.root, moves: match.moves, names: match.names, result: match.result, source: match.source, values: match.moves.concat("").map((_, ply) => match.values[ply] || null) };
    link.ask("write", fields, (said) => {
      if (said.is === "error") {
        this.app.note(said.text);
        return;
      }
      if (said.note) this.app.note(said.note);
      const url = URL.createObjectURL(new Blob([said.text], { type: "text/plain" }));
      el("a", { href: url, download: `${match.names.filter(Boolean).join(" - ") || match.name}${said.suffix}` }).click();
      setTimeout(() => URL.revokeObjectURL(url), 10_000);
    });
  }

  // ---------------------------------------------------------------- searching

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

  status() {
    const [first, second] = this.app.match.names;
    return first || second ? `${first || "?"} – ${second || "?"}` : "";
  }

  draw() {
    const { match, board, hello } = this.app;
    if (this.app.view !== this) return;
    for (const card of this.cards) card.hidden = !match.moves.length;
    this.switch.textContent = this.runs ? "Stop" : "Review the game";
    const known = match.moves.concat("").filter((_, ply) => match.values[ply]).length;
    this.progress.max = match.moves.length + 1;
    this.progress.value = known;
    const mistakes = findMistakes(match.values, match.plies, match.moves, hello.kinds);
    this.graph.show({ plies: match.moves.length, points: points(match), ply: match.ply, kind: this.kind, marks: marksOf(mistakes),
      title: this.kind === "lead" ? `Lead of ${hello.sides[0]} in points` : `Expected result of ${hello.sides[0]} over the game, in per cent` });
    if (!known) clear(this.list);
    else mistakeList(this.list, { mistakes, sides: hello.sides, game: match.name, first: match.plies[0]?.turn || 0, done: known > match.moves.length, onGo: (m) => this.app.go(m.ply) });
    byId("moves").querySelectorAll("button").forEach((move, ply) => {
      const found = mistakes.find((m) => m.ply === ply);
      move.className = found ? `mistake ${found.colour}` : "";
    });
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

// The server finds out in which encoding a file is.
function base64(bytes) {
  let text = "";
  for (const byte of new Uint8Array(bytes)) text += String.fromCharCode(byte);
  return btoa(text);
}
