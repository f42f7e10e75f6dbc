// Playing against the net.

import { button, choice, clear, el } from "../base/dom.js";
import { RULES } from "../board/games.js";
import { CONTROLS, Clock, drawClocks } from "../game/clock.js";
import { endPanel } from "../game/end.js";
import { t, word } from "../words/language.js";
import { result, sideName } from "../words/words.js";
import { View } from "./view.js";

const CLOCK = "clock";
const STRENGTHS = [
  ["Level", [["elo 800", "Beginner"], ["elo 1100", "Casual"], ["elo 1400", "Club"], ["elo 1700", "Strong club"], ["elo 2000", "Expert"]]],
  ["Visits a move", [["visits 1", "1: the net alone"], ["visits 100", "100"], ["visits 400", "400"], ["visits 1600", "1,600"]]],
  ["Time a move", [["seconds 1", "1 second"], ["seconds 5", "5 seconds"], ["seconds 20", "20 seconds"]]],
];
const TIMED = ["Clock", [[CLOCK, "all that the clock allows"]]];
const KEPT = "az-engine strength";

export class PlayView extends View {
  name = "play";
  title = "Play";

  constructor(app) {
    super(app);
    this.strength = localStorage.getItem(KEPT) || "elo 1400";
    this.setup = { size: 9, komi: "", rules: "tromp-taylor", handicap: 0, control: "" };
    this.above = 2;
    this.of = null; // the root of the game that the setup was taken from
    this.resigning = false; // asked whether to
    this.end = el("section", { class: "card", id: "end", "aria-label": "End of the game" });
    setInterval(() => this.tick(), 200);
  }

  show() {
    const { app } = this;
    const sides = app.hello.sides;
    const go = app.hello.sizes.length > 0;
    const { root } = app.match;
    if (go && root && root !== this.of) this.setup.size = root.split(" ")[0].split("/").length; // as the game on the board
    this.of = root;
    if (go && !app.hello.sizes.includes(Number(this.setup.size))) this.setup.size = app.hello.sizes[0];
    const komi = el("input", { type: "number", step: "0.5", min: "-8000", max: "8000", value: this.setup.komi });
    const usual = () => (komi.placeholder = this.setup.handicap ? 0.5 : app.hello.komi[app.hello.sizes.indexOf(this.setup.size)]); // when none is given
    if (go) usual();
    komi.addEventListener("change", () => (this.setup.komi = komi.value));
    const { match } = app;
    const strengths = match.clock ? [...STRENGTHS, TIMED] : STRENGTHS;
    if (!match.clock && this.strength === CLOCK) this.setStrength("elo 1400");
    this.setting = el("section", { class: "card", "aria-label": "New game" },
      el("h2", {}, "Play the net"),
      el("div", { class: "row" },
        choice("Strength", strengths, this.strength, (value) => this.setStrength(value), { id: "strength" }),
        choice("You play", [[0, sides[0]], [1, sides[1]], [2, "both sides"]], match.you, (value) => this.takeSide(Number(value)), { id: "side" }),
        app.hello.nets.length > 1 && choice("Net", app.hello.nets.map((name) => [name, name]), match.net, (name) => this.setNet(name), { id: "nets" }),
        choice("Clock", CONTROLS, this.setup.control, (control) => (this.setup.control = control), { id: "control" }),
        go && choice("Board", app.hello.sizes.map((n) => [n, `${n}×${n}`]), this.setup.size, (value) => { this.setup.size = Number(value); usual(); }, { id: "size" }),
        go && el("label", { class: "field" }, el("span", {}, "Komi"), komi),
        go && choice("Rules", Object.entries(RULES), this.setup.rules, (rules) => (this.setup.rules = rules), { id: "rules" }),
        go && choice("Handicap", [[0, "none"], ...[2, 3, 4, 5, 6, 7, 8, 9].map((n) => [n, t("{n} stones", { n })])], this.setup.handicap, (value) => { this.setup.handicap = Number(value); usual(); }, { id: "handicap" }),
        button("New game", () => this.newGame(), { class: "main", id: "new" })));
    return [this.end, this.setting];
  }

  setStrength(value) {
    this.strength = value;
    localStorage.setItem(KEPT, value);
  }

  setNet(name) {
    this.app.match.net = name;
    this.hide();
    this.app.match.changed();
    this.ready();
  }

  takeSide(side) {
    this.app.match.you = side;
    this.hide();
    this.app.match.changed();
    this.ready();
  }

  newGame() {
    const { size, komi, rules, handicap, control } = this.setup;
    const clock = control ? new Clock({ control }) : null;
    const start = this.app.hello.sizes.length ? { size, handicap, rules, ...(komi === "" ? {} : { komi: Number(komi) }) } : null;
    this.app.start({ start, clock }, () => this.app.turnTo(this));
  }

  // From the same position with the same clock and the sides changed.
  rematch() {
    const { root, you, clock } = this.app.match;
    const fresh = clock && new Clock({ control: clock.control });
    this.app.start({ root, you: you === 2 ? 2 : 1 - you, clock: fresh }, () => this.app.turnTo(this));
  }

