package kafkalog

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/twmb/avro"

	"github.com/pacsgp/pacsgp/internal/fatal"
)

const (
	benchColumns = 10
	benchRows    = 1000
)

// tenNumbers are names and values of rows of ten numbers.
func tenNumbers() (names []string, rows [][]float64) {
	rng := rand.New(rand.NewPCG(1, 2))
	for j := range benchColumns {
		names = append(names, fmt.Sprintf("column%d", j))
	}
	for range benchRows {
		row := make([]float64, benchColumns)
		for j := range row {
			if row[j] = rng.NormFloat64(); j%2 == 0 {
				row[j] = float64(int64(row[j]*1e4)) / 100 // as sensors write them
			}
		}
		rows = append(rows, row)
	}
	return names, rows
}

// BenchmarkDecode decodes a thousand rows of ten numbers, full and short ones.
func BenchmarkDecode(b *testing.B) {
	names, rows := jsonMessages()
	schema, values := avroMessages(b)
	for format, messages := range map[string][][]byte{FormatJSON: rows, FormatAvro: values} {
		b.Run(format, func(b *testing.B) {
			cfg := Config{Format: format, Columns: names}
			if format == FormatAvro {
				cfg.Schema = schema
			}
			d, err := cfg.decoder(b.Context(), nil)
			fatal.If(b, err)
			columns := make([][]float64, benchColumns)
			b.ReportAllocs()
			for b.Loop() {
				for j := range columns {
					columns[j] = columns[j][:0]
				}
				for _, m := range messages {
					fatal.If(b, d.read(m, columns))
				}
			}
			b.ReportMetric(float64(b.N)*benchRows/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

func jsonMessages() (names []string, messages [][]byte) {
	names, rows := tenNumbers()
	for _, row := range rows {
		m := []byte{'{'}
		for j, v := range row {
			m = fmt.Appendf(m, `"%s":%v,`, names[j], v)
		}
		m[len(m)-1] = '}'
		messages = append(messages, m)
	}
	return names, messages
}

// avroMessages are one record a row, of the schema.
func avroMessages(b *testing.B) (schema string, messages [][]byte) {
	b.Helper()
	names, rows := tenNumbers()
	var fields []string
	for _, name := range names {
		fields = append(fields, fmt.Sprintf(`{"name":%q,"type":"double"}`, name))
	}
	schema = `{"type":"record","name":"Row","fields":[` + strings.Join(fields, ",") + `]}`
	for _, row := range rows {
		value := map[string]any{}
		for j, v := range row {
			value[names[j]] = v
		}
		m, err := avro.MustParse(schema).Encode(value)
		fatal.If(b, err)
		messages = append(messages, m)
	}
	return schema, messages
}
