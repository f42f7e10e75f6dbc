// Reads records by the parsers of ShogiHome (tsshogi), Sabaki (@sabaki/sgf) and lichess (chessops): an array of
// {kind, text} as JSON on stdin, their trees on stdout. NODE_MODULES names the folder that they are installed in.

import { createRequire } from "node:module";
import { readFileSync } from "node:fs";

const need = createRequire(`${process.env.NODE_MODULES}/x.js`);
const shogi = need("tsshogi");
const sgf = need("@sabaki/sgf");
const pgn = await import(`${process.env.NODE_MODULES}/chessops/dist/esm/pgn.js`);
const READERS = { KIF: shogi.importKIF, KI2: shogi.importKI2, CSA: shogi.importCSA, JKF: shogi.importJKFString };

// [move or special, comment, seconds, children], the children in their order
function shogiNode(node) {
  const children = [];
  for (let child = node.next; child; child = child.branch) children.push(shogiNode(child));
  const move = node.ply === 0 ? "" : node.move.usi ?? `%${node.move.type ?? node.move.name}`;
  return [move, node.comment.trimEnd(), node.elapsedMs / 1000, children];
}

function shogiTree(kind, text) {
  const record = READERS[kind](text);
  if (record instanceof Error) return { error: String(record.message) };
  const first = record.first;
  return { games: [{ sfen: record.initialPosition.sfen, tree: shogiNode(first) }] };
}

function sgfNode(node) {
  return [node.data, node.children.map(sgfNode)];
}

function pgnNode(node) {
  const data = node.data || {};
  const comments = [...(data.startingComments || []), ...(data.comments || [])].map(pgn.parseComment);
  const evaluation = comments.map((each) => each.evaluation).find(Boolean);
  return [data.san || "", comments.map((each) => each.text).join(" "), data.nags || [], evaluation || null, node.children.map(pgnNode)];
}

function parse({ kind, text }) {
  try {
    if (READERS[kind]) return shogiTree(kind, text);
    if (kind === "SGF") return { games: sgf.parse(text).map(sgfNode) };
    return { games: pgn.parsePgn(text).map((game) => pgnNode(game.moves)) };
  } catch (error) {
    return { error: String(error) };
  }
}

process.stdout.write(JSON.stringify(JSON.parse(readFileSync(0, "utf-8")).map(parse)));
