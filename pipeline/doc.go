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
// The calls go from cmd/pacsgp/train.go through stage.go, run.go, fit/fit.go, pass/firstpass.go, fit/train.go, parts.go,
// pass/rowpass.go, pass/lastpass.go and pass/evidence.go to certify/certify.go.
//
// Packages import each other in one direction: pipeline -> {fit, pass} -> dataset -> job -> certify. Package job declares
// jobs and holds no rows. The first pass ([pass.First]) computes the scaling from the prior rows and the digest of the
// sample from all values. In training a feed delivers the training rows: in ordinal order for full passes, through a shuffle
// buffer for mini-batches, from memory if they fit the budget. The last pass ([pass.Last]) opens the source again, reads the
// model back from its bytes, and computes the expected loss of each training row. From training it gets only a
// [pass.TrainingState]. [pass.Certify] passes its results to package certify.
//
// # Entry points
//
// A program declares a [job.Job], completes it with [job.Job.WithDefaults], and opens its rows: the [dataset.Rows] of an
// adapter, or its own rows with [dataset.Columns]. [Train] does all that is described above, and publishes to an [Output].
// It holds the output from the record of the run until the pointer has moved. [TrainForParts] leaves the last pass to
// several machines, and the first pass too if [RunConfig.FirstPass] is set. [Run] and [fit.Fit] are the layer below and need
// only a [fit.Environment]. [Verify] repeats the last pass from model, certificate and rows. [Predict] predicts a source
// once; a [Ready] predicts sources, batches and single rows.
//
// # The fold
//
// A source is a list of shards that does not change. Each row has an ordinal. Every pass is a fold: each shard has a partial
// result ([pass.Pass]), which can be written to a file, and partial results merge in any order to the same bytes. So the
// result is the same on one core, on all cores and on several machines. Losses are added as integers. Other sums are stored
// for each shard and added in the order of the shards.
//
// # Split
//
// A row is a prior row (for scaling, start values and the prior), a training row (for fitting and certifying), a held-out
// row (only for certifying), or an outside or left-out row (for neither). The subset follows from the job and the row's
// ordinal, or from its unit. Files, row groups and workers do not matter.
//
// # Ports
//
// The stage needs a [dataset.Source], a [pass.Sink], [fit.Logs] and [fit.Checkpoints]; [Train] needs [dataset.Rows] and an
// [Output]. Package pipelinetest has the contract of each port as a test for every adapter, and simple adapters in memory.
// Package pipeline names no file format, no broker, and no clock that could change a result.
//
// # Where to add
//
// Paths begin at the top of the repository. Package internal/extend has a source and a sink that are not part of the
// product. What a job may name is also in docs/reference/job.md. After a change of the keys or names of files in YAML, run
// go test ./cmd/config -run TestMessages -update.
//
//   - a source: a folder of ingest with a [dataset.Rows], which uses [dataset.Columns] or package ingest's rules for columns
//     and rows, and pipelinetest.TestSource in its tests. For jobs: in cmd/config a file with a config.Origin, and in
//     source.go a key of SourceSection, with its paths in relativeTo, and a case of origin. Columns keeps all rows in memory
//     and has no texts, so no units or groups. The Python verifier reads only Parquet and Arrow files.
//   - a sink: a folder of sink with a [pass.Sink], which uses the bytes of package sink, and pipelinetest.TestSink. If it is
//     added to the output, it is also a [Publisher]; for jobs its key is in Publish of cmd/config/job.go, its section in
//     publisher.go, its case and field of Task in task.go there. If it replaces the directory, it is an [Output], with pipelinetest.TestOutput.
//   - a theorem: a file of certify with its function, and a line in certify/method.go with the loss sum that it needs. A new
//     predictor is a line in certify/losssum.go. A new statistic is a field of LossSum there, which pass.Prepared fills and
//     losssumjson.go encodes, and a field of Claim. Then certify/schema.json, a proof in docs/explanation/theory.md, a
//     formula in docs/reference/formats.md, and a class in METHODS of python/pacsgp/methods.py.
//   - a kernel: a file of model/kernel with a Family, which must be flat at 0, fall by at most a factor e per unit of p and
//     vanish exponentially (otherwise section 10 of theory.md needs another argument); a line in kernel.Families, a Profile
//     in model/internal/linalg/profile.go with its lines in kernel_test.go there, exact values in model/kernel/testdata and
//     kerneltest, bits in model/arithmetic_test.go; its name in certify/kernel.go and certify/schema.json, its constants in
//     docs/explanation/theory.md, section 10, its formula in docs/reference/formats.md, section 3, and in FAMILIES of
//     python/pacsgp/kernels.py. Assembly can come later: an entry of panels in model/internal/linalg/set_amd64.go.
//   - a loss: a file of model/loss, its line in Kinds and case in New, exact values in reference_test.go, bits in
//     model/arithmetic_test.go; its name and form in certify/loss.go and certify/schema.json; its formulas in
//     docs/reference/formats.md, section 5, docs/explanation/theory.md, section 10, and python/pacsgp/losses.py.
//   - a case of cmd/pacsgp/testdata/corpus, which checks that Go and Python agree on a kernel, a loss or a theorem: a folder
//     with a job.yaml, which go test ./cmd/pacsgp -run TestCorpus -make-corpus NAME completes.
//   - a method of training: a name in pipeline/job/method.go and python/pacsgp/forms.py, and a case of collapsed in
//     pipeline/fit/method.go with its objective from package model.
//   - an encoding of records: a file of ingest/kafkalog, and in config.go there a case of decoder and a name in Formats.
//   - a command: a file of cmd/pacsgp that prints the result of one call, a line in main.go, docs/reference/commands.md.
//   - a service: a package below pipeline with ports of its own and without clock, file or broker, like pipeline/schedule;
//     its file in cmd/config, a page of docs about its keys, and its command.
package pipeline
