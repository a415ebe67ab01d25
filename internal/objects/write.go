package objects

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strings"
)

// markHeader names the write of an object: the writer, a dot and the number of the write.
const markHeader = "X-Amz-Meta-Pacsgp"

// mostPut is the size of the largest object that one request writes, in all stores.
const mostPut = 5 << 30

// put writes an object if its ETag is was, "" for an object that does not exist, and returns the new
// ETag. An object with another ETag is [ErrChanged], unless this write has made it, whose answer may be
// lost, or an earlier one of this writer, if it is unsure of one. Equal bytes are no sign of that: two
// writers may write the same.
func (c *client) put(ctx context.Context, address, was string, body payload, writer string, number int, unsure bool) (tag string, err error) {
	if body.size > mostPut {
		return "", fmt.Errorf("%s: it has %d bytes, and a write to a store takes at most %d", address, body.size, mostPut)
	}
	mark := fmt.Sprintf("%s.%d", writer, number)
	for range tries {
		header := http.Header{markHeader: {mark}}
		if was == "" {
			header.Set("If-None-Match", "*")
		} else {
			header.Set("If-Match", was)
		}
		err = c.do(ctx, call{method: http.MethodPut, address: address, header: header, body: body}, func(resp *http.Response) error {
			if tag = resp.Header.Get("ETag"); tag == "" {
				return errors.New("the server gives no ETag for what was written")
			}
			return nil
		})
		switch missing := errors.Is(err, fs.ErrNotExist); {
		case missing && was == "":
			return "", fmt.Errorf("%s: there is no bucket of this name", address)
		case !missing && !errors.Is(err, ErrChanged):
			return tag, err
		}
		at, looked := c.head(ctx, address)
		switch {
		case errors.Is(looked, fs.ErrNotExist):
			return "", fmt.Errorf("%s: %w", address, ErrChanged)
		case looked != nil:
			return "", looked
		case at.mark == mark:
			return at.tag, nil
		case !unsure || !at.by(writer):
			return "", err
		}
		was = at.tag // an earlier write, of which nobody knew whether it was done
	}
	return "", err
}

// by reports whether a writer has written the object.
func (i *Info) by(writer string) bool { return strings.HasPrefix(i.mark, writer+".") }

// remove removes an object, if there is one.
func (c *client) remove(ctx context.Context, address string) error {
	err := c.do(ctx, call{method: http.MethodDelete, address: address}, func(*http.Response) error { return nil })
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// unknown reports whether a write that failed with err may have been done, or be done yet.
func unknown(err error) bool {
	_, passes := errors.AsType[brief](err)
	return passes || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
