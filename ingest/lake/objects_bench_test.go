package lake_test

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/internal/objects/objectstest"
)

// BenchmarkStore reads a file of a real store on this machine into float64 batches, every value
// checked, by one reader:
//
//	MB/s        ours
//	disk-MB/s   ours, from a disk
//
// and, with PACSGP_BENCH_PEER, an interpreter and bench/peers/store.py, pyarrow from the same server.
func BenchmarkStore(b *testing.B) {
	g := objectstest.NewGateway(b)
	for _, c := range benchCases[:2] {
		b.Run(c.name, func(b *testing.B) {
			path := benchFile(b, c)
			data, err := os.ReadFile(path)
			fatal.If(b, err)
			g.Put(b, c.name+".parquet", data)
			objectstest.Environment(b, g.URL())
			address := "s3://" + objectstest.Bucket + "/" + c.name + ".parquet"
			disk, store := openBench(b, path, false), openBench(b, address, false)
			turns(b, store, &contender{metric: "disk-MB/s", read: func() { readShards(b, disk) }}, &contender{metric: "MB/s", read: func() { readShards(b, store) }})
			peer := os.Getenv("PACSGP_BENCH_PEER")
			if peer == "" {
				return
			}
			words := append(strings.Fields(peer), "1.5", strings.TrimPrefix(address, "s3://"))
			out, err := exec.CommandContext(b.Context(), words[0], words[1:]...).Output()
			fatal.If(b, err)
			lines := json.NewDecoder(strings.NewReader(string(out)))
			for {
				var answer struct {
					Way  string  `json:"way"`
					Rate float64 `json:"mb_per_s"`
				}
				err := lines.Decode(&answer)
				if errors.Is(err, io.EOF) {
					break
				}
				fatal.If(b, err)
				b.ReportMetric(answer.Rate, answer.Way)
			}
		})
	}
}
