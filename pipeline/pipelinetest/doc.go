// Package pipelinetest has the contracts of the pipeline's ports as tests that every adapter runs: [TestSource], [TestSink],
// [TestCheckpoints] and [TestOutput]. It also has the simplest adapters, in memory, for tests that need no files: [Memory]
// is a source, [Store] a sink with log and checkpoints, and [Output] an output.
package pipelinetest
