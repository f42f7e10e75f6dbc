// The states that a search visits most, as in Figure 4 of the Science paper: small boards in a tree, and in a row.

import { clear, el, svg } from "../base/dom.js";
import { Board } from "../board/board.js";
import { t, word } from "../words/language.js";
import { thousands } from "./values.js";

const [WIDTH, HEIGHT, GAP] = [104, 150, 14];
const LEVEL = 134; // from a state to those below it, where the tree grows to the right
const NARROW = 480; // a telephone: a state in each row, indented below its parent
const ROW = 126;
const LAZY = 1.3; // how much smaller the tree must become before it turns

// The moves from the root to a state, or, as "word", what people call them.
export function pathOf(states, place, name = "move") {
  const moves = [];
  for (let at = place; at > 0; at = states[at].parent) moves.unshift(states[at][name]);
  return moves;
}

function depthOf(states, place) {
  let depth = 0;
  for (let at = place; at > 0; at = states[at].parent) depth++;
  return depth;
}

// Small boards by position; those of the last picture are used again.
class Boards {
  constructor() {
    this.known = new Map();
    this.game = "";
  }

  of(game, text, last, flipped) {
    if (game !== this.game) this.known.clear();
    this.game = game;
    const key = `${text} ${last} ${flipped}`;
    let found = this.known.get(key);
    if (!found) {
      const board = new Board(game, { small: true, label: text });
      board.show(text, { last, flipped });
      board.svg.setAttribute("aria-hidden", "true");
      found = board.svg;
      if (this.known.size > 400) this.known.clear();
      this.known.set(key, found);
    }
    return found.cloneNode(true);
  }
}

const boards = new Boards();

// One state: board, ring as thick as its share, its value.
export function stateButton({ game, states, place, root, flipped, onGo, caption = "" }) {
  const state = states[place];
  const moves = pathOf(states, place);
  const side = depthOf(states, place) % 2 === 0 ? root : 1 - root; // to move there
  const title = t("{moves}: {visits} visits, {share}, value {value}", { moves: pathOf(states, place, "word").join(" ") || word("the position on the board"), visits: thousands(state.visits), share: percent(state.share), value: Math.round(state.value) });
  const made = el("button", { type: "button", class: `state ${place ? (side === 1 ? "by-first" : "by-second") : ""}`, title, onclick: () => onGo(moves) },
    boards.of(game, state.text, state.move, flipped), el("b", {}, String(Math.round(state.value))), el("span", { class: "soft" }, caption || percent(state.share)));
  made.style.setProperty("--ring", `${(1 + 7 * state.share).toFixed(1)}px`);
  return made;
}

const percent = (share) => `${(100 * share).toFixed(share < 0.1 ? 1 : 0)} %`;

// Where each state goes: [column, level, row] with parents above their children, leaves side by side, and a row of its own.
function placesOf(states) {
  const below = states.map(() => []);
  states.forEach((state, i) => i && below[state.parent].push(i));
  const spots = [];
  let [column, row] = [0, 0];
  const put = (i, depth) => {
    const mine = row++;
    const inner = below[i].map((child) => put(child, depth + 1));
    const x = inner.length ? (inner[0] + inner.at(-1)) / 2 : column++;
    spots[i] = [x, depth, mine];
    return x;
  };
  put(0, 0);
  return spots;
}

// The tree of one snapshot.
export class StateTree {
  constructor() {
    this.sideways = false; // the root is on the left, not on top
    this.lines = svg("svg", { class: "tree-lines", "aria-hidden": "true" });
    this.states = el("div");
    this.inner = el("div", { class: "tree" }, this.lines, this.states);
    this.element = el("div", { class: "scroll" }, this.inner);
  }

  clear() {
    this.inner.style.height = 0;
    clear(this.lines);
    clear(this.states);
  }

  show({ game, states, root, flipped, onGo }) {
    const spots = placesOf(states);
    const leaves = Math.max(...spots.map(([x]) => x)) + 1;
    const levels = Math.max(...spots.map(([, y]) => y)) + 1;
    const width = this.element.clientWidth;
    const upright = { wide: leaves * (WIDTH + GAP), high: levels * HEIGHT };
    const lying = { wide: levels * LEVEL, high: leaves * HEIGHT };
    for (const shape of [upright, lying]) {
      shape.scale = Math.min(1, Math.max(0.5, width / shape.wide || 1));
      shape.cost = shape.high * shape.scale + (shape.wide * shape.scale > width + 1 ? 1e4 : 0);
    }
    if (this.sideways ? upright.cost * LAZY < lying.cost : lying.cost * LAZY < upright.cost) this.sideways = !this.sideways;
    const narrow = width > 0 && width < NARROW;
    const indent = Math.min(LEVEL, (width - WIDTH - GAP) / Math.max(levels - 1, 1));
    const { wide, high, scale } = narrow ? { wide: width, high: states.length * ROW, scale: 1 } : this.sideways ? lying : upright;
    this.inner.style.width = `${wide}px`;
    this.inner.style.height = `${high}px`;
    this.inner.style.zoom = scale;
    const corner = ([x, y, row]) => (narrow ? [y * indent, row * ROW] : this.sideways ? [y * LEVEL, x * HEIGHT] : [x * (WIDTH + GAP), y * HEIGHT]);
    this.lines.setAttribute("viewBox", `0 0 ${wide} ${high}`);
    clear(this.lines, ...spots.slice(1).map((spot, i) => {
      const [[x, y], [u, v]] = [corner(spot), corner(spots[states[i + 1].parent])];
      const ends = narrow ? `M${u + WIDTH / 4} ${v + 100}V${y + 50}H${x + 10}` : this.sideways ? `M${u + WIDTH / 2} ${v + 50}L${x + 10} ${y + 50}` : `M${u + WIDTH / 2} ${v + 60}L${x + WIDTH / 2} ${y + 10}`;
      return svg("path", { d: ends, "stroke-width": 1 + 5 * states[i + 1].share });
    }));
    clear(this.states, ...states.map((_, place) => {
      const made = stateButton({ game, states, place, root, flipped, onGo, caption: place ? `${states[place].word} · ${percent(states[place].share)}` : "100 %" });
      const [x, y] = corner(spots[place]);
      made.style.left = `${x}px`;
      made.style.top = `${y}px`;
      return made;
    }));
  }
}
