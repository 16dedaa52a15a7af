// Building a table column by column.
#pragma once

#include <string>
#include <utility>

#include "src/analyze/table.h"

namespace crosscut::analyze {

// Moves the columns in, in this order.
template <class... C>
Table MakeTable(std::string name, C&&... columns) {
  Table table;
  table.name = std::move(name);
  table.columns.reserve(sizeof...(columns));
  (table.columns.push_back(std::forward<C>(columns)), ...);
  return table;
}

template <class Cells>
Column MakeColumn(const char* name, Cells& cells) {
  return Column{name, std::move(cells)};
}

}  // namespace crosscut::analyze
