/** Cuts a text to a width, with a mark where something is missing. */
export function outerMarks(text, width = 6, mark = "~") {
  return text.length <= width ? text : text.slice(0, width - mark.length) + mark;
}
