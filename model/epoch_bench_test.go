package model

import "testing"

// BenchmarkEpoch takes one joint step after the other (θ, Z and q move) with
// batches of 1,024 of 32,000 rows and 8 features. "s/epoch" is the time of as
// many rows as there are.
func BenchmarkEpoch(b *testing.B) {
	n, m := 32_000, 500
	if testing.Short() {
		n, m = 2000, 100
	}
	const batch = 1024
	rows := testRows(n, 8, 9)
	c := testConfig(b, rows, true)
	c.Inducing, c.Workers, c.coarseLeast = m, 2, m+1 // no coarse steps
	c.Plan = Plan{Joint: 1 << 20, Batch: batch, Settle: 1, EstimateRows: 300}
	tr := benchTrainer(b, c, rows)
	steps := 0
	b.ReportAllocs()
	for b.Loop() {
		if tr.Progress().Phase != Joint {
			b.StopTimer()
			tr = benchTrainer(b, c, rows)
			b.StartTimer()
		}
		from := steps * batch % (n - batch)
		step(b, tr, rows.Slice(from, from+batch))
		steps++
	}
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)*float64(n)/batch, "s/epoch")
}

func benchTrainer(b *testing.B, c Config, rows Rows) *Trainer {
	tr, err := NewTrainer(c, rows.Slice(0, 4*c.Inducing))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(tr.Close)
	return tr
}

func step(b *testing.B, tr *Trainer, rows Rows) {
	if err := tr.Begin(); err != nil {
		b.Fatal(err)
	}
	if err := tr.Add(rows.X, rows.Y); err != nil {
		b.Fatal(err)
	}
	if err := tr.End(); err != nil {
		b.Fatal(err)
	}
}
