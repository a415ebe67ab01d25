package console

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	chromepage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/certify/certifytest"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/internal/serving"
)

// A browser is a headless Chromium, and what it complained of.
type browser struct {
	context.Context //nolint:containedctx // chromedp keeps its browser in it

	lock   sync.Mutex
	faults []string
}

// newBrowser starts Chromium, or skips the test where there is none; under CI there must
// be one.
func newBrowser(t *testing.T, own string) *browser {
	t.Helper()
	path := os.Getenv("PACSGP_CHROMIUM")
	if path == "" {
		if os.Getenv("CI") == "true" {
			t.Fatal("no browser: PACSGP_CHROMIUM is not set")
		}
		t.Skip("no browser: PACSGP_CHROMIUM is not set; make test-all sets it")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.WSURLReadTimeout(time.Minute))
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	b := &browser{Context: ctx}
	err := chromedp.Listen(ctx, func(ev any) {
		fault := ""
		switch ev := ev.(type) {
		case *runtime.EventExceptionThrown:
			fault = "an exception: " + ev.ExceptionDetails.Text
		case *network.EventLoadingFailed:
			if !ev.Canceled {
				fault = "a request failed: " + ev.ErrorText
			}
		case *network.EventResponseReceived:
			if ev.Response.Status >= 500 {
				fault = "a request failed: " + ev.Response.StatusText
			}
		case *chromepage.EventJavascriptDialogOpening:
			fault = "a dialog: " + ev.Message
		case *network.EventRequestWillBeSent:
			if !strings.HasPrefix(ev.Request.URL, own+"/") {
				fault = "a request to " + ev.Request.URL
			}
		}
		if fault != "" {
			b.lock.Lock()
			defer b.lock.Unlock()
			b.faults = append(b.faults, fault)
		}
	})
	fatal.If(t, err)
	order(t, b, network.Enable, network.EnableParams{})
	order(t, b, runtime.Enable, cdp.Empty{})
	return b
}

// run does something in the browser.
func (b *browser) run(t *testing.T, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	fatal.If(t, chromedp.Do(b, steps...))
}

// found is what an action found.
func found[T any](t *testing.T, b *browser, action chromedp.Action[T]) T {
	t.Helper()
	v, err := chromedp.Run(b, action)
	fatal.If(t, err)
	return v
}

// order sends a command of the protocol.
func order[P, R any](t *testing.T, b *browser, command cdp.Command[P, R], params P) R {
	t.Helper()
	v, err := chromedp.Call(b, command, params)
	fatal.If(t, err)
	return v
}

// quiet demands that nothing was complained of.
func (b *browser) quiet(t *testing.T, where string) {
	t.Helper()
	b.lock.Lock()
	defer b.lock.Unlock()
	for _, f := range b.faults {
		t.Errorf("%s: %s", where, f)
	}
	b.faults = nil
}

