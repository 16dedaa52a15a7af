// Arguments of spans whose value is an interned text.
//
// A value under the key "{}" is a JSON object: each member is an argument of its own. That way a
// recorder states in one word what belongs together, such as the inputs of an operator.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "src/import/native/native_session.h"
#include "src/trace/builder.h"

namespace crosscut::import {

class NativeArguments {
 public:
  // `builder` and `session` must outlive this object.
  NativeArguments(trace::Builder* builder, const NativeSession* session)
      : builder_(builder), session_(session) {}

  // Gives `track`'s last span or instant the argument `key` = `value`, both name ids. Members are
  // kept as importers of JSON do: integers as numbers, strings decoded, everything else as its JSON
  // text. A text under "{}" that is no object is an argument named "{}".
  void Add(uint64_t key, uint64_t value, trace::TrackBuilder* track);

 private:
  // An object, and a span of `track` that has its members and nothing else, if there is one.
  struct Object {
    std::vector<trace::Arg> members;
    trace::TrackId track;
    trace::Args::Shared shared;
  };
  Object& ObjectOf(uint64_t value);
  static void AddMembers(const Object& object, trace::TrackBuilder* track);

  trace::Builder* builder_;
  const NativeSession* session_;
  std::unordered_map<uint64_t, Object> objects_;  // by name id
};

}  // namespace crosscut::import
