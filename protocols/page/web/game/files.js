// Games as files and texts: loading, choosing one of several, saving.

import { button, choice, clear, el } from "../base/dom.js";
import { thousands } from "../plots/values.js";
import { t, word } from "../words/language.js";

export class Files {
  // review: takes what is loaded.
  constructor(app, review) {
    Object.assign(this, { app, review });
    this.games = el("div", { id: "several" }); // of a file with several
    this.text = el("textarea", { rows: 3, id: "text", "aria-label": "A game or a position as text", placeholder: "Paste a game (PGN, KIF, CSA, KI2, JKF, SGF) or a position (FEN, SFEN), or drop a file anywhere on the page" });
    this.file = el("input", { type: "file", id: "file", accept: ".pgn,.kif,.kifu,.csa,.ki2,.ki2u,.jkf,.json,.sgf,.gib,.ngf,.ugf,.usi,.txt,.epd,.fen,.sfen", "aria-label": "A game's file" });
    this.file.addEventListener("change", () => this.file.files[0] && this.readFile(this.file.files[0]));
  }

  loadCard() {
    return el("section", { class: "card", "aria-label": "Load a game" }, el("details", { open: !this.app.match.moves.length }, el("summary", {}, "Load a game"),
      this.text, el("div", { class: "row" }, button("Load the text", () => this.read(this.text.value), { id: "load" }), this.file)), this.games);
  }

  saveCard() {
    const formats = this.app.hello.formats.map((name) => button(name, () => this.save(name), { title: t("save as {format}, with comments", { format: name }) }));
    return el("section", { class: "card", "aria-label": "Save" }, el("h2", {}, "Save"),
      el("div", { class: "row" }, ...formats, button("Page", () => this.save("page"), { title: "a page that opens without a server" })));
  }

  readFile(file) {
    if (file.size > 700_000) {
      this.app.note(word("This file is too long: give one game."));
      return;
    }
    file.arrayBuffer().then((bytes) => this.load({ data: base64(bytes), name: file.name }));
  }

  // Load a game of any kind as a text.
  read(text) {
    this.load({ text });
  }

  // Load a game of a text, or of a file in base64, and offer the others that are there.
  load(given) {
    this.app.turnTo(this.review);
    this.app.link.ask("load", given, (said) => {
      if (said.is === "error") {
        this.app.note(said.text);
        return;
      }
      const options = said.games.map((title, i) => [i + 1, `${i + 1}. ${title}`]);
      clear(this.games, options.length > 0 && choice("Game of the file", options, said.number, (n) => this.load({ ...given, number: Number(n) }), { id: "number" }),
        said.more && el("p", { class: "soft", id: "more" }, t("The file has more games than these {n}, which are its first ones.", { n: thousands(options.length) })));
      if (said.game === this.app.match.name) this.review.take(said);
      else this.app.choose(said.game, said);
    });
  }

  save(format) {
    const { match, link } = this.app;
    const line = match.mainLine;
    const { ended, dead } = line.at(-1);
    const fields = { format, root: match.root, moves: match.main, tree: match.written, names: match.names, result: match.result, ended, dead, source: match.source, values: line.map(({ value }) => value || null) };
    link.ask("write", fields, (said) => {
      if (said.is === "error") {
        this.app.note(said.text);
        return;
      }
      if (said.note) this.app.note(said.note);
      const url = URL.createObjectURL(new Blob([said.text], { type: "text/plain" }));
      el("a", { href: url, download: `${match.names.filter(Boolean).join(" - ") || match.name}${said.suffix}` }).click();
      setTimeout(() => URL.revokeObjectURL(url), 10_000);
    });
  }
}

// The server finds out in which encoding a file is.
function base64(bytes) {
  let text = "";
  for (const byte of new Uint8Array(bytes)) text += String.fromCharCode(byte);
  return btoa(text);
}
