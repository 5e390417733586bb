package beamfeat_test

import (
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/stretchr/testify/assert"

	beamfeat "github.com/seed-feabd252/randfeat/beam"
)

// TestReadWithoutShards: a pipeline without rows would end with no error and no model.
func TestReadWithoutShards(t *testing.T) {
	_, s := beam.NewPipelineWithRoot()
	const want = "beamfeat: no shards, want at least one"
	assert.PanicsWithValue(t, want, func() { beamfeat.ReadNPY[float64](s) })
	assert.PanicsWithValue(t, want, func() { beamfeat.ReadCSV[float32](s) })
}
