// The report as headings, sentences and grids of ready text. The terminal and Markdown views lay it
// out, each in its own way. Every number in it is a cell of a table.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/report/data.h"

namespace crosscut::report {

struct Grid {
  struct Head {
    std::string text;
    bool right = true;  // aligned right, as numbers are
  };
  std::vector<Head> heads;
  std::vector<std::vector<std::string>> rows;
  bool last_is_total = false;
};

struct Section {
  std::string heading;
  std::vector<std::string> before;  // sentences above the grid
  Grid grid;                        // without heads: no grid
  std::vector<std::string> after;
};

struct Document {
  // The answer, where the document has one: views put it before all else.
  std::vector<std::string> headline;
  std::string title;
  std::vector<std::pair<std::string, std::string>> facts;
  std::vector<std::string> gaps;
  Section verdict;  // right below the title; without a heading: there is none
  std::vector<Section> sections;
  std::vector<std::pair<std::string, std::string>> next;  // a command, and what it shows
};

struct DocumentOptions {
  size_t layer_columns = 4;  // in the grid "where the time went"
  size_t operations = 12;    // rows for each process; the rest is summed up
  size_t processes = 3;      // those with a grid of their own
  size_t functions = 6;
  size_t outliers = 3;
  size_t sentence_bytes = SIZE_MAX;  // of a fact or gap; names are whole
};

// The names of the tables that a document uses; `data` needs no others.
std::span<const std::string_view> DocumentTables();

// The document of a run. Names in it are clean (CleanText), but not escaped for any markup.
Document MakeDocument(const ReportData& data, const DocumentOptions& options);

}  // namespace crosscut::report
