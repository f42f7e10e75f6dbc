// The list of moves.

import { button, byId, choice, clear, el } from "../base/dom.js";
import { moveNumber } from "../views/mistakes.js";
import { spoken, t, word } from "../words/language.js";
import { chooseNotation } from "../words/languages.js";
import { moveField } from "./typed.js";

export function movesCard(app) {
  return el("section", { class: "card", "aria-label": "Moves played" },
    el("div", { class: "row" }, el("h2", {}, "Moves"),
      app.match.name === "shogi" && choice("", [["", "7g7f"], ["kanji", "▲７六歩"]], spoken.kanji ? "kanji" : "", (kind) => notate(app, kind === "kanji"), { id: "notation", "aria-label": "Notation" }),
      app.view.listed && button("Set up", () => app.turnTo(app.views.at(-1)), { id: "set-up", title: "Set up a position" })),
    el("p", { class: "soft", id: "terms" }), el("ol", { class: "moves", id: "moves" }),
    el("p", { id: "comment", tabindex: 0, role: "group", "aria-label": "Comment" }), el("p", { class: "soft", id: "unseen" }), moveField(app));
}

// Write the moves of shogi in kanji, or as programs do.
function notate(app, kanji) {
  chooseNotation(kanji);
  app.match.forget();
  app.board.shape = "";
  app.match.load(app.link, () => app.view.ready(), Array.from(app.match.values, (value) => value?.best.join(" ") || ""));
}

// Draw the moves; the one that is shown stays in sight.
export function moveList(app) {
  const { match } = app;
  const list = byId("moves");
  const top = list.scrollTop;
  const items = [];
  const { path } = match;
  for (let ply = 1; ply < match.plies.length; ply++) {
    const number = match.name !== "chess" ? ply : match.plies[ply - 1].turn && ply > 1 ? "" : moveNumber("chess", ply - 1, match.plies[0].text);
    const move = button(match.plies[ply].word, () => app.go(ply), { "aria-current": ply === match.ply });
    const others = path[ply - 1].kids.filter((kid) => kid !== path[ply]);
    const sign = app.view.comments && path[ply].comment && el("span", { class: "sign", role: "img", title: "This move has a comment", "aria-label": "This move has a comment" }, "✎");
    items.push(el("li", {}, number ? el("span", { class: "number" }, String(number)) : null, move, sign, ...others.map((node) => variation(app, ply - 1, node))));
  }
  for (const node of path.at(-1).kids) items.push(el("li", {}, variation(app, match.moves.length, node))); // after moves that were taken back
  if (match.left) items.push(el("li", {}, button("Make it the main line", () => match.promote(), { class: "other", id: "promote" })));
  clear(list, ...(items.length ? items : [el("li", { class: "soft" }, "No move yet.")]));
  list.classList.toggle("scrolls", list.scrollHeight > list.clientHeight + 1); // a shadow only then
  showRemarks(app, path[match.ply].comment || "");
  list.scrollTop = top;
  const here = items[match.ply - 1];
  if (here && here.offsetTop < list.scrollTop) list.scrollTop = here.offsetTop;
  else if (here && here.offsetTop + here.offsetHeight > list.scrollTop + list.clientHeight) list.scrollTop = here.offsetTop + here.offsetHeight - list.clientHeight;
}

// The comment of the position that is shown, and what a file has beyond what is shown of it.
function showRemarks({ match, view }, comment) {
  const [here, unseen] = [byId("comment"), byId("unseen")];
  here.textContent = view.comments ? comment : "";
  here.hidden = !here.textContent;
  const n = match.hidden;
  if (match.short) unseen.textContent = word("The file is too long to be kept: what is not shown of it, and its comments, are not saved.");
  else if (n) unseen.textContent = t(n === 1 ? "The file has one more variation, which is not shown; it is kept when the game is saved as {format}." : "The file has {n} more variations, which are not shown; they are kept when the game is saved as {format}.", { n, format: match.source.format });
  unseen.hidden = !view.comments || !(n || match.short);
}

// The way to another line of the tree: its first moves.
function variation(app, ply, node) {
  const words = [];
  for (let at = node; at; at = at.kids[0]) words.push(at.word || at.move);
  const text = `(${words.slice(0, 4).join(" ")}${words.length > 4 ? "…" : ""})`;
  return button(text, () => app.turnLine(ply, node), { class: "other", title: t(words.length === 1 ? "variation of one move" : "variation of {n} moves", { n: words.length }) });
}
