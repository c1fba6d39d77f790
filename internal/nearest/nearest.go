// Package nearest finds the words that a user may have meant who wrote another one.
package nearest

import (
	"cmp"
	"slices"
	"strings"
)

// Words returns the three of known that are spelled most like word, and of those as near the first.
func Words(word string, known []string) []string {
	const most, longest = 3, 40
	word = strings.ToLower(word)
	if r := []rune(word); len(r) > longest {
		word = string(r[:longest])
	}
	near := slices.Clone(known)
	slices.SortStableFunc(near, func(a, b string) int { return cmp.Compare(distance(word, a), distance(word, b)) })
	return near[:min(most, len(near))]
}

// Hint is what an error about an unknown word adds: which one of known was probably meant; empty if none is like it.
func Hint(word string, known []string) string {
	const most = 2 // letters, as cobra has it
	near := Words(word, known)
	if len(near) == 0 || distance(strings.ToLower(word), near[0]) > min(most, len(near[0])/2) {
		return ""
	}
	return " (did you mean " + near[0] + "?)"
}

// distance is Levenshtein's: the letters to be put in, left out or exchanged to make b of a.
func distance(a, b string) int {
	from, to := []rune(a), []rune(b)
	row := make([]int, len(to)+1) // of a's letters so far to as many of b's
	for j := range row {
		row[j] = j
	}
	for i, r := range from {
		diagonal := row[0]
		row[0] = i + 1
		for j, s := range to {
			exchanged := diagonal
			if r != s {
				exchanged++
			}
			diagonal = row[j+1]
			row[j+1] = min(exchanged, diagonal+1, row[j]+1)
		}
	}
	return row[len(to)]
}
