// The list of moves and the buttons that step through them.

import { button, byId, clear, el } from "./dom.js";
import { moveField } from "./typed.js";

// Buttons to the first, the previous, the next and the last position; here and last tell plies, off what goes nowhere.
export function steps(go, here, last, off = () => false) {
  const places = [["|◀", "First position", () => 0], ["◀", "Back", () => here() - 1], ["▶", "Forward", () => here() + 1], ["▶|", "Last position", last]];
  return places.map(([text, name, to]) => button(text, () => go(to()), { "aria-label": name, title: name, disabled: off(to()) }));
}

export function stepButtons(app) {
  const { match } = app;
  const last = match.moves.length;
  return [
    ...steps((ply) => app.go(ply), () => match.ply, () => last, (ply) => ply < 0 || ply > last || ply === match.ply),
    button("⇅", () => app.flip(), { "aria-label": "Flip the board", title: "Flip the board (f)" }),
    ...app.view.buttons(),
  ];
}

export function movesCard(app) {
  return el("section", { class: "card", "aria-label": "Moves played" }, el("h2", {}, "Moves"),
    el("p", { class: "soft", id: "terms" }), el("ol", { class: "moves scrolls", id: "moves" }), moveField(app));
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
