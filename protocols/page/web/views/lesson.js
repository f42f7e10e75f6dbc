// Learn from your mistakes: the position before each mistake of a reviewed game is to be solved.

import { button, byId, clear, el } from "../base/dom.js";
import { drawHint, drawLine } from "../board/overlay.js";
import { t, word } from "../words/language.js";
import { sideName } from "../words/words.js";
import { loss, percent } from "./mistakes.js";

export class Lesson {
  // view: the review, which searches; mistakes: in the order of the game.
  constructor(view, mistakes) {
    Object.assign(this, { view, app: view.app, match: view.app.match, mistakes });
    this.number = 0;
    this.solved = 0; // at the first try, without help
    this.element = el("div", { id: "lesson" });
  }

  get task() {
    return this.mistakes[this.number];
  }

  // Whether the position to solve is on the board, so that a move is an answer.
  get asks() {
    return Boolean(this.task) && this.match.ply === this.task.ply && !this.found;
  }

  show(number = 0) {
    this.number = number;
    this.found = null; // {word, line, words} of a right answer
    this.wrong = null; // the same of a wrong one, with its loss
    this.helped = this.why = this.hinted = false;
    if (this.task) this.app.go(this.task.ply);
    else this.app.draw();
  }

  // A move is an answer: it is searched unless it is known.
  answer(move) {
    const { task } = this;
    const word = this.match.words[this.match.legal.indexOf(move)];
    this.why = this.hinted = false;
    if (move === task.best[0]) {
      this.judge({ word, line: task.best, words: task.better, loss: 0 });
      return;
    }
    const { root, played } = this.match;
    let last = null;
    this.view.ask({ root, moves: played, only: [move], visits: this.view.visits, lines: 1, every: 1000 }, (said) => {
      if (said.is === "report") last = said.lines[0];
      if (said.is !== "answer" || !last || this.task !== task) return;
      this.judge({ word, line: last.pv, words: last.words, loss: task.mover - last.wdl[0] - last.wdl[1] / 2 });
    });
    this.app.draw();
  }

  judge(found) {
    const right = found.loss < this.view.least;
    this.found = right ? found : null;
    this.wrong = right ? null : found;
    if (right && !this.helped) this.solved += 1;
    this.helped = true;
    this.app.draw();
    this.app.say(this.text());
    if (right) byId("lesson-next").focus();
  }

  hint() {
    this.helped = this.hinted = true;
    this.wrong = null;
    this.app.draw();
  }

  reveal() {
    this.helped = true;
    this.judge({ word: this.task.better[0], line: this.task.best, words: this.task.better, loss: 0 });
  }

  // What refutes the move that was played, on the board after it.
  refute() {
    this.helped = this.why = true;
    this.app.go(this.task.ply + 1);
  }

  back() {
    this.why = false;
    this.app.go(this.task.ply);
  }

  // ---------------------------------------------------------------- what is drawn

  text() {
    const { task, found, wrong } = this;
    if (!task) return t("{solved} of {all} solved at the first try.", { solved: this.solved, all: this.mistakes.length });
    const answer = (words) => words.slice(1, 9).join(" ");
    if (this.why) {
      const next = this.match.values[task.ply + 1];
      return t("{word} gives away {loss}. The answer: {line}", { word: task.word, loss: loss(task), line: next.words.slice(0, 8).join(" ") || "–" });
    }
    if (found) return `${t(found.line[0] === task.best[0] ? "{word} is best." : "{word} is good, too.", found)} ${answer(found.words)}`;
    if (this.view.asked) return word("The net looks at your move…");
    if (wrong) return t("{word} gives away {loss}: {line}. Try again.", { word: wrong.word, loss: percent(wrong.loss), line: answer(wrong.words) || "–" });
    const fields = { side: sideName(this.app, task.turn), word: task.word, kind: word(task.kind), loss: loss(task) };
    return t("{side} to move. {word} was played: {kind}, {loss}. Find a better move.", fields);
  }

  draw() {
    const { task, app } = this;
    const at = task && this.match.ply === task.ply;
    const last = this.number + 1 >= this.mistakes.length;
    const next = button(last ? "Finish" : "Next", () => this.show(this.number + 1), { id: "lesson-next", class: this.found ? "main" : null });
    const end = button("End the lesson", () => this.view.endLesson(), { id: "lesson-end" });
    const asks = this.asks && !this.view.asked;
    const buttons = !task ? [end] : !at ? [button("Back to the position", () => this.back(), { id: "lesson-back", class: "main" }), next, end]
      : [this.found && next, asks && button("Hint", () => this.hint(), { id: "lesson-hint" }), asks && button("Show the answer", () => this.reveal(), { id: "lesson-show" }),
        button("Why was it wrong?", () => this.refute(), { id: "lesson-why" }), !this.found && next, end];
    clear(this.element, el("h2", {}, task ? t("Mistake {number} of {all}", { number: this.number + 1, all: this.mistakes.length }) : "The lesson is over"),
      el("p", { role: "status" }, this.text()), el("div", { class: "row" }, ...buttons));
    if (!app.board.board || !task) return;
    if (this.why && this.match.ply === task.ply + 1) drawLine(app.board, this.match.values[task.ply + 1].best, 1 - task.turn);
    else if (at && (this.found || this.wrong)) drawLine(app.board, (this.found || this.wrong).line, task.turn);
    else if (at && this.hinted) drawHint(app.board, task.best[0], task.turn);
  }
}
