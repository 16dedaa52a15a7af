// The C API and the format say the same things by the same numbers: marking passes them on as they
// are. Nothing here runs.
#include "crosscut/crosscut.h"
#include "src/format/format.h"

namespace crosscut::record {
namespace {

using namespace crosscut::format;  // NOLINT: every number of it is compared here

static_assert(CROSSCUT_LAYER_NONE == +kLayerNone && CROSSCUT_PYTHON == +kLayerPython &&
              CROSSCUT_FRAMEWORK == +kLayerFramework && CROSSCUT_RUNTIME == +kLayerRuntime &&
              CROSSCUT_SIMULATOR == +kLayerSimulator && CROSSCUT_DATA == +kLayerData &&
              CROSSCUT_COMM == +kLayerComm && CROSSCUT_NATIVE == +kLayerNative &&
              CROSSCUT_IDLE == +kLayerIdle && CROSSCUT_OVERHEAD == +kLayerOverhead);
static_assert(CROSSCUT_SPAN == +kKindSpan && CROSSCUT_OPERATION == +kKindOperation &&
              CROSSCUT_STEP == +kKindStep && CROSSCUT_PHASE == +kKindPhase &&
              CROSSCUT_TEXT == +kKindText);
static_assert(CROSSCUT_WAITS == +kFlagWaits && CROSSCUT_NO_LAYER == +kFlagNoLayer &&
              CROSSCUT_CALLED_AT == +kFlagCalledAt && CROSSCUT_OVERLOADED == +kFlagOverloaded &&
              CROSSCUT_FOUND == +kFlagFound && CROSSCUT_FRAME == +kFlagFrame &&
              CROSSCUT_CROSSES == +kFlagCrosses && CROSSCUT_ASYNC == +kFlagAsync &&
              CROSSCUT_GOES_ON == +kFlagGoesOn);
static_assert(CROSSCUT_LEVEL_CONTROL == +kLevelControl &&
              CROSSCUT_LEVEL_BOUNDARY == +kLevelBoundary &&
              CROSSCUT_LEVEL_OPERATORS == +kLevelOperators &&
              CROSSCUT_LEVEL_EVERYTHING == +kLevelEverything &&
              CROSSCUT_LEVEL_MARKS == +kLevelMarks);

}  // namespace
}  // namespace crosscut::record
