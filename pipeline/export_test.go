package pipeline

import (
	"context"
	"errors"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/model"
)

// RoleHash is the keyed hash that roles follow from.
func RoleHash(key string, ordinal int64) uint64 { return newRoleHasher(key).rank(ordinal).hash }

// ReferenceRows are the ordinals of the reference rows, ascending.
func (r Roles) ReferenceRows() []int64 { return r.reference }

// A Feed opens the feed of a job's train rows to tests of this folder.
type Feed struct{ f *feed }

// NewFeed surveys the source for its roles and scaling.
func NewFeed(ctx context.Context, src Source, job Job, res Resources) (Feed, error) {
	s, err := survey(ctx, src, job, res.WithDefaults(), nil)
	if err != nil {
		return Feed{}, err
	}
	f, err := newFeed(ctx, src, s, res.WithDefaults())
	return Feed{f}, err
}

// Kept reports whether the rows are in memory.
func (f Feed) Kept() bool { return f.f.x != nil }

// Train is the number of train rows.
func (f Feed) Train() int64 { return f.f.roles.Train() }

// Full delivers one full pass.
func (f Feed) Full(ctx context.Context, use func(x, y []float64) error) error {
	return f.f.full(ctx, use)
}

// Shuffled reads on where so many rows have been taken.
func (f Feed) Shuffled(seed uint64, buffer int, taken int64) *Shuffled {
	return &Shuffled{&shuffled{feed: f.f, buffer: buffer, seed: seed, taken: taken}}
}

// Shuffled opens the shuffled reader.
type Shuffled struct{ r *shuffled }

// Take returns the next rows.
func (s *Shuffled) Take(ctx context.Context, n int) (x, y []float64, err error) {
	return s.r.take(ctx, n)
}

// Taken is the reader's place.
func (s *Shuffled) Taken() int64 { return s.r.taken }

// Close stops the reader.
func (s *Shuffled) Close() { s.r.close() }

// TargetsDigest is the digest of the multiset of values, added up in parts.
func TargetsDigest(parts ...[]float64) Digest {
	var sum multiset
	for _, part := range parts {
		var m multiset
		m.add(part)
		sum.merge(m)
	}
	return sum.digest()
}

var testMarker = newMarker(newSecret())

// Marks are the marks of rows, by one marker for the whole test.
func Marks(columns [][]float64) []uint64 {
	marks := make([]mark, len(columns[0]))
	testMarker.rows(marks, columns, indices(len(columns)))
	out := make([]uint64, len(marks))
	for i, m := range marks {
		out[i] = uint64(m)
	}
	return out
}

// LeastRecords is how many records a sorted run has at the least.
const LeastRecords = leastRecords

// A Temporary is a temporary file.
type Temporary = temporary

// CreateTemporary makes one.
func CreateTemporary(folder string) (Temporary, error) { return createTemporary(folder) }

// CountCopies counts equal marks, in the file that create makes if they exceed the
// memory. later are the ordinals of later copies.
func CountCopies(ctx context.Context, marks []uint64, res Resources, create func() (Temporary, error)) (found Copies, later []int64, err error) {
	n := int64(len(marks))
	set := newOrdinalSet(n)
	c := newCounter(n, res, set)
	if create != nil {
		c.create = create
	}
	for i, m := range marks {
		if err := c.add(ctx, []rowRecord{{m, uint64(i)}}); err != nil {
			return Copies{}, nil, errors.Join(err, c.close())
		}
	}
	found, err = c.count(ctx)
	for i := range n {
		if set.has(i) {
			later = append(later, i)
		}
	}
	return found, later, errors.Join(err, c.close())
}

// An OrdinalSet is a set of ordinals below a limit.
type OrdinalSet struct{ s *ordinalSet }

// NewOrdinalSet makes one.
func NewOrdinalSet(limit int64, members ...int64) OrdinalSet {
	s := newOrdinalSet(limit)
	for _, m := range members {
		s.add(m)
	}
	s.seal()
	return OrdinalSet{s}
}

// Has reports whether an ordinal is a member.
func (o OrdinalSet) Has(ordinal int64) bool { return o.s.has(ordinal) }

// Size is the number of members.
func (o OrdinalSet) Size() int64 { return o.s.size() }

// CountBefore is the number of members below an ordinal.
func (o OrdinalSet) CountBefore(ordinal int64) int64 { return o.s.countBefore(ordinal) }

// NewRoles are the roles of rows without copies.
func NewRoles(key string, n int64, unscaled bool, workers int) Roles {
	return NewRolesWithout(key, n, unscaled, OrdinalSet{}, workers)
}

