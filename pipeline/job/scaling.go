package job

// An Affine maps a raw column to scaled units: (value − Centre) / Scale.
type Affine struct {
	Name   string  `json:"name"`
	Centre float64 `json:"centre"`
	Scale  float64 `json:"scale"` // > 0

	Values Meaning `json:"values,omitempty"` // of a feature
}
