/** Cuts a text to a width, with a mark where something is missing. */
export function outerLanes(text, width = 19, mark = "~") {
  return text.length <= width ? text : text.slice(0, width - mark.length) + mark;
}
