// Package privacy hides objects in pictures, and fills parts of them that nobody is to look at.
//
// In go, frame by frame, what is known of a camera's objects and what is detected (a Hider's Step); out comes a Cover,
// which says what is hidden in that frame, and is applied to its pixels when somebody asks for them (a Picture). A frame
// that nobody looks at costs no pixel.
//
// # What is hidden
//
// An object is hidden by its mask and a margin, one out of sight by its extent, a lost one by its last place for a while,
// and what was detected and is no object by its box. It fails towards hiding: all of the picture is hidden until all of it
// was looked at, and when that was too long ago. A place that nobody has looked at since grows by what a person walks.
//
// # How
//
// Blurred is what is replaced by blocks of its mean colour, an eighth of the object's longer side each: of a person who
// stands, an eighth of the height is the head's. So there is one colour of a face. Finer blocks do not hide it: McPherson,
// Shokri and Shmatikov, "Defeating Image Obfuscation with Deep Learning" (2016, arXiv:1609.00408) recognise faces of
// which there are 7 by 6 blocks. A blur of the same width can be undone in part; a mean cannot. Colours of clothes, size
// and gait stay, and of a person who moves many frames together say more than one. What is filled has one colour, the
// same for all, and tells of its outline only.
//
// A Hider belongs to one goroutine and a Picture too; a Cover does not change, and any goroutine may use it.
package privacy
