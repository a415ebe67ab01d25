package console

import (
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/certify/certifytest"
	"github.com/pacsgp/pacsgp/internal/fatal"
)

// shownPages are all kinds of pages over a folder of certificates.
func shownPages(t *testing.T) map[string]string {
	t.Helper()
	dir := t.TempDir()
	first, _ := put(t, dir, certifytest.Certificate(t, nil), noon)
	second, _ := put(t, dir, certifytest.Certificate(t, withKL(200)), noon.Add(time.Hour))
	put(t, dir, certifytest.Certificate(t, withKL(5000)), noon.Add(2*time.Hour))
	write(t, dir+"/certificate-x.json", nil)
	nights := filepath.Join(dir, "nights")
	threeNights(t, nights)
	x := indexOf(t, dir)
	shown := map[string]string{}
	for _, address := range []string{"/", "/series/" + x.Now().Entries[0].Series.Key(), "/certificate/" + first, "/compare?a=" + first + "&b=" + second, "/compare", "/unreadable", "/about", "/job/" + keyOf(nights), "/runs/" + keyOf(nights)} {
		_, shown[address] = get(t, Handler(x, nil), address)
	}
	_, shown["login"] = get(t, Handler(x, nil), "/login")
	_, shown["empty"] = get(t, Handler(NewIndex([]string{dir}), nil), "/")
	return shown
}

func attribute(n *html.Node, name string) (string, bool) {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val, true
		}
	}
	return "", false
}

func words(n *html.Node) string {
	var all strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			all.WriteString(d.Data)
		}
	}
	return strings.TrimSpace(all.String())
}

// What a screen reader needs: a language and a title, one first heading and no level left
// out, names for regions, fields, tables and pictures, headers for cells, ids that are there
// once. And nothing that the policy would refuse.
func TestPagesCanBeHeard(t *testing.T) {
	for address, page := range shownPages(t) {
		root, err := html.Parse(strings.NewReader(page))
		fatal.If(t, err)
		ids, labels := map[string]int{}, map[string]bool{}
		for n := range root.Descendants() {
			if id, ok := attribute(n, "id"); ok {
				ids[id]++
			}
			if of, ok := attribute(n, "for"); ok && n.Data == "label" && words(n) != "" {
				labels[of] = true
			}
		}
		fault := func(n *html.Node, text string) {
			var b strings.Builder
			_ = html.Render(&b, n)
			t.Errorf("%s: %s: %.200s", address, text, b.String())
		}
		level, count := 0, map[string]int{}
		for n := range root.Descendants() {
			if n.Type != html.ElementNode {
				continue
			}
			count[n.Data]++
			for _, a := range n.Attr {
				if strings.HasPrefix(a.Key, "on") || a.Key == "style" || strings.HasPrefix(a.Val, "javascript:") || (a.Key == "src" || a.Key == "href") && strings.Contains(a.Val, "//") {
					fault(n, "attribute "+a.Key)
				}
				if a.Key == "aria-labelledby" || a.Key == "aria-describedby" {
					for id := range strings.FieldsSeq(a.Val) {
						if ids[id] != 1 {
							fault(n, "names "+id)
						}
					}
				}
			}
			_, label := attribute(n, "aria-label")
			_, labelled := attribute(n, "aria-labelledby")
			_, hidden := attribute(n, "aria-hidden")
			switch n.Data {
			case "html":
				if lang, _ := attribute(n, "lang"); lang != "en" {
					fault(n, "language")
				}
			case "h1", "h2", "h3":
				next := int(n.Data[1] - '0')
				if next > level+1 || words(n) == "" {
					fault(n, "heading")
				}
				level = next
			case "a", "button", "th", "title", "li":
				if words(n) == "" {
					fault(n, "is empty")
				}
				if _, scope := attribute(n, "scope"); n.Data == "th" && !scope {
					fault(n, "has no scope")
				}
			case "nav", "table", "section":
				if !label && !labelled {
					fault(n, "has no name")
				}
			case "input":
				kind, _ := attribute(n, "type")
				if id, _ := attribute(n, "id"); kind != "hidden" && !label && !labels[id] {
					fault(n, "has no label")
				}
			case "svg":
				if role, _ := attribute(n, "role"); !hidden && (role != "img" || !labelled) {
					fault(n, "is neither hidden nor named")
				}
			case "div":
				if _, focus := attribute(n, "tabindex"); focus && !labelled {
					fault(n, "can be focused and has no name")
				}
			case "script", "style", "iframe", "object", "embed":
				fault(n, "is not allowed")
			}
		}
		for id, n := range ids {
			if n != 1 {
				t.Errorf("%s: id %s is there %d times", address, id, n)
			}
		}
		if count["h1"] != 1 || count["main"] != 1 || count["header"] != 1 || count["title"] < 1 {
			t.Errorf("%s: %v", address, count)
		}
	}
}

var custom = regexp.MustCompile(`--([a-z]+): #([0-9a-f]{6});`)

// luminance is the relative luminance of a colour. WCAG 2.2.
func luminance(hex string) float64 {
	n, err := strconv.ParseUint(hex, 16, 32)
	if err != nil {
		return math.NaN()
	}
	linear := func(c uint64) float64 {
		x := float64(c&255) / 255
		if x <= 0.04045 {
			return x / 12.92
		}
		return math.Pow((x+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(n>>16) + 0.7152*linear(n>>8) + 0.0722*linear(n)
}

// Letters stand out from what they stand on by 4.5 to 1, marks and edges by 3 to 1, in
// both schemes. WCAG 2.2, 1.4.3 and 1.4.11.
func TestContrast(t *testing.T) {
	sheet, err := assets.ReadFile("assets/style.css")
	fatal.If(t, err)
	light, dark, ok := strings.Cut(string(sheet), "@media (prefers-color-scheme: dark)")
	if !ok {
		t.Fatal("no dark scheme")
	}
	dark, rest, _ := strings.Cut(dark, "\n}\n")
	for scheme, part := range map[string]string{"light": light, "dark": dark} {
		colours := map[string]string{}
		for _, m := range custom.FindAllStringSubmatch(part, -1) {
			colours[m[1]] = m[2]
		}
		for name, least := range map[string]float64{
			"ink": 4.5, "soft": 4.5, "link": 4.5, "certified": 4.5, "conditional": 4.5, "vacuous": 4.5, "indicative": 4.5, "bound": 3, "risk": 3, "edge": 3,
		} {
			for _, on := range []string{"ground", "panel"} {
				a, b := luminance(colours[name]), luminance(colours[on])
				if ratio := (max(a, b) + 0.05) / (min(a, b) + 0.05); !(ratio >= least) {
					t.Errorf("%s: %s on %s: %.2f, want %.1f", scheme, name, on, ratio, least)
				}
			}
		}
		if len(colours) != 13 {
			t.Errorf("%s has %d colours: %v", scheme, len(colours), colours)
		}
	}
	if found := regexp.MustCompile(`#[0-9a-fA-F]{3,8}\b|rgb|hsl|url\(|@import`).FindString(rest); found != "" {
		t.Errorf("%s outside of the colours", found)
	}
}

// Statuses differ in shape, not only in colour.
func TestShapesDiffer(t *testing.T) {
	var shapes []string
	for _, s := range []certify.Status{certify.StatusCertified, certify.StatusConditional, certify.StatusVacuous, certify.StatusIndicative} {
		if path := shape(s, 10, 10); slices.Contains(shapes, path) {
			t.Errorf("%s looks like another", s)
		} else {
			shapes = append(shapes, path)
		}
	}
}
