// The panel at the end of a game: the result, why, and what may come next.

import { button, el } from "../base/dom.js";
import { t } from "../words/language.js";
import { result } from "../words/words.js";

// Nothing while the game goes on, or an earlier position is shown.
export function endPanel(app, { review, rematch }) {
  const { match } = app;
  const ended = match.atEnd && (match.over || match.ended);
  if (!ended) return [];
  const { winner } = ended;
  const drawn = winner === null || winner === undefined;
  const head = drawn ? "Draw" : match.you === 2 ? "The game is over" : winner === match.you ? "You win" : "You lose";
  const moves = match.moves.length;
  return [el("h2", {}, head), el("p", {}, t(moves === 1 ? "{result}, after one move." : "{result}, after {moves} moves.", { result: result(app, ended), moves })),
    el("div", { class: "row" }, button("Review this game", review, { class: "main", id: "to-review", disabled: !moves }), button("Rematch", rematch, { id: "rematch" }))];
}
