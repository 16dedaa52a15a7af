#include "src/trace/args.h"

#include <algorithm>

namespace crosscut::trace {
namespace {

constexpr int kMostTries = 16;  // children that are looked at: there may be two alike

}  // namespace

void Args::Add(uint32_t owner, const Arg& arg) {
  const bool wide = !arg.is_text && arg.value != static_cast<int32_t>(arg.value);
  Entry& entry = EntryOf(owner);
  if (entry.shape == 0) {
    entry.word = static_cast<uint32_t>(words_.size());
  } else if (any_shared_) {
    const uint32_t count = WordsOf(shapes_[entry.shape]);
    if (entry.word + count != words_.size()) entry.word = CopyWords(*this, entry.word, count);
  }
  const Form text = arg.is_json ? Form::kJson : Form::kText;
  const Form number = wide ? Form::kWide : Form::kNumber;
  entry.shape = ChildOf(entry.shape, {arg.key, arg.is_text ? text : number, arg.beside});
  words_.push_back(static_cast<uint32_t>(arg.value));
  if (wide) words_.push_back(static_cast<uint32_t>(static_cast<uint64_t>(arg.value) >> 32));
  ++size_;
}

Args::Shared Args::SharedOf(uint32_t owner) const {
  Shared shared;
  if (owner >= entries_.size()) return shared;
  shared.word_ = entries_[owner].word;
  shared.shape_ = entries_[owner].shape;
  return shared;
}

void Args::Share(uint32_t owner, Shared shared) {
  EntryOf(owner) = {shared.word_, shared.shape_};
  size_ += shapes_[shared.shape_].size;
  any_shared_ = true;
}

uint32_t Args::WordsOf(const Shape& shape) const {
  uint32_t words = 0;
  for (uint32_t i = 0; i < shape.size; ++i) words += WordsOf(fields_[shape.first + i]);
  return words;
}

uint32_t Args::CopyWords(const Args& from, uint32_t first, uint32_t count) {
  const auto at = static_cast<uint32_t>(words_.size());
  for (uint32_t i = 0; i < count; ++i) words_.push_back(uint32_t{from.words_[first + i]});
  return at;
}

uint32_t Args::ChildOf(uint32_t shape, Field field) {
  uint32_t child = shapes_[shape].child;
  for (int i = 0; child != 0 && i < kMostTries; ++i, child = shapes_[child].sibling) {
    if (fields_[shapes_[child].first + shapes_[child].size - 1] == field) return child;
  }
  child = static_cast<uint32_t>(shapes_.size());
  Shape made = shapes_[shape];
  if (made.first + made.size != fields_.size()) {  // others' stand behind its fields
    const auto first = static_cast<uint32_t>(fields_.size());
    for (uint32_t i = 0; i < made.size; ++i) fields_.push_back(Field(fields_[made.first + i]));
    made.first = first;
  }
  made.repeats = made.repeats || HasKey(shape, made, field, child);
  fields_.push_back(field);
  ++made.size;
  made.sibling = made.child;
  made.child = 0;
  shapes_.push_back(made);
  shapes_[shape].child = child;
  return child;
}

// Whether the key of `field`, which is about to follow, stands among the fields of the shape. Of
// one with many that grows field by field, which `child` is next, they are kept.
bool Args::HasKey(uint32_t id, const Shape& shape, Field field, uint32_t child) {
  constexpr uint32_t kFew = 32;
  const auto key_of = [](Field of) { return uint64_t{of.key.value} << 1 | uint64_t{of.beside}; };
  const auto fields = fields_.begin() + shape.first;
  if (shape.size < kFew) {
    return std::any_of(fields, fields + shape.size,
                       [&](Field other) { return key_of(other) == key_of(field); });
  }
  if (keys_of_ != id) {
    keys_.clear();
    for (uint32_t i = 0; i < shape.size; ++i) keys_.insert(key_of(fields[i]));
  }
  keys_of_ = child;
  return !keys_.insert(key_of(field)).second;
}

void Args::Take(uint32_t owner, Args* from, uint32_t which) {
  const Entry taken = which < from->entries_.size() ? from->entries_[which] : Entry{};
  if (taken.shape == 0) return;
  const Shape& shape = from->shapes_[taken.shape];
  const uint32_t words = from->WordsOf(shape);
  Entry& entry = EntryOf(owner);
  if (entry.shape != 0) {
    for (const Arg& arg : from->of(which)) Add(owner, arg);
  } else {
    entry = {CopyWords(*from, taken.word, words), taken.shape};
    size_ += shape.size;
  }
  if (from->any_shared_) return;  // somebody else may ask for them
  for (uint32_t i = 0; i < words; ++i) from->words_.Forget(taken.word + i);
}

Args Args::LikeThese() const {
  Args args;
  args.shapes_ = shapes_;
  args.fields_ = fields_;
  return args;
}

}  // namespace crosscut::trace
