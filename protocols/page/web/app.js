// The page: header, board and the view beside it.

import { Address } from "./base/address.js";
import { button, byId, clear } from "./base/dom.js";
import { takeKeys } from "./base/keys.js";
import { Link, TOKEN, trainingLink } from "./base/link.js";
import { startTheme } from "./base/theme.js";
import { Board } from "./board/board.js";
import { GAMES } from "./board/games.js";
import { Input } from "./board/input.js";
import { askPromotion } from "./board/promotion.js";
import { drawClocks } from "./game/clock.js";
import { takeGifts } from "./game/gifts.js";
import { keptMatch } from "./game/kept.js";
import { showLoading } from "./game/loading.js";
import { Match } from "./game/match.js";
import { movesCard, moveList } from "./game/record.js";
import { stepButtons } from "./game/steps.js";
import { AnalyseView } from "./views/analyse.js";
import { EditView } from "./views/edit.js";
import { InsideView } from "./views/inside.js";
import { PlayView } from "./views/play.js";
import { ReviewView } from "./views/review.js";
import { spoken, t, word } from "./words/language.js";
import { startLanguage } from "./words/languages.js";
import { result, sideName } from "./words/words.js";

const OFFERED = document.documentElement.dataset.games.split(" ").filter((name) => GAMES[name]);
const VIEWS = [PlayView, AnalyseView, ReviewView, InsideView, EditView];

class App {
  constructor() {
    const words = new URLSearchParams(location.hash.slice(1));
    if (words.has("token")) localStorage.setItem(TOKEN, words.get("token"));
    this.words = words;
    this.link = new Link(localStorage.getItem(TOKEN), (state) => this.connected(state));
    this.link.onHello = (hello) => this.begin(hello);
    this.link.onLoading = (text) => showLoading(this, text);
    this.link.onNote = (text) => this.setNet(text);
    this.link.onError = (text) => this.note(text);
    this.hello = null;
    this.preparing = ""; // what the server does before it can search
    this.flips = {};
    this.views = VIEWS.map((View) => new View(this));
    this.review = this.views.find((view) => view instanceof ReviewView);
    this.view = this.views.find((view) => view.name === words.get("view")) || this.views[0];
    startTheme();
    takeGifts(this.review.files);
    takeKeys(this);
    addEventListener("pagehide", () => {
      this.match.clock?.rest(); // the clocks stay as they are
      this.match.store();
    });
    this.address = new Address((place) => this.visit(place));
    this.choose([words.get("game"), localStorage.getItem("az-engine last"), "chess"].find((name) => OFFERED.includes(name)) || OFFERED[0]);
  }

  // ---------------------------------------------------------------- game and view

  // Another kind of game: the last one that was played, or a record.
  choose(name, record = null) {
    this.view.hide();
    this.record = record;
    this.match?.store();
    this.hold(keptMatch(name, this.words?.get("game") === name ? this.words : null));
    this.words = null;
    this.seat();
  }

  // A new game of the same kind: {root, start, moves, ply, names ...}. The one before stays in the history.
  start({ tree, comments = [], ...about }, done) {
    this.view.hide();
    this.match.store();
    const { name, net, you } = this.match;
    const match = Object.assign(new Match(name), { net, you }, about);
    match.ply = about.ply ?? match.moves.length;
    if (tree) match.plant([[0, { comment: comments[0] }], ...tree.map(([parent, move], i) => [parent, { move, comment: comments[i + 1] }])]);
    this.hold(match);
    match.load(this.link, (fault) => (fault ? this.note(fault) : done()));
  }

  // Back to a game and a view of the history.
  visit({ match, view }) {
    this.view.hide();
    this.match.store();
    const same = match.name === this.match.name;
    this.hold(match);
    this.view = this.views.find((each) => each.name === view);
    if (!same) {
      this.seat();
      return;
    }
    this.showView(this.view);
    match.load(this.link, () => this.view.ready());
  }

  hold(match) {
    this.note("");
    this.match = match;
    match.onChange = () => match === this.match && this.changed();
  }

  // A board for the game, and the server's word on it.
  seat() {
    const { name } = this.match;
    this.board = new Board(name, { label: t("{game}: arrow keys move the cursor, Enter plays", { game: word(GAMES[name].title) }) });
    this.input = new Input(this.board, {
      canPlay: () => this.canPlay(),
      play: (move) => this.play(move),
      pick: (place) => this.view.pick(place),
      ask: (moves, then) => askPromotion(this.board, moves, then),
      say: (text) => this.say(text),
    });
    clear(byId("board"), this.board.svg);
    localStorage.setItem("az-engine last", name);
    this.preparing = "";
    this.begun = false; // with the server's word
    this.lose();
    this.link.connect(name);
  }

