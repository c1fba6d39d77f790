// Masks that pycocotools 2.0.11 wrote (mask.encode), and what is no mask.
import assert from "node:assert/strict";
import { test } from "node:test";
import { mask } from "segd";

test("as pycocotools", () => {
  for (const [counts, width, height, bits] of [
    ["6", 3, 2, "000000"],
    ["06", 3, 2, "111111"],
    ["015", 3, 2, "100000"],
    ["013000", 3, 3, "100010001"],
    ["m0284N0O2OKN02O000000000001N0251N102L9", 16, 12,
      "0000000000000000000000000000000000000111111100000001111111111100" +
      "0001111000111100001111000001111000111100000111100001111000111100" +
      "0001111111111100000001111111000000000000000000000000000000000000"],
  ]) assert.equal(mask({ width, height }, { counts }).join(""), bits);
});

test("refused", () => {
  for (const [what, width, height, counts] of [
    ["nothing", 4, 3, ""],
    ["too few pixels", 4, 3, "7"],
    ["too many", 4, 3, "o"],
    ["a negative run", 4, 3, "o?N0"],
    ["runs that end within a number", 4, 3, "0P"],
    ["a character that is none of COCO's", 4, 3, "00\x7f"],
    ["a letter beyond them", 4, 3, "é"],
    ["a number without end", 4, 3, "P".repeat(1000)],
    ["a number of seven letters", 4, 3, "\\PPPPP0"],
    ["a picture without a size", 0, 0, ""],
    ["a negative size", -4, -3, "<"],
    ["a picture larger than any", 2 ** 30, 2, "0"],
  ]) assert.throws(() => mask({ width, height }, { counts }), RangeError, what);
});
