// Package pipelinetest holds the executable contracts of the pipeline's ports:
// [TestSource], [TestSink], [TestCheckpoints] and [TestOutput], which every
// adapter runs; and the simplest things that satisfy them, for tests that need no files:
// [Memory], a source, and [Store], with [Output] all the others.
package pipelinetest
