package main

import (
	"encoding/json"
	"fmt"
	"io"
)

// printJSON prints a document for machines: snake_case, times in seconds, lists
// that are empty as [].
func printJSON(w io.Writer, document any) error {
	text, err := json.MarshalIndent(document, "", "  ")
	if err == nil {
		_, err = fmt.Fprintf(w, "%s\n", text)
	}
	return err
}
