package main

import (
	"path/filepath"
	"strings"
	"time"

	"github.com/pacsgp/pacsgp/internal/yamlfile"

	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/pipeline"
	sinklog "github.com/pacsgp/pacsgp/sink/kafkalog"
)

// A scoring is what a score file asks for.
type scoring struct{ config.ScoreFile }

// stand is where models are looked for. To be closed when it is a cluster.
func (c scoring) stand(told func(string), patience time.Duration) (stand, func() error, error) {
	if c.Model.Folder != "" {
		return folderStand(c.Model.Folder), func() error { return nil }, nil
	}
	cluster := c.ModelCluster()
	if cluster.Told = told; cluster.Patience == 0 {
		cluster.Patience = yamlfile.Duration(patience)
	}
	client, err := cluster.Client()
	if err != nil {
		return nil, nil, err
	}
	return &topicStand{client: client, topics: sinklog.Topics(c.Model.Kafka.Topics), name: c.Model.Kafka.Name}, client.Close, nil
}

// predictionsOf is where the predictions of a file go: a path that follows from its own
// and from its content.
func (c scoring) predictionsOf(f pipeline.ManifestFile) string {
	path := f.Path
	for strings.HasPrefix(path, "../") {
		path = path[len("../"):]
	}
	path = strings.TrimPrefix(strings.ReplaceAll(path, ":", ""), "/")
	name := strings.TrimSuffix(path, filepath.Ext(path))
	return filepath.Join(c.Output.Folder, filepath.FromSlash(name)+"-"+digestOf([]pipeline.ManifestFile{f})[:16]+".parquet")
}
