package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/apache/beam/sdks/v2/go/container/tools"
	// Makes beam.Init run a worker.
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/harness/init"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/util/grpcx"
)

// provisionEndpoint is the address from which a worker gets its settings. The engine that starts the worker sets it.
var provisionEndpoint = flag.String("provision_endpoint", "", "set by an engine that starts this program as a worker")

// boot makes this process a worker. An engine has started it with --id and --provision_endpoint
// (--environment_type PROCESS); boot sets the flags by which beam.Init runs a worker. Beam's own boot program
// would copy the binary for each worker, and leave it running after its engine.
func boot(ctx context.Context) error {
	parent := os.Getppid()
	id := strings.Trim(flag.Lookup("id").Value.String(), "'") // prism writes quotes, and uses no shell
	ctx = grpcx.WriteWorkerID(ctx, id)
	info, err := tools.ProvisionInfo(ctx, *provisionEndpoint)
	if err != nil {
		return fmt.Errorf("ask %s: %w", *provisionEndpoint, err)
	}
	options, err := tools.ProtoToJSON(info.GetPipelineOptions())
	if err != nil {
		return fmt.Errorf("options of the pipeline: %w", err)
	}
	go endWithout(parent)
	return errors.Join(
		os.Setenv("RUNNER_CAPABILITIES", strings.Join(info.GetRunnerCapabilities(), " ")),
		flag.Set("worker", "true"),
		flag.Set("options", options),
		flag.Set("id", id),
		flag.Set("logging_endpoint", info.GetLoggingEndpoint().GetUrl()),
		flag.Set("control_endpoint", info.GetControlEndpoint().GetUrl()),
	)
}

// endWithout ends this process once its parent, the engine that started it, has ended.
func endWithout(parent int) {
	for os.Getppid() == parent {
		time.Sleep(time.Second)
	}
	os.Exit(1)
}
