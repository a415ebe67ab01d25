package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/sink"
	"github.com/pacsgp/pacsgp/sink/verifytest"
)

// jsonToken is a text, which may be a key, or a number or a word.
var jsonToken = regexp.MustCompile(`"(?:[^"\\]|\\.)*":?|[-+.\w]+`)

// publishersWord is what a certificate may say that does not follow from anything here: topic and offsets need the log, and the
// noise is held to a part in a million.
var publishersWord = regexp.MustCompile(`"(topic|software|machine|in_this_log|on_these_rows|first|end|noise|factor)": ?<`)

// mutated is a document with one token changed: a number a little or much, its type, a key left out or renamed.
func mutated(r *rand.Rand, document string) (changed, how string) {
	tokens := jsonToken.FindAllStringIndex(document, -1)
	i := r.IntN(len(tokens))
	from, to := tokens[i][0], tokens[i][1]
	old := document[from:to]
	var other string
	switch number, err := strconv.ParseFloat(old, 64); {
	case strings.HasSuffix(old, ":") && r.IntN(2) == 0: // with a value that is no object or list
		other = old[:1] + "x" + old[1:]
	case strings.HasSuffix(old, ":"):
		if i+1 < len(tokens) && strings.TrimSpace(document[to:tokens[i+1][0]]) == "" {
			to = tokens[i+1][1]
		}
		if strings.HasPrefix(document[to:], ",") {
			to++
		} else if strings.HasSuffix(document[:from], ",") {
			from--
		}
	case err == nil:
		other = pick(r,
			strconv.FormatFloat(number*(1+1e-13), 'g', -1, 64), strconv.FormatFloat(number*(1-1e-13), 'g', -1, 64), strconv.FormatFloat(number*(1+2e-5), 'g', -1, 64), strconv.FormatFloat(number*(1-2e-5), 'g', -1, 64),
			strconv.FormatFloat(number*1.1, 'g', -1, 64), strconv.FormatFloat(number*0.9, 'g', -1, 64), strconv.FormatFloat(math.Nextafter(number, 0), 'g', -1, 64), strconv.FormatFloat(number+1, 'g', -1, 64),
			"-"+old, "0", old+"e0", "NaN", "Infinity", "1e999", "null", "true", `"`+old+`"`, "["+old+"]")
	default:
		other = pick(r, "null", "0", "true", "false", `""`, "{}", "[]", `"x"`, strings.Replace(old, `"`, `"x`, 1), strings.Replace(old, `"`, `"’`, 1), strings.ToUpper(old), old+" ")
	}
	if other == document[from:to] {
		return mutated(r, document)
	}
	return document[:from] + other + document[to:], document[max(0, from-30):from] + "<" + document[from:to] + "> becomes <" + other + ">"
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

// mutatedModel is a model file with one number of its table changed, or a token of its metadata.
func mutatedModel(t *testing.T, r *rand.Rand, file []byte) (changed []byte, how string) {
	t.Helper()
	m, err := sink.DecodeModel(file)
	fatal.If(t, err)
	if r.IntN(2) == 0 {
		numbers, by := pick(r, m.Posterior.Z, m.Posterior.Mean, m.Posterior.L, m.Posterior.Factor, m.Predictive.Mean, m.Predictive.Factor), pick(r, 1.1, 0.9, -1)
		largest := slices.IndexFunc(numbers, func(v float64) bool { return v == slices.Max(numbers) })
		numbers[largest] *= by
		if changed, err = sink.EncodeModel(m); err != nil {
			return file[:len(file)-1], err.Error()
		}
		return changed, "the largest number times " + strconv.FormatFloat(by, 'g', -1, 64)
	}
	at := len(file) - 8 - int(binary.LittleEndian.Uint32(file[len(file)-8:]))
	from := at + bytes.Index(file[at:], []byte(`{"format":`))
	size, width := binary.Uvarint(file[from-2:])
	if size > uint64(len(file)) || width != 2 {
		t.Fatalf("metadata of %d bytes, of which %d say how many", size, width)
	}
	text, how := mutated(r, string(file[from:from+int(size)]))
	footer := slices.Concat(file[at:from-2], binary.AppendUvarint(nil, uint64(len(text))), []byte(text), file[from+int(size):len(file)-8])
	changed = append(binary.LittleEndian.AppendUint32(slices.Concat(file[:at], footer), uint32(len(footer))), "PAR1"...)
	return resealed(changed), how
}

// Both programs come to one verdict on changed certificates and models, and accept none but for the publisher's
// word. Only limits of a curve differ in their last digits, which Python holds to 1e-11.
func TestVerdictsOnMutants(t *testing.T) {
	t.Parallel()
	verifytest.Need(t)
	r, cases, dir, n := rand.New(rand.NewPCG(1, 2)), corpusCases(t), t.TempDir(), 150
	if *soak {
		n = 10_000
	}
	var calls [][]string
	var hows []string
	for i := range n {
		c := pick(r, cases...)
		model, document, how := readFile(t, c.model), string(readFile(t, c.certificate)), ""
		if r.IntN(3) > 0 {
			document, how = mutated(r, document)
		} else {
			before := sha256.Sum256(model)
			model, how = mutatedModel(t, r, model)
			after := sha256.Sum256(model)
			document = strings.ReplaceAll(document, hex.EncodeToString(before[:]), hex.EncodeToString(after[:]))
		}
		call := []string{"verify", filepath.Join(dir, strconv.Itoa(i)+".parquet"), filepath.Join(dir, strconv.Itoa(i)+".json"), c.rows}
		writeFile(t, call[1], model)
		writeFile(t, call[2], []byte(document))
		calls, hows = append(calls, call), append(hows, c.name+": "+how)
	}
	for i, run := range verifytest.Verify(t, calls) {
		a := pacsgp(t, calls[i]...)
		if a.status != run.Status && !strings.Contains(a.message, ".curve.steps") || a.status != exitFailure && !publishersWord.MatchString(hows[i]) {
			t.Errorf("%s: status %d (%s), in Python %d:\n%s", hows[i], a.status, a.message, run.Status, run.Out)
		}
	}
}
