// The question to what a piece promotes, between the board and its buttons.

import { drawPiece } from "./board.js";
import { button, byId, clear, svg } from "./dom.js";

export function askPromotion(board, moves, then) {
  const box = byId("ask");
  const done = () => {
    box.hidden = true;
    clear(box);
    board.svg.focus();
  };
  const buttons = moves.map((move) => {
    const made = button(board.game.promotions[move.promotion] || move.promotion, () => {
      done();
      then(move);
    });
    const piece = pieceAfter(board, move);
    made.prepend(svg("svg", { viewBox: "0 0 100 100", "aria-hidden": "true" }, drawPiece(board.game, piece)));
    return made;
  });
  clear(box, ...buttons, button("Cancel", done));
  box.hidden = false;
  buttons[0].focus();
}

function pieceAfter(board, move) {
  const piece = board.board.squares[move.from];
  if (board.game.pieces === "tiles") return move.promotion + piece.toUpperCase();
  return piece === piece.toUpperCase() ? move.promotion.toUpperCase() : move.promotion;
}
