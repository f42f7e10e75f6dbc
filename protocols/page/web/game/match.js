// The game on the board: a tree of moves, of which one line is shown, with the positions that the server has told, and
// the ply in it. It is kept in the browser, so that closing the page loses nothing.

import { firstWdl } from "../plots/values.js";
import { spoken, word } from "../words/language.js";
import { mainOf, planted, walk } from "./tree.js";

export const KEPT = "az-engine tree ";
const MOST_KEPT = 12; // moves of a line
const SURE = 1e9; // visits of a result by the rules

export class Match {
  constructor(name) {
    this.name = name; // of the game: chess, shogi, go
    this.net = undefined; // that searches, undefined: the usual one
    this.onChange = () => {}; // called when anything has changed
    this.root = null;
    this.start = null; // of a game of Go that the server has not begun yet
    this.tree = { move: "", kids: [] }; // all moves: {move, word, comment, value, ended, dead, kids}, the main line first
    this.moves = []; // of the line that is shown
    this.ply = 0;
    this.plies = []; // {text, turn, word} by ply, as far as known
    this.legal = [];
    this.words = []; // the same moves as people write them
    this.native = []; // and in the script of the game's own country, where words are not
    this.values = []; // {score, lead, cp, mate, depth, visits, best, words} by ply: the first player's, as far as searched
    this.over = null; // {winner, why, lead}, in the position shown
    this.end = null; // the same after the last move
    this.declares = false;
    this.opening = ""; // its name
    this.ended = null; // {winner, why}: resigned, or out of time
    this.dead = null; // stones of a game of Go that is over
    this.clock = null;
    this.names = ["", ""];
    this.result = null; // of a loaded game: 1 the first player won, 0 drawn, -1
    this.source = null; // {format, text} of a loaded game with all that stands in it, which saving needs
    this.hidden = 0; // variations of a loaded game that are not in the tree
    this.short = false; // it is too long for a source: what is not in the tree is not saved
    this.you = 0; // the side that the user plays, 2: both
    this.waiting = false; // for the server's word on the present position
  }

  get here() {
    return this.plies[this.ply] || null;
  }

  // What tells the position that is shown from those of other games and other plies.
  get position() {
    return [this.name, this.root, ...this.played].join(" ");
  }

  get turn() {
    return this.here ? this.here.turn : 0;
  }

  get atEnd() {
    return this.ply === this.moves.length;
  }

  // The nodes of the tree with the moves of the line, the root first.
  get path() {
    const nodes = [this.tree];
    for (const move of this.moves) {
      const known = nodes.at(-1).kids.find((kid) => kid.move === move);
      if (!known) nodes.at(-1).kids.push({ move, kids: [] });
      nodes.push(known || nodes.at(-1).kids.at(-1));
    }
    return nodes;
  }

  // The moves of the main line.
  get main() {
    return mainOf(this.tree).map((node) => node.move);
  }

  // Its nodes, the root first, as far as they are known.
  get mainLine() {
    this.keep();
    return [this.tree, ...mainOf(this.tree)];
  }

  // The moves of the tree as the server reads them: "number of the parent, 0 the root, and move".
  get written() {
    return walk(this.tree).slice(1).map(([parent, { move }]) => `${parent} ${move}`);
  }

  // Whether a variation is shown.
  get left() {
    const { moves, main } = this;
    return main.length > moves.length || moves.some((move, i) => move !== main[i]);
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
    this.keep();
    const nodes = walk(this.tree);
    const tree = nodes.every(([, { move, word }]) => word || !move) ? [] : this.written;
    const fields = { root: this.root, start: this.start, moves: this.moves, known: this.plies.length, at: this.ply, kanji: spoken.kanji, lines, tree };
    const asked = link.ask("game", fields, (said) => {
      if (asked !== this.asked) return;
      this.waiting = false;
      if (said.is === "error") {
        done(said.text);
        return;
      }
      this.root = said.root;
      this.start = null;
      said.tree.forEach((each, i) => (nodes[i + 1][1].word = word(each)));
      said.lines.forEach((words, ply) => this.values[ply] && (this.values[ply].words = words));
      for (const each of said.plies) each.word = word(each.word); // pass
      this.plies.splice(said.from, Infinity, ...said.plies);
      this.legal = said.legal;
      this.words = said.words.map((each) => word(each));
      this.native = said.native;
      this.over = said.over;
      this.end = said.end;
      this.declares = said.declares;
      this.opening = said.opening;
      this.changed();
      done("");
    });
    this.asked = asked;
  }

