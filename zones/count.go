package zones

import "slices"

// Count counts how often a line is crossed by the objects of frames, in order: of a film's
// true boxes, say, and of the masks that were found, to compare. An object that a frame lacks
// is hidden in it. The error is a fault of the line.
func Count(l Line, frames []Frame) (LineCount, error) {
	w, err := New(Layout{Lines: []Line{l}})
	if err != nil {
		return LineCount{}, err
	}
	var known []uint32
	for _, f := range frames {
		f.Objects = slices.Clone(f.Objects)
		for _, id := range known {
			if !slices.ContainsFunc(f.Objects, func(o Object) bool { return o.ID == id }) {
				f.Objects = append(f.Objects, Object{ID: id})
			}
		}
		for _, o := range f.Objects {
			if !slices.Contains(known, o.ID) {
				known = append(known, o.ID)
			}
		}
		w.Observe(f)
	}
	return w.counts.Lines[0], nil
}
