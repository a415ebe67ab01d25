package arrowipc

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
)

// Describe returns what a schema in the footer of a Parquet file, in base64, says of its columns, each before its
// children. Parquet itself has no durations: they are integers without a unit.
func Describe(schema []byte) (all []Described, err error) {
	defer func() { // libraries panic on some damaged messages
		if p := recover(); p != nil {
			all, err = nil, fmt.Errorf("it is no schema: %v", p)
		}
	}()
	b, err := base64.StdEncoding.DecodeString(string(schema))
	if err != nil {
		return nil, err
	}
	if binary.LittleEndian.Uint32(b) == 0xFFFFFFFF { // older writers leave this out
		b = b[4:]
	}
	m := rootOf(b[4:][:binary.LittleEndian.Uint32(b)])
	if root, ok := below(m, 2); ok && m.GetUint8Slot(slot(1), 0) == headerSchema && readable(m) {
		if all, ok = columns(root); ok {
			return all, nil
		}
	}
	return nil, errLength
}
