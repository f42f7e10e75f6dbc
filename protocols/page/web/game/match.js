// The game on the board: its moves, the positions that the server has told, the ply that is shown. It is kept in the
// browser, so that closing the page loses nothing.

import { firstWdl } from "../plots/values.js";
import { spoken, word } from "../words/language.js";
import { Clock } from "./clock.js";

const KEPT = "az-engine game ";
const MOST_KEPT = 12; // moves of a line
const SURE = 1e9; // visits of a result by the rules

export class Match {
  constructor(name) {
    this.name = name; // of the game: chess, shogi, go
    this.net = undefined; // that searches, undefined: the usual one
    this.onChange = () => {}; // called when anything has changed
    this.root = null;
    this.start = null; // of a game of Go that the server has not begun yet
    this.moves = [];
    this.ply = 0;
    this.plies = []; // {text, turn, word} by ply, as far as known
    this.legal = [];
    this.words = []; // the same moves as people write them
    this.values = []; // {score, lead, visits, best, words} by ply: the first player's, as far as searched
    this.over = null; // {winner, why, lead}, in the position shown
    this.end = null; // the same after the last move
    this.declares = false;
    this.ended = null; // {winner, why}: resigned, or out of time
    this.dead = null; // stones of a game of Go that is over
    this.clock = null;
    this.names = ["", ""];
    this.result = null; // of a loaded game: 1 the first player won, 0 drawn, -1
    this.main = null; // moves of a loaded game, from which we may have left
    this.mainValues = []; // their values, when we have
    this.source = null; // {format, text} of a loaded game with all that stands in it, which saving needs
    this.you = 0; // the side that the user plays, 2: both
    this.waiting = false; // for the server's word on the present position
  }

  get here() {
    return this.plies[this.ply] || null;
  }

  get turn() {
    return this.here ? this.here.turn : 0;
  }

  get atEnd() {
    return this.ply === this.moves.length;
  }

  // Whether the moves are others than those of the loaded game.
  get left() {
    return Boolean(this.main) && this.main.join(" ") !== this.moves.join(" ");
  }

  // The moves that led to what is shown.
  get played() {
    return this.moves.slice(0, this.ply);
  }

  get last() {
    return this.ply ? this.moves[this.ply - 1] : "";
  }

  changed() {
    this.onChange();
  }

  // Ask the server for the positions that are not known, and what may be played in the one shown. Then call done.
  // lines: the best lines by ply, which are to be written anew.
  load(link, done = () => {}, lines = undefined) {
    this.waiting = true;
    this.legal = [];
    const fields = { root: this.root, start: this.start, moves: this.moves, known: this.plies.length, at: this.ply, kanji: spoken.kanji, lines };
    const asked = link.ask("game", fields, (said) => {
      if (asked !== this.asked) return;
      this.waiting = false;
      if (said.is === "error") {
        done(said.text);
        return;
      }
      this.root = said.root;
      this.start = null;
      said.lines.forEach((words, ply) => this.values[ply] && (this.values[ply].words = words));
      for (const each of said.plies) each.word = word(each.word); // pass
      this.plies.splice(said.from, Infinity, ...said.plies);
      this.legal = said.legal;
      this.words = said.words.map((each) => word(each));
      this.over = said.over;
      this.end = said.end;
      this.declares = said.declares;
      this.changed();
      done("");
    });
    this.asked = asked;
  }

  // Play a move in the position shown; what came after it is gone, unless it is the next one of a loaded game.
  play(link, move, done) {
    if (this.main && this.moves[this.ply] === move) {
      this.go(link, this.ply + 1, done);
      return;
    }
    if (this.ply > 1) this.clock?.moved(this.turn);
    this.forget(this.ply);
    this.moves = [...this.played, move];
    this.ply += 1;
    this.load(link, done);
  }

  go(link, ply, done) {
    this.ply = Math.max(0, Math.min(ply, this.moves.length));
    this.over = null;
    this.load(link, done);
  }

  // Take moves back.
  cut(link, ply, done) {
    this.ply = Math.max(0, ply);
    this.forget(this.ply);
    this.moves = this.played;
    this.load(link, done);
  }

  // Return to the loaded game where we left it.
  back(link, done) {
    const other = this.main.findIndex((move, i) => move !== this.moves[i]);
    const same = other < 0 ? this.main.length : other;
    this.forget(same);
    this.moves = [...this.main];
    this.values = [...this.mainValues];
    this.go(link, same, done);
  }

  // What comes after a ply is gone.
  forget(ply) {
    if (this.main && !this.left) this.mainValues = [...this.values];
    for (const known of [this.plies, this.values]) known.length = Math.min(known.length, ply + 1);
    this.over = this.end = this.ended = this.dead = null;
  }

  // Keep what a search says of a position.
  learn(report, ply = this.ply) {
    const { turn } = this.plies[ply];
    const wdl = firstWdl(report, turn);
    const lead = report.lead === null ? null : turn ? -report.lead : report.lead;
    this.values[ply] = { score: wdl[0] + wdl[1] / 2, lead, visits: report.visits, best: report.lines[0].pv.slice(0, MOST_KEPT), words: report.lines[0].words };
  }

  // The value of the last position, where the rules have ended the game.
  learnEnd() {
    const { winner, lead = null } = this.end;
    this.values[this.moves.length] = { score: winner === null ? 0.5 : 1 - winner, lead, visits: SURE, best: [], words: [] };
  }

  // ---------------------------------------------------------------- what outlives the page

  store() {
    const { root, moves, ply, names, result, main, mainValues, source, values, you, ended, dead, net } = this;
    const kept = { root, moves, ply, names, result, main, mainValues, source, values, you, ended, dead, net, clock: this.clock?.kept };
    try {
      localStorage.setItem(KEPT + this.name, JSON.stringify(kept));
    } catch {
      // private windows may keep nothing: the address still has the game
    }
  }

  // What the address says, or what the browser has kept of the game.
  static kept(name, words) {
    let kept = {};
    try {
      kept = JSON.parse(localStorage.getItem(KEPT + name)) || {};
    } catch {
      // nothing that can be read
    }
    if (kept.clock) kept.clock = new Clock(kept.clock);
    if (!words || !(words.has("moves") || words.has("from"))) return kept;
    const moves = (words.get("moves") || "").split(" ").filter(Boolean);
    const ply = words.has("ply") ? Number(words.get("ply")) : moves.length;
    const same = kept.root === words.get("from") && kept.moves?.join(" ") === moves.join(" ");
    return { ...(same ? kept : {}), root: words.get("from"), moves, ply, you: Number(words.get("you") || 0) };
  }
}
