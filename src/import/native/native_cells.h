// Cells of a notebook, which are compiled under names of files that say nothing to a reader.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace crosscut::import {

// What a reader knows a cell by, "Cell In[2]", by the last part of its file's name.
using Cells = std::map<std::string, std::string, std::less<>>;

// Takes a fact of a process; where it says which cell a file is ("cell:<file>"), keeps that. False
// for every other one.
bool TakeCell(std::string_view key, std::string_view value, Cells* cells);

// A name with the cell in place of its file: "31847.py:3 work" becomes "Cell In[2]:3 work", and
// "work (a/31847.py:3)" becomes "work (Cell In[2]:3)". "" where it names none of them.
std::string WithCell(const Cells& cells, std::string_view name);

}  // namespace crosscut::import
