package console

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	chromepage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

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
		fatal.Missing(t, "no browser: PACSGP_CHROMIUM is not set; make test-all sets it")
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
// labels, structure.
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
		Expression:   string(source) + `;axe.run().then(r => r.violations.map(v => v.id + ": " + v.nodes.map(n => n.html).join(" ")).join("\n") + (r.passes.length > 10 ? "" : "nothing was checked"))`,
		AwaitPromise: &yes, ReturnByValue: &yes,
	})
	if said.ExceptionDetails != nil || string(said.Result.Value) != `""` {
		t.Errorf("%s: axe-core: %s, %+v", where, said.Result.Value, said.ExceptionDetails)
	}
}

// One page passes axe without violations, loads nothing from elsewhere, works by keyboard, and is not
// wider than a telephone.
func TestPageInBrowser(t *testing.T) {
	server, err := serving.Start(t.Context(), serving.Config{Address: "127.0.0.1:0", Pages: handled(anOutput(t))})
	fatal.If(t, err)
	t.Cleanup(func() { _ = server.Close() })
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
	for _, v := range []struct {
		width  int64
		scheme string
	}{{1200, "light"}, {360, "dark"}, {360, "light"}} {
		b.view(t, v.width, v.scheme)
		b.run(t, chromedp.Navigate(server.URL+"/"))
		where := fmt.Sprint(v)
		if found(t, b, chromedp.Evaluate[bool](`document.scrollingElement.scrollWidth > innerWidth`)) {
			t.Errorf("%s: it is wider than the window", where)
		}
		b.accessible(t, where)
		b.shot(t, fmt.Sprintf("output-%d-%s", v.width, v.scheme))
	}
	if where := focus(kb.Tab); where != "A skip" {
		t.Errorf("the first stop is %s", where)
	}
	if where := focus(kb.Enter); where != "MAIN main" {
		t.Errorf("behind the link is %s", where)
	}
	where := ""
	for range 20 {
		if where = focus(kb.Tab); where == "DIV scroll" {
			break
		}
	}
	if where != "DIV scroll" {
		t.Errorf("the keyboard does not reach the chart: it ends at %s", where)
	}
	b.quiet(t, "the page")
}
