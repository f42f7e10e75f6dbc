// Inside the search: the ten most visited states while it grows, and after 100, 1,000, 10,000 ... simulations.

import { button, choice, clear, el } from "../base/dom.js";
import { StateTree, pathOf, stateButton } from "../plots/statetree.js";
import { thousands } from "../plots/values.js";
import { t, word } from "../words/language.js";
import { View } from "./view.js";

const EVERY_MS = 300;
const STATES = 10;
const KEPT = 600; // pictures of the growth

export class InsideView extends View {
  name = "inside";
  title = "Inside the search";

  constructor(app) {
    super(app);
    this.most = 10_000;
    this.here = null; // the position that is searched
    this.forget();
    this.tree = new StateTree();
    this.rows = el("div");
    this.figures = el("p", { class: "figures", role: "status" });
    this.slider = el("input", { type: "range", min: 0, max: 0, value: 0, id: "growth", "aria-label": "Replay how the search grew" });
    this.slider.addEventListener("input", () => {
      this.at = Number(this.slider.value) >= this.history.length - 1 ? -1 : Number(this.slider.value);
      this.draw();
    });
    this.switch = button("Search again", () => this.switched(), { class: "main", id: "again" });
  }

  forget() {
    this.of = this.app.match?.position; // whose history it is
    this.history = []; // {visits, states}
    this.milestones = []; // the same, at powers of ten
    this.at = -1; // what the slider shows, -1: the newest
  }

  show() {
    return [el("section", { class: "card", "aria-label": "The ten most visited states" },
      el("h2", {}, "The ten most visited states"),
      el("div", { class: "row" }, this.switch,
        choice("Up to", [1_000, 10_000, 100_000, 1_000_000].map((n) => [n, thousands(n)]), this.most, (n) => this.setMost(Number(n))),
        el("label", { class: "field grow" }, el("span", {}, "Growth"), this.slider)),
      this.figures, this.tree.element,
      el("p", { class: "soft" }, t("In each state: the value for {first}, 0 to 100, and the share of the visits, which is also the thickness of the frame: blue after a move of {first}, red after one of {second}. A click plays the moves to it.", { first: this.app.hello.sides[0], second: this.app.hello.sides[1] }))),
    el("section", { class: "card", "aria-label": "After 100, 1,000, ... simulations" }, el("h2", {}, "After 100, 1,000, 10,000 … simulations"), this.rows)];
  }

  setMost(most) {
    this.most = most;
    this.next();
  }

  switched() {
    if (this.asked) {
      this.hide();
      this.stopped = true;
      this.draw();
      return;
    }
    this.begin();
  }

  begin() {
    this.hide();
    this.forget();
    this.stopped = false;
    this.next(true);
  }

  ready() {
    const { match } = this.app;
    const here = match.position;
    if (match.over || match.waiting || !match.here) {
      this.draw();
      return;
    }
    if (here !== this.here) {
      this.here = here;
      this.begin();
    } else if (!this.asked && !this.stopped) {
      this.next();
    }
  }

  // Search on to the next power of ten.
  next(fresh = false) {
    const done = fresh ? 0 : this.milestones.at(-1)?.visits || 0;
    const { match } = this.app;
    if (this.asked || (!done && !fresh) || done >= this.most || this.of !== match.position) return;
    const target = done < 100 ? 100 : 10 ** (Math.floor(Math.log10(done) + 1e-9) + 1);
    const fields = { root: match.root, moves: match.played, visits: target - done, states: STATES, lines: 1, every: EVERY_MS, fresh };
    this.ask(fields, (said) => {
      if (said.is === "report" && said.states) {
        this.add(said.states);
      } else if (said.is === "answer" && said.states) {
        this.add(said.states);
        this.milestones.push(this.history.at(-1));
        if (said.states[0].visits >= target) this.next();
        this.draw();
      }
    });
    this.draw();
  }

  add(states) {
    if (this.history.length >= KEPT) this.history = this.history.filter((_, i) => i % 2);
    this.history.push({ visits: states[0].visits, states });
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.draw();
    });
  }

  draw() {
    const { match, board } = this.app;
    if (this.app.view !== this || !match.here) return;
    this.switch.textContent = word(this.asked ? "Stop" : "Search again");
    const history = this.of === match.position ? this.history : [];
    this.slider.max = Math.max(history.length - 1, 0);
    if (this.at < 0) this.slider.value = this.slider.max;
    const shown = history.at(this.at);
    if (!shown) {
      clear(this.figures, match.over ? "The game is over." : "…");
      this.tree.clear();
      clear(this.rows);
      this.drawn = "";
      return;
    }
    const about = { game: match.name, root: match.turn, flipped: board.flipped, onGo: (moves) => this.follow(moves) };
    clear(this.figures, el("strong", {}, thousands(shown.visits)), " simulations");
    this.slider.setAttribute("aria-valuetext", t("{n} simulations", { n: shown.visits }));
    this.tree.show({ ...about, states: shown.states });
    if (this.drawn === `${this.here} ${this.milestones.length} ${board.flipped}`) return;
    this.drawn = `${this.here} ${this.milestones.length} ${board.flipped}`;
    clear(this.rows, ...this.milestones.map(({ visits, states }) =>
      el("div", { class: "milestone" }, el("h3", {}, t("{n} simulations", { n: thousands(visits) })),
        el("div", { class: "states" }, ...states.slice(1).map((state, i) => stateButton({ ...about, states, place: i + 1, caption: captionOf(states, i + 1) }))))));
  }

  // Play the moves to a state.
  follow(moves) {
    const { match, link } = this.app;
    if (!moves.length) return;
    this.hide();
    match.follow(link, moves, () => this.ready());
  }

  rest() {
    super.rest();
    cancelAnimationFrame(this.frame);
    this.frame = 0;
  }

  lost() {
    super.lost();
    this.here = null; // the server's tree is gone
  }
}

function captionOf(states, place) {
  const words = pathOf(states, place, "word");
  return words.length > 2 ? `…${words.slice(-2).join(" ")}` : words.join(" ");
}
