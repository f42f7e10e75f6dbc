// The conversation with the server: questions with numbers, answers to whoever asked; it connects again by itself.

import { el } from "./dom.js";
import { spoken } from "../words/language.js";

const SLOWEST_MS = 5000;
export const TOKEN = "az-engine token";

// To the page of the training run that the server shows, if it does.
export function trainingLink() {
  const token = localStorage.getItem(TOKEN);
  return "run" in document.documentElement.dataset && el("a", { href: token ? `run?token=${encodeURIComponent(token)}` : "run", id: "run" }, "Training");
}

export class Link {
  // onState is told "connecting", "open" or "closed".
  constructor(token, onState) {
    this.token = token;
    this.onState = onState;
    this.waiting = new Map();
    this.number = 0;
    this.delay = 250;
    this.socket = null;
    this.game = null;
    this.onHello = () => {};
    this.onLoading = () => {};
    this.onNote = () => {};
    this.onError = () => {};
  }

  // Talk about a game from now on.
  connect(game) {
    this.game = game;
    this.delay = 250;
    this.close();
    this.open();
  }

  close() {
    clearTimeout(this.timer);
    const old = this.socket;
    this.socket = null;
    this.waiting.clear();
    if (old) old.close();
  }

  open() {
    this.onState("connecting");
    const place = location.protocol === "https:" ? "wss" : "ws";
    const token = this.token ? `/${encodeURIComponent(this.token)}` : "";
    const socket = new WebSocket(`${place}://${location.host}/page${token}?game=${encodeURIComponent(this.game)}`);
    this.socket = socket;
    socket.addEventListener("message", (event) => {
      if (socket === this.socket) this.hear(JSON.parse(event.data));
    });
    socket.addEventListener("close", () => {
      if (socket !== this.socket) return;
      this.waiting.clear();
      this.onState("closed");
      this.timer = setTimeout(() => this.open(), this.delay);
      this.delay = Math.min(this.delay * 2, SLOWEST_MS);
    });
  }

  hear(message) {
    if (message.is === "hello") {
      this.delay = 250;
      this.onState("open");
      this.onHello(message);
      return;
    }
    const hear = this.waiting.get(message.id);
    if (["game", "count", "record", "file", "answer", "error"].includes(message.is)) this.waiting.delete(message.id);
    if (hear) hear(message);
    else if (message.is === "note") this.onNote(message.text);
    else if (message.is === "loading") this.onLoading(message.text);
    else if (message.is === "loaded") this.onLoading("");
    else if (message.is === "error") this.onError(message.text);
  }

  // Ask; every message that answers goes to hear. Returns the question's number, 0 when nobody listens.
  ask(what, fields, hear) {
    if (!this.socket || this.socket.readyState !== WebSocket.OPEN) return 0;
    const id = ++this.number;
    this.waiting.set(id, hear);
    this.socket.send(JSON.stringify({ do: what, id, language: spoken.code, ...fields }));
    return id;
  }

  stop() {
    if (this.socket && this.socket.readyState === WebSocket.OPEN) {
      this.socket.send(JSON.stringify({ do: "stop", id: ++this.number }));
    }
  }
}
