// The question to what a piece promotes, at the square where it arrives.

import { button, byId, clear, svg } from "../base/dom.js";
import { drawPiece } from "./board.js";

export function askPromotion(board, moves, then) {
  const box = byId("ask");
  const done = () => {
    box.hidden = true;
    clear(box);
    removeEventListener("pointerdown", outside, true);
    removeEventListener("keydown", escape, true);
    board.svg.focus();
  };
  let pressed = false;
  const escape = (event) => event.key === "Escape" && done();
  const outside = (event) => {
    pressed = box.contains(event.target);
    if (!pressed) done();
  };
  const buttons = moves.map((move) => {
    const made = button(board.game.promotions[move.promotion] || move.promotion, (event) => {
      if (event.detail && !pressed) return; // the tap that has opened the box ends here
      done();
      then(move);
    });
    const piece = pieceAfter(board, move);
    made.prepend(svg("svg", { viewBox: "0 0 100 100", "aria-hidden": "true" }, drawPiece(board.game, piece)));
    return made;
  });
  clear(box, ...buttons, button("Cancel", done));
  box.hidden = false;
  addEventListener("pointerdown", outside, true);
  addEventListener("keydown", escape, true); // a mouse leaves the focus on the board
  place(box, board, moves[0].to);
  buttons[0].focus();
}

// Put the box over a square, within the board.
function place(box, board, square) {
  const [x, y] = board.middle(square);
  const at = new DOMPoint(x, y).matrixTransform(board.svg.getScreenCTM());
  const about = box.parentElement.getBoundingClientRect();
  const within = (from, size, most) => `${Math.max(0, Math.min(from - size / 2, most - size))}px`;
  box.style.left = within(at.x - about.x, box.offsetWidth, about.width);
  box.style.top = within(at.y - about.y, box.offsetHeight, about.height);
}

function pieceAfter(board, move) {
  const piece = board.board.squares[move.from];
  if (board.game.pieces === "tiles") return move.promotion + piece.toUpperCase();
  return piece === piece.toUpperCase() ? move.promotion.toUpperCase() : move.promotion;
}
