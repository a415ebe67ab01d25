package broker

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/segmentio/kafka-go/compress"

	"github.com/pacsgp/pacsgp/internal/allocated"
	"github.com/pacsgp/pacsgp/internal/fatal"
)

// packedBatch is a batch of these records under a compression.
func packedBatch(t testing.TB, with compress.Compression, records []Record) []byte {
	t.Helper()
	plain := EncodeBatch(Producer{ID: -1, Epoch: -1}, -1, records)
	if with == compress.None {
		return plain
	}
	var packed bytes.Buffer
	w := with.Codec().NewWriter(&packed)
	_, err := w.Write(plain[headerBytes:])
	fatal.If(t, errors.Join(err, w.Close()))
	return withBody(plain, with, packed.Bytes())
}

// withBody is a batch with other bytes behind its head, sealed.
func withBody(batch []byte, with compress.Compression, body []byte) []byte {
	out := append(slices.Clone(batch[:headerBytes]), body...)
	out[22] = out[22]&^7 | byte(with)
	binary.BigEndian.PutUint32(out[8:], uint32(len(out)-12))
	return seal(out)
}

// seal makes the checksum right, so that it is not what refuses a damaged batch.
func seal(batch []byte) []byte {
	binary.BigEndian.PutUint32(batch[17:], crc32.Checksum(batch[21:], castagnoli))
	return batch
}

// readAll reads the records of the first batch.
func readAll(data []byte) (all []Record, err error) {
	var buf []byte
	b, _, err := NextBatch(data, &buf)
	var r Record
	for err == nil {
		if err = b.Next(&r); err == nil {
			all = append(all, Record{Offset: r.Offset, Time: r.Time, Key: slices.Clone(r.Key), Value: slices.Clone(r.Value)})
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return all, err
}

var compressions = []compress.Compression{compress.None, compress.Gzip, compress.Snappy, compress.Lz4, compress.Zstd}

func someRecords() (records []Record) {
	for i := range 50 {
		records = append(records, Record{Time: int64(i), Key: fmt.Append(nil, i), Value: []byte(strings.Repeat("value", i)), Headers: []Header{{Key: "h", Value: []byte("v")}}})
	}
	return records
}

// TestBatches: what was encoded is read again, under each compression.
func TestBatches(t *testing.T) {
	for _, with := range compressions {
		got, err := readAll(packedBatch(t, with, someRecords()))
		if err != nil || len(got) != 50 {
			t.Fatalf("%v: %d records, %v", with, len(got), err)
		}
		for i, want := range someRecords() {
			if g := got[i]; g.Time != want.Time || string(g.Key) != string(want.Key) || string(g.Value) != string(want.Value) || g.Offset != int64(i) {
				t.Errorf("%v: record %d: %+v", with, i, g)
			}
		}
	}
}

// TestDamagedBatches: 2,000 damaged batches with a right checksum are errors or other records,
// within bounded memory.
func TestDamagedBatches(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	refused := 0
	took := allocated.By(func() {
		for i := range 2000 {
			b := packedBatch(t, compressions[i%5], someRecords())
			body := b[headerBytes:]
			switch i / 5 % 4 {
			case 0:
				b = withBody(b, compressions[i%5], body[:rng.IntN(len(body))])
			case 1:
				body[rng.IntN(len(body))] ^= 1 << rng.IntN(8)
			case 2: // a huge length somewhere
				copy(body[rng.IntN(len(body)-8):], []byte{0xFF, 0xFF, 0xFF, 0xFF, 0x7F, 0xFF, 0xFF, 0xFF}[:1+rng.IntN(8)])
			default: // in the head
				b[23+rng.IntN(headerBytes-23)] ^= 1 << rng.IntN(8)
			}
			if _, err := readAll(seal(b)); err != nil {
				refused++
			}
		}
	}) / 2000
	if refused < 1000 {
		t.Errorf("%d of 2,000 are refused", refused)
	}
	if took > 8<<20 {
		t.Errorf("%d MiB a batch", took>>20)
	}
}

// TestClaims: a few bytes that claim a gigabyte, and what unpacks to more than the limit, are
// refused.
func TestClaims(t *testing.T) {
	plain := EncodeBatch(Producer{ID: -1, Epoch: -1}, -1, someRecords())
	gigabyte := binary.AppendUvarint(nil, 1<<30)
	frames := append([]byte(snappyFrames), 0, 0, 0, 1, 0, 0, 0, 1)
	bomb := func(with compress.Compression) []byte {
		var packed bytes.Buffer
		w := with.Codec().NewWriter(&packed)
		zeros := make([]byte, 1<<20)
		for range maxUnpacked>>20 + 1 {
			_, err := w.Write(zeros)
			fatal.If(t, err)
		}
		fatal.If(t, w.Close())
		return withBody(plain, with, packed.Bytes())
	}
	var window bytes.Buffer
	w, err := zstd.NewWriter(&window, zstd.WithWindowSize(zstd.MaxWindowSize), zstd.WithSingleSegment(false))
	fatal.If(t, err)
	for range 300 { // more than one block, so that the window is declared
		_, err := w.Write(make([]byte, 1<<20))
		fatal.If(t, err)
	}
	fatal.If(t, w.Close())
	for name, c := range map[string]struct {
		batch []byte
		most  uint64
	}{
		"snappy, one block":       {withBody(plain, compress.Snappy, append(gigabyte, 1, 2, 3, 4)), 1 << 20},
		"snappy, a block of 100M": {withBody(plain, compress.Snappy, append(binary.AppendUvarint(nil, 100<<20), 1, 2, 3, 4)), 1 << 20},
		"snappy, a long frame":    {withBody(plain, compress.Snappy, append(slices.Clone(frames), 0x40, 0, 0, 0, 1, 2)), 1 << 20},
		"snappy, a long block":    {withBody(plain, compress.Snappy, append(append(slices.Clone(frames), 0, 0, 0, 9), append(gigabyte, 1, 2, 3, 4)...)), 1 << 20},
		"zstd, 300 MiB":           {withBody(plain, compress.Zstd, window.Bytes()), 3 * maxUnpacked},
		// A buffer that grows asks for five times what it holds, under the race detector for eight.
		"gzip, 257 MiB": {bomb(compress.Gzip), 9 * maxUnpacked},
		"lz4, 257 MiB":  {bomb(compress.Lz4), 9 * maxUnpacked},
	} {
		var err error
		took := allocated.By(func() { _, err = readAll(c.batch) })
		if err == nil || !strings.Contains(err.Error(), "unpack") {
			t.Errorf("%s: %v, want that it is not unpacked", name, err)
		}
		if took > c.most {
			t.Errorf("%s: %d MiB were asked for, want at most %d", name, took>>20, c.most>>20)
		}
	}
}

// FuzzBatch: no bytes behind a right checksum panic.
func FuzzBatch(f *testing.F) {
	for _, with := range compressions {
		f.Add(packedBatch(f, with, someRecords()))
	}
	f.Fuzz(func(_ *testing.T, data []byte) {
		if len(data) >= headerBytes {
			data = slices.Clone(data)
			binary.BigEndian.PutUint32(data[8:], uint32(len(data)-12))
			data[16] = 2
			seal(data)
		}
		_, _ = readAll(data) // any outcome but a panic
	})
}
