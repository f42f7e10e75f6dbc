// The page's words in the reader's language. The English ones stand in the scripts and are the keys of the others.

export const spoken = { code: "en", words: {} };

// A text with what stands in braces filled in.
export function t(text, fields = {}) {
  return (spoken.words[text] || text).replace(/\{(\w+)\}/g, (whole, name) => fields[name] ?? whole);
}
