package arrowipc

import "reflect"

// A described is a schema that was checked.
type described struct {
	version      int64
	fields       []node
	dictionaries map[int64]node // fields with a dictionary, by its identifier
}

// describe checks what the library does not: numbers of types, children, pairs of texts. Other
// readers refuse various parts of it.
func describe(schema node, version int64) (described, bool) {
	d := described{version, schema.at(1).list, map[int64]node{}}
	good := (version == 3 || version == 4) && schema.at(0).number == 0 && schema.at(1).set && pairs(schema.at(2))
	for _, field := range d.fields {
		good = good && d.field(field)
	}
	return d, good
}

// pairs reports whether texts come in pairs.
func pairs(all node) bool {
	for _, pair := range all.list {
		if !pair.at(0).set || !pair.at(1).set {
			return false
		}
	}
	return true
}

// field checks a field and its children.
func (d described) field(field node) bool {
	kind, of, children := field.at(2).number, field.at(3), field.at(5)
	want := formOf(kind)
	if !field.at(0).set || !of.set || !children.set || !pairs(field.at(6)) || want.children >= 0 && want.children != len(children.list) || !d.numbers(kind, of, children.list) {
		return false
	}
	if dictionary := field.at(4); dictionary.set {
		index, id := dictionary.at(1), dictionary.at(0).number
		same, known := d.dictionaries[id]
		if dictionary.at(3).number != 0 || index.set && !index.at(0).in(8, 16, 32, 64) || known && !reflect.DeepEqual(same.list[2:4], field.list[2:4]) || known && !reflect.DeepEqual(same.at(5), children) {
			return false
		}
		d.dictionaries[id] = field
	}
	for _, child := range children.list {
		if !d.field(child) {
			return false
		}
	}
	return true
}

// numbers reports whether the parameters of a type are valid.
func (d described) numbers(kind int64, of node, children []node) bool {
	first := of.at(0)
	switch kind {
	case typeInt:
		return first.in(8, 16, 32, 64)
	case typeDecimal:
		most := int64(38)
		if of.at(2).number == 256 {
			most = 76
		}
		scale := of.at(1).number
		return of.at(2).in(0, 128, 256) && 1 <= first.number && first.number <= most && -76 <= scale && scale <= 76
	case typeTime:
		unit, bits := first.number, of.at(1).number
		if !first.set {
			unit = 1
		}
		return (bits == 0 || bits == 32) && (unit == 0 || unit == 1) || bits == 64 && (unit == 2 || unit == 3)
	case typeFloat, typeInterval:
		return first.in(0, 1, 2)
	case typeDate:
		return first.in(0, 1)
	case 10, typeDuration:
		return first.in(0, 1, 2, 3)
	case 15, 16:
		return first.number >= 0
	case typeUnion:
		return d.version == 4 && first.in(0, 1) && codes(of.at(1), len(children))
	case typeMap:
		pair := children[0]
		return pair.at(2).number == typeStruct && pair.at(1).number == 0 && len(pair.at(5).list) == 2 && pair.at(5).at(0).at(1).number == 0
	case typeRuns:
		ends := children[0]
		return ends.at(2).number == typeInt && ends.at(3).at(0).in(16, 32, 64) && ends.at(3).at(1).number == 1 && ends.at(1).number == 0
	default:
		return true
	}
}

// codes reports whether each child of a union has a code of its own.
func codes(stated node, children int) bool {
	seen := map[int64]bool{}
	for _, code := range stated.list {
		if code.number < 0 || code.number > 127 {
			return false
		}
		seen[code.number] = true
	}
	return !stated.set && children <= 128 || len(stated.list) == children && len(seen) == children
}

// parts counts the nodes and buffers of a column, and its entries in the list of variadic buffer
// counts. values says that the column is a dictionary.
func parts(field node, values bool) (nodes, buffers, more int64) {
	if field.at(4).set && !values {
		return 1, 2, 0
	}
	kind := field.at(2).number
	nodes, buffers = 1, int64(formOf(kind).buffers)
	if kind == typeUnion {
		buffers += field.at(3).at(0).number
	}
	if kind == 23 || kind == 24 { // views of texts and bytes
		more = 1
	}
	for _, child := range field.at(5).list {
		n, b, m := parts(child, false)
		nodes, buffers, more = nodes+n, buffers+b, more+m
	}
	return nodes, buffers, more
}

// batch reports whether the description of a record batch fits its columns and the bytes of its body.
// values says that the batch is a dictionary.
func (d described) batch(batch node, fields []node, body int64, values bool) bool {
	rows, nodes, buffers, packed := batch.at(0).number, batch.at(1), batch.at(2), batch.at(3)
	if rows < 0 || !nodes.set || !buffers.set || packed.set && (!packed.at(0).in(0, 1) || packed.at(1).number != 0) {
		return false
	}
	at, least, views := int64(0), int64(0), int64(0)
	for _, field := range fields {
		n, b, m := parts(field, values)
		if at >= int64(len(nodes.list)) || nodes.list[at].at(0).number != rows {
			return false
		}
		at, least, views = at+n, least+b, views+m
	}
	for _, n := range batch.at(4).list {
		if n.number < 0 || n.number > int64(len(buffers.list)) {
			return false
		}
		least += n.number
	}
	if at != int64(len(nodes.list)) || least != int64(len(buffers.list)) || views != int64(len(batch.at(4).list)) {
		return false
	}
	for _, n := range nodes.list {
		if length, nulls := n.at(0).number, n.at(1).number; nulls < 0 || nulls > length {
			return false
		}
	}
	for _, b := range buffers.list {
		if offset, size := b.at(0).number, b.at(1).number; offset < 0 || offset%8 != 0 || size < 0 || offset > body || size > body-offset {
			return false
		}
	}
	return true
}
