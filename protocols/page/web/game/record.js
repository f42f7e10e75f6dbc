// The list of moves.

import { button, byId, choice, clear, el } from "../base/dom.js";
import { spoken } from "../words/language.js";
import { chooseNotation } from "../words/languages.js";
import { moveField } from "./typed.js";

export function movesCard(app) {
  return el("section", { class: "card", "aria-label": "Moves played" },
    el("div", { class: "row" }, el("h2", {}, "Moves"),
      app.match.name === "shogi" && choice("", [["", "7g7f"], ["kanji", "▲７六歩"]], spoken.kanji ? "kanji" : "", (kind) => notate(app, kind === "kanji"), { id: "notation", "aria-label": "Notation" })),
    el("p", { class: "soft", id: "terms" }), el("ol", { class: "moves scrolls", id: "moves" }), moveField(app));
}

// Write the moves of shogi in kanji, or as programs do.
function notate(app, kanji) {
  chooseNotation(kanji);
  app.match.plies = [];
  app.board.shape = "";
  app.match.load(app.link, () => app.view.ready(), Array.from(app.match.values, (value) => value?.best.join(" ") || ""));
}

// Draw the moves; the one that is shown stays in sight.
export function moveList(app) {
  const { match } = app;
  const list = byId("moves");
  const top = list.scrollTop;
  const items = [];
  const first = match.plies[0]?.turn || 0;
  const single = match.name !== "chess"; // numbers count moves, not pairs
  for (let ply = 1; ply < match.plies.length; ply++) {
    const half = ply - 1 + (single ? 0 : first);
    const number = single ? ply : half % 2 === 0 || ply === 1 ? `${Math.floor(half / 2) + 1}${half % 2 ? "…" : "."}` : "";
    const move = button(match.plies[ply].word, () => app.go(ply), { "aria-current": ply === match.ply });
    items.push(el("li", {}, number ? el("span", { class: "number" }, String(number)) : null, move));
  }
  clear(list, ...(items.length ? items : [el("li", { class: "soft" }, "No move yet.")]));
  list.scrollTop = top;
  const here = items[match.ply - 1];
  if (here && here.offsetTop < list.scrollTop) list.scrollTop = here.offsetTop;
  else if (here && here.offsetTop + here.offsetHeight > list.scrollTop + list.clientHeight) list.scrollTop = here.offsetTop + here.offsetHeight - list.clientHeight;
}
