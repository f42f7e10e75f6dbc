// Buttons that step through a game.

import { button } from "../base/dom.js";

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
