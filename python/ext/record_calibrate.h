// What an operation scope of Python costs on this machine: the probe kind "operation".
#pragma once

namespace crosscut::python {

// Registers the source "annotations", once; the recorder then calibrates it per session.
void AddAnnotationSource();

}  // namespace crosscut::python