// NewRolesWithout are the roles of rows of which some are copies.
func NewRolesWithout(key string, n int64, unscaled bool, copies OrdinalSet, workers int) Roles {
	r, _ := NewRolesWithin(context.Background(), key, n, unscaled, copies, workers) // fails only with its context
	return r
}

// NewRolesWithin are the same, as long as a context lasts.
func NewRolesWithin(ctx context.Context, key string, n int64, unscaled bool, copies OrdinalSet, workers int) (Roles, error) {
	job := Job{Roles: RolesDecl{Key: key}}
	if unscaled {
		job.Scaling = ScalingNone
	}
	return newRoles(ctx, job, n, leftOut{copies: copies.s}, workers)
}

// Share is where the i-th of so many parts of n rows begins.
func Share(n, i, parts int64) int64 { return share(n, i, parts) }

// TrainRows are the ordinals of the train rows, block by block, and whether each
// has the place among them that trainIndex says.
func (r Roles) TrainRows(blockRows int) (ordinals []int64, inPlace bool) {
	inPlace = true
	for first := int64(0); first < r.Rows; first += int64(blockRows) {
		b := block{first: first, rows: int(min(int64(blockRows), r.Rows-first))}
		_ = r.runs(b, func(from, to int) error {
			for i := from; i < to; i++ {
				ordinal := first + int64(i)
				inPlace = inPlace && r.trainIndex(ordinal) == int64(len(ordinals))
				ordinals = append(ordinals, ordinal)
			}
			return nil
		})
	}
	return ordinals, inPlace && r.trainIndex(r.Rows) == int64(len(ordinals))
}

// NewRolesWithHoldout are the roles of a job that keeps a share of the rows apart.
func NewRolesWithHoldout(key string, n int64, share float64, copies OrdinalSet) (Roles, error) {
	return newRoles(context.Background(), Job{Roles: RolesDecl{Key: key, Holdout: share}}, n, leftOut{copies: copies.s}, 2)
}

// HoldoutRows are the ordinals of the hold-out rows, block by block.
func (r Roles) HoldoutRows(blockRows int) (ordinals []int64) {
	for first := int64(0); first < r.Rows; first += int64(blockRows) {
		b := block{first: first, rows: int(min(int64(blockRows), r.Rows-first))}
		_ = r.heldOut(b, func(i int) error {
			ordinals = append(ordinals, first+int64(i))
			return nil
		})
	}
	return ordinals
}

// StartRows are the ordinals of the first rows by rank.
func (r Roles) StartRows() []int64 {
	var ordinals []int64
	for _, x := range r.first(startRows) {
		ordinals = append(ordinals, x.ordinal)
	}
	return ordinals
}

// PassOver makes the last pass over some shards.
func (h *Handover) PassOver(ctx context.Context, shards []int, env Environment) (*Pass, error) {
	p, err := h.Prepare(ctx, env)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	return p.read(ctx, func([]Shard) []int { return shards })
}

// SeriesOf adds up numbers that lie in shards.
func SeriesOf(shards ...[]int64) certify.Series {
	var all series
	for _, values := range shards {
		var one series
		for _, v := range values {
			one.add(v)
		}
		all.merge(one)
	}
	return all.Series
}

// ShardsOf are the indices of the shards of a part.
func (p Part) ShardsOf(all []Shard) []int { return p.shards(all) }

// ScaledAs is the model's posterior for rows that are scaled in another way.
func (m Model) ScaledAs(features []Affine, target Affine) (*model.Posterior, error) {
	return m.scaledAs(features, target)
}

// OnCircle is a point of the unit circle at so many turns.
func OnCircle(turns float64) (x, y float64) { return onCircle(turns) }

// Forge changes what a pass says of its shards with rows: the rows that it kept, and digests.
func (p *Pass) Forge(forge func(kept []float64, columns []ColumnDigest) []float64) {
	for _, s := range p.inOrder() {
		if len(s.kept) > 0 {
			s.kept = forge(s.kept, s.columns)
		}
	}
}

// WithPredictor gives a model the predictor that follows from it and the rows.
func WithPredictor(ctx context.Context, src Source, job Job, m Model) (Model, error) {
	job, err := job.WithDefaults()
	if err != nil {
		return m, err
	}
	s, err := survey(ctx, src, job, Resources{}, nil)
	if err != nil {
		return m, err
	}
	t := &training{job: job.ForRows(s.Roles.Rows), survey: s}
	if t.feed, err = newFeed(ctx, src, s, Resources{Memory: 1 << 20}); err != nil {
		return m, err
	}
	if t.loss, err = scaledLoss(m.Meta.Loss, m.Meta.Target); err != nil {
		return m, err
	}
	err = t.predictor(ctx, &m)
	return m, err
}
