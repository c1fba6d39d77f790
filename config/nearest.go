package config

import (
	"cmp"
	"slices"
	"strings"
)

// nearest returns the three of known that are spelled most like word, and of those as near the first.
func nearest(word string, known []string) []string {
	const most, longest = 3, 40
	word = strings.ToLower(word)
	if r := []rune(word); len(r) > longest {
		word = string(r[:longest])
	}
	near := slices.Clone(known)
	slices.SortStableFunc(near, func(a, b string) int { return cmp.Compare(distance(word, a), distance(word, b)) })
	return near[:min(most, len(near))]
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
