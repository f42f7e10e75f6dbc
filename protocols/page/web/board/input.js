// Moves by mouse, touch and keyboard: from legal moves of the server to one that the user means.

import { t, word } from "../words/language.js";

export class Input {
  // canPlay: whether the user may move now; play: gets the move; pick: a place that is chosen when no move may be played,
  // returns whether that means anything; ask: chooses among promotions; say: for screen readers.
  constructor(board, about) {
    Object.assign(this, { board, ...about });
    this.selected = null;
    this.cursor = null;
    this.legal = [];
    const element = board.svg;
    element.setAttribute("tabindex", "0");
    element.addEventListener("pointerdown", (event) => this.down(event));
    element.addEventListener("mousedown", (event) => event.preventDefault()); // it would take the focus from what the move leads to
    element.addEventListener("pointerup", (event) => this.up(event));
    element.addEventListener("pointercancel", () => (this.from = null));
    element.addEventListener("keydown", (event) => this.key(event));
    element.addEventListener("focus", () => element.matches(":focus-visible") && this.moveCursor(0, 0));
    element.addEventListener("blur", () => board.showCursor(null));
  }

  // Legal moves of the position that is shown now.
  set(moves) {
    this.moves = moves;
    this.legal = moves.map((text) => ({ text, ...this.board.game.move(this.board.board, text) }));
    this.select(null);
  }

  select(place) {
    this.selected = place;
    this.board.showTargets(place, place ? this.from_(place).map((move) => move.to) : []);
  }

  from_(place) {
    if (place.piece) return this.legal.filter((move) => move.drop === place.piece);
    return this.legal.filter((move) => move.from === place.square && move.from !== null);
  }

  down(event) {
    if (event.button) return;
    this.board.svg.focus({ preventScroll: true });
    this.board.showCursor(null);
    this.from = this.board.at(event);
    this.took = this.from && this.act(this.from, true);
  }

  up(event) {
    const to = this.board.at(event);
    if (this.from && this.selected && to && !same(this.from, to)) this.act(to, false); // dragged
    this.from = null;
  }

  // Take a place up, or play to it.
  act(place, lets) {
    if (!this.canPlay()) {
      if (lets) this.pick(place);
      return false;
    }
    if (this.selected && place.square !== undefined) {
      const found = this.from_(this.selected).filter((move) => move.to === place.square);
      if (found.length) {
        this.finish(found);
        return false;
      }
    }
    const drops = this.legal.filter((move) => move.from === null && !move.drop && !move.pass && move.to === place.square);
    if (drops.length) {
      if (lets) this.finish(drops);
      return false;
    }
    const again = this.selected && same(this.selected, place);
    if (!lets) return false;
    this.select(!again && this.owns(place) && this.from_(place).length ? place : null);
    return this.selected !== null;
  }

  owns(place) {
    const turn = this.turn();
    return place.piece ? place.side === turn : true;
  }

  turn() {
    const { board } = this.board;
    const field = board.fields[1];
    return this.board.game.hand ? (field === "b" ? 0 : 1) : 0;
  }

  finish(found) {
    this.select(null);
    if (found.length === 1) this.play(found[0].text);
    else this.ask(found, (move) => this.play(move.text));
  }

  // ---------------------------------------------------------------- keyboard

  key(event) {
    const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    const step = steps[event.key];
    if (step && !event.altKey && !event.ctrlKey && !event.metaKey) {
      this.moveCursor(...step);
    } else if (event.key === "Enter" || event.key === " ") {
      if (!this.cursor) this.moveCursor(0, 0);
      else this.press();
    } else if (event.key === "Escape") {
      this.select(null);
      this.say(word("put down"));
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }

  press() {
    const place = placeOf(this.board, this.cursor);
    if (!this.canPlay()) {
      if (!this.pick(place)) this.say(word("it is not your turn"));
      return;
    }
    const before = this.selected;
    this.act(place, true);
    if (this.selected && this.selected !== before) {
      const where = this.from_(this.selected).map((move) => (this.board.game.called || this.board.game.name)(this.board.board, move.to));
      this.say(t("{piece} taken up; it goes to {squares}", { piece: this.board.says(place), squares: [...new Set(where)].join(", ") }));
    }
  }

  // The cursor moves over the board as it is seen; beyond its edge are the hands.
  moveCursor(x, y) {
    const { columns, rows } = this.board.board;
    const before = this.cursor || { x: Math.floor(columns / 2), y: Math.floor(rows / 2) };
    const hand = this.board.hands;
    const next = { x: clamp(before.x + x, 0, columns - 1), y: clamp(before.y + y, -hand, rows - 1 + hand) };
    if (next.y < 0) next.x = clamp(next.x, 0, 6);
    if (next.y >= rows) next.x = clamp(next.x, columns - 7, columns - 1);
    this.cursor = next;
    const place = placeOf(this.board, next);
    this.board.showCursor(place);
    this.say(this.board.says(place));
  }
}

const clamp = (value, low, high) => Math.max(low, Math.min(value, high));

const same = (a, b) => a.square === b.square && a.piece === b.piece && a.side === b.side;

function placeOf(board, { x, y }) {
  const { columns, rows } = board.board;
  if (y < 0) return { side: board.flipped ? 0 : 1, piece: board.game.hand[6 - x] };
  if (y >= rows) return { side: board.flipped ? 1 : 0, piece: board.game.hand[x - (columns - 7)] };
  const i = y * columns + x;
  return { square: board.flipped ? columns * rows - 1 - i : i };
}
