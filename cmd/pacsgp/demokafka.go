package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/ingest/synth"
	"github.com/pacsgp/pacsgp/internal/broker"
)

const (
	demoTopic      = "demo-rows"
	demoPartitions = 6
)

// demoJob is the job file of the demo; its words in brackets are filled in.
const demoJob = `# Written by pacsgp demo --kafka, whose broker ends with it.
source:
  kafka: {brokers: [BROKERS], topic: demo-rows}
features: [FEATURES]
target: y
loss: {epsilon: 0.5}
delta: 0.01
inducing: 400
output: artifact
publish:
  kafka: {name: demo, exactly_once: true}
`

// demoKafka is the demo over topics.
func demoKafka(ctx context.Context, w system, output string, generate synth.Config) (err error) {
	say := func(format string, args ...any) { _, _ = fmt.Fprintf(w.stdout, format, args...) }
	generator, err := synth.New(generate)
	if err != nil {
		return usageError{err}
	}
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(demoPartitions, demoTopic))
	if err != nil {
		return err
	}
	defer cluster.Close()
	brokers := cluster.ListenAddrs()
	say("A broker in this process listens on %s. Producing %s as JSON to %d partitions of %s …\n", brokers[0], certify.Count(w.demo.rows, "row"), demoPartitions, demoTopic)
	if err := produceRows(ctx, brokers, generator, int(w.demo.rows)); err != nil {
		return err
	}
	path := filepath.Join(output, "job.yaml")
	columns := generator.Columns()
	text := strings.NewReplacer("BROKERS", strconv.Quote(strings.Join(brokers, `", "`)), "FEATURES", strings.Join(columns[:len(columns)-1], ", ")).Replace(demoJob)
	if err := errors.Join(os.MkdirAll(output, 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil { //nolint:gosec // for everybody to read
		return err
	}
	if err := runStep(ctx, w, "topics", "-c", path); err != nil {
		return err
	}
	say("\n")
	p, err := loadJob(ctx, path, w, config.Overrides{}, func(string) bool { return false })
	if err != nil {
		return err
	}
	o, err := train(ctx, p, w)
	if err != nil {
		return err
	}
	if err := o.print(w, false); err != nil {
		return err
	}
	pulled := filepath.Join(output, "pulled")
	say("\nPulling the model that the topic points to, into %s …\n", pulled)
	if err := runStep(ctx, w, "pull", "demo", "--kafka", path, "-o", pulled); err != nil {
		return err
	}
	say("\nVerifying it: the rows are replayed from the topic, and training is repeated …\n")
	v, err := verification{
		model: filepath.Join(pulled, o.Record.Model), certificate: filepath.Join(pulled, o.Record.Certificate), id: o.Record.ID, from: p.Source, retrain: true, judge: p.Judge,
	}.run(ctx, w)
	if err != nil {
		return err
	}
	if err := v.print(w, false); err != nil {
		return err
	}
	return o.verdict(p)
}

// demoProduce makes the topic of rows on brokers and fills it. One that is there is left
// as it is: its rows would stand there twice.
func demoProduce(ctx context.Context, w system, brokers []string, generate synth.Config) (err error) {
	generator, err := synth.New(generate)
	if err != nil {
		return usageError{err}
	}
	client, err := broker.NewClient(broker.Config{Brokers: brokers})
	if err != nil {
		return usageError{err}
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	made, err := client.CreateTopic(ctx, demoTopic, demoPartitions, -1, nil)
	if err != nil {
		return err
	}
	if !made {
		_, err := fmt.Fprintf(w.stdout, "the topic %s is there: nothing is produced\n", demoTopic)
		return err
	}
	if err := produceRows(ctx, brokers, generator, int(w.demo.rows)); err != nil {
		return err
	}
	_, err = fmt.Fprintf(w.stdout, "%s in the topic %s\n", certify.Count(w.demo.rows, "row"), demoTopic)
	return err
}

// runStep is a step of the demo that is a command of its own.
func runStep(ctx context.Context, w system, args ...string) error {
	_, _ = fmt.Fprintf(w.stdout, "$ pacsgp %s\n", strings.Join(args, " "))
	return dispatch(ctx, args, w)
}

// produceRows produces the first rows of a generator, in turn to the partitions.
func produceRows(ctx context.Context, brokers []string, generator *synth.Generator, rows int) (err error) {
	const atOnce = 500
	client, err := broker.NewClient(broker.Config{Brokers: brokers})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	producer, err := client.NewWriter(ctx, "")
	if err != nil {
		return err
	}
	names := generator.Columns()
	for first := 0; first < rows; first += atOnce {
		columns := generator.Rows(int64(first), min(atOnce, rows-first))
		var records []broker.Record
		for i := range columns[0] {
			value := []byte{'{'}
			for j, name := range names {
				if j > 0 {
					value = append(value, ',')
				}
				value = strconv.AppendFloat(append(strconv.AppendQuote(value, name), ':'), columns[j][i], 'g', -1, 64)
			}
			records = append(records, broker.Record{Value: append(value, '}'), Time: time.Now().UnixMilli()})
		}
		if err := producer.Send(ctx, demoTopic, first/atOnce%demoPartitions, records...); err != nil {
			return err
		}
	}
	return nil
}
