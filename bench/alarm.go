package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	parquetgo "github.com/parquet-go/parquet-go"

	"github.com/pacsgp/pacsgp/bench/measured"
	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/ingest"
	ingestlake "github.com/pacsgp/pacsgp/ingest/lake"
	"github.com/pacsgp/pacsgp/model"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/watch"
)

// A flight is a row of hflights.
type flight struct {
	Month      int32
	DayofMonth int32
	DepTime    *int64
	DepDelay   *int64
	Distance   int32
	TaxiOut    *int64
	ArrDelay   *int64
	Origin     string
}

const (
	home        = "HOU" // the model is of flights from there
	july        = 7     // they are watched from then on
	alarmStarts = 62    // watches, each of which begins a day later
	alarmBefore = 30    // days of a watch before the change
	alarmDelta  = watch.DefaultDelta
)

// A watchedDay has the losses of the labelled flights of a day, in the order of their departures.
type watchedDay struct {
	date               string
	home, other, stale []uint64 // from home; from the other airport; from home, with a delay of 0 at departure
}

// alarm watches real flights with real and made changes, by rows and by days.
func alarm(ctx context.Context, b *bench) (string, error) {
	c, days, err := b.watchedDays(ctx)
	if err != nil {
		return "", err
	}
	bound, before := watch.BoundOf(c, nil), riskOf(days, func(d watchedDay) []uint64 { return d.home })
	if !(bound < 1) {
		return "", fmt.Errorf("nothing is certified: the bound is %g", bound)
	}
	t := newTable("change", "risk after it", "by rows: before the change", "days", "rows", "by days: before the change", "days", "rows")
	for _, change := range changes(before) {
		row := []string{change.name, fmt.Sprintf("%.1f %%", 100*riskOf(days, change.of))}
		for _, unit := range []bool{false, true} {
			cells, err := delays(days, bound, unit, change.of)
			if err != nil {
				return "", err
			}
			row = append(row, cells...)
		}
		t.row(row...)
	}
	picture := filepath.Join(b.docs, "watch-alarm.png")
	f, err := alarmFigure(days, bound, changes(before)[0])
	if err == nil {
		err = save(f.plot(), picture)
	}
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("A model of flights from %s of January to June 2011 (hflights, ArrDelay by DepTime, DepDelay, Distance and TaxiOut, ε = 15 minutes, δ = 0.01), with a bound of %s by rows, watched from July on at `alarm: %g`, by rows and with `unit: {column: [Month, DayofMonth]}`. "+
		"Its risk there is %.1f %%. %d watches begin a day after each other; the change comes after %d days and stays. "+
		"Shown are the watches with an alarm before the change, and for the others the days from the change to the alarm, and the rows of them: the median, and of nine in ten watches the most.\n\n%s\n%s\n",
		home, certify.PercentUp(bound), alarmDelta, 100*before, alarmStarts, alarmBefore, t.String(), measured.Machine(model.InstructionSet())), nil
}

// A change is what the rows of a day are from some day on.
type change struct {
	name string
	of   func(watchedDay) []uint64
}

// changes are real and made ones. risk is that before them.
func changes(risk float64) []change {
	all := []change{
		{"flights from the other airport, IAH, come too", func(d watchedDay) []uint64 { return slices.Concat(d.home, d.other) }},
		{"DepDelay is 0 in all rows: its feed has failed", func(d watchedDay) []uint64 { return d.stale }},
	}
	for _, times := range []float64{1.5, 2, 4} {
		all = append(all, change{fmt.Sprintf("made: risk × %g", times), func(d watchedDay) []uint64 {
			rng := rand.New(rand.NewPCG(18, uint64(len(d.home)))) //nolint:gosec // the same losses each time
			losses := slices.Clone(d.home)
			for i := range losses {
				if rng.Float64() < (times-1)*risk/(1-risk) {
					losses[i] = certify.UnitsPerLoss
				}
			}
			return losses
		}})
	}
	return append(all, change{"none", func(d watchedDay) []uint64 { return d.home }})
}

// riskOf is the share of misses on all days.
func riskOf(days []watchedDay, of func(watchedDay) []uint64) float64 {
	var sum certify.RiskSum
	for _, d := range days {
		for _, loss := range of(d) {
			_ = sum.AddUnits(loss) // at most 1
		}
	}
	return sum.Upper()
}

// A raised alarm says on which day it was, from 0, and behind how many rows; day −1: it was not raised.
type raised struct{ day, rows int }

// watchDays gives the losses of days to an alarm until it is raised. See gets its worth after each day.
func watchDays(days [][]uint64, bound float64, unit bool, see func(worth float64)) (raised, error) {
	a, err := certify.NewAlarm(bound, alarmDelta)
	rows := 0
	for i, losses := range days {
		add := losses
		if unit {
			var sum certify.RiskSum
			for _, loss := range losses {
				err = cmp.Or(err, sum.AddUnits(loss))
			}
			down, _ := sum.MeanUnits()
			add = []uint64{down}
		}
		if err = cmp.Or(err, a.Add(add)); err != nil {
			return raised{}, err
		}
		see(a.Worth)
		switch {
		case a.Raised > 0 && unit:
			return raised{i, rows + len(losses)}, nil
		case a.Raised > 0:
			return raised{i, int(a.Raised)}, nil
		}
		rows += len(losses)
	}
	return raised{-1, rows}, nil
}

