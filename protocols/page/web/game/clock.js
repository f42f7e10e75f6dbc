// The players' clocks, in milliseconds. They rest while the page is closed or shows something else than the game.

import { byId, clear, el } from "../base/dom.js";
import { sideName } from "../words/words.js";

// Seconds for the game, added for each move, and for each move once the others are used up.
export const CONTROLS = [
  ["", "no clock"], ["60 0 0", "1 minute"], ["180 2 0", "3 min + 2 s"], ["600 5 0", "10 min + 5 s"], ["1800 20 0", "30 min + 20 s"],
  ["600 0 30", "10 min, then 30 s a move"],
];

export class Clock {
  constructor({ control, left }) {
    const [base, add, byoyomi] = control.split(" ").map((seconds) => 1000 * seconds);
    Object.assign(this, { control, add, byoyomi, left: left || [base, base], side: null }); // side: whose clock runs
  }

  get kept() {
    return { control: this.control, left: this.left };
  }

  // For the engine.
  get told() {
    const [first, second] = [0, 1].map((side) => Math.max(0, Math.round(this.of(side))));
    return { first, second, add: this.add, byoyomi: this.byoyomi };
  }

  // What a side has left; below 0 it uses up the time for this move.
  of(side) {
    return this.left[side] - (side === this.side ? performance.now() - this.since : 0);
  }

  run(side) {
    if (side === this.side) return;
    this.rest();
    this.side = side;
    this.since = performance.now();
  }

  rest() {
    if (this.side !== null) this.left[this.side] = this.of(this.side);
    this.side = null;
  }

  moved(side) {
    this.rest();
    this.left[side] = Math.max(this.left[side], this.byoyomi ? 0 : -Infinity) + this.add;
  }

  get out() {
    return this.side !== null && this.of(this.side) + this.byoyomi <= 0;
  }

  text(side) {
    const left = this.of(side) < 0 ? this.of(side) + this.byoyomi : this.of(side);
    const seconds = Math.max(0, Math.ceil(left / 1000));
    return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
  }
}

export function drawClocks(app) {
  const { clock } = app.match;
  byId("clocks").hidden = !clock;
  clear(byId("clocks"), ...(clock ? [0, 1] : []).map((side) =>
    el("span", { role: "timer", "aria-current": side === clock.side }, `${sideName(app, side)} ${clock.text(side)}`)));
}
