// A comparison as a document, for the terminal and Markdown.
#pragma once

#include "src/compare/comparison.h"
#include "src/report/document.h"

namespace crosscut::compare {

// How many rows its grids have: the text is a screen.
struct DocumentSize {
  size_t operations = 8, names = 5, processes = 3;
};

// Names in it are clean (CleanText). `next` and the facts that name the inputs are the caller's.
report::Document MakeDocument(const Comparison& comparison, const DocumentSize& size);

}  // namespace crosscut::compare
