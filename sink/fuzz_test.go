package sink_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/allocated"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/model"
	"github.com/pacsgp/pacsgp/sink"
)

var protocol thrift.CompactProtocol

// footerOf is the footer of a file, and where it begins.
func footerOf(t testing.TB, file []byte) (meta format.FileMetaData, start int) {
	t.Helper()
	start = len(file) - 8 - int(binary.LittleEndian.Uint32(file[len(file)-8:]))
	fatal.If(t, thrift.Unmarshal(&protocol, file[start:len(file)-8], &meta))
	return meta, start
}

// forgedFooter is a file with another footer, sealed again, as anybody can make.
func forgedFooter(t testing.TB, file []byte, change func(*format.FileMetaData)) []byte {
	t.Helper()
	meta, start := footerOf(t, file)
	change(&meta)
	footer, err := thrift.Marshal(&protocol, &meta)
	fatal.If(t, err)
	out := append(bytes.Clone(file[:start]), footer...)
	return resealed(append(binary.LittleEndian.AppendUint32(out, uint32(len(footer))), "PAR1"...))
}

// forgedPage is a file whose first page claims other numbers, sealed again. The
// page is moved to the end of the data, for its header may have another length.
func forgedPage(t testing.TB, file []byte, change func(*format.PageHeader)) []byte {
	t.Helper()
	meta, start := footerOf(t, file)
	var header format.PageHeader
	chunk := meta.RowGroups[0].Columns[0].MetaData
	pages := file[chunk.DataPageOffset : chunk.DataPageOffset+chunk.TotalCompressedSize]
	fatal.If(t, thrift.NewDecoder(protocol.NewReader(bytes.NewReader(pages))).Decode(&header))
	body := pages[len(pages)-int(header.CompressedPageSize):]
	change(&header)
	head, err := thrift.Marshal(&protocol, &header)
	fatal.If(t, err)
	moved := append(append(bytes.Clone(file[:start]), head...), body...)
	return forgedFooter(t, append(moved, file[start:]...), func(meta *format.FileMetaData) {
		m := &meta.RowGroups[0].Columns[0].MetaData
		m.DataPageOffset, m.TotalCompressedSize, m.TotalUncompressedSize = int64(start), int64(len(head)+len(body)), int64(len(head)+len(body))
		m.NumValues = int64(header.DataPageHeader.V.NumValues)
	})
}

// Sizes that a forged file claims are not allocated, wherever they stand.
func TestForgedSizesAreNotAllocated(t *testing.T) {
	_, row := encodedRow(t, nil)
	for name, file := range map[string][]byte{"model": encode(t, testModel(20, 3, true)), "row": row} {
		for claim, forged := range map[string][]byte{
			"rows": forgedFooter(t, file, func(m *format.FileMetaData) {
				m.NumRows, m.RowGroups[0].NumRows = 1<<40, 1<<40
				for i := range m.RowGroups[0].Columns {
					m.RowGroups[0].Columns[i].MetaData.NumValues = 1 << 40
				}
			}),
			"sizes of chunks": forgedFooter(t, file, func(m *format.FileMetaData) {
				for i := range m.RowGroups[0].Columns {
					m.RowGroups[0].Columns[i].MetaData.TotalCompressedSize = 1 << 40
				}
			}),
			"positions of chunks": forgedFooter(t, file, func(m *format.FileMetaData) {
				m.RowGroups[0].Columns[0].MetaData.DataPageOffset = math.MaxInt64 - 3
			}),
			"values of a page":      forgedPage(t, file, func(h *format.PageHeader) { h.DataPageHeader.V.NumValues = math.MaxInt32 }),
			"size of a page":        forgedPage(t, file, func(h *format.PageHeader) { h.UncompressedPageSize = math.MaxInt32 }),
			"stored size of a page": forgedPage(t, file, func(h *format.PageHeader) { h.CompressedPageSize = math.MaxInt32 }),
			"dictionary page":       forgedPage(t, file, func(h *format.PageHeader) { h.Type = format.DictionaryPage }),
			"schema": forgedFooter(t, file, func(m *format.FileMetaData) {
				m.Schema[0].NumChildren.V = math.MaxInt32
				m.Schema = append(m.Schema, m.Schema[1:]...)
			}),
			"row groups that share bytes": forgedFooter(t, file, func(m *format.FileMetaData) {
				for range 20_000 { // each a walk over the same pages
					m.RowGroups = append(m.RowGroups, m.RowGroups[0])
				}
				m.NumRows *= int64(len(m.RowGroups))
			}),
			"codec": forgedFooter(t, file, func(m *format.FileMetaData) { m.RowGroups[0].Columns[0].MetaData.Codec = format.Zstd }),
		} {
			var err error
			used := allocated.By(func() {
				if name == "model" {
					_, err = sink.DecodeModel(forged)
				} else {
					_, err = sink.DecodeCertificateRow(forged)
				}
			})
			if err == nil {
				t.Errorf("%s with forged %s is read", name, claim)
			}
			if used > max(1<<20, 16*uint64(len(forged))) {
				t.Errorf("%s with forged %s: %d KiB were allocated for %d: %v", name, claim, used>>10, len(forged)>>10, err)
			}
		}
	}
}

