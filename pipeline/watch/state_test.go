package watch_test

import (
	"testing"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/certify/certifytest"
	"github.com/pacsgp/pacsgp/pipeline/watch"
)

// Bounds about rows of one role are none about rows as they come: no alarm is raised above them.
func TestBoundOfOneRoleRaisesNoAlarm(t *testing.T) {
	if b := watch.BoundOf(certifytest.Certificate(t, nil)); !(b < 1) {
		t.Fatalf("the bound is %v", b)
	}
	c := certifytest.Certificate(t, func(ev *certify.Evidence) { ev.Roles.ByContent, ev.Copies.Frequent = true, 1 })
	if b := watch.BoundOf(c); b != 1 {
		t.Errorf("with roles by content the bound is %v, want 1", b)
	}
}
