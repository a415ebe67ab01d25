package arrowipc

import (
	"encoding/base64"
	"encoding/binary"

	flatbuffers "github.com/google/flatbuffers/go"
)

// Durations returns the columns of durations in a schema that writers of Parquet files have put into the footer, in
// base64. A column in groups has its path with dots. Parquet itself has no durations: they are integers without a unit.
// Without a schema that can be read, Durations returns nothing.
func Durations(schema []byte) (names []string) {
	left := 3 * len(schema) // bytes of all paths together
	defer func() {          // libraries panic on some damaged messages
		if recover() != nil || left < 0 {
			names = nil
		}
	}()
	b, err := base64.StdEncoding.DecodeString(string(schema))
	if err != nil || len(b) < 8 {
		return nil
	}
	prefix := 8
	if binary.LittleEndian.Uint32(b) != 0xFFFFFFFF {
		prefix = 4
	}
	m := rootOf(b[prefix:])
	root, ok := below(m, 2)
	if !ok || m.GetUint8Slot(slot(1), 0) != headerSchema || !columns(root) {
		return nil
	}
	return durations(root, 1, "", nil, &left)
}

// durations appends the durations among the columns of a schema, or the children of a column. It stops, with left
// negative, if the paths have more than left bytes: columns may share a name, so that a few bytes can describe many.
func durations(t flatbuffers.Table, field int, path string, names []string, left *int) []string {
	at, n, _ := vector(t, field, 4)
	for i := range n {
		child := flatbuffers.Table{Bytes: t.Bytes, Pos: t.Indirect(at + flatbuffers.UOffsetT(4*i))}
		name := path
		if to := flatbuffers.UOffsetT(child.Offset(slot(0))); to != 0 {
			own := child.ByteVector(to + child.Pos)
			*left -= len(path) + len(own)
			name += string(own)
		}
		if *left < 0 {
			return nil
		}
		if child.GetUint8Slot(slot(2), 0) == typeDuration {
			names = append(names, name)
		}
		names = durations(child, 5, name+".", names, left)
	}
	return names
}