  // The server is there, at first or again: it is told the game that we have.
  begin(hello) {
    this.hello = hello;
    this.begun = true;
    hello.sides = hello.sides.map((side) => word(side, this.match.name));
    if (!this.board.svg.isConnected) clear(byId("board"), this.board.svg);
    if (!hello.nets.includes(this.match.net)) this.match.net = undefined;
    clear(byId("games"), ...OFFERED.map((name) =>
      button(GAMES[name].title, () => this.choose(name), { "aria-current": name === this.match.name })));
    this.showView(this.view);
    this.match.forget();
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
      this.start({}, () => this.view.ready());
      this.note(fault);
    });
  }

  showView(view) {
    if (view !== this.view) this.view.hide();
    this.view = view;
    clear(byId("views"), ...this.views.filter((each) => each.listed).map((each) =>
      button(each.title, () => this.turnTo(each), { "aria-current": each === view })), trainingLink());
    const cards = view.show();
    clear(byId("panel"), ...cards.slice(0, view.above), movesCard(this), ...cards.slice(view.above));
    clear(byId("steps"), ...stepButtons(this));
  }

  turnTo(view) {
    this.note("");
    this.showView(view);
    this.changed();
    view.ready();
  }

  // ---------------------------------------------------------------- moves

  canPlay() {
    return !this.match.waiting && !this.match.over && !this.match.ended && this.view.lets(this.match.turn);
  }

  play(move) {
    this.note("");
    if (this.view.takes(move)) return;
    this.view.hide();
    this.match.play(this.link, move, (fault) => (fault ? this.note(fault) : this.view.played(move)));
  }

  // Show another line of the tree: the one through a node that follows a ply.
  turnLine(ply, node) {
    this.view.hide();
    this.match.turnTo(this.link, ply, node, () => this.view.ready());
  }

  go(ply) {
    this.note("");
    this.view.hide();
    this.match.go(this.link, ply, () => this.view.ready());
  }

  flip() {
    this.flips[this.match.name] = !this.flips[this.match.name];
    this.draw();
  }

  // ---------------------------------------------------------------- drawing

  changed() {
    this.match.store();
    this.address.write(this.match, this.view.name);
    this.draw();
  }

  draw() {
    const { match } = this;
    if (!match.here) return;
    const focus = document.activeElement.id; // on a button that is made anew
    const flipped = (match.you === 1) !== Boolean(this.flips[match.name]);
    this.board.show(match.here.text, { last: match.last, flipped, check: match.here.check ? match.turn : null });
    this.input.set(this.canPlay() ? match.legal : []);
    byId("status").textContent = this.status();
    moveList(this);
    byId("terms").textContent = this.board.game.terms?.(this.board.board) || match.opening.replace(/[^\d ].*/, word);
    clear(byId("steps"), ...stepButtons(this));
    this.view.draw();
    drawClocks(this);
    if (focus) byId(focus)?.focus();
    const move = match.here.word;
    if (move && move !== this.spoken) this.say(`${t("{side} plays {move}.", { side: sideName(this, 1 - match.turn), move })} ${match.over ? this.status() : match.here.check ? word("Check.") : ""}`);
    this.spoken = move;
  }

  status() {
    const { match } = this;
    const ended = match.over || (match.atEnd && match.ended);
    if (this.preparing && this.view.asked) return this.preparing;
    return ended ? result(this, ended) : this.view.status() || t("{side} to move", { side: sideName(this, match.turn) });
  }

  note(text) {
    byId("note").textContent = text;
    clearTimeout(this.noteTimer);
    if (text) this.noteTimer = setTimeout(() => (byId("note").textContent = ""), 12000);
  }

  setNet(text) {
    byId("net").textContent = `${text.split(", ")[0]}, ${text.split("; ").at(-1)}`;
    byId("net").title = text;
  }

  say = (text) => (byId("says").textContent = text);

  // Nothing of what the server has kept for us is there any more.
  lose() {
    for (const view of this.views) view.lost();
  }

  connected(state) {
    document.documentElement.dataset.link = state;
    if (state === "closed") this.lose();
    if (state === "connecting") return; // which is no news
    const away = byId("away");
    away.hidden = state === "open";
    away.textContent = state === "open" ? "" : word("No connection to the server: moves show when it is back. Trying again…");
  }
}

await startLanguage();
if (OFFERED.length) window.az = new App();
else byId("status").textContent = word("This server plays no game that the page can show.");
