// One board for all games, in SVG: ground, heat, pieces, hands, marks. A square is 100 units wide.

import { clear, svg } from "../base/dom.js";
import { gameOf, handSays, says } from "./games.js";
import { CHESSMEN, KANJI } from "./pieces.js";

const CELL = 100;
const STARS = { 9: [2, 4, 6], 13: [3, 6, 9], 19: [3, 9, 15] };

export function drawPiece(game, piece) {
  if (game.pieces === "chessmen") {
    const side = game.owner(piece) ? "black" : "white";
    const outlines = CHESSMEN[piece] || CHESSMEN[piece.toLowerCase()];
    return svg("g", { transform: "translate(5 5) scale(2)", class: `piece chessman ${side}` }, ...outlines.map(([look, d, transform]) => svg("path", { class: look, d, transform })));
  }
  if (game.pieces === "stones") {
    return svg("circle", { cx: 50, cy: 50, r: 47, class: `piece stone ${piece === "X" ? "black" : "white"}` });
  }
  if (game.pieces === "discs") {
    const side = game.owner(piece) ? "white" : "black";
    const letter = "XxOo".includes(piece) ? [] : [svg("text", { x: 50, y: 50, class: `ply middle on-${side}` }, piece)];
    return svg("g", { class: "piece" }, svg("circle", { cx: 50, cy: 50, r: 42, class: `stone ${side}` }), ...letter);
  }
  const upper = piece.toUpperCase();
  const promoted = piece.startsWith("+");
  const path = KANJI[piece === "k" ? "k" : upper];
  return svg("g", { class: `piece tile${promoted ? " promoted" : ""}` },
    svg("path", { d: "M50 6L82 20L92 94H8L18 20Z" }),
    svg("path", { class: "kanji", transform: "translate(21 24) scale(.725)", d: path }));
}

export class Board {
  // small: without coordinates, hands' counts and input, for the many boards of a picture.
  constructor(name, { small = false, label = "Board" } = {}) {
    this.name = name;
    this.game = gameOf(name);
    this.small = small;
    this.flipped = false;
    this.layers = Object.fromEntries(
      ["ground", "heat", "glow", "pieces", "owners", "arrows", "marks", "cursor"].map((layer) => [layer, svg("g", { class: layer })]));
    this.svg = svg("svg", { class: `board ${this.game.pieces}`, role: small ? "img" : "application", "aria-label": label },
      ...Object.values(this.layers));
    this.shape = "";
  }

  // ---------------------------------------------------------------- where things are

  get hands() {
    return this.game.hand ? 1 : 0;
  }

  // The corner of a square, seen from the side that is below.
  corner(i) {
    const { columns, rows } = this.board;
    const [x, y] = [i % columns, Math.floor(i / columns)];
    return this.flipped ? [(columns - 1 - x) * CELL, (rows - 1 - y) * CELL] : [x * CELL, y * CELL];
  }

  middle(i) {
    const [x, y] = this.corner(i);
    return [x + CELL / 2, y + CELL / 2];
  }

  // Where a piece in hand lies: the user's own hand below the board, the other one above.
  handCorner(side, piece) {
    const place = this.game.hand.indexOf(piece);
    const below = (side === 0) !== this.flipped;
    const { columns, rows } = this.board;
    return below ? [(columns - 7 + place) * CELL, rows * CELL + 40] : [(6 - place) * CELL, -CELL - 12];
  }

