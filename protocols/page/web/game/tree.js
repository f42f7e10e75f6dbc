// Trees of moves. A node: {move, word, comment, value, ended, dead, kids}; its first kid goes on the main line.

// The nodes of the main line below a node.
export function mainOf(node) {
  const found = [];
  for (let at = node.kids[0]; at; at = at.kids[0]) found.push(at);
  return found;
}

// All nodes, a parent before its children: [number of the parent, node].
export function walk(tree) {
  const found = [];
  const waiting = [[0, tree]];
  while (waiting.length) {
    const each = waiting.pop();
    const number = found.push(each) - 1;
    waiting.push(...each[1].kids.map((kid) => [number, kid]).reverse());
  }
  return found;
}

// A tree of such a list.
export function planted(list) {
  const nodes = list.map(([, node]) => ({ ...node, kids: [] }));
  nodes.slice(1).forEach((node, i) => nodes[list[i + 1][0]].kids.push(node));
  return nodes[0];
}
