// What the server prepares at a first start: it compiles the game's kernels.

import { byId, clear, el } from "../base/dom.js";
import { GAMES } from "../board/games.js";
import { t, word } from "../words/language.js";

// text: how far it is, "" at the end. The board may be there before the search.
export function showLoading(app, text) {
  const [, game, kernel, all, left] = text.match(/^loading (\w+).*kernel (\d+) of (\d+), about (\d+) s/) || [];
  app.preparing = game ? t("The engine is compiled for this machine, once: {game}, step {kernel} of {all}, about {left} s left.", { game: word(GAMES[game]?.title || game), kernel, all, left }) : text;
  if (app.begun) {
    app.draw();
    return;
  }
  byId("status").textContent = app.preparing;
  clear(byId("board"), el("progress", { "aria-label": "Loading" }));
}