  // What is at a point of the screen: {square} or {side, piece}.
  at(event) {
    const matrix = this.svg.getScreenCTM();
    if (!matrix) return null;
    const { x, y } = new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix.inverse());
    const { columns, rows } = this.board;
    const [column, row] = [Math.floor(x / CELL), Math.floor(y / CELL)];
    if (column >= 0 && column < columns && row >= 0 && row < rows) {
      const i = row * columns + column;
      return { square: this.flipped ? columns * rows - 1 - i : i };
    }
    if (!this.hands) return null;
    for (const side of [0, 1]) {
      for (const piece of this.game.hand) {
        const [left, top] = this.handCorner(side, piece);
        if (x >= left && x < left + CELL && y >= top && y < top + CELL) return { side, piece };
      }
    }
    return null;
  }

  // ---------------------------------------------------------------- drawing

  // Show a position; last: the move that led to it; check: the side that is in check.
  show(text, { last = "", flipped = false, check = null } = {}) {
    this.board = this.game.read(text);
    this.flipped = flipped;
    const { columns, rows } = this.board;
    const shape = `${columns} ${rows} ${flipped}`;
    if (shape !== this.shape) this.drawGround();
    this.shape = shape;
    const move = last ? this.game.move(this.board, last) : null;
    const glowing = this.game.pieces === "stones" ? [] : [move?.from, move?.to].filter((i) => i !== null && i !== undefined);
    const king = check === null ? -1 : this.board.squares.indexOf(check ? "k" : "K");
    clear(this.layers.glow, ...glowing.map((i) => this.glow(i, "last")), king >= 0 && this.glow(king, "check"));
    const pieces = [];
    this.board.squares.forEach((piece, i) => piece && pieces.push(this.place(piece, this.corner(i))));
    if (this.game.pieces === "stones" && move && move.to !== null) pieces.push(this.dot(move.to));
    if (this.hands) pieces.push(...this.drawHands());
    clear(this.layers.pieces, ...pieces);
    for (const layer of ["heat", "owners", "arrows", "marks"]) clear(this.layers[layer]);
  }

  place(piece, [x, y]) {
    const drawn = drawPiece(this.game, piece);
    const turned = this.game.pieces === "tiles" && (this.game.owner(piece) === 1) !== this.flipped;
    return svg("g", { transform: `translate(${x} ${y})${turned ? ` rotate(180 ${CELL / 2} ${CELL / 2})` : ""}` }, drawn);
  }

  // On the stone that was played last.
  dot(i) {
    const [x, y] = this.middle(i);
    return svg("circle", { cx: x, cy: y, r: 20, class: `dot on-${this.board.squares[i] === "X" ? "black" : "white"}` });
  }

  drawHands() {
    const found = [];
    this.board.hands.forEach((hand, side) => {
      for (const [piece, count] of Object.entries(hand)) {
        const [x, y] = this.handCorner(side, piece);
        found.push(this.place(side ? piece.toLowerCase() : piece, [x, y]));
        if (count > 1) found.push(svg("text", { x: x + 88, y: y + 98, class: "count" }, String(count)));
      }
    });
    return found;
  }

  drawGround() {
    const { columns, rows } = this.board;
    const [width, height] = [columns * CELL, rows * CELL];
    const size = columns > 13 ? 1.8 : columns > 9 ? 1.3 : 1; // of what is written: it is read on a telephone, too
    this.svg.style.setProperty("--text", size);
    const edge = this.small ? 4 : 34 * size;
    const hand = this.hands ? CELL + 20 : 0;
    const [top, bottom] = [Math.max(hand, 6), Math.max(edge, hand + (this.hands ? 26 : 0))];
    this.svg.setAttribute("viewBox", `${-edge} ${-top} ${width + edge + (this.small ? 4 : 8)} ${height + top + bottom}`);
    const ground = [svg("rect", { width, height, class: "wood" })];
    if (hand) {
      for (const y of [-CELL - 16, height + 36]) ground.push(svg("rect", { x: y < 0 ? -4 : width - 7 * CELL - 4, y, width: 7 * CELL + 8, height: CELL + 8, rx: 10, class: "tray" }));
    }
    if (this.game.pieces === "chessmen") {
      for (let i = 0; i < rows * columns; i++) {
        if ((i + Math.floor(i / columns)) % 2) {
          ground.push(svg("rect", { x: (i % columns) * CELL, y: Math.floor(i / columns) * CELL, width: CELL, height: CELL, class: "dark" }));
        }
      }
    } else {
      const inset = this.game.pieces === "stones" ? CELL / 2 : 0;
      let lines = "";
      for (let x = inset; x <= width - inset; x += CELL) lines += `M${x} ${inset}V${height - inset}`;
      for (let y = inset; y <= height - inset; y += CELL) lines += `M${inset} ${y}H${width - inset}`;
      ground.push(svg("path", { d: lines, class: "lines" }));
      const stars = this.game.pieces === "stones" ? STARS[columns] || [] : [];
      for (const x of stars) for (const y of stars) ground.push(svg("circle", { cx: (x + 0.5) * CELL, cy: (y + 0.5) * CELL, r: 9, class: "star" }));
    }
    if (!this.small) ground.push(...this.names(edge));
    clear(this.layers.ground, ...ground);
  }

  // Coordinates: chess inside the squares, others at the edge.
  names(edge) {
    const { columns, rows } = this.board;
    const found = [];
    const across = this.game.columns(this.board);
    const down = this.game.ranks(this.board);
    if (this.flipped) [across, down].forEach((names) => names.reverse());
    across.forEach((name, x) => found.push(svg("text", { x: x * CELL + 50, y: rows * CELL + edge * 0.8, class: "name" }, name)));
    down.forEach((name, y) => found.push(svg("text", { x: -edge / 2, y: y * CELL + 50 + edge / 4, class: "name" }, name)));
    return found;
  }

  glow(i, kind) {
    const [x, y] = this.corner(i);
    return svg("rect", { x, y, width: CELL, height: CELL, class: kind });
  }

  // What may be done: the piece that is taken up, and where it may go.
  showTargets(selected, targets) {
    const marks = targets.map((i) => {
      const [x, y] = this.middle(i);
      const taken = this.board.squares[i];
      return svg("circle", { cx: x, cy: y, r: taken ? 45 : 15, class: taken ? "target taken" : "target" });
    });
    if (selected?.square !== undefined) marks.unshift(this.glow(selected.square, "selected"));
    if (selected?.piece !== undefined) {
      const [x, y] = this.handCorner(selected.side, selected.piece);
      marks.unshift(svg("rect", { x, y, width: CELL, height: CELL, class: "selected" }));
    }
    clear(this.layers.marks, ...marks);
  }

  // Stones that are dead.
  showDead(points) {
    clear(this.layers.marks, ...points.map((point) => {
      const [x, y] = this.middle(this.game.square(this.board, point));
      return svg("path", { d: `M${x - 24} ${y - 24}l48 48m0-48l-48 48`, class: "cross" });
    }));
  }

  showCursor(place) {
    if (!place) {
      clear(this.layers.cursor);
      return;
    }
    const [x, y] = place.piece ? this.handCorner(place.side, place.piece) : this.corner(place.square);
    clear(this.layers.cursor, svg("rect", { x: x + 3, y: y + 3, width: CELL - 6, height: CELL - 6, class: "cursor" }));
  }

  says(place) {
    if (place.piece) return handSays(place.piece, this.board.hands[place.side][place.piece] || 0);
    return says(this.game, this.board, place.square);
  }
}
