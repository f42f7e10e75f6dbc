// The page: header, board and the view beside it.

import { AnalyseView } from "./analyse.js";
import { Board } from "./board.js";
import { drawClocks } from "./clock.js";
import { button, byId, clear, el } from "./dom.js";
import { GAMES } from "./games.js";
import { Input } from "./input.js";
import { InsideView } from "./inside.js";
import { Link } from "./link.js";
import { Match } from "./match.js";
import { PlayView } from "./play.js";
import { askPromotion } from "./promotion.js";
import { moveList, stepButtons } from "./record.js";
import { ReviewView } from "./review.js";
import { moveField } from "./typed.js";
import { result, sideName } from "./words.js";

const VIEWS = [PlayView, AnalyseView, ReviewView, InsideView];
const TOKEN = "az-engine token";

class App {
  constructor() {
    const words = new URLSearchParams(location.hash.slice(1));
    if (words.has("token")) localStorage.setItem(TOKEN, words.get("token"));
    this.words = words;
    this.link = new Link(localStorage.getItem(TOKEN), (state) => this.connected(state));
    this.link.onHello = (hello) => this.begin(hello);
    this.link.onLoading = (text) => this.loading(text);
    this.link.onNote = (text) => this.setNet(text);
    this.link.onError = (text) => this.note(text);
    this.hello = null;
    this.flips = {};
    this.views = VIEWS.map((View) => new View(this));
    this.review = this.views.find((view) => view instanceof ReviewView);
    this.view = this.views.find((view) => view.name === words.get("view")) || this.views[0];
    byId("theme").addEventListener("click", () => this.turnTheme());
    document.addEventListener("keydown", (event) => this.key(event));
    document.addEventListener("dragover", (event) => event.preventDefault());
    document.addEventListener("drop", (event) => this.drop(event));
    document.addEventListener("paste", (event) => this.paste(event));
    addEventListener("pagehide", () => this.leave());
    addEventListener("hashchange", () => location.reload());
    this.theme(localStorage.getItem("az-engine theme"));
    this.choose(GAMES[words.get("game")] ? words.get("game") : localStorage.getItem("az-engine last") || "chess");
  }

  // ---------------------------------------------------------------- game and view

  // Another game, or a record of another game.
  choose(name, record = null) {
    this.view.hide();
    this.record = record;
    this.match?.store();
    this.match = new Match(name);
    Object.assign(this.match, Match.kept(name, this.words?.get("game") === name ? this.words : null));
    this.words = null;
    this.match.onChange.add(() => this.draw());
    this.board = new Board(name, { label: `${GAMES[name].title} board: arrow keys move the cursor, Enter plays` });
    this.input = new Input(this.board, {
      canPlay: () => this.canPlay(),
      play: (move) => this.play(move),
      pick: (place) => this.view.pick(place),
      ask: (moves, then) => askPromotion(this.board, moves, then),
      say: (text) => this.say(text),
    });
    clear(byId("board"), this.board.svg);
    localStorage.setItem("az-engine last", name);
    this.link.connect(name);
  }

  // The server compiles the game's kernels.
  loading(text) {
    byId("status").textContent = text[0].toUpperCase() + text.slice(1);
    clear(byId("board"), el("progress", { "aria-label": "Loading" }),
      el("p", {}, "The first start compiles the engine for its machine, once. Chess takes half a minute or less, all three games a minute or two."));
  }

  // The server is there, at first or again: it is told the game that we have.
  begin(hello) {
    this.hello = hello;
    if (!this.board.svg.isConnected) clear(byId("board"), this.board.svg);
    if (!hello.nets.includes(this.match.net)) this.match.net = undefined;
    clear(byId("games"), ...hello.games.filter((name) => GAMES[name]).map((name) =>
      button(GAMES[name].title, () => this.choose(name), { "aria-current": name === this.match.name })));
    this.showView(this.view);
    this.match.plies = [];
    if (this.record) {
      this.review.take(this.record);
      this.record = null;
      return;
    }
    const fresh = !this.match.root && !this.match.moves.length;
    if (fresh && hello.sizes.length) this.match.start = { size: hello.sizes.includes(9) ? 9 : hello.sizes[0] };
    this.match.load(this.link, (fault) => {
      if (!fault) {
        this.view.ready();
        return;
      }
      this.note(fault);
      this.match.begin(this.link, {}, () => this.view.ready());
    });
  }

