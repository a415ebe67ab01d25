// Package report shows a run to people: a certificate as text for a terminal and as a page, and a
// figure. It needs only a certificate and plain numbers, no job. It rounds every bound outwards.
package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/digest"
	"github.com/pacsgp/pacsgp/internal/words"
)

// A Page is a certificate in words, in reading order. Its texts are not escaped: names of columns
// and values of the publisher can have any characters.
type Page struct {
	ID          string // SHA-256 of the document
	Claims      []claim
	Warnings    []string
	Assumptions []field // each with how it is checked
	Sections    []section
}

// A claim is a claim as one sentence, and the evidence for it.
type claim struct {
	Status          certify.Status
	Words, Evidence string
}

// A section is a group of fields under a title.
type section struct {
	Title  string
	Fields []field
}

// A field is a name and what it stands for.
type field struct{ Name, Words string }

// PageOf returns a certificate in words: its claims, the terms of their bounds, the assumptions,
// and what the certificate is about.
func PageOf(c certify.Certificate) (Page, error) {
	document, err := certify.Marshal(c)
	if err != nil {
		return Page{}, fmt.Errorf("report: %w", err)
	}
	p := Page{ID: digest.Of(document), Warnings: Warnings(c)}
	for _, g := range c.Claims {
		p.Claims = append(p.Claims, claim{g.Status, Headline(c, g), evidence(c, g)})
		p.Sections = append(p.Sections, section{Title: string(g.ID), Fields: terms(c, g)})
	}
	rests := section{Title: "Checked by verify"}
	for _, a := range c.Assumptions {
		text, how := Assumption(c, a)
		p.Assumptions = append(p.Assumptions, field{text, how})
		if a.Checked == certify.CheckVerify {
			rests.Fields = append(rests.Fields, field{string(a.ID), text})
		}
	}
	p.Sections = append(p.Sections, rests,
		section{Title: "Does not promise", Fields: []field{
			{"one " + c.Counts.Example(), "a bound is an average over all new " + c.Counts.Example() + "s, not about one of them or a part of them"},
			{"another source", "a bound does not hold after the source has changed"},
			{"certainty", "of many such certificates, each from rows of its own, a share of up to delta may have a bound that is too low"},
		}},
		section{Title: "About", Fields: about(c)},
		section{Title: "Stated by the publisher (cannot be checked)", Fields: publisher(c)})
	return p, nil
}

// terms returns the numbers behind a claim.
func terms(c certify.Certificate, g certify.Claim) []field {
	all := []field{
		{"status", string(g.Status)},
		{"bound", words.Bound(c.Loss.Shares(), g.Bound) + words.If(c.Loss.Tolerance != "", " ("+miss(c)+")")},
		{"best constant", words.Bound(c.Loss.Shares(), g.Baseline)},
		{"n", words.Count(g.N, c.Counts.Example())},
	}
	if g.Risk != nil {
		all = append(all, field{"empirical risk", words.Bound(c.Loss.Shares(), *g.Risk)})
	}
	nats := func(name string, x float64) {
		all = append(all, field{name, fmt.Sprintf("%s nats (%s a %s)", words.RoundUp(x, 2), words.RoundUp(x/float64(max(g.N, 1)), 5), c.Counts.Example())})
	}
	if g.ID == certify.ClaimDraw {
		nats("KL divergence", c.Model.KL)
		nats("hyperparameters cost", g.LnInverseWeight)
		nats("the theorem costs", g.LnXi)
	}
	nats("the confidence costs", g.LnInverseDelta)
	for i, of := range g.Groups {
		all = append(all, field{group(c, i), fmt.Sprintf("at most %s; %s of %s rows missed", words.PercentUp(of.Bound), words.Number(of.Misses), words.Number(of.N))})
	}
	for _, percent := range []int{50, 90, 95, 99} {
		if t, ok := g.Curve.Within(float64(percent) / 100); ok {
			all = append(all, field{fmt.Sprintf("%d %% lie within", percent), words.Amount(t, c.Loss.Unit)})
		}
	}
	return all
}

