#include "src/verbs/testing/drawn_space.h"

namespace crosscut::verbs {
namespace {

struct Field {
  uint64_t number = 0;
  int wire = 0;
  uint64_t value = 0;  // of a number
  std::string bytes;   // else
};

uint64_t TakeVarint(const std::string& from, size_t* at) {
  uint64_t value = 0;
  for (int shift = 0;; shift += 7) {
    const auto byte = static_cast<uint8_t>(from.at((*at)++));
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
}

std::vector<Field> FieldsOf(const std::string& message) {
  std::vector<Field> fields;
  for (size_t at = 0; at < message.size();) {
    const uint64_t key = TakeVarint(message, &at);
    Field field{key >> 3, static_cast<int>(key & 7), 0, ""};
    const size_t fixed = field.wire == 1 ? 8 : field.wire == 5 ? 4 : 0;
    if (field.wire == 0) field.value = TakeVarint(message, &at);
    const size_t size = field.wire == 2 ? TakeVarint(message, &at) : fixed;
    field.bytes = message.substr(at, size);
    at += size;
    fields.push_back(field);
  }
  return fields;
}

std::string Plain(const Field& field) {
  return " " + std::to_string(field.number) + "/" + std::to_string(field.wire) + "=" +
         (field.wire == 0 ? std::to_string(field.value) : "'" + field.bytes + "'");
}

class Describer {
 public:
  explicit Describer(const std::string& plane) : fields_(FieldsOf(plane)) {
    for (const int wanted : {5, 4}) {
      for (const Field& field : fields_) {
        if (field.number != static_cast<uint64_t>(wanted)) continue;
        uint64_t id = 0;
        std::string value;
        for (const Field& half : FieldsOf(field.bytes)) {
          if (half.number == 1) id = half.value;
          if (half.number == 2) value = half.bytes;
        }
        (wanted == 5 ? stats_[id] = OfStatName(value) : events_[id] = OfName(value));
      }
    }
  }

  void AddTo(std::vector<std::string>* told, int64_t begin) const {
    for (const Field& field : fields_) {
      if (field.number == 3) told->push_back(Line(field.bytes, begin));
      if (field.number == 6) told->push_back("of the plane: " + Stat(field.bytes));
      if (field.number > 6 && field.number != kNote) told->push_back("more:" + Plain(field));
    }
    for (const auto& [id, text] : events_) told->push_back("name:" + text);
    for (const auto& [id, text] : stats_) told->push_back("stat:" + text);
  }

 private:
  static constexpr uint64_t kNote = 1000;

  static std::string Of(const std::map<uint64_t, std::string>& names, uint64_t id) {
    const auto at = names.find(id);
    return at == names.end() ? "?" : at->second;
  }
  static std::string OfStatName(const std::string& message) {
    std::string text = "{";
    for (const Field& field : FieldsOf(message)) {
      if (field.number != 1) text += Plain(field);
    }
    return text + "}";
  }
  std::string Stat(const std::string& message) const {
    std::string text = "[";
    for (const Field& field : FieldsOf(message)) {
      const bool id = field.number == 1 || field.number == 7;
      text +=
          id ? " " + std::to_string(field.number) + "=" + Of(stats_, field.value) : Plain(field);
    }
    return text + "]";
  }
  // How many children it has; which they are would lead in a circle.
  std::string OfName(const std::string& message) const {
    std::string text = "(";
    for (const Field& field : FieldsOf(message)) {
      if (field.number == 5) {
        text += Stat(field.bytes);
      } else if (field.number == 6) {
        text += " children";
      } else if (field.number != 1) {
        text += Plain(field);
      }
    }
    return text + ")";
  }
  std::string Event(const std::string& message) const {
    std::string text = "<";
    for (const Field& field : FieldsOf(message)) {
      if (field.number == 1) {
        text += Of(events_, field.value);
      } else {
        text += field.number == 4 ? Stat(field.bytes) : Plain(field);
      }
    }
    return text + ">";
  }
  std::string Line(const std::string& message, int64_t begin) const {
    std::string text;
    int64_t timestamp = 0;
    for (const Field& field : FieldsOf(message)) {
      if (field.number == 3) timestamp = static_cast<int64_t>(field.value);
      if (field.number == 4) text += Event(field.bytes);
      if (field.number != 3 && field.number != 4 && field.number != kNote) text += Plain(field);
    }
    if (timestamp < begin / 2) timestamp += begin;
    return "line at " + std::to_string(timestamp) + text;
  }

  std::vector<Field> fields_;
  std::map<uint64_t, std::string> events_, stats_;
};

}  // namespace

std::vector<std::string> Described(const std::string& space, int64_t begin) {
  std::vector<std::string> told;
  for (const Field& plane : FieldsOf(space)) {
    if (plane.number == 1) Describer(plane.bytes).AddTo(&told, begin);
  }
  return told;
}

}  // namespace crosscut::verbs
