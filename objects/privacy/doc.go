// Package privacy hides objects in pictures, and fills parts of them that no viewer may see.
//
// A Cover says what is hidden in a frame (package hider decides that), and is applied to the frame's pixels when a viewer
// asks for them (a Picture). A frame without viewers costs no pixel.
//
// Blurred is what is replaced by blocks of its mean colour, an eighth of the object's longer side each: of a person who
// stands, an eighth of the height is the head's. So there is one colour of a face. Finer blocks do not hide it: McPherson,
// Shokri and Shmatikov, "Defeating Image Obfuscation with Deep Learning" (2016, arXiv:1609.00408) recognise faces of
// which there are 7 by 6 blocks. A blur of the same width can be undone in part; a mean cannot. Colours of clothes, size
// and gait stay, and of a person who moves many frames together say more than one. What is filled has one colour, the
// same for all, and tells of its outline only.
//
// A Picture belongs to one goroutine; a Cover does not change, and any goroutine may use it.
package privacy