  // Play a move in the position shown: on in the line, in another one, or as the beginning of a new one.
  play(link, move, done) {
    if (this.moves[this.ply] === move) {
      this.go(link, this.ply + 1, done);
      return;
    }
    const { kids } = this.path[this.ply];
    const known = kids.find((kid) => kid.move === move);
    if (!known && this.ply > 1) this.clock?.moved(this.turn);
    if (!known) kids.push({ move, kids: [] });
    this.turnTo(link, this.ply, known || kids.at(-1), done);
  }

  // Play several moves, to the position after the last.
  follow(link, moves, done) {
    this.keep();
    const at = this.ply + moves.length;
    this.moves = [...this.played, ...moves];
    const { path } = this;
    this.show([...path, ...mainOf(path.at(-1))], this.ply);
    this.go(link, at, done);
  }

  // Show the line through a node that is another one's child, and the position after its move.
  turnTo(link, ply, node, done) {
    this.keep();
    this.show([...this.path.slice(0, ply + 1), node, ...mainOf(node)], ply);
    this.go(link, ply + 1, done);
  }

  // The line of nodes is shown, of which those up to a ply were already.
  show(path, ply) {
    const { ended = null, dead = null } = path.at(-1);
    Object.assign(this, { moves: path.slice(1).map((node) => node.move), values: path.map((node) => node.value), over: null, end: null, ended, dead });
    this.plies.length = Math.min(this.plies.length, ply + 1);
  }

  go(link, ply, done) {
    this.ply = Math.max(0, Math.min(ply, this.moves.length));
    this.over = null;
    this.load(link, done);
  }

  // Take moves back: they are gone.
  cut(link, ply, done) {
    const path = this.path.slice(0, ply + 1);
    path[ply].kids = path[ply].kids.filter((kid) => kid.move !== this.moves[ply]);
    this.ended = this.dead = null;
    this.show(path, ply);
    this.go(link, ply, done);
  }

  // Return to the main line where we left it.
  back(link, done) {
    const { main } = this;
    const same = [...main, ""].findIndex((move, i) => move !== this.moves[i]);
    this.keep();
    this.show([this.tree, ...mainOf(this.tree)], same);
    this.go(link, same, done);
  }

  // The line that is shown becomes the main one.
  promote() {
    this.path.forEach((node, i, { [i + 1]: next }) => next && (node.kids = [next, ...node.kids.filter((kid) => kid !== next)]));
    this.changed();
  }

  // Write what is known of the line into the tree.
  keep() {
    const { path } = this;
    path.forEach((node, ply) => Object.assign(node, { value: this.values[ply] || undefined, word: this.plies[ply]?.word ?? node.word }));
    Object.assign(path.at(-1), { ended: this.ended, dead: this.dead });
  }

  // The words of all moves are to be told again.
  forget() {
    this.plies = [];
    for (const [, node] of walk(this.tree)) delete node.word;
  }

  // Keep what a search says of a position.
  learn(report, ply = this.ply) {
    const { turn } = this.plies[ply];
    const wdl = firstWdl(report, turn);
    const of = (value) => (value === null ? null : turn ? -value : value); // the first player's
    const { pv, words, cp, mate } = report.lines[0];
    this.values[ply] = { score: wdl[0] + wdl[1] / 2, lead: of(report.lead), cp: of(cp), mate: of(mate), depth: report.depth, visits: report.visits, best: pv.slice(0, MOST_KEPT), words };
  }

  // The value of the last position, where the rules have ended the game.
  learnEnd() {
    const { winner, lead = null } = this.end;
    this.values[this.moves.length] = { score: winner === null ? 0.5 : 1 - winner, lead, visits: SURE, best: [], words: [] };
  }

  // ---------------------------------------------------------------- what outlives the page

  store() {
    this.keep();
    const { root, moves, ply, names, result, source, hidden, short, you, net } = this;
    const tree = walk(this.tree).map(([parent, { kids, ...node }]) => [parent, node]);
    const kept = { root, tree, moves, ply, names, result, source, hidden, short, you, net, clock: this.clock?.kept };
    try {
      localStorage.setItem(KEPT + this.name, JSON.stringify(kept));
    } catch {
      // private windows may keep nothing: the address still has the game
    }
  }

  // Take up a tree: [number of the parent, node] for each node, a parent before its children.
  plant(list) {
    this.tree = planted(list);
    this.show(this.path, this.moves.length);
  }
}
