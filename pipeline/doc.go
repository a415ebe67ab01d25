// Package pipeline is the stage: from the rows of a [Source] to a model and its
// certificate in a [Sink]. This page is the guide of the house: it follows a row,
// names the ideas, and says where to add what is missing.
//
// # One row's way
//
//	ingest/*        a shard is decoded, its values are checked and digested
//	pipeline        the row gets a role, and is scaled                    (Roles, scaler)
//	model           fits Q to the train rows; then says what Q loses on a row
//	pipeline        adds the losses up exactly, and merges the sums       (Pass)
//	certify         turns sums and KL into bounds and sentences
//	sink/*          writes model and certificate
//
// It never goes back up. In the first pass (survey) reference rows give the scaling, and
// all values the digest of the sample. In training the other rows are scaled and reach
// the trainer through a feed: in ordinal order for full passes, through a shuffle
// buffer for mini-batches, from memory if they fit the budget. In the last pass
// (lastPassResult), from a source opened again and a model read back from its bytes, each
// train row gives its expected loss; all that this pass gets from training is a
// [Handover]. What it found goes to package certify as plain numbers.
//
// # Entry points
//
// A program declares a [Job], completes it by [Job.WithDefaults], and opens its rows: an
// adapter's [Rows], or its own by [Columns]. [Train] walks the way above, for each alternative
// of a sweep, and publishes to an [Output], which it holds from the record of the run to the
// pointer to the current model. [TrainForParts] leaves the last pass to several machines.
// Below them [Run], [Sweep] and [Fit] work on an [Environment] alone. [Verify] walks the
// last part of it again for anybody who holds model, certificate and rows. [Predict]
// predicts a source once; a [Ready] predicts sources, batches and single rows.
// docs/library.md has examples.
//
// # The fold
//
// A source is a frozen list of shards, of which each row has an ordinal. Every reading
// of them is a fold: a shard gives a partial result ([Pass]), partial results merge in
// any order to the same bytes, and can be written to a file. So one core, all cores and
// several machines do the same work: several workers read and score shards at a time,
// and the parts of a job array are merged at the end. Losses are added in integers;
// other sums are kept by shard and added in the order of shards.
//
// # Roles
//
// A row is a reference row (scaling, start values, the prior), a train row (fitting and
// certifying), a hold-out row (certifying only) or a copy (nothing). Which one follows
// from its ordinal and the job: a roleRule; or from its features: contentRoles. Files, row groups
// and workers do not matter.
//
// # Ports
//
// [Source], [Sink], [Attempts] and [Checkpoints] are what the stage asks of the world, [Rows]
// and [Output] what Train asks.
// Package pipelinetest holds the contract of each as a test that every adapter runs, and
// the simplest adapters, in memory. The package names no file format, no broker and no
// clock that could change a result.
//
// # Where to add
//
// Package internal/extend has a patch for a kernel, a loss, a theorem, a source and a sink,
// and tests that it is enough.
//
//   - a source: a folder of ingest that implements [Rows] and [Source], with package ingest's
//     rules for columns and rows, or by [Columns]; pipelinetest.TestSource in its tests. For
//     jobs: a type in cmd/config that implements config.Origin, its key in
//     config.SourceSection, a case in cmd/config/source.go and a row of docs/job.md.
//   - a sink: a folder of sink that implements [Sink] with the bytes of package sink,
//     and pipelinetest.TestSink. One beside the output is a [Publisher] too: for jobs a case
//     of config.Task.Publisher, its key in cmd/config/shelf.go, the field of config.Task and a row of
//     docs/job.md. In the place of the directory it is an [Output], runs
//     pipelinetest.TestOutput, which has TestSink in it, and goes to [Train].
//   - a theorem: a file of certify with its method, and a line in methods. It says which tally
//     it needs. A predictor that nobody scores yet is a line in certify/tally.go; a statistic
//     that is no sum of losses is a field of Tally there, with its bytes, its check and a field of
//     Guarantee that states it; rowPass fills both. Its form goes to certify/schema.json, its
//     proof to docs/proofs.md, its formula to docs/format.md and a file of python/pacsgp with its
//     class, whose place is METHODS of methods.py.
//   - a kernel: a file of model/kernel with a Family, whose Profile is value and slope as
//     functions of the squared scaled distance, and its exact values in testdata there; a
//     line in kernel.Families; its name in certify/kernel.go and certify/schema.json; the
//     constants of its errors in the table of docs/proofs.md, section 10; its formula in
//     docs/format.md, section 3, and FAMILIES of python/pacsgp. Assembly is an entry of the
//     panels of model/internal/linalg/set_amd64.go, and may come later.
//   - a loss: a file of model/loss with all that loss.Loss asks for, and a line in its list;
//     an entry of lossForms in certify/loss.go; its kind in certify/schema.json; its formulas
//     in docs/format.md, section 5, docs/proofs.md, section 10, and python/pacsgp/losses.py.
//   - a rule of roles: a roleRule, and section 4.4 of docs/format.md.
//   - a method of training: in method.go a name, and a case of TrainDecl.collapsed with the objective of
//     package model that it minimises; its name in docs/job.md and python/pacsgp.
//   - an encoding of records: a decoder in a file of ingest/kafkalog, a case of Config.decoder
//     there, its name in Formats, and a row of docs/job.md.
//   - a command: a file of cmd/pacsgp that prints what one call returned, and its place in
//     main.go.
//   - a service: a package below pipeline with ports of its own, without clock, file or broker,
//     as pipeline/schedule, pipeline/stream and pipeline/score; its file in cmd/config, with a page of docs that says what the keys
//     mean, and its command.
package pipeline