// about returns the fields about rows, model and settings of the certificate.
func about(c certify.Certificate) []field {
	l, kind := c.Counts, "one lengthscale a feature"
	if c.Model.Kernel.Isotropic {
		kind = "one lengthscale for all features"
	}
	family := c.Model.Kernel.Family
	if n := len(c.Model.Kernel.Families); n > 1 {
		family += fmt.Sprintf(" (one of %d: %s)", n, strings.Join(c.Model.Kernel.Families, ", "))
	}
	rows := fmt.Sprintf("%s: %s prior, %s training, %s held out, %s duplicates dropped, %s rejected", words.Number(l.Rows),
		words.Number(l.Prior), words.Number(l.Training), words.Number(l.Holdout), words.Number(l.Duplicates), words.Number(l.Rejected))
	if l.Outside > 0 {
		rows += fmt.Sprintf(", %s outside", words.Number(l.Outside))
	}
	unproven := int64(0)
	for _, t := range c.LossSums {
		unproven += t.Unproven
	}
	next, _ := c.Dependence.Correlation(1)
	fields := []field{
		{"rows", rows},
		{"split", split(c)},
		{"row rules", "every used value is a finite number of at most 1e30, integers at most 2^53"},
		{"dependence", fmt.Sprintf("correlation %.3f of the targets of consecutive rows", next)},
		{"features", strconv.Itoa(len(c.Features()))},
		{"kernel", family + ", " + kind},
		{"accuracy", fmt.Sprintf("predictions are within %s of exact arithmetic; %s beyond that, counted as missed", words.AtMostDigits(c.Model.Accuracy), words.Count(unproven, "row"))},
		{"dataset", short(c.Sample.Digest)},
		{"model", short(c.Model.Digest)},
		{"job", short(c.Job.Digest)},
	}
	if positions := offsets(c.Sample.Segments); positions != "" {
		fields = append(fields, field{"offsets", positions})
	}
	return fields
}

// split returns how the job chooses the held-out rows.
func split(c certify.Certificate) string {
	var job struct {
		Split struct {
			Key  string `json:"key"`
			Last bool   `json:"last"`
		} `json:"split"`
	}
	if json.Unmarshal(c.Job.Values, &job) != nil || job.Split.Last {
		return "the last rows are held out"
	}
	return "by the key " + strconv.Quote(cmp.Or(job.Split.Key, "pacsgp"))
}

// offsets returns the range of offsets of each partition in the dataset.
func offsets(segments []certify.Segment) string {
	type partition struct {
		topic  string
		number int64
	}
	var order []partition
	spans := map[partition][2]int64{}
	for _, s := range segments {
		at := partition{s.Topic, s.Partition}
		span, ok := spans[at]
		if !ok {
			order = append(order, at)
			span[0] = s.First
		}
		span[1] = s.End
		spans[at] = span
	}
	const shown = 8
	var all []string
	for _, at := range order[:min(len(order), shown)] {
		all = append(all, fmt.Sprintf("%s/%d from %d to %d", at.topic, at.number, spans[at][0], spans[at][1]-1))
	}
	if more := len(order) - shown; more > 0 {
		all = append(all, fmt.Sprintf("and %s more", words.Count(more, "partition")))
	}
	return strings.Join(all, ", ")
}

// publisher returns the fields that only the publisher states.
func publisher(c certify.Certificate) []field {
	d := c.Publisher
	fields := []field{
		{"software", d.Software},
		{"attempt", fmt.Sprintf("%d on these rows, %d in this output", d.Attempt.OnTheseRows, d.Attempt.InThisLog)},
		{"trained on", d.Training.Machine},
	}
	if n := d.Training.StoppedAfter; n > 0 {
		fields = append(fields, field{"stopped by time limit", "after " + words.Count(n, "step")})
	}
	if a := d.Training.Parent; a != nil {
		fields = append(fields, field{"parent model", "of certificate " + short(a.Certificate)})
	}
	if s := c.Delta.Sequence; s != nil {
		fields = append(fields, field{"run", fmt.Sprintf("%d of %s, on which the bounds depend", s.Number, words.Name(s.Name))})
	}
	return fields
}

func short(digest string) string { return digest[:min(len(digest), 12)] }
