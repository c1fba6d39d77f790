// The two things every view does to the document.

export function element(tag, className, text = "") {
  const e = document.createElement(tag);
  e.className = className;
  e.textContent = text;
  return e;
}

// setText leaves the node alone when nothing changed, so that selections and
// screen readers are not disturbed.
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}
