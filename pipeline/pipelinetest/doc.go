// Package pipelinetest holds the executable contracts of the pipeline's ports:
// [TestSource] for every [pipeline.Source], and [Memory], the simplest source
// that satisfies it, for tests that need rows and no files.
package pipelinetest
