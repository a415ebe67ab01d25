package main

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/sink/report"
)

// completions sets the completions of arguments and flags: words, files of the right kind, or
// nothing.
func completions(root *cobra.Command) {
	jobs, folders := cobra.FixedCompletions([]string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt), cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs)
	flags := map[string]cobra.CompletionFunc{
		"config": jobs, "source": jobs, "kafka": jobs, "from": folders, "output": folders, "state": folders, "trusted": cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault),
		"log-format": words(logText, logJSON), "format": words(formatText, formatJSON), "log-level": words("debug", "info", "warn", "error"),
		"judge": words(string(pipeline.JudgeMean)+"\tof Q, which predict writes", string(pipeline.JudgeDraw)+"\tof Q"),
	}
	rows := cobra.FixedCompletions([]string{"parquet", "parq", "pq", "arrow", "feather"}, cobra.ShellCompDirectiveFilterFileExt)
	artifact := []cobra.CompletionFunc{artifacts("model-", ".parquet"), artifacts("certificate-", ".json", ".parquet"), rows}
	arguments := map[string][]cobra.CompletionFunc{ // the last for all further ones
		"verify": artifact, "predict": artifact, "watch": artifact, "lint": {jobs}, "schema": {words(config.KindJob, config.KindSchedule, config.KindScore, config.KindWatch), cobra.NoFileCompletions}, "console": {folders}, "certify": {cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault)},
		"inspect": {artifacts("", ".parquet", ".json"), cobra.NoFileCompletions},
	}
	files := map[string]cobra.CompletionFunc{"predict": rows, "pass": cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault)} // for --output
	each := func(cmd *cobra.Command) {
		cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
			kinds := arguments[cmd.Name()]
			if len(kinds) == 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return kinds[min(len(args), len(kinds)-1)](cmd, args, begun)
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			offered, ok := flags[f.Name]
			if own, file := files[cmd.Name()]; file && f.Name == "output" {
				offered = own
			} else if !ok {
				offered = cobra.NoFileCompletions
			}
			_ = cmd.RegisterFlagCompletionFunc(f.Name, offered) // it is a flag, and has none yet
		})
	}
	root.PersistentFlags().VisitAll(func(f *pflag.Flag) { _ = root.RegisterFlagCompletionFunc(f.Name, flags[f.Name]) })
	for _, cmd := range root.Commands() {
		each(cmd)
	}
}

// words offers words, with descriptions behind tabs.
func words(all ...string) cobra.CompletionFunc {
	return cobra.FixedCompletions(all, cobra.ShellCompDirectiveNoFileComp)
}

// mostOffered bounds the completions from a folder.
const mostOffered = 1000

// artifacts offers files with this prefix and one of these endings, and folders.
func artifacts(prefix string, endings ...string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
		folder, part := filepath.Split(begun)
		found, err := os.ReadDir(cmp.Or(folder, "."))
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var offered []string
		directive := cobra.ShellCompDirectiveNoFileComp
		for _, f := range found {
			name := f.Name()
			hidden := strings.HasPrefix(name, ".") && !strings.HasPrefix(part, ".")
			if hidden || !strings.HasPrefix(name, part) || name != report.Escape(name) || len(offered) == mostOffered {
				continue
			}
			if f.IsDir() {
				offered, directive = append(offered, folder+name+"/"), cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveNoSpace
				continue
			}
			for _, ending := range endings {
				if strings.HasPrefix(name, prefix) && strings.HasSuffix(name, ending) {
					offered = append(offered, folder+name)
				}
			}
		}
		return offered, directive
	}
}