// view sets width and scheme of what is shown.
func (b *browser) view(t *testing.T, width int64, scheme string) {
	t.Helper()
	b.run(t, chromedp.EmulateViewport(width, 900))
	order(t, b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
}

// shot keeps a picture of the page in the folder that PACSGP_SHOTS names.
func (b *browser) shot(t *testing.T, name string) {
	t.Helper()
	folder := os.Getenv("PACSGP_SHOTS")
	if folder == "" {
		return
	}
	write(t, filepath.Join(folder, name+".png"), found(t, b, chromedp.FullScreenshot(100)))
}

// accessible demands that axe-core, whose file PACSGP_AXE names, finds nothing in the page: contrast,
// labels, structure. That the page of a service reloads itself stands at its foot.
func (b *browser) accessible(t *testing.T, where string) {
	t.Helper()
	axe := os.Getenv("PACSGP_AXE")
	if axe == "" {
		return
	}
	source, err := os.ReadFile(axe)
	fatal.If(t, err)
	yes := true
	said := order(t, b, runtime.Evaluate, runtime.EvaluateParams{
		Expression:   string(source) + `;axe.run({rules: {"meta-refresh": {enabled: false}}}).then(r => r.violations.map(v => v.id + ": " + v.nodes.map(n => n.html).join(" ")).join("\n") + (r.passes.length > 10 ? "" : "nothing was looked at"))`,
		AwaitPromise: &yes, ReturnByValue: &yes,
	})
	if said.ExceptionDetails != nil || string(said.Result.Value) != `""` {
		t.Errorf("%s: axe-core: %s, %+v", where, said.Result.Value, said.ExceptionDetails)
	}
}

// shelf is a folder of certificates of several kinds, one with names that would be
// obeyed, and the addresses of their pages.
func shelf(t *testing.T) (x *Index, pages map[string]string) {
	t.Helper()
	dir := t.TempDir()
	var ids []string
	for i, kl := range []float64{5000, 700, 420, 300, 180, 90, 61.25} {
		id, _ := put(t, dir, certifytest.Certificate(t, withKL(kl)), noon.Add(time.Duration(i)*23*time.Hour))
		ids = append(ids, id)
	}
	put(t, dir, certifytest.Certificate(t, func(ev *certify.Evidence) {
		ev.Assumptions[1].Status, ev.Assumptions[1].Diagnostic = certify.AssumptionBroken, "The prior saw all rows."
	}), noon.Add(7*23*time.Hour))
	long := "<img src=x onerror=alert(1)>" + strings.Repeat("LongNamesWithoutBlanks", 4)
	hostile, _ := put(t, filepath.Join(dir, "other"), certifytest.Certificate(t, func(ev *certify.Evidence) {
		ev.Loss.Target, ev.Sample.Columns = long, []string{"<script>alert(2)", long}
		ev.Theta[0].Name = "ln lengthscale of <script>alert(2)"
	}), noon)
	write(t, filepath.Join(dir, "certificate-<script>alert(3).json"), []byte("<script>alert(3)"))
	nights := filepath.Join(dir, "nights")
	threeNights(t, nights)
	x = indexOf(t, dir)
	key := keyOf(nights)
	return x, map[string]string{
		"overview": "/", "job": "/job/" + key, "runs": "/runs/" + key, "series-current": "/series/" + x.Now().byJob[key].Series[0].Key(), "series": "/series/" + x.Now().byID[ids[0]].Series.Key(), "certificate": "/certificate/" + ids[6], "compare": "/compare?a=" + ids[5] + "&b=" + ids[6],
		"refused": "/compare?a=" + ids[5] + "&b=" + hostile, "hostile": "/certificate/" + hostile, "hostile-series": "/series/" + x.Now().byID[hostile].Series.Key(), "unreadable": "/unreadable", "about": "/about", "live": "/live",
	}
}

// serve serves pages on loopback until the test ends.
func serve(t *testing.T, c serving.Config) *serving.Server {
	t.Helper()
	c.Address = "127.0.0.1:0"
	s, err := serving.Start(t.Context(), c)
	fatal.If(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// nowLive is what a stream might say of itself, names that would be obeyed among it.
func nowLive() Live {
	const hostile = "<script>alert(4)</script>"
	facts := []Fact{
		{"window", "12, 61,440 rows"},
		{"partitions", "0, 1, 2 of " + hostile},
		{"rows in", "83,120"},
		{"rows that broke the rules", "4"},
		{hostile + strings.Repeat("LongNamesWithoutBlanks", 4), "1"},
		{"last event", "published certificate number 11, certified, bound 0.0722"},
	}
	trace := make([]float64, 120)
	for i := range trace {
		trace[i] = 0.12 + 0.8/float64(1+i/3)
	}
	return Live{Doing: "trains on window 12", Facts: facts, Have: 83_120, Of: 131_072, What: "rows of window 13", Trace: trace}
}

// Every page, wide and as on a telephone, light and dark: the browser complains of nothing,
// asks nobody else, runs nothing, and the page is not wider than the window. Whatever can be
// used has a name.
func TestPagesInBrowser(t *testing.T) {
	x, pages := shelf(t)
	server := serve(t, serving.Config{Pages: handler(x, nowLive, func() time.Time { return noon.Add(4 * 24 * time.Hour) })})
	b := newBrowser(t, server.URL)
	for name, path := range pages {
		grounds := map[string]bool{}
		for _, v := range []struct {
			width  int64
			scheme string
		}{{1200, "light"}, {1200, "dark"}, {360, "light"}, {360, "dark"}} {
			b.view(t, v.width, v.scheme)
			b.run(t, chromedp.Navigate(server.URL+path))
			wider := found(t, b, chromedp.Evaluate[bool](`document.scrollingElement.scrollWidth > innerWidth`))
			ground := found(t, b, chromedp.Evaluate[string](`getComputedStyle(document.body).backgroundColor`))
			heading := found(t, b, chromedp.Text("h1"))
			nodes := order(t, b, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{}).Nodes
			where := name + " " + v.scheme
			if wider || heading == "" {
				t.Errorf("%s: heading %q; wider than %d: %v", where, heading, v.width, wider)
			}
			for _, n := range nodes {
				if n.Ignored || n.Role == nil {
					continue
				}
				switch role := strings.Trim(string(n.Role.Value), `"`); role {
				case "link", "button", "radio", "textbox", "image", "table", "region", "navigation", "heading", "img":
					if n.Name == nil || strings.Trim(string(n.Name.Value), `"`) == "" {
						t.Errorf("%s: a %s without a name", where, role)
					}
				}
			}
			grounds[v.scheme+ground] = true
			b.accessible(t, where)
			if b.shot(t, name+"-"+v.scheme+map[bool]string{true: "-narrow"}[v.width < 500]); len(grounds) > 2 {
				t.Errorf("%s: %v", where, grounds)
			}
			b.quiet(t, where)
		}
		if len(grounds) != 2 {
			t.Errorf("%s: %v: light and dark are to differ", name, grounds)
		}
	}
}

// With the keyboard alone: to the content, through a table, to two certificates and their
// comparison.
func TestKeyboard(t *testing.T) {
	x, pages := shelf(t)
	token := filepath.Join(t.TempDir(), "token")
	write(t, token, []byte("a-token-of-some-length"))
	server := serve(t, serving.Config{TokenFile: token, Pages: Handler(x, nil)})
	b := newBrowser(t, server.URL)
	focus := func(key string) (where string) {
		t.Helper()
		b.run(t, chromedp.KeyEvent(key))
		where = found(t, b, chromedp.Evaluate[string](`(e => e.tagName + " " + (e.name || e.className || e.id || ""))(document.activeElement)`))
		outline := found(t, b, chromedp.Evaluate[string](`getComputedStyle(document.activeElement).outlineStyle`))
		if outline == "none" && !strings.HasPrefix(where, "MAIN") && !strings.HasPrefix(where, "BODY") {
			t.Errorf("%s has the focus, and does not show it", where)
		}
		return where
	}
	until := func(want string) {
		t.Helper()
		var seen []string
		for range 60 {
			where := focus(kb.Tab)
			if seen = append(seen, where); where == want {
				return
			}
		}
		t.Fatalf("no %q among %q", want, seen)
	}
	// The token first.
	b.view(t, 1200, "light")
	b.run(t, chromedp.Navigate(server.URL+"/"))
	until("INPUT token")
	b.run(t, chromedp.KeyEvent("a-token-of-some-length"), chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible(".card"))
	b.run(t, chromedp.Navigate(server.URL+pages["series"]))
	if where := focus(kb.Tab); where != "A skip" {
		t.Errorf("the first stop is %s", where)
	}
	if where := focus(kb.Enter); where != "MAIN main" {
		t.Errorf("behind the link is %s", where)
	}
	until("INPUT a")
	b.run(t, chromedp.KeyEvent(" "))
	until("INPUT b")
	b.run(t, chromedp.KeyEvent(kb.ArrowDown))
	until("BUTTON ")
	b.run(t, chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible(`//h1[contains(., "Two certificates") or contains(., "cannot") or contains(., "Which")]`))
	said, address := found(t, b, chromedp.Text("main")), found(t, b, chromedp.Location())
	if !strings.Contains(address, "/compare?a=") || !strings.Contains(said, "bound for the mean") {
		t.Errorf("%s: %s", address, said)
	}
	b.quiet(t, "keyboard")
}
