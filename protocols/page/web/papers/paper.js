// A review on a page of its own, which opens from the disk: board, graph, mistakes, moves.

import { button, byId, clear, el } from "../base/dom.js";
import { Board } from "../board/board.js";
import { drawLine } from "../board/overlay.js";
import { steps } from "../game/steps.js";
import { Graph } from "../plots/plots.js";
import { findMistakes, marksOf, mistakeList, moveNumber } from "../views/mistakes.js";
import { t, word } from "../words/language.js";

class Paper {
  constructor(data) {
    this.data = data;
    data.names = data.names.map((name, i) => (name === data.sides[i] ? word(name, data.game) : name));
    data.sides = data.sides.map((side) => word(side, data.game));
    this.ply = 0;
    this.flipped = false;
    this.board = new Board(data.game);
    this.board.svg.setAttribute("role", "img");
    this.graph = new Graph((ply) => this.go(ply));
    this.mistakes = findMistakes(data.values, data.plies, data.moves, data.kinds);
    this.status = el("p", { role: "status" });
    this.moves = el("ol", { class: "moves" });
    const list = el("div");
    mistakeList(list, { mistakes: this.mistakes, sides: data.names, game: data.game, start: data.plies[0].text, onGo: (m) => this.go(m.ply) });
    const kinds = data.values.some((value) => value && value.lead !== null) ? ["score", "lead"] : ["score"];
    this.kind = kinds[0];
    clear(byId("main"),
      el("section", { id: "table" }, this.status, this.board.svg, el("div", { id: "steps" },
        ...steps((to) => this.go(to), () => this.ply, () => data.moves.length),
        button("⇅", () => { this.flipped = !this.flipped; this.draw(); }, { "aria-label": "Flip the board" }))),
      el("section", { id: "panel" },
        el("section", { class: "card" }, el("h2", {}, t("Expected result of {side} over the game, %", { side: data.sides[0] })), this.graph.element,
          kinds.length > 1 ? button("Result or lead", () => { this.kind = this.kind === "score" ? "lead" : "score"; this.draw(); }) : null),
        el("section", { class: "card" }, el("h2", {}, "Mistakes"), list),
        el("section", { class: "card" }, el("h2", {}, "Moves"), this.moves, el("p", { class: "soft" }, data.net))));
    document.addEventListener("keydown", (event) => {
      const steps = { ArrowLeft: this.ply - 1, ArrowRight: this.ply + 1, Home: 0, End: data.moves.length };
      if (event.key in steps) this.go(steps[event.key]);
    });
    this.draw();
  }

  go(ply) {
    this.ply = Math.max(0, Math.min(ply, this.data.moves.length));
    this.draw();
  }

  draw() {
    const { data, ply } = this;
    this.board.show(data.plies[ply].text, { last: ply ? data.moves[ply - 1] : "", flipped: this.flipped });
    const value = data.values[ply];
    if (value?.best.length) drawLine(this.board, value.best.slice(0, 1), data.plies[ply].turn);
    const lead = value && value.lead !== null ? `, ${t("{lead} points", { lead: `${value.lead > 0 ? "+" : ""}${value.lead.toFixed(1)}` })}` : "";
    const move = ply ? `${moveNumber(data.game, ply - 1, data.plies[0].text)} ${data.plies[ply].word}` : word("Start");
    this.status.textContent = `${move}${value ? ` · ${data.sides[0]} ${Math.round(100 * value.score)} %${lead}` : ""}${value?.words.length ? ` · ${t("best {line}", { line: value.words.slice(0, 5).join(" ") })}` : ""}`;
    const points = data.values.map((each, i) => each && { ...each, ply: i });
    this.graph.show({ plies: data.moves.length, points, ply, kind: this.kind, marks: marksOf(this.mistakes), title: t(this.kind === "lead" ? "Lead of {side} in points" : "Expected result of {side} over the game, %", { side: data.sides[0] }) });
    clear(this.moves, ...data.plies.slice(1).map((each, i) => {
      const found = this.mistakes.find((m) => m.ply === i);
      return el("li", {}, i % 2 === 0 ? el("span", { class: "number" }, moveNumber(data.game, i, data.plies[0].text)) : null,
        button(each.word, () => this.go(i + 1), { "aria-current": i + 1 === ply, class: found ? `mistake ${found.colour}` : null }));
    }));
  }
}

new Paper(JSON.parse(byId("data").textContent));
