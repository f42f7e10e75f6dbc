// A move that is typed: as the protocol writes it, or as people do, with or without signs for captures and checks.

import { el } from "../base/dom.js";
import { t, word } from "../words/language.js";

const FORMS = [
  (text) => text,
  (text) => text.toLowerCase(),
  (text) => text.replace(/[-x+#=!?]/g, ""),
  (text) => text.replace(/[-x+#=!?]/g, "").toLowerCase(),
  (text) => text.normalize("NFKC").replace(/[▲△☗☖ ]/g, "").replace(/[一二三四五六七八九]/g, (rank) => " 一二三四五六七八九".indexOf(rank)),
];

// The one legal move that is meant, in the first form in which there is one; undefined: none, or several.
export function findMove(text, { legal, words, native }) {
  const typed = text.trim().replace(/^0-0/, "O-O").replace(/-0$/, "-O");
  for (const form of FORMS) {
    const found = legal.filter((move, i) => [move, words[i], native[i] ?? move].map(form).includes(form(typed)));
    if (found.length) return found.length === 1 ? found[0] : undefined;
  }
}

export function moveField(app) {
  const field = el("input", { id: "typed", "aria-label": "Type a move", placeholder: "Type a move, then Enter", autocomplete: "off", autocapitalize: "off", spellcheck: "false" });
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !field.value.trim()) return;
    const move = app.canPlay() && findMove(field.value, app.match);
    if (move) app.play(move);
    else app.note(app.canPlay() ? t("{move} is not one legal move here.", { move: field.value }) : word("You cannot move now."));
    if (move) field.value = "";
  });
  return field;
}
