// Which library an address of code belongs to. Symbols are looked up where the run is read.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace crosscut::samples {

class Libraries {
 public:
  struct Place {
    uint32_t library;  // name id of its path, a tab and file_identity.h's words; "[generated]" for
                       // code of no file
    int64_t offset;    // in that file; 0 where there is none
  };
  // A library id of 0 where the address is no code that is known.
  Place Find(uint64_t address);

 private:
  struct Range {
    uint64_t begin, end, offset;
    const std::string* path;  // a key of ids_
  };
  const Range* Holds(uint64_t address) const;
  void Read();

  std::vector<Range> ranges_;                      // ascending
  std::unordered_map<std::string, uint32_t> ids_;  // by path; 0: no sample was there yet
  int64_t read_ns_ = 0;
};

}  // namespace crosscut::samples
