// Package pipeline makes a model and its certificate from the rows of a source, and publishes them. This page follows one
// row, explains the ideas, and says where to add a feature.
//
// # One row's way
//
//	ingest/*           a shard is decoded, its values are checked and digested
//	pipeline/dataset   the row gets its subset, and is scaled                 (Split, Scaler)
//	pipeline/fit       feeds it to the trainer of package model, which fits Q
//	pipeline/pass      adds the losses of Q up exactly, and merges the sums (Pass)
//	certify            computes bounds from sums and KL
//	sink/*             writes model and certificate
//
// Packages import each other in one direction: pipeline -> {fit, pass} -> dataset -> job -> certify. Package job declares
// jobs and has no rows. In the first pass ([pass.First]) the scaling follows from the prior rows, and the digest of the
// sample from all values. In training a feed delivers the training rows: in ordinal order for full passes, through a
// shuffle buffer for mini-batches, from memory if they fit the budget. The last pass ([pass.Last]) opens the source again,
// reads the model back from its bytes, and computes the expected loss of each training row. From training it gets a
// [pass.TrainingState] and nothing else. [pass.Certify] passes its results to package certify.
//
// # Entry points
//
// A program declares a [job.Job], completes it by [job.Job.WithDefaults], and opens its rows: an
// adapter's [dataset.Rows], or its own by [dataset.Columns]. [Train] does all that is described above, and publishes to an
// [Output]. It holds the output from the record of the run until the pointer has moved. [TrainForParts] leaves the last
// pass to several machines, and the first pass too if [RunConfig.FirstPass] is set. [Run] and [fit.Fit] are the layer below
// and need only a [fit.Environment]. [Verify] repeats the last pass from model, certificate and rows. [Predict] predicts a
// source once; a [Ready] predicts sources, batches and single rows.
//
// # The fold
//
// A source is a list of shards that does not change. Each row has an ordinal. Every pass is a fold: each shard has a
// partial result ([pass.Pass]), which can be written to a file, and partial results merge in any order to the same bytes.
// The result is thus the same on one core, on all cores and on several machines. Losses are added as integers. Other sums
// are stored for each shard and added in the order of shards.
//
// # Split
//
// A row is a prior row (scaling, start values, the prior), a training row (fitting and
// certifying), a held-out row (certifying only), an outside row or a left-out row (neither). The subset follows from the
// row's ordinal and the job, or from its unit. Files, row groups and workers do not matter.
//
// # Ports
//
// The stage needs a [dataset.Source], a [pass.Sink], [fit.Logs] and [fit.Checkpoints]; [Train]
// needs [dataset.Rows] and an [Output]. Package pipelinetest has the contract of each port as a
// test for every adapter, and the simplest adapters, in memory. The package names no file format,
// no broker and no clock that could change a result.
//
// # Where to add
//
// Package internal/extend has a source and a sink that are no part of the product.
//
//   - a source: a folder of ingest that implements [dataset.Rows] and [dataset.Source], with package ingest's
//     rules for columns and rows, or by [dataset.Columns]; pipelinetest.TestSource in its tests. For
//     jobs: a type in cmd/config that implements config.Origin, its key in
//     config.SourceSection, a case in cmd/config/source.go and a row of docs/reference/job.md.
//   - a sink: a folder of sink that implements [pass.Sink] with the bytes of package sink,
//     and pipelinetest.TestSink. One next to the output is a [Publisher] too: for jobs a case
//     of config.Task.Publisher, its key in cmd/config/artifact.go, the field of config.Task and a row of
//     docs/reference/job.md. Instead of the directory it is an [Output], runs
//     pipelinetest.TestOutput, which has TestSink in it, and goes to [Train].
//   - a theorem: a file of certify with its method, and a line in methods. It says which loss sum
//     it needs. A new predictor is a line in certify/losssum.go; a statistic other than a sum of
//     losses is a field of LossSum there, with its bytes, its check and the field of Guarantee
//     that states it; pass.Prepared fills both. Its form goes to certify/schema.json, its proof to
//     docs/explanation/theory.md, its formula to docs/reference/formats.md, its class to a file of python/pacsgp and to
//     METHODS of methods.py.
//   - a kernel: a file of model/kernel with a Family, whose Profile is value and slope as
//     functions of the squared scaled distance, and its exact values in testdata there; a
//     line in kernel.Families; its name in certify/kernel.go and certify/schema.json; the
//     constants of its errors in the table of docs/explanation/theory.md, section 10; its formula in
//     docs/reference/formats.md, section 3, and FAMILIES of python/pacsgp. Assembly is an entry of the
//     panels of model/internal/linalg/set_amd64.go, and may come later.
//   - a loss: a file of model/loss with all that loss.Loss asks for, a line in its list, and its
//     exact values in reference_test.go;
//     an entry of lossForms in certify/loss.go; its kind in certify/schema.json; its formulas
//     in docs/reference/formats.md, section 5, docs/explanation/theory.md, section 10, and python/pacsgp/losses.py.
//   - a method of training: a name in job/method.go, and a case of collapsed in fit/method.go with its objective
//     of package model; its name in docs/reference/job.md and python/pacsgp.
//   - an encoding of records: a decoder in a file of ingest/kafkalog, a case of Config.decoder
//     there, its name in Formats, and a row of docs/reference/job.md.
//   - a command: a file of cmd/pacsgp that prints the result of one call, and its entry in
//     main.go.
//   - a service: a package below pipeline with ports of its own, without clock, file or broker,
//     as pipeline/schedule, pipeline/stream and pipeline/score; its file in cmd/config, a page of
//     docs about its keys, and its command.
package pipeline
