// What each game looks like in text: positions, squares and moves. The rules are on the server.

import { spoken, t, word } from "../words/language.js";

const LETTERS = "ABCDEFGHJKLMNOPQRSTUVWXYZ";
export const RULES = { "tromp-taylor": "Tromp-Taylor", chinese: "Chinese", japanese: "Japanese", korean: "Korean", aga: "AGA", "new-zealand": "New Zealand" };
const NAMES = {
  chess: { k: "king", q: "queen", r: "rook", b: "bishop", n: "knight", p: "pawn" },
  shogi: {
    k: "king", r: "rook", b: "bishop", g: "gold", s: "silver", n: "knight", l: "lance", p: "pawn",
    "+r": "dragon", "+b": "horse", "+s": "promoted silver", "+n": "promoted knight", "+l": "promoted lance", "+p": "tokin",
  },
};

function rowsOf(field) {
  return field.split("/").map((row) => {
    const squares = [];
    for (const [, count, piece] of row.matchAll(/(\d+)|(\+?[A-Za-z])/g)) {
      if (count) squares.push(...Array(Number(count)).fill(""));
      else squares.push(piece);
    }
    return squares;
  });
}

function boardOf(text) {
  const fields = text.split(" ");
  const rows = rowsOf(fields[0]);
  return { fields, rows: rows.length, columns: rows[0].length, squares: rows.flat(), hands: [{}, {}] };
}

// The squares as they stand in a position's text.
function written({ squares, columns }) {
  const rows = [];
  for (let i = 0; i < squares.length; i += columns) rows.push(squares.slice(i, i + columns).map((piece) => piece || " ").join(""));
  return rows.join("/").replace(/ +/g, (empty) => empty.length);
}

// Castling where king and rook stand as at the start.
const castling = ({ squares }) => ["K63", "Q56", "k7", "q0"].filter(([wing, ...at]) => {
  const [king, rook] = wing < "a" ? ["K", "R"] : ["k", "r"];
  return squares[Number(at.join(""))] === rook && squares[wing < "a" ? 60 : 4] === king;
}).map(([wing]) => wing).join("") || "-";

const chess = {
  title: "Chess",
  set: [..."KQRBNPkqrbnp"],
  write: (board, turn) => `${written(board)} ${"wb"[turn]} ${castling(board)} - 0 1`,
  pieces: "chessmen",
  read: boardOf,
  name: (board, i) => "abcdefgh"[i % 8] + (8 - Math.floor(i / 8)),
  columns: (board) => [..."abcdefgh"],
  ranks: (board) => [..."87654321"],
  square: (board, text) => (8 - Number(text[1])) * 8 + "abcdefgh".indexOf(text[0]),
  owner: (piece) => (piece === piece.toUpperCase() ? 0 : 1),
  says: (piece) => t(piece === piece.toUpperCase() ? "white {piece}" : "black {piece}", { piece: word(NAMES.chess[piece.toLowerCase()]) }),
  move(board, text) {
    return { from: this.square(board, text), to: this.square(board, text.slice(2)), promotion: text.slice(4) };
  },
  promotions: { q: "Queen", r: "Rook", b: "Bishop", n: "Knight" },
};

const shogi = {
  title: "Shogi",
  set: "K R B G S N L P +R +B +S +N +L +P k r b g s n l p +r +b +s +n +l +p".split(" "),
  write(board, turn) {
    const held = board.hands.flatMap((hand, side) => this.hand.filter((piece) => hand[piece]).map((piece) => `${hand[piece] > 1 ? hand[piece] : ""}${side ? piece.toLowerCase() : piece}`));
    return `${written(board)} ${"bw"[turn]} ${held.join("") || "-"} 1`;
  },
  pieces: "tiles",
  hand: [..."RBGSNLP"],
  read(text) {
    const board = boardOf(text);
    const held = board.fields[2] || "-";
    for (const [, count, piece] of held.matchAll(/(\d*)([A-Za-z])/g)) {
      board.hands[this.owner(piece)][piece.toUpperCase()] = Number(count || 1);
    }
    return board;
  },
  name: (board, i) => 9 - (i % 9) + "abcdefghi"[Math.floor(i / 9)],
  called: (board, i) => 9 - (i % 9) + shogi.ranks()[Math.floor(i / 9)],
  columns: (board) => [..."987654321"],
  ranks: () => [...(spoken.kanji ? "一二三四五六七八九" : "abcdefghi")],
  square: (board, text) => "abcdefghi".indexOf(text[1]) * 9 + 9 - Number(text[0]),
  owner: (piece) => (piece === piece.toUpperCase() ? 0 : 1),
  says: (piece) => t(piece === piece.toUpperCase() ? "black {piece}" : "white {piece}", { piece: word(NAMES.shogi[piece.toLowerCase()], "shogi") }),
  move(board, text) {
    const to = this.square(board, text.slice(2));
    if (text[1] === "*") return { from: null, drop: text[0], to, promotion: "" };
    return { from: this.square(board, text), to, promotion: text.slice(4) };
  },
  promotions: { "+": "Promote", "": "Keep" },
};

const go = {
  title: "Go",
  set: ["X", "O"],
  write: (board, turn) => [written(board), "bw"[turn], "-", ...board.fields.slice(3)].join(" "),
  pieces: "stones",
  read: boardOf,
  name: (board, i) => LETTERS[i % board.columns] + (board.rows - Math.floor(i / board.columns)),
  columns: (board) => [...LETTERS.slice(0, board.columns)],
  ranks: (board) => Array.from({ length: board.rows }, (_, y) => String(board.rows - y)),
  square: (board, text) => (board.rows - Number(text.slice(1))) * board.columns + LETTERS.indexOf(text[0]),
  owner: (piece) => (piece === "X" ? 0 : 1),
  says: (piece) => word(piece === "X" ? "black stone" : "white stone"),
  move(board, text) {
    if (text === "pass" || text === "skip") return { from: null, to: null, pass: true, promotion: "" };
    return { from: null, to: this.square(board, text), promotion: "" };
  },
  promotions: {},
  terms: ({ fields }) => t("komi {komi}, {rules} rules", { komi: fields[3], rules: word(RULES[fields[4]] || fields[4]) }),
};

// Any other game: rows of letters and dots from the top, squares a1 from the bottom left.
const discs = {
  ...go,
  pieces: "discs",
  read(text) {
    const rows = text.split("/");
    const squares = rows.flatMap((row) => [...row].map((piece) => (piece === "." ? "" : piece)));
    return { fields: [text], rows: rows.length, columns: rows[0].length, squares, hands: [{}, {}] };
  },
  name: (board, i) => discs.columns(board)[i % board.columns] + (board.rows - Math.floor(i / board.columns)),
  columns: (board) => [..."abcdefghijklmnopqrstuvwxyz".slice(0, board.columns)],
  square: (board, text) => (board.rows - Number(text.slice(1))) * board.columns + text.charCodeAt(0) - 97,
  owner: (piece) => ("Xx".includes(piece) ? 0 : 1),
  says: (piece) => piece,
};

export const GAMES = { chess, shogi, go };

export const gameOf = (name) => GAMES[name.replace(/\d+$/, "")] || discs;

// How a person reads a square: its name and what stands there.
export function says(game, board, i) {
  const piece = board.squares[i];
  return `${(game.called || game.name)(board, i)}, ${piece ? game.says(piece) : word("empty")}`;
}

// The drop of a hand's piece in words.
export const handSays = (piece, count) => t("{piece} in hand, {count}", { piece: word(NAMES.shogi[piece.toLowerCase()], "shogi"), count });
