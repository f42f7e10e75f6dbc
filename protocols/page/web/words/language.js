// The page's words in the reader's language. The English ones stand in the scripts and are the keys of the others.

export const spoken = { code: "en", words: {}, kanji: false }; // kanji: moves of shogi as in ▲７六歩

// The word for a text, which may be another one in each game: Black is 先手 in shogi.
export const word = (text, game = "") => spoken.words[`${game} ${text}`] ?? spoken.words[text] ?? text;

// A text with what stands in braces filled in.
export function t(text, fields = {}) {
  return word(text).replace(/\{(\w+)\}/g, (whole, name) => fields[name] ?? whole);
}