// Any bytes are an error or a model that can be written, read back and predicted
// with, in memory that is in proportion to them. The seal is made again, as a
// forger does.
func FuzzDecodeModel(f *testing.F) {
	for _, m := range []struct {
		m, d int
		ard  bool
	}{{1, 1, false}, {3, 2, true}, {9, 1, false}} {
		file := encode(f, testModel(m.m, m.d, m.ard))
		f.Add(file)
		f.Add(forgedFooter(f, file, func(m *format.FileMetaData) { m.RowGroups = append(m.RowGroups, m.RowGroups[0]) }))
		f.Add(forgedFooter(f, file, func(m *format.FileMetaData) { m.RowGroups[0].Columns[0].MetaData.NumValues = 1 << 40 }))
		f.Add(forgedPage(f, file, func(h *format.PageHeader) { h.UncompressedPageSize = math.MaxInt32 }))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if largeGrid.Match(data) {
			return
		}
		data = resealed(data)
		m, err := sink.DecodeModel(data)
		if used := allocated.By(func() { _, _ = sink.DecodeModel(data) }); used > 64*uint64(len(data))+1<<20 {
			t.Errorf("%d KiB were allocated for %d bytes: %v", used>>10, len(data), err)
		}
		if err != nil {
			return
		}
		again, err := sink.EncodeModel(m)
		if err != nil {
			t.Fatalf("a model that was read cannot be written: %v", err)
		}
		if back, err := sink.DecodeModel(again); err != nil || !cmp.Equal(m, back) {
			t.Fatalf("a model that was read, written and read is another one: %v", err)
		}
		p, err := model.NewPredictor(m.Posterior, 1)
		if err != nil {
			return // the numbers overflow, which it says
		}
		defer p.Close()
		mean, variance := make([]float64, 2), make([]float64, 2)
		x := make([]float64, 2*m.Posterior.Dim())
		x[0] = 1e300
		_ = p.Predict(x, mean, variance) // an error or not: it must return
	})
}

// largeGrid finds a grid of many values: to check their weights takes a time that is in proportion to
// their number.
var largeGrid = regexp.MustCompile(`"count":[0-9]{5}`)

// Any bytes are an error or the row of a certificate, in memory that is in
// proportion to them.
func FuzzCertificateRow(f *testing.F) {
	_, row := encodedRow(f, nil)
	f.Add(row)
	f.Add(forgedFooter(f, row, func(m *format.FileMetaData) { m.RowGroups = append(m.RowGroups, m.RowGroups[0]) }))
	f.Add(forgedPage(f, row, func(h *format.PageHeader) { h.DataPageHeader.V.NumValues = math.MaxInt32 }))
	f.Fuzz(func(t *testing.T, data []byte) {
		data = resealed(data)
		c, err := sink.DecodeCertificateRow(data)
		if used := allocated.By(func() { _, _ = sink.DecodeCertificateRow(data) }); used > 256*uint64(len(data))+1<<20 {
			t.Errorf("%d KiB were allocated for %d bytes: %v", used>>10, len(data), err)
		}
		if err != nil {
			return
		}
		again, err := sink.CertificateRow(c)
		if err != nil {
			t.Fatalf("a row that was read cannot be written: %v", err)
		}
		back, err := sink.DecodeCertificateRow(again)
		fatal.If(t, err)
		one, errOne := certify.Marshal(c)
		two, errTwo := certify.Marshal(back)
		if errOne != nil || errTwo != nil || !bytes.Equal(one, two) {
			t.Errorf("a row that was read, written and read is of another certificate: %v, %v", errOne, errTwo)
		}
	})
}
