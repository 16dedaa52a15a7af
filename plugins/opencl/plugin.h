// The plugin's side towards the host: its life cycle and its line in the report.
#pragma once

namespace crosscut::opencl {

// The application has loaded OpenCL with this layer in it.
bool LayerIsIn();

// Measures what the wrappers cost and tells the host.
void Calibrate();

}  // namespace crosscut::opencl