  showView(view) {
    if (view !== this.view) this.view.hide();
    this.view = view;
    this.match.view = view === this.views[0] ? "" : view.name;
    clear(byId("views"), ...this.views.map((each) =>
      button(each.title, () => this.turnTo(each), { "aria-current": each === view })), this.trainingLink());
    clear(byId("panel"), ...view.show(), el("section", { class: "card", "aria-label": "Moves played" }, el("h2", {}, "Moves"), el("p", { class: "soft", id: "terms" }), el("ol", { class: "moves", id: "moves" }), moveField(this)));
    clear(byId("steps"), ...stepButtons(this));
  }

  // To the page of the training run that the server shows, if it does.
  trainingLink() {
    const token = localStorage.getItem(TOKEN);
    return "run" in document.documentElement.dataset && el("a", { href: token ? `run?token=${encodeURIComponent(token)}` : "run", id: "run" }, "Training");
  }

  turnTo(view) {
    this.showView(view);
    this.match.keep();
    this.draw();
    view.ready();
  }

  // A file or a text that is dropped anywhere, or a text that is pasted, is a game to review.
  drop(event) {
    event.preventDefault();
    const [file] = event.dataTransfer.files;
    if (file) this.review.readFile(file);
    else this.review.read(event.dataTransfer.getData("text"));
  }

  paste(event) {
    if (!event.target.closest("input, textarea")) this.review.read(event.clipboardData.getData("text"));
  }

  // ---------------------------------------------------------------- moves

  canPlay() {
    return !this.match.waiting && !this.match.over && !this.match.ended && this.view.lets(this.match.turn);
  }

  play(move) {
    this.view.hide();
    this.match.play(this.link, move, (fault) => (fault ? this.note(fault) : this.view.played(move)));
  }

  go(ply) {
    this.view.hide();
    this.match.go(this.link, ply, () => this.view.ready());
  }

  // The page is closed: the clocks stay as they are.
  leave() {
    this.match.clock?.rest();
    this.match.store();
  }

  flip() {
    this.flips[this.match.name] = !this.flips[this.match.name];
    this.draw();
  }

  key(event) {
    if (event.target.closest("input, select, textarea, .board") || event.altKey || event.ctrlKey || event.metaKey) return;
    const steps = { ArrowLeft: this.match.ply - 1, ArrowRight: this.match.ply + 1, Home: 0, End: this.match.moves.length };
    if (event.key in steps) this.go(steps[event.key]);
    else if (event.key === "f") this.flip();
    else return;
    event.preventDefault();
  }

  // ---------------------------------------------------------------- drawing

  draw() {
    const { match } = this;
    if (!match.here) return;
    const focus = document.activeElement.id; // on a button that is made anew
    const flipped = (match.you === 1) !== Boolean(this.flips[match.name]);
    this.board.show(match.here.text, { last: match.last, flipped });
    this.input.set(this.canPlay() ? match.legal : []);
    byId("status").textContent = this.status();
    clear(byId("moves"), ...moveList(this));
    byId("terms").textContent = this.board.game.terms?.(this.board.board) || "";
    clear(byId("steps"), ...stepButtons(this));
    this.view.draw();
    drawClocks(this);
    if (focus) byId(focus)?.focus();
    const word = match.here.word;
    if (word && word !== this.spoken) this.say(`${sideName(this, 1 - match.turn)} plays ${word}. ${match.over ? this.status() : ""}`);
    this.spoken = word;
  }

  status() {
    const { match } = this;
    const ended = match.over || (match.atEnd && match.ended);
    return ended ? result(this, ended) : this.view.status() || `${sideName(this, match.turn)} to move`;
  }

  note(text) {
    byId("note").textContent = text;
    clearTimeout(this.noteTimer);
    this.noteTimer = setTimeout(() => (byId("note").textContent = ""), 12000);
  }

  setNet(text) {
    byId("net").textContent = `${text.split(", ")[0]}, ${text.split("; ").at(-1)}`;
    byId("net").title = text;
  }

  say(text) {
    byId("says").textContent = text;
  }

  connected(state) {
    document.documentElement.dataset.link = state;
    if (state === "closed") {
      this.view.lost();
      this.note("No connection to az-engine serve; trying again…");
    } else if (state === "open") {
      byId("note").textContent = "";
    }
  }

  turnTheme() {
    const dark = matchMedia("(prefers-color-scheme: dark)").matches;
    const now = document.documentElement.dataset.theme || (dark ? "dark" : "light");
    this.theme(now === "dark" ? "light" : "dark");
  }

  theme(name) {
    if (!name) return;
    document.documentElement.dataset.theme = name;
    localStorage.setItem("az-engine theme", name);
  }
}

window.az = new App();