// delays are the cells of a change, by rows or by days.
func delays(all []watchedDay, bound float64, unit bool, of func(watchedDay) []uint64) ([]string, error) {
	early, quiet := 0, 0 // watches with an alarm before the change, and without any
	var days, rows []int
	for start := range alarmStarts {
		var losses [][]uint64
		before := 0 // rows
		for i, d := range all[start:] {
			if i < alarmBefore {
				losses = append(losses, d.home)
				before += len(d.home)
			} else {
				losses = append(losses, of(d))
			}
		}
		switch r, err := watchDays(losses, bound, unit, func(float64) {}); {
		case err != nil:
			return nil, err
		case r.day < 0:
			quiet++
		case r.day < alarmBefore:
			early++
		default:
			days, rows = append(days, r.day-alarmBefore+1), append(rows, r.rows-before)
		}
	}
	cells := []string{fmt.Sprintf("%d of %d", early, alarmStarts)}
	for _, found := range [][]int{days, rows} {
		found = append(found, slices.Repeat([]int{never}, quiet)...)
		slices.Sort(found)
		cells = append(cells, quantile(found, .5)+", "+quantile(found, .9))
	}
	return cells, nil
}

// never is the delay of an alarm that was not raised.
const never = math.MaxInt

// quantile is one of sorted delays.
func quantile(found []int, share float64) string {
	switch n := len(found); {
	case n == 0:
		return "–"
	case found[int(share*float64(n-1)+.5)] == never:
		return "none"
	default:
		return strconv.Itoa(found[int(share*float64(n-1)+.5)])
	}
}

// watchedDays trains, and returns the certificate and the losses from July on.
func (b *bench) watchedDays(ctx context.Context) (c certify.Certificate, days []watchedDay, err error) {
	binary, err := measured.Build(ctx, b.work, b.log)
	if err != nil {
		return c, nil, err
	}
	flights, err := readFlights(filepath.Join(b.data, "hflights"))
	if err != nil {
		return c, nil, err
	}
	dir, err := filepath.Abs(filepath.Join(b.work, "alarm"))
	if err != nil {
		return c, nil, err
	}
	if err := os.RemoveAll(dir); err != nil { // with the log of earlier runs
		return c, nil, err
	}
	first := slices.IndexFunc(flights, func(f flight) bool { return f.Month >= july })
	early := slices.DeleteFunc(slices.Clone(flights[:first]), func(f flight) bool { return f.Origin != home })
	late := flights[first:]
	stale := slices.Clone(late)
	for i := range stale {
		stale[i].DepDelay = new(int64)
	}
	for name, rows := range map[string][]flight{"train": early, "late": late, "stale": stale} {
		if err := writeFlights(filepath.Join(dir, name), rows); err != nil {
			return c, nil, err
		}
	}
	r, err := measured.Train(ctx, binary, dir, "source: {paths: [train]}\ntarget: ArrDelay\nfeatures: [DepTime, DepDelay, Distance, TaxiOut]\nloss: {epsilon: 15}\ndelta: 0.01\n"+
		"bad_rows: {tolerance: 5 %}\nduplicates: keep\ninducing: 100\noutput: artifact\n")
	if err != nil {
		return c, nil, err
	}
	if c, _, err = config.ReadCertificate(ctx, filepath.Join(dir, "artifact", r.Certificate)); err != nil {
		return c, nil, err
	}
	m, _, err := config.ReadModel(ctx, filepath.Join(dir, "artifact", r.Model))
	if err != nil {
		return c, nil, err
	}
	seen, err := lossesOf(ctx, m, filepath.Join(dir, "late"))
	if err != nil {
		return c, nil, err
	}
	blind, err := lossesOf(ctx, m, filepath.Join(dir, "stale"))
	if err != nil {
		return c, nil, err
	}
	for i, f := range late {
		if date := fmt.Sprintf("2011-%02d-%02d", f.Month, f.DayofMonth); len(days) == 0 || days[len(days)-1].date != date {
			days = append(days, watchedDay{date: date})
		}
		d := &days[len(days)-1]
		switch {
		case !seen[i].Labelled:
		case f.Origin == home:
			d.home, d.stale = append(d.home, seen[i].Loss), append(d.stale, blind[i].Loss)
		default:
			d.other = append(d.other, seen[i].Loss)
		}
	}
	return c, days, nil
}

// readFlights reads all flights, in the order of their departures.
func readFlights(folder string) (all []flight, err error) {
	paths, err := filepath.Glob(filepath.Join(folder, "month=*", "*.parquet"))
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		rows, err := parquetgo.ReadFile[flight](path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		all = append(all, rows...)
	}
	if all == nil {
		return nil, fmt.Errorf("%s has no flights", folder)
	}
	slices.SortStableFunc(all, func(a, b flight) int {
		return cmp.Or(cmp.Compare(a.Month, b.Month), cmp.Compare(a.DayofMonth, b.DayofMonth), cmp.Compare(departure(a), departure(b)))
	})
	return all, nil
}

// departure is its time, as a number of hours and minutes; 0: it was cancelled.
func departure(f flight) int64 {
	if f.DepTime == nil {
		return 0
	}
	return *f.DepTime
}

func writeFlights(folder string, rows []flight) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	return parquetgo.WriteFile(filepath.Join(folder, "flights.parquet"), rows)
}

// lossesOf are the predictions of a folder's rows, with their losses.
func lossesOf(ctx context.Context, m pipeline.Model, folder string) (all []pipeline.Prediction, err error) {
	src, err := ingestlake.Open(ctx, ingestlake.Config{Paths: []string{folder}, Features: m.Meta.Inputs(), Target: m.Meta.Target.Name, BadRows: ingest.Mark, NoDigests: true})
	if err != nil {
		return nil, err
	}
	err = pipeline.Predict(ctx, src, m, 2, func(batch []pipeline.Prediction) error {
		all = append(all, batch...)
		return nil
	})
	return all, err
}
