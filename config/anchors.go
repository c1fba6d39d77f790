package config

import (
	"github.com/goccy/go-yaml/ast"
)

const (
	// maxValues bounds what aliases make of a file: a list of aliases of lists is many times as long as its text.
	maxValues = 50_000
	// maxHops bounds aliases of aliases, and merges in merges.
	maxHops = 16
	// extension begins top-level keys that hold anchors, and are no settings.
	extension = "x-"
)

// anchored notes the anchors of a document.
func (d *decoder) anchored(body ast.Node) {
	d.anchors = map[string]*ast.AnchorNode{}
	for _, n := range ast.Filter(ast.AnchorType, body) {
		a := n.(*ast.AnchorNode)
		name := a.Name.GetToken().Value
		if d.anchors[name] != nil {
			d.fault(d.at(a), "", "a second anchor &%s; one is accepted", clip(name))
			continue
		}
		d.anchors[name] = a
	}
}

// resolve returns what an anchor or an alias stands for: YAML 1.2.2, section 7.1.
func (d *decoder) resolve(path string, n ast.Node) (ast.Node, bool) {
	at := d.at(n)
	for range maxHops {
		switch node := n.(type) {
		case *ast.AnchorNode:
			n = node.Value
		case *ast.AliasNode:
			name := node.Value.GetToken().Value
			a := d.anchors[name]
			if a == nil || offset(a) > offset(node) {
				d.fault(at, path, "alias *%s; accepted: the name of an anchor above it, such as &%s", clip(name), clip(name))
				return nil, false
			}
			n = a.Value
		default:
			return n, d.afford(at, path)
		}
	}
	d.fault(at, path, "aliases of aliases, %d deep; accepted: fewer", maxHops)
	return nil, false
}

func offset(n ast.Node) int { return n.GetToken().Position.Offset }

// afford counts a value, and is false once there are too many.
func (d *decoder) afford(at place, path string) bool {
	d.values++
	if d.values == maxValues {
		d.fault(at, path, "more than %d values, with what aliases stand for", maxValues)
		d.readable = false // it is not all there
	}
	return d.values < maxValues
}

// pairs are those of a mapping and after them those that "<<" merges into it (YAML's type repository, merge): a key counts
// where it is first. ok is false if n is no mapping.
func (d *decoder) pairs(path string, n ast.Node, hops int) (pairs []*ast.MappingValueNode, ok bool) {
	n, ok = d.resolve(path, n)
	if !ok {
		return nil, true // which is said
	}
	switch n := n.(type) {
	case *ast.MappingNode:
		pairs = n.Values
	case *ast.MappingValueNode:
		pairs = []*ast.MappingValueNode{n}
	default:
		return nil, false
	}
	var own, merged []*ast.MappingValueNode
	for _, pair := range pairs {
		if _, merges := pair.Key.(*ast.MergeKeyNode); !merges {
			own = append(own, pair)
			continue
		}
		if hops == maxHops {
			d.fault(d.at(pair), path, "merges in merges, %d deep; accepted: fewer", maxHops)
			d.values = maxValues // and so would many others be
			break
		}
		from := []ast.Node{pair.Value}
		if list, ok := pair.Value.(*ast.SequenceNode); ok {
			from = list.Values
		}
		for _, m := range from {
			more, ok := d.pairs(path, m, hops+1)
			if !ok {
				d.fault(d.at(m), path, "<<: %s; accepted: an alias of a mapping, or a list of such", describe(m))
			}
			merged = append(merged, more...)
		}
	}
	return append(own, merged...), true
}
