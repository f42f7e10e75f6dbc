// The list of moves and the buttons that step through them.

import { button, el } from "./dom.js";

export function stepButtons(app) {
  const { match } = app;
  const last = match.moves.length;
  const step = (text, name, ply) =>
    button(text, () => app.go(ply), { "aria-label": name, title: name, disabled: ply < 0 || ply > last || ply === match.ply });
  return [
    step("|◀", "First position", 0),
    step("◀", "Back", match.ply - 1),
    step("▶", "Forward", match.ply + 1),
    step("▶|", "Last position", last),
    button("⇅", () => app.flip(), { "aria-label": "Flip the board", title: "Flip the board (f)" }),
    ...app.view.buttons(),
  ];
}

export function moveList(app) {
  const { match } = app;
  const items = [];
  const first = match.plies[0]?.turn || 0;
  const single = match.name !== "chess"; // numbers count moves, not pairs
  for (let ply = 1; ply < match.plies.length; ply++) {
    const half = ply - 1 + (single ? 0 : first);
    const number = single ? ply : half % 2 === 0 || ply === 1 ? `${Math.floor(half / 2) + 1}${half % 2 ? "…" : "."}` : "";
    const move = button(match.plies[ply].word, () => app.go(ply), { "aria-current": ply === match.ply });
    items.push(el("li", {}, number ? el("span", { class: "number" }, String(number)) : null, move));
  }
  return items.length ? items : [el("li", { class: "soft" }, "No move yet.")];
}
