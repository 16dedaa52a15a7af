// The arguments of the spans, or of the instants, of one track.
//
// A trace has more of them than of anything else, so they are kept small. Owners whose arguments
// have the same keys in the same order and the same forms share a list of these, their shape. Each
// owner holds one 32-bit word for each value, two for a number that needs them. Owners that are
// told to share hold the same words.
#pragma once

#include <cstdint>
#include <unordered_set>
#include <vector>

#include "src/trace/blocks.h"
#include "src/trace/ids.h"

namespace crosscut::trace {

struct Arg {
  StringId key;
  bool is_text = false;
  int64_t value = 0;     // a number, or the index of a string
  bool is_json = false;  // the text is JSON as a file had it: a fraction, an array, true
  bool beside = false;   // a field of the event itself, beside its arguments
  // None for a number.
  StringId text() const {
    return is_text ? StringId{static_cast<uint32_t>(value)} : StringId::None();
  }
};

// Moves, but is not copied.
class Args {
  enum class Form : uint8_t { kNumber, kWide, kText, kJson };
  struct Field {
    StringId key;
    Form form;
    bool beside;
    friend bool operator==(Field, Field) = default;
  };

 public:
  class Iterator {
   public:
    Arg operator*() const { return args_->Read(*field_, word_); }
    Iterator& operator++() {
      word_ += WordsOf(*field_++);
      return *this;
    }
    friend bool operator==(const Iterator& a, const Iterator& b) { return a.field_ == b.field_; }

   private:
    friend class Args;
    Iterator(const Args* args, const Field* field, uint32_t word)
        : args_(args), field_(field), word_(word) {}
    const Args* args_;
    const Field* field_;
    uint32_t word_;
  };
  struct Range {
    Iterator first, last;
    bool repeats;  // a key stands there more than once
    Iterator begin() const { return first; }
    Iterator end() const { return last; }
    // Whether the key of `at` stands again further on. The last value counts then, as for readers
    // of JSON.
    bool StandsLater(Iterator at) const {
      if (!repeats) return false;
      const Arg arg = *at;
      while (!(++at == last)) {
        if ((*at).key == arg.key && (*at).beside == arg.beside) return true;
      }
      return false;
    }
  };

  // The arguments of a span or an instant, in their order. Valid until something is added.
  Range of(uint32_t owner) const {
    const Entry entry = owner < entries_.size() ? entries_[owner] : Entry{};
    const Shape& shape = shapes_[entry.shape];
    const Field* const fields = fields_.data() + shape.first;
    return {{this, fields, entry.word}, {this, fields + shape.size, 0}, shape.repeats};
  }
  // The owner's first argument with that key; an Arg without a key where there is none.
  Arg Find(uint32_t owner, StringId key) const {
    for (const Arg& arg : of(owner)) {
      if (arg.key == key) return arg;
    }
    return {};
  }
  size_t size() const { return size_; }  // of all owners

  // Refers to the arguments that an owner has so far.
  class Shared {
    friend class Args;
    uint32_t word_ = 0, shape_ = 0;
  };
  Shared SharedOf(uint32_t owner) const;
  // Gives them to `owner`, which has none yet.
  void Share(uint32_t owner, Shared shared);

  // Adds to the arguments of `owner`: the owner of the last call, or one that has none yet.
  void Add(uint32_t owner, const Arg& arg);
  // Adds to `owner` all that `from` has for `which`. Call it once for each `which`: `from` may
  // forget them. Requires: this was made by `from`->LikeThese(), and nothing was added to `from`
  // since.
  void Take(uint32_t owner, Args* from, uint32_t which);
  // Empty arguments with the same shapes.
  Args LikeThese() const;

  // Puts map(id) in the place of every string's id.
  template <class Mapping>
  void MapStrings(Mapping map) {
    std::vector<bool> mapped(any_shared_ ? words_.size() : 0);
    for (size_t owner = 0; owner < entries_.size(); ++owner) {
      const Entry entry = entries_[owner];
      const Shape& shape = shapes_[entry.shape];
      uint32_t word = entry.word;
      for (uint32_t i = shape.first; i < shape.first + shape.size; ++i) {
        const bool again = any_shared_ && mapped[word];
        if (any_shared_) mapped[word] = true;
        if (IsText(fields_[i].form) && !again) {
          words_[word] = map(StringId{words_[word]}).value;
        }
        word += WordsOf(fields_[i]);
      }
    }
    for (Field& field : fields_) field.key = map(field.key);
    keys_of_ = 0;
  }

 private:
  // One field more than the shape whose child it is.
  struct Shape {
    uint32_t first = 0, size = 0;     // fields
    uint32_t child = 0, sibling = 0;  // the newest child; the parent's next older one; 0: none
    bool repeats = false;
  };
  struct Entry {
    uint32_t word = 0, shape = 0;  // shape 0 has no fields
  };

  static bool IsText(Form form) { return form == Form::kText || form == Form::kJson; }
  static uint32_t WordsOf(Field field) { return field.form == Form::kWide ? 2 : 1; }
  Arg Read(Field field, uint32_t word) const {
    const uint32_t low = words_[word];
    switch (field.form) {
      case Form::kNumber: return {field.key, false, static_cast<int32_t>(low), false, field.beside};
      case Form::kText: return {field.key, true, low, false, field.beside};
      case Form::kJson: return {field.key, true, low, true, field.beside};
      case Form::kWide: break;
    }
    const auto high = static_cast<uint64_t>(words_[word + 1]);
    return {field.key, false, static_cast<int64_t>(high << 32 | low), false, field.beside};
  }
  Entry& EntryOf(uint32_t owner) {
    while (owner >= entries_.size()) entries_.push_back({});
    return entries_[owner];
  }
  uint32_t WordsOf(const Shape& shape) const;
  // Appends a copy of `count` words of `from`, the first of them `first`. Returns where the copy
  // begins.
  uint32_t CopyWords(const Args& from, uint32_t first, uint32_t count);
  uint32_t ChildOf(uint32_t shape, Field field);
  bool HasKey(uint32_t id, const Shape& shape, Field field, uint32_t child);

  Blocks<Entry, 12> entries_;  // by owner
  std::vector<Shape> shapes_ = std::vector<Shape>(1);
  std::vector<Field> fields_;
  Blocks<uint32_t, 14> words_;
  size_t size_ = 0;
  bool any_shared_ = false;
  // The keys of the fields of that shape; shape 0: of none.
  std::unordered_set<uint64_t> keys_;
  uint32_t keys_of_ = 0;
};

}  // namespace crosscut::trace