  buttons() {
    const { match } = this.app;
    const over = Boolean(match.over || match.ended);
    const canPass = match.legal.includes("pass");
    return [
      this.app.hello.sizes.length ? button("Pass", () => this.app.play("pass"), { disabled: !canPass || !this.app.canPlay(), id: "pass" }) : null,
      match.declares && button("Declare a win", () => this.finish({ winner: match.turn, why: "declared" }), { disabled: !this.app.canPlay() }),
      button("Undo", () => this.undo(), { disabled: !match.ply, id: "undo" }),
      ...(this.resigning ? [button("Really resign", () => this.resign(), { class: "danger", id: "resign" }), button("Play on", () => this.askResign(false), { id: "play-on" })]
        : [button("Resign", () => this.askResign(true), { disabled: over || !match.moves.length, id: "resign" })]),
    ].filter(Boolean);
  }

  lets(turn) {
    const { match } = this.app;
    return !this.asked && (match.you === 2 || match.you === turn);
  }

  status() {
    if (this.asked) return t("{side}: the net is thinking…", { side: sideName(this.app, this.app.match.turn) });
    const { match } = this.app;
    return match.you === match.turn ? t("Your move: {side}", { side: sideName(this.app, match.turn) }) : "";
  }

  // The engine moves when it is its turn at the end of the game.
  ready() {
    const { match } = this.app;
    if (match.atEnd && match.over?.why === "score" && !match.over.dead) this.count(match.dead ? { dead: match.dead } : { propose: true });
    if (this.asked || match.over || match.ended || match.waiting || !match.atEnd || match.you === 2 || match.you === match.turn) return;
    const [kind, number] = this.strength.split(" ");
    const limit = kind === CLOCK ? {} : { [kind]: Number(number) };
    const fields = { root: match.root, moves: match.moves, play: true, clock: match.clock?.told, ...limit };
    this.ask(fields, (said) => said.is === "answer" && this.hear(said));
    this.app.draw();
  }

  hear({ move, resign, win, notes }) {
    const { match } = this.app;
    if (notes?.length) this.app.note(notes.at(-1));
    if (win) this.finish({ winner: match.turn, why: "declared" });
    else if (resign) this.finish({ winner: 1 - match.turn, why: "resigned" });
    else if (move) this.app.play(move);
    else this.app.draw();
  }

  // ---------------------------------------------------------------- clocks

  rest() {
    super.rest();
    this.resigning = false;
    this.app.match?.clock?.rest();
  }

  // The clock of whoever is to move runs, once both have moved; not while an earlier position is shown.
  draw() {
    const { match, board } = this.app;
    const on = match.atEnd && match.ply > 1 && !match.over && !match.ended;
    if (on && (this.asked || this.lets(match.turn))) match.clock?.run(match.turn);
    if (match.over?.dead) board.showDead(match.over.dead);
    const about = endPanel(this.app, { review: () => this.app.review.begin(), rematch: () => this.rematch() });
    this.end.hidden = !about.length;
    this.setting.classList.toggle("later", match.moves.length > 0); // what is played comes first
    clear(this.end, ...about);
  }

  tick() {
    const { match } = this.app;
    if (!match.clock || this.app.view !== this) return;
    drawClocks(this.app);
    if (!match.clock.out) return;
    const winner = 1 - match.clock.side;
    this.hide();
    this.finish({ winner: canMate(this.app.board, winner) ? winner : null, why: "time" });
  }

  // ---------------------------------------------------------------- dead stones

  // Count the score without dead stones.
  count(fields) {
    const { match, link } = this.app;
    link.ask("count", { root: match.root, moves: match.moves, ...fields }, (said) => {
      if (said.is === "error") this.app.note(said.text);
      if (said.is === "error" || !match.over) return;
      if (fields.propose) this.app.note(word("Stones that the net thinks dead are crossed out: click a stone to change that."));
      match.over = said;
      match.dead = said.dead;
      match.changed();
      this.app.say(this.app.status());
    });
  }

  pick({ square }) {
    const { match, board } = this.app;
    const marks = match.over?.dead && board.board.squares[square];
    if (marks) this.count({ dead: match.dead, toggle: board.game.name(board.board, square) });
    return Boolean(marks);
  }

  undo() {
    const { match, link } = this.app;
    this.hide();
    const back = match.you === 2 || match.turn !== match.you ? 1 : 2;
    match.cut(link, match.ply - Math.min(back, match.ply), () => this.ready());
  }

  askResign(asks) {
    this.resigning = asks;
    this.app.draw();
  }

  resign() {
    const { match } = this.app;
    const loser = match.you === 2 ? match.turn : match.you;
    this.hide();
    this.finish({ winner: 1 - loser, why: "resigned" });
  }

  finish(ended) {
    this.app.match.ended = ended;
    this.app.match.changed();
    this.app.say(result(this.app, ended));
  }
}

// Whether a side has more than a king.
function canMate({ game, board }, side) {
  return game.pieces !== "chessmen" || board.squares.filter((piece) => piece && game.owner(piece) === side).length > 1;
}
