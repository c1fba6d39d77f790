// Package cosine compares feature vectors, as rows of float32: their scalar
// products, by vector code where there is some, and which are the most alike.
//
// Rows of length 1 have their cosine as scalar product. A row of d numbers is
// followed by zeros up to Padded(d) of them.
package cosine
