// One colour per object number, bright enough to be seen on any picture and
// the same in the picture, the list and every tab.
const colours = ["#19c3ff", "#ff9f1c", "#7ee04f", "#ff4f9a", "#b48cff", "#ffe14d", "#ff6b57", "#2ee6c5"];

export function colour(id) {
  return colours[(Math.max(1, id) - 1) % colours.length];
}
