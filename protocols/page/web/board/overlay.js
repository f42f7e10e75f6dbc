// What the search thinks, drawn on the board: heat, arrows, numbered lines, owners of points.

import { clear, svg } from "../base/dom.js";
import { drawPiece } from "./board.js";

const CELL = 100;

// How bad a move is beside the best one, by the points of expected result that it gives away.
export const lossClass = (loss) => (loss < 0.01 ? "best" : loss < 0.04 ? "good" : loss < 0.1 ? "fair" : loss < 0.2 ? "poor" : "blunder");

// cells: [{to, share 0..1, text, kind}]
export function drawHeat(board, cells) {
  const found = [];
  for (const { to, share, text, kind } of cells) {
    const [x, y] = board.corner(to);
    const heat = svg("rect", { x: x + 1, y: y + 1, width: CELL - 2, height: CELL - 2, class: `warm ${kind || ""}`, "fill-opacity": Math.min(0.85, 0.08 + 0.8 * share) });
    found.push(heat);
    if (text && !board.board.squares[to]) found.push(svg("text", { x: x + 50, y: y + 50, class: "heat-text middle" }, text));
    else if (text) found.push(svg("text", { x: x + 50, y: y + 22, class: "heat-text small" }, text));
  }
  clear(board.layers.heat, ...found);
}

// Policy, visits or value of the moves by the square that they go to.
export function heatOf(board, report, kind) {
  const cells = new Map();
  const visits = report.moves.reduce((sum, row) => sum + (row[2] || 0), 0) || 1;
  const best = report.lines[0] ? report.moves.find((row) => row[0] === report.lines[0].pv[0]) : null;
  for (const [text, prior, n = 0, q = 0] of report.moves) {
    const { to } = board.game.move(board.board, text);
    if (to === null) continue;
    const cell = cells.get(to) || { to, share: 0, n: 0 };
    if (kind === "policy") cell.share += prior;
    else if (kind === "visits") cell.share += n / visits;
    else if (n > cell.n) Object.assign(cell, { n, q });
    cells.set(to, cell);
  }
  const shown = [...cells.values()];
  if (kind === "value") {
    return shown.filter((cell) => cell.n).map((cell) => {
      const loss = best && best.length > 2 ? Math.max(0, (best[3] - cell.q) / 2) : 0;
      return { to: cell.to, share: 0.7, kind: lossClass(loss), text: `${Math.round(50 * (1 + cell.q))}` };
    });
  }
  const most = Math.max(...shown.map((cell) => cell.share), 1e-9);
  return shown.filter((cell) => cell.share > 0.002).map((cell) =>
    ({ to: cell.to, share: cell.share / most, text: cell.share >= 0.01 ? `${Math.round(100 * cell.share)}` : "" }));
}

// marks: [{move, share 0..1, loss, label}]: arrows for moves of pieces, discs for stones and drops.
export function drawMarks(board, marks) {
  const found = [];
  for (const { move, share, loss, label } of [...marks].reverse()) {
    const { from, to } = board.game.move(board.board, move);
    if (to === null) continue;
    const kind = lossClass(loss);
    const [x, y] = board.middle(to);
    if (from !== null && from !== undefined) {
      found.push(arrow(board.middle(from), [x, y], 6 + 20 * share, kind));
      if (label) found.push(svg("text", { x, y: y - 30, class: "mark-text" }, label));
    } else {
      found.push(svg("circle", { cx: x, cy: y, r: 45, class: `mark ${kind}`, "fill-opacity": 0.3 + 0.6 * share }));
      if (label) found.push(svg("text", { x, y, class: "mark-text middle" }, label));
    }
  }
  clear(board.layers.arrows, ...found);
}

function arrow([x, y], [u, v], width, kind) {
  const length = Math.hypot(u - x, v - y) || 1;
  const [dx, dy] = [(u - x) / length, (v - y) / length];
  const head = width * 1.6 + 8;
  const [tx, ty] = [u - dx * head, v - dy * head];
  const [nx, ny] = [-dy, dx];
  const half = width / 2;
  const wing = head * 0.62;
  const points = [
    [x + nx * half, y + ny * half], [tx + nx * half, ty + ny * half], [tx + nx * wing, ty + ny * wing], [u, v],
    [tx - nx * wing, ty - ny * wing], [tx - nx * half, ty - ny * half], [x - nx * half, y - ny * half],
  ];
  return svg("polygon", { points: points.map((p) => p.map((c) => c.toFixed(1)).join(",")).join(" "), class: `arrow ${kind}` });
}

// Where to look: the piece that moves, or the points about the best one, which is not their middle.
export function drawHint(board, move, turn) {
  const { from, to, drop } = board.game.move(board.board, move);
  if (drop) {
    const [x, y] = board.handCorner(turn, drop);
    clear(board.layers.arrows, svg("rect", { x, y, width: CELL, height: CELL, class: "selected" }));
    return;
  }
  const { columns, rows } = board.board;
  const [x, y] = [(to % columns) + (to % 3) - 1, Math.floor(to / columns) + (Math.floor(to / 3) % 3) - 1];
  const near = (i) => Math.abs((i % columns) - x) < 3 && Math.abs(Math.floor(i / columns) - y) < 3;
  const places = from !== null ? [from] : to === null ? [] : [...Array(columns * rows).keys()].filter(near);
  clear(board.layers.arrows, ...places.map((i) => board.glow(i, "selected")));
}

// A line of moves: numbered stones, or numbered arrows that fade.
export function drawLine(board, moves, turn) {
  const found = [];
  moves.slice(0, board.game.pieces === "stones" ? 12 : 6).forEach((text, i) => {
    const { from, to, drop } = board.game.move(board.board, text);
    if (to === null) return;
    const side = (turn + i) % 2;
    const [x, y] = board.middle(to);
    if (board.game.pieces === "stones") {
      const [left, top] = board.corner(to);
      const stone = drawPiece(board.game, side ? "O" : "X");
      found.push(svg("g", { transform: `translate(${left} ${top})`, opacity: 0.85 }, stone));
      found.push(svg("text", { x, y, class: `ply middle ${side ? "on-white" : "on-black"}` }, String(i + 1)));
      return;
    }
    if (!drop) found.push(arrow(board.middle(from), [x, y], 15 - i, i % 2 ? "reply" : "best"));
    else found.push(svg("circle", { cx: x, cy: y, r: 44, class: `mark ${i % 2 ? "reply" : "best"}`, "fill-opacity": 0.5 }));
    found.push(svg("circle", { cx: x + 30, cy: y - 30, r: 17, class: "ply-disc" }), svg("text", { x: x + 30, y: y - 22, class: "ply on-black" }, String(i + 1)));
  });
  clear(board.layers.arrows, ...found);
}

// Who owns each point, -1 to 1 for the side to move.
export function drawOwners(board, owners, turn) {
  if (!owners) {
    clear(board.layers.owners);
    return;
  }
  const found = owners.map((value, i) => {
    const strength = Math.abs(value);
    if (strength < 0.1) return null;
    const black = value > 0 === (turn === 0);
    const [x, y] = board.middle(i);
    const side = 12 + 34 * strength;
    return svg("rect", { x: x - side / 2, y: y - side / 2, width: side, height: side, class: `owner ${black ? "black" : "white"}`, "fill-opacity": 0.25 + 0.65 * strength });
  });
  clear(board.layers.owners, ...found.filter(Boolean));
}
