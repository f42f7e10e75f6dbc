// Setting up a position: pieces by click or Enter, hands and the side to move; then it is analysed or played.

import { button, choice, clear, el, svg } from "../base/dom.js";
import { drawPiece } from "../board/board.js";
import { word } from "../words/language.js";
import { View } from "./view.js";

const MOST = { P: 18, R: 2, B: 2 }; // pieces in hand; 4 of the others

export class EditView extends View {
  name = "edit";
  title = "Set up";
  listed = false;

  constructor(app) {
    super(app);
    this.piece = ""; // that a click puts down, "" takes away
    this.of = null; // the position that it began with
    this.palette = el("div", { id: "palette", role: "group", "aria-label": "Pieces" });
    this.field = el("input", { id: "position", "aria-label": "The position as text", spellcheck: "false", autocomplete: "off" });
    this.field.addEventListener("change", () => this.begin(this.field.value.trim(), "edit"));
  }

  show() {
    const { hello, board } = this.app;
    this.piece = board.game.set[0];
    this.of = null;
    this.side = choice("To move", [[0, hello.sides[0]], [1, hello.sides[1]]], 0, (turn) => { this.turn = Number(turn); this.draw(); }, { id: "to-move" });
    return [el("section", { class: "card", "aria-label": "Set up a position" }, el("h2", {}, "Set up a position"),
      el("p", { class: "soft" }, board.hands ? "Choose a piece, then squares; a click beside the board adds a piece in hand." : "Choose a piece, then squares."), this.palette,
      el("div", { class: "row" }, this.side, button("Empty board", () => this.empty(), { id: "empty" }), button("First position", () => this.first(), { id: "first" })),
      el("p", {}, this.field),
      el("div", { class: "row" }, button("Analyse", () => this.begin(this.text, "analyse"), { class: "main", id: "edit-analyse" }), button("Play", () => this.begin(this.text, "play"), { id: "edit-play" })))];
  }

  get text() {
    return this.app.board.game.write(this.set, this.turn);
  }

  lets() {
    return false;
  }

  status() {
    return word("Set up a position");
  }

  pick({ square, side, piece }) {
    const { set } = this;
    if (!set) return false;
    if (piece) set.hands[side][piece] = ((set.hands[side][piece] || 0) + 1) % ((MOST[piece] || 4) + 1);
    else set.squares[square] = set.squares[square] === this.piece ? "" : this.piece;
    this.draw();
    this.app.say(this.app.board.says(piece ? { side, piece } : { square }));
    return true;
  }

  empty() {
    this.set.squares.fill("");
    this.set.hands = [{}, {}];
    this.draw();
  }

  first() {
    this.of = null;
    this.app.go(0);
  }

  // Begin a game from a position, if it is one, in a view.
  begin(root, view) {
    const { app } = this;
    app.note("");
    app.link.ask("game", { root, moves: [] }, (said) => {
      if (said.is === "error") app.note(said.text);
      else app.start({ root, you: view === "play" ? said.plies[0].turn : 2 }, () => app.turnTo(app.views.find((each) => each.name === view)));
    });
  }

  draw() {
    const { match, board } = this.app;
    if (!match.here || !this.side) return;
    if (this.of !== match.here) {
      this.of = match.here;
      this.set = board.game.read(match.here.text);
      this.turn = match.turn;
    }
    this.side.lastChild.value = this.turn;
    this.field.value = this.text;
    board.show(this.text, { flipped: board.flipped });
    clear(this.palette, ...[...board.game.set, ""].map((piece) =>
      button(piece ? "" : "✕", () => { this.piece = piece; this.draw(); }, { "aria-label": piece ? board.game.says(piece) : "Take away", "aria-pressed": piece === this.piece })));
    board.game.set.forEach((piece, i) => this.palette.children[i].append(svg("svg", { viewBox: "0 0 100 100", "aria-hidden": "true", class: board.game.owner(piece) && board.hands ? "turned" : null }, drawPiece(board.game, piece))));
  }
}
