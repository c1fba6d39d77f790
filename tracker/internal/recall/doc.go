// Package recall finds objects again that are out of sight, by their looks alone
// (re-detection), and remembers what they look like.
//
// In go the newest picture, what it shows at smaller sizes, and the annotated frames;
// out comes, for each object that is not confirmed, the probability that a superpixel is
// it. Rows of features that showed the object, in annotated frames and a few remembered
// ones, vote against rows of the background seen meanwhile. It is looked for first near
// where it was last seen, then ever farther away; as large as it was, or larger: at 1/2
// and 1/4 of its size a picture shows a near object as it was seen far away.
package recall
